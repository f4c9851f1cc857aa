"""Answers on all-gather and reduce-scatter."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from colllib.algorithms import allgather
from colllib.claims.cases import per
from colllib.claims.runs import built, run, timed
from colllib.claims.traces import distances, states
from colllib.claims.value import Cases, Table, Words
from colllib.execution import trace
from colllib.metrics import staging
from colllib.primitives import all_gather
from colllib.schedule import Schedule, Step
from colllib.topology import Topology, from_links

RING, DOUBLING, HALVING = "all-gather ring", "all-gather recursive-doubling", "reduce-scatter recursive-halving"


def _shards(schedule: Schedule) -> list[int]:
    """The most shards that a rank sends in each round; in these schedules all to one partner."""
    return [int(np.bincount(step.src).max()) for step in schedule.steps]


def _pat_tree() -> Cases:
    """The edges over which the shard of rank 0 travels among eight, and the most shards of a rank's message."""
    schedule, drawn = built(allgather.pat, 8).schedule, {}
    for t, step in enumerate(schedule.steps):
        ends = zip(step.src[step.block == 0].tolist(), step.dst[step.block == 0].tolist(), strict=True)
        drawn[f"round{t + 1}"] = Words(" ".join(sorted(f"{a}-{b}" for a, b in ends)))
    for t, shards in enumerate(_shards(schedule), 1):
        yield {"at": f"round {t}", "r": t, "edges": len(drawn[f"round{t}"]), "shards": shards, **drawn}


def _parked(n: int, **options: int) -> Fraction:
    """The most shards of M/N that a rank keeps for others."""
    return max(staging(built(allgather.pat, n, on=f"star:{n}", **options).schedule), default=Fraction(0)) * n


def two_halves(ranks: int, *, far: int, uplink: int) -> Topology:
    """N ranks under two switches, N/2 each, joined by one link of `far` alpha and `uplink` BW each way.

    >>> two_halves(8, far=10, uplink=1).num_links
    18
    """
    switch = [ranks + (2 * r >= ranks) for r in range(ranks)]
    ends = [pair for r, s in enumerate(switch) for pair in ((r, s), (s, r))]
    return from_links(
        f"two halves of {ranks // 2}",
        ranks,
        [*ends, (ranks, ranks + 1), (ranks + 1, ranks)],
        switches=2,
        alpha=[*[Fraction(1, 2)] * len(ends), far, far],
        bandwidth=[1] * len(ends) + [uplink] * 2,
        port_model="one full-duplex port per rank, one uplink per half",
    )


def far_wires(ranks: int, *, far: int) -> Topology:
    """One port per rank and, behind it, a wire of its own to every rank: nothing is shared but the ports.

    A route within a half of the ranks takes 1 alpha, one between the halves `far`.

    >>> far_wires(4, far=10).num_links
    20
    """
    rank = range(ranks)
    ports = [(r, ranks + r) for r in rank] + [(2 * ranks + r, r) for r in rank]
    pairs = [(a, b) for a in rank for b in rank if a != b]
    apart = [far - 1 if (2 * a >= ranks) != (2 * b >= ranks) else 0 for a, b in pairs]
    return from_links(
        f"far wires between two halves of {ranks // 2}",
        ranks,
        ports + [(ranks + a, 2 * ranks + b) for a, b in pairs],
        switches=2 * ranks,
        alpha=[*[Fraction(1, 2)] * len(ports), *apart],
        port_model="one full-duplex port per rank",
    )


def _far_first() -> Cases:
    """Far first and near first on wires that share nothing."""
    wires, halves = far_wires(8, far=10), two_halves(8, far=10, uplink=1)
    uplink = [built(build, 8, on=halves).link_total[-1] for build in (allgather.bruck, allgather.pat)]
    for m in (1.0, 10.0, 100.0):
        near, far = (timed(build, 8, on=wires, price=(m, 1.0, 1.0)) for build in (allgather.bruck, allgather.pat))
        beside = {"uplink_near": uplink[0], "uplink_far": uplink[1]}
        yield {"at": f"N = 8, M = {m:g} alpha BW", "far_first": far, "near_first": near, **beside}


def as_printed(choose: int = 0) -> Schedule:
    """The source's rounds at N = 8: partner XOR 4, 2, 1, and in each round one chunk each way.

    Args:
        choose: which of the chunks that the partner lacks is sent: the choose-th, counted cyclically.
    """
    held = [{r} for r in range(8)]
    steps = []
    for distance in (4, 2, 1):
        lacking = [sorted(held[r] - held[r ^ distance]) for r in range(8)]
        sent = [have[choose % len(have)] for have in lacking]
        steps.append(Step.of(np.arange(8), np.arange(8) ^ distance, sent))
        held = [held[r] | {sent[r ^ distance]} for r in range(8)]
    return Schedule.from_steps(all_gather(8), steps)


def _chunks(t: int) -> int:
    """The most chunks on any rank after round t, whichever chunk is selected."""
    traced = [list(trace(as_printed(choose)))[t] for choose in range(4)]
    return max(sum(rank == r for rank, _ in state) for state in traced for r in range(8))


def _partners() -> Cases:
    """Whether PAT's rounds pair ranks by XOR, or all send equally far round the ranks."""
    schedule = built(allgather.pat, 8).schedule
    for t, distance in enumerate((4, 2, 1)):
        pairs = set(zip(schedule.step(t).src.tolist(), schedule.step(t).dst.tolist(), strict=True))
        turned = any(pairs == {(r, (r + way) % 8) for r in range(8)} for way in (distance, -distance))
        yield {"at": f"round {t + 1}", "by_xor": pairs == {(r, r ^ distance) for r in range(8)}, "rotated": turned}


def _in_one_trip(n: int) -> bool:
    """Whether a switch that can do both gathers and scatters in the latency of one message."""
    whats = ("all-gather in-network", "reduce-scatter in-network")
    return all(run(what, f"inc-star:{n}").cost.n_alpha == 1 for what in whats)


TABLE: Table = {
    "E-01-131 E-01-132 E-01-133 E-01-167": _pat_tree,
    "E-01-136": _far_first,
    "E-01-140": _partners,
    "E-01-135": per(
        "N",
        (8, 16, 64, 256),
        parked=lambda n: _parked(n, cap=1),
        of_8_ranks=lambda n: _parked(8, cap=1),
        in_log_rounds=_parked,
    ),
    "E-01-137 E-01-138 E-01-139": per("r", (1, 2, 3), at=", N = 8", chunks=_chunks),
    "E-01-162": states(allgather.recursive_doubling, 4),
    "E-01-163": per("N", (4,), distances=lambda n: distances(DOUBLING)),
    "E-01-096": per("N", (2, 5, 8), exists=_in_one_trip),
}
