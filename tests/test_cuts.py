"""Links, wires, hops and bisections, against networkx and against every half tried with plain sets."""

from fractions import Fraction
from itertools import combinations

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colllib.algorithms.relay import link_loads
from colllib.bounds import cut, middle_cut
from colllib.topology import (
    Lattice,
    cuts,
    equal_injection,
    from_links,
    full_mesh,
    line,
    mesh,
    one_port,
    ring,
    star,
    switch_tree,
    torus,
    twisted_torus,
)
from colllib.topology.cuts import (
    bisection,
    cut_bandwidth,
    diameter,
    floor_by_hops,
    lattice_bisection,
    links_per_rank,
    sweep_bisection,
    wires,
)
from colllib.topology.expression import find
from colllib.topology.failures import without

SMALL = [
    ring(3), ring(6), ring(9), line(2), line(7), torus((3, 2)), torus((3, 3)), torus((5, 2)), mesh((3, 3)),
    mesh((4, 2)), torus((2, 2, 2)), full_mesh(5), full_mesh(8), twisted_torus(2), torus((4, 3)), mesh((5, 2)),
]  # fmt: skip


def narrowest(topology):
    """Every half, link by link, both ways."""
    links = list(zip(topology.link_src.tolist(), topology.link_dst.tolist(), topology.bandwidth, strict=True))
    ranks = range(topology.ranks)
    return min(
        sum((speed for a, b, speed in links if a in half and b not in half), Fraction(0))
        for size in {topology.ranks // 2, topology.ranks - topology.ranks // 2}
        for half in map(set, combinations(ranks, size))
    )


@pytest.mark.parametrize("topology", SMALL, ids=lambda t: t.name)
def test_the_narrowest_of_all_halves_is_found(topology):
    cut = bisection(topology)
    assert cut.bandwidth == narrowest(topology) == cut_bandwidth(topology, cut.half)
    assert cut.exact
    assert len(cut.half) == topology.ranks // 2


@pytest.mark.parametrize("topology", SMALL, ids=lambda t: t.name)
def test_the_search_for_large_topologies_never_contradicts_the_trial_of_all_halves(topology, monkeypatch):
    least = bisection(topology).bandwidth
    monkeypatch.setattr(cuts, "MOST_RANKS", 0)
    monkeypatch.setattr(cuts, "MOST_RANKS_BEHIND_SWITCHES", 0)
    monkeypatch.setattr(cuts, "MOST_ENTRIES", 0)
    searched = bisection(topology)
    assert searched.at_least <= least <= searched.bandwidth
    assert searched.bandwidth == cut_bandwidth(topology, searched.half)


@pytest.mark.parametrize("topology", SMALL, ids=lambda t: t.name)
def test_a_sweep_finds_the_narrowest_of_all_halves(topology):
    assert sweep_bisection(topology) == narrowest(topology)


@st.composite
def wirings(draw):
    """Up to 7 ranks, joined at random by one-way links of different speeds."""
    ranks = draw(st.integers(2, 7))
    ends = st.tuples(st.integers(0, ranks - 1), st.integers(0, ranks - 1)).filter(lambda pair: pair[0] != pair[1])
    links = draw(st.lists(ends, min_size=1, max_size=20, unique=True))
    speeds = draw(st.lists(st.fractions(1, 3, max_denominator=4), min_size=len(links), max_size=len(links)))
    return from_links("at random", ranks, links, bandwidth=speeds)


@given(wirings())
@settings(max_examples=60, deadline=None)
def test_all_ways_to_the_bisection_agree_on_any_wiring(topology):
    least = narrowest(topology)
    assert sweep_bisection(topology) == least
    cut = bisection(topology)
    assert (cut.bandwidth, cut.exact) == (least, True)
    assert min(cut_bandwidth(topology, side) for side in (cut.half, _others(topology, cut.half))) == least


def _others(topology, half):
    return tuple(rank for rank in range(topology.ranks) if rank not in half)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.booleans())
