"""Read a picture back: where its disks and lines are, for tests of what is drawn."""

from __future__ import annotations

import re

NUMBER = r"(-?[\d.]+)"
WIRE = re.compile(rf'<path class="l([^"]*)"([^>]*) d="M{NUMBER} {NUMBER}L{NUMBER} {NUMBER}"/>')
DISK = re.compile(rf'<g class="n ([^"]*)"><circle cx="{NUMBER}" cy="{NUMBER}" r="[\d.]+"/><text [^>]*>(\d+)<')


def pictures(markup: str) -> list[str]:
    """Its pictures, the wide one before the narrow one."""
    return re.findall(r'<svg class="cl-pen cl-(?:wide|narrow).*?</svg>', markup, re.DOTALL)


def disks(svg: str) -> dict[int, tuple[float, float]]:
    """Rank -> middle of its disk."""
    return {int(name): (float(x), float(y)) for _, x, y, name in DISK.findall(svg)}


def wires(svg: str) -> list[tuple[str, str, tuple[float, float], tuple[float, float]]]:
    """Class and other attributes of each straight line, with its ends."""
    return [(kind, more, (float(x), float(y)), (float(u), float(v))) for kind, more, x, y, u, v in WIRE.findall(svg)]


def count_wires(svg: str, kind: str = "") -> float:
    """How many wires of a class there are: a line between two disks is one, a stub at one disk is half."""
    places = set(disks(svg).values())
    return sum(0.5 * ((a in places) + (b in places)) for classes, _, a, b in wires(svg) if kind in classes)
