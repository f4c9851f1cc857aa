"""All-to-all throughput: the rate f at which every rank can send to every other one at once, over links of rate 1.

A multicommodity flow with one commodity for each source: Basu et al. (2024), "Efficient All-to-All Collective
Communication Schedules for Direct-Connect Topologies". Averaging a flow over the automorphisms of the graph changes
nothing about f, so that one source of each orbit and one capacity for each orbit of links are enough. The program is
solved over trees of shortest paths, which are added until lengths of links prove that no other flow is larger:
column generation, Ford and Fulkerson (1958), "A Suggested Computation for Maximal Multi-Commodity Network Flows".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra, shortest_path

from colllib.exact import IntArray
from colllib.graphs.isomorphism import orbits
from colllib.graphs.links import arcs
from colllib.limits import MOST_ROUTES, TooLarge, check_size
from colllib.topology.base import Topology
from colllib.topology.cuts import distances

FloatArray = NDArray[np.float64]

MOST_VARIABLES = 2**14  # sources times orbits of links
CLOSE = 1e-9  # how far the solver may be from the fraction that bounds it
NEAR = 1e-3  # how near lengths have to be before they are rounded
GRID = 10**6  # to which parts of the longest link lengths are rounded
LONGEST = 10**9  # whole length of a link that is tried
HOP = 1e-7  # what a hop adds to its length
MIXED = 4  # trees that are kept, for each source and orbit of links
WARM, ROUNDS = 30, 300  # rounds in which links get longer with their loads, and rounds in all


def distance_bound(graph: Topology) -> Fraction:
    """What f cannot exceed: the links, self-loops left out, shared among the hops between all ranks.

    >>> from colllib.topology.expression import find
    >>> distance_bound(find("line-graph(complete-bipartite:4x4)"))
    Fraction(2, 35)
    """
    src, dst = arcs(graph)
    return Fraction(int((src != dst).sum()), max(int(distances(graph).sum()), 1))


def throughput(graph: Topology, most: int = MOST_VARIABLES) -> Fraction:
    """The largest f such that every rank can send f to every other one at once, exactly.

    Args:
        graph: strongly connected, of two or more ranks.
        most: sources times orbits of links that are not too many.

    Raises:
        TooLarge: if the program is too large, or the fraction. The distance bound remains.
        ValueError: for a graph that is not strongly connected, or with one rank only.

    >>> from colllib.topology.expression import find
    >>> throughput(find("ring:5")), throughput(find("diamond"))
    (Fraction(1, 3), Fraction(3, 20))
    """
    low, high, _ = narrowed(graph, most=most)
    if high > low * (1 + CLOSE):
        raise TooLarge(f"{graph.name}: the fraction that is its all-to-all throughput, about {low:.6g}, is too long")
    return high


def narrowed(graph: Topology, tolerance: float = CLOSE, most: int = MOST_VARIABLES) -> tuple[float, Fraction, IntArray]:
    """What f is between, and whole lengths of the links of each orbit that prove it from above.

    From below a flow proves it, to the precision of its solver.

    Args:
        graph, most: as for `throughput`.
        tolerance: up to which share of f the two may differ; they differ more where the rounds do not suffice.

    Raises as for `throughput`.

    >>> from colllib.topology.expression import find
    >>> narrowed(find("torus:4x3"))[1:]  # rings of four bind, those of three don't
    (Fraction(1, 6), array([1, 0]))
    """
    if graph.ranks < 2:
        raise ValueError(f"{graph.name}: all-to-all throughput needs at least two ranks")
    high = distance_bound(graph)
    check_size(f"all-to-all flow on {graph.name}", graph.ranks * graph.num_links, MOST_ROUTES, "ranks times links")
    flow = Flow.of(graph)
    if len(flow.capacity) == 1:  # averaged over the automorphisms, shortest paths load all links alike
        return float(high), high, np.ones(1, dtype=np.intp)
    check_size(f"all-to-all flow on {graph.name}", len(flow.sources) * len(flow.capacity), most, "variables")
    low, nearest, best = 0.0, np.inf, np.ones(len(flow.capacity), dtype=np.intp)
    for low, near, lengths in flow.rounds():
        if near < min(nearest, low * (1 + NEAR)):
            for rounded in flow.rounded(lengths, exact=tolerance <= CLOSE):
                bound = flow.length_bound(rounded[flow.orbit])
                if bound < high:
                    high, best = bound, rounded
            nearest = near
        if high <= low * (1 + tolerance):
            break
    return low, high, best


@dataclass(frozen=True)
class Flow:
    """Links but self-loops, and which of them and of the ranks are alike."""

    ranks: int
    src: IntArray  # where each link starts, shape (L,)
    dst: IntArray  # where it ends, shape (L,)
    width: IntArray  # how many parallel ones it is, shape (L,)
    orbit: IntArray  # which of the K orbits it is in, shape (L,)
    capacity: FloatArray  # of all links of an orbit, shape (K,)
    sources: IntArray  # a rank of each orbit of ranks, shape (S,)
    copies: IntArray  # how many ranks the orbit has, shape (S,)

    @classmethod
    def of(cls, graph: Topology) -> Flow:
        rank_orbit, link_orbit = orbits(graph)
        links = np.flatnonzero(graph.link_src != graph.link_dst)
        orbit = np.unique(link_orbit[links], return_inverse=True)[1]
        width = np.array([tier.cables for tier in graph.tiers], dtype=np.intp)[graph.tier][links]
        _, sources, copies = np.unique(rank_orbit, return_index=True, return_counts=True)
        capacity = np.bincount(orbit, weights=width).astype(np.float64)
        return cls(graph.ranks, graph.link_src[links], graph.link_dst[links], width, orbit, capacity, sources, copies)

    def _matrix(self, of_links: NDArray[Any]) -> csr_array:
        """A value for each link where it leads from and to, shape (N, N)."""
        return csr_array((of_links, (self.src, self.dst)), shape=(self.ranks, self.ranks))

    def rounds(self) -> Iterator[tuple[float, float, FloatArray]]:
        """Ever better flows: their f, what the best lengths so far leave to it, and these, one for each orbit."""
        load, lengths, best, near = np.zeros_like(self.capacity), np.ones_like(self.capacity), np.empty(0), np.inf
        columns, owner = np.empty((0, len(load))), np.empty(0, dtype=np.intp)
        tried = [lengths]
        for turn in range(ROUNDS):
            for lengths in tried:
                new = self.trees(lengths)
                lengths = lengths / (lengths @ self.capacity)
                if (distance := (new @ (lengths * self.capacity)).sum()) * near > 1:
                    best, near = lengths, 1 / distance
                columns, owner = np.concatenate((columns, new)), np.append(owner, np.arange(len(new)))
            if turn < WARM:
                load += new.sum(axis=0)
                tried = [np.exp(2 * np.sqrt(turn + 1) * (load - load.max()) / load.mean())]
                continue
            # equal trees would crowd out others, and these come back for ever
            _, once = np.unique(np.column_stack((owner, columns)), axis=0, return_index=True)
            columns, owner = columns[once], owner[once]
            low, prices, order = _master_problem(columns, owner)
            yield low, near, best
            best_first = order[: MIXED * (len(load) + len(new))]
            columns, owner = columns[best_first], owner[best_first]
            tried = [prices / self.capacity, (best + prices / self.capacity) / 2]

    def trees(self, lengths: FloatArray) -> FloatArray:
        """What each source's shortest paths, times its copies, put on the links of each orbit, in capacities."""
        sources, orbits = len(self.sources), len(self.capacity)
        longer = lengths[self.orbit] + lengths.max() * HOP  # scipy takes no links of length 0
        distance, before = dijkstra(self._matrix(longer), indices=self.sources, return_predecessors=True)
        through, every = np.ones(distance.shape), np.arange(sources)
        for rank in np.argsort(-distance, axis=1)[:, :-1].T:  # from the farthest to the source, which comes last
            through[every, before[every, rank]] += through[every, rank]
        link = self._matrix(np.arange(len(self.src)) + 1)
        source, rank = np.nonzero(before >= 0)
        orbit = self.orbit[np.asarray(link[before[source, rank], rank]).ravel() - 1]
        cells = np.bincount(source * orbits + orbit, weights=through[source, rank], minlength=sources * orbits)
        return cells.reshape(sources, orbits) * self.copies[:, None] / self.capacity

    def rounded(self, lengths: FloatArray, exact: bool) -> Iterator[IntArray]:
        """Lengths as whole numbers: rounded to fractions of few digits, or unless exact to a fine grid."""
        ratio = lengths / lengths.max()
        if not exact:
            yield np.rint(ratio * GRID).astype(np.intp)
        for power in range(5):
            ratios = [Fraction(length).limit_denominator(10**power) for length in ratio.tolist()]
            denominator = lcm(*(value.denominator for value in ratios))
            if denominator <= LONGEST:
                yield np.array([int(value * denominator) for value in ratios])

    def distances(self, lengths: FloatArray) -> FloatArray:
        """Distances from each source to all ranks by lengths, above 0, of the links of each orbit, shape (S, N)."""
        return np.asarray(dijkstra(self._matrix(lengths[self.orbit]), indices=self.sources))

    def length_bound(self, lengths: IntArray) -> Fraction:
        """What f cannot exceed: the lengths of all links over the distances between all ranks."""
        # every link gets a little more, less in sum than one length on any path
        scale = 2 * self.ranks
        distance = shortest_path(self._matrix(lengths * scale + 1.0)).astype(np.intp) // scale
        return Fraction(int((lengths * self.width).sum()), max(int(distance.sum()), 1))


def _master_problem(columns: FloatArray, owner: IntArray) -> tuple[float, FloatArray, IntArray]:
    """The best mixture of each source's trees: its f, what capacities are worth, and which trees are worth keeping."""
    from scipy.optimize import linprog

    size, sources = columns.shape[1], np.arange(owner.max() + 1)
    convexity = -1.0 * (owner == sources[:, None])
    program: FloatArray = np.block([[columns.T, -np.ones((size, 1))], [convexity, np.zeros((len(sources), 1))]])
    right, price = np.zeros(size + len(sources)), np.zeros(len(owner) + 1)
    right[size:], price[-1] = -1, 1
    solution = linprog(price, A_ub=program, b_ub=right, bounds=(0, None), method="highs-ds")
    if solution.fun is None or solution.x is None:
        raise ArithmeticError(f"the linear program of an all-to-all flow: {solution.message}")
    prices, worth = np.split(-solution.ineqlin.marginals, [size])
    prices = np.maximum(prices, 0)
    return 1 / solution.fun, prices, np.lexsort((columns @ prices - worth[owner], solution.x[:-1] <= 0))
