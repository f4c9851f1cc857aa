"""Contention: several schedules at once on one topology, and traffic that is not uniform."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from colllib.algorithms import direct
from colllib.cost import Cost, Price, Terms
from colllib.events import event_clock
from colllib.exact import Fractions, IntArray, counted
from colllib.execution import Execution, Ledger, execute, kinds_of, priced_by_kind
from colllib.primitives import check_counts, check_ranks
from colllib.schedule import Schedule, placed, side_by_side
from colllib.topology import Topology

# -- several schedules at once -------------------------------------------------------------------

Job = tuple[Schedule, Sequence[int]]


@dataclass(frozen=True, eq=False)
class Together:
    """Several jobs on one topology, executed together and, on demand, each alone."""

    topology: Topology
    jobs: tuple[Schedule, ...]  # each placed on the topology's ranks
    joint: Execution  # all of them in the same steps, proved

    @cached_property
    def alone(self) -> tuple[Execution, ...]:
        """Every job executed with the topology to itself."""
        return tuple(execute(job, self.topology) for job in self.jobs)

    @cached_property
    def _ends(self) -> IntArray:
        return np.cumsum([len(job.blocks) for job in self.jobs])

    def _job_of(self, block: IntArray) -> IntArray:
        """The job to which blocks of the joint schedule belong."""
        return np.searchsorted(self._ends, block, side="right").astype(np.intp)

    @cached_property
    def users(self) -> IntArray:
        """How many jobs use each directed link, shape (L,)."""
        used = np.stack([run.ledger.link > 0 for run in self.alone])
        return np.asarray(used.sum(axis=0), dtype=np.intp)

    @cached_property
    def in_step(self) -> tuple[Cost, ...]:
        """Each job's lock-step cost while the others go through their steps at the same time.

        A step lasts for a job as long as its own longest route and the most loaded of the links
        that it uses in this step, with what the others send over it.
        """
        schedule, topology = self.joint.schedule, self.topology
        share, count = schedule.blocks.share, len(self.jobs)
        # a table for each step, in the type in which it is exact
        hops = [np.zeros((count, 0, topology.levels), dtype=np.intp)]
        loads = [np.zeros((count, 0, len(topology.tiers)), dtype=np.intp)]
        for step in schedule.steps:
            message, link = topology.router(step.src, step.dst)
            job = self._job_of(step.block)
            load = counted(link, share.numerators[step.block][message], topology.num_links)
            level, latency = topology.latencies(message, link, len(step.src))
            hops.append(np.zeros((count, 1, topology.levels), dtype=latency.dtype))
            loads.append(np.zeros((count, 1, len(topology.tiers)), dtype=load.dtype))
            np.maximum.at(hops[-1][:, 0], (job, level), latency)
            np.maximum.at(loads[-1][:, 0], (job[message], topology.tier[link]), load[link])
        tables = zip(np.concatenate(hops, axis=1), np.concatenate(loads, axis=1), strict=True)
        return tuple(priced_by_kind(topology, kinds_of(topology, *rows, share.denominator)) for rows in tables)

    def completion(self, *, message: float, alpha: Price, bandwidth: Price) -> tuple[float, ...]:
        """When each job is done on the event clock, all starting at 0, in seconds.

        Raises:
            ValueError: if two jobs send between the same two ranks in the same step: these travel as one message.
        """
        timeline = event_clock(self.joint.schedule, self.topology, message=message, alpha=alpha, bandwidth=bandwidth)
        owner: dict[tuple[int, int, int], int] = {}
        for t, step in enumerate(self.joint.schedule.steps):
            jobs = self._job_of(step.block).tolist()
            for job, src, dst in zip(jobs, step.src.tolist(), step.dst.tolist(), strict=True):
                if owner.setdefault((t, src, dst), job) != job:
                    raise ValueError(f"step {t}: two jobs send from {src} to {dst}, so the event clock bundles them")
        completion = np.zeros(len(self.jobs))
        ends = zip(timeline.step.tolist(), timeline.src.tolist(), timeline.dst.tolist(), strict=True)
        job_of_message = np.array([owner[message] for message in ends], dtype=np.intp)
        np.maximum.at(completion, job_of_message, timeline.arrival)
        return tuple(completion.tolist())

    def slowdowns(self, *, clock: str = "lockstep", **price: Unpack[Terms]) -> tuple[float, ...]:
        """Each job's time in company over its time alone, on the same ranks.

        Args:
            clock: "lockstep", where all jobs step together, or "event".
            price: message, M of each job; alpha and bandwidth.

        Raises:
            ValueError: for an unknown clock, or a job that takes no time.
        """
        if clock == "lockstep":
            company = tuple(cost.seconds(**price) for cost in self.in_step)
            alone = [run.cost.seconds(**price) for run in self.alone]
        elif clock == "event":
            company = self.completion(**price)
            alone = [event_clock(job, self.topology, **price).seconds for job in self.jobs]
        else:
            raise ValueError(f"clock {clock!r}: must be 'lockstep' or 'event'")
        if 0 in alone:
            raise ValueError(f"job {alone.index(0)} takes 0 s alone: nothing is so many times as long")
        return tuple(a / b for a, b in zip(company, alone, strict=True))


def together(jobs: Sequence[Job], topology: Topology) -> Together:
    """Execute several schedules at once, each on ranks of its own choice, with a message of M each.

    Args:
        jobs: (schedule, ranks): the schedule's rank i is the topology's rank ranks[i].
        topology: that they share.

    Raises:
        ValueError: without a job, or if a schedule does not fit its ranks.

    >>> from colllib.algorithms import allreduce
    >>> from colllib.topology import ring
    >>> both = together([(allreduce.ring(3), (0, 2, 4)), (allreduce.ring(3), (1, 3, 5))], ring(6))
    >>> both.alone[0].cost, both.in_step[0], int(both.users.max())
    (Cost(n_alpha=8, n_beta=4/3), Cost(n_alpha=8, n_beta=8/3), 2)
    """
    schedules = tuple(placed(schedule, list(ranks), topology.ranks) for schedule, ranks in jobs)
    return Together(topology, schedules, execute(side_by_side(*schedules), topology))


# -- where groups lie ----------------------------------------------------------------------------


def aligned(ranks: int, size: int) -> IntArray:
    """Groups of consecutive ranks, shape (ranks / size, size): on a lattice, along its first axis.

    Raises:
        ValueError: if the size does not divide the ranks.

    >>> aligned(6, 3)
    array([[0, 1, 2],
           [3, 4, 5]])
    """
    check_ranks(ranks)
    if size < 1 or ranks % size:
        raise ValueError(f"groups of {size} among {ranks} ranks: the size must divide the ranks")
    return np.arange(ranks).reshape(-1, size)


def scattered(ranks: int, size: int, seed: int, groups: int | None = None, ordered: bool = False) -> IntArray:
    """Groups of ranks drawn at random, as a scheduler leaves them that looks at free ranks only.

    Args:
        size: ranks of a group.
        groups: how many (default: as many as there is room for).
        ordered: sort each group, so that its rank order follows the machine's.

    Raises:
        ValueError: if there is not room for as many.

    >>> scattered(8, 4, seed=1, ordered=True).shape
    (2, 4)
    """
    check_counts(size=size)
    groups = ranks // size if groups is None else groups
    if groups < 1 or groups * size > ranks:
        raise ValueError(f"{groups} groups of {size} do not fit {ranks} ranks")
    drawn = np.random.default_rng(seed).permutation(ranks)[: groups * size].reshape(groups, size)
    return np.sort(drawn, axis=1) if ordered else drawn


def cost_of_copies(schedule: Schedule, places: IntArray | Sequence[Sequence[int]], topology: Topology) -> Cost:
    """What `execute` finds for copies of one schedule at once, from link loads alone: it proves nothing.

    Args:
        schedule: for n ranks; every copy has a message of M.
        places: the ranks of each copy, a row each, shape (copies, n).
        topology: that the copies share.

    >>> from colllib.algorithms import allreduce
    >>> from colllib.topology import torus
    >>> cost_of_copies(allreduce.ring(8), aligned(512, 8), torus((8, 8, 8)))
    Cost(n_alpha=14, n_beta=7/4)
    """
    return _cost(rounds(schedule), np.asarray(places), topology)


Pattern = tuple[IntArray, IntArray, Fractions]


def rounds(schedule: Schedule) -> list[tuple[Pattern, int]]:
    """A schedule's steps as who sends how much to whom, equal ones once with their number.

    Returns:
        ((src, dst, share of M), how many steps), in order of first appearance.

    >>> from colllib.algorithms import allreduce
    >>> [count for _, count in rounds(allreduce.ring(8))]
    [14]
    """
    patterns: dict[bytes, Pattern] = {}
    counts = Counter[bytes]()
    for src, dst, share in map(schedule.carried, range(schedule.num_steps)):
        if len(src):
            key = b"".join(column.tobytes() for column in (src, dst, share.numerators))
            patterns.setdefault(key, (src, dst, share))
            counts[key] += 1
    return [(pattern, counts[key]) for key, pattern in patterns.items()]


def _cost(patterns: Sequence[tuple[Pattern, int]], places: IntArray, topology: Topology) -> Cost:
    ledger = Ledger(topology, len(patterns), patterns[0][0][2].denominator if patterns else 1)
    for t, ((src, dst, share), _) in enumerate(patterns):
        ledger.record(t, places[:, src].ravel(), places[:, dst].ravel(), np.tile(share.numerators, len(places)))
    return ledger.cost(np.array([count for _, count in patterns], dtype=np.intp))


@dataclass(frozen=True)
class Band:
    """Where a number lies over many draws: the 5th, 50th and 95th percentile."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float] | NDArray[np.float64]) -> Band:
        """The band of some values.

        >>> Band.of(range(101))
        Band(low=5.0, middle=50.0, high=95.0)
        """
        return cls(*np.percentile(np.asarray(values, dtype=float), (5, 50, 95)).tolist())

    def __str__(self) -> str:
        return f"{self.middle:.2f} ({self.low:.2f} to {self.high:.2f})"


