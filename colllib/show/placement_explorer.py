"""The placement explorer: eight ranks move between two boxes of four, and their cards' loads follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

from colllib.algorithms import allgather, allreduce, alltoall, hierarchical
from colllib.execution import Execution, execute
from colllib.measures import crossings
from colllib.schedule import Schedule, placed
from colllib.show.control import Control, Part, State
from colllib.show.explorer import Explorer
from colllib.show.figure import Chart
from colllib.show.theme import listed
from colllib.topology import Topology, boxes

BOXES, SIZE = 2, 4
RANKS = BOXES * SIZE
BUILDS: dict[str, tuple[str, Callable[[Topology], Schedule]]] = {
    "ring": ("All-reduce, flat ring", lambda where: allreduce.ring(RANKS)),
    "hierarchical": ("All-reduce, hierarchical", hierarchical.all_reduce),
    "doubling": ("All-reduce, recursive doubling", lambda where: allreduce.recursive_doubling(RANKS)),
    "gather": ("All-gather, flat ring", lambda where: allgather.ring(RANKS)),
    "pairwise": ("All-to-all, pairwise", lambda where: alltoall.pairwise(RANKS)),
}
_PLACES = ("second", "third", "fourth")


def order(state: State) -> list[int]:
    """The place of each rank: the four of box A stand at 0 to 3, the others at 4 to 7.

    >>> order({"second": 2, "third": 4, "fourth": 6})
    [0, 4, 1, 5, 2, 6, 3, 7]
    """
    first = [0, *(state[name] for name in _PLACES)]
    return [
        first.index(rank) if rank in first else SIZE + rank - sum(one < rank for one in first) for rank in range(RANKS)
    ]


@cache
def run(work: str, places: tuple[int, ...]) -> Execution:
    """A schedule with its ranks at some places, executed."""
    topology = boxes((BOXES, SIZE))
    return execute(placed(BUILDS[work][1](topology), list(places)), topology)


def sent(found: Execution) -> list[Fraction]:
    """What the card at each place sends, in units of M, shape (8,)."""
    topology = found.topology
    load = dict.fromkeys(range(RANKS), Fraction(0))
    for link, (start, share) in enumerate(zip(topology.link_src.tolist(), found.link_total, strict=True)):
        if start < RANKS and topology.tiers[topology.tier[link]].name == "card":
            load[start] += share
    return [load[place] for place in range(RANKS)]


def placement_explorer() -> Explorer:
    """Which ranks share a box, against what each card sends and what crosses between the boxes.

    Rank 0 stands in box A; by pointer or key the sliders move others to it and back. Each of the 35 ways to divide
    eight ranks is executed.

    >>> placement_explorer()
    Explorer: Move ranks between two boxes (Schedule, Second in box A, Third in box A, Fourth in box A)
    """

    def after(name: str, most: int) -> Callable[[State], Sequence[int]]:
        return lambda state: range(state[name] + 1, most + 1)

    every = ("work", *_PLACES)
    return Explorer(
        "Move ranks between two boxes",
        [
            Control("work", "Schedule", {name: told for name, (told, _) in BUILDS.items()}, kind="select"),
            Control("second", "Second in box A", range(1, RANKS - 2), 2, format=_rank),
            Control("third", "Third in box A", after("second", RANKS - 2), 4, format=_rank, depends_on=("second",)),
            Control("fourth", "Fourth in box A", after("third", RANKS - 1), 6, format=_rank, depends_on=("third",)),
        ],
        [Part(every, _picture, "Cards and what they send"), Part((), lambda _: NOTE, fold="What is drawn here")],
        summary=Part(every, _told),
        name="placement",
    )


def _rank(rank: int) -> str:
    return f"rank {rank}"


def _here(state: State) -> Execution:
    return run(state["work"], tuple(order(state)))


def _told(state: State) -> str:
    found, places = _here(state), order(state)
    load = crossings(found)
    inside = [rank for rank in range(RANKS) if places[rank] < SIZE]
    cards = sent(found)
    return (
        f"{BUILDS[state['work']][0]}, box A holds the ranks {listed(map(str, inside))}: "
        f"{load['uplink'].total / 2} M cross between the boxes, over {sum(share > 0 for share in cards)} of {RANKS} "
        f"cards; the busiest card sends {max(cards)} M."
    )


def _picture(state: State) -> Chart:
    found, places = _here(state), order(state)
    who, cards = {place: rank for rank, place in enumerate(places)}, sent(found)
    most = max((*cards, Fraction(1, 100)))
    marks = []
    for place, share in enumerate(cards):
        x = 30 + 40 * place + 24 * (place // SIZE)
        tall = float(share / most) * 62
        marks.append(
            f'<rect x="{x - 10}" y="{84 - tall:.1f}" width="20" height="{tall:.1f}" rx="2" '
            f'style="fill:var(--cl-1,#0f6cbd)"/><text x="{x}" y="{78 - tall:.1f}">{share}</text>'
            f'<circle cx="{x}" cy="106" r="13" fill="none" stroke="currentColor"/>'
            f'<text x="{x}" y="110" font-weight="bold">{who[place]}</text>'
        )
    for box in range(BOXES):
        x = 8 + (40 * SIZE + 24) * box
        marks.append(
            f'<rect x="{x}" y="87" width="{40 * SIZE + 4}" height="52" rx="6" fill="none" stroke="currentColor"/>'
            f'<text x="{x + 20 * SIZE + 2}" y="134">box {"AB"[box]}</text>'
        )
    said = listed(f"rank {who[place]} {share} M" for place, share in enumerate(cards))
    return Chart(
        f'<svg viewBox="0 0 364 142" fill="currentColor" font-size="12" text-anchor="middle" aria-hidden="true" '
        f'style="max-width:560px">{"".join(marks)}</svg>',
        f"Two boxes of {SIZE}; what each card sends: {said}.",
        f"Busiest card: {max(cards)} M; cards in use: {sum(share > 0 for share in cards)} of {RANKS}",
    )


NOTE = (
    "<p>Two boxes of four ranks, a card for each. The bars above the ranks are what their cards send in all, in units "
    "of M, executed for every one of the 35 ways to divide the ranks. In each box they stand in ascending order.</p>"
)
