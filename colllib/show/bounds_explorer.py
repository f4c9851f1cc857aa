"""The bounds explorer: how far every algorithm is from both lower bounds, under several port models."""

from fractions import Fraction
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from colllib.algorithms import Algorithm, of
from colllib.bounds import PortBound, bytes_in_fewest_steps, port_bound
from colllib.cost import Cost
from colllib.execution import execute
from colllib.ladder import PRIMITIVES
from colllib.metrics import one_way_cost, port_messages
from colllib.primitives import is_power_of_two
from colllib.show.control import Control, Part
from colllib.show.explorer import Explorer
from colllib.show.figure import BROAD, SLIM, Chart, legend_row
from colllib.show.lines import Curve, Frame, Mark, key, number, plot
from colllib.show.looks import BOUND, letters, looks
from colllib.show.table import Table
from colllib.show.views import in_prose, keys
from colllib.topology import star

SEGMENTS = (1, 4, 32)
BEYOND = 1.15  # times how far the bounds are drawn beyond where they cross
PORTS = {
    "one": "one full-duplex port",
    "one way": "one port, one way at a time",
    "four": "four full-duplex ports",
}


class Entered(NamedTuple):
    """An algorithm in so many segments: its cost, and how many messages one port has at once, at most."""

    name: str
    segments: int
    cost: Cost
    at_once: int

    @property
    def label(self) -> str:
        """The algorithm with its number of segments, if it is cut."""
        return self.name + (f" in {self.segments} segments" if self.segments > 1 else "")


