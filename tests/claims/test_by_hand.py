"""A count by hand of every entry that does not hold: wires walked, ports and partners counted, sums written out.

None of them uses the executor or a closed form: messages come from the second interpreter, routes are walked here.
Each returns quantities of the case that the ledger shows, or of the one that it names, and these must be the ledger's,
and must alone make the verdict.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from statistics import median

import numpy as np
import pytest
import reference
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra, shortest_path

from colllib import claims
from colllib.algorithms import (
    allgather,
    allreduce,
    alltoall,
    breadth_first,
    broadcast,
    expansion,
    find,
    hierarchical,
    innetwork,
    lattice,
    of,
    reducescatter,
    relay,
)
from colllib.claims.allreduce import double_tree, hierarchical_ring, single_tree
from colllib.claims.finding import cases_of, judged
from colllib.claims.gather import as_printed, printed_reduce_tree
from colllib.claims.value import Limit, evaluated, parsed, same
from colllib.contention import scattered
from colllib.schedule import Schedule, pipelined
from colllib.topology import Lattice, boxes, star, torus
from colllib.topology.expression import find as find_topology
from colllib.topology.routes import alternating_torus

ALPHA, LOAD = 0.5, 16e6 / 900e9 * 1e6  # microseconds at the anchor
COUNTS = {}


def counts(ids):
    """The count of some claims: from a case to its quantities."""

    def register(count):
        for name in ids.split():
            assert name not in COUNTS, name
            COUNTS[name] = count
        return count

    return register


def test_every_entry_that_does_not_hold_has_a_count_by_hand():
    """Of what is decided by a comparison with something executed, counted or computed."""
    failing = {
        entry.id
        for entry in claims.ledger()
        if entry.verdict in (claims.Verdict.REFUTED, claims.Verdict.INCONSISTENT) and entry.finding.how != "read"
    }
    assert not failing - COUNTS.keys(), "without a count in this file"
    assert not COUNTS.keys() - failing, "counted, and holds"


@pytest.mark.parametrize("name", COUNTS)  # pytest reads it when all of this file has been imported
def test_a_count_by_hand_gives_what_was_executed_and_decides_alike(name):
    value, cases = claims.entry(name).value, cases_of(name)[0]
    shown = judged(value, cases)[2]
    counted = COUNTS[name](shown)
    case = next(c for c in cases if c.get("at") == counted["at"]) if "at" in counted else shown
    for quantity, number in counted.items():
        executed = evaluated(quantity, case) if quantity != "at" else number
        assert same(executed.value if isinstance(executed, Limit) else executed, number), quantity
    assert decided(value, counted, case) == claims.entry(name).verdict


PARAMETERS = ("N", "P", "d", "k", "s", "s2", "s3", "t", "r", "L", "size", "us", "GBs", "link", "busbw", "p1", "p2")


def decided(value, counted, case):
    """The verdict of the count alone: on the statements whose left sides were counted."""
    first, *others = parsed(value)
    assert {one.left for each in parsed(value) for one in each.statements} & set(counted)
    if others:
        return claims.Verdict.INCONSISTENT
    limits = {one.left for one in first.statements if one.operator == "->"}
    known = {key: case[key] for key in PARAMETERS if key in case}
    for quantity, number in counted.items():
        *roots, last = quantity.split(".")
        place = known
        for root in roots:
            place = place.setdefault(root, {})
        place[last] = Limit(Fraction(number)) if quantity in limits else number
    wrong = [one for one in first.statements if one.left in counted and not one.holds(known)]
    return claims.Verdict.REFUTED if wrong else None


# -- walking and counting ----------------------------------------------------------------------------------


def per_pair(schedule):
    """(steps, n_beta) where every message has a link to itself: every pair of ranks, or neighbors that talk."""
    total, steps, shares = Fraction(0), 0, list(schedule.blocks.share)
    for step in reference.messages(schedule):
        link = Counter()
        for src, dst, block, _ in step:
            link[src, dst] += shares[block]
        total, steps = total + max(link.values()), steps + 1
    return steps, total


def coordinates(rank, dims):
    at = []
    for size in dims:
        at.append(rank % size)
        rank //= size
    return tuple(at)


def walk(src, dst, dims, tie_up=lambda at: True):
    """The links of a route on a torus, first axis first, the shorter way; at half the ring as told."""
    at, to = list(coordinates(src, dims)), coordinates(dst, dims)
    for axis, size in enumerate(dims):
        while at[axis] != to[axis]:
            ahead = (to[axis] - at[axis]) % size
            up = 2 * ahead < size or (2 * ahead == size and tie_up(at[axis]))
            if 2 * ahead == size:  # the way is chosen where the axis is entered
                for _ in range(size // 2):
                    before, at[axis] = tuple(at), (at[axis] + (1 if up else -1)) % size
                    yield before, tuple(at)
                break
            before, at[axis] = tuple(at), (at[axis] + (1 if up else -1)) % size
            yield before, tuple(at)


def wired(schedule, dims, tie_up=lambda at: True):
    """(n_alpha, n_beta) on a torus, lock-step."""
    n_alpha, n_beta, shares = 0, Fraction(0), list(schedule.blocks.share)
    for step in reference.messages(schedule):
        load, longest = Counter(), 0
        for src, dst, block, _ in step:
            links = list(walk(src, dst, dims, tie_up))
            longest = max(longest, len(links))
            for link in links:
                load[link] += shares[block]
        n_alpha, n_beta = n_alpha + longest, n_beta + max(load.values())
    return n_alpha, n_beta


def on_a_ring(size):
    """What a link of a ring carries of an all-to-all along it: all hops over all links; two ranks have one link."""
    hops = sum(min(x, size - x) for x in range(size))
    return Fraction(hops, size) / min(2, size - 1)


def on_a_line(size):
    """The same on a line: the cut that most blocks cross."""
    return max(Fraction(k * (size - k), size) for k in range(1, size))


def best_of(build, ranks, alpha=ALPHA, load=LOAD, eta=1.0):
    """Microseconds at the best whole number of pieces: its steps and loads are counted in 2 and 3, and are a + bP."""
    (steps2, load2), (steps3, load3) = (reference.star_cost(build(ranks, segments=p)) for p in (2, 3))
    grown, more = steps3 - steps2, 3 * load3 - 2 * load2
    pipeline = (
        (steps2 + (p - 2) * grown) * alpha + float(2 * load2 + (p - 2) * more) / p * load / eta for p in range(2, 3000)
    )
    steps1, load1 = reference.star_cost(build(ranks))
    return min(steps1 * alpha + float(load1) * load / eta, *pipeline)


def assembly(stages, alpha=ALPHA, load=LOAD):
    """A line of so many stages at the best whole number of pieces."""
    return min((stages + p - 1) * (alpha + load / p) for p in range(1, 3000))


def children_of_the_root(ranks):
    return sum(1 << k < ranks for k in range(20))


def first_steps(schedule, rank=0):
    """Whom a rank sends to."""
    return {dst for step in reference.messages(schedule) for src, dst, _, _ in step if src == rank}


# -- switches ----------------------------------------------------------------------------------------------

SWITCH = star(8, combines=True, replicates=True, scatters=True)
TRIPS = claims.causes()["switch-trip"].ids


@counts(" ".join(TRIPS))
def one_trip(case):
    """Every block of every collective goes up one link and down one, and a star's link is half an alpha."""
    for build in (
        innetwork.one_shot_all_reduce,
        innetwork.reduce_to_root,
        innetwork.multicast,
        innetwork.scatter_reduced,
        innetwork.gather_multicast,
        innetwork.scatter_bundles,
    ):
        up, down = reference.messages(build(SWITCH))
        assert all(dst == 8 for _, dst, _, _ in up)
        assert all(src == 8 for src, _, _, _ in down)
    return {"trip": sum(reference.route_latency(SWITCH, [link], [1]) for link in (0, 1))}


@counts("E-00-053")
def bytes_of_an_all_to_all(case):
    sent, _ = reference.traffic(alltoall.pairwise(case["N"]))
    return {"bw": 1 / max(sent.values())}


@counts("E-01-096")
def gathered_in_a_switch(case):
    return {
        "exists": all(
            reference.holds(build(SWITCH)) for build in (innetwork.gather_multicast, innetwork.scatter_reduced)
        )
    }


@counts("E-01-117")
def one_bundle_against_rounds(case):
    assert reference.holds(innetwork.scatter_bundles(SWITCH))
    return {"options": int(one_trip(case)["trip"] < alltoall.pairwise(8).num_steps)}


@counts("E-02-091")
def parts_of_alpha(case):
    """The text's alpha of 500 ns without the 400 ns of its endpoints."""
    return {"switch_ns": 500 - 400}


@counts("E-04-004")
def pushed_in_full(case):
    topology = star(case["N"], combines=True, replicates=True, scatters=True)
    sent, _ = reference.traffic(innetwork.scatter_reduced(topology, segments=3))
    return {"sent": max(sent[rank] for rank in range(case["N"]))}


