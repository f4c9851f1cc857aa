"""How long a schedule takes in P segments that overlap, for every P at once: what a search asks before it executes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from heapq import heappop, heappush
from inspect import signature
from itertools import islice, product
from math import inf
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from colllib.algorithms import Algorithm, channels, hierarchical
from colllib.algorithms.nested import Collision, Flows, flows
from colllib.cost import SAME, Terms, first_lowest, values_per_level
from colllib.exact import IntArray
from colllib.limits import TooLarge
from colllib.schedule import Orbit, Schedule, bundled
from colllib.symmetry import has_classes
from colllib.topology import NoRouteError, Topology
from colllib.topology.base import ragged
from colllib.topology.paths import routed

FloatArray = NDArray[np.float64]
#: Of P segments, the seconds that all steps wait together, and those for which their busiest links are busy.
Parts = Callable[[int], tuple[float, float]]

SELDOM = 50  # links that are busy in at most one step of so many are looked at one by one, all others in every step


@dataclass(frozen=True, eq=False)
class Traffic:
    """How long the links are busy in each step, at a price; those that are so alike in all steps share a column."""

    waits: FloatArray  # the latency of each step in seconds, shape (T,)
    column: IntArray  # of each link, shape (L,)
    of: IntArray  # the columns that are busy in a step, in ascending order, shape (n,)
    step: IntArray  # in which, for each column in ascending order, shape (n,)
    lasting: FloatArray  # for how many seconds, shape (n,)

    @classmethod
    def joined(cls, parts: Sequence[Traffic]) -> Traffic:
        """What follows one another."""
        column, first = np.zeros_like(parts[0].column), np.zeros(0, dtype=np.intp)
        for part in parts:
            both = column * (part.column.max(initial=0) + 1) + part.column
            _, first, column = np.unique(both, return_index=True, return_inverse=True)
        busy, steps = [], 0
        for part in parts:
            count = np.bincount(part.of, minlength=part.column.max(initial=0) + 1)
            columns = part.column[first]
            of, nth = ragged(count[columns])
            place = (count.cumsum() - count)[columns][of] + nth
            busy.append((of, part.step[place] + steps, part.lasting[place]))
            steps += len(part.waits)
        of, step, lasting = (np.concatenate(arrays) for arrays in zip(*busy, strict=True))
        order = np.argsort(of, kind="stable")
        return cls(np.concatenate([part.waits for part in parts]), column, of[order], step[order], lasting[order])

    def least(self) -> float:
        """The seconds that any number of segments takes at least: every latency once, and the busiest link."""
        return float(self.waits.sum() + np.bincount(self.of, self.lasting).max(initial=0))

    def in_segments(self) -> Parts:
        """What P segments take: each step then is P steps in a row at once, each with a P-th of its bytes."""
        steps, count = len(self.waits), np.bincount(self.of)
        often = count * SELDOM >= steps
        dense, seldom = often[self.of], ~often[self.of]
        so_far = np.zeros((steps + 1, np.count_nonzero(often)))
        so_far[self.step[dense] + 1, (often.cumsum() - 1)[self.of[dense]]] = self.lasting[dense]
        so_far, waits = so_far.cumsum(axis=0), np.append(self.waits, 0)
        others = _seldom(self.of[seldom], self.step[seldom], self.lasting[seldom])

        def parts(segments: int) -> tuple[float, float]:
            at_once = min(segments, steps)
            last = np.arange(1, steps + at_once)
            first, last = np.maximum(last - at_once, 0), np.minimum(last, steps)
            longest = (so_far[last] - so_far[first]).max(axis=1, initial=0)
            longest = np.maximum(longest, others(at_once, len(last))) / segments
            waiting = np.maximum.reduceat(waits, np.stack((first, last), axis=1).ravel())[::2]
            # with more segments than steps, the one in which all steps are at once comes again
            wait, busy = (
                times.sum() + (segments - at_once) * times[steps - 1 : steps].sum() for times in (waiting, longest)
            )
            return float(wait), float(busy)

        return parts


def _seldom(of: IntArray, step: IntArray, lasting: FloatArray) -> Callable[[int, int], FloatArray]:
    """For how long the busiest of columns that are busy in a few steps is, in so many in a row, by the last of these.

    What a column takes changes when a step comes in or goes out, and is at least that until the next goes out.
    """
    _, row, count = np.unique(of, return_inverse=True, return_counts=True)
    _, nth = ragged(count)
    so_far = np.zeros((len(count), count.max(initial=0) + 1))
    so_far[row, nth + 1] = lasting
    so_far = so_far.cumsum(axis=1)
    before, after = so_far[row, nth], so_far[row, nth + 1]

    def longest(at_once: int, windows: int) -> FloatArray:
        apart = np.tile(row * (windows + 1), 2)  # so that one search serves all columns
        when = apart[: len(step)] + step
        last = np.concatenate((step, step + at_once))
        first = np.searchsorted(when, apart + last - at_once, side="right")
        end = np.searchsorted(when, apart + last, side="right")
        nonempty = first < end
        first, end, last = first[nonempty], end[nonempty], last[nonempty]
        return _highest(last, step[first] + at_once, after[end - 1] - before[first], windows)

    return longest


def _highest(start: IntArray, end: IntArray, value: FloatArray, size: int) -> FloatArray:
    """At each place below `size` the highest value of a range from `start` to before `end` that it is in, at least 0.

    Two ranges of the same power of two cover any; halves of these, and so on, cover the same.
    """
    power = np.log2(end - start).astype(np.intp)
    table = np.zeros((int(power.max(initial=0)) + 1, size))  # by the power, and by where a range of it starts
    for place in (start, end - (1 << power)):
        np.maximum.at(table, (power, place), value)
    for half in reversed(range(len(table) - 1)):
        np.maximum(table[half], table[half + 1], out=table[half])
        np.maximum(table[half, 1 << half :], table[half + 1, : -(1 << half)], out=table[half, 1 << half :])
    highest: FloatArray = table[0]
    return highest


class Pricing:
    """A topology's links at a price: message, alpha and bandwidth."""

    def __init__(self, topology: Topology, **price: Unpack[Terms]) -> None:
        alphas, speeds = values_per_level(topology.levels, **price)
        speed = np.array([float(tier.bandwidth) * speeds[tier.level] for tier in topology.tiers])[topology.tier]
        self.topology = topology
        self.seconds = price["message"] / speed  # that each link takes for M
        self.alpha = np.array(alphas) / topology.alpha.denominator
        #: of each link, all in one where the topology tells none
        self.classes = np.zeros(topology.num_links, np.intp) if topology.link_class is None else topology.link_class
        links = np.maximum(np.bincount(self.classes), 1)
        #: that each link of a class takes for M from every rank
        self.of_class = np.bincount(self.classes, self.seconds) / links * topology.ranks / links
        self.known: dict[bytes, tuple[float, float]] = {}  # of steps, what they wait and what their busiest link takes

    def traffic(self, steps: Iterable[Flows]) -> Traffic:
        """What steps take, with all flows or rank 0's alone in each; those with the same flows are routed once.

        Raises:
            NoRouteError: for flows without a route.
        """
        kinds: dict[bytes, int] = {}
        waits: list[float] = []
        kind: list[int] = []
        busy: list[tuple[IntArray, FloatArray]] = []  # the links that are, and for how long
        column, columns = np.zeros(self.topology.num_links, dtype=np.intp), 1  # of each link, or class
        last: Flows | None = None
        for step in steps:
            kind.append(kind[-1] if step is last else kinds.setdefault(_key(step), len(kinds)))
            last = step
            if len(kinds) > len(waits):
                wait, load = self._routed(step)
                waits.append(wait)
                (used,) = np.nonzero(load)
                busy.append((used, load[used]))
                _, value = np.unique(load[used], return_inverse=True)
                _, apart = np.unique(column[used] * len(used) + value, return_inverse=True)
                column[used] = columns + apart
                columns += len(used)
        _, first, column = np.unique(column, return_index=True, return_inverse=True)
        shown = np.isin(np.arange(len(column)), first)  # one link for each column
        columns_of_kind = [(column[used[shown[used]]], lasting[shown[used]]) for used, lasting in busy]
        of = np.concatenate([np.zeros(0, dtype=np.intp), *(columns_of_kind[k][0] for k in kind)])
        lasting = np.concatenate([np.zeros(0), *(columns_of_kind[k][1] for k in kind)])
        when = np.arange(len(kind)).repeat(np.array([len(columns_of_kind[k][0]) for k in kind], dtype=np.intp))
        order = np.argsort(of, kind="stable")
        if last is not None and last.alike:
            column = column[self.classes]
        return Traffic(np.array(waits)[kind], column, of[order], when[order], lasting[order])

    def lock_step(self, schedule: Schedule) -> tuple[float, float]:
        """How long the steps of a schedule, one after another, wait, and how long they keep links busy.

        Where all blocks have one size, who sends to whom tells a step, in however many segments it comes again.
        """
        share, alike = schedule.blocks.share, _is_alike(schedule, self.topology)
        equal = len(share) > 0 and bool((share.numerators == share.numerators[0]).all())
        equal = equal and not alike and schedule.paths is None
        unit = float(share[0]) if equal else 0.0
        waits = busy = 0.0
        whole_step = _whole_step(schedule, self.topology, alike)
        for t in range(schedule.num_steps):
            if unit:
                step = schedule.step(t)
                key = _digest(step.src, step.dst)
            else:
                whole = whole_step(t)
                key = _key(whole)
            if key not in self.known:
                if unit:
                    src, dst, part = bundled(step, schedule.blocks, schedule.nodes)
                    whole = Flows(src, dst, part.as_floats() / unit)
                wait, loads = self._routed(whole)
                self.known[key] = wait, float(loads.max(initial=0))
            wait, most = self.known[key]
            waits, busy = waits + wait, busy + most * (unit or 1)
        return waits, busy

    def posting(self, schedule: Schedule) -> float:
        """How much longer the steps take if the messages of a rank's link leave an alpha apart, instead of all at once.

        >>> from colllib import star
        >>> from colllib.algorithms import direct
        >>> [Pricing(star(8), message=m, alpha=1, bandwidth=1).posting(direct.all_gather(8)) for m in (0, 4, 8)]
        [6.0, 2.5, 0.0]
        """
        topology, known = self.topology, dict[bytes, float]()
        level = np.array([tier.level for tier in topology.tiers])[topology.tier]
        of_ranks = np.minimum(topology.link_src, topology.link_dst) < topology.ranks
        alpha = self.alpha[level] * topology.alpha.denominator * of_ranks
        longer = 0.0
        for step in whole_steps(schedule, topology):
            if (key := _key(step)) not in known:
                _, link = self._links(step)
                apart = np.maximum(np.bincount(link, minlength=topology.num_links) - 1, 0) * alpha
                known[key] = float(max(0, apart.max(initial=0) - self._routed(step)[1].max(initial=0)))
            longer += known[key]
        return longer

    def _links(self, step: Flows) -> tuple[IntArray, IntArray]:
        """Which flow crosses which link, once for each."""
        return step.links or self.topology.router(step.src, step.dst)

    def _routed(self, step: Flows) -> tuple[float, FloatArray]:
        """The latency of a step, and for how long it keeps each link busy, or each link of a class."""
        crossing, link = self._links(step)
        level, hops = self.topology.latencies(crossing, link, len(step.src))
        place, seconds = (self.classes[link], self.of_class) if step.alike else (link, self.seconds)
        load = np.bincount(place, step.share[crossing], len(seconds))
        return float((hops * self.alpha[level]).max(initial=0)), load * seconds


