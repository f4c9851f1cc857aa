"""Second counts on the all-to-all of a torus: chunks walked by hand, flows, brute force over routes."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise, product
from math import prod

import networkx as nx
import pytest
import reference

from colllib import claims
from colllib.algorithms import relay
from colllib.claims import Verdict
from colllib.topology import Lattice, torus
from colllib.topology.routes import alternating_torus

ENTRIES = {entry.claim.id: entry for entry in claims.for_chapter("15-all-to-all-on-wires")}


def verdicts(*ids):
    return {ENTRIES[name].verdict for name in ids}


def test_every_claim_on_the_all_to_all_of_a_torus_is_answered():
    scope = [f"E-02-{k:03}" for k in (*range(75, 84), *range(85, 91), *range(153, 166))] + ["E-00-039"]
    assert sorted(scope) == sorted(ENTRIES)


def walk(dims, tie_up):
    """Blocks over each directed link when all go axis by axis; `tie_up(at)` says which way at half the ring."""
    load = Counter()
    for src, dst in product(product(*map(range, dims)), repeat=2):
        at = list(src)
        for axis, size in enumerate(dims):
            ahead = (dst[axis] - at[axis]) % size
            way = 1 if 2 * ahead < size or (2 * ahead == size and tie_up(at[axis])) else -1
            while at[axis] != dst[axis]:
                here = tuple(at)
                at[axis] = (at[axis] + way) % size
                load[here, tuple(at)] += 1
    return load


def messages_by_link(schedule):
    return [Counter((src, dst) for src, dst, _, _ in step) for step in reference.messages(schedule)]


def test_second_count_of_the_crossings_and_the_steps_they_need():
    """240 chunks, 512 crossings, 64 links: 8 steps, and a schedule that takes no more."""
    load = walk((4, 4), lambda at: True)
    assert (sum(load.values()), len(load), max(load.values())) == (512, 64, 12)
    assert -(-512 // 64) == 8 > 4
    for where, steps in ((torus((4, 4)), 12), (torus((4, 4), tie="balanced"), 9), (alternating_torus((4, 4)), 8)):
        schedule = relay.relay_one_by_one(where)
        used = messages_by_link(schedule)
        assert len(used) == steps
        assert max(max(step.values()) for step in used) == 1
        assert sum(map(sum, (step.values() for step in used))) == 512
        assert reference.holds(schedule)
    assert verdicts("E-02-078") == {Verdict.REFUTED}


def test_second_count_of_the_relay_of_a_cube_against_both_formulas():
    """4x4x4 in rotated slices, a message at a time: 6 steps, and in all of them together 1/2 on the busiest links."""
    schedule = relay.relay(Lattice((4, 4, 4)), tie="split", rotated=True)
    share = list(schedule.blocks.share)
    total = Fraction(0)
    steps = 0
    for step in reference.messages(schedule):
        load = Counter()
        for src, dst, block, _ in step:
            load[src, dst] += share[block]
        steps += 1
        total += max(load.values())
    assert (steps, total) == (6, Fraction(4, 8)) != (63, Fraction(63, 64))
    assert verdicts("E-02-075") == {Verdict.INCONSISTENT}


@pytest.mark.parametrize("dims", [(4, 4), (6, 6), (4, 4, 4)])
def test_second_count_of_the_decomposed_all_to_all_in_slices(dims):
    """Every phase of every slice is a ring's all-to-all, and in each step all axes carry alike."""
    schedule = relay.relay(Lattice(dims), tie="split", phased=True, rotated=True)
    share = list(schedule.blocks.share)
    total = Fraction(0)
    for step in reference.messages(schedule):
        load = Counter()
        for src, dst, block, _ in step:
            load[src, dst] += share[block]
        assert len(load) == 2 * len(dims) * prod(dims)  # all links work
        assert len(set(load.values())) == 1
        total += max(load.values())
    assert total == Fraction(max(dims), 8)
    assert reference.holds(schedule)
    assert verdicts("E-02-086") == {Verdict.REFUTED}


def test_second_count_of_shortest_routes_and_their_cut_edges():
    """Every word of two moves east or west and two moves north or south, by hand."""
    found = set()
    for axes in {word for word in product("xy", repeat=4) if word.count("x") == 2}:
        for east, north in product((1, -1), repeat=2):
            at, path = [0, 0], [(0, 0)]
            for axis in axes:
                k = "xy".index(axis)
                at[k] = (at[k] + (east, north)[k]) % 4
                path.append(tuple(at))
            assert path[-1] == (2, 2)
            assert sum((a[0] in (0, 1)) != (b[0] in (0, 1)) for a, b in pairwise(path)) == 1
            found.add(tuple(path))
    assert len(found) == 24
    assert verdicts("E-02-154") == {Verdict.REFUTED}


def test_second_count_of_loads_with_all_ties_up():
    up, balanced = walk((4, 4), lambda at: True), walk((4, 4), lambda at: at % 2 == 0)
    assert set(up.values()) == {12, 4}
    assert set(balanced.values()) == {8}
    assert verdicts("E-02-164") == {Verdict.REFUTED}


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6])
def test_second_count_at_cubic_shapes(size):
    """Hops of all blocks over all links: by symmetry no link of an evenly loaded cube carries less or more."""
    for axes in (1, 2, 3):
        graph = torus((size,) * axes).to_networkx()
        ranks = len(graph)
        hops = sum(sum(to.values()) for _, to in nx.all_pairs_shortest_path_length(graph))
        load = Fraction(hops, ranks * graph.number_of_edges())
        by_size = {2: Fraction(1, 2)}.get(size, Fraction(size**2 - size % 2, 8 * size))
        assert load == by_size
        assert (load == Fraction(size, 8)) == (size in (4, 6))
    assert verdicts("E-00-039") == {Verdict.REFUTED}


EDITORIAL = ("E-02-090", "E-02-165")  # about the source's own headings: nothing to count twice


def test_the_cross_references_lead_nowhere():
    assert verdicts(*EDITORIAL) == {Verdict.REFUTED}


def test_second_count_of_the_half_by_maximum_flow():
    """All of the west at once to all of the east: 64 chunks over what a flow can carry."""
    graph = nx.DiGraph()
    for a, b in torus((4, 4)).to_networkx().edges:
        graph.add_edge(a, b, capacity=1)
    for rank in range(16):
        graph.add_edge(*(("west", rank) if rank % 4 < 2 else (rank, "east")), capacity=100)
    assert nx.maximum_flow_value(graph, "west", "east") == 8
    assert verdicts("E-02-080", "E-02-082", "E-02-158") == {Verdict.REPRODUCED}
