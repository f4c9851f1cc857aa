"""What an all-to-all puts on which wire: other routes for a topology, and the blocks on a link.

Every topology here has one full-duplex link per neighbor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise, product

import numpy as np

from colllib.exact import IntArray
from colllib.topology import Topology, torus


def with_routes(topology: Topology, path: Callable[[int, int], Sequence[int]], name: str = "own routes") -> Topology:
    """The topology with routes of one's own.

    Args:
        topology: where the links are.
        path: the nodes that a message from rank a to rank b visits, from a to b.
        name: what tables add to the topology's name.

    Raises:
        ValueError: for a path that does not lead from a to b over links.

    >>> from colllib.topology import ring
    >>> upwards = with_routes(ring(4), lambda a, b: [(a + k) % 4 for k in range((b - a) % 4 + 1)])
    >>> upwards.router(np.array([0]), np.array([3]))[1].tolist()
    [0, 1, 2]
    """
    ranks = topology.ranks
    links = {pair: k for k, pair in enumerate(zip(topology.link_src.tolist(), topology.link_dst.tolist(), strict=True))}
    routes: list[list[int]] = []
    for a, b in product(range(ranks), repeat=2):
        nodes = list(path(a, b))
        hops = list(pairwise(nodes))
        if nodes[0] != a or nodes[-1] != b or any(hop not in links for hop in hops):
            raise ValueError(f"path {nodes} from rank {a} to rank {b}: must lead there over links of {topology.name}")
        routes.append([links[hop] for hop in hops])
    hops_of = np.array([len(route) for route in routes])
    first = np.cumsum(hops_of) - hops_of
    crossed = np.array([link for route in routes for link in route], dtype=np.intp)

    def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        pair = np.asarray(src) * ranks + dst
        count = hops_of[pair]
        message = np.repeat(np.arange(len(pair)), count)
        hop = np.arange(len(message)) - np.repeat(np.cumsum(count) - count, count)
        return message, crossed[first[pair][message] + hop]

    return replace(topology, name=f"{topology.name} with {name}", router=route)


def alternating_torus(dims: Sequence[int]) -> Topology:
    """A torus whose messages begin with different axes: which one, the coordinates of both ends decide.

    A message whose ends' coordinates sum to s goes along axis s mod k first, the others in turn;
    ties are balanced. The loads are those of the balanced torus, but no axis has to wait for
    another one, and `relay_one_by_one` keeps all links of a 4 x 4 torus busy.

    >>> from colllib.algorithms.relay import relay_one_by_one
    >>> relay_one_by_one(alternating_torus((4, 4))).num_steps
    8
    """
    axes = range(len(dims))
    turns = [torus(dims, tie="balanced", order=[*axes[start:], *axes[:start]]) for start in axes]
    plain = turns[0]
    lattice = plain.lattice
    assert lattice is not None

    def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        begins = sum(lattice.coordinate(src, k) + lattice.coordinate(dst, k) for k in axes) % len(dims)
        messages, links = [], []
        for start, where in enumerate(turns):
            mine = np.flatnonzero(begins == start)
            message, link = where.router(src[mine], dst[mine])
            messages.append(mine[message])
            links.append(link)
        message = np.concatenate(messages)
        order = np.argsort(message, kind="stable")
        return message[order], np.concatenate(links)[order]

    return replace(plain, name=f"{plain.name}, axes in turn", router=route)


def blocks_on(topology: Topology, src: int, dst: int) -> list[tuple[int, int]]:
    """Source and destination of every block of an all-to-all that crosses the link from `src` to `dst`.

    >>> from colllib.topology import ring
    >>> blocks_on(ring(4), 1, 2)
    [(0, 2), (1, 2), (1, 3)]
    """
    ranks = topology.ranks
    source, target = np.divmod(np.arange(ranks * ranks), ranks)
    message, link = topology.router(source, target)
    here = message[(topology.link_src[link] == src) & (topology.link_dst[link] == dst)]
    return [(int(source[m]), int(target[m])) for m in here]
