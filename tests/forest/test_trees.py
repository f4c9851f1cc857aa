"""Forests: trees that span, schedules that are proved, and a busiest link that carries just what the bound says."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from forest_fabrics import balanced, check_trees, from_speeds, speeds_of, unbalanced, worst_cut
from hypothesis import given, settings
from hypothesis import strategies as st

from colllib.execution import execute
from colllib.forest import bound, busiest, fabric, fixed, forest
from colllib.primitives import PRIMITIVES
from colllib.schedule import in_sequence, reversed_in_time, side_by_side
from colllib.symmetry import by_symmetry
from colllib.topology import from_links, star, torus
from colllib.topology.expression import find

FABRICS = ("dgx-a100:2", "dgx-h100:2", "mi250-8x2", "torus:4x4", "torus:3x2", "fat-tree:4", "boxes:2x4", "star:5")


@settings(max_examples=60, deadline=None)
@given(topology=st.one_of(balanced(), unbalanced()), data=st.data())
def test_on_any_fabric_the_busiest_link_carries_what_the_worst_cut_says(topology, data):
    primitive = data.draw(st.sampled_from(["all-gather", "reduce-scatter", "broadcast", "reduce"]))
    root = data.draw(st.integers(0, topology.ranks - 1)) if primitive in ("broadcast", "reduce") else None
    packing = forest(topology, primitive=primitive, root=root)
    check_trees(packing)
    run = execute(packing.schedule(), topology)
    weights = [1 if root in (None, rank) else 0 for rank in range(topology.ranks)]
    if primitive in ("all-gather", "broadcast"):
        assert busiest(run) == worst_cut(topology, weights) / sum(weights)
    assert packing.reached()
    assert run.schedule.makes(PRIMITIVES[primitive])


@settings(max_examples=25, deadline=None)
@given(topology=balanced(), trees=st.integers(1, 4))
def test_a_given_number_of_trees_keeps_within_its_own_bound(topology, trees):
    place = fabric(topology)
    symmetric = (place.capacity == place.capacity.T).all()
    if not symmetric and topology.switches:  # rounding down may leave more coming in than going out
        return
    packing = forest(topology, trees=trees)
    check_trees(packing)
    assert busiest(execute(packing.schedule(), topology)) <= packing.bound.inverse_throughput / topology.ranks


@settings(max_examples=25, deadline=None)
@given(topology=balanced(), data=st.data())
def test_shares_may_differ_from_rank_to_rank(topology, data):
    weights = data.draw(st.lists(st.integers(0, 3), min_size=topology.ranks, max_size=topology.ranks).filter(any))
    packing = forest(topology, weights=weights)
    check_trees(packing)
    run = execute(packing.schedule(), topology)
    assert busiest(run) == worst_cut(topology, weights) / sum(weights)


@settings(max_examples=40, deadline=None)
@given(topology=balanced(), data=st.data())
def test_links_may_be_as_far_apart_in_speed_as_they_like(topology, data):
    wide = st.sampled_from([1, 2**31, 2**61, 2**62, 2**70 + 1, Fraction(1, 2**40)])
    order = data.draw(st.permutations(range(topology.nodes)))
    speeds, factor = speeds_of(topology), data.draw(wide)
    for link in pairwise([*order, order[0]]):  # a closed walk, so that nodes send as much as they receive
        speeds[link] = speeds.get(link, 0) + factor
    far = from_speeds(topology.ranks, topology.nodes, speeds)
    packing = forest(far, way="general")
    check_trees(packing)
    assert packing.reached()
    assert packing.bound.inverse_throughput == worst_cut(far, [1] * far.ranks)
    slowest = min(speeds.values())
    assert 0 <= fixed(fabric(far), 2).inverse_throughput - packing.bound.inverse_throughput <= 1 / Fraction(2 * slowest)


@pytest.mark.parametrize("way", ["best", "general"])
@pytest.mark.parametrize("name", FABRICS)
@pytest.mark.parametrize("primitive", ["all-gather", "reduce-scatter", "all-reduce"])
def test_the_bound_is_reached_both_ways(name, way, primitive):
    packing = forest(find(name), primitive=primitive, way=way)
    assert packing.reached()
    assert packing.schedule().makes(PRIMITIVES[primitive])
    execute(packing.schedule(), find(name))


@pytest.mark.parametrize("name", ["torus:8x8", "torus:4x4x3", "dgx-a100:16", "star:12", "boxes:4x8"])
def test_moved_trees_need_not_be_believed_to_be_symmetric(name):
    packing, topology = forest(find(name), way="moves"), find(name)
    full, seed = execute(packing.schedule(), topology), by_symmetry(packing.schedule(), topology)
    assert full.cost == seed.cost
    assert busiest(full) == busiest(seed) == bound(fabric(topology)).inverse_throughput / topology.ranks


@settings(max_examples=25, deadline=None)
@given(box=balanced(most_switches=0), boxes=st.integers(2, 4), wide=st.integers(1, 3))
def test_the_trees_of_one_box_serve_all_where_the_bound_is_around_a_box(box, boxes, wide):
    packing, size = forest(_around_a_switch(box, boxes, wide)), box.ranks
    check_trees(packing)
    assert packing.reached()
    around_one = Fraction(size * (boxes - 1), size * wide)
    inside = boxes * bound(fabric(box)).inverse_throughput
    if size > 1 and inside <= around_one == packing.bound.inverse_throughput:
        assert packing.way in ("moves", "boxes")


def _around_a_switch(box, boxes, wide):
    """Equal boxes whose ranks have one link each to and from one switch."""
    size, ranks = box.ranks, box.ranks * boxes
    speeds = {
        (at + a, at + b): speed for at in range(0, ranks, size) for (a, b), speed in speeds_of(box).items() if a != b
    }
    speeds |= {link: wide for rank in range(ranks) for link in ((rank, ranks), (ranks, rank))}
    return from_speeds(ranks, ranks + 1, speeds)


@pytest.mark.parametrize("primitive", ["all-gather", "reduce-scatter", "all-reduce"])
def test_four_boxes_of_mi250_pass_on_what_comes_in_as_their_own(primitive):
    packing = forest(find("mi250:4"), primitive=primitive)
    assert (packing.way, packing.bound.inverse_throughput) == ("boxes", Fraction(48, 256))
    check_trees(packing)
    assert packing.reached()
    execute(packing.schedule(), find("mi250:4"))


def test_moved_trees_are_as_shallow_as_the_torus_allows():
    assert forest(find("torus:8x8")).heights == {8: 256}
    assert forest(find("dgx-a100:128")).heights == {2: 1024}


@pytest.mark.parametrize("name", ["dgx-a100:2", "mi250-8x2"])
def test_in_segments_the_steps_overlap_and_the_time_approaches_the_bound(name):
    packing = forest(find(name))
    limit, most = packing.bound.inverse_throughput / packing.fabric.ranks, max(packing.heights)
    for segments in (1, 4, 16):
        run = execute(packing.schedule(segments), find(name))
        assert busiest(run) == limit
        assert limit <= _seconds(run) <= limit * (segments + most - 1) / segments


def _seconds(run):
    """The lock-step time per M at no latency, exactly: each step as long as its busiest link at its speed."""
    speeds = [Fraction(speed) / 10**9 for speed in run.topology.speeds[1]]
    tiers = run.topology.tiers
    return sum(
        kind.steps
        * max(load / (tier.bandwidth * speeds[tier.level]) for load, tier in zip(kind.loads, tiers, strict=True))
        for kind in run.kinds()
    )


def test_a100_boxes_in_16_segments_come_within_a_twentieth_of_the_bound():
    packing = forest(find("dgx-a100:2"))
    assert _seconds(execute(packing.schedule(16), find("dgx-a100:2"))) <= Fraction(21, 20) * Fraction(3, 65) / 16


@settings(max_examples=25, deadline=None)
@given(topology=balanced())
def test_paths_of_their_own_stay_with_their_messages_in_every_operation(topology):
    schedule = forest(topology).schedule()
    once = execute(schedule, topology).ledger.link
    twice = execute(side_by_side(schedule, schedule), topology).ledger.link
    assert (twice == 2 * once).all()
    both_ways = all(
        (b, a) in set(zip(topology.link_src.tolist(), topology.link_dst.tolist(), strict=True))
        for a, b in zip(topology.link_src.tolist(), topology.link_dst.tolist(), strict=True)
    )
    if both_ways:
        back = reversed_in_time(schedule)
        run = execute(in_sequence(back, schedule), topology)
        assert (run.ledger.link == execute(back, topology).ledger.link + once).all()


def test_a_switch_that_joins_a_whole_box_is_no_reason_to_call_its_forest_too_large():
    """71 shards into every GPU, over 900 GB/s of NVLink."""
    packing = forest(find("nvl72:1"), way="general")
    assert packing.reached()
    assert packing.bound.inverse_throughput == Fraction(71, 900)


@pytest.mark.parametrize("on", ["mi300x:1", "mi250x:1", "trn2:1", "boxes:1x4,cards=2"])
def test_a_forest_in_the_only_box_sends_nothing_to_its_cards(on):
    topology = find(on)
    of_cards = np.array([tier.level > 0 for tier in topology.tiers])[topology.tier]
    link = execute(forest(topology).schedule(), topology).ledger.link
    assert of_cards.any()
    assert not of_cards[link].any()


@pytest.mark.parametrize("name", ["torus:{}x4", "dgx-a100:{}"])
def test_trees_that_are_moved_ask_for_the_routes_of_all_ranks_at_once(name):
    asked = []
    for size in (4, 16):
        topology, calls = find(name.format(size)), []
        router = lambda src, dst, to=topology.router, calls=calls: calls.append(len(src)) or to(src, dst)  # noqa: E731
        assert forest(replace(topology, router=router), way="moves").way == "moves"
        asked.append(len(calls))
    assert asked[0] == asked[1]


@pytest.mark.parametrize("topology", [star(1), torus((1,)), find("boxes:1x1")])
def test_one_rank_needs_no_tree(topology):
    assert forest(topology).reached()
    assert forest(topology, multicast=True).schedule().num_messages == 0


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (
            lambda: forest(star(4), primitive="all-to-all"),
            "primitive 'all-to-all': forests make all-gather, reduce-scatter",
        ),
        (lambda: forest(star(4), way="quick"), "way 'quick': must be one of best, moves, boxes, general"),
        (lambda: forest(star(4), root=1), "root 1: all-gather has no root"),
        (lambda: forest(star(4), trees=0), "trees = 0: a whole number of at least 1"),
        (
            lambda: forest(star(4), primitive="reduce", weights=[1, 1, 1, 1]),
            "weights: reduce has one root, which has all",
        ),
        (lambda: forest(find("mi250:1"), way="moves"), "mi250:1: no trees of one rank can be moved to all others here"),
        (lambda: forest(find("mi250:2"), way="boxes"), "mi250:2: no trees of one box can serve all boxes here"),
        (lambda: forest(star(6), way="boxes"), "star:6: no trees of one box can serve all boxes here"),
        (
            lambda: forest(from_links("x", 3, [(0, 1), (1, 0), (0, 2)]), primitive="reduce-scatter"),
            "x: no link leads from rank 2, so that nothing can leave it",
        ),
        (
            lambda: forest(from_links("x", 4, [(0, 1), (1, 0), (2, 3), (3, 2), (0, 2)]), primitive="reduce-scatter"),
            "x: no path leads from rank 2 to rank 0",
        ),
        (lambda: forest(find("fat-tree:12")), "a forest on fat-tree:12 the general way: this would take about"),
        (lambda: forest(find("fat-tree:12")), "s are spent on one run: take fewer ranks"),
        (
            lambda: forest(find("dgx-h100:12"), way="general", trees=1000),
            "on one run: take fewer ranks or trees, or the best way",
        ),
        (
            lambda: forest(from_links("ring", 3, [(0, 1), (1, 2), (2, 0)]), primitive="all-reduce"),
            "ring: all-reduce takes the same trees both ways, and some links are wider one way",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(build, says):
    with pytest.raises(ValueError, match=r"^.*$") as refusal:
        build()
    assert says in str(refusal.value)


def test_a_torus_of_one_way_links_is_no_obstacle():
    ring = from_links("ring", 5, [(i, (i + 1) % 5) for i in range(5)])
    assert forest(ring).bound.inverse_throughput == 4
    assert forest(ring, primitive="reduce-scatter").reached()
    assert forest(torus((5,))).bound.inverse_throughput == 2


def test_83_trees_of_every_die_of_two_mi250_boxes_load_no_link_more_than_the_bound_says():
    packing = forest(find("mi250:2"))
    assert packing.bound.trees == 83
    assert packing.reached()
