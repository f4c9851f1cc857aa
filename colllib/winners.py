"""Who is fastest at a number of ranks and a message size, from the closed forms, fast enough for a map.

With the message in units of alpha * BW, and times in units of alpha, neither alpha nor BW appears:
one field serves every network. Tests hold the closed forms against execution, and this search
against `ladder.best`, which is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from colllib.algorithms import Algorithm, find, of
from colllib.cost import first_lowest

#: Times that differ by less than this share are a tie.
TIE = 1e-9

MOST_SEGMENTS = 2**20


@dataclass(frozen=True)
class Standing:
    """One algorithm at one point of the field.

    Attributes:
        algorithm: which.
        segments: the best whole number of segments, 1 where it takes none.
        alphas: its lock-step time in units of alpha.
    """

    algorithm: Algorithm
    segments: int
    alphas: float


def field(primitive: str, ranks: int, message: float) -> tuple[Standing, ...]:
    """Every algorithm that can serve N ranks, fastest first, on a star with one full-duplex port per rank.

    Args:
        primitive: its name.
        ranks: number of ranks N.
        message: M in units of alpha * BW.

    >>> [(s.algorithm.name, round(s.alphas, 2)) for s in field("all-to-all", 8, 1.0)][:2]
    [('bruck', 4.5), ('ring-relay', 6.0)]
    """
    return _field(primitive, ranks, float(message))


@cache
def _field(primitive: str, ranks: int, message: float) -> tuple[Standing, ...]:
    found = [standing(a.primitive, a.name, ranks, message) for a in of(primitive) if a.fits(ranks)]
    return tuple(sorted(found, key=lambda s: (s.alphas, s.algorithm.name)))


@cache
def standing(primitive: str, name: str, ranks: int, message: float) -> Standing:
    """One algorithm at its best whole number of segments; arguments as for `field`.

    >>> standing("all-reduce", "double-binary-tree", 512, 16e6 / (0.5e-6 * 900e9)).segments
    12
    """
    algorithm = find(primitive, name)

    def time(segments: int) -> float:
        latency, load = _counts(algorithm, ranks, segments)
        return latency + load * message

    if not algorithm.segmented:
        return Standing(algorithm, 1, time(1))
    # one segment is a schedule of its own kind: the search runs over two and more, as in `ladder.best`
    best = min((1, first_lowest(time, 2, MOST_SEGMENTS)), key=time)
    return Standing(algorithm, best, time(best))


@cache
def _counts(algorithm: Algorithm, ranks: int, segments: int) -> tuple[float, float]:
    cost = algorithm.cost(ranks, **({"segments": segments} if algorithm.segmented else {}))
    return float(cost.n_alpha), float(cost.n_beta)


def fastest(primitive: str, ranks: int, message: float) -> tuple[Algorithm, ...]:
    """The fastest algorithm, or all that tie, in the order of the table of algorithms.

    >>> [a.name for a in fastest("all-gather", 6, 10.0)], [a.name for a in fastest("all-reduce", 6, 1e9)]
    (['bruck', 'pat'], ['shortest-way-ring'])
    """
    ranking = field(primitive, ranks, message)
    tied = {s.algorithm.name for s in ranking if s.alphas <= ranking[0].alphas * (1 + TIE)}
    return tuple(a for a in of(primitive) if a.name in tied)


def regret(primitive: str, name: str, ranks: int, message: float) -> float:
    """How many times the fastest algorithm's time another one takes.

    >>> round(regret("all-reduce", "ring", 512, 16e6 / (0.5e-6 * 900e9)), 1)
    12.3
    """
    chosen = standing(primitive, name, ranks, float(message)).alphas
    return chosen / field(primitive, ranks, message)[0].alphas
