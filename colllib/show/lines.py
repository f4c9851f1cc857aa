"""Line charts as small hand-written SVG: fast enough to draw one for each state of an explorer.

``static/draw.js`` has the same `plot`, for charts that a page draws itself.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from math import floor

from colllib.show.figure import BROAD, SLIM, Chart, legend_row
from colllib.show.looks import Look, letters, looks
from colllib.show.theme import SERIES, escape, typeset_svg

Points = tuple[Sequence[float], Sequence[float]]
Format = Callable[[float], str]
Place = tuple[float, float]

HEIGHT = 250.0
TOP, RIGHT, BOTTOM = 29.0, 14.0, 42.0
LETTER, LARGE = 6.6, 7.8  # a wide letter of 12 px, and of 13.5 px, the type of a phone; a percent sign is two wide
ROOM = 0.07  # of a logarithmic axis, below the lowest curve
DECADE = 24  # the least room for values between powers of ten
AT_ENDS = 0.25  # of the width for a label beside the curves
FAR = 25  # between a label and the end of its curve
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_ON_COLOR = ' style="fill:var(--cl-bg,#fff)"'
HALO = ' paint-order="stroke" stroke="var(--cl-bg,#fff)" stroke-width="3"'


@dataclass(frozen=True)
class Mark:
    """Something to point out: a place on the x axis, or with `y` a point, in black or in a series' color; its label
    stands where it crosses least."""

    x: float
    label: str
    y: float | None = None
    look: Look | None = None


@dataclass(frozen=True)
class Curve:
    """A series as it is drawn: its name and its end's label, points, look, value at the rule, a band around it,
    whether each point has a dot of its own, which a style finds by its x as ``data-at``, and whether a line joins
    them."""

    name: str
    label: str
    xs: Sequence[float]
    ys: Sequence[float]
    look: Look
    at_rule: float | None = None
    band: Points | None = None
    dots: bool = False
    joined: bool = True

    @property
    def dot(self) -> str:
        """How a dot of its own is drawn where no line joins them: hollow, if a line would be dashed."""
        inside = "var(--cl-bg,#fff)" if self.look.dash else self.look.color
        return f"fill:{inside};stroke:{self.look.color};stroke-width:1.5"


@dataclass(frozen=True)
class Frame:
    """Axes: labels, the base of a logarithmic one (0 for linear), formats, and the size of it all."""

    x_label: str
    y_label: str
    log_x: int
    log_y: int
    x_format: Format
    y_format: Format
    y_from_zero: bool = True
    width: float = SLIM
    height: float = HEIGHT

    @property
    def letter(self) -> float:
        """How wide a letter is: theme.css has larger ones where the picture is slim."""
        return LARGE if self.width == SLIM else LETTER


@dataclass(frozen=True)
class Rule:
    """Where the reader is on the x axis, what stands there, and a strip below that says who is first from where on."""

    x: float
    label: str
    strip: Sequence[tuple[float, str, Look]] = ()


def number(value: float) -> str:
    """A number for an axis: plain where that is short, else with a power of ten.

    >>> [number(v) for v in (0, 0.5, 512, 4096, 1e-6, 2e9)]
    ['0', '0.5', '512', '4,096', '10⁻⁶', '2×10⁹']
    """
    if value == 0 or 1e-2 <= abs(float(f"{value:.6g}")) < 1e6:
        return f"{value:,.6g}"
    mantissa, exponent = f"{value:.2e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".")
    power = "10" + str(int(exponent)).translate(_SUPERSCRIPT)
    return power if mantissa == "1" else f"{mantissa}×{power}"


@dataclass(frozen=True)
class Axis:
    """Maps values to positions; `base` is 0 for a linear axis; on one of `whole` numbers no tick is between two."""

    low: float
    high: float
    base: int
    start: float
    stop: float
    whole: bool = False

    def __call__(self, value: float) -> float:
        if self.base:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.stop - self.start)

    def ticks(self, most: int) -> list[float]:
        """Round values within the axis, at most about `most`; of several powers of a base the highest is one."""
        if not self.base:
            return linear_ticks(self.low, self.high, most, self.whole)
        first = math.ceil(math.log(self.low, self.base) - 1e-9)
        last = floor(math.log(self.high, self.base) + 1e-9)
        step = max(1, min(last - first, math.ceil((last - first + 1) / most)))
        step = next((wide for wide in range(step, 2 * step) if (last - first) % wide == 0), step)  # to both ends
        ticks = [float(self.base) ** k for k in range(first + (last - first) % step, last + 1, step)]
        if self.base == 10 and last - first < 2:
            fine = [m * 10.0**k for k in range(first - 1, last + 1) for m in (1, 2, 5)]
            ticks = [v for v in fine if self.low * (1 - 1e-9) <= v <= self.high * (1 + 1e-9)]
        return ticks if len(ticks) > 1 or step > 1 else linear_ticks(self.low, self.high, most, self.whole)

    def between(self) -> list[float]:
        """Where the values between powers of ten are, if the axis is logarithmic and has room for them."""
        if self.base != 10 or abs(self.stop - self.start) < DECADE * math.log10(self.high / self.low):
            return []
        powers = range(floor(math.log10(self.low)), math.ceil(math.log10(self.high)))
        values = (m * 10.0**k for k in powers for m in range(2, 10))
        return [self(value) for value in values if self.low <= value <= self.high]


def linear_ticks(low: float, high: float, most: int, whole: bool = False) -> list[float]:
    """Round values between two, at most about `most` of them."""
    step = _tick_step(low, high, most, whole)
    first, last = math.ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def _tick_step(low: float, high: float, most: int, whole: bool = False) -> float:
    raw = max((high - low) / most, whole)
    power = 10.0 ** floor(math.log10(raw))
    steps = (m * power for m in (1, 2, 2.5, 5, 10) if not whole or m * power % 1 == 0)
    return next(step for step in steps if step >= raw * (1 - 1e-9))


def _check(
    series: Mapping[str, Points], bands: Mapping[str, Points], marks: Sequence[Mark], bases: tuple[int, int]
) -> None:
    """Refuse what cannot be drawn, by the name of the series, the edge of a band or the mark."""
    if not 1 <= len(series) <= len(SERIES):
        raise ValueError(f"lines draws 1 to {len(SERIES)} series, not {len(series)}")
    for base in bases:
        if base < 0 or base == 1:
            raise ValueError(f"the base of a logarithmic axis must be 2 or more, not {base}")
    curves = {f"series {name!r}": points for name, points in series.items()}
    for k, edge in enumerate(("low", "high")):
        curves |= {f"series '{edge} of {name}'": (series[name][0], band[k]) for name, band in bands.items()}
    for name, (xs, ys) in curves.items():
        if len(xs) != len(ys) or not len(xs):
            raise ValueError(f"{name} has {len(xs)} x and {len(ys)} y values; give as many of both")
    curves |= {f"mark {mark.label!r}": ([mark.x], [] if mark.y is None else [mark.y]) for mark in marks}
    for name, points in curves.items():
        for axis, base, values in zip("xy", bases, points, strict=True):
            for value in values:
                if not math.isfinite(value) or (base and value <= 0):
                    needed = "positive on a logarithmic axis" if base else "finite"
                    raise ValueError(f"{name} has {axis} = {value!r}; it must be {needed}")


def _span(values: Sequence[float], base: int, from_zero: bool) -> tuple[float, float]:
    low, high = float(min(values)), float(max(values))
    if base:
        return (low, high) if high > low else (low / base, high * base)
    if from_zero:
        low, high = min(low, 0.0), max(high, 0.0)
    return (low, high) if high > low else (0.0, 2 * high) if high > 0 else (low - 1 + from_zero, high + 1)


FEW = 4  # curves whose values the alt text names one by one


def _described(series: Mapping[str, Points], frame: Frame, kind: str) -> str:
    """The values at both ends, where a curve turns round, and from where on which is lowest."""

    def at(value: float, axis_format: Format) -> str:
        return axis_format(value if value == round(value) else float(f"{value:.4g}"))

    def joined(items: Iterable[str]) -> str:
        return ("; " if any("," in label for label in series) else ", ").join(items)

    described = [f"{kind} of {frame.y_label} against {frame.x_label} for {joined(series)}."]
    ends = (max(min(xs) for xs, _ in series.values()), min(max(xs) for xs, _ in series.values()))
    for x in ends:
        ranked = sorted((float(ys[list(xs).index(x)]), label) for label, (xs, ys) in series.items() if x in xs)
        values = [f"{label} {at(y, frame.y_format)}" for y, label in ranked]
        if len(values) > FEW:
            values = [f"{values[0]} (lowest) to {values[-1]} (highest)"]
        if values:
            described.append(f"At {at(x, frame.x_format)}: {joined(values)}.")
    for label, (xs, ys) in series.items():
        for word, y, beyond in (("lowest", min(ys), min(ys[0], ys[-1])), ("highest", max(ys), max(ys[0], ys[-1]))):
            if abs(y - beyond) > 0.02 * abs(beyond):
                x = xs[list(ys).index(y)]
                described.append(f"{label} is {word} at {at(x, frame.x_format)}: {at(float(y), frame.y_format)}.")
    leads = _leads(series)
    if 1 < len(leads) <= FEW:
        described.append(f"Lowest: {joined(f'from {at(x, frame.x_format)} {label}' for x, label in leads)}.")
    return " ".join(described)


def _leads(series: Mapping[str, Points]) -> list[tuple[float, str]]:
    """From which x on which curve is lowest; nothing where the curves have points at different x."""
    places = [list(xs) for xs, _ in series.values()]
    if any(xs != places[0] for xs in places):
        return []
    leads: list[tuple[float, str]] = []
    for k, x in enumerate(places[0]):
        lowest = min(series, key=lambda label: list(series[label][1][k:]))  # of equals the one that is lower later
        if not leads or series[leads[-1][1]][1][k] > series[lowest][1][k]:
            leads.append((x, lowest))
    return leads


def px(value: float) -> str:
    """A coordinate to a tenth, as the page's script writes it.

    >>> px(12.25), px(3.0)
    ('12.3', '3')
    """
    return f"{floor(value * 10 + 0.5) / 10:.10g}"


def text(x: float, y: float, anchor: str, words: str, extra: str = "") -> str:
    """A label in an SVG."""
    return f'<text x="{px(x)}" y="{px(y)}" text-anchor="{anchor}"{extra}>{typeset_svg(words)}</text>'


def _grid(x: Axis, y: Axis, frame: Frame, strip: float) -> str:
    out = []
    for value in y.ticks(5):
        up = y(value)
        out.append(f'<path d="M{px(x.start)} {px(up)}H{px(x.stop)}" stroke="var(--cl-line,#c3c9d0)"/>')
        out.append(text(x.start - 6, min(up + 4, y.start + 4 - strip / 2), "end", frame.y_format(value)))
    for value in x.ticks(min(7, floor((x.stop - x.start) / 62))):
        across, label = x(value), frame.x_format(value)
        inside = min(across, frame.width - frame.letter / 2 * len(label))
        out.append(f'<path d="M{px(across)} {px(y.start)}v{px(4 + strip)}" stroke="currentColor"/>')
        out.append(text(inside, y.start + 17 + strip, "middle", label))
    fine = "".join(f"M{px(at)} {px(y.start)}v3" for at in x.between() if not strip)
    fine += "".join(f"M{px(x.start)} {px(at)}h-3" for at in y.between())
    out.append(f'<path d="{fine}M{px(x.start)} {px(y.start)}H{px(x.stop)}" stroke="currentColor"/>')
    cut = "" if y.base or y.low <= 0 else f", axis from {frame.y_format(y.low)}"
    if cut:
        out.append(f'<path d="M{px(x.start - 4)} {px(y.start - 3)}l8 -4m-8 8l8 -4" stroke="currentColor"/>')
    x_scale, y_scale = (", log scale" if axis.base else "" for axis in (x, y))
    out.append(text(2, 13, "start", frame.y_label + y_scale + cut))
    out.append(text((x.start + x.stop) / 2, frame.height - 6, "middle", frame.x_label + x_scale))
    return "".join(out)


def _crossed(line: Sequence[Place], box: Sequence[float]) -> float:
    """How much of a line is within a box of left, top, right and bottom."""
    length = 0.0
    for one, other in pairwise(line):
        enters, leaves = 0.0, 1.0
        for k in (0, 1):
            run = other[k] - one[k] or 1e-9
            first, last = sorted(((box[k] - one[k]) / run, (box[k + 2] - one[k]) / run))
            enters, leaves = max(enters, first), min(leaves, last)
        length += max(0.0, leaves - enters) * math.dist(one, other)
    return length


def _corner(mark: Mark, x: Axis, y: Axis, lines: list[list[Place]], wide: float, right: float) -> str:
    """The label of a mark, that wide, in the corner where it crosses least of the lines; they get its edges, too."""
    at = x(mark.x)
    places, shift = ((y.stop + 9, y.start - 6), 5) if mark.y is None else ((y(mark.y) - 7, y(mark.y) + 18), 8)
    sides = ("start", "end") if at <= x.start + 0.35 * (x.stop - x.start) else ("end", "start")
    least, best, edges = math.inf, "", [(0.0, 0.0)]
    for up, anchor in product(places, sides):
        left = at + shift if anchor == "start" else at - shift - wide
        box = (left, up - 10, left + wide, up + 3)
        outside = left < x.start or box[2] > right or up < y.stop + 5 or up > y.start
        if (trouble := floor(1000 * outside + sum(_crossed(line, box) for line in lines) + 0.5)) < least:
            least, edges = trouble, [(left, up - 9), (box[2], up - 9), (box[2], up), (left, up)]
            best = text(at + (shift if anchor == "start" else -shift), up, anchor, mark.label, HALO)
    lines.append(edges)
    return best


def _obstacles(
    curves: Sequence[Curve], marks: Sequence[Mark], rule: Rule | None, x: Axis, y: Axis
) -> list[list[Place]]:
    """The lines and dots that labels of marks should not cross."""
    upright = [*([rule.x] if rule else []), *(mark.x for mark in marks if mark.y is None)]
    lines = [[(x(value), y.start), (x(value), y.stop)] for value in upright]
    dots = [(x(mark.x), y(mark.y)) for mark in marks if mark.y is not None]
    for curve in curves:
        for ys in (curve.ys, *(curve.band or ())):
            line = [(x(a), y(b)) for a, b in zip(curve.xs, ys, strict=True)]
            lines, dots = ([*lines, line], dots) if curve.joined else (lines, dots + line)
    return lines + [[(across - 4, up), (across + 4, up)] for across, up in dots]


def _mark(mark: Mark, x: Axis, y: Axis) -> str:
    """A mark without its label."""
    at = px(x(mark.x))
    if mark.y is None:
        return f'<path d="M{at} {px(y.start)}V{px(y.stop)}" stroke="currentColor" stroke-dasharray="3 3"/>'
    hue = mark.look.color if mark.look else "currentColor"
    look = f'fill="var(--cl-bg,#fff)" style="stroke:{hue}" stroke-width="2"'
    return f'<circle cx="{at}" cy="{px(y(mark.y))}" r="4.5" {look}/>'


def spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places spread to a gap at least, in their order, none above high, and none below low if all have room.

    >>> spread([50, 51, 10], 12, 0, 60)
    [48, 60, 10]
    """
    order = sorted(range(len(places)), key=lambda k: (places[k], k))
    apart = list(places)
    for farther, edge, step in ((max, low, gap), (min, high, -gap)):
        for k in order:
            apart[k] = farther(apart[k], edge)
            edge = apart[k] + step
        order.reverse()
    return apart


