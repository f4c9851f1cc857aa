"""Answers on graphs and on all-gathers over them: a graph's quantities by name, what its schedules cost."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial, reduce
from itertools import combinations, product
from math import gcd, log
from operator import truediv
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, shortest_path

from colllib.algorithms import breadth_first, expansion, synthesis
from colllib.algorithms.breadth_first import BreadthFirst, Transport
from colllib.claims.cases import Quantities, once, per
from colllib.claims.runs import built, by_formula, makes, place, proves
from colllib.claims.value import Case, Cases, Rows, Table
from colllib.cost import Cost
from colllib.exact import counted
from colllib.execution import Execution
from colllib.graphs import measures
from colllib.graphs.isomorphism import isomorphism, reversal
from colllib.graphs.links import arcs
from colllib.graphs.operations import transpose
from colllib.graphs.throughput import distance_bound, throughput
from colllib.schedule import Schedule, Step, placed, reversed_in_time
from colllib.topology import Lattice, Topology
from colllib.topology.cuts import diameter, distances

#: Up to so many ranks a schedule is executed; above, its cost is that of its transportation problems.
EXECUTED = 64
MIB = 2**20  # bytes; with 10^6 no row of the source's times comes out
ALPHA = 10.0  # us
M_OVER_B = MIB * 8 / 100e9 * 1e6  # us, of 1 MiB at 100 Gbit/s


def on(graph: str) -> Quantities:
    """A graph and the breadth-first all-gather on it: `load` is T_B in M/B, B the egress of a rank over all its ports.

    >>> bounds = on("complete-bipartite:2x2")
    >>> bounds["steps"], bounds["load"], bounds["moore"]
    (2, Fraction(3, 4), 2)
    """
    place(graph)
    return _on(graph)


@cache
def _on(graph: str) -> Quantities:
    topology = place(graph)
    ports = measures.degree(topology)
    # p1, p2, ... are the numbers of its name; those of a circulant are N and its jumps
    numbers = re.fullmatch(r"[a-z-]+:([\dx]+)", graph)
    sizes = {f"p{k}": int(size) for k, size in enumerate(numbers[1].split("x"), 1)} if numbers else {}
    return on_graph(graph, topology, lambda: _cost(graph), jumps=len(sizes) - 1, **sizes).also(
        loops=lambda: bool((topology.link_src == topology.link_dst).any()),
        sums=lambda: sum(loads(graph)),
        optimal=lambda: sum(loads(graph)) == Fraction(topology.ranks - 1, ports),
        radius=lambda: int(distances(topology).max(axis=1).min()),  # of the rank that has the nearest farthest rank
        smaller=lambda: measures.moore_bound(ports, diameter(topology) - 2),
        adds=lambda: added(built(breadth_first.reduce_scatter, topology, on=topology)),
        full=lambda: always_full(built(breadth_first.all_gather, topology, on=topology)),
        even=lambda: _even_layers(graph),
        f=lambda: throughput(topology),
        bound=lambda: distance_bound(topology),
        pieces=lambda: breadth_first.breadth_first(topology).pieces,
        run=lambda: built(breadth_first.all_gather, topology, on=topology),
        proved=lambda: proves(breadth_first.all_gather, topology, on=topology),
        scatters=lambda: (
            proves(_reversed, graph, on=transpose(topology))
            and makes("reduce-scatter", built(_reversed, graph, on=transpose(topology)))
        ),
        turned=lambda: _steps_and_load(built(_reversed, graph, on=transpose(topology)).cost, ports),
        image=lambda: _steps_and_load(built(_carried_over, graph, on=topology).cost, ports),
        back=lambda: _steps_and_load(built(breadth_first.reduce_scatter, topology, on=topology).cost, ports),
        both=lambda: _steps_and_load(built(breadth_first.all_reduce, topology, on=topology).cost, ports),
    )


def _steps_and_load(cost: Cost, ports: int) -> dict[str, Any]:
    return {"steps": int(cost.n_alpha), "load": Fraction(cost.n_beta) * ports}


def _reversed(graph: str) -> Schedule:
    return reversed_in_time(breadth_first.all_gather(place(graph)))


def _carried_over(graph: str) -> Schedule:
    """What belongs on the graph with its links turned round, by an isomorphism, on the graph itself."""
    image = isomorphism(transpose(place(graph)), place(graph))
    assert image is not None
    return placed(_reversed(graph), image.tolist())


def loads(graph: str) -> tuple[Fraction, ...]:
    """What the busiest link carries in each step of a breadth-first all-gather, in shards."""
    return breadth_first.breadth_first(place(graph)).loads


def _cost(graph: str) -> Cost:
    topology = place(graph)
    if topology.ranks <= EXECUTED:
        return built(breadth_first.all_gather, topology, on=topology).cost
    return by_formula(breadth_first.all_gather_cost(topology), graph, "lock-step")


def gathering(at: str, ranks: int, ports: int, cost: Callable[[], Cost], **known: Any) -> Quantities:
    """Steps, load and what follows from them, of any all-gather."""
    best = Fraction(ranks - 1, ranks)
    quantities: Quantities
    functions: dict[str, Callable[[], Any]] = {
        "cost": cost,
        "steps": lambda: int(quantities["cost"].n_alpha),
        "load": lambda: Fraction(quantities["cost"].n_beta) * ports,
        "ratio": lambda: quantities["load"] / best,
        "bw_optimal": lambda: quantities["load"] == best,
        "moore": lambda: measures.moore_diameter(ranks, ports),
        "moore_both": lambda: measures.moore_diameter(ranks, ports, undirected=True),
        "moore_optimal": lambda: quantities["steps"] == quantities["moore"],
        "t": lambda: 2 * (ALPHA * quantities["steps"] + M_OVER_B * float(quantities["load"])),
        "a2a": lambda: M_OVER_B * ports / (ranks * float(quantities["f"])),
        "a2a_least": lambda: M_OVER_B * ports / (ranks * float(quantities["bound"])),
    }
    quantities = Quantities(functions, at=at, N=ranks, d=ports, best=best, **known)
    return quantities


def on_graph(name: str, topology: Topology, cost: Callable[[], Cost], **known: Any) -> Quantities:
    """What any all-gather on a graph comes to, and what the graph is."""
    return gathering(name, topology.ranks, measures.degree(topology), cost, **known).also(
        D=lambda: diameter(topology),
        symmetric=lambda: reversal(topology) is not None,
        multi=lambda: len(topology.tiers) > 1 or topology.tiers[0].cables > 1,
    )


def each(*graphs: str) -> Rows:
    """A case for each graph."""
    return lambda: map(on, graphs)


def _even_layers(graph: str) -> bool:
    """Whether layers are even and every link's load in each step is the layer's d-th part."""
    topology = place(graph)
    parts = [Fraction(int(n), measures.degree(topology)) for n in measures.layers(topology)[0, 1:]]
    return measures.even_layers(topology) and list(loads(graph)) == parts


# -- schedules and their expansions ------------------------------------------------------------------


#: Graphs whose best all-gather is not breadth-first: pieces of a shard, and how many a link carries in each step.
IN_FULL_STEPS = {
    "diamond": (2, (2, 2, 3)),
    "modified-debruijn:2x3": (2, (2, 2, 2, 1)),
    "modified-debruijn:2x4": (2, (2, 2, 4, 2, 5)),
    "modified-debruijn:3x2": (3, (2, 3, 3)),
    "modified-debruijn:4x2": (4, (3, 3, 9)),
}


def gathers(graph: str) -> Schedule:
    """The all-gather that expansions start from: breadth-first, or in full steps where that takes a search."""
    if graph in IN_FULL_STEPS:
        pieces, loads = IN_FULL_STEPS[graph]
        return synthesis.all_gather(place(graph), pieces=pieces, loads=loads)
    return breadth_first.all_gather(place(graph))


def base(graph: str) -> Quantities:
    """The all-gather that expansions start from, executed."""
    topology = place(graph)
    return on_graph(graph, topology, lambda: built(gathers, graph, on=topology).cost).also(
        run=lambda: built(gathers, graph, on=topology), breadth_first=lambda: on(graph)["load"]
    )


def _expansion(kind: str, graph: str, times: int) -> Schedule:
    schedule = gathers(graph)
    if kind == "power":
        return expansion.cartesian_product(*[schedule] * times)
    if kind == "copies":
        return expansion.degree_expansion(schedule, place(graph), times)
    if kind == "both-ways":
        return expansion.bidirectional(schedule, place(graph))
    for _ in range(times):
        schedule, graph = expansion.line_graph(schedule, place(graph)), f"line-graph({graph})"
    return schedule


def _expanded(kind: str, graph: str, times: int = 1) -> Quantities:
    names = {
        "lines": "line-graph(" * times + graph + ")" * times,
        "copies": f"degree({graph},{times})",
        "power": f"power({graph},{times})",
        "both-ways": f"bidirectional({graph})",
    }
    name = names[kind]
    before = base(graph)
    topology = place(name)
    run = partial(built, _expansion, kind, graph, times, on=topology)
    known = {"before": before, "n": times, "N0": before["N"], "d0": before["d"]}
    quantities = on_graph(name, topology, lambda: run().cost, **known)
    return quantities.also(
        proved=lambda: proves(_expansion, kind, graph, times, on=topology),
        last=lambda: Fraction(run().cost_of([quantities["steps"] - 1]).n_beta) * topology.ranks,
        fresh=lambda: breadth_first.all_gather_cost(topology).n_beta * quantities["d"],
    )


#: All-gathers on line graphs of line graphs, degree expansions and Cartesian powers of a graph, and on a graph with its
#: links both ways, executed: beside them what they come from, as `before`.
lines, copies, power, both_ways = (partial(_expanded, kind) for kind in ("lines", "copies", "power", "both-ways"))


def by_theorem(graph: str, times: int, squared: bool = False) -> Quantities:
    """The line graph, taken so many times, of a graph or of its Cartesian square, by the theorems on them."""
    topology = place(graph)
    start = on(graph)
    ranks, ports, hops = topology.ranks, start["d"], start["D"]
    cost = built(gathers, graph, on=topology).cost if graph in IN_FULL_STEPS else start["cost"]
    steps, load = _steps_and_load(cost, ports).values()
    if squared:
        load *= Fraction(ranks, ranks - 1) * Fraction(ranks**2 - 1, ranks**2)
        steps, hops, ranks, ports = 2 * steps, 2 * hops, ranks**2, 2 * ports
    for _ in range(times):
        load += Fraction(1, ranks)
        steps, hops, ranks = steps + 1, hops + 1, ranks * ports
    name = f"{graph}^2" if squared else graph
    name = f"L^{times}({name})" if times else name
    cost = Cost(steps, load / ports)
    noted = partial(by_formula, cost, graph, "lock-step") if times or squared else lambda: cost
    return gathering(f"{name}, N = {ranks}", ranks, ports, noted, D=hops, N0=topology.ranks)


# -- what a schedule does in each step --------------------------------------------------------------


def always_full(run: Execution) -> bool:
    """Whether in every step all ports, self-loops too, carry equally much, and no rank receives anything twice."""
    width = list(run.topology.bandwidth)
    busy = (map(truediv, run.link_load(t), width) for t in range(run.schedule.num_steps))
    messages = Step.joined(list(run.schedule.steps))
    received_once = np.unique(messages[1:3], axis=1).shape[1] == len(messages.dst)
    return received_once and all(len(set(loads)) == 1 for loads in busy)


def added(run: Execution) -> Fraction:
    """What the rank with most to add in each step adds, in units of M, summed over the steps."""
    share = run.schedule.blocks.share
    most = (counted(step.dst, share.numerators[step.block], run.schedule.ranks).max() for step in run.schedule.steps)
    return Fraction(int(sum(most)), share.denominator)


def shared_links(graph: str) -> int:
    """How many links some step of a square's all-gather loads with both copies, each with its own order of axes."""
    schedule = _expansion("power", graph, 2)
    pieces = len(schedule.blocks) // schedule.ranks // 2  # of each copy
    both = 0
    for step in schedule.steps:
        link = step.src * schedule.ranks + step.dst
        first = step.block // pieces % 2 == 0
        both += len(np.intersect1d(link[first], link[~first]))
    return both


