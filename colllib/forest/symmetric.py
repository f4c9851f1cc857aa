"""Trees of some ranks that serve all: those of one rank, mapped to all others, and those of one box, for equal boxes.

The links of a topology that looks the same from each rank fall into classes. If the trees of rank 0 together
cross links of a class no more often than all links of that class have room for, per rank, then their images
do so on every link. So nothing has to be said about which link, and a small integer program finds how often
ranks join the trees over which kind of route.

Where boxes of directly linked ranks share one switch, a root sends to its counterpart in each other box, which
passes the part on as it does with its own. So the trees of one box are packed, for as many roots' parts as there
are boxes. They reach the bound where the cut around a box sets it, and the links in the box have room enough.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from scipy.sparse.csgraph import connected_components, shortest_path

from colllib.exact import IntArray, counted, integers
from colllib.forest.bound import Bound, room
from colllib.forest.fabric import Fabric
from colllib.forest.flow import starved, with_source
from colllib.forest.packing import Tree, lowered, pack
from colllib.forest.splitting import taken
from colllib.lattice_group import LatticeGroup
from colllib.topology import Lattice, NoRouteError, Topology

MOST_TREES = 2**12  # of one rank
Slots = dict[tuple[int, ...], list[int]]  # the kinds of route over which ranks can join, and these ranks


def lattice_of(topology: Topology) -> Lattice:
    """The axes along which shifts take links to links, for a topology that has classes of them."""
    return Lattice(topology.lattice.dims if topology.lattice else (topology.ranks,))


def pack_by_moves(fabric: Fabric, bound: Bound) -> list[Tree] | None:
    """The trees of rank 0 for a fabric and its bound; None where there are none of this kind.

    Ranks join a tree in the order of their distance, each from one that has joined before and is
    nearest to the root.
    """
    topology, lattice = fabric.topology, lattice_of(fabric.topology)
    trees = bound.trees * int(fabric.weight[0])
    if topology.link_class is None or fabric.ranks == 1 or trees > MOST_TREES or np.ptp(fabric.weight):
        return None
    usage, kind_to = _kinds(topology, topology.link_class)
    fits = room(fabric, bound.unit)[topology.link_src, topology.link_dst]
    budget = counted(topology.link_class, fits, usage.shape[1]) // fabric.ranks  # crossings of a class, per rank
    group, ranks = LatticeGroup.of(lattice), np.arange(fabric.ranks)
    kind_between = kind_to[group.image(ranks[None, :], group.inverse(group.element_to(ranks))[:, None])]
    order = np.argsort(shortest_path(kind_between >= 0, unweighted=True, indices=0), kind="stable")
    slots: Slots = defaultdict(list)
    for place, rank in enumerate(order[1:], 1):
        kinds = np.unique(kind_between[order[:place], rank])
        slots[tuple(kinds[kinds >= 0].tolist())].append(rank)
    chosen = _chosen(slots, usage, budget, trees)
    if chosen is None:
        return None
    kind = np.zeros((fabric.ranks, trees), dtype=np.intp)
    for joining, kinds in zip(slots.values(), chosen, strict=True):
        kind[joining] = kinds.reshape(len(joining), trees)
    return [_tree(order, kind_between, kind[:, tree]) for tree in range(trees)]


def _kinds(topology: Topology, link_class: IntArray) -> tuple[IntArray, IntArray]:
    """What the kinds of route from rank 0 use of each class, shape (kinds, classes), and the kind to each rank.

    A route over another rank is not one that a tree takes: its kind is -1.
    """
    others = _led_to(topology, np.arange(1, topology.ranks))
    message, link = topology.router(np.zeros_like(others), others)
    used = np.zeros((len(others), int(link_class.max()) + 1), dtype=np.intp)
    np.add.at(used, (message, link_class[link]), 1)
    direct = np.bincount(message[topology.link_dst[link] < topology.ranks], minlength=len(others)) == 1
    usage, kind = np.unique(used[direct], axis=0, return_inverse=True)
    kind_to = np.full(topology.ranks, -1)
    kind_to[others[direct]] = kind.ravel()
    return usage, kind_to


def _led_to(topology: Topology, ranks: IntArray) -> IntArray:
    """Those of some ranks to which routes lead from rank 0; between two rails that are apart there are none."""
    try:
        topology.router(np.zeros_like(ranks), ranks)
    except NoRouteError:
        halves = np.array_split(ranks, 2) if len(ranks) > 1 else []
        return np.concatenate([ranks[:0], *(_led_to(topology, half) for half in halves)])
    return ranks


def _chosen(slots: Slots, usage: IntArray, budget: IntArray, trees: int) -> list[IntArray] | None:
    """For each set of ranks their kinds in all trees: within the budget of every class, and crossing little."""
    from scipy.optimize import LinearConstraint, milp

    pairs = [(place, kind) for place, kinds in enumerate(slots) for kind in kinds]
    if not pairs:
        return None
    place, kind = np.array(pairs).T
    joins = (place == np.arange(len(slots))[:, None]).astype(np.intp)
    demand = np.array([trees * len(ranks) for ranks in slots.values()])
    crossed = usage[kind].T
    limits = [LinearConstraint(joins, demand, demand), LinearConstraint(crossed, -np.inf, budget)]
    cost = (crossed / np.maximum(budget, 1)[:, None]).sum(axis=0)
    solution = milp(cost, constraints=limits, integrality=np.ones(len(pairs), dtype=np.intp))
    if solution.x is None:
        return None
    times = np.rint(solution.x).astype(np.intp)
    return [np.repeat(kind[row], times[row]) for row in joins.astype(np.bool_)]


def _tree(order: IntArray, kind_between: IntArray, chosen: IntArray) -> Tree:
    """A tree in which every rank joins over the kind that was chosen for it, from the rank that is least deep."""
    depth = np.full(len(order), len(order))
    depth[0] = 0
    edges = []
    for rank in order[1:].tolist():
        start = int(np.where(kind_between[:, rank] == chosen[rank], depth, len(order)).argmin())
        depth[rank] = depth[start] + 1
        edges.append((start, rank))
    return Tree(0, 1, tuple(edges))


def pack_by_boxes(fabric: Fabric, bound: Bound) -> tuple[Tree, ...] | None:
    """The trees of all ranks for a fabric and its bound; None where it has no such boxes, or not the room."""
    ranks, size = fabric.ranks, _size(fabric)
    if not size or (fabric.weight != 1).any():
        return None
    fits, boxes, k = room(fabric, bound.unit), ranks // size, bound.trees
    inside, supply = fits[:size, :size], integers([k * boxes] * size)
    narrowest = min(fits[ranks, :ranks].min(), fits[:ranks, ranks].min())
    if narrowest < k * (boxes - 1) or starved(with_source(inside, supply), range(size), k * ranks):
        return None
    pieces: list[list[tuple[int, tuple[tuple[int, int], ...]]]] = [[] for _ in range(size)]
    for batch in lowered(pack(inside, supply), inside):
        pieces[batch.root].append((batch.size, batch.edges))
    first = range(0, ranks, size)
    trees = []
    for root in range(ranks):
        across = [(root, root % size + at) for at in first if at != root - root % size]
        routes = [(a, ranks, b) for a, b in across]
        for units, edges in taken(pieces[root % size], k):
            within = [(at + a, at + b) for at in first for a, b in edges]
            trees.append(Tree(root, units, (*across, *within), (*routes, *within)))
    return tuple(trees)


def _size(fabric: Fabric) -> int:
    """Of the boxes, if ranks in a row are linked alike and one switch joins all of them; else 0."""
    ranks = fabric.ranks
    links = fabric.capacity[:ranks, :ranks]
    count, box = connected_components(links > 0)
    size = ranks // count
    alike = fabric.nodes == ranks + 1 and size > 1 and (box == np.arange(ranks) // size).all()
    return size if alike and (links == np.kron(np.eye(count, dtype=links.dtype), links[:size, :size])).all() else 0
