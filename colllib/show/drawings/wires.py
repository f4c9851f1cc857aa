"""Drawings of wires: lattices as grids with stubs where they go round, rings and full meshes as circles."""

from collections.abc import Collection, Mapping
from math import prod

from colllib.show import layouts
from colllib.show.geometry import Box, Point, num, on_circle
from colllib.show.pen import WIDE, Drawing, Pen, drawing
from colllib.topology import Lattice, Topology

PITCH, STUB = 52.0, 25.0  # between neighbors, and how far a link that goes round sticks out at both ends

Stubs = dict[tuple[int, int], Point]


def wiring(
    topology: Topology,
    *,
    half: Collection[int] = (),
    width: Mapping[tuple[int, int], float] | None = None,
    columns: int = 0,
    in_box: int = 0,
    title: str = "",
    alt: str = "",
) -> Drawing:
    """The wires of a topology: lattices as grids with stubs where they go round, cubes as cubes, all else as a circle.

    Args:
        topology: what to draw.
        half: ranks drawn filled; the wires between them and the others are the cut.
        width: how much of the largest load each wire has, between 0 and 1; thick and dark is much.
        columns: the width of the grid for a topology that is drawn as one without having axes.
        in_box: the ranks of each of two boxes, for a topology that is drawn so without having any.
        title: the conclusion.
        alt: what it shows, in words (default: its ranks, wires and stubs).

    Raises:
        ValueError: if the half has a rank that the topology lacks.

    >>> from colllib.topology import torus
    >>> wiring(torus((4, 3)))
    A torus of 4 × 3: 12 ranks and 24 wires, 7 of which go round.
    """
    inside = set(half)
    if strangers := inside - set(range(topology.ranks)):
        raise ValueError(f"half: {topology.name} has no rank {min(strangers)}")

    def draw(pen: Pen) -> None:
        place, stubs = wiring_layout(topology, columns, pen.width)
        if in_box:
            place = _two_boxes(pen, in_box)
        axes = topology.lattice
        if axes is not None and max(axes.dims[2:], default=0) > 2 and not topology.switches:
            for z in range(axes.dims[2]):
                x, y = place[z * axes.strides[2]]
                pen.text(x, y + STUB + 12, f"z = {z}", "q")
        for a, b, _ in wires_of(topology):
            cut = (a in inside) != (b in inside) and max(a, b) < topology.ranks
            look = _look(cut, None if width is None else width.get((a, b), 0.0))
            if (a, b) in stubs:
                _stub(pen, (a, b), place, stubs[a, b], look, named=columns > 0)
            else:
                pen.line([place[a], place[b]], *look)
        for node, (x, y) in place.items():
            if node >= topology.ranks:
                pen.switch(x, y, "switch")
            else:
                filled = node in inside
                pen.disk(Box(x, y, 24, 24, round=True), node, "i" if filled else "", 0 if filled else -1)

    size = topology.lattice.dims if topology.lattice and not topology.switches else ()
    stubs = wiring_layout(topology, columns, WIDE)[1]
    far = sum(len(size) < 3 or b - a != prod(size[:2]) for a, b in stubs)
    counts = f"{in_words(topology)}: {topology.ranks} ranks and {len(wires_of(topology))} wires"
    return drawing(draw, title=title, alt=alt or f"{counts}{f', {far} of which go round' if far else ''}.")


def _stub(
    pen: Pen, wire: tuple[int, int], place: Mapping[int, Point], direction: Point, look: tuple[str, str], *, named: bool
) -> None:
    """Both ends of a wire that goes round; where it is twisted, each says where the other end is."""
    dx, dy = direction
    a, b = wire
    for node, sign, other in ((a, 1, b), (b, -1, a)):
        x, y = place[node]
        end = (x + sign * dx, y + sign * dy)
        pen.line([(x, y), end], *look)
        if named and abs(dy) > abs(dx):
            pen.text(end[0], end[1] + sign * dy * 0.35, other, "q small")


def _look(cut: bool, load: float | None) -> tuple[str, str]:
    """A wire's classes and further attributes."""
    if load is None:
        return "l cut" if cut else "l", ""
    kind = "l busiest" if load > 0.999 else "l load"
    return kind, f' stroke-width="{num(1 + 6 * load)}" stroke-opacity="{0.25 + 0.75 * load:.2f}"'


_KINDS = {
    "star": "A star",
    "ring": "A ring",
    "line": "A line",
    "torus": "A torus of {}",
    "mesh": "A mesh of {}",
    "twisted-torus": "A twisted torus of side {}",
    "full-mesh": "A full mesh",
    "leaf-spine": "Leaves and spines",
    "fat-tree": "A fat-tree",
    "switch-tree": "A tree of switches",
}


