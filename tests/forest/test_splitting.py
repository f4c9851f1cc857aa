"""Switches split off: each split keeps the throughput, and what is left stands for ways that fit on the links."""

from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from forest_fabrics import balanced, from_speeds, two_boxes
from hypothesis import given, settings

from colllib.forest import bound, fabric, splitting
from colllib.forest.bound import room
from colllib.forest.splitting import without_switches
from colllib.topology import from_links
from colllib.topology.expression import find


def _split(topology):
    place = fabric(topology)
    limit = bound(place)
    capacity, supply = room(place, limit.unit), place.weight * limit.trees
    return place, limit, capacity, without_switches(capacity, supply, place.ranks, topology.name)


def _same_throughput(capacity, ranks, limit):
    """Whether so many trees per rank still fit, by the bound of what is left as a topology of its own."""
    left = {(a, b): int(capacity[a, b]) for a, b in np.argwhere(capacity).tolist()}
    return bound(fabric(from_speeds(ranks, len(capacity), left))).inverse_throughput <= Fraction(1, limit.trees)


@settings(max_examples=60, deadline=None)
@given(topology=balanced())
def test_every_split_keeps_the_throughput_and_the_last_one_leaves_no_switch(topology):
    place, limit, capacity, logical = _split(topology)
    left = capacity.copy()
    by_switch = [logical.splits[i] for i in range(len(logical.splits))]
    for number, (u, w, t, units) in enumerate(by_switch):
        left[u, w] -= units
        left[w, t] -= units
        left[u, t] += units * (u != t)
        assert left.min() >= 0
        last_of_switch = number + 1 == len(by_switch) or by_switch[number + 1][1] != w
        if last_of_switch:
            assert not left[w].any()
            assert not left[:, w].any()
            gone = {switch for _, switch, *_ in by_switch[: number + 1]}
            remaining = [node for node in range(len(left)) if node not in gone]
            assert _same_throughput(left[np.ix_(remaining, remaining)], place.ranks, limit)
    assert (left[: place.ranks, : place.ranks] == logical.capacity).all()
    assert not left[place.ranks :].any()


@settings(max_examples=60, deadline=None)
@given(topology=balanced())
def test_the_ways_of_all_logical_links_together_fit_on_the_links(topology):
    place, _, capacity, logical = _split(topology)
    crossed: Counter[tuple[int, int]] = Counter()
    for (u, t), routes in logical.paths.items():
        assert sum(units for units, _ in routes) == logical.capacity[u, t]
        for units, path in routes:
            assert (path[0], path[-1]) == (u, t)
            assert all(node >= place.ranks for node in path[1:-1])
            assert len(set(path)) == len(path)
            crossed.update(dict.fromkeys(pairwise(path), units))
    assert all(units <= capacity[link] for link, units in crossed.items())


def test_between_two_boxes_each_gpu_gets_a_link_to_one_in_the_other_box():
    place, limit, _, logical = _split(two_boxes())
    across = logical.capacity[:4, 4:], logical.capacity[4:, :4]
    assert all((part.sum(axis=0) == 1).all() and (part.sum(axis=1) == 1).all() for part in across)
    assert _same_throughput(logical.capacity, place.ranks, limit)


def test_unwinding_every_switch_into_a_ring_is_four_times_worse():
    speeds = {(4 * box + i, 4 * box + (i + 1) % 4): 10 for box in range(2) for i in range(4)}
    for rank in range(8):
        speeds[rank, (rank + 1) % 8] = speeds.get((rank, (rank + 1) % 8), 0) + 1
    assert (
        bound(fabric(from_speeds(8, 8, speeds))).inverse_throughput == 4 * bound(fabric(two_boxes())).inverse_throughput
    )


def test_a_pair_of_links_between_the_same_two_nodes_only_vanishes():
    """Rank 1 has a link to and from the switch that no other rank can use: it is on no way to anyone else."""
    speeds = {(0, 2): 1, (2, 0): 1, (1, 2): 3, (2, 1): 3, (0, 1): 1, (1, 0): 1}
    _, _, _, logical = _split(from_speeds(2, 3, speeds))
    assert (1, 2, 1, 2) in logical.splits
    assert logical.capacity.tolist() == [[0, 2], [2, 0]]


def test_one_pair_at_a_time_does_as_well_as_whole_switches_at_once(monkeypatch):
    monkeypatch.setattr(splitting, "_even_plans", lambda network, switch: iter(()))
    for topology in (two_boxes(), find("dgx-a100:2"), find("fat-tree:4")):
        place, limit, _, logical = _split(topology)
        assert _same_throughput(logical.capacity, place.ranks, limit)


def test_a_switch_that_keeps_something_is_refused_in_one_line():
    links = [(0, 2), (2, 0), (1, 2), (2, 1)]
    place = fabric(from_links("lopsided", 2, links, switches=1, bandwidth=[2, 1, 1, 1], alpha=[1] * 4))
    with pytest.raises(
        ValueError, match="lopsided: 1 trees fit into rank 0 and 2 out of it: with switches, as many must"
    ):
        without_switches(place.capacity, place.weight, 2, "lopsided")
