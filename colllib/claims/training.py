"""Answers on training steps: one message, rings and trees, buckets, sharding, pipelines, experts."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from colllib.algorithms import allreduce
from colllib.algorithms.direct import parameter_server
from colllib.claims.allreduce import ring_and_tree_meet
from colllib.claims.cases import once, per
from colllib.claims.runs import built, run
from colllib.claims.value import Cases, Table, Words
from colllib.cost import Cost
from colllib.events import Processor, event_clock
from colllib.ladder import topology
from colllib.schedule import Schedule
from colllib.training import experts, timeline
from colllib.training.data_parallel import NETWORK, Layer, bucketed, sharded
from colllib.training.pipelines import compute, pipeline
from colllib.training.timeline import COMPUTE, Op
from colllib.values import final_values

RING, BINOMIAL = "all-reduce ring", "all-reduce binomial-tree"
SEND = "point-to-point direct"


def _priced(cost: Cost, alpha: float, bandwidth: float) -> Callable[[float], float]:
    """The time of a message."""
    return lambda message: cost.seconds(message=message, alpha=alpha, bandwidth=bandwidth)


# -- one message, and many ---------------------------------------------------------------------------

#: The middle of the latencies of the source's table of interconnects in µs, and one-way GB/s.
LINKS = {"nvlink": (1.5, 450), "ndr": (2, 50), "hdr": (3.5, 25), "pcie": (3.5, 64), "roce": (7.5, 12.5)}


def _critical_and_fused() -> Cases:
    """The KB whose bytes take as long as their latency; and 100 messages of 4 KB in one, with 2 µs and 50 GB/s."""
    cost = run(SEND, "star:2").cost
    unit = cost.n_alpha / Fraction(cost.n_beta)
    sizes = {name: Fraction(alpha) * Fraction(speed) * unit for name, (alpha, speed) in LINKS.items()}
    one, fused = map(_priced(cost, 2, 50e3), (4e3, 4e5))
    yield {"at": "one message", **sizes, "nvlink_MB": sizes["nvlink"] / 1000,
           "between": max(sizes[name] for name in ("ndr", "hdr", "roce")), "one": one, "many": 100 * one,
           "fused": fused, "gain": 100 * one / fused, "share": 200 / one, "below": sizes["ndr"] / 4}  # fmt: skip


#: KB of the messages of the source's table of measurements, and µs measured there, which nothing can check.
MEASURED = {"kB1": (1, 25), "kB64": (64, 30), "MB1": (1e3, 40), "MB64": (64e3, 1.6e3), "GB1": (1e6, 23e3),
            "GB10": (1e7, 215e3)}  # fmt: skip


def _predicted_and_measured() -> Cases:
    """Of one message with 3.08 µs; from 3.07 to 3.085 µs the first column and the ratios are as printed."""
    time, large = _priced(run(SEND, "star:2").cost, 3.08, 50), ("MB64", "GB1", "GB10")
    ratios = {name: there / time(size) for name, (size, there) in MEASURED.items()}
    yield {"at": "one message", **{name: time(size) / 1e3 ** (name in large) for name, (size, _) in MEASURED.items()},
           **{f"r{name}": ratio for name, ratio in ratios.items()},
           **{f"off_{name}": 100 * (ratios[name] - 1) for name in ("MB64", "GB10")}}  # fmt: skip


def _joules_of_ten_thousand() -> Cases:
    """Every bit that is sent, at 30 pJ; beside a GPU of 700 W while the all-reduce takes its time at 50 GB/s."""
    cost = run(RING, "star:10000").cost
    joules = float(cost.n_beta) * 8e9 * 30e-12
    watts = joules / _priced(cost, 0.0, 50.0)(1.0)
    yield {"at": "N = 10000", "kJ": 10_000 * joules / 1e3, "watts": watts, "percent": 100 * watts / 700}


# -- rings and trees -----------------------------------------------------------------------------------


def _four_times_four() -> Cases:
    """The ring of the example: in each step the sums, by their receivers, and what is left in the end."""
    done, sums = run(RING, "star:4"), list[int]()

    def add(mine: int, came: int) -> int:
        sums.append(mine + came)
        return sums[-1]

    held = final_values(done.schedule, [[1, 5, 3, 7], [2, 6, 4, 8], [3, 7, 5, 9], [4, 8, 6, 10]], add)
    steps = np.roll(np.reshape(sums, (3, 4)), 1, axis=1)  # rank 0 receives from rank 3, which sends last
    yield {"at": "N = 4", "sent": 4 * max(done.sent), "received": 4 * max(done.received),
           "result": Words(" / ".join(" ".join(map(str, row)) for row in held)),
           **{f"step{t}": Words(" ".join(map(str, row))) for t, row in enumerate(steps.tolist(), 1)}}  # fmt: skip


def _one_megabyte_on_64() -> Cases:
    found = ring_and_tree_meet(64, 10, 10)
    yield found | {f"{name}_us": _priced(found[name].cost, 10, 10e3)(1e6) for name in ("ring", "tree")}


def _ten_megabytes_on_64() -> Cases:
    """Near is within a factor of two, in time."""
    ring, tree = (_priced(run(what, "star:64").cost, 10, 1e4)(1e7) for what in (RING, BINOMIAL))
    yield {"at": "N = 64", "gradient_GB": 70 * 2, "near": max(ring / tree, tree / ring) < 2, "slower": tree / ring}


# -- steps ---------------------------------------------------------------------------------------------


def _thousand_gradients() -> Cases:
    ring = _priced(run(RING, "star:8").cost, 10e-6, 100e9)
    one, many = (1e3 * bucketed([Layer(0, 0, 1e6)] * 1000, size, ring).seconds for size in (1e6, 25e6))
    yield {"at": "N = 8", "call": 1e6 * ring(1e6), "bucket": 1e6 * ring(25e6), "one": one, "many": many,
           "wire": 1e6 * (ring(1e6) - ring(0))}  # fmt: skip


def _after_an_exchange() -> float:
    """Microseconds of 500 of compute, and of two messages with 50 of overhead that it waits for."""
    processor = Processor(50e-6)
    line = event_clock(allreduce.recursive_doubling(2), message=0, alpha=100e-6, bandwidth=1e9, processor=processor)
    return 1e6 * line.finished(0, 500e-6)


def _hidden(layers: int) -> float:
    """The percentage of communication that hides, where a layer's all-reduce takes as long as its backward."""
    return 100 * (1 - bucketed([Layer(0.0, 1.0, 1)] * layers, 1, float).idle(COMPUTE) / layers)


