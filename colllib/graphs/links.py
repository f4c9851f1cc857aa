"""What a graph is here: a topology of ranks alone, with parallel links and self-loops.

**Parallel links are a trunk**: k links from one rank to another are one link of k BW and k cables. In lock-step what
goes over it is spread over all k; on the event clock a message takes one of them. **A self-loop uses a port**: it is a
link and counts in the degree, and so in what a rank injects, and carries nothing.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np

from colllib.cost import Tier
from colllib.exact import Fractions, IntArray
from colllib.limits import MOST_ROUTES, check_size
from colllib.topology.base import Router, Topology, check_network
from colllib.topology.graph import fewest_hops

PORTS = "one link per port"


def from_arcs(name: str, ranks: int, src: IntArray, dst: IntArray) -> Topology:
    """The topology of a graph, from the ends of its links, shape (L,), in any order; equal ones become a trunk.

    >>> trunk = from_arcs("pair", 2, np.array([0, 0, 1]), np.array([1, 1, 0]))
    >>> [trunk.link_name(link) for link in range(trunk.num_links)], list(trunk.bandwidth)
    (['0 -> 1', '1 -> 0'], [Fraction(2, 1), Fraction(1, 1)])
    """
    check_network(name, ranks, len(src))
    known, width = np.unique(np.asarray(src, dtype=np.intp) * ranks + dst, return_counts=True)
    widths, tier = np.unique(width, return_inverse=True)
    start, end = np.divmod(known, ranks)
    return Topology(
        name,
        ranks,
        0,
        start,
        end,
        Fractions.equal(len(known), len(known)),
        tier.astype(np.intp),
        tuple(Tier(f"trunk of {k}" if k > 1 else "link", Fraction(k), cables=k) for k in widths.tolist()) or (Tier(),),
        _router(name, ranks, start, end),
        PORTS,
    )


def is_graph(topology: Topology) -> bool:
    """Whether a topology is of ranks and equal links alone, and so a graph.

    >>> from colllib.topology.expression import find
    >>> is_graph(find("torus:3x3")), is_graph(find("star:4"))
    (True, False)
    """
    return not topology.switches and all(tier.bandwidth == tier.cables for tier in topology.tiers)


def arcs(topology: Topology) -> tuple[IntArray, IntArray]:
    """Where each link starts and ends, the links of a trunk one by one, in the order of the topology's links.

    Raises:
        ValueError: for a topology with switches, or whose links differ in bandwidth.

    >>> from colllib.topology.expression import find
    >>> arcs(find("uniring:2x3"))
    (array([0, 0, 1, 1, 2, 2]), array([1, 1, 2, 2, 0, 0]))
    """
    if topology.switches:
        raise ValueError(f"{topology.name} has switches: a graph of ranks alone is needed")
    if not is_graph(topology):
        raise ValueError(f"{topology.name} has links of another bandwidth than BW a cable: a graph needs that one")
    width = np.array([tier.cables for tier in topology.tiers], dtype=np.intp)[topology.tier]
    return np.repeat(topology.link_src, width), np.repeat(topology.link_dst, width)


def _router(name: str, ranks: int, src: IntArray, dst: IntArray) -> Router:
    """Over a link where there is one, else over fewest hops, ties going to the lowest-numbered rank."""
    known = np.where(src == dst, -1, src * ranks + dst)  # a self-loop carries nothing
    order = np.argsort(known, kind="stable")
    ends = np.stack((src, dst), axis=1)

    @cache
    def far() -> Router:
        check_size(f"routes on {name}", ranks**2, MOST_ROUTES, "routes between nodes")
        return fewest_hops(ranks, ends, ranks)

    def route(start: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
        requested = np.asarray(start) * ranks + end
        place = np.searchsorted(known, requested, sorter=order)
        if len(order):
            link = order[np.minimum(place, len(order) - 1)]
            if np.array_equal(known[link], requested):
                return np.arange(len(requested)), link
        return far()(start, end)

    return route
