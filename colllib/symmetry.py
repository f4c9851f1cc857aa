"""The executor of orbits: runs what happens to one block of every class, and finds what a full run finds.

Blocks do not meet one another, and an element of the group takes one block's messages to another
one's: what is proved of one block is proved of its class. What crosses the links is counted for all
ranks, so that the topology need not be symmetric; but steps with the same traffic are routed once.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np

from colllib.exact import IntArray, accumulated, counted, multiplied, taken
from colllib.execution import Execution, Ledger, check_fit, mean_crossings
from colllib.lattice_group import Numbers
from colllib.limits import CROSSING, MESSAGE, MOST_AT_ONCE, SEED_ADD, SEED_MESSAGE, check_seconds
from colllib.provenance import (
    check_named,
    refuse_meeting,
    refuse_missing,
    refuse_never,
    refuse_to_itself,
    refuse_twice,
    refuse_unheld,
)
from colllib.schedule import BoolArray, Orbit, Schedule, Step
from colllib.topology import Topology, star

FEW = 3  # elements that are tried besides the shifts by one along the axes
COMPARED = 1.5e-6  # seconds for a crossing of a link, under all elements that are tried


def by_symmetry(orbit: Schedule, topology: Topology | None = None) -> Execution:
    """Run an orbit's seed, prove the end state of the whole, keep the ledger of the whole.

    It finds what `execute` finds, in every number, and takes as long as the journeys of a few blocks are.

    Args:
        orbit: what to run, an `Orbit`.
        topology: where (default: a star with one full-duplex port per rank).

    Raises:
        ScheduleError: naming rank, block and step, as `execute` does.
        ValueError: if the schedule is no orbit, or the topology has another number of ranks, or no route.

    >>> from colllib.algorithms import allreduce
    >>> run = by_symmetry(allreduce.ring(4096))
    >>> run.cost, run.how
    (Cost(n_alpha=8190, n_beta=4095/2048), 'by symmetry')
    """
    if not isinstance(orbit, Orbit):
        raise ValueError(f"{orbit!r} is not given as an orbit of moves: execute it")
    topology = star(orbit.ranks) if topology is None else topology
    check_fit(orbit, topology)
    _Values(orbit).prove()
    return Execution(orbit, topology, _ledger(orbit, topology), "by symmetry")


class _Kinds:
    """The steps of an orbit, those with the same traffic being one kind.

    `src`, `dst`, shape (pairs,): where a rank's messages start and end, each pair once. `pair`, `size`, shape (flows,):
    of what goes from one rank to another in a step. `of`, shape (T,): the kind of each step. `times`, shape (kinds,):
    how many steps are of a kind. `flows`: which of the flows are a kind's.
    """

    def __init__(self, orbit: Orbit) -> None:
        (when, messages), share = orbit.of_one_rank.messages, orbit.seed.blocks.share
        pairs, pair = np.unique(messages.src * orbit.ranks + messages.dst, return_inverse=True)
        radix = max(len(pairs), 1)
        flows, flow = np.unique(when * radix + pair, return_inverse=True)
        self.src, self.dst = np.divmod(pairs, orbit.ranks)
        self.size = counted(flow, taken(share.numerators, messages.block), len(flows))
        step, self.pair = np.divmod(flows, radix)
        traffic = np.unique(self.size, return_inverse=True)[1] * radix + self.pair
        first = np.searchsorted(step, np.arange(orbit.num_steps + 1)).tolist()
        seen: dict[bytes, int] = {}
        kind = [seen.setdefault(traffic[a:b].tobytes(), len(seen)) for a, b in pairwise(first)]
        self.of = np.array(kind, dtype=np.intp)
        _, examples, self.times = np.unique(self.of, return_index=True, return_counts=True)
        self.flows = [slice(first[t], first[t + 1]) for t in examples.tolist()]

    def seconds(self, orbit: Orbit, topology: Topology) -> float:
        """About how long they take to count: each flow is routed once, for all ranks, or by class for rank 0 alone."""
        by_class, crossings = has_classes(orbit, topology), float(mean_crossings(topology, self.src, self.dst))
        flows: int = sum(part.stop - part.start for part in self.flows)
        routed = (MESSAGE + CROSSING * crossings) * flows
        return routed + COMPARED * len(self.src) * crossings if by_class else routed * orbit.group.order


def expected_proof(orbit: Orbit) -> float:
    """About how many seconds the proof takes, of which every segment takes as many.

    >>> from colllib.algorithms import allreduce
    >>> from colllib.schedule import pipelined
    >>> ring = allreduce.ring(8)
    >>> round(expected_proof(pipelined(ring, 10)) / expected_proof(ring), 6)
    10.0
    """
    when, messages = orbit.seed.messages
    return len(when) * SEED_MESSAGE + int(messages.add.sum()) * (SEED_ADD + MESSAGE * orbit.stabilizer.order)


def expected_by_symmetry(orbit: Orbit, topology: Topology) -> float:
    """About how many seconds `by_symmetry` takes.

    >>> from colllib.algorithms import allreduce
    >>> expected_by_symmetry(allreduce.ring(4096), star(4096)) < 0.1
    True
    """
    return expected_proof(orbit) + _Kinds(orbit).seconds(orbit, topology)


def _ledger(orbit: Orbit, topology: Topology) -> Ledger:
    """What crosses which link."""
    kinds = _Kinds(orbit)
    check_seconds(f"{orbit!r} on {topology.name} by symmetry", kinds.seconds(orbit, topology))
    ledger = Ledger(topology, len(kinds.times), orbit.seed.blocks.share.denominator)
    if has_classes(orbit, topology):
        _check_classes(orbit, topology, kinds.src, kinds.dst)
        by_kind = [np.arange(part.start, part.stop) for part in kinds.flows]
        rows = np.repeat(np.arange(len(by_kind)), [len(flows) for flows in by_kind])
        flows = np.concatenate([np.zeros(0, dtype=np.intp), *by_kind])
        src, dst = (end[kinds.pair[flows]] for end in (kinds.src, kinds.dst))
        _record_classes(ledger, rows, src, dst, taken(kinds.size, flows), kinds.times)
    else:
        for row, (part, times) in enumerate(zip(kinds.flows, kinds.times.tolist(), strict=True)):
            src, dst = (orbit.images(end[kinds.pair[part]]) for end in (kinds.src, kinds.dst))
            ledger.record(row, src, dst, np.tile(kinds.size[part], orbit.group.order), times)
    ledger.hops, ledger.loads = ledger.hops[kinds.of], ledger.loads[kinds.of]
    return ledger


def _portions(topology: Topology, src: IntArray, dst: IntArray) -> list[slice]:
    """The messages in portions whose routes fit the memory together."""
    size = int(MOST_AT_ONCE / max(1, mean_crossings(topology, src, dst))) + 1
    return [slice(start, start + size) for start in range(0, len(src), size)]


def has_classes(orbit: Orbit, topology: Topology) -> bool:
    """Whether the topology says which links the orbit's group takes to one another, and it takes rank 0 to every rank.

    >>> from colllib.algorithms import alltoall
    >>> from colllib.topology import torus
    >>> has_classes(alltoall.bruck(16), star(16)), has_classes(alltoall.bruck(16), torus((4, 4)))
    (True, False)
    """
    axes = topology.lattice
    fits = axes is None or axes.dims == orbit.lattice.dims
    return fits and topology.link_class is not None and orbit.group.order == orbit.ranks


def _check_classes(orbit: Orbit, topology: Topology, src: IntArray, dst: IntArray) -> None:
    """Refuse messages that cross links of other classes than rank 0's, after shifts by one or a few random ones."""
    of_link, ranks = topology.link_class, orbit.ranks
    assert of_link is not None
    links, example = np.bincount(of_link), np.zeros(topology.num_links, dtype=np.intp)
    example[of_link] = np.arange(topology.num_links)
    symmetric = (topology.alpha.numerators == topology.alpha.numerators[example[of_link]]).all()
    elements = np.append(orbit.lattice.strides, np.random.default_rng(0).integers(ranks, size=FEW)) % ranks
    for part in _portions(topology, src, dst):
        crossed = []
        for element in (0, *elements.tolist()):
            message, link = topology.router(*(orbit.group.image(end[part], element) for end in (src, dst)))
            ends = (topology.link_src[link], topology.link_dst[link])
            # the links taken back to where rank 0's messages cross them, as far as these end at ranks
            back = orbit.group.inverse(element)
            preimages = (np.where(end < ranks, orbit.group.image(end % ranks, back), ranks) for end in ends)
            crossings = np.stack((message, of_link[link], *preimages))
            crossed.append(crossings[:, np.lexsort(crossings)])
        symmetric = symmetric and all(np.array_equal(crossings, crossed[0]) for crossings in crossed)
    if not symmetric or (ranks % links[links > 0]).any():
        raise ValueError(f"{topology.name}: links of one class differ, or routes leave their classes: give it none")


