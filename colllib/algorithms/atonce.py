"""Algorithms for a link per pair of ranks: everything that is due leaves at once, each message over a link of its own.

On a star the same steps put N-1 messages on one port in one step, which the meaning of alpha in
this book does not price: use them on a full mesh.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from colllib import primitives
from colllib.cost import Cost
from colllib.schedule import Schedule, Step, in_sequence, reversed_in_time


def all_to_all(ranks: int) -> Schedule:
    """Every block straight to its destination, all in one step.

    >>> from colllib.execution import execute
    >>> from colllib.topology import full_mesh
    >>> execute(all_to_all(8), full_mesh(8)).cost
    Cost(n_alpha=1, n_beta=1/8)
    """
    blocks = primitives.all_to_all(ranks)
    away = np.flatnonzero(blocks.source != blocks.target)
    steps = [Step.of(blocks.source[away], blocks.target[away], away)] if len(away) else []
    return Schedule.from_steps(blocks, steps)


def all_gather(ranks: int) -> Schedule:
    """Every rank's shard to all others in one step.

    >>> from colllib.execution import execute
    >>> from colllib.topology import full_mesh
    >>> execute(all_gather(8), full_mesh(8)).cost
    Cost(n_alpha=1, n_beta=1/8)
    """
    src, dst = np.divmod(np.arange(ranks * ranks), ranks)
    away = src != dst
    steps = [Step.of(src[away], dst[away], src[away])] if away.any() else []
    return Schedule.from_steps(primitives.all_gather(ranks), steps)


def reduce_scatter(ranks: int) -> Schedule:
    """`all_gather` backwards: every rank's contribution straight to the chunk's owner.

    >>> reduce_scatter(8).num_steps
    1
    """
    return reversed_in_time(all_gather(ranks))


def all_reduce(ranks: int) -> Schedule:
    """`reduce_scatter`, then `all_gather`.

    >>> from colllib.execution import execute
    >>> from colllib.topology import full_mesh
    >>> execute(all_reduce(8), full_mesh(8)).cost
    Cost(n_alpha=2, n_beta=1/4)
    """
    return in_sequence(reduce_scatter(ranks), all_gather(ranks))


def broadcast(ranks: int, *, root: int = 0) -> Schedule:
    """The root sends a different slice to every other rank, and keeps one; then all of them exchange their slices.

    >>> from colllib.execution import execute
    >>> from colllib.topology import full_mesh
    >>> execute(broadcast(8), full_mesh(8)).cost
    Cost(n_alpha=2, n_beta=1/4)
    """
    others = np.delete(np.arange(ranks), root)
    src, dst = np.divmod(np.arange(ranks * ranks), ranks)
    away = (src != dst) & (dst != root)
    steps = [Step.of(root, others, others), Step.of(src[away], dst[away], src[away])] if ranks > 1 else []
    return Schedule.from_steps(primitives.broadcast(ranks, [Fraction(1, ranks)] * ranks, root), steps)


def reduce(ranks: int, *, root: int = 0) -> Schedule:
    """`broadcast` backwards.

    >>> reduce(8).num_steps
    2
    """
    return reversed_in_time(broadcast(ranks, root=root))


def one_step_cost(ranks: int) -> Cost:
    """Closed form of `all_to_all`, `all_gather` and `reduce_scatter` on a full mesh with a link of BW per pair.

    >>> one_step_cost(512)
    Cost(n_alpha=1, n_beta=1/512)
    """
    return Cost(1, Fraction(1, ranks)) if ranks > 1 else Cost(0, 0)


def two_step_cost(ranks: int) -> Cost:
    """Closed form of `all_reduce`, `broadcast` and `reduce` there.

    >>> two_step_cost(512)
    Cost(n_alpha=2, n_beta=1/256)
    """
    return one_step_cost(ranks) + one_step_cost(ranks)
