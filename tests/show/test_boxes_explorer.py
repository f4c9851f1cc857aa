"""The cluster builder's times and loads, against closed forms over two tiers and counts by hand."""

from __future__ import annotations

import functools
import sys
from fractions import Fraction
from itertools import pairwise

import pytest
from show_browser import opened, write_page
from shown import headings, rows

from colllib import units
from colllib.algorithms import alltoall, find
from colllib.execution import Execution, Ledger, execute
from colllib.ladder import Entry
from colllib.metrics import crossings
from colllib.placement import order_of
from colllib.schedule import placed
from colllib.show import boxes_explorer
from colllib.topology import boxes

MODULE = sys.modules[boxes_explorer.__module__]
HEAT, NUMBERS = 1, 2  # which part of the explorer
SPEEDS = (0.6e-6, 2.7e-6), (450e9, 50e9)  # where it starts


@pytest.fixture(scope="module")
def explorer():
    return boxes_explorer()


@pytest.mark.parametrize(("n", "g", "c"), [(2, 8, 8), (8, 8, 1), (4, 4, 2)])
def test_a_flat_ring_pays_every_step_at_the_speed_of_a_card(explorer, n, g, c):
    state = {**explorer.start, "n": n, "g": g, "c": c}
    ranks = n * g
    seconds = 2 * (ranks - 1) * (2.7e-6 + 10e9 / ranks / 50e9)
    table = {row[0]: row for row in rows(explorer.render(NUMBERS, state))}
    assert table["flat ring"][2] == units.seconds(seconds, 4)
    assert table["flat ring"][5] == f"{Fraction(2 * (ranks - 1), ranks)} M"


@pytest.mark.parametrize(("n", "g"), [(2, 8), (8, 4)])
def test_rings_in_the_boxes_and_between_them_in_one_piece_cost_the_sum_of_both(explorer, n, g):
    """At 100 B latency decides, so that one piece is the faster."""
    state = {**explorer.start, "n": n, "g": g, "c": g, "m": 100.0}
    inner = 2 * (g - 1) * (0.6e-6 + 100 / g / 450e9)
    outer = 2 * (n - 1) * (2.7e-6 + 100 / g / n / 50e9)
    table = {row[0]: row for row in rows(explorer.render(NUMBERS, state))}
    assert table["hierarchical"][2] == units.seconds(inner + outer, 4)


def test_the_cards_on_offer_divide_the_ranks_of_a_box(explorer):
    assert list(explorer.controls[4].choices({"g": 4})) == [1, 2, 4]
    assert list(explorer.controls[4].choices({"g": 8})) == [1, 2, 4, 8]


def test_schedules_whose_switches_add_race_only_where_switches_do(explorer):
    needs = {"NVLS + tree": "box", "CollNet": "network", "NVLS + CollNet": "both"}
    racing = {}
    for adds in explorer.controls[6].choices({"p": "all-reduce"}):
        table = rows(explorer.render(NUMBERS, {**explorer.start, "adds": adds}))
        racing[adds] = {row[0] for row in table} & needs.keys()
    assert racing == {"none": set(), "box": {"NVLS + tree"}, "both": set(needs)}
    for primitive in MODULE.RUNNERS.keys() - {"all-reduce"}:
        assert list(explorer.controls[6].choices({"p": primitive})) == ["none"]


def test_narrow_uplinks_cost_what_an_execution_on_them_costs(explorer):
    state = {**explorer.start, "p": "all-to-all", "n": 4, "narrow": 4.0, "m": 1e9}
    table = {row[0]: row for row in rows(explorer.render(NUMBERS, state))}
    cost = execute(alltoall.pairwise(32), boxes((4, 8), oversubscription=4)).cost
    assert table["flat pairwise"][2] == units.seconds(
        cost.seconds(message=1e9, alpha=SPEEDS[0], bandwidth=SPEEDS[1]), 4
    )


