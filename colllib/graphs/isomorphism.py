"""Isomorphic graphs: a permutation that takes one to the other, and what all those of one graph leave alike.

Ranks are colored by what is around them, all at once, until colors no longer split; where several ranks keep one
color, one is singled out and its partner guessed. What is found is checked link by link, so that it holds whatever
colors said.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from colllib.exact import IntArray
from colllib.graphs.links import arcs
from colllib.graphs.measures import is_undirected
from colllib.graphs.operations import transpose
from colllib.limits import TooLarge
from colllib.topology.base import Topology

Colors = NDArray[np.uint64]

MOST_GUESSES = 2**20  # times ranks


class _Adjacency:
    """The links of a graph in the forms that coloring needs."""

    def __init__(self, graph: Topology) -> None:
        from scipy.sparse import csr_array

        self.ranks = graph.ranks
        self.src, self.dst = arcs(graph)
        self.out = csr_array((np.ones(len(self.src), dtype=np.uint64), (self.src, self.dst)), shape=(self.ranks,) * 2)
        self.into = self.out.T.tocsr()
        self.links = self.image(np.arange(self.ranks))

    def image(self, permutation: IntArray) -> IntArray:
        """The links between the images of the ranks, as numbers, in order."""
        return np.sort(permutation[self.src] * self.ranks + permutation[self.dst])

    def recolored(self, color: Colors) -> Colors:
        """What each rank's color and those one hop before and behind it make, the same numbers for the same colors."""
        scrambled = _scrambled(color)
        return _scrambled(color + np.uint64(3) * (self.out @ scrambled) + np.uint64(5) * (self.into @ scrambled))


def _scrambled(color: Colors) -> Colors:
    """A number of 64 bits for each, by which sums of colors say which colors they are: Steele et al. (2014)."""
    color = (color ^ (color >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9) + np.uint64(0x9E3779B97F4A7C15)
    color = (color ^ (color >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return color ^ (color >> np.uint64(31))


def _refined(sides: Sequence[_Adjacency], colors: Sequence[Colors]) -> list[Colors]:
    """Recolored as long as that splits a color, on both sides equally often."""
    kinds = 0
    refined = list(colors)
    while (now := len(np.unique(refined[0]))) > kinds:
        kinds = now
        refined = [side.recolored(color) for side, color in zip(sides, refined, strict=True)]
    return refined


def isomorphism(first: Topology, second: Topology) -> IntArray | None:
    """Where each rank of one graph stands in another, so that links become links, parallel ones too; None if nowhere.

    Raises:
        TooLarge: if more guesses would be needed than are made.

    >>> from colllib.topology.expression import find
    >>> isomorphism(find("hypercube:4"), find("torus:4x4")) is None, isomorphism(find("ring:4"), find("torus:3x2"))
    (False, None)
    """
    if first.ranks != second.ranks or first.num_links != second.num_links:
        return None
    sides = (_Adjacency(first), _Adjacency(second))
    return _matched(sides, [np.zeros(first.ranks, dtype=np.uint64)] * 2, f"{first.name} and {second.name}")


def _matched(sides: tuple[_Adjacency, _Adjacency], colors: list[Colors], names: str) -> IntArray | None:
    """Where each rank of one side stands in the other, if ranks of different colors stay apart; None if nowhere."""
    ranks = sides[0].ranks
    guesses = iter(range(MOST_GUESSES // ranks))

    def extended(colors: list[Colors]) -> IntArray | None:
        colors = _refined(sides, colors)
        order = [np.argsort(color, kind="stable") for color in colors]
        kinds, counts = np.unique(colors[0], return_counts=True)
        if not np.array_equal(colors[0][order[0]], colors[1][order[1]]):
            return None
        if len(kinds) == ranks:
            permutation = np.empty(ranks, dtype=np.intp)
            permutation[order[0]] = order[1]
            return permutation if np.array_equal(sides[0].image(permutation), sides[1].links) else None
        chosen = kinds[counts > 1][counts[counts > 1].argmin()]
        one = int(np.flatnonzero(colors[0] == chosen)[0])
        for other in np.flatnonzero(colors[1] == chosen).tolist():
            if next(guesses, None) is None:
                raise TooLarge(f"{names}: too many guesses at what takes one to the other")
            tried = [color.copy() for color in colors]
            tried[0][one] = tried[1][other] = chosen + np.uint64(1)
            extension = extended(tried)
            if extension is not None:
                return extension
        return None

    return extended(colors)


def reversal(graph: Topology) -> IntArray | None:
    """Where each rank of the transpose stands in the graph, so that links become links; None if nowhere.

    With one, an all-gather on the graph reversed is a reduce-scatter on it.

    >>> from colllib.topology.expression import find
    >>> reversal(find("uniring:1x3")), reversal(find("diamond"))
    (array([0, 2, 1]), None)
    """
    return np.arange(graph.ranks) if is_undirected(graph) else isomorphism(transpose(graph), graph)


def orbits(graph: Topology) -> tuple[IntArray, IntArray]:
    """Which ranks, and which links, automorphisms take to one another: a number for each, equal in one orbit.

    Returns:
        of the ranks, shape (N,), and of the links of the topology, shape (L,).

    >>> from colllib.topology.expression import find
    >>> [len(set(part.tolist())) for part in orbits(find("torus:4x3"))]
    [1, 2]
    """
    known = graph.link_src * graph.ranks + graph.link_dst
    sorter = np.argsort(known)
    ranks, links = np.arange(graph.ranks), np.arange(graph.num_links)
    adjacency = _Adjacency(graph)
    sides, names = (adjacency, adjacency), f"{graph.name} and itself"

    def join(permutation: IntArray) -> None:
        nonlocal ranks, links
        ends = permutation[graph.link_src] * graph.ranks + permutation[graph.link_dst]
        link_images = sorter[np.searchsorted(known, ends, sorter=sorter)]
        ranks, links = _joined(ranks, permutation), _joined(links, link_images)

    alike: dict[bytes, list[int]] = {}  # ranks of different orbits, by what is around them
    colors: dict[int, Colors] = {}  # a rank of each orbit -> of all ranks, by how they lie around this one
    for rank in range(graph.ranks):
        if ranks[rank] in ranks[list(colors)]:
            continue
        single = (np.arange(graph.ranks) == rank).astype(np.uint64)
        color = _refined([adjacency], [single])[0]
        near = alike.setdefault(np.sort(color).tobytes(), [])
        automorphisms = (_matched(sides, [colors[first], color], names) for first in near)
        permutation = next((automorphism for automorphism in automorphisms if automorphism is not None), None)
        if permutation is None:
            colors[rank] = color
            near.append(rank)
        else:
            join(permutation)
    for first, color in colors.items():  # what leaves a rank where it is
        leaving = np.flatnonzero(graph.link_src == first)
        for link in leaving[1:]:
            end, other = graph.link_dst[leaving[0]], graph.link_dst[link]
            if links[link] != links[leaving[0]] and color[end] == color[other]:
                marked = [color.copy(), color.copy()]
                marked[0][end] = marked[1][other] = color[end] + np.uint64(1)
                permutation = _matched(sides, marked, names)
                if permutation is not None:
                    join(permutation)
    return np.unique(ranks, return_inverse=True)[1], np.unique(links, return_inverse=True)[1]


def _joined(label: IntArray, permutation: IntArray) -> IntArray:
    """Labels made equal where a permutation takes one to the other."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = len(label)
    pairs = coo_array((np.ones(size), (label, label[permutation])), shape=(size, size))
    labels: IntArray = connected_components(pairs, directed=False)[1][label].astype(np.intp)
    return labels
