"""Schedules: steps of messages in numpy arrays, and the operations that turn schedules into schedules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from colllib.exact import Fractions, IntArray
from colllib.primitives import Blocks, check_rank, check_ranks, is_whole, whole_numbers

BoolArray = NDArray[np.bool_]


class Step(NamedTuple):
    """The messages of one step: message i carries block[i] from src[i] to dst[i].

    `add[i]` says whether the receiver adds what arrives to what it holds, or replaces it. All
    messages of a step read the state before the step. Nodes below N are ranks, the others
    switches.
    """

    src: IntArray
    dst: IntArray
    block: IntArray
    add: BoolArray

    @classmethod
    def of(cls, src: object, dst: object, block: object, add: object = False) -> Step:
        """A step from anything that broadcasts to arrays of one length.

        Raises:
            ValueError: for a node or block that is no whole number.

        >>> Step.of([0, 1], [1, 0], 0, add=True)
        Step(src=array([0, 1]), dst=array([1, 0]), block=array([0, 0]), add=array([ True,  True]))
        """
        named = (("node", src), ("node", dst), ("block", block))
        columns = [np.atleast_1d(whole_numbers(name, values)) for name, values in named]
        adds = np.atleast_1d(np.asarray(add, dtype=np.bool_))
        length = next((len(column) for column in (*columns, adds) if len(column) != 1), 1)
        source, target, blocks = (c if len(c) == length else np.broadcast_to(c, length).copy() for c in columns)
        return cls(source, target, blocks, adds if len(adds) == length else np.broadcast_to(adds, length).copy())

    def taken(self, which: BoolArray | IntArray) -> Step:
        """Some of the messages, by a mask or by their places."""
        return Step(self.src[which], self.dst[which], self.block[which], self.add[which])

    def partners(self) -> tuple[int, int]:
        """The most nodes that one node sends to, and that one receives from.

        >>> Step.of([0, 0, 0, 1], [1, 2, 2, 2], [0, 0, 1, 0]).partners()
        (2, 2)
        """
        out, into = np.unique(np.stack((self.src, self.dst)), axis=1)
        return int(np.bincount(out).max(initial=0)), int(np.bincount(into).max(initial=0))

    @classmethod
    def joined(cls, steps: Sequence[Step]) -> Step:
        """The messages of several steps in one."""
        if len(steps) == 1:
            return steps[0]
        if not steps:
            return cls.of([], [], [])
        return cls(*(np.concatenate(parts) for parts in zip(*steps, strict=True)))


@dataclass(frozen=True, eq=False)
class Schedule:
    """What is sent when: a number of steps, each made on demand as arrays.

    Args:
        blocks: the blocks with their shares, sources and targets: what must become true.
        num_steps: the number of steps T.
        step: step(t) for t = 0..T-1. It is called as often as needed and must be pure; large
            schedules never exist as a whole.
        switches: number of switches that take part as nodes N..N+switches-1.

    >>> from colllib.primitives import broadcast
    >>> chain = Schedule.from_steps(broadcast(3), [Step.of(0, 1, 0), Step.of(1, 2, 0)])
    >>> chain
    Schedule(3 ranks, 1 blocks, 2 steps)
    """

    blocks: Blocks
    num_steps: int
    step: Callable[[int], Step]
    switches: int = 0

    @classmethod
    def from_steps(cls, blocks: Blocks, steps: Sequence[Step], switches: int = 0) -> Schedule:
        """A schedule from a list of steps."""
        steps = tuple(steps)
        return cls(blocks, len(steps), steps.__getitem__, switches)

    @property
    def ranks(self) -> int:
        """Number of ranks N."""
        return self.blocks.ranks

    @property
    def nodes(self) -> int:
        """Number of ranks and switches."""
        return self.ranks + self.switches

    @property
    def num_messages(self) -> int:
        """Number of (source, destination, block) messages over all steps."""
        return sum(len(self.step(t).src) for t in range(self.num_steps))

    def __repr__(self) -> str:
        return f"Schedule({self.ranks} ranks, {len(self.blocks)} blocks, {self.num_steps} steps)"


def in_sequence(first: Schedule, second: Schedule) -> Schedule:
    """One schedule after another on the same blocks: what `first` leaves is what `second` needs.

    Raises:
        ValueError: if the two do not speak of the same ranks and blocks.

    >>> from colllib.algorithms import allgather, reducescatter
    >>> in_sequence(reducescatter.ring(4), allgather.ring(4))
    Schedule(4 ranks, 4 blocks, 6 steps)
    """
    if first.ranks != second.ranks or not first.blocks.share.same_as(second.blocks.share):
        raise ValueError(
            f"{first!r} cannot be followed by {second!r}: both must have the same ranks and the same blocks"
        )
    offset = len(first.blocks.groups)
    ranks = first.ranks
    target = np.where(second.blocks.target < ranks, second.blocks.target, second.blocks.target + offset)
    blocks = replace(first.blocks, target=target, groups=first.blocks.groups + second.blocks.groups)

    def step(t: int) -> Step:
        return first.step(t) if t < first.num_steps else second.step(t - first.num_steps)

    return Schedule(blocks, first.num_steps + second.num_steps, step, max(first.switches, second.switches))


def side_by_side(*schedules: Schedule) -> Schedule:
    """Several schedules in the same steps, each on blocks of its own.

    The blocks keep their shares: for parts of one message `scaled` first. Step t holds step t of
    every schedule that has one.

    Raises:
        ValueError: if there is no schedule, or the numbers of ranks differ (`placed` changes them).

    >>> from colllib.algorithms import reducescatter
    >>> left, right = (scaled(reducescatter.ring(4, direction=d), Fraction(1, 2)) for d in (1, -1))
    >>> side_by_side(left, right).blocks.share.total()
    Fraction(1, 1)
    """
    if not schedules:
        raise ValueError("no schedule given: side_by_side needs at least one")
    ranks = schedules[0].ranks
    if any(schedule.ranks != ranks for schedule in schedules):
        raise ValueError(
            f"schedules on {sorted({s.ranks for s in schedules})} ranks: place them on the same ranks first"
        )
    first_block = np.cumsum([0, *(len(schedule.blocks) for schedule in schedules)])
    blocks = _joined_blocks([schedule.blocks for schedule in schedules])

    def step(t: int) -> Step:
        parts = []
        for schedule, offset in zip(schedules, first_block, strict=False):
            if t < schedule.num_steps:
                part = schedule.step(t)
                parts.append(part._replace(block=part.block + offset))
        return Step.joined(parts)

    longest = max(schedule.num_steps for schedule in schedules)
    return Schedule(blocks, longest, step, max(schedule.switches for schedule in schedules))


def _joined_blocks(parts: Sequence[Blocks]) -> Blocks:
    ranks = parts[0].ranks
    sources: list[IntArray] = []
    targets: list[IntArray] = []
    groups: list[IntArray] = []
    for part in parts:
        for side, values in ((sources, part.source), (targets, part.target)):
            side.append(np.where(values < ranks, values, values + len(groups)))
        groups.extend(part.groups)
    share = Fractions.joined([part.share for part in parts])
    return Blocks(ranks, share, np.concatenate(sources), np.concatenate(targets), tuple(groups))


def reversed_in_time(schedule: Schedule) -> Schedule:
    """The schedule backwards: every message returns, every copy becomes an addition and vice versa.

    A broadcast becomes a reduce, an all-gather a reduce-scatter, provided that no rank receives
    what it holds already: backwards that would be counted twice, and `execute` says so. A block
    that goes from one rank to one other stays a copy: there is nothing to add to.

    >>> from colllib.algorithms import allgather
    >>> from colllib.execution import execute
    >>> execute(reversed_in_time(allgather.ring(5))).cost
    Cost(n_alpha=4, n_beta=4/5)
    """
    blocks = schedule.blocks
    single = (blocks.source < blocks.ranks) & (blocks.target < blocks.ranks)

    def step(t: int) -> Step:
        forward = schedule.step(schedule.num_steps - 1 - t)
        add = ~forward.add & ~single[forward.block]
        return Step(forward.dst, forward.src, forward.block, add)

    turned = replace(blocks, source=blocks.target, target=blocks.source)
    return replace(schedule, blocks=turned, step=step)


def placed(schedule: Schedule, onto: Sequence[int], ranks: int | None = None) -> Schedule:
    """The schedule on other ranks: its rank i becomes rank onto[i].

    Args:
        schedule: a schedule on n ranks.
        onto: n different ranks.
        ranks: number of ranks of the result (default: n, a permutation).

    Raises:
        ValueError: if `onto` has a wrong length, repeats a rank or leaves 0..ranks-1.

    >>> from colllib.algorithms import allreduce
    >>> from colllib.execution import execute
    >>> [str(share) for share in execute(placed(allreduce.ring(3), onto=[6, 2, 4], ranks=8)).sent]
    ['0', '0', '4/3', '0', '4/3', '0', '4/3', '0']
    """
    ranks = schedule.ranks if ranks is None else ranks
    check_ranks(ranks)
    if schedule.switches:
        raise ValueError("a schedule that uses switches belongs to its topology and cannot be placed elsewhere")
    if len(onto) != schedule.ranks or len(set(onto)) != len(onto):
        raise ValueError(f"onto = {list(onto)}: must name {schedule.ranks} different ranks")
    for rank in onto:
        check_rank("place", rank, ranks)
    where = np.asarray(onto, dtype=np.intp)
    old = schedule.blocks

    def moved(who: IntArray) -> IntArray:
        return np.where(who < old.ranks, where[np.minimum(who, old.ranks - 1)], who - old.ranks + ranks)

    groups = tuple(where[group] for group in old.groups)
    blocks = Blocks(ranks, old.share, moved(old.source), moved(old.target), groups)

    def step(t: int) -> Step:
        inner = schedule.step(t)
        return inner._replace(src=where[inner.src], dst=where[inner.dst])

    return Schedule(blocks, schedule.num_steps, step)


def scaled(schedule: Schedule, factor: Fraction | int) -> Schedule:
    """The same schedule for a message `factor` times as large.

    >>> from colllib.algorithms import allreduce
    >>> scaled(allreduce.recursive_doubling(4), Fraction(1, 3)).blocks.share.total()
    Fraction(1, 3)
    """
    if factor < 0:
        raise ValueError(f"factor {factor}: a message cannot have a negative size")
    return replace(schedule, blocks=replace(schedule.blocks, share=schedule.blocks.share.scaled(factor)))


def pipelined(schedule: Schedule, segments: int, interval: int = 1) -> Schedule:
    """Cut every block into equal segments and let segment k run k * interval steps behind the first.

    Segment k of block b is block b * segments + k. Nothing keeps two segments from meeting on one
    port in the same step: the ledger charges what they cost there.

    Args:
        schedule: any schedule of T steps.
        segments: number of segments P, at least 1.
        interval: steps between the starts of two segments, at least 1.

    Returns:
        a schedule of T + (P - 1) * interval steps.

    >>> from colllib.algorithms import broadcast
    >>> from colllib.execution import execute
    >>> execute(pipelined(broadcast.chain(4), 4)).cost
    Cost(n_alpha=6, n_beta=3/2)
    """
    for name, value in (("segments", segments), ("interval", interval)):
        if not is_whole(value) or value < 1:
            raise ValueError(f"{name} = {value!r}: must be a whole number of at least 1")
    if segments == 1 or schedule.num_steps == 0:
        return schedule
    old = schedule.blocks
    blocks = Blocks(
        old.ranks,
        old.share.scaled(Fraction(1, segments)).repeated(segments),
        np.repeat(old.source, segments),
        np.repeat(old.target, segments),
        old.groups,
    )
    steps = [schedule.step(t) for t in range(schedule.num_steps)]

    def step(t: int) -> Step:
        # segment k is in its step t - k * interval
        first = max(0, -(-(t - len(steps) + 1) // interval))
        parts = []
        for k in range(first, min(segments - 1, t // interval) + 1):
            part = steps[t - k * interval]
            parts.append(part._replace(block=part.block * segments + k))
        return Step.joined(parts)

    return Schedule(blocks, len(steps) + (segments - 1) * interval, step, schedule.switches)
