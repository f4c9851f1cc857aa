"""Models against their published sizes, calls against identities, and the arithmetic against real numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from colllib import execute, in_sequence, ladder, star
from colllib.algorithms import allgather, allreduce, alltoall, reducescatter
from colllib.evaluation import run_on
from colllib.parallelism import (
    MODELS,
    Plan,
    bubble,
    copies,
    decoding,
    kept,
    memory,
    merged,
    of_vocabulary,
    price,
    read_for_token,
    training,
)

LLAMA, DEEPSEEK, MIXTRAL = MODELS["Llama 3.1 405B"], MODELS["DeepSeek-V3"], MODELS["Mixtral 8x7B"]
TOKENS = 2**24


def total(calls, axis, primitive=None):
    return sum(call.sent for call in calls if call.axis == axis and primitive in (None, call.primitive))


# -- models -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "parameters"),  # what the published checkpoints hold, as their metadata says
    [
        ("Llama 3.1 8B", 8_030_261_248),
        ("Llama 3.1 70B", 70_553_706_496),
        ("Llama 3.1 405B", 405_853_388_800),
        ("Mixtral 8x7B", 46_702_792_704),
        ("DeepSeek-V3", 671_026_419_200),
    ],
)
def test_the_parameters_are_those_of_the_published_checkpoint(name, parameters):
    assert MODELS[name].parameters == parameters


def test_active_parameters_are_the_published_ones():
    # DeepSeek's README_WEIGHTS: 36.7B with 0.9B of embedding and 0.9B of output head, of which only one is multiplied
    assert round((DEEPSEEK.active - DEEPSEEK.vocabulary * DEEPSEEK.hidden) / 1e9, 1) == 36.6
    assert round(DEEPSEEK.vocabulary * DEEPSEEK.hidden / 1e9, 1) == 0.9
    assert round(MIXTRAL.active / 1e9, 1) == 12.9  # the Mixtral paper: 13B active
    assert LLAMA.active == LLAMA.parameters


# -- identities -------------------------------------------------------------------------------


def test_zero_moves_what_an_all_reduce_moves_and_stage_3_half_as_much_again():
    sent = {}
    for stage in (0, 1, 2, 3):
        calls = training(LLAMA, Plan(dp=64, zero=stage), tokens=TOKENS, gradient=2)
        sent[stage] = total(calls, "DP")
    assert sent[1] == pytest.approx(sent[0], rel=1e-12)
    assert sent[2] == pytest.approx(sent[0], rel=1e-12)
    assert sent[3] == pytest.approx(1.5 * sent[0], rel=1e-12)
    assert sent[0] == pytest.approx(2 * 63 / 64 * 2 * LLAMA.parameters, rel=1e-12)


@pytest.mark.parametrize("zero", [2, 3])
def test_sharded_parameters_are_gathered_again_for_every_microbatch(zero):
    plan = Plan(dp=64, zero=zero)
    once, eight = (training(LLAMA, plan, tokens=TOKENS, microbatches=m) for m in (1, 8))
    assert total(eight, "DP") == pytest.approx(8 * total(once, "DP"))
    unsharded = [training(LLAMA, Plan(dp=64), tokens=TOKENS, microbatches=m) for m in (1, 8)]
    assert total(unsharded[0], "DP") == total(unsharded[1], "DP")


@pytest.mark.parametrize("n", [2, 3, 6, 8])
def test_reduce_scatter_then_all_gather_is_an_all_reduce_of_the_same_bytes(n):
    both = execute(in_sequence(reducescatter.ring(n), allgather.ring(n)))
    apart = [execute(half) for half in (reducescatter.ring(n), allgather.ring(n))]
    ring = execute(allreduce.ring(n))
    assert both.sent == ring.sent
    assert [sum(pair) for pair in zip(*(half.sent for half in apart), strict=True)] == list(ring.sent)


def test_tensor_parallel_issues_four_all_reduces_a_layer():
    calls = training(LLAMA, Plan(tp=8), tokens=8192)
    assert sum(call.count for call in calls if call.axis == "TP") == 4 * 126
    assert {call.message for call in calls if call.axis == "TP"} == {8192 * 16384 * 2}


def test_sequence_parallel_sends_the_same_bytes_plus_one_more_gather():
    plain = training(LLAMA, Plan(tp=8), tokens=8192)
    cut = training(LLAMA, Plan(tp=8, sequence_parallel=True), tokens=8192)
    again = [call for call in cut if "once more" in call.why]
    assert total(cut, "SP") - sum(call.sent for call in again) == pytest.approx(total(plain, "TP"))
    assert total(cut, "SP") == pytest.approx(1.25 * total(plain, "TP"))


@pytest.mark.parametrize("cut", [False, True])
def test_a_boundary_sees_two_messages_a_microbatch_whole_unless_the_sequence_is_cut(cut):
    """Megatron Core divides the sequence among TP's ranks only with sequence parallelism (`schedules.py`, d98e8a6)."""
    plan = Plan(dp=2, tp=8, pp=4, sequence_parallel=cut)
    calls = training(LLAMA, plan, tokens=2**17, microbatches=8)
    message = 2**17 / 16 * 16384 * 2
    [call] = [c for c in calls if c.axis == "PP"]
    assert (call.count, call.message) == (16, message / (8 if cut else 1))
    assert cut or {c.primitive for c in calls if c.axis == "TP"} == {"all-reduce"}


