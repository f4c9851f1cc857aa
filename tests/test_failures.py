"""What fails takes its links with it: detours where there are some, one line where there are none."""

from fractions import Fraction
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colllib.algorithms import channels, find, hierarchical, lattice
from colllib.execution import execute
from colllib.ladder import Entry, field_of, ladder
from colllib.topology import NoRouteError, boxes
from colllib.topology.cuts import bisection
from colllib.topology.expression import find as topology
from colllib.topology.failures import in_each_box


def walk(net, src, dst):
    message, link = net.router(np.array([src]), np.array([dst]))
    nodes = [src, *(int(net.link_dst[used]) for used in link[np.argsort(message, kind="stable")])]
    assert [int(net.link_src[used]) for used in link[np.argsort(message, kind="stable")]] == nodes[:-1]
    assert nodes[-1] == dst
    return nodes


@given(st.sampled_from(["ring:6", "torus:4x3", "mesh:3x3", "boxes:3x4", "boxes:2x4,rails=4"]), st.data())
@settings(max_examples=60, deadline=None)
def test_without_a_cable_routes_that_used_it_are_as_short_as_can_be_and_others_stay(expression, data):
    intact = topology(expression)
    link = data.draw(st.integers(0, intact.num_links - 1))
    ends = {int(intact.link_src[link]), int(intact.link_dst[link])}
    cable = "-".join(str(node) if node < intact.ranks else f"s{node - intact.ranks}" for node in sorted(ends))
    rest = topology(f"{expression},without={cable}")
    assert rest.num_links == intact.num_links - 2
    graph = nx.DiGraph(list(zip(rest.link_src.tolist(), rest.link_dst.tolist(), strict=True)))
    for src in range(intact.ranks):
        for dst in range(intact.ranks):
            if src == dst:
                continue
            before = walk(intact, src, dst)
            if not any(set(pair) == ends for pair in pairwise(before)):
                assert walk(rest, src, dst) == before
            elif not nx.has_path(graph, src, dst):
                with pytest.raises(NoRouteError, match=f"no route from rank {src} to rank {dst}"):
                    walk(rest, src, dst)
            else:
                assert len(walk(rest, src, dst)) - 1 == nx.shortest_path_length(graph, src, dst)


def test_without_its_card_a_rank_takes_a_neighbors():
    """By hand, 2 x 2: rank 1 crosses its box to rank 0, whose card carries both parts of an all-gather's bundle."""
    intact, rest = (boxes((2, 2)), topology("boxes:2x2,without=card 1"))
    assert walk(rest, 1, 3) == [1, 4, 0, *walk(intact, 0, 3)[1:]]
    schedule = find("all-gather", "hierarchical").build(intact)
    assert [execute(schedule, net).kinds()[0].loads[1] for net in (intact, rest)] == [Fraction(1, 4), Fraction(1, 2)]


@pytest.mark.parametrize(
    ("expression", "ranks"),
    [
        ("boxes:2x4,without=leaf 1", "no route from rank 3 to rank 4"),
        ("line:4,without=1-2", "no route from rank 1 to rank 2"),
    ],
)
def test_two_ranks_without_a_route_are_named(expression, ranks):
    net = topology(expression)
    with pytest.raises(NoRouteError, match=rf"^[^\n]*without[^\n]*{ranks}: the links do not connect them$"):
        execute(find("all-reduce", "ring").build(net.ranks), net)


def test_on_rails_that_are_apart_a_lost_leaf_costs_its_rail_only():
    """Its messages cross their box to another rail, and back: that rail's cards carry twice as much."""
    sound, lost = (topology(f"boxes:4x4,rails=4,apart=true{end}") for end in ("", ",without=leaf 2"))
    schedule = find("all-reduce", "hierarchical").build(sound)
    between = [sum(kind.steps * kind.loads[1] for kind in execute(schedule, net).kinds()) for net in (sound, lost)]
    assert between == [Fraction(6, 16), Fraction(12, 16)]
    execute(channels.all_reduce(lost, turn="alternate"), lost)


def test_a_torus_without_a_cable_goes_round_the_other_way():
    """By hand, a ring of 4 without 0-1: what went over the cable takes three hops backwards."""
    intact, rest = (topology(f"ring:4{end}") for end in ("", ",without=0-1"))
    assert walk(rest, 0, 1) == [0, 3, 2, 1]
    costs = [execute(lattice.dim_ring(intact.lattice), net).cost for net in (intact, rest)]
    assert [(cost.n_alpha, cost.n_beta) for cost in costs] == [(6, Fraction(3, 2)), (18, Fraction(3, 2))]
    assert not find("all-reduce", "dim-ring").costs_its_closed_form(rest)
    assert bisection(rest).bandwidth == bisection(intact).bandwidth / 2


@pytest.mark.parametrize(
    ("expression", "complaint"),
    [
        ("boxes:2x4,without=card 8", "boxes:2x4 has 8 of them, counted from 0"),
        ("boxes:2x8,cards=2,without=card 4", "has 4 of them"),
        ("ring:4,without=card 0", "ring:4 has 0 of them"),
        ("ring:4,without=0-2", "ring:4 has no cable there"),
        ("ring:4,without=0", "must be such as card 3, leaf 1, 0-1 or 3-s0"),
        ("ring:4,without=", "must be such as"),
        ("ring:4,without=0-1-2", "must be such as"),
        ("ring:4,without=0-9", "ring:4 has no node 9"),
        ("ring:4,without=0-s0", "ring:4 has no node s0"),
        ("boxes:2x4,without=card x", "must be a whole number"),
        ("p5:2,without=card 0", "schedules take all cards of a GPU as one: see colllib predict"),
        ("p5en:2,without=card 31", "schedules take all cards of a GPU as one: see colllib predict"),
    ],
)
def test_what_is_not_there_cannot_fail(expression, complaint):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refusal:
        topology(expression)
    assert complaint in str(refusal.value)


