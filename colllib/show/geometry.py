"""Where things are in a picture, and the lines between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import cos, dist, hypot, inf, pi, sin

Point = tuple[float, float]


def num(value: float | Fraction, decimals: int = 1) -> str:
    """A number, such as a coordinate to a tenth of a pixel, with as many decimals as it needs.

    >>> num(12.04), num(-0.01), num(7.25), num(Fraction(1, 3), 2)
    ('12', '0', '7.2', '0.33')
    """
    text = f"{float(value):.{decimals}f}"
    if decimals:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


@dataclass(frozen=True)
class Box:
    """The room that a node takes: its middle and its size."""

    x: float
    y: float
    width: float
    height: float
    round: bool = False

    def edge(self, towards: Point, gap: float = 3.0) -> Point:
        """Where a line from its middle leaves it, `gap` outside of its border."""
        dx, dy = towards[0] - self.x, towards[1] - self.y
        if self.round:
            share = (self.width / 2 + gap) / (hypot(dx, dy) or 1.0)
        else:
            across = (self.width / 2 + gap) / abs(dx) if dx else inf
            upright = (self.height / 2 + gap) / abs(dy) if dy else inf
            share = min(across, upright)
        return (self.x + share * dx, self.y + share * dy) if share < inf else (self.x, self.y)

    def meets(self, other: Box, gap: float = 0.0) -> bool:
        """Whether the two come nearer than `gap`."""
        return (
            abs(self.x - other.x) < (self.width + other.width) / 2 + gap
            and abs(self.y - other.y) < (self.height + other.height) / 2 + gap
        )


def ends(boxes: Sequence[Box]) -> tuple[float, float, float, float]:
    """The left, right, upper and lower end of some boxes."""
    xs = [box.x + side * box.width / 2 for box in boxes for side in (-1, 1)]
    ys = [box.y + side * box.height / 2 for box in boxes for side in (-1, 1)]
    return min(xs), max(xs), min(ys), max(ys)


def on_circle(count: int, radius: float) -> list[Point]:
    """Points round the origin, clockwise, the first on top.

    >>> [(round(x), round(y)) for x, y in on_circle(4, 60.0)]
    [(0, -60), (60, 0), (0, 60), (-60, 0)]
    """
    turns = [2 * pi * k / count for k in range(count)]
    return [(radius * sin(turn), -radius * cos(turn)) for turn in turns]


@dataclass(frozen=True)
class Track:
    """A line through a picture that an arrow shows and a message takes.

    Attributes:
        d: the line as SVG has it.
        runs: points along it, one after another; a second run where it leaves the picture and comes back elsewhere.
    """

    d: str
    runs: tuple[tuple[Point, ...], ...]

    @property
    def points(self) -> tuple[Point, ...]:
        """All points."""
        return tuple(point for run in self.runs for point in run)

    @cached_property
    def length(self) -> float:
        """How long it is."""
        return sum(dist(*pair) for run in self.runs for pair in pairwise(run))

    def at(self, share: float) -> Point:
        """The point at a share of its length, as ``offset-distance`` counts it."""
        left = share * self.length
        for run in self.runs:
            for a, b in pairwise(run):
                length = dist(a, b)
                if left <= length and length:
                    return a[0] + (b[0] - a[0]) * left / length, a[1] + (b[1] - a[1]) * left / length
                left -= length
        return self.runs[-1][-1]

    def pointed(self, long: float) -> str:
        """The triangle at its end, so many pixels long."""
        *_, x0, y0, x, y = map(float, re.findall(r"-?[\d.]+", self.d))
        length = hypot(x - x0, y - y0) or 1.0
        ux, uy = (x - x0) / length, (y - y0) / length
        half = 4 / 7.5 * long
        left, right = ((x - long * ux + side * half * uy, y - long * uy - side * half * ux) for side in (1, -1))
        return f"M{num(x)} {num(y)}L{num(left[0])} {num(left[1])}L{num(right[0])} {num(right[1])}z"


def bow(start: Point, end: Point, bend: float = 0.0) -> Track:
    """A straight line, or one that is bent to its left by so many pixels, as a quadratic Bézier curve."""
    if not bend:
        return Track(f"M{_place(start)}L{_place(end)}", ((start, end),))
    (x, y), (u, v), (cx, cy) = start, end, _aim(start, end, bend)
    points = tuple(
        ((1 - s) ** 2 * x + 2 * s * (1 - s) * cx + s * s * u, (1 - s) ** 2 * y + 2 * s * (1 - s) * cy + s * s * v)
        for s in (k / 16 for k in range(17))
    )
    return Track(f"M{_place(start)}Q{_place((cx, cy))} {_place(end)}", (points,))


def _aim(start: Point, end: Point, bend: float) -> Point:
    """Where a bent line between two points heads for at both of its ends."""
    (x, y), (u, v) = start, end
    length = hypot(u - x, v - y) or 1.0
    return (x + u) / 2 + 2 * bend * (v - y) / length, (y + v) / 2 - 2 * bend * (u - x) / length


def _place(point: Point) -> str:
    return f"{point[0]:.0f} {point[1]:.0f}"


def between(a: Box, b: Box, bend: float = 0.0) -> Track:
    """An arrow from one node to another, bent to its left, so that the two between a pair stay apart."""
    aim = _aim((a.x, a.y), (b.x, b.y), bend)
    return bow(a.edge(aim), b.edge(aim), bend)


def lane(a: Box, b: Box, apart: float = 5.0) -> Track:
    """A straight arrow that keeps to the right of the middle, like traffic."""
    start, end = a.edge((b.x, b.y)), b.edge((a.x, a.y))
    length = hypot(b.x - a.x, b.y - a.y) or 1.0
    dx, dy = -apart * (b.y - a.y) / length, apart * (b.x - a.x) / length
    return bow((start[0] + dx, start[1] + dy), (end[0] + dx, end[1] + dy))


def jump(out: Sequence[Point], back: Sequence[Point]) -> Track:
    """A line that leaves the picture at one place and comes back at another."""
    parts = ["M" + "L".join(map(_place, points)) for points in (out, back)]
    return Track("".join(parts), (tuple(out), tuple(back)))