def _layers(calls: int, seconds: float) -> timeline.Step:
    """32 backwards of 15 ms, and their gradients in so many calls, each layer's of so many ms."""
    return bucketed([Layer(0.0, 15.0, 1)] * 32, 32 / calls, lambda size: seconds * size)


def _budget_of_32_layers() -> Cases:
    apart, behind = _layers(1, 26.4), _layers(32, 26.4)
    yield {"at": "the example, and where an all-reduce takes as long as its backward",
           "apart": apart.seconds, "behind": behind.seconds,
           "saved": 100 * (1 - behind.seconds / apart.seconds),
           "hidden": 100 * (1 - behind.idle(COMPUTE) / apart.idle(COMPUTE)),
           **{f"hidden_of_{layers}": _hidden(layers) for layers in (2, 3, 32)}}  # fmt: skip


def _full_sharding(layers: int) -> int:
    """Its collectives in a step."""
    return len(sharded([Layer(0.0, 0.0, 1)] * layers, float, float).on(NETWORK))


def _microbatches_for_a_fifth() -> Cases:
    steps = {m: pipeline("1f1b", 8, m) for m in range(8, 40)}
    idle = {m: step.idle(compute(0)) / step.seconds for m, step in steps.items()}
    yield {"at": "p = 8", "idle": 100 * idle[32], "needed": min(m for m, share in idle.items() if share < 0.2)}


