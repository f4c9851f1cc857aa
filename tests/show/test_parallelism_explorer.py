"""The parallelism explorer: its table and bars against calls that are counted and executed here."""

from __future__ import annotations

import re

import pytest
from show_browser import opened, write_page

from colllib import execute, units
from colllib.algorithms import of
from colllib.parallelism import MODELS, Plan, training
from colllib.show import parallelism_explorer
from colllib.show.parallelism_explorer import SPEEDS

START = {
    "model": "Llama 3.1 405B",
    "tokens": 2**24,
    "dp": 128,
    "tp": 8,
    "pp": 16,
    "ep": 1,
    "zero": 1,
    "network": "one",
}
EXPERTS = {**START, "model": "DeepSeek-V3", "tp": 1, "dp": 64, "ep": 8, "network": "card"}


def rows(html):
    return [re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)[1:]]


@pytest.mark.parametrize("state", [START, EXPERTS, {**START, "zero": 3, "dp": 8, "pp": 4}])
def test_the_times_are_those_of_executed_schedules(state):
    shown = rows(parallelism_explorer().render(1, state))
    plan = Plan(**{name: state[name] for name in ("dp", "tp", "pp", "ep", "zero")})
    microbatches = state["tokens"] // state["dp"] // 8192
    calls = training(MODELS[state["model"]], plan, tokens=state["tokens"], microbatches=microbatches)
    assert sum(int(row[3].split(" × ")[0].replace(",", "")) for row in shown) == sum(call.count for call in calls)
    for axis, primitive, ranks, calls_of_size, _, time, label in shown:
        count, message = calls_of_size.split(" × ")
        same = [c for c in calls if (c.axis, c.primitive, units.size(c.message)) == (axis, primitive, message)]
        [algorithm] = [found for found in of(primitive) if found.label == label]
        schedule = algorithm.build(int(ranks))
        where = SPEEDS["one" if axis == "TP" else state["network"]]
        seconds = execute(schedule).cost.seconds(message=same[0].message, **where)
        assert units.seconds(int(count.replace(",", "")) * seconds) == time


def test_it_starts_where_tensor_parallelism_outweighs_data_parallelism():
    explorer = parallelism_explorer()
    assert explorer.start == START
    told = explorer.all_parts[-1].html(explorer.start)
    assert told.startswith("Llama 3.1 405B on 16,384 GPUs, 16 microbatches. TP takes most time")
    other = explorer.all_parts[-1].html({**START, "network": "card"})
    assert "DP takes most time" in other
    assert "TP sends most" in other


def test_expert_parallelism_is_offered_where_there_are_experts():
    explorer = parallelism_explorer()
    place = [control.name for control in explorer.controls].index("ep")
    assert list(explorer.choices(place, START)) == [1]
    assert list(explorer.choices(place, {**EXPERTS, "dp": 8})) == [1, 8]
    assert list(explorer.choices(place, EXPERTS)) == [1, 8, 64]


def test_one_gpu_a_group_sends_nothing_on_that_axis():
    html = parallelism_explorer().render(1, {**START, "tp": 1, "pp": 1})
    assert {row[0] for row in rows(html)} == {"DP"}


def test_it_fits_into_a_page():
    explorer = parallelism_explorer()
    assert sum(1 for _ in explorer.states(range(len(explorer.controls)))) < 2000
    assert len(explorer.grid.json()) < 5_000_000
    assert len(explorer._repr_html_()) < 400_000


def test_in_a_page_without_kernel_and_network_the_plan_can_be_moved(tmp_path, with_chromium):
    with opened(write_page(tmp_path, parallelism_explorer())) as (tab, troubles):
        tab.wait_for_selector(".cl-running")
        slider = tab.get_by_role("slider", name="TP", exact=True)
        slider.press("Home")
        assert slider.get_attribute("aria-valuetext") == "1"
        told = tab.locator("[aria-live]").inner_text()
        assert told.startswith("Llama 3.1 405B on 2,048 GPUs")
        tab.get_by_label("Model").select_option("DeepSeek-V3")
        tab.get_by_role("slider", name="EP", exact=True).press("End")
        assert "EP takes most time" in tab.locator("[aria-live]").inner_text()
        assert troubles == []
