"""Costs: exact counts of latencies and exact shares of the message, priced in seconds at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import inf, isfinite, sqrt
from numbers import Real
from operator import mul
from typing import NamedTuple, TypedDict, Unpack

from colllib.formula import Formula
from colllib.limits import TooLarge
from colllib.primitives import check_counts, is_whole

Price = float | Sequence[float]


class Terms(TypedDict):
    """What a cost is priced at, as `Cost.seconds` takes it: M in bytes, latency in seconds, BW in bytes per second."""

    message: float
    alpha: Price
    bandwidth: Price


@dataclass(frozen=True)
class Tier:
    """Links of one speed.

    Args:
        name: what tables call it.
        bandwidth: of each link, in units of the BW of its level, above 0.
        level: which of the topology's (alpha, BW) pairs it is measured in, counted from the innermost; a tier has no
            alpha of its own.
        cables: of how many equal cables a link consists. A message takes one cable; ports that one
            message uses together are one link, and one cable.

    Raises:
        ValueError: for a bandwidth that is not positive, a negative level or fewer than one cable.

    >>> Tier("uplink", Fraction(8, 3), level=1, cables=3).bandwidth
    Fraction(8, 3)
    """

    name: str = "link"
    bandwidth: Fraction = Fraction(1)
    level: int = 0
    cables: int = 1

    def __post_init__(self) -> None:
        if self.bandwidth <= 0:
            raise ValueError(f"bandwidth {self.bandwidth} of tier {self.name!r}: every link needs a positive one")
        if self.level < 0 or self.cables < 1:
            raise ValueError(
                f"tier {self.name!r}: level {self.level} must be at least 0, cables {self.cables} at least 1"
            )


class Kind(NamedTuple):
    """Steps that cost the same at every alpha and bandwidth.

    A step lasts as long as its longest route, which is the largest hops[t] * alpha[t], and its
    busiest link, which is the largest loads[t] * M / bandwidth[t].
    """

    steps: int  # how many
    hops: tuple[int | Fraction, ...]  # per tier, the most latencies on a route on which this tier is the outermost
    loads: tuple[Fraction, ...]  # per tier, the share of M on its busiest link


@dataclass(frozen=True)
class Cost:
    """t = n_alpha * alpha + n_beta * M / BW.

    Args:
        n_alpha: latencies on the critical path, in units of alpha; an int wherever routes are whole
            multiples of alpha.
        n_beta: the most loaded link, summed over the steps, in units of M/BW.

    >>> Cost(6, Fraction(3, 2)) + Cost(1, 1)
    Cost(n_alpha=7, n_beta=5/2)
    """

    n_alpha: int | Fraction
    n_beta: Fraction | int

    def __post_init__(self) -> None:
        if type(self.n_alpha) is not int:
            object.__setattr__(self, "n_alpha", whole_if_possible(Fraction(self.n_alpha)))
        if type(self.n_beta) is not Fraction:
            object.__setattr__(self, "n_beta", Fraction(int(self.n_beta) if is_whole(self.n_beta) else self.n_beta))

    def __add__(self, other: Cost) -> Cost:
        if isinstance(other, TieredCost):
            return other + self
        return Cost(self.n_alpha + other.n_alpha, self.n_beta + other.n_beta)

    def __repr__(self) -> str:
        return f"Cost(n_alpha={self.n_alpha}, n_beta={self.n_beta})"

    def time(self, message: Fraction | int, alpha: Sequence[Fraction], bandwidth: Sequence[Fraction]) -> Fraction:
        """The exact time; arguments as for `seconds`, with one alpha and one bandwidth for each level."""
        return self.n_alpha * alpha[0] + self.n_beta * message / bandwidth[0]

    @property
    def levels(self) -> int:
        """How many alphas and bandwidths it takes to price it."""
        return 1

    def seconds(self, **price: Unpack[Terms]) -> float:
        """The time for a message of M bytes.

        Args:
            price: M in bytes and alpha in seconds, both at least 0, and BW in bytes per second and direction, above 0;
                over several tiers one alpha and one BW for each level, innermost first.

        Raises:
            ValueError: naming the quantity that is negative, zero where it may not be, or not finite,
                or the number of values that is wrong.

        >>> t = Cost(1022, Fraction(511, 256)).seconds(message=16e6, alpha=0.5e-6, bandwidth=900e9)
        >>> round(t * 1e6, 2)
        546.49
        """
        (alpha,), (bandwidth,) = values_per_level(1, **price)
        seconds = float(self.n_alpha) * alpha + float(self.n_beta) * (price["message"] / bandwidth)  # as a page does
        return finite(seconds, **price)


@dataclass(frozen=True)
class TieredCost(Cost):
    """A cost over links of several levels: kinds of step, which can be priced at any alphas and bandwidths.

    Its `n_alpha` and `n_beta` are None, because no single number is true of several speeds. Equal kinds are put
    together.

    >>> inner, outer = Tier("box"), Tier("card", level=1)
    >>> cost = TieredCost((inner, outer), [Kind(3, (1, 0), (Fraction(1, 2), Fraction(0))), Kind(1, (0, 1), (0, 1))])
    >>> cost.seconds(message=2, alpha=[1, 10], bandwidth=[1, 0.5])
    20.0
    """

    tiers: tuple[Tier, ...]
    kinds: tuple[Kind, ...]

    def __init__(self, tiers: Sequence[Tier], kinds: Iterable[Kind]) -> None:
        counted: Counter[tuple[tuple[int | Fraction, ...], tuple[Fraction, ...]]] = Counter()
        for kind in kinds:
            counted[kind.hops, kind.loads] += kind.steps
        merged = tuple(Kind(steps, hops, loads) for (hops, loads), steps in counted.items() if steps)
        for name, value in (("n_alpha", None), ("n_beta", None), ("tiers", tuple(tiers)), ("kinds", merged)):
            object.__setattr__(self, name, value)

    def __add__(self, other: Cost) -> Cost:
        if not isinstance(other, TieredCost) or other.tiers != self.tiers:
            raise ValueError(f"{self!r} and {other!r} are costs over different tiers: they cannot be added")
        return TieredCost(self.tiers, (*self.kinds, *other.kinds))

    def __repr__(self) -> str:
        return f"TieredCost({', '.join(tier.name for tier in self.tiers)}: {list(map(tuple, self.kinds))})"

    @property
    def levels(self) -> int:
        """How many alphas and bandwidths it takes to price it."""
        return 1 + max(tier.level for tier in self.tiers)

    def time(self, message: Fraction | int, alpha: Sequence[Fraction], bandwidth: Sequence[Fraction]) -> Fraction:
        """The exact time; arguments as for `seconds`."""
        waits = [alpha[tier.level] for tier in self.tiers]
        slowness = [message / (tier.bandwidth * bandwidth[tier.level]) for tier in self.tiers]
        lasting = (max(map(mul, kind.hops, waits)) + max(map(mul, kind.loads, slowness)) for kind in self.kinds)
        return sum((kind.steps * time for kind, time in zip(self.kinds, lasting, strict=True)), Fraction(0))

    def seconds(self, **price: Unpack[Terms]) -> float:
        """The time for a message of M bytes, with one alpha and one bandwidth for each level; as for `Cost`."""
        alphas, speeds = values_per_level(self.levels, **price)
        exact = self.time(Fraction(price["message"]), list(map(Fraction, alphas)), list(map(Fraction, speeds)))
        try:
            seconds = float(exact)
        except OverflowError:
            seconds = inf
        return finite(seconds, **price)


def whole_if_possible(value: Fraction) -> int | Fraction:
    """A fraction as an int where it is one."""
    return int(value) if value.denominator == 1 else value


def finite(seconds: float, *, message: float, alpha: Price, bandwidth: Price) -> float:
    """Refuse a time that is too long for a floating-point number."""
    if not isfinite(seconds):
        raise ValueError(
            f"M = {message} bytes, alpha = {alpha} s, BW = {bandwidth} bytes/s: a time of {seconds} s is no number; "
            "take a smaller message, a shorter alpha or a larger bandwidth"
        )
    return seconds


def values_per_level(
    levels: int, *, message: float, alpha: Price, bandwidth: Price
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The alphas and the bandwidths, one for each level, checked.

    Raises:
        ValueError: for a wrong number of values, or a quantity that cannot be.

    >>> values_per_level(1, message=1, alpha=2, bandwidth=[3])
    ((2,), (3,))
    """
    alphas, bandwidths = _per_level("alpha", alpha, levels), _per_level("bandwidth", bandwidth, levels)
    for name, value in (("message size", message), *(("alpha", value) for value in alphas)):
        if not (isinstance(value, Real) and 0 <= value < inf):
            raise ValueError(f"{name} {value!r}: must be a finite number of at least 0")
    for value in bandwidths:
        if not (isinstance(value, Real) and 0 < value < inf):
            raise ValueError(f"bandwidth {value!r}: must be a finite number above 0")
    return alphas, bandwidths


