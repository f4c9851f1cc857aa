"""Bus bandwidth: what nccl-tests prints, from executed schedules and from published measurements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from colllib.algorithms.innetwork import port_load
from colllib.bounds import bus_factor
from colllib.ladder import Rung

ELEMENT = 4  # bytes of a float32, the default type of nccl-tests

#: Primitives whose call takes the elements of one rank, so that `count` is the size over N.
PER_RANK = ("all-gather", "reduce-scatter", "all-to-all")


def bus_bandwidth(primitive: str, ranks: int, message: float, seconds: float) -> float:
    """The column busbw, in bytes per second: M over the time, times the primitive's factor.

    Args:
        primitive: its name.
        ranks: number of ranks N.
        message: the column size, which is this book's M, in bytes.
        seconds: the time.

    Source: nccl-tests, doc/PERFORMANCE.md.

    >>> bus_bandwidth("all-reduce", 8, 1e9, 0.0175)
    100000000000.0
    """
    return message / seconds * float(bus_factor(primitive, ranks))


def count(primitive: str, ranks: int, message: float) -> int:
    """The column count: float32 elements in the call, on each rank where the call counts by rank.

    Source: nccl-tests, src/all_gather.cu, reduce_scatter.cu, alltoall.cu and the others, 2020 and later.

    >>> count("all-reduce", 8, 1024), count("all-gather", 8, 1024)
    (256, 32)
    """
    return int(message // ELEMENT) // (ranks if primitive in PER_RANK else 1)


@dataclass(frozen=True)
class Row:
    """One row of an nccl-tests table.

    Attributes:
        label: the algorithm, which nccl-tests cannot know.
        message: size in bytes.
        count: elements in the call.
        seconds: the time.
        algbw: algorithm bandwidth in bytes per second.
        busbw: bus bandwidth in bytes per second.
    """

    label: str
    message: float
    count: int
    seconds: float
    algbw: float
    busbw: float


def rows(rungs: Iterable[Rung], message: float) -> list[Row]:
    """What nccl-tests would print for executed rungs.

    >>> from colllib import star
    >>> from colllib.ladder import ladder
    >>> rungs = ladder("all-gather", star(8), message=2**30, alpha=1e-6, bandwidth=1e9)
    >>> [(row.count, round(row.busbw / 1e6)) for row in rows(rungs, 2**30)][:1]
    [(33554432, 1000)]
    """
    return [
        Row(
            rung.label,
            message,
            count(rung.algorithm.primitive, rung.entry.topology.ranks, message),
            rung.seconds,
            rung.algbw,
            rung.busbw,
        )
        for rung in rungs
    ]


def ideal_gain(ranks: int, *, shots: int = 2) -> Fraction:
    """How many times faster a switch that adds can be than a ring, both at the rate of the port.

    >>> ideal_gain(8), ideal_gain(8, shots=1)
    (Fraction(14, 9), Fraction(7, 4))
    """
    return bus_factor("all-reduce", ranks) / port_load(ranks, shots=shots)
