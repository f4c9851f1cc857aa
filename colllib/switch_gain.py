"""Collectives through one switch that takes part, against software on the same ports."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from colllib.algorithms import find
from colllib.bounds import least_traffic
from colllib.cost import Cost, Terms
from colllib.events import event_clock
from colllib.ladder import ANCHOR_BANDWIDTH, CLOSED_FORM, Entry, offered
from colllib.topology import Latency, Topology, star

STREAM = 512  # segments that stand for a stream


@dataclass(frozen=True)
class Gain:
    """The fastest software and the fastest way through the switch, for one message."""

    software: str  # its name, with the segments where there are several
    seconds: float  # of it, lock-step
    lockstep: float  # through the switch
    streamed: float  # what the event clock tends to there, in ever more segments


def able_star(ranks: int, endpoint: float, switch: float) -> Topology:
    """One switch that can do everything; endpoint and switch, in seconds, make up alpha."""
    first, second = (Fraction(repr(float(time))) for time in (endpoint, switch))
    if first + second == 0:
        raise ValueError("endpoint and switch take 0 s: there is no alpha for them to be parts of")
    parts = Latency(endpoint=first / (first + second), switch=second / (first + second))
    return star(ranks, latency=parts, combines=True, replicates=True, scatters=True)


def stream_limit(primitive: str, ranks: int) -> Cost:
    """What a collective through one switch tends to on the event clock, in ever more segments.

    One alpha, and what the busier way of a port carries; nothing waits for a whole segment.

    >>> stream_limit("all-reduce", 8), stream_limit("all-gather", 8)
    (Cost(n_alpha=1, n_beta=1), Cost(n_alpha=1, n_beta=7/8))
    """
    if ranks == 1:
        return Cost(0, 0)
    least = least_traffic(primitive, ranks)
    if primitive == "reduce-scatter":  # as drawn: a rank pushes its own slice too
        return Cost(1, Fraction(1))
    return Cost(1, max(least.send, least.receive))


def switch_gain(primitive: str, ranks: int, message: float, endpoint: float, switch: float) -> Gain:
    """The closed forms, which tests hold against execution, at the best whole numbers of segments.

    Raises:
        ValueError: for a primitive with which the switch cannot help.

    >>> switch_gain("all-reduce", 512, 10e3, 300e-9, 200e-9).software
    'recursive doubling'
    """
    topology = able_star(ranks, endpoint, switch)
    price: Terms = {"message": message, "alpha": endpoint + switch, "bandwidth": ANCHOR_BANDWIDTH}

    entries = [Entry(algorithm, topology, trusting=True) for algorithm in offered(primitive, topology)]
    rungs = [entry.priced(**price) for entry in entries if entry.how == CLOSED_FORM]
    rungs.sort(key=lambda rung: rung.seconds)
    by_kind = {rung.algorithm.takes: rung for rung in reversed(rungs)}
    if not by_kind.keys() >= {"ranks", "topology"}:
        raise ValueError(f"{primitive}: through the switch and without it there is not one closed form each")
    software, through = by_kind["ranks"], by_kind["topology"]
    return Gain(software.label, software.seconds, through.seconds, stream_limit(primitive, ranks).seconds(**price))


@cache
def streamed(primitive: str, message: float, endpoint: float, switch: float) -> float:
    """Seconds of 8 ranks through one switch in 512 segments, executed on the event clock: nearly the `stream_limit`.

    M in bytes, endpoint and switch in seconds. More ranks take as long where none is spared its own share of M.

    >>> round(streamed("all-reduce", 16e6, 300e-9, 200e-9) * 1e6, 1)
    18.3
    """
    topology = able_star(8, endpoint, switch)
    schedule = find(primitive, "in-network").build(topology, segments=STREAM)
    price: Terms = {"message": message, "alpha": endpoint + switch, "bandwidth": ANCHOR_BANDWIDTH}
    return event_clock(schedule, topology, **price).seconds