@counts("E-04-011")
def rounds_of_72(case):
    return {"small": sum(1 for _ in reference.messages(alltoall.pairwise(72))) / one_trip(case)["trip"]}


@counts("E-04-023")
def room_below_switches(case):
    """64 below the root, 63 and an uplink below every other."""
    return {"tiers_of_262144": next(k for k in range(1, 9) if 64 * 63 ** (k - 1) >= 262_144)}


@counts("E-04-024")
def tiers_of_4096(case):
    return {"tiers": next(k for k in range(1, 9) if 64 * 63 ** (k - 1) >= 4096)}


@counts("E-04-068")
def steps_of_the_ring(case):
    return {"ring": 2 * 511 / one_trip(case)["trip"]}


@counts("E-05-037")
def added_in_the_switch(case):
    *_, adds = zip(*next(reference.messages(innetwork.scatter_reduced(SWITCH))), strict=True)
    return {"reduce_scatter": not any(adds)}


# -- trees, chains and pipelines on a port per rank -----------------------------------------------------------


@counts("E-00-022 E-00-024")
def a_chain_in_64_pieces(case):
    return {"many.n_alpha": reference.star_cost(broadcast.chain(case["N"], segments=64))[0]}


@counts("E-00-023 E-00-025")
def a_tree_in_16_pieces(case):
    return {"many.n_alpha": reference.star_cost(broadcast.binomial_tree(case["N"], segments=16))[0]}


@counts("E-02-103 E-02-104")
def the_port_of_a_root(case):
    return {"limit": children_of_the_root(case["N"])}


@counts("E-01-023 E-01-046")
def partners_of_a_root(case):
    return {"partners": len(first_steps(broadcast.binomial_tree(case["N"])))}


@counts("E-01-187 E-01-188")
def the_port_of_rank_1(case):
    """It sends to 3, 5, 9, 17, ...: 1 with one higher bit set."""
    children = [1 + 2**k for k in range(1, 12) if 1 + 2**k < case["N"]]
    assert first_steps(broadcast.binomial_tree(case["N"]), 1) == set(children)
    return {"inner_port": len(children), "links": len(children) + 1}


@counts("E-01-032")
def as_many_pieces_as_ranks(case):
    return {"n_beta": reference.star_cost(broadcast.chain(case["N"], segments=case["N"]))[1]}


@counts("E-01-193 E-02-105")
def bytes_of_a_double_tree(case):
    sent, received = reference.traffic(allreduce.double_binary_tree(64, segments=20))
    assert max(sent.values()) == max(received.values())
    return {"limit": max(sent.values())}


@counts("E-00-027 E-00-036")
def a_double_tree_with_a_link_per_pair(case):
    """(P + 11) / P in P pieces: the larger of two numbers of them, less what their fill costs."""
    few, many = (p * per_pair(pipelined(allreduce.double_binary_tree(64), p))[1] for p in (16, 32))
    return {"limit": (many - few) / 16}


@counts("E-01-071")
def the_drawn_single_tree_with_a_link_per_pair(case):
    return {"n_beta": per_pair(single_tree())[1]}


@counts("E-01-065")
def partners_in_the_drawn_trees(case):
    return {
        "into": max(
            max(Counter(dst for _, dst in {m[:2] for m in step}).values()) for step in reference.messages(double_tree())
        )
    }


@counts("E-01-073")
def directions_in_the_drawn_trees(case):
    """Ranks 1 and 2 send upwards in both trees, so that both use one direction of their links."""
    upwards = [{child for child, parent in enumerate(tree) if parent >= 0} for tree in ((-1, 0, 0, 1), (3, 2, 3, -1))]
    return {"apart": int(case["at"].removeprefix("R")) not in upwards[0] & upwards[1]}


@counts("E-01-082 E-01-190")
def partners_in_mid_pipeline(case):
    most = 0
    for step in reference.messages(pipelined(allreduce.double_binary_tree(64), 40)):
        pairs = {frozenset(message[:2]) for message in step}
        most = max(most, *Counter(rank for pair in pairs for rank in pair).values())
    return {"partners": most}


@counts("E-01-081")
def half_a_payload(case):
    """(L + P - 1) / 2P falls towards a half."""
    terms = [Fraction(12 + p - 1, 2 * p) for p in (10**3, 10**6, 10**9)]
    assert terms == sorted(terms, reverse=True)
    return {"limit": terms[-1].limit_denominator(100)}


@counts("E-04-031")
def the_double_tree_at_16_MB(case):
    return {"tree.t": best_of(allreduce.double_binary_tree, 512)}


@counts("E-01-156")
def the_double_tree_at_1_GB(case):
    """Beside it the text's own formula: 18 stages, with a link per pair of ranks, against a halving."""
    wins = [assembly(18, load=mb / 0.9) < 18 * ALPHA + 511 / 256 * mb / 0.9 for mb in (1, 10, 29.9, 30, 1000)]
    assert wins == [False, False, False, True, True]
    load = 1e9 / 900e9 * 1e6
    return {"tree.t": best_of(allreduce.double_binary_tree, 512, load=load), "halving.t": 18 * ALPHA + 511 / 256 * load}


@counts("E-01-154")
def where_the_double_tree_overtakes(case):
    """From the first kB on at which it takes no more: at 4,500 kB both take 49.5 us; 1.21 MB with a link per pair."""
    assert [assembly(18, load=kb / 900) < 9 * (ALPHA + kb / 900) for kb in (506, 1205, 1215)] == [False, False, True]

    def wins(kilobytes):
        load = kilobytes * 1e3 / 900e9 * 1e6
        return best_of(allreduce.double_binary_tree, 512, load=load) <= 9 * (ALPHA + load) * (1 + 1e-12)

    low, high = 1, 2**20
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if wins(middle) else (middle + 1, high)
    return {"kB": low}


@counts("E-01-158")
def the_fewest_steps_of_512(case):
    others = (a.build(512).num_steps for a in of("all-reduce") if a.name != "recursive-doubling")
    return {"doubling_fastest": min(others) * ALPHA > 9 * (ALPHA + 10e3 / 900e9 * 1e6)}


@counts("E-04-042")
def a_chain_of_512(case):
    return {"chain.t": assembly(511)}


@counts("E-04-043")
def two_trees_of_512(case):
    return {"tree.t": best_of(broadcast.two_tree, 512)}


@counts("E-04-045")
def chains_on_a_cube(case):
    return {"chain.t": assembly(3 * 4)}


@counts("E-04-050")
def a_broadcast_in_log_rounds(case):
    build = find("broadcast", "circulant").build
    assert [reference.star_cost(build(512, segments=p))[0] for p in (1, 4)] == [9, 12]
    assert min(9 * ALPHA + 2 * LOAD, 17 * ALPHA + LOAD) > 1.4 * (ALPHA + LOAD)  # any schedule: up to 16 steps, or more
    return {"broadcast": assembly(9) / (ALPHA + LOAD)}


@counts("E-04-052")
def a_torus_against_the_switch(case):
    return {"broadcast": assembly(12) / (ALPHA + LOAD)}


@counts("E-01-052")
def tree_and_chain_on_one_port(case):
    """On one port they cross; with a link per pair they are lines of 4 and of 15 stages, and the shorter wins."""
    loads = [m / 900e9 * 1e6 for m in (1e3, 1e5, 16e6, 1e8)]
    assert all(assembly(4, load=load) < assembly(15, load=load) for load in loads)
    wins = {best_of(broadcast.binomial_tree, 16, load=load) < best_of(broadcast.chain, 16, load=load) for load in loads}
    return {"broadcast": len(wins) == 2, "reduce": len(wins) == 2}


@counts("E-01-175")
def slots_until_the_pipeline_is_full(case):
    busy = Counter(piece + stage for piece in range(case["P"]) for stage in range(3))
    return {"fill": min(slot for slot, count in busy.items() if count == max(busy.values()))}


@counts("E-01-183")
def time_at_160_pieces(case):
    return {"t": min((9 + p - 1) * (0.5 + 1600 / p) for p in range(1, 500))}


# -- what is moved, and by whom ------------------------------------------------------------------------------


@counts("E-00-003")
def bytes_and_busiest_ports(case):
    tree = allreduce.binomial_tree(case["N"])
    return {"n_beta": reference.star_cost(tree)[1], "sent": max(reference.traffic(tree)[0].values())}


@counts("E-00-018")
def what_a_rank_must_receive(case):
    everybody = (reference.traffic(a.build(case["N"]))[1] for a in of("broadcast"))
    return {"received": min(min(received[rank] for rank in range(1, case["N"])) for received in everybody)}


@counts("E-01-201")
def the_binomial_trees_own_count(case):
    return {"n_beta": reference.star_cost(allreduce.binomial_tree(case["N"]))[1]}


