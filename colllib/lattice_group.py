"""The group that takes a lattice to itself: the images of ranks, products and inverses of its elements."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np

from colllib.exact import IntArray
from colllib.topology.base import Lattice

Numbers = IntArray | int


class _Factor(NamedTuple):
    """A factor of the group: shifts or mirrors of one axis, or of several neighboring axes of size 2 at once."""

    rank_stride: int
    size: int
    element_stride: int  # in the numbers of the elements
    order: int
    kind: str  # "add", "xor", or "mirror"


@dataclass(frozen=True)
class LatticeGroup:
    """The group of a lattice along some of its axes: a torus is shifted, a mesh mirrored where its size is even.

    An element is a number 0..order-1: its shifts, or its mirrors, the first axis fastest. Element 0 is the
    identity. No other one leaves any rank in place.

    Raises:
        ValueError: for an axis that is not there.

    >>> ring, cube, row = (LatticeGroup.of(Lattice(*dims)) for dims in ([(6,)], [(2, 2, 2)], [(6,), False]))
    >>> [int(group.image(np.array(1), np.array(1))) for group in (ring, cube, row)]
    [2, 0, 4]
    """

    lattice: Lattice
    axes: tuple[int, ...]  # in ascending order

    def __post_init__(self) -> None:
        for axis in self.axes:
            if not 0 <= axis < len(self.lattice.dims):
                last = len(self.lattice.dims) - 1
                raise ValueError(f"axis {axis}: the lattice {self.lattice} has the axes 0..{last}")

    @classmethod
    def of(cls, lattice: Lattice) -> LatticeGroup:
        """The group along all axes of a lattice."""
        return cls(lattice, tuple(range(len(lattice.dims))))

    @cached_property
    def _factors(self) -> tuple[_Factor, ...]:
        factors: list[_Factor] = []
        element_stride = 1
        for axis in self.axes:
            stride, size = self.lattice.strides[axis], self.lattice.dims[axis]
            order = self._order_along(axis)
            last = factors[-1] if factors else None
            if not self.lattice.wraps:
                factors.append(_Factor(stride, size, element_stride, order, "mirror"))
            elif size == 2 and last and last.kind == "xor" and last.rank_stride * last.size == stride:
                factors[-1] = last._replace(size=2 * last.size, order=2 * last.order)
            else:
                factors.append(_Factor(stride, size, element_stride, order, "xor" if size == 2 else "add"))
            element_stride *= order
        return tuple(factor for factor in factors if factor.order > 1)

    def _order_along(self, axis: int) -> int:
        """How many shifts an axis of a torus has, or how many mirrors, the identity included, one of a mesh."""
        size = self.lattice.dims[axis]
        return size if self.lattice.wraps else 2 - size % 2

    @cached_property
    def order(self) -> int:
        """How many elements it has."""
        return prod(factor.order for factor in self._factors)

    @cached_property
    def _on_itself(self) -> LatticeGroup:
        """The group acting on its own elements: on a torus whose ranks they are."""
        return LatticeGroup.of(Lattice(tuple(map(self._order_along, self.axes)) or (1,)))

    def image(self, rank: Numbers, element: Numbers) -> IntArray:
        """Where an element takes a rank; arrays of any shapes that broadcast.

        >>> LatticeGroup.of(Lattice((4, 3))).image(np.arange(12), 5)
        array([ 5,  6,  7,  4,  9, 10, 11,  8,  1,  2,  3,  0])
        """
        image = np.array(rank + np.zeros_like(element))
        for factor in self._factors:
            at = _digit(rank, factor.rank_stride, factor.size, self.lattice.ranks)
            by = _digit(element, factor.element_stride, factor.order, self.order)
            if factor.kind == "add":
                image += by * factor.rank_stride
                np.subtract(image, factor.size * factor.rank_stride, out=image, where=at >= factor.size - by)
            else:
                to = at ^ by if factor.kind == "xor" else np.where(by, factor.size - 1 - at, at)
                image += (to - at) * factor.rank_stride
        return image

    def product(self, first: Numbers, second: Numbers) -> IntArray:
        """The element that does what the first does, and then the second."""
        return self._on_itself.image(first, second)

    def element_to(self, rank: Numbers) -> IntArray:
        """The element that takes a rank's representative there, the lowest of its images.

        >>> LatticeGroup(Lattice((4, 3)), (1,)).element_to(np.arange(12))
        array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])
        """
        element = np.zeros_like(rank)
        for factor in self._factors:
            at = _digit(rank, factor.rank_stride, factor.size, self.lattice.ranks)
            by = 2 * at // factor.size if factor.kind == "mirror" else at
            element = element + by * factor.element_stride
        return element

    def inverse(self, element: Numbers) -> IntArray:
        """The element that undoes one.

        >>> LatticeGroup.of(Lattice((4, 3))).inverse(np.array([0, 1, 5]))
        array([ 0,  3, 11])
        """
        inverse = np.zeros_like(element)
        for factor in self._factors:
            by = _digit(element, factor.element_stride, factor.order, self.order)
            back = -by % factor.order if factor.kind == "add" else by
            inverse = inverse + back * factor.element_stride
        return inverse


def _digit(number: Numbers, stride: int, size: int, count: int) -> Numbers:
    """The digit of numbers below `count` that has this stride and size."""
    quotient = number if stride == 1 else number // stride
    return quotient if stride * size == count else quotient % size
