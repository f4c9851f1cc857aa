"""What a topology is: ranks, switches and directed links with latency and bandwidth, and the routes over them.

Every link belongs to a tier, which is links of one speed, and every tier to a level, which has one
alpha and one BW. Latencies are exact multiples of an alpha and bandwidths of a BW, so that costs
stay exact; seconds appear only when a Cost is priced.

The one rule for latency: **a route's latency is that of its outermost level**, the parts of alpha
of its links of that level added up. With one level, which is every network of a single technology,
that is the sum over all links; between boxes, what is crossed inside them adds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from colllib.cost import Tier
from colllib.exact import Fractions, IntArray, counted
from colllib.limits import MOST_LINKS, MOST_NODES, check_size
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

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """How far apart two neighbors on each axis are in rank order."""
        return tuple(prod(self.dims[:axis]) for axis in range(len(self.dims)))

    def coordinate(self, rank: IntArray, axis: int) -> IntArray:
        """Where ranks stand on an axis."""
        return rank // self.strides[axis] % self.dims[axis]

    def coordinates(self, rank: int) -> tuple[int, ...]:
        """Where a rank stands on every axis."""
        return tuple(rank // stride % size for stride, size in zip(self.strides, self.dims, strict=True))

    def shifted(self, rank: IntArray, axis: int, by: IntArray | int) -> IntArray:
        """The ranks so many places further on an axis, from its end on at its start."""
        at = self.coordinate(rank, axis)
        return rank + ((at + by) % self.dims[axis] - at) * self.strides[axis]

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
        alpha: the part of its level's alpha that each link takes, shape (L,).
        tier: the tier of each link, a place in `tiers`, shape (L,).
        tiers: the speeds of the links, innermost first.
        router: the routes of n messages, from their sources and destinations.
        port_model: what a rank owns, in words that a table can print.
        combines: whether switches may add what arrives.
        replicates: whether switches may send one block to several nodes.
        scatters: whether switches may take apart a bundle of blocks for different ranks.
        acting: which switches may do any of this, shape (switches,); None for all.
        lattice: the axes of a ring, line, torus or mesh, or of places in boxes; None elsewhere.
        in_box: how many ranks in a row stand in a box, of which the last may have fewer; 0 where there are none.
        inside: the torus in each box, of its ranks alone; None for a switch, or links between every two ranks.
        speeds: of a machine that exists, the alphas in seconds and the bandwidths in bytes per second, one for each
            level, innermost first; None elsewhere.
        link_class: where to shift the lattice (without one, to permute the ranks in any way) takes links to
            links and routes to routes, a number for each link: equal for those that are taken to one another,
            shape (L,); None elsewhere.

    Raises:
        ValueError: if a link has no tier, or takes a negative part of alpha, or two tiers have one name.

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
    tier: IntArray
    tiers: tuple[Tier, ...]
    router: Router
    port_model: str
    combines: bool = False
    replicates: bool = False
    scatters: bool = False
    acting: NDArray[np.bool_] | None = None
    lattice: Lattice | None = None
    in_box: int = 0
    inside: Topology | None = None
    speeds: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    link_class: IntArray | None = None

    def __post_init__(self) -> None:
        links = len(self.link_src)
        if len(self.alpha) != links or len(self.tier) != links:
            raise ValueError(f"{len(self.alpha)} latencies and {len(self.tier)} tiers for {links} links of {self.name}")
        if links and (self.alpha.numerators.min() < 0 or self.tier.min() < 0 or self.tier.max() >= len(self.tiers)):
            raise ValueError(
                f"{self.name}: a latency of a link is negative, or its tier not in 0..{len(self.tiers) - 1}"
            )
        names = [tier.name for tier in self.tiers]
        if len(set(names)) < len(names):
            raise ValueError(f"{self.name} has tiers {', '.join(names)}: each needs a name of its own")

    @property
    def levels(self) -> int:
        """How many alphas and bandwidths it takes to price a cost here."""
        return 1 + max((tier.level for tier in self.tiers), default=0)

    def check_one_level(self, what: str) -> None:
        """Refuse to say in units of one BW what spans several."""
        if self.levels > 1:
            raise ValueError(f"{self.name} has several levels of BW: {what} is not one number there")

    @cached_property
    def bandwidth(self) -> Fractions:
        """The bandwidth of each link in units of the BW of its level, shape (L,)."""
        return Fractions.of(tier.bandwidth for tier in self.tiers).taken(self.tier)

    @property
    def meshed(self) -> bool:
        """Whether the ranks of a box have links to one another, and no torus: one for every two, if none has failed."""
        among_ranks = (self.link_src < self.ranks) & (self.link_dst < self.ranks)
        return self.in_box > 0 and self.inside is None and bool(among_ranks.any())

    def latencies(self, message: IntArray, link: IntArray, count: int) -> tuple[IntArray, IntArray]:
        """What the routes of messages take of alpha: the level whose alpha it is, and how much, shapes (count,).

        Args:
            message: whose route crosses a link, shape (crossings,).
            link: which, shape (crossings,).
            count: how many messages.

        Returns:
            per message its route's outermost level, and the part of its alpha in units of 1 / `alpha.denominator`.
        """
        part = self.alpha.numerators[link]
        if self.levels == 1:
            return np.zeros(count, dtype=np.intp), counted(message, part, count)
        level = np.array([tier.level for tier in self.tiers], dtype=np.intp)[self.tier[link]]
        outermost = np.zeros(count, dtype=np.intp)
        np.maximum.at(outermost, message, level)
        deciding = level == outermost[message]
        return outermost, counted(message[deciding], part[deciding], count)

    def able(self, ability: str, switch: IntArray) -> NDArray[np.bool_]:
        """Which of some switches, counted from 0, may do something: "combines", "replicates" or "scatters".

        >>> from colllib.topology import boxes
        >>> boxes((2, 4), inc="box").able("combines", np.arange(5))  # two in boxes, two leaves, and one above
        array([ True,  True, False, False, False])
        """
        some_able = getattr(self, ability)
        if not some_able or self.acting is None:
            return np.full(len(switch), some_able)
        return self.acting[switch]

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

        Where ranks are joined by parallel links, a multigraph with an edge for each of them.

        >>> import networkx
        >>> from colllib.topology import ring
        >>> networkx.diameter(ring(6).to_networkx())
        3
        """
        import networkx as nx

        cables = [1 if self.switches else tier.cables for tier in self.tiers]
        graph: nx.DiGraph[int] = nx.MultiDiGraph() if max(cables, default=1) > 1 else nx.DiGraph()
        graph.add_nodes_from((n, {"switch": n >= self.ranks}) for n in range(self.nodes))
        ends = zip(self.link_src.tolist(), self.link_dst.tolist(), self.tier.tolist(), strict=True)
        for (src, dst, tier), alpha, bandwidth in zip(ends, self.alpha, self.bandwidth, strict=True):
            for _ in range(cables[tier]):
                graph.add_edge(src, dst, alpha=alpha, bandwidth=bandwidth / cables[tier])
        return graph

    def __repr__(self) -> str:
        return f"Topology({self.name}, {self.ranks} ranks, {self.switches} switches, {self.num_links} links)"


