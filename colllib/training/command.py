"""The commands `colllib step` and `colllib experts`."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import product
from operator import itemgetter
from typing import Any

import click
import numpy as np

from colllib import units
from colllib.cli_io import Answer, answered, progress, quantity, table, whole
from colllib.exact import IntArray
from colllib.execution import execute
from colllib.ladder import topology
from colllib.limits import check_size
from colllib.measured.predict import predict
from colllib.metrics import crossings
from colllib.parallelism import BF16, FP32, Model, Plan
from colllib.topology import Topology
from colllib.topology.cluster import machine_on, preset_of
from colllib.topology.expression import before_failures
from colllib.topology.machines import Machine
from colllib.training import experts as routing
from colllib.training.model_file import model_of
from colllib.training.prices import boxed, tiers
from colllib.training.step import BUCKET, SPENT, Training, simulate, spent
from colllib.training.timeline import Step

AXES = ("tp", "pp", "dp", "ep", "cp", "zero", "replicate")
PLAN_HELP = (
    "axes whose product is the number of ranks, tp, pp, dp and cp; ep, of the ranks of dp and cp; zero, from 0 to 3 "
    "(FSDP), 1 if not named; replicate, the copies of what zero shards (HSDP), as in dp=128,zero=3,replicate=16, whose "
    "gradients are summed once a step (in FSDP2 only with set_requires_all_reduce); and sp=1, for sequence parallelism "
    "over the ranks of tp. Or all: every tp in a box (1 with experts), pp, dp and ep in powers of two, with zero 1 "
    "and, of several replicas, 2 with stages or 3 without (default: the first of tp=8, 16, 4 and 2, with pp=2 or 1, "
    "that fills boxes and can be priced, and dp for the rest)"
)
COLLECTIVES = ("fastest", "nccl")
#: What an H100 reaches in matrix products alone, and its peak, in TFLOP/s. With it and ZeRO-1 Llama 3.1 405B comes out
#: within 3% of the means over whole steps that were published, 400 on 16,384 GPUs, 430 on 8,192 and, for sequences of
#: 131,072 tokens, 380 on 16,384 (The Llama 3 Herd of Models, 2024, table 4): what else took their time and is left out
#: here is in it. Others reach as much of their peak.
REACHED = 630, 989
NOT_COUNTED = (
    "Norms, logits, the optimizer and what is computed again are not counted, and weigh more in small models: "
    "by the formula of MFU here ZeRO-3 of Llama 3.1 8B reached 27% to 32% on 128 H100s of 500 W (torchtitan, 2024)."
)
#: NVIDIA's figure: NeMo AutoModel, docs/performance-summary.md at commit 01926a5, 16 times 4 sequences of 4,096 tokens.
OF_EXPERTS = (
    "\nSmall experts reach less: with dp=8,ep=8,zero=3 on 8 H100s Qwen3 30B-A3B ran at 12,040 tokens/s a GPU (NVIDIA "
    "AutoModel, 2025), where this prints 18,856 with --tokens 16384 --sequence 4096."
)
#: Megatron's flag: megatron/core/transformer/moe/README.md at commit d98e8a6.
EP_SENDS = (
    "EP sends a copy for each expert of a token, in BF16, and waits; DeepEP sends one for each box, and Megatron's "
    "--overlap-moe-expert-parallel-comm computes meanwhile."
)
#: megatron/core/tensor_parallel/layers.py and, for --cp-comm-type, megatron/training/arguments.py at commit d98e8a6.
TP_WAITS = (
    "TP waits in both passes; Megatron hides the backward's collectives behind weights' gradients while these last."
)
CP_WAITS = "CP waits for its gathers; Megatron's default, a ring, computes meanwhile."
LARGER = 8  # times the bucket that is tried beside it


def read_plan(text: str) -> Plan:
    """A plan such as "tp=8,pp=2,dp=8"; what is not named is 1, ZeRO's level included.

    >>> read_plan("tp=8,pp=2,dp=8").gpus
    128
    """
    axes: dict[str, Any] = {}
    named = units.shortened(text)
    for part in text.split(","):
        name, _, value = part.partition("=")
        if name not in (*AXES, "sp"):
            raise ValueError(
                f"plan {named!r}: write axes among {', '.join(AXES)}, sp, as in tp=8,pp=2,dp=8, or for FSDP "
                "dp=64,zero=3"
            )
        if name in axes:
            raise ValueError(f"plan {named!r}: {name} is given twice")
        axes[name] = units.whole(f"plan: {name}", value, f"{name}=2")
    sequence = axes.pop("sp", 0)
    if sequence > 1 or (sequence and axes.get("tp", 1) == 1):
        raise ValueError(f"plan {named!r}: sp is 0 or, over tp ranks, 1, as in tp=8,sp=1")
    return Plan(**axes, sequence_parallel=bool(sequence))


@click.command("step")
@click.option("--on", default="dgx-h100:16", help="boxes with speeds, such as dgx-h100:16,card=100Gb/s")
@click.option("--plan", help=PLAN_HELP)
@click.option("--model", default="Llama 3.1 70B", help="a published model, or the path of its config.json")
@click.option("--tokens", type=whole(1), default="8192", help="of a microbatch")
@click.option(
    "--sequence",
    type=whole(1),
    help="tokens that attend to each other (default: those of a microbatch)",
)
@click.option("--microbatches", type=whole(), help="of a replica's step (default: 16)")
@click.option("--batch", type=whole(1), help="tokens of a step over all ranks, which then says the microbatches")
@click.option(
    "--teraflops",
    type=whole(),
    help="of a rank's matrix products alone, in 10^12 operations a second; waits are added, so it is more than a mean "
    "over a step, such as MFU times the peak "
    f"(default: {REACHED[0] / REACHED[1]:.0%} of the peak in dense BF16, or {REACHED[0]})",
)
@click.option("--schedule", default="1f1b", help="gpipe, 1f1b, interleaved or zb-h1")
@click.option("--chunks", type=whole(), default="1", help="of interleaved stages")
@click.option(
    "--bucket",
    type=quantity("message size"),
    help="least bytes of gradients that leave at once up to zero=1; a weight is not cut, however large (default: 25MB)",
)
@click.option(
    "--collectives", help="nccl, as it is predicted, the default where colllib predict knows the machine, or fastest"
)
@answered
def step_command(
    on: str,
    plan: str | None,
    model: str,
    tokens: int,
    microbatches: int | None,
    batch: int | None,
    teraflops: int | None,
    collectives: str | None,
    **others: Any,
) -> Answer:
    """A training step as a timeline.

    How long it takes, and what each stage does meanwhile. Its collectives take what NCCL is predicted to take, or the
    fastest schedules known in which no switch adds, which can turn the order of two plans.
    """
    sizes = model_of(model)
    if collectives is None:
        collectives = "nccl" if _machine(on) and ",without=" not in on else "fastest"
    if collectives not in COLLECTIVES:
        raise ValueError(f"collectives {units.shortened(collectives)!r}: must be {' or '.join(COLLECTIVES)}")
    if batch is not None and microbatches is not None:
        raise ValueError(f"batch {batch} and microbatches {microbatches}: each says the other, so give one of them")
    peak, (rate, of), assumed = _gpu(on, "teraflops"), REACHED, ""
    if teraflops is None:
        teraflops = round(peak * rate / of) if peak else rate
        share = f", {rate / of:.0%} of the peak" if peak else ""
        assumed = (
            f"\n{teraflops} TFLOP/s a GPU are assumed for matrix products alone{share}, with which three published "
            "steps of Llama 3.1 405B on H100s come out by ZeRO-1. What yours reach goes into --teraflops: no mean over "
            f"a step, in which waits would count twice.\n{NOT_COUNTED}{OF_EXPERTS if sizes.experts else ''}"
        )
        if (machine := _machine(on)) and machine.vendor == "amd":
            assumed += (
                f"\n{teraflops} may be too much: one H200, for which {rate} are assumed, trained an 8B model 1.32 to "
                "1.40 times as fast as one MI300X (github.com/alpharomercoma/MI300X-vs-H200)."
            )
    if peak and teraflops > peak:
        raise ValueError(f"teraflops {teraflops}: more than {on} computes in BF16, {peak} by its data sheet")
    others |= {"tokens": tokens, "rate": 1e12 * teraflops, "nccl": collectives == "nccl"}
    if plan == "all":
        if batch is None:
            raise ValueError("plan 'all': plans are compared with one --batch in tokens, such as --batch 1048576")
        yield from _compared(sizes, on, batch, others)
    else:
        chosen = _usual(sizes, on) if plan is None else read_plan(plan)
        if microbatches is None:
            microbatches = 16 if batch is None else _microbatches(batch, chosen, tokens)
        training = Training(sizes, chosen, on, microbatches=microbatches, **others)
        yield from _timeline(training, simulate(training))
    if assumed:
        yield assumed


def _usual(model: Model, on: str) -> Plan:
    """Layers over 8 ranks of a box, or over 16, 4 or 2 where those cannot be priced, in two stages or one."""
    ranks, box = topology(on).ranks, tiers(on).in_box
    for tp, pp in product((8, 16, 4, 2), (2, 1)):
        if box % tp == ranks % (tp * pp) == 0:
            plan = Plan(tp=tp, pp=pp, dp=ranks // (tp * pp))
            with suppress(ValueError):
                simulate(Training(model, plan, on))
                return plan
    return Plan(dp=ranks)


def _microbatches(batch: int, plan: Plan, tokens: int) -> int:
    """How many microbatches of a replica make a step."""
    count, rest = divmod(batch, plan.dp * tokens)
    if rest or not count:
        raise ValueError(f"batch {batch}: must be a multiple of dp x tokens = {plan.dp} x {tokens}")
    return count


def _gpu(on: str, figure: str) -> Any:
    """What a preset knows of its GPU, or of the one that is named or told by a file, or nothing."""
    return getattr(preset_of(on), figure, None)


def _machine(on: str) -> Machine | None:
    """The one that NCCL's model knows, or nothing."""
    with suppress(units.BadText):
        return machine_on(on)
    return None


