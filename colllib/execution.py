"""The executor: runs a schedule on a topology, proves its end state and keeps the ledger."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from colllib.cost import Cost, Kind, TieredCost, whole_if_possible
from colllib.exact import IntArray, accumulated, counted, multiplied, summed, taken
from colllib.limits import CROSSING, LINK, MESSAGE, MOST_CROSSINGS, STEP, check_size
from colllib.provenance import Provenance, ScheduleError, trace
from colllib.schedule import Schedule
from colllib.topology import Topology, star
from colllib.topology.paths import Paths, routed

__all__ = ["Execution", "Ledger", "ScheduleError", "check_fit", "execute", "trace"]


SAMPLED_MESSAGES = 2**6  # of a step, from which the length of its routes is judged
SAMPLED_STEPS = 17
SPARSE = 2**5  # where there are so many more bins than entries, those in use are found first


class _Bins(NamedTuple):
    """The nodes or links that entries are counted at."""

    used: IntArray | slice  # those that any entry is counted at, or all of them
    bins: IntArray  # which of these each entry is counted at, shape (n,)
    number: int  # how many are used

    @classmethod
    def of(cls, entries: IntArray, count: int) -> _Bins:
        """Bins for entries at some of `count` nodes or links."""
        if len(entries) * SPARSE > count:
            return cls(slice(None), entries, count)
        used, bins = np.unique(entries, return_inverse=True)
        return cls(used, bins, len(used))

    def added(self, total: IntArray, counts: IntArray, times: int) -> IntArray:
        """The totals of all nodes or links with the counts of those in use, so many times."""
        return accumulated(total, multiplied(counts, times), self.used)


class _Routes(NamedTuple):
    """The routes of a step's messages, whatever their sizes.

    Messages that follow one another between the same two nodes are bundled: they take one route.
    """

    src: _Bins  # nodes of bundles, shape (n,)
    dst: _Bins
    first: IntArray | None  # the message that each begins with, shape (n,); None where all are bundles of one
    bundle: IntArray  # which one crosses which link, shape (crossings,)
    link: _Bins
    tiers: list[IntArray] | list[slice]  # of the links in use, those of each tier
    hops: list[int]  # of the longest route, for each level


class Ledger:
    """What crosses which link: adds up, step by step, exactly.

    Per step it keeps what decides the step's price at every alpha and bandwidth: for each tier the
    busiest link's load, and the longest route on which the tier is the outermost one.

    Args:
        topology: whose links are counted.
        steps: number of steps T.
        denominator: of the sizes that are recorded.
        paths: of messages that take one of their own.

    Attributes:
        sent: per node, what it sent, in units of M / `denominator`, shape (nodes,).
        received: per node, what it received, likewise.
        link: per directed link, what crossed it, likewise, shape (L,).
        hops: per step and level, in units of alpha / `topology.alpha.denominator`, shape (T, levels).
        loads: per step and tier, what crossed its busiest link, in units of M / `denominator`, shape (T, tiers).
    """

    def __init__(self, topology: Topology, steps: int, denominator: int, paths: Paths | None = None) -> None:
        self.topology, self.denominator = topology, denominator
        self.router = None if paths is None else routed(topology, paths)
        self.sent, self.received = (np.zeros(topology.nodes, dtype=np.intp) for _ in range(2))
        self.link = np.zeros(topology.num_links, dtype=np.intp)
        self.hops = np.zeros((steps, topology.levels), dtype=np.intp)
        self.loads = np.zeros((steps, len(topology.tiers)), dtype=np.intp)
        by_tier = [np.flatnonzero(topology.tier == tier) for tier in range(len(topology.tiers))]
        self.tiers: list[IntArray] | list[slice] = by_tier if len(by_tier) > 1 else [slice(None)]
        self.last: tuple[IntArray, IntArray, _Routes] | None = None

    def record(
        self, t: int, src: IntArray, dst: IntArray, size: IntArray, times: int = 1, block: IntArray | None = None
    ) -> None:
        """Step t: messages with ends, sizes and, for paths, blocks, shape (n,); the totals count it so many times."""
        if not len(src):
            return
        for ends in (src, dst):  # their routes are looked up by identity: they may not change
            ends.setflags(write=False)
        routes = self._routes(src, dst, block)
        size = size if routes.first is None else summed(size, routes.first)
        self.sent = routes.src.added(self.sent, counted(routes.src.bins, size, routes.src.number), times)
        self.received = routes.dst.added(self.received, counted(routes.dst.bins, size, routes.dst.number), times)
        crossing = taken(size, routes.bundle)  # the size of each bundle, once for every link of its route
        load = counted(routes.link.bins, crossing, routes.link.number)
        self.link = routes.link.added(self.link, load, times)
        self.hops = _written(self.hops, t, routes.hops)
        self.loads = _written(self.loads, t, _highest(load, routes.tiers))

    def _routes(self, src: IntArray, dst: IntArray, block: IntArray | None) -> _Routes:
        """The routes of a step; rings and trees send along the same edges again and again: the arrays are the same."""
        if self.router is not None and block is not None:
            return self._routed(src, dst, *self.router(src, dst, block))
        if self.last is None or self.last[0] is not src or self.last[1] is not dst:
            begins = np.concatenate(([True], (src[1:] != src[:-1]) | (dst[1:] != dst[:-1])))
            if begins.all():
                routes = self._routed(src, dst, *self.topology.router(src, dst))
            else:
                first = np.flatnonzero(begins)
                routes = self._routed(src[first], dst[first], *self.topology.router(src[first], dst[first]), first)
            self.last = (src, dst, routes)
        return self.last[2]

    def _routed(
        self, src: IntArray, dst: IntArray, bundle: IntArray, link: IntArray, first: IntArray | None = None
    ) -> _Routes:
        """The routes of bundles whose links are known."""
        topology, tiers = self.topology, self.tiers
        level, hops = topology.latencies(bundle, link, len(src))
        longest = [int(hops[level == outermost].max(initial=0)) for outermost in range(topology.levels)]
        senders, receivers = (_Bins.of(ends, topology.nodes) for ends in (src, dst))
        links = _Bins.of(link, topology.num_links)
        if len(tiers) > 1 and not isinstance(links.used, slice):
            tiers = [np.flatnonzero(topology.tier[links.used] == tier) for tier in range(len(tiers))]
        return _Routes(senders, receivers, first, bundle, links, tiers, longest)

    @property
    def busiest(self) -> list[int]:
        """What each tier's busiest link carries in all steps."""
        return _highest(self.link, self.tiers)

    def cost(self, times: IntArray | None = None) -> Cost:
        """The lock-step cost, counting step t once, or times[t] times."""
        return priced_by_kind(self.topology, self.kinds(np.arange(len(self.hops)), times))

    def kinds(self, steps: IntArray, times: IntArray | None = None) -> list[Kind]:
        """Some steps, those that cost the same at every alpha and bandwidth counted together."""
        return kinds_of(self.topology, self.hops[steps], self.loads[steps], self.denominator, times)


