"""Answers on the algorithms and theorems behind forests: run as they are printed, beside a search that tries all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import combinations, count, pairwise

import numpy as np

from colllib import forest as forests
from colllib.claims.cases import Rows
from colllib.claims.finding import FACT, Cases, answer, table
from colllib.claims.forests import BOTTLENECK, SMALL, TREES, WORTH, example
from colllib.claims.reading import nothing
from colllib.claims.runs import built, place
from colllib.claims.value import Case
from colllib.exact import IntArray
from colllib.forest.allreduce import divided, five_ranks
from colllib.forest.bound import feasible, room
from colllib.forest.flow import max_flow
from colllib.forest.packing import pack
from colllib.forest.splitting import split_off, without_switches
from colllib.topology import from_links

ENDLESS = 10**9  # a capacity that no cut wants to cross
Split = tuple[int, int, int]  # (u, w, t): a unit of (u, w) and one of (w, t) become one of (u, t)


def _where(on: str) -> forests.Fabric:
    return forests.fabric(place(example() if on == "example" else on))


# -- the searches --------------------------------------------------------------------------------------


def halved(low: Fraction, high: Fraction, width: Fraction, enough: Callable[[Fraction], bool]) -> tuple[Fraction, int]:
    """The middle of a range after halving it until it is narrower than a width, and how often that was."""
    for steps in count():
        if high - low < width:
            return (low + high) / 2, steps
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    raise AssertionError


def searches(k: int, *ons: str) -> Rows:
    """Algorithms 1 and 5 as they are printed, and the least k of trees that fit by trying one after the other."""

    def rows() -> Iterator[Case]:
        for on in ons:
            topology = _where(on)
            n, speeds = topology.ranks, [int(speed) for speed in np.unique(topology.capacity) if speed]
            least, widest = int(topology.capacity.sum(axis=0)[:n].min()), max(speeds)
            low, high = Fraction(n - 1, least), Fraction(n - 1)
            middle, iterations = halved(low, high, Fraction(1, least**2), partial(_sustains, topology))
            inverse = middle.limit_denominator(least)
            fits = halved(low * k, high * k, Fraction(1, widest**2), partial(_fits, topology, k))
            trees = next(k for k in count(1) if all((inverse * k * speed).denominator == 1 for speed in speeds))
            yield {
                "at": topology.topology.name,
                "N": n,
                "k": k,
                "least": least,
                "widest": widest,
                "p": inverse.numerator,
                "g": np.gcd.reduce([inverse.denominator, *speeds]).item(),
                "inverse": inverse,
                "every_k": trees,
                "y": 1 / (inverse * trees),
                "most": Fraction(least, np.gcd.reduce(speeds).item()),
                "iterations": iterations,
                "iterations_fixed": fits[1],
                "found": fits[0].limit_denominator(widest),
                "U": forests.fixed(topology, k).unit * topology.unit,
            }

    return rows


def _sustains(fabric: forests.Fabric, inverse: Fraction) -> bool:
    return feasible(fabric, fabric.capacity * inverse.numerator, inverse.denominator)


def _fits(fabric: forests.Fabric, k: int, unit: Fraction) -> bool:
    return feasible(fabric, room(fabric, unit), k)


@answer(BOTTLENECK, "D-4-019")
def _capped_flow() -> Cases:
    topology = _where("example")
    for x in (2, 3, 4):
        flow, _ = max_flow(topology.with_source(topology.capacity, x * topology.weight), topology.nodes, 5, 8 * x)
        yield {"at": f"x = {x} b", "x": x, "flow": flow}


# -- switches ------------------------------------------------------------------------------------------


def by_theorem(fabric: forests.Fabric, capacity: IntArray, k: int, split: Split) -> int:
    """Equation B.1 as it is printed: how much can be split off."""
    (u, w, t), s, need = split, fabric.nodes, fabric.total * k
    found = [int(capacity[u, w]), int(capacity[w, t])]
    for v in range(fabric.ranks):
        for start, end, wide in ((u, w, ((u, s), (u, t), (v, w))), (w, t, ((w, s), (u, t), (v, t)))):
            network = fabric.with_source(capacity, fabric.weight * k)
            for link in wide:
                network[link] = ENDLESS * (link[0] != link[1])
            found.append(max_flow(network, start, end, need + ENDLESS)[0] - need)
    return min(found)


def _tried(fabric: forests.Fabric, capacity: IntArray, k: int, split: Split) -> int:
    """How much can be split off: the most units after which all that ranks send still reaches every rank."""
    u, w, t = split
    for units in range(int(min(capacity[u, w], capacity[w, t])), 0, -1):
        network = fabric.with_source(split_off(capacity, *split, units), fabric.weight * k)
        need = fabric.total * k
        if all(max_flow(network, fabric.nodes, sink, need)[0] == need for sink in range(fabric.ranks)):
            return units
    return 0


def _states(on: str) -> Iterator[tuple[forests.Fabric, IntArray, int]]:
    """A fabric in trees, before and while its switches vanish."""
    topology = _where(on)
    limit = forests.bound(topology)
    capacity = room(topology, limit.unit * topology.unit)
    yield topology, capacity, limit.trees
    for u, w, t, units in without_switches(capacity, topology.weight * limit.trees, topology.ranks, on).splits:
        capacity = split_off(capacity, u, w, t, units)
        yield topology, capacity, limit.trees


def splits(*ons: str) -> Rows:
    """What can be split off: by the printed equation, by trying every number, and what is left in the end."""

    def rows() -> Iterator[Case]:
        for on in ons:
            states = list(_states(on))
            wrong, stuck = 0, 0
            for where, capacity, k in states[:: max(1, len(states) // 3)]:
                for w, t in np.argwhere(capacity[where.ranks :]).tolist():
                    able = []
                    for u in np.flatnonzero(capacity[:, where.ranks + w]).tolist():
                        able.append(_tried(where, capacity, k, (u, where.ranks + w, t)))
                        wrong += by_theorem(where, capacity, k, (u, where.ranks + w, t)) != able[-1]
                    stuck += not any(able)
            last = states[-1][1]
            over = int(last[where.ranks :].sum() + last[:, where.ranks :].sum())
            yield {"at": on, "wrong": wrong, "stuck": stuck, "left": over, "isolated": not over}

    return rows


@answer(TREES, "D-B-022")
def _rings_and_pairs() -> Cases:
    """In each box a ring of 10, and each rank joined to its counterpart by 1."""
    ring = [(4 * box + j, 4 * box + (j + 1) % 4) for box in (0, 1) for j in range(4)]
    links = ring + [(rank, (rank + 4) % 8) for rank in range(8)]
    made = forests.forest(from_links("rings and pairs", 8, links, bandwidth=[10] * 8 + [1] * 8))
    yield {"at": "two rings of four", "inverse": made.bound.inverse_throughput, "reached": made.reached()}


# -- trees ---------------------------------------------------------------------------------------------


def mu_by_sets(g: IntArray, trees: list[tuple[set[int], int]], x: int, y: int) -> int:
    """Equation B.3: over all sets that have x and neither y nor all of the first tree."""
    ranks = set(range(len(g)))
    found = [int(g[x, y]), trees[0][1]]
    for size in range(1, len(g)):
        for inside in map(set, combinations(sorted(ranks), size)):
            if x in inside and y not in inside and not trees[0][0] <= inside:
                room_out = int(g[np.ix_(sorted(inside), sorted(ranks - inside))].sum())
                found.append(room_out - sum(many for members, many in trees if members <= inside))
    return min(found)


def mu_by_flow(g: IntArray, trees: list[tuple[set[int], int]], x: int, y: int) -> int:
    """Equation B.4: one maximum flow, with a node for every other tree."""
    n, others = len(g), trees[1:]
    network = np.zeros((n + len(others),) * 2, dtype=np.intp)
    network[:n, :n] = g
    for at, (members, many) in enumerate(others, n):
        network[x, at] = many
        network[at, sorted(members)] = ENDLESS
    flow, _ = max_flow(network, x, y, ENDLESS)
    return min(int(g[x, y]), trees[0][1], flow - sum(many for _, many in others))


@answer(TREES, "D-B-027")
def _mu_two_ways() -> Cases:
    """For every link that could join, at every moment in which trees of rings, meshes and stars grow."""
    for on in ("torus:4", "mesh:3x2", "star:5"):
        for where, capacity, k in [list(_states(on))[-1]]:
            g, compared, wrong = capacity[: where.ranks, : where.ranks].copy(), 0, 0
            batches = pack(g, where.weight * k)
            for place_of, batch in enumerate(batches):
                later = [({other.root}, other.size) for other in batches[place_of + 1 :]]
                members = {batch.root}
                for start, end in batch.edges:
                    trees = [(members, batch.size), *later]
                    for x, y in ((x, y) for x in members for y in range(where.ranks) if y not in members and g[x, y]):
                        wrong += mu_by_sets(g, trees, x, y) != mu_by_flow(g, trees, x, y)
                        compared += 1
                    g[start, end] -= batch.size
                    members = members | {end}
            yield {"at": on, "compared": compared, "wrong": wrong}


@answer(TREES, "D-B-008")
def _flows_for_batches() -> Cases:
    """How many flows it takes to pack k trees a rank between three ranks: one for every link that a batch tries."""
    for k in (1, 10, 1000):
        batches = pack(k * (1 - np.eye(3, dtype=np.intp)), np.full(3, k))
        yield {"at": f"three ranks, k = {k}", "N": 3, "k": k, "flows": sum(len(batch.edges) for batch in batches)}


@answer(WORTH, "D-B-029")
def _in_time_and_disjoint() -> Cases:
    """Executed trees, beside times U that they keep or miss."""
    for on, k in (("dgx-a100:2", 3), ("torus:4x4", 2), ("boxes:2x4", 2)):
        made = forests.forest(place(on), trees=k, way="general")
        link = forests.busiest(built(made.schedule, on=on)) * made.fabric.total * k
        crossing = np.zeros_like(made.fabric.capacity)
        for tree in made.trees:
            for a, b in (pair for path in tree.paths for pair in pairwise(path)):
                crossing[a, b] += tree.size
        for part in (Fraction(9, 10), Fraction(1), Fraction(11, 10)):
            unit = made.bound.unit * part
            fits = bool((crossing <= room(made.fabric, unit * made.fabric.unit)).all())
            yield {"at": f"{on}, k = {k}", "in_time": link <= unit, "disjoint": fits}


# -- all-reduce ----------------------------------------------------------------------------------------


def _rounded(k: int) -> Case:
    """The program's parts of five ranks, rounded down to whole trees of 1/k, and what still flows to every rank."""
    fabric, found = forests.fabric(five_ranks()), divided(forests.fabric(five_ranks()))
    down = [int(part * k) for part in found.roots]
    reach = []
    for parts, turned in ((found.outward, False), (found.inward, True)):
        capacity = np.zeros_like(fabric.capacity)
        capacity[found.pairs[:, 0], found.pairs[:, 1]] = [int(part * k) for part in parts]
        network = fabric.with_source(capacity.T if turned else capacity, np.array(down))
        reach += [max_flow(network, fabric.nodes, sink, sum(down))[0] for sink in range(fabric.ranks)]
    parts_in_all = len(found.roots) + 2 * len(found.pairs)
    return {
        "at": f"five ranks, k = {k}",
        "k": k,
        "rate": found.rate,
        "trees": sum(down),
        "reach": Fraction(min(reach), k),
        "parts": parts_in_all,
    }


table(
    BOTTLENECK,
    {
        "D-4-023 D-B-025": searches(1, *SMALL, "dgx-a100:2", "mi250:2"),
        "D-B-030 D-B-032 D-B-035": searches(3, *SMALL, "dgx-a100:2", "mi250-8x2"),
    },
)
table(TREES, {"D-4-027 D-B-019 D-B-020": splits("example", "boxes:2x2", "star:5")})
table(WORTH, {"D-B-041": lambda: (_rounded(k) for k in (1, 3, 7, 31, 127))})
answer(BOTTLENECK, "D-4-022 D-B-013", FACT)(nothing)
answer(TREES, "D-B-001", FACT)(nothing)
