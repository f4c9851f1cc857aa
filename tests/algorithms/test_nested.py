"""Collectives over several axes: proved for any shape and any algorithm on each, and counted by hand."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import prod
from operator import mul

import numpy as np
import pytest
import reference
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from random_schedules import schedules

from colllib.algorithms import (
    allgather,
    allreduce,
    alltoall,
    broadcast,
    find,
    hierarchical,
    innetwork,
    of,
    reducescatter,
)
from colllib.algorithms.nested import Phase, flows, nested
from colllib.events import event_clock
from colllib.execution import ScheduleError, execute
from colllib.ladder import ladder
from colllib.lattice_group import LatticeGroup
from colllib.metrics import crossings
from colllib.primitives import PRIMITIVES
from colllib.schedule import reversed_in_time
from colllib.topology import Lattice, boxes, fat_tree, leaf_spine, star, torus
from colllib.topology.cuts import bisection
from colllib.topology.failures import without

SIX = ["broadcast", "reduce", "all-reduce", "all-gather", "reduce-scatter", "all-to-all"]
NETS = [boxes((3, 4)), boxes((2, 2, 3)), leaf_spine(3, 4, 2), fat_tree(4)]

shapes = st.lists(st.integers(1, 5), min_size=1, max_size=3).filter(lambda dims: np.prod(dims) <= 40).map(tuple)


def any_algorithm(draw, primitive, size):
    return draw(st.sampled_from([a for a in of(primitive) if a.fits(size)])).build(size)


@st.composite
def compositions(draw):
    """A lattice, a primitive, and phases that make it true in some order of the axes."""
    dims = draw(shapes)
    axes = draw(st.permutations(range(len(dims))))
    primitive = draw(st.sampled_from(SIX))
    if primitive == "all-reduce":
        *first, last = axes
        down = [(axis, any_algorithm(draw, "reduce-scatter", dims[axis])) for axis in first]
        back = [(axis, reversed_in_time(schedule)) for axis, schedule in reversed(down)]
        return dims, primitive, [*down, (last, any_algorithm(draw, "all-reduce", dims[last])), *back]
    return dims, primitive, [(axis, any_algorithm(draw, primitive, dims[axis])) for axis in axes]


@given(compositions())
@settings(max_examples=200, deadline=None)
def test_any_algorithms_on_any_axes_in_any_order_make_the_primitive_true(drawn):
    dims, primitive, phases = drawn
    schedule = nested(Lattice(dims), phases)
    assert PRIMITIVES[primitive].accepts(schedule.blocks)
    run = execute(schedule)
    assert reference.holds(schedule)
    assert (run.cost.n_alpha, run.cost.n_beta) == reference.star_cost(schedule)
    back = reversed_in_time(schedule)
    if primitive in ("all-gather", "reduce-scatter", "all-to-all"):
        execute(back)


@given(compositions(), st.integers(0, 2))
@settings(max_examples=60, deadline=None)
def test_every_message_is_one_of_the_phase_moved_to_a_line_of_its_axis(drawn, seed):
    dims, _, phases = drawn
    lattice = Lattice(dims)
    composed = nested(lattice, phases)
    t = 0
    for axis, schedule in phases:
        for k in range(schedule.num_steps):
            inner = {(s, d) for s, d, _, _ in list(reference.messages(schedule))[k]}
            step = composed.step(t)
            for src, dst in zip(step.src.tolist(), step.dst.tolist(), strict=True):
                source, target = lattice.coordinates(src), lattice.coordinates(dst)
                assert (source[axis], target[axis]) in inner
                assert all(a == b for k, (a, b) in enumerate(zip(source, target, strict=True)) if k != axis)
            t += 1
    assert t == composed.num_steps


@given(st.lists(st.integers(0, 2**45), min_size=2, max_size=2), st.lists(st.integers(0, 2**45), min_size=3, max_size=3))
def test_blocks_of_any_shares_have_their_product_on_two_axes(first, second):
    """Also where numerators are beyond 64 bits."""
    parts = [[Fraction(x + 1, sum(some) + len(some)) for x in some] for some in (first, second)]
    schedules = [(axis, allgather.ring(len(some), shares=some)) for axis, some in enumerate(parts)]
    blocks = nested(Lattice((2, 3)), schedules).blocks
    assert list(blocks.share) == [inner * outer for outer in parts[1] for inner in parts[0]]


def sends_what_its_messages_do(lattice, phases, shifted=False):
    """Whether each phase's flows, shifted or not, are the messages of its steps added up for each pair of nodes."""
    schedule = nested(lattice, phases)
    shifts = LatticeGroup.of(Lattice(lattice.dims))
    shares, steps = list(schedule.blocks.share), list(reference.messages(schedule))
    for which in range(len(phases)):
        for flow in flows(lattice, phases, which, shifted):
            expected, counted = Counter(), Counter()
            for src, dst, block, _ in steps.pop(0):
                expected[src, dst] += shares[block]
            src, dst, share, alike, _ = flow
            if alike:
                src, dst = (shifts.image(end, np.arange(lattice.ranks)[:, None]).ravel() for end in (src, dst))
                share = np.tile(share, lattice.ranks)
            for one, other, part in zip(src.tolist(), dst.tolist(), share, strict=True):
                counted[one, other] += part
            assert counted == pytest.approx(expected)
    assert not steps


