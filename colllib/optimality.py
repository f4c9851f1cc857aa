"""What a schedule on a network of ranks costs by what a rank's links carry together, and whether any could cost less.

**Two conventions.** Everywhere else BW is a link's and n_beta counts M/BW. Texts on direct-connect networks give a
node B over all its d links, so that a link has B/d: in units of M/B the same load is d times as much, `n_beta_node`.

Source: Zhao et al. (2025), "Efficient Direct-Connect Topologies for Collective Communications", and Zhao's
dissertation, section A.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from colllib.algorithms.breadth_first import all_gather_cost
from colllib.cost import Cost
from colllib.graphs.measures import degree, moore_bound
from colllib.topology.base import Topology

#: How often each shard must cross the network: once to gather or to scatter, both for an all-reduce.
PASSES = {"all-gather": 1, "reduce-scatter": 1, "all-reduce": 2}


@dataclass(frozen=True)
class AtNode:
    """A cost in the convention of a node's bandwidth, B = d BW: what a rank's d links carry together.

    It is optimal in latency if no network of as many ranks and links could take fewer steps for a pass, by the Moore
    bound for digraphs. An all-reduce that is no two passes can: one that gathers whole vectors takes one.
    """

    n_beta: Fraction  # load of the busiest link in units of M/B
    latency: bool
    bandwidth: bool  # whether n_beta is (N - 1)/N for each pass, which every rank must receive


def at_node(primitive: str, topology: Topology, cost: Cost) -> AtNode:
    """The executed cost of a primitive against the two bounds; self-loops and parallel links count in the degree.

    Raises:
        ValueError: for what is not in `PASSES`, switches, ranks of unequal degree, or links of unequal bandwidth.

    >>> from colllib.algorithms import breadth_first
    >>> from colllib.topology.expression import find
    >>> kautz = find("kautz:4x1024")
    >>> at_node("all-gather", kautz, breadth_first.all_gather_cost(kautz))
    AtNode(n_beta=Fraction(341, 256), latency=True, bandwidth=False)
    """
    if primitive not in PASSES:
        raise ValueError(f"no bounds for {primitive!r}: known are {', '.join(PASSES)}")
    ranks, links, passes = topology.ranks, degree(topology), PASSES[primitive]
    n_beta = cost.n_beta * Fraction(links)
    hops = ceil(Fraction(cost.n_alpha) / passes)
    fewest = hops == 0 or moore_bound(links, hops - 1) < ranks
    return AtNode(n_beta, fewest, n_beta == Fraction(passes * (ranks - 1), ranks))


def breadth_first_optimal(graph: Topology) -> bool:
    """Whether a breadth-first all-gather loads every link evenly in every step, so that no schedule takes less time.

    >>> from colllib.topology.expression import find
    >>> breadth_first_optimal(find("hypercube:4")), breadth_first_optimal(find("diamond"))
    (True, False)
    """
    return at_node("all-gather", graph, all_gather_cost(graph)).bandwidth
