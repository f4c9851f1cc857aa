"""Drawings of graphs: ranks with every link, and one shard that spreads over them, row by row."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from colllib.graphs.links import arcs
from colllib.graphs.measures import equal_degree
from colllib.schedule import Schedule
from colllib.show import layouts
from colllib.show.geometry import Box, Point, Track, between, lane, num
from colllib.show.pen import NARROW, Drawing, Pen, arrows, drawing
from colllib.topology import Topology
from colllib.topology.cuts import diameter

DISK = 23.0
ROW = 58.0  # from one row to the next
APART = 3.0  # half of the gap between the two directions of a link

Link = tuple[int, int]

#: How the disk of a rank looks -> what its color says, and the same of arrows; legends and screen readers tell it.
STATES = {("i", 1): "just arrived", ("i", 0): "has it", ("i", -1): "its owner"}
LOADS = {"h1": "carries most of it now", "h0": "carries less of it"}


@dataclass(frozen=True)
class Spread:
    """How the shard of one rank, its owner, spreads in an all-gather.

    >>> from colllib.algorithms import breadth_first
    >>> from colllib.topology.expression import find
    >>> shard = Spread(breadth_first.all_gather(find("complete-bipartite:2x2")), 0)
    >>> shard.carried[1], shard.complete
    ({(2, 1): Fraction(1, 2), (3, 1): Fraction(1, 2)}, (0, 2, 1, 1))
    """

    schedule: Schedule
    owner: int

    @cached_property
    def carried(self) -> tuple[dict[Link, Fraction], ...]:
        """For each step what of the shard each link carries."""
        share = list(self.schedule.blocks.share)
        in_shard = self.schedule.blocks.source == self.owner
        size = self.schedule.blocks.share.taken(in_shard.nonzero()[0]).total()
        steps = []
        for step in map(self.schedule.step, range(self.schedule.num_steps)):
            of_shard = in_shard[step.block]
            loads = defaultdict[Link, Fraction](Fraction)
            for src, dst, block in zip(step.src[of_shard], step.dst[of_shard], step.block[of_shard], strict=True):
                loads[int(src), int(dst)] += share[block] / size
            steps.append(dict(loads))
        return tuple(steps)

    @cached_property
    def complete(self) -> tuple[int, ...]:
        """After how many steps each rank has all of the shard."""
        has = [Fraction(rank == self.owner) for rank in range(self.schedule.ranks)]
        when = [0] * self.schedule.ranks
        for t, step in enumerate(self.carried, 1):
            for (_, dst), share in step.items():
                has[dst] += share
                when[dst] = t
        assert all(share == 1 for share in has), f"shard {self.owner}: {list(map(str, has))} arrived"
        return tuple(when)

    def holders(self, step: int) -> list[int]:
        """Who has all of it after so many steps."""
        return [rank for rank, when in enumerate(self.complete) if when <= step]


# -- panels ---------------------------------------------------------------------------------------


def around(
    pen: Pen,
    topology: Topology,
    middle: Point,
    radius: float,
    *,
    loads: Mapping[Link, Fraction] | None = None,
    look: Mapping[int, tuple[str, int]] | None = None,
    names: Sequence[str] = (),
    disk: float = DISK,
    picks: Mapping[Link, str] | None = None,
) -> None:
    """Ranks by names or numbers, most often round a circle, with all links.

    Where `loads` say what links carry, those that carry most are thick and idle ones faint; else all links are alike,
    those with an opposite one as lines without heads. `look` is the class and the color of some ranks' disks, `disk`
    their size; below 15 they have no name. By `picks`, "control=place", an explorer's reader picks a link's value; a
    screen reader also says what the link carries.
    """
    picks = picks or {}
    places = layouts.graph(topology, radius, disk)
    boxes = [Box(middle[0] + x, middle[1] + y, disk, disk, round=True) for x, y in places]
    links = sorted(set(zip(topology.link_src.tolist(), topology.link_dst.tolist(), strict=True)))
    outside = 1 + (disk / 2 + 4) / radius
    for rank in (a for a, b in links if a == b):
        x, y = (center + outside * place for center, place in zip(middle, places[rank], strict=True))
        pen.put(f'<circle class="l" fill="none" cx="{num(x)}" cy="{num(y)}" r="6"/>', Box(x, y, 14, 14))
        if (rank, rank) in picks:
            _target(pen, Box(x, y, 12, 12), picks[rank, rank], _carries((rank, rank), loads or {}))
    links = [(a, b) for a, b in links if a != b]
    both = {(a, b) for a, b in links if (b, a) in links}
    if loads is None:
        pen.lines((between(boxes[a], boxes[b]) for a, b in links if (a, b) in both and a < b), "l")
        one_way = [between(boxes[a], boxes[b]) for a, b in links if (a, b) not in both]
        small = disk < 15  # there arrows are as light as lines
        light = (0.6, 3.0) if len(one_way) > 80 else (1.0, 5.0)
        _arrows(pen, one_way, "h7" if small else "add", *(light if small else (0.0, 7.5)))
    else:
        pen.lines((between(boxes[a], boxes[b]) for a, b in links if (a, b) not in both or a < b), "e")
        tracks = {(a, b): lane(boxes[a], boxes[b], APART if (a, b) in both else 0.0) for a, b in loads}
        _loaded(pen, tracks, loads)
    for a, b in links:
        if (a, b) in picks:
            track = lane(boxes[a], boxes[b], 2 * APART if (a, b) in both else 0.0)
            says = _carries((a, b), loads or {})
            pen.put(f'<path class="pick" data-pick="{picks[a, b]}" data-says="{says}" d="{track.d}"/>')
    _disks(pen, boxes, look or {}, names)


def in_rows(
    pen: Pen,
    spread: Spread,
    step: int,
    corner: Point,
    width: float,
    *,
    names: Sequence[str] = (),
    picks: Mapping[int, str] | None = None,
) -> None:
    """A shard after some steps: ranks in rows by the step that completes it there, links that have carried parts of it.

    The panel has a corner at its upper left, and a width; names and picks are as for `around`, picks of ranks.
    """
    x = _across(spread, corner[0] + width / 2, width)
    boxes = [
        Box(x[rank], corner[1] + DISK / 2 + ROW * when, DISK, DISK, round=True)
        for rank, when in enumerate(spread.complete)
    ]

    def track(a: int, b: int) -> Track:
        near = spread.complete[b] - spread.complete[a] == 1
        return between(boxes[a], boxes[b], 0.0 if near else 12.0)

    before = {link for loads in spread.carried[: max(0, step - 1)] for link in loads}
    pen.lines(track(a, b) for a, b in sorted(before))
    if step:
        loads = spread.carried[step - 1]
        _loaded(pen, {link: track(*link) for link in loads}, loads)
    look = reached(spread, step)
    _disks(pen, boxes, look, names)
    for rank, pick in (picks or {}).items():
        _target(pen, boxes[rank], pick, STATES[look[rank]] if rank in look else "")


def _across(spread: Spread, middle: float, width: float) -> dict[int, float]:
    """How far to the right each rank stands: in every row by the middle of the ranks that it has the shard from."""
    x: dict[int, float] = {}

    def below_senders(rank: int) -> tuple[float, int]:
        senders = [x[src] for src, dst in arriving if dst == rank and src in x]
        return (sum(senders) / len(senders) if senders else 0.0, rank)

    for depth in range(max(spread.complete) + 1):
        arriving = spread.carried[depth - 1] if depth else {}
        row = sorted((rank for rank, when in enumerate(spread.complete) if when == depth), key=below_senders)
        pitch = min(56.0, width / max(1, len(row)))
        for k, rank in enumerate(row):
            x[rank] = middle + (k - (len(row) - 1) / 2) * pitch
    return x


def _target(pen: Pen, box: Box, pick: str, says: str) -> None:
    place = f'cx="{num(box.x)}" cy="{num(box.y)}" r="{num(box.width / 2)}"'
    pen.put(f'<circle class="pick" data-pick="{pick}" data-says="{says}" {place}/>')


def reached(spread: Spread, step: int) -> dict[int, tuple[str, int]]:
    """How disks look that have a shard: the owner's, those that it has just reached, and all others that have it."""
    looks = {rank: ("i", 1 if spread.complete[rank] == step else 0) for rank in spread.holders(step)}
    return looks | {spread.owner: ("i", -1)}


