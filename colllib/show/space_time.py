"""Space-time diagrams: when each port sends what, drawn from an execution on either clock."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Literal

import numpy as np

from colllib import units
from colllib.events import event_clock
from colllib.exact import IntArray
from colllib.execution import Execution, execute
from colllib.measures import busy_ports
from colllib.schedule import Schedule, Step
from colllib.show.figure import Chart
from colllib.show.lines import linear_ticks
from colllib.show.theme import SERIES, color, escape
from colllib.topology import Topology, star

Clock = Literal["lock-step", "event"]

SCALE = 4  # units of the drawing per unit of type, so that places are whole numbers
WIDTH, LEFT, RIGHT, TOP = 380 * SCALE, 30 * SCALE, 8 * SCALE, 18 * SCALE
PITCH, THICK = 17 * SCALE, 12 * SCALE
TYPE = 13 * SCALE  # 11 px on a phone
MOST_RANKS = 16


@dataclass(frozen=True)
class Bar:
    """One message on its sender's port.

    Attributes:
        row: the rank that sends, or the step of the schedule before it was cut.
        start: when it starts to leave, in seconds.
        left: when its last byte has left.
        arrival: when the receiver has it in full; on the lock-step clock the end of the step.
        blocks: what it carries.
        lane: 0, or higher where a row sends several at a time over links of their own.
    """

    row: int
    start: float
    left: float
    arrival: float
    blocks: tuple[int, ...]
    lane: int = 0


def bars_of(
    schedule: Schedule,
    topology: Topology | None = None,
    *,
    message: float,
    alpha: float,
    bandwidth: float,
    clock: Clock = "event",
) -> list[Bar]:
    """Every message with its times, in schedule order; the row is the rank that sends it.

    Args:
        schedule: what to run.
        topology: where (default: a star with one full-duplex port per rank).
        message: M in bytes.
        alpha: latency in seconds.
        bandwidth: BW in bytes per second.
        clock: "event" or "lock-step".

    >>> from colllib.algorithms import broadcast
    >>> [bar.arrival for bar in bars_of(broadcast.chain(3), message=4, alpha=1, bandwidth=1)]
    [5.0, 10.0]
    """
    topology = star(schedule.ranks) if topology is None else topology
    if clock == "event":
        line = event_clock(schedule, topology, message=message, alpha=alpha, bandwidth=bandwidth)
        sending = line.size * _slowness(topology, line.src, line.dst)[0] * (message / bandwidth)
        times = zip(line.src.tolist(), line.start.tolist(), (line.start + sending).tolist(), strict=True)
        arrivals = zip(line.arrival.tolist(), _carried(schedule), strict=True)
        return [Bar(*head, *tail) for head, tail in zip(times, arrivals, strict=True)]
    edges = step_edges(execute(schedule, topology), message=message, alpha=alpha, bandwidth=bandwidth)
    return _bars_of_steps(schedule, topology, edges, message / bandwidth)


def _bars_of_steps(schedule: Schedule, topology: Topology, edges: Sequence[float], message_time: float) -> list[Bar]:
    """The bars on the lock-step clock: in a step a link sends one message after another."""
    share = schedule.blocks.share
    found = []
    for t in range(schedule.num_steps):
        pairs = _bundles(schedule.step(t))
        if not pairs:
            continue
        src, dst = np.array(list(pairs), dtype=np.intp).T
        slowness, first = _slowness(topology, src, dst)
        free: dict[int, float] = {}
        for i, ((a, _), blocks) in enumerate(pairs.items()):
            size = int(share.numerators[list(blocks)].sum()) / share.denominator
            start = free.get(int(first[i]), edges[t])
            left = start + size * float(slowness[i]) * message_time
            free[int(first[i])] = left
            found.append(Bar(a, start, left, edges[t + 1], blocks))
    return found


def _slowness(topology: Topology, src: IntArray, dst: IntArray) -> tuple[np.ndarray, IntArray]:
    """For each message the time per byte of its first link, in units of 1/BW, and that link."""
    owner, link = topology.router(src, dst)
    order = np.argsort(owner, kind="stable")
    first = link[order][np.searchsorted(owner[order], np.arange(len(src)))]
    return 1 / topology.bandwidth.as_floats()[first], first


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


def _bundles(step: Step) -> dict[tuple[int, int], tuple[int, ...]]:
    """The blocks of each message of a step, in the order of a timeline: by sender and receiver."""
    pairs: dict[tuple[int, int], list[int]] = {}
    for src, dst, block in zip(step.src.tolist(), step.dst.tolist(), step.block.tolist(), strict=True):
        pairs.setdefault((src, dst), []).append(block)
    return {pair: tuple(sorted(pairs[pair])) for pair in sorted(pairs)}


def _carried(schedule: Schedule) -> list[tuple[int, ...]]:
    """The blocks of each message, in the order of a timeline."""
    return [blocks for t in range(schedule.num_steps) for blocks in _bundles(schedule.step(t)).values()]


def space_time(
    schedule: Schedule,
    topology: Topology | None = None,
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
    """Draw when each rank sends which segment: a bar while its port is busy, a thin line until it has arrived.

    On the lock-step clock the grid shows the steps, and below them stands how many ranks send.

    Args:
        schedule: what to run, on at most 16 ranks.
        topology: where (default: a star with one full-duplex port per rank).
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
    bars = bars_of(schedule, topology, clock=clock, **price)
    edges = step_edges(execute(schedule, topology), **price) if clock == "lock-step" else []
    end = max((bar.arrival for bar in bars), default=0.0)
    axis = _Axis(until or end, edges, busy_ports(schedule), time_format, x_label)
    alt = f"Space-time diagram, {clock} clock: {len(bars)} messages from {len({bar.row for bar in bars})} of "
    alt += f"{schedule.ranks} ranks end after {time_format(end)}."
    if edges:
        alt += f" In the {len(axis.busy)} steps {', '.join(map(str, axis.busy))} ranks send."
    return Chart(_drawing(_in_lanes(bars), schedule.ranks, segments, axis), alt, title)


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


