"""What a graph promises before any schedule: degree, distances, Moore bounds, and even distance layers."""

from __future__ import annotations

import numpy as np

from colllib.exact import IntArray
from colllib.graphs.links import arcs
from colllib.limits import MOST_ROUTES, check_size
from colllib.topology.base import Topology


def degree(graph: Topology) -> int:
    """The number of ports d of every rank, out and in, self-loops and parallel links counted.

    Raises:
        ValueError: if ranks differ, or have more links one way than the other.

    >>> from colllib.topology import find
    >>> degree(find("debruijn:2x3")), degree(find("uniring:3x5"))
    (2, 3)
    """
    counts = np.array([np.bincount(ends, minlength=graph.ranks) for ends in arcs(graph)])
    low, high = int(counts.min()), int(counts.max())
    if low != high:
        raise ValueError(f"{graph.name}: its ranks have {low} to {high} links out or in: equal degrees are needed")
    return low


def distances(graph: Topology) -> IntArray:
    """The hops from every rank to every other one, shape (N, N).

    Raises:
        ValueError: if some rank cannot be reached from some other: the graph must be strongly connected.

    >>> from colllib.topology import find
    >>> distances(find("uniring:1x3"))
    array([[0, 1, 2],
           [2, 0, 1],
           [1, 2, 0]])
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    src, dst = arcs(graph)
    check_size(f"distances on {graph.name}", graph.ranks**2, MOST_ROUTES, "distances between ranks")
    links = csr_array((np.ones(len(src)), (src, dst)), shape=(graph.ranks, graph.ranks))
    hops = shortest_path(links, unweighted=True)
    apart = np.argwhere(np.isinf(hops))
    if len(apart):
        raise ValueError(
            f"{graph.name} is not strongly connected: no way from rank {apart[0][0]} to rank {apart[0][1]}"
        )
    return hops.astype(np.intp)


def diameter(graph: Topology) -> int:
    """The hops between the two ranks farthest apart.

    >>> from colllib.topology import find
    >>> diameter(find("circulant:16x3x4"))
    3
    """
    return int(distances(graph).max())