def _curve(curve: Curve, x: Axis, y: Axis, end: float | None, rule: Rule | None) -> str:
    """The line, dots on few points, a wide line to point at, a dot at the rule, and the label, which is joined to that
    dot or to the end of the line."""

    def along(ys: Sequence[float]) -> list[str]:
        return [f"{px(x(a))} {px(y(b))}" for a, b in zip(curve.xs, ys, strict=True)]

    places, hue = along(curve.ys), curve.look.color
    at = f"{px(x(rule.x))} {px(y(curve.at_rule))}" if rule and curve.at_rule is not None else None
    out = ""
    if curve.joined:
        out = f'<path d="M{"L".join(places)}" style="stroke:{hue}" stroke-width="2"{curve.look.dashes}/>'
    if curve.band is not None:
        low, high = map(along, curve.band)
        out = f'<path d="M{"L".join(low + high[::-1])}z" style="fill:{hue}" opacity=".2"/>{out}'
    if curve.dots or not curve.joined:
        radius, drawn = (2.6, f"fill:{hue}") if curve.joined else (3.5, curve.dot)
        for value, place in zip(curve.xs, map(str.split, places), strict=True):
            out += '<circle data-at="{}" cx="{}" cy="{}" r="{}" style="{}"/>'.format(value, *place, radius, drawn)
    elif len(places) <= 16 and len(places) != 2:  # two are the ends of a straight line
        rings = "".join(f"M{place}m-2.6 0a2.6 2.6 0 1 0 5.2 0a2.6 2.6 0 1 0-5.2 0" for place in places)
        out += f'<path d="{rings}" style="fill:{hue}"/>'
    if end is not None:
        start = places[-1] if at is None else at
        out += f'<path d="M{start}H{px(x.stop)}L{px(x.stop + 9)} {px(end)}" style="stroke:{hue}" opacity=".4"/>'
        out += text(x.stop + 12, end + 4, "start", curve.label, f' style="fill:{hue}" stroke="none"')
    if at is not None:
        out += f'<path d="M{"L".join(places[::4])}" stroke="transparent" stroke-width="11"/>'
        out += '<circle cx="{}" cy="{}" r="3.5" style="fill:{}"/>'.format(*at.split(), hue)
    return f'<g data-row="{escape(curve.name)}">{out}</g>'


