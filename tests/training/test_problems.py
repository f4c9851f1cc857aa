"""Problems against the slopes of their losses, and descent against textbooks."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from colllib.training import problems
from colllib.training.compression import Adam, Average, LowRank, random_k, top_k


def test_the_largest_entries_alone_lead_uphill_and_feedback_leads_down():
    problem = problems.cancelling()
    for rate in (0.02, 0.002):
        alone = problems.descend(problem, Average(3, top_k(1 / 3), "gather"), 60, rate)
        kept = problems.descend(problem, Average(3, top_k(1 / 3), "gather", True), 60, rate)
        assert (np.diff(alone.loss) > 0).all()
        assert kept.loss[-1] < kept.loss[0] < alone.loss[-1]


@pytest.mark.parametrize(
    "make", [problems.least_squares, problems.logistic, problems.terrain, lambda workers: problems.cancelling()]
)
def test_the_workers_gradients_are_the_slope_of_the_loss(make):
    problem = make(3)
    at = problem.start + 0.01
    slope = np.mean(
        [np.mean(problem.gradients(at, step), axis=0) for step in range(300 if make is problems.least_squares else 1)],
        axis=0,
    )
    for direction in np.random.default_rng(0).normal(size=(3, len(at))):
        ahead, behind = (problem.loss(at + sign * 1e-5 * direction) for sign in (1, -1))
        assert (ahead - behind) / 2e-5 == pytest.approx(slope @ direction, rel=0.1, abs=1e-4)


def test_adam_is_the_textbooks_without_its_bias_corrections():
    """Kingma and Ba, algorithm 1, entry by entry; workers of the same gradient have it as their mean."""
    problem = problems.Problem(np.array([3.0, -2.0]), lambda x, step: [2 * x, 2 * x], lambda x: x @ x, 0.1)
    descent = problems.descend(problem, Adam(2), 20, 0.1)
    x, m, v = [3.0, -2.0], [0.0, 0.0], [0.0, 0.0]
    for t in range(1, 21):
        for i in range(2):
            slope = 2 * x[i]
            m[i] = 0.9 * m[i] + 0.1 * slope
            v[i] = 0.99 * v[i] + 0.01 * slope**2
            x[i] -= 0.1 * m[i] / (v[i] ** 0.5 + 1e-8)
        assert descent.loss[t] == pytest.approx(x[0] ** 2 + x[1] ** 2)


def test_a_loss_that_is_no_number_is_lost():
    run = problems.Run(np.array([1.0, float("nan")]), np.array([0, 8]))
    assert run.diverged


def test_a_run_ends_where_it_is_lost():
    run = problems.descend(problems.least_squares(4), Average(4, random_k(0.05), "gather"), 200)
    assert run.diverged
    assert len(run.loss) < 100


LOW_RANK = """
from colllib.training import compression, problems
print(*problems.descend(problems.least_squares(4, seed=1), compression.LowRank(4), 100).loss)
"""


def test_a_processor_that_adds_in_another_order_gives_the_same_run():
    """PowerSGD's power iteration makes of a last digit a third one within 100 steps, unless what travels is rounded."""
    older = subprocess.run(
        [sys.executable, "-c", LOW_RANK],
        env=os.environ | {"OPENBLAS_CORETYPE": "Nehalem"},
        capture_output=True,
        text=True,
        check=True,
    )
    run = problems.descend(problems.least_squares(4, seed=1), LowRank(4), 100)
    assert [float(loss) for loss in older.stdout.split()] == pytest.approx(run.loss, rel=1e-9)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: problems.least_squares(0), "workers 0: must be at least 1"),
        (lambda: problems.descend(problems.cancelling(), Average(3), 5, -0.1), "rate -0.1: must be above 0"),
        (lambda: problems.descend(problems.cancelling(), Average(3), 10**15), "about 10.15 steps are too many"),
    ],
)
def test_bad_input_is_refused_in_one_line(call, says):
    with pytest.raises(ValueError, match=says):
        call()


@pytest.mark.parametrize("average", [Average(2), LowRank(2), Adam(2)])
def test_what_remembers_one_descent_is_refused_for_another(average):
    problem = problems.terrain(2)
    problems.descend(problem, average, 2, 0.1)
    with pytest.raises(ValueError, match=f"this {type(average).__name__} remembers another descent"):
        problems.descend(problem, average, 2, 0.1)
