"""Rings, lines, tori and meshes: their links, their routes, their diameters."""

from math import prod

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colllib.algorithms.lattice import line_reduce_scatter
from colllib.execution import execute
from colllib.primitives import point_to_point
from colllib.schedule import Schedule, Step, reversed_in_time
from colllib.topology import Lattice, equal_injection, line, mesh, one_port, ring, star, torus, twisted_torus
from colllib.topology.expression import find
from colllib.topology.lattice import shortest_way

SHAPES = st.lists(st.integers(1, 5), min_size=1, max_size=3).filter(lambda dims: prod(dims) <= 60)


def routed(topology, pairs):
    """The nodes that each message visits."""
    src, dst = (np.array(side, dtype=np.intp) for side in zip(*pairs, strict=True))
    message, link = topology.router(src, dst)
    paths = [[int(a)] for a in src]
    for m, e in zip(message.tolist(), link.tolist(), strict=True):
        assert topology.link_src[e] == paths[m][-1]
        paths[m].append(int(topology.link_dst[e]))
    return paths


@given(SHAPES, st.sampled_from(["up", "balanced"]), st.booleans(), st.data())
def test_every_route_is_a_path_of_fewest_hops(dims, tie, wraps, data):
    order = data.draw(st.permutations(range(len(dims))))
    topology = torus(dims, tie=tie, order=order) if wraps else mesh(dims, order=order)
    graph = topology.to_networkx()
    pairs = [(a, b) for a in range(topology.ranks) for b in range(topology.ranks)]
    for (a, b), path in zip(pairs, routed(topology, pairs), strict=True):
        assert path[-1] == b
        assert len(path) - 1 == nx.shortest_path_length(graph, a, b)


@given(SHAPES, st.booleans(), st.data())
def test_the_shorter_way_is_up_where_both_are_as_long(dims, wraps, data):
    lattice, axis = Lattice(dims, wraps), data.draw(st.integers(0, len(dims) - 1))
    a, b = (data.draw(st.integers(0, lattice.ranks - 1)) for _ in range(2))
    start, end = lattice.coordinates(a)[axis], lattice.coordinates(b)[axis]
    hops = {1: end - start, -1: start - end}
    if wraps:
        hops = {direction: count % dims[axis] for direction, count in hops.items()}
    possible = {direction: count for direction, count in hops.items() if count >= 0}
    direction, count = shortest_way(lattice, axis, np.array([a]), np.array([b]))
    assert (direction[0], count[0]) == min(possible.items(), key=lambda item: (item[1], -item[0]))


@given(SHAPES)
def test_neighbors_links_and_diameter_follow_the_axes(dims):
    closed, opened = torus(dims).to_networkx(), mesh(dims).to_networkx()
    assert {closed.out_degree(n) for n in closed} == {sum(min(d - 1, 2) for d in dims)}
    assert nx.diameter(closed) == sum(d // 2 for d in dims)
    assert nx.diameter(opened) == sum(d - 1 for d in dims)
    assert opened.number_of_edges() == sum(2 * (d - 1) * prod(dims) // d for d in dims)
    assert closed.number_of_edges() == torus(dims).num_links


def test_a_message_goes_up_on_a_tie_or_by_the_parity_of_its_source():
    assert routed(ring(4), [(0, 2), (1, 3)]) == [[0, 1, 2], [1, 2, 3]]
    assert routed(ring(4, tie="balanced"), [(0, 2), (1, 3)]) == [[0, 1, 2], [1, 0, 3]]


def test_the_first_axis_is_fastest_and_routed_first_unless_said_otherwise():
    # a is (0,0), b (1,0), e (0,1): a to f by way of b, or of e
    assert routed(torus((4, 4)), [(0, 5)]) == [[0, 1, 5]]
    assert routed(torus((4, 4), order=(1, 0)), [(0, 5)]) == [[0, 4, 5]]
    assert Lattice((4, 4)).coordinates(6) == (2, 1)


def test_uniform_traffic_loads_every_link_alike_on_odd_axes_and_on_balanced_even_ones():
    for dims, tie in (((3, 5), "up"), ((4, 4), "balanced"), ((6, 4), "balanced")):
        topology = torus(dims, tie=tie)
        a, b = np.divmod(np.arange(topology.ranks**2), topology.ranks)
        load = np.bincount(topology.router(a, b)[1], minlength=topology.num_links)
        per_axis = np.split(load, np.cumsum([2 * topology.ranks] * (len(dims) - 1)))
        assert all(len(set(loads.tolist())) == 1 for loads in per_axis)


def test_the_twisted_torus_has_four_neighbors_and_the_smaller_diameter():
    for width in (3, 4, 6):
        graph = twisted_torus(width).to_networkx()
        assert {graph.out_degree(n) for n in graph} == {4}
        assert nx.diameter(graph) < nx.diameter(torus((2 * width, width)).to_networkx())
    assert len(routed(twisted_torus(4), [(0, 27)])[0]) > 1


def test_equal_injection_divides_a_ranks_bandwidth_among_its_links():
    for topology, links in ((torus((4, 4, 2)), 5), (mesh((3, 3)), 4), (star(4), 1), (line(2), 1)):
        slow = equal_injection(topology)
        assert 1 / slow.bandwidth[0] == links
        assert "together" in slow.port_model
    assert equal_injection(torus((1,))).num_links == 0


def test_one_port_charges_what_a_rank_sends_itself_and_not_what_passes_by():
    """0 to 2 on a line passes rank 1, whose own port stays free; sending both ways at once shares the port."""
    topology = one_port(line(3))
    past = Schedule.from_steps(point_to_point(3, source=0, target=2), [Step.of(0, 2, 0)])
    done = execute(past, topology)
    assert (done.cost.n_alpha, done.cost.n_beta) == (2, 1)
    assert [str(load) for load in done.link_total[4:]] == ["1", "0", "0", "0", "0", "1"]
    both = execute(reversed_in_time(line_reduce_scatter(5)), one_port(line(5))).cost
    assert both.n_beta > execute(reversed_in_time(line_reduce_scatter(5)), line(5)).cost.n_beta
    with pytest.raises(ValueError, match="star:4 has switches"):
        one_port(star(4))


@given(SHAPES, st.booleans())
def test_behind_one_port_a_route_is_the_same_from_the_senders_port_to_the_receivers(dims, wraps):
    bare = torus(dims) if wraps else mesh(dims)
    pairs = [(a, b) for a in range(bare.ranks) for b in range(bare.ranks) if a != b]
    if pairs:
        routers = [[bare.ranks + rank for rank in path] for path in routed(bare, pairs)]
        expected = [[a, *path, b] for (a, b), path in zip(pairs, routers, strict=True)]
        assert routed(one_port(bare), pairs) == expected


@pytest.mark.parametrize(
    ("build", "complaint"),
    [
        (lambda: torus(()), "at least one axis"),
        (lambda: torus((4, 0)), "axis of size 0"),
        (lambda: torus((4, 4), tie="left"), "tie 'left'"),
        (lambda: mesh((4, 4), order=(0, 0)), "order [0, 0]: must name each of the axes 0..1 once"),
        (lambda: find("torus:4xx4"), "as in torus:8x8x8"),
        (lambda: find("star:4x4"), "as in star:N"),
        (lambda: find("mesh:4x-1"), "must be a whole number of at most 18 digits, as in mesh:4x4"),
        (lambda: find("mesh:4x0"), "axis of size 0"),
    ],
)
def test_bad_shapes_are_refused_in_one_line(build, complaint):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refusal:
        build()
    assert complaint in str(refusal.value)
