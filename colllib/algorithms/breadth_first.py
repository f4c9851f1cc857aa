"""Breadth-first schedules on any network of ranks: shards take shortest paths only, and load links as little as can be.

In step t of an all-gather every rank receives the shards of all owners that are t hops away. A shard
may come from each neighbor that is one hop nearer to its owner; how much comes from where is a
transportation problem of that rank and step alone (`Transport`). Owners whose shards may come by the same
links are one class, and by Hall's theorem the least possible load of the busiest link is the largest
ratio of owners to bandwidth over all sets of links that some owners depend on.

Source: Zhao et al. (2025), "Efficient Direct-Connect Topologies for Collective Communications", and
Zhao's dissertation, sections 3.6 and A.5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from math import ceil, gcd, lcm

import numpy as np

from colllib.closed_form import LONG_TORI, closed_form
from colllib.cost import Cost
from colllib.exact import Fractions, IntArray, counted, multiplied
from colllib.lattice_group import LatticeGroup
from colllib.limits import MOST_BLOCKS, MOST_ROUTES, check_size
from colllib.primitives import Blocks, check_counts, check_rank
from colllib.primitives import broadcast as from_root
from colllib.schedule import Orbit, Schedule, Step, in_sequence, reversed_in_time, scaled, split
from colllib.topology.base import Lattice, Topology
from colllib.topology.cuts import distances
from colllib.topology.graph import hops_from, turned_round

WORD = 62  # bits of a key that is a machine integer


# -- where they apply ----------------------------------------------------------------------------


def on_connected_ranks(topology: Topology) -> str | None:
    """Only ranks with links of one level among themselves, on which each reaches all others, will do."""
    if topology.switches:
        return f"is made for links between ranks, and {topology.name} has switches"
    if topology.levels > 1:
        return f"needs links of one alpha and one BW, and {topology.name} has several"
    apart = _apart(topology)
    return None if apart is None else f"needs a path between any two ranks, and {topology.name} has none from {apart}"


@lru_cache(maxsize=64)
def _apart(topology: Topology) -> str | None:
    """Two ranks of which the first cannot reach the second."""
    src, dst, zero = topology.link_src, topology.link_dst, np.zeros(1, dtype=np.intp)
    for start, end, pair in ((src, dst, "{} to 0"), (dst, src, "0 to {}")):
        cut_off = _hops_to(start, end, topology.ranks, zero)[0] < 0
        if cut_off.any():
            return pair.format(cut_off.argmax())
    return None


def _hops_to(src: IntArray, dst: IntArray, ranks: int, targets: IntArray) -> IntArray:
    """How many hops each rank is from some targets, -1 where there is no path, shape (targets, ranks)."""
    check_size("hops", len(targets) * ranks, MOST_ROUTES, "pairs of ranks")
    hops = hops_from(targets, ranks, dst, src)
    return np.where(np.isinf(hops), -1, hops).astype(np.int16 if ranks < 2**15 else np.int32)


# -- one receiver, one step ----------------------------------------------------------------------


@dataclass(frozen=True)
class Transport:
    """What one rank receives in one step: classes of owners, and the links by which their shards may come.

    Args:
        links: of each class the usable links, as a bit mask.
        owners: how many owners each class has.
        capacity: the bandwidth of each link, whole numbers.

    >>> Transport((0b011, 0b110), (1, 1), (1, 1, 1)).least_load()
    (Fraction(2, 3), 7)
    """

    links: tuple[int, ...]
    owners: tuple[int, ...]
    capacity: tuple[int, ...]

    def least_load(self) -> tuple[Fraction, int]:
        """The least load of the busiest link, in shards per unit of capacity, and a set of links that sets it.

        The load of a set of links is the number of owners who depend on it over its capacity. Each set
        whose load is too large for the last one's division is loaded more, so that few are tried.
        """
        chosen = 0
        for mask in self.links:
            chosen |= mask
        while True:
            dependent = sum(n for mask, n in zip(self.links, self.owners, strict=True) if mask & ~chosen == 0)
            load = Fraction(dependent, sum(self.capacity[k] for k in _bits(chosen)))
            divided = self._divided(load.denominator, [load.numerator * width for width in self.capacity])
            if not isinstance(divided, int):
                return load, chosen
            chosen = divided

    def divided(self, pieces: int, load: int) -> list[list[int]]:
        """Whole pieces: how many of each class come by each link, if a unit of capacity carries at most `load`.

        Raises:
            ValueError: if so few cannot suffice.

        >>> Transport((0b011, 0b110), (1, 1), (1, 1, 1)).divided(3, 2)
        [[2, 1, 0], [0, 1, 2]]
        """
        division = self._divided(pieces, [load * width for width in self.capacity])
        if isinstance(division, int):
            raise ValueError(f"load {load}: {pieces} pieces of each shard need {self.least_load()[0] * pieces}")
        return division

    def _divided(self, pieces: int, room: list[int]) -> list[list[int]] | int:
        """A division of all pieces over links with so much room, or the mask of a set of links that has too little."""
        flow = [[0] * len(room) for _ in self.links]
        for i in sorted(range(len(flow)), key=lambda i: self.links[i].bit_count()):
            left, usable = pieces * self.owners[i], list(_bits(self.links[i]))
            for place, k in enumerate(usable):
                taken = min(room[k], -(-left // (len(usable) - place)))
                flow[i][k] = taken
                room[k] -= taken
                left -= taken
            while left:
                amount = self._make_room(i, left, flow, room)
                if amount < 0:
                    return ~amount
                left -= amount
        return flow

    def _make_room(self, i: int, left: int, flow: list[list[int]], room: list[int]) -> int:
        """Move other classes' pieces along a shortest path to a link with room; else the complement of what is full."""
        reached = self.links[i]
        came: dict[int, tuple[int, int]] = dict.fromkeys(_bits(reached), (i, -1))
        for k in (queue := list(came)):
            if room[k]:
                break
            for j, other in enumerate(flow):
                if other[k] and (new := self.links[j] & ~reached):
                    reached |= new
                    came |= dict.fromkeys(_bits(new), (j, k))
                    queue += _bits(new)
        else:
            return ~reached
        path, amount, end = [], min(left, room[k]), k
        while k >= 0:
            j, before = came[k]
            path.append((j, before, k))
            amount = min(amount, flow[j][before]) if before >= 0 else amount
            k = before
        for j, before, k in path:
            flow[j][k] += amount
            if before >= 0:
                flow[j][before] -= amount
        room[end] -= amount
        return amount


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


