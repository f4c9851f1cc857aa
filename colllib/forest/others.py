"""How others make trees, to compare with: switches unwound into rings, one root for all, and greedy trees.

None of them is a published program; each is the idea that its paper states, on this book's fabrics.
Rings and hierarchies are in the catalogue (`colllib.algorithms`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import lcm

import numpy as np
from scipy.sparse.csgraph import connected_components

from colllib.exact import IntArray, multiplied
from colllib.forest.bound import bound, room
from colllib.forest.fabric import fabric
from colllib.forest.splitting import Path, Pieces
from colllib.forest.trees import Forest, forest, packed_on
from colllib.primitives import all_gather as all_shards
from colllib.schedule import Schedule, Step, in_sequence, reversed_in_time
from colllib.topology import Topology
from colllib.topology.paths import Paths


def unwound(topology: Topology) -> Forest:
    """The best trees after every network of switches that are joined was replaced by one ring over its ranks.

    Raises:
        ValueError: where switches lead one way only.

    Source: TACOS (Won et al. 2024), which asks its users to unwind switches into such links.

    >>> from colllib.topology.expression import find
    >>> str(unwound(find("dgx-a100:2")).bound.inverse_throughput)  # 3/65 with the switches as they are
    '8/25'
    """
    network, ranks = fabric(topology), topology.ranks
    paths = [tuple(link) for link in np.argwhere(network.capacity[:ranks, :ranks]).tolist()]
    paths += _rings(network.capacity, ranks)
    shared = Counter(link for path in paths for link in pairwise(path))  # several paths of a ring may take one
    widths = [min(Fraction(int(network.capacity[link]), shared[link]) for link in pairwise(path)) for path in paths]
    finer = lcm(*(width.denominator for width in widths))
    capacity = np.zeros((ranks, ranks), dtype=object)
    for path, width in zip(paths, widths, strict=True):
        capacity[path[0], path[-1]] += int(width * finer)
    rings = replace(network, topology=replace(topology, link_class=None), capacity=capacity, unit=network.unit / finer)
    free = bound(rings)
    inverse = free.inverse_throughput
    shares = [inverse * network.unit * width for width in widths]
    trees = lcm(*(share.denominator for share in shares))
    pieces: Pieces = defaultdict(list)
    for path, share in zip(paths, shares, strict=True):
        pieces[path[0], path[-1]].append((int(share * trees), path))
    limit = replace(free, trees=trees, unit=inverse * trees)
    packed = packed_on(room(rings, limit.unit), multiplied(network.weight, trees), pieces)
    return Forest("all-gather", rings, limit, packed)


def _rings(capacity: IntArray, ranks: int) -> list[Path]:
    """For every network of switches the paths over them from each of its ranks to the next one."""
    count, network = connected_components(capacity[ranks:, ranks:] > 0, directed=True, connection="weak")
    over = capacity.copy()
    over[:ranks, :ranks] = 0  # direct links stay what they are
    paths = []
    for number in range(count):
        switches = (np.flatnonzero(network == number) + ranks).tolist()
        members = np.flatnonzero(capacity[switches, :ranks].any(axis=0) | capacity[:ranks, switches].any(axis=1))
        for start, end in zip(members.tolist(), np.roll(members, -1).tolist(), strict=True):
            if start != end:
                path = _shortest(over, start, {end}, set(switches))
                if path is None:
                    raise ValueError(f"no ring of switches: none of them leads from rank {start} to rank {end}")
                paths.append(path)
    return paths


def _shortest(capacity: IntArray, start: int, ends: set[int], over: set[int]) -> Path | None:
    """A shortest path to one of some nodes, over some others only."""
    paths: list[Path] = [(start,)]
    seen = {start}
    for path in paths:  # grows while it is walked
        for near in np.flatnonzero(capacity[path[-1]]).tolist():
            if near in ends:
                return (*path, near)
            if near in over and near not in seen:
                seen.add(near)
                paths.append((*path, near))
    return None


def one_root(topology: Topology, root: int = 0) -> Schedule:
    """An all-reduce along the best trees of one root: to it, and the same way back.

    Source: Wang et al. (2020), "Blink: Fast and Generic Collectives for Distributed ML", with switches
    taken out as for a forest.

    >>> from colllib.topology import star
    >>> one_root(star(4)).num_steps  # along a chain of four, and back
    6
    """
    outward = forest(topology, primitive="broadcast", root=root).schedule()
    return in_sequence(reversed_in_time(outward), outward)


def greedy(topology: Topology) -> Schedule:
    """An all-gather along one tree a rank; in every step each tree in turn takes links that are still free.

    A link is free as often in a step as the slowest link would fit into it.

    Raises:
        ValueError: for no path between two ranks.

    Source: Huang et al. (2021), "Communication Algorithm-Architecture Co-Design for Distributed Deep
    Learning" (MultiTree).

    >>> from colllib.topology import torus
    >>> greedy(torus((4, 4))).num_steps  # the four links of a rank could take in 15 shards in four
    5
    """
    network = fabric(topology)
    bound(network)  # refuses where no path leads from some rank to another
    ranks, free = network.ranks, network.capacity // min(network.capacity[network.capacity > 0].tolist(), default=1)
    members, over = [[root] for root in range(ranks)], set(range(ranks, network.nodes))
    sent: list[tuple[int, int, Path]] = []
    step = 0
    while growing := [root for root in range(ranks) if len(members[root]) < ranks]:
        left, known = free.copy(), [list(tree) for tree in members]
        while growing:
            before, growing = growing, []
            for root in before:
                missing = set(range(ranks)) - {*members[root]}
                paths = (_shortest(left, start, missing, over) for start in known[root])
                if (path := next(filter(None, paths), None)) is not None:
                    for pair in pairwise(path):
                        left[pair] -= 1
                    members[root].append(path[-1])
                    sent.append((step, root, path))
                    growing.append(root)
        step += 1
    table = np.array([(step, root, path[0], path[-1]) for step, root, path in sent], dtype=np.intp)
    when, block, src, dst = table.reshape(-1, 4).T
    schedule = Schedule.from_messages(all_shards(ranks), step, when, Step.of(src, dst, block))
    return replace(schedule, paths=Paths.of([(root, path) for _, root, path in sent]))
