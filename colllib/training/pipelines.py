"""Pipeline schedules: in which order a stage runs forward and backward of its microbatches, and what that takes."""

from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate
from math import isfinite
from typing import NamedTuple

from colllib.limits import check_size
from colllib.primitives import check_counts, is_whole
from colllib.training.timeline import Op, Step, run

MOST_PASSES = 2**16  # over microbatches, in which a step is simulated


class Work(NamedTuple):
    """A pass over a microbatch, with a part of the model: stage s has part c p + s as its chunk c.

    Its kind is "F" forward, "B" backward (of the inputs alone where there is a "W"), "W" gradients of the weights.
    """

    kind: str
    microbatch: int
    part: int


#: GPipe (Huang and others, 2019), 1F1B (Narayanan and others, 2019), its interleaved form (Narayanan and others, 2021),
#: and ZB-H1 (Qi and others, 2024), which delays the gradients of stage s's weights by s microbatches.
SCHEDULES = ("gpipe", "1f1b", "interleaved", "zb-h1")


def order(schedule: str, stages: int, stage: int, microbatches: int, chunks: int = 1) -> list[Work]:
    """What a stage, from 0, does, in order.

    Args:
        schedule: its name in `SCHEDULES`.
        chunks: parts of the model on each stage; above 1 only where stages are interleaved.

    Raises:
        ValueError: for an unknown name, or numbers that do not fit.

    >>> "".join(work.kind for work in order("1f1b", 4, 1, 4))
    'FFFBFBBB'
    """
    if schedule not in SCHEDULES:
        raise ValueError(f"unknown pipeline schedule {schedule!r}: known are {', '.join(SCHEDULES)}")
    check_counts(stages=stages, microbatches=microbatches, chunks=chunks)
    named = f"{stages} stages with {microbatches} microbatches in {chunks} chunks"
    check_size(named, stages * microbatches * chunks, MOST_PASSES, "passes")
    if not is_whole(stage) or not 0 <= stage < stages:
        raise ValueError(f"stage {stage}: must be one from 0 to {stages - 1}")
    if chunks > 1 and schedule != "interleaved":
        raise ValueError(f"{schedule} in {chunks} chunks: only interleaved stages have several")
    if schedule == "interleaved" and microbatches % stages:
        raise ValueError(f"{microbatches} microbatches: interleaved stages take a multiple of the {stages} stages here")

    def at(kind: str, k: int) -> Work:
        turn, place = divmod(k, stages * chunks)
        chunk = place // stages if kind == "F" else chunks - 1 - place // stages
        return Work(kind, turn * stages + k % stages, chunk * stages + stage)

    passes, later_stages = microbatches * chunks, stages - 1 - stage
    warm_ups = {"gpipe": passes, "interleaved": 2 * later_stages + (chunks - 1) * stages}
    warm_up = warm_ups.get(schedule, later_stages)
    forward, backward = ([at(kind, k) for k in range(passes)] for kind in "FB")
    weights = [Work("W", k, stage) for k in range(passes)] if schedule == "zb-h1" else []
    works = forward[:warm_up]
    for k in range(passes):  # one forward and one backward in turn, then what is left backward
        if warm_up + k < passes:
            works.append(forward[warm_up + k])
        works.append(backward[k])
        if weights and k >= stage:
            works.append(weights[k - stage])
    return works + weights[max(0, passes - stage) :]


def compute(stage: int) -> str:
    """The name of a stage's compute stream."""
    return f"compute {stage}"


def pipeline(
    schedule: str,
    stages: int,
    microbatches: int,
    *,
    chunks: int = 1,
    forward: float = 1.0,
    backward: float = 2.0,
    weights: float | None = None,
    send: float = 0.0,
) -> Step:
    """The timeline of a pipeline.

    Args:
        schedule, chunks: as for `order`.
        forward: seconds that a stage, all its chunks together, takes forward with a microbatch.
        backward: likewise backward, with the gradients of the weights.
        weights: how much of `backward` those gradients take (default: half); only of ZB-H1, which can delay them.
        send: seconds between two stages, which can hide.

    Raises:
        ValueError: for a negative time, or a schedule that does not exist or fit.

    >>> step = pipeline("1f1b", 4, 12)
    >>> step.seconds, step.idle("compute 0") / step.seconds
    (45.0, 0.2)
    """
    check_counts(stages=stages, microbatches=microbatches, chunks=chunks)
    split = schedule == "zb-h1"
    if weights is not None and not split and schedule in SCHEDULES:
        raise ValueError(f"weights {weights} s: {schedule} does not part them from the backward, only zb-h1 does")
    weights = backward / 2 if weights is None else weights
    if split and not (isfinite(weights) and 0 <= weights <= backward):
        raise ValueError(f"weights {weights} s: must be from 0 to the {backward} s of the whole backward")
    seconds = {"F": forward / chunks, "B": (backward - weights if split else backward) / chunks, "W": weights / chunks}
    ops: list[Op] = []
    spans: Spans = {}
    for stage in range(stages):
        for work in order(schedule, stages, stage, microbatches, chunks):
            spans[work] = len(ops), len(ops)
            name = f"{work.kind}{work.microbatch} of part {work.part}"
            lasts, chunk = seconds[work.kind], work.part // stages
            ops.append(Op(name, compute(stage), lasts, kind=work.kind, microbatch=work.microbatch, chunk=chunk))
    send_on(ops, spans, stages, lambda src, dst: (send, ()))
    return run(ops)


Spans = dict[Work, tuple[int, int]]  # the first operation of a pass and its last
Send = Callable[[int, int], tuple[float, tuple[str, ...]]]  # seconds from one stage to another, and what it uses


def send_on(ops: list[Op], spans: Spans, stages: int, send: Send) -> None:
    """Append what stages send each other, and let each pass wait for what it needs.

    Args:
        ops: of all stages; the first operations of passes are replaced by ones that wait.
        spans: of each stage in the order in which it works, which is that of its messages to another one.
    """
    last = max(work.part for work in spans)
    for (kind, microbatch, part), (_, needs) in spans.items():
        if (kind, part) == ("F", last):
            kind, to = "B", last
        else:
            to = part + 1 if kind == "F" else part - 1
        if kind == "W" or to < 0:
            continue
        src, dst = part % stages, to % stages
        if src != dst:
            seconds, uses = send(src, dst)
            name = f"{kind}{microbatch} from {src} to {dst}"
            ops.append(Op(name, f"link {src} to {dst}", seconds, (needs,), uses, "send"))
            needs = len(ops) - 1
        first, _ = spans[Work(kind, microbatch, to)]
        ops[first] = replace(ops[first], after=(*ops[first].after, needs))


def held(schedule: str, stages: int, stage: int, microbatches: int, chunks: int = 1) -> float:
    """The most microbatches whose activations a stage holds at a time, from forward until nothing needs them any more.

    >>> held("gpipe", 4, 0, 12), held("1f1b", 4, 0, 12)
    (12.0, 4.0)
    """
    works = order(schedule, stages, stage, microbatches, chunks)
    frees = "W" if any(work.kind == "W" for work in works) else "B"
    return max(accumulate((work.kind == "F") - (work.kind == frees) for work in works)) / chunks
