"""The parallelism explorer: its table and bars against calls that are counted and executed here."""

from __future__ import annotations

from collections import Counter

import pytest
from shown import rows

from colllib import execute, units
from colllib.algorithms import of
from colllib.parallelism import MODELS, Plan, price, training
from colllib.show import parallelism_explorer
from colllib.show.parallelism_explorer import INSIDE, OUTSIDE

EXPLORER = parallelism_explorer()
EXPERTS = {"model": "DeepSeek-V3", "tp": 1, "dp": 64, "ep": 8}


def summary(**changed):
    state = {**EXPLORER.start, **changed}
    return EXPLORER.render(1, state) + EXPLORER.render(len(EXPLORER.parts), state)


@pytest.mark.parametrize("changed", [{}, EXPERTS, {"zero": 3, "dp": 8, "pp": 4}])
def test_the_times_are_those_of_executed_schedules(changed):
    state = {**EXPLORER.start, **changed}
    shown = rows(EXPLORER.render(2, state))
    plan = Plan(**{name: state[name] for name in ("dp", "tp", "pp", "ep", "zero")})
    microbatches = state["tokens"] // state["dp"] // 8192
    calls = training(MODELS[state["model"]], plan, tokens=state["tokens"], microbatches=microbatches)
    assert sum(int(row[1].split(" × ")[0]) for row in shown) == sum(call.count for call in calls)
    for name, counted, time, label in shown:
        what, ranks, size = name.split(", ")
        axis, primitive = what.split(" ", 1)
        message = next(
            c.message for c in calls if (c.axis, c.primitive, units.size(c.message)) == (axis, primitive, size)
        )
        [algorithm] = [a for a in of(primitive) if a.label == label.split(", P")[0]]
        cut = {"segments": int(label.split("P = ")[1])} if "P = " in label else {}
        suffix = "" if axis == "TP" else "2"
        seconds = execute(algorithm.build(int(ranks.split()[0]), **cut)).cost.seconds(
            message=message, alpha=state["alpha" + suffix], bandwidth=state["bw" + suffix]
        )
        assert units.seconds(int(counted.split(" × ")[0]) * seconds, 4) == time


def test_it_starts_on_the_machine_and_the_plan_of_the_chapter():
    """Box and card: NVLink one way inside, a 400 Gb/s card outside; there TP's bytes weigh most, in time too."""
    start = EXPLORER.start
    assert (start["alpha"], start["bw"], start["alpha2"], start["bw2"]) == (0.6e-6, 900e9 / 2, 2.7e-6, 400e9 / 8)
    assert "16,384 GPUs, 16 microbatches" in summary()
    assert "TP sends most" in summary()
    calls = training(MODELS["Llama 3.1 405B"], Plan(dp=128, tp=8, pp=16), tokens=2**24, microbatches=16)
    spent = Counter()
    for call in calls:
        network = INSIDE if call.axis == "TP" else OUTSIDE
        spent[call.axis] += price(call, **network).total
    assert f"TP takes {100 * spent['TP'] / spent.total():.0f}% of {units.seconds(spent.total())}" in summary()
    assert spent["TP"] > spent["DP"]


def test_expert_parallelism_is_offered_where_there_are_experts():
    place = [control.name for control in EXPLORER.controls].index("ep")
    assert list(EXPLORER.choices(place, EXPLORER.start)) == [1]
    assert list(EXPLORER.choices(place, {**EXPLORER.start, **EXPERTS, "dp": 8})) == [1, 8]
    assert list(EXPLORER.choices(place, {**EXPLORER.start, **EXPERTS})) == [1, 8, 16, 32, 64]


def test_one_gpu_a_group_sends_nothing_on_that_axis():
    shown = rows(EXPLORER.render(2, {**EXPLORER.start, "tp": 1, "pp": 1}))
    assert {row[0].split()[0] for row in shown} == {"DP"}


def test_it_fits_into_a_page():
    assert len(EXPLORER.payload) < 3_000_000
    assert len(EXPLORER._repr_html_()) < 300_000
