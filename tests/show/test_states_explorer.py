"""The tensor-states explorer names plans as the field does."""

from __future__ import annotations

import pytest

from colllib.show.states_explorer import INNER, called, cheapest_plan


@pytest.mark.parametrize(
    ("tokens", "room", "name"),
    [
        (INNER // 2, 0, "tensor parallelism (Megatron)"),
        (INNER * 2, 0, "data parallelism"),
        (INNER * 2, 1, "data parallelism with sharded parameters (FSDP)"),
    ],
)
def test_the_inner_width_divides_tensor_from_data_parallelism(tokens, room, name):
    assert called(cheapest_plan(tokens, 8, room, 450e9)).startswith(name)


def test_a_plan_that_gathers_each_matrix_in_one_direction_only_is_a_mixture():
    plan = cheapest_plan(INNER * 3 // 2, 32, 1, 450e9)
    gathered = [(name, user) for name, user, _, primitive, _ in plan.communication if primitive == "all-gather"]
    assert {("B", "sum"), ("A", "dx by h")} <= set(gathered)
    assert not {("A", "h"), ("B", "df")} & set(gathered)
    assert called(plan) == "a mixture of tensor and data parallelism"
