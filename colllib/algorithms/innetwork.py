"""Collectives in which switches take part: they add, replicate and take bundles apart.

Switches are nodes of the schedule. Every message goes over one link, up from a rank towards the
root of the switches' tree or down from it, and each level is a step. What only is copied or passed
on never comes down a link that it went up. Cut into segments the way up and the way down overlap;
what formulas call the fused limit is what many segments approach.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from colllib.closed_form import ONE_SWITCH, ONE_SWITCH_SEGMENTED, Condition, CostFunction, closed_form
from colllib.cost import Cost
from colllib.exact import IntArray
from colllib.limits import MOST_MESSAGES, check_size
from colllib.primitives import (
    Blocks,
    all_gather,
    all_reduce,
    all_to_all,
    broadcast,
    check_ranks,
    reduce,
    reduce_scatter,
)
from colllib.schedule import Schedule, Step, in_sequence, pipelined
from colllib.topology import Topology
from colllib.topology.cuts import check_connected
from colllib.topology.star import one_switch

Mask = NDArray[np.bool_]
#: What a switch may be able to do, and the verb for it.
ABILITIES = {"combines": "add", "replicates": "replicate", "scatters": "take bundles apart"}
#: A step through one switch: "up" or "down", and the share of M on every port.
Stage = tuple[str, Fraction]
_ONE_SHOT: tuple[Stage, ...] = (("up", Fraction(1)), ("down", Fraction(1)))


class SwitchTree:
    """The switches of a topology as a tree above its ranks, with the last switch as root.

    Attributes:
        parent: the node above each node, -1 at the root, shape (nodes,).
        level: 0 for ranks, else one more than the highest node below, shape (nodes,).
        below: whether rank r stands below node n, shape (nodes, N).

    Raises:
        ValueError: if the topology is no tree with ranks as its leaves; `NoRouteError` where some are cut off.
    """

    def __init__(self, topology: Topology) -> None:
        check_size(topology.name, topology.nodes * topology.ranks, MOST_MESSAGES, "pairs of nodes and ranks")
        near: list[set[int]] = [set() for _ in range(topology.nodes)]
        for a, b in zip(topology.link_src.tolist(), topology.link_dst.tolist(), strict=True):
            near[a].add(b)
            near[b].add(a)
        self.ranks, self.nodes, self.switches = topology.ranks, topology.nodes, topology.switches
        root = topology.nodes - 1
        self.parent = np.full(topology.nodes, -1)
        order, seen = [root], {root}
        for up in order:  # grows while it is walked: breadth first
            for down in sorted(near[up] - seen):
                self.parent[down] = up
                order.append(down)
            seen |= near[up]
        inner = any(len(near[rank]) != 1 for rank in range(topology.ranks))
        tree = len(order) == topology.nodes and sum(map(len, near)) == 2 * (topology.nodes - 1)
        if topology.switches == 0 or inner or not tree:
            check_connected(topology)
            raise ValueError(f"{topology.name}: in-network collectives need ranks below a tree of switches")
        self.level = np.zeros(topology.nodes, dtype=np.intp)
        self.below = np.eye(topology.nodes, topology.ranks, dtype=np.bool_)
        for node in reversed(order[1:]):
            self.level[self.parent[node]] = max(self.level[self.parent[node]], self.level[node] + 1)
            self.below[self.parent[node]] |= self.below[node]
        # a leaf switch may hang high in an uneven tree: a node sends up when all below it can have arrived
        self.height = int(self.level[root])

    def above(self, ranks: IntArray) -> Mask:
        """For each node and block whether the block's rank, or a group of all ranks, stands below: (nodes, B)."""
        check_size(f"{len(ranks)} blocks at {self.nodes} nodes", len(ranks) * self.nodes, MOST_MESSAGES, "messages")
        everyone = (ranks >= self.ranks).all()
        return np.ones((self.nodes, len(ranks)), dtype=np.bool_) if everyone else self.below[:, ranks]

    def up(self, carries: Mask, add: bool) -> list[Step]:
        """All levels upwards: node n sends block b to its parent where carries[n, b]."""
        return [Step.of(node, self.parent[node], block, add) for node, block in self._by_level(carries)]

    def down(self, carries: Mask) -> list[Step]:
        """All levels downwards: node n receives block b from its parent where carries[n, b]."""
        return [Step.of(self.parent[node], node, block) for node, block in reversed(self._by_level(carries))]

    def _by_level(self, carries: Mask) -> list[tuple[IntArray, ...]]:
        levels = range(self.height if self.ranks > 1 else 0)  # one rank has nothing to send
        return [np.nonzero(carries & (self.level == level)[:, None]) for level in levels]


