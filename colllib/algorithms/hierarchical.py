"""Collectives over boxes, tier by tier: what `nested` makes of an algorithm for each tier.

Every function takes a topology whose ranks stand in boxes (in racks, in pods), the names of the
algorithms of the tiers, innermost first, and the order of the tiers. A tier's algorithm may be
"in-network": then the switch that joins the tier's ranks takes part.

Cut into segments, or slices, the phases overlap: while one slice is between the boxes, others are
in them. Slices follow one step apart, and what meets on a port is charged to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from colllib import primitives
from colllib.algorithms import allreduce, direct, innetwork, trees
from colllib.algorithms.nested import Phase, nested
from colllib.exact import IntArray
from colllib.formula import Formula
from colllib.schedule import Schedule, Step, pipelined
from colllib.topology import Lattice, Topology, star
from colllib.units import shortened

if TYPE_CHECKING:
    from colllib.algorithms import Algorithm

ORDERS = ("inner-first", "outer-first")

#: The all-gather that goes with a reduce-scatter and names it in `tiers`, where their names differ.
_GATHERS = {"recursive-halving": "recursive-doubling"}

IN_NETWORK = "in-network"

#: What runs through one switch, and what the switch has to do for it.
_THROUGH = {
    "all-reduce": (innetwork.one_shot_all_reduce, ("combines", "replicates")),
    "reduce-scatter": (innetwork.scatter_reduced, ("combines",)),
    "all-gather": (innetwork.gather_multicast, ("replicates",)),
    "broadcast": (innetwork.multicast, ("replicates",)),
    "reduce": (innetwork.reduce_to_root, ("combines",)),
    "all-to-all": (innetwork.scatter_bundles, ("scatters",)),
}


def _over_tiers(primitive: str, usual: str, usual_order: str) -> Callable[..., Schedule]:
    """The builder of a primitive over all tiers, with the algorithm of the tiers and their order if nothing is said."""

    def build(topology: Topology, *, segments: int = 1, tiers: str = usual, order: str = usual_order) -> Schedule:
        topology = joined(topology, tiers)
        return pipelined(nested(_lattice(topology), phases(primitive, topology, tiers, order)), segments)

    build.__doc__ = f"{primitive} tier by tier: `phases` in so many segments; of two `tiers` one is all beyond boxes."
    return build


def _from_root(primitive: str, usual_order: str) -> Callable[..., Schedule]:
    """The same of one with a root, whose copy is at its place on each tier."""

    def build(
        topology: Topology, *, segments: int = 1, tiers: str = "binomial-tree", order: str = usual_order, root: int = 0
    ) -> Schedule:
        topology = joined(topology, tiers)
        return pipelined(nested(_lattice(topology), phases(primitive, topology, tiers, order, root)), segments)

    build.__doc__ = f"{primitive} tier by tier: `phases` in so many segments; of two `tiers` one is all beyond boxes."
    return build


#: Reduce-scatter on all tiers but the last, all-reduce there, then all-gather back: inner first, which leaves the outer
#: tiers a small part of the vector.
all_reduce = _over_tiers("all-reduce", "ring", "inner-first")
reduce_scatter = _over_tiers("reduce-scatter", "ring", "inner-first")
all_gather = _over_tiers("all-gather", "ring", "outer-first")  # while what crosses the network is small
broadcast = _from_root("broadcast", "outer-first")
reduce = _from_root("reduce", "inner-first")
#: Gathers in a box what goes the same way; a phase for each further tier would send it over the cards again.
all_to_all = _over_tiers("all-to-all", "pairwise,pairwise", "inner-first")


def joined(topology: Topology, tiers: str) -> Topology:
    """Itself, or where two algorithms are named for more tiers, the same with all tiers of boxes as one.

    >>> from colllib.topology import boxes
    >>> [joined(boxes((3, 2, 4)), tiers).lattice.dims for tiers in ("ring", "ring,ring")]
    [(4, 2, 3), (4, 6)]
    """
    inner, *outer = _lattice(topology).dims
    if tiers.count(",") != 1 or len(outer) == 1:
        return topology
    return replace(topology, lattice=Lattice((inner, prod(outer)), wraps=False), link_class=None)


def nvls_tree(topology: Topology, *, segments: int = 1) -> Schedule:
    """All-reduce with the switches in the boxes adding and replicating, and NCCL's two binary trees over all boxes.

    Source: NCCL, `src/transport/nvls.cc` and the trees of NVLS heads in `src/graph/connect.cc`.

    >>> from colllib.topology import boxes
    >>> nvls_tree(boxes((4, 2), inc="box")).num_steps
    8
    """
    flat = joined(topology, "in-network,tree")
    down, back = (_on(flat, 0, primitive, IN_NETWORK) for primitive in ("reduce-scatter", "all-gather"))
    count = _lattice(flat).dims[1]
    between = Phase(1, allreduce.double_binary_tree(count, parents=trees.nccl(count)))
    return pipelined(nested(_lattice(flat), [down, between, back]), segments)


def through_network(inner: str | None = None) -> Callable[..., Schedule]:
    """The builder of an all-reduce with an algorithm in the boxes, and one tree of switches over all further tiers.

    Blocks go up that tree and down once. By default they go to it and come from it as in NCCL: straight through a box's
    switch (CollNetDirect), and without one along a ring (CollNetChain).

    >>> from colllib.topology import boxes
    >>> collnet(boxes((4, 2), inc="network")).num_steps, collnet(boxes((3, 4, 2), inc="network")).num_steps
    (4, 6)
    >>> nvls(boxes((4, 2), inc="both")).num_steps
    6
    """

    def build(topology: Topology, *, segments: int = 1) -> Schedule:
        lattice = _lattice(topology)
        for axis in range(1, len(lattice.dims)):
            if (refusal := tier_refusal(topology, axis, "all-reduce")) is not None:
                raise ValueError(f"all-reduce {IN_NETWORK} on tier {axis} {refusal}")
        if inner is None and tier_switches(topology, 0).size:
            down, back = (Phase(0, way(lattice.dims[0])) for way in (direct.reduce_scatter, direct.all_gather))
        else:
            down, back = (_on(topology, 0, way, inner or "ring") for way in ("reduce-scatter", "all-gather"))
        between = Phase(1, _up_and_down(lattice.dims[1:]), _tree_above(topology))
        of_boxes = Lattice((lattice.dims[0], prod(lattice.dims[1:])), lattice.wraps)
        return pipelined(nested(of_boxes, [down, between, back]), segments)

    return build


#: Switches of the network that add and replicate. Source: Graham et al. (2016); NCCL, `connectCollNet` in
#: `src/graph/connect.cc`: CollNetDirect but in boxes without a switch, where `src/graph/tuning.cc` rules it out.
collnet = through_network()
nvls = through_network(IN_NETWORK)  # switches that add and replicate in the boxes, too


def _up_and_down(sizes: Sequence[int]) -> Schedule:
    """All-reduce through a tree of switches, lowest first, in which one stands above so many nodes of each height."""
    first, count, rising = 0, prod(sizes), []
    for size in (size for size in sizes if size > 1):
        node = np.arange(count)
        rising.append(Step.of(first + node, first + count + node // size, 0, add=True))
        first, count = first + count, count // size
    falling = [Step.of(step.dst, step.src, 0) for step in reversed(rising)]
    ranks = prod(sizes)
    return Schedule.from_steps(primitives.all_reduce(ranks), rising + falling, first + count - ranks)


def _tree_above(topology: Topology) -> IntArray | None:
    """For each place in a box the switches that join all boxes' ranks there, lowest first, shape (places, switches)."""
    dims, switches = _lattice(topology).dims, []
    for axis in (axis for axis in range(1, len(dims)) if dims[axis] > 1):
        joining = tier_switches(topology, axis).reshape(dims[0], prod(dims[1:axis]), -1, order="F")
        switches.append(joining[:, 0])  # on the tiers below, any rank's will do
    return np.concatenate(switches, axis=1) if switches else None