def _priced(nccl: bool, on: str) -> str:
    """What the collectives take, in words."""
    machine = _machine(on)
    if nccl and machine and machine.vendor == "amd":
        return "Collectives take what NCCL is predicted to take on such links; RCCL's own choices are not modeled."
    if nccl:
        return (
            "Collectives take what NCCL is predicted to take; with --collectives fastest, the fastest schedules known."
        )
    other = "NCCL's model knows no such machine."
    if ",without=" in on:
        other = "by detours, where NCCL fails, which is predicted for a job that is restarted (colllib predict)."
    elif ",rails=" in on:
        other = "leave rails out for what NCCL is predicted to take, which is the same on them."
    elif machine:
        other = "with --collectives nccl, what NCCL is predicted to take."
    return f"Collectives take the fastest schedules known in which no switch adds; {other}"


def _plans(model: Model, ranks: int, box: int) -> Iterator[Plan]:
    """Those that `PLAN_HELP` names; of a single replica ZeRO shards nothing."""
    powers = [2**k for k in range(ranks.bit_length()) if ranks % 2**k == 0]
    tps, eps = ([1], powers) if model.experts else (powers, [1])  # experts and tp go with sp, which is not modeled
    for tp, pp, ep in product(tps, powers, eps):
        if box % tp == 0 and ranks % (tp * pp) == 0 and ranks // (tp * pp) % ep == 0:
            dp = ranks // (tp * pp)
            for zero in (1, 2 if pp > 1 else 3) if dp > 1 else (1,):
                yield Plan(dp=dp, tp=tp, pp=pp, ep=ep, zero=zero)