def _per_level(name: str, values: Price, levels: int) -> tuple[float, ...]:
    if isinstance(values, str):
        raise ValueError(f"{name} {values!r} is text: must be a number, as colllib.units.parse makes of it")
    several = tuple(values) if isinstance(values, Iterable) else (values,)
    if len(several) != levels:
        needed = "1 is needed" if levels == 1 else f"{levels} are needed, innermost first"
        raise ValueError(f"values for {name}: {len(several)}, where {needed}")
    return several


#: The size at which two costs are equal, in units of alpha BW.
CROSSOVER = Formula("(a2 - a) / (b - b2)")


def crossover(first: Cost, second: Cost) -> Fraction | None:
    """The message size at which two costs are equal, in units of alpha * BW.

    None if the lines do not cross at a positive size: then one cost is at least the other at every size.

    Raises:
        ValueError: for a cost over several levels, which is no line.

    >>> ring, tree = Cost(126, Fraction(63, 32)), Cost(12, 12)
    >>> crossover(ring, tree)
    Fraction(1216, 107)
    >>> crossover(Cost(1, 1), Cost(2, 2)) is None
    True
    """
    _check_lines(first, second)
    if first.n_beta == second.n_beta:
        return None
    size = Fraction(CROSSOVER(a=first.n_alpha, a2=second.n_alpha, b=first.n_beta, b2=second.n_beta))
    return size if size > 0 else None


