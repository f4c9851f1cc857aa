"""What the answers on graphs take from theorems, beside executions and linear programs at small sizes."""

from __future__ import annotations

import pytest

from colllib.claims.graph_tables import bracketed, product_f
from colllib.claims.graphs import IN_FULL_STEPS, base, by_theorem, circulants, lines, on, power
from colllib.graphs.throughput import throughput
from colllib.topology.expression import find


@pytest.mark.parametrize(
    ("start", "times"), [("complete-bipartite:2x2", 2), ("kautz:2x7", 1), ("diamond", 2), ("modified-debruijn:2x3", 1)]
)
def test_line_graphs_by_theorem_cost_what_is_executed(start, times):
    theorem, executed = by_theorem(start, times), lines(start, times)
    for name in ("steps", "load", "N", "d", "D"):
        assert theorem[name] == executed[name], name


@pytest.mark.parametrize("start", ["diamond", "uniring:1x4", "kautz:2x6", "modified-debruijn:2x3"])
def test_squares_by_theorem_cost_what_is_executed(start):
    theorem, executed = by_theorem(start, 0, squared=True), power(start, 2)
    for name in ("steps", "load", "N", "d", "D"):
        assert theorem[name] == executed[name], name


@pytest.mark.parametrize("graph", IN_FULL_STEPS)
def test_an_all_gather_in_full_steps_meets_the_bound_where_breadth_first_does_not(graph):
    assert base(graph)["load"] == base(graph)["best"] < base(graph)["breadth_first"]


@pytest.mark.parametrize(
    "factors", [("uniring:1x4", "uniring:1x8"), ("biring:2x5", "uniring:1x3"), ("diamond", "full-mesh:3")]
)
def test_the_throughput_of_a_product_is_that_of_its_factors(factors):
    assert product_f(*factors) == throughput(find(f"product({','.join(factors)})"))


def test_what_a_stored_certificate_proves_holds_the_throughput():
    flow, lengths = bracketed("debruijn:4x4")
    assert flow <= throughput(find("debruijn:4x4")) <= lengths < flow * 1.001


def test_no_circulant_of_fewer_than_15_ranks_and_three_jumps_contradicts_the_conjecture():
    assert all(on(graph)["optimal"] for graph in circulants(14, 1, 2, 3))
    assert not on("circulant:15x1x4x5")["optimal"]
