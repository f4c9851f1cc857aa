"""What can be measured on any topology: links per rank, wires, hops, cuts and the bisection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import ceil, prod

import numpy as np

from colllib.exact import IntArray
from colllib.limits import MOST_ROUTES, check_size
from colllib.topology.base import Lattice, NoRouteError, Topology
from colllib.topology.graph import hops_from
from colllib.topology.lattice import torus
from colllib.topology.star import one_switch
from colllib.units import shortened

# Up to so many ranks every half is tried: 2^20 sets pass through numpy at once, and 35 maximum flows are quick.
MOST_RANKS = 20
MOST_RANKS_BEHIND_SWITCHES = 8
# Beyond that a sweep over the ranks settles every half at once, if its table has no more entries than this.
MOST_ENTRIES = 1 << 22


@dataclass(frozen=True)
class Bisection:
    """The narrowest cut found between two halves of the ranks, and what is proved about all of them."""

    bandwidth: Fraction  # across the cut found, the narrower way, in units of BW
    at_least: Fraction  # what no cut between two halves is below
    half: tuple[int, ...]  # the ranks on one side of the cut found, N/2 of them, rounded down
    proof: str  # where `at_least` comes from

    @property
    def exact(self) -> bool:
        """Whether no other half has a narrower cut."""
        return self.at_least == self.bandwidth


def links_per_rank(topology: Topology) -> tuple[int, ...]:
    """How many links leave each rank: its neighbors, or its ports.

    >>> from colllib.topology import line, torus
    >>> set(links_per_rank(torus((4, 4, 2)))), links_per_rank(line(4))
    ({5}, (1, 2, 2, 1))
    """
    return tuple(np.bincount(topology.link_src, minlength=topology.nodes)[: topology.ranks].tolist())


def wires(topology: Topology) -> int:
    """Pairs of nodes that full-duplex wires, or one-way ones, join; `describe.wires` counts cables.

    >>> from colllib.topology import full_mesh, star
    >>> wires(star(8)), wires(full_mesh(8))
    (8, 28)
    """
    ends = np.sort(np.stack((topology.link_src, topology.link_dst)), axis=0)
    return len(np.unique(ends, axis=1).T)


@lru_cache(maxsize=1)  # one graph is asked about in several ways, one after another
def distances(topology: Topology) -> IntArray:
    """The links on the shortest path from every rank to every other one, shape (N, N); not to be written to.

    Raises:
        ValueError: if some rank cannot be reached from some other: the links must connect them strongly.

    >>> from colllib.topology.expression import find
    >>> distances(find("uniring:1x3"))
    array([[0, 1, 2],
           [2, 0, 1],
           [1, 2, 0]])
    """
    check_size(f"distances on {topology.name}", topology.ranks**2, MOST_ROUTES, "distances between ranks")
    ranks = np.arange(topology.ranks)
    hops = hops_from(ranks, topology.nodes, topology.link_src, topology.link_dst)[:, ranks]
    apart = np.argwhere(np.isinf(hops))
    if len(apart):
        raise ValueError(
            f"{topology.name} is not strongly connected: no way from rank {apart[0][0]} to rank {apart[0][1]}"
        )
    links = hops.astype(np.intp)
    links.setflags(write=False)
    return links


def check_connected(topology: Topology) -> None:
    """Refuse ranks without links to the others: those outside of the largest part, of equal parts the first.

    Raises:
        NoRouteError: if there are any.

    >>> from colllib.topology.expression import find
    >>> check_connected(find("ring:4,without=0-1,without=2-3"))
    Traceback (most recent call last):
    colllib.topology.base.NoRouteError: ring:4,without=0-1,without=2-3: ranks 1, 2 are cut off from the others
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends, size = (topology.link_src, topology.link_dst), (topology.nodes, topology.nodes)
    part = connected_components(coo_array((np.ones(topology.num_links), ends), shape=size), directed=False)[1]
    lost = np.flatnonzero(part[: topology.ranks] != np.bincount(part).argmax()).tolist()
    if lost:
        named = f"rank {lost[0]} is" if len(lost) == 1 else f"ranks {shortened(', '.join(map(str, lost)))} are"
        raise NoRouteError(f"{topology.name}: {named} cut off from the others")


def diameter(topology: Topology) -> int:
    """The links on the shortest path between the two ranks that are farthest apart.

    >>> from colllib.topology import star
    >>> from colllib.topology.expression import find
    >>> diameter(star(512)), diameter(find("circulant:16x3x4"))
    (2, 3)
    """
    return int(distances(topology).max())