def _check_lines(*costs: Cost) -> None:
    for cost in costs:
        if isinstance(cost, TieredCost):
            raise ValueError(f"{cost!r} is over several levels: it has no one n_alpha and n_beta")


def half_bandwidth_message(cost: Cost) -> Fraction:
    """The message size at which half the time is latency, in units of alpha * BW (Hockney's n_1/2).

    >>> half_bandwidth_message(Cost(1, 1))
    Fraction(1, 1)
    """
    _check_lines(cost)
    if cost.n_beta == 0:
        raise ValueError("a cost without a bandwidth term has no half-bandwidth size")
    return Fraction(cost.n_alpha) / Fraction(cost.n_beta)


# -- segments -------------------------------------------------------------------------------------


def pipeline_cost(stages: int, segments: int) -> Cost:
    """L + P - 1 steps of M/P each: the closed form of a pipeline without collisions.

    It holds where each of the L steps, or stages, of the schedule in one piece moves all of M over its most loaded
    link, and no two load the same link.

    >>> pipeline_cost(3, 10)
    Cost(n_alpha=12, n_beta=6/5)
    """
    check_counts(stages=stages, segments=segments)
    return Cost(stages + segments - 1, Fraction(stages + segments - 1, segments))


#: The square of the best real number of segments of a pipeline of L steps, for m = M / (alpha BW).
BEST_SEGMENTS_SQUARED = Formula("(L - 1) * m")


def best_segments_unrounded(stages: int, **price: Unpack[Terms]) -> float:
    """The real number P* = sqrt((L - 1) M / (alpha BW)) that minimizes `pipeline_cost`; below 1 for a small message.

    The best whole number is one of its two neighbors, and at least 1.

    Args:
        stages: number of steps L of the schedule in one piece.
        price: as for `Cost.seconds` on one level, with alpha above 0.

    >>> best_segments_unrounded(10, message=400e3, alpha=1e-6, bandwidth=100e9)
    6.0
    """
    (alpha,), (bandwidth,) = values_per_level(1, **price)
    check_latency(alpha)
    return sqrt(BEST_SEGMENTS_SQUARED(L=stages, m=Fraction(price["message"] / (alpha * bandwidth))))


FEW = 4  # numbers of segments that are tried one by one
SAME = 1 + 2e-15  # times that rounding alone tells apart are equal


def best_segments(cost: Callable[[int], Cost], *, limit: int = 2**20, **price: Unpack[Terms]) -> int:
    """The whole number of segments P that makes a pipelined schedule fastest, of several the smallest.

    Args:
        cost: the cost at P segments, such as a closed form that execution has confirmed. Its time
            must fall and then rise along P, as (L + P - 1)(alpha + M / P BW) does; the first four
            may be anything, since a pipeline of fewer segments than stages is a schedule of its own kind.
        limit: the largest P to consider.
        price: as for `Cost.seconds`, with an alpha above 0.

    >>> chain = lambda segments: Cost(7 + segments - 1, Fraction(7 + segments - 1, segments))
    >>> best_segments(chain, message=16e6, alpha=0.5e-6, bandwidth=900e9)
    15
    """
    check_counts(limit=limit)
    limit = int(limit)
    time = cache(lambda segments: cost(segments).seconds(**price))
    time(1)  # refuses what is no price
    check_latency(price["alpha"])
    first = min(FEW + 1, limit)
    tried = (*range(1, first), first_lowest(time, first, limit))
    lowest = min(map(time, tried)) * SAME
    best: int = next(segments for segments in tried if time(segments) <= lowest)
    return best


def check_latency(alphas: Price) -> None:
    """Refuse to look for the best number of segments where there is none.

    Raises:
        TooLarge: if the latencies of all levels are 0.

    >>> check_latency((0, 2.7e-6))
    """
    if max(alphas if isinstance(alphas, Sequence) else (alphas,)) == 0:
        raise TooLarge("alpha = 0: without latency every further segment pays, and no number of them is best")


def first_lowest(time: Callable[[int], float], low: int, limit: int) -> int:
    """The smallest whole number from `low` to `limit` at which a time that falls and then rises is lowest.

    >>> first_lowest(lambda p: p + 100 / p, 2, 1000)
    10
    """
    top = low
    while top < limit and time(min(2 * top, limit)) * SAME < time(top):
        top = min(2 * top, limit)
    low, high = max(low, top // 2), min(2 * top, limit)
    while low < high:
        middle = (low + high) // 2
        if time(middle + 1) * SAME < time(middle):
            low = middle + 1
        else:
            high = middle
    return low
