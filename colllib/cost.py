"""Costs: an integer count of latencies and an exact share of the message, priced in seconds at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import isfinite

from colllib.primitives import check_ranks


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
            alpha = Fraction(self.n_alpha)
            object.__setattr__(self, "n_alpha", int(alpha) if alpha.denominator == 1 else alpha)
        if type(self.n_beta) is not Fraction:
            object.__setattr__(self, "n_beta", Fraction(self.n_beta))

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.n_alpha + other.n_alpha, self.n_beta + other.n_beta)

    def __repr__(self) -> str:
        return f"Cost(n_alpha={self.n_alpha}, n_beta={self.n_beta})"

    def seconds(self, *, message: float, alpha: float, bandwidth: float) -> float:
        """The time for a message of M bytes.

        Args:
            message: M in bytes, at least 0.
            alpha: latency in seconds, at least 0.
            bandwidth: BW in bytes per second and direction, above 0.

        Raises:
            ValueError: naming the quantity that is negative, zero where it may not be, or not finite.

        >>> t = Cost(1022, Fraction(511, 256)).seconds(message=16e6, alpha=0.5e-6, bandwidth=900e9)
        >>> round(t * 1e6, 2)
        546.49
        """
        check_quantities(message=message, alpha=alpha, bandwidth=bandwidth)
        return float(self.n_alpha) * alpha + float(self.n_beta) * message / bandwidth


def check_quantities(*, message: float, alpha: float, bandwidth: float) -> None:
    """Refuse a negative or non-finite message size or alpha, and a bandwidth that is not positive."""
    for name, value in (("message size", message), ("alpha", alpha)):
        if not (isfinite(value) and value >= 0):
            raise ValueError(f"{name} {value!r}: must be a finite number of at least 0")
    if not (isfinite(bandwidth) and bandwidth > 0):
        raise ValueError(f"bandwidth {bandwidth!r}: must be a finite number above 0")


def crossover(first: Cost, second: Cost) -> Fraction | None:
    """The message size at which two costs are equal, in units of alpha * BW.

    Multiply by alpha * BW for bytes. None if the lines do not cross at a positive size: then one
    cost is at least the other at every size.

    >>> ring, tree = Cost(126, Fraction(63, 32)), Cost(12, 12)
    >>> crossover(ring, tree)
    Fraction(1216, 107)
    >>> crossover(Cost(1, 1), Cost(2, 2)) is None
    True
    """
    latency = Fraction(second.n_alpha) - Fraction(first.n_alpha)
    load = Fraction(first.n_beta) - Fraction(second.n_beta)
    if load == 0 or latency / load <= 0:
        return None
    return latency / load


def half_bandwidth_message(cost: Cost) -> Fraction:
    """The message size at which half the time is latency, in units of alpha * BW (Hockney's n_1/2).

    >>> half_bandwidth_message(Cost(1, 1))
    Fraction(1, 1)
    """
    if cost.n_beta == 0:
        raise ValueError("a cost without a bandwidth term has no half-bandwidth size")
    return Fraction(cost.n_alpha) / Fraction(cost.n_beta)


FEW = 4  # numbers of segments that are tried one by one


def best_segments(
    cost: Callable[[int], Cost], *, message: float, alpha: float, bandwidth: float, limit: int = 2**20
) -> int:
    """The whole number of segments P that makes a pipelined schedule fastest.

    Args:
        cost: the cost at P segments, such as a closed form that execution has confirmed. Its time
            must fall and then rise along P, as (L + P - 1)(alpha + M / P BW) does; the first four
            may be anything, since a pipeline of fewer segments than stages is a schedule of its own kind.
        message: M in bytes.
        alpha: latency in seconds.
        bandwidth: BW in bytes per second.
        limit: the largest P to consider.

    Returns:
        the smallest best P.

    >>> chain = lambda segments: Cost(7 + segments - 1, Fraction(7 + segments - 1, segments))
    >>> best_segments(chain, message=16e6, alpha=0.5e-6, bandwidth=900e9)
    15
    """
    check_ranks(limit)
    check_quantities(message=message, alpha=alpha, bandwidth=bandwidth)
    latency, load = Fraction(alpha) * Fraction(bandwidth), Fraction(message)
    # whole multiples of one unit of time: exact, and cheaper to compare than fractions
    unit = latency.denominator * load.denominator
    latency_units, load_units = int(latency * unit), int(load * unit)

    @cache
    def time(segments: int) -> Fraction | int:
        priced = cost(segments)
        return priced.n_alpha * latency_units + priced.n_beta * load_units

    first = min(FEW + 1, limit)
    best: int = min((*range(1, first), first_lowest(time, first, limit)), key=time)
    return best


def first_lowest(time: Callable[[int], Fraction | int] | Callable[[int], float], low: int, limit: int) -> int:
    """The smallest whole number from `low` to `limit` at which a time that falls and then rises is lowest.

    >>> first_lowest(lambda p: p + 100 / p, 2, 1000)
    10
    """
    top = low
    while top < limit and time(min(2 * top, limit)) < time(top):
        top = min(2 * top, limit)
    low, high = max(low, top // 2), min(2 * top, limit)
    while low < high:
        middle = (low + high) // 2
        if time(middle + 1) < time(middle):
            low = middle + 1
        else:
            high = middle
    return low
