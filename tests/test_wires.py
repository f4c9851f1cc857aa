"""Cuts, own routes, balanced routes and twisted tori, against graphs and second counts."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from colllib.algorithms import relay
from colllib.execution import execute
from colllib.topology import Lattice, mesh, ring, star, torus, twisted_torus
from colllib.wires import Wrapped, alternating_torus, blocks_on, cut, middle_cut, with_routes


def test_own_routes_are_followed_and_wrong_ones_refused():
    clockwise = with_routes(ring(5), lambda a, b: [(a + k) % 5 for k in range((b - a) % 5 + 1)])
    loads = relay.link_loads(clockwise)
    assert sorted(set(loads)) == [0, Fraction(1 + 2 + 3 + 4, 5)]
    run = execute(relay.relay_one_by_one(clockwise), clockwise)
    assert run.link_total == loads
    with pytest.raises(ValueError, match="must lead there over links"):
        with_routes(ring(5), lambda a, b: [a, b])
    with pytest.raises(ValueError, match="must lead there"):
        with_routes(ring(3), lambda a, b: [a, (a + 1) % 3])


@pytest.mark.parametrize("dims", [(4, 4), (5, 5), (6, 6), (8, 8), (6, 4), (4, 4, 4)])
def test_axes_in_turn_keep_the_busiest_links_busy(dims):
    """One block on a link and step, in as many steps as the busiest link has blocks: no order is faster."""
    where = alternating_torus(dims)
    loads = relay.link_loads(where)
    assert sorted(loads) == sorted(relay.link_loads(torus(dims, tie="balanced")))
    run = execute(relay.relay_one_by_one(where), where)
    assert run.cost.n_alpha == max(loads) * where.ranks
    assert run.cost.n_beta == max(loads) >= middle_cut(where).bound


@given(st.lists(st.integers(1, 5), min_size=1, max_size=3).filter(lambda d: 1 < np.prod(d) <= 40), st.booleans())
@settings(max_examples=30)
def test_no_routing_beats_a_cut(dims, wraps):
    where = torus(dims) if wraps else mesh(dims)
    assert max(relay.link_loads(where)) >= middle_cut(where).bound
    _, link = where.router(*np.divmod(np.arange(where.ranks**2), where.ranks))
    for wire in {int(link[0]), int(link[-1])}:
        ends = int(where.link_src[wire]), int(where.link_dst[wire])
        assert len(blocks_on(where, *ends)) == (link == wire).sum()


@given(st.sets(st.integers(0, 11), min_size=1, max_size=11))
def test_a_cut_counts_what_a_graph_library_counts(side):
    where = torus((4, 3))
    graph = where.to_networkx()
    found = cut(where, side)
    both_ways = nx.cut_size(graph, side, set(range(12)) - side)
    assert 2 * found.links == both_ways == 2 * found.bandwidth
    assert found.share == Fraction(len(side) * (12 - len(side)), 12)


def test_a_cut_needs_two_sides_and_axes():
    with pytest.raises(ValueError, match="no cut"):
        cut(ring(4), [])
    with pytest.raises(ValueError, match="no cut"):
        cut(ring(4), range(4))
    with pytest.raises(ValueError, match="no axes"):
        middle_cut(star(4))


@pytest.mark.parametrize(
    ("dims", "above"),
    [((4, 2), Fraction(1, 16)), ((8, 4), 0), ((16, 4), 0), ((8, 4, 4), 0), ((6, 4), 0), ((8, 4, 2), Fraction(5, 384))],
)
def test_slices_on_unequal_axes_attain_the_bound_or_nearly(dims, above):
    """The number is settled by the second interpreter's messages: per step, what the busiest link carries."""
    schedule = relay.relay(Lattice(dims), tie="split", rotated=True)
    share = list(schedule.blocks.share)
    total = Fraction(0)
    for step in reference.messages(schedule):
        load = Counter()
        for src, dst, block, _ in step:
            load[src, dst] += share[block]
        total += max(load.values())
    assert total == execute(schedule, torus(dims)).cost.n_beta
    assert total - middle_cut(torus(dims)).bound == above


def plain_hops(dims):
    return sum(sum(to.values()) for _, to in nx.all_pairs_shortest_path_length(torus(dims).to_networkx()))


@pytest.mark.parametrize("dims", [(2, 4), (3, 6), (4, 8), (2, 2, 4), (2, 4, 4)])
@pytest.mark.parametrize("twisted", [False, True])
def test_wrapped_tori_deliver_over_shortest_ways(dims, twisted):
    shape = Wrapped(dims, twisted=twisted)
    where = shape.topology()
    graph = where.to_networkx()
    assert shape.diameter == nx.diameter(graph)
    schedule = shape.relay()
    assert reference.holds(schedule)
    run = execute(schedule, where)
    away = sum(sum(to.values()) for _, to in nx.all_pairs_shortest_path_length(graph))
    assert sum(run.link_total) == Fraction(away, shape.ranks)
    assert run.cost.n_alpha == shape.diameter
    if not twisted:
        assert nx.is_isomorphic(graph, torus(dims).to_networkx())
        assert away == plain_hops(dims)


@pytest.mark.parametrize("width", [2, 3, 4])
def test_the_two_twisted_tori_are_one(width):
    ours = Wrapped((width, 2 * width)).topology().to_networkx()
    assert nx.is_isomorphic(ours, twisted_torus(width).to_networkx())


@pytest.mark.parametrize("dims", [(4, 8), (3, 6), (2, 2, 4), (2, 4, 4)])
def test_twisting_evens_the_axes_out(dims):
    """All links alike: hops over links, which nothing beats; untwisted the long axis alone decides."""
    shape = Wrapped(dims)
    loads = set(execute(shape.relay(), shape.topology()).link_total)
    hops = sum(sum(map(abs, ways[0])) for ways in shape.ways())
    assert loads == {Fraction(hops, shape.ranks * 2 * len(dims))}
    plain = relay.relay_load(Lattice(dims))
    assert max(loads) < plain


def test_sizes_that_have_no_twist_are_refused():
    for dims in ((8, 4), (4, 4), (1, 2), (4, 6, 8)):
        with pytest.raises(ValueError, match="k and 2k"):
            Wrapped(dims)
