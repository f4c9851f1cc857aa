"""Answers on forests: bounds by cuts, trees that reach them, theorems as they are printed, and the source's numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from itertools import combinations, count, pairwise
from math import gcd
from typing import Any

import numpy as np

from colllib import forest as forests
from colllib.algorithms import allgather
from colllib.claims.cases import Quantities, deferred, once, one_by, per
from colllib.claims.runs import built, makes, place, run
from colllib.claims.value import Case, Cases, Limit, Rows, Table
from colllib.exact import IntArray
from colllib.execution import Execution
from colllib.forest import allreduce, flow, others, packing, splitting
from colllib.forest.bound import feasible, halved, overloaded, room
from colllib.forest.fabric import two_boxes
from colllib.metrics import crossings
from colllib.parallelism import MODELS
from colllib.schedule import Schedule
from colllib.topology import Topology, from_links
from colllib.topology.expression import find

SMALL = ("boxes:2x2", "torus:2x2", "star:5", "mesh:3x2")
ENDLESS = 10**9  # a capacity that no cut wants to cross
BOX = (0, 1, 2, 3, 8)  # of the source's example, with its switch
# the runs of one topology object are shared
example, five, two_halves = cache(two_boxes), cache(allreduce.five_ranks), cache(allreduce.half_boxes)


def where(on: str | Topology) -> Topology:
    """A topology whose links are counted, or the source's example."""
    return place(example() if on == "example" else on)


def fabric(on: str | Topology) -> forests.Fabric:
    """Its capacities."""
    return forests.fabric(where(on))


@cache
def known(on: str) -> forests.Forest:
    """Its forest."""
    return forests.forest(where(on))


def packed_forest(on: str, **options: Any) -> Schedule:
    return (forests.forest(where(on), **options) if options else known(on)).schedule()


def ran(on: str, **options: Any) -> Execution:
    """Its forest, executed."""
    return built(packed_forest, on, on=where(on), **options)


def shards(run: Execution) -> Fraction:
    """What the busiest link of a run needs, in shards per bandwidth."""
    return forests.busiest(run) * run.topology.ranks


def logical(on: str) -> splitting.Logical:
    """Its trees' capacities after all switches are taken out."""
    place, limit = fabric(on), known(on).bound
    return splitting.without_switches(room(place, limit.unit), place.weight * limit.trees, place.ranks, on)


def _left(on: str) -> Fraction:
    """The bound after that."""
    plain, left, unit = replace(where(on), link_class=None), logical(on).capacity, 1 / known(on).bound.unit
    return forests.bound(replace(fabric(on), topology=plain, capacity=left, unit=unit)).inverse_throughput


@cache
def of_fabric(on: str) -> Quantities:
    """A fabric's bound by several searches, its forest, and what executed trees need."""
    return Quantities(
        {
            "N": lambda: where(on).ranks,
            "inverse": lambda: forests.bound(fabric(on)).inverse_throughput,
            "halved": lambda: forests.bound(fabric(on), search="bisection").inverse_throughput,
            "every_set": lambda: forests.bound(fabric(on), search="all-cuts").inverse_throughput,
            "at_optimum": lambda: overloaded(fabric(on), of_fabric(on).every_set) is None,
            "above": lambda: overloaded(fabric(on), of_fabric(on).every_set * Fraction(99, 100)) is None,
            "executed": lambda: shards(ran(on)),
            "low": lambda: Fraction(where(on).ranks - 1, of_fabric(on).least) / fabric(on).unit,
            "high": lambda: Fraction(where(on).ranks - 1) / fabric(on).unit,
            "rank_binds": lambda: _around(on)[0] >= _around(on)[1],
            "least": lambda: int(fabric(on).capacity[:, : where(on).ranks].sum(axis=0).min()),
            "denominator": lambda: Fraction((of_fabric(on).inverse * fabric(on).unit).denominator),
            "k": lambda: known(on).bound.trees,
            "y": lambda: 1 / known(on).bound.unit,
            "scaled": lambda: " ".join(map(str, sorted({*room(fabric(on), known(on).bound.unit).flat} - {0}))),
            "logical": lambda: _left(on),
            "size": lambda: sum(known(on).heights.values()),
            "reached": lambda: known(on).reached(),
            "reduce_scatter": lambda: makes("reduce-scatter", ran(on, primitive="reduce-scatter")),
            "reduce": lambda: makes("reduce", ran(on, primitive="reduce")),
            "from_halves": lambda: makes("all-reduce", ran(on, primitive="all-reduce")),
            "from_one_root": lambda: makes("all-reduce", built(others.one_root, where(on), on=where(on))),
            "out": lambda: others.unwound(where(on)).fabric.leaving(range(4)),
            "worse": lambda: others.unwound(where(on)).bound.inverse_throughput / of_fabric(on).inverse,
            "able": lambda: shards(ran(on, multicast=True)),
            "received": lambda: max(ran(on, multicast=True).received) * where(on).ranks,
            "combined": lambda: 1 / forests.busiest(ran(on, primitive="all-reduce")),
            "optimum": lambda: _optimum(on),
        }
    )