def key(curve: Curve) -> str:
    """What stands for a series in the legend: a piece of its line, or a dot."""
    hue, dashes = curve.look.color, curve.look.dashes
    drawn = f'<path d="M0 5H30" style="stroke:{hue}" stroke-width="2.5"{dashes}/>'
    if not curve.joined:
        drawn = f'<circle cx="15" cy="5" r="3.5" style="{curve.dot}"/>'
    return f'<svg width="30" height="10" fill="none">{drawn}</svg>'


def _rule(rule: Rule, x: Axis, y: Axis) -> str:
    """The rule with its label, and the strip below the axis."""
    at = x(rule.x)
    label = text(min(max(at, x.start + 24), x.stop - 24), y.stop - 6, "middle", rule.label, ' font-weight="600"')
    out = f'<path d="M{px(at)} {px(y.start)}V{px(y.stop)}" stroke="currentColor" stroke-width="1.5"/>{label}'
    for k, (start, name, look) in enumerate(rule.strip):
        left, right = x(start), x(rule.strip[k + 1][0]) - 2 if k + 1 < len(rule.strip) else x.stop
        box = f'<path d="M{px(left)} {px(y.start + 2)}H{px(right)}v14H{px(left)}z" style="fill:{look.color}"/>'
        fitting = (words for words in (name, letters(name, look)) if LETTER * len(words) + 4 < right - left)
        label = next((text((left + right) / 2, y.start + 13, "middle", words, _ON_COLOR) for words in fitting), "")
        out += f'<g data-row="{escape(name)}">{box}{label}</g>'
    return out + (text(x.start - 6, y.start + 13, "end", "fastest") if rule.strip else "")


