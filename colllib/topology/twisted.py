"""Tori of axes k and 2k, plain or twisted: the wraparound of a short axis goes on along the long ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

import numpy as np

from colllib.exact import IntArray
from colllib.limits import MOST_ROUTES, check_size
from colllib.topology.base import Router, Topology, ragged, uniform
from colllib.topology.lattice import PER_NEIGHBOR

#: Of a shortest path: its hops on each axis, negative downwards.
RoutingRecord = tuple[int, ...]

SWEEPS = 8  # of the search for paths that load all directions alike


@dataclass(frozen=True)
class Wrapped:
    """A torus of axes k and 2k, plain or twisted.

    Twisted: who leaves a short axis at its end comes back at its start with the coordinates on all long axes raised by
    k. TPU slices have twists for the shapes k x 2k, k x k x 2k and k x 2k x 2k.

    Args:
        dims: the number of ranks on each axis, k or 2k, the first axis fastest in rank order.
        twisted: whether the wraparound of the short axes goes on along the long ones.

    Raises:
        ValueError: for other sizes.

    Source: Camara et al. (2010), "Twisted Torus Topologies for Enhanced Interconnection Networks";
    Jouppi et al. (2023).

    >>> Wrapped((4, 8)).diameter, Wrapped((4, 8), twisted=False).diameter
    (4, 6)
    """

    dims: tuple[int, ...]
    twisted: bool = True

    def __post_init__(self) -> None:
        short, long = min(self.dims, default=0), max(self.dims, default=0)
        if short < 1 or long != 2 * short or set(self.dims) != {short, long}:
            raise ValueError(f"axes {self.dims}: each must be k or 2k, and both occur, as in a twisted torus of 4x4x8")

    @property
    def ranks(self) -> int:
        """Number of ranks N."""
        return prod(self.dims)

    def _rank(self, points: IntArray) -> IntArray:
        """The ranks at points, shape (axes, ...)."""
        short = min(self.dims)
        turns = sum(points[axis] // size for axis, size in enumerate(self.dims) if size == short)
        number, stride = np.zeros(points.shape[1:], dtype=np.intp), 1
        for axis, size in enumerate(self.dims):
            shift = short * turns if self.twisted and size > short else 0
            number += (points[axis] - shift) % size * stride
            stride *= size
        return number

    @property
    def _points(self) -> IntArray:
        """The coordinates of all ranks, shape (axes, N)."""
        return np.array(np.unravel_index(np.arange(self.ranks), self.dims, order="F"))

    def translations(self) -> IntArray:
        """Where translations take each rank: the rank at the sum of the coordinates of a and b, shape (N, N)."""
        return self._rank(self._points[:, :, None] + self._points[:, None, :])

    def topology(self) -> Topology:
        """One link per neighbor; shortest routes, the same from every rank, all directions alike or nearly."""
        check_size(f"axes {self.dims}", self.ranks**2, MOST_ROUTES, "routes between ranks")
        steps = np.eye(len(self.dims), dtype=np.intp)
        ends = np.array([self._rank(self._points + ahead[:, None]) for ahead in (*steps, *-steps)])
        rank = np.broadcast_to(np.arange(self.ranks), ends.shape)
        links = np.unique((rank * self.ranks + ends)[rank != ends])
        name = f"{'twisted' if self.twisted else 'plain'}-torus:{'x'.join(map(str, self.dims))}"
        return uniform(name, self.ranks, *np.divmod(links, self.ranks), self._router(links), PER_NEIGHBOR)

    def _router(self, links: IntArray) -> Router:
        trails = [self.trail(record, rank % len(self.dims)) for rank, record in enumerate(self.spread(1))]
        hops = np.array([len(trail) - 1 for trail in trails])
        longest = max(map(len, trails))
        visited = np.array([trail + trail[-1:] * (longest - len(trail)) for trail in trails])  # from rank 0
        translations = self.translations()
        inverse = self._rank(-self._points)  # takes each rank to rank 0

        def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
            source = np.asarray(src)
            target = translations[inverse[source], dst]  # as seen from rank 0
            message, hop = ragged(hops[target])
            tail, head = (translations[source[message], visited[target[message], hop + k]] for k in (0, 1))
            return message, np.searchsorted(links, tail * self.ranks + head)

        return route

    def routing_records(self) -> list[list[RoutingRecord]]:
        """For every rank those of all shortest paths to it from rank 0, as signed hops on each axis."""
        shortest: list[list[RoutingRecord]] = [[] for _ in range(self.ranks)]
        reach = [range(-max(self.dims), max(self.dims) + 1)] * len(self.dims)
        records = sorted(product(*reach), key=_hops)
        for record, rank in zip(records, self._rank(np.array(records).T).tolist(), strict=True):
            if not shortest[rank] or _hops(shortest[rank][0]) == _hops(record):
                shortest[rank].append(record)
        return shortest

    @property
    def diameter(self) -> int:
        """The hops to the farthest rank."""
        return max(_hops(records[0]) for records in self.routing_records())

    def spread(self, slices: int) -> list[RoutingRecord]:
        """A shortest path for each slice to each rank, such that the busiest of the 2k directions carries little.

        Opposite ranks get opposite paths, so that only the axes are left to balance. Greedy, those with fewest paths
        first, then exchanges as long as they help. All slices to rank 0 come first, then those to rank 1, and so on.
        """
        records = self.routing_records()
        pairs = [(rank, other) for rank, other in enumerate(self._rank(-self._points).tolist()) if rank <= other]
        pairs.sort(key=lambda pair: len(records[pair[0]]))
        loads = []  # of each direction, by each record that a pair may take
        for rank, other in pairs:
            hops = np.array(records[rank])
            forth = np.hstack((np.maximum(hops, 0), np.maximum(-hops, 0)))
            loads.append(forth if rank == other else forth + np.roll(forth, len(self.dims), axis=1))
        spread: list[list[RoutingRecord]] = [[] for _ in range(self.ranks)]
        for (rank, other), choices in zip(pairs, _balanced(loads, slices), strict=True):
            spread[rank] = [records[rank][choice] for choice in choices]
            if rank != other:
                spread[other] = [tuple(-hops for hops in record) for record in spread[rank]]
        return [record for of_rank in spread for record in of_rank]

    def trail(self, record: Sequence[int], start: int) -> list[int]:
        """The ranks that a routing record's path from rank 0 visits, beginning with axis `start`."""
        points = [np.zeros(len(record), dtype=np.intp)]
        for axis in [*range(start, len(record)), *range(start)]:
            ahead = np.sign(record[axis]) * np.eye(len(record), dtype=np.intp)[axis]
            points += [points[-1] + k * ahead for k in range(1, abs(record[axis]) + 1)]
        trail: list[int] = self._rank(np.array(points).T).tolist()
        return trail


