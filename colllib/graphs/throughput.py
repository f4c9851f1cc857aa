"""All-to-all throughput: the rate f at which every rank can send to every other one at once, over links of rate 1.

A multicommodity flow with one commodity for each source: Basu et al. (2023), "Efficient All-to-All Collective
Communication Schedules for Direct-Connect Topologies". Averaging a flow over the automorphisms of the graph changes
nothing about f, so that one source of each orbit and one capacity for each orbit of links are enough.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from colllib.exact import IntArray
from colllib.graphs.isomorphism import orbits
from colllib.graphs.links import arcs
from colllib.limits import MOST_ROUTES, TooLarge, check_size
from colllib.topology.base import Topology
from colllib.topology.cuts import distances

FloatArray = NDArray[np.float64]

MOST_VARIABLES = 2**15  # sources times links of a linear program, after symmetry
CLOSE = 1e-9  # how far the solver may be from the fraction that bounds it
LONGEST = 10**9  # whole length of a link that is tried


def distance_bound(graph: Topology) -> Fraction:
    """What f cannot exceed: the links, self-loops left out, shared among the hops between all ranks.

    >>> from colllib.topology import find
    >>> distance_bound(find("line-graph(complete-bipartite:4x4)"))
    Fraction(2, 35)
    """
    src, dst = arcs(graph)
    return Fraction(int((src != dst).sum()), max(int(distances(graph).sum()), 1))


def throughput(graph: Topology) -> Fraction:
    """The largest f such that every rank can send f to every other one at once, exactly.

    Lengths of links prove it from above: f is at most the sum of all lengths over the sum of all distances. The flow
    of the linear program proves it from below, to the precision of its solver.

    Raises:
        TooLarge: if the linear program is too large, or the lengths. The distance bound remains.
        ValueError: for a graph that is not strongly connected, or with one rank only.

    >>> from colllib.topology import find
    >>> throughput(find("ring:5")), throughput(find("diamond"))
    (Fraction(1, 3), Fraction(3, 20))
    """
    if graph.ranks < 2:
        raise ValueError(f"{graph.name}: all-to-all throughput needs at least two ranks")
    bound = distance_bound(graph)
    check_size(f"all-to-all flow on {graph.name}", graph.ranks * graph.num_links, MOST_ROUTES, "ranks times links")
    rank_orbit, link_orbit = orbits(graph)
    carries = graph.link_src != graph.link_dst
    if len(np.unique(link_orbit[carries])) == 1 and len({*graph.bandwidth}) == 1:
        return bound  # averaged over the automorphisms, shortest ways load all links alike
    sources = np.unique(rank_orbit, return_index=True)[1]
    check_size(f"all-to-all flow on {graph.name}", len(sources) * graph.num_links, MOST_VARIABLES, "variables")
    found, prices = _flow(graph, sources, rank_orbit, link_orbit)
    if found >= bound * (1 - CLOSE):
        return bound
    for power in range(5):
        ratios = [Fraction(price).limit_denominator(10**power) for price in (prices / prices.max()).tolist()]
        whole = lcm(*(ratio.denominator for ratio in ratios))
        if whole <= LONGEST:
            lengths = np.array([int(ratio * whole) for ratio in ratios], dtype=np.intp)[link_orbit]
            upper = _length_bound(graph, lengths)
            if float(upper) <= found * (1 + CLOSE):
                return upper
    raise TooLarge(f"{graph.name}: the fraction that is its all-to-all throughput, about {found:.6g}, is too long")


def _flow(graph: Topology, sources: IntArray, rank_orbit: IntArray, link_orbit: IntArray) -> tuple[float, FloatArray]:
    """The linear program's f, and what its capacities are worth, one for each orbit of links."""
    from scipy.optimize import linprog
    from scipy.sparse import block_diag, coo_array, csr_array, hstack, vstack

    ranks, links = graph.ranks, graph.num_links
    width = graph.bandwidth.as_floats()
    every = np.arange(links)
    gain = csr_array(
        (np.repeat((-1.0, 1.0), links), (np.concatenate((graph.link_dst, graph.link_src)), np.tile(every, 2))),
        shape=(ranks, links),
    )
    kept = [np.flatnonzero(np.arange(ranks) != source) for source in sources]
    flows = block_diag([gain[rows] for rows in kept], format="csr")
    wanted = coo_array(np.ones((flows.shape[0], 1)))
    copies = np.bincount(rank_orbit)
    loads = hstack([coo_array((np.full(links, float(copies[rank_orbit[s]])), (link_orbit, every))) for s in sources])
    capacity = np.bincount(link_orbit, weights=width)
    program = vstack([hstack([loads, coo_array((len(capacity), 1))]), hstack([flows, wanted])]).tocsr()
    right = np.concatenate((capacity, np.zeros(flows.shape[0])))
    price = np.zeros(program.shape[1])
    price[-1] = -1
    done = linprog(price, A_ub=program, b_ub=right, bounds=(0, None), method="highs")
    if done.fun is None:
        raise ArithmeticError(f"{graph.name}: {done.message}")
    return -done.fun, -done.ineqlin.marginals[: len(capacity)]


def _length_bound(graph: Topology, lengths: IntArray) -> Fraction:
    """What f cannot exceed: the lengths of all links over the distances between all ranks."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    # scipy takes no links of length 0: every link gets a little more, less in sum than one length on any way
    scale = 2 * graph.ranks
    matrix = csr_array((lengths * scale + 1.0, (graph.link_src, graph.link_dst)), shape=(graph.ranks, graph.ranks))
    apart = shortest_path(matrix).astype(np.intp) // scale
    width = np.array([tier.cables for tier in graph.tiers], dtype=np.intp)[graph.tier]
    return Fraction(int((lengths * width).sum()), max(int(apart.sum()), 1))