def each(*ons: str) -> Rows:
    """A case for each fabric."""
    return lambda: [of_fabric(on).case(example().name if on == "example" else on) for on in ons]


def _around(on: str) -> tuple[Fraction, Fraction]:
    """What has to come in for the bandwidth that leads in: into rank 0, and into its box with its switch."""
    place, box = fabric(on), range(4 if on == "example" else 8)
    rank, boxed = (forests.ratio(place, tuple({*range(place.nodes)} - out)) for out in ({0}, {*box, place.ranks}))
    return rank, boxed


def _sets() -> Cases:
    """Of two boxes: the worst set, all nodes but a rank, and one rank."""
    place, most = fabric("example"), tuple(node for node in range(11) if node != 4)
    shards, into_most = (len({*nodes} & {*range(8)}) for nodes in (BOX, most))
    time, one_rank = (forests.ratio(place, nodes) / 8 for nodes in (BOX, (0,)))
    worst = {"shards": shards, "leaving": place.leaving(BOX), "time": time, "x": 1 / of_fabric("example").inverse}
    others = {"flow": into_most, "leaving_most": place.leaving(most), "one_rank": one_rank}
    yield {"at": "two boxes of four", **worst, **others}


@deferred
def few_trees(on: str, *ks: int) -> Cases:
    """Fixed numbers of trees: algorithm bandwidths, and the limits of the search."""
    for k in ks:
        place, time = fabric(on), forests.fixed(fabric(on), k).inverse_throughput
        speeds, trees = place.capacity[place.capacity > 0], room(place, time * k)
        limit = of_fabric(on).inverse + 1 / (k * int(speeds.min()) * place.unit)
        rates = {"time": time, "limit": limit, "algbw": place.total / time, "share": of_fabric(on).inverse / time}
        whole = {"denominator": (time * k * place.unit).denominator, "widest": int(speeds.max())}
        yield {"at": f"{on}, k = {k}", "k": k, **rates, **whole, "eulerian": bool((trees.sum(0) == trees.sum(1)).all())}


def _searched(on: str, k: int) -> Case:
    """Algorithms 1 and 5 as they are printed, and the least k of trees that fit by trying one after the other."""
    place, n, least = fabric(on), fabric(on).ranks, of_fabric(on).least
    speeds = np.unique(place.capacity[place.capacity > 0]).tolist()
    low, high, widest, unit = Fraction(n - 1, least), Fraction(n - 1), max(speeds), place.unit
    inverse, iterations = halved(low, high, least, lambda at: not overloaded(place, at / unit))
    found, iterations_fixed = halved(low * k, high * k, widest, lambda at: feasible(place, room(place, at / unit), k))
    trees = next(k for k in count(1) if all((inverse * k * speed).denominator == 1 for speed in speeds))
    given = {"at": place.topology.name, "N": n, "k": k, "least": least, "widest": widest}
    exact = {"inverse": inverse, "p": inverse.numerator, "every_k": trees, "y": 1 / (inverse * trees)}
    common = {"g": gcd(inverse.denominator, *speeds), "most": Fraction(least, gcd(*speeds))}
    steps = {"iterations": iterations, "iterations_fixed": iterations_fixed}
    return {**given, **exact, **common, **steps, "found": found, "U": forests.fixed(place, k).unit * unit}


def _least_difference(most: int) -> Fraction:
    return min(b - a for a, b in pairwise(sorted({Fraction(p, q) for q in range(1, most + 1) for p in range(q + 1)})))


def _capped_flow(x: int) -> int:
    """Into a rank of the example, if every rank sends x."""
    place = fabric("example")
    return flow.max_flow(flow.with_source(place.capacity, x * place.weight), place.nodes, 5, 8 * x)[0]


def _after_a_split(u: int, t: int) -> int:
    """What leaves the upper box of the example when a unit through the middle switch leads from u to t."""
    left = splitting.split_off(fabric("example").capacity, u, 10, t, 1)
    return int(replace(fabric("example"), capacity=left).leaving(BOX))


