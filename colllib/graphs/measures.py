"""What a graph promises before any schedule: degree, Moore bounds, and even distance layers."""

from __future__ import annotations

import numpy as np

from colllib.exact import IntArray
from colllib.graphs.links import arcs
from colllib.topology.base import Topology
from colllib.topology.cuts import distances


def degree(graph: Topology) -> int:
    """The number of ports d of every rank, out and in, self-loops and parallel links counted.

    Raises:
        ValueError: if ranks differ, or have more links one way than the other.

    >>> from colllib.topology.expression import find
    >>> degree(find("debruijn:2x3")), degree(find("uniring:3x5"))
    (2, 3)
    """
    low, high = _degrees(graph)
    if low != high:
        raise ValueError(f"{graph.name}: its ranks have {low} to {high} links out or in: equal degrees are needed")
    return low


def equal_degree(graph: Topology) -> int | None:
    """The degree where it is the same for all ranks, else None."""
    low, high = _degrees(graph)
    return low if low == high else None


def _degrees(graph: Topology) -> tuple[int, int]:
    """The fewest and the most links that leave a rank or arrive."""
    counts = np.array([np.bincount(ends, minlength=graph.ranks) for ends in arcs(graph)])
    return int(counts.min()), int(counts.max())


def moore_bound(degree: int, diameter: int, *, undirected: bool = False) -> int:
    """How many ranks a graph of that degree and diameter can have at most.

    Args:
        undirected: whether every link has one the other way, so that no rank is reached anew by going back.

    >>> moore_bound(4, 2), moore_bound(4, 2, undirected=True)
    (21, 17)
    """
    total: int = 1 + sum(degree * (degree - undirected) ** step for step in range(diameter))
    return total


def moore_diameter(ranks: int, degree: int, *, undirected: bool = False) -> int:
    """The least diameter that the Moore bound leaves to N ranks of a degree; a schedule needs as many steps.

    Raises:
        ValueError: for a degree that can never join so many ranks.

    >>> moore_diameter(1024, 4), moore_diameter(1024, 4, undirected=True)
    (5, 6)
    """
    if ranks > 1 + degree and degree < (2 if undirected else 1):
        raise ValueError(f"N = {ranks}: a degree of {degree} cannot join so many ranks")
    diameter = 0
    while moore_bound(degree, diameter, undirected=undirected) < ranks:
        diameter += 1
    return diameter


def is_undirected(graph: Topology) -> bool:
    """Whether as many links lead from v to u as from u to v, for every two ranks."""
    src, dst = arcs(graph)
    return bool(np.array_equal(np.sort(src * graph.ranks + dst), np.sort(dst * graph.ranks + src)))


def layers(graph: Topology) -> IntArray:
    """How many ranks are x hops before each rank: |N_x^-(u)|, shape (N, D + 1).

    >>> from colllib.topology.expression import find
    >>> layers(find("diamond"))[:2]
    array([[1, 2, 4, 1],
           [1, 2, 4, 1]])
    """
    hops = distances(graph)
    return np.stack([(hops == x).sum(axis=0) for x in range(hops.max() + 1)], axis=1)


def even_layers(graph: Topology) -> bool:
    """Whether every rank has equally many ranks x hops before it, for all x.

    >>> from colllib.topology.expression import find
    >>> even_layers(find("kautz:2x6")), even_layers(find("diamond"))
    (True, False)
    """
    counts = layers(graph)
    return bool((counts == counts[0]).all())


def intersection_array(graph: Topology) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Of a distance-regular graph, the neighbors one hop further and one hop nearer; None if it is not one.

    >>> from colllib.topology.expression import find
    >>> intersection_array(find("hypercube:3")), intersection_array(find("torus:5x5"))
    (((3, 2, 1), (1, 2, 3)), None)
    """
    src, dst = arcs(graph)
    hops = distances(graph)
    if not is_undirected(graph) or graph.num_links != len(src) or (src == dst).any():
        return None
    hops = np.ascontiguousarray(hops, dtype=np.int16)  # a row at a time
    numbers = []
    for offset in (1, -1):
        counts = np.zeros_like(hops)
        for a, b in zip(src.tolist(), dst.tolist(), strict=True):
            counts[b] += hops[a] == hops[b] + offset
        number = np.zeros(hops.max() + 1, dtype=np.intp)
        number[hops] = counts
        if (number[hops] != counts).any():
            return None
        numbers.append(tuple(number.tolist()))
    return numbers[0][:-1], numbers[1][1:]
