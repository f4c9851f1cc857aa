"""Faults: flips against their phase, schedules with a fault, programs against plain runs, sums in BF16."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colllib.algorithms import allgather, allreduce, alltoall, broadcast, reducescatter
from colllib.evaluation import run_on
from colllib.events import event_clock
from colllib.execution import execute
from colllib.primitives import PRIMITIVES
from colllib.provenance import ScheduleError, trace
from colllib.schedule import in_sequence
from colllib.training import faults
from colllib.training.faults import Call


@given(st.integers(3, 7), st.sampled_from(faults.FAULTS), st.data())
@settings(deadline=None, max_examples=40)
def test_a_ring_in_which_one_rank_does_one_thing_wrong_ends_wrong_and_the_first_difference_names_it(n, fault, data):
    ring = allreduce.ring(n)
    rank = data.draw(st.integers(0, n - 1))
    step = data.draw(st.integers(0, ring.num_steps - 1 - (fault == faults.FAULTS[2])))
    wrong = faults.faulty(ring, fault, rank=rank, step=step)
    with pytest.raises(ScheduleError):
        execute(wrong)
    *_, end = trace(wrong)
    assert any(end[r, block] != dict.fromkeys(range(n), 1) for r in range(n) for block in range(n))
    assert execute(wrong, proved=False).how == "not proved"
    line = faults.first_difference(ring, wrong)
    assert line.startswith(f"step {step + 1} of {ring.num_steps}: rank {rank} should")
    assert line.endswith(f": it swaps steps {step + 1} and {step + 2}") == (fault == faults.FAULTS[2])
    assert faults.first_difference(ring, ring) == ""


@pytest.mark.parametrize("n", [2, 4])
def test_a_schedule_that_goes_on_or_ends_before_another_differs_from_it(n):
    ring, half, steps = allreduce.ring(n), allgather.ring(n), n - 1
    longer = faults.first_difference(ring, in_sequence(ring, ring))
    assert longer.startswith(f"step {2 * steps + 1} of {4 * steps}: rank 0 should send nothing, and sends block ")
    assert faults.first_difference(in_sequence(half, half), half).endswith(", and sends nothing")


def gradients(ranks, size, seed=0):
    return list(np.random.default_rng(seed).normal(size=(ranks, size)).astype(np.float32))


def test_who_notices_a_flipped_bit():
    flips = {phase: faults.flip(gradients(4, 16), phase) for phase in faults.PHASES}
    reason = {phase: (len(f.wrong), f.link, f.hash, f.total) for phase, f in flips.items()}
    assert reason == {
        "gradient": (4, False, False, False),
        "sum in memory": (4, False, False, True),
        "reduce-scatter wire": (4, True, False, True),
        "all-gather wire": (3, True, True, True),
        "last hop": (1, True, True, True),
        "result": (1, False, True, True),
    }


@given(st.integers(0, 31), st.floats(-1e3, 1e3, width=32))
def test_a_bit_flipped_twice_is_what_it_was(bit, value):
    given_value = np.array([value, 1], dtype=np.float32)
    once = faults.flipped(given_value, bit)
    assert once.tobytes() != given_value.tobytes()
    assert faults.flipped(once, bit).tobytes() == given_value.tobytes()


@pytest.mark.parametrize(
    "schedule",
    [allreduce.ring(4), allgather.ring(4), reducescatter.ring(4), alltoall.bruck(4), allreduce.rabenseifner(4)],
)
def test_equal_programs_finish_with_what_a_plain_run_gives(schedule):
    held = 2 if schedule.makes(PRIMITIVES["all-gather"]) else 8
    data = [np.arange(held) + 10.0 * rank for rank in range(4)]
    outcome = faults.run_programs([[Call("A", schedule, vector), Call("B", schedule, -vector)] for vector in data])
    assert outcome.reason == ""
    for results, expected in zip(outcome.results, run_on(schedule, data), strict=True):
        assert np.array_equal(results[0], expected)
        assert np.array_equal(results[1], -expected)


def calls(rank, size=4):
    ring = allreduce.ring(4)
    return Call("A", ring, np.full(size, 1.0 + rank)), Call("B", ring, np.full(size, 100.0 * (1 + rank)))


def test_two_calls_of_one_size_in_another_order_finish_and_are_wrong():
    programs = [list(calls(rank)) for rank in range(4)]
    programs[2].reverse()
    outcome = faults.run_programs(programs)
    assert outcome.reason == ""
    assert {float(outcome.results[rank][0][0]) for rank in range(4)} == {1 + 2 + 300 + 4}


def test_other_sizes_are_named():
    programs = [[calls(rank, 8 if rank == 2 else 4)[0]] for rank in range(4)]
    reason = faults.run_programs(programs).reason
    assert reason == "rank 2 (in A) expects 2 numbers from rank 1 (in A), which sends 1"


def test_groups_that_meet_in_opposite_orders_wait_in_a_circle():
    from colllib.schedule import placed

    row, column = (placed(allreduce.ring(2), pair, 3) for pair in ((0, 1), (1, 2)))
    third = placed(allreduce.ring(2), (0, 2), 3)
    one = np.ones(2)
    programs = [
        [Call("row", row, one), Call("third", third, one)],
        [Call("column", column, one), Call("row", row, one)],
        [Call("third", third, one), Call("column", column, one)],
    ]
    outcome = faults.run_programs(programs)
    assert outcome.cycle == [0, 1, 2]
    assert outcome.reason.startswith("no rank can go on: 0 (in row) waits for 1; 1 (in column) waits for 2")


def test_a_circle_is_found_beside_a_rank_that_waits_for_one_that_left():
    """0 waits for 1, which waits for 3, which has finished; and for 2, which waits for 0."""
    assert faults.Outcome([], {0: [1, 2], 1: [3], 2: [0]}, "").cycle == [0, 2]


@given(
    st.sampled_from(["rabenseifner", "shortest_way_ring", "recursive_doubling"]), st.integers(2, 6), st.integers(1, 9)
)
@settings(deadline=None, max_examples=40)
def test_blocks_of_unequal_lengths_add_up_whatever_travels_together(name, n, size):
    schedule = getattr(allreduce, name)(n)
    data = np.random.default_rng(size).normal(size=(n, size))
    outcome = faults.run_programs([[Call("A", schedule, vector)] for vector in data])
    assert outcome.reason == ""
    assert np.allclose([results[0] for results in outcome.results], data.sum(axis=0))


@pytest.mark.parametrize("size", [8, 11])
def test_who_receives_a_vector_in_parts_expects_the_parts(size):
    schedule = broadcast.scatter_allgather(4)
    outcome = faults.run_programs([[Call("A", schedule, np.arange(size) * (rank == 0))] for rank in range(4)])
    assert outcome.reason == ""
    assert all(np.array_equal(results[0], np.arange(size)) for results in outcome.results)


def test_a_rank_that_left_is_named():
    programs = [[calls(rank)[0]] if rank != 3 else [] for rank in range(4)]
    outcome = faults.run_programs(programs)
    assert "rank 3 has finished" in outcome.reason
    assert outcome.cycle == []


@given(st.lists(st.floats(-(2.0**90), 2.0**90, width=32), min_size=1, max_size=20))
def test_bf16_is_the_nearest_of_its_neighbors(values):
    given_values = np.array(values, dtype=np.float32)
    rounded = faults.bf16(given_values)
    bits = given_values.view(np.uint32)
    down = (bits & np.uint32(0xFFFF0000)).view(np.float32)
    up = ((bits & np.uint32(0xFFFF0000)) + np.uint32(0x10000)).view(np.float32)
    error = np.abs(rounded.astype(float) - given_values)
    assert (error <= np.abs(down.astype(float) - given_values)).all()
    assert (error <= np.abs(up.astype(float) - given_values)).all()


@pytest.mark.parametrize("bits", [0x7FFFFFFF, 0xFFFFFFFF, 0x7F800001])
def test_what_is_no_number_is_none_in_bf16(bits):
    assert np.isnan(faults.bf16(np.array([bits], dtype=np.uint32).view(np.float32))).all()


def test_the_same_schedule_gives_the_same_bits_and_another_schedule_does_not():
    data = gradients(8, 64)
    once, again, other = (
        faults.reduced(s, data)[0] for s in (allreduce.ring(8), allreduce.ring(8), allreduce.rabenseifner(8))
    )
    assert once.tobytes() == again.tobytes() != other.tobytes()
    assert np.allclose(once, other, atol=1e-5)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: faults.flip(gradients(3, 3), "cable"), "phase 'cable': must be one of gradient"),
        (lambda: faults.flip(gradients(3, 3), "gradient", bit=32), "bit 32"),
        (lambda: faults.flip(gradients(3, 3), "last hop", rank=3), "rank 3"),
        (
            lambda: faults.reduced(allreduce.ring(2), [*gradients(1, 3), *gradients(1, 4)]),
            "gradients of lengths 3, 4: must be of one length",
        ),
        (lambda: faults.reduced(allreduce.ring(2), gradients(2, 2), "FP8"), "precision 'FP8'"),
        (
            lambda: faults.faulty(allreduce.ring(4), "sleeps", rank=0, step=0),
            "fault 'sleeps': must be one of leaves out",
        ),
        (
            lambda: faults.faulty(allreduce.recursive_doubling(4), faults.FAULTS[1], rank=0, step=0),
            "sends another block: there is one alone",
        ),
        (
            lambda: faults.faulty(broadcast.chain(4), faults.FAULTS[0], rank=2, step=0),
            "step 0: must be one from 0 to 2 in which rank 2 sends",
        ),
        (
            lambda: faults.flip(gradients(4, 2), "gradient"),
            "gradients of lengths 2, 2, 2, 2: three or more of one length",
        ),
        (lambda: faults.flip(gradients(2, 4), "sum in memory"), "gradients of lengths 4, 4: three or more"),
        (
            lambda: faults.run_programs([[Call("A", allreduce.ring(4), np.ones(4))]] * 2),
            "A is for 4 ranks: there are 2 programs",
        ),
    ],
)
def test_bad_input_is_refused_in_one_line(call, says):
    with pytest.raises(ValueError, match=says):
        call()


@pytest.mark.parametrize("build", [allreduce.ring, allreduce.rabenseifner])
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_in_a_ring_or_in_halving_and_doubling_a_late_rank_makes_everybody_late_by_just_that(build, ranks):
    usual, late = (ends(build(ranks), late) for late in ({}, {ranks // 2: 0.005}))
    assert [after - before for before, after in zip(usual, late, strict=True)] == pytest.approx([0.005] * ranks)


def test_where_some_ranks_fold_into_others_first_a_late_one_need_not_delay_everybody():
    usual, late = (ends(allreduce.rabenseifner(6), late) for late in ({}, {0: 0.005}))
    assert min(after - before for before, after in zip(usual, late, strict=True)) == pytest.approx(0)


def ends(schedule, late):
    line = event_clock(schedule, message=1e9, alpha=0.0, bandwidth=50e9, late=late)
    return [line.finished(rank, 0.0) for rank in range(schedule.ranks)]
