"""Forests: trees that are as fast together as any schedule can be, and the schedules that they make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from colllib.exact import Fractions, IntArray, multiplied
from colllib.execution import Execution, execute
from colllib.forest.bound import Bound, bound, fixed, room
from colllib.forest.fabric import Fabric, fabric, speed
from colllib.forest.packing import Tree, lowered, pack
from colllib.forest.splitting import Path, Pieces, taken, without_switches
from colllib.forest.symmetric import lattice_of, pack_by_boxes, pack_by_moves
from colllib.lattice_group import LatticeGroup
from colllib.limits import FLOW, IN_FULL, MOST_MESSAGES, TREE, check_seconds, check_size
from colllib.primitives import Blocks
from colllib.schedule import Orbit, Schedule, Step, in_sequence, pipelined, reversed_in_time
from colllib.symmetry import by_symmetry
from colllib.topology import Lattice, Topology
from colllib.topology.paths import Paths

WAYS = ("best", "moves", "boxes", "general")
ROOTED = ("broadcast", "reduce")
INWARD = ("reduce", "reduce-scatter")
PRIMITIVES = ("all-gather", "reduce-scatter", "all-reduce", *ROOTED)


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees for every part of a message, with the bound that they reach.

    Attributes:
        primitive: what their schedule makes true.
        fabric: what they are packed into; for a primitive towards the roots, with all links the other way.
        bound: what no schedule can beat, and with a given number of trees what no such trees can.
        trees: of all ranks, or of rank 0 where a lattice maps them to the others.
        way: how they were packed, "moves", "boxes" or "general".
        lattice: whose shifts map them to all other ranks, None where the trees are of all ranks.
        multicast: whether switches that can do so replicate on the way out and add on the way in.
    """

    primitive: str
    fabric: Fabric
    bound: Bound
    trees: tuple[Tree, ...]
    way: str = "general"
    lattice: Lattice | None = None
    multicast: bool = False

    @property
    def algbw(self) -> Fraction:
        """The size of the message over its time, one way, in the fabric's unit of bandwidth."""
        return self.fabric.total / self.bound.inverse_throughput

    @property
    def heights(self) -> dict[int, int]:
        """How many trees of each height there are, counted with their sizes, over all roots."""
        copies = self.lattice.ranks if self.lattice else 1
        counts: Counter[int] = Counter()
        for tree in self.trees:
            counts[tree.height] += tree.size * copies
        return dict(sorted(counts.items()))

    def schedule(self, segments: int = 1) -> Schedule:
        """In step t every tree sends along its edges that end t + 1 away from the root; segments are pipelined."""
        return pipelined(reduce(in_sequence, map(self._one_way, self._directions)), segments)

    @property
    def _directions(self) -> tuple[bool, ...]:
        """Whether the schedule goes towards the roots, for each of its parts."""
        return (True, False) if self.primitive == "all-reduce" else (self.primitive in INWARD,)

    def _one_way(self, inward: bool) -> Schedule:
        topology = self.fabric.topology
        able = topology.able("combines" if inward else "replicates", np.arange(topology.switches)) & self.multicast
        forest = self.of_all_ranks if self.lattice and able.any() else self
        hops = [(when, block, path) for block, tree in enumerate(forest.trees) for when, path in tree.messages(able)]
        hops.sort(key=itemgetter(0))
        table = np.array([(when, block, path[0], path[-1]) for when, block, path in hops], dtype=np.intp)
        when, block, src, dst = table.reshape(-1, 4).T
        schedule = Schedule.from_messages(forest._blocks, int(when.max(initial=-1)) + 1, when, Step.of(src, dst, block))
        if forest.lattice:
            outward: Schedule = Orbit(schedule, forest.lattice)
        else:
            usual = _usual_paths(topology, forest.trees, inward)
            rerouted = [(block, path) for _, block, path in hops if path != usual.get((path[0], path[-1]))]
            switches = topology.switches if able.any() else 0
            outward = replace(schedule, switches=switches, paths=Paths.of(rerouted) if rerouted else None)
        return reversed_in_time(outward) if inward else outward

    @property
    def _blocks(self) -> Blocks:
        """What the trees carry, outwards: tree b has block b."""
        ranks, unit = self.fabric.ranks, Fraction(1, self.fabric.total * self.bound.trees)
        root = np.array([tree.root for tree in self.trees], dtype=np.intp)
        share = Fractions.of(tree.size * unit for tree in self.trees)
        return Blocks(ranks, share, root, np.full(len(root), ranks), (np.arange(ranks),))

    @cached_property
    def of_all_ranks(self) -> Forest:
        """The same with the trees of every rank and their paths, which are images of rank 0's."""
        topology, ranks = self.fabric.topology, np.arange(self.fabric.ranks)
        assert self.lattice is not None
        check_size(topology.name, sum(len(tree.edges) for tree in self.trees) * len(ranks), MOST_MESSAGES, "messages")
        images = [
            Tree(to[tree.root], tree.size, tuple((to[start], to[end]) for start, end in tree.edges))
            for to in LatticeGroup.of(self.lattice).image(ranks[None, :], ranks[:, None]).tolist()
            for tree in self.trees
        ]
        usual = _usual_paths(topology, images, self.primitive in INWARD)
        trees = tuple(replace(tree, paths=tuple(usual[edge] for edge in tree.edges)) for tree in images)
        return replace(self, trees=trees, lattice=None)

    @cached_property
    def runs(self) -> tuple[Execution, ...]:
        """Its schedule, executed and proved; an all-reduce is taken for two, one after the other.

        Millions of messages are run by symmetry, where trees of one rank stand for all.
        """
        schedules = [self._one_way(inward) for inward in self._directions]
        large = isinstance(schedules[0], Orbit) and schedules[0].num_messages > IN_FULL
        return tuple((by_symmetry if large else execute)(schedule, self.fabric.topology) for schedule in schedules)

    def reached(self) -> bool:
        """Whether its schedule, executed and proved, loads the busiest link just as much as the bound says."""
        return all(busiest(run) == self.bound.inverse_throughput / self.fabric.total for run in self.runs)


