"""Numbers that cannot be, each refused in one line that names it."""

from dataclasses import replace

import numpy as np
import pytest

from colllib.algorithms import allreduce
from colllib.algorithms.direct import parameter_server
from colllib.parallelism import MODELS, Plan, bubble, copies, decoding, training
from colllib.topology import star
from colllib.training import compression, experts, faults, problems
from colllib.training.data_parallel import buckets
from colllib.training.pipelines import order, pipeline
from colllib.training.timeline import Op, run

LLAMA = MODELS["Llama 3.1 8B"]
BEYOND = 2**53 + 1  # no floating-point number
SCORES, TOKENS = np.zeros((2, 3, 4)), np.ones((2, 3, 4))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: run([Op("a", "s", 1e308), Op("b", "s", 1e308)]), "2 operations that take inf s together"),
        (lambda: buckets([4, -1], 8), "gradient of -1 bytes: must be at least 0"),
        (lambda: buckets([float("nan")], 8), "gradient of nan bytes"),
        (lambda: order("1f1b", 4, 2.5, 4), "stage 2.5: must be one from 0 to 3"),
        (lambda: pipeline("1f1b", 4, BEYOND), "36028797018963972 passes are too many|about 10.16 passes"),
        (lambda: pipeline("1f1b", BEYOND, 4), "passes are too many"),
        (lambda: parameter_server(BEYOND, 1), "messages are too many"),
        (lambda: experts.zipf_scores(BEYOND, 2, 4), "tokens a rank are too many"),
        (lambda: experts.topical_tokens(2, 10**30), "tokens are too many"),
        (lambda: experts.contiguous(10**30, 1), "experts are too many"),
        (lambda: compression.Average(BEYOND), "workers are too many"),
        (lambda: compression.LowRank(2, 4)([np.ones(9)] * 2, 0), "rank 4: 9 numbers make a matrix of 3 x 3"),
        (lambda: problems.least_squares(BEYOND, 4), "numbers are too many"),
        (lambda: problems.logistic(2, BEYOND), "numbers are too many"),
        (lambda: problems.terrain(BEYOND), "numbers are too many"),
        (lambda: experts.zipf_scores(2, 2, 4, float("inf")), "exponent inf: must be finite"),
        (lambda: experts.balanced_gate(np.ones((4, 4)), TOKENS, 2, float("inf")), "weight inf of the auxiliary loss"),
        (lambda: experts.balanced_gate(np.ones((4, 4)), TOKENS, 2, 1.0, steps=-1), "steps -1: must be at least 1"),
        (lambda: experts.balanced_gate(np.ones((4, 4)), TOKENS, 2, 1.0, steps=10**15), "scores are too many"),
        (lambda: faults.flipped(np.zeros(0, np.float32), 3), "bit 3 of 0 numbers"),
        (lambda: experts.route(SCORES, 2, boxes=0), "boxes 0: must be at least 1"),
        (lambda: experts.contiguous(-1, 2), "experts -1: must be at least 1"),
        (lambda: experts.contiguous(0, 2), "experts 0: must be at least 1"),
        (lambda: experts.contiguous(4, 2.5), "ranks 2.5: must be a whole number"),
        (lambda: experts.by_load([2.5, 1], 2), "load 2.5: must be a whole number"),
        (lambda: experts.by_load([2, 1], 2, copies=0.5), "experts 2.5: must be a whole number"),
        (lambda: experts.dispatch(star(2), np.full((2, 1, 1), 0.5)), "destination 0.5: must be a whole number"),
        (lambda: compression.int8(float("nan")), "block nan: must be a whole number"),
        (
            lambda: faults.flipped(np.ones(1, np.float32), 2.5),
            "bit 2.5 of 1 numbers: the first FP32 number has the bits 0 to 31",
        ),
        (lambda: faults.faulty(allreduce.ring(4), faults.FAULTS[0], rank=0, step=0.5), "step 0.5: must be one from 0"),
        (lambda: replace(LLAMA, layers=2.5), "layers 2.5: must be a whole number"),
        (lambda: replace(LLAMA, kv_heads=0), "kv_heads 0: must be at least 1"),
        (lambda: training(LLAMA, Plan(tp=8), tokens=64, microbatches=0), "microbatches 0: must be at least 1"),
        (lambda: training(LLAMA, Plan(tp=8), tokens=1e308), "tokens 1e.308: must be a whole number"),
        (lambda: decoding(LLAMA, Plan(tp=8), sequences=float("nan")), "sequences nan: must be a whole number"),
        (lambda: bubble(0, 4), "stages 0: must be at least 1"),
        (lambda: bubble(4, -1), "microbatches -1: must be at least 1"),
        (lambda: copies(8, 9, 4), "9 of 8 experts on 4 ranks"),
        (lambda: copies(8, 2, 3), "2 of 8 experts on 3 ranks"),
    ],
)
def test_it_is_refused_by_name(call, says):
    with pytest.raises(ValueError, match=says) as refused:
        call()
    assert "\n" not in str(refused.value)


def test_a_scale_for_more_values_than_there_are_serves_all_of_them():
    vector = np.array([3.0, -1.0, 0.5])
    assert np.array_equal(compression.int8(BEYOND)(vector, 0).values, compression.int8()(vector, 0).values)
