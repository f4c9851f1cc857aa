"""Line charts as small hand-written SVG: fast enough to draw one for each state of an explorer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from colllib.show.figure import Chart
from colllib.show.theme import SERIES, color, escape

Points = tuple[Sequence[float], Sequence[float]]
Format = Callable[[float], str]

WIDTH, HEIGHT = 380.0, 250.0
TOP, RIGHT, BOTTOM = 29.0, 14.0, 42.0
DASHES = ("", "7 3", "2 2.5", "8 3 2 3", "12 3", "4 2", "10 2 2 2 2 2", "1 4")
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Mark:
    """Something to point out: a place on the x axis, or with `y` a point."""

    x: float
    label: str
    y: float | None = None


def number(value: float) -> str:
    """A number for an axis: plain where that is short, else with a power of ten.

    >>> [number(v) for v in (0, 0.5, 512, 4096, 1e-6, 2e9)]
    ['0', '0.5', '512', '4,096', '10⁻⁶', '2×10⁹']
    """
    if value == 0 or 1e-2 <= abs(value) < 1e6:
        return f"{value:,.6g}"
    mantissa, exponent = f"{value:.2e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".")
    power = "10" + str(int(exponent)).translate(_SUPERSCRIPT)
    return power if mantissa == "1" else f"{mantissa}×{power}"


@dataclass(frozen=True)
class _Axis:
    """Maps values to positions; `base` is 0 for a linear axis."""

    low: float
    high: float
    base: int
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        if self.base:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.stop - self.start)

    def ticks(self, most: int) -> list[float]:
        """Round values within the axis, at most about `most` of them."""
        if not self.base:
            return _linear_ticks(self.low, self.high, most)
        first = math.ceil(math.log(self.low, self.base) - 1e-9)
        last = math.floor(math.log(self.high, self.base) + 1e-9)
        step = max(1, math.ceil((last - first + 1) / most))
        found = [float(self.base) ** k for k in range(first, last + 1, step)]
        if self.base == 10 and last - first < 2:
            fine = [m * 10.0**k for k in range(first - 1, last + 1) for m in (1, 2, 5)]
            found = [v for v in fine if self.low * (1 - 1e-9) <= v <= self.high * (1 + 1e-9)]
        return found if len(found) > 1 else [self.low, self.high]


def _linear_ticks(low: float, high: float, most: int) -> list[float]:
    raw = (high - low) / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def _check(series: Mapping[str, Points], log_x: int, log_y: int) -> None:
    if not 1 <= len(series) <= len(SERIES):
        raise ValueError(f"lines draws 1 to {len(SERIES)} series, not {len(series)}")
    for label, (xs, ys) in series.items():
        if len(xs) != len(ys) or not len(xs):
            raise ValueError(f"series {label!r} has {len(xs)} x and {len(ys)} y values; give as many of both")
        for axis, log, values in (("x", log_x, xs), ("y", log_y, ys)):
            for value in values:
                if not math.isfinite(value) or (log and value <= 0):
                    needed = "positive on a logarithmic axis" if log else "finite"
                    raise ValueError(f"series {label!r} has {axis} = {value!r}; it must be {needed}")


def _span(values: Sequence[float], base: int, from_zero: bool) -> tuple[float, float]:
    low, high = float(min(values)), float(max(values))
    if base:
        return (low, high) if high > low else (low / base, high * base)
    if from_zero:
        low, high = min(low, 0.0), max(high, 0.0)
    return (low, high) if high > low else (low - 1, high + 1)


def describe(series: Mapping[str, Points], x_label: str, y_label: str, x_format: Format, y_format: Format) -> str:
    """The alt text: what is drawn, and who is lowest and highest at both ends."""
    told = [f"Line chart of {y_label} against {x_label} for {', '.join(series)}."]
    ends = {
        "At": max(min(xs) for xs, _ in series.values()),
        "at": min(max(xs) for xs, _ in series.values()),
    }
    for word, x in ends.items():
        there = sorted((float(ys[list(xs).index(x)]), label) for label, (xs, ys) in series.items() if x in xs)
        if not there:
            continue
        text = f"{word.capitalize()} {x_format(x)}: {there[0][1]} {y_format(there[0][0])}"
        if len(there) > 1:
            text += f" (lowest) to {there[-1][1]} {y_format(there[-1][0])} (highest)"
        told.append(text + ".")
    return " ".join(told)


def _text(x: float, y: float, anchor: str, text: str, extra: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{escape(text)}</text>'


def _grid(x: _Axis, y: _Axis, x_format: Format, y_format: Format) -> str:
    out = []
    for value in y.ticks(5):
        at = y(value)
        out.append(f'<path d="M{x.start:.1f} {at:.1f}H{x.stop:.1f}" stroke="var(--cl-line,#c3c9d0)"/>')
        out.append(_text(x.start - 6, at + 4, "end", y_format(value)))
    for value in x.ticks(5):
        at = x(value)
        out.append(f'<path d="M{at:.1f} {y.start:.1f}v4" stroke="currentColor"/>')
        label = x_format(value)
        out.append(_text(min(at, WIDTH - 3.4 * len(label)), y.start + 17, "middle", label))
    out.append(f'<path d="M{x.start:.1f} {y.start:.1f}H{x.stop:.1f}" stroke="currentColor"/>')
    return "".join(out)


def _mark(mark: Mark, x: _Axis, y: _Axis) -> str:
    at = x(mark.x)
    anchor, shift = ("end", -5) if at > x.start + 0.35 * (x.stop - x.start) else ("start", 5)
    halo = ' paint-order="stroke" stroke="var(--cl-bg,#fff)" stroke-width="3"'
    if mark.y is None:
        rule = f'<path d="M{at:.1f} {y.start:.1f}V{y.stop:.1f}" stroke="currentColor" stroke-dasharray="3 3"/>'
        return rule + _text(at + shift, y.stop + 9, anchor, mark.label, halo)
    up = y(mark.y)
    dot = (
        f'<circle cx="{at:.1f}" cy="{up:.1f}" r="4.5" fill="var(--cl-bg,#fff)" stroke="currentColor" stroke-width="2"/>'
    )
    return dot + _text(at + shift * 1.6, up - 7, anchor, mark.label, halo)


def _curve(k: int, xs: Sequence[float], ys: Sequence[float], x: _Axis, y: _Axis, dots: bool) -> str:
    places = [f"{x(a):.1f} {y(b):.1f}" for a, b in zip(xs, ys, strict=True)]
    dash = f' stroke-dasharray="{DASHES[k]}"' if DASHES[k] else ""
    out = f'<path d="M{"L".join(places)}" style="stroke:{color(k)}" stroke-width="2"{dash}/>'
    if dots:
        rings = "".join(f"M{place}m-2.6 0a2.6 2.6 0 1 0 5.2 0a2.6 2.6 0 1 0-5.2 0" for place in places)
        out += f'<path d="{rings}" style="fill:{color(k)}"/>'
    return out


def _legend(labels: Sequence[str]) -> str:
    keys = []
    for k, label in enumerate(labels):
        dash = f' stroke-dasharray="{DASHES[k]}"' if DASHES[k] else ""
        keys.append(
            f'<span><svg width="30" height="10" fill="none"><path d="M0 5H30" style="stroke:{color(k)}" '
            f'stroke-width="2.5"{dash}/></svg>{escape(label)}</span>'
        )
    return f'<div class="cl-legend">{"".join(keys)}</div>'


def lines(
    series: Mapping[str, Points],
    *,
    x_label: str,
    y_label: str,
    log_x: int = 0,
    log_y: int = 0,
    x_format: Format = number,
    y_format: Format = number,
    y_from_zero: bool = True,
    marks: Sequence[Mark] = (),
    title: str = "",
    alt: str | None = None,
) -> Chart:
    """Draw each series ``label: (xs, ys)`` with a color and a line style of its own.

    `log_x` and `log_y` are the base of a logarithmic axis (True means 10), 0 for a linear one.

    >>> lines({"ring": ([4, 8], [6, 14]), "tree": ([4, 8], [4, 6])},
    ...       x_label="ranks N", y_label="steps", log_x=2, marks=[Mark(8, "N = 8")])
    Line chart of steps against ranks N for ring, tree. At 4: tree 4 (lowest) to ring 6 (highest). \