@settings(max_examples=40, deadline=None)
def test_links_wires_and_hops_of_any_lattice_are_the_closed_forms(dims, wraps):
    topology = (torus if wraps else mesh)(dims)
    if topology.ranks > 1:
        assert diameter(topology) == sum(d // 2 if wraps else d - 1 for d in dims)
    lines = [topology.ranks // d for d in dims]
    assert wires(topology) == sum(n * (d if wraps and d > 2 else d - 1) for n, d in zip(lines, dims, strict=True))
    assert sum(links_per_rank(topology)) == 2 * wires(topology)
    if wraps:
        assert set(links_per_rank(topology)) == {sum(min(d - 1, 2) for d in dims)}


@pytest.mark.parametrize("dims", [(5, 5), (7, 5), (7, 7), (6, 5), (9, 4), (9, 7), (21,), (5, 5, 1)])
def test_the_theorem_agrees_with_a_sweep_where_there_are_too_many_halves_to_try(dims):
    assert sweep_bisection(torus(dims)) == lattice_bisection(Lattice(dims))
    assert sweep_bisection(mesh(dims)) == lattice_bisection(Lattice(dims, wraps=False))


def test_a_cut_as_narrow_as_the_sweep_proves_is_found_where_ranks_in_a_row_have_a_wider_one():
    ring = find("circulant:24x3x4")
    cut = bisection(ring)
    assert cut.exact
    assert cut_bandwidth(ring, cut.half) == cut.bandwidth < cut_bandwidth(ring, range(12))


def test_a_sweep_gives_up_where_its_table_would_be_too_large():
    assert sweep_bisection(torus((8, 8, 8))) is None
    assert sweep_bisection(star(8)) is None


@given(st.lists(st.integers(3, 6), min_size=1, max_size=3).filter(lambda d: 3 < Lattice(tuple(d)).ranks <= 20))
@settings(max_examples=20, deadline=None)
def test_the_theorem_on_tori_agrees_with_the_trial_of_all_halves(dims):
    assert bisection(torus(dims)).bandwidth == lattice_bisection(Lattice(tuple(dims)))


@given(st.lists(st.integers(1, 6), min_size=1, max_size=3).filter(lambda d: 2 < Lattice(tuple(d)).ranks <= 20))
@settings(max_examples=30, deadline=None)
def test_the_theorem_on_meshes_agrees_with_the_trial_of_all_halves(dims):
    assert bisection(mesh(dims)).bandwidth == lattice_bisection(Lattice(tuple(dims), wraps=False))


@pytest.mark.parametrize("dims", [(512,), (32, 16), (8, 8, 8), (16, 8, 4), (8, 4, 4, 4), (2,) * 9])
def test_cut_and_bound_meet_at_512_ranks(dims):
    closed, opened = bisection(torus(dims)), bisection(mesh(dims))
    longest = max(dims)
    assert closed.exact
    assert opened.exact
    assert closed.bandwidth == (2 * 512 // longest if longest > 2 else 256)
    assert opened.bandwidth == 512 // longest


def test_an_odd_lattice_is_settled_by_a_sweep_or_the_theorem_and_says_so():
    for dims, proof in (((5, 5), "a sweep"), ((3, 3, 3), "a theorem")):
        cut = bisection(torus(dims))
        assert (cut.bandwidth, cut.exact, cut.proof) == (lattice_bisection(Lattice(dims)), True, proof)
    with pytest.raises(ValueError, match="axes of at least 3"):
        lattice_bisection(Lattice((4, 2)))


def test_what_is_not_proved_is_not_called_exact():
    cut = bisection(twisted_torus(5))
    assert cut.at_least < cut.bandwidth == 20
    assert not cut.exact


def test_a_twist_doubles_the_cut():
    """Every half up to 18 ranks, a sweep for 32: the picture at the head of the chapter."""
    for k in (2, 3, 4):
        cut = bisection(twisted_torus(k))
        assert cut.exact
        assert cut.bandwidth == 4 * k
        assert wires(twisted_torus(k)) == wires(torus((2 * k, k))) or k == 2
    assert bisection(torus((8, 4))).bandwidth == 8


def test_a_switch_takes_the_side_that_suits_the_traffic():
    for n in (2, 3, 7, 8, 30):
        assert bisection(star(n)).bandwidth == n // 2  # the smaller half's links
    assert {bisection(star(n)).proof for n in (5, 64)} == {"all halves are alike"}
    assert bisection(star(8, ports=3)).bandwidth == 12
    assert bisection(switch_tree(8, 4)).bandwidth == narrowest_through_switches(switch_tree(8, 4))
    assert bisection(one_port(ring(6))).bandwidth == 2


def test_halves_of_a_star_are_not_alike_where_ranks_have_lost_their_cables():
    cut = bisection(without(star(8), "0-s0", "7-s0"))
    assert (cut.bandwidth, cut.exact) == (2, True)  # both with two others on one side


@pytest.mark.parametrize(("on", "width"), [("ring:30,without=0-1", 1), ("torus:6x4,without=0-1", 7)])
def test_the_cut_of_a_torus_that_lacks_a_cable_is_found_at_any_size(on, width):
    """By hand: one cable joins the halves of what is then a line; of eight between those of the torus one is lost."""
    cut = bisection(find(on))
    assert cut.at_least <= width <= cut.bandwidth == cut_bandwidth(find(on), cut.half)


def test_a_rank_among_links_to_the_only_switch_is_no_port_of_it():
    links = [(0, 2), (1, 4), (2, 4), (3, 4), *((4, rank) for rank in range(4))]
    assert bisection(from_links("a rank by way of another", 4, links, switches=1, alpha=[1] * 8)).bandwidth == 1


def test_nothing_crosses_a_cut_with_all_ranks_on_one_side():
    for topology in (ring(4), star(4)):
        assert cut_bandwidth(topology, []) == cut_bandwidth(topology, range(4)) == 0


def test_parallel_links_count_together_in_a_graph_of_any_size():
    for ranks in (6, 30):
        cut = bisection(find(f"uniring:2x{ranks}"))
        assert (cut.bandwidth, cut.exact) == (2, True)


def narrowest_through_switches(topology):
    """Every half with every place of the switches: what a maximum flow must equal."""
    links = list(zip(topology.link_src.tolist(), topology.link_dst.tolist(), topology.bandwidth, strict=True))
    switches = range(topology.ranks, topology.nodes)
    sides = [
        set(half) | set(some)
        for half in combinations(range(topology.ranks), topology.ranks // 2)
        for count in range(len(switches) + 1)
        for some in combinations(switches, count)
    ]
    return min(sum((speed for a, b, speed in links if a in side and b not in side), Fraction(0)) for side in sides)


@pytest.mark.parametrize(
    "topology", [*SMALL, star(8), torus((4, 4), tie="balanced"), twisted_torus(4)], ids=lambda t: t.name
)
def test_no_routed_all_to_all_is_below_its_floors(topology):
    most = max(link_loads(topology))
    assert most >= cut("all-to-all", topology, bisection(topology).half).n_beta
    assert most >= floor_by_hops(topology)


def test_floors_by_hand():
    """A ring of 8: hops 1 1 2 2 3 3 4 from each rank, shared by 2 links; 4 x 4 blocks of M/8 over 2 wires."""
    assert floor_by_hops(ring(8)) == Fraction(16, 2 * 8)
    assert cut("all-to-all", ring(8), bisection(ring(8)).half).n_beta == Fraction(16, 2 * 8)
    assert floor_by_hops(full_mesh(5)) == Fraction(1, 5)
    assert floor_by_hops(equal_injection(full_mesh(5))) == Fraction(4, 5)
    assert floor_by_hops(torus((8, 8, 8))) == middle_cut(torus((8, 8, 8))).n_beta == 1


def test_a_twist_spreads_its_hops_evenly_and_meets_the_floor():
    """Every pair over all its shortest paths, by networkx: no link carries more than the mean."""
    for k in (3, 4, 5):
        topology = twisted_torus(k)
        through = nx.edge_betweenness_centrality(topology.to_networkx(), normalized=False)
        assert max(through.values()) / topology.ranks == pytest.approx(float(floor_by_hops(topology)))


def test_slower_links_make_a_narrower_cut():
    assert bisection(equal_injection(torus((4, 4)))).bandwidth == Fraction(8, 4)
    assert bisection(equal_injection(torus((8, 8, 8)))).bandwidth == Fraction(128, 6)
    assert bisection(equal_injection(torus((5, 5)))).bandwidth == Fraction(12, 4)
    assert bisection(equal_injection(full_mesh(16))).bandwidth == Fraction(64, 15)


def test_one_way_links_are_cut_the_narrower_way():
    oneway = from_links("one way round", 4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    assert bisection(oneway).bandwidth == 1
    assert wires(oneway) == 4


@pytest.mark.parametrize("topology", [*SMALL, star(5), switch_tree(16, 4), twisted_torus(4)], ids=lambda t: t.name)
def test_hops_and_links_are_networkxs(topology):
    graph = topology.to_networkx()
    hops = dict(nx.all_pairs_shortest_path_length(graph))
    assert diameter(topology) == max(hops[a][b] for a in range(topology.ranks) for b in range(topology.ranks))
    assert wires(topology) == graph.to_undirected().number_of_edges()
    assert links_per_rank(topology) == tuple(graph.out_degree(r) for r in range(topology.ranks))


def test_one_rank_has_no_halves_and_loose_ends_no_diameter():
    assert bisection(star(1)).bandwidth == 0
    with pytest.raises(ValueError, match="not strongly connected"):
        diameter(from_links("loose", 3, [(0, 1), (1, 0)]))