def _usual_paths(topology: Topology, trees: Sequence[Tree], inward: bool) -> dict[tuple[int, int], Path]:
    """The nodes, outwards, that the topology's router passes for each edge of some trees."""
    edges = sorted({edge for tree in trees for edge in tree.edges})
    start, end = np.array(edges, dtype=np.intp).reshape(-1, 2).T
    src, dst = (end, start) if inward else (start, end)
    message, link = topology.router(src, dst)
    paths = [[node] for node in src.tolist()]
    for place, node in zip(message.tolist(), topology.link_dst[link].tolist(), strict=True):
        paths[place].append(node)
    return {edge: tuple(reversed(path) if inward else path) for edge, path in zip(edges, paths, strict=True)}


class Traffic(NamedTuple):
    """What a forest's schedule moves in all, as shares of M: on links, and out of and into ranks."""

    on_links: Fraction
    at_ranks: Fraction


def traffic(forest: Forest) -> Traffic:
    """What all links together carry, and what all ranks together send and receive, by execution.

    >>> from colllib.topology.expression import find
    >>> topology = find("dgx-h100:2,inc=box")
    >>> [str(traffic(forest(topology, multicast=on)).at_ranks) for on in (False, True)]
    ['30', '37/2']
    """
    run = execute(forest.schedule(), forest.fabric.topology)
    return Traffic(sum(run.link_total, Fraction(0)), sum(run.sent + run.received, Fraction(0)))


def busiest(run: Execution) -> Fraction:
    """The time that the busiest link of an execution needs for all it carries, as a share of M per bandwidth.

    >>> from colllib.algorithms import allgather
    >>> from colllib.topology import star
    >>> busiest(execute(allgather.ring(4), star(4)))
    Fraction(3, 4)
    """
    most = run.ledger.busiest
    wide = [tier.bandwidth * speed(run.topology, tier.level) for tier in run.topology.tiers]
    return max(load / of_tier for load, of_tier in zip(most, wide, strict=True)) / run.ledger.denominator


