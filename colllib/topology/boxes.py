"""Boxes of ranks with a fast switch inside and network cards outside, in one or several tiers of boxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil, prod

import numpy as np
from numpy.typing import NDArray

from colllib.cost import Tier
from colllib.exact import Fractions, IntArray
from colllib.primitives import is_whole
from colllib.topology.base import Lattice, NoRouteError, Router, Topology, check_network
from colllib.topology.latency import HALVES
from colllib.topology.routes import flow_hash
from colllib.topology.tree import Tree

Narrowing = Fraction | int | Sequence[Fraction | int]


def boxes(
    sizes: Sequence[int], *, cards: int | None = None, oversubscription: Narrowing = 1, seed: int | None = None
) -> Topology:
    """Boxes with a switch in each, and network cards that lead to the switches between the boxes.

    Rank r is number r mod G of box r div G. A message within a box takes the box's switch. One that
    leaves goes over its rank's card to the box's leaf, up as far as the two ends need, down to the
    other leaf and over the receiver's card. There is a level for the box, one for what its cards
    reach, and one more for each further tier; BW is per port in the box and per card elsewhere.

    Args:
        sizes: outermost first: (64, 8) is 64 boxes of 8, (4, 4, 8) is 4 racks of 4 boxes of 8.
        cards: network cards of a box (default: one for each rank). Fewer are shared by as many
            ranks each, rank by rank; they must divide the ranks of a box.
        oversubscription: how many times too narrow the way up from a leaf is, at least 1; for
            further tiers a value each, innermost first.
        seed: messages are hashed over the cables of an uplink, by `flow_hash` of their two ends. By
            default they spread over all of them evenly, which is the limit of many flows.

    Raises:
        ValueError: for a size below 1, cards that do not divide a box, an oversubscription below 1,
            or hashing over an uplink that is no whole number of cables.

    >>> boxes((8, 8)), boxes((4, 4, 8), cards=2).levels
    (Topology(boxes:8x8, 64 ranks, 17 switches, 272 links), 3)
    """
    for size in sizes:
        if not is_whole(size) or size < 1:
            raise ValueError(f"a size of {size!r} in boxes: must be a whole number of at least 1")
    if len(sizes) < 2:
        raise ValueError(
            f"boxes:{'x'.join(map(str, sizes))}: give the number of boxes and the ranks of one, as in boxes:64x8"
        )
    inner, *outer = sizes[::-1]
    cards = inner if cards is None else cards
    if not is_whole(cards) or cards < 1 or inner % cards:
        raise ValueError(f"cards = {cards!r}: must divide the {inner} ranks of a box")
    narrow = _narrowings(oversubscription, len(outer))
    ranks, count, shared = inner * prod(outer), prod(outer), cards < inner
    # rank -> (card ->) leaf of its box -> switch of the first tier -> ... -> the last tier's only switch
    tree = Tree((inner // cards, cards, *outer) if shared else (inner, *outer), first=ranks + count)
    tiers, of_height = [Tier("box"), Tier("card", level=1)], [1] * (2 if shared else 1)
    held = cards  # by all the boxes below one switch
    for level, (size, times) in enumerate(zip(outer, narrow, strict=True), 1):
        of_height.append(len(tiers))
        tiers.append(_uplink(level, Fraction(held) / times))
        held *= size
    hashed = [1] * len(of_height) if seed is None else [tiers[tier].cables for tier in of_height]
    if seed is not None:
        tiers = [_cable(tier) for tier in tiers]
    name = f"boxes:{_expression(sizes, cards if shared else None, narrow, seed)}"
    above = sum(nodes * cables for nodes, cables in zip(tree.counts, hashed, strict=False))
    check_network(name, ranks + count + tree.switches, 2 * (ranks + above))
    # a card's route has its latency at the ranks; that of a further tier has it at the tier's own switches
    paid = [height == 0 or tiers[tier].level > 1 for height, tier in enumerate(of_height)]
    heights = np.repeat(np.arange(len(hashed)), tree.counts[:-1])
    edge = np.repeat(np.arange(len(heights)), np.array(hashed)[heights])
    child, parent = (end[edge] for end in tree.ends())
    in_tree, up = np.array(of_height)[heights[edge]], np.where(paid, 0, 2)[heights[edge]]
    rank, box = np.arange(ranks), ranks + np.arange(ranks) // inner
    part = np.concatenate((np.repeat([0, 1], ranks), up, np.maximum(up, 1)))
    kind = 2 + 2 * heights[edge]
    classes = np.concatenate((np.repeat([0, 1], ranks), kind, kind + 1))
    return Topology(
        name=name,
        ranks=ranks,
        switches=count + tree.switches,
        link_src=np.concatenate((rank, box, child, parent)),
        link_dst=np.concatenate((box, rank, parent, child)),
        alpha=Fractions.of([HALVES.up, HALVES.down, 0]).taken(part),
        tier=np.concatenate((np.zeros(2 * ranks, dtype=np.intp), in_tree, in_tree)),
        tiers=tuple(tiers),
        router=_router(tree, ranks, inner, hashed, seed),
        port_model=f"one full-duplex port in the box, and {_cards(cards, inner)}",
        lattice=Lattice((inner, *outer), wraps=False),
        # to shift a box's ranks would take its cards apart where several ranks share each of several
        link_class=classes if seed is None and cards in (1, inner) else None,
    )


def _uplink(level: int, width: Fraction) -> Tier:
    return Tier("uplink" if level == 1 else f"uplink {level}", width, level=level, cables=ceil(width))


def _cable(tier: Tier) -> Tier:
    """One cable of a link over whose cables messages are hashed."""
    if tier.bandwidth > 1 and tier.bandwidth.denominator > 1:
        raise ValueError(
            f"seed: {tier.name} is {tier.bandwidth} BW wide, no whole number of cables to hash over; "
            "leave the seed out, or choose an oversubscription that divides the cards"
        )
    return replace(tier, bandwidth=tier.bandwidth / tier.cables, cables=1)


def _cards(cards: int, inner: int) -> str:
    return "one network card per rank" if cards == inner else f"{cards} network card{'s' * (cards > 1)} per box"


def _narrowings(oversubscription: Narrowing, tiers: int) -> list[Fraction]:
    several = list(oversubscription) if isinstance(oversubscription, Sequence) else [oversubscription]
    if len(several) != tiers and len(several) != 1:
        raise ValueError(
            f"{len(several)} oversubscriptions for {tiers} tiers of boxes: give one for each, innermost first"
        )
    for times in several:
        if times < 1:
            raise ValueError(f"oversubscription {times}: must be at least 1")
    return [Fraction(times) for times in several] if len(several) == tiers else [Fraction(several[0])] * tiers


def _expression(sizes: Sequence[int], cards: int | None, narrow: list[Fraction], seed: int | None) -> str:
    parts = ["x".join(map(str, sizes))]
    if cards is not None:
        parts.append(f"cards={cards}")
    if max(narrow) > 1:
        parts.append(f"oversubscription={':'.join(map(str, narrow[:1] if len(set(narrow)) == 1 else narrow))}")
    if seed is not None:
        parts.append(f"seed={seed}")
    return ",".join(parts)


def _router(tree: Tree, ranks: int, inner: int, hashed: list[int], seed: int | None) -> Router:
    wide = np.array(hashed)
    first_link = 2 * ranks + np.cumsum([0, *(np.array(tree.counts[:-1]) * wide)])
    links = int(first_link[-1]) - 2 * ranks  # upwards in the tree; as many lead down

    def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        src, dst = np.asarray(src), np.asarray(dst)
        inside, switch = _inside(src, dst, ranks, inner, tree.first)
        message = np.flatnonzero(inside)
        up, down = message[~switch[0][message]], message[~switch[1][message]]
        far = np.flatnonzero(~inside)
        rises, falls = tree.route(src[far], dst[far])
        flow = flow_hash(src[far], dst[far], seed) if seed is not None and max(hashed) > 1 else None
        messages, crossed = [up, down], [src[up], ranks + dst[down]]
        for crossings, back in ((rises, 0), (falls, links)):
            for height, who, edge in crossings:
                cable = 0 if flow is None else flow[who] % wide[height]
                messages.append(far[who])
                crossed.append(first_link[height] + back + edge * wide[height] + cable)
        return np.concatenate(messages), np.concatenate(crossed)

    return route


def _inside(
    src: IntArray, dst: IntArray, ranks: int, inner: int, first: int
) -> tuple[NDArray[np.bool_], list[NDArray[np.bool_]]]:
    """Which messages go through a box's switch, and which ends are such a switch."""
    switch = [(end >= ranks) & (end < first) for end in (src, dst)]
    box = [np.where(end < ranks, end // inner, end - ranks) for end in (src, dst)]
    ends = switch[0] | switch[1]
    wrong = ends & ((box[0] != box[1]) | (switch[0] & switch[1]))
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        raise NoRouteError(
            f"no route from node {src[i]} to node {dst[i]}: a box's switch reaches the ranks of its box only"
        )
    return ends | ((src < ranks) & (dst < ranks) & (box[0] == box[1])), switch
