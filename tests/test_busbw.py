"""Bus bandwidth: the columns of nccl-tests by hand, the switch by execution and by a second count."""

from __future__ import annotations

from fractions import Fraction

import pytest

from colllib import execute, ladder, star
from colllib.algorithms import allreduce, innetwork
from colllib.bounds import bus_factor
from colllib.busbw import MEASURED, count, ideal_gain


@pytest.mark.parametrize("ranks", [2, 3, 4, 7, 8, 33])
def test_what_a_port_carries_through_the_switch(ranks):
    """By hand: my whole vector goes up once; as an owner I read one slice and write it again."""
    topology = star(ranks, combines=True, replicates=True)
    builds = (innetwork.one_shot_all_reduce, innetwork.two_shot_all_reduce)
    for shots, load, build in ((1, Fraction(1), builds[0]), (2, 1 + Fraction(1, ranks), builds[1])):
        ledger = execute(build(topology), topology)
        assert set(ledger.sent[:ranks]) == {load}
        assert max(ledger.link_total) == innetwork.port_load(ranks, shots=shots)
        assert ideal_gain(ranks, shots=shots) == execute(allreduce.ring(ranks)).sent[0] / load
    assert ideal_gain(ranks) == Fraction(2 * (ranks - 1), ranks + 1)


def test_a_switch_adds_in_one_shot_or_two():
    with pytest.raises(ValueError, match="shots = 3"):
        ideal_gain(8, shots=3)


@pytest.mark.parametrize("primitive", ["all-reduce", "all-gather", "reduce-scatter", "broadcast", "all-to-all"])
def test_no_algorithm_on_one_port_shows_more_than_the_wire(primitive):
    for ranks in (3, 8):
        for message in (1e3, 1e9):
            price = {"message": message, "alpha": 1e-6, "bandwidth": 100e9}
            for rung in ladder.ladder(primitive, star(ranks), **price):
                assert rung.busbw <= 100e9 * (1 + 1e-12)
                assert rung.algbw == pytest.approx(rung.busbw / float(bus_factor(primitive, ranks)))


def test_the_columns_of_a_printed_table():
    """nccl-tests prints for 8 ranks, 1 GiB in 8,203.9 us: algbw 130.88, busbw 229.04 GB/s."""
    message, time = 2.0**30, 8203.9e-6
    ring = ladder.entry("all-reduce", "ring", "star:8")
    printed = ladder.Rung(ring, 1, time, message, how="executed")
    assert [round(rate / 1e9, 2) for rate in (printed.algbw, printed.busbw)] == [130.88, 229.04]
    assert count("all-reduce", 8, 268435456) == 67108864
    assert count("all-to-all", 64, 268435456) == 1048576
    # 2^18 floats among 6 are 43,690.67 each, among 12 21,845.33: whole fours of them (all_gather.cu:11)
    assert (count("all-gather", 6, 2**20), count("all-to-all", 12, 2**20)) == (43688, 21844)


def test_the_share_of_the_ideal_gain_belongs_to_the_machine():
    """Five sixths at every N on one H200; less on Blackwell, and a good deal less on 72 GPUs: no law of N."""
    shares = {
        name: [round(chosen / ring / float(ideal_gain(n)), 2) for n, (chosen, ring) in machine.busbw.items() if n > 5]
        for name, machine in MEASURED.items()
    }
    assert shares == {"H200": [0.84, 0.84, 0.83], "B200": [0.8, 0.79, 0.79], "B300": [0.78], "NVL72": [0.64]}
    assert [round(a / b, 2) for a, b in MEASURED["H200"].busbw.values()] == [1.0, 1.14, 1.19, 1.26, 1.29]
    assert [round(a / b, 2) for a, b in MEASURED["B200"].busbw.values()] == [1.0, 1.0, 1.15, 1.19, 1.23]
