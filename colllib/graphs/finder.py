"""The topology finder: for N ranks of degree d, the graphs between which only alpha and M can decide.

Small known graphs are expanded until they have N ranks of degree d. A candidate enters with bounds from below
on what a breadth-first all-gather costs there, by what its base costs: an expansion adds its known steps, and
the bandwidth term of a line graph or a degree expansion is at least its base's. Whatever these bounds would put on the
frontier is built, and its breadth-first problems are solved, so that every row is the exact cost on that very graph.

Source: Zhao et al. (2025), "Efficient Direct-Connect Topologies for Collective Communications", and
Zhao's dissertation, sections 3.5.4 and A.4. Directed circulant graphs of many jumps are not among
their bases.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from heapq import heapify, heappop, heappush
from itertools import combinations
from math import comb, isqrt
from random import Random

from colllib.algorithms.breadth_first import all_gather_cost
from colllib.graphs.distance_regular import VALENCY_FOUR
from colllib.graphs.measures import moore_diameter
from colllib.topology.expression import find

MOST_RANKS = 2048
MOST_PORTS = 16
SETS_OF_JUMPS = 4000  # that are tried for one circulant graph


@dataclass(frozen=True)
class Found:
    """A graph and what its breadth-first all-gather costs."""

    expression: str  # what `colllib.topology.expression.find` builds it from
    made: str  # what it is called, or how it is made of its parents
    ranks: int
    n_alpha: int  # steps, one alpha each
    n_beta_node: Fraction  # bandwidth term in units of M/B, B all that a rank's d links can send at once
    parents: tuple[Found, ...] = ()
    loops: bool | None = None  # whether it has self-loops; None until it is built, and its costs are bounds from below

    @property
    def words(self) -> str:
        """The expression for readers: "line graph of the complete bipartite graph"."""
        parents = " and ".join(f"the {row.words}" for row in self.parents)
        return f"{self.made} of {parents}" if parents else self.made


def pareto(ranks: int, degree: int, *, jumps: bool = True) -> tuple[Found, ...]:
    """The graphs of which none is as good as another in both latency and bandwidth, by rising latency.

    Args:
        degree: links out of and into each rank.
        jumps: whether directed circulant graphs whose jumps are searched are bases; the source has none but small ones.

    Raises:
        ValueError: for N or d out of range.

    >>> for row in pareto(32, 4):
    ...     print(row.n_alpha, row.n_beta_node, row.expression)
    3 1 line-graph(complete-bipartite:4x4)
    4 31/32 distance-regular:32
    """
    for what, value, least, most in (("N", ranks, 2, MOST_RANKS), ("d", degree, 1, MOST_PORTS)):
        if not least <= value <= most:
            raise ValueError(f"{what} = {value}: the topology finder takes {least} to {most}")
    return _frontier(ranks, degree, False, jumps)


@cache
def _frontier(ranks: int, ports: int, loopless: bool, jumps: bool) -> tuple[Found, ...]:
    """Candidates in the order of their bounds; what comes to the front is built, and goes back with its costs."""
    candidates = [*_bases(ranks, ports, jumps), *_expansions(ranks, ports, loopless, jumps)]
    queue = [(row.n_alpha, row.n_beta_node, place, row) for place, row in enumerate(candidates)]
    heapify(queue)
    frontier: list[Found] = []
    while queue:
        _, n_beta, place, row = heappop(queue)
        if (frontier and frontier[-1].n_beta_node <= n_beta) or (loopless and row.loops):
            continue
        if row.loops is None:
            graph = find(row.expression)
            cost, loops = all_gather_cost(graph), bool((graph.link_src == graph.link_dst).any())
            row = replace(row, n_alpha=int(cost.n_alpha), n_beta_node=Fraction(cost.n_beta * ports), loops=loops)
            heappush(queue, (row.n_alpha, row.n_beta_node, place, row))
        else:
            frontier.append(row)
    return tuple(frontier)


def _bases(ranks: int, ports: int, jumps: bool) -> Iterator[Found]:
    def base(expression: str, name: str, n_alpha: int) -> Found:
        return Found(expression, name, ranks, n_alpha, Fraction(ranks - 1, ranks))

    yield replace(base(f"uniring:{ports}x{ranks}", "one-way ring", ranks - 1), loops=False)
    if ports == 1:  # no other graph is connected
        return
    if ranks == ports + 1:
        yield base(f"full-mesh:{ranks}", "complete graph", 1)
    if ranks == 2 * ports:
        yield base(f"complete-bipartite:{ports}x{ports}", "complete bipartite graph", 2)
    if ports == 4 and ranks in VALENCY_FOUR:
        steps = moore_diameter(ranks, ports, undirected=True)
        yield base(f"distance-regular:{ranks}", VALENCY_FOUR[ranks].name, steps)
    if (ranks, ports) == (8, 2):
        yield base("diamond", "diamond", 3)
    letters = next((n for n in range(2, ranks.bit_length()) if ports**n == ranks), 0)
    if letters:
        yield base(f"debruijn:{ports}x{letters}", "de Bruijn graph", letters)
    if (ports, letters) in ((2, 3), (2, 4), (3, 2), (4, 2)):
        yield base(f"modified-debruijn:{ports}x{letters}", "modified de Bruijn graph", letters)
    if ranks > ports:
        yield base(f"kautz:{ports}x{ranks}", "generalized Kautz graph", moore_diameter(ranks, ports))
    if ports % 2 == 0 and ranks > 2:
        yield base(f"biring:{ports}x{ranks}", "two-way ring", ranks // 2)
    if ports == 4 and ranks > 6:
        jump = (isqrt(2 * ranks - 2) + 1) // 2  # ceil((sqrt(2 N - 1) - 1) / 2)
        yield base(f"circulant:{ranks}x{jump}x{jump + 1}", "circulant graph", jump)
    chosen_jumps = circulant_jumps(ranks, ports) if jumps or ranks == ports + 2 else ()
    if chosen_jumps:
        name = "x".join(map(str, (ranks, *chosen_jumps)))
        yield base(f"directed-circulant:{name}", "directed circulant graph", _reach(ranks, chosen_jumps, ranks))


def _expansions(ranks: int, ports: int, loopless: bool, jumps: bool) -> Iterator[Found]:
    least = Fraction(ranks - 1, ranks)

    def candidate(how: str, expression: str, n_alpha: int, n_beta: Fraction, *parents: Found) -> Found:
        return Found(expression, how, ranks, n_alpha, max(n_beta, least), parents)

    if ports > 1 and ranks % ports == 0 and ranks > ports:
        for row in _frontier(ranks // ports, ports, loopless, jumps):
            yield candidate("line graph", f"line-graph({row.expression})", row.n_alpha + 1, row.n_beta_node, row)
    for times in range(2, ports + 1):
        if ports % times:
            continue
        if ranks % times == 0 and ranks > times:
            for row in _frontier(ranks // times, ports // times, True, jumps):
                name = f"degree({row.expression},{times})"
                yield candidate(f"degree expansion by {times}", name, row.n_alpha, row.n_beta_node, row)
        root = round(ranks ** (1 / times))
        if root > 1 and root**times == ranks:
            for row in _frontier(root, ports // times, loopless, jumps):
                name = f"power({row.expression},{times})"
                yield candidate(f"Cartesian power {times}", name, row.n_alpha * times, least, row)
    for few in range(1, ports // 2 + 1):
        for size in range(2, ranks // 2 + 1):
            if ranks % size == 0:  # the last row has the least bandwidth term, which a ring makes as small as can be
                a, b = _frontier(size, few, False, jumps)[-1], _frontier(ranks // size, ports - few, False, jumps)[-1]
                name = f"product({a.expression},{b.expression})"
                yield candidate("product", name, a.n_alpha + b.n_alpha, least, a, b)


# -- circulant graphs ----------------------------------------------------------------------------


@cache
def circulant_jumps(ranks: int, ports: int) -> tuple[int, ...]:
    """Jumps, 1 among them, with which a directed circulant graph has a small diameter; () where there are too few.

    All sets are tried where they are few, else some thousand, always the same ones.
    """
    others = range(2, ranks)
    if len(others) < ports - 1:
        return ()
    if comb(len(others), ports - 1) <= SETS_OF_JUMPS:
        sets: Iterator[tuple[int, ...]] = combinations(others, ports - 1)
    else:
        random = Random(0)
        sets = (tuple(sorted(random.sample(others, ports - 1))) for _ in range(SETS_OF_JUMPS))
    best: tuple[int, ...] = ()
    fewest = ranks
    least = next(steps for steps in range(ranks) if comb(steps + ports, ports) >= ranks)  # the order of jumps is free
    for jumps in sets:
        if (steps := _reach(ranks, (1, *jumps), fewest)) < fewest:
            fewest, best = steps, (1, *jumps)
        if fewest == least:
            break
    return best


def _reach(ranks: int, jumps: tuple[int, ...], most: int) -> int:
    """The diameter of a directed circulant graph, or `most` if that is less: steps until rank 0 reaches all."""
    everything = (1 << ranks) - 1
    seen, steps = 1, 0
    while seen != everything and steps < most:
        for after in {seen << jump | seen >> ranks - jump for jump in jumps}:
            seen |= after & everything
        steps += 1
    return steps
