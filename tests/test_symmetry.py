"""Orbits: their blocks are the images by hand of the seed's, and a run by symmetry finds what a full run finds."""

import re
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from random_schedules import WILD, compositions, copied, lattices, orbits, seeds, spoiled, wirings
from test_lattice_group import choices, image_by_hand

from colllib import limits, symmetry, units
from colllib.algorithms import (
    ALGORITHMS,
    CATALOGUE,
    allgather,
    allreduce,
    alltoall,
    breadth_first,
    broadcast,
    direct,
    lattice,
    relay,
)
from colllib.algorithms.nested import nested
from colllib.cost import Cost
from colllib.exact import Fractions
from colllib.execution import ScheduleError, execute
from colllib.primitives import PRIMITIVES, Blocks, all_reduce, point_to_point
from colllib.schedule import Orbit, Schedule, Step, in_sequence, pipelined, reversed_in_time, scaled, side_by_side
from colllib.symmetry import by_symmetry
from colllib.topology import Lattice, boxes, from_links, full_mesh, line, mesh, ring, star, torus
from colllib.topology.base import uniform

# -- an orbit is a schedule ----------------------------------------------------------------------


def journeys(schedule):
    """Every block as its share, sources, targets and messages, whatever its number: a multiset."""
    blocks = schedule.blocks
    trips = [[] for _ in range(len(blocks))]
    for t, step in enumerate(reference.messages(schedule)):
        for src, dst, block, add in step:
            trips[block].append((t, src, dst, add))
    ends = [[tuple(sorted(blocks.holders(int(w)).tolist())) for w in side] for side in (blocks.source, blocks.target)]
    return Counter(zip(blocks.share, *ends, (tuple(sorted(trip)) for trip in trips), strict=True))


def images_one_by_one(orbit):
    """`journeys` of an orbit, the image of every block's by hand."""
    axes, shape, seed = range(len(orbit.lattice.dims)), orbit.lattice, orbit.seed
    counts = Counter()
    for (share, source, target, trip), times in journeys(seed).items():
        blocks = Counter()
        for choice in choices(shape, axes):
            element = tuple(0 if axis in orbit.fixed_axes else by for axis, by in zip(axes, choice, strict=True))
            ends = []
            for side in (source, target):
                ends.append(frozenset(image_by_hand(shape, axes, r, choice) for r in side))
            to = [(t, *(image_by_hand(shape, axes, r, choice) for r in (a, b)), add) for t, a, b, add in trip]
            blocks[element, *ends, tuple(to)] += 1
        # the images under the stabilizer are one block together
        for one in {element for element, *_ in blocks}:
            parts = [part for part in blocks if part[0] == one]
            ends = [tuple(sorted(frozenset().union(*(part[side] for part in parts)))) for side in (1, 2)]
            whole = sorted(message for part in parts for message in part[3])
            counts[share, *ends, tuple(whole)] += times
    return counts


@given(orbits())
@settings(max_examples=60)
def test_an_orbit_is_the_images_of_its_seed_message_by_message(orbit):
    assert isinstance(orbit, Orbit)
    assert journeys(orbit) == images_one_by_one(orbit)
    assert repr(orbit) == repr(copied(orbit))
    assert orbit.num_messages == orbit.seed.num_messages * orbit.group.order
    whole = copied(orbit)
    for t in range(orbit.num_steps):
        assert list(map(len, orbit.part(t)[0])) == [len(orbit.step(t).src) / orbit.part(t)[1]] * 4
        assert (len(whole.part(t)[0].src), whole.part(t)[1]) == (len(orbit.step(t).src), 1)
        share = list(orbit.blocks.share)
        loads = Counter()
        for src, dst, block, _ in zip(*orbit.step(t), strict=True):
            loads[src, dst] += share[block]
        for schedule in (orbit, whole):
            carried = Counter()
            for src, dst, part in zip(*schedule.carried(t), strict=True):
                carried[src, dst] += part
            assert carried == loads


