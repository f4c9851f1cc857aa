"""The state of an all-to-all as a source x destination grid: each cell names and colors the rank that has the block.

The columns of blocks that the trace player draws for other primitives would be N squared here. A
block of an all-to-all is at one place at a time, so one cell for each block is enough; and the
colors turn from rows into columns as the transposition proceeds.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from colllib.exact import Fractions, IntArray
from colllib.schedule import Schedule
from colllib.show.places import node_name
from colllib.show.theme import SERIES, color


def has_pairs(schedule: Schedule) -> bool:
    """Whether the blocks are one for each pair of ranks, in order, as in an all-to-all.

    >>> from colllib.algorithms import allgather, alltoall
    >>> has_pairs(alltoall.bruck(4)), has_pairs(allgather.ring(4))
    (True, False)
    """
    pairs = list(zip(schedule.blocks.source.tolist(), schedule.blocks.target.tolist(), strict=True))
    return pairs == list(product(range(schedule.ranks), repeat=2))


def whereabouts(schedule: Schedule, t: int) -> IntArray:
    """The rank that received each block last, or that has had it from the start, after t steps.

    >>> from colllib.algorithms import alltoall
    >>> whereabouts(alltoall.ring_relay(3), 1).reshape(3, 3).tolist()
    [[0, 1, 2], [0, 1, 2], [0, 1, 2]]
    """
    place = schedule.blocks.source.copy()
    for k in range(t):
        step = schedule.step(k)
        place[step.block] = step.dst
    return place


def pair_grid(schedule: Schedule, t: int) -> str:
    """Sources by destinations: where each block is after t steps, what just moved, what has arrived.

    Args:
        schedule: an all-to-all.
        t: number of steps done.
    """
    n = schedule.ranks
    place = whereabouts(schedule, t)
    moved = set(schedule.step(t - 1).block.tolist()) if t else set()
    head = "".join(f'<th scope="col">→{target}</th>' for target in range(n))
    rows = []
    for source in range(n):
        cells = []
        for block in range(source * n, source * n + n):
            marks = "d" * bool(place[block] == schedule.blocks.target[block]) + " m" * (block in moved)
            tint = f"--cl-tint:{color(int(place[block]) % len(SERIES))}"
            cells.append(f'<td class="{marks.strip()}" style="{tint}">{node_name(schedule, int(place[block]))}</td>')
        rows.append(f'<tr><th scope="row">{source}→</th>{"".join(cells)}</tr>')
    return (
        '<table class="colllib-table cl-trace cl-pairs"><caption>The rank that has each block, from source → to '
        f"destination</caption><thead><tr><td></td>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def sent_so_far(schedule: Schedule, t: int) -> str:
    """What the ranks have sent after t steps, in words: one share where all have sent the same."""
    sent = np.zeros(schedule.nodes, dtype=np.intp)
    share = schedule.blocks.share
    for k in range(t):
        step = schedule.step(k)
        np.add.at(sent, step.src, share.numerators[step.block])
    low, high = Fractions(np.array([sent[: schedule.ranks].min(), sent[: schedule.ranks].max()]), share.denominator)
    return f"each rank has sent {low} M" if low == high else f"the ranks have sent between {low} and {high} M"
