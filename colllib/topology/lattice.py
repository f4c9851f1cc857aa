"""Rings, lines, tori and meshes: ranks on a lattice, each with a link to its neighbors on every axis.

Messages travel along one axis after the other, the shorter way round. An axis of size 2 has one
link each way, not two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from colllib.exact import IntArray
from colllib.primitives import check_ranks
from colllib.topology.base import Lattice, Router, Topology, by_message, check_network, expression, ragged, uniform

PER_NEIGHBOR = "one full-duplex link per neighbor"
TIES = ("up", "balanced")


def torus(dims: Sequence[int], *, tie: str = "up", order: Sequence[int] | None = None) -> Topology:
    """Ranks on a lattice whose axes close to rings.

    Args:
        dims: the number of ranks on each axis, the first one fastest in rank order.
        tie: which way to the antipode on an axis of even size: always "up", or "balanced":
            up or down by the parity of where the message starts on this axis and of the
            coordinates of both its ends on the others, so that uniform traffic goes half each way.
        order: the axes in the order in which a message travels along them (default: as given).

    Raises:
        ValueError: for a size below 1, an unknown tie rule, or an order that is no permutation.

    >>> torus((8, 8, 8)), torus((4, 4, 2)).num_links // 32
    (Topology(torus:8x8x8, 512 ranks, 0 switches, 3072 links), 5)
    """
    return _lattice("torus", Lattice(tuple(dims)), tie, order)


def mesh(dims: Sequence[int], *, order: Sequence[int] | None = None) -> Topology:
    """Ranks on a lattice whose axes are open lines: a torus without the links that close its rings.

    Args and errors as for `torus`; a line has no ties.

    >>> mesh((4, 4)).num_links
    48
    """
    return _lattice("mesh", Lattice(tuple(dims), wraps=False), "up", order)


def ring(ranks: int, *, tie: str = "up") -> Topology:
    """N ranks in a ring: a torus of one axis.

    >>> ring(5).num_links, ring(2).num_links
    (10, 2)
    """
    check_ranks(ranks)
    return _lattice("ring", Lattice((ranks,)), tie, None)


def line(ranks: int) -> Topology:
    """N ranks in a row: a mesh of one axis.

    >>> line(5).num_links
    8
    """
    check_ranks(ranks)
    return _lattice("line", Lattice((ranks,), wraps=False), "up", None)


def _lattice(kind: str, lattice: Lattice, tie: str, order: Sequence[int] | None) -> Topology:
    axes = tuple(range(len(lattice.dims))) if order is None else tuple(order)
    if sorted(axes) != list(range(len(lattice.dims))):
        raise ValueError(f"order {list(axes)}: must name each of the axes 0..{len(lattice.dims) - 1} once")
    if tie not in TIES:
        raise ValueError(f"tie {tie!r}: must be one of {', '.join(TIES)}")
    turned = ":".join(map(str, axes)) if axes != tuple(sorted(axes)) else None
    options = {"tie": tie if tie != "up" else None, "order": turned}
    name = expression(f"{kind}:{lattice}", options)
    check_network(name, lattice.ranks, 2 * len(axes) * lattice.ranks)
    src, dst, link_of = _links(lattice)
    router = _router(lattice, link_of, tie, axes)
    topology = uniform(name, lattice.ranks, src, dst, router, PER_NEIGHBOR, lattice)
    if not lattice.wraps or tie == "balanced":
        return topology
    return replace(topology, link_class=np.arange(len(src)) // lattice.ranks)  # the axes, up and down


def _links(lattice: Lattice) -> tuple[IntArray, IntArray, IntArray]:
    """The ends of all links, and the link that leaves each rank by axis and direction: (axes, 2, N), -1 for none."""
    rank = np.arange(lattice.ranks)
    link_of = np.full((len(lattice.dims), 2, lattice.ranks), -1)
    ends = [(rank[:0], rank[:0])]
    count = 0
    for axis, size in enumerate(lattice.dims):
        for side, direction in enumerate((1, -1)):
            if size == 1 or (size == 2 and lattice.wraps and direction == -1):
                continue
            neighbor = lattice.shifted(rank, axis, direction)
            linked = rank[lattice.wraps | (neighbor - rank == direction * lattice.strides[axis])]
            link_of[axis, side, linked] = count + np.arange(len(linked))
            ends.append((linked, neighbor[linked]))
            count += len(linked)
        if size == 2 and lattice.wraps:  # up and down are the same link
            link_of[axis, 1] = link_of[axis, 0]
    sources, targets = zip(*ends, strict=True)
    return np.concatenate(sources), np.concatenate(targets), link_of


def shortest_way(
    lattice: Lattice, axis: int, src: IntArray, dst: IntArray, tie: str = "up"
) -> tuple[IntArray, IntArray]:
    """For pairs of ranks: 1 or -1, the shorter way along an axis, and the hops.

    >>> shortest_way(Lattice((6,)), 0, np.array([0, 0]), np.array([3, 4]))
    (array([ 1, -1]), array([3, 2]))
    """
    size = lattice.dims[axis]
    start, end = lattice.coordinate(src, axis), lattice.coordinate(dst, axis)
    if not lattice.wraps:
        return np.where(end >= start, 1, -1), np.abs(end - start)
    ahead = (end - start) % size
    up = 2 * ahead < size
    if tie == "up":
        up |= 2 * ahead == size
    else:
        others = (lattice.coordinate(end, k) for end in (src, dst) for k in range(len(lattice.dims)) if k != axis)
        up |= (2 * ahead == size) & ((start + sum(others)) % 2 == 0)
    return np.where(up, 1, -1), np.minimum(ahead, size - ahead)


def _router(lattice: Lattice, link_of: IntArray, tie: str, order: tuple[int, ...]) -> Router:
    def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        messages: list[IntArray] = []
        links: list[IntArray] = []
        reached = np.asarray(src)
        for axis in order:
            direction, hops = shortest_way(lattice, axis, src, dst, tie)
            message, hop = ragged(hops)
            start, stride = lattice.coordinate(reached, axis), lattice.strides[axis]
            line = reached - start * stride  # its first node
            node = line[message] + (start[message] + direction[message] * hop) % lattice.dims[axis] * stride
            messages.append(message)
            links.append(link_of[axis, np.where(direction == 1, 0, 1)[message], node])
            reached = line + lattice.coordinate(dst, axis) * stride
        return (messages[0], links[0]) if len(order) == 1 else by_message(messages, links)

    return route
