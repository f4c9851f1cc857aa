"""How fast any schedule can be: the cut that has most to send per bandwidth that leaves it.

Out of a set S of nodes that leaves out some rank, everything that the ranks in S have to send must
come at least once. The largest ratio of that to the bandwidth that leaves S is the inverse of the
throughput per part, 1/x*; trees reach it (Zhao et al. 2026). Three searches find it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, gcd, inf

import numpy as np

from colllib.exact import IntArray, integers, multiplied
from colllib.forest.fabric import Fabric
from colllib.forest.flow import Starved, starved, with_source
from colllib.limits import check_size
from colllib.primitives import is_whole

MOST_SETS = 2**20  # that are all looked at
MOST_TREES = 2**16  # of a rank


@dataclass(frozen=True)
class Bound:
    """What no schedule can beat.

    Attributes:
        inverse_throughput: 1/x*: the time in which every rank's part reaches all, in parts per bandwidth.
        cut: the nodes of a set that has so much to send; empty for a single rank.
        trees: the least number k of equal trees for each part with which it is reached exactly.
        unit: U: how many trees share a bandwidth of 1; a link of bandwidth b carries U b of them.
    """

    inverse_throughput: Fraction
    cut: tuple[int, ...]
    trees: int
    unit: Fraction


def ratio(fabric: Fabric, nodes: tuple[int, ...]) -> Fraction:
    """What the ranks in a set have to send, over the bandwidth of all links that leave it.

    Raises:
        ValueError: if every rank is in the set, or nothing leaves it.

    >>> from colllib.forest.fabric import fabric
    >>> from colllib.topology.expression import find
    >>> ratio(fabric(find("torus:4x4")), (0, 1, 2, 3))
    Fraction(1, 2)
    """
    if set(range(fabric.ranks)) <= set(nodes):
        raise ValueError(f"all {fabric.ranks} ranks are in the set: nothing has to leave it")
    sent = int(sum(fabric.weight[node] for node in nodes if node < fabric.ranks))
    leaving = fabric.leaving(nodes)
    if not leaving and sent:
        outside = next(rank for rank in range(fabric.ranks) if rank not in nodes)
        inside = next(node for node in nodes if node < fabric.ranks and fabric.weight[node])
        start, end = (outside, inside) if fabric.inward else (inside, outside)
        raise ValueError(f"{fabric.topology.name}: no path leads from rank {start} to rank {end}")
    return Fraction(sent) / leaving if sent else Fraction(0)


def bound(fabric: Fabric, *, search: str = "newton") -> Bound:
    """The throughput bound, and the numbers that trees need to reach it.

    Args:
        search: "newton", from one violated cut to the next; "bisection", as published; or "all-cuts", every one.

    Raises:
        ValueError: for an unknown search, no path between two ranks, or too many sets of nodes.

    >>> from colllib.forest.fabric import fabric
    >>> from colllib.topology.expression import find
    >>> bound(fabric(find("dgx-a100:2"))).inverse_throughput  # one GPU's 15 shards at 325 GB/s
    Fraction(3, 65)
    """
    if search not in SEARCHES:
        raise ValueError(f"search {search!r}: must be one of {', '.join(SEARCHES)}")
    if fabric.ranks == 1:
        return Bound(Fraction(0), (), 1, Fraction(1))
    cut = SEARCHES[search](fabric)
    inverse = ratio(fabric, cut)
    scaled = inverse * fabric.unit  # per capacity of 1; U is the least multiple that makes every capacity whole
    shared = gcd(scaled.denominator, *np.unique(fabric.capacity).tolist())
    unit = Fraction(scaled.numerator, shared) / fabric.unit
    return Bound(inverse, cut, int(unit / inverse), unit)


def _first_cut(fabric: Fabric) -> tuple[int, ...]:
    """All nodes but the rank into which least leads for what it needs."""
    into = fabric.capacity[:, : fabric.ranks].sum(axis=0).tolist()
    need = (fabric.total - fabric.weight).tolist()
    last = max(range(fabric.ranks), key=lambda rank: Fraction(need[rank], into[rank]))
    return tuple(node for node in range(fabric.nodes) if node != last)


def overloaded(fabric: Fabric, inverse: Fraction) -> tuple[int, ...] | None:
    """A cut whose ratio is above a value; None if all of a source's supply, x per weight, can reach every rank."""
    scaled = inverse * fabric.unit
    short = _short(fabric, multiplied(fabric.capacity, scaled.numerator), scaled.denominator)
    return short and _members(short.side, fabric.nodes)


def feasible(fabric: Fabric, capacity: IntArray, trees: int) -> bool:
    """Whether so many trees for each part fit: what all ranks send can reach every rank."""
    return _short(fabric, capacity, trees) is None