def room(radix: int, tiers: int) -> int:
    """The most ranks below so many tiers of switches with one uplink each.

    >>> from colllib.topology import switch_tree
    >>> room(4, 2), [SwitchTree(switch_tree(ranks, 4)).height for ranks in (12, 13)]
    (12, [2, 3])
    """
    return int(radix * (radix - 1) ** (tiers - 1))


def _one_shot(tree: SwitchTree, blocks: Blocks, segments: int) -> Schedule:
    """Blocks come up from all their sources; sums go down to their targets, copies wherever they did not pass."""
    up, adds = tree.above(blocks.source), bool((blocks.source >= tree.ranks).all())
    steps = tree.up(up, adds) + tree.down(tree.above(blocks.target) if adds else ~up)
    return pipelined(Schedule.from_steps(blocks, steps, tree.switches), segments)


def one_shot_all_reduce(topology: Topology, *, segments: int = 1) -> Schedule:
    """Every rank pushes its vector up, the switches add, and the sum is replicated down.

    Args:
        topology: ranks below one switch or a tree of them.
        segments: P, into how many every block is cut and pipelined.

    Source: Graham et al. (2016), section 3; Klenk et al. (2020).

    >>> from colllib.topology import star
    >>> one_shot_all_reduce(star(8)).num_steps
    2
    """
    return _one_shot(SwitchTree(topology), all_reduce(topology.ranks), segments)


def reduce_to_root(topology: Topology, *, segments: int = 1, root: int = 0) -> Schedule:
    """Every rank pushes its vector up, the switches add, and the sum goes down to the root.

    >>> from colllib.topology import star
    >>> reduce_to_root(star(8), root=3).num_steps
    2
    """
    return _one_shot(SwitchTree(topology), reduce(topology.ranks, root=root), segments)


def multicast(topology: Topology, *, segments: int = 1, root: int = 0) -> Schedule:
    """The root pushes its vector up once, and the switches replicate it down to all other ranks.

    >>> from colllib.topology import star
    >>> multicast(star(8)).num_steps
    2
    """
    return _one_shot(SwitchTree(topology), broadcast(topology.ranks, root=root), segments)


def scatter_reduced(topology: Topology, *, segments: int = 1) -> Schedule:
    """Reduce-scatter: every rank pushes its vector up, the switches add, and each slice goes down to its owner.

    >>> from colllib.topology import star
    >>> scatter_reduced(star(8)).num_steps
    2
    """
    return _one_shot(SwitchTree(topology), reduce_scatter(topology.ranks), segments)


def gather_multicast(topology: Topology, *, segments: int = 1) -> Schedule:
    """All-gather: every rank pushes its shard up, and the switches replicate it down to all other ranks.

    >>> from colllib.topology import star
    >>> gather_multicast(star(8)).num_steps
    2
    """
    return _one_shot(SwitchTree(topology), all_gather(topology.ranks), segments)


def two_shot_all_reduce(topology: Topology, *, segments: int = 1) -> Schedule:
    """A reduce-scatter through the switches, then an all-gather through them, as NVLink SHARP does it.

    Each rank pushes its vector and the sum of its slice, and receives that sum and the other slices.

    >>> from colllib.topology import star
    >>> two_shot_all_reduce(star(8)).num_steps
    4
    """
    return pipelined(in_sequence(scatter_reduced(topology), gather_multicast(topology)), segments)


def scatter_bundles(topology: Topology, *, segments: int = 1) -> Schedule:
    """All-to-all: every rank pushes all its blocks up in one message, and the switches take it apart.

    On a tree of switches a block turns around in the lowest switch above both its ranks.

    >>> from colllib.execution import execute
    >>> from colllib.topology import switch_tree
    >>> tree = switch_tree(12, 4, scatters=True)  # four leaves of three
    >>> run = execute(scatter_bundles(tree), tree)
    >>> run.schedule.num_steps, max(run.link_total)
    (4, Fraction(9, 4))
    """
    tree = SwitchTree(topology)
    blocks = all_to_all(tree.ranks)
    rises, falls = (tree.above(side) for side in (blocks.source, blocks.target))
    steps = tree.up(rises & ~falls, add=False) + tree.down(falls & ~rises)
    return pipelined(Schedule.from_steps(blocks, steps, tree.switches), segments)


