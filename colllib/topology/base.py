"""What a topology is: ranks, switches and directed links with latency and bandwidth, and the routes over them.

Latencies are exact multiples of one unit alpha and bandwidths of one unit BW, so that costs stay
exact; seconds appear only when a Cost is priced.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from colllib.exact import Fractions, IntArray
from colllib.primitives import is_whole

if TYPE_CHECKING:
    import networkx as nx

# For n messages: the crossings, in the order of each route, as pairs (message, link).
Router = Callable[[IntArray, IntArray], tuple[IntArray, IntArray]]


class NoRouteError(ValueError):
    """Two nodes that a schedule connects have no route between them."""


@dataclass(frozen=True)
class Lattice:
    """The axes along which ranks are laid out, the first one fastest: rank = x + d_x (y + d_y (z + ...)).

    Args:
        dims: the number of ranks on each axis, each at least 1.
        wraps: whether the ends of each axis are joined.

    Raises:
        ValueError: for no axis, or a size below 1.

    >>> Lattice((4, 3)).ranks, Lattice((4, 3)).coordinates(7)
    (12, (3, 1))
    """

    dims: tuple[int, ...]
    wraps: bool = True

    def __post_init__(self) -> None:
        if not self.dims:
            raise ValueError("a lattice needs at least one axis")
        for size in self.dims:
            if not is_whole(size) or size < 1:
                raise ValueError(f"axis of size {size!r}: must be a whole number of at least 1")

    @property
    def ranks(self) -> int:
        """Number of ranks N."""
        return prod(self.dims)

    @property
    def strides(self) -> tuple[int, ...]:
        """How far apart two neighbors on each axis are in rank order."""
        return tuple(prod(self.dims[:axis]) for axis in range(len(self.dims)))

    def coordinate(self, rank: IntArray, axis: int) -> IntArray:
        """Where ranks stand on an axis."""
        return rank // self.strides[axis] % self.dims[axis]

    def coordinates(self, rank: int) -> tuple[int, ...]:
        """Where a rank stands on every axis."""
        return tuple(rank // stride % size for stride, size in zip(self.strides, self.dims, strict=True))

    def __str__(self) -> str:
        return "x".join(map(str, self.dims))


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
        scatters: whether switches may take apart a bundle of blocks for different ranks.
        lattice: the axes of a ring, line, torus or mesh; None elsewhere.

    >>> from colllib.topology import star
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
    scatters: bool = False
    lattice: Lattice | None = None

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
        >>> from colllib.topology import ring
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


def uniform(
    name: str,
    ranks: int,
    src: IntArray,
    dst: IntArray,
    router: Router,
    port_model: str,
    lattice: Lattice | None = None,
) -> Topology:
    """A topology without switches whose links are all alike."""
    unit = Fractions.equal(len(src), len(src))
    return Topology(name, ranks, 0, src, dst, unit, unit, router, port_model, lattice=lattice)


def equal_injection(topology: Topology, total: Fraction | int = 1) -> Topology:
    """The topology with links so slow that the best-connected rank injects `total` times BW over all its links.

    A rank of a torus owns a link per neighbor, a rank of a star one link: this is the fair
    comparison of the two where what a rank may spend on bandwidth is given.

    >>> from colllib.topology import torus
    >>> equal_injection(torus((4, 4))).bandwidth[0]
    Fraction(1, 4)
    """
    out = np.bincount(topology.link_src, topology.bandwidth.numerators, topology.nodes)[: topology.ranks]
    most = Fraction(int(out.max(initial=0)), topology.bandwidth.denominator)
    if most == 0:
        return topology
    return replace(
        topology,
        bandwidth=topology.bandwidth.scaled(Fraction(total) / most),
        port_model=f"{topology.port_model}, {total} BW together",
    )


def one_port(topology: Topology) -> Topology:
    """The topology with one full-duplex port of BW between every rank and the wires.

    Each rank gets a router of its own, which takes over its links; rank and router are joined by
    one link each way, which adds no latency. Traffic that only passes by does not cross the port.

    Raises:
        ValueError: if the topology has switches: their ranks have one port each already.

    >>> from colllib.topology import torus
    >>> one_port(torus((3, 3)))
    Topology(torus:3x3 behind one port, 9 ranks, 9 switches, 54 links)
    """
    if topology.switches:
        raise ValueError(f"{topology.name} has switches: say there what a rank's port is")
    rank, links = np.arange(topology.ranks), topology.num_links
    router = rank + topology.ranks

    def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        message, link = topology.router(src, dst)
        own = np.arange(len(src))
        crossed = np.concatenate((links + src, link, links + topology.ranks + dst))
        order = np.argsort(np.concatenate((own, message, own)), kind="stable")
        return np.concatenate((own, message, own))[order], crossed[order]

    alpha = [topology.alpha, Fractions.equal(2 * topology.ranks, 0)]
    return replace(
        topology,
        name=f"{topology.name} behind one port",
        switches=topology.ranks,
        link_src=np.concatenate((topology.link_src + topology.ranks, rank, router)),
        link_dst=np.concatenate((topology.link_dst + topology.ranks, router, rank)),
        alpha=Fractions.joined(alpha),
        bandwidth=Fractions.joined([topology.bandwidth, Fractions.equal(2 * topology.ranks, 2 * topology.ranks)]),
        router=route,
        port_model="one full-duplex port per rank",
    )
