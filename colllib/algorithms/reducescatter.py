"""Reduce-scatter algorithms. They cost what the all-gathers cost of which they are the reverse."""

from __future__ import annotations

import numpy as np

from colllib.algorithms import allgather
from colllib.primitives import Shares, check_ranks, reduce_scatter
from colllib.schedule import Schedule, Step, reversed_in_time


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
    check_ranks(ranks)
    rank = np.arange(ranks)
    neighbor = (rank + direction) % ranks
    owner = (rank - direction * (1 + first)) % ranks
    add = np.ones(ranks, dtype=np.bool_)

    def step(t: int) -> Step:
        return Step(rank, neighbor, (rank + direction * (first - t)) % ranks, add)

    return Schedule(reduce_scatter(ranks, shares, owner), ranks - 1, step)


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
