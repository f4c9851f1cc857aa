"""The group of a lattice, held against images computed by hand, coordinate by coordinate."""

from itertools import combinations, product
from math import prod

import numpy as np
import pytest

from colllib.lattice_group import LatticeGroup
from colllib.topology import Lattice


def image_by_hand(lattice, axes, rank, choice):
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
    """All elements, the first axis fastest."""
    ranges = [range(lattice.dims[a] if lattice.wraps else 2 - lattice.dims[a] % 2) for a in axes]
    return [choice[::-1] for choice in product(*ranges[::-1])]


SHAPES = [dims for axes in (1, 2, 3) for dims in product((1, 2, 3, 4), repeat=axes) if prod(dims) <= 18]
SHAPES += [(2, 2, 2, 2), (2, 2, 1, 2), (2, 3, 2, 2)]
#: Every choice of axes of every small torus and mesh, also with axes of two that do not stand side by side.
EVERY = [
    LatticeGroup(lattice, axes)
    for lattice in (Lattice(dims, wraps) for dims in SHAPES for wraps in (True, False))
    for count in range(len(lattice.dims) + 1)
    for axes in combinations(range(len(lattice.dims)), count)
]


def test_elements_do_to_ranks_what_they_do_to_coordinates():
    for group in EVERY:
        lattice, every = group.lattice, choices(group.lattice, group.axes)
        assert group.order == len(every)
        images = group.image(np.arange(lattice.ranks), np.arange(group.order)[:, None])
        expected = [[image_by_hand(lattice, group.axes, r, choice) for r in range(lattice.ranks)] for choice in every]
        assert images.tolist() == expected


def test_elements_have_products_and_inverses_and_leave_no_rank_in_place():
    for group in EVERY:
        ranks, numbers = np.arange(group.lattice.ranks), np.arange(group.order)
        first, second = numbers[:, None], numbers
        both = group.product(first, second)
        one_by_one = group.image(group.image(ranks, first[..., None]), second[:, None])
        assert (one_by_one == group.image(ranks, both[..., None])).all()
        assert (group.product(numbers, group.inverse(numbers)) == 0).all()
        in_place = group.image(ranks, first) == ranks
        assert in_place[0].all()
        assert not in_place[1:].any()


def test_every_rank_is_taken_from_the_lowest_rank_that_can_be_moved_there():
    for group in EVERY:
        ranks = np.arange(group.lattice.ranks)
        taking = group.element_to(ranks)
        lowest = group.image(ranks[:, None], np.arange(group.order)).min(axis=1)
        assert (group.image(lowest, taking) == ranks).all()
        assert (taking < group.order).all()


def test_a_hypercube_of_a_million_ranks_is_moved_by_flipping_bits():
    group = LatticeGroup.of(Lattice((2,) * 20))
    ranks = np.arange(prod(group.lattice.dims))
    assert (group.image(ranks, 0b1011) == ranks ^ 0b1011).all()


def test_an_axis_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"axis 2: the lattice 4x3 has the axes 0\.\.1"):
        LatticeGroup(Lattice((4, 3)), (0, 2))