@given(orbits())
@settings(max_examples=60)
def test_steps_of_one_pattern_carry_the_same(orbit):
    for schedule in (orbit, copied(orbit)):
        seen = {}
        for t in range(schedule.num_steps):
            carried = sorted(zip(*schedule.carried(t), strict=True))
            assert seen.setdefault(schedule.pattern(t), carried) == carried


@given(lattices(), st.data())
def test_what_is_done_to_the_seed_is_done_to_the_whole(shape, data):
    first, second = (Orbit(data.draw(seeds(shape.ranks)), shape) for _ in range(2))
    factor = data.draw(WILD)
    for of_orbits, of_wholes in (
        (reversed_in_time(first), reversed_in_time(copied(first))),
        (scaled(first, factor), scaled(copied(first), factor)),
        (side_by_side(first, second), side_by_side(copied(first), copied(second))),
        (side_by_side(first, reversed_in_time(second)), side_by_side(first, copied(reversed_in_time(second)))),
        (in_sequence(first, reversed_in_time(first)), in_sequence(first, copied(reversed_in_time(first)))),
    ):
        assert isinstance(of_orbits, Orbit)
        assert not isinstance(of_wholes, Orbit)
        assert journeys(of_orbits) == journeys(of_wholes)


@given(st.sampled_from([2, 3, 4]), st.sampled_from([2, 3, 4]))
def test_orbits_nest_to_orbits_and_to_the_same_as_their_wholes(inner, outer):
    phases = [
        (0, reversed_in_time(allgather.bruck(inner))),
        (1, allreduce.recursive_doubling(outer)),
        (0, allgather.bruck(inner)),
    ]
    for chosen in (phases, phases[1:2], [(1, alltoall.pairwise(outer)), (0, alltoall.pairwise(inner))]):
        composed = nested(Lattice((inner, outer)), chosen)
        whole = nested(Lattice((inner, outer)), [(axis, copied(schedule)) for axis, schedule in chosen])
        assert isinstance(composed, Orbit) == all(isinstance(schedule, Orbit) for _, schedule in chosen)
        assert journeys(composed) == journeys(whole)


@given(orbits(), st.integers(2, 4), st.integers(1, 3))
@settings(max_examples=60)
def test_segments_of_an_orbit_are_an_orbit_with_the_blocks_and_messages_of_those_of_the_whole(
    orbit, segments, interval
):
    cut, whole = (pipelined(schedule, segments, interval) for schedule in (orbit, copied(orbit)))
    assert isinstance(cut, Orbit)
    assert cut.num_steps == whole.num_steps
    assert list(map(Counter, reference.messages(cut))) == list(map(Counter, reference.messages(whole)))
    assert list(cut.blocks.share) == list(whole.blocks.share)
    for side in ("source", "target"):
        one, other = (
            [sorted(schedule.blocks.holders(int(who)).tolist()) for who in getattr(schedule.blocks, side)]
            for schedule in (cut, whole)
        )
        assert one == other


def test_segments_that_give_a_rank_more_messages_than_fit_are_refused():
    with pytest.raises(limits.TooLarge, match="20000000 messages of one rank are too many"):
        pipelined(alltoall.bruck(9, radix=9), 2500000)


def test_orbits_of_other_moves_are_put_together_in_full():
    ring_of_four, cube = allgather.ring(4), allgather.recursive_doubling(4)
    for whole in (side_by_side(ring_of_four, cube), in_sequence(reversed_in_time(cube), ring_of_four)):
        assert not isinstance(whole, Orbit)
        assert reference.holds(whole)
    again = replace(ring_of_four, blocks=all_reduce(4, shares=4))
    assert type(again) is Schedule
    assert again.step(2).block.tolist() == ring_of_four.step(2).block.tolist()


