"""Small pictures of topologies: ranks, switches, wires, a cut through them, or what the wires carried."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from colllib.show.figure import Chart
from colllib.show.theme import color, escape
from colllib.topology import Lattice, Topology

Point = tuple[float, float]
PITCH = 46.0  # between neighbors on a lattice
STUB = 17.0  # how far a wire that wraps round sticks out at both ends
MARGIN = 26.0


@dataclass(frozen=True)
class Layout:
    """Where nodes are drawn, and the wires that leave the lattice at one end and come back at the other.

    Attributes:
        place: a point per node, y downwards.
        stubs: pairs of nodes whose wire is drawn as two stubs -> the direction of the stub at the first node.
    """

    place: Mapping[int, Point]
    stubs: Mapping[tuple[int, int], Point]


def _circle(count: int) -> dict[int, Point]:
    radius = max(60.0, 8.0 * count)
    turn = [2 * math.pi * k / count - math.pi / 2 for k in range(count)]
    return {k: (radius * math.cos(angle), radius * math.sin(angle)) for k, angle in enumerate(turn)}


def layout(topology: Topology, columns: int = 0) -> Layout:
    """A lattice of two or three axes as a grid, a line as a row, all else as a circle around its switches.

    Args:
        topology: what to draw.
        columns: the width of the grid for a topology that is drawn as one without having axes.
    """
    axes = topology.lattice
    if axes is not None and (len(axes.dims) > 1 or not axes.wraps):
        dims = axes.dims
    elif columns:
        dims = (columns, topology.ranks // columns)
    else:
        return Layout(
            _circle(topology.ranks) | {topology.ranks + k: (22.0 * k, 0.0) for k in range(topology.switches)}, {}
        )
    # third axis: a grid of its own to the right of the first
    step = ((PITCH, 0.0), (0.0, -PITCH), ((dims[0] - 1) * PITCH + 1.75 * PITCH, -0.7 * PITCH))
    place: dict[int, Point] = {}
    stubs: dict[tuple[int, int], Point] = {}
    for rank in range(topology.ranks):
        at = Lattice(dims).coordinates(rank)
        x, y = (sum(along * away[k] for along, away in zip(at, step, strict=False)) for k in (0, 1))
        place[rank] = (x, y)
    for a, b in _wires(topology):
        for axis, size in enumerate(dims):
            stride = math.prod(dims[:axis])
            ends = [node // stride % size for node in (a, b)]
            if abs(ends[0] - ends[1]) == size - 1 and size > 2:
                way = 1.0 if ends[0] > ends[1] else -1.0
                length = math.hypot(*step[axis])
                stubs[a, b] = (way * step[axis][0] / length * STUB, way * step[axis][1] / length * STUB)
    return Layout(place, stubs)


def _wires(topology: Topology) -> list[tuple[int, int]]:
    pairs = {
        (min(a, b), max(a, b)) for a, b in zip(topology.link_src.tolist(), topology.link_dst.tolist(), strict=True)
    }
    return sorted(pairs)


def wiring(
    topology: Topology,
    *,
    half: Collection[int] = (),
    width: Mapping[tuple[int, int], float] | None = None,
    columns: int = 0,
    title: str = "",
    alt: str,
) -> Chart:
    """Draw a topology.

    Args:
        topology: what to draw.
        half: ranks drawn as filled squares; the wires between them and the others are the cut.
        width: how much of the largest load each wire has, between 0 and 1; thick and dark is much.
        columns: as for `layout`.
        title: the figure's conclusion.
        alt: what it shows, in words.
    """
    shown = layout(topology, columns)
    inside = set(half)
    lines, nodes = [], []
    for a, b in _wires(topology):
        cut = (a in inside) != (b in inside)  # switches stand with the other half
        look = _look(cut, None if width is None else width.get((a, b), 0.0))
        if (a, b) in shown.stubs:
            dx, dy = shown.stubs[a, b]
            for node, sign, other in ((a, 1, b), (b, -1, a)):
                x, y = shown.place[node]
                lines.append(f'<path d="M{x:.1f} {y:.1f}l{sign * dx:.1f} {sign * dy:.1f}"{look}/>')
                if columns and abs(dy) > abs(dx):  # a twist: say where the wire comes back
                    lines.append(
                        f'<text x="{x + sign * dx:.1f}" y="{y + sign * dy * 1.25 + (4 if sign * dy < 0 else 8):.1f}" '
                        f'text-anchor="middle" font-size="10" fill="var(--cl-muted,#57606a)">{other}</text>'
                    )
        else:
            (x, y), (u, v) = shown.place[a], shown.place[b]
            lines.append(f'<path d="M{x:.1f} {y:.1f}L{u:.1f} {v:.1f}"{look}/>')
    for node, (x, y) in shown.place.items():
        nodes.append(_node(node, x, y, node in inside, node >= topology.ranks))
    margin = MARGIN + (10 if columns else 0)
    xs = [x for x, _ in shown.place.values()]
    ys = [y for _, y in shown.place.values()]
    box = (min(xs) - margin, min(ys) - margin, max(xs) - min(xs) + 2 * margin, max(ys) - min(ys) + 2 * margin)
    svg = (
        f'<svg viewBox="{box[0]:.0f} {box[1]:.0f} {box[2]:.0f} {box[3]:.0f}" font-size="11" aria-hidden="true" '
        f'style="max-width:{min(496.0, 1.35 * box[2]):.0f}px;max-height:420px">'
        f'<g fill="none" stroke-linecap="round">{"".join(lines)}</g>{"".join(nodes)}</svg>'
    )
    return Chart(svg, alt, title)


def _look(cut: bool, load: float | None) -> str:
    if load is not None:
        weight = 1.0 + 6.0 * load
        tone = color(1) if load > 0.999 else "currentColor"
        return f' style="stroke:{tone}" stroke-width="{weight:.2f}" stroke-opacity="{0.25 + 0.75 * load:.2f}"'
    if cut:
        return f' style="stroke:{color(1)}" stroke-width="3.5"'
    return ' stroke="var(--cl-edge,#77808a)" stroke-width="1.3"'


def _node(node: int, x: float, y: float, filled: bool, switch: bool) -> str:
    edge = 'stroke="currentColor" stroke-width="1.4"'
    if switch:
        body = f'<rect x="{x - 15:.1f}" y="{y - 9:.1f}" width="30" height="18" fill="var(--cl-soft,#f3f5f7)" {edge}/>'
        return body + f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle">S</text>'
    if filled:
        shape = f'<rect x="{x - 10:.1f}" y="{y - 10:.1f}" width="20" height="20" style="fill:{color(0)}" {edge}/>'
        text = ' fill="var(--cl-bg,#fff)"'
    else:
        shape = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="11" fill="var(--cl-bg,#fff)" {edge}/>'
        text = ""
    return shape + f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle"{text}>{escape(node)}</text>'
