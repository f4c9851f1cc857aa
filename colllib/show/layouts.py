"""Where things stand in a picture: circles, rows, trees, lattices, boxes and switches, for boxes of any size."""

from collections.abc import Sequence
from dataclasses import replace
from math import cos, pi, prod, sin

import numpy as np

from colllib.algorithms.innetwork import SwitchTree
from colllib.exact import IntArray
from colllib.show.geometry import Box, Point, ends, on_circle
from colllib.topology import Lattice, Topology

Size = tuple[float, float]


def circle(count: int, size: Size, width: float) -> list[Point]:
    """Boxes round an ellipse, the first on top, the farther apart the fewer they are.

    Raises:
        ValueError: for an odd number of boxes of which the two lowest do not stand beside one another in the width.

    >>> [(round(x), round(y)) for x, y in circle(4, (20, 20), 320)]
    [(0, -60), (60, 0), (0, 60), (-60, 0)]
    """
    gap = max(40.0, min(76.0, width / 5) - 6 * count)
    if count == 1:
        return [(0.0, 0.0)]
    across, up, most = 0.0, 0.0, (width - size[0]) / 2
    while True:
        places = [(across * x, up * y) for x, y in on_circle(count, 1.0)]
        gaps = [
            max(abs(a[0] - b[0]) - size[0], abs(a[1] - b[1]) - size[1])
            for a, b in zip(places, places[1:] + places[:1], strict=True)
        ]
        if min(gaps) >= gap:
            return places
        if count % 2 and across == most and gaps[count // 2] < gap:  # of the two lowest, which height does not help
            raise ValueError(f"{count} ranks do not fit round a circle {width:.0f} px wide: draw fewer ranks")
        across, up = min(across + 4, most), up + 4


def snake(order: Sequence[int], size: Size, width: float, gap: float = 44.0) -> list[Point]:
    """Boxes 0, 1, ... in rows, every second one backwards, so that each is beside the one before it in the order.

    >>> snake([0, 1, 3, 2], (80, 20), 220)
    [(0.0, 0.0), (124.0, 0.0), (0.0, 64.0), (124.0, 64.0)]
    """
    columns = max(1, int((width + gap) // (size[0] + gap)))
    rows = -(-len(order) // columns)
    columns = -(-len(order) // rows)
    places: list[Point] = [(0.0, 0.0)] * len(order)
    for k, box in enumerate(order):
        row, column = divmod(k, columns)
        if row % 2:
            column = columns - 1 - column
        places[box] = (column * (size[0] + gap), row * (size[1] + gap))
    return places


def tree(parent: Sequence[int] | IntArray, size: Size, gap: float = 16.0, level: float = 42.0) -> list[Point]:
    """A tree from its array of parents, the root on top, every parent above the middle of its children.

    >>> tree([-1, 0, 0], (20, 20))
    [(18.0, 0.0), (0.0, 62.0), (36.0, 62.0)]
    """
    parents = [int(above) for above in parent]
    places: list[Point] = [(0.0, 0.0)] * len(parents)
    leaves = 0

    def place(node: int, depth: int) -> float:
        nonlocal leaves
        below = [child for child, above in enumerate(parents) if above == node]
        if below:
            xs = [place(child, depth + 1) for child in below]
            x = (xs[0] + xs[-1]) / 2
        else:
            x = leaves * (size[0] + gap)
            leaves += 1
        places[node] = (x, depth * (size[1] + level))
        return x

    place(parents.index(-1), 0)
    return places


CLEAR = 18.0  # between the cards of a cube


def lattice(axes: Lattice, size: Size, gap: float, width: float, margin: float = 0.0) -> list[Point]:
    """The first axis to the right, the second upwards; along a third one slices side by side, or below one another, and
    a cube as one draws a cube.

    >>> [(int(x), int(y)) for x, y in lattice(Lattice((2, 2)), (20, 20), 10, 300)]
    [(0, 0), (30, 0), (0, -30), (30, -30)]
    """
    if is_cube(axes, size, width):
        right = min(size[0] + 46, (width - size[0]) / 3)
        up = size[1] / 2 + 30
        at = [axes.coordinates(rank) for rank in range(axes.ranks)]
        return [((2 * x + z) * right, -(2 * y + z) * up) for x, y, z in at]
    x_size, y_size, *rest = (*axes.dims, 1)[: max(2, len(axes.dims))]
    wide, high = x_size * (size[0] + gap) + 2 * margin, y_size * (size[1] + gap) + 2 * margin
    slices = prod(rest)
    columns = max(1, min(slices, int((width + gap) // wide)))
    columns = -(-slices // -(-slices // columns))  # rows of equal length
    places = []
    for rank in range(axes.ranks):
        z, within = divmod(rank, x_size * y_size)
        y, x = divmod(within, x_size)
        row, column = divmod(z, columns)
        places.append((column * wide + x * (size[0] + gap), row * high - y * (size[1] + gap)))
    return places


def is_cube(axes: Lattice, size: Size, width: float) -> bool:
    """Whether there is room for two slices one behind the other, the cards of the second between those of the first.

    >>> is_cube(Lattice((2, 2, 2)), (60, 20), 360), is_cube(Lattice((2, 2, 3)), (60, 20), 360)
    (True, False)
    """
    return axes.dims == (2, 2, 2) and size[0] <= widest_of_cube(width)


def widest_of_cube(width: float) -> float:
    """The widest card of which there is room for two slices one behind the other, four columns in all."""
    return (width - 3 * CLEAR) / 4


#: Where the axes of a cube lead: three of them as on paper, four like the sides of an octagon.
_PAPER = ((1.0, 0.0), (0.0, -1.0), (0.5, -0.3))
_OCTAGON = tuple((cos(pi * (2 * k - 1) / 8), -sin(pi * (2 * k - 1) / 8)) for k in range(4))
CUBES = {"hypercube:3": _PAPER, "hypercube:4": _OCTAGON, "twisted-hypercube:4": _OCTAGON}


def graph(topology: Topology, radius: float, disk: float) -> list[Point]:
    """Tori of two axes as grids, cubes as such, bipartite graphs in columns, others round a circle.

    >>> from colllib.topology.expression import find
    >>> [(round(x), round(y)) for x, y in graph(find("complete-bipartite:1x2"), 100, 20)]
    [(-75, 0), (75, -90), (75, 90)]
    """
    kind, _, sizes = topology.name.partition(":")
    dims = topology.lattice.dims if topology.lattice else ()
    if topology.name in ("hamming:2x3", "power(full-mesh:3,2)"):  # which have the links of torus:3x3
        dims = (3, 3)
    if len(dims) == 2:
        return _bent_grid(dims, radius, disk)
    if topology.name in CUBES:
        axes = np.array(CUBES[topology.name])
        places = ((np.arange(topology.ranks)[:, None] >> np.arange(len(axes)) & 1) - 0.5) @ axes
        return [(float(x), float(y)) for x, y in places * (radius / np.hypot(*places.T).max())]
    if kind == "complete-bipartite":
        sides = list(map(int, sizes.split("x")))
        pitch = 1.8 * radius / max(1, max(sides) - 1)
        return [
            ((side - 0.5) * 1.5 * radius, (k - (of - 1) / 2) * pitch)
            for side, of in enumerate(sides)
            for k in range(of)
        ]
    return on_circle(topology.ranks, radius)


def _bent_grid(dims: Sequence[int], radius: float, disk: float) -> list[Point]:
    """Rows and columns bent so far that the link between a row's ends passes beside the disks in between."""
    at = [np.arange(size) - (size - 1) / 2 for size in dims]
    sag = [(disk / 2 + 4) / max(1, size - 2) * (ends[0] ** 2 - ends**2) for size, ends in zip(dims, at, strict=True)]
    sag = [bend - bend.max() / 2 for bend in sag]
    pitch = min((1.8 * radius - np.ptp(bend)) / max(1, size - 1) for size, bend in zip(dims, sag[::-1], strict=True))
    return [
        (float(pitch * at[0][x] - sag[1][y]), float(-pitch * at[1][y] - sag[0][x]))
        for y in range(dims[1])
        for x in range(dims[0])
    ]


def direction(axes: Lattice, a: int, b: int) -> tuple[int, int]:
    """The axis along which two neighbors differ, and 1 or -1 for up or down, round a ring as well.

    >>> ring = Lattice((4, 2))
    >>> direction(ring, 0, 1), direction(ring, 0, 3), direction(ring, 0, 4)
    ((0, 1), (0, -1), (1, 1))
    """
    start, end = axes.coordinates(a), axes.coordinates(b)
    axis = next(k for k, (p, q) in enumerate(zip(start, end, strict=True)) if p != q)
    size = axes.dims[axis]
    up = (end[axis] - start[axis]) % size == 1 and (size > 2 or start[axis] == 0)
    return axis, 1 if up else -1


def boxes(dims: Sequence[int], size: Size, width: float) -> tuple[list[Point], list[tuple[Box, int]]]:
    """Ranks in columns inside boxes, boxes beside one another or in rows, boxes of boxes alike; dims innermost first.

    Returns:
        the ranks' places, and the frames with their tier, the outermost first.

    >>> places, frames = boxes((2, 2), (80, 40), 640)
    >>> len(places), [tier for _, tier in frames]
    (4, [0, 0])
    """
    places: list[Point] = [(0.0, k * (size[1] + 40)) for k in range(dims[0])]
    frames = [(_around([Box(x, y, *size) for x, y in places], 12.0), 0)]
    for tier, count in enumerate(dims[1:], 1):
        outside = len(dims) - 1 - tier  # tiers
        unit, room = frames[0][0], width - 24.0 * outside
        columns = max(1, min(count, int((room + 34.0) // (unit.width + 34.0))))
        columns = -(-count // -(-count // columns))
        apart = min(80.0, (room - columns * unit.width) / max(1, columns - 1)) if columns > 1 else 34.0
        shifts = [((k % columns) * (unit.width + apart), (k // columns) * (unit.height + apart)) for k in range(count)]
        places = [(x + dx, y + dy) for dx, dy in shifts for x, y in places]
        frames = [(replace(box, x=box.x + dx, y=box.y + dy), level) for dx, dy in shifts for box, level in frames]
        if outside:
            frames.insert(0, (_around([box for box, _ in frames], 12.0), tier))
    return places, frames


APART = 64.0  # a row of ranks and its switches


def boxes_in_a_row(
    dims: Sequence[int], size: Size, width: float, switches: bool
) -> tuple[list[Point], list[tuple[Box, int]]]:
    """Ranks in a row, a frame round those of each box, with room for its switch below them if it takes part.

    >>> places, frames = boxes_in_a_row((2, 2), (40, 20), 300, True)
    >>> [x for x, _ in places], len(frames)
    ([0.0, 67.0, 150.0, 217.0], 2)
    """
    count = prod(dims)
    pitch = max(size[0] + 2, min(size[0] + 50, (width - 16 * (count // dims[0])) / count))
    places = [(pitch * rank + 16 * (rank // dims[0]), 0.0) for rank in range(count)]
    frames = []
    for first in range(0, count, dims[0]):
        inside = [Box(x, y, *size) for x, y in places[first : first + dims[0]]]
        below = [replace(inside[0], y=size[1] + APART)] * switches
        frames.append((_around([*inside, *below], 6.0), 0))
    return places, frames


def _around(parts: Sequence[Box], margin: float) -> Box:
    left, right, top, bottom = ends(parts)
    top -= 14  # a line for the name
    return Box((left + right) / 2, (top + bottom) / 2, right - left + 2 * margin, bottom - top + 2 * margin)


def switches(topology: Topology, size: Size, width: float) -> list[Point]:
    """Ranks in a row, every switch above the middle of what hangs below it.

    >>> from colllib.topology import star
    >>> switches(star(2), (20, 20), 100)
    [(0.0, 0.0), (50.0, 0.0), (25.0, -84.0)]
    """
    hierarchy = SwitchTree(topology)
    pitch = max(size[0] + 4, min(size[0] + 70, width / hierarchy.ranks))
    places: list[Point] = [(pitch * rank, 0.0) for rank in range(hierarchy.ranks)]
    for node in range(hierarchy.ranks, hierarchy.nodes):
        below = np.flatnonzero(hierarchy.below[node])
        places.append((pitch * float(below.min() + below.max()) / 2, -int(hierarchy.level[node]) * (size[1] + APART)))
    return places
