"""Clusters of several tiers at the anchor: who is fastest for each primitive, and formulas for two tiers.

The clusters are those that one buys for about 512 ranks: boxes of eight GPUs on rails, and pods of
72 whose rails are apart. Only schedules of a few steps or of few messages are tried, so that a page
can execute them all; `colllib ladder --on` has the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from colllib.algorithms import find as find_algorithm
from colllib.execution import Execution
from colllib.formula import Formula
from colllib.ladder import ANCHOR_MESSAGE, Entry
from colllib.topology import PRESETS, NoRouteError, Topology
from colllib.topology import find as find_topology

#: What each is called: its topology, and the preset whose speeds it has.
CLUSTERS = {
    "64 boxes of 8 on rails": ("boxes:64x8,rails=8", "dgx-h100"),
    "8 NVL72 pods": ("superpod:8", "superpod"),
}

#: What is tried of each primitive: algorithm, the algorithms of its tiers, and in how many segments.
TRIED: dict[str, tuple[tuple[str, str, tuple[int, ...]], ...]] = {
    **dict.fromkeys(
        ("broadcast", "reduce"),
        (
            ("binomial-tree", "", (1,)),
            ("hierarchical", "binomial-tree", (1,)),
            ("hierarchical", "two-tree", (4, 16, 64)),
            ("hierarchical", "scatter-allgather", (1,)),
        ),
    ),
    **dict.fromkeys(
        ("all-gather", "reduce-scatter"),
        (("ring", "", (1,)), ("hierarchical", "ring", (1, 4)), ("hierarchical", "bruck", (1, 4))),
    ),
    "all-reduce": (
        ("ring", "", (1,)),
        ("hierarchical", "ring", (1, 4, 16)),
        ("hierarchical", "bruck,rabenseifner", (1, 4, 16)),
        ("hierarchical", "bruck,recursive-doubling", (1, 4, 16)),
    ),
    "all-to-all": (
        ("pairwise-by-boxes", "", (1,)),
        ("hierarchical", "pairwise", (1,)),
        ("hierarchical", "bruck", (1,)),
    ),
}


@dataclass(frozen=True, eq=False)
class Way:
    """An executed schedule on a cluster.

    Attributes:
        label: the algorithm, with those of its tiers and its segments.
        run: the execution.
        speeds: alphas in seconds and bandwidths in bytes per second, innermost first.
    """

    label: str
    run: Execution
    speeds: tuple[tuple[float, ...], tuple[float, ...]]

    def seconds(self, message: float = ANCHOR_MESSAGE, kept: Sequence[float] = (1, 1)) -> float:
        """Its time on the lock-step clock.

        Args:
            message: M in bytes.
            kept: which part of BW the boxes keep under load, and which part all tiers outside.
        """
        alpha, bandwidth = self.speeds
        real = [bw * kept[min(level, 1)] for level, bw in enumerate(bandwidth)]
        return self.run.cost.seconds(message=message, alpha=alpha, bandwidth=real)


@cache
def cluster(name: str) -> tuple[Topology, tuple[tuple[float, ...], tuple[float, ...]]]:
    """A cluster's topology and speeds.

    >>> {name: cluster(name)[0].ranks for name in CLUSTERS}
    {'64 boxes of 8 on rails': 512, '8 NVL72 pods': 576}
    """
    expression, preset = CLUSTERS[name]
    topology = find_topology(expression)
    return topology, PRESETS[preset].speeds(topology.levels)


@cache
def ways(primitive: str, name: str) -> tuple[Way, ...]:
    """All that is tried of a primitive on a cluster, executed; what has no route there is left out.

    >>> [way.label for way in ways("all-to-all", "8 NVL72 pods")]
    ['hierarchical (pairwise)', 'hierarchical (bruck)']
    """
    topology, speeds = cluster(name)
    found = []
    for algorithm, tiers, cuts in TRIED[primitive]:
        options = {"tiers": _for_each_tier(tiers, topology)} if tiers else {}
        entry = Entry(find_algorithm(primitive, algorithm).configured(options), topology)
        label = entry.algorithm.label + (f" ({tiers.replace(',', ', ')})" if tiers else "")
        for segments in cuts:
            with suppress(NoRouteError):
                run = entry.execution(segments)
                found.append(Way(label + (f", P = {segments}" if segments > 1 else ""), run, speeds))
    return tuple(found)


def _for_each_tier(tiers: str, topology: Topology) -> str:
    """The first name for all tiers but the outermost one."""
    assert topology.lattice is not None
    *inner, outer = tiers.split(",")
    return ",".join([*(inner or [outer]) * (len(topology.lattice.dims) - 1), outer])


def fastest(primitive: str, name: str, message: float = ANCHOR_MESSAGE, kept: Sequence[float] = (1, 1)) -> Way:
    """The fastest of what is tried; arguments as for `ways` and `Way.seconds`.

    >>> fastest("broadcast", "64 boxes of 8 on rails", 1e3).label
    'binomial tree'
    """
    return min(ways(primitive, name), key=lambda way: way.seconds(message, kept))


# -- formulas for B boxes of G ranks ---------------------------------------------------------------


@dataclass(frozen=True)
class TwoTiers:
    """A hierarchical schedule over B boxes of G ranks, a card for each, in one piece and in the order that is right.

    Attributes:
        primitive: its name.
        tiers: the algorithm of both tiers.
        inner, outer: latencies in the boxes and between them.
        port, card: bytes in units of M on the busiest port of a box and the busiest card, added up over the steps.
    """

    primitive: str
    tiers: str
    inner: Formula
    outer: Formula
    port: Formula
    card: Formula


def _form(primitive: str, tiers: str, *texts: str) -> TwoTiers:
    return TwoTiers(primitive, tiers, *map(Formula, texts))


#: True for any B and G.
TWO_TIERS = (
    _form("broadcast", "binomial-tree", "lg(G)", "lg(B)", "lg(G)", "lg(B)"),
    _form("all-gather", "ring", "G - 1", "B - 1", "(G - 1) / G", "(B - 1) / (B * G)"),
    _form("all-reduce", "ring", "2 * (G - 1)", "2 * (B - 1)", "2 * (G - 1) / G", "2 * (B - 1) / (B * G)"),
    _form("all-to-all", "pairwise", "G - 1", "B - 1", "(G - 1) / G", "(B - 1) / B"),
)
