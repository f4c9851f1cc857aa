"""Answers on forests: bounds by cuts, trees that reach them, and what the source's own numbers come to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np

from colllib import forest as forests
from colllib.algorithms import allgather
from colllib.claims.cases import Quantities, deferred, once, per
from colllib.claims.runs import built, place, run
from colllib.claims.value import Cases, Limit, Rows, Table
from colllib.execution import Execution
from colllib.forest.allreduce import all_reduce, divided, five_ranks, half_boxes
from colllib.forest.bound import overloaded, room
from colllib.forest.fabric import two_boxes
from colllib.forest.others import one_root, unwound
from colllib.forest.splitting import split_off, without_switches
from colllib.primitives import PRIMITIVES
from colllib.schedule import Schedule
from colllib.topology import Topology, find

SMALL = ("boxes:2x2", "torus:2x2", "star:5", "mesh:3x2")


# -- of one fabric, by its expression ----------------------------------------------------------------

example = cache(two_boxes)  # the runs of one topology object are shared


def where(on: str) -> Topology:
    """A topology whose links are counted, or the source's example."""
    return place(example() if on == "example" else on)


def fabric(on: str) -> forests.Fabric:
    """Its capacities."""
    return forests.fabric(where(on))


@cache
def known(on: str) -> forests.Forest:
    """Its forest."""
    return forests.forest(where(on))


def inverse(on: str, search: str = "newton") -> Fraction:
    """Its bound."""
    return forests.bound(fabric(on), search=search).inverse_throughput


def into_a_rank(on: str) -> Fraction:
    """The least bandwidth into a rank."""
    return Fraction(int(fabric(on).capacity.sum(axis=0)[: fabric(on).ranks].min())) * fabric(on).unit


def _packed(on: str, **options: Any) -> Schedule:
    return (forests.forest(where(on), **options) if options else known(on)).schedule()


def ran(on: str, **options: Any) -> Execution:
    """Its forest, executed."""
    return built(_packed, on, on=where(on), **options)


def shards(on: str) -> Fraction:
    """What the busiest link then needs, in shards per bandwidth."""
    return forests.busiest(ran(on)) * where(on).ranks


def combined(on: str) -> Fraction:
    """The rate of a reduce-scatter and an all-gather by the same trees, one after the other, executed."""
    return 1 / forests.busiest(ran(on, primitive="all-reduce"))


def logical(on: str) -> Fraction:
    """The bound after all switches are taken out."""
    whole, limit = fabric(on), known(on).bound
    trees = room(whole, limit.unit)
    left = without_switches(trees, whole.weight * limit.trees, whole.ranks, on).capacity
    alone = forests.Fabric(replace(whole.topology, link_class=None), left, 1 / limit.unit, whole.weight)
    return forests.bound(alone).inverse_throughput


def sustained(fabric: forests.Fabric, inverse: Fraction) -> bool:
    """Whether every rank can receive all at the rate 1 / inverse."""
    return overloaded(fabric, inverse) is None


def _makes(on: str, primitive: str) -> bool:
    return PRIMITIVES[primitive].accepts(ran(on, primitive=primitive).schedule.blocks)


@cache
def of_fabric(on: str) -> Quantities:
    """A fabric's bound by several searches, its forest, and what executed trees need."""
    switches_add = {"multicast": True}
    return Quantities(
        {
            "N": lambda: where(on).ranks,
            "inverse": lambda: inverse(on),
            "halved": lambda: inverse(on, "bisection"),
            "every_set": lambda: inverse(on, "all-cuts"),
            "at_optimum": lambda: sustained(fabric(on), inverse(on, "all-cuts")),
            "above": lambda: sustained(fabric(on), inverse(on, "all-cuts") * Fraction(99, 100)),
            "executed": lambda: shards(on),
            "low": lambda: Fraction(where(on).ranks - 1) / into_a_rank(on),
            "rank_binds": lambda: _around(on)[0] >= _around(on)[1],
            "least": lambda: into_a_rank(on) / fabric(on).unit,
            "denominator": lambda: Fraction((inverse(on) * fabric(on).unit).denominator),
            "k": lambda: known(on).bound.trees,
            "y": lambda: 1 / known(on).bound.unit,
            "logical": lambda: logical(on),
            "size": lambda: sum(known(on).heights.values()),
            "reached": lambda: known(on).reached(),
            "reduce_scatter": lambda: _makes(on, "reduce-scatter"),
            "reduce": lambda: _makes(on, "reduce"),
            "from_halves": lambda: _makes(on, "all-reduce"),
            "from_one_root": lambda: PRIMITIVES["all-reduce"].accepts(
                built(one_root, where(on), on=where(on)).schedule.blocks
            ),
            "out": lambda: unwound(where(on)).fabric.leaving(range(4)),
            "worse": lambda: unwound(where(on)).bound.inverse_throughput / inverse(on),
            "able": lambda: forests.busiest(ran(on, **switches_add)) * where(on).ranks,
            "received": lambda: max(ran(on, **switches_add).received) * where(on).ranks,
            "combined": lambda: combined(on),
            "optimum": lambda: _optimum(on),
        }
    )


