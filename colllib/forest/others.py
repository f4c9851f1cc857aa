"""How others make trees, to compare with: switches unwound into rings, one root for all, and greedy trees.

None of them is a published program; each is the idea that its paper states, on this book's fabrics.
Rings and hierarchies are in the catalogue (`colllib.algorithms`).
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from itertools import pairwise

import numpy as np
from scipy.sparse.csgraph import connected_components

from colllib.exact import IntArray
from colllib.forest.bound import bound
from colllib.forest.fabric import fabric
from colllib.forest.splitting import Path, Pieces
from colllib.forest.trees import Forest, forest, packed_on
from colllib.primitives import all_gather as all_shards
from colllib.schedule import Schedule, Step, in_sequence, reversed_in_time
from colllib.topology import Topology
from colllib.topology.paths import Paths


def unwound(topology: Topology) -> Forest:
    """The best trees after every network of switches was replaced by one ring over its ranks.

    Args:
        topology: with whatever switches; those that are joined count as one.

    Source: the preset patterns of TACCL (Shah et al. 2023) and TACOS (Won et al. 2024).

    >>> from colllib.topology import find
    >>> str(unwound(find("dgx-a100:2")).bound.inverse_throughput)  # 3/65 with the switches as they are
    '8/25'
    """
    network = fabric(topology)
    ranks = network.ranks
    capacity = network.capacity[:ranks, :ranks].copy()
    ways: dict[tuple[int, int], list[tuple[int, Path]]] = {
        (a, b): [(int(capacity[a, b]), (a, b))] for a, b in np.argwhere(capacity).tolist()
    }
    for path in _rings(network.capacity, ranks):
        ends = (path[0], path[-1])
        width = min(int(network.capacity[pair]) for pair in pairwise(path))
        capacity[ends] += width
        ways.setdefault(ends, []).append((width, path))
    rings = replace(network, topology=replace(topology, link_class=None), capacity=capacity)
    limit = bound(rings)
    times = limit.unit * network.unit
    left: Pieces = {ends: [(int(units * times), path) for units, path in pieces] for ends, pieces in ways.items()}
    scaled = np.array([[int(units * times) for units in row] for row in capacity.tolist()])
    return Forest("all-gather", rings, limit, packed_on(scaled, network.weight * limit.trees, left))


def _rings(capacity: IntArray, ranks: int) -> list[Path]:
    """For every network of switches the ways from each of its ranks to the next one."""
    count, network = connected_components(capacity[ranks:, ranks:], directed=True, connection="weak")
    found = []
    for number in range(count):
        switches = (np.flatnonzero(network == number) + ranks).tolist()
        joined = capacity[switches, :ranks].any(axis=0) | capacity[:ranks, switches].any(axis=1)
        members = np.flatnonzero(joined).tolist()
        for start, end in zip(members, members[1:] + members[:1], strict=True):
            if start != end:
                path = _shortest(capacity, start, {end}, set(switches))
                assert path is not None, "switches that are joined are joined both ways"
                found.append(path)
    return found


def _shortest(capacity: IntArray, start: int, ends: set[int], over: set[int]) -> Path | None:
    """A shortest way to one of some nodes, over some others only."""
    before = {start: start}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for near in np.flatnonzero(capacity[node]).tolist():
            if near in before or (near not in ends and near not in over):
                continue
            before[near] = node
            if near in ends:
                path = [near]
                while path[-1] != start:
                    path.append(before[path[-1]])
                return tuple(path[::-1])
            queue.append(near)
    return None


def one_root(topology: Topology, root: int = 0) -> Schedule:
    """An all-reduce along the best trees of one root: to it, and the same way back.

    Source: Wang et al. (2020), "Blink: Fast and Generic Collectives for Distributed ML", with switches
    taken out as for a forest.

    >>> from colllib.execution import execute
    >>> from colllib.forest import busiest
    >>> from colllib.topology import find
    >>> where = find("dgx-a100:2")
    >>> str(1 / busiest(execute(one_root(where), where)))  # GB/s
    '100'
    """
    outward = forest(topology, primitive="broadcast", root=root).schedule()
    return in_sequence(reversed_in_time(outward), outward)


def greedy(topology: Topology) -> Schedule:
    """An all-gather along one tree a rank; in every step each tree in turn takes links that are still free.

    A link is free as often in a step as the slowest link would fit into it.

    Source: Huang et al. (2021), "Communication Algorithm-Architecture Co-Design for Distributed Deep
    Learning" (MultiTree).

    >>> from colllib.topology import torus
    >>> greedy(torus((4, 4))).num_steps  # the four links of a rank could take in 15 shards in four
    5
    """
    network = fabric(topology)
    ranks, free = network.ranks, network.capacity // network.capacity[network.capacity > 0].min()
    members = [[root] for root in range(ranks)]
    when: list[int] = []
    sent: list[tuple[int, Path]] = []
    step, over = 0, set(range(ranks, network.nodes))
    while any(len(tree) < ranks for tree in members):
        left, known = free.copy(), [list(tree) for tree in members]
        growing = [root for root in range(ranks) if len(members[root]) < ranks]
        while growing:
            growing = [root for root in growing if _grown(root, known[root], members[root], left, over, sent)]
        when += [step] * (len(sent) - len(when))
        step += 1
    src, dst = (np.array([path[end] for _, path in sent], dtype=np.intp) for end in (0, -1))
    block = np.array([root for root, _ in sent], dtype=np.intp)
    made = Schedule.from_messages(all_shards(ranks), step, np.array(when), Step.of(src, dst, block))
    return replace(made, paths=Paths.of({(root, path[0], path[-1]): path for root, path in sent}))


def _grown(
    root: int, known: list[int], tree: list[int], left: IntArray, over: set[int], sent: list[tuple[int, Path]]
) -> bool:
    """Whether a tree could take one more rank in this step."""
    missing = set(range(len(left) - len(over))) - set(tree)
    for start in known if missing else []:
        if (path := _shortest(left, start, missing, over)) is not None:
            for pair in pairwise(path):
                left[pair] -= 1
            tree.append(path[-1])
            sent.append((root, path))
            return True
    return False