def ragged(counts: IntArray) -> tuple[IntArray, IntArray]:
    """The parts of rows of different lengths, one row after the other: whose each is, and its place in the row.

    >>> ragged(np.array([2, 0, 1]))
    (array([0, 0, 2]), array([0, 1, 0]))
    """
    row = np.repeat(np.arange(len(counts)), counts)
    return row, np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)


def by_message(messages: list[IntArray], links: list[IntArray]) -> tuple[IntArray, IntArray]:
    """Crossings in parts as a router gives them: one message after another, each with its links in the parts' order."""
    message, link = (np.concatenate(parts) if parts else np.zeros(0, dtype=np.intp) for parts in (messages, links))
    order = np.argsort(message, kind="stable")
    return message[order], link[order]


def expression(what: str, options: Mapping[str, object]) -> str:
    """A topology's name as on the command line: the options that differ from what is usual; None does not.

    >>> expression("torus:4x4", {"tie": "balanced", "order": None})
    'torus:4x4,tie=balanced'
    """
    return what + "".join(f",{name}={value}" for name, value in options.items() if value is not None)


def check_network(name: str, nodes: int, links: int) -> None:
    """Refuse a topology of too many nodes or links, before any is made."""
    check_size(name, nodes, MOST_NODES, "ranks and switches")
    check_size(name, links, MOST_LINKS, "links")


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
    tier = np.zeros(len(src), dtype=np.intp)
    return Topology(name, ranks, 0, src, dst, unit, tier, (Tier(),), router, port_model, lattice=lattice)


def injection(topology: Topology) -> Fraction:
    """What the best-connected rank injects over all its links, in units of BW; refused on several levels.

    >>> from colllib.topology import star, torus
    >>> injection(torus((4, 4, 2))), injection(star(8))
    (Fraction(5, 1), Fraction(1, 1))
    """
    topology.check_one_level("what a rank injects")
    speed = topology.bandwidth
    out = counted(topology.link_src, speed.numerators, topology.nodes)[: topology.ranks]
    return Fraction(int(out.max(initial=0)), speed.denominator)


def equal_injection(topology: Topology) -> Topology:
    """The topology with links so slow that the best-connected rank injects BW over all its links together.

    A rank of a torus owns a link per neighbor, a rank of a star one link: this compares them fairly.

    Raises:
        ValueError: for a topology of several levels.

    >>> from colllib.topology import torus
    >>> equal_injection(torus((4, 4))).bandwidth[0]
    Fraction(1, 4)
    """
    most = injection(topology)
    if most == 0:
        return topology
    return replace(
        topology,
        tiers=tuple(replace(tier, bandwidth=tier.bandwidth / most) for tier in topology.tiers),
        port_model=f"{topology.port_model}, 1 BW together",
    )


def one_port(topology: Topology) -> Topology:
    """The topology with one full-duplex port of BW, which adds no latency, between every rank and the wires.

    Each rank gets a router of its own, which takes over its links: what only passes by does not cross the port.

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
        every = np.arange(len(src))
        out, into = links + src, links + topology.ranks + dst  # the ports at the two ends
        return np.concatenate((every, message, every)), np.concatenate((out, link, into))

    return replace(
        topology,
        name=f"{topology.name} behind one port",
        switches=topology.ranks,
        link_src=np.concatenate((topology.link_src + topology.ranks, rank, router)),
        link_dst=np.concatenate((topology.link_dst + topology.ranks, router, rank)),
        alpha=Fractions.joined([topology.alpha, Fractions.equal(2 * topology.ranks, 0)]),
        tier=np.concatenate((topology.tier, np.full(2 * topology.ranks, len(topology.tiers)))),
        tiers=(*topology.tiers, Tier("port")),
        router=route,
        port_model="one full-duplex port per rank",
        link_class=None,
    )
