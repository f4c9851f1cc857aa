"""Trees of one rank that, moved to all others, fill no link too much: for topologies that look the same from each.

The links of such a topology fall into classes. If the trees of rank 0 together cross links of a class
no more often than all links of that class have room for, per rank, then the moved trees do so on
every link. So nothing has to be said about which link, and a small integer program finds how often
ranks join the trees over which kind of route.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from scipy.sparse.csgraph import shortest_path

from colllib.exact import IntArray, counted
from colllib.forest.bound import Bound, room
from colllib.forest.fabric import Fabric
from colllib.forest.tree import Tree
from colllib.moves import Moves
from colllib.topology import Lattice, NoRouteError, Topology

MOST_TREES = 2**12  # of one rank
Slots = dict[tuple[int, ...], list[int]]  # the kinds of route over which ranks can join, and these ranks


def lattice_of(topology: Topology) -> Lattice | None:
    """The axes along which shifts take links to links, None for a topology that does not say so."""
    if topology.link_class is None:
        return None
    return Lattice(topology.lattice.dims if topology.lattice else (topology.ranks,))


def pack_by_moves(fabric: Fabric, bound: Bound) -> list[Tree] | None:
    """The trees of rank 0 for a fabric and its bound; None where this way finds none.

    Ranks join a tree in the order of their distance, each from one that has joined before and is
    nearest to the root.

    >>> from colllib.forest.bound import bound
    >>> from colllib.forest.fabric import fabric
    >>> from colllib.topology import find
    >>> place = fabric(find("torus:3"))
    >>> [batch.edges for batch in pack_by_moves(place, bound(place))]
    [((0, 1), (0, 2))]
    """
    topology = fabric.topology
    lattice = lattice_of(topology)
    trees = bound.trees * int(fabric.weight[0])
    if lattice is None or fabric.ranks == 1 or trees > MOST_TREES or (fabric.weight != fabric.weight[0]).any():
        return None
    usage, kind_to = _kinds(topology)
    kind_between = _between(lattice, kind_to)
    order = _by_distance(kind_between)
    slots: Slots = defaultdict(list)
    for place, rank in enumerate(order[1:], 1):
        kinds = np.unique(kind_between[order[:place], rank])
        slots[tuple(kinds[kinds >= 0].tolist())].append(rank)
    counts = _counts(slots, usage, _budget(fabric, bound), trees)
    if counts is None:
        return None
    chosen = np.zeros((topology.ranks, trees), dtype=np.intp)
    for ranks, of_kind in zip(slots.values(), counts, strict=True):
        chosen[ranks] = _spread(of_kind).reshape(len(ranks), trees)
    return [_tree(order, kind_between, chosen[:, tree]) for tree in range(trees)]


def _kinds(topology: Topology) -> tuple[IntArray, IntArray]:
    """What the kinds of route from rank 0 use of each class, shape (kinds, classes), and the kind to each rank.

    A route over another rank is not one that a tree takes: its kind is -1.
    """
    assert topology.link_class is not None
    others = _led_to(topology, np.arange(1, topology.ranks))
    message, link = topology.router(np.zeros_like(others), others)
    used = np.zeros((len(others), int(topology.link_class.max()) + 1), dtype=np.intp)
    np.add.at(used, (message, topology.link_class[link]), 1)
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
        if len(ranks) == 1:
            return ranks[:0]
        return np.concatenate([_led_to(topology, half) for half in np.array_split(ranks, 2)])
    return ranks


def _between(lattice: Lattice, kind_to: IntArray) -> IntArray:
    """The kind of route from each rank to each other, shape (N, N)."""
    moves = Moves.of(lattice)
    ranks = np.arange(lattice.ranks)
    back = moves.inverse(moves.taking(ranks))
    return kind_to[moves.moved(ranks[None, :], back[:, None])]


def _by_distance(kind_between: IntArray) -> IntArray:
    """All ranks, those first that fewest routes lead to from rank 0."""
    return np.argsort(shortest_path(kind_between >= 0, unweighted=True, indices=0), kind="stable")


def _budget(fabric: Fabric, bound: Bound) -> IntArray:
    """How many crossings of each class of links there is room for, per rank."""
    topology, of_link = fabric.topology, fabric.topology.link_class
    assert of_link is not None
    fits = room(fabric, bound.unit)[topology.link_src, topology.link_dst]
    return counted(of_link, fits, int(of_link.max()) + 1) // topology.ranks


def _counts(slots: Slots, usage: IntArray, budget: IntArray, trees: int) -> list[dict[int, int]] | None:
    """For each set of slots how many take which kind: within the budget of every class, and crossing little."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    pairs = [(place, kind) for place, kinds in enumerate(slots) for kind in kinds]
    if not pairs:
        return None
    demand = np.array([trees * len(ranks) for ranks in slots.values()])
    joins = np.zeros((len(slots), len(pairs)))
    joins[[place for place, _ in pairs], np.arange(len(pairs))] = 1
    crossed = usage[[kind for _, kind in pairs]].T
    limits = [LinearConstraint(joins, demand, demand), LinearConstraint(crossed, -np.inf, budget)]
    cost = (crossed / np.maximum(budget, 1)[:, None]).sum(axis=0)
    found = milp(cost, constraints=limits, integrality=np.ones(len(pairs), dtype=np.intp), bounds=Bounds(0, np.inf))
    if found.x is None:
        return None
    counts: list[dict[int, int]] = [{} for _ in slots]
    for (place, kind), count in zip(pairs, np.rint(found.x).astype(int).tolist(), strict=True):
        counts[place][kind] = count
    return counts


def _spread(counts: dict[int, int]) -> IntArray:
    """So many of each kind in a row, each kind evenly over its whole length."""
    kinds = np.repeat(list(counts), list(counts.values()))
    place = np.concatenate([(np.arange(count) + 0.5) / count for count in counts.values() if count])
    return kinds[np.argsort(place, kind="stable")]


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
