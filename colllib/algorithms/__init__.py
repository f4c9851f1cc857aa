"""The algorithms, one module per primitive, and the catalogue that names them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from inspect import signature
from math import isqrt
from typing import Any

import numpy as np

from colllib.algorithms import (
    allgather,
    allreduce,
    alltoall,
    breadth_first,
    broadcast,
    channels,
    circulant,
    direct,
    flow,
    forests,
    hierarchical,
    innetwork,
    lattice,
    pointtopoint,
    reduce,
    reducescatter,
    relay,
    synthesis,
)
from colllib.closed_form import Argument, ClosedForm, CostFunction, no_closed_form
from colllib.primitives import is_power_of_two
from colllib.schedule import Schedule
from colllib.topology import Topology, boxes, star, torus
from colllib.topology.lattice import PER_NEIGHBOR
from colllib.topology.star import one_switch
from colllib.topology.twisted import twist_of
from colllib.units import shortened

MOST_AWAITED = 2**24  # ranks times links of a graph on which a ladder waits for a schedule made for it

_NAMES = {
    "rabenseifner": "Rabenseifner",
    "bruck": "Bruck",
    "pat": "PAT",
    "knomial": "k-nomial",
    "reduce-broadcast": "reduce + broadcast",
    "two-tree": "two trees",
    "scatter-allgather": "scatter and all-gather",
    "reduce scatter-allgather": "reduce-scatter and gather",
    "scatter-bruck": "scatter and Bruck",
    "reduce scatter-bruck": "Bruck and gather",
    "dim-rabenseifner": "Rabenseifner by axes",
    "rotated-dim-ring": "dim-ring in rotated copies",
    "rotated-relay": "relay in slices",
    "breadth-first-rooted": "rooted breadth-first",
    "in-network-two-shot": "in-network two-shot",
    "channels": "ring channels",
    "nvls-tree": "NVLS + tree",
    "collnet": "CollNet",
    "nvls": "NVLS + CollNet",
} | {name: name for name in ("dim-ring", "dim-chain", "dim-shortest-way", "breadth-first", "in-network")}

# -- where an algorithm applies: None, or the sentence that says why not --------------------------


def any_will_do(_: int | Topology) -> None:
    """Any number of ranks, or any topology, will do."""


def powers_of_two(ranks: int) -> str | None:
    """Only a power of two will do."""
    return f"needs a power of two, not {ranks} ranks" if not is_power_of_two(ranks) else None


def on_axes(topology: Topology) -> str | None:
    """Only ranks with a link to their neighbors on every axis will do."""
    if topology.lattice is None or topology.switches:
        return f"is made for a ring, line, torus or mesh, and {topology.name} has no axes"
    return None


def on_axes_or_a_twist(topology: Topology) -> str | None:
    """A torus of axes k and 2k with its twist will do, too."""
    return None if twist_of(topology) else on_axes(topology)


def on_rings(topology: Topology) -> str | None:
    """Only axes that close to rings will do."""
    if (refusal := on_axes(topology)) is not None:
        return refusal
    return None if topology.lattice is None or topology.lattice.wraps else f"needs rings, and {topology.name} has lines"


def in_boxes(topology: Topology) -> str | None:
    """Only ranks in groups below switches will do."""
    if (refusal := in_uneven_boxes(topology)) is not None:
        return refusal
    return f"needs boxes of one size, and the last one of {topology.name} is smaller" if not topology.lattice else None


def in_uneven_boxes(topology: Topology) -> str | None:
    """Only ranks in boxes will do, of which the last one may be smaller."""
    return None if topology.in_box else f"is made for boxes, and {topology.name} has none"


def switches_that(*abilities: str) -> Callable[[Topology], str | None]:
    """Only switches that can do all of this will do."""

    def refusal(topology: Topology) -> str | None:
        missing = [what for what in abilities if not getattr(topology, what)] if topology.switches else ["take part"]
        if missing:
            return f"needs switches that {' and '.join(innetwork.ABILITIES.get(what, what) for what in missing)}"
        if topology.in_box:
            return f"is made for one tree of switches: on {topology.name} take hierarchical with in-network tiers"
        return None

    return refusal


def boxes_that_add(inner: bool, outer: bool) -> Callable[[Topology], str | None]:
    """Only boxes whose inner or outer switches add and replicate will do."""

    def refusal(topology: Topology) -> str | None:
        if (why := in_boxes(topology)) is not None or topology.lattice is None:
            return why
        dims = topology.lattice.dims
        axes = [axis for axis in range(len(dims)) if (outer if axis else inner)]
        if all(dims[axis] == 1 for axis in axes):
            return "needs several ranks for a switch to add"
        for axis in axes:
            if (why := hierarchical.tier_refusal(topology, axis, "all-reduce")) is not None:
                return f"on tier {axis} {why}"
        joining = hierarchical.tier_switches(topology, 0) if inner else np.zeros(0)
        if len(np.unique(joining)) < len(joining):  # a box takes a detour where something has failed
            return f"needs a switch for each box, and on {topology.name} some boxes would share one"
        return None

    return refusal


# -- where a closed form belongs ------------------------------------------------------------------


def on_a_star(topology: Topology) -> bool:
    """One switch, one full-duplex port of BW per rank, and alpha from one to another."""
    latencies = one_switch(topology)
    return latencies is not None and sum(latencies) == 1 and topology.tiers[0].bandwidth == 1


def _at_full_speed(topology: Topology) -> bool:
    """No switches, and links of alpha and BW."""
    if topology.switches or [tier.bandwidth for tier in topology.tiers] != [1]:
        return False
    return bool((topology.alpha.numerators == topology.alpha.denominator).all())


def on_own_links(topology: Topology) -> bool:
    """Axes, with a link of alpha and BW to every neighbor; what lacks links, or takes other routes, has other words."""
    return topology.lattice is not None and topology.port_model == PER_NEIGHBOR and _at_full_speed(topology)


def on_a_torus(topology: Topology) -> bool:
    """Axes that close to rings, with a link of BW to every neighbor."""
    return on_own_links(topology) and topology.lattice is not None and topology.lattice.wraps


def on_one_switch(topology: Topology) -> bool:
    """One switch, with ports of any width."""
    return one_switch(topology) is not None


def on_a_full_mesh(topology: Topology) -> bool:
    """A link of alpha and BW for every pair of ranks, which what they send takes."""
    ranks = topology.ranks
    if topology.num_links != ranks * (ranks - 1) or not _at_full_speed(topology):
        return False
    src, dst = np.nonzero(~np.eye(ranks, dtype=bool))
    linked = np.array_equal(np.sort(topology.link_src * ranks + topology.link_dst), src * ranks + dst)
    return linked and len(topology.router(src, dst)[0]) == len(src)


_BELONGS = {"ranks": on_a_star, "lattice": on_own_links, "topology": on_one_switch}


@dataclass(frozen=True)
class Algorithm:
    """A named way to make a primitive true.

    Args:
        primitive: the primitive's name.
        name: the algorithm's name, in kebab-case.
        build: makes the schedule from the number of ranks (from the `Lattice` or the topology itself, as `takes` says),
            and `segments` where `segmented`.
        cost: a closed form with the same arguments, true where `belongs` says; `no_closed_form` where there is none.
        reference: where it comes from, a key of the bibliography, or None for common knowledge.
        segmented: whether it takes a number of segments.
        takes: what it is built from: "ranks", a "lattice" (or the axes of a twisted torus), or a "topology".
        counts: which numbers of ranks (sizes of every axis) it serves.
        topologies: which topologies it serves.
        belongs: the topologies whose cost the closed form is (default: by what it takes a star with one full-duplex
            port per rank, a lattice with one full-duplex link per neighbor, or one switch).
        many_partners: whether a rank sends to several others in one step. A step costs one alpha, so that without a
            link to each such an algorithm may look better than it is: tables leave it out there, and the command's
            ladder where its place depends on that.
        searched: of what is made for that one fabric, on how many ranks times links everybody waits for it, also where
            no closed form is its cost; 0 for what only a ladder that searches starts, where it is found soon.
        overlaps: whether its segments follow one step apart, each as the schedule in one (`pipelined`).
        in_rounds: whether its steps are as in one of lg(N) rounds in turn, so that P segments take another course than
            P + 1; those of other algorithms add steps like the ones before.
    """

    primitive: str
    name: str
    build: Callable[..., Schedule]
    cost: CostFunction
    reference: str | None
    segmented: bool = False
    takes: str = "ranks"
    counts: Callable[[int], str | None] = any_will_do
    topologies: Callable[[Topology], str | None] = any_will_do
    belongs: Callable[[Topology], bool] | None = None
    many_partners: bool = False
    searched: int | None = None
    overlaps: bool = False
    in_rounds: bool = False

    def fits(self, ranks: int) -> bool:
        """Whether it can serve N ranks.

        >>> find("all-gather", "recursive-doubling").fits(6)
        False
        """
        return self.counts(ranks) is None

    @property
    def has_closed_form(self) -> bool:
        """Whether its cost can be said without executing it."""
        return self.cost is not no_closed_form

    @property
    def compared(self) -> bool:
        """Whether players have it."""
        return self.searched is None or self.has_closed_form

    def costs_its_closed_form(self, topology: Topology) -> bool:
        """Whether `cost` is the cost there.

        >>> from colllib.topology import ring, star, torus
        >>> flat = find("all-reduce", "ring")
        >>> [flat.costs_its_closed_form(topology) for topology in (star(4), star(4, ports=2), ring(4))]
        [True, False, False]
        >>> rotated = find("all-reduce", "rotated-dim-ring")
        >>> [rotated.costs_its_closed_form(torus(axes)) for axes in ((4, 4), (4, 3))]
        [True, False]
        """
        belongs = self.belongs or _BELONGS[self.takes]
        return self.refusal(topology) is None and belongs(topology) and self.cost.covers(self.argument(topology))

    def form(self, topology: Topology, segments: int = 1) -> ClosedForm | None:
        """The formulas that are its cost there, None if there are none.

        >>> from colllib.topology import star
        >>> tree = find("all-reduce", "recursive-doubling")
        >>> tree.form(star(8)).n_alpha.text, tree.form(star(6))
        ('lg(N)', None)
        """
        return self.cost.form(self.argument(topology), segments) if self.costs_its_closed_form(topology) else None

    def refusal(self, topology: Topology) -> str | None:
        """Why it cannot run there, as a sentence without its subject; None if it can.

        >>> from colllib.topology import mesh, star
        >>> find("all-reduce", "dim-ring").refusal(star(9))
        'is made for a ring, line, torus or mesh, and star:9 has no axes'
        >>> find("all-reduce", "swing").refusal(mesh((4, 3)))
        'needs a power of two, not 3 ranks'
        """
        topology = self._home(topology)
        if (refusal := self.topologies(topology)) is not None:
            return refusal
        if self.takes == "lattice" and topology.lattice is not None:
            return next((why for size in topology.lattice.dims if (why := self.counts(size)) is not None), None)
        return self.counts(topology.ranks)

    def argument(self, topology: Topology) -> Argument:
        """What it is built from there: the number of ranks, the axes, or the topology itself.

        Raises:
            ValueError: if it cannot run there.
        """
        if (refusal := self.refusal(topology)) is not None:
            raise ValueError(f"{self.primitive} {self.name} {refusal}")
        topology = self._home(topology)
        if self.takes == "lattice":
            axes = topology.lattice or twist_of(topology)
            assert axes is not None
            return axes
        return topology if self.takes == "topology" else topology.ranks

    def _home(self, topology: Topology) -> Topology:
        """The torus in the only box of a topology, without the cards, for what runs there; else itself."""
        inside = topology.inside if topology.ranks == topology.in_box else None
        return inside if inside and self.topologies(inside) is None else topology

    def at_home(self, ranks: int) -> Topology:
        """A topology of N ranks of the kind that it is made for: a star, a square torus, boxes, or a switch that adds.

        Where it cannot run on so few, `refusal` of what is returned says why.

        >>> [find("all-reduce", name).at_home(6).name for name in ("ring", "dim-ring", "hierarchical", "in-network")]
        ['star:6', 'torus:3x2', 'boxes:2x3', 'inc-star:6']
        """
        factor = next(size for size in range(isqrt(ranks), 0, -1) if ranks % size == 0)
        switch = star(ranks, combines=True, replicates=True, scatters=True)
        plain, able = (boxes((factor, ranks // factor), inc=inc) for inc in ("none", "both"))
        homes = (star(ranks), torus((ranks // factor, factor)), plain, able, boxes((ranks, 1), inc="both"), switch)
        return next((home for home in homes if self.topologies(home) is None), able)

    @property
    def options(self) -> dict[str, str]:
        """What else can be chosen, such as a root: the name of each option and its type.

        >>> find("all-gather", "pat").options, find("broadcast", "chain").options
        ({'cap': 'int', 'order': 'str'}, {'root': 'int'})
        """
        return {
            name: kind.__name__
            for name, parameter in signature(self.build, eval_str=True).parameters.items()
            for kind in (int, str, bool)
            if parameter.annotation in (kind, kind | None) and name not in ("ranks", "segments")
        }

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
        return replace(self, build=partial(self.build, **options), cost=self.cost.configured(**options))

    @property
    def chosen(self) -> dict[str, Any]:
        """The options that `configured` has set."""
        return dict(self.build.keywords) if isinstance(self.build, partial) else {}

    @property
    def label(self) -> str:
        """The name as prose writes it.

        >>> find("all-reduce", "double-binary-tree").label
        'double binary tree'
        """
        usual = _NAMES.get(self.name, self.name.replace("-", " "))
        return _NAMES.get(f"{self.primitive} {self.name}", usual)


#: An algorithm's row: name, builder, closed form, reference, kind.
_Row = tuple[str, Callable[..., Schedule], CostFunction, str | None, dict[str, Any]]


def _rows(table: Mapping[str, tuple[_Row, ...]]) -> tuple[Algorithm, ...]:
    return tuple(
        Algorithm(primitive, name, build, cost, reference, **kind)
        for primitive, rows in table.items()
        for name, build, cost, reference, kind in rows
    )


_PLAIN: dict[str, Any] = {}
_CUT: dict[str, Any] = {"segmented": True}
_POW2: dict[str, Any] = {"counts": powers_of_two}
_LATTICE: dict[str, Any] = {"takes": "lattice", "topologies": on_axes}
_SLICED: dict[str, Any] = {"takes": "lattice", "topologies": on_axes_or_a_twist}
_TORUS: dict[str, Any] = {"takes": "lattice", "topologies": on_rings}
_CHAIN: dict[str, Any] = _LATTICE | _CUT
_TREES: dict[str, Any] = _TORUS | _CUT
_HALVING: dict[str, Any] = _LATTICE | _POW2
_IN_BOXES: dict[str, Any] = {"takes": "topology", "topologies": in_boxes}
_ROUNDS: dict[str, Any] = _CUT | {"in_rounds": True}
_OVERLAPPED: dict[str, Any] = _CUT | {"overlaps": True}
_BOXES: dict[str, Any] = _IN_BOXES | _OVERLAPPED
_NVLS, _SHARP, _NVLS_SHARP = (
    _BOXES | {"topologies": boxes_that_add(*tiers)} for tiers in ((True, False), (False, True), (True, True))
)
_CHANNELS: dict[str, Any] = {"takes": "topology", "topologies": in_uneven_boxes}
_LINKED: dict[str, Any] = {
    "takes": "topology",
    "topologies": breadth_first.on_connected_ranks,
    "belongs": on_a_torus,
    "searched": MOST_AWAITED,
}
_SOLVED: dict[str, Any] = _LINKED | {"topologies": synthesis.on_several_ranks, "searched": 0}
_PACKED: dict[str, Any] = {"takes": "topology", "segmented": True, "searched": 0}
_CROWD: dict[str, Any] = {"many_partners": True}
_MESHED: dict[str, Any] = _CROWD | {"belongs": on_a_full_mesh}


def _through(*abilities: str) -> dict[str, Any]:
    return {"takes": "topology", "topologies": switches_that(*abilities), "segmented": True}


_ADDS, _COPIES, _SCATTERS = (_through(ability) for ability in ("combines", "replicates", "scatters"))
_BOTH = _through("combines", "replicates")

# fmt: off
_FOR_ANY_NETWORK: dict[str, tuple[_Row, ...]] = {
    "all-reduce": (
        ("ring", allreduce.ring, allreduce.ring_cost, "patarasuk2009", _PLAIN),
        ("binomial-tree", allreduce.binomial_tree, allreduce.binomial_tree_cost, "thakur2005", _PLAIN),
        ("double-binary-tree", allreduce.double_binary_tree, allreduce.double_binary_tree_cost, "sanders2009", _CUT),
        ("recursive-doubling", allreduce.recursive_doubling, allreduce.recursive_doubling_cost, "thakur2005", _PLAIN),
        ("rabenseifner", allreduce.rabenseifner, allreduce.rabenseifner_cost, "rabenseifner2004", _PLAIN),
        ("bruck", allreduce.bruck, allreduce.bruck_cost, "traff2025", _PLAIN),
        ("bidirectional-ring", allreduce.bidirectional_ring, allreduce.ring_cost, "patarasuk2009", _PLAIN),
        ("shortest-way-ring", allreduce.shortest_way_ring, allreduce.shortest_way_ring_cost, None, _PLAIN),
        ("reduce-broadcast", allreduce.reduce_broadcast, allreduce.reduce_broadcast_cost, "traff2024", _ROUNDS),
    ),
    "all-gather": (
        ("ring", allgather.ring, allgather.ring_cost, "patarasuk2009", _PLAIN),
        ("recursive-doubling", allgather.recursive_doubling, allgather.recursive_doubling_cost, "thakur2005", _POW2),
        ("bruck", allgather.bruck, allgather.bruck_cost, "bruck1997", _PLAIN),
        ("pat", allgather.pat, allgather.pat_cost, "jeaugey2025", _PLAIN),
    ),
    "reduce-scatter": (
        ("ring", reducescatter.ring, allgather.ring_cost, "patarasuk2009", _PLAIN),
        ("recursive-halving", reducescatter.recursive_halving, allgather.recursive_doubling_cost, "thakur2005", _POW2),
        ("bruck", reducescatter.bruck, allgather.bruck_cost, "bruck1997", _PLAIN),
        ("pat", reducescatter.pat, allgather.pat_cost, "jeaugey2025", _PLAIN),
    ),
    "broadcast": (
        ("chain", broadcast.chain, broadcast.chain_cost, "thakur2005", _OVERLAPPED),
        ("binomial-tree", broadcast.binomial_tree, broadcast.binomial_tree_cost, "thakur2005", _OVERLAPPED),
        ("two-tree", broadcast.two_tree, broadcast.two_tree_cost, "sanders2009", _CUT),
        ("scatter-allgather", broadcast.scatter_allgather, broadcast.scatter_allgather_cost, "thakur2005", _PLAIN),
        ("scatter-bruck", broadcast.scatter_bruck, broadcast.scatter_bruck_cost, "thakur2005", _PLAIN),
        ("circulant", circulant.circulant, circulant.circulant_cost, "traff2024", _ROUNDS),
    ),
    "reduce": (
        ("chain", reduce.chain, broadcast.chain_cost, "thakur2005", _OVERLAPPED),
        ("binomial-tree", reduce.binomial_tree, broadcast.binomial_tree_cost, "thakur2005", _OVERLAPPED),
        ("two-tree", reduce.two_tree, broadcast.two_tree_cost, "sanders2009", _CUT),
        ("scatter-allgather", reduce.scatter_allgather, broadcast.scatter_allgather_cost, "thakur2005", _PLAIN),
        ("scatter-bruck", reduce.scatter_bruck, broadcast.scatter_bruck_cost, "thakur2005", _PLAIN),
        ("circulant", reduce.circulant, circulant.circulant_cost, "traff2024", _ROUNDS),
    ),
    "all-to-all": (
        ("pairwise", alltoall.pairwise, alltoall.pairwise_cost, "thakur2005", _PLAIN),
        ("bruck", alltoall.bruck, alltoall.bruck_cost, "bruck1997", _PLAIN),
        ("ring-relay", alltoall.ring_relay, alltoall.ring_relay_cost, None, _PLAIN),
    ),
    "point-to-point": (
        ("direct", pointtopoint.direct, pointtopoint.direct_cost, "hockney1994", _PLAIN),
    ),
}
_FOR_ONE_KIND: dict[str, tuple[_Row, ...]] = {
    "broadcast": (
        ("dim-chain", lattice.dim_chain, lattice.dim_chain_cost, "sack2015", _CHAIN),
        ("all-links", lattice.all_links_broadcast, lattice.all_links_broadcast_cost, "johnsson1989", _TREES),
        ("in-network", innetwork.multicast, innetwork.whole_vector_cost, "graham2016", _COPIES),
        ("direct", direct.broadcast, direct.two_step_cost, None, _MESHED),
        ("hierarchical", hierarchical.broadcast, no_closed_form, None, _BOXES),
        ("channels", channels.broadcast_along, no_closed_form, "nccl", _CHANNELS | _OVERLAPPED),
        ("breadth-first", breadth_first.broadcast, no_closed_form, "zhao2025", _LINKED),
        ("forest", forests.broadcast, no_closed_form, "zhao2026forestcoll", _PACKED),
    ),
    "reduce": (
        ("dim-chain", lattice.dim_chain_reduce, lattice.dim_chain_cost, "sack2015", _CHAIN),
        ("all-links", lattice.all_links_reduce, lattice.all_links_broadcast_cost, "johnsson1989", _TREES),
        ("in-network", innetwork.reduce_to_root, innetwork.whole_vector_cost, "graham2016", _ADDS),
        ("direct", direct.reduce, direct.two_step_cost, None, _MESHED),
        ("hierarchical", hierarchical.reduce, no_closed_form, None, _BOXES),
        ("channels", channels.reduce_along, no_closed_form, "nccl", _CHANNELS | _OVERLAPPED),
        ("breadth-first", breadth_first.reduce, no_closed_form, "zhao2025", _LINKED),
        ("forest", forests.reduce, no_closed_form, "zhao2026forestcoll", _PACKED),
    ),
    "all-reduce": (
        ("dim-ring", lattice.dim_ring, lattice.dim_ring_cost, "sack2015", _LATTICE),
        ("dim-shortest-way", lattice.dim_shortest_way, lattice.dim_shortest_way_cost, "sack2015", _TORUS),
        ("rotated-dim-ring", lattice.rotated_dim_ring, lattice.rotated_dim_ring_cost, "sack2015", _LATTICE),
        ("breadth-first", breadth_first.all_reduce, breadth_first.all_reduce_cost, "zhao2025", _LINKED),
        ("dim-rabenseifner", lattice.dim_rabenseifner, no_closed_form, "rabenseifner2004", _HALVING),
        ("swing", lattice.swing, no_closed_form, "desensi2024", _HALVING),
        ("rotated-swing", lattice.rotated_swing, lattice.rotated_swing_cost, "desensi2024", _HALVING),
        ("in-network", innetwork.one_shot_all_reduce, innetwork.whole_vector_cost, "graham2016", _BOTH),
        ("in-network-two-shot", innetwork.two_shot_all_reduce, innetwork.two_shot_cost, "klenk2020", _BOTH),
        ("direct", direct.all_reduce, direct.two_step_cost, None, _MESHED),
        ("one-shot", direct.one_shot, direct.one_shot_cost, "vllm2192", _MESHED),
        ("knomial", allreduce.knomial, allreduce.knomial_cost, "bruck1997", _CROWD),
        ("hierarchical", hierarchical.all_reduce, no_closed_form, None, _BOXES),
        ("nvls-tree", hierarchical.nvls_tree, no_closed_form, "nccl", _NVLS),
        ("collnet", hierarchical.collnet, no_closed_form, "nccl", _SHARP),
        ("nvls", hierarchical.nvls, no_closed_form, "nccl", _NVLS_SHARP),
        ("channels", channels.all_reduce, no_closed_form, "nccl", _CHANNELS),
        ("tree", channels.tree, no_closed_form, "jeaugey2019", _CHANNELS | _CUT),
        ("breadth-first-rooted", breadth_first.rooted_all_reduce, no_closed_form, "zhao2025", _LINKED),
        ("forest", forests.all_reduce, no_closed_form, "zhao2026forestcoll", _PACKED),
    ),
    "reduce-scatter": (
        ("dim-ring", lattice.dim_ring_reduce_scatter, lattice.dim_ring_half_cost, "sack2015", _LATTICE),
        ("breadth-first", breadth_first.reduce_scatter, breadth_first.reduce_scatter_cost, "zhao2025", _LINKED),
        ("in-network", innetwork.scatter_reduced, innetwork.scatter_reduced_cost, "graham2016", _ADDS),
        ("rotated-dim-ring", lattice.rotated_reduce_scatter, lattice.rotated_dim_ring_half_cost, "sack2015", _LATTICE),
        ("dim-shortest-way", lattice.dim_shortest_way_reduce_scatter, lattice.dim_shortest_way_half_cost,
         "sack2015", _TORUS),
        ("direct", direct.reduce_scatter, direct.one_step_cost, None, _MESHED),
        ("knomial", reducescatter.knomial, allgather.knomial_cost, "bruck1997", _CROWD),
        ("hierarchical", hierarchical.reduce_scatter, no_closed_form, None, _BOXES),
        ("channels", channels.reduce_scatter, no_closed_form, "nccl", _CHANNELS),
        ("forest", forests.reduce_scatter, no_closed_form, "zhao2026forestcoll", _PACKED),
    ),
    "all-gather": (
        ("dim-ring", lattice.dim_ring_all_gather, lattice.dim_ring_half_cost, "sack2015", _LATTICE),
        ("breadth-first", breadth_first.all_gather, breadth_first.all_gather_cost, "zhao2025", _LINKED),
        ("in-network", innetwork.gather_multicast, innetwork.gather_multicast_cost, "graham2016", _COPIES),
        ("rotated-dim-ring", lattice.rotated_all_gather, lattice.rotated_dim_ring_half_cost, "sack2015", _LATTICE),
        ("direct", direct.all_gather, direct.one_step_cost, None, _MESHED),
        ("knomial", allgather.knomial, allgather.knomial_cost, "bruck1997", _CROWD),
        ("hierarchical", hierarchical.all_gather, no_closed_form, None, _BOXES),
        ("channels", channels.all_gather, no_closed_form, "nccl", _CHANNELS),
        ("synthesis", synthesis.all_gather, no_closed_form, "cai2021", _SOLVED),
        ("forest", forests.all_gather, no_closed_form, "zhao2026forestcoll", _PACKED),
    ),
    "all-to-all": (
        ("relay", relay.relay, no_closed_form, "zhao2025", _LATTICE),
        ("rotated-relay", relay.rotated_relay, relay.rotated_relay_cost, "zhao2025", _SLICED),
        ("in-network", innetwork.scatter_bundles, innetwork.scatter_bundles_cost, None, _SCATTERS),
        ("direct", direct.all_to_all, direct.one_step_cost, None, _MESHED),
        ("hierarchical", hierarchical.all_to_all, no_closed_form, None, _BOXES),
        ("pairwise-by-boxes", alltoall.pairwise_by_boxes, no_closed_form, "nccl", _IN_BOXES),
        ("flow", flow.all_to_all, no_closed_form, "basu2024", _SOLVED),
    ),
}
# fmt: on

#: Those for any network whose ranks have one port.
ALGORITHMS: tuple[Algorithm, ...] = _rows(_FOR_ANY_NETWORK)

#: Every algorithm that has a name.
CATALOGUE: tuple[Algorithm, ...] = ALGORITHMS + _rows(_FOR_ONE_KIND)


@cache
def every(primitive: str) -> tuple[Algorithm, ...]:
    """All algorithms of a primitive, those for any network first.

    Raises:
        ValueError: for a primitive without algorithms.

    >>> len(every("point-to-point"))
    1
    """
    algorithms = tuple(algorithm for algorithm in CATALOGUE if algorithm.primitive == primitive)
    if not algorithms:
        known = ", ".join(dict.fromkeys(algorithm.primitive for algorithm in CATALOGUE))
        cost = _KNOWN_COSTS.get(primitive.lower().removeprefix("mpi_"))
        answer = f"on a star {cost}; " if cost else ""
        raise ValueError(f"no algorithm for primitive {shortened(primitive)!r}: {answer}known are {known}")
    return algorithms


_IN_A_TREE = "a binomial tree takes ceil(log2 N) alpha + (N - 1)/N M/BW, M of all ranks together"
_IN_ROUNDS = "recursive doubling takes ceil(log2 N) (alpha + M/BW)"
#: What a collective of MPI takes that has no algorithm here.
_KNOWN_COSTS = {
    "barrier": "it takes ceil(log2 N) alpha, as an all-gather of 0 B does",
    **dict.fromkeys(("scan", "exscan"), _IN_ROUNDS),
    **dict.fromkeys(("gather", "scatter"), _IN_A_TREE),
}

#: What an option of an algorithm says, in a line.
MEANINGS = {
    "both": "go both ways round a ring, or up only",
    "bundled": "several blocks on a link are one message, or else one block a step",
    "cap": "the most blocks in one message (default: no limit)",
    "channels": "how many rings or trees (0: as many as use all cards, or all links of one box)",
    "direction": "1 to the next rank, -1 to the one before",
    "first": "the chunk that rank r sends first is r + first",
    "fused": "the last step of the halving and the first of the doubling are one",
    "order": "near or far partners first; of pat also rounds; hierarchical inner-first or outer-first",
    "phased": "an axis waits until the one before is done",
    "pieces": "into how many a shard is cut; of breadth-first at most (default: as many as make it exact)",
    "radix": "of the ranks' numbers, at least 2",
    "root": "the rank that has, or gets, the vector",
    "rotated": "blocks are cut into slices, each of which begins with another axis",
    "segments": "P, into how many the vector is cut and pipelined",
    "source": "the rank that sends",
    "steps": "how many (default: as many as the diameter)",
    "target": "the rank that receives",
    "tie": "which way to the antipode: up or split, of a relay also balanced",
    "tiers": "an algorithm for each tier, innermost first, with commas between; one for all; two: in boxes and beyond",
    "trees": "for each root (default: as many as reach the bound)",
    "turn": "which way a channel's ring goes through a box: rotated or alternate",
}


@cache
def of(primitive: str) -> tuple[Algorithm, ...]:
    """All algorithms of a primitive for any network whose ranks have one port, in the order of the catalogue.

    >>> [algorithm.name for algorithm in of("all-gather")]
    ['ring', 'recursive-doubling', 'bruck', 'pat']
    """
    return tuple(algorithm for algorithm in every(primitive) if algorithm in ALGORITHMS)


@cache
def find(primitive: str, name: str) -> Algorithm:
    """One algorithm by its names.

    Raises:
        ValueError: for an unknown primitive or algorithm, naming the known ones.

    >>> find("all-reduce", "ring").cost(4)
    Cost(n_alpha=6, n_beta=3/2)
    """
    for algorithm in every(primitive):
        if algorithm.name == name:
            return algorithm
    known = ", ".join(algorithm.name for algorithm in every(primitive))
    raise ValueError(f"unknown algorithm {shortened(name)!r} for {primitive}: known are {known}")
