"""All-to-all on lattices: every block hops to its destination over shortest paths, from rank to rank."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np

from colllib.closed_form import EQUAL_EVEN_LONG_RINGS, closed_form
from colllib.cost import Cost
from colllib.exact import Fractions, IntArray
from colllib.primitives import Blocks, all_to_all
from colllib.schedule import Schedule, Step
from colllib.topology import Lattice, Topology
from colllib.topology.lattice import shortest_way
from colllib.topology.twisted import Wrapped

TIES = ("up", "balanced", "split")


def relay(lattice: Lattice, *, tie: str = "balanced", phased: bool = False, rotated: bool = False) -> Schedule:
    """All blocks move one hop in every step, along one axis after the other, several on a link as one message.

    Args:
        lattice: the axes.
        tie: where a block goes that is half way round an axis of even size: "up", "balanced" (one
            of the two ways, half of the blocks each), or "split" into halves, one each way.
        phased: wait for all blocks before going on to the next axis: the dimension-decomposed
            all-to-all. Else a block goes on at once.
        rotated: cut every block into k slices, of which slice c begins with axis c, so that all
            axes are used at a time.

    Raises:
        ValueError: for an unknown tie rule.

    >>> relay(Lattice((4, 4))).num_steps, relay(Lattice((8, 8, 8)), phased=True).num_steps
    (4, 12)
    """
    if tie not in TIES:
        raise ValueError(f"tie {tie!r}: must be one of {', '.join(TIES)}")
    axes = [axis for axis, size in enumerate(lattice.dims) if size > 1] or [0]
    turns = [tuple(axes[start:] + axes[:start]) for start in range(len(axes) if rotated else 1)]
    paths = _Paths(lattice, tie, turns)
    longest = [int(paths.hops[:, axis].max(initial=0)) for axis in range(len(lattice.dims))]
    return Schedule(paths.blocks, sum(longest), lambda t: paths.step(t, longest if phased else None))


def rotated_relay(lattice: Lattice) -> Schedule:
    """`relay` with its ties split and its blocks sliced: all axes at a time, both ways alike.

    >>> rotated_relay(Lattice((4, 4))).num_steps
    4
    """
    return relay(lattice, tie="split", rotated=True)


@closed_form("total(d // 2)", "most(d) / 8", EQUAL_EVEN_LONG_RINGS)
def rotated_relay_cost(lattice: Lattice) -> Cost:
    """The cost of `rotated_relay` on its lattice: a closed form, or counted from a few ranks by symmetry.

    On a torus every move maps the schedule to itself: what the blocks of rank 0 load, summed over
    all links of an axis and direction, is what each of these links carries. On a mesh mirroring an
    axis of even size maps it to itself: one half of the axis says it.

    >>> rotated_relay_cost(Lattice((8, 8, 8))), rotated_relay_cost(Lattice((5, 3)))
    (Cost(n_alpha=12, n_beta=1), Cost(n_alpha=3, n_beta=3/5))
    """
    axes = Lattice(tuple(size for size in lattice.dims if size > 1) or (1,), lattice.wraps)
    k, whole = len(axes.dims), 1 if axes.wraps else axes.ranks
    mirrors = [] if axes.wraps else [axis for axis, size in enumerate(axes.dims) if size % 2 == 0]
    some = [range(1 if axes.wraps else size // 2 if axis in mirrors else size) for axis, size in enumerate(axes.dims)]
    few = np.array([sum(at * s for at, s in zip(place, axes.strides, strict=True)) for place in product(*some)])
    far = sum(size // 2 if axes.wraps else size - 1 for size in axes.dims)
    load = np.zeros((far, k, 2, whole), dtype=np.intp)  # in half blocks
    for when, axis, side, tied, place in _hops(axes, few):
        where = np.zeros_like(when) if axes.wraps else (place * np.array(axes.strides)[:, None]).sum(axis=0)
        # a block half way round goes one half each way
        one, other = (
            np.ravel_multi_index((when, np.full_like(when, axis), s, where), load.shape) for s in (side, 1 - side)
        )
        np.add.at(load.reshape(-1), one, 2 - tied)
        np.add.at(load.reshape(-1), other, tied)
    for axis in mirrors:
        load = load + _mirrored(load, axes, axis)
    return Cost(far, Fraction(int(load.max(axis=(1, 2, 3)).sum()), 2 * axes.ranks * k))


def _hops(axes: Lattice, few: IntArray) -> Iterator[tuple[IntArray, int, IntArray, IntArray, IntArray]]:
    """What the blocks of a few ranks do in a rotated relay: steps, axis, 0 or 1 for up or down, 1 for ties, places."""
    k = len(axes.dims)
    src, dst = np.repeat(few, axes.ranks), np.tile(np.arange(axes.ranks), len(few))
    moves = [shortest_way(axes, axis, src, dst) for axis in range(k)]
    end = np.stack([axes.coordinate(dst, axis) for axis in range(k)])
    for turn in range(k):
        at = np.stack([axes.coordinate(src, axis) for axis in range(k)])
        done = np.zeros(len(src), dtype=np.intp)
        for axis in (*range(turn, k), *range(turn)):
            (way, hops), size = moves[axis], axes.dims[axis]
            # both ways round a ring of two are one link
            ties = (2 * hops == size) & (size > 2) & axes.wraps
            for hop in range(int(hops.max(initial=0))):
                going = np.flatnonzero(hops > hop)
                place = at[:, going]
                place[axis] = (place[axis] + way[going] * hop) % size
                side = (way[going] < 0).astype(np.intp)
                yield done[going] + hop, axis, side, ties[going].astype(np.intp), place
            at[axis], done = end[axis], done + hops


def _mirrored(load: IntArray, axes: Lattice, axis: int) -> IntArray:
    """The loads seen in a mirror across one axis, which also turns that axis's ways round."""
    k, shape = len(axes.dims), load.shape
    mirror = np.flip(load.reshape(*shape[:3], *axes.dims[::-1]), axis=3 + k - 1 - axis).copy()
    mirror[:, axis] = mirror[:, axis, ::-1]
    return mirror.reshape(shape)