# -- all receivers, all steps --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Layer:
    """One step: pairs of a receiver and an owner, ordered by receiver and then by class, and the receivers' problems.

    Args:
        owner: shape (pairs,).
        count: how many owners each receiver has, shape (receivers,).
        problem: the place of each receiver's problem among `transports`, -1 for none, shape (receivers,).
        transports: the different problems.
    """

    owner: IntArray
    count: IntArray
    problem: list[int]
    transports: tuple[Transport, ...]

    @cached_property
    def loads(self) -> tuple[Fraction, ...]:
        """The least load of each problem."""
        return tuple(transport.least_load()[0] for transport in self.transports)


@dataclass(frozen=True, eq=False)
class BreadthFirst:
    """The transportation problems of all receivers and steps on a network, and the schedule that solves them.

    On tori and circulant graphs all ranks see the same: there rank 0 stands for all receivers.

    Args:
        topology: ranks only, each of which reaches all others.
        each: whether every receiver is to have its own problems, even where all see the same.

    Raises:
        ValueError: for a topology that has switches, several levels, or two ranks without a path.

    >>> from colllib.topology import torus
    >>> plan = BreadthFirst(torus((5, 4)))
    >>> [str(load) for load in plan.loads], plan.pieces
    (['1', '7/4', '3/2', '1/2'], 4)
    """

    topology: Topology
    each: bool = False

    def __post_init__(self) -> None:
        if (why := on_connected_ranks(self.topology)) is not None:
            raise ValueError(f"breadth-first {why}")

    @cached_property
    def symmetry(self) -> Lattice | None:
        """The lattice, a ring where none is named, whose shifts take every link to a link; None if there is none."""
        lattice = self.topology.lattice or Lattice((self.topology.ranks,))
        if self.each or not lattice.wraps or lattice.ranks != self.topology.ranks:
            return None
        links = _sorted_links(self.topology, *self._ends)
        for stride in lattice.strides:
            images = (LatticeGroup.of(lattice).image(end, stride % lattice.ranks) for end in self._ends)
            if not np.array_equal(_sorted_links(self.topology, *images), links):
                return None
        return lattice

    @property
    def _ends(self) -> tuple[IntArray, IntArray]:
        return self.topology.link_src, self.topology.link_dst

    @cached_property
    def receivers(self) -> IntArray:
        """The ranks whose problems are solved, shape (R,)."""
        return np.arange(self.topology.ranks if self.symmetry is None else 1)

    @cached_property
    def _neighbors(self) -> tuple[IntArray, IntArray, Fraction]:
        (src, dst), ranks, speed = self._ends, self.topology.ranks, self.topology.bandwidth
        others = src != dst
        pair, number = np.unique(dst[others] * ranks + src[others], return_inverse=True)
        width = counted(number, np.asarray(speed.numerators)[others], len(pair))
        unit = gcd(*width.tolist()) or 1
        receiver, sender = np.divmod(pair, ranks)
        place = np.arange(len(pair)) - np.searchsorted(receiver, receiver)
        near = np.full((ranks, int(place.max(initial=-1)) + 1), -1, dtype=np.intp)
        widths = np.zeros(near.shape, dtype=width.dtype)
        near[receiver, place], widths[receiver, place] = sender, width // unit
        return near, widths, Fraction(unit, speed.denominator)

    @property
    def near(self) -> IntArray:
        """The ranks from which links lead to each rank, in ascending order, padded with -1, shape (N, most)."""
        return self._neighbors[0]

    @property
    def widths(self) -> tuple[IntArray, Fraction]:
        """The bandwidth of the links behind each place of `near` in a common unit, and that unit in BW."""
        return self._neighbors[1:]

    @cached_property
    def _rows(self) -> IntArray:
        """The ranks to which hops are known: the receivers, and where they are few those next to them."""
        few = np.unique(self.near[self.receivers])
        return np.concatenate((self.receivers, np.setdiff1d(few[few >= 0], self.receivers)))

    @cached_property
    def _row_of(self) -> IntArray:
        """The place of each rank among `_rows`."""
        row_of = np.zeros(self.topology.ranks, dtype=np.intp)
        row_of[self._rows] = np.arange(len(self._rows))
        return row_of

    @cached_property
    def hops(self) -> IntArray:
        """How many hops lead from each rank to each of `_rows`, shape (rows, N)."""
        return _hops_to(*self._ends, self.topology.ranks, self._rows)

    @cached_property
    def layers(self) -> tuple[_Layer, ...]:
        """The steps, as many as the diameter."""
        ranks, to_receivers = self.topology.ranks, self.hops[: len(self.receivers)]
        order = np.argsort(to_receivers.ravel(), kind="stable")
        first = np.cumsum(np.bincount(to_receivers.ravel()))
        return tuple(
            self._layer(t, *np.divmod(order[start:end], ranks)) for t, (start, end) in enumerate(pairwise(first), 1)
        )

    def _layer(self, t: int, row: IntArray, owner: IntArray) -> _Layer:
        ranks, places = self.topology.ranks, self.near.shape[1]
        key = row.astype(np.int64 if places + ranks.bit_length() <= WORD else object) << places
        for k in range(places):
            neighbor = self.near[self.receivers[row], k]
            usable = (self.hops[self._row_of[neighbor], owner] == t - 1) & (neighbor >= 0)
            key += usable.astype(key.dtype) << k
        order = np.argsort(key, kind="stable")
        key, owner = key[order], owner[order]
        first = np.flatnonzero(np.r_[True, key[1:] != key[:-1]])
        links, owners = key[first] & ((1 << places) - 1), np.diff(np.r_[first, len(key)])
        start = np.searchsorted(row[first], np.arange(len(self.receivers) + 1))  # rows were in order before
        problem: list[int] = []
        place: dict[Transport, int] = {}
        for receiver, a, b in zip(self.receivers, start, start[1:], strict=False):
            parts = (links[a:b], owners[a:b], self.widths[0][receiver])
            transport = Transport(*(tuple(part.tolist()) for part in parts))
            problem.append(place.setdefault(transport, len(place)) if a < b else -1)
        kind = np.min_scalar_type(ranks)
        count = np.bincount(row, minlength=len(self.receivers))
        return _Layer(owner.astype(kind), count, problem, tuple(place))

    @cached_property
    def loads(self) -> tuple[Fraction, ...]:
        """Per step the load of the busiest link at any receiver, in shards of M/N over links of BW."""
        unit = self.widths[1]
        return tuple(max(layer.loads) / unit for layer in self.layers)

    def transport(self, receiver: int, t: int) -> Transport | None:
        """The problem of one receiver in step t = 1, 2, ..., None if no owner is so far away."""
        layer = self.layers[t - 1]
        problem = layer.problem[receiver if self.symmetry is None else 0]
        return None if problem < 0 else layer.transports[problem]

    def linear_program(self, receiver: int, t: int) -> Fraction:
        """The least load, as `Transport.least_load` has it, by the linear program that the source writes.

        The optimum is a number of owners over a sum of capacities, so that the solver's float determines it.
        """
        from scipy.optimize import linprog

        receiver = receiver if self.symmetry is None else 0
        owners = np.flatnonzero(self.hops[self._row_of[receiver]] == t)
        neighbors = self.near[receiver][self.near[receiver] >= 0]
        width = self.widths[0][receiver][: len(neighbors)]
        usable = self.hops[self._row_of[neighbors]][:, owners] == t - 1
        owner, link = np.nonzero(usable.T)
        # the amounts by each owner and link, and behind them the load
        busy = np.c_[np.eye(len(neighbors))[:, link], -width]
        complete = np.c_[np.eye(len(owners))[:, owner], np.zeros(len(owners))]
        least = np.r_[np.zeros(len(link)), 1.0]
        solution = linprog(least, busy, np.zeros(len(neighbors)), complete, np.ones(len(owners)))
        assert solution.fun is not None
        return Fraction(solution.fun).limit_denominator(int(width.sum()))

    @cached_property
    def pieces(self) -> int:
        """P: into how many equal pieces each shard is cut so that every link carries whole ones at the least load."""
        return lcm(*(max(layer.loads).denominator for layer in self.layers))

    def at_most(self, pieces: int) -> int:
        """The best number of pieces up to a limit; of equally good ones the smallest.

        With P pieces a link must carry whole ones, so that U becomes ceil(P U) / P: between equal links no
        division into P pieces carries less, and each step costs less than a piece more than it must.

        >>> from colllib.topology import torus
        >>> BreadthFirst(torus((5, 4))).at_most(3)
        2
        """
        check_counts(pieces=pieces)
        return self.pieces if self.pieces <= pieces else min(range(1, pieces + 1), key=self._n_beta)

    def _n_beta(self, pieces: int) -> Fraction:
        """What the busiest of equal links of BW carry if every shard is in so many pieces."""
        load = sum(ceil(pieces * max(layer.loads)) for layer in self.layers)
        return Fraction(load, pieces * self.topology.ranks)

    def cost(self, pieces: int) -> Cost:
        """The cost in at most so many pieces, where all links have BW."""
        return Cost(len(self.layers), self._n_beta(self.at_most(pieces)))

    def all_gather(self, pieces: int | None = None) -> Schedule:
        """The schedule, with every shard in so many pieces (default: as many as make it exact)."""
        pieces = self.pieces if pieces is None else pieces
        ranks = self.topology.ranks
        check_size(f"breadth-first on {self.topology.name} in {pieces} pieces", ranks * pieces, MOST_BLOCKS, "blocks")
        runs = [self._runs(layer, pieces) for layer in self.layers]

        def step(t: int) -> tuple[IntArray, IntArray, IntArray, IntArray]:
            """Senders, receivers, owners and pieces."""
            layer, (neighbor, count) = self.layers[t], runs[t]
            owner = np.repeat(layer.owner.astype(np.intp), pieces)
            piece = np.tile(np.arange(pieces), len(layer.owner))
            return np.repeat(neighbor, count), np.repeat(self.receivers, layer.count * pieces), owner, piece

        if self.symmetry is None:

            def of_all_receivers(t: int) -> Step:
                src, dst, owner, piece = step(t)
                return Step.of(src, dst, owner * pieces + piece)

            return Schedule(shards(ranks, pieces), len(self.layers), of_all_receivers)
        group = LatticeGroup.of(self.symmetry)

        def of_rank_0(t: int) -> Step:
            src, dst, owner, piece = step(t)
            back = group.inverse(group.element_to(owner))
            return Step.of(group.image(src, back), group.image(dst, back), piece)

        one = Schedule.from_steps(from_root(ranks, pieces), [of_rank_0(t) for t in range(len(self.layers))])
        return Orbit(scaled(one, Fraction(1, ranks)), self.symmetry, number=_numbering(pieces))

    def _runs(self, layer: _Layer, pieces: int) -> tuple[IntArray, IntArray]:
        """For the pieces of a layer in order: runs of those that come from one neighbor, and how many each has."""
        load = ceil(max(layer.loads) * pieces)
        runs = []
        for transport in layer.transports:
            table = np.array(transport.divided(pieces, load), dtype=np.intp)
            filled = table > 0
            runs.append((np.nonzero(filled)[1], table[filled]))
        used = [(r, problem) for r, problem in enumerate(layer.problem) if problem >= 0]
        row = np.repeat(self.receivers[[r for r, _ in used]], [len(runs[problem][0]) for _, problem in used])
        place, count = (np.concatenate([runs[problem][part] for _, problem in used]) for part in (0, 1))
        return self.near[row, place], count


