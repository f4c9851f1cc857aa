"""Topologies without a cable, a card or a leaf, whose messages take a detour."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from colllib.exact import IntArray
from colllib.limits import MOST_ROUTES, check_size
from colllib.topology.base import NoRouteError, Router, Topology
from colllib.topology.graph import fewest_hops
from colllib.units import shortened, whole


def without(topology: Topology, *parts: str) -> Topology:
    """The topology without what has failed.

    A message whose route crossed it takes the fewest hops over what is left, through other ranks
    too: from all ranks of a box that have lost their cards to the first one left in it, as through NCCL's PXN.

    Args:
        parts: such as "card 3" (counted box by box; its links, both ways), "leaf 1" (all its links), or a cable between
            two nodes such as "0-1" or "3-s0". Cards and leaves are counted before any has failed.

    Raises:
        ValueError: for something that is not there. `NoRouteError` when a message has no route left.

    >>> from colllib.topology import boxes
    >>> message, link = without(boxes((2, 4)), "card 0").router(np.array([0]), np.array([5]))
    >>> len(link), len(boxes((2, 4)).router(np.array([0]), np.array([5]))[1])
    (6, 4)
    """
    intact = ~np.any([_links_of(topology, part) for part in parts], axis=0)
    number = np.cumsum(intact) - 1
    ends = np.stack((topology.link_src, topology.link_dst), axis=1)[intact]
    check_size(f"detours on {topology.name}", topology.nodes**2, MOST_ROUTES, "routes between nodes")

    @cache
    def detours() -> Router:
        return fewest_hops(topology.nodes, ends, topology.ranks)

    def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        src, dst = np.asarray(src), np.asarray(dst)
        message, link = topology.router(src, dst)
        cut_off = np.unique(message[~intact[link]])
        if not len(cut_off):
            return message, number[link]
        as_before = ~np.isin(message, cut_off)
        try:
            rerouted, detour = detours()(src[cut_off], dst[cut_off])
        except NoRouteError as error:
            raise NoRouteError(f"{topology.name} without {' and '.join(parts)}: {error}") from None
        messages = np.concatenate((message[as_before], cut_off[rerouted]))
        return messages, np.concatenate((number[link[as_before]], detour))

    return replace(
        topology,
        name=",".join([topology.name, *(f"without={part}" for part in parts)]),
        link_src=ends[:, 0],
        link_dst=ends[:, 1],
        alpha=topology.alpha.taken(np.flatnonzero(intact)),
        tier=topology.tier[intact],
        router=route,
        inside=topology.inside if intact[topology.tier == 0].all() else None,
        port_model=f"{topology.port_model}, without {' and '.join(parts)}",
        link_class=None,
    )


def in_each_box(topology: Topology, card: int) -> list[Topology]:
    """The topology without a card, and without the one in its place in each other box that has one, box by box.

    >>> from colllib.topology import boxes
    >>> [lacking.name for lacking in in_each_box(boxes((3, 4)), 5)]
    ['boxes:3x4,without=card 1', 'boxes:3x4,without=card 5', 'boxes:3x4,without=card 9']
    """
    nodes, (src, dst) = _ends(topology, "card"), (topology.link_src, topology.link_dst)
    box = np.array([min(node, src[dst == node].min()) for node in nodes]) // topology.in_box
    place = np.arange(len(nodes)) - np.searchsorted(box, box)
    return [without(topology, f"card {number}") for number in np.flatnonzero(place == place[card])]


def _outward(topology: Topology) -> NDArray[np.bool_]:
    """Which links lead out of a box, or into one."""
    return np.array([tier.name in ("card", "port") for tier in topology.tiers])[topology.tier]


def _ends(topology: Topology, what: str) -> IntArray:
    """The nodes at which links out of boxes begin ("card"), or end ("leaf")."""
    src, dst = topology.link_src, topology.link_dst
    up = np.flatnonzero(_outward(topology) & (src < dst))
    shared = up[src[up] >= topology.ranks]
    up = shared if len(shared) else up  # the card's own link, where several ranks share it
    return np.unique((src if what == "card" else dst)[up]) if topology.in_box else up[:0]


def _links_of(topology: Topology, part: str) -> NDArray[np.bool_]:
    src, dst = topology.link_src, topology.link_dst
    what, _, number = part.partition(" ")
    if what not in ("card", "leaf"):
        if not re.fullmatch(r"s?\d+-s?\d+", part, re.ASCII):
            raise ValueError(f"without {shortened(part)!r}: must be such as card 3, leaf 1, 0-1 or 3-s0")
        names = [*map(str, range(topology.ranks)), *(f"s{switch}" for switch in range(topology.switches))]
        if unknown := [end for end in part.split("-") if end not in names]:
            raise ValueError(f"without {shortened(part)!r}: {topology.name} has no node {shortened(unknown[0])}")
        a, b = map(names.index, part.split("-"))
        cable: NDArray[np.bool_] = ((src == a) & (dst == b)) | ((src == b) & (dst == a))
        if not cable.any():
            raise ValueError(f"without {shortened(part)!r}: {topology.name} has no cable there")
        return cable
    nodes = _ends(topology, what)
    which = whole(f"without {what}", number, f"{what} 1")
    if which >= len(nodes):
        raise ValueError(f"without {what} {which}: {topology.name} has {len(nodes)} of them, counted from 0")
    touched: NDArray[np.bool_] = (src == nodes[which]) | (dst == nodes[which])
    return touched & _outward(topology) if what == "card" else touched
