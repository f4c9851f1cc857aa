"""Broadcast algorithms."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from colllib.algorithms import allgather, trees
from colllib.closed_form import POWER_OF_TWO, closed_form, formulas
from colllib.cost import Cost
from colllib.exact import IntArray
from colllib.primitives import broadcast, check_counts, check_rank, check_ranks, lg
from colllib.schedule import Schedule, Step, in_sequence, pipelined, placed


def chain(ranks: int, *, segments: int = 1, root: int = 0) -> Schedule:
    """From rank to rank along a chain, segment after segment: with several segments, the ring broadcast.

    Args:
        segments: segments P into which the vector is cut and pipelined.
        root: the rank that holds the vector.

    >>> chain(4, root=2).step(0)
    Step(src=array([2]), dst=array([3]), block=array([0]), add=array([False]))
    """
    check_ranks(ranks)
    check_counts(segments=segments)
    blocks = broadcast(ranks, segments if ranks > 1 else 1, root)
    if ranks == 1:
        return Schedule.from_steps(blocks, [])

    def step(t: int) -> Step:
        segment = np.arange(max(0, t - ranks + 2), min(t + 1, segments))
        sender = root + t - segment
        return Step.of(sender % ranks, (sender + 1) % ranks, segment)

    return Schedule(blocks, ranks - 1 + segments - 1, step)


#: On one full-duplex port per rank, as all closed forms here.
chain_cost = formulas("N + P - 2", "(N + P - 2) / P")


def binomial_tree(ranks: int, *, segments: int = 1, root: int = 0) -> Schedule:
    """The set of ranks that hold a segment doubles in every step; segments follow one step apart.

    Args:
        segments: segments P into which the vector is cut and pipelined. The root sends to all its
            children from one port, so this shortens nothing there: the ledger shows it.

    >>> binomial_tree(6).num_steps
    3
    """
    parent = trees.binomial(ranks, root)
    relative = (np.arange(ranks) - root) % ranks
    order = np.floor(np.log2(np.maximum(relative, 1))).astype(np.intp)
    return pipelined(trees.down_one_child_a_step(parent, order, broadcast(ranks, root=root)), segments)


#: The root's port carries every segment to every one of its ceil(log2 N) children, however fine.
binomial_tree_cost = formulas("lg(N) + P - 1", "lg(N)")


def two_tree(ranks: int, *, segments: int = 1, root: int = 0) -> Schedule:
    """Half of the vector down each of two complementary trees of the other ranks, whose roots the root serves in turn.

    A rank sends and receives at most one segment in each step.

    Args:
        segments: segments P into which each half is cut.

    Source: Sanders, Speck & Träff (2009).

    >>> two_tree(8, segments=4)
    Schedule(8 ranks, 8 blocks, 12 steps)
    """
    check_ranks(ranks)
    check_rank("root", root, ranks)
    check_counts(segments=segments)
    if ranks == 1:
        return Schedule.from_steps(broadcast(1), [])
    pair = _below_root(ranks)
    schedule = trees.down_both(pair, segments, trees.two_colors(*pair))
    return placed(schedule, ((np.arange(ranks) + root) % ranks).tolist())


def _below_root(ranks: int) -> tuple[IntArray, IntArray]:
    """The complementary trees of ranks 1..N-1, both hung below rank 0.

    >>> [trees.fill_rounds(_below_root, n) for n in (2, 3, 5, 9, 17)]
    [2, 4, 5, 7, 9]
    """
    first, second = (
        np.concatenate(([trees.ROOT], np.where(tree == trees.ROOT, 0, tree + 1)))
        for tree in trees.complementary(ranks - 1)
    )
    return first, second


@closed_form("2 * (lg(N) + P - 1)", "(lg(N) + P - 1) / P", POWER_OF_TWO)
def two_tree_cost(ranks: int, segments: int = 1) -> Cost:
    """Closed form of `two_tree` on one full-duplex port per rank; the fill comes from the trees.

    >>> two_tree_cost(8, segments=4)
    Cost(n_alpha=12, n_beta=3/2)
    """
    rounds = trees.fill_rounds(_below_root, ranks) + 2 * (segments - 1)
    return Cost(rounds, Fraction(rounds, 2 * segments))


def scatter_allgather(ranks: int, *, root: int = 0) -> Schedule:
    """Scatter the vector down a binomial tree, then all-gather it round the ring.

    Source: Thakur, Rabenseifner & Gropp (2005), section 4.2; Chan et al. (2007), section 4.

    >>> scatter_allgather(8).num_steps
    10
    """
    return in_sequence(scatter(ranks, root=root), allgather.ring(ranks))


def scatter(ranks: int, *, root: int = 0) -> Schedule:
    """Send every rank its slice of the root's vector down a binomial tree, half of what one holds at a time.

    >>> scatter(6).num_steps
    3
    """
    blocks = replace(broadcast(ranks, ranks, root), target=np.arange(ranks))
    steps = []
    for k in reversed(range(lg(ranks))):
        distance = 1 << k
        block = np.flatnonzero(np.arange(ranks) & distance)
        sender = block // (2 * distance) * (2 * distance)
        steps.append(Step.of((sender + root) % ranks, (sender + distance + root) % ranks, (block + root) % ranks))
    return Schedule.from_steps(blocks, steps)


scatter_allgather_cost = formulas("lg(N) + N - 1", "2 * (N - 1) / N")


def scatter_bruck(ranks: int, *, root: int = 0) -> Schedule:
    """Scatter the vector down a binomial tree, then all-gather it as Bruck does.

    MPI libraries gather by recursive doubling, which at powers of two costs the same.

    Source: Thakur, Rabenseifner & Gropp (2005), section 4.2.

    >>> scatter_bruck(8).num_steps
    6
    """
    return in_sequence(scatter(ranks, root=root), allgather.bruck(ranks))


scatter_bruck_cost = formulas("2 * lg(N)", "2 * (N - 1) / N")
