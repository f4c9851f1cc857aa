"""Second counts for the map from parallelism axes to collectives."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import reference

from colllib import claims
from colllib.algorithms import allgather, allreduce, alltoall, pointtopoint
from colllib.claims import Verdict

ENTRIES = {entry.claim.id: entry for entry in claims.for_chapter("12-from-primitives-to-parallelism")}


def verdicts(*ids):
    return {ENTRIES[name].verdict for name in ids}


def test_the_rows_without_a_switch_are_answered():
    assert set(ENTRIES) == {f"E-01-{k}" for k in range(120, 130)} - {"E-01-122", "E-01-125"}


def test_second_count_double_tree_under_one_port():
    """Halves of a vector into the busiest port, level by level, from the messages alone."""
    for n in (4, 8, 16, 32):
        depth = (n - 1).bit_length()
        schedule = allreduce.double_binary_tree(n)
        busiest = []
        for step in reference.messages(schedule):
            arrivals = Counter(dst for _, dst, _, _ in step)
            departures = Counter(src for src, _, _, _ in step)
            busiest.append(max(*arrivals.values(), *departures.values()))
        assert len(busiest) == 2 * depth
        assert Fraction(sum(busiest), 2) == 2 * depth - 1 > depth
    assert verdicts("E-01-121", "E-01-124") == {Verdict.REFUTED}


def test_second_count_relay_on_a_ring():
    """Hops by hand: distance d costs d links, the shorter way, ties up; as many links as ranks in each direction."""
    for n in (6, 8, 12):
        up = sum(d for d in range(1, n) if 2 * d <= n)
        assert Fraction(up, n) > Fraction(n - 1, n)
        assert alltoall.ring_relay(n).num_steps == n // 2 < n - 1
        assert alltoall.ring_relay(n, bundled=False).num_steps == up > n - 1
    # one block at a time, both counts are what is claimed only where 1 + 2 + ... + N/2 happens to be N - 1
    holds = [n for n in range(2, 40) if sum(d for d in range(1, n) if 2 * d <= n) == n - 1]
    assert holds == [2, 4, 7]
    # four ranks, one block on a link: 1 + 2 steps, as the source traces it
    assert alltoall.ring_relay(4, bundled=False).num_steps == 3
    assert verdicts("E-01-127") == {Verdict.REFUTED}


def test_second_count_of_the_rows_that_hold():
    for n in (3, 8, 13):
        away = Fraction(n - 1, n)
        assert reference.star_cost(allreduce.ring(n)) == (2 * (n - 1), 2 * away)
        assert reference.star_cost(allgather.ring(n)) == (n - 1, away)
        assert reference.star_cost(alltoall.pairwise(n)) == (n - 1, away)
        assert reference.star_cost(pointtopoint.direct(n)) == (1, 1)
    assert verdicts("E-01-120", "E-01-123", "E-01-126", "E-01-128", "E-01-129") == {Verdict.REPRODUCED}
