"""Machines for which trees are packed: boxes with the bandwidths that their makers state, wired as they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from colllib.topology.base import Topology
from colllib.topology.boxes import boxes
from colllib.topology.graph import from_links
from colllib.topology.latency import HALVES
from colllib.topology.star import star

ALPHA = 0.5e-6  # of every level: packing trees asks for bandwidths only


def _boxes(ranks: int, inside: float, outside: float) -> Callable[[int], Topology]:
    def build(count: int) -> Topology:
        found = boxes((count, ranks)) if count > 1 else star(ranks)
        speeds = (inside * 1e9, *[outside * 1e9] * (found.levels - 1))
        return replace(found, speeds=((ALPHA,) * found.levels, speeds))

    return build


#: Links of 50 GB/s between the dies of one half of an MI250 box, by pairs. Dies 2i and 2i + 1 share a package.
_HALF = (
    *((first, first + 1, 4) for first in (0, 2, 4, 6)),
    *((0, 4, 2), (3, 7, 2)),
    *((1, 5, 1), (2, 6, 1), (4, 6, 1), (5, 6, 1), (5, 7, 1)),
)
#: And between the halves, whose dies are 8 apart.
_ACROSS = tuple((first, second, 1) for first, second in ((0, 8), (1, 9), (1, 10), (2, 9), (2, 10), (3, 11)))


def mi250(count: int, dies: int = 16) -> Topology:
    """Boxes of 16 MI250 dies with seven links of 50 GB/s each, and 16 GB/s for each die to one switch between boxes.

    Args:
        count: number of boxes.
        dies: how many of each box take part, 16 or the 8 of its first half.

    >>> mi250(2).ranks, mi250(2, 8).ranks
    (32, 16)
    """
    wires = [*_HALF, *((a + 8, b + 8, wide) for a, b, wide in _HALF), *_ACROSS]
    links: list[tuple[int, int]] = []
    wide: list[int] = []
    for box in range(count):
        for a, b, links_wide in wires:
            if max(a, b) < dies:
                links += [(box * dies + a, box * dies + b), (box * dies + b, box * dies + a)]
                wide += [links_wide] * 2
    ranks, inside = count * dies, len(links)
    if count > 1:
        links += [pair for rank in range(ranks) for pair in ((rank, ranks), (ranks, rank))]
        wide += [1] * (len(links) - inside)
    alpha = [1] * inside + [HALVES.up, HALVES.down] * ((len(links) - inside) // 2)
    found = from_links(
        f"mi250:{count}" if dies == 16 else f"mi250-{dies}x{count}",
        ranks,
        links,
        switches=int(count > 1),
        alpha=alpha,
        bandwidth=wide,
        level=[0] * inside + [1] * (len(links) - inside),
        port_model="seven links per die in the box, and a share of its network cards",
    )
    return replace(found, speeds=((ALPHA,) * found.levels, (50e9, 16e9)[: found.levels]))


#: By name; the number behind the colon is that of boxes or racks.
MACHINES: dict[str, Callable[[int], Topology]] = {
    "dgx-a100": _boxes(8, 300, 25),
    "dgx-h100": _boxes(8, 450, 50),
    "nvl72": _boxes(72, 900, 50),
    "mi250": mi250,
}
