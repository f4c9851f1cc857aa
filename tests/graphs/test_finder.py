"""The topology finder: every printed cost is executed, and no row of the literature's tables is missed."""

import json
import re
from fractions import Fraction
from itertools import pairwise

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from colllib import cli
from colllib.algorithms import breadth_first
from colllib.execution import execute
from colllib.graphs.finder import _frontier, circulant_jumps, dihedral_jumps, pareto
from colllib.graphs.measures import degree, moore_diameter
from colllib.optimality import breadth_first_optimal
from colllib.topology.cuts import diameter
from colllib.topology.expression import find

# (N, d, steps, bandwidth term in M/B to the printed digits) as published for graphs with breadth-first schedules,
# and expansions of the diamond and modified de Bruijn graphs: tables 3.4, 3.5 and A.1 of Zhao's dissertation
PUBLISHED = [
    *((n, 4, (1 if n == 5 else 2), (n - 1) / n) for n in range(5, 13)),
    (32, 4, 3, 1.000),
    (32, 4, 4, 0.969),
    (64, 4, 3, 1.312),
    (64, 4, 4, 1.000),
    (64, 4, 6, 0.984),
    (128, 4, 4, 1.031),
    (128, 4, 5, 1.000),
    (128, 4, 10, 0.992),
    (256, 4, 4, 1.328),
    (256, 4, 5, 1.016),
    (256, 4, 7, 1.000),
    (256, 4, 10, 0.996),
    (512, 4, 5, 1.039),
    (512, 4, 6, 1.008),
    (512, 4, 11, 1.000),
    (512, 4, 16, 0.998),
    (1024, 4, 5, 1.332),
    (1024, 4, 6, 1.020),
    (1024, 4, 8, 1.004),
    (1024, 4, 11, 1.000),
    (1024, 4, 20, 0.999),
]

SIZES = [(n, d) for d in (2, 3, 4, 6) for n in (2, 3, 5, 7, 8, 9, 12, 15, 16, 24, 32, 45, 64)]


@pytest.mark.parametrize(("ranks", "ports"), SIZES)
def test_every_row_costs_what_executing_its_expression_costs(ranks, ports):
    rows = pareto(ranks, ports)
    for row in rows:
        graph = find(row.expression)
        run = execute(breadth_first.all_gather(graph), graph)
        assert (graph.ranks, degree(graph)) == (ranks, ports)
        assert (run.cost.n_alpha, run.cost.n_beta * ports) == (row.n_alpha, row.n_beta_node)


@pytest.mark.parametrize(("ranks", "ports"), [(256, 4), (128, 2), (100, 8), (64, 16)])
def test_large_rows_cost_what_executing_them_costs(ranks, ports):
    for row in pareto(ranks, ports):
        graph = find(row.expression)
        cost = execute(breadth_first.all_gather(graph), graph).cost
        assert (cost.n_alpha, cost.n_beta * ports) == (row.n_alpha, row.n_beta_node)


@pytest.mark.parametrize(("ranks", "ports"), SIZES)
def test_rows_rise_in_steps_fall_in_bandwidth_and_respect_both_bounds(ranks, ports):
    rows = pareto(ranks, ports)
    for row, after in pairwise(rows):
        assert row.n_alpha < after.n_alpha
        assert row.n_beta_node > after.n_beta_node
    assert rows[0].n_alpha >= moore_diameter(ranks, ports)
    assert rows[-1].n_beta_node == Fraction(ranks - 1, ranks)  # a ring at least


@pytest.mark.parametrize(("ranks", "ports", "steps", "bandwidth"), PUBLISHED)
def test_no_published_row_is_better_than_all_of_ours_even_with_its_bases_alone(ranks, ports, steps, bandwidth):
    rows = pareto(ranks, ports, jumps=False)
    assert any(row.n_alpha <= steps and row.n_beta_node <= bandwidth + 0.0005 for row in rows)