def _key(step: Flows) -> bytes:
    return _digest(*step[:3], *(step.links or ()))


def _digest(*columns: NDArray[Any]) -> bytes:
    return blake2b(b"".join(column.tobytes() for column in columns), digest_size=16).digest()


def _is_alike(schedule: Schedule, topology: Topology) -> bool:
    """Whether rank 0's messages tell the loads of all links."""
    return isinstance(schedule, Orbit) and has_classes(schedule, topology)


def _whole_step(schedule: Schedule, topology: Topology, alike: bool) -> Callable[[int], Flows]:
    """A step by its number: what goes from each node to each; where messages take paths of their own, each message."""
    router = schedule.paths and routed(topology, schedule.paths)
    sizes = schedule.blocks.share.as_floats() if router else np.zeros(0)

    def flows_of(t: int) -> Flows:
        if router:
            src, dst, block, _ = schedule.step(t)
            return Flows(src, dst, sizes[block], links=router(src, dst, block))
        src, dst, share = schedule.carried(t, alike)
        return Flows(src, dst, share.as_floats(), alike)

    return flows_of


def whole_steps(schedule: Schedule, topology: Topology) -> Iterator[Flows]:
    """The steps of a schedule, with a flow from each node to each that it sends to, or with rank 0's alone."""
    return map(_whole_step(schedule, topology, _is_alike(schedule, topology)), range(schedule.num_steps))


