"""Trees for equal boxes of directly linked ranks around one switch: over the network, then along the trees of a box.

A root sends to its counterpart in each other box, and from there the box passes the part on as it does with
its own. So only the trees of one box have to be packed, for as many roots' parts as there are boxes. They
reach the bound wherever the cut around a box sets it, and the links in the box have room enough.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components

from colllib.exact import integers
from colllib.forest.bound import Bound, room
from colllib.forest.fabric import Fabric
from colllib.forest.flow import starved, with_source
from colllib.forest.lowering import lowered
from colllib.forest.packing import pack
from colllib.forest.splitting import taken
from colllib.forest.tree import Tree


def pack_by_boxes(fabric: Fabric, bound: Bound) -> tuple[Tree, ...] | None:
    """The trees of all ranks for a fabric and its bound; None where it has no such boxes, or not the room.

    >>> from colllib.forest.bound import bound
    >>> from colllib.forest.fabric import fabric
    >>> from colllib.topology import find
    >>> place = fabric(find("mi250:4"))
    >>> max(tree.height for tree in pack_by_boxes(place, bound(place)))
    10
    """
    ranks, size = fabric.ranks, _size(fabric)
    if not size or (fabric.weight != 1).any():
        return None
    fits, boxes, k = room(fabric, bound.unit), ranks // size, bound.trees
    inside, supply = fits[:size, :size], integers([k * boxes] * size)
    narrowest = min(fits[ranks, :ranks].min(), fits[:ranks, ranks].min())
    if narrowest < k * (boxes - 1) or starved(with_source(inside, supply), range(size), k * ranks):
        return None
    left: list[list[tuple[int, tuple[tuple[int, int], ...]]]] = [[] for _ in range(size)]
    for batch in lowered(pack(inside, supply), inside):
        left[batch.root].append((batch.size, batch.edges))
    first = range(0, ranks, size)
    found = []
    for root in range(ranks):
        across = [(root, root % size + at) for at in first if at != root - root % size]
        ways = [(a, ranks, b) for a, b in across]
        for units, edges in taken(left[root % size], k):
            within = [(at + a, at + b) for at in first for a, b in edges]
            found.append(Tree(root, units, (*across, *within), (*ways, *within)))
    return tuple(found)


def _size(fabric: Fabric) -> int:
    """Of the boxes, if ranks in a row are linked alike and one switch joins all of them; else 0."""
    ranks = fabric.ranks
    links = fabric.capacity[:ranks, :ranks]
    count, box = connected_components(links > 0)
    size = ranks // count
    alike = fabric.nodes == ranks + 1 and size > 1 and (box == np.arange(ranks) // size).all()
    return size if alike and (links == np.kron(np.eye(count, dtype=links.dtype), links[:size, :size])).all() else 0
