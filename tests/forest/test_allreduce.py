"""The linear program for all-reduce: where it gains over two all-gathers, and trees that reach what it says."""

from fractions import Fraction

import networkx as nx
import pytest
from forest_fabrics import from_speeds, unbalanced
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from colllib.execution import execute
from colllib.forest import bound, busiest, fabric, forest
from colllib.forest.allreduce import TOO_FINE, all_reduce, divided, five_ranks, half_boxes
from colllib.primitives import PRIMITIVES
from colllib.primitives import all_reduce as blocks_of_a_sum
from colllib.schedule import Schedule, Step
from colllib.topology import from_links, star, torus
from colllib.topology.expression import find


def weighted(edges):
    """Ranks joined both ways."""
    ranks = 1 + max(max(pair) for pair in edges)
    return from_speeds(ranks, ranks, {link: width for (a, b), width in edges.items() for link in ((a, b), (b, a))})


FIVE = five_ranks()


def twice(topology):
    """The rate of a reduce-scatter and an all-gather, one after the other."""
    network = fabric(topology)
    return Fraction(network.total) / (2 * bound(network).inverse_throughput)


def test_behind_two_switches_three_ranks_of_equal_bandwidth_refute_it():
    """Ranks 0 and 1 on switch 3, rank 2 on switch 4, 2 units each, and 1 unit between the switches; by hand.

    Two shards leave the pair to gather: 2/3 M over 1 unit, and as much to scatter. At once: rank 2 sends its halves to
    0 and 1, which trade theirs and send both sums to it, M each way between the switches.
    """
    wide = {(0, 3): 2, (1, 3): 2, (2, 4): 2, (3, 4): 1}
    links = [*wide, *((b, a) for a, b in wide)]
    topology = from_links(
        "two and one", 3, links, switches=2, alpha=[Fraction(1, 2)] * len(links), bandwidth=[*wide.values()] * 2
    )
    assert twice(topology) == Fraction(3, 4)
    assert execute(forest(topology, primitive="all-reduce").schedule(), topology).cost.n_beta == Fraction(4, 3)
    forward = Step.of([2, 2, 0, 1], [0, 1, 1, 0], [0, 1, 1, 0], add=True)
    back = Step.of([0, 0, 1, 1], [1, 2, 0, 2], [0, 0, 1, 1])
    halves = Schedule.from_steps(blocks_of_a_sum(3, [Fraction(1, 2)] * 2), [forward, back])
    assert busiest(execute(halves, topology)) == 1 / divided(fabric(topology)).rate == 1


def test_five_ranks_of_equal_bandwidth_refute_that_two_all_gathers_are_always_best():
    network = fabric(FIVE)
    assert set(network.capacity.sum(axis=0)) == set(network.capacity.sum(axis=1)) == {4}
    run = execute(all_reduce(FIVE), FIVE)
    assert run.schedule.makes(PRIMITIVES["all-reduce"])
    both = forest(FIVE, primitive="all-reduce")
    assert both.reached()
    assert busiest(run) == Fraction(1, 2) < busiest(execute(both.schedule(), FIVE)) == 1 / twice(FIVE) == Fraction(3, 5)


@settings(max_examples=20, deadline=None)
@given(data=st.data(), ranks=st.integers(2, 4))
def test_up_to_four_ranks_of_equal_bandwidth_nothing_is_gained(data, ranks):
    turns = data.draw(st.lists(st.permutations(range(ranks)), min_size=1, max_size=4))
    speeds: dict[tuple[int, int], int] = {}
    for order in turns:  # every closed walk through all ranks adds as much to each
        for link in zip(order, [*order[1:], order[0]], strict=True):
            speeds[link] = speeds.get(link, 0) + 1
            speeds[link[::-1]] = speeds.get(link[::-1], 0) + 1
    topology = from_speeds(ranks, ranks, speeds)
    assert divided(fabric(topology)).rate == twice(topology)


@settings(max_examples=15, deadline=None)
@given(data=st.data(), ranks=st.integers(2, 5))
def test_no_rate_is_above_the_smallest_cut_and_none_below_two_all_gathers(data, ranks):
    pairs = [(a, b) for a in range(ranks) for b in range(a + 1, ranks)]
    more = data.draw(st.sets(st.sampled_from(pairs)))
    chain = {(a, a + 1) for a in range(ranks - 1)}
    topology = weighted({pair: data.draw(st.integers(1, 4)) for pair in sorted(chain | more)})
    graph = nx.Graph()
    for a, b in chain | more:
        graph.add_edge(a, b, weight=int(fabric(topology).capacity[a, b] * fabric(topology).unit))
    rate = divided(fabric(topology)).rate
    assert twice(topology) <= rate <= nx.stoer_wagner(graph)[0]
    try:
        schedule = all_reduce(topology)
    except ValueError as error:
        if TOO_FINE in str(error):
            reject()
        raise
    assert busiest(execute(schedule, topology)) == 1 / rate


@settings(max_examples=20, deadline=None)
@given(topology=unbalanced(most_ranks=4))
def test_links_that_lead_one_way_or_are_wider_one_way_carry_what_the_program_says(topology):
    run = execute(all_reduce(topology), topology)
    assert run.schedule.makes(PRIMITIVES["all-reduce"])
    assert busiest(run) == 1 / divided(fabric(topology)).rate


@settings(max_examples=15, deadline=None)
@given(data=st.data(), ranks=st.integers(2, 4))
def test_a_switch_in_the_middle_of_a_link_changes_no_rate(data, ranks):
    pairs = [(a, b) for a in range(ranks) for b in range(a + 1, ranks)]
    more = data.draw(st.sets(st.sampled_from(pairs)))
    edges = {pair: data.draw(st.integers(1, 4)) for pair in sorted({(a, a + 1) for a in range(ranks - 1)} | more)}
    parted = {
        link: width
        for switch, ((a, b), width) in enumerate(edges.items(), start=ranks)
        for link in ((a, switch), (switch, b), (b, switch), (switch, a))
    }
    split = from_speeds(ranks, ranks + len(edges), parted)
    assert divided(fabric(split)).rate == divided(fabric(weighted(edges))).rate


@pytest.mark.parametrize("on", ["boxes:2x2", "star:5", "dgx-a100:1", "boxes:2x4,cards=2", "fat-tree:2"])
def test_through_switches_two_all_gathers_are_best_where_they_fill_all_links_into_ranks(on):
    network = fabric(find(on))
    into = network.capacity[:, : network.ranks].sum() * network.unit
    assert twice(find(on)) == Fraction(into) / (2 * (network.ranks - 1)) == divided(network).rate


def test_through_the_switch_of_two_half_boxes_of_mi250_the_program_gains_as_without_it():
    network = fabric(find("mi250-8x2"))
    assert divided(network).rate == divided(fabric(half_boxes())).rate > twice(find("mi250-8x2"))


def test_on_tori_two_all_gathers_are_best():
    for name in ("torus:2x2", "torus:3x3"):
        assert divided(fabric(find(name))).rate == twice(find(name))
    run = execute(all_reduce(torus((3, 3))), torus((3, 3)))
    assert busiest(run) == 1 / twice(torus((3, 3)))


def test_what_cannot_be_is_refused_in_one_line():
    with pytest.raises(ValueError, match=r"^star:4 has switches: .*; forest\(\.\.\., primitive=\"all-reduce\"\) packs"):
        all_reduce(star(4))
    assert forest(star(4), primitive="all-reduce").reached()
    with pytest.raises(ValueError, match=r"^the linear program of mi250:4: .* variables"):
        divided(fabric(find("mi250:4")))
