"""What a topology is built from: its switches and their ports, its cables, and what each tier carries."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from colllib.topology.base import Topology


class Switches(NamedTuple):
    """Equal switches.

    Attributes:
        number: how many.
        ports: how many cables of each tier each one has, by the tier's name.
        chassis: how many switches of the given radix it takes for all of them; 0 without one.
    """

    number: int
    ports: dict[str, int]
    chassis: int


class Wires(NamedTuple):
    """The links of a tier.

    Attributes:
        tier: its name.
        level: which alpha and BW it has.
        cables: full-duplex ones.
        bandwidth: what each carries one way, in units of the BW of its level.
        bisection: what half of them carry together, one way, in units of the BW of its level.
    """

    tier: str
    level: int
    cables: int
    bandwidth: Fraction
    bisection: Fraction


def switches(topology: Topology, radix: int = 0) -> list[Switches]:
    """The switches, alike ones together, those with the most ports of the innermost tiers first.

    Args:
        topology: which.
        radix: ports of the switches that are bought. A switch here may stand for several equal ones in parallel.

    >>> from colllib.topology import find
    >>> for alike in switches(find("superpod:32"), radix=144):
    ...     print(*alike)
    32 {'box': 72} 0
    32 {'card': 72, 'uplink': 72} 32
    4 {'uplink': 576} 16
    """
    cables = np.array([tier.cables for tier in topology.tiers])[topology.tier]
    ports = np.zeros((topology.nodes, len(topology.tiers)), dtype=np.intp)
    np.add.at(ports, (topology.link_dst, topology.tier), cables)
    found, counts = np.unique(ports[topology.ranks :], axis=0, return_counts=True)
    names = [tier.name for tier in topology.tiers]
    result = []
    for row, count in zip(found[::-1].tolist(), counts[::-1].tolist(), strict=True):
        network = sum(
            held for held, tier in zip(row, topology.tiers, strict=True) if tier.level or topology.levels == 1
        )
        result.append(
            Switches(
                count,
                {name: held for name, held in zip(names, row, strict=True) if held},
                count * -(-network // radix) if radix else 0,
            )
        )
    return result


def wires(topology: Topology) -> list[Wires]:
    """The links of each tier, innermost first.

    >>> from colllib.topology import find
    >>> [(tier.tier, tier.cables, str(tier.bisection)) for tier in wires(find("superpod:32"))]
    [('box', 2304, '1152'), ('card', 2304, '1152'), ('uplink', 2304, '1152')]
    """
    links = np.bincount(topology.tier, minlength=len(topology.tiers))
    return [
        Wires(
            tier.name,
            tier.level,
            count * tier.cables // 2,
            tier.bandwidth / tier.cables,
            count * tier.bandwidth / 4,
        )
        for tier, count in zip(topology.tiers, links.tolist(), strict=True)
    ]