def _highest(load: IntArray, tiers: list[IntArray] | list[slice]) -> list[int]:
    return [int(load[links].max(initial=0)) for links in tiers]


def _written(table: IntArray, t: int, row: list[int]) -> IntArray:
    if table.dtype != object and max(row, default=0) > np.iinfo(np.intp).max:
        table = table.astype(object)
    table[t] = row
    return table


def kinds_of(
    topology: Topology, hops: IntArray, loads: IntArray, denominator: int, times: IntArray | None = None
) -> list[Kind]:
    """Steps as kinds, from their rows of a `Ledger`: hops, shape (T, levels), and loads, shape (T, tiers).

    Args:
        denominator: of the loads.
        times: how often each step counts (default: once), shape (T,).
    """
    rows = np.concatenate((hops, loads), axis=1)
    weight = np.ones(len(rows), dtype=np.intp) if times is None else times
    if len(rows) == 0:
        return []
    order = np.lexsort(rows.T[::-1])
    rows, weight = rows[order], weight[order]
    first = np.r_[True, (rows[1:] != rows[:-1]).any(axis=1)]
    counts = np.add.reduceat(weight, np.flatnonzero(first))
    levels = topology.levels
    outermost = {tier.level: place for place, tier in reversed(list(enumerate(topology.tiers)))}
    kinds = []
    for row, count in zip(rows[first].tolist(), counts.tolist(), strict=True):
        latency: list[int | Fraction] = [0] * len(topology.tiers)
        for level, place in outermost.items():
            latency[place] = whole_if_possible(Fraction(row[level], topology.alpha.denominator))
        shares = tuple(Fraction(value, denominator) for value in row[levels:])
        if count and (any(latency) or any(shares)):
            kinds.append(Kind(count, tuple(latency), shares))
    return kinds


def priced_by_kind(topology: Topology, kinds: Iterable[Kind]) -> Cost:
    """The cost of kinds of step: two numbers where the topology has one alpha and one BW."""
    if topology.levels > 1:
        return TieredCost(topology.tiers, kinds)
    n_alpha, n_beta = Fraction(0), Fraction(0)
    for kind in kinds:
        n_alpha += kind.steps * sum(kind.hops)
        n_beta += kind.steps * max(load / tier.bandwidth for load, tier in zip(kind.loads, topology.tiers, strict=True))
    return Cost(n_alpha, n_beta)


