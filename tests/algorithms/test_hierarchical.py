"""The closed forms of schedules over boxes: what execution counts."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colllib.algorithms import find
from colllib.algorithms.hierarchical import TWO_TIERS
from colllib.execution import execute
from colllib.topology import boxes


@pytest.mark.parametrize("form", TWO_TIERS, ids=lambda form: f"{form.primitive} {form.tiers}")
@settings(max_examples=25, deadline=None)
@given(count=st.integers(2, 9), size=st.integers(2, 9))
def test_a_formula_is_what_execution_counts_on_each_tier(form, count, size):
    topology = boxes((count, size))
    backwards = {"broadcast": "reduce", "all-gather": "reduce-scatter"}
    for name in (form.primitive, *filter(None, [backwards.get(form.primitive)])):
        chosen = find(name, "hierarchical").configured({"tiers": form.tiers})
        kinds = execute(chosen.build(topology), topology).cost.kinds
        inner = sum(kind.steps * kind.hops[0] for kind in kinds if not kind.hops[1])
        outer = sum(kind.steps * kind.hops[1] for kind in kinds)
        port, card = (sum((kind.steps * kind.loads[tier] for kind in kinds), Fraction(0)) for tier in (0, 1))
        values = [part(B=count, G=size) for part in (form.inner, form.outer, form.port, form.card)]
        assert [inner, outer, port, card] == values
