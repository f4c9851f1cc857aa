"""The executor: runs a schedule on a topology, proves its end state and keeps the ledger.

Every (node, block) cell holds the id of a value. A copy copies the id; an addition makes a new
id from two. Afterwards one sweep backwards over the additions counts how often each original
contribution stands in each final value, so the proof is exact at every size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from colllib.cost import Cost
from colllib.exact import LARGEST_EXACT, IntArray
from colllib.schedule import Schedule, Step
from colllib.topology import Topology, star

NOTHING = -1
LANE_CELLS = 2**25  # counts held at once by the backward sweep


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


@dataclass(frozen=True, eq=False)
class Execution:
    """A schedule that was run and whose end state is proved, with its ledger.

    Loads are exact fractions of M. The totals and each step's largest load are kept; the whole
    ledger of a step is counted again on demand by `link_load`.

    Attributes:
        schedule: what was run.
        topology: where.
        sent_count: per node, what it sent, in units of M / share denominator, shape (nodes,).
        received_count: per node, what it received, shape (nodes,).
        link_count: per directed link, what crossed it, shape (L,).
        step_alpha: per step, the longest route's latency, in units of alpha / alpha denominator.
        step_beta: per step, the most loaded link's share over its bandwidth, shape (T,), as
            numerators over `beta_denominator`, in units of M/BW.
    """

    schedule: Schedule
    topology: Topology
    sent_count: IntArray = field(repr=False)
    received_count: IntArray = field(repr=False)
    link_count: IntArray = field(repr=False)
    step_alpha: IntArray = field(repr=False)
    step_beta: IntArray = field(repr=False)
    beta_denominator: int = field(repr=False)

    def __repr__(self) -> str:
        cost = f"n_alpha={self.cost.n_alpha}, n_beta={self.cost.n_beta}"
        return f"Execution({self.schedule.num_steps} steps on {self.topology.name}: {cost})"

    @property
    def cost(self) -> Cost:
        """The lock-step cost: a step lasts its longest route's alpha plus its most loaded link."""
        alpha = Fraction(int(self.step_alpha.sum()), self.topology.alpha.denominator)
        return Cost(alpha, Fraction(int(self.step_beta.sum()), self.beta_denominator))

    @property
    def sent(self) -> tuple[Fraction, ...]:
        """What each rank sent, as a share of M."""
        return self._shares(self.sent_count[: self.schedule.ranks])

    @property
    def received(self) -> tuple[Fraction, ...]:
        """What each rank received, as a share of M."""
        return self._shares(self.received_count[: self.schedule.ranks])

    @property
    def link_total(self) -> tuple[Fraction, ...]:
        """What crossed each directed link over the whole run, as a share of M."""
        return self._shares(self.link_count)

    def link_load(self, t: int) -> tuple[Fraction, ...]:
        """What crosses each directed link in step t, as a share of M."""
        step = self.schedule.step(t)
        message, link = self.topology.router(step.src, step.dst)
        share = self.schedule.blocks.share.numerators[step.block]
        return self._shares(_count(link, share[message], self.topology.num_links))

    def partners(self) -> tuple[int, int]:
        """The most nodes that one node sends to, and that one receives from, in a single step."""
        most = [0, 0]
        for t in range(self.schedule.num_steps):
            step = self.schedule.step(t)
            pairs = np.unique(np.stack((step.src, step.dst)), axis=1)
            for side in (0, 1):
                most[side] = max(most[side], int(np.bincount(pairs[side]).max(initial=0)))
        return most[0], most[1]

    def _shares(self, counts: IntArray) -> tuple[Fraction, ...]:
        denominator = self.schedule.blocks.share.denominator
        return tuple(Fraction(int(count), denominator) for count in counts)


