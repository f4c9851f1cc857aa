"""Other ways to make trees: each is proved, and none beats the bound."""

from fractions import Fraction

import pytest
from forest_fabrics import balanced, check_trees, from_speeds, speeds_of, two_boxes
from hypothesis import given, settings
from hypothesis import strategies as st

from colllib.execution import execute
from colllib.forest import bound, busiest, fabric
from colllib.forest.others import greedy, one_root, unwound
from colllib.primitives import PRIMITIVES
from colllib.topology import from_links, torus
from colllib.topology.expression import find


def best(topology):
    return bound(fabric(topology)).inverse_throughput / topology.ranks


@settings(max_examples=25, deadline=None)
@given(topology=balanced())
def test_greedy_trees_are_proved_and_never_beat_the_bound(topology):
    run = execute(greedy(topology), topology)
    assert run.schedule.makes(PRIMITIVES["all-gather"])
    assert busiest(run) >= best(topology)


def test_switches_unwound_into_rings_leave_a_quarter_of_what_two_boxes_can_do():
    rings = unwound(two_boxes())
    assert rings.reached()
    assert rings.bound.inverse_throughput == 4 == 4 * bound(fabric(two_boxes())).inverse_throughput


@pytest.mark.parametrize("name", ["dgx-a100:2", "mi250-8x2", "boxes:2x4", "fat-tree:4", "torus:4x4"])
def test_unwinding_is_proved_and_never_beats_the_bound(name):
    rings = unwound(find(name))
    check_trees(rings)
    assert rings.reached()
    assert busiest(execute(rings.schedule(), find(name))) >= best(find(name))


@settings(max_examples=40, deadline=None)
@given(topology=balanced(), far=st.sampled_from([1, 2**62, 2**70]))
def test_rings_and_links_between_the_same_ranks_share_what_trees_there_are(topology, far):
    speeds = speeds_of(topology)
    both = {link: far + speeds.get(link, 0) + speeds.get(link[::-1], 0) for one in speeds for link in (one, one[::-1])}
    rings = unwound(from_speeds(topology.ranks, topology.nodes, both))
    check_trees(rings)
    assert rings.reached()


def test_a_ring_for_a_switch_leaves_direct_links_as_they_are():
    boxes = {(a, b): 1 for a in range(4) for b in range(4) if a != b and a // 2 == b // 2}
    cards = {link: 3 for rank in range(4) for link in ((rank, 4), (4, rank))}
    rings = unwound(from_speeds(4, 5, boxes | cards))
    check_trees(rings)
    assert rings.reached()
    assert rings.bound.inverse_throughput == Fraction(3, 4)  # three shards into rank 0: 3 from rank 3, 1 from rank 1


def test_ways_of_one_ring_share_the_links_that_they_have_in_common():
    """Two leaves under a spine, and neighbors in rank order on different leaves: two ways go up from each leaf."""
    pairs = [(0, 4), (2, 4), (1, 5), (3, 5), (4, 6), (5, 6)]
    rings = unwound(from_speeds(4, 7, {link: 1 for a, b in pairs for link in ((a, b), (b, a))}))
    check_trees(rings)
    assert rings.reached()
    assert rings.bound.inverse_throughput == 6  # three shards over half a link


def test_one_root_is_limited_by_what_can_reach_one_rank_at_a_time():
    run = execute(one_root(find("dgx-a100:2")), find("dgx-a100:2"))
    assert run.schedule.makes(PRIMITIVES["all-reduce"])
    assert busiest(run) == 2 * Fraction(1, 200)  # eight cards of 25 GB/s lead out of the root's box


def test_greedy_trees_send_no_more_over_a_link_in_a_step_than_the_slowest_one_takes():
    for topology in (torus((4, 4)), torus((3, 2))):
        run = execute(greedy(topology), topology)
        steps = run.schedule.num_steps
        assert steps >= (topology.ranks - 1) / 4
        assert all(max(run.link_load(t)) == Fraction(1, topology.ranks) for t in range(steps))


def test_greedy_trees_need_a_path_between_any_two_ranks_and_one_rank_needs_none():
    assert greedy(find("full-mesh:1")).num_steps == 0
    with pytest.raises(ValueError, match="apart: no path leads from rank 2 to rank 0"):
        greedy(from_links("apart", 4, [(0, 1), (1, 0), (2, 3), (3, 2)]))
