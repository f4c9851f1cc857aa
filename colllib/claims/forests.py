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


def topology_of(on: str | Topology) -> Topology:
    """A topology whose links are counted, by its expression; "example" is the source's."""
    return place(example() if on == "example" else on)


def fabric_of(on: str | Topology) -> forests.Fabric:
    """The capacities of a topology."""
    return forests.fabric(topology_of(on))


@cache
def forest_of(on: str, **options: Any) -> forests.Forest:
    """The forest of a topology."""
    return forests.forest(topology_of(on), **options)


def packed_forest(on: str, **options: Any) -> Schedule:
    return forest_of(on, **options).schedule()


def run_of(on: str, **options: Any) -> Execution:
    """The forest of a topology, executed."""
    return built(packed_forest, on, on=topology_of(on), **options)


def shards(run: Execution) -> Fraction:
    """What the busiest link of a run needs, in shards per bandwidth."""
    return forests.busiest(run) * run.topology.ranks


def logical(on: str) -> splitting.Logical:
    """The capacities that its trees have after all switches are taken out."""
    fabric = fabric_of(on)
    limit = forest_of(on).bound
    return splitting.without_switches(room(fabric, limit.unit), fabric.weight * limit.trees, fabric.ranks, on)


def _left(on: str) -> Fraction:
    """The bound after that."""
    fabric = replace(
        fabric_of(on),
        topology=replace(topology_of(on), link_class=None),
        capacity=logical(on).capacity,
        unit=1 / forest_of(on).bound.unit,
    )
    return forests.bound(fabric).inverse_throughput


@cache
def quantities(on: str) -> Quantities:
    """A fabric's bound by several searches, its forest, and what executed trees need."""
    return Quantities(
        {
            "N": lambda: topology_of(on).ranks,
            "inverse": lambda: forests.bound(fabric_of(on)).inverse_throughput,
            "halved": lambda: forests.bound(fabric_of(on), search="bisection").inverse_throughput,
            "every_set": lambda: forests.bound(fabric_of(on), search="all-cuts").inverse_throughput,
            "at_optimum": lambda: overloaded(fabric_of(on), quantities(on).every_set) is None,
            "above": lambda: overloaded(fabric_of(on), quantities(on).every_set * Fraction(99, 100)) is None,
            "executed": lambda: shards(run_of(on)),
            "low": lambda: Fraction(topology_of(on).ranks - 1, quantities(on).least) / fabric_of(on).unit,
            "high": lambda: Fraction(topology_of(on).ranks - 1) / fabric_of(on).unit,
            "rank_binds": lambda: _around(on)[0] >= _around(on)[1],
            "least": lambda: int(fabric_of(on).capacity[:, : topology_of(on).ranks].sum(axis=0).min()),
            "denominator": lambda: Fraction((quantities(on).inverse * fabric_of(on).unit).denominator),
            "k": lambda: forest_of(on).bound.trees,
            "y": lambda: 1 / forest_of(on).bound.unit,
            "scaled": lambda: " ".join(map(str, sorted({*room(fabric_of(on), forest_of(on).bound.unit).flat} - {0}))),
            "logical": lambda: _left(on),
            "size": lambda: sum(forest_of(on).heights.values()),
            "reached": lambda: forest_of(on).reached(),
            "reduce_scatter": lambda: makes("reduce-scatter", run_of(on, primitive="reduce-scatter")),
            "reduce": lambda: makes("reduce", run_of(on, primitive="reduce")),
            "from_halves": lambda: makes("all-reduce", run_of(on, primitive="all-reduce")),
            "from_one_root": lambda: makes("all-reduce", built(others.one_root, topology_of(on), on=topology_of(on))),
            "out": lambda: others.unwound(topology_of(on)).fabric.leaving(range(4)),
            "worse": lambda: others.unwound(topology_of(on)).bound.inverse_throughput / quantities(on).inverse,
            "able": lambda: shards(run_of(on, multicast=True)),
            "received": lambda: max(run_of(on, multicast=True).received) * topology_of(on).ranks,
            "combined": lambda: 1 / forests.busiest(run_of(on, primitive="all-reduce")),
            "optimum": lambda: _optimum(on),
        }
    )


def each(*ons: str) -> Rows:
    """A case for each fabric."""
    return lambda: [quantities(on).case(example().name if on == "example" else on) for on in ons]


def _around(on: str) -> tuple[Fraction, Fraction]:
    """What has to come in for the bandwidth that leads in: into rank 0, and into its box with its switch."""
    fabric = fabric_of(on)
    box = {*range(4 if on == "example" else 8), fabric.ranks}
    into_rank, into_box = (forests.ratio(fabric, tuple({*range(fabric.nodes)} - sinks)) for sinks in ({0}, box))
    return into_rank, into_box