@given(compositions(), st.booleans())
@settings(max_examples=100, deadline=None)
def test_the_flows_of_a_phase_are_its_messages_added_up(drawn, shifted):
    dims, _, phases = drawn
    sends_what_its_messages_do(Lattice(dims), [Phase(*phase) for phase in phases], shifted)


def test_where_every_rank_sends_the_same_as_far_along_the_axes_a_phase_has_rank_0_s_flows():
    phases = [Phase(0, alltoall.bruck(6)), Phase(1, alltoall.pairwise(3))]
    counts = [[len(flow.src) for flow in flows(Lattice((6, 3)), phases, which, True)] for which in range(2)]
    assert counts == [[1, 1, 1], [1, 1]]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_flows_to_and_from_switches_are_its_messages_added_up(size):
    in_box = innetwork.one_shot_all_reduce(star(4, combines=True, replicates=True))
    to_switches = Phase(0, in_box, switches=np.arange(size)[::-1, None])
    for phases in ([to_switches, Phase(1, allgather.ring(size))], [Phase(1, reducescatter.ring(size)), to_switches]):
        sends_what_its_messages_do(Lattice((4, size)), phases)


def by_holders(blocks):
    """Every block as its share and who holds it before and after, whatever its number: a multiset."""
    sides = [[frozenset(blocks.holders(int(w)).tolist()) for w in side] for side in (blocks.source, blocks.target)]
    return Counter(zip(blocks.share, *sides, strict=True))


@given(shapes, st.data())
@settings(max_examples=60, deadline=None)
def test_a_block_of_several_axes_is_held_by_the_products_of_its_holders_on_each(dims, data):
    """On each axis blocks of one rank and of all stand side by side, whose products are lines and planes."""
    lattice = Lattice(dims)
    parts = [data.draw(schedules(size)) for size in dims]
    schedule = nested(lattice, data.draw(st.permutations(list(enumerate(parts)))))
    assert reference.holds(schedule)
    expected = Counter()
    for of_axes in product(*(by_holders(part.blocks).items() for part in parts)):
        shares, *sides = zip(*(block for block, _ in of_axes), strict=True)
        ends = (frozenset(sum(map(mul, at, lattice.strides)) for at in product(*side)) for side in sides)
        expected[prod(shares), *ends] += prod(times for _, times in of_axes)
    assert by_holders(schedule.blocks) == expected


@given(shapes, st.data())
@settings(max_examples=40, deadline=None)
def test_an_axis_without_a_phase_divides_the_ranks_into_groups(dims, data):
    axis = data.draw(st.integers(0, len(dims) - 1))
    alone = execute(allreduce.ring(dims[axis])).cost
    groups = execute(nested(Lattice(dims), [(axis, allreduce.ring(dims[axis]))]))
    assert groups.cost == alone
    assert groups.schedule.blocks.share.total() == np.prod(dims) // dims[axis]


