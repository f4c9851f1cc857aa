"""Throughput bounds, against all cuts by plain sets, flows of networkx, linear programs and published figures."""

from fractions import Fraction

import numpy as np
import pytest
from forest_fabrics import balanced, every_rank_can_receive, from_speeds, speeds_of, two_boxes, unbalanced, worst_cut
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from colllib.forest import bound, fabric, fixed, ratio
from colllib.forest.bound import SEARCHES, feasible, overloaded, room
from colllib.topology import from_links, star, torus
from colllib.topology.expression import find

MACHINES = (
    "dgx-a100:2",
    "dgx-h100:3",
    "mi250-8x2",
    "mi250:2",
    "torus:4x4",
    "fat-tree:4",
    "fat-tree:4,oversubscription=2:4",
    "fat-tree:4,oversubscription=3,routing=spread",
    "boxes:3x4,oversubscription=3",
)


@settings(max_examples=60, deadline=None)
@given(topology=st.one_of(balanced(), unbalanced()), data=st.data())
def test_all_three_searches_find_the_worst_of_all_cuts(topology, data):
    weights = data.draw(st.lists(st.integers(0, 3), min_size=topology.ranks, max_size=topology.ranks).filter(any))
    place, expected = fabric(topology, weights=weights), worst_cut(topology, weights)
    for search in SEARCHES:
        limit = bound(place, search=search)
        assert limit.inverse_throughput == expected
        assert ratio(place, limit.cut) == expected


@pytest.mark.parametrize("wide", [10**6 + 3, 2**61 + 1])
def test_capacities_of_any_size_stay_exact(wide):
    links = {(a, b): wide + a * b for a in range(4) for b in range(4) if a != b}
    place = fabric(from_speeds(4, 4, links))
    for search in SEARCHES:
        assert bound(place, search=search).inverse_throughput == Fraction(3, 3 * wide)  # rank 0 sends and gets least
    assert fixed(place, 2).inverse_throughput == Fraction(1, wide)


@pytest.mark.parametrize("name", MACHINES)
def test_the_cut_is_a_lower_bound_and_flows_of_networkx_reach_it(name):
    topology = find(name)
    limit, speeds = bound(fabric(topology)), speeds_of(topology)
    inside = set(limit.cut)
    leaving = sum(speed for (a, b), speed in speeds.items() if a in inside and b not in inside)
    assert limit.inverse_throughput == len(inside & set(range(topology.ranks))) / leaving
    assert every_rank_can_receive(topology, [1] * topology.ranks, limit.inverse_throughput)


@pytest.mark.parametrize(
    ("narrow", "expected"),
    [("1", 15), ("2", 15), ("3", 21), ("1:3", 15), ("3:1", 21), ("1:8", 24)],
)
def test_a_fat_tree_is_bound_by_its_ports_its_edge_switches_or_its_pods(narrow, expected):
    """What 15 others send crosses a host's port; that of 14 two uplinks of an edge switch, of 12 four of a pod."""
    edge, core = (Fraction(times) for times in (narrow.split(":") * 2)[:2])
    assert expected == max(15, 14 * edge / 2, 12 * core / 4)
    limit = bound(fabric(find(f"fat-tree:4,oversubscription={narrow},routing=spread")))
    assert limit.inverse_throughput == expected


@pytest.mark.parametrize("topology", [two_boxes(), find("mi250-8x2"), find("boxes:2x3,oversubscription=2")], ids=str)
def test_the_bound_is_what_a_linear_program_finds(topology):
    links = speeds_of(topology)
    best = min(_largest_rate(topology, links, sink) for sink in range(topology.ranks))
    assert float(bound(fabric(topology)).inverse_throughput) == pytest.approx(1 / best)


def _largest_rate(topology, links, sink):
    """The largest x at which all N ranks can send x to one rank at the same time; the last variable is x."""
    conserved = np.zeros((topology.nodes, len(links) + 1))
    for place, (a, b) in enumerate(links):
        conserved[a, place] += 1
        conserved[b, place] -= 1
    conserved[: topology.ranks, -1] = -1
    conserved[sink] = 0
    limits = [(0, float(speed)) for speed in links.values()] + [(0, None)]
    cost = np.zeros(len(links) + 1)
    cost[-1] = -1
    return -linprog(cost, A_eq=conserved, b_eq=np.zeros(topology.nodes), bounds=limits).fun


def test_two_boxes_of_four_have_their_bottleneck_between_the_boxes():
    place = fabric(two_boxes())
    limit = bound(place)
    assert (limit.inverse_throughput, limit.unit, limit.trees) == (1, 1, 1)
    assert ratio(place, (0, 1, 2, 3, 8)) == Fraction(4, 4)
    assert ratio(place, tuple(node for node in range(11) if node != 4)) == Fraction(7, 11)
    assert ratio(place, (0,)) == Fraction(1, 11)


