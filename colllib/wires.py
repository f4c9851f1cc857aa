"""What an all-to-all puts on which wire: other routes for a topology, the blocks on a link, cuts, twisted tori.

Every topology here has one full-duplex link per neighbor.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise, product
from math import prod

import numpy as np

from colllib.exact import Fractions, IntArray
from colllib.primitives import Blocks
from colllib.schedule import Schedule, Step
from colllib.topology import Topology, from_links, torus
from colllib.topology.lattice import PER_NEIGHBOR

# -- routes --------------------------------------------------------------------------------------


def with_routes(topology: Topology, path: Callable[[int, int], Sequence[int]], name: str = "own routes") -> Topology:
    """The topology with routes of one's own.

    Args:
        topology: where the links are.
        path: the nodes that a message from rank a to rank b visits, from a to b.
        name: what tables add to the topology's name.

    Raises:
        ValueError: for a path that does not lead from a to b over links.

    >>> from colllib.topology import ring
    >>> upwards = with_routes(ring(4), lambda a, b: [(a + k) % 4 for k in range((b - a) % 4 + 1)])
    >>> upwards.router(np.array([0]), np.array([3]))[1].tolist()
    [0, 1, 2]
    """
    ranks = topology.ranks
    links = {pair: k for k, pair in enumerate(zip(topology.link_src.tolist(), topology.link_dst.tolist(), strict=True))}
    routes: list[list[int]] = []
    for a, b in product(range(ranks), repeat=2):
        nodes = list(path(a, b))
        hops = list(pairwise(nodes))
        if nodes[0] != a or nodes[-1] != b or any(hop not in links for hop in hops):
            raise ValueError(f"path {nodes} from rank {a} to rank {b}: must lead there over links of {topology.name}")
        routes.append([links[hop] for hop in hops])
    hops_of = np.array([len(route) for route in routes])
    first = np.cumsum(hops_of) - hops_of
    crossed = np.array([link for route in routes for link in route], dtype=np.intp)

    def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        pair = np.asarray(src) * ranks + dst
        count = hops_of[pair]
        message = np.repeat(np.arange(len(pair)), count)
        hop = np.arange(len(message)) - np.repeat(np.cumsum(count) - count, count)
        return message, crossed[first[pair][message] + hop]

    return replace(topology, name=f"{topology.name} with {name}", router=route)


def alternating_torus(dims: Sequence[int]) -> Topology:
    """A torus whose messages begin with different axes: which one, the coordinates of both ends decide.

    A message whose ends' coordinates sum to s goes along axis s mod k first, the others in turn;
    ties are balanced. The loads are those of the balanced torus, but no axis has to wait for
    another one, and `relay_one_by_one` keeps all links of a 4 x 4 torus busy.

    >>> from colllib.algorithms.relay import relay_one_by_one
    >>> relay_one_by_one(alternating_torus((4, 4))).num_steps
    8
    """
    axes = range(len(dims))
    turns = [torus(dims, tie="balanced", order=[*axes[start:], *axes[:start]]) for start in axes]
    plain = turns[0]
    lattice = plain.lattice
    assert lattice is not None

    def route(src: IntArray, dst: IntArray) -> tuple[IntArray, IntArray]:
        begins = sum(lattice.coordinate(src, k) + lattice.coordinate(dst, k) for k in axes) % len(dims)
        messages, links = [], []
        for start, where in enumerate(turns):
            mine = np.flatnonzero(begins == start)
            message, link = where.router(src[mine], dst[mine])
            messages.append(mine[message])
            links.append(link)
        message = np.concatenate(messages)
        order = np.argsort(message, kind="stable")
        return message[order], np.concatenate(links)[order]

    return replace(plain, name=f"{plain.name}, axes in turn", router=route)


def blocks_on(topology: Topology, src: int, dst: int) -> list[tuple[int, int]]:
    """Source and destination of every block of an all-to-all that crosses the link from `src` to `dst`.

    >>> from colllib.topology import ring
    >>> blocks_on(ring(4), 1, 2)
    [(0, 2), (1, 2), (1, 3)]
    """
    ranks = topology.ranks
    source, target = np.divmod(np.arange(ranks * ranks), ranks)
    message, link = topology.router(source, target)
    here = message[(topology.link_src[link] == src) & (topology.link_dst[link] == dst)]
    return [(int(source[m]), int(target[m])) for m in here]


# -- cuts ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cut:
    """Some ranks against all others.

    Attributes:
        links: directed links that lead out of these ranks.
        bandwidth: of these links together, in units of BW.
        blocks: blocks of an all-to-all that must get out.
        share: their bytes, in units of M.
    """

    links: int
    bandwidth: Fraction
    blocks: int
    share: Fraction

    @property
    def bound(self) -> Fraction:
        """The least time to get them out, in units of M/BW: no schedule is faster."""
        return self.share / self.bandwidth


def cut(topology: Topology, side: Collection[int]) -> Cut:
    """What an all-to-all must push out of some ranks, and over how much bandwidth.

    Args:
        topology: any whose nodes are ranks.
        side: the ranks on one side; none, or all of them, is no cut.

    Raises:
        ValueError: if no link leads out, or a side is empty.

    >>> half = [rank for rank in range(16) if rank % 4 < 2]
    >>> cut(torus((4, 4)), half)
    Cut(links=8, bandwidth=Fraction(8, 1), blocks=64, share=Fraction(4, 1))
    """
    inside = np.zeros(topology.nodes, dtype=bool)
    inside[list(side)] = True
    count = int(inside.sum())
    crossing = inside[topology.link_src] & ~inside[topology.link_dst]
    if not 0 < count < topology.ranks or not crossing.any():
        raise ValueError(f"{count} of {topology.ranks} ranks with {int(crossing.sum())} links out: no cut")
    speed = Fraction(int(topology.bandwidth.numerators[crossing].sum()), topology.bandwidth.denominator)
    blocks = count * (topology.ranks - count)
    return Cut(int(crossing.sum()), speed, blocks, Fraction(blocks, topology.ranks))


def middle_cut(topology: Topology) -> Cut:
    """The cut across the middle of a lattice's longest axis, whose bound is the largest of all axes.

    >>> middle_cut(torus((16, 8, 4))).bound, middle_cut(torus((5, 5))).bound
    (Fraction(2, 1), Fraction(3, 5))
    """
    lattice = topology.lattice
    if lattice is None:
        raise ValueError(f"{topology.name} has no axes: give the side of the cut yourself")
    rank = np.arange(lattice.ranks)
    cuts = [
        cut(topology, np.flatnonzero(lattice.coordinate(rank, axis) < size // 2).tolist())
        for axis, size in enumerate(lattice.dims)
        if size > 1
    ]
    return max(cuts, key=lambda found: found.bound)


# -- twisted tori --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wrapped:
    """A torus of axes k and 2k, the short ones first, plain or twisted.

    Twisted: who leaves a short axis at its end comes back at its start with the coordinates on
    all long axes moved on by k. The shapes k x 2k, k x k x 2k and k x 2k x 2k are those for which
    TPU slices have twists.

    Args:
        dims: the number of ranks on each axis, k or 2k, the short axes first.
        twisted: whether the wraparound of the short axes moves on along the long ones.

    Raises:
        ValueError: for other sizes.

    Source: Cámara et al. (2010), "Twisted Torus Topologies for Enhanced Interconnection Networks";
    Jouppi et al. (2023).

    >>> Wrapped((4, 8)).diameter, Wrapped((4, 8), twisted=False).diameter
    (4, 6)
    """

    dims: tuple[int, ...]
    twisted: bool = True

    def __post_init__(self) -> None:
        short, long = self.dims[0], self.dims[-1]
        if short < 2 or long != 2 * short or list(self.dims) != sorted(self.dims) or set(self.dims) != {short, long}:
            raise ValueError(f"axes {self.dims}: must be k and 2k with k of at least 2, the short ones first")

    @property
    def ranks(self) -> int:
        """Number of ranks N."""
        return prod(self.dims)

    def rank(self, point: Sequence[int]) -> int:
        """The rank at a point of the unbounded lattice."""
        short, at = self.dims[0], list(point)
        turns = sum(at[axis] // size for axis, size in enumerate(self.dims) if size == short)
        number, stride = 0, 1
        for axis, size in enumerate(self.dims):
            move = short * turns if self.twisted and size > short else 0
            number += (at[axis] - move) % size * stride
            stride *= size
        return number

    def point(self, rank: int) -> tuple[int, ...]:
        """The coordinates of a rank."""
        found = []
        for size in self.dims:
            found.append(rank % size)
            rank //= size
        return tuple(found)

    def topology(self) -> Topology:
        """One link per neighbor; the routes are any shortest ones."""
        links = set()
        for rank in range(self.ranks):
            for axis in range(len(self.dims)):
                ahead = list(self.point(rank))
                ahead[axis] += 1
                links |= {(rank, self.rank(ahead)), (self.rank(ahead), rank)}
        name = f"{'twisted' if self.twisted else 'plain'}-torus:{'x'.join(map(str, self.dims))}"
        return from_links(name, self.ranks, sorted(links), port_model=PER_NEIGHBOR)

    def ways(self) -> list[list[tuple[int, ...]]]:
        """For every rank: all shortest ways to it from rank 0, as signed hops on each axis."""
        found: list[list[tuple[int, ...]]] = [[] for _ in range(self.ranks)]
        reach = [range(-self.dims[-1], self.dims[-1] + 1)] * len(self.dims)
        for way in sorted(product(*reach), key=lambda way: sum(map(abs, way))):
            here = found[self.rank(way)]
            if not here or sum(map(abs, here[0])) == sum(map(abs, way)):
                here.append(way)
        return found

    @property
    def diameter(self) -> int:
        """The hops to the farthest rank."""
        return max(sum(map(abs, ways[0])) for ways in self.ways())

    def relay(self) -> Schedule:
        """An all-to-all over shortest ways: every block in two slices per axis, spread over the directions.

        All ranks do the same, moved. A slice makes one hop in every step. The ways are chosen so that
        all directions carry alike, or nearly.

        >>> from colllib.execution import execute
        >>> twisted = Wrapped((4, 8))
        >>> max(execute(twisted.relay(), twisted.topology()).link_total)
        Fraction(21, 32)
        """
        slices = 2 * len(self.dims)
        chosen = _balanced(self.ways(), slices)
        points = [self.point(rank) for rank in range(self.ranks)]
        moved = np.array([[self.rank(_sum(a, b)) for b in points] for a in points])
        rank = np.arange(self.ranks)
        target = np.repeat(np.arange(self.ranks), slices)  # of rank 0's slices; rank r's come after all of r - 1's
        trails = [self._trail(way, number % len(self.dims)) for number, way in enumerate(chosen)]
        share = Fractions.equal(len(chosen) * self.ranks, self.ranks)
        blocks = Blocks(self.ranks, share, np.repeat(rank, len(chosen)), moved[:, target].ravel(), ())

        def step(t: int) -> Step:
            going = np.array([number for number, trail in enumerate(trails) if len(trail) > t + 1], dtype=np.intp)
            here, there = (np.array([trails[number][t + k] for number in going]) for k in (0, 1))
            block = rank[:, None] * len(chosen) + going
            return Step.of(moved[:, here].ravel(), moved[:, there].ravel(), block.ravel())

        return Schedule(blocks, max(map(len, trails)) - 1, step)

    def _trail(self, way: Sequence[int], start: int) -> list[int]:
        """The ranks that a slice from rank 0 visits, beginning with axis `start`."""
        at, trail = [0] * len(way), [0]
        for axis in [*range(start, len(way)), *range(start)]:
            for _ in range(abs(way[axis])):
                at[axis] += 1 if way[axis] > 0 else -1
                trail.append(self.rank(at))
        return trail


def _sum(a: Sequence[int], b: Sequence[int]) -> list[int]:
    return [x + y for x, y in zip(a, b, strict=True)]


def _balanced(ways: Sequence[Sequence[tuple[int, ...]]], slices: int) -> list[tuple[int, ...]]:
    """One of the ways for each slice to each rank, such that the busiest of the 2k directions carries little.

    Greedy, those with fewest ways first, then moves as long as they help.
    """
    load = np.zeros(2 * len(ways[0][0]), dtype=np.intp)
    use = [np.array([[max(0, h) for h in way] + [max(0, -h) for h in way] for way in here]) for here in ways]
    pick = [[0] * slices for _ in ways]
    for last in (False, True):
        for rank in sorted(range(len(ways)), key=lambda rank: len(ways[rank])):
            for number in range(slices):
                if last:
                    load -= use[rank][pick[rank][number]]
                costs = ((load + use[rank]) ** 2).sum(axis=1)
                pick[rank][number] = int(costs.argmin())
                load += use[rank][pick[rank][number]]
    return [here[k] for here, picked in zip(ways, pick, strict=True) for k in picked]
