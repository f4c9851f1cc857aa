"""Families of graphs: what networkx and other constructions say of the same ones."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colllib.graphs.distance_regular import VALENCY_FOUR
from colllib.graphs.links import arcs
from colllib.graphs.measures import degree
from colllib.topology.cuts import diameter, distances
from colllib.topology.expression import find


def graph_of(expression):
    return find(expression).to_networkx()


def undirected(expression):
    graph = graph_of(expression)
    assert all(graph.has_edge(b, a) for a, b in graph.edges)
    return graph.to_undirected()


@given(st.integers(1, 6), st.integers(1, 6))
def test_a_complete_bipartite_graph_joins_every_two_of_different_sides(a, b):
    assert nx.is_isomorphic(undirected(f"complete-bipartite:{a}x{b}"), nx.complete_bipartite_graph(a, b))


@given(st.integers(1, 3), st.integers(2, 4))
def test_words_of_a_hamming_graph_differ_in_one_letter(n, q):
    graph = undirected(f"hamming:{n}x{q}")
    words = [tuple(rank // q**place % q for place in range(n)) for rank in range(q**n)]
    for a in range(q**n):
        for b in range(a):
            assert graph.has_edge(a, b) == (sum(x != y for x, y in zip(words[a], words[b], strict=True)) == 1)


@pytest.mark.parametrize("axes", range(1, 7))
def test_a_hypercube_is_the_one_of_networkx(axes):
    assert nx.is_isomorphic(undirected(f"hypercube:{axes}"), nx.hypercube_graph(axes))


@pytest.mark.parametrize("axes", range(3, 9))
def test_to_twist_a_cube_cuts_its_diameter_by_one(axes):
    twisted, plain = find(f"twisted-hypercube:{axes}"), find(f"hypercube:{axes}")
    assert degree(twisted) == axes
    assert (diameter(twisted), diameter(plain)) == (axes - 1, axes)
    changed = set(twisted.to_networkx().edges) ^ set(plain.to_networkx().edges)
    assert len(changed) == 8  # two cables less and two more, both ways


@given(st.integers(1, 4), st.integers(2, 9))
def test_a_unidirectional_ring_has_parallel_links_to_the_next_rank(d, m):
    graph = nx.MultiDiGraph(graph_of(f"uniring:{d}x{m}"))
    assert dict(graph.out_degree()) == dict.fromkeys(range(m), d)
    assert {(a, b) for a, b, _ in graph.edges} == {(rank, (rank + 1) % m) for rank in range(m)}


@given(st.integers(1, 3), st.integers(3, 9))
def test_a_bidirectional_ring_has_half_of_its_links_each_way(half, m):
    graph = nx.MultiDiGraph(graph_of(f"biring:{2 * half}x{m}"))
    for rank in range(m):
        assert graph.number_of_edges(rank, (rank + 1) % m) == graph.number_of_edges((rank + 1) % m, rank) == half
    assert degree(find(f"biring:{2 * half}x{m}")) == 2 * half


@given(st.integers(3, 20).flatmap(lambda n: st.tuples(st.just(n), st.lists(st.integers(1, n - 1), max_size=3))))
def test_a_circulant_is_the_one_of_networkx_with_its_parallel_links(drawn):
    n, jumps = drawn
    expression = "x".join(map(str, (n, 1, *jumps)))
    graph = nx.MultiDiGraph(graph_of(f"circulant:{expression}"))
    assert nx.utils.edges_equal(nx.Graph(graph).edges, nx.circulant_graph(n, [1, *jumps]).edges)
    assert degree(find(f"circulant:{expression}")) == 2 * (1 + len(jumps))
    assert graph.number_of_edges() == 2 * n * (1 + len(jumps))


@pytest.mark.parametrize("n", range(7, 60))
def test_two_jumps_in_a_row_have_the_smallest_diameter_of_all_pairs(n):
    """Beivide et al. (1991): against all other pairs of jumps, by distances alone."""
    m = int(np.ceil((-1 + np.sqrt(2 * n - 1)) / 2))
    assert diameter(find(f"circulant:{n}x{m}x{m + 1}")) == m
    if n < 24:
        pairs = [(a, b) for a in range(1, n // 2 + 1) for b in range(a) if b and np.gcd.reduce([n, a, b]) == 1]
        assert min(diameter(find(f"circulant:{n}x{a}x{b}")) for a, b in pairs) == m


@pytest.mark.parametrize("d", range(1, 7))
def test_a_directed_circulant_on_two_ranks_more_than_its_degree_takes_two_steps(d):
    topology = find(f"directed-circulant:{'x'.join(map(str, (d + 2, *range(1, d + 1))))}")
    assert (degree(topology), diameter(topology)) == (d, 2)


@given(
    st.integers(3, 9).flatmap(
        lambda n: st.tuples(st.just(n), st.lists(st.integers(1, 2 * n - 1), min_size=1, max_size=6))
    )
)
def test_a_dihedral_graph_links_each_motion_of_a_polygon_to_its_products_and_so_looks_alike_from_all(drawn):
    corners, jumps = drawn
    motions = [tuple((k + way * i) % corners for i in range(corners)) for k in range(corners) for way in (1, -1)]
    after = [[motions.index(tuple(one[i] for i in other)) for other in motions] for one in motions]
    expected = sorted((rank, after[rank][jump]) for rank in range(2 * corners) for jump in jumps)
    expression = f"dihedral:{2 * corners}x{'x'.join(map(str, jumps))}"
    if not nx.is_strongly_connected(nx.DiGraph(expected)):
        with pytest.raises(ValueError, match="divi"):
            find(expression)
        return
    links = list(zip(*(ends.tolist() for ends in arcs(find(expression))), strict=True))
    assert sorted(links) == expected
    for renamed in after:
        assert sorted((renamed[a], renamed[b]) for a, b in links) == expected


@given(st.integers(1, 5), st.integers(0, 20))
def test_a_generalized_kautz_graph_is_its_formula(d, more):
    m = d + 1 + more
    graph = nx.MultiDiGraph(graph_of(f"kautz:{d}x{m}"))
    expected = nx.MultiDiGraph([(x, (-d * x - a) % m) for x in range(m) for a in range(1, d + 1)])
    assert nx.utils.edges_equal(graph.edges, expected.edges, directed=True)
    assert degree(find(f"kautz:{d}x{m}")) == d
    assert (nx.number_of_selfloops(graph) == 0) == (m % (d + 1) == 0)


@pytest.mark.parametrize(("d", "n"), [(2, 1), (2, 2), (3, 1), (3, 2), (4, 1)])
def test_a_kautz_graph_is_a_line_graph_of_line_graphs_of_the_complete_graph(d, n):
    expected = nx.complete_graph(d + 1, nx.DiGraph)
    for _ in range(n):
        expected = nx.line_graph(expected)
    assert nx.is_isomorphic(graph_of(f"kautz:{d}x{d**n * (d + 1)}"), expected)


@pytest.mark.parametrize(("d", "n"), [(2, 1), (2, 2), (2, 4), (3, 2), (3, 3), (4, 2)])
def test_a_de_bruijn_graph_is_a_line_graph_of_the_complete_graph_with_self_loops(d, n):
    expected = nx.DiGraph([(a, b) for a in range(d) for b in range(d)])
    for _ in range(n - 1):
        expected = nx.line_graph(expected)
    graph = graph_of(f"debruijn:{d}x{n}")
    assert nx.is_isomorphic(graph, expected)
    assert nx.number_of_selfloops(graph) == d


@given(st.integers(3, 30).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n - 1))))
def test_a_shifted_ring_is_two_rings(drawn):
    n, step = drawn
    if np.gcd(n, step) > 1:
        with pytest.raises(ValueError, match=f"the step {step} must be .* coprime to {n}"):
            find(f"shifted-ring:{n}x{step}")
        return
    graph = nx.MultiDiGraph(graph_of(f"shifted-ring:{n}x{step}"))
    for jump in (1, step):
        graph.remove_edges_from([(rank, (rank + jump) % n) for rank in range(n)])
        graph.remove_edges_from([((rank + jump) % n, rank) for rank in range(n)])
    assert graph.number_of_edges() == 0


# as Brouwer and Koolen (1999) list them
ARRAYS = {
    6: ([4, 1], [1, 4]),
    9: ([4, 2], [1, 2]),
    10: ([4, 3, 1], [1, 3, 4]),
    14: ([4, 3, 2], [1, 2, 4]),
    15: ([4, 2, 1], [1, 1, 4]),
    16: ([4, 3, 2, 1], [1, 2, 3, 4]),
    21: ([4, 2, 2], [1, 1, 2]),
    26: ([4, 3, 3], [1, 1, 4]),
    32: ([4, 3, 3, 1], [1, 1, 3, 4]),
    35: ([4, 3, 3], [1, 1, 2]),
    45: ([4, 2, 2, 2], [1, 1, 1, 2]),
    70: ([4, 3, 3, 2, 2, 1, 1], [1, 1, 2, 2, 3, 3, 4]),
    80: ([4, 3, 3, 3], [1, 1, 1, 4]),
    189: ([4, 2, 2, 2, 2, 2], [1, 1, 1, 1, 1, 2]),
    728: ([4, 3, 3, 3, 3, 3], [1, 1, 1, 1, 1, 4]),
}


@pytest.mark.parametrize("n", sorted(ARRAYS))
def test_the_distance_regular_graphs_of_degree_four_have_their_intersection_arrays(n):
    assert set(ARRAYS) == set(VALENCY_FOUR)
    if n < 200:
        assert nx.intersection_array(undirected(f"distance-regular:{n}")) == ARRAYS[n]
    topology = find(f"distance-regular:{VALENCY_FOUR[n].word}")
    assert topology.name == f"distance-regular:{n}"
    # again by counting, which also the largest can take: neighbors one hop further and one hop nearer
    hops, (src, dst) = distances(topology), arcs(topology)
    for i, (b, c) in enumerate(zip(ARRAYS[n][0], ARRAYS[n][1], strict=True)):
        further, nearer = ((hops[src] == i + step).astype(int) for step in (1, 0))
        for away, counted, expected in ((i, further, b), (i + 1, nearer, c)):
            per_rank = np.zeros((n, n), dtype=int)
            np.add.at(per_rank, dst, counted)
            assert set(per_rank[hops == away].tolist()) == {expected}


def test_the_diamond_has_what_the_literature_says_of_it():
    graph = graph_of("diamond")
    assert (degree(find("diamond")), diameter(find("diamond"))) == (2, 3)
    assert nx.number_of_selfloops(graph) == 0
    assert graph.number_of_edges() == 16  # none of them parallel
    assert not nx.is_isomorphic(graph, graph.reverse())


@pytest.mark.parametrize(("d", "n"), [(2, 3), (2, 4), (3, 2), (4, 2), (3, 3)])
def test_a_modified_de_bruijn_graph_has_one_cycle_for_its_self_loops_and_pairs(d, n):
    graph, plain = graph_of(f"modified-debruijn:{d}x{n}"), graph_of(f"debruijn:{d}x{n}")
    one_way = {(a, b) for a, b in plain.edges if not plain.has_edge(b, a)}
    assert one_way < set(graph.edges)
    cycle = nx.DiGraph(set(graph.edges) - one_way)
    assert set(cycle) == {a for a, b in plain.edges if plain.has_edge(b, a)}
    assert nx.is_strongly_connected(cycle)
    assert {count for _, count in [*cycle.out_degree(), *cycle.in_degree()]} == {1}
    assert degree(find(f"modified-debruijn:{d}x{n}")) == d
    assert graph.number_of_edges() == d ** (n + 1)  # none of them parallel


WRONG = {
    "modified-debruijn:2x1": "the number of letters in a word must be at least 2, and not 1",
    "modified-debruijn:9x2": "no cycle of at most 64 words without parallel links is found",
    "diamond:8": "neither a size nor an option is taken, only diamond",
    "circulant:16x2x4": "circulant:16x2x4 is not strongly connected: 2 divides",
    "circulant:16": "the number of ranks and at least one jump are needed",
    "circulant:16x16": "the jump 16 is not in 1..15",
    "dihedral:15x1x2": "N must be even",
    "dihedral:16x1x4": "N, even jumps and differences of odd ones share no divisor but 2",
    "dihedral:16x2x6": "2 divides the number of ranks and every jump",
    "kautz:4x4": "the number of ranks with degree 4 must be at least 5, and not 4",
    "kautz:0x4": "the degree must be at least 1, and not 0",
    "debruijn:1x3": "the degree must be at least 2",
    "debruijn:2x64": "at most 2097152 will do",
    "hypercube:0": "the number of axes must be at least 1",
    "hypercube:999999999999": "at most 2097152 will do",
    "twisted-hypercube:2": "the number of axes must be at least 3, and not 2",
    "biring:3x8": "the degree must be even",
    "biring:2x2": "the number of ranks must be at least 3, and not 2",
    "uniring:999999999999x2": "links are too many",
    "hamming:2": "2 whole numbers are needed, as in hamming:2x3",
    "hamming:2x1": "letters to choose from must be at least 2, and not 1",
    "complete-bipartite:4x0": "each side must be at least 1, and not 0",
    "distance-regular:7": "there is one of degree 4 with N = 6 (octahedron), 9 (paley)",
}


@pytest.mark.parametrize("kind", ["circulant", "directed-circulant", "dihedral"])
def test_an_error_gives_an_example_that_is_a_graph(kind):
    with pytest.raises(ValueError, match=f"as in {kind}") as refused:
        find(f"{kind}:16")
    assert find(str(refused.value).rpartition(" ")[2]).ranks == 16


@pytest.mark.parametrize("expression", WRONG)
def test_what_no_graph_can_be_is_refused_in_one_line(expression):
    with pytest.raises(ValueError, match=expression.partition(":")[0]) as refused:
        find(expression)
    assert WRONG[expression] in str(refused.value)
    assert "\n" not in str(refused.value)
