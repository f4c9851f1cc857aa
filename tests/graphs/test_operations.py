"""Operations on graphs, against networkx and against their definitions."""

from collections import Counter
from itertools import product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_graphs import bases, expressions, find_multigraph

from colllib import execute
from colllib.algorithms import allgather
from colllib.graphs.links import arcs
from colllib.topology.expression import find


def links(graph):
    return Counter(graph.edges())


@given(bases)
def test_a_line_graph_joins_links_that_meet(expression):
    base = find(expression)
    ends = list(zip(*(end.tolist() for end in arcs(base)), strict=True))
    expected = Counter((i, j) for i, j in product(range(len(ends)), repeat=2) if ends[i][1] == ends[j][0])
    assert links(find_multigraph(f"line-graph({expression})")) == expected
    if max(Counter(ends).values()) == 1:
        assert nx.is_isomorphic(find(f"line-graph({expression})").to_networkx(), nx.line_graph(base.to_networkx()))


@given(bases, bases)
def test_a_cartesian_product_is_the_one_of_networkx(first, second):
    a, b = find_multigraph(first), find_multigraph(second)
    expected = Counter()
    for u, v in product(a, b):
        expected.update({((u, v), (w, v)): count for (x, w), count in links(a).items() if x == u})
        expected.update({((u, v), (u, w)): count for (x, w), count in links(b).items() if x == v})
    multigraph = find_multigraph(f"product({first},{second})")
    pair = {u + len(a) * v: (u, v) for u, v in product(a, b)}
    assert links(nx.relabel_nodes(multigraph, pair)) == expected
    if not any(u == v for u, v in [*a.edges(), *b.edges()]):  # networkx merges two self-loops
        assert set(expected) == set(nx.cartesian_product(nx.DiGraph(a), nx.DiGraph(b)).edges())


@given(st.sampled_from(["ring:3", "uniring:2x3", "kautz:2x6", "debruijn:2x2", "full-mesh:3"]), st.integers(1, 3))
def test_a_cartesian_power_is_a_product_with_itself(expression, times):
    expected = expression
    for _ in range(times - 1):
        expected = f"product({expected},{expression})"
    assert links(find_multigraph(f"power({expression},{times})")) == links(find_multigraph(expected))


def test_powers_of_complete_graphs_and_rings_are_hamming_graphs_and_tori():
    assert links(find_multigraph("power(full-mesh:3,3)")) == links(find_multigraph("hamming:3x3"))
    assert links(find_multigraph("product(ring:4,ring:3)")) == links(find_multigraph("torus:4x3"))


@given(st.sampled_from(["ring:3", "uniring:2x3", "kautz:2x6", "full-mesh:4", "circulant:5x1x2"]), st.integers(1, 3))
def test_a_degree_expansion_joins_all_copies_of_neighbors(expression, times):
    base = find_multigraph(expression)
    n = len(base)
    expected = Counter()
    for (u, v), count in links(base).items():
        expected.update({(u + n * i, v + n * j): count for i, j in product(range(times), repeat=2)})
    assert links(find_multigraph(f"degree({expression},{times})")) == expected


@given(expressions)
def test_a_transpose_is_every_link_the_other_way_and_back_again(expression):
    graph = find_multigraph(expression)
    assert links(find_multigraph(f"transpose({expression})")) == links(graph.reverse())
    assert links(find_multigraph(f"transpose(transpose({expression}))")) == links(graph)
    assert links(find_multigraph(f"bidirectional({expression})")) == links(graph) + links(graph.reverse())


@given(expressions)
def test_an_expression_is_the_name_of_what_it_builds(expression):
    topology = find(expression)
    assert topology.name == expression
    assert links(find_multigraph(topology.name)) == links(find_multigraph(expression))


@given(expressions)
def test_parallel_links_and_self_loops_are_counted_one_by_one(expression):
    topology = find(expression)
    graph = topology.to_networkx()
    src, dst = arcs(topology)
    assert Counter(zip(src.tolist(), dst.tolist(), strict=True)) == links(find_multigraph(expression))
    assert graph.number_of_edges() == len(src) == sum(topology.bandwidth)
    assert graph.is_multigraph() == (len(src) > topology.num_links)


@given(expressions)
def test_a_message_takes_a_shortest_way_and_never_a_self_loop(expression):
    topology = find(expression)
    hops = dict(nx.all_pairs_shortest_path_length(topology.to_networkx()))
    pairs = [(src, dst) for src, reached in hops.items() for dst in reached if src != dst]
    message, link = topology.router(*np.array(pairs).T)
    paths = np.split(link[np.argsort(message, kind="stable")], np.bincount(message).cumsum()[:-1])
    for (src, dst), path in zip(pairs, paths, strict=True):
        assert len(path) == hops[src][dst]
        assert [*topology.link_src[path], dst] == [src, *topology.link_dst[path]]


def test_a_trunk_of_two_halves_what_a_step_takes():
    ring = allgather.ring(5)
    alone, trunk = (execute(ring, find(f"uniring:{d}x5")).cost for d in (1, 2))
    assert alone.n_alpha == trunk.n_alpha == 4
    assert alone.n_beta == 2 * trunk.n_beta


WRONG = {
    "line-graph(star:4)": "star:4 has switches: a graph of ranks alone is needed",
    "line-graph(ring:1)": "ring:1 has no links",
    "line-graph(ring:4": "its brackets do not close at its end, as in line-graph(G)",
    "line-graph(ring:4))": "must be a whole number",
    "line-graph(ring:4),tie=up": "line-graph takes no option 'tie=up'; its operands stand in brackets: line-graph(G)",
    "line-graph()": "unknown topology ''",
    "cube(ring:4)": "unknown operation 'cube': known are line-graph(G), degree(G,n), power(G,n)",
    "degree(kautz:2x7,2)": "rank 2 of kautz:2x7 has a self-loop, and none must",
    "degree(line:3,2)": "line:3: its ranks have 1 to 2 links out or in: equal degrees are needed",
    "degree(ring:4,0)": "the number of copies must be at least 1, and not 0",
    "power(ring:4,0)": "the exponent must be at least 1, and not 0",
    "power(ring:4,two)": "n 'two': must be a whole number of at most 18 digits, as in power(ring:4,2)",
    "power(ring:4,999999999999)": "at most 2097152 will do",
    "power(ring:1,999999999999)": "the exponent must be at most 22, and not 999999999999",
    "power(ring:4)": "1 operands do not fit power(G,n)",
    "degree(full-mesh:64,1024)": "links are too many",
    "line-graph(" * 30 + "ring:3" + ")" * 30: "at most 20 operations are taken",
}


@pytest.mark.parametrize("expression", WRONG)
def test_an_operation_that_does_not_apply_is_refused_in_one_line(expression):
    with pytest.raises(ValueError, match=r".") as refused:
        find(expression)
    assert WRONG[expression] in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 600


def test_an_option_stays_with_the_operand_before_it():
    name = "product(torus:3x3,order=1:0,ring:3)"
    assert find(name).name == name
