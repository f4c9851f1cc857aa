"""One receiver and one step of a breadth-first all-gather: whose shards come, by which links, and what limits it."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

import numpy as np

from colllib.algorithms.breadth_first import BreadthFirst, Transport
from colllib.show.control import Control, Part
from colllib.show.explorer import Explorer
from colllib.show.geometry import Box, between
from colllib.show.graph_player import shards
from colllib.show.pen import Drawing, Pen, drawing
from colllib.topology import Topology
from colllib.topology.expression import find
from colllib.topology.graph import from_links
from colllib.units import several

ROW = 40.0


def fast_and_slow() -> Topology:
    """A ring of 8 with chords to the opposite rank, whose ring links are twice as fast as its chords."""
    ring = [(k, (k + way) % 8) for k in range(8) for way in (1, -1)]
    chords = [(k, (k + 4) % 8) for k in range(8)]
    return from_links("fast ring, slow chords", 8, ring + chords, bandwidth=[2] * 16 + [1] * 8)


#: What the explorer offers. Tori are products here, so that every receiver has its own problem.
GRAPHS = {
    "kautz:4x11": "generalized Kautz, N = 11",
    "circulant:16x3x4": "circulant, jumps 3 and 4",
    "product(biring:2x5,biring:2x4)": "torus 5 × 4",
    "hypercube:4": "4-cube",
    "twisted-hypercube:4": "twisted 4-cube",
    "biring:2x7": "ring of 7",
    "complete-bipartite:4x4": "complete bipartite 4 + 4",
    "debruijn:2x4": "de Bruijn",
    "diamond": "diamond",
    "distance-regular:14": "distance-regular, N = 14",
    "fast and slow": "two speeds",
}


@cache
def plan_of(name: str) -> BreadthFirst:
    """The problems of a graph on offer."""
    return BreadthFirst(fast_and_slow() if name == "fast and slow" else find(name), each=True)


@dataclass(frozen=True)
class Reception:
    """What one rank u receives in one step t = 1, 2, ... on a network whose ranks all have problems of their own.

    >>> here = Reception(plan_of("circulant:16x3x4"), 0, 2)
    >>> here.owners, here.neighbors, str(here.least), here.tight_owners
    ((1, 6, 7, 8, 9, 10, 15), (3, 4, 12, 13), '7/4', (1, 6, 7, 8, 9, 10, 15))
    """

    plan: BreadthFirst
    receiver: int
    step: int

    @property
    def owners(self) -> tuple[int, ...]:
        """Whose shards must come."""
        return tuple(np.flatnonzero(self.plan.hops[self.receiver] == self.step).tolist())

    @property
    def neighbors(self) -> tuple[int, ...]:
        """The ranks with links to the receiver."""
        return tuple(rank for rank in self.plan.near[self.receiver].tolist() if rank >= 0)

    def usable(self, owner: int) -> int:
        """The links by which an owner's shard may come, as a bit mask."""
        near = enumerate(self.neighbors)
        return sum(1 << k for k, rank in near if self.plan.hops[rank, owner] == self.step - 1)

    @cached_property
    def transport(self) -> Transport:
        """The transportation problem."""
        found = self.plan.transport(self.receiver, self.step)
        assert found is not None, f"nothing comes to rank {self.receiver} in step {self.step}"
        return found

    @cached_property
    def _least(self) -> tuple[Fraction, int]:
        return self.transport.least_load()

    @property
    def least(self) -> Fraction:
        """U, in shards for each unit of capacity."""
        return self._least[0]

    def is_tight(self, link: int) -> bool:
        """Whether a link belongs to the set that sets U."""
        return bool(self._least[1] >> link & 1)

    @property
    def tight_owners(self) -> tuple[int, ...]:
        """The owners whose shards can come only by the tight set."""
        return tuple(owner for owner in self.owners if self.usable(owner) & ~self._least[1] == 0)

    @cached_property
    def flow(self) -> dict[tuple[int, int], Fraction]:
        """What of each owner's shard comes by which link, the owners of a class alike: (owner, link) -> share."""
        pieces = self.least.denominator
        table = self.transport.divided(pieces, self.least.numerator)
        found = {}
        for owner in self.owners:
            kind = self.transport.links.index(self.usable(owner))
            for link, amount in enumerate(table[kind]):
                if amount:
                    found[owner, link] = Fraction(amount, pieces * self.transport.owners[kind])
        return found


_reception = cache(Reception)


def reception(here: Reception, title: str = "") -> Drawing:
    """The bipartite picture: owners at the left, the receiver's links at the right, and what goes where.

    >>> reception(Reception(plan_of("complete-bipartite:4x4"), 0, 2))
    3 shards to come to rank 0 over 4 links; the busiest carries 3/4 shard.
    """
    return drawing(lambda pen: _draw(pen, here), title=title, alt=_alt(here), legend=LEGEND)


LEGEND = [("disk i h1", "owners that depend on the tight set"), ("arrow h1", "tight: full"), ("arrow h0", "not tight")]