@pytest.mark.parametrize(
    ("build", "complaint"),
    [
        (lambda: Orbit(allgather.ring(4), Lattice((2, 3))), "a schedule for 4 ranks on 2x3, which has 6"),
        (
            lambda: Orbit(allgather.ring(4), Lattice((2, 2)), fixed_axes=[2]),
            r"axis 2: the lattice 2x2 has the axes 0\.\.1",
        ),
        (lambda: Orbit(allgather.ring(4), Lattice((4,), False), fixed_axes=[0]), "mirrors fix no block"),
        (lambda: Orbit(Schedule.from_steps(all_reduce(2), [], 1), Lattice((2,))), "cannot be moved"),
        (lambda: by_symmetry(allreduce.binomial_tree(4)), r"Schedule\(4 ranks, .*\) is not given as an orbit"),
        (lambda: by_symmetry(allgather.ring(4), star(5)), "does not fit star:5"),
    ],
)
def test_what_cannot_be_moved_or_run_is_refused(build, complaint):
    with pytest.raises(ValueError, match=complaint):
        build()


@pytest.mark.parametrize("dims", [(1,), (2,), (5,), (3, 3), (4, 3), (2, 2, 3)])
@pytest.mark.parametrize("wraps", [True, False])
def test_an_orbit_makes_an_all_to_all_if_all_its_blocks_do(dims, wraps):
    shape, primitive = Lattice(dims, wraps), PRIMITIVES["all-to-all"]
    for orbit in (relay.relay(shape), relay.rotated_relay(shape)):
        assert orbit.makes(primitive)
        assert primitive.accepts(orbit.blocks)
        assert not scaled(orbit, Fraction(1, 2)).makes(primitive)


# -- a run by symmetry finds what a full run finds -----------------------------------------------


def finds_the_same(orbit, topology=None):
    full, run = execute(orbit, topology), by_symmetry(orbit, topology)
    for field in ("sent", "received", "link", "hops", "loads"):
        mine, theirs = getattr(run.ledger, field), getattr(full.ledger, field)
        assert mine.shape == theirs.shape
        assert (mine == theirs).all()
    assert (run.cost, run.kinds(), run.sent, run.received) == (full.cost, full.kinds(), full.sent, full.received)
    assert run.link_total == full.link_total
    assert run.cost_of(range(0, orbit.num_steps, 2)) == full.cost_of(range(0, orbit.num_steps, 2))
    assert run.partners() == full.partners()
    assert (run.how, full.how) == ("by symmetry", "executed")
    if orbit.num_steps:
        assert run.link_load(orbit.num_steps - 1) == full.link_load(orbit.num_steps - 1)


@given(orbits(), st.data())
@settings(max_examples=80)
def test_a_run_by_symmetry_equals_the_full_run_on_any_wiring(orbit, data):
    speeds = st.sampled_from([Fraction(1), Fraction(1, 3), Fraction(7, 10)])
    parts = st.sampled_from([Fraction(0), Fraction(1), Fraction(1, 2)])
    finds_the_same(orbit)
    finds_the_same(orbit, data.draw(wirings(orbit.ranks, speeds, parts, most_levels=2)))


def fabrics(ranks):
    """Fabrics with symmetries and without, that of a ring or a torus or that of places in boxes among them."""
    yield from (star(ranks), ring(ranks), ring(ranks, tie="balanced"), line(ranks), full_mesh(ranks))
    for size in (2, 3, 4):
        if ranks % size == 0:
            count = ranks // size
            yield from (torus((size, count)), torus((count, size), order=(1, 0)), mesh((size, count)))
            yield from (boxes((count, size)), boxes((count, size), cards=1, oversubscription=3))
            yield from (boxes((count, size), seed=1), boxes((1, count, size), oversubscription=(2, 3)))
            if size == 4:
                yield boxes((count, size), cards=2)


SYMMETRIC = [algorithm for algorithm in ALGORITHMS if algorithm.fits(8) and isinstance(algorithm.build(8), Orbit)]


@pytest.mark.parametrize("algorithm", SYMMETRIC, ids=lambda a: f"{a.primitive}-{a.name}")
def test_named_algorithms_run_by_symmetry_as_in_full(algorithm):
    for ranks in (1, 2, 6, 8, 12):
        schedule = algorithm.build(ranks) if algorithm.fits(ranks) else None
        if isinstance(schedule, Orbit):
            for topology in fabrics(ranks):
                finds_the_same(schedule, topology)


