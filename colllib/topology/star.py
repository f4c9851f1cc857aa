"""Ranks around one switch, or below a tree of switches."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from colllib.cost import Tier
from colllib.exact import Fractions, IntArray
from colllib.primitives import check_ranks
from colllib.topology.base import Router, Topology
from colllib.topology.latency import HALVES, Latency


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
        ranks: number of ranks N.
        ports: bonded ports of a rank.
        latency: how alpha divides into endpoint, links and switch.
        combines: whether the switch may add what arrives.
        replicates: whether it may send one block to several ranks.
        scatters: whether it may take a bundle apart.

    >>> star(2).alpha[0]
    Fraction(1, 2)
    """
    check_ranks(ranks)
    if ports < 1:
        raise ValueError(f"{ports} ports: a rank needs at least 1")
    nodes = np.arange(ranks)
    hub = np.full(ranks, ranks)

    def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        message = np.arange(len(src))
        up, down = src < ranks, dst < ranks
        if up.all() and down.all():
            return np.concatenate((message, message)), np.concatenate((src, dst + ranks))
        return np.concatenate((message[up], message[down])), np.concatenate((src[up], dst[down] + ranks))

    active = combines or replicates or scatters
    name = f"{'inc-' if active else ''}star:{ranks}"
    alpha = [Fractions.of([part]).repeated(ranks) for part in (latency.up, latency.down)]
    return Topology(
        name=name if ports == 1 else f"{name} with {ports} ports",
        ranks=ranks,
        switches=1,
        link_src=np.concatenate((nodes, hub)),
        link_dst=np.concatenate((hub, nodes)),
        alpha=Fractions.joined(alpha),
        tier=np.zeros(2 * ranks, dtype=np.intp),
        tiers=(Tier("port", Fraction(ports)),),
        router=route,
        port_model=f"{'one full-duplex port' if ports == 1 else f'{ports} full-duplex ports'} per rank",
        combines=combines,
        replicates=replicates,
        scatters=scatters,
        link_class=np.repeat([0, 1], ranks),
    )


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

    The uplinks of a switch are bonded. The root is the last switch. Leaves are filled one after
    the other, and so is every level above.

    Args:
        ranks: number of ranks N.
        radix: ports of a switch, at least three times `uplinks`.
        uplinks: ports of a switch that lead up.
        latency: how alpha divides: a route of s switches costs endpoint + (s + 1) hops + s switches.
        combines: whether switches may add what arrives.
        replicates: whether they may send one block to several nodes.
        scatters: whether they may take a bundle apart.

    Raises:
        ValueError: for a radix that leaves no tree.

    >>> switch_tree(16, 4).switches, switch_tree(4, 4).switches
    (9, 1)
    """
    check_ranks(ranks)
    if uplinks < 1 or radix < 3 * uplinks:
        raise ValueError(f"radix {radix} with {uplinks} uplinks: a switch must have room for two others below it")
    links: list[tuple[int, int]] = []
    alpha: list[Fraction] = []
    tier: list[int] = []
    below, node = list(range(ranks)), ranks
    while True:
        ports = 1 if below[0] < ranks else uplinks  # that a child takes
        top = len(below) * ports <= radix
        width = (radix if top else radix - uplinks) // ports
        above = []
        for start in range(0, len(below), width):
            for child in below[start : start + width]:
                links += [(child, node), (node, child)]
                alpha += [latency.up if child < ranks else latency.down, latency.down]
                tier += [int(ports > 1)] * 2
            above.append(node)
            node += 1
        below = above
        if top:
            break
    active = "inc-" if combines or replicates or scatters else ""
    ends = np.array(links).reshape(-1, 2)
    return Topology(
        name=f"{active}switch-tree:{ranks}x{radix}",
        ranks=ranks,
        switches=node - ranks,
        link_src=ends[:, 0],
        link_dst=ends[:, 1],
        alpha=Fractions.of(alpha),
        tier=np.array(tier, dtype=np.intp),
        tiers=(Tier("port"), Tier("uplink", Fraction(uplinks))) if uplinks > 1 else (Tier("port"),),
        router=_tree_router(ends, node),
        port_model="one full-duplex port per rank",
        combines=combines,
        replicates=replicates,
        scatters=scatters,
    )


def _tree_router(ends: IntArray, nodes: int) -> Router:
    """Routes in a tree whose links come in pairs, up then down, and whose last node is the root."""
    parent, climb = np.full(nodes, -1), np.full(nodes, -1)
    parent[ends[::2, 0]] = ends[::2, 1]
    climb[ends[::2, 0]] = np.arange(0, len(ends), 2)  # the link up; the one down is the next
    depth = np.zeros(nodes, dtype=np.intp)
    for node in range(nodes - 2, -1, -1):  # a parent has a higher number
        depth[node] = depth[parent[node]] + 1
    last = 2 * int(depth.max(initial=0))

    def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        message, a, b = np.arange(len(src)), np.array(src), np.array(dst)
        found = []
        for k in range(last + 1):
            apart = a != b
            message, a, b = message[apart], a[apart], b[apart]
            if not len(message):
                break
            rises = depth[a] >= depth[b]
            # what falls is met from the end of the route
            place = np.where(rises, k, 2 * last - k)
            found.append((message, place, np.where(rises, climb[a], climb[b] + 1)))
            a, b = np.where(rises, parent[a], a), np.where(rises, b, parent[b])
        if not found:
            return message, message
        who, place, link = (np.concatenate(part) for part in zip(*found, strict=True))
        order = np.lexsort((place, who))
        return who[order], link[order]

    return route
