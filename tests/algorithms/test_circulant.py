"""The circulant broadcast and reduce: with one segment a message round-optimal for every N, root and P."""

from collections import Counter
from fractions import Fraction
from itertools import pairwise

import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from colllib.algorithms import circulant, of, reduce
from colllib.algorithms.circulant import circulant_cost, first_segments, receive_schedule, skips
from colllib.execution import execute


def test_every_n_up_to_260_is_broadcast_in_the_fewest_rounds():
    for ranks in range(1, 261):
        schedule = circulant.circulant(ranks, segments=6)
        assert schedule.num_steps == ((ranks - 1).bit_length() + 5 if ranks > 1 else 0)
        execute(schedule)


@given(st.integers(1, 130), st.integers(1, 24), st.integers(0, 129))
def test_a_second_interpreter_finds_one_port_the_end_state_and_the_cost(ranks, segments, root):
    forward = circulant.circulant(ranks, segments=segments, root=root % ranks)
    backward = reduce.circulant(ranks, segments=segments, root=root % ranks)
    for schedule in (forward, backward):
        assert reference.busiest_ports(schedule) <= (1, 1)
        cost = execute(schedule).cost
        assert (cost.n_alpha, cost.n_beta) == reference.star_cost(schedule)
        assert cost == circulant_cost(ranks, segments)
    if ranks < 40:
        assert reference.holds(forward)
        assert reference.holds(backward)


@given(st.integers(2, 100), st.integers(1, 20))
def test_every_rank_but_the_root_receives_every_segment_once(ranks, segments):
    schedule = circulant.circulant(ranks, segments=segments)
    got = Counter((dst, block) for step in reference.messages(schedule) for _, dst, block, _ in step)
    assert got == Counter((rank, block) for rank in range(1, ranks) for block in range(segments))


@given(st.integers(2, 700))
def test_a_row_of_the_schedule_is_one_new_segment_and_all_others_of_the_period_before(ranks):
    q = (ranks - 1).bit_length()
    table, first = receive_schedule(ranks), first_segments(ranks)
    assert table.shape == (ranks, q)
    for rank in range(1, ranks):
        assert sorted(table[rank].tolist()) == sorted({*range(-q, 0), first[rank]} - {first[rank] - q})


@given(st.integers(1, 5000))
def test_the_skips_halve_n_rounded_up(ranks):
    distances = skips(ranks)
    assert (distances[0], distances[-1], len(distances)) == (1, ranks, (ranks - 1).bit_length() + 1)
    assert all(2 * low - high in (0, 1) for low, high in pairwise(distances))


def test_no_algorithm_of_the_library_takes_fewer_steps_or_bytes_for_its_segments():
    """q + P - 1 rounds of M/P are the least with one segment a message: the last leaves the root in round P at best."""
    for primitive in ("broadcast", "reduce"):
        for ranks in (2, 3, 6, 8, 17):
            for algorithm in of(primitive):
                for segments in (1, 4) if algorithm.segmented else ():
                    cost = execute(algorithm.build(ranks, segments=segments)).cost
                    pieces = 2 * segments if algorithm.name == "two-tree" else segments
                    least = circulant_cost(ranks, pieces)
                    assert cost.n_alpha >= least.n_alpha
                    assert cost.n_beta >= least.n_beta


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="segments 0: must be at least 1"):
        circulant.circulant(4, segments=0)
    with pytest.raises(ValueError, match="root 4"):
        circulant.circulant(4, root=4)
    with pytest.raises(ValueError, match="N = 0"):
        circulant_cost(0)
    assert circulant_cost(5, 3).n_beta == Fraction(5, 3)
