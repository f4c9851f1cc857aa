"""What the form of a sweep says by itself: steps back, noise, saturation."""

from dataclasses import dataclass
from math import log2
from statistics import median

from colllib.measured.log import Run, factor
from colllib.measured.segments import Segment, segments

LARGE = 2**24  # bytes, from which on bandwidth shows


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
    unsettled: bool  # the last doubling still brought 3 %, or one size below 128 MiB is all there is
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
    return Shape(
        collective=collective,
        fitted=tuple(segments(size, time, repeats=[len(times) for times in all_times])) if len(size) > 1 else (),
        measured=float(bus[-1]),
        largest=float(size[-1]),
        fastest=float(bus[-1] * (time[-1] / all_times[-1][0] if len(all_times[-1]) > 3 else 1.0)),
        step_back=float(size[:-1][(size[:-1] >= 4096) & faster].max(initial=0.0)),
        erratic=bool(rough.sum() + 2 * halved.sum() >= many or bus[-1] < 0.75 * best),
        best=best,
        unsettled=bool(step[-1] > (size[-1] / size[-2]) ** log2(1.03) if len(size) > 1 else size[0] < 2**27),
        in_place=float(bus[-1] * time[-1] / median(inside[size[-1]])) if size[-1] in inside.keys() & outside else None,
    )
