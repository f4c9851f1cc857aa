"""The ladder explorer: its rungs against executions under both port conventions, its words against its rungs."""

from __future__ import annotations

import re
from functools import partial

import pytest
from show_browser import opened, write_page

from colllib import fabrics, units
from colllib.execution import execute
from colllib.show.control import Control
from colllib.show.ladder_explorer import Bar, fabric_name, ladder_explorer, realistic_ladder_explorer, rung_bars
from colllib.topology import equal_injection, find

QUICK = ("star:512", "torus:8x8x8", "torus:32x16", "mesh:32x16")


def rows(html):
    return [re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)[1:]]


@pytest.mark.parametrize("primitive", ["broadcast", "reduce", "all-gather", "all-reduce"])
@pytest.mark.parametrize("equal", [False, True])
def test_the_rungs_shown_are_executed(primitive, equal):
    price = {"message": 16e6, "alpha": 0.5e-6, "bandwidth": 900e9}
    state = {"p": primitive, "m": 16e6, "alpha": 0.5e-6, "bw": 900e9, "ports": equal, "choice": True}
    shown = {row[0]: row for row in rows(ladder_explorer().render(1, state))}
    for rung in fabrics.rungs(primitive, QUICK, **price, equal_injection=equal, shipped=True):
        where = find(rung.way.fabric)
        cost = execute(rung.way.build(rung.segments), equal_injection(where) if equal else where).cost
        row = shown[fabric_name(rung.way.fabric)]
        assert row[1] == units.seconds(cost.seconds(**price), 4)
        assert row[3:5] == [str(cost.n_alpha), str(cost.n_beta)]


def test_an_all_to_all_of_512_on_a_torus_is_what_the_explorer_says():
    state = {"p": "all-to-all", "m": 16e6, "alpha": 0.5e-6, "bw": 900e9, "ports": False, "choice": False}
    shown = {row[0]: row for row in rows(ladder_explorer().render(1, state))}
    way = fabrics.ways("all-to-all", "torus:8x8x8")[0]
    cost = execute(way.build(1), find("torus:8x8x8")).cost
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
        return [Bar("wish", state["primitive"], fabrics.floor("broadcast", "star:8"), 1e-12, 0.0)]

    explorer = ladder_explorer((rung_bars, quick))
    assert rows(explorer.render(1, explorer.start))[0][0] == "wish"


def test_switches_that_take_part_stand_on_the_same_ladder():
    """At the anchor one port that carries M each way, in as many pieces as are best, beats adding up at the ranks."""
    explorer = ladder_explorer((partial(rung_bars, ("star:512", "torus:8x8x8", "inc-star:512")),), messages=(16e6,))
    state = {**explorer.start, "ports": True}
    shown = rows(explorer.render(1, state))
    assert shown[0][0] == "star that computes 512"
    rung = fabrics.rungs("all-reduce", ("inc-star:512",), message=16e6, alpha=0.5e-6, bandwidth=900e9)[0]
    assert shown[0][1] == units.seconds(rung.execution_cost().seconds(message=16e6, alpha=0.5e-6, bandwidth=900e9), 4)


def test_losses_of_each_fabric_stand_beside_the_ideal_times():
    """The numbers of contention chapters: a star that keeps 4/5 of its BW, a torus with 6/5 of the latency."""

    def losses(state):
        return lambda spec: (1.0, state["keeps"]) if spec.startswith("star") else (1.2, 1.0)

    explorer = ladder_explorer(
        (lambda **state: rung_bars(("star:512", "torus:8x8x8"), **state),),
        messages=(16e6,),
        alphas=(0.5e-6,),
        bandwidths=(900e9,),
        extra=[Control("keeps", "The star keeps", (1.0, 0.8), 0.8)],
        losses=losses,
    )
    state = {**explorer.start, "p": "all-gather"}
    shown = {row[0]: row for row in rows(explorer.render(1, state))}
    byte_time = 511 / 512 * 16e6 / 900e9
    assert shown["star 512"][1:3] == [
        units.seconds(9 * 0.5e-6 + byte_time / 0.8, 4),
        units.seconds(9 * 0.5e-6 + byte_time, 4),
    ]
    torus = [units.seconds(12 * 0.5e-6 * more + byte_time / 6, 4) for more in (1.2, 1)]
    assert shown["torus 8x8x8"][1:3] == torus
    kept = {row[0]: row for row in rows(explorer.render(1, {**state, "keeps": 1.0}))}
    assert kept["star 512"][1] == kept["star 512"][2]


def test_the_realistic_ladder_prices_each_fabric_with_its_own_coefficients():
    """Against execution, with the coefficients put in by hand: alpha times the one, BW times the other."""
    explorer = realistic_ladder_explorer()
    assert len(explorer.grid.json()) < 5_500_000
    spoiled = {"star:512": (1, 0.8), "inc-star:512": (1, 0.52), "torus:8x8x8": (1.2, 0.6)}
    for primitive in ("all-reduce", "all-gather"):
        shown = {row[0]: row for row in rows(explorer.render(1, {**explorer.start, "p": primitive}))}
        for spec, (more, less) in spoiled.items():
            if (primitive, spec) == ("all-gather", "inc-star:512"):
                less = 0.8  # it replicates and adds nothing
            price = {"message": 16e6, "alpha": 0.5e-6 * more, "bandwidth": 900e9 * less}
            rung = fabrics.rungs(primitive, (spec,), **price)[0]
            assert shown[fabric_name(spec)][1] == units.seconds(rung.execution_cost().seconds(**price), 4)
            ideal = fabrics.rungs(primitive, (spec,), message=16e6, alpha=0.5e-6, bandwidth=900e9)[0]
            assert shown[fabric_name(spec)][2] == units.seconds(ideal.seconds, 4)


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