def overlapped(schedule: Schedule, topology: Topology, **price: Unpack[Terms]) -> Parts:
    """What a schedule, `pipelined`, takes in P segments, known for every P from its messages in one.

    >>> from colllib import star
    >>> from colllib.algorithms import broadcast
    >>> overlapped(broadcast.chain(4), star(4), message=8, alpha=1, bandwidth=1)(4)
    (6.0, 12.0)
    """
    return Pricing(topology, **price).traffic(whole_steps(schedule, topology)).in_segments()


def in_every_way(
    algorithm: Algorithm, topology: Topology, **price: Unpack[Terms]
) -> Iterator[tuple[Algorithm, Traffic]]:
    """Every order and choice of algorithms for the tiers, or every turn of channels, with the traffic of one segment.

    The usual ones first, and of turns those that have a route. A phase puts the same on every link whatever runs on the
    other tiers: each is routed once.
    """
    ways = _at_every_turn if "turn" in algorithm.options else _on_all_tiers
    return ways(algorithm, Pricing(topology, **price))


def _at_every_turn(algorithm: Algorithm, pricing: Pricing) -> Iterator[tuple[Algorithm, Traffic]]:
    for turn in channels.TURNS:
        with suppress(NoRouteError, TooLarge):
            way = algorithm.configured({"turn": turn} if turn != channels.TURNS[0] else {})
            schedule = way.build(pricing.topology)
            steps = whole_steps(schedule, pricing.topology)
            ring = () if algorithm.segmented else list(islice(steps, 1)) * schedule.num_steps  # whose steps are alike
            yield way, pricing.traffic(ring or steps)


