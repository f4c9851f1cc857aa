"""The compression explorer tells what the runs say."""

from __future__ import annotations

from colllib.show import compression_explorer
from colllib.show.compression_explorer import METHODS, trained


def test_the_summary_names_every_run_that_ends_worse_than_it_began():
    explorer = compression_explorer()
    state = {**explorer.start, "problem": "least squares"}
    summary = explorer.render(len(explorer.parts), state)
    for name in METHODS:
        run = trained("least squares", name, name == "low rank", 1.0)
        assert (name in summary.split(".")[0]) is bool(run.loss[-1] > run.loss[0])


def test_feedback_takes_signs_to_the_loss_of_fp32():
    ends = {on: trained("logistic regression", "sign", on, 1.0).loss[-1] for on in (False, True)}
    exact = trained("logistic regression", "FP32", False, 1.0).loss[-1]
    assert abs(ends[True] - exact) < 0.1 * abs(ends[False] - exact)