def floor_by_hops(topology: Topology) -> Fraction:
    """What the hops demand of an all-to-all: n_beta if all blocks go the shortest way and all links share them.

    Raises:
        ValueError: if some rank cannot reach another.

    >>> from colllib.topology import star, torus, twisted_torus
    >>> floor_by_hops(star(8)), floor_by_hops(torus((8, 4))), floor_by_hops(twisted_torus(4))
    (Fraction(7, 8), Fraction(3, 4), Fraction(21, 32))
    """
    return Fraction(int(distances(topology).sum()), topology.ranks) / topology.bandwidth.total()


def cut_bandwidth(topology: Topology, side: Collection[int]) -> Fraction:
    """What can leave a set of ranks for the others at a time, in units of BW, switches on whichever side suits.

    >>> from colllib.topology import ring, star
    >>> cut_bandwidth(ring(8), range(4)), cut_bandwidth(ring(8), (0, 2, 4, 6)), cut_bandwidth(star(8), range(4))
    (Fraction(2, 1), Fraction(8, 1), Fraction(4, 1))
    """
    return topology.bandwidth.taken(cut_links(topology, side)).total()


def cut_links(topology: Topology, side: Collection[int]) -> IntArray:
    """The directed links of the cut that `cut_bandwidth` measures.

    >>> from colllib.topology import ring
    >>> cut_links(ring(8), range(4)).tolist()
    [3, 8]
    """
    inside = np.zeros(topology.nodes, dtype=bool)
    inside[list(side)] = True
    if topology.switches:
        import networkx as nx

        graph: nx.DiGraph[object] = nx.DiGraph()
        graph.add_nodes_from(("from", "to"))
        for (a, b), units in _joint_bandwidth(topology).items():
            graph.add_edge(a, b, capacity=units)
        for rank in range(topology.ranks):
            graph.add_edge(*(("from", rank) if inside[rank] else (rank, "to")))
        _, (near, _) = nx.minimum_cut(graph, "from", "to")
        inside[[node for node in near if node != "from"]] = True
    return np.flatnonzero(inside[topology.link_src] & ~inside[topology.link_dst])


def _narrower_way(topology: Topology, half: tuple[int, ...]) -> Fraction:
    """What can cross between a half and the others, the way in which less can."""
    return min(cut_bandwidth(topology, side) for side in (half, {*range(topology.ranks)} - {*half}))