@counts("E-01-063")
def bytes_received_in_a_ring(case):
    return {"received": max(reference.traffic(allreduce.ring(case["N"]))[1].values())}


@counts("E-01-064")
def hops_of_a_chunk(case):
    return {"hops": sum(block == 0 for step in reference.messages(allreduce.ring(4)) for _, _, block, _ in step)}


@counts("E-01-100")
def bytes_of_three_primitives(case):
    busiest = [max(reference.traffic(build(8))[0].values()) for build in (alltoall.pairwise, allreduce.ring)]
    return dict(zip(("alltoall", "others"), busiest, strict=True))


@counts("E-02-151")
def bytes_of_the_ring(case):
    return {"n_beta": reference.star_cost(allreduce.ring(case["N"]))[1]}


@counts("E-04-003")
def a_step_of_the_ring(case):
    shares = list(reducescatter.ring(case["N"]).blocks.share)
    sends = [Counter() for _ in range(case["N"] - 1)]
    for sent, step in zip(sends, reference.messages(reducescatter.ring(case["N"])), strict=True):
        for src, _, block, _ in step:
            sent[src] += shares[block]
    return {"step": max(max(sent.values()) for sent in sends)}


@counts("E-01-003")
def half_a_halving(case):
    """After log2 N steps every rank has one complete sum, of its own block."""
    whole = allreduce.rabenseifner(8)
    *_, state = reference.states(Schedule(whole.blocks, 3, whole.step))
    complete = [[b for b in range(8) if len(state[r, b]) == 8] for r in range(8)]
    return {"materialized": sorted(complete) == [[k] for k in range(8)]}


@counts("E-01-161")
def surplus_ranks(case):
    first = next(iter(reference.messages(allreduce.recursive_doubling(case["N"]))))
    return {"paired": len({rank for message in first for rank in message[:2]})}


@counts("E-01-166")
def steps_of_recursive_doubling(case):
    return {"doubling.n_alpha": reference.star_cost(allgather.recursive_doubling(case["N"]))[0]}


@counts("E-01-171")
def the_rotation_at_the_end(case):
    """Slot j of rank i has the block from i - j; rotated right by i and reversed, slot s has 2i - (n - 1 - s)."""
    n = case["N"]
    return {"and_reversed": all((2 * i - (n - 1 - s)) % n == s for i in range(n) for s in range(n))}


@counts("E-01-174")
def where_bruck_and_pairwise_cross(case):
    n = case["N"]
    log, blocks = n.bit_length() - 1, sum(j.bit_count() for j in range(n))
    return {"crossover": float(Fraction(n - 1 - log) / (Fraction(blocks, n) - Fraction(n - 1, n)))}


@counts("E-01-044")
def edges_of_the_traced_trees(case):
    pairs = {tuple(sorted(m[:2])) for step in reference.messages(broadcast.binomial_tree(4)) for m in step}
    back = {tuple(sorted(m[:2])) for step in reference.messages(printed_reduce_tree()) for m in step}
    assert pairs != back
    return {"edges": " ".join(f"{a}-{b}" for a, b in sorted(pairs))}


@counts("E-01-163")
def distances_of_recursive_doubling(case):
    steps = reference.messages(allgather.recursive_doubling(4))
    return {"distances": " ".join(str(max(abs(m[0] - m[1]) for m in step)) for step in steps)}