@pytest.mark.parametrize(
    ("phases", "complaint"),
    [
        ([(2, allreduce.ring(3))], "axis 2: the lattice 3x2 has the axes 0..1"),
        ([(0, allreduce.ring(2))], "a schedule for 2 ranks on axis 0 of 3x2, which has 3"),
        (
            [(0, reducescatter.ring(3)), (1, allreduce.ring(2)), (0, broadcast.chain(3))],
            "the phases on axis 0 must cut the message into the same blocks",
        ),
    ],
)
def test_phases_that_do_not_fit_are_refused(phases, complaint):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refusal:
        nested(Lattice((3, 2)), phases)
    assert complaint in str(refusal.value)


def test_phases_in_a_wrong_order_are_refused_by_the_executor():
    gather_first = [(0, allgather.ring(3)), (1, allreduce.ring(2)), (0, reducescatter.ring(3))]
    with pytest.raises(ScheduleError):
        execute(nested(Lattice((3, 2)), gather_first))


def test_the_order_of_the_tiers_decides_what_crosses_the_cards():
    """By hand, 4 boxes of 4: starting inside leaves each card a quarter of the vector, starting outside all of it."""
    net = boxes((4, 4))

    def card(phases):
        run = execute(nested(Lattice((4, 4)), phases), net)
        return sum(kind.steps * kind.loads[1] for kind in run.kinds())

    inside, between = (0, reducescatter.ring(4)), (1, reducescatter.ring(4))
    assert card([inside, between]) == Fraction(3, 16)
    assert card([between, inside]) == Fraction(3, 4)


def test_two_phase_all_to_all_sends_as_many_bytes_over_a_card_in_fewer_messages():
    net, flat = boxes((4, 4)), execute(alltoall.pairwise(16), boxes((4, 4)))
    two = execute(hierarchical.all_to_all(net), net)
    cards = [link for link in range(net.num_links) if net.tiers[net.tier[link]].name == "card"]
    assert {two.link_total[link] for link in cards} == {flat.link_total[link] for link in cards} == {Fraction(3, 4)}
    assert sum(kind.steps for kind in two.kinds() if kind.hops[1]) == 3 < 15


@given(outer=st.lists(st.integers(1, 4), min_size=2, max_size=3), inner=st.integers(1, 4), data=st.data())
@settings(max_examples=60, deadline=None)
def test_racks_add_nothing_to_an_all_to_all_in_two_phases(outer, inner, data):
    """By hand: of B boxes of G, in G - 1 and B - 1 steps, (B - 1)/B of M over a card, however the boxes stand."""
    count, on_rails = prod(outer), data.draw(st.booleans())
    racks = boxes((*outer, inner), rails=inner if on_rails else None)
    order, names = data.draw(st.sampled_from(hierarchical.ORDERS)), data.draw(st.sampled_from(["pairwise", "bruck"]))
    options = {"tiers": f"{names},{names}", "order": order}
    run, flat = (execute(hierarchical.all_to_all(net, **options), net) for net in (racks, boxes((count, inner))))
    assert PRIMITIVES["all-to-all"].accepts(run.schedule.blocks)
    outside = racks.levels - 1
    price = {"message": 1e9, "alpha": [1e-6, *[3e-6] * outside], "bandwidth": [450e9, *[50e9] * outside]}
    two = {key: value if key == "message" else value[:2] for key, value in price.items()}
    assert run.cost.seconds(**price) == pytest.approx(flat.cost.seconds(**two))
    if names == "pairwise":
        assert crossings(run)["card"].most == Fraction(count - 1, count)
        assert run.schedule.num_steps == inner + count - 2


def test_a_ladder_on_three_tiers_has_the_exchange_in_two_phases_and_names_it():
    """By hand: 7/8 M and 3/4 M cross a card each time in three phases, 31/32 M in two."""
    price = {"message": 1e9, "alpha": [1e-6] * 3, "bandwidth": [450e9, 50e9, 50e9]}
    [rung] = [rung for rung in ladder("all-to-all", boxes((4, 8, 2)), **price) if rung.algorithm.name == "hierarchical"]
    assert rung.options[0].startswith("tiers=")
    assert rung.options[0].count(",") == 1
    assert 1e9 * 31 / 32 / 50e9 < rung.seconds < 1.05 * 1e9 * 31 / 32 / 50e9