def _compared(model: Model, on: str, batch: int, others: dict[str, Any]) -> Answer:
    """All plans that a machine can run, the fastest first."""
    machine, memory = topology(on), _gpu(on, "memory")
    box = tiers(on).in_box
    fit, too_large, refused = [], 0, dict[str, str]()
    with progress(_plans(model, machine.ranks, box), _named) as offered:
        for plan in offered:
            try:
                count = _microbatches(batch, plan, others["tokens"])
                training = Training(model, plan, on, microbatches=count, **others)
                if memory is None or training.state + training.gathered <= memory:
                    fit.append((simulate(training).seconds, training))
                else:
                    too_large += 1
            except ValueError as error:  # a plan that cannot be
                refused[_named(plan)] = str(error)
    of_those = next((f"such as {named}: {why}" for named, why in refused.items()), "")
    if not fit:
        too_little = f"{too_large} plans do not fit in the {units.size(memory or 0)} of a GPU" if too_large else ""
        none = f"no plan can run, {of_those}" if refused else ""
        raise ValueError(f"{model.name} on {on}: {'; '.join(filter(None, (too_little, none)))}")
    plans, rows = [], []
    for seconds, training in sorted(fit, key=itemgetter(0)):
        named, rate, state = _named(training.plan), batch / seconds / machine.ranks, training.state
        kept = training.activations(sequence_parallel=True)
        whole = None if kept is None else state + training.gathered + kept
        plans.append({"plan": named, "time_s": seconds, "tokens_per_s_per_gpu": rate, "state_bytes": state})
        plans[-1] |= {"microbatches": training.microbatches, "with_activations_bytes": whole}
        cells = units.seconds(seconds, 4), f"{rate:,.0f}", units.size(state), units.size(whole) if whole else ""
        rows.append((named, training.microbatches, *cells))
    alike = _settings(fit[0][1])
    del alike["microbatches"]
    yield {
        "machine": on,
        "model": model.name,
        "batch": batch,
        **alike,
        "how": sorted(set().union(*(training.hows for _, training in fit))),
        "too_large": too_large,
        "refused": refused,
        "plans": plans,
    }
    yield f"{model.name} on {on}, {batch:,} tokens a step, in sequences of {alike['sequence']:,}\n"
    yield table(("plan", "microbatches", "time", "tokens/s a GPU", "state a GPU", "with activations"), rows)
    yield f"\n{_of_activations(plans, memory)}"
    if too_large:
        least = "state and gathered layers are larger"
        yield f"\nleft out: {too_large} plans whose {least} than the {units.size(memory or 0)} of a GPU"
    if refused:
        yield f"\nleft out: {units.several(len(refused), 'plan')} that cannot run, {of_those}"
    yield f"\n{EP_SENDS if model.experts else TP_WAITS}"
    names = [*["tp"] * bool(model.experts), "cp", "sp", "replicate", *alike]
    yield f"\nnot varied: {', '.join(names[:-1])} and {names[-1]}".replace("_bytes", "")
    yield f"\n{_priced(others['nccl'], on)}"
    if ",without=" in on:
        yield "Compare with --collectives fastest on the whole machine."


