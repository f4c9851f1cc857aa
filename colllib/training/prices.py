"""What a collective of a training step takes on a machine, by where the ranks of its group stand."""

from dataclasses import replace
from functools import cache
from math import inf
from typing import Any, NamedTuple

import numpy as np

from colllib import units
from colllib.algorithms import find
from colllib.ladder import MOST_SEGMENTS, Entry, on_stars, topology
from colllib.measured.predict import predict
from colllib.primitives import check_counts
from colllib.segmentation import Pricing, Traffic, in_every_way, lowest, whole_steps
from colllib.topology.cluster import machine_on


class Choice(NamedTuple):
    """An algorithm on a topology, in so many segments, and its seconds on the lock-step clock."""

    entry: Entry
    segments: int
    seconds: float


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
    if span % box == 0 == box % apart:
        return span // box, box // apart
    unevenly = f"groups of {ranks} ranks, {apart} apart, stand unevenly in boxes of {box}"
    raise ValueError(f"{unevenly}: each must fill whole boxes, or all divide one")


@cache
def price(primitive: str, machine: str, ranks: int, apart: int, message: float) -> Choice:
    """The fastest algorithm for a group of ranks on its machine, all groups of its kind at a time, lock-step clock.

    In one box, or with one rank in each: the fastest on a star of ports or of cards, by closed forms that tests
    hold to executions. With several in each of several boxes: what heads a ladder there, recursive doubling or a
    hierarchy in its best order, with the best algorithms on its tiers and in the best number of segments, by what
    these put on the links. Between boxes there is full bisection.

    Args:
        machine: of boxes with speeds, such as "dgx-h100:16", each rank with a port in its box and a card.
        apart: from one rank of the group to the next.
        message: M in bytes.

    Raises:
        ValueError: for a machine without boxes or speeds, or too small.

    >>> fastest = price("all-reduce", "dgx-h100:16", 16, 8, 1e9)  # one rank in each box
    >>> fastest.entry.algorithm.label, round(fastest.seconds * 1e3, 1)
    ('Rabenseifner', 37.5)
    """
    fabric = topology(machine)
    check_counts(ranks=ranks, apart=apart)
    if (ranks - 1) * apart >= fabric.ranks:
        raise ValueError(f"{ranks} ranks, {apart} apart, on {machine}: it has {fabric.ranks}")
    boxes, inside = group(ranks, apart, tiers(machine)[0])
    if boxes == 1 or inside == 1:
        return on_tier(primitive, machine, boxes > 1, ranks, message)
    candidates = [
        (entry, replace(of_a_byte, lasting=message * of_a_byte.lasting))
        for entry, of_a_byte in _over_tiers(primitive, machine, boxes, inside)
    ]
    choices: list[Choice] = []
    fewest = inf
    for entry, traffic in sorted(candidates, key=lambda candidate: candidate[1].least()):
        if traffic.least() > fewest:
            break  # no number of segments makes it as fast
        most = MOST_SEGMENTS if entry.algorithm.segmented else 1
        seconds, segments = lowest(traffic.in_segments(), len(traffic.waits), most, below=fewest)
        choices.append(Choice(entry, segments, seconds))
        fewest = min(fewest, seconds)
    return min(choices, key=lambda choice: choice.seconds)


@cache
def _over_tiers(primitive: str, machine: str, boxes: int, inside: int) -> list[tuple[Entry, Traffic]]:
    """What can head a ladder over boxes, with what one byte does to the links."""
    fabric = topology(f"boxes:{boxes}x{inside}")
    _, alpha, bandwidth = tiers(machine)
    unit: dict[str, Any] = {"message": 1.0, "alpha": alpha, "bandwidth": bandwidth}
    candidates = list(in_every_way(find(primitive, "hierarchical"), fabric, **unit))
    if primitive == "all-reduce":
        flat = find(primitive, "recursive-doubling")
        traffic = Pricing(fabric, **unit).traffic(whole_steps(flat.build(fabric.ranks), fabric))
        candidates.append((flat, traffic))
    return [(Entry(algorithm, fabric), traffic) for algorithm, traffic in candidates]


