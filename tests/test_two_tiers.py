"""Clusters at the anchor: their ladders, and the formulas for two tiers, which are what execution counts."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colllib.algorithms import find
from colllib.execution import execute
from colllib.topology import boxes
from colllib.two_tiers import CLUSTERS, TWO_TIERS, price, rungs


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


@pytest.mark.parametrize("name", CLUSTERS)
def test_the_first_line_of_a_primitive_backwards_is_as_fast(name):
    for primitive, backwards in (("broadcast", "reduce"), ("all-gather", "reduce-scatter")):
        assert rungs(primitive, name)[0].seconds == pytest.approx(rungs(backwards, name)[0].seconds)


def test_a_byte_is_not_worth_a_segment_on_any_cluster():
    for name in CLUSTERS:
        assert rungs("all-reduce", name, 1.0)[0].segments == 1


def test_what_is_lost_outside_slows_a_cluster_whose_cards_set_the_pace_and_no_other():
    for name, slower in (("64 boxes of 8 on rails", True), ("8 NVL72 racks", False)):
        first = rungs("all-reduce", name)[0]
        assert first.cost.seconds(**price(name)) == first.seconds
        assert (first.cost.seconds(**price(name, efficiency=(1, 0.8))) > 1.1 * first.seconds) == slower