def _of_activations(plans: list[dict[str, Any]], memory: float | None) -> str:
    """What a table of plans counts of them, and the first plan that has room."""
    sizes = {row["plan"]: row["with_activations_bytes"] for row in plans}
    if None in sizes.values():
        return "activations, which take memory too, are not counted with experts"
    counted = "with activations, of which none is computed again, and with sp=1 where there is tp"
    if memory is None:
        return counted
    first = next((f"{name} is the first" for name, size in sizes.items() if size <= memory), "none of them")
    return f"{counted}: {first} that fits in the {units.size(memory)} of a GPU"


def _named(plan: Plan) -> str:
    """As it is written."""
    axes = {name: getattr(plan, name) for name in AXES}
    named = [f"{name}={value}" for name, value in axes.items() if value != 1 or name == "dp"]
    return ",".join([*named, *(["sp=1"] if plan.sequence_parallel else [])])


def _timeline(training: Training, step: Step) -> Answer:
    """One plan: what each stage does."""
    stages = [spent(step, stage) for stage in range(training.plan.pp)]
    result, model, on = _described(training, step, stages), training.model, training.machine
    yield result
    rate = result["tokens_per_s_per_gpu"]
    speed = f"{result['batch']:,} tokens in {units.seconds(step.seconds, 4)}, {rate:,.0f} tokens/s a GPU"
    what = f"{model.name}, {model.layers} layers, {result['plan']} on {on} at {training.rate / 1e12:g} TFLOP/s"
    yield f"{what}: a step of {speed}"
    yield _of_memory(training, result["memory_bytes"])
    names = [name for name in SPENT if any(took[name] for took in stages)]
    parts = [
        [f"{units.seconds(took[name])}, {units.percent(took[name] / step.seconds)}" for name in names]
        for took in stages
    ]
    yield table(("stage", *names), [(stage, *row) for stage, row in enumerate(parts)])
    behind = " (behind the next forward with Megatron's --overlap-param-gather)"
    hides = behind * (training.plan.zero == 1 < training.plan.replicas)
    parts_exposed = f"collectives in layers (TP, CP, EP), gathers of parameters{hides}, sums of gradients"
    yield f"\nAll but computing is exposed: {parts_exposed}, and the bubble, a wait for other stages or their messages."
    axes = (training.plan.tp, TP_WAITS), (training.plan.cp, CP_WAITS), (training.plan.ep, EP_SENDS)
    yield from (sentence for ranks, sentence in axes if ranks > 1)
    if training.plan.ep > 1 < training.plan.tp:
        yield "Each rank of tp sends all its tokens to experts: in Megatron, which demands sp=1 there, it is a tp-th."
    if result["mfu"] is not None:
        met = model.active - model.ends(1)[0]
        active = f"{met / 1e9:,.1f} billion parameters that a token meets in the layers"
        attention = f"{result['flops_per_token'] / 6 / met:.2f} with causal attention over {training.attends:,} tokens"
        formula = f"6 x {active} x {attention} x {rate:,.0f} tokens/s / {_gpu(on, 'teraflops')} TFLOP/s"
        yield f"MFU: {100 * result['mfu']:.1f}% = {formula}."
    if result["buckets"] is not None:
        yield f"\n{_of_buckets(training, step, result['buckets'])}"
    alone, wide = boxed(on).speeds[1][-1], tiers(on).bandwidth[1]  # type: ignore[index]
    if wide < alone:
        part = (
            f"where the way out of a box is narrowest, each has {units.rate(wide)} of it, of {units.rate(alone)} a card"
        )
        yield f"\nAll ranks send at once, and {part}: all are priced so, since they wait for these."
    yield f"\n{_priced(training.nccl, on)}"
    if (whole := result["whole_machine_s"]) is not None:
        yield f"With the same collectives the whole machine takes {units.seconds(whole, 4)}."


