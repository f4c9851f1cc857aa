"""What a collective of a training step takes on a machine, by where the ranks of its group stand."""

from contextlib import suppress
from dataclasses import replace
from functools import cache
from math import inf
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from colllib.algorithms import find
from colllib.cost import Terms
from colllib.ladder import MOST_SEGMENTS, Entry, Rung, fastest, on_stars, topology
from colllib.measured.predict import predict
from colllib.primitives import check_counts
from colllib.segmentation import Pricing, Traffic, in_every_way, lowest, whole_steps
from colllib.topology import Topology
from colllib.topology.cluster import machine_on, topology_of


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


def part_of(torus: str, ranks: int, apart: int) -> str:
    """The torus that each group of ranks, so far apart, is for itself if one of them is filled with such groups.

    Raises:
        ValueError: if groups would share links, or are lines of more than two.

    >>> part_of("torus:4x4x4", 16, 1), part_of("torus:4x4x4", 16, 4), part_of("torus:4x4x4", 8, 1)
    ('torus:4x4', 'torus:4x4', 'torus:4x2')
    """
    skipped, left, axes = apart, ranks, list[int]()
    for size in map(int, torus.partition(":")[2].split("x")):
        if skipped > 1 and skipped % size == 0:
            skipped //= size
        elif skipped == 1 and (left % size == 0 or (left == 2 and size % 2 == 0)):  # two of it have one link
            axes.append(min(left, size))
            left //= axes[-1]
        else:
            break
    if left > 1:
        priced = "priced are whole axes, or with two neighbors of one more, since others would share links"
        raise ValueError(f"groups of {ranks} ranks, {apart} apart, in boxes of {torus}: {priced}")
    return f"torus:{'x'.join(map(str, axes))}"


def in_boxes(primitive: str, machine: str, boxes: int, inside: int, message: float, apart: int = 1) -> Rung:
    """The fastest algorithm for so many ranks in each of some boxes, lock-step clock.

    In one box, or with one rank in each: the fastest on a star of ports or of cards, by closed forms that tests
    hold to executions, or on direct links, of a torus on the part of it that they are. With several in each of several
    boxes: what heads a ladder there, recursive doubling, channels, or a hierarchy in its best order, with the best
    algorithms on its tiers and in the best number of segments, by what these put on the links.

    Args:
        machine: of boxes with speeds, such as "dgx-h100:16"; each rank has what `tiers` says.
        message: M in bytes.
        apart: from one of those in a box to the next, which counts in a torus.

    Raises:
        ValueError: for a point-to-point among any other number than two, or as for `part_of`.

    >>> fastest = in_boxes("all-reduce", "dgx-h100:16", 16, 1, 1e9)
    >>> fastest.entry.algorithm.label, round(fastest.seconds * 1e3, 1)
    ('Rabenseifner', 37.5)
    """
    if primitive == "point-to-point" and boxes * inside != 2:
        raise ValueError(f"point-to-point among {boxes * inside} ranks: takes two")
    joined = tiers(machine).inside
    if joined.startswith("torus") and inside > 1:
        joined = part_of(joined, inside, apart)
    return _in_boxes(primitive, machine, boxes, inside, message, joined)


@cache
def _in_boxes(primitive: str, machine: str, boxes: int, inside: int, message: float, joined: str) -> Rung:
    """The same for ranks that are joined in a box as said."""
    _, alpha, bandwidth, _ = tiers(machine)
    if boxes == 1 or inside == 1:
        outside = boxes > 1
        network: Terms = {"message": message, "alpha": alpha[outside], "bandwidth": bandwidth[outside]}
        if joined == "switch" or outside or inside < 3:  # two ranks have one link
            return min(on_stars(primitive, boxes * inside, **network), key=attrgetter("seconds"))
        return fastest(primitive, f"full-mesh:{inside}" if joined == "full-mesh" else joined, **network)
    rungs: list[Rung] = []
    fewest = inf
    for entry, of_a_byte in _over_tiers(primitive, machine, boxes, inside, joined):
        traffic = replace(of_a_byte, lasting=message * of_a_byte.lasting)
        most = MOST_SEGMENTS if entry.algorithm.segmented else 1
        seconds, segments = lowest(traffic.in_segments(), len(traffic.waits), most, below=fewest)
        rungs.append(Rung(entry, segments, seconds, message, "counted"))
        fewest = min(fewest, seconds)
    return min(rungs, key=attrgetter("seconds"))


@cache
def _over_tiers(primitive: str, machine: str, boxes: int, inside: int, joined: str) -> list[tuple[Entry, Traffic]]:
    """What can head a ladder over boxes, with what one byte does to the links."""
    _, alpha, bandwidth, _ = tiers(machine)
    fabric = topology(f"boxes:{boxes}x{inside},inside={joined}")
    unit: Terms = {"message": 1.0, "alpha": alpha, "bandwidth": bandwidth}
    names = ["hierarchical", *(["channels"] if primitive in ("all-gather", "reduce-scatter", "all-reduce") else [])]
    candidates = [way for name in names for way in in_every_way(find(primitive, name), fabric, **unit)]
    if primitive == "all-reduce":
        flat = find(primitive, "recursive-doubling")
        traffic = Pricing(fabric, **unit).traffic(whole_steps(flat.build(fabric.ranks), fabric))
        candidates.append((flat, traffic))
    return [(Entry(algorithm, fabric), traffic) for algorithm, traffic in candidates]


