"""Staging: what a rank must keep only because it has to pass it on."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from colllib.schedule import Schedule


def staging(schedule: Schedule) -> tuple[Fraction, ...]:
    """After each step, the largest share of M that any one rank has received and must send again later.

    In an all-gather these are shards on their way to others, in a reduce-scatter partial sums that
    belong to someone else. What a rank holds from the start is not counted, nor what has come to
    stay. A reduce-scatter that is an all-gather backwards needs the same memory, in reverse order.

    Args:
        schedule: a schedule that `execute` has proved.

    >>> from colllib.algorithms import allgather
    >>> [str(share) for share in staging(allgather.ring(4))]
    ['1/4', '1/4', '0']
    >>> [str(share) for share in staging(allgather.bruck(8))]
    ['1/8', '3/8', '0']
    """
    blocks, steps = len(schedule.blocks), schedule.num_steps
    first = np.full(schedule.nodes * blocks, steps)
    last = np.full(schedule.nodes * blocks, -1)
    for t in range(steps):
        step = schedule.step(t)
        into = step.dst * blocks + step.block
        first[into] = np.minimum(first[into], t)
        last[step.src * blocks + step.block] = t
    cell = np.flatnonzero(last > first)
    share = schedule.blocks.share
    change = np.zeros((steps + 1, schedule.nodes), dtype=np.intp)
    np.add.at(change, (first[cell], cell // blocks), share.numerators[cell % blocks])
    np.subtract.at(change, (last[cell], cell // blocks), share.numerators[cell % blocks])
    parked = change.cumsum(axis=0)[:steps].max(axis=1, initial=0)
    return tuple(Fraction(int(count), share.denominator) for count in parked)