@pytest.mark.parametrize(("faster", "cut"), [(Fraction(1), False), (Fraction(2, 3), True)])
def test_a_flow_tells_whether_a_rate_overloads_a_cut(faster, cut):
    place = fabric(two_boxes())
    assert (overloaded(place, faster) is not None) == cut


@pytest.mark.parametrize(("boxes", "binding"), [(2, 15), (3, 16), (4, 24)])
def test_of_a100_boxes_one_gpu_binds_at_two_and_the_network_from_three_on(boxes, binding):
    limit = bound(fabric(find(f"dgx-a100:{boxes}")))
    ranks = [node for node in limit.cut if node < 8 * boxes]
    assert len(ranks) == binding
    assert limit.inverse_throughput == (Fraction(15, 325) if boxes == 2 else Fraction(binding, 200))


def test_the_published_bandwidths_of_two_mi250_boxes_for_a_given_number_of_trees():
    place = fabric(find("mi250:2"))
    published = {1: 320, 2: 341, 3: 343, 4: 341, 5: 348, 83: 354}
    assert {k: round(32 / fixed(place, k).inverse_throughput) for k in published} == published
    assert bound(place).trees == 83


@settings(max_examples=30, deadline=None)
@given(topology=balanced(), trees=st.integers(1, 6))
def test_a_given_number_of_trees_is_as_fast_as_the_first_unit_with_room_for_it(topology, trees):
    place = fabric(topology)
    limit, free = fixed(place, trees), bound(place)
    slowest = min(speeds_of(topology).values())
    assert free.inverse_throughput <= limit.inverse_throughput <= free.inverse_throughput + 1 / (trees * slowest)
    assert feasible(place, room(place, limit.unit), trees)
    speeds = set(speeds_of(topology).values())
    below = max(Fraction(-(-limit.unit * speed // 1) - 1) / speed for speed in speeds)  # the candidate before it
    assert not feasible(place, room(place, below), trees)


def test_the_least_number_of_trees_makes_every_link_a_whole_number_of_them():
    for name in MACHINES:
        topology = find(name)
        limit, speeds = bound(fabric(topology)), set(speeds_of(topology).values())
        assert limit.unit / limit.trees == limit.inverse_throughput
        assert all((limit.unit * speed).denominator == 1 for speed in speeds)
        fewer = (limit.inverse_throughput * k for k in range(1, limit.trees))
        assert all(any((unit * speed).denominator > 1 for speed in speeds) for unit in fewer)


def test_a_root_alone_is_bound_by_the_narrowest_flow_to_any_rank():
    assert bound(fabric(torus((4, 4)), root=5)).inverse_throughput == Fraction(1, 4)
    assert bound(fabric(star(6), root=0)).inverse_throughput == 1


def test_one_rank_has_nothing_to_send_and_is_a_tree_by_itself():
    alone = bound(fabric(star(1)))
    assert (alone.inverse_throughput, alone.trees) == (0, 1)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: bound(fabric(from_links("x", 3, [(0, 1), (1, 0), (0, 2)]))), "x: no path leads from rank 2 to rank"),
        (lambda: fabric(from_links("x", 2, [(0, 1)])), "x: no link leads to rank 0, so that nothing can reach it"),
        (lambda: bound(fabric(star(3)), search="luck"), "search 'luck': must be one of newton, bisection, all-cuts"),
        (
            lambda: bound(fabric(star(30)), search="all-cuts"),
            "all cuts of star:30: 2147483648 sets of nodes are too many",
        ),
        (lambda: fixed(fabric(star(3)), 0), "trees = 0: a whole number of at least 1 is needed for each rank"),
        (
            lambda: fixed(fabric(star(3)), 10**18),
            "star:3: about 10^18 trees for each rank are too many, at most 65536 will do",
        ),
        (lambda: fabric(star(3), root=3), "root 3: must be one of the ranks 0..2"),
        (lambda: fabric(star(3), weights=[0, 0, 0]), "weights [0, 0, 0]: 3 whole numbers from 0 are needed, not all 0"),
        (lambda: fabric(star(3), weights=[1, 1.5, 2]), "weights [1, 1.5, 2]: 3 whole numbers from 0 are needed, not"),
        (lambda: fabric(star(3), weights=[1, 2]), "weights [1, 2]: 3 whole numbers from 0 are needed, not all 0"),
        (lambda: fabric(find("boxes:2x8,seed=1")), "several links join two nodes"),
        (lambda: fabric(star(5000)), "star:5000: 5001 ranks and switches, for trees on any fabric, are too many"),
        (lambda: ratio(fabric(star(2)), (0, 1)), "all 2 ranks are in the set: nothing has to leave it"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(build, says):
    with pytest.raises(ValueError, match=r"^.*$") as refusal:
        build()
    assert says in str(refusal.value)
