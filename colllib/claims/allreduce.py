"""Answers on all-reduce."""

from __future__ import annotations

from fractions import Fraction
from functools import cache, partial
from math import sqrt

import numpy as np

from colllib import units
from colllib.algorithms import allgather, allreduce, broadcast, find, reduce, reducescatter, trees
from colllib.bounds import lower_bound
from colllib.claims.finding import Finding, answer, not_checkable
from colllib.claims.model import POWERS, SIZES
from colllib.claims.traces import agreeing, printed
from colllib.cost import Cost, crossover
from colllib.events import event_clock
from colllib.execution import Execution, execute, trace
from colllib.ladder import ANCHOR_ALPHA, ANCHOR_BANDWIDTH, ANCHOR_MESSAGE, Rung, best, ladder, run
from colllib.primitives import all_reduce
from colllib.primitives import broadcast as broadcast_blocks
from colllib.primitives import reduce_scatter as reduce_scatter_blocks
from colllib.schedule import Schedule, Step, in_sequence, pipelined, reversed_in_time
from colllib.topology import Topology, from_links, full_mesh, star

CHAPTER = "07-all-reduce"
LADDER = "09-ladder-512"
PRIMITIVES_CHAPTER = "02-primitives"
BOUNDS_CHAPTER = "03-lower-bounds"
ANCHOR = {"message": ANCHOR_MESSAGE, "alpha": ANCHOR_ALPHA, "bandwidth": ANCHOR_BANDWIDTH}
TREE = find("all-reduce", "double-binary-tree")
UNIT = ANCHOR_ALPHA * ANCHOR_BANDWIDTH
MANY = 500  # segments that stand for "endlessly many"
# the two trees that the source draws for four ranks, as arrays of parents
FIRST, SECOND = (-1, 0, 0, 1), (3, 2, 3, -1)

not_checkable(
    CHAPTER,
    {
        "E-01-005": "A statement about what NCCL ships; it has no ring for all-to-all, which it "
        "builds from sends and receives.",
        "E-01-006": "A statement about what NCCL ships.",
    },
)


def _log(n: int) -> int:
    return (n - 1).bit_length()


def _best_double_tree(n: int, message: float) -> Rung:
    return run(TREE, star(n), message=message, alpha=ANCHOR_ALPHA, bandwidth=ANCHOR_BANDWIDTH)


@cache
def _double_tree(n: int, segments: int = 1, ports: int = 1) -> Execution:
    return execute(allreduce.double_binary_tree(n, segments=segments), star(n, ports))


# -- costs ------------------------------------------------------------------------------------


def _costs(claimed: dict[int, Cost], executed: dict[int, Cost], because: str = "", reference: str = "") -> Finding:
    return Finding.compare(claimed, executed, because, reference)


@answer(CHAPTER, "E-00-026", "E-01-062", "E-01-085")
def _ring() -> Finding:
    return _costs(
        {n: Cost(2 * (n - 1), Fraction(2 * (n - 1), n)) for n in SIZES},
        {n: execute(allreduce.ring(n)).cost for n in SIZES},
    )


@answer(CHAPTER, "E-00-028", "E-01-152", "R-10")
def _rabenseifner() -> Finding:
    return _costs(
        {n: Cost(2 * _log(n), Fraction(2 * (n - 1), n)) for n in POWERS},
        {n: execute(allreduce.rabenseifner(n)).cost for n in POWERS},
    )


@answer(CHAPTER, "E-00-029", "E-01-144")
def _recursive_doubling() -> Finding:
    return _costs(
        {n: Cost(_log(n), _log(n)) for n in POWERS},
        {n: execute(allreduce.recursive_doubling(n)).cost for n in POWERS},
    )


_TERM = (
    "On one full-duplex port per rank the double tree costs 2 log2 N - 1 in one piece and "
    "tends to 2 in many; log2 N in one "
    "piece, and 1 in many, take a link per pair of ranks, or (1 in many) two ports."
)


_TENDS = (
    "A limit, which the text calls asymptotic: 2 log2 N latencies belong to one piece (n_beta 2 log2 N - 1) and n_beta "
    "= 2 to pieces without end; no P has both."
)