def bisection(topology: Topology) -> Bisection:
    """The narrowest cut between two halves of the ranks: of N/2 ranks each, one more on one side where N is odd.

    Small topologies: every half is tried. Large ones: a cut is searched along the axes (or with Kernighan and Lin's
    search), and an all-to-all proves from below how narrow a cut can be: where no link carries more than c of its
    blocks, the cut must have a link for every c of them. A gap is closed by `sweep_bisection` if the topology is long
    and thin enough, and on larger meshes and tori by the theorem behind `lattice_bisection`.

    Source: for the bound Leighton (1992), "Introduction to Parallel Algorithms and Architectures".

    >>> from colllib.topology import torus
    >>> cut = bisection(torus((8, 8, 8)))
    >>> cut.bandwidth, cut.exact, cut.proof
    (Fraction(128, 1), True, 'an all-to-all')
    """
    if topology.ranks < 2:
        return Bisection(Fraction(0), Fraction(0), (), "one rank")
    if one_switch(topology) is not None:
        half = tuple(range(topology.ranks // 2))
        through = cut_bandwidth(topology, half)
        return Bisection(through, through, half, "all halves are alike")
    if topology.switches == 0 and topology.ranks <= MOST_RANKS:
        return _every_half(topology)
    if topology.ranks <= MOST_RANKS_BEHIND_SWITCHES:
        halves = combinations(range(topology.ranks), topology.ranks // 2)
        through, half = min((_narrower_way(topology, half), half) for half in halves)
        return Bisection(through, through, half, "every half tried")
    return _searched(topology)


def _searched(topology: Topology) -> Bisection:
    at_least = _at_least(topology)
    cuts: list[tuple[Fraction, tuple[int, ...]]] = []
    for half in _candidates(topology):
        through = _narrower_way(topology, half)
        cuts.append((through, half))
        if through == at_least:
            break
    through, half = min(cuts)
    if through > at_least and (least := sweep_bisection(topology)) is not None:
        return Bisection(through, least, half, "a sweep")
    lattice = topology.lattice
    if through > at_least and lattice is not None and _has_theorem(lattice) and not topology.switches:
        ends = sum(2 * lattice.ranks // size for size in lattice.dims if not lattice.wraps)
        if topology.num_links == 2 * len(lattice.dims) * lattice.ranks - ends:  # none has failed
            theorem = lattice_bisection(lattice) * topology.bandwidth[0]
            return Bisection(through, max(theorem, at_least), half, "a theorem")
    return Bisection(through, at_least, half, "an all-to-all")


def _has_theorem(lattice: Lattice) -> bool:
    return not (lattice.wraps and 2 in lattice.dims)


def _every_half(topology: Topology) -> Bisection:
    ranks = topology.ranks
    sets = np.arange(1 << ranks, dtype=np.uint32)
    sets = sets[np.bitwise_count(sets) == ranks // 2]
    out, back = np.zeros((2, len(sets)), dtype=np.int64)
    inside = [(sets >> rank & 1).astype(bool) for rank in range(ranks)]
    for (a, b), units in _joint_bandwidth(topology).items():
        out += units * (inside[a] & ~inside[b])
        back += units * (inside[b] & ~inside[a])
    through = np.minimum(out, back)
    best = int(through.argmin())
    bandwidth = Fraction(int(through[best]), topology.bandwidth.denominator)
    half = tuple(rank for rank in range(ranks) if inside[rank][best])
    return Bisection(bandwidth, bandwidth, half, "every half tried")


def _candidates(topology: Topology) -> Iterator[tuple[int, ...]]:
    """Halves that may have a narrow cut: along each axis of a lattice, else by rank order, improved by exchanges."""
    ranks = np.arange(topology.ranks)
    size = topology.ranks // 2
    lattice = topology.lattice
    if lattice is not None:
        longest_first = sorted(range(len(lattice.dims)), key=lambda axis: -lattice.dims[axis])
        for axis in longest_first:
            axes = [axis, *(other for other in longest_first if other != axis)]
            order = np.lexsort([lattice.coordinate(ranks, other) for other in reversed(axes)])
            yield tuple(sorted(order[:size].tolist()))
        return
    yield tuple(range(size))
    yield tuple(range(0, 2 * size, 2))
    if topology.switches == 0:
        import networkx as nx

        graph = topology.to_networkx().to_undirected()
        for seed in range(6):
            sides = nx.algorithms.community.kernighan_lin_bisection(graph, weight="none", seed=seed)
            yield min((tuple(sorted(side)) for side in sides), key=lambda side: len(side))


def sweep_bisection(topology: Topology) -> Fraction | None:
    """The narrowest cut of all halves, by dynamic programming: rank after rank joins one side or the other.

    What is still to come depends only on how many ranks have joined the first side, and on the sides of those that have
    links to come: for each such state the cheapest past is enough. It grows with the topology's width, not with N.

    Returns:
        the bandwidth one way, in units of BW; None with switches, or where the table would be too large.

    >>> from colllib.topology import full_mesh, torus, twisted_torus
    >>> [str(sweep_bisection(topology)) for topology in (torus((8, 4)), twisted_torus(4), full_mesh(64))]
    ['8', '16', 'None']
    """
    if topology.switches:
        return None
    width, order = min((_width(topology, order), order) for order in _orders(topology))
    larger = topology.ranks - topology.ranks // 2
    if (larger + 1) << width > MOST_ENTRIES:
        return None
    units = _joint_bandwidth(topology)
    impossible = 1 + sum(units.values())
    place = {rank: turn for turn, rank in enumerate(order)}
    last = place.copy()  # when all that a rank is linked to have joined
    for a, b in units:
        last[a] = max(last[a], place[b])
        last[b] = max(last[b], place[a])
    table = np.full(larger + 1, impossible, dtype=np.int64)
    table[0] = 0
    open_ranks: list[int] = []  # an axis of length 2 for each, the last axis counts ranks on the first side
    for turn, rank in enumerate(order):
        joined = np.full_like(table, impossible)
        joined[..., 1:] = table[..., :-1]
        table = np.stack((table, joined), axis=-2)
        for axis, other in enumerate(open_ranks):
            sides = np.moveaxis(table, (axis, -2), (0, 1))
            sides[0, 1] += units[rank, other]
            sides[1, 0] += units[other, rank]
        open_ranks.append(rank)
        for closed in [other for other in open_ranks if last[other] <= turn]:
            table = table.min(axis=open_ranks.index(closed))
            open_ranks.remove(closed)
    return Fraction(int(table[[topology.ranks // 2, larger]].min()), topology.bandwidth.denominator)


def _joint_bandwidth(topology: Topology) -> Counter[tuple[int, int]]:
    """What all links from one node to another carry together, in parts of BW."""
    joint = Counter[tuple[int, int]]()
    for a, b, units in zip(
        topology.link_src.tolist(), topology.link_dst.tolist(), topology.bandwidth.numerators.tolist(), strict=True
    ):
        joint[a, b] += units
    return joint


def _orders(topology: Topology) -> Iterator[list[int]]:
    """Orders in which a sweep may visit the ranks: as they are numbered, and along each axis of a lattice."""
    ranks, lattice = np.arange(topology.ranks), topology.lattice
    yield ranks.tolist()
    if lattice is not None:
        for axis in range(len(lattice.dims)):
            yield np.argsort(lattice.coordinate(ranks, axis), kind="stable").tolist()


def _width(topology: Topology, order: list[int]) -> int:
    """The most ranks that have links to come at a time, with the one that joins."""
    place = np.argsort(order)
    last = place.copy()
    np.maximum.at(last, topology.link_src, place[topology.link_dst])
    np.maximum.at(last, topology.link_dst, place[topology.link_src])
    turns = np.arange(topology.ranks)
    return int((turns + 1 - np.searchsorted(np.sort(last), turns)).max())


def _at_least(topology: Topology) -> Fraction:
    """What an all-to-all over the topology's routes proves: no cut between halves is narrower."""
    ranks, speed = topology.ranks, topology.bandwidth
    pairs = (ranks // 2) * (ranks - ranks // 2)
    if topology.lattice is None and not topology.switches and topology.num_links < 8 * ranks:
        busiest = _shared_out(topology)
    else:
        load = _pairs_on_links(topology)
        busiest = max(Fraction(a, b) for a, b in set(zip(load.tolist(), speed.numerators.tolist(), strict=True)))
    # every cut is a whole number of the unit that all bandwidths are multiples of
    return Fraction(ceil(Fraction(pairs) / busiest), speed.denominator)


def _pairs_on_links(topology: Topology) -> IntArray:
    """How many pairs of ranks are routed over each link; on a torus the ties are shared out, over the same links."""
    lattice, ranks, router = topology.lattice, topology.ranks, topology.router
    if lattice is not None and lattice.wraps and topology.num_links == torus(lattice.dims).num_links:
        router = torus(lattice.dims, tie="balanced").router
    load = np.zeros(topology.num_links, dtype=np.intp)
    for start in range(0, ranks, 32):  # some sources at a time: a long ring has many hops
        source, target = (part.ravel() for part in np.mgrid[start : min(start + 32, ranks), :ranks])
        away = source != target
        load += np.bincount(router(source[away], target[away])[1], minlength=topology.num_links)
    return load


def _shared_out(topology: Topology) -> Fraction:
    """The most that a link carries for its bandwidth, where every pair spreads over all its shortest paths."""
    import networkx as nx

    speed = _joint_bandwidth(topology)
    carried = nx.edge_betweenness_centrality(nx.DiGraph(speed.keys()), normalized=False)
    # betweenness is a float: a little more than it says keeps the bound on the safe side
    return Fraction(max(load / speed[link] for link, load in carried.items()) * (1 + 1e-9))


def lattice_bisection(lattice: Lattice) -> Fraction:
    """Closed form of the bisection of a mesh, and of a torus whose axes have at least 3 ranks, in units of BW one way.

    Cut the longest axis in two. If it is odd, a layer is left over in the middle: cut that along the
    next longest axis, and so on until an axis is even. On a torus every cut is there twice.

    Raises:
        ValueError: for a torus with an axis of size 2.

    Source: Arjona Aroca & Fernandez Anta (2014), "Bisection (Band)Width of Product Networks with
    Application to Data Centers"; before it for meshes with one odd size Efe & Feng.

    >>> [int(lattice_bisection(axes)) for axes in (Lattice((8, 8, 8)), Lattice((3, 3)), Lattice((3, 3), wraps=False))]
    [128, 8, 4]
    """
    sizes = sorted((size for size in lattice.dims if size > 1), reverse=True)
    if not _has_theorem(lattice):
        raise ValueError(f"torus {lattice}: the closed form needs axes of at least 3 ranks; find the cut")
    through = 0
    for place, size in enumerate(sizes):
        through += prod(sizes[place + 1 :])
        if size % 2 == 0:
            break
    return Fraction(through * (2 if lattice.wraps else 1))
