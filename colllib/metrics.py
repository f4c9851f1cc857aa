"""Metrics: how many nodes send at a time, what shares a port, what must be parked, and the energy."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from colllib.cost import Cost
from colllib.exact import Fractions, counted
from colllib.execution import Execution
from colllib.schedule import Schedule
from colllib.topology import Topology
from colllib.topology.describe import slots


def busy_ports(schedule: Schedule) -> list[int]:
    """How many nodes send in each step.

    >>> from colllib.algorithms import broadcast
    >>> busy_ports(broadcast.chain(4, segments=3))
    [1, 2, 3, 2, 1]
    """
    return [len(np.unique(step.src)) for step in schedule.steps]


class Phases(NamedTuple):
    """How many steps a pipeline takes to fill, runs full, and takes to drain."""

    fill: int
    steady: int
    drain: int


def phases(busy: list[int]) -> Phases:
    """Steps before the first fullest one, from there to the last fullest one, and after it.

    >>> phases([1, 2, 3, 3, 3, 2, 1])
    Phases(fill=2, steady=3, drain=2)
    """
    if not busy:
        return Phases(0, 0, 0)
    full = [t for t, count in enumerate(busy) if count == max(busy)]
    return Phases(full[0], full[-1] - full[0] + 1, len(busy) - 1 - full[-1])


def port_messages(schedule: Schedule) -> list[int]:
    """The most messages that one node sends, or one node receives, in each step.

    The lock-step clock charges a step one alpha, however many messages share a port. The sum of this list is what it
    would charge if each message on a port paid its own.

    >>> from colllib.algorithms import broadcast
    >>> from colllib.schedule import pipelined
    >>> port_messages(pipelined(broadcast.binomial_tree(8), 3))
    [1, 2, 3, 2, 1]
    """
    return [max(step.partners()) for step in schedule.steps]


def one_way_cost(schedule: Schedule) -> Cost:
    """The lock-step cost on a star whose ports send or receive, not both: the two loads add up.

    >>> from colllib.algorithms import allreduce
    >>> one_way_cost(allreduce.ring(4))
    Cost(n_alpha=6, n_beta=3)
    """
    share = schedule.blocks.share
    most = [
        int(
            counted(np.concatenate((src, dst)), np.tile(share.numerators[block], 2), schedule.nodes)[
                : schedule.ranks
            ].max()
        )
        for src, dst, block, _ in schedule.steps
        if len(src)
    ]
    return Cost(len(most), Fraction(sum(most), share.denominator))


def busiest_link(execution: Execution) -> Fraction:
    """The most that one link carries over the whole run, in units of M/BW: what no pipelining gets below.

    The lock-step `n_beta` is the sum over the steps of the most loaded link; this is the most loaded link of the sum,
    over several levels where all of them have one BW. With endlessly many segments the one becomes the other.

    >>> from colllib.algorithms import broadcast
    >>> from colllib.execution import execute
    >>> run = execute(broadcast.chain(8))
    >>> run.cost.n_beta, busiest_link(run)
    (Fraction(7, 1), Fraction(1, 1))
    """
    ledger, tiers = execution.ledger, execution.topology.tiers
    loads = (Fraction(load, ledger.denominator) for load in ledger.busiest)
    return max(load / tier.bandwidth for load, tier in zip(loads, tiers, strict=True))


class Crossing(NamedTuple):
    """What a run puts on the links of one tier, in shares of M."""

    most: Fraction  # on the busiest link
    total: Fraction  # on all of them together
    used: int  # how many links carry anything


def crossings(execution: Execution, links: NDArray[np.bool_] | bool = True) -> dict[str, Crossing]:
    """What crosses each tier, or some of its links, over a whole run, by the tier's name, innermost first.

    >>> from colllib.algorithms import allreduce
    >>> from colllib.execution import execute
    >>> from colllib.topology import boxes
    >>> crossings(execute(allreduce.ring(4), boxes((2, 2))))["card"]
    Crossing(most=Fraction(3, 2), total=Fraction(6, 1), used=4)
    """
    topology, ledger = execution.topology, execution.ledger
    loads = Fractions(ledger.link, ledger.denominator)
    by_tier = {}
    for number, tier in enumerate(topology.tiers):
        tier_loads = loads.taken(np.flatnonzero((topology.tier == number) & links))
        used = int(np.count_nonzero(tier_loads.numerators))
        by_tier[tier.name] = Crossing(tier_loads.largest(), tier_loads.total(), used)
    return by_tier


def optical(topology: Topology) -> int:
    """The links with optics that a message crosses on its way from the first box to the same place in the last one.

    >>> from colllib.topology import boxes
    >>> [optical(boxes((4, 8), **wired)) for wired in ({}, {"rails": 8}, {"cards": 4}, {"ranks": 26})]
    [4, 2, 4, 4]
    """
    box = topology.in_box or topology.ranks
    src, dst = np.array([0]), np.array([(topology.ranks - 1) // box * box])
    _, links = topology.router(src, dst)
    return sum(
        PICOJOULES.get(_kind(topology.tiers[tier].name)) is OPTICS
        for tier in topology.tier[links[~slots(topology)[links]]]
    )


def _kind(tier: str) -> str:
    """Of a tier's name: the uplinks of every height are alike."""
    return tier.split()[0]


