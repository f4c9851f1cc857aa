"""The cluster builder: boxes of ranks with the reader's cards, speeds and latencies, and who is fastest on them."""

from collections.abc import Callable
from functools import cache

from colllib.algorithms import channels, hierarchical
from colllib.algorithms.allreduce import ring
from colllib.busbw import bus_factor
from colllib.execution import execute
from colllib.measures import crossings
from colllib.schedule import Schedule
from colllib.show.control import Control
from colllib.show.cost_explorer import message, two_tier_race, two_tiers
from colllib.show.explorer import Explorer
from colllib.show.race import Form, Row
from colllib.show.views import Curves, Rows, Turns
from colllib.topology import boxes

BOXES = (2, 3, 4, 6, 8, 16)
SIZES = (4, 8)
SEGMENTS = (1, 16)  # of what is cut: in one piece, or in so many


def _named(tiers: str) -> Callable[..., Schedule]:
    return lambda where, segments: hierarchical.all_reduce(where, segments=segments, tiers=tiers)


#: What races: which switches have to add for it, in how many segments, and the schedule.
RUNNERS: dict[str, tuple[str, tuple[int, ...], Callable[..., Schedule]]] = {
    "flat ring": ("none", (1,), lambda where, segments: ring(where.ranks)),
    "channels": ("none", (1,), lambda where, segments: channels.all_reduce(where)),
    "tree": ("none", SEGMENTS, channels.tree),
    "hierarchical": ("none", SEGMENTS, _named("ring")),
    "NVLS + tree": ("box", SEGMENTS, hierarchical.nvls_tree),
    "CollNet": ("network", SEGMENTS, hierarchical.collnet),
    "NVLS + CollNet": ("both", SEGMENTS, hierarchical.nvls),
}


@cache
def rows(n: int, g: int, c: int) -> tuple[Row, ...]:
    """The schedules on n boxes of g ranks and c cards, each executed, with what the busiest card sends in one piece.

    >>> [row.more["card"] for row in rows(2, 4, 4)][:2]
    ['7/4 M', '7/16 M']
    """
    found = []
    for name, (inc, cuts, build) in RUNNERS.items():
        topology = boxes((n, g), cards=c, inc=inc)
        runs = {segments: execute(build(topology, segments=segments), topology) for segments in cuts}
        ways = {f"P = {segments}" if len(cuts) > 1 else "": Form((run.cost,)) for segments, run in runs.items()}
        most = f"{crossings(runs[1])['card'].most} M"
        found.append(Row(name, ways, factor=bus_factor("all-reduce", topology.ranks), more={"card": most}))
    return tuple(found)


def boxes_explorer() -> Explorer:
    """Boxes, ranks and cards of each, M, and latency and bandwidth of both tiers against all-reduces over them.

    >>> boxes_explorer().title
    'An all-reduce over your boxes'
    """

    race = two_tier_race(rows)
    return Explorer(
        "An all-reduce over your boxes",
        [
            Control("n", "Boxes", BOXES, 2, kind="number"),
            Control("g", "GPUs in a box", SIZES, 8),
            Control("c", "Cards of a box", lambda g: [count for count in (1, 2, 4, 8) if g % count == 0], 8),
            message(10e9),
            *two_tiers(),
        ],
        [
            Curves(race, "Time against message size"),
            Rows(race, "Schedules", "All in numbers", COLUMNS),
            Turns(race, "Where the fastest changes", "Where the fastest changes"),
        ],
        summary="{n} boxes of {g} with {c} cards each, {m}: {fastest} with {time}{next}. A flat ring takes "
        "{times:flat ring} times as long.",
        note="Lock-step clock, ranks in the order of their boxes, full bisection between the boxes; BW is per "
        "direction, of a port in the box and of a card. Ranks share cards where a box has fewer cards than ranks. "
        f"Schedules that take segments go in one piece or in {SEGMENTS[1]}, whichever is faster. NVLS needs switches "
        "that add in the boxes, CollNet between them. The last column is what the busiest card sends in all.",
        name="boxes",
    )


COLUMNS = "schedule = name | in = way | time | of fastest | busbw | busiest card = card"