def _short(fabric: Fabric, capacity: IntArray, times: int) -> Starved | None:
    """A rank that not all can reach of what all ranks send, so many times their weights."""
    # one rank stands for all where the topology is the same seen from every rank
    alike = fabric.topology.link_class is not None and (fabric.weight == fabric.weight[0]).all()
    network = with_source(capacity, multiplied(fabric.weight, times))
    return starved(network, range(1 if alike else fabric.ranks), fabric.total * times)


def _newton(fabric: Fabric) -> tuple[int, ...]:
    """From one overloaded cut to the next, each with a larger ratio."""
    cut = _first_cut(fabric)
    while (worse := overloaded(fabric, ratio(fabric, cut))) is not None:
        cut = worse
    return cut


def _bisection(fabric: Fabric) -> tuple[int, ...]:
    """Halve the range of 1/x until one fraction of a small enough denominator is left in it."""
    low, high = ratio(fabric, _first_cut(fabric)) * fabric.unit, Fraction(fabric.total)  # per capacity of 1
    most = max(1, floor(fabric.total / low))  # what leaves the bottleneck
    inverse, _ = halved(low, high, most, lambda at: overloaded(fabric, at / fabric.unit) is None)
    cut = overloaded(fabric, (inverse - Fraction(1, 2 * most**2)) / fabric.unit)  # no other ratio lies between
    assert cut is not None
    return cut


def halved(low: Fraction, high: Fraction, most: int, enough: Callable[[Fraction], bool]) -> tuple[Fraction, int]:
    """The fraction of a denominator up to `most` to which halving a range leads, and in how many steps.

    >>> halved(Fraction(0), Fraction(1), 5, lambda at: at >= Fraction(2, 5))
    (Fraction(2, 5), 5)
    """
    steps = 0
    while high - low >= Fraction(1, most**2):
        middle, steps = (low + high) / 2, steps + 1
        low, high = (low, middle) if enough(middle) else (middle, high)
    return ((low + high) / 2).limit_denominator(most), steps


def _all_cuts(fabric: Fabric) -> tuple[int, ...]:
    """Every set of nodes that leaves out some rank, by the bits of its number."""
    check_size(f"all cuts of {fabric.topology.name}", 2**fabric.nodes, MOST_SETS, "sets of nodes")
    sets = np.arange(2**fabric.nodes)
    inside = sets[:, None] >> np.arange(fabric.nodes) & 1
    leaving = ((inside @ fabric.capacity) * (1 - inside)).sum(axis=1)
    sent = inside[:, : fabric.ranks] @ fabric.weight
    allowed = ~inside[:, : fabric.ranks].all(axis=1) & (sent > 0)
    rows = zip(*(column[allowed].tolist() for column in (sent, leaving, sets)), strict=True)
    # of equal ratios the largest set, as flows find it
    _, number = max((Fraction(out, through) if through else inf, number) for out, through, number in rows)
    return _members(number, fabric.nodes)


def _members(number: int, nodes: int) -> tuple[int, ...]:
    return tuple(node for node in range(nodes) if number >> node & 1)


SEARCHES = {"newton": _newton, "bisection": _bisection, "all-cuts": _all_cuts}


def fixed(fabric: Fabric, trees: int) -> Bound:
    """The fastest that a given number of equal trees for each part can be, with the bottleneck of the fabric itself.

    The bound has U/k in place of 1/x*. U is the least number for which the links have room for the trees,
    floor(U b) on a link of bandwidth b. At the least one, some U b is whole: these are the few candidates.

    Raises:
        ValueError: for k below 1, or above 65,536.

    >>> from colllib.forest.fabric import fabric
    >>> from colllib.topology.expression import find
    >>> [str(fixed(fabric(find("dgx-a100:2")), k).inverse_throughput) for k in (1, 2, 13)]
    ['7/150', '7/150', '3/65']
    """
    if not is_whole(trees) or trees < 1:
        raise ValueError(f"trees = {trees!r}: a whole number of at least 1 is needed for each rank")
    check_size(fabric.topology.name, trees, MOST_TREES, "trees for each rank")
    free = bound(fabric)
    if fabric.ranks == 1:
        return free
    speeds = [int(speed) * fabric.unit for speed in np.unique(fabric.capacity) if speed]
    low = free.inverse_throughput * trees
    unit = max(ceil(low * speed) / speed for speed in speeds)  # every link has room for as much as it needs
    for speed in speeds:
        first, last = ceil(low * speed), ceil(unit * speed)
        while first < last:
            middle = (first + last) // 2
            enough = feasible(fabric, room(fabric, middle / speed), trees)
            first, last = (first, middle) if enough else (middle + 1, last)
        unit = min(unit, last / speed)
    return Bound(unit / trees, free.cut, trees, unit)


def room(fabric: Fabric, unit: Fraction) -> IntArray:
    """How many trees fit on each link, `unit` of them on a bandwidth of 1."""
    scaled = unit * fabric.unit
    return multiplied(fabric.capacity, scaled.numerator) // integers([scaled.denominator])
