"""Breadth-first schedules on any network: proved by execution, and their loads counted in two more ways."""

import os
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from itertools import product

import networkx as nx
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from colllib.algorithms import breadth_first, find
from colllib.algorithms.breadth_first import BreadthFirst, Transport
from colllib.execution import execute
from colllib.ladder import skipped
from colllib.primitives import PRIMITIVES
from colllib.topology import from_links, mesh, ring, star, torus
from colllib.topology.expression import find as find_topology
from colllib.topology.graph import turned_round

ONE = st.just(1)


@st.composite
def networks(draw, most_ranks=9, widths=ONE):
    """Strongly connected: a ring through all ranks, and more links at random, trunks and self-loops among them."""
    ranks = draw(st.integers(1, most_ranks))
    order = draw(st.permutations(range(ranks)))
    links = {(order[i], order[(i + 1) % ranks]) for i in range(ranks) if ranks > 1}
    rank = st.integers(0, ranks - 1)
    links = sorted(links | draw(st.sets(st.tuples(rank, rank), max_size=3 * ranks)))
    width = draw(st.lists(widths, min_size=len(links), max_size=len(links)))
    cables = [int(one) if one == int(one) else 1 for one in width]
    return from_links("random", ranks, links, bandwidth=width, cables=cables)


BONDS = networks(widths=st.sampled_from([1, 1, 2, 3]))
ANY = st.one_of(networks(), BONDS, networks(widths=st.sampled_from([1, Fraction(1, 2), Fraction(5, 3), 4])))


def hops(topology):
    """By networkx, from each rank to each other."""
    return dict(nx.all_pairs_shortest_path_length(topology.to_networkx()))


def least_load_over_all_sets(topology, receiver, t):
    """Hall: over every set of neighbors, the owners that depend on it over its bandwidth."""
    away = hops(topology)
    width = Counter()
    for w, u, speed in topology.to_networkx().edges(data="bandwidth"):  # the links of a trunk one by one
        if u == receiver != w:
            width[w] += speed
    owners = [v for v in range(topology.ranks) if away[v][receiver] == t]
    usable = [{w for w in width if away[v][w] == t - 1} for v in owners]
    sets = [
        {w for w, taken in zip(width, chosen, strict=True) if taken} for chosen in product((0, 1), repeat=len(width))
    ]
    return max(Fraction(sum(links <= some for links in usable)) / sum(width[w] for w in some) for some in sets if some)


@given(ANY)
@settings(max_examples=60, deadline=None)
def test_an_all_gather_is_proved_in_as_many_steps_as_the_diameter_and_costs_its_largest_loads(topology):
    run = execute(breadth_first.all_gather(topology), topology)
    assert run.schedule.makes(PRIMITIVES["all-gather"])
    diameter = nx.diameter(topology.to_networkx())
    assert run.cost.n_alpha == run.schedule.num_steps == diameter
    loads = [
        max(least_load_over_all_sets(topology, u, t) for u in range(topology.ranks)) for t in range(1, diameter + 1)
    ]
    assert run.cost.n_beta == Fraction(sum(loads)) / topology.ranks
    assert run.cost == breadth_first.all_gather_cost(topology)
    assert set(run.received) <= {Fraction(topology.ranks - 1, topology.ranks)}


@given(ANY, st.data())
@settings(max_examples=60, deadline=None)
def test_the_linear_program_and_the_closed_form_are_the_same_fraction(topology, data):
    plan = BreadthFirst(topology)
    if not plan.layers:
        return
    t = data.draw(st.integers(1, len(plan.layers)))
    receiver = data.draw(st.integers(0, topology.ranks - 1))
    problem = plan.transport(receiver, t)
    if problem is None:
        assert t not in hops(turned_round(topology))[receiver].values()
        return
    load, chosen = problem.least_load()
    assert load == plan.linear_program(receiver, t)
    width = sum(wide for k, wide in enumerate(problem.capacity) if chosen >> k & 1)
    depend = sum(n for links, n in zip(problem.links, problem.owners, strict=True) if links & ~chosen == 0)
    assert load == Fraction(depend, width)


@given(ANY)
@settings(max_examples=40, deadline=None)
def test_a_reduce_scatter_and_an_all_reduce_are_proved_on_one_way_links_too(topology):
    down = execute(breadth_first.reduce_scatter(topology), topology)
    assert down.schedule.makes(PRIMITIVES["reduce-scatter"])
    assert down.cost == breadth_first.reduce_scatter_cost(topology)
    assert down.cost == execute(breadth_first.all_gather(turned_round(topology)), turned_round(topology)).cost
    both = execute(breadth_first.all_reduce(topology), topology)
    assert both.schedule.makes(PRIMITIVES["all-reduce"])
    assert both.cost == breadth_first.all_reduce_cost(topology)
    assert reference.holds(both.schedule)