def each(*ons: str) -> Rows:
    """A case for each fabric."""
    return lambda: [of_fabric(on).case(example().name if on == "example" else on) for on in ons]


# -- bounds ------------------------------------------------------------------------------------------


@deferred
def few_trees(on: str, *ks: int) -> Cases:
    """Fixed numbers of trees: algorithm bandwidths, and the limits of the search."""
    for k in ks:
        place, time = fabric(on), forests.fixed(fabric(on), k).inverse_throughput
        speeds, trees = place.capacity[place.capacity > 0], room(place, time * k)
        yield {
            "at": f"{on}, k = {k}",
            "k": k,
            "algbw": place.total / time,
            "share": inverse(on) / time,
            "denominator": Fraction((time * k * place.unit).denominator),
            "widest": Fraction(int(speeds.max())),
            "time": time,
            "limit": inverse(on) + 1 / (k * int(speeds.min()) * place.unit),
            "eulerian": bool((trees.sum(axis=0) == trees.sum(axis=1)).all()),
        }


def _after_a_split(u: int, t: int) -> int:
    """What leaves the upper box of the example when a unit through the middle switch leads from u to t."""
    left = split_off(fabric("example").capacity, u, 10, t, 1)
    return int(replace(fabric("example"), capacity=left).leaving((0, 1, 2, 3, 8)))


def _around(on: str) -> tuple[Fraction, Fraction]:
    """What has to come in for the bandwidth that leads in: into rank 0, and into its box with its switch."""
    place, box = fabric(on), range(4 if on == "example" else 8)
    rank, boxed = (forests.ratio(place, tuple({*range(place.nodes)} - out)) for out in ({0}, {*box, place.ranks}))
    return rank, boxed


def _binds(boxes: int) -> str:
    rank, box = _around(f"dgx-h100:{boxes}")
    return "GPU" if rank > box else "box"


_MOST = tuple(node for node in range(11) if node != 4)
_SETS = once(
    "two boxes of four",
    shards=lambda: len({0, 1, 2, 3, 8} & {*range(8)}),
    leaving=lambda: fabric("example").leaving((0, 1, 2, 3, 8)),
    time=lambda: forests.ratio(fabric("example"), (0, 1, 2, 3, 8)) / 8,
    flow=lambda: len({*_MOST} & {*range(8)}),
    leaving_most=lambda: fabric("example").leaving(_MOST),
    x=lambda: 1 / inverse("example"),
    one_rank=lambda: forests.ratio(fabric("example"), (0,)) / 8,
)


# -- trees -------------------------------------------------------------------------------------------


