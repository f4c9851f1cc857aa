"""Topologies given by their links."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from colllib.exact import Fractions, IntArray
from colllib.primitives import check_ranks
from colllib.topology.base import NoRouteError, Router, Topology, uniform


def full_mesh(ranks: int) -> Topology:
    """N ranks with a full-duplex link of BW between every two: as many ports as partners.

    >>> full_mesh(4).num_links
    12
    """
    check_ranks(ranks)
    src, dst = np.divmod(np.arange(ranks * ranks), ranks)
    keep = src != dst

    def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        # rank r's links start at r * (N - 1) and skip r itself
        return np.arange(len(src)), src * (ranks - 1) + dst - (dst > src)

    return uniform(f"full-mesh:{ranks}", ranks, src[keep], dst[keep], route, "one full-duplex link per pair of ranks")


def from_links(
    name: str,
    ranks: int,
    links: Sequence[tuple[int, int]],
    *,
    switches: int = 0,
    alpha: Sequence[Fraction | int] | None = None,
    bandwidth: Sequence[Fraction | int] | None = None,
    port_model: str = "as the links say",
    combines: bool = False,
    replicates: bool = False,
) -> Topology:
    """A topology from its directed links, routed over fewest hops (ties: the lowest-numbered node).

    Args:
        name: what tables call it.
        ranks: number of ranks N.
        links: pairs of nodes; switches are nodes N, N+1, ...
        switches: number of switches.
        alpha: each link's latency in units of alpha (default 1).
        bandwidth: each link's bandwidth in units of BW (default 1).
        port_model: what a rank owns.
        combines: whether switches may add.
        replicates: whether switches may multicast.

    Raises:
        ValueError: if a link leaves the nodes or a bandwidth is not positive.

    >>> line = from_links("line", 3, [(0, 1), (1, 0), (1, 2), (2, 1)])
    >>> line.router(np.array([0]), np.array([2]))
    (array([0, 0]), array([0, 2]))
    """
    check_ranks(ranks)
    nodes = ranks + switches
    ends = np.asarray(links, dtype=np.intp).reshape(-1, 2)
    if len(ends) and not (ends.min() >= 0 and ends.max() < nodes):
        raise ValueError(f"a link of {name} leaves the nodes 0..{nodes - 1}")
    latencies = Fractions.of([1] * len(ends) if alpha is None else alpha)
    speeds = Fractions.of([1] * len(ends) if bandwidth is None else bandwidth)
    for what, values in (("latencies", latencies), ("bandwidths", speeds)):
        if len(values) != len(ends):
            raise ValueError(f"{len(values)} {what} for {len(ends)} links of {name}: one each is needed")
    if (speeds.numerators <= 0).any():
        raise ValueError(f"a bandwidth of {min(speeds)} in {name}: every link needs a positive one")
    return Topology(
        name,
        ranks,
        switches,
        ends[:, 0],
        ends[:, 1],
        latencies,
        speeds,
        _fewest_hops(nodes, ends),
        port_model,
        combines,
        replicates,
    )


def _fewest_hops(nodes: int, ends: IntArray) -> Router:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    graph = csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(nodes, nodes))
    hops = shortest_path(graph, unweighted=True)
    # the first link of the route from a node to every other one: towards the lowest-numbered node that is nearer
    first = np.full((nodes, nodes), -1, dtype=np.int32)
    for link in np.argsort(-ends[:, 1], kind="stable"):
        a, b = ends[link]
        first[a, hops[b] == hops[a] - 1] = link

    def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        apart = ~np.isfinite(hops[src, dst])
        if apart.any():
            i = int(np.flatnonzero(apart)[0])
            raise NoRouteError(f"no route from node {src[i]} to node {dst[i]}: the links do not connect them")
        messages, links = [], []
        message, at = np.arange(len(src)), np.asarray(src)
        while len(message):
            moving = at != dst[message]
            message, at = message[moving], at[moving]
            link = first[at, dst[message]]
            messages.append(message)
            links.append(link)
            at = ends[link, 1]
        message = np.concatenate(messages) if messages else np.zeros(0, np.intp)
        order = np.argsort(message, kind="stable")
        return message[order], (np.concatenate(links) if links else message)[order].astype(np.intp)

    return route
