"""The explorers of forests: every state says what execution and the cuts say."""

from fractions import Fraction

from colllib.execution import execute
from colllib.forest import bound, busiest, fabric, forest, ratio
from colllib.forest.fabric import two_boxes
from colllib.show import bottleneck_explorer, growing_explorer, splitting_explorer
from colllib.show.forest_explorer import SIZE, after, bounded, least_leaving, splits


def test_the_worst_set_of_the_explorer_is_never_worse_than_the_bound_and_some_is_as_bad():
    shown = bottleneck_explorer()
    for machine in ("dgx-a100", "dgx-h100"):
        for n in (2, 3, 4):
            where, limit = bounded(f"{machine}:{n}")
            ratios = []
            for state in shown.states(range(4)):
                if (state["machine"], state["n"]) == (machine, n):
                    inside = range(SIZE * state["full"] + state["more"])
                    ratios.append(len(inside) / least_leaving(where, inside))
            assert max(ratios) == limit.inverse_throughput


def test_switches_are_put_on_the_side_where_least_leaves():
    where, _ = bounded("dgx-a100:2")
    sets = [tuple(range(8)), (*range(8), 16), (*range(8), 16, 18)]
    assert len(range(8)) / least_leaving(where, range(8)) >= max(ratio(where, nodes) for nodes in sets)


def test_verified_splits_keep_the_bound_at_every_step_and_rings_end_at_four_times_it():
    place = fabric(two_boxes())
    assert bound(place).inverse_throughput == 1
    shown = splitting_explorer()
    losing = [state for state in shown.states(range(2)) if "Nothing is lost" not in shown.all_parts[-1].render(state)]
    assert {state["how"] for state in losing} == {"rings"}
    last = shown.all_parts[-1].render({"how": "rings", "k": len(splits("rings"))})
    assert "takes 4 times as long" in last
    assert not after("verified", len(splits("verified")))[8:].any()


def test_the_trees_that_grow_are_executed_ones():
    found = forest(two_boxes(), way="general")
    assert busiest(execute(found.schedule(), two_boxes())) == Fraction(1, 8)
    shown = growing_explorer()
    for root in range(8):
        assert "at 8 of 8 ranks; between the boxes it went once" in shown.render(0, {"root": root, "k": 7})
