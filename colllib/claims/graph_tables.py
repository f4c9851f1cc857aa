"""Answers on the source's lists of direct-connect networks, and on what its text says of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from math import prod

import numpy as np

from colllib.claims.cases import Quantities, once, per
from colllib.claims.graphs import ALPHA, C16, M_OVER_B, by_theorem, gathering, on
from colllib.claims.runs import place
from colllib.claims.value import Case, Cases, Rows, Table, stored
from colllib.cost import Cost
from colllib.graphs.finder import pareto
from colllib.graphs.measures import moore_diameter
from colllib.graphs.spread import Certificate

# -- Tables 3.4, 3.5 and A.1 --------------------------------------------------------------------------------


def rows() -> list[Quantities]:
    """The source's list for 1,024 ranks, from the top to the bottom."""
    return [
        by_theorem("kautz:4x1024", 0),
        by_theorem(C16, 3),
        by_theorem("diamond", 2, squared=True),
        by_theorem("modified-debruijn:2x4", 1, squared=True),
        by_theorem("product(uniring:1x4,uniring:1x8)", 0, squared=True),
    ]


def ideal(ranks: int) -> Quantities:
    """What bounds N ranks of degree 4: a tree of distances that fills every layer."""
    layers = moore_diameter(ranks, 4)
    last = ranks - sum(4**k for k in range(layers))
    hops = sum(k * 4**k for k in range(layers)) + layers * last
    cost = Cost(layers, Fraction(ranks - 1, 4 * ranks))
    bound = gathering(f"bound, N = {ranks}", ranks, 4, lambda: cost, D=layers)
    return bound.also(f=lambda: Fraction(4, hops))


def order() -> Cases:
    """Table 3.4 from the top to the bottom."""
    steps, loads, times = ([one[name] for one in rows()] for name in ("steps", "load", "t"))
    sides = {"rising": steps == sorted(set(steps)), "falling": loads == sorted(set(loads))[::-1]}
    ends = {"top": steps[0], "moore": rows()[0]["moore"], "bottom": loads[-1], "best": rows()[0]["best"]}
    fastest_row = {"lowest_row": 1 + times.index(min(times)), "over": min(times) / ideal(1024)["t"] - 1}
    yield {"at": "N = 1024", **sides, **ends, **fastest_row}


def _frontier(ranks: int) -> str:
    """What the bases of Table A.3 lead to: steps and T_B in M/B."""
    return " ".join(f"{row.n_alpha} {float(row.n_beta_node):.3f}" for row in pareto(ranks, 4, jumps=False))


def most_popular(megabytes: int) -> Case:
    """Which last operation makes the fastest all-reduce at most N, for M/B of so many MB at 100 Gbit/s.

    The frontiers are those of the bases of Table A.3, as `scripts/frontiers.py` found them.
    """
    candidates = defaultdict(list)
    for row in stored("frontiers.csv"):
        time = ALPHA * int(row["steps"]) + M_OVER_B * megabytes * Fraction(row["load"])
        candidates[row["ranks"]].append((time, row["made"]))
    operations = Counter(min(of_size)[1] for of_size in candidates.values())
    (first, wins), (_, next_wins) = operations.most_common(2)
    at = f"{megabytes} MB, {len(candidates)} sizes up to N = {max(map(int, candidates))}"
    return {"at": at, "first": first, "wins": wins, "next": next_wins, "sizes": len(candidates)}


# -- all-to-all ------------------------------------------------------------------------------------------------


def product_f(*factors: str) -> Fraction:
    """f of a product: an axis at a time reaches what each factor allows its own pairs."""
    ranks = [place(graph).ranks for graph in factors]
    return min(Fraction(on(graph)["f"] * n, prod(ranks)) for graph, n in zip(factors, ranks, strict=True))


@cache
def _bracketed(graph: str) -> tuple[Fraction, Fraction]:
    row = next(row for row in stored("throughputs.csv") if row["graph"] == graph)
    spread, lengths = (np.array(row[name].split(), dtype=np.intp) for name in ("spread", "lengths"))
    low, high = Certificate(int(row["heat"]), spread, lengths).bracket(place(graph))
    return Fraction(row["flow"] or low), high


