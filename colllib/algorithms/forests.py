"""Forests as algorithms: trees packed for the fabric that they run on, up to the bound of its cuts."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from colllib.schedule import Schedule
from colllib.topology import Topology

if TYPE_CHECKING:
    from colllib.forest import Forest


def _of_every_rank(primitive: str) -> Callable[..., Schedule]:
    """The builder of a primitive by trees of all ranks; `trees` fixes their number for each rank."""

    def build(topology: Topology, segments: int = 1, trees: int = 0) -> Schedule:
        return _packed(topology, primitive, trees).schedule(segments)

    return build


def _of_one_rank(primitive: str) -> Callable[..., Schedule]:
    """The same by trees of a root: as much as can flow between it and the rank that least can."""

    def build(topology: Topology, root: int = 0, segments: int = 1, trees: int = 0) -> Schedule:
        return _packed(topology, primitive, trees, root).schedule(segments)

    return build


all_gather, reduce_scatter, all_reduce = map(_of_every_rank, ("all-gather", "reduce-scatter", "all-reduce"))
broadcast, reduce = map(_of_one_rank, ("broadcast", "reduce"))


@lru_cache(maxsize=8)
def _packed(topology: Topology, primitive: str, trees: int, root: int | None = None) -> Forest:
    """Packed once for as many numbers of segments as are tried."""
    from colllib.forest import forest  # with what it needs of scipy, whose import takes longer than most packing

    return forest(topology, primitive=primitive, trees=trees or None, root=root)