def execute(schedule: Schedule, topology: Topology | None = None) -> Execution:
    """Run a schedule, prove its end state, keep the ledger.

    Args:
        schedule: what to run.
        topology: where (default: a star with one full-duplex port per rank).

    Raises:
        ScheduleError: naming rank, block and step, if a block is sent before it has arrived, two
            messages overwrite one cell in one step, a switch does what it cannot, or a final
            value lacks a contribution, holds one twice or holds a foreign one.
        ValueError: if the topology has another number of ranks, or no route.

    >>> from colllib.algorithms import allreduce
    >>> run = execute(allreduce.ring(4))
    >>> run.cost, run.sent[0]
    (Cost(n_alpha=6, n_beta=3/2), Fraction(3, 2))
    """
    topology = star(schedule.ranks) if topology is None else topology
    _check_fit(schedule, topology)
    cells = _initial_cells(schedule)
    operands: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
    ledger = _Ledger(schedule, topology)
    next_id = cells.size
    for t in range(schedule.num_steps):
        step = schedule.step(t)
        next_id = _advance(schedule, topology, cells, t, step, next_id, operands)
        ledger.record(t, step)
    _prove(schedule, cells, operands)
    return ledger.execution()


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
    cells = _initial_cells(schedule)
    made: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
    blocks = len(schedule.blocks)
    values = {int(cell): Counter({int(cell) // blocks: 1}) for cell in cells[cells != NOTHING]}
    next_id = cells.size
    for t in range(schedule.num_steps + 1):
        yield {divmod(int(i), blocks): values[int(cells[i])] for i in np.flatnonzero(cells != NOTHING)}
        if t < schedule.num_steps:
            made.clear()
            _advance(schedule, None, cells, t, schedule.step(t), next_id, made)
            for left, right in made:
                for a, b in zip(left, right, strict=True):
                    values[next_id] = values[int(a)] + values[int(b)]
                    next_id += 1


def _check_fit(schedule: Schedule, topology: Topology) -> None:
    if topology.ranks != schedule.ranks:
        raise ValueError(
            f"a schedule for {schedule.ranks} ranks does not fit {topology.name}, which has {topology.ranks}"
        )
    if schedule.switches > topology.switches:
        raise ValueError(f"the schedule uses {schedule.switches} switches, {topology.name} has {topology.switches}")


def _initial_cells(schedule: Schedule) -> NDArray[np.int32]:
    """Each (node, block) cell, flat: its own index where a contribution is, NOTHING elsewhere."""
    blocks = schedule.blocks
    size = schedule.nodes * len(blocks)
    if size >= 2**31:
        raise ValueError(
            f"{schedule.nodes} nodes x {len(blocks)} blocks are more than 2**31 cells: too large to execute"
        )
    cells = np.full(size, NOTHING, dtype=np.int32)
    for who in np.unique(blocks.source):
        held = np.flatnonzero(blocks.source == who)
        for rank in blocks.holders(who):
            cells[rank * len(blocks) + held] = rank * len(blocks) + held
    return cells


def _advance(
    schedule: Schedule,
    topology: Topology | None,
    cells: NDArray[np.int32],
    t: int,
    step: Step,
    next_id: int,
    operands: list[tuple[NDArray[np.int32], NDArray[np.int32]]],
) -> int:
    """Apply one step to the cells, append what was added to `operands`, return the next free id."""
    if not len(step.src):
        return next_id
    blocks = len(schedule.blocks)
    _check_step(schedule, topology, t, step)
    value = cells[step.src * blocks + step.block]
    if value.min() < 0:
        _refuse_unheld(step, value, t)
    into = step.dst * blocks + step.block
    order = np.sort(into)
    if (order[1:] == order[:-1]).any():
        return _advance_crowded(schedule, cells, t, step, value, into, next_id, operands)
    if step.add.all():
        return _add(cells, into, value, next_id, operands)
    if not step.add.any():
        cells[into] = value
        return next_id
    cells[into[~step.add]] = value[~step.add]
    return _add(cells, into[step.add], value[step.add], next_id, operands)


def _add(
    cells: NDArray[np.int32],
    into: IntArray,
    value: NDArray[np.int32],
    next_id: int,
    operands: list[tuple[NDArray[np.int32], NDArray[np.int32]]],
) -> int:
    held = cells[into]
    if held.min() < 0:  # what is added to nothing is stored
        empty = held < 0
        cells[into[empty]] = value[empty]
        into, held, value = into[~empty], held[~empty], value[~empty]
    if next_id + len(into) >= 2**31:
        raise ValueError("more than 2**31 values: this schedule is too large to execute")
    if len(into):
        operands.append((held, value))
        cells[into] = np.arange(next_id, next_id + len(into), dtype=np.int32)
    return next_id + len(into)


def _advance_crowded(
    schedule: Schedule,
    cells: NDArray[np.int32],
    t: int,
    step: Step,
    value: NDArray[np.int32],
    into: IntArray,
    next_id: int,
    operands: list[tuple[NDArray[np.int32], NDArray[np.int32]]],
) -> int:
    """A step in which one cell receives several messages: all must be additions, done one by one."""
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
        now = order[turn == k]
        copies = now[~step.add[now]]
        cells[into[copies]] = value[copies]
        adds = now[step.add[now]]
        if len(adds):
            next_id = _add(cells, into[adds], value[adds], next_id, operands)
    return next_id


def _node(schedule: Schedule, node: int) -> str:
    return f"rank {node}" if node < schedule.ranks else f"switch {node - schedule.ranks}"


def _check_step(schedule: Schedule, topology: Topology | None, t: int, step: Step) -> None:
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
    adds = np.flatnonzero((step.dst >= schedule.ranks) & step.add)
    if len(adds) and not topology.combines:
        node, block = int(step.dst[adds[0]]), int(step.block[adds[0]])
        raise ScheduleError(
            f"step {t}: {_node(schedule, node)} of {topology.name} must add block {block}; its switches do not combine",
            node,
            block,
            t,
        )
    sends = np.flatnonzero(step.src >= schedule.ranks)
    key = step.src[sends] * len(schedule.blocks) + step.block[sends]
    if topology.replicates or len(np.unique(key)) == len(key):
        return
    values, counts = np.unique(key, return_counts=True)
    node, block = divmod(int(values[counts > 1][0]), len(schedule.blocks))
    raise ScheduleError(
        f"step {t}: {_node(schedule, node)} of {topology.name} must send block {block} to several nodes; "
        "its switches do not replicate",
        node,
        block,
        t,
    )


def _refuse_unheld(step: Step, value: NDArray[np.int32], t: int) -> None:
    i = int(np.flatnonzero(value < 0)[0])
    rank, block = int(step.src[i]), int(step.block[i])
    raise ScheduleError(
        f"step {t}: rank {rank} sends block {block} to rank {int(step.dst[i])} but does not hold it; "
        "it must arrive in an earlier step",
        rank,
        block,
        t,
    )


def _count(where: IntArray, weight: IntArray, size: int) -> IntArray:
    return np.bincount(where, weight, size).astype(np.intp)


class _Ledger:
    """Adds up, step by step, what crosses which link."""

    def __init__(self, schedule: Schedule, topology: Topology) -> None:
        self.schedule, self.topology = schedule, topology
        share, speed = schedule.blocks.share, topology.bandwidth.numerators
        if float(share.numerators.sum(dtype=np.float64)) * max(1, schedule.num_steps) >= LARGEST_EXACT:
            raise ValueError(f"shares with the common denominator {share.denominator} are too fine to count exactly")
        self.size = share.numerators
        # a load times its weight is proportional to the time it takes; the weights are integers
        self.speed_lcm = int(np.lcm.reduce(speed)) if len(speed) else 1
        self.weight = self.speed_lcm // speed
        self.sent = np.zeros(topology.nodes)
        self.received = np.zeros(topology.nodes)
        self.link = np.zeros(topology.num_links)
        self.step_alpha = np.zeros(schedule.num_steps, dtype=np.intp)
        self.step_beta = np.zeros(schedule.num_steps, dtype=np.intp)
        self.pattern: tuple[IntArray, IntArray, IntArray, IntArray, int] | None = None

    def record(self, t: int, step: Step) -> None:
        if not len(step.src):
            return
        message, link, self.step_alpha[t] = self._routes(step)
        size = self.size[step.block]
        self.sent += np.bincount(step.src, size, len(self.sent))
        self.received += np.bincount(step.dst, size, len(self.sent))
        load = np.bincount(link, size[message], len(self.link))
        self.link += load
        self.step_beta[t] = (load * self.weight).max()

    def _routes(self, step: Step) -> tuple[IntArray, IntArray, int]:
        # rings and trees send along the same edges again and again: the arrays are the same objects
        if self.pattern is None or self.pattern[0] is not step.src or self.pattern[1] is not step.dst:
            message, link = self.topology.router(step.src, step.dst)
            alpha = np.bincount(message, self.topology.alpha.numerators[link], len(step.src))
            self.pattern = (step.src, step.dst, message, link, int(alpha.max()))
        return self.pattern[2:]

    def execution(self) -> Execution:
        return Execution(
            self.schedule,
            self.topology,
            self.sent.astype(np.intp),
            self.received.astype(np.intp),
            self.link.astype(np.intp),
            self.step_alpha,
            self.step_beta * self.topology.bandwidth.denominator,
            self.schedule.blocks.share.denominator * self.speed_lcm,
        )


def _prove(
    schedule: Schedule, cells: NDArray[np.int32], operands: list[tuple[NDArray[np.int32], NDArray[np.int32]]]
) -> None:
    """Every target holds every contribution of its block exactly once, and nothing else."""
    blocks = schedule.blocks
    count = len(blocks)
    grid = cells.reshape(schedule.nodes, count)
    plain = blocks.source < blocks.ranks  # one rank's block: the value itself must have arrived
    for who in np.unique(blocks.target):
        wanted = blocks.target == who
        members = blocks.holders(who)
        moved = np.flatnonzero(wanted & plain)
        if len(moved):
            right = blocks.source[moved] * count + moved
            for rank in members:
                if (grid[rank, moved] != right).any():
                    _refuse_end(schedule, int(rank), int(moved[np.flatnonzero(grid[rank, moved] != right)[0]]))
        summed = np.flatnonzero(wanted & ~plain)
        if len(summed):
            _prove_sums(schedule, grid, operands, members, summed)


def _prove_sums(
    schedule: Schedule,
    grid: NDArray[np.int32],
    operands: list[tuple[NDArray[np.int32], NDArray[np.int32]]],
    members: IntArray,
    summed: IntArray,
) -> None:
    ids = grid.size + sum(len(left) for left, _ in operands)
    lead = grid[members[0], summed]
    lanes = members[:1] if all((grid[rank, summed] == lead).all() for rank in members) else members
    wide = max(1, LANE_CELLS // ids)
    for start in range(0, len(lanes), wide):
        chosen = lanes[start : start + wide]
        final = grid[np.ix_(chosen, summed)]
        if final.min() < 0:
            lane, i = np.argwhere(final < 0)[0]
            _refuse_end(schedule, int(chosen[lane]), int(summed[i]))
        counts = _multiplicities(final, ids, grid.size, operands)
        _check_counts(schedule, counts, chosen, summed)


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


def _check_counts(schedule: Schedule, counts: NDArray[np.int32], lanes: IntArray, summed: IntArray) -> None:
    blocks = schedule.blocks
    table = counts.reshape(schedule.nodes, len(blocks), len(lanes))
    for who in np.unique(blocks.source[summed]):
        of_group = summed[blocks.source[summed] == who]
        for rank in blocks.holders(who):
            wrong = table[rank, of_group] != 1
            if wrong.any():
                i, lane = np.argwhere(wrong)[0]
                _refuse_end(schedule, int(lanes[lane]), int(of_group[i]))


def _refuse_end(schedule: Schedule, rank: int, block: int) -> None:
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
