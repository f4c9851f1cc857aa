"""What every cell holds while a schedule runs, and the proof of its end state.

A cell is a node's copy of a block. Blocks do not meet one another, so they are kept in two ways.
A block that comes from one rank has one right value: a bit says whether a cell holds it, a second
one whether it has been added to itself. A block that many ranks contribute to has many: its cells
hold ids of values. A copy copies the id; an addition makes a new id from two; afterwards one sweep
backwards over the additions counts how often each contribution stands in each final value. Both
are exact at every size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from colllib.exact import IntArray
from colllib.schedule import Schedule, Step
from colllib.topology import Topology

NOTHING = -1
LANE_CELLS = 2**25  # counts held at once by the backward sweep
MOST_IDS = 2**31
MOST_BITS = 2**34

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
        plain = schedule.blocks.source < schedule.ranks
        self.plain = plain
        self.moved = Moved(schedule, np.flatnonzero(plain)) if plain.any() else None
        self.summed = Summed(schedule, np.flatnonzero(~plain)) if not plain.all() else None

    def advance(self, t: int, step: Step, topology: Topology | None) -> None:
        """Apply step t, or say which message of it is impossible."""
        if not len(step.src):
            return
        check_step(self.schedule, topology, t, step)
        if self.moved is None or self.summed is None:
            only = self.moved or self.summed
            assert only is not None
            only.advance(t, step)
            return
        plain = self.plain[step.block]
        self.moved.advance(t, step.taken(plain))
        self.summed.advance(t, step.taken(~plain))

    def prove(self) -> None:
        """Every target holds every contribution of its blocks exactly once, and nothing else."""
        for cells in (self.moved, self.summed):
            if cells is not None:
                cells.prove()


class Moved:
    """Cells of blocks that come from one rank each, as bits."""

    def __init__(self, schedule: Schedule, blocks: IntArray) -> None:
        self.schedule = schedule
        self.blocks, self.column = blocks, _columns(schedule, blocks)
        size = schedule.nodes * len(blocks)
        if size >= MOST_BITS:
            raise ValueError(f"{schedule.nodes} nodes x {len(blocks)} blocks are more than 2**34 cells: too large")
        self.held = np.zeros(size // 8 + 1, dtype=np.uint8)
        self.spoiled: NDArray[np.uint8] | None = None  # holds the block more than once
        _set(self.held, self.cell(schedule.blocks.source[blocks], blocks))

    def cell(self, node: IntArray, block: IntArray) -> IntArray:
        """Where a node's copy of a block stands."""
        return node * len(self.blocks) + self.column[block]

    def advance(self, t: int, step: Step) -> None:
        """Apply the messages of one step that carry such blocks."""
        if not len(step.src):
            return
        source, into = self.cell(step.src, step.block), self.cell(step.dst, step.block)
        missing = ~_get(self.held, source)
        if missing.any():
            _refuse_unheld(self.schedule, step, int(np.flatnonzero(missing)[0]), t)
        spoiled = None if self.spoiled is None else _get(self.spoiled, source)
        for now in _turns(self.schedule, t, step, into):
            self._arrive(into[now], step.add[now], None if spoiled is None else spoiled[now])

    def _arrive(self, into: IntArray, add: NDArray[np.bool_], spoiled: NDArray[np.bool_] | None) -> None:
        twice = into[add & _get(self.held, into)] if add.any() else into[:0]
        if self.spoiled is not None and spoiled is not None:
            kept = _get(self.spoiled, into)
            _clear(self.spoiled, into)
            _set(self.spoiled, into[spoiled | (kept & add)])
        if len(twice):
            self.spoiled = np.zeros_like(self.held) if self.spoiled is None else self.spoiled
            _set(self.spoiled, twice)
        _set(self.held, into)

    def prove(self) -> None:
        """Refuse an end state in which a target lacks its block or holds it more than once."""
        target = self.schedule.blocks.target[self.blocks]
        single = target < self.schedule.ranks
        self._prove_there(target[single], self.blocks[single])
        for who in np.unique(target[~single]):
            wanted = self.blocks[target == who]
            for rank in self.schedule.blocks.holders(int(who)):
                self._prove_there(np.full(len(wanted), rank), wanted)

    def _prove_there(self, rank: IntArray, block: IntArray) -> None:
        cells = self.cell(rank, block)
        wrong = ~_get(self.held, cells)
        if self.spoiled is not None:
            wrong |= _get(self.spoiled, cells)
        if wrong.any():
            i = int(np.flatnonzero(wrong)[0])
            refuse_end(self.schedule, int(rank[i]), int(block[i]))


