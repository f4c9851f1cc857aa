"""Taking the switches out: links into and out of a switch become links past it, and nothing gets slower.

A unit of a link (u, w) and one of (w, t) become one of (u, t). Where u and t are one node, the two
units only vanish: no link leads from a node to itself, but a switch may have to be rid of them.
How many units can be taken at once without a new bottleneck is counted by maximum flows (Bang-Jensen,
Frank and Jackson 1995; Zhao et al. 2026): if they are taken and a rank then lacks d of what it needs,
d were too many.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from colllib.exact import IntArray
from colllib.forest.flow import starved, with_source
from colllib.forest.packing import Path
from colllib.limits import FLOW, check_seconds

Pieces = dict[tuple[int, int], list[tuple[int, Path]]]


@dataclass(eq=False)
class Logical:
    """Links, and the paths that they stand for: while switches vanish, and in the end from rank to rank."""

    name: str  # of the fabric, for errors
    network: (
        IntArray  # how many trees fit on each link, and from the source after all nodes how many start at each rank
    )
    sinks: list[int]  # the ranks; the one that last stood in the way comes first
    paths: Pieces  # for every two nodes the paths through switches, each with how many trees take it
    splits: list[tuple[int, int, int, int]] = field(default_factory=list)  # (u, w, t, units) that were replaced

    @property
    def capacity(self) -> IntArray:
        """How many trees fit from each rank to each other, shape (ranks, ranks)."""
        return self.network[: len(self.sinks), : len(self.sinks)]

    def lack(self, network: IntArray) -> int:
        """How much of what all ranks send does not reach some rank; 0 if all of it reaches all."""
        short = starved(network, self.sinks, int(network[-1].sum()))
        if short is None:
            return 0
        self.sinks.remove(short.sink)
        self.sinks.insert(0, short.sink)
        return short.lack

    def most(self, u: int, w: int, t: int, limit: int) -> int:
        """How many units of (u, w) and (w, t) can become units of (u, t), up to a limit."""
        units = min(int(self.network[u, w]), int(self.network[w, t]), limit)
        while units > 0 and (lack := self.lack(split_off(self.network, u, w, t, units))):
            units -= lack
        return max(units, 0)

    def take(self, u: int, w: int, t: int, units: int) -> None:
        """Replace so many units, and join the paths that they stand for."""
        if not units:
            return
        self.network = split_off(self.network, u, w, t, units)
        self.splits.append((u, w, t, units))
        first, second = taken(self.paths[u, w], units), taken(self.paths[w, t], units)
        if u != t:
            pieces = matched(first[::-1], second[::-1])
            self.paths.setdefault((u, t), []).extend((both, _joined(ahead, behind)) for both, ahead, behind in pieces)

    def remove(self, switch: int) -> None:
        """Split off all links of a switch: at once if they lead alike to all, else one after the other."""
        network = self.network
        for plan in _even_plans(network, switch):
            changed = network.copy()
            changed[switch] = changed[:, switch] = 0
            np.add.at(changed, tuple(np.array([(u, t) for u, t, _ in plan]).T), [units for *_, units in plan])
            if not self.lack(changed):
                for u, t, units in plan:
                    self.take(u, switch, t, units)
                return
        follow = len(network) - 1 - switch  # switches, this one included: they are taken for alike
        seconds = FLOW * len(self.sinks) * len(network) * follow * _splits(network, switch)
        check_seconds(f"a forest on {self.name} the general way", seconds, "ranks")
        for t in np.flatnonzero(network[switch]).tolist():
            # as much from each node as from the others, so that links lead to many: from where none leads yet, then
            # from all; and back to the same node only what nothing else can take
            sources = np.flatnonzero(self.network[:, switch]).tolist()
            others = sorted((u for u in sources if u != t), key=lambda u: (u - t) % len(network))
            apart = [u for u in others if not self.network[u, t]]
            for group, parts in ((apart, len(apart)), (others, len(others)), ((*others, t), 1)):
                share = -(-int(self.network[switch, t]) // max(1, parts))
                for u in group:
                    self.take(u, switch, t, self.most(u, switch, t, share))
            assert not self.network[switch, t], "every link of a switch can be split off, by the theorem"


def without_switches(capacity: IntArray, supply: IntArray, ranks: int, name: str) -> Logical:
    """A network of ranks alone in which every rank can still receive what all ranks supply.

    Args:
        capacity: how many trees fit on each link, shape (nodes, nodes); ranks come first.
        supply: how many trees start at each rank, shape (ranks,).

    Raises:
        ValueError: if there are switches and some node does not send as much as it receives.
        TooLarge: if it would take more than about a minute.

    >>> star = np.array([[0, 0, 0, 2], [0, 0, 0, 2], [0, 0, 0, 2], [2, 2, 2, 0]])
    >>> logical = without_switches(star, np.ones(3, dtype=int), 3, "star:3")
    >>> logical.capacity.tolist(), logical.paths[0, 1]
    ([[0, 1, 1], [1, 0, 1], [1, 1, 0]], [(1, (0, 3, 1))])
    """
    nodes, network = len(capacity), with_source(capacity, supply)
    capacity = network[:-1, :-1]
    unequal = np.flatnonzero(capacity.sum(axis=0) != capacity.sum(axis=1))
    if nodes > ranks and len(unequal):
        node = int(unequal[0])
        label = f"rank {node}" if node < ranks else f"switch s{node - ranks}"
        raise ValueError(
            f"{name}: {capacity[:, node].sum()} trees fit into {label} and {capacity[node].sum()} out of it: "
            "with switches, as many must fit out of every node as into it"
        )
    paths: Pieces = {(u, t): [(int(capacity[u, t]), (u, t))] for u, t in np.argwhere(capacity).tolist()}
    logical = Logical(name, network, list(range(ranks)), paths)
    for switch in range(ranks, nodes):
        logical.remove(switch)
    logical.paths = {ends: pieces for ends, pieces in paths.items() if pieces}
    return logical


def _splits(network: IntArray, switch: int) -> int:
    """About how many splits it takes to be rid of a switch: from nodes that are not joined yet, if they send enough."""
    into, out = network[:, switch], network[switch]
    apart = (network == 0).astype(np.intp)
    return int(np.where(into @ apart < out, np.count_nonzero(into), (into > 0) @ apart)[out > 0].sum())


def _even_plans(network: IntArray, switch: int) -> Iterator[list[tuple[int, int, int]]]:
    """Plans to take a whole switch out at once: everyone sends as much to each of the others that it is joined to."""
    members = np.flatnonzero(network[:, switch]).tolist()
    wide, count = int(network[members[0], switch]) if members else 0, len(members)
    if count < 2 or any(network[m, switch] != wide or network[switch, m] != wide for m in members):
        return
    joined = np.minimum(network[members][:, None, :], network[:, members].T[None]).astype(np.bool_)
    joined[:, :, switch] = False
    near = joined.any(axis=2) | (network[np.ix_(members, members)] > 0)
    shift = np.arange(count)
    new = [by for by in range(1, count) if not near[shift, (shift + by) % count].any()]
    for offsets in ([new] if new else []) + [list(range(1, count))]:
        share, rest = divmod(wide, len(offsets))
        units_by_offset = [(by, share + (place < rest)) for place, by in enumerate(offsets)]
        yield [
            (members[i], members[(i + by) % count], units)
            for by, units in units_by_offset
            if units
            for i in range(count)
        ]


def split_off(network: IntArray, u: int, w: int, t: int, units: int) -> IntArray:
    """Capacities with so many units of (u, w) and (w, t) as units of (u, t), or gone where u is t."""
    changed = network.copy()
    changed[u, w] -= units
    changed[w, t] -= units
    if u != t:
        changed[u, t] += units
    return changed


def taken(pieces: list[tuple[int, Any]], units: int) -> list[tuple[int, Any]]:
    """So many units out of the pieces of a link, or of a root's trees."""
    parts = []
    while units:
        size, path = pieces.pop()
        part = min(size, units)
        parts.append((part, path))
        if size > part:
            pieces.append((size - part, path))
        units -= part
    return parts


def matched(first: list[tuple[int, Any]], second: list[tuple[int, Any]]) -> list[tuple[int, Any, Any]]:
    """Two rows of as many units, both cut wherever one of them is.

    >>> matched([(2, "a"), (1, "b")], [(1, "x"), (2, "y")])
    [(1, 'a', 'x'), (1, 'a', 'y'), (1, 'b', 'y')]
    """
    rest = second[::-1]
    return [(units, one, other) for size, one in first for units, other in taken(rest, size)]


def _joined(ahead: Path, behind: Path) -> Path:
    """One path after the other, without what lies between two visits of one switch."""
    path: list[int] = []
    for node in (*ahead, *behind[1:]):
        path = [*path[: path.index(node)], node] if node in path else [*path, node]
    return tuple(path)
