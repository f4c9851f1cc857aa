"""The commands `colllib step` and `colllib experts`."""

import re
from fractions import Fraction
from math import fsum
from typing import Any

import click

from colllib import units
from colllib.cli_io import Answer, answered, quantity, table, whole
from colllib.execution import execute
from colllib.ladder import topology
from colllib.limits import check_size
from colllib.metrics import crossings
from colllib.parallelism import MODELS, Plan
from colllib.topology.presets import PRESETS
from colllib.training import experts as routing
from colllib.training.pipelines import compute
from colllib.training.step import Training, simulate

AXES = ("tp", "pp", "dp", "ep", "cp", "zero", "replicate")
PLAN_HELP = (
    "axes whose product is the number of ranks, tp, pp, dp and cp; ep, of the ranks of dp and cp; zero, from 0 to 3 "
    "(FSDP), 1 if not named; and replicate, the copies of what zero shards (HSDP), as in dp=128,zero=3,replicate=16"
)


def read_plan(text: str) -> Plan:
    """A plan such as "tp=8,pp=2,dp=8"; what is not named is 1, ZeRO's level included.

    >>> read_plan("tp=8,pp=2,dp=8").gpus
    128
    """
    axes: dict[str, Any] = {}
    named = units.shortened(text)
    for part in text.split(","):
        name, _, value = part.partition("=")
        if name not in AXES:
            raise ValueError(f"plan {named!r}: write axes among {', '.join(AXES)}, as in tp=8,pp=2,dp=8")
        if name in axes:
            raise ValueError(f"plan {named!r}: {name} is given twice")
        axes[name] = units.whole(f"plan: {name}", value, f"{name}=2")
    return Plan(**axes)


@click.command("step")
@click.option("--on", default="dgx-h100:16", help="boxes with speeds, such as dgx-h100:16,card=100Gb/s")
@click.option("--plan", default="tp=8,pp=2,dp=8", help=PLAN_HELP)
@click.option("--model", default="Llama 3.1 70B", help="a published model")
@click.option("--tokens", type=whole(), default="8192", help="of a microbatch")
@click.option("--microbatches", type=whole(), default="16", help="of a replica's step")
@click.option("--teraflops", type=whole(), default="400", help="that a rank sustains, in 10^12 operations a second")
@click.option("--schedule", default="1f1b", help="gpipe, 1f1b, interleaved or zb-h1")
@click.option("--chunks", type=whole(), default="1", help="of interleaved stages")
@click.option(
    "--bucket",
    type=quantity("message size"),
    help="gradients sent at once, in whole layers, up to zero=1 (default: 25MB)",
)
@answered
def step_command(on: str, plan: str, model: str, teraflops: int, **others: Any) -> Answer:
    """A training step as a timeline.

    How long it takes, and what each stage does meanwhile. Its collectives take the fastest schedules known in which no
    switch adds; what NCCL runs may take longer (colllib predict).
    """
    if model not in MODELS:
        raise ValueError(f"unknown model {units.shortened(model)!r}: known are {', '.join(MODELS)}")
    training = Training(MODELS[model], read_plan(plan), on, rate=1e12 * teraflops, **others)
    step, stages = simulate(training), []
    for stream in map(compute, range(training.plan.pp)):
        took = [(step.ops[i].kind in "FBW", step.end[i] - step.start[i]) for i in step.on(stream)]
        computing = fsum(seconds for computes, seconds in took if computes)
        collectives = fsum(seconds for computes, seconds in took if not computes)
        stages.append({"computing_s": computing, "collectives_in_layers_s": collectives, "idle_s": step.idle(stream)})
    layers, preset = training.model.layers, PRESETS.get(on.partition(":")[0])
    memory = preset.memory if preset else None
    yield {
        "machine": on,
        "model": model,
        "layers": layers,
        "ranks": training.plan.gpus,
        "operations": len(step.ops),
        "time_s": step.seconds,
        "state_bytes": training.state,
        "memory_bytes": memory,
        "stages": stages,
    }
    yield f"{model}, {layers} layers, on {on} at {teraflops} TFLOP/s: {units.seconds(step.seconds, 4)} a step"
    yield _room(training.state, memory) + "\n"
    rows = [(stage, *map(units.seconds, times.values())) for stage, times in enumerate(stages)]
    yield table(("stage", "computing", "collectives in layers", "idle"), rows)
    yield "\nCollectives take the fastest schedules known; what NCCL runs may take longer: see colllib predict."


def _room(state: float, memory: float | None) -> str:
    """What is left of a GPU's memory."""
    needed = f"parameters, gradients and optimizer states take at most {units.size(state)} a GPU"
    if memory is None:
        return needed
    if state > memory:
        return f"{needed}, which has {units.size(memory)}: they do not fit"
    return f"{needed}, which leaves {units.size(memory - state)} of {units.size(memory)} for activations"


GATES = {"uniform": 0.0, "zipf": 1.0}  # exponents
MOST_RANKS = 256


@click.command("experts")
@click.option("--on", default="boxes:4x8", help="where tokens and experts are")
@click.option("--experts", type=whole(), default="64", help="divided evenly among the ranks")
@click.option("--top-k", type=whole(), default="8", help="experts that a token chooses")
@click.option("--tokens", type=whole(), default="64", help="of a rank")
@click.option("--capacity", default=None, help="of an expert, in means of the load over all ranks; without it no limit")
@click.option("--gate", default="zipf", help="uniform or zipf")
@answered
def experts_command(on: str, experts: int, top_k: int, tokens: int, capacity: str | None, gate: str) -> Answer:
    """Tokens choose experts: what the busiest links carry.

    How uneven the choice is, and how many tokens are dropped.
    """
    fabric = topology(on)
    if gate not in GATES:
        raise ValueError(f"unknown gate {units.shortened(gate)!r}: known are {', '.join(GATES)}")
    check_size("tokens for every expert", fabric.ranks, MOST_RANKS, "ranks")
    placement = routing.contiguous(experts, fabric.ranks)
    chosen = routing.route(routing.zipf_scores(fabric.ranks, tokens, experts, GATES[gate]), top_k)
    if capacity is not None:
        if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", capacity):
            raise ValueError(f"capacity {units.shortened(capacity)!r}: must be a decimal number, as in 1.25")
        chosen = routing.with_capacity(chosen, Fraction(capacity))
    destinations = routing.destinations(chosen, placement)
    busiest: dict[str, dict[str, float]] = {}
    for copies in routing.COPIES if fabric.in_box else routing.COPIES[:2]:
        loads = crossings(execute(routing.dispatch(fabric, destinations, copies), fabric))
        busiest[copies] = {tier: float(load.most) for tier, load in loads.items()}
    yield {
        "topology": fabric.name,
        "gate": gate,
        "imbalance": chosen.imbalance,
        "dropped": chosen.dropped,
        "busiest_M": busiest,
    }
    dropped = f"{100 * chosen.dropped:.1f}% of the choices dropped"
    yield f"busiest expert: {chosen.imbalance:.2f} times the mean, {dropped}\n"
    rows = [(copies, *(f"{most:.3f} M" for most in tiers.values())) for copies, tiers in busiest.items()]
    yield table(("a copy", *busiest["per rank"]), rows)