def forest(
    topology: Topology,
    *,
    primitive: str = "all-gather",
    trees: int | None = None,
    root: int | None = None,
    weights: Sequence[int] | None = None,
    way: str = "best",
    multicast: bool = False,
) -> Forest:
    """Trees that reach the throughput bound of a fabric, or what a given number of trees can reach.

    Args:
        topology: the network. Its own speeds tell its levels apart; without them every level has the same BW.
        primitive: all-gather, reduce-scatter, all-reduce, broadcast or reduce.
        trees: how many for each part of the message (default: as many as reach the bound).
        root: of a broadcast or reduce (default 0).
        weights: what each rank has to send or to receive, in whole parts (default: as much each).
        way: "moves" packs the trees of one rank and moves them to all others; "boxes" packs those of one box for
            all boxes; "general" packs all of them, on any fabric; "best" is the first of these that can.
        multicast: let switches that can do so replicate and add. It makes no schedule faster; it saves traffic.

    Raises:
        ValueError: for what the fabric, the primitive or the way do not allow, in one line.
        TooLarge: where the general way would take more than about a minute.

    >>> from colllib.topology.expression import find
    >>> packing = forest(find("dgx-a100:2"))
    >>> packing.bound.inverse_throughput, packing.bound.trees, packing.heights, packing.reached()
    (Fraction(3, 65), 13, {2: 208}, True)
    """
    if primitive not in PRIMITIVES:
        raise ValueError(f"primitive {primitive!r}: forests make {', '.join(PRIMITIVES)}")
    if way not in WAYS:
        raise ValueError(f"way {way!r}: must be one of {', '.join(WAYS)}")
    if root is not None and primitive not in ROOTED:
        raise ValueError(f"root {root}: {primitive} has no root")
    if weights is not None and primitive in ROOTED:
        raise ValueError(f"weights: {primitive} has one root, which has all")
    start = (root or 0) if primitive in ROOTED else None
    network = fabric(topology, root=start, weights=weights, inward=primitive in INWARD)
    if primitive == "all-reduce" and (network.capacity != network.capacity.T).any():
        raise ValueError(
            f"{topology.name}: all-reduce takes the same trees both ways, and some links are wider one way"
        )
    limit = bound(network) if trees is None else fixed(network, trees)
    if way in ("best", "moves") and (trees_of_one := pack_by_moves(network, limit)) is not None:
        return Forest(primitive, network, limit, tuple(trees_of_one), "moves", lattice_of(topology), multicast)
    if way in ("best", "boxes") and (trees_of_boxes := pack_by_boxes(network, limit)) is not None:
        return Forest(primitive, network, limit, trees_of_boxes, "boxes", multicast=multicast)
    if way in ("moves", "boxes"):
        ranks = "one rank can be moved to all others" if way == "moves" else "one box can serve all boxes"
        raise ValueError(f"{topology.name}: no trees of {ranks} here; take the general way")
    other = "" if way == "best" else ", or the best way"
    return Forest(primitive, network, limit, _packed(network, limit, other), multicast=multicast)


def _packed(fabric: Fabric, limit: Bound, other: str) -> tuple[Tree, ...]:
    """The general way's trees, if they take no more than about a minute; else fewer are advised, or what else helps."""
    ranks, nodes = fabric.ranks, fabric.nodes
    what = f"a forest on {fabric.topology.name} the general way"
    check_seconds(what, FLOW * ranks * (nodes - ranks) * nodes + TREE * ranks**3, f"ranks{other}")  # at the very least
    supply = multiplied(fabric.weight, limit.trees)
    logical = without_switches(room(fabric, limit.unit), supply, ranks, fabric.topology.name)
    # a batch parts at most links that have room for some of its trees, and not for the others
    batches = min(int(supply.sum()), ranks + int(np.count_nonzero(logical.capacity % limit.trees)))
    check_seconds(what, TREE * batches * ranks**2, f"ranks or trees{other}")
    return packed_on(logical.capacity, supply, logical.paths)


def packed_on(capacity: IntArray, supply: IntArray, paths: Pieces) -> tuple[Tree, ...]:
    """Trees packed into links between ranks, on the paths that the links stand for, which they use up."""
    return tuple(tree for batch in lowered(pack(capacity, supply), capacity) for tree in _on_paths(batch, paths))


def _on_paths(batch: Tree, paths: Pieces) -> list[Tree]:
    """A batch with paths for its edges; where these are several for an edge, it parts."""
    parts: list[tuple[int, tuple[Path, ...]]] = [(batch.size, ())]
    for edge in batch.edges:
        parts = [(units, (*before, path)) for size, before in parts for units, path in taken(paths[edge], size)]
    return [Tree(batch.root, size, batch.edges, of_edges) for size, of_edges in parts]
