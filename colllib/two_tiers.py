"""Clusters of several tiers at the anchor: their ladders for each primitive.

The clusters are those that one buys for about 512 ranks: boxes of eight GPUs on rails, and racks of 72.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from colllib.ladder import ANCHOR_MESSAGE, Rung, ladder
from colllib.topology import Topology
from colllib.topology.expression import find
from colllib.topology.presets import PRESETS

#: What each is called: its topology, whose switches take no part, and the preset whose speeds it has.
CLUSTERS = {
    "64 boxes of 8 on rails": ("boxes:64x8,rails=8", "dgx-h100"),
    "8 NVL72 racks": ("nvl72:8,inc=none", "nvl72"),
}


@cache
def cluster(name: str) -> Topology:
    """A cluster's topology.

    >>> {name: cluster(name).ranks for name in CLUSTERS}
    {'64 boxes of 8 on rails': 512, '8 NVL72 racks': 576}
    """
    return find(CLUSTERS[name][0])


def price(name: str, message: float = ANCHOR_MESSAGE, efficiency: Sequence[float] = (1, 1)) -> dict[str, Any]:
    """Message, alphas and bandwidths of one of `CLUSTERS`, whose boxes and outer tiers keep a part of BW under load.

    >>> price("8 NVL72 racks", efficiency=(1, 0.8))["bandwidth"]
    (900000000000.0, 40000000000.0)
    """
    alpha, bandwidth = PRESETS[CLUSTERS[name][1]].speeds(cluster(name).levels)
    effective = tuple(speed * efficiency[min(level, 1)] for level, speed in enumerate(bandwidth))
    return {"message": message, "alpha": alpha, "bandwidth": effective}


@cache
def rungs(primitive: str, name: str, message: float = ANCHOR_MESSAGE) -> list[Rung]:
    """The ladder of a primitive on a cluster, fastest first.

    >>> rungs("all-gather", "8 NVL72 racks")[0].label
    'hierarchical, bruck + recursive-doubling'
    """
    return ladder(primitive, cluster(name), **price(name, message))
