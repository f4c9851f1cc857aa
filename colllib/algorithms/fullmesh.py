"""Schedules for a rank that owns a link to every other one: everything goes straight to where it is needed.

On a full mesh a step of these uses all links at once. On a star the same schedules are allowed, and
the ledger charges each port for the N - 1 messages that meet there.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from colllib.cost import Cost
from colllib.primitives import all_to_all as all_to_all_blocks
from colllib.primitives import reduce_scatter as reduce_scatter_blocks
from colllib.schedule import Schedule, Step, in_sequence, reversed_in_time


def all_to_all(ranks: int) -> Schedule:
    """Every block goes straight to its destination, all of them in one step.

    >>> from colllib.execution import execute
    >>> from colllib.topology import full_mesh
    >>> execute(all_to_all(8), full_mesh(8)).cost
    Cost(n_alpha=1, n_beta=1/8)
    """
    blocks = all_to_all_blocks(ranks)
    away = np.flatnonzero(blocks.source != blocks.target)
    steps = [Step.of(blocks.source[away], blocks.target[away], away)] if ranks > 1 else []
    return Schedule.from_steps(blocks, steps)


def reduce_scatter(ranks: int) -> Schedule:
    """Everyone sends each owner its share, and the owner adds N - 1 of them up, in one step.

    >>> reduce_scatter(8).num_steps
    1
    """
    owner, source = np.divmod(np.arange(ranks * ranks), ranks)
    away = owner != source
    steps = [Step.of(source[away], owner[away], owner[away], add=True)] if ranks > 1 else []
    return Schedule.from_steps(reduce_scatter_blocks(ranks), steps)


def all_gather(ranks: int) -> Schedule:
    """Every owner sends its shard to all others, in one step: `reduce_scatter` backwards.

    >>> all_gather(8).num_steps
    1
    """
    return reversed_in_time(reduce_scatter(ranks))


def all_reduce(ranks: int) -> Schedule:
    """`reduce_scatter`, then `all_gather`: two steps for any N.

    >>> from colllib.execution import execute
    >>> from colllib.topology import full_mesh
    >>> execute(all_reduce(6), full_mesh(6)).cost
    Cost(n_alpha=2, n_beta=1/3)
    """
    return in_sequence(reduce_scatter(ranks), all_gather(ranks))


def half_cost(ranks: int) -> Cost:
    """Closed form of all but `all_reduce` on a full mesh, a link of BW per pair.

    >>> half_cost(8)
    Cost(n_alpha=1, n_beta=1/8)
    """
    return Cost(1, Fraction(1, ranks)) if ranks > 1 else Cost(0, 0)


def all_reduce_cost(ranks: int) -> Cost:
    """Closed form of `all_reduce` on a full mesh, a link of BW per pair.

    >>> all_reduce_cost(8)
    Cost(n_alpha=2, n_beta=1/4)
    """
    return half_cost(ranks) + half_cost(ranks)
