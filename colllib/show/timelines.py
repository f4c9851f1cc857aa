"""Timelines, with time to the right: what streams do in a step, and what the ports of a star send when."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby, pairwise
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np

from colllib import units
from colllib.cost import Terms
from colllib.events import event_clock
from colllib.execution import Execution, execute
from colllib.metrics import busy_ports
from colllib.schedule import Schedule, Step
from colllib.show.figure import BROAD, SLIM, Chart, legend_row
from colllib.show.lines import LARGE, Axis, px, text
from colllib.show.theme import SERIES, color, escape
from colllib.topology import star
from colllib.training import timeline

RIGHT = 8.0
Span = tuple[float, float, float]  # of a bar: from and to, and its height in the picture


# -- what both draw -------------------------------------------------------------------------------


def _texts(places: Iterable[tuple[float, float, str]], anchor: str = "middle", look: str = "") -> str:
    """Texts at their places; those of one character share one element, which keeps a diagram small."""
    places = list(places)
    out = [f'<text x="{px(x)}" y="{px(y)}">{escape(label)}</text>' for x, y, label in places if len(label) > 1]
    if short := [place for place in places if len(place[2]) == 1]:
        xs, ys, texts = zip(*short, strict=True)
        out.append(f'<text x="{" ".join(map(px, xs))}" y="{" ".join(map(px, ys))}">{"".join(texts)}</text>')
    return f'<g text-anchor="{anchor}"{look}>{"".join(out)}</g>' if out else ""


def _rows(x: Axis, names: Iterable[object], top: float, pitch: float) -> str:
    """Names beside the rows, and lines between these."""
    places = [(x.start - 5, top + (k + 0.5) * pitch + 4, str(name)) for k, name in enumerate(names)]
    grid = "".join(f"M{px(x.start)} {px(top + k * pitch)}H{px(x.stop)}" for k in range(1, len(places)))
    return f'<path d="{grid}" stroke="var(--cl-line,#c3c9d0)" stroke-width=".5"/>{_texts(places, "end")}'


def _bars(spans: Iterable[Span], ink: str, thick: float) -> str:
    """Bars with a gap after each, which tells it from the next."""
    path = "".join(f"M{px(a)} {px(y)}H{px(b - min(0.6, (b - a) / 4))}" for a, b, y in spans)
    return f'<path d="{path}" style="stroke:{ink}" stroke-width="{px(thick)}"/>'


def _times(x: Axis, floor: float, time_format: Callable[[float], str], below: float = 15.0) -> str:
    """The axis at the floor, with round times below it."""
    ticks = [(x(tick), time_format(tick)) for tick in x.ticks(5)]
    marks = "".join(f"M{px(at)} {px(floor)}v4" for at, _ in ticks)
    places = [(min(at, x.stop + RIGHT - LARGE / 2 * len(label)), floor + below, label) for at, label in ticks]
    return f'<path d="M{px(x.start)} {px(floor)}H{px(x.stop)}{marks}" stroke="currentColor"/>{_texts(places)}'


def _svg(width: float, height: float, body: Iterable[str]) -> str:
    view = f'class="cl-plot" viewBox="0 0 {px(width)} {px(height)}"'
    return f'<svg {view} font-size="12" aria-hidden="true">{"".join(body)}</svg>'


# -- the streams of a step ------------------------------------------------------------------------

#: Kind of an operation -> its words in the legend, and its color. What is computed comes first.
KINDS = {
    "F": ("forward", 0),
    "forward": ("forward", 0),
    "B": ("backward", 2),
    "backward": ("backward", 2),
    "W": ("gradients of weights", 6),
    "all-reduce": ("all-reduce", 1),
    "reduce-scatter": ("reduce-scatter", 6),
    "all-gather": ("all-gather", 3),
    "all-to-all": ("all-to-all", 5),
    "send": ("send", 7),
    "overhead": ("overhead", 1),
}
MOST_BOXES = 60  # of a kind in a row, beyond which neighbors that touch become one


def gantt(
    step: timeline.Step,
    rows: Mapping[str, str],
    *,
    time_format: Callable[[float], str] = units.seconds,
    until: float | None = None,
    title: str = "",
) -> Chart:
    """Draw some streams of a step, a box for each operation, and the number of its microbatch where there is room.

    Args:
        step: what ran.
        rows: from the name of each row to the stream that it shows.
        time_format: of the times on the axis.
        until: end of the time axis (default: the step's), to compare two steps.
        title: above the figure.

    >>> from colllib.training.pipelines import pipeline
    >>> gantt(pipeline("1f1b", 2, 2), {"stage 0": "compute 0"})
    Timeline of 9 s. stage 0: busy 67%.
    """
    pitch, floor = 24.0, 24.0 * len(rows)
    last = max((op.chunk for op in step.ops), default=0)
    kinds: dict[str, int] = {}
    for op in (step.ops[i] for stream in rows.values() for i in step.on(stream)):
        kinds.setdefault(*KINDS[op.kind])

    def draw(width: float) -> str:
        x = Axis(0.0, until or step.seconds or 1.0, 0, 10 + LARGE * max(map(len, rows)), width - RIGHT)
        streams = [_stream(step, stream, x, pitch * (k + 0.5), last) for k, stream in enumerate(rows.values())]
        keys = [(_swatch(color(hue)), words) for words, hue in kinds.items()]
        if last:
            paler = "".join(
                _swatch(f"{color(hue)};opacity:{_opacity(last, last):.2g}") for hue in dict.fromkeys(kinds.values())
            )
            keys.append((paler, "second chunk" if last == 1 else "later chunks"))
        if any(numbers for _, numbers in streams):
            keys.append(("<b>0</b>&ensp;", "microbatch, where there is room"))
        body = [_rows(x, rows, 0.0, pitch), *(bars for bars, _ in streams), _times(x, floor, time_format)]
        return legend_row(keys) + _svg(width, floor + 19, body)

    described = "; ".join(
        f"{name}: busy {100 * step.busy(stream) / step.seconds if step.seconds else 0:.0f}%"
        for name, stream in rows.items()
    )
    alt = f"Timeline of {time_format(step.seconds)}. {described}."
    return Chart(draw(SLIM), alt, title, partial(draw, BROAD))


def _stream(step: timeline.Step, stream: str, x: Axis, y: float, last: int) -> tuple[str, bool]:
    """A row of boxes, and whether some have the number of their microbatch."""
    ops = [(step.ops[i], float(step.start[i]), float(step.end[i])) for i in step.on(stream)]
    out, numbered = "", False
    for kind, chunk in dict.fromkeys((op.kind, op.chunk) for op, *_ in ops):
        alike = [one for one in ops if (one[0].kind, one[0].chunk) == (kind, chunk)]
        look = color(KINDS[kind][1]) + (f";opacity:{_opacity(chunk, last):.2g}" if chunk else "")
        out += _bars([(x(a), x(b), y) for a, b in _joined([span for _, *span in alike])], look, 18)
        numbers = _numbers(x, y, alike)
        ink = "var(--cl-bg,#fff)" if _opacity(chunk, last) > 0.7 else "currentColor"
        out += _texts(numbers, look=f' font-weight="600" fill="{ink}"')
        numbered = numbered or bool(numbers)
    return out, numbered


def _swatch(look: str) -> str:
    return f'<i class="cl-swatch" style="background:{look}"></i>'


def _opacity(chunk: int, last: int) -> float:
    """Later chunks of a stage are paler."""
    return 1 - 0.6 * chunk / max(1, last)


def _numbers(x: Axis, y: float, ops: Sequence[tuple[timeline.Op, float, float]]) -> list[tuple[float, float, str]]:
    """Of microbatches, if all of these bars have room for theirs."""
    labels = [(str(op.microbatch), x(a), x(b)) for op, a, b in ops if op.microbatch is not None]
    fit = all(b - a > _room(label) for label, a, b in labels)
    return [((a + b) / 2, y + 4.5, label) for label, a, b in labels] if fit else []


def _room(label: str) -> float:
    """Width of a label and the gap of its bar."""
    return LARGE * len(label) + 1


def _joined(spans: Sequence[Sequence[float]]) -> list[Sequence[float]]:
    """The spans, or where they are too many to tell apart, those that touch as one."""
    if len(spans) <= MOST_BOXES:
        return list(spans)
    joined: list[Sequence[float]] = []
    for start, end in spans:
        if joined and start <= joined[-1][1] * (1 + 1e-12):
            start, _ = joined.pop()
        joined.append((start, end))
    return joined


# -- the ports of a star --------------------------------------------------------------------------

Clock = Literal["lock-step", "event"]

LEFT, TOP, PITCH, THICK = 30.0, 18.0, 17.0, 12.0
MOST_RANKS = 16


class Bar(NamedTuple):
    """One message on its sender's port, with three times in seconds, and its blocks."""

    row: int
    start: float  # when it starts to leave
    left: float  # when its last byte has left
    arrival: float  # when the receiver has it in full: on the lock-step clock at the end of the step
    blocks: tuple[int, ...]


def bars_of(schedule: Schedule, clock: Clock = "event", **price: Any) -> list[Bar]:
    """Every message on a star with its times in seconds, in schedule order; `price` as of `step_edges`.

    On the lock-step clock a port sends the messages of a step one after another.
    """
    sent = [(t, rank, blocks) for t in range(schedule.num_steps) for rank, blocks in _bundles(schedule.step(t))]
    share, per_vector = schedule.blocks.share, price["message"] / price["bandwidth"]
    takes = [float(share.taken(np.array(blocks)).total()) * per_vector for *_, blocks in sent]
    if clock == "event":
        line = event_clock(schedule, star(schedule.ranks), **price)
        starts, ends = line.start.tolist(), line.arrival.tolist()
    else:
        edges = step_edges(execute(schedule), **price)
        starts, ends = [], [edges[t + 1] for t, *_ in sent]
        free: dict[tuple[int, int], float] = {}
        for (t, rank, _), last in zip(sent, takes, strict=True):
            starts.append(free.get((t, rank), edges[t]))
            free[t, rank] = starts[-1] + last
    return [
        Bar(rank, start, start + last, end, blocks)
        for (_, rank, blocks), start, last, end in zip(sent, starts, takes, ends, strict=True)
    ]


def step_edges(run: Execution, **price: Any) -> list[float]:
    """When each step of the lock-step clock begins, and last when the final one ends, in seconds.

    Args:
        run: an execution on a star.
        price: the message in bytes, alpha in seconds, and the bandwidth in bytes per second.

    >>> from colllib.algorithms import broadcast
    >>> step_edges(execute(broadcast.chain(3)), message=4, alpha=1, bandwidth=1)
    [0.0, 5.0, 10.0]
    """
    lasts = [run.cost_of([t]).seconds(**price) for t in range(run.schedule.num_steps)]
    return [0.0, *np.cumsum(lasts).tolist()]


def _bundles(step: Step) -> list[tuple[int, tuple[int, ...]]]:
    """The sender and the blocks of each message of a step, in the order of the event clock: by sender and receiver."""
    pairs: dict[tuple[int, int], list[int]] = {}
    for src, dst, block in zip(step.src.tolist(), step.dst.tolist(), step.block.tolist(), strict=True):
        pairs.setdefault((src, dst), []).append(block)
    return [(src, tuple(sorted(blocks))) for (src, _), blocks in sorted(pairs.items())]


def space_time(
    schedule: Schedule,
    *,
    clock: Clock = "event",
    segments: int = 1,
    until: float | None = None,
    time_format: Callable[[float], str] = units.seconds,
    x_label: str = "time",
    title: str = "",
    **price: Unpack[Terms],
) -> Chart:
    """Draw when each rank of a star sends which segment: a bar while its port is busy, a line until it has arrived.

    On the lock-step clock the grid shows the steps, and below them stands how many ranks send.

    Args:
        schedule: what to run, on at most 16 ranks.
        clock: "event" or "lock-step".
        segments: segments P per original block: labels count from 0 in each, and the segments of
            the second block (a second tree's half) are drawn hollow.
        until: end of the time axis (default: the last arrival), to compare two clocks.
        price: the message in bytes, alpha in seconds, and the bandwidth in bytes per second.

    Raises:
        ValueError: for more than 16 ranks, an unknown clock, or blocks that are not cut into so many segments.

    >>> from colllib.algorithms import broadcast
    >>> chain = broadcast.chain(4, segments=3)
    >>> space_time(chain, message=6e-6, alpha=1e-6, bandwidth=1, clock="lock-step", segments=3)
    Space-time diagram, lock-step clock: 9 messages from 3 of 4 ranks, the last to end after 15 µs. \
Ranks that send, step by step: 1, 2, 3, 2, 1.
    """
    if clock not in ("lock-step", "event"):
        raise ValueError(f"clock {clock!r}: must be 'lock-step' or 'event'")
    if schedule.ranks > MOST_RANKS:
        raise ValueError(f"{schedule.ranks} ranks: a space-time diagram shows at most {MOST_RANKS}")
    if segments < 1 or len(schedule.blocks) % segments:
        raise ValueError(f"segments = {segments}: does not divide the schedule's {len(schedule.blocks)} blocks")
    bars = sorted(bars_of(schedule, clock=clock, **price), key=lambda bar: (bar.row, bar.start))
    end = max((bar.arrival for bar in bars), default=0.0)
    alt = f"Space-time diagram, {clock} clock: {units.several(len(bars), 'message')} from "
    alt += f"{len({bar.row for bar in bars})} of {schedule.ranks} ranks, the last to end after {time_format(end)}."
    floor = TOP + schedule.ranks * PITCH
    edges, busy = [], []
    if clock == "lock-step" and bars:
        edges, busy = step_edges(execute(schedule), **price), busy_ports(schedule)
        alt += f" Ranks that send, step by step: {', '.join(map(str, busy))}."
    below = 29.0 if edges else 15.0

    def draw(width: float) -> str:
        x = Axis(0.0, until or end or 1.0, 0, LEFT, width - RIGHT)
        body = [text(0, 11, "start", "rank"), _rows(x, range(schedule.ranks), TOP, PITCH)]
        body += [_steps(x, floor, edges, busy)] if edges else []
        body += [_messages(x, bars, segments), _times(x, floor, time_format, below)]
        body.append(text((x.start + x.stop) / 2, floor + below + 15, "middle", x_label))
        return _svg(width, floor + below + 19, body)

    return Chart(draw(SLIM), alt, title, partial(draw, BROAD))


def _steps(x: Axis, floor: float, edges: Sequence[float], busy: Sequence[int]) -> str:
    """Where steps begin and end, and how many ranks send in each where there is room for it."""
    grid = "".join(f"M{px(x(edge))} {px(TOP)}V{px(floor)}" for edge in edges)
    out = f'<path d="{grid}" stroke="var(--cl-edge,#77808a)" stroke-width=".5" stroke-dasharray="1.5 1.5"/>'
    counts = [(x((a + b) / 2), floor + 12, str(count)) for (a, b), count in zip(pairwise(edges), busy, strict=True)]
    if min(x(b) - x(a) for a, b in pairwise(edges)) > LARGE * max(len(count) for *_, count in counts):
        muted = ' fill="var(--cl-muted,#57606a)"'
        out += _texts(counts, look=muted) + text(0, floor + 12, "start", "send", muted)
    return out


def _messages(x: Axis, bars: Sequence[Bar], segments: int) -> str:
    """Bars in the colors of their segments with the numbers of these, and thin lines until they have arrived."""

    def look(bar: Bar) -> tuple[int, int]:
        return bar.blocks[0] // segments % 2, bar.blocks[0] % segments % len(SERIES)

    def y(bar: Bar) -> float:
        return TOP + (bar.row + 0.5) * PITCH

    flights = "".join(f"M{px(x(bar.left))} {px(y(bar))}H{px(x(bar.arrival))}" for bar in bars if bar.arrival > bar.left)
    out = [f'<path d="{flights}" stroke="currentColor"/>']
    labels: list[list[tuple[float, float, str]]] = [[], []]
    for (hollow, series), group in groupby(sorted(bars, key=look), key=look):
        spans = {bar: (x(bar.start), x(bar.left), y(bar)) for bar in group}
        out.append(_bars(spans.values(), color(series), THICK))
        if hollow:
            inner = [(a + 1, b - 1, up) for a, b, up in spans.values() if b - a > 2.5]
            out.append(_bars(inner, "var(--cl-bg,#fff)", THICK - 2))
        for bar, (a, b, up) in spans.items():
            label = _label(bar, segments)
            if b - a > _room(label):
                labels[hollow].append(((a + b) / 2, up + 4.5, label))
    inks = ("var(--cl-bg,#fff)", "currentColor")
    return "".join(out) + "".join(
        _texts(some, look=f' font-weight="600" fill="{ink}"') for some, ink in zip(labels, inks, strict=True)
    )


def _label(bar: Bar, segments: int) -> str:
    numbers = [block % segments for block in bar.blocks] if segments > 1 else list(bar.blocks)
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}–{numbers[-1]}"
