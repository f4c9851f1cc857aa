"""The ladder explorer: every fabric's rung for a primitive, re-sorted as message, latency, BW and ports change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial

from colllib import ladder, units
from colllib.bounds import floor
from colllib.cost import Cost
from colllib.ladder import Entry, Rung
from colllib.losses import IDEAL, PROFILES, Eta
from colllib.lossy import LINES
from colllib.show.control import Control, Part, State
from colllib.show.explorer import Explorer
from colllib.show.figure import Chart, bars
from colllib.show.table import Align, Table
from colllib.show.theme import color, escape
from colllib.topology import injection

MESSAGES = (1e3, 100e3, 1e6, 16e6, 100e6, 1e9)
ALPHAS = (0.1e-6, 0.5e-6, 2e-6)
BANDWIDTHS = (100e9, 900e9)
PORTS = {False: "BW on each link", True: "BW for all links of a rank together"}

#: A wire for each pair of 512 ranks would lead every ladder, and nobody builds it.
SPECS = tuple(spec for spec in ladder.FABRICS if not spec.startswith("full-mesh"))


@dataclass(frozen=True)
class Bar:
    """What the explorer shows of a rung: plain data, so that rungs of other makings can stand beside these.

    Attributes:
        fabric: its name in prose.
        algorithm: with its segments.
        cost: the exact cost.
        seconds: the time, with what the fabric loses.
        floor: the two lower bounds of the fabric added, in seconds; 0 where none is known.
        ideal: the same algorithm's time without losses, in segments of its own; None where none are looked at.
    """

    fabric: str
    algorithm: str
    cost: Cost
    seconds: float
    floor: float
    ideal: float | None = None

    @property
    def label(self) -> str:
        """The fabric and its algorithm."""
        return f"{self.fabric}: {self.algorithm}"


#: What each way loses.
Losses = Callable[[Entry], Eta]

#: Makes the bars of a state: from primitive, message, alpha, bandwidth, equal_injection and losses.
Source = Callable[..., Sequence[Bar]]


def rung_bars(
    specs: Sequence[str] = SPECS,
    also: Callable[[Entry], bool] = lambda _: False,
    *,
    primitive: str,
    message: float,
    alpha: float,
    bandwidth: float,
    equal_injection: bool,
    losses: Losses | None = None,
) -> list[Bar]:
    """The bars of each fabric: what is fastest there, with losses and without, and ways that are to be seen anyhow.

    >>> at = {"message": 1e6, "alpha": 1e-6, "bandwidth": 1e9, "equal_injection": False}
    >>> [bar.label for bar in rung_bars(("star:8", "ring:8"), primitive="all-to-all", **at)]
    ['star 8: pairwise', 'ring 8: rotated relay']
    """
    found = []
    for spec in specs:
        least = _floor(primitive, spec)
        scale = injection(ladder.topology(spec)) if equal_injection else Fraction(1)
        floor = Cost(least.n_alpha, least.n_beta * scale).seconds(message=message, alpha=alpha, bandwidth=bandwidth)
        rungs = {}
        for way in ladder.entries(primitive, spec, trusting=True):
            etas = (losses(way) if losses else IDEAL, IDEAL)
            rungs[way] = [_priced(way, message, alpha, bandwidth, equal_injection, eta) for eta in etas]
        best = {min(rungs, key=lambda way: (rungs[way][k].seconds, not also(way), way.algorithm.label)) for k in (0, 1)}
        found += [
            Bar(fabric_name(spec), real.label, real.cost, real.seconds, floor, ideal.seconds if losses else None)
            for way, (real, ideal) in rungs.items()
            if way in best or also(way)
        ]
    return found


@cache
def _floor(primitive: str, spec: str) -> Cost:
    return floor(primitive, ladder.topology(spec))


@cache
def _priced(way: Entry, message: float, alpha: float, bandwidth: float, equal_injection: bool, eta: Eta) -> Rung:
    return way.priced(message=message, alpha=alpha, bandwidth=bandwidth, equal_injection=equal_injection, eta=eta)


def fabric_name(spec: str) -> str:
    """A fabric as prose writes it.

    >>> fabric_name("torus:8x8x8"), fabric_name("full-mesh:512")
    ('torus 8x8x8', 'full mesh 512')
    """
    return spec.replace(":", " ").replace("full-mesh", "full mesh").replace("inc-star", "star that computes")


def ladder_explorer(
    sources: Sequence[Source] = (rung_bars,),
    *,
    messages: Sequence[float] = MESSAGES,
    alphas: Sequence[float] = ALPHAS,
    bandwidths: Sequence[float] = BANDWIDTHS,
    extra: Sequence[Control] = (),
    losses: Callable[[State], Losses] | None = None,
    title: str = "The ladder of 512 ranks",
) -> Explorer:
    """Primitive, M, alpha, BW and the port convention against the rungs of all fabrics of 512 ranks.

    An execution does not depend on the message: every rung is executed once (a few are counted by
    symmetry or by a closed form that tests hold against execution) and only priced per state.

    Args:
        sources: functions that give the bars of a state; those of all sources stand on one ladder.
        messages: the values of M on offer, in bytes; what has one value gets no control.
        alphas: the latencies on offer, in seconds.
        bandwidths: the bandwidths on offer, in bytes per second.
        extra: controls beside these, such as one for what a fabric loses.
        losses: what each way loses in a state; times are then shown with and without.
        title: the heading.

    Rungs of switches that add and replicate: ``ladder_explorer((partial(rung_bars, (*SPECS, "inc-star:512")),))``.

    >>> ladder_explorer()
    Explorer: The ladder of 512 ranks (Primitive, Message M, Latency alpha, Bandwidth BW, What BW is)
    """

    @cache
    def found(*chosen: object) -> tuple[Bar, ...]:
        s = dict(zip(names, chosen, strict=True))
        state = {"message": s["m"], "alpha": s["alpha"], "bandwidth": s["bw"]}
        state |= {"equal_injection": s["ports"]}
        if losses is not None:
            state["losses"] = losses(s)
        bars_here = [bar for source in sources for bar in source(primitive=s["p"], **state)]
        return tuple(sorted(bars_here, key=lambda bar: (bar.seconds, bar.label)))

    def here(state: State, **other: object) -> tuple[Bar, ...]:
        return found(*({**fixed, **state, **other}[name] for name in names))

    offered = [
        Control("p", "Primitive", ladder.PRIMITIVES, "all-reduce", kind="select"),
        Control("m", "Message M", messages, _start(messages, ladder.ANCHOR_MESSAGE), format=units.size),
        Control("alpha", "Latency alpha", alphas, _start(alphas, ladder.ANCHOR_ALPHA), format=units.seconds),
        Control("bw", "Bandwidth BW", bandwidths, _start(bandwidths, ladder.ANCHOR_BANDWIDTH), format=units.rate),
        Control("ports", "What BW is", PORTS, False, kind="select"),
        *extra,
    ]
    names = tuple(control.name for control in offered)
    controls = [control for control in offered if control.depends_on or len(control.choices({})) > 1]
    fixed = {control.name: control.start for control in offered if control not in controls}
    moved = tuple(control.name for control in controls)
    return Explorer(
        title,
        controls,
        [
            Part(moved, lambda s: _chart(here(s), fixed | s), "Rungs, fastest first"),
            Part(moved, lambda s: _table(here(s)), "Costs of the rungs"),
            Part((), lambda s: _note_on_losses() if losses else _note()),
        ],
        summary=Part(moved, lambda s: _told(here(s), here(s, ports=not s["ports"]), s)),
    )


def realistic_ladder_explorer() -> Explorer:
    """The ladder with rungs of a switch that takes part, and coefficients that the reader sets for each fabric.

    Times with coefficients stand beside the ideal ones, each in its best number of segments. Beside what is
    fastest on a fabric stand the lines of the table in `colllib.lossy`.

    Source of the coefficients shown first: Lu (2026), part 05, section 4.1.

    >>> realistic_ladder_explorer()
    Explorer: The ladder of 512 ranks, ideal and with coefficients (Primitive, Message M, What BW is, eta_beta, star, \
eta_beta, switch that adds, eta_beta, wires, eta_alpha, wires)
    """

    def losses(state: State) -> Losses:
        def of(way: Entry) -> Eta:
            if way.topology.name.startswith("inc-star"):
                return Eta(_NONE, state["adding"] if way.algorithm.primitive in _ADDS else state["star"])
            if way.topology.name.startswith("star"):
                return Eta(_NONE, state["star"])
            return Eta(state["delay"], state["wires"])

        return of

    def adding(state: State) -> dict[Fraction, str]:
        values = (Fraction(2, 5), PROFILES["nvls"].beta, _NONE)
        return {value: _plain(value) for value in values} if state["p"] in _ADDS else {_NONE: "not used"}

    star, wires = PROFILES["crossbar"], PROFILES["torus"]
    return ladder_explorer(
        (partial(rung_bars, tuple(dict.fromkeys(line.on for line in LINES)), _in_the_table),),
        messages=(100e3, ladder.ANCHOR_MESSAGE, 1e9),
        alphas=(ladder.ANCHOR_ALPHA,),
        bandwidths=(ladder.ANCHOR_BANDWIDTH,),
        extra=[
            Control("star", "eta_beta, star", (Fraction(3, 5), star.beta, _NONE), star.beta, format=_plain),
            Control("adding", "eta_beta, switch that adds", adding, depends_on=("p",), start=PROFILES["nvls"].beta),
            Control("wires", "eta_beta, wires", (Fraction(1, 5), wires.beta, _NONE), wires.beta, format=_plain),
            Control("delay", "eta_alpha, wires", (_NONE, wires.alpha), wires.alpha, format=_plain),
        ],
        losses=losses,
        title="The ladder of 512 ranks, ideal and with coefficients",
    )


_ADDS = ("reduce", "reduce-scatter", "all-reduce")  # what asks the switch to add


_TABLE = {(line.primitive, line.on, line.name) for line in LINES}


def _in_the_table(way: Entry) -> bool:
    return (way.algorithm.primitive, way.topology.name, way.algorithm.name) in _TABLE


_NONE = Fraction(1)


def _plain(value: Fraction) -> str:
    return f"{float(value):.2f}"


def _start(values: Sequence[float], wanted: float) -> float:
    return min(values, key=lambda value: abs(value - wanted))


def _note() -> str:
    owned = ", ".join(
        f"{injection(ladder.topology(spec))} on {spec.partition(':')[2]}" for spec in SPECS if "torus" in spec
    )
    return (
        "<p>Lock-step clock. A rank owns one link on the star and one per neighbor elsewhere: "
        f"{owned}, 2 on the ring, and on a mesh as many as on its torus but for the ranks at the rim. "
        "P is the best whole number of segments. The last column divides the time by the sum of the fabric's two "
        "lower bounds. </p>"
    )


def _note_on_losses() -> str:
    owned = injection(ladder.topology("torus:8x8x8"))
    return (
        f"<p>Lock-step clock. A rank owns one link on a star and {owned} on the torus. An eta_beta divides a fabric's "
        "bytes, eta_alpha multiplies its latencies; both ways through a switch that adds have the same. P is the best "
        "whole number of segments with the coefficients. Margin: times as long as the fastest.</p>"
    )


def _chart(found: Sequence[Bar], state: State) -> object:
    title = f"{state['p'].capitalize()} of {units.size(state['m'])}"
    if any(bar.ideal is not None for bar in found):
        return _pairs(found, title)
    return bars(
        {bar.label: bar.seconds for bar in found},
        value_format=lambda value: units.seconds(value, 3),
        log=True,
        highlight=[found[0].label],
        title=title,
    )


def _pairs(found: Sequence[Bar], title: str) -> Chart:
    """Two bars a rung: without losses, pale, and with them."""
    longest = max(max(bar.seconds, bar.ideal or 0) for bar in found)
    kinds = (("ideal", color(0), 0.45), ("with the coefficients", color(1), 1))
    rows = []
    for bar in found:
        drawn = "".join(
            f'<rect y="{8 * k}" width="{max(1.0, 376 * time / longest):.0f}" height="7" rx="1.5" style="fill:{hue}" '
            f'opacity="{opacity}"/>'
            for k, (time, (_, hue, opacity)) in enumerate(zip((bar.ideal or 0, bar.seconds), kinds, strict=True))
        )
        times = f"{units.seconds(bar.ideal or 0, 3)} &rarr; <b>{units.seconds(bar.seconds, 3)}</b>"
        rows.append(
            f'<div>{escape(bar.label)}: {times}</div><svg viewBox="0 0 380 18" aria-hidden="true">{drawn}</svg>'
        )
    keys = "".join(
        f'<span><svg width="26" height="10"><rect width="26" height="9" style="fill:{hue}" opacity="{opacity}"/></svg>'
        f"{name}</span>"
        for name, hue, opacity in kinds
    )
    told = "; ".join(
        f"{bar.label} {units.seconds(bar.ideal or 0, 3)}, then {units.seconds(bar.seconds, 3)}" for bar in found
    )
    body = f'<div class="cl-legend">{keys}</div>{"".join(rows)}'
    return Chart(body, f"Time without and with coefficients: {told}.", title)


def _table(found: Sequence[Bar]) -> Table:
    right: Align = "right"
    if all(bar.ideal is not None for bar in found):
        least = min(bar.ideal or 0 for bar in found)
        rows = [
            (
                bar.label,
                units.seconds(bar.ideal or 0, 4),
                units.seconds(bar.seconds, 4),
                f"{100 * (bar.seconds / (bar.ideal or 1) - 1):.0f} %",
                f"{(bar.ideal or 0) / least:.2f}",
                f"{bar.seconds / found[0].seconds:.2f}",
            )
            for bar in found
        ]
        headers = ["", "ideal", "realistic", "rise", "margin, ideal", "realistic"]
        return Table(headers, rows, align=("left", *[right] * 5))
    rows = [
        (
            bar.fabric,
            units.seconds(bar.seconds, 4),
            f"{bar.seconds / found[0].seconds:.3g}",
            str(bar.cost.n_alpha),
            str(bar.cost.n_beta),
            f"{bar.seconds / bar.floor:.2f}" if bar.floor else "",
        )
        for bar in found
    ]
    headers = ["fabric", "time", "of fastest", "n_alpha", "n_beta", "over its bound"]
    return Table(headers, rows, align=("left", *[right] * 5))


def _told(found: Sequence[Bar], otherwise: Sequence[Bar], state: State) -> str:
    first = found[0]
    told = f"Fastest: {first.label} with {units.seconds(first.seconds)}"
    if len(found) > 1:
        told += f"; next {found[1].label} with {units.seconds(found[1].seconds)}"
    if first.ideal is not None:
        before = min(found, key=lambda bar: (bar.ideal or 0, bar.label))
        told += ", as without coefficients" if before is first else f"; without coefficients it was {before.label}"
    leads = "leads, too" if otherwise[0].fabric == first.fabric else "leads instead"
    return f"{told}. With {PORTS[not state['ports']]}, {otherwise[0].fabric} {leads}."
