"""Schedules run on actual values: numbers, strings, anything that a combining function takes.

`execute` proves which contributions end where; it does not say in which order they were combined.
Order matters for floating-point sums and for operators that do not commute, and here it shows.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from colllib.schedule import Schedule


def final_values(
    schedule: Schedule, start: Sequence[Sequence[Any]], combine: Callable[[Any, Any], Any] = operator.add
) -> list[list[Any]]:
    """What each rank holds of each block after the last step.

    Args:
        schedule: on ranks only, without switches.
        start: start[rank][block], the rank's own value; read only where the rank is a source.
        combine: called as combine(held, arrived) where a message adds.

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
    held: list[list[Any]] = [[None] * len(blocks) for _ in range(schedule.ranks)]
    for block, who in enumerate(blocks.source.tolist()):
        for rank in blocks.holders(who).tolist():
            held[rank][block] = start[rank][block]
    for t in range(schedule.num_steps):
        step = schedule.step(t)
        messages = zip(*(values.tolist() for values in step), strict=True)
        sent = [(dst, block, add, held[src][block]) for src, dst, block, add in messages]
        for dst, block, add, value in sent:
            mine = held[dst][block]
            held[dst][block] = combine(mine, value) if add and mine is not None else value
    return held