@lru_cache(maxsize=64)
def _numbering(pieces: int) -> Callable[[IntArray, IntArray], IntArray]:
    """The same function each time: orbits of equal lattices and numbers can follow one another."""
    return lambda piece, owner: owner * pieces + piece


def shards(ranks: int, pieces: int) -> Blocks:
    """The blocks of an all-gather of equal shards in so many pieces each; piece p of rank r is block r * pieces + p."""
    owner, everyone = np.repeat(np.arange(ranks), pieces), np.full(ranks * pieces, ranks)
    return Blocks(ranks, Fractions.equal(ranks * pieces), owner, everyone, (np.arange(ranks),))


# -- the algorithms ------------------------------------------------------------------------------


@lru_cache(maxsize=16)
def breadth_first(topology: Topology) -> BreadthFirst:
    """The problems of a network, kept for as many schedules and prices as are asked for."""
    return BreadthFirst(topology)


def _sorted_links(topology: Topology, src: IntArray, dst: IntArray) -> IntArray:
    """The pairs of ranks between which links lead, and the links' tiers, in an order that only depends on these."""
    rows = np.stack((src * topology.ranks + dst, topology.tier))
    return rows[:, np.lexsort(rows)]


def _turned(topology: Topology) -> Topology:
    """The network with its links turned round, which is itself where each link has an opposite one."""
    src, dst = topology.link_src, topology.link_dst
    undirected = np.array_equal(_sorted_links(topology, src, dst), _sorted_links(topology, dst, src))
    return topology if undirected else turned_round(topology)


