"""All-to-all on lattices: every block hops to its destination over shortest paths, from rank to rank."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np

from colllib.algorithms import direct
from colllib.closed_form import EQUAL_EVEN_LONG_RINGS, formulas
from colllib.exact import Fractions, IntArray
from colllib.lattice_group import LatticeGroup
from colllib.limits import MOST_BLOCKS, MOST_MESSAGES, check_size
from colllib.primitives import Blocks, all_to_all
from colllib.schedule import Orbit, Schedule, Step
from colllib.symmetry import by_symmetry
from colllib.topology import Lattice, Topology, torus
from colllib.topology.lattice import shortest_way
from colllib.topology.twisted import Wrapped

TIES = ("up", "balanced", "split")


def relay(lattice: Lattice, *, tie: str = "balanced", phased: bool = False, rotated: bool = False) -> Schedule:
    """All blocks move one hop in every step, along one axis after the other, several on a link as one message.

    Args:
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
    uneven = lattice.wraps and tie == "balanced"  # where a tie goes depends on where the block starts
    rank = np.arange(lattice.ranks)
    starts = rank if uneven else rank[LatticeGroup.of(lattice).element_to(rank) == 0]
    moves = len(starts) * lattice.ranks * len(axes) * len(turns)
    check_size(f"a relay on {lattice}", moves, MOST_MESSAGES, "moves of blocks along axes")
    paths = _Paths(lattice, tie, turns, starts)
    longest = paths.hops.max(axis=0, initial=0)
    schedule = Schedule(paths.blocks, int(longest.sum()), lambda t: paths.step(t, longest if phased else None))
    return schedule if uneven else Orbit(schedule, lattice)


def rotated_relay(lattice: Lattice | Wrapped) -> Schedule:
    """`relay` with its ties split and its blocks sliced: all axes at a time, both ways alike.

    On a twisted torus `wrapped_relay`.

    >>> rotated_relay(Lattice((4, 4))).num_steps, rotated_relay(Wrapped((4, 8))).num_steps
    (4, 4)
    """
    if isinstance(lattice, Wrapped):
        return wrapped_relay(lattice)
    return relay(lattice, tie="split", rotated=True)


#: Known where all links are busy in every step, else to be executed.
rotated_relay_cost = formulas("total(d // 2)", "most(d) / 8", EQUAL_EVEN_LONG_RINGS)


class _Paths:
    """The paths of all blocks of some ranks, a slice of each for every turn: on each axis the direction and hops."""

    def __init__(self, lattice: Lattice, tie: str, turns: list[tuple[int, ...]], sources: IntArray) -> None:
        self.lattice, self.turns = lattice, turns
        source, target = np.repeat(sources, lattice.ranks), np.tile(np.arange(lattice.ranks), len(sources))
        axes = range(len(lattice.dims))
        rule = "up" if tie == "split" else tie
        routes = [shortest_way(lattice, axis, source, target, rule) for axis in axes]
        direction, hops = (np.stack([pair[side] for pair in routes], axis=1) for side in (0, 1))
        parts = 2 ** len(lattice.dims) if tie == "split" else 1
        share = np.full(len(source), parts)
        if tie == "split" and lattice.wraps:
            for axis in axes:
                # an axis of size 2 has one link each way: there is no other way round
                half = np.flatnonzero((2 * hops[:, axis] == lattice.dims[axis]) & (lattice.dims[axis] > 2))
                share[half] //= 2
                order = np.concatenate((np.arange(len(source)), half))
                source, target, share = source[order], target[order], share[order]
                direction, hops = direction[order], hops[order]
                direction[len(order) - len(half) :, axis] *= -1
        self.source, self.direction, self.hops = source, direction, hops
        share, source, target = (np.tile(column, len(turns)) for column in (share, source, target))
        self.blocks = Blocks(lattice.ranks, Fractions(share, lattice.ranks * parts * len(turns)), source, target, ())

    def step(self, t: int, phases: IntArray | None = None) -> Step:
        """The hops of step t; with `phases`, the length of each axis's phase, an axis at a time."""
        parts = []
        for turn, order in enumerate(self.turns):
            at, moves = self.source, np.full(len(self.source), t)
            for axis in order:
                direction, hops = self.direction[:, axis], self.hops[:, axis]
                at = self.lattice.shifted(at, axis, direction * np.clip(moves, 0, hops))
                going = np.flatnonzero((moves >= 0) & (moves < hops))
                ahead = self.lattice.shifted(at[going], axis, direction[going])
                parts.append(Step.of(at[going], ahead, turn * len(self.source) + going))
                moves = moves - (hops if phases is None else phases[axis])
        return Step.joined(parts)


