"""What pipelining does to a schedule: its phases, its closed form, its best number of segments, its limit."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import NamedTuple

import numpy as np

from colllib.cost import Cost, check_quantities
from colllib.execution import Execution
from colllib.formula import Formula
from colllib.schedule import Schedule


class Phases(NamedTuple):
    """How many steps a pipeline takes to fill, runs full, and takes to drain."""

    fill: int
    steady: int
    drain: int


def busy_ports(schedule: Schedule) -> list[int]:
    """How many nodes send in each step.

    >>> from colllib.algorithms import broadcast
    >>> busy_ports(broadcast.chain(4, segments=3))
    [1, 2, 3, 2, 1]
    """
    return [len(np.unique(schedule.step(t).src)) for t in range(schedule.num_steps)]


def port_messages(schedule: Schedule) -> list[int]:
    """The most messages that one node sends, or one node receives, in each step.

    The lock-step clock charges a step one alpha, however many messages share a port. The sum of
    this list is what it would charge if each message on a port paid its own.

    >>> from colllib.algorithms import broadcast
    >>> from colllib.schedule import pipelined
    >>> port_messages(pipelined(broadcast.binomial_tree(8), 3))
    [1, 2, 3, 2, 1]
    """
    most = []
    for t in range(schedule.num_steps):
        step = schedule.step(t)
        pairs = np.unique(np.stack((step.src, step.dst)), axis=1)
        most.append(max(int(np.bincount(ends).max(initial=0)) for ends in pairs))
    return most


def phases(busy: list[int]) -> Phases:
    """Steps before the first fullest one, from there to the last fullest one, and after it.

    >>> phases([1, 2, 3, 3, 3, 2, 1])
    Phases(fill=2, steady=3, drain=2)
    """
    if not busy:
        return Phases(0, 0, 0)
    full = [t for t, count in enumerate(busy) if count == max(busy)]
    return Phases(full[0], full[-1] - full[0] + 1, len(busy) - 1 - full[-1])


def pipeline_cost(stages: int, segments: int) -> Cost:
    """L + P - 1 steps of M/P each: the closed form of a pipeline without collisions.

    It holds where every step of the schedule moves all of M over its most loaded link and no two
    steps load the same link.

    Args:
        stages: number of steps L of the schedule in one piece.
        segments: number of segments P.

    >>> pipeline_cost(3, 10)
    Cost(n_alpha=12, n_beta=6/5)
    """
    if stages < 1 or segments < 1:
        raise ValueError(f"{stages} stages, {segments} segments: both must be at least 1")
    return Cost(stages + segments - 1, Fraction(stages + segments - 1, segments))


#: The square of the best real number of segments of a pipeline of L steps, for m = M / (alpha BW).
BEST_SEGMENTS_SQUARED = Formula("(L - 1) * m")


def best_segments_unrounded(stages: int, *, message: float, alpha: float, bandwidth: float) -> float:
    """The real number P* = sqrt((L - 1) M / (alpha BW)) that minimizes `pipeline_cost`; below 1 for a small message.

    The best whole number is one of its two neighbors, and at least 1.

    Args:
        stages: number of steps L of the schedule in one piece.
        message: M in bytes.
        alpha: latency in seconds, above 0.
        bandwidth: BW in bytes per second.

    >>> best_segments_unrounded(10, message=400e3, alpha=1e-6, bandwidth=100e9)
    6.0
    """
    check_quantities(message=message, alpha=alpha, bandwidth=bandwidth)
    if alpha == 0:
        raise ValueError("alpha = 0: without latency every further segment pays, and no number is best")
    return sqrt(BEST_SEGMENTS_SQUARED(L=stages, m=Fraction(message / (alpha * bandwidth))))


def busiest_link(execution: Execution) -> Fraction:
    """The most that one link carries over the whole run, in units of M/BW: what no pipelining gets below.

    The lock-step `n_beta` is the sum over the steps of the most loaded link; this is the most
    loaded link of the sum. With endlessly many segments the one becomes the other.

    >>> from colllib.algorithms import broadcast
    >>> from colllib.execution import execute
    >>> run = execute(broadcast.chain(8))
    >>> run.cost.n_beta, busiest_link(run)
    (Fraction(7, 1), Fraction(1, 1))
    """
    loads = zip(execution.link_total, execution.topology.bandwidth, strict=True)
    return max((Fraction(load) / Fraction(speed) for load, speed in loads), default=Fraction(0))
