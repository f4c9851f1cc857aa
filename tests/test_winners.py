"""The quick search for winners against the exact one, and against executions."""

from __future__ import annotations

from fractions import Fraction

import pytest

from colllib import ladder, star
from colllib.algorithms import ALGORITHMS, allreduce, hierarchical, of
from colllib.cost import Cost
from colllib.execution import execute
from colllib.library_choices import _NAMES
from colllib.topology import boxes

PRIMITIVES = tuple(dict.fromkeys(a.primitive for a in ALGORITHMS if a.primitive != "point-to-point"))


@pytest.mark.parametrize("primitive", PRIMITIVES)
@pytest.mark.parametrize("ranks", [2, 3, 6, 8, 72, 512])
@pytest.mark.parametrize("message", [1e-4, 0.7, 35.0, 8000.0])
def test_the_quick_search_finds_the_exact_best_number_of_segments(primitive, ranks, message):
    for algorithm in of(primitive):
        if not algorithm.fits(ranks):
            continue
        standing = ladder.standing(primitive, algorithm.name, ranks, message)
        p = ladder.best(algorithm, ranks, message=message, alpha=1, bandwidth=1) if algorithm.segmented else 1
        cost = algorithm.cost(ranks, **({"segments": p} if algorithm.segmented else {}))
        assert standing.seconds == pytest.approx(cost.seconds(message=message, alpha=1, bandwidth=1), rel=1e-12)


@pytest.mark.parametrize("primitive", PRIMITIVES)
@pytest.mark.parametrize(("ranks", "message"), [(3, 20.0), (6, 0.01), (8, 3.0), (12, 500.0)])
def test_the_field_is_the_executed_ladder(primitive, ranks, message):
    rungs = ladder.ladder(primitive, star(ranks), message=message, alpha=1, bandwidth=1)
    field = ladder.standings(primitive, ranks, message)
    assert {s.algorithm.name for s in field} == {rung.algorithm.name for rung in rungs}
    by_name = {rung.algorithm.name: rung.seconds for rung in rungs}
    for s in field:
        assert s.seconds == pytest.approx(by_name[s.algorithm.name], rel=1e-12)
    assert field[0].seconds == pytest.approx(rungs[0].seconds, rel=1e-12)
    tied = {rung.algorithm.name for rung in rungs if rung.seconds <= rungs[0].seconds * (1 + 1e-9)}
    assert {a.name for a in ladder.winners(primitive, ranks, message)} == tied


def test_regret_is_one_for_the_fastest_and_a_ratio_for_the_others():
    message = 16e6 / (0.5e-6 * 900e9)
    first = ladder.winners("all-reduce", 512, message)[0]
    assert ladder.regret("all-reduce", first.name, 512, message) == 1
    ring, best = (1022 + 511 / 256 * message), (18 + 511 / 256 * message)  # by hand: ring, Rabenseifner
    assert ladder.regret("all-reduce", "ring", 512, message) == pytest.approx(ring / best)


def test_every_name_that_a_library_choice_maps_to_exists():
    known = {(a.primitive, a.name) for a in ALGORITHMS}
    assert {(primitive, ours) for (primitive, _), ours in _NAMES.items()} <= known


@pytest.mark.parametrize("ranks", [10, 11, 12, 13, 24, 40, 72])
def test_off_powers_of_two_bruck_alone_is_fastest_from_alpha_bw_on(ranks):
    both = Cost(2 * (ranks - 1).bit_length(), Fraction(2 * (ranks - 1), ranks))  # twice an all-gather's bounds
    assert execute(allreduce.bruck(ranks)).cost == both
    for message in (1, 35, 1e3, 1e5):
        first, second, *_ = ladder.standings("all-reduce", ranks, message)
        assert first.algorithm.name == "bruck"
        assert first.seconds == both.seconds(message=message, alpha=1, bandwidth=1) < second.seconds


@pytest.mark.parametrize(
    ("between", "first"), [(3, "shortest-way-ring"), (5, "shortest-way-ring"), (6, "bruck"), (12, "bruck")]
)
def test_between_boxes_whose_number_is_no_power_of_two_a_large_message_takes_bruck_but_for_three_and_five(
    between, first
):
    topology = boxes((between, 8))
    price = {"message": 1e9, "alpha": (0.6e-6, 2.7e-6), "bandwidth": (450e9, 50e9)}
    times = {
        name: execute(
            hierarchical.all_reduce(topology, tiers=f"recursive-doubling,{name}", segments=16), topology
        ).cost.seconds(**price)
        for name in hierarchical.choices(topology, 1, "all-reduce", "inner-first")
    }
    assert min(times, key=times.__getitem__) == first
    assert times[first] < times["ring"]
