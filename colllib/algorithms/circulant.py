"""The round-optimal pipelined broadcast: P segments to any N ranks in ceil(log2 N) + P - 1 rounds on one port.

No broadcast with one segment a message takes fewer. In round t every rank sends to the rank
skip[t mod q] above it and receives from the rank as far below, where q = ceil(log2 N) and the skips
halve N again and again, rounded up. Which segment a rank passes on repeats every q rounds, each time
q segments later: `receive_schedule`.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from colllib.closed_form import formulas
from colllib.exact import IntArray
from colllib.primitives import broadcast, check_counts, check_ranks
from colllib.schedule import Schedule, Step


def skips(ranks: int) -> list[int]:
    """How far the messages of round k go, and last N itself: N halved q = ceil(log2 N) times, rounded up.

    >>> skips(12)
    [1, 2, 3, 6, 12]
    """
    check_ranks(ranks)
    halvings = [ranks]
    while halvings[0] > 1:
        halvings.insert(0, -(-halvings[0] // 2))
    return halvings


def first_segments(ranks: int) -> list[int]:
    """The round in which each rank gets its first segment, which is also that segment's number.

    The root sends segment k in round k, to the rank skip[k] above. Counted from the root, a rank
    is a sum of skips, largest first; the smallest one in the sum says which segment reaches it
    before any other. The root itself is marked with q.

    >>> first_segments(8)
    [3, 0, 1, 0, 2, 0, 1, 0]
    """
    *skip, _ = skips(ranks)
    first = [len(skip)] * ranks
    for rank in range(1, ranks):
        rest, k = rank, len(skip)
        while rest:
            k -= 1
            rest -= skip[k] if skip[k] <= rest else 0
        first[rank] = k
    return first


@cache
def receive_schedule(ranks: int) -> IntArray:
    """What every rank receives in q rounds that repeat: segment numbers relative to the period, shape (N, q).

    In period i rank r receives segment q * i + receive_schedule[r, k] in its round k. One number
    of a row is not negative: the rank's first segment, which is new in this period. The others are
    segments of the period before, -q to -1, each once except the one that the rank got as new then.
    The root's row is without meaning: it receives nothing.

    Source: Träff (2022), with the search of Träff (2024). `execute` proves what it finds, for any N.

    >>> receive_schedule(4)
    array([[-2, -1],
           [ 0, -1],
           [-2,  1],
           [-1,  0]])
    """
    skip, first = skips(ranks), first_segments(ranks)
    rows = [_row(skip, first[rank], rank) for rank in range(ranks)]
    table = np.array(rows, dtype=np.intp).reshape(ranks, len(skip) - 1)
    table.setflags(write=False)  # it is shared by all callers
    return table


def _row(skip: list[int], first: int, rank: int) -> list[int]:
    """The rounds of one rank: where, at most skip[k] below it and further than before, is a segment it lacks?

    A sum of falling skips leads from the root to a rank that holds an old segment, the one with
    the number of the smallest skip. The root's new segment counts as number q. The search goes
    through the sums from the farthest rank that still serves round k to the nearest.
    """
    q = len(skip) - 1
    end = skip[-1] + rank  # one turn ahead, so that all who can have sent to it lie below
    reach = [end - distance for distance in skip] + [-1]
    rounds: list[int] = []

    def search(at: int, below: int, largest: int) -> None:
        for k in range(largest, -1, -1):
            place = at + skip[k]
            if k == first or k in rounds or place > reach[len(rounds)] or place >= below:
                continue
            if place <= reach[len(rounds) + 1]:
                search(place, below, k - 1)
            if at > reach[len(rounds) + 1]:
                return
            below = place
            rounds.append(k)

    search(0, 2 * skip[-1], q)
    return [first if k == q else k - q for k in rounds]


def circulant(ranks: int, *, segments: int = 1, root: int = 0) -> Schedule:
    """Every rank passes segments on, one a message, to the ranks 1, 2, 3, 6, ... above it, in the fewest rounds.

    A rank sends and receives at most one segment in each round, and receives each exactly once, so
    the schedule backwards is a reduce.

    Args:
        segments: segments P into which the vector is cut.
        root: the rank that holds the vector.

    Source: Träff (2022), (Poly)logarithmic time construction of round-optimal n-block broadcast
        schedules; Träff (2024), Optimal broadcast schedules in logarithmic time, also for reduce.

    >>> circulant(12, segments=5)
    Schedule(12 ranks, 5 blocks, 8 steps)
    """
    check_ranks(ranks)
    check_counts(segments=segments)
    blocks = broadcast(ranks, segments if ranks > 1 else 1, root=root)
    skip, table = skips(ranks), receive_schedule(ranks)
    q = len(skip) - 1
    if not q:
        return Schedule.from_steps(blocks, [])
    idle = (1 - segments) % q  # rounds cut off at the front, so that the last period ends with the last round

    def step(t: int) -> Step:
        period, k = divmod(t + idle, q)
        segment = table[:, k] + q * period - idle
        segment[0] = -1
        dst = np.flatnonzero(segment >= 0)
        src = (dst - skip[k]) % ranks
        block = np.minimum(segment[dst], segments - 1)
        return Step((src + root) % ranks, (dst + root) % ranks, block, np.zeros(len(dst), dtype=np.bool_))

    return Schedule(blocks, q + segments - 1, step)


#: On one full-duplex port per rank; and a lower bound for P segments, one a message.
circulant_cost = formulas("lg(N) + P - 1", "(lg(N) + P - 1) / P")
