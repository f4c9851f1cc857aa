"""Boxes of ranks with a fast switch inside and network cards outside, in one or several tiers of boxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod

import numpy as np
from numpy.typing import NDArray

from colllib.cost import Tier
from colllib.exact import Fractions, IntArray
from colllib.primitives import is_whole
from colllib.topology.base import Lattice, NoRouteError, Router, Topology, check_network
from colllib.topology.latency import HALVES
from colllib.topology.routes import check_seed, flow_hash
from colllib.topology.tree import Narrowing, Tree, narrowings, narrowings_text, uplink

INSIDE = ("switch", "full-mesh")
INC = ("none", "box", "network", "both")


def boxes(
    sizes: Sequence[int],
    *,
    cards: int | None = None,
    oversubscription: Narrowing = 1,
    seed: int | None = None,
    rails: int | None = None,
    apart: bool = False,
    inside: str = "switch",
    inc: str = "none",
    ranks: int | None = None,
) -> Topology:
    """Boxes with a switch in each, and network cards that lead to the switches between the boxes.

    Rank r is number r mod G of box r div G. A message within a box takes the box's switch. One that
    leaves goes over its rank's card to the box's leaf, up as far as the two ends need, down to the
    other leaf and over the receiver's card. There is a level for the box, one for what its cards
    reach, and one more for each further tier; BW is per port in the box and per card elsewhere.

    On rails the cards of one number in their boxes lead to leaves of their own: rank r's is on rail
    r mod `rails`, a leaf serves one rail of all boxes of the first tier, and each rail has switches of
    its own above its leaves. A further tier joins the rails, unless they are `apart`.

    Args:
        sizes: outermost first: (64, 8) is 64 boxes of 8, (4, 4, 8) is 4 racks of 4 boxes of 8.
        cards: network cards of a box (default: one for each rank). Fewer are shared by as many
            ranks each, rank by rank; they must divide the ranks of a box.
        oversubscription: how many times too narrow the way up from a leaf is, at least 1; for
            further tiers a value each, innermost first.
        seed: messages are hashed over the cables of an uplink, by `flow_hash` of their two ends. By
            default they spread over all of them evenly, which is the limit of many flows.
        rails: on how many rails the cards of a box are; they must divide its ranks, each of which needs a card.
        apart: whether nothing joins the rails, so that ranks of two rails reach one another in their boxes only.
        inside: "switch", or "full-mesh": a link of BW between every two ranks of a box instead.
        inc: which switches may add, replicate and take bundles apart: "none", those in a "box", those of the
            "network", or "both".
        ranks: N, where the last box has fewer ranks than the others.

    Raises:
        ValueError: for a size below 1, cards or rails that do not divide a box, an oversubscription below 1,
            hashing over an uplink that is no whole number of cables, or ranks that leave more than one box uneven.

    >>> boxes((8, 8)), boxes((4, 4, 8), cards=2).levels
    (Topology(boxes:8x8, 64 ranks, 17 switches, 272 links), 3)
    >>> boxes((8, 4, 72), rails=4, apart=True)  # 32 leaves, and for each rail one switch that stands for its spines
    Topology(boxes:8x4x72,rails=4,apart=true, 2304 ranks, 68 switches, 9280 links)
    """
    shape = _Shape(tuple(sizes), cards, rails, apart, inside, inc)
    narrow = narrowings(oversubscription, shape.uplinks)
    name = f"boxes:{_expression(shape, narrow, seed, ranks)}"
    inner, everyone, tree = shape.inner, shape.ranks, shape.tree
    plural = "s" * (shape.cards > 1)
    cards_of = "one network card per rank" if shape.cards == inner else f"{shape.cards} network card{plural} per box"
    tiers, of_height, held = [Tier("box"), Tier("card", level=1)], [1] * shape.lowest, shape.held
    for number, times in enumerate(narrow):
        of_height.append(len(tiers))
        tiers.append(uplink(number, Fraction(held) / times, level=number + 1 + shape.on_rails))
        held *= tree.sizes[shape.lowest + number]
    hashed = [1] * len(of_height) if seed is None else [tiers[tier].cables for tier in of_height]
    if seed is not None:
        check_seed(seed)
        tiers = [_cable(tier) for tier in tiers]
    above = sum(nodes * cables for nodes, cables in zip(tree.counts, hashed, strict=False))
    check_network(name, tree.first + shape.switches, 2 * (everyone * (inner if shape.meshed else 1) + above))
    # a card's route has its latency at the ranks; that of a further tier has it at the tier's own switches
    paid = [height == 0 or tiers[tier].level > 1 for height, tier in enumerate(of_height)]
    heights = np.repeat(np.arange(len(hashed)), tree.counts[: len(hashed)])
    edge = np.repeat(np.arange(len(heights)), np.array(hashed)[heights])
    child, parent = (end[edge] for end in tree.ends())
    child = np.where(child < everyone, shape.rank_at[np.minimum(child, everyone - 1)], child)
    in_tree, up = np.array(of_height)[heights[edge]], np.where(paid, 0, 2)[heights[edge]]
    src, dst, part_in_box, class_in_box = shape.links_in_boxes()
    part = np.concatenate((part_in_box, up, np.maximum(up, 1)))
    in_boxes = tree.first - everyone
    switch = np.arange(in_boxes + shape.switches)
    kind = int(class_in_box.max(initial=-1)) + 1 + 2 * heights[edge]
    classes = np.concatenate((class_in_box, kind, kind + 1))
    whole = Topology(
        name=name,
        ranks=everyone,
        switches=len(switch),
        link_src=np.concatenate((src, child, parent)),
        link_dst=np.concatenate((dst, parent, child)),
        alpha=Fractions.of([HALVES.up, HALVES.down, 0, 1]).taken(part),
        tier=np.concatenate((np.zeros(len(src), dtype=np.intp), in_tree, in_tree)),
        tiers=tuple(tiers),
        router=_router(shape, name, len(src), hashed, seed),
        port_model=f"{'a link to each other rank' if shape.meshed else 'one full-duplex port'} in the box, "
        f"and {cards_of}",
        combines=inc != "none",
        replicates=inc != "none",
        scatters=inc != "none",
        acting=None if inc in ("none", "both") else switch < in_boxes if inc == "box" else switch >= in_boxes,
        lattice=Lattice((inner, *shape.outer), wraps=False),
        in_box=inner,
        # to shift a box's ranks would take its cards apart where several ranks share each of several
        link_class=classes if seed is None and shape.cards in (1, inner) else None,
    )
    return whole if ranks is None else _uneven(whole, ranks)


class _Shape:
    """What the sizes, cards and rails of boxes come to, checked.

    Attributes:
        tree: rank -> (card ->) leaf -> switch of the first tier -> ... -> the last tier's only switch; ranks stand in
            it rail by rail.
        lowest: how many heights of it are the cards' own.
        held: how many cards there are below a leaf.
        uplinks: how many heights of it lead to further switches. Where rails are apart nothing leads to its root.
        rank_at, place: the rank at each place of the tree's lowest height, and the place of each rank, shape (N,).
    """

    def __init__(
        self, sizes: tuple[int, ...], cards: int | None, rails: int | None, apart: bool, inside: str, inc: str
    ) -> None:
        for size in sizes:
            if not is_whole(size) or size < 1:
                raise ValueError(f"a size of {size!r} in boxes: must be a whole number of at least 1")
        text = "x".join(map(str, sizes))
        if len(sizes) < 2:
            raise ValueError(f"boxes:{text}: give the number of boxes and the ranks of one, as in boxes:64x8")
        self.sizes, (self.inner, *self.outer) = sizes, sizes[::-1]
        self.cards = self.inner if cards is None else cards
        if not is_whole(self.cards) or self.cards < 1 or self.inner % self.cards:
            raise ValueError(f"cards = {cards!r}: must divide the {self.inner} ranks of a box")
        if rails is not None and (not is_whole(rails) or rails < 1 or self.inner % rails or self.cards < self.inner):
            raise ValueError(f"rails = {rails!r}: must divide the {self.inner} ranks of a box, with a card for each")
        if apart and rails is None:
            raise ValueError("apart: only rails can be apart, as in boxes:64x8,rails=8,apart=true")
        for option, value, known in (("inside", inside, INSIDE), ("inc", inc, INC)):
            if value not in known:
                raise ValueError(f"{option} {value!r}: must be one of {', '.join(known)}")
        if inside == "full-mesh" and inc in ("box", "both"):
            raise ValueError(f"inc {inc!r}: boxes of direct links have no switch in them")
        self.rails, self.apart, self.inc, self.meshed = rails, apart, inc, inside == "full-mesh"
        self.count, self.ranks, self.on_rails = prod(self.outer), prod(sizes), rails is not None
        check_network(f"boxes:{text}", self.ranks, 0)
        lines = rails or 1
        if self.on_rails:
            below: tuple[int, ...] = (self.inner // lines * self.outer[0], *self.outer[1:], lines)
        else:
            below = (self.inner // self.cards, self.cards) if self.cards < self.inner else (self.inner,)
            below += tuple(self.outer)
        self.tree = Tree(self.ranks, below, first=self.ranks + (0 if self.meshed else self.count))
        self.lowest = 2 if self.cards < self.inner else 1
        self.held = below[0] if self.on_rails else self.cards
        self.uplinks = len(below) - self.lowest - apart
        self.switches = self.tree.switches - apart
        self.rank_at = np.arange(self.ranks).reshape(-1, lines).T.ravel()
        self.place = np.argsort(self.rank_at)

    def links_in_boxes(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Source, destination, part of alpha and class of every link within a box."""
        rank, box = np.arange(self.ranks), self.ranks + np.arange(self.ranks) // self.inner
        if not self.meshed:
            which = np.repeat([0, 1], self.ranks)
            return np.concatenate((rank, box)), np.concatenate((box, rank)), which, which
        src, away = np.repeat(rank, self.inner - 1), np.tile(np.arange(1, self.inner), self.ranks)
        dst = src // self.inner * self.inner + (src + away) % self.inner
        return src, dst, np.full(len(src), 3), away - 1