def test_strided_ranks_send_every_message_of_a_flat_ring_between_boxes(explorer):
    """All 16 ranks of two boxes then use their cards at once, and nothing stays in a box."""
    state = {**explorer.start, "place": "strided"}
    table = {row[0]: row[1:] for row in rows(explorer.render(HEAT, state))}
    busy = 2 * 15 / 16 * 10e9 / 50e9
    share = f"{100 * busy / (busy + 30 * 2.7e-6):.0f}%"
    assert table["flat ring"] == ["0%", share, share, "0%"]
    assert rows(explorer.render(HEAT, explorer.start))[0][1:] != table["flat ring"]


def test_a_tier_between_racks_is_shown_where_there_are_racks(explorer):
    heads = ["busy", "ports", "cards", "uplinks", "latency"]
    assert headings(explorer.render(HEAT, {**explorer.start, "n": 8})) == heads
    heads.insert(-1, "between racks")
    assert headings(explorer.render(HEAT, {**explorer.start, "n": 8, "r": 4})) == heads


@pytest.mark.usefixtures("with_chromium")
def test_a_phone_shows_the_controls_of_racks_where_there_may_be_racks(tmp_path, monkeypatch):
    """Two boxes stand without racks; eight may stand in racks, and then the latency between those decides."""
    monkeypatch.setattr(MODULE, "BOXES", (2, 4, 8, 16))  # each number is executed, and 64 takes longest
    with opened(write_page(tmp_path, boxes_explorer()), viewport={"width": 390, "height": 844}) as (tab, troubles):
        tab.wait_for_selector(".cl-running")
        field, racks = tab.get_by_label("Boxes, typed", exact=True), tab.get_by_role("radio", name="in 4 racks")
        far = tab.get_by_label("Latency between racks, typed")
        controls = tab.locator(".cl-control")

        def gaps():  # between each control that is shown and the next
            boxes = [box for box in (one.bounding_box() for one in controls.all()) if box]
            return {round(below["y"] - above["y"] - above["height"]) for above, below in pairwise(boxes)}

        seen = {}
        for boxes_, racked in (("2", False), ("8", False), ("8", True), ("2", False)):
            field.fill(boxes_)
            if racked:
                racks.check()
            seen[boxes_, racked] = racks.is_visible(), far.is_visible()
            assert max(gaps()) < 8
        assert seen == {("2", False): (False, False), ("8", False): (True, False), ("8", True): (True, True)}
        assert troubles == []


def test_with_a_kernel_the_controls_of_racks_come_and_go_too(explorer):
    live = explorer.live
    shown = {control.description: control for control in live.box.children if hasattr(control, "description")}
    far = next(row for row in live.box.children if live.controls["alpha_far"] in getattr(row, "children", ()))
    seen = []
    for boxes_, racked in ((0, 0), (4, 0), (4, 1), (0, 0)):
        live.controls["n"].index = boxes_
        live.controls["r"].index = racked
        seen.append([row.layout.display for row in (shown["Boxes stand"], far)])
    assert seen == [["none", "none"], [None, "none"], [None, None], ["none", "none"]]


@pytest.mark.parametrize("name", ["strided", "random"])
def test_only_the_flat_schedule_goes_by_the_numbers_of_ranks(explorer, name):
    before, after = (
        {row[0]: row[2] for row in rows(explorer.render(NUMBERS, {**explorer.start, "c": 1, "place": place}))}
        for place in ("contiguous", name)
    )
    assert {one for one, time in after.items() if time != before[one]} == {"flat ring"}


