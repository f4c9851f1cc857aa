"""The ladder explorer: every fabric's rung for a primitive, re-sorted as message, latency, BW and ports change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial

from colllib import fabrics, ladder, units
from colllib.contention import PROFILES
from colllib.cost import Cost
from colllib.show.control import Control, Part, State
from colllib.show.explorer import Explorer
from colllib.show.figure import bars
from colllib.show.table import Align, Table

MESSAGES = (1e3, 100e3, 1e6, 16e6, 100e6, 1e9)
ALPHAS = (0.1e-6, 0.5e-6, 2e-6)
BANDWIDTHS = (100e9, 900e9)
PORTS = {False: "BW on each link", True: "BW for all links of a rank together"}

#: A wire for each pair of 512 ranks would lead every ladder, and nobody builds it.
SPECS = tuple(spec for spec in fabrics.FABRICS if not spec.startswith("full-mesh"))
CHOICES = {False: "fastest found", True: "as Lu's table says"}


@dataclass(frozen=True)
class Bar:
    """What the explorer shows of a rung: plain data, so that rungs of other makings can stand beside these.

    Attributes:
        fabric: its name in prose.
        algorithm: with its segments.
        cost: the exact cost.
        seconds: the time, with what the fabric loses.
        floor: the two lower bounds of the fabric added, in seconds; 0 where none is known.
        ideal: the time without losses, None where none are looked at.
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


#: What a fabric loses: from its name as on the command line, factors of alpha (1 or more) and of BW (1 or less).
Losses = Callable[[str], tuple[float, float]]

#: Makes the bars of a state: from primitive, message, alpha, bandwidth, equal_injection, shipped and losses.
Source = Callable[..., Sequence[Bar]]


def rung_bars(
    specs: Sequence[str] = SPECS,
    *,
    primitive: str,
    message: float,
    alpha: float,
    bandwidth: float,
    equal_injection: bool,
    shipped: bool,
    losses: Losses | None = None,
) -> list[Bar]:
    """The bars of `fabrics.rungs`, each fabric with its own losses.

    >>> at = {"message": 1e6, "alpha": 1e-6, "bandwidth": 1e9, "equal_injection": False, "shipped": False}
    >>> [bar.label for bar in rung_bars(("star:8", "ring:8"), primitive="all-to-all", **at)]
    ['star 8: pairwise', 'ring 8: rotated relay']
    """

    def fastest(spec: str, more: float, less: float) -> fabrics.Rung:
        return _fastest(primitive, spec, message, alpha * more, bandwidth * less, equal_injection, shipped)

    found = []
    for spec in specs:
        least = _floor(primitive, spec)
        scale = fabrics.injection(spec) if equal_injection else Fraction(1)
        floor = Cost(least.n_alpha, least.n_beta * scale).seconds(message=message, alpha=alpha, bandwidth=bandwidth)
        rung = best = fastest(spec, 1, 1)
        if losses is not None:
            rung = fastest(spec, *losses(spec))  # maybe in other segments, or another algorithm
        ideal = best.seconds if losses is not None else None
        found.append(Bar(fabric_name(spec), rung.label, rung.cost, rung.seconds, floor, ideal))
    return found


_floor = cache(fabrics.floor)


