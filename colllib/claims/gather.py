"""Answers on broadcast and reduce, on pipelining, and on all-gather and reduce-scatter."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import permutations

import numpy as np

from colllib.algorithms import allgather, broadcast, reduce, trees
from colllib.claims.cases import distances, edges, once, per, states
from colllib.claims.runs import ANCHOR, built, run, timed
from colllib.claims.value import Cases, Table
from colllib.cost import best_segments_unrounded
from colllib.execution import trace
from colllib.primitives import all_gather
from colllib.primitives import broadcast as needs
from colllib.schedule import Schedule, Step, reversed_in_time
from colllib.topology import Topology, from_links, one_port

CHAIN, TREE = "broadcast chain", "broadcast binomial-tree"
SEGMENTS = (1, 2, 3, 4, 9, 10, 16)


def printed_reduce_tree() -> Schedule:
    """The tree whose steps the source traces for reduce: neighbors first."""
    return reversed_in_time(trees.down_one_child_a_step([-1, 0, 0, 2], [0, 1, 0, 1], needs(4)))


def _best_of_a_chain() -> Cases:
    """The whole numbers beside the root are executed against each other and against their neighbors."""
    for stages in (3, 7, 9, 31):
        for m in (ANCHOR["message"] / (ANCHOR["alpha"] * ANCHOR["bandwidth"]), 400.0):
            near = int(best_segments_unrounded(stages, message=m, alpha=1, bandwidth=1))
            costs = {p: run(CHAIN, f"star:{stages + 1}", p).cost for p in range(max(1, near - 1), near + 3)}
            times = {p: cost.seconds(message=m, alpha=1, bandwidth=1) for p, cost in costs.items()}
            at = f"L = {stages}, M = {m:.3g} alpha BW"
            yield {"at": at, "L": stages, "N": stages + 1, "m": m, "best": min(times, key=times.__getitem__)}


# -- all-gather and reduce-scatter ---------------------------------------------------------------


def _pat_tree() -> Cases:
    """The edges over which the shard of rank 0 travels among eight, and the most shards of a rank's message."""
    steps = list(built(allgather.pat, 8).schedule.steps)
    drawn = {f"round{t}": edges(step.taken(step.block == 0)) for t, step in enumerate(steps, 1)}
    for t, step in enumerate(steps, 1):  # a rank sends all shards to one partner
        shards = int(np.bincount(step.src).max())
        yield {"at": f"round {t}", "r": t, "edges": len(drawn[f"round{t}"].split()), "shards": shards, **drawn}


def two_halves(ranks: int, *, far: int, uplink: int) -> Topology:
    """N ranks under two switches, N/2 each, joined by one link of `far` alpha and `uplink` BW each way.

    >>> two_halves(8, far=10, uplink=1).num_links
    18
    """
    up = [(rank, ranks + (2 * rank >= ranks)) for rank in range(ranks)]
    ports = up + [(b, a) for a, b in up]
    links = [*ports, (ranks, ranks + 1), (ranks + 1, ranks)]
    alpha, bandwidth = [Fraction(1, 2)] * len(ports) + [far] * 2, [1] * len(ports) + [uplink] * 2
    port_model = "one full-duplex port per rank, one uplink per half"
    name = f"two halves of {ranks // 2}"
    return from_links(name, ranks, links, switches=2, alpha=alpha, bandwidth=bandwidth, port_model=port_model)


def far_wires(ranks: int, *, far: int) -> Topology:
    """One port per rank and, behind it, a wire of its own to every rank: nothing is shared but the ports.

    A route within a half of the ranks takes 1 alpha, one between the halves `far`.

    >>> far_wires(4, far=10).num_links
    20
    """
    pairs = list(permutations(range(ranks), 2))
    alpha = [far if (2 * a >= ranks) != (2 * b >= ranks) else 1 for a, b in pairs]
    return one_port(from_links(f"far wires between two halves of {ranks // 2}", ranks, pairs, alpha=alpha))


def _far_first() -> Cases:
    wires, halves = far_wires(8, far=10), two_halves(8, far=10, uplink=1)
    uplink = [built(build, 8, on=halves).link_total[-1] for build in (allgather.bruck, allgather.pat)]
    for m in (1.0, 10.0, 100.0):
        near, far = (timed(build, 8, on=wires, price=(m, 1.0, 1.0)) for build in (allgather.bruck, allgather.pat))
        beside = {"uplink_near": uplink[0], "uplink_far": uplink[1]}
        yield {"at": f"N = 8, M = {m:g} alpha BW", "far_first": far, "near_first": near, **beside}


def as_printed(choose: int = 0) -> Schedule:
    """The source's rounds at N = 8: partner XOR 4, 2, 1, and each way the choose-th chunk, cyclically, that lacks."""
    chunks = [{r} for r in range(8)]
    steps = []
    for distance in (4, 2, 1):
        lacking = [sorted(chunks[r] - chunks[r ^ distance]) for r in range(8)]
        sent = [candidates[choose % len(candidates)] for candidates in lacking]
        steps.append(Step.of(np.arange(8), np.arange(8) ^ distance, sent))
        chunks = [chunks[r] | {sent[r ^ distance]} for r in range(8)]
    return Schedule.from_steps(all_gather(8), steps)


def _chunks(t: int) -> int:
    """The most chunks on any rank after round t, whichever chunk is selected."""
    traced = [list(trace(as_printed(choose)))[t] for choose in range(4)]
    return max(sum(rank == r for rank, _ in state) for state in traced for r in range(8))


def _partners() -> Cases:
    """Whether PAT's rounds pair ranks by XOR, or all send equally far round the ranks."""
    for t, step in enumerate(built(allgather.pat, 8).schedule.steps):
        distance = 4 >> t
        away = np.unique((step.dst - step.src) % 8).tolist()
        by_xor = bool((step.src ^ step.dst == distance).all())
        yield {"at": f"round {t + 1}", "by_xor": by_xor, "rotated": away in ([distance], [8 - distance])}


TABLE: Table = {
    "E-01-015 E-01-182": _best_of_a_chain,
    "E-01-007 E-01-008 E-01-009 E-01-010 E-01-011 E-01-012": states(partial(broadcast.chain, segments=4), 4),
    # our reduce is the broadcast backwards and so takes the last chunk first; the source takes chunk 0 first
    "E-01-033 E-01-034 E-01-035 E-01-036 E-01-037 E-01-038": states(
        partial(reduce.chain, segments=4), 4, chunks=(3, 2, 1, 0)
    ),
    "E-01-018 E-01-019": states(broadcast.binomial_tree, 4),
    "E-01-042 E-01-043": states(printed_reduce_tree),
    "E-01-020": per(
        range(1, 8),
        name="k",
        levels=lambda k: " ".join(map(str, np.bincount(trees.depths(trees.binomial(1 << k))))),
    ),
    "E-01-044": once("N = 4", edges=lambda: edges(*built(broadcast.binomial_tree, 4).schedule.steps)),
    "E-01-131 E-01-132 E-01-133 E-01-167": _pat_tree,
    "E-01-136": _far_first,
    "E-01-140": _partners,
    "E-01-137 E-01-138 E-01-139": per((1, 2, 3), name="r", at=", N = 8", chunks=_chunks),
    "E-01-162": states(allgather.recursive_doubling, 4),
    "E-01-163": once("N = 4", distances=lambda: distances("all-gather recursive-doubling")),
}
