"""The cluster builder's times and loads, against closed forms over two tiers and counts by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest
from shown import rows

from colllib import units
from colllib.show import boxes_explorer


@pytest.fixture(scope="module")
def explorer():
    return boxes_explorer()


@pytest.mark.parametrize(("n", "g", "c"), [(2, 8, 8), (8, 8, 1), (3, 4, 2)])
def test_a_flat_ring_pays_every_step_at_the_speed_of_a_card(explorer, n, g, c):
    state = {**explorer.start, "n": n, "g": g, "c": c}
    ranks = n * g
    seconds = 2 * (ranks - 1) * (2.7e-6 + 10e9 / ranks / 50e9)
    found = {row[0]: row for row in rows(explorer.render(1, state))}
    assert found["flat ring"][2] == units.seconds(seconds, 4)
    assert found["flat ring"][5] == f"{Fraction(2 * (ranks - 1), ranks)} M"


@pytest.mark.parametrize(("n", "g"), [(2, 8), (6, 4)])
def test_rings_in_the_boxes_and_between_them_in_one_piece_cost_the_sum_of_both(explorer, n, g):
    """At 100 B latency decides, so that one piece is the faster."""
    state = {**explorer.start, "n": n, "g": g, "c": g, "m": 100.0}
    inner = 2 * (g - 1) * (0.6e-6 + 100 / g / 450e9)
    outer = 2 * (n - 1) * (2.7e-6 + 100 / g / n / 50e9)
    found = {row[0]: row for row in rows(explorer.render(1, state))}
    assert found["hierarchical"][2] == units.seconds(inner + outer, 4)


def test_the_cards_on_offer_divide_the_ranks_of_a_box(explorer):
    assert list(explorer.controls[2].choices({"g": 4})) == [1, 2, 4]
    assert list(explorer.controls[2].choices({"g": 8})) == [1, 2, 4, 8]
