"""Expressions of small graphs, drawn at random, and their independent witness."""

import networkx as nx
from hypothesis import strategies as st

from colllib.topology import Topology
from colllib.topology.expression import find

BASES = [
    "ring:4",
    "full-mesh:3",
    "full-mesh:5",
    "complete-bipartite:2x2",
    "hypercube:2",
    "uniring:1x3",
    "uniring:2x4",
    "biring:4x3",
    "circulant:6x2x3",
    "directed-circulant:5x1x2",
    "kautz:2x5",
    "kautz:2x6",
    "debruijn:2x2",
    "debruijn:2x3",
    "line:3",
    "torus:3x2",
]

bases = st.sampled_from(BASES)
expressions = st.recursive(
    bases,
    lambda inner: st.one_of(
        inner.map("line-graph({})".format),
        inner.map("transpose({})".format),
        st.tuples(inner, bases).map(lambda two: "product({},{})".format(*two)),
    ),
    max_leaves=3,
).filter(lambda expression: expression.count("line-graph") <= 2)


def multigraph(topology: Topology) -> nx.MultiDiGraph:
    """As networkx has it, without any attributes."""
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(range(topology.ranks))
    graph.add_edges_from(nx.MultiDiGraph(topology.to_networkx()).edges())
    return graph


def find_multigraph(expression: str) -> nx.MultiDiGraph:
    """The graph that an expression names."""
    return multigraph(find(expression))
