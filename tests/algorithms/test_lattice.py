"""Algorithms for tori and meshes: proved, held against closed forms, lower bounds and a second count."""

import re
from fractions import Fraction
from math import prod

import networkx as nx
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from colllib.algorithms import CATALOGUE, find, lattice, relay, trees
from colllib.execution import execute
from colllib.ladder import offered, run
from colllib.limits import TooLarge
from colllib.primitives import PRIMITIVES
from colllib.schedule import placed
from colllib.symmetry import by_symmetry
from colllib.topology import Lattice, mesh, ring, star, torus

SHAPES = [
    (1,),
    (2,),
    (5,),
    (6,),
    (2, 2),
    (3, 2),
    (4, 3),
    (2, 2, 2),
    (4, 4),
    (3, 3, 3),
    (4, 2, 3),
    (1, 4, 1),
    (6, 3),
    (8, 2),
]
ANY = st.lists(st.integers(1, 5), min_size=1, max_size=3).filter(lambda dims: prod(dims) <= 48).map(tuple)
SIXTEEN = np.arange(16)


ON_AXES = [algorithm for algorithm in CATALOGUE if algorithm.takes == "lattice"]


@pytest.mark.parametrize("algorithm", ON_AXES, ids=lambda a: f"{a.primitive}-{a.name}")
@pytest.mark.parametrize("dims", SHAPES, ids=str)
@pytest.mark.parametrize("build", [torus, mesh], ids=["torus", "mesh"])
def test_every_algorithm_is_proved_on_every_shape_and_agrees_with_its_closed_form(algorithm, dims, build):
    topology = build(dims)
    if algorithm.refusal(topology) is not None:
        with pytest.raises(ValueError, match=r"needs (rings|powers of two); dim-(ring|chain) serves") as refusal:
            algorithm.build(topology.lattice)
        assert find(algorithm.primitive, re.search(r"; (\S+) serves", str(refusal.value))[1]).refusal(topology) is None
        return
    for segments in (1, 3) if algorithm.segmented else (None,):
        options = {} if segments is None else {"segments": segments}
        schedule = algorithm.build(topology.lattice, **options)
        assert schedule.makes(PRIMITIVES[algorithm.primitive])
        done = execute(schedule, topology)
        if algorithm.costs_its_closed_form(topology):
            assert done.cost == algorithm.cost(topology.lattice, **options)
        elif algorithm.has_closed_form:
            with pytest.raises(ValueError, match="execute it"):
                algorithm.cost(topology.lattice, **options)


@given(ANY, st.booleans(), st.data())
@settings(max_examples=40)
def test_axis_by_axis_works_in_every_order_and_direction(dims, wraps, data):
    axes = Lattice(dims, wraps)
    order = data.draw(st.permutations(range(len(dims))))
    direction = data.draw(st.sampled_from([1, -1]))
    schedule = lattice.dim_ring(axes, order=order, direction=direction)
    assert reference.holds(schedule)
    topology = torus(dims) if wraps else mesh(dims)
    assert execute(schedule, topology).cost == lattice.dim_ring_cost(axes)
    # on one port per rank a torus' ring still costs what the links say; a line sends both ways at once
    if wraps:
        assert reference.star_cost(schedule) == (
            lattice.dim_ring_cost(axes).n_alpha,
            lattice.dim_ring_cost(axes).n_beta,
        )


@given(ANY, st.integers(0, 47))
def test_the_trees_of_a_torus_span_it_and_share_no_link(dims, root):
    axes = Lattice(dims)
    packed = lattice.disjoint_trees(axes, root % axes.ranks)
    assert len(packed) == sum(min(size - 1, 2) for size in dims)
    used = [(int(up), child) for tree in packed for child, up in enumerate(tree) if up != trees.ROOT]
    assert len(used) == len(set(used))
    assert set(used) <= set(torus(dims).to_networkx().edges)
    for tree in packed:
        assert tree[root % axes.ranks] == trees.ROOT
        trees.depths(tree)  # refuses what is no tree


@given(ANY, st.integers(1, 4), st.integers(0, 47))
@settings(max_examples=30)
def test_all_links_carry_a_broadcast_and_a_reduce_at_once(dims, segments, root):
    axes = Lattice(dims)
    root %= axes.ranks
    for build in (lattice.all_links_broadcast, lattice.all_links_reduce):
        done = execute(build(axes, segments=segments, root=root), torus(dims))
        assert done.cost == lattice.all_links_broadcast_cost(axes, segments)
        parts = sum(min(size - 1, 2) for size in dims)
        if parts:
            assert max(done.link_total) == Fraction(1, parts)


