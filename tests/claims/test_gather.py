"""Second counts behind the refutations on all-gather and reduce-scatter, by hand or by another interpreter."""

import re
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pytest
import reference

from colllib import claims
from colllib.algorithms import allgather, allreduce
from colllib.claims import Verdict
from colllib.claims.gather import as_printed, far_wires, through_a_switch, two_halves
from colllib.execution import ScheduleError, execute

CHAPTER = "06-all-gather-and-reduce-scatter"
ENTRIES = {entry.claim.id: entry for entry in claims.for_chapter(CHAPTER)}


def verdicts(*ids):
    return {ENTRIES[name].verdict for name in ids}


def test_every_claim_of_the_chapter_is_answered():
    scope = [
        f"E-01-{k:03}" for first, last in ((94, 98), (130, 141), (162, 163), (165, 167)) for k in range(first, last + 1)
    ]
    assert set(scope) | {"E-00-030", "E-00-031", "E-00-032"} == set(ENTRIES)


def test_second_count_edges_of_a_binomial_tree_by_round():
    """Round k of a tree that doubles has 2^(k-1) edges; N trees over N ports make as many sends per port."""
    edges = Counter()
    senders = defaultdict(Counter)
    for t, step in enumerate(reference.messages(allgather.pat(8)), 1):
        edges[t] = sum(block == 0 for _, _, block, _ in step)
        senders[t].update(src for src, _, _, _ in step)
    assert edges == {1: 1, 2: 2, 3: 4}
    assert sum(edges.values()) == 7
    assert {t: max(count.values()) for t, count in senders.items()} == {1: 1, 2: 2, 3: 4}
    assert verdicts("E-01-131") == {Verdict.INCONSISTENT}
    assert verdicts("E-01-133", "E-01-167") == {Verdict.REFUTED}


def test_second_count_one_chunk_a_round():
    """After k rounds of one chunk each way a rank has 1 + k of 8: 3 rounds bring 4, and 3/8 of M has moved."""
    for choose in range(4):
        *_, final = reference.states(as_printed(choose))
        assert {sum(rank == r for rank, _ in final) for r in range(8)} == {4}
        sent, _ = reference.traffic(as_printed(choose))
        assert set(sent.values()) == {Fraction(3, 8)}
        with pytest.raises(ScheduleError, match=r"rank \d never receives block \d, which it must hold at the end"):
            execute(as_printed(choose))
    assert verdicts("E-01-138", "E-01-139", "E-01-134") == {Verdict.REFUTED}
    assert verdicts("E-01-137") == {Verdict.REPRODUCED}


def test_second_count_what_a_depth_first_walk_parks():
    """Preorder: a shard waits at a node while the walk is below it, so each level but the last parks one."""
    for n, parked in ((8, 2), (16, 3), (64, 5)):
        steps = list(reference.messages(allgather.pat(n, cap=1)))
        most = 0
        for t in range(len(steps)):
            arrived = {block for step in steps[: t + 1] for _, dst, block, _ in step if dst == 0}
            leaving = {block for step in steps[t + 1 :] for src, _, block, _ in step if src == 0}
            most = max(most, len(arrived & leaving))
        assert most == parked == n.bit_length() - 2
    assert verdicts("E-01-135") == {Verdict.REFUTED}


def test_second_count_far_first():
    """Without contention both orders end together; far first moves fewer bytes across the middle.

    In a rotated round of distance d, d senders in each direction cross the middle of N ranks.
    """
    n = 16
    near = sum(Fraction(min(d, n - d) * d, n) for d in (1, 2, 4, 8))
    far = sum(Fraction(min(d, n - d) * (n // (2 * d)), n) for d in (8, 4, 2, 1))
    assert (near, far) == (Fraction(85, 16), 2)
    crossing = [Fraction(0), Fraction(0)]
    for k, schedule in enumerate((allgather.bruck(n), allgather.pat(n))):
        for step in reference.messages(schedule):
            crossing[k] += sum(Fraction(1, n) for src, dst, _, _ in step if src < n // 2 <= dst)
    assert crossing == [near, far]
    for m in (1, 10, 100):
        finish = [longest(schedule, n, Fraction(m)) for schedule in (allgather.bruck(n), allgather.pat(n))]
        assert finish[0] == finish[1]
    assert verdicts("E-01-136") == {Verdict.REFUTED}


def longest(schedule, n, message):
    """Completion with own ports and wires: a message leaves when its blocks are there and its port is free."""
    port, there = defaultdict(Fraction), defaultdict(Fraction)
    inbound = defaultdict(Fraction)
    for step in reference.messages(schedule):
        bundles = defaultdict(list)
        for src, dst, block, _ in step:
            bundles[src, dst].append(block)
        updates = {}
        for (src, dst), blocks in bundles.items():
            start = max([port[src], *(there[src, b] for b in blocks)])
            size = message * len(blocks) / n
            port[src] = start + size
            alpha = 10 if (src < n // 2) != (dst < n // 2) else 1
            half = Fraction(1, 2)
            begin = max(start + alpha - half, inbound[dst])
            inbound[dst] = begin + size
            updates |= {(dst, b): begin + size + half for b in blocks}
        there |= updates
    return max(there.values())


def test_second_count_partners_of_rotated_trees():
    partners = defaultdict(set)
    for step in reference.messages(allgather.pat(8)):
        for src, dst, _, _ in step:
            partners[src].add((dst - src) % 8)
    assert set(map(frozenset, partners.values())) == {frozenset({1, 2, 4})}
    assert all((r ^ 2) != (r + 2) % 8 for r in (2, 3, 6, 7))
    assert verdicts("E-01-140") == {Verdict.REFUTED}


def test_second_count_two_orders_of_recursive_doubling():
    near = [{abs(src - dst) for src, dst, _, _ in step} for step in reference.messages(allgather.recursive_doubling(4))]
    both = [{abs(src - dst) for src, dst, _, _ in step} for step in reference.messages(allreduce.rabenseifner(4))]
    assert (near, both[2:]) == ([{1}, {2}], [{2}, {1}])
    assert verdicts("E-01-163") == {Verdict.INCONSISTENT}


def test_second_count_from_the_ring_to_recursive_doubling():
    steps = [reference.star_cost(build(64))[0] for build in (allgather.ring, allgather.recursive_doubling)]
    assert steps == [63, 6]
    assert verdicts("E-01-166") == {Verdict.REFUTED}


def test_second_count_gather_and_scatter_in_a_switch():
    gathered, scattered = through_a_switch(6)
    assert reference.holds(gathered.schedule)
    assert reference.holds(scattered.schedule)
    assert [len(step) for step in reference.messages(gathered.schedule)] == [6, 30]
    assert [len(step) for step in reference.messages(scattered.schedule)] == [30, 6]
    assert verdicts("E-01-096") == {Verdict.INCONSISTENT}


def test_the_two_fabrics_have_the_routes_they_claim():
    wires, halves = far_wires(8, far=10), two_halves(8, far=10, uplink=2)
    for where, across in ((wires, 10), (halves, 11)):
        for src, dst, alpha in ((0, 1, 1), (0, 7, across), (5, 2, across)):
            _, links = where.router(*(np.array([r]) for r in (src, dst)))
            assert sum(where.alpha[int(link)] for link in links) == alpha


def test_reasons_are_sentences():
    for entry in ENTRIES.values():
        assert not entry.finding.because or re.fullmatch(r"[A-Z0-9].*\.", entry.finding.because)
