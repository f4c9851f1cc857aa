"""The topology explorer: a picture, the cut that bisects it, and what links, hops and cuts are worth."""

from collections.abc import Callable
from functools import cache
from typing import Any

from colllib.bounds import cut
from colllib.show.control import Control, Part
from colllib.show.drawings import wiring
from colllib.show.explorer import Explorer
from colllib.show.figure import Chart
from colllib.show.table import Table
from colllib.show.theme import listed
from colllib.topology import Topology, cuts, full_mesh, line, mesh, ring, star, torus, twisted_torus
from colllib.topology.cuts import Bisection, diameter, floor_by_hops, links_per_rank, wires

_GRIDS = ((3, 3), (4, 3), (4, 4), (5, 4), (6, 4), (8, 4), (5, 5))
_CUBES = ((2, 2, 2), (3, 3, 2), (3, 3, 3), (4, 4, 2))
_COUNTS = (3, 4, 5, 6, 7, 8, 12, 16)

#: Kind -> its sizes, and what builds it from one.
KINDS: dict[str, tuple[tuple[object, ...], Callable[..., Topology]]] = {
    "star": (_COUNTS, star),
    "full mesh": (_COUNTS, full_mesh),
    "ring": (_COUNTS, ring),
    "line": ((3, 4, 5, 6, 7, 8, 9, 10), line),
    "2-D torus": (_GRIDS, torus),
    "2-D mesh": (_GRIDS, mesh),
    "3-D torus": (_CUBES, torus),
    "3-D mesh": (_CUBES, mesh),
    "twisted torus": ((2, 3, 4), twisted_torus),
}


def _text(kind: str, size: object) -> str:
    if isinstance(size, tuple):
        return " × ".join(map(str, size))
    return f"{2 * int(str(size))} × {size}" if kind == "twisted torus" else str(size)


@cache
def _measured(kind: str, size: object) -> tuple[Topology, Bisection]:
    topology = KINDS[kind][1](size)
    return topology, cuts.bisection(topology)


def topology_explorer() -> Explorer:
    """Kind and size against neighbors, diameter, wires and bisection, with the cut in the picture.

    All numbers are measured on the links; the bisection is the narrowest of all halves, or cut and bound.

    >>> topology_explorer()
    Explorer: Topologies and their cuts (Topology, Size)
    """
    return Explorer(
        "Topologies and their cuts",
        [
            Control("kind", "Topology", list(KINDS), "2-D torus", "select"),
            Control("size", "Size", lambda kind: {size: _text(kind, size) for size in KINDS[kind][0]}, (5, 4)),
        ],
        [
            Part(_picture, "Ranks, wires and the cut"),
            Part(_table, "What is measured", fold="All that is measured"),
        ],
        summary=_summary,
        note="White and blue ranks are the two halves, heavy wires the cut; that of a star is in its switch. "
        "A wire that leaves the grid comes back at the other end of its row or column; on the twisted torus the number "
        "says at which rank. A floor is an <i>n</i><sub>β</sub> that no all-to-all is below: what crosses the cut, and "
        "all hops shared by all links. "
        "BW per rank: links so slow that the best-connected rank sends BW over all of its links together.",
        note_title="What is drawn here",
    )


def _picture(kind: str, size: Any) -> Chart:
    topology, bisection = _measured(kind, size)
    others = [rank for rank in range(topology.ranks) if rank not in bisection.half]
    alt = (
        f"{kind} {_text(kind, size)}: {topology.ranks} ranks and {wires(topology)} wires. The cut between ranks "
        f"{listed(bisection.half)} and {listed(others)} lets {bisection.bandwidth} BW through each way."
    )
    columns = 2 * size if kind == "twisted torus" else 0
    return wiring(topology, half=bisection.half, columns=columns, alt=alt)


def _table(kind: str, size: object) -> Table:
    topology, bisection = _measured(kind, size)
    links = links_per_rank(topology)
    degrees = " to ".join(map(str, sorted({min(links), max(links)})))
    by_cut, by_hops = cut("all-to-all", topology, bisection.half).n_beta, floor_by_hops(topology)
    proof = "proof that it is exact" if bisection.exact else f"proof of at least {bisection.at_least}"
    rows = [
        ("ranks N", topology.ranks),
        ("links per rank", degrees),
        ("wires, full duplex", wires(topology)),
        ("diameter D, links", diameter(topology)),
        ("bisection, BW one way", str(bisection.bandwidth)),
        (proof, bisection.proof),
        ("all-to-all floor by the cut", str(by_cut)),
        ("all-to-all floor by hops", str(by_hops)),
        ("the larger, at BW per rank", str(max(by_cut, by_hops) * max(links))),
    ]
    return Table(["", "measured"], rows)


def _summary(kind: str, size: object) -> str:
    topology, bisection = _measured(kind, size)
    return (
        f"{kind[0].upper()}{kind[1:]} {_text(kind, size)}: {topology.ranks} ranks, "
        f"{wires(topology)} wires, diameter {diameter(topology)}, bisection {bisection.bandwidth} BW one way."
    )