def _on_all_tiers(algorithm: Algorithm, pricing: Pricing) -> Iterator[tuple[Algorithm, Traffic]]:
    defaults = {name: parameter.default for name, parameter in signature(algorithm.build).parameters.items()}
    usual = defaults["tiers"].split(",")[0]
    joined = hierarchical.joined(pricing.topology, defaults["tiers"])
    for topology, order in product(dict.fromkeys((joined, pricing.topology)), hierarchical.ORDERS):
        lattice = topology.lattice
        assert lattice is not None
        known: list[dict[str, dict[int, Traffic]]] = []
        for axis in range(len(lattice.dims)):
            serving = hierarchical.choices(topology, axis, algorithm.primitive, order)
            known.append({})
            for name in sorted(serving, key=lambda name: name != usual):
                tiers = ",".join(name if tier == axis else usual for tier in range(len(lattice.dims)))
                with suppress(NoRouteError, TooLarge, Collision):
                    phases = hierarchical.phases(algorithm.primitive, topology, tiers, order, defaults.get("root"))
                    known[-1][name] = {
                        place: pricing.traffic(flows(lattice, phases, place, topology.link_class is not None))
                        for place, phase in enumerate(phases)
                        if phase.axis == axis
                    }
        for names in product(*known):
            tiers = names[0] if len(set(names)) == 1 and topology is pricing.topology else ",".join(names)
            chosen = {} if joined is pricing.topology and tiers == usual else {"tiers": tiers}
            chosen |= {} if order == defaults["order"] else {"order": order}
            parts = {place: part for axis, name in enumerate(names) for place, part in known[axis][name].items()}
            yield algorithm.configured(chosen), Traffic.joined([parts[place] for place in sorted(parts)])