def test_the_algorithms_that_are_the_same_seen_from_every_rank_are_orbits():
    assert {algorithm.name for algorithm in SYMMETRIC} == {
        *("ring", "recursive-doubling", "rabenseifner", "bidirectional-ring", "shortest-way-ring", "bruck", "pat"),
        *("recursive-halving", "pairwise", "ring-relay"),
    }
    on_tori = {a.name for a in CATALOGUE if a.takes == "lattice" and isinstance(a.build(Lattice((4, 4))), Orbit)}
    assert on_tori == {*("dim-ring", "dim-shortest-way", "rotated-dim-ring", "dim-rabenseifner", "rotated-relay")}


@pytest.mark.parametrize("dims", [(1,), (6,), (4, 2), (3, 3), (2, 1, 3), (4, 4)])
@pytest.mark.parametrize("wraps", [True, False])
def test_algorithms_for_lattices_run_by_symmetry_as_in_full(dims, wraps):
    shape = Lattice(dims, wraps)
    schedules = [relay.relay(shape, tie=tie, phased=p) for tie in ("up", "split") for p in (False, True)]
    if wraps:
        chosen = (lattice.dim_ring, lattice.dim_shortest_way, lattice.rotated_dim_ring)
        schedules += [*(build(shape) for build in chosen), breadth_first.all_reduce(torus(dims))]
    for schedule in (*schedules, relay.rotated_relay(shape)):
        for topology in (torus(dims), torus(dims, tie="balanced"), mesh(dims)):
            finds_the_same(schedule, topology)


@given(compositions(), st.data())
@settings(max_examples=40)
def test_one_inside_another_runs_by_symmetry_as_in_full_on_boxes_and_tori_of_the_same_axes(orbit, data):
    dims = orbit.lattice.dims if len(orbit.lattice.dims) > 1 else (*orbit.lattice.dims, 1)
    for topology in (torus(dims), boxes(dims[::-1]), boxes(dims[::-1], cards=1)):
        finds_the_same(orbit, topology)


@pytest.mark.parametrize(
    "topology", [torus((4, 3, 2)), torus((5, 4), order=(1, 0)), star(12), boxes((2, 3, 4)), boxes((5, 4), cards=1)]
)
def test_links_of_a_class_carry_the_same_of_any_direct_exchange(topology):
    """Whatever rank r sends rank r + d: where a class would hold unlike links, their loads would differ for some d."""
    assert topology.link_class is not None
    shape = Lattice(topology.lattice.dims if topology.lattice else (2, 6))
    straight = Orbit(alltoall.pairwise(topology.ranks).seed, shape)
    finds_the_same(straight, topology)
    run = execute(straight, topology)
    for t in range(straight.num_steps):
        load = np.array(run.link_load(t))
        assert all(len(set(load[topology.link_class == one])) == 1 for one in range(topology.link_class.max() + 1))


@pytest.mark.parametrize("fabric", [star(12), ring(12), torus((4, 3)), boxes((3, 4), cards=1)], ids=str)
def test_routes_found_in_small_portions_add_up_to_the_same(monkeypatch, fabric):
    monkeypatch.setattr(symmetry, "MOST_AT_ONCE", 5)
    shape = fabric.lattice or Lattice((12,))
    for schedule in (Orbit(alltoall.pairwise(12).seed, shape), Orbit(allreduce.ring(12).seed, shape)):
        finds_the_same(schedule, fabric)


