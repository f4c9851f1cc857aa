"""The all-to-all explorer: from Bruck to pairwise exchange by the radix, and the same bytes on a ring."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from colllib import ladder, units
from colllib.algorithms.alltoall import bruck_cost, pairwise_cost, ring_relay_cost_on_ring
from colllib.cost import Cost
from colllib.show.control import Control, Part, State
from colllib.show.explorer import Explorer
from colllib.show.lines import Mark, describe, lines
from colllib.show.table import Table

RANKS = (4, 8, 9, 16, 64, 72, 512)
MESSAGES = (1e3, 10e3, 100e3, 1e6, 16e6, 100e6, 1e9)
ALPHAS = (0.1e-6, 0.5e-6, 1e-6, 5e-6)
BANDWIDTHS = (50e9, 400e9, 900e9)
RADICES = (2, 3, 4, 6, 8, 9, 12, 16, 23, 32, 64, 128, 256, 512)


@dataclass(frozen=True)
class Line:
    """One way to do an all-to-all: what it is, on which wires, on which clock, at what cost."""

    name: str
    wires: str
    clock: str
    cost: Cost


def radices(ranks: int) -> tuple[int, ...]:
    """The radices on the curve for N ranks, from 2, which is Bruck's, to N, which is pairwise exchange.

    >>> radices(9)
    (2, 3, 4, 6, 8, 9)
    """
    return (*(k for k in RADICES if k < ranks), ranks)


@cache
def _costs(ranks: int) -> dict[int, Cost]:
    return {k: bruck_cost(ranks, k) for k in radices(ranks)}


def fastest_radix(ranks: int, *, message: float, alpha: float, bandwidth: float) -> int:
    """The best radix on the curve, on a star with one full-duplex port per rank, lock-step.

    >>> fastest_radix(64, message=1e3, alpha=1e-6, bandwidth=1e9)
    2
    """
    costs = _costs(ranks)
    return min(costs, key=lambda k: (costs[k].seconds(message=message, alpha=alpha, bandwidth=bandwidth), k))


def ways(ranks: int, best: int) -> list[Line]:
    """All that the table compares, with `best` as the best radix."""
    star, one = "star", "lock-step"
    relay = ring_relay_cost_on_ring(ranks, "split")
    found = [
        Line("pairwise", star, one, pairwise_cost(ranks)),
        Line("Bruck, radix 2", star, one, bruck_cost(ranks)),
        Line("pairwise", star, "event", Cost(1, pairwise_cost(ranks).n_beta)),
        Line("ring relay, ties split", "ring", one, relay),
        Line("ring relay, ties split", "ring, BW/2", one, Cost(relay.n_alpha, 2 * Fraction(relay.n_beta))),
    ]
    if best not in (2, ranks):
        found.append(Line(f"Bruck, radix {best}", star, one, bruck_cost(ranks, best)))
    return found


def alltoall_explorer() -> Explorer:
    """N, M, alpha and BW against the radix of an all-to-all, with pairwise, Bruck and ring relay in a table.

    The times come from closed forms that tests hold against execution; the event clock's row from
    the one that `event_clock` confirms for pairwise exchange.

    >>> alltoall_explorer()
    Explorer: All-to-all: steps against bytes (Ranks N, Message M, Latency alpha, Bandwidth BW)
    """
    return Explorer(
        "All-to-all: steps against bytes",
        [
            Control("n", "Ranks N", RANKS, ladder.ANCHOR_RANKS),
            Control("m", "Message M", MESSAGES, ladder.ANCHOR_MESSAGE, format=units.size),
            Control("alpha", "Latency alpha", ALPHAS, ladder.ANCHOR_ALPHA, format=units.seconds),
            Control("bw", "Bandwidth BW", BANDWIDTHS, ladder.ANCHOR_BANDWIDTH, format=units.rate),
        ],
        [
            Part(_ALL, _curve, "Time against radix"),
            Part(_ALL, _table, "All ways, fastest first"),
            Part((), lambda s: _NOTE),
        ],
        summary=Part(_ALL, _told),
    )


_ALL = ("n", "m", "alpha", "bw")
_NOTE = (
    "<p>M is what each rank sends in all, so M/N goes to each destination. Radix 2 is Bruck's algorithm, radix N is "
    "pairwise exchange. On the star a rank has one full-duplex port of BW, on the ring a link of BW to each neighbor, "
    "which together inject twice as much; links of BW/2 make it equal.</p>"
)


def _price(state: State) -> dict[str, float]:
    return {"message": state["m"], "alpha": state["alpha"], "bandwidth": state["bw"]}


def _curve(state: State) -> object:
    price = _price(state)
    costs = _costs(state["n"])
    xs = list(costs)
    event = Cost(1, pairwise_cost(state["n"]).n_beta).seconds(**price)
    series = {
        "radix k, lock-step": (xs, [cost.seconds(**price) for cost in costs.values()]),
        "pairwise, event clock": (xs, [event] * len(xs)),
    }
    best = fastest_radix(state["n"], **price)
    return lines(
        series,
        x_label="radix k",
        y_label="time",
        log_x=2,
        log_y=10,
        y_format=units.seconds,
        marks=[Mark(best, f"k = {best}", costs[best].seconds(**price))],
        alt=describe(series, "radix k", "time", str, units.seconds),
        title=f"N = {state['n']}, M = {units.size(state['m'])} on a star",
    )


def _table(state: State) -> Table:
    price = _price(state)
    found = sorted(ways(state["n"], fastest_radix(state["n"], **price)), key=lambda way: way.cost.seconds(**price))
    rows = [
        (
            way.name,
            units.seconds(way.cost.seconds(**price), 4),
            way.wires,
            way.clock,
            way.cost.n_alpha,
            str(way.cost.n_beta),
        )
        for way in found
    ]
    headers = ["algorithm", "time", "wires", "clock", "n_alpha", "n_beta"]
    return Table(headers, rows, align=("left", "right", "left", "left", "right", "right"))


def _told(state: State) -> str:
    price = _price(state)
    n, best = state["n"], fastest_radix(state["n"], **price)
    time = {k: cost.seconds(**price) for k, cost in _costs(n).items()}
    kind = {2: "radix 2, Bruck's,", n: f"radix {n}, pairwise exchange,"}.get(best, f"radix {best}")
    return (
        f"At N = {n} and M = {units.size(state['m'])}, {kind} is fastest on a star in lock-step with "
        f"{units.seconds(time[best])}; radix 2 takes {time[2] / time[best]:.2f} times, pairwise exchange "
        f"{time[n] / time[best]:.2f} times as long."
    )
