"""Schedules: steps of messages in numpy arrays, and the operations that turn schedules into schedules.

A schedule that is the same seen from every rank is an `Orbit`: what happens to some of the blocks,
and a group whose elements take them to all others. The operations that keep such a symmetry work on
those blocks alone, and give an orbit again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, wraps
from numbers import Rational
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from colllib.exact import Fractions, IntArray, counted, taken
from colllib.lattice_group import LatticeGroup
from colllib.limits import MOST_BLOCKS, MOST_MESSAGES, check_size
from colllib.primitives import Blocks, Primitive, check_counts, check_rank, check_ranks, whole_numbers
from colllib.topology.base import Lattice
from colllib.topology.paths import Paths
from colllib.units import shortened

BoolArray = NDArray[np.bool_]
Params = ParamSpec("Params")
Ends = Callable[[IntArray, IntArray], tuple[IntArray, IntArray]]  # of sources and destinations


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
            ValueError: for a node or block that is no whole number, or columns of different lengths.

        >>> Step.of([0, 1], [1, 0], 0, add=True)
        Step(src=array([0, 1]), dst=array([1, 0]), block=array([0, 0]), add=array([ True,  True]))
        """
        named = (("node", src), ("node", dst), ("block", block))
        columns: list[NDArray[Any]] = [np.atleast_1d(whole_numbers(name, values)) for name, values in named]
        columns.append(np.atleast_1d(np.asarray(add, dtype=np.bool_)))
        lengths = [len(column) for column in columns]
        length = next((number for number in lengths if number != 1), 1)
        if not {*lengths} <= {1, length}:
            raise ValueError(f"src, dst, block, add of lengths {lengths}: must be of one length, or of 1")
        return cls(*(column if len(column) == length else np.broadcast_to(column, length).copy() for column in columns))

    def taken(self, index: BoolArray | IntArray | slice) -> Step:
        """Some of the messages, by a mask or by their positions."""
        return Step(self.src[index], self.dst[index], self.block[index], self.add[index])

    def partners(self) -> tuple[int, int]:
        """The most nodes that one node sends to, and that one receives from.

        >>> Step.of([0, 0, 0, 1], [1, 2, 2, 2], [0, 0, 1, 0]).partners()
        (2, 2)
        """
        out, into = np.unique(np.stack((self.src, self.dst)), axis=1)
        return int(np.bincount(out).max(initial=0)), int(np.bincount(into).max(initial=0))

    @classmethod
    def joined(cls, steps: Sequence[Step]) -> Step:
        """The messages of a list of steps in one."""
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
        step: step(t) for t = 0..T-1, an IndexError for others. It is called as often as needed and must be
            pure: the ledger makes its arrays of ends read-only. Large schedules never exist as a whole.
        switches: number of switches that take part as nodes N..N+switches-1.
        flat: where they exist as a whole, the messages of all steps and the step of each, in order.
        paths: which messages take a path of their own instead of the topology's route.

    >>> from colllib.primitives import broadcast
    >>> chain = Schedule.from_steps(broadcast(3), [Step.of(0, 1, 0), Step.of(1, 2, 0)])
    >>> chain
    Schedule(3 ranks, 1 blocks, 2 steps)
    """

    blocks: Blocks
    num_steps: int
    step: Callable[[int], Step]
    switches: int = 0
    flat: tuple[IntArray, Step] | None = None
    paths: Paths | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", _within(self.num_steps, self.step))

    @classmethod
    def from_messages(cls, blocks: Blocks, num_steps: int, when: IntArray, messages: Step) -> Schedule:
        """A schedule from all its messages at once, for a great many steps of few messages.

        Args:
            when: the step of each message, in ascending order, shape (m,).
            messages: all of them, shape (m,).

        Raises:
            ValueError: if `when` is anything else.

        >>> from colllib.primitives import broadcast
        >>> chain = Schedule.from_messages(broadcast(3), 2, np.arange(2), Step.of([0, 1], [1, 2], 0))
        >>> chain.step(1)
        Step(src=array([1]), dst=array([2]), block=array([0]), add=array([False]))
        """
        alike = len(when) == len(messages.src)
        if not alike or (len(when) and np.diff(when, prepend=0, append=num_steps - 1).min() < 0):
            ordered = f"must name one of the steps 0..{num_steps - 1} for each of {len(messages.src)} messages"
            raise ValueError(f"when: {ordered}, in ascending order")
        first = np.searchsorted(when, np.arange(num_steps + 1))

        def step(t: int) -> Step:
            return messages.taken(slice(first[t], first[t + 1]))

        return cls(blocks, num_steps, step, flat=(when, messages))

    @classmethod
    def from_steps(cls, blocks: Blocks, steps: Sequence[Step], switches: int = 0) -> Schedule:
        """A schedule from a list of steps.

        Raises:
            ValueError: for anything else, such as a single step.
        """
        steps = tuple(steps)
        for step in steps:
            if not isinstance(step, Step):
                raise ValueError(f"a step is {shortened(repr(step))}: from_steps takes a list of Steps")
        return cls(blocks, len(steps), steps.__getitem__, switches)

    @property
    def steps(self) -> Iterator[Step]:
        """All steps in order, each made when its turn comes."""
        return map(self.step, range(self.num_steps))

    @property
    def ranks(self) -> int:
        """Number of ranks N."""
        return self.blocks.ranks

    @property
    def nodes(self) -> int:
        """Number of ranks and switches."""
        return self.ranks + self.switches

    @property
    def num_blocks(self) -> int:
        """Number of blocks."""
        return len(self.blocks)

    @cached_property
    def num_messages(self) -> int:
        """Number of (source, destination, block) messages over all steps."""
        return sum(len(step.src) for step in self.steps)

    @cached_property
    def messages(self) -> tuple[IntArray, Step]:
        """The step of every message, shape (m,), and all messages.

        >>> from colllib.algorithms import broadcast
        >>> when, messages = broadcast.chain(3).messages
        >>> when, messages.dst
        (array([0, 1]), array([1, 2]))
        """
        if self.flat is not None:
            return self.flat
        steps = list(self.steps)
        return np.repeat(np.arange(self.num_steps), [len(step.src) for step in steps]), Step.joined(steps)

    def makes(self, primitive: Primitive) -> bool:
        """Whether its end state is just this primitive's."""
        return primitive.accepts(self.blocks)

    def part(self, t: int) -> tuple[Step, int]:
        """Some messages of a step that stand for all, and how many of all each one stands for: here each for itself."""
        return self.step(t), 1

    def pattern(self, t: int) -> bytes:
        """Bytes that are the same only for steps in which the same blocks go from the same nodes to the same."""
        return b"".join(column.tobytes() for column in self.step(t)[:3])

    def carried(self, t: int, by_one: bool = False) -> tuple[IntArray, IntArray, Fractions]:
        """Sources and destinations of a step, and how much of M goes from one to the other, whatever the blocks.

        Args:
            t: which step.
            by_one: of an orbit, by one rank alone.

        >>> from colllib.algorithms import allgather
        >>> src, dst, share = allgather.recursive_doubling(4).carried(1)
        >>> src.tolist(), dst.tolist(), [str(part) for part in share]
        ([0, 1, 2, 3], [2, 3, 0, 1], ['1/2', '1/2', '1/2', '1/2'])
        """
        return bundled(self.step(t), self.blocks, self.nodes)

    def __repr__(self) -> str:
        return f"Schedule({self.ranks} ranks, {self.num_blocks} blocks, {self.num_steps} steps)"


