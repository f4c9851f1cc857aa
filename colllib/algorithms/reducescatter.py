"""Reduce-scatter algorithms. They cost what their namesakes for all-gather cost; all but ring and PAT reverse these."""

from __future__ import annotations

from colllib.algorithms import allgather
from colllib.primitives import Shares
from colllib.schedule import Schedule, backwards, reversed_in_time


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
    return allgather.once_round(ranks, first, direction, shares, add=True)


#: Gives the partner the half that it will own and keeps the other; the order is that of the all-gather, whose last
#: partner is the first here. Source: Thakur, Rabenseifner & Gropp (2005), section 4.
recursive_halving = backwards(allgather.recursive_doubling)
#: With which partner a halving starts -> the order of the doubling that undoes it.
UNDONE_BY = {"near": "far", "far": "near"}
bruck = backwards(allgather.bruck)
knomial = backwards(allgather.knomial)


def pat(ranks: int, *, cap: int | None = None, order: str = "near") -> Schedule:
    """PAT's all-gather backwards, with the same options, but the nearest child first: each sum waits for less time.

    Source: NCCL, src/include/collectives.h, PatRSAlgorithm.

    >>> from colllib.metrics import staging
    >>> [int(16 * max(staging(pat(16, cap=1, order=order)))) for order in ("near", "far")]
    [2, 3]
    """
    return reversed_in_time(allgather.pat(ranks, cap=cap, order=order))