def _sets() -> Cases:
    """Of two boxes: the worst set, all nodes but a rank, and one rank."""
    fabric = fabric_of("example")
    most = tuple(node for node in range(11) if node != 4)
    shards, into_most = (len({*nodes} & {*range(8)}) for nodes in (BOX, most))
    time, one_rank = (forests.ratio(fabric, nodes) / 8 for nodes in (BOX, (0,)))
    worst = {"shards": shards, "leaving": fabric.leaving(BOX), "time": time, "x": 1 / quantities("example").inverse}
    others = {"flow": into_most, "leaving_most": fabric.leaving(most), "one_rank": one_rank}
    yield {"at": "two boxes of four", **worst, **others}


@deferred
def few_trees(on: str, *ks: int) -> Cases:
    """Fixed numbers of trees: algorithm bandwidths, and the limits of the search."""
    for k in ks:
        fabric = fabric_of(on)
        time = forests.fixed(fabric, k).inverse_throughput
        speeds = fabric.capacity[fabric.capacity > 0]
        trees = room(fabric, time * k)
        yield {
            "at": f"{on}, k = {k}",
            "k": k,
            "time": time,
            "limit": quantities(on).inverse + 1 / (k * int(speeds.min()) * fabric.unit),
            "algbw": fabric.total / time,
            "share": quantities(on).inverse / time,
            "denominator": (time * k * fabric.unit).denominator,
            "widest": int(speeds.max()),
            "eulerian": bool((trees.sum(0) == trees.sum(1)).all()),
        }


def _searched(on: str, k: int) -> Case:
    """Algorithms 1 and 5 as they are printed, and the least k of trees that fit by trying one after the other."""
    fabric = fabric_of(on)
    n, unit, least = fabric.ranks, fabric.unit, quantities(on).least
    speeds = np.unique(fabric.capacity[fabric.capacity > 0]).tolist()
    low, high, widest = Fraction(n - 1, least), Fraction(n - 1), max(speeds)
    inverse, iterations = halved(low, high, least, lambda at: not overloaded(fabric, at / unit))
    least_u, iterations_fixed = halved(
        low * k, high * k, widest, lambda at: feasible(fabric, room(fabric, at / unit), k)
    )
    trees = next(k for k in count(1) if all((inverse * k * speed).denominator == 1 for speed in speeds))
    inputs = {"at": fabric.topology.name, "N": n, "k": k, "least": least, "widest": widest}
    exact = {"inverse": inverse, "p": inverse.numerator, "every_k": trees, "y": 1 / (inverse * trees)}
    common = {"g": gcd(inverse.denominator, *speeds), "most": Fraction(least, gcd(*speeds))}
    steps = {"iterations": iterations, "iterations_fixed": iterations_fixed}
    return {**inputs, **exact, **common, **steps, "found": least_u, "U": forests.fixed(fabric, k).unit * unit}


def _least_difference(most: int) -> Fraction:
    return min(b - a for a, b in pairwise(sorted({Fraction(p, q) for q in range(1, most + 1) for p in range(q + 1)})))


def _capped_flow(x: int) -> int:
    """Into a rank of the example, if every rank sends x."""
    fabric = fabric_of("example")
    return flow.max_flow(flow.with_source(fabric.capacity, x * fabric.weight), fabric.nodes, 5, 8 * x)[0]


def _after_a_split(u: int, t: int) -> int:
    """What leaves the upper box of the example when a unit through the middle switch leads from u to t."""
    left = splitting.split_off(fabric_of("example").capacity, u, 10, t, 1)
    return int(replace(fabric_of("example"), capacity=left).leaving(BOX))


def by_theorem(state: splitting.Logical, u: int, w: int, t: int) -> int:
    """Equation B.1 as it is printed: how many units of (u, w) and (w, t) can be split off."""
    s = len(state.network) - 1
    need = int(state.network[-1].sum())
    limits = [int(state.network[u, w]), int(state.network[w, t])]
    for v in state.sinks:
        for start, end, wide in ((u, w, ((u, s), (u, t), (v, w))), (w, t, ((w, s), (u, t), (v, t)))):
            network = state.network.copy()
            network[tuple(zip(*wide, strict=True))] = ENDLESS
            limits.append(flow.max_flow(network, start, end, need + ENDLESS)[0] - need)
    return min(limits)


