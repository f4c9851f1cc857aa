"""Expanded schedules: proved on the expanded graphs, at the costs that the theorems promise."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colllib.algorithms import allgather, allreduce, breadth_first, expansion
from colllib.execution import execute
from colllib.graphs.measures import degree, moore_diameter
from colllib.primitives import PRIMITIVES
from colllib.schedule import in_sequence, reversed_in_time, split
from colllib.topology.cuts import diameter
from colllib.topology.expression import find

FAMILIES = [
    *("full-mesh:4", "complete-bipartite:2x2", "complete-bipartite:3x3", "hamming:2x3", "hypercube:3"),
    *("twisted-hypercube:3", "uniring:1x4", "uniring:2x3", "biring:2x5", "circulant:8x1x3", "kautz:2x7", "kautz:3x11"),
    *("debruijn:2x3", "distance-regular:6", "ring:5", "torus:3x3", "shifted-ring:8x3", "directed-circulant:6x1x2"),
]
FEW_LOOPS = [name for name in FAMILIES if not name.startswith(("debruijn", "kautz"))]


def executed(schedule, name):
    run = execute(schedule, find(name))
    assert run.schedule.makes(PRIMITIVES["all-gather"])
    return run.cost


def at_node(cost, name):
    """In units of M/B, B what a rank's links carry together."""
    return cost.n_beta * degree(find(name))


@pytest.mark.parametrize("name", FAMILIES)
def test_a_line_graph_costs_one_step_and_no_more_than_1_over_n_more(name):
    """Theorem 7, and with Theorem 10 just that much where ranks have more than one neighbor."""
    base = find(name)
    schedule = breadth_first.all_gather(base)
    before, expanded = execute(schedule, base).cost, f"line-graph({name})"
    after = executed(expansion.line_graph(schedule, base), expanded)
    assert after.n_alpha == before.n_alpha + (degree(base) > 1)  # with one link each, only owners are left at the end
    assert at_node(after, expanded) <= at_node(before, name) + Fraction(1, base.ranks)
    neighbors = min(len(set(base.link_dst[base.link_src == rank]) - {rank}) for rank in range(base.ranks))
    if neighbors > 1 and not (base.link_src == base.link_dst).any():
        assert at_node(after, expanded) == at_node(before, name) + Fraction(1, base.ranks)
    direct = breadth_first.all_gather_cost(find(expanded))
    assert direct.n_alpha <= after.n_alpha
    assert direct.n_beta <= after.n_beta


@pytest.mark.parametrize("name", ["complete-bipartite:2x2", "kautz:2x6", "uniring:2x3", "hamming:2x3"])
def test_line_graphs_again_and_again_cost_the_sum_of_what_each_adds(name):
    """Corollary 7.1: a geometric series."""
    graph, schedule = find(name), breadth_first.all_gather(find(name))
    first, d, ranks = execute(schedule, graph).cost, degree(graph), graph.ranks
    for times in range(1, 4):
        schedule, graph = expansion.line_graph(schedule, graph), find(f"line-graph({graph.name})")
        cost = execute(schedule, graph).cost
        assert graph.ranks == ranks * d**times
        assert cost.n_alpha == first.n_alpha + times
        added = Fraction(d, d - 1) * (Fraction(1, ranks) - Fraction(1, d**times * ranks))
        assert cost.n_beta * d <= first.n_beta * d + added


@pytest.mark.parametrize("name", FEW_LOOPS)
def test_only_a_complete_graph_keeps_the_fewest_steps_in_a_degree_expansion(name):
    base, large = find(name), find(f"degree({name},2)")
    steps = expansion.degree_expansion(breadth_first.all_gather(base), base, 2).num_steps
    fewest = moore_diameter(large.ranks, degree(large))
    assert (steps == fewest) == (diameter(base) == 1)


@pytest.mark.parametrize("name", FEW_LOOPS)
@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_degree_expansion_costs_one_step_and_the_shards_of_its_own_copies(name, times):
    """Theorem 11; one copy is the graph itself."""
    base = find(name)
    schedule = breadth_first.all_gather(base)
    before, expanded = execute(schedule, base).cost, f"degree({name},{times})"
    after = executed(expansion.degree_expansion(schedule, base, times), expanded)
    assert after.n_alpha == before.n_alpha + (times > 1)
    assert at_node(after, expanded) == at_node(before, name) + Fraction(times - 1, times * base.ranks)


