"""Staging against a second count that replays the schedule with sets."""

from fractions import Fraction

import pytest
import reference

from colllib.algorithms import allgather, allreduce, broadcast, reducescatter
from colllib.staging import staging


def replayed(schedule):
    """After each step, the largest share any rank has received and sends in a later step, by sets."""
    steps = list(reference.messages(schedule))
    shares = list(schedule.blocks.share)
    peaks = []
    for t in range(len(steps)):
        arrived = {(dst, block) for step in steps[: t + 1] for _, dst, block, _ in step}
        leaving = {(src, block) for step in steps[t + 1 :] for src, _, block, _ in step}
        load = {}
        for rank, block in arrived & leaving:
            load[rank] = load.get(rank, Fraction(0)) + shares[block]
        peaks.append(max(load.values(), default=Fraction(0)))
    return tuple(peaks)


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 6, 8, 12, 16])
def test_staging_is_what_a_replay_finds(ranks):
    built = [allgather.ring(ranks), allgather.bruck(ranks), reducescatter.ring(ranks), reducescatter.bruck(ranks)]
    built += [build(ranks, cap=cap) for build in (allgather.pat, reducescatter.pat) for cap in (1, 2, None)]
    built += [allgather.pat(ranks, cap=2, order="rounds"), broadcast.chain(ranks, segments=3), allreduce.ring(ranks)]
    for schedule in built:
        assert staging(schedule) == replayed(schedule)


def test_uneven_shards_count_with_their_size():
    shares = [Fraction(1, 2), Fraction(1, 4), Fraction(1, 8), Fraction(1, 8)]
    schedule = allgather.ring(4, shares=shares)
    assert staging(schedule) == replayed(schedule)
    assert max(staging(schedule)) == Fraction(1, 2)


def test_a_reduce_scatter_parks_what_its_all_gather_parks_in_reverse_order():
    for ranks, cap in ((8, 1), (12, 2), (16, 4)):
        gather, scatter = staging(allgather.pat(ranks, cap=cap)), staging(reducescatter.pat(ranks, cap=cap))
        assert scatter[:-1] == gather[-2::-1]


@pytest.mark.parametrize("ranks", [4, 8, 32, 128])
def test_closed_forms_of_what_is_parked(ranks):
    log = ranks.bit_length() - 1
    assert max(staging(allgather.ring(ranks))) == Fraction(1, ranks)
    whole = (allgather.bruck(ranks), allgather.pat(ranks), allgather.recursive_doubling(ranks))
    for schedule in whole:
        assert max(staging(schedule)) == Fraction(ranks // 2 - 1, ranks)
    for k in range(log):
        parked = max(staging(allgather.pat(ranks, cap=1 << k))) * ranks
        assert parked == (1 << k) * (log - k) - 1
        assert max(staging(allgather.pat(ranks, cap=1 << k, order="rounds"))) * ranks == ranks // 2 - 1