def _y_axis(curves: Sequence[Curve], marks: Sequence[Mark], frame: Frame, bottom: float, top: float) -> Axis:
    values = [v for curve in curves for edge in (curve.ys, *(curve.band or ())) for v in edge]
    values += [mark.y for mark in marks if mark.y is not None]
    low, high = _span(values, frame.log_y, frame.y_from_zero)
    whole = all(v == floor(v) for v in values)
    if frame.log_y:
        low /= (high / low) ** ROOM
    else:  # to the next round values, which have a label; a curve lies on the axis only where that is zero
        step = _tick_step(low, high, 5, whole)
        low = math.ceil(low / step - 1 - 1e-9) * step if low > 0 else floor(low / step + 1e-9) * step
        high = math.ceil(high / step - 1e-9) * step
    return Axis(low, high, frame.log_y, bottom, top, whole)


def _meet(curves: Sequence[Curve], marks: Sequence[Mark], frame: Frame) -> bool:
    """Whether so many curves end in one place that some label would be far from the end of its own."""
    y = _y_axis(curves, marks, frame, frame.height - BOTTOM, TOP)
    ends = [y(curve.ys[-1]) for curve in curves]
    return max(abs(a - b) for a, b in zip(ends, spread(ends, 15, y.stop, y.start), strict=True)) > FAR


