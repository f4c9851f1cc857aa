"""Isomorphic graphs, against networkx's search."""

from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import expressions, find_multigraph

from colllib.graphs.isomorphism import isomorphism, orbits, reversal
from colllib.graphs.links import arcs, from_arcs
from colllib.topology.expression import find

SMALL = expressions.filter(lambda expression: find(expression).ranks <= 40)


def simple(graph):
    """With parallel links as a number on one link."""
    merged = nx.DiGraph()
    merged.add_nodes_from(graph)
    merged.add_edges_from((a, b, {"width": width}) for (a, b), width in Counter(graph.edges()).items())
    return merged


def matcher(first, second):
    same = nx.algorithms.isomorphism.numerical_edge_match("width", 1)
    return nx.algorithms.isomorphism.DiGraphMatcher(simple(first), simple(second), edge_match=same)


@given(SMALL, st.randoms(use_true_random=False))
def test_a_renumbered_graph_is_recognized(expression, random):
    topology = find(expression)
    numbers = np.array(random.sample(range(topology.ranks), topology.ranks))
    src, dst = arcs(topology)
    other = from_arcs("renumbered", topology.ranks, numbers[src], numbers[dst])
    mapping = isomorphism(topology, other)
    assert mapping is not None
    renumbered = nx.relabel_nodes(find_multigraph(expression), dict(enumerate(mapping.tolist())))
    src, dst = (end.tolist() for end in arcs(other))
    assert Counter(renumbered.edges()) == Counter(zip(src, dst, strict=True))


REVERSED = ["diamond", "modified-debruijn:2x3", "modified-debruijn:2x4", "kautz:2x7", "kautz:3x7", "kautz:2x6"]
REVERSED += ["debruijn:2x3", "line-graph(diamond)", "product(diamond,uniring:1x3)", "directed-circulant:7x1x2"]


@pytest.mark.parametrize("expression", REVERSED)
def test_a_graph_is_reverse_symmetric_where_networkx_finds_its_transpose_in_it(expression):
    graph = find_multigraph(expression)
    assert (reversal(find(expression)) is not None) == matcher(graph, graph.reverse()).is_isomorphic()


@settings(max_examples=40)
@given(SMALL, SMALL)
def test_two_graphs_are_isomorphic_where_networkx_says_so(first, second):
    a, b = find_multigraph(first), find_multigraph(second)
    if Counter(dict(a.degree()).values()) == Counter(dict(b.degree()).values()):
        assert (isomorphism(find(first), find(second)) is None) != matcher(a, b).is_isomorphic()
    else:
        assert isomorphism(find(first), find(second)) is None


ORBITS = [
    "full-mesh:1",
    "ring:5",
    "line:4",
    "torus:4x3",
    "diamond",
    "kautz:2x7",
    "debruijn:2x3",
    "circulant:8x4x1",
    "twisted-hypercube:4",
]


@pytest.mark.parametrize(
    "expression", ["ring:5", "hypercube:3", *(f"directed-circulant:{n}" for n in ("8x1x3", "15x1x4"))]
)
def test_the_links_of_a_graph_are_one_orbit_where_a_move_swaps_those_of_a_rank(expression):
    """Times 3 modulo 8, and times 4 modulo 15, one jump becomes the other and the other the one."""
    assert set(orbits(find(expression))[1].tolist()) == {0}


@pytest.mark.parametrize("expression", ORBITS)
def test_orbits_are_those_of_all_automorphisms(expression):
    graph, topology = find_multigraph(expression), find(expression)
    maps = list(matcher(graph, graph).isomorphisms_iter())
    ranks, links = orbits(topology)
    ends = list(zip(topology.link_src.tolist(), topology.link_dst.tolist(), strict=True))
    for number, keys, images in (
        (ranks, list(range(topology.ranks)), lambda a: {m[a] for m in maps}),
        (links, ends, lambda link: {(m[link[0]], m[link[1]]) for m in maps}),
    ):
        for key, orbit in zip(keys, number, strict=True):
            together = {other for other, label in zip(keys, number, strict=True) if label == orbit}
            assert together <= images(key)
            if number is ranks:
                assert together == images(key)
