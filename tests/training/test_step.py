"""A whole step, its prices, parameter servers and energy, against counts made in another way."""

import json
import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import chain, pairwise
from math import isclose, lcm

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from colllib import units
from colllib.algorithms import allreduce, channels
from colllib.algorithms.direct import parameter_server
from colllib.cli import main
from colllib.execution import execute
from colllib.ladder import ladder
from colllib.measured.predict import predict
from colllib.metrics import OPTICS, crossings, joules
from colllib.parallelism import MODELS, Plan, memory, training
from colllib.topology import boxes, full_mesh, torus
from colllib.topology.expression import find as find_topology
from colllib.topology.machines import find
from colllib.training.command import CP_WAITS, EP_SENDS, NOT_COUNTED, OF_EXPERTS, TP_WAITS, read_plan, step_command
from colllib.training.data_parallel import NETWORK, Layer, bucketed, sharded
from colllib.training.prices import by_nccl, group, part_of, price, sent_along, takes
from colllib.training.step import Training, simulate, spent

LLAMA = MODELS["Llama 3.1 405B"]
MACHINE = "dgx-h100:16"


def counted(step, kinds, stream="compute 0"):
    return sum(op.kind in kinds and op.stream == stream for op in step.ops)


@pytest.mark.parametrize("sequence_parallel", [False, True])
def test_a_step_has_the_collectives_that_the_plan_issues(sequence_parallel):
    """As many, on the last stage, as `parallelism.training` counts without any timeline."""
    plan = Plan(dp=4, tp=8, pp=4, sequence_parallel=sequence_parallel)
    step = simulate(Training(replace(LLAMA, layers=8), plan, MACHINE, tokens=1024, microbatches=4))
    calls = training(replace(LLAMA, layers=8), plan, tokens=4 * 4 * 1024, microbatches=4)
    for primitive in ("all-reduce", "all-gather", "reduce-scatter"):
        inside = sum(c.count for c in calls if c.axis in ("TP", "SP") and c.primitive == primitive)
        assert counted(step, [primitive], "compute 3") == inside


def test_ranks_that_share_a_sequence_gather_its_keys_and_values_and_have_their_share_of_the_rest():
    model = replace(LLAMA, layers=8)
    shared, alone = (
        simulate(Training(model, plan, MACHINE, tokens=8192, microbatches=4))
        for plan in (Plan(dp=2, cp=2, tp=8, pp=4), Plan(dp=4, tp=8, pp=4))
    )
    calls = list(training(model, Plan(dp=2, cp=2, tp=8, pp=4), tokens=2 * 4 * 8192, microbatches=4))
    for primitive in ("all-gather", "reduce-scatter"):
        [call] = [c for c in calls if c.axis == "CP" and c.primitive == primitive]
        ops = [op for op in shared.ops if op.name.startswith(f"CP {primitive}") and op.stream == "compute 3"]
        assert len(ops) == call.count
        assert all(isclose(op.seconds, price(primitive, MACHINE, 2, 8, call.message).seconds) for op in ops)
    spent = [
        sum(op.seconds for op in step.ops if op.kind in "FB" and op.stream == "compute 3") for step in (shared, alone)
    ]
    assert isclose(2 * spent[0], spent[1])


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b", "zb-h1", "interleaved"])
def test_every_stage_computes_for_its_layers_and_tokens_whatever_the_schedule(schedule):
    chunks = 2 if schedule == "interleaved" else 1
    model = replace(LLAMA, layers=16)
    step = simulate(Training(model, Plan(dp=4, tp=8, pp=4), MACHINE, 1024, 8, schedule=schedule, chunks=chunks))
    each = 2 * (sum(model.projections) + 2 * model.hidden + 3 * model.hidden * model.ffn) * 1024 / 8 / 400e12
    each += 2 * 2 * 128 * 128 * 1024 * 512 / 8 / 400e12  # queries with half of the keys, and of the values
    for stage in range(4):
        passes = [i for i in step.on(f"compute {stage}") if step.ops[i].kind in "FBW"]
        assert isclose(sum(step.end[i] - step.start[i] for i in passes), 8 * 3 * each * 4)


def test_gradients_of_weights_that_wait_have_no_part_of_attention():
    """ZB-H1 with four sequences a microbatch: W is the parameters alone, B has twice a forward's attention."""
    model = replace(LLAMA, layers=4)
    step = simulate(Training(model, Plan(pp=2), "dgx-h100:1,gpus=2", 4096, 2, schedule="zb-h1", sequence=1024))
    weights = 2 * model.of_layer(0, 0) * 4096 / 400e12
    attention = 4 * 128 * 128 * 4 * (1024**2 / 2) / 400e12
    took = {kind: {op.seconds for op in step.ops if op.kind == kind} for kind in "FBW"}
    for kind, passes in (("F", 1), ("B", 2), ("W", 0)):
        assert all(isclose(seconds, weights + passes * attention) for seconds in took[kind])


def test_ranks_of_cp_share_attention_that_grows_with_the_sequence():
    """Llama 3.1 8B with 65,536 tokens: attention is 1.23 times the rest, by the shares of Megatron's count."""
    model, plan = MODELS["Llama 3.1 8B"], Plan(dp=4, cp=8)
    rest = 2 * 32 * model.of_layer(0, 0) * 65536 / 8 / 400e12
    for sequence, share in ((None, 1.23), (8192, 0.154)):
        task = Training(model, plan, "dgx-h100:4", 65536, sequence=sequence)
        assert 32 * task.forward(0) == pytest.approx((1 + share) * rest, rel=2e-3)


def test_heads_of_latent_attention_are_as_wide_as_their_keys_and_their_values():
    """DeepSeek-V3's are 128 + 64 and 128 wide; of each query and key a product and an addition, over half of them."""
    assert MODELS["DeepSeek-V3"].attention(4096) == 128 * 2 * (192 + 128) * 4096 / 2


def test_126_layers_in_16_stages_leave_the_ends_one_less():
    """As Llama 3 405B was trained."""
    task = Training(LLAMA, Plan(dp=128, tp=8, pp=16), "dgx-h100:2048", microbatches=16)
    stages = [task.layers(at) for at in range(16)]
    assert [len(layers) for layers in stages] == [7, *[8] * 14, 7]
    assert list(chain(*stages)) == list(range(126))
    assert simulate(task).seconds > 0