@answer(CHAPTER, "E-00-027")
def _double_tree_in_the_cheatsheet() -> Finding:
    """One port: the latencies in one piece, the bytes in many, which come down to 2 and stay above it."""
    claimed: dict[str, object] = {}
    executed: dict[str, object] = {}
    for n in (8, 64, 512):
        loads = [Fraction(_double_tree(n, p).cost.n_beta) for p in (1, 50, MANY)]
        claimed |= {f"n_alpha, N = {n}": 2 * _log(n), f"n_beta, N = {n}": 2.0, f"from above, N = {n}": True}
        executed |= {
            f"n_alpha, N = {n}": int(_double_tree(n).cost.n_alpha),
            f"n_beta, N = {n}": round(float(loads[-1]), 1),
            f"from above, N = {n}": loads == sorted(loads, reverse=True) and loads[-1] > 2,
        }
    text = f"N = 512: n_alpha = 18 in one piece, n_beta = {float(_double_tree(512, MANY).cost.n_beta):.2f} in {MANY}"
    return Finding.compare(claimed, executed, _TERM).holding(_TENDS, text)


@answer(CHAPTER, "E-01-079", "E-01-086")
def _double_tree_in_one_piece() -> Finding:
    return _costs({n: Cost(2 * _log(n), _log(n)) for n in POWERS}, {n: _double_tree(n).cost for n in POWERS}, _TERM)


@answer(CHAPTER, "E-01-053", "E-01-080", "E-01-087")
def _double_tree_pipelined() -> Finding:
    executed = {n: round(float(_double_tree(n, MANY).cost.n_beta), 1) for n in (8, 64, 512)}
    return Finding.compare(dict.fromkeys(executed, 1.0), executed, _TERM, "sanders2009")


@answer(CHAPTER, "E-01-193")
def _two_terms_for_one_tree() -> Finding:
    executed = round(float(_double_tree(512, MANY).cost.n_beta), 1)
    return Finding.statements({"§5.2": 1.0, "C.5": 2.0}, executed, _TERM, "sanders2009")


@answer(CHAPTER, "E-00-037")
def _star_row() -> Finding:
    claimed = {
        "ring": Cost(1022, Fraction(511, 256)),
        "pairwise all-to-all": Fraction(511, 512),
        "double tree in one piece, n_alpha": 18,
        "double tree in many, n_beta": 2.0,
    }
    executed = {
        "ring": execute(allreduce.ring(512)).cost,
        "pairwise all-to-all": Fraction(find("all-to-all", "pairwise").cost(512).n_beta),
        "double tree in one piece, n_alpha": int(_double_tree(512).cost.n_alpha),
        "double tree in many, n_beta": round(float(_double_tree(512, MANY).cost.n_beta), 1),
    }
    return Finding.compare(claimed, executed, _TERM).holding(_TENDS)


@answer(LADDER, "E-00-036")
def _tree_at_the_anchor() -> Finding:
    tree = _best_double_tree(512, ANCHOR_MESSAGE)
    because = (
        f"18 alpha + 2 M/BW is a limit: at M = 16 MB the best whole number of segments is "
        f"{tree.segments}. Rabenseifner "
        f"comes to {execute(allreduce.rabenseifner(512)).cost.seconds(**ANCHOR) * 1e6:.2f} us."
    )
    return Finding.rounds({"44.56": tree.seconds * 1e6}, because)


@answer(CHAPTER, "E-01-061")
def _ring_halves() -> Finding:
    executed = {"RS": execute(reducescatter.ring(4)).cost, "AG": execute(allgather.ring(4)).cost}
    return Finding.compare(dict.fromkeys(executed, Cost(3, Fraction(3, 4))), executed)


@cache
def _single_tree() -> Schedule:
    down = trees.down_by_level(FIRST, broadcast_blocks(4, shares=4))
    return in_sequence(reversed_in_time(down), down)


@cache
def _printed_double_tree() -> Schedule:
    return allreduce.double_binary_tree(4, parents=(FIRST, SECOND))


@answer(CHAPTER, "E-01-070")
def _single_tree_of_four() -> Finding:
    because = (
        "R0 receives from two children in one step over one port, and sends to two in another: "
        "those steps cost 2 M/BW. "
        f"With a link per pair of ranks execution gives {execute(_single_tree(), full_mesh(4)).cost.n_beta}."
    )
    return Finding.compare(Cost(4, 4), execute(_single_tree()).cost, because)


@answer(CHAPTER, "E-01-078")
def _double_tree_of_four() -> Finding:
    because = (
        "Two of the four steps bring two halves to one port. With a link per pair of ranks execution gives "
        f"{execute(_printed_double_tree(), full_mesh(4)).cost.n_beta}."
    )
    return Finding.compare(Cost(4, 2), execute(_printed_double_tree()).cost, because)


