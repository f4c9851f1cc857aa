"""The cluster builder: boxes of ranks with the reader's cards, speeds and latencies, and who is fastest on them."""

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np

from colllib.algorithms import find
from colllib.busbw import bus_factor
from colllib.cost import Kind, Tier, TieredCost
from colllib.exact import Fractions, IntArray
from colllib.execution import execute
from colllib.ladder import Entry
from colllib.metrics import Crossing, crossings
from colllib.placement import at_places, order_of
from colllib.show.control import Control, Quantity
from colllib.show.cost_explorer import message, two_tiers
from colllib.show.explorer import Explorer
from colllib.show.race import Form, Race, Row
from colllib.show.views import Curves, Heat, Rows, Turns
from colllib.topology import Topology, boxes
from colllib.units import several

BOXES = (2, 3, 4, 6, 8, 12, 16, 64)
SEGMENTS = (1, 16)  # of what is cut: in one piece, or in so many
PLACES = {"contiguous": "aligned", "strided": "strided", "random": "scattered"}
IN_ORDER = "contiguous"
RACKS = (4,)  # how many racks there may be, as a third tier
#: Where switches add, and which schedules that allows, by what of `boxes` they need.
ADDING = {
    "none": ("nowhere", {"none"}),
    "box": ("in the box", {"none", "box"}),
    "both": ("everywhere", {"none", "box", "network", "both"}),
}
LEVELS = ("ports", "cards", "uplinks", "between racks")
SHARED = (2, 4, 8)  # ranks that may share a card
CARD = 1  # the tier of boxes that is the cards

_GATHERS: dict[str, tuple[str, str, tuple[int, ...]]] = {
    "flat ring": ("ring", "none", (1,)),
    "ring channels": ("channels", "none", (1,)),
    "hierarchical": ("hierarchical", "none", SEGMENTS),
}
#: What races for each primitive: the algorithm, which switches have to add for it, and in how many segments. The first
#: goes by the numbers of the ranks, wherever they stand; the others know the boxes.
RUNNERS: dict[str, dict[str, tuple[str, str, tuple[int, ...]]]] = {
    "all-reduce": {
        "flat ring": ("ring", "none", (1,)),
        "ring channels": ("channels", "none", (1,)),
        "tree": ("tree", "none", SEGMENTS),
        "hierarchical": ("hierarchical", "none", SEGMENTS),
        "NVLS + tree": ("nvls-tree", "box", SEGMENTS),
        "CollNet": ("collnet", "network", SEGMENTS),
        "NVLS + CollNet": ("nvls", "both", SEGMENTS),
    },
    "all-gather": _GATHERS,
    "reduce-scatter": _GATHERS,
    "broadcast": {
        "flat tree": ("binomial-tree", "none", (1,)),
        "ring channels": ("channels", "none", SEGMENTS),
        "hierarchical": ("hierarchical", "none", (1,)),
    },
    "all-to-all": {
        "flat pairwise": ("pairwise", "none", (1,)),
        "hierarchical": ("hierarchical", "none", (1,)),
    },
}


