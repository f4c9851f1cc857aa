"""Answers on training steps: overlap, buckets, sharding and pipelines."""

from __future__ import annotations

from typing import Any

from colllib.algorithms import allreduce
from colllib.claims.finding import Cases, answer
from colllib.claims.runs import run
from colllib.events import Processor, event_clock
from colllib.training.data_parallel import Layer, bucketed, sharded
from colllib.training.pipelines import compute, pipeline
from colllib.training.timeline import COMPUTE

LOGP, BUCKETS, SHARDED, PIPELINES = (
    "latency-that-hides",
    "buckets-and-overlap",
    "sharded-data-parallelism",
    "pipelines",
)


@answer(BUCKETS, "R-07")
def _thousand_gradients() -> Cases:
    cost = run("all-reduce ring", "star:8").cost

    def ring(size: float) -> float:
        return cost.seconds(message=size, alpha=10e-6, bandwidth=100e9)

    one, many = (bucketed([Layer(0, 0, 1e6)] * 1000, size, ring).seconds for size in (1e6, 25e6))
    yield {"at": "N = 8", "call": 1e6 * ring(1e6), "bucket": 1e6 * ring(25e6), "one": 1e3 * one, "many": 1e3 * many,
           "gain": one / many, "wire": 1e3 * (1000 * ring(1e6) - 1000 * ring(0))}  # fmt: skip


@answer(LOGP, "M-25")
def _one_exchange() -> Cases:
    price: dict[str, Any] = {"message": 0.0, "alpha": 100e-6, "bandwidth": 1e9}
    line = event_clock(allreduce.recursive_doubling(2), **price, processor=Processor(50e-6))
    yield {"at": "N = 2", "both": 1e6 * line.finished(0, 500e-6)}


@answer(BUCKETS, "M-54")
def _budget_of_32_layers() -> Cases:
    layers = [Layer(0.0, 15.0, 1)] * 32
    apart, behind = (bucketed(layers, size, lambda size: 26.4 * size) for size in (32, 1))
    hidden = 100 * (1 - behind.idle(COMPUTE) / apart.idle(COMPUTE))
    yield {"at": "32 layers", "apart": apart.seconds, "behind": behind.seconds,
           "saved": 100 * (1 - behind.seconds / apart.seconds), "hidden": hidden}  # fmt: skip


@answer(SHARDED, "M-32")
def _collectives_of_full_sharding() -> Cases:
    for layers in (32, 100):
        step = sharded([Layer(0.0, 0.0, 1)] * layers, float, float)
        yield {"at": f"{layers} layers", "L": layers, "collectives": len(step.ops) - 2 * layers}


@answer(PIPELINES, "M-56")
def _microbatches_for_a_fifth() -> Cases:
    idle = {m: pipeline("1f1b", 8, m) for m in range(8, 40)}
    shares = {m: step.idle(compute(0)) / step.seconds for m, step in idle.items()}
    yield {"at": "p = 8", "idle": 100 * shares[32], "needed": min(m for m, share in shares.items() if share < 0.2)}