@pytest.mark.parametrize("net", NETS, ids=lambda t: t.name)
@pytest.mark.parametrize("primitive", SIX)
def test_hierarchical_schedules_are_proved_in_both_orders_from_any_root(primitive, net):
    build = find(primitive, "hierarchical").build
    for order in hierarchical.ORDERS:
        for root in ({}, {"root": net.ranks - 2}) if primitive in ("broadcast", "reduce") else ({},):
            run = execute(build(net, order=order, **root), net)
            assert PRIMITIVES[primitive].accepts(run.schedule.blocks)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"tiers": "ring,ring,ring"}, "tiers 'ring,ring,ring': boxes:3x4 has 2"),
        (
            {"tiers": "gossip"},
            "reduce-scatter 'gossip' on tier 0: must be one of ring, recursive-doubling, bruck, pat, in-network",
        ),
        ({"tiers": "ring,rabenseifner"}, None),
        ({"tiers": "recursive-doubling,ring", "order": "outer-first"}, None),
        ({"tiers": "ring,dim-ring"}, "all-reduce 'dim-ring' on tier 1: must be one of ring,"),
        ({"order": "sideways"}, "order 'sideways': must be one of inner-first, outer-first"),
    ],
)
def test_names_of_tiers_are_read_and_checked(options, complaint):
    net = boxes((3, 4))
    if complaint is None:
        execute(hierarchical.all_reduce(net, **options), net)
        return
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refusal:
        hierarchical.all_reduce(net, **options)
    assert complaint in str(refusal.value)


@pytest.mark.parametrize("primitive", SIX)
@pytest.mark.parametrize("axis", [0, 1])
def test_every_algorithm_that_a_refusal_of_a_tiers_name_lists_is_taken_there(primitive, axis):
    net = boxes((4, 4), inc="both")
    build = find(primitive, "hierarchical").build

    def tiers(name):
        usual = "pairwise" if primitive == "all-to-all" else "ring" if primitive.startswith("all") else None
        usual = usual or ("ring" if primitive == "reduce-scatter" else "binomial-tree")
        return ",".join(name if tier == axis else usual for tier in (0, 1))

    with pytest.raises(ValueError, match="hierarchical' on tier") as refusal:
        build(net, tiers=tiers("hierarchical"))
    listed = str(refusal.value).partition("must be one of ")[2].split(", ")
    assert len(listed) > 1
    for name in listed:
        execute(build(net, tiers=tiers(name)), net)


def test_an_algorithm_that_a_tiers_size_rules_out_is_named_with_its_tier():
    with pytest.raises(ValueError, match="recursive-doubling on tier 1 needs a power of two, not 3 ranks"):
        hierarchical.all_gather(boxes((3, 4)), tiers="ring,recursive-doubling")


def test_the_switches_of_a_tier_may_take_part():
    """The switch in each box adds and replicates; between boxes, a ring of each place's ranks."""
    from dataclasses import replace

    net = replace(boxes((3, 4)), combines=True, replicates=True)
    in_box = innetwork.one_shot_all_reduce(star(4, combines=True, replicates=True))
    schedule = nested(Lattice((4, 3)), [Phase(0, in_box, switches=np.arange(3)[:, None])])
    run = execute(schedule, net)
    assert [kind.loads[0] for kind in run.kinds()] == [1]
    assert sum(kind.steps for kind in run.kinds()) == 2
    assert schedule.switches == 3
    none = nested(Lattice((4, 3)), [Phase(0, allreduce.binomial_tree(4), switches=np.zeros((3, 0), dtype=int))])
    assert none.switches == 0


def test_only_switches_that_act_take_part():
    """In boxes of four the first two switches are those in the boxes, which add and replicate; the leaves do not."""
    net, in_box = boxes((2, 4), inc="box"), innetwork.one_shot_all_reduce(star(4, combines=True, replicates=True))
    chosen = (np.array([[0], [1]]), np.array([[2], [3]]))
    inside, outside = (nested(Lattice((4, 2)), [Phase(0, in_box, switches=switches)]) for switches in chosen)
    assert execute(inside, net).how == "executed"
    with pytest.raises(ScheduleError, match=f"switch 2 of {net.name} must add block 0; its switches do not combine"):
        execute(outside, net)


