"""Plain and twisted tori of axes k and 2k: their routes and their all-to-all, against graphs and second counts."""

from collections import Counter
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
import reference

from colllib.algorithms import find, relay
from colllib.execution import execute
from colllib.ladder import entry
from colllib.topology import Lattice, torus, twisted_torus
from colllib.topology.expression import find as find_topology
from colllib.topology.twisted import Wrapped


def plain_hops(dims):
    return sum(sum(to.values()) for _, to in nx.all_pairs_shortest_path_length(torus(dims).to_networkx()))


@pytest.mark.parametrize("dims", [(2, 4), (3, 6), (4, 8), (2, 2, 4), (2, 4, 4)])
@pytest.mark.parametrize("twisted", [False, True])
def test_wrapped_tori_deliver_over_shortest_ways(dims, twisted):
    shape = Wrapped(dims, twisted=twisted)
    topology = shape.topology()
    graph = topology.to_networkx()
    assert shape.diameter == nx.diameter(graph)
    schedule = relay.wrapped_relay(shape)
    assert reference.holds(schedule)
    run = execute(schedule, topology)
    away = sum(sum(to.values()) for _, to in nx.all_pairs_shortest_path_length(graph))
    assert sum(run.link_total) == Fraction(away, shape.ranks)
    assert run.cost.n_alpha == shape.diameter
    if not twisted:
        assert nx.is_isomorphic(graph, torus(dims).to_networkx())
        assert away == plain_hops(dims)


@pytest.mark.parametrize("dims", [(4, 2), (8, 4), (3, 6), (2, 2, 4), (4, 8, 4), (4, 8, 8)])
@pytest.mark.parametrize("twisted", [False, True])
def test_wrapped_routes_are_shortest_ones_and_the_same_from_every_rank(dims, twisted):
    topology = Wrapped(dims, twisted).topology()
    source, target = (part.ravel() for part in np.mgrid[: topology.ranks, : topology.ranks])
    message, link = topology.router(source, target)
    hops = dict(nx.all_pairs_shortest_path_length(topology.to_networkx()))
    per_message = Counter(message.tolist())
    assert all(
        per_message[k] == hops[a][b] for k, (a, b) in enumerate(zip(source.tolist(), target.tolist(), strict=True))
    )
    at = source.copy()
    for k, crossed in zip(message.tolist(), link.tolist(), strict=True):
        assert topology.link_src[crossed] == at[k]
        at[k] = topology.link_dst[crossed]
    assert (at == target).all()


@pytest.mark.parametrize("width", [2, 3, 4, 5, 6, 8])
def test_a_twisted_torus_spreads_its_ties(width):
    """One way for each block: the busiest link carries less than k blocks above the mean, counted with networkx."""
    topology = twisted_torus(width)
    hops = sum(sum(to.values()) for _, to in nx.all_pairs_shortest_path_length(topology.to_networkx()))
    most = max(relay.link_loads(topology)) * topology.ranks
    assert 0 <= most - Fraction(hops, topology.num_links) < width


@pytest.mark.parametrize("dims", [(4, 8), (3, 6), (10, 5), (2, 2, 4), (2, 4, 4), (4, 4, 8)])
def test_twisting_evens_the_axes_out(dims):
    """All links alike: hops over links, which nothing beats; untwisted the long axis alone decides."""
    shape = Wrapped(dims)
    loads = set(execute(relay.wrapped_relay(shape), shape.topology()).link_total)
    hops = sum(sum(map(abs, records[0])) for records in shape.routing_records())
    assert loads == {Fraction(hops, shape.ranks * 2 * len(dims))}
    plain = relay.relay_load(Lattice(dims))
    assert max(loads) < plain


def test_sizes_that_have_no_twist_are_refused():
    for dims in ((), (4, 4), (2, 0), (4, 6, 8), (2, 8)):
        with pytest.raises(ValueError, match="each must be k or 2k"):
            Wrapped(dims)


@pytest.mark.parametrize("sizes", [(4, 8), (4, 4, 8), (2, 4, 4)])
def test_a_ladder_has_the_relay_that_a_twist_makes_faster(sizes):
    """A step lasts as its busiest link, so that the plain torus takes at least its whole load."""
    named = "x".join(map(str, sizes))
    topology = find_topology(f"twisted-torus:{named}")
    assert nx.is_isomorphic(topology.to_networkx(), Wrapped(sizes).topology().to_networkx())
    cost = entry("all-to-all", "rotated-relay", topology.name).cost()
    assert cost.n_alpha == nx.diameter(topology.to_networkx())
    assert (
        cost.n_beta
        < relay.relay_load(Lattice(sizes))
        <= entry("all-to-all", "rotated-relay", f"torus:{named}").cost().n_beta
    )


def test_the_relay_serves_a_twisted_torus_by_one_size_and_none_that_lacks_a_link():
    sliced = find("all-to-all", "rotated-relay")
    assert sliced.argument(find_topology("twisted-torus:4")) == Wrapped((8, 4))
    assert "has no axes" in sliced.refusal(find_topology("twisted-torus:4,without=0-1"))
    assert "has no axes" in find("all-to-all", "relay").refusal(find_topology("twisted-torus:4"))
    for sizes in ("4x4", "4x6x8", "0"):
        with pytest.raises(ValueError, match=r"each must be k or 2k|at least 1"):
            find_topology(f"twisted-torus:{sizes}")
