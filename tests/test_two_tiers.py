"""Clusters at the anchor: their ladders."""

from __future__ import annotations

import pytest

from colllib.two_tiers import CLUSTERS, price, rungs


def test_the_first_line_of_a_primitive_backwards_is_as_fast():
    name = "64 boxes of 8 on rails"
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