def test_on_a_torus_the_axes_are_the_tiers():
    dims = (4, 3)
    rings = [(axis, reducescatter.ring(size)) for axis, size in enumerate(dims)]
    cost = execute(nested(Lattice(dims), rings), torus(dims)).cost
    assert (cost.n_alpha, cost.n_beta) == (5, Fraction(11, 12))


@st.composite
def hierarchies(draw):
    """Boxes whose switches take part on any tiers, and a hierarchical schedule on them with any options."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=2, max_size=3).filter(lambda sizes: np.prod(sizes) <= 24))
    net = boxes(sizes, inc="both", seed=draw(st.none() | st.integers(0, 2)))
    chosen = find(draw(st.sampled_from(SIX)), "hierarchical")
    order = draw(st.sampled_from(hierarchical.ORDERS))
    axes = range(len(sizes)) if order == "inner-first" else range(len(sizes))[::-1]
    tiers = {}
    for axis in axes:
        size = sizes[-1 - axis]
        serves = chosen.primitive
        if serves == "all-reduce" and axis != axes[-1]:
            serves = "all-gather"  # and the reduce-scatter that goes with it
        names = [a.name for a in of(serves) if a.fits(size)]
        tiers[axis] = draw(st.sampled_from([hierarchical.IN_NETWORK, *names]))
    options = {"order": order, "tiers": ",".join(tiers[axis] for axis in range(len(sizes)))}
    if "root" in chosen.options:
        options["root"] = draw(st.integers(0, net.ranks - 1))
    try:
        return net, chosen.primitive, chosen.build(net, segments=draw(st.integers(1, 3)), **options)
    except ValueError as error:
        if "several of its lines would meet in one switch" not in str(error):
            raise
        reject()


@given(hierarchies())
@settings(max_examples=150, deadline=None)
def test_hierarchical_schedules_with_switches_that_take_part_make_their_primitive_true(drawn):
    net, primitive, schedule = drawn
    assert PRIMITIVES[primitive].accepts(schedule.blocks)
    run = execute(schedule, net)
    assert reference.holds(schedule)
    sent, received = reference.traffic(schedule)
    assert list(run.sent) == [sent[rank] for rank in range(net.ranks)]
    assert list(run.received) == [received[rank] for rank in range(net.ranks)]


def test_where_switches_add_and_replicate_less_goes_over_their_tier():
    """By hand, 4 boxes of 4 in so many segments that their ends don't count.

    Within the box a ring puts 2 * 3/4 M on a port, a switch that adds M and 1/4 M; on the cards a
    ring 2 * 3/4 of a quarter, switches that add a quarter.
    """
    net, segments = boxes((4, 4), inc="both"), 64

    def loads(name):
        run = execute(find("all-reduce", name).build(net, segments=segments), net)
        return [max(run.link_total[link] for link in np.flatnonzero(net.tier == tier)) for tier in (0, 1)]

    ring, switch = (Fraction(3, 2), Fraction(3, 8)), (Fraction(5, 4), Fraction(1, 4))
    assert loads("hierarchical") == list(ring)
    assert loads("collnet") == [ring[0], switch[1]]
    assert loads("nvls") == list(switch)
    assert loads("nvls-tree")[0] == switch[0]


@pytest.mark.parametrize("name", ["collnet", "nvls"])
def test_in_racks_one_tree_of_switches_takes_each_part_up_and_down_once(name):
    """By hand, 3 racks of 4 boxes of 2: a card carries its rank's half, a box's way up both, a rack's both sums."""
    net = boxes((3, 4, 2), inc="both")
    run = execute(find("all-reduce", name).build(net), net)
    total = np.array(run.link_total)
    assert [set(total[net.tier == tier]) for tier in (1, 2, 3)] == [{Fraction(1, 2)}, {Fraction(1)}, {Fraction(1)}]
    outside = [kind for kind in run.kinds() if any(kind.loads[1:])]
    assert sorted((kind.steps, kind.loads[1:]) for kind in outside) == [(2, (0, 0, 1)), (2, (Fraction(1, 2), 1, 0))]