@answer(CHAPTER, "E-01-071")
def _single_tree_said_twice() -> Finding:
    executed = Fraction(execute(_single_tree(), full_mesh(4)).cost.n_beta)
    said = {"the formula, 2 log2 N at N = 4": Fraction(4), "the sentence below it, log2 N": Fraction(2)}
    return Finding.statements(said, executed, "The sentence drops the factor 2 of the formula just above it.")


@answer(PRIMITIVES_CHAPTER, "E-01-004")
def _reduce_and_broadcast_against_the_double_tree() -> Finding:
    n = 64
    apart = in_sequence(reduce.two_tree(n, segments=MANY), broadcast.two_tree(n, segments=MANY))
    ratio = Fraction(execute(apart).cost.n_beta) / Fraction(_double_tree(n, MANY).cost.n_beta)
    because = (
        "On one port per rank a reduce and a broadcast down the same pair of trees move just "
        "what the double tree moves."
    )
    return Finding.rounds({"2.0": float(ratio)}, because)


@answer(PRIMITIVES_CHAPTER, "E-01-003")
def _rabenseifner_materializes_the_scattered_sums() -> Finding:
    seen = "materialized" if _is_reduce_scatter(8) else "not materialized"
    return Finding.compare(
        "not materialized",
        seen,
        "After log2 N steps every rank holds one complete sum: the first half alone is proved to be a reduce-scatter.",
    )


def _is_reduce_scatter(n: int) -> bool:
    whole = allreduce.rabenseifner(n)
    half = [whole.step(t) for t in range(_log(n))]
    execute(Schedule.from_steps(reduce_scatter_blocks(n), half))
    return True


@answer(CHAPTER, "E-01-054")
def _ring_indices() -> Finding:
    ring = reducescatter.ring(4, first=0)
    executed, claimed = {}, {}
    for t in range(3):
        step = ring.step(t)
        for src, dst, block in zip(step.src.tolist(), step.dst.tolist(), step.block.tolist(), strict=True):
            executed[f"rank {src} sends in step {t + 1}"] = block
            claimed[f"rank {src} sends in step {t + 1}"] = (src - (t + 1) + 1) % 4
            executed[f"rank {dst} adds in step {t + 1}"] = block
            claimed[f"rank {dst} adds in step {t + 1}"] = (dst - (t + 1)) % 4
    for chunk, owner in enumerate(ring.blocks.target.tolist()):
        executed[f"rank {owner} owns"] = chunk
        claimed[f"rank {owner} owns"] = (owner + 1) % 4
    return Finding.compare(claimed, executed)


@answer(BOUNDS_CHAPTER, "E-01-063")
def _floor_argument() -> Finding:
    # leaving once and arriving at the N-1 others once, without sums on the way
    claimed = {n: Fraction(n - 1) for n in SIZES}
    executed = {n: max(execute(allreduce.ring(n)).received) for n in SIZES}
    because = (
        "If each rank's M bytes arrived at each other rank, every rank would receive (N-1) M. "
        "The floor of 2(N-1)/N holds "
        "because partial sums are combined on the way: of each element N-1 sums must be sent "
        "before it is complete, and N-1 "
        "ranks told."
    )
    return Finding.compare(claimed, executed, because, "patarasuk2009")


@answer(CHAPTER, "E-01-064")
def _hops_of_a_chunk() -> Finding:
    ring = allreduce.ring(4)
    hops = sum(int((ring.step(t).block == 0).sum()) for t in range(ring.num_steps))
    return Finding.compare(4, hops, "A chunk makes N-1 hops while it is summed and N-1 more while it is handed round.")


@answer(CHAPTER, "E-01-065")
def _partners_of_the_double_tree() -> Finding:
    return Finding.compare(
        (1, 1),
        execute(_printed_double_tree()).partners(),
        "A parent receives from, or sends to, two children in one step; the pairing of a "
        "hypercube is recursive doubling's.",
    )


@answer(CHAPTER, "E-01-072")
def _roles() -> Finding:
    interior = [{parent for parent in tree if parent >= 0} for tree in (FIRST, SECOND)]
    return Finding.compare(
        dict.fromkeys(range(4), 1), {rank: sum(rank in inside for inside in interior) for rank in range(4)}
    )


