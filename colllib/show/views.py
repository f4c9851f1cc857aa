"""What an explorer draws of a race: curves, dots, tables, a map, and the sentence that answers.

``static/draw.js`` draws the same in a page, function by function; a browser test holds the two together by the letter.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from math import ceil, floor, inf, log10
from operator import itemgetter
from typing import Any

from colllib import units
from colllib.cost import crossover
from colllib.show.control import State
from colllib.show.figure import legend_row
from colllib.show.lines import HALO, LETTER, Axis, Curve, Frame, Mark, Rule, number, plot, px, text
from colllib.show.looks import Look, known, letters
from colllib.show.race import Priced, Race, fastest, turns
from colllib.show.theme import color, escape, typeset

Texts = Mapping[str, str]

WIDE, NARROW = 640, 520  # how wide Python draws; below this, fewer values along a map
BESIDE = 0.45  # of the width for names beside curves; where they need more, letters stand for them
LOW, HIGH = 1e2, 1e11  # the messages in bytes at both ends of a curve
POINTS = 64  # of a curve, but for the first

#: What the values of `measured` read like.
_FORMATS: dict[str, Callable[[float], str]] = {
    "time": units.seconds,
    "rate": units.rate,
    **dict.fromkeys(("gain", "slowdown"), lambda value: f"{number(float(f'{value:.3g}'))} ×"),
}


def measured(what: str, one: Priced, message: float, standings: Sequence[Priced]) -> float:
    """A row's time; its rate, M over it times its factor; its gain, how many times faster than the first row it is; or
    its slowdown, how many times as long as the fastest it takes."""
    if what == "rate":
        return float(one.row.factor) * message / one.seconds
    if what == "slowdown":
        return one.seconds / fastest(standings)[0].seconds
    return standings[0].seconds / one.seconds if what == "gain" else one.seconds


def _sizes(low: float = LOW, high: float = HIGH) -> list[float]:
    return [low * (high / low) ** (k / POINTS) for k in range(POINTS + 1)]


def in_prose(names: Sequence[str]) -> str:
    """Names in prose.

    >>> in_prose(["ring", "Bruck", "PAT"])
    'ring, Bruck and PAT'
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def figure(alt: str, body: str) -> str:
    """A figure in a part."""
    return f'<div class="colllib cl-figure cl-drawn" role="img" aria-label="{escape(alt)}">{body}</div>'


@dataclass(frozen=True)
class View:
    """A race as a part that the page draws itself; label and fold are those of a `Part`."""

    race: Race
    label: str = ""
    fold: str = ""

    def draw(self, state: State, texts: Texts, width: float = WIDE) -> str:
        """The markup in a state, with the text of every control."""
        raise NotImplementedError

    def options(self) -> dict[str, Any]:
        """What the page's script needs to draw the same."""
        options = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("race", "label", "fold")}
        return {"view": type(self).__name__.lower(), **options}


@dataclass(frozen=True)
class Curves(View):
    """A measure of every row against the message, with a rule where the reader is, and who is fastest below.

    Args:
        what: "time", "rate", "gain" or "slowdown", of which the curves' ends tell the time; without a label it names
            the chart.
        y_label: what the axis says.
        log: whether that axis is logarithmic.
        strip: whether a strip below says who is fastest.
    """

    what: str = "slowdown"
    y_label: str = "times as long as the fastest"
    log: bool = True
    strip: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", self.label or f"{self.what.capitalize()} against message size")

    def draw(self, state: State, texts: Texts, width: float = WIDE) -> str:
        race, message, typed = self.race, state[self.race.message], texts[self.race.message]
        sizes = _sizes(min(LOW, message), max(HIGH, message))
        by_size = [race.standings({**state, race.message: size}) for size in sizes]
        now = race.standings(state)
        show = _FORMATS[self.what]
        at_rule = [measured(self.what, one, message, now) for one in now]
        seconds = [units.seconds(one.seconds) for one in now]
        ends = seconds if self.what == "slowdown" else [show(value) for value in at_rule]
        named = all(
            LETTER * len(f"{value} {one.row.name}") <= BESIDE * width for value, one in zip(ends, now, strict=True)
        )
        curves = []
        for k, one in enumerate(now):
            ys = [measured(self.what, row[k], size, row) for row, size in zip(by_size, sizes, strict=True)]
            label = f"{ends[k]} {one.row.name if named else letters(one.row.name, one.look)}"
            curves.append(Curve(one.row.name, label, sizes, ys, one.look, at_rule[k]))
        first = turns(race, state, sizes) if self.strip else []
        strip = [(size, one.row.name, one.look) for size, (one, *_) in first]
        frame = Frame("message M", self.y_label, 10, 10 * self.log, units.size, show, True, width, 300)
        values = "; ".join(f"{curve.name} {show(curve.at_rule or 0)}" for curve in curves)
        body = plot(curves, frame, ends=True, rule=Rule(message, typed, strip))
        turning = "; ".join(f"from {units.size(size)} {_names(tied)}" for size, tied in first)
        return figure(
            f"{self.y_label} against M. At {typed}: {values}." + (f" Fastest {turning}." if turning else ""),
            body + ("" if named else keys([(one.row.name, one.look) for one in now])),
        )