@pytest.mark.parametrize("sequence_parallel", [False, True])
@pytest.mark.parametrize("plan", [Plan(tp=4, pp=4), Plan(tp=2, pp=8), Plan(tp=8, pp=2)])
def test_activations_take_the_way_that_their_ranks_have(plan, sequence_parallel):
    """0.6 us and 450 GB/s in a box, 2.7 us and 50 GB/s if one of a stage's ranks has to leave its own."""
    plan = replace(plan, sequence_parallel=sequence_parallel)
    machine, width = f"dgx-h100:{plan.gpus // 8}", plan.tp * plan.replicas
    task = Training(replace(LLAMA, layers=8), plan, machine, tokens=1024, microbatches=2)
    size = 1024 * LLAMA.hidden * 2 / (plan.tp if sequence_parallel else 1)
    sent = {(op.name.split(" from ")[1], op.seconds) for op in simulate(task).ops if op.kind == "send"}
    assert len(sent) == 2 * (plan.pp - 1)
    for stages, seconds in sent:
        src, dst = map(int, stages.split(" to "))
        leaves = any((src * width + r) // 8 != (dst * width + r) // 8 for r in range(width))
        assert isclose(seconds, 2.7e-6 + size / 50e9 if leaves else 0.6e-6 + size / 450e9)


def test_replicas_that_only_some_stages_have_in_one_box_are_refused():
    """The third stage's ranks are 6, 7 and 8."""
    with pytest.raises(ValueError, match="groups of 3 ranks, 1 apart, stand unevenly in boxes of 8"):
        simulate(Training(replace(LLAMA, layers=8), Plan(dp=3, pp=8), "dgx-h100:3"))


def test_the_last_gradients_meet_the_pipelines_messages_on_the_card_and_both_are_slower():
    """A message that comes when a bucket of gradients leaves its stage, or reaches it, takes twice as long."""
    step = simulate(Training(replace(LLAMA, layers=8), Plan(dp=4, tp=8, pp=4), MACHINE, 1024, 8))
    took = step.end - step.start
    sent = [i for i, op in enumerate(step.ops) if op.kind == "send"]
    sums = [i for i, op in enumerate(step.ops) if op.stream.startswith("network")]
    met = [i for i in sent if any(step.start[i] < step.end[j] and step.start[j] < step.end[i]
                                  and set(step.ops[i].uses) & set(step.ops[j].uses) for j in sums)]  # fmt: skip
    assert 0 < len(met) < len(sent)
    assert all(step.ops[i].seconds < took[i] < 2.001 * step.ops[i].seconds for i in met)
    assert all(isclose(took[i], step.ops[i].seconds) for i in set(sent) - set(met))


def test_experts_dispatch_and_combine_in_every_pass():
    model = replace(MODELS["Mixtral 8x7B"], layers=4)
    step = simulate(Training(model, Plan(dp=128, ep=8), MACHINE, 1024, 2))
    assert counted(step, ["all-to-all"]) == 2 * 4 * 2 * 2  # dispatch and combine, layers, microbatches, ways


@pytest.mark.parametrize("zero", [2, 3])
def test_sharded_parameters_are_gathered_once_or_twice(zero):
    step = simulate(Training(replace(LLAMA, layers=6), Plan(dp=16, tp=8, zero=zero), MACHINE))
    assert counted(step, ["all-gather"], "network 0") == 6 * (zero - 1)


@pytest.mark.parametrize(("plan", "gathers"), [(Plan(dp=16, tp=8, zero=3), 12), (Plan(dp=16, tp=8, zero=2), 6)])
def test_a_microbatch_of_sharded_data_parallelism_begins_when_the_one_before_has_left(plan, gathers):
    """Three take three times as long as one: the ends of each, a gather and a scatter, stay exposed."""
    one, three = (simulate(Training(replace(LLAMA, layers=6), plan, MACHINE, 1024, count)) for count in (1, 3))
    assert counted(three, ["all-gather"], "network 0") == 3 * gathers
    begins = [three.start[i] for i in three.on("compute 0") if three.ops[i].kind == "F"][:: 6 * 2]
    left = [three.end[i] for i in three.on("network 0") if three.ops[i].kind == "reduce-scatter"][5::6]
    assert all(begin >= end for begin, end in zip(begins[1:], left, strict=False))
    assert isclose(three.seconds, 3 * one.seconds)


def test_a_stage_of_a_pipeline_asks_for_parameters_before_the_last_gradients_have_left():
    step = simulate(Training(replace(LLAMA, layers=4), Plan(dp=8, tp=8, pp=2, zero=3), MACHINE, 1024, 4))
    network = step.on("network 1").tolist()
    begins = [i for i in step.on("compute 1") if step.ops[i].kind == "F"][2 * 2]  # two layers in two parts each before
    needed = next(i for i in step.ops[begins].after if i in network)
    assert step.ops[network[network.index(needed) + 1]].kind == "reduce-scatter"


@pytest.mark.parametrize("zero", [2, 3])
def test_a_copy_in_each_box_is_what_hybrid_sharding_layer_by_layer_is(zero):
    """BF16 parameters are gathered among 8 ports, FP32 gradients scattered; 16 cards sum an eighth of them."""
    model = replace(MODELS["Llama 3.1 8B"], layers=6)
    task = Training(model, Plan(dp=128, zero=zero, replicate=16), MACHINE, tokens=650)
    expected = sharded(
        [Layer(task.forward(0), 2 * task.forward(0), 2 * model.beside_experts(False))] * 6,
        lambda size: price("all-gather", MACHINE, 8, 1, size).seconds,
        lambda size: price("reduce-scatter", MACHINE, 8, 1, 2 * size).seconds,
        reshard=zero == 3,
        outside=lambda size: price("all-reduce", MACHINE, 16, 8, 2 * size / 8).seconds,
    )
    assert isclose(simulate(task).seconds, expected.seconds)


@pytest.mark.parametrize("zero", [1, 2, 3])
def test_copies_are_summed_once_for_each_layer_after_its_last_scatter_and_alone_use_the_card(zero):
    plan = Plan(dp=128, zero=zero, replicate=16)
    model = replace(LLAMA, layers=4)
    bucket = 4 * model.beside_experts(False) if zero == 1 else None  # with more each layer's gradients leave alone
    step = simulate(Training(model, plan, MACHINE, 1024, microbatches=3, bucket=bucket))
    box, cards = step.on("network 0"), step.on("copies 0")
    scattered = [step.end[i] for i in box if step.ops[i].kind == "reduce-scatter"]
    assert [step.ops[i].kind for i in cards] == ["all-reduce"] * 4
    assert all(step.start[i] >= end for i, end in zip(cards, scattered[-4:], strict=True))
    assert {step.ops[i].uses for i in cards} == {("card out of 0", "card into 0")}
    assert {step.ops[i].uses for i in box} == {("port out of 0", "port into 0")}


def test_with_zero_1_the_parameters_come_after_all_copies_are_summed():
    plan = Plan(dp=128, zero=1, replicate=16)
    step = simulate(Training(replace(LLAMA, layers=4), plan, MACHINE, 1024))
    [gathered] = [i for i, op in enumerate(step.ops) if op.kind == "all-gather"]
    assert step.start[gathered] == max(step.end[i] for i in step.on("copies 0"))


@pytest.mark.parametrize("plan", [Plan(dp=128, zero=3, replicate=2), Plan(dp=4, pp=32, zero=3, replicate=2)])
def test_shards_of_several_boxes_and_copies_in_one_box_use_the_links_of_their_copies(plan):
    step = simulate(Training(replace(LLAMA, layers=32), plan, MACHINE, 1024, microbatches=32))
    assert {op.uses for op in step.ops if op.kind == "reduce-scatter"} == {
        op.uses for op in step.ops if op.kind == "all-reduce"
    }


def test_what_is_gathered_does_not_wait_for_the_copies_sums_and_shares_the_cards_with_them():
    """Shards over eight boxes and two copies, ZeRO-3; the cards are never left alone, so nothing ends later."""
    model = replace(MODELS["Llama 3.1 8B"], layers=6)
    step = simulate(Training(model, Plan(dp=128, zero=3, replicate=2), MACHINE, tokens=650, microbatches=2))
    sums, rest = step.on("copies 0"), step.on("network 0")
    met = [(i, j) for i in sums for j in rest if step.start[i] < step.end[j] and step.start[j] < step.end[i]]
    assert {step.ops[j].kind for _, j in met} == {"all-gather", "reduce-scatter"}
    moments = sorted({*step.start, *step.end})
    for now, then in pairwise(moments):
        running = [i for i in (*sums, *rest) if step.start[i] <= now and then <= step.end[i]]
        assert len(running) <= 2
    assert isclose(
        sum(op.seconds for op in step.ops if op.uses),
        sum(then - now for now, then in pairwise(moments)
            if any(step.start[i] <= now and then <= step.end[i] for i in (*sums, *rest))),
    )  # fmt: skip


def test_of_experts_a_copy_shards_those_of_each_rank_among_its_equals():
    """Mixtral in four copies of 32 ranks: four of them hold the same expert, and a copy is 32 ranks from the next."""
    model = replace(MODELS["Mixtral 8x7B"], layers=2)
    step = simulate(Training(model, Plan(dp=128, ep=8, zero=1, replicate=4), MACHINE, 1024, bucket=1e12))
    beside, experts = 4 * 2 * model.beside_experts(True), 4 * 2 * model.expert
    took = {op.kind: op.seconds for op in step.ops if op.stream in ("network 0", "copies 0")}
    scatters = [price("reduce-scatter", MACHINE, ranks, apart, m) for m, ranks, apart in
                ((beside, 32, 1), (experts, 4, 8))]  # fmt: skip
    assert isclose(took["reduce-scatter"], sum(rung.seconds for rung in scatters))
    assert isclose(took["all-reduce"], price("all-reduce", MACHINE, 4, 32, beside / 32 + experts / 4).seconds)


@pytest.mark.parametrize("zero", [2, 3])
@pytest.mark.parametrize("schedule", ["1f1b", "interleaved", "zb-h1"])
@pytest.mark.parametrize("replicate", [1, 2])
def test_each_stage_of_a_pipeline_gathers_and_scatters_its_own_layers(zero, schedule, replicate):
    """Gradients leave after each microbatch; parameters come once, or as often as `parallelism.training` says."""
    model, plan = replace(LLAMA, layers=8), Plan(dp=4, tp=8, pp=4, zero=zero, replicate=replicate)
    chunks = 2 if schedule == "interleaved" else 1
    step = simulate(Training(model, plan, MACHINE, 1024, 8, schedule=schedule, chunks=chunks))
    calls = {c.primitive: c.count for c in training(model, plan, tokens=4 * 8 * 1024, microbatches=8) if c.axis == "DP"}
    for stage in range(4):
        assert counted(step, ["all-gather"], f"network {stage}") == calls["all-gather"]
        assert counted(step, ["reduce-scatter"], f"network {stage}") == calls["reduce-scatter"]
        assert counted(step, ["all-reduce"], f"copies {stage}") == calls.get("all-reduce", 0)
    assert calls == {"all-gather": 2 if zero == 2 else 2 * 2 * 8, "reduce-scatter": 2 * 8} | (
        {"all-reduce": 2} if replicate > 1 else {}
    )


def test_no_layer_of_a_stage_runs_before_its_parameters_are_there():
    step = simulate(Training(replace(LLAMA, layers=8), Plan(dp=4, tp=8, pp=4, zero=2), MACHINE, 1024, 8))
    for stage in range(4):
        came = [step.end[i] for i in step.on(f"network {stage}") if step.ops[i].kind == "all-gather"]
        first = [step.start[i] for i in step.on(f"compute {stage}") if step.ops[i].kind == "F"][: 2 * 2 : 2]
        assert all(end <= begin for end, begin in zip(came, first, strict=True))


def test_a_token_meets_the_experts_that_it_chose_and_a_rank_without_ep_sums_the_gradients_of_all():
    """Mixtral: attention and norms, the router, and two of eight experts of three matrices each."""
    model = replace(MODELS["Mixtral 8x7B"], layers=2)
    task = Training(model, Plan(dp=16, tp=8, zero=0), MACHINE, 1024, bucket=1e12)
    beside = 2 * 4096 * 128 * (32 + 8) + 2 * 4096 + 4096 * 8
    expert = 3 * 4096 * 14336
    attention = 4 * 32 * 128 * 1024 / 2
    assert isclose(task.forward(0), (2 * (beside + 2 * expert) + attention) * 1024 / 8 / 400e12)
    [seconds] = [op.seconds for op in simulate(task).ops if op.stream == "network 0"]
    assert isclose(seconds, price("all-reduce", MACHINE, 16, 8, 2 * 4 * (beside + 8 * expert) / 8).seconds)


def test_gradients_of_experts_are_summed_over_the_ranks_that_hold_the_same():
    model, plan = replace(MODELS["Mixtral 8x7B"], layers=4), Plan(dp=128, ep=8, zero=0)
    step = simulate(Training(model, plan, MACHINE, 1024, bucket=1e12))
    [seconds] = [op.seconds for op in step.ops if op.kind == "all-reduce"]
    apart = [(4 * 4 * model.beside_experts(True), 128, 1), (4 * 4 * model.experts * model.expert / 8, 16, 8)]
    assert isclose(seconds, sum(price("all-reduce", MACHINE, ranks, gap, m).seconds for m, ranks, gap in apart))


@pytest.mark.parametrize("schedule", ["gpipe", "interleaved"])
def test_the_dense_layers_at_the_bottom_dispatch_no_tokens(schedule):
    """DeepSeek-V3 has three: of four parts of two layers the first has none with experts, the second one."""
    model, chunks = replace(MODELS["DeepSeek-V3"], layers=8), 2 if schedule == "interleaved" else 1
    plan = Plan(dp=64 * chunks, ep=8, pp=4 // chunks, zero=0)
    on = f"dgx-h100:{plan.gpus // 8}"
    step = simulate(Training(model, plan, on, 1024, microbatches=2, schedule=schedule, chunks=chunks))
    dispatched = [counted(step, ["all-to-all"], f"compute {stage}") for stage in range(plan.pp)]
    layers = [0, 1, 2, 2] if chunks == 1 else [0 + 2, 1 + 2]
    assert dispatched == [2 * 2 * 2 * count for count in layers]  # dispatch and combine, ways, microbatches


def test_a_dense_layer_computes_sums_and_gathers_its_own_matrices():
    """DeepSeek-V3's third layer, the last dense one, and its fourth: all ranks share the first, 16 each expert."""
    model, plan = replace(MODELS["DeepSeek-V3"], layers=4), Plan(dp=128, ep=8, zero=3)
    step = simulate(Training(model, plan, MACHINE, 1024))
    dense = sum(model.projections) + 2 * 7168 + 3 * 7168 * 18432
    beside = sum(model.projections) + 2 * 7168 + 256 * 7168 + 256 + 3 * 7168 * 2048
    expert = 3 * 7168 * 2048
    times = {kind: [op.seconds for op in step.ops if op.kind == kind] for kind in ("F", "all-gather", "reduce-scatter")}
    attention = 2 * 128 * (192 + 128) * 1024 / 2
    assert isclose(sum(times["F"]), (2 * (3 * dense + beside + 8 * expert) + 4 * attention) * 1024 / 400e12)
    for kind, width in (("all-gather", 2), ("reduce-scatter", 4)):
        alone = price(kind, MACHINE, 128, 1, dense * width).seconds
        both = price(kind, MACHINE, 128, 1, beside * width), price(kind, MACHINE, 16, 8, 256 * expert / 8 * width)
        other = sum(way.seconds for way in both)
        expected = [alone] * 3 + [other] * 2 + [alone] * 3 if kind == "all-gather" else [other] + [alone] * 3
        assert times[kind] == pytest.approx(expected)


def test_a_rank_of_the_fullest_stage_holds_its_layers_and_its_part_of_the_vocabulary():
    """Llama 3.1 405B in 16 stages: seven layers and a matrix of the vocabulary at the ends, eight layers between."""
    layer = 2 * 16384 * 128 * (128 + 8) + 2 * 16384 + 3 * 16384 * 53248
    ends = 7 * layer + 128256 * 16384 + 16384
    task = Training(LLAMA, Plan(dp=128, tp=8, pp=16), "dgx-h100:2048", microbatches=16)
    assert 8 * layer > ends
    assert isclose(task.state, 8 * layer / 8 * (2 + 4 + 12 / 128))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("plan", [Plan(dp=128, zero=2), Plan(dp=16, tp=8, zero=0), Plan(dp=128, zero=3, replicate=16)])
def test_without_stages_a_rank_holds_what_is_counted_without_a_timeline(name, plan):
    assert isclose(Training(MODELS[name], plan, MACHINE).state, memory(MODELS[name], plan))


@given(ranks=st.integers(1, 64), apart=st.integers(1, 16), box=st.integers(1, 16))
def test_all_groups_of_a_machine_stand_as_evenly_as_counting_says(ranks, apart, box):
    """The groups that fill as many boxes as come out even, each with its own count of ranks in a box."""
    span, shapes = ranks * apart, set()
    for first in (start + k for start in range(0, lcm(span, box), span) for k in range(apart)):
        per_box = Counter((first + rank * apart) // box for rank in range(ranks))
        shapes.add((len(per_box), *set(per_box.values())))
    if len(shapes) == 1 and len(min(shapes)) == 2:
        assert group(ranks, apart, box) == min(shapes)
    else:
        with pytest.raises(ValueError, match="stand unevenly"):
            group(ranks, apart, box)


def test_a_group_in_a_box_over_boxes_and_with_one_rank_in_each_is_priced_as_executed():
    alpha, bandwidth = (0.6e-6, 2.7e-6), (450e9, 50e9)
    alone = price("all-reduce", MACHINE, 8, 1, 1e9)
    assert isclose(
        alone.seconds,
        execute(alone.entry.schedule(alone.segments)).cost.seconds(message=1e9, alpha=alpha[0], bandwidth=bandwidth[0]),
    )
    apart = price("all-gather", MACHINE, 16, 8, 1e9)
    assert isclose(
        apart.seconds,
        execute(apart.entry.schedule(apart.segments)).cost.seconds(message=1e9, alpha=alpha[1], bandwidth=bandwidth[1]),
    )
    across = price("reduce-scatter", MACHINE, 16, 1, 1e9)
    topology = boxes((2, 8))
    assert isclose(
        across.seconds,
        execute(across.entry.schedule(across.segments), topology).cost.seconds(
            message=1e9, alpha=alpha, bandwidth=bandwidth
        ),
    )
    assert across.how == "counted"
    assert isclose(across.seconds, across.cost.seconds(message=1e9, alpha=alpha, bandwidth=bandwidth))


@pytest.mark.parametrize("primitive", ["all-gather", "reduce-scatter", "all-reduce", "all-to-all"])
@pytest.mark.parametrize("message", [1e3, 1e6, 3e7])
@pytest.mark.parametrize(
    "machine", ["dgx-h100:2", "dgx-h100:3", "mi250x:2", "mi300x:3", "dgx-a100:4,oversubscription=4"]
)
def test_a_group_over_boxes_takes_what_heads_the_ladder_there(primitive, message, machine):
    """Which executes all that it compares, with what ranks share; there switches that add are left out."""
    given = find_topology(machine)
    topology, (alpha, bandwidth) = find_topology(given.name.replace(",inc=box", "")), given.speeds
    [first, *_] = ladder(primitive, topology, message=message, alpha=alpha, bandwidth=bandwidth)
    assert isclose(price(primitive, machine, topology.ranks, 1, message).seconds, first.seconds)


@pytest.mark.parametrize("primitive", ["all-gather", "reduce-scatter", "all-reduce", "all-to-all"])
@pytest.mark.parametrize(("ranks", "message"), [(2, 1e6), (4, 1e3), (4, 1e9), (8, 1e6)])
def test_a_group_in_a_mesh_takes_what_heads_the_ladder_on_its_links(primitive, ranks, message):
    network = {"message": message, "alpha": 0.6e-6, "bandwidth": 64e9}
    [first, *_] = ladder(primitive, full_mesh(ranks), **network)
    assert isclose(price(primitive, "mi300x:2", ranks, 1, message).seconds, first.seconds)


def test_a_group_is_priced_that_has_more_messages_than_can_be_executed():
    """Every box takes in all but its own, over eight cards."""
    fewest = 1e9 * 2047 / 2048 / 8 / 50e9
    assert fewest < price("all-gather", "dgx-h100:2048", 8 * 2048, 1, 1e9).seconds < 1.2 * fewest


@pytest.mark.parametrize("primitive", ["all-gather", "reduce-scatter", "all-reduce", "all-to-all"])
@pytest.mark.parametrize(("ranks", "apart", "part"), [(4, 1, "4"), (4, 16, "4"), (8, 1, "4x2"), (16, 4, "4x4")])
def test_a_group_in_a_torus_takes_what_heads_the_ladder_on_its_part(primitive, ranks, apart, part):
    [first, *_] = ladder(primitive, find_topology(f"torus:{part}"), message=1e6, alpha=1e-6, bandwidth=100e9)
    assert isclose(price(primitive, "tpu-v5p:2", ranks, apart, 1e6).seconds, first.seconds)


def test_a_group_over_boxes_of_tori_takes_what_heads_the_ladder_there():
    for message in (1e4, 1e8):
        [first, *_] = ladder("all-reduce", find_topology("trn2:2"), message=message, **TRN2)
        assert isclose(price("all-reduce", "trn2:2", 32, 1, message).seconds, first.seconds)
    apart = find_topology("boxes:2x4,inside=torus:4")  # of each four ranks of a box the one
    [first, *_] = ladder("all-reduce", apart, message=1e8, **TRN2)
    assert isclose(price("all-reduce", "trn2:2", 8, 4, 1e8).seconds, first.seconds)


TRN2 = {"alpha": (1.5e-6, 15e-6), "bandwidth": (128e9, 25e9)}


@given(st.lists(st.sampled_from([1, 2, 3, 4]), min_size=1, max_size=3), st.data())
def test_parts_of_a_torus_that_are_priced_have_its_links_and_routes_for_themselves(dims, data):
    whole = torus(dims)
    ranks = data.draw(st.sampled_from([n for n in range(2, whole.ranks + 1) if whole.ranks % n == 0] or [whole.ranks]))
    apart = data.draw(st.sampled_from([n for n in range(1, whole.ranks + 1) if whole.ranks // ranks % n == 0]))
    try:
        part = find_topology(part_of(whole.name, ranks, apart))
    except ValueError:
        reject()
    src, dst = np.divmod(np.arange(ranks**2), ranks)
    users = set()
    for first in (start * ranks * apart + k for start in range(whole.ranks // ranks // apart) for k in range(apart)):
        ends = []
        for net, place in ((part, np.arange(ranks)), (whole, first + apart * np.arange(ranks))):
            message, link = net.router(place[src], place[dst])
            ends.append(sorted(zip(message, net.link_src[link], net.link_dst[link], strict=True)))
        assert ends[1] == sorted((m, first + apart * a, first + apart * b) for m, a, b in ends[0])
        used = {*link.tolist()}
        assert not used & users
        users |= used


@pytest.mark.parametrize(("ranks", "apart"), [(8, 8), (2, 2), (32, 2), (2, 32)])
def test_groups_that_share_links_of_a_torus_are_refused_in_a_line(ranks, apart):
    with pytest.raises(ValueError, match=rf"^groups of {ranks} ranks, {apart} apart, in boxes of torus:4x4x4: [^\n]+$"):
        price("all-gather", "tpu-v5p:2", ranks, apart, 1e6)


def test_in_a_torus_stages_that_are_no_neighbors_share_its_links():
    """By hand, 16 MB over links of 100 GB/s at 1 us a hop: one hop alone, around the corner, and two that share."""
    alone = 16e6 / 100e9
    assert isclose(sent_along("tpu-v5p:1", 16, 16e6), 1e-6 + alone)
    assert isclose(sent_along("tpu-v5p:1", -48, 16e6), 1e-6 + alone)
    assert isclose(sent_along("tpu-v5p:1", 1, 16e6), 3 * 1e-6 + alone)
    assert isclose(sent_along("tpu-v5p:1", 32, 16e6), 2 * (1e-6 + alone))
    stages = Training(MODELS["Llama 3.1 8B"], Plan(dp=4, tp=4, pp=4), "tpu-v5p:1", microbatches=4)
    assert isclose(stages.send(3, 0)[0], 1e-6 + 8192 * 4096 * 2 / 100e9)


@pytest.mark.parametrize("machine", ["dgx-h100:2", "mi300x:2", "tpu-v5p:1"])
def test_a_message_has_two_ends(machine):
    assert price("point-to-point", machine, 2, 1, 1e6).seconds > 0
    with pytest.raises(ValueError, match="point-to-point among 4 ranks: takes two"):
        price("point-to-point", machine, 4, 1, 1e6)


@pytest.mark.parametrize("nccl", [False, True])
def test_a_group_may_reach_the_last_rank_of_its_machine_and_no_further(nccl):
    assert takes("all-reduce", "dgx-h100:2", 2, 15, 1e6, nccl=nccl) > 0
    with pytest.raises(ValueError, match="2 ranks, 16 apart, on dgx-h100:2: it has 16"):
        takes("all-reduce", "dgx-h100:2", 2, 16, 1e6, nccl=nccl)


@given(workers=st.integers(1, 12), servers=st.integers(1, 12))
def test_servers_carry_the_same_bytes_on_other_ports(workers, servers):
    """W workers push and pull M each: 2 W M in all; a dedicated server carries W/K each way, its worker 1."""
    run = execute(parameter_server(workers, servers))
    assert sum(run.sent) == 2 * workers
    assert max(run.sent) == max(1, Fraction(workers, servers))
    if servers <= workers:
        own = execute(parameter_server(workers, servers, colocated=True))
        assert sum(own.sent) == 2 * (workers - 1)
        most = 1 - Fraction(1, servers) + Fraction(workers - 1, servers) if workers > 1 else 0
        assert max(own.sent) == most


def test_a_server_for_each_worker_in_its_place_is_as_good_as_a_ring():
    own = execute(parameter_server(8, 8, colocated=True))
    assert max(own.sent) == max(execute(allreduce.ring(8)).sent) == Fraction(7, 4)


def test_energy_is_bits_times_picojoules_on_every_link():
    run = execute(allreduce.ring(16), boxes((2, 8)))
    bits = {name: 8e9 * float(crossing.total) for name, crossing in crossings(run).items()}
    outside = bits["card"] + bits["uplink"]
    assert isclose(joules(run, 1e9)[0], (1.3 * bits["box"] + 15 / 0.8 * outside) * 1e-12)
    assert isclose(joules(run, 1e9)[1], (5.5 * bits["box"] + 9 / 0.4 * outside) * 1e-12)
    assert joules(execute(allreduce.ring(4)), 1e9) is None
    assert joules(run, 0) == (0, 0)
    with pytest.raises(ValueError, match="message size -1"):
        joules(run, -1)


def test_every_height_of_uplinks_takes_the_energy_of_optics():
    """By hand: of 8 hops of a ring 4 stay in a box, 2 links each, 2 in a group of boxes, 4 more, and 2 climb higher."""
    bits = 8e9 * 7 / 4
    least = bits * (4 * 2 * 1.3 + (2 * 4 + 2 * 6) * 15 / 0.8) * 1e-12
    assert isclose(joules(execute(allreduce.ring(8), boxes((2, 2, 2))), 1e9)[0], least)


@pytest.mark.parametrize("cards", [1, 2, 4, 8])
def test_cards_that_ranks_share_take_no_more_energy_than_a_card_each(cards):
    """By hand: of the 16 hops of a ring two leave a box, by card, leaf, spine, leaf and card; slots are no optics."""
    bits, box = 8e9 * 30 / 16, (1.3, 5.5)
    hand = [bits * (14 * 2 * inside + 2 * 4 * optics) * 1e-12 for inside, optics in zip(box, OPTICS, strict=True)]
    assert joules(execute(allreduce.ring(16), boxes((2, 8), cards=cards)), 1e9) == pytest.approx(hand)


def test_10_000_gpus_at_30_picojoules_a_bit_by_hand():
    """M-22 multiplies one gigabyte by the ranks and by two: 4.8 kJ; a bit crosses two links from rank to rank."""
    n, ring = 10_000, allreduce.ring(16)
    per_rank = float(sum(execute(ring).sent)) / 16 / (15 / 16)  # 2, as for any number of ranks
    assert isclose(per_rank * n * 1e9 * 8 * 30e-12, 4800)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--plan tp=8", "plan of 8 ranks (dp 1 x tp 8 x pp 1 x cp 1) on dgx-h100:16: it has 128"),
        ("--sequence 3000", "sequence 3000: must divide the 8192 tokens of a microbatch"),
        ("--plan tp=8,cp=16 --sequence 8", "cp = 16: must divide the 8 tokens of a sequence"),
        ("--plan tp=8,x=2", "write axes among tp, pp, dp, ep, cp, zero"),
        ("--plan tp=8,cp=16 --tokens 8190", "cp = 16: must divide the 8190 tokens of a microbatch"),
        ("--plan tp=8,sp=1,dp=16 --tokens 8190", "sp over tp = 8 ranks: must divide the 8190 tokens that they share"),
        ("--plan tp=8,sp=1,cp=16 --tokens 64", "sp over tp = 8 ranks: must divide the 4 tokens that they share"),
        ("--plan tp=8,sp=2,dp=16", "sp is 0 or, over tp ranks, 1, as in tp=8,sp=1"),
        ("--plan sp=1,dp=128", "sp is 0 or, over tp ranks, 1, as in tp=8,sp=1"),
        ("--plan tp=4,sp=1,dp=32 --model DeepSeek-V3", "inside a layer with experts is not modeled here"),
        ("--plan tp=8,zero=x", "plan: zero 'x': must be a whole number of at most 18 digits, as in zero=2"),
        ("--plan dp=3,pp=8 --on dgx-h100:3", "each must fill whole boxes, or all divide one"),
        ("--plan tp=128", "tp = 128: must divide the 64 heads of Llama 3.1 70B"),
        ("--plan tp=8,tp=8,pp=2", "plan 'tp=8,tp=8,pp=2': tp is given twice"),
        ("--plan dp=128,ep=8", "ep = 8: Llama 3.1 70B has no experts"),
        (
            "--model DeepSeek-V3 --on nvl72:1 --plan dp=72,ep=72",
            "must divide the 256 experts of DeepSeek-V3, as 8 does",
        ),
        ("--plan dp=128,zero=3,replicate=3", "replicate = 3: must divide dp x cp = 128 into copies"),
        ("--plan dp=128,zero=3,replicate=0", "replicate 0: must be at least 1"),
        ("--plan dp=128,zero=0,replicate=16", "zero = 0 and a copy on 8 of the ranks shard nothing"),
        ("--plan dp=128,zero=3,replicate=128", "zero = 3 and a copy on 1 of the ranks shard nothing"),
        ("--plan dp=128,ep=16,replicate=16", "into copies, each on a multiple of ep = 16 ranks"),
        ("--microbatches -1", "microbatches '-1': must be a whole number"),
        ("--microbatches 999999", "passes are too many"),
        ("--tokens 0", "tokens 0: must be at least 1"),
        (
            "--plan dp=128,zero=2 --bucket 1MB",
            "bucket 1 MB: with zero = 2 the gradients of each layer leave alone",
        ),
        ("--bucket 0B", "bucket 0.0: must be a finite number above 0"),
        ("--plan dp=8,pp=16 --schedule interleaved --chunks 8", "80 layers in 16 stages of 8 chunks"),
        ("--schedule interleaved", "interleaved in 1 chunk: is 1f1b with more forwards first; take 2 chunks or more"),
        ("--model GPT", "unknown model 'GPT'"),
        ("--on star:128", "boxes with speeds, such as dgx-h100:16"),
        ("--on dgx-h100:16,without=3-s0", "lacks a link in a box, where a step is not priced; cards may fail"),
        ("--on mi300x:16,without=3-4", "lacks a link in a box, where a step is not priced; cards may fail"),
        ("--collectives rccl", "collectives 'rccl': must be fastest or nccl"),
        ("--plan all", "plans are compared with one --batch in tokens"),
        ("--plan all --batch 1000", "no plan can run, such as dp=128: batch 1000: must be a multiple of"),
        ("--plan all --batch 1048576 --schedule x", "unknown pipeline schedule 'x'"),
        ("--plan all --batch 1048576 --teraflops 0", "rate 0.0: must be a finite number above 0"),
        ("--batch 1048576 --tokens 0", "tokens 0: must be at least 1"),
        ("--plan all --on dgx-h100:1 --batch 1048576", "plans do not fit in the 80 GB of a GPU"),
        ("--plan dp=128 --batch 1000", "batch 1000: must be a multiple of dp x tokens = 128 x 8192"),
        ("--schedule x", "unknown pipeline schedule 'x'"),
        ("--batch 4194304 --microbatches 4", "batch 4194304 and microbatches 4: each says the other"),
        ("--on dgx-a100:16 --teraflops 400", "more than dgx-a100:16 computes in BF16, 312 by its data sheet"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(words, message, capsys):
    with pytest.raises(SystemExit) as left:
        main(["step", *words.split()])
    assert left.value.code == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1


def answer(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main(["step", *words, "--json"])
    assert left.value.code == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("plan", "exposed"),
    [
        ("tp=8,pp=2,dp=8", {"tp", "all_gather", "gradients", "bubble"}),
        ("tp=4,pp=2,dp=16,zero=3,replicate=8", {"tp", "all_gather", "gradients", "bubble"}),
        ("dp=128,zero=2", {"all_gather", "gradients"}),
        ("dp=128,zero=0", {"gradients"}),
        ("tp=8,cp=2,dp=8,zero=0", {"tp", "cp", "gradients"}),
        ("tp=8,sp=1,cp=2,dp=8,zero=0", {"tp", "cp", "gradients"}),
        ("pp=16,tp=8", {"tp", "bubble"}),
    ],
)
def test_the_command_says_where_the_time_of_every_stage_goes(capsys, plan, exposed):
    """The shares add up to the step, and MFU is what is computed of what 989 TFLOP/s would compute in it."""
    result = answer(capsys, "--plan", plan)
    assert len(result["stages"]) == read_plan(plan).pp
    for stage in result["stages"]:
        assert isclose(sum(stage.values()), result["time_s"])
        assert min(stage.values()) >= 0
    assert {name[:-2] for stage in result["stages"] for name in stage if stage[name]} == {"computing"} | exposed
    computing = sum(stage["computing_s"] for stage in result["stages"]) / len(result["stages"])
    assert isclose(result["mfu"], computing * 630 / 989 / result["time_s"])


def test_what_experts_wait_for_is_a_share_of_its_own(capsys):
    [stage] = answer(capsys, "--plan", "dp=128,ep=8", "--model", "Mixtral 8x7B")["stages"]
    assert stage["ep_s"] > 0 == stage["tp_s"] == stage["cp_s"] == stage["bubble_s"]


def test_without_replicas_and_tensor_parallelism_a_stage_waits_as_long_as_the_bubble_of_its_schedule():
    """1F1B with 8 stages of 4 layers and 16 microbatches: 7 of 23 parts of the step, but for the messages' seconds."""
    model = replace(MODELS["Llama 3.1 8B"], layers=32)
    step = simulate(Training(model, Plan(pp=8), "dgx-h100:1", microbatches=16))
    for stage in range(8):
        took = spent(step, stage)
        assert isclose(took["bubble"], step.idle(f"compute {stage}"))
        assert isclose(took["bubble"] / step.seconds, 7 / 23, rel_tol=0.05)


def test_the_output_says_what_is_exposed_and_the_share_of_the_peak_with_its_formula(capsys):
    with pytest.raises(SystemExit):
        main(["step", "--on", "dgx-h100:8", "--plan", "tp=8,dp=8,zero=3"])
    shown = capsys.readouterr().out
    assert re.search(r"stage +computing +TP +all-gather +gradients\n", shown)
    assert "MFU: " in shown
    formula = (
        r"% = 6 x 68\.5 billion parameters that a token meets in the layers "
        r"x 1\.08 with causal attention over 8,192 tokens x \d+ tok"
    )
    assert re.search(formula, shown)


def test_the_command_says_at_what_rate_a_rank_computes(capsys):
    with pytest.raises(SystemExit):
        main(["step", "--teraflops", "250"])
    assert "on dgx-h100:16 at 250 TFLOP/s: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "taken", "line"),
    [
        ("", "nccl", "take what NCCL is predicted to take; with --collectives fastest, the fastest schedules known."),
        (
            "--collectives fastest",
            "fastest",
            "the fastest schedules known in which no switch adds; with --collectives n",
        ),
        ("--on mi300x:16", "nccl", "what NCCL is predicted to take on such links; RCCL's own choices are not modeled."),
        (
            "--on trn2:8 --plan tp=4,pp=2,dp=16",
            "fastest",
            "the fastest schedules known in which no switch adds; NCCL's model knows no such m",
        ),
        (
            "--on dgx-h100:16,rails=8",
            "fastest",
            "leave rails out for what NCCL is predicted to take, which is the same",
        ),
        ("--on dgx-h100:2 --batch 131072 --plan all", "nccl", "Collectives take what NCCL is predicted to take; with"),
    ],
)
def test_collectives_are_priced_as_nccl_where_its_model_knows_the_machine_and_the_output_says_how(
    words, taken, line, capsys
):
    args = words.split()
    with pytest.raises(SystemExit):
        main(["step", *args])
    assert line in capsys.readouterr().out
    result = answer(capsys, *args)
    assert result["collectives"] == taken
    if "plans" not in result:
        bare = words.replace("--collectives fastest", "").split()
        assert result["time_s"] == answer(capsys, *bare, "--collectives", taken)["time_s"]


@pytest.mark.parametrize(
    ("machine", "plan"),
    [
        ("dgx-h100:16", "tp=8,pp=2,dp=8"),
        ("dgx-h100:1", "tp=8,dp=1"),  # with two stages nothing is left of 8 ranks
        ("nvl72:1", "tp=8,dp=9"),
        ("gh200:1", "tp=4,dp=1"),
        ("trn2:8", "tp=16,pp=2,dp=4"),  # replicas 8 apart would share links of its torus
    ],
)
def test_a_machine_alone_gets_a_plan_that_it_can_run(machine, plan, capsys):
    result = answer(capsys, "--on", machine)
    assert result["plan"] == plan
    assert read_plan(plan).gpus == result["ranks"]
    assert result["time_s"] == answer(capsys, "--on", machine, "--plan", plan)["time_s"]


@pytest.mark.parametrize(("machine", "rate"), [("dgx-h100", 630), ("dgx-a100", 199), ("b200", 1433)])
def test_a_rank_computes_at_the_share_of_its_peak_that_an_h100_does(machine, rate, capsys):
    """630 of 989 TFLOP/s, of the peaks in dense BF16 of 312 and 2,250."""
    with pytest.raises(SystemExit):
        main(["step", "--on", f"{machine}:1", "--plan", "tp=8"])
    assert f"on {machine}:1 at {rate} TFLOP/s: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("boxes", "plan", "tokens", "published"),
    [(2048, "dp=128", 8192, 400), (1024, "dp=64", 8192, 430), (2048, "cp=16,dp=8", 131072, 380)],
)
def test_with_the_rate_that_is_assumed_published_steps_of_405b_come_out(boxes, plan, tokens, published, capsys):
    """TFLOP/s a GPU over the whole step, attention included: Llama 3 (2024), table 4, steps of 16M tokens on H100s."""
    words = ["--model", "Llama 3.1 405B", "--on", f"dgx-h100:{boxes}", "--plan", f"tp=8,sp=1,pp=16,{plan}"]
    words += ["--tokens", str(tokens), "--batch", "16777216", "--schedule", "interleaved", "--chunks", "7"]
    result = answer(capsys, *words)
    layer = 6 * (2 * 16384 * (16384 + 1024) + 3 * 16384 * 53248) + 3 * 4 * 16384 * tokens / 2
    assert 126 * layer * 2**24 / result["time_s"] / (8 * boxes) / 1e12 == pytest.approx(published, rel=0.03)
    assert result["mfu"] * 989 == pytest.approx(published, rel=0.03)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("--on mi300x:16", "\n833 TFLOP/s a GPU are assumed for matrix products alone, 64% of the peak, with which"),
        (
            "--on boxes.toml",
            "\n630 TFLOP/s a GPU are assumed for matrix products alone, with which three published",
        ),
        (
            "--plan all --on dgx-h100:2 --batch 131072",
            "\n630 TFLOP/s a GPU are assumed for matrix products alone, 64% of the peak, with which",
        ),
        ("--teraflops 300", None),
    ],
)
def test_a_rate_that_nobody_gave_is_said_to_be_assumed(words, line, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "boxes.toml").write_text('boxes = 16\ngpus = 8\nlink = "450GB/s"\ncards = 8\ncard = "400Gb/s"\n')
    with pytest.raises(SystemExit):
        main(["step", *words.split()])
    shown = capsys.readouterr().out
    assert (line in shown) if line else ("assumed" not in shown)
    assert ("\n833 may be too much: one H200, for which 630 are assumed, trained an" in shown) == ("mi300x" in words)


def test_a_gpu_is_the_same_by_its_own_name_and_in_a_file_as_in_its_maker_s_box(capsys, tmp_path):
    (tmp_path / "own.toml").write_text('boxes = 2\ngpus = 8\ngpu = "a100"\n', encoding="utf-8")
    for machine in ("dgx-a100:2", "a100:2", "a100:2,without=card 3", f"{tmp_path}/own.toml"):
        with pytest.raises(SystemExit):
            main(["step", "--on", machine, "--plan", "tp=8,dp=2"])
        shown = capsys.readouterr().out
        assert f"on {machine} at 199 TFLOP/s: " in shown
        assert "of 80 GB" in shown or "which has 80 GB" in shown


@pytest.mark.parametrize("bucket", [5e6, 25e6, 100e6, 400e6, 1e12])
@pytest.mark.parametrize("nccl", [False, True])
def test_buckets_close_at_weights_as_in_a_step_of_weights_one_by_one(bucket, nccl):
    """Norm, q, k, v, o, norm, gate, up and down of each layer, the last one's gradient first, in FP32."""
    hidden, narrow, ffn, tokens = 4096, 1024, 14336, 650
    of_layer = [1, hidden, narrow, narrow, hidden, 1, ffn, ffn, ffn]
    attention = 4 * 32 * 128 * tokens / 2 / (hidden * sum(of_layer))  # operations for each parameter, which it is not
    forward = (2 + attention) * tokens / 400e12
    weights = [Layer(forward * n, 2 * forward * n, 4.0 * n) for n in (hidden * m for m in of_layer)]
    expected = bucketed(weights * 6, bucket, lambda size: takes("all-reduce", MACHINE, 128, 1, size, nccl=nccl))
    model, plan = replace(MODELS["Llama 3.1 8B"], layers=6), Plan(dp=128, zero=0)
    step = simulate(Training(model, plan, MACHINE, tokens, bucket=bucket, nccl=nccl))
    assert isclose(step.seconds, expected.seconds)
    assert counted(step, ["all-reduce"], "network 0") == expected.on(NETWORK).size


@pytest.mark.parametrize("schedule", ["1f1b", "interleaved", "zb-h1"])
def test_a_bucket_leaves_inside_the_last_pass_through_a_layer_with_tensor_parallelism_and_experts(schedule):
    """As many as a plain count gives for each stage, and no more compute; a rank's experts are 3 weights together."""
    model, chunks = replace(MODELS["Mixtral 8x7B"], layers=8), 2 if schedule == "interleaved" else 1
    task = Training(model, Plan(dp=4, tp=8, pp=4, ep=2), MACHINE, 1024, 8, schedule=schedule, chunks=chunks)
    step, whole = simulate(task), simulate(replace(task, bucket=1e12))
    narrow, expert = 4096 * 1024, 4096 * 14336
    of_layer = [4096, 4096**2, narrow, narrow, 4096**2, 4096, 4096 * 8, *[8 * expert / 2] * 3]
    for stage in range(4):
        count, filled = 0, 25e6
        for n in [*of_layer[::-1]] * 2:
            count, filled = (count + 1, 0) if filled >= 25e6 else (count, filled)
            filled += 4 * n / 8
        assert counted(step, ["reduce-scatter"], f"network {stage}") == count
        spent = [sum(op.seconds for op in s.ops if op.kind in "FBW" and op.stream == f"compute {stage}")
                 for s in (step, whole)]  # fmt: skip
        assert isclose(*spent)


@pytest.mark.parametrize(("bucket", "count"), [("5MB", 225), ("25MB", 193), ("100MB", 129), ("400MB", 65)])
def test_the_command_says_in_how_many_buckets_gradients_leave(bucket, count, capsys):
    """Llama 3.1 8B: 4096 x 14336 numbers in FP32 are 235 MB."""
    with pytest.raises(SystemExit):
        main(["step", "--model", "Llama 3.1 8B", "--plan", "dp=128", "--microbatches", "1", "--bucket", bucket])
    assert f"in {count} buckets of at least {bucket[:-2]} MB, of whole weights of up to 235" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "memory_bytes", "line"),
    [
        ("--plan dp=128,zero=0", 80e9, "take about 1.27 TB a GPU, which has 80 GB: they do not fit"),
        (
            "--plan dp=128,zero=3",
            80e9,
            "two gathered layers (without a layer's whole gradients), take about 13.3 GB a GPU, which leaves 66.7 GB ",
        ),
        ("--plan dp=128,zero=3 --on boxes.toml", None, "take about 13.3 GB a GPU\n"),
    ],
)
def test_the_command_says_whether_a_plan_fits_the_memory(words, memory_bytes, line, capsys, tmp_path, monkeypatch):
    """70,553,706,496 parameters of 18 bytes, on each rank or over 128; two layers of 855,654,400 in BF16."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "boxes.toml").write_text('boxes = 16\ngpus = 8\nlink = "450GB/s"\ncards = 8\ncard = "400Gb/s"\n')
    with pytest.raises(SystemExit) as left:
        main(["step", *words.split()])
    assert left.value.code == 0
    assert line in capsys.readouterr().out
    result = answer(capsys, *words.split())
    assert result["memory_bytes"] == memory_bytes
    assert isclose(result["state_bytes"], 18 * 70_553_706_496 / (1 if "zero=0" in words else 128))
    assert result["gathered_bytes"] == (0 if "zero=0" in words else 2 * 2 * 855_654_400)


def test_a_copy_in_each_box_is_faster_at_the_command_than_shards_among_all(capsys):
    times = []
    for plan in ("dp=128,zero=3", "dp=128,zero=3,replicate=16"):
        times.append(answer(capsys, "--plan", plan, "--model", "Llama 3.1 8B", "--tokens", "650")["time_s"])
    assert times[1] < times[0]


def test_a_group_takes_what_is_predicted_for_a_machine_of_its_ranks():
    """128 ranks in 16 boxes: eight in a box, one in each of 16, four in each of four (every second one), and a pair."""
    for ranks, apart, alone in (
        (8, 1, "dgx-h100:1"),
        (16, 8, "dgx-h100:16,gpus=1"),
        (16, 2, "dgx-h100:4,gpus=4"),
        (128, 1, "dgx-h100:16"),
    ):
        for primitive in ("all-reduce", "all-gather", "reduce-scatter", "all-to-all"):
            assert (
                by_nccl(primitive, MACHINE, *group(ranks, apart, 8), 1e8)
                == predict(find(alone), primitive, 1e8).seconds
            )
    pair = predict(find("dgx-h100:2,gpus=1"), "sendrecv", 1e8).seconds
    assert by_nccl("point-to-point", MACHINE, 2, 1, 1e8) == pair
    assert by_nccl("all-reduce", MACHINE, 1, 1, 1e8) == 0


def test_stages_send_by_nccl_in_boxes_of_an_odd_number_of_ranks_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "three.toml").write_text('boxes = 1\ngpus = 3\nlink = "450GB/s"\ncards = 3\ncard = "400Gb/s"\n')
    step = simulate(Training(replace(LLAMA, layers=6), Plan(pp=3), "three.toml", 1024, 2, nccl=True))
    pair = by_nccl("point-to-point", "three.toml", 1, 2, 1024 * LLAMA.hidden * 2)
    assert {op.seconds for op in step.ops if op.kind == "send"} == {pair}


def test_with_the_ring_of_nccl_shards_among_all_cost_more_than_a_copy_in_each_box(capsys):
    """A ring sends 15/16 of the parameters over the one card of a box, the fastest schedule half of them."""
    words = ["--on", "dgx-a100:2,card=12.5Gb/s", "--microbatches", "1", "--teraflops", "150", "--model"]
    times = {
        (plan, collectives): answer(
            capsys, *words, "Llama 3.1 8B", "--plan", plan, "--collectives", collectives
        )["time_s"]
        for plan in ("dp=16,zero=3", "dp=16,zero=3,replicate=2")
        for collectives in ("fastest", "nccl")
    }  # fmt: skip
    assert times["dp=16,zero=3", "fastest"] < times["dp=16,zero=3,replicate=2", "fastest"]
    assert times["dp=16,zero=3", "nccl"] > times["dp=16,zero=3,replicate=2", "nccl"]


@pytest.mark.parametrize(("cards", "ranks"), [([3], 2), ([3, 11], 2), ([3, 4, 5, 6], 5)])
def test_a_step_waits_for_the_card_that_carries_most_where_some_have_failed(cards, ranks, capsys):
    """A rank without a card takes its neighbor's, which is what executed schedules on that machine do as well."""
    faulty = ",".join(["dgx-h100:4", *(f"without=card {card}" for card in cards)])
    times = [
        answer(capsys, "--on", on, "--plan", "dp=32,zero=3", "--tokens", "512", "--collectives", "fastest")["time_s"]
        for on in ("dgx-h100:4", faulty, f"dgx-h100:4,card={50 / ranks}GB/s")
    ]
    assert times[0] < times[1] == times[2]
    machines = [find_topology(on) for on in ("dgx-h100:4", faulty)]
    most = [crossings(execute(channels.all_gather(machine), machine))["card"].most for machine in machines]
    assert most[1] == ranks * most[0]
    with pytest.raises(SystemExit):
        main(["step", "--on", faulty, "--plan", "dp=32"])
    assert f"each has {50 / ranks:g} GB/s of it, of 50 GB/s a card" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["step", "--on", faulty, "--plan", "dp=32", "--collectives", "nccl"])
    assert "for a job that is restarted (colllib predict); in a step messages" in capsys.readouterr().err


def test_a_step_with_a_failed_card_stands_beside_the_whole_machine_with_the_same_collectives(capsys):
    words = ["--plan", "tp=4,pp=2,dp=8", "--tokens", "1024"]
    whole = answer(capsys, "--on", "dgx-h100:8", *words, "--collectives", "fastest")["time_s"]
    for card in (3, 11):
        failed = answer(capsys, "--on", f"dgx-h100:8,without=card {card}", *words)
        assert failed["collectives"] == "fastest"
        assert failed["whole_machine_s"] == whole < failed["time_s"]
        with pytest.raises(SystemExit):
            main(["step", "--on", f"dgx-h100:8,without=card {card}", *words])
        shown = capsys.readouterr().out
        assert f"\nWith the same collectives the whole machine takes {units.seconds(whole, 4)}." in shown
        assert (
            "by detours, where NCCL fails, which is predicted for a job that is restarted (colllib predict)." in shown
        )
        assert "knows no such machine" not in shown
    with pytest.raises(SystemExit):
        main(["step", "--on", "dgx-h100:4,without=card 11", "--model", "Llama 3.1 8B", "--plan", "all",
              "--batch", "262144"])  # fmt: skip
    assert "Compare with --collectives fastest on the whole machine." in capsys.readouterr().out


@pytest.mark.parametrize("narrow", ["cards=4", "oversubscription=2", "cards=4,oversubscription=2"])
def test_a_rank_has_its_part_of_what_leaves_its_box(narrow, capsys):
    """With NCCL's collectives, too: they see a card of that bandwidth."""
    part = {"cards=4": 25, "oversubscription=2": 25, "cards=4,oversubscription=2": 12.5}[narrow]
    for words in (["--collectives", "nccl"], ["--collectives", "fastest"]):
        times = [
            answer(capsys, "--on", f"dgx-h100:4,{changed}", "--plan", "tp=8,dp=4", "--tokens", "512", *words)["time_s"]
            for changed in (narrow, f"card={part}GB/s")
        ]
        assert times[0] == times[1]
    alone = price("all-reduce", f"dgx-h100:4,{narrow}", 4, 8, 1e9).seconds  # of one rank in each of four boxes
    assert alone == pytest.approx(2 * 3 / 4 * 1e9 / (part * 1e9), rel=1e-3)


def test_all_plans_of_a_batch_are_those_that_fit_the_fastest_first(capsys):
    words = ["--on", "dgx-h100:1", "--tokens", "1024", "--batch", "16384", "--model"]
    result = answer(capsys, *words, "Llama 3.1 8B", "--plan", "all")
    plans = [row["plan"] for row in result["plans"]]
    assert [row["time_s"] for row in result["plans"]] == sorted(row["time_s"] for row in result["plans"])
    for row in (result["plans"][0], result["plans"][-1]):
        alone = answer(capsys, *words, "Llama 3.1 8B", "--plan", row["plan"])
        assert (alone["time_s"], alone["state_bytes"]) == (row["time_s"], row["state_bytes"])
        assert alone["batch"] == 16384
        assert row["tokens_per_s_per_gpu"] == pytest.approx(16384 / row["time_s"] / 8)
    # tp x pp x dp = 8 in powers of two are ten; six have several replicas: three without stages, and ZeRO-3 too
    assert len(plans) + result["too_large"] == 10 + 3 + 3
    assert {"dp=8,zero=3", "tp=2,pp=2,dp=2,zero=2"} <= set(plans)
    with pytest.raises(SystemExit):
        main(["step", *words, "Llama 3.1 8B", "--plan", "all"])
    shown = capsys.readouterr().out
    assert "16,384 tokens a step" in shown
    fixed = re.search(r"\nnot varied: cp, sp, replicate, (.*) and (\w+)\n", shown)
    options = {option.name for option in step_command.params} - {"as_json", "on", "plan", "model", "batch"}
    assert {*fixed[1].split(", "), fixed[2]} == options - {"microbatches"}
    in_json = {"bucket_bytes" if name == "bucket" else name for name in options}
    assert in_json <= set(alone)
    assert in_json - {"microbatches"} <= set(result)


@pytest.mark.parametrize(
    ("plan", "share", "head"),
    [
        ("dp=64,zero=3", 33.5, 8192 + 128256),
        ("tp=4,sp=1,dp=16", 33.5 / 4, (8192 + 128256) / 4),
        ("tp=4,dp=16", 8 + 25.5 / 4, 8192 + 128256 / 4),
        ("tp=4,sp=1,pp=4,dp=4", 33.5 / 4, 0),  # 4 microbatches of 20 layers
        ("tp=8,sp=1,pp=8,dp=1", 33.5 / 8, 0),
        ("tp=8,sp=1,cp=2,dp=4", 33.5 / 8 / 2, (8192 + 128256) / 8 / 2),
    ],
)
def test_activations_are_what_the_backward_of_a_layer_reads_again(plan, share, head, capsys):
    """70B in BF16, by units of 8,192: two norms and what they give are 4, and with attention 2 1/4, MLP 3 x 3.5 cut.

    Korthikanti and others (2022), section 4.3: with one stage also 4 sb (h + v) / t, as Megatron counts, too.
    """
    assert 2 * (2 + 2 / 8 + 3 * 28672 / 8192) == 25.5
    result = answer(capsys, "--on", "dgx-h100:8", "--plan", plan)
    assert result["activations_bytes"] == pytest.approx(share * 8192 * 8192 * 80 + 4 * 8192 * head)
    with pytest.raises(SystemExit):
        main(["step", "--on", "dgx-h100:8", "--plan", plan])
    assert f"activations take about {units.size(result['activations_bytes'])}" in capsys.readouterr().out


@pytest.mark.parametrize("sequence_parallel", [False, True])
def test_activations_are_those_of_korthikanti_but_for_dropout_in_a_model_like_theirs(sequence_parallel):
    """10 + 24 / t of a unit, or 34 / t, less two masks, which only SP cuts: a key-value head for each query head.

    Three widths of 8 / 3 are as many as two of 4. Qwen2.5 7B has an MLP of 5.3 widths, and keeps 30% more than 34.
    """
    theirs = replace(MODELS["Llama 3.1 8B"], hidden=3072, heads=24, kv_heads=24, ffn=8192)
    wide = replace(theirs, hidden=3584, heads=28, kv_heads=4, ffn=18944)
    plan = Plan(dp=2, tp=4, pp=2, sequence_parallel=sequence_parallel)
    of_unit = [
        Training(model, plan, "dgx-h100:2").activations(sequence_parallel=sequence_parallel) / 8192 / model.hidden / 16
        for model in (theirs, wide)
    ]
    assert of_unit[0] == pytest.approx((34 - 2) / 4 if sequence_parallel else 10 - 2 + 24 / 4)
    assert not sequence_parallel or of_unit[1] == pytest.approx(1.3 * 34 / 4, rel=0.005)


@pytest.mark.parametrize(("plan", "fits", "line"), [
    ("tp=8,pp=2,dp=8", False, "activations take about 60.1 GB (more than is left), 22.5 GB with sp=1, where"),
    ("tp=8,sp=1,pp=2,dp=8", True, "activations take about 22.5 GB, where"),
    ("dp=128,zero=3", False, "activations take about 184 GB (more than is left), where"),
    ("dp=128,zero=0", False, "activations take about 184 GB, where"),
])  # fmt: skip
def test_a_plan_fits_with_its_activations(plan, fits, line, capsys):
    """70B: two stages hold 2 of 16 microbatches, so 8,192 x 8,192 x 80 times 8 + 25.5 / 8 bytes, 33.5 / 8 or 33.5.

    One stage adds 4 x 8,192 x (8,192 + 128,256).
    """
    result = answer(capsys, "--plan", plan)
    whole = sum(result[f"{name}_bytes"] for name in ("state", "gathered", "activations"))
    assert result["fits"] is (whole <= 80e9) is fits
    with pytest.raises(SystemExit):
        main(["step", "--plan", plan])
    assert line in capsys.readouterr().out


@pytest.mark.parametrize(("plan", "warned"), [("tp=8,dp=4,ep=4", True), ("tp=8,dp=4", False), ("dp=32,ep=4", False)])
def test_the_command_says_what_experts_beside_tensor_parallelism_cost_here(plan, warned, capsys):
    with pytest.raises(SystemExit):
        main(["step", "--on", "dgx-h100:4", "--model", "Mixtral 8x7B", "--plan", plan])
    assert ("in Megatron, which demands sp=1 there" in capsys.readouterr().out) == warned


def test_all_plans_of_a_model_with_experts_are_without_tensor_parallelism(capsys):
    words = ["--on", "dgx-h100:2", "--model", "Mixtral 8x7B", "--tokens", "1024", "--batch", "65536", "--plan", "all"]
    result = answer(capsys, *words)
    plans = {*(row["plan"] for row in result["plans"]), *result["refused"]}
    assert plans
    assert not any("tp=" in plan for plan in plans)
    with pytest.raises(SystemExit):
        main(["step", *words])
    assert "\nnot varied: tp, cp, sp, replicate, tokens, " in capsys.readouterr().out


def test_all_plans_say_which_is_the_first_that_has_room_for_its_activations(capsys):
    """Uncut 34 x 32,768 x 4,096 x 32 + 4 x 32,768 x (4,096 + 128,256) = 163 GB."""
    words = ["--on", "dgx-h100:2", "--model", "Llama 3.1 8B", "--tokens", "32768", "--batch", "524288"]
    words += ["--plan", "all"]
    result = answer(capsys, *words)
    first = next(row for row in result["plans"] if row["with_activations_bytes"] <= 80e9)
    alone = answer(capsys, *words[:-1], f"{first['plan']},sp=1")
    parts = [alone[f"{name}_bytes"] for name in ("state", "gathered", "activations")]
    assert first["with_activations_bytes"] == pytest.approx(sum(parts))
    assert (first["microbatches"], result["tokens"]) == (alone["microbatches"], alone["tokens"])
    assert first != result["plans"][0]
    with pytest.raises(SystemExit):
        main(["step", *words])
    assert f"sp=1 where there is tp: {first['plan']} is the first that fits in the 80 GB" in capsys.readouterr().out


def test_the_command_names_a_larger_bucket_where_that_is_faster(capsys):
    words = ["--on", "dgx-h100:4", "--plan", "tp=8,dp=4", "--microbatches", "1", "--tokens", "2048"]
    result, larger = answer(capsys, *words), answer(capsys, *words, "--bucket", "200MB")
    assert (result["bucket_bytes"], larger["bucket_bytes"]) == (25e6, 200e6)
    with pytest.raises(SystemExit):
        main(["step", *words])
    saved = units.seconds(result["time_s"] - larger["time_s"])
    shown = capsys.readouterr().out
    assert f"in {result['buckets']} buckets of at least 25 MB, of whole weights" in shown
    assert f"; --bucket 200MB would save {saved}." in shown


def test_whether_experts_activations_fit_is_not_known(capsys):
    plans = ("dp=32,ep=8,zero=3", None), ("dp=32,zero=0", False)
    for plan, fits in plans:
        asked = ("--on", "dgx-h100:4", "--model", "Mixtral 8x7B", "--plan", plan)
        assert answer(capsys, *asked)["fits"] is fits


def test_a_result_says_what_was_asked(capsys):
    asked = {"plan": "tp=8,pp=2,dp=8,sp=1", "schedule": "interleaved", "chunks": 2, "tokens": 4096, "microbatches": 4}
    asked |= {"teraflops": 500, "model": "Llama 3.1 70B", "collectives": "fastest"}
    result = answer(capsys, *(word for name, value in asked.items() for word in (f"--{name}", str(value))))
    assert result["fits"] is True
    assert {name: result[name] for name in asked} == asked


def test_every_plan_is_listed_too_large_or_refused_with_why(capsys):
    words = ["--on", "mi300x:2", "--batch", "65536", "--plan"]
    result = answer(capsys, *words, "all")
    # tp x pp x dp = 16 in powers of two with tp up to 8 are fourteen; ten have replicas, and ZeRO-2 or 3 too
    assert len(result["plans"]) + result["too_large"] + len(result["refused"]) == 14 + 10
    assert set(result["refused"]) == {"dp=16", "dp=16,zero=3"}
    for plan, why in result["refused"].items():
        with pytest.raises(SystemExit):
            main(["step", *words, plan])
        assert capsys.readouterr().err == f"colllib: {why}\n"
    with pytest.raises(SystemExit):
        main(["step", *words, "all"])
    assert "left out: 2 plans that cannot run, such as dp=16: batch 65536: must" in capsys.readouterr().out


def test_without_a_split_of_the_layers_no_collective_is_in_them(capsys):
    [stage] = answer(capsys, "--on", "dgx-h100:1", "--plan", "dp=8")["stages"]
    assert stage["tp_s"] == stage["cp_s"] == stage["ep_s"] == 0
    assert stage["gradients_s"] > 0  # the all-reduces, as far as they are exposed


def test_what_a_stage_does_fills_the_step_also_where_collectives_in_its_layers_share_a_card(capsys):
    """CP's leave the box, as do the parameters that ZeRO-3 gathers meanwhile: both take longer than alone."""
    result = answer(capsys, "--plan", "cp=16,tp=8,zero=3", "--microbatches", "2")
    [stage] = result["stages"]
    assert isclose(sum(stage.values()), result["time_s"], rel_tol=1e-9)


def test_what_small_models_reached_is_told_by_the_formula_that_is_printed():
    """Table 3 of torchtitan's benchmarks on H100s of December 2024: FSDP without and with torch.compile."""
    active = sum(MODELS["Llama 3.1 8B"].of_layer(layer, 0) for layer in range(32))
    attention = 32 * 2 * 2 * 4096 * 8192 / 2  # forward, for sequences of 8,192 tokens
    low, high = (f"{3 * (2 * active + attention) * tokens / 989e12:.0%}" for tokens in (5605, 6514))
    assert f"reached {low} to {high} on 128 H100s" in NOT_COUNTED


QWEN_30B = {
    "head_dim": 128,
    "hidden_size": 2048,
    "intermediate_size": 6144,
    "moe_intermediate_size": 768,
    "num_attention_heads": 32,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "num_hidden_layers": 48,
    "num_key_value_heads": 4,
    "vocab_size": 151936,
}


def test_what_small_experts_reached_stands_beside_what_is_printed_for_the_same_step(tmp_path, capsys):
    (tmp_path / "config.json").write_text(json.dumps(QWEN_30B))
    words = ["--on", "dgx-h100:1", "--plan", "dp=8,ep=8,zero=3", "--model", str(tmp_path / "config.json")]
    flags = ("--tokens", "16384", "--sequence", "4096")
    result = answer(capsys, *words, *flags, "--microbatches", "16")
    assert f"where this prints {result['tokens_per_s_per_gpu']:,.0f} with {' '.join(flags)}." in OF_EXPERTS
    assert (result["sequence"], result["microbatches"]) == (4096, answer(capsys, *words, *flags)["microbatches"])
    assert result["batch"] == 512 * 4096  # as NVIDIA's


@pytest.mark.parametrize(
    ("words", "sends", "reach"),
    [
        ("--plan dp=16,ep=8 --model DeepSeek-V3", True, True),
        ("--plan all --batch 131072 --model Mixtral_8x7B", True, True),
        ("--plan dp=16 --model DeepSeek-V3", False, True),
        ("--plan dp=16,ep=8 --model DeepSeek-V3 --teraflops 300", True, False),
        ("--plan dp=16", False, False),
    ],
)
def test_what_is_said_of_experts_is_said_where_there_are_some(words, sends, reach, capsys):
    with pytest.raises(SystemExit) as left:
        main(["step", "--on", "dgx-h100:2", *(word.replace("_", " ") for word in words.split())])
    assert left.value.code == 0
    shown = capsys.readouterr().out
    assert (EP_SENDS in shown, OF_EXPERTS in shown) == (sends, reach)


@pytest.mark.parametrize(("plan", "expected"), [
    ("tp=8,dp=2", [TP_WAITS]),
    ("cp=8,dp=2", [CP_WAITS]),
    ("tp=4,cp=4", [TP_WAITS, CP_WAITS]),
    ("dp=16", []),
    ("all", [TP_WAITS]),
])  # fmt: skip
def test_the_command_says_what_megatron_hides_of_what_waits_in_layers(plan, expected, capsys):
    with pytest.raises(SystemExit):
        main(["step", "--on", "dgx-h100:2", "--plan", plan, "--batch", "131072"])
    shown = capsys.readouterr().out.splitlines()
    assert [line for line in shown if line in (TP_WAITS, CP_WAITS)] == expected