def phases(primitive: str, topology: Topology, tiers: str, order: str, root: int | None = None) -> list[Phase]:
    """The phases of a primitive: one for each tier, of an all-reduce also back.

    Args:
        tiers: the algorithm of each tier, innermost first, with commas between, or one for all; of an all-reduce an
            all-gather's name for all but the last in the order, an all-reduce's for that.
        order: "inner-first" or "outer-first".

    Raises:
        ValueError: for a wrong number of names, an unknown one, or one that does not serve a tier's size.

    >>> from colllib.topology import boxes
    >>> [(phase.axis, phase.schedule.num_steps) for phase in phases("all-reduce", boxes((4, 2)), "ring", "inner-first")]
    [(0, 1), (1, 6), (0, 1)]
    """
    lattice, names = _lattice(topology), [name.strip() for name in tiers.split(",")]
    count = len(lattice.dims)
    if len(names) not in (1, count):
        raise ValueError(f"tiers {tiers!r}: {topology.name} has {count}, give one algorithm for each, innermost first")
    if order not in ORDERS:
        raise ValueError(f"order {order!r}: must be one of {', '.join(ORDERS)}")
    names *= count // len(names)
    axes = range(count) if order == "inner-first" else range(count)[::-1]
    places: tuple[int | None, ...] = (None,) * len(axes)
    if root is not None:
        primitives.check_rank("root", root, lattice.ranks)
        places = lattice.coordinates(root)
    if primitive != "all-reduce":
        return [_on(topology, axis, primitive, names[axis], places[axis]) for axis in axes]
    *first, last = axes
    down = [_on(topology, axis, "reduce-scatter", names[axis]) for axis in first]
    back = [_on(topology, axis, "all-gather", names[axis]) for axis in reversed(first)]
    return [*down, _on(topology, last, "all-reduce", names[last]), *back]


