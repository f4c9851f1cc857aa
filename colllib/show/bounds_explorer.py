"""The bounds explorer: how far every algorithm is from both lower bounds, under several port models."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np

from colllib.algorithms import Algorithm, of
from colllib.bounds import bytes_in_fewest_steps, port_bound
from colllib.cost import Cost
from colllib.execution import execute
from colllib.schedule import Schedule
from colllib.show.control import Control, Part, State
from colllib.show.explorer import Explorer
from colllib.show.figure import Chart
from colllib.show.lines import Mark, lines, number
from colllib.show.table import Align, Table
from colllib.topology import star

PRIMITIVE_NAMES = ("broadcast", "reduce", "all-reduce", "reduce-scatter", "all-gather", "all-to-all")
RANKS = (2, 3, 4, 6, 8, 12, 16, 64)
SEGMENTS = (1, 4, 32)
PORTS = {
    "one": "one full-duplex port",
    "one way": "one port, one way at a time",
    "four": "four full-duplex ports",
}


def one_way_cost(schedule: Schedule) -> Cost:
    """The lock-step cost where a port sends or receives, not both: its two loads add up.

    >>> from colllib.algorithms import allreduce
    >>> one_way_cost(allreduce.ring(4))
    Cost(n_alpha=6, n_beta=3)
    """
    share = schedule.blocks.share
    steps = total = 0
    for t in range(schedule.num_steps):
        step = schedule.step(t)
        if len(step.src):
            ends = np.concatenate((step.src, step.dst))
            load = np.bincount(ends, np.tile(share.numerators[step.block], 2))
            total += int(load.max())
            steps += 1
    return Cost(steps, Fraction(total, share.denominator))


@cache
def _costs(algorithm: Algorithm, segments: int, ranks: int) -> dict[str, Cost]:
    schedule = algorithm.build(ranks, **({"segments": segments} if algorithm.segmented else {}))
    return {
        "one": execute(schedule).cost,
        "one way": one_way_cost(schedule),
        "four": execute(schedule, star(ranks, ports=4)).cost,
    }


def entries(primitive: str, ranks: int, ports: str) -> list[tuple[str, Cost]]:
    """Every algorithm that serves N ranks, executed, the pipelined ones at several P.

    >>> [name for name, _ in entries("all-gather", 6, "one")]
    ['ring', 'Bruck', 'PAT']
    """
    found = []
    for algorithm in of(primitive):
        if algorithm.fits(ranks):
            for segments in SEGMENTS if algorithm.segmented else (1,):
                cut = f", P = {segments}" if algorithm.segmented and segments > 1 else ""
                found.append((algorithm.label + cut, _costs(algorithm, segments, ranks)[ports]))
    return found


def bounds_explorer() -> Explorer:
    """Primitive, N and port model against every algorithm's distance from both lower bounds.

    >>> bounds_explorer()
    Explorer: Bounds and algorithms (Primitive, Ranks N, What a rank owns)
    """
    return Explorer(
        "Bounds and algorithms",
        [
            Control("primitive", "Primitive", PRIMITIVE_NAMES, "all-reduce", "select"),
            Control("n", "Ranks N", RANKS, 16),
            Control("ports", "What a rank owns", PORTS, "one", "select"),
        ],
        [
            Part(_ALL, _plane, "Latencies against bytes"),
            Part((), lambda s: _NOTE),
            Part(_ALL, _table, "Distance from the bounds"),
        ],
        summary=Part(_ALL, _told),
    )


_ALL = ("primitive", "n", "ports")
_NOTE = (
    "<p>Both axes are logarithmic. A circle is an algorithm of the table, executed on a star in lock-step; it has "
    "a name unless another one is at least as good in both. The bounds hold for one message per port and step, "
    "without help from the switch.</p>"
)


def _bound(state: State) -> Cost:
    bound = port_bound(
        state["primitive"],
        state["n"],
        ports=4 if state["ports"] == "four" else 1,
        full_duplex=state["ports"] != "one way",
    )
    return Cost(bound.n_alpha, bound.n_beta)


def _ranked(state: State) -> list[tuple[str, Cost]]:
    bound = _bound(state)
    found = entries(state["primitive"], state["n"], state["ports"])
    return sorted(found, key=lambda e: (_over(e[1].n_alpha, bound.n_alpha) * _over(e[1].n_beta, bound.n_beta), e[0]))


def _over(value: Fraction | int, bound: Fraction | int) -> float:
    return float(Fraction(value) / Fraction(bound))


def _table(state: State) -> Table:
    bound = _bound(state)
    rows: list[tuple[object, ...]] = [("lower bounds", bound.n_alpha, "", str(bound.n_beta), "")]
    for name, cost in _ranked(state):
        over = (f"{_over(cost.n_alpha, bound.n_alpha):.2f}", f"{_over(cost.n_beta, bound.n_beta):.2f}")
        rows.append((name, cost.n_alpha, over[0], str(cost.n_beta), over[1]))
    headers = ["algorithm", "n_alpha", "over bound", "n_beta", "over bound"]
    align: tuple[Align, ...] = ("left", "right", "right", "right", "right")
    return Table(headers, rows, f"Executed on {PORTS[state['ports']]} per rank", align=align)


def _plane(state: State) -> Chart:
    bound = _bound(state)
    found = _ranked(state)
    ends = (max(float(c.n_alpha) for _, c in found), max(float(c.n_beta) for _, c in found))
    low = (float(bound.n_alpha), float(bound.n_beta))
    right, top = max(ends[0], low[0] * 2) * 1.2, max(ends[1], low[1] * 2) * 1.2
    # the cheapest in bytes for every number of steps: what no other algorithm of the table beats in both
    best, stairs = [], float("inf")
    for _, cost in sorted(found, key=lambda e: (e[1].n_alpha, e[1].n_beta)):
        if float(cost.n_beta) < stairs:
            stairs = float(cost.n_beta)
            best.append((float(cost.n_alpha), stairs))
    others = sorted({(float(c.n_alpha), float(c.n_beta)) for _, c in found} - set(best))
    series = {
        "the two bounds": ([low[0], low[0], right], [top, low[1], low[1]]),
        "beaten by none in both": ([a for a, _ in best], [b for _, b in best]),
    }
    marks = [Mark(a, _named(found, a, b), b) for a, b in best]
    alt = f"Latencies against bytes at N = {state['n']}. {_told(state)}"
    return lines(
        series,
        x_label="latencies n_alpha",
        y_label="bytes n_beta",
        log_x=2,
        log_y=2,
        x_format=number,
        y_format=number,
        marks=marks + [Mark(a, "", b) for a, b in others],
        title=f"{state['primitive'][0].upper()}{state['primitive'][1:]} on {state['n']} ranks",
        alt=alt,
    )


def _named(found: list[tuple[str, Cost]], a: float, b: float) -> str:
    names = [name for name, c in found if (float(c.n_alpha), float(c.n_beta)) == (a, b)]
    return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")


def _told(state: State) -> str:
    bound, n, name = _bound(state), state["n"], state["primitive"]
    found = _ranked(state)
    steps = [label for label, cost in found if cost.n_alpha == bound.n_alpha]
    load = [label for label, cost in found if cost.n_beta == bound.n_beta]
    both = [label for label in steps if label in load]
    told = f"On {PORTS[state['ports']]}, at N = {n}: "
    if both:
        told += f"{_and(both)} {'attains' if len(both) == 1 else 'attain'} both bounds of {name}"
    else:
        told += f"nothing here attains both bounds of {name}; "
        told += f"fewest latencies: {_and(steps) or 'nobody'}; fewest bytes: {_and(load) or 'nobody'}"
    if state["ports"] == "one" and not n & (n - 1):
        price = bytes_in_fewest_steps(name, n)
        if price > bound.n_beta:
            told += f". No schedule can: {bound.n_alpha} steps cost n_beta = {price} at least"
    return told + "."


def _and(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
