"""What the form of a sweep says by itself: steps back, noise, saturation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from colllib.measured.log import Run, factor
from colllib.measured.segments import Segment, segments

LARGE = 2**24  # bytes, from which on bandwidth shows


@dataclass(frozen=True)
class Shape:
    """The form of a sweep.

    Args:
        fitted: its segments.
        measured: busbw at the largest message, bytes per second.
        largest: the largest message.
        steps_back: sizes from which a larger message takes less time.
        rough: sizes of 16 MiB and more at which busbw falls by a fifth, or whose times differ by a third.
        deepest: the least busbw of such a size over that of the size before.
        sizes: how many the sweep has.
    """

    fitted: tuple[Segment, ...]
    measured: float
    largest: float
    steps_back: tuple[float, ...]
    rough: tuple[float, ...]
    deepest: float
    sizes: int

    @property
    def erratic(self) -> bool:
        """Whether large sizes scatter more than a healthy fabric's."""
        return len(self.rough) >= min(3, self.sizes) or self.deepest < 0.5


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
    repeats = [len(times) for times in run.times().values()]
    bus = size / time * factor(str(run.collective), run.ranks or 1)
    large, step = size[1:] >= LARGE, bus[1:] / bus[:-1]
    return Shape(
        fitted=tuple(segments(size, time, repeats=repeats)) if len(size) > 1 else (),
        measured=float(bus[-1]),
        largest=float(size[-1]),
        steps_back=tuple(size[:-1][(size[:-1] >= 4096) & (time[1:] < 0.87 * time[:-1])].tolist()),
        rough=tuple(np.union1d(size[1:][large & (step < 0.8)], _apart(run)).tolist()),
        deepest=float(step[large].min(initial=1.0)),
        sizes=len(size),
    )


def _apart(run: Run) -> NDArray[np.float64]:
    """Sizes whose times, in place and out of place or repeated, differ by a third but for an eighth at either end."""
    apart = []
    for size, times in run.times().items():
        cut = len(times) // 8
        if size >= LARGE and times[-1 - cut] > 4 / 3 * times[cut]:
            apart.append(size)
    return np.array(apart)
