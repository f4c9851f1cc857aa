"""The skew explorer: an all-to-all to experts of unequal popularity on a star, a torus and a mesh."""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import numpy as np

from colllib import ladder
from colllib.algorithms import direct
from colllib.contention import hot_destination, zipf
from colllib.cost import Cost
from colllib.exact import Fractions, IntArray
from colllib.execution import execute
from colllib.show.control import Control, Part
from colllib.show.cost_explorer import prices
from colllib.show.explorer import Explorer
from colllib.show.figure import Chart
from colllib.show.lines import lines
from colllib.show.race import Form, Race, Row, only
from colllib.show.views import Dots, Rows
from colllib.units import percent

RANKS = 64
FABRICS = {"star": "star:64", "torus 8 × 8": "torus:8x8,tie=balanced", "mesh 8 × 8": "mesh:8x8"}
STRENGTHS: dict[str, dict[float, str]] = {
    "zipf": {k / 100: f"{k / 100:g}" for k in range(201)},
    "hot": {k: str(k) for k in range(1, RANKS + 1)},
}
KINDS = {"zipf": "Zipf: the k-th expert gets 1/kˢ", "hot": "one gets s times each other"}
CAPACITIES: dict[float, str] = {0: "no limit"} | {c: f"{c:g}" for c in (4, 3, 2, 1.5, 1.25, 1)}
SEEDS = (1, 2, 3)
SHOWN = [*range(1, 17), *range(20, 33, 4), *range(40, 65, 8)]  # the experts that have a point on the curve


@cache
def _routes(fabric: str) -> tuple[IntArray, IntArray]:
    """For each link crossing of the all-to-all the destination that it serves, and the link."""
    src, dst = np.divmod(np.arange(RANKS * RANKS), RANKS)
    away = src != dst
    message, link = ladder.topology(FABRICS[fabric]).router(src[away], dst[away])
    return np.asarray(dst[away][message], dtype=np.intp), link


@cache
def equal(fabric: str) -> Cost:
    """The all-to-all with equal shares, everything at once, executed."""
    return execute(direct.all_to_all(RANKS), ladder.topology(FABRICS[fabric])).cost


@cache
def popularity(kind: str, strength: float, capacity: float, seed: int) -> tuple[Fraction, ...]:
    """The share of M that every rank sends to each expert, what is dropped left out."""
    if kind == "zipf":
        shares = zipf(RANKS, strength, seed=seed)[0]
    else:
        shares = hot_destination(RANKS, int(strength), hot=int(np.random.default_rng(seed).integers(RANKS)))[0]
    limit = Fraction(capacity) / RANKS if capacity else max(shares)
    return tuple(min(share, limit) for share in shares)


@cache
def skewed(fabric: str, kind: str, strength: float, capacity: float, seed: int) -> Cost:
    """The all-to-all when everybody sends everything at once; tests hold it against `execute`."""
    shares = Fractions.of(popularity(kind, strength, capacity, seed))
    target, link = _routes(fabric)
    load = np.bincount(link, shares.numerators[target])  # whole numbers below 2^53
    return Cost(equal(fabric).n_alpha, Fraction(int(load.max()), shares.denominator))


def rows(kind: str, strength: float, capacity: float, seed: int) -> list[Row]:
    """Each fabric, with the time for equal shares as its floor."""
    costs = {fabric: skewed(fabric, kind, strength, capacity, seed) for fabric in FABRICS}
    return [Row(fabric, only(cost), floor=Form((equal(fabric),))) for fabric, cost in costs.items()]


def skew_explorer() -> Explorer:
    """How popular experts are, where they lie and what capacity cuts, M, alpha and BW: the time of the all-to-all.

    >>> skew_explorer()
    Explorer: Popular experts (Routing, Skew s, Capacity factor, Draw, Message M, Latency α, Bandwidth BW)
    """
    race = Race(rows)
    heads = "fabric = name | time | times as long as equal shares = over floor | n_alpha | n_beta"
    return Explorer(
        "Popular experts",
        [
            Control("kind", "Routing", KINDS, "zipf", kind="select"),
            Control("strength", "Skew s", lambda kind: STRENGTHS[kind], 1.0, "number"),
            Control("capacity", "Capacity factor", CAPACITIES, 0),
            Control("seed", "Draw", SEEDS, 1),
            *prices(),
        ],
        [
            Part(_curve, "Experts by popularity"),
            Dots(race, "Time on each fabric"),
            Rows(race, "Each fabric", "Each fabric in numbers", heads),
        ],
        summary="{m} from every rank take {time:star} on the star, {over:star} times as long as with equal shares; "
        "{time:torus 8 × 8} on the torus, {over:torus 8 × 8} times as long, and {time:mesh 8 × 8} on the mesh, "
        "{over:mesh 8 × 8} times.",
        note="64 ranks, one expert each, M from every rank, all sent in one step: the farthest hop and the busiest "
        "link decide. Star: one full-duplex port of BW per rank. Torus and mesh: a full-duplex link of BW per "
        "neighbor, routed along X, then Y; ties on the torus go each way equally often. A capacity factor c lets an "
        "expert take c times the mean; what exceeds it is dropped. A tick is the time for equal shares.",
        note_title="What is counted here",
    )


def _over_mean(shares: Sequence[Fraction]) -> list[float]:
    """The loads of the experts `SHOWN` over the mean, the most popular first."""
    loads = sorted(map(float, shares), reverse=True)
    return [loads[place - 1] * RANKS for place in SHOWN]


def _curve(kind: str, strength: float, capacity: float) -> Chart:
    asked, served = popularity(kind, strength, 0, SEEDS[0]), popularity(kind, strength, capacity, SEEDS[0])
    dropped = float(1 - sum(served))
    series = {"asked for": (SHOWN, _over_mean(asked))}
    if capacity:
        series["served"] = (SHOWN, _over_mean(served))
    described = f"{percent(dropped)} of all tokens dropped" if dropped else "nothing dropped"
    return lines(
        series,
        x_label="expert, by popularity",
        y_label="load over the mean",
        log_x=2,
        title=f"The first expert: {float(max(asked)) * RANKS:.2f} times the mean; {described}",
    )
