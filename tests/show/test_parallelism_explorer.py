"""The parallelism explorer: its table and bars against calls that are counted and executed here."""

from __future__ import annotations

import pytest
from shown import rows

from colllib import execute, units
from colllib.algorithms import of
from colllib.parallelism import MODELS, Plan, training
from colllib.show import parallelism_explorer

EXPLORER = parallelism_explorer()
CARD = {"alpha2": 5e-6, "bw2": 50e9}
EXPERTS = {"model": "DeepSeek-V3", "tp": 1, "dp": 64, "ep": 8, **CARD}


def told(**changed):
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
        where = "" if axis == "TP" else "2"
        seconds = execute(algorithm.build(int(ranks.split()[0]), **cut)).cost.seconds(
            message=message, alpha=state["alpha" + where], bandwidth=state["bw" + where]
        )
        assert units.seconds(int(counted.split(" × ")[0]) * seconds, 4) == time


def test_it_starts_where_tensor_parallelism_outweighs_data_parallelism():
    assert "16,384 GPUs, 16 microbatches" in told()
    assert "TP takes " in told()
    assert "DP takes " in told(**CARD)
    assert "TP sends most" in told(**CARD)


def test_expert_parallelism_is_offered_where_there_are_experts():
    place = [control.name for control in EXPLORER.controls].index("ep")
    assert list(EXPLORER.choices(place, EXPLORER.start)) == [1]
    assert list(EXPLORER.choices(place, {**EXPLORER.start, **EXPERTS, "dp": 8})) == [1, 8]
    assert list(EXPLORER.choices(place, {**EXPLORER.start, **EXPERTS})) == [1, 8, 16, 32, 64]


def test_one_gpu_a_group_sends_nothing_on_that_axis():
    shown = rows(EXPLORER.render(2, {**EXPLORER.start, "tp": 1, "pp": 1}))
    assert {row[0].split()[0] for row in shown} == {"DP"}


def test_it_fits_into_a_page():
    assert len(EXPLORER.grid.json()) < 3_000_000
    assert len(EXPLORER._repr_html_()) < 300_000
