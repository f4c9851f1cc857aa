"""Forests: trees that are as fast together as any schedule can be, and the schedules that they make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from colllib.exact import Fractions, IntArray
from colllib.execution import Execution, execute
from colllib.forest.bound import Bound, bound, fixed, room
from colllib.forest.boxed import pack_by_boxes
from colllib.forest.fabric import Fabric, fabric, speed
from colllib.forest.lowering import lowered
from colllib.forest.multicast import replicated
from colllib.forest.packing import pack
from colllib.forest.splitting import Path, Pieces, taken, without_switches
from colllib.forest.symmetric import lattice_of, pack_by_moves
from colllib.forest.tree import Tree
from colllib.limits import FLOW, IN_FULL, MOST_MESSAGES, check_seconds, check_size
from colllib.moves import Moves
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
        fabric: where; for a primitive towards the roots, with all links the other way.
        bound: what no schedule can beat, and with a given number of trees what no such trees can.
        trees: of all ranks, or of rank 0 where they are moved.
        way: how they were packed, "moves", "boxes" or "general".
        lattice: what moves them to all other ranks, None where they are not moved.
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
        moved = self.lattice.ranks if self.lattice else 1
        found: Counter[int] = Counter()
        for tree in self.trees:
            found[tree.height] += tree.size * moved
        return dict(sorted(found.items()))

    def schedule(self, segments: int = 1) -> Schedule:
        """The schedule: in step t every tree sends along its edges that end t + 1 away from the root.

        Args:
            segments: into how many each tree's share is cut and pipelined.
        """
        if self.primitive == "all-reduce":
            outward = self._schedule(inward=False)
            inward = reversed_in_time(outward) if self.lattice else self._schedule(inward=True)
            return pipelined(in_sequence(inward, outward), segments)
        return pipelined(self._schedule(inward=self.primitive in INWARD), segments)

    def _schedule(self, inward: bool) -> Schedule:
        if self.multicast:
            whole = self.moved_to_all if self.lattice else self
            outward = replicated(whole.trees, whole._blocks(inward=False), self.fabric.topology)
            return reversed_in_time(outward) if inward else outward
        blocks, (when, edges, tree) = self._blocks(inward), self._messages
        steps = int(when.max(initial=-1)) + 1
        order = np.argsort(when, kind="stable")
        start, end = edges[order].T
        if inward:
            order, start, end = order[::-1], end[::-1], start[::-1]
        messages = Step.of(start, end, tree[order], inward)
        at = steps - 1 - when[order] if inward else when[order]
        found = Schedule.from_messages(blocks, steps, at, messages)
        if self.lattice:
            return Orbit(found, self.lattice)
        return Schedule(blocks, steps, found.step, flat=found.flat, paths=self._own_paths(inward))

    def _blocks(self, inward: bool) -> Blocks:
        ranks, each = self.fabric.ranks, Fraction(1, self.fabric.total * self.bound.trees)
        root = np.array([tree.root for tree in self.trees], dtype=np.intp)
        all_ranks = np.full(len(root), ranks)
        share = Fractions.of(tree.size * each for tree in self.trees)
        source, target = (all_ranks, root) if inward else (root, all_ranks)
        return Blocks(ranks, share, source, target, (np.arange(ranks),))

    @cached_property
    def _messages(self) -> tuple[IntArray, IntArray, IntArray]:
        """The step, the edge and the tree of every message, outwards."""
        when = np.array([depth - 1 for tree in self.trees for depth in tree.depths], dtype=np.intp)
        edges = np.array([edge for tree in self.trees for edge in tree.edges], dtype=np.intp).reshape(-1, 2)
        return when, edges, np.repeat(np.arange(len(self.trees)), [len(tree.edges) for tree in self.trees])

    @cached_property
    def moved_to_all(self) -> Forest:
        """The same with the trees of every rank and their paths, where rank 0's are moved."""
        topology, inward = self.fabric.topology, self.primitive in INWARD
        assert self.lattice is not None
        moves = Moves.of(self.lattice)
        check_size(topology.name, sum(len(tree.edges) for tree in self.trees) * moves.order, MOST_MESSAGES, "messages")
        found = []
        for move in range(moves.order):
            to = moves.moved(np.arange(topology.ranks), np.array(move)).tolist()
            for tree in self.trees:
                found.append(Tree(to[tree.root], tree.size, tuple((to[start], to[end]) for start, end in tree.edges)))
        usual = _usual_paths(topology, sorted({_turned(edge, inward) for tree in found for edge in tree.edges}))
        along = -1 if inward else 1
        paths = ([usual[_turned(edge, inward)][::along] for edge in tree.edges] for tree in found)
        trees = tuple(replace(tree, paths=tuple(own)) for tree, own in zip(found, paths, strict=True))
        return replace(self, trees=trees, lattice=None)

    def _own_paths(self, inward: bool) -> Paths | None:
        """The paths of messages that the router would take another way."""
        pairs = sorted({_turned(edge, inward) for tree in self.trees for edge in tree.edges})
        usual = _usual_paths(self.fabric.topology, pairs)
        own = {}
        for block, tree in enumerate(self.trees):
            for edge, nodes in zip(tree.edges, tree.paths, strict=True):
                src, dst = _turned(edge, inward)
                path = nodes[::-1] if inward else nodes
                if path != usual[src, dst]:
                    own[block, src, dst] = path
        return Paths.of(own) if own else None

    def reached(self) -> bool:
        """Whether its schedule, executed and proved, loads the busiest link just as much as the bound says.

        An all-reduce is taken for two, one after the other. Moved trees of millions of messages are run by symmetry.
        """
        ways = (False, True) if self.primitive == "all-reduce" else (self.primitive in INWARD,)
        schedules = [self._schedule(inward) for inward in ways]
        large = isinstance(schedules[0], Orbit) and schedules[0].num_messages > IN_FULL
        runs = ((by_symmetry if large else execute)(schedule, self.fabric.topology) for schedule in schedules)
        return all(busiest(run) == self.bound.inverse_throughput / self.fabric.total for run in runs)


