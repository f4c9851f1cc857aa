"""A step as a timeline: operations with durations and dependencies, in order on each stream.

A stream runs its operations one after the other in the order in which they are listed, as a CUDA
stream does. An operation starts when its stream has reached it and everything that it comes after is
done. Those that use the same thing at the same time (a network card) share it equally: each of n takes n
times as long while they meet. Data-parallel ranks that do the same at the same time need only one of them
simulated.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, isfinite, isnan, nan

import numpy as np
from numpy.typing import NDArray

from colllib.units import shortened

COMPUTE = "compute"


@dataclass(frozen=True)
class Op:
    """An operation."""

    name: str  # for errors
    stream: str  # where it is queued, such as "compute 0"
    seconds: float  # how long it takes alone, at least 0
    after: tuple[int, ...] = ()  # indices of operations in the list that must be done first
    uses: tuple[str, ...] = ()  # shared with other streams, such as "card 0"; the most crowded slows it down
    kind: str = ""  # what it is, such as "forward" or "all-reduce"
    microbatch: int | None = None  # which it is about, for pictures
    chunk: int = 0  # of a stage, likewise


@dataclass(frozen=True, eq=False)
class Step:
    """Operations as they were listed, and when each started and ended in seconds, shape (ops,)."""

    ops: tuple[Op, ...]
    start: NDArray[np.float64]
    end: NDArray[np.float64]

    @property
    def seconds(self) -> float:
        """When the last operation is done."""
        return float(self.end.max(initial=0.0))

    def on(self, stream: str) -> NDArray[np.intp]:
        """Indices of a stream's operations."""
        return np.array([i for i, op in enumerate(self.ops) if op.stream == stream], dtype=np.intp)

    def busy(self, stream: str) -> float:
        """Seconds for which a stream works."""
        ops = self.on(stream)
        return float((self.end[ops] - self.start[ops]).sum())

    def idle(self, stream: str) -> float:
        """Seconds of the whole step for which a stream does not work: for a compute stream, what is exposed."""
        return max(0.0, self.seconds - self.busy(stream))

    def awaited(self, stream: str) -> list[tuple[Op, float]]:
        """What a stream waits for while it is idle, and seconds of each; together these are all that it is idle.

        Of what an operation comes after it waits for the last one to end, before that for what this one came after,
        and so on back; when it has nothing left to do, for the last of the whole step.

        >>> step = run([Op("f", "compute", 2.0), Op("send", "wire", 3.0, (0,)), Op("g", "compute", 1.0, (1,))])
        >>> [(op.name, seconds) for op, seconds in step.awaited("compute")]
        [('send', 3.0)]
        """
        before, start, end = list(_before(self.ops)), self.start.tolist(), self.end.tolist()
        own = self.on(stream).tolist()
        gaps = [(start[i], before[i]) for i in own] + [(self.seconds, set(range(len(end))))]
        waits, begin = [], 0.0
        for (until, causes), then in zip(gaps, [*(end[i] for i in own), self.seconds], strict=True):
            while until > begin:
                cause = max(causes, key=end.__getitem__)
                since = max(begin, start[cause])
                waits.append((self.ops[cause], until - since))
                until, causes = since, before[cause]
            begin = then
        return waits


def run(ops: Sequence[Op]) -> Step:
    """Start every operation as early as its stream and its dependencies allow.

    Raises:
        ValueError: for a negative time or an infinite one, a dependency that is not there, or operations that
            wait for each other.

    >>> step = run([Op("f", "compute", 2.0), Op("send", "wire", 3.0, (0,)), Op("g", "compute", 1.0)])
    >>> step.start.tolist(), step.seconds, step.idle("compute")
    ([0.0, 2.0, 2.0], 5.0, 2.0)
    >>> run([Op("long", "a", 3.0, uses=("card",)), Op("short", "b", 1.0, uses=("card",))]).end.tolist()
    [4.0, 2.0]
    """
    waits, readers = _dependencies(ops)
    start, end, due = ([nan] * len(ops) for _ in range(3))
    left = [op.seconds for op in ops]  # seconds alone that are left of each
    since = [0.0] * len(ops)  # from when on
    pace = [inf] * len(ops)  # and how many share what it uses then
    running: dict[str, set[int]] = {resource: set() for op in ops for resource in op.uses}
    queue = [(0.0, i) for i, count in enumerate(waits) if count == 0]
    while queue:
        now, i = heapq.heappop(queue)
        uses = ops[i].uses
        if isnan(start[i]):
            start[i], change = now, set.add
            if not uses:  # which nothing slows down
                due[i] = now + left[i]
                heapq.heappush(queue, (due[i], i))
        elif due[i] == now and isnan(end[i]):
            end[i], change = now, set.discard
            for reader in readers[i]:
                waits[reader] -= 1
                if waits[reader] == 0:
                    heapq.heappush(queue, (now, reader))
        else:  # it has met others meanwhile, or was left alone
            continue
        for resource in uses:
            change(running[resource], i)
        for j in {i}.union(*[running[resource] for resource in uses]) if uses else ():
            crowd = max([len(running[resource]) for resource in ops[j].uses])
            if crowd != pace[j] and isnan(end[j]):
                left[j] = max(0.0, left[j] - (now - since[j]) / pace[j])
                since[j], pace[j], due[j] = now, crowd, now + left[j] * crowd
                heapq.heappush(queue, (due[j], j))
    if stuck := [op.name for op, count in zip(ops, waits, strict=True) if count]:
        raise ValueError(f"{len(stuck)} operations wait for each other: {shortened(', '.join(stuck))}")
    step = Step(tuple(ops), np.array(start), np.array(end))
    if not isfinite(step.seconds):
        raise ValueError(f"{len(ops)} operations that take {step.seconds} s together: must be a finite time")
    return step


def _before(ops: Sequence[Op]) -> Iterator[set[int]]:
    """What each operation comes after, its predecessor on the stream among it."""
    last: dict[str, tuple[int, ...]] = {}
    for i, op in enumerate(ops):
        yield {*op.after, *last.get(op.stream, ())}
        last[op.stream] = (i,)


def _dependencies(ops: Sequence[Op]) -> tuple[list[int], list[list[int]]]:
    """How many operations each one waits for, its predecessor on the stream among them, and who waits for it."""
    waits, readers = [0] * len(ops), list[list[int]]([] for _ in ops)
    for i, (op, before) in enumerate(zip(ops, _before(ops), strict=True)):
        if not (isfinite(op.seconds) and op.seconds >= 0):
            raise ValueError(f"{op.name} takes {op.seconds} s: must be a finite time of at least 0")
        for other in before:
            if not 0 <= other < len(ops):
                raise ValueError(f"{op.name} comes after operation {other}, and there are {len(ops)}")
            readers[other].append(i)
            waits[i] += 1
    return waits, readers