class _Paths:
    """Where every block goes: its ends, and its way and hops on each axis."""

    def __init__(self, lattice: Lattice, tie: str, turns: list[tuple[int, ...]]) -> None:
        self.lattice, self.turns = lattice, turns
        whole = all_to_all(lattice.ranks)
        source, target = whole.source, whole.target
        axes = range(len(lattice.dims))
        rule = "up" if tie == "split" else tie
        found = [shortest_way(lattice, axis, source, target, rule) for axis in axes]
        way, hops = (np.stack([pair[side] for pair in found], axis=1) for side in (0, 1))
        share = np.full(len(source), 2 ** len(lattice.dims) if tie == "split" else 1)
        if tie == "split" and lattice.wraps:
            for axis in axes:
                # an axis of size 2 has one link each way: there is no other way round
                half = np.flatnonzero((2 * hops[:, axis] == lattice.dims[axis]) & (lattice.dims[axis] > 2))
                share[half] //= 2
                order = np.concatenate((np.arange(len(source)), half))
                source, target, way, hops, share = source[order], target[order], way[order], hops[order], share[order]
                way[len(order) - len(half) :, axis] *= -1
        denominator = lattice.ranks * (2 ** len(lattice.dims) if tie == "split" else 1) * len(turns)
        count = len(turns)
        self.source, self.way, self.hops = np.tile(source, count), np.tile(way, (count, 1)), np.tile(hops, (count, 1))
        self.turn = np.repeat(np.arange(count), len(source))
        shares = Fractions(np.tile(share, count), denominator)
        self.blocks = Blocks(lattice.ranks, shares, self.source, np.tile(target, count), ())

    def step(self, t: int, phases: list[int] | None = None) -> Step:
        """The hops of step t; with `phases`, the length of each axis's phase, an axis at a time."""
        src, dst, block = [], [], []
        for c, order in enumerate(self.turns):
            mine = np.flatnonzero(self.turn == c)
            at, moves = self.source[mine], np.full(len(mine), t)
            going = np.full(len(mine), -1)
            for axis in order:
                hops = self.hops[mine, axis]
                done = np.clip(moves, 0, hops)
                here = (moves >= 0) & (moves < hops) & (going < 0)
                going[here] = axis
                at = self._along(at, axis, self.way[mine, axis] * done)
                moves = moves - (hops if phases is None else phases[axis])
                if phases is None:
                    moves[here] = -1
            active = np.flatnonzero(going >= 0)
            for axis in order:
                some = active[going[active] == axis]
                src.append(at[some])
                dst.append(self._along(at[some], axis, self.way[mine[some], axis]))
                block.append(mine[some])
        return Step.of(np.concatenate(src), np.concatenate(dst), np.concatenate(block))

    def _along(self, rank: IntArray, axis: int, by: IntArray) -> IntArray:
        stride, size = self.lattice.strides[axis], self.lattice.dims[axis]
        at = rank // stride % size
        return rank + ((at + by) % size - at) * stride


