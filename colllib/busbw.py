"""What nccl-tests prints beside a `Rung`'s times and rates, what a switch can gain there, and what it has gained."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from fractions import Fraction
from importlib import resources

from colllib.algorithms.innetwork import port_load
from colllib.bounds import bus_factor

ELEMENT = 4  # bytes of a float32, the default type of nccl-tests

#: Primitives whose call takes the elements of one rank, so that `count` is the size over N.
PER_RANK = ("all-gather", "reduce-scatter", "all-to-all")


def count(primitive: str, ranks: int, message: float) -> int:
    """The column count: float32 elements in the call, on each rank where the call counts by rank.

    Source: nccl-tests, src/all_gather.cu, reduce_scatter.cu, alltoall.cu and the others, from 2.13.12 on, where a
    rank's part is a multiple of 16 bytes.

    >>> count("all-reduce", 8, 1024), count("all-gather", 8, 1024), count("all-gather", 8, 64)
    (256, 32, 0)
    """
    elements = int(message // ELEMENT)
    return elements // ranks & ~3 if primitive in PER_RANK else elements


def ideal_gain(ranks: int, *, shots: int = 2) -> Fraction:
    """How many times faster a switch that adds can be than a ring, both at the rate of the port.

    >>> ideal_gain(8), ideal_gain(8, shots=1)
    (Fraction(14, 9), Fraction(7, 4))
    """
    return bus_factor("all-reduce", ranks) / port_load(ranks, shots=shots)


@dataclass(frozen=True)
class Measured:
    """Published bus bandwidths of all-reduces on one machine, in bytes per second; `busbw.csv` has their sources."""

    link: float  # the rate of a rank's links one way
    busbw: dict[int, tuple[float, float]] = field(default_factory=dict)  # by ranks: as NCCL chose, and without NVLS


def _measured() -> dict[str, Measured]:
    machines: dict[str, Measured] = {}
    text = (resources.files(__package__) / "busbw.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        link, chosen, ring = (1e9 * float(row[f"{name}_GBps"]) for name in ("link", "chosen", "without_switch"))
        machines.setdefault(row["machine"], Measured(link)).busbw[int(row["ranks"])] = chosen, ring
    return machines


#: By machine. At 4 ranks NCCL chose the ring both times, on B200 also at 5.
MEASURED = _measured()
