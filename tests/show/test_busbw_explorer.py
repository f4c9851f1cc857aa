"""The bus bandwidth explorer: its rows against executions."""

from __future__ import annotations

import re

import pytest
from shown import rows

from colllib import execute, ladder, star, units
from colllib.algorithms import alltoall, find
from colllib.algorithms.innetwork import two_shot_all_reduce
from colllib.bounds import bus_factor
from colllib.show.cost_explorer import busbw_explorer
from colllib.show.looks import BOUND, DASHES, LOOKS, SWITCH


@pytest.fixture(scope="module")
def explorer():
    return busbw_explorer()


def table(explorer, state):
    return {row[0]: row[1:] for row in rows(explorer.render(1, state))}


@pytest.mark.parametrize(
    ("primitive", "name"), [("all-reduce", "ring"), ("all-gather", "bruck"), ("broadcast", "chain")]
)
@pytest.mark.parametrize("n", [4, 8])
@pytest.mark.parametrize("message", [1e4, 1e7])
def test_a_row_is_an_execution(explorer, primitive, name, n, message):
    state = {
        **explorer.start,
        "shown": "all",
        "primitive": primitive,
        "n": n,
        "m": message,
        "alpha": 2e-6,
        "bw": 100e9,
        "eff": 0.5,
    }
    algorithm = find(primitive, name)
    run = ladder.run(algorithm, star(n), message=message, alpha=2e-6, bandwidth=50e9)
    time, algbw, busbw, _ = table(explorer, state)[algorithm.label]
    assert time == units.seconds(run.seconds, 4)
    assert algbw == units.rate(message / run.seconds)
    assert busbw == units.rate(float(bus_factor(primitive, n)) * message / run.seconds)


def test_an_all_to_all_names_the_base_that_its_row_is_an_execution_of(explorer):
    state = {**explorer.start, "shown": "all", "primitive": "all-to-all", "n": 64, "m": 8e6}
    price = {"message": 8e6, "alpha": 2e-6, "bandwidth": 450e9}
    times = {k: execute(alltoall.bruck(64, radix=k), star(64)).cost.seconds(**price) for k in range(2, 65)}
    best = min(times, key=times.get)
    assert 2 < best < 64
    assert table(explorer, state)[f"Bruck (radix {best})"][0] == units.seconds(times[best], 4)


def test_the_switch_is_an_execution_too(explorer):
    topology = star(8, combines=True, replicates=True)
    price = {"message": 1e6, "alpha": 2e-6, "bandwidth": 450e9}
    executed = min(
        execute(two_shot_all_reduce(topology, segments=p), topology).cost.seconds(**price) for p in range(1, 12)
    )
    assert table(explorer, {**explorer.start, "shown": "all", "m": 1e6})[SWITCH][0] == units.seconds(executed, 4)


def test_it_starts_where_busbw_exceeds_the_wire(explorer):
    summary = explorer.render(len(explorer.parts), explorer.start)
    assert SWITCH in summary
    share = int(re.search(r"(\d+)% of the wire", summary)[1])
    assert 100 < share <= 100 * 14 / 9  # the ideal gain of two shots at N = 8


@pytest.mark.parametrize("shown", ["ring and switch", "all"])
def test_the_switch_looks_like_its_algorithm_beside_few_or_all(explorer, shown):
    standings = explorer.parts[0].race.standings({**explorer.start, "shown": shown})
    assert {one.row.name: one.look for one in standings}[SWITCH] == LOOKS["in-network-two-shot"]


@pytest.mark.parametrize("primitive", ladder.PRIMITIVES)
def test_an_all_reduce_alone_may_leave_out_all_but_ring_and_switch_and_the_words_say_among_which_one_is_fastest(
    explorer, primitive
):
    state = {**explorer.start, "primitive": primitive, "n": 23, "m": 2500.0}
    offered = list(explorer.choices(2, state))
    assert offered == (["ring and switch", "all"] if primitive == "all-reduce" else ["all"])
    for shown in offered:
        standings = explorer.parts[0].race.standings({**state, "shown": shown})
        names = {one.row.name for one in standings if not one.row.bound}
        assert (names == {"ring", SWITCH}) == (shown != "all")
        words = explorer.render(len(explorer.parts), {**state, "shown": shown})
        assert f"Of {shown}, at N = 23 and M = 2.5 kB, the fastest " in words


def test_it_stays_within_a_page(explorer):
    assert len(explorer.payload) < 300_000


def test_the_note_calls_the_line_of_the_wire_what_it_is_drawn_as(explorer):
    svg = explorer.render(0, explorer.start)
    [wire] = re.findall(r'<g data-row="the wire">(.*?)</g>', svg)
    assert BOUND.dashes in wire
    on, off = map(float, DASHES[BOUND.dash].split())
    assert on <= 2 < off  # dots, not dashes
    assert "The dotted line is one port, one way" in explorer.render(len(explorer.parts) - 1, explorer.start)
