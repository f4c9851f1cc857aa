"""All-gather algorithms."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from colllib.closed_form import POWER_OF_TWO, closed_form, formulas
from colllib.cost import Cost
from colllib.exact import IntArray
from colllib.primitives import (
    Shares,
    all_gather,
    broadcast,
    check_counts,
    check_direction,
    check_ranks,
    is_power_of_two,
    is_whole,
    lg,
    reduce,
    reduce_scatter,
    whole_numbers,
)
from colllib.schedule import Orbit, Schedule, Step, scaled
from colllib.topology import Lattice


def ring(ranks: int, *, first: int = 0, direction: int = 1, shares: Shares | None = None) -> Schedule:
    """Ring all-gather: every rank passes on what it received in the step before.

    Args:
        first: rank r starts with chunk r + first (times the direction) and sends it first.
        direction: 1 sends to rank r + 1, -1 to rank r - 1.
        shares: the chunks' shares of M (default: N equal ones).

    Source: Patarasuk & Yuan (2009), section 4.

    >>> ring(4, first=1).blocks.source
    array([3, 0, 1, 2])
    """
    return once_round(ranks, first, direction, shares, add=False)


def once_round(ranks: int, first: int, direction: int, shares: Shares | None, *, add: bool) -> Schedule:
    """Every chunk goes once round the ring: all ranks keep it, or they `add` their own to it on its way to the last.

    >>> once_round(4, 0, 1, None, add=True).blocks.target
    array([3, 0, 1, 2])
    """
    check_ranks(ranks)
    check_direction(direction)
    at = direction * (np.arange(ranks) - whole_numbers("first", first)) % ranks  # where chunk 0 is before every step
    one_chunk, all_chunks, owner = (reduce, reduce_scatter, at[-1]) if add else (broadcast, all_gather, at[0])
    messages = Step.of(at[:-1], at[1:], 0, add)
    one = Schedule.from_messages(one_chunk(ranks, root=int(owner)), ranks - 1, np.arange(ranks - 1), messages)
    every = Orbit(scaled(one, Fraction(1, ranks)), Lattice((ranks,)))
    if shares is None:
        return every
    return Schedule(all_chunks(ranks, shares, (np.arange(ranks) + owner) % ranks), ranks - 1, every.step)


#: Of `ring` with equal chunks on one full-duplex port per rank, as all closed forms here.
ring_cost = formulas("N - 1", "(N - 1) / N")


def recursive_doubling(ranks: int, *, order: str = "near") -> Schedule:
    """Exchange all that one holds with a partner; what is held doubles in every step.

    Args:
        ranks: N, a power of two (`bruck` does the same for any N).
        order: "near" starts with the partner at distance 1, "far" with the one at distance N/2.

    Source: Thakur, Rabenseifner & Gropp (2005), section 4.1.

    Raises:
        ValueError: if N is no power of two.

    >>> [len(recursive_doubling(8).step(t).src) // 8 for t in range(3)]
    [1, 2, 4]
    """
    check_ranks(ranks)
    if not is_power_of_two(ranks):
        raise ValueError(f"N = {ranks}: recursive doubling needs a power of two; bruck serves any N")
    if order not in ("near", "far"):
        raise ValueError(f"order {order!r}: must be 'near' or 'far'")
    bits = range(lg(ranks))
    holders = np.zeros(1, dtype=np.intp)  # of block 0: its tree doubles in every step
    steps = []
    for bit in bits if order == "near" else reversed(bits):
        steps.append(Step.of(holders, holders ^ (1 << bit), 0))
        holders = np.concatenate((holders, holders ^ (1 << bit)))
    return of_every_rank(ranks, steps, hypercube(ranks))


def hypercube(ranks: int) -> Lattice:
    """A power of two of ranks as a lattice: a shift on it flips some bits of a rank's number.

    >>> hypercube(8).dims
    (2, 2, 2)
    """
    return Lattice((2,) * lg(ranks) or (1,))


def of_every_rank(ranks: int, steps: Sequence[Step], lattice: Lattice) -> Orbit:
    """An all-gather in which every rank's block takes the images of the paths of rank 0's."""
    return Orbit(scaled(Schedule.from_steps(broadcast(ranks), steps), Fraction(1, ranks)), lattice)


recursive_doubling_cost = formulas("lg(N)", "(N - 1) / N", POWER_OF_TWO)


def bruck(ranks: int) -> Schedule:
    """Send all that one holds, up to what is still missing, to the rank 1, 2, 4, ... below.

    Source: Bruck et al. (1997), section 4.

    >>> [len(bruck(6).step(t).src) // 6 for t in range(3)]
    [1, 2, 2]
    """
    check_ranks(ranks)
    steps = []
    for k in range(lg(ranks)):
        below = np.arange(min(1 << k, ranks - (1 << k)))  # how far below block 0's owner it is sent on
        steps.append(Step.of(-below % ranks, -(below + (1 << k)) % ranks, 0))
    return of_every_rank(ranks, steps, Lattice((ranks,)))


bruck_cost = formulas("lg(N)", "(N - 1) / N")


def knomial(ranks: int, *, radix: int = 4) -> Schedule:
    """PAT's shifts, the largest first, in radix k: a block's holders send it on to k - 1 others in one step.

    Where N is a power of k, or a multiple below k of one, ranks exchange in groups, as UCC's: their numbers in radix k
    differ in one digit. At other N, where UCC folds, all blocks go down the same tree, rotated.

    Args:
        radix: k, at least 2.

    Source: Bruck et al. (1997), section 4, for k - 1 ports; UCC, src/coll_patterns/sra_knomial.h.

    >>> [len(knomial(72, radix=6).step(t).src) // 72 for t in range(3)]
    [1, 10, 60]
    """
    radix, places = places_of(ranks, radix)
    steps = []
    for place in reversed(places):
        reached = np.arange(place, ranks, place)
        reached = reached[reached // place % radix > 0]
        steps.append(Step.of(reached - reached % (radix * place), reached, 0))
    groups, rest = divmod(ranks, max(places, default=1))
    return of_every_rank(ranks, steps, Lattice((ranks,) if rest else (radix,) * (len(places) - 1) + (groups,)))


def places_of(ranks: int, radix: int) -> tuple[int, list[int]]:
    """The radix, of which those above N all do what N does, and its powers 1, k, k^2, ... below N.

    >>> places_of(9, 2), places_of(9, 12)
    ((2, [1, 2, 4, 8]), (9, [1]))
    """
    check_ranks(ranks)
    if not is_whole(radix) or radix < 2:
        raise ValueError(f"a radix must be a whole number of at least 2, not {radix!r}")
    radix = min(radix, max(ranks, 2))
    powers = (radix**exponent for exponent in range(int(ranks).bit_length()))
    return radix, [place for place in powers if place < ranks]


@closed_form("(lg(N) + 1) // 2", "(N - 1) / N")
def knomial_cost(ranks: int, radix: int = 4) -> Cost:
    """Closed form of `knomial` on one full-duplex port per rank, where k - 1 messages share a latency.

    >>> knomial_cost(512), knomial_cost(512, radix=8)
    (Cost(n_alpha=5, n_beta=511/512), Cost(n_alpha=3, n_beta=511/512))
    """
    return Cost(len(places_of(ranks, radix)[1]), Fraction(ranks - 1, ranks))


def pat(ranks: int, *, cap: int | None = None, order: str = "far") -> Schedule:
    """Parallel aggregated trees: Bruck's shifts, largest first, with at most `cap` blocks a message.

    Every block travels down a binomial tree of its own, all trees rotated copies of one. Without a
    cap the round with shift d carries about N / 2d blocks per rank. NCCL sends to the rank below
    instead of the one above, which is the same schedule mirrored, and plants 8A subtrees, walked in
    messages of A close behind each other: it parks what this does with a cap of 8A.

    Args:
        cap: A, the most blocks in one message (default: no limit).
        order: how it is kept, for powers of two in as many steps but not in the same memory (see `colllib.metrics`).
            "far" and "near": rounds as before until A subtrees have a root, then all A, rounded down to a power of
            two, at once depth first, by way of the farthest or the nearest child. "rounds": each round in steps of at
            most A blocks, level by level.

    Source: Jeaugey (2025), "PAT: a new algorithm for all-gather and reduce-scatter operations at
    scale"; NCCL, src/include/collectives.h, PatAGAlgorithm.

    >>> pat(8).num_steps, pat(8, cap=2).num_steps, pat(8, cap=1).num_steps
    (3, 4, 7)
    """
    steps = [Step.of(offsets, (offsets + shift) % ranks, 0) for offsets, shift in _pat_steps(ranks, cap, order)]
    return of_every_rank(ranks, steps, Lattice((ranks,)))


def _pat_steps(ranks: int, cap: int | None, order: str) -> list[tuple[IntArray, int]]:
    """For each step, the distances from home of the blocks that are passed on, and how far."""
    check_ranks(ranks)
    check_counts(cap=1 if cap is None else cap)
    if order not in ("far", "near", "rounds"):
        raise ValueError(f"order {order!r}: must be 'far', 'near' or 'rounds'")
    if ranks == 1:
        return []
    span = 1 << lg(ranks)
    most = span // 2 if cap is None else min(cap, span // 2)
    if order == "rounds":
        rounds = _pat_rounds(ranks, span // 2, 1)
        return [(part[i : i + most], shift) for part, shift in rounds for i in range(0, len(part), most)]
    subtrees = 1 << (lg(most + 1) - 1)
    size = span // subtrees
    roots = np.arange(0, span, size)
    steps = _pat_rounds(ranks, span // 2, size)
    for below, shift in _depth_first(0, size, order):
        offsets = roots + below
        offsets = offsets[offsets + shift < ranks]
        if len(offsets):
            steps.append((offsets, shift))
    return steps


def _pat_rounds(ranks: int, largest: int, smallest: int) -> list[tuple[IntArray, int]]:
    """A round for each shift, largest first, down to the smallest."""
    shifts = [largest >> k for k in range((largest // smallest).bit_length())]
    return [(np.arange(0, ranks - shift, 2 * shift), shift) for shift in shifts]


def _depth_first(root: int, size: int, order: str) -> list[tuple[int, int]]:
    """The edges (node, shift) of a binomial tree of `size` nodes, farthest or nearest child first, depth first."""
    edges = []
    shifts = [1 << k for k in range(lg(size))]
    for shift in shifts if order == "near" else reversed(shifts):
        edges += [(root, shift), *_depth_first(root + shift, shift, order)]
    return edges


@closed_form("lg(N)", "(N - 1) / N")
def pat_cost(ranks: int, cap: int | None = None, order: str = "far") -> Cost:
    """Closed form of `pat` on one full-duplex port per rank.

    Depth first with A subtrees, log2 A rounds plant their roots; each subtree of ceil2(N) / A ranks
    is walked in as many steps as it has edges, but for edges that lead beyond rank N in every
    subtree. Round by round, the round with shift d takes as many steps as its blocks need messages.

    >>> pat_cost(8), pat_cost(8, cap=2), pat_cost(512, cap=16)
    (Cost(n_alpha=3, n_beta=7/8), Cost(n_alpha=4, n_beta=7/8), Cost(n_alpha=35, n_beta=511/512))
    """
    _pat_steps(1, cap, order)  # which refuses what it cannot do
    span = 1 << lg(ranks)
    most = min(cap or span, span // 2)
    if order == "rounds":
        shifts = (1 << k for k in range(lg(span)))
        steps = sum(-(-len(range(0, ranks - shift, 2 * shift)) // most) for shift in shifts)
    else:
        subtrees = 1 << (lg(most + 1) - 1)
        steps = lg(subtrees) + min(ranks, span // subtrees) - 1
    return Cost(steps, Fraction(ranks - 1, ranks))