@pytest.mark.parametrize("sizes", [(2, 1, 3), (1, 3, 2), (1, 1, 2), (2, 2, 2, 2), (3, 2, 1)])
@pytest.mark.parametrize("name", ["collnet", "nvls"])
def test_trees_of_switches_over_any_tiers_make_an_all_reduce_true(name, sizes):
    for net in (boxes(sizes, inc="both"), boxes(sizes, rails=sizes[-1], inc="both")):
        schedule = find("all-reduce", name).build(net, segments=2)
        assert execute(schedule, net).how == "executed"
        assert reference.holds(schedule)


@pytest.mark.parametrize(("inside", "partners", "steps"), [("switch", 7, 4), ("full-mesh", 1, 16)])
def test_collnet_goes_straight_through_a_boxs_switch_and_along_a_ring_without_one(inside, partners, steps):
    """NCCL runs CollNetDirect if a box has a switch, and CollNetChain otherwise."""
    net = boxes((8, 8), inside=inside, inc="network")
    schedule = find("all-reduce", "collnet").build(net)
    assert execute(schedule, net).cost.seconds(message=0, alpha=(1, 10), bandwidth=(1, 1)) == steps - 2 + 10
    assert {len(set(schedule.step(0).dst[schedule.step(0).src == rank])) for rank in range(64)} == {partners}


@pytest.mark.parametrize(("sizes", "passes"), [((3, 2), 4), ((8, 2), 6), ((9, 2), 8), ((3, 3, 2), 8)])
def test_nvls_tree_goes_up_and_down_nccls_trees_over_all_boxes(sizes, passes):
    """By hand, 3 boxes: box 2 has 1 below and is below 0; 9 boxes, also in racks: 8 is below 0, then 4, 2, and 1."""
    net = boxes(sizes, inc="box")
    run = execute(find("all-reduce", "nvls-tree").build(net), net)
    outer = (1,) * (len(sizes) - 1)
    assert run.cost.seconds(message=0, alpha=(0, *outer), bandwidth=(1, *outer)) == passes


def test_slices_overlap_on_both_clocks():
    """One slice crosses the cards while another is in its box: the time falls towards the busier tier's alone."""
    net, price = boxes((4, 4)), {"message": 1e9, "alpha": (0.0, 0.0), "bandwidth": (1e9, 1e9)}
    inner, outer = 2 * 3 / 4, 2 * 3 / 4 / 4
    for clock in (lambda s: execute(s, net).cost.seconds(**price), lambda s: event_clock(s, net, **price).seconds):
        one_piece, cut = (clock(hierarchical.all_reduce(net, segments=p)) for p in (1, 24))
        assert one_piece == pytest.approx(inner + outer)
        assert inner <= cut < inner + outer / 4


def test_lines_that_would_meet_in_a_switch_with_the_same_blocks_are_refused():
    """After a broadcast in the box all its ranks have the block; before, the root alone brings it to the network."""
    net = boxes((2, 2), inc="both")
    execute(hierarchical.broadcast(net, tiers="in-network", order="outer-first"), net)
    with pytest.raises(ValueError, match="axis 1: several of its lines would meet in one switch"):
        hierarchical.broadcast(net, tiers="in-network", order="inner-first")


def test_a_tier_whose_switches_do_not_add_is_named():
    with pytest.raises(ValueError, match="all-reduce in-network on tier 1 needs switches that add and replicate there"):
        hierarchical.all_reduce(boxes((2, 4), inc="box"), tiers="ring,in-network")
    with pytest.raises(ValueError, match="all-reduce in-network on tier 1 needs switches that add and replicate there"):
        hierarchical.collnet(boxes((2, 4), inc="box"))
    assert find("all-reduce", "collnet").refusal(boxes((2, 4), inc="box")).startswith("on tier 1 needs switches")
    assert find("all-reduce", "nvls").refusal(boxes((2, 4), inside="full-mesh", inc="network")) == (
        "on tier 0 needs switches that add and replicate there, and those of boxes:2x4,inside=full-mesh,inc=network "
        "do not"
    )
    assert find("all-reduce", "in-network").refusal(boxes((2, 4), inc="both")).startswith("is made for one tree")