def bracketed(graph: str) -> tuple[Fraction, Fraction]:
    """f of a flow on a graph and what lengths of links leave to f, both found by `scripts/throughputs.py`.

    The lengths are executed, and so is the flow where the script does not store f of one that is made of trees.
    """
    place(graph)  # the ledger names it
    return _bracketed(graph)


def swept(graph: str) -> Rows:
    """Two cases of a graph that takes a linear program too long: f of a flow on it, and what lengths leave to f."""
    return lambda: (with_f(graph, place(graph).ranks, partial(Fraction, f)) for f in bracketed(graph))


def all_to_all_order() -> Cases:
    """The fastest row of Table 3.4, the faster of its first two, and how far the second is from the bound."""
    known = [bracketed(KAUTZ), bracketed(LINES)]
    far_behind = [(Fraction(0), on(graph)["bound"]) for graph in OTHERS]
    percent = (ideal(1024)["f"] / known[1][1] - 1) * 100 // 1
    fastest_rows = {"lowest_row": fastest(*known, *far_behind), "faster_row": fastest(*known)}
    yield {"at": "N = 1024", **fastest_rows, "percent": percent}


def fastest(*rows: tuple[Fraction, Fraction]) -> int:
    """Which row, from 1 on, has a flow above what lengths leave to all others.

    >>> fastest((Fraction(1), Fraction(2)), (Fraction(3), Fraction(4)))
    2
    """
    low, number = max((low, number) for number, (low, _) in enumerate(rows, 1))
    if any(high >= low for other, (_, high) in enumerate(rows, 1) if other != number):
        raise ArithmeticError("the rows are too near each other to say which is faster")
    return number


def product_with_f(at: str, *factors: str) -> Rows:
    """A product by the f of its factors."""
    return lambda: [with_f(at, prod(place(graph).ranks for graph in factors), partial(product_f, *factors))]


def with_f(at: str, ranks: int, f: Callable[[], Fraction]) -> Quantities:
    """A case of an f and the time it makes."""
    return Quantities({"f": f, "a2a": lambda: M_OVER_B * 4 / (ranks * float(f()))}, at=f"{at}, N = {ranks}")


#: The rows of Table 3.4: the two with the lowest all-to-all times, and the others.
KAUTZ, LINES = "kautz:4x1024", f"line-graph(line-graph(line-graph({C16})))"
OTHERS = (
    "line-graph(line-graph(power(diamond,2)))",
    "line-graph(power(modified-debruijn:2x4,2))",
    "power(product(uniring:1x4,uniring:1x8),2)",
)

TABLE: Table = {
    "D-3-052": once("the bound's row", us=lambda: (267.6 / 2 - 10 * 5) / float(ideal(1024)["load"])),
    "D-3-057 D-3-058 D-3-060": order,
    "D-A-134": once(
        "N = 1024",
        rows=lambda: " ".join(f"{one['steps']} {float(one['load']):.3f} {one['D']}" for one in [*rows(), ideal(1024)]),
    ),
    "D-A-011": lambda: [most_popular(1)],
    "D-A-012": lambda: [most_popular(100)],
    **{key: per((n,), rows=_frontier) for key, n in {"D-A-142": 32, "D-A-143": 64, "D-A-145": 256}.items()},
    "D-3-059 D-3-061 D-3-062": all_to_all_order,
    "D-3-036 D-A-135": swept(KAUTZ),
    "D-3-042 D-A-137": swept(OTHERS[0]),
    "D-3-045 D-A-138": swept(OTHERS[1]),
    "D-A-117": swept("debruijn:4x4"),
    "D-A-121": swept("line-graph(power(diamond,2))"),
    "D-3-048 D-A-139": product_with_f("(UniRing(1,4) x UniRing(1,8))^2", *("uniring:1x4", "uniring:1x8") * 2),
    "D-A-107": product_with_f("Diamond^2", "diamond", "diamond"),
    "D-A-114": product_with_f("BiRing(2,8) x UniRing(1,4)^2", "biring:2x8", "uniring:1x4", "uniring:1x4"),
    "D-A-123": product_with_f("DBJMod(2,4)^2", *("modified-debruijn:2x4",) * 2),
    "D-A-132": product_with_f("UniRing(1,4)^3 x UniRing(1,8)", *("uniring:1x4",) * 3, "uniring:1x8"),
}