def _record_classes(
    ledger: Ledger, row: IntArray, src: IntArray, dst: IntArray, size: IntArray, times: IntArray
) -> None:
    """All kinds of step at once: rank 0's messages stand for all ranks', and a class's links share what they carry.

    A message stands in one row of the ledger, and the totals count a row so many times.
    """
    topology, of_link, ranks = ledger.topology, ledger.topology.link_class, ledger.topology.ranks
    assert of_link is not None
    links = np.bincount(of_link)
    load = np.zeros(len(times) * len(links), dtype=np.intp)
    for part in _portions(topology, src, dst):
        message, link = topology.router(src[part], dst[part])
        level, hops = topology.latencies(message, link, len(src[part]))
        ledger.hops = ledger.hops.astype(np.result_type(ledger.hops, hops))
        np.maximum.at(ledger.hops, (row[part], level), hops)
        place = row[part][message] * len(links) + of_link[link]
        load = accumulated(load, counted(place, taken(size[part], message), len(load)))
    load = (multiplied(load, ranks) // np.tile(np.maximum(links, 1), len(times))).reshape(len(times), len(links))
    in_tier = (np.unique(of_link[topology.tier == tier]) for tier in range(len(topology.tiers)))
    ledger.loads = np.stack([load[:, classes].max(axis=1, initial=0) for classes in in_tier], axis=1)
    of_load = np.tile(np.arange(len(links)), len(times))
    ledger.link = counted(of_load, multiplied(load, times[:, None]).ravel(), len(links))[of_link]
    sent = counted(np.zeros_like(row), multiplied(size, times[row]), 1)  # by rank 0, and received by it, as by all
    ledger.sent = ledger.received = np.repeat(np.append(sent, 0), [ranks, topology.switches])


class _Values:
    """All values that the cells of the seed's blocks ever hold: those at the start, then one for every message.

    A cell is a rank's copy of a block. The ranks that the stabilizer takes to one another have one
    cell together: a value is what the lowest of them, their representative, holds, and another one
    holds an image of it, whose contributors are the images of its contributors. So a message takes
    the value that it carries to an image.

    Every value is the image of an earlier one, or the sum of two: `of` and `by` say of which one and
    under which element, and the sums stand in the order in which they were made.
    """

    def __init__(self, orbit: Orbit) -> None:
        self.orbit, (self.when, self.messages) = orbit, orbit.seed.messages
        if len(self.when):
            check_named(orbit.seed, self.when, self.messages)
        self.blocks, self.steps = len(orbit.seed.blocks), orbit.num_steps + 1
        if orbit.ranks * self.blocks * self.steps >= 2**62:
            raise ValueError(f"{orbit.ranks} ranks x {self.blocks} blocks x {self.steps} steps: too large to execute")
        self.start = self._cells(orbit.seed.blocks.source)
        when, messages = self.when, self.messages
        self._refuse_any(refuse_to_itself, messages.src == messages.dst)
        source, target = (
            self._representative(end) * self.blocks + messages.block for end in (messages.src, messages.dst)
        )
        #: when each cell takes which value; messages of one step in order
        written = np.concatenate((self.start * self.steps, target * self.steps + when + 1))
        self.order = np.argsort(written, kind="stable")
        self.written = written[self.order]
        read = self._last(source, when)
        self._refuse_any(refuse_unheld, read < 0)
        same = np.flatnonzero(self.written[1:] == self.written[:-1])
        meet = np.concatenate((self.order[same], self.order[same + 1])) - len(self.start)
        self._refuse_any(refuse_meeting, ~messages.add & (np.bincount(meet, minlength=len(when)) > 0))
        place = np.empty_like(self.order)
        place[self.order] = np.arange(len(place))
        before = place[len(self.start) :] - 1
        adds = messages.add & (before >= 0) & (self.written[before] >= target * self.steps)
        self._link(read, self.order[before], np.flatnonzero(adds))

    def _link(self, read: IntArray, before: IntArray, adds: IntArray) -> None:
        """Follow images back to the starting values and sums that they are images of, and number the sums.

        A message carries one value, `read`; of `adds`, those that add, the cell holds another one `before`.
        """
        stabilizer, initial = self.orbit.stabilizer, len(self.start)
        out, into = (stabilizer.element_to(end) for end in (self.messages.src, self.messages.dst))
        shift = stabilizer.product(out, stabilizer.inverse(into))
        of = np.concatenate((np.arange(initial), read))
        by = np.concatenate((np.zeros_like(self.start), shift))
        of[initial + adds], by[initial + adds] = initial + adds, 0
        while (of != (further := of[of])).any():
            if stabilizer.order > 1:
                by = stabilizer.product(by, by[of])
            of = further
        number = np.arange(len(of))
        number[initial + adds] = initial + np.arange(len(adds))
        self.of, self.by, self.adds = number[of], by, adds
        #: the two operands of every sum, and the elements under which their images are added
        self.operands = [self.of[before[adds]].tolist(), self.of[read[adds]].tolist()]
        self.shifts = [by[before[adds]].tolist(), stabilizer.product(shift[adds], by[read[adds]]).tolist()]

    def _representative(self, rank: Numbers) -> IntArray:
        """The lowest of the ranks that share a cell."""
        stabilizer = self.orbit.stabilizer
        return stabilizer.image(rank, stabilizer.inverse(stabilizer.element_to(rank)))

    def _cells(self, who: IntArray) -> IntArray:
        """The cells of the sources or the targets of all blocks."""
        single = np.flatnonzero(who < self.orbit.ranks)
        cells = [self._representative(who[single]) * self.blocks + single]
        for value in np.unique(who[who >= self.orbit.ranks]):
            ranks = self._representative(self.orbit.seed.blocks.holders(int(value)))
            cells.append((ranks[:, None] * self.blocks + np.flatnonzero(who == value)).ravel())
        return np.unique(np.concatenate(cells))

    def _last(self, cell: IntArray, time: IntArray | int) -> IntArray:
        """The values that cells hold before step `time`, -1 for none."""
        place = np.searchsorted(self.written, cell * self.steps + time, side="right") - 1
        return np.where((place >= 0) & (self.written[place] >= cell * self.steps), self.order[place], -1)

    def prove(self) -> None:
        """Every target holds every contribution of its blocks exactly once."""
        target = self._cells(self.orbit.seed.blocks.target)
        value = self._last(target, self.orbit.num_steps)
        if (value < 0).any():
            rank, block = divmod(int(target[value < 0][0]), self.blocks)
            refuse_never(rank, self._name(block))
        # the targets of a block mostly hold one value: its parts are counted once for all of them
        final, example = np.unique(target % self.blocks * len(self.of) + self.of[value], return_index=True)
        block, root = np.divmod(final, len(self.of))
        lane = np.arange(len(block)) - np.searchsorted(block, block)
        for k in range(int(lane.max(initial=-1)) + 1):
            in_lane = lane == k
            counts = self._counted(root[in_lane])
            starts = np.flatnonzero(np.isin(self.start % self.blocks, block[in_lane]))
            wrong = np.array(counts[: len(self.start)]).reshape(len(self.start), -1)[starts] != 1
            if wrong.any():
                i, element = np.argwhere(wrong)[0].tolist()
                start = int(starts[i])
                refused = example[in_lane][block[in_lane] == self.start[start] % self.blocks][0]
                self._refuse_end(int(target[refused]), int(value[refused]), start, element, counts)

    def _counted(self, roots: IntArray) -> list[Any]:
        """How often each value stands in the roots, or under each element its image; 2 and more mean too often."""
        single, initial = self.orbit.stabilizer.order == 1, len(self.start)
        one: Any = 1 if single else self._one()
        counts: list[Any] = [0 * one] * (initial + len(self.adds))
        for root in roots.tolist():
            counts[root] = one
        for k in range(len(self.adds) - 1, -1, -1):
            times = counts[initial + k]
            a, b = self.operands[0][k], self.operands[1][k]
            if single:
                times = min(times, 2)
                counts[a] += times
                counts[b] += times
            else:
                times = np.minimum(times, 2)
                counts[a] = counts[a] + self._shifted(times, self.shifts[0][k])
                counts[b] = counts[b] + self._shifted(times, self.shifts[1][k])
        return counts

    def _one(self) -> IntArray:
        """The counts of a value that stands there once, under the identity."""
        return np.repeat([1, 0], [1, self.orbit.stabilizer.order - 1])

    def _shifted(self, times: IntArray, by: int) -> IntArray:
        """The counts of a value's images, of those of its image under another element."""
        stabilizer = self.orbit.stabilizer
        return times[stabilizer.product(np.arange(stabilizer.order), stabilizer.inverse(by))]

    def _name(self, block: int) -> int:
        return int(self.orbit.numbered(np.array(block), np.array(0)))

    def _refuse_any(self, refuse: Callable[[Schedule, Step, int, int], NoReturn], wrong: BoolArray) -> None:
        """Refuse the first message that is wrong, if one is."""
        if wrong.any():
            i = int(np.flatnonzero(wrong)[0])
            named = self.messages._replace(block=self.orbit.numbered(self.messages.block, np.array(0)))
            refuse(self.orbit.seed, named, i, int(self.when[i]))

    def _refuse_end(self, cell: int, value: int, start: int, element: int, counts: list[Any]) -> NoReturn:
        """Refuse a cell's final value for what it has of a starting value: none of it, or too much."""
        rank, block = divmod(cell, self.blocks)
        initial, stabilizer = len(self.start), self.orbit.stabilizer
        source = int(self.start[start]) // self.blocks
        if np.reshape(counts[start], -1)[element] == 0:
            last = None if value < initial else int(self.when[value - initial])
            lacked = stabilizer.image(stabilizer.image(source, element), int(self.by[value]))
            refuse_missing(rank, self._name(block), int(lacked), last)
        contributed = [0 * self._one()] * len(counts)  # by the starting value to every other one
        contributed[start] = self._one()
        for k in range(len(self.adds)):
            left, right = (
                self._shifted(contributed[of[k]], by[k]) for of, by in zip(self.operands, self.shifts, strict=True)
            )
            contributed[initial + k] = left + right
        twice = (k for k in range(len(self.adds)) if contributed[initial + k].max() > 1 and np.any(counts[initial + k]))
        k = next(twice)
        who = int(stabilizer.image(source, int(contributed[initial + k].argmax())))
        node = int(self._representative(int(self.messages.dst[self.adds[k]])))
        refuse_twice(self.orbit.seed, rank, self._name(block), who, node, int(self.when[self.adds[k]]))
