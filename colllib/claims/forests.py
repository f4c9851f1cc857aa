"""Answers on forests: bounds by cuts, trees that reach them, and what the source's own numbers come to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np

from colllib import forest as forests
from colllib.claims.cases import Rows, once, per
from colllib.claims.finding import Cases, Verdict, answer, table
from colllib.claims.reading import nothing
from colllib.claims.runs import built, place
from colllib.claims.value import Case
from colllib.execution import execute
from colllib.forest.allreduce import all_reduce, five_ranks
from colllib.forest.bound import feasible, room
from colllib.forest.others import unwound
from colllib.forest.splitting import without_switches
from colllib.schedule import Schedule
from colllib.topology import Topology, from_links

BOTTLENECK, TREES, WORTH = "the-bottleneck", "from-flow-to-trees", "what-a-forest-is-worth"
SMALL = ("boxes:2x2", "torus:2x2", "star:5", "mesh:3x2")


@cache
def example() -> Topology:
    """The source's two boxes of four: 10 units per rank in the box, 1 between the boxes."""
    box, between = [(rank, 8 + rank // 4) for rank in range(8)], [(rank, 10) for rank in range(8)]
    links = [pair for a, b in box + between for pair in ((a, b), (b, a))]
    halves = [Fraction(1, 2)] * len(links)
    return from_links("two boxes", 8, links, switches=3, bandwidth=[10] * 16 + [1] * 16, alpha=halves)


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
            inverse, where = found.bound.inverse_throughput, found.fabric
            units = where.capacity.sum(axis=0)[: where.ranks].min() * where.unit
            yield {
                "at": found.fabric.topology.name,
                "N": where.ranks,
                "inverse": inverse,
                "halved": forests.bound(where, search="bisection").inverse_throughput,
                "executed": shards(on),
                "low": Fraction(where.ranks - 1) / units,
                "least": units / where.unit,
                "denominator": Fraction((inverse * where.unit).denominator),
                "k": found.bound.trees,
                "y": 1 / found.bound.unit,
                "logical": _logical(where, found.bound),
                "size": sum(found.heights.values()),
            }

    return rows


def _logical(where: forests.Fabric, limit: forests.Bound) -> Fraction:
    """The bound after all switches are taken out."""
    trees = room(where, limit.unit * where.unit)
    left = without_switches(trees, where.weight * limit.trees, where.ranks, where.topology.name).capacity
    alone = forests.Fabric(replace(where.topology, link_class=None), left, 1 / limit.unit, where.weight)
    return forests.bound(alone).inverse_throughput


def cuts(*ons: str) -> Rows:
    """The worst of all sets beside what flows find."""

    def rows() -> Iterator[Case]:
        for on in ons:
            where = forests.fabric(place(on))
            every, flow = (forests.bound(where, search=way).inverse_throughput for way in ("all-cuts", "newton"))
            yield {
                "at": on,
                "every_set": every,
                "flow": flow,
                "at_optimum": _feasible(where, every),
                "above": _feasible(where, every * Fraction(99, 100)),
            }

    return rows


def _feasible(where: forests.Fabric, inverse: Fraction) -> bool:
    """Whether every rank can receive all at the rate 1 / inverse."""
    scaled = inverse * where.unit
    return feasible(where, where.capacity * scaled.numerator, scaled.denominator)


@answer(BOTTLENECK, "D-4-011 D-4-012 D-4-016 D-4-017 D-B-009")
def _sets_of_the_example() -> Cases:
    where = forests.fabric(place(example()))
    box, most = (0, 1, 2, 3, 8), tuple(node for node in range(where.nodes) if node != 4)
    yield {
        "at": "two boxes of four",
        "shards": sum(node < where.ranks for node in box),
        "leaving": where.leaving(box),
        "time": forests.ratio(where, box) / 8,
        "flow": sum(node < where.ranks for node in most),
        "leaving_most": where.leaving(most),
        "x": 1 / forests.bound(where).inverse_throughput,
        "one_rank": forests.ratio(where, (0,)) / 8,
    }


def few_trees(on: str, *ks: int) -> Rows:
    """Fixed numbers of trees: algorithm bandwidths, and the limits of the search."""

    def rows() -> Iterator[Case]:
        where = forests.fabric(place(on))
        speeds = [Fraction(int(speed)) * where.unit for speed in np.unique(where.capacity) if speed]
        inverse = forests.bound(where).inverse_throughput
        for k in ks:
            found = forests.fixed(where, k)
            trees = room(where, found.unit * where.unit)
            yield {
                "at": f"{on}, k = {k}",
                "k": k,
                "algbw": where.total / found.inverse_throughput,
                "share": inverse / found.inverse_throughput,
                "U": found.unit * where.unit,
                "denominator": Fraction((found.unit * where.unit).denominator),
                "widest": max(speeds) / where.unit,
                "time": found.inverse_throughput,
                "limit": inverse + 1 / (k * min(speeds)),
                "eulerian": bool((trees.sum(axis=0) == trees.sum(axis=1)).all()),
            }

    return rows


def rings(on: str) -> Rows:
    """Every switch made a ring."""

    def rows() -> Iterator[Case]:
        where = example() if on == "example" else place(on)
        found = unwound(where)
        box = range(where.ranks // 2)
        best = forests.bound(forests.fabric(place(where))).inverse_throughput
        yield {
            "at": where.name,
            "out": found.fabric.leaving(box),
            "worse": found.bound.inverse_throughput / best,
        }

    return rows


def split(u: int, t: int) -> int:
    """What leaves the upper box of the example when a unit through the middle switch leads from u to t."""
    where = forests.fabric(place(example()))
    left = where.capacity.copy()
    left[u, 10] -= 1
    left[10, t] -= 1
    left[u, t] += 1
    return int(replace(where, capacity=left).leaving((0, 1, 2, 3, 8)))


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
        where = forests.fabric(place(f"dgx-h100:{n}"))
        nodes = set(range(where.nodes))
        gpu, box = (forests.ratio(where, tuple(nodes - out)) for out in ({0}, {*range(8), where.ranks}))
        yield {"at": f"{n} boxes", "n": n, "binds": "GPU" if gpu > box else "box"}


@answer(WORTH, "D-4-041")
def _five_ranks() -> Cases:
    """Two all-gathers, and in and out at once, where five ranks have equal bandwidth."""
    where = five_ranks()
    halves = 2 * forests.bound(forests.fabric(place(where))).inverse_throughput / 5
    yield {"at": "five ranks", "halves": halves, "at_once": forests.busiest(built(_at_once, on=where))}


def _at_once() -> Schedule:
    return all_reduce(five_ranks())
