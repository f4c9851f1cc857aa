"""What a collective of a training step takes on a machine, by where the ranks of its group stand."""

from __future__ import annotations

from functools import cache

import numpy as np

from colllib.algorithms import every
from colllib.ladder import Rung, entry, on_stars, topology
from colllib.primitives import check_counts

FEW = 256  # ranks, up to which rings and hierarchies in pieces are executed in a moment
PIECES = (1, 4, 16)


@cache
def group(ranks: int, apart: int, box: int) -> tuple[int, int]:
    """Boxes that a group reaches, and its ranks in each, if a machine is filled with groups of ranks `apart` apart.

    Raises:
        ValueError: if one of the groups stands otherwise than another, or unevenly.

    >>> group(8, 1, 8), group(128, 8, 8), group(16, 2, 8)
    ((1, 8), (128, 1), (4, 4))
    """
    span = ranks * apart
    if ranks == 1 or apart >= box:
        return ranks, 1
    if box % span == 0:
        return 1, ranks
    if span % box or box % apart:
        unevenly = f"groups of {ranks} ranks, {apart} apart, stand unevenly in boxes of {box}"
        raise ValueError(f"{unevenly}: each must fill whole boxes, or all divide one")
    return span // box, box // apart


@cache
def price(primitive: str, machine: str, ranks: int, apart: int, message: float) -> Rung:
    """The fastest way of a group of ranks through its machine, all groups of its kind at a time, lock-step clock.

    In one box, or with one rank in each: the fastest on a star of ports or of cards, by closed forms that tests
    hold to executions. With several in each of several boxes: the fastest of rings over all cards, a hierarchy and
    trees in 1, 4 or 16 pieces, executed (beyond 256 ranks without the rings, and the hierarchy in one piece); an
    all-to-all pairwise, box by box, or in two phases. Between boxes there is full bisection.

    Args:
        machine: of boxes with speeds, such as "dgx-h100:16".
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
    box, alpha, bandwidth = tiers(machine)
    boxes, inside = group(ranks, apart, box)
    if boxes == 1 or inside == 1:
        return on_tier(primitive, machine, boxes > 1, ranks, message)
    names = ["hierarchical", "tree", "pairwise-by-boxes", *(["channels"] if ranks <= FEW else [])]
    found = [
        entry(primitive, algorithm.name, f"boxes:{boxes}x{inside}").priced(
            message=message, alpha=alpha, bandwidth=bandwidth, segments=pieces
        )
        for algorithm in every(primitive)
        if algorithm.name in names
        for pieces in (PIECES if algorithm.segmented and (ranks <= FEW or algorithm.name == "tree") else (1,))
    ]
    return min(found, key=lambda rung: rung.seconds)


@cache
def on_tier(primitive: str, machine: str, outside: bool, ranks: int, message: float) -> Rung:
    """The fastest way of ranks that each have a port of their own: one in a box, or a card.

    >>> [round(on_tier("point-to-point", "dgx-h100:2", outside, 2, 45e6).seconds * 1e6) for outside in (False, True)]
    [101, 903]
    """
    _, alpha, bandwidth = tiers(machine)
    found = on_stars(primitive, ranks, message=message, alpha=alpha[outside], bandwidth=bandwidth[outside])
    return min(found, key=lambda rung: rung.seconds)


@cache
def tiers(machine: str) -> tuple[int, tuple[float, float], tuple[float, float]]:
    """Ranks of a box, and latencies and bandwidths of a port in it and of a card.

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
    (near, *_, far), (narrow, *_, wide) = where.speeds
    return where.in_box, (near, far), (narrow, wide)
