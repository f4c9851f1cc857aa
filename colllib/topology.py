"""Topologies: ranks, switches and directed links with latency and bandwidth, and the routes over them.

Latencies are exact multiples of one unit alpha and bandwidths of one unit BW, so that costs stay
exact; seconds appear only when a Cost is priced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from colllib.exact import Fractions, IntArray
from colllib.primitives import check_ranks

if TYPE_CHECKING:
    import networkx as nx

# For n messages: the crossings, in the order of each route, as pairs (message, link).
Router = Callable[[IntArray, IntArray], tuple[IntArray, IntArray]]


class NoRouteError(ValueError):
    """Two nodes that a schedule connects have no route between them."""


@dataclass(frozen=True, eq=False)
class Topology:
    """Where messages travel.

    Args:
        name: as on the command line, such as "star:8".
        ranks: number of ranks N; nodes 0..N-1 are ranks, the others switches.
        switches: number of switches.
        link_src: node where each directed link starts, shape (L,).
        link_dst: node where each directed link ends, shape (L,).
        alpha: latency of each link in units of alpha, shape (L,).
        bandwidth: bandwidth of each link in units of BW, shape (L,).
        router: the routes of n messages, from their sources and destinations.
        port_model: what a rank owns, in words that a table can print.
        combines: whether switches may add what arrives.
        replicates: whether switches may send one block to several nodes.

    >>> star(4)
    Topology(star:4, 4 ranks, 1 switches, 8 links)
    """

    name: str
    ranks: int
    switches: int
    link_src: IntArray
    link_dst: IntArray
    alpha: Fractions
    bandwidth: Fractions
    router: Router
    port_model: str
    combines: bool = False
    replicates: bool = False

    @property
    def nodes(self) -> int:
        """Number of ranks and switches."""
        return self.ranks + self.switches

    @property
    def num_links(self) -> int:
        """Number of directed links L."""
        return len(self.link_src)

    def link_name(self, link: int) -> str:
        """A link as "0 -> 1"; switches are called s0, s1, ..."""
        ends = (int(self.link_src[link]), int(self.link_dst[link]))
        return " -> ".join(str(n) if n < self.ranks else f"s{n - self.ranks}" for n in ends)

    def to_networkx(self) -> nx.DiGraph[int]:
        """The links as a directed graph with `alpha` and `bandwidth` on each edge.

        >>> import networkx
        >>> networkx.diameter(ring(6).to_networkx())
        3
        """
        import networkx as nx

        graph: nx.DiGraph[int] = nx.DiGraph()
        graph.add_nodes_from((n, {"switch": n >= self.ranks}) for n in range(self.nodes))
        for src, dst, alpha, bandwidth in zip(self.link_src, self.link_dst, self.alpha, self.bandwidth, strict=True):
            graph.add_edge(int(src), int(dst), alpha=alpha, bandwidth=bandwidth)
        return graph

    def __repr__(self) -> str:
        return f"Topology({self.name}, {self.ranks} ranks, {self.switches} switches, {self.num_links} links)"


def star(ranks: int, ports: int = 1) -> Topology:
    """N ranks around one switch, each with one full-duplex link of `ports` times BW.

    The two links of a route have the declared alpha together, half each. With several ports they
    are bonded, as NVLink's are: k ports act as one link of k times the bandwidth.

    >>> star(2).alpha[0]
    Fraction(1, 2)
    """
    check_ranks(ranks)
    if ports < 1:
        raise ValueError(f"{ports} ports: a rank needs at least 1")
    nodes = np.arange(ranks)
    hub = np.full(ranks, ranks)

    def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        message = np.arange(len(src))
        return np.concatenate((message, message)), np.concatenate((src, dst + ranks))

    return Topology(
        name=f"star:{ranks}" if ports == 1 else f"star:{ranks} with {ports} ports",
        ranks=ranks,
        switches=1,
        link_src=np.concatenate((nodes, hub)),
        link_dst=np.concatenate((hub, nodes)),
        alpha=Fractions.equal(2 * ranks, ranks),
        bandwidth=Fractions.equal(2 * ranks, 2 * ranks * ports),
        router=route,
        port_model=f"{'one full-duplex port' if ports == 1 else f'{ports} full-duplex ports'} per rank",
    )


def ring(ranks: int) -> Topology:
    """N ranks in a ring, one full-duplex link of BW to each neighbour.

    Messages take the shorter way; on a tie at N/2 they go up. Two ranks share one link each way.

    >>> ring(5).num_links, ring(2).num_links
    (10, 2)
    """
    check_ranks(ranks)
    nodes = np.arange(ranks)
    ups = nodes if ranks > 2 else nodes[: max(ranks - 1, 0)]
    up_src, up_dst = ups, (ups + 1) % ranks
    offset = len(ups)

    def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        ahead = (dst - src) % ranks
        hops = np.minimum(ahead, ranks - ahead)
        message = np.repeat(np.arange(len(src)), hops)
        hop = np.arange(len(message)) - np.repeat(np.cumsum(hops) - hops, hops)
        up = (2 * ahead <= ranks)[message]
        if ranks == 2:
            return message, src[message]
        link = np.where(up, (src[message] + hop) % ranks, offset + (src[message] - hop - 1) % ranks)
        return message, link

    return _uniform(
        f"ring:{ranks}",
        ranks,
        np.concatenate((up_src, up_dst)),
        np.concatenate((up_dst, up_src)),
        route,
        "one full-duplex link per neighbour",
    )


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

    return _uniform(f"full-mesh:{ranks}", ranks, src[keep], dst[keep], route, "one full-duplex link per pair of ranks")


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

    link_of = {(int(a), int(b)): link for link, (a, b) in enumerate(ends)}
    graph = csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(nodes, nodes))
    hops = shortest_path(graph, unweighted=True)
    neighbours: list[list[int]] = [[] for _ in range(nodes)]
    for a, b in sorted(link_of):
        neighbours[a].append(b)

    def one(src: int, dst: int) -> list[int]:
        if not np.isfinite(hops[src, dst]):
            raise NoRouteError(f"no route from node {src} to node {dst}: the links do not connect them")
        path = []
        while src != dst:
            after = next(b for b in neighbours[src] if hops[b, dst] == hops[src, dst] - 1)
            path.append(link_of[src, after])
            src = after
        return path

    def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        paths = [one(int(a), int(b)) for a, b in zip(src, dst, strict=True)]
        message = np.repeat(np.arange(len(src)), [len(path) for path in paths])
        return message, np.array([link for path in paths for link in path], dtype=np.intp)

    return route


def _uniform(
    name: str, ranks: int, src: NDArray[np.intp], dst: NDArray[np.intp], router: Router, port_model: str
) -> Topology:
    unit = Fractions.equal(len(src), len(src))
    return Topology(name, ranks, 0, src, dst, unit, unit, router, port_model)


# name -> (builder from N, what the command line expects)
TOPOLOGIES: dict[str, tuple[Callable[[int], Topology], str]] = {
    "star": (star, "star:N"),
    "ring": (ring, "ring:N"),
    "full-mesh": (full_mesh, "full-mesh:N"),
}


def find(spec: str) -> Topology:
    """The topology that a text such as "star:512" names.

    Raises:
        ValueError: for an unknown name or a size that is no whole number of at least 1.

    >>> find("ring:8")
    Topology(ring:8, 8 ranks, 0 switches, 16 links)
    """
    name, _, size = spec.partition(":")
    if name not in TOPOLOGIES:
        known = ", ".join(form for _, form in TOPOLOGIES.values())
        raise ValueError(f"unknown topology {spec!r}: known are {known}")
    build, form = TOPOLOGIES[name]
    try:
        ranks = int(size)
    except ValueError:
        raise ValueError(f"topology {spec!r}: the size must be a whole number, as in {form}") from None
    return build(ranks)
