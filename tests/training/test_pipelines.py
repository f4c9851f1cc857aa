"""Pipeline schedules: their bubbles are the published formulas, and every pass comes after what it needs."""

from math import isclose

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from colllib.parallelism import bubble
from colllib.training.pipelines import SCHEDULES, compute, held, order, pipeline

TIMES = st.floats(0.5, 4)


@given(
    p=st.integers(1, 8), m=st.integers(1, 20), forward=TIMES, backward=TIMES, kind=st.sampled_from(["gpipe", "1f1b"])
)
def test_every_stage_idles_for_the_other_stages_forward_and_backward(p, m, forward, backward, kind):
    assume(kind == "gpipe" or m >= p)
    step = pipeline(kind, p, m, forward=forward, backward=backward)
    for stage in range(p):
        assert isclose(step.idle(compute(stage)), (p - 1) * (forward + backward), abs_tol=1e-9)
    assert isclose(step.idle(compute(0)) / step.seconds, bubble(p, m), abs_tol=1e-9)


@given(p=st.integers(1, 6), rounds=st.integers(1, 4), v=st.integers(1, 4), forward=TIMES)
def test_interleaving_divides_the_bubble_by_the_chunks(p, rounds, v, forward):
    step = pipeline("interleaved", p, p * rounds, chunks=v, forward=forward, backward=2 * forward)
    for stage in range(p):
        assert isclose(step.idle(compute(stage)), (p - 1) * 3 * forward / v, abs_tol=1e-9)


@given(p=st.integers(1, 6), more=st.integers(0, 8), forward=TIMES, inputs=TIMES, weights=TIMES)
def test_zb_h1_idles_longer_than_its_formula_where_the_weights_take_longer_than_another_pass(
    p, more, forward, inputs, weights
):
    step = pipeline("zb-h1", p, p + more, forward=forward, backward=inputs + weights, weights=weights)
    assert isclose(step.idle(compute(0)), (p - 1) * max(forward, inputs, forward + inputs - weights), abs_tol=1e-9)


@given(p=st.integers(1, 8), more=st.integers(0, 12))
def test_zb_h1_idles_for_forward_and_backward_without_the_weights(p, more):
    """(p - 1)(F + B - W) in the paper's letters, with B the backward of the inputs alone; here all three are 1."""
    step = pipeline("zb-h1", p, p + more, forward=1, backward=2, weights=1)
    for stage in range(p):
        assert isclose(step.idle(compute(stage)), p - 1, abs_tol=1e-9)


@given(p=st.integers(1, 8), m=st.integers(1, 20), kind=st.sampled_from(["gpipe", "1f1b", "zb-h1"]))
def test_every_stage_does_all_its_work_once(p, m, kind):
    for stage in range(p):
        works = order(kind, p, stage, m)
        kinds = "FBW" if kind == "zb-h1" else "FB"
        assert sorted(works) == sorted((k, i, stage) for k in kinds for i in range(m))


@given(p=st.integers(1, 8), more=st.integers(0, 12))
def test_gpipe_holds_all_microbatches_and_1f1b_as_many_as_stages_follow(p, more):
    m = p + more
    for stage in range(p):
        assert held("gpipe", p, stage, m) == m
        assert held("1f1b", p, stage, m) == p - stage
        # its gradients of weights come as many microbatches late as there are stages before
        assert held("zb-h1", p, stage, m) == p


@given(
    p=st.integers(2, 6), m=st.integers(1, 10), send=st.floats(0, 1), kind=st.sampled_from(["gpipe", "1f1b", "zb-h1"])
)
def test_a_pass_begins_after_its_message_has_come(p, m, send, kind):
    step = pipeline(kind, p, m, send=send)
    ended = {op.name: end for op, end in zip(step.ops, step.end, strict=True)}
    began = {op.name: start for op, start in zip(step.ops, step.start, strict=True)}
    for i in range(m):
        for stage in range(1, p):
            assert began[f"F{i} of part {stage}"] >= ended[f"F{i} of part {stage - 1}"] + send - 1e-9
            assert began[f"B{i} of part {stage - 1}"] >= ended[f"B{i} of part {stage}"] + send - 1e-9


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (("2f2b", 4, 4, {}), f"unknown pipeline schedule '2f2b': known are {', '.join(SCHEDULES)}"),
        (("1f1b", 0, 4, {}), "stages 0: must be at least 1"),
        (("interleaved", 4, 4, {"chunks": 0}), "chunks 0: must be at least 1"),
        (("1f1b", 4, 4, {"chunks": 2}), "1f1b in 2 chunks: only interleaved stages have several"),
        (
            ("interleaved", 4, 6, {"chunks": 2}),
            "6 microbatches: interleaved stages take a multiple of the 4 stages here",
        ),
        (("interleaved", 2, 2**14, {"chunks": 3}), "in 3 chunks: 98304 passes are too many"),
        (("1f1b", 4, 4, {"forward": -1.0}), "F0 of part 0 takes -1.0 s"),
        (("1f1b", 4, 4, {"backward": -1.0}), "B0 of part 0 takes -1.0 s"),
        (("zb-h1", 4, 4, {"weights": 3.0}), "weights 3.0 s: must be from 0 to the 2.0 s"),
        (("1f1b", 4, 4, {"weights": 0.5}), "weights 0.5 s: 1f1b does not part them from the backward, only zb-h1 does"),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    schedule, stages, microbatches, options = call
    with pytest.raises(ValueError, match=message):
        pipeline(schedule, stages, microbatches, **options)
