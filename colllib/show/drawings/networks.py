"""Drawings of switches: a star with its ports, boxes with cards, leaves and spines, fat-trees."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from colllib.execution import Execution
from colllib.show.drawings.wires import in_words, wires_of
from colllib.show.film import amount
from colllib.show.geometry import Box, Point, Track, bow, lane, num, on_circle
from colllib.show.pen import NARROW, WIDE, Drawing, Pen, drawing, extent
from colllib.show.theme import listed
from colllib.topology import Topology
from colllib.units import several

DISK = (27.0, 27.0)
WIDEST = 7.0  # a link of a star


# -- a star and its ports -------------------------------------------------------------------------


def star(topology: Topology, run: Execution | None = None, step: int = 1, *, title: str = "") -> Drawing:
    """A star: each rank's port, and behind it the two links of a full-duplex connection to the switch.

    In a step links are as thick as what they carry.

    Args:
        topology: a star.
        run: an execution on it; then the links show what they carry in one of its steps.
        step: which, from 1.
        title: the conclusion.

    Raises:
        ValueError: for a topology that is no star, or a run on other links.

    >>> from colllib.topology import star as make
    >>> star(make(4))
    A star of 4 ranks around one switch: each rank has one port, with a link up to the switch and a link down.
    """
    n = topology.ranks
    if topology.switches != 1 or topology.num_links != 2 * n:
        raise ValueError(f"{topology.name} is no star: `network` draws switches of all kinds")
    if run and wires_of(run.topology) != wires_of(topology):
        raise ValueError(f"a run on {run.topology.name} does not fit {topology.name}")
    load = dict(enumerate(run.link_load(step - 1))) if run else {}
    carried = [share for share in load.values() if share]
    width = float(min(1.75 / min(carried), WIDEST / max(carried))) if carried else 0.0  # of a link that carries M

    def draw(pen: Pen) -> None:
        radius = max(100.0 if run else 84.0, 13.0 * n)
        switch = Box(0, 0, 66, 30)
        for rank, (x, y) in enumerate(on_circle(n, radius)):
            disk = Box(x, y, *DISK, round=True)
            for link, (a, b) in ((rank, (disk, switch)), (n + rank, (switch, disk))):
                _loaded(pen, lane(a, b, 4), load.get(link, Fraction(0)), width, idle=run is not None)
            px, py = disk.edge((0, 0), 1.0)
            pen.put(f'<circle class="port" cx="{num(px)}" cy="{num(py)}" r="4"/>', (px, py))
            pen.disk(disk, rank)
        pen.switch(0, 0, width=66)
        if not run:
            _port(pen, (radius + 180, 0.0) if pen.wide else (0.0, radius + 62))

    alt = (
        f"A star of {n} ranks around one switch: each rank has one port, with a link up to the switch and a link down."
    )
    if run:
        busy = listed(topology.link_name(link) for link, share in load.items() if share)
        alt += f" In step {step} of {run.schedule.num_steps} the links {busy} carry up to {max(load.values())} M."
    return drawing(draw, title=title, alt=alt, legend=[("port", "a port")] if run else [])


def _loaded(pen: Pen, track: Track, share: Fraction, width: float, *, idle: bool) -> None:
    """A link as thick as what it carries, which stands beside it; a faint line where it carries nothing."""
    if idle and not share:
        pen.line(track.points, "e")
        return
    pen.arrow(track, index=1 if share else -1, width=width * float(share))
    if share:
        (x, y), (u, v) = track.points
        along, across = (u - x) / track.length, (v - y) / track.length
        away = (0.5 * extent(amount(share)) + 6) * abs(across) + 13 * abs(along)
        pen.text((x + u) / 2 - away * across, (y + v) / 2 + away * along, amount(share))


def _port(pen: Pen, at: Point) -> None:
    """One rank and its port, larger."""
    x, y = at
    pen.arrow(bow((x - 72, y - 9), (x + 58, y - 9)))
    pen.arrow(bow((x + 58, y + 9), (x - 72, y + 9)))
    pen.put(f'<rect class="port" x="{num(x - 80)}" y="{num(y - 15)}" width="8" height="30" rx="2"/>', (x - 80, y - 15))
    pen.disk(Box(x - 95, y, *DISK, round=True), 0)
    pen.switch(x + 95, y, width=66)
    pen.text(x - 7, y - 20, "sends at full speed")
    pen.text(x - 7, y + 21, "receives at full speed")
    pen.text(x - 76, y + 36, "port", "b")


# -- switches -------------------------------------------------------------------------------------


def network(topology: Topology, *, title: str = "") -> Drawing:
    """Ranks below switches: boxes with their cards, leaves and spines, fat-trees, trees of switches; a color per tier.

    A switch is a bar above its nodes, or stands in a row with others where their nodes lie between one another's, as
    those of rails do.

    Raises:
        ValueError: for a topology without switches, or with more than 16 ranks.

    >>> from colllib.topology import leaf_spine
    >>> network(leaf_spine(4, 2, 2))
    Leaves and spines: 8 ranks and 6 switches in 2 levels. Links: 8 port, each 1 BW; 8 uplink, each 1 BW.
    """
    if not topology.switches or topology.ranks > 16:
        raise ValueError(f"{topology.name}: only topologies with switches and up to 16 ranks; others: `wiring`")
    level, below = _switch_levels(topology)
    boxed = [node for node in below if level[node] < 0]
    levels = max(level.values())
    names = _switch_names(topology, levels)
    named = {node: "switch" if node in boxed else names[level[node] - 1] for node in below}
    places = {width: _network_places(width, topology, level, below) for width in (WIDE, NARROW)}

    def draw(pen: Pen) -> None:
        place = places[pen.width]
        for node in boxed:
            ranks = [place[rank] for rank in below[node]]
            pen.group(Box(place[node].x, 23, ranks[-1].x - ranks[0].x + place[0].width + 7, 82))
        for a, b, tier in wires_of(topology):
            card = "card" in topology.tiers[tier].name and max(level[a], level[b]) == 1 and "card" not in names
            _wire(pen, place[a], place[b], tier, card=card)
        for node, box in place.items():
            if name := named.get(node):
                pen.switch(box.x, box.y, name if _fits(name, box) else name[0].upper(), box.width)
            elif box.width < 20:  # too many for disks
                pen.text(box.x, box.y, node, "b small")
            else:
                pen.disk(box, node)

    counts = Counter(tier for _, _, tier in wires_of(topology))
    widths = _widths(topology)
    links = (f"{counts[k]} {tier.name}{widths[k]}".replace(",", ", each") for k, tier in enumerate(topology.tiers))
    alt = (
        f"{in_words(topology)}: {topology.ranks} ranks and {topology.switches} switches in "
        f"{several(levels, 'level')}. Links: {'; '.join(links)}."
    )

    always, on_phone = (
        {name for node, name in named.items() if not _fits(name, place[node])} for place in places.values()
    )
    legend = [(name[0].upper(), name) for name in names if name in always]
    if boxed and "card" not in names:
        legend.append(("card", "card"))
    cables = [f"cable of a {tier.name}" if tier.name == "card" else tier.name for tier in topology.tiers]
    legend += [(f"line t{k}", name + widths[k]) for k, name in enumerate(cables)]
    drawn = drawing(draw, title=title, alt=alt, legend=legend)
    letter = '<div class="cl-narrow" style="margin:0"><b>{}</b> {}</div>'
    only_there = "".join(letter.format(name[0].upper(), name) for name in names if name in on_phone - always)
    start = '<div class="cl-legend">'
    return replace(drawn, body=drawn.body.replace(start, start + only_there))


def _widths(topology: Topology) -> list[str]:
    """What each tier's links carry in BW; where levels differ in that, in links of the last tier of 1 BW before."""
    levels = {tier.level for tier in topology.tiers}
    widths, name = [], ""
    for tier in topology.tiers:
        name = tier.name if tier.bandwidth == 1 and len(levels) > 1 else name
        widths.append("" if name == tier.name else f", {tier.bandwidth} {f'× {name}' if name else 'BW'}")
    return widths


