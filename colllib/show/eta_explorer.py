"""The eta explorer: the ladder at N = 512, ideal and with coefficients for each fabric that the reader sets."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from colllib import ladder, units
from colllib.contention import PROFILES, Eta
from colllib.realistic import Line, lines_of
from colllib.show.control import Control, Part, State
from colllib.show.explorer import Explorer
from colllib.show.figure import Chart
from colllib.show.table import Table
from colllib.show.theme import color, escape

PRIMITIVES = {name: name for name in ("all-reduce", "all-gather", "all-to-all")}
MESSAGES = (100e3, 16e6, 1e9)
STAR = tuple(Fraction(x, 100) for x in (40, 60, 80, 100))
ADDING = tuple(Fraction(x, 100) for x in (40, 52, 60, 100))
WIRES = tuple(Fraction(x, 100) for x in (20, 40, 60, 100))
DELAY = tuple(Fraction(x, 10) for x in (10, 12, 20))
NONE = Fraction(1)


def eta_of(line: Line, state: State) -> Eta:
    """The coefficients that the sliders give a line's fabric.

    >>> from colllib.realistic import line
    >>> state = {"star": Fraction(4, 5), "adding": NONE, "wires": Fraction(3, 5), "delay": Fraction(6, 5)}
    >>> eta_of(line("all-reduce", "dim-ring"), state).beta
    Fraction(3, 5)
    """
    if line.profile == "torus":
        return Eta(state["delay"], state["wires"])
    return Eta(NONE, state["star"] if line.profile == "crossbar" else state["adding"])


@cache
def _seconds(line: Line, eta: Eta, message: float) -> float:
    return line.seconds(eta, message=message, alpha=ladder.ANCHOR_ALPHA, bandwidth=ladder.ANCHOR_BANDWIDTH)


def times(state: State) -> dict[Line, tuple[float, float]]:
    """Every line's time without and with the coefficients, in seconds, fastest with them first."""
    found = {
        line: (_seconds(line, PROFILES["ideal"], state["m"]), _seconds(line, eta_of(line, state), state["m"]))
        for line in lines_of(state["primitive"])
    }
    return dict(sorted(found.items(), key=lambda item: item[1][1]))


def eta_explorer() -> Explorer:
    """Coefficients of each fabric against the ladder at N = 512, ideal and realistic side by side.

    Lock-step clock, executed costs, every pipeline at its best whole number of segments with and without.

    >>> eta_explorer()
    Explorer: The ladder with coefficients (Primitive, Message M, eta_beta, star, eta_beta, star that adds, \
eta_beta, torus, eta_alpha, torus)
    """
    return Explorer(
        "The ladder with coefficients",
        [
            Control("primitive", "Primitive", PRIMITIVES, "all-reduce", kind="select"),
            Control("m", "Message M", MESSAGES, ladder.ANCHOR_MESSAGE, format=units.size),
            Control("star", "eta_beta, star", STAR, Fraction(4, 5), format=_plain),
            Control("adding", "eta_beta, star that adds", _adding, depends_on=("primitive",), start=Fraction(13, 25)),
            Control("wires", "eta_beta, torus", WIRES, Fraction(3, 5), format=_plain),
            Control("delay", "eta_alpha, torus", DELAY, Fraction(6, 5), format=_plain),
        ],
        [
            Part(_ALL, _picture, "Ideal and realistic times"),
            Part(_ALL, _table, "Times and margins"),
            Part((), lambda s: _NOTE),
        ],
        summary=Part(_ALL, _told),
    )


_ALL = ("primitive", "m", "star", "adding", "wires", "delay")
_NOTE = (
    "<p>N = 512, alpha = 0.5 us, BW = 900 GB/s, lock-step clock. Star: one full-duplex port of BW per rank; torus: six "
    "links of BW per rank, so it injects up to six times as much. A fabric's eta_beta divides its bytes, eta_alpha "
    "multiplies its latencies. Only an all-reduce asks the switch to add.</p>"
)


def _plain(value: Fraction) -> str:
    return f"{float(value):.2f}"


def _adding(state: State) -> dict[Fraction, str]:
    if state["primitive"] != "all-reduce":
        return {NONE: "not used"}
    return {value: _plain(value) for value in ADDING}


def _picture(state: State) -> Chart:
    found = times(state)
    longest = max(max(pair) for pair in found.values())
    rows = []
    for line, (ideal, real) in found.items():
        bars = "".join(
            f'<rect y="{y}" width="{max(1.0, 376 * value / longest):.1f}" height="7" rx="1.5" style="fill:{hue}" '
            f'opacity="{opacity}"/>'
            for y, value, hue, opacity in ((0, ideal, color(0), 0.45), (8, real, color(1), 1))
        )
        rows.append(
            f"<div>{escape(line.label)}: {units.seconds(ideal)} &rarr; <b>{units.seconds(real)}</b></div>"
            f'<svg viewBox="0 0 380 18" aria-hidden="true">{bars}</svg>'
        )
    keys = "".join(
        f'<span><svg width="26" height="10"><rect width="26" height="9" style="fill:{hue}" opacity="{opacity}"/></svg>'
        f"{name}</span>"
        for name, hue, opacity in (("ideal", color(0), 0.45), ("with the coefficients", color(1), 1))
    )
    told = "; ".join(f"{ln.label} {units.seconds(a)}, then {units.seconds(b)}" for ln, (a, b) in found.items())
    title = f"{next(iter(found)).label} is fastest"
    return Chart(
        f'<div class="cl-legend">{keys}</div>{"".join(rows)}', f"Time without and with coefficients: {told}.", title
    )


def _table(state: State) -> Table:
    found = times(state)
    best = [min(pair[k] for pair in found.values()) for k in (0, 1)]
    rows = []
    for line, pair in found.items():
        margins = [f"{value / low:.2f}" for value, low in zip(pair, best, strict=True)]
        rows.append((line.label, f"{100 * (pair[1] / pair[0] - 1):.0f} %", *margins))
    headers = ["", "increase", "margin, ideal", "realistic"]
    return Table(headers, rows, "Margin: times as long as the fastest", align=("left", *("right",) * 3))


def _told(state: State) -> str:
    found = times(state)
    first = next(iter(found))
    ideal = min(found, key=lambda line: found[line][0])
    same = "as without coefficients" if ideal is first else f"without coefficients it was {ideal.label}"
    return f"{state['primitive']} at {units.size(state['m'])}: {first.label} is fastest, {same}."