def test_rotated_copies_use_all_links_where_the_axes_are_alike():
    for dims in ((3,), (4, 4), (3, 3, 3), (5, 5, 1)):
        busy = execute(lattice.rotated_dim_ring(Lattice(dims)), torus(dims)).link_total
        assert set(busy) == {max(busy)}
    uneven = execute(lattice.rotated_dim_ring(Lattice((4, 3))), torus((4, 3)))
    assert uneven.cost.n_beta > Fraction(2 * 11, 12 * 4)
    with pytest.raises(ValueError, match=r"^4x3: the closed form is for equal axes"):
        lattice.rotated_dim_ring_cost(Lattice((4, 3)))


@given(dims=ANY)
@settings(max_examples=20)
def test_a_block_inside_a_torus_has_no_wraparound_and_costs_what_a_mesh_costs(dims):
    machine = torus(tuple(2 * size for size in dims))
    inner, rings = Lattice(dims, wraps=False), Lattice(dims)
    block = [int(np.dot(inner.coordinates(rank), machine.lattice.strides)) for rank in range(inner.ranks)]
    for build in (lattice.dim_ring, lattice.rotated_dim_ring, lattice.dim_chain, relay.relay):
        assert (
            execute(placed(build(inner), block, machine.ranks), machine).cost == execute(build(inner), mesh(dims)).cost
        )
    closing = execute(placed(lattice.dim_ring(rings), block, machine.ranks), machine).cost
    assert closing.n_alpha == 2 * sum((size - 1) ** 2 for size in dims)  # each step waits for the hop back
    assert execute(lattice.dim_ring(rings), torus(dims)).cost.n_alpha == 2 * sum(size - 1 for size in dims)


def test_halving_on_a_ring_pays_for_its_far_partners():
    """d = 8: near first sends 1/2 over one hop, 1/4 over two, 1/8 over four; shared links carry several."""
    near = execute(lattice.dim_rabenseifner(Lattice((8,))), ring(8)).cost
    far = execute(lattice.dim_rabenseifner(Lattice((8,)), order="far"), ring(8)).cost
    assert near.n_alpha == far.n_alpha == 2 * (1 + 2 + 4)
    assert near.n_beta < far.n_beta
    assert execute(lattice.swing(Lattice((8,))), ring(8)).cost.n_alpha == 2 * (1 + 1 + 3)
    assert execute(lattice.swing(Lattice((8,))), star(8)).cost.n_beta == Fraction(7, 4)


