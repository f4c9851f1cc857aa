"""A tree of a forest: edges between ranks, the paths through switches that they stand for, and its messages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Path = tuple[int, ...]


@dataclass(frozen=True)
class Tree:
    """Equal trees from one rank: a batch that grows, or one that reaches all.

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

    def messages(self, able: NDArray[np.bool_]) -> Iterator[tuple[int, Path]]:
        """When each message is sent, outwards, and along which nodes; it ends at the first node that can keep it.

        What a switch holds that can replicate is not sent to it again: of several edges through it only the first
        sender sends, and backwards in time the switch adds. Every rank still receives all it lacks, so the bound stays
        as it is; what shrinks is the traffic, and what ranks send (Zhao et al. 2026).

        Args:
            able: which switches take part, shape (switches,).

        >>> tree = Tree(0, 1, ((0, 1), (0, 2)), ((0, 3, 1), (0, 3, 2)))
        >>> [list(tree.messages(np.array([able]))) for able in (False, True)]
        [[(0, (0, 3, 1)), (0, (0, 3, 2))], [(0, (0, 3)), (1, (3, 1)), (1, (3, 2))]]
        """
        since, paths = {self.root: 0}, self.paths or self.edges
        keeps = np.r_[np.ones(len(self.members), dtype=np.bool_), able]
        for place in np.argsort(self.depths, kind="stable").tolist():
            path = paths[place]
            start = max(node for node in range(len(path)) if path[node] in since)
            for end in range(start + 1, len(path)):
                if keeps[path[end]]:
                    yield since[path[start]], path[start : end + 1]
                    since[path[end]] = since[path[start]] + 1
                    start = end
