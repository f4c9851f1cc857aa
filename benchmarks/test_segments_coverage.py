"""Coverage of the fit's intervals over 1,000 draws: `make bench`."""

from __future__ import annotations

import numpy as np

from colllib.measured.segments import segments

DRAWS, SIZES = 1000, np.array([2.0**k for k in range(8, 31)])


def covered():
    """How often constant and bandwidth of a line with 3 % of noise both lie in their intervals."""
    noise, hits = np.random.default_rng(5), 0
    for _ in range(DRAWS):
        constant, bandwidth = noise.uniform(5e-6, 80e-6), noise.uniform(10e9, 400e9)
        times = (constant + SIZES / bandwidth) * np.exp(noise.normal(0, 0.03, len(SIZES)))
        got = segments(SIZES, times)
        first, last = got[0].constant_interval, got[-1].bandwidth_interval
        hits += first[0] <= constant <= first[1] and last[0] <= bandwidth <= last[1]
    return hits


def test_both_numbers_lie_in_their_intervals_in_95_of_100_draws(benchmark):
    hits = benchmark.pedantic(covered, rounds=1)
    benchmark.extra_info["covered"] = hits
    assert hits >= 0.93 * DRAWS  # 0.95 within what 1,000 draws scatter
