"""What a collective's bits cost in energy: its ledger, times picojoules for each bit on each kind of link."""

from __future__ import annotations

from colllib.execution import Execution
from colllib.measures import crossings

#: Picojoules per bit and link, lowest and highest, of what its two ends take; memory and switching silicon are not in
#: it. In a box: NVLink-C2C, and the serial link of 112 Gb/s that it is compared with
#: (https://www.besthub.dev/articles/why-nvidia-s-nvlink-c2c-is-redefining-gpu-cpu-interconnects-f3c3b77f8d87).
#: Outside: pluggable optics of 800 and 400 Gb/s, 15 and 9 W at most
#: (https://docs.nvidia.com/networking/display/800gmma4z00nst/overview and .../MMA1Z00NS400T/Overview).
OPTICS = (15 / 0.8, 9 / 0.4)
PICOJOULES: dict[str, tuple[float, float]] = {"box": (1.3, 5.5), "card": OPTICS, "uplink": OPTICS}


def joules(execution: Execution, message: float) -> tuple[float, float]:
    """The least and the most energy that the links of a run take, for a message of M bytes.

    Args:
        execution: what was run; its ledger counts the bits on each link.
        message: M in bytes, at least 0.

    Raises:
        ValueError: for a tier of which no energy is known, or a negative message.

    >>> from colllib.algorithms import allreduce
    >>> from colllib.execution import execute
    >>> from colllib.topology import boxes
    >>> [round(value, 2) for value in joules(execute(allreduce.ring(16), boxes((2, 8))), 1e9)]
    [2.8, 5.01]
    """
    if not 0 <= message < float("inf"):
        raise ValueError(f"message size {message!r}: must be a number of bytes, at least 0")
    least = most = 0.0
    for name, crossing in crossings(execution).items():
        if crossing.total and name not in PICOJOULES:
            raise ValueError(f"no picojoules per bit for the tier {name!r}: known are {', '.join(PICOJOULES)}")
        low, high = PICOJOULES.get(name, (0.0, 0.0))
        bits = 8 * float(crossing.total) * message
        least, most = least + bits * low * 1e-12, most + bits * high * 1e-12
    return least, most
