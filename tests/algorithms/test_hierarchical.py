"""The closed forms of schedules over boxes: what execution counts."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colllib import algorithms
from colllib.algorithms import find
from colllib.algorithms.hierarchical import TWO_TIERS, choices
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


@pytest.mark.parametrize("primitive", ["all-gather", "reduce-scatter"])
def test_what_lacks_the_other_half_is_offered_in_its_own_primitive_and_in_no_all_reduce(primitive, monkeypatch):
    alone, usual = replace(find(primitive, "ring"), name="alone"), algorithms.of
    monkeypatch.setattr(algorithms, "of", lambda of: (*usual(of), alone) if of == primitive else usual(of))
    topology = boxes((2, 3))
    offered = {of: choices(topology, 0, of, "inner-first") for of in ("all-gather", "reduce-scatter", "all-reduce")}
    assert {of for of, names in offered.items() if "alone" in names} == {primitive}
    for of in offered:
        with pytest.raises(ValueError, match=r"must be one of ring, [^:]*$") as refusal:
            find(of, "hierarchical").configured({"tiers": "alone,nothing"}).build(topology)
        assert ("alone," in str(refusal.value)) == (of == primitive)


def test_tiers_name_a_reduce_scatter_by_its_own_name_or_its_all_gathers():
    build = find("reduce-scatter", "hierarchical").configured
    one, other = (build({"tiers": f"recursive-{way}"}).build(boxes((2, 4))) for way in ("halving", "doubling"))
    assert one.num_steps == other.num_steps == 3
    with pytest.raises(ValueError, match="all-gather 'recursive-halving' on tier"):
        find("all-gather", "hierarchical").configured({"tiers": "recursive-halving"}).build(boxes((2, 4)))
