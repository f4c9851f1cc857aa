"""Answers on direct-connect networks: a function for each table of the source, and what its text says of them."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from importlib import resources
from itertools import combinations, product
from math import gcd, log, prod
from typing import Any

import numpy as np

from colllib.algorithms import breadth_first, expansion
from colllib.algorithms.breadth_first import Transport
from colllib.claims.cases import each as runs
from colllib.claims.cases import measured, once, over, per, together
from colllib.claims.graphs import (
    ALPHA,
    WHOLE,
    Quantities,
    base,
    by_theorem,
    circulants,
    copies,
    distances_of_pairs,
    each,
    gathering,
    linear_programs,
    lines,
    loads,
    on,
    on_graph,
    power,
    shared_links,
    shells,
    topology_of,
)
from colllib.claims.runs import built, closed, place
from colllib.claims.value import Case, Cases, Rows, Table, Words
from colllib.cost import Cost
from colllib.graphs.finder import pareto
from colllib.graphs.isomorphism import isomorphism
from colllib.graphs.links import arcs
from colllib.graphs.measures import moore_diameter
from colllib.schedule import Schedule

K22, K44, C16 = "complete-bipartite:2x2", "complete-bipartite:4x4", "circulant:16x3x4"
MIXED = ("full-mesh:5", K44, "hamming:2x3", "kautz:2x6", "kautz:2x7", "debruijn:2x3", "diamond", "torus:3x2")


@cache
def stored(name: str) -> list[dict[str, str]]:
    """What a script of the project found, which takes too long here."""
    return list(csv.DictReader((resources.files(__package__) / name).read_text(encoding="utf-8").splitlines()))


# -- graphs ------------------------------------------------------------------------------------------


def prime_factors(n: int) -> list[int]:
    """Prime factors in ascending order.

    >>> prime_factors(396)
    [2, 2, 3, 3, 11]
    """
    least = next((p for p in range(2, n) if n % p == 0), n)
    return [] if n == 1 else [least, *prime_factors(n // least)]


def _kautz(d: int, n: int) -> Case:
    """The Kautz graph by formula, and as a line graph of line graphs."""
    formula, again = (
        place(f"kautz:{d}x{d ** (n + 1) + d**n}"),
        place("line-graph(" * n + f"full-mesh:{d + 1}" + ")" * n),
    )
    return {"at": f"d = {d}, n = {n}", "alike": isomorphism(formula, again) is not None}


def _two_in_a_row(n: int) -> Case:
    m = next(m for m in range(1, n) if (2 * m + 1) ** 2 >= 2 * n - 1)
    pairs = [(a, b) for a in range(1, n // 2) for b in range(a + 1, (n + 1) // 2) if gcd(n, a, b) == 1]
    own = _spread(n, m, m + 1)[1]
    least = min((_spread(n, *pair)[1] for pair in pairs if n <= 20), default=own)
    return {"at": f"n = {n}", "n": n, "m": m, "D": own, "least": least, "ring": n // 2}


def _spread(n: int, *jumps: int) -> tuple[int, int]:
    """How many ranks of a circulant one rank reaches, and in how many hops."""
    known, new, hops = {0}, {0}, -1
    while new:
        new = {(rank + way) % n for rank in new for jump in jumps for way in (jump, -jump)} - known
        known, hops = known | new, hops + 1
    return len(known), hops


def _new_cycles(sizes: str) -> int:
    """How many cycles stand where the plain graph has self-loops and pairs of opposite links."""
    plain, own = (
        {(a, b) for a, b in zip(*(part.tolist() for part in arcs(place(f"{kind}:{sizes}"))), strict=True)}
        for kind in ("debruijn", "modified-debruijn")
    )
    kept = {(a, b) for a, b in plain if (b, a) not in plain}
    onward = dict(own - kept)
    left, cycles = set(onward), 0
    while left:
        start = at = left.pop()
        while (at := onward.get(at, start)) != start:
            left.discard(at)
        cycles += 1
    return cycles


# -- breadth-first --------------------------------------------------------------------------------------


def figure() -> Cases:
    """The two receivers of the source's figure."""
    one, two = Transport((0b011, 0b010), (1, 1), (1, 1)), Transport((0b011, 0b110), (1, 1), (1, 1, 1))
    single, third = one.divided(1, 1), two.divided(3, 2)
    yield {
        "at": "Fig 3.5",
        "least": one.least_load()[0],
        "w1_v1": single[0][0],
        "w2_v2": single[1][1],
        "load": two.least_load()[0],
        "x1": Fraction(third[0][0], 3),
        "x2": Fraction(third[0][1], 3),
    }