def test_a_link_that_is_alone_in_its_class_carries_what_all_ranks_send():
    """All routes lead up to one switch, over one wire to another one, and down from there."""
    ranks, above, below = 4, 4, 5
    links = [*((rank, above) for rank in range(ranks)), (above, below), *((below, rank) for rank in range(ranks))]
    topology = from_links("shared", ranks, links, switches=2, alpha=[1] * 9)
    topology = replace(topology, link_class=np.array([0] * 4 + [3] + [1] * 4))  # a class may have no link at all
    for schedule in (allreduce.ring(ranks), alltoall.pairwise(ranks)):
        with np.errstate(divide="raise"):
            finds_the_same(schedule, topology)
    assert max(by_symmetry(allreduce.ring(ranks), topology).link_total) == ranks * Fraction(3, 2)


def test_as_many_kinds_of_step_as_ranks_take_no_longer_than_their_messages():
    run = by_symmetry(scaled(alltoall.pairwise(2**16), Fraction(1, 3)))  # 65,535 times 131,072 links would be a minute
    assert run.cost == Cost(2**16 - 1, Fraction(2**16 - 1, 3 * 2**16))


def test_a_run_that_takes_too_long_says_how_long_by_its_messages_and_the_links_that_they_cross(monkeypatch):
    monkeypatch.setattr(limits, "MOST_SECONDS", 0)
    seconds = 6 * 64 * limits.MESSAGE + 64 * (1 + 2 + 4 + 8 + 16 + 32) * limits.CROSSING
    with pytest.raises(limits.TooLarge, match=f"about {units.seconds(seconds, 2)},"):
        by_symmetry(allreduce.recursive_doubling(64), line(64))


def test_classes_that_the_routes_do_not_keep_to_are_refused():
    square = torus((4, 4))
    for wrong in (
        replace(square, link_class=np.arange(square.num_links) % 3),
        replace(torus((4, 4), tie="balanced"), link_class=square.link_class),
        replace(square, router=either_axis_first(4)),
        replace(square, alpha=scattered(square)),
    ):
        with pytest.raises(
            ValueError, match=r"torus:4x4(,tie=balanced)?: links of one class differ, or routes leave their classes"
        ):
            by_symmetry(Orbit(alltoall.pairwise(16).seed, square.lattice), wrong)


def either_axis_first(size):
    """Routes along the first axis first from even ranks, along the second one first from odd ranks."""
    first, second = torus((size, size)).router, torus((size, size), order=(1, 0)).router

    def route(src, dst):
        odd = np.asarray(src) % 2 == 1
        parts = [
            (np.flatnonzero(some), router(src[some], dst[some])) for some, router in ((~odd, first), (odd, second))
        ]
        message = np.concatenate([which[owner] for which, (owner, _) in parts])
        return message, np.concatenate([link for _, (_, link) in parts])

    return route


def scattered(topology):
    return type(topology.alpha).of(Fraction(1, 1 + link % 2) for link in range(topology.num_links))


def checked(orbit, fabric):
    """Whether the classes of a fabric's links pass for what they should be."""
    try:
        by_symmetry(orbit, fabric)
    except ValueError as error:
        return "links of one class differ, or routes leave their classes" not in str(error)
    return True


def test_a_route_over_other_links_is_refused_whatever_classes_these_are_given():
    """Rank 0 sends to rank 1 by way of ranks 1 and 2, all others do the like, but for rank 1, which may go another way.

    What it takes may be in the same classes, which tells nothing then: where the links begin and end does.
    """
    ranks, expected = 5, (0, 1, 2, 1)
    shift = Orbit(Schedule.from_steps(point_to_point(ranks), [Step.of(0, 1, 0)]), Lattice((ranks,)))
    walks = [(0, a, b, 1) for a in range(1, ranks) for b in range(ranks) if b not in (a, 1)]
    for walk, classes in product(walks, permutations(range(3))):
        ends = np.array(expected) + np.arange(ranks)[:, None]
        ends[1] = np.array(walk) + 1
        order = np.tile(np.arange(3), (ranks, 1))
        order[1] = np.argsort(classes)  # which hop of rank 1's is the link of each class
        src, dst = (np.take_along_axis(side, order, axis=1).T.ravel() % ranks for side in (ends[:, :3], ends[:, 1:]))

        def route(src, dst):
            return np.repeat(np.arange(len(src)), 3), (np.arange(3) * ranks + src[:, None]).ravel()

        fabric = replace(uniform("walks", ranks, src, dst, route, ""), link_class=np.repeat(np.arange(3), ranks))
        assert checked(shift, fabric) == (walk == expected and classes == (0, 1, 2))


