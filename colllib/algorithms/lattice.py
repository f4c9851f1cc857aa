"""Algorithms for tori and meshes: reductions and gathers axis by axis, trees.

They take a `Lattice` instead of a number of ranks. Where a schedule uses several links of a rank in
one step, it is meant for a rank that owns a link per neighbor; the ledger charges it elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from colllib.algorithms import allreduce, reducescatter, trees
from colllib.algorithms.nested import nested
from colllib.closed_form import (
    CROSSED_LONG_RINGS,
    EQUAL_LINES,
    EQUAL_LONG_RINGS,
    LINES,
    LONG_POWER_CUBE,
    LONG_POWER_RING,
    LONG_POWER_SQUARE,
    LONG_RINGS,
    RINGS,
    closed_form,
    formulas,
)
from colllib.cost import Cost
from colllib.exact import IntArray
from colllib.lattice_group import LatticeGroup
from colllib.limits import MOST_MESSAGES, check_size
from colllib.primitives import broadcast, check_rank, is_power_of_two, lg
from colllib.primitives import reduce_scatter as reduce_scatter_blocks
from colllib.schedule import Schedule, Step, backwards, pipelined, scaled, side_by_side, there_and_back
from colllib.topology import Lattice
from colllib.topology.lattice import shortest_way

# -- one ring through all axes -------------------------------------------------------------------


def snake(lattice: Lattice) -> list[int]:
    """All ranks in an order for a flat ring: each is a neighbor of the next, as one mows a lawn.

    The last is a neighbor of the first as well where the last axis of a torus has even size.
    Use it with `placed`.

    >>> snake(Lattice((2, 2)))
    [0, 1, 3, 2]
    """
    places: list[tuple[int, ...]] = [()]
    for size in lattice.dims:
        turned = [places if at % 2 == 0 else places[::-1] for at in range(size)]
        places = [(*place, at) for at, row in enumerate(turned) for place in row]
    return [sum(at * stride for at, stride in zip(place, lattice.strides, strict=True)) for place in places]


# -- reduce-scatter, all-gather and all-reduce, axis by axis -------------------------------------


def _by_axes(lattice: Lattice, on_axis: Callable[[int], Schedule], order: Sequence[int] | None) -> Schedule:
    """A schedule for every line of an axis, then of the next."""
    axes = range(len(lattice.dims)) if order is None else order
    return nested(lattice, [(axis, on_axis(lattice.dims[axis])) for axis in axes])


def line_reduce_scatter(ranks: int, *, together: bool = True) -> Schedule:
    """Reduce-scatter on an open line: partial sums flow to their owner from both ends, farthest owner first.

    As many steps as the ring, and as many bytes over the busiest link; a rank inside the line
    sends both ways at once.

    Args:
        together: whether sums flow up and down the line at the same time, or first all up, then all down.

    >>> from colllib.execution import execute
    >>> from colllib.topology import line
    >>> execute(line_reduce_scatter(4), line(4)).cost
    Cost(n_alpha=3, n_beta=3/4)
    >>> execute(line_reduce_scatter(4, together=False), line(4)).cost
    Cost(n_alpha=6, n_beta=3/2)
    """
    at = np.arange(ranks)
    up, down = [], []
    for t in range(ranks - 1):
        src = at[(at <= t) & (ranks - 1 - (t - at) > at)]
        up.append(Step.of(src, src + 1, ranks - 1 - (t - src), add=True))
        down.append(Step.of(ranks - 1 - src, ranks - 2 - src, t - src, add=True))
    steps = [Step.joined(pair) for pair in zip(up, down, strict=True)] if together else up + down
    return Schedule.from_steps(reduce_scatter_blocks(ranks), steps)


def dim_ring_reduce_scatter(lattice: Lattice, *, order: Sequence[int] | None = None, direction: int = 1) -> Schedule:
    """Reduce-scatter round a ring (on a mesh: along a line) on every axis in turn.

    Args:
        order: the axes in the order of the phases (default: as given).
        direction: 1 or -1, the way round every ring.

    Source: Sack & Gropp (2015), section 3; Barnett et al. (1994).

    >>> dim_ring_reduce_scatter(Lattice((8, 8, 8))).num_steps
    21
    """
    on_axis = partial(reducescatter.ring, direction=direction) if lattice.wraps else line_reduce_scatter
    return _by_axes(lattice, on_axis, order)


dim_ring_all_gather = backwards(dim_ring_reduce_scatter)  # the last of its axes first


dim_ring = there_and_back(dim_ring_reduce_scatter)

#: Of one half of `dim_ring`, one link per neighbor.
dim_ring_half_cost = formulas("total(d - 1)", "(N - 1) / N")
dim_ring_cost = formulas("2 * total(d - 1)", "2 * (N - 1) / N")


def dim_shortest_way_reduce_scatter(lattice: Lattice, *, order: Sequence[int] | None = None) -> Schedule:
    """Reduce-scatter on every axis in turn, each partial sum the shorter way round, from both sides at once.

    >>> dim_shortest_way_reduce_scatter(Lattice((8, 8, 8))).num_steps
    12
    """
    _needs_wrap(lattice, "the shorter way round")
    return _by_axes(lattice, allreduce.shortest_way_reduce_scatter, order)


dim_shortest_way = there_and_back(dim_shortest_way_reduce_scatter)


@closed_form("total(d // 2)", "(N - 1) / (2 * N)", LONG_RINGS)
def dim_shortest_way_half_cost(lattice: Lattice) -> Cost:
    """Closed form of one half of `dim_shortest_way`, one link per neighbor: two links share an axis of three or more.

    >>> dim_shortest_way_half_cost(Lattice((8, 8, 8)))
    Cost(n_alpha=12, n_beta=511/1024)
    """
    load, share = Fraction(0), Fraction(1)
    for size in lattice.dims:
        load += share * Fraction(size - 1, size) / (2 if size > 2 else 1)
        share /= size
    return Cost(sum(size // 2 for size in lattice.dims), load)


@closed_form("2 * total(d // 2)", "(N - 1) / N", LONG_RINGS)
def dim_shortest_way_cost(lattice: Lattice) -> Cost:
    """Closed form of `dim_shortest_way`, one link per neighbor.

    >>> dim_shortest_way_cost(Lattice((4, 4)))
    Cost(n_alpha=8, n_beta=15/16)
    """
    return dim_shortest_way_half_cost(lattice) + dim_shortest_way_half_cost(lattice)


def _needs_wrap(lattice: Lattice, what: str, serves: str = "dim-ring") -> None:
    if not lattice.wraps:
        raise ValueError(f"mesh {lattice}: {what} needs rings; {serves} serves meshes")


def rotated(build: Callable[..., Schedule]) -> Callable[[Lattice], Schedule]:
    """The builder of 2k copies of an axis-by-axis schedule in the same steps, each with M/2k: all links at once.

    Copy c starts at axis c mod k and goes round in direction 1 or -1 as c div k is even or odd. On a mesh,
    and where no axis is longer than 2, there is one direction and k copies.

    Args:
        build: makes a schedule from the lattice, an `order` and a `direction`.

    Source: Sack & Gropp (2015), section 4.

    >>> from colllib.execution import execute
    >>> from colllib.topology import torus
    >>> execute(rotated(dim_ring)(Lattice((4, 4, 4))), torus((4, 4, 4))).cost
    Cost(n_alpha=18, n_beta=21/64)
    """

    def build_rotated(lattice: Lattice) -> Schedule:
        axes = [axis for axis, size in enumerate(lattice.dims) if size > 1] or [0]
        rest = [axis for axis in range(len(lattice.dims)) if axis not in axes]
        directions = (1, -1) if max(lattice.dims) > 2 and lattice.wraps else (1,)
        copies = [
            build(lattice, order=(*axes[start:], *axes[:start], *rest), direction=direction)
            for direction in directions
            for start in range(len(axes))
        ]
        return side_by_side(*(scaled(copy, Fraction(1, len(copies))) for copy in copies))

    return build_rotated


rotated_reduce_scatter = rotated(dim_ring_reduce_scatter)
rotated_all_gather = rotated(dim_ring_all_gather)
rotated_dim_ring = rotated(dim_ring)

#: Of `rotated_dim_ring` and of its halves, one link per neighbor, on axes that all have the same size.
rotated_dim_ring_cost = formulas("2 * total(d - 1)", "(N - 1) / (k * N)", EQUAL_LONG_RINGS) | formulas(
    "2 * total(d - 1)", "2 * (N - 1) / (k * N)", EQUAL_LINES
)
rotated_dim_ring_half_cost = formulas("total(d - 1)", "(N - 1) / (2 * k * N)", EQUAL_LONG_RINGS) | formulas(
    "total(d - 1)", "(N - 1) / (k * N)", EQUAL_LINES
)


# -- butterflies ---------------------------------------------------------------------------------


def butterfly(partners: Sequence[IntArray]) -> Schedule:
    """The reduce-scatter in which rank r exchanges with partners[s][r] in step s and sends what that side will own.

    Args:
        partners: one involution of the ranks per step, such that every rank reaches every other
            one in just one way.

    Raises:
        ValueError: if a step is no involution, or some rank is reached twice or never.

    >>> rank = np.arange(8)
    >>> [len(butterfly([rank ^ 4, rank ^ 2, rank ^ 1]).step(t).src) // 8 for t in range(3)]
    [4, 2, 1]
    """
    ranks = len(partners[0]) if partners else 1
    blocks = reduce_scatter_blocks(ranks)
    reach = np.arange(ranks)[:, None]  # reach[r]: the owners that r can still serve
    steps: list[Step] = []
    for s in reversed(range(len(partners))):
        partner = np.asarray(partners[s])
        if (partner[partner] != np.arange(ranks)).any():
            raise ValueError(f"step {s}: the partners must pair the ranks off")
        sent = reach[partner]
        count = sent.shape[1]
        steps.append(Step.of(np.repeat(np.arange(ranks), count), np.repeat(partner, count), sent.ravel(), add=True))
        reach = np.concatenate((reach, sent), axis=1)
    if reach.shape[1] != ranks or (np.sort(reach, axis=1) != np.arange(ranks)).any():
        raise ValueError(f"{len(partners)} steps do not lead from every rank to each of {ranks} in just one way")
    return Schedule.from_steps(blocks, steps[::-1])


def _powers(lattice: Lattice, what: str) -> list[int]:
    for size in lattice.dims:
        if not is_power_of_two(size):
            raise ValueError(f"axis of size {size}: {what} needs powers of two; dim-ring serves any size")
    return [lg(size) for size in lattice.dims]


def dim_rabenseifner(lattice: Lattice, *, order: str = "near") -> Schedule:
    """All-reduce: recursive halving on every axis in turn, then doubling back.

    Args:
        order: "near" halves with the partner at distance 1 on an axis first, "far" with the one at
            distance d/2.

    >>> dim_rabenseifner(Lattice((8, 8, 8))).num_steps
    18
    """
    _powers(lattice, "halving")
    on_axis = partial(reducescatter.recursive_halving, order=reducescatter.UNDONE_BY.get(order, order))
    return there_and_back(_by_axes)(lattice, on_axis, None)


def swing(lattice: Lattice, *, order: Sequence[int] | None = None, direction: int = 1) -> Schedule:
    """All-reduce by swinging: partners at distances 1, 1, 3, 5, 11, ... on one axis after the other.

    Even coordinates add 1, -1, 3, -5, 11, ... and odd ones subtract it: on a ring the same number
    of halvings as Rabenseifner's with partners that are nearer, floor(2d/3) links away in all.

    Args:
        lattice: the axes, each a power of two.
        order: the axes in the order in which they take turns (default: as they are numbered).
        direction: 1 as said, -1 where even coordinates subtract and odd ones add.

    Source: De Sensi et al. (2024), "Swing: Short-cutting Rings for Higher Bandwidth Allreduce".

    >>> swing(Lattice((8, 8))).num_steps
    12
    """
    bits = _powers(lattice, "swinging")
    rank = np.arange(lattice.ranks)
    partners = []
    for s in range(max(bits, default=0)):
        shift = direction * sum((-2) ** i for i in range(s + 1))
        for axis in range(len(bits)) if order is None else order:
            if s < bits[axis]:
                even = lattice.coordinate(rank, axis) % 2 == 0
                partners.append(lattice.shifted(rank, axis, np.where(even, shift, -shift)))
    return there_and_back(butterfly)(partners)


def rotated_swing(lattice: Lattice) -> Schedule:
    """All-reduce: 2k rotated copies of `swing`, half of them mirrored, so that all links are used at once.

    Raises:
        ValueError: for an axis that is no power of two.
        TooLarge: for more messages than fit the memory.

    Source: De Sensi et al. (2024), as for `swing`, for nodes that send over all their ports.

    >>> from colllib.execution import execute
    >>> from colllib.topology import torus
    >>> execute(rotated_swing(Lattice((8, 8))), torus((8, 8))).cost
    Cost(n_alpha=20, n_beta=69/128)
    """
    messages = 4 * len(lattice.dims) * lattice.ranks * (lattice.ranks - 1)  # of 2k copies, there and back
    check_size(f"copies of swing on {lattice}", messages, MOST_MESSAGES, "messages")
    return rotated(swing)(lattice)


#: Of `rotated_swing`, one link per neighbor, on a torus of up to three axes, all of the same size 2^m. A copy and its
#: mirror image load each link of an axis with as many messages as the partner is links away: (2^(s+1) + (-1)^s)/3 in
#: its step s. The axes take turns, and each message is half of the last, from M/4k on; back it is the same. In the sum
#: (N + 1)//(2^k + 1) is (N - (-1)^m)/(2^k + 1).
rotated_swing_cost = (
    formulas("2 * total(2 * d // 3)", "(lg(N) + ((N + 1) // 3) / N) / 3", LONG_POWER_RING)
    | formulas("2 * total(2 * d // 3)", "(N - most(d) + (N + 1) // 5) / (2 * N)", LONG_POWER_SQUARE)
    | formulas("2 * total(2 * d // 3)", "7 * ((4 * N - 3 * most(d) + 1) // 9) / (9 * N)", LONG_POWER_CUBE)
)


# -- broadcast and reduce ------------------------------------------------------------------------


def _distances(lattice: Lattice, axis: int, root: int, both: bool) -> tuple[IntArray, IntArray]:
    """For every rank: the way from the root's coordinate on an axis, and the hops."""
    start, rank = np.array([root]), np.arange(lattice.ranks)
    if both or not lattice.wraps:
        return shortest_way(lattice, axis, start, rank)
    away = lattice.coordinate(rank, axis) - lattice.coordinate(start, axis)
    return np.ones_like(rank), away % lattice.dims[axis]


def dim_chain(
    lattice: Lattice, *, segments: int = 1, root: int = 0, both: bool = True, phased: bool = False
) -> Schedule:
    """Broadcast along the first axis, from there along the second, and so on, segment after segment.

    Args:
        both: go both ways round a ring, or up only. A line is always followed to both its ends.
        phased: an axis waits until the one before is done, instead of starting wherever the vector
            has arrived. It takes as many steps.

    >>> dim_chain(Lattice((3, 3))).num_steps, dim_chain(Lattice((3, 3)), both=False).num_steps
    (2, 4)
    """
    check_rank("root", root, lattice.ranks)
    rank = np.arange(lattice.ranks)
    when, parent = np.zeros(lattice.ranks, dtype=np.intp), np.full(lattice.ranks, trees.ROOT)
    for axis in range(len(lattice.dims)):
        direction, hops = _distances(lattice, axis, root, both)
        parent = np.where(hops > 0, lattice.shifted(rank, axis, -direction), parent)
        when = np.where(hops > 0, when.max() + hops, when) if phased else when + hops
    blocks = broadcast(lattice.ranks, root=root)
    return pipelined(trees.down_one_child_a_step(parent, when - 1, blocks), segments)


@closed_form("P - 1 + total(d // 2)", "(P - 1 + total(d // 2)) / P", RINGS)
@closed_form("P - 1 + total(d - 1)", "(P - 1 + total(d - 1)) / P", LINES)
def dim_chain_cost(lattice: Lattice, segments: int = 1, root: int = 0, both: bool = True) -> Cost:
    """Closed form of `dim_chain`, one link per neighbor.

    >>> dim_chain_cost(Lattice((8, 8, 8))), dim_chain_cost(Lattice((8, 8, 8)), segments=11)
    (Cost(n_alpha=12, n_beta=12), Cost(n_alpha=22, n_beta=2))
    """
    far = [int(_distances(lattice, axis, root, both)[1].max()) for axis in range(len(lattice.dims))]
    steps = sum(far) + segments - 1
    return Cost(steps, Fraction(steps, segments))


dim_chain_reduce = backwards(dim_chain)


def disjoint_trees(lattice: Lattice, root: int = 0) -> list[IntArray]:
    """Spanning trees of a torus from one root, one per link of the root, no two over one link.

    Tree j begins with the root's link in direction j (up or down an axis a). A rank that stands
    beside the root's hyperplane, off axis a, removes another axis first: which one, and in which
    direction, is a permutation of the directions whose axes it is off, so that each tree comes in
    over another link. A rank with the root's coordinate on axis a is a leaf, reached over axis a.

    Args:
        lattice: the axes, with wraparound.
        root: the root of all trees.

    Returns:
        arrays of parents, -1 at the root.

    Source: for hypercubes Johnsson & Ho (1989), "Optimum broadcasting and personalized
    communication in hypercubes"; the rule for any torus is ours, and tests check it.

    >>> [tree.tolist() for tree in disjoint_trees(Lattice((3,)))]
    [[-1, 0, 1], [-1, 2, 0]]
    """
    _needs_wrap(lattice, "packing trees", "dim-chain")
    check_rank("root", root, lattice.ranks)
    # an axis of size 1 is none, and both ways round one of size 2 are the same link
    directions = [(axis, sign) for axis, size in enumerate(lattice.dims) for sign in (1, -1)[: size - 1]]
    rank, group = np.arange(lattice.ranks), LatticeGroup.of(lattice)
    place = group.image(rank, group.element_to(root))  # where the trees from rank 0 go
    before = np.array([lattice.shifted(rank, axis, -sign) for axis, sign in directions])
    arrivals = [_arrivals(lattice, directions, lattice.coordinates(number)) for number in rank.tolist()]
    parents = []
    for arrival in np.array(arrivals, dtype=np.intp).T:
        tree = np.full(lattice.ranks, trees.ROOT)
        tree[place[1:]] = place[before[arrival, rank][1:]]
        parents.append(tree)
    return parents


def _arrivals(lattice: Lattice, directions: list[tuple[int, int]], place: tuple[int, ...]) -> list[int]:
    """For each tree, the direction in which it reaches a place, given by its distance from the root on each axis."""
    axis_of = [axis for axis, _ in directions]
    off = [j for j, axis in enumerate(axis_of) if place[axis]]
    axes = {axis_of[j] for j in off}
    arrivals = list(range(len(directions)))
    if len(axes) < 2:
        return arrivals
    if len(off) == 3 and len(axes) == 2:  # a long axis and one of size 2
        long = max(axes, key=lambda axis: lattice.dims[axis])
        up, down = (j for j in off if axis_of[j] == long)
        short = next(j for j in off if axis_of[j] != long)
        last = place[long] == lattice.dims[long] - 1
        arrivals[up], arrivals[down], arrivals[short] = (up, short, down) if last else (short, down, up)
        return arrivals
    shift = 1 if len(off) == 2 else 2
    for i, j in enumerate(off):
        arrivals[j] = off[(i + shift) % len(off)]
    return arrivals


def all_links_broadcast(lattice: Lattice, *, segments: int = 1, root: int = 0) -> Schedule:
    """Broadcast down all of `disjoint_trees` at once, each with an equal part of the vector in segments.

    >>> from colllib.execution import execute
    >>> from colllib.topology import torus
    >>> execute(all_links_broadcast(Lattice((4, 4)), segments=93), torus((4, 4))).cost
    Cost(n_alpha=99, n_beta=33/124)
    """
    _needs_wrap(lattice, "packing trees", "dim-chain")
    if lattice.ranks == 1:
        return Schedule.from_steps(broadcast(1), [])
    parents = disjoint_trees(lattice, root)
    copies = [trees.down_by_level(tree, broadcast(lattice.ranks, root=root)) for tree in parents]
    return side_by_side(*(scaled(pipelined(copy, segments), Fraction(1, len(copies))) for copy in copies))


@closed_form("P + total(d - 1)", "(P + total(d - 1)) / (2 * k * P)", CROSSED_LONG_RINGS)
def all_links_broadcast_cost(lattice: Lattice, segments: int = 1) -> Cost:
    """Closed form of `all_links_broadcast`, one link per neighbor: every link serves one tree; the depth is counted.

    >>> all_links_broadcast_cost(Lattice((4, 4)), segments=93)
    Cost(n_alpha=99, n_beta=33/124)
    """
    parents = disjoint_trees(lattice)
    steps = max(int(trees.depths(tree).max()) for tree in parents) + segments - 1
    return Cost(steps, Fraction(steps, segments * len(parents)))


all_links_reduce = backwards(all_links_broadcast)