@dataclass(frozen=True, eq=False)
class Execution:
    """A schedule that was run and whose end state is proved, with its ledger; loads are exact fractions of M."""

    schedule: Schedule  # what was run
    topology: Topology  # whose links were crossed
    ledger: Ledger  # what crossed which link
    how: str = "executed"  # in full, or "by symmetry", or "not proved"

    def __repr__(self) -> str:
        cost = f"n_alpha={self.cost.n_alpha}, n_beta={self.cost.n_beta}" if self.cost.levels == 1 else str(self.cost)
        return f"Execution({self.schedule.num_steps} steps on {self.topology.name}: {cost})"

    @cached_property
    def cost(self) -> Cost:
        """The lock-step cost: a step lasts its longest route's alpha plus its most loaded link."""
        return self.ledger.cost()

    def cost_of(self, steps: Iterable[int]) -> Cost:
        """The lock-step cost of some of the steps.

        >>> from colllib.algorithms import allreduce
        >>> run = execute(allreduce.rabenseifner(8))
        >>> run.cost_of(range(3)), run.cost_of([0])
        (Cost(n_alpha=3, n_beta=7/8), Cost(n_alpha=1, n_beta=1/2))
        """
        return priced_by_kind(self.topology, self.kinds(steps))

    def kinds(self, steps: Iterable[int] | None = None) -> list[Kind]:
        """All steps or some, those that cost the same at every alpha and bandwidth together; per tier on any topology.

        >>> from colllib.algorithms import allreduce
        >>> execute(allreduce.ring(4)).kinds()
        [Kind(steps=6, hops=(1,), loads=(Fraction(1, 4),))]
        """
        chosen = range(self.schedule.num_steps) if steps is None else steps
        return self.ledger.kinds(np.fromiter(chosen, dtype=np.intp))

    @property
    def sent(self) -> tuple[Fraction, ...]:
        """What each rank sent, as a share of M."""
        return self._shares(self.ledger.sent[: self.schedule.ranks])

    @property
    def received(self) -> tuple[Fraction, ...]:
        """What each rank received, as a share of M."""
        return self._shares(self.ledger.received[: self.schedule.ranks])

    @property
    def link_total(self) -> tuple[Fraction, ...]:
        """What crossed each directed link over the whole run, as a share of M."""
        return self._shares(self.ledger.link)

    def link_load(self, t: int) -> tuple[Fraction, ...]:
        """What crosses each directed link in step t, as a share of M."""
        step = self.schedule.step(t)
        message, link = routed(self.topology, self.schedule.paths)(step.src, step.dst, step.block)
        share = self.schedule.blocks.share.numerators[step.block]
        return self._shares(counted(link, share[message], self.topology.num_links))

    def partners(self) -> tuple[int, int]:
        """The most nodes that one node sends to, and that one receives from, in a single step."""
        partners = [step.partners() for step in self.schedule.steps]
        return max((out for out, _ in partners), default=0), max((into for _, into in partners), default=0)

    def _shares(self, counts: IntArray) -> tuple[Fraction, ...]:
        return tuple(Fraction(int(count), self.ledger.denominator) for count in counts)


def execute(schedule: Schedule, topology: Topology | None = None, *, proved: bool = True) -> Execution:
    """Run a schedule, prove its end state, keep the ledger.

    Args:
        schedule: what to run.
        topology: where (default: a star with one full-duplex port per rank).
        proved: whether the end state must be right; one who looks for a fault wants to see the wrong one.

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
    check_fit(schedule, topology)
    share = schedule.blocks.share
    cells = Provenance(schedule)
    ledger = Ledger(topology, schedule.num_steps, share.denominator, schedule.paths)
    for t, step in enumerate(schedule.steps):
        cells.advance(t, step, topology)
        ledger.record(t, step.src, step.dst, taken(share.numerators, step.block), block=step.block)
    if proved:
        cells.prove()
    return Execution(schedule, topology, ledger, "executed" if proved else "not proved")


def check_fit(schedule: Schedule, topology: Topology) -> None:
    """Refuse a topology with another number of ranks, or too few switches."""
    if isinstance(topology, str):
        raise ValueError(f"topology {topology!r} is a name: pass colllib.topology.expression.find({topology!r})")
    if topology.ranks != schedule.ranks:
        raise ValueError(
            f"a schedule for {schedule.ranks} ranks does not fit {topology.name}, which has {topology.ranks}"
        )
    if schedule.switches > topology.switches:
        raise ValueError(f"the schedule uses {schedule.switches} switches, {topology.name} has {topology.switches}")


def expected_seconds(what: str, schedule: Schedule, topology: Topology) -> float:
    """About how long a schedule takes to execute, judged by some of its messages in some of its steps.

    Raises:
        TooLarge: if a step has so many crossings of links that they fill the memory.
    """
    steps = schedule.num_steps
    sampled = np.unique(np.linspace(0, max(steps - 1, 0), min(steps, SAMPLED_STEPS)).astype(np.intp))
    nearest = np.diff([0, *((sampled[1:] + sampled[:-1] + 1) // 2), steps])  # how many steps each one stands for
    seconds = steps * (STEP + LINK * topology.num_links)
    for t, times in zip(sampled.tolist(), nearest.tolist(), strict=False):
        step, copies = schedule.part(t)
        messages = len(step.src) * copies
        crossings = int(mean_crossings(topology, step.src, step.dst) * messages)
        check_size(f"{what}, step {t}", crossings, MOST_CROSSINGS, "crossings of links")
        seconds += (messages * MESSAGE + crossings * CROSSING) * times
    return seconds


def mean_crossings(topology: Topology, src: IntArray, dst: IntArray) -> float:
    """How many links a message crosses on average, judged by some of them."""
    every = -(-len(src) // SAMPLED_MESSAGES) or 1
    src, dst = src[::every], dst[::every]
    return len(topology.router(src, dst)[0]) / max(len(src), 1)
