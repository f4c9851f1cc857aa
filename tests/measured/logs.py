"""Logs made from a model, for tests: the project carries no log of anybody's."""

from __future__ import annotations

import numpy as np
from measured.dialects import write

from colllib.measured.log import Row, Run, factor
from colllib.measured.predict import predict
from colllib.topology.machines import find

SIZES = [2**k for k in range(10, 34)]


def run(busbw, *, collective="all-reduce", boxes=2, per_box=8, gpu="NVIDIA H100 80GB HBM3", floor=20e-6, sizes=SIZES):
    """A sweep that approaches a bus bandwidth, in bytes per second, from a floor in seconds."""
    ranks, rows = boxes * per_box, []
    for k, size in enumerate(sizes):
        rate = size / (floor + size * factor(collective, ranks) / busbw)
        for in_place in (False, True):
            rows.append(Row(k, float(size), size / rate, rate, rate * factor(collective, ranks), in_place))
    return Run("nccl-tests", tuple(rows), collective, ranks, boxes, per_box, gpu)


def text(busbw, dialect="nccl-tests", prefix="", **shape):
    """The same as a program prints it."""
    return write(run(busbw, **shape), dialect, prefix)


def modeled(expression, seed, *, collective="all-reduce", gpu="", slower=1.0, noise=0.02, top=2**33, scatter=0.0):
    """A sweep as the model predicts it on a machine, with noise, and as much slower at large sizes as is said."""
    machine, draws = find(expression), np.random.default_rng(seed)
    share, rows, size = factor(collective, machine.ranks), [], 1024
    while size <= top:
        prediction = predict(machine, collective, size)
        for in_place in (False, True):
            rough = np.exp(abs(draws.normal(0, scatter))) if size >= 2**24 else 1.0
            time = (prediction.latency + prediction.wire * slower * rough) * np.exp(draws.normal(0, noise))
            rows.append(Row(len(rows), float(size), time, size / time, size / time * share, in_place))
        size *= 2
    return Run("nccl-tests", tuple(rows), collective, machine.ranks, machine.boxes, machine.gpus, gpu or machine.name)


def mutated(log: str, draws: np.random.Generator) -> str:
    """A log with a few things wrong in it."""
    lines = log.split("\n")
    for _ in range(int(draws.integers(1, 6))):
        k = int(draws.integers(len(lines)))
        line, kind = lines[k], int(draws.integers(9))
        at = int(draws.integers(len(line) + 1))
        if kind == 0:
            lines[k] = (
                line[:at] + chr(int(draws.choice([0, 9, 46, 45, 48, 57, 95, 101, 110, 124, 0x663, 0xFFFF]))) + line[at:]
            )
        elif kind == 1:
            lines[k] = line[:at]
        elif kind == 2:
            del lines[k]
            lines = lines or [""]
        elif kind == 3:
            lines.insert(int(draws.integers(len(lines) + 1)), line)
        elif kind == 4:
            words = line.split(" ")
            words[int(draws.integers(len(words)))] = str(
                draws.choice(["nan", "-1", "0", "inf", "1e999", "9" * 400, "x", "float"])
            )
            lines[k] = " ".join(words)
        elif kind == 5:
            lines = lines[: max(1, k)]
        elif kind == 6:
            other = int(draws.integers(len(lines)))
            lines[k], lines[other] = lines[other], lines[k]
        elif kind == 7:
            lines[k] = line + (lines[k + 1] if k + 1 < len(lines) else "")
        else:
            lines[k] = f"[1,{int(draws.integers(4))}]<stdout>:" + line
    return "\n".join(lines)