def plot(
    curves: Sequence[Curve],
    frame: Frame,
    *,
    ends: bool = False,
    marks: Sequence[Mark] = (),
    rule: Rule | None = None,
) -> str:
    """The SVG: a grid, the curves with their labels at their ends if asked, marks, and where the reader is."""
    all_x = [v for curve in curves for v in curve.xs] + [mark.x for mark in marks] + ([rule.x] if rule else [])
    strip = 16 if rule and rule.strip else 0
    y = _y_axis(curves, marks, frame, frame.height - BOTTOM - strip, TOP + (9 if rule else 0))
    ticks = [frame.y_format(value) for value in y.ticks(5)]
    left = max(12 + frame.letter * max(len(tick) + tick.count("%") for tick in ticks), 50 if strip else 0)
    head = f"at {rule.label}" if ends and rule else ""
    right = 18 + frame.letter * max(len(head), *(len(curve.label) for curve in curves)) if ends else RIGHT
    whole = all(v == floor(v) for v in all_x)
    x = Axis(*_span(all_x, frame.log_x, False), frame.log_x, left, frame.width - right, whole)
    tips: Sequence[float | None] = [None] * len(curves)
    if ends:
        heights = [y(curve.ys[-1] if curve.at_rule is None else curve.at_rule) for curve in curves]
        tips = spread(heights, 15, y.stop + 8 * bool(head), y.start)
    drawn = "".join(_curve(curve, x, y, tip, rule) for curve, tip in zip(curves, tips, strict=True))
    heading = text(x.stop + 12, y.stop - 6, "start", head, ' font-weight="600"') if head else ""
    obstacles = _obstacles(curves, marks, rule, x, y)
    limit = x.stop if ends else frame.width
    labels = "".join(_corner(mark, x, y, obstacles, frame.letter * len(mark.label), limit) for mark in marks)
    return (
        f'<svg class="cl-plot" viewBox="0 0 {px(frame.width)} {px(frame.height)}" font-size="12" aria-hidden="true">'
        f"{_grid(x, y, frame, strip)}"
        f'{_rule(rule, x, y) if rule else ""}{heading}<g fill="none" stroke-linejoin="round">{drawn}</g>'
        f"{''.join(_mark(mark, x, y) for mark in marks)}{labels}</svg>"
    )


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
    bands: Mapping[str, Points] = {},
    dots: bool = False,
    scattered: Collection[str] = (),
    palette: Sequence[str] = (),
    paired: Mapping[str, str] = {},
    title: str = "",
) -> Chart:
    """Draw each series ``label: (xs, ys)`` in its algorithm's color and dash, or in a pair of its own.

    `log_x` and `log_y` are the base of a logarithmic axis (True means 10), 0 for a linear one. Labels of a few letters
    stand at the ends of the curves, longer ones above, and all of them if a curve ends far from the right or most meet.
    `bands` are the lows and highs around some of the series. With `dots` each point has one that a style finds by its
    x, as ``data-at``. No line joins the dots of the `scattered` series. Figures with one `palette`, the names of all
    their series, have a color for each name. Series that are `paired` with others, such as what is predicted with what
    is measured, are dashed in the color of these, which are solid.

    >>> lines({"ring": ([4, 8], [6, 14]), "tree": ([4, 8], [4, 6])},
    ...       x_label="ranks N", y_label="steps", log_x=2, marks=[Mark(8, "N = 8")])
    Line chart of steps against ranks N for ring, tree. At 4: tree 4, ring 6. At 8: tree 6, ring 14. \
N = 8 is marked at 8.
    """
    base_x, base_y = (10 if log is True else int(log) for log in (log_x, log_y))
    _check(series, bands, marks, (base_x, base_y))
    names = list(palette or dict.fromkeys(paired.get(name, name) for name in series))
    look_of = dict(zip(names, looks(names), strict=True))
    look_of |= {name: look_of[other]._replace(dash=1) for name, other in paired.items()}
    look_of |= {other: look_of[other]._replace(dash=0) for other in paired.values()}
    curves = [
        Curve(name, name, *points, look_of[name], band=bands.get(name), dots=dots, joined=name not in scattered)
        for name, points in series.items()
    ]
    keys = [(key(curve), curve.name) for curve in curves]
    across = Axis(*_span([v for xs, _ in series.values() for v in xs], base_x, False), base_x, 0.0, 1.0)
    end = min(across(xs[-1]) for xs, _ in series.values())  # as a share of the width, of the curve that ends first
    together = len(series) > 1 and not scattered and end > 0.75
    slim = Frame(x_label, y_label, base_x, base_y, x_format, y_format, y_from_zero)

    def draw(frame: Frame) -> str:
        named = together and frame.letter * max(map(len, series)) <= AT_ENDS * frame.width
        at_ends = named and not _meet(curves, marks, frame)
        legend = "" if at_ends or len(series) == 1 else legend_row(keys)
        return legend + plot(curves, frame, ends=at_ends, marks=marks)

    alt = _described(series, slim, "Chart" if scattered else "Line chart")
    alt += "".join(
        f" Band of {name} at the end: {y_format(low[-1])} to {y_format(high[-1])}."
        for name, (low, high) in bands.items()
    )
    places = [(mark.label, x_format(mark.x)) for mark in marks]
    alt += "".join(f" {label} is marked at {x}." if label != x else f" Marked: {x}." for label, x in places)
    return Chart(draw(slim), alt, title, lambda: draw(replace(slim, width=BROAD)))