@pytest.mark.parametrize(("ranks", "ports"), [(4, 5), (6, 7), (8, 5), (12, 7)])
def test_no_product_of_smaller_rows_is_better_than_all_rows(ranks, ports):
    rows = pareto(ranks, ports)
    for size in (size for size in range(2, ranks) if ranks % size == 0):
        for few in range(1, ports):
            one, other = pareto(size, few)[-1], pareto(ranks // size, ports - few)[-1]
            cost = breadth_first.all_gather_cost(find(f"product({one.expression},{other.expression})"))
            assert any(row.n_alpha <= cost.n_alpha and row.n_beta_node <= cost.n_beta * ports for row in rows)


@given(ranks=st.integers(2, 16), further=st.integers(0, 14))
@settings(max_examples=20, deadline=None)
def test_with_as_many_links_as_ranks_or_more_the_first_row_takes_one_step_over_as_many_links_as_there_can_be(
    ranks, further
):
    """One other rank has at most d / (N - 1) links, rounded down, and its shard comes by no others."""
    ports = min(ranks + further, 16)
    best, graph = pareto(ranks, ports)[0], find(pareto(ranks, ports)[0].expression)
    cost = execute(breadth_first.all_gather(graph), graph).cost
    assert (graph.ranks, degree(graph)) == (ranks, ports)
    assert (best.n_alpha, best.n_beta_node) == (cost.n_alpha, cost.n_beta * ports)
    assert (best.n_alpha, best.n_beta_node) == (1, Fraction(ports, ranks * (ports // (ranks - 1))))


def test_a_row_tells_what_it_is_made_of():
    best = pareto(1024, 4, jumps=False)[1]
    assert best.words == "line graph of the line graph of the line graph of the circulant graph"
    while best.parents:
        (best,) = best.parents
    assert best.expression == "circulant:16x3x4"


@pytest.mark.parametrize(
    ("ranks", "ports", "why"),
    [(1, 4, "N = 1"), (2049, 4, "N = 2049"), (16, 0, "d = 0"), (16, 17, "d = 17")],
)
def test_sizes_out_of_range_are_refused(ranks, ports, why):
    with pytest.raises(ValueError, match=f"{why}: the topology finder takes"):
        pareto(ranks, ports)


def test_few_jumps_are_searched_through():
    least = min(diameter(find(f"directed-circulant:20x1x{a}x{b}")) for b in range(3, 20) for a in range(2, b))
    assert diameter(find("directed-circulant:" + "x".join(map(str, (20, *circulant_jumps(20, 3)))))) == least


def test_too_few_ranks_for_different_jumps_have_none():
    assert circulant_jumps(4, 4) == ()


@pytest.mark.parametrize("ranks", [14, 28, 30, 32, 34, 36, 40])
def test_a_dihedral_graph_of_degree_four_meets_both_bounds(ranks):
    (row,) = pareto(ranks, 4)
    graph = find(row.expression)
    assert graph.name.startswith("dihedral")
    run = execute(breadth_first.all_gather(graph), graph)
    assert (run.cost.n_alpha, run.cost.n_beta * 4) == (moore_diameter(ranks, 4), Fraction(ranks - 1, ranks))


@pytest.mark.parametrize(("ranks", "ports"), [(8, 3), (16, 4), (18, 5), (20, 6), (48, 4), (64, 3)])
def test_dihedral_graphs_cost_what_was_counted_at_one_rank(ranks, ports):
    assert dihedral_jumps(ranks, ports)
    for steps, (n_beta, jumps) in dihedral_jumps(ranks, ports).items():
        graph = find("dihedral:" + "x".join(map(str, (ranks, *jumps))))
        cost = execute(breadth_first.all_gather(graph), graph).cost
        assert (cost.n_alpha, cost.n_beta * ports) == (steps, n_beta)


@pytest.mark.parametrize(("ranks", "ports"), [(15, 4), (16, 2), (16, 10), (4, 4)])
def test_sizes_and_degrees_without_a_search_for_dihedral_graphs_have_none(ranks, ports):
    assert not dihedral_jumps(ranks, ports)


@pytest.mark.parametrize("ranks", [56, 64, 256, 1024])
def test_dihedral_graphs_make_no_frontier_worse(ranks):
    rows = pareto(ranks, 4)
    for row in _frontier(ranks, 4, False, 1):
        assert any(ours.n_alpha <= row.n_alpha and ours.n_beta_node <= row.n_beta_node for ours in rows)
    assert rows != _frontier(ranks, 4, False, 1)


def circulants(ranks):
    """All circulant graphs of different jumps below N / 2, the source's C(n, {a_1, ..., a_k})."""
    jumps = range(1, (ranks + 1) // 2)
    for chosen in range(1, 1 << len(jumps)):
        yield [jump for k, jump in enumerate(jumps) if chosen >> k & 1]


def unbalanced(ranks):
    jump_sets = []
    for jumps in circulants(ranks):
        try:
            graph = find(f"circulant:{ranks}x{'x'.join(map(str, jumps))}")
        except ValueError:  # not connected
            continue
        if not breadth_first_optimal(graph):
            jump_sets.append(jumps)
    return jump_sets


def test_not_every_circulant_graph_has_an_optimal_breadth_first_schedule_and_the_smallest_has_12_ranks():
    assert all(not unbalanced(ranks) for ranks in range(3, 12))
    assert unbalanced(12) == [[1, 3, 4, 5]]


def test_the_smallest_with_three_jumps_has_15_ranks():
    assert [1, 4, 5] in unbalanced(15)
    assert all(len(jumps) != 3 for ranks in (13, 14) for jumps in unbalanced(ranks))


@pytest.mark.parametrize("name", ["circulant:12x1x3x4x5", "circulant:15x1x4x5"])
def test_the_linear_program_agrees_about_the_counterexamples(name):
    graph = find(name)
    plan = breadth_first.BreadthFirst(graph)
    loads = [plan.linear_program(0, t + 1) for t in range(len(plan.loads))]
    assert sum(loads) > Fraction(graph.ranks - 1, degree(graph))
    assert execute(breadth_first.all_gather(graph), graph).cost.n_beta == sum(loads) / graph.ranks


def test_a_line_graph_can_cost_less_than_the_expansion_of_its_schedule():
    base, larger = find("directed-circulant:6x1x4"), find("line-graph(directed-circulant:6x1x4)")
    before, after = (execute(breadth_first.all_gather(graph), graph).cost.n_beta * 2 for graph in (base, larger))
    assert (before, after) == (Fraction(5, 6), Fraction(11, 12))
    assert after < before + Fraction(1, base.ranks)


def asked(*arguments):
    return CliRunner().invoke(cli.cli, list(arguments), catch_exceptions=False)


def test_the_command_line_prints_rows_that_run_accepts_at_the_printed_cost():
    rows = json.loads(asked("find-topology", "--nodes", "64", "--degree", "4", "--json").output)["rows"]
    assert [row["expression"] for row in rows] == [row.expression for row in pareto(64, 4)]
    for row in rows:
        run = json.loads(asked("run", "all-gather", "breadth-first", "--on", row["expression"], "--json").output)
        assert (run["n_alpha"], run["n_beta_node"]) == (row["n_alpha"], row["n_beta_node"])
    assert "line graph of the dihedral graph" in asked("find-topology", "--nodes", "64", "--degree", "4").output


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--nodes", "1", "--degree", "4"), "N = 1: the topology finder takes 2 to 2048"),
        (("--nodes", "9000", "--degree", "4"), "N = 9000: the topology finder takes 2 to 2048"),
        (("--nodes", "8", "--degree", "99"), "d = 99: the topology finder takes 1 to 16"),
        (("--nodes", "eight", "--degree", "4"), "eight"),
        (("--degree", "4"), "Missing option '--nodes'"),
    ],
)
def test_bad_sizes_end_with_status_2_and_one_line(options, why, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["find-topology", *options])
    error = capsys.readouterr().err
    assert ended.value.code == 2
    assert why in error
    assert error.count("\n") == 1


def test_a_row_is_exported_for_msccl_and_runs_there():
    row = pareto(16, 4)[0]
    written = asked("export", "all-gather", "breadth-first", "--on", row.expression).output
    assert written.count("<gpu ") == row.ranks
    graph = find(row.expression)
    crossed = {(int(a), int(b)) for a, b in zip(graph.link_src, graph.link_dst, strict=True)}
    sent = re.findall(r'<gpu id="(\d+)"|<tb [^>]*send="(\d+)"', written)
    rank = -1
    for gpu, peer in sent:
        rank = int(gpu) if gpu else rank
        assert gpu or (rank, int(peer)) in crossed  # over its own wires only
    assert len(sent) > row.ranks


@pytest.mark.parametrize("degree", [3, 5, 7])
def test_where_one_rank_is_out_of_reach_two_steps_and_the_fewest_bytes_go_together(degree):
    """No graph of N = d + 2 can do with fewer of either; all jumps but one do it."""
    (row,) = pareto(degree + 2, degree, jumps=False)
    assert (row.n_alpha, row.n_beta_node) == (2, Fraction(degree + 1, degree + 2))
