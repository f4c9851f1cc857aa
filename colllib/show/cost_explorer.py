"""The cost explorer: every algorithm for a primitive over message size, latency, bandwidth and ranks."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from itertools import pairwise
from math import isclose, log

from colllib import ladder, units
from colllib.algorithms import Algorithm
from colllib.bounds import lower_bound
from colllib.cost import crossover
from colllib.ladder import Rung, standings
from colllib.show.control import Control, Part, State
from colllib.show.explorer import Explorer
from colllib.show.lines import RIGHT, WIDTH, describe, lines
from colllib.show.table import Table
from colllib.show.theme import escape

RANKS = (2, 4, 6, 8, 16, 64, 72, 128, 512, 1024, 4096)
MESSAGES = (1e3, 10e3, 100e3, 1e6, 16e6, 100e6, 1e9, 10e9, 100e9)
ALPHAS = (0.1e-6, 0.5e-6, 1e-6, 5e-6)
BANDWIDTHS = (50e9, 100e9, 400e9, 900e9, 1.8e12)
CURVE = tuple(10 ** (3 + k / 2) for k in range(17))

LABEL = 6  # characters of the widest time on the axis, such as "100 ms"


def cost_explorer(primitive: str = "all-reduce") -> Explorer:
    """N, M, alpha and BW against all algorithms of a primitive: curves, table, winner, crossovers.

    The times come from the closed forms on a star with one full-duplex port per rank, on the
    lock-step clock; tests hold the closed forms against execution. Segmented algorithms take the
    best whole number of segments for each message.

    Args:
        primitive: its name.

    >>> cost_explorer()
    Explorer: Cost of an all-reduce (Ranks N, Message M, Latency alpha, Bandwidth BW)
    """
    field = _field(primitive)

    def here(state: State) -> list[Rung]:
        return field(state["n"], state["m"] / (state["alpha"] * state["bw"]))

    article = "an" if primitive[0] in "ao" else "a"
    network = ("n", "alpha", "bw")
    return Explorer(
        f"Cost of {article} {primitive}",
        [
            Control("n", "Ranks N", RANKS, ladder.ANCHOR_RANKS),
            Control("m", "Message M", MESSAGES, ladder.ANCHOR_MESSAGE, format=units.size),
            Control("alpha", "Latency alpha", ALPHAS, ladder.ANCHOR_ALPHA, format=units.seconds),
            Control("bw", "Bandwidth BW", BANDWIDTHS, ladder.ANCHOR_BANDWIDTH, format=units.rate),
        ],
        [
            Part(("n", "m", "alpha", "bw"), lambda s: _table(here(s), s, primitive), "Algorithms, fastest first"),
            Part(network, lambda s: _curves(field, s), "Time against message size"),
            Part(("m",), lambda s: _here(s["m"])),
            Part(network, lambda s: _turns(field, s)),
            Part((), lambda s: _NOTE),
        ],
        summary=Part(("n", "m", "alpha", "bw"), lambda s: _told(here(s), s, primitive)),
    )


_NOTE = (
    "<p>Star, one full-duplex port per rank, lock-step clock. The times are those of the closed forms; tests hold each "
    "of them against an execution, message by message. P is the best whole number of "
    "segments for that M. Each of the two lower bounds holds by itself; their sum is a floor that no schedule need "
    "reach. Of equally fast algorithms, the list of sizes names the first by alphabet.</p>"
)


def _field(primitive: str) -> Callable[[int, float], list[Rung]]:
    """All algorithms, fastest first, from N and the message in units of alpha * BW: nothing else matters."""

    return lambda ranks, message: list(standings(primitive, ranks, message))


def _name(line: Rung) -> str:
    return line.algorithm.label


def _table(lines_here: list[Rung], state: State, primitive: str) -> Table:
    bound = lower_bound(primitive, state["n"])
    price = {"message": state["m"], "alpha": state["alpha"], "bandwidth": state["bw"]}
    rows = [
        (
            _name(line),
            units.seconds(line.cost.seconds(**price), 4),
            f"{line.seconds / lines_here[0].seconds:.2f}",
            line.cost.n_alpha,
            str(line.cost.n_beta),
            line.segments if line.algorithm.segmented else "",
        )
        for line in lines_here
    ]
    rows.append(("lower bounds", units.seconds(bound.seconds(**price), 4), "", bound.n_alpha, str(bound.n_beta), ""))
    headers = ["algorithm", "time", "of fastest", "n_alpha", "n_beta", "P"]
    return Table(headers, rows, align=("left", "right", "right", "right", "right", "right"))


def _curves(field: Callable[[int, float], list[Rung]], state: State) -> object:
    unit = state["alpha"] * state["bw"]
    series: dict[str, tuple[list[float], list[float]]] = {}
    names = sorted({_name(line) for line in field(state["n"], CURVE[0] / unit)})
    for name in names:
        series[name] = ([], [])
    for message in CURVE:
        for line in field(state["n"], message / unit):
            series[_name(line)][0].append(message)
            series[_name(line)][1].append(line.seconds * state["alpha"])
    return lines(
        series,
        x_label="message M",
        y_label="time",
        alt=describe(series, "message M", "time", units.size, units.seconds),
        log_x=10,
        log_y=10,
        x_format=units.size,
        y_format=_tick,
        title=f"Time against message size, N = {state['n']}",
    )


def _tick(value: float) -> str:
    """A time for the axis, always as wide, so that the axis of sizes has one place in every state."""
    return units.seconds(value).rjust(LABEL, "\u2007")


def _here(message: float) -> str:
    """A pointer below the axis of sizes at M: small, so that the curves need not be drawn again for each M."""
    left, right = 12 + 6.8 * LABEL, WIDTH - RIGHT
    at = left + (right - left) * log(message / CURVE[0]) / log(CURVE[-1] / CURVE[0])
    anchor = "start" if at < WIDTH / 2 else "end"
    beside = at + (9 if anchor == "start" else -9)
    return (
        f'<div class="colllib cl-figure"><svg viewBox="0 0 {WIDTH:g} 16" font-size="12" aria-hidden="true">'
        f'<path d="M{at:.1f} 1l5 11h-10z"/><text x="{beside:.1f}" y="12" text-anchor="{anchor}">'
        f"M = {units.size(message)}</text></svg></div>"
    )


def _turns(field: Callable[[int, float], list[Rung]], state: State) -> str:
    unit = state["alpha"] * state["bw"]
    changes = crossovers(lambda message: field(state["n"], message / unit), unit)
    if not changes:
        only = _name(field(state["n"], CURVE[0] / unit)[0])
        return f"<p>{escape(only[0].upper() + only[1:])} is fastest at every size from 1 kB to 100 GB.</p>"
    told = "; ".join(f"from <b>{units.size(size)}</b> on, {escape(_name(after))}" for size, _, after in changes)
    span = f"{units.size(CURVE[0])} to {units.size(CURVE[-1])}"
    return f"<p>Fastest from {span}: at first {escape(_name(changes[0][1]))}; {told}.</p>"


def crossovers(
    winners: Callable[[float], list[Rung]], unit: float, sizes: tuple[float, ...] = CURVE
) -> list[tuple[float, Rung, Rung]]:
    """Where the fastest algorithm changes along the message size: (size, before, after).

    Exact where both lines keep their segments; else bisected on the curves at the best P.

    Args:
        winners: the algorithms at a message size in bytes, fastest first.
        unit: alpha * BW in bytes.
        sizes: the message sizes to look between.
    """
    found = []
    for low, high in pairwise(sizes):
        while winners(low)[0].algorithm != winners(high)[0].algorithm:
            before = winners(low)[0]
            size = _turn(winners, before.algorithm, low, high, unit)
            after = winners(size * (1 + 1e-9))[0]
            found.append((size, before, after))
            low = size * (1 + 1e-9)
    return found


def _turn(winners: Callable[[float], list[Rung]], before: Algorithm, low: float, high: float, unit: float) -> float:
    after = winners(high)[0]
    exact = crossover(winners(low)[0].cost, after.cost)
    if exact is not None and not before.segmented and not after.algorithm.segmented:
        size = float(exact) * unit
        if winners(size * (1 - 1e-9))[0].algorithm == before:
            return size
    steps = 1 << 20
    ratio = high / low
    at = bisect_left(range(steps), True, key=lambda k: winners(low * ratio ** (k / steps))[0].algorithm != before)
    return low * float(ratio ** (at / steps))


def _told(lines_here: list[Rung], state: State, primitive: str) -> str:
    first = lines_here[0]
    price = {"message": state["m"], "alpha": state["alpha"], "bandwidth": state["bw"]}
    floor = lower_bound(primitive, state["n"]).seconds(**price)
    equal = [line for line in lines_here if isclose(line.seconds, first.seconds, rel_tol=1e-12)]
    names = " and ".join(filter(None, [", ".join(map(_name, equal[:-1])), _name(equal[-1])]))
    fastest = f"{names} {'is' if len(equal) == 1 else 'are equally'} fastest"
    told = (
        f"At N = {state['n']} and M = {units.size(state['m'])}, {fastest} with "
        f"{units.seconds(first.seconds * state['alpha'])}, "
        f"{first.seconds * state['alpha'] / floor:.2f} times the lower bounds' sum"
    )
    if len(equal) < len(lines_here):
        following = lines_here[len(equal)]
        told += f"; next is {_name(following)} with {units.seconds(following.seconds * state['alpha'])}"
    return told + "."
