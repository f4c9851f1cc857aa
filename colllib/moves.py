"""The moves that take a lattice to itself: what they do to its ranks, one after another and backwards."""

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
    """What a move does along one axis, or along several neighboring axes of size 2 at once."""

    stride: int  # in rank order
    size: int
    own: int  # stride in the numbers of the moves
    order: int  # how many different turns there are
    kind: str  # "add", "xor", or "mirror"


@dataclass(frozen=True)
class Moves:
    """The moves of a lattice along some of its axes: a torus is shifted, a mesh mirrored where its size is even.

    A move is a number 0..order-1: its shifts, or its mirrors, the first axis fastest. Move 0 leaves
    all in place. But for move 0, no move leaves any rank in place.

    Raises:
        ValueError: for an axis that is not there.

    >>> ring, cube, row = (Moves.of(Lattice(*dims)) for dims in ([(6,)], [(2, 2, 2)], [(6,), False]))
    >>> [int(moves.moved(np.array(1), np.array(1))) for moves in (ring, cube, row)]
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
    def of(cls, lattice: Lattice) -> Moves:
        """All moves of a lattice."""
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
        """How many moves there are."""
        return prod(turn.order for turn in self._turns)

    @cached_property
    def numbers(self) -> Moves:
        """What moves do to moves: `numbers.moved(a, b)` is the move that does a and then b."""
        sizes = (self.lattice.dims[axis] for axis in self.axes)
        return Moves.of(Lattice(tuple(size if self.lattice.wraps else 2 - size % 2 for size in sizes) or (1,)))

    def moved(self, rank: Numbers, move: Numbers) -> IntArray:
        """Where a move takes a rank; arrays of any shapes that broadcast.

        >>> Moves.of(Lattice((4, 3))).moved(np.arange(12), 5)
        array([ 5,  6,  7,  4,  9, 10, 11,  8,  1,  2,  3,  0])
        """
        found = np.array(rank + np.zeros_like(move))
        for turn in self._turns:
            at = _place(rank, turn.stride, turn.size, self.lattice.ranks)
            by = _place(move, turn.own, turn.order, self.order)
            if turn.kind == "add":
                found += by * turn.stride
                np.subtract(found, turn.size * turn.stride, out=found, where=at >= turn.size - by)
            else:
                to = at ^ by if turn.kind == "xor" else np.where(by, turn.size - 1 - at, at)
                found += (to - at) * turn.stride
        return found

    def taking(self, rank: Numbers) -> IntArray:
        """The move that takes a rank's representative there: the one of the ranks it may be moved to that is lowest.

        >>> Moves(Lattice((4, 3)), (1,)).taking(np.arange(12))
        array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])
        """
        found = np.zeros_like(rank)
        for turn in self._turns:
            at = _place(rank, turn.stride, turn.size, self.lattice.ranks)
            found = found + (2 * at // turn.size if turn.kind == "mirror" else at) * turn.own
        return found

    def inverse(self, move: Numbers) -> IntArray:
        """The move that undoes a move.

        >>> Moves.of(Lattice((4, 3))).inverse(np.array([0, 1, 5]))
        array([ 0,  3, 11])
        """
        found = np.zeros_like(move)
        for turn in self._turns:
            by = _place(move, turn.own, turn.order, self.order)
            found = found + (-by % turn.order if turn.kind == "add" else by) * turn.own
        return found


def _place(number: Numbers, stride: int, size: int, count: int) -> Numbers:
    """The digit of numbers below `count` that has this stride and size."""
    found = number if stride == 1 else number // stride
    return found if stride * size == count else found % size
