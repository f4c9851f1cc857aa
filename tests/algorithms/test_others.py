"""Broadcast, reduce, all-gather, reduce-scatter, all-to-all and point-to-point, each against its closed form."""

from fractions import Fraction

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from colllib.algorithms import (
    ALGORITHMS,
    allgather,
    allreduce,
    alltoall,
    broadcast,
    find,
    of,
    reduce,
    reducescatter,
    trees,
)
from colllib.cost import Cost
from colllib.execution import execute
from colllib.primitives import PRIMITIVES
from colllib.topology import full_mesh, ring

SIZES = [*range(1, 34), 64, 72]


@pytest.mark.parametrize(
    "algorithm", [a for a in ALGORITHMS if a.primitive != "all-reduce"], ids=lambda a: f"{a.primitive}-{a.name}"
)
@pytest.mark.parametrize("ranks", SIZES)
def test_execution_agrees_with_the_closed_form(algorithm, ranks):
    if not algorithm.fits(ranks):
        with pytest.raises(ValueError, match=rf"^N = {ranks}: .* serves any N$"):
            algorithm.build(ranks)
        return
    for segments in (1, 2, 3, 8) if algorithm.segmented else (None,):
        options = {} if segments is None else {"segments": segments}
        schedule = algorithm.build(ranks, **options)
        assert PRIMITIVES[algorithm.primitive].accepts(schedule.blocks)
        assert execute(schedule).cost == algorithm.cost(ranks, **options)


def sent_by(schedule, sends):
    """Whether in step t every rank r sends just what sends(t, r) says, as (to, block) pairs."""
    steps = [{(src, dst, block) for src, dst, block, _ in step} for step in reference.messages(schedule)]
    ranks = range(schedule.ranks)
    return steps == [{(r, to, b) for r in ranks for to, b in sends(t, r)} for t in range(schedule.num_steps)]


@pytest.mark.parametrize("n", [1, 2, 5, 8, 11])
def test_every_rank_sends_what_the_textbooks_say_it_sends(n):
    for first in (-1, 0, 2):
        for direction in (1, -1):
            for build in (allgather.ring, reducescatter.ring):
                ring_of = build(n, first=first, direction=direction)
                assert sent_by(ring_of, lambda t, r: {((r + direction) % n, (r + direction * (first - t)) % n)})  # noqa: B023
    assert sent_by(alltoall.pairwise(n), lambda t, r: {((r + t + 1) % n, r * n + (r + t + 1) % n)})
    counts = [min(1 << t, n - (1 << t)) for t in range((n - 1).bit_length())]
    assert sent_by(allgather.bruck(n), lambda t, r: {((r - (1 << t)) % n, (r + k) % n) for k in range(counts[t])})
    if n & (n - 1):
        return
    # rank r holds the blocks of all ranks that agree with it on the bits still to come
    assert sent_by(allgather.recursive_doubling(n), lambda t, r: {(r ^ 1 << t, r ^ k) for k in range(1 << t)})
    # and gives away half of those that it could still own
    halving = reducescatter.recursive_halving(n, order="far")
    assert sent_by(halving, lambda t, r: {(r ^ 1 << t, b) for b in range(n) if (b ^ r) % (2 << t) == 1 << t})
    assert sent_by(allreduce.recursive_doubling(n), lambda t, r: {(r ^ 1 << t, 0)})


@pytest.mark.parametrize("ranks", [1, 2, 3, 6, 8, 13, 16])
@pytest.mark.parametrize("cap", [1, 2, 3, 100])
def test_a_cap_on_the_message_splits_pats_rounds_and_moves_no_byte_more(ranks, cap):
    for build in (allgather.pat, reducescatter.pat):
        schedule = build(ranks, cap=cap)
        assert execute(schedule).cost == allgather.pat_cost(ranks, cap)
        assert reference.star_cost(schedule)[1] == execute(build(ranks)).cost.n_beta
        assert all(np.bincount(schedule.step(t).src).max() <= cap for t in range(schedule.num_steps))


@pytest.mark.parametrize("order", ["near", "far"])
@pytest.mark.parametrize("ranks", [1, 2, 4, 8, 32])
def test_both_orders_of_recursive_doubling_cost_the_same(ranks, order):
    for build in (allgather.recursive_doubling, reducescatter.recursive_halving):
        assert execute(build(ranks, order=order)).cost == allgather.recursive_doubling_cost(ranks)


@pytest.mark.parametrize("ranks", SIZES)
@pytest.mark.parametrize("tie", ["up", "split"])
@pytest.mark.parametrize("bundled", [True, False])
def test_the_ring_relay_costs_what_it_should_on_a_star_and_on_a_ring(ranks, tie, bundled):
    schedule = alltoall.ring_relay(ranks, tie=tie, bundled=bundled)
    assert schedule.makes(PRIMITIVES["all-to-all"])
    assert execute(schedule).cost == alltoall.ring_relay_cost(ranks, tie, bundled)
    assert execute(schedule, ring(ranks)).cost == alltoall.ring_relay_cost_on_ring(ranks, tie, bundled)


