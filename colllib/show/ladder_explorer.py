"""The ladder explorer: every fabric's rung for a primitive, re-sorted as message, latency, BW and ports change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from colllib import fabrics, ladder, units
from colllib.cost import Cost
from colllib.fabrics import Rung
from colllib.show.control import Control, Part, State
from colllib.show.explorer import Explorer
from colllib.show.figure import bars
from colllib.show.table import Table

MESSAGES = (1e3, 100e3, 1e6, 16e6, 100e6, 1e9)
ALPHAS = (0.1e-6, 0.5e-6, 2e-6)
BANDWIDTHS = (100e9, 900e9)
PORTS = {False: "BW on each link", True: "BW for all links of a rank together"}
CHOICES = {False: "fastest found", True: "as Lu's table says"}


@dataclass(frozen=True)
class Bar:
    """What the explorer shows of a rung: plain data, so that rungs of other makings can stand beside these."""

    fabric: str
    algorithm: str
    cost: Cost
    seconds: float
    floor: float
    """The two lower bounds of the fabric added, in seconds; 0 where none is known."""

    @property
    def label(self) -> str:
        """The fabric and its algorithm."""
        return f"{self.fabric}: {self.algorithm}"


#: Makes the bars of a state: from primitive, message, alpha, bandwidth, equal_injection and shipped.
Source = Callable[..., Sequence[Bar]]


def rung_bars(
    specs: Sequence[str] = fabrics.FABRICS,
    *,
    primitive: str,
    message: float,
    alpha: float,
    bandwidth: float,
    equal_injection: bool,
    shipped: bool,
) -> list[Bar]:
    """The bars of `fabrics.rungs`.

    >>> at = {"message": 1e6, "alpha": 1e-6, "bandwidth": 1e9, "equal_injection": False, "shipped": False}
    >>> [bar.label for bar in rung_bars(("star:8", "ring:8"), primitive="all-to-all", **at)]
    ['star 8: pairwise', 'ring 8: rotated relay']
    """
    price = {"message": message, "alpha": alpha, "bandwidth": bandwidth}
    found = fabrics.rungs(
        primitive,
        specs,
        message=message,
        alpha=alpha,
        bandwidth=bandwidth,
        equal_injection=equal_injection,
        shipped=shipped,
    )
    return [_bar(rung, price) for rung in found]


def _bar(rung: Rung, price: dict[str, float]) -> Bar:
    spec = rung.way.fabric
    least = _floor(rung.way.primitive, spec)
    scale = fabrics.injection(spec) if rung.equal_injection else Fraction(1)
    floor = Cost(least.n_alpha, least.n_beta * scale).seconds(
        message=price["message"], alpha=price["alpha"], bandwidth=price["bandwidth"]
    )
    return Bar(fabric_name(spec), rung.label, rung.cost, rung.seconds, floor)


_floor = cache(fabrics.floor)


def fabric_name(spec: str) -> str:
    """A fabric as prose writes it.

    >>> fabric_name("torus:8x8x8"), fabric_name("full-mesh:512")
    ('torus 8x8x8', 'full mesh 512')
    """
    return spec.replace(":", " ").replace("full-mesh", "full mesh")


def ladder_explorer(sources: Sequence[Source] = (rung_bars,)) -> Explorer:
    """Primitive, M, alpha, BW and the port convention against the rungs of all fabrics of 512 ranks.

    An execution does not depend on the message: every rung is executed once (a few are counted by
    symmetry or by a closed form that tests hold against execution) and only priced per state.

    Args:
        sources: functions that give the bars of a state; those of all sources stand on one ladder.

    >>> ladder_explorer()
    Explorer: The ladder of 512 ranks (Primitive, Message M, Latency alpha, Bandwidth BW, What BW is, Algorithm)
    """

    @cache
    def found(m: float, alpha: float, bw: float, p: str, ports: bool, choice: bool) -> tuple[Bar, ...]:
        state = {"message": m, "alpha": alpha, "bandwidth": bw, "equal_injection": ports, "shipped": choice}
        bars_here = [bar for source in sources for bar in source(primitive=p, **state)]
        return tuple(sorted(bars_here, key=lambda bar: (bar.seconds, bar.label)))

    def here(state: State, **other: object) -> tuple[Bar, ...]:
        return found(**{**state, **other})

    return Explorer(
        "The ladder of 512 ranks",
        [
            Control("p", "Primitive", fabrics.PRIMITIVES, "all-reduce", kind="select"),
            Control("m", "Message M", MESSAGES, ladder.ANCHOR_MESSAGE, format=units.size),
            Control("alpha", "Latency alpha", ALPHAS, ladder.ANCHOR_ALPHA, format=units.seconds),
            Control("bw", "Bandwidth BW", BANDWIDTHS, ladder.ANCHOR_BANDWIDTH, format=units.rate),
            Control("ports", "What BW is", PORTS, False, kind="select"),
            Control("choice", "Algorithm", CHOICES, False, kind="select"),
        ],
        [
            Part(_ALL, lambda s: _chart(here(s), s), "Rungs, fastest first"),
            Part(_ALL, lambda s: _table(here(s)), "Costs of the rungs"),
            Part((), lambda s: _NOTE),
        ],
        summary=Part(_ALL, lambda s: _told(here(s), here(s, ports=not s["ports"]), s)),
    )


_ALL = ("p", "m", "alpha", "bw", "ports", "choice")
_NOTE = (
    "<p>Lock-step clock. A rank owns one link on the star, one per neighbor on a torus, ring or mesh (6 on 8x8x8, 7 on "
    "8x4x4x4, 4 on 32x16, 2 on the ring), 511 on the full mesh, which nobody builds at this size. P is the "
    "best whole number of segments. The last column divides the time by the sum of the fabric's two lower bounds. "
    "Lu's table is that of the explainer series, part 02 section 5.1.</p>"
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
    return Table(headers, rows, align=("left", "right", "right", "right", "right", "right"))


def _told(found: Sequence[Bar], otherwise: Sequence[Bar], state: State) -> str:
    first, second = found[0], found[1]
    buildable = next(bar for bar in found if not bar.fabric.startswith("full mesh"))
    told = f"Fastest: {first.label} with {units.seconds(first.seconds)}; next {second.label} with "
    told += f"{units.seconds(second.seconds)}."
    if buildable is not first:
        told += f" Of what is built at 512 ranks, {buildable.fabric} leads."
    other = next(bar for bar in otherwise if not bar.fabric.startswith("full mesh"))
    stays = "stays" if other.fabric == buildable.fabric else "changes to " + other.fabric
    convention = PORTS[not state["ports"]]
    return f"{told} With {convention}, that {stays}."
