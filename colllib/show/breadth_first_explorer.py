"""One receiver and one step of a breadth-first all-gather: whose shards come, by which links, and what limits it."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from colllib.algorithms.breadth_first import BreadthFirst, Transport
from colllib.show.control import Control, Part
from colllib.show.explorer import Explorer
from colllib.show.geometry import Box, Point, between
from colllib.show.graph_player import shards
from colllib.show.pen import Drawing, Pen, drawing
from colllib.topology import Topology
from colllib.topology.expression import find
from colllib.topology.graph import from_links
from colllib.units import several


def fast_and_slow() -> Topology:
    """A ring of 8 with chords to the opposite rank, whose ring links are twice as fast as its chords."""
    ring = [(k, (k + jump) % 8) for k in range(8) for jump in (1, -1)]
    chords = [(k, (k + 4) % 8) for k in range(8)]
    return from_links("fast ring, slow chords", 8, ring + chords, bandwidth=[2] * 16 + [1] * 8)


PLACES = [k / 50 for k in range(8, 44)]  # of a tag along its arrow, the best first

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

    >>> problem = Reception(plan_of("circulant:16x3x4"), 0, 2)
    >>> problem.owners, problem.neighbors, str(problem.least), problem.tight_owners
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
        transport = self.plan.transport(self.receiver, self.step)
        assert transport is not None, f"nothing comes to rank {self.receiver} in step {self.step}"
        return transport

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
        shares = {}
        for owner in self.owners:
            kind = self.transport.links.index(self.usable(owner))
            for link, amount in enumerate(table[kind]):
                if amount:
                    shares[owner, link] = Fraction(amount, pieces * self.transport.owners[kind])
        return shares


def reception(problem: Reception, title: str = "") -> Drawing:
    """The bipartite picture: owners at the left, the receiver's links at the right, and which link carries which shard.

    >>> reception(Reception(plan_of("complete-bipartite:4x4"), 0, 2))
    3 shards to come to rank 0 over 4 links; the busiest carries 3/4 shard.
    """
    owners = sorted(problem.owners, key=lambda owner: (_middle(problem.usable(owner)), owner))
    height = 40.0 * max(len(owners), len(problem.neighbors), 2)
    capacity, flow = problem.transport.capacity, problem.flow

    def column(ranks: Sequence[int], x: float) -> list[Box]:
        pitch = height / max(1, len(ranks))
        return [Box(x, (k + 0.5) * pitch, 25, 25, round=True) for k in range(len(ranks))]

    def draw(pen: Pen) -> None:
        left, middle, right = (0.0, 230.0, 430.0) if pen.wide else (0.0, 120.0, 235.0)
        owner_boxes = dict(zip(owners, column(owners, left), strict=True))
        neighbor_boxes = column(problem.neighbors, middle)
        receiver_box = Box(right, height / 2, 30, 30, round=True)
        for x, heading in ((left, "owner v"), (middle, "neighbor w"), (right, "receiver u")):
            pen.text(x, -14, heading, "q")
        tracks = {(owner, link): between(owner_boxes[owner], neighbor_boxes[link]) for owner, link in sorted(flow)}
        for (_, link), track in tracks.items():
            pen.arrow(track, "h1" if problem.is_tight(link) else "h0")
        pen.lines(  # by which a shard might come, too
            between(box, neighbor)
            for owner, box in owner_boxes.items()
            for link, neighbor in enumerate(neighbor_boxes)
            if problem.usable(owner) >> link & 1 and (owner, link) not in flow
        )
        tags: list[Point] = []
        drawn = {at: [track.at(k / 50) for k in range(51)] for at, track in tracks.items()}
        for at, track in tracks.items():
            if flow[at] < 1 and len(flow) <= 14:
                places = list(map(track.at, PLACES))
                others = [point for other, points in drawn.items() if other != at for point in points]
                clear = np.minimum(_clearance(places, tags, 17), _clearance(places, others, 10))
                tags.append(places[clear.argmax()])
                pen.tag(*tags[-1], flow[at])
        for link, box in enumerate(neighbor_boxes):
            load = sum((share for (_, by), share in flow.items() if by == link), Fraction(0))
            track = between(box, receiver_box)
            pen.arrow(track, "h1" if problem.is_tight(link) else "h0" if load else "idle")
            pen.tag(*track.at(0.42), f"{load} / {capacity[link]}" if max(capacity) > 1 else load)
            pen.disk(box, problem.neighbors[link])
        for owner, box in owner_boxes.items():
            pen.disk(box, owner, "i", 1 if owner in problem.tight_owners else 0)
        pen.disk(receiver_box, problem.receiver, "i")

    legend = [("disk i h1", "owners that depend on the tight set"), ("arrow h1", "tight: full")]
    if not all(map(problem.is_tight, range(len(problem.neighbors)))):
        legend.append(("arrow h0", "not tight"))
    return drawing(draw, title=title, alt=_alt(problem), legend=legend)


def _clearance(places: Sequence[Point], points: Sequence[Point], enough: float) -> NDArray[np.float64]:
    """How far a tag at each place is from the nearest point, as a share of what is enough; it is wider than high."""
    apart = np.array(places)[:, None] - np.array(points).reshape(-1, 2)
    nearest: NDArray[np.float64] = np.hypot(apart[..., 0] / 2, apart[..., 1]).min(axis=1, initial=enough)
    return nearest / enough


def _alt(problem: Reception) -> str:
    per_unit = " per unit of its capacity" if max(problem.transport.capacity) > 1 else ""
    return (
        f"{shards(Fraction(len(problem.owners)))} to come to rank {problem.receiver} over "
        f"{several(len(problem.neighbors), 'link')}; the busiest carries {shards(problem.least)}{per_unit}."
    )


def _middle(links: int) -> float:
    """Where the links of a bit mask are, for few crossings."""
    return fmean(k for k in range(links.bit_length()) if links >> k & 1)


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


@cache
def _case(graph: str, receiver: int, step: int) -> Reception:
    return Reception(plan_of(graph), receiver, step)


def _picture(graph: str, receiver: int, step: int) -> Drawing:
    return reception(_case(graph, receiver, step))


def _words(graph: str, receiver: int, step: int) -> str:
    problem = _case(graph, receiver, step)
    tight = [k for k in range(len(problem.neighbors)) if problem.is_tight(k)]
    links = [f"{problem.neighbors[k]} → {receiver}" for k in tight]
    width = sum(problem.transport.capacity[k] for k in tight)
    most = max(problem.plan.layers[step - 1].loads)
    count = len(problem.tight_owners)
    slowest = "No receiver has a larger U in this step."
    if most > problem.least:
        slowest = f"The largest U of any receiver in this step is <b>{most}</b>, and the step waits for it."
    over = several(width, "link") if max(problem.transport.capacity) == 1 else f"{several(width, 'unit')} of capacity"
    return (
        f"<p><b>Tight set:</b> {', '.join(links)}. {count} of {len(problem.owners)} shards can come by no other link: "
        f"{shards(Fraction(count))} over {over}, so <b>U ≥ {problem.least}</b>; the division above attains it.</p>"
        f"<p>{slowest} Over all {len(problem.plan.layers)} steps the graph "
        f"needs {shards(sum(problem.plan.loads, Fraction(0)))} a link. {several(problem.plan.pieces, 'piece')} a shard "
        "will do: only the slowest receiver must be exact.</p>"
    )


def _summary(graph: str, receiver: int, step: int) -> str:
    return f"{GRAPHS[graph][0].upper()}{GRAPHS[graph][1:]}, step {step}: {_alt(_case(graph, receiver, step))}"