def test_a_message_by_way_of_another_switch_is_refused_whichever_the_others_take():
    """Each rank sends to the next three over one of three switches each, and rank 1 perhaps over others than rank 0."""
    ranks, planes = 5, 3
    links = [(rank, ranks + plane) for plane in range(planes) for rank in range(ranks)]
    fabric = from_links(
        "planes", ranks, links + [pair[::-1] for pair in links], switches=planes, alpha=[1] * 2 * len(links)
    )
    sends = [Schedule.from_steps(point_to_point(ranks, target=d), [Step.of(0, d, 0)]) for d in (1, 2, 3)]
    orbit = Orbit(side_by_side(*sends), Lattice((ranks,)))
    for one in product(range(planes), repeat=3):
        for other in product(range(planes), repeat=3):

            def route(src, dst, one=one, other=other):
                taken = (dst - src) % ranks - 1
                plane = np.where(src == 1, np.array(other)[taken], np.array(one)[taken])
                crossed = np.stack((plane * ranks + src, len(links) + plane * ranks + dst), axis=1)
                return np.repeat(np.arange(len(src)), 2), crossed.ravel()

            classes = np.repeat(np.arange(2 * planes), ranks)
            assert checked(orbit, replace(fabric, router=route, link_class=classes)) == (one == other)


# -- what is wrong is refused --------------------------------------------------------------------


def outcome(run, orbit):
    try:
        return run(orbit)
    except ScheduleError as error:
        return error


def is_true(schedule, error):
    """Whether the second interpreter bears out what an error says."""
    states, steps, message = [], list(reference.messages(schedule)), str(error)
    with suppress(KeyError):  # at a message without a value; the state before it is the last one then
        states.extend(reference.states(schedule))
    rank, block, t = error.rank, error.block, error.step
    if "to itself" in message:
        return any(src == dst == rank and b == block for src, dst, b, _ in steps[t])
    if "does not hold it" in message:
        sends = any(src == rank and b == block for src, _, b, _ in steps[t])
        return sends and (len(states) <= t or (rank, block) not in states[t])
    if "only additions may meet" in message:
        adds = [add for _, dst, b, add in steps[t] if (dst, b) == (rank, block)]
        return len(adds) > 1 and not all(adds)
    if "never receives" in message:
        return t is None and (rank, block) not in states[-1]
    who = int(re.search(r"contribution of rank (\d+)", message)[1])
    if "lacks" in message:
        writes = [s for s, step in enumerate(steps) if any((dst, b) == (rank, block) for _, dst, b, _ in step)]
        return states[-1][rank, block][who] == 0 and t == (writes[-1] if writes else None)
    last = re.search(r"and rank (\d+) ends with it", message)
    ends = int(last[1]) if last else rank
    before, after = (state.get((rank, block), Counter())[who] for state in states[t : t + 2])
    return before < after > 1 and max(states[-1][ends, block].values()) > 1


def in_boxes(inner, outer, lanes):
    """An all-reduce whose blocks stay as they are between boxes, or altogether."""
    halves = (reversed_in_time(allgather.bruck(inner)), allgather.bruck(inner))
    return nested(Lattice((inner, outer)), [(0, halves[0]), (1, lanes(outer)), (0, halves[1])])


STILL = [
    allreduce.recursive_doubling(8),
    in_boxes(3, 4, allreduce.recursive_doubling),
    in_boxes(2, 2, allreduce.recursive_doubling),
    nested(Lattice((2, 4)), [(1, allreduce.ring(4)), (0, allreduce.recursive_doubling(2))]),
]


