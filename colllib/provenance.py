"""What every cell holds while a schedule runs, and the proof of its end state.

A cell is a node's copy of a block. Blocks do not meet one another, so each is stored as suits it.
A block that comes from one rank has one right value: a bit says whether a cell holds it, a second
one whether it has been added to itself. A block that many ranks contribute to has many: its cells
hold ids of values. A copy copies the id; an addition makes a new id from two; afterwards one sweep
backwards over the additions counts how often each contribution stands in each final value. Both
are exact at every size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from colllib.exact import IntArray
from colllib.schedule import Schedule, Step
from colllib.topology import Topology

NOTHING = -1
LANE_CELLS = 2**25  # counts held at once by the backward sweep
MOST_IDS = 2**31
MOST_BITS = 2**33  # beyond it, lists of holders take less memory where blocks visit few nodes
MOST_CELLS = 2**36
CHUNK = 2**17  # blocks that are proved at a time: their arrays stay in the cache

Ids = NDArray[np.int32]


class ScheduleError(ValueError):
    """A schedule that does not do what it must.

    Attributes:
        rank: the rank (or switch) where it goes wrong.
        block: the block.
        step: the step, counted from 0; None for an end state that no step ever touched.
    """

    def __init__(self, message: str, rank: int, block: int, step: int | None) -> None:
        super().__init__(message)
        self.rank, self.block, self.step = rank, block, step


class Provenance:
    """The cells of all blocks of a schedule, step after step."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.plain = schedule.blocks.source < schedule.ranks
        self.copied = Copied(schedule, slice(None) if self.plain.all() else np.flatnonzero(self.plain))
        self.summed = Summed(schedule, np.flatnonzero(~self.plain))

    def advance(self, t: int, step: Step, topology: Topology | None) -> None:
        """Apply step t, or say which message of it is impossible."""
        if not len(step.src):
            return
        check_step(self.schedule, topology, t, step)
        if not len(self.summed.blocks):
            self.copied.advance(t, step)
        elif not self.copied.count:
            self.summed.advance(t, step)
        else:
            plain = self.plain[step.block]
            self.copied.advance(t, step.taken(plain))
            self.summed.advance(t, step.taken(~plain))

    def prove(self) -> None:
        """Every target holds every contribution of its blocks exactly once, and nothing else."""
        self.copied.prove()
        self.summed.prove()


