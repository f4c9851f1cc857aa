"""Schedules run on actual values: numbers, strings, arrays, anything that a combining function takes.

`execute` proves which contributions end where; it does not say in which order they were combined.
Order matters for floating-point sums and for operators that do not commute, and here it shows.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from colllib.buffers import inputs, outputs, split
from colllib.exact import IntArray
from colllib.schedule import Schedule

Numbers = NDArray[Any]


class Message(NamedTuple):
    """Which message it is: the step, its two ends and the block."""

    step: int
    src: int
    dst: int
    block: int


Wire = Callable[[Any, Message], Any]


def final_values(
    schedule: Schedule,
    start: Sequence[Sequence[Any]],
    combine: Callable[[Any, Any], Any] = operator.add,
    wire: Wire | None = None,
) -> list[list[Any]]:
    """What each rank holds of each block after the last step.

    Args:
        start: start[rank][block], the rank's own value; read only where the rank is a source.
        combine: called as combine(current, arrived) where a message adds.
        wire: called as wire(sent, message), says what arrives of what was sent (default: the same).

    Returns:
        [rank][block], None where nothing ever was. Sending does not clear a cell.

    Raises:
        ValueError: if the values are not one for each rank and block, or the schedule uses switches.

    >>> from colllib.algorithms import reduce
    >>> final_values(reduce.chain(4), [["a"], ["b"], ["c"], ["d"]])[0]
    ['abcd']
    """
    blocks = schedule.blocks
    if schedule.switches:
        raise ValueError("values travel between ranks only: this schedule uses switches")
    if len(start) != schedule.ranks or any(len(row) != len(blocks) for row in start):
        raise ValueError(f"one value is needed for each of {schedule.ranks} ranks and {len(blocks)} blocks")
    state: list[list[Any]] = [[None] * len(blocks) for _ in range(schedule.ranks)]
    for rank, row in enumerate(state):
        for block in inputs(blocks, rank).tolist():
            row[block] = start[rank][block]
    for t, step in enumerate(schedule.steps):
        arriving = []
        for src, dst, block, add in zip(*(values.tolist() for values in step), strict=True):
            value = state[src][block]
            if wire is not None:
                value = wire(value, Message(t, src, dst, block))
            arriving.append((dst, block, add, value))
        for dst, block, add, value in arriving:
            current = state[dst][block]
            state[dst][block] = combine(current, value) if add and current is not None else value
    return state


def run_on(schedule: Schedule, buffers: Sequence[ArrayLike]) -> list[Numbers]:
    """Run a schedule on each rank's send buffer, cut along the first axis, and return each rank's receive buffer.

    Buffers are laid out as in `colllib.buffers`. For an all-reduce both are the vector, for an
    all-gather the shard and the whole, for an all-to-all one piece for and from each rank. What
    a rank neither holds nor must hold is an empty array. Floating-point sums round as the schedule's
    order makes them round.

    Raises:
        ValueError: if there is not one buffer per rank, or their lengths cannot be cut into the
            blocks' shares.

    >>> from colllib.algorithms import allreduce, alltoall
    >>> [total.tolist() for total in run_on(allreduce.ring(2), [[1, 2, 3, 4], [10, 20, 30, 40]])]
    [[11, 22, 33, 44], [11, 22, 33, 44]]
    >>> letters = [["aa", "ab", "ac"], ["ba", "bb", "bc"], ["ca", "cb", "cc"]]
    >>> [row.tolist() for row in run_on(alltoall.bruck(3), letters)]
    [['aa', 'ba', 'ca'], ['ab', 'bb', 'cb'], ['ac', 'bc', 'cc']]
    """
    arrays = [np.asarray(buffer) for buffer in buffers]
    lengths = _lengths(schedule, arrays)
    nothing = next((array for array in arrays if len(array)), arrays[0])[:0]  # numpy takes an empty list for floats
    start: list[list[Numbers | None]] = [[None] * len(schedule.blocks) for _ in arrays]
    for rank, (array, row) in enumerate(zip(arrays, start, strict=True)):
        own = inputs(schedule.blocks, rank)
        for block, piece in zip(own.tolist(), split(array if len(array) else nothing, lengths[own]), strict=True):
            row[block] = piece
    return [
        np.concatenate([nothing, *(row[block] for block in outputs(schedule.blocks, rank).tolist())])
        for rank, row in enumerate(final_values(schedule, start))
    ]


def _lengths(schedule: Schedule, arrays: Sequence[Numbers]) -> IntArray:
    """How many rows each block has."""
    if len(arrays) != schedule.ranks:
        raise ValueError(f"{len(arrays)} buffers for {schedule.ranks} ranks: one each is needed")
    share = schedule.blocks.share
    sizes = set()
    for rank, array in enumerate(arrays):
        if not array.ndim:
            raise ValueError(f"the buffer of rank {rank} is {array}, one value: must be an array of them")
        part = share.taken(inputs(schedule.blocks, rank)).total()
        if part:
            sizes.add(len(array) / part)
        elif len(array):
            raise ValueError(f"rank {rank} holds no block before the schedule runs: its buffer must be empty")
    if len(sizes) > 1:
        lengths = ", ".join(str(size) for size in sorted(sizes))
        raise ValueError(f"the buffers imply messages of {lengths} rows: they must agree")
    rows = [size * value for size in sizes for value in share]
    if any(row.denominator != 1 for row in rows):
        raise ValueError(f"a message of {sizes.pop()} rows cannot be cut into blocks of {set(map(str, share))} of it")
    return np.array(rows, dtype=np.intp)
