"""Reduce algorithms: broadcasts backwards. They cost what the broadcasts cost."""

from __future__ import annotations

from colllib.algorithms import broadcast, reducescatter
from colllib.algorithms import circulant as circulant_graph
from colllib.schedule import Schedule, backwards, in_sequence, reversed_in_time

chain = backwards(broadcast.chain)
#: In every step half of the ranks that still hold a sum send it on.
binomial_tree = backwards(broadcast.binomial_tree)
two_tree = backwards(broadcast.two_tree)
#: Every rank receives each segment once, so that each sum goes up a tree of its own.
circulant = backwards(circulant_graph.circulant)


def scatter_allgather(ranks: int, *, root: int = 0) -> Schedule:
    """A ring reduce-scatter, then a gather up a binomial tree: the counterpart of the broadcast of this name.

    It is not that broadcast backwards: the all-gather gives the root slices that it has already,
    and backwards those would be counted twice.

    Source: Thakur, Rabenseifner & Gropp (2005), section 4; Chan et al. (2007), section 4.

    >>> scatter_allgather(8).num_steps
    10
    """
    gather = reversed_in_time(broadcast.scatter(ranks, root=root))
    return in_sequence(reducescatter.ring(ranks), gather)


def scatter_bruck(ranks: int, *, root: int = 0) -> Schedule:
    """Bruck's reduce-scatter, then a gather up a binomial tree.

    MPI libraries halve recursively instead, which at powers of two costs the same.

    Source: Thakur, Rabenseifner & Gropp (2005), section 4.

    >>> scatter_bruck(8).num_steps
    6
    """
    return in_sequence(reducescatter.bruck(ranks), reversed_in_time(broadcast.scatter(ranks, root=root)))