def _described(training: Training, step: Step, stages: list[dict[str, float]]) -> dict[str, Any]:
    """One plan as JSON: what was asked, and what comes out."""
    plan, on = training.plan, training.machine
    batch = training.tokens * training.microbatches * plan.dp
    rate, peak, memory = batch / step.seconds / plan.gpus, _gpu(on, "teraflops"), _gpu(on, "memory")
    intact, failed = before_failures(on)
    kept = training.activations(sequence_parallel=plan.sequence_parallel)
    needed = training.state + training.gathered + (kept or 0)
    model = training.model
    operations = 6 * (model.active - model.ends(1)[0]) + 3 * model.layers * model.attention(training.attends)
    sums = Counter(step.ops[i].kind for i in step.on("network 0"))
    in_buckets = plan.zero < 2 and plan.replicas > 1
    return {
        "machine": on,
        "model": training.model.name,
        "plan": _named(plan),
        **_settings(training),
        "bucket_bytes": (training.bucket or BUCKET) if in_buckets else None,
        "buckets": sums["reduce-scatter"] + sums["all-reduce"] if in_buckets else None,
        "layers": training.model.layers,
        "ranks": plan.gpus,
        "operations": len(step.ops),
        "batch": batch,
        "how": sorted(training.hows),
        "time_s": step.seconds,
        "whole_machine_s": simulate(replace(training, machine=intact)).seconds if failed else None,
        "tokens_per_s_per_gpu": rate,
        "flops_per_token": operations,
        "mfu": operations * rate / (1e12 * peak) if peak else None,
        "state_bytes": training.state,
        "gathered_bytes": training.gathered,
        "activations_bytes": kept,
        "memory_bytes": memory,
        "fits": None if memory is None or (kept is None and needed <= memory) else needed <= memory,
        "stages": [
            {f"{name.lower().replace('-', '_')}_s": seconds for name, seconds in took.items()} for took in stages
        ],
    }


def _settings(training: Training) -> dict[str, Any]:
    """All that was asked of a step but model, machine and plan, as JSON names it."""
    others = vars(training) | {"sequence": training.attends, "teraflops": training.rate / 1e12}
    others |= {"bucket_bytes": others["bucket"], "collectives": COLLECTIVES[training.nccl]}
    apart = ("model", "plan", "machine", "rate", "bucket", "nccl", "hows")
    return {name: value for name, value in others.items() if name not in apart}


