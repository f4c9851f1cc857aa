"""Lower trees on the same links: two trees trade the links over which a rank joins them, where ranks come nearer.

A rank v joins one tree from a, another one from b. If the first takes (b, v) instead and the second
(a, v), every link carries what it carried. What is free on a link is traded as well.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from colllib.exact import IntArray, integers
from colllib.forest.tree import Tree

STEEP = 4.0  # how much worse a rank is that is one link farther away
WORTH = 1 / 8  # of the deepest rank, what a trade must win
MOST_PARTS = 2**11  # into which the trees are cut by trading
FREE = -1  # in place of a tree: room that none takes


def lowered(batches: list[Tree], capacity: IntArray) -> list[Tree]:
    """Trees from the same roots within the same links, traded until no trade brings the deepest ranks nearer.

    Args:
        batches: trees to all ranks.
        capacity: how many trees fit from each rank to each other, shape (N, N).

    >>> lowered([Tree(0, 1, ((0, 1), (1, 2)))], np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]]))
    [Tree(root=0, size=1, edges=((0, 1), (0, 2)), paths=())]
    """
    trade = _Trade(batches, capacity)
    while any([trade.at(rank) for rank in range(len(capacity))]):  # noqa: C419  (every rank has its turn)
        pass
    return trade.batches()


class _Trade:
    """Trees as rows: from which rank each rank joins (a root from itself), and how far it is, as a power of `STEEP`."""

    def __init__(self, batches: list[Tree], capacity: IntArray) -> None:
        self.left = capacity.copy()
        self.size = integers(batch.size for batch in batches)
        self.parent = np.repeat([[batch.root] for batch in batches], len(capacity), axis=1)
        self.far = np.ones(self.parent.shape)
        for row, batch in enumerate(batches):
            for start, end in batch.edges:
                self.parent[row, end], self.far[row, end] = start, self.far[row, start] * STEEP
                self.left[start, end] -= batch.size

    def at(self, rank: int) -> bool:
        """Trade links to a rank; whether there was anything to win."""
        if len(self.size) > MOST_PARTS:
            return False
        self.below = self._below(rank)
        worth = self.far.max() * WORTH
        loss = self._loss(rank, np.arange(len(self.size)), np.arange(len(self.left)))
        least = np.full(self.left.shape, np.inf)
        np.minimum.at(least, self.parent[:, rank], loss)
        free = self.left[:, rank] > 0
        least[free] = np.minimum(least[free], 0)
        pairs = np.argwhere(np.triu(least + least.T < -worth)).tolist()
        return any([self._between(rank, one, two, worth) for one, two in pairs])  # noqa: C419

    def _below(self, rank: int) -> NDArray[np.bool_]:
        """Which ranks join a tree through a rank, itself included, shape (trees, N)."""
        found, rows = np.zeros(self.parent.shape, dtype=np.bool_), np.arange(len(self.parent))[:, None]
        found[:, rank] = True
        while (more := found | found[rows, self.parent]).sum() > found.sum():
            found = more
        return found

    def _loss(self, rank: int, rows: IntArray, instead: IntArray) -> NDArray[np.float64]:
        """What trees would lose if a rank joined them from others, shape (rows, others); inf where it cannot."""
        weight = np.where(self.below[rows], self.far[rows], 0).sum(axis=1)
        times = STEEP * self.far[np.ix_(rows, instead)] / self.far[rows, rank][:, None]
        return np.where(self.below[np.ix_(rows, instead)], np.inf, weight[:, None] * (times - 1))

    def _offers(self, rank: int, start: int, instead: int) -> list[tuple[float, int]]:
        """The trees that a rank joins from `start`, with what they would lose, the best last."""
        rows = np.flatnonzero(self.parent[:, rank] == start)
        offers = list(zip(self._loss(rank, rows, np.array([instead]))[:, 0].tolist(), rows.tolist(), strict=True))
        return sorted(offers + [(0.0, FREE)] * bool(self.left[start, rank]), reverse=True)

    def _between(self, rank: int, one: int, two: int, worth: float) -> bool:
        queues = [self._offers(rank, one, two), self._offers(rank, two, one)]
        found = False
        while all(queues) and queues[0][-1][0] + queues[1][-1][0] < -worth:
            best = [queue.pop() for queue in queues]
            have = [
                int(self.size[row]) if row != FREE else int(self.left[start, rank])
                for (_, row), start in zip(best, (one, two), strict=True)
            ]
            for (lost, row), room, queue, ends in zip(best, have, queues, ((one, two), (two, one)), strict=True):
                rest = self._move(rank, row, *ends, min(have))
                if room > min(have):
                    queue.append((lost, rest))
            found = True
        return found

    def _move(self, rank: int, row: int, start: int, end: int, units: int) -> int:
        """Let a rank join some of equal trees from elsewhere; the row of those that stay."""
        if row == FREE:
            self.left[start, rank] -= units
            self.left[end, rank] += units
            return FREE
        if units < self.size[row]:
            for name in ("parent", "far", "below"):
                rows = getattr(self, name)
                setattr(self, name, np.vstack([rows, rows[row]]))
            self.size = np.r_[self.size, self.size[row] - units]
            self.size[row] = units
        self.far[row, self.below[row]] *= STEEP * self.far[row, end] / self.far[row, rank]
        self.parent[row, rank] = end
        return len(self.size) - 1

    def batches(self) -> list[Tree]:
        """The trees, equal ones together, by their roots."""
        found: Counter[tuple[int, tuple[tuple[int, int], ...]]] = Counter()
        for size, parent, far in zip(self.size.tolist(), self.parent.tolist(), self.far, strict=True):
            order = np.argsort(far, kind="stable").tolist()
            found[order[0], tuple((parent[end], end) for end in order[1:])] += size
        return [Tree(root, size, edges) for (root, edges), size in sorted(found.items())]
