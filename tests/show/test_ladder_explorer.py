"""The ladder explorer: its rungs against executions under both port conventions, its words against its rungs."""

from __future__ import annotations

from importlib import import_module

import pytest
from shown import rows

from colllib import ladder, units
from colllib.execution import execute
from colllib.realistic_ladder import lines_of
from colllib.show.ladder_explorer import fabric_name, ladder_explorer, realistic_ladder_explorer
from colllib.topology import equal_injection
from colllib.topology.expression import find

LADDER, REALISTIC = ladder_explorer(), realistic_ladder_explorer()
QUICK = ("star:512", "torus:8x8x8", "torus:32x16", "mesh:32x16")
ANCHOR = {"message": 16e6, "alpha": 0.5e-6, "bandwidth": 900e9}


@pytest.fixture(autouse=True)
def few_fabrics(monkeypatch):
    monkeypatch.setattr(import_module("colllib.show.ladder_explorer"), "SPECS", QUICK)


def table(explorer, **state):
    return {row[0]: row[1:] for row in rows(explorer.render(1, {**explorer.start, **state}))}


@pytest.mark.parametrize("primitive", ["broadcast", "reduce", "all-gather", "all-reduce"])
@pytest.mark.parametrize("equal", [False, True])
def test_the_rungs_shown_are_executed(primitive, equal):
    shown = table(ladder_explorer(), p=primitive, ports=equal)
    rungs = [ladder.fastest(primitive, on, trusting=True, **ANCHOR, equal_injection=equal) for on in QUICK]
    assert shown.keys() == {fabric_name(rung.entry.topology.name) for rung in rungs}
    for rung in rungs:
        topology = rung.entry.topology
        cost = execute(rung.entry.schedule(rung.segments), equal_injection(topology) if equal else topology).cost
        row = shown[fabric_name(topology.name)]
        assert row[1] == units.seconds(cost.seconds(**ANCHOR), 4)
        assert row[3:5] == [str(cost.n_alpha), str(cost.n_beta)]


def test_an_all_to_all_of_512_on_a_torus_is_what_the_explorer_says():
    shown = table(ladder_explorer(), p="all-to-all")
    entry = ladder.entry("all-to-all", "rotated-relay", "torus:8x8x8")
    cost = execute(entry.schedule(), find("torus:8x8x8")).cost
    assert shown["torus 8 × 8 × 8"][3:5] == [str(cost.n_alpha), str(cost.n_beta)]


@pytest.mark.parametrize("ports", [False, True])
def test_the_words_name_the_first_of_the_rows_by_time(ports):
    explorer = ladder_explorer()
    state = {**explorer.start, "ports": ports, "order": "by time"}
    by_time = rows(explorer.render(1, state))
    assert [float(row[3]) for row in by_time] == sorted(float(row[3]) for row in by_time)
    summary = explorer.render(len(explorer.parts), state)
    assert f"the fastest is {by_time[0][0]} ({by_time[0][1]})" in summary


def test_rows_keep_their_order_unless_the_reader_asks():
    explorer = ladder_explorer()
    for m in (1e3, 1e9):
        for ports in (False, True):
            shown = rows(explorer.render(1, {**explorer.start, "m": m, "ports": ports}))
            assert [row[0] for row in shown] == [fabric_name(spec) for spec in QUICK]


def test_the_note_counts_links_by_rank():
    note = LADDER.render(2, LADDER.start)
    for dims in ((8, 8, 8), (8, 4, 4, 4), (16, 8, 4), (32, 16)):
        assert f"{2 * len(dims)} on torus {' × '.join(map(str, dims))}" in note


@pytest.mark.parametrize("primitive", ["all-reduce", "all-gather"])
def test_the_realistic_ladder_prices_each_way_with_its_fabrics_coefficients(primitive):
    """Against execution, with the coefficients put in by hand: alpha times the one, BW times the other."""
    spoiled = {"star:512": (1, 0.8), "inc-star:512": (1, 0.52), "torus:8x8x8": (1.2, 0.6)}
    if primitive == "all-gather":
        spoiled["inc-star:512"] = (1, 0.8)  # it replicates and adds nothing
    shown = table(REALISTIC, p=primitive, star=0.8, adding=0.52, wires=0.6, delay=1.2)
    for line in lines_of(primitive):
        more, less = spoiled[line.on]
        slow = {"message": 16e6, "alpha": 0.5e-6 * more, "bandwidth": 900e9 * less}
        rung = line.entry.priced(**slow)
        row = shown[line.label]
        assert row[1] == units.seconds(rung.entry.execution(rung.segments).cost.seconds(**slow), 4)


@pytest.mark.parametrize("primitive", ladder.PRIMITIVES)
def test_coefficients_of_one_change_nothing(primitive):
    race = REALISTIC.parts[0].race
    for ports in (False, True):
        state = {**REALISTIC.start, "p": primitive, "ports": ports, "star": 1, "adding": 1, "wires": 1, "delay": 1}
        assert [a.seconds for a in race.standings(state)] == [a.seconds for a in race.ideal(state, "alpha", "bw")]


@pytest.mark.parametrize("primitive", ladder.PRIMITIVES)
def test_no_row_of_a_switch_that_takes_part_leaves_it_out(primitive):
    """It would be charged the adder's coefficient beside the same algorithm on the plain star."""
    plain = {entry.algorithm.label for entry in ladder.entries(primitive, "star:512", trusting=True)}
    taking_part = {name: row for name, row in table(REALISTIC, p=primitive).items() if name.startswith("star that")}
    assert taking_part
    assert not any(row[0].split(",")[0] in plain for row in taking_part.values())


def test_what_the_chapter_asks_for_can_be_found():
    """The plain star overtakes one shot; the torus loses an all-to-all to Bruck."""

    def seconds(**changed):
        return {row.row.name: row for row in REALISTIC.parts[0].race.standings({**REALISTIC.start, **changed})}

    rungs = seconds(adding=0.4, star=1)
    assert rungs["star, Rabenseifner"].seconds < rungs["star that adds, one shot"].seconds
    rungs = seconds(p="all-to-all", wires=0.2, star=1)
    assert rungs["star, Bruck"].seconds < min(one.seconds for name, one in rungs.items() if name.startswith("torus"))


def test_the_grids_stay_small():
    assert len(REALISTIC.payload) < 50_000
    assert len(ladder_explorer().payload) < 50_000
