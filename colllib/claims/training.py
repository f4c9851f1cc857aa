"""Answers on training steps: one message, rings and trees, buckets, sharding, pipelines, experts."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from colllib.algorithms import allreduce
from colllib.claims.allreduce import ring_and_tree_meet
from colllib.claims.cases import once, per, us
from colllib.claims.runs import best, built, closed, run
from colllib.claims.value import Cases, Table, Words
from colllib.events import Processor, event_clock
from colllib.ladder import topology
from colllib.schedule import Schedule
from colllib.training import experts, timeline
from colllib.training.data_parallel import NETWORK, Layer, bucketed, sharded
from colllib.training.pipelines import compute, pipeline
from colllib.training.server import parameter_server
from colllib.training.timeline import COMPUTE, Op

RING, BINOMIAL, DOUBLE = "all-reduce ring", "all-reduce binomial-tree", "all-reduce double-binary-tree"
SEND = "point-to-point direct"


def _thousand_gradients() -> Cases:
    cost = run("all-reduce ring", "star:8").cost

    def ring(size: float) -> float:
        return cost.seconds(message=size, alpha=10e-6, bandwidth=100e9)

    one, many = (bucketed([Layer(0, 0, 1e6)] * 1000, size, ring).seconds for size in (1e6, 25e6))
    yield {"at": "N = 8", "call": 1e6 * ring(1e6), "bucket": 1e6 * ring(25e6), "one": 1e3 * one, "many": 1e3 * many,
           "wire": 1e3 * (1000 * ring(1e6) - 1000 * ring(0))}  # fmt: skip


def _one_exchange() -> Cases:
    price: dict[str, Any] = {"message": 0.0, "alpha": 100e-6, "bandwidth": 1e9}
    line = event_clock(allreduce.recursive_doubling(2), **price, processor=Processor(50e-6))
    yield {"at": "N = 2", "both": 1e6 * line.finished(0, 500e-6)}


def _budget_of_32_layers() -> Cases:
    layers = [Layer(0.0, 15.0, 1)] * 32
    apart, behind = (bucketed(layers, size, lambda size: 26.4 * size) for size in (32, 1))
    hidden = 100 * (1 - behind.idle(COMPUTE) / apart.idle(COMPUTE))
    yield {"at": "32 layers", "apart": apart.seconds, "behind": behind.seconds,
           "saved": 100 * (1 - behind.seconds / apart.seconds), "hidden": hidden}  # fmt: skip


def _full_sharding(layers: int) -> int:
    """Its collectives in a step."""
    return len(sharded([Layer(0.0, 0.0, 1)] * layers, float, float).on(NETWORK))


def _microbatches_for_a_fifth() -> Cases:
    idle = {m: pipeline("1f1b", 8, m) for m in range(8, 40)}
    shares = {m: step.idle(compute(0)) / step.seconds for m, step in idle.items()}
    yield {"at": "p = 8", "idle": 100 * shares[32], "needed": min(m for m, share in shares.items() if share < 0.2)}


# -- one message, and many ---------------------------------------------------------------------------


def _critical(name: str, alpha: Fraction, bandwidth: Fraction) -> tuple[str, Fraction]:
    """The message in KB whose bytes take as long as its latency, of µs and GB/s."""
    cost = run(SEND, "star:2").cost
    return name, alpha * bandwidth * cost.n_alpha / Fraction(cost.n_beta)


#: The middle of the latencies of the source's table of interconnects in µs, and one-way GB/s.
LINKS = {
    "nvlink": ("1.5", "450"),
    "ndr": ("2", "50"),
    "hdr": ("3.5", "25"),
    "pcie": ("3.5", "64"),
    "roce": ("7.5", "12.5"),
}


def _critical_sizes() -> Cases:
    sizes = dict(_critical(name, Fraction(alpha), Fraction(speed)) for name, (alpha, speed) in LINKS.items())
    between = max(sizes[name] for name in ("ndr", "hdr", "roce"))
    yield {"at": "one message", **sizes, "nvlink_MB": sizes["nvlink"] / 1000, "between": between}


def _fused() -> Cases:
    one, fused = (run(SEND, "star:2").cost.seconds(message=size, alpha=2, bandwidth=50e3) for size in (4e3, 4e5))
    yield {"at": "one message", "one": one, "many": 100 * one, "fused": fused, "gain": 100 * one / fused,
           "share": 200 / one, "below": _critical("", Fraction(2), Fraction(50))[1] / 4}  # fmt: skip


#: KB of the messages of the source's table of measurements, and µs measured there, which nothing can check.
MEASURED = {
    "kB1": (1, 25),
    "kB64": (64, 30),
    "MB1": (1e3, 40),
    "MB64": (64e3, 1.6e3),
    "GB1": (1e6, 23e3),
    "GB10": (1e7, 215e3),
}


def _predicted_and_measured() -> Cases:
    """Of one message with 3.08 µs; from 3.07 to 3.085 µs the first column and the ratios are as printed."""
    cost = run(SEND, "star:2").cost
    times = {name: cost.seconds(message=size, alpha=3.08, bandwidth=50) for name, (size, _) in MEASURED.items()}
    ratios = {f"r{name}": MEASURED[name][1] / time for name, time in times.items()}
    off = {f"off_{name}": 100 * (ratios[f"r{name}"] - 1) for name in ("MB64", "GB1", "GB10")}
    yield {"at": "one message", **{name: time / 1e3**(name in ("MB64", "GB1", "GB10")) for name, time in times.items()},
           **ratios, **off}  # fmt: skip


def _joules_of_ten_thousand() -> Cases:
    """Every bit that is sent, at 30 pJ; beside a GPU of 700 W while the all-reduce takes its time at 50 GB/s."""
    cost = closed(RING, "star:10000")
    kilojoules = float(cost.n_beta) * 10_000 * 8e9 * 30e-12 / 1e3
    seconds = cost.seconds(message=1.0, alpha=0.0, bandwidth=50.0)
    yield {"at": "N = 10000", "kJ": kilojoules, "watts": 1e3 * kilojoules / 10_000 / seconds,
           "percent": 100 * 1e3 * kilojoules / 10_000 / (700 * seconds)}  # fmt: skip


def _seventy_billion_on_64() -> Cases:
    price: dict[str, float] = {"message": 140.0, "alpha": 1.5e-3, "bandwidth": 0.05}
    ring = run(RING, "star:64").cost
    load, total = ring.seconds(**price | {"alpha": 0.0}), ring.seconds(**price)
    thousand = closed(RING, "star:1000").seconds(message=140.0, alpha=0.0, bandwidth=50.0)
    yield {"at": "N = 64", "load": load, "latency": total - load, "total": total, "thousand": thousand,
           "slow": total / 0.6 / 1e3, "ns": 100 / 0.2}  # fmt: skip


# -- rings and trees -----------------------------------------------------------------------------------


def _four_times_four() -> Cases:
    """The ring of the example step by step: the numbers that travel, and what is left in the end."""
    held = [[1, 5, 3, 7], [2, 6, 4, 8], [3, 7, 5, 9], [4, 8, 6, 10]]
    done = run(RING, "star:4")
    case: dict[str, Any] = {"at": "N = 4", "sent": 4 * max(done.sent), "received": 4 * max(done.received)}
    first = built(allreduce.ring, 4).schedule
    for t, step in enumerate(first.steps):
        sent = [(int(dst), int(block), held[src][block], bool(add)) for src, dst, block, add in zip(*step, strict=True)]
        for dst, block, number, add in sent:
            held[dst][block] = number + held[dst][block] * add
        case[f"step{t + 1}"] = Words(" ".join(str(held[dst][block]) for dst, block, *_ in sorted(sent)))
    yield case | {"result": Words(" / ".join(" ".join(map(str, row)) for row in held))}


def _double_tree_at_its_best() -> Cases:
    """At the best number of pieces, with 5 µs and 25 GB/s; times in µs, messages in MB."""
    for megabytes in (100, 10, 1):
        rung = best(DOUBLE, "star:16", message=megabytes * 1e6, alpha=5e-6, bandwidth=25e9)
        yield {"at": f"N = 16, {megabytes} MB", "N": 16, "M": megabytes, "t": 1e6 * rung.seconds}


def _one_megabyte_on_64() -> Cases:
    found = ring_and_tree_meet(64, 10, 10)
    ring, tree = (us(found[name].cost, message=1e6, alpha=10e-6, bandwidth=10e9) for name in ("ring", "tree"))
    yield found | {"ring_us": ring, "tree_us": tree}


def _ten_megabytes_on_64() -> Cases:
    """Near is within a factor of two, in time."""
    ring, tree = (run(what, "star:64").cost.seconds(message=1e7, alpha=10, bandwidth=1e4) for what in (RING, BINOMIAL))
    yield {"at": "N = 64", "gradient_GB": 70 * 2, "near": max(ring / tree, tree / ring) < 2, "slower": tree / ring}


# -- steps ---------------------------------------------------------------------------------------------


def _one_box() -> Cases:
    """Rings with compute of 2.1 s that nothing hides: 8 ranks at 450 GB/s one way, more at 50 GB/s."""
    shares = {}
    for n, speed in ((8, 450), (64, 50), (4096, 50)):
        seconds = closed(RING, f"star:{n}").seconds(message=140.0, alpha=1.5e-6, bandwidth=speed)
        step = timeline.run([Op("compute", COMPUTE, 2.1), Op("all-reduce", COMPUTE, seconds)])
        shares[n] = seconds, 100 * seconds / step.seconds
    both = closed(RING, "star:8").seconds(message=140.0, alpha=1.5e-6, bandwidth=900)
    yield {"at": "70B on 8", "seconds": shares[8][0], "both_ways": both, "of_compute": 100 * shares[8][0] / 2.1,
           **{f"share{n}": share for n, (_, share) in shares.items()}}  # fmt: skip


def _three_times_the_ranks() -> Cases:
    """The same work on three times as many ranks, in 70 % of the time."""
    before = timeline.run([Op("compute", COMPUTE, 0.65), Op("rest", "network", 0.35, (0,))])
    after = timeline.run([Op("compute", COMPUTE, 0.65 / 3), Op("rest", "network", 0.7 - 0.65 / 3, (0,))])
    yield {"at": "a step of 1", "utilization": 100 * after.busy(COMPUTE) / (0.7 * before.seconds)}


def _self_checks() -> Cases:
    layers = 32
    open_time = bucketed([Layer(0.0, 15.0, 1)] * layers, 1, lambda size: 25.0).idle(COMPUTE)
    send = run(SEND, "star:2").cost
    load, latency = (send.seconds(message=m, alpha=a, bandwidth=50e3) for m, a in ((1e9, 0.0), (0.0, 2.0)))
    yield {"at": "32 layers", "exposed": open_time / layers, "load_us": load, "latency_us": latency,
           "copied_GB": 140 + 140, "L": layers, "collectives": _full_sharding(layers)}  # fmt: skip


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
    batch = 512 * token
    one = 3 + float(64 * token) / 50
    together = even.cost.seconds(message=float(batch), alpha=3, bandwidth=50)
    sent = even.sent[0] * batch
    yield {"at": "8 ranks", "token": token, "transfer": sent / 7, "sent_MB": sent / 1000, "single": one,
           "serial": 7 * one, "parallel": together, "hot": popular.received[0] / popular.received[1]}  # fmt: skip


TABLE: Table = {
    "R-07": _thousand_gradients,
    "M-25": _one_exchange,
    "M-54": _budget_of_32_layers,
    "M-56": _microbatches_for_a_fifth,
    "M-24 A-08": _critical_sizes,
    "M-26": _fused,
    "M-28": _predicted_and_measured,
    "M-22": _joules_of_ten_thousand,
    "M-23": _seventy_billion_on_64,
    "M-33": _four_times_four,
    "M-34": _double_tree_at_its_best,
    "M-36": lambda: [ring_and_tree_meet(100, 5, 50)],
    "M-39": lambda: [ring_and_tree_meet(256, 5, 25)],
    "M-37": _one_megabyte_on_64,
    "M-38": _ten_megabytes_on_64,
    "M-55": _one_box,
    "M-59": _three_times_the_ranks,
    "M-61": _self_checks,
    "M-30": _tokens_to_64_experts,
    "M-32": per("L", (32, 100), collectives=_full_sharding),
    # a server on rank 0, which receives and then sends N - 1 vectors
    "M-29": once(
        "N = 1024",
        times=lambda: (
            built(parameter_server, 1024, 1, colocated=True).cost.n_beta / Fraction(closed(RING, "star:1024").n_beta)
        ),
    ),
}