def _counting(topology: Topology) -> Topology:
    """Boxes with a card for each rank, and in further tiers what 2, 4, ... ranks would send over one card together.

    One execution then counts for every number of cards.
    """
    cards = np.flatnonzero(topology.tier == CARD)
    ends = np.stack((topology.link_src[cards], topology.link_dst[cards]))
    rank, inward = ends.min(axis=0), ends.argmin(axis=0)
    together = [count for count in SHARED if count <= topology.in_box]
    size = 2 * topology.ranks
    joint = np.zeros((len(together), topology.num_links), dtype=np.intp)
    joint[:, cards] = [topology.num_links + k * size + 2 * (rank // count) + inward for k, count in enumerate(together)]

    def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        message, link = topology.router(src, dst)
        on_card = topology.tier[link] == CARD
        shared = joint[:, link[on_card]]
        return np.append(message, np.tile(message[on_card], len(shared))), np.append(link, shared)

    added = np.repeat(np.arange(len(together)), size)
    zeros = np.zeros_like(added)
    return replace(
        topology,
        link_src=np.append(topology.link_src, zeros),
        link_dst=np.append(topology.link_dst, zeros),
        alpha=Fractions(np.append(topology.alpha.numerators, zeros), topology.alpha.denominator),
        tier=np.append(topology.tier, len(topology.tiers) + added),
        tiers=(*topology.tiers, *(Tier(f"card of {count}", level=1) for count in together)),
        router=route,
        link_class=None,
    )


def sizes(n: int, r: int, g: int) -> tuple[int, ...]:
    """The tiers of n boxes of g ranks in r racks, outermost first; one rack is none.

    >>> sizes(8, 1, 4), sizes(8, 4, 4)
    ((8, 4), (4, 2, 4))
    """
    return (n, g) if r == 1 else (r, n // r, g)


@cache
def counted(p: str, name: str, n: int, r: int, g: int, place: str) -> tuple[dict[str, list[Kind]], dict[str, Crossing]]:
    """A schedule on n boxes of g ranks in r racks, executed: its steps, and what crosses each tier in one piece.

    Steps for each number of segments, over the tiers of boxes with a card for each rank and those of shared cards.
    """
    algorithm, inc, cuts = RUNNERS[p][name]
    topology = boxes(sizes(n, r, g), inc=inc)
    chosen = find(p, algorithm)
    if place != IN_ORDER:
        chosen = at_places(chosen, order_of(topology, place))
    entry, counting = Entry(chosen, topology), _counting(topology)
    runs = {f"P = {k}" if len(cuts) > 1 else "": execute(entry.schedule(k), counting) for k in cuts}
    return {label: run.kinds() for label, run in runs.items()}, crossings(next(iter(runs.values())))


@cache
def tiers(n: int, r: int, g: int, c: int) -> tuple[Tier, ...]:
    """The tiers of n boxes of g ranks and c cards in r racks, each with an alpha of its own."""
    padded = (*boxes(sizes(n, r, g), cards=c).tiers, Tier("uplink 2"))[: len(LEVELS)]
    return tuple(replace(tier, level=level) for level, tier in enumerate(padded))


@cache
def row(p: str, name: str, n: int, r: int, g: int, c: int, place: str) -> Row:
    """A schedule on n boxes of g ranks and c cards in r racks, with what the busiest card sends in one piece.

    >>> [row("all-reduce", "ring channels", 2, 1, 4, c, "contiguous").more["card"] for c in (4, 1)]
    ['7/16 M', '7/4 M']
    """
    executed, crossed = counted(p, name, n, r, g, place)
    card = "card" if c == g else f"card of {g // c}"
    card_tier = list(crossed).index(card)
    by_tier = tiers(n, r, g, c)
    used = len(sizes(n, r, g)) + 1  # tiers that the boxes have; one more may pad them

    def over_cards(kind: Kind) -> Kind:
        """The steps with the loads of the cards in use as those of the only tier of cards."""
        hops = (*kind.hops[:used], 0)
        loads = (kind.loads[0], kind.loads[card_tier], *kind.loads[2:used], Fraction(0))
        return Kind(kind.steps, hops[: len(by_tier)], loads[: len(by_tier)])

    forms = {label: Form((TieredCost(by_tier, list(map(over_cards, kinds))),)) for label, kinds in executed.items()}
    return Row(name, forms, factor=bus_factor(p, n * g), more={"card": f"{crossed[card].most} M"})


def adding(p: str) -> dict[str, str]:
    """Where switches may add so that more schedules race than before.

    >>> adding("all-gather")
    {'none': 'nowhere'}
    """
    needed = {inc for _, inc, _ in RUNNERS[p].values()}
    return {where: text for where, (text, _) in ADDING.items() if where in needed}


def rows(p: str, n: int, r: int, g: int, c: int, place: str, adds: str) -> list[Row]:
    """All that races where switches add as said; only the first depends on where the ranks stand.

    >>> [row.name for row in rows("all-reduce", 2, 1, 4, 4, "contiguous", "box")]
    ['flat ring', 'ring channels', 'tree', 'hierarchical', 'NVLS + tree']
    """
    names = [name for name, (_, inc, _) in RUNNERS[p].items() if inc in ADDING[adds][1]]
    return [row(p, name, n, r, g, c, place if name.startswith("flat") else IN_ORDER) for name in names]


def boxes_explorer() -> Explorer:
    """The cluster builder: boxes, ranks, cards, placement, switches that add, M and speeds against schedules over them.

    >>> boxes_explorer().title
    'Build your cluster'
    """
    race = Race(
        rows,
        alpha=("alpha", "alpha_out", "alpha_out", "alpha_far"),
        bandwidth=("bw", "bw_out", "bw_out/narrow", "bw_out/narrow"),
        levels=LEVELS,
    )
    speeds = two_tiers()
    heads = "schedule = name | in = variant | time | of fastest | busbw | busiest card = card"
    return Explorer(
        "Build your cluster",
        [
            Control("p", "Primitive", tuple(RUNNERS), kind="select"),
            Control("n", "Boxes", BOXES, 2, kind="number"),
            Control(
                "r",
                "Boxes stand",
                lambda n: {1: "without racks"} | {k: f"in {k} racks" for k in RACKS if k < n and n % k == 0},
            ),
            Control("g", "GPUs in a box", (4, 8), 8),
            Control("c", "A box has", lambda g: {k: several(k, "card") for k in (1, 2, 4, 8) if g % k == 0}, 8),
            Control("place", "Ranks stand", PLACES, kind="select"),
            Control("adds", "Switches add", adding),
            Quantity("narrow", "Over\u00adsubscription", "number", 1.0, 16.0, 1.0),
            message(10e9),
            *speeds,
            replace(speeds[2], name="alpha_far", label="Latency between racks", only_with="r"),
        ],
        [
            Curves(race),
            Heat(race, "What is busy", "What is busy"),
            Rows(race, "Schedules", "All in numbers", heads),
            Turns(race, "Where the fastest changes", "Where the fastest changes"),
        ],
        summary="{p} of {m} over {n} boxes of {g} with {c} each, {r}: {fastest} with {time}; {binds}{next}.",
        note="Lock-step clock; BW is per direction, of a port in the box and of a card. Ranks share cards where a "
        "box has fewer cards than ranks. Oversubscription s: the uplinks of a leaf carry 1/s of what the "
        "cards below could send, and so do those of a rack. Strided puts neighbors into different boxes, "
        "scattered is one draw; only the flat schedule goes by the numbers of ranks, the others know the boxes. "
        f"What takes segments goes in one piece or in {SEGMENTS[1]}, whichever is faster, which decides near-ties. "
        "NVLS needs switches that add in the boxes, CollNet between them. In racks, hierarchical schedules and those "
        "with CollNet go through three tiers, but for the all-to-all. Busy: in which part of the time the "
        "busiest port in a box, card or uplink carries bytes, step by step. The last column of the numbers is what "
        "the busiest card sends in all.",
        name="boxes",
    )
