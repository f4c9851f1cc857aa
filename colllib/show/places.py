"""Where a picture of a few ranks puts them, and what it calls them."""

from __future__ import annotations

from math import cos, hypot, pi, sin

from colllib.schedule import Schedule
from colllib.topology import Lattice, Topology

Point = tuple[float, float]

#: The middle of a picture that is 220 wide and 208 high, and how far from it the ranks stand.
CENTER, RADIUS = (110.0, 104.0), 84.0


def node_name(schedule: Schedule, node: int) -> str:
    """A rank's number; "sw" for the switch that takes part, numbered if there are several.

    >>> from colllib.algorithms import innetwork
    >>> from colllib.topology import find
    >>> [node_name(innetwork.multicast(find("inc-star:3")), node) for node in (2, 3)]
    ['2', 'sw']
    """
    if node < schedule.ranks:
        return str(node)
    return "sw" if schedule.switches == 1 else f"s{node - schedule.ranks}"


def places(topology: Topology, nodes: int) -> list[Point]:
    """A point for each of the first `nodes` nodes: lattices as grids, all else on a circle with its switches inside.

    >>> from colllib.topology import star, torus
    >>> [(round(x), round(y)) for x, y in places(torus((2, 2)), 4)]
    [(72, 142), (148, 142), (72, 66), (148, 66)]
    >>> [(round(x), round(y)) for x, y in places(star(2), 3)]
    [(110, 20), (110, 188), (110, 104)]
    """
    if topology.lattice is not None and 2 <= len(topology.lattice.dims) <= 3:
        return _grid(topology.lattice)
    ranks = topology.ranks
    (cx, cy), n = CENTER, range(topology.ranks)
    found = [(cx + RADIUS * sin(2 * pi * r / ranks), cy - RADIUS * cos(2 * pi * r / ranks)) for r in n]
    ends = list(zip(topology.link_src.tolist(), topology.link_dst.tolist(), strict=True))
    for node in range(ranks, nodes):
        below = [dst for src, dst in ends if src == node and dst < node]
        x, y = (sum(found[end][axis] for end in below) / max(len(below), 1) - CENTER[axis] for axis in (0, 1))
        if node == nodes - 1 or hypot(x, y) < 1:
            found.append(CENTER)
            continue
        out = RADIUS * (0.55 if min(below) < ranks else 0.3) / hypot(x, y)
        found.append((cx + out * x, cy + out * y))
    return found


def _grid(lattice: Lattice) -> list[Point]:
    """The first axis to the right, the second upwards, a third one behind the other two."""
    flat = []
    for rank in range(lattice.ranks):
        x, y, *behind = lattice.coordinates(rank)
        z = behind[0] if behind else 0
        flat.append((x + 0.42 * z, y + 0.36 * z))
    wide, high = (max(point[axis] for point in flat) for axis in (0, 1))
    gap = min(76.0, 176 / max(wide, 1), 160 / max(high, 1))
    (cx, cy) = CENTER
    return [(cx + gap * (x - wide / 2), cy - gap * (y - high / 2)) for x, y in flat]
