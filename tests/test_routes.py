"""Own routes, balanced routes and slices, against graphs and second counts."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from colllib.algorithms import allreduce, innetwork, relay
from colllib.bounds import middle_cut
from colllib.execution import execute
from colllib.topology import Lattice, mesh, ring, star, torus
from colllib.topology.routes import alternating_torus, blocks_on, with_routes


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
    with pytest.raises(ValueError, match="must lead there"):
        with_routes(ring(3), lambda a, b: [])


def test_own_routes_are_of_ranks_and_a_message_of_a_switch_is_refused():
    """They were looked up in the row of another rank."""
    hub = star(4, combines=True, replicates=True)
    rerouted = with_routes(hub, lambda a, b: [a, 4, b] if a != b else [a])
    assert execute(allreduce.ring(4), rerouted).link_total == execute(allreduce.ring(4), hub).link_total
    for schedule in (innetwork.one_shot_all_reduce(hub), innetwork.multicast(hub)):
        with pytest.raises(ValueError, match="not to or from a switch"):
            execute(schedule, rerouted)


@pytest.mark.parametrize("dims", [(4, 4), (5, 5), (6, 6), (8, 8), (6, 4), (4, 4, 4)])
def test_axes_in_turn_keep_the_busiest_links_busy(dims):
    """One block on a link and step, in as many steps as the busiest link has blocks: no order is faster."""
    topology = alternating_torus(dims)
    loads = relay.link_loads(topology)
    assert sorted(loads) == sorted(relay.link_loads(torus(dims, tie="balanced")))
    run = execute(relay.relay_one_by_one(topology), topology)
    assert run.cost.n_alpha == max(loads) * topology.ranks
    assert run.cost.n_beta == max(loads) >= middle_cut(topology).n_beta


@given(st.lists(st.integers(1, 5), min_size=1, max_size=3).filter(lambda d: 1 < np.prod(d) <= 40), st.booleans())
@settings(max_examples=30)
def test_no_routing_beats_a_cut(dims, wraps):
    topology = torus(dims) if wraps else mesh(dims)
    assert max(relay.link_loads(topology)) >= middle_cut(topology).n_beta
    _, link = topology.router(*np.divmod(np.arange(topology.ranks**2), topology.ranks))
    for wire in {int(link[0]), int(link[-1])}:
        ends = int(topology.link_src[wire]), int(topology.link_dst[wire])
        assert len(blocks_on(topology, *ends)) == (link == wire).sum()


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
    assert total - middle_cut(torus(dims)).n_beta == above