def _alt(here: Reception) -> str:
    each = " per unit of its capacity" if max(here.transport.capacity) > 1 else ""
    return (
        f"{shards(Fraction(len(here.owners)))} to come to rank {here.receiver} over "
        f"{several(len(here.neighbors), 'link')}; the busiest carries {shards(here.least)}{each}."
    )


def _draw(pen: Pen, here: Reception) -> None:
    neighbors, tight = here.neighbors, here.tight_owners
    owners = sorted(here.owners, key=lambda owner: (_middle(here.usable(owner)), owner))
    height = ROW * max(len(owners), len(neighbors), 2)
    wide = pen.wide
    left, middle, right = (0.0, 230.0, 430.0) if wide else (0.0, 120.0, 235.0)

    def column(ranks: Sequence[int], x: float) -> list[Box]:
        pitch = height / max(1, len(ranks))
        return [Box(x, (k + 0.5) * pitch, 25, 25, round=True) for k in range(len(ranks))]

    here_, there = column(owners, left), column(neighbors, middle)
    for x, said in ((left, "owner v"), (middle, "neighbor w"), (right, "receiver u")):
        pen.text(x, -14, said, "q")
    for (owner, link), share in sorted(here.flow.items()):
        a, b = here_[owners.index(owner)], there[link]
        track = between(a, b)
        pen.arrow(track, "h1" if here.is_tight(link) else "h0")
        if share < 1 and len(here.flow) <= 14:
            pen.tag(*track.at(0.3 + 0.12 * (link % 3)), share)
    idle = [
        between(here_[k], there[link])
        for k, owner in enumerate(owners)
        for link in range(len(neighbors))
        if here.usable(owner) >> link & 1 and (owner, link) not in here.flow
    ]
    pen.lines(idle)
    end = Box(right, height / 2, 30, 30, round=True)
    for link, box in enumerate(there):
        load = sum((share for (_, by), share in here.flow.items() if by == link), Fraction(0))
        track = between(box, end)
        pen.arrow(track, "h1" if here.is_tight(link) else "h0" if load else "idle")
        width = here.transport.capacity[link]
        pen.tag(*track.at(0.42), f"{load} / {width}" if max(here.transport.capacity) > 1 else load)
        pen.disk(box, neighbors[link])
    for box, owner in zip(here_, owners, strict=True):
        pen.disk(box, owner, "i", 1 if owner in tight else 0)
    pen.disk(end, here.receiver, "i")


def _middle(links: int) -> float:
    """Where the links of a bit mask are, for few crossings."""
    places = [k for k in range(links.bit_length()) if links >> k & 1]
    return sum(places) / len(places)


def breadth_first_explorer() -> Explorer:
    """Pick a receiver and a step: the owners, the links, a division that is best, and the set of links that proves it.

    >>> breadth_first_explorer()
    Explorer: One receiver, one step (Graph, Receiver u, Step t)
    """
    return Explorer(
        "One receiver, one step",
        [
            Control("graph", "Graph", GRAPHS, "kautz:4x11", "select"),
            Control("receiver", "Receiver u", lambda graph: range(min(14, plan_of(graph).topology.ranks)), 1),
            Control("step", "Step t", lambda graph, receiver: range(1, plan_of(graph).hops[receiver].max() + 1), 2),
        ],
        [Part(_picture, "Whose shards come, and by which links"), Part(_words, "What limits the step")],
        _summary,
        "step",
        "breadth-first",
    )


def _picture(graph: str, receiver: int, step: int) -> Drawing:
    return reception(_reception(plan_of(graph), receiver, step))


def _words(graph: str, receiver: int, step: int) -> str:
    here = _reception(plan_of(graph), receiver, step)
    links = [f"{w} → {here.receiver}" for k, w in enumerate(here.neighbors) if here.is_tight(k)]
    width = sum(here.transport.capacity[k] for k in range(len(here.neighbors)) if here.is_tight(k))
    most = max(here.plan.layers[here.step - 1].loads)
    count, whole = len(here.tight_owners), "No receiver has a larger U in this step."
    if most > here.least:
        whole = f"The largest U of any receiver in this step is <b>{most}</b>, and the step waits for it."
    over = several(width, "link") if max(here.transport.capacity) == 1 else f"{several(width, 'unit')} of capacity"
    return (
        f"<p><b>Tight set:</b> {', '.join(links)}. {count} of {len(here.owners)} shards can come by no other link: "
        f"{shards(Fraction(count))} over {over}, so <b>U ≥ {here.least}</b>; the division above attains it.</p>"
        f"<p>{whole} Over all {len(here.plan.layers)} steps the graph "
        f"needs {shards(sum(here.plan.loads, Fraction(0)))} a link, with every shard in "
        f"{several(here.plan.pieces, 'piece')}.</p>"
    )


def _summary(graph: str, receiver: int, step: int) -> str:
    return f"{GRAPHS[graph]}, step {step}: {_alt(_reception(plan_of(graph), receiver, step))}"