@pytest.mark.parametrize("name", [name for name in FAMILIES if find(name).ranks <= 9])
def test_a_cartesian_power_takes_n_times_the_steps_and_keeps_the_share_of_the_bound(name):
    """Theorem 12."""
    base = find(name)
    schedule, ranks = breadth_first.all_gather(base), base.ranks
    before, expanded = execute(schedule, base).cost, f"power({name},2)"
    after = executed(expansion.cartesian_product(schedule, schedule), expanded)
    assert after.n_alpha == 2 * before.n_alpha
    grown = Fraction(ranks, ranks - 1) * Fraction(ranks**2 - 1, ranks**2)
    assert at_node(after, expanded) == 2 * degree(base) * before.n_beta / 2 * grown
    assert breadth_first.all_gather_cost(find(expanded)).n_alpha == after.n_alpha


@pytest.mark.parametrize(
    ("name", "better"),
    [("kautz:2x6", True), ("diamond", True), ("kautz:2x7", False), ("debruijn:2x3", False), ("hypercube:3", None)],
)
def test_breadth_first_on_a_power_may_carry_less_or_more_than_the_power_of_breadth_first(name, better):
    """The product has more shortest paths; but the busiest receivers of two axes may meet in one step."""
    base, squared = find(name), find(f"power({name},2)")
    schedule = breadth_first.all_gather(base)
    power = execute(expansion.cartesian_product(schedule, schedule), squared).cost
    direct = execute(breadth_first.all_gather(squared), squared).cost
    assert direct.n_alpha == power.n_alpha
    assert (direct.n_beta < power.n_beta, direct.n_beta > power.n_beta) == (better is True, better is False)


@pytest.mark.parametrize("name", ["kautz:2x6", "kautz:3x12", "circulant:8x1x3", "diamond", "uniring:1x4"])
def test_breadth_first_on_a_degree_expansion_needs_no_more_steps_and_no_more_of_any_link(name):
    base = find(name)
    expanded = find(f"degree({name},2)")
    after = execute(expansion.degree_expansion(breadth_first.all_gather(base), base, 2), expanded).cost
    direct = execute(breadth_first.all_gather(expanded), expanded).cost
    assert direct.n_alpha <= after.n_alpha
    assert direct.n_beta <= after.n_beta


@pytest.mark.parametrize("names", [("uniring:1x4", "uniring:1x8"), ("ring:3", "ring:4"), ("full-mesh:4", "ring:5")])
def test_breadth_first_meets_the_bound_on_products_of_graphs_on_which_it_does(names):
    """Theorem 13; one factor after another needs as many steps, and more of the busiest link."""
    product = f"product({','.join(names)})"
    topology = find(product)
    for name in names:
        ranks = find(name).ranks
        assert at_node(breadth_first.all_gather_cost(find(name)), name) == Fraction(ranks - 1, ranks)
    best = execute(breadth_first.all_gather(topology), topology).cost
    assert at_node(best, product) == Fraction(topology.ranks - 1, topology.ranks)
    in_turn = executed(expansion.cartesian_product(*(breadth_first.all_gather(find(name)) for name in names)), product)
    assert in_turn.n_alpha == best.n_alpha
    assert in_turn.n_beta > best.n_beta


@given(
    st.sampled_from(FEW_LOOPS[:6]), st.sampled_from(["line", "degree", "power"]), st.sampled_from(["line", "degree"])
)
@settings(max_examples=12, deadline=None)
def test_expansions_of_expansions_are_proved(name, first, second):
    graph, schedule = find(name), breadth_first.all_gather(find(name))
    for kind in (first, second):
        if graph.ranks > 40:
            return
        if kind == "line":
            schedule, graph = expansion.line_graph(schedule, graph), find(f"line-graph({graph.name})")
            if (graph.link_src == graph.link_dst).any():
                return
        elif kind == "degree":
            schedule, graph = expansion.degree_expansion(schedule, graph, 2), find(f"degree({graph.name},2)")
        else:
            schedule, graph = expansion.cartesian_product(schedule, schedule), find(f"power({graph.name},2)")
        assert execute(schedule, graph).schedule.makes(PRIMITIVES["all-gather"])