@pytest.mark.parametrize("lost", [1, 3, 6])
def test_cards_that_fail_together_are_counted_before_any_has_failed(lost):
    """What leaves the first box has to fit on the cards that it has left, and the other boxes keep all of theirs."""
    intact = boxes((8, 8))
    rest = topology(",".join(["boxes:8x8", *(f"without=card {card}" for card in range(lost))]))
    gone = set(zip(intact.link_src, intact.link_dst, strict=True)) - set(zip(rest.link_src, rest.link_dst, strict=True))
    assert {min(ends) for ends in gone} == set(range(lost))
    busiest = max(execute(channels.all_reduce(rest), rest).link_total)
    assert busiest >= Fraction(2 * 63, 64) / (8 - lost)


def test_what_goes_round_a_lost_card_makes_no_link_for_each_pair_of_boxes():
    """The detour passes another rank, as routes without a switch do; only links would serve all partners at once."""
    intact, lost = (topology(f"boxes:4x4,rails=1{failed}") for failed in ("", ",without=card 0"))
    for order in hierarchical.ORDERS:
        assert "direct" not in hierarchical.choices(lost, 1, "all-gather", order)
    price = {"message": 64e3, "alpha": [1e-6, 5e-6], "bandwidth": [100e9, 50e9]}
    fastest = [ladder("all-gather", on, **price)[0].seconds for on in (intact, lost)]
    assert fastest[0] < fastest[1]


@pytest.mark.parametrize(("failed", "meshed"), [("", True), (",without=0-3", False), (",without=card 0", True)])
def test_in_boxes_of_direct_links_a_lost_link_leaves_no_link_for_each_pair(failed, meshed):
    on = topology(f"boxes:2x4,inside=full-mesh{failed}")
    assert ("direct" in hierarchical.choices(on, 0, "all-gather", "inner-first")) == meshed
    assert "direct" not in hierarchical.choices(on, 1, "all-gather", "inner-first")


@pytest.mark.parametrize(
    "on", ["boxes:3x2,rails=2,apart=true,inc=box,without=s2-5", "boxes:2x2,rails=1,inc=both,without=0-s0,without=2-s1"]
)
def test_boxes_that_take_detours_through_one_switch_leave_a_ladder_its_other_rows(on):
    rungs, left_out = field_of(
        "all-reduce",
        topology(on),
        message=1e6,
        alpha=[1e-6, 5e-6, 5e-6][: topology(on).levels],
        bandwidth=[1e11, 5e10, 5e10][: topology(on).levels],
    )
    assert {"hierarchical", "tree"} <= {rung.algorithm.name for rung in rungs}
    assert f"{on.split(',')[0]}," in left_out["nvls-tree"]
    assert left_out["nvls-tree"].endswith("some boxes would share one")


@pytest.mark.parametrize(
    ("expression", "lost"),
    [
        ("inc-star:4,without=2-s0", "rank 2 is"),
        ("inc-star:4,without=0-s0,without=3-s0", "ranks 0, 3 are"),
        ("star:4,without=1-s0", "rank 1 is"),
        ("inc-switch-tree:12x5,without=s0-s3", "ranks 0, 1, 2, 3 are"),
        ("line:5,without=1-2", "ranks 0, 1 are"),
        ("boxes:2x2,inc=both,without=leaf 1", "ranks 2, 3 are"),
    ],
)
def test_a_ladder_says_in_one_sentence_which_ranks_are_cut_off(expression, lost):
    net = topology(expression)
    price = {"message": 1e6, "alpha": [1e-6, 5e-6][: net.levels], "bandwidth": [1e11, 5e10][: net.levels]}
    for primitive in ("all-reduce", "broadcast", "all-to-all"):
        with pytest.raises(NoRouteError) as refusal:
            ladder(primitive, net, **price)
        assert str(refusal.value) == f"{expression}: {lost} cut off from the others"


def test_two_ranks_that_are_still_joined_have_a_ladder_where_another_one_is_cut_off():
    price = {"message": 1e6, "alpha": 1e-6, "bandwidth": 1e11}
    [row] = ladder("point-to-point", topology("inc-star:4,without=1-s0"), **price)
    assert row.seconds == pytest.approx(1e-6 + 1e6 / 1e11)


@pytest.mark.parametrize(
    ("on", "card", "cards"),
    [("boxes:3x4,ranks=9", 3, [3, 7]), ("boxes:3x4,ranks=9", 8, [0, 4, 8]), ("boxes:3x4,cards=2", 3, [1, 3, 5])],
)
def test_the_card_in_the_same_place_of_each_box_where_there_is_one(on, card, cards):
    fabrics = in_each_box(topology(on), card)
    assert [fabric.name for fabric in fabrics] == [f"{on},without=card {each}" for each in cards]


@pytest.mark.parametrize(
    ("sizes", "more"), [("4x4", False), ("3x3x3", False), ("4x8", False), ("5x5", True), ("8x8", True)]
)
def test_a_failed_cable_costs_dim_ring_bytes_only_on_an_axis_of_five_ranks_or_more(sizes, more):
    dim_ring = find("all-reduce", "dim-ring")
    whole, failed = (Entry(dim_ring, topology(f"torus:{sizes}{lost}")).execution() for lost in ("", ",without=0-1"))
    assert (failed.cost.n_beta > whole.cost.n_beta) is more