def linear_programs(*graphs: str) -> Cases:
    """The linear program beside the closed form: every step of one receiver."""
    for graph in graphs:
        plan = BreadthFirst(place(graph))
        for t in range(1, len(plan.layers) + 1):
            transport = plan.transport(0, t)
            if transport is not None:
                program, closed = plan.linear_program(0, t), transport.least_load()[0]
                yield {"at": f"{graph}, step {t}", "program": program, "closed": closed}


def distances_of_pairs(graph: str) -> Cases:
    """Pairs of links, neither following the other, and how many are one hop further apart in the line graph."""
    topology = place(graph)
    (src, dst), hops = arcs(topology), distances(topology)
    hops_of_links = distances(place(f"line-graph({graph})"))
    apart = (dst[:, None] != src) & ~np.eye(len(src), dtype=bool)
    longer = apart & (hops_of_links == hops[dst][:, src] + 1)
    yield {"at": graph, "pairs": int(apart.sum()), "longer": int(longer.sum())}


def shells(*graphs: str) -> Cases:
    """Of undirected graphs and distances x: N_x, a_x and b_x where they are constants."""
    for graph in graphs:
        hops = distances(place(graph))
        near = hops == 1
        for x in range(1, int(hops.max()) + 1):
            sizes = {int((row == x).sum()) for row in hops}
            a = {int(((hops[u] == x) & (hops[w] == x - 1)).sum()) for u, w in np.argwhere(near)}
            b = {int((near[u] & (hops[v] == x - 1)).sum()) for u, v in np.argwhere(hops == x)}
            if max(len(sizes), len(a), len(b)) == 1:
                yield on(graph).case(f"{graph}, x = {x}", N_x=sizes.pop(), a_x=a.pop(), b_x=b.pop())


