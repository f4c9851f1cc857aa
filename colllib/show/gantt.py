"""A step drawn as a timeline: a row for each stream, a box for each operation."""

from collections.abc import Mapping, Sequence

from colllib import units
from colllib.show.figure import Chart, legend_row
from colllib.show.lines import px, text
from colllib.show.theme import color
from colllib.training.timeline import Step

WIDTH, LEFT, ROW, BOX = 380.0, 58.0, 24.0, 18.0
#: Kind of an operation -> its words in the legend, and its color. What is computed comes first.
KINDS = {
    "F": ("forward", 0),
    "forward": ("forward", 0),
    "B": ("backward", 2),
    "backward": ("backward", 2),
    "W": ("gradients of weights", 6),
    "all-reduce": ("all-reduce", 1),
    "reduce-scatter": ("reduce-scatter", 1),
    "all-gather": ("all-gather", 3),
    "dispatch": ("dispatch", 5),
    "combine": ("combine", 4),
    "send": ("send", 7),
}
MOST_BOXES = 60  # of a kind in a row, beyond which neighbors that touch become one


def gantt(step: Step, rows: Mapping[str, str], *, title: str = "") -> Chart:
    """Draw some streams of a step.

    Args:
        step: what ran.
        rows: from the name of each row to the stream that it shows.
        title: above the figure.

    >>> from colllib.training.pipelines import pipeline
    >>> gantt(pipeline("1f1b", 2, 2), {"stage 0": "compute 0"})
    Timeline of 9 s. stage 0: busy 67%.
    """
    end = step.seconds
    scale = (WIDTH - LEFT - 8) / end if end else 0.0
    body: list[str] = []
    seen: dict[str, int] = {}
    for k, (name, stream) in enumerate(rows.items()):
        top = 4 + ROW * k
        body.append(text(LEFT - 5, top + 13, "end", name))
        body.append(f'<path d="M{px(LEFT)} {px(top + BOX)}H{px(WIDTH - 8)}" stroke="var(--cl-line,#c3c9d0)"/>')
        here = step.on(stream)
        for kind in dict.fromkeys(step.ops[i].kind for i in here):
            seen.setdefault(*KINDS[kind])
            spans = [(float(step.start[i]), float(step.end[i])) for i in here if step.ops[i].kind == kind]
            body.append(_boxes(_joined(spans), top, scale, KINDS[kind][1]))
    bottom = 4 + ROW * len(rows)
    for share in (0.0, 0.5, 1.0):
        at = LEFT + share * (WIDTH - LEFT - 8)
        body.append(f'<path d="M{px(at)} {px(bottom)}v5" stroke="currentColor"/>')
        anchor = "end" if share == 1.0 else "middle"
        body.append(text(at + 8 * (share == 1.0), bottom + 18, anchor, units.seconds(share * end)))
    view = f'class="cl-plot" viewBox="0 0 {px(WIDTH)} {px(bottom + 23)}"'
    svg = f'<svg {view} font-size="12" aria-hidden="true">{"".join(body)}</svg>'
    described = "; ".join(
        f"{name}: busy {100 * step.busy(stream) / step.seconds if step.seconds else 0:.0f}%"
        for name, stream in rows.items()
    )
    keys = ((f'<i class="cl-swatch" style="background:{color(hue)}"></i>', words) for words, hue in seen.items())
    return Chart(legend_row(keys) + svg, f"Timeline of {units.seconds(step.seconds)}. {described}.", title)


def _joined(spans: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The spans, or where they are too many to tell apart, those that touch as one."""
    if len(spans) <= MOST_BOXES:
        return list(spans)
    found: list[tuple[float, float]] = []
    for start, end in spans:
        if found and start <= found[-1][1] * (1 + 1e-12):
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def _boxes(spans: Sequence[tuple[float, float]], top: float, scale: float, hue: int) -> str:
    shapes = "".join(
        f"M{px(LEFT + start * scale)} {px(top)}H{px(LEFT + end * scale)}v{px(BOX)}H{px(LEFT + start * scale)}z"
        for start, end in spans
    )
    return f'<path d="{shapes}" style="fill:{color(hue)};stroke:var(--cl-bg,#fff)" stroke-width=".7"/>'