def _of_memory(training: Training, memory: float | None) -> str:
    """What a GPU holds, in words."""
    needed, room, plan = training.state + training.gathered, "", training.plan
    if memory is not None and needed > memory:
        room = f", which has {units.size(memory)}: they do not fit"
    elif memory is not None:
        room = f", which leaves {units.size(memory - needed)} of {units.size(memory)} for activations"
    states = "parameters, gradients and optimizer states"
    if training.gathered:
        states += f", and {units.size(training.gathered)} for two gathered layers (without a layer's whole gradients),"
    text = f"{states} take about {units.size(needed)} a GPU{room}\n"
    kept = [training.activations(sequence_parallel=cut) for cut in (plan.sequence_parallel, True)]
    if kept[0] is None or kept[1] is None:
        return text
    lack = " (more than is left)" if memory is not None and needed <= memory < needed + kept[0] else ""
    cut = f", {units.size(kept[1])} with sp=1" if kept[1] < kept[0] else ""
    return f"{text}activations take about {units.size(kept[0])}{lack}{cut}, where none is computed again\n"


def _of_buckets(training: Training, step: Step, count: int) -> str:
    """In how many the gradients leave, and whether larger ones would be faster."""
    largest = max(n for layer in training.layers(0) for _, (n, *_) in training.weights(layer)) * FP32
    least = training.bucket or BUCKET
    text = (
        f"Stage 0 sends its layers' gradients in {count} buckets of at least {units.size(least)}, "
        f"of whole weights of up to {units.size(largest)}"
    )
    saved = step.seconds - simulate(replace(training, bucket=LARGER * least)).seconds
    if saved < 1e-3 * step.seconds:
        return f"{text}."
    return f"{text}; --bucket {units.size(LARGER * least).replace(' ', '')} would save {units.seconds(saved)}."


GATES = {"uniform": 0.0, "zipf": 1.0}  # exponents
MOST_RANKS, USUAL_EXPERTS = 512, 64
WIDTHS = {"BF16": BF16, "FP8": 1}  # bytes of a number