def _wire(pen: Pen, a: Box, b: Box, tier: int, *, card: bool) -> None:
    """A wire between nodes, upright where one stands over the other, by way of a card if there is one on it."""
    up, down = sorted((a, b), key=lambda box: box.y)
    narrow = min(up, down, key=lambda box: box.width)
    over = abs(up.x - down.x) <= max(up.width, down.width) / 2
    ends = [(narrow.x if over else up.x, up.y), (narrow.x if over else down.x, down.y)]
    if card:
        ends.insert(1, (narrow.x, -22))
    pen.line(ends, f"l t{tier}")
    if card:
        port = f'<rect class="port" x="{num(narrow.x - 5)}" y="-27" width="10" height="10" rx="2"/>'
        pen.put(port, (narrow.x, -27))


def _fits(name: str, box: Box) -> bool:
    return len(name) * 7 + 4 <= box.width


def _switch_levels(topology: Topology) -> tuple[dict[int, int], dict[int, list[int]]]:
    """How far above the ranks every node is (-1 for a box's switch), and the nodes below each switch."""
    import networkx as nx  # slow to import, and needed here alone

    graph, ranks = topology.to_networkx().to_undirected(), set(range(topology.ranks))
    outside = {end for *ends, tier in wires_of(topology) if topology.tiers[tier].level for end in ends}
    inside = [node for node in set(graph) - ranks - outside if set(graph[node]) <= ranks]
    if len(inside) == topology.switches or any(len(graph[rank]) < 2 for rank in ranks):
        inside = []
    level = {node: k for k, nodes in enumerate(nx.bfs_layers(graph, ranks)) for node in nodes}
    level |= dict.fromkeys(inside, -1)
    below = {
        node: sorted(other for other in graph[node] if abs(level[other]) < abs(level[node]))
        for node in range(topology.ranks, topology.nodes)
    }
    return level, below