@given(ANY, st.data())
@settings(max_examples=40, deadline=None)
def test_a_rooted_vector_takes_shortest_ways_and_each_step_lasts_as_long_as_its_narrowest_receiver(topology, data):
    root = data.draw(st.integers(0, topology.ranks - 1))
    width = Counter()
    away = hops(topology)[root]
    for w, u, speed in topology.to_networkx().edges(data="bandwidth"):
        if away[w] == away[u] - 1:
            width[u] += speed
    steps = [max(1 / Fraction(width[u]) for u in away if away[u] == t) for t in range(1, max(away.values()) + 1)]
    run = execute(breadth_first.broadcast(topology, root), topology)
    assert run.schedule.makes(PRIMITIVES["broadcast"])
    assert (run.cost.n_alpha, run.cost.n_beta) == (len(steps), sum(steps))
    back = execute(breadth_first.reduce(topology, root), topology)
    assert back.schedule.makes(PRIMITIVES["reduce"])
    turned = turned_round(topology)
    assert back.cost == execute(breadth_first.broadcast(turned, root), turned).cost


@given(ANY)
@settings(max_examples=40, deadline=None)
def test_three_all_reduces_need_two_diameters_two_radii_or_one_diameter(topology):
    halves, rooted = (
        execute(build(topology), topology) for build in (breadth_first.all_reduce, breadth_first.rooted_all_reduce)
    )
    unsplit = execute(breadth_first.whole_vectors(topology), topology)
    away, ranks = hops(topology), range(topology.ranks)
    assert rooted.schedule.makes(PRIMITIVES["all-reduce"])
    assert reference.holds(rooted.schedule)
    both_ways = [max(away[r].values()) + max(away[v][r] for v in ranks) for r in ranks]
    assert rooted.cost.n_alpha == min(both_ways) <= halves.cost.n_alpha == 2 * unsplit.cost.n_alpha
    assert unsplit.cost.n_beta == topology.ranks * breadth_first.all_gather_cost(topology).n_beta
    assert set(unsplit.received) == {topology.ranks - 1}


