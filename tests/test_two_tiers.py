"""Clusters at the anchor: what is tried is proved, and the formulas for two tiers are what execution counts."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colllib.algorithms import find
from colllib.execution import execute
from colllib.primitives import PRIMITIVES
from colllib.topology import boxes
from colllib.two_tiers import CLUSTERS, TRIED, TWO_TIERS, cluster, fastest, ways


@pytest.mark.parametrize("form", TWO_TIERS, ids=lambda form: form.primitive)
@settings(max_examples=25, deadline=None)
@given(count=st.integers(2, 9), size=st.integers(2, 9))
def test_a_formula_is_what_execution_counts_on_each_tier(form, count, size):
    topology = boxes((count, size))
    algorithm = find(form.primitive, "hierarchical").configured({"tiers": form.tiers})
    backwards = {"broadcast": "reduce", "all-gather": "reduce-scatter"}
    for name in (form.primitive, *filter(None, [backwards.get(form.primitive)])):
        chosen = find(name, "hierarchical").configured({"tiers": form.tiers})
        kinds = execute(chosen.build(topology), topology).cost.kinds
        inner = sum(kind.steps * kind.hops[0] for kind in kinds if not kind.hops[1])
        outer = sum(kind.steps * kind.hops[1] for kind in kinds)
        port, card = (sum((kind.steps * kind.loads[tier] for kind in kinds), Fraction(0)) for tier in (0, 1))
        values = [part(B=count, G=size) for part in (form.inner, form.outer, form.port, form.card)]
        assert [inner, outer, port, card] == values
    assert algorithm.name == "hierarchical"


@pytest.mark.parametrize("name", CLUSTERS)
def test_what_is_tried_ends_as_its_primitive_says(name):
    where, _ = cluster(name)
    for primitive in TRIED:
        tried = ways(primitive, name)
        assert tried
        for way in tried:
            assert way.run.schedule.ranks == where.ranks
            assert way.run.schedule.makes(PRIMITIVES[primitive])
            assert fastest(primitive, name).seconds() <= way.seconds()
        assert "P =" not in fastest(primitive, name, 1.0).label  # a byte is not worth a further step


def test_what_is_lost_outside_slows_a_cluster_whose_cards_set_the_pace_and_no_other():
    for name, slower in (("64 boxes of 8 on rails", True), ("8 NVL72 pods", False)):
        way = fastest("all-reduce", name, 1e9)
        assert (way.seconds(1e9, (1, 0.5)) > way.seconds(1e9)) == slower
        assert way.seconds(1e9, (0.5, 0.5)) == pytest.approx(2 * way.seconds(1e9) - way.seconds(0))
