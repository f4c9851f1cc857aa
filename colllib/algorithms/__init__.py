"""The algorithms, one module per primitive, and the table that names them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from inspect import signature

from colllib.algorithms import (
    allgather,
    allreduce,
    alltoall,
    broadcast,
    circulant,
    innetwork,
    lattice,
    pointtopoint,
    reduce,
    reducescatter,
    relay,
)
from colllib.cost import Cost
from colllib.schedule import Schedule
from colllib.topology import Topology

_NAMES = {
    "rabenseifner": "Rabenseifner",
    "bruck": "Bruck",
    "pat": "PAT",
    "reduce-broadcast": "reduce + broadcast",
    "dim-rabenseifner": "Rabenseifner by axes",
}


def no_closed_form(*_: object, **__: object) -> Cost:
    """The cost of an algorithm that has no closed form: it must be executed.

    Raises:
        ValueError: always.
    """
    raise ValueError("this algorithm has no closed form: execute it")


@dataclass(frozen=True)
class Algorithm:
    """A named way to make a primitive true.

    Args:
        primitive: the primitive's name.
        name: the algorithm's name, in kebab-case.
        build: makes the schedule from the number of ranks (from the `Lattice` or the topology itself, as `takes` says),
            and `segments` where `segmented`.
        cost: the closed form with the same arguments, on a star with one full-duplex port per rank
            (on the lattice with one full-duplex link per neighbor); `no_closed_form` where there is none.
        reference: where it comes from, a key of the bibliography, or None for common knowledge.
        segmented: whether it takes a number of segments.
        power_of_two: whether it inherently needs N (every axis) to be a power of two.
        takes: what it is built from: "ranks", a "lattice", or a "topology" with switches that take part.
        needs: what the lattice ("wraps") or the switches ("combines", "replicates", "scatters") must offer.
    """

    primitive: str
    name: str
    build: Callable[..., Schedule]
    cost: Callable[..., Cost]
    reference: str | None
    segmented: bool = False
    power_of_two: bool = False
    takes: str = "ranks"
    needs: tuple[str, ...] = ()

    def fits(self, ranks: int) -> bool:
        """Whether it can serve N ranks.

        >>> find("all-gather", "recursive-doubling").fits(6)
        False
        """
        return not self.power_of_two or ranks & (ranks - 1) == 0

    @property
    def has_closed_form(self) -> bool:
        """Whether its cost can be said without executing it."""
        return self.cost is not no_closed_form

    def serves(self, topology: Topology) -> bool:
        """Whether it can run there.

        >>> from colllib.topology import mesh, star
        >>> [find("all-reduce", "dim-ring").serves(where) for where in (mesh((3, 3)), star(9))]
        [True, False]
        """
        if self.takes == "ranks":
            return self.fits(topology.ranks)
        if self.takes == "topology":
            return topology.switches > 0 and all(getattr(topology, what) for what in self.needs)
        axes = topology.lattice
        return (
            axes is not None
            and all(self.fits(size) for size in axes.dims)
            and all(getattr(axes, what) for what in self.needs)
        )

    @property
    def options(self) -> dict[str, str]:
        """What else can be chosen, such as a root: the name of each option and its type.

        >>> find("all-gather", "pat").options, find("broadcast", "chain").options
        ({'cap': 'int', 'order': 'str'}, {'root': 'int'})
        """
        found = {
            name: str(choice.annotation).split(" ")[0] for name, choice in signature(self.build).parameters.items()
        }
        plain = {name: kind for name, kind in found.items() if kind in ("int", "str", "bool")}
        return {name: kind for name, kind in plain.items() if name not in ("ranks", "segments")}

    def configured(self, options: Mapping[str, int | str | bool]) -> Algorithm:
        """The same algorithm with some of its options chosen.

        Raises:
            ValueError: for an option that it does not take.

        >>> find("all-gather", "pat").configured({"cap": 1}).cost(8)
        Cost(n_alpha=7, n_beta=7/8)
        """
        for name in options:
            if name not in self.options:
                taken = ", ".join(self.options) or "none"
                raise ValueError(f"{self.primitive} {self.name} takes no option {name!r}: it takes {taken}")
        build = partial(self.build, **options)
        if not self.has_closed_form:
            return replace(self, build=build)
        priced = {name: value for name, value in options.items() if name in signature(self.cost).parameters}
        return replace(self, build=build, cost=partial(self.cost, **priced))

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
    Algorithm(
        "all-reduce",
        "bidirectional-ring",
        allreduce.bidirectional_ring,
        allreduce.bidirectional_ring_cost,
        "patarasuk2009",
    ),
    Algorithm(
        "all-reduce",
        "shortest-way-ring",
        allreduce.shortest_way_ring,
        allreduce.shortest_way_ring_cost,
        None,
    ),
    Algorithm(
        "all-reduce",
        "reduce-broadcast",
        allreduce.reduce_broadcast,
        allreduce.reduce_broadcast_cost,
        "traff2024",
        segmented=True,
    ),
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


_LATTICE = {"takes": "lattice"}
_TORUS = {"takes": "lattice", "needs": ("wraps",)}
_CHAIN = _LATTICE | {"segmented": True}
_TREES = _TORUS | {"segmented": True}
_HALVING = _LATTICE | {"power_of_two": True}
_ADDS = {"takes": "topology", "needs": ("combines",), "segmented": True}
_COPIES = {"takes": "topology", "needs": ("replicates",), "segmented": True}
_BOTH = {"takes": "topology", "needs": ("combines", "replicates"), "segmented": True}
_SCATTERS = {"takes": "topology", "needs": ("scatters",), "segmented": True}

#: What is made for one kind of topology: it takes the axes, or the topology itself, instead of a number of ranks.
SPECIAL_ALGORITHMS: tuple[Algorithm, ...] = tuple(
    Algorithm(primitive, name, build, cost, reference, **kind)
    for primitive, name, build, cost, reference, kind in (
        (
            "broadcast",
            "dim-chain",
            lattice.dim_chain,
            lattice.dim_chain_cost,
            "sack2015",
            _CHAIN,
        ),
        (
            "broadcast",
            "all-links",
            lattice.all_links_broadcast,
            lattice.all_links_broadcast_cost,
            "johnsson1989",
            _TREES,
        ),
        ("broadcast", "in-network", innetwork.multicast, innetwork.multicast_cost, "graham2016", _COPIES),
        (
            "reduce",
            "dim-chain",
            lattice.dim_chain_reduce,
            lattice.dim_chain_cost,
            "sack2015",
            _CHAIN,
        ),
        (
            "reduce",
            "all-links",
            lattice.all_links_reduce,
            lattice.all_links_broadcast_cost,
            "johnsson1989",
            _TREES,
        ),
        ("reduce", "in-network", innetwork.reduce_to_root, innetwork.whole_vector_cost, "graham2016", _ADDS),
        ("all-reduce", "dim-ring", lattice.dim_ring, lattice.dim_ring_cost, "sack2015", _LATTICE),
        ("all-reduce", "dim-shortest-way", lattice.dim_shortest_way, lattice.dim_shortest_way_cost, "sack2015", _TORUS),
        ("all-reduce", "rotated-dim-ring", lattice.rotated_dim_ring, no_closed_form, "sack2015", _LATTICE),
        (
            "all-reduce",
            "breadth-first",
            lattice.breadth_first,
            lattice.breadth_first_all_reduce_cost,
            "zhao2025",
            _TORUS,
        ),
        (
            "all-reduce",
            "dim-rabenseifner",
            lattice.dim_rabenseifner,
            no_closed_form,
            "rabenseifner2004",
            _HALVING,
        ),
        ("all-reduce", "swing", lattice.swing, no_closed_form, "desensi2024", _HALVING),
        ("all-reduce", "in-network", innetwork.one_shot_all_reduce, innetwork.whole_vector_cost, "graham2016", _BOTH),
        (
            "all-reduce",
            "in-network-two-shot",
            innetwork.two_shot_all_reduce,
            innetwork.two_shot_cost,
            "klenk2020",
            _BOTH,
        ),
        (
            "reduce-scatter",
            "dim-ring",
            lattice.dim_ring_reduce_scatter,
            lattice.dim_ring_half_cost,
            "sack2015",
            _LATTICE,
        ),
        (
            "reduce-scatter",
            "breadth-first",
            lattice.breadth_first_reduce_scatter,
            lattice.breadth_first_cost,
            "zhao2025",
            _TORUS,
        ),
        (
            "reduce-scatter",
            "in-network",
            innetwork.scatter_reduced,
            innetwork.scatter_reduced_cost,
            "graham2016",
            _ADDS,
        ),
        ("all-gather", "dim-ring", lattice.dim_ring_all_gather, lattice.dim_ring_half_cost, "sack2015", _LATTICE),
        (
            "all-gather",
            "breadth-first",
            lattice.breadth_first_all_gather,
            lattice.breadth_first_cost,
            "zhao2025",
            _TORUS,
        ),
        (
            "all-gather",
            "in-network",
            innetwork.gather_multicast,
            innetwork.gather_multicast_cost,
            "graham2016",
            _COPIES,
        ),
        ("all-to-all", "relay", relay.relay, no_closed_form, "zhao2025", _LATTICE),
        ("all-to-all", "rotated-relay", relay.rotated_relay, relay.rotated_relay_cost, "zhao2025", _LATTICE),
        ("all-to-all", "in-network", innetwork.scatter_bundles, innetwork.scatter_bundles_cost, None, _SCATTERS),
    )
)


def serving(primitive: str, topology: Topology) -> tuple[Algorithm, ...]:
    """All algorithms of a primitive that can run on a topology: those for any network first.

    Raises:
        ValueError: for a primitive without algorithms.

    >>> from colllib.topology import mesh
    >>> [algorithm.name for algorithm in serving("all-gather", mesh((3, 2)))]
    ['ring', 'bruck', 'pat', 'dim-ring']
    """
    special = tuple(algorithm for algorithm in SPECIAL_ALGORITHMS if algorithm.primitive == primitive)
    return tuple(algorithm for algorithm in of(primitive) + special if algorithm.serves(topology))


@cache
def of(primitive: str) -> tuple[Algorithm, ...]:
    """All algorithms of a primitive that run on any topology, in the order of the table.

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


@cache
def find(primitive: str, name: str) -> Algorithm:
    """One algorithm by its names.

    Raises:
        ValueError: for an unknown primitive or algorithm, naming the known ones.

    >>> find("all-reduce", "ring").cost(4)
    Cost(n_alpha=6, n_beta=3/2)
    """
    found = (*of(primitive), *(algorithm for algorithm in SPECIAL_ALGORITHMS if algorithm.primitive == primitive))
    for algorithm in found:
        if algorithm.name == name:
            return algorithm
    known = ", ".join(algorithm.name for algorithm in found)
    raise ValueError(f"unknown algorithm {name!r} for {primitive}: known are {known}")
