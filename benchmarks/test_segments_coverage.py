"""Coverage of the fit's intervals over 1,000 draws of the event clock's times: `make bench`, some minutes."""

from __future__ import annotations

import numpy as np

from colllib import algorithms, star
from colllib.events import event_clock
from colllib.measured.segments import segments

DRAWS, RANKS, SIZES = 1000, 4, np.array([2.0**k for k in range(8, 31)])


def covered():
    """How often the constant and the bandwidth of a ring on the event clock, with 3 % of noise, are in their intervals.

    Its 2(N - 1) steps start alpha after one another, and each moves M/N.
    """
    ring, topology = algorithms.find("all-reduce", "ring"), star(RANKS)
    schedule, steps = ring.build(ring.argument(topology)), 2 * (RANKS - 1)
    noise, hits = np.random.default_rng(5), 0
    for _ in range(DRAWS):
        alpha, bandwidth = noise.uniform(1e-6, 15e-6), noise.uniform(10e9, 400e9)
        times = [event_clock(schedule, topology, message=m, alpha=alpha, bandwidth=bandwidth).seconds for m in SIZES]
        got = segments(SIZES, times * np.exp(noise.normal(0, 0.03, len(SIZES))))
        first, last = got[0].constant_interval, got[-1].bandwidth_interval
        hits += first[0] <= steps * alpha <= first[1] and last[0] <= bandwidth * RANKS / steps <= last[1]
    return hits


def test_both_numbers_lie_in_their_intervals_in_95_of_100_draws(benchmark):
    hits = benchmark.pedantic(covered, rounds=1)
    benchmark.extra_info["covered"] = hits
    print(f"{hits} of {DRAWS}")
    assert hits >= 0.95 * DRAWS
