"""Figures as inline SVG: text one can select, colors that follow the theme, an alt text.

A `Chart` is markup together with the sentence that says what it shows.  `lines` and `bars` take a fifth of a
millisecond each, so that an explorer can afford hundreds.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from colllib.show.theme import color, escape, style, typeset

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
    values: Mapping[str, float | Mapping[str, float]],
    *,
    value_format: Callable[[float], str] = "{:,.4g}".format,
    log: bool = False,
    of: float = 0.0,
    ranked: bool = True,
    highlight: Collection[str] = (),
    title: str = "",
) -> Chart:
    """Horizontal bars, each with its value printed; the lowest first, or where not `ranked` in the order given.

    A label with several values, such as ``{"before": 3.0, "after": 1.0}``, has a bar for each, in a look that a key
    explains. To `highlight` is to say which label the title speaks of, whether it is the best or the worst; the others
    are gray. With `of`, what the values are shares of, every bar has a track as long as that. A bar's length means
    nothing on a logarithmic scale: there it is a dot.

    >>> bars({"ring": 511.0, "tree": 18.0}, highlight=["tree"])
    Bar chart, lowest first: tree 18; ring 511.
    >>> bars({"ring": {"in": 3.0, "out": 2.0}, "tree": {"in": 4.0, "out": 2.0}}, ranked=False)
    Bar chart: ring in 3, out 2; tree in 4, out 2.
    """
    groups = {label: dict(value) if isinstance(value, Mapping) else {"": value} for label, value in values.items()}
    every = _checked(groups, log, of)
    for label in highlight:
        if label not in values:
            raise ValueError(f"highlight {label!r} is not a bar; the bars are {', '.join(values)}")
    by_value = sorted(groups.items(), key=lambda item: (next(iter(item[1].values())), item[0]))
    shown = by_value if ranked else list(groups.items())
    names = list(dict.fromkeys(name for parts in groups.values() for name in parts if name))
    draw = _dots(every, value_format) if log else _lengths(of or max(every) or 1.0)
    kind = "cl-track" if log else ""
    cells = []
    for label, parts in shown:
        tag = "b" if label in highlight else "span"
        tall = f' style="grid-row:span {len(parts)}"' if len(parts) > 1 else ""
        cells.append(f"<{tag}{tall}>{escape(label)}</{tag}>")
        for name, value in parts.items():
            look = _look(names, name, kind)
            cells.append(f"<i{look}>{draw(value)}</i><{tag}>{escape(value_format(value))}</{tag}>")
    if log:
        cells.append(f'<span class="cl-hint">log scale</span><i class="cl-track cl-scale">{draw(0)}</i><span></span>')
    described = "; ".join(f"{label} {_listed(parts, value_format)}" for label, parts in shown)
    alt = f"{title + '. ' if title else ''}Bar chart{', lowest first' if ranked else ''}: {described}."
    sample = "<em></em>" if log else '<span class="cl-bar"></span>'
    key = legend_row((f"<i{_look(names, name, f'{kind} cl-key')}>{sample}</i>", name) for name in names)
    return Chart(f'{key}<div class="cl-bars{" cl-of" if of else ""}">{"".join(cells)}</div>', alt, title)


def _checked(groups: Mapping[str, Mapping[str, float]], log: bool, of: float) -> list[float]:
    """All values, each of which can be drawn."""
    if not groups:
        raise ValueError("bars needs at least one value")
    for label, parts in groups.items():
        for name, value in parts.items():
            bar = f"{label}, {name}" if name else label
            if not math.isfinite(value) or value < 0 or (log and value == 0):
                needed = "positive" if log else "zero or more"
                raise ValueError(f"bar {bar!r} has the value {value!r}; it must be finite and {needed}")
            if of and value > of:
                raise ValueError(f"bar {bar!r} has the value {value!r}, more than the {of!r} that it is a share of")
    return [value for parts in groups.values() for value in parts.values()]


def _listed(parts: Mapping[str, float], value_format: Callable[[float], str]) -> str:
    return ", ".join(f"{name} {value_format(value)}".strip() for name, value in parts.items())


def _look(names: Sequence[str], name: str, kind: str) -> str:
    """How one of several values of a label is drawn: in a color of its own, and every other one hollow."""
    place = names.index(name) if name else 0
    classes = f"{kind}{' cl-hollow' if place % 2 else ''}".strip()
    return (f' class="{classes}"' if classes else "") + (f' style="color:{color(place)}"' if name else "")


def _lengths(whole: float) -> Callable[[float], str]:
    return lambda value: f'<span class="cl-bar" style="width:{100 * value / whole:.2f}%"></span>'


def _plain(tick: str) -> str:
    """A power of ten without zeros behind its point or an exponent.

    >>> _plain("1e+03 times"), _plain("10.0 GB"), _plain("1 ms")
    ('1,000 times', '10 GB', '1 ms')
    """
    return re.sub(r"\d[\d,]*\.0+(?!\d)|\d(\.\d+)?e\+\d+", lambda m: f"{float(m[0].replace(',', '')):,.0f}", tick)


def _dots(values: Collection[float], value_format: Callable[[float], str]) -> Callable[[float], str]:
    """Draws a value as a dot on a line with a tick at each power of ten; of 0, the labels of these."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)) + 1e-9)
    decades = range(low, high + 1, 1 + (high - low) // 6)

    def at(value: float) -> str:
        return f'style="left:{100 * (math.log10(value) - low) / (high - low):.2f}%"'

    grid = "".join(f"<u {at(10.0**k)}></u>" for k in range(low, high + 1))
    scale = "".join(f"<u {at(10.0**k)}>{escape(_plain(value_format(10.0**k)))}</u>" for k in decades)
    return lambda value: f"{grid}<em {at(value)}></em>" if value else scale
