"""Routes of one's own: hashed ones, other ones for a topology, and what an all-to-all puts on which link."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise, product

import numpy as np

from colllib.exact import IntArray
from colllib.primitives import is_whole
from colllib.topology.base import Lattice, NoRouteError, Topology, by_message
from colllib.topology.lattice import torus
from colllib.topology.paths import Paths, routed


def flow_hash(src: IntArray, dst: IntArray, seed: int = 0) -> IntArray:
    """A number below 2^31 for each pair of nodes: what a switch that hashes flows would take modulo its links.

    The two, side by side in 64 bits and offset by the seed, go through the finalizer of splitmix64.

    Source: Steele, Lea & Flood (2014), "Fast splittable pseudorandom number generators", figure 14.

    >>> flow_hash(np.array([0, 0, 1]), np.array([8, 9, 8]), seed=1) % 4
    array([2, 3, 1])
    """
    with np.errstate(over="ignore"):
        x = (np.asarray(src, dtype=np.uint64) << np.uint64(32)) | np.asarray(dst, dtype=np.uint64)
        x = x + np.uint64(seed + 1) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)  # its last step leaves the upper 31 bits
    return (x >> np.uint64(33)).astype(np.intp)


def check_seed(seed: int) -> None:
    """Refuse what no hash of flows starts from."""
    if not is_whole(seed) or not 0 <= seed < 2**64 - 1:
        raise ValueError(f"seed = {seed!r}: must be a whole number of at least 0 and below 2^64 - 1")


def with_routes(topology: Topology, path: Callable[[int, int], Sequence[int]]) -> Topology:
    """The topology with routes of one's own.

    Args:
        path: the nodes that a message from rank a to rank b visits, from a to b.

    Raises:
        ValueError: for a path that does not lead from a to b over links, and when a switch takes part.

    >>> from colllib.topology import ring
    >>> upwards = with_routes(ring(4), lambda a, b: [(a + k) % 4 for k in range((b - a) % 4 + 1)])
    >>> upwards.router(np.array([0]), np.array([3]))[1].tolist()
    [0, 1, 2]
    """
    ranks = topology.ranks
    links = set(zip(topology.link_src.tolist(), topology.link_dst.tolist(), strict=True))
    paths = []
    for a, b in product(range(ranks), repeat=2):
        nodes = list(path(a, b))
        if nodes[:1] != [a] or nodes[-1:] != [b] or not links.issuperset(pairwise(nodes)):
            raise ValueError(f"path {nodes} from rank {a} to rank {b}: must lead there over links of {topology.name}")
        paths.append((0, tuple(nodes)))
    own_route = routed(topology, Paths.of(paths))

    def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        if max(np.max(src, initial=0), np.max(dst, initial=0)) >= ranks:
            raise NoRouteError(f"{topology.name} with own routes: they lead from rank to rank, not to or from a switch")
        return own_route(np.asarray(src), np.asarray(dst), np.zeros(len(src), dtype=np.intp))

    return replace(
        topology,
        name=f"{topology.name} with own routes",
        router=route,
        port_model=f"{topology.port_model}, own routes",
        link_class=None,
    )


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
    tori = [torus(dims, tie="balanced", order=[*axes[start:], *axes[:start]]) for start in axes]
    plain, lattice = tori[0], Lattice(tuple(dims))

    def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        first_axis = sum(lattice.coordinate(src, k) + lattice.coordinate(dst, k) for k in axes) % len(dims)
        messages, links = [], []
        for start, topology in enumerate(tori):
            starting = np.flatnonzero(first_axis == start)
            message, link = topology.router(src[starting], dst[starting])
            messages.append(starting[message])
            links.append(link)
        return by_message(messages, links)

    return replace(plain, name=f"{plain.name}, alternating axes", router=route)


def blocks_on(topology: Topology, src: int, dst: int) -> list[tuple[int, int]]:
    """Source and destination of every block of an all-to-all that crosses the link from `src` to `dst`.

    >>> from colllib.topology import ring
    >>> blocks_on(ring(4), 1, 2)
    [(0, 2), (1, 2), (1, 3)]
    """
    ranks = topology.ranks
    source, target = np.divmod(np.arange(ranks * ranks), ranks)
    message, link = topology.router(source, target)
    blocks = message[(topology.link_src[link] == src) & (topology.link_dst[link] == dst)]
    return list(zip(source[blocks].tolist(), target[blocks].tolist(), strict=True))
