"""Forests as algorithms: trees packed for the fabric that they run on, up to the bound of its cuts."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from colllib.schedule import Schedule
from colllib.topology import Topology

if TYPE_CHECKING:
    from colllib.forest import Forest


def all_gather(topology: Topology, segments: int = 1, trees: int = 0) -> Schedule:
    """Trees from every rank that together use the bottleneck in full; `trees` fixes their number for each rank.

    >>> from colllib.execution import execute
    >>> from colllib.topology.expression import find
    >>> max(execute(all_gather(find("torus:4x4")), find("torus:4x4")).link_total)  # 15/16 M over four links
    Fraction(15, 64)
    """
    return _packed(topology, "all-gather", trees).schedule(segments)


def reduce_scatter(topology: Topology, segments: int = 1, trees: int = 0) -> Schedule:
    """The trees that lead to every rank, each rank adding what comes to what it has."""
    return _packed(topology, "reduce-scatter", trees).schedule(segments)


def all_reduce(topology: Topology, segments: int = 1, trees: int = 0) -> Schedule:
    """The same trees to their roots and back from them."""
    return _packed(topology, "all-reduce", trees).schedule(segments)


def broadcast(topology: Topology, root: int = 0, segments: int = 1, trees: int = 0) -> Schedule:
    """Trees from one rank: as much as can flow to the rank that least can flow to."""
    return _packed(topology, "broadcast", trees, root).schedule(segments)


def reduce(topology: Topology, root: int = 0, segments: int = 1, trees: int = 0) -> Schedule:
    """Trees that lead to one rank."""
    return _packed(topology, "reduce", trees, root).schedule(segments)


@lru_cache(maxsize=8)
def _packed(topology: Topology, primitive: str, trees: int, root: int | None = None) -> Forest:
    """Packed once for as many numbers of segments as are tried."""
    from colllib.forest import forest  # with what it needs of scipy, whose import takes longer than most packing

    return forest(topology, primitive=primitive, trees=trees or None, root=root)
