"""Exact rational arrays: integer numerators over one common denominator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.intp]

# Sums of numerators pass through float64 in numpy's weighted bincount, which is
# exact below this bound.
LARGEST_EXACT = 2**53


@dataclass(frozen=True, eq=False)
class Fractions:
    """An array of exact fractions.

    Args:
        numerators: integers, shape (n,).
        denominator: the common denominator, at least 1.

    Raises:
        ValueError: if the denominator is below 1 or the numerators do not fit
            into exact arithmetic.

    >>> shares = Fractions.of([Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)])
    >>> shares.numerators, shares.denominator
    (array([3, 2, 1]), 6)
    >>> shares.total()
    Fraction(1, 1)
    """

    numerators: IntArray
    denominator: int

    def __post_init__(self) -> None:
        if self.denominator < 1:
            raise ValueError(f"denominator {self.denominator}: must be at least 1")
        if self.denominator >= LARGEST_EXACT:
            raise ValueError(
                f"a common denominator of {self.denominator} is too large: the shares need one below 2**53"
            )

    @classmethod
    def of(cls, values: Iterable[Fraction | int]) -> Fractions:
        """Bring exact values to their common denominator.

        >>> Fractions.of([1, Fraction(1, 4)])[1]
        Fraction(1, 4)
        """
        exact = [Fraction(value) for value in values]
        denominator = lcm(*(value.denominator for value in exact)) if exact else 1
        if denominator >= LARGEST_EXACT:
            raise ValueError(f"a common denominator of {denominator} is too large: the shares need one below 2**53")
        numerators = [value.numerator * (denominator // value.denominator) for value in exact]
        return cls(np.array(numerators, dtype=np.intp), denominator)

    @classmethod
    def equal(cls, count: int, total: Fraction | int = 1) -> Fractions:
        """`count` equal parts of `total`.

        >>> list(Fractions.equal(3, Fraction(1, 2)))
        [Fraction(1, 6), Fraction(1, 6), Fraction(1, 6)]
        """
        part = Fraction(total) / max(count, 1)
        return cls(np.full(count, part.numerator, dtype=np.intp), part.denominator)

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
        mine = self.numerators * (common // self.denominator)
        return bool((mine == other.numerators * (common // other.denominator)).all())

    def total(self) -> Fraction:
        """The exact sum."""
        return Fraction(int(self.numerators.sum()), self.denominator)

    def largest(self) -> Fraction:
        """The largest value, 0 for an empty array."""
        return Fraction(int(self.numerators.max(initial=0)), self.denominator)

    def scaled(self, factor: Fraction | int) -> Fractions:
        """Every value times an exact factor."""
        factor = Fraction(factor)
        shared = gcd(int(np.gcd.reduce(self.numerators)) if len(self) else 0, factor.denominator) or 1
        numerators = self.numerators // shared * factor.numerator
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
        arrays = [part.numerators * (denominator // part.denominator) for part in parts]
        return Fractions(np.concatenate(arrays) if arrays else np.zeros(0, np.intp), denominator)