def _columns(schedule: Schedule, blocks: IntArray) -> IntArray:
    column = np.zeros(len(schedule.blocks), dtype=np.intp)
    column[blocks] = np.arange(len(blocks))
    return column


def _get(bits: NDArray[np.uint8], where: IntArray) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = bits[where >> 3] & _mask(where) != 0
    return found


def _mask(where: IntArray) -> NDArray[np.uint8]:
    return np.left_shift(np.uint8(1), (where & 7).astype(np.uint8))


def _set(bits: NDArray[np.uint8], where: IntArray) -> None:
    np.bitwise_or.at(bits, where >> 3, _mask(where))  # several cells may share a byte


def _clear(bits: NDArray[np.uint8], where: IntArray) -> None:
    np.bitwise_and.at(bits, where >> 3, ~_mask(where))


class Summed:
    """Cells of blocks that several ranks contribute to, as ids of values."""

    def __init__(self, schedule: Schedule, blocks: IntArray) -> None:
        self.schedule = schedule
        self.blocks, self.column = blocks, _columns(schedule, blocks)
        size = schedule.nodes * len(blocks)
        if size >= MOST_IDS:
            raise ValueError(
                f"{schedule.nodes} nodes x {len(blocks)} blocks are more than 2**31 cells: too large to execute"
            )
        self.cells: Ids = np.full(size, NOTHING, dtype=np.int32)
        self.operands: list[tuple[Ids, Ids]] = []  # of the additions, in the order of the ids they made
        self.next_id = size
        for who in np.unique(schedule.blocks.source[blocks]):
            held = blocks[schedule.blocks.source[blocks] == who]
            for rank in schedule.blocks.holders(int(who)):
                cell = self.cell(rank, held)
                self.cells[cell] = cell  # a contribution's id is the cell where it starts

    def cell(self, node: IntArray | int, block: IntArray) -> IntArray:
        """Where a node's copy of a block stands."""
        return node * len(self.blocks) + self.column[block]

    def advance(self, t: int, step: Step) -> None:
        """Apply the messages of one step that carry such blocks."""
        if not len(step.src):
            return
        value = self.cells[self.cell(step.src, step.block)]
        if value.min() < 0:
            _refuse_unheld(self.schedule, step, int(np.flatnonzero(value < 0)[0]), t)
        into = self.cell(step.dst, step.block)
        for now in _turns(self.schedule, t, step, into):
            self._arrive(into[now], step.add[now], value[now])

    def _arrive(self, into: IntArray, add: NDArray[np.bool_], value: Ids) -> None:
        if not add.any():
            self.cells[into] = value
            return
        if not add.all():
            self.cells[into[~add]] = value[~add]
            into, value = into[add], value[add]
        held = self.cells[into]
        if held.min() < 0:  # what is added to nothing is stored
            empty = held < 0
            self.cells[into[empty]] = value[empty]
            into, held, value = into[~empty], held[~empty], value[~empty]
        if self.next_id + len(into) >= MOST_IDS:
            raise ValueError("more than 2**31 values: this schedule is too large to execute")
        if len(into):
            self.operands.append((held, value))
            self.cells[into] = np.arange(self.next_id, self.next_id + len(into), dtype=np.int32)
            self.next_id += len(into)

    def prove(self) -> None:
        """Refuse an end state in which a target lacks a contribution or holds one more than once."""
        target = self.schedule.blocks.target[self.blocks]
        single = np.flatnonzero(target < self.schedule.ranks)
        if len(single):  # blocks do not meet: one sweep serves all that end at one rank each
            self._prove_lanes(target[single][None], single)
        for who in np.unique(target[target >= self.schedule.ranks]):
            self._prove_at(self.schedule.blocks.holders(int(who)), np.flatnonzero(target == who))

    def _prove_at(self, members: IntArray, column: IntArray) -> None:
        grid = self.cells.reshape(self.schedule.nodes, len(self.blocks))
        lead = grid[members[0], column]
        lanes = members[:1] if all((grid[rank, column] == lead).all() for rank in members) else members
        wide = max(1, LANE_CELLS // self.next_id)
        for start in range(0, len(lanes), wide):
            chosen = lanes[start : start + wide]
            self._prove_lanes(np.repeat(chosen[:, None], len(column), axis=1), column)

    def _prove_lanes(self, where: IntArray, column: IntArray) -> None:
        """In each lane the column's final value stands at the rank that `where`, (lanes, columns), names."""
        grid = self.cells.reshape(self.schedule.nodes, len(self.blocks))
        final = grid[where, column]
        if final.min() < 0:
            lane, i = np.argwhere(final < 0)[0]
            refuse_end(self.schedule, int(where[lane, i]), int(self.blocks[column[i]]))
        counts = _multiplicities(final, self.next_id, grid.size, self.operands)
        source = self.schedule.blocks.source[self.blocks[column]]
        table = counts.reshape(self.schedule.nodes, len(self.blocks), len(where))
        for who in np.unique(source):
            of_group = np.flatnonzero(source == who)
            for rank in self.schedule.blocks.holders(int(who)):
                wrong = table[rank, column[of_group]] != 1
                if wrong.any():
                    i, lane = np.argwhere(wrong)[0]
                    refuse_end(self.schedule, int(where[lane, of_group[i]]), int(self.blocks[column[of_group[i]]]))


def _multiplicities(
    final: NDArray[np.int32],
    ids: int,
    initial: int,
    operands: list[tuple[NDArray[np.int32], NDArray[np.int32]]],
) -> NDArray[np.int32]:
    """How often each initial value stands in each lane's finals, 2 meaning more than once: (initial, lanes)."""
    lanes = len(final)
    counts = np.zeros(ids if lanes == 1 else (ids, lanes), dtype=np.int32)
    for lane, values in enumerate(final):
        counts[values if lanes == 1 else (values, lane)] = 1
    end = ids
    for left, right in reversed(operands):
        times = np.minimum(counts[end - len(left) : end], 2)
        np.add.at(counts, left, times)
        np.add.at(counts, right, times)
        end -= len(left)
    return counts[:initial].reshape(initial, lanes)


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
        made = ((int(a), int(b)) for left, right in cells.operands for a, b in zip(left, right, strict=True))
        values.update((first + k, values[a] + values[b]) for k, (a, b) in enumerate(made))
        cells.operands.clear()


def _turns(schedule: Schedule, t: int, step: Step, into: IntArray) -> Iterator[IntArray | slice]:
    """The messages in turns, so that in each a cell receives at most one: several must all be additions."""
    order = np.sort(into)
    if not (order[1:] == order[:-1]).any():
        yield slice(None)
        return
    order = np.argsort(into, kind="stable")
    first = np.r_[True, into[order][1:] != into[order][:-1]]
    turn = np.arange(len(into)) - np.maximum.accumulate(np.where(first, np.arange(len(into)), 0))
    crowded = np.isin(into, into[order][~first])
    if not step.add[crowded].all():
        i = int(np.flatnonzero(crowded & ~step.add)[0])
        rank, block = int(step.dst[i]), int(step.block[i])
        raise ScheduleError(
            f"step {t}: {_node(schedule, rank)} receives block {block} more than once and one message replaces it; "
            "only additions may meet",
            rank,
            block,
            t,
        )
    for k in range(int(turn.max()) + 1):
        yield order[turn == k]


def _refuse_unheld(schedule: Schedule, step: Step, i: int, t: int) -> None:
    rank, block = int(step.src[i]), int(step.block[i])
    raise ScheduleError(
        f"step {t}: {_node(schedule, rank)} sends block {block} to {_node(schedule, int(step.dst[i]))} but does not "
        "hold it; it must arrive in an earlier step",
        rank,
        block,
        t,
    )


def _node(schedule: Schedule, node: int) -> str:
    return f"rank {node}" if node < schedule.ranks else f"switch {node - schedule.ranks}"


def check_step(schedule: Schedule, topology: Topology | None, t: int, step: Step) -> None:
    nodes, blocks = schedule.nodes, len(schedule.blocks)
    for name, values, limit in (("node", step.src, nodes), ("node", step.dst, nodes), ("block", step.block, blocks)):
        if values.min() < 0 or values.max() >= limit:
            wrong = int(values[(values < 0) | (values >= limit)][0])
            raise ValueError(f"step {t}: {name} {wrong} does not exist; {name}s are 0..{limit - 1}")
    if (step.src == step.dst).any():
        i = int(np.flatnonzero(step.src == step.dst)[0])
        rank, block = int(step.src[i]), int(step.block[i])
        raise ScheduleError(
            f"step {t}: {_node(schedule, rank)} sends block {block} to itself; a message needs two nodes",
            rank,
            block,
            t,
        )
    if schedule.switches and topology is not None:
        _check_switches(schedule, topology, t, step)


def _check_switches(schedule: Schedule, topology: Topology, t: int, step: Step) -> None:
    to_switch = step.dst >= schedule.ranks
    adds = np.flatnonzero(to_switch & step.add)
    if len(adds) and not topology.combines:
        _refuse_switch(schedule, topology, t, int(step.dst[adds[0]]), int(step.block[adds[0]]), "add", "combine")
    sends = np.flatnonzero(step.src >= schedule.ranks)
    key = step.src[sends] * len(schedule.blocks) + step.block[sends]
    if not topology.replicates and len(np.unique(key)) < len(key):
        values, counts = np.unique(key, return_counts=True)
        node, block = divmod(int(values[counts > 1][0]), len(schedule.blocks))
        _refuse_switch(schedule, topology, t, node, block, "send to several nodes", "replicate")
    bundled = np.flatnonzero(to_switch & ~step.add)
    if len(bundled) and not topology.scatters:
        pair = step.src[bundled] * schedule.nodes + step.dst[bundled]
        target = schedule.blocks.target[step.block[bundled]]
        order = np.argsort(pair, kind="stable")
        mixed = np.flatnonzero((pair[order][1:] == pair[order][:-1]) & (target[order][1:] != target[order][:-1]))
        if len(mixed):
            i = bundled[order[mixed[0] + 1]]
            _refuse_switch(
                schedule, topology, t, int(step.dst[i]), int(step.block[i]), "take out of a bundle", "scatter"
            )


def _refuse_switch(
    schedule: Schedule, topology: Topology, t: int, node: int, block: int, what: str, capability: str
) -> None:
    raise ScheduleError(
        f"step {t}: {_node(schedule, node)} of {topology.name} must {what} block {block}; "
        f"its switches do not {capability}",
        node,
        block,
        t,
    )


def refuse_end(schedule: Schedule, rank: int, block: int) -> None:
    """Replay one block with exact sets to say what is wrong with its final value, and since which step."""
    wanted = {int(r) for r in schedule.blocks.holders(int(schedule.blocks.source[block]))}
    held: dict[int, Counter[int]] = {r: Counter([r]) for r in wanted}
    written: dict[int, int] = {}
    for t in range(schedule.num_steps):
        step = schedule.step(t)
        mine = np.flatnonzero(step.block == block)
        sent = [(int(step.dst[i]), bool(step.add[i]), held[int(step.src[i])]) for i in mine]
        for node, add, value in sent:
            held[node] = held[node] + value if add and node in held else value
            written[node] = t
            if max(held[node].values()) > 1:
                twice = min(r for r, times in held[node].items() if times > 1)
                raise ScheduleError(
                    f"step {t}: {_node(schedule, node)} adds a contribution of rank {twice} to block {block} "
                    "that it already holds; each may be counted once",
                    node,
                    block,
                    t,
                )
    if rank not in held:
        never = f"rank {rank} never receives block {block}, which it must hold at the end"
        raise ScheduleError(never, rank, block, None)
    missing = min(wanted - set(held[rank]))
    when = f"step {written[rank]} wrote it last" if rank in written else "no step wrote it"
    raise ScheduleError(
        f"rank {rank} ends with a block {block} that lacks the contribution of rank {missing}; {when}",
        rank,
        block,
        written.get(rank),
    )
