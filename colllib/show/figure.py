"""Figures as inline SVG: text one can select, colors that follow the theme, an alt text.

A `Chart` is markup together with the sentence that says what it shows.  `lines` and `bars` take a fifth of a
millisecond each, so that an explorer can afford hundreds.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from colllib.show.theme import escape, style, typeset

SLIM, BROAD = 380.0, 560.0  # of a chart on a phone, and in the column of a page


@dataclass(frozen=True, repr=False)
class Chart:
    """A figure for a notebook: HTML for the page, its alt text for everything else.

    With `broad`, which draws it for a wide column, a page has both, of which a style shows the one that fits.
    """

    body: str
    alt: str
    title: str = ""
    broad: Callable[[], str] | None = None
    kind: ClassVar[str] = "cl-figure"
    sheets: ClassVar[tuple[str, ...]] = ("theme",)

    def fragment(self) -> str:
        """The markup without the style sheets, for use inside an explorer's part."""
        heading = f'<p class="cl-heading">{typeset(self.title)}</p>' if self.title else ""
        alt = self.alt if self.title in self.alt else f"{self.title}. {self.alt}"  # what is within an image is not read
        body = self.body
        if self.broad is not None:
            body = f'<div class="cl-broad">{self.broad()}</div><div class="cl-slim">{self.body}</div>'
        return f'<div class="colllib {self.kind}" role="img" aria-label="{escape(alt)}">{heading}{body}</div>'

    def _repr_html_(self) -> str:
        return style(*self.sheets) + self.fragment()

    def __repr__(self) -> str:
        return self.alt


def legend_row(keys: Iterable[tuple[str, str]], more: str = "") -> str:
    """What marks stand for, in a row: the markup of each, with its words; and further attributes of the row.

    >>> legend_row([("<b>×</b>", "blocks")])
    '<div class="cl-legend"><span><b>×</b>blocks</span></div>'
    """
    spans = "".join(f"<span>{mark}{escape(words)}</span>" for mark, words in keys)
    return f'<div class="cl-legend"{more}>{spans}</div>' if spans else ""


def bars(
    values: Mapping[str, float],
    *,
    value_format: Callable[[float], str] = "{:,.4g}".format,
    log: bool = False,
    ranked: bool = True,
    highlight: Collection[str] = (),
    title: str = "",
) -> Chart:
    """Horizontal bars, each with its value printed; the lowest first, or where not `ranked` in the order given.

    A logarithmic scale starts at the power of ten below the lowest value, and says so.

    >>> bars({"ring": 511.0, "tree": 18.0}, highlight=["tree"])
    Bar chart, lowest first: tree 18; ring 511.
    >>> bars({"ring": 511.0, "tree": 18.0}, ranked=False)
    Bar chart: ring 511; tree 18.
    """
    if not values:
        raise ValueError("bars needs at least one value")
    for label, value in values.items():
        if not math.isfinite(value) or value < 0 or (log and value == 0):
            needed = "positive" if log else "zero or more"
            raise ValueError(f"bar {label!r} has the value {value!r}; it must be finite and {needed}")
    for label in highlight:
        if label not in values:
            raise ValueError(f"highlight {label!r} is not a bar; the bars are {', '.join(values)}")
    shown = sorted(values.items(), key=lambda item: (item[1], item[0])) if ranked else list(values.items())
    low, high, hint = min(values.values()), max(values.values()) or 1.0, ""
    if log:
        floor = 10.0 ** math.floor(math.log10(low) - 1e-9)
        hint = f'<p class="cl-hint">Logarithmic scale; the bars start at {escape(value_format(floor))}.</p>'
    cells = []
    for label, value in shown:
        tag = "b" if label in highlight else "span"
        share = math.log(value / floor) / math.log(high / floor) if log else value / high
        cells.append(
            f'<{tag}>{escape(label)}</{tag}><i><span class="cl-bar" style="width:{100 * share:.2f}%"></span></i>'
            f"<{tag}>{escape(value_format(value))}</{tag}>"
        )
    described = "; ".join(f"{label} {value_format(value)}" for label, value in shown)
    alt = f"{title + '. ' if title else ''}Bar chart{', lowest first' if ranked else ''}: {described}."
    return Chart(f'<div class="cl-bars">{"".join(cells)}</div>{hint}', alt, title)