def continued(parts: Parts, steps: int, rounds: int = 1) -> Parts:
    """What P segments take, for every P, from what they take in the first two rounds of at least `steps`.

    Args:
        parts: asked for fewer than `steps` + 2 `rounds` segments only; infinite where these are too many.
        steps: of the schedule in one segment. From as many segments on, each further round adds the same: to the
            waits, and to P times what the busiest links take.
        rounds: after how many segments the steps are as before.

    >>> chain = continued(lambda p: (p + 2, 8 * (p + 2) / p), 3)
    >>> chain(2), chain(100)
    ((4, 16.0), (102, 8.16))
    """
    known = cache(parts)

    def of(pieces: int) -> tuple[float, float]:
        further, place = divmod(pieces - steps, rounds)
        if further < 2:
            return known(pieces)
        first, second = steps + place, steps + place + rounds
        (wait, busy), (later_wait, later_busy) = known(first), known(second)
        if later_wait == inf:
            return inf, inf
        sent = first * busy + further * (second * later_busy - first * busy)
        return wait + further * (later_wait - wait), sent / pieces

    return of


def lowest(parts: Parts, steps: int, most: int, *, rounds: int = 1, below: float = inf) -> tuple[float, int]:
    """The fewest seconds and the least P that takes them, of every P up to `most`.

    From as many segments on as there are steps in one, further ones add the same in each round: their times fall and
    then rise. Of fewer, it is used that more never wait less, and never send less in segments of one size: what P take
    bounds so from below what the next ones can, and those alone are looked at that may take less than the best so far.
    So it is where P overlap: each step then has the messages of fewer segments and further ones, so that its longest
    wait and P times its busiest link's time only grow. A test compares schedules in rounds with every P.

    Args:
        parts: infinite where there are too many segments.
        steps: of the schedule in one segment.
        most: the largest P to consider, at least 1.
        rounds: after how many segments the steps are as before.
        below: the seconds that are of interest: infinite ones in one segment may be the answer where all take longer.

    >>> lowest(lambda p: (p, 100 / p), 3, 1000)
    (20.0, 10)
    """
    tried = {1: parts(1)}

    def seconds(pieces: int) -> float:
        if pieces not in tried:
            tried[pieces] = parts(pieces)
        return sum(tried[pieces])

    best, few = 1, max(1, min(steps, most))
    ranges = [(0.0, 1, few)]  # a bound, the P that it comes from, and the last one that it holds for
    while ranges:
        bound, known, last = heappop(ranges)
        as_good = bound * SAME > seconds(best) and best <= known  # at most, and in more segments
        if known == last or as_good or bound > min(below, seconds(best)) * SAME:
            continue
        middle = min(2 * known, (known + last + 1) // 2)
        best = min(best, middle, key=seconds)
        for first, end in ((known, middle - 1), (middle, last)):
            heappush(ranges, (tried[first][0] + tried[first][1] * first / max(first, end), first, end))
    for first in range(few, min(few + rounds, most + 1)):
        if seconds(few) < inf and tried[few][0] <= min(below, seconds(best)):
            alike = range(first, most + 1, rounds)
            turn = first_lowest(lambda turn, at=alike: seconds(at[turn - 1]), 1, len(alike))  # type: ignore[misc]
            best = min(best, alike[turn - 1], key=seconds)
    if seconds(best) > below * SAME:
        return inf, 1
    return seconds(best), min(pieces for pieces in tried if seconds(pieces) <= seconds(best) * SAME)
