"""All-gather algorithms."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from colllib.cost import Cost
from colllib.primitives import Shares, all_gather, check_ranks
from colllib.schedule import Schedule, Step


def ring(ranks: int, *, first: int = 0, direction: int = 1, shares: Shares | None = None) -> Schedule:
    """Ring all-gather: every rank passes on what it received in the step before.

    Args:
        ranks: number of ranks N.
        first: rank r starts with chunk r + first (times the direction) and sends it first.
        direction: 1 sends to rank r + 1, -1 to rank r - 1.
        shares: the chunks' shares of M (default: N equal ones).

    Source: Patarasuk & Yuan (2009), section 4.

    >>> ring(4, first=1).blocks.source
    array([3, 0, 1, 2])
    """
    check_ranks(ranks)
    rank = np.arange(ranks)
    neighbour = (rank + direction) % ranks
    owner = (rank - direction * first) % ranks
    add = np.zeros(ranks, dtype=np.bool_)

    def step(t: int) -> Step:
        return Step(rank, neighbour, (rank + direction * (first - t)) % ranks, add)

    return Schedule(all_gather(ranks, shares, owner), ranks - 1, step)


def ring_cost(ranks: int) -> Cost:
    """Closed form of `ring` on one full-duplex port per rank, equal chunks.

    >>> ring_cost(4)
    Cost(n_alpha=3, n_beta=3/4)
    """
    return Cost(ranks - 1, Fraction(ranks - 1, ranks))