def by_theorem(state: splitting.Logical, u: int, w: int, t: int) -> int:
    """Equation B.1 as it is printed: how many units of (u, w) and (w, t) can be split off."""
    s, need = len(state.network) - 1, int(state.network[-1].sum())
    found = [int(state.network[u, w]), int(state.network[w, t])]
    for v in state.sinks:
        for start, end, wide in ((u, w, ((u, s), (u, t), (v, w))), (w, t, ((w, s), (u, t), (v, t)))):
            network = state.network.copy()
            network[tuple(zip(*wide, strict=True))] = ENDLESS
            found.append(flow.max_flow(network, start, end, need + ENDLESS)[0] - need)
    return min(found)


def _splits(on: str) -> Case:
    """What can be split off: by the printed equation, as this book counts it, and what is left in the end."""
    last, ranks, wrong, stuck = logical(on), where(on).ranks, 0, 0
    states = [last]
    for u, w, t, units in reversed(last.splits):
        states.append(replace(last, network=splitting.split_off(states[-1].network, u, w, t, -units)))
    for state in states[:: -max(1, len(last.splits) // 3)]:
        for w, t in np.argwhere(state.network[ranks:-1]).tolist():
            splits = [(u, w + ranks, t) for u in np.flatnonzero(state.network[:, w + ranks]).tolist()]
            able = [state.most(*split, ENDLESS) for split in splits]
            wrong += sum(by_theorem(state, *split) != most for split, most in zip(splits, able, strict=True))
            stuck += not any(able)
    over = int(last.network[ranks:-1].sum() + last.network[:, ranks:-1].sum())
    return {"at": on, "wrong": wrong, "stuck": stuck, "left": over, "isolated": not over}


def _rings_and_pairs() -> Cases:
    """In each box a ring of 10, and each rank joined to its counterpart by 1."""
    ring = [(4 * box + j, 4 * box + (j + 1) % 4) for box in (0, 1) for j in range(4)]
    links = ring + [(rank, (rank + 4) % 8) for rank in range(8)]
    made = forests.forest(from_links("rings and pairs", 8, links, bandwidth=[10] * 8 + [1] * 8))
    yield {"at": "two rings of four", "inverse": made.bound.inverse_throughput, "reached": made.reached()}


def mu_by_sets(g: IntArray, trees: list[forests.Tree], x: int, y: int) -> int:
    """Equation B.3: over all sets that have x and neither y nor all of the first tree."""
    ranks, found = {*range(len(g))}, [int(g[x, y]), trees[0].size]
    for inside in ({x, *some} for size in range(len(g) - 1) for some in combinations(ranks - {x, y}, size)):
        if not inside.issuperset(trees[0].members):
            room_out = int(g[np.ix_(sorted(inside), sorted(ranks - inside))].sum())
            found.append(room_out - sum(tree.size for tree in trees if inside.issuperset(tree.members)))
    return min(found)


class _Watched(packing.Growth):
    """Growth whose flows, those of Equation B.4, are counted where sets of ranks say otherwise."""

    wrong = 0

    def most(self, batch: forests.Tree, start: int, end: int) -> int:
        """How many trees of the batch may take a link."""
        found = super().most(batch, start, end)
        self.wrong += found != mu_by_sets(self.left, [batch, *self.waiting], start, end)
        return found


def _wrong_mus(on: str) -> int:
    """For every link that is tried while trees grow."""
    growth = _Watched(logical(on).capacity, fabric(on).weight * known(on).bound.trees)
    while growth.waiting:
        growth.grown(growth.waiting.pop(0))
    return growth.wrong


def _flows(k: int) -> int:
    """How many flows it takes to pack k trees a rank between three ranks: one for every link that a batch tries."""
    return sum(len(batch.edges) for batch in packing.pack(k * (1 - np.eye(3, dtype=np.intp)), np.full(3, k)))


def _in_time_and_disjoint() -> Cases:
    """Executed trees, beside times U that they keep or miss."""
    for on, k in (("dgx-a100:2", 3), ("torus:4x4", 2), ("boxes:2x4", 2)):
        made = forests.forest(where(on), trees=k, way="general")
        link = forests.busiest(built(made.schedule, on=on)) * made.fabric.total * k
        crossing = np.zeros_like(made.fabric.capacity)
        for size, path in ((tree.size, path) for tree in made.trees for path in tree.paths):
            crossing[path[:-1], path[1:]] += size
        for unit in (made.bound.unit * Fraction(tenths, 10) for tenths in (9, 10, 11)):
            fits = bool((crossing <= room(made.fabric, unit)).all())
            yield {"at": f"{on}, k = {k}", "in_time": link <= unit, "disjoint": fits}


def _pruned() -> Cases:
    """A chain in each box, once over the network: what enters the other box's switch, and what a rank receives."""
    edges = ((0, 1), (1, 2), (2, 3), (0, 4), (4, 5), (5, 6), (6, 7))
    paths = tuple((a, 10 if b - a == 4 else 8 + a // 4, b) for a, b in edges)
    tree, limit = forests.Tree(0, 1, edges, paths), forests.Bound(Fraction(1), (), 1, Fraction(1))
    chain = forests.Forest("broadcast", forests.fabric(example(), root=0), limit, (tree,))
    plain, able = (built(replace(chain, multicast=on).schedule, on=example()) for on in (False, True))
    into = np.flatnonzero(example().link_dst == 9).tolist()
    before, after = (sum(run.link_total[link] for link in into) for run in (plain, able))
    yield {"at": "two boxes of four", "before": before, "after": after, "most": max(able.received)}


def _time(pieces: int) -> Fraction:
    """The lock-step time of the trees of two boxes of four."""
    return Fraction(ran("example", pieces=pieces).cost.n_beta)


def _optimum(on: str) -> Fraction:
    """The rate of trees both ways at once, or what all links into GPUs allow."""
    if on == "mi250-8x2":
        return 1 / forests.busiest(built(allreduce.all_reduce, two_halves(), on=on))
    into = fabric(on).capacity[:, : fabric(on).ranks].sum() * fabric(on).unit
    return Fraction(into) / (2 * (fabric(on).ranks - 1))  # every rank but one takes in and gives away M


def _at_once(topology: Topology) -> Case:
    """What trees in and out at once need, by the linear program and executed, beside two all-gathers by the bound."""
    halves = 2 * forests.bound(fabric(topology)).inverse_throughput / topology.ranks
    executed = forests.busiest(built(allreduce.all_reduce, topology, on=topology))
    rate = allreduce.divided(fabric(topology)).rate
    return {"at": topology.name, "rate": rate, "halves": halves, "at_once": executed}


def _rounded(k: int) -> Case:
    """The program's parts of five ranks, rounded down to whole trees of 1/k, and what still flows to every rank."""
    found, n = allreduce.divided(fabric(five())), five().ranks
    down, reach = np.array([int(part * k) for part in found.roots]), []
    for parts, (start, end) in ((found.outward, found.pairs.T), (found.inward, found.pairs.T[::-1])):
        capacity = np.zeros((n, n), dtype=np.intp)
        capacity[start, end] = [int(part * k) for part in parts]
        network = flow.with_source(capacity, down)
        reach += [Fraction(flow.max_flow(network, n, sink, int(down.sum()))[0], k) for sink in range(n)]
    return {"rate": found.rate, "trees": int(down.sum()), "reach": min(reach), "parts": n + 2 * len(found.pairs)}


def _unequal_parts() -> Cases:
    for on, weights in (("boxes:2x2", (1, 2, 0, 3)), ("torus:2x2", (0, 1, 1, 5)), ("mesh:3x2", (1, 2, 3, 4, 5, 6))):
        every = forests.bound(forests.fabric(where(on), weights=weights), search="all-cuts").inverse_throughput
        executed = forests.busiest(ran(on, weights=weights)) * sum(weights)
        yield {"at": f"{on}, {weights}", "executed": executed, "every_set": every}


def _crossings(schedule: Schedule, root: int) -> int:
    """How often the shard of a rank leaves a box of eight."""
    own = schedule.blocks.source == root
    return sum(int((own[step.block] & (step.src // 8 != step.dst // 8)).sum()) for step in schedule.steps)


def _ring_and_tree_over_the_network() -> Cases:
    on = "dgx-a100:2"
    ring, tree, channels = built(allgather.ring, 16, on=on), ran(on, trees=1), run("all-gather channels", on)
    by_ring, by_tree = (crossings(run)["card"].total for run in (ring, tree))
    twice = sum(_crossings(ring.schedule, root) == 2 for root in range(16))
    once = {"ring_crosses": _crossings(ring.schedule, 1), "tree_crosses": _crossings(tree.schedule, 1), "twice": twice}
    times = {"ring": shards(ring), "channels": shards(channels), "forest": shards(ran(on))}
    yield {"at": on, **once, "traffic": by_ring / by_tree, **times, "bound": of_fabric(on).inverse}


def _gain(n: int, machine: str = "dgx-h100") -> Fraction:
    return shards(run("all-gather channels", f"{machine}:{n}")) / shards(ran(f"{machine}:{n}")) - 1


def _machines() -> Cases:
    """What their topologies have, per GPU, one way, in GB/s."""
    a100, mi250 = fabric("dgx-a100:2"), fabric("mi250:2")
    inside = mi250.capacity[: mi250.ranks, : mi250.ranks] * int(mi250.unit)
    wires, neighbors = np.unique(inside.sum(axis=1) // 50), (inside > 0).sum(axis=1)
    a100_speeds = {"a100_box": a100.capacity[0, 16] * a100.unit, "a100_card": a100.capacity[0, 18] * a100.unit}
    speeds = {"mi250_box": inside[0].sum(), "mi250_card": mi250.capacity[0, mi250.ranks] * mi250.unit}
    links = {"links": int(*wires), "fewest": int(neighbors.min()), "most": int(neighbors.max())}
    yield {"at": "the two machines", **a100_speeds, **speeds, "ranks": mi250.ranks // 2, **links}


LLAMA = replace(MODELS["Llama 3.1 405B"], layers=36)
TABLE: Table = {
    "D-4-010": each("dgx-a100:1", "dgx-a100:2", "dgx-a100:4", "example"),
    "D-4-011 D-4-012 D-4-016 D-4-017 D-B-009": _sets,
    "D-4-013 D-4-015 D-4-018 D-B-012 D-B-024": each(*SMALL),
    "D-4-014 D-4-020 D-4-021 D-4-025 D-4-029 D-B-017": each("example", "dgx-a100:2"),
    "D-4-024 D-4-028 D-B-011 D-B-015": each("example"),
    "D-4-061": per((2, 4, 8, 16), name="n", binds=lambda n: "GPU" if of_fabric(f"dgx-h100:{n}").rank_binds else "box"),
    "D-B-014": per((2, 3, 5, 8), name="X", difference=_least_difference),
    "D-4-031": _pruned,
    "D-B-010": per((1, 4, 16, 64), name="P", time=_time, limit=lambda _: Limit.of(_time)),
    "D-4-009": each("dgx-a100:2", "torus:4x4", "example"),
    "D-4-026": one_by("two boxes of four", partial(_after_a_split, 0), red=4, blue=1),
    "D-4-039": each("dgx-h100:2,inc=box", "boxes:2x4,inc=both"),
    "D-4-042": _unequal_parts,
    "D-4-005 D-4-006 D-4-007": _ring_and_tree_over_the_network,
    "D-4-001 D-4-043 D-4-044 D-4-045 D-4-054": _machines,
    "D-4-032 D-4-033 D-4-034 D-4-035 D-4-036 D-4-038": few_trees("mi250:2", 1, 2, 3, 4, 5),
    "D-4-037": lambda: few_trees("mi250:2", forests.bound(fabric("mi250:2")).trees)(),
    "D-4-040 D-B-040": each("dgx-a100:2", "dgx-h100:4", "mi250-8x2"),
    "D-4-048": each("mi250-8x2", "dgx-a100:2"),
    "D-4-058": per((2,), name="n", gain=lambda n: _gain(n, "dgx-a100")),
    "D-4-060": per((16,), name="n", gain=_gain),
    "D-4-062": per((2, 4, 8, 16), name="n", gain=_gain, before=lambda n: _gain(max(2, n // 2))),
    "D-4-067": once("36 layers", billions=lambda: Fraction(LLAMA.parameters, 10**9)),
    "D-4-078": each(*(f"dgx-a100:{n}" for n in (1, 2, 4, 16, 128)), "mi250-8x2"),
    "D-B-031 D-B-033 D-B-034": few_trees("dgx-a100:2", 1, 2, 3, 4, 5),
    "D-4-041": lambda: [_at_once(five())],
    "D-B-039": lambda: map(_at_once, (five(), find("torus:2x2"), find("mesh:3x2"))),
    "D-B-022": _rings_and_pairs,
    "D-B-029": _in_time_and_disjoint,
    "D-4-019": per((2, 3, 4), name="x", at=" b", flow=_capped_flow),
    "D-4-023 D-B-025": lambda: (_searched(on, 1) for on in (*SMALL, "dgx-a100:2", "mi250:2")),
    "D-B-030 D-B-032 D-B-035": lambda: (_searched(on, 3) for on in (*SMALL, "dgx-a100:2", "mi250-8x2")),
    "D-4-027 D-B-019 D-B-020 D-B-021": lambda: map(_splits, ("example", "boxes:2x2", "star:5")),
    "D-B-008": per((1, 10, 1000), name="k", at=", three ranks", N=lambda k: 3, flows=_flows),
    "D-B-027": per(("torus:4", "mesh:3x2", "star:5"), name="fabric", wrong=_wrong_mus),
    "D-B-041": per((1, 3, 7, 31, 127), _rounded, name="k", at=", five ranks"),
}
