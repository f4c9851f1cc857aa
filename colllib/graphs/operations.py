"""Larger graphs from smaller ones: line graph, degree expansion, Cartesian product and power, transpose and both.

They take any topology of ranks and equal links, parallel links and self-loops included, and name what they return by
the expression that builds it.
"""

from __future__ import annotations

import numpy as np

from colllib.graphs.links import arcs, from_arcs
from colllib.graphs.measures import degree
from colllib.limits import MOST_NODES
from colllib.topology.base import Topology, check_network, ragged


def line_graph(graph: Topology) -> Topology:
    """Every link becomes a rank, link k of `arcs` rank k, with a link to those links that start where it ends.

    Raises:
        ValueError: for a graph without links.

    >>> from colllib.topology.expression import find
    >>> line_graph(find("complete-bipartite:2x2"))
    Topology(line-graph(complete-bipartite:2x2), 8 ranks, 0 switches, 16 links)
    """
    name = f"line-graph({graph.name})"
    src, dst = arcs(graph)
    if not len(src):
        raise ValueError(f"{name}: {graph.name} has no links")
    leaving = np.bincount(src, minlength=graph.ranks)
    check_network(name, len(src), int(leaving[dst].sum()))
    by_source = np.argsort(src, kind="stable")
    first = np.cumsum(leaving) - leaving
    start, place = ragged(leaving[dst])
    return from_arcs(name, len(src), start, by_source[first[dst[start]] + place])


def degree_expansion(graph: Topology, times: int) -> Topology:
    """G * n: n copies of every rank, each with a link to every copy of its neighbors: N and degree times n.

    Copy i of rank v is rank v + N i.

    Raises:
        ValueError: for fewer than one copy, ranks of unequal degree, or self-loops.

    >>> from colllib.topology.expression import find
    >>> degree_expansion(find("ring:3"), 2)
    Topology(degree(ring:3,2), 6 ranks, 0 switches, 24 links)
    """
    name = f"degree({graph.name},{times})"
    src, dst = arcs(graph)
    if times < 1:
        raise ValueError(f"{name}: the number of copies must be at least 1, and not {times}")
    if (src == dst).any():
        raise ValueError(f"{name}: rank {src[src == dst][0]} of {graph.name} has a self-loop, and none must")
    degree(graph)
    check_network(name, graph.ranks * times, len(src) * times**2)
    copy = graph.ranks * np.arange(times)
    return from_arcs(
        name,
        graph.ranks * times,
        np.broadcast_to(src + copy[:, None, None], (times, times, len(src))).ravel(),
        np.broadcast_to(dst + copy[:, None], (times, times, len(dst))).ravel(),
    )


def cartesian_product(first: Topology, second: Topology) -> Topology:
    """Pairs of ranks, with the links of the one graph where the ranks of the other are equal.

    The pair (u, v) is rank u + N v, N that of the first graph, as on lattices.

    >>> from colllib.topology.expression import find
    >>> cartesian_product(find("uniring:1x4"), find("uniring:1x8"))
    Topology(product(uniring:1x4,uniring:1x8), 32 ranks, 0 switches, 64 links)
    """
    return _product(f"product({first.name},{second.name})", [first, second])


def cartesian_power(graph: Topology, times: int) -> Topology:
    """The Cartesian product of n times the same graph, whose first factor runs fastest in rank order.

    >>> from colllib.topology.expression import find
    >>> cartesian_power(find("full-mesh:3"), 2).num_links == find("hamming:2x3").num_links
    True
    """
    name = f"power({graph.name},{times})"
    if times < 1:
        raise ValueError(f"{name}: the exponent must be at least 1, and not {times}")
    most = MOST_NODES.bit_length()
    check_network(name, graph.ranks ** min(times, most), 0)
    if times > most:
        raise ValueError(f"{name}: the exponent must be at most {most}, and not {times}")
    return _product(name, [graph] * times)


def transpose(graph: Topology) -> Topology:
    """Every link the other way."""
    src, dst = arcs(graph)
    return from_arcs(f"transpose({graph.name})", graph.ranks, dst, src)


def bidirectional(graph: Topology) -> Topology:
    """The graph and its transpose on the same ranks: twice the degree, and an opposite for every link.

    >>> from colllib.topology.expression import find
    >>> bidirectional(find("uniring:1x3"))
    Topology(bidirectional(uniring:1x3), 3 ranks, 0 switches, 6 links)
    """
    src, dst = arcs(graph)
    both = np.append(src, dst), np.append(dst, src)
    return from_arcs(f"bidirectional({graph.name})", graph.ranks, *both)


def _product(name: str, factors: list[Topology]) -> Topology:
    src = dst = np.zeros(0, dtype=np.intp)
    ranks = 1
    for factor in factors:
        start, end = arcs(factor)
        check_network(name, ranks * factor.ranks, len(src) * factor.ranks + len(start) * ranks)
        copy = ranks * np.arange(factor.ranks)[:, None]
        inner = np.arange(ranks)[:, None]
        src = np.concatenate(((src + copy).ravel(), (ranks * start + inner).ravel()))
        dst = np.concatenate(((dst + copy).ravel(), (ranks * end + inner).ravel()))
        ranks *= factor.ranks
    return from_arcs(name, ranks, src, dst)
