"""Boxes, fat-trees and leaf-spines: every port counted, routes by arithmetic as by search."""

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colllib.algorithms import allreduce, pointtopoint
from colllib.execution import execute
from colllib.topology import NoRouteError, boxes, fat_tree, leaf_spine, torus
from colllib.topology.expression import find
from colllib.topology.routes import flow_hash


def walks(topology, src, dst):
    """The nodes that each message visits, in the order in which its router names the links."""
    message, link = topology.router(np.array(src), np.array(dst))
    visited = [[start] for start in src]
    for nodes, used in zip([visited[one] for one in message], link, strict=True):
        assert topology.link_src[used] == nodes[-1]
        nodes.append(int(topology.link_dst[used]))
    assert [nodes[-1] for nodes in visited] == list(dst)
    return visited


def walk(topology, src, dst):
    """The nodes that a message alone visits."""
    return walks(topology, [src], [dst])[0]


small = st.lists(st.integers(1, 4), min_size=2, max_size=3).filter(lambda sizes: len(sizes) < 3 or max(sizes) < 4)


@st.composite
def any_boxes(draw):
    """Boxes with cards or rails, one switch in each or links, whole or with a last one that is not full."""
    sizes = draw(small)
    shared = [c for c in range(1, sizes[-1] + 1) if sizes[-1] % c == 0]
    options = {"inside": draw(st.sampled_from(["switch", "full-mesh"])), "seed": draw(st.none() | st.integers(0, 3))}
    if draw(st.booleans()):
        options |= {"rails": draw(st.sampled_from(shared)), "apart": draw(st.booleans())}
    else:
        options["cards"] = draw(st.sampled_from(shared))
    ranks = int(np.prod(sizes)) - draw(st.integers(0, sizes[-1] - 1))
    return boxes(sizes, ranks=ranks, **options)


def on_apart_rails(net, src, dst):
    rails = int(net.name.partition("rails=")[2].partition(",")[0] or 1)
    return "apart" in net.name and src // net.in_box != dst // net.in_box and (src - dst) % rails


@given(any_boxes())
def test_routes_are_walks_and_as_short_as_can_be_through_switches(net):
    graph = nx.MultiDiGraph(list(zip(net.link_src.tolist(), net.link_dst.tolist(), strict=True)))
    graph.add_nodes_from(range(net.nodes))
    switches = list(range(net.ranks, net.nodes))
    for src in range(net.ranks):
        for dst in range(net.ranks):
            if src == dst:
                continue
            through = graph.subgraph([*switches, src, dst])
            if on_apart_rails(net, src, dst):
                assert not nx.has_path(through, src, dst)
                with pytest.raises(NoRouteError, match=f"from rank {src} to rank {dst}: their cards are on two rails"):
                    net.router(np.array([src]), np.array([dst]))
            else:
                assert len(walk(net, src, dst)) - 1 == nx.shortest_path_length(through, src, dst)


