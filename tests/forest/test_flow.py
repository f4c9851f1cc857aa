"""Maximum flows, against networkx."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colllib.forest.flow import max_flow, starved


@st.composite
def networks(draw, most=2**40):
    nodes = draw(st.integers(2, 8))
    wide = draw(st.sampled_from([3, 40, most]))
    cells = draw(st.lists(st.one_of(st.just(0), st.integers(1, wide)), min_size=nodes**2, max_size=nodes**2))
    capacity = np.array(cells).reshape(nodes, nodes)
    np.fill_diagonal(capacity, 0)
    source, sink = draw(st.permutations(range(nodes)))[:2]
    return capacity, source, sink


def value_of(capacity, source, sink):
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(capacity)))
    graph.add_edges_from((int(a), int(b), {"capacity": int(capacity[a, b])}) for a, b in np.argwhere(capacity))
    return nx.maximum_flow_value(graph, source, sink)


@given(network=networks())
def test_a_flow_is_as_large_as_that_of_networkx_and_the_cut_proves_it(network):
    capacity, source, sink = network
    value, side = max_flow(capacity, source, sink, 2**60)
    inside = [node for node in range(len(capacity)) if side >> node & 1]
    outside = [node for node in range(len(capacity)) if not side >> node & 1]
    assert value == value_of(capacity, source, sink)
    assert source in inside
    assert sink in outside
    assert capacity[np.ix_(inside, outside)].sum() == value


@given(network=networks(), enough=st.integers(1, 100))
def test_no_more_is_looked_for_than_asked(network, enough):
    value, side = max_flow(*network, enough)
    assert value == min(enough, value_of(*network))
    assert (side == 0) == (value == enough)


@pytest.mark.parametrize("wide", [1, 2**70])
def test_capacities_beyond_machine_integers_stay_exact(wide):
    capacity = np.array([[0, 5, 4, 0], [0, 0, 3, 2], [0, 0, 0, 9], [0, 0, 0, 0]], dtype=object) * wide
    assert max_flow(capacity, 0, 3, 10**40)[0] == 9 * wide


@given(network=networks(), need=st.integers(1, 100))
def test_the_first_node_that_gets_too_little_is_the_one_of_single_flows(network, need):
    capacity = network[0]
    source = len(capacity) - 1
    values = {sink: value_of(capacity, source, sink) for sink in range(source)}
    short = [sink for sink, value in values.items() if value < need]
    starving = starved(capacity, range(source), need)
    assert (starving is None) == (not short)
    if starving is not None:
        inside = [node for node in range(len(capacity)) if starving.side >> node & 1]
        assert (starving.sink, need - starving.lack) == (short[0], values[short[0]])
        assert capacity[np.ix_(inside, [node for node in values if node not in inside])].sum() == values[short[0]]
