"""A topology as what trees are packed into: whole capacities between nodes, over one unit of bandwidth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd

import numpy as np

from colllib.exact import Fractions, IntArray, integers
from colllib.limits import check_size
from colllib.primitives import check_rank, is_whole
from colllib.topology import Topology, from_links

MOST_NODES = 2**11  # of a table with a capacity for every two


@dataclass(frozen=True, eq=False)
class Fabric:
    """How much every node can send to every other one directly, and who has how much to send to all.

    Raises:
        ValueError: for a rank that no link leads to, or from if they are turned round.
    """

    topology: Topology
    capacity: IntArray  # of the link from each node to each other in units of `unit`, shape (nodes, nodes)
    unit: Fraction  # the bandwidth of capacity 1: in GB/s where the topology's speeds are known, else in BW
    weight: IntArray  # what each rank has to send to all others, as whole parts of the message, shape (ranks,)
    inward: bool = False  # whether all links are turned round, for trees that lead to their roots

    def __post_init__(self) -> None:
        for rank in np.flatnonzero(~self.capacity[:, : self.ranks].any(axis=0))[: self.ranks > 1]:
            side, verb = ("from", "leave") if self.inward else ("to", "reach")
            raise ValueError(f"{self.topology.name}: no link leads {side} rank {rank}, so that nothing can {verb} it")

    @property
    def ranks(self) -> int:
        """Number of ranks N."""
        return self.topology.ranks

    @property
    def nodes(self) -> int:
        """Number of ranks and switches."""
        return len(self.capacity)

    @property
    def total(self) -> int:
        """The parts of the message, over all ranks."""
        return int(self.weight.sum())

    def leaving(self, nodes: Sequence[int]) -> Fraction:
        """The bandwidth of all links that leave a set of nodes."""
        inside = np.zeros(self.nodes, dtype=np.bool_)
        inside[list(nodes)] = True
        return int(self.capacity[inside][:, ~inside].sum()) * self.unit


def fabric(
    topology: Topology, *, root: int | None = None, weights: Sequence[int] | None = None, inward: bool = False
) -> Fabric:
    """A topology's links as capacities.

    Args:
        topology: the network. Its own speeds tell its levels apart; without them every level has the same BW.
        root: the one rank that has something to send (default: all ranks have as much).
        weights: or what each rank has to send, in whole parts.
        inward: whether to turn all links round.

    Raises:
        ValueError: for a root that is not there, weights that are none, too many nodes, two links between the same
            nodes, or a rank without a link to it.

    >>> from colllib.topology import torus
    >>> network = fabric(torus((4, 4)))
    >>> network.total, network.leaving(range(15))
    (16, Fraction(4, 1))
    """
    check_size(topology.name, topology.nodes, MOST_NODES, "ranks and switches, for trees on any fabric,")
    ranks = topology.ranks
    if root is not None:
        check_rank("root", root, ranks)
    weight = [int(root in (None, rank)) for rank in range(ranks)] if weights is None else list(weights)
    if len(weight) != ranks or not any(weight) or not all(is_whole(part) and part >= 0 for part in weight):
        raise ValueError(f"weights {weight[:8]}: {ranks} whole numbers from 0 are needed, not all 0")
    ends = topology.link_src * topology.nodes + topology.link_dst
    if len(np.unique(ends)) < len(ends):
        raise ValueError(f"{topology.name}: several links join two nodes, and a path could not say which: give it one")
    alone = ranks == topology.in_box  # its cards lead to no other box
    speeds = Fractions.of(
        0 if alone and tier.level else tier.bandwidth * speed(topology, tier.level) for tier in topology.tiers
    )
    common = gcd(*speeds.numerators.tolist())
    of_tier = integers((speeds.numerators // common).tolist())
    capacity = np.zeros((topology.nodes, topology.nodes), dtype=of_tier.dtype)
    capacity[topology.link_src, topology.link_dst] = of_tier[topology.tier]
    unit = Fraction(common, speeds.denominator)
    return Fabric(topology, capacity.T.copy() if inward else capacity, unit, integers(weight), inward)


def speed(topology: Topology, level: int) -> Fraction:
    """The BW of a level in GB/s where it is known, else 1."""
    return Fraction(topology.speeds[1][level]) / 10**9 if topology.speeds else Fraction(1)


def two_boxes() -> Topology:
    """Two boxes of four: a switch of 10 per rank in each, and one of 1 per rank between them; all can replicate.

    Source: Zhao et al. (2026), the example of their figures.

    >>> two_boxes()
    Topology(two boxes, 8 ranks, 3 switches, 32 links)
    """
    box, between = [(rank, 8 + rank // 4) for rank in range(8)], [(rank, 10) for rank in range(8)]
    links = [pair for a, b in box + between for pair in ((a, b), (b, a))]
    wide, halves = [10] * 16 + [1] * 16, [Fraction(1, 2)] * len(links)
    return from_links("two boxes", 8, links, switches=3, bandwidth=wide, alpha=halves, replicates=True)
