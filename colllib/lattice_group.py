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


class _Turn(NamedTuple):
    """What an element does along one axis, or along several neighboring axes of size 2 at once."""

    stride: int  # in rank order
    size: int
    own: int  # stride in the numbers of the elements
    order: int  # how many different turns there are
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
    def _turns(self) -> tuple[_Turn, ...]:
        found: list[_Turn] = []
        own = 1
        for axis in self.axes:
            stride, size = self.lattice.strides[axis], self.lattice.dims[axis]
            if not self.lattice.wraps:
                found.append(_Turn(stride, size, own, 2 - size % 2, "mirror"))
            elif size == 2 and found and found[-1].kind == "xor" and found[-1].stride * found[-1].size == stride:
                last = found.pop()
                found.append(last._replace(size=2 * last.size, order=2 * last.order))
            else:
                found.append(_Turn(stride, size, own, size, "xor" if size == 2 else "add"))
            own *= 2 - size % 2 if not self.lattice.wraps else size
        return tuple(turn for turn in found if turn.order > 1)

    @cached_property
    def order(self) -> int:
        """How many elements it has."""
        return prod(turn.order for turn in self._turns)

    @cached_property
    def _on_itself(self) -> LatticeGroup:
        sizes = (self.lattice.dims[axis] for axis in self.axes)
        return LatticeGroup.of(Lattice(tuple(size if self.lattice.wraps else 2 - size % 2 for size in sizes) or (1,)))

    def image(self, rank: Numbers, element: Numbers) -> IntArray:
        """Where an element takes a rank; arrays of any shapes that broadcast.

        >>> LatticeGroup.of(Lattice((4, 3))).image(np.arange(12), 5)
        array([ 5,  6,  7,  4,  9, 10, 11,  8,  1,  2,  3,  0])
        """
        found = np.array(rank + np.zeros_like(element))
        for turn in self._turns:
            at = _place(rank, turn.stride, turn.size, self.lattice.ranks)
            by = _place(element, turn.own, turn.order, self.order)
            if turn.kind == "add":
                found += by * turn.stride
                np.subtract(found, turn.size * turn.stride, out=found, where=at >= turn.size - by)
            else:
                to = at ^ by if turn.kind == "xor" else np.where(by, turn.size - 1 - at, at)
                found += (to - at) * turn.stride
        return found

    def product(self, first: Numbers, second: Numbers) -> IntArray:
        """The element that does what the first does, and then the second."""
        return self._on_itself.image(first, second)

    def element_to(self, rank: Numbers) -> IntArray:
        """The element that takes a rank's representative there, the lowest of its images.

        >>> LatticeGroup(Lattice((4, 3)), (1,)).element_to(np.arange(12))
        array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])
        """
        found = np.zeros_like(rank)
        for turn in self._turns:
            at = _place(rank, turn.stride, turn.size, self.lattice.ranks)
            found = found + (2 * at // turn.size if turn.kind == "mirror" else at) * turn.own
        return found

    def inverse(self, element: Numbers) -> IntArray:
        """The element that undoes one.

        >>> LatticeGroup.of(Lattice((4, 3))).inverse(np.array([0, 1, 5]))
        array([ 0,  3, 11])
        """
        found = np.zeros_like(element)
        for turn in self._turns:
            by = _place(element, turn.own, turn.order, self.order)
            found = found + (-by % turn.order if turn.kind == "add" else by) * turn.own
        return found


def _place(number: Numbers, stride: int, size: int, count: int) -> Numbers:
    """The digit of numbers below `count` that has this stride and size."""
    found = number if stride == 1 else number // stride
    return found if stride * size == count else found % size