def test_the_last_of_16_stages_has_7_of_126_layers_as_the_plan_was_published():
    """Llama 3, section 3.3.2: one layer less on the first stage and on the last, so 14 stages of 8 and 2 of 7."""
    assert LLAMA.layers == 14 * 8 + 2 * 7
    calls = training(LLAMA, Plan(dp=128, tp=8, pp=16), tokens=TOKENS, microbatches=16)
    assert sum(c.count for c in calls if c.primitive == "all-reduce") == 4 * 7 * 16
    layer = 2 * 16384 * 128 * (128 + 8) + 3 * 16384 * 53248 + 2 * 16384  # attention, MLP, two norms
    parameters = (7 * layer + 128256 * 16384 + 16384) / 8
    assert next(c.message for c in calls if c.why == "gradients") == 4 * parameters


def test_experts_exchange_four_times_a_layer_and_only_where_there_are_experts():
    calls = training(DEEPSEEK, Plan(dp=128, ep=64, pp=16), tokens=2**22, microbatches=4)
    exchanges = [call for call in calls if call.axis == "EP"]
    assert sum(call.count for call in exchanges) == 4 * 3 * 4  # 3 layers on the last stage, 4 microbatches
    assert {call.message for call in exchanges} == {2**22 / 128 / 4 * 8 * 7168 * 2}
    assert not [call for call in training(DEEPSEEK, Plan(dp=128, pp=16), tokens=2**22) if call.axis == "EP"]
    whole = training(DEEPSEEK, Plan(ep=8, dp=8), tokens=2**20)
    assert sum(call.count for call in whole if call.axis == "EP") == 4 * 58  # three layers have none


def test_expert_gradients_are_reduced_over_fewer_ranks():
    calls = training(DEEPSEEK, Plan(dp=128, ep=64, pp=16, zero=0), tokens=2**22)
    ranks = {call.why: call.ranks for call in calls if call.axis == "DP"}
    assert ranks == {"gradients": 128, "gradients of the experts": 2}
    parameters = sum(call.message for call in calls if call.axis == "DP" and "experts" in call.why) / 4
    assert parameters == 3 * 256 * 3 * 7168 * 2048 / 64


def test_context_parallel_gathers_keys_and_values():
    plan = Plan(cp=16, tp=8)
    calls = [call for call in training(LLAMA, plan, tokens=131072) if call.axis == "CP"]
    one_head = 131072 * 2 * 128 * 2  # 8 heads over TP 8: keys and values of the whole sequence
    assert {call.message for call in calls} == {one_head}
    assert {(call.primitive, call.count) for call in calls} == {("all-gather", 252), ("reduce-scatter", 126)}
    [gradients] = [call for call in training(LLAMA, plan, tokens=131072) if call.why == "gradients"]
    assert gradients.ranks == 16  # the same parameters on all ranks of CP


