"""What a collective of a training step takes on a machine, by where the ranks of its group stand."""

from __future__ import annotations

from functools import cache

import numpy as np

from colllib import parallelism
from colllib.algorithms import every
from colllib.ladder import Rung, entry, topology
from colllib.parallelism import Call
from colllib.primitives import check_counts, is_whole

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
    if boxes > 1 and inside > 1:
        alpha, bandwidth = zip(*_speeds(machine), strict=True)
        found = _across(primitive, f"boxes:{boxes}x{inside}", ranks, message, alpha, bandwidth)
        return min(found, key=lambda rung: rung.seconds)
    return _on_star(primitive, ranks, message, *_speeds(machine)[boxes > 1])


@cache
def send(machine: str, width: int, src: int, dst: int, message: float) -> float:
    """Seconds in which each of a stage's ranks sends a message to its counterpart in another stage.

    If one of them has to leave its box all wait for it.

    Args:
        machine: of boxes with speeds.
        width: ranks of a stage.
        src, dst: the stages, from 0.
        message: bytes of one rank.

    Raises:
        ValueError: for a stage that is not there.

    >>> [round(send("dgx-h100:2", 4, stage, stage + 1, 45e6) * 1e6) for stage in range(3)]
    [101, 903, 101]
    """
    box = in_box(machine)
    check_counts(width=width)
    stages = topology(machine).ranks // width
    if not all(is_whole(stage) and 0 <= stage < stages for stage in (src, dst)):
        raise ValueError(f"from stage {src!r} to {dst!r}: {machine} has {stages} of {width} ranks, from 0")
    leaves = any((src * width + rank) // box != (dst * width + rank) // box for rank in range(width))
    return _on_star("point-to-point", 2, message, *_speeds(machine)[leaves]).seconds


def _speeds(machine: str) -> tuple[tuple[float, float], tuple[float, float]]:
    """Latency and bandwidth of a port in a box, and of a card."""
    speeds = topology(machine).speeds
    assert speeds is not None
    alpha, bandwidth = speeds
    return (alpha[0], bandwidth[0]), (alpha[-1], bandwidth[-1])


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
def _on_star(primitive: str, ranks: int, message: float, alpha: float, bandwidth: float) -> Rung:
    call = Call("", primitive, ranks, message, 1, "")
    return parallelism.price(call, alpha=alpha, bandwidth=bandwidth).rung


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
