"""The all-to-all explorer shows what execution gives."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from shown import rows

from colllib.algorithms import alltoall
from colllib.algorithms.alltoall import radices
from colllib.events import event_clock
from colllib.execution import execute
from colllib.show.cost_explorer import alltoall_explorer, on_other_wires
from colllib.show.race import fastest
from colllib.topology import from_links, ring

PRICE = {"message": 3e6, "alpha": 2e-6, "bandwidth": 1e9}


@pytest.mark.parametrize("n", [4, 9, 24])
def test_every_row_on_another_clock_or_wire_is_executed(n):
    pairwise, idle_never, relay, slow = (row.variants[""].price(3e6, [2e-6], [1e9])[0] for row in on_other_wires(n))
    links = [pair for i in range(n) for pair in ((i, (i + 1) % n), ((i + 1) % n, i))]
    half = from_links("slow ring", n, links, bandwidth=[Fraction(1, 2)] * len(links))
    executed = alltoall.ring_relay(n, tie="split")
    assert pairwise == pytest.approx(execute(alltoall.pairwise(n)).cost.seconds(**PRICE))
    assert idle_never == pytest.approx(event_clock(alltoall.pairwise(n), **PRICE).seconds)
    assert relay == pytest.approx(execute(executed, ring(n)).cost.seconds(**PRICE))
    assert slow == pytest.approx(execute(executed, half).cost.seconds(**PRICE))


def test_the_table_and_the_summary_agree_with_the_closed_forms_in_a_state():
    explorer = alltoall_explorer()
    state = {"n": 64, "m": 100e3, "alpha": 1e-6, "bw": 50e9}
    price = {"message": 100e3, "alpha": 1e-6, "bandwidth": 50e9}
    times = {k: execute(alltoall.bruck(64, k)).cost.seconds(**price) for k in radices(64)}
    best = min(times, key=times.__getitem__)
    summary = explorer.render(len(explorer.parts), state)
    assert f"radix {best} is fastest" in summary
    assert f"(pairwise exchange) {times[64] / times[best]:.2f} times as long." in summary
    assert next(row[0] for row in rows(explorer.render(2, state))) == "pairwise"


def test_it_starts_where_neither_bruck_nor_pairwise_is_fastest():
    explorer = alltoall_explorer()
    race, start = explorer.parts[1].race, explorer.start
    [first] = fastest(race.standings(start))
    assert first.variant not in ("radix 2", f"radix {start['n']}")


def test_the_event_clocks_row_holds_at_the_anchor_too():
    price = {"message": 16e6, "alpha": 0.5e-6, "bandwidth": 900e9}
    row = on_other_wires(512)[1]
    seconds = event_clock(alltoall.pairwise(512), **price).seconds
    assert seconds == pytest.approx(row.variants[""].price(16e6, [0.5e-6], [900e9])[0], rel=1e-9)


@pytest.mark.parametrize("n", [8, 72, 512])
def test_the_curve_over_the_radix_stays_off_the_axis(n):
    explorer = alltoall_explorer()
    svg = explorer.render(1, {**explorer.start, "n": n})
    [curve] = re.findall(r'<g data-row="Bruck, best radix"><path[^>]* d="([^"]*)"', svg)
    axis = max(float(down) for down in re.findall(r'd="M[\d.]+ ([\d.]+)H', svg))
    assert max(float(down) for down in re.findall(r"[ML][\d.]+ ([\d.]+)", curve)) < axis - 1
