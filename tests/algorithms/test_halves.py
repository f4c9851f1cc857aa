"""Broadcast, reduce, all-gather and reduce-scatter: the halves that all-reduce is made of."""

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from colllib.algorithms import ALGORITHMS, allgather, broadcast, find, of, reducescatter, trees
from colllib.execution import execute
from colllib.primitives import PRIMITIVES

SIZES = [*range(1, 34), 64, 72]


@pytest.mark.parametrize(
    "algorithm", [a for a in ALGORITHMS if a.primitive != "all-reduce"], ids=lambda a: f"{a.primitive}-{a.name}"
)
@pytest.mark.parametrize("ranks", SIZES)
def test_execution_agrees_with_the_closed_form(algorithm, ranks):
    schedule = algorithm.build(ranks)
    assert PRIMITIVES[algorithm.primitive].accepts(schedule.blocks)
    assert execute(schedule).cost == algorithm.cost(ranks)


@given(st.integers(1, 12), st.integers(-3, 3), st.sampled_from([1, -1]))
def test_a_ring_may_start_with_any_chunk_and_go_either_way(ranks, first, direction):
    scatter = reducescatter.ring(ranks, first=first, direction=direction)
    gather = allgather.ring(ranks, first=first, direction=direction)
    for schedule in (scatter, gather):
        assert execute(schedule).cost == reducescatter.ring_cost(ranks)
        assert reference.holds(schedule)


def test_the_interface_convention_leaves_rank_r_with_chunk_r_and_the_textbooks_with_the_next():
    assert reducescatter.ring(5).blocks.target.tolist() == [0, 1, 2, 3, 4]
    textbook = reducescatter.ring(5, first=0).blocks.target
    assert [int(np.flatnonzero(textbook == rank)[0]) for rank in range(5)] == [1, 2, 3, 4, 0]


@given(st.integers(1, 20), st.integers(0, 19))
def test_broadcast_works_from_any_root(ranks, root):
    for build in (broadcast.chain, broadcast.binomial_tree):
        schedule = build(ranks, root=root % ranks)
        execute(schedule)
        assert reference.busiest_ports(schedule) <= (1, 1)


def test_the_binomial_tree_has_as_many_ranks_at_each_depth_as_pascals_triangle_says():
    assert np.bincount(trees.depths(trees.binomial(16))).tolist() == [1, 4, 6, 4, 1]


@pytest.mark.parametrize(
    ("look_up", "complaint"),
    [
        (lambda: find("all-reduce", "butterfly"), "known are ring"),
        (lambda: find("all-reduction", "ring"), "known are all-reduce"),
        (lambda: of("gossip"), "no algorithm for primitive 'gossip'"),
    ],
)
def test_unknown_names_are_refused_with_the_known_ones(look_up, complaint):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refusal:
        look_up()
    assert complaint in str(refusal.value)
