"""Exact rational arrays: whole numerators over one common denominator, of any size.

Numerators are machine integers as long as they fit and Python's own integers beyond: slower, and
never wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.intp]

LARGEST_FLOAT = 2**53  # below it a float64 holds every whole number, and so numpy's weighted bincount is exact
LARGEST_INT = 2**62  # machine integers below it may be added in pairs


def integers(values: Iterable[int]) -> IntArray:
    """Whole numbers as machine integers if all fit, else as Python's.

    >>> integers([1, 2]).dtype.kind, integers([1, 2**70]).dtype.kind
    ('i', 'O')
    """
    exact = list(values)
    fits = max(map(abs, exact), default=0) < LARGEST_INT
    return np.array(exact, dtype=np.intp if fits else object)


def _fitting(array: IntArray, times: int) -> IntArray:
    """The array in a type in which every value, `times` over, is exact."""
    if array.dtype == object:
        return array
    largest = max(int(array.max(initial=0)), -int(array.min(initial=0)))
    return array.astype(object) if max(largest, 1) * times >= LARGEST_INT else array


def counted(bins: IntArray, weight: IntArray, size: int) -> IntArray:
    """The sum of the weights in each bin 0..size-1, exactly.

    Args:
        bins: the bin of each weight, shape (n,).
        weight: non-negative whole numbers, shape (n,).
        size: how many bins.

    >>> counted(np.array([0, 2, 0]), np.array([5, 1, 2**53]), 3)
    array([9007199254740997, 0, 1], dtype=object)
    """
    if weight.strides == (0,) and len(weight) and len(weight) * int(weight[0]) < LARGEST_INT:
        return np.bincount(bins, minlength=size) * int(weight[0])
    if weight.dtype != object and float(weight.sum(dtype=np.float64)) < LARGEST_FLOAT:
        return np.bincount(bins, weight, size).astype(np.intp)
    total = np.zeros(size, dtype=object)
    np.add.at(total, bins, weight.astype(object))
    return total


def multiplied(values: IntArray, times: int | IntArray) -> IntArray:
    """Values times a whole number, or each times one of its own, exactly.

    >>> multiplied(np.array([2**40]), 2**40)
    array([1208925819614629174706176], dtype=object)
    """
    if isinstance(times, int) and times == 1:
        return values
    return _fitting(values, int(np.max(np.abs(times), initial=1))) * times


def summed(values: IntArray, first: IntArray) -> IntArray:
    """The sums of the stretches of values that begin at `first`, exactly.

    >>> summed(np.array([1, 2, 2**62]), np.array([0, 2]))
    array([3, 4611686018427387904], dtype=object)
    """
    return np.asarray(np.add.reduceat(_fitting(values, len(values)), first))


def taken(values: IntArray, index: IntArray) -> IntArray:
    """values[index], without copies where all values are one cell of memory."""
    if values.strides == (0,) or len(values) == 1:
        return np.broadcast_to(values[:1], index.shape)
    return values[index]


def accumulated(total: IntArray, more: IntArray, index: IntArray | slice = slice(None)) -> IntArray:
    """The sum of two arrays, exactly: in place while machine integers will do, all of which are below `LARGEST_INT`.

    Args:
        total: what has been added so far, shape (n,).
        more: what comes, shape (m,).
        index: where in the total, each place once, shape (m,) (default: all, in order).

    >>> accumulated(np.array([2**62 - 1]), np.array([2**62 - 1]))
    array([9223372036854775806], dtype=object)
    """
    if object in (total.dtype, more.dtype):
        total, more = total.astype(object, copy=False), more.astype(object)
    total[index] += more
    return total.astype(object) if total[index].max(initial=0) >= LARGEST_INT else total


@dataclass(frozen=True, eq=False)
class Fractions:
    """An array of exact fractions.

    Args:
        numerators: whole numbers, shape (n,); of type object where they do not fit a machine integer.
        denominator: the common denominator, at least 1.

    Raises:
        ValueError: if the denominator is below 1.

    >>> shares = Fractions.of([Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)])
    >>> shares.numerators, shares.denominator
    (array([3, 2, 1]), 6)
    >>> shares.total()
    Fraction(1, 1)
    """

    numerators: IntArray
    denominator: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "denominator", int(self.denominator))  # numpy's would wrap round
        if self.denominator < 1:
            raise ValueError(f"denominator {self.denominator}: must be at least 1")

    @classmethod
    def of(cls, values: Iterable[Fraction | int]) -> Fractions:
        """Bring exact values to their common denominator.

        >>> Fractions.of([1, Fraction(1, 4)])[1]
        Fraction(1, 4)
        """
        exact = [Fraction(value) for value in values]
        denominator = lcm(*(value.denominator for value in exact)) if exact else 1
        return cls(integers(value.numerator * (denominator // value.denominator) for value in exact), denominator)

    @classmethod
    def equal(cls, count: int, total: Fraction | int = 1) -> Fractions:
        """`count` equal parts of `total`; they share one cell of memory and cannot be written to.

        >>> list(Fractions.equal(3, Fraction(1, 2)))
        [Fraction(1, 6), Fraction(1, 6), Fraction(1, 6)]
        """
        part = Fraction(total) / max(count, 1)
        return cls(np.broadcast_to(integers([part.numerator]), (count,)), part.denominator)

    def __len__(self) -> int:
        return len(self.numerators)

    def __getitem__(self, index: int) -> Fraction:
        return Fraction(int(self.numerators[index]), self.denominator)

    def __iter__(self) -> Iterator[Fraction]:
        return (Fraction(int(value), self.denominator) for value in self.numerators)

    def same_as(self, other: Fractions) -> bool:
        """Whether both hold the same values in the same order."""
        if len(self) != len(other):
            return False
        common = lcm(self.denominator, other.denominator)
        mine, theirs = self._over(common), other._over(common)
        return bool((mine == theirs).all())

    def _over(self, denominator: int) -> IntArray:
        """The numerators over a multiple of the denominator."""
        factor = denominator // self.denominator
        return self.numerators if factor == 1 else _fitting(self.numerators, factor) * factor

    def total(self) -> Fraction:
        """The exact sum."""
        return Fraction(int(_fitting(self.numerators, len(self)).sum()), self.denominator)

    def largest(self) -> Fraction:
        """The largest value, or 0 if none is above it."""
        return Fraction(int(self.numerators.max(initial=0)), self.denominator)

    def as_floats(self) -> NDArray[np.float64]:
        """The values, rounded to floating point.

        >>> Fractions.of([Fraction(1, 4), 3]).as_floats()
        array([0.25, 3.  ])
        """
        if max(self.denominator, self.numerators.max(initial=0), -self.numerators.min(initial=0)) >= LARGEST_FLOAT:
            return np.array([float(value) for value in self])
        return self.numerators / self.denominator

    def scaled(self, factor: Fraction | int) -> Fractions:
        """Every value times an exact factor.

        >>> Fractions.of([Fraction(1, 2)]).scaled(Fraction(2, 3))[0]
        Fraction(1, 3)
        """
        factor = Fraction(factor)
        shared = gcd(int(np.gcd.reduce(self.numerators)) if len(self) else 0, factor.denominator)
        numerators = self.numerators // shared
        numerators = _fitting(numerators, abs(factor.numerator)) * factor.numerator
        return Fractions(numerators, self.denominator * (factor.denominator // shared))

    def repeated(self, times: int) -> Fractions:
        """Each value `times` times in a row."""
        return Fractions(np.repeat(self.numerators, times), self.denominator)

    def taken(self, index: IntArray) -> Fractions:
        """The values at the given positions."""
        return Fractions(self.numerators[index], self.denominator)

    @staticmethod
    def joined(parts: Sequence[Fractions]) -> Fractions:
        """Several arrays end to end, over their common denominator."""
        denominator = lcm(*(part.denominator for part in parts)) if parts else 1
        arrays = [part._over(denominator) for part in parts]
        return Fractions(np.concatenate(arrays) if arrays else np.zeros(0, np.intp), denominator)