#: Picojoules per bit and link, lowest and highest, of what its two ends take; memory and switching silicon are not in
#: it. In a box: no maker tells it of NVLink through a switch or of PCIe, so `IN_BOX` stands for them, an article's
#: figures (https://www.besthub.dev/articles/why-nvidia-s-nvlink-c2c-is-redefining-gpu-cpu-interconnects-f3c3b77f8d87).
#: Outside: pluggable optics of 800 and 400 Gb/s, 15 and 9 W at most
#: (https://docs.nvidia.com/networking/display/800gmma4z00nst/overview and .../MMA1Z00NS400T/Overview).
#: Passive copper cables take 0.1 W at most (https://docs.nvidia.com/networking/display/mcp4y10nxxx2x400pub), unpriced.
OPTICS = (15 / 0.8, 9 / 0.4)
IN_BOX = "as of NVLink-C2C and of a 112 Gb/s SerDes"
PICOJOULES: dict[str, tuple[float, float]] = {"box": (1.3, 5.5), "card": OPTICS, "uplink": OPTICS}


def joules(execution: Execution, message: float) -> tuple[float, float] | None:
    """The least and the most energy in joules that the links of a run take, for a message of M bytes.

    A card's slot counts nothing, whether or not ranks share it. None where links carry something of which no energy is
    known.

    >>> from colllib.algorithms import allreduce
    >>> from colllib.execution import execute
    >>> from colllib.topology import boxes
    >>> [round(value, 2) for value in joules(execute(allreduce.ring(16), boxes((2, 8))), 1e9)]
    [2.8, 5.01]
    """
    if not 0 <= message < float("inf"):
        raise ValueError(f"message size {message!r}: must be a number of bytes, at least 0")
    least = most = 0.0
    for name, crossing in crossings(execution, ~slots(execution.topology)).items():
        kind = _kind(name)
        if crossing.total and kind not in PICOJOULES:
            return None
        low, high = PICOJOULES.get(kind, (0.0, 0.0))
        bits = 8 * float(crossing.total) * message
        least, most = least + bits * low * 1e-12, most + bits * high * 1e-12
    return least, most


def staging(schedule: Schedule) -> tuple[Fraction, ...]:
    """After each step, the largest share of M that any one rank has received and must send again later.

    In an all-gather these are shards on their way to others, in a reduce-scatter partial sums that belong to someone
    else. What a rank holds from the start is not counted, nor what has come to stay. The schedule must be one that
    `execute` has proved.

    >>> from colllib.algorithms import allgather
    >>> [str(share) for share in staging(allgather.ring(4))]
    ['1/4', '1/4', '0']
    >>> [str(share) for share in staging(allgather.bruck(8))]
    ['1/8', '3/8', '0']
    """
    blocks, steps = len(schedule.blocks), schedule.num_steps
    first = np.full(schedule.nodes * blocks, steps)
    last = np.full(schedule.nodes * blocks, -1)
    for t in range(steps):
        step = schedule.step(t)
        into = step.dst * blocks + step.block
        first[into] = np.minimum(first[into], t)
        last[step.src * blocks + step.block] = t
    cell = np.flatnonzero(last > first)
    share = schedule.blocks.share
    place, size = cell // blocks, share.numerators[cell % blocks]
    come, gone = (
        counted(when[cell] * schedule.nodes + place, size, (steps + 1) * schedule.nodes).reshape(-1, schedule.nodes)
        for when in (first, last)
    )
    parked = (come - gone).cumsum(axis=0)[:steps, : schedule.ranks].max(axis=1, initial=0)
    return tuple(Fraction(int(count), share.denominator) for count in parked)
