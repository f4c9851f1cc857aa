"""Bounds against executions: nothing that runs beats them, and each is attained somewhere."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from colllib.algorithms import ALGORITHMS, CATALOGUE, allgather, allreduce, alltoall, broadcast, find, of
from colllib.algorithms.pointtopoint import direct
from colllib.bounds import (
    ON_TORUS,
    all_to_all_hops,
    bytes_in_fewest_steps,
    crossing,
    cut,
    fewest_steps,
    floor,
    injection_bound,
    least_traffic,
    lower_bound,
    middle_cut,
    port_bound,
    worst_cut,
)
from colllib.cost import Cost
from colllib.execution import execute
from colllib.library_choices import LIBRARIES, choice, own_costs
from colllib.primitives import PRIMITIVES, all_reduce
from colllib.schedule import Schedule, Step, pipelined
from colllib.search import least_bytes
from colllib.topology import boxes, from_links, full_mesh, leaf_spine, line, mesh, ring, star, torus
from colllib.topology.cuts import cut_bandwidth, distances, floor_by_hops
from colllib.topology.expression import find as named
from colllib.topology.failures import without

SIZES = (2, 3, 4, 5, 6, 7, 8, 12, 16)
FITTING = [(a, n) for a in ALGORITHMS for n in SIZES if a.fits(n)]


@pytest.mark.parametrize(("algorithm", "n"), FITTING)
def test_no_algorithm_moves_less_than_the_least_traffic(algorithm, n):
    traffic = least_traffic(algorithm.primitive, n)
    sent, received = reference.traffic(algorithm.build(n))
    assert max(sent.values()) >= traffic.send
    assert max(received.values()) >= traffic.receive
    assert max(sent[r] + received[r] for r in range(n)) >= traffic.both
    assert sum(sent.values()) == sum(received.values()) >= traffic.total


@pytest.mark.parametrize("name", PRIMITIVES)
def test_a_rank_by_itself_moves_nothing(name):
    traffic = least_traffic(name, 1)
    assert (traffic.send, traffic.receive, traffic.both, traffic.total) == (0, 0, 0, 0)


@pytest.mark.parametrize("name", PRIMITIVES)
@pytest.mark.parametrize("n", SIZES)
def test_the_least_traffic_is_attained_by_some_algorithm(name, n):
    """In each of the four quantities by itself: no bound is weaker than it need be."""
    traffic = least_traffic(name, n)
    ledgers = [reference.traffic(a.build(n)) for a in of(name) if a.fits(n)]
    assert min(sum(sent.values()) for sent, _ in ledgers) == traffic.total
    if name == "all-reduce":  # what each rank must move, and one that moves no more: a leaf of a tree
        tree, _ = reference.traffic(allreduce.binomial_tree(n))
        assert min(tree[r] for r in range(n)) == traffic.send
    else:
        assert min(max(received.values()) for _, received in ledgers) <= max(traffic.receive, traffic.send)


def test_of_one_element_fewer_than_twice_n_minus_1_messages_make_no_all_reduce():
    """Brute force, N = 2 and 3: every sequence of single messages, each added or copied."""
    for n in (2, 3):
        full = frozenset(range(n))
        states = {tuple(frozenset([r]) for r in range(n))}
        count = 0
        while (full,) * n not in states:
            after = set()
            for state in states:
                for src, dst in product(range(n), repeat=2):
                    values = [state[src]] + [state[src] | state[dst]] * (not state[src] & state[dst])
                    after |= {(*state[:dst], value, *state[dst + 1 :]) for value in values}
            states, count = after, count + 1
        assert count == least_traffic("all-reduce", n).total


@pytest.mark.parametrize("ports", [1, 2, 3])
def test_steps_with_k_ports(ports):
    for n in range(1, 300):
        steps = fewest_steps(n, ports)
        assert (ports + 1) ** steps >= n
        assert steps == 0 or (ports + 1) ** (steps - 1) < n


def test_one_port_and_more_ports():
    assert port_bound("all-reduce", 8).n_beta == 2 * port_bound("all-reduce", 8, ports=2).n_beta
    for name, n in product(PRIMITIVES, SIZES):
        both, one_way = port_bound(name, n), port_bound(name, n, full_duplex=False)
        assert (both.n_alpha, both.n_beta) == (lower_bound(name, n).n_alpha, lower_bound(name, n).n_beta)
        assert both.n_beta <= one_way.n_beta <= 2 * both.n_beta


@pytest.mark.parametrize("axes", [(3,), (4,), (7,), (4, 4), (3, 5), (6, 4), (3, 1, 4), (3, 3, 3), (4, 6, 4)])
@pytest.mark.parametrize("name", ON_TORUS)
def test_the_formulas_of_a_torus_are_its_diameter_and_the_largest_of_its_cuts(name, axes):
    topology, form = torus(axes), ON_TORUS[name]
    if not form.holds(topology.lattice):
        assert name == "all-to-all"
        return
    last = topology.ranks - 1
    sides = [0], [last], range(last), range(1, topology.ranks)  # with the root and without it, one rank and all but one
    bounds = [injection_bound(name, topology), *(cut(name, topology, side).n_beta for side in sides)]
    if name == "all-to-all":
        bounds.append(middle_cut(topology).n_beta)
    assert form.cost(topology.lattice) == Cost(nx.diameter(topology.to_networkx()), max(bounds))
    assert form.cost(topology.lattice) == floor(name, topology)


def test_a_floor_without_a_formula_takes_over_where_the_formula_ends():
    """Axes of 2, and odd ones for the all-to-all: there the formulas say something else."""
    for name, axes in (("broadcast", (4, 2)), ("all-reduce", (2, 2)), ("all-to-all", (5, 5))):
        topology = torus(axes)
        assert not ON_TORUS[name].holds(topology.lattice)
        assert ON_TORUS[name].cost(topology.lattice) != floor(name, topology)


@pytest.mark.parametrize("exponent", range(1, 8))
def test_the_price_of_the_fewest_steps_is_what_the_logarithmic_algorithms_pay(exponent):
    n = 2**exponent
    pairs = {
        "broadcast": broadcast.binomial_tree,
        "all-reduce": allreduce.recursive_doubling,
        "all-gather": allgather.bruck,
        "all-to-all": alltoall.bruck,
    }
    for name, build in pairs.items():
        assert reference.star_cost(build(n)) == (exponent, bytes_in_fewest_steps(name, n))


def test_the_price_of_the_fewest_steps_is_what_the_search_finds():
    for name in ("broadcast", "reduce", "all-reduce", "all-gather", "reduce-scatter", "all-to-all"):
        for n in (2, 4):
            optimum = least_bytes(name, n, fewest_steps(n))
            assert optimum is not None
            assert optimum.n_beta == bytes_in_fewest_steps(name, n)
    with pytest.raises(ValueError, match="power of two"):
        bytes_in_fewest_steps("broadcast", 6)


def test_hops_of_an_all_to_all():
    for n in range(2, 40):
        assert all_to_all_hops(n, n - 1) == n - 1  # pairwise: one hop for each block
        steps = fewest_steps(n)
        assert Fraction(all_to_all_hops(n, steps), n) <= reference.star_cost(alltoall.bruck(n))[1]
    for n, steps in ((3, 2), (4, 2), (4, 3)):
        assert Fraction(all_to_all_hops(n, steps), n) == least_bytes("all-to-all", n, steps).n_beta
    with pytest.raises(ValueError, match="do not reach"):
        all_to_all_hops(9, 3)


def test_what_crosses_a_cut_crosses_it_in_every_algorithm():
    n = 6
    for algorithm in ALGORITHMS:
        if not algorithm.fits(n):
            continue
        schedule = algorithm.build(n)
        shares = list(schedule.blocks.share)
        for size in range(1, n):
            for inside in combinations(range(n), size):
                crossed = sum(
                    shares[block]
                    for step in reference.messages(schedule)
                    for src, dst, block, _ in step
                    if src in inside and dst not in inside
                )
                assert crossed >= crossing(algorithm.primitive, n, inside)


@given(st.sets(st.integers(0, 11), min_size=1, max_size=11))
def test_a_cut_counts_what_a_graph_library_counts(side):
    topology = torus((4, 3))
    graph = topology.to_networkx()
    bound = cut("all-to-all", topology, side)
    both_ways = nx.cut_size(graph, side, set(range(12)) - side)
    assert 2 * bound.links == both_ways == 2 * bound.bandwidth
    assert bound.crossing == Fraction(len(side) * (12 - len(side)), 12)


def test_a_cut_needs_two_sides_and_axes():
    with pytest.raises(ValueError, match="no cut"):
        cut("broadcast", ring(4), [])
    with pytest.raises(ValueError, match="no cut"):
        cut("broadcast", ring(4), range(4))
    with pytest.raises(ValueError, match="no axes"):
        middle_cut(star(4))


def test_a_cut_through_switches_counts_the_links_where_it_runs():
    """4 of 8 ranks: their own links; with two leaves of 4 ranks and 2 spines: from leaf to spine, 2 links of BW."""
    assert cut("all-gather", star(8), range(4)).links == 4
    assert cut("all-gather", leaf_spine(2, 4, 2), range(4)).links == cut_bandwidth(leaf_spine(2, 4, 2), range(4)) == 2


def two_boxes():
    links = [(a, b) for box in (0, 4) for a in range(box, box + 4) for b in range(box, box + 4) if a != b]
    return from_links("two boxes", 8, [*links, (0, 4), (4, 0)])


def test_the_bandwidth_of_a_cut_is_the_minimum_cut_of_networkx():
    for topology in (ring(6), full_mesh(4), star(5), star(4, ports=3), two_boxes()):
        graph = topology.to_networkx()
        for a, b in graph.edges:
            graph.edges[a, b]["capacity"] = graph.edges[a, b]["bandwidth"]
        for inside in [(0,), (0, 1), (0, 1, 2)]:
            wide = graph.copy()
            for rank in range(topology.ranks):
                wide.add_edge(*(("s", rank) if rank in inside else (rank, "t")), capacity=10**6)
            assert cut_bandwidth(topology, inside) == nx.minimum_cut_value(wide, "s", "t")


@pytest.mark.parametrize("topology", [ring(5), ring(8), star(6), full_mesh(5), two_boxes()])
def test_no_algorithm_beats_a_cut_or_the_injection(topology):
    n = topology.ranks
    for algorithm in ALGORITHMS:
        if algorithm.fits(n):
            n_beta = execute(algorithm.build(n), topology).cost.n_beta
            assert n_beta >= worst_cut(algorithm.primitive, topology).n_beta
            assert n_beta >= injection_bound(algorithm.primitive, topology)


def test_two_boxes_are_bound_by_the_link_between_them():
    worst = worst_cut("all-to-all", two_boxes())
    assert (worst.inside, worst.bandwidth, worst.n_beta) == ((0, 1, 2, 3), 1, 2)


def through_the_switch(n):
    links = [(r, n) for r in range(n)] + [(n, r) for r in range(n)]
    topology = from_links(f"switch:{n}", n, links, switches=1, alpha=[1] * 2 * n, combines=True, replicates=True)
    steps = [Step.of(np.arange(n), n, 0, add=True), Step.of(n, np.arange(n), 0)]
    return Schedule.from_steps(all_reduce(n), steps, switches=1), topology


def test_a_switch_that_adds_beats_the_average_and_no_cut():
    schedule, topology = through_the_switch(8)
    run = execute(pipelined(schedule, 50), topology)
    sent, received = reference.traffic(run.schedule)
    assert {sent[r] for r in range(8)} == {received[r] for r in range(8)} == {1}
    assert worst_cut("all-reduce", topology).n_beta == 1 < run.cost.n_beta < lower_bound("all-reduce", 8).n_beta
    with pytest.raises(ValueError, match="switches of switch:8 help"):
        injection_bound("all-reduce", topology)


def test_adding_what_is_sent_to_what_is_received_proves_too_much():
    """Send (N-1)/N and receive (N-1)/N, added: pairwise all-to-all would be impossible on a full-duplex port."""
    for n in (3, 4, 8):
        sent, received = reference.traffic(alltoall.pairwise(n))
        assert {sent[r] for r in range(n)} == {received[r] for r in range(n)} == {Fraction(n - 1, n)}
        assert reference.star_cost(alltoall.pairwise(n))[1] < 2 * Fraction(n - 1, n)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: least_traffic("gossip", 3), "unknown primitive 'gossip'"),
        (lambda: crossing("gossip", 3, [0]), "unknown primitive 'gossip'"),
        (lambda: fewest_steps(4, ports=0), "ports 0: must be at least 1"),
        (lambda: worst_cut("broadcast", ring(13)), "2 to 12 ranks"),
        (lambda: worst_cut("broadcast", from_links("apart", 2, [(1, 0)])), "nothing leaves"),
    ],
)
def test_bad_input_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("width", [Fraction(1, 10), 1, 3])
@pytest.mark.parametrize(
    "build", [lambda: torus((4, 3)), lambda: mesh((3, 2)), lambda: full_mesh(5), lambda: torus((8,))]
)
def test_nothing_that_runs_on_links_of_any_width_beats_the_floor(build, width):
    topology = build()
    tiers = tuple(replace(tier, bandwidth=tier.bandwidth * width) for tier in topology.tiers)
    topology = replace(topology, tiers=tiers)
    for algorithm in CATALOGUE:
        if algorithm.name not in ("flow", "forest", "synthesis") and algorithm.refusal(topology) is None:
            cost = execute(algorithm.build(algorithm.argument(topology)), topology).cost
            least = floor(algorithm.primitive, topology)
            assert cost.n_alpha >= least.n_alpha, algorithm
            assert cost.n_beta >= least.n_beta, algorithm


@pytest.mark.parametrize(
    "on",
    ["kautz:2x6", "hypercube:3", "uniring:1x4", "circulant:7x1x2", "debruijn:2x3", "full-mesh:4", "twisted-torus:4x2"],
)
@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_on_a_graph_a_floor_has_its_hops_and_its_links_and_nothing_beats_it(primitive, on):
    topology = named(on)
    least, hops = floor(primitive, topology), distances(topology)
    assert least.n_beta >= injection_bound(primitive, topology)
    if primitive == "all-to-all":
        assert least.n_beta >= floor_by_hops(topology)
    assert least.n_alpha == (hops[0, -1] if primitive == "point-to-point" else hops.max())
    for algorithm in CATALOGUE:
        fits = algorithm.primitive == primitive and algorithm.name not in ("flow", "forest", "synthesis")
        if fits and algorithm.refusal(topology) is None:
            cost = execute(algorithm.build(algorithm.argument(topology)), topology).cost
            assert cost.n_alpha >= least.n_alpha, algorithm
            assert cost.n_beta >= least.n_beta, algorithm


def test_a_floor_is_that_of_the_ports_and_none_where_they_differ():
    assert floor("all-gather", star(4, ports=3)) == Cost(2, execute(allgather.bruck(4), star(4, ports=3)).cost.n_beta)
    assert floor("point-to-point", torus((8, 8))).n_alpha == execute(direct(64), torus((8, 8))).cost.n_alpha
    with pytest.raises(ValueError, match="all of one speed"):
        floor("all-reduce", from_links("two", 2, [(0, 1), (1, 0)], bandwidth=[1, 2]))


def test_a_cut_through_two_levels_has_no_one_bandwidth():
    for ask in (lambda: cut("all-reduce", boxes((2, 4)), [0]), lambda: injection_bound("all-reduce", boxes((2, 4)))):
        with pytest.raises(ValueError, match="several levels of BW"):
            ask()


@pytest.mark.parametrize("name", PRIMITIVES)
def test_bounds_and_choices_take_numbers_of_ranks_from_an_array(name):
    for ranks in 2 ** np.arange(1, 8):
        assert lower_bound(name, ranks) == lower_bound(name, int(ranks))
        for library in LIBRARIES:
            assert choice(library, name, ranks, 64) == choice(library, name, int(ranks), 64)
            assert own_costs(library, name, ranks) == own_costs(library, name, int(ranks))


def test_a_rank_that_no_link_leads_to_is_named_and_one_rank_alone_has_nothing_to_send():
    with pytest.raises(ValueError, match="line:5,without=0-1: no link leads to rank 0"):
        floor("all-gather", without(line(5), "0-1"))
    with pytest.raises(ValueError, match="line:2,without=0-1: no link leaves any rank"):
        injection_bound("broadcast", without(line(2), "0-1"))
    assert injection_bound("all-gather", ring(1)) == 0


def test_a_bound_builds_nothing_and_has_no_largest_number_of_ranks():
    bound, ring = lower_bound("all-reduce", 4_000_000), find("all-reduce", "ring").cost(4_000_000)
    assert bound.n_beta == ring.n_beta == Fraction(2 * 3_999_999, 4_000_000)