def _network_places(
    width: int, topology: Topology, level: Mapping[int, int], below: Mapping[int, Sequence[int]]
) -> dict[int, Box]:
    n = topology.ranks
    group = max(len(nodes) for node, nodes in below.items() if level[node] in (1, -1))
    pitch = min(44.0, (width - 26.0 - 8.0 * (n // group)) / n)
    space = min(26.0, (width - 20 - n * pitch) / max(1, n / group - 1)) if group < n else 0.0
    size = min(27.0, pitch - 1)
    place = {rank: Box(rank * pitch + rank // group * space, 0, size, size, round=True) for rank in range(n)}
    for depth in sorted({level[node] for node in below}, key=abs):
        row = [node for node in below if level[node] == depth]
        span = {node: [place[other].x for other in below[node]] for node in row}
        row.sort(key=lambda node: (sum(span[node]) / len(span[node]), node))
        apart = all(max(span[one]) < min(span[other]) for one, other in pairwise(row))
        y = 44.0 if depth < 0 else -66.0 * depth
        across = place[n - 1].x
        for k, node in enumerate(row):
            left, right = min(span[node]), max(span[node])
            if apart:
                place[node] = Box((left + right) / 2, y, max(right - left, 8.0) + min(20.0, 0.75 * pitch), 24)
            else:
                place[node] = Box(across * (k + 0.5) / len(row), y, min(76.0, across / len(row) - 6), 24)
    return place


def _switch_names(topology: Topology, levels: int) -> list[str]:
    """What switches are called, level by level from the ranks up."""
    kind = topology.name.partition(":")[0]
    if kind == "fat-tree":
        return ["edge", "aggregation", "core"]
    if kind not in ("leaf-spine", "boxes"):
        return ["switch"] * levels
    has_cards = any(tier.name == "card" for tier in topology.tiers) and levels > len(topology.tiers) - 1
    names = [*(["card"] * has_cards), "leaf", "spine", "core"]
    return names + ["core"] * (levels - len(names))