def circulants(most: int, *counts: int) -> list[str]:
    """All connected circulants of up to so many ranks whose jumps are different and below N / 2.

    >>> circulants(5, 2)
    ['circulant:5x1x2']
    """
    return [
        f"circulant:{n}x{'x'.join(map(str, jumps))}"
        for n in range(3, most + 1)
        for count in counts
        for jumps in combinations(range(1, (n + 1) // 2), count)
        if gcd(n, *jumps) == 1
    ]


def _is_named(expression: str) -> bool:
    """Whether there is a topology of that expression."""
    try:
        place(expression)
        return True
    except ValueError:
        return False


K22, K44, C16 = "complete-bipartite:2x2", "complete-bipartite:4x4", "circulant:16x3x4"
DISTANCE_REGULAR = [f"distance-regular:{n}" for n in (6, 9, 10, 14, 15, 16, 21, 26, 32, 35)]

# -- graphs ------------------------------------------------------------------------------------------


def _kautz(d: int, n: int) -> Case:
    """The Kautz graph by formula, and as a line graph of line graphs."""
    formula = place(f"kautz:{d}x{d ** (n + 1) + d**n}")
    again = place("line-graph(" * n + f"full-mesh:{d + 1}" + ")" * n)
    return {"at": f"d = {d}, n = {n}", "alike": isomorphism(formula, again) is not None}


def _two_in_a_row(n: int) -> Case:
    m = next(m for m in range(1, n) if (2 * m + 1) ** 2 >= 2 * n - 1)
    pairs = [(a, b) for a in range(1, n // 2) for b in range(a + 1, (n + 1) // 2) if gcd(n, a, b) == 1]
    hops = int(_hops(n, m, m + 1).max())
    least = min((int(_hops(n, *pair).max()) for pair in pairs if n <= 20), default=hops)
    return {"at": f"n = {n}", "n": n, "m": m, "D": hops, "least": least, "ring": n // 2}


def _hops(n: int, *jumps: int) -> NDArray[np.float64]:
    """How far rank 0 of a circulant is from each rank, inf where it does not reach one."""
    links = (np.arange(n)[:, None] - np.arange(n)) % n
    hops: NDArray[np.float64] = shortest_path(np.isin(links, jumps), directed=False, unweighted=True, indices=0)
    return hops


def _new_cycles(sizes: str) -> int:
    """How many cycles stand where the plain graph has self-loops and pairs of opposite links."""
    graphs = (place(f"{kind}:{sizes}") for kind in ("debruijn", "modified-debruijn"))
    plain, modified = (set(map(tuple, np.transpose(arcs(graph)).tolist())) for graph in graphs)
    src, dst = np.array(sorted(modified - {(a, b) for a, b in plain if (b, a) not in plain})).T
    cycle = connected_components(coo_array((np.ones(len(src)), (src, dst))))[1]
    return len(set(cycle[src].tolist()))


# -- breadth-first --------------------------------------------------------------------------------------


def figure() -> Cases:
    """The two receivers of the source's figure."""
    left = Transport((0b011, 0b010), (1, 1), (1, 1))
    right = Transport((0b011, 0b110), (1, 1), (1, 1, 1))
    shards, thirds = left.divided(1, 1), right.divided(3, 2)
    of_left = {"least": left.least_load()[0], "w1_v1": shards[0][0], "w2_v2": shards[1][1]}
    of_right = {"load": right.least_load()[0], "x1": Fraction(thirds[0][0], 3), "x2": Fraction(thirds[0][1], 3)}
    yield {"at": "Fig 3.5", **of_left, **of_right}


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
        exact = on(graph)
        most = breadth_first.breadth_first(place(graph)).at_most(p)
        load = Fraction(built(breadth_first.all_gather, place(graph), p, on=place(graph)).cost.n_beta) * exact["d"]
        yield exact.case(f"{graph}, P = {p}", P=most, chunked=load)


def _rings(*sizes: int) -> Schedule:
    """The traditional all-gather on a torus: rings along the axes, a copy for each order."""
    return expansion.cartesian_product(*(breadth_first.all_gather(place(f"uniring:1x{size}")) for size in sizes))


def traditional(*shapes: tuple[int, ...]) -> Cases:
    """Rings along the axes one way, beside breadth-first on the torus; T_B of each in M/B."""
    for sizes in shapes:
        one_way = reduce(lambda first, ring: f"product({first},{ring})", (f"uniring:1x{size}" for size in sizes))
        done = built(_rings, *sizes, on=place(one_way))
        torus = on(f"torus:{Lattice(sizes)}")
        rings = Fraction(done.cost.n_beta) * len(sizes)
        of_rings = {"rings": rings, "bw_of_rings": rings == torus["best"], "ring_steps": done.schedule.num_steps}
        yield torus.case(torus["at"], equal=len(set(sizes)) == 1, **of_rings)


def together_as_one(*graphs: str) -> Cases:
    """One linear program over all receivers and steps, which minimizes the sum of the steps' loads."""
    from scipy.optimize import linprog

    for graph in graphs:
        plan = breadth_first.breadth_first(place(graph))
        steps = np.arange(len(plan.layers))
        problems = [
            (t, plan.transport(receiver, t + 1)) for t in steps.tolist() for receiver in range(place(graph).ranks)
        ]
        numbered = [(n, t, one) for n, (t, one) in enumerate(problems) if one is not None]
        # a variable for the load of each step, and one for what a link brings of the owners of one class
        links = np.array([(n, link, t, width) for n, t, one in numbered for link, width in enumerate(one.capacity)])
        kinds = np.array([(n, kind, count) for n, _, one in numbered for kind, count in enumerate(one.owners)])
        masks = [(n, kind, mask) for n, _, one in numbered for kind, mask in enumerate(one.links)]
        amounts = np.array(
            [(n, k, link) for n, k, mask in masks for link in range(mask.bit_length()) if mask >> link & 1]
        )
        loaded = np.c_[-links[:, 3:] * (links[:, 2:3] == steps), (links[:, None, :2] == amounts[:, ::2]).all(axis=2)]
        complete = np.c_[np.zeros((len(kinds), len(steps))), (kinds[:, None, :2] == amounts[:, :2]).all(axis=2)]
        price = np.r_[np.ones(len(steps)), np.zeros(len(amounts))]
        solution = linprog(price, loaded, np.zeros(len(links)), complete, kinds[:, 2])
        assert solution.fun is not None
        yield {"at": graph, "together": Fraction(solution.fun).limit_denominator(1000), "apart": sum(loads(graph))}


def kautz_by_degree() -> Cases:
    """How far generalized Kautz graphs are from the bound, at several N and by degree."""
    sizes = (20, 33, 50, 77, 100, 150, 200)
    ratios = [[on(f"kautz:{d}x{n}")["ratio"] for n in sizes] for d in (2, 4, 8)]
    means = dict(zip(("two", "four", "eight"), map(mean, ratios), strict=True))
    yield {"at": f"N = {', '.join(map(str, sizes))}", **means, "largest": max(map(max, ratios))}


def _slow_link(alphas: tuple[float, ...]) -> float:
    """The linear program (A.12) for one shard over links of bandwidth 1 shard and these latencies."""
    from scipy.optimize import linprog

    count = len(alphas)
    rows = np.c_[np.eye(count), -np.ones(count)]
    done = linprog(np.r_[np.zeros(count), 1], rows, -np.array(alphas, dtype=float), [[1] * count + [0]], [1])
    return float(np.round(np.asarray(done.x)[-1], 6))


def products() -> Cases:
    """Products of different graphs: sizes, and breadth-first on them."""
    pairs = [("full-mesh:3", "uniring:1x4"), ("full-mesh:3", "biring:2x5"), ("uniring:1x4", "uniring:1x5")]
    graphs = [(on(f"product({a},{b})"), on(a), on(b)) for a, b in pairs]
    optimal = {name: all(graph[name] for graph, _, _ in graphs) for name in ("moore_optimal", "bw_optimal")}
    for graph, *factors in graphs:
        sizes = {f"{name}{i}": factor[name] for i, factor in enumerate(factors, 1) for name in ("N", "d", "D")}
        yield graph.case(graph["at"], **optimal, **sizes)


#: Bases of the source's table of which there is a generalized Kautz graph with as many ranks and links.
BASES = (
    *("full-mesh:5", K22, K44, "hamming:2x3", "directed-circulant:6x1x2x3x4", "debruijn:2x3", "debruijn:4x2"),
    *("circulant:12x2x3", C16, "uniring:2x4", "biring:2x5", "biring:2x8", "biring:4x5", *list(IN_FULL_STEPS)),
    *DISTANCE_REGULAR,
)


def beside_bases() -> Cases:
    """Generalized Kautz graphs, each beside a base of the same size and degree, on which an all-gather is executed."""
    for graph in BASES:
        other = base(graph)
        yield on(f"kautz:{other['d']}x{other['N']}").case(graph, base=other)


def kautz_family() -> Cases:
    """Generalized Kautz graphs of small degree; whether all of them are reverse-symmetric."""
    graphs = [on(f"kautz:{d}x{m}") for d in (2, 3) for m in range(d + 1, 20)]
    always = all(graph["symmetric"] for graph in graphs)
    return [graph.case(graph["at"], symmetric=always) for graph in graphs]


TABLE: Table = {
    "D-3-015": per(
        (5, 6, 21, 22, 85, 1000, 1024),
        at=", d = 4",
        moore=lambda n: measures.moore_diameter(n, 4),
        log=lambda n: log(n, 4),
    ),
    "D-A-024": once("trees of d links", d=lambda: 4, k=lambda: 5, bound=lambda: sum(4**i for i in range(6))),
    "D-A-048": per((3, 5, 8, 64), at=", d = 2, n = 3", before=lambda n: log(n, 2), after=lambda n: log(3 * n, 6)),
    "D-A-067": lambda: [_kautz(d, n) for d, n in ((2, 1), (2, 2), (3, 1))],
    "D-A-088": per(
        [(n, *jumps) for n in (6, 8, 9, 12, 15) for jumps in combinations(range(1, n // 2), 2)],
        name="circulant",
        connected=lambda of: bool(np.isfinite(_hops(*of)).all()),
        coprime=lambda of: gcd(*of) == 1,
    ),
    "D-A-089": each(*circulants(10, 1, 2, 3)),
    "D-A-092 D-A-093 D-A-094": lambda: [_two_in_a_row(n) for n in range(7, 25)],
    "D-A-096": lambda: [on("modified-debruijn:2x3").case("modified-debruijn:2x3", cycles=_new_cycles("2x3"))],
    "D-3-065 D-A-055": lambda: linear_programs(K22, "torus:3x3", C16, "kautz:2x7", "diamond"),
    "D-3-071": lambda: together_as_one(K22, "diamond", "kautz:2x7", "debruijn:2x3"),
    "D-3-067 D-3-068 D-3-069": figure,
    "D-3-074 D-3-137": lambda: traditional((3, 3, 2), (3, 3, 3), (4, 4), (4, 3)),
    "D-3-139": lambda: traditional((3, 3, 2), (3, 3, 3), (3, 3, 3, 2)),
    "D-3-075": beside_bases,
    "D-3-076 D-A-090": each(*circulants(9, 1, 2, 3), "circulant:12x1x5", "circulant:15x1x4x5"),
    "D-A-091": each(*circulants(12, 2)),
    "D-A-057": lambda: shells("hypercube:3", "hamming:2x3", K44, "torus:3x3", "distance-regular:14"),
    "D-A-058": balances,
    "D-A-059 D-A-060 D-A-061": lambda: chunked("torus:5x4", "diamond", C16, "kautz:2x7", "circulant:7x2x3"),
    "D-A-063": once("K2,2", alone=lambda: _slow_link((1, 50)), after=lambda: _slow_link((1,))),
    "D-A-065": per((4, 6, 8, 10), last=lambda n: Fraction(on(f"biring:2x{n}")["run"].cost_of([n // 2 - 1]).n_beta) * n),
    "D-A-070 D-A-071": kautz_by_degree,
    "D-A-087": lambda: shells(*DISTANCE_REGULAR),
    "D-3-020": lambda: distances_of_pairs(K22),
    "D-3-028": per((3, 4, 5), name="l", shared=lambda n: shared_links(f"uniring:1x{n}")),
    "D-3-033 D-A-052": products,
    "D-A-141": once("degree 1", named=lambda: _is_named("biring:1x4"), hops=lambda: on("uniring:1x4")["D"]),
    "D-3-101": once("Table 3.4", times=lambda: 1434 / 291.0),
    "D-A-152 D-A-153 D-A-154": kautz_family,
}