def all_gather(topology: Topology, pieces: int = 0) -> Schedule:
    """Every shard spreads over shortest paths only, and each step divides it among the links it may come by.

    Args:
        topology: ranks only, each of which reaches all others; links may be one-way, parallel, of several speeds.
        pieces: into how many pieces a shard may be cut at most (default: as many as make it exact).

    >>> from colllib.execution import execute
    >>> from colllib.topology import torus
    >>> from colllib.topology.expression import find
    >>> execute(all_gather(torus((5, 4))), torus((5, 4))).cost
    Cost(n_alpha=4, n_beta=19/80)
    >>> execute(all_gather(find("twisted-torus:3")), find("twisted-torus:3")).cost
    Cost(n_alpha=3, n_beta=17/72)
    """
    plan = breadth_first(topology)
    return plan.all_gather(plan.at_most(pieces) if pieces else None)


def reduce_scatter(topology: Topology, pieces: int = 0) -> Schedule:
    """`all_gather` on the network with its links turned round, backwards.

    >>> from colllib.topology import torus
    >>> reduce_scatter(torus((3, 3))).num_steps
    2
    """
    return reversed_in_time(all_gather(_turned(topology), pieces))


def all_reduce(topology: Topology, pieces: int = 0) -> Schedule:
    """`reduce_scatter`, then `all_gather`, both in the pieces that both need: the first of the three forms.

    >>> from colllib.topology import torus
    >>> all_reduce(torus((4, 4))).num_steps
    8
    """
    down, up = breadth_first(_turned(topology)), breadth_first(topology)
    common = lcm(down.pieces, up.pieces)
    if pieces and common > pieces:
        common = max(plan.at_most(pieces) for plan in (down, up))
    return in_sequence(reversed_in_time(down.all_gather(common)), up.all_gather(common))


