"""Answers on all-gather and reduce-scatter."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np

from colllib.algorithms import allgather, allreduce, reducescatter
from colllib.claims.finding import Finding, answer, counted, not_checkable
from colllib.claims.model import SIZES
from colllib.claims.traces import agreeing, printed
from colllib.cost import Cost
from colllib.events import event_clock
from colllib.execution import Execution, execute, trace
from colllib.measures import staging
from colllib.primitives import all_gather, reduce_scatter
from colllib.schedule import Schedule, Step
from colllib.topology import Topology, from_links

CHAPTER = "06-all-gather-and-reduce-scatter"

not_checkable(
    CHAPTER,
    {
        "E-01-095": "A statement about what NCCL ships; its source (src/device/all_gather.h, reduce_scatter.h, "
        "src/graph/tuning.cc) also has NVLS kernels for both, for the NVLink domain, beside ring, PAT and CollNet.",
        "E-01-098": "A statement about what NCCL ships; its source agrees: ncclPatEnable in src/graph/tuning.cc "
        "refuses PAT unless every node has one rank, though NCCL_PAT_ENABLE=1 skips that test.",
    },
)


POWERS = (2, 4, 8, 16, 64, 128)


def _log(n: int) -> int:
    return (n - 1).bit_length()


# -- formulas ---------------------------------------------------------------------------------


@answer(CHAPTER, "E-00-030")
def _ring_halves() -> Finding:
    builds = {"all-gather": allgather.ring, "reduce-scatter": reducescatter.ring}
    return counted(builds, lambda n: Cost(n - 1, Fraction(n - 1, n)), SIZES)


@answer(CHAPTER, "E-00-031", "E-01-141")
def _pat() -> Finding:
    builds = {"all-gather": allgather.pat, "reduce-scatter": reducescatter.pat}
    return counted(builds, lambda n: Cost(_log(n), Fraction(n - 1, n)), SIZES)


@answer(CHAPTER, "E-00-032", "E-01-165")
def _recursive_halves() -> Finding:
    builds = {"all-gather": allgather.recursive_doubling, "reduce-scatter": reducescatter.recursive_halving}
    return counted(builds, lambda n: Cost(_log(n), Fraction(n - 1, n)), POWERS)


@answer(CHAPTER, "E-01-097")
def _latency_of_a_ring_of_72() -> Finding:
    microseconds = float(execute(allgather.ring(72)).cost.n_alpha) * 0.5
    return Finding.compare("tens of us", "tens of us" if 10 <= microseconds < 100 else f"{microseconds:g} us")


@answer(CHAPTER, "E-01-130")
def _latency_of_a_ring_of_512() -> Finding:
    return Finding.rounds({"1": float(execute(allgather.ring(512)).cost.n_alpha) * 2e-3})


@answer(CHAPTER, "E-01-166")
def _what_recursive_doubling_gains() -> Finding:
    n = 64
    steps = [execute(build(n)).cost.n_alpha for build in (allgather.ring, allgather.recursive_doubling)]
    said = [_log(n), n - 1]
    because = "The arrow is reversed: to go from the ring to recursive doubling reduces N-1 latencies to log2 N."
    return Finding.compare(f"{said[0]} -> {said[1]} at N = {n}", f"{steps[0]} -> {steps[1]} at N = {n}", because)


# -- PAT --------------------------------------------------------------------------------------


def _tree_of(schedule: Schedule, block: int) -> dict[int, set[tuple[int, int]]]:
    """The edges over which a block travels, by round."""
    tree = {}
    for t in range(schedule.num_steps):
        step = schedule.step(t)
        mine = step.block == block
        tree[t + 1] = set(zip(step.src[mine].tolist(), step.dst[mine].tolist(), strict=True))
    return tree


def _blocks_a_message(schedule: Schedule) -> dict[int, int]:
    """The most blocks that one rank sends in each round; in these schedules all to one partner."""
    return {t + 1: int(np.bincount(schedule.step(t).src).max()) for t in range(schedule.num_steps)}


_GROWS = (
    "The tree of every shard doubles its edges from round to round, and with N trees at once each rank sends on N/2 "
    "of them in the last round."
)


@answer(CHAPTER, "E-01-131")
def _edges_a_round() -> Finding:
    edges = {t: len(tree) for t, tree in _tree_of(execute(allgather.pat(8)).schedule, 0).items()}
    drawn = {1: 1, 2: 2, 3: 4}
    return Finding.statements({"the text": dict.fromkeys(drawn, 1), "its drawing": drawn}, edges, _GROWS, "jeaugey2025")


_DRAWN = {1: {(0, 4)}, 2: {(0, 2), (4, 6)}, 3: {(0, 1), (2, 3), (4, 5), (6, 7)}}


@answer(CHAPTER, "E-01-132")
def _tree_of_rank_0() -> Finding:
    walked = _tree_of(execute(allgather.pat(8)).schedule, 0)
    said = {f"{a} -> {b}": t for t, edges in _DRAWN.items() for a, b in edges}
    done = {f"{a} -> {b}": t for t, edges in walked.items() for a, b in edges}
    return agreeing(said, done)


@answer(CHAPTER, "E-01-133", "E-01-167")
def _chunks_on_a_link() -> Finding:
    rounds = _blocks_a_message(execute(allgather.pat(8)).schedule)
    return Finding.compare(dict.fromkeys(rounds, 1), rounds, _GROWS, "jeaugey2025")


@answer(CHAPTER, "E-01-134")
def _three_wishes() -> Finding:
    said = {"rounds": 3, "sent": Fraction(7, 8), "most chunks in a message": 1}
    because = (
        "3 rounds of one chunk move 3/8 of M. Any two hold together: one chunk a message takes 7 rounds, and 3 rounds "
        "take messages of up to 4 chunks."
    )
    found = {}
    for cap in (1, 2, 4):
        run = execute(allgather.pat(8, cap=cap))
        most = max(_blocks_a_message(run.schedule).values())
        found[cap] = {"rounds": run.schedule.num_steps, "sent": max(run.sent), "most chunks in a message": most}
    met = [cap for cap, have in found.items() if have == said]
    return Finding.compare(said, said if met else found[4], because, "jeaugey2025")


def parked(schedule: Schedule) -> Fraction:
    """The most shards of M/N that any rank must keep for others at any time."""
    return max(staging(schedule), default=Fraction(0)) * schedule.ranks


@answer(CHAPTER, "E-01-135")
def _buffer() -> Finding:
    sizes = (8, 16, 64, 512)
    least = {n: parked(execute(allgather.pat(n, cap=1)).schedule) for n in sizes}
    assert all(parked(execute(allgather.pat(n)).schedule) == n // 2 - 1 for n in sizes)
    because = (
        "With messages of one shard a rank parks log2 N - 1 shards for others, and the gather takes N-1 steps; in "
        "log2 N steps it parks N/2 - 1: logarithmic at best, as PAT's paper says."
    )
    return Finding.compare(dict.fromkeys(sizes, least[8]), least, because, "jeaugey2025")


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
        alpha=[Fraction(1, 2)] * len(ends) + [far] * 2,
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
    links = [(r, ranks + r) for r in rank] + [(2 * ranks + r, r) for r in rank]
    pairs = [(a, b) for a in rank for b in rank if a != b]
    return from_links(
        f"far wires between two halves of {ranks // 2}",
        ranks,
        links + [(ranks + a, 2 * ranks + b) for a, b in pairs],
        switches=2 * ranks,
        alpha=[Fraction(1, 2)] * len(links)
        + [far - 1 if (2 * a >= ranks) != (2 * b >= ranks) else 0 for a, b in pairs],
        port_model="one full-duplex port per rank",
    )


def one_at_a_time(schedule: Schedule) -> Schedule:
    """Each rank's message cut into its blocks, one a step; every rank must send equally many in a step.

    >>> one_at_a_time(allgather.bruck(8)).num_steps
    7
    """
    steps = []
    for t in range(schedule.num_steps):
        rows = [part.reshape(schedule.ranks, -1).T for part in schedule.step(t)]
        steps += [Step(*(np.ascontiguousarray(row) for row in parts)) for parts in zip(*rows, strict=True)]
    return Schedule.from_steps(schedule.blocks, steps)


@answer(CHAPTER, "E-01-136")
def _far_first() -> Finding:
    where = far_wires(16, far=10)
    near, far = allgather.bruck(16), allgather.pat(16)
    uplink = [execute(s, two_halves(16, far=10, uplink=1)).link_total[-1] for s in (near, far)]

    def gains(first: Schedule, second: Schedule, message: float) -> bool:
        times = [event_clock(s, where, message=message, alpha=1, bandwidth=1).seconds for s in (first, second)]
        return times[1] < times[0] * (1 - 1e-9)

    single = one_at_a_time(near), one_at_a_time(far)
    found = {f"one shard a message, M = {m} alpha BW": gains(*single, m) for m in (1, 10, 100)}
    found |= {f"log2 N rounds, M = {m} alpha BW": gains(near, far, m) for m in (1, 10, 100)}
    assert any(found.values())
    because = (
        "In log2 N rounds the later messages wait for what came from afar, and with no shared link both orders end "
        "together at every size; only single shards overlap, at some sizes. What far first saves is bytes on long "
        f"links: {uplink[1]} instead of {uplink[0]} M over the uplink of half of 16 ranks."
    )
    return Finding.compare(dict.fromkeys(found, True), found, because, "jeaugey2025")


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


@answer(CHAPTER, "E-01-137")
def _after_round_1() -> Finding:
    return _chunks_after(1, 2)


@answer(CHAPTER, "E-01-138")
def _after_round_2() -> Finding:
    return _chunks_after(2, 4)


@answer(CHAPTER, "E-01-139")
def _after_round_3() -> Finding:
    return _chunks_after(3, 8)


def _chunks_after(rounds: int, claimed: int) -> Finding:
    most = 0
    for choose in range(4):
        state = list(trace(as_printed(choose)))[rounds]
        most = max(most, *(sum(rank == r for rank, _ in state) for r in range(8)))
    because = f"One chunk a round and partner adds one chunk a round: at most 1 + {rounds}, whichever is selected."
    return Finding.compare(claimed, most, because)


@answer(CHAPTER, "E-01-140")
def _partners() -> Finding:
    schedule = execute(allgather.pat(8)).schedule
    met, said = {}, {}
    for t, distance in enumerate((4, 2, 1)):
        step = schedule.step(t)
        met[f"distance {distance}"] = sorted(set(zip(step.src.tolist(), step.dst.tolist(), strict=True)))
        said[f"distance {distance}"] = [(r, r ^ distance) for r in range(8)]
    rotated = all(b == (a + 1) % 8 for a, b in met["distance 1"])
    because = (
        "PAT's trees are rotated copies, so every rank sends to i + d and receives from i - d (mod N), which is what "
        "lets N be any number; XOR pairs belong to recursive doubling."
    )
    executed = "i + d (mod N)" if rotated else "other"
    return Finding.compare("i XOR d", "i XOR d" if met == said else executed, because, "jeaugey2025")


# -- recursive doubling -----------------------------------------------------------------------

_STATES = (
    (1, ("0 1 - -", "0 1 - -", "- - 2 3", "- - 2 3")),
    (2, ("0 1 2 3",) * 4),
)


@answer(CHAPTER, "E-01-162")
def _traced_steps() -> Finding:
    found = [printed(partial(allgather.recursive_doubling, 4), t, rows) for t, rows in _STATES]
    wrong = [finding for finding in found if finding.verdict != found[0].verdict]
    return wrong[0] if wrong else found[-1]


def _distances(run: Execution, first: int = 0) -> list[int]:
    steps = [run.schedule.step(t) for t in range(first, run.schedule.num_steps)]
    return [int((step.src ^ step.dst)[0]) for step in steps]


@answer(CHAPTER, "E-01-163")
def _same_as_the_second_phase() -> Finding:
    alone = _distances(execute(allgather.recursive_doubling(4)))
    phase = _distances(execute(allreduce.rabenseifner(4)), first=2)
    because = (
        "Standalone it is traced with partners at distance 1, then 2; inside Rabenseifner at 2, then 1, because there "
        "it undoes a halving that went 1, 2: two schedules with one cost."
    )
    said = {"B.4": " then ".join(map(str, alone)), "B.2": " then ".join(map(str, phase))}
    return Finding.statements(said, "both deliver", because)


# -- in the network ---------------------------------------------------------------------------


def through_a_switch(ranks: int) -> tuple[Execution, Execution]:
    """An all-gather by multicast and a reduce-scatter by addition in one switch, executed."""
    links = [pair for r in range(ranks) for pair in ((r, ranks), (ranks, r))]
    alpha = [Fraction(1, 2)] * len(links)
    where = from_links("switch", ranks, links, switches=1, alpha=alpha, combines=True, replicates=True)
    rank = np.arange(ranks)
    src, dst = (side.ravel() for side in np.divmod(np.arange(ranks * ranks), ranks))
    others = src != dst
    gather = [Step.of(rank, ranks, rank), Step.of(ranks, dst[others], src[others])]
    scatter = [Step.of(src[others], ranks, dst[others], add=True), Step.of(ranks, rank, rank, add=True)]
    built = ((all_gather(ranks), gather), (reduce_scatter(ranks), scatter))
    gathered, scattered = (execute(Schedule.from_steps(blocks, steps, switches=1), where) for blocks, steps in built)
    return gathered, scattered


@answer(CHAPTER, "E-01-096")
def _in_network() -> Finding:
    n_alpha = [run.cost.n_alpha for run in through_a_switch(8)]
    because = (
        "A switch that replicates gathers, one that adds scatters, and part 04 lists both with NVLS as the product; "
        "what they lack, as both parts say, is all-reduce's gain in bytes."
    )
    said = {"part 01": "none exists", "part 04, 1.1, 1.2 and 1.4": "multicast for AG, switch ALU for RS"}
    return Finding.statements(said, f"each takes {n_alpha[0]} alpha at N = 8", because)
