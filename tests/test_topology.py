"""Topologies: links, routes and what a graph library says about them."""

from dataclasses import replace
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colllib.exact import Fractions
from colllib.limits import TooLarge
from colllib.topology import (
    Latency,
    Topology,
    base,
    equal_injection,
    from_links,
    full_mesh,
    ring,
    star,
    switch_tree,
)
from colllib.topology.expression import TOPOLOGIES, Form, find
from colllib.topology.presets import PRESETS
from colllib.topology.star import one_switch


def paths(topology: Topology, src, dst):
    """The nodes along each route, followed link by link."""
    message, link = topology.router(np.asarray(src), np.asarray(dst))
    routes = []
    for i, (a, b) in enumerate(zip(src, dst, strict=True)):
        nodes = [a]
        for used in link[message == i]:
            assert topology.link_src[used] == nodes[-1]
            nodes.append(int(topology.link_dst[used]))
        assert nodes[-1] == b
        routes.append(nodes)
    return routes


@given(st.integers(2, 9), st.sampled_from([star, ring, full_mesh]))
def test_every_route_is_a_shortest_path_over_existing_links(n, build):
    topology = build(n)
    pairs = [(a, b) for a in range(n) for b in range(n) if a != b]
    graph = topology.to_networkx()
    for (a, b), route in zip(pairs, paths(topology, *zip(*pairs, strict=True)), strict=True):
        assert len(route) - 1 == nx.shortest_path_length(graph, a, b)


@pytest.mark.parametrize(("build", "links"), [(star, 14), (ring, 14), (full_mesh, 42)])
def test_seven_ranks_have_the_links_their_topology_owns(build, links):
    topology = build(7)
    assert topology.num_links == links == topology.to_networkx().number_of_edges()


def test_small_rings_do_not_count_a_link_twice():
    assert [ring(n).num_links for n in (1, 2, 3)] == [0, 2, 6]


def test_a_ring_sends_the_antipode_up():
    assert paths(ring(4), [1], [3]) == [[1, 2, 3]]


def test_a_star_has_the_declared_alpha_from_rank_to_rank():
    topology = star(3)
    _, link = topology.router(np.array([0]), np.array([2]))
    assert sum(topology.alpha[int(i)] for i in link) == 1
    assert [topology.link_name(int(i)) for i in link] == ["0 -> s0", "s0 -> 2"]


def test_bonded_ports_multiply_the_bandwidth_and_nothing_else():
    assert set(star(3, ports=4).bandwidth) == {Fraction(4)}
    assert list(star(3, ports=4).alpha) == list(star(3).alpha)
    assert star(3, ports=4).port_model == "4 full-duplex ports per rank"


def test_general_links_are_routed_over_fewest_hops_by_the_lowest_numbered_neighbor():
    square = from_links("square", 4, [(0, 1), (0, 2), (1, 3), (2, 3), (3, 0)])
    assert paths(square, [0, 3], [3, 1]) == [[0, 1, 3], [3, 0, 1]]


@pytest.mark.parametrize("spec", ["star:8", "ring:5", "full-mesh:3"])
def test_a_topology_is_found_by_the_name_it_prints(spec):
    assert find(spec).name == spec


@pytest.mark.parametrize(
    ("build", "complaint"),
    [
        (lambda: find("start:8"), "known are star:N, ring:N, line:N, torus:8x8x8"),
        (lambda: find("star"), "its size is missing, as in star:N"),
        (lambda: find("star:eight"), "as in star:N"),
        (lambda: find("star:0"), "N = 0"),
        (lambda: star(3, ports=0), "ports 0: must be at least 1"),
        (lambda: star(2**21), "2097153 ranks and switches are too many"),  # the switch is one of them
        (lambda: from_links("odd", 2, [(0, 2)]), "leaves the nodes 0..1"),
        (lambda: from_links("odd", 3, [(0, 1, 2), (1, 2, 2)]), "links of odd: must be pairs of nodes; bandwidths go"),
        (lambda: from_links("odd", 2, [0, 1, 1, 0]), "links of odd: must be pairs of nodes"),
        (lambda: from_links("odd", 2, [(0, 1)], alpha=[1, 2]), "2 latencies for 1 links"),
        (
            lambda: from_links("odd", 2, [(0, 1), (1, 0), (0, 1)]),
            "odd has 2 links 0 -> 1: give one of all their bandwidth",
        ),
        (lambda: from_links("odd", 2, [(0, 1)], bandwidth=[0]), "bandwidth 0"),
        (lambda: replace(star(3), tier=star(3).tier[:-1]), "6 latencies and 5 tiers for 6 links"),
        (lambda: replace(star(3), alpha=star(2).alpha), "4 latencies and 6 tiers for 6 links"),
    ],
)
def test_bad_input_is_refused_in_one_line(build, complaint):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refusal:
        build()
    assert complaint in str(refusal.value)


