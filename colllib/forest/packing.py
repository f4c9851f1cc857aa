"""Packing trees: as many from every rank as it has to send, each to all ranks, no link with more than fit on it.

A batch is several equal trees that grow together, one link at a time. How many of them may take a
link, so that all trees that remain can still be finished, one maximum flow says (Tarjan 1974;
Bérczi and Frank 2010; Zhao et al. 2026). If that is fewer than the batch has, it parts in two.

Where it is none, the flow names a full set: as many trees have yet to come into it as links into it
are left. It stays full, so no other link into it need be tried for a tree that is in it already.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from colllib.exact import IntArray
from colllib.forest.flow import max_flow
from colllib.forest.tree import Tree


def pack(capacity: IntArray, supply: IntArray) -> list[Tree]:
    """Trees to all ranks, breadth first: a rank near the root takes on all it can before the next one does.

    Args:
        capacity: how many trees fit from each rank to each other, shape (N, N).
        supply: how many start at each rank, shape (N,); every rank can receive all of them.

    >>> pack(np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]]), np.ones(3, dtype=int))[0]
    Tree(root=0, size=1, edges=((0, 1), (0, 2)), paths=())
    """
    growth, found = _Growth(capacity, supply), []
    while growth.waiting:
        found.append(growth.grown(growth.waiting.pop(0)))
    return found


class _Growth:
    """What is left on the links, the batches that still have to grow, and full sets of ranks as bit masks."""

    def __init__(self, capacity: IntArray, supply: IntArray) -> None:
        self.left = capacity.copy()
        self.seeds = supply.copy()  # of those that have not begun
        self.waiting = [Tree(root, int(supply[root])) for root in np.flatnonzero(supply).tolist()]
        self.full: list[int] = []

    def grown(self, batch: Tree) -> Tree:
        """A batch of trees to all ranks; what parts from it waits."""
        ranks = len(self.left)
        if not batch.edges:
            self.seeds[batch.root] = 0
        reached = np.zeros(ranks, dtype=np.bool_)
        reached[batch.members] = True
        queue = batch.members
        for start in queue:
            if len(queue) == ranks:
                break
            near = np.flatnonzero((self.left[start] > 0) & ~reached)
            for end in sorted(
                near.tolist(), key=lambda end: (-min(int(self.left[start, end]), batch.size), (end - start) % ranks)
            ):
                if not (size := self.most(batch, start, end)):
                    continue
                if size < batch.size:
                    self.part(replace(batch, size=batch.size - size))
                batch = Tree(batch.root, size, (*batch.edges, (start, end)))
                self.left[start, end] -= size
                reached[end] = True
                queue.append(end)
        assert len(queue) == ranks, "some link fits, by the theorem of Edmonds"
        return batch

    def part(self, rest: Tree) -> None:
        """Trees that cannot take a link that others of their batch take: they come next, so that few are half grown."""
        self.waiting.insert(0, rest)
        if not rest.edges:
            self.seeds[rest.root] = rest.size

    def most(self, batch: Tree, start: int, end: int) -> int:
        """How many trees of the batch may take a link."""
        members = sum(1 << member for member in batch.members)
        if any(full >> end & 1 and not full >> start & 1 and full & members for full in self.full):
            return 0
        ranks, others = len(self.left), [other for other in self.waiting if other.edges]
        network = np.zeros((ranks + len(others),) * 2, dtype=self.left.dtype)
        network[:ranks, :ranks] = self.left
        network[start, :ranks] += self.seeds
        network[start, start] = 0
        need = int(self.seeds.sum()) + sum(other.size for other in others)
        want = min(batch.size, int(self.left[start, end]))
        for place, other in enumerate(others, ranks):
            network[start, place] = other.size
            network[place, other.members] = need + want
        value, side = max_flow(network, start, end, need + want)
        if value == need:
            self.full.append(~side & (1 << ranks) - 1)
        return value - need
