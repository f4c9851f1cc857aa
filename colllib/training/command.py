"""The command `colllib step`."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import click
from tabulate import tabulate

from colllib import units
from colllib.parallelism import MODELS, Plan
from colllib.training.pipelines import compute
from colllib.training.step import Training, simulate

AXES = ("tp", "pp", "dp", "ep", "cp", "zero")


def read_plan(text: str) -> Plan:
    """A plan such as "tp=8,pp=2,dp=8"; what is not named is 1, and zero 1.

    >>> read_plan("tp=8,pp=2,dp=8").gpus
    128
    """
    found: dict[str, Any] = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        if name not in AXES:
            raise ValueError(
                f"plan {units.shortened(text)!r}: write axes among {', '.join(AXES)}, as in tp=8,pp=2,dp=8"
            )
        found[name] = units.whole(f"plan: {name}", value, f"{name}=8")
    return Plan(**found)


@click.command("step")
@click.option("--on", "on", default="dgx-h100:16", help="boxes with speeds, such as dgx-h100:16")
@click.option("--plan", "plan", default="tp=8,pp=2,dp=8", help="axes whose product is the number of ranks")
@click.option("--model", "model", default="Llama 3.1 70B", help="a published model")
@click.option("--layers", default=None, help="another number of layers than the model's")
@click.option("--tokens", default="8192", help="of a microbatch")
@click.option("--microbatches", default="16", help="of a replica's step")
@click.option("--teraflops", default="400", help="that a rank sustains, in 10^12 operations a second")
@click.option("--schedule", default="1f1b", help="gpipe, 1f1b, interleaved or zb-h1")
@click.option("--chunks", default="1", help="of interleaved stages")
@click.option("--bucket", default="25MB", help="gradients that leave together")
@click.option("--shared", is_flag=True, help="gradients and activations share a card")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def step_command(
    on: str,
    plan: str,
    model: str,
    layers: str | None,
    tokens: str,
    microbatches: str,
    teraflops: str,
    schedule: str,
    chunks: str,
    bucket: str,
    shared: bool,
    as_json: bool,
) -> None:
    """A training step as a timeline: how long it takes, and what each stage does meanwhile."""
    if model not in MODELS:
        raise ValueError(f"unknown model {units.shortened(model)!r}: known are {', '.join(MODELS)}")
    chosen = MODELS[model]
    if layers is not None:
        chosen = replace(chosen, layers=units.whole("layers", layers, "126"))
    training = Training(
        chosen,
        read_plan(plan),
        on,
        tokens=units.whole("tokens", tokens, "8192"),
        microbatches=units.whole("microbatches", microbatches, "16"),
        rate=1e12 * units.whole("teraflops", teraflops, "400"),
        schedule=schedule,
        chunks=units.whole("chunks", chunks, "2"),
        bucket=units.parse("message size", bucket),
        shared=shared,
    )
    step = simulate(training)
    result: dict[str, Any] = {
        "machine": on,
        "model": model,
        "layers": chosen.layers,
        "ranks": training.plan.gpus,
        "operations": len(step.ops),
        "time_s": step.seconds,
        "stages": [],
    }
    for stage in range(training.plan.pp):
        stream = compute(stage)
        spent = dict.fromkeys(("computing", "waiting for collectives", "idle"), 0.0)
        for i in step.on(stream):
            what = (
                "computing" if step.ops[i].kind in ("F", "B", "W", "forward", "backward") else "waiting for collectives"
            )
            spent[what] += float(step.end[i] - step.start[i])
        spent["idle"] = step.idle(stream)
        result["stages"].append({name.replace(" ", "_") + "_s": value for name, value in spent.items()})
    if as_json:
        click.echo(json.dumps(result, indent=2, allow_nan=False))
        return
    click.echo(f"{model}, {chosen.layers} layers, on {on}: {units.seconds(step.seconds, 4)} a step\n")
    rows = [(k, *(units.seconds(value) for value in stage.values())) for k, stage in enumerate(result["stages"])]
    click.echo(tabulate(rows, headers=("stage", *spent), disable_numparse=True))