def _splits(on: str) -> Case:
    """What can be split off: by the printed equation, as this book counts it, and what is left in the end."""
    last = logical(on)
    ranks = topology_of(on).ranks
    states = [last]
    for u, w, t, units in reversed(last.splits):
        states.append(replace(last, network=splitting.split_off(states[-1].network, u, w, t, -units)))
    wrong = stuck = 0
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
    forest = forests.forest(from_links("rings and pairs", 8, links, bandwidth=[10] * 8 + [1] * 8))
    yield {"at": "two rings of four", "inverse": forest.bound.inverse_throughput, "reached": forest.reached()}


def mu_by_sets(g: IntArray, trees: list[forests.Tree], x: int, y: int) -> int:
    """Equation B.3: over all sets that have x and neither y nor all of the first tree."""
    ranks = {*range(len(g))}
    limits = [int(g[x, y]), trees[0].size]
    for inside in ({x, *rest} for size in range(len(g) - 1) for rest in combinations(ranks - {x, y}, size)):
        if not inside.issuperset(trees[0].members):
            room_out = int(g[np.ix_(sorted(inside), sorted(ranks - inside))].sum())
            limits.append(room_out - sum(tree.size for tree in trees if inside.issuperset(tree.members)))
    return min(limits)


class _Watched(packing.Growth):
    """Growth whose flows, those of Equation B.4, are counted where sets of ranks say otherwise."""

    wrong = 0

    def most(self, batch: forests.Tree, start: int, end: int) -> int:
        """How many trees of the batch may take a link."""
        by_flow = super().most(batch, start, end)
        self.wrong += by_flow != mu_by_sets(self.left, [batch, *self.waiting], start, end)
        return by_flow


def _wrong_mus(on: str) -> int:
    """For every link that is tried while trees grow."""
    growth = _Watched(logical(on).capacity, fabric_of(on).weight * forest_of(on).bound.trees)
    while growth.waiting:
        growth.grown(growth.waiting.pop(0))
    return growth.wrong


def _flows(k: int) -> int:
    """How many flows it takes to pack k trees a rank between three ranks: one for every link that a batch tries."""
    return sum(len(batch.edges) for batch in packing.pack(k * (1 - np.eye(3, dtype=np.intp)), np.full(3, k)))


def _in_time_and_disjoint() -> Cases:
    """Executed trees, beside times U that they keep or miss."""
    for on, k in (("dgx-a100:2", 3), ("torus:4x4", 2), ("boxes:2x4", 2)):
        forest = forests.forest(topology_of(on), trees=k, way="general")
        link = forests.busiest(built(forest.schedule, on=on)) * forest.fabric.total * k
        crossing = np.zeros_like(forest.fabric.capacity)
        for size, path in ((tree.size, path) for tree in forest.trees for path in tree.paths):
            crossing[path[:-1], path[1:]] += size
        for unit in (forest.bound.unit * Fraction(tenths, 10) for tenths in (9, 10, 11)):
            fits = bool((crossing <= room(forest.fabric, unit)).all())
            yield {"at": f"{on}, k = {k}", "in_time": link <= unit, "disjoint": fits}


