"""All-to-all as a flow through time: executed, and as short as the throughput of the graph allows."""

from fractions import Fraction

import pytest
from hypothesis import given, reject, settings
from random_graphs import expressions

from colllib.algorithms.flow import all_to_all
from colllib.execution import execute
from colllib.graphs.throughput import throughput
from colllib.limits import TooLarge
from colllib.primitives import PRIMITIVES
from colllib.topology import from_links
from colllib.topology.cuts import diameter
from colllib.topology.expression import find

# graph, and how many steps more than its diameter are needed until no all-to-all at all is shorter
ATTAINED = [
    ("ring:5", 0),
    ("uniring:1x4", 0),
    ("full-mesh:5", 0),
    ("complete-bipartite:4x4", 0),
    ("diamond", 0),
    ("hypercube:3", 0),
    ("hamming:2x3", 0),
    ("line:3", 0),
    ("mesh:3x3", 0),
    ("biring:4x3", 0),
    ("circulant:12x2x3", 1),
    ("kautz:2x6", 1),
    ("debruijn:2x3", 1),
    ("modified-debruijn:2x4", 1),
]


def cost(expression, steps=0):
    graph = find(expression)
    schedule = all_to_all(graph, steps)
    assert schedule.makes(PRIMITIVES["all-to-all"])
    return execute(schedule, graph).cost


@pytest.mark.parametrize(("expression", "more"), ATTAINED)
def test_the_throughput_of_the_graph_is_attained_exactly(expression, more):
    graph = find(expression)
    least = 1 / (graph.ranks * throughput(graph))
    executed = cost(expression, diameter(graph) + more)
    assert (executed.n_alpha, executed.n_beta) == (diameter(graph) + more, least)
    if more:
        assert cost(expression).n_beta > least


@settings(max_examples=25)
@given(expressions.filter(lambda expression: find(expression).ranks <= 8))
def test_no_schedule_is_shorter_than_the_throughput_allows_and_every_block_arrives(expression):
    graph = find(expression)
    try:
        run = execute(all_to_all(graph), graph)
    except TooLarge:
        reject()
    assert run.cost.n_alpha == max(diameter(graph), 1)
    if graph.ranks > 1:
        assert run.cost.n_beta >= 1 / (graph.ranks * throughput(graph))


def test_more_steps_never_cost_more_bandwidth():
    costs = [cost("kautz:2x6", steps).n_beta for steps in (2, 3, 4)]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] == Fraction(5, 6)


def test_links_a_million_times_as_wide_take_a_millionth_of_the_time():
    widths = {(0, 1): 2, (0, 2): 1, (1, 3): 2, (2, 0): 2, (2, 3): 3, (2, 4): 3, (3, 0): 1, (3, 2): 3, (3, 4): 2}
    widths[4, 2] = 2
    costs = []
    for times in (1, 10**6):
        graph = from_links("widths", 5, list(widths), bandwidth=[times * width for width in widths.values()])
        costs.append(times * execute(all_to_all(graph, 4), graph).cost.n_beta)
    assert costs[0] == costs[1]


@pytest.mark.parametrize(
    ("expression", "steps", "why"),
    [
        ("ring:6", 2, "2 steps are fewer than its diameter 3"),
        ("star:4", 0, "has switches"),
        ("torus:8x8", 0, "too many"),
        ("torus:4x4", 0, "cut into more than"),
    ],
)
def test_what_cannot_be_is_refused(expression, steps, why):
    with pytest.raises(ValueError, match=why):
        all_to_all(find(expression), steps)
