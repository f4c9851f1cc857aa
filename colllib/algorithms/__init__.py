"""The algorithms, one module per primitive, and the table that names them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from colllib.algorithms import allgather, allreduce, alltoall, broadcast, circulant, pointtopoint, reduce, reducescatter
from colllib.cost import Cost
from colllib.schedule import Schedule

_NAMES = {"rabenseifner": "Rabenseifner", "bruck": "Bruck", "pat": "PAT"}


@dataclass(frozen=True)
class Algorithm:
    """A named way to make a primitive true.

    Args:
        primitive: the primitive's name.
        name: the algorithm's name, in kebab-case.
        build: makes the schedule from the number of ranks, and `segments` where `segmented`.
        cost: the closed form with the same arguments, on a star with one full-duplex port per rank.
        reference: where it comes from, a key of the bibliography, or None for common knowledge.
        segmented: whether it takes a number of segments.
        power_of_two: whether it inherently needs N to be a power of two.
    """

    primitive: str
    name: str
    build: Callable[..., Schedule]
    cost: Callable[..., Cost]
    reference: str | None
    segmented: bool = False
    power_of_two: bool = False

    def fits(self, ranks: int) -> bool:
        """Whether it can serve N ranks.

        >>> find("all-gather", "recursive-doubling").fits(6)
        False
        """
        return not self.power_of_two or ranks & (ranks - 1) == 0

    @property
    def label(self) -> str:
        """The name as prose writes it.

        >>> find("all-reduce", "double-binary-tree").label
        'double binary tree'
        """
        return _NAMES.get(self.name, self.name.replace("-", " "))


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
    Algorithm(
        "all-gather",
        "recursive-doubling",
        allgather.recursive_doubling,
        allgather.recursive_doubling_cost,
        "thakur2005",
        power_of_two=True,
    ),
    Algorithm("all-gather", "bruck", allgather.bruck, allgather.bruck_cost, "bruck1997"),
    Algorithm("all-gather", "pat", allgather.pat, allgather.pat_cost, "jeaugey2025"),
    Algorithm("reduce-scatter", "ring", reducescatter.ring, allgather.ring_cost, "patarasuk2009"),
    Algorithm(
        "reduce-scatter",
        "recursive-halving",
        reducescatter.recursive_halving,
        allgather.recursive_doubling_cost,
        "thakur2005",
        power_of_two=True,
    ),
    Algorithm("reduce-scatter", "bruck", reducescatter.bruck, allgather.bruck_cost, "bruck1997"),
    Algorithm("reduce-scatter", "pat", reducescatter.pat, allgather.pat_cost, "jeaugey2025"),
    Algorithm("broadcast", "chain", broadcast.chain, broadcast.chain_cost, "thakur2005", segmented=True),
    Algorithm(
        "broadcast",
        "binomial-tree",
        broadcast.binomial_tree,
        broadcast.binomial_tree_cost,
        "thakur2005",
        segmented=True,
    ),
    Algorithm("broadcast", "two-tree", broadcast.two_tree, broadcast.two_tree_cost, "sanders2009", segmented=True),
    Algorithm(
        "broadcast",
        "scatter-allgather",
        broadcast.scatter_allgather,
        broadcast.scatter_allgather_cost,
        "thakur2005",
    ),
    Algorithm("broadcast", "circulant", circulant.circulant, circulant.circulant_cost, "traff2024", segmented=True),
    Algorithm("reduce", "chain", reduce.chain, broadcast.chain_cost, "thakur2005", segmented=True),
    Algorithm(
        "reduce",
        "binomial-tree",
        reduce.binomial_tree,
        broadcast.binomial_tree_cost,
        "thakur2005",
        segmented=True,
    ),
    Algorithm("reduce", "two-tree", reduce.two_tree, broadcast.two_tree_cost, "sanders2009", segmented=True),
    Algorithm(
        "reduce",
        "scatter-allgather",
        reduce.scatter_allgather,
        broadcast.scatter_allgather_cost,
        "thakur2005",
    ),
    Algorithm("reduce", "circulant", reduce.circulant, circulant.circulant_cost, "traff2024", segmented=True),
    Algorithm("all-to-all", "pairwise", alltoall.pairwise, alltoall.pairwise_cost, "thakur2005"),
    Algorithm("all-to-all", "bruck", alltoall.bruck, alltoall.bruck_cost, "bruck1997"),
    Algorithm("all-to-all", "ring-relay", alltoall.ring_relay, alltoall.ring_relay_cost, None),
    Algorithm("point-to-point", "direct", pointtopoint.direct, pointtopoint.direct_cost, "hockney1994"),
)


def of(primitive: str) -> tuple[Algorithm, ...]:
    """All algorithms of a primitive, in the order of the table.

    Raises:
        ValueError: for a primitive without algorithms.

    >>> [algorithm.name for algorithm in of("all-gather")]
    ['ring', 'recursive-doubling', 'bruck', 'pat']
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