def _within(num_steps: int, make: Callable[[int], Step]) -> Callable[[int], Step]:
    def step(t: int) -> Step:
        if not 0 <= t < num_steps:
            raise IndexError(f"step {t}: there are {num_steps}, counted from 0")
        return make(t)

    return step


def bundled(step: Step, blocks: Blocks, nodes: int) -> tuple[IntArray, IntArray, Fractions]:
    """The pairs of nodes between which the messages of a step go, and the share of M that each pair gets.

    >>> from colllib.algorithms import allreduce
    >>> ring = allreduce.ring(2)
    >>> src, dst, share = bundled(ring.step(0), ring.blocks, 2)
    >>> src, dst, share.total()
    (array([0, 1]), array([1, 0]), Fraction(1, 1))
    """
    pairs, number = np.unique(step.src * nodes + step.dst, return_inverse=True)
    share = counted(number, taken(blocks.share.numerators, step.block), len(pairs))
    src, dst = np.divmod(pairs, nodes)
    return src, dst, Fractions(share, blocks.share.denominator)


class Orbit(Schedule):
    """A schedule that is the same seen from every rank: what happens to a few blocks, and a group that takes it to all.

    The seed is a schedule for one block of every class. Each element of the lattice's group takes the
    messages, sources and targets of that block to those of another block of the class. The elements
    along the `fixed_axes` fix every block: there the seed says of one rank what holds for all.

    An orbit is a schedule like any other: `execute` runs it in full, its messages and blocks being
    made when they are asked for. `by_symmetry` runs the seed instead, and finds the same.

    Args:
        seed: a schedule on the ranks of the lattice, with one block of each class.
        lattice: whose group takes the seed's messages to all others.
        fixed_axes: those whose shifts fix every block.
        number: from arrays of classes b and copies a, the number of the a-th block of class b, which
            is the image of the seed's block b under element a of the transversal (default: class by
            class).

    Raises:
        ValueError: for a lattice of other ranks, switches that take part, or fixed axes on a mesh.

    >>> from colllib.algorithms import broadcast
    >>> one = scaled(broadcast.chain(4), Fraction(1, 4))  # every rank's block is broadcast: an all-gather
    >>> Orbit(one, Lattice((4,)))
    Schedule(4 ranks, 4 blocks, 3 steps)
    >>> Orbit(one, Lattice((4,))).step(1)._asdict()
    {'src': array([0, 1, 2, 3]), 'dst': array([1, 2, 3, 0]), 'block': array([3, 0, 1, 2]),
    'add': array([False, False, False, False])}
    """

    seed: Schedule
    lattice: Lattice
    fixed_axes: tuple[int, ...]
    number: Callable[[IntArray, IntArray], IntArray] | None
    group: LatticeGroup  # of the whole lattice
    stabilizer: LatticeGroup  # along the fixed axes: its elements fix every block
    transversal: LatticeGroup  # along all others: each of its elements but the identity takes every block to another

    def __new__(cls, *_: Any, **fields: Any) -> Schedule:  # type: ignore[misc]
        """With other blocks (`dataclasses.replace` asks for them) it is no orbit any more, but a plain schedule."""
        return Schedule(**fields) if "blocks" in fields else super().__new__(cls)

    def __init__(
        self,
        seed: Schedule,
        lattice: Lattice,
        fixed_axes: Sequence[int] = (),
        number: Callable[[IntArray, IntArray], IntArray] | None = None,
    ) -> None:
        if lattice.ranks != seed.ranks:
            raise ValueError(f"a schedule for {seed.ranks} ranks on {lattice}, which has {lattice.ranks}")
        if seed.switches or seed.paths:
            raise ValueError("a schedule that uses switches belongs to its topology and cannot be moved")
        if fixed_axes and not lattice.wraps:
            raise ValueError(f"fixed axes {list(fixed_axes)} of the mesh {lattice}: its mirrors fix no block")
        other_axes = tuple(axis for axis in range(len(lattice.dims)) if axis not in fixed_axes)
        arguments = {"seed": seed, "lattice": lattice, "fixed_axes": tuple(fixed_axes), "number": number}
        groups = {
            "group": LatticeGroup.of(lattice),
            "stabilizer": LatticeGroup(lattice, tuple(fixed_axes)),
            "transversal": LatticeGroup(lattice, other_axes),
        }
        inherited = {
            "num_steps": seed.num_steps,
            "step": _within(seed.num_steps, self._step),
            "switches": 0,
            "flat": None,
            "paths": None,
        }
        for name, value in (arguments | groups | inherited).items():
            object.__setattr__(self, name, value)

    @property
    def ranks(self) -> int:
        """Number of ranks N."""
        return self.seed.ranks

    @property
    def num_blocks(self) -> int:
        """Number of blocks, none of which is made for it."""
        return len(self.seed.blocks) * self.transversal.order

    @property
    def num_messages(self) -> int:
        """Number of (source, destination, block) messages over all steps."""
        return len(self.seed.messages[0]) * self.group.order

    def makes(self, primitive: Primitive) -> bool:
        """Whether its end state is just this primitive's; of an all-to-all, what all ranks send is not written out.

        >>> from colllib.algorithms import alltoall
        >>> from colllib.primitives import PRIMITIVES
        >>> alltoall.bruck(100000).makes(PRIMITIVES["all-to-all"])
        True
        """
        blocks = self.seed.blocks
        single = all((side < self.ranks).all() for side in (blocks.source, blocks.target))
        # the mirrors of a mesh do not take rank 0 to every other one
        if self.fixed_axes or primitive.name != "all-to-all" or not single or self.group.order < self.ranks:
            return super().makes(primitive)
        back = self.group.inverse(self.group.element_to(blocks.source))
        targets = self.group.image(blocks.target, back)  # of blocks that all start at rank 0
        return len(np.unique(targets)) == self.ranks and blocks.share.total() == 1

    def part(self, t: int) -> tuple[Step, int]:
        """The messages of the seed, each of which stands for its images."""
        return self.seed.step(t), self.group.order

    def pattern(self, t: int) -> bytes:
        """As of any schedule, for what one rank sends says what all send."""
        return self.of_one_rank.pattern(t)

    def carried(self, t: int, by_one: bool = False) -> tuple[IntArray, IntArray, Fractions]:
        """As of any schedule, counted for one rank."""
        src, dst, share = self.of_one_rank.carried(t)
        if by_one:
            return src, dst, share
        shares = Fractions(np.tile(share.numerators, self.group.order), share.denominator)
        return self.images(src), self.images(dst), shares

    def with_seed(self, seed: Schedule) -> Orbit:
        """The orbit of another seed under the same group."""
        number = self.number if len(seed.blocks) == len(self.seed.blocks) else None
        return Orbit(seed, self.lattice, self.fixed_axes, number)

    def same_group(self, other: Schedule) -> bool:
        """Whether the other is an orbit of the same group, with the same numbers for its blocks."""
        return (
            isinstance(other, Orbit)
            and (self.lattice, self.fixed_axes) == (other.lattice, other.fixed_axes)
            and self.number is other.number
        )

    def images(self, rank: IntArray) -> IntArray:
        """The images of some ranks under every element of the group in turn, shape (order * n,)."""
        return self.group.image(rank, np.arange(self.group.order)[:, None]).ravel()

    @cached_property
    def blocks(self) -> Blocks:
        """The blocks of all classes."""
        seed, copies = self.seed.blocks, np.arange(self.transversal.order)
        check_size(str(self), len(seed) * len(copies), MOST_BLOCKS, "blocks")
        place = np.argsort(self.numbered(np.repeat(np.arange(len(seed)), len(copies)), np.tile(copies, len(seed))))
        groups: list[IntArray] = []
        source, target = (self._holders(who, groups).ravel()[place] for who in (seed.source, seed.target))
        share = Fractions(taken(seed.share.numerators, place // len(copies)), seed.share.denominator)
        return Blocks(self.ranks, share, source, target, tuple(groups))

    def _holders(self, who: IntArray, groups: list[IntArray]) -> IntArray:
        """The sources or targets of all blocks, shape (classes, copies); groups that are new are added."""
        copies = np.arange(self.transversal.order)
        single = (who < self.ranks) & (self.stabilizer.order == 1)
        holders = self.transversal.image(who[:, None], copies)
        for value in np.unique(who[~single]):
            members = self.seed.blocks.holders(int(value))[:, None]
            ranks = np.unique(self.stabilizer.image(members, np.arange(self.stabilizer.order)))
            if len(ranks) == self.ranks:  # one group serves all copies
                holders[who == value] = self.ranks + len(groups)
                groups.append(ranks)
            else:
                holders[who == value] = self.ranks + len(groups) + copies
                groups += [self.transversal.image(ranks, copy) for copy in copies.tolist()]
        return holders

    def numbered(self, block: IntArray, copy: IntArray) -> IntArray:
        """The numbers of some of the seed's blocks under elements of the transversal; copy 0 is the seed's block."""
        return block * self.transversal.order + copy if self.number is None else self.number(block, copy)

    @cached_property
    def of_one_rank(self) -> Schedule:
        """All messages of the seed, each taken to where its sender's representative sends it.

        >>> from colllib.algorithms import allgather
        >>> _, messages = allgather.ring(4).of_one_rank.messages
        >>> messages.src, messages.dst
        (array([0, 0, 0]), array([1, 1, 1]))
        """
        when, messages = self.seed.messages
        src, dst = (self.group.image(end, self._back) for end in (messages.src, messages.dst))
        return Schedule.from_messages(self.seed.blocks, self.num_steps, when, messages._replace(src=src, dst=dst))

    @cached_property
    def _back(self) -> IntArray:
        """The elements that take the senders of the seed's messages to their representatives."""
        return self.group.inverse(self.group.element_to(self.seed.messages[1].src))

    @cached_property
    def _first(self) -> list[int]:
        """Where in the seed's messages each step begins, and where the last one ends."""
        edges: list[int] = np.searchsorted(self.seed.messages[0], np.arange(self.num_steps + 1)).tolist()
        return edges

    def _step(self, t: int) -> Step:
        one_rank = self.of_one_rank.step(t)
        check_size(f"{self}, step {t}", len(one_rank.src) * self.group.order, MOST_MESSAGES, "messages")
        # in a ring all messages go the same way in every step: with the same arrays their routes are found once
        key = (one_rank.src.tobytes(), one_rank.dst.tobytes())
        last = self.__dict__.get("_last")
        if last is None or last[0] != key:
            last = self.__dict__["_last"] = (key, self.images(one_rank.src), self.images(one_rank.dst))
        _, src, dst = last
        element = self.group.product(
            np.arange(self.group.order)[:, None], self._back[self._first[t] : self._first[t + 1]]
        )
        copy = self.transversal.element_to(element) if self.fixed_axes else element
        block = self.numbered(one_rank.block, copy).ravel()
        return Step(src, dst, block, np.tile(one_rank.add, self.group.order))


Transform = TypeVar("Transform", bound=Callable[..., Schedule])


def _of_seeds(transform: Transform) -> Transform:
    """An operation that does to orbits of the same group what it does to their seeds."""

    @wraps(transform)
    def transformed(*schedules: Any, **options: Any) -> Schedule:
        operands = [value for value in (*schedules, *options.values()) if isinstance(value, Schedule)]
        first = operands[0] if operands else None
        if not isinstance(first, Orbit) or not all(map(first.same_group, operands)):
            return transform(*schedules, **options)
        seed_options = {name: _seed(value) for name, value in options.items()}
        return first.with_seed(transform(*map(_seed, schedules), **seed_options))

    return cast(Transform, transformed)


def _seed(value: object) -> object:
    return value.seed if isinstance(value, Orbit) else value


@_of_seeds
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

    num_steps = first.num_steps + second.num_steps
    paths = Paths.joined([first.paths, second.paths])
    if first.flat is not None and second.flat is not None:
        when = np.concatenate((first.flat[0], second.flat[0] + first.num_steps))
        joined = Schedule.from_messages(blocks, num_steps, when, Step.joined([first.flat[1], second.flat[1]]))
        return replace(joined, paths=paths)

    def step(t: int) -> Step:
        return first.step(t) if t < first.num_steps else second.step(t - first.num_steps)

    return Schedule(blocks, num_steps, step, max(first.switches, second.switches), paths=paths)


@_of_seeds
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
    paths = [s.paths and s.paths.shifted(int(first)) for s, first in zip(schedules, first_block, strict=False)]
    return Schedule(blocks, longest, step, max(s.switches for s in schedules), paths=Paths.joined(paths))


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
    if isinstance(schedule, Orbit) and not schedule.fixed_axes:
        return schedule.with_seed(reversed_in_time(schedule.seed))
    blocks = schedule.blocks
    single = (blocks.source < blocks.ranks) & (blocks.target < blocks.ranks)

    def step(t: int) -> Step:
        forward = schedule.step(schedule.num_steps - 1 - t)
        add = ~forward.add & ~single[forward.block]
        return Step(forward.dst, forward.src, forward.block, add)

    swapped = replace(blocks, source=blocks.target, target=blocks.source)
    paths = schedule.paths and schedule.paths.backwards
    return Schedule(swapped, schedule.num_steps, step, schedule.switches, paths=paths)


def backwards(build: Callable[Params, Schedule]) -> Callable[Params, Schedule]:
    """The builder, with the same arguments, of what another one builds, `reversed_in_time`.

    >>> from colllib.algorithms import allgather
    >>> backwards(allgather.ring)(4, first=1).blocks.target
    array([3, 0, 1, 2])
    """

    @wraps(build)
    def build_reversed(*args: Params.args, **options: Params.kwargs) -> Schedule:
        return reversed_in_time(build(*args, **options))

    build_reversed.__doc__ = f"`{build.__name__}` backwards."
    return build_reversed


def there_and_back(build: Callable[Params, Schedule]) -> Callable[Params, Schedule]:
    """The builder, with the same arguments, of what another one builds and then the same `reversed_in_time`.

    Of a reduce, or a reduce-scatter, that is an all-reduce.

    >>> from colllib.algorithms import reducescatter
    >>> there_and_back(reducescatter.bruck)(6)
    Schedule(6 ranks, 6 blocks, 6 steps)
    """

    @wraps(build)
    def build_both(*args: Params.args, **options: Params.kwargs) -> Schedule:
        schedule = build(*args, **options)
        return in_sequence(schedule, reversed_in_time(schedule))

    build_both.__doc__ = f"`{build.__name__}`, then the same backwards."
    return build_both


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
    if schedule.switches or schedule.paths:
        raise ValueError("a schedule that uses switches belongs to its topology and cannot be placed elsewhere")
    if len(onto) != schedule.ranks or len(set(onto)) != len(onto):
        raise ValueError(f"onto = {list(onto)}: must name {schedule.ranks} different ranks")
    place = np.asarray(onto)
    if place.dtype.kind != "i" or place.min() < 0 or place.max() >= ranks:
        for rank in onto:
            check_rank("place", rank, ranks)
    place = place.astype(np.intp, copy=False)
    old = schedule.blocks

    def renumbered(who: IntArray) -> IntArray:
        return np.where(who < old.ranks, place[np.minimum(who, old.ranks - 1)], who - old.ranks + ranks)

    groups = tuple(place[group] for group in old.groups)
    blocks = Blocks(ranks, old.share, renumbered(old.source), renumbered(old.target), groups)

    ends = kept(lambda src, dst: (place[src], place[dst]))

    def step(t: int) -> Step:
        inner = schedule.step(t)
        src, dst = ends(inner.src, inner.dst)
        return inner._replace(src=src, dst=dst)

    return Schedule(blocks, schedule.num_steps, step)


def kept(change: Ends) -> Ends:
    """The same change of sources and destinations, which gives the same arrays again for the same ones as before.

    In a ring these are the same in all steps, and routes are found once for the same arrays.
    """
    last: list[IntArray] = []

    def changed(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        if not last or last[0] is not src or last[1] is not dst:
            last[:] = [src, dst, *change(src, dst)]
        return last[2], last[3]

    return changed


@_of_seeds
def scaled(schedule: Schedule, factor: Fraction | int) -> Schedule:
    """The same schedule for a message `factor` times as large.

    >>> from colllib.algorithms import allreduce
    >>> scaled(allreduce.recursive_doubling(4), Fraction(1, 3)).blocks.share.total()
    Fraction(1, 3)
    """
    if not isinstance(factor, Rational) or factor < 0:
        raise ValueError(f"factor {factor!r}: must be a whole number or a Fraction, and not negative")
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
    check_counts(segments=segments, interval=interval)
    if segments == 1 or schedule.num_steps == 0:
        return schedule
    if isinstance(schedule, Orbit):
        count = segments * len(schedule.seed.messages[0])
        check_size(f"{segments} segments of {schedule!r}", count, MOST_BLOCKS, "messages of one rank")

        def number(block: IntArray, copy: IntArray) -> IntArray:
            return schedule.numbered(block // segments, copy) * segments + block % segments

        return Orbit(pipelined(schedule.seed, segments, interval), schedule.lattice, schedule.fixed_axes, number)
    blocks = _cut(schedule.blocks, segments, "segments")
    steps = list(schedule.steps)
    num_messages = np.array([len(step.src) for step in steps])

    def step(t: int) -> Step:
        first = max(0, -(-(t - len(steps) + 1) // interval))
        last = min(segments - 1, t // interval)
        segment = np.arange(first, last + 1)
        inner = t - segment * interval  # the step that each segment is in
        messages = Step.joined([steps[k] for k in inner.tolist()])
        return messages._replace(block=messages.block * segments + np.repeat(segment, num_messages[inner]))

    num_steps = len(steps) + (segments - 1) * interval
    paths = schedule.paths and schedule.paths.segmented(segments)
    return Schedule(blocks, num_steps, step, schedule.switches, paths=paths)


def split(schedule: Schedule, pieces: int) -> Schedule:
    """Cut every block into equal pieces that travel together: piece k of block b is block b * pieces + k.

    Raises:
        ValueError: for fewer than one piece, or a schedule that uses paths of its own.

    >>> from colllib.algorithms import allgather
    >>> from colllib.execution import execute
    >>> execute(split(allgather.ring(4), 3)).cost == execute(allgather.ring(4)).cost
    True
    """
    check_counts(pieces=pieces)
    if schedule.paths is not None:
        raise ValueError("a schedule that uses paths of its own cannot be cut")
    if pieces == 1:
        return schedule
    blocks = _cut(schedule.blocks, pieces, "pieces")

    def step(t: int) -> Step:
        messages = schedule.step(t)
        block = (messages.block[:, None] * pieces + np.arange(pieces)).ravel()
        index = np.repeat(np.arange(len(messages.src)), pieces)
        return messages.taken(index)._replace(block=block)

    return Schedule(blocks, schedule.num_steps, step, schedule.switches)


def _cut(blocks: Blocks, parts: int, what: str) -> Blocks:
    """Each block cut into equal parts, one after the other."""
    check_size(f"{parts} {what} of {len(blocks)} blocks", parts * len(blocks), MOST_BLOCKS, "blocks")
    share = blocks.share.scaled(Fraction(1, parts)).repeated(parts)
    return replace(blocks, share=share, source=np.repeat(blocks.source, parts), target=np.repeat(blocks.target, parts))
