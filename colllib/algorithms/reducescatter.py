"""Reduce-scatter algorithms. They cost what the all-gathers cost of which they are the reverse."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from colllib.algorithms import allgather
from colllib.primitives import Shares, reduce, reduce_scatter
from colllib.schedule import Orbit, Schedule, Step, reversed_in_time, scaled
from colllib.topology import Lattice


def ring(ranks: int, *, first: int = -1, direction: int = 1, shares: Shares | None = None) -> Schedule:
    """Ring reduce-scatter: partial sums travel round the ring and grow by one contribution a step.

    Args:
        ranks: number of ranks N.
        first: rank r sends chunk r + first (times the direction) in its first step. -1 leaves rank
            r with chunk r, as NCCL's and torch's interfaces promise; 0 leaves it with the next
            rank's chunk, as the textbooks draw it.
        direction: 1 sends to rank r + 1, -1 to rank r - 1.
        shares: the chunks' shares of M (default: N equal ones).

    Source: Patarasuk & Yuan (2009), section 4.

    >>> ring(4, first=0).blocks.target
    array([3, 0, 1, 2])
    """
    at = allgather.round_trip(ranks, first, direction)
    step = np.arange(ranks - 1)
    one = Schedule.from_messages(
        reduce(ranks, root=int(at[-1])), ranks - 1, step, Step.of(at[:-1], at[1:], 0, add=True)
    )
    every = Orbit(scaled(one, Fraction(1, ranks)), Lattice((ranks,)))
    if shares is None:
        return every
    return Schedule(reduce_scatter(ranks, shares, (np.arange(ranks) + at[-1]) % ranks), ranks - 1, every.step)


def recursive_halving(ranks: int, *, order: str = "near") -> Schedule:
    """Give the partner the half that it will own and keep the other: `allgather.recursive_doubling` backwards.

    Args:
        ranks: number of ranks N, a power of two (`bruck` does the same for any N).
        order: the order of the all-gather that it reverses: "near" ends with the partner at
            distance 1, "far" with the one at distance N/2.

    Source: Thakur, Rabenseifner & Gropp (2005), section 4.3.

    >>> [len(recursive_halving(8).step(t).src) // 8 for t in range(3)]
    [4, 2, 1]
    """
    return reversed_in_time(allgather.recursive_doubling(ranks, order=order))


def bruck(ranks: int) -> Schedule:
    """`allgather.bruck` backwards, for any N.

    >>> bruck(6).num_steps
    3
    """
    return reversed_in_time(allgather.bruck(ranks))


def pat(ranks: int, *, cap: int | None = None, order: str = "depth") -> Schedule:
    """`allgather.pat` backwards: parallel aggregated trees towards the owners.

    >>> pat(8, cap=2).num_steps
    4
    """
    return reversed_in_time(allgather.pat(ranks, cap=cap, order=order))