@given(st.integers(2, 60), st.integers(1, 9), st.integers(0, 59))
def test_the_two_tree_broadcast_respects_one_port(ranks, segments, root):
    schedule = broadcast.two_tree(ranks, segments=segments, root=root % ranks)
    assert reference.busiest_ports(schedule) == (1, 1)
    assert execute(schedule).cost == broadcast.two_tree_cost(ranks, segments)


@given(st.integers(2, 40), st.integers(1, 12))
def test_pipelining_a_binomial_tree_on_one_port_moves_no_byte_less_through_its_root(ranks, segments):
    run = execute(broadcast.binomial_tree(ranks, segments=segments))
    assert run.sent[0] == run.cost.n_beta == (ranks - 1).bit_length()


def test_a_link_per_pair_of_ranks_is_what_a_pipelined_binomial_tree_needs():
    run = execute(broadcast.binomial_tree(32, segments=1000), full_mesh(32))
    assert run.cost.n_beta == Fraction(1004, 1000)


@pytest.mark.parametrize("ranks", [2, 3, 5, 8])
def test_an_all_to_all_transposes_real_numbers(ranks):
    for build in (alltoall.pairwise, alltoall.bruck, alltoall.ring_relay):
        vectors = [[100 * (b // ranks) + b % ranks for b in range(ranks * ranks)] for _ in range(ranks)]
        final = reference.values(build(ranks), vectors)
        assert all(final[j, i * ranks + j] == 100 * i + j for i in range(ranks) for j in range(ranks))


@given(st.integers(1, 12), st.integers(-3, 3), st.sampled_from([1, -1]))
def test_a_ring_may_start_with_any_chunk_and_go_either_way(ranks, first, direction):
    scatter = reducescatter.ring(ranks, first=first, direction=direction)
    gather = allgather.ring(ranks, first=first, direction=direction)
    for schedule in (scatter, gather):
        assert execute(schedule).cost == allgather.ring_cost(ranks)
        assert reference.holds(schedule)


def test_the_interface_convention_leaves_rank_r_with_chunk_r_and_the_textbooks_with_the_next():
    assert reducescatter.ring(5).blocks.target.tolist() == [0, 1, 2, 3, 4]
    textbook = reducescatter.ring(5, first=0).blocks.target
    assert [int(np.flatnonzero(textbook == rank)[0]) for rank in range(5)] == [1, 2, 3, 4, 0]


@given(st.integers(1, 20), st.integers(0, 19))
def test_broadcast_works_from_any_root(ranks, root):
    for build in (broadcast.chain, broadcast.binomial_tree, broadcast.scatter_allgather, broadcast.scatter_bruck):
        execute(schedule := build(ranks, root=root % ranks))
        assert reference.busiest_ports(schedule) <= (1, 1)


@given(st.integers(2, 20), st.integers(0, 19))
def test_to_scatter_and_gather_in_few_steps_takes_twice_the_log_and_twice_the_bytes(ranks, root):
    for build in (broadcast.scatter_bruck, reduce.scatter_bruck):
        run = execute(build(ranks, root=root % ranks))
        assert run.cost == Cost(2 * (ranks - 1).bit_length(), Fraction(2 * (ranks - 1), ranks))


def test_the_binomial_tree_has_as_many_ranks_at_each_depth_as_pascals_triangle_says():
    assert np.bincount(trees.depths(trees.binomial(16))).tolist() == [1, 4, 6, 4, 1]


@pytest.mark.parametrize(
    ("look_up", "complaint"),
    [
        (lambda: find("all-reduce", "butterfly"), "known are ring"),
        (lambda: find("all-reduction", "ring"), "known are all-reduce"),
        (lambda: allgather.pat(4, cap=0), "cap 0: must be at least 1"),
        (lambda: allgather.recursive_doubling(4, order="up"), "order 'up'"),
        (lambda: alltoall.ring_relay(4, tie="down"), "tie 'down'"),
        (lambda: of("gossip"), "no algorithm for primitive 'gossip': known are all-reduce"),
        (lambda: of("barrier"), "takes ceil(log2 N) alpha, as an all-gather of 0 B does; known are all-reduce"),
        (lambda: of("MPI_Exscan"), "on a star recursive doubling takes ceil(log2 N) (alpha + M/BW); known are"),
        (lambda: of("gather"), "a binomial tree takes ceil(log2 N) alpha + (N - 1)/N M/BW"),
    ],
)
def test_what_does_not_exist_is_refused_with_what_does(look_up, complaint):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refusal:
        look_up()
    assert complaint in str(refusal.value)
