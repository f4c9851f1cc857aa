"""Answers on forests: bounds by cuts, trees that reach them, and what the source's own numbers come to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np

from colllib import forest as forests
from colllib.algorithms import allgather
from colllib.claims.cases import Rows, once, per
from colllib.claims.finding import FACT, Cases, Verdict, answer, table
from colllib.claims.reading import nothing
from colllib.claims.runs import built, place, run
from colllib.claims.value import Case, Limit
from colllib.execution import execute
from colllib.forest.allreduce import all_reduce, divided, five_ranks, half_boxes
from colllib.forest.bound import feasible, room
from colllib.forest.fabric import two_boxes
from colllib.forest.others import one_root, unwound
from colllib.forest.splitting import without_switches
from colllib.primitives import PRIMITIVES
from colllib.schedule import Schedule
from colllib.topology import Topology, find

BOTTLENECK, TREES, WORTH = "the-bottleneck", "from-flow-to-trees", "what-a-forest-is-worth"
SMALL = ("boxes:2x2", "torus:2x2", "star:5", "mesh:3x2")


example = cache(two_boxes)  # the runs of one topology object are shared


@cache
def known(on: str) -> forests.Forest:
    """The forest of a topology, or of the source's example."""
    return forests.forest(example() if on == "example" else place(on))


def _schedule(on: str) -> Schedule:
    return known(on).schedule()


def shards(on: str) -> Fraction:
    """What the busiest link of an executed forest needs, in shards per bandwidth."""
    found = known(on)
    return forests.busiest(built(_schedule, on, on=found.fabric.topology)) * found.fabric.total


def bounds(*ons: str) -> Rows:
    """The bound of fabrics by three searches, and what executed trees need."""

    def rows() -> Iterator[Case]:
        for on in ons:
            found = known(on)
            inverse, fabric = found.bound.inverse_throughput, found.fabric
            units = fabric.capacity.sum(axis=0)[: fabric.ranks].min() * fabric.unit
            yield {
                "at": found.fabric.topology.name,
                "N": fabric.ranks,
                "inverse": inverse,
                "halved": forests.bound(fabric, search="bisection").inverse_throughput,
                "executed": shards(on),
                "low": Fraction(fabric.ranks - 1) / units,
                "least": units / fabric.unit,
                "denominator": Fraction((inverse * fabric.unit).denominator),
                "k": found.bound.trees,
                "y": 1 / found.bound.unit,
                "logical": _logical(fabric, found.bound),
                "size": sum(found.heights.values()),
            }

    return rows


def _logical(fabric: forests.Fabric, limit: forests.Bound) -> Fraction:
    """The bound after all switches are taken out."""
    trees = room(fabric, limit.unit * fabric.unit)
    left = without_switches(trees, fabric.weight * limit.trees, fabric.ranks, fabric.topology.name).capacity
    alone = forests.Fabric(replace(fabric.topology, link_class=None), left, 1 / limit.unit, fabric.weight)
    return forests.bound(alone).inverse_throughput


def cuts(*ons: str) -> Rows:
    """The worst of all sets beside what flows find."""

    def rows() -> Iterator[Case]:
        for on in ons:
            fabric = forests.fabric(place(on))
            every, flow = (forests.bound(fabric, search=way).inverse_throughput for way in ("all-cuts", "newton"))
            yield {
                "at": on,
                "every_set": every,
                "flow": flow,
                "at_optimum": _feasible(fabric, every),
                "above": _feasible(fabric, every * Fraction(99, 100)),
            }

    return rows


def _feasible(fabric: forests.Fabric, inverse: Fraction) -> bool:
    """Whether every rank can receive all at the rate 1 / inverse."""
    scaled = inverse * fabric.unit
    return feasible(fabric, fabric.capacity * scaled.numerator, scaled.denominator)


@answer(BOTTLENECK, "D-4-011 D-4-012 D-4-016 D-4-017 D-B-009")
def _sets_of_the_example() -> Cases:
    fabric = forests.fabric(place(example()))
    box, most = (0, 1, 2, 3, 8), tuple(node for node in range(fabric.nodes) if node != 4)
    yield {
        "at": "two boxes of four",
        "shards": sum(node < fabric.ranks for node in box),
        "leaving": fabric.leaving(box),
        "time": forests.ratio(fabric, box) / 8,
        "flow": sum(node < fabric.ranks for node in most),
        "leaving_most": fabric.leaving(most),
        "x": 1 / forests.bound(fabric).inverse_throughput,
        "one_rank": forests.ratio(fabric, (0,)) / 8,
    }


