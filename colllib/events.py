"""The event-driven clock: a message starts when its blocks have arrived and its links are free.

The lock-step clock waits at the end of every step for the slowest link; this one does not. A link
serves messages first come, first served; alpha delays a message and does not occupy the link. A
link of several cables serves as many messages at once: each takes the first cable that is free.
Within its route a message cuts through: its head asks for the next link as soon as it gets there,
and waits there if the link is busy. Behind a narrower link it holds a wide one as long as the narrower
one takes, since its tail comes no sooner. A node passes a block on only once it has arrived in full.
Blocks from one node to one other in one step travel as one message.

With a `Processor` the clock is that of LogP and LogGP: the links' alpha is their L and 1/BW their
gap per byte G; a message also keeps its sender and its receiver busy, and a rank waits between two.
Ranks may begin late, and the bytes between two ranks may be slow.

Inside, times are whole numbers of ticks, so that what is ready at the same moment is seen to be: in
floating point the last digit would say who is served first.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import inf, isfinite, lcm

import numpy as np
from numpy.typing import NDArray

from colllib.cost import Price, finite, values_per_level
from colllib.exact import IntArray, counted
from colllib.execution import check_fit
from colllib.primitives import check_rank
from colllib.provenance import check_step, refuse_unheld
from colllib.schedule import Schedule, Step
from colllib.topology import Topology, star
from colllib.topology.paths import routed


@dataclass(frozen=True)
class Processor:
    """What a message costs the ranks themselves, in the LogP model and in LogGP.

    A message of k bytes takes o + L + (k - 1) G + o. The sender is busy for the first o, the receiver
    for the last; between them both are free to compute. The first byte of a rank's next message, sent
    or received, comes at least g after the last byte of the one before.

    Args:
        overhead: o in seconds, at least 0.
        gap: g in seconds, at least 0.

    Raises:
        ValueError: for a time that is negative or no number.
    """

    overhead: float
    gap: float = 0.0

    def __post_init__(self) -> None:
        for name in ("overhead", "gap"):
            if not (isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise ValueError(f"{name} {getattr(self, name)!r}: must be a finite number of seconds, at least 0")


@dataclass(frozen=True, eq=False)
class Timeline:
    """When every message was sent and received; times in seconds, arrays of shape (m,) in schedule order."""

    step: IntArray
    src: IntArray
    dst: IntArray
    size: NDArray[np.float64]  # its share of M
    ready: NDArray[np.float64]  # when its blocks were there
    start: NDArray[np.float64]  # when its first link was free
    arrival: NDArray[np.float64]  # when it had arrived in full, and been received
    overhead: float = 0.0  # o, for which it keeps its sender busy until `start` and its receiver until `arrival`

    @property
    def seconds(self) -> float:
        """When the last message has arrived."""
        return float(self.arrival.max(initial=0.0))

    def finished(self, rank: int, work: float) -> float:
        """When a rank has also computed for so many seconds, from 0 on; a message interrupts it for its overhead.

        >>> from colllib.algorithms import allreduce
        >>> price = {"message": 0.0, "alpha": 100e-6, "bandwidth": 1e9, "processor": Processor(50e-6)}
        >>> round(1e6 * event_clock(allreduce.recursive_doubling(2), **price).finished(0, 500e-6))
        600
        """
        busy = np.concatenate((self.start[self.src == rank], self.arrival[self.dst == rank]))
        done = work
        for end in np.sort(busy):
            if end - self.overhead < done:
                done += self.overhead
        return max(done, float(busy.max(initial=0.0)))


def event_clock(
    schedule: Schedule,
    topology: Topology | None = None,
    *,
    message: float,
    alpha: Price,
    bandwidth: Price,
    processor: Processor | None = None,
    late: Mapping[int, float] | None = None,
    slow: Mapping[tuple[int, int], float] | None = None,
) -> Timeline:
    """Run a schedule message by message, each as early as its data and its links allow.

    The schedule's steps fix only which value a message carries; a message that adds to a block is
    usable together with all earlier additions to it. Messages that become ready at the same
    moment are served by their step, and in a step by sender and receiver (first by block on paths of their own).

    Args:
        schedule: what to run; `execute` proves its end state, which is not looked at here.
        topology: where (default: a star with one full-duplex port per rank).
        message: M in bytes.
        alpha: latency unit in seconds, one for each level of the topology.
        bandwidth: BW in bytes per second, likewise.
        processor: what a message costs the ranks at its ends (default: nothing, and k bytes take k/BW).
        late: how many seconds after the others a rank begins to send, and with a processor also to receive.
        slow: how many times longer the bytes of a message from one rank to another take.

    Returns:
        the timeline; its `seconds` is the completion time.

    Raises:
        ValueError: if the topology has another number of ranks, a quantity cannot be, a rank is not there,
            or switches take part and a processor is given.
        ScheduleError: if a node sends what it does not hold, or to itself.

    >>> from colllib.algorithms import broadcast
    >>> from colllib.schedule import pipelined
    >>> chain = pipelined(broadcast.chain(3), 2)
    >>> event_clock(chain, message=8, alpha=1, bandwidth=1).seconds  # lock-step: 3 * (1 + 4)
    14.0
    >>> event_clock(chain, message=8, alpha=1, bandwidth=1, late={0: 2}, slow={(1, 2): 2}).seconds
    24.0
    """
    topology = star(schedule.ranks) if topology is None else topology
    check_fit(schedule, topology)
    if processor is not None and schedule.switches:
        raise ValueError(f"{schedule}: switches take part, and have no processor that could be busy")
    alphas, speeds = values_per_level(topology.levels, message=message, alpha=alpha, bandwidth=bandwidth)
    late, slow = late or {}, slow or {}
    for rank in (*late, *(end for pair in slow for end in pair)):
        check_rank("late rank or end of a slow link", rank, schedule.ranks)
    for what, least, values in (("late by", 0, late.values()), ("slow by a factor of", 1, slow.values())):
        for value in values:
            if not (isfinite(value) and value >= least):
                raise ValueError(f"{what} {value}: must be finite, and at least {least}")
    flows = _Flows(schedule, topology)
    flows.into_ticks(message, alphas, speeds, processor, late, slow)
    line = flows.run()
    finite(line.seconds, message=message, alpha=alpha, bandwidth=bandwidth)
    return line


SEND, RECEIVE = -2, -1  # asked of a processor, where others count the hops of a route


class _Ranks:
    """When the processors of the ranks are free, and may send and receive again; times are in ticks."""

    def __init__(self, ranks: int, overhead: int, gap: int, begins: Mapping[int, int]) -> None:
        self.overhead, self.gap = overhead, gap
        self.free = [begins.get(rank, 0) for rank in range(ranks)]
        self.next = {SEND: [0] * ranks, RECEIVE: [0] * ranks}

    def when(self, now: int, rank: int, what: int, wire: int) -> int:
        """From when on a rank can begin to send what needs so long on the wire, or to receive it once it is there."""
        first_byte = self.next[what][rank]
        return max(now, self.free[rank], first_byte if what == SEND else first_byte + wire)

    def sends(self, now: int, rank: int, wire: int) -> int:
        """Begin to send now what needs so long on the wire; when its first byte leaves."""
        self.free[rank] = now + self.overhead
        self.next[SEND][rank] = now + wire + self.gap
        return self.free[rank]

    def receives(self, now: int, rank: int) -> int:
        """Begin to receive now; when that is done."""
        self.free[rank] = now + self.overhead
        self.next[RECEIVE][rank] = now + self.gap
        return self.free[rank]


def _decimal(value: float) -> Fraction:
    """The number that is printed for a float: 0.1 is a tenth."""
    return Fraction(repr(float(value)))


class _Flows:
    """Messages, the values they need and the values they make."""

    def __init__(self, schedule: Schedule, topology: Topology) -> None:
        self.topology = topology
        self.step: list[int] = []
        self.src: list[int] = []
        self.dst: list[int] = []
        self.size: list[int] = []  # numerator of its share of M
        self.links: list[list[int]] = []  # of its route
        self.outermost: list[int] = []  # level of its route, whose alpha it pays
        self.waits: list[int] = []  # values a message still waits for
        self.makes: list[list[int]] = []
        self.readers: list[list[int]] = []  # per value: messages that carry it
        self.grown: list[list[int]] = []  # per value: values that are additions to it
        self.parts: list[int] = []  # per value: what it still waits for, its message included
        self.router = routed(topology, schedule.paths)
        self.denominator = schedule.blocks.share.denominator
        version: dict[int, int] = {}  # the latest value of each cell, node * number of blocks + block
        holders = cache(lambda source: frozenset(schedule.blocks.holders(source).tolist()))
        for t in range(schedule.num_steps):
            step = schedule.step(t)
            if len(step.src):
                check_step(schedule, topology, t, step)
                message = self._add_messages(schedule, t, step)
                missing = self._add_values(step, message, len(schedule.blocks), version)
                for k in missing:  # what nobody sent has to be there from the start
                    if int(step.src[k]) not in holders(int(schedule.blocks.source[step.block[k]])):
                        refuse_unheld(schedule, step, k, t)

    def _add_messages(self, schedule: Schedule, t: int, step: Step) -> list[int]:
        """Bundle the blocks of a step to messages with routes; which message each block travels in."""
        pair = step.src * schedule.nodes + step.dst
        if schedule.paths is not None:  # blocks may take other routes: each is a message of its own
            pair = pair + step.block * schedule.nodes**2
        bundles, example, of_message = np.unique(pair, return_index=True, return_inverse=True)
        first = len(self.step)
        src, dst = step.src[example], step.dst[example]
        share = schedule.blocks.share
        size = counted(of_message, share.numerators[step.block], len(bundles))
        owner, link = self.router(src, dst, step.block[example])
        self.step += [t] * len(bundles)
        self.src += src.tolist()
        self.dst += dst.tolist()
        self.size += size.tolist()
        order = np.argsort(owner, kind="stable")
        hops = np.bincount(owner, minlength=len(bundles))
        self.links += [part.tolist() for part in np.split(link[order], np.cumsum(hops)[:-1])]
        self.outermost += self.topology.latencies(owner, link, len(bundles))[0].tolist()
        self.waits += [0] * len(bundles)
        self.makes += [[] for _ in bundles]
        messages: list[int] = (of_message + first).tolist()
        return messages

    def _add_values(self, step: Step, message: list[int], blocks: int, version: dict[int, int]) -> list[int]:
        """Let the messages of a step wait for the values that their cells hold, and make new ones of them.

        Returns which of its blocks leave a cell that nothing was sent to.
        """
        first = []
        for k, (i, cell) in enumerate(zip(message, (step.src * blocks + step.block).tolist(), strict=True)):
            value = version.get(cell)
            if value is None:
                first.append(k)
            else:
                self.readers[value].append(i)
                self.waits[i] += 1
        written: dict[int, int] = {}
        cells = (step.dst * blocks + step.block).tolist()
        for i, cell, add in zip(message, cells, step.add.tolist(), strict=True):
            value = len(self.readers)
            self.readers.append([])
            self.grown.append([])
            self.makes[i].append(value)
            older = written.get(cell, version.get(cell)) if add else None
            self.parts.append(1 if older is None else 2)
            if older is not None:
                self.grown[older].append(value)
            written[cell] = value
        version.update(written)
        return first

    def into_ticks(
        self,
        message: float,
        alpha: Sequence[float],
        bandwidth: Sequence[float],
        processor: Processor | None,
        late: Mapping[int, float],
        slow: Mapping[tuple[int, int], float],
    ) -> None:
        """What everything takes, in whole ticks; arguments as for `event_clock`, which has checked them."""
        self.processor = processor
        topology, size = self.topology, _decimal(message)
        alphas = [_decimal(seconds) / topology.alpha.denominator for seconds in alpha]
        speeds = list(map(_decimal, bandwidth))
        slowness = [size * tier.cables / (tier.bandwidth * speeds[tier.level]) for tier in topology.tiers]
        factor = {pair: _decimal(times) for pair, times in slow.items()}
        begins = {rank: _decimal(seconds) for rank, seconds in late.items()}
        overhead, gap = (_decimal(time) for time in ((processor.overhead, processor.gap) if processor else (0, 0)))
        first_byte = 1 / size if processor and size else Fraction(0)  # LogGP charges k - 1 bytes of k
        # a tick is a common divisor of all times, and a unit of load one of all sizes, slow ones as much larger
        share, times = lcm(self.denominator, first_byte.denominator), lcm(*(f.denominator for f in factor.values()))
        second = lcm(
            *(share * times * time.denominator for time in slowness),
            *(time.denominator for time in (*alphas, overhead, gap, *begins.values())),
        )
        scale, byte = share // self.denominator, int(first_byte * share)
        pairs = zip(self.size, self.src, self.dst, strict=True)
        self.second = second  # how many ticks it has
        #: of each message, its size in units so small that one takes a whole number of ticks
        self.load = [max(part * scale - byte, 0) * int(factor.get((a, b), 1) * times) for part, a, b in pairs]
        of_tier = [int(time * second / (share * times)) for time in slowness]  # on one cable of each tier
        tiers = topology.tier.tolist()
        self.per_load = [of_tier[tier] for tier in tiers]  # of each link, for a unit of load
        # a route pays the parts of its outermost level's alpha
        parts = list(zip(topology.alpha.numerators.tolist(), tiers, strict=True))
        self.delay = [  # for routes of each outermost level, what each link adds
            [part * int(time * second) if topology.tiers[tier].level == level else 0 for part, tier in parts]
            for level, time in enumerate(alphas)
        ]
        self.begins = {rank: int(time * second) for rank, time in begins.items()}
        self.ranks = _Ranks(topology.ranks, int(overhead * second), int(gap * second), self.begins)

    def run(self) -> Timeline:
        """Serve the messages in the order in which they ask, each first come, first served."""
        count, load, per_load, ranks = len(self.step), self.load, self.per_load, self.ranks
        cables = [self.topology.tiers[tier].cables for tier in self.topology.tier.tolist()]
        first = 0 if self.processor is None else SEND
        # lists, because single elements are read and written: there numpy is slower
        ready = [self.begins.get(src, 0) for src in self.src]
        start, arrival, tail = ([0] * count for _ in range(3))
        free: list[list[int]] = [[] for _ in cables]  # per link: when each cable taken so far is, soonest first
        complete = [0] * len(self.readers)  # when each value is
        # the head of message i asks for its hop-th link at this moment, or for the processor at one of its ends
        queue = [(ready[i], i, first) for i in range(count) if self.waits[i] == 0]
        heapq.heapify(queue)
        while queue:
            now, i, hop = heapq.heappop(queue)
            if hop in (SEND, RECEIVE):
                rank, link = (self.src[i], self.links[i][0]) if hop == SEND else (self.dst[i], self.links[i][-1])
                wire = load[i] * per_load[link]
                begin = ranks.when(now, rank, hop, wire)
                if begin > now:  # others may come first
                    heapq.heappush(queue, (begin, i, hop))
                elif hop == SEND:
                    heapq.heappush(queue, (ranks.sends(now, rank, wire), i, 0))
                else:
                    arrival[i] = ranks.receives(now, rank)
                    for reader in self._released(i, arrival[i], complete, ready):
                        heapq.heappush(queue, (ready[reader], reader, first))
                continue
            link = self.links[i][hop]
            fresh = len(free[link]) < cables[link]
            begin = now if fresh else max(now, free[link][0])
            tail[i] = max(begin + load[i] * per_load[link], tail[i])
            (heapq.heappush if fresh else heapq.heapreplace)(free[link], tail[i])
            later = self.delay[self.outermost[i]][link]
            if hop == 0:
                start[i] = begin
            if hop + 1 < len(self.links[i]):
                tail[i] += later
                heapq.heappush(queue, (begin + later, i, hop + 1))
                continue
            arrival[i] = tail[i] + later
            if first == SEND:
                heapq.heappush(queue, (arrival[i], i, RECEIVE))
                continue
            for reader in self._released(i, arrival[i], complete, ready):
                heapq.heappush(queue, (ready[reader], reader, first))
        return self._timeline(ready, start, arrival)

    def _released(self, i: int, when: int, complete: list[int], ready: list[int]) -> list[int]:
        """The messages that wait for nothing more once message i has arrived, which may complete values."""
        released = []
        pending = self.makes[i].copy()
        for value in pending:
            complete[value] = max(complete[value], when)
        while pending:
            value = pending.pop()
            self.parts[value] -= 1
            if self.parts[value]:
                continue
            for reader in self.readers[value]:
                ready[reader] = max(ready[reader], complete[value])
                self.waits[reader] -= 1
                if self.waits[reader] == 0:
                    released.append(reader)
            for larger in self.grown[value]:
                complete[larger] = max(complete[larger], complete[value])
                pending.append(larger)
        return released

    def _timeline(self, ready: list[int], start: list[int], arrival: list[int]) -> Timeline:
        step, src, dst = (np.array(values, dtype=np.intp) for values in (self.step, self.src, self.dst))
        size = np.array([_quotient(value, self.denominator) for value in self.size])
        readied, begun, done = (
            np.array([_quotient(ticks, self.second) for ticks in times]) for times in (ready, start, arrival)
        )
        return Timeline(step, src, dst, size, readied, begun, done, self.processor.overhead if self.processor else 0.0)


def _quotient(value: int, unit: int) -> float:
    try:
        return value / unit
    except OverflowError:
        return inf