def in_words(topology: Topology) -> str:
    """What kind of topology it is, at the start of a sentence that tells its ranks.

    >>> from colllib.topology.expression import find
    >>> [in_words(find(name)) for name in ("torus:4x3", "leaf-spine:4x4x2", "boxes:2x4,rails=4,inc=box")]
    ['A torus of 4 × 3', 'Leaves and spines', '2 boxes of 4 on 4 rails, switches in the boxes add']
    """
    kind, _, sizes = topology.name.removeprefix("inc-").partition(":")
    size, *options = sizes.split(",")
    if kind == "boxes":
        chosen = dict(option.split("=") for option in options)
        rails = f" on {chosen['rails']} rails" if "rails" in chosen else ""
        adding = _ADDING[chosen.get("inc", "none")]
        return f"{topology.ranks // topology.in_box} boxes of {topology.in_box}{rails}{adding}"
    if kind in _KINDS:
        return _KINDS[kind].format(size.replace("x", " × "))
    return topology.name[0].upper() + topology.name[1:]


_ADDING = {
    "none": "",
    "box": ", switches in the boxes add",
    "network": ", switches outside the boxes add",
    "both": ", all switches add",
}


def wires_of(topology: Topology) -> list[tuple[int, int, int]]:
    """Every full-duplex link once: its ends and its tier."""
    ends = zip(topology.link_src.tolist(), topology.link_dst.tolist(), topology.tier.tolist(), strict=True)
    return sorted({(min(a, b), max(a, b), tier) for a, b, tier in ends})


def wiring_layout(topology: Topology, columns: int, width: int) -> tuple[dict[int, Point], Stubs]:
    """Where nodes are, and the wires that leave the lattice at one end: pairs with the direction of the stub."""
    axes = topology.lattice if not topology.switches else None
    if axes is not None and (len(axes.dims) > 1 or not axes.wraps):
        return _grid(topology, axes.dims, width)
    if columns:
        return _grid(topology, (columns, topology.ranks // columns), width)
    radius = min(max(60.0, 8.0 * topology.ranks), width / 2 - 20)
    if topology.name in layouts.CUBES:
        return dict(enumerate(layouts.graph(topology, 1.5 * radius, 24))), {}
    place = dict(enumerate(on_circle(topology.ranks, radius)))
    return place | {topology.ranks + k: (0.0, 30.0 * k) for k in range(topology.switches)}, {}


def _two_boxes(pen: Pen, in_box: int) -> dict[int, Point]:
    """Two boxes, framed, each with its ranks round a circle, the second so much higher that no wire passes a rank."""
    place: dict[int, Point] = {}
    for box in range(2):
        x, y = 170.0 * box, -56.0 * box
        pen.group(Box(x, y, 132, 132))
        ring = on_circle(2 * in_box, 56)[1::2]  # of four, the corners of a square
        place |= {in_box * box + k: (x + dx, y + dy) for k, (dx, dy) in enumerate(ring)}
    return place


def _grid(topology: Topology, dims: tuple[int, ...], width: int) -> tuple[dict[int, Point], Stubs]:
    """The first axis to the right, the second upwards, slices along the third in rows."""
    gap = min(PITCH, (width - 2 * STUB - 16) / max(1, dims[0] - 1))
    place = dict(enumerate(layouts.lattice(Lattice(dims), (gap, PITCH), 0.0, width, STUB - 12)))
    flat = dims[:2] if layouts.is_cube(Lattice(dims), (gap, PITCH), width) else dims
    return place, {(a, b): way for a, b, _ in wires_of(topology) if (way := _stub_direction(a, b, dims, len(flat)))}


def _stub_direction(a: int, b: int, dims: tuple[int, ...], axes: int) -> Point | None:
    """In which direction a wire leaves the picture at its first end, if it does so along one of the first axes."""
    start, end = (Lattice(dims).coordinates(node) for node in (a, b))
    for axis, size in reversed(list(enumerate(dims[:axes]))):  # a twisted wire differs along the first axis as well
        far = abs(start[axis] - end[axis]) == size - 1 and size > 2
        if far or (axis == 2 and start[axis] != end[axis]):
            sign = (1.0 if start[axis] > end[axis] else -1.0) * (1 if far else -1)
            dx, dy = ((1.0, 0.0), (0.0, -1.0), (0.75, -0.75))[axis]
            return sign * dx * STUB, sign * dy * STUB
    return None