def _usual_paths(topology: Topology, pairs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Path]:
    """The nodes that the topology's router passes between two ranks, for many."""
    ends = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    message, link = topology.router(ends[:, 0], ends[:, 1])
    found = {pair: [pair[0]] for pair in pairs}
    for place, node in zip(message.tolist(), topology.link_dst[link].tolist(), strict=True):
        found[pairs[place]].append(node)
    return {pair: tuple(nodes) for pair, nodes in found.items()}


def _turned(edge: tuple[int, int], inward: bool) -> tuple[int, int]:
    return (edge[1], edge[0]) if inward else edge


class Traffic(NamedTuple):
    """What a forest's schedule moves in all, as shares of M: on links, and out of and into ranks."""

    on_links: Fraction
    at_ranks: Fraction


def traffic(found: Forest) -> Traffic:
    """What all links together carry, and what all ranks together send and receive, by execution.

    >>> from colllib.topology import find
    >>> where = find("dgx-h100:2,inc=box")
    >>> [str(traffic(forest(where, multicast=on)).at_ranks) for on in (False, True)]
    ['30', '37/2']
    """
    run = execute(found.schedule(), found.fabric.topology)
    return Traffic(sum(run.link_total, Fraction(0)), sum(run.sent + run.received, Fraction(0)))


