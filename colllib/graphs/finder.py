"""The topology finder: for N ranks of degree d, the graphs between which only alpha and M can decide.

Small known graphs are expanded until they have N ranks of degree d. A candidate enters with bounds from below
on what a breadth-first all-gather costs there, by what its base costs: an expansion adds its known steps, and
the bandwidth term of a line graph or a degree expansion is at least its base's. Whatever these bounds would put on the
frontier is built, and its breadth-first problems are solved, so that every row is the exact cost on that very graph.

Source: Zhao et al. (2025), "Efficient Direct-Connect Topologies for Collective Communications", and
Zhao's dissertation, sections 3.5.4 and A.4. Directed circulant graphs of many jumps and dihedral graphs are not
among their bases.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from heapq import heapify, heappop, heappush
from itertools import combinations
from math import comb, factorial, isqrt
from random import Random

from colllib.algorithms.breadth_first import all_gather_cost
from colllib.cost import Cost
from colllib.graphs.distance_regular import VALENCY_FOUR
from colllib.graphs.measures import moore_diameter
from colllib.topology.expression import find

MOST_RANKS = 2048
MOST_PORTS = 16
SETS_OF_JUMPS = 4000  # that are tried for one circulant graph
DIHEDRAL_SETS = 1000  # of jumps that are tried for the dihedral graphs of one size and degree


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
        jumps: whether directed circulant and dihedral graphs whose jumps are searched are bases; of these the source
            has none but small circulants.

    Raises:
        ValueError: for N or d out of range.

    >>> for row in pareto(32, 4):
    ...     print(row.n_alpha, row.n_beta_node, row.expression)
    3 31/32 dihedral:32x1x24x27x28
    """
    for what, value, least, most in (("N", ranks, 2, MOST_RANKS), ("d", degree, 1, MOST_PORTS)):
        if not least <= value <= most:
            raise ValueError(f"{what} = {value}: the topology finder takes {least} to {most}")
    return _frontier(ranks, degree, False, 2 * jumps)


@cache
def _frontier(ranks: int, ports: int, loopless: bool, jumps: int) -> tuple[Found, ...]:
    """Candidates in the order of their bounds; what comes to the front is built, and goes back with its costs.

    `jumps` are searched for no base (0), for directed circulants (1), or for dihedral graphs as well (2).
    """
    candidates = [*_bases(ranks, ports, jumps), *_expansions(ranks, ports, loopless, jumps)]
    queue = [(row.n_alpha, row.n_beta_node, place, row) for place, row in enumerate(candidates)]
    heapify(queue)
    frontier: list[Found] = []
    while queue:
        _, n_beta, place, row = heappop(queue)
        if (frontier and frontier[-1].n_beta_node <= n_beta) or (loopless and row.loops):
            continue
        if row.loops is None:
            cost, loops = _built(row.expression)
            row = replace(row, n_alpha=int(cost.n_alpha), n_beta_node=Fraction(cost.n_beta * ports), loops=loops)
            heappush(queue, (row.n_alpha, row.n_beta_node, place, row))
        else:
            frontier.append(row)
    return tuple(frontier)


@cache
def _built(expression: str) -> tuple[Cost, bool]:
    graph = find(expression)
    return all_gather_cost(graph), bool((graph.link_src == graph.link_dst).any())


def _bases(ranks: int, ports: int, jumps: int) -> Iterator[Found]:
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
    for steps, (n_beta, chosen_jumps) in dihedral_jumps(ranks, ports).items() if jumps > 1 else ():
        name = "x".join(map(str, (ranks, *chosen_jumps)))
        yield Found(f"dihedral:{name}", "dihedral graph", ranks, steps, n_beta, loops=False)
    if ranks <= ports:
        name = "x".join(str(jump % (ranks - 1) + 1) for jump in range(ports))
        yield base(f"directed-circulant:{ranks}x{name}", "complete graph with parallel links", 1)


def _expansions(ranks: int, ports: int, loopless: bool, jumps: int) -> Iterator[Found]:
    least = Fraction(ranks - 1, ranks)

    def candidate(how: str, expression: str, n_alpha: int, n_beta: Fraction, *parents: Found) -> Found:
        return Found(expression, how, ranks, n_alpha, max(n_beta, least), parents)

    if ports > 1 and ranks % ports == 0 and ranks > ports:
        levels = {jumps, min(jumps, 1)}  # a base that a dihedral graph beats may have the better line graph
        rows = (row for level in levels for row in _frontier(ranks // ports, ports, loopless, level))
        for row in dict.fromkeys(rows):
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


# -- dihedral graphs -----------------------------------------------------------------------------


@cache
def dihedral_jumps(ranks: int, ports: int) -> dict[int, tuple[Fraction, tuple[int, ...]]]:
    """Dihedral graphs by their steps: the least bandwidth term, and its jumps.

    Always the same sets are tried, until one meets both bounds. A renaming of ranks makes any odd jump a jump of 1.
    """
    best: dict[int, tuple[Fraction, tuple[int, ...]]] = {}
    random, most = Random(0), ranks
    if ranks % 2 or not 2 < ports < min(ranks, 10):  # all sets of links are looked at: too many of 10
        return best
    least = moore_diameter(ranks, ports)
    for _ in range(DIHEDRAL_SETS):
        if most < least:
            break
        jumps = (1, *sorted(random.sample(range(2, ranks), ports - 1)))
        if loads := _dihedral_loads(ranks, jumps, most):
            n_beta, steps = Fraction(sum(loads) * ports, factorial(ports) * ranks), len(loads)
            best[steps] = min(best.get(steps, (n_beta, jumps)), (n_beta, jumps))
            if n_beta == Fraction(ranks - 1, ranks):
                most = steps - 1
    return best


def _dihedral_loads(ranks: int, jumps: tuple[int, ...], most: int) -> list[int]:
    """The busiest link's load in each breadth-first step, times d!; [] for more steps. Rank 0 stands for all.

    By Hall's theorem it is the largest ratio, over all sets of links, of owners who depend on these alone to links.
    """
    shares = [factorial(len(jumps)) // (len(jumps) - k.bit_count()) for k in range(2 ** len(jumps) - 1)]
    everything, loads = (1 << ranks) - 1, list[int]()
    even, layer, seen = everything // 3, 1, 1
    while seen != everything:
        others = [0]  # who may come over links outside each set
        for jump in jumps:
            a, b = layer & even, layer & ~even
            after = (a << jump | a >> ranks - jump | b >> jump | b << ranks - jump) & everything & ~seen
            others += [more | after for more in others]
        layer = others.pop()
        if not layer or len(loads) == most:
            return []
        loads.append(max((layer & ~mask).bit_count() * share for mask, share in zip(others, shares, strict=True)))
        seen |= layer
    return loads