@answer(CHAPTER, "E-01-073")
def _directions() -> Finding:
    # in which direction each rank uses its link for each tree while both trees reduce
    used: dict[int, list[set[str]]] = {rank: [set(), set()] for rank in range(4)}
    for number, tree in enumerate((FIRST, SECOND)):
        for child, parent in enumerate(tree):
            if parent >= 0:
                used[child][number].add("out")
                used[parent][number].add("in")
    apart = {f"R{rank} keeps the directions apart": not (first & second) for rank, (first, second) in used.items()}
    return Finding.compare(
        dict.fromkeys(apart, True), apart, "While both trees reduce, an interior rank of one sends upwards in both."
    )


@answer(CHAPTER, "E-01-081")
def _master_formula() -> Finding:
    steps = 2 * _log(512)
    endless = Fraction(steps + MANY**2 - 1, 2 * MANY**2)
    because = (
        "(L + P - 1) segments of M/2P tend to M/2BW. Execution with a link per pair gives 1: the trees share links."
    )
    return Finding.rounds({"1.0": float(endless)}, because)


@answer(CHAPTER, "E-01-082")
def _concurrent_partners() -> Finding:
    n = 64
    both = pipelined(allreduce.double_binary_tree(n), 40)
    most = 0
    for t in range(both.num_steps):
        step = both.step(t)
        pairs = {tuple(sorted(pair)) for pair in zip(step.src.tolist(), step.dst.tolist(), strict=True)}
        most = max(most, int(np.bincount(np.array(list(pairs)).ravel(), minlength=n).max()))
    because = (
        "In mid-pipeline an interior rank talks to two children and a parent in one tree and to a parent in the other."
    )
    return Finding.compare(3, most, because)


@answer(CHAPTER, "E-01-083")
def _square_root_term() -> Finding:
    return Finding.rounds({"24.6": 2 * sqrt((2 * 9 - 1) * ANCHOR_ALPHA * ANCHOR_MESSAGE / ANCHOR_BANDWIDTH) * 1e6})


def _through_the_switch(n: int) -> tuple[Schedule, Topology]:
    ranks = np.arange(n)
    steps = [Step.of(ranks, n, 0, add=True), Step.of(n, ranks, 0)]
    links = [(r, n) for r in range(n)] + [(n, r) for r in range(n)]
    where = from_links(f"switch:{n}", n, links, switches=1, alpha=[1] * 2 * n, combines=True, replicates=True)
    return Schedule.from_steps(all_reduce(n), steps, switches=1), where


@answer(CHAPTER, "E-01-002")
def _steps_through_the_switch() -> Finding:
    executed = {n: execute(*_through_the_switch(n)).cost.n_alpha for n in SIZES}
    return Finding.compare(dict.fromkeys(SIZES, 2), executed)


@answer(CHAPTER, "E-01-084", "E-01-088")
def _limit_of_the_switch() -> Finding:
    schedule, where = _through_the_switch(8)
    fused = event_clock(pipelined(schedule, 4 * MANY), where, message=1000.0, alpha=1.0, bandwidth=1.0).seconds
    return Finding.rounds({"1002": fused}, "The fused limit of many segments on the event clock.")


# -- which is fastest -------------------------------------------------------------------------


@answer(LADDER, "E-01-089")
def _double_tree_against_ring() -> Finding:
    price = {**ANCHOR, "message": 100e9}
    fastest = {n: _best_double_tree(n, 100e9).seconds for n in (8, 72)}
    dominates = {
        f"double tree faster at 100 GB, N = {n}": seconds < execute(allreduce.ring(n)).cost.seconds(**price)
        for n, seconds in fastest.items()
    }
    because = (
        "On one port per rank the ring moves 2(N-1)/N and the double tree never less than 2: the "
        "ring wins large messages."
    )
    return Finding.compare(dict.fromkeys(dominates, True), dominates, because)


@answer(LADDER, "E-01-090")
def _crossover_formula() -> Finding:
    executed = {n: crossover(execute(allreduce.ring(n)).cost, Cost(2 * _log(n), 2)) for n in POWERS if n > 2}
    claimed = {n: Fraction(2 * (n - 1 - _log(n))) / (2 - Fraction(2 * (n - 1), n)) for n in executed}
    return Finding.compare(claimed, executed)


def _practice(n: int) -> float:
    return float(crossover(execute(allreduce.ring(n)).cost, Cost(2 * _log(n), 2)) or 0) * UNIT / 1e9


