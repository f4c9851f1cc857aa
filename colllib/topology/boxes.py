"""Boxes of ranks with a fast switch or links inside and network cards outside, in one or several tiers of boxes."""

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
from colllib.topology.base import Lattice, NoRouteError, Router, Topology, check_network, expression
from colllib.topology.graph import full_mesh
from colllib.topology.latency import HALVES
from colllib.topology.lattice import torus
from colllib.topology.routes import check_seed, flow_hash
from colllib.topology.tree import Oversubscription, Tree, oversubscription_ratios, ratios_option, uplink
from colllib.units import several, shortened, whole

INC = ("none", "box", "network", "both")


def boxes(
    sizes: Sequence[int],
    *,
    cards: int | None = None,
    oversubscription: Oversubscription = 1,
    seed: int | None = None,
    rails: int | None = None,
    apart: bool = False,
    inside: str = "switch",
    inc: str = "none",
    ranks: int | None = None,
) -> Topology:
    """Boxes with a switch or links in each, and network cards that lead to the switches between the boxes.

    Rank r is number r mod G of box r div G. A message within a box takes the box's switch or links. One that
    leaves goes over its rank's card to the box's leaf, up as far as the two ends need, down to the
    other leaf and over the receiver's card. There is a level for the box, one for what its cards
    reach, and one more for each further tier; BW is per port or link in the box and per card elsewhere.

    On rails the cards of one number in their boxes lead to leaves of their own: rank r's is on rail
    r mod `rails`, a leaf serves one rail of all boxes of the first tier, and each rail has switches of
    its own above its leaves. A further tier joins several rails, unless they are `apart`.

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
        inside: "switch", or links of BW instead: "full-mesh" between every two ranks of a box, "torus:4x4x4" as there,
            with its routes.
        inc: which switches may add, replicate and take bundles apart: "none", those in a "box", those of the
            "network", or "both".
        ranks: N, where the last box has fewer ranks than the others.

    Raises:
        ValueError: for a size below 1, cards or rails that do not divide a box, a torus of another size, an
            oversubscription below 1, hashing over an uplink that is no whole number of cables, or ranks that leave more
            than one box uneven.

    >>> boxes((8, 8)), boxes((4, 4, 8), cards=2).levels
    (Topology(boxes:8x8, 64 ranks, 17 switches, 272 links), 3)
    >>> boxes((8, 4, 72), rails=4, apart=True)  # 32 leaves, and for each rail one switch that stands for its spines
    Topology(boxes:8x4x72,rails=4,apart=true, 2304 ranks, 68 switches, 9280 links)
    """
    shape = _Shape(tuple(sizes), cards, rails, apart, inside, inc)
    ratios = oversubscription_ratios(oversubscription, shape.uplinks)
    name = _expression(shape, ratios, seed, ranks)
    tree = shape.tree
    tiers, tier_of_height = _tiers(shape, ratios)
    cables = [1] * len(tier_of_height)  # of a link upwards, by height: those over which messages are hashed
    if seed is not None:
        check_seed(seed)
        cables = [tiers[tier].cables for tier in tier_of_height]
        tiers = [_cable(tier) for tier in tiers]
    links_in_boxes = shape.count * shape.joined.num_links if shape.joined else 2 * shape.ranks
    links_above = sum(nodes * count for nodes, count in zip(tree.counts, cables, strict=False))
    check_network(name, tree.first + shape.switches, links_in_boxes + 2 * links_above)
    # a card's route has its latency at the ranks; that of a further tier has it at the tier's own switches
    paid = [height == 0 or tiers[tier].level > 1 for height, tier in enumerate(tier_of_height)]
    height_of_edge = np.repeat(np.arange(len(cables)), tree.counts[: len(cables)])
    edge = np.repeat(np.arange(len(height_of_edge)), np.array(cables)[height_of_edge])  # of each cable
    height = height_of_edge[edge]
    child, parent = (end[edge] for end in tree.ends())
    child = np.where(child < shape.ranks, shape.rank_at[np.minimum(child, shape.ranks - 1)], child)
    tier_in_tree, up = np.array(tier_of_height)[height], np.where(paid, 0, 2)[height]
    src, dst, part_in_box, class_in_box = shape.links_in_boxes()
    part = np.concatenate((part_in_box, up, np.maximum(up, 1)))
    up_class = int(class_in_box.max(initial=-1)) + 1 + 2 * height
    classes = np.concatenate((class_in_box, up_class, up_class + 1))
    inside_torus = shape.joined if shape.joined and shape.joined.lattice else None
    full = Topology(
        name=name,
        ranks=shape.ranks,
        switches=tree.first - shape.ranks + shape.switches,
        link_src=np.concatenate((src, child, parent)),
        link_dst=np.concatenate((dst, parent, child)),
        alpha=Fractions.of([HALVES.up, HALVES.down, 0, 1]).taken(part),
        tier=np.concatenate((np.zeros(len(src), dtype=np.intp), tier_in_tree, tier_in_tree)),
        tiers=tuple(tiers),
        router=_router(shape, name, len(src), cables, seed),
        port_model=shape.port_model,
        combines=inc != "none",
        replicates=inc != "none",
        scatters=inc != "none",
        acting=shape.acting,
        lattice=Lattice((shape.inner, *shape.outer), wraps=False),
        in_box=shape.inner,
        inside=inside_torus,
        # to shift a box's ranks would take its cards apart where several ranks share each of several, and a torus
        link_class=classes if seed is None and shape.cards in (1, shape.inner) and not inside_torus else None,
    )
    return full if ranks is None else _uneven(full, ranks)


