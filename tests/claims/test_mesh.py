"""Second counts behind the answers on meshes: by hand or with the second interpreter."""

from collections import Counter
from fractions import Fraction

import pytest
import reference

from colllib import claims, event_clock
from colllib.algorithms import allreduce, broadcast, lattice, pointtopoint
from colllib.claims import Verdict
from colllib.topology import Latency, Lattice, from_links, star

ENTRIES = {entry.claim.id: entry for entry in claims.for_chapter("16-mesh")}


def verdicts(*ids):
    return {ENTRIES[name].verdict for name in ids}


def test_the_chapter_answers_its_part_of_the_source():
    scope = {f"E-02-{k:03}" for k in (17, *range(91, 103))} | {"E-00-041", "E-00-042"}
    assert set(ENTRIES) == scope


def per_pair(schedule):
    """n_beta where every pair has a link of its own each way."""
    total = Fraction(0)
    shares = list(schedule.blocks.share)
    for step in reference.messages(schedule):
        link = Counter()
        for src, dst, block, _ in step:
            link[src, dst] += shares[block]
        total += max(link.values())
    return total


def test_second_count_trees_cost_less_where_every_pair_has_a_link():
    for n in (8, 16):
        depth = n.bit_length() - 1
        assert per_pair(allreduce.double_binary_tree(n)) == depth
        assert reference.star_cost(allreduce.double_binary_tree(n))[1] == 2 * depth - 1
        tree = broadcast.binomial_tree(n, segments=4)
        assert (per_pair(tree), reference.star_cost(tree)[1]) == (Fraction(depth + 3, 4), depth)
        assert per_pair(allreduce.ring(n)) == reference.star_cost(allreduce.ring(n))[1]
    assert verdicts("E-00-041") == {Verdict.REFUTED}


def test_second_count_line_and_ring_one_way_and_both_ways():
    """Steps and busiest link from the messages alone; every message of these schedules goes to a neighbor."""
    for d in (4, 8, 12):
        pairs = []
        for build, axes in (
            (lattice.dim_ring_reduce_scatter, Lattice((d,), False)),
            (lattice.dim_ring_reduce_scatter, Lattice((d,))),
            (lattice.dim_shortest_way_reduce_scatter, Lattice((d,))),
        ):
            schedule = build(axes)
            apart = {abs(a - b) for step in reference.messages(schedule) for a, b, _, _ in step}
            assert apart <= {1, d - 1}
            pairs.append((schedule.num_steps, per_pair(schedule)))
        once = (d - 1, Fraction(d - 1, d))
        assert pairs == [once, once, (d // 2, Fraction(d - 1, 2 * d))]
    assert verdicts("E-02-017") == {Verdict.INCONSISTENT}


def test_second_count_two_values_for_the_traversal_of_a_switch():
    """An empty message on the event clock, with the parts of section 2, and with a switch that takes no time."""
    price = {"message": 1e-9, "alpha": 500e-9, "bandwidth": 1e9}
    whole, endpoint = (
        event_clock(pointtopoint.direct(2), where, **price).seconds * 1e9
        for where in (
            star(2, latency=Latency(endpoint=Fraction(4, 5), switch=Fraction(1, 5))),
            from_links("without its switch", 2, [(0, 1), (1, 0)], alpha=[Fraction(4, 5)] * 2),
        )
    )
    assert whole == pytest.approx(500)
    assert whole - endpoint == pytest.approx(100)
    assert verdicts("E-02-091") == {Verdict.INCONSISTENT}


def test_second_count_the_wires_that_close_the_rings():
    """One for each line of the lattice: 8 x 8 lines on each of three axes."""
    assert 3 * 8 * 8 == 192
    assert 32 + 16 == 48
    assert 192 < 512 / 2
    assert verdicts("E-02-101") == {Verdict.REFUTED}


def test_one_flow_after_the_other_is_a_reduce_scatter_of_twice_the_cost():
    for n in (2, 3, 5, 8):
        schedule = lattice.line_reduce_scatter(n, together=False)
        assert reference.holds(schedule)
        assert (schedule.num_steps, per_pair(schedule)) == (2 * (n - 1), 2 * Fraction(n - 1, n))
