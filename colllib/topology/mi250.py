"""MI250 boxes, wired as they are: links of several widths between dies, and one switch between boxes."""

from __future__ import annotations

from dataclasses import replace

from colllib.limits import MOST_LINKS, check_size
from colllib.topology.base import Topology
from colllib.topology.graph import from_links
from colllib.topology.latency import HALVES
from colllib.topology.presets import PRESETS

LINK, CARD = 50e9, 16e9  # of one link between dies, and a die's share of its box's eight cards

#: Between the dies of one half of a box, by pairs, so many links. Dies 2i and 2i + 1 share a package.
_HALF = (
    *((first, first + 1, 4) for first in (0, 2, 4, 6)),
    *((0, 4, 2), (3, 7, 2)),
    *((1, 5, 1), (2, 6, 1), (4, 6, 1), (5, 6, 1), (5, 7, 1)),
)
#: And between the halves, whose dies are 8 apart.
_ACROSS = tuple((first, second, 1) for first, second in ((0, 8), (1, 9), (1, 10), (2, 9), (2, 10), (3, 11)))


def mi250(count: int, dies: int = 16) -> Topology:
    """Boxes of 16 MI250 dies with up to seven links of 50 GB/s, and 16 GB/s for each die to one switch between boxes.

    Args:
        dies: how many of each box take part, 16 or the 8 of its first half.

    Raises:
        ValueError: for a number below 1, or other dies.

    Source: the wiring that goes with Zhao et al. (2026), github.com/liangyuRain/ForestColl.

    >>> mi250(2), mi250(2, dies=8).ranks
    (Topology(mi250:2, 32 ranks, 1 switches, 176 links), 16)
    """
    if count < 1:
        raise ValueError(f"mi250:{count}: must be at least 1")
    if dies not in (8, 16):
        raise ValueError(f"dies = {dies}: all 16 of a box take part, or 8")
    other_half = ((a + 8, b + 8, width) for a, b, width in _HALF)
    wires = [(a, b, width) for a, b, width in (*_HALF, *other_half, *_ACROSS) if b < dies]
    check_size(f"mi250:{count}", 2 * count * (len(wires) + dies), MOST_LINKS, "links")
    ranks = count * dies
    inside = [
        (pair, width)
        for first in range(0, ranks, dies)
        for a, b, width in wires
        for pair in ((first + a, first + b), (first + b, first + a))
    ]
    up_and_down = [pair for rank in range(ranks) for pair in ((rank, ranks), (ranks, rank))] if count > 1 else []
    topology = from_links(
        f"mi250:{count}" + (f",dies={dies}" if dies < 16 else ""),
        ranks,
        [pair for pair, _ in inside] + up_and_down,
        switches=int(count > 1),
        alpha=[1] * len(inside) + [HALVES.up, HALVES.down] * (len(up_and_down) // 2),
        bandwidth=[width for _, width in inside] + [1] * len(up_and_down),
        level=[0] * len(inside) + [1] * len(up_and_down),
        port_model="up to seven links per die in the box, and a share of its network cards",
    )
    alphas, _ = PRESETS["mi250x"].speeds(topology.levels)
    return replace(topology, speeds=(alphas, (LINK, CARD)[: topology.levels]))
