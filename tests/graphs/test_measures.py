"""Measures of graphs, against networkx and against their definitions."""

from fractions import Fraction
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from random_graphs import expressions, find_multigraph

from colllib.algorithms.breadth_first import BreadthFirst
from colllib.graphs import measures
from colllib.graphs.command import promises
from colllib.topology.cuts import diameter, distances
from colllib.topology.expression import find

REGULAR = expressions.filter(lambda expression: "line:" not in expression)


@given(expressions)
def test_distances_layers_and_the_diameter_are_those_of_networkx(expression):
    graph, topology = find_multigraph(expression), find(expression)
    hops = dict(nx.all_pairs_shortest_path_length(graph))
    expected = np.array([[hops[a][b] for b in graph] for a in graph])
    assert np.array_equal(distances(topology), expected)
    assert diameter(topology) == nx.diameter(graph)
    assert measures.layers(topology).tolist() == [
        [sum(hops[a][b] == x for a in graph) for x in range(expected.max() + 1)] for b in graph
    ]
    assert measures.is_undirected(topology) == nx.utils.edges_equal(
        graph.edges(), graph.reverse().edges(), directed=True
    )


@given(expressions)
def test_the_degree_counts_self_loops_and_parallel_links(expression):
    graph, topology = find_multigraph(expression), find(expression)
    counts = {*dict(graph.out_degree()).values(), *dict(graph.in_degree()).values()}
    if len(counts) == 1:
        assert measures.degree(topology) == measures.equal_degree(topology) == counts.pop()
    else:
        assert measures.equal_degree(topology) is None
        with pytest.raises(ValueError, match=f"{min(counts)} to {max(counts)} links out or in: equal degrees are need"):
            measures.degree(topology)


@pytest.mark.parametrize("degree", range(1, 6))
@pytest.mark.parametrize("steps", range(6))
def test_the_moore_bound_counts_a_tree_of_that_depth(degree, steps):
    tree = nx.balanced_tree(degree, steps, nx.DiGraph)
    assert measures.moore_bound(degree, steps) == len(tree)
    # in an undirected graph every rank but the root has one neighbor less below it
    grown = 1 if steps == 0 else 1 + degree * len(nx.balanced_tree(degree - 1, steps - 1, nx.DiGraph))
    if degree > 1:
        assert measures.moore_bound(degree, steps, undirected=True) == grown


@given(REGULAR)
def test_no_graph_is_larger_than_its_moore_bound_or_faster_than_its_moore_diameter(expression):
    topology = find(expression)
    ports, far = measures.degree(topology), diameter(topology)
    for undirected in (False, True) if measures.is_undirected(topology) else (False,):
        assert topology.ranks <= measures.moore_bound(ports, far, undirected=undirected)
        least = measures.moore_diameter(topology.ranks, ports, undirected=undirected)
        assert least <= far
        assert measures.moore_bound(ports, least, undirected=undirected) >= topology.ranks
        assert least == 0 or measures.moore_bound(ports, least - 1, undirected=undirected) < topology.ranks


def test_a_degree_that_cannot_join_the_ranks_is_refused():
    for degree, undirected in ((0, False), (1, True)):
        for ranks in (degree + 2, 9):
            with pytest.raises(ValueError, match=f"N = {ranks}: a degree of {degree} cannot join so many ranks"):
                measures.moore_diameter(ranks, degree, undirected=undirected)
        assert measures.moore_diameter(degree + 1, degree, undirected=undirected) == degree


MAYBE = ["ring:6", "ring:7", "hypercube:4", "torus:4x4", "torus:3x5", "complete-bipartite:3x3", "kautz:2x6"]
MAYBE += ["complete-bipartite:2x3", "hamming:2x4", "twisted-hypercube:4", "distance-regular:35", "circulant:13x1x5"]


@pytest.mark.parametrize("expression", MAYBE)
def test_a_graph_is_distance_regular_where_networkx_says_so(expression):
    graph = find(expression).to_networkx()
    array = measures.intersection_array(find(expression))
    if measures.is_undirected(find(expression)) and nx.is_distance_regular(graph.to_undirected()):
        assert array == tuple(map(tuple, nx.intersection_array(graph.to_undirected())))
    else:
        assert array is None


def test_parallel_links_and_self_loops_are_not_distance_regular():
    assert measures.intersection_array(find("biring:4x5")) is None
    assert measures.intersection_array(find("debruijn:3x1")) is None


def loads_by_sets(graph):
    """The largest ratio of shards to the links that they can take, over all sets of shards: no sets of links."""
    hops = dict(nx.all_pairs_shortest_path_length(graph))
    loads = []
    for x in range(1, nx.diameter(graph) + 1):
        worst = Fraction(0)
        for u in graph:
            usable = [
                frozenset((w, k) for w, _, k in graph.in_edges(u, keys=True) if hops[v][w] == x - 1)
                for v in graph
                if hops[v][u] == x
            ]
            kinds = sorted(set(usable), key=sorted)
            for size in range(1, len(kinds) + 1):
                for some in combinations(kinds, size):
                    shards = sum(links in some for links in usable)
                    worst = max(worst, Fraction(shards, len(frozenset.union(*some))))
        loads.append(worst)
    return loads


FEW = REGULAR.filter(lambda expression: find(expression).ranks <= 12 and measures.degree(find(expression)) <= 4)


@settings(max_examples=30)  # of sets of sets
@given(FEW)
def test_loads_of_breadth_first_schedules_are_loads_by_sets_of_shards(expression):
    assert list(BreadthFirst(find(expression)).loads) == loads_by_sets(find_multigraph(expression))


OPTIMAL = ["full-mesh:6", "complete-bipartite:4x4", "hamming:2x3", "hypercube:4", "twisted-hypercube:3", "biring:4x5"]
OPTIMAL += ["uniring:2x5", "circulant:16x3x4", "circulant:11x1x2x5", "torus:3x3x2", "twisted-torus:3", "ring:7"]
OPTIMAL += [f"distance-regular:{n}" for n in (6, 9, 10, 14, 15, 16, 21, 26, 32, 35, 45, 70, 80)]
OPTIMAL += ["directed-circulant:6x1x2x3x4", "product(biring:2x8,uniring:1x4)", "kautz:4x5", "shifted-ring:12x5"]
NOT = ["diamond", "modified-debruijn:2x3", "kautz:2x6", "kautz:4x16", "debruijn:2x3", "line-graph(full-mesh:4)"]


@pytest.mark.parametrize("expression", [*OPTIMAL, *NOT])
def test_breadth_first_all_gathers_are_optimal_where_the_literature_says_so(expression):
    topology = find(expression)
    assert promises(topology)["breadth_first_optimal"] == (expression in OPTIMAL)
    loads, ports = BreadthFirst(topology).loads, measures.degree(topology)
    assert sum(loads) >= Fraction(topology.ranks - 1, ports)
    if expression in OPTIMAL:  # then layers are even, and every link carries its part of every layer
        assert measures.even_layers(topology)
        assert list(loads) == [Fraction(int(count), ports) for count in measures.layers(topology)[0, 1:]]


def test_one_rank_has_one_layer_like_all_others():
    alone = find("torus:1")
    assert measures.layers(alone).tolist() == [[1]]
    assert measures.even_layers(alone)


def test_what_is_not_strongly_connected_is_refused():
    with pytest.raises(ValueError, match="not strongly connected: no way from rank 0 to rank 1"):
        distances(find("line:3,without=0-1"))