@cache
def _counted(algorithm: Algorithm, segments: int, ranks: int, ports: str) -> tuple[Cost, int]:
    schedule = algorithm.build(ranks, **({"segments": segments} if algorithm.segmented else {}))
    if ports == "one way":
        pairs = (np.unique(np.stack((step.src, step.dst)), axis=1) for step in schedule.steps)
        return one_way_cost(schedule), max(int(np.bincount(ends.ravel()).max(initial=0)) for ends in pairs)
    count = 4 if ports == "four" else 1
    return execute(schedule, star(ranks, ports=count)).cost, -(-max(port_messages(schedule)) // count)


def entries(primitive: str, ranks: int, ports: str) -> list[Entered]:
    """Every algorithm that serves N ranks, executed: the pipelined ones in several numbers of segments."""
    return [
        Entered(algorithm.label, segments, *_counted(algorithm, segments, ranks, ports))
        for algorithm in of(primitive)
        if algorithm.fits(ranks)
        for segments in (SEGMENTS if algorithm.segmented else (1,))
    ]


def bounds_explorer() -> Explorer:
    """Primitive, N and port model against every algorithm's distance from both lower bounds.

    >>> bounds_explorer()
    Explorer: Bounds and algorithms (Primitive, Ranks N, A rank owns)
    """
    return Explorer(
        "Bounds and algorithms",
        [
            Control("primitive", "Primitive", PRIMITIVES, "all-reduce", "select"),
            Control("n", "Ranks N", (2, 3, 4, 6, 8, 12, 16, 64), 16),
            Control("ports", "A rank owns", PORTS, "one"),
        ],
        [
            Part(_plane, "Latencies against bytes"),
            Part(_table, "Distance from the bounds", fold="Every algorithm in numbers"),
        ],
        summary=_summary,
        note="Both axes are logarithmic. A dot is an algorithm, executed on a star in lock-step; a pipelined one has "
        f"a dot for each of {', '.join(map(str, SEGMENTS))} segments. The bounds hold without help from the switch, "
        "that of latencies for one message per port and step: with several at once a dot may be left of it. Through "
        "four ports every message goes in four parts, or four messages at once.",
        note_title="What is drawn here",
        name="bounds",
    )


def _bound(primitive: str, n: int, ports: str) -> PortBound:
    return port_bound(primitive, n, ports=4 if ports == "four" else 1, full_duplex=ports != "one way")


def _table(primitive: str, n: int, ports: str) -> Table:
    bound = _bound(primitive, n, ports)
    rows: list[tuple[object, ...]] = [("lower bounds", "", bound.n_alpha, "", str(bound.n_beta), "")]
    for name, segments, cost, at_once in entries(primitive, n, ports):
        over_alpha = _ratio(cost.n_alpha, bound.n_alpha) if at_once == 1 else f"{at_once} at once"
        over_beta = _ratio(cost.n_beta, bound.n_beta)
        rows.append((name, segments if segments > 1 else "", cost.n_alpha, over_alpha, str(cost.n_beta), over_beta))
    headers = ["algorithm", "P", "n_alpha", "over bound", "n_beta", "over bound"]
    return Table(headers, rows, f"Executed on {PORTS[ports]} per rank", align=("left", *["right"] * 5), lit=True)


def _ratio(count: float | Fraction, bound: float | Fraction) -> str:
    return f"{float(Fraction(count) / Fraction(bound)):.2f}"


def _plane(primitive: str, n: int, ports: str) -> Chart:
    """Every algorithm as dots that its number of segments joins, by its letters; the bounds as two lines."""
    bound = _bound(primitive, n, ports)
    points: dict[str, list[tuple[float, float]]] = {}
    for name, _, cost, _ in entries(primitive, n, ports):
        points.setdefault(name, []).append((float(cost.n_alpha), float(cost.n_beta)))
    curves = [
        Curve(name, letters(name, look), [x for x, _ in dots], [y for _, y in dots], look)
        for (name, dots), look in zip(points.items(), looks(list(points)), strict=True)
    ]
    left, low = float(bound.n_alpha), float(bound.n_beta)
    right = 1.2 * max(2 * left, *(x for curve in curves for x in curve.xs))
    top = 1.2 * max(2 * low, *(y for curve in curves for y in curve.ys))
    bounds = [
        Curve("fewest latencies", "", [left, left], [low / BEYOND, top], BOUND),
        Curve("fewest bytes", "", [left / BEYOND, right], [low, low], BOUND),
    ]
    starts: dict[tuple[float, float], list[Curve]] = {}
    for curve in curves:
        starts.setdefault((curve.xs[0], curve.ys[0]), []).append(curve)

    def draw(width: float) -> str:
        frame = Frame("latencies n_alpha", "bytes n_beta", 2, 2, number, number, True, width)
        marks = [
            Mark(x, ", ".join(curve.label for curve in alike), y, alike[0].look)
            for (x, y), alike in sorted(starts.items())
        ]
        words = "lower bounds: nothing is below, or left with one message per port at a time"
        legend = keys([(curve.name, curve.look) for curve in curves])
        return plot([*bounds, *curves], frame, marks=marks) + legend + legend_row([(key(bounds[0]), words)])

    alt = f"Latencies against bytes at N = {n}. {_summary(primitive, n, ports)}"
    return Chart(draw(SLIM), alt, broad=partial(draw, BROAD))


def _summary(primitive: str, n: int, ports: str) -> str:
    bound = _bound(primitive, n, ports)
    every = entries(primitive, n, ports)
    fewest = [one for one in every if one.cost.n_alpha <= bound.n_alpha]
    steps = [one.label for one in fewest if one.at_once == 1]
    crowded = [one.label for one in fewest if one.at_once > 1]
    load = [one.label for one in every if one.cost.n_beta == bound.n_beta]
    both = [label for label in steps if label in load]
    described = f"On {PORTS[ports]}, at N = {n}: "
    if both:
        described += f"{in_prose(both)} {'attains' if len(both) == 1 else 'attain'} both bounds of {primitive}"
    else:
        described += f"nothing here attains both bounds of {primitive}. That on latencies is met by "
        described += f"{in_prose(steps) or 'nothing'}, that on bytes by {in_prose(load) or 'nothing'}"
    if ports == "one" and is_power_of_two(n):
        price = bytes_in_fewest_steps(primitive, n)
        if price > bound.n_beta:
            described += f". No schedule meets both: {bound.n_alpha} steps cost n_beta = {price} at least"
    if crowded:
        described += f". In as few steps, but with several messages through a port at once: {in_prose(crowded)}"
    return described + "."
