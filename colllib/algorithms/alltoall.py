"""All-to-all algorithms. Block (i, j), index i * N + j, goes from rank i to rank j."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache

import numpy as np

from colllib.algorithms.allgather import places_of
from colllib.closed_form import POWER_OF_TWO, closed_form
from colllib.cost import Cost
from colllib.exact import Fractions, IntArray
from colllib.limits import MOST_BLOCKS, check_size
from colllib.primitives import Blocks, all_to_all, check_ranks
from colllib.schedule import Orbit, Schedule, Step
from colllib.topology import Lattice, Topology


def pairwise(ranks: int, shares: Sequence[Sequence[Fraction]] | None = None) -> Schedule:
    """In round k every rank sends rank r + k its block and receives one from rank r - k.

    Args:
        shares: shares[i][j], the share of M that rank i has for rank j (default: 1/N each).

    Source: Thakur, Rabenseifner & Gropp (2005), section 4.

    >>> pairwise(4)
    Schedule(4 ranks, 16 blocks, 3 steps)
    """
    return from_every_rank(_to_all_others(ranks), shares)


def pairwise_by_boxes(topology: Topology) -> Schedule:
    """Pairwise exchange box by box: in each round all ranks send to ranks as many boxes and as many places further.

    All messages of a round then go equally far, and the first G - 1 of the rounds stay in the boxes of G.

    Source: the rounds of NCCL's `src/init.cc` (`p2pSchedule`), which takes boxes and places in another order.

    >>> from colllib.execution import execute
    >>> from colllib.topology import boxes
    >>> topology = boxes((2, 8))
    >>> for schedule in (pairwise(16), pairwise_by_boxes(topology)):
    ...     run = execute(schedule, topology)
    ...     print(schedule.num_steps, sum(kind.steps for kind in run.kinds() if kind.loads[1]))
    15 15
    15 8
    """
    ranks, size = topology.ranks, topology.in_box

    def number(ahead: IntArray, source: IntArray) -> IntArray:
        box: IntArray = (ahead // size + source // size) % (ranks // size)
        return source * ranks + box * size + (ahead + source) % size

    return Orbit(_to_all_others(ranks), Lattice((size, ranks // size)), number=number)


def _to_all_others(ranks: int) -> Schedule:
    """In round k rank 0 sends its block to rank k."""
    check_ranks(ranks)
    other = np.arange(1, ranks)
    return Schedule.from_messages(blocks_of(ranks), ranks - 1, other - 1, Step.of(0, other, other))


def blocks_of(ranks: int) -> Blocks:
    """The blocks of rank 0, one for every rank.

    >>> blocks_of(3).target
    array([0, 1, 2])
    """
    return Blocks(ranks, Fractions.equal(ranks), np.zeros(ranks, dtype=np.intp), np.arange(ranks), ())


def from_every_rank(one: Schedule, shares: Sequence[Sequence[Fraction]] | None = None) -> Schedule:
    """What rank 0 sends to all others, sent likewise by every rank; second halves of blocks come after all others."""
    ranks = one.ranks

    def number(ahead: IntArray, source: IntArray) -> IntArray:
        return np.where(ahead < ranks, source * ranks + (source + ahead) % ranks, ahead * ranks + source)

    every = Orbit(one, Lattice((ranks,)), number=number)
    return every if shares is None else Schedule(all_to_all(ranks, shares), one.num_steps, every.step)


@closed_form("N - 1", "(N - 1) / N")
def pairwise_cost(ranks: int, shares: Sequence[Sequence[Fraction]] | None = None) -> Cost:
    """Closed form of `pairwise` on one full-duplex port per rank: every round waits for its largest block.

    >>> pairwise_cost(4)
    Cost(n_alpha=3, n_beta=3/4)
    """
    if shares is None:
        return pairwise_cost(ranks)
    largest = (max(shares[i][(i + k) % ranks] for i in range(ranks)) for k in range(1, ranks))
    return Cost(ranks - 1, sum(largest, Fraction(0)))


def bruck(ranks: int, radix: int = 2) -> Schedule:
    """A block with distance j = (destination - source) mod N hops v * k^p for every digit v of j in radix k.

    One round for every place p and every digit v = 1..k-1 that occurs there. Radix 2 is the
    algorithm that is usually called Bruck; radix N is `pairwise`.

    Args:
        radix: k, at least 2.

    Source: Bruck et al. (1997), section 3. Their rotations before and after only reorder memory
    (`bruck_buffers`).

    >>> bruck(6).num_steps, bruck(64, radix=8).num_steps, bruck(64, radix=64).num_steps
    (3, 14, 63)
    """
    radix, places = places_of(ranks, radix)
    distance = np.arange(ranks)  # of rank 0's blocks
    steps = []
    for place in places:
        for digit in range(1, min(radix - 1, (ranks - 1) // place) + 1):
            block = np.flatnonzero(distance // place % radix == digit)
            steps.append(Step.of(block % place, block % place + digit * place, block))
    return from_every_rank(Schedule.from_steps(blocks_of(ranks), steps))


@closed_form("lg(N)", "lg(N) / 2", POWER_OF_TWO)
def bruck_cost(ranks: int, radix: int = 2) -> Cost:
    """Closed form of `bruck` on one full-duplex port per rank: one block for each nonzero digit of 1..N-1.

    >>> bruck_cost(8), bruck_cost(6)
    (Cost(n_alpha=3, n_beta=3/2), Cost(n_alpha=3, n_beta=7/6))
    >>> bruck_cost(64, radix=8), bruck_cost(64, radix=64)
    (Cost(n_alpha=14, n_beta=7/4), Cost(n_alpha=63, n_beta=63/64))
    """
    radix, places = places_of(ranks, radix)
    rounds = sum(min(radix - 1, (ranks - 1) // place) for place in places)
    distance = np.arange(ranks)
    nonzero = sum(int((distance // place % radix > 0).sum()) for place in places)
    return Cost(rounds, Fraction(nonzero, ranks))


@cache
def radices(ranks: int, most: int | None = None) -> tuple[int, ...]:
    """The radices that are best at some price, from 2, which is Bruck's, to N, which is pairwise exchange.

    Every radix is counted; kept are those that lie below every line through two others.

    Args:
        most: the largest that is counted (default: N). N - 1 is pairwise exchange too: one digit for every distance.

    >>> radices(1), radices(9), radices(9, most=7), 22 in radices(512), 21 in radices(512)
    ((2,), (3, 9), (3, 7), True, False)
    """
    radix = np.arange(2, max(ranks if most is None else most, 2) + 1)
    rounds, blocks, place = np.zeros_like(radix), np.zeros_like(radix), np.ones_like(radix)
    while (pending := place < ranks).any():
        zero = ranks // (radix * place) * place + np.minimum(ranks % (radix * place), place)
        rounds += np.where(pending, np.minimum(radix - 1, (ranks - 1) // place), 0)
        blocks += np.where(pending, ranks - zero, 0)
        place = np.where(pending, place * radix, place)
    hull: list[tuple[int, int, int]] = []
    for k in np.lexsort((np.where(radix == ranks, 0, radix), blocks, rounds)):  # of equal ones the simplest
        x, y = int(rounds[k]), int(blocks[k])
        if hull and y >= hull[-1][1]:
            continue
        while len(hull) > 1:
            (x0, y0, _), (x1, y1, _) = hull[-2:]
            if (x1 - x0) * (y - y0) > (y1 - y0) * (x - x0):
                break
            hull.pop()  # the last lies on or above the line from the one before to this one: it is never best alone
        hull.append((x, y, int(radix[k])))
    return tuple(sorted(radix for *_, radix in hull))


def bruck_buffers(ranks: int, radix: int = 2) -> Iterator[list[list[int]]]:
    """Which block lies in which slot of each rank's buffer: before, rotated, after every round, and at the end.

    The rounds move blocks between ranks, and this follows them as they are executed. A block
    sits in the slot of its distance all the way: the first rotation puts it there, every round
    sends whole slots and fills them with what arrives, and the last permutation moves slot j of
    rank r to slot (r - j) mod N, the number of the block's source.

    Yields:
        buffers[rank][slot], the index i * N + j of the block from rank i to rank j.

    >>> first, *_, last = bruck_buffers(3)
    >>> first, last
    ([[0, 1, 2], [3, 4, 5], [6, 7, 8]], [[0, 3, 6], [1, 4, 7], [2, 5, 8]])
    """
    schedule = bruck(ranks, radix)
    source, target = schedule.blocks.source, schedule.blocks.target
    place = source.copy()

    def laid_out(slot: IntArray) -> list[list[int]]:
        buffers = np.empty((ranks, ranks), dtype=np.intp)
        buffers[place, slot] = np.arange(len(place))
        rows: list[list[int]] = buffers.tolist()
        return rows

    yield laid_out(target)
    yield laid_out((target - place) % ranks)
    for t in range(schedule.num_steps):
        step = schedule.step(t)
        place[step.block] = step.dst
        yield laid_out((target - source) % ranks)
    yield laid_out(source)


def ring_relay(ranks: int, *, tie: str = "up", bundled: bool = True) -> Schedule:
    """Every block travels hop by hop round the ring, the shorter way.

    Args:
        tie: where a block to the antipode of an even ring goes: "up", or "split" into two halves,
            one each way.
        bundled: move all blocks in every step, several on a link as one message; or else one
            block on a link and step, nearest destinations first.

    >>> ring_relay(8).num_steps, ring_relay(8, bundled=False).num_steps
    (4, 10)
    """
    check_ranks(ranks)
    check_size(f"a relay on a ring of {ranks} ranks", sum(_hops(ranks, tie)), MOST_BLOCKS, "messages of one rank")
    blocks, direction = _directions(ranks, tie)
    distance = direction * blocks.target % ranks
    farthest = ranks // 2
    if bundled:
        turns = [(hop, np.flatnonzero(distance > hop)) for hop in range(farthest)]
    else:
        turns = [(hop, np.flatnonzero(distance == d)) for d in range(1, farthest + 1) for hop in range(d)]
    steps = [
        Step.of(direction[block] * hop % ranks, direction[block] * (hop + 1) % ranks, block) for hop, block in turns
    ]
    return from_every_rank(Schedule.from_steps(blocks, steps))


def _directions(ranks: int, tie: str) -> tuple[Blocks, IntArray]:
    """Rank 0's blocks, that to the antipode halved if the tie is split, and 1 or -1 for the direction of each."""
    blocks = blocks_of(ranks)
    direction = np.where(2 * blocks.target <= ranks, 1, -1)
    if tie == "up" or ranks % 2:
        return blocks, direction
    numerators = np.full(ranks + 1, 2)
    numerators[[ranks // 2, ranks]] = 1
    target = np.append(blocks.target, ranks // 2)
    halved = Blocks(ranks, Fractions(numerators, 2 * ranks), np.zeros_like(target), target, ())
    return halved, np.append(direction, -1)


@closed_form("N // 2", "(N // 2) * ((N + 1) // 2) / N")
def ring_relay_cost(ranks: int, tie: str = "up", bundled: bool = True) -> Cost:
    """Closed form of `ring_relay` on one full-duplex port per rank: both ways share the port, whatever `tie`.

    >>> ring_relay_cost(8), ring_relay_cost(8, bundled=False)
    (Cost(n_alpha=4, n_beta=2), Cost(n_alpha=10, n_beta=2))
    """
    up, down = _hops(ranks, tie)
    return Cost(ranks // 2 if bundled else up, Fraction(up + down, ranks))


def ring_relay_cost_on_ring(ranks: int, tie: str = "up", bundled: bool = True) -> Cost:
    """Closed form of `ring_relay` on a physical ring: one full-duplex link per neighbor.

    >>> ring_relay_cost_on_ring(8), ring_relay_cost_on_ring(8, tie="split")
    (Cost(n_alpha=4, n_beta=5/4), Cost(n_alpha=4, n_beta=1))
    """
    up, _ = _hops(ranks, tie)
    # two ranks have one link each way: there is no other way round
    saved = Fraction(ranks // 2, 2) if tie == "split" and ranks % 2 == 0 and ranks > 2 else Fraction(0)
    return Cost(ranks // 2 if bundled else up, (up - saved) / Fraction(ranks))


def _hops(ranks: int, tie: str) -> tuple[int, int]:
    """Blocks times hops that one rank's blocks need upwards and downwards, the antipode going up."""
    check_ranks(ranks)
    if tie not in ("up", "split"):
        raise ValueError(f"tie {tie!r}: must be 'up' or 'split'")
    up, down = ranks // 2, (ranks - 1) // 2
    return up * (up + 1) // 2, down * (down + 1) // 2