@click.command("experts")
@click.option("--on", default="dgx-h100:4", help="where tokens and experts are")
@click.option("--experts", type=whole(1), help="divided evenly among the ranks (default: 64, or the next that can be)")
@click.option("--redundant", type=whole(), default="0", help="copies of the busiest experts, with which all are placed")
@click.option("--top-k", type=whole(), default="8", help="experts that a token chooses")
@click.option("--most-boxes", type=whole(1), help="that a token's experts may be in, 4 in DeepSeek-V3 (default: all)")
@click.option("--tokens", type=whole(), default="64", help="of a rank")
@click.option("--width", type=whole(1, 2**20), default="7168", help="of a token's vector, by default DeepSeek-V3's")
@click.option("--capacity", default=None, help="of an expert, in means of the load over all ranks; without it no limit")
@click.option("--gate", default="uniform", help="uniform, or zipf: the k-th most popular expert 1/k times as often")
@answered
def experts_command(
    on: str,
    experts: int | None,
    redundant: int,
    top_k: int,
    most_boxes: int | None,
    tokens: int,
    width: int,
    capacity: str | None,
    gate: str,
) -> Answer:
    """Tokens choose experts: what the busiest links carry.

    How uneven the choice is, and how many tokens are dropped. M is what a rank's tokens are for all experts that they
    choose, tokens times top-k vectors. On a machine with speeds the schedule that is counted is priced, too.
    """
    fabric = topology(on)
    if gate not in GATES:
        raise ValueError(f"unknown gate {units.shortened(gate)!r}: known are {', '.join(GATES)}")
    check_size("tokens for every expert", fabric.ranks, MOST_RANKS, "ranks")
    if experts is None:
        experts = -(-(USUAL_EXPERTS + redundant) // fabric.ranks) * fabric.ranks - redundant
    chosen, placement = _chosen(fabric, experts, redundant, most_boxes, (tokens, top_k), GATES[gate])
    if capacity is not None:
        chosen = routing.with_capacity(chosen, _decimal("capacity", capacity))
    destinations = routing.destinations(chosen, placement)
    copy, rank = _busiest(chosen, destinations)
    busiest: dict[str, dict[str, float]] = {}
    vectors, times = tokens * top_k, dict[str, dict[str, float]]()
    sizes = {name: vectors * width * size for name, size in WIDTHS.items()}
    for copies in routing.COPIES[: 2 + (0 < fabric.in_box < fabric.ranks and fabric.ranks % fabric.in_box == 0)]:
        run = execute(routing.dispatch(fabric, destinations, copies), fabric)
        busiest[copies] = {tier: float(load.most) for tier, load in crossings(run).items()}
        if fabric.speeds:
            alpha, bandwidth = fabric.speeds
            priced = {name: run.cost.seconds(message=m, alpha=alpha, bandwidth=bandwidth) for name, m in sizes.items()}
            times[copies] = priced
    machine = _machine(on)
    alike = {name: predict(machine, "all-to-all", m).seconds for name, m in sizes.items()} if machine else {}
    yield {
        "topology": fabric.name,
        "gate": gate,
        "ranks": fabric.ranks,
        "experts": experts,
        "redundant": redundant,
        "top_k": top_k,
        "most_boxes": most_boxes,
        "tokens": tokens,
        "width": width,
        "capacity": capacity,
        "message_bytes": sizes,
        "imbalance": chosen.imbalance,
        "imbalance_of_copies": copy,
        "imbalance_of_ranks": rank,
        "dropped": chosen.dropped,
        "vectors_of_M": vectors,
        "busiest_M": busiest,
        "time_s": times,
        "how": run.how,
        "nccl_all_to_all_s": alike,
    }
    dropped = f"{100 * chosen.dropped:.1f}% of the choices dropped"
    copied = f", its busiest copy {copy:.2f} times" if redundant else ""
    yield f"busiest expert: {chosen.imbalance:.2f} times the mean of an expert{copied}, {dropped}"
    turns = "; tokens take turns between copies, not knowing which of them chose the expert" if redundant else ""
    yield f"busiest rank: {rank:.2f} times the mean of a rank, which is how long all compute{turns}\n"
    yield _table_of_copies(busiest, times)
    size = " and ".join(f"{units.size(size)} in {name}" for name, size in sizes.items())
    counted = f"{tokens:,} x {top_k} = {vectors:,}, {size} at a width of {width:,}, without scales"
    yield f"\nM is a vector for each choice of a rank's tokens: {counted}."
    if alike:
        predicted = " and ".join(f"{units.seconds(seconds)} in {name}" for name, seconds in alike.items())
        yield f"NCCL is predicted to take {predicted} where all ranks get equally many; the combine is as long in BF16."


def _chosen(
    fabric: Topology, experts: int, redundant: int, most_boxes: int | None, drawn: tuple[int, int], exponent: float
) -> tuple[routing.Routing, routing.Placement]:
    """Which experts the tokens of each rank choose, so many and so many for each, and where the experts are."""
    in_box = fabric.in_box or fabric.ranks
    if most_boxes and (redundant or fabric.ranks % in_box):
        raise ValueError(
            f"most_boxes = {most_boxes}: boxes must be of one size, and hold experts in order, without redundant ones"
        )
    placement = () if redundant else routing.contiguous(experts, fabric.ranks)
    limit = {"boxes": fabric.ranks // in_box, "most_boxes": most_boxes} if most_boxes else {}
    tokens, top_k = drawn
    chosen = routing.zipf_routing(fabric.ranks, tokens, experts, top_k, exponent, **limit)
    return chosen, routing.by_load(chosen.load, fabric.ranks, redundant) if redundant else placement


def _decimal(what: str, text: str) -> Fraction:
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
        raise ValueError(f"{what} {units.shortened(text)!r}: must be a decimal number, as in 1.25")
    return Fraction(text)


def _table_of_copies(busiest: dict[str, dict[str, float]], times: dict[str, dict[str, float]]) -> str:
    """What the busiest link of each tier carries, and how long that takes, by what is sent once."""
    rows = [
        (copies, *(f"{most:.3f} M" for most in loads.values()), *map(units.seconds, times.get(copies, {}).values()))
        for copies, loads in busiest.items()
    ]
    return table(("sent once", *busiest["per rank"], *(times and WIDTHS)), rows)


def _busiest(chosen: routing.Routing, destinations: IntArray) -> tuple[float, float]:
    """What the busiest copy of an expert gets over the mean of an expert, and the busiest rank over that of a rank."""
    ranks, served = len(chosen.chosen), destinations >= 0
    copies = np.bincount(chosen.chosen[served] * ranks + destinations[served])
    of_ranks = np.bincount(destinations[served])
    return float(copies.max() * chosen.experts / served.size), float(of_ranks.max() * ranks / served.size)
