"""A tree of a forest: edges between ranks, and the ways through switches that they stand for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

Path = tuple[int, ...]


@dataclass(frozen=True)
class Tree:
    """Equal trees from one rank, with the ways that their links stand for; a batch that grows, or one that reaches all.

    Attributes:
        root: where they start.
        size: how many they are.
        edges: pairs of ranks, each after the one that leads to its start.
        paths: the nodes that each of them passes, its ends included; none where the topology's router decides.
    """

    root: int
    size: int
    edges: tuple[tuple[int, int], ...] = ()
    paths: tuple[Path, ...] = ()

    @property
    def members(self) -> list[int]:
        """The ranks that they reach, in the order in which they do."""
        return [self.root, *(end for _, end in self.edges)]

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """How far from the root each edge ends."""
        depth = {self.root: 0}
        for start, end in self.edges:
            depth[end] = depth[start] + 1
        return tuple(depth[end] for _, end in self.edges)

    @property
    def height(self) -> int:
        """The most edges from the root to a rank."""
        return max(self.depths, default=0)