def _color(load: Fraction, loads: Mapping[Link, Fraction]) -> str:
    return "h1" if load == max(loads.values()) else "h0"


def _carries(link: Link, loads: Mapping[Link, Fraction]) -> str:
    return LOADS[_color(loads[link], loads)] if loads.get(link) else ""


def _loaded(pen: Pen, tracks: Mapping[Link, Track], loads: Mapping[Link, Fraction]) -> None:
    most = max(loads.values(), default=Fraction(0))
    for load in sorted({load for load in loads.values() if load}):
        alike = [tracks[link] for link in sorted(loads) if loads[link] == load]
        _arrows(pen, alike, _color(load, loads), 0.9 + 1.6 * float(load / most))


def _arrows(pen: Pen, tracks: Sequence[Track], kind: str, width: float = 0.0, head: float = 7.5) -> None:
    if tracks:
        pen.put(arrows(tracks, kind, width, head), *(point for track in tracks for point in track.points))


def _disks(pen: Pen, boxes: Sequence[Box], look: Mapping[int, tuple[str, int]], names: Sequence[str]) -> None:
    for rank, box in enumerate(boxes):
        if box.width < 15:
            pen.dot(box.x, box.y)
        else:
            pen.disk(box, names[rank] if names else rank, *look.get(rank, ("", -1)))