def few_trees(on: str, *ks: int) -> Rows:
    """Fixed numbers of trees: algorithm bandwidths, and the limits of the search."""

    def rows() -> Iterator[Case]:
        fabric = forests.fabric(place(on))
        speeds = [Fraction(int(speed)) * fabric.unit for speed in np.unique(fabric.capacity) if speed]
        inverse = forests.bound(fabric).inverse_throughput
        for k in ks:
            found = forests.fixed(fabric, k)
            trees = room(fabric, found.unit * fabric.unit)
            yield {
                "at": f"{on}, k = {k}",
                "k": k,
                "algbw": fabric.total / found.inverse_throughput,
                "share": inverse / found.inverse_throughput,
                "U": found.unit * fabric.unit,
                "denominator": Fraction((found.unit * fabric.unit).denominator),
                "widest": max(speeds) / fabric.unit,
                "time": found.inverse_throughput,
                "limit": inverse + 1 / (k * min(speeds)),
                "eulerian": bool((trees.sum(axis=0) == trees.sum(axis=1)).all()),
            }

    return rows


def rings(on: str) -> Rows:
    """Every switch made a ring."""

    def rows() -> Iterator[Case]:
        topology = example() if on == "example" else place(on)
        found = unwound(topology)
        box = range(topology.ranks // 2)
        best = forests.bound(forests.fabric(place(topology))).inverse_throughput
        yield {
            "at": topology.name,
            "out": found.fabric.leaving(box),
            "worse": found.bound.inverse_throughput / best,
        }

    return rows


def split(u: int, t: int) -> int:
    """What leaves the upper box of the example when a unit through the middle switch leads from u to t."""
    fabric = forests.fabric(place(example()))
    left = fabric.capacity.copy()
    left[u, 10] -= 1
    left[10, t] -= 1
    left[u, t] += 1
    return int(replace(fabric, capacity=left).leaving((0, 1, 2, 3, 8)))


def replicated() -> Cases:
    """A switch that replicates: the bound, what a rank receives, and the sends of one tree into it."""
    for on in ("dgx-h100:2,inc=box", "boxes:2x4,inc=both"):
        plain, able = (forests.forest(place(on), multicast=way) for way in (False, True))
        run = execute(able.schedule(), able.fabric.topology)
        yield {
            "at": on,
            "N": plain.fabric.ranks,
            "plain": plain.bound.inverse_throughput,
            "able": forests.busiest(run) * plain.fabric.total,
            "received": max(run.received) * plain.fabric.ranks,
        }


def of_numbers(**quantities: Callable[[], object]) -> Rows:
    """What numbers that the source prints come to."""
    return once("the source's numbers", **quantities)


table(
    BOTTLENECK,
    {
        "D-4-013 D-4-015 D-B-012 D-B-024": cuts(*SMALL),
        "D-4-018": cuts(*SMALL),
        "D-4-014 D-4-020 D-4-021": bounds("example", "dgx-a100:2"),
        "D-4-024 D-B-015": bounds("example"),
        "D-B-014": per(
            "X",
            (2, 3, 5, 8),
            difference=lambda most: min(
                abs(Fraction(a, b) - Fraction(c, d))
                for b in range(1, most + 1)
                for d in range(1, most + 1)
                for a in range(b + 1)
                for c in range(d + 1)
                if a * d != c * b
            ),
        ),
    },
)
table(
    TREES,
    {
        "D-4-025 D-4-029 D-B-017 D-B-021": bounds("example", "dgx-a100:2"),
        "D-4-026": once("two boxes of four", red=lambda: split(0, 4), blue=lambda: split(0, 1)),
        "D-4-028 D-B-011": rings("example"),
        "D-4-039": replicated,
    },
)
table(
    WORTH,
    {
        "D-4-002": of_numbers(low=lambda: min(61, 16, 43, 36, 16), high=lambda: max(61, 16, 43, 36, 16)),
        "D-4-003": of_numbers(low=lambda: min(32, 14, 25), high=lambda: max(32, 14, 25)),
        "D-4-032 D-4-033 D-4-034 D-4-035 D-4-036": few_trees("mi250:2", 1, 2, 3, 4, 5),
        "D-4-037": few_trees("mi250:2", 83),
        "D-4-038": few_trees("mi250:2", 1, 2, 3, 4, 5),
        "D-4-069": of_numbers(hours=lambda: Fraction(30_000, 3600)),
        "D-4-073 D-B-007": of_numbers(
            a100=lambda: Fraction(22 + 9790 + 12090, 600), mi250=lambda: Fraction(38 + 5500 + 17080, 600)
        ),
        "D-B-031 D-B-033 D-B-034": few_trees("dgx-a100:2", 1, 2, 3, 4, 5),
    },
)
for _chapter, _ids in (
    (TREES, "D-4-030 D-B-016 D-B-018 D-B-023 D-B-026 D-B-028"),
    (
        WORTH,
        " ".join(f"D-4-{number:03}" for number in (46, 47, 49, 50, 51, 52, 53, 55, 56, 57, 59, 64, 65, 70, 71, 77)),
    ),
    (WORTH, "D-B-002 D-B-003 D-B-004 D-B-005 D-B-006 D-B-036 D-B-037 D-B-038"),
):
    answer(_chapter, _ids, Verdict.NOT_CHECKABLE)(nothing)


@answer(BOTTLENECK, "D-4-061")
def _what_binds() -> Cases:
    """Into one GPU, or into one box: what is worse on boxes of H100."""
    for n in (2, 4, 8, 16):
        fabric = forests.fabric(place(f"dgx-h100:{n}"))
        nodes = set(range(fabric.nodes))
        gpu, box = (forests.ratio(fabric, tuple(nodes - out)) for out in ({0}, {*range(8), fabric.ranks}))
        yield {"at": f"{n} boxes", "n": n, "binds": "GPU" if gpu > box else "box"}


@answer(WORTH, "D-4-041")
def _five_ranks() -> Cases:
    """Two all-gathers, and in and out at once, where five ranks have equal bandwidth."""
    where = five_ranks()
    halves = 2 * forests.bound(forests.fabric(place(where))).inverse_throughput / 5
    yield {"at": "five ranks", "halves": halves, "at_once": forests.busiest(built(_at_once, on=where))}


def _at_once() -> Schedule:
    return all_reduce(five_ranks())


def _all_reduce(topology: Callable[[], Topology]) -> Schedule:
    return all_reduce(topology())


def combined(on: str) -> Fraction:
    """The rate of a reduce-scatter and an all-gather by the same trees, one after the other, executed."""
    made = forests.forest(place(on), primitive="all-reduce")
    return 1 / forests.busiest(built(made.schedule, on=on))


@answer(WORTH, "D-4-040 D-B-040")
def _two_halves_on_machines() -> Cases:
    """What combined trees reach, beside trees both ways at once, or what all links into GPUs allow."""
    for on in ("dgx-a100:2", "dgx-h100:4"):
        fabric = forests.fabric(place(on))
        into = fabric.capacity[:, : fabric.ranks].sum() * fabric.unit  # every rank but one takes in and gives away M
        yield {"at": on, "combined": combined(on), "optimum": Fraction(into) / (2 * (fabric.ranks - 1))}
    at_once = built(_all_reduce, half_boxes, on="mi250-8x2")
    yield {"at": "mi250-8x2", "combined": combined("mi250-8x2"), "optimum": 1 / forests.busiest(at_once)}


@answer(WORTH, "D-B-039")
def _the_program_is_reached() -> Cases:
    for where in (five_ranks, lambda: find("torus:2x2"), lambda: find("mesh:3x2")):
        rate = divided(forests.fabric(place(where()))).rate
        done = built(_all_reduce, where, on=where())
        yield {"at": where().name, "rate": rate, "executed": forests.busiest(done)}


@answer(WORTH, "D-4-048")
def _gather_and_reduce() -> Cases:
    for on in ("mi250-8x2", "dgx-a100:2"):
        yield {"at": on, "gather": 1 / (shards(on) / known(on).fabric.total), "reduced": combined(on)}


@answer(WORTH, "D-4-042")
def _unequal_parts() -> Cases:
    for on, weights in (("boxes:2x2", (1, 2, 0, 3)), ("torus:2x2", (0, 1, 1, 5)), ("mesh:3x2", (1, 2, 3, 4, 5, 6))):
        made = forests.forest(place(on), weights=weights)
        every = forests.bound(made.fabric, search="all-cuts").inverse_throughput
        run = built(made.schedule, on=on)
        yield {"at": f"{on}, {weights}", "executed": forests.busiest(run) * made.fabric.total, "every_set": every}


# -- across the network -------------------------------------------------------------------------------


def _one_tree(on: str) -> Schedule:
    return forests.forest(place(on), trees=1).schedule()


def _crossing(schedule: Schedule, root: int) -> int:
    """How often the shard of a rank leaves a box of eight."""
    steps = (schedule.step(t) for t in range(schedule.num_steps))
    own = schedule.blocks.source == root
    return sum(int((own[step.block] & (step.src // 8 != step.dst // 8)).sum()) for step in steps)


@answer(WORTH, "D-4-005 D-4-006 D-4-007")
def _ring_and_tree_over_the_network() -> Cases:
    on = "dgx-a100:2"
    ring, tree = built(allgather.ring, 16, on=on), built(_one_tree, on, on=on)
    over = (ring.topology.link_src < 16) & (ring.topology.tier == 1)
    carried = [sum((run.link_total[link] for link in np.flatnonzero(over)), Fraction(0)) for run in (ring, tree)]
    yield {
        "at": on,
        "ring_crosses": _crossing(ring.schedule, 1),
        "twice": sum(_crossing(ring.schedule, root) == 2 for root in range(16)),
        "tree_crosses": _crossing(tree.schedule, 1),
        "traffic": carried[0] / carried[1],
        "ring": forests.busiest(ring) * 16,
        "channels": forests.busiest(run("all-gather channels", on)) * 16,
        "forest": shards(on),
        "bound": known(on).bound.inverse_throughput,
    }


def margins(machine: str, *counts: int) -> Rows:
    """What a forest gains over a ring for each card, boxes by boxes."""

    def rows() -> Iterator[Case]:
        before = None
        for n in counts:
            on = f"{machine}:{n}"
            ring = forests.busiest(run("all-gather channels", on)) * 8 * n
            gain = ring / shards(on) - 1
            yield {"at": on, "n": n, "gain": gain, **({} if before is None else {"before": before})}
            before = gain

    return rows


@answer(BOTTLENECK, "D-4-010")
def _when_a_rank_binds() -> Cases:
    for on, box in (("dgx-a100:1", 8), ("dgx-a100:2", 8), ("dgx-a100:4", 8), ("example", 4)):
        fabric = known(on).fabric
        into = fabric.capacity.sum(axis=0)[: fabric.ranks].min() * fabric.unit
        others = tuple(
            node for node in range(box, fabric.nodes) if node != fabric.ranks
        )  # all but a box with its switch
        other = forests.ratio(fabric, others) if box < fabric.ranks else Fraction(0)
        rank = Fraction(fabric.ranks - 1) / into
        yield {"at": fabric.topology.name, "holds": shards(on) == rank, "rank_binds": rank >= other}


# -- one tree, steps, and small facts --------------------------------------------------------------------


def _figure_tree(multicast: bool) -> Schedule:
    """Along a chain in each box, once over the network."""
    edges = ((0, 1), (1, 2), (2, 3), (0, 4), (4, 5), (5, 6), (6, 7))
    paths = tuple((a, 10 if b - a == 4 else 8 + a // 4, b) for a, b in edges)
    limit = forests.Bound(Fraction(1), (), 1, Fraction(1))
    tree = forests.Tree(0, 1, edges, paths)
    return forests.Forest(
        "broadcast", forests.fabric(example(), root=0), limit, (tree,), multicast=multicast
    ).schedule()


@answer(TREES, "D-4-031")
def _pruned() -> Cases:
    plain, able = (built(_figure_tree, way, on=example()) for way in (False, True))
    into = [
        sum((run.link_total[link] for link in np.flatnonzero(example().link_dst == 9)), Fraction(0))
        for run in (plain, able)
    ]
    yield {"at": "two boxes of four", "before": into[0], "after": into[1], "most": max(able.received)}


@answer(TREES, "D-B-010")
def _whole_chunks() -> Cases:
    """The lock-step time of the trees of two boxes of four, pipelined in ever more pieces."""

    def time(pieces: int) -> Fraction | int:
        return built(_schedule, "example", on=example(), pieces=pieces).cost.n_beta

    limit = Limit.of(time)
    for pieces in (1, 4, 16, 64):
        yield {"at": f"P = {pieces}", "P": pieces, "time": Fraction(time(pieces)), "limit": limit}


@answer(TREES, "D-4-009")
def _backwards_and_combined() -> Cases:
    for on in ("dgx-a100:2", "torus:4x4", "example"):
        topology = example() if on == "example" else place(on)
        names = ("reduce-scatter", "reduce", "all-reduce")
        made = [built(forests.forest(topology, primitive=name).schedule, on=topology).schedule for name in names]
        kinds = [PRIMITIVES[name].accepts(schedule.blocks) for name, schedule in zip(names, made, strict=True)]
        rooted = PRIMITIVES["all-reduce"].accepts(built(one_root, topology, on=topology).schedule.blocks)
        words = ("reduce_scatter", "reduce", "from_halves", "from_one_root")
        yield {"at": topology.name, **dict(zip(words, [*kinds, rooted], strict=True))}


@answer(WORTH, "D-4-078")
def _optimal_at_every_size() -> Cases:
    for on in ("dgx-a100:1", "dgx-a100:2", "dgx-a100:4", "dgx-a100:16", "dgx-a100:128", "mi250-8x2"):
        place(on)
        yield {"at": on, "reached": known(on).reached()}


@answer(WORTH, "D-4-001 D-4-043 D-4-044 D-4-045 D-4-054")
def _machines() -> Cases:
    """What their topologies have, per GPU, one way, in GB/s."""
    a100, mi250 = (forests.fabric(place(on)) for on in ("dgx-a100:2", "mi250:2"))
    inside = mi250.capacity[: mi250.ranks, : mi250.ranks] * int(mi250.unit)
    wires = {int(width) for width in (inside.sum(axis=1) / 50)}
    neighbors = (inside > 0).sum(axis=1)
    yield {
        "at": "the two machines",
        "a100_box": a100.capacity[0, 16] * a100.unit,
        "a100_card": a100.capacity[0, 18] * a100.unit,
        "mi250_box": inside[0].sum(),
        "mi250_card": mi250.capacity[0, mi250.ranks] * mi250.unit,
        "ranks": mi250.ranks // 2,
        "links": max(wires) if len(wires) == 1 else 0,
        "fewest": int(neighbors.min()),
        "most": int(neighbors.max()),
    }


def llama(layers: int) -> Fraction:
    """Parameters, in billions, of Llama 3 405B with so many layers, by its published widths."""
    width, feed, heads, shared, words = 16_384, 53_248, 128, 8, 128_256
    attention = 2 * width * width + 2 * width * (width // heads * shared)
    layer = attention + 3 * width * feed + 2 * width
    return Fraction(layers * layer + 2 * words * width + width, 10**9)


STEPS, FLOWS = {"SCCL", "TACCL", "TE-CCL", "TACOS", "BFB", "SyCCL"}, {"Blink", "MultiTree", "TTO"}
TABLE_B1 = ("SCCL", "TACCL", "TE-CCL", "TACOS", "BFB", "Blink", "MultiTree", "TTO", "SyCCL", "ForestColl")
table(
    WORTH,
    {
        "D-4-004": of_numbers(low=lambda: min(20, 20), high=lambda: max(20, 20)),
        "D-4-008": of_numbers(
            steps=lambda: len(STEPS), flows=lambda: len(FLOWS), in_table=lambda: {*TABLE_B1[:-1]} == STEPS | FLOWS
        ),
        "D-4-058": margins("dgx-a100", 2),
        "D-4-060": margins("dgx-h100", 16),
        "D-4-062": margins("dgx-h100", 2, 4, 8, 16),
        "D-4-063": of_numbers(waiting=lambda: 100 - 88),
        "D-4-066": of_numbers(gemma=lambda: 100 - 65, llama2=lambda: 100 - 50, llama3=lambda: 100 - 43),
        "D-4-067": once("36 layers", billions=lambda: llama(36)),
        "D-4-072": of_numbers(ratio=lambda: Fraction(37, 4)),
        "D-4-074": of_numbers(
            a100=lambda: Fraction(22 + 9790 + 12090, 600), mi250=lambda: Fraction(38 + 5500 + 17080, 600)
        ),
    },
)
answer(WORTH, "D-4-068", FACT)(nothing)
answer(WORTH, "D-4-075 D-4-076", Verdict.NOT_CHECKABLE)(nothing)
