"""The algorithms, one module per primitive, and the table that names them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from colllib.algorithms import allgather, allreduce, broadcast, reducescatter
from colllib.cost import Cost
from colllib.schedule import Schedule, reversed_in_time


@dataclass(frozen=True)
class Algorithm:
    """A named way to make a primitive true.

    Args:
        primitive: the primitive's name.
        name: the algorithm's name, in kebab-case.
        build: makes the schedule from the number of ranks, and `segments` where `segmented`.
        cost: the closed form with the same arguments, on a star with one full-duplex port per rank.
        reference: where it comes from, a key of the bibliography.
        segmented: whether it takes a number of segments.
    """

    primitive: str
    name: str
    build: Callable[..., Schedule]
    cost: Callable[..., Cost]
    reference: str
    segmented: bool = False

    @property
    def label(self) -> str:
        """The name as prose writes it.

        >>> find("all-reduce", "double-binary-tree").label
        'double binary tree'
        """
        return self.name.replace("-", " ").replace("rabenseifner", "Rabenseifner")


ALGORITHMS = (
    Algorithm("all-reduce", "ring", allreduce.ring, allreduce.ring_cost, "patarasuk2009"),
    Algorithm("all-reduce", "binomial-tree", allreduce.binomial_tree, allreduce.binomial_tree_cost, "thakur2005"),
    Algorithm(
        "all-reduce",
        "double-binary-tree",
        allreduce.double_binary_tree,
        allreduce.double_binary_tree_cost,
        "sanders2009",
        segmented=True,
    ),
    Algorithm(
        "all-reduce",
        "recursive-doubling",
        allreduce.recursive_doubling,
        allreduce.recursive_doubling_cost,
        "thakur2005",
    ),
    Algorithm("all-reduce", "rabenseifner", allreduce.rabenseifner, allreduce.rabenseifner_cost, "rabenseifner2004"),
    Algorithm("all-gather", "ring", allgather.ring, allgather.ring_cost, "patarasuk2009"),
    Algorithm("reduce-scatter", "ring", reducescatter.ring, reducescatter.ring_cost, "patarasuk2009"),
    Algorithm("broadcast", "chain", broadcast.chain, broadcast.chain_cost, "thakur2005"),
    Algorithm("broadcast", "binomial-tree", broadcast.binomial_tree, broadcast.binomial_tree_cost, "thakur2005"),
    Algorithm(
        "reduce", "chain", lambda ranks: reversed_in_time(broadcast.chain(ranks)), broadcast.chain_cost, "thakur2005"
    ),
    Algorithm(
        "reduce",
        "binomial-tree",
        lambda ranks: reversed_in_time(broadcast.binomial_tree(ranks)),
        broadcast.binomial_tree_cost,
        "thakur2005",
    ),
)


def of(primitive: str) -> tuple[Algorithm, ...]:
    """All algorithms of a primitive, in the order of the table.

    Raises:
        ValueError: for a primitive without algorithms.

    >>> [algorithm.name for algorithm in of("all-gather")]
    ['ring']
    """
    found = tuple(algorithm for algorithm in ALGORITHMS if algorithm.primitive == primitive)
    if not found:
        known = ", ".join(dict.fromkeys(algorithm.primitive for algorithm in ALGORITHMS))
        raise ValueError(f"no algorithm for primitive {primitive!r}: known are {known}")
    return found


def find(primitive: str, name: str) -> Algorithm:
    """One algorithm by its names.

    Raises:
        ValueError: for an unknown primitive or algorithm, naming the known ones.

    >>> find("all-reduce", "ring").cost(4)
    Cost(n_alpha=6, n_beta=3/2)
    """
    for algorithm in of(primitive):
        if algorithm.name == name:
            return algorithm
    known = ", ".join(algorithm.name for algorithm in of(primitive))
    raise ValueError(f"unknown algorithm {name!r} for {primitive}: known are {known}")
