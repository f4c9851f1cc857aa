"""Clusters of several tiers at the anchor: their ladders for each primitive, and formulas for two tiers.

The clusters are those that one buys for about 512 ranks: boxes of eight GPUs on rails, and racks of 72.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from colllib.formula import Formula
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


# -- formulas for B boxes of G ranks ---------------------------------------------------------------


@dataclass(frozen=True)
class TwoTiers:
    """A hierarchical schedule over B boxes of G ranks, a card for each, in one piece and in the order that is right."""

    primitive: str
    tiers: str  # the algorithm of both
    inner: Formula  # latencies in the boxes
    outer: Formula  # and between them
    port: Formula  # bytes in units of M on the busiest port of a box, added up over the steps
    card: Formula  # and on the busiest card


#: True for any B and G.
TWO_TIERS = tuple(
    TwoTiers(primitive, tiers, *map(Formula, texts))
    for primitive, tiers, *texts in (
        ("broadcast", "binomial-tree", "lg(G)", "lg(B)", "lg(G)", "lg(B)"),
        ("all-gather", "ring", "G - 1", "B - 1", "(G - 1) / G", "(B - 1) / (B * G)"),
        ("all-gather", "bruck", "lg(G)", "lg(B)", "(G - 1) / G", "(B - 1) / (B * G)"),
        ("all-reduce", "ring", "2 * (G - 1)", "2 * (B - 1)", "2 * (G - 1) / G", "2 * (B - 1) / (B * G)"),
        ("all-reduce", "bruck", "2 * lg(G)", "2 * lg(B)", "2 * (G - 1) / G", "2 * (B - 1) / (B * G)"),
        ("all-to-all", "pairwise", "G - 1", "B - 1", "(G - 1) / G", "(B - 1) / B"),
    )
)