@pytest.mark.parametrize("tp", [1, 8])
def test_context_parallel_gathers_a_latent_as_keys_and_values_of_all_heads(tp):
    """DeepSeek-V3's 128 heads have keys of 128 + 64 numbers and values of 128: 40,960 numbers a token, 71 times 576."""
    calls = [call for call in training(DEEPSEEK, Plan(cp=8, tp=tp), tokens=32768) if call.axis == "CP"]
    assert {call.message for call in calls} == {32768 * 40960 * 2 / tp}


def test_ring_attention_sends_what_a_ring_all_gather_sends():
    """One shard to the next rank in each of N-1 rounds."""
    for n in (2, 5, 16):
        result = execute(allgather.ring(n))
        steps = [result.schedule.step(t) for t in range(result.schedule.num_steps)]
        assert len(steps) == n - 1
        assert all(((step.dst - step.src) % n == 1).all() for step in steps)
        assert set(result.sent) == {Fraction(n - 1, n)}


def test_the_last_stage_sends_the_gradients_back_and_only_receives_the_activations():
    microbatches, message = 16, 8192 * 16384 * 2
    [call] = [c for c in training(LLAMA, Plan(dp=128, tp=8, pp=16), tokens=TOKENS, microbatches=16) if c.axis == "PP"]
    assert (call.count, call.sent) == (2 * microbatches, microbatches * message)
    [call] = [c for c in decoding(LLAMA, Plan(tp=8, pp=2), sequences=3) if c.axis == "PP"]
    assert (call.count, call.sent) == (1, 3 * 16384 * 2)


def test_a_decoded_token_has_no_gradients():
    calls = decoding(DEEPSEEK, Plan(dp=64, ep=64, pp=2), sequences=32)
    assert {call.axis for call in calls} == {"EP", "PP"}
    assert {(call.primitive, call.count, call.message) for call in calls} == {
        ("all-to-all", 58, 32 * 8 * 7168 * 2),
        ("point-to-point", 1, 32 * 7168 * 2),
    }
    [call] = decoding(LLAMA, Plan(tp=8), sequences=64)
    assert (call.primitive, call.count, call.message) == ("all-reduce", 252, 64 * 16384 * 2)


def test_experts_are_read_as_often_as_random_choices_touch_them():
    """Of 2,000 draws of 8 of 256 experts for each of 20 tokens."""
    random = np.random.default_rng(0)
    touched = [len({*np.concatenate([random.permutation(256)[:8] for _ in range(20)])}) for _ in range(2000)]
    layers, expert = 61 - 3, 3 * 7168 * 2048
    others = DEEPSEEK.parameters - layers * 256 * expert - 129280 * 7168
    assert (read_for_token(DEEPSEEK, 20) - others) / layers / expert == pytest.approx(np.mean(touched), rel=0.005)
    assert read_for_token(LLAMA, 1) == read_for_token(LLAMA, 100) == LLAMA.parameters - 128256 * 16384


def test_heads_are_shared_out_and_a_latent_is_copied():
    assert [kept(LLAMA, tp) for tp in (1, 4, 8, 16)] == [2048, 512, 256, 256]
    assert [kept(DEEPSEEK, tp) for tp in (1, 8)] == [576, 576]


def test_the_vocabulary_adds_a_call_for_each_of_its_matrices():
    embedded, logits = of_vocabulary(LLAMA, 8, 64)
    [layers] = decoding(LLAMA, Plan(tp=8), sequences=64)
    assert (embedded.primitive, embedded.message, embedded.count) == ("all-reduce", layers.message, 1)
    assert (logits.primitive, logits.message) == ("all-gather", 64 * 128256 * 2)


def test_merging_keeps_every_byte():
    calls = training(DEEPSEEK, Plan(dp=128, ep=64, pp=16), tokens=2**22, microbatches=4)
    fewer = merged(calls)
    assert len(fewer) < len(calls)
    for axis in ("DP", "EP", "PP"):
        assert total(fewer, axis) == pytest.approx(total(calls, axis), rel=1e-12)
    assert sum(call.count for call in fewer) == sum(call.count for call in calls)


