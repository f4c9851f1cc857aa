"""Logs made from a model, for tests: the project carries no log of anybody's."""

from __future__ import annotations

import json

import numpy as np
from measured.dialects import write

from colllib.measured.log import PROGRAMS, Row, Run, factor
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


def document(run, env=(), *, ngpus=1, clock="time"):
    """The same as nccl-tests writes it with -J: see writeDeviceReport and writeBenchmarkLineBody in its src/util.cu."""
    program, redop, root, per_rank, *_ = PROGRAMS[run.collective]
    devices = [
        {"rank": k, "group": 0, "pid": 1000 + k, "hostname": f"node{k // run.gpus_per_box + 1:02d}"}
        | {"device": k % run.gpus_per_box, "device_hex": f"0000:{k:02x}:00", "device_info": run.gpu}
        for k in range(0, run.ranks, ngpus)  # parseRankInfo reads the first line of each process
    ]
    halves = {}
    for row in run.rows:
        rates = {"alg_bw": row.algbw / 1e9, "bus_bw": row.busbw / 1e9}
        half = {clock: row.seconds * 1e6} | rates | {"nwrong": float(row.wrong) if row.wrong else None}
        halves.setdefault(row.message, {})["in_place" if row.in_place else "out_of_place"] = half
    results = [
        {"size": int(size), "count": int(size) // 4 // (run.ranks if per_rank else 1), "type": "float", "redop": redop}
        | {"root": f"{root:6d}", "out_of_place": None, **made, "actual_iterations": 20, "experiment_name": program}
        for size, made in halves.items()
    ]
    config = {"nthreads": 1, "ngpus": ngpus, "validation": 1, "devices": devices}
    args = [f"./build/{program}", "-b", "1K", "-J", "out.json"]
    return json.dumps({"version": 3, "args": args, "env": list(env), "config": config, "results": results})


def modeled(expression, seed, *, collective="all-reduce", gpu="", slower=1.0, noise=0.02, top=2**33, scatter=0.0):
    """A sweep as the model predicts it on a machine, with noise, and as much slower at large sizes as is said."""
    machine, draws = find(expression), np.random.default_rng(seed)
    share, rows, size = factor(collective, machine.ranks), [], 1024
    while size <= top:
        found = predict(machine, collective, size)
        for in_place in (False, True):
            rough = np.exp(abs(draws.normal(0, scatter))) if size >= 2**24 else 1.0
            time = (found.latency + found.wire * slower * rough) * np.exp(draws.normal(0, noise))
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
