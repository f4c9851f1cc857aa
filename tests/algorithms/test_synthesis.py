"""Integer programs as witnesses: what they find is executed, and breadth-first schedules compared with it."""

from fractions import Fraction

import pytest

from colllib.algorithms import breadth_first
from colllib.algorithms.synthesis import all_gather
from colllib.execution import execute
from colllib.primitives import PRIMITIVES
from colllib.topology.expression import find


def cost(expression, **how):
    graph = find(expression)
    schedule = all_gather(graph, **how)
    assert schedule.makes(PRIMITIVES["all-gather"])
    return execute(schedule, graph).cost


@pytest.mark.parametrize(
    ("expression", "pieces"),
    [
        ("ring:4", 2),
        ("ring:5", 1),
        ("full-mesh:4", 1),
        ("complete-bipartite:2x2", 2),
        ("hypercube:3", 3),
        ("diamond", 1),
        ("kautz:2x6", 1),
        ("kautz:2x6", 2),
        ("kautz:2x8", 1),
        ("debruijn:2x3", 1),
        ("torus:3x3", 1),
        ("biring:4x3", 1),
        ("degree(uniring:2x2,2)", 2),
    ],
)
def test_no_schedule_of_as_many_steps_and_pieces_beats_breadth_first(expression, pieces):
    graph = find(expression)
    known = execute(breadth_first.all_gather(graph, pieces), graph).cost
    assert cost(expression, pieces=pieces) == known


def test_in_fewer_pieces_than_it_needs_the_cube_costs_more():
    assert [cost("hypercube:3", pieces=pieces).n_beta for pieces in (1, 2, 3)] == [
        Fraction(3, 8),
        Fraction(5, 16),
        Fraction(7, 24),
    ]


@pytest.mark.parametrize(("expression", "steps"), [("diamond", 3), ("modified-debruijn:2x3", 4)])
def test_two_published_optimal_schedules_that_are_not_breadth_first_exist(expression, steps):
    graph = find(expression)
    best = cost(expression, steps=steps, pieces=2)
    assert (best.n_alpha, best.n_beta) == (steps, Fraction(7, 16))
    assert breadth_first.all_gather_cost(graph).n_beta > best.n_beta


@pytest.mark.parametrize(
    ("expression", "how", "why"),
    [
        ("ring:6", {"steps": 2}, "2 steps are fewer than its diameter 3"),
        ("star:4", {}, "has switches"),
        ("full-mesh:1", {}, "at least two ranks"),
        ("torus:8x8", {}, "too many"),
        ("ring:4", {"pieces": 0}, "pieces 0: must be at least 1"),
        ("ring:4", {"loads": (1,)}, "1 steps are fewer than its diameter 2"),
        ("ring:4", {"loads": (1, 1), "steps": 3}, "2 loads for 3 steps"),
        ("diamond", {"pieces": 2, "loads": (2, 2, 2)}, r"no schedule in 2 pieces has loads \(2, 2, 2\)"),
        ("circulant:12x2x3", {"pieces": 2, "seconds": 0.0}, "no proof of a least cost within 0 s"),
    ],
)
def test_what_cannot_be_is_refused(expression, how, why):
    with pytest.raises(ValueError, match=why):
        all_gather(find(expression), **how)