@cache
def _fastest(
    primitive: str, spec: str, message: float, alpha: float, bandwidth: float, equal_injection: bool, shipped: bool
) -> fabrics.Rung:
    (rung,) = fabrics.rungs(
        primitive,
        (spec,),
        message=message,
        alpha=alpha,
        bandwidth=bandwidth,
        equal_injection=equal_injection,
        shipped=shipped,
    )
    return rung


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
    choices: Mapping[bool, str] = CHOICES,
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
        choices: False for the fastest algorithms, True for those of Lu's table, and what the reader sees of each.
        extra: controls beside these, such as one for what a fabric loses.
        losses: what each fabric loses in a state; times are then shown with and without.
        title: the heading.

    Rungs of switches that add and replicate: ``ladder_explorer((partial(rung_bars, (*SPECS, "inc-star:512")),))``.

    >>> ladder_explorer()
    Explorer: The ladder of 512 ranks (Primitive, Message M, Latency alpha, Bandwidth BW, What BW is, Algorithm)
    """

    @cache
    def found(*chosen: object) -> tuple[Bar, ...]:
        s = dict(zip(names, chosen, strict=True))
        state = {"message": s["m"], "alpha": s["alpha"], "bandwidth": s["bw"]}
        state |= {"equal_injection": s["ports"], "shipped": s["choice"]}
        if losses is not None:
            state["losses"] = losses(s)
        bars_here = [bar for source in sources for bar in source(primitive=s["p"], **state)]
        return tuple(sorted(bars_here, key=lambda bar: (bar.seconds, bar.label)))

    def here(state: State, **other: object) -> tuple[Bar, ...]:
        return found(*({**fixed, **state, **other}[name] for name in names))

    offered = [
        Control("p", "Primitive", fabrics.PRIMITIVES, "all-reduce", kind="select"),
        Control("m", "Message M", messages, _start(messages, ladder.ANCHOR_MESSAGE), format=units.size),
        Control("alpha", "Latency alpha", alphas, _start(alphas, ladder.ANCHOR_ALPHA), format=units.seconds),
        Control("bw", "Bandwidth BW", bandwidths, _start(bandwidths, ladder.ANCHOR_BANDWIDTH), format=units.rate),
        Control("ports", "What BW is", PORTS, False, kind="select"),
        Control("choice", "Algorithm", choices, next(iter(choices)), kind="select"),
        *extra,
    ]
    names = tuple(control.name for control in offered)
    controls = [control for control in offered if len(control.choices({})) > 1]
    fixed = {control.name: control.start for control in offered if control not in controls}
    moved = tuple(control.name for control in controls)
    return Explorer(
        title,
        controls,
        [
            Part(moved, lambda s: _chart(here(s), fixed | s), "Rungs, fastest first"),
            Part(moved, lambda s: _table(here(s)), "Costs of the rungs"),
            Part((), lambda s: _note()),
        ],
        summary=Part(moved, lambda s: _told(here(s), here(s, ports=not s["ports"]), s)),
    )


def realistic_ladder_explorer() -> Explorer:
    """The ladder with rungs of a switch that takes part, and coefficients that the reader sets for each fabric.

    Times with coefficients stand beside the ideal ones. Every fabric runs what is fastest with its
    own coefficients, in the best number of segments.

    Source of the coefficients shown first: Lu (2026), part 05, section 4.1.

    >>> realistic_ladder_explorer()
    Explorer: The ladder of 512 ranks, ideal and with coefficients (Primitive, Message M, What BW is, eta_beta, star, \
eta_beta, switch that adds, eta_beta, wires, eta_alpha, wires)
    """

    def losses(state: State) -> Losses:
        adds = state["p"] in ("reduce", "reduce-scatter", "all-reduce")

        def of(spec: str) -> tuple[float, float]:
            if spec.startswith("inc-star"):
                return 1.0, float(state["adding"] if adds else state["star"])
            if spec.startswith("star"):
                return 1.0, float(state["star"])
            return float(state["delay"]), float(state["wires"])

        return of

    star, adding, wires = (PROFILES[name] for name in ("crossbar", "nvls", "torus"))
    return ladder_explorer(
        (partial(rung_bars, ("star:512", "inc-star:512", "torus:8x8x8", "torus:8x4x4x4", "mesh:8x8x8")),),
        messages=(100e3, ladder.ANCHOR_MESSAGE, 1e9),
        alphas=(ladder.ANCHOR_ALPHA,),
        bandwidths=(ladder.ANCHOR_BANDWIDTH,),
        choices={False: CHOICES[False]},
        extra=[
            Control("star", "eta_beta, star", (Fraction(3, 5), star.beta, _NONE), star.beta, format=_plain),
            Control(
                "adding", "eta_beta, switch that adds", (adding.beta, star.beta, _NONE), adding.beta, format=_plain
            ),
            Control("wires", "eta_beta, wires", (Fraction(2, 5), wires.beta, _NONE), wires.beta, format=_plain),
            Control("delay", "eta_alpha, wires", (_NONE, wires.alpha), wires.alpha, format=_plain),
        ],
        losses=losses,
        title="The ladder of 512 ranks, ideal and with coefficients",
    )


_NONE = Fraction(1)


def _plain(value: Fraction) -> str:
    return f"{float(value):.2f}"


def _start(values: Sequence[float], wanted: float) -> float:
    return min(values, key=lambda value: abs(value - wanted))


def _note() -> str:
    owned = ", ".join(f"{fabrics.injection(spec)} on {spec.partition(':')[2]}" for spec in SPECS if "torus" in spec)
    return (
        "<p>Lock-step clock. A rank owns one link on the star and one per neighbor elsewhere: "
        f"{owned}, 2 on the ring, and on a mesh as many as on its torus but for the ranks at the rim. "
        "P is the best whole number of segments. The last column divides the time by the sum of the fabric's two "
        "lower bounds, without losses. Lu's table is that of the explainer series, part 02 section 5.1.</p>"
    )


def _chart(found: Sequence[Bar], state: State) -> object:
    return bars(
        {bar.label: bar.seconds for bar in found},
        value_format=lambda value: units.seconds(value, 3),
        log=True,
        highlight=[found[0].label],
        title=f"{state['p'].capitalize()} of {units.size(state['m'])}",
    )


def _table(found: Sequence[Bar]) -> Table:
    both = any(bar.ideal is not None for bar in found)
    rows = [
        (
            bar.fabric,
            units.seconds(bar.seconds, 4),
            *((units.seconds(bar.ideal, 4) if bar.ideal is not None else "",) if both else ()),
            f"{bar.seconds / found[0].seconds:.3g}",
            str(bar.cost.n_alpha),
            str(bar.cost.n_beta),
            f"{bar.seconds / bar.floor:.2f}" if bar.floor else "",
        )
        for bar in found
    ]
    headers = [
        "fabric",
        *(["realistic", "ideal"] if both else ["time"]),
        "of fastest",
        "n_alpha",
        "n_beta",
        "over its bound",
    ]
    right: Align = "right"
    return Table(headers, rows, align=("left", *[right] * (len(headers) - 1)))


def _told(found: Sequence[Bar], otherwise: Sequence[Bar], state: State) -> str:
    first = found[0]
    told = f"Fastest: {first.label} with {units.seconds(first.seconds)}"
    if len(found) > 1:
        told += f"; next {found[1].label} with {units.seconds(found[1].seconds)}"
    leads = "leads, too" if otherwise[0].fabric == first.fabric else "leads instead"
    return f"{told}. With {PORTS[not state['ports']]}, {otherwise[0].fabric} {leads}."
