"""The moves of a lattice, held against coordinates moved one rank at a time."""

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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


@st.composite
def some_moves(draw):
    lattice = Lattice(tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))), draw(st.booleans()))
    axes = tuple(axis for axis in range(len(lattice.dims)) if draw(st.booleans()))
    return Moves(lattice, axes)


@given(some_moves())
def test_moves_do_to_ranks_what_they_do_to_coordinates(moves):
    lattice, every = moves.lattice, choices(moves.lattice, moves.axes)
    assert moves.order == len(every)
    found = moves.moved(np.arange(lattice.ranks), np.arange(moves.order)[:, None])
    expected = [[moved_by_hand(lattice, moves.axes, r, choice) for r in range(lattice.ranks)] for choice in every]
    assert found.tolist() == expected


@given(some_moves(), st.data())
def test_moves_follow_one_another_undo_one_another_and_leave_no_rank_in_place(moves, data):
    a, b = (data.draw(st.integers(0, moves.order - 1)) for _ in range(2))
    ranks = np.arange(moves.lattice.ranks)
    both = moves.numbers.moved(a, b)
    assert (moves.moved(moves.moved(ranks, a), b) == moves.moved(ranks, both)).all()
    assert moves.numbers.moved(a, moves.inverse(a)) == 0
    assert (moves.moved(ranks, a) == ranks).any() == (a == 0)


@given(some_moves())
def test_every_rank_is_taken_from_the_lowest_rank_that_can_be_moved_there(moves):
    ranks = np.arange(moves.lattice.ranks)
    taking = moves.taking(ranks)
    lowest = moves.moved(ranks[:, None], np.arange(moves.order)).min(axis=1)
    assert (moves.moved(lowest, taking) == ranks).all()


def test_a_hypercube_of_a_million_ranks_is_moved_by_flipping_bits():
    moves = Moves.of(Lattice((2,) * 20))
    ranks = np.arange(prod(moves.lattice.dims))
    assert (moves.moved(ranks, 0b1011) == ranks ^ 0b1011).all()


def test_an_axis_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"axis 2: the lattice 4x3 has the axes 0\.\.1"):
        Moves(Lattice((4, 3)), (0, 2))
