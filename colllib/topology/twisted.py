"""Tori of axes k and 2k, plain or twisted: the wraparound of a short axis moves on along the long ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

import numpy as np

from colllib.exact import IntArray
from colllib.limits import MOST_ROUTES, check_size
from colllib.primitives import check_ranks
from colllib.topology.base import Router, Topology, ragged, uniform
from colllib.topology.lattice import PER_NEIGHBOR

Way = tuple[int, ...]

SWEEPS = 8  # of the search for ways that carry alike


@dataclass(frozen=True)
class Wrapped:
    """A torus of axes k and 2k, plain or twisted.

    Twisted: who leaves a short axis at its end comes back at its start with the coordinates on
    all long axes moved on by k. The shapes k x 2k, k x k x 2k and k x 2k x 2k are those for which
    TPU slices have twists.

    Args:
        dims: the number of ranks on each axis, k or 2k, the first axis fastest in rank order.
        twisted: whether the wraparound of the short axes moves on along the long ones.

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
            raise ValueError(f"axes {self.dims}: must be k and 2k")

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
            move = short * turns if self.twisted and size > short else 0
            number += (points[axis] - move) % size * stride
            stride *= size
        return number

    @property
    def _points(self) -> IntArray:
        """The coordinates of all ranks, shape (axes, N)."""
        return np.array(np.unravel_index(np.arange(self.ranks), self.dims, order="F"))

    def moved(self) -> IntArray:
        """Where moving all ranks takes each: the rank at the sum of the coordinates of a and b, shape (N, N)."""
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
        trails = [self.trail(way, rank % len(self.dims)) for rank, way in enumerate(self.spread(1))]
        hops = np.array([len(trail) - 1 for trail in trails])
        longest = max(map(len, trails))
        visited = np.array([trail + trail[-1:] * (longest - len(trail)) for trail in trails])  # from rank 0
        moved = self.moved()
        back = self._rank(-self._points)  # moves each rank to rank 0

        def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
            source = np.asarray(src)
            to = moved[back[source], dst]
            message, hop = ragged(hops[to])
            here, there = (moved[source[message], visited[to[message], hop + k]] for k in (0, 1))
            return message, np.searchsorted(links, here * self.ranks + there)

        return route

    def ways(self) -> list[list[Way]]:
        """For every rank: all shortest ways to it from rank 0, as signed hops on each axis."""
        found: list[list[Way]] = [[] for _ in range(self.ranks)]
        reach = [range(-max(self.dims), max(self.dims) + 1)] * len(self.dims)
        ways = sorted(product(*reach), key=lambda way: sum(map(abs, way)))
        for way, rank in zip(ways, self._rank(np.array(ways).T).tolist(), strict=True):
            here = found[rank]
            if not here or sum(map(abs, here[0])) == sum(map(abs, way)):
                here.append(way)
        return found

    @property
    def diameter(self) -> int:
        """The hops to the farthest rank."""
        return max(sum(map(abs, ways[0])) for ways in self.ways())

    def spread(self, slices: int) -> list[Way]:
        """A shortest way for each slice to each rank, such that the busiest of the 2k directions carries little.

        Opposite ranks get opposite ways, so that only the axes are left to balance. Greedy, those
        with fewest ways first, then moves as long as they help.

        Returns:
            the ways of all slices to rank 0, then to rank 1, and so on.
        """
        ways = self.ways()
        pairs = [(rank, other) for rank, other in enumerate(self._rank(-self._points).tolist()) if rank <= other]
        pairs.sort(key=lambda pair: len(ways[pair[0]]))
        load = np.zeros(2 * len(self.dims), dtype=np.intp)
        use, chosen = [], []
        for rank, other in pairs:
            there = np.array([[max(0, h) for h in way] + [max(0, -h) for h in way] for way in ways[rank]])
            use.append(there if rank == other else there + np.roll(there, len(self.dims), axis=1))
            chosen.append([0] * slices)
        for sweep in range(SWEEPS):
            before = [list(each) for each in chosen]
            for number, each in enumerate(chosen):
                for part in range(slices):
                    if sweep:
                        load -= use[number][each[part]]
                    each[part] = int(((load + use[number]) ** 2).sum(axis=1).argmin())
                    load += use[number][each[part]]
            if sweep and chosen == before:
                break
        found: list[list[Way]] = [[] for _ in range(self.ranks)]
        for (rank, other), each in zip(pairs, chosen, strict=True):
            found[rank] = [ways[rank][k] for k in each]
            found[other] = found[rank] if rank == other else [tuple(-h for h in way) for way in found[rank]]
        return [way for here in found for way in here]

    def trail(self, way: Sequence[int], start: int) -> list[int]:
        """The ranks that a way from rank 0 visits, beginning with axis `start`."""
        places = [np.zeros(len(way), dtype=np.intp)]
        for axis in [*range(start, len(way)), *range(start)]:
            ahead = np.sign(way[axis]) * np.eye(len(way), dtype=np.intp)[axis]
            places += [places[-1] + k * ahead for k in range(1, abs(way[axis]) + 1)]
        trail: list[int] = self._rank(np.array(places).T).tolist()
        return trail


def twisted_torus(width: int) -> Topology:
    """The 2k x k torus whose wraparound along the short axis moves on by k: Camara et al. (2010).

    Rank (x, y) with 0 <= x < 2k and 0 <= y < k has neighbors (x + 1, y) and (x, y + 1); leaving
    at y = k - 1 comes back at y = 0 with x moved on by k. `Wrapped` has its shapes of three axes, and its routes.

    >>> twisted_torus(4)
    Topology(twisted-torus:4, 32 ranks, 0 switches, 128 links)
    """
    check_ranks(width)
    return replace(Wrapped((2 * width, width)).topology(), name=f"twisted-torus:{width}")