@pytest.mark.parametrize(
    ("ranks", "radix", "uplinks"), [(1, 3, 1), (3, 4, 1), (5, 4, 1), (16, 4, 1), (13, 9, 3), (40, 5, 1)]
)
def test_routes_in_a_tree_of_switches_are_the_shortest(ranks, radix, uplinks):
    """Against breadth-first search over the same links."""
    topology = switch_tree(ranks, radix, uplinks=uplinks)
    links = list(zip(topology.link_src.tolist(), topology.link_dst.tolist(), strict=True))
    other = from_links("same", ranks, links, switches=topology.switches, latency=Latency())
    src, dst = (grid.ravel() for grid in np.meshgrid(range(topology.nodes), range(topology.nodes)))
    assert routes_of(topology, src, dst) == routes_of(other, src, dst)


def test_the_graph_says_which_nodes_are_switches():
    assert [node for node, data in star(3).to_networkx().nodes(data=True) if data["switch"]] == [3]


def test_switches_do_nothing_unless_they_are_said_to():
    plain = star(4)
    bare = Topology(
        **{name: getattr(plain, name) for name in ("name", "ranks", "switches", "link_src", "link_dst")}
        | {name: getattr(plain, name) for name in ("alpha", "tier", "tiers", "router", "port_model")}
    )
    for net in (bare, from_links("given", 2, [(0, 2), (2, 1)], switches=1, latency=Latency())):
        assert (net.combines, net.replicates, net.scatters) == (False, False, False)


def test_messages_of_one_step_may_go_to_ranks_and_to_the_switch():
    assert paths(star(3), [0, 1, 3], [1, 3, 2]) == [[0, 3, 1], [1, 3], [3, 2]]


def test_equal_injection_of_a_single_rank_leaves_it_as_it_is():
    alone = ring(1)
    assert equal_injection(alone) is alone


@pytest.mark.parametrize(
    "expression",
    [
        "star:7",
        "ring:5",
        "torus:3x4",
        "torus:4x3x5",
        "mesh:3x4",
        "line:6",
        "full-mesh:5",
        "switch-tree:9x4",
        "inc-switch-tree:9x4",
        "leaf-spine:3x4x2",
        "fat-tree:4",
        "fat-tree:4,routing=spread",
        "boxes:3x4",
        "boxes:4x6,cards=2,oversubscription=3",
        "kautz:2x5",
        "hypercube:4",
        "line-graph(complete-bipartite:2x2)",
        "product(ring:3,uniring:1x4)",
        "degree(ring:3,2)",
    ],
)
def test_a_network_is_refused_from_its_first_node_or_link_too_many(expression, monkeypatch):
    topology = find(expression)
    monkeypatch.setattr(base, "MOST_NODES", topology.nodes)
    if topology.lattice is None or topology.lattice.wraps:  # of a mesh its torus's links are counted
        monkeypatch.setattr(base, "MOST_LINKS", topology.num_links)
        assert find(expression).num_links == topology.num_links
    monkeypatch.setattr(base, "MOST_LINKS", topology.num_links - 1)
    with pytest.raises(TooLarge, match=r"^[^ ]+: \d+ links are too many"):
        find(expression)
    monkeypatch.setattr(base, "MOST_NODES", topology.nodes - 1)
    with pytest.raises(TooLarge, match=f"{topology.nodes} ranks and switches are too many"):
        find(expression)


