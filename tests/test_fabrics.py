"""Every primitive on every fabric: costs held against execution under both port conventions, counts, floors."""

from fractions import Fraction

import pytest

from colllib import fabrics
from colllib.algorithms import relay
from colllib.execution import execute
from colllib.topology import Lattice, equal_injection, find, full_mesh

SMALL = (
    "star:6",
    "star:8",
    "torus:4x4",
    "torus:4x2x4",
    "torus:3x5",
    "ring:6",
    "mesh:4x3",
    "mesh:2x4x2",
    "full-mesh:6",
    "inc-star:6",
)
PRICE = {"message": 3e6, "alpha": 1e-6, "bandwidth": 100e9}


@pytest.mark.parametrize("spec", SMALL)
@pytest.mark.parametrize("primitive", fabrics.PRIMITIVES)
def test_every_way_costs_what_it_executes_to_under_both_port_conventions(primitive, spec):
    for way in fabrics.ways(primitive, spec):
        for equal in (False, True):
            for segments in (None, 1, 3) if way.segmented else (None,):
                rung = way.priced(**PRICE, equal_injection=equal, segments=segments)
                assert rung.execution_cost() == rung.cost
                assert rung.seconds == rung.cost.seconds(**PRICE)


@pytest.mark.parametrize("spec", SMALL)
@pytest.mark.parametrize("primitive", fabrics.PRIMITIVES)
def test_no_execution_is_below_a_floor(primitive, spec):
    least = fabrics.floor(primitive, spec)
    for way in fabrics.ways(primitive, spec):
        for segments in (1, 2, 7, 40) if way.segmented else (1,):
            cost = way.cost(segments)
            assert cost.n_alpha >= least.n_alpha
            assert cost.n_beta >= least.n_beta


def test_the_best_number_of_segments_is_the_best_of_all():
    for spec in ("star:8", "torus:4x4", "mesh:4x3", "full-mesh:6", "inc-star:8"):
        for way in (*fabrics.ways("broadcast", spec), *fabrics.ways("all-reduce", spec)):
            if way.segmented:
                times = [way.priced(**PRICE, segments=p).seconds for p in range(1, 200)]
                assert way.priced(**PRICE).seconds == pytest.approx(min(times), rel=1e-12)


@pytest.mark.parametrize("dims", [(4, 4), (6, 6), (8, 4), (4, 4, 4), (8, 4, 4), (8, 8, 8), (8, 4, 4, 4), (32, 16)])
def test_on_even_axes_of_four_and_more_the_relay_meets_the_bisection_bound(dims):
    spec = "torus:" + "x".join(map(str, dims))
    assert relay.rotated_relay_cost(Lattice(dims)) == fabrics.floor("all-to-all", spec)
    assert fabrics.floor("all-to-all", spec).n_beta == Fraction(max(dims), 8)


def test_a_large_reduce_scatter_is_priced_as_the_all_gather_backwards_and_costs_that():
    for spec in ("star:72", "torus:12x6", "mesh:9x8", "full-mesh:72"):
        for way in fabrics.ways("reduce-scatter", spec):
            assert not way.executed
            assert execute(way.build(1), find(spec)).cost == way.cost(1)


def test_rings_on_a_large_full_mesh_are_priced_by_their_closed_form_and_cost_that():
    for primitive in ("all-gather", "all-reduce"):
        ring = fabrics.ways(primitive, "full-mesh:72")[0]
        assert not ring.executed
        assert execute(ring.build(1), full_mesh(72)).cost == ring.cost(1)


def test_injection_is_what_the_best_connected_rank_owns():
    for spec, links in (("star:9", 1), ("torus:3x3x3", 6), ("torus:4x2", 3), ("mesh:3x3", 4), ("full-mesh:5", 4)):
        assert fabrics.injection(spec) == links
        assert equal_injection(find(spec)).bandwidth[0] == Fraction(1, links)


def test_the_rungs_are_sorted_and_the_table_holds_the_same():
    specs = ("star:8", "torus:2x4", "mesh:4x2")
    found = fabrics.rungs("all-gather", specs, **PRICE)
    assert [rung.seconds for rung in found] == sorted(rung.seconds for rung in found)
    grid = fabrics.table(specs, ("all-gather",), **PRICE)
    assert {spec: row["all-gather"].seconds for spec, row in grid.items()} == {r.way.fabric: r.seconds for r in found}
    for rung in fabrics.rungs("all-gather", specs, **PRICE, shipped=True):
        assert rung.way.shipped
        assert rung.seconds >= grid[rung.way.fabric]["all-gather"].seconds


@pytest.mark.parametrize("spec", ["star:8", "torus:4x4x4", "mesh:3x4", "full-mesh:8"])
def test_a_shipped_way_starts_with_the_latency_of_its_row_and_never_moves_less(spec):
    """Only the double binary tree and the relay lie off their rows in latency; the claims say how."""
    for primitive in fabrics.PRIMITIVES:
        rows = fabrics.ideal(primitive, spec)
        for way in fabrics.ways(primitive, spec):
            if way.shipped and way.name in rows:
                assert way.cost(1).n_alpha == rows[way.name].n_alpha
                assert way.cost(64 if way.segmented else 1).n_beta >= rows[way.name].n_beta


def test_what_has_no_list_is_refused():
    with pytest.raises(ValueError, match="unknown primitive 'gossip'"):
        fabrics.ways("gossip", "star:4")
    with pytest.raises(ValueError, match="no list of algorithms"):
        fabrics.ways("all-reduce", "switch-tree:16x4")


def test_floors_on_a_mesh_are_those_of_its_corner_and_of_its_middle():
    assert fabrics.floor("all-gather", "mesh:3x3").n_beta == Fraction(8, 9) / 2
    # across the middle of 4x4 run 4 links each way, for 8 x 8 blocks of M/16
    assert fabrics.floor("all-to-all", "mesh:4x4").n_beta == Fraction(8 * 8, 16) / 4