@answer(LADDER, "E-01-091")
def _practice_at_72() -> Finding:
    return Finding.rounds({"2": _practice(72)})


@answer(LADDER, "E-01-092")
def _practice_at_512() -> Finding:
    return Finding.rounds({"116": _practice(512)})


@answer(LADDER, "E-01-093")
def _coefficient_below_the_ring() -> Finding:
    possible = {
        f"n_beta below 2(N-1)/N, N = {n}": _double_tree(n, MANY).cost.n_beta < lower_bound("all-reduce", n).n_beta
        for n in (8, 64, 512)
    }
    because = "2(N-1)/N is the lower bound of one full-duplex port per rank; no c_real can lie below it."
    return Finding.compare(dict.fromkeys(possible, True), possible, because, "patarasuk2009")


@answer(CHAPTER, "E-01-145")
def _penalty_of_recursive_doubling() -> Finding:
    ratio = execute(allreduce.recursive_doubling(512)).cost.n_beta / execute(allreduce.ring(512)).cost.n_beta
    return Finding.rounds({"4.5": float(ratio)})


@answer(CHAPTER, "E-01-146")
def _cross_reference() -> Finding:
    appendix_a = ("Parallel Aggregated Trees (PAT) — scale-out AG / RS",)  # one heading, without numbered sections
    found = "present" if any("A.3" in title for title in appendix_a) else "absent"
    return Finding.compare("present", found, "Pipelining is analysed in appendix C.")


@answer(CHAPTER, "E-01-151")
def _payloads() -> Finding:
    run4 = execute(allreduce.rabenseifner(4))
    each = {f"step {t + 1}": run4.cost_of([t]).n_beta for t in range(run4.schedule.num_steps)}
    said = zip(each, (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)), strict=True)
    return Finding.compare(dict(said), each)


@answer(CHAPTER, "E-01-153")
def _double_tree_against_rabenseifner_in_the_limit() -> Finding:
    beats = {
        f"double tree at most Rabenseifner's, N = {n}": _double_tree(n, MANY).cost.n_beta
        <= execute(allreduce.rabenseifner(n)).cost.n_beta
        for n in (8, 64, 512)
    }
    return Finding.compare(dict.fromkeys(beats, True), beats, "2(N-1)/N against at least 2, on one port per rank.")


@answer(LADDER, "E-01-154")
def _recursive_doubling_against_double_tree() -> Finding:
    short = execute(allreduce.recursive_doubling(512)).cost

    def tree_is_faster(kilobytes: int) -> bool:
        price = {**ANCHOR, "message": kilobytes * 1e3}
        return TREE.cost(512, best(TREE, 512, **price)).seconds(**price) < short.seconds(**price)

    low, high = 1, 1 << 20
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if tree_is_faster(middle) else (middle + 1, high)
    because = (
        "506 kB follows from n_beta = 1. With the executed double tree at its best P recursive "
        "doubling wins much longer."
    )
    return Finding.rounds({"506": float(low)}, because)


@answer(LADDER, "E-01-155")
def _limit_of_that_crossover() -> Finding:
    executed = {n: crossover(Cost(_log(n), _log(n)), Cost(2 * _log(n), 1)) for n in POWERS if n > 2}
    claimed = {n: Fraction(_log(n), _log(n) - 1) for n in executed}
    return Finding.compare(claimed, executed)


@answer(LADDER, "E-01-156")
def _double_tree_against_rabenseifner() -> Finding:
    halving = execute(allreduce.rabenseifner(512)).cost
    wins = {
        f"double tree faster at {units.size(m)}": _best_double_tree(512, m).seconds
        < halving.seconds(**{**ANCHOR, "message": m})
        for m in (1e3, 1e6, 16e6, 1e9, 10e9)
    }
    because = (
        "On one port per rank Rabenseifner is faster at every size: as few steps as the double "
        "tree in one piece, and fewer bytes."
    )
    return Finding.compare(dict.fromkeys(wins, True), wins, because)