def test_only_where_moves_keep_links_apart_by_direction_are_there_classes():
    for shape in ("4", "5x3", "2x4x1"):
        classes = find(f"torus:{shape}").link_class
        links = find(f"torus:{shape}").num_links
        ranks = find(f"torus:{shape}").ranks
        assert np.bincount(classes).tolist() == [ranks] * (links // ranks)
        assert find(f"torus:{shape},tie=balanced").link_class is None
        assert find(f"mesh:{shape}").link_class is None


@pytest.mark.parametrize(
    "expression", ["star:3", "ring:4", "uniring:2x5", "product(uniring:2x3,ring:4)", "boxes:2x4,cards=2", "mi250:2"]
)
def test_a_graph_has_an_edge_for_every_parallel_link_and_all_of_the_bandwidth(expression):
    topology = find(expression)
    cables = [1 if topology.switches else topology.tiers[tier].cables for tier in topology.tier]
    graph = topology.to_networkx()
    assert graph.number_of_nodes() == topology.nodes
    assert graph.number_of_edges() == sum(cables)
    assert graph.is_multigraph() == (max(cables) > 1)
    ends = zip(topology.link_src.tolist(), topology.link_dst.tolist(), topology.bandwidth, topology.alpha, strict=True)
    for (src, dst, bandwidth, alpha), number in zip(ends, cables, strict=True):
        edges = [data for _, to, data in graph.out_edges(src, data=True) if to == dst]
        assert len(edges) == number
        assert sum(data["bandwidth"] for data in edges) == bandwidth
        assert {data["alpha"] for data in edges} == {alpha}


NAMED = [
    "star:5",
    "torus:3x4",
    "mesh:3x4",
    "full-mesh:5",
    "switch-tree:9x4",
    "switch-tree:20x6,uplinks=2",
    "inc-star:4",
]
NAMED += [
    "boxes:2x3x4",
    "boxes:4x8,cards=2,oversubscription=2",
    "leaf-spine:2x4x2",
    "fat-tree:4",
    "mi250:2",
    "uniring:2x5",
]


@pytest.mark.parametrize("expression", [*NAMED, *(f"{preset}:{count}" for preset in PRESETS for count in (1, 2))])
def test_every_tier_that_a_topology_names_has_links(expression):
    topology = find(expression)
    assert set(topology.tier.tolist()) == set(range(len(topology.tiers)))


LATE = Latency(endpoint=Fraction(3, 5), hop=Fraction(1, 10), switch=Fraction(1, 5))


@pytest.mark.parametrize(
    ("ranks", "radix", "uplinks"), [(5, 3, 1), (9, 4, 1), (20, 6, 2), (7, 9, 3), (3, 8, 1), (1, 3, 1)]
)
def test_in_a_tree_of_switches_a_route_pays_by_the_switches_on_it_and_each_link_is_of_its_tier(ranks, radix, uplinks):
    tree = switch_tree(ranks, radix, uplinks=uplinks, latency=LATE)
    alpha = list(tree.alpha)
    src, dst = (ends.ravel() for ends in np.meshgrid(np.arange(ranks), np.arange(ranks)))
    apart = src != dst
    for (a, b), route in zip(
        zip(src[apart], dst[apart], strict=True), routes_of(tree, src[apart], dst[apart]), strict=True
    ):
        nodes = [int(a), *(int(tree.link_dst[link]) for link in route)]
        assert nodes[-1] == b
        between = nodes[1:-1]
        assert all(node >= ranks for node in between)
        paid = LATE.endpoint + (len(between) + 1) * LATE.hop + len(between) * LATE.switch
        assert sum(alpha[link] for link in route) == paid
    for link, (one, other) in enumerate(zip(tree.link_src, tree.link_dst, strict=True)):
        among_switches = min(one, other) >= ranks
        name = "uplink" if among_switches and uplinks > 1 else "port"
        assert tree.tiers[tree.tier[link]].name == name
        assert tree.bandwidth[link] == (uplinks if among_switches else 1)


def routes_of(topology, src, dst):
    """The links of each route, in order."""
    message, link = topology.router(src, dst)
    return [link[message == i].tolist() for i in range(len(src))]


ABILITIES = ("combines", "replicates", "scatters")


@pytest.mark.parametrize("build", [lambda **able: star(4, **able), lambda **able: switch_tree(9, 4, **able)])
def test_switches_that_can_do_anything_are_named_so(build):
    plain = build()
    assert [getattr(plain, ability) for ability in ABILITIES] == [False] * 3
    for chosen in ABILITIES:
        able = build(**{chosen: True})
        lacking = "".join(f",{ability}=false" for ability in ABILITIES if ability != chosen)
        assert able.name == f"inc-{plain.name}{lacking}"
        assert [ability for ability in ABILITIES if getattr(able, ability)] == [chosen]


#: For each option a size at which it changes something, and another value than its default.
OTHERWISE = {
    "torus tie": ("4x4", "balanced"),
    "torus order": ("4x4", "1:0"),
    "mesh order": ("3x4", "1:0"),
    "ring tie": ("4", "balanced"),
    "boxes cards": ("2x4", "2"),
    "boxes oversubscription": ("2x4", "2"),
    "boxes seed": ("2x4", "3"),
    "boxes rails": ("2x4", "2"),
    "boxes apart": ("2x4", "true,rails=2"),
    "boxes inside": ("2x4", "full-mesh"),
    "boxes inc": ("2x4", "box"),
    "boxes ranks": ("2x4", "7"),
    "leaf-spine uplink": ("2x4x2", "2"),
    "fat-tree oversubscription": ("4", "1:2"),
    "mi250 dies": ("1", "8"),
}
OTHERS = {"ports": "2", "uplinks": "2", "endpoint": "1,switch=0", "hop": "1/4,switch=0", "switch": "0,endpoint=1"}
OTHERS |= {"seed": "5,routing=hash", "routing": "spread"}
SIZES = {1: "4", 2: "9x6", 3: "2x4x2"}


def options_of_all_forms():
    for form, named in TOPOLOGIES.items():
        for option, default in named.options.items():
            flipped = "false" if default == "true" else "true"
            size, value = OTHERWISE.get(f"{form} {option}", (SIZES[named.sizes or 2], OTHERS.get(option, flipped)))
            yield pytest.param(form, size, f"{option}={value}", id=f"{form} {option}")


@pytest.mark.parametrize(("form", "size", "option"), list(options_of_all_forms()))
def test_the_name_of_a_topology_says_every_option_and_names_it_again(form, size, option):
    usual, other = find(f"{form}:{size}"), find(f"{form}:{size},{option}")
    again = find(other.name)
    assert usual.name != other.name == again.name
    for column in ("link_src", "link_dst", "tier"):
        assert np.array_equal(getattr(again, column), getattr(other, column))
    assert again.tiers == other.tiers
    assert list(again.alpha) == list(other.alpha)
    assert [getattr(again, ability) for ability in ABILITIES] == [getattr(other, ability) for ability in ABILITIES]


def test_a_new_option_is_read_by_its_type(monkeypatch):
    def planes(ranks: int, planes: int = 1, wide: Fraction = Fraction(1)):
        return from_links(f"{planes} {wide}", ranks, [])

    monkeypatch.setitem(TOPOLOGIES, "planes", Form(planes, 1, "planes:N"))
    assert find("planes:2,planes=3,wide=3/2").name == "3 3/2"
    with pytest.raises(ValueError, match="option planes of planes '3/2': must be a whole number"):
        find("planes:2,planes=3/2")


def test_a_star_says_how_many_ports_a_rank_has():
    assert (star(4).name, star(4).port_model) == ("star:4", "one full-duplex port per rank")
    two = star(4, ports=2)
    assert (two.name, two.port_model) == ("star:4,ports=2", "2 full-duplex ports per rank")
    assert {tier.bandwidth for tier in two.tiers} == {2}


@pytest.mark.parametrize("ports", [0, -1, 1.5])
def test_ports_that_cannot_be_are_refused(ports):
    with pytest.raises(ValueError, match=f"^ports {ports}: must be"):
        star(4, ports)


def test_routes_in_a_star_lead_to_and_from_its_switch_too():
    for pairs in ([(0, 3), (3, 1)], [(3, 1)], [(0, 3)], [(0, 1), (3, 2), (2, 0)], [(0, 1), (1, 3)]):
        assert paths(star(3), *zip(*pairs, strict=True)) == [[a, b] if 3 in (a, b) else [a, 3, b] for a, b in pairs]


@pytest.mark.parametrize(("radix", "uplinks"), [(4.5, 1), (8, 1.5), (2, 1), (8, 0)])
def test_a_radix_that_leaves_no_tree_is_refused(radix, uplinks):
    with pytest.raises(ValueError, match="must have room for two others below it"):
        switch_tree(16, radix, uplinks=uplinks)


@pytest.mark.parametrize(
    ("ranks", "radix", "uplinks"), [(9, 4, 1), (20, 6, 2), (16, 6, 1), (27, 9, 3), (40, 5, 1), (6, 6, 2)]
)
def test_a_switch_of_a_tree_has_no_more_ports_than_its_radix_and_one_fewer_would_not_do(ranks, radix, uplinks):
    tree = switch_tree(ranks, radix, uplinks=uplinks)
    ports = np.zeros(tree.nodes, dtype=int)
    for one, other in zip(tree.link_src, tree.link_dst, strict=True):
        ports[one] += 1 if min(one, other) < ranks else uplinks
    assert ports[:ranks].tolist() == [1] * ranks
    assert ports[ranks:].max() <= radix
    leaves = {int(dst) for src, dst in zip(tree.link_src, tree.link_dst, strict=True) if src < ranks}
    assert len(leaves) == (1 if ranks <= radix else -(-ranks // (radix - uplinks)))


@pytest.mark.parametrize(("radix", "uplinks"), [(2, 1), (5, 2), (4, 0)])
def test_a_tree_whose_switches_have_no_room_for_two_others_is_refused(radix, uplinks):
    with pytest.raises(ValueError, match=f"radix {radix} with {uplinks} uplinks: a switch must have room for two"):
        switch_tree(9, radix, uplinks=uplinks)


@pytest.mark.parametrize("link", [0, 2, 5])
def test_one_link_that_cannot_be_is_found_among_others(link):
    good = star(3)
    for wrong in (-1, 1):
        tier = good.tier.copy()
        tier[link] = wrong
        with pytest.raises(ValueError, match=r"^star:3: a latency of a link is negative, or its tier not in 0\.\.0$"):
            replace(good, tier=tier)
    latencies = [Fraction(1, 2)] * 6
    latencies[link] = Fraction(-1, 2)
    with pytest.raises(ValueError, match=r"^star:3: a latency of a link is negative"):
        replace(good, alpha=Fractions.of(latencies))


def test_a_link_to_half_a_node_is_refused_and_not_cut_to_a_whole_one():
    with pytest.raises(ValueError, match=r"^node of a link of half 1\.5: must be a whole number$"):
        from_links("half", 3, [(0, 1.5), (1, 2)])
    assert from_links("none", 1, []).num_links == 0


def test_a_rank_alone_has_a_graph_without_parallel_links():
    for alone in (from_links("alone", 1, []), replace(ring(1), tiers=())):
        assert not alone.to_networkx().is_multigraph()
        assert alone.levels == 1


@pytest.mark.parametrize(
    ("links", "alpha"),
    [
        ([(0, 2), (1, 2), (2, 0), (2, 1)], [Fraction(1, 2), Fraction(1, 3), Fraction(1, 2), Fraction(1, 2)]),
        ([(0, 2), (2, 0), (2, 1)], [Fraction(1, 2)] * 3),
    ],
    ids=["ports of two latencies", "a rank without a port up"],
)
def test_one_switch_is_that_of_a_star_only_if_all_ports_are_alike(links, alpha):
    assert one_switch(from_links("almost a star", 2, links, switches=1, alpha=alpha)) is None
