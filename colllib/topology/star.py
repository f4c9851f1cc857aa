"""Ranks around one switch, or below a tree of switches."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from colllib.cost import Tier
from colllib.exact import Fractions, IntArray
from colllib.primitives import check_counts, check_ranks, is_whole
from colllib.topology.base import Topology, check_network, expression
from colllib.topology.latency import HALVES, Latency
from colllib.topology.tree import Tree


def star(
    ranks: int,
    ports: int = 1,
    *,
    latency: Latency = HALVES,
    combines: bool = False,
    replicates: bool = False,
    scatters: bool = False,
) -> Topology:
    """N ranks around one switch, each with one full-duplex link of `ports` times BW.

    The two links of a route have the declared alpha together. With several ports they are bonded,
    as NVLink's are: k ports act as one link of k times the bandwidth.

    Args:
        ports: bonded ports of a rank.
        latency: how alpha divides into endpoint, links and switch.
        combines: whether the switch may add what arrives.
        replicates: whether it may send one block to several ranks.
        scatters: whether it may take a bundle apart.

    >>> star(2).alpha[0]
    Fraction(1, 2)
    """
    check_ranks(ranks)
    check_counts(ports=ports)
    able: dict[str, Any] = {"combines": combines, "replicates": replicates, "scatters": scatters}
    name = _named(f"star:{ranks}", latency, able, ports=ports)
    check_network(name, ranks + 1, 2 * ranks)
    nodes, hub = np.arange(ranks), np.full(ranks, ranks)

    def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        message = np.arange(len(src))
        up, down = src < ranks, dst < ranks
        return np.concatenate((message[up], message[down])), np.concatenate((src[up], dst[down] + ranks))

    return Topology(
        name=name,
        ranks=ranks,
        switches=1,
        link_src=np.concatenate((nodes, hub)),
        link_dst=np.concatenate((hub, nodes)),
        alpha=Fractions.of([latency.up, latency.down]).taken(np.repeat([0, 1], ranks)),
        tier=np.zeros(2 * ranks, dtype=np.intp),
        tiers=(Tier("port", Fraction(ports)),),
        router=route,
        port_model=f"{'one full-duplex port' if ports == 1 else f'{ports} full-duplex ports'} per rank",
        link_class=np.repeat([0, 1], ranks),
        **able,
    )


def _named(what: str, latency: Latency, able: dict[str, bool], **counts: int) -> str:
    """The expression: where switches can do anything, what they cannot."""
    adding = any(able.values())
    lacking = {ability: "false" for ability, has in able.items() if adding and not has}
    several = {name: count for name, count in counts.items() if count > 1}
    return expression(f"{'inc-' if adding else ''}{what}", {**several, **latency.options, **lacking})


@lru_cache  # every closed form of a ladder asks again
def one_switch(topology: Topology) -> tuple[Fraction, Fraction] | None:
    """What a link up to the only switch takes of alpha, and one down; None unless there is one, all ports alike.

    >>> one_switch(star(4)), one_switch(switch_tree(16, 4))
    ((Fraction(1, 2), Fraction(1, 2)), None)
    """
    if not topology.switches == len(topology.tiers) == 1:
        return None
    rises, parts = topology.link_dst == topology.ranks, []
    for way, rank in ((rises, topology.link_src), (~rises, topology.link_dst)):
        part = topology.alpha.numerators[way]
        if not np.array_equal(np.sort(rank[way]), np.arange(topology.ranks)) or (part != part[0]).any():
            return None
        parts.append(Fraction(int(part[0]), topology.alpha.denominator))
    return parts[0], parts[1]


def switch_tree(
    ranks: int,
    radix: int,
    *,
    uplinks: int = 1,
    latency: Latency = HALVES,
    combines: bool = False,
    replicates: bool = False,
    scatters: bool = False,
) -> Topology:
    """N ranks below a tree of switches with `radix` ports each, of which all but the root use `uplinks` upwards.

    The uplinks of a switch are bonded. The root is the last switch. A level is filled switch by switch.

    Args:
        radix: ports of a switch, at least three times `uplinks`.
        uplinks: ports of a switch that lead up.
        latency, combines, replicates, scatters: as for `star`; each further switch adds a hop and a switch.

    Raises:
        ValueError: for a radix that leaves no tree.

    >>> switch_tree(16, 4).switches, switch_tree(4, 4).switches
    (9, 1)
    """
    check_ranks(ranks)
    if not (is_whole(radix) and is_whole(uplinks)) or uplinks < 1 or radix < 3 * uplinks:
        raise ValueError(f"radix {radix} with {uplinks} uplinks: a switch must have room for two others below it")
    able: dict[str, Any] = {"combines": combines, "replicates": replicates, "scatters": scatters}
    name = _named(f"switch-tree:{ranks}x{radix}", latency, able, uplinks=uplinks)
    children: list[int] = []  # of a full switch, by height
    nodes, links = ranks, 1  # of the height below: how many, and with how many links up each
    while not children or nodes > 1:
        root = nodes * links <= radix
        children.append((radix if root else radix - uplinks) // links)
        nodes, links = -(-nodes // children[-1]), uplinks
    tree = Tree(ranks, tuple(children), first=ranks)
    check_network(name, sum(tree.counts), 2 * sum(tree.counts[:-1]))
    child, parent = tree.ends()
    rises = (child >= ranks).astype(np.intp)  # from a switch

    def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        return tree.route(src, dst, lambda height, down, _, edge: 2 * (tree.start[height] + edge) + down)

    return Topology(
        name=name,
        ranks=ranks,
        switches=tree.switches,
        link_src=np.stack((child, parent), axis=1).ravel(),
        link_dst=np.stack((parent, child), axis=1).ravel(),
        alpha=Fractions.of([latency.up, latency.down]).taken(np.stack((rises, np.ones_like(rises)), axis=1).ravel()),
        tier=np.repeat(rises * (uplinks > 1), 2),
        tiers=(Tier("port"), Tier("uplink", Fraction(uplinks))) if uplinks > 1 else (Tier("port"),),
        router=route,
        port_model="one full-duplex port per rank",
        **able,
    )
