"""The lines through a sweep: parameters are recovered within their intervals, a launch is no slope; and its form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t

from colllib import algorithms, star
from colllib.events import event_clock
from colllib.measured.log import Row, Run
from colllib.measured.segments import segments, shape

SIZES = np.array([2.0**k for k in range(8, 31)])


def line(constant, bandwidth, sizes=SIZES):
    return constant + sizes / bandwidth


def covered(draws):
    """How often both numbers of a line with 3 % of noise lie in their intervals."""
    noise, hits = np.random.default_rng(0), 0
    for _ in range(draws):
        constant, bandwidth = noise.uniform(5e-6, 80e-6), noise.uniform(10e9, 400e9)
        times = line(constant, bandwidth) * np.exp(noise.normal(0, 0.03, len(SIZES)))
        got = segments(SIZES, times)
        first, last = got[0].constant_interval, got[-1].bandwidth_interval
        hits += first[0] <= constant <= first[1] and last[0] <= bandwidth <= last[1]
    return hits


def test_both_numbers_lie_in_their_intervals_in_at_least_88_of_100_draws():
    assert covered(100) >= 88


def test_intervals_are_as_wide_as_least_squares_says_for_two_numbers_at_once():
    """Half widths against Student's quantile of Bonferroni's 5 % / 2 on both sides, times the standard error."""
    wide = {"constant": [], "per byte": []}
    for k in range(60):
        noise = np.random.default_rng(k).normal(0, 0.02, len(SIZES))
        times = line(50e-6, 20e9) * (1 + noise)
        (one,) = segments(SIZES, times)
        by_relative = np.column_stack([1 / times, SIZES / times])
        numbers, (squares,), *_ = np.linalg.lstsq(by_relative, np.ones(len(SIZES)), rcond=None)
        free = len(SIZES) - 2
        errors = np.sqrt(squares / free * np.diag(np.linalg.inv(by_relative.T @ by_relative)))
        reach = t.ppf(1 - 0.05 / 2 / 2, free) * errors
        assert numbers[0] > reach[0]  # nothing is cut off at 0
        low, high = one.constant_interval
        wide["constant"].append((high - low) / 2 / reach[0])
        fast, slow = (1 / rate for rate in reversed(one.bandwidth_interval))
        wide["per byte"].append((slow - fast) / 2 / reach[1])
    # Huber's lines have 95 % of the efficiency of least squares, so an interval that is honest is wider by its root,
    # and for two numbers of so few points by Huber's correction
    few = 1 + 2 / len(SIZES) * 0.18 / 0.82
    for ratios in wide.values():
        assert np.mean(ratios) == pytest.approx(few / np.sqrt(0.95), rel=0.03)


def test_the_event_clock_s_latency_and_bandwidth_are_recovered():
    ranks, alpha, bandwidth = 8, 2e-6, 50e9
    chosen, topology = algorithms.find("all-reduce", "ring"), star(8)
    schedule = chosen.build(chosen.argument(topology))
    times = [event_clock(schedule, topology, message=m, alpha=alpha, bandwidth=bandwidth).seconds for m in SIZES]
    noise = np.exp(np.random.default_rng(1).normal(0, 0.01, len(SIZES)))
    got = segments(SIZES, np.array(times) * noise)
    steps = 2 * (ranks - 1)
    low, high = got[0].constant_interval
    assert low <= steps * alpha <= high
    low, high = got[-1].bandwidth_interval
    assert low <= bandwidth * ranks / steps <= high


def test_a_launch_is_not_booked_as_a_slope():
    small = np.array([2.0**k for k in range(3, 21)])  # where 60 us of launch are nearly all of the time
    for launch in (0.0, 60e-6, 600e-6):
        noise = np.exp(np.random.default_rng(2).normal(0, 0.005, len(small)))
        got = segments(small, line(10e-6 + launch, 50e9, small) * noise)
        low, high = got[-1].bandwidth_interval
        assert low <= 50e9 <= high


def test_a_protocol_switch_begins_a_segment():
    times = np.where(SIZES <= 2**18, line(10e-6, 5e9), line(40e-6, 200e9))
    got = segments(SIZES, times)
    assert [segment.last for segment in got] == [2.0**18, SIZES[-1]]
    assert [segment.bandwidth / 1e9 for segment in got] == pytest.approx([5, 200])


def test_one_outlier_moves_neither_number_by_much():
    times = line(20e-6, 100e9)
    times[12] *= 5
    got = segments(SIZES, times)
    assert got[-1].bandwidth == pytest.approx(100e9, rel=0.02)


def test_a_time_that_does_not_grow_has_no_finite_bandwidth():
    (one,) = segments([1.0, 2.0, 4.0, 8.0, 16.0], [1e-5] * 5)
    assert one.bandwidth == np.inf


@pytest.mark.parametrize("count", range(2, 9))
def test_two_segments_need_four_points_each(count):
    sizes = [2.0**k for k in range(count)]
    jumping = [10.0 ** (k >= count / 2) for k in range(count)]
    assert len(segments(sizes, jumping)) == (2 if count == 8 else 1)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_up_to_four_plateaus_are_as_many_segments_and_five_are_no_more(count):
    sizes, times = [2.0**k for k in range(5 * count)], [10.0 ** (k // 5) for k in range(5 * count)]
    fitted = len(segments(sizes, times))
    assert fitted == count if count <= 4 else fitted <= 4


def test_a_message_of_0_bytes_has_a_size_to_fit():
    (one,) = segments([0.0, 8.0], [1.0, 3.0])
    assert (one.first, one.constant, one.bandwidth) == (0.0, pytest.approx(1.0), pytest.approx(4.0))


@pytest.mark.parametrize(
    ("sizes", "times"),
    [([1.0], [1.0]), ([2.0, 1.0], [1.0, 1.0]), ([1.0, 2.0], [1.0, 0.0]), ([-1.0, 1.0], [1.0, 1.0])],
)
def test_what_cannot_be_fitted_is_refused(sizes, times):
    with pytest.raises(ValueError, match=r"leave the row out|at least 2"):
        segments(sizes, times)


def test_a_size_that_was_measured_more_often_weighs_more():
    """Nine runs of every second size: its median scatters less, so the line must follow it."""
    repeats = np.where(np.arange(len(SIZES)) % 2, 9, 1)
    errors, hits = {"weighted": [], "alike": []}, 0
    for k in range(100):
        noise = np.random.default_rng(k)
        spread = [np.exp(np.median(noise.normal(0, 0.05, count))) for count in repeats]
        times = line(40e-6, 100e9) * spread
        (one, *_), (alike, *_) = segments(SIZES, times, repeats=repeats), segments(SIZES, times)
        errors["weighted"].append(abs(one.constant - 40e-6))
        errors["alike"].append(abs(alike.constant - 40e-6))
        low, high = one.constant_interval
        hits += low <= 40e-6 <= high
    assert np.mean(errors["weighted"]) < 0.8 * np.mean(errors["alike"])
    assert hits >= 88


def test_a_machine_that_gets_slower_during_the_sweep_leaves_narrow_intervals_around_wrong_numbers():
    outside = 0
    for k in range(50):
        noise = np.exp(np.random.default_rng(k).normal(0, 0.02, len(SIZES)))
        got = segments(SIZES, line(40e-6, 100e9) * noise * np.linspace(1, 1.1, len(SIZES)))
        low, high = got[-1].bandwidth_interval
        outside += not low <= 100e9 <= high
        assert high < 1.2 * low
    assert outside > 45


@pytest.mark.parametrize(
    ("falls", "depth", "erratic"),
    [(2, 0.75, False), (3, 0.75, True), (3, 0.85, False), (1, 0.55, False), (1, 0.45, True)],
)
def test_three_falls_by_a_fifth_or_one_by_half_are_erratic(falls, depth, erratic):
    sizes = [2.0**k for k in range(24, 34)]
    rates = [100e9 * (depth if k % 2 and k < 2 * falls else 1.0) for k in range(len(sizes))]
    rows = (Row(k, size, size / rate, None, None) for k, (size, rate) in enumerate(zip(sizes, rates, strict=True)))
    form = shape(Run("columns", tuple(rows), "sendrecv", 2))
    assert form.erratic == erratic


@pytest.mark.parametrize(
    ("sizes", "waited", "settled"),
    [
        ([2**26, 2**27], 0.1, 0.9),
        ([2**29, 3 * 2**29], 0.4, 0.6),
        ([2**29, 2**30], 0.02, 1.0),  # less than 3 %
        ([2**25, 2**26], 0.1, 0.0),  # another protocol may follow
        ([2**26], 0.1, 0.0),
        ([2**27], 0.1, 1.0),
    ],
)
def test_what_a_climbing_run_has_of_its_plateau_is_told_by_its_last_two_sizes(sizes, waited, settled):
    """Of a constant, which is a share of the last time, and a slope."""
    constant = waited / (1 - waited) * sizes[-1] / 1e11
    rows = (Row(k, float(size), constant + size / 1e11, None, None) for k, size in enumerate(sizes))
    assert shape(Run("columns", tuple(rows), "sendrecv", 2)).settled == pytest.approx(settled)


@pytest.mark.parametrize("first", [3, 10, 20])  # a sweep from 8 bytes has 31 sizes, 11 of them large
def test_one_fall_by_half_is_erratic_however_many_small_sizes_were_measured(first):
    sizes = [2.0**k for k in range(first, 34)]
    rows = (Row(k, s, 2e-5 + s / (30e9 if s == 2**28 else 100e9), None, None) for k, s in enumerate(sizes))
    assert shape(Run("columns", tuple(rows), "sendrecv", 2)).erratic


@pytest.mark.parametrize(("outliers", "erratic"), [(range(5, 95, 40), False), (range(5, 95, 6), True)])
def test_few_outliers_of_a_hundred_sizes_are_not_erratic(outliers, erratic):
    times = [2**24 * (k + 1) / 1e9 * (2.5 if k in outliers else 1.0) for k in range(100)]
    rows = (Row(k, 2.0**24 * (k + 1), seconds, None, None) for k, seconds in enumerate(times))
    assert shape(Run("columns", tuple(rows), "sendrecv", 2)).erratic == erratic


@pytest.mark.parametrize(("floor", "cold", "step"), [(20e-6, 1, 2.0**22), (20e-6, 150, 2.0**22), (3e-3, 1, 0.0)])
def test_noise_of_a_long_latency_is_no_step_back_and_that_of_the_first_row_is_none(floor, cold, step):
    sizes = [2.0**k for k in range(10, 34)]
    times = [floor * (1.4 if size == 2**22 else 1) + size * (8 if size == 2**22 else 1) / 24e9 for size in sizes]
    times[0] *= cold
    rows = (Row(k, size, seconds, None, None) for k, (size, seconds) in enumerate(zip(sizes, times, strict=True)))
    assert shape(Run("columns", tuple(rows), "sendrecv", 2)).step_back == step
