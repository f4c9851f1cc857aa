"""The ladder explorer: its rungs against executions under both port conventions, its words against its rungs."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import partial

import pytest
from show_browser import opened, write_page

from colllib import ladder, units
from colllib.bounds import floor
from colllib.execution import execute
from colllib.losses import Eta
from colllib.lossy import lines_of
from colllib.show.control import Control
from colllib.show.ladder_explorer import Bar, fabric_name, ladder_explorer, realistic_ladder_explorer, rung_bars
from colllib.topology import equal_injection, find

LATE = Eta(Fraction(6, 5), Fraction(1))
REALISTIC = realistic_ladder_explorer()
QUICK = ("star:512", "torus:8x8x8", "torus:32x16", "mesh:32x16")


def rows(html):
    return [re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)[1:]]


@pytest.mark.parametrize("primitive", ["broadcast", "reduce", "all-gather", "all-reduce"])
@pytest.mark.parametrize("equal", [False, True])
def test_the_rungs_shown_are_executed(primitive, equal):
    price = {"message": 16e6, "alpha": 0.5e-6, "bandwidth": 900e9}
    state = {"p": primitive, "m": 16e6, "alpha": 0.5e-6, "bw": 900e9, "ports": equal}
    shown = {row[0]: row for row in rows(ladder_explorer().render(1, state))}
    for rung in ladder.fastest(primitive, QUICK, trusting=True, **price, equal_injection=equal):
        where = rung.entry.topology
        cost = execute(rung.entry.schedule(rung.segments), equal_injection(where) if equal else where).cost
        row = shown[fabric_name(rung.entry.topology.name)]
        assert row[1] == units.seconds(cost.seconds(**price), 4)
        assert row[3:5] == [str(cost.n_alpha), str(cost.n_beta)]


def test_an_all_to_all_of_512_on_a_torus_is_what_the_explorer_says():
    state = {"p": "all-to-all", "m": 16e6, "alpha": 0.5e-6, "bw": 900e9, "ports": False}
    shown = {row[0]: row for row in rows(ladder_explorer().render(1, state))}
    way = ladder.entry("all-to-all", "rotated-relay", "torus:8x8x8")
    cost = execute(way.schedule(), find("torus:8x8x8")).cost
    assert shown["torus 8x8x8"][3:5] == [str(cost.n_alpha), str(cost.n_beta)]


def test_the_words_name_the_winner_and_what_the_other_convention_would_change():
    explorer = ladder_explorer()
    number = len(explorer.all_parts) - 1
    for ports in (False, True):
        state = {**explorer.start, "ports": ports}
        first = rows(explorer.render(1, state))[0][0]
        other = rows(explorer.render(1, {**explorer.start, "ports": not ports}))[0][0]
        told = explorer.render(number, state)
        assert other != first
        assert told.startswith(f"Fastest: {first}: ")
        assert told.endswith(f", {other} leads instead.")
    short = {**explorer.start, "m": 1e3}
    assert explorer.render(number, short).endswith("star 512 leads, too.")


def test_the_note_counts_links_by_rank():
    note = ladder_explorer().render(2, ladder_explorer().start)
    for dims in ((8, 8, 8), (8, 4, 4, 4), (16, 8, 4), (32, 16)):
        assert f"{2 * len(dims)} on {'x'.join(map(str, dims))}" in note


def test_rungs_of_another_making_can_stand_on_the_same_ladder():
    def quick(**state):
        return [Bar("wish", state["primitive"], floor("broadcast", find("star:8")), 1e-12, 0.0)]

    explorer = ladder_explorer((rung_bars, quick))
    assert rows(explorer.render(1, explorer.start))[0][0] == "wish"


def test_switches_that_take_part_stand_on_the_same_ladder():
    """At the anchor one port that carries M each way, in as many pieces as are best, beats adding up at the ranks."""
    explorer = ladder_explorer((partial(rung_bars, ("star:512", "torus:8x8x8", "inc-star:512")),), messages=(16e6,))
    state = {**explorer.start, "ports": True}
    shown = rows(explorer.render(1, state))
    assert shown[0][0] == "star that computes 512"
    rung = ladder.fastest("all-reduce", ("inc-star:512",), message=16e6, alpha=0.5e-6, bandwidth=900e9)[0]
    assert shown[0][1] == units.seconds(
        rung.entry.executed_cost(rung.segments).seconds(message=16e6, alpha=0.5e-6, bandwidth=900e9), 4
    )


def test_losses_of_each_fabric_stand_beside_the_ideal_times():
    """The numbers of contention chapters: a star that keeps 4/5 of its BW, a torus with 6/5 of the latency."""

    def losses(state):
        return lambda way: Eta(Fraction(1), state["keeps"]) if way.topology.name.startswith("star") else LATE

    explorer = ladder_explorer(
        (lambda **state: rung_bars(("star:512", "torus:8x8x8"), **state),),
        messages=(16e6,),
        alphas=(0.5e-6,),
        bandwidths=(900e9,),
        extra=[Control("keeps", "The star keeps", (Fraction(1), Fraction(4, 5)), Fraction(4, 5))],
        losses=losses,
    )
    state = {**explorer.start, "p": "all-gather"}
    star, torus = "star 512: Bruck", "torus 8x8x8: breadth first"
    shown = {row[0]: row for row in rows(explorer.render(1, state))}
    byte_time = 511 / 512 * 16e6 / 900e9
    assert shown[star][1:3] == [
        units.seconds(9 * 0.5e-6 + byte_time, 4),
        units.seconds(9 * 0.5e-6 + byte_time / 0.8, 4),
    ]
    assert shown[torus][1:3] == [units.seconds(12 * 0.5e-6 * more + byte_time / 6, 4) for more in (1, 1.2)]
    kept = {row[0]: row for row in rows(explorer.render(1, {**state, "keeps": Fraction(1)}))}
    assert kept[star][1] == kept[star][2]
    assert kept[star][3] == "0 %"


@pytest.mark.parametrize("primitive", ["all-reduce", "all-gather"])
def test_the_realistic_ladder_prices_each_way_with_its_fabrics_coefficients(primitive):
    """Against execution, with the coefficients put in by hand: alpha times the one, BW times the other."""
    spoiled = {"star:512": (1, 0.8), "inc-star:512": (1, 0.52), "torus:8x8x8": (1.2, 0.6)}
    if primitive == "all-gather":
        spoiled["inc-star:512"] = (1, 0.8)  # it replicates and adds nothing
    html = REALISTIC.render(1, {**REALISTIC.start, "p": primitive, "adding": adding(primitive)})
    shown = {row[0]: row for row in rows(html)}
    for line in lines_of(primitive):
        more, less = spoiled[line.on]
        slow = {"message": 16e6, "alpha": 0.5e-6 * more, "bandwidth": 900e9 * less}
        rung = line.entry.priced(**slow)
        row = shown[f"{fabric_name(line.on)}: {rung.label}"]
        assert row[2] == units.seconds(execution_cost(rung).seconds(**slow), 4)
        assert row[1] == units.seconds(line.ideal(message=16e6, alpha=0.5e-6, bandwidth=900e9).seconds, 4)


def adding(primitive):
    return Fraction(13, 25) if primitive == "all-reduce" else Fraction(1)


def execution_cost(rung):
    return rung.entry.executed_cost(rung.segments)


@pytest.mark.parametrize("primitive", ladder.PRIMITIVES)
def test_coefficients_of_one_change_nothing(primitive):
    one = Fraction(1)
    ones = {"p": primitive, "star": one, "adding": one, "wires": one, "delay": one}
    for ports in (False, True):
        shown = rows(REALISTIC.render(1, {**REALISTIC.start, **ones, "ports": ports}))
        assert all(row[1] == row[2] and row[3] == "0 %" and row[4] == row[5] for row in shown)
        assert {row[0].partition(":")[0] for row in shown} == {"star 512", "star that computes 512", "torus 8x8x8"}


def test_the_pairs_of_bars_and_the_words_are_those_of_the_table():
    state = dict(REALISTIC.start)
    table = rows(REALISTIC.render(1, state))
    drawn = REALISTIC.render(0, state)
    widths = [int(width) for width in re.findall(r'<rect y="\d" width="(\d+)"', drawn)]
    assert len(widths) == 2 * len(table)
    assert all(ideal <= real for ideal, real in zip(widths[::2], widths[1::2], strict=True))
    assert widths[1::2] == sorted(widths[1::2])
    told = REALISTIC.render(len(REALISTIC.all_parts) - 1, state)
    assert told.startswith(f"Fastest: {table[0][0]} with ")
    spoiled = {**state, "p": "all-gather", "adding": Fraction(1), "star": Fraction(1), "wires": Fraction(1, 5)}
    told = REALISTIC.render(len(REALISTIC.all_parts) - 1, spoiled)
    assert told.startswith("Fastest: star that computes 512: in network")
    assert "; without coefficients it was torus 8x8x8: breadth first" in told


def test_what_the_chapter_asks_for_can_be_found():
    """The plain star overtakes one shot; the torus loses an all-to-all to Bruck."""
    for state, first, second in (
        ({"adding": Fraction(2, 5), "star": Fraction(1)}, "star 512: Rab", "star that computes 512: in network,"),
        (
            {"p": "all-to-all", "adding": Fraction(1), "wires": Fraction(1, 5), "star": Fraction(1)},
            "star 512: Bruck",
            "torus",
        ),
    ):
        order = [row[0] for row in rows(REALISTIC.render(1, {**REALISTIC.start, **state}))]
        place = [next(k for k, name in enumerate(order) if name.startswith(start)) for start in (first, second)]
        assert place[0] < place[1]


def test_the_realistic_ladder_stays_small():
    assert len(REALISTIC.grid.json()) < 5_000_000


def test_it_stays_small_and_is_the_same_each_time():
    first = ladder_explorer()
    assert len(first.grid.json()) < 4_000_000
    assert first.grid.json() == ladder_explorer().grid.json()


def test_in_a_page_without_kernel_and_network_the_rungs_follow_the_controls(tmp_path, with_chromium):
    with opened(write_page(tmp_path, ladder_explorer())) as (tab, troubles):
        tab.wait_for_selector(".cl-running")
        tab.get_by_label("What BW is").select_option(label="BW for all links of a rank together")
        assert "Fastest: star 512" in tab.locator("[aria-live]").inner_text()
        tab.get_by_role("slider", name="Message M").press("Home")
        assert tab.get_by_role("slider", name="Message M").get_attribute("aria-valuetext") == "1 kB"
        assert troubles == []
