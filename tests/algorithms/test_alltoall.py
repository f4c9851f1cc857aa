"""All-to-all in any radix, with uneven shares, and as buffers: against a second interpreter and real memory."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from colllib.algorithms import alltoall
from colllib.events import event_clock
from colllib.execution import execute
from colllib.primitives import PRIMITIVES
from colllib.topology import boxes


@given(st.integers(1, 40), st.integers(2, 42))
def test_bruck_in_any_radix_costs_one_block_for_each_nonzero_digit(ranks, radix):
    schedule = alltoall.bruck(ranks, radix)
    assert execute(schedule).cost == alltoall.bruck_cost(ranks, radix)
    assert reference.star_cost(schedule) == (schedule.num_steps, alltoall.bruck_cost(ranks, radix).n_beta)
    assert reference.busiest_ports(schedule) <= (1, 1)


@pytest.mark.parametrize("ranks", [2, 3, 7, 16, 33])
def test_radix_n_is_pairwise_exchange_message_by_message(ranks):
    for radix in (ranks, ranks + 5):
        assert list(reference.messages(alltoall.bruck(ranks, radix))) == list(
            reference.messages(alltoall.pairwise(ranks))
        )


@pytest.mark.parametrize("radix", [2, 3, 4])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8, 9, 13])
def test_the_buffers_are_those_of_a_program_that_rotates_sends_slots_and_permutes(ranks, radix):
    """The same algorithm as every rank runs it: lists of slots, no schedule."""
    memory = [[rank * ranks + slot for slot in range(ranks)] for rank in range(ranks)]
    seen = [[list(row) for row in memory]]
    memory = [row[rank:] + row[:rank] for rank, row in enumerate(memory)]
    seen.append([list(row) for row in memory])
    place = 1
    while place < ranks:
        for digit in range(1, radix):
            slots = [slot for slot in range(ranks) if slot // place % radix == digit]
            if not slots:
                continue
            sent = [[row[slot] for slot in slots] for row in memory]
            for rank, row in enumerate(memory):
                for slot, block in zip(slots, sent[(rank - digit * place) % ranks], strict=True):
                    row[slot] = block
            seen.append([list(row) for row in memory])
        place *= radix
    seen.append([[row[(rank - slot) % ranks] for slot in range(ranks)] for rank, row in enumerate(memory)])
    assert list(alltoall.bruck_buffers(ranks, radix)) == seen
    assert seen[-1] == [[source * ranks + rank for source in range(ranks)] for rank in range(ranks)]


@given(st.integers(1, 5), st.integers(1, 6))
def test_box_by_box_a_round_stays_in_all_boxes_or_leaves_them_all(count, ranks):
    """A permutation in every round; and each pair of different ranks meets once, which the end state proves."""
    schedule = alltoall.pairwise_by_boxes(boxes((count, ranks)))
    assert execute(schedule).topology.ranks == count * ranks
    for t in range(schedule.num_steps):
        step = schedule.step(t)
        assert sorted(step.src) == sorted(step.dst) == list(range(count * ranks))
        assert len({a // ranks == b // ranks for a, b in zip(step.src, step.dst, strict=True)}) == 1


def hot(ranks, factor, target=0):
    """Every rank has `factor` times as much for one rank as for any other."""
    unit = Fraction(1, ranks - 1 + factor)
    return [[unit * (factor if j == target else 1) for j in range(ranks)] for _ in range(ranks)]


def favorites(ranks, factor, target):
    """Rank i has `factor` times as much for target(i) as for any other."""
    return [hot(ranks, factor, target(i))[i] for i in range(ranks)]


@pytest.mark.parametrize("ranks", [2, 5, 8, 9])
@pytest.mark.parametrize("factor", [1, 3, 10])
def test_uneven_shares_cost_the_largest_block_of_every_round(ranks, factor):
    for shares in (hot(ranks, factor), favorites(ranks, factor, lambda i: 2 * i % ranks)):
        schedule = alltoall.pairwise(ranks, shares)
        run = execute(schedule)
        assert PRIMITIVES["all-to-all"].accepts(schedule.blocks)
        assert run.cost == alltoall.pairwise_cost(ranks, shares)
        assert reference.star_cost(schedule) == (ranks - 1, run.cost.n_beta)
        assert run.cost.n_beta >= max(run.received)


def test_a_hot_receiver_sets_the_time_on_both_clocks_and_scattered_favorites_on_one():
    """By arithmetic: 9 ranks, a favorite gets 8 units of 16."""
    price = {"message": 16.0, "alpha": 0.0, "bandwidth": 1.0}
    one = alltoall.pairwise(9, hot(9, 8))
    assert execute(one).cost.n_beta * 16 == 8 * 8  # eight others send eight units each to one port
    assert event_clock(one, **price).seconds == 8 * 8
    scattered = alltoall.pairwise(9, favorites(9, 8, lambda i: 2 * i % 9))
    assert max(execute(scattered).received) * 16 == 8 + 7  # every port receives one favorite's block and seven others
    assert execute(scattered).cost.n_beta * 16 == 8 * 8  # yet every round waits for one large block
    assert 8 + 7 <= event_clock(scattered, **price).seconds < 8 * 8


def test_a_number_of_ranks_may_be_numpys():
    ranks = np.arange(7)[-1]
    assert list(map(repr, alltoall.bruck(ranks).steps)) == list(map(repr, alltoall.bruck(6).steps))
    assert alltoall.bruck_cost(ranks) == alltoall.bruck_cost(6)
    assert list(alltoall.bruck_buffers(ranks)) == list(alltoall.bruck_buffers(6))


def test_an_unknown_tie_has_neither_schedule_nor_cost():
    for ask in (alltoall.ring_relay, alltoall.ring_relay_cost, alltoall.ring_relay_cost_on_ring):
        with pytest.raises(ValueError, match="must be 'up' or 'split'"):
            ask(8, tie="down")


def test_a_radix_below_two_is_refused():
    for build in (alltoall.bruck, alltoall.bruck_cost):
        with pytest.raises(ValueError, match="at least 2, not 1"):
            build(4, 1)


@pytest.mark.parametrize("n", [2, 5, 9, 16, 64, 72])
def test_every_radix_on_the_curve_is_executed(n):
    for k in alltoall.radices(n):
        assert execute(alltoall.bruck(n, k)).cost == alltoall.bruck_cost(n, k)


@pytest.mark.parametrize("n", [7, 24, 64])
@pytest.mark.parametrize("message", [1e3, 1e5, 1e6, 1e8])
def test_no_radix_that_is_left_out_is_ever_faster(n, message):
    price = {"message": message, "alpha": 2e-6, "bandwidth": 1e9}
    best = min(alltoall.bruck_cost(n, k).seconds(**price) for k in range(2, n + 1))
    assert min(alltoall.bruck_cost(n, k).seconds(**price) for k in alltoall.radices(n)) == pytest.approx(
        best, rel=1e-12
    )