class _Shape:
    """What the sizes, cards and rails of boxes come to, checked."""

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
            raise ValueError(
                f"cards = {cards!r}: must divide the {self.inner} ranks, as {self.inner} do; a lost one: without=card 3"
            )
        if rails is not None and (not is_whole(rails) or rails < 1 or self.inner % rails):
            raise ValueError(f"rails = {rails!r}: must divide the {self.inner} ranks of a box")
        if rails is not None and self.cards < self.inner:
            shared = f"rails = {rails} with cards = {self.cards} of {self.inner} ranks"
            raise ValueError(f"{shared}: boxes on rails must have a card for each rank")
        if apart and rails is None:
            raise ValueError("apart: only rails can be apart, as in boxes:64x8,rails=8,apart=true")
        if inc not in INC:
            raise ValueError(f"inc {inc!r}: must be one of {', '.join(INC)}")
        if inside != "switch" and inc in ("box", "both"):
            raise ValueError(f"inc {inc!r}: boxes of direct links have no switch in them")
        apart = apart or rails == 1  # nothing is above one rail
        self.rails, self.apart, self.inc = rails, apart, inc
        self.count, self.ranks, self.on_rails = prod(self.outer), prod(sizes), rails is not None
        check_network(f"boxes:{text}", self.ranks, 0)
        self.joined = _joined(inside, self.inner)
        if rails is not None:
            children = [self.inner // rails * self.outer[0], *self.outer[1:], rails]
        elif self.cards < self.inner:
            children = [self.inner // self.cards, self.cards, *self.outer]
        else:
            children = [self.inner, *self.outer]
        #: rank -> (card ->) leaf -> switch of the first tier -> ... -> the last tier's only switch, by rails
        self.tree = Tree(self.ranks, tuple(children), first=self.ranks + (0 if self.joined else self.count))
        self.lowest = 2 if self.cards < self.inner else 1  # so many heights of it are the cards' own
        self.cards_of_leaf = self.cards if rails is None else children[0]
        self.uplinks = len(children) - self.lowest - apart  # so many lead to further switches: apart, none to its root
        self.switches = self.tree.switches - apart  # between the boxes
        self.rank_at = np.arange(self.ranks).reshape(-1, rails or 1).T.ravel()  # at each place of its lowest height
        self.place = np.argsort(self.rank_at)  # of each rank

    @property
    def port_model(self) -> str:
        """What a rank owns in its box, and out of it."""
        port = "a link to each other rank" if self.joined else "one full-duplex port"
        if self.joined and self.joined.lattice:
            port = self.joined.port_model
        if self.cards == self.inner:
            return f"{port} in the box, and one network card per rank"
        return f"{port} in the box, and {several(self.cards, 'network card')} per box"

    @property
    def acting(self) -> NDArray[np.bool_] | None:
        """Which switches may add, replicate and take bundles apart; None for all, or none at all."""
        if self.inc in ("none", "both"):
            return None
        in_boxes = self.tree.first - self.ranks
        return np.repeat([self.inc == "box", self.inc == "network"], [in_boxes, self.switches])

    def links_in_boxes(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Source, destination, part of alpha and class of every link within a box."""
        rank, box = np.arange(self.ranks), self.ranks + np.arange(self.ranks) // self.inner
        if self.joined is None:
            up_or_down = np.repeat([0, 1], self.ranks)
            return np.concatenate((rank, box)), np.concatenate((box, rank)), up_or_down, up_or_down
        first = np.arange(0, self.ranks, self.inner)[:, None]  # of each box
        src, dst = ((first + end).ravel() for end in (self.joined.link_src, self.joined.link_dst))
        return src, dst, np.full(len(src), 3), (dst - src) % self.inner - 1


def _joined(inside: str, ranks: int) -> Topology | None:
    """The links that join the ranks of a box; None for a switch."""
    kind, _, shape = inside.partition(":")
    if inside in ("switch", "full-mesh"):
        return full_mesh(ranks) if inside == "full-mesh" else None
    named = f"inside {shortened(inside)!r}"
    if kind != "torus":
        raise ValueError(f"{named}: must be switch, full-mesh or a torus, such as torus:4x4x4")
    sizes = [whole(f"{named}: a size", size, "torus:4x4x4") for size in shape.split("x")]
    if prod(sizes) != ranks:
        raise ValueError(f"{named}: its sizes must come to the {ranks} ranks of a box")
    return torus(sizes)


def _tiers(shape: _Shape, ratios: list[Fraction]) -> tuple[list[Tier], list[int]]:
    """The tiers of all links, innermost first, and for each height of the tree the tier of its links upwards."""
    tiers = [Tier("box"), Tier("card", level=1)]
    tier_of_height = [1] * shape.lowest
    cards = shape.cards_of_leaf  # below a switch
    for number, ratio in enumerate(ratios):
        tier_of_height.append(len(tiers))
        tiers.append(uplink(number, Fraction(cards) / ratio, level=number + 1 + shape.on_rails))
        cards *= shape.tree.sizes[shape.lowest + number]
    return tiers, tier_of_height


def _uneven(full: Topology, ranks: int) -> Topology:
    """Boxes whose last one has fewer ranks, and no ports for those that it has not."""
    missing = full.ranks - ranks if is_whole(ranks) else -1
    if not 0 <= missing < full.in_box or full.ranks == missing:
        raise ValueError(
            f"ranks = {ranks!r}: {full.ranks // full.in_box} boxes of {full.in_box}, of which only the last may "
            f"have fewer, hold {full.ranks - full.in_box + 1} to {full.ranks}"
        )
    if missing == 0:
        return full
    if full.inside:
        raise ValueError(f"ranks = {ranks!r}: a box with {full.inside.name} in it has all of them")
    ends = np.stack((full.link_src, full.link_dst))
    present = ((ends < ranks) | (ends >= full.ranks)).all(axis=0)
    number = np.cumsum(present) - 1

    def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        message, link = full.router(*(np.where(np.asarray(end) < ranks, end, end + missing) for end in (src, dst)))
        return message, number[link]

    src, dst = (np.where(end < ranks, end, end - missing)[present] for end in ends)
    return replace(
        full,
        ranks=ranks,
        link_src=src,
        link_dst=dst,
        alpha=full.alpha.taken(np.flatnonzero(present)),
        tier=full.tier[present],
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


def _expression(shape: _Shape, ratios: list[Fraction], seed: int | None, ranks: int | None) -> str:
    options = {
        "cards": shape.cards if shape.cards < shape.inner else None,
        **ratios_option(ratios),
        "seed": seed,
        "rails": shape.rails,
        "apart": "true" if shape.apart and shape.rails != 1 else None,
        "inside": None if shape.joined is None else shape.joined.name if shape.joined.lattice else "full-mesh",
        "inc": None if shape.inc == "none" else shape.inc,
        "ranks": None if ranks == shape.ranks else ranks,
    }
    return expression(f"boxes:{'x'.join(map(str, shape.sizes))}", options)


def _router(shape: _Shape, name: str, links_in_boxes: int, cables: list[int], seed: int | None) -> Router:
    tree, ranks, inner = shape.tree, shape.ranks, shape.inner
    first_link = links_in_boxes + np.cumsum([0, *(np.array(tree.counts[: len(cables)]) * cables)])
    links_up = int(first_link[-1]) - links_in_boxes  # in the tree; as many lead down

    def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        src, dst = np.asarray(src), np.asarray(dst)
        inside, switch = _inside(src, dst, shape)
        message, leaving = np.flatnonzero(inside), np.flatnonzero(~inside)
        if shape.joined:
            message = message[src[message] != dst[message]]
            crossing, link = shape.joined.router(src[message] % inner, dst[message] % inner)
            message = message[crossing]
            messages, links = [message], [src[message] // inner * shape.joined.num_links + link]
        else:
            up, down = message[~switch[0][message]], message[~switch[1][message]]
            messages, links = [up, down], [src[up], ranks + dst[down]]
        flow = np.zeros_like(leaving) if seed is None else flow_hash(src[leaving], dst[leaving], seed)

        def numbering(height: int, down: bool, which: IntArray, edge: IntArray) -> IntArray:
            if not len(which):
                return which
            if height == len(cables):
                i = leaving[which[0]]
                which_ranks = f"from rank {src[i]} to rank {dst[i]}"
                raise NoRouteError(f"no route {which_ranks}: their cards are on two rails of {name}, which are apart")
            cable = edge * cables[height] + flow[which] % cables[height]
            return np.asarray(first_link[height] + down * links_up + cable)

        start, end = (np.where(node < ranks, shape.place[node % ranks], node) for node in (src[leaving], dst[leaving]))
        message, link = tree.route(start, end, numbering)
        return np.concatenate((*messages, leaving[message])), np.concatenate((*links, link))

    return route


def _inside(src: IntArray, dst: IntArray, shape: _Shape) -> tuple[NDArray[np.bool_], list[NDArray[np.bool_]]]:
    """Which messages go through a box's switch, and which ends are such a switch."""
    ranks = shape.ranks
    switch = [(end >= ranks) & (end < shape.tree.first) for end in (src, dst)]
    box = [np.where(end < ranks, end // shape.inner, end - ranks) for end in (src, dst)]
    ends = switch[0] | switch[1]
    wrong = ends & ((box[0] != box[1]) | (switch[0] & switch[1]))
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        raise NoRouteError(
            f"no route from node {src[i]} to node {dst[i]}: a box's switch reaches the ranks of its box only"
        )
    return ends | ((src < ranks) & (dst < ranks) & (box[0] == box[1])), switch