@pytest.mark.parametrize("cards", [1, 2, 4, 8])
@pytest.mark.parametrize(
    ("primitive", "name", "place"),
    [
        ("all-reduce", "flat ring", "random"),
        ("all-reduce", "tree", "contiguous"),
        ("all-reduce", "NVLS + CollNet", "contiguous"),
        ("broadcast", "ring channels", "contiguous"),
        ("all-to-all", "flat pairwise", "strided"),
    ],
)
def test_one_execution_counts_for_every_number_of_cards(primitive, name, place, cards):
    algorithm, inc, cuts = MODULE.RUNNERS[primitive][name]
    topology = boxes((4, 8), cards=cards, inc=inc)
    row = MODULE.row(primitive, name, 4, 1, 8, cards, place)
    for segments, form in zip(cuts, row.variants.values(), strict=True):
        schedule = Entry(find(primitive, algorithm), topology).schedule(segments)
        run = execute(schedule if inc != "none" else placed(schedule, order_of(topology, place).tolist()), topology)
        cost, price = form.few[0], {"message": 1e6, "alpha": (1e-6, 3e-6), "bandwidth": (4e11, 5e10)}
        assert [kind[:2] for kind in cost.kinds] == [(kind.steps, (*kind.hops, 0)) for kind in run.cost.kinds]
        assert [kind.loads for kind in cost.kinds] == [(*kind.loads, 0) for kind in run.cost.kinds]
        assert form.price(1e6, (1e-6, *[3e-6] * 3), (4e11, *[5e10] * 3))[0] == pytest.approx(run.cost.seconds(**price))
        if segments == 1:
            assert row.more["card"] == f"{crossings(run)['card'].most} M"


@pytest.mark.parametrize("cards", [1, 4])
@pytest.mark.parametrize(("primitive", "name"), [("all-reduce", "hierarchical"), ("all-gather", "ring channels")])
def test_racks_are_a_third_tier_with_a_latency_and_uplinks_of_their_own(explorer, primitive, name, cards):
    algorithm, _, cuts = MODULE.RUNNERS[primitive][name]
    topology = boxes((4, 2, 4), cards=cards, oversubscription=2)
    alpha, bandwidth = (0.6e-6, 2.7e-6, 9e-6), (450e9, 50e9, 50e9)
    costs = [Entry(find(primitive, algorithm), topology).execution(segments).cost for segments in cuts]
    best = min(cost.seconds(message=1e9, alpha=alpha, bandwidth=bandwidth) for cost in costs)
    chosen = {"p": primitive, "n": 8, "r": 4, "g": 4, "c": cards, "narrow": 2.0, "m": 1e9, "alpha_far": 9e-6}
    table = {row[0]: row for row in rows(explorer.render(NUMBERS, {**explorer.start, **chosen}))}
    assert table[name][2] == units.seconds(best, 4)


def test_three_short_rings_have_fewer_steps_than_two(explorer):
    """16 boxes, and 16 in 4 racks, at 100 B: latencies alone, to four digits."""
    for racks, outer in ((1, 15), (4, 3 + 3)):
        state = {**explorer.start, "n": 16, "r": racks, "m": 100.0}
        table = {row[0]: row for row in rows(explorer.render(NUMBERS, state))}
        bytes_alone = 2 * (7 / 8 * 100 / 450e9 + 15 / 16 * 100 / 8 / 50e9)
        assert table["hierarchical"][2] == units.seconds(14 * 0.6e-6 + 2 * outer * 2.7e-6 + bytes_alone, 4)


def test_the_page_is_built_from_at_most_900_executions(monkeypatch):
    """Nothing is executed here: what is asked for is counted, and answered with no bytes."""
    asked = []

    def empty(schedule, topology):
        asked.append(schedule)
        return Execution(schedule, topology, Ledger(topology, schedule.num_steps, 1))

    monkeypatch.setattr(MODULE, "execute", empty)
    for cached in ("row", "counted"):
        monkeypatch.setattr(MODULE, cached, getattr(MODULE, cached).__wrapped__)
    monkeypatch.setattr(MODULE, "counted", functools.cache(MODULE.counted))
    assert boxes_explorer().grid["races"]
    assert 100 < len(asked) <= 900
