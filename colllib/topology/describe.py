"""What a topology is built from: its switches and their ports, its cables, and what each tier carries."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from colllib.topology.base import Topology


class Switches(NamedTuple):
    """Equal switches."""

    number: int
    ports: dict[str, int]  # how many cables of each tier each one has, by the tier's name
    chassis: int  # how many switches of the given radix it takes for all of them; 0 without one


class Wires(NamedTuple):
    """The links of a tier; bandwidths are one way, in units of the BW of its level."""

    tier: str  # its name
    level: int  # which alpha and BW it has
    cables: int  # full-duplex ones: between two nodes as many as lead the way that more lead, in the tier of that way
    bandwidth: Fraction  # of one
    bisection: Fraction | None  # of half of them; None without switches, where no cut of the ranks need cross so many


def switches(topology: Topology, radix: int = 0) -> list[Switches]:
    """The switches, alike ones together, those with the most ports of the innermost tiers first; shared cards are none.

    Args:
        radix: ports of the switches that are bought. A switch here may stand for several equal ones in parallel.

    >>> from colllib.topology.expression import find
    >>> for alike in switches(find("superpod:32"), radix=144):
    ...     print(*alike)
    32 {'box': 72} 0
    32 {'card': 72, 'uplink': 72} 32
    4 {'uplink': 576} 16
    """
    cables = np.array([tier.cables for tier in topology.tiers])[topology.tier]
    ports = np.zeros((topology.nodes, len(topology.tiers)), dtype=np.intp)
    np.add.at(ports, (topology.link_dst, topology.tier), cables)
    bought = np.flatnonzero(~_shared_cards(topology)[topology.ranks :]) + topology.ranks
    rows, counts = np.unique(ports[bought], axis=0, return_counts=True)
    outside = np.array([tier.level > 0 or topology.levels == 1 for tier in topology.tiers])
    alike = []
    for row, number in zip(rows[::-1], counts[::-1].tolist(), strict=True):
        ports_of_tier = {tier.name: int(count) for tier, count in zip(topology.tiers, row, strict=True) if count}
        chassis = -(-int(row[outside].sum()) // radix) if radix else 0
        alike.append(Switches(number, ports_of_tier, number * chassis))
    return alike


def _shared_cards(topology: Topology) -> NDArray[np.bool_]:
    """Which nodes are network cards of several ranks: their links are of the cards' tier, all but one to ranks."""
    src, of_cards = topology.link_src, np.array([tier.name == "card" for tier in topology.tiers])[topology.tier]
    links, to_cards, to_ranks = (
        np.bincount(src[chosen], minlength=topology.nodes)
        for chosen in (slice(None), of_cards, topology.link_dst < topology.ranks)
    )
    shared: NDArray[np.bool_] = (
        (np.arange(topology.nodes) >= topology.ranks) & (to_cards == links) & (to_ranks == links - 1) & (links > 0)
    )
    return shared


def wires(topology: Topology) -> list[Wires]:
    """The links of each tier, innermost first; what leads from a rank to a card that it shares is no cable.

    >>> from colllib.topology.expression import find
    >>> [(tier.tier, tier.cables, str(tier.bisection)) for tier in wires(find("superpod:32"))]
    [('box', 2304, '1152'), ('card', 2304, '1152'), ('uplink', 2304, '1152')]
    >>> [tier.cables for on in ("biring:2x5", "uniring:2x5") for tier in wires(find(on))]
    [5, 10]
    """
    src, dst = topology.link_src, topology.link_dst
    cables = np.array([tier.cables for tier in topology.tiers])[topology.tier]
    ends, pair = np.unique(src * topology.nodes + dst, return_inverse=True)
    wide = np.append(np.bincount(pair, cables), 0)  # of all links from one node to another
    back = np.searchsorted(ends, dst * topology.nodes + src)
    back = np.where(np.append(ends, -1)[back] == dst * topology.nodes + src, back, -1)
    cards, ranks = _shared_cards(topology), topology.ranks
    slots = (cards[dst] & (src < ranks)) | (cards[src] & (dst < ranks))
    laid = (wide[pair] > wide[back]) | ((wide[pair] == wide[back]) & (src <= dst))
    links = np.bincount(topology.tier[laid & ~slots], minlength=len(topology.tiers)).tolist()
    tiers = []
    for tier, pairs in zip(topology.tiers, links, strict=True):
        bandwidth = Fraction(tier.bandwidth)
        half = pairs * bandwidth / 2 if topology.switches else None
        tiers.append(Wires(tier.name, tier.level, pairs * tier.cables, bandwidth / tier.cables, half))
    return tiers
