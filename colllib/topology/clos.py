"""Clos networks: leaves and spines, and fat-trees of equal switches."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from math import prod
from operator import mul

import numpy as np

from colllib.cost import Tier
from colllib.exact import Fractions, IntArray
from colllib.primitives import check_counts, is_whole
from colllib.topology.base import Lattice, NoRouteError, Topology, check_network, expression
from colllib.topology.latency import HALVES, Latency
from colllib.topology.routes import check_seed, flow_hash
from colllib.topology.tree import Oversubscription, Tree, oversubscription_ratios, ratios_option, uplink

ROUTING = ("hash", "fixed", "spread")


def leaf_spine(
    leaves: int,
    hosts: int,
    spines: int,
    *,
    uplink: Fraction | int = 1,
    routing: str = "hash",
    seed: int = 0,
    latency: Latency = HALVES,
) -> Topology:
    """Leaf switches with `hosts` ranks each, and a link from every leaf to every spine.

    A leaf is oversubscribed by hosts / (spines * uplink). A message between two leaves takes one
    spine, and always the same one for the same two ranks, unless it is spread.

    Args:
        hosts: ranks below each leaf; rank r is below leaf r div hosts.
        uplink: bandwidth of each link between leaf and spine, in units of BW.
        routing: which spine a message takes: "hash", by `flow_hash` of its two ends, "fixed", the
            destination's number modulo the spines, or "spread" evenly over all, the limit of many flows.
        seed: of the hash.
        latency: how alpha divides: a route of s switches costs endpoint + (s + 1) hops + s switches.

    Raises:
        ValueError: for a size below 1, an uplink without bandwidth or an unknown rule.

    Source: Leiserson (1985) for the tree, Al-Fares et al. (2008) for hashing flows onto it.

    >>> leaf_spine(8, 8, 4)
    Topology(leaf-spine:8x8x4, 64 ranks, 12 switches, 192 links)
    """
    check_counts(leaves=leaves, hosts=hosts, spines=spines)
    routed = _checked(routing, seed, usual="hash")
    if uplink <= 0:
        raise ValueError(f"uplink = {uplink}: a link needs a positive bandwidth")
    options = {"uplink": None if uplink == 1 else uplink, **routed, **latency.options}
    name = expression(f"leaf-spine:{leaves}x{hosts}x{spines}", options)
    return _clos(name, (hosts, leaves), (Fraction(spines),), Fraction(uplink), routing, seed, latency)


def fat_tree(
    radix: int,
    *,
    oversubscription: Oversubscription = 1,
    routing: str = "fixed",
    seed: int = 0,
    latency: Latency = HALVES,
) -> Topology:
    """A three-level fat-tree of equal switches: k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 cores.

    It has k^3/4 hosts and, unless it is oversubscribed, full bisection; whether traffic gets it depends on the routing.

    Args:
        radix: ports k of every switch, even and at least 2.
        oversubscription: how many times too few for the hosts below them the links are that lead up, at least 1: those
            from edge to aggregation switches and those from there to cores, or a value each, in this order. The links
            keep their BW; there are fewer aggregation switches and cores.
        routing: which aggregation switch and core a message takes: "fixed", by the digits of the
            destination's number, as the source has it, "hash" of its two ends, or "spread" over all.
        seed: of the hash.
        latency: as for `leaf_spine`.

    Raises:
        ValueError: for an odd radix, an oversubscription below 1, an unknown rule, or one that chooses among links
            where the oversubscription leaves no whole number of them.

    Source: Al-Fares, Loukissas & Vahdat (2008), sections 2.2 and 3.3.

    >>> fat_tree(4), fat_tree(48).ranks
    (Topology(fat-tree:4, 16 ranks, 20 switches, 96 links), 27648)
    >>> fat_tree(4, oversubscription=2)  # a link up from each edge switch, to the one aggregation switch of its pod
    Topology(fat-tree:4,oversubscription=2, 16 ranks, 14 switches, 64 links)
    """
    if not is_whole(radix) or radix < 2 or radix % 2:
        raise ValueError(f"fat-tree:{radix!r}: the switches' ports must be an even whole number of at least 2")
    routed, half = _checked(routing, seed, usual="fixed"), radix // 2
    edge, core = ratios = oversubscription_ratios(oversubscription, 2)
    name = expression(f"fat-tree:{radix}", {**ratios_option(ratios), **routed, **latency.options})
    ups = half / edge, half * edge / core
    for below, up in zip(("an edge", "an aggregation"), ups, strict=True):
        if routing != "spread" and (up.denominator > 1 or up > half):
            raise ValueError(
                f"{name}: {up} links lead up from {below} switch, and routing chooses among whole ones, "
                f"at most {half}: take another oversubscription, or routing=spread"
            )
    return _clos(name, (half, half, radix), ups, Fraction(1), routing, seed, latency)


def _checked(routing: str, seed: int, usual: str) -> dict[str, object]:
    """The options of an expression that say how messages are routed."""
    check_seed(seed)
    if routing not in ROUTING:
        raise ValueError(f"routing {routing!r}: must be one of {', '.join(ROUTING)}")
    hashed = seed > 0 and routing == "hash"
    return {"routing": None if routing == usual else routing, "seed": seed if hashed else None}


def _clos(
    name: str,
    sizes: tuple[int, ...],
    links: tuple[Fraction, ...],
    width: Fraction,
    routing: str,
    seed: int,
    latency: Latency,
) -> Topology:
    """Hosts below edge switches, and between two levels of switches a link for every digit of a path.

    `sizes` are hosts of an edge switch, edge switches of a group, groups of a group of groups, ...; `links` says for
    each level of switches but the last to how many above each is joined, over links `width` BW wide. Switches of a
    level are numbered by group, then by which of its equal switches they are. Where traffic is spread these stand as
    one, and the links to them need not be whole.
    """
    spread = routing == "spread"
    ups = [1 if spread else int(up) for up in links]
    widths = [width * total if spread else width for total in accumulate(links, mul)]
    ranks = prod(sizes)
    tree = Tree(ranks, sizes, first=ranks)  # of groups
    equal = [1, 1, *accumulate(ups, mul)]  # nodes of a group by height, each with a link to so many paths' nodes above
    nodes = [groups * switches for groups, switches in zip(tree.counts, equal, strict=False)]
    rising = [groups * links for groups, links in zip(tree.counts, equal[1:], strict=False)]
    check_network(name, sum(nodes), 2 * sum(rising))
    first_node, first_link = np.cumsum([0, *nodes]), np.cumsum([0, *rising])
    lower, upper = [], []
    for level, (size, up) in enumerate(zip(sizes, (1, *ups), strict=True)):
        group, path = np.divmod(np.arange(rising[level]), equal[level + 1])
        lower.append(first_node[level] + group * equal[level] + path // up)
        upper.append(first_node[level + 1] + group // size * equal[level + 1] + path)
    child, parent = np.concatenate(lower), np.concatenate(upper)
    height = np.repeat(np.arange(len(sizes)), rising)

    def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        src, dst = np.asarray(src), np.asarray(dst)
        if max(src.max(initial=0), dst.max(initial=0)) >= ranks:
            raise NoRouteError(f"the switches of {name} only forward: no route starts or ends at one")
        # a digit per level: the same for the way up and the way down
        digits = flow_hash(src, dst, seed) if routing == "hash" else dst
        paths = [np.zeros_like(src)]
        for up in ups:
            paths.append(paths[-1] * up + digits % up)
            digits = digits // up

        return tree.route(
            src,
            dst,
            lambda height, down, message, edge: (
                first_link[height] + down * len(child) + edge * equal[height + 1] + paths[height][message]
            ),
        )

    return Topology(
        name,
        ranks,
        sum(nodes) - ranks,
        np.concatenate((child, parent)),
        np.concatenate((parent, child)),
        Fractions.of([latency.up, latency.down]).taken(np.append(np.minimum(height, 1), np.ones_like(height))),
        np.tile(height, 2),
        (Tier("port"), *(uplink(number, width) for number, width in enumerate(widths))),
        route,
        "one full-duplex port per rank",
        lattice=Lattice(sizes, wraps=False),
        in_box=sizes[0],
    )
