"""Costs by a node's bandwidth, against the bounds: by published values, and by counting how far ranks can reach."""

from fractions import Fraction

import pytest

from colllib.algorithms import breadth_first
from colllib.cost import Cost
from colllib.execution import execute
from colllib.graphs.measures import degree
from colllib.optimality import at_node
from colllib.topology.expression import find


@pytest.mark.parametrize(
    ("name", "steps", "printed", "latency", "bandwidth"),
    [
        ("kautz:4x1024", 5, "1.332", True, False),
        ("line-graph(line-graph(line-graph(circulant:16x3x4)))", 6, "1.020", False, False),
        ("power(product(uniring:1x4,uniring:1x8),2)", 20, "0.999", False, True),
        ("complete-bipartite:2x2", 2, "0.750", True, True),
    ],
)
def test_rows_of_the_published_tables_are_met_in_their_own_unit(name, steps, printed, latency, bandwidth):
    """Zhao's tables 3.4 and figure 3.1: steps, and M/B to three places."""
    topology = find(name)
    cost = execute(breadth_first.all_gather(topology), topology).cost
    verdict = at_node("all-gather", topology, cost)
    assert (cost.n_alpha, f"{float(verdict.n_beta):.3f}") == (steps, printed)
    assert (verdict.latency, verdict.bandwidth) == (latency, bandwidth)


@pytest.mark.parametrize(
    "name", ["uniring:1x5", "uniring:3x2", "full-mesh:6", "kautz:2x9", "debruijn:2x3", "ring:7", "torus:4x4", "torus:1"]
)
@pytest.mark.parametrize("primitive", ["all-gather", "reduce-scatter", "all-reduce"])
def test_fewer_steps_are_possible_just_where_a_tree_of_that_degree_reaches_all_ranks_sooner(name, primitive):
    topology = find(name)
    build = {"all-gather": "all_gather", "reduce-scatter": "reduce_scatter", "all-reduce": "all_reduce"}[primitive]
    cost = execute(getattr(breadth_first, build)(topology), topology).cost
    reached, leaves, least = 1, 1, 0
    while reached < topology.ranks:
        leaves *= degree(topology)
        reached, least = reached + leaves, least + 1
    passes = 2 if primitive == "all-reduce" else 1
    verdict = at_node(primitive, topology, cost)
    assert verdict.latency == (cost.n_alpha == passes * least)
    assert verdict.bandwidth == (verdict.n_beta == passes * Fraction(topology.ranks - 1, topology.ranks))
    assert verdict.n_beta >= passes * Fraction(topology.ranks - 1, topology.ranks)


@pytest.mark.parametrize(
    ("primitive", "name", "words"),
    [
        ("broadcast", "ring:4", "no bounds for 'broadcast': known are all-gather, reduce-scatter, all-reduce"),
        ("all-gather", "mesh:3x2", "its ranks have 2 to 3 links out or in: equal degrees are needed"),
        ("all-gather", "star:4", "star:4 has switches: a graph of ranks alone is needed"),
    ],
)
def test_where_there_is_no_bound_is_said_in_one_line(primitive, name, words):
    with pytest.raises(ValueError, match=words):
        at_node(primitive, find(name), Cost(1, 1))
