"""Answers on collectives through switches.

One rule for the trip up to a switch and down again: it starts at one endpoint, takes two links and crosses one
switch, which together is one alpha (`colllib.topology.latency`). Rows of switches that stream are judged on the event
clock, in ever more pieces; rows of software, as everywhere in the book, in lock-step at the best number of pieces.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from colllib.algorithms import find, innetwork
from colllib.algorithms.innetwork import SwitchTree, room
from colllib.claims.allreduce import DOUBLING, HALVING, TREE
from colllib.claims.cases import Quantities, as_quantities, best_us, deferred, measured, once
from colllib.claims.runs import by_formula, place, proves, run, timed
from colllib.claims.value import Cases, Limit, Table
from colllib.cost import Cost
from colllib.ladder import topology
from colllib.schedule import Schedule
from colllib.switch_gain import stream_limit
from colllib.topology import star

STAR = "star:512"


def trip(primitive: str, on: str = "inc-star:8") -> Fraction:
    """The latencies of a collective through one switch in one piece, in units of alpha."""
    return Fraction(measured(f"{primitive} in-network", on).n_alpha)


def switches(on: str) -> int:
    """How many an all-reduce crosses one after the other, by a run in which they are all of alpha."""
    return int(trip("all-reduce", f"{on},endpoint=0,hop=0,switch=1"))


def _pieces_for_free(primitive: str, n: int) -> Cost:
    """What a collective through one switch comes to on the event clock: the limits at two prices of alpha."""
    build, on = find(primitive, "in-network").build, f"inc-star:{n}"

    def limit(alpha: float) -> Fraction:
        price = (64.0, alpha, 1.0)
        return Limit.of(lambda p: Fraction(timed(build, topology(on), on=on, segments=p, price=price)), 4).value

    return Cost((limit(4.0) - limit(0.0)) / 4, limit(0.0) / 64)


def streamed(primitive: str, ranks: int = 512, **price: Any) -> Quantities:
    """A switch that streams, on the event clock: runs of 2 and 4 ranks confirm the formula that gives it for N."""
    for n in (2, 4):
        if _pieces_for_free(primitive, n) != stream_limit(primitive, n):
            raise ValueError(f"{primitive} through a switch does not come to its formula for {n} ranks")
    return as_quantities(by_formula(stream_limit(primitive, ranks), f"inc-star:{ranks}", "event clock"), **price)


def _steps_of_a_tree() -> Cases:
    """r is the fan-in of a level, as the text defines it: a switch has r ports below and one more for its uplink."""
    for r, n in ((3, 9), (3, 13), (4, 4), (4, 11), (4, 16), (4, 64), (8, 60)):
        on = f"inc-switch-tree:{n}x{r + 1}"
        k = next(k for k in range(1, 9) if r**k >= n)
        hops = run("all-reduce in-network", on).schedule.num_steps
        yield {"at": f"N = {n}, r = {r}", "k": k, "hops": hops, "switches": switches(on)}


def _tiers(ranks: int, radix: int = 64) -> int:
    return SwitchTree(place(f"inc-switch-tree:{ranks}x{radix}")).height


def _room_in_a_tree() -> Cases:
    """A tree of 262,144 is too large to build: its room follows the rule that the smaller trees keep."""
    for radix, k in ((4, 2), (16, 2), (4, 3), (6, 3)):
        if (_tiers(room(radix, k), radix), _tiers(room(radix, k) + 1, radix)) != (k, k + 1):
            raise ValueError(f"{k} tiers of radix {radix} have not the room that the rule gives them")
    needed = next(k for k in range(1, 9) if room(64, k) >= 262_144)
    rooms = {f"room_{k}": room(64, k) for k in (2, 3)}
    yield {"at": "64 ports", "tiers_of_4096": _tiers(4096), "tiers_of_262144": needed, **rooms}


@deferred
def _regime(message: float) -> Cases:
    """The double tree at its best, the best software, and the switch that streams."""
    times = {what: best_us(what, message=message) for what in (TREE, HALVING, DOUBLING)}
    fastest = min(times, key=times.__getitem__)
    tree, inc = times[TREE], streamed("all-reduce", message=message).t
    best_of_all = {"fastest": find(*fastest.split()).label, "fastest_us": times[fastest]}
    case = {"trip": trip("all-reduce"), "tree": tree, "inc": inc, "ratio": tree / inc, **best_of_all}
    yield {"at": f"N = 512, {message / 1e6:g} MB", "tree_ms": tree / 1e3, "inc_ms": inc / 1e3, **case}


def _bundles() -> Schedule:
    return innetwork.scatter_bundles(topology("inc-star:8"))


def _only_a_fifth() -> Cases:
    names = ("circulant", "two-tree", "binomial-tree", "scatter-allgather")
    time, fastest = min((best_us(f"broadcast {name}"), find("broadcast", name).label) for name in names)
    gather = measured("all-gather recursive-doubling", STAR).t / streamed("all-gather").t
    ratios = {"gather": gather, "broadcast": time / streamed("broadcast").t}
    yield {"at": "N = 512, 16 MB", **ratios, "fastest": fastest, "fastest_us": time}


TABLE: Table = {
    "E-04-022": _steps_of_a_tree,
    "E-04-023": _room_in_a_tree,
    "E-04-050": _only_a_fifth,
    **{f"E-04-{33 + k:03}": _regime(message) for k, message in enumerate((1e4, 1e6, 16e6, 1e9))},
    "E-04-047": once(
        "a switch that adds and replicates", runs=lambda: proves(_bundles, on=star(8, combines=True, replicates=True))
    ),
}
