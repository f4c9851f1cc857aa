"""The in-network explorer: how many times faster than software a switch is, over the message size."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from colllib import ladder, units
from colllib.algorithms import Algorithm, serving
from colllib.bounds import least_traffic
from colllib.cost import Cost
from colllib.show.control import Control, Part, State
from colllib.show.explorer import Explorer
from colllib.show.figure import Chart
from colllib.show.lines import Mark, lines
from colllib.show.table import Table
from colllib.topology import Latency, Topology, star

PRIMITIVES = ("all-reduce", "reduce-scatter", "all-gather", "broadcast", "reduce", "all-to-all")
RANKS = (2, 8, 72, 512)
ENDPOINTS = (300e-9, 1e-6, 3e-6)
SWITCHES = (200e-9, 500e-9)
SIZES = (1e4, 1e5, 1e6, 4e6, 16e6, 1e8, 1e9)
BANDWIDTH = 900e9
_ALL = ("primitive", "n", "endpoint", "switch")


@dataclass(frozen=True)
class Race:
    """The fastest software and the fastest way through the switch, for one message.

    Attributes:
        software, through: names, with the segments where there are several.
        seconds: lock-step time of the software.
        lockstep: lock-step time through the switch.
        streamed: what the event clock tends to through the switch, in ever more segments.
    """

    software: str
    seconds: float
    through: str
    lockstep: float
    streamed: float


def able_star(ranks: int, endpoint: float, switch: float) -> Topology:
    """One switch that can do everything; endpoint and switch, in seconds, make up alpha."""
    first, second = (Fraction(round(time * 1e9)) for time in (endpoint, switch))
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
    whole = primitive == "reduce-scatter"  # as drawn: a rank pushes its own slice too
    return Cost(1, Fraction(1) if whole else max(least.send, least.receive))


def race(primitive: str, ranks: int, message: float, endpoint: float, switch: float) -> Race:
    """The closed forms, which tests hold against execution, at the best whole numbers of segments.

    >>> race("all-reduce", 512, 10e3, 300e-9, 200e-9).software
    'recursive doubling'
    """
    where = able_star(ranks, endpoint, switch)
    price = {"message": message, "alpha": endpoint + switch, "bandwidth": BANDWIDTH}

    def timed(algorithm: Algorithm) -> tuple[float, str]:
        argument = ladder.argument(algorithm, where)
        if not algorithm.segmented:
            return algorithm.cost(argument).seconds(**price), algorithm.label
        p = ladder.best(algorithm, argument, **price)
        label = algorithm.label + (f", P = {p}" if p > 1 else "")
        return algorithm.cost(argument, segments=p).seconds(**price), label

    offered = [a for a in serving(primitive, where) if a.has_closed_form]
    software = min(timed(a) for a in offered if a.takes == "ranks")
    through = min(timed(a) for a in offered if a.takes == "topology")
    streamed = stream_limit(primitive, ranks).seconds(**price)
    return Race(software[1], software[0], through[1], through[0], streamed)


def inc_explorer() -> Explorer:
    """Collective, N, and what endpoint and switch take: the gain of the switch over the message size.

    >>> inc_explorer()
    Explorer: What the switch gains (Collective, Ranks N, Endpoint, Switch)
    """

    @cache
    def races(primitive: str, n: int, endpoint: float, switch: float) -> list[Race]:
        return [race(primitive, n, m, endpoint, switch) for m in SIZES]

    def of(state: State) -> list[Race]:
        return races(*(state[name] for name in _ALL))

    def curve(state: State) -> Chart:
        found = of(state)
        gains = [r.seconds / r.lockstep for r in found]
        streams = [r.seconds / r.streamed for r in found]
        return lines(
            {"the switch streams": (SIZES, streams), "lock-step, best P": (SIZES, gains)},
            x_label="message M",
            y_label="times faster than software",
            log_x=10,
            x_format=units.size,
            y_format="{:.3g}×".format,
            y_from_zero=True,
            marks=[Mark(16e6, "16 MB")],
            title=f"{state['primitive']}, N = {state['n']}: {max(streams):.2g}× to {min(streams):.2g}×",
        )

    def table(state: State) -> Table:
        rows = [
            (
                units.size(m),
                r.software,
                units.seconds(r.seconds),
                r.through,
                units.seconds(r.lockstep),
                units.seconds(r.streamed),
                f"{r.seconds / r.streamed:.2f}",
            )
            for m, r in zip(SIZES, of(state), strict=True)
        ]
        headers = ["M", "fastest software", "time", "through the switch", "time", "streamed", "gain"]
        return Table(headers, rows, "Lock-step clock at the best whole number of segments; streamed on the event clock")

    def told(state: State) -> str:
        found = of(state)
        first, last = found[0], found[-1]
        alpha = units.seconds(state["endpoint"] + state["switch"])
        return (
            f"{state['primitive']}, N = {state['n']}, alpha {alpha}: a switch that streams is "
            f"{first.seconds / first.streamed:.2f} times as fast as {first.software} at {units.size(SIZES[0])}, and "
            f"{last.seconds / last.streamed:.2f} times as fast as {last.software} at {units.size(SIZES[-1])}."
        )

    return Explorer(
        "What the switch gains",
        [
            Control("primitive", "Collective", PRIMITIVES, "all-reduce", "select"),
            Control("n", "Ranks N", RANKS, 512),
            Control("endpoint", "Endpoint", ENDPOINTS, 300e-9, format=units.seconds),
            Control("switch", "Switch", SWITCHES, 200e-9, format=units.seconds),
        ],
        [
            Part(_ALL, curve, "Gain over M"),
            Part(_ALL, table, "The race"),
            Part((), lambda _: _NOTE),
        ],
        summary=Part(_ALL, told),
        play="n",
    )


_NOTE = (
    f"<p>One switch, one full-duplex port of {units.rate(BANDWIDTH)} per rank. Endpoint and switch together are one "
    "alpha, for software and switch alike. In a reduce-scatter every rank pushes its whole vector.</p>"
)