@given(st.one_of(orbits(), st.sampled_from(STILL)).flatmap(spoiled))
@settings(max_examples=300)
def test_both_runs_agree_on_what_is_wrong_and_what_a_refusal_says_is_true(orbit):
    full, run = (outcome(executor, orbit) for executor in (execute, by_symmetry))
    assert isinstance(run, ScheduleError) == isinstance(full, ScheduleError)
    if isinstance(run, ScheduleError):
        assert is_true(orbit, run)
    else:
        finds_the_same(orbit)


def altered(orbit, change):
    """An orbit with its seed's table of messages changed."""
    when, messages = orbit.seed.messages
    when, *columns = change(when.copy(), *(column.copy() for column in messages))
    seed = Schedule.from_messages(orbit.seed.blocks, orbit.num_steps, when, Step(*columns))
    return Orbit(seed, orbit.lattice, orbit.fixed_axes, orbit.number)


def without(i):
    return lambda *columns: [np.delete(column, i) for column in columns]


def with_value(column, i, value):
    def change(*columns):
        columns[column][i] = value
        return columns

    return change


@pytest.mark.parametrize(
    ("orbit", "change", "complaint", "place"),
    [
        (allgather.ring(5), without(2), "step 3: rank 3 sends block 0 to rank 4 but does not hold it", (3, 0, 3)),
        (allgather.ring(5), without(3), "rank 4 never receives block 0", (4, 0, None)),
        (allreduce.ring(5), without(0), "rank 0 ends with a block 0 that lacks the contribution of rank 0", (0, 0, 4)),
        (
            allreduce.recursive_doubling(8),
            without(1),
            "rank 0 ends with a block 0 that lacks .* step 2 wrote",
            (0, 0, 2),
        ),
        (
            allreduce.recursive_doubling(8),
            with_value(4, 2, False),
            "rank 0 ends with a block 0 that lacks the contribution of rank 0; step 2 wrote",
            (0, 0, 2),
        ),
        (
            allreduce.recursive_doubling(8),
            with_value(2, 2, 2),
            "step 2: rank 0 adds a contribution of rank 0 to block 0 that it already holds",
            (0, 0, 2),
        ),
        (alltoall.pairwise(4), with_value(2, 0, 0), "step 0: rank 0 sends block 1 to itself", (0, 1, 0)),
        (
            direct.reduce_scatter(3),
            with_value(4, 1, False),
            "step 0: rank 0 receives block 0 more than once",
            (0, 0, 0),
        ),
    ],
)
def test_a_refusal_names_rank_block_and_step(orbit, change, complaint, place):
    wrong = altered(orbit, change)
    with pytest.raises(ScheduleError, match=complaint) as caught:
        by_symmetry(wrong)
    assert (caught.value.rank, caught.value.block, caught.value.step) == place
    assert is_true(wrong, caught.value)
    with pytest.raises(ScheduleError):
        execute(wrong)


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("times", [1, 2, 3, 4])
def test_what_a_rank_lacks_is_named_however_far_round_its_block_came(ranks, times):
    """All ranks hand on what they have, so many times: in the end each has only what began so far behind it."""
    one = Blocks(ranks, Fractions.equal(1), np.array([0]), np.array([0]), ())
    orbit = Orbit(Schedule.from_steps(one, [Step.of(0, 1, 0)] * times), Lattice((ranks,)), fixed_axes=[0])
    error = outcome(by_symmetry, orbit)
    assert "lacks the contribution" in str(error)
    assert is_true(orbit, error)


def test_a_message_of_what_does_not_exist_is_refused_with_its_step():
    for column, name in ((1, "node"), (3, "block")):
        with pytest.raises(ValueError, match=rf"step 2: {name} 9 does not exist"):
            by_symmetry(altered(allgather.ring(4), with_value(column, 2, 9)))