class Copied:
    """Cells of blocks that come from one rank each: who holds which, and who holds it more than once."""

    def __init__(self, schedule: Schedule, blocks: IntArray | slice) -> None:
        self.schedule = schedule
        self.source, self.target = schedule.blocks.source[blocks], schedule.blocks.target[blocks]
        self.count = len(self.source)
        self.blocks = None if isinstance(blocks, slice) else blocks
        self.column = None if self.blocks is None else _columns(schedule, self.blocks)
        size = schedule.nodes * self.count
        self.present: Bits | Holders = Bits(size) if size < MOST_BITS else Holders(schedule.nodes, self.source)
        self.duplicated: Bits | None = None  # holds the block more than once
        if isinstance(self.present, Bits):
            self.present.add(self.source * self.count + np.arange(self.count))

    def cell(self, node: IntArray, block: IntArray) -> IntArray:
        """Where a node's copy of a block stands."""
        return node * self.count + (block if self.column is None else self.column[block])

    def advance(self, t: int, step: Step) -> None:
        """Apply the messages of one step that carry such blocks."""
        if not len(step.src):
            return
        source, into = self.cell(step.src, step.block), self.cell(step.dst, step.block)
        missing = ~self.present.has(source)
        if missing.any():
            refuse_unheld(self.schedule, step, int(np.flatnonzero(missing)[0]), t)
        duplicated = np.zeros(len(source), dtype=np.bool_) if self.duplicated is None else self.duplicated.has(source)
        for now in _turns(self.schedule, t, step, into):
            self._arrive(into[now], step.add[now], duplicated[now])

    def _arrive(self, into: IntArray, add: NDArray[np.bool_], duplicated: NDArray[np.bool_]) -> None:
        """Store messages in cells, each of which gets one; `duplicated` says which carry a block more than once."""
        twice = into[add & self.present.has(into)] if add.any() else into[:0]
        if self.duplicated is not None:
            before = self.duplicated.has(into)
            self.duplicated.remove(into)
            self.duplicated.add(into[duplicated | (before & add)])
        if len(twice):
            if self.duplicated is None:
                self.duplicated = Bits(self.schedule.nodes * self.count)
            self.duplicated.add(twice)
        self.present.add(into)

    def prove(self) -> None:
        """Refuse an end state in which a target lacks its block or holds it more than once."""
        for start in range(0, self.count, CHUNK):
            target = self.target[start : start + CHUNK]
            single = target < self.schedule.ranks
            self._prove_at(target[single], start + np.flatnonzero(single))
        for who in np.unique(self.target[self.target >= self.schedule.ranks]):
            columns = np.flatnonzero(self.target == who)
            holders = self.schedule.blocks.holders(int(who))
            together = max(1, CHUNK // len(columns))
            for start in range(0, len(holders), together):
                ranks = holders[start : start + together]
                self._prove_at(np.repeat(ranks, len(columns)), np.tile(columns, len(ranks)))

    def _prove_at(self, rank: IntArray, column: IntArray) -> None:
        """Refuse the first of some cells that lacks its block or holds it more than once."""
        cells = rank * self.count + column
        wrong = ~self.present.has(cells)
        if self.duplicated is not None:
            wrong |= self.duplicated.has(cells)
        if wrong.any():
            i = int(np.flatnonzero(wrong)[0])
            block = column[i] if self.blocks is None else self.blocks[column[i]]
            refuse_end(self.schedule, int(rank[i]), int(block))


class Bits:
    """A set of cells, a bit for each that there could be."""

    def __init__(self, size: int) -> None:
        if size >= MOST_CELLS:
            raise ValueError(f"{size} cells of nodes and blocks are more than 2**36: too large to execute")
        self.bits = np.zeros(size // 8 + 1, dtype=np.uint8)

    def has(self, cell: IntArray) -> NDArray[np.bool_]:
        """Which of the cells are in the set."""
        present: NDArray[np.bool_] = self.bits[cell >> 3] & _mask(cell) != 0
        return present

    def add(self, cell: IntArray) -> None:
        """Put cells into the set."""
        np.bitwise_or.at(self.bits, cell >> 3, _mask(cell))  # several cells may share a byte

    def remove(self, cell: IntArray) -> None:
        """Take cells out of the set."""
        np.bitwise_and.at(self.bits, cell >> 3, ~_mask(cell))


def _mask(cell: IntArray) -> NDArray[np.uint8]:
    return np.left_shift(np.uint8(1), (cell & 7).astype(np.uint8))


class Holders:
    """A set of cells as a list of nodes for each block: small where a block visits few of many nodes."""

    def __init__(self, nodes: int, source: IntArray) -> None:
        self.blocks = len(source)
        kind = np.min_scalar_type(-nodes - 1)
        self.lists = [source.astype(kind)]
        self.nobody = kind.type(-1)

    def has(self, cell: IntArray) -> NDArray[np.bool_]:
        """Which of the cells are in the set."""
        node, block = np.divmod(cell, self.blocks)
        present: NDArray[np.bool_] = self.lists[0][block] == node
        for holder in self.lists[1:]:
            present |= holder[block] == node
        return present

    def add(self, cell: IntArray) -> None:
        """Put cells into the set."""
        node, block = np.divmod(cell[~self.has(cell)], self.blocks)
        place = 0
        while len(node):
            if place == len(self.lists):
                if place * self.blocks >= MOST_IDS:
                    raise ValueError(f"{self.blocks} blocks visit more than {place} nodes each: too large to execute")
                self.lists.append(np.full(self.blocks, self.nobody))
            holder = self.lists[place]
            free = np.flatnonzero(holder[block] == self.nobody)
            holder[block[free]] = node[free]  # of several for one block the last stays
            left = holder[block] != node
            node, block = node[left], block[left]
            place += 1


def _columns(schedule: Schedule, blocks: IntArray) -> IntArray:
    """Where each block of the schedule stands among some of them."""
    column = np.zeros(len(schedule.blocks), dtype=np.intp)
    column[blocks] = np.arange(len(blocks))
    return column


class Summed:
    """Cells of blocks that several ranks contribute to, as ids of values."""

    def __init__(self, schedule: Schedule, blocks: IntArray) -> None:
        self.schedule = schedule
        self.blocks = blocks
        self.column = _columns(schedule, blocks)
        size = schedule.nodes * len(blocks)
        if size >= MOST_IDS:
            raise ValueError(
                f"{schedule.nodes} nodes x {len(blocks)} blocks are more than 2**31 cells: too large to execute"
            )
        self.cells: Ids = np.full(size, NOTHING, dtype=np.int32)
        self.operands: list[tuple[Ids, Ids]] = []  # of the additions, in the order of the ids they made
        self.next_id = size
        for who in np.unique(schedule.blocks.source[blocks]):
            contributed = blocks[schedule.blocks.source[blocks] == who]
            for rank in schedule.blocks.holders(int(who)):
                cell = self.cell(rank, contributed)
                self.cells[cell] = cell  # a contribution's id is the cell where it starts

    def cell(self, node: IntArray | int, block: IntArray) -> IntArray:
        """Where a node's copy of a block stands."""
        return node * len(self.blocks) + self.column[block]

    def advance(self, t: int, step: Step) -> None:
        """Apply the messages of one step that carry such blocks."""
        if not len(step.src):
            return
        source = self.cell(step.src, step.block)
        value = self.cells[source]
        if value.min() < 0:
            refuse_unheld(self.schedule, step, int(np.flatnonzero(value < 0)[0]), t)
        into = self.cell(step.dst, step.block)
        current, number = self.cells[into], np.arange(len(into), dtype=np.int32)
        self.cells[into] = number
        if (self.cells[into] == number).all():  # no cell receives two messages
            exchanged = bool((self.cells[source] != value).any())  # some cell both sends and receives
            self._arrive(into, step.add, value, current, exchanged)
            return
        self.cells[into] = current
        for now in _turns(self.schedule, t, step, into):
            self._arrive(into[now], step.add[now], value[now], self.cells[into[now]])

    def _arrive(self, into: IntArray, add: NDArray[np.bool_], value: Ids, current: Ids, exchanged: bool = True) -> None:
        """Store values in cells, each of which gets one, or add them to the current ones."""
        if not add.all():
            self.cells[into[~add]] = value[~add]
            into, value, current = into[add], value[add], current[add]
        if not len(into):
            return
        if current.min() < 0:  # what is added to nothing is stored
            empty = current < 0
            self.cells[into[empty]] = value[empty]
            into, current, value = into[~empty], current[~empty], value[~empty]
        if self.next_id + len(into) >= MOST_IDS:
            raise ValueError("more than 2**31 values: this schedule is too large to execute")
        if len(into):
            new = np.arange(len(into))
            if exchanged:  # two ranks make the same sum: with one number for both, one proof serves both
                pair = np.minimum(current, value).astype(np.int64) << 32 | np.maximum(current, value)
                _, first, new = np.unique(pair, return_index=True, return_inverse=True)
                current, value = current[first], value[first]
            self.operands.append((current, value))
            self.cells[into] = new + self.next_id
            self.next_id += len(current)

    def prove(self) -> None:
        """Refuse an end state in which a target lacks a contribution or holds one more than once."""
        target = self.schedule.blocks.target[self.blocks]
        grid = self.cells.reshape(self.schedule.nodes, -1)
        for who in np.unique(target[target >= self.schedule.ranks]):
            members = self.schedule.blocks.holders(int(who))
            column = np.flatnonzero(target == who)
            if all((grid[rank, column] == grid[members[0], column]).all() for rank in members):
                target[column] = members[0]  # what one of them has, all have
                continue
            wide = max(1, LANE_CELLS // self.next_id)
            for start in range(0, len(members), wide):
                lanes = members[start : start + wide]
                self._prove_lanes(np.repeat(lanes[:, None], len(column), axis=1), column)
        single = np.flatnonzero(target < self.schedule.ranks)
        if len(single):  # blocks do not meet: one sweep serves all that are to be looked at on one rank each
            self._prove_lanes(target[single][None], single)

    def _prove_lanes(self, target: IntArray, column: IntArray) -> None:
        """In each lane the column's final value stands at the rank that `target`, (lanes, columns), names."""
        grid = self.cells.reshape(self.schedule.nodes, len(self.blocks))
        final = grid[target, column]
        if final.min() < 0:
            lane, i = np.argwhere(final < 0)[0]
            refuse_end(self.schedule, int(target[lane, i]), int(self.blocks[column[i]]))
        counts = _multiplicities(final, self.next_id, grid.size, self.operands)
        source = self.schedule.blocks.source[self.blocks[column]]
        table = counts.reshape(self.schedule.nodes, len(self.blocks), len(target))
        for who in np.unique(source):
            of_group = np.flatnonzero(source == who)
            for rank in self.schedule.blocks.holders(int(who)):
                wrong = table[rank, column[of_group]] != 1
                if wrong.any():
                    i, lane = np.argwhere(wrong)[0]
                    refuse_end(self.schedule, int(target[lane, of_group[i]]), int(self.blocks[column[of_group[i]]]))


def _multiplicities(final: Ids, ids: int, initial: int, operands: list[tuple[Ids, Ids]]) -> Ids:
    """How often each initial value stands in each lane's finals, 2 meaning more than once: (initial, lanes)."""
    lanes = len(final)
    place = np.arange(lanes)
    counts = np.zeros(ids * lanes, dtype=np.int32)  # adding at places is fast along one axis alone, and with intp
    for lane, values in enumerate(final):
        counts[values * lanes + lane] = 1
    end = ids * lanes
    for left, right in reversed(operands):
        times = np.minimum(counts[end - len(left) * lanes : end], 2)
        for side in (left, right):
            np.add.at(counts, (side.astype(np.intp)[:, None] * lanes + place).ravel(), times)
        end -= len(times)
    return counts[: initial * lanes].reshape(initial, lanes)


def trace(schedule: Schedule) -> Iterator[dict[tuple[int, int], Counter[int]]]:
    """The state before the first step and after every step, for schedules that people look at.

    Yields:
        a dict from (node, block) to the ranks whose contributions are there, with how often. What
        a cell holds before and after being sent is the same: sending does not clear it.

    >>> from colllib.algorithms import broadcast
    >>> *_, last = trace(broadcast.chain(3))
    >>> sorted(last)
    [(0, 0), (1, 0), (2, 0)]
    """
    blocks = len(schedule.blocks)
    cells = Summed(schedule, np.arange(blocks))
    values = {int(cell): Counter({int(cell) // blocks: 1}) for cell in cells.cells[cells.cells != NOTHING]}
    for t in range(schedule.num_steps + 1):
        yield {divmod(int(i), blocks): values[int(cells.cells[i])] for i in np.flatnonzero(cells.cells != NOTHING)}
        if t == schedule.num_steps:
            return
        first, step = cells.next_id, schedule.step(t)
        if len(step.src):
            check_step(schedule, None, t, step)
            cells.advance(t, step)
        sums = ((int(a), int(b)) for left, right in cells.operands for a, b in zip(left, right, strict=True))
        values.update((first + k, values[a] + values[b]) for k, (a, b) in enumerate(sums))
        cells.operands.clear()


def _turns(schedule: Schedule, t: int, step: Step, into: IntArray) -> Iterator[IntArray | slice]:
    """The messages in turns, so that in each a cell receives at most one: several must all be additions."""
    ordered = np.sort(into)
    if (ordered[1:] != ordered[:-1]).all():
        yield slice(None)
        return
    order = np.argsort(into, kind="stable")
    first = np.r_[True, ordered[1:] != ordered[:-1]]
    turn = np.arange(len(into)) - np.maximum.accumulate(np.where(first, np.arange(len(into)), 0))
    crowded = np.isin(into, into[order][~first])
    if not step.add[crowded].all():
        refuse_meeting(schedule, step, int(np.flatnonzero(crowded & ~step.add)[0]), t)
    for k in range(int(turn.max()) + 1):
        yield order[turn == k]


def refuse_meeting(schedule: Schedule, step: Step, i: int, t: int) -> NoReturn:
    """Refuse message i of step t, which replaces what another one brings."""
    rank, block = int(step.dst[i]), int(step.block[i])
    fault = f"{_node(schedule, rank)} receives block {block} more than once and one message replaces it"
    raise ScheduleError(f"step {t}: {fault}; only additions may meet", rank, block, t)


def refuse_unheld(schedule: Schedule, step: Step, i: int, t: int) -> NoReturn:
    """Refuse message i of step t, whose sender has nothing to send."""
    rank, block = int(step.src[i]), int(step.block[i])
    sends = f"{_node(schedule, rank)} sends block {block} to {_node(schedule, int(step.dst[i]))}"
    raise ScheduleError(f"step {t}: {sends} but does not hold it; it must arrive in an earlier step", rank, block, t)


def _node(schedule: Schedule, node: int) -> str:
    return f"rank {node}" if node < schedule.ranks else f"switch {node - schedule.ranks}"


def check_step(schedule: Schedule, topology: Topology | None, t: int, step: Step) -> None:
    """Refuse a message between nodes, or of a block, that do not exist, to its own sender, or beyond what switches can.

    A switch that does not replicate may still send a block on as often as it likes: once a step.
    """
    check_named(schedule, np.array([t]), step)
    if (step.src == step.dst).any():
        refuse_to_itself(schedule, step, int(np.flatnonzero(step.src == step.dst)[0]), t)
    if schedule.switches and topology is not None:
        _check_switches(schedule, topology, t, step)


def check_named(schedule: Schedule, when: IntArray, messages: Step) -> None:
    """Refuse messages, one at least, of nodes or blocks that do not exist; `when` is the step of each, or of all."""
    nodes, blocks = schedule.nodes, len(schedule.blocks)
    named = (("node", messages.src, nodes), ("node", messages.dst, nodes), ("block", messages.block, blocks))
    for name, values, limit in named:
        if values.dtype != np.intp:  # products of smaller integers would overflow unnoticed
            raise ValueError(f"step {when[0]}: {name}s of type {values.dtype} instead of int64: make steps by Step.of")
        if values.min() < 0 or values.max() >= limit:
            i = int(np.flatnonzero((values < 0) | (values >= limit))[0])
            of = f" ({schedule.ranks} ranks, switches={schedule.switches})" if name == "node" else ""
            raise ValueError(
                f"step {when[i % len(when)]}: {name} {values[i]} does not exist; {name}s are 0..{limit - 1}{of}"
            )


def refuse_to_itself(schedule: Schedule, step: Step, i: int, t: int) -> NoReturn:
    """Refuse message i of step t, which goes to its own sender."""
    rank, block = int(step.src[i]), int(step.block[i])
    raise ScheduleError(
        f"step {t}: {_node(schedule, rank)} sends block {block} to itself; a message needs two nodes", rank, block, t
    )


def _check_switches(schedule: Schedule, topology: Topology, t: int, step: Step) -> None:
    """Refuse to add in, to replicate by, or to scatter a bundle of blocks from, a switch that cannot."""

    def unable(ability: str, messages: IntArray, node: IntArray) -> IntArray:
        """Those of some messages whose switch lacks an ability."""
        return messages[~topology.able(ability, node[messages] - schedule.ranks)]

    def refuse(i: int, node: IntArray, what: str, capability: str) -> NoReturn:
        switch, block = int(node[i]), int(step.block[i])
        fault = f"{_node(schedule, switch)} of {topology.name} must {what} block {block}"
        raise ScheduleError(f"step {t}: {fault}; its switches do not {capability}", switch, block, t)

    to_switch = step.dst >= schedule.ranks
    adds = unable("combines", np.flatnonzero(to_switch & step.add), step.dst)
    if len(adds):
        refuse(adds[0], step.dst, "add", "combine")
    sends = unable("replicates", np.flatnonzero(step.src >= schedule.ranks), step.src)
    _, first, times = np.unique(
        step.src[sends] * len(schedule.blocks) + step.block[sends], return_index=True, return_counts=True
    )
    if (times > 1).any():
        refuse(sends[first[times > 1][0]], step.src, "send to several nodes", "replicate")
    bundled = unable("scatters", np.flatnonzero(to_switch & ~step.add), step.dst)
    if not len(bundled):
        return
    pair = step.src[bundled] * schedule.nodes + step.dst[bundled]
    target = _receivers(schedule)[schedule.blocks.target[step.block[bundled]]]
    order = np.argsort(pair, kind="stable")
    mixed = np.flatnonzero((pair[order][1:] == pair[order][:-1]) & (target[order][1:] != target[order][:-1]))
    if len(mixed):
        refuse(bundled[order[mixed[0] + 1]], step.dst, "take out of a bundle", "scatter")


def _receivers(schedule: Schedule) -> IntArray:
    """For every value of a target, a number that is the same for the same set of ranks."""
    seen: dict[bytes, int] = {}
    groups = [
        seen.setdefault(np.unique(group).tobytes(), schedule.ranks + i)
        for i, group in enumerate(schedule.blocks.groups)
    ]
    return np.concatenate((np.arange(schedule.ranks), np.array(groups, dtype=np.intp)))


class _Value(NamedTuple):
    """How often each contribution is in a value, and where one was first counted twice: step, node and contributor."""

    counts: Counter[int]
    twice: tuple[int, int, int] | None = None


def refuse_end(schedule: Schedule, rank: int, block: int) -> NoReturn:
    """Replay one block with exact sets to say what is wrong with its final value at a rank, and since which step."""
    contributors = {int(r) for r in schedule.blocks.holders(int(schedule.blocks.source[block]))}
    values = {r: _Value(Counter([r])) for r in contributors}
    written: dict[int, int] = {}
    for t, step in enumerate(schedule.steps):
        messages = np.flatnonzero(step.block == block)
        sent = [(int(step.dst[i]), bool(step.add[i]), values[int(step.src[i])]) for i in messages]
        for node, add, value in sent:
            values[node] = _sum(values[node], value, t, node) if add and node in values else value
            written[node] = t
    if rank not in values:
        refuse_never(rank, block)
    if (twice := values[rank].twice) is not None:
        t, node, who = twice
        refuse_twice(schedule, rank, block, who, node, t)
    refuse_missing(rank, block, min(contributors - set(values[rank].counts)), written.get(rank))


def refuse_never(rank: int, block: int) -> NoReturn:
    """Refuse an end state in which a rank holds nothing of a block."""
    never = f"rank {rank} never receives block {block}, which it must hold at the end"
    raise ScheduleError(never, rank, block, None)


def refuse_twice(schedule: Schedule, rank: int, block: int, who: int, node: int, t: int) -> NoReturn:
    """Refuse an end state in which a rank's block holds a contribution twice, which a node added in step t."""
    ends = "" if node == rank else f", and rank {rank} ends with it"
    fault = f"{_node(schedule, node)} adds a contribution of rank {who} to block {block} that it already holds{ends}"
    raise ScheduleError(f"step {t}: {fault}; each may be counted once", node, block, t)


def refuse_missing(rank: int, block: int, who: int, t: int | None) -> NoReturn:
    """Refuse an end state in which a rank's block lacks a contribution; step t wrote it last."""
    when = "no step wrote it" if t is None else f"step {t} wrote it last"
    raise ScheduleError(
        f"rank {rank} ends with a block {block} that lacks the contribution of rank {who}; {when}", rank, block, t
    )


def _sum(current: _Value, arrived: _Value, t: int, node: int) -> _Value:
    counts = current.counts + arrived.counts
    twice = current.twice or arrived.twice
    if twice is None and max(counts.values()) > 1:
        twice = (t, node, min(r for r, times in counts.items() if times > 1))
    return _Value(counts, twice)