@cache
def on_tier(primitive: str, machine: str, outside: bool, ranks: int, message: float) -> Choice:
    """The fastest algorithm for ranks that each have a port of their own: one in a box, or a card.

    >>> [round(on_tier("point-to-point", "dgx-h100:2", outside, 2, 45e6).seconds * 1e6) for outside in (False, True)]
    [101, 903]
    """
    _, alpha, bandwidth = tiers(machine)
    rungs = on_stars(primitive, ranks, message=message, alpha=alpha[outside], bandwidth=bandwidth[outside])
    fastest = min(rungs, key=lambda rung: rung.seconds)
    return Choice(fastest.entry, fastest.segments, fastest.seconds)


@cache
def by_nccl(primitive: str, machine: str, boxes: int, inside: int, message: float) -> float:
    """Seconds that NCCL takes for so many ranks in each of some boxes, as `predict` has them.

    Args:
        machine: one that `colllib predict` knows; each rank has its share of the cards.
        message: M in bytes.

    >>> round(by_nccl("all-reduce", "dgx-h100:16", 16, 1, 1e9) * 1e3, 1)
    41.1
    """
    if boxes * inside == 1:
        return 0.0
    alone = replace(machine_on(machine), boxes=boxes, gpus=inside, cards=inside)
    return predict(alone, "sendrecv" if primitive == "point-to-point" else primitive, message).seconds


def takes(primitive: str, machine: str, ranks: int, apart: int, message: float, *, nccl: bool) -> float:
    """Seconds of a collective, as NCCL is predicted to run it (`by_nccl`) or by the fastest schedule known (`price`).

    >>> [round(takes("all-reduce", "dgx-h100:16", 128, 1, 25e6, nccl=nccl) * 1e6) for nccl in (True, False)]
    [399, 194]
    """
    if nccl:
        return by_nccl(primitive, machine, *group(ranks, apart, tiers(machine)[0]), message)
    return price(primitive, machine, ranks, apart, message).seconds


@cache
def tiers(machine: str) -> tuple[int, tuple[float, float], tuple[float, float]]:
    """Ranks of a box, and latencies and bandwidths of a port in it and of a card.

    Where cards have failed, every card has the part of its bandwidth that each rank has of the busiest one: all wait
    for the slowest. The latency of the detours is left out.

    Raises:
        ValueError: for a machine without boxes or speeds, whose ranks share cards, whose boxes have no switch or lack a
            link, or whose network is oversubscribed.

    >>> [tiers(f"dgx-h100:16{fault}")[2][1] / 1e9 for fault in ("", ",without=card 3")]
    [50.0, 25.0]
    """
    fabric = topology(machine)
    if not fabric.in_box or fabric.speeds is None:
        raise ValueError(f"{machine}: a step is priced on boxes with speeds, such as dgx-h100:16")
    leaving = fabric.link_src < fabric.ranks
    links = np.bincount(fabric.tier)
    cards, *further = [links[k] * tier.bandwidth for k, tier in enumerate(fabric.tiers) if tier.level > 0]
    meshed = (fabric.link_dst[leaving] < fabric.ranks).any()
    (near, *_, far), (narrow, *_, wide) = fabric.speeds
    if meshed or cards > 2 * fabric.ranks:
        part = units.rate(wide * (cards / 2 - fabric.ranks) / fabric.ranks).replace(" ", "")
        shared = f"where ranks share cards, give each its part, here card={part} in place of the number of cards"
        why = "in these boxes links lead from rank to rank" if meshed else shared
        raise ValueError(
            f"{machine}: a step is priced where each rank has a port of a switch in its box and a card; {why}"
        )
    if any(uplinks < cards for uplinks in further):
        raise ValueError(f"{machine}: a step is priced on networks that are not oversubscribed; a ladder takes others")
    if links[0] < 2 * fabric.ranks:
        raise ValueError(f"{machine}: a step is priced where each rank has its link in the box; cards may fail")
    if cards < 2 * fabric.ranks:
        ranks = np.arange(fabric.ranks)
        _, crossed = fabric.router(ranks, np.roll(ranks, -fabric.in_box))  # from each box to the next
        wide /= np.bincount(crossed[fabric.tier[crossed] == 1]).max(initial=1)
    return fabric.in_box, (near, far), (narrow, float(wide))