def _lattice(topology: Topology) -> Lattice:
    """The lattice of a topology with boxes, or a refusal."""
    if topology.lattice is None:
        raise ValueError(f"{topology.name} has no boxes: a hierarchical schedule needs some")
    return topology.lattice


def _serving(topology: Topology, axis: int, primitive: str) -> dict[str, Algorithm]:
    """What runs behind one port and, where a tier's ranks have a link for each other one, what uses all of them; in a
    torus all that runs there; by its name in `tiers`."""
    from colllib.algorithms import every, find, of

    if axis == 0 and (inside := topology.inside):
        awaited = (a for a in every(primitive) if a.searched is None or a.searched >= inside.ranks * inside.num_links)
        serving = tuple(a for a in awaited if not a.many_partners and a.refusal(inside) is None)
    else:
        serving = (*of(primitive), *([find(primitive, "direct")] if _meshed(topology, axis) else []))
    return {_GATHERS.get(algorithm.name, algorithm.name): algorithm for algorithm in serving}


def _meshed(topology: Topology, axis: int) -> bool:
    """Whether every two ranks of each line of an axis have a link, whatever detour some other message takes."""
    lattice = _lattice(topology)
    between = (topology.link_src < lattice.ranks) & (topology.link_dst < lattice.ranks)
    ends = [end[between] for end in (topology.link_src, topology.link_dst)]
    start, stop = (end - lattice.coordinate(end, axis) * lattice.strides[axis] for end in ends)  # firsts of their lines
    size = lattice.dims[axis]
    return size > 1 and int((start == stop).sum()) == lattice.ranks * (size - 1)


def _on(topology: Topology, axis: int, primitive: str, name: str, root: int | None = None) -> Phase:
    """One tier's schedule."""
    size = _lattice(topology).dims[axis]
    at = {} if root is None else {"root": root}
    if name == IN_NETWORK:
        if (refusal := tier_refusal(topology, axis, primitive)) is not None:
            raise ValueError(f"{primitive} {name} on tier {axis} {refusal}")
        build = _THROUGH[primitive][0]
        switch = star(size, combines=True, replicates=True, scatters=True)
        return Phase(axis, build(switch, **at), tier_switches(topology, axis) if size > 1 else None)
    serving = _serving(topology, axis, primitive)
    if (algorithm := serving.get(_GATHERS.get(name, name) if primitive == "reduce-scatter" else name)) is None:
        known = ", ".join([*serving, IN_NETWORK])
        raise ValueError(f"tiers: {primitive} {shortened(name)!r} on tier {axis}: must be one of {known}")
    if (refusal := algorithm.counts(size)) is not None:
        raise ValueError(f"{primitive} {name} on tier {axis} {refusal}")
    torus = topology.inside if axis == 0 else None
    return Phase(axis, algorithm.build(algorithm.argument(torus) if torus else size, **at))