def _hops(record: RoutingRecord) -> int:
    return sum(map(abs, record))


def _balanced(loads: list[IntArray], slices: int) -> list[list[int]]:
    """Which of its loads each slice of each item takes, so that their sum is spread evenly."""
    total = np.zeros_like(loads[0][0])
    chosen = [[0] * slices for _ in loads]
    for sweep in range(SWEEPS):
        before = [list(choices) for choices in chosen]
        for load, choices in zip(loads, chosen, strict=True):
            for part in range(slices):
                if sweep:
                    total -= load[choices[part]]
                choices[part] = int(((total + load) ** 2).sum(axis=1).argmin())
                total += load[choices[part]]
        if sweep and chosen == before:
            break
    return chosen


def twisted_torus(sizes: int | Sequence[int]) -> Topology:
    """The torus of axes k and 2k with its twist; k alone is the 2k x k torus: Camara et al. (2010).

    Of that rank (x, y) with 0 <= x < 2k and 0 <= y < k has neighbors (x + 1, y) and (x, y + 1); leaving
    at y = k - 1 comes back at y = 0 with x raised by k.

    >>> twisted_torus(4)
    Topology(twisted-torus:4, 32 ranks, 0 switches, 128 links)
    >>> twisted_torus((4, 4, 8))
    Topology(twisted-torus:4x4x8, 128 ranks, 0 switches, 768 links)
    """
    sizes = (sizes,) if isinstance(sizes, int) else tuple(sizes)
    return replace(_shape(sizes).topology(), name=f"twisted-torus:{'x'.join(map(str, sizes))}")


def _shape(sizes: tuple[int, ...]) -> Wrapped:
    return Wrapped((2 * sizes[0], sizes[0]) if len(sizes) == 1 else sizes)


def twist_of(topology: Topology) -> Wrapped | None:
    """The axes of a `twisted_torus`, by its name; None of another topology, and where something has failed."""
    named = re.fullmatch(r"twisted-torus:([\dx]+)", topology.name)
    return _shape(tuple(map(int, named[1].split("x")))) if named else None
