"""Topologies given by their links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from colllib.cost import Tier
from colllib.exact import Fractions, IntArray
from colllib.limits import MOST_ROUTES, check_size
from colllib.primitives import check_ranks, whole_numbers
from colllib.topology.base import NoRouteError, Router, Topology, by_message, check_network, uniform
from colllib.topology.latency import HALVES, Latency


def full_mesh(ranks: int) -> Topology:
    """N ranks with a full-duplex link of BW between every two: as many ports as partners.

    >>> full_mesh(4).num_links
    12
    """
    check_ranks(ranks)
    check_network(f"full-mesh:{ranks}", ranks, ranks * (ranks - 1))
    src, dst = np.nonzero(~np.eye(ranks, dtype=np.bool_))

    def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        # rank r's links start at r * (N - 1) and skip r itself
        return np.arange(len(src)), src * (ranks - 1) + dst - (dst > src)

    return uniform(f"full-mesh:{ranks}", ranks, src, dst, route, "one full-duplex link per pair of ranks")


def from_links(
    name: str,
    ranks: int,
    links: Sequence[tuple[int, int]],
    *,
    switches: int = 0,
    alpha: Sequence[Fraction | int] | None = None,
    bandwidth: Sequence[Fraction | int] | None = None,
    level: Sequence[int] | None = None,
    cables: Sequence[int] | None = None,
    latency: Latency | None = None,
    port_model: str = "as the links say",
    combines: bool = False,
    replicates: bool = False,
    scatters: bool = False,
) -> Topology:
    """A topology from its directed links, routed over fewest hops (ties: the lowest-numbered node).

    Args:
        links: different pairs of nodes; switches are nodes N, N+1, ...
        alpha: each link's part of alpha. Links between ranks have 1 each unless told otherwise; what
            a trip through a switch costs has to be said, here or by `latency`.
        bandwidth: each link's bandwidth in units of BW (default 1).
        level: which of several (alpha, BW) pairs each link is measured in (default 0).
        cables: of how many equal cables each link consists (default 1).
        latency: how alpha divides, instead of `alpha`: a route of s switches costs
            endpoint + (s + 1) hops + s switches.
        port_model: what a rank owns.
        combines, replicates, scatters: whether switches may add, multicast, and take a bundle apart.

    Raises:
        ValueError: if a link is no pair of nodes or given twice, a latency is negative or must be given and
            is not, or a bandwidth is not positive.

    >>> line = from_links("line", 3, [(0, 1), (1, 0), (1, 2), (2, 1)])
    >>> line.router(np.array([0]), np.array([2]))
    (array([0, 0]), array([0, 2]))
    """
    check_ranks(ranks)
    nodes = ranks + switches
    check_size(name, nodes**2, MOST_ROUTES, "routes between nodes")
    ends = whole_numbers(f"node of a link of {name}", links) if len(links) else np.empty((0, 2), dtype=np.intp)
    if ends.ndim != 2 or ends.shape[1] != 2:
        raise ValueError(f"links of {name}: must be pairs of nodes; bandwidths go into bandwidth=[...]")
    if len(ends) and not (ends.min() >= 0 and ends.max() < nodes):
        raise ValueError(f"a link of {name} leaves the nodes 0..{nodes - 1}")
    for (a, b), times in Counter(map(tuple, ends.tolist())).items():
        if times > 1:  # a route takes one of them, and the others would carry nothing
            raise ValueError(f"{name} has {times} links {a} -> {b}: give one of all their bandwidth, with cables")
    if alpha is not None and latency is not None:
        raise ValueError(f"{name}: give alpha=[...] or latency=Latency(), not both")
    alpha = _parts_of_alpha(name, ranks, ends, latency) if alpha is None else alpha
    columns = [
        [default] * len(ends) if values is None else list(values)
        for values, default in ((bandwidth, 1), (level, 0), (cables, 1))
    ]
    for what, values in zip(("latencies", "bandwidths", "levels", "cables"), (alpha, *columns), strict=True):
        if len(values) != len(ends):
            raise ValueError(f"{len(values)} {what} for {len(ends)} links of {name}: one each is needed")
    speeds = [(Fraction(speed), depth, bundle) for speed, depth, bundle in zip(*columns, strict=True)]
    kinds = sorted(set(speeds), key=lambda kind: (kind[1], -kind[0], kind[2]))
    tiers = tuple(Tier(_named(kind, kinds) if len(kinds) > 1 else "link", *kind) for kind in kinds)
    place = {kind: number for number, kind in enumerate(kinds)}
    return Topology(
        name,
        ranks,
        switches,
        ends[:, 0],
        ends[:, 1],
        Fractions.of(alpha),
        np.array([place[kind] for kind in speeds], dtype=np.intp),
        tiers or (Tier(),),
        fewest_hops(nodes, ends, ranks),
        port_model,
        combines,
        replicates,
        scatters,
    )


def _named(kind: tuple[Fraction, int, int], kinds: list[tuple[Fraction, int, int]]) -> str:
    """A tier by its speed, and by what else tells it from others of that speed: its level, and its number of cables."""
    speed, level, bundle = kind
    _, levels, bundles = map(set, zip(*(other for other in kinds if other[0] == speed), strict=True))
    name = f"{speed} BW" + (f" at level {level}" if len(levels) > 1 else "")
    return name + (f" in {bundle} cables" if len(bundles) > 1 else "")


def _parts_of_alpha(name: str, ranks: int, ends: IntArray, latency: Latency | None) -> list[Fraction | int]:
    """What each link takes of alpha where only `latency` says so, if anything does."""
    if latency is None and len(ends) and ends.max() >= ranks:
        raise ValueError(f"{name} has switches: say what a trip through one costs, by alpha=[...] or latency=Latency()")
    parts = latency or HALVES
    return [1 if max(src, dst) < ranks else parts.up if src < ranks else parts.down for src, dst in ends.tolist()]


def hops_from(starts: IntArray, nodes: int, src: IntArray, dst: IntArray) -> NDArray[np.float64]:
    """The links on the shortest path from some nodes to every one, infinitely many where there is none.

    >>> hops_from(np.array([1]), 3, np.array([0, 1]), np.array([1, 2]))
    array([[inf,  0.,  1.]])
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    links = csr_array((np.ones(len(src)), (src, dst)), shape=(nodes, nodes))
    hops: NDArray[np.float64] = shortest_path(links, unweighted=True, indices=starts)
    return hops


