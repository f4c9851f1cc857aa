"""The event-driven clock: a message starts when its blocks have arrived and its links are free.

The lock-step clock waits at the end of every step for the slowest link; this one does not. A link
serves messages first come, first served; alpha delays a message and does not occupy the link. A
link of several cables serves as many messages at once: each takes the first cable that is free.
Within its route a message cuts through: its head asks for the next link as soon as it gets there,
and waits there if the link is busy. A node passes a block on only once it has arrived in full.
Blocks from one node to one other in one step travel as one message.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from colllib.cost import Price, finite, values_per_level
from colllib.exact import Fractions, IntArray, counted
from colllib.execution import check_fit
from colllib.schedule import Schedule
from colllib.topology import Topology, star
from colllib.topology.paths import routed


@dataclass(frozen=True, eq=False)
class Timeline:
    """When every message was sent and received.

    Attributes:
        step, src, dst: of each message, shape (m,), in schedule order.
        size: its share of M, shape (m,).
        ready: when its blocks were there, in seconds, shape (m,).
        start: when its first link was free, in seconds, shape (m,).
        arrival: when it had arrived in full, in seconds, shape (m,).
    """

    step: IntArray
    src: IntArray
    dst: IntArray
    size: NDArray[np.float64]
    ready: NDArray[np.float64]
    start: NDArray[np.float64]
    arrival: NDArray[np.float64]

    @property
    def seconds(self) -> float:
        """When the last message has arrived."""
        return float(self.arrival.max(initial=0.0))


def event_clock(
    schedule: Schedule, topology: Topology | None = None, *, message: float, alpha: Price, bandwidth: Price
) -> Timeline:
    """Run a schedule message by message, each as early as its data and its links allow.

    The schedule's steps fix only which value a message carries; a message that adds to a block is
    usable together with all earlier additions to it. Messages that become ready at the same
    moment are served in schedule order.

    Args:
        schedule: what to run; `execute` proves it.
        topology: where (default: a star with one full-duplex port per rank).
        message: M in bytes.
        alpha: latency unit in seconds, one for each level of the topology.
        bandwidth: BW in bytes per second, likewise.

    Returns:
        the timeline; its `seconds` is the completion time.

    Raises:
        ValueError: if the topology has another number of ranks, or a quantity cannot be.

    >>> from colllib.algorithms import broadcast
    >>> from colllib.schedule import pipelined
    >>> chain = pipelined(broadcast.chain(3), 2)
    >>> event_clock(chain, message=8, alpha=1, bandwidth=1).seconds  # lock-step: 3 * (1 + 4)
    14.0
    """
    topology = star(schedule.ranks) if topology is None else topology
    check_fit(schedule, topology)
    alphas, speeds = values_per_level(topology.levels, message=message, alpha=alpha, bandwidth=bandwidth)
    line = _Flows(schedule, topology).run(message, alphas, speeds)
    finite(line.seconds, message=message, alpha=alpha, bandwidth=bandwidth)
    return line


class _Flows:
    """Messages, the values they need and the values they make."""

    def __init__(self, schedule: Schedule, topology: Topology) -> None:
        self.topology = topology
        self.step: list[int] = []
        self.src: list[int] = []
        self.dst: list[int] = []
        self.size: list[float] = []  # share of M
        self.links: list[list[int]] = []  # of its route
        self.outermost: list[int] = []  # level of its route, whose alpha it pays
        self.waits: list[int] = []  # values a message still waits for
        self.makes: list[list[int]] = []
        self.readers: list[list[int]] = []  # per value: messages that carry it
        self.grown: list[list[int]] = []  # per value: values that are additions to it
        self.parts: list[int] = []  # per value: what it still waits for, its message included
        self.route = routed(topology, schedule.paths)
        version: dict[int, int] = {}  # by node * number of blocks + block
        for t in range(schedule.num_steps):
            self._add_step(schedule, topology, t, version)

    def _add_step(self, schedule: Schedule, topology: Topology, t: int, version: dict[int, int]) -> None:
        step = schedule.step(t)
        if not len(step.src):
            return
        pair = step.src * schedule.nodes + step.dst
        if schedule.paths is not None:  # blocks may go other ways: each is a message of its own
            pair = pair + step.block * schedule.nodes**2
        bundles, example, of_message = np.unique(pair, return_index=True, return_inverse=True)
        first = len(self.step)
        src, dst = step.src[example], step.dst[example]
        share = schedule.blocks.share
        size = Fractions(counted(of_message, share.numerators[step.block], len(bundles)), share.denominator).as_floats()
        owner, link = self.route(src, dst, step.block[example])
        self.step += [t] * len(bundles)
        self.src += src.tolist()
        self.dst += dst.tolist()
        self.size += size.tolist()
        order = np.argsort(owner, kind="stable")
        hops = np.bincount(owner, minlength=len(bundles))
        self.links += [part.tolist() for part in np.split(link[order], np.cumsum(hops)[:-1])]
        self.outermost += topology.latencies(owner, link, len(bundles))[0].tolist()
        self.waits += [0] * len(bundles)
        self.makes += [[] for _ in bundles]
        written: dict[int, int] = {}
        message = (of_message + first).tolist()
        for i, place in zip(message, (step.src * len(schedule.blocks) + step.block).tolist(), strict=True):
            value = version.get(place)
            if value is not None:
                self.readers[value].append(i)
                self.waits[i] += 1
        places = (step.dst * len(schedule.blocks) + step.block).tolist()
        for i, place, add in zip(message, places, step.add.tolist(), strict=True):
            value = len(self.readers)
            self.readers.append([])
            self.grown.append([])
            self.makes[i].append(value)
            older = written.get(place, version.get(place)) if add else None
            self.parts.append(1 if older is None else 2)
            if older is not None:
                self.grown[older].append(value)
            written[place] = value
        version.update(written)

    def run(self, message: float, alpha: Sequence[float], bandwidth: Sequence[float]) -> Timeline:
        count = len(self.step)
        # lists, because single elements are read and written: there numpy is slower
        ready, start, arrival = ([0.0] * count for _ in range(3))
        tiers, tier_of = self.topology.tiers, self.topology.tier.tolist()
        level = [tiers[tier].level for tier in tier_of]
        # a route pays the parts of its outermost level's alpha
        part = self.topology.alpha.as_floats().tolist()
        delay = [
            [a * alpha[depth] if at == depth else 0.0 for a, at in zip(part, level, strict=True)]
            for depth in range(self.topology.levels)
        ]
        slowness = [message * tier.cables / (float(tier.bandwidth) * bandwidth[tier.level]) for tier in tiers]
        cables = [tiers[tier].cables for tier in tier_of]
        free: list[list[float]] = [[] for _ in tier_of]  # per link: when each cable taken so far is, soonest first
        tail = [0.0] * count
        there = [0.0] * len(self.readers)
        # the head of message i asks for its hop-th link at this moment
        queue = [(0.0, i, 0) for i in range(count) if self.waits[i] == 0]
        heapq.heapify(queue)
        while queue:
            now, i, hop = heapq.heappop(queue)
            link = self.links[i][hop]
            fresh = len(free[link]) < cables[link]
            begin = now if fresh else max(now, free[link][0])
            tail[i] = max(begin + self.size[i] * slowness[tier_of[link]], tail[i])
            (heapq.heappush if fresh else heapq.heapreplace)(free[link], tail[i])
            later = delay[self.outermost[i]][link]
            if hop == 0:
                start[i] = begin
            if hop + 1 < len(self.links[i]):
                tail[i] += later
                heapq.heappush(queue, (begin + later, i, hop + 1))
                continue
            arrival[i] = tail[i] + later
            for value in self.makes[i]:
                self._arrived(value, arrival[i], there, ready, queue)
        step, src, dst = (np.array(values, dtype=np.intp) for values in (self.step, self.src, self.dst))
        return Timeline(step, src, dst, *(np.array(values) for values in (self.size, ready, start, arrival)))

    def _arrived(
        self,
        value: int,
        when: float,
        there: list[float],
        ready: list[float],
        queue: list[tuple[float, int, int]],
    ) -> None:
        pending = [(value, when)]
        while pending:
            value, when = pending.pop()
            there[value] = max(there[value], when)
            self.parts[value] -= 1
            if self.parts[value]:
                continue
            for reader in self.readers[value]:
                ready[reader] = max(ready[reader], there[value])
                self.waits[reader] -= 1
                if self.waits[reader] == 0:
                    heapq.heappush(queue, (ready[reader], reader, 0))
            pending.extend((larger, there[value]) for larger in self.grown[value])
