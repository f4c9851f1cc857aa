"""Reduce algorithms: broadcasts backwards. They cost what the broadcasts cost."""

from __future__ import annotations

from colllib.algorithms import broadcast, reducescatter
from colllib.algorithms import circulant as circulant_graph
from colllib.schedule import Schedule, in_sequence, reversed_in_time


def chain(ranks: int, *, segments: int = 1, root: int = 0) -> Schedule:
    """`broadcast.chain` backwards: partial sums run down the chain to the root.

    >>> chain(4, segments=4).num_steps
    6
    """
    return reversed_in_time(broadcast.chain(ranks, segments=segments, root=root))


def binomial_tree(ranks: int, *, segments: int = 1, root: int = 0) -> Schedule:
    """`broadcast.binomial_tree` backwards: in every step half of the ranks that still hold a sum send it on.

    >>> binomial_tree(6).num_steps
    3
    """
    return reversed_in_time(broadcast.binomial_tree(ranks, segments=segments, root=root))


def two_tree(ranks: int, *, segments: int = 1, root: int = 0) -> Schedule:
    """`broadcast.two_tree` backwards: half of the vector up each of two complementary trees.

    >>> two_tree(8, segments=4).num_steps == broadcast.two_tree(8, segments=4).num_steps
    True
    """
    return reversed_in_time(broadcast.two_tree(ranks, segments=segments, root=root))


def circulant(ranks: int, *, segments: int = 1, root: int = 0) -> Schedule:
    """`circulant.circulant` backwards: every rank receives each segment once, so each sum goes up a tree of its own.

    >>> circulant(12, segments=5).num_steps
    8
    """
    return reversed_in_time(circulant_graph.circulant(ranks, segments=segments, root=root))


def scatter_allgather(ranks: int, *, root: int = 0) -> Schedule:
    """A ring reduce-scatter, then a gather up a binomial tree: the counterpart of the broadcast of this name.

    It is not that broadcast backwards: the all-gather gives the root slices that it has already,
    and backwards those would be counted twice.

    Source: Thakur, Rabenseifner & Gropp (2005), section 4.7; Chan et al. (2007), section 4.

    >>> scatter_allgather(8).num_steps
    10
    """
    gather = reversed_in_time(broadcast.scatter(ranks, root=root))
    return in_sequence(reducescatter.ring(ranks), gather)
