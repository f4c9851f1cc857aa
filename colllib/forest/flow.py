"""Maximum flows between two nodes, exactly, in small dense networks with whole capacities."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from colllib.exact import LARGEST_INT, IntArray


class Starved(NamedTuple):
    """A node that cannot receive all that it needs, how much it lacks, and as a bit mask the source's side of a cut."""

    sink: int
    lack: int
    side: int


def with_source(capacity: IntArray, supply: IntArray) -> IntArray:
    """The capacities with one more node, which sends every rank its supply, as numbers that may all be added up.

    >>> with_source(np.array([[0, 1], [1, 0]]), np.array([3, 2])).tolist()
    [[0, 1, 0], [1, 0, 0], [3, 2, 0]]
    """
    network = np.zeros((len(capacity) + 1, len(capacity) + 1), dtype=np.result_type(capacity, supply))
    network[:-1, :-1], network[-1, : len(supply)] = capacity, supply
    return network.astype(object) if network.sum(dtype=np.float64) >= LARGEST_INT else network


def starved(network: IntArray, sinks: Iterable[int], need: int) -> Starved | None:
    """The first of some nodes that the last node of a network cannot send enough to, None if there is none.

    A node that has enough becomes one with the source: no cut that is too narrow has it on its far side.
    So most flows come from near by, and are short.

    >>> network = np.array([[0, 1, 0], [0, 0, 0], [4, 2, 0]])
    >>> starved(network, (0, 1), 4), starved(network, (0, 1), 3)
    (Starved(sink=1, lack=1, side=5), None)
    """
    network, source = network.copy(), len(network) - 1
    for sink in sinks:
        value, side = max_flow(network, source, sink, need)
        if value < need:
            return Starved(sink, need - value, side)
        network[source] += network[sink]
        network[sink] = network[:, sink] = 0
    return None


def max_flow(capacity: IntArray, source: int, sink: int, enough: int) -> tuple[int, int]:
    """The value of a maximum flow, or `enough` as soon as it is known to reach that, and a minimum cut.

    Paths of one or two links, of which a dense network has many, are filled at once. For the rest, one
    search backwards from the sink gives every node a shortest path there, and the nodes next to the
    source send along these paths as much as still fits.

    Args:
        capacity: of the link from each node to each other, whole numbers, shape (nodes, nodes).
        enough: no more is looked for.

    Returns:
        the value, and as a bit mask the nodes on the source's side of a minimum cut; 0 where the value is `enough`.

    >>> links = np.array([[0, 3, 2, 0], [0, 0, 0, 2], [0, 0, 0, 4], [0, 0, 0, 0]])
    >>> max_flow(links, 0, 3, 100), max_flow(links, 0, 3, 4)
    ((4, 3), (4, 0))
    """
    supply, last = capacity[source].copy(), capacity[:, sink].copy()
    supply[source] = last[sink] = 0
    through = np.minimum(supply, last)
    value = int(supply[sink]) + int(through.sum())
    if value >= enough:
        return enough, 0
    supply[sink] = 0
    supply -= through
    left = capacity.copy()
    left[:, sink] = last - through
    left[source] = left[:, source] = 0  # a shortest path neither returns to the source nor leaves the sink
    left[sink] = 0
    return _completed(left, supply.tolist(), sink, value, enough, 1 << source)


def _completed(left: IntArray, supply: list[int], sink: int, value: int, enough: int, side: int) -> tuple[int, int]:
    """The rest of a maximum flow: what each node can still take from the source is its supply."""
    nodes = len(supply)
    into = [int.from_bytes(row, "little") for row in np.packbits((left > 0).T, axis=1, bitorder="little")]
    onward = [sink] * nodes
    while True:
        reached, order, before = 1 << sink, [sink], value
        for node in order:
            new = into[node] & ~reached
            reached |= new
            while new:
                low = new & -new
                new ^= low
                other = low.bit_length() - 1
                onward[other] = node
                order.append(other)
        for start in order[1:]:
            amount = supply[start]
            if not amount:
                continue
            node = start
            while node != sink and amount:
                amount = min(amount, left.item(node, onward[node]))
                node = onward[node]
            if amount:
                amount = min(amount, enough - value)
                _send(left, into, start, sink, onward, amount)
                supply[start] -= amount
                value += amount
                if value >= enough:
                    return enough, 0
        if value == before:
            return value, ((1 << nodes) - 1) & ~reached | side


def _send(left: IntArray, into: list[int], node: int, sink: int, onward: list[int], amount: int) -> None:
    """Put a flow on the path from a node to the sink; what is used can be taken back."""
    while node != sink:
        following = onward[node]
        left[node, following] -= amount
        if not left[node, following]:
            into[following] &= ~(1 << node)
        if following != sink:
            left[following, node] += amount
            into[node] |= 1 << following
        node = following
