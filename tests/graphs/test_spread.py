"""Flows that spread by lengths of links, and what lengths prove, beside the exact throughput."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import expressions

from colllib.graphs.spread import Certificate, spread_loads
from colllib.graphs.throughput import Flow, throughput
from colllib.topology.cuts import distances
from colllib.topology.expression import find

SMALL = expressions.filter(lambda expression: 2 <= find(expression).ranks <= 12)


@settings(max_examples=40, deadline=None)
@given(SMALL, st.integers(1, 2000), st.randoms(use_true_random=False))
def test_any_lengths_and_any_heat_hold_the_throughput(expression, heat, random):
    topology = find(expression)
    spread, lengths = (
        np.array([random.randint(1, 1000) for _ in Flow.of(topology).capacity], dtype=np.intp) for _ in range(2)
    )
    low, high = Certificate(heat, spread, lengths).bracket(topology)
    assert low * (1 - 1e-9) <= throughput(topology) <= high


@settings(max_examples=20, deadline=None)
@given(SMALL)
def test_a_cold_flow_by_hops_crosses_as_many_links_as_ranks_are_apart(expression):
    topology = find(expression)
    flow = Flow.of(topology)
    soft, loads = spread_loads(flow, np.ones_like(flow.capacity), 1e-3)
    assert loads.sum() == pytest.approx(distances(topology).sum())
    assert soft <= distances(topology).sum() * (1 + 1e-9)  # many equal ways are worth a little more than one


NEAR = {"kautz:2x9": 1e-3, "line-graph(complete-bipartite:4x4)": 1e-3, "torus:4x3": 1e-3, "debruijn:2x4": 0.03}


@pytest.mark.parametrize(("expression", "apart"), NEAR.items())
def test_a_search_comes_near_the_throughput(expression, apart):
    topology = find(expression)
    search = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "throughputs.py"))["search"]
    low, high = search(topology, (0.1, 0.03, 0.01, 0.003, 0.001), 100).bracket(topology)
    assert high * (1 - apart) < low
    assert low * (1 - 1e-9) <= throughput(topology) <= high
