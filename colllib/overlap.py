"""How long a schedule takes in P segments that overlap, for every P at once: what a search asks before it executes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from math import inf

import numpy as np
from numpy.typing import NDArray

from colllib.algorithms.nested import Flows
from colllib.cost import SAME, Price, first_lowest, values_per_level
from colllib.exact import IntArray
from colllib.schedule import Schedule
from colllib.topology import Topology

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Traffic:
    """How long the links are busy in each step, at a price.

    Attributes:
        waits: the latency of each step in seconds, shape (T,).
        busy: for how many seconds links carry data in each step, shape (T, columns): links that are always busy for as
            long as one another share a column.
        column: of each link, shape (L,).
    """

    waits: FloatArray
    busy: FloatArray
    column: IntArray

    @classmethod
    def joined(cls, parts: Sequence[Traffic]) -> Traffic:
        """What follows one another."""
        column, first = np.zeros_like(parts[0].column), np.zeros(0, dtype=np.intp)
        for part in parts:
            both = column * part.busy.shape[1] + part.column
            _, first, column = np.unique(both, return_index=True, return_inverse=True)
        busy = np.concatenate([part.busy[:, part.column[first]] for part in parts])
        return cls(np.concatenate([part.waits for part in parts]), busy, column)

    def in_segments(self) -> Callable[[int], float]:
        """The seconds in P segments: each step then is P steps in a row at once, each with a P-th of its bytes."""
        steps = len(self.waits)
        once = np.count_nonzero(self.busy, axis=0) == 1  # links of which a step, if it is among those at once, has all
        longest = np.append(self.busy[:, once].max(axis=1, initial=0), 0)
        so_far, waits = np.pad(self.busy[:, ~once], ((1, 0), (0, 0))).cumsum(axis=0), np.append(self.waits, 0)

        def seconds(segments: int) -> float:
            at_once = min(segments, steps)
            last = np.arange(1, steps + at_once)
            first, last = np.maximum(last - at_once, 0), np.minimum(last, steps)
            ends = np.stack((first, last), axis=1).ravel()
            lasting = (so_far[last] - so_far[first]).max(axis=1, initial=0)
            lasting = np.maximum(lasting, np.maximum.reduceat(longest, ends)[::2]) / segments
            lasting += np.maximum.reduceat(waits, ends)[::2]
            return float(lasting.sum() + (segments - at_once) * lasting[steps - 1 : steps].sum())

        return seconds


class Pricing:
    """A topology's links at a price.

    Args:
        topology: whose links and routes.
        message: M in bytes.
        alpha: latency in seconds, one for each level of the topology.
        bandwidth: BW in bytes per second, likewise.
    """

    def __init__(self, topology: Topology, *, message: float, alpha: Price, bandwidth: Price) -> None:
        alphas, speeds = values_per_level(topology.levels, message=message, alpha=alpha, bandwidth=bandwidth)
        speed = np.array([float(tier.bandwidth) * speeds[tier.level] for tier in topology.tiers])[topology.tier]
        self.topology, self.seconds = topology, message / speed  # that each link takes for M
        self.alpha = np.array(alphas) / topology.alpha.denominator

    def traffic(self, steps: Iterable[Flows]) -> Traffic:
        """What steps take, steps that are alike being routed once.

        Raises:
            NoRouteError: for flows without a route.
        """
        kinds: dict[bytes, int] = {}
        waits: list[float] = []
        kind: list[int] = []
        busy: list[tuple[IntArray, FloatArray]] = []  # the links that are, and for how long
        column, columns = np.zeros(self.topology.num_links, dtype=np.intp), 1
        for step in steps:
            kind.append(kinds.setdefault(_digest(step), len(kinds)))
            if len(kinds) > len(waits):
                wait, load = self._routed(step)
                waits.append(wait)
                (used,) = np.nonzero(load)
                busy.append((used, load[used]))
                _, value = np.unique(load[used], return_inverse=True)
                _, apart = np.unique(column[used] * len(used) + value, return_inverse=True)
                column[used] = columns + apart
                columns += len(used)
        _, column = np.unique(column, return_inverse=True)
        alike = np.zeros((len(busy), column.max(initial=-1) + 1))
        for row, (used, lasting) in zip(alike, busy, strict=True):
            row[column[used]] = lasting
        return Traffic(np.array(waits)[kind], alike[kind], column)

    def lock_step(self, steps: Iterable[Flows]) -> float:
        """The seconds that steps take one after another; raises as `traffic`."""
        known: dict[bytes, float] = {}
        total = 0.0
        for step in steps:
            key = _digest(step)
            if key not in known:
                wait, load = self._routed(step)
                known[key] = wait + float(load.max(initial=0))
            total += known[key]
        return total

    def _routed(self, step: Flows) -> tuple[float, FloatArray]:
        """The latency of a step, and for how long it keeps each link busy."""
        crossing, link = self.topology.router(step.src, step.dst)
        level, hops = self.topology.latencies(crossing, link, len(step.src))
        load = np.bincount(link, step.share[crossing], self.topology.num_links)
        return float((hops * self.alpha[level]).max(initial=0)), load * self.seconds


def _digest(step: Flows) -> bytes:
    return blake2b(b"".join(part.tobytes() for part in step), digest_size=16).digest()


def whole_steps(schedule: Schedule) -> Iterator[Flows]:
    """The steps of a schedule, with a flow for each message."""
    share = schedule.blocks.share.as_floats()
    return (Flows(step.src, step.dst, share[step.block]) for step in schedule.steps)


def overlapped(
    schedule: Schedule, topology: Topology, *, message: float, alpha: Price, bandwidth: Price
) -> Callable[[int], float]:
    """The seconds that a schedule, `pipelined`, takes in P segments, known for every P from its messages in one.

    Args:
        schedule: in one segment, on the topology's own routes.
        topology: where.
        message: M in bytes.
        alpha: latency in seconds, one for each level of the topology.
        bandwidth: BW in bytes per second, likewise.

    >>> from colllib import star
    >>> from colllib.algorithms import broadcast
    >>> overlapped(broadcast.chain(4), star(4), message=8, alpha=1, bandwidth=1)(4)
    18.0
    """
    pricing = Pricing(topology, message=message, alpha=alpha, bandwidth=bandwidth)
    return pricing.traffic(whole_steps(schedule)).in_segments()


def lowest(seconds: Callable[[int], float], most: int) -> tuple[float, int]:
    """The fewest seconds and the least P that takes them, between the powers of two around the best of these.

    Args:
        seconds: of P segments.
        most: the largest P to consider, at least 1.

    >>> lowest(lambda p: p + 100 / p, 1000)
    (20.0, 10)
    """

    def search(time: Callable[[int], float]) -> None:
        near = min((2**k for k in range(most.bit_length())), key=time)
        first_lowest(time, near // 2 + 1, min(2 * near, most))

    return _fewest(seconds, search)


def lowest_by_rounds(seconds: Callable[[int], float], rounds: int, most: int) -> tuple[float, int]:
    """The same where the time falls and then rises only among the P that leave one remainder, for each of them.

    Args:
        seconds: of P segments, infinite where there are too many.
        rounds: what is divided by.
        most: the largest P to consider.

    >>> lowest_by_rounds(lambda p: p + 64 / p + 3 * (p % 4 > 0), 4, 1000)
    (16.0, 8)
    """

    def look(time: Callable[[int], float], alike: range) -> None:
        first_lowest(lambda turn: time(alike[turn - 1]), 1, len(alike))

    def search(time: Callable[[int], float]) -> None:
        near, power = 1, 1
        while power <= min(4 * near, most) and time(power) < inf:
            near, power = min(near, power, key=time), 2 * power
        low, high = near // 2 + 1, min(4 * near, most)
        for first in range(low, min(low + rounds, high + 1)):
            look(time, range(first, high + 1, rounds))

    return _fewest(seconds, search)


def _fewest(seconds: Callable[[int], float], search: Callable[[Callable[[int], float]], None]) -> tuple[float, int]:
    """The fewest seconds of all P that a search looks at, and the least such P."""
    tried: dict[int, float] = {}

    def time(pieces: int) -> float:
        if pieces not in tried:
            tried[pieces] = seconds(pieces)
        return tried[pieces]

    search(time)
    least = min(tried.values())
    return least, min(pieces for pieces, lasting in tried.items() if lasting <= least * SAME)
