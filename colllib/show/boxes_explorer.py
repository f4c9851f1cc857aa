"""The cluster builder: boxes of ranks with the reader's cards, speeds and latencies, and who is fastest on them."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from colllib.algorithms import allgather, allreduce, alltoall, broadcast, channels, hierarchical, reducescatter
from colllib.busbw import bus_factor
from colllib.cost import TieredCost
from colllib.execution import execute
from colllib.measures import crossings
from colllib.placement import order_of
from colllib.schedule import Schedule, placed
from colllib.show.control import Control, Quantity
from colllib.show.cost_explorer import message, two_tiers
from colllib.show.explorer import Explorer
from colllib.show.race import Form, Race, Row
from colllib.show.views import Curves, Heat, Rows, Turns
from colllib.topology import Topology, boxes

BOXES = (2, 4, 8, 16)
SIZES = (4, 8)
SEGMENTS = (1, 16)  # of what is cut: in one piece, or in so many
PLACES = ("contiguous", "strided", "random")
LEVELS = ("ports", "cards", "uplinks")

Build = Callable[[Topology, int], Schedule]


def _flat(build: Callable[[int], Schedule]) -> Build:
    return lambda topology, _: build(topology.ranks)


def _named(build: Callable[..., Schedule], tiers: str) -> Build:
    return lambda topology, segments: build(topology, segments=segments, tiers=tiers)


def _cut(build: Callable[..., Schedule]) -> Build:
    return lambda topology, segments: build(topology, segments=segments)


def _whole(build: Callable[..., Schedule]) -> Build:
    return lambda topology, _: build(topology)


#: What races for each primitive: which switches have to add for it, in how many segments, and the schedule. The first
#: goes by the numbers of the ranks, wherever they stand; the others know the boxes.
RUNNERS: dict[str, dict[str, tuple[str, tuple[int, ...], Build]]] = {
    "all-reduce": {
        "flat ring": ("none", (1,), _flat(allreduce.ring)),
        "channels": ("none", (1,), _whole(channels.all_reduce)),
        "tree": ("none", SEGMENTS, _cut(channels.tree)),
        "hierarchical": ("none", SEGMENTS, _named(hierarchical.all_reduce, "ring")),
        "NVLS + tree": ("box", SEGMENTS, _cut(hierarchical.nvls_tree)),
        "CollNet": ("network", SEGMENTS, _cut(hierarchical.collnet)),
        "NVLS + CollNet": ("both", SEGMENTS, _cut(hierarchical.nvls)),
    },
    "all-gather": {
        "flat ring": ("none", (1,), _flat(allgather.ring)),
        "channels": ("none", (1,), _whole(channels.all_gather)),
        "hierarchical": ("none", SEGMENTS, _named(hierarchical.all_gather, "ring")),
    },
    "reduce-scatter": {
        "flat ring": ("none", (1,), _flat(reducescatter.ring)),
        "channels": ("none", (1,), _whole(channels.reduce_scatter)),
        "hierarchical": ("none", SEGMENTS, _named(hierarchical.reduce_scatter, "ring")),
    },
    "broadcast": {
        "flat tree": ("none", (1,), _flat(broadcast.binomial_tree)),
        "channels": ("none", SEGMENTS, _cut(channels.broadcast_along)),
        "hierarchical": ("none", (1,), _named(hierarchical.broadcast, "binomial-tree")),
    },
    "all-to-all": {
        "flat pairwise": ("none", (1,), _flat(alltoall.pairwise)),
        "hierarchical": ("none", (1,), _named(hierarchical.all_to_all, "pairwise")),
    },
}


@cache
def row(p: str, name: str, n: int, g: int, c: int, place: str) -> Row:
    """A schedule on n boxes of g ranks and c cards, executed, with what the busiest card sends in one piece.

    >>> row("all-reduce", "channels", 2, 4, 4, "contiguous").more["card"]
    '7/16 M'
    """
    inc, cuts, build = RUNNERS[p][name]
    topology = boxes((n, g), cards=c, inc=inc)
    order, ways, most = order_of(topology, place).tolist(), {}, ""
    for segments in cuts:
        schedule = build(topology, segments)
        run = execute(schedule if place == PLACES[0] else placed(schedule, order), topology)
        assert isinstance(run.cost, TieredCost)
        tiers = tuple(replace(tier, level=level) for level, tier in enumerate(run.cost.tiers))
        ways[f"P = {segments}" if len(cuts) > 1 else ""] = Form((TieredCost(tiers, run.cost.kinds),))
        most = most or f"{crossings(run)['card'].most} M"
    return Row(name, ways, factor=bus_factor(p, topology.ranks), more={"card": most})


def rows(p: str, n: int, g: int, c: int, place: str) -> list[Row]:
    """All that races; only the first depends on where the ranks stand."""
    return [row(p, name, n, g, c, place if name.startswith("flat") else PLACES[0]) for name in RUNNERS[p]]


def boxes_explorer() -> Explorer:
    """The cluster builder: boxes, ranks and cards of each, placement, M and the speeds against schedules over them.

    >>> boxes_explorer().title
    'Build your cluster'
    """
    race = Race(
        rows, alpha=("alpha", "alpha_out", "alpha_out"), bandwidth=("bw", "bw_out", "bw_out/narrow"), levels=LEVELS
    )
    return Explorer(
        "Build your cluster",
        [
            Control("p", "Primitive", tuple(RUNNERS), kind="select"),
            Control("n", "Boxes", BOXES, 2, kind="number"),
            Control("g", "GPUs in a box", SIZES, 8),
            Control("c", "Cards of a box", lambda g: [count for count in (1, 2, 4, 8) if g % count == 0], 8),
            Control("place", "Ranks stand", PLACES, kind="select"),
            Quantity("narrow", "Over\u00adsubscription", "number", 1.0, 16.0, 1.0),
            message(10e9),
            *two_tiers(),
        ],
        [
            Curves(race),
            Heat(race, "What is busy"),
            Rows(race, "Schedules", "All in numbers", COLUMNS),
            Turns(race, "Where the fastest changes", "Where the fastest changes"),
        ],
        summary="{p} of {m} over {n} boxes of {g} with {c} cards each: {fastest} with {time}; {binds}{next}.",
        note="Lock-step clock; BW is per direction, of a port in the box and of a card. Ranks share cards where a box "
        "has fewer cards than ranks. Oversubscription s: the uplinks of a leaf carry 1/s of what its cards could send. "
        "Strided puts neighbors into different boxes, random is one draw; only the flat schedule goes by the numbers "
        f"of ranks, the others know the boxes. What takes segments goes in one piece or in {SEGMENTS[1]}, whichever is "
        "faster. NVLS needs switches that add in the boxes, CollNet between them. Busy: in "
        "which part of the time the busiest port in a box, card or uplink carries bytes, step by step. The last column "
        "of the numbers is what the busiest card sends in all.",
        name="boxes",
    )


COLUMNS = "schedule = name | in = way | time | of fastest | busbw | busiest card = card"
