"""What a collective's bits cost in energy: its ledger, times picojoules for each bit on each kind of link."""

from __future__ import annotations

from collections.abc import Mapping

from colllib.execution import Execution
from colllib.measures import crossings

#: Picojoules per bit and link, lowest and highest, of what its two ends take; memory and switching silicon are not in
#: it. In a box: NVLink-C2C as its maker states it, to a 112 Gb/s electrical link. Outside: co-packaged and pluggable
#: optics of 1.6 Tb/s, 9 W and 30 W as one maker of both states them.
PICOJOULES: dict[str, tuple[float, float]] = {
    "box": (1.3, 5.5),
    "card": (15 / 0.8, 9 / 0.4),
    "uplink": (15 / 0.8, 9 / 0.4),
}
SOURCES = (
    "https://www.nvidia.com/en-us/data-center/nvlink-c2c/",
    "https://docs.nvidia.com/networking/display/800gmma4z00nst/overview",
    "https://docs.nvidia.com/networking/display/MMA1Z00NS400T/Overview",
)


def joules(
    execution: Execution, message: float, picojoules: Mapping[str, tuple[float, float]] = PICOJOULES
) -> tuple[float, float]:
    """The least and the most energy that the links of a run take, for a message of M bytes.

    Args:
        execution: what was run; its ledger counts the bits on each link.
        message: M in bytes, at least 0.
        picojoules: per bit, lowest and highest, by the name of the tier.

    Raises:
        ValueError: for a tier without a number, or a negative message.

    >>> from colllib.algorithms import allreduce
    >>> from colllib.execution import execute
    >>> from colllib.topology import boxes
    >>> [round(value, 2) for value in joules(execute(allreduce.ring(16), boxes((2, 8))), 1e9)]
    [2.8, 5.01]
    """
    if not 0 <= message < float("inf"):
        raise ValueError(f"message size {message!r}: must be a number of bytes, at least 0")
    low = high = 0.0
    for name, crossing in crossings(execution).items():
        if not crossing.total:
            continue
        if name not in picojoules:
            raise ValueError(f"no picojoules per bit for the tier {name!r}: given are {', '.join(picojoules)}")
        bits = 8 * float(crossing.total) * message
        least, most = picojoules[name]
        low, high = low + bits * least * 1e-12, high + bits * most * 1e-12
    return low, high
