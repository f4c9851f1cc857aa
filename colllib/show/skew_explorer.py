"""The skew explorer: an all-to-all to experts of unequal popularity on a star, a torus and a mesh."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from colllib.contention import capped, hot_destination, zipf
from colllib.exact import IntArray
from colllib.show.control import Control, Part, State
from colllib.show.explorer import Explorer
from colllib.show.lines import lines
from colllib.show.table import Table
from colllib.topology import Topology, mesh, star, torus

RANKS = 64
SIDE = 8
FABRICS: dict[str, Callable[[], Topology]] = {
    "star": lambda: star(RANKS),
    "torus 8 × 8": lambda: torus((SIDE, SIDE), tie="balanced"),
    "mesh 8 × 8": lambda: mesh((SIDE, SIDE)),
}
STRENGTHS: dict[str, Sequence[float]] = {"zipf": (0, 0.5, 0.8, 1.0, 1.2, 1.5), "hot": (1, 2, 3, 5, 10, 20)}
KINDS = {"zipf": "Zipf: the k-th expert gets 1/k^s", "hot": "one hot expert"}
CAPACITIES: dict[float, str] = {0: "no limit", 4: "4", 2: "2", 1.5: "1.5", 1.25: "1.25", 1: "1"}
SEEDS = (1, 2, 3, 4)


@dataclass(frozen=True)
class Load:
    """What an all-to-all in one step costs a fabric.

    Attributes:
        skewed: load of the busiest link, in M.
        uniform: the same with equal shares.
    """

    skewed: float
    uniform: float

    @property
    def factor(self) -> float:
        """How many times longer than with equal shares."""
        return self.skewed / self.uniform


@cache
def _routes(fabric: str) -> tuple[IntArray, IntArray, int]:
    """For each link crossing of the all-to-all the destination that it serves, and the link."""
    src, dst = np.divmod(np.arange(RANKS * RANKS), RANKS)
    away = src != dst
    where = FABRICS[fabric]()
    message, link = where.router(src[away], dst[away])
    return np.asarray(dst[away][message], dtype=np.intp), link, where.num_links


@cache
def popularity(kind: str, strength: float, capacity: float, seed: int) -> NDArray[np.float64]:
    """The share of M that every rank sends to each expert, as floats, shape (64,).

    >>> float(popularity("hot", 3, 0, 1).max() * 66)
    3.0
    """
    if kind == "zipf":
        shares = zipf(RANKS, strength, seed=seed)[:1]
    else:
        shares = hot_destination(RANKS, int(strength), hot=int(np.random.default_rng(seed).integers(RANKS)))[:1]
    if capacity:
        shares = capped(shares * RANKS, Fraction(capacity))[:1]
    return np.array([float(share) for share in shares[0]])


@cache
def load(fabric: str, kind: str, strength: float, capacity: float, seed: int) -> Load:
    """Link loads of the all-to-all when everybody sends everything at once; tests hold them against `execute`."""
    target, link, count = _routes(fabric)
    skewed = np.bincount(link, popularity(kind, strength, capacity, seed)[target], count)
    uniform = np.bincount(link, minlength=count) / RANKS
    return Load(float(skewed.max()), float(uniform.max()))


def skew_explorer() -> Explorer:
    """How popular experts are, where they lie and what capacity cuts, against the time of the all-to-all.

    64 ranks with one expert each; every rank sends the same shares; one step, so the busiest link decides.

    >>> skew_explorer()
    Explorer: Popular experts (Routing, Skew, Capacity factor, Experts placed by draw)
    """
    return Explorer(
        "Popular experts",
        [
            Control("kind", "Routing", KINDS, "zipf", kind="select"),
            Control("strength", "Skew", _strengths, depends_on=("kind",), start=1.0),
            Control("capacity", "Capacity factor", CAPACITIES, 0),
            Control("seed", "Experts placed by draw", SEEDS, 1),
        ],
        [
            Part(_SHARES, _curve, "Experts by popularity"),
            Part(_ALL, _table, "Time on each fabric"),
            Part((), lambda s: _NOTE, fold="What is counted here"),
        ],
        summary=Part(_ALL, _told),
    )


_ALL = ("kind", "strength", "capacity", "seed")
_SHARES = ("kind", "strength", "capacity")
_NOTE = (
    "<p>64 ranks, one expert each, M from every rank, large M: only bytes count. Star: one full-duplex port of BW per "
    "rank. Torus and mesh: a full-duplex link of BW per neighbor, routed along X, then Y; ties on the torus go each "
    "way equally often. A capacity factor c lets an expert take c times the mean; what exceeds it is dropped.</p>"
)


def _strengths(state: State) -> dict[float, str]:
    if state["kind"] == "zipf":
        return {s: f"s = {s:g}" for s in STRENGTHS["zipf"]}
    return {f: f"{f:g} times each other" for f in STRENGTHS["hot"]}


def _key(state: State) -> tuple[str, float, float, int]:
    return state["kind"], state["strength"], state["capacity"], state.get("seed", 1)


def _curve(state: State) -> object:
    kind, strength, capacity, seed = _key(state)
    before, after = (np.sort(popularity(kind, strength, c, seed))[::-1] * RANKS for c in (0, capacity))
    xs = np.arange(1, RANKS + 1)
    dropped = 1 - after.sum() / RANKS
    series = {"asked for": (xs.tolist(), before.tolist())}
    if capacity:
        series["served"] = (xs.tolist(), after.tolist())
    told = f"{100 * dropped:.0f} % of all tokens dropped" if capacity else "nothing dropped"
    return lines(
        series,
        x_label="expert, by popularity",
        y_label="load over the mean",
        log_x=2,
        alt=f"Load of the 64 experts, most popular first: {before[0]:.2f}, {before[1]:.2f}, {before[2]:.2f} to "
        f"{before[-1]:.2f} times the mean; {told}.",
        title=f"The first expert: {before[0]:.2f} times the mean; {told}",
    )


def _table(state: State) -> Table:
    rows = []
    for fabric in FABRICS:
        found = load(fabric, *_key(state))
        rows.append((fabric, f"{found.uniform:.2f}", f"{found.skewed:.2f}", f"{found.factor:.2f}"))
    headers = ["fabric", "uniform, M", "skewed, M", "times as long"]
    return Table(headers, rows, "The busiest link", align=("left", "right", "right", "right"))


def _told(state: State) -> str:
    found = {fabric: load(fabric, *_key(state)).factor for fabric in FABRICS}
    dropped = 1 - popularity(*_key(state)).sum()
    listed = ", ".join(f"{factor:.2f} times on the {fabric}" for fabric, factor in found.items())
    return f"Against equal shares the all-to-all takes {listed}; {100 * dropped:.0f} % is dropped."
