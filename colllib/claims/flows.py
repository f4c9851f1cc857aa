"""Answers on the algorithms and theorems behind forests: run as they are printed, beside a search that tries all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, count, pairwise, product

import numpy as np

from colllib import forest as forests
from colllib.claims.cases import per
from colllib.claims.forests import SMALL, fabric, sustained, where
from colllib.claims.runs import built
from colllib.claims.value import Case, Cases, Rows, Table
from colllib.exact import IntArray
from colllib.forest.allreduce import divided, five_ranks
from colllib.forest.bound import feasible, room
from colllib.forest.flow import max_flow, starved, with_source
from colllib.forest.packing import pack
from colllib.forest.splitting import split_off, without_switches
from colllib.topology import from_links

ENDLESS = 10**9  # a capacity that no cut wants to cross
Split = tuple[int, int, int]  # (u, w, t): a unit of (u, w) and one of (w, t) become one of (u, t)
Grown = list[tuple[set[int], int]]  # trees by the ranks that they have reached, and how many of each


# -- the searches --------------------------------------------------------------------------------------


def halved(low: Fraction, high: Fraction, width: Fraction, enough: Callable[[Fraction], bool]) -> tuple[Fraction, int]:
    """The middle of a range after halving it until it is narrower than a width, and how often that was."""
    steps = 0
    while high - low >= width:
        middle, steps = (low + high) / 2, steps + 1
        low, high = (low, middle) if enough(middle) else (middle, high)
    return (low + high) / 2, steps


def searches(k: int, *ons: str) -> Rows:
    """Algorithms 1 and 5 as they are printed, and the least k of trees that fit by trying one after the other."""

    def case(on: str) -> Case:
        place = fabric(on)
        n, speeds = place.ranks, np.unique(place.capacity[place.capacity > 0])
        least, widest = int(place.capacity.sum(axis=0)[:n].min()), int(speeds.max())
        low, high = Fraction(n - 1, least), Fraction(n - 1)
        middle, iterations = halved(low, high, Fraction(1, least**2), lambda at: sustained(place, at / place.unit))
        inverse = middle.limit_denominator(least)
        fits, iterations_fixed = halved(
            low * k, high * k, Fraction(1, widest**2), lambda at: feasible(place, room(place, at / place.unit), k)
        )
        trees = next(k for k in count(1) if all((inverse * k * speed).denominator == 1 for speed in speeds.tolist()))
        return {
            "at": place.topology.name,
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
            "iterations_fixed": iterations_fixed,
            "found": fits.limit_denominator(widest),
            "U": forests.fixed(place, k).unit * place.unit,
        }

    return lambda: map(case, ons)


def _capped_flow(x: int) -> int:
    """Into a rank of the example, if every rank sends x."""
    place = fabric("example")
    return max_flow(with_source(place.capacity, x * place.weight), place.nodes, 5, 8 * x)[0]


# -- switches ------------------------------------------------------------------------------------------


def by_theorem(fabric: forests.Fabric, capacity: IntArray, k: int, split: Split) -> int:
    """Equation B.1 as it is printed: how much can be split off."""
    (u, w, t), s, need = split, fabric.nodes, fabric.total * k
    found = [int(capacity[u, w]), int(capacity[w, t])]
    for v in range(fabric.ranks):
        for start, end, wide in ((u, w, ((u, s), (u, t), (v, w))), (w, t, ((w, s), (u, t), (v, t)))):
            network = with_source(capacity, fabric.weight * k)
            for link in wide:
                network[link] = ENDLESS * (link[0] != link[1])
            found.append(max_flow(network, start, end, need + ENDLESS)[0] - need)
    return min(found)


def _tried(fabric: forests.Fabric, capacity: IntArray, k: int, split: Split) -> int:
    """How much can be split off: the most units after which all that ranks send still reaches every rank."""
    u, w, t = split
    for units in range(int(min(capacity[u, w], capacity[w, t])), 0, -1):
        network = with_source(split_off(capacity, *split, units), fabric.weight * k)
        if starved(network, range(fabric.ranks), fabric.total * k) is None:
            return units
    return 0


def _states(on: str) -> Iterator[tuple[forests.Fabric, IntArray, int]]:
    """A fabric in trees, before and while its switches vanish."""
    place = fabric(on)
    limit = forests.bound(place)
    capacity = room(place, limit.unit)
    yield place, capacity, limit.trees
    for split in without_switches(capacity, place.weight * limit.trees, place.ranks, on).splits:
        capacity = split_off(capacity, *split)
        yield place, capacity, limit.trees


def _splits(on: str) -> Case:
    """What can be split off: by the printed equation, by trying every number, and what is left in the end."""
    states = list(_states(on))
    wrong, stuck = 0, 0
    for place, capacity, k in states[:: max(1, len(states) // 3)]:
        for w, t in np.argwhere(capacity).tolist():
            splits = [(u, w, t) for u in np.flatnonzero(capacity[:, w]).tolist() if w >= place.ranks]
            able = [_tried(place, capacity, k, split) for split in splits]
            wrong += sum(
                by_theorem(place, capacity, k, split) != most for split, most in zip(splits, able, strict=True)
            )
            stuck += bool(splits) and not any(able)
    place, last, _ = states[-1]
    over = int(last[place.ranks :].sum() + last[:, place.ranks :].sum())
    return {"at": on, "wrong": wrong, "stuck": stuck, "left": over, "isolated": not over}


def _rings_and_pairs() -> Cases:
    """In each box a ring of 10, and each rank joined to its counterpart by 1."""
    ring = [(4 * box + j, 4 * box + (j + 1) % 4) for box in (0, 1) for j in range(4)]
    links = ring + [(rank, (rank + 4) % 8) for rank in range(8)]
    made = forests.forest(from_links("rings and pairs", 8, links, bandwidth=[10] * 8 + [1] * 8))
    yield {"at": "two rings of four", "inverse": made.bound.inverse_throughput, "reached": made.reached()}


# -- trees ---------------------------------------------------------------------------------------------


def mu_by_sets(g: IntArray, trees: Grown, x: int, y: int) -> int:
    """Equation B.3: over all sets that have x and neither y nor all of the first tree."""
    ranks, found = set(range(len(g))), [int(g[x, y]), trees[0][1]]
    for inside in ({x, *some} for size in range(len(g) - 1) for some in combinations(ranks - {x, y}, size)):
        if not trees[0][0] <= inside:
            room_out = int(g[np.ix_(sorted(inside), sorted(ranks - inside))].sum())
            found.append(room_out - sum(many for members, many in trees if members <= inside))
    return min(found)


def mu_by_flow(g: IntArray, trees: Grown, x: int, y: int) -> int:
    """Equation B.4: one maximum flow, with a node for every other tree."""
    n, others = len(g), trees[1:]
    network = np.zeros((n + len(others),) * 2, dtype=np.intp)
    network[:n, :n] = g
    for at, (members, many) in enumerate(others, n):
        network[x, at] = many
        network[at, sorted(members)] = ENDLESS
    flow, _ = max_flow(network, x, y, ENDLESS)
    return min(int(g[x, y]), trees[0][1], flow - sum(many for _, many in others))


def _wrong_mus(on: str) -> int:
    """For every link that could join, at every moment in which trees grow."""
    (place, g, k), wrong = list(_states(on))[-1], 0
    g = g[: place.ranks, : place.ranks].copy()
    batches = pack(g, place.weight * k)
    for number, batch in enumerate(batches):
        members, later = {batch.root}, [({other.root}, other.size) for other in batches[number + 1 :]]
        for start, end in batch.edges:
            trees = [(members, batch.size), *later]
            for x, y in product(members, {*range(place.ranks)} - members):
                wrong += bool(g[x, y]) and mu_by_sets(g, trees, x, y) != mu_by_flow(g, trees, x, y)
            g[start, end] -= batch.size
            members = members | {end}
    return wrong


def _flows(k: int) -> int:
    """How many flows it takes to pack k trees a rank between three ranks: one for every link that a batch tries."""
    return sum(len(batch.edges) for batch in pack(k * (1 - np.eye(3, dtype=np.intp)), np.full(3, k)))


def _in_time_and_disjoint() -> Cases:
    """Executed trees, beside times U that they keep or miss."""
    for on, k in (("dgx-a100:2", 3), ("torus:4x4", 2), ("boxes:2x4", 2)):
        made = forests.forest(where(on), trees=k, way="general")
        link = forests.busiest(built(made.schedule, on=on)) * made.fabric.total * k
        crossing = np.zeros_like(made.fabric.capacity)
        for tree in made.trees:
            for a, b in (pair for path in tree.paths for pair in pairwise(path)):
                crossing[a, b] += tree.size
        for part in (Fraction(9, 10), Fraction(1), Fraction(11, 10)):
            unit = made.bound.unit * part
            fits = bool((crossing <= room(made.fabric, unit)).all())
            yield {"at": f"{on}, k = {k}", "in_time": link <= unit, "disjoint": fits}


# -- all-reduce ----------------------------------------------------------------------------------------


def _rounded(k: int) -> Case:
    """The program's parts of five ranks, rounded down to whole trees of 1/k, and what still flows to every rank."""
    place, found = forests.fabric(five_ranks()), divided(forests.fabric(five_ranks()))
    down, reach = np.array([int(part * k) for part in found.roots]), []
    for parts, (start, end) in ((found.outward, found.pairs.T), (found.inward, found.pairs.T[::-1])):
        capacity = np.zeros_like(place.capacity)
        capacity[start, end] = [int(part * k) for part in parts]
        network = with_source(capacity, down)
        reach += [max_flow(network, place.nodes, sink, int(down.sum()))[0] for sink in range(place.ranks)]
    return {
        "at": f"five ranks, k = {k}",
        "k": k,
        "rate": found.rate,
        "trees": int(down.sum()),
        "reach": Fraction(min(reach), k),
        "parts": len(found.roots) + 2 * len(found.pairs),
    }


TABLE: Table = {
    "D-B-022": _rings_and_pairs,
    "D-B-029": _in_time_and_disjoint,
    "D-4-019": per("x", (2, 3, 4), at=" b", flow=_capped_flow),
    "D-4-023 D-B-025": searches(1, *SMALL, "dgx-a100:2", "mi250:2"),
    "D-B-030 D-B-032 D-B-035": searches(3, *SMALL, "dgx-a100:2", "mi250-8x2"),
    "D-4-027 D-B-019 D-B-020": lambda: map(_splits, ("example", "boxes:2x2", "star:5")),
    "D-B-008": per("k", (1, 10, 1000), at=", three ranks", N=lambda k: 3, flows=_flows),
    "D-B-027": per("fabric", ("torus:4", "mesh:3x2", "star:5"), wrong=_wrong_mus),
    "D-B-041": lambda: map(_rounded, (1, 3, 7, 31, 127)),
}