def keys(rows: Sequence[tuple[str, Look]], style: str = "color:{}") -> str:
    """What letters in a figure stand for: its rows, each in a style with its color."""
    spans = "".join(
        f'<span data-row="{escape(name)}"><b style="{style.format(look.color)}">{escape(letters(name, look))}</b> '
        f"{escape(name)}</span>"
        for name, look in rows
    )
    return f'<div class="cl-legend">{spans}</div>'


@dataclass(frozen=True)
class Variants(View):
    """The variants of the row that has named ones, by the number at the end of their labels; where none has, the row in
    segments, over their number. The best is marked.

    Args:
        x_label: what the number is.
        at: the control or quantity whose value gets the rule; "" for none.
    """

    x_label: str = ""
    at: str = ""

    def draw(self, state: State, texts: Texts, width: float = WIDE) -> str:
        race = self.race
        one = next(one for one in race.standings(state) if one.variant or one.row.variants[""].slope)
        best = one.variant or f"P = {one.segments}"
        points: Sequence[tuple[float, float]]
        if one.variant:
            points = [(_last_number(label), time) for label, (time, _) in race.prices(one.row, state).items()]
        else:
            points = race.over_segments(one, state)
        xs, ys = zip(*points, strict=True)
        frame = Frame(self.x_label, "time", 2, 0, number, units.seconds, True, width, 210)
        rule = Rule(state[self.at], texts[self.at]) if self.at else None
        mark = Mark(_last_number(best), f"{best}: {units.seconds(one.seconds)}", one.seconds)
        body = plot([Curve(one.row.name, "", xs, ys, one.look)], frame, marks=[mark], rule=rule)
        return figure(f"Time against {self.x_label}. Best: {best} with {units.seconds(one.seconds)}.", body)


def _last_number(label: str) -> float:
    return float(label.split(" ")[-1])


def ordered(standings: Sequence[Priced], order: str) -> list[Priced]:
    """By time, bounds last, if the control of that name says so; else as they are."""
    if order != "by time":
        return list(standings)
    return sorted(standings, key=lambda one: (one.row.bound, one.seconds))


