"""Space-time diagrams: when each port sends what, drawn from an execution on either clock."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Literal

import numpy as np

from colllib import units
from colllib.events import event_clock
from colllib.execution import Execution, execute
from colllib.metrics import busy_ports
from colllib.schedule import Schedule, Step
from colllib.show.figure import Chart
from colllib.show.lines import linear_ticks
from colllib.show.theme import SERIES, color, escape
from colllib.topology import star

Clock = Literal["lock-step", "event"]

SCALE = 4  # units of the drawing per unit of type, so that places are whole numbers
WIDTH, LEFT, RIGHT, TOP = 380 * SCALE, 30 * SCALE, 8 * SCALE, 18 * SCALE
PITCH, THICK, TYPE = 17 * SCALE, 12 * SCALE, 13 * SCALE  # type is 11 px on a phone
MOST_RANKS = 16


@dataclass(frozen=True)
class Bar:
    """One message on its sender's port.

    Attributes:
        row: the rank that sends.
        start: when it starts to leave, in seconds.
        left: when its last byte has left.
        arrival: when the receiver has it in full; on the lock-step clock the end of the step.
        blocks: what it carries.
    """

    row: int
    start: float
    left: float
    arrival: float
    blocks: tuple[int, ...]


def bars_of(schedule: Schedule, *, message: float, alpha: float, bandwidth: float, clock: Clock = "event") -> list[Bar]:
    """Every message on a star with its times in seconds, in schedule order; arguments as of `space_time`.

    On the lock-step clock a port sends the messages of a step one after another.

    >>> from colllib.algorithms import broadcast
    >>> [bar.arrival for bar in bars_of(broadcast.chain(3), message=4, alpha=1, bandwidth=1)]
    [5.0, 10.0]
    """
    share = schedule.blocks.share
    sent = [(t, rank, blocks) for t in range(schedule.num_steps) for rank, blocks in _bundles(schedule.step(t))]
    takes = [
        int(share.numerators[list(blocks)].sum()) / share.denominator * (message / bandwidth) for *_, blocks in sent
    ]
    if clock == "event":
        line = event_clock(schedule, star(schedule.ranks), message=message, alpha=alpha, bandwidth=bandwidth)
        times = zip(line.start.tolist(), takes, line.arrival.tolist(), strict=True)
        return [
            Bar(rank, start, start + last, arrival, blocks)
            for (_, rank, blocks), (start, last, arrival) in zip(sent, times, strict=True)
        ]
    edges = step_edges(execute(schedule), message=message, alpha=alpha, bandwidth=bandwidth)
    free: dict[tuple[int, int], float] = {}
    found = []
    for (t, rank, blocks), last in zip(sent, takes, strict=True):
        start = free.get((t, rank), edges[t])
        free[t, rank] = start + last
        found.append(Bar(rank, start, start + last, edges[t + 1], blocks))
    return found


def step_edges(run: Execution, *, message: float, alpha: float, bandwidth: float) -> list[float]:
    """When each step of the lock-step clock begins, and last when the final one ends, in seconds.

    >>> from colllib.algorithms import broadcast
    >>> step_edges(execute(broadcast.chain(3)), message=4, alpha=1, bandwidth=1)
    [0.0, 5.0, 10.0]
    """
    lasts = [
        run.cost_of([t]).seconds(message=message, alpha=alpha, bandwidth=bandwidth)
        for t in range(run.schedule.num_steps)
    ]
    return [0.0, *np.cumsum(lasts).tolist()]


def _bundles(step: Step) -> list[tuple[int, tuple[int, ...]]]:
    """The sender and the blocks of each message of a step, in the order of a timeline: by sender and receiver."""
    pairs: dict[tuple[int, int], list[int]] = {}
    for src, dst, block in zip(step.src.tolist(), step.dst.tolist(), step.block.tolist(), strict=True):
        pairs.setdefault((src, dst), []).append(block)
    return [(src, tuple(sorted(blocks))) for (src, _), blocks in sorted(pairs.items())]


def space_time(
    schedule: Schedule,
    *,
    message: float,
    alpha: float,
    bandwidth: float,
    clock: Clock = "event",
    segments: int = 1,
    until: float | None = None,
    time_format: Callable[[float], str] = units.seconds,
    x_label: str = "time",
    title: str = "",
) -> Chart:
    """Draw when each rank of a star sends which segment: a bar while its port is busy, a line until it has arrived.

    On the lock-step clock the grid shows the steps, and below them stands how many ranks send.

    Args:
        schedule: what to run, on at most 16 ranks.
        message: M in bytes.
        alpha: latency in seconds.
        bandwidth: BW in bytes per second.
        clock: "event" or "lock-step".
        segments: segments P per original block: labels count from 0 in each, and the segments of
            the second block (a second tree's half) are drawn hollow.
        until: end of the time axis (default: the last arrival), to compare two clocks.
        time_format: writes times.
        x_label: names the time axis.
        title: a heading.

    Raises:
        ValueError: for more than 16 ranks, or an unknown clock.

    >>> from colllib.algorithms import broadcast
    >>> chain = broadcast.chain(4, segments=3)
    >>> space_time(chain, message=6e-6, alpha=1e-6, bandwidth=1, clock="lock-step", segments=3)
    Space-time diagram, lock-step clock: 9 messages from 3 of 4 ranks end after 15 µs. \
In the 5 steps 1, 2, 3, 2, 1 ranks send.
    """
    if clock not in ("lock-step", "event"):
        raise ValueError(f"clock {clock!r}: must be 'lock-step' or 'event'")
    if schedule.ranks > MOST_RANKS:
        raise ValueError(f"{schedule.ranks} ranks: a space-time diagram shows at most {MOST_RANKS}")
    price = {"message": message, "alpha": alpha, "bandwidth": bandwidth}
    bars = sorted(bars_of(schedule, clock=clock, **price), key=lambda bar: (bar.row, bar.start))
    edges = step_edges(execute(schedule), **price) if clock == "lock-step" else []
    end = max((bar.arrival for bar in bars), default=0.0)
    axis = _Axis(until or end, edges, busy_ports(schedule), time_format, x_label)
    alt = f"Space-time diagram, {clock} clock: {len(bars)} messages from {len({bar.row for bar in bars})} of "
    alt += f"{schedule.ranks} ranks end after {time_format(end)}."
    if edges:
        alt += f" In the {len(axis.busy)} steps {', '.join(map(str, axis.busy))} ranks send."
    return Chart(_drawing(bars, schedule.ranks, segments, axis), alt, title)


@dataclass(frozen=True)
class _Axis:
    """Time to the right: until when, where steps begin and end and how many ranks send in each, and what is written."""

    end: float
    edges: Sequence[float]
    busy: Sequence[int]
    time_format: Callable[[float], str]
    label: str

    def __call__(self, time: float) -> int:
        return round(LEFT + time * ((WIDTH - LEFT - RIGHT) / self.end)) if self.end else LEFT


def _drawing(bars: list[Bar], rows: int, segments: int, x: _Axis) -> str:
    floor = TOP + rows * PITCH

    def y(bar: Bar) -> int:
        return round(TOP + (bar.row + 0.5) * PITCH)

    out = [_frame(rows, floor), _ticks(x, floor)]
    flights = "".join(f"M{x(bar.left)} {y(bar)}H{x(bar.arrival)}" for bar in bars if x(bar.arrival) > x(bar.left))
    out.append(f'<g fill="none"><path d="{flights}" stroke="currentColor" stroke-width="{THICK // 10}"/>')
    kind = {bar: (bar.blocks[0] // segments % 2, bar.blocks[0] % segments % len(SERIES)) for bar in bars}
    labels = []
    for (hollow, series), group in groupby(sorted(bars, key=kind.__getitem__), key=kind.__getitem__):
        mine = list(group)
        gap = 2 if all(x(bar.left) - x(bar.start) > 8 for bar in mine) else 0
        path = "".join(f"M{x(bar.start)} {y(bar)}H{x(bar.left) - gap}" for bar in mine)
        out.append(f'<path d="{path}" style="stroke:{color(series)}" stroke-width="{THICK}"/>')
        if hollow:
            wide = [bar for bar in mine if x(bar.left) - x(bar.start) > 10 + gap]
            inner = "".join(f"M{x(bar.start) + 4} {y(bar)}H{x(bar.left) - gap - 4}" for bar in wide)
            out.append(f'<path d="{inner}" stroke="var(--cl-bg,#fff)" stroke-width="{THICK - 8}"/>')
        labels += [(x(bar.start), x(bar.left), y(bar), _label(bar, segments), hollow) for bar in mine]
    out.append("</g>")
    for hollow in (0, 1):
        fit = [
            ((left + right) // 2, up + round(0.36 * TYPE), text)
            for left, right, up, text, inside in labels
            if inside == hollow and right - left >= 0.62 * TYPE * len(text) + 4
        ]
        fill = "currentColor" if hollow else "var(--cl-bg,#fff)"
        out.append(_texts(fit, f'font-weight="600" fill="{fill}"'))
    height = floor + (58 if x.edges else 44) * SCALE
    return f'<svg viewBox="0 0 {WIDTH} {height}" font-size="{TYPE}" aria-hidden="true">{"".join(out)}</svg>'


def _label(bar: Bar, segments: int) -> str:
    numbers = [block % segments for block in bar.blocks] if segments > 1 else list(bar.blocks)
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}–{numbers[-1]}"


def _texts(places: Sequence[tuple[int, int, str]], look: str) -> str:
    """Texts at their places, centered; those of one character share one element, which keeps a diagram small."""
    if not places:
        return ""
    short = [place for place in places if len(place[2]) == 1]
    out = [f'<text x="{x}" y="{y}">{escape(text)}</text>' for x, y, text in places if len(text) > 1]
    if short:
        xs, ys, texts = zip(*short, strict=True)
        up = str(ys[0]) if len(set(ys)) == 1 else " ".join(map(str, ys))
        out.append(f'<text x="{" ".join(map(str, xs))}" y="{up}">{"".join(texts)}</text>')
    return f'<g text-anchor="middle" {look}>{"".join(out)}</g>'


def _frame(rows: int, floor: int) -> str:
    grid = "".join(f"M{LEFT} {TOP + k * PITCH}H{WIDTH - RIGHT}" for k in range(1, rows))
    names = [(LEFT - 12 * SCALE, round(TOP + (k + 0.5) * PITCH + 4 * SCALE), str(k)) for k in range(rows)]
    return (
        f'<path d="{grid}" stroke="var(--cl-line,#c3c9d0)" stroke-width="2"/>'
        f'<path d="M{LEFT} {floor}H{WIDTH - RIGHT}" stroke="currentColor" stroke-width="4"/>'
        f'<text x="0" y="{11 * SCALE}">rank</text>{_texts(names, "")}'
    )


def _ticks(x: _Axis, floor: int) -> str:
    """What stands below the diagram: how many ranks send in each step, and the times."""
    if not x.end:
        return ""
    out = []
    if x.edges:
        grid = "".join(f"M{x(edge)} {TOP}V{floor}" for edge in x.edges)
        out.append(f'<path d="{grid}" stroke="var(--cl-edge,#77808a)" stroke-width="2" stroke-dasharray="6 6"/>')
        muted = 'fill="var(--cl-muted,#57606a)"'
        places = [
            ((x(a) + x(b)) // 2, floor + 12 * SCALE, str(count))
            for (a, b), count in zip(pairwise(x.edges), x.busy, strict=True)
        ]
        room = min(x(b) - x(a) for a, b in pairwise(x.edges))
        if room > 0.62 * TYPE * max(len(text) for _, _, text in places):
            out.append(_texts(places, muted) + f'<text x="0" y="{floor + 12 * SCALE}" {muted}>send</text>')
    base = floor + (29 if x.edges else 15) * SCALE
    ticks = linear_ticks(0.0, x.end, 5)
    marks = "".join(f"M{x(tick)} {floor}v{4 * SCALE}" for tick in ticks)
    out.append(f'<path d="{marks}" stroke="currentColor" stroke-width="4"/>')
    named = [(tick, x.time_format(tick)) for tick in ticks]
    places = [(min(x(tick), WIDTH - round(3.6 * SCALE * len(text))), base, text) for tick, text in named]
    places.append(((LEFT + WIDTH - RIGHT) // 2, base + 15 * SCALE, x.label))
    return "".join(out) + _texts(places, "")