def _pruned() -> Cases:
    """A chain in each box, once over the network: what enters the other box's switch, and what a rank receives."""
    edges = ((0, 1), (1, 2), (2, 3), (0, 4), (4, 5), (5, 6), (6, 7))
    paths = tuple((a, 10 if b - a == 4 else 8 + a // 4, b) for a, b in edges)
    tree = forests.Tree(0, 1, edges, paths)
    limit = forests.Bound(Fraction(1), (), 1, Fraction(1))
    chain = forests.Forest("broadcast", forests.fabric(example(), root=0), limit, (tree,))
    plain, able = (built(replace(chain, multicast=on).schedule, on=example()) for on in (False, True))
    into = np.flatnonzero(example().link_dst == 9).tolist()
    before, after = (sum(run.link_total[link] for link in into) for run in (plain, able))
    yield {"at": "two boxes of four", "before": before, "after": after, "most": max(able.received)}


def _time(pieces: int) -> Fraction:
    """The lock-step time of the trees of two boxes of four."""
    return Fraction(run_of("example", pieces=pieces).cost.n_beta)


def _optimum(on: str) -> Fraction:
    """The rate of trees both ways at once, or what all links into GPUs allow."""
    if on == "mi250-8x2":
        return 1 / forests.busiest(built(allreduce.all_reduce, two_halves(), on=on))
    into = fabric_of(on).capacity[:, : fabric_of(on).ranks].sum() * fabric_of(on).unit
    return Fraction(into) / (2 * (fabric_of(on).ranks - 1))  # every rank but one takes in and gives away M


def _at_once(topology: Topology) -> Case:
    """What trees in and out at once need, by the linear program and executed, beside two all-gathers by the bound."""
    halves = 2 * forests.bound(fabric_of(topology)).inverse_throughput / topology.ranks
    executed = forests.busiest(built(allreduce.all_reduce, topology, on=topology))
    rate = allreduce.divided(fabric_of(topology)).rate
    return {"at": topology.name, "rate": rate, "halves": halves, "at_once": executed}


def _rounded(k: int) -> Case:
    """The program's parts of five ranks, rounded down to whole trees of 1/k, and what still flows to every rank."""
    program = allreduce.divided(fabric_of(five()))
    n = five().ranks
    down = np.array([int(part * k) for part in program.roots])
    reach: list[Fraction] = []
    for parts, (start, end) in ((program.outward, program.pairs.T), (program.inward, program.pairs.T[::-1])):
        capacity = np.zeros((n, n), dtype=np.intp)
        capacity[start, end] = [int(part * k) for part in parts]
        network = flow.with_source(capacity, down)
        reach += [Fraction(flow.max_flow(network, n, sink, int(down.sum()))[0], k) for sink in range(n)]
    return {"rate": program.rate, "trees": int(down.sum()), "reach": min(reach), "parts": n + 2 * len(program.pairs)}


def _unequal_parts() -> Cases:
    for on, weights in (("boxes:2x2", (1, 2, 0, 3)), ("torus:2x2", (0, 1, 1, 5)), ("mesh:3x2", (1, 2, 3, 4, 5, 6))):
        every = forests.bound(forests.fabric(topology_of(on), weights=weights), search="all-cuts").inverse_throughput
        executed = forests.busiest(run_of(on, weights=weights)) * sum(weights)
        yield {"at": f"{on}, {weights}", "executed": executed, "every_set": every}


def _crossings(schedule: Schedule, root: int) -> int:
    """How often the shard of a rank leaves a box of eight."""
    of_root = schedule.blocks.source == root
    return sum(int((of_root[step.block] & (step.src // 8 != step.dst // 8)).sum()) for step in schedule.steps)


def _ring_and_tree_over_the_network() -> Cases:
    on = "dgx-a100:2"
    ring, tree = built(allgather.ring, 16, on=on), run_of(on, trees=1)
    channels = run("all-gather channels", on)
    by_ring, by_tree = (crossings(run)["card"].total for run in (ring, tree))
    twice = sum(_crossings(ring.schedule, root) == 2 for root in range(16))
    once = {"ring_crosses": _crossings(ring.schedule, 1), "tree_crosses": _crossings(tree.schedule, 1), "twice": twice}
    times = {"ring": shards(ring), "channels": shards(channels), "forest": shards(run_of(on))}
    yield {"at": on, **once, "traffic": by_ring / by_tree, **times, "bound": quantities(on).inverse}


def _gain(n: int, machine: str = "dgx-h100") -> Fraction:
    return shards(run("all-gather channels", f"{machine}:{n}")) / shards(run_of(f"{machine}:{n}")) - 1


def _ring_binds(n: int) -> str:
    """Whether a ring for each card waits for the cards or for the links inside of a box."""
    done = run("all-gather channels", f"dgx-h100:{n}")
    return "box" if forests.busiest(done) == crossings(done)["card"].most / 50 else "GPU"


def _machines() -> Cases:
    """What their topologies have, per GPU, one way, in GB/s."""
    a100, mi250 = fabric_of("dgx-a100:2"), fabric_of("mi250:2")
    inside = mi250.capacity[: mi250.ranks, : mi250.ranks] * int(mi250.unit)
    wires = np.unique(inside.sum(axis=1) // 50)
    neighbors = (inside > 0).sum(axis=1)
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
    "D-4-061": per(
        (2, 4, 8, 16),
        name="n",
        binds=lambda n: "GPU" if quantities(f"dgx-h100:{n}").rank_binds else "box",
        ring_binds=_ring_binds,
    ),
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
    "D-4-037": lambda: few_trees("mi250:2", forests.bound(fabric_of("mi250:2")).trees)(),
    "D-4-040 D-B-040": each("dgx-a100:2", "dgx-h100:4", "mi250-8x2"),
    "D-4-048": each("mi250-8x2", "dgx-a100:2"),
    "D-4-058": per((2,), name="n", gain=lambda n: _gain(n, "dgx-a100")),
    "D-4-060": per((16,), name="n", gain=_gain),
    "D-4-062": per((1, 2, 4, 8, 16), name="n", gain=_gain, at_one=lambda n: _gain(1)),
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
