"""Broadcast algorithms. Their time reversals are the reduce algorithms."""

from __future__ import annotations

import numpy as np

from colllib.algorithms import trees
from colllib.cost import Cost
from colllib.primitives import broadcast, check_rank, check_ranks
from colllib.schedule import Schedule, Step


def chain(ranks: int, *, root: int = 0) -> Schedule:
    """The whole vector from rank to rank, N - 1 steps. `pipelined` turns it into the ring broadcast.

    >>> chain(4, root=2).step(0)
    Step(src=array([2]), dst=array([3]), block=array([0]), add=array([False]))
    """
    check_ranks(ranks)
    check_rank("root", root, ranks)
    steps = [Step.of((root + t) % ranks, (root + t + 1) % ranks, 0) for t in range(ranks - 1)]
    return Schedule.from_steps(broadcast(ranks, root=root), steps)


def chain_cost(ranks: int) -> Cost:
    """Closed form of `chain` on one full-duplex port per rank.

    >>> chain_cost(4)
    Cost(n_alpha=3, n_beta=3)
    """
    check_ranks(ranks)
    return Cost(ranks - 1, ranks - 1)


def binomial_tree(ranks: int, *, root: int = 0) -> Schedule:
    """The set of ranks that hold the vector doubles in every step.

    >>> binomial_tree(6).num_steps
    3
    """
    parent = trees.binomial(ranks, root)
    relative = (np.arange(ranks) - root) % ranks
    order = np.floor(np.log2(np.maximum(relative, 1))).astype(np.intp)
    return trees.down_one_child_a_step(parent, order, broadcast(ranks, root=root))


def binomial_tree_cost(ranks: int) -> Cost:
    """Closed form of `binomial_tree` on one full-duplex port per rank.

    >>> binomial_tree_cost(6)
    Cost(n_alpha=3, n_beta=3)
    """
    check_ranks(ranks)
    return Cost((ranks - 1).bit_length(), (ranks - 1).bit_length())
