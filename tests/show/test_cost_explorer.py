"""The cost explorer: its table against executions, its words against the times."""

from __future__ import annotations

import re

import pytest
from show_browser import opened, swipe, write_page
from shown import rows

from colllib import ladder, units
from colllib.show import cost_explorer, message_explorer
from colllib.show.cost_explorer import RANKS
from colllib.topology import star


@pytest.mark.parametrize("state", [(512, 16e6, 0.5e-6, 900e9), (6, 1e3, 5e-6, 50e9), (72, 1e9, 1e-6, 400e9)])
def test_the_table_shows_the_executed_ladder(state):
    n, m, alpha, bw = state
    shown = {row[0]: row[1:] for row in rows(cost_explorer().render(1, {"n": n, "m": m, "alpha": alpha, "bw": bw}))}
    rungs = ladder.ladder("all-reduce", star(n), message=m, alpha=alpha, bandwidth=bw)
    assert shown.keys() == {*(rung.algorithm.label for rung in rungs), "lower bounds"}
    for rung in rungs:
        time, of_fastest, n_alpha, n_beta, _ = shown[rung.algorithm.label]
        assert time == units.seconds(rung.seconds, 4)
        assert of_fastest == units.ratio(rung.seconds / rungs[0].seconds)
        assert (n_alpha, n_beta) == (str(rung.cost.n_alpha), str(rung.cost.n_beta))


def test_the_ranks_on_offer_are_all_small_numbers_boxes_racks_and_powers_of_two():
    assert {*range(2, 65), *(8 * boxes for boxes in range(1, 33)), *(2**k for k in range(1, 17))} < set(RANKS)
    assert {*(72 * racks for racks in (1, 2, 3, 4, 5, 6, 7, 8, 32, 64)), 100, 1000} < set(RANKS)
    assert list(RANKS) == sorted(set(RANKS))


@pytest.mark.parametrize(("explorer", "says"), [(cost_explorer(), "Slowdown"), (message_explorer(), "Time")])
def test_the_chart_is_named_after_what_it_draws(explorer, says):
    assert re.findall('aria-label="([A-Za-z]+) against message size"', explorer._repr_html_()) == [says]


def test_two_explorers_give_the_same_bytes_and_stay_small():
    first, second = cost_explorer(), cost_explorer()
    assert first.payload == second.payload
    assert len(first.payload) < 100_000


def test_equally_fast_algorithms_are_told_as_such():
    explorer = cost_explorer("all-gather")
    summary = explorer.render(len(explorer.parts), explorer.start)
    assert "the fastest are recursive doubling, Bruck and PAT" in summary
    explorer = cost_explorer()
    summary = explorer.render(len(explorer.parts), {"n": 2, "m": 16e6, "alpha": 0.5e-6, "bw": 900e9})
    assert "the fastest is recursive doubling with 18.3 µs" in summary  # the next one takes 18.8 µs


def test_one_message_is_half_latency_where_the_words_say_so():
    explorer = message_explorer()
    even = 2e-6 * 50e9
    summary = explorer.render(len(explorer.parts), {"m": even, "alpha": 2e-6, "bw": 50e9})
    assert summary.startswith("100 kB take 4 µs: 2 µs of latency and 2 µs of bytes. 25 GB/s arrive, 50% of the link.")
    assert summary.endswith("half of BW arrives, at 100 kB.")
    summary = explorer.render(len(explorer.parts), {"m": 100.0, "alpha": 1e-5, "bw": 250e9})
    assert "10 MB/s arrive, under 1% of the link." in summary


def test_the_strip_below_the_curves_names_who_is_fastest_where_there_is_room():
    explorer = cost_explorer()
    band = r'<path d="M([\d.]+) [\d.]+H([\d.]+)v14[^>]*><text[^>]*>([^<]*)<'
    for width, name in ((640, "recursive doubling"), (300, "RD")):
        drawn = explorer.parts[0].draw(explorer.start, explorer.texts(explorer.start), width)
        (_, end, first), (begin, _, second) = re.findall(band, drawn)
        assert (first, second) == (name, "Rabenseifner")
        assert float(begin) - float(end) == pytest.approx(2), "equal colors would run into each other"


@pytest.mark.usefixtures("with_chromium")
def test_a_finger_scrolls_over_the_chart_taps_a_message_and_drags_the_handle_sideways(tmp_path):
    phone = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
    with opened(write_page(tmp_path, message_explorer()), **phone) as (tab, troubles):
        tab.wait_for_selector(".cl-running")
        tab.add_style_tag(content="body { padding: 700px 0; }")
        handle, chart = tab.locator(".cl-handle").first, tab.locator(".cl-plot").first

        def moved(act):
            """Whether the page scrolls, and the message changes."""
            tab.evaluate("document.querySelector('.cl-plot').scrollIntoView({ block: 'center' })")
            at, before = tab.evaluate("scrollY"), handle.get_attribute("aria-valuetext")
            act(*(one.bounding_box() for one in (handle, chart)))
            return tab.evaluate("scrollY") != at, handle.get_attribute("aria-valuetext") != before

        def swiped(on_handle, across, down):
            return moved(
                lambda knob, box: swipe(tab, (knob if on_handle else box)["x"] + 22, box["y"] + 150, across, down)
            )

        assert swiped(False, 0, -150) == (True, False)
        assert swiped(False, 90, 0) == (False, False)
        assert swiped(True, 2, -150) == (True, False)
        assert swiped(True, -60, 0) == (False, True)
        assert moved(lambda _, box: tab.touchscreen.tap(box["x"] + 200, box["y"] + 100)) == (False, True)
        assert troubles == []
