"""The form of a sweep: when large sizes scatter more than a healthy fabric's."""

from __future__ import annotations

import pytest

from colllib.measured.log import Row, Run
from colllib.measured.segments import shape

SIZES = [2.0**k for k in range(24, 34)]


@pytest.mark.parametrize(
    ("falls", "depth", "erratic"),
    [(2, 0.75, False), (3, 0.75, True), (3, 0.85, False), (1, 0.55, False), (1, 0.45, True)],
)
def test_three_falls_by_a_fifth_or_one_by_half_are_erratic(falls, depth, erratic):
    rates = [100e9 * (depth if k % 2 and k < 2 * falls else 1.0) for k in range(len(SIZES))]
    rows = (Row(k, size, size / rate, None, None) for k, (size, rate) in enumerate(zip(SIZES, rates, strict=True)))
    form = shape(Run("columns", tuple(rows), "sendrecv", 2))
    assert form.erratic == erratic


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
