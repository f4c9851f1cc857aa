"""Trees as arrays of parents, and schedules that reduce and broadcast along them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

import numpy as np

from colllib.exact import IntArray
from colllib.primitives import Blocks, broadcast, check_rank, check_ranks
from colllib.schedule import Schedule, Step, scaled, side_by_side

ROOT = -1
COLORS = 2  # of edges, which take turns


def binomial(ranks: int, root: int = 0) -> IntArray:
    """The binomial tree: counted from the root, r's parent is r without its highest bit.

    >>> binomial(6)
    array([-1,  0,  0,  1,  0,  1])
    """
    check_ranks(ranks)
    check_rank("root", root, ranks)
    relative = np.arange(1, ranks)
    highest = 1 << np.floor(np.log2(relative)).astype(np.intp)
    parent = np.full(ranks, ROOT)
    parent[(relative + root) % ranks] = (relative - highest + root) % ranks
    return parent


def complementary(ranks: int) -> tuple[IntArray, IntArray]:
    """Two binary trees on all ranks in which every rank is interior in at most one.

    The first is an in-order search tree, so leaves and interior ranks alternate. For even N rank 0 is
    put on top of a tree of the other ranks and the second tree is the mirror image; for odd N
    the tree stands by itself and the second one is shifted round by a rank.

    Source: Sanders, Speck & Träff (2009), section 3; the alternation for any N is ours.

    >>> first, second = complementary(6)
    >>> sorted(set(first[first >= 0]) & set(second[second >= 0]))
    []
    """
    check_ranks(ranks)
    parent = np.full(ranks, ROOT)
    if ranks % 2:
        _in_order(parent, 0, ranks, ROOT)
        second = np.roll(np.where(parent == ROOT, ROOT, (parent + 1) % ranks), 1)
        return parent, second
    _in_order(parent, 1, ranks, 0)
    mirrored = np.where(parent == ROOT, ROOT, ranks - 1 - parent)[::-1]
    return parent, np.ascontiguousarray(mirrored)


def nccl(ranks: int) -> tuple[IntArray, IntArray]:
    """NCCL's two binary trees, below a root with one child each.

    Without the root, rank r is as high as its last bit that is set, and its parent is the next rank that is one bit
    higher, in front of it where there is none behind. For even N no rank is interior in both; for odd N rank 0 is.

    Source: NCCL, `ncclGetDtree` in `src/graph/trees.cc`.

    >>> nccl(5)
    (array([-1,  2,  4,  2,  0]), array([ 1, -1,  3,  0,  3]))
    """
    check_ranks(ranks)
    rank = np.arange(1, ranks)
    height = rank & -rank
    behind = (rank ^ height) | 2 * height
    first = np.append(ROOT, np.where(behind < ranks, behind, rank ^ height))
    if ranks % 2:
        return first, np.roll(np.where(first == ROOT, ROOT, (first + 1) % ranks), 1)
    return first, np.where(first == ROOT, ROOT, ranks - 1 - first)[::-1].copy()


def _in_order(parent: IntArray, start: int, stop: int, above: int) -> None:
    """Hang a search tree of ranks start..stop-1, an odd number, below `above`: leaves at every second rank."""
    count = stop - start
    middle = start + count // 2
    if count > 1 and (middle - start) % 2 == 0:
        middle += 1
    parent[middle] = above
    if count > 1:
        _in_order(parent, start, middle, middle)
        _in_order(parent, middle + 1, stop, middle)


def depths(parent: Sequence[int] | IntArray) -> IntArray:
    """Each rank's distance from the root.

    Raises:
        ValueError: if the parents form no tree with one root.

    >>> depths(binomial(6))
    array([0, 1, 1, 2, 1, 2])
    """
    parents = np.asarray(parent, dtype=np.intp)
    if (parents == ROOT).sum() != 1 or parents.min() < ROOT or parents.max() >= len(parents):
        raise ValueError(f"parents {parents.tolist()}: a tree has one root, marked {ROOT}, and parents among its ranks")
    depth = np.zeros(len(parents), dtype=np.intp)
    above = parents.copy()
    for _ in range(len(parents)):
        below = above != ROOT
        if not below.any():
            return depth
        depth[below] += 1
        above[below] = parents[above[below]]
    raise ValueError(f"parents {parents.tolist()}: going up from some rank never reaches the root")


def down_by_level(parent: Sequence[int] | IntArray, blocks: Blocks) -> Schedule:
    """Broadcast along a tree, one level a step: a parent sends to all its children at once.

    >>> from colllib.primitives import broadcast
    >>> down_by_level([-1, 0, 0], broadcast(3)).num_steps
    1
    """
    return down_one_child_a_step(parent, depths(parent) - 1, blocks)


def down_one_child_a_step(
    parent: Sequence[int] | IntArray, order: Sequence[int] | IntArray, blocks: Blocks
) -> Schedule:
    """Broadcast along a tree, given by each rank's parent, in the order given by the step in which each receives."""
    parents, when = np.asarray(parent), np.asarray(order)
    block = np.arange(len(blocks))

    def step(t: int) -> Step:
        child = np.flatnonzero((when == t) & (parents != ROOT))
        return Step.of(np.repeat(parents[child], len(block)), np.repeat(child, len(block)), np.tile(block, len(child)))

    return Schedule.from_steps(blocks, [step(t) for t in range(int(when.max()) + 1)] if len(parents) > 1 else [])