@cache
def _windows(stages: tuple[Stage, ...], segments: int, up: Fraction, down: Fraction) -> tuple[Cost, Cost]:
    """The cost, in shares of a segment, of a run in no more segments than stages, and of a step of all stages.

    The busy stages of a step are a window that grows, stands for every further segment, and shrinks: stage i works on
    segment t - i in step t. What goes up and what comes down share no link, and a step lasts as long as the slower way.
    """
    latency = {"up": up, "down": down}

    def step(busy: tuple[Stage, ...]) -> Cost:
        loads = [sum(share for way, share in busy if way == side) for side in latency]
        return Cost(max(latency[way] for way, _ in busy), max(loads))

    rim = [step(stages[max(0, t - segments + 1) : t + 1]) for t in range(len(stages) + segments - 1)]
    return sum(rim, Cost(0, 0)), step(stages)


def _two_shots(ranks: int) -> list[Stage]:
    part = Fraction(1, ranks)
    return [("up", Fraction(1)), ("down", part), ("up", part), ("down", 1 - part)]


def _cost_of(
    stages: Callable[[int], Sequence[Stage]], n_alpha: str, n_beta: str, holds: Condition = ONE_SWITCH
) -> CostFunction:
    """The cost of stages through one switch, whose formulas are those of a switch that takes half of alpha.

    >>> from colllib.topology import star
    >>> whole_vector_cost(star(8)), whole_vector_cost(star(8), segments=9)
    (Cost(n_alpha=1, n_beta=2), Cost(n_alpha=5, n_beta=10/9))
    >>> scatter_reduced_cost(star(8))
    Cost(n_alpha=1, n_beta=9/8)
    """

    @closed_form(n_alpha, n_beta, holds)
    def cost(topology: Topology, segments: int = 1) -> Cost:
        latencies = one_switch(topology)
        if latencies is None:
            raise ValueError(f"{topology.name}: the closed form is that of one switch; execute it")
        course = tuple(stages(topology.ranks))
        few = min(segments, len(course))
        rim, standing = _windows(course, few, *latencies)
        full = segments - few
        load = Fraction(rim.n_beta + full * standing.n_beta) / segments / topology.bandwidth[0]
        return Cost(rim.n_alpha + full * standing.n_alpha, load)

    return cost


#: Of `one_shot_all_reduce`, `reduce_to_root` and `multicast`.
whole_vector_cost = _cost_of(lambda ranks: _ONE_SHOT, "(P + 1) / 2", "(P + 1) / P")
scatter_reduced_cost = _cost_of(lambda ranks: _two_shots(ranks)[:2], "(P + 1) / 2", "(P * N + 1) / (P * N)")
gather_multicast_cost = _cost_of(lambda ranks: _two_shots(ranks)[2:], "(P + 1) / 2", "(P * (N - 1) + 1) / (P * N)")
#: n_beta tends to 1 + 1/N.
two_shot_cost = _cost_of(_two_shots, "(P + 3) / 2", "((P + 3) * N + P - 4) / (P * N)", ONE_SWITCH_SEGMENTED)
scatter_bundles_cost = _cost_of(
    lambda ranks: [(way, 1 - Fraction(1, ranks)) for way in ("up", "down")],
    "(P + 1) / 2",
    "(P + 1) * (N - 1) / (P * N)",
)


def port_load(ranks: int, *, shots: int) -> Fraction:
    """What a port carries in an all-reduce through a switch that adds: n_beta in infinitely many segments.

    Args:
        shots: 1 for whole vectors (`one_shot_all_reduce`), 2 for slices (`two_shot_all_reduce`).

    >>> port_load(8, shots=1), port_load(8, shots=2)
    (Fraction(1, 1), Fraction(9, 8))
    """
    check_ranks(ranks)
    if shots not in (1, 2):
        raise ValueError(f"shots = {shots}: whole vectors take 1, slices 2")
    return Fraction(1) if shots == 1 else 1 + Fraction(1, ranks)