def choices(topology: Topology, axis: int, primitive: str, order: str) -> list[str]:
    """The algorithms that can run on a tier, as `tiers` names them.

    >>> from colllib.topology import boxes
    >>> choices(boxes((2, 3), inc="box"), 0, "all-reduce", "inner-first")
    ['ring', 'bruck', 'pat', 'in-network']
    >>> choices(boxes((2, 3), inside="full-mesh"), 0, "all-reduce", "inner-first")
    ['ring', 'bruck', 'pat', 'direct']
    """
    dims = _lattice(topology).dims
    last = 0 if order == "outer-first" else len(dims) - 1
    through = (primitive,) if axis == last or primitive != "all-reduce" else ("reduce-scatter", "all-gather")
    first, *others = (_serving(topology, axis, needed) for needed in through)
    both = [name for name in first if all(name in serving for serving in others)]
    names = [name for name in both if first[name].counts(dims[axis]) is None]
    refused = any(tier_refusal(topology, axis, needed) for needed in through)
    return names if refused else [*names, IN_NETWORK]


def tier_refusal(topology: Topology, axis: int, primitive: str) -> str | None:
    """Why a tier's switches cannot serve a primitive, as a sentence without its subject; None if they can.

    >>> from colllib.topology import boxes
    >>> net = boxes((2, 4), inc="box")
    >>> tier_refusal(net, 0, "all-reduce"), tier_refusal(net, 1, "all-reduce")
    (None, 'needs switches that add and replicate there, and those of boxes:2x4,inc=box do not: inc=both')
    """
    switches, abilities = tier_switches(topology, axis), _THROUGH[primitive][1]
    missing = [what for what in abilities if not topology.able(what, switches.ravel()).all()]
    if not missing and (switches.size or not len(switches)):
        return None
    what = " and ".join(innetwork.ABILITIES[ability] for ability in missing or abilities)
    remedy = ": inc=both" if switches.size else ""  # the other tier may be asked for it, too
    return f"needs switches that {what} there, and those of {topology.name} do not{remedy}"


def tier_switches(topology: Topology, axis: int) -> IntArray:
    """The switch that joins all ranks of each line of an axis, counted from 0, shape (lines, 1).

    It is where the route from a line's first rank to its last one turns from the way up to the way
    down. Lines of one rank need none, shape (0, 1); where ranks are joined without one the shape is (lines, 0).

    >>> from colllib.topology import boxes
    >>> tier_switches(boxes((2, 4)), 0).tolist(), tier_switches(boxes((2, 4)), 1).tolist()
    ([[0], [1]], [[4], [4], [4], [4]])
    """
    lattice = _lattice(topology)
    rank = np.arange(lattice.ranks)
    first = rank[lattice.coordinate(rank, axis) == 0]
    if lattice.dims[axis] == 1:
        return np.zeros((0, 1), dtype=np.intp)
    message, link = topology.router(first, first + (lattice.dims[axis] - 1) * lattice.strides[axis])
    crossings = np.bincount(message, minlength=len(first))
    link = link[np.argsort(message, kind="stable")]
    turn: IntArray = topology.link_dst[link[np.cumsum(crossings) - crossings + (crossings - 1) // 2]][:, None]
    return turn - topology.ranks if (turn >= topology.ranks).all() else turn[:, :0]


# -- closed forms for B boxes of G ranks ------------------------------------------------------------


@dataclass(frozen=True)
class TwoTiers:
    """A hierarchical schedule over B boxes of G ranks, a card for each, in one piece and in the order that is right."""

    primitive: str
    tiers: str  # the algorithm of both
    inner: Formula  # latencies in the boxes
    outer: Formula  # and between them
    port: Formula  # bytes in units of M on the busiest port of a box, added up over the steps
    card: Formula  # and on the busiest card


#: True for any B and G.
TWO_TIERS = tuple(
    TwoTiers(primitive, tiers, *map(Formula, texts))
    for primitive, tiers, *texts in (
        ("broadcast", "binomial-tree", "lg(G)", "lg(B)", "lg(G)", "lg(B)"),
        ("all-gather", "ring", "G - 1", "B - 1", "(G - 1) / G", "(B - 1) / (B * G)"),
        ("all-gather", "bruck", "lg(G)", "lg(B)", "(G - 1) / G", "(B - 1) / (B * G)"),
        ("all-reduce", "ring", "2 * (G - 1)", "2 * (B - 1)", "2 * (G - 1) / G", "2 * (B - 1) / (B * G)"),
        ("all-reduce", "bruck", "2 * lg(G)", "2 * lg(B)", "2 * (G - 1) / G", "2 * (B - 1) / (B * G)"),
        ("all-to-all", "pairwise", "G - 1", "B - 1", "(G - 1) / G", "(B - 1) / B"),
    )
)
