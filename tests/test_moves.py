"""The moves of a lattice, held against coordinates moved one rank at a time."""

from itertools import combinations, product
from math import prod

import numpy as np
import pytest

from colllib.moves import Moves
from colllib.topology import Lattice


def moved_by_hand(lattice, axes, rank, choice):
    """A rank whose coordinate on each of the axes is shifted by the choice, or mirrored if that is 1."""
    at = list(lattice.coordinates(rank))
    for axis, by in zip(axes, choice, strict=True):
        size = lattice.dims[axis]
        if lattice.wraps:
            at[axis] = (at[axis] + by) % size
        elif by:
            at[axis] = size - 1 - at[axis]
    return sum(place * stride for place, stride in zip(at, lattice.strides, strict=True))


def choices(lattice, axes):
    """All moves, the first axis fastest."""
    ranges = [range(lattice.dims[a] if lattice.wraps else 2 - lattice.dims[a] % 2) for a in axes]
    return [found[::-1] for found in product(*ranges[::-1])]


SHAPES = [dims for axes in (1, 2, 3) for dims in product((1, 2, 3, 4), repeat=axes) if prod(dims) <= 18]
SHAPES += [(2, 2, 2, 2), (2, 2, 1, 2), (2, 3, 2, 2)]
#: Every choice of axes of every small torus and mesh, also with axes of two that do not stand side by side.
EVERY = [
    Moves(lattice, axes)
    for lattice in (Lattice(dims, wraps) for dims in SHAPES for wraps in (True, False))
    for count in range(len(lattice.dims) + 1)
    for axes in combinations(range(len(lattice.dims)), count)
]


def test_moves_do_to_ranks_what_they_do_to_coordinates():
    for moves in EVERY:
        lattice, every = moves.lattice, choices(moves.lattice, moves.axes)
        assert moves.order == len(every)
        found = moves.moved(np.arange(lattice.ranks), np.arange(moves.order)[:, None])
        expected = [[moved_by_hand(lattice, moves.axes, r, choice) for r in range(lattice.ranks)] for choice in every]
        assert found.tolist() == expected


def test_moves_follow_one_another_undo_one_another_and_leave_no_rank_in_place():
    for moves in EVERY:
        ranks, numbers = np.arange(moves.lattice.ranks), np.arange(moves.order)
        first, second = numbers[:, None], numbers
        assert moves.numbers.order == moves.order
        both = moves.numbers.moved(first, second)
        one_by_one = moves.moved(moves.moved(ranks, first[..., None]), second[:, None])
        assert (one_by_one == moves.moved(ranks, both[..., None])).all()
        assert (moves.numbers.moved(numbers, moves.inverse(numbers)) == 0).all()
        in_place = moves.moved(ranks, first) == ranks
        assert in_place[0].all()
        assert not in_place[1:].any()


def test_every_rank_is_taken_from_the_lowest_rank_that_can_be_moved_there():
    for moves in EVERY:
        ranks = np.arange(moves.lattice.ranks)
        taking = moves.taking(ranks)
        lowest = moves.moved(ranks[:, None], np.arange(moves.order)).min(axis=1)
        assert (moves.moved(lowest, taking) == ranks).all()
        assert (taking < moves.order).all()


def test_a_hypercube_of_a_million_ranks_is_moved_by_flipping_bits():
    moves = Moves.of(Lattice((2,) * 20))
    ranks = np.arange(prod(moves.lattice.dims))
    assert (moves.moved(ranks, 0b1011) == ranks ^ 0b1011).all()


def test_an_axis_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"axis 2: the lattice 4x3 has the axes 0\.\.1"):
        Moves(Lattice((4, 3)), (0, 2))
