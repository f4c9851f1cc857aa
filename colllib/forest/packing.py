"""Packing trees: as many from every rank as it has to send, each to all ranks, no link with more than fit on it.

A batch is several equal trees that grow together, one link at a time. How many of them may take a
link, so that all trees that remain can still be finished, one maximum flow says (Tarjan 1974;
Bérczi and Frank 2010; Zhao et al. 2026). If that is fewer than the batch has, it parts in two.
Where it is none, the flow names a full set: as many trees have yet to come into it as links into it
are left. It stays full, so no other link into it need be tried for a tree that is in it already.

Then trees trade links. A rank v joins one tree from a, another one from b. If the first takes (b, v) instead
and the second (a, v), every link carries what it carried; what is free on a link is traded as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from colllib.exact import IntArray, integers
from colllib.forest.flow import max_flow

STEEP = 4.0  # how much worse a rank is that is one link farther away
WORTH = 1 / 8  # of the deepest rank, what a trade must win
MOST_PARTS = 2**11  # into which the trees are cut by trading
FREE = -1  # in place of a tree: room that none takes

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


def pack(capacity: IntArray, supply: IntArray) -> list[Tree]:
    """Trees to all ranks, breadth first: a rank near the root takes on all it can before the next one does.

    Args:
        capacity: how many trees fit from each rank to each other, shape (N, N).
        supply: how many start at each rank, shape (N,); every rank can receive all of them.

    >>> pack(np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]]), np.ones(3, dtype=int))[0]
    Tree(root=0, size=1, edges=((0, 1), (0, 2)), paths=())
    """
    growth, trees = Growth(capacity, supply), []
    while growth.waiting:
        trees.append(growth.grown(growth.waiting.pop(0)))
    return trees


class Growth:
    """What is left on the links, the batches that still have to grow, and full sets of ranks as bit masks."""

    def __init__(self, capacity: IntArray, supply: IntArray) -> None:
        self.left = capacity.copy()
        self.seeds = supply.copy()  # of those that have not begun
        self.waiting = [Tree(root, int(supply[root])) for root in np.flatnonzero(supply).tolist()]
        self.full: list[int] = []

    def grown(self, batch: Tree) -> Tree:
        """A batch of trees to all ranks; those that cannot take a link that others take come next."""
        ranks, queue = len(self.left), batch.members
        if not batch.edges:
            self.seeds[batch.root] = 0
        for start in queue:
            if len(queue) == ranks:
                break
            near = set(np.flatnonzero(self.left[start]).tolist()) - set(queue)
            for end in sorted(
                near, key=lambda end: (-min(int(self.left[start, end]), batch.size), (end - start) % ranks)
            ):
                if not (size := self.most(batch, start, end)):
                    continue
                if size < batch.size:
                    self.waiting.insert(0, replace(batch, size=batch.size - size))
                    if not batch.edges:
                        self.seeds[batch.root] = batch.size - size
                batch = Tree(batch.root, size, (*batch.edges, (start, end)))
                self.left[start, end] -= size
                queue.append(end)
        assert len(queue) == ranks, "some link fits, by the theorem of Edmonds"
        return batch

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


def lowered(batches: list[Tree], capacity: IntArray) -> list[Tree]:
    """Trees from the same roots within the same capacity, traded until no trade brings the deepest ranks nearer.

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
        below, rows = np.zeros(self.parent.shape, dtype=np.bool_), np.arange(len(self.parent))[:, None]
        below[:, rank] = True
        while (grown := below | below[rows, self.parent]).sum() > below.sum():
            below = grown
        return below

    def _loss(self, rank: int, rows: IntArray, instead: IntArray) -> NDArray[np.float64]:
        """What trees would lose if a rank joined them from others, shape (rows, others); inf where it cannot."""
        weight = np.where(self.below[rows], self.far[rows], 0).sum(axis=1)
        times = STEEP * self.far[np.ix_(rows, instead)] / self.far[rows, rank][:, None]
        return np.where(self.below[np.ix_(rows, instead)], np.inf, weight[:, None] * (times - 1))

    def _best(self, rank: int, start: int, instead: int) -> tuple[float, int]:
        """Which tree that a rank joins from `start` would lose least, and how much; nothing is lost of free room."""
        rows = np.flatnonzero(self.parent[:, rank] == start)
        loss = self._loss(rank, rows, np.array([instead]))[:, 0]
        offers = [*zip(loss.tolist(), rows.tolist(), strict=True)] + [(0.0, FREE)] * bool(self.left[start, rank])
        return min(offers, default=(np.inf, FREE))

    def _between(self, rank: int, one: int, two: int, worth: float) -> bool:
        """Trade links from two ranks to a third; whether there was anything to win."""
        traded = False
        while True:
            (lost, first), (more, second) = self._best(rank, one, two), self._best(rank, two, one)
            if lost + more >= -worth:
                return traded
            sides = ((first, one, two), (second, two, one))
            units = min(int(self.left[start, rank] if row == FREE else self.size[row]) for row, start, _ in sides)
            for row, start, end in sides:
                self._move(rank, row, start, end, units)
            traded = True

    def _move(self, rank: int, row: int, start: int, end: int, units: int) -> None:
        """Let a rank join some of equal trees from elsewhere; those that stay get a row of their own."""
        if row == FREE:
            self.left[start, rank] -= units
            self.left[end, rank] += units
            return
        if units < self.size[row]:
            for name in ("parent", "far", "below"):
                rows = getattr(self, name)
                setattr(self, name, np.vstack([rows, rows[row]]))
            self.size = np.r_[self.size, self.size[row] - units]
            self.size[row] = units
        self.far[row, self.below[row]] *= STEEP * self.far[row, end] / self.far[row, rank]
        self.parent[row, rank] = end

    def batches(self) -> list[Tree]:
        """The trees, equal ones together, by their roots."""
        sizes: Counter[tuple[int, tuple[tuple[int, int], ...]]] = Counter()
        for size, parent, far in zip(self.size.tolist(), self.parent.tolist(), self.far, strict=True):
            order = np.argsort(far, kind="stable").tolist()
            sizes[order[0], tuple((parent[end], end) for end in order[1:])] += size
        return [Tree(root, size, edges) for (root, edges), size in sorted(sizes.items())]
