"""Lower bounds for one full-duplex port per rank and no help from switches."""

from __future__ import annotations

from fractions import Fraction

from colllib.cost import Cost
from colllib.primitives import PRIMITIVES, check_ranks


def lower_bound(primitive: str, ranks: int) -> Cost:
    """The fewest latencies and the fewest bytes on the busiest port, each by itself.

    No schedule beats either part; some primitive and N may allow no schedule that attains both
    at once. One port sends and receives one message of bandwidth BW at a time.

    * n_alpha: what one rank knows, or contributes, reaches at most twice as many ranks in a step,
      so ceil(log2 N) steps; one for point-to-point.
    * n_beta, broadcast and reduce: a rank that lacks the vector must receive all of it, or one
      that contributes must send as much as it keeps others from seeing: 1.
    * n_beta, all-gather, reduce-scatter, all-to-all: a rank lacks (N-1)/N of its result, or must
      give away (N-1)/N of what it holds.
    * n_beta, all-reduce: 2(N-1)/N on the average rank (Patarasuk & Yuan 2009, Theorem 1): of every
      element N-1 partial sums must be sent before anyone knows the total, and N-1 ranks must then
      be told.

    Args:
        primitive: its name.
        ranks: number of ranks N.

    Raises:
        ValueError: for an unknown primitive or N < 1.

    >>> lower_bound("all-reduce", 512)
    Cost(n_alpha=9, n_beta=511/256)
    """
    check_ranks(ranks)
    if primitive not in PRIMITIVES:
        raise ValueError(f"unknown primitive {primitive!r}: known are {', '.join(PRIMITIVES)}")
    if ranks == 1:
        return Cost(0, 0)
    away = Fraction(ranks - 1, ranks)
    whole = Fraction(1)
    share = {"broadcast": whole, "reduce": whole, "point-to-point": whole, "all-reduce": 2 * away}.get(primitive, away)
    return Cost(1 if primitive == "point-to-point" else (ranks - 1).bit_length(), share)


BUS_FACTORS = {
    "all-reduce": lambda n: Fraction(2 * (n - 1), n),
    "all-gather": lambda n: Fraction(n - 1, n),
    "reduce-scatter": lambda n: Fraction(n - 1, n),
    "all-to-all": lambda n: Fraction(n - 1, n),
    "broadcast": lambda n: Fraction(1),
    "reduce": lambda n: Fraction(1),
    "point-to-point": lambda n: Fraction(1),
}


def bus_factor(primitive: str, ranks: int) -> Fraction:
    """What nccl-tests multiplies algorithm bandwidth with to report bus bandwidth.

    Source: nccl-tests, doc/PERFORMANCE.md.

    Args:
        primitive: its name.
        ranks: number of ranks N.

    Raises:
        ValueError: for an unknown primitive or N < 1.

    >>> bus_factor("all-reduce", 8)
    Fraction(7, 4)
    """
    check_ranks(ranks)
    if primitive not in BUS_FACTORS:
        raise ValueError(f"unknown primitive {primitive!r}: known are {', '.join(BUS_FACTORS)}")
    return BUS_FACTORS[primitive](ranks)