def broadcast(topology: Topology, root: int = 0) -> Schedule:
    """The root's vector takes all shortest paths, and what a rank receives is divided among its links by their width.

    >>> from colllib.execution import execute
    >>> from colllib.topology.expression import find
    >>> execute(broadcast(find("hypercube:3")), find("hypercube:3")).cost
    Cost(n_alpha=3, n_beta=11/6)
    """
    plan = breadth_first(topology)
    check_rank("root", root, topology.ranks)
    away = _hops_to(topology.link_dst, topology.link_src, topology.ranks, np.array([root]))[0]
    width = np.where((plan.near >= 0) & (away[plan.near] == away[:, None] - 1), plan.widths[0], 0)
    total = width.sum(axis=1)
    least = [int(total[away == t].min()) for t in range(1, int(away.max()) + 1)]
    pieces = lcm(*least)
    check_size(f"breadth-first on {topology.name} in {pieces} pieces", pieces, MOST_BLOCKS, "blocks")

    def step(t: int) -> Step:
        receiver = np.flatnonzero(away == t + 1)
        room = np.minimum(multiplied(width[receiver], pieces // least[t]), pieces).astype(np.intp)
        count = np.diff(np.minimum(np.cumsum(room, axis=1), pieces), axis=1, prepend=0)
        sender = np.repeat(plan.near[receiver].ravel(), count.ravel())
        return Step.of(sender, np.repeat(receiver, pieces), np.tile(np.arange(pieces), len(receiver)))

    return Schedule(from_root(topology.ranks, pieces, root), len(least), step)


def reduce(topology: Topology, root: int = 0) -> Schedule:
    """`broadcast` on the network with its links turned round, backwards.

    >>> from colllib.topology.expression import find
    >>> reduce(find("uniring:1x4"), root=2).num_steps
    3
    """
    return reversed_in_time(broadcast(_turned(topology), root))


def rooted_all_reduce(topology: Topology) -> Schedule:
    """`reduce` to the rank nearest to and from all others, then `broadcast`: few steps, many bytes.

    >>> from colllib.execution import execute
    >>> from colllib.topology.expression import find
    >>> grid = find("mesh:3x3")
    >>> [execute(build(grid), grid).cost for build in (all_reduce, rooted_all_reduce)]
    [Cost(n_alpha=8, n_beta=8/9), Cost(n_alpha=4, n_beta=3)]
    """
    breadth_first(topology)  # refuses what has switches, several levels, or two ranks without a path
    hops = distances(topology)
    center = int((hops.max(axis=0) + hops.max(axis=1)).argmin())
    down, up = reduce(topology, center), broadcast(topology, center)
    pieces = lcm(len(down.blocks), len(up.blocks))
    return in_sequence(split(down, pieces // len(down.blocks)), split(up, pieces // len(up.blocks)))


def whole_vectors(topology: Topology) -> Schedule:
    """The all-gather of N vectors of M each, which every rank then adds up: an all-reduce in half the steps.

    It moves N times what `all_gather` does. What is added at the end is no part of the schedule.

    >>> from colllib.execution import execute
    >>> from colllib.topology.expression import find
    >>> execute(whole_vectors(find("hypercube:3")), find("hypercube:3")).cost
    Cost(n_alpha=3, n_beta=7/3)
    """
    return scaled(all_gather(topology), topology.ranks)


@closed_form("total(d // 2)", "(N - 1) / (2 * k * N)", LONG_TORI)
def all_gather_cost(topology: Topology, pieces: int = 0) -> Cost:
    """Cost of `all_gather` from its transportation problems, with `pieces` for links of BW; on tori a formula.

    >>> from colllib.topology import torus
    >>> all_gather_cost(torus((8, 8, 8))), all_gather_cost(torus((5, 4)), pieces=1)
    (Cost(n_alpha=12, n_beta=511/3072), Cost(n_alpha=4, n_beta=3/10))
    """
    plan = breadth_first(topology)
    return plan.cost(pieces) if pieces else Cost(len(plan.layers), sum(plan.loads, Fraction(0)) / topology.ranks)


@closed_form("total(d // 2)", "(N - 1) / (2 * k * N)", LONG_TORI)
def reduce_scatter_cost(topology: Topology, pieces: int = 0) -> Cost:
    """Cost of `reduce_scatter`: that of the all-gather on the network with its links turned round."""
    return all_gather_cost(_turned(topology), pieces)


@closed_form("2 * total(d // 2)", "(N - 1) / (k * N)", LONG_TORI)
def all_reduce_cost(topology: Topology, pieces: int = 0) -> Cost:
    """Cost of `all_reduce`: both halves, with `pieces` where each link has an opposite one.

    >>> from colllib.topology import torus
    >>> all_reduce_cost(torus((8, 8, 8)))
    Cost(n_alpha=24, n_beta=511/1536)
    """
    return reduce_scatter_cost(topology, pieces) + all_gather_cost(topology, pieces)
