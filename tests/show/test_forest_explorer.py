"""The explorers of forests: every state says what execution and the cuts say."""

from fractions import Fraction

import pytest

from colllib.execution import execute
from colllib.forest import bound, busiest, fabric, forest
from colllib.forest.fabric import two_boxes
from colllib.show import growing_explorer, splitting_explorer
from colllib.show.forest_explorer import after, splits


def test_verified_splits_keep_the_bound_at_every_step_and_rings_end_at_four_times_it():
    place = fabric(two_boxes())
    assert bound(place).inverse_throughput == 1
    shown = splitting_explorer()
    losing = [state for state in shown.states(range(2)) if "Nothing is lost" not in shown.all_parts[-1].render(**state)]
    assert {state["how"] for state in losing} == {"rings"}
    last = shown.all_parts[-1].render(how="rings", k=len(splits("rings")))
    assert "takes 4 times as long" in last
    assert not after("verified", len(splits("verified")))[8:].any()


def test_one_unit_is_no_plural():
    shown = splitting_explorer()
    texts = [part.render(**state) for state in shown.states(range(2)) for part in shown.all_parts]
    assert not any(" 1 units" in f" {text}" for text in texts)
    assert any(str(text).count("1 unit of ") for text in texts)


def test_splits_are_verified_ones_or_rings():
    for how in ("nonsense", two_boxes().name):
        with pytest.raises(ValueError, match=f"splits '{how}': must be verified or rings"):
            splits(how)
    assert len(splits("verified")) != len(splits("rings"))


def test_the_trees_that_grow_are_executed_ones():
    packing = forest(two_boxes(), way="general")
    assert busiest(execute(packing.schedule(), two_boxes())) == Fraction(1, 8)
    shown = growing_explorer()
    for root in range(8):
        assert "at 8 of 8 ranks; between the boxes it went once" in shown.render(0, {"root": root, "k": 7})