def balances() -> Cases:
    """Three jobs on three processors in every way: whether their work is even, and whether some set is too many."""
    for masks in product(range(1, 8), repeat=3):
        sets = [[m for k, m in enumerate(masks) if chosen >> k & 1] for chosen in range(1, 8)]
        crowded = any(Fraction(len(some), np.bitwise_or.reduce(some).bit_count()) > 1 for some in sets)
        least = Transport(masks, (1, 1, 1), (1, 1, 1)).least_load()[0]
        yield {"at": "processors {:03b}, {:03b}, {:03b}".format(*masks), "even": least == 1, "free": not crowded}


def chunked(*graphs: str) -> Cases:
    """Schedules of at most P pieces beside the exact one."""
    for graph, p in product(graphs, (1, 2, 3)):
        exact, most = on(graph), breadth_first.breadth_first(place(graph)).at_most(p)
        load = Fraction(built(_in_pieces, graph, p, on=place(graph)).cost.n_beta) * exact["d"]
        yield exact.case(f"{graph}, P = {p}", P=most, chunked=load)


def _in_pieces(graph: str, pieces: int) -> Schedule:
    return breadth_first.all_gather(place(graph), pieces)


def _rings(*sizes: int) -> Schedule:
    """The traditional all-gather on a torus: rings along the axes, a copy for each order."""
    return expansion.cartesian_product(*(breadth_first.all_gather(place(f"uniring:1x{size}")) for size in sizes))


def traditional(*shapes: tuple[int, ...]) -> Cases:
    """Rings along the axes one way, beside breadth-first on the torus; T_B of each in M/B."""
    for sizes in shapes:
        one_way = "product(" * (len(sizes) - 1) + f"uniring:1x{sizes[0]}"
        one_way += "".join(f",uniring:1x{size})" for size in sizes[1:])
        done, torus = built(_rings, *sizes, on=place(one_way)), on(f"torus:{'x'.join(map(str, sizes))}")
        rings, steps = Fraction(done.cost.n_beta) * len(sizes), done.schedule.num_steps
        own = {"rings": rings, "bw_of_rings": rings == torus["best"], "ring_steps": steps}
        yield torus.case(torus["at"], equal=len(set(sizes)) == 1, **own)


def together_as_one(*graphs: str) -> Cases:
    """One linear program over all receivers and steps, which minimizes the sum of the steps' loads."""
    from scipy.optimize import linprog

    for graph in graphs:
        plan, ranks = breadth_first.breadth_first(place(graph)), range(place(graph).ranks)
        steps = len(plan.layers)
        problems = [(t, one) for t in range(steps) for u in ranks if (one := plan.transport(u, t + 1))]
        size = steps + sum(len(one.links) * len(one.capacity) for _, one in problems)
        busy, whole, wanted, most, first = [], [], [], [np.inf] * size, steps
        for t, one in problems:
            shape = len(one.links), len(one.capacity)
            amount = first + np.arange(shape[0] * shape[1]).reshape(shape)
            first += amount.size
            for k, capacity in enumerate(one.capacity):
                busy.append(np.isin(np.arange(size), amount[:, k]).astype(float))
                busy[-1][t] = -capacity
            for i, mask in enumerate(one.links):
                whole.append(np.isin(np.arange(size), amount[i]))
                wanted.append(one.owners[i])
                for k in range(shape[1]):
                    most[amount[i, k]] = np.inf if mask >> k & 1 else 0
        price = (np.arange(size) < steps).astype(float)
        done = linprog(price, busy, np.zeros(len(busy)), whole, wanted, [(0, limit) for limit in most])
        assert done.fun is not None
        yield {"at": graph, "together": Fraction(done.fun).limit_denominator(1000), "apart": sum(loads(graph))}


def kautz_by_degree() -> Cases:
    """How far generalized Kautz graphs are from the bound, at several N and by degree."""
    sizes = (20, 33, 50, 77, 100, 150, 200)
    ratios = [[on(f"kautz:{d}x{n}")["ratio"] for n in sizes] for d in (2, 4, 8)]
    means = dict(zip(("two", "four", "eight"), (sum(found) / len(found) for found in ratios), strict=True))
    yield {"at": f"N = {', '.join(map(str, sizes))}", **means, "largest": max(map(max, ratios))}


def _rings_beside(collective: str) -> Rows:
    """A ring of N in rank order, and breadth-first on the ring of N both ways."""
    ring = partial(measured, f"{collective} ring")
    return per("N", range(3, 10), ring=lambda n: ring(f"star:{n}"), bfb=lambda n: on(f"biring:2x{n}"))


