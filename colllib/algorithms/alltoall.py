"""All-to-all algorithms. Block (i, j), index i * N + j, goes from rank i to rank j."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from colllib.cost import Cost
from colllib.exact import Fractions, IntArray
from colllib.primitives import Blocks, all_to_all, check_ranks
from colllib.schedule import Schedule, Step


def pairwise(ranks: int) -> Schedule:
    """In round k every rank sends rank r + k its block and receives one from rank r - k.

    Source: Thakur, Rabenseifner & Gropp (2005), section 4.6.

    >>> pairwise(4)
    Schedule(4 ranks, 16 blocks, 3 steps)
    """
    check_ranks(ranks)
    rank = np.arange(ranks)
    copy = np.zeros(ranks, dtype=np.bool_)

    def step(t: int) -> Step:
        partner = (rank + t + 1) % ranks
        return Step(rank, partner, rank * ranks + partner, copy)

    return Schedule(all_to_all(ranks), ranks - 1, step)


def pairwise_cost(ranks: int) -> Cost:
    """Closed form of `pairwise` on one full-duplex port per rank.

    >>> pairwise_cost(4)
    Cost(n_alpha=3, n_beta=3/4)
    """
    check_ranks(ranks)
    return Cost(ranks - 1, Fraction(ranks - 1, ranks))


def bruck(ranks: int) -> Schedule:
    """A block with distance j = (destination - source) mod N hops 2^b for every bit b of j.

    Args:
        ranks: number of ranks N, any.

    Source: Bruck et al. (1997), section 3. Their rotations before and after only reorder memory.

    >>> bruck(6).num_steps
    3
    """
    check_ranks(ranks)
    source, target = np.divmod(np.arange(ranks * ranks), ranks)
    distance = (target - source) % ranks
    steps = []
    for bit in range((ranks - 1).bit_length()):
        block = np.flatnonzero(distance >> bit & 1)
        at = (source[block] + distance[block] % (1 << bit)) % ranks
        steps.append(Step.of(at, (at + (1 << bit)) % ranks, block))
    return Schedule.from_steps(all_to_all(ranks), steps)


def bruck_cost(ranks: int) -> Cost:
    """Closed form of `bruck` on one full-duplex port per rank: one block for each set bit of 1..N-1.

    >>> bruck_cost(8), bruck_cost(6)
    (Cost(n_alpha=3, n_beta=3/2), Cost(n_alpha=3, n_beta=7/6))
    """
    check_ranks(ranks)
    return Cost((ranks - 1).bit_length(), Fraction(sum(j.bit_count() for j in range(ranks)), ranks))


def ring_relay(ranks: int, *, tie: str = "up", bundled: bool = True) -> Schedule:
    """Every block travels hop by hop round the ring, the shorter way.

    Args:
        ranks: number of ranks N, any.
        tie: where a block to the antipode of an even ring goes: "up", or "split" into two halves,
            one each way.
        bundled: move all blocks in every step, several on a link as one message; or else one
            block on a link and step, nearest destinations first.

    >>> ring_relay(8).num_steps, ring_relay(8, bundled=False).num_steps
    (4, 10)
    """
    check_ranks(ranks)
    if tie not in ("up", "split"):
        raise ValueError(f"tie {tie!r}: must be 'up' or 'split'")
    blocks, way = _ways(ranks, tie)
    source = blocks.source
    distance = (way * (blocks.target - source)) % ranks
    farthest = ranks // 2
    if bundled:
        turns = [(hop, np.flatnonzero(distance > hop)) for hop in range(farthest)]
    else:
        turns = [(hop, np.flatnonzero(distance == d)) for d in range(1, farthest + 1) for hop in range(d)]
    steps = []
    for hop, block in turns:
        at = (source[block] + way[block] * hop) % ranks
        steps.append(Step.of(at, (at + way[block]) % ranks, block))
    return Schedule.from_steps(blocks, steps)


def _ways(ranks: int, tie: str) -> tuple[Blocks, IntArray]:
    """The blocks, with those to the antipode halved if the tie is split, and 1 or -1 for the way each goes."""
    blocks = all_to_all(ranks)
    ahead = (blocks.target - blocks.source) % ranks
    way = np.where(2 * ahead <= ranks, 1, -1)
    antipode = np.flatnonzero(2 * ahead == ranks)
    if tie == "up" or not len(antipode):
        return blocks, way
    numerators = np.full(ranks * ranks + len(antipode), 2)
    numerators[antipode] = numerators[ranks * ranks :] = 1
    order = np.concatenate((np.arange(ranks * ranks), antipode))
    share = Fractions(numerators, 2 * ranks)
    halved = Blocks(ranks, share, blocks.source[order], blocks.target[order], ())
    return halved, np.concatenate((way, np.full(len(antipode), -1)))


def ring_relay_cost(ranks: int, tie: str = "up", bundled: bool = True) -> Cost:
    """Closed form of `ring_relay` on one full-duplex port per rank: both ways share the port.

    >>> ring_relay_cost(8), ring_relay_cost(8, bundled=False)
    (Cost(n_alpha=4, n_beta=2), Cost(n_alpha=10, n_beta=2))
    """
    up, down = _hops(ranks)
    return Cost(ranks // 2 if bundled else up, Fraction(up + down, ranks))


def ring_relay_cost_on_ring(ranks: int, tie: str = "up", bundled: bool = True) -> Cost:
    """Closed form of `ring_relay` on a physical ring: one full-duplex link per neighbour.

    >>> ring_relay_cost_on_ring(8), ring_relay_cost_on_ring(8, tie="split")
    (Cost(n_alpha=4, n_beta=5/4), Cost(n_alpha=4, n_beta=1))
    """
    up, _ = _hops(ranks)
    # two ranks have one link each way: there is no other way round
    saved = Fraction(ranks // 2, 2) if tie == "split" and ranks % 2 == 0 and ranks > 2 else Fraction(0)
    return Cost(ranks // 2 if bundled else up, (up - saved) / Fraction(ranks))


def _hops(ranks: int) -> tuple[int, int]:
    """Blocks times hops that one rank's blocks need upwards and downwards, the antipode going up."""
    check_ranks(ranks)
    up, down = ranks // 2, (ranks - 1) // 2
    return up * (up + 1) // 2, down * (down + 1) // 2