# -- drawings -------------------------------------------------------------------------------------


def graph(topology: Topology, *, names: Sequence[str] = (), title: str = "") -> Drawing:
    """A graph: ranks by names or numbers, one-way links as arrows, links in both directions as lines.

    >>> from colllib.topology.expression import find
    >>> graph(find("kautz:2x6"))
    kautz:2x6: 6 ranks, 12 links, degree 2, diameter 2.
    """
    links = set(zip(topology.link_src.tolist(), topology.link_dst.tolist(), strict=True))
    legend = [("line", "both ways"), ("arrow add", "one way")]
    mixed = 0 < sum((b, a) not in links for a, b in links) < len(links)
    return drawing(
        lambda pen: around(pen, topology, (0, 0), radius_of(topology), names=names),
        legend=legend if mixed else (),
        title=title,
        alt=f"{topology.name}: {topology.ranks} ranks, {len(arcs(topology)[0])} links, "
        f"degree {equal_degree(topology)}, diameter {diameter(topology)}.",
    )


def graphs(topologies: Mapping[str, Topology], title: str = "") -> Drawing:
    """Small pictures of several graphs, each with what it is called, its ranks N, degree d and diameter D.

    >>> from colllib.topology.expression import find
    >>> graphs({"Kautz": find("kautz:2x6"), "ring": find("ring:5")})
    Kautz: N = 6, d = 2, D = 2; ring: N = 5, d = 2, D = 2.
    """
    captions = {
        name: f"N = {topology.ranks}, d = {equal_degree(topology)}, D = {diameter(topology)}"
        for name, topology in topologies.items()
    }

    def draw(pen: Pen) -> None:
        columns = 4 if pen.wide else 2
        for k, (name, topology) in enumerate(topologies.items()):
            x, y = (pen.width / columns) * (k % columns), 200.0 * (k // columns)
            around(pen, topology, (x, y), 63.0, disk=10.0)
            pen.text(x, y + 88, name, "b")
            pen.text(x, y + 104, captions[name], "q")

    alt = "; ".join(f"{name}: {numbers}" for name, numbers in captions.items())
    return drawing(draw, title=title, alt=f"{alt}.")


def shard(spread: Spread, step: int, *, names: Sequence[str] = (), title: str = "") -> Drawing:
    """One shard after some steps: rows by when it is complete, with the links of the last step.

    >>> from colllib.algorithms import breadth_first
    >>> from colllib.topology.expression import find
    >>> shard(Spread(breadth_first.all_gather(find("complete-bipartite:2x2")), 0), 2)
    The shard of rank 0 after 2 of 2 steps: 4 of 4 ranks have all of it.
    """
    alt = (
        f"The shard of rank {spread.owner} after {step} of {spread.schedule.num_steps} steps: "
        f"{len(spread.holders(step))} of {spread.schedule.ranks} ranks have all of it."
    )
    return drawing(lambda pen: in_rows(pen, spread, step, (0, 0), NARROW - DISK - 6, names=names), title=title, alt=alt)


def radius_of(topology: Topology) -> float:
    """A circle with room for all ranks that fits a phone."""
    return min(136.0, max(54.0, 9.0 * topology.ranks))
