"""Bus bandwidth: what nccl-tests prints, from executed schedules and from published measurements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from colllib.bounds import bus_factor
from colllib.cost import Cost
from colllib.ladder import Rung
from colllib.primitives import all_reduce, check_ranks
from colllib.schedule import Schedule, Step
from colllib.topology import Topology, from_links

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
    found = []
    for rung in rungs:
        primitive, ranks = rung.algorithm.primitive, rung.execution.topology.ranks
        found.append(
            Row(
                rung.label,
                message,
                count(primitive, ranks, message),
                rung.seconds,
                message / rung.seconds,
                bus_bandwidth(primitive, ranks, message, rung.seconds),
            )
        )
    return found


def through_switch(ranks: int, *, shots: int = 2) -> tuple[Schedule, Topology]:
    """An all-reduce that a switch adds up, and the star whose switch may add and replicate.

    Args:
        ranks: number of ranks N.
        shots: 1: everybody sends the vector, the switch adds and sends the sum to all. 2: everybody
            reads the sum of its own slice through the switch, and writes it to all through the
            switch, as NVLS does (multimem.ld_reduce, then multimem.st).

    Raises:
        ValueError: for another number of shots.

    >>> from colllib import execute
    >>> execute(*through_switch(8)).sent[0]
    Fraction(9, 8)
    """
    check_ranks(ranks)
    if shots not in (1, 2):
        raise ValueError(f"{shots} shots: an all-reduce through the switch takes 1 or 2")
    rank, hub = np.arange(ranks), ranks
    if shots == 1:
        steps = [Step.of(rank, hub, 0, add=True), Step.of(hub, rank, 0)]
    else:
        everyone, slices = np.divmod(np.arange(ranks * ranks), ranks)
        steps = [
            Step.of(everyone, hub, slices, add=True),
            Step.of(hub, rank, rank),
            Step.of(rank, hub, rank),
            Step.of(hub, everyone, slices),
        ]
    wires = [(r, hub) for r in range(ranks)] + [(hub, r) for r in range(ranks)]
    where = from_links("adding switch", ranks, wires, switches=1, combines=True, replicates=True)
    return Schedule.from_steps(all_reduce(ranks, ranks if shots == 2 else 1), steps, switches=1), where


def through_switch_cost(ranks: int, *, shots: int = 2, segments: int = 1) -> Cost:
    """Closed form of `through_switch`, pipelined: up and down go on at once.

    With two shots a port carries M and, as owner of a slice, M/N each way; the first and the last
    two rounds of a pipeline carry only one of the two.

    >>> through_switch_cost(8), through_switch_cost(8, segments=100)
    (Cost(n_alpha=4, n_beta=9/4), Cost(n_alpha=103, n_beta=923/800))
    """
    check_ranks(ranks)
    if shots == 1:
        return Cost(segments + 1, Fraction(segments + 1, segments))
    both = 1 + Fraction(1, ranks)
    if segments <= 2:
        return Cost(segments + 3, 2 * both if segments == 1 else (4 + Fraction(1, ranks)) / 2)
    return Cost(segments + 3, ((segments - 1) * both + 4) / segments)


def ideal_gain(ranks: int, *, shots: int = 2) -> Fraction:
    """How many times faster a switch that adds can be than a ring, both at the rate of the port.

    >>> ideal_gain(8), ideal_gain(8, shots=1)
    (Fraction(14, 9), Fraction(7, 4))
    """
    return bus_factor("all-reduce", ranks) / (Fraction(ranks + 1, ranks) if shots == 2 else 1)


@dataclass(frozen=True)
class Measured:
    """Published bus bandwidths of one machine at one size, with and without the switch adding.

    Attributes:
        what: machine, software and size.
        source: where it is published.
        busbw: ranks -> (bus bandwidth as NCCL chose, with NVLS switched off), in bytes per second.
        link: the rate of a rank's links one way, in bytes per second.
    """

    what: str
    source: str
    busbw: dict[int, tuple[float, float]]
    link: float


#: At 4 ranks NCCL chose the ring both times.
H200_BY_RANKS = Measured(
    what="H200 on NVSwitch, nccl-tests all-reduce, 8 GiB, NCCL 2.27.7",
    source="S. Bekman, Machine Learning Engineering, network/README.md, section SHARP, commit c53741b8",
    busbw={
        4: (363.3e9, 363.3e9),
        5: (414.2e9, 364.4e9),
        6: (435.6e9, 365.1e9),
        7: (460.0e9, 365.7e9),
        8: (473.1e9, 365.6e9),
    },
    link=450e9,
)
