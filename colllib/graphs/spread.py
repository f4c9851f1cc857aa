"""Flows that spread over nearly shortest paths, and lengths of links that prove them good, for graphs of many orbits.

A flow from each source takes every path that gets farther from it, the more of it the shorter the path: by a factor
of e for each `heat` that a path is shorter. So lengths, a number for each orbit of links, say a whole flow.
`scripts/throughputs.py` searches for those that are worth most.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from colllib.exact import IntArray
from colllib.graphs.throughput import FloatArray, Flow
from colllib.topology.base import Topology


@dataclass(frozen=True)
class Certificate:
    """What proves the all-to-all throughput f of a graph from below and from above."""

    heat: int  # of the flow, in its lengths
    spread: IntArray  # whole lengths of links by which a flow spreads, one for each orbit of links, shape (K,)
    lengths: IntArray  # whole lengths of links that bound every flow, likewise

    def bracket(self, graph: Topology) -> tuple[float, Fraction]:
        """f of the flow, to the precision of floats, and what the lengths leave to any flow, exactly.

        >>> from colllib.topology.expression import find
        >>> low, high = Certificate(1, np.array([99, 98]), np.array([1, 0])).bracket(find("torus:4x3"))
        >>> round(low, 6), high
        (0.166667, Fraction(1, 6))
        """
        flow = Flow.of(graph)
        loads = spread_loads(flow, self.spread.astype(np.float64), self.heat)[1]
        return float(1 / (loads / flow.capacity).max()), flow.length_bound(self.lengths[flow.orbit])


def spread_loads(flow: Flow, lengths: FloatArray, heat: float) -> tuple[float, FloatArray]:
    """The soft distances between all ranks in sum, and what the flow puts on the links of each orbit.

    Args:
        flow: of which graph.
        lengths: of the links of each orbit, above 0, shape (K,).
        heat: a path that is shorter by this much takes e times as much.
    """
    into, out = (_links_at(end, flow.ranks) for end in (flow.dst, flow.src))
    sources, links = np.arange(len(flow.sources)), len(flow.src)
    distance = flow.distances(lengths)
    before, after = distance[:, flow.src], distance[:, flow.dst]
    detour = np.maximum(lengths[flow.orbit] + before - after, 0)
    width = np.zeros((len(sources), links + 1))
    width[:, :links] = np.where(before < after, np.exp(-detour / heat), 0)
    paths, through = np.zeros(distance.shape), np.ones(distance.shape)
    paths[sources, flow.sources] = 1
    order = np.argsort(distance, axis=1).T
    src, dst = np.append(flow.src, 0), np.append(flow.dst, 0)
    for rank in order[1:]:  # from the nearest to the farthest
        link = into[rank]
        paths[sources, rank] = (paths[sources[:, None], src[link]] * width[sources[:, None], link]).sum(axis=1)
    share = width
    share[:, :links] *= paths[:, flow.src] / paths[:, flow.dst]  # of what reaches the end of a link, what took it
    for rank in order[:0:-1]:
        link = out[rank]
        through[sources, rank] += (through[sources[:, None], dst[link]] * share[sources[:, None], link]).sum(axis=1)
    flows = flow.copies @ (share[:, :links] * through[:, flow.dst])
    soft = flow.copies @ (distance - heat * np.log(paths))
    loads = np.bincount(flow.orbit, weights=flows, minlength=len(flow.capacity))
    return float(soft.sum()), loads.astype(np.float64)


def _links_at(end: IntArray, ranks: int) -> IntArray:
    """The links that end at each rank in rows of equal length, filled with the number of links, shape (N, most)."""
    order = np.argsort(end, kind="stable")
    ranked = end[order]
    place = np.arange(len(end)) - np.searchsorted(ranked, ranked)
    table = np.full((ranks, place.max() + 1), len(end))
    table[ranked, place] = order
    return table