@given(networks(), st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_few_pieces_cost_less_than_one_more_a_step_and_never_more_than_any_smaller_number(topology, most):
    plan, exact = BreadthFirst(topology), breadth_first.all_gather_cost(topology)
    run = execute(breadth_first.all_gather(topology, pieces=most), topology)
    pieces = len(run.schedule.blocks) // topology.ranks
    assert pieces <= max(most, 1)
    over = run.cost.n_beta - exact.n_beta
    assert 0 <= over <= Fraction(exact.n_alpha, pieces * topology.ranks)
    if most >= plan.pieces:
        assert over == 0
    for fewer in range(1, most + 1):
        assert run.cost.n_beta <= execute(plan.all_gather(fewer), topology).cost.n_beta


@pytest.mark.parametrize("primitive", ["all-gather", "reduce-scatter", "all-reduce"])
@pytest.mark.parametrize("dims", [(1,), (4,), (3, 4), (5, 2), (5, 4, 2)])
def test_the_closed_form_in_few_pieces_is_what_executing_them_costs(primitive, dims):
    place = torus(dims)
    for pieces in (1, 2, 3, 40):
        chosen = find(primitive, "breadth-first").configured({"pieces": pieces})
        assert chosen.costs_its_closed_form(place)
        assert chosen.cost(place) == execute(chosen.build(place), place).cost


@pytest.mark.parametrize(
    "dims", [(1,), (2,), (5,), (8,), (2, 2), (4, 4), (5, 4), (3, 3, 3), (6, 5), (4, 2, 3), (4, 4, 4)]
)
def test_tori_meet_both_bounds_and_are_moved_from_rank_0(dims):
    """No shard can come faster than its distance, and N-1 shards come in over so many links."""
    topology = torus(dims)
    run = execute(breadth_first.all_gather(topology), topology)
    assert run.cost.n_alpha == nx.diameter(topology.to_networkx())
    links, ranks = sum(min(size - 1, 2) for size in dims), topology.ranks
    assert set(run.received) == {Fraction(ranks - 1, ranks)}
    if links:
        assert run.cost.n_beta >= Fraction(ranks - 1, ranks * links)
    if 2 not in dims and links:  # what the text behind it proves
        assert run.cost.n_beta == Fraction(ranks - 1, ranks * links)
    assert len(BreadthFirst(topology).receivers) == 1
    same = from_links("the same links", ranks, sorted(topology.to_networkx().edges))
    assert len(BreadthFirst(same).receivers) == (ranks if len(dims) > 1 else 1)  # ranks in a row are a ring's
    assert execute(breadth_first.all_gather(same), topology).cost == run.cost


@pytest.mark.parametrize("name", ["circulant:12x1x5", "directed-circulant:9x1x3", "biring:4x7", "shifted-ring:8x3"])
def test_circulant_graphs_are_moved_from_rank_0_and_cost_the_same_under_other_names(name):
    graph = find_topology(name)
    run = execute(breadth_first.all_gather(graph), graph)
    assert (run.schedule.makes(PRIMITIVES["all-gather"]), len(BreadthFirst(graph).receivers)) == (True, 1)
    swapped = {0: 1, 1: 0}
    ends = [(swapped.get(a, a), swapped.get(b, b)) for a, b in zip(graph.link_src, graph.link_dst, strict=True)]
    other = from_links("swapped", graph.ranks, ends, bandwidth=list(graph.bandwidth))
    assert len(BreadthFirst(other).receivers) == graph.ranks
    assert execute(breadth_first.all_gather(other), other).cost == run.cost


def test_breadth_first_costs_what_it_has_cost_on_tori_with_short_axes():
    """By hand: on 4 x 2 rank 0 has three links, and receives 3, 3 and 1 shards in three steps."""
    assert breadth_first.all_gather_cost(torus((4, 2))).n_beta == Fraction(1 + 1 + Fraction(1, 3), 8)


def test_a_schedule_is_the_same_in_every_process():
    """Python hashes texts anew in each; the schedule must not depend on it."""
    code = (
        "from colllib.algorithms import breadth_first; from colllib.topology.expression import find; "
        "runs = [breadth_first.all_gather(find(name)) for name in ('torus:4x4x4', 'twisted-torus:4')]; "
        "print([[part.tolist() for part in s.step(t)] for s in runs for t in range(s.num_steps)])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert len(outputs.pop()) > 1000


@pytest.mark.parametrize(("wide", "narrow"), [(2**45, 2**20 - 1), (2**70, 3)])
def test_a_broadcast_waits_for_its_narrowest_links_however_wide_others_are(wide, narrow):
    links = {(0, 1): 1, (0, 2): wide, (1, 3): narrow, (3, 0): 1, (2, 0): 1}
    uneven = from_links("uneven", 4, list(links), bandwidth=list(links.values()))
    assert execute(breadth_first.broadcast(uneven), uneven).cost.n_beta == 1 + Fraction(1, narrow)


def test_many_links_at_one_rank_are_no_obstacle():
    """Sets of 70 links are longer than a machine integer."""
    wide = 35
    links = [(a, wide + b) for a in range(wide) for b in range(wide)]
    both = from_links("bipartite", 2 * wide, links + [(b, a) for a, b in links])
    hub = from_links("hub", 71, [(0, leaf) for leaf in range(1, 71)] + [(leaf, 0) for leaf in range(1, 71)])
    assert execute(breadth_first.all_gather(both), both).cost.n_beta == Fraction(1, 70) * (1 + Fraction(wide - 1, wide))
    assert execute(breadth_first.all_gather(hub), hub).cost == breadth_first.all_gather_cost(hub)
    assert breadth_first.all_gather_cost(hub).n_beta == Fraction(70, 71)  # a leaf has one link


def test_a_full_mesh_is_done_in_one_step():
    topology = find_topology("full-mesh:9")
    run = execute(breadth_first.all_gather(topology), topology)
    assert (run.cost.n_alpha, run.cost.n_beta) == (1, Fraction(1, 9))


def test_a_division_says_which_links_are_too_few():
    problem = Transport((0b01, 0b11), (3, 1), (1, 1))
    assert problem.least_load() == (3, 0b01)
    assert problem.divided(1, 3) == [[3, 0], [0, 1]]
    with pytest.raises(ValueError, match="load 2: 1 pieces of each shard need 3"):
        problem.divided(1, 2)


@pytest.mark.parametrize(
    ("topology", "words"),
    [
        (star(4), "has switches"),
        (find_topology("boxes:2x2"), "has switches"),
        (from_links("one-way", 3, [(0, 1), (1, 2)]), "a path between any two ranks, and one-way has none from 1 to 0"),
        (from_links("two parts", 4, [(0, 1), (1, 0), (2, 3), (3, 2)]), "none from 2 to 0"),
        (from_links("two speeds", 2, [(0, 1), (1, 0)], level=[0, 1]), "one alpha and one BW"),
    ],
)
@pytest.mark.parametrize("primitive", ["all-gather", "reduce-scatter", "all-reduce"])
def test_where_it_cannot_run_is_said_in_one_line(topology, words, primitive):
    assert words in find(primitive, "breadth-first").refusal(topology)
    with pytest.raises(ValueError, match=words):
        BreadthFirst(topology)


def test_ladders_have_it_on_links_of_any_kind_where_it_is_soon_found_and_pieces_are_at_least_one():
    chosen = find("all-gather", "breadth-first")
    for soon in (ring(6), mesh((3, 3)), find_topology("torus:4x4,without=0-1")):
        assert skipped(chosen, soon) is None
    assert chosen.refusal(mesh((64, 64))) is None
    assert "a search that a ladder does not start" in skipped(chosen, mesh((64, 64)))
    with pytest.raises(ValueError, match="pieces -1: must be at least 1"):
        breadth_first.all_gather(ring(5), pieces=-1)