def _in_lanes(bars: list[Bar]) -> list[Bar]:
    """Bars of one row that overlap get lanes of their own."""
    free: dict[int, list[float]] = {}
    placed = []
    for bar in sorted(bars, key=lambda bar: (bar.row, bar.start)):
        lanes = free.setdefault(bar.row, [])
        lane = next((k for k, until in enumerate(lanes) if until <= bar.start * (1 + 1e-9)), len(lanes))
        lanes[lane : lane + 1] = [bar.left]
        placed.append(replace(bar, lane=lane))
    return placed


def _drawing(bars: list[Bar], rows: int, segments: int, x: _Axis) -> str:
    lanes = 1 + max((bar.lane for bar in bars), default=0)
    thick = max(THICK // lanes, 3)
    floor = TOP + rows * PITCH

    def y(bar: Bar) -> int:
        return round(TOP + (bar.row + 0.5) * PITCH + (bar.lane - (lanes - 1) / 2) * thick)

    out = [_frame(rows, floor), _ticks(x, floor)]
    flights = "".join(f"M{x(bar.left)} {y(bar)}H{x(bar.arrival)}" for bar in bars if x(bar.arrival) > x(bar.left))
    out.append(f'<g fill="none"><path d="{flights}" stroke="currentColor" stroke-width="{max(2, thick // 10)}"/>')
    kind = {bar: (bar.blocks[0] // segments % 2, bar.blocks[0] % segments % len(SERIES)) for bar in bars}
    labels = []
    for (hollow, series), group in groupby(sorted(bars, key=kind.__getitem__), key=kind.__getitem__):
        mine = list(group)
        gap = 2 if all(x(bar.left) - x(bar.start) > 8 for bar in mine) else 0
        path = "".join(f"M{x(bar.start)} {y(bar)}H{x(bar.left) - gap}" for bar in mine)
        out.append(f'<path d="{path}" style="stroke:{color(series)}" stroke-width="{thick}"/>')
        if hollow:
            wide = [bar for bar in mine if x(bar.left) - x(bar.start) > 10 + gap]
            inner = "".join(f"M{x(bar.start) + 4} {y(bar)}H{x(bar.left) - gap - 4}" for bar in wide)
            out.append(f'<path d="{inner}" stroke="var(--cl-bg,#fff)" stroke-width="{thick - 8}"/>')
        labels += [(x(bar.start), x(bar.left), y(bar), _label(bar, segments), hollow) for bar in mine]
    out.append("</g>")
    for hollow in (0, 1):
        fit = [
            ((left + right) // 2, up + round(0.36 * TYPE), text)
            for left, right, up, text, inside in labels
            if inside == hollow and thick == THICK and right - left >= 0.62 * TYPE * len(text) + 4
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