def halves(n: int) -> Fraction:
    """What the links carry in the last step on a ring of N, in shards."""
    return Fraction(on(f"biring:2x{n}")["run"].cost_of([n // 2 - 1]).n_beta) * n


def _slow_link(alphas: tuple[float, ...]) -> float:
    """The linear program (A.12) for one shard over links of bandwidth 1 shard and these latencies."""
    from scipy.optimize import linprog

    count = len(alphas)
    rows = np.c_[np.eye(count), -np.ones(count)]
    done = linprog(np.r_[np.zeros(count), 1], rows, -np.array(alphas, dtype=float), [[1] * count + [0]], [1])
    return float(np.round(np.asarray(done.x)[-1], 6))


# -- expansions -------------------------------------------------------------------------------------------


def kept(build: Callable[[str, int], Quantities], *given: tuple[str, int]) -> Cases:
    """An expansion of several graphs: sizes of one, and whether what was optimal stays so in all."""
    found = [build(*one) for one in given]
    moore = all(one["is_moore"] for one in found if one["before"]["is_moore"])
    bw = all(one["bw"] for one in found if one["before"]["bw"])
    for one in found:
        yield one.case(one["at"], moore=moore, bw=bw)


def products() -> Cases:
    """Products of different graphs: sizes, and breadth-first on them."""
    pairs = [("full-mesh:3", "uniring:1x4"), ("full-mesh:3", "biring:2x5"), ("uniring:1x4", "uniring:1x5")]
    found = [(on(f"product({a},{b})"), on(a), on(b)) for a, b in pairs]
    moore, bw = (all(whole[name] for whole, _, _ in found) for name in ("is_moore", "bw"))
    for whole, a, b in found:
        factors = {f"{name}{i}": one[name] for i, one in ((1, a), (2, b)) for name in ("N", "d", "D")}
        yield whole.case(whole["at"], moore=moore, bw=bw, **factors)


#: The four families of line graphs of line graphs, by the sizes of their bases.
FAMILIES = {"eight": K44, "five": "full-mesh:5", "six": "directed-circulant:6x1x2x3x4", "nine": "hamming:2x3"}


def both_ways() -> Cases:
    """Directed graphs that are reverse-symmetric, and with their links both ways; whether optima stay."""
    named = ("kautz:2x6", "kautz:2x12", "debruijn:2x3", "directed-circulant:6x1x4", "uniring:1x5", "uniring:2x4")
    found = [(on(graph), _two_way(graph)) for graph in named]
    bw, moore = (all(after[name] for before, after in found if before[name]) for name in ("bw", "is_moore"))
    for before, after in found:
        yield after.case(after["at"], before=before, bw_kept=bw, moore_kept=moore)


def _two_way(graph: str) -> Quantities:
    wider = place(f"bidirectional({graph})")
    cost = built(_both_ways, graph, on=wider).cost
    return on_graph(wider.name, wider, lambda: cost)


def _both_ways(graph: str) -> Schedule:
    return expansion.bidirectional(breadth_first.all_gather(place(graph)), place(graph))


def made(build: Callable[..., Quantities], *arguments: tuple[Any, ...]) -> Rows:
    """Cases from what builds them, when they are asked for."""
    return lambda: [build(*given) for given in arguments]


LINED = made(lines, (K22, 1), ("full-mesh:4", 1), ("kautz:2x7", 1), ("hamming:2x3", 1))
LINED_AGAIN = made(lines, (K22, 2), (K22, 3), ("full-mesh:3", 3), ("kautz:2x5", 2))
LINED_SHORT = made(lines, ("directed-circulant:6x1x4", 1))
COPIED = made(copies, ("uniring:1x4", 2), ("full-mesh:3", 2), (K22, 2), ("kautz:2x6", 2))
POWERS = made(power, ("uniring:1x4", 2), ("full-mesh:3", 2), ("kautz:2x6", 2), (K22, 2))


# -- Tables 3.4, 3.5 and A.1 --------------------------------------------------------------------------------

#: Rows of the source's lists: where the expansions start, how often the line graph is taken, of which square.
ROWS: dict[str, tuple[str, int, bool]] = {
    "D-A-097": (K44, 1, False),
    "D-A-099": ("distance-regular:32", 0, False),
    "D-A-102": ("kautz:4x64", 0, False),
    "D-A-104": ("modified-debruijn:4x2", 1, False),
    "D-A-106": ("diamond", 0, True),
    "D-A-109": (K44, 2, False),
    "D-A-111": ("distance-regular:32", 1, False),
    "D-A-113": ("product(biring:2x8,power(uniring:1x4,2))", 0, False),
    "D-A-116": ("debruijn:4x4", 0, False),
    "D-A-118": ("modified-debruijn:4x2", 2, False),
    "D-A-120": ("diamond", 1, True),
    "D-A-125": (K44, 3, False),
    "D-A-127": ("distance-regular:32", 2, False),
    "D-A-122": ("modified-debruijn:2x4", 0, True),
    "D-A-129": ("product(power(uniring:1x4,3),uniring:1x2)", 1, False),
    "D-A-131": ("product(power(uniring:1x4,3),uniring:1x8)", 0, False),
    "D-3-034 D-3-035": ("kautz:4x1024", 0, False),
    "D-3-037 D-3-038": (C16, 3, False),
    "D-3-040 D-3-041": ("diamond", 2, True),
    "D-3-043 D-3-044": ("modified-debruijn:2x4", 1, True),
    "D-3-046 D-3-047": ("product(uniring:1x4,uniring:1x8)", 0, True),
}
LAST = [key for key in ROWS if key.startswith("D-3")]


def row(key: str) -> Quantities:
    """A row of a list."""
    return by_theorem(*ROWS[key])


def ideal(ranks: int) -> Quantities:
    """What bounds N ranks of degree 4: a tree of distances that fills every layer."""
    layers, left, hops = 0, ranks - 1, 0
    while left > 0:
        layers += 1
        hops += layers * min(left, 4**layers)
        left -= 4**layers
    cost = Cost(moore_diameter(ranks, 4), Fraction(ranks - 1, 4 * ranks))
    where = gathering(f"bound, N = {ranks}", ranks, 4, lambda: cost, D=layers)
    return where.also(f=lambda: Fraction(4, hops))


def shifted_ring() -> Quantities:
    """A ring all-reduce of 1,024 in four parts, each one way on one of two rings."""
    cost = closed("all-reduce ring", "star:1024")
    t = ALPHA * int(cost.n_alpha) + WHOLE * float(cost.n_beta)
    return Quantities({}, at="N = 1024", t=t)


def printed() -> Words:
    """Rows as a list prints them."""
    found = [*map(row, LAST), ideal(1024)]
    return Words(" ".join(f"{one['steps']} {float(one['load']):.3f} {one['D']}" for one in found))


def order() -> Cases:
    """Table 3.4 from the top to the bottom."""
    rows = [row(key) for key in LAST]
    steps, loads, times = ([one[name] for one in rows] for name in ("steps", "load", "t"))
    yield {
        "at": "N = 1024",
        "rising": steps == sorted(set(steps)),
        "falling": loads == sorted(set(loads))[::-1],
        "top": steps[0],
        "moore": rows[0]["moore"],
        "bottom": loads[-1],
        "best": rows[0]["best"],
        "lowest": 1 + times.index(min(times)),
        "over": min(times) / ideal(1024)["t"] - 1,
    }


def fitted() -> Cases:
    """Times at N = 12 from what the source fitted: 13.33 us a step, 21.60 us, 1.018e-4 us per byte of 1 MB."""
    ours, ring, short = on("circulant:12x2x3")["both"]["steps"], 2 * 11, on("biring:2x12")["both"]["steps"]
    small = [13.33 * steps + 21.60 for steps in (ours, ring, short)]
    load = 1.018e-4 * 1e6 * float(on("circulant:12x2x3")["both"]["load"])
    yield {
        "at": "N = 12",
        "ours": 100 * (1 - small[0] / small[1]),
        "short": 100 * (1 - small[2] / small[1]),
        "ours_1MB": 100 * (1 - (small[0] + load) / (small[1] + load)),
    }


def rows_of(ranks: int) -> Rows:
    """The frontier that the bases of Table A.3 lead to: steps and T_B in M/B."""

    def printed() -> Words:
        rows = pareto(ranks, 4, jumps=False)
        return Words(" ".join(f"{row.n_alpha} {float(row.n_beta_node):.3f}" for row in rows))

    return once(f"N = {ranks}", rows=printed)


def traditional_torus(side: int) -> Case:
    """An all-reduce by rings one way along both axes, in units of the time on the generalized Kautz graph."""
    ranks = side**2
    t = 2 * (ALPHA * 2 * (side - 1) + WHOLE * (1 - 1 / ranks))
    return {"at": f"N = {ranks}", "times": t / on(f"kautz:4x{ranks}")["t"]}


def most_popular(whole: int) -> Case:
    """Which last operation makes the fastest all-reduce at most N, for M/B of so many MB at 100 Gbit/s.

    The frontiers are those of the bases of Table A.3, as `scripts/frontiers.py` found them.
    """
    found = defaultdict(list)
    for one in stored("frontiers.csv"):
        price = ALPHA * int(one["steps"]) + WHOLE * whole * Fraction(one["load"])
        found[one["ranks"]].append((price, one["made"]))
    made = Counter(min(rows)[1] for rows in found.values())
    (first, wins), (_, next_wins) = made.most_common(2)
    own = {"first": Words(first), "wins": wins, "next": next_wins, "sizes": len(found)}
    return {"at": f"{whole} MB, {len(found)} sizes up to N = {max(map(int, found))}"} | own


#: The square of the line graph of a square of rings: 1,024 ranks of degree 4.
SQUARED_AGAIN = "power(line-graph(power(uniring:1x4,2)),2)"


def frontier(ranks: int, steps: int, load: Fraction, other: str) -> Cases:
    """Whether another graph of degree 4 has no fewer steps or more load than a listed one."""
    found = on(other)
    yield {
        "at": f"N = {ranks}",
        "steps": found["steps"],
        "load": found["load"],
        "efficient": not (found["steps"] < steps and found["load"] <= load),
    }


# -- all-to-all ------------------------------------------------------------------------------------------------


def product_f(*factors: str) -> Fraction:
    """f of a product: an axis at a time reaches what each factor allows its own pairs."""
    ranks = [place(graph).ranks for graph in factors]
    return min(Fraction(on(graph)["f"] * n, prod(ranks)) for graph, n in zip(factors, ranks, strict=True))


def bracketed(graph: str) -> tuple[Fraction, Fraction]:
    """What `scripts/throughputs.py` found: f of a flow on a graph, and what lengths of links leave to f."""
    place(graph)  # the ledger names it
    found = next(row for row in stored("throughputs.csv") if row["graph"] == graph)
    return Fraction(found["flow"]), Fraction(found["lengths"])


def swept(graph: str) -> Rows:
    """Two cases of a graph that takes a program too long here: f of a flow on it, and what lengths leave to f."""
    return lambda: [
        case for f in bracketed(graph) for case in with_f(graph, place(graph).ranks, partial(Fraction, f))()
    ]


def all_to_all_order() -> Cases:
    """The fastest row of Table 3.4, the faster of its first two, and how far the second is from the bound."""
    known = [bracketed(KAUTZ), bracketed(LINES)]
    far_behind = [(Fraction(0), on(graph)["bound"]) for graph in OTHERS]
    percent = (ideal(1024)["f"] / known[1][1] - 1) * 100 // 1
    yield {"at": "N = 1024", "lowest": fastest(*known, *far_behind), "faster": fastest(*known), "percent": percent}


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
    return lambda: with_f(at, prod(place(graph).ranks for graph in factors), partial(product_f, *factors))()


def with_f(at: str, ranks: int, f: Callable[[], Fraction]) -> Rows:
    """A case of an f and the time it makes."""
    return lambda: [Quantities({"f": f, "a2a": lambda: WHOLE * 4 / (ranks * float(f()))}, at=f"{at}, N = {ranks}")]


def _beside_best(graph: str, best: float) -> Rows:
    """A graph beside the best all-to-all time that the source prints."""
    return lambda: [on(graph).case(graph, best=best)]


#: The rows of Table 3.4: the two with the lowest all-to-all times, and the others.
KAUTZ, LINES = "kautz:4x1024", f"line-graph(line-graph(line-graph({C16})))"
OTHERS = (
    "line-graph(line-graph(power(diamond,2)))",
    "line-graph(power(modified-debruijn:2x4,2))",
    "power(product(uniring:1x4,uniring:1x8),2)",
)
#: us, from the largest f that Table A.1 prints for N = 256.
BEST_256 = WHOLE * 4 / (256 * 4.10e-3)


# -- Tables A.2 and A.3 ----------------------------------------------------------------------------------------


def kautz_family() -> Cases:
    """Generalized Kautz graphs of small degree; whether all of them are reverse-symmetric."""
    found = [on(f"kautz:{d}x{m}") for d in (2, 3) for m in range(d + 1, 20)]
    always = all(one["symmetric"] for one in found)
    return [one.case(one["at"], symmetric=always) for one in found]


TABLE: Table = {
    "D-2-008 D-3-016": runs(ring="all-reduce ring", tree="all-reduce double-binary-tree", sizes=(8, 16, 64)),
    "D-3-001": once("the tori", largest=lambda: max(place(f"torus:{d}").ranks for d in ("3x3x2", "3x3x3x2"))),
    "D-3-010 D-3-011 D-3-012": each(K22),
    "D-3-015": per(
        "N",
        (5, 6, 21, 22, 85, 1000, 1024),
        at=", d = 4",
        moore=lambda n: moore_diameter(n, 4),
        log=lambda n: log(n, 4),
    ),
    "D-3-017": once("64 ranks of degree 4", low=lambda: on("kautz:4x64"), even=lambda: on("torus:8x8")),
    "D-3-132": once("396 nodes", factors=lambda: len(prime_factors(396))),
    "D-A-001": once("8 ranks", twisted=lambda: on("twisted-hypercube:3"), cube=lambda: on("hypercube:3")),
    "D-A-024": once("trees of d links", d=lambda: 4, k=lambda: 5, bound=lambda: sum(4**i for i in range(6))),
    "D-A-027": each("uniring:1x5", "uniring:2x4", "uniring:4x9"),
    "D-A-028": each(*MIXED, "hypercube:3", "uniring:2x4"),
    "D-3-066 D-3-070 D-A-018 D-A-019 D-A-022 D-A-026 D-A-030 D-A-031 D-A-032 D-A-035 D-A-036 D-A-054 D-A-056": each(
        *MIXED
    ),
    "D-A-020": each("kautz:2x6", "debruijn:2x3", "uniring:1x5", "directed-circulant:6x1x2x3x4"),
    "D-A-033": each("kautz:2x7", "kautz:3x20", "kautz:4x50"),
    "D-A-038": each("full-mesh:5", K44, "hamming:2x3"),
    "D-A-048": per("N", (3, 5, 8, 64), at=", d = 2, n = 3", before=lambda n: log(n, 2), after=lambda n: log(3 * n, 6)),
    "D-A-067": lambda: [_kautz(d, n) for d, n in ((2, 1), (2, 2), (3, 1))],
    "D-A-068": each(*(f"kautz:{d}x{m}" for d in (2, 3, 4) for m in (5, 7, 12, 20, 21, 50))),
    "D-A-088": per(
        "circulant",
        [(n, *jumps) for n in (6, 8, 9, 12, 15) for jumps in combinations(range(1, n // 2), 2)],
        connected=lambda of: _spread(*of)[0] == of[0],
        coprime=lambda of: gcd(*of) == 1,
    ),
    "D-A-089": each(*circulants(10, 1, 2, 3)),
    "D-A-092 D-A-093 D-A-094": lambda: [_two_in_a_row(n) for n in range(7, 25)],
    "D-A-095": each("diamond", "modified-debruijn:2x3"),
    "D-A-096": lambda: [on("modified-debruijn:2x3").case("modified-debruijn:2x3", cycles=_new_cycles("2x3"))],
    "D-3-065 D-A-055": lambda: linear_programs(K22, "torus:3x3", C16, "kautz:2x7", "diamond"),
    "D-3-071": lambda: together_as_one(K22, "diamond", "kautz:2x7", "debruijn:2x3"),
    "D-3-067 D-3-068 D-3-069": figure,
    "D-3-072": over("all-gather dim-ring", shapes=((5,), (4, 3), (3, 3, 2), (4, 4))),
    "D-3-073": over("all-gather breadth-first", shapes=((5,), (4, 3), (3, 3, 2), (4, 4))),
    "D-3-074 D-3-137": lambda: traditional((3, 3, 2), (3, 3, 3), (4, 4), (4, 3)),
    "D-3-139": lambda: traditional((3, 3, 2), (3, 3, 3), (3, 3, 3, 2)),
    "D-3-075": each(*(f"kautz:{d}x{m}" for d in (2, 3, 4) for m in (5, 7, 12, 20, 33))),
    "D-3-076 D-A-090": each(*circulants(9, 1, 2, 3), "circulant:12x1x5", "circulant:15x1x4x5"),
    "D-A-091": each(*circulants(12, 2)),
    "D-3-077": each("twisted-torus:2", "twisted-torus:3", "twisted-torus:5", "twisted-torus:8"),
    "D-3-131": each("hypercube:3", "hypercube:4", "hypercube:5", "torus:4x4", "torus:5x5"),
    "D-3-140": once("18 and 54 ranks", small=lambda: on("torus:3x3x2"), large=lambda: on("torus:3x3x3x2")),
    # halving and doubling on the cube, whose ranks have three links each
    "D-A-005": once(
        "8 ranks",
        bfb=lambda: on("hypercube:3")["both"],
        halving=lambda: measured("all-reduce rabenseifner", "hypercube:3"),
    ),
    "D-A-006": each("hypercube:3", "twisted-hypercube:3"),
    "D-A-010": _rings_beside("all-reduce"),
    "D-A-057": lambda: shells("hypercube:3", "hamming:2x3", K44, "torus:3x3", "distance-regular:14"),
    "D-A-058": balances,
    "D-A-059 D-A-060 D-A-061": lambda: chunked("torus:5x4", "diamond", C16, "kautz:2x7", "circulant:7x2x3"),
    "D-A-063": once("K2,2", alone=lambda: _slow_link((1, 50)), after=lambda: _slow_link((1,))),
    "D-A-064": _rings_beside("all-gather"),
    "D-A-065": per("N", (4, 6, 8, 10), last=halves),
    "D-A-070 D-A-071": kautz_by_degree,
    "D-A-087": lambda: shells(*(f"distance-regular:{n}" for n in (6, 9, 10, 14, 15, 16, 21, 26, 32, 35))),
    "D-3-018": made(lines, *((K22, n) for n in range(4))),
    "D-3-019": made(lines, (K22, 1)),
    "D-3-020": lambda: distances_of_pairs(K22),
    "D-3-021": together(LINED, LINED_AGAIN),
    "D-3-022 D-3-023 D-A-042": lambda: [by_theorem(start, n) for start in FAMILIES.values() for n in range(6)],
    "D-3-024": lambda: [{"at": "n = 8"} | {name: by_theorem(start, 8)["ratio"] for name, start in FAMILIES.items()}],
    "D-3-025 D-3-026": made(copies, ("uniring:1x4", 2)),
    "D-3-027 D-A-046": COPIED,
    "D-A-015 D-A-016": both_ways,
    "D-3-028": per("l", (3, 4, 5), shared=lambda n: shared_links(f"uniring:1x{n}")),
    "D-3-029": made(power, *((f"uniring:1x{n}", 2) for n in (3, 4, 5))),
    "D-3-030": lambda: kept(lines, (K22, 1), (K22, 2), ("full-mesh:4", 1)),
    "D-3-031": lambda: kept(copies, ("full-mesh:3", 2), (K22, 2), ("uniring:1x4", 2), ("full-mesh:3", 3)),
    "D-3-032": lambda: kept(power, (K22, 2), ("full-mesh:3", 2), ("uniring:1x4", 2), ("full-mesh:2", 4)),
    "D-3-033 D-A-052": products,
    "D-A-021": together(
        made(lines, ("debruijn:2x3", 1), (K22, 1), ("kautz:2x6", 1)),
        made(copies, ("kautz:2x6", 2)),
        made(power, ("debruijn:2x3", 2), ("kautz:2x6", 2)),
    ),
    "D-A-039": LINED,
    "D-A-040": together(LINED, LINED_AGAIN),
    "D-A-041": made(
        lines,
        *((g, 1) for g in (K22, "full-mesh:4", "hamming:2x3", "kautz:2x7", "diamond", "hypercube:3", "torus:4x4")),
    ),
    "D-A-043": per(
        "d",
        (2, 4, 6, 8, 16, 32),
        N=lambda d: place(f"hamming:2x{1 + d // 2}").ranks,
        excess=lambda d: Fraction(1, (d - 1) * place(f"hamming:2x{1 + d // 2}").ranks),
    ),
    "D-A-044": together(LINED, LINED_SHORT),
    "D-A-045": together(LINED, LINED_AGAIN, LINED_SHORT),
    "D-A-047": made(copies, ("uniring:1x4", 2), ("full-mesh:3", 2), (K22, 2)),
    "D-A-049 D-A-050": POWERS,
    "D-A-051": made(power, ("uniring:1x4", 2), ("full-mesh:3", 2), ("diamond", 2)),
    **{key: made(row, (key,)) for key in ROWS},
    "D-3-049 D-3-050": made(ideal, (1024,)),
    "D-3-052": once("the bound's row", us=lambda: (267.6 / 2 - 10 * 5) / float(ideal(1024)["load"])),
    "D-3-053": lambda: [shifted_ring()],
    "D-3-057 D-3-058 D-3-060": order,
    "D-3-081 D-3-082 D-3-083 D-3-084 D-3-085 D-3-086 D-3-087 D-3-088 D-3-089 D-3-096": each(
        *("full-mesh:5", "degree(full-mesh:3,2)", "circulant:7x2x3", K44, "hamming:2x3", "degree(biring:2x5,2)"),
        *("circulant:11x2x3", "circulant:12x2x3"),
    ),
    "D-3-091 D-3-094 D-3-098": fitted,
    "D-A-134": once("N = 1024", rows=printed),
    "D-A-141": once(
        "degree 1", named=lambda: topology_of("biring:1x4") is not None, hops=lambda: on("uniring:1x4")["D"]
    ),
    "D-A-011": lambda: [most_popular(1)],
    "D-A-012": lambda: [most_popular(100)],
    "D-A-144": lambda: frontier(128, 10, Fraction(127, 128), "circulant:128x8x9"),
    "D-A-146": lambda: frontier(512, 11, Fraction(1), "line-graph(circulant:128x8x9)"),
    "D-A-147 D-3-063": lambda: frontier(1024, 20, Fraction(1023, 1024), SQUARED_AGAIN),
    "D-3-100": lambda: [{"at": "N = 1024", "times": shifted_ring()["t"] / min(row(key)["t"] for key in LAST)}],
    "D-3-101": once("Table 3.4", times=lambda: 1434 / 291.0),
    "D-3-102": lambda: [traditional_torus(31)],
    **{key: rows_of(n) for key, n in {"D-A-142": 32, "D-A-143": 64, "D-A-145": 256}.items()},
    "D-3-039 D-A-136": each(LINES),
    "D-3-059 D-3-061 D-3-062": all_to_all_order,
    "D-3-036 D-A-135": swept(KAUTZ),
    "D-A-117": swept("debruijn:4x4"),
    "D-A-121": swept("line-graph(power(diamond,2))"),
    "D-3-048 D-A-139": product_with_f("(UniRing(1,4) x UniRing(1,8))^2", *("uniring:1x4", "uniring:1x8") * 2),
    "D-3-051 D-A-140": made(ideal, (1024,)),
    "D-3-055": each("shifted-ring:1024x511"),
    "D-3-113": _beside_best("shifted-ring:256x127", BEST_256),
    "D-3-114": _beside_best("torus:16x16", BEST_256),
    "D-3-116": _beside_best("shifted-ring:1024x511", 403.5),
    "D-3-117": _beside_best("torus:32x32", 403.5),
    "D-3-105": lambda: [{"at": "N = 961", "times": on("circulant:961x21x22")["f"] / on("torus:31x31")["f"]}],
    "D-A-126": each("line-graph(line-graph(line-graph(complete-bipartite:4x4)))"),
    "D-A-098": each("line-graph(complete-bipartite:4x4)"),
    "D-A-100": each("distance-regular:32"),
    "D-A-103": each("kautz:4x64"),
    "D-A-107": product_with_f("Diamond^2", "diamond", "diamond"),
    "D-A-110": each("line-graph(line-graph(complete-bipartite:4x4))"),
    "D-A-112": each("line-graph(distance-regular:32)"),
    "D-A-114": product_with_f("BiRing(2,8) x UniRing(1,4)^2", "biring:2x8", "uniring:1x4", "uniring:1x4"),
    "D-A-123": product_with_f("DBJMod(2,4)^2", *("modified-debruijn:2x4",) * 2),
    "D-A-130": each("line-graph(product(power(uniring:1x4,3),uniring:1x2))"),
    "D-A-128": each("line-graph(line-graph(distance-regular:32))"),
    "D-A-132": product_with_f("UniRing(1,4)^3 x UniRing(1,8)", *("uniring:1x4",) * 3, "uniring:1x8"),
    **{
        key: made(ideal, (n,))
        for key, n in {"D-A-101": 32, "D-A-108": 64, "D-A-115": 128, "D-A-124": 256, "D-A-133": 512}.items()
    },
    **{
        f"D-A-{number:03}": each(f"distance-regular:{ranks}")
        for number, ranks in enumerate((6, 9, 10, 14, 15, 16, 21, 26, 32, 35, 45, 70, 80, 189, 728), 72)
    },
    "D-A-148": each(*(f"full-mesh:{m}" for m in (3, 4, 5, 8))),
    "D-A-149": each(*(f"complete-bipartite:{d}x{d}" for d in (2, 3, 4))),
    "D-A-150": each("hamming:1x4", "hamming:2x3", "hamming:3x3", "hamming:2x4"),
    "D-A-151": lambda: [
        on(f"kautz:{d}x{d**n * (d + 1)}").case(f"K({d},{n})", n=n) for d, n in ((2, 0), (2, 1), (2, 2), (3, 0), (3, 1))
    ],
    "D-A-152 D-A-153 D-A-154": kautz_family,
    "D-A-155": each(C16),
    "D-A-156": lambda: [
        on(graph).case(graph, always_moore=on("circulant:12x1x5")["is_moore"])
        for graph in ("circulant:7x2x3", "circulant:12x1x5", "circulant:15x1x4x5")
    ],
    "D-A-157": each(*(f"directed-circulant:{n}" for n in ("4x1x2", "5x1x2x3", "6x1x2x3x4", "8x1x2x3x4x5x6"))),
    "D-A-158": each("biring:2x3", "biring:2x8", "biring:4x5"),
    "D-A-159": each("uniring:1x4", "uniring:2x4", "uniring:4x5"),
    "D-A-161 D-A-162": each(*(f"debruijn:{size}" for size in ("2x2", "2x3", "3x2", "4x2", "2x1", "4x1"))),
    "D-A-160": made(base, ("diamond",)),
    "D-A-163": made(base, ("modified-debruijn:2x3",)),
    "D-A-164": made(base, ("modified-debruijn:2x4",)),
    "D-A-165": made(base, ("modified-debruijn:3x2",)),
    "D-A-166": made(base, ("modified-debruijn:4x2",)),
    "D-A-167": each(*(f"distance-regular:{n}" for n in (6, 9, 14, 21, 35))),
}