def test_memory_is_what_the_distributed_optimizer_says():
    """Megatron Core's table: 18 bytes a parameter with FP32 gradients, 6 + 12/d where the optimizer is distributed."""
    small = MODELS["Llama 3.1 8B"]
    assert memory(small, Plan(dp=8, zero=0)) == 18 * small.parameters
    assert memory(small, Plan(dp=8, zero=1)) == pytest.approx((6 + 12 / 8) * small.parameters)
    assert memory(small, Plan(dp=8, zero=3)) == pytest.approx(18 / 8 * small.parameters)


def test_hybrid_sharding_in_boxes_of_eight_by_hand():
    """Of each layer: two gathers and a scatter among 8 for each microbatch, and in the end the 16 copies' eighths."""
    model, plan = MODELS["Llama 3.1 8B"], Plan(dp=128, zero=3, replicate=16)
    parameters = model.parameters / 32
    calls = training(model, plan, tokens=128 * 2 * 1024, microbatches=2)
    gradients = {call.primitive: (call.ranks, call.message, call.count) for call in calls}
    assert gradients == {
        "reduce-scatter": (8, 4 * parameters, 2 * 32),
        "all-reduce": (16, 4 * parameters / 8, 32),
        "all-gather": (8, 2 * parameters, 4 * 32),
    }
    assert memory(model, plan) == memory(model, Plan(dp=8, zero=3))


def test_a_copy_is_sharded_over_two_ranks_at_least():
    assert Plan(dp=8, zero=1, replicate=4).shards == 2
    with pytest.raises(ValueError, match="zero = 1 and a copy on 1 of the ranks shard nothing"):
        Plan(dp=8, zero=1, replicate=8)


def test_the_bubble_is_counted_from_a_pipeline():
    """Forward passes of m microbatches through p stages, one slot each: the last stage idles p - 1 of m + p - 1."""
    for p, m in ((1, 4), (4, 4), (16, 16), (4, 12)):
        ends = np.add.outer(np.arange(p), np.arange(m)) + 1  # stage s takes microbatch k in slot s + k
        slots = int(ends.max())
        assert bubble(p, m) == pytest.approx((slots - m) / slots)