def relay_one_by_one(topology: Topology) -> Schedule:
    """One block on a link and step, the blocks with most hops still to go first.

    Every block follows the topology's own route. The order is a greedy one; on a symmetric
    topology it keeps the busiest link busy, and the number of steps says how well.

    Args:
        topology: where, with a route for every pair of ranks.

    >>> from colllib.topology import ring
    >>> relay_one_by_one(ring(4)).num_steps
    3
    """
    blocks = all_to_all(topology.ranks)
    away = np.flatnonzero(blocks.source != blocks.target)
    message, link = topology.router(blocks.source[away], blocks.target[away])
    hops = np.bincount(message, minlength=len(away))
    first = np.cumsum(hops) - hops
    done = np.zeros(len(away), dtype=np.intp)
    steps = []
    while (done < hops).any():
        waiting = np.flatnonzero(done < hops)
        wanted = link[first[waiting] + done[waiting]]
        order = np.lexsort((waiting, done[waiting] - hops[waiting], wanted))
        chosen = order[np.r_[True, wanted[order][1:] != wanted[order][:-1]]]
        used = wanted[chosen]
        steps.append(Step.of(topology.link_src[used], topology.link_dst[used], away[waiting[chosen]]))
        done[waiting[chosen]] += 1
    return Schedule.from_steps(blocks, steps)


def link_loads(topology: Topology) -> tuple[Fraction, ...]:
    """What every link carries in an all-to-all over the topology's own routes, as a share of M, whatever the order.

    >>> from colllib.topology import torus
    >>> {str(load) for load in link_loads(torus((4, 4), tie="balanced"))}
    {'1/2'}
    """
    ranks = topology.ranks
    source, target = np.divmod(np.arange(ranks * ranks), ranks)
    away = source != target
    load = np.bincount(topology.router(source[away], target[away])[1], minlength=topology.num_links)
    return tuple(Fraction(int(count), ranks) for count in load)


def torus_link_loads(lattice: Lattice) -> list[tuple[Fraction, Fraction]]:
    """`link_loads` of a torus, ties up: for each axis what every link up and every link down carries.

    Translations map the torus to itself, so what rank 0's blocks load, summed over all links of an
    axis and direction, is what each of these links carries.

    >>> [(str(up), str(down)) for up, down in torus_link_loads(Lattice((16, 16, 16)))]
    [('9/4', '7/4'), ('9/4', '7/4'), ('9/4', '7/4')]
    """
    rank = np.arange(lattice.ranks)
    found = []
    for axis, size in enumerate(lattice.dims):
        way, hops = shortest_way(lattice, axis, np.zeros_like(rank), rank)
        up, down = (Fraction(int(hops[way == side].sum()), lattice.ranks) for side in (1, -1))
        found.append((up + down, up + down) if size == 2 else (up, down))
    return found


@cache
def relay_load(lattice: Lattice) -> Fraction:
    """n_beta of `relay` with its ties split, if no link ever idled: the busiest axis's load.

    d/8 for the longest axis where that is even and at least 4, (d^2 - 1)/8d where it is odd.

    >>> relay_load(Lattice((8, 8, 8))), relay_load(Lattice((5, 3)))
    (Fraction(1, 1), Fraction(3, 5))
    """
    loads = [Fraction(0)]
    for size in lattice.dims:
        if not lattice.wraps:
            loads.append(Fraction((size // 2) * (size - size // 2), size))
        elif size > 1:
            total = Fraction(sum(min(at, size - at) for at in range(size)), size)
            loads.append(total / (2 if size > 2 else 1))
    return max(loads)


def wrapped_relay(shape: Wrapped) -> Schedule:
    """An all-to-all on a plain or twisted torus: every block in two slices per axis, spread over the shortest ways.

    All ranks do the same, moved. A slice makes one hop in every step. The ways are chosen so that
    all directions carry alike, or nearly.

    >>> from colllib.execution import execute
    >>> twisted = Wrapped((4, 8))
    >>> max(execute(wrapped_relay(twisted), twisted.topology()).link_total)
    Fraction(21, 32)
    """
    slices = 2 * len(shape.dims)
    chosen, moved = shape.spread(slices), shape.moved()
    rank = np.arange(shape.ranks)
    target = np.repeat(rank, slices)  # of rank 0's slices; rank r's come after all of r - 1's
    trails = [shape.trail(way, number % len(shape.dims)) for number, way in enumerate(chosen)]
    share = Fractions.equal(len(chosen) * shape.ranks, shape.ranks)
    blocks = Blocks(shape.ranks, share, np.repeat(rank, len(chosen)), moved[:, target].ravel(), ())

    def step(t: int) -> Step:
        going = np.array([number for number, trail in enumerate(trails) if len(trail) > t + 1], dtype=np.intp)
        here, there = (np.array([trails[number][t + k] for number in going]) for k in (0, 1))
        block = rank[:, None] * len(chosen) + going
        return Step.of(moved[:, here].ravel(), moved[:, there].ravel(), block.ravel())

    return Schedule(blocks, max(map(len, trails)) - 1, step)