def _uneven(whole: Topology, ranks: int) -> Topology:
    """Boxes whose last one has fewer ranks, and no ports for those that it has not."""
    few = whole.ranks - ranks if is_whole(ranks) else -1
    if not 0 <= few < whole.in_box or whole.ranks == few:
        raise ValueError(
            f"ranks = {ranks!r}: {whole.ranks // whole.in_box} boxes of {whole.in_box}, of which only the last may "
            f"have fewer, hold {whole.ranks - whole.in_box + 1} to {whole.ranks}"
        )
    if few == 0:
        return whole
    ends = np.stack((whole.link_src, whole.link_dst))
    kept = ((ends < ranks) | (ends >= whole.ranks)).all(axis=0)
    number = np.cumsum(kept) - 1

    def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        message, link = whole.router(*(np.where(np.asarray(end) < ranks, end, end + few) for end in (src, dst)))
        return message, number[link]

    src, dst = (np.where(end < ranks, end, end - few)[kept] for end in ends)
    return replace(
        whole,
        ranks=ranks,
        link_src=src,
        link_dst=dst,
        alpha=whole.alpha.taken(np.flatnonzero(kept)),
        tier=whole.tier[kept],
        router=route,
        lattice=None,
        link_class=None,
    )


def _cable(tier: Tier) -> Tier:
    if tier.bandwidth > 1 and tier.bandwidth.denominator > 1:
        raise ValueError(
            f"seed: {tier.name} is {tier.bandwidth} BW wide, no whole number of cables to hash over; "
            "leave the seed out, or choose an oversubscription that divides the cards"
        )
    return replace(tier, bandwidth=tier.bandwidth / tier.cables, cables=1)


