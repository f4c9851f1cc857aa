"""Trees that trade links: the same links carry as much, and no tree gets higher than the highest was."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from forest_fabrics import balanced
from hypothesis import given, settings

from colllib.forest import bound, fabric, forest
from colllib.forest.bound import room
from colllib.forest.packing import Tree, lowered, pack
from colllib.forest.splitting import without_switches
from colllib.topology.expression import find


def loads(batches):
    counts = Counter()
    for batch in batches:
        counts.update(dict.fromkeys(batch.edges, batch.size))
    return counts


def heights(batches):
    return [batch.height for batch in batches]


def roots(batches):
    counts = Counter()
    for batch in batches:
        counts[batch.root] += batch.size
    return counts


@settings(max_examples=40, deadline=None)
@given(topology=balanced(most_ranks=6))
def test_lower_trees_span_from_the_same_roots_within_the_same_links(topology):
    network = fabric(topology)
    limit = bound(network)
    supply = network.weight * limit.trees
    capacity = without_switches(room(network, limit.unit), supply, network.ranks, topology.name).capacity
    before = pack(capacity, supply)
    after = lowered(before, capacity)
    assert roots(after) == roots(before)
    assert all(units <= capacity[edge] for edge, units in loads(after).items())
    assert max(heights(after)) <= max(heights(before))
    for batch in after:
        reached = [batch.root]
        for start, end in batch.edges:
            assert start in reached
            assert end not in reached
            reached.append(end)
        assert len(reached) == network.ranks


def test_two_chains_trade_their_ends():
    first, second = Tree(0, 3, ((0, 1), (1, 2))), Tree(1, 2, ((1, 0), (0, 2)))
    full = np.array([[0, 3, 2], [2, 0, 3], [0, 0, 0]])
    after = lowered([first, second], full)
    assert loads(after) == loads([first, second])
    assert after == [Tree(0, 2, ((0, 1), (0, 2))), Tree(0, 1, ((0, 1), (1, 2))), Tree(1, 2, ((1, 0), (1, 2)))]


@pytest.mark.parametrize(("name", "height"), [("torus:4x4", 4), ("dgx-a100:2", 2)])
def test_the_general_way_is_as_low_as_any_forest_can_be(name, height):
    """On the torus the farthest rank is four links away; between the boxes a GPU has one card for fifteen others."""
    packing = forest(find(name), way="general")
    assert set(packing.heights) == {height}
    assert packing.reached()


def test_trading_ends_where_bandwidths_have_no_large_common_unit():
    topology = find("dgx-a100:2")
    packing = forest(replace(topology, speeds=(topology.speeds[0], (300.5e9, 25123456789.0))))
    assert packing.bound.trees > 10**11
    assert packing.reached()


def test_on_a_fat_tree_switches_leave_links_to_many_ranks_behind_so_that_trees_are_low():
    packing = forest(find("fat-tree:4"))
    assert max(packing.heights) <= 3
    assert packing.reached()
