"""Graphs on the command line."""

import json
from fractions import Fraction

import networkx as nx
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import expressions, find_multigraph

from colllib import cli
from colllib.graphs import command
from colllib.graphs.measures import degree
from colllib.topology.describe import wires
from colllib.topology.expression import OPERATIONS, TOPOLOGIES, find


def described(expression, *options):
    done = CliRunner().invoke(cli.cli, ["describe", expression, "--json", *options], catch_exceptions=False)
    assert done.exit_code == 0
    return json.loads(done.output)


def test_a_graph_is_described_by_its_degree_diameter_bounds_and_throughput():
    facts = described("line-graph(complete-bipartite:4x4)")
    graph = find("line-graph(complete-bipartite:4x4)").to_networkx()
    assert facts["nodes"] == len(graph) == 32
    assert facts["degree"] == graph.number_of_edges() // 32
    assert facts["diameter"] == facts["moore_diameter"] == nx.diameter(graph)
    assert facts["moore_bound"] == 1 + 4 + 16 + 64
    assert facts["moore_bound_undirected"] is None  # a link of it has none the other way
    assert facts["f"] == "2/35"
    assert facts["left_out"] == {}


def test_chassis_are_counted_where_their_ports_are_told():
    """A 4-ary fat-tree has 20 switches of 4 ports, each of which is two of 2 ports."""
    assert [sum(alike["chassis"] for alike in described("fat-tree:4", *radix)["switches"])
            for radix in ([], ["--radix", "4"], ["--radix", "2"])] == [0, 20, 40]  # fmt: skip


def test_a_switch_that_stands_for_several_is_said_to():
    for on, said_to in (("dgx-h100:64,rails=8", True), ("boxes:2x2x8,rails=8", False)):
        text = CliRunner().invoke(cli.cli, ["describe", on, "--radix", "64"]).output
        assert ("One of more than 64 ports stands for several" in text) is said_to


def test_what_is_too_large_to_find_is_left_out_and_says_so():
    facts = described("ring:5000")
    assert (facts["nodes"], facts["degree"], facts["diameter"], facts["f"]) == (5000, 2, None, None)
    assert "distances between ranks are too many" in facts["left_out"]["diameter"]


def test_an_f_that_takes_long_is_left_out_and_its_bound_remains(monkeypatch):
    complete = described("kautz:3x20")
    monkeypatch.setattr(command, "MOST_VARIABLES", 16)
    facts = described("kautz:3x20")
    assert facts["f"] is None
    assert facts["left_out"]["f"].endswith("at most 16 will do")
    assert complete["left_out"] == {}
    assert 0.9 * float(Fraction(facts["f_bound"])) < float(Fraction(complete["f"])) <= float(Fraction(facts["f_bound"]))


def test_unequal_degrees_have_no_moore_bound():
    facts = described("mesh:3x3")
    assert (facts["degree"], facts["moore_bound"], facts["diameter"]) == (None, None, 4)
    assert "breadth_first_optimal" not in facts


def test_a_topology_with_switches_is_described_without_them():
    assert "degree" not in described("star:4")


def test_a_person_reads_the_same():
    done = CliRunner().invoke(cli.cli, ["describe", "diamond"], catch_exceptions=False)
    assert ["f", "3/20"] in [line.split() for line in done.output.splitlines()]


def test_every_operation_and_family_is_listed():
    done = CliRunner().invoke(cli.cli, ["list", "--json"], catch_exceptions=False)
    listed = json.loads(done.output)
    assert listed["operations"] == [f"{name}({','.join(OPERATIONS[name].operands)})" for name in OPERATIONS]
    assert {form.example for form in TOPOLOGIES.values()} == set(listed["topologies"])


def test_a_graph_is_listed_by_an_example_that_names_one_and_says_what_its_numbers_are():
    text = CliRunner().invoke(cli.cli, ["list"], catch_exceptions=False).output
    names = list(TOPOLOGIES)
    for name in names[names.index("complete-bipartite") :]:
        assert find(TOPOLOGIES[name].example).ranks > 1
        assert TOPOLOGIES[name].example in text
    assert "of uniring, biring and kautz the degree, then the ranks; of debruijn" in text
    for name in ("uniring", "biring", "kautz"):
        d, ranks = map(int, TOPOLOGIES[name].example.partition(":")[2].split("x"))
        assert (degree(find(TOPOLOGIES[name].example)), find(TOPOLOGIES[name].example).ranks) == (d, ranks)
    assert TOPOLOGIES["debruijn"].example in text.split("; of debruijn")[1].splitlines()[0]
    assert f"{find(TOPOLOGIES['debruijn'].example).ranks} ranks" in text.split("; of debruijn")[1].splitlines()[0]


@pytest.mark.parametrize("on", ["circulant:16x3x4", "line-graph(complete-bipartite:2x2)", "power(diamond,2)"])
def test_a_schedule_runs_on_a_graph(on):
    done = CliRunner().invoke(cli.cli, ["run", "all-gather", "ring", "--on", on, "--json"], catch_exceptions=False)
    facts = json.loads(done.output)
    assert (facts["topology"], facts["correct"]) == (on, True)


@pytest.mark.parametrize("on", ["circulant:16x2x4", "line-graph(star:4)", "ring:4,without=0-1,without=2-3"])
def test_bad_graphs_end_in_one_line_and_status_2(on, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["describe", on, "--json"])
    captured = capsys.readouterr()
    assert ended.value.code == 2
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("on", "cables"), [("hypercube:4", 32), ("uniring:1x5", 5), ("uniring:2x5", 10), ("diamond", 16)]
)
def test_a_graph_has_a_cable_for_two_opposite_links_or_for_one_and_no_bisection_of_cables(on, cables):
    [tier] = wires(find(on))
    assert (tier.cables, tier.bisection) == (cables, None)


@given(
    st.one_of(expressions, st.sampled_from(["directed-circulant:3x1x1x2", "directed-circulant:6x1x1x3x5", "star:5"]))
)
@settings(max_examples=60, deadline=None)
def test_between_two_nodes_are_as_many_cables_as_links_the_way_that_has_more(on):
    """A full-duplex cable carries one link each way, and a self-loop takes one of its own."""
    graph = find_multigraph(on)
    pairs = {frozenset(ends) for ends in graph.edges()}
    ends = ((min(pair), max(pair)) for pair in pairs)
    needed = sum(max(graph.number_of_edges(a, b), graph.number_of_edges(b, a)) for a, b in ends)
    assert sum(tier.cables for tier in wires(find(on))) == needed


def test_the_cables_of_a_graph_with_more_links_one_way_are_those_of_that_way():
    """Three ranks, from each two links to the next and one to the one before: two cables for each of three pairs."""
    tiers = described("directed-circulant:3x1x1x2")["tiers"]
    assert [(tier["tier"], tier["cables"]) for tier in tiers] == [("link", 0), ("trunk of 2", 6)]
