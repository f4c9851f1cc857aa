"""The executor: runs a schedule on a topology, proves its end state and keeps the ledger."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from colllib.cost import Cost
from colllib.exact import LARGEST_EXACT, IntArray
from colllib.provenance import Provenance, ScheduleError, trace
from colllib.schedule import Schedule, Step
from colllib.topology import Topology, star

__all__ = ["Execution", "ScheduleError", "execute", "trace"]


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
    cells, ledger = Provenance(schedule), _Ledger(schedule, topology)
    for t in range(schedule.num_steps):
        step = schedule.step(t)
        cells.advance(t, step, topology)
        ledger.record(t, step)
    cells.prove()
    return ledger.execution()


def _check_fit(schedule: Schedule, topology: Topology) -> None:
    if topology.ranks != schedule.ranks:
        raise ValueError(
            f"a schedule for {schedule.ranks} ranks does not fit {topology.name}, which has {topology.ranks}"
        )
    if schedule.switches > topology.switches:
        raise ValueError(f"the schedule uses {schedule.switches} switches, {topology.name} has {topology.switches}")


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