@pytest.mark.parametrize("dims", [(4,), (32,), (4, 4), (8, 8), (16, 16), (4, 4, 4), (8, 8, 8), (4, 4, 4, 4)], ids=str)
def test_swing_on_all_links_loads_each_with_as_many_messages_as_the_partner_is_links_away(dims):
    """Halving by halving, of a copy's M/2k: plain and mirrored copy together send each way over every link."""
    axes, wires = len(dims), dims[0]
    away = [abs((1 - (-2) ** (s + 1)) // 3) for s in range(wires.bit_length() - 1)]
    halves = [Fraction(far, 2 ** (s * axes + turn + 1)) for s, far in enumerate(away) for turn in range(axes)]
    run = execute(lattice.rotated_swing(Lattice(dims)), torus(dims))
    assert run.cost.n_beta == 2 * sum(halves) / (2 * axes)
    assert run.cost.n_alpha == 2 * axes * sum(away) == 2 * axes * (2 * wires // 3)
    assert set(run.link_total) == {max(run.link_total)} == {run.cost.n_beta}
    if axes <= 3:
        assert lattice.rotated_swing_cost(Lattice(dims)) == run.cost


def test_rotated_swing_on_a_torus_whose_messages_fill_the_memory_is_refused():
    with pytest.raises(TooLarge, match=r"^copies of swing on 16x16x16: \d+ messages are too many"):
        lattice.rotated_swing(Lattice((16, 16, 16)))


@pytest.mark.parametrize(
    ("partners", "complaint"),
    [
        ([np.array([1, 2, 0])], "pair the ranks off"),
        ([np.array([1, 0, 3, 2]), np.array([1, 0, 3, 2])], "in just one way"),
        ([np.array([1, 0, 3, 2])], "in just one way"),
        # of 16 ranks only the odd ones meet some twice
        ([SIXTEEN ^ 2, SIXTEEN ^ (4 - 2 * (SIXTEEN % 2)), SIXTEEN ^ (8 - 6 * (SIXTEEN % 2)), SIXTEEN ^ 1], "one way"),
    ],
)
def test_a_butterfly_that_does_not_reach_everyone_once_is_refused(partners, complaint):
    with pytest.raises(ValueError, match=complaint):
        lattice.butterfly(partners)


@given(ANY, st.sampled_from(relay.TIES), st.booleans(), st.booleans(), st.booleans())
@settings(max_examples=60)
def test_relayed_blocks_arrive_over_shortest_paths_however_they_are_routed(dims, tie, phased, rotated, wraps):
    axes = Lattice(dims, wraps)
    topology = torus(dims) if wraps else mesh(dims)
    schedule = relay.relay(axes, tie=tie, phased=phased, rotated=rotated)
    done = execute(schedule, topology)
    assert schedule.num_steps == nx.diameter(topology.to_networkx())
    # every block crosses as many links as its destination is away
    away = dict(nx.all_pairs_shortest_path_length(topology.to_networkx()))
    hops = sum(sum(to.values()) for to in away.values())
    assert sum(done.link_total) == Fraction(hops, axes.ranks)
    assert max(done.link_total, default=0) >= relay.relay_load(axes)


@given(st.lists(st.integers(2, 9), min_size=1, max_size=3))
def test_the_longest_axis_decides_the_load_of_a_torus_but_beside_3_one_of_2(dims):
    longest = max(dims)
    decides = 2 if longest == 3 and 2 in dims else longest
    assert relay.relay_load(Lattice(tuple(dims))) == relay.relay_load(Lattice((decides,)))


@pytest.mark.parametrize("dims", [(4, 4), (3, 3, 3), (4, 4, 4), (6, 6), (5, 5)])
def test_rotated_slices_leave_no_link_idle_where_the_axes_are_alike(dims):
    axes = Lattice(dims)
    for phased in (False, True):
        done = execute(relay.relay(axes, tie="split", rotated=True, phased=phased), torus(dims))
        assert done.cost.n_beta == relay.relay_load(axes)


@pytest.mark.parametrize("dims", [(4, 4), (6, 4), (8, 4), (4, 4, 4), (5, 5), (5, 4), (2, 2), (4, 2)])
def test_one_axis_at_a_time_costs_the_sum_of_the_axes_on_even_ones_from_4_on(dims):
    done = execute(relay.relay(Lattice(dims), tie="split", phased=True), torus(dims))
    assert (done.cost.n_beta == Fraction(sum(dims), 8)) == all(d % 2 == 0 and d >= 4 for d in dims)


@given(ANY, st.booleans())
@settings(max_examples=40)
def test_a_rotated_relay_counted_by_symmetry_costs_what_it_executes_to(dims, wraps):
    topology = torus(dims) if wraps else mesh(dims)
    executed = execute(relay.rotated_relay(Lattice(dims, wraps)), topology).cost
    assert by_symmetry(relay.rotated_relay(Lattice(dims, wraps)), topology).cost == executed


@pytest.mark.parametrize("wires", [torus, mesh])
@pytest.mark.parametrize("dims", [(8,), (6, 4), (7, 6), (2, 4, 2), (4, 4, 4), (3, 4, 5), (2, 2, 2, 2)])
def test_the_symmetry_of_a_rotated_relay_holds_on_larger_lattices(dims, wires):
    executed = execute(relay.rotated_relay(wires(dims).lattice), wires(dims)).cost
    assert by_symmetry(relay.rotated_relay(wires(dims).lattice), wires(dims)).cost == executed


@pytest.mark.parametrize("dims", [(4, 4), (5, 3), (4, 2, 3), (6,)])
def test_link_loads_are_those_of_the_executed_relay_and_of_one_rank_by_symmetry(dims):
    loads = relay.link_loads(torus(dims))
    executed = execute(relay.relay(Lattice(dims), tie="up"), torus(dims)).link_total
    assert loads == executed
    assert set(loads) == {load for pair in relay.torus_link_loads(Lattice(dims)) for load in pair if load}


def test_one_block_on_a_link_and_step_takes_at_least_as_many_steps_as_the_busiest_link_has_blocks():
    for topology in (torus((4, 4), tie="balanced"), torus((5, 3)), mesh((3, 3))):
        done = execute(relay.relay_one_by_one(topology), topology)
        busiest = max(relay.link_loads(topology)) * topology.ranks
        assert done.cost.n_alpha >= busiest
        assert done.link_total == relay.link_loads(topology)
        for t in range(done.schedule.num_steps):
            assert max(done.link_load(t)) == Fraction(1, topology.ranks)


def test_an_algorithm_that_needs_axes_is_refused_where_there_are_none():
    price = {"message": 1e6, "alpha": 1e-6, "bandwidth": 1e9}
    with pytest.raises(ValueError, match=r"made for a ring, line, torus or mesh, and star:8 has no axes"):
        run(find("all-reduce", "dim-ring"), star(8), **price)
    with pytest.raises(ValueError, match="needs rings"):
        run(find("all-reduce", "dim-shortest-way"), mesh((3, 3)), **price)
    with pytest.raises(ValueError, match="tie 'left'"):
        relay.relay(Lattice((4,)), tie="left")
    assert find("all-reduce", "dim-ring").argument(torus((2, 2))) == Lattice((2, 2))
    assert "swing" not in [a.name for a in offered("all-reduce", torus((6, 4)))]