At 8: tree 6 (lowest) to ring 14 (highest).
    """
    base_x, base_y = (10 if log is True else int(log) for log in (log_x, log_y))
    for base in (base_x, base_y):
        if base < 0 or base == 1:
            raise ValueError(f"the base of a logarithmic axis must be 2 or more, not {base}")
    _check(series, base_x, base_y)
    for mark in marks:
        for axis, base, value in (("x", base_x, mark.x), ("y", base_y, mark.y)):
            if value is not None and base and value <= 0:
                raise ValueError(
                    f"mark {mark.label!r} has {axis} = {value!r}; it must be positive on a logarithmic axis"
                )
    all_x = [v for xs, _ in series.values() for v in xs] + [mark.x for mark in marks]
    all_y = [v for _, ys in series.values() for v in ys] + [m.y for m in marks if m.y is not None]
    low, high = _span(all_y, base_y, y_from_zero)
    y = _Axis(low, high, base_y, HEIGHT - BOTTOM, TOP)
    left = 12 + 6.8 * max(len(y_format(value)) for value in y.ticks(5))
    x = _Axis(*_span(all_x, base_x, False), base_x, left, WIDTH - RIGHT)
    curves = [_curve(k, xs, ys, x, y, dots=len(xs) <= 16) for k, (xs, ys) in enumerate(series.values())]
    body = (
        f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" font-size="12" aria-hidden="true">'
        f"{_grid(x, y, x_format, y_format)}"
        f'<g fill="none" stroke-linejoin="round">{"".join(curves)}</g>'
        f"{''.join(_mark(mark, x, y) for mark in marks)}"
        f"{_text(2, 13, 'start', y_label)}"
        f"{_text((x.start + x.stop) / 2, HEIGHT - 6, 'middle', x_label)}</svg>"
    )
    if alt is None:
        alt = describe(series, x_label, y_label, x_format, y_format)
    return Chart(_legend(list(series)) + body, alt, title)
