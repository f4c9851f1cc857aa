"""Where the ranks of a small graph stand: apart from one another, and beside the links of others."""

from math import dist

import pytest

from colllib.show.drawings.graphs import DISK, radius_of
from colllib.show.layouts import CUBES, circle, graph
from colllib.topology.expression import find

#: Those that do not go round a circle, where a link may touch the disk between its ends.
DRAWN = [*CUBES, "torus:3x3", "torus:4x4", "torus:5x3", "torus:6x2", "mesh:5x3", "hamming:2x3"]
DRAWN += ["complete-bipartite:4x4", "complete-bipartite:2x5"]


def distance(point, start, end):
    """From a point to a straight line between two others."""
    ux, uy = end[0] - start[0], end[1] - start[1]
    along = ((point[0] - start[0]) * ux + (point[1] - start[1]) * uy) / (ux * ux + uy * uy)
    share = min(1.0, max(0.0, along))
    return dist(point, (start[0] + share * ux, start[1] + share * uy))


@pytest.mark.parametrize("disk", [DISK, 10.0], ids=["player", "thumbnail"])
@pytest.mark.parametrize("name", DRAWN)
def test_no_disk_stands_on_another_or_on_a_link_between_two_others(name, disk):
    topology = find(name)
    places = graph(topology, radius_of(topology) if disk == DISK else 63.0, disk)
    links = {(a, b) for a, b in zip(topology.link_src.tolist(), topology.link_dst.tolist(), strict=True) if a != b}
    for rank, place in enumerate(places):
        assert all(dist(place, other) > disk for other in places[:rank])
        assert all(distance(place, places[a], places[b]) > disk / 2 for a, b in links if rank not in (a, b))


@pytest.mark.parametrize("count", [27, 33])
def test_so_many_ranks_that_the_two_lowest_would_overlap_are_refused(count):
    with pytest.raises(ValueError, match=f"{count} ranks do not fit round a circle 632 px wide: draw fewer ranks"):
        circle(count, (34, 40), 632)
    assert len(circle(count + 1, (34, 40), 632)) == count + 1