@pytest.mark.parametrize(("experts", "k", "ranks"), [(8, 2, 4), (8, 3, 8), (12, 4, 3), (6, 2, 1)])
def test_copies_by_trying_every_choice(experts, k, ranks):
    local = experts // ranks
    met = [len({expert // local for expert in choice}) for choice in combinations(range(experts), k)]
    assert copies(experts, k, ranks) == pytest.approx(sum(met) / len(met))


# -- prices -----------------------------------------------------------------------------------


def test_a_price_is_the_fastest_rung_of_the_executed_ladder():
    terms = {"alpha": 0.5e-6, "bandwidth": 900e9}
    for call in (
        *training(LLAMA, Plan(dp=6, tp=8, pp=4), tokens=6 * 8192, microbatches=2),
        *decoding(DEEPSEEK, Plan(dp=8, ep=8), sequences=4),
        *decoding(LLAMA, Plan(tp=8), sequences=1),
    ):
        priced = price(call, **terms)
        best = ladder.ladder(call.primitive, star(call.ranks), message=call.message, **terms)[0]
        assert priced.seconds == pytest.approx(best.seconds, rel=1e-12)
        assert priced.rung.cost.seconds(message=call.message, **terms) == priced.seconds
        assert priced.bound <= priced.seconds
        assert priced.total == call.count * priced.seconds


def test_a_decoded_token_and_a_training_step_want_different_algorithms():
    terms = {"alpha": 0.5e-6, "bandwidth": 900e9}
    [small] = decoding(LLAMA, Plan(tp=8), sequences=1)
    large = training(LLAMA, Plan(tp=8), tokens=8192)[0]
    assert price(small, **terms).rung.algorithm.name == "recursive-doubling"
    assert price(large, **terms).rung.algorithm.name == "rabenseifner"


# -- plans that cannot be ---------------------------------------------------------------------


def test_the_ranks_of_a_plan_are_the_product_of_its_axes():
    assert Plan(dp=2, tp=3, pp=5, cp=7).gpus == 2 * 3 * 5 * 7


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: Plan(tp=0), "tp 0: must be at least 1"),
        (lambda: Plan(zero=4), "zero = 4"),
        (lambda: Plan(dp=8, ep=3), "ep = 3 does not divide"),
        (lambda: training(LLAMA, Plan(dp=3), tokens=8192), "cannot be divided"),
        (lambda: training(LLAMA, Plan(dp=2, ep=2), tokens=8192), "ep = 2: Llama 3.1 405B has no experts"),
        (lambda: training(LLAMA, Plan(tp=7), tokens=8192), "128 heads"),
        (lambda: training(LLAMA, Plan(pp=127), tokens=8192), "126 layers"),
        (lambda: training(MIXTRAL, Plan(tp=8, sequence_parallel=True), tokens=8192), "not modeled"),
        (lambda: replace(DEEPSEEK, layers=2), "DeepSeek-V3: 3 dense layers of 2"),
        (lambda: decoding(LLAMA, Plan(cp=2), sequences=1), "cp = 1"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()


# -- the same on real numbers -----------------------------------------------------------------


def test_data_parallel_gradients_are_those_of_the_whole_batch():
    random = np.random.default_rng(1)
    inputs, weights, targets = random.normal(size=(12, 5)), random.normal(size=(5, 8)), random.normal(size=(12, 8))

    def gradient(rows):
        return inputs[rows].T @ (inputs[rows] @ weights - targets[rows]) / 12

    parts = [gradient(slice(3 * r, 3 * r + 3)).ravel() for r in range(4)]
    for summed in run_on(allreduce.rabenseifner(4), parts):
        assert np.allclose(summed, gradient(slice(None)).ravel())


def test_a_row_split_matrix_needs_an_all_reduce_and_gives_the_whole_product():
    random = np.random.default_rng(2)
    tokens, up, down = random.normal(size=(6, 8)), random.normal(size=(8, 12)), random.normal(size=(12, 8))
    expected = np.tanh(tokens @ up) @ down
    partial = [np.tanh(tokens @ up[:, 3 * r : 3 * r + 3]) @ down[3 * r : 3 * r + 3] for r in range(4)]
    assert not np.allclose(partial[0], expected)
    for total in run_on(allreduce.recursive_doubling(4), partial):
        assert np.allclose(total, expected)
    slices = run_on(reducescatter.ring(3), [partial[0] + partial[1], partial[2], partial[3]])
    assert np.allclose(np.concatenate(slices), expected)  # sequence parallel: each rank keeps its rows


def test_dispatch_and_combine_are_two_all_to_alls():
    random = np.random.default_rng(3)
    ranks, tokens_each, width = 4, 6, 3
    tokens, experts = random.normal(size=(ranks, tokens_each, width)), random.normal(size=(ranks, width, width))
    chosen = random.integers(0, ranks, size=(ranks, tokens_each))
    slots = np.zeros((ranks, ranks, tokens_each, width))  # a slot for each token at each expert, empty ones zero
    for rank in range(ranks):
        slots[rank, chosen[rank], np.arange(tokens_each)] = tokens[rank]
    arrived = run_on(alltoall.pairwise(ranks), slots)
    worked = [arrived[rank] @ experts[rank] for rank in range(ranks)]
    returned = run_on(alltoall.bruck(ranks), worked)
    for rank in range(ranks):
        expected = np.stack([tokens[rank, i] @ experts[chosen[rank, i]] for i in range(tokens_each)])
        assert np.allclose(returned[rank][chosen[rank], np.arange(tokens_each)], expected)


def test_without_expert_parallelism_gradients_of_experts_leave_with_the_others():
    """All ranks of DP hold the same, so one call sums all parameters in FP32."""
    model = MODELS["Mixtral 8x7B"]
    [call] = [c for c in training(model, Plan(dp=16, zero=0), tokens=TOKENS) if c.axis == "DP"]
    assert call.message == 4 * model.parameters
