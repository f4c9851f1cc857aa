"""Rows of runs: what a cell of `runs.csv` stands for."""

from __future__ import annotations

from fractions import Fraction

import pytest

from colllib.algorithms import allreduce
from colllib.claims.rows import Runs
from colllib.claims.runs import built
from colllib.claims.value import Limit
from colllib.efficiency import PROFILES, effective


def cases(text):
    return list(Runs(text)())


def test_values_that_go_together_are_not_crossed_with_each_other_but_with_others():
    got = cases("star:{N}; at = [{label}, P = {P}] for N label = 2|two, 3|three and P = 1 4")
    assert [(case["at"], case["N"], case["P"]) for case in got] == [
        ("two, P = 1", 2, 1),
        ("two, P = 4", 2, 4),
        ("three, P = 1", 3, 1),
        ("three, P = 4", 3, 4),
    ]


def test_an_expression_takes_what_stands_before_it_and_a_line_break_is_a_space():
    [case] = cases("ring = all-reduce ring on star:4;\nhalf = (ring.n_alpha / 2);\nquarter = (half / 2)")
    assert (case["half"], case["quarter"]) == (3, Fraction(3, 2))
    with pytest.raises(ValueError, match="nothing is known of 'half'"):
        cases("quarter = (half / 2); half = (1)")


def test_a_run_has_phases_a_price_of_its_own_and_what_its_topology_loses():
    [case] = cases(
        "ring = all-reduce ring on star:4; first = all-reduce ring steps=0:3 on star:4; "
        "slow = all-reduce ring us=2 on star:4; lossy = all-reduce ring eta=torus on star:4 "
        "for MB = 1 and us = 1 and GBs = 1"
    )
    cost = built(allreduce.ring, 4).cost
    assert case["ring"].t == pytest.approx(6 + 1500)
    assert case["first"].t == pytest.approx(case["ring"].t / 2)
    assert case["slow"].latency == pytest.approx(2 * case["ring"].latency)
    assert case["lossy"].cost == effective(cost, PROFILES["torus"])


def test_two_levels_have_a_price_each():
    [case] = cases("rings = all-reduce hierarchical on boxes:2x2 for MB = 1 and us = 1/10 and GBs = 2/1")
    assert case["rings"].latency == pytest.approx(2 * 1 + 2 * 10)
    assert case["rings"].load == pytest.approx(1000 * (2 * 1 / 2 / 2 + 2 * 1 / 4))


def test_a_schedule_is_built_from_its_numbers_or_else_from_its_ranks_or_axes():
    pair, tree = cases("skewed 4 1 on star:4; tree on star:4")
    assert (pair["n_beta"], tree["n_alpha"]) == (Fraction(3, 4), built(allreduce.double_binary_tree, 4).cost.n_alpha)
    [rings] = cases("rings on torus:{d} for d = 4x4")
    assert rings["n_alpha"] == 2 * built(allreduce.ring, 4).cost.n_alpha


def test_limits_pass_through_an_expression():
    [case] = cases("chain = broadcast chain on star:4; limit = (chain.limit); twice = (limit(2 * value(limit)))")
    assert (case["limit"], case["twice"]) == (Limit(Fraction(1)), Limit(Fraction(2)))
