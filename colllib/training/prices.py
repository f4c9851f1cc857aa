"""What a collective of a training step takes on a machine, by where the ranks of its group stand."""

from __future__ import annotations

from functools import cache

import numpy as np

from colllib.algorithms import every, of
from colllib.ladder import Rung, entry, on_star, topology
from colllib.primitives import check_counts

FEW = 256  # ranks, up to which rings and hierarchies in pieces are executed in a moment
PIECES = (1, 4, 16)


@cache
def group(ranks: int, apart: int, box: int) -> tuple[int, int]:
    """Boxes that a group reaches, and its ranks in each: every `apart`-th rank of the machine is in it.

    Raises:
        ValueError: if it stands unevenly.

    >>> group(8, 1, 8), group(128, 8, 8), group(16, 2, 8)
    ((1, 8), (128, 1), (4, 4))
    """
    first = [rank * apart // box for rank in range(ranks)]
    boxes = first[-1] + 1 if apart < box else ranks
    inside, rest = divmod(ranks, boxes)
    if rest or (apart < box and any(first.count(b) != inside for b in {0, boxes - 1})):
        raise ValueError(f"{ranks} ranks, every {apart}-th, stand unevenly in boxes of {box}")
    return boxes, inside


@cache
def price(primitive: str, machine: str, ranks: int, apart: int, message: float) -> Rung:
    """The fastest way of a group of ranks through its machine, all groups of its kind at a time, lock-step clock.

    In one box, or with one rank in each: the fastest on a star of ports or of cards, by closed forms that tests
    hold to executions. With several in each of several boxes: the fastest of rings over all cards, a hierarchy and
    trees in 1, 4 or 16 pieces, executed (beyond 256 ranks without the rings, and the hierarchy in one piece); an
    all-to-all pairwise or in two phases. Between boxes there is full bisection.

    Args:
        primitive: which.
        machine: of boxes with speeds, such as "dgx-h100:16".
        ranks: of the group.
        apart: from one rank of the group to the next.
        message: M in bytes.

    Raises:
        ValueError: for a machine without boxes or speeds, or too small.

    >>> found = price("all-reduce", "dgx-h100:16", 16, 8, 1e9)  # one rank in each box
    >>> found.label, round(found.seconds * 1e3, 1)
    ('Rabenseifner', 37.5)
    """
    where = topology(machine)
    check_counts(ranks=ranks, apart=apart)
    if (ranks - 1) * apart >= where.ranks:
        raise ValueError(f"{ranks} ranks, {apart} apart, on {machine}: it has {where.ranks}")
    boxes, inside = group(ranks, apart, in_box(machine))
    assert where.speeds is not None
    (alpha, outer), (bandwidth, card) = ((values[0], values[-1]) for values in where.speeds)
    if boxes > 1 and inside > 1:
        return min(
            _across(primitive, f"boxes:{boxes}x{inside}", ranks, message, (alpha, outer), (bandwidth, card)),
            key=lambda rung: rung.seconds,
        )
    at = (alpha, bandwidth) if boxes == 1 else (outer, card)
    return _fastest(primitive, ranks, message, *at)


def _across(
    primitive: str, on: str, ranks: int, message: float, alpha: tuple[float, ...], bandwidth: tuple[float, ...]
) -> list[Rung]:
    found = []
    for algorithm in every(primitive):
        name = algorithm.name
        if name in ("hierarchical", "tree", "pairwise") or (name == "channels" and ranks <= FEW):
            several = algorithm.segmented and (ranks <= FEW or name == "tree")
            for pieces in PIECES if several else (1,):
                here = entry(primitive, name, on)
                found.append(here.priced(message=message, alpha=alpha, bandwidth=bandwidth, segments=pieces))
    return found


@cache
def _fastest(primitive: str, ranks: int, message: float, alpha: float, bandwidth: float) -> Rung:
    rungs = [
        on_star(primitive, algorithm.name, ranks).priced(message=message, alpha=alpha, bandwidth=bandwidth)
        for algorithm in of(primitive)
        if algorithm.fits(ranks)
    ]
    return min(rungs, key=lambda rung: rung.seconds)


@cache
def in_box(machine: str) -> int:
    """Ranks of a box.

    Raises:
        ValueError: for a machine without boxes or speeds, whose ranks share cards, or whose boxes have no switch.
    """
    where = topology(machine)
    if not where.in_box or where.speeds is None:
        raise ValueError(f"{machine}: a step is priced on boxes with speeds, such as dgx-h100:16")
    leaving = where.link_src < where.ranks
    level = np.array([tier.level for tier in where.tiers])[where.tier]
    cards = int(np.count_nonzero(leaving & (level > 0)))
    if (where.link_dst[leaving] < where.ranks).any() or cards not in (0, where.ranks):
        raise ValueError(f"{machine}: a step is priced where each rank has a port of a switch in its box and a card")
    return where.in_box