@pytest.mark.parametrize("fits", [True, False])
def test_steps_are_told_apart_by_machine_integers_as_long_as_these_suffice(fits):
    """A chain over four ranks whose last message is the last of so many steps: a number for each rank and step."""
    chain, steps = broadcast.chain(4), 2**60 - 1 - fits
    when, messages = np.array([0, 1, steps - 1]), chain.messages[1]
    orbit = Orbit(Schedule(chain.blocks, steps, chain.step, flat=(when, messages)), Lattice((4,)))
    if fits:
        symmetry._Values(orbit).prove()
    else:
        with pytest.raises(ValueError, match=f"4 ranks x 1 blocks x {2**60} steps: too large to execute"):
            symmetry._Values(orbit)


# -- sizes that no full run reaches --------------------------------------------------------------


def test_large_orbits_cost_what_their_closed_forms_say():
    for ranks in (2**12, 30_011):
        run = by_symmetry(allreduce.ring(ranks), ring(ranks))
        assert run.cost == allreduce.ring_cost(ranks)
        assert set(run.link_total) == {Fraction(2 * (ranks - 1), ranks), Fraction(0)}
    cube = Lattice((24, 20, 16))
    assert by_symmetry(lattice.dim_ring(cube), torus(cube.dims)).cost == lattice.dim_ring_cost(cube)
    assert by_symmetry(allreduce.rabenseifner(2**14)).cost == allreduce.rabenseifner_cost(2**14)
    assert by_symmetry(allreduce.recursive_doubling(2**14)).cost == allreduce.recursive_doubling_cost(2**14)
    assert by_symmetry(alltoall.pairwise(3000)).cost == alltoall.pairwise_cost(3000)


def test_a_hierarchical_all_reduce_over_32_768_ranks_has_the_traffic_of_its_phases():
    inside = reversed_in_time(allgather.ring(8))
    phases = [(0, inside), (1, allreduce.recursive_doubling(4096)), (0, allgather.ring(8))]
    run = by_symmetry(nested(Lattice((8, 4096)), phases), boxes((4096, 8)))
    assert set(run.sent) == {2 * Fraction(7, 8) + Fraction(12, 8)}
    assert [kind.steps for kind in run.kinds()] == [12, 14]
    assert PRIMITIVES["all-reduce"].accepts(run.schedule.blocks)


def test_the_relay_on_a_torus_of_4096_ranks_keeps_every_link_busy():
    run = by_symmetry(relay.rotated_relay(Lattice((16, 16, 16))), torus((16, 16, 16)))
    assert run.cost == Cost(24, 2) == relay.rotated_relay_cost(Lattice((16, 16, 16)))
    assert set(relay.link_loads(torus((16, 16, 16)))) == {Fraction(9, 4), Fraction(7, 4)}


@given(orbits())
@settings(max_examples=60)
def test_an_orbit_makes_the_primitives_that_its_blocks_written_out_make(orbit):
    for primitive in PRIMITIVES.values():
        assert orbit.makes(primitive) == primitive.accepts(copied(orbit).blocks)


@pytest.mark.parametrize("schedule", [alltoall.pairwise(6), alltoall.bruck(9), relay.relay(Lattice((3, 4)), tie="up")])
def test_an_all_to_all_given_as_an_orbit_is_one(schedule):
    assert isinstance(schedule, Orbit)
    makes = [name for name, primitive in PRIMITIVES.items() if schedule.makes(primitive)]
    assert makes == ["all-to-all"] == [name for name, one in PRIMITIVES.items() if one.accepts(schedule.blocks)]


@pytest.mark.parametrize(("group", "is_one"), [([0], True), ([1], False), ([0, 1, 2, 3, 4, 5], False)])
def test_a_block_for_a_group_makes_an_all_to_all_only_if_the_group_is_its_rank(group, is_one):
    pairwise = alltoall.pairwise(6)
    blocks = pairwise.seed.blocks
    target = np.where(blocks.target == 0, 6, blocks.target)  # what a rank keeps goes to the group
    seed = replace(pairwise.seed, blocks=replace(blocks, target=target, groups=(np.array(group),)))
    orbit = Orbit(seed, pairwise.lattice)
    assert orbit.makes(PRIMITIVES["all-to-all"]) == PRIMITIVES["all-to-all"].accepts(orbit.blocks) == is_one
