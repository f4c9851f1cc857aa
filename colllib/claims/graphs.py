"""Answers on graphs and on all-gathers over them: a graph's quantities by name, what its schedules cost, its tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from itertools import combinations
from math import gcd
from typing import Any

import numpy as np

from colllib.algorithms import breadth_first, expansion, synthesis
from colllib.algorithms.breadth_first import BreadthFirst
from colllib.claims.cases import Quantities
from colllib.claims.runs import built, by_formula, place
from colllib.claims.value import Cases, Rows
from colllib.cost import Cost
from colllib.execution import Execution
from colllib.graphs import measures
from colllib.graphs.isomorphism import reverse_symmetric
from colllib.graphs.links import arcs
from colllib.graphs.operations import transpose
from colllib.graphs.throughput import distance_bound, throughput
from colllib.schedule import Schedule, reversed_in_time
from colllib.topology import Topology
from colllib.topology.cuts import diameter, distances

#: Up to so many ranks a schedule is executed; above, its cost is that of its transportation problems.
EXECUTED = 64
MB = 2**20  # bytes; with 10^6 no row of the source's times comes out
ALPHA, WHOLE = 10.0, MB * 8 / 100e9 * 1e6  # us: alpha, and M/B of 1 MB at 100 Gbit/s


def on(graph: str) -> Quantities:
    """A graph and the breadth-first all-gather on it: `load` is T_B in M/B, B the egress of a rank over all its ports.

    >>> found = on("complete-bipartite:2x2")
    >>> found["steps"], found["load"], found["moore"]
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
        undirected=lambda: measures.is_undirected(topology),
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
        proved=lambda: built(breadth_first.all_gather, topology, on=topology).cost is not None,
        turned=lambda: _parts(built(_reversed, graph, on=transpose(topology)).cost, ports),
        back=lambda: _parts(built(breadth_first.reduce_scatter, topology, on=topology).cost, ports),
        both=lambda: _parts(built(breadth_first.all_reduce, topology, on=topology).cost, ports),
    )


def _parts(cost: Cost, ports: int) -> dict[str, Any]:
    return dict(zip(("steps", "load"), _in_ports(cost, ports), strict=True))


def _reversed(graph: str) -> Schedule:
    return reversed_in_time(breadth_first.all_gather(place(graph)))


def _in_ports(cost: Cost, ports: int) -> tuple[int, Fraction]:
    return int(cost.n_alpha), Fraction(cost.n_beta) * ports


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
    found: Quantities
    ways: dict[str, Callable[[], Any]] = {
        "cost": cost,
        "steps": lambda: int(found["cost"].n_alpha),
        "load": lambda: Fraction(found["cost"].n_beta) * ports,
        "ratio": lambda: found["load"] / best,
        "bw": lambda: found["load"] == best,
        "moore": lambda: measures.moore_diameter(ranks, ports),
        "moore_both": lambda: measures.moore_diameter(ranks, ports, undirected=True),
        "is_moore": lambda: found["steps"] == found["moore"],
        "t": lambda: 2 * (ALPHA * found["steps"] + WHOLE * float(found["load"])),
        "a2a": lambda: WHOLE * ports / (ranks * float(found["f"])),
        "a2a_least": lambda: WHOLE * ports / (ranks * float(found["bound"])),
    }
    found = Quantities(ways, at=at, N=ranks, d=ports, best=best, **known)
    return found


