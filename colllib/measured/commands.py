"""The command line over measurements: `colllib diagnose` and `colllib predict`."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import click
from tabulate import tabulate

from colllib import units
from colllib.measured import machines
from colllib.measured.diagnose import Diagnosis, Hints, diagnose
from colllib.measured.log import COLLECTIVES
from colllib.measured.read import read_file

MOST = 1_000_000  # boxes, or GPUs of a box
_STATES = ("below-expectation", "not-a-measurement", "undecided", "healthy")


def _number(name: str, text: str | None) -> int | None:
    if text is None:
        return None
    number = units.whole(name, text, "8")
    if not 1 <= number <= MOST:
        raise ValueError(f"{name} {number}: must be 1 to {MOST:,}")
    return number


def _collective(name: str | None) -> str | None:
    known = dict.fromkeys([*COLLECTIVES.values()])
    if name is not None and name not in known:
        raise ValueError(f"unknown collective {units.shortened(name)!r}: known are {', '.join(known)}")
    return name


@click.command("diagnose")
@click.argument("log")
@click.option("--on", "on", default=None, help="the machine, such as dgx-h100:2, or a cluster file")
@click.option("--gpu", default="", help="the GPU, such as h100")
@click.option("--boxes", default=None, help="number of boxes")
@click.option("--gpus-per-box", default=None, help="ranks in a box")
@click.option("--cards", default=None, help="network cards of a box, such as 8x400Gb/s")
@click.option("--primitive", default=None, help="what was run, where the log does not say it")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def diagnose_command(
    log: str,
    on: str | None,
    gpu: str,
    boxes: str | None,
    gpus_per_box: str | None,
    cards: str | None,
    primitive: str | None,
    as_json: bool,
) -> None:
    """Read a benchmark's log, and say whether it is healthy, what binds, and what to test next."""
    hints = Hints(
        gpus_per_box=_number("gpus-per-box", gpus_per_box),
        boxes=_number("boxes", boxes),
        gpu=gpu,
        cards=None if cards is None else machines.cards(cards),
        collective=_collective(primitive),
        machine=None if on is None else machines.find(on),
    )
    if hints.machine and hints.cards:
        hints = replace(hints, machine=replace(hints.machine, cards=hints.cards[0], card=hints.cards[1]))
    runs = read_file(log)
    chosen = [run for run in runs if hints.boxes is None or run.boxes in (None, hints.boxes)] or runs
    found = [diagnose(run, hints) for run in chosen]
    first = min(found, key=lambda verdict: (_STATES.index(verdict.state), -verdict.confidence))
    result = first.as_json() | {"runs": len(runs), "unread_lines": [mark.line for run in runs for mark in run.unread]}
    click.echo(json.dumps(result, indent=2, allow_nan=False) if as_json else _sentences(first, result))


def _sentences(verdict: Diagnosis, result: dict[str, Any]) -> str:
    others = f"; or {', '.join(verdict.alternatives)}" if verdict.alternatives else ""
    lines = [
        verdict.verdict,
        f"  state       {verdict.state}, confidence {verdict.confidence:.2f}",
        f"  cause       {verdict.cause or 'none'}{others}",
        f"  binding     {verdict.binding}",
        *(f"  evidence    {text}" for text in verdict.evidence),
        f"  next test   {verdict.next_test}",
    ]
    if result["unread_lines"]:
        lines.append(f"  not read    lines {', '.join(map(str, result['unread_lines'][:10]))}")
    if verdict.form is not None and verdict.form.fitted:
        rows = [
            (
                f"{units.binary_size(part.first)} to {units.binary_size(part.last)}",
                units.seconds(part.constant),
                " to ".join(units.seconds(end) if end < float("inf") else "?" for end in part.constant_interval),
                units.rate(part.bandwidth) if part.bandwidth < float("inf") else "flat",
                " to ".join(units.rate(end) if end < float("inf") else "?" for end in part.bandwidth_interval),
                f"{part.residual:.1%}",
            )
            for part in verdict.form.fitted
        ]
        headers = ("sizes", "constant", "95 %", "size / slope", "95 %", "residual")
        lines += ["", tabulate(rows, headers=headers, disable_numparse=True)]
    return "\n".join(lines)


COMMANDS = (diagnose_command,)
