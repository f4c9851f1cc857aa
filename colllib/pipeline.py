"""What a pipeline costs: its closed form and its best number of segments."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

from colllib.cost import Cost, check_latency, check_quantities
from colllib.formula import Formula
from colllib.primitives import check_counts


def pipeline_cost(stages: int, segments: int) -> Cost:
    """L + P - 1 steps of M/P each: the closed form of a pipeline without collisions.

    It holds where every step of the schedule moves all of M over its most loaded link and no two
    steps load the same link.

    Args:
        stages: number of steps L of the schedule in one piece.
        segments: number of segments P.

    >>> pipeline_cost(3, 10)
    Cost(n_alpha=12, n_beta=6/5)
    """
    check_counts(stages=stages, segments=segments)
    return Cost(stages + segments - 1, Fraction(stages + segments - 1, segments))


#: The square of the best real number of segments of a pipeline of L steps, for m = M / (alpha BW).
BEST_SEGMENTS_SQUARED = Formula("(L - 1) * m")


def best_segments_unrounded(stages: int, *, message: float, alpha: float, bandwidth: float) -> float:
    """The real number P* = sqrt((L - 1) M / (alpha BW)) that minimizes `pipeline_cost`; below 1 for a small message.

    The best whole number is one of its two neighbors, and at least 1.

    Args:
        stages: number of steps L of the schedule in one piece.
        message: M in bytes.
        alpha: latency in seconds, above 0.
        bandwidth: BW in bytes per second.

    >>> best_segments_unrounded(10, message=400e3, alpha=1e-6, bandwidth=100e9)
    6.0
    """
    check_quantities(message=message, alpha=alpha, bandwidth=bandwidth)
    check_latency((alpha,))
    return sqrt(BEST_SEGMENTS_SQUARED(L=stages, m=Fraction(message / (alpha * bandwidth))))