def test_any_all_gather_of_equal_shards_can_be_expanded_and_nothing_else():
    ring = find("uniring:1x4")
    run = execute(expansion.line_graph(allgather.ring(4), ring), find("line-graph(uniring:1x4)"))
    assert run.cost.n_alpha == 3  # the line graph of a one-way ring is the ring: the last step has no messages
    mixed = expansion.cartesian_product(allgather.ring(3), split(allgather.ring(3), 2))
    assert execute(mixed, find("power(uniring:1x3,2)")).schedule.makes(PRIMITIVES["all-gather"])
    with pytest.raises(ValueError, match="an all-gather of equal shards in equal pieces is needed"):
        expansion.line_graph(allreduce.ring(4), ring)
    with pytest.raises(ValueError, match="a schedule for 5 ranks does not fit uniring:1x4, which has 4"):
        expansion.degree_expansion(allgather.ring(5), ring, 2)
    with pytest.raises(ValueError, match="at least one factor"):
        expansion.cartesian_product()


BOTH_WAYS = [
    "line-graph(kautz:2x6)",
    "line-graph(debruijn:2x2)",
    "degree(uniring:1x4,2)",
    "power(uniring:1x3,2)",
    "directed-circulant:6x1x4",
    "uniring:2x3",
    "torus:3x3",
]


@pytest.mark.parametrize("name", BOTH_WAYS)
def test_on_a_reverse_symmetric_graph_an_all_gather_runs_backwards_at_its_own_cost(name):
    """Theorem 2; of the first four the all-gather is an expansion, which nobody divides anew."""
    graph = find(name)
    schedule = expanded_to(name)
    run = execute(expansion.reduce_scatter(schedule, graph), graph)
    assert run.schedule.makes(PRIMITIVES["reduce-scatter"])
    assert run.cost == execute(schedule, graph).cost
    both = execute(in_sequence(run.schedule, split(schedule, len(run.schedule.blocks) // len(schedule.blocks))), graph)
    assert both.schedule.makes(PRIMITIVES["all-reduce"])
    assert both.cost == run.cost + run.cost


@pytest.mark.parametrize("name", BOTH_WAYS)
def test_both_ways_at_once_cost_as_much_at_a_node_on_twice_the_links(name):
    """Section A.1.6."""
    graph, wider = find(name), f"bidirectional({name})"
    schedule = expanded_to(name)
    before, after = execute(schedule, graph).cost, executed(expansion.bidirectional(schedule, graph), wider)
    assert degree(find(wider)) == 2 * degree(graph)
    assert after.n_alpha == before.n_alpha
    assert at_node(after, wider) == at_node(before, name)


def test_both_ways_what_met_the_moore_bound_may_no_longer():
    one_way, wider = find("kautz:2x12"), "bidirectional(kautz:2x12)"
    after = executed(expansion.bidirectional(breadth_first.all_gather(one_way), one_way), wider)
    assert after.n_alpha == moore_diameter(12, 2) > moore_diameter(12, 4)


def test_on_other_graphs_the_reduce_scatter_comes_from_the_transpose():
    graph = find("diamond")
    with pytest.raises(ValueError, match=r"^diamond is not isomorphic to its transpose: reverse an all-"):
        expansion.reduce_scatter(breadth_first.all_gather(graph), graph)
    back = reversed_in_time(breadth_first.all_gather(find("transpose(diamond)")))
    assert execute(back, graph).schedule.makes(PRIMITIVES["reduce-scatter"])


def expanded_to(name):
    """The all-gather of an expression: an expansion where it is one, else breadth-first."""
    if name.startswith("line-graph("):
        base = find(name[len("line-graph(") : -1])
        return expansion.line_graph(breadth_first.all_gather(base), base)
    if name.startswith("degree("):
        base = find(name[len("degree(") : -3])
        return expansion.degree_expansion(breadth_first.all_gather(base), base, 2)
    if name.startswith("power("):
        one = breadth_first.all_gather(find(name[len("power(") : -3]))
        return expansion.cartesian_product(one, one)
    return breadth_first.all_gather(find(name))