def study(
    schedule: Schedule, topology: Topology, *, draws: int, groups: int | None = None, ordered: bool = False
) -> list[Cost]:
    """The lock-step cost of all groups together, for many seeded draws of where they lie.

    Args:
        schedule: what every group runs.
        topology: whose ranks the groups are drawn from.
        draws: how many.
        groups, ordered: as for `scattered`.

    >>> from colllib.algorithms import allreduce
    >>> from colllib.topology import star
    >>> {str(cost.n_beta) for cost in study(allreduce.ring(4), star(16), draws=5)}
    {'3/2'}
    """
    size, ranks, patterns = schedule.ranks, topology.ranks, rounds(schedule)
    return [_cost(patterns, scattered(ranks, size, draw, groups, ordered), topology) for draw in range(draws)]


# -- skew ----------------------------------------------------------------------------------------


def hot_destination(ranks: int, factor: int) -> list[list[Fraction]]:
    """The shares of an all-to-all in which rank 0 gets `factor` times as much as each other.

    >>> [str(share) for share in hot_destination(4, 3)[1]]
    ['1/2', '1/6', '1/6', '1/6']
    """
    check_ranks(ranks)
    check_counts(factor=factor)
    weights = [factor, *[1] * (ranks - 1)]
    return [[Fraction(weight, sum(weights)) for weight in weights]] * ranks


def skew_factor(topology: Topology, shares: Sequence[Sequence[Fraction]]) -> Fraction:
    """How many times longer the busiest link of an all-to-all needs than under uniform traffic, executed.

    Raises:
        ValueError: for a single rank, which sends nothing.

    >>> from colllib.topology import star
    >>> skew_factor(star(4), hot_destination(4, 3))
    Fraction(2, 1)
    """
    ranks = topology.ranks
    if ranks == 1:
        raise ValueError(f"{topology.name}: a single rank sends nothing that could be skewed")
    topology.check_one_level("a skew factor")
    skewed, uniform = (execute(direct.all_to_all(ranks, s), topology).cost.n_beta for s in (shares, None))
    return Fraction(skewed) / Fraction(uniform)
