"""Reduce-scatter algorithms. They cost what the all-gathers cost of which they are the reverse."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from colllib.algorithms import allgather
from colllib.primitives import Shares, reduce, reduce_scatter
from colllib.schedule import Orbit, Schedule, Step, backwards, scaled
from colllib.topology import Lattice


def ring(ranks: int, *, first: int = -1, direction: int = 1, shares: Shares | None = None) -> Schedule:
    """Ring reduce-scatter: partial sums travel round the ring and grow by one contribution a step.

    Args:
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


#: Gives the partner the half that it will own and keeps the other; the order is that of the all-gather, whose last
#: partner is the first here. Source: Thakur, Rabenseifner & Gropp (2005), section 4.3.
recursive_halving = backwards(allgather.recursive_doubling)
bruck = backwards(allgather.bruck)
pat = backwards(allgather.pat)