def _expression(shape: _Shape, narrow: list[Fraction], seed: int | None, ranks: int | None) -> str:
    options = {
        "cards": shape.cards if shape.cards < shape.inner else None,
        "oversubscription": narrowings_text(narrow) or None,
        "seed": seed,
        "rails": shape.rails,
        "apart": "true" if shape.apart else None,
        "inside": "full-mesh" if shape.meshed else None,
        "inc": None if shape.inc == "none" else shape.inc,
        "ranks": None if ranks == shape.ranks else ranks,
    }
    given = (f",{name}={value}" for name, value in options.items() if value is not None)
    return "x".join(map(str, shape.sizes)) + "".join(given)


def _router(shape: _Shape, name: str, in_boxes: int, hashed: list[int], seed: int | None) -> Router:
    tree, ranks, inner, wide = shape.tree, shape.ranks, shape.inner, np.array(hashed)
    first_link = in_boxes + np.cumsum([0, *(np.array(tree.counts[: len(hashed)]) * wide)])
    links = int(first_link[-1]) - in_boxes  # upwards in the tree; as many lead down

    def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        src, dst = np.asarray(src), np.asarray(dst)
        inside, switch = _inside(src, dst, ranks, inner, tree.first)
        message = np.flatnonzero(inside)
        far = np.flatnonzero(~inside)
        if shape.meshed:
            away = (dst[message] - src[message]) % inner
            apart = away > 0
            messages, crossed = [message[apart]], [src[message][apart] * (inner - 1) + away[apart] - 1]
        else:
            up, down = message[~switch[0][message]], message[~switch[1][message]]
            messages, crossed = [up, down], [src[up], ranks + dst[down]]
        flow = np.zeros_like(far) if seed is None else flow_hash(src[far], dst[far], seed)

        def numbered(height: int, down: bool, who: IntArray, edge: IntArray) -> IntArray:
            if not len(who):
                return who
            if height == len(hashed):
                i = far[who[0]]
                raise NoRouteError(
                    f"no route from rank {src[i]} to rank {dst[i]}: their cards are on two rails of {name}, which are "
                    "apart"
                )
            link: IntArray = first_link[height] + down * links + edge * wide[height] + flow[who] % wide[height]
            return link

        start, end = (np.where(node < ranks, shape.place[node % ranks], node) for node in (src[far], dst[far]))
        message, link = tree.route(start, end, numbered)
        return np.concatenate((*messages, far[message])), np.concatenate((*crossed, link))

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