@dataclass(frozen=True)
class Dots(View):
    """A line for every row with a dot at its time, on a logarithmic scale; a tick at its floor.

    Args:
        order: a control with "by time" among its values; "" keeps the order of the rows.
        ideal: alpha and BW without losses, to draw a hollow dot for; () for none.
    """

    order: str = ""
    ideal: tuple[str, ...] = ()

    def draw(self, state: State, texts: Texts, width: float = WIDE) -> str:
        standings = ordered(self.race.standings(state), str(state.get(self.order)))
        first = fastest(standings)[0]
        ideal = {one.row.name: one.seconds for one in self.race.ideal(state, *self.ideal)} if self.ideal else {}
        times = [t for one in standings for t in (one.seconds, one.floor, ideal.get(one.row.name, 0)) if t]
        low, high = floor(log10(min(times))), ceil(log10(max(times)) + 1e-9)

        def at(seconds: float) -> str:
            return f'style="left:{100 * (log10(seconds) - low) / (high - low):.2f}%'

        grid = "".join(f'<u {at(10.0**k)}"></u>' for k in range(low, high + 1))
        scale = "".join(
            f'<u {at(10.0**k)}">{units.seconds(10.0**k)}</u>' for k in range(low, high + 1, 1 + (high - low) // 6)
        )
        ends = f'<div><span></span><i class="cl-track cl-scale">{scale}</i><span></span></div>'
        rows = [ends]
        for one in standings:
            ticks = f'<u class="cl-floor" {at(one.floor)}"></u>' if one.floor else ""
            if ideal:
                ticks += f'<s {at(ideal[one.row.name])};color:{one.tint}"></s>'
            bold = "b" if one is first else "span"
            variant = f'<small style="color:{one.tint}">{escape(one.label)}</small>' if one.variant else ""
            rows.append(
                f'<div data-row="{escape(one.row.name)}"><{bold}>{escape(one.row.name)} {variant}</{bold}>'
                f'<i class="cl-track">{grid}{ticks}<em {at(one.seconds)};color:{one.tint}"></em></i>'
                f"<{bold}>{units.seconds(one.seconds)}</{bold}></div>"
            )
        described = "; ".join(f"{one.title} {units.seconds(one.seconds)}" for one in standings)
        marks = {"<em></em>": "time, log scale"}
        if ideal:
            marks |= {"<s></s>": "ideal"}
        if any(one.floor for one in standings):
            bounds = "lower bounds, with coefficients" if ideal else "sum of the lower bounds"
            marks |= {'<u class="cl-floor"></u>': bounds}
        key = legend_row((f'<i class="cl-track cl-key">{mark}</i>', words) for mark, words in marks.items())
        body = f'{key}<div class="cl-dots">{"".join([*rows, ends])}</div>'
        return figure(f"Time of each, logarithmic: {described}.", body)


@dataclass(frozen=True)
class Bars(View):
    """The groups of rows, each as long as its rows take together, one after the other."""

    def draw(self, state: State, texts: Texts, width: float = WIDE) -> str:
        sums = totals(self.race.standings(state))
        longest = max(sums.values(), default=0)
        rows = [
            f'<span>{escape(group)}</span><i><span class="cl-bar" style="width:{100 * time / longest:.2f}%;'
            f'background:{color(k)}"></span></i><span>{units.seconds(time)}</span>'
            for k, (group, time) in enumerate(sums.items())
        ]
        described = "; ".join(f"{group} {units.seconds(time)}" for group, time in sums.items())
        return figure(f"Time of each: {described}.", f'<div class="cl-bars">{"".join(rows)}</div>')


def totals(standings: Sequence[Priced]) -> dict[str, float]:
    """The time of every group, in the order in which they come."""
    sums: dict[str, float] = defaultdict(float)
    for one in standings:
        sums[one.row.group or one.row.name] += one.seconds
    return sums


@dataclass(frozen=True)
class Map(View):
    """Who is fastest over ranks and message sizes; if somebody chose, what that is, and how much longer it takes.

    Args:
        over: some of the values of the control `ranks`, a row each.
        ranks: its name.
    """

    over: tuple[int, ...] = ()
    ranks: str = "n"

    def draw(self, state: State, texts: Texts, width: float = WIDE) -> str:
        race, sizes = self.race, MESSAGES
        cell, bottom = (width - LEFT - 6) / len(sizes), ROW * len(self.over)
        body, codes, pairs = [], [], []
        for k, n in enumerate(self.over):
            by_size = [race.standings({**state, self.ranks: n, race.message: size}) for size in sizes]
            row = [(_chosen(standings), fastest(standings)[0]) for standings in by_size]
            body.append(_fills(k, row, cell) + text(LEFT - 5, ROW * k + 12.5, "end", str(n)))
            codes.append(_codes(k, row, cell))
            pairs += row
        x = Axis(sizes[0] * 10 ** (-1 / 6), sizes[-1] * 10 ** (1 / 6), 10, LEFT, width - 6)
        for size in sizes[:: 6 if width >= NARROW else 12]:
            label = units.size(size)
            body.append(f'<path d="M{px(x(size))} {px(bottom)}v4" stroke="currentColor"/>')
            body.append(text(min(x(size), width - LETTER / 2 * len(label)), bottom + 17, "middle", label))
        body.append(text((LEFT + width - 6) / 2, bottom + 32, "middle", "message M"))
        body.append(text(2, bottom + 32, "start", "ranks N"))
        message, n = min(max(x(state[race.message]), LEFT), width - 6), state[self.ranks]
        above = sum(row < n for row in self.over)
        between = f"M{px(LEFT)} {px(ROW * above)}H{px(width - 6)}"
        rank = _box(LEFT, above, width - 6 - LEFT) if n in self.over else between
        rule = f'd="{rank}M{px(message)} 0V{px(bottom)}" fill="none" stroke="currentColor" stroke-width="1.5"'
        body.append(f"<path {rule}/>")
        view = f'viewBox="0 0 {px(width)} {px(bottom + 36)}"'
        svg = f'<svg {view} font-size="11.5" aria-hidden="true">{"".join(body + codes)}</svg>'
        leads = Counter((best.row.name, best.look) for _, best in pairs).most_common()
        shares = {name: f"{100 * times / len(sizes) / len(self.over):.0f}%" for (name, _), times in leads}
        described = "; ".join(f"{name} {share}" for name, share in shares.items())
        alt = f"Map of the fastest over N and M; share of the cells: {described}."
        chosen = [(one, best) for one, best in pairs if one]
        legend = keys([look for look, _ in leads], TINTED)
        if chosen:
            verdict = _verdict([one.seconds / best.seconds for one, best in chosen])
            alt, legend = f"{alt} {verdict}", f'{_regrets(chosen)}<p class="cl-hint">{verdict}</p>'
        return figure(alt, svg + legend)


def _chosen(standings: Sequence[Priced]) -> Priced | None:
    """The row whose variant somebody chose, if there is one."""
    return next((one for one in standings if one.row.takes), None)


def _fills(k: int, pairs: Sequence[tuple[Priced | None, Priced]], cell: float) -> str:
    """The cells of one number of ranks: in the color of the fastest, or by how much longer it takes what is taken."""
    looks = [
        f'style="fill:{SHADES[_shade(one, best)][1]}" fill-opacity="{SHADES[_shade(one, best)][2] / 100}"'
        if one
        else f'data-row="{escape(best.row.name)}" style="fill:{best.look.color}" fill-opacity=".25"'
        for one, best in pairs
    ]
    return "".join(
        f'<path d="{_box(LEFT + cell * column, k, cell * length)}" {look}/>' for column, length, look in runs(looks)
    )


def _codes(k: int, pairs: Sequence[tuple[Priced | None, Priced]], cell: float) -> str:
    """Letters for what is taken, or the fastest, and a line where another begins."""
    out = []
    for column, length, code in runs([_code(one, best) for one, best in pairs]):
        if column:
            out.append(f'<path d="M{px(LEFT + cell * column)} {px(ROW * k)}v{ROW}" stroke="var(--cl-edge,#77808a)"/>')
        if cell * length > 9 * len(code):
            out.append(text(LEFT + cell * (column + length / 2), ROW * k + 12.5, "middle", code, HALO))
    return "".join(out)


def _regrets(pairs: Sequence[tuple[Priced, Priced]]) -> str:
    """What the colors and the letters stand for where somebody chose."""
    swatch = '<i class="cl-swatch" style="background:color-mix(in srgb,{} {}%,transparent)"></i>'
    shades = (SHADES[shade] for shade in sorted({_shade(one, best) for one, best in pairs}))
    colors = [(swatch.format(hue, share), words) for words, hue, share in shades if words]
    taken = {_code(one, best): one.variant if known(one.variant) else "not priced" for one, best in pairs}
    return legend_row([*colors, *((f"<b>{code}</b> ", label) for code, label in taken.items())])


MESSAGES = tuple(10 ** (2 + k / 3) for k in range(25))  # in the middle of the columns of a map
LEFT, ROW = 42, 17  # of a map
UNPRICED = "?"  # the code of what a map has no price for
TINTED = "background:color-mix(in srgb,{} 25%,transparent);padding:0 0.3em"  # as a cell of the fastest is
SHADES = (  # of what is taken: in words, color and percent of it; what has no price has letters of its own
    ("within 10% of the fastest", color(2), 12),
    ("up to twice as long", color(1), 25),
    ("longer", color(1), 55),
    ("", color(7), 25),
)


def _shade(one: Priced, first: Priced) -> int:
    if one.seconds <= 1.1 * first.seconds:
        return 0
    if one.seconds == inf:
        return 3
    return 1 if one.seconds <= 2 * first.seconds else 2


def _code(one: Priced | None, first: Priced) -> str:
    look = known(one.variant) if one else first.look
    return look.code if look else UNPRICED


def _verdict(choices: Sequence[float]) -> str:
    """How often what is taken is close to the fastest, or far from it."""
    priced = [times for times in choices if times < inf]
    close, slow = sum(times <= 1.1 for times in priced), sum(times > 2 for times in priced)
    return f"Within 10% in {close} of the {len(priced)} cells that can be priced, more than twice in {slow}."


def _box(left: float, row: int, width: float) -> str:
    return f"M{px(left)} {px(ROW * row)}H{px(left + width)}V{px(ROW * row + ROW)}H{px(left)}z"


def runs(values: Sequence[Any]) -> list[tuple[int, int, Any]]:
    """Equal neighbors: where they begin, how many, and their value."""
    alike = [list(group) for _, group in groupby(enumerate(values), itemgetter(1))]
    return [(group[0][0], len(group), group[0][1]) for group in alike]


@dataclass(frozen=True)
class Rows(View):
    """A table with a line for each row.

    Args:
        columns: heads with what is below them, one of `_CELLS` or a key of the rows' `more`, such as
            "by = variant | time"; a head alone says it itself.
        order: as for `Dots`.
        swatches: whether each row has its color, which something else draws.
        tinted: whether that is its variant's, as in `Dots`.
    """

    columns: str = "name"
    order: str = ""
    swatches: bool = True
    tinted: bool = False

    @property
    def _pairs(self) -> list[tuple[str, str]]:
        columns = (column.split(" = ") for column in self.columns.split(" | "))
        return [(column[0], column[-1]) for column in columns]

    def options(self) -> dict[str, Any]:
        return super().options() | {"columns": self._pairs}

    def draw(self, state: State, texts: Texts, width: float = WIDE) -> str:
        standings = ordered(self.race.standings(state), str(state.get(self.order)))
        least = fastest(standings)[0].seconds if standings else 0.0
        message = state.get(self.race.message, 0.0)
        (_, first), *others = self._pairs
        head = "".join(
            f'<th scope="col"{_side(cell)}>{typeset(name)}</th>' if name else "<td></td>" for name, cell in self._pairs
        )
        body = []
        for one in standings:
            cells = "".join(f"<td{_side(cell)}>{escape(_cell(cell, one, message, least))}</td>" for _, cell in others)
            name = escape(_cell(first, one, message, least))
            hue = one.tint if self.tinted else one.look.color
            swatch = f'<i class="cl-swatch" style="background:{hue}"></i>' if self.swatches else ""
            body.append(
                f'<tr data-row="{escape(one.row.name)}" tabindex="0"><th scope="row">{swatch}{name}</th>{cells}</tr>'
            )
        return f'<table class="colllib-table"><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table>'


def _side(cell: str) -> str:
    return "" if cell in ("name", "title", "variant") or cell not in _CELLS else ' class="cl-right"'


def _cell(cell: str, one: Priced, message: float, least: float) -> str:
    return _CELLS[cell](one, message, least) if cell in _CELLS else one.row.more.get(cell, "")


_CELLS: dict[str, Callable[[Priced, float, float], str]] = {
    "name": lambda one, m, least: one.row.name,
    "title": lambda one, m, least: one.title,
    "variant": lambda one, m, least: "" if one.label == one.row.name else one.label.replace("P = ", "P\u00a0=\u00a0"),
    "time": lambda one, m, least: units.seconds(one.seconds, 4),
    "of fastest": lambda one, m, least: "" if one.row.bound else units.ratio(one.seconds / least),
    "over floor": lambda one, m, least: units.ratio(one.seconds / one.floor) if one.floor else "",
    "n_alpha": lambda one, m, least: str(one.cost.n_alpha),
    "n_beta": lambda one, m, least: str(one.cost.n_beta),
    "P": lambda one, m, least: str(one.segments) if one.segments > 1 else "",
    "algbw": lambda one, m, least: units.rate(m / one.seconds),
    "busbw": lambda one, m, least: units.rate(measured("rate", one, m, [one])),
    "calls": lambda one, m, least: f"{one.row.times} × {units.size(one.row.message or m)}",
}


@dataclass(frozen=True)
class Heat(View):
    """For which share of every row's time the busiest links of each level carry bytes, and how much is latency.

    A level over which no row sends has no column.
    """

    def draw(self, state: State, texts: Texts, width: float = WIDE) -> str:
        standings = self.race.standings(state)
        shares = [self.race.busy(one, state) for one in standings]
        names = (*self.race.levels, "latency")
        used = [k for k in range(len(names)) if any(row[k] for row in shares)]
        heads = "".join(f'<th scope="col" class="cl-right">{escape(names[k])}</th>' for k in used)
        body = []
        for one, row in zip(standings, shares, strict=True):
            cells = "".join(
                f'<td class="cl-right" style="background:color-mix(in srgb,{color(1)} {40 * row[k]:.1f}%,transparent)">'
                f"{100 * row[k]:.0f}%</td>"
                for k in used
            )
            name = escape(one.row.name)
            body.append(f'<tr data-row="{name}" tabindex="0"><th scope="row">{name}</th>{cells}</tr>')
        head = f'<tr><th scope="col">busy</th>{heads}</tr>'
        return f'<table class="colllib-table"><thead>{head}</thead><tbody>{"".join(body)}</tbody></table>'


@dataclass(frozen=True)
class Turns(View):
    """From which size on which rows are fastest, as text."""

    def draw(self, state: State, texts: Texts, width: float = WIDE) -> str:
        leads = turns(self.race, state, _sizes())
        described = "; ".join(f"from <b>{units.size(size)}</b> {escape(_names(tied))}" for size, tied in leads)
        return f"<p>Fastest {described}.</p>"


def _names(tied: Sequence[Priced]) -> str:
    return in_prose([one.row.name for one in tied])


@dataclass(frozen=True)
class Summary(View):
    """A sentence with slots: controls and quantities by their names, and what `_WORDS` says of the race.

    Args:
        text: such as "At N = {n}, {fastest} with {time}". "{time:ring}" is the time of the row "ring", and
            "{times:ring|chain}" how many times as long as the chain it takes.
    """

    text: str = ""

    def draw(self, state: State, texts: Texts, width: float = WIDE) -> str:
        standings = self.race.standings(state)
        by_name, first = {one.row.name: one for one in standings}, fastest(standings)[0]

        def filled(slot: re.Match[str]) -> str:
            word, _, names = slot[1].partition(":")
            named = names.split("|") if names else []
            if unknown := [name for name in (word, *named) if name not in {*texts, *_WORDS, *by_name}]:
                rows = ", ".join(by_name)
                raise ValueError(
                    f"summary {slot[0]}: {unknown[0]!r} is no control, no word for one, and none of {rows}"
                )
            one, other, *_ = *map(by_name.__getitem__, named), first, first
            return texts[word] if word in texts else _WORDS[word](Field(standings, one, other, state, self.race))

        described = re.sub("{(.*?)}", filled, self.text)
        return escape(described[:1].upper() + described[1:])


@dataclass(frozen=True)
class Field:
    """What a slot may speak of: all rows, the two that it names, in place of each the fastest, and the state."""

    all: Sequence[Priced]
    one: Priced
    other: Priced
    state: State
    race: Race


def _next(field: Field) -> str:
    tied = fastest(field.all)
    rest = [one for one in field.all if not one.row.bound and one not in tied]
    if not rest:
        return ""
    following = min(rest, key=lambda one: one.seconds)
    time = units.seconds(following.seconds)
    if time == units.seconds(tied[0].seconds):
        return f"; {following.title} is as good"
    return f"; next is {following.title} with {time}"


def _fastest(field: Field) -> str:
    tied = fastest(field.all)
    return f"the fastest {'is' if len(tied) == 1 else 'are'} {in_prose([one.title for one in tied])}"


def _slowest(field: Field) -> str:
    """The slowest job: what its layout costs it alone, and what sharing costs."""
    one = max((one for one in field.all if not one.row.bound), key=lambda one: one.seconds)
    alone = next(other for other in field.all if other.row.bound and other.row.group == one.row.name)
    by_layout, by_sharing = units.ratio(alone.seconds / one.floor), units.ratio(one.seconds / alone.seconds)
    return (
        f"the slowest takes {units.seconds(one.seconds)}, {units.ratio(one.seconds / one.floor)} times "
        f"an aligned job alone: {by_layout} by its layout, {by_sharing} by sharing"
    )


def _binds(field: Field) -> str:
    """What the row spends most of its time on."""
    shares = field.race.busy(field.one, field.state)
    most = shares.index(max(shares))
    does = [*(f"the {name} are busy for" for name in field.race.levels), "latency is"][most]
    return f"{does} {100 * shares[most]:.0f}% of it"


def _taken(field: Field) -> str:
    """What somebody chose, and how much longer it takes; nothing where nobody did."""
    one = _chosen(field.all)
    if one is None:
        return ""
    if one.seconds == inf:
        return f" {one.row.name} takes {one.variant}, which this book does not price."
    return f" {one.row.name} takes {one.label}, {_longer(one, fastest(field.all)[0], 'as fast')}."


def _longer(one: Priced, other: Priced, alike: str) -> str:
    times = units.ratio(one.seconds / other.seconds)
    return alike if times == "1.00" else f"{times} times as long"


def _best(field: Field) -> str:
    """The variant, or number of segments, that is better than the first row's."""
    one, other = field.one, field.other
    best = f"the best is {other.variant or f'P = {other.segments}'} with {units.seconds(other.seconds)}"
    return best if one.seconds > other.seconds else "none is faster"


def _over(field: Field) -> str:
    bound = next((one.seconds for one in field.all if one.row.bound), inf)
    return units.ratio(field.one.seconds / (field.one.floor or bound))


def _rate(field: Field) -> float:
    return measured("rate", field.one, field.state[field.race.message], [field.one])


def _even(field: Field) -> str:
    size = crossover(field.one.cost, field.other.cost)
    return units.size(float(size or 0) * field.state[field.race.alpha[0]] * field.state[field.race.bandwidth[0]])


def _top(field: Field) -> str:
    sums = totals(field.all)
    return max(sums, key=lambda group: sums[group])


_WORDS: dict[str, Callable[[Field], str]] = {
    "fastest": _fastest,
    "next": _next,
    "time": lambda f: units.seconds(f.one.seconds),
    "times": lambda f: _longer(f.one, f.other, "as long"),
    "best": _best,
    "even": _even,
    "over": _over,
    "slowest": _slowest,
    "variant": lambda f: f.one.label,
    "taken": _taken,
    "binds": _binds,
    "gain": lambda f: units.ratio(f.all[0].seconds / f.one.seconds),
    "rate": lambda f: units.rate(_rate(f)),
    "share": lambda f: units.percent(_rate(f) / f.state[f.race.bandwidth[0].split("*")[0]]),
    "sum": lambda f: units.seconds(sum(totals(f.all).values())),
    "top": _top,
    "top share": lambda f: f"{100 * totals(f.all)[_top(f)] / sum(totals(f.all).values()):.0f}%",
}