def test_each_rail_has_leaves_of_its_own():
    """By hand, 2 groups of 2 boxes of 4 on 2 rails: a leaf holds two boxes' two cards of its rail."""
    net = boxes((2, 2, 4), rails=2, apart=True)
    leaf = {rank: walk(net, rank, (rank + 4) % 8 + rank // 8 * 8)[1] for rank in range(16)}
    below = {node: sorted(rank for rank in leaf if leaf[rank] == node) for node in set(leaf.values())}
    assert sorted(below.values()) == [[0, 2, 4, 6], [1, 3, 5, 7], [8, 10, 12, 14], [9, 11, 13, 15]]
    assert [tier.bandwidth for tier in net.tiers] == [1, 1, 4]
    assert (net.levels, boxes((2, 2, 4), rails=2).levels) == (3, 4)
    assert len(walk(boxes((2, 2, 4), rails=2), 0, 5)) == 7


def test_only_the_switches_that_may_add_do():
    for inc, able in (("none", []), ("box", [0, 1]), ("network", [2, 3, 4]), ("both", [0, 1, 2, 3, 4])):
        for ability in ("combines", "replicates", "scatters"):
            assert np.flatnonzero(boxes((2, 4), inc=inc).able(ability, np.arange(5))).tolist() == able


@given(sizes=small, data=st.data())
def test_every_port_is_accounted_for(sizes, data):
    inner, count = sizes[-1], int(np.prod(sizes[:-1]))
    cards = data.draw(st.sampled_from([c for c in range(1, inner + 1) if inner % c == 0]))
    narrow = data.draw(st.sampled_from([1, 2, Fraction(8, 3)]))
    net = boxes(sizes, cards=cards, oversubscription=narrow)
    leaf = net.nodes - 1 - sum(int(np.prod(sizes[:k])) for k in range(1, len(sizes) - 1)) - count
    for box in range(count):
        # what enters a box's leaf from below is its cards, and what leaves upwards that over the oversubscription
        into = [
            k for k in range(net.num_links) if net.link_dst[k] == leaf + box and net.tiers[net.tier[k]].name == "card"
        ]
        up = [
            k for k in range(net.num_links) if net.link_src[k] == leaf + box and net.tiers[net.tier[k]].name == "uplink"
        ]
        assert sum(net.bandwidth[k] for k in into) == cards
        assert sum(net.bandwidth[k] for k in up) == cards / Fraction(narrow)
    assert Fraction(int((net.link_src < net.ranks).sum())) == 2 * net.ranks  # a port in the box and one to a card


def test_a_route_pays_its_outermost_level_only():
    net = boxes((2, 2, 2))
    for dst, level in ((1, 0), (2, 1), (4, 2)):
        message, link = net.router(np.array([0]), np.array([dst]))
        levels, part = net.latencies(message, link, 1)
        assert (int(levels[0]), Fraction(int(part[0]), net.alpha.denominator)) == (level, 1)


def test_a_switch_in_a_box_reaches_its_own_ranks_only():
    net = boxes((2, 2))
    assert walk(net, 0, 4) == [0, 4]
    assert walk(net, 5, 3) == [5, 3]
    for src, dst in ((0, 5), (4, 2), (4, 5), (4, 6), (6, 5)):
        with pytest.raises(NoRouteError, match=f"from node {src} to node {dst}"):
            net.router(np.array([src]), np.array([dst]))
    # through the cards' leaves and the switch above them, up and down
    assert walk(net, 0, 8) == [0, 6, 8]
    assert walk(net, 8, 3) == [8, 7, 3]
    assert walk(net, 6, 2) == [6, 8, 7, 2]


def test_a_leaf_above_boxes_without_switches_is_reached_from_every_rank():
    """By hand, 2 boxes of 3: leaves 6 and 7, and switch 8 above them."""
    net = boxes((2, 3), inside="full-mesh")
    assert [walk(net, rank, 6) for rank in (0, 2, 5)] == [[0, 6], [2, 6], [5, 7, 8, 6]]
    assert [walk(net, 6, rank) for rank in (0, 2, 5)] == [[6, 0], [6, 2], [6, 8, 7, 5]]


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(1, 3), st.sampled_from([None, 1]))
def test_routes_within_a_box_are_those_of_the_torus_in_it_and_others_take_cards(dims, count, cards):
    alone = torus(dims)
    net = boxes((count, alone.ranks), inside=alone.name, cards=cards)
    switched = boxes((count, alone.ranks), cards=cards)  # of more switches, in boxes
    first = alone.ranks * (count - 1)
    src, dst = np.divmod(np.arange(alone.ranks**2), alone.ranks)
    last = first + dst
    assert [[node - first for node in nodes] for nodes in walks(net, first + src, last)] == walks(alone, src, dst)
    if count > 1:
        through_switches = walks(switched, src, last)
        assert walks(net, src, last) == [
            [n if n < net.ranks else n - count for n in nodes] for nodes in through_switches
        ]


def test_hashing_takes_whole_cables_and_keeps_a_flow_on_its_cable():
    net = boxes((2, 4), seed=1)
    assert [tier.cables for tier in net.tiers] == [1, 1, 1]
    uplinks = [k for k in range(net.num_links) if net.tiers[net.tier[k]].name == "uplink"]
    assert len(uplinks) == 2 * 2 * 4
    route = net.router(np.arange(4), np.arange(4, 8))[1]
    assert np.array_equal(route, net.router(np.arange(4), np.arange(4, 8))[1])
    assert not np.array_equal(route, boxes((2, 4), seed=2).router(np.arange(4), np.arange(4, 8))[1])
    with pytest.raises(ValueError, match="8/3 BW wide, no whole number of cables"):
        boxes((2, 8), oversubscription=3, seed=1)
    assert boxes((2, 8), cards=1, oversubscription=3, seed=1).tiers[2].bandwidth == Fraction(1, 3)


@pytest.mark.parametrize("seed", [-1, 2**64 - 1, 1.5])
def test_a_seed_that_starts_no_hash_is_refused_with_its_value(seed):
    for build in (lambda: boxes((2, 4), seed=seed), lambda: leaf_spine(2, 2, 2, seed=seed)):
        with pytest.raises(ValueError, match=rf"^seed = {seed}: must be a whole number of at least 0"):
            build()
    assert len(set(flow_hash(np.arange(4), np.arange(4, 8), 2**64 - 2).tolist())) == 4  # the last that does


@pytest.mark.parametrize("ends", [(0, 16), (16, 0), (35, 15), (15, 35)])
def test_no_route_starts_or_ends_at_a_switch_of_a_fat_tree(ends):
    """The first and the last of its 20 switches, behind 16 hosts."""
    with pytest.raises(NoRouteError, match="only forward"):
        fat_tree(4).router(*np.array(ends)[:, None])


@pytest.mark.parametrize("radix", [2, 4, 6, 8])
@pytest.mark.parametrize("routing", ["fixed", "hash", "spread"])
def test_a_fat_tree_has_the_hosts_switches_and_links_of_its_source(radix, routing):
    half = radix // 2
    net = fat_tree(radix, routing=routing)
    assert net.ranks == radix**3 // 4
    if routing != "spread":
        assert net.switches == 5 * radix**2 // 4
        degree = np.bincount(net.link_src, minlength=net.nodes)
        assert (degree[net.ranks :] == radix).all()
    for dst in range(1, net.ranks):
        hops = 2 if dst < half else 4 if dst < half * half else 6
        assert len(walk(net, 0, dst)) - 1 == hops


def test_fixed_routes_of_a_fat_tree_serve_every_shift_at_full_bandwidth():
    """As in the source: a host's digits choose the switches, so hosts of one edge switch climb over different ones."""
    net = fat_tree(8)
    rank = np.arange(net.ranks)
    for shift in (1, 3, 4, 16, 17, 64):
        load = np.bincount(net.router(rank, (rank + shift) % net.ranks)[1], minlength=net.num_links)
        assert load.max() == 1
    hashed = fat_tree(8, routing="hash", seed=1)
    assert np.bincount(hashed.router(rank, (rank + 64) % net.ranks)[1]).max() >= 3
    spread = fat_tree(8, routing="spread")
    load = np.bincount(spread.router(rank, (rank + 64) % net.ranks)[1], minlength=spread.num_links)
    assert max(Fraction(int(n)) / speed for n, speed in zip(load, spread.bandwidth, strict=True)) == 1


@pytest.mark.parametrize("routing", ["fixed", "spread"])
def test_an_oversubscribed_fat_tree_is_as_many_times_slower_where_traffic_climbs(routing):
    """Whole edge switches of four hosts send to the next edge switch of their pod, or to the next pod, of sixteen."""
    rank = np.arange(128)
    in_pod, to_pod = rank ^ 4, (rank + 16) % 128
    times_slower = {1: (1, 1), 2: (2, 2), (2, 4): (2, 4), (1, 4): (1, 4)}
    if routing == "spread":
        times_slower |= {3: (3, 3), (1, Fraction(5, 2)): (1, Fraction(5, 2)), (4, 1): (4, 4)}
    for narrow, (near, far) in times_slower.items():
        net = fat_tree(8, oversubscription=narrow, routing=routing)
        for dst, times in ((in_pod, near), (to_pod, far), (rank ^ 1, 1)):
            load = np.bincount(net.router(rank, dst)[1], minlength=net.num_links)
            assert max(Fraction(int(n)) / speed for n, speed in zip(load, net.bandwidth, strict=True)) == times


@pytest.mark.parametrize("routing", ["fixed", "hash", "spread"])
def test_a_message_alone_loses_nothing_to_oversubscription_and_neither_does_a_ring(routing):
    """One flow leaves each edge switch, over a link as fast as its port."""
    for on in (fat_tree(8, oversubscription=4, routing=routing), leaf_spine(32, 4, 1, routing=routing)):
        assert execute(pointtopoint.direct(on.ranks, source=0, target=100), on).cost.n_beta == 1
        assert execute(allreduce.ring(on.ranks), on).cost.n_beta == Fraction(2 * 127, 128)


def test_thousands_of_ranks_build_at_once():
    assert boxes((512, 8)).ranks == 4096
    assert fat_tree(48).num_links == 6 * 27648
    assert leaf_spine(64, 64, 64).ranks == 4096


@pytest.mark.parametrize(
    ("expression", "complaint"),
    [
        ("boxes:8", "give the number of boxes and the ranks of one"),
        ("boxes:8x0", "a size of 0"),
        ("boxes:2x8,cards=3", "cards = 3: must divide the 8 ranks"),
        ("boxes:2x8,rails=3", "rails = 3: must divide the 8 ranks"),
        (
            "boxes:2x8,rails=2,cards=4",
            "rails = 2 with cards = 4 of 8 ranks: boxes on rails must have a card",
        ),
        ("boxes:2x8,apart=true", "only rails can be apart"),
        ("boxes:2x8,inside=ring", "inside 'ring': must be switch, full-mesh or a torus, such as torus:4x4x4"),
        ("boxes:2x8,inside=torus:4x4", "inside 'torus:4x4': its sizes must come to the 8 ranks of a box"),
        ("boxes:2x8,inside=torus:4xb", "'b': must be a whole number of at most 18 digits, as in torus:4x4x4"),
        ("boxes:2x8,inside=torus", "'': must be a whole number"),
        ("boxes:2x8,inside=torus:0x8", "its sizes must come to the 8 ranks"),
        ("boxes:2x8,inside=torus:8,ranks=12", "ranks = 12: a box with torus:8 in it has all of them"),
        ("boxes:2x8,inside=torus:8,inc=box", "boxes of direct links have no switch"),
        ("boxes:2x8,inc=leaf", "inc 'leaf': must be one of none, box, network, both"),
        ("boxes:2x8,inc=box,inside=full-mesh", "boxes of direct links have no switch"),
        ("boxes:2x8,ranks=8", "2 boxes of 8, of which only the last may have fewer, hold 9 to 16"),
        ("boxes:2x8,ranks=17", "hold 9 to 16"),
        ("boxes:2x8,oversubscription=1/2", "oversubscription 1/2: must be at least 1"),
        ("boxes:2x8,rails=1,oversubscription=2", "oversubscription 2: no leaf has links up"),
        ("boxes:2x8,rails=4,apart=true,oversubscription=3/2", "oversubscription 3/2: no leaf has links up"),
        ("boxes:2x8,oversubscription=2:2", "2 oversubscriptions for 1 tiers"),
        ("boxes:2x2,cards=1,rails=2,cards=2", r"topology 'boxes:2x2,cards=1,rails=2,cards=2': cards is given 2 times"),
        ("boxes:2x8,uplink=3", "boxes takes no option 'uplink'; its options and their defaults: cards (none)"),
        ("boxes:2x8,cards=two", "'two': must be a whole number of at most 18 digits, as in cards=2"),
        ("boxes:2x8,oversubscription=1e99", "must be a number or a fraction"),
        ("fat-tree:5", "must be an even whole number"),
        ("fat-tree:4,routing=ecmp", "routing 'ecmp': must be one of hash, fixed, spread"),
        ("fat-tree:4,oversubscription=1/2", "oversubscription 1/2: must be at least 1"),
        ("fat-tree:4,oversubscription=1:2:3", "3 oversubscriptions for 2 tiers of uplinks: give one for each"),
        (
            "fat-tree:8,oversubscription=3",
            "3: 4/3 links lead up from an edge switch, and routing",
        ),
        ("fat-tree:8,oversubscription=4:1,routing=hash", "16 links lead up from an aggregation switch"),
        ("leaf-spine:8x8", "3 whole numbers are needed, as in leaf-spine:8x8x4"),
        ("star:٤", "must be a whole number of at most 18 digits, as in star:N"),
        ("star:1_0", "must be a whole number"),
        ("star:" + "9" * 5000, "must be a whole number"),
        ("torus:4x4,tie=left", "tie 'left'"),
        ("", "unknown topology ''"),
    ],
)
def test_expressions_that_cannot_be_are_refused_in_one_short_line(expression, complaint):
    with pytest.raises(ValueError, match=r"^[^\n]{1,400}$") as refusal:
        find(expression)
    assert complaint in str(refusal.value)


@pytest.mark.parametrize(
    "expression",
    [
        "boxes:4x4x8,cards=2,oversubscription=2:4",
        "boxes:2x8,oversubscription=8/3",
        "boxes:2x4,seed=3",
        "boxes:2x3x8,cards=2,inside=torus:4x2",
        "leaf-spine:4x4x2,uplink=2,routing=fixed",
        "leaf-spine:4x4x2,seed=5",
        "fat-tree:4,routing=hash,seed=2",
        "fat-tree:4",
        "fat-tree:4,oversubscription=3,routing=spread",
        "fat-tree:4,oversubscription=1:2,routing=hash,seed=2",
    ],
)
def test_a_name_is_the_expression_that_makes_it(expression):
    assert find(expression).name == expression
    assert find(find(expression).name).num_links == find(expression).num_links


def test_options_reach_the_builders():
    assert find("star:4,ports=3").bandwidth[0] == 3
    assert find("star:4,endpoint=4/5,switch=1/5").alpha[0] == Fraction(4, 5)
    assert find("torus:4x4,order=1:0,tie=balanced").ranks == 16
    assert find("switch-tree:9x9,uplinks=3").tiers[-1].bandwidth == 3
