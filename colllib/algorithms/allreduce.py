"""All-reduce algorithms, each with its closed form beside it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from colllib.algorithms import allgather, reduce, reducescatter, trees
from colllib.closed_form import POWER_OF_TWO, SEGMENTED_POWER_OF_TWO, closed_form, formulas
from colllib.cost import Cost
from colllib.exact import Fractions, IntArray
from colllib.primitives import Blocks, Shares, all_reduce, check_counts, check_ranks, lg
from colllib.primitives import reduce as reduce_blocks
from colllib.schedule import (
    Orbit,
    Schedule,
    Step,
    in_sequence,
    placed,
    reversed_in_time,
    scaled,
    side_by_side,
    there_and_back,
)
from colllib.topology import Lattice


def ring(ranks: int, *, first: int = 0, shares: Shares | None = None) -> Schedule:
    """Ring reduce-scatter, then ring all-gather.

    Args:
        first: the chunk that rank r sends first is r + first (0 as the textbooks draw it).
        shares: the chunks' shares of M (default: N equal ones).

    Source: Patarasuk & Yuan (2009).

    >>> ring(4)
    Schedule(4 ranks, 4 blocks, 6 steps)
    """
    return in_sequence(
        reducescatter.ring(ranks, first=first, shares=shares), allgather.ring(ranks, first=first + 1, shares=shares)
    )


#: Of `ring` with equal chunks, and `bidirectional_ring`, on one full-duplex port per rank, as all closed forms here.
ring_cost = formulas("2 * (N - 1)", "2 * (N - 1) / N")


def bidirectional_ring(ranks: int) -> Schedule:
    """Two rings at once, one each way round, each with half of the vector.

    It takes as many steps as one ring. It moves half as much over each link where a rank owns a link
    to each of two neighbors, and just as much where both ways share one port.

    >>> bidirectional_ring(6).num_steps
    10
    """
    halves = (
        in_sequence(reducescatter.ring(ranks, direction=direction), allgather.ring(ranks, direction=direction))
        for direction in (1, -1)
    )
    return side_by_side(*(scaled(half, Fraction(1, 2)) for half in halves))


def shortest_way_reduce_scatter(ranks: int) -> Schedule:
    """Every partial sum travels to its owner the shorter way round, from both sides at once.

    Each chunk is two blocks: for even N the rank opposite its owner sends one half each way.

    >>> shortest_way_reduce_scatter(6).num_steps
    3
    """
    check_ranks(ranks)
    low, high = 0, 1  # the halves of rank 0's chunk
    steps = []
    for d in range(ranks // 2, 0, -1):
        sides = []
        for direction, half in ((1, low), (-1, high)):
            halves = [half] if 2 * d == ranks else [low, high]
            sides.append(Step.of(-direction * d % ranks, -direction * (d - 1) % ranks, halves, add=True))
        steps.append(Step.joined(sides))
    one = scaled(Schedule.from_steps(reduce_blocks(ranks, 2), steps), Fraction(1, ranks))
    return Orbit(one, Lattice((ranks,)), number=lambda half, owner: 2 * owner + half)


def shortest_way_ring(ranks: int) -> Schedule:
    """`shortest_way_reduce_scatter`, then the same backwards: 2 floor(N/2) steps, where one ring takes 2 (N - 1).

    >>> shortest_way_ring(6).num_steps, shortest_way_ring(7).num_steps
    (6, 6)
    """
    return there_and_back(shortest_way_reduce_scatter)(ranks)


#: Half the bytes on a physical ring.
shortest_way_ring_cost = formulas("2 * (N // 2)", "2 * (N - 1) / N")


def binomial_tree(ranks: int, *, root: int = 0) -> Schedule:
    """Reduce to the root of one binomial tree, then broadcast down the same tree.

    >>> binomial_tree(5)
    Schedule(5 ranks, 1 blocks, 6 steps)
    """
    return there_and_back(reduce.binomial_tree)(ranks, root=root)


binomial_tree_cost = formulas("2 * lg(N)", "2 * lg(N)")


#: A round-optimal reduce to a root, then a round-optimal broadcast from it, for any N. Source: Träff (2024).
reduce_broadcast = there_and_back(reduce.circulant)
reduce_broadcast_cost = formulas("2 * (lg(N) + P - 1)", "2 * (lg(N) + P - 1) / P")


def double_binary_tree(
    ranks: int, *, segments: int = 1, parents: tuple[Sequence[int] | IntArray, Sequence[int] | IntArray] | None = None
) -> Schedule:
    """Two complementary trees, each reducing and then broadcasting half of the vector.

    With one segment a whole level of both trees moves in each step, as the textbooks draw it; a
    parent of two children then receives twice in that step, and the ledger charges its port for
    both. From two segments on the edges take turns in two colors, so that no rank sends or
    receives more than one segment in a step.

    Args:
        segments: segments P into which each tree's half is cut.
        parents: the two trees as arrays of parents, -1 at the root (default:
            `trees.complementary`).

    Source: Sanders, Speck & Träff (2009).

    >>> double_binary_tree(4), double_binary_tree(4, segments=8)
    (Schedule(4 ranks, 2 blocks, 4 steps), Schedule(4 ranks, 16 blocks, 34 steps))
    """
    check_ranks(ranks)
    check_counts(segments=segments)
    if ranks == 1:
        return Schedule.from_steps(all_reduce(1), [])
    first, second = trees.complementary(ranks) if parents is None else parents
    pair = np.asarray(first, dtype=np.intp), np.asarray(second, dtype=np.intp)
    down = trees.down_both(pair, segments, trees.two_colors(*pair) if segments > 1 else None)
    return in_sequence(reversed_in_time(down), down)


@closed_form("2 * (2 * lg(N) + 2 * P - 3)", "(2 * lg(N) + 2 * P - 3) / P", SEGMENTED_POWER_OF_TWO)
def double_binary_tree_cost(ranks: int, segments: int = 1) -> Cost:
    """Closed form of `double_binary_tree` on one full-duplex port per rank.

    One segment: two children of a level meet on their parent's port, so every level costs M, but
    for the level next to the root of an even-N tree, which has one child. From two segments on:
    R rounds each way, of M/2P each, where the first segment needs F rounds to reach every rank and
    the others follow two rounds apart. F comes from the trees and their colors.

    >>> double_binary_tree_cost(512), double_binary_tree_cost(4, segments=8)
    (Cost(n_alpha=18, n_beta=17), Cost(n_alpha=34, n_beta=17/8))
    """
    if ranks == 2:
        return Cost(2 * segments, 1)
    if segments == 1:
        depth = lg(ranks) - ranks % 2
        return Cost(2 * depth, 2 * depth - (1 - ranks % 2))
    rounds = trees.fill_rounds(trees.complementary, ranks) + 2 * (segments - 1)
    return Cost(2 * rounds, Fraction(rounds, segments))


def recursive_doubling(ranks: int) -> Schedule:
    """Exchange the whole vector with a partner at distance 1, 2, 4, ...

    Where N is no power of two the surplus ranks fold in first and get the result last.

    Source: Thakur, Rabenseifner & Gropp (2005), section 4.

    >>> recursive_doubling(4), recursive_doubling(6)
    (Schedule(4 ranks, 1 blocks, 2 steps), Schedule(6 ranks, 1 blocks, 4 steps))
    """
    check_ranks(ranks)
    power = _power_below(ranks)
    steps = [Step.of(0, 1 << k, 0, add=True) for k in range(power.bit_length() - 1)]
    lattice = allgather.hypercube(power)
    one = Schedule.from_steps(Blocks(power, Fractions.equal(1), np.zeros(1, np.intp), np.zeros(1, np.intp), ()), steps)
    return _folded(Orbit(one, lattice, fixed_axes=range(len(lattice.dims))), ranks)


@closed_form("lg(N)", "lg(N)", POWER_OF_TWO)
def recursive_doubling_cost(ranks: int) -> Cost:
    """Closed form of `recursive_doubling` on one full-duplex port per rank.

    >>> recursive_doubling_cost(512), recursive_doubling_cost(6)
    (Cost(n_alpha=9, n_beta=9), Cost(n_alpha=4, n_beta=4))
    """
    return recursive_doubling_cost(_power_below(ranks)) + _FOLD


def rabenseifner(ranks: int, *, order: str = "near", fused: bool = False) -> Schedule:
    """Recursive halving, then recursive doubling of the chunks: optimal bytes in 2 log2 N steps.

    Where N is no power of two the surplus ranks fold in first and get the result last.

    Args:
        order: "near" halves with the partner at distance 1 first, "far" with the partner at
            distance N/2 first. The all-gather undoes the order.
        fused: make one of the last step of the halving and the first of the doubling: both sides
            of a pair send what they hold of their two blocks, and add. One step fewer, no byte more.

    Source: Rabenseifner (2004); Thakur, Rabenseifner & Gropp (2005).

    >>> rabenseifner(4), rabenseifner(6, order="far"), rabenseifner(4, fused=True).num_steps
    (Schedule(4 ranks, 4 blocks, 4 steps), Schedule(6 ranks, 4 blocks, 6 steps), 3)
    """
    check_ranks(ranks)
    doubling = reducescatter.UNDONE_BY.get(order, order)  # any other word is refused by the halving
    schedule = there_and_back(reducescatter.recursive_halving)(_power_below(ranks), order=doubling)
    if fused and schedule.num_steps:
        steps, last = list(schedule.steps), schedule.num_steps // 2
        both = Step.joined(steps[last - 1 : last + 1])
        steps[last - 1 : last + 1] = [both._replace(add=np.ones_like(both.add))]
        schedule = Schedule.from_steps(schedule.blocks, steps)
    return _folded(schedule, ranks)


@closed_form("2 * lg(N)", "2 * (N - 1) / N", POWER_OF_TWO)
def rabenseifner_cost(ranks: int, fused: bool = False) -> Cost:
    """Closed form of `rabenseifner` on one full-duplex port per rank, either order.

    >>> rabenseifner_cost(512), rabenseifner_cost(6)
    (Cost(n_alpha=18, n_beta=511/256), Cost(n_alpha=6, n_beta=7/2))
    """
    power = _power_below(ranks)
    cost = rabenseifner_cost(power) if power == ranks else rabenseifner_cost(power) + _FOLD
    return Cost(cost.n_alpha - 1, cost.n_beta) if fused and power > 1 else cost


#: Reduce-scatter, then all-gather, both in Bruck's shifts: optimal bytes in 2 ceil(log2 N) steps, for any N.
#: Source: Träff (2025), "Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms".
bruck = there_and_back(reducescatter.bruck)
bruck_cost = formulas("2 * lg(N)", "2 * (N - 1) / N")

#: Reduce-scatter, then all-gather, in steps to k - 1 ranks at once. Source: UCC, src/coll_patterns/sra_knomial.h.
knomial = there_and_back(reducescatter.knomial)


@closed_form("2 * ((lg(N) + 1) // 2)", "2 * (N - 1) / N")
def knomial_cost(ranks: int, radix: int = 4) -> Cost:
    """Closed form of `knomial`: two all-gathers.

    >>> knomial_cost(512), knomial_cost(72, radix=6)
    (Cost(n_alpha=10, n_beta=511/256), Cost(n_alpha=6, n_beta=71/36))
    """
    half = allgather.knomial_cost(ranks, radix)
    return half + half


def _folded(inner: Schedule, ranks: int) -> Schedule:
    """An all-reduce of the largest power of two made one of any N: rank 2i + 1 joins rank 2i and sits out."""
    surplus = ranks - inner.ranks
    if surplus == 0:
        return inner
    even = 2 * np.arange(surplus)
    survivors = np.concatenate((even, np.arange(2 * surplus, ranks)))
    middle = placed(inner, survivors.tolist(), ranks)
    count = len(inner.blocks)
    blocks = all_reduce(ranks, shares=count)
    block = np.tile(np.arange(count), surplus)
    src, dst = np.repeat(even + 1, count), np.repeat(even, count)
    steps = [
        Step.of(src, dst, block, add=True),
        *(middle.step(t) for t in range(middle.num_steps)),
        Step.of(dst, src, block),
    ]
    return Schedule.from_steps(blocks, steps)


#: A surplus rank sends its vector before, and receives the result after.
_FOLD = Cost(2, 2)


def _power_below(ranks: int) -> int:
    """The largest power of two that is at most N."""
    return 1 << (lg(ranks + 1) - 1)