def two_colors(first: IntArray, second: IntArray) -> tuple[IntArray, IntArray]:
    """Color the edges of two trees with 0 and 1 so that no rank sends or receives two of one color.

    Parent-to-child edges as (sender, receiver) pairs form a bipartite graph: a rank sends on at
    most two edges where no rank is interior in both trees, and receives on at most two, one a
    tree. Paths and even cycles alternate, starting with 0 at an edge below a root.

    Returns:
        for each tree, the color of the edge into each rank (-1 at the root).

    Source: Sanders, Speck & Träff (2009), section 4.

    Raises:
        ValueError: if some rank has more than two children in both trees together.

    >>> two_colors(*complementary(4))
    (array([-1,  1,  0,  0]), array([ 0,  0,  1, -1]))
    """
    level = [depths(tree).tolist() for tree in (first, second)]
    parents = {(t, child): above for t in (0, 1) for child, above in enumerate((first, second)[t].tolist())}
    edges = sorted((edge for edge in parents if parents[edge] != ROOT), key=lambda edge: level[edge[0]][edge[1]])
    sends: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for edge in edges:
        sends[parents[edge]].append(edge)
    for rank, out in sends.items():
        if len(out) > 2:
            raise ValueError(f"rank {rank} has {len(out)} children in the two trees: one port can serve only 2 in turn")
    color: dict[tuple[int, int], int] = {}
    for start in edges:
        pending = [(start, 0)] if start not in color else []
        while pending:
            (tree, child), c = pending.pop()
            color[tree, child] = c
            touching = [*sends[parents[tree, child]], (1 - tree, child)]
            pending += [(edge, 1 - c) for edge in touching if edge not in color and parents[edge] != ROOT]
    both = [[color.get((tree, child), ROOT) for child in range(len(first))] for tree in (0, 1)]
    return np.array(both[0]), np.array(both[1])


def down_both(
    pair: tuple[IntArray, IntArray], segments: int, colors: tuple[IntArray, IntArray] | None = None
) -> Schedule:
    """Broadcast half of the vector, in so many segments, down each of two trees in the same steps.

    Args:
        pair: the trees as arrays of parents.
        segments: segments P into which each half is cut.
        colors: for each tree the color of the edge into each rank (default: a level, with all segments, takes a step).

    >>> pair = complementary(4)
    >>> down_both(pair, 8, two_colors(*pair))
    Schedule(4 ranks, 16 blocks, 17 steps)
    """
    halves = []
    for number, tree in enumerate(pair):
        blocks = broadcast(len(tree), segments, root=int(np.argmax(tree == ROOT)))
        halves.append(down_colored(tree, colors[number], blocks) if colors else down_by_level(tree, blocks))
    return side_by_side(*(scaled(half, Fraction(1, 2)) for half in halves))


def down_colored(parent: IntArray, color: IntArray, blocks: Blocks) -> Schedule:
    """Broadcast the blocks one after another along a tree whose edges take turns.

    In round t an edge of color t mod 2 sends the next block that its parent holds and its
    child lacks. With the colors of `two_colors` a rank sends at most one block and receives at
    most one in every round, over both trees together.

    Args:
        parent: parent of each rank.
        color: color of the edge into each rank.
        blocks: what is broadcast, block after block.
    """
    ready = first_arrivals(parent, color)
    child = np.flatnonzero(np.asarray(parent) != ROOT)
    first = ready[child] - 1
    count = len(blocks)

    def step(t: int) -> Step:
        turn = (t - first) // COLORS
        now = (t >= first) & ((t - first) % COLORS == 0) & (turn < count)
        return Step(parent[child[now]], child[now], turn[now], np.zeros(int(now.sum()), dtype=np.bool_))

    rounds = int(ready.max()) + COLORS * (count - 1) if len(child) else 0
    return Schedule(blocks, rounds, step)


@cache
def fill_rounds(two_trees: Callable[[int], tuple[IntArray, IntArray]], ranks: int) -> int:
    """Rounds until block 0 has reached all N ranks down both of two trees, in the colors of `two_colors`.

    2 log2 N - 1 down the complementary ones where N is a power of two.

    >>> [fill_rounds(complementary, n) for n in (4, 8, 16, 512)]
    [3, 5, 7, 17]
    """
    pair = two_trees(ranks)
    return max(int(first_arrivals(*colored).max()) for colored in zip(pair, two_colors(*pair), strict=True))


def first_arrivals(parent: IntArray, color: IntArray) -> IntArray:
    """The number of rounds after which each rank holds block 0 in `down_colored`."""
    ready = np.zeros(len(parent), dtype=np.intp)
    for child in np.argsort(depths(parent), kind="stable"):
        if parent[child] != ROOT:
            earliest = int(ready[parent[child]])
            ready[child] = earliest + (int(color[child]) - earliest) % COLORS + 1
    return ready