def fewest_hops(nodes: int, ends: IntArray, ranks: int) -> Router:
    """Routes over as few links as can be, ties going to the lowest-numbered node."""
    hops = hops_from(np.arange(nodes), nodes, *ends.T)
    # the first link of the route from a node to every other one: towards the lowest-numbered node that is nearer
    first = np.full((nodes, nodes), -1, dtype=np.int32)
    for link in np.argsort(-ends[:, 1], kind="stable"):
        a, b = ends[link]
        first[a, hops[b] == hops[a] - 1] = link

    def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        apart = ~np.isfinite(hops[src, dst])
        if apart.any():
            i = int(np.flatnonzero(apart)[0])
            a, b = (f"{'rank' if end[i] < ranks else 'node'} {end[i]}" for end in (src, dst))
            raise NoRouteError(f"no route from {a} to {b}: the links do not connect them")
        messages, links = [], []
        message, node = np.arange(len(src)), np.asarray(src)
        while len(message):
            on_its_way = node != dst[message]
            message, node = message[on_its_way], node[on_its_way]
            link = first[node, dst[message]]
            messages.append(message)
            links.append(link.astype(np.intp))
            node = ends[link, 1]
        return by_message(messages, links)

    return route


@lru_cache(maxsize=16)
def turned_round(topology: Topology) -> Topology:
    """The topology with every link turned round, and the routes with them.

    >>> one_way = from_links("one-way", 3, [(0, 1), (1, 2), (2, 0)])
    >>> turned_round(one_way).router(np.array([0]), np.array([1]))
    (array([0, 0]), array([2, 1]))
    """

    def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        message, link = (crossed[::-1] for crossed in topology.router(dst, src))
        return by_message([message], [link])

    return replace(
        topology,
        name=f"{topology.name} turned round",
        link_src=topology.link_dst,
        link_dst=topology.link_src,
        router=route,
    )
