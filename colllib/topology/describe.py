"""What a topology is built from: its switches and their ports, its cables, and what each tier carries."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from colllib.exact import IntArray
from colllib.topology.base import Topology

MOST_NEIGHBORS = 8  # of a rank, that are listed


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
    bisection: Fraction | None  # of half of them; None where links join ranks: a cut need not cross so many


def switches(topology: Topology, radix: int = 0) -> list[Switches]:
    """The switches, alike ones together, those with the most ports of the innermost tiers first; shared cards are none.

    Args:
        radix: ports of the switches that are bought. A switch here may stand for several equal ones in parallel, over
            which the cables from each neighbor divide, or if they are too few, for as many as its ports fill.

    >>> from colllib.topology.expression import find
    >>> for alike in switches(find("superpod:32"), radix=144):
    ...     print(*alike)
    32 {'box': 72} 0
    32 {'card': 72, 'uplink': 72} 32
    4 {'uplink': 576} 16
    """
    ports = _ports(topology)
    bought = np.flatnonzero(~_shared_cards(topology)[topology.ranks :]) + topology.ranks
    rows, first, counts = np.unique(ports[bought], axis=0, return_index=True, return_counts=True)
    alike = []
    for row, node, number in zip(rows[::-1], bought[first[::-1]].tolist(), counts[::-1].tolist(), strict=True):
        chassis = _in_parallel(topology, node, radix) if radix else 0
        alike.append(Switches(number, _by_tier(topology, row), number * chassis))
    return alike


def _in_parallel(topology: Topology, node: int, radix: int) -> int:
    """How many switches of some ports stand for one, whose cables outside boxes divide over them if they can."""
    cables = np.array([tier.cables * (tier.level > 0 or topology.levels == 1) for tier in topology.tiers])
    into = topology.link_dst == node
    of_neighbor = np.bincount(topology.link_src[into], cables[topology.tier[into]]).astype(np.intp)
    fewest, common = -(-int(of_neighbor.sum()) // radix), int(np.gcd.reduce(of_neighbor))
    return next((number for number in range(max(1, fewest), common + 1) if common % number == 0), fewest)


def _ports(topology: Topology) -> IntArray:
    """How many cables of each tier lead to every node."""
    cables = np.array([tier.cables for tier in topology.tiers])[topology.tier]
    ports = np.zeros((topology.nodes, len(topology.tiers)), dtype=np.intp)
    np.add.at(ports, (topology.link_dst, topology.tier), cables)
    return ports


def _by_tier(topology: Topology, counts: IntArray) -> dict[str, int]:
    return {tier.name: int(count) for tier, count in zip(topology.tiers, counts, strict=True) if count}


def drawn(topology: Topology) -> list[str]:
    """What the cables of rank 0 lead to, and those of that further up: a tree in text, alike switches once.

    >>> from colllib.topology.expression import find
    >>> print(*drawn(find("boxes:4x8,cards=4")), sep="\\n")
    rank 0
    ├─ box: switch with 8 box
    └─ card: card of 2 ranks
       └─ card: switch with 4 card, 4 uplink
          └─ uplink: switch with 16 uplink
    >>> print(*drawn(find("torus:4x3")), sep="\\n")
    rank 0
    └─ link: ranks 1, 3, 4, 8
    """
    above, nodes = np.where(np.arange(topology.nodes) < topology.ranks, 0, -1), np.arange(topology.ranks)
    while len(nodes):  # how far every switch is from the nearest rank
        next_to = np.unique(topology.link_dst[np.isin(topology.link_src, nodes)])
        nodes = next_to[above[next_to] < 0]
        above[nodes] = above.max() + 1
    return ["rank 0", *_further_up(topology, 0, above, _ports(topology), _shared_cards(topology))]


def _further_up(
    topology: Topology, node: int, above: IntArray, ports: IntArray, cards: NDArray[np.bool_]
) -> Iterator[str]:
    """Lines of what is one link farther from the ranks, or of the ranks beside one, each with what is behind it."""
    out = topology.link_src == node
    alike: dict[tuple[int, str], list[int]] = {}
    for other, tier in sorted({*zip(topology.link_dst[out].tolist(), topology.tier[out].tolist(), strict=True)}):
        named = "rank" if other < topology.ranks else "switch with " + counted(_by_tier(topology, ports[other]))
        if cards[other]:
            named = f"card of {int((above[topology.link_dst[topology.link_src == other]] == 0).sum())} ranks"
        if above[other] > above[node] or (node < topology.ranks and other < topology.ranks):
            alike.setdefault((tier, named), []).append(other)
    for (tier, named), others in alike.items():
        last = (tier, named) == [*alike][-1]
        many = f"{len(others)} × " if len(others) > 1 else ""
        if named == "rank":
            shown = ", ".join(map(str, others[:MOST_NEIGHBORS])) + (", ..." if others[MOST_NEIGHBORS:] else "")
            many, named = "", f"rank{'s' * (len(others) > 1)} {shown}"
        yield f"{'└─' if last else '├─'} {topology.tiers[tier].name}: {many}{named}"
        if others[0] >= topology.ranks:
            for line in _further_up(topology, others[0], above, ports, cards):
                yield f"{'   ' if last else '│  '}{line}"


def counted(ports: dict[str, int]) -> str:
    """Ports of a switch by tier, in words."""
    return ", ".join(f"{count} {tier}" for tier, count in ports.items())


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


def slots(topology: Topology) -> NDArray[np.bool_]:
    """Which links lead from a rank to a card that it shares, or back: no cables."""
    cards, src, dst = _shared_cards(topology), topology.link_src, topology.link_dst
    of_slots: NDArray[np.bool_] = (cards[dst] & (src < topology.ranks)) | (cards[src] & (dst < topology.ranks))
    return of_slots


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
    ranks = topology.ranks
    laid = (wide[pair] > wide[back]) | ((wide[pair] == wide[back]) & (src <= dst))
    links = np.bincount(topology.tier[laid & ~slots(topology)], minlength=len(topology.tiers)).tolist()
    joined = bool(np.any((src < ranks) & (dst < ranks)))  # in boxes, by links of their own
    tiers = []
    for tier, pairs in zip(topology.tiers, links, strict=True):
        bandwidth = Fraction(tier.bandwidth)
        half = pairs * bandwidth / 2 if topology.switches and (tier.level or not joined) else None
        tiers.append(Wires(tier.name, tier.level, pairs * tier.cables, bandwidth / tier.cables, half))
    return tiers