def sent_along(machine: str, apart: int, message: float) -> float:
    """Seconds in which all ranks of a torus in a box send so many places further on, from its end to its start.

    >>> round(sent_along("tpu-v5p:1", 32, 1e6) * 1e6, 1)  # two hops, over links that two messages share
    22.0
    """
    in_box, alpha, bandwidth, joined = tiers(machine)
    rank = np.arange(in_box)
    crossing, link = topology(joined).router(rank, (rank + apart) % in_box)
    hops, sharing = (int(np.bincount(of).max()) for of in (crossing, link))
    return alpha[0] * hops + sharing * message / bandwidth[0]


@cache
def by_nccl(primitive: str, machine: str, boxes: int, inside: int, message: float) -> float:
    """Seconds that NCCL takes for so many ranks in each of some boxes, as `predict` has them.

    Args:
        machine: one that `colllib predict` knows; each rank has a card of what `tiers` leaves it.
        message: M in bytes.

    >>> round(by_nccl("all-reduce", "dgx-h100:16", 16, 1, 1e9) * 1e3, 1)
    41.1
    """
    if boxes * inside == 1:
        return 0.0
    share = tiers(machine).bandwidth[1]
    alone = replace(machine_on(machine), boxes=boxes, gpus=inside, cards=inside, card=share, oversubscription=1.0)
    return predict(alone, "sendrecv" if primitive == "point-to-point" else primitive, message).seconds


def standing(machine: str, ranks: int, apart: int) -> tuple[int, int]:
    """Boxes of a machine that a `group` of ranks reaches, so far apart from one to the next, and its ranks in each.

    Raises:
        ValueError: for a machine without boxes or speeds, or too small, or where groups stand unevenly.
    """
    fabric = topology(machine)
    check_counts(ranks=ranks, apart=apart)
    if (ranks - 1) * apart >= fabric.ranks:
        raise ValueError(f"{ranks} ranks, {apart} apart, on {machine}: it has {fabric.ranks}")
    return group(ranks, apart, tiers(machine).in_box)


def price(primitive: str, machine: str, ranks: int, apart: int, message: float) -> Rung:
    """The fastest algorithm for a group of ranks on its machine, all groups of its kind at a time: `in_boxes`.

    Args:
        machine: of boxes with speeds, such as "dgx-h100:16".
        apart: from one rank of the group to the next.
        message: M in bytes.

    Raises:
        ValueError: as for `standing`.

    >>> price("all-gather", "dgx-h100:16", 16, 8, 1e9).entry.topology.name  # one rank in each box
    'star:16'
    """
    return in_boxes(primitive, machine, *standing(machine, ranks, apart), message, apart)


def takes(primitive: str, machine: str, ranks: int, apart: int, message: float, *, nccl: bool) -> float:
    """Seconds of a group's collective, as NCCL is predicted to run it (`by_nccl`) or by the fastest known (`price`).

    >>> [round(takes("all-reduce", "dgx-h100:16", 128, 1, 25e6, nccl=nccl) * 1e6) for nccl in (True, False)]
    [392, 194]
    """
    if nccl:
        return by_nccl(primitive, machine, *standing(machine, ranks, apart), message)
    return price(primitive, machine, ranks, apart, message).seconds


@cache
def boxed(machine: str) -> Topology:
    """The topology of a machine, as boxes with a switch where its GPUs are joined by links that differ.

    >>> boxed("dgx-v100:1").name, boxed("star:8").name
    ('boxes:1x8,cards=4', 'star:8')
    """
    fabric = topology(machine)
    with suppress(ValueError):
        return fabric if fabric.in_box else topology_of(machine_on(machine), apart=False)
    return fabric


class Tiers(NamedTuple):
    """Of a machine: ranks in a box, and latency and bandwidth of what a rank has, in its box and on its way out."""

    in_box: int
    alpha: tuple[float, float]
    bandwidth: tuple[float, float]  # of a port in the box, or of one of the links to its other ranks; of the way out
    inside: str  # "switch", "full-mesh", or a torus


@cache
def tiers(machine: str) -> Tiers:
    """What each rank has where all of a box send at once, as in a step: its part of what its box's way out carries.

    So with shared or failed cards, where all wait for the busiest one, and with an oversubscribed network. The latency
    of detours is left out. A file is read once: one that has changed takes another name.

    Raises:
        ValueError: for a machine without boxes or speeds, or whose boxes lack a link.

    >>> [tiers(f"dgx-h100:16{but}").bandwidth[1] / 1e9 for but in ("", ",without=card 3", ",oversubscription=4")]
    [50.0, 25.0, 12.5]
    """
    fabric = boxed(machine)
    if not fabric.in_box or fabric.speeds is None:
        raise ValueError(f"{machine}: a step is priced on boxes with speeds, such as dgx-h100:16")
    ranks = np.arange(fabric.ranks)
    links = (fabric.in_box - 1 if fabric.meshed else 2) * fabric.ranks
    if fabric.inside:
        links = fabric.inside.num_links * (fabric.ranks // fabric.in_box)
    if np.count_nonzero(fabric.tier == 0) < links:
        raise ValueError(f"{machine}: lacks a link in a box, where a step is not priced; cards may fail")
    (near, *_, far), (narrow, *_, wide) = fabric.speeds
    if fabric.ranks > fabric.in_box:
        _, crossed = fabric.router(ranks, np.roll(ranks, -fabric.in_box))  # from each box to the next
        width = np.array([float(tier.bandwidth) for tier in fabric.tiers])[fabric.tier]
        sharing = np.bincount(crossed, minlength=width.size) / width
        wide /= sharing[fabric.tier > 0].max(initial=1)
    joined = fabric.inside.name if fabric.inside else "full-mesh" if fabric.meshed else "switch"
    return Tiers(fabric.in_box, (near, far), (narrow, float(wide)), joined)