def busiest(run: Execution) -> Fraction:
    """The time that the busiest link of an execution needs for all it carries, as a share of M per bandwidth.

    >>> from colllib.algorithms import allgather
    >>> from colllib.topology import star
    >>> busiest(execute(allgather.ring(4), star(4)))
    Fraction(3, 4)
    """
    most = run.ledger.busiest(run.ledger.link)
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
        topology: where. Its own speeds tell its levels apart; without them every level has the same BW.
        primitive: all-gather, reduce-scatter, all-reduce, broadcast or reduce.
        trees: how many for each part of the message (default: as many as reach the bound).
        root: of a broadcast or reduce (default 0).
        weights: what each rank has to send or to receive, in whole parts (default: as much each).
        way: "moves" packs the trees of one rank and moves them to all others; "boxes" packs those of one box for
            all boxes; "general" packs all of them, on any fabric; "best" is the first of these that can.
        multicast: let switches that can do so replicate and add. It makes no schedule faster; it saves traffic.

    Raises:
        ValueError: for what the fabric, the primitive or the way do not allow, in one line.
        TooLarge: for more ranks than the general way is made for.

    >>> from colllib.topology import find
    >>> found = forest(find("dgx-a100:2"))
    >>> found.bound.inverse_throughput, found.bound.trees, found.heights, found.reached()
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
    network = fabric(topology, root=(root or 0) if primitive in ROOTED else None, weights=weights)
    if primitive == "all-reduce" and (network.capacity != network.capacity.T).any():
        raise ValueError(
            f"{topology.name}: all-reduce takes the same trees both ways, and some links lead one way only"
        )
    network = network.reversed if primitive in INWARD else network
    limit = bound(network) if trees is None else fixed(network, trees)
    if way in ("best", "moves") and (moved := pack_by_moves(network, limit)) is not None:
        return Forest(primitive, network, limit, tuple(moved), "moves", lattice_of(topology), multicast)
    if way in ("best", "boxes") and (boxed := pack_by_boxes(network, limit)) is not None:
        return Forest(primitive, network, limit, boxed, "boxes", multicast=multicast)
    if way in ("moves", "boxes"):
        ranks = {"moves": "one rank can be moved to all others", "boxes": "one box can serve all boxes"}[way]
        raise ValueError(f"{topology.name}: no trees of {ranks} here; take the general way")
    return Forest(primitive, network, limit, _packed(network, limit), multicast=multicast)


def _packed(fabric: Fabric, limit: Bound) -> tuple[Tree, ...]:
    joined = fabric.capacity > 0
    pairs = int((joined.sum(axis=0) * joined.sum(axis=1))[fabric.ranks :].sum())  # of links through a switch
    flows = fabric.ranks * (fabric.ranks + pairs)
    check_seconds(f"a forest on {fabric.topology.name} the general way", FLOW * flows * fabric.nodes**2)
    if fabric.ranks == 1:
        return (Tree(0, limit.trees, ()),)
    supply = fabric.weight * limit.trees
    capacity = room(fabric, limit.unit * fabric.unit)
    logical = without_switches(capacity, supply, fabric.ranks, fabric.topology.name)
    return packed_on(logical.capacity, supply, logical.paths)


def packed_on(capacity: IntArray, supply: IntArray, paths: Pieces) -> tuple[Tree, ...]:
    """Trees packed into links between ranks, on the ways that the links stand for."""
    left: Pieces = {ends: _merged(ways) for ends, ways in paths.items()}
    return tuple(tree for batch in lowered(pack(capacity, supply), capacity) for tree in _on_paths(batch, left))


def _merged(ways: list[tuple[int, Path]]) -> list[tuple[int, Path]]:
    """The ways with equal ones counted together, the widest last."""
    found: Counter[Path] = Counter()
    for units, path in ways:
        found[path] += units
    return sorted((units, path) for path, units in found.items())


def _on_paths(batch: Tree, left: Pieces) -> list[Tree]:
    """A batch with paths for its edges; where these are several for an edge, it parts."""
    parts: list[tuple[int, tuple[Path, ...]]] = [(batch.size, ())]
    for edge in batch.edges:
        parts = [(units, (*before, path)) for size, before in parts for units, path in taken(left[edge], size)]
    return [Tree(batch.root, size, batch.edges, paths) for size, paths in parts]