def _figure_tree(multicast: bool) -> Schedule:
    """Along a chain in each box, once over the network."""
    edges = ((0, 1), (1, 2), (2, 3), (0, 4), (4, 5), (5, 6), (6, 7))
    paths = tuple((a, 10 if b - a == 4 else 8 + a // 4, b) for a, b in edges)
    limit = forests.Bound(Fraction(1), (), 1, Fraction(1))
    tree = forests.Tree(0, 1, edges, paths)
    root = forests.fabric(example(), root=0)
    return forests.Forest("broadcast", root, limit, (tree,), multicast=multicast).schedule()


def crossing(run: Execution, links: Any) -> Fraction:
    """What some links carry in all."""
    return sum((run.link_total[link] for link in np.flatnonzero(links)), Fraction(0))


def _pruned() -> Cases:
    plain, able = (built(_figure_tree, way, on=example()) for way in (False, True))
    before, after = (crossing(run, example().link_dst == 9) for run in (plain, able))
    yield {"at": "two boxes of four", "before": before, "after": after, "most": max(able.received)}


def _whole_chunks() -> Cases:
    """The lock-step time of the trees of two boxes of four, pipelined in ever more pieces."""

    def time(pieces: int) -> Fraction:
        return Fraction(ran("example", pieces=pieces).cost.n_beta)

    for pieces in (1, 4, 16, 64):
        yield {"at": f"P = {pieces}", "P": pieces, "time": time(pieces), "limit": Limit.of(time)}


# -- what they are worth -----------------------------------------------------------------------------


def _all_reduce(topology: Callable[[], Topology]) -> Schedule:
    return all_reduce(topology())


def at_once(topology: Callable[[], Topology], on: str | Topology) -> Fraction:
    """What the busiest link of trees in and out at once needs, in M per bandwidth."""
    return forests.busiest(built(_all_reduce, topology, on=on))


def _optimum(on: str) -> Fraction:
    """The rate of trees both ways at once, or what all links into GPUs allow."""
    if on == "mi250-8x2":
        return 1 / at_once(half_boxes, on)
    into = fabric(on).capacity[:, : fabric(on).ranks].sum() * fabric(on).unit
    return Fraction(into) / (2 * (fabric(on).ranks - 1))  # every rank but one takes in and gives away M


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
    ring, tree = built(allgather.ring, 16, on=on), ran(on, trees=1)
    over = (ring.topology.link_src < 16) & (ring.topology.tier == 1)
    yield {
        "at": on,
        "ring_crosses": _crossings(ring.schedule, 1),
        "twice": sum(_crossings(ring.schedule, root) == 2 for root in range(16)),
        "tree_crosses": _crossings(tree.schedule, 1),
        "traffic": crossing(ring, over) / crossing(tree, over),
        "ring": forests.busiest(ring) * 16,
        "channels": forests.busiest(run("all-gather channels", on)) * 16,
        "forest": shards(on),
        "bound": inverse(on),
    }


def _gain(on: str) -> Fraction:
    """What a forest gains over a ring for each card."""
    return forests.busiest(run("all-gather channels", on)) * where(on).ranks / shards(on) - 1


def margins(machine: str, *counts: int) -> Rows:
    """The gain, boxes by boxes, beside that of half as many."""
    first, gain = counts[0], lambda n: _gain(f"{machine}:{n}")
    return per("n", counts, gain=gain, before=lambda n: gain(max(first, n // 2)))


def _at_once_and_divided() -> Cases:
    for topology in (five_ranks, partial(find, "torus:2x2"), partial(find, "mesh:3x2")):
        rate = divided(forests.fabric(place(topology()))).rate
        yield {"at": topology().name, "rate": rate, "executed": at_once(topology, topology())}


def _machines() -> Cases:
    """What their topologies have, per GPU, one way, in GB/s."""
    a100, mi250 = fabric("dgx-a100:2"), fabric("mi250:2")
    inside = mi250.capacity[: mi250.ranks, : mi250.ranks] * int(mi250.unit)
    wires, neighbors = np.unique(inside.sum(axis=1) // 50), (inside > 0).sum(axis=1)
    yield {
        "at": "the two machines",
        "a100_box": a100.capacity[0, 16] * a100.unit,
        "a100_card": a100.capacity[0, 18] * a100.unit,
        "mi250_box": inside[0].sum(),
        "mi250_card": mi250.capacity[0, mi250.ranks] * mi250.unit,
        "ranks": mi250.ranks // 2,
        "links": int(wires[0]) if len(wires) == 1 else 0,
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
TABLE_B1 = {"SCCL", "TACCL", "TE-CCL", "TACOS", "BFB", "Blink", "MultiTree", "TTO", "SyCCL", "ForestColl"}
TABLE: Table = {
    "D-4-010": each("dgx-a100:1", "dgx-a100:2", "dgx-a100:4", "example"),
    "D-4-011 D-4-012 D-4-016 D-4-017 D-B-009": _SETS,
    "D-4-013 D-4-015 D-4-018 D-B-012 D-B-024": each(*SMALL),
    "D-4-014 D-4-020 D-4-021 D-4-025 D-4-029 D-B-017 D-B-021": each("example", "dgx-a100:2"),
    "D-4-024 D-4-028 D-B-011 D-B-015": each("example"),
    "D-4-061": per("n", (2, 4, 8, 16), binds=_binds),
    "D-B-014": per(
        "X",
        (2, 3, 5, 8),
        difference=lambda most: min(
            b - a for a, b in pairwise(sorted({Fraction(p, q) for q in range(1, most + 1) for p in range(q + 1)}))
        ),
    ),
    "D-4-031": _pruned,
    "D-B-010": _whole_chunks,
    "D-4-009": each("dgx-a100:2", "torus:4x4", "example"),
    "D-4-026": once("two boxes of four", red=lambda: _after_a_split(0, 4), blue=lambda: _after_a_split(0, 1)),
    "D-4-039": each("dgx-h100:2,inc=box", "boxes:2x4,inc=both"),
    "D-4-042": _unequal_parts,
    "D-4-005 D-4-006 D-4-007": _ring_and_tree_over_the_network,
    "D-4-001 D-4-043 D-4-044 D-4-045 D-4-054": _machines,
    "D-4-008": once(
        "Table B.1",
        steps=lambda: len(STEPS),
        flows=lambda: len(FLOWS),
        in_table=lambda: TABLE_B1 - {"ForestColl"} == STEPS | FLOWS,
    ),
    "D-4-032 D-4-033 D-4-034 D-4-035 D-4-036 D-4-038": few_trees("mi250:2", 1, 2, 3, 4, 5),
    "D-4-037": few_trees("mi250:2", 83),
    "D-4-040 D-B-040": each("dgx-a100:2", "dgx-h100:4", "mi250-8x2"),
    "D-4-041": once(
        "five ranks",
        halves=lambda: 2 * forests.bound(forests.fabric(place(five_ranks()))).inverse_throughput / 5,
        at_once=lambda: at_once(five_ranks, five_ranks()),
    ),
    "D-4-048": each("mi250-8x2", "dgx-a100:2"),
    "D-4-058": margins("dgx-a100", 2),
    "D-4-060": margins("dgx-h100", 16),
    "D-4-062": margins("dgx-h100", 2, 4, 8, 16),
    "D-4-067": once("36 layers", billions=lambda: llama(36)),
    "D-4-078": each(*(f"dgx-a100:{n}" for n in (1, 2, 4, 16, 128)), "mi250-8x2"),
    "D-B-031 D-B-033 D-B-034": few_trees("dgx-a100:2", 1, 2, 3, 4, 5),
    "D-B-039": _at_once_and_divided,
}