@answer(CHAPTER, "E-01-157")
def _pipelined_rabenseifner() -> Finding:
    """The text says "had it been able to": with a port for every partner, whose lack is what it is about."""
    executed = {
        f"N = {n}: n_beta in 64 pieces": execute(pipelined(allreduce.rabenseifner(n), 64), full_mesh(n)).cost.n_beta
        for n in (4, 8, 16)
    }
    on_one_port = execute(pipelined(allreduce.rabenseifner(16), 64)).cost.n_beta
    where = (
        "Said of ports that it lacks, one for each of log2 N partners, and so it executes with a link per pair. On one "
        f"port n_beta is 2(N-1)/N unpipelined, the lower bound, and {on_one_port} in 64 pieces of 16 ranks."
    )
    return Finding.compare(dict.fromkeys(executed, Fraction(1)), executed, "It does not fall to 1.").holding(
        where, "n_beta = 1 in 64 pieces, N = 4, 8 and 16"
    )


@answer(LADDER, "E-01-158")
def _no_regime_for_recursive_doubling() -> Finding:
    fastest = ladder("all-reduce", star(512), **{**ANCHOR, "message": 10e3})[0].algorithm.name
    because = "With log2 N steps it needs half as many as any tree; for small messages nothing is as fast."
    return Finding.compare("another", "recursive doubling" if fastest == "recursive-doubling" else "another", because)


@answer(CHAPTER, "E-01-159")
def _recursive_doubling_against_ring() -> Finding:
    sizes = [n for n in POWERS if n >= 8]
    worse = {
        n: execute(allreduce.recursive_doubling(n)).cost.n_beta > execute(allreduce.ring(n)).cost.n_beta for n in sizes
    }
    return Finding.compare(dict.fromkeys(sizes, True), worse)


@answer(CHAPTER, "E-01-160")
def _distinct_partners() -> Finding:
    schedule = allreduce.recursive_doubling(512)
    steps = [schedule.step(t) for t in range(schedule.num_steps)]
    return Finding.compare(9, len({int(step.dst[0]) for step in steps}))