def relay_one_by_one(topology: Topology) -> Schedule:
    """One block on a link and step, the blocks with most hops still to go first.

    Every block follows the topology's own route. The order is a greedy one; on a symmetric
    topology it keeps the busiest link busy, and the number of steps says how well.

    Args:
        topology: one with a route for every pair of ranks.

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
        next_link = link[first[waiting] + done[waiting]]
        order = np.lexsort((waiting, done[waiting] - hops[waiting], next_link))
        chosen = order[np.r_[True, next_link[order][1:] != next_link[order][:-1]]]
        used = next_link[chosen]
        steps.append(Step.of(topology.link_src[used], topology.link_dst[used], away[waiting[chosen]]))
        done[waiting[chosen]] += 1
    return Schedule.from_steps(blocks, steps)


def link_loads(topology: Topology) -> tuple[Fraction, ...]:
    """What every link carries in an all-to-all over the topology's own routes, as a share of M, whatever the order.

    >>> from colllib.topology import torus
    >>> {str(load) for load in link_loads(torus((4, 4), tie="balanced"))}
    {'1/2'}
    """
    axes = Lattice((topology.ranks,)) if topology.lattice is None else topology.lattice
    straight = direct.all_to_all(topology.ranks)
    assert isinstance(straight, Orbit)
    return by_symmetry(Orbit(straight.seed, Lattice(axes.dims)), topology).link_total


def torus_link_loads(lattice: Lattice) -> list[tuple[Fraction, Fraction]]:
    """`link_loads` of a torus, ties up: for each axis what every link up and every link down carries.

    >>> [(str(up), str(down)) for up, down in torus_link_loads(Lattice((16, 16, 16)))]
    [('9/4', '7/4'), ('9/4', '7/4'), ('9/4', '7/4')]
    """
    by_class = iter(link_loads(torus(lattice.dims))[:: lattice.ranks])
    loads = []
    for size in lattice.dims:
        up = next(by_class) if size > 1 else Fraction(0)
        loads.append((up, next(by_class) if size > 2 else up))
    return loads


@cache
def relay_load(lattice: Lattice) -> Fraction:
    """n_beta of `relay` with its ties split, if no link ever idled: the busiest axis's load.

    d/8 for the longest axis where that is even and at least 4, (d^2 - 1)/8d where it is odd; 1/2 for one of 2,
    also beside one of 3.

    >>> relay_load(Lattice((8, 8, 8))), relay_load(Lattice((5, 3))), relay_load(Lattice((3, 2)))
    (Fraction(1, 1), Fraction(3, 5), Fraction(1, 2))
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
    """An all-to-all on a plain or twisted torus: every block in two slices per axis, spread over the shortest paths.

    What other ranks do is an image of what rank 0 does. A slice makes one hop in every step. The paths
    are chosen so that all directions carry alike, or nearly.

    >>> from colllib.execution import execute
    >>> twisted = Wrapped((4, 8))
    >>> max(execute(wrapped_relay(twisted), twisted.topology()).link_total)
    Fraction(21, 32)
    """
    slices = 2 * len(shape.dims)
    check_size(f"a relay on {shape.dims}", slices * shape.ranks**2, MOST_BLOCKS, "slices")
    chosen, translations = shape.spread(slices), shape.translations()
    rank = np.arange(shape.ranks)
    target = np.repeat(rank, slices)  # of rank 0's slices; rank r's come after all of r - 1's
    trails = [shape.trail(path, number % len(shape.dims)) for number, path in enumerate(chosen)]
    share = Fractions.equal(len(chosen) * shape.ranks, shape.ranks)
    blocks = Blocks(shape.ranks, share, np.repeat(rank, len(chosen)), translations[:, target].ravel(), ())

    def step(t: int) -> Step:
        going = np.array([number for number, trail in enumerate(trails) if len(trail) > t + 1], dtype=np.intp)
        sender, receiver = (np.array([trails[number][t + k] for number in going]) for k in (0, 1))
        block = rank[:, None] * len(chosen) + going
        return Step.of(translations[:, sender].ravel(), translations[:, receiver].ravel(), block.ravel())

    return Schedule(blocks, max(map(len, trails)) - 1, step)
