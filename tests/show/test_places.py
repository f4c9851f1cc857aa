"""No two nodes of a picture stand on each other, and all stand inside it."""

from __future__ import annotations

from itertools import combinations
from math import dist

import pytest

from colllib.show.places import places
from colllib.topology import find

SPECS = ["star:2", "star:8", "ring:5", "torus:2x2", "torus:4x2", "mesh:3x4", "torus:2x2x2", "torus:3x2x2"]
SWITCHED = ["inc-star:2", "inc-star:8", "inc-switch-tree:4x3", "inc-switch-tree:6x3", "inc-switch-tree:8x5"]


@pytest.mark.parametrize("spec", SPECS + SWITCHED)
def test_nodes_stand_apart_and_inside_the_picture(spec):
    where = find(spec)
    nodes = where.nodes if spec in SWITCHED else where.ranks
    found = places(where, nodes)
    assert len(found) == nodes
    assert min(dist(a, b) for a, b in combinations(found, 2)) > 28  # two circles of radius 14
    assert all(14 <= x <= 206 and 14 <= y <= 194 for x, y in found)


def test_a_lattice_has_its_first_axis_to_the_right_and_its_second_upwards():
    a, b, _, d = places(find("torus:3x2"), 6)[:4]
    assert a[0] < b[0]
    assert a[1] == b[1]
    assert d[0] == a[0]
    assert d[1] < a[1]