@answer(CHAPTER, "E-01-161")
def _folded_ranks() -> Finding:
    executed = {}
    for n in (3, 5, 6, 7, 12):
        first = allreduce.recursive_doubling(n).step(0)
        executed[n] = len({*first.src.tolist(), *first.dst.tolist()})
    because = "Only the surplus over the largest power of two folds: 2 (N - 2^floor(log2 N)) ranks pair off."
    return Finding.compare({n: 2 * (n // 2) for n in executed}, executed, because, "thakur2005")


@answer(CHAPTER, "E-01-164")
def _order_of_the_second_half() -> Finding:
    schedule = allreduce.rabenseifner(4)
    distances = [int(np.abs(schedule.step(t).src - schedule.step(t).dst)[0]) for t in (2, 3)]
    return Finding.compare([2, 1], distances)


@answer(CHAPTER, "R-08")
def _tree_against_ring() -> Finding:
    ring, tree = (execute(build(512)).cost for build in (allreduce.ring, allreduce.binomial_tree))
    assert (ring, tree) == (Cost(1022, Fraction(1022, 512)), Cost(18, 18))
    return Finding.rounds({"9.0": float(tree.n_beta / ring.n_beta)})


# -- printed states ---------------------------------------------------------------------------

_RING = {
    "E-01-055": (1, ("0 0 0 03", "01 1 1 1", "2 12 2 2", "3 3 23 3")),
    "E-01-056": (2, ("0 0 023 03", "01 1 1 013", "012 12 2 2", "3 123 23 3")),
    "E-01-057": (3, ("0 S 023 03", "01 1 S 013", "012 12 2 S", "S 123 23 3")),
    "E-01-058": (4, ("S S ? ?", "? S S ?", "? ? S S", "S ? ? S")),
    "E-01-059": (5, ("S S ? S", "S S S ?", "? S S S", "S ? S S")),
    "E-01-060": (6, ("S S S S",) * 4),
}
_SINGLE = {
    "E-01-066": (1, ("0 0 0 0", "13 13 13 13", "2 2 2 2", "? ? ? ?")),
    "E-01-067": (2, ("S S S S", "? ? ? ?", "? ? ? ?", "? ? ? ?")),
    "E-01-068": (3, ("S S S S", "S S S S", "S S S S", "? ? ? ?")),
    "E-01-069": (4, ("S S S S",) * 4),
}
_DOUBLE = {
    "E-01-074": (1, ("0 0 0 0", "13 13 ? ?", "2 2 12 12", "? ? 3 3")),
    "E-01-075": (2, ("S S ? ?", "? ? ? ?", "? ? ? ?", "? ? S S")),
    "E-01-076": (3, ("S S S S", "S S ? ?", "S S S S", "? ? S S")),
    "E-01-077": (4, ("S S S S",) * 4),
}
_DOUBLING = {
    "E-01-142": (1, ("01 01 01 01", "01 01 01 01", "23 23 23 23", "23 23 23 23")),
    "E-01-143": (2, ("S S S S",) * 4),
}
_HALVING = {
    "E-01-147": (1, ("01 01 ? ?", "? ? 01 01", "23 23 ? ?", "? ? 23 23")),
    "E-01-148": (2, ("S ? ? ?", "? ? ? S", "? S ? ?", "? ? S ?")),
    "E-01-149": (3, ("S S ? ?", "? ? S S", "S S ? ?", "? ? S S")),
    "E-01-150": (4, ("S S S S",) * 4),
}


def _traces() -> None:
    quarters = all_reduce(4, shares=4)
    doubling = allreduce.recursive_doubling(4)
    wide = Schedule.from_steps(quarters, [_widened(doubling.step(t)) for t in range(doubling.num_steps)])
    # the source lets ranks 0 to 3 keep chunks 0, 3, 1, 2; ours keep the block of their own number
    relabeled = (0, 3, 1, 2)
    for table, build, chunks in (
        (_RING, lambda: allreduce.ring(4), range(4)),
        (_SINGLE, _single_tree, range(4)),
        (_DOUBLE, _printed_double_tree, range(4)),
        (_DOUBLING, lambda: wide, range(4)),
        (_HALVING, lambda: allreduce.rabenseifner(4), relabeled),
    ):
        for name, (t, rows) in table.items():
            answer(CHAPTER, name)(partial(printed, build, t, rows, chunks))


def _widened(step: Step) -> Step:
    """The one block of a vector as its four chunks."""
    return Step.of(np.repeat(step.src, 4), np.repeat(step.dst, 4), np.tile(np.arange(4), len(step.src)), True)


_traces()


_NUMBERS = (
    ("1 2 3 4", "5 6 7 8", "9 10 11 12", "13 14 15 16"),
    ("1 2 3 20", "6 6 7 8", "9 16 11 12", "13 14 26 16"),
    ("1 2 29 20", "6 6 7 28", "15 16 11 12", "13 30 26 16"),
    ("1 32 29 20", "6 6 36 28", "15 16 11 40", "28 30 26 16"),
)


@answer(CHAPTER, "R-01")
def _numbers() -> Finding:
    start = [[int(cell) for cell in row.split()] for row in _NUMBERS[0]]
    executed, claimed = {}, {}
    for t, (state, rows) in enumerate(zip(trace(reducescatter.ring(4, first=0)), _NUMBERS, strict=True)):
        for rank, row in enumerate(rows):
            for chunk, cell in enumerate(row.split()):
                place = f"step {t}, P{rank}[{chunk}]"
                claimed[place] = int(cell)
                executed[place] = sum(start[r][chunk] for r in state[rank, chunk].elements())
    return agreeing(claimed, executed)


@answer(CHAPTER, "R-04")
def _stepper() -> Finding:
    result = execute(allreduce.ring(4))
    executed = {
        "states": len(list(trace(result.schedule))),
        "steps": result.schedule.num_steps,
        "sent": max(result.sent),
    }
    return Finding.compare({"states": 7, "steps": 6, "sent": Fraction(3, 2)}, executed)


_ROWS = {
    "E-01-189": ("ring", 2, Fraction(511, 256)),
    "E-01-191": ("recursive-doubling", 9, Fraction(9)),
    "E-01-192": ("rabenseifner", 9, Fraction(511, 256)),
}


def _row(name: str, partners: int, n_beta: Fraction) -> Finding:
    result = execute(find("all-reduce", name).build(512))
    steps = [result.schedule.step(t) for t in range(result.schedule.num_steps)]
    met = {int(step.dst[step.src == 0][0]) for step in steps} | {int(step.src[step.dst == 0][0]) for step in steps}
    claimed = {"partners": Fraction(partners), "n_beta": n_beta}
    return Finding.compare(claimed, {"partners": Fraction(len(met)), "n_beta": Fraction(result.cost.n_beta)})


for _id, _said in _ROWS.items():
    answer(CHAPTER, _id)(partial(_row, *_said))


@answer(CHAPTER, "E-01-190")
def _double_tree_row() -> Finding:
    return Finding.rounds({"2.0": float(_double_tree(512, MANY).cost.n_beta)})