def _one_box() -> Cases:
    """Rings with compute of 2.1 s that nothing hides: 8 ranks at 450 GB/s one way, more at 50 GB/s."""
    speeds = {8: 450, 64: 50, 4096: 50}
    seconds = {n: _priced(run(RING, f"star:{n}").cost, 1.5e-6, speed)(140.0) for n, speed in speeds.items()}
    steps = {n: timeline.run([Op("compute", COMPUTE, 2.1), Op("all-reduce", COMPUTE, t)]) for n, t in seconds.items()}
    yield {"at": "70B on 8", "seconds": seconds[8], "of_compute": 100 * seconds[8] / 2.1,
           **{f"share{n}": 100 * seconds[n] / step.seconds for n, step in steps.items()}}  # fmt: skip


def _on_three_times_the_ranks() -> float:
    """The percentage of compute in a step of which 65 % were: a third of it, in 70 % of the time."""
    step = timeline.run([Op("compute", COMPUTE, 0.65 / 3), Op("rest", "network", 0.7 - 0.65 / 3, (0,))])
    return 100 * step.busy(COMPUTE) / step.seconds


def _self_checks() -> Cases:
    open_time = _layers(32, 25.0).idle(COMPUTE)
    load, latency = (_priced(run(SEND, "star:2").cost, alpha, 50e3)(size) for size, alpha in ((1e9, 0.0), (0.0, 2.0)))
    yield {"at": "32 layers", "exposed": open_time / 32, "load_us": load, "latency_us": latency,
           "copied_GB": 140 + 140, "L": 32, "collectives": _full_sharding(32)}  # fmt: skip


# -- experts -------------------------------------------------------------------------------------------


def routed(extra: int) -> Schedule:
    """512 tokens on each of 8 ranks, 8 for each of 64 experts, and some more for the first one."""
    expert = np.repeat(np.arange(64), [8 + extra, *[8] * 63])
    goes = np.broadcast_to((expert // 8)[None, :, None], (8, len(expert), 1))
    return experts.dispatch(topology("star:8"), goes, "per expert")


def _tokens_to_64_experts() -> Cases:
    """In KB and µs, with 3 µs and 50 GB/s; an expert with three times the tokens is one of eight on its rank."""
    even, popular = built(routed, 0), built(routed, 16)
    token = Fraction(2048 * 2, 1000)
    one, sent = 3 + float(64 * token) / 50, even.sent[0] * 512 * token
    yield {"at": "8 ranks", "token": token, "transfer": sent / 7, "sent_MB": sent / 1000, "single": one,
           "serial": 7 * one, "parallel": _priced(even.cost, 3, 50)(float(512 * token)),
           "hot": popular.received[0] / popular.received[1]}  # fmt: skip


def _through_one_server() -> Fraction:
    """A server on rank 0 receives and then sends N - 1 vectors; against a ring."""
    ring = Fraction(run(RING, "star:1024").cost.n_beta)
    return built(parameter_server, 1024, 1, colocated=True).cost.n_beta / ring


TABLE: Table = {
    "M-24 A-08 M-26": _critical_and_fused,
    "M-28": _predicted_and_measured,
    "M-22": _joules_of_ten_thousand,
    "M-29": once("N = 1024", times=_through_one_server),
    "M-33": _four_times_four,
    "M-36": lambda: [ring_and_tree_meet(100, 5, 50)],
    "M-39": lambda: [ring_and_tree_meet(256, 5, 25)],
    "M-37": _one_megabyte_on_64,
    "M-38": _ten_megabytes_on_64,
    "R-07": _thousand_gradients,
    "M-25": once("N = 2", both=_after_an_exchange),
    "M-54": _budget_of_32_layers,
    "M-56": _microbatches_for_a_fifth,
    "M-55": _one_box,
    "M-59": once("a step of 1", utilization=_on_three_times_the_ranks),
    "M-61": _self_checks,
    "M-32": per("L", (32, 100), collectives=_full_sharding),
    "M-30": _tokens_to_64_experts,
}