def on_graph(name: str, topology: Topology, cost: Callable[[], Cost], **known: Any) -> Quantities:
    """What any all-gather on a graph comes to, and what the graph is."""
    return gathering(name, topology.ranks, measures.degree(topology), cost, **known).also(
        D=lambda: diameter(topology),
        symmetric=lambda: reverse_symmetric(topology),
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


def _line_again(graph: str, times: int) -> Schedule:
    schedule = gathers(graph)
    for _ in range(times):
        schedule, graph = expansion.line_graph(schedule, place(graph)), f"line-graph({graph})"
    return schedule


def _degree(graph: str, times: int) -> Schedule:
    return expansion.degree_expansion(gathers(graph), place(graph), times)


def _product(*graphs: str) -> Schedule:
    return expansion.cartesian_product(*map(gathers, graphs))


def base(graph: str) -> Quantities:
    """The all-gather that expansions start from, executed."""
    topology = place(graph)
    return on_graph(graph, topology, lambda: built(gathers, graph, on=topology).cost).also(
        run=lambda: built(gathers, graph, on=topology), breadth_first=lambda: on(graph)["load"]
    )


def lines(graph: str, times: int) -> Quantities:
    """An all-gather on a line graph of line graphs, executed: beside it what it comes from, as `before`."""
    return _expanded(
        base(graph), "line-graph(" * times + graph + ")" * times, lambda: (_line_again, graph, times), n=times
    )


def copies(graph: str, times: int) -> Quantities:
    """An all-gather on a degree expansion, executed."""
    return _expanded(base(graph), f"degree({graph},{times})", lambda: (_degree, graph, times), n=times)


def power(graph: str, times: int) -> Quantities:
    """An all-gather on a Cartesian power, executed."""
    return _expanded(base(graph), f"power({graph},{times})", lambda: (_product, *[graph] * times), n=times)


def _expanded(before: Quantities, name: str, build: Callable[[], tuple[Any, ...]], **known: Any) -> Quantities:
    topology = place(name)
    chosen, *arguments = build()
    run = partial(built, chosen, *arguments, on=topology)
    found = on_graph(name, topology, lambda: run().cost, before=before, N0=before["N"], d0=before["d"], **known)
    return found.also(
        proved=lambda: run().cost is not None,
        last=lambda: Fraction(run().cost_of([found["steps"] - 1]).n_beta) * topology.ranks,
        fresh=lambda: breadth_first.all_gather_cost(topology).n_beta * found["d"],
    )


def by_theorem(graph: str, times: int, squared: bool = False) -> Quantities:
    """Line graphs of line graphs of a graph, or of its square, by the theorems on them.

    Args:
        graph: what they come from.
        times: how often the line graph is taken.
        squared: whether its Cartesian square comes before.
    """
    topology, found = place(graph), on(graph)
    ranks, ports, far = topology.ranks, found["d"], found["D"]
    cost = built(gathers, graph, on=topology).cost if graph in IN_FULL_STEPS else found["cost"]
    steps, load = _in_ports(cost, ports)
    if squared:
        load *= Fraction(ranks, ranks - 1) * Fraction(ranks**2 - 1, ranks**2)
        steps, far, ranks, ports = 2 * steps, 2 * far, ranks**2, 2 * ports
    for _ in range(times):
        load += Fraction(1, ranks)
        steps, far, ranks = steps + 1, far + 1, ranks * ports
    name = f"{graph}^2" if squared else graph
    name = f"L^{times}({name})" if times else name
    cost = Cost(steps, load / ports)
    return gathering(
        f"{name}, N = {ranks}",
        ranks,
        ports,
        lambda: by_formula(cost, graph, "lock-step") if times or squared else cost,
        D=far,
        N0=topology.ranks,
    )


# -- what a schedule does in each step --------------------------------------------------------------


def always_full(run: Execution) -> bool:
    """Whether in every step all ports, self-loops too, carry equally much, and no rank receives anything twice."""
    width, schedule = list(run.topology.bandwidth), run.schedule
    for t in range(schedule.num_steps):
        if len({load / wide for load, wide in zip(run.link_load(t), width, strict=True)}) > 1:
            return False
    steps = [schedule.step(t) for t in range(schedule.num_steps)]
    seen = np.concatenate([step.dst * len(schedule.blocks) + step.block for step in steps])
    return len(np.unique(seen)) == len(seen)


def added(run: Execution) -> Fraction:
    """What the rank with most to add in each step adds, in units of M, summed over the steps."""
    shares, total = list(run.schedule.blocks.share), Fraction(0)
    for t in range(run.schedule.num_steps):
        step = run.schedule.step(t)
        amount = [Fraction(0)] * run.schedule.ranks
        for rank, block in zip(step.dst.tolist(), step.block.tolist(), strict=True):
            amount[rank] += shares[block]
        total += max(amount)
    return total


def shared_links(graph: str) -> int:
    """How many links some step of a square's all-gather loads with both copies, each with its own order of axes."""
    schedule = _product(graph, graph)
    pieces = len(schedule.blocks) // schedule.ranks // 2  # of each copy
    both = 0
    for t in range(schedule.num_steps):
        step = schedule.step(t)
        key = step.src * schedule.ranks + step.dst
        first = step.block // pieces % 2 == 0
        both += len(np.intersect1d(key[first], key[~first]))
    return both


def linear_programs(*graphs: str) -> Cases:
    """The linear program beside the closed form: every step of one receiver."""
    for graph in graphs:
        plan = BreadthFirst(place(graph))
        for t in range(1, len(plan.layers) + 1):
            given = plan.transport(0, t)
            if given is not None:
                program, least = plan.linear_program(0, t), given.least_load()[0]
                yield {"at": f"{graph}, step {t}", "program": program, "closed": least}


def distances_of_pairs(graph: str) -> Cases:
    """Pairs of links, neither following the other, and how many are one hop further apart in the line graph."""
    topology, turned = place(graph), place(f"line-graph({graph})")
    (src, dst), near, far = arcs(topology), distances(topology), distances(turned)
    pairs = [(a, b) for a in range(len(src)) for b in range(len(src)) if dst[a] != src[b] and a != b]
    longer = sum(far[a, b] == near[dst[a], src[b]] + 1 for a, b in pairs)
    yield {"at": graph, "pairs": len(pairs), "longer": int(longer)}


def shells(*graphs: str) -> Cases:
    """Of undirected graphs and distances x: N_x, a_x and b_x where they are constants."""
    for graph in graphs:
        hops = distances(place(graph))
        found, near = on(graph), hops == 1
        for x in range(1, int(hops.max()) + 1):
            sizes = {int((row == x).sum()) for row in hops}
            a = {int(((hops[u] == x) & (hops[w] == x - 1)).sum()) for u, w in np.argwhere(near)}
            b = {int((near[u] & (hops[v] == x - 1)).sum()) for u, v in np.argwhere(hops == x)}
            if max(len(sizes), len(a), len(b)) == 1:
                yield found.case(f"{graph}, x = {x}", N_x=sizes.pop(), a_x=a.pop(), b_x=b.pop())


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


def topology_of(graph: str) -> Topology | None:
    """The topology of an expression, None if there is none."""
    try:
        return place(graph)
    except ValueError:
        return None