@counts("R-06")
def what_leaves_a_node(case):
    leaving = {}
    for name, schedule in (("flat_GB", allreduce.ring(64)), ("nested_GB", hierarchical_ring(8, 8))):
        out, shares = Counter(), list(schedule.blocks.share)
        for step in reference.messages(schedule):
            for src, dst, block, _ in step:
                out[src // 8] += shares[block] * (src // 8 != dst // 8)
        leaving[name] = float(max(out.values()))
    return leaving


@counts("R-09")
def steps_of_a_two_way_ring(case):
    """Both ways at once the farthest rank is half the ring away; halves that go round visit all ranks."""
    halves = sum(1 for _ in reference.messages(allreduce.bidirectional_ring(9)))
    assert [one["n_alpha"] for one in cases_of("R-09")[0] if one["at"] == "bidirectional-ring, N = 9"] == [halves]
    return {"n_alpha": 2 * (case["N"] // 2)}


@counts("R-11")
def ring_and_folded_halving_at_six(case):
    """10 us and 100 GB/s; against the folded halving at 1 MB, in us, and at 25 MB, there also with two ghosts."""
    costs = [reference.star_cost(b) for b in (allreduce.ring(6), allreduce.rabenseifner(6), allreduce.rabenseifner(8))]
    ring, halving, ghosts = (10 * steps + 250 * float(load) for steps, load in costs)
    of_1_mb = [10 * steps + 10 * float(load) for steps, load in costs]
    assert (round(of_1_mb[0] / of_1_mb[1], 1), round(of_1_mb[0] / of_1_mb[2], 1)) == (1.2, 1.5)
    (steps, load), _, (few, bytes) = costs
    assert round((10 * steps - 1.1 * 10 * few) / (1.1 * 10 * bytes - 10 * load)) == 13
    return {"ring.t": ring, "halving.t": halving, "ring.t / halving.t": ring / halving, "over_ghosts": ring / ghosts}


@counts("M-41")
def lost_on_a_gigabyte(case):
    """The tree sends M down and up 6 levels, recursive doubling M six times, the ring 2 * 63 pieces of M / 64."""
    ring = Fraction(2 * 63, 64)
    return {"doubling_ms": float(6 - ring) / 50 * 1e3, "tree_ms": float(12 - ring) / 50 * 1e3}


# -- the trees of PAT --------------------------------------------------------------------------------------


def sends(schedule):
    """Per step, the most blocks that a rank sends."""
    return [max(Counter(src for src, _, _, _ in step).values()) for step in reference.messages(schedule)]


@counts("E-01-131")
def edges_of_one_tree(case):
    return {"edges": [sum(m[2] == 0 for m in step) for step in reference.messages(allgather.pat(8))][case["r"] - 1]}


@counts("E-01-133 E-01-167")
def shards_of_a_round(case):
    return {"shards": sends(allgather.pat(8))[case["r"] - 1]}


@counts("E-01-134")
def shards_in_three_rounds(case):
    sizes = sends(allgather.pat(8, cap=4))
    return {"steps": len(sizes), "step": Fraction(max(sizes), 8)}


@counts("E-01-135")
def shards_parked(case):
    """Preorder: a shard waits at a rank while the walk is below it."""

    def most(n):
        came, gone = {}, {}
        for t, step in enumerate(reference.messages(allgather.pat(n, cap=1))):
            for src, dst, block, _ in step:
                if dst == 0:
                    came[block] = t
                if src == 0:
                    gone[block] = t
        return max(sum(came[b] <= t < gone.get(b, -1) for b in came) for t in range(n))

    return {"parked": most(case["N"]), "of_8_ranks": most(8)}


def finish(schedule, message, far=10):
    """Own ports and wires, far ones between halves: a message leaves when its blocks are there and its port is free."""
    n, half = 8, Fraction(1, 2)
    port, inbound, arrival = defaultdict(Fraction), defaultdict(Fraction), defaultdict(Fraction)
    for step in reference.messages(schedule):
        bundles, news = defaultdict(list), {}
        for src, dst, block, _ in step:
            bundles[src, dst].append(block)
        for (src, dst), blocks in bundles.items():
            start = max([port[src], *(arrival[src, b] for b in blocks)])
            size = message * len(blocks) / n
            port[src] = start + size
            alpha = far if (src < n // 2) != (dst < n // 2) else 1
            begin = max(start + alpha - half, inbound[dst])
            inbound[dst] = begin + size
            news |= {(dst, b): begin + size + half for b in blocks}
        arrival |= news
    return float(max(arrival.values()))


@counts("E-01-136")
def far_first_and_near_first(case):
    return {
        "far_first": finish(allgather.pat(8), Fraction(100)),
        "near_first": finish(allgather.bruck(8), Fraction(100)),
    }


@counts("E-01-138 E-01-139")
def chunks_after_a_round(case):
    states = (list(reference.states(as_printed(choose)))[case["r"]] for choose in range(4))
    return {"chunks": max(max(Counter(rank for rank, _ in state).values()) for state in states)}


@counts("E-01-140")
def partners_of_rotated_trees(case):
    step = list(reference.messages(allgather.pat(8)))[int(case["at"].removeprefix("round ")) - 1]
    apart = {(dst - src) % 8 for src, dst, _, _ in step}
    return {"rotated": len(apart) == 1, "by_xor": len({src ^ dst for src, dst, _, _ in step}) == 1}


@counts("A-05")
def partners_of_pat_and_doubling(case):
    n = case["N"]
    return {
        "pat.reached": len(first_steps(allgather.pat(n))),
        "doubling.reached": len(first_steps(allgather.recursive_doubling(n))),
    }


@counts("A-04")
def tree_and_ring_gather(case):
    (few, load), (many, same_load) = (
        reference.star_cost(b(64)) for b in (allgather.recursive_doubling, allgather.ring)
    )
    tree, ring = ALPHA * few + LOAD * float(load), ALPHA * many + LOAD * float(same_load)
    return {"at": "N = 64, 16 MB", "tree.t": tree, "ring.t": ring}


# -- all-to-all, round by round and on wires -----------------------------------------------------------------


@counts("E-00-034 E-01-105 E-01-106 E-01-114")
def blocks_over_the_busiest_link(case):
    """Upwards every rank sends one block for each distance up to half the ring, and each loads as many links."""
    n = case["N"]
    load = sum(d for d in range(1, n) if 2 * d <= n)
    return {"chunks": load, "n_alpha": load, "n_beta": Fraction(load, n)}


@counts("E-01-127")
def a_bundled_relay(case):
    n = case["N"]
    return {"n_alpha": n // 2, "n_beta": Fraction(sum(range(1, n // 2 + 1)), n)}


@counts("E-01-104")
def directions_in_use(case):
    taken = ({(m[1] - m[0]) % 4 for m in step} for step in reference.messages(alltoall.ring_relay(4, bundled=False)))
    return {"both_ways": sum(len(directions) == 2 for directions in taken)}


@counts("E-01-116")
def a_relay_through_ports(case):
    return {
        "relay.n_beta": reference.star_cost(alltoall.ring_relay(case["N"], bundled=False))[1],
        "pairwise.n_beta": reference.star_cost(alltoall.pairwise(case["N"]))[1],
    }


@counts("E-02-075")
def a_relay_in_slices(case):
    steps, load = per_pair(relay.relay(Lattice(case["d"]), tie="split", rotated=True))
    return {"n_alpha": steps, "n_beta": load}


@counts("E-02-078")
def crossings_and_the_steps_they_need(case):
    """512 crossings of 64 links: 8 steps at least, and a schedule that takes no more."""
    crossings = sum(len(list(walk(a, b, (4, 4)))) for a, b in product(range(16), repeat=2))
    schedule = relay.relay_one_by_one(alternating_torus((4, 4)))
    assert reference.holds(schedule)
    assert all(max(Counter(m[:2] for m in step).values()) == 1 for step in reference.messages(schedule))
    assert -(-crossings // 64) == schedule.num_steps
    return {"steps": schedule.num_steps, "diameter": 2 * (4 // 2)}


@counts("E-00-039 E-02-113")
def carried_on_a_torus(case):
    return {"carried": max(on_a_ring(size) for size in case["d"])}


@counts("E-02-124")
def carried_on_a_mesh(case):
    return {"carried": max(on_a_line(size) for size in case["d"])}


@counts("E-00-042")
def carried_on_a_mesh_beside_an_all_reduce(case):
    return {"alltoall.carried": max(on_a_line(size) for size in case["d"])}


@counts("E-02-126")
def the_penalty_of_a_cube(case):
    return {"penalty": max(on_a_ring(size) for size in case["d"])}


@counts("E-04-054")
def the_busiest_link(case):
    return {"busiest": max(on_a_ring(size) for size in case["d"])}


@counts("E-05-041")
def the_busiest_link_as_axes_grow(case):
    return {"torus": on_a_ring(8), "torus_of_64": on_a_ring(4)}


@counts("A-07")
def how_the_ratio_grows(case):
    ratios = [on_a_ring(size) * size**3 / (3 * (size // 2)) for size in (8, 16)]
    over = [Fraction(size**3, 3 * (size // 2)) for size in (8, 16)]
    return {"growth": ratios[1] / ratios[0], "of_N_over_diam": over[1] / over[0]}


@counts("E-02-086")
def decomposed_in_slices(case):
    """Every phase of every slice is a ring's all-to-all, and in each step all links carry alike."""
    _, load = per_pair(relay.relay(Lattice(case["d"]), tie="split", phased=True, rotated=True))
    return {"over_flat": load / on_a_ring(max(case["d"]))}


@counts("E-02-154")
def shortest_routes(case):
    """Every word of two moves along x and two along y, each axis either way round."""
    words = {word for word in product("xy", repeat=4) if word.count("x") == 2}
    paths = set()
    for word, east, north in product(words, (1, -1), (1, -1)):
        at, path = [0, 0], []
        for axis in word:
            at["xy".index(axis)] = (at["xy".index(axis)] + (east if axis == "x" else north)) % 4
            path.append(tuple(at))
        paths.add(tuple(path))
    return {"routes": len(paths)}


@counts("A-03")
def blocks_over_the_middle(case):
    half = case["N"] // 2
    return {"through_bisection": Fraction(2 * half * half, case["N"])}


@counts("A-06")
def ports_before_the_cut(case):
    """A port takes in N-1 blocks; a cut severs N/2 ports, which (N/2)^2 blocks cross one way."""
    port, cut = Fraction(case["N"] - 1, case["N"]), Fraction((case["N"] // 2) ** 2, case["N"]) / (case["N"] // 2)
    return {"bound": "port" if port > cut else "bisection"}


# -- topologies --------------------------------------------------------------------------------------------


@counts("E-00-043")
def every_half_of_a_small_torus(case):
    dims = (3, 3)
    places = list(product(*map(range, dims)))
    edges = {
        frozenset((at, (*at[:k], (at[k] + 1) % size, *at[k + 1 :]))) for at in places for k, size in enumerate(dims)
    }
    halves = (set(half) for half in combinations(places, len(places) // 2))
    return {
        "at": "torus:3x3",
        "bandwidth": min(sum(len(edge & half) == 1 for edge in edges) for half in halves),
        "N": 9,
    }


@counts("E-00-044 E-02-084")
def ports_of_one_half(case):
    """Half of the leaves: what leaves them crosses their uplinks, and their ranks' ports."""
    leaves = 2
    down = case["N"] // leaves
    return {"bandwidth": min(Fraction(leaves // 2 * down), leaves // 2 * Fraction(down) / case["s"])}


@counts("E-02-017")
def steps_of_a_line(case):
    return {"line.n_alpha": per_pair(lattice.dim_ring_reduce_scatter(Lattice((8,), False)))[0]}


@counts("E-02-101")
def wires_that_close_lines(case):
    all_wires, closing = len(case["d"]) * case["N"], sum(case["N"] // size for size in case["d"])
    counted = {"torus.edges": all_wires, "mesh.edges": all_wires - closing}
    return {**counted, "torus.edges - mesh.edges": closing}


@counts("E-02-029")
def hops_in_rank_order(case):
    hops = [len(list(walk(rank, (rank + 1) % 8, (2, 2, 2)))) for rank in range(8)]
    return {"average": sum(hops) / 8, "longest": max(hops), "of_one_link": f"{hops.count(1) / 8:.0%}"}


@counts("E-02-030")
def other_schedules_on_the_same_links(case):
    cube = Lattice((4, 4, 4))
    builds = {
        "n_beta": lattice.dim_ring,
        "rotated.n_beta": lattice.rotated_dim_ring,
        "layers.n_beta": lambda axes: breadth_first.all_reduce(torus(axes.dims)),
    }
    return {"at": "torus:4x4x4"} | {name: per_pair(build(cube))[1] for name, build in builds.items()}


@counts("E-04-069")
def all_links_at_once(case):
    return {"layers.n_beta": per_pair(breadth_first.all_reduce(torus((4, 4, 4))))[1]}


def axes_of(step, dims):
    """Along which axes a step sends."""
    ends = [[coordinates(rank, dims) for rank in message[:2]] for message in step]
    return {k for src, dst in ends for k in range(len(dims)) if src[k] != dst[k]}


@counts("E-02-058")
def which_axis_begins(case):
    first = next(iter(reference.messages(lattice.dim_ring(Lattice((4, 3, 2))))))
    return {"begins": " ".join("XYZ"[k] for k in axes_of(first, (4, 3, 2)))}


@counts("E-02-059")
def axes_in_every_step(case):
    def used(step):
        return {k for m in step for k in range(3) if coordinates(m[0], (4, 4, 4))[k] != coordinates(m[1], (4, 4, 4))[k]}

    return {
        "axes_at_once": min(
            len(used(step)) for step in reference.messages(lattice.rotated_dim_ring(Lattice((4, 4, 4))))
        )
    }


def halving_and_rings(dims):
    """Each axis by itself, at its best over both orders and both ways to break ties; later axes have a share."""
    sums, share = {"halving": [0, Fraction(0)], "rings": [0, Fraction(0)]}, Fraction(1)
    for size in dims:
        axis = Lattice((size,))
        tries = product(("near", "far"), (lambda at: True, lambda at: at % 2 == 0))
        best = min(wired(lattice.dim_rabenseifner(axis, order=order), (size,), tie) for order, tie in tries)
        for name, (steps, load) in (("halving", best), ("rings", wired(lattice.dim_ring(axis), (size,)))):
            sums[name] = [sums[name][0] + steps, sums[name][1] + load * share]
        share /= size
    return sums


@counts("E-00-040 E-02-128 E-02-131 E-02-132 E-02-133 E-02-134 E-02-135 E-02-137")
def halving_on_wires(case):
    sums = halving_and_rings(case["d"])
    (steps, load), (ring_steps, ring_load) = sums["halving"], sums["rings"]
    times = [s * ALPHA + float(b) * LOAD for s, b in ((steps, load), (ring_steps, ring_load))]
    return {
        "halving.n_alpha": steps,
        "halving.n_beta": load,
        "halving.n_beta / 2": load / 2,
        "rings.n_alpha": ring_steps,
        "halving.t": times[0],
        "compression": Fraction(ring_steps, steps),
        "saved": ring_steps - steps,
        "saved_us": (ring_steps - steps) * ALPHA,
        "saving": 100 * (1 - times[0] / times[1]),
    }


@counts("E-02-138")
def halving_on_a_cube_of_4(case):
    return {"runs": reference.holds(lattice.dim_rabenseifner(Lattice((4, 4, 4))))}


# -- boxes, contention, coefficients -----------------------------------------------------------------------


@counts("E-00-046")
def bytes_between_boxes(case):
    """2 (L-1) steps of a piece of a piece, over uplinks that s ranks share."""
    ranks = case["N"] // case["L"]
    return {"outer": float(case["s"] * 2 * (case["L"] - 1) * Fraction(1, ranks * case["L"]))}


@counts("E-00-047")
def blocks_that_leave_the_box(case):
    ranks = case["N"] // case["L"]
    return {"card": Fraction(sum(dst // ranks != 0 for dst in range(case["N"])), case["N"])}


def users(places, dims=(8, 8, 8)):
    """How often each link is used, and the longest route, in one step of a ring over some ranks in order."""
    routes = [list(walk(a, b, dims)) for a, b in zip(places, [*places[1:], places[0]], strict=True)]
    return Counter(link for route in routes for link in route), max(map(len, routes))


def lines_along(axis):
    stride = 8**axis
    starts = [rank for rank in range(512) if rank // stride % 8 == 0]
    return [[start + stride * k for k in range(8)] for start in starts]


@counts("E-02-129")
def lines_of_all_axes(case):
    load = sum((users(line)[0] for axis in range(3) for line in lines_along(axis)), Counter())
    return {"contend": max(load.values()) > 1}


@counts("E-05-005")
def lines_of_one_axis(case):
    load = sum((users(line)[0] for line in lines_along(0)), Counter())
    return {"on_a_link": max(load.values()), "groups": len(lines_along(0))}


@counts("E-05-007")
def lines_and_a_corner(case):
    corner, longest = users([0, 1, 9, 8, 72, 73, 65, 64])
    load = sum((users(line)[0] for line in lines_along(0)), Counter())
    return {"forced": max(corner.values()) * longest > 1, "splits": max(load.values()) > 1}


@counts("E-05-002")
def two_rings_over_the_same_links(case):
    load = sum((users([first + 2 * k for k in range(6)], (12,))[0] for first in (0, 1)), Counter())
    return {"eta": Fraction(4, 5) / max(load.values())}


@counts("E-05-003")
def a_block_of_sixteen(case):
    block = lattice.dim_ring(Lattice((8, 2)))
    assert reference.holds(block)
    return {"n_alpha": block.num_steps, "n_beta": reference.traffic(block)[0][0]}


@counts("E-05-004")
def scattered_sixteen(case):
    """Thirty steps of the longest route, against 16 of one link."""
    groups = (scattered(512, 16, seed, groups=1, ordered=True)[0].tolist() for seed in range(20))
    return {"over_ideal": median(30 * users(group)[1] / 16 for group in groups)}


@counts("E-02-130 E-05-009")
def one_port_of_the_hot_rank(case):
    """63 shares of 10/73 against 63 of 1/64."""
    return {"star": float(Fraction(10, 63 + 10) / Fraction(1, 64))}


@counts("E-00-055 E-05-012")
def undone_at_the_n_of_the_measurement(case):
    """busbw = M/t 2(N-1)/N at N = 8, and eta = n_beta M / (t link)."""
    return {"eta": 470 / (2 * 7 / 8) / 450}


@counts("A-02")
def over_the_link(case):
    return {"eta": Fraction(360, 450)}


@counts("E-00-057 E-05-018 E-05-019 E-03-072 E-03-073")
def uplinks_at_a_fraction_of_their_rate(case):
    """Eight ranks below a leaf, each with one M for elsewhere: the time at the port and at the uplinks."""
    rate = Fraction(4, 5)
    return {"across": 1 / max(1 / rate, 8 / (Fraction(8, case["s"]) * rate))}


# -- the realistic ladder ----------------------------------------------------------------------------------


def halving(eta=1.0):
    return 18 * ALPHA + 511 / 256 * LOAD / eta


def rings(slower=1.0, eta=1.0):
    return 42 * ALPHA * slower + 511 / 256 * LOAD / eta


def tree(eta=1.0):
    return best_of(allreduce.double_binary_tree, 512, eta=eta)


def switch(eta=1.0):
    return ALPHA + LOAD / eta


@counts("E-05-023")
def the_double_tree_made_real(case):
    return {"ideal": tree(), "real": tree(0.8)}


@counts("E-05-024")
def its_increase(case):
    return {"increase": 100 * (tree(0.8) / tree() - 1)}


@counts("E-05-026")
def the_toruss_increase(case):
    return {"increase": 100 * (rings(1.2, 0.6) / rings() - 1)}


@counts("E-05-027")
def the_toruss_bytes(case):
    return {"worse": 100 * (1 / 0.6 - 1)}


@counts("E-05-028")
def margins_made_real(case):
    return {"over_tree": tree(0.8) / switch(0.52), "over_torus": rings(1.2, 0.6) / switch(0.52)}


@counts("E-05-029")
def the_double_trees_margin(case):
    return {"ideal": tree() / switch(), "real": tree(0.8) / switch(0.52)}


@counts("E-05-031")
def star_and_torus(case):
    return {"gap_before": 100 * (rings() / halving() - 1), "gap_after": 100 * (rings(1.2, 0.6) / halving(0.8) - 1)}


@counts("E-05-039")
def latencies_of_the_torus(case):
    return {"latency_share": 100 * 21 * ALPHA / (21 * ALPHA + 511 / 512 * LOAD)}


@counts("E-05-042")
def gathers_through_a_switch_and_on_the_torus(case):
    load = 511 / 512 * LOAD
    before, after = (21 * ALPHA + load) / (ALPHA + load), (21 * ALPHA * 1.2 + load / 0.6) / (ALPHA + load / 0.8)
    return {"margin_before": before, "margin_after": after}


# -- boxes: two tiers -----------------------------------------------------------------------------------------

INSIDE, CARD = 16 / 0.9, 16 / 0.05  # 16 MB at 900 and 50 GB/s, in us


def between_boxes(schedule, ranks):
    """What all messages that leave a box of so many ranks carry, and what those of rank 0 do."""
    total, first, shares = Fraction(0), Fraction(0), list(schedule.blocks.share)
    for src, dst, block, _ in reference.messages_of(schedule):
        if src // ranks != dst // ranks:
            total, first = total + shares[block], first + shares[block] * (src == 0)
    return total, first


@counts("E-03-002")
def one_switch_and_three(case):
    return {"far.n_alpha / near.n_alpha": Fraction(1 + 3, 1 + 1)}


@counts("E-03-007")
def both_directions_and_one(case):
    return {"gap": 1800 / 2 / 50}


@counts("E-03-010")
def links_behind_the_sibling(case):
    """Racks 0 and 1 are among the first four, whose cards of one rail share a leaf."""
    return {"ib": 2 if 0 // 4 == 1 // 4 else 4}


@counts("E-03-012")
def leaves_of_72_ports_down(case):
    return {"times": Fraction(4 * (case["L"] * 18 // 72), case["L"])}


@counts("E-03-020")
def bytes_of_three_phases(case):
    return {"load": 2 * 71 / 72 * INSIDE + CARD / 72}


@counts("E-03-024 E-03-025")
def children_on_the_larger_tier(case):
    return {"limit": max(children_of_the_root(case["L"]), children_of_the_root(case["N"] // case["L"]))}


@counts("E-03-026")
def shards_on_a_card(case):
    """Inner first a rank passes on the shards of its whole box, on the way back of an all-reduce only its own."""
    count, ranks = case["L"], case["N"] // case["L"]
    return {"card": Fraction((count - 1) * ranks, case["N"]), "whole.card": Fraction(2 * (count - 1), case["N"])}


@counts("E-03-036")
def what_the_hierarchy_saves(case):
    latencies, load = 2 * 143 * 8 - (2 * 71 * 0.5 + 2 * 2), 2 * 143 / 144 * CARD - 2 * 71 / 72 * INSIDE - CARD / 72
    return {"latency_share": 100 * latencies / (latencies + load)}


@counts("E-03-039")
def shorter_rings(case):
    return {
        "best": 12,
        "speed_up": 2 * 143 / min(2 * (144 // n - 1) + 2 * (n - 1) for n in range(1, 145) if 144 % n == 0),
    }


@counts("E-03-041")
def blocks_for_the_other_rack(case):
    return {"crossing": Fraction(sum(a // 72 != b // 72 for a in range(144) for b in range(144)), 2 * 144) * 2}


@counts("E-03-042")
def bundles_for_the_other_rack(case):
    flat = 71 * 0.5 + 71 / 144 * INSIDE + 72 * 2 + 72 / 144 * CARD
    return {"two_phases": 71 * 0.5 + 71 / 72 * INSIDE + 2 + CARD / 2, "t": flat}


@counts("E-03-056")
def one_block_near_and_far(case):
    return {"pair_times": (2 + CARD / 144) / (0.5 + INSIDE / 144)}


@counts("E-03-060 E-03-061")
def a_card_with_and_without_adding(case):
    net = boxes((8, 4), inc="network")
    _, plain = between_boxes(hierarchical_ring(8, 4), 4)
    into = (net.link_src[net.router(np.array([0]), np.array([4]))[1]] == 0).sum()
    up = sum(
        Fraction(1, 4)
        for src, dst, block, _ in reference.messages_of(hierarchical.collnet(net))
        if src == 0 and dst >= 32
    )
    assert into == 1
    return {"plain.card": plain, "inc.card": up}


@counts("E-03-068")
def one_port_of_each_gpu(case):
    """A GPU receives all of the result and its own piece of the sum; two trips inside, one outside."""
    load = (1 + 1 / 72) * INSIDE
    return {"load": load, "t": load + 2 * 0.2 + 0.5}


@counts("E-03-069")
def software_inside(case):
    load = 2 * 71 / 72 * INSIDE
    return {"outer_load": load, "outer_t": load + 14 * 0.5 + 0.5}


@counts("E-03-077")
def cards_of_a_slot(case):
    return {"members": len({(rack, tray) for rack in range(32) for tray in range(18)})}


@counts("E-03-094")
def ports_of_a_core(case):
    """A port of every core to every pod."""
    return {"edge_up": case["k"] / 2, "core_up": case["k"] - len(range(case["k"]))}


@counts("E-03-096")
def links_of_the_figure(case):
    return {"hosts": 4 * 1, "edge": 4 * 2, "root": 2 * 4}


@counts("E-REFS-002")
def shards_of_the_last_round(case):
    *_, last = reference.messages(allgather.pat(case["N"]))
    return {"step": Fraction(max(Counter(src for src, *_ in last).values()), case["N"])}


@counts("E-REFS-003")
def half_of_the_payload(case):
    steps, load = reference.star_cost(alltoall.bruck(case["N"]))
    return {"n_beta": load, "steps": steps}


@counts("E-REFS-015")
def as_much_latency_as_bytes(case):
    steps, load = reference.star_cost(allreduce.rabenseifner(case["N"]))
    return {"kB": 450 * steps / float(load)}


@counts("E-REFS-009")
def ports_of_a_switch(case):
    return {"both_ways_Tb": 2 * 144 * 800 / 1000}


@counts("A-13")
def gigabytes_between_nodes(case):
    (flat, _), (nested, _) = between_boxes(allreduce.ring(64), 8), between_boxes(hierarchical_ring(8, 8), 8)
    return {"node_GB": float(10 * nested / 8), "drop": float(flat / nested)}


@counts("T-21")
def phases_one_after_the_other(case):
    inside, card = 2 * 7 / 8 * 10 / 0.6, 2 * 7 / 8 * 10 / 8 / 0.05
    return {"nested_over_sum": (14 * 1e-3 + inside + 14 * 5e-3 + card) / (28 * 5e-3 + card)}


@counts("A-15")
def seventy_billion_parameters(case):
    flat = 254 * 1.5e-3 + 2 * 127 / 128 * 140 / 0.05
    nested = 2 * 7 / 8 * 140 / 0.45 + 30 * 1.5e-3 + 2 * 15 / 16 * 140 / 8 / 0.05
    return {"flat": flat, "nested": nested, "ratio": flat / nested}


@counts("M-35")
def near_partners_first(case):
    crossing, _ = between_boxes(allreduce.rabenseifner(8), 4)
    return {"crossing": crossing, "ring_crossing": between_boxes(allreduce.ring(8), 4)[0]}


@counts("A-16")
def what_crosses_infiniband(case):
    return {"share": float(between_boxes(hierarchical_ring(8, 8), 8)[0] / between_boxes(allreduce.ring(64), 8)[0])}


@counts("M-42")
def three_tiers(case):
    """Four of 32 cards share a rack's uplink two to one: 25 GB/s each."""
    flat = 2 * 127 / 128 * 2
    inside, outside = 7 / 4 * 2, 3 / 2 * (2 / 8 / 0.05 + 2 / 32 / 0.025)
    assert (round(inside / 0.9 + outside), round(flat / 0.025)) == (15, 159)
    assert round(flat / 0.025 / (inside / 0.45 + outside), 1) == 8.3
    return {"ratio": flat / 0.05 / (inside / 0.45 + outside)}


@counts("M-44")
def a_whole_ring_on_every_axis(case):
    return {"n_beta": sum(Fraction(2 * (d - 1), d) for d in case["d"])}


@counts("M-46")
def a_ring_and_a_switch_that_adds(case):
    """A rank sends M to the switch and receives M, both ways at once."""
    steps, load = reference.star_cost(allreduce.ring(8))
    return {"short": steps / one_trip(case)["trip"], "long": load}


@counts("A-09 A-10")
def both_ways_of_a_ring(case):
    sent, received = reference.traffic(allreduce.ring(case["N"]))
    return {"both_ways": max(sent.values()) + max(received.values())}


@counts("A-11")
def sent_to_a_switch_that_adds(case):
    sent, _ = reference.traffic(innetwork.one_shot_all_reduce(SWITCH))
    out = max(sent[rank] for rank in range(8))
    return {"sent": out, "both_ways": 2 * out, "of_ring": Fraction(4 * (case["N"] - 1), case["N"])}


@counts("A-12")
def rounds_of_two_trees_and_of_doubling(case):
    n = case["N"]
    few, many = (reference.star_cost(build(n))[0] for build in (allreduce.recursive_doubling, allreduce.binomial_tree))
    return {"tree.n_alpha": many, "doubling.n_alpha": few}


# -- training steps ----------------------------------------------------------------------------------------


@counts("M-32")
def calls_of_full_sharding(case):
    """A gather before the forward, one before the backward, and a reduce-scatter, for every layer."""
    return {"collectives": case["L"] + case["L"] + case["L"]}


@counts("M-54")
def hidden_of_all_but_the_last(case):
    """Of equal times all but the last; of 32 transfers of 26.4 ms what runs beside 31 backwards of 15 ms."""
    behind = {f"hidden_of_{layers}": 100 * (layers - 1) / layers for layers in (2, 3, 32)}
    return behind | {"hidden": 100 * 31 * 15 / (32 * 26.4)}


@counts("M-56")
def microbatches_of_eight_stages(case):
    """(p - 1) / (m + p - 1), below 1/5 from m > 4 (p - 1) on."""
    assert case["of"] == {p: 4 * (p - 1) + 1 for p in (8, 9, 16)}
    return {"needed": 4 * 7 + 1}


@counts("A-25")
def all_buckets_but_the_last(case):
    """Two tensors of 25 MB overflow one bucket of 26.2 MB."""
    assert 2 * 25e6 > 25 * 1024**2 > 25e6
    return {"given": 40, "reduced": 40 - 1}


@counts("M-22")
def watts_of_a_port(case):
    return {"figure_percent": 100 * 1000e-12 * 8 * 50e9 / 700, "percent": 100 * 30e-12 * 8 * 50e9 / 700}


@counts("A-19 A-20")
def tokens_of_a_port(case):
    kilobytes = 64 * 2048 * 2 / 1000
    return {"parallel": 3 + 7 * kilobytes / 50, "hot": Fraction(8 * 8 + 16, 8 * 8)}


@counts("M-34")
def best_of_many_pieces(case):
    """At 1 MB; at 100 MB the best is 16% above both limits together."""
    long = next(one["t"] for one in cases_of("M-34")[0] if one["MB"] == 100)
    assert round(100 * (long / (2 * 4 * 5 + 2 * 100 * 40) - 1)) == 16
    costs = [reference.star_cost(allreduce.double_binary_tree(16, segments=pieces)) for pieces in range(1, 12)]
    return {"MB": 1, "t": min(5 * steps + 40 * float(load) for steps, load in costs)}


@counts("M-38")
def two_bytes_each(case):
    return {"gradient_GB": 70e9 * 2 / 1e9}


@counts("M-48")
def bytes_of_a_hundredth(case):
    return {"percent": Fraction(4 * 100, 4 + 4), "left": Fraction(2, 2 + 4)}


@counts("M-55")
def ring_over_nvlink(case):
    seconds = 14 * 1.5e-6 + 7 / 4 * 140 / 450
    return {"seconds": seconds, "of_compute": 100 * seconds / 2.1}


@counts("M-59")
def a_third_of_the_work(case):
    return {"utilization": 65 / 3 / 0.7}


@counts("M-61")
def three_for_every_layer(case):
    return {"collectives": sum(3 for _ in range(32))}


@counts("A-08")
def latency_times_bandwidth(case):
    return {"nvlink": Fraction("1.5") * 450, "between": max(2 * 50, 3.5 * 25, 7.5 * 12.5)}


@counts("D-5-014")
def gathers_beside_reductions(case):
    """Eight gathers of 3 s, of which the last is followed by its layer and its reduction."""
    return {"seconds": 8 * 3 + 1 + 3, "limit": 8 * 3 + 8 * 3}


# -- forests --------------------------------------------------------------------------------------------


@counts("D-4-061")
def shards_into_a_gpu_or_a_box(case):
    n = case["n"]
    into_gpu, into_box = Fraction(8 * n - 1, 450 + 50), Fraction(8 * (n - 1), 8 * 50)
    a_ring = Fraction(8 * n - 1, 8 * n) / 8  # of each of eight, a card for each
    over_card, inside = a_ring / 50, 7 * a_ring / 450
    return {"binds": "GPU" if into_gpu > into_box else "box", "ring_binds": "box" if over_card > inside else "GPU"}


@counts("D-4-041")
def shards_out_of_a_triangle(case):
    triangle, pair, thin_links = Fraction(3, 5), Fraction(2, 5), 2  # shards that leave each, over links of 1
    return {"halves": 2 * triangle / thin_links, "at_once": (triangle + pair) / thin_links}


@counts("D-4-040 D-B-040")
def shards_into_two_dies_and_all_of_m_between_the_boxes(case):
    into_a_pair = 3 * 50 + 2 * 16  # dies 0 and 1: three links to other packages, and two cards
    gather = Fraction(14, 16) / into_a_pair
    return {"at": "mi250-8x2", "combined": 1 / (2 * gather), "optimum": 8 * 16}  # M each way over eight cards


@counts("D-B-008")
def two_links_of_three_batches(case):
    return {"flows": 3 * 2}


# -- graphs -----------------------------------------------------------------------------------------------------


def circulant_hops(n, jumps):
    hops, new = {0: 0}, [0]
    for rank in new:
        for to in {(rank + way) % n for jump in jumps for way in (jump, -jump)} - set(hops):
            hops[to] = hops[rank] + 1
            new.append(to)
    return hops


def circulant_by_sets(n, jumps):
    """Steps and T_B of breadth-first, from rank 0: in each step the set of links with most shards of its own a link."""
    hops, links = circulant_hops(n, jumps), [way for jump in jumps for way in (jump, -jump)]
    shards = Fraction(0)
    for x in range(1, max(hops.values()) + 1):
        owners = [{way for way in links if hops[(v + way) % n] == x - 1} for v in hops if hops[v] == x]
        sets = [set(some) for size in range(1, len(links) + 1) for some in combinations(links, size)]
        shards += max(Fraction(sum(last <= some for last in owners), len(some)) for some in sets)
    return max(hops.values()), shards * len(links) / n


@counts("D-3-076 D-A-090")
def two_links_for_four_ranks(case):
    return {"at": "circulant:15x1x4x5", "optimal": circulant_by_sets(15, (1, 4, 5))[1] == Fraction(14, 15)}


@counts("D-3-075")
def a_ring_of_five_and_a_kautz_graph_of_five(case):
    """Followers of rank i: those of a Kautz graph are -2i - 1 and -2i - 2."""
    steps = []
    for follow in (lambda i: (-2 * i - 1, -2 * i - 2), lambda i: (i - 1, i + 1)):
        far = []
        for rank in range(5):
            reached, hops = {rank}, 0
            while len(reached) < 5:
                reached, hops = reached | {other % 5 for one in reached for other in follow(one)}, hops + 1
            far.append(hops)
        steps.append(max(far))
    return {"at": "biring:2x5", "steps": steps[0], "base.steps": steps[1], "moore": 2}  # 1 + 2 < 5 <= 1 + 2 + 4


@counts("D-A-156")
def two_links_for_four_ranks_again(case):
    return {"at": "circulant:15x1x4x5", "bw_optimal": circulant_by_sets(15, (1, 4, 5))[1] == Fraction(14, 15)}


def walks_by_sets(out):
    """T_B of breadth-first on the line graph of a graph given as rank -> followers, as `circulant_by_sets` counts."""
    links = [(u, v) for u, follow in out.items() for v in follow]
    hops = {}
    for start in links:
        hops[start] = {start: 0}
        for a, b in (queue := [start]):
            for link in ((b, c) for c in out[b]):
                if link not in hops[start]:
                    hops[start][link] = hops[start][a, b] + 1
                    queue.append(link)
    shards = Fraction(0)
    for x in range(1, max(max(row.values()) for row in hops.values()) + 1):
        worst = Fraction(0)
        for u, v in links:
            tails = [link for link in links if link[1] == u]
            owners = [row for row in hops.values() if row[u, v] == x]
            last_links = [{tail for tail in tails if row[tail] == x - 1} for row in owners]
            sets = [set(some) for size in range(1, len(tails) + 1) for some in combinations(tails, size)]
            worst = max(worst, *(Fraction(sum(last <= some for last in last_links), len(some)) for some in sets))
        shards += worst
    return shards * len(out[0]) / len(links)


@counts("D-A-044 D-A-045")
def ways_that_an_expansion_leaves_out(case):
    """The expansion is counted message by message, breadth-first on the larger graph by Hall's sets."""
    graph = find_topology("directed-circulant:6x1x4")
    gathers = breadth_first.all_gather(graph)
    return {
        "at": "line-graph(directed-circulant:6x1x4)",
        "n": 1,
        "N0": 6,
        "before.load": 2 * per_pair(gathers)[1],
        "load": 2 * per_pair(expansion.line_graph(gathers, graph))[1],
        "fresh": walks_by_sets({u: [(u + 1) % 6, (u + 4) % 6] for u in range(6)}),
    }


@counts("D-A-144")
def eight_steps_instead_of_ten(case):
    steps, load = circulant_by_sets(128, (8, 9))
    return {"steps": steps, "load": load, "efficient": not (steps < 10 and load <= Fraction(127, 128))}


def hops_of_walks():
    """All distances between the walks of four ranks on C(16, {3, 4}), 16 times those of the walks from rank 0."""
    jumps = (3, -3, 4, -4)
    starts = [(0, a, (a + b) % 16, (a + b + c) % 16) for a in jumps for b in jumps for c in jumps]
    total = 0
    for a, b, c, d in starts:
        hops = {(a, b % 16, c, d): 0}
        new = list(hops)
        for walk in new:
            for jump in jumps:
                onward = (*walk[1:], (walk[3] + jump) % 16)
                if onward not in hops:
                    hops[onward] = hops[walk] + 1
                    new.append(onward)
        assert len(hops) == 1024
        total += sum(hops.values())
    return 16 * total


@counts("D-A-136")
def links_over_hops(case):
    return {"bound": Fraction(4096, hops_of_walks())}


@counts("D-3-039")
def time_of_all_hops(case):
    return {"a2a_least": 2**20 * 8 / 100e9 * 1e6 * 4 / 1024 * hops_of_walks() / 4096}


#: A length for each four steps on C(16, {3, 4}) that begin forward, ordered as `product((3, 4, -3, -4), repeat=4)`, and
#: the same with all steps turned around. Any lengths bound f; these bound it tightly.
LENGTHS = """
18 1 2 4 0 8 2 1 4 7 12 2 0 5 10 8 42 26 32 24 5 5 0 6 21 22 12 10 14 5 9 10 12 1 0 6 6 11 6 6 16 21 32 19 2 8
10 15 15 15 34 29 9 7 9 2 12 11 32 13 4 5 0 5 19 3 8 3 4 6 2 2 2 5 11 0 2 3 10 7 44 23 31 22 2 5 1 3 32 25 16 13
10 0 7 5 10 0 2 5 9 5 2 3 38 33 49 31 12 10 12 16 6 2 21 16 8 6 11 0 22 15 36 17 1 2 2 2
"""
#: The price of a link of the generalized Kautz graph of 1,024 ranks of degree 4, in hundredths, by which of the six
#: letters of its two ends are equal. Any prices make shares of traffic; these fill the links evenly.
PRICES = """
277 314 280 366 296 274 426 312 283 395 456 423 385 494 296 223 449 237 279 406 489 487 434 547 303 268 436 294
280 416 466 447 406 518 457 533 484 591 537 434 410 557 464 431 385 516 605 588 541 504 314 210 473 187 268 402
512 474 447 558 237 170 368 227 274 420 440 475 410 512 489 565 475 616 571 484 473 610 493 470 423 554 636 633
576 541 312 241 453 227 223 407 493 473 431 538 294 210 418 237 277 446 442 473 416 532 464 528 470 595 546 449
420 577 452 453 395 536 611 607 554 516 456 528 473 607 571 533 436 665 440 593 487 618 636 690 662 588 537 565
593 661 546 426 407 577 521 368 406 542 666 616 618 557 466 518 474 598 532 436 402 565 442 418 366 532 613 598
558 518 605 705 690 633 710 591 665 610 666 661 547 512 611 595 538 494
"""


def throughput_by_lengths():
    """Upper bound of f on the walks of four ranks on C(16, {3, 4}): 4,096 lengths over all ways, 16 times rank 0's."""
    jumps = (3, 4, -3, -4)
    words = [word for word in product(jumps, repeat=4) if word[0] > 0]
    length = dict(zip(words, map(int, LENGTHS.split()), strict=True))
    length |= {tuple(-step for step in word): far for word, far in length.items()}
    number = {word: k for k, word in enumerate(product(range(16), *[jumps] * 3))}
    ends = [(number[a, *w[:3]], number[(a + w[0]) % 16, *w[1:]], length[w]) for a in range(16) for w in length]
    src, dst, far = np.array(ends).T
    wires = csr_array((2048 * far + 1, (src, dst)), shape=(1024, 1024))  # no way is 2,048 links long
    apart = dijkstra(wires, indices=range(64)).astype(int) // 2048
    return Fraction(int(far.sum()), 16 * int(apart.sum()))


def kautz_links():
    """Links but self-loops of the generalized Kautz graph, each with a price by the letters of its ends."""
    links = [(x, (-4 * x - a) % 1024) for x in range(1024) for a in (1, 2, 3, 4)]

    def letters(rank):
        """Five digits to base -4, of a rank moved so that a link drops the first and appends a new last one."""
        rest, digits = rank - 204, []
        for _ in range(5):
            digits.insert(0, rest % 4)
            rest = (rest - rest % 4) // -4
        return digits

    words = [(*letters(x), letters(y)[-1]) for x, y in links if x != y]
    forms = [tuple(list(dict.fromkeys(word)).index(letter) for letter in word) for word in words]
    prices = dict(zip(sorted(set(forms)), map(int, PRICES.split()), strict=True))
    return np.array([link for link in links if link[0] != link[1]]).T, np.array([prices[form] for form in forms]) / 100


@cache
def throughput_by_shares():
    """f of a flow on the generalized Kautz graph: each rank divides what is for t among its links, by their prices."""
    (src, dst), price = kautz_links()
    worth, target = np.eye(1024), np.arange(1024)
    leaving, entering = (
        csr_array((np.ones(len(src)), (ends, np.arange(len(src)))), (1024, len(src))) for ends in (src, dst)
    )
    for _ in range(40):  # of all ways to t: a link less is e^price times as good
        worth = leaving @ (np.exp(-price)[:, None] * worth[dst])
        worth[target, target] = 1
    share = np.exp(-price)[:, None] * worth[dst]
    share /= (leaving @ share)[src]
    share[src[:, None] == target] = 0  # what has arrived stays
    amount = np.ones((1024, 1024))
    for _ in range(80):
        amount = 1 + entering @ (share * amount[src])
    assert np.allclose(amount[target, target], 1024)  # its own and all others' blocks
    return 1 / (share * amount[src]).sum(axis=1).max()


def throughput_by_hops(expression):
    """What distances alone leave to f."""
    graph = find_topology(expression)
    wires = csr_array((np.ones(graph.num_links), (graph.link_src, graph.link_dst)), shape=(graph.ranks,) * 2)
    return graph.num_links / shortest_path(wires, unweighted=True).sum()


@counts("D-3-062")
def shares_beat_lengths(case):
    return {"faster_row": 1 if throughput_by_shares() > throughput_by_lengths() else 2}


@counts("D-3-059")
def shares_beat_lengths_and_hops(case):
    others = (
        "line-graph(line-graph(power(diamond,2)))",
        "line-graph(power(modified-debruijn:2x4,2))",
        "power(product(uniring:1x4,uniring:1x8),2)",
    )
    most = [throughput_by_lengths(), *map(throughput_by_hops, others)]
    return {"lowest_row": 1 if throughput_by_shares() > max(most) else 2}


@counts("D-3-061")
def whole_percents_beyond_the_bound(case):
    """The bound's f: links over hops where as many ranks as can be are 1, 2, 3, ... hops away."""
    hops = 4 * 1 + 16 * 2 + 64 * 3 + 256 * 4 + (1023 - 340) * 5
    return {"percent": (Fraction(4, hops) / throughput_by_lengths() - 1) * 100 // 1}


@counts("D-3-053")
def one_step_fewer_than_ranks(case):
    return {"t": 2 * (1023 * 10 + Fraction(1023, 1024) * Fraction(2**20 * 8, 100_000))}


@counts("D-A-141")
def an_odd_degree(case):
    return {"named": 1 % 2 == 0}


@counts("D-A-155")
def two_links_a_jump(case):
    return {"d": len({(0 + jump) % 16 for jump in (3, -3, 4, -4)})}


@counts("D-A-162")
def one_port_of_d_unused(case):
    d = case["p1"]
    return {"bw_optimal": Fraction(1, d) * d == Fraction(d - 1, d)}


def by_sets(out, receivers):
    """Steps and T_B of breadth-first into some ranks of a graph, rank -> followers, counted as on circulants."""
    into = defaultdict(list)
    for rank, follow in out.items():
        for other in follow:
            into[other].append(rank)
    steps, shards = 0, defaultdict(Fraction)
    for receiver in receivers:
        hops = {}
        for target in (receiver, *into[receiver]):
            hops[target] = {target: 0}
            new = [target]
            for rank in new:
                for other in into[rank]:
                    if other not in hops[target]:
                        hops[target][other] = hops[target][rank] + 1
                        new.append(other)
        before = {rank: {w for w in into[receiver] if hops[w][rank] == x - 1} for rank, x in hops[receiver].items()}
        steps = max(steps, *hops[receiver].values())
        for x in range(1, max(hops[receiver].values()) + 1):
            owners = [before[rank] for rank, far in hops[receiver].items() if far == x]
            sets = [set(some) for size in range(1, 5) for some in combinations(into[receiver], size)]
            shards[x] = max(shards[x], *(Fraction(sum(w <= some for w in owners), len(some)) for some in sets))
    return steps, sum(shards.values()) * len(into[receivers[0]]) / len(out)


def links_as_ranks(out):
    return {(u, v): [(v, w) for w in out[v]] for u in out for v in out[u]}


@counts("D-A-146")
def nine_steps_instead_of_eleven(case):
    out = {rank: [(rank + jump) % 128 for jump in (8, -8, 9, -9)] for rank in range(128)}
    steps, load = by_sets(links_as_ranks(out), [(0, jump) for jump in out[0]])  # turns take these links to all others
    return {"steps": steps, "load": load, "efficient": not (steps < 11 and load <= 1)}


@counts("D-A-147 D-3-063")
def fourteen_steps_instead_of_twenty(case):
    grid = {(a, b): [((a + 1) % 4, b), (a, (b + 1) % 4)] for a in range(4) for b in range(4)}
    line = links_as_ranks(grid)  # turns and the exchange of the axes take every link to every other
    out = {(u, v): [*((w, v) for w in line[u]), *((u, w) for w in line[v])] for u in line for v in line}
    steps, load = by_sets(out, [next(iter(out))])
    return {"steps": steps, "load": load, "efficient": not (steps < 20 and load <= Fraction(1023, 1024))}


@counts("D-3-100")
def ring_over_walks_on_a_circulant(case):
    """Walks of three links more on C(16, {3, 4}): each line graph adds a step, and a shard of the graph before it."""
    steps, load = circulant_by_sets(16, (3, 4))
    load += Fraction(1, 16) + Fraction(1, 64) + Fraction(1, 256)
    unit = Fraction(2**20 * 8, 100_000)
    ring = 1023 * 10 + Fraction(1023, 1024) * unit
    return {"times": float(ring / ((steps + 3) * 10 + load * unit))}


@counts("D-3-101")
def one_row_over_another(case):
    return {"at": "Table 3.4", "times": float(Fraction("1434") / Fraction("291.0"))}
