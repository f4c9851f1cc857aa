"""Collectives over several axes or tiers, from a schedule for each: the tensor product of schedules.

A block of the whole is one block of each axis: its share is the product of their shares, its
sources and targets are the products of their rank sets. A phase runs a schedule on all lines of one
axis at once, for all blocks of the other axes, carried by the ranks that hold them by then: those
blocks' sources as long as their axis has not run, its targets once it has.

One function gives hierarchical all-reduces (reduce-scatter inside a box, all-reduce between, then
all-gather inside), collectives axis by axis on a torus, all-to-all in two phases, a broadcast tree
of trees, and sub-communicators, over any number of tiers with any algorithm on each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from colllib.exact import Fractions, IntArray, multiplied
from colllib.limits import MOST_AT_ONCE, MOST_BLOCKS, MOST_MESSAGES, check_size
from colllib.primitives import Blocks
from colllib.schedule import Orbit, Schedule, Step, kept
from colllib.topology import Lattice


class Collision(ValueError):
    """Lines of an axis that bring one switch the same block, of which it holds one value."""


@dataclass(frozen=True, eq=False)
class Phase:
    """A schedule on every line of an axis.

    Args:
        axis: which.
        schedule: for as many ranks as the axis has.
        switches: where switches take part, the topology's switch that each of the schedule's
            stands for on each line, lines in rank order, shape (lines, switches).
    """

    axis: int
    schedule: Schedule
    switches: IntArray | None = None


class Flows(NamedTuple):
    """What goes from node to node in a step: sources, destinations and shares of M, shape (n,).

    They are `alike` if they are rank 0's alone, and all others' are these, shifted along the lattice. Those that take
    paths of their own say over which `links` each goes: both arrays as a router gives them.
    """

    src: IntArray
    dst: IntArray
    share: NDArray[np.float64]
    alike: bool = False
    links: tuple[IntArray, IntArray] | None = None


def flows(lattice: Lattice, phases: Sequence[Phase], which: int, shifted: bool = False) -> Iterator[Flows]:
    """What one of the phases sends in each step, the same whatever algorithms the other axes have.

    Args:
        lattice: as for `nested`.
        phases: as for `nested`.
        which: the phase.
        shifted: whether to give those of rank 0 alone, where all others' are these, shifted.

    Raises:
        Collision: for lines that bring a switch the same block.
        TooLarge: if a great many steps differ, each with many messages.

    >>> from colllib.algorithms import allgather
    >>> phases = [Phase(1, allgather.ring(2)), Phase(0, allgather.ring(3))]
    >>> [(flow.dst.tolist(), round(6 * flow.share.sum())) for flow in flows(Lattice((3, 2)), phases, 0)]
    [([3, 4, 5, 0, 1, 2], 6)]
    """
    phase = phases[which]
    by_axis = [
        [other.schedule for other in phases if other.axis == axis != phase.axis] for axis in range(len(lattice.dims))
    ]
    others = [schedules or [_idle(lattice.dims[axis])] for axis, schedules in enumerate(by_axis)]
    done = [sum(other.axis == axis != phase.axis for other in phases[:which]) for axis in range(len(others))]
    if phase.switches is not None:
        axes = [_Axis(lattice, axis, schedules) for axis, schedules in enumerate(others)]
        _run(lattice, phase, axes, done)  # which refuses lines that bring a switch the same block
    place, line, share, lines = np.zeros(1, dtype=np.intp), np.zeros(1, dtype=np.intp), np.ones(1), 1
    for number, schedules in enumerate(others):
        if number != phase.axis:
            at, share_at = _holdings(schedules, done[number])
            place = (at[:, None] * lattice.strides[number] + place).ravel()
            line = (at[:, None] * lines + line).ravel()
            share = np.multiply.outer(share_at, share).ravel()
            lines *= lattice.dims[number]
    of_one = isinstance(phase.schedule, Orbit) and phase.schedule.lattice == Lattice((phase.schedule.ranks,))
    alike = shifted and of_one and len(share) == lines and bool(np.ptp(share) == 0)
    if alike:
        place, share = place[:1], share[:1]
    last, flow, messages = b"", Flows(place, place, share), 0
    for t in range(phase.schedule.num_steps):
        if t == 0 or phase.schedule.pattern(t) != last:
            last = phase.schedule.pattern(t)
            src, dst, size = phase.schedule.carried(t, alike)
            messages += len(src) * len(share)
            check_size(f"what a phase on axis {phase.axis} of {lattice} sends", messages, MOST_AT_ONCE, "messages")
            src, dst = (_nodes(lattice, phase, end, place, line) for end in (src, dst))
            flow = Flows(src, dst, np.multiply.outer(size.as_floats(), share).ravel(), alike)
        yield flow


def _holdings(schedules: list[Schedule], done: int) -> tuple[IntArray, NDArray[np.float64]]:
    """At which coordinates of an axis there are blocks after so many phases, and how much of M they are at each."""
    schedule, after = schedules[max(done - 1, 0)], done > 0
    if isinstance(schedule, Orbit) and schedule.lattice.wraps and not schedule.fixed_axes:
        blocks, copies = schedule.seed.blocks, schedule.ranks  # of which every rank holds as much as any other
    else:
        blocks, copies = schedule.blocks, 1
    holder = blocks.target if after else blocks.source
    values = blocks.ranks + len(blocks.groups)
    count = np.bincount(holder, minlength=values)
    share: NDArray[np.float64] = np.bincount(holder, blocks.share.as_floats(), values).astype(np.float64)
    for value, group in enumerate(blocks.groups, start=blocks.ranks):
        count[group] += count[value]
        share[group] += share[value]
    if copies > 1:
        return np.arange(blocks.ranks), np.full(blocks.ranks, share[: blocks.ranks].sum())
    at = np.flatnonzero(count[: blocks.ranks])
    return at, share[at]


def nested(lattice: Lattice, phases: Sequence[tuple[int, Schedule] | Phase]) -> Schedule:
    """The phases one after another, each on all lines of its axis.

    Args:
        lattice: the axes; of boxes the first axis is the place in the box.
        phases: what runs on which axis. Phases on one axis must have the same blocks, and what one
            leaves is what the next needs. An axis without a phase divides the ranks into groups,
            each of which has a message of its own.

    Raises:
        ValueError: for an axis that is not there, a schedule for another number of ranks, phases
            on one axis that cut the message differently, or lines that bring a switch the same block.

    >>> from colllib.algorithms import allgather, allreduce, reducescatter
    >>> from colllib.execution import execute
    >>> from colllib.topology import boxes
    >>> phases = [(0, reducescatter.ring(4)), (1, allreduce.recursive_doubling(2)), (0, allgather.ring(4))]
    >>> for kind in execute(nested(Lattice((4, 2)), phases), boxes((2, 4))).kinds():
    ...     print(kind.steps, *kind.loads)
    1 0 1/4 1
    6 1/4 0 0
    """
    chosen = [phase if isinstance(phase, Phase) else Phase(*phase) for phase in phases]
    for phase in chosen:
        if not 0 <= phase.axis < len(lattice.dims):
            raise ValueError(f"axis {phase.axis}: the lattice {lattice} has the axes 0..{len(lattice.dims) - 1}")
    used = {phase.axis for phase in chosen}
    chosen += [Phase(axis, _idle(size)) for axis, size in enumerate(lattice.dims) if axis not in used]
    by_axis = [[phase.schedule for phase in chosen if phase.axis == axis] for axis in range(len(lattice.dims))]
    if (common := _common_lattice(by_axis)) is not None:
        seeds = [Phase(phase.axis, cast(Orbit, phase.schedule).seed) for phase in chosen]
        return Orbit(nested(lattice, seeds), *common)
    axes = [_Axis(lattice, axis, schedules) for axis, schedules in enumerate(by_axis)]
    check_size(f"phases on {lattice}", prod(len(axis.share) for axis in axes), MOST_BLOCKS, "blocks")
    steps, done = [], [0] * len(axes)
    for phase in chosen:
        blocks, steps_of_phase = _run(lattice, phase, axes, done)
        messages = phase.schedule.num_messages * blocks
        check_size(f"a phase on axis {phase.axis} of {lattice}", messages, MOST_MESSAGES, "messages")
        steps.append(steps_of_phase)
        done[phase.axis] += 1
    ends = np.cumsum([0, *(phase.schedule.num_steps for phase in chosen)])

    def step(t: int) -> Step:
        which = int(np.searchsorted(ends, t, side="right")) - 1
        return steps[which](t - int(ends[which]))

    switches = [int(phase.switches.max(initial=-1)) + 1 for phase in chosen if phase.switches is not None]
    source, groups = _products(lattice, [axis.holding[0] for axis in axes], 0)
    target, more = _products(lattice, [axis.holding[-1] for axis in axes], len(groups))
    all_blocks = Blocks(lattice.ranks, _shares(axes), source, target, (*groups, *more))
    return Schedule(all_blocks, int(ends[-1]), step, max(switches, default=0))


def _idle(ranks: int) -> Orbit:
    """Nothing happens, and every rank keeps a message of its own."""
    own = Blocks(ranks, Fractions.equal(1), np.zeros(1, dtype=np.intp), np.zeros(1, dtype=np.intp), ())
    return Orbit(Schedule.from_steps(own, []), Lattice((ranks,)))


def _common_lattice(by_axis: list[list[Schedule]]) -> tuple[Lattice, list[int]] | None:
    """The lattice and fixed axes of all phases as one orbit, if all schedules of an axis are orbits of one group."""
    dims: list[int] = []
    fixed_axes: list[int] = []
    for first, *others in by_axis:
        if not isinstance(first, Orbit) or not first.lattice.wraps or not all(map(first.same_group, others)):
            return None
        fixed_axes += [len(dims) + axis for axis in first.fixed_axes]
        dims += first.lattice.dims
    return Lattice(tuple(dims)), fixed_axes


class _Axis:
    """What the schedules on one axis agree on: the blocks, and who has them before and after each."""

    def __init__(self, lattice: Lattice, axis: int, schedules: list[Schedule]) -> None:
        size = lattice.dims[axis]
        for schedule in schedules:
            if schedule.ranks != size:
                raise ValueError(f"a schedule for {schedule.ranks} ranks on axis {axis} of {lattice}, which has {size}")
            if not schedule.blocks.share.same_as(schedules[0].blocks.share):
                raise ValueError(f"the phases on axis {axis} must cut the message into the same blocks")
        parts = [schedule.blocks for schedule in schedules]
        self.size, self.share = size, parts[0].share
        #: who has each block before the first phase, and after each one, as (blocks, value)
        self.holding = [(parts[0], parts[0].source), *((part, part.target) for part in parts)]

    def pairs(self, done: int) -> tuple[IntArray, IntArray]:
        """Every (coordinate, block) that is there after so many phases."""
        part, holder = self.holding[done]
        if (holder < part.ranks).all():
            return holder, np.arange(len(holder))
        places = [part.holders(int(value)) for value in holder]
        return np.concatenate(places), np.repeat(np.arange(len(holder)), [len(place) for place in places])


def _run(lattice: Lattice, phase: Phase, axes: list[_Axis], done: list[int]) -> tuple[int, Callable[[int], Step]]:
    """How many blocks of the other axes a phase takes along, and its steps, on all lines and for all of those."""
    counts = [len(axis.share) for axis in axes]
    stride, lines = prod(counts[: phase.axis]), 1
    place, line, block = (np.zeros(1, dtype=np.intp) for _ in range(3))
    for number, axis in enumerate(axes):
        if number != phase.axis:
            at, of_axis = axis.pairs(done[number])
            place = (at[:, None] * lattice.strides[number] + place).ravel()
            line = (at[:, None] * lines + line).ravel()
            block = (of_axis[:, None] * prod(counts[:number]) + block).ravel()
            lines *= axis.size
    for switch in () if phase.switches is None else np.asarray(phase.switches).T:
        if len(np.unique(np.stack((switch[line], block)), axis=1).T) < len(block):  # a switch holds one value of each
            raise Collision(
                f"axis {phase.axis}: several of its lines would meet in one switch with the same blocks; let "
                "it run where they have different ones, such as after a reduce-scatter on the axes that share it"
            )
    ends = kept(lambda *both: tuple(_nodes(lattice, phase, end, place, line) for end in both))

    def step(t: int) -> Step:
        inner = phase.schedule.step(t)
        check_size(f"a step on axis {phase.axis}", len(inner.src) * len(block), MOST_AT_ONCE, "messages")
        blocks = (inner.block[:, None] * stride + block).ravel()
        return Step(*ends(inner.src, inner.dst), blocks, np.repeat(inner.add, len(block)))

    return len(block), step


def _nodes(lattice: Lattice, phase: Phase, end: IntArray, place: IntArray, line: IntArray) -> IntArray:
    """The nodes of a phase on all lines, given where these are and their numbers."""
    node = end[:, None] * lattice.strides[phase.axis] + place
    size = phase.schedule.ranks
    if phase.switches is not None and (end >= size).any():
        of_line = np.asarray(phase.switches)[:, np.maximum(end - size, 0)].T
        node = np.where((end >= size)[:, None], lattice.ranks + of_line[:, line], node)
    return node.ravel()


def _shares(axes: list[_Axis]) -> Fractions:
    """The products of the axes' shares, the first axis's running fastest."""
    first = [axis.share[0] if len(axis.share) else Fraction(0) for axis in axes]
    if all((axis.share.numerators == axis.share.numerators[:1]).all() for axis in axes):
        count = prod(len(axis.share) for axis in axes)
        return Fractions.equal(count, count * prod(first))
    share = axes[0].share
    for axis in axes[1:]:
        together = np.tile(share.numerators, len(axis.share)), np.repeat(axis.share.numerators, len(share))
        share = Fractions(multiplied(*together), share.denominator * axis.share.denominator)
    return share


def _products(lattice: Lattice, parts: list[tuple[Blocks, IntArray]], groups: int) -> tuple[IntArray, list[IntArray]]:
    """For every block of the whole the rank, or the new group of ranks, that the axes' values stand for together."""
    radix = [part.ranks + len(part.groups) for part, _ in parts]
    single = all((holder < part.ranks).all() for part, holder in parts)
    weight = lattice.strides if single else [prod(radix[:number]) for number in range(len(radix))]
    code = np.zeros(1, dtype=np.intp)
    for (_, holder), scale in zip(parts, weight, strict=True):
        code = (holder[:, None] * scale + code).ravel()
    if single:
        return code, []
    new_groups: list[IntArray] = []
    values, place = np.unique(code, return_inverse=True)
    meaning = np.zeros(len(values), dtype=np.intp)
    for number, value in enumerate(values.tolist()):
        ranks = np.zeros(1, dtype=np.intp)
        for (part, _), scale, size, stride in zip(parts, weight, radix, lattice.strides, strict=True):
            ranks = (part.holders(value // scale % size)[:, None] * stride + ranks).ravel()
        if len(ranks) == 1:
            meaning[number] = ranks[0]
        else:
            meaning[number] = lattice.ranks + groups + len(new_groups)
            new_groups.append(np.sort(ranks))
    return meaning[place], new_groups
