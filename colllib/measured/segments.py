"""The form of a sweep: a few straight lines, time = constant + size / BW, steps back, noise, saturation.

Every protocol of a library has a launch, a latency and a slope of its own, so one line over a whole
sweep books the constants of small messages as a slope of large ones. Here each segment keeps its own
constant, deviations are relative, outliers weigh less, and each number has its interval.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log2
from statistics import median

import numpy as np
from numpy.typing import NDArray

from colllib.measured.log import Run, factor

LARGE = 2**24  # bytes, from which on bandwidth shows
MOST_SEGMENTS, FEWEST_POINTS = 4, 4
MOST_POINTS = 128  # a sweep of thousands of sizes is thinned
FLOOR = 0.003  # relative: what printing rounds is no reason for a further segment
_HUBER, _EFFICIENCY = 1.345, 0.95  # Huber's constant, and its variance's share on normal noise
_TRIMMED = 0.18 / 0.82  # of normal noise, what weighs less over what weighs in full

Array = NDArray[np.float64]
Values = Sequence[float] | Array


@dataclass(frozen=True)
class Segment:
    """A range of sizes with one line."""

    first: float  # its smallest message in bytes
    last: float  # its largest
    constant: float  # seconds at size 0, that is latency and launch
    bandwidth: float  # bytes per second; infinite where the time does not grow
    constant_interval: tuple[float, float]  # with the other interval, 95 % for both together
    bandwidth_interval: tuple[float, float]  # likewise
    residual: float  # the median relative deviation

    def seconds(self, message: float) -> float:
        """The fitted time."""
        return self.constant + message / self.bandwidth


def segments(messages: Values, seconds: Values, *, repeats: Sequence[int] | None = None) -> list[Segment]:
    """The lines that describe a sweep, as few as its noise allows.

    Args:
        messages: sizes in bytes, ascending, at least 2.
        seconds: a time above 0 for each.
        repeats: how often each was measured: its weight. By default all alike.

    Raises:
        ValueError: if there are fewer than 2 sizes, they do not ascend, or a time is not above 0.

    >>> sizes = [2.0**k for k in range(10, 31)]
    >>> (one,) = segments(sizes, [20e-6 + m / 100e9 for m in sizes])
    >>> round(one.constant * 1e6, 3), round(one.bandwidth / 1e9, 3)
    (20.0, 100.0)
    """
    size, time = np.asarray(messages, dtype=float), np.asarray(seconds, dtype=float)
    if len(size) != len(time) or len(size) < 2 or not (np.diff(size) > 0).all():
        raise ValueError(f"{len(size)} sizes and {len(time)} times: take at least 2 ascending sizes, one time each")
    if not (np.isfinite(time).all() and (time > 0).all() and size[0] >= 0 and np.isfinite(size[-1])):
        raise ValueError("a time that is not above 0, or a size below 0: leave the row out")
    weight = np.ones(len(size)) if repeats is None else np.asarray(repeats) / np.mean(repeats)
    if len(size) > MOST_POINTS:
        places = np.unique(np.linspace(0, len(size) - 1, MOST_POINTS).astype(int))
        size, time, weight = size[places], time[places], weight[places]
    draws = np.random.default_rng(0)  # of the bootstrap
    return [_segment(size[a:b], time[a:b], weight[a:b], draws) for a, b in _cuts(size, time, weight)]


def _cuts(size: Array, time: Array, weight: Array) -> list[tuple[int, int]]:
    """Where the segments begin and end: least squares for every range, the number by an information criterion."""
    count = len(size)
    squares = np.full((count, count + 1), np.inf)
    for a in range(count):
        ends = np.arange(a + min(FEWEST_POINTS, count), count + 1)
        inside = (np.arange(a, count) < ends[:, None]) * weight[a:]
        constant, slope = _lines(size[a:], time[None, a:], inside)
        deviation = (constant[:, None] + slope[:, None] * size[a:]) / time[a:] - 1
        squares[a, ends] = (inside * deviation**2).sum(axis=1)
    best, begins = [squares[0]], []  # of the first b points in k segments: the least squares, where the last begins
    for _ in range(1, MOST_SEGMENTS):
        options = best[-1][:count, None] + squares
        best.append(options.min(axis=0))
        begins.append(options.argmin(axis=0))
    # a segment is three numbers: where it begins, its constant, its slope; twice Schwarz's price, as cuts are searched
    price = [count * np.log(b[-1] / count + FLOOR**2) + 6 * k * np.log(count) for k, b in enumerate(best, 1)]
    cuts = [count]
    for begin in begins[: int(np.argmin(price))][::-1]:
        cuts.append(int(begin[cuts[-1]]))
    return list(pairwise([0, *cuts[::-1]]))


def _lines(size: Array, times: Array, weight: Array | float = 1.0) -> tuple[Array, Array]:
    """Constants and seconds per byte, none below 0, of least weighted relative deviations, for each row of times."""
    w = weight / times**2
    s0, s1, s2 = w.sum(1), (w * size).sum(1), (w * size**2).sum(1)
    y0, y1 = (w * times).sum(1), (w * size * times).sum(1)
    spread = s0 * s2 - s1**2
    solvable = spread > 1e-12 * s0 * s2
    safe = np.where(solvable, spread, 1.0)
    constant = np.where(solvable, (s2 * y0 - s1 * y1) / safe, y0 / s0)
    slope = np.where(solvable, (s0 * y1 - s1 * y0) / safe, 0.0)
    low = constant < 0
    constant, slope = np.where(low, 0.0, constant), np.where(low, y1 / s2, slope)
    flat = slope < 0
    return np.where(flat, y0 / s0, constant), np.where(flat, 0.0, slope)


def _segment(size: Array, time: Array, weight: Array, draws: np.random.Generator) -> Segment:
    from scipy.special import stdtrit  # slow to import

    (constant,), (slope,) = _lines(size, time[None], weight)
    for _ in range(10):
        residual = ((constant + slope * size) / time - 1) * np.sqrt(weight)
        scale = max(1.4826 * float(np.median(np.abs(residual))), 1e-6)
        robust = np.minimum(1.0, _HUBER * scale / np.maximum(np.abs(residual), 1e-300))
        (constant,), (slope,) = _lines(size, time[None], robust * weight)
    slope = slope if slope * size[-1] > 1e-9 * constant else 0.0
    residual = time / (constant + slope * size) - 1
    free = len(size) - 2
    ends = [(0.0, np.inf), (0.0, np.inf)]
    if free > 0:
        alike = residual * np.sqrt(weight)
        inflated = (alike - alike.mean()) * np.sqrt(len(size) / free / _EFFICIENCY)
        drawn = draws.choice(inflated, (400, len(size))) / np.sqrt(weight)
        again = _lines(size, (constant + slope * size) * np.maximum(1 + drawn, 0.05), weight)
        few = 1 + 2 / len(size) * _TRIMMED  # Huber, Robust Statistics (1981), 7.6: two numbers of few points
        width = few * float(stdtrit(free, 1 - 0.05 / 4))  # 95 % for the two numbers together
        for k, (value, values) in enumerate(zip((constant, slope), again, strict=True)):
            reach = width * float(np.sqrt(((values - value) ** 2).mean()))
            ends[k] = (max(0.0, value - reach), value + reach)
    rates = _inverse(ends[1][1]), _inverse(ends[1][0])
    deviation = float(np.median(np.abs(residual)))
    return Segment(float(size[0]), float(size[-1]), float(constant), _inverse(slope), ends[0], rates, deviation)


def _inverse(value: float) -> float:
    return float(1 / value) if value > 0 else np.inf


@dataclass(frozen=True)
class Shape:
    """The form of a sweep."""

    collective: str  # of which it is
    fitted: tuple[Segment, ...]  # its segments
    measured: float  # busbw at the largest message, bytes per second
    largest: float  # that message, in bytes; of a test with many under way at once, all of them
    fastest: float  # busbw of its fastest time, where it was measured at least four times, else as `measured`
    step_back: float  # the largest size from which a larger message takes less time, or 0
    erratic: bool  # a large one falls by half, 3 by a fifth or vary by a third (over 24: an eighth), or ends 25 % lower
    best: float  # the highest busbw of large messages, or as `measured`
    settled: float  # its share of the plateau: 1 if the last doubling brought less than 3 %, 0 if it ends below 128 MiB
    in_place: float | None  # busbw of the largest message in place, where both halves have it


def shape(run: Run) -> Shape:
    """The form of a run's sweep.

    Args:
        run: with its collective, at least 2 ranks, and at least one row that has a time.

    Raises:
        ValueError: if no row has a time.
    """
    size, time = run.series()
    if not len(size):
        raise ValueError("no row has a time, or a bandwidth that gives one")
    all_times, outside, inside = list(run.times().values()), run.times(in_place=False), run.times(in_place=True)
    collective = str(run.collective)
    bus = size / time * factor(collective, run.ranks or 1)
    best = float(bus[size >= LARGE].max(initial=bus[-1]))
    large, step = size[1:] >= LARGE, bus[1:] / bus[:-1]
    # whether times of a size, in place and out of place or repeated, differ by a third but for an eighth at an end
    rough = (size >= LARGE) & [times[-1 - len(times) // 8] > 4 / 3 * times[len(times) // 8] for times in all_times]
    rough[1:] |= large & (step < 0.8)
    halved, many = large & (step < 0.5), max(min(3, len(size)), (size >= LARGE).sum() / 8)
    latency = 2 * median(time[size <= 2**16]) if size[0] <= 2**16 else 0.0  # and its noise, where small ones show it
    faster = (time[1:] < 0.87 * time[:-1]) & (time[:-1] > latency)
    grown, more = (size[-1] / size[-2], step[-1]) if len(size) > 1 else (2.0, 2.0 * (size[0] < 2**27))
    return Shape(
        collective=collective,
        fitted=tuple(segments(size, time, repeats=[len(times) for times in all_times])) if len(size) > 1 else (),
        measured=float(bus[-1]),
        largest=float(size[-1]),
        fastest=float(bus[-1] * (time[-1] / all_times[-1][0] if len(all_times[-1]) > 3 else 1.0)),
        step_back=float(size[:-1][(size[:-1] >= 4096) & faster].max(initial=0.0)),
        erratic=bool(rough.sum() + 2 * halved.sum() >= many or bus[-1] < 0.75 * best),
        best=best,
        settled=float((grown - more) / (grown - 1) if size[-1] >= 2**27 else 0) if more > grown ** log2(1.03) else 1.0,
        in_place=float(bus[-1] * time[-1] / median(inside[size[-1]])) if size[-1] in inside.keys() & outside else None,
    )
