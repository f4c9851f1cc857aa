"""The all-to-all explorer shows what execution gives."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from colllib.algorithms import alltoall
from colllib.events import event_clock
from colllib.execution import execute
from colllib.show.alltoall_explorer import RANKS, alltoall_explorer, fastest_radix, radices, ways
from colllib.topology import from_links, ring


@pytest.mark.parametrize("n", [n for n in RANKS if n <= 72])
def test_every_radix_on_the_curve_is_executed(n):
    for k in radices(n):
        assert execute(alltoall.bruck(n, k)).cost == alltoall.bruck_cost(n, k)


@pytest.mark.parametrize("n", [n for n in RANKS if n <= 72])
def test_every_row_of_the_table_is_executed(n):
    price = {"message": 3e6, "alpha": 2e-6, "bandwidth": 1e9}
    for way in ways(n, 3):
        if way.clock == "event":
            timeline = event_clock(alltoall.pairwise(n), **price)
            assert timeline.seconds == pytest.approx(way.cost.seconds(**price), rel=1e-12)
            continue
        if way.wires.startswith("ring"):
            relay = alltoall.ring_relay(n, tie="split")
            run = execute(relay, ring(n))
            if "BW/2" in way.wires:
                pairs = [pair for i in range(n) for pair in ((i, (i + 1) % n), ((i + 1) % n, i))]
                slow = from_links("slow ring", n, pairs, bandwidth=[Fraction(1, 2)] * len(pairs))
                run = execute(relay, slow)
        elif way.name == "pairwise":
            run = execute(alltoall.pairwise(n))
        else:
            run = execute(alltoall.bruck(n, int(way.name.split()[-1])))
        assert run.cost == way.cost


def test_the_table_and_the_summary_agree_with_the_closed_forms_in_a_state():
    explorer = alltoall_explorer()
    state = {"n": 64, "m": 100e3, "alpha": 1e-6, "bw": 50e9}
    price = {"message": 100e3, "alpha": 1e-6, "bandwidth": 50e9}
    best = fastest_radix(64, **price)
    times = {k: execute(alltoall.bruck(64, k)).cost.seconds(**price) for k in radices(64)}
    assert times[best] == min(times.values())
    told = explorer.render(3, state)
    assert f"{times[64] / times[best]:.2f} times as long" in told
    shown = re.findall(r"<tr><th scope=\"row\">([^<]+)</th>", explorer.render(1, state))
    assert len(shown) == len(ways(64, best))


def test_it_starts_where_neither_bruck_nor_pairwise_is_fastest():
    explorer = alltoall_explorer()
    start = explorer.start
    price = {"message": start["m"], "alpha": start["alpha"], "bandwidth": start["bw"]}
    assert fastest_radix(start["n"], **price) not in (2, start["n"])
    assert len(explorer.grid.json()) < 4_000_000


def test_the_event_clocks_row_holds_at_the_anchor_too():
    price = {"message": 16e6, "alpha": 0.5e-6, "bandwidth": 900e9}
    (row,) = [way for way in ways(512, 2) if way.clock == "event"]
    assert event_clock(alltoall.pairwise(512), **price).seconds == pytest.approx(row.cost.seconds(**price), rel=1e-9)