@pytest.mark.parametrize("dims", [(2, 5), (3, 5), (8, 6), (2, 7)])
def test_in_a_box_of_any_count_brucks_way_in_and_out_sends_a_rings_bytes_in_fewer_steps(dims):
    topology = boxes(dims)
    around, doubled = (
        execute(hierarchical.all_reduce(topology, tiers=f"{inside},ring"), topology) for inside in ("ring", "bruck")
    )
    steps = [run.schedule.num_steps - 2 * (dims[0] - 1) for run in (around, doubled)]
    assert steps == [2 * (dims[1] - 1), 2 * (dims[1] - 1).bit_length()]
    assert doubled.sent == around.sent
    for message in (1e3, 1e6, 1e9):
        price = {"message": message, "alpha": (0.6e-6, 2.7e-6), "bandwidth": (450e9, 50e9)}
        assert doubled.cost.seconds(**price) < around.cost.seconds(**price)


@pytest.mark.parametrize("dims", [(2, 4), (3, 3), (2, 8)])
def test_in_boxes_with_a_link_for_each_two_ranks_one_step_uses_all_of_them(dims):
    """By hand: M/G over every link of a box on the way in and again on the way out, and between boxes a ring."""
    topology = boxes(dims, inside="full-mesh")
    schedule = hierarchical.all_reduce(topology, tiers="direct,ring")
    assert reference.holds(schedule)
    assert schedule.num_steps == 2 + 2 * (dims[0] - 1)
    assert crossings(execute(schedule, topology))["box"].most == Fraction(2, dims[1])
    with pytest.raises(ValueError, match="all-reduce 'direct' on tier 1: must be one of ring"):
        hierarchical.all_reduce(topology, tiers="direct")
    with pytest.raises(ValueError, match="reduce-scatter 'direct' on tier 0: must be one of ring"):
        hierarchical.all_reduce(boxes(dims), tiers="direct,ring")


@pytest.mark.parametrize("dims", [(4, 4), (3, 4), (2, 2, 2), (5,)])
@pytest.mark.parametrize("primitive", SIX)
def test_one_box_with_a_torus_in_it_costs_what_the_torus_does_and_no_less_than_its_cut(primitive, dims):
    alone = torus(dims)
    box = boxes((1, alone.ranks), inside=alone.name)
    for message in (3.0, 1e4):
        on_torus = {
            rung.label: rung.seconds for rung in ladder(primitive, alone, message=message, alpha=1, bandwidth=1)
        }
        rungs = ladder(primitive, box, message=message, alpha=(1, 9), bandwidth=(1, 7))
        in_box = {rung.label: rung.seconds for rung in rungs if rung.label in on_torus}
        assert in_box == pytest.approx(on_torus)
        assert rungs[0].seconds <= min(on_torus.values()) * (1 + 1e-9)  # hierarchical also cuts what takes no segments
        if primitive == "all-to-all":
            pairs = alone.ranks // 2 * (alone.ranks - alone.ranks // 2)
            assert rungs[0].seconds > message * pairs / alone.ranks / float(bisection(alone).at_least)


@pytest.mark.parametrize("primitive", SIX)
def test_over_boxes_the_algorithms_of_a_torus_run_in_each(primitive):
    net = boxes((2, 8), inside="torus:4x2")
    names = hierarchical.choices(net, 0, primitive, "inner-first")
    assert {"dim-ring", "dim-chain", "rotated-relay"} & {*names}
    for name in names:
        tiers = f"{name},{hierarchical.choices(net, 1, primitive, 'inner-first')[0]}"
        assert execute(find(primitive, "hierarchical").build(net, tiers=tiers), net).schedule.makes(
            PRIMITIVES[primitive]
        )
    assert {"dim-ring", "dim-chain", "rotated-relay"} & {
        *hierarchical.choices(without(net, "card 1"), 0, primitive, "inner-first")
    }
    lacking = hierarchical.choices(without(net, "0-1"), 0, primitive, "inner-first")
    assert lacking == hierarchical.choices(boxes((2, 8)), 0, primitive, "inner-first")
