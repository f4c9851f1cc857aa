"""Topologies: ranks, switches and directed links with latency and bandwidth, and the routes over them.

Latencies are exact multiples of one unit alpha and bandwidths of one unit BW, so that costs stay
exact; seconds appear only when a Cost is priced.
"""

from __future__ import annotations

from collections.abc import Callable

from colllib.topology.base import Lattice, NoRouteError, Router, Topology, equal_injection, one_port
from colllib.topology.boxes import boxes
from colllib.topology.clos import flow_hash, leaf_spine
from colllib.topology.graph import from_links, full_mesh
from colllib.topology.lattice import line, mesh, ring, torus
from colllib.topology.star import Latency, star, switch_tree
from colllib.topology.twisted import twisted_torus

__all__ = [
    "TOPOLOGIES",
    "Latency",
    "Lattice",
    "NoRouteError",
    "Router",
    "Topology",
    "boxes",
    "equal_injection",
    "find",
    "flow_hash",
    "from_links",
    "full_mesh",
    "leaf_spine",
    "line",
    "mesh",
    "one_port",
    "ring",
    "star",
    "switch_tree",
    "torus",
    "twisted_torus",
]


def _number(build: Callable[[int], Topology]) -> Callable[[str], Topology]:
    return lambda size: build(int(size))


def _inc_star(ranks: int) -> Topology:
    return star(ranks, combines=True, replicates=True, scatters=True)


def _tree(ranks: int, radix: int) -> Topology:
    return switch_tree(ranks, radix)


def _inc_tree(ranks: int, radix: int) -> Topology:
    return switch_tree(ranks, radix, combines=True, replicates=True, scatters=True)


def _pair(build: Callable[[int, int], Topology], form: str) -> Callable[[str], Topology]:
    def of_two(size: str) -> Topology:
        parts = size.split("x")
        if len(parts) != 2:
            raise ValueError(f"size {size!r}: two whole numbers are needed, as in {form}")
        return build(int(parts[0]), int(parts[1]))

    return of_two


def _leaf_spine(size: str) -> Topology:
    parts = size.split("x")
    if len(parts) != 3:
        raise ValueError(f"leaf-spine {size!r}: give leaves, ranks per leaf and spines, as in leaf-spine:8x8x4")
    return leaf_spine(int(parts[0]), int(parts[1]), int(parts[2]))


def _dims(build: Callable[[tuple[int, ...]], Topology]) -> Callable[[str], Topology]:
    return lambda size: build(tuple(int(part) for part in size.split("x")))


# name -> (builder from the text behind the colon, what the command line expects)
TOPOLOGIES: dict[str, tuple[Callable[[str], Topology], str]] = {
    "star": (_number(star), "star:N"),
    "ring": (_number(ring), "ring:N"),
    "line": (_number(line), "line:N"),
    "torus": (_dims(torus), "torus:8x8x8"),
    "mesh": (_dims(mesh), "mesh:4x4"),
    "twisted-torus": (_number(twisted_torus), "twisted-torus:K"),
    "full-mesh": (_number(full_mesh), "full-mesh:N"),
    "switch-tree": (_pair(_tree, "switch-tree:64x16"), "switch-tree:64x16"),
    "boxes": (_pair(boxes, "boxes:8x8"), "boxes:8x8"),
    "leaf-spine": (_leaf_spine, "leaf-spine:8x8x4"),
    "inc-star": (_number(_inc_star), "inc-star:N"),
    "inc-switch-tree": (_pair(_inc_tree, "inc-switch-tree:64x16"), "inc-switch-tree:64x16"),
}


def find(spec: str) -> Topology:
    """The topology that a text such as "star:512" or "torus:8x8x8" names.

    Raises:
        ValueError: for an unknown name or a size that is no whole number of at least 1.

    >>> find("ring:8"), find("torus:4x4x2")
    (Topology(ring:8, 8 ranks, 0 switches, 16 links), Topology(torus:4x4x2, 32 ranks, 0 switches, 160 links))
    """
    name, _, size = spec.partition(":")
    if name not in TOPOLOGIES:
        known = ", ".join(form for _, form in TOPOLOGIES.values())
        raise ValueError(f"unknown topology {spec!r}: known are {known}")
    build, form = TOPOLOGIES[name]
    if not all(part.lstrip("-").isdecimal() for part in size.split("x")) or ("x" in size and "x" not in form):
        raise ValueError(f"topology {spec!r}: the size must be a whole number, as in {form}")
    return build(size)
