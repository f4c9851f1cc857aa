"""The placement explorer: eight ranks move between two boxes of four, and their cards' loads follow."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np

from colllib.algorithms import allgather, allreduce, alltoall, hierarchical
from colllib.execution import Execution, execute
from colllib.metrics import crossings
from colllib.schedule import Schedule, placed
from colllib.show.control import Control, Part
from colllib.show.explorer import Explorer
from colllib.show.theme import color, escape, listed
from colllib.topology import Topology, boxes

BOXES, SIZE = 2, 4
CARD = 1  # the tier of boxes that is the cards
RANKS = BOXES * SIZE
BUILDS: dict[str, Callable[[Topology], Schedule]] = {
    "All-reduce, flat ring": lambda topology: allreduce.ring(RANKS),
    "All-reduce, hierarchical": hierarchical.all_reduce,
    "All-reduce, recursive doubling": lambda topology: allreduce.recursive_doubling(RANKS),
    "All-gather, flat ring": lambda topology: allgather.ring(RANKS),
    "All-to-all, pairwise": lambda topology: alltoall.pairwise(RANKS),
}


def standing(inside: tuple[int, ...]) -> list[int]:
    """The rank at each place: the four of box A at 0 to 3, the others at 4 to 7.

    >>> standing((0, 2, 4, 6))
    [0, 2, 4, 6, 1, 3, 5, 7]
    """
    return [*inside, *sorted(set(range(RANKS)) - set(inside))]


@cache
def run(work: str, inside: tuple[int, ...]) -> Execution:
    """A schedule executed with some of its ranks in box A."""
    topology = boxes((BOXES, SIZE))
    return execute(placed(BUILDS[work](topology), np.argsort(standing(inside)).tolist()), topology)


def sent(execution: Execution) -> list[Fraction]:
    """What the card at each place sends, in units of M, shape (8,)."""
    topology = execution.topology
    cards = (topology.link_src < RANKS) & (topology.tier == CARD)
    return [execution.link_total[link] for link in np.flatnonzero(cards)]


def placement_explorer() -> Explorer:
    """Which ranks share a box, against what each card sends and what crosses between the boxes.

    >>> placement_explorer()
    Explorer: Move ranks between two boxes (Schedule, Box A holds)
    """
    divisions = {inside: ", ".join(map(str, inside)) for inside in combinations(range(RANKS), SIZE)}
    return Explorer(
        "Move ranks between two boxes",
        [
            Control("work", "Schedule", tuple(BUILDS), kind="select"),
            Control("inside", "Box A holds", divisions, (0, 2, 4, 6), kind="select"),
        ],
        [Part(_picture, "Ranks and what their cards send")],
        summary=_summary,
        note="By key, Enter takes a rank, Enter on another exchanges the two, and Escape puts back what is taken. In "
        "each box the ranks stand in ascending order. Each has a card of its own; the bar is what this card sends in "
        "all, in units of M, executed for every one of the 70 ways to divide the ranks.",
        note_title="Keys, and what is drawn",
        name="placement",
    )


def _summary(work: str, inside: tuple[int, ...]) -> str:
    execution = run(work, inside)
    load, cards = crossings(execution), sent(execution)
    return (
        f"{work}, box A holds the ranks {listed(inside)}: "
        f"{load['uplink'].total / 2} M cross between the boxes, over {sum(share > 0 for share in cards)} of {RANKS} "
        f"cards; the busiest card sends {max(cards)} M."
    )


def _picture(work: str, inside: tuple[int, ...]) -> str:
    cards, who = sent(run(work, inside)), standing(inside)
    most = max((*cards, Fraction(1, 100)))
    marks = []
    for box in range(BOXES):
        x = 8 + (40 * SIZE + 24) * box
        marks.append(
            f'<rect x="{x}" y="87" width="{40 * SIZE + 4}" height="52" rx="6" fill="none" stroke="currentColor"/>'
            f'<text x="{x + 20 * SIZE + 2}" y="134">box {"AB"[box]}</text>'
        )
    for place, share in enumerate(cards):
        x = 30 + 40 * place + 24 * (place // SIZE)
        tall = float(share / most) * 62
        marks.append(
            f'<rect x="{x - 10}" y="{84 - tall:.1f}" width="20" height="{tall:.1f}" rx="2" '
            f'style="fill:{color(0)}"/><text x="{x}" y="{78 - tall:.1f}">{share}</text>'
            f'<g data-rank="{who[place]}" data-of="inside" aria-label="rank {who[place]}, box {"AB"[place // SIZE]}, '
            f'sends {share} M"><circle cx="{x}" cy="106" r="15"/><text x="{x}" y="110">{who[place]}</text></g>'
        )
    loads = listed(f"rank {rank} {share} M" for rank, share in zip(who, cards, strict=True))
    title = f"Busiest card: {max(cards)} M; cards in use: {sum(share > 0 for share in cards)} of {RANKS}"
    return (
        f'<div class="colllib cl-figure" role="group" aria-label="{escape(f"What each card sends: {loads}.")}">'
        f'<p class="cl-heading">{title}</p><svg viewBox="0 0 364 142" fill="currentColor" font-size="12" '
        f'text-anchor="middle" style="max-width:560px">{"".join(marks)}</svg>'
        '<p class="cl-hint cl-try">Drag a rank onto one in the other box, or choose the one and then the other, by tap '
        "or Enter.</p></div>"
    )
