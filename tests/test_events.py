"""The event-driven clock, against arithmetic done by hand and against the lock-step clock."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import isclose

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from random_schedules import schedules, seeds, wirings

from colllib.algorithms import allreduce, broadcast, direct, find, of, reducescatter
from colllib.algorithms.nested import nested
from colllib.events import Processor, event_clock
from colllib.exact import Fractions
from colllib.execution import execute
from colllib.primitives import Blocks, all_gather, reduce
from colllib.primitives import broadcast as broadcast_blocks
from colllib.schedule import Schedule, Step, pipelined, reversed_in_time
from colllib.topology import Latency, Lattice, boxes, from_links, leaf_spine, ring, star

UNIT = {"message": 1.0, "alpha": 1.0, "bandwidth": 1.0}
PRICES = {"message": 1e6, "alpha": 1e-6, "bandwidth": 1e9}


@given(st.integers(2, 9), st.integers(1, 12))
def test_a_pipelined_chain_pays_alpha_once_per_hop_and_bytes_once_per_segment(n, segments):
    line = event_clock(pipelined(broadcast.chain(n), segments), **UNIT)
    # alpha only delays: the last segment leaves after the others and needs n - 1 hops in full
    assert isclose(line.seconds, (segments - 1) / segments + (n - 1) * (1 + 1 / segments))


@pytest.mark.parametrize(
    ("steps", "fault"),
    [
        ([(1, 2), (0, 1)], "step 0: rank 1 sends block 0 to rank 2 but does not hold it"),
        ([(0, 1), (2, 1)], "step 1: rank 2 sends block 0 to rank 1 but does not hold it"),
        ([(0, 7)], "step 0: node 7 does not exist"),
        ([(0, 0)], "step 0: rank 0 sends block 0 to itself"),
    ],
)
def test_what_cannot_run_has_no_time(steps, fault):
    schedule = Schedule.from_steps(broadcast_blocks(3), [Step.of(*ends, 0) for ends in steps])
    with pytest.raises(ValueError, match=f"^{fault}"):
        event_clock(schedule, **UNIT)


def test_timelines_are_told_apart_though_their_arrays_are_the_same():
    line = event_clock(broadcast.chain(3), **UNIT)
    assert len({line, replace(line), line}) == 2


@pytest.mark.parametrize("algorithm", of("all-reduce"), ids=lambda a: a.name)
@given(n=st.integers(1, 12), ports=st.integers(1, 3))
def test_nothing_starts_before_it_is_there_nor_shares_a_link(algorithm, n, ports):
    schedule = algorithm.build(n)
    line = event_clock(schedule, star(n, ports), **PRICES)
    assert (line.start >= line.ready).all()
    assert (line.arrival > line.start).all()
    busy = line.size * PRICES["message"] / PRICES["bandwidth"] / ports
    leaving = zip(line.src, line.start, line.start + busy, strict=True)
    entered = line.arrival - PRICES["alpha"] / 2
    entering = zip(line.dst, entered - busy, entered, strict=True)
    for uses in (leaving, entering):
        uses = sorted(uses)
        for (rank, _, free), (same, begin, _) in pairwise(uses):
            assert rank != same or free <= begin + 1e-15


@pytest.mark.parametrize("n", [2, 4, 8, 16, 32])
def test_where_all_ranks_do_the_same_both_clocks_agree(n):
    for schedule in (allreduce.ring(n), allreduce.recursive_doubling(n), allreduce.rabenseifner(n)):
        assert isclose(event_clock(schedule, **PRICES).seconds, execute(schedule).cost.seconds(**PRICES))


def test_a_sum_waits_for_all_of_its_contributions():
    # 0 and 1 send to 2, one port: the second addition arrives a message later; only then may 2 send on
    steps = [Step.of([0, 1], 2, 0, add=True), Step.of(2, 3, 0, add=True)]
    line = event_clock(Schedule.from_steps(reduce(4, root=3), steps), **UNIT)
    assert line.start.tolist() == [0, 0, 3]  # the second one queues at the switch
    assert line.seconds == 5


def test_a_link_serves_first_come_first_served():
    # rank 0's second message is ready at once, rank 2's only later, although the schedule has them the other way
    steps = [Step.of(0, 2, 0), Step.of(2, 3, 0), Step.of(0, 1, 0)]
    line = event_clock(Schedule.from_steps(broadcast_blocks(4), steps), **UNIT)
    assert line.start.tolist() == [0, 2, 1]


def test_a_bundle_is_one_message():
    steps = [Step.of(0, 1, [0, 1, 2])]
    line = event_clock(Schedule.from_steps(broadcast_blocks(2, shares=3), steps), **UNIT)
    assert line.seconds == 2
    assert len(line.start) == 1


def test_the_slowest_link_of_a_route_and_all_its_latencies_count():
    path = from_links("path", 2, [(0, 2), (2, 1)], switches=1, alpha=[1, 3], bandwidth=[4, 2])
    line = event_clock(Schedule.from_steps(broadcast_blocks(2), [Step.of(0, 1, 0)]), path, **UNIT)
    assert line.seconds == 4 + 1 / 2


def test_far_partners_on_a_physical_ring_queue_on_shared_links():
    schedule = allreduce.recursive_doubling(8)
    assert event_clock(schedule, ring(8), **UNIT).seconds > event_clock(schedule, star(8), **UNIT).seconds


def test_every_message_of_the_schedule_is_on_the_timeline():
    schedule = allreduce.double_binary_tree(7, segments=3)
    line = event_clock(schedule, **PRICES)
    assert len(line.step) == sum(len({(s, d) for s, d, _, _ in step}) for step in reference.messages(schedule))


def test_bad_quantities_are_refused():
    with pytest.raises(ValueError, match="bandwidth 0"):
        event_clock(broadcast.chain(2), message=1, alpha=1, bandwidth=0)


POWERS = st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4)])
PARTS = st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1), Fraction(3)])


@given(data=st.data(), ranks=st.integers(1, 6), levels=st.integers(1, 2))
@settings(max_examples=150, deadline=None)
def test_the_clock_is_that_of_an_independent_event_loop(data, ranks, levels):
    """On random schedules and wirings, with cables, late ranks, slow pairs, processors; powers of two break no tie."""
    schedule = data.draw(schedules(ranks) | seeds(ranks))
    # shares that are no power of two would round
    count = len(schedule.blocks)
    whole = replace(schedule, blocks=replace(schedule.blocks, share=Fractions.equal(count, count)))
    net = data.draw(wirings(ranks, POWERS, PARTS, most_levels=levels, most_cables=3))
    alpha, speed = (data.draw(st.lists(POWERS, min_size=net.levels, max_size=net.levels)) for _ in range(2))
    rank = st.integers(0, ranks - 1)
    options = {
        "late": data.draw(st.dictionaries(rank, PARTS.map(float), max_size=2)),
        "slow": data.draw(st.dictionaries(st.tuples(rank, rank), st.sampled_from([1.0, 2.0]), max_size=3)),
        "processor": data.draw(st.none() | st.builds(Processor, PARTS.map(float), PARTS.map(float))),
    }
    prices = {"alpha": [float(a) for a in alpha], "bandwidth": [float(b) for b in speed]}
    line = event_clock(whole, net, message=2.0, **prices, **options)
    times = zip(*(map(Fraction, some.tolist()) for some in (line.ready, line.start, line.arrival)), strict=True)
    messages = zip(line.step.tolist(), line.src.tolist(), line.dst.tolist(), strict=True)
    expected = reference.event_times(whole, net, Fraction(2), alpha, speed, **options)
    assert dict(zip(messages, times, strict=True)) == expected


@pytest.mark.parametrize("k", [1, 2, 4, 8])
def test_k_messages_over_a_link_of_k_cables_take_what_one_takes(k):
    """k ranks of a box send to k ranks of the next: over boxes, over leaves and a spine, over any trunk."""
    across = Schedule.from_steps(all_gather(2 * k), [Step.of(range(k), range(k, 2 * k), range(k))])
    trunk = [*((r, 2 * k) for r in range(k)), (2 * k, 2 * k + 1), *((2 * k + 1, r) for r in range(k, 2 * k))]
    wide = [1] * k + [k] + [1] * k
    for net, levels in (
        (boxes((2, k)), 2),
        (leaf_spine(2, k, 1, uplink=k), 1),
        (from_links("trunk", 2 * k, trunk, switches=2, bandwidth=wide, cables=wide, latency=Latency()), 1),
    ):
        price = {"message": 2.0 * k, "alpha": [0.5] * levels, "bandwidth": [1.0] * levels}
        one = event_clock(taken(across, 1), net, **price).seconds
        assert event_clock(across, net, **price).seconds == one


def taken(schedule, count):
    """Only the first messages of each step."""
    steps = [Step(*(values[:count] for values in schedule.step(t))) for t in range(schedule.num_steps)]
    return Schedule.from_steps(schedule.blocks, steps)


def test_on_boxes_with_full_uplinks_the_nested_ring_takes_what_lock_step_says():
    inside = reducescatter.ring(8)
    rings = nested(Lattice((8, 8)), [(0, inside), (1, allreduce.ring(8)), (0, reversed_in_time(inside))])
    price = {"message": 1e9, "alpha": (1e-6, 5e-6), "bandwidth": (600e9, 100e9)}
    assert isclose(
        event_clock(rings, boxes((8, 8)), **price).seconds, execute(rings, boxes((8, 8))).cost.seconds(**price)
    )


def test_bonded_ports_carry_one_message_at_a_time_and_a_trunk_carries_several():
    two = Schedule.from_steps(broadcast_blocks(3, shares=2), [Step.of(0, [1, 2], [0, 1])])
    price = {"message": 4.0, "alpha": 1.0, "bandwidth": 1.0}
    wires = [(0, 3), (3, 1), (3, 2)]

    def arrivals(cables):
        net = from_links("w", 3, wires, switches=1, bandwidth=[2, 2, 2], cables=[cables, 1, 1], latency=Latency())
        return event_clock(two, net, **price).arrival.tolist()

    assert arrivals(cables=1) == [2.0, 3.0]  # one after the other, each over both ports
    assert arrivals(cables=2) == [3.0, 3.0]  # side by side, each over one cable


def test_an_uplink_may_be_any_fraction_of_a_card():
    across = Schedule.from_steps(all_gather(16), [Step.of(range(8), range(8, 16), range(8))])
    net = boxes((2, 8), oversubscription=3)
    assert net.tiers[2].bandwidth == Fraction(8, 3)
    assert net.tiers[2].cables == 3
    # eight messages over three cables of 8/9 BW: three rounds, of two messages the last
    line = event_clock(across, net, message=16.0, alpha=(0, 0), bandwidth=(1, 1))
    assert sorted(line.arrival.round(6).tolist()) == [1.125] * 3 + [2.25] * 3 + [3.375] * 2


def test_a_schedule_that_does_not_fit_is_refused():
    for net in (star(3), ring(3)):
        with pytest.raises(ValueError, match="4 ranks does not fit"):
            event_clock(broadcast.chain(4), net, **UNIT)


def overtaking():
    """Block a goes 0 -> 1 -> 2 and back with c; b, of step 2, is ready at once and fills the port of rank 2."""
    a, b, c = range(3)
    blocks = Blocks(3, Fractions.of([1, 4, 4]), np.array([0, 0, 2]), np.array([3, 2, 0]), (np.arange(3),))
    return Schedule.from_steps(blocks, [Step.of(0, 1, a), Step.of(1, 2, a), Step.of([0, 2, 2], [2, 0, 0], [b, a, c])])


def test_a_later_step_may_overtake_and_make_the_event_clock_the_slower_one():
    """First come, first served lets a message of step 2 delay one of step 1 that others wait for."""
    assert execute(overtaking()).cost.seconds(**UNIT) == 2 + 2 + 6
    assert event_clock(overtaking(), **UNIT).seconds == 7 + 6


def test_a_crowded_receiver_may_make_the_event_clock_the_slower_one():
    """All send to the lower rank first, so that both blocks for rank 2 leave second, and the last enters third."""
    exchange, price = direct.all_to_all(3), UNIT | {"message": 3.0}  # blocks of 1
    assert execute(exchange).cost.seconds(**price) == 1 + 2
    line = event_clock(exchange, **price)
    assert sorted(line.arrival[line.dst == 2].tolist()) == [1 + 2, 1 + 3]
    assert line.seconds == 1 + 3


@given(st.integers(2, 7), st.floats(0, 1))
@settings(deadline=None, max_examples=20)
def test_a_late_rank_holds_up_a_ring_by_just_its_delay(ranks, delay):
    ring = allreduce.ring(ranks)
    usual, late = (event_clock(ring, **PRICES, late=late).seconds for late in ({}, {1: delay}))
    assert late == pytest.approx(usual + delay)


def test_with_a_processor_a_late_rank_receives_no_sooner_than_it_begins():
    line = event_clock(broadcast.chain(2), **UNIT, late={1: 100}, processor=Processor(5))
    assert line.seconds == line.finished(1, 3) == 100 + 5


def test_a_tree_absorbs_a_delay_for_which_its_root_would_have_waited():
    tree = allreduce.binomial_tree(8)
    usual, late = (event_clock(tree, **PRICES, late=late).seconds for late in ({}, {0: PRICES["alpha"]}))
    assert late == usual
    last = event_clock(tree, **PRICES, late={7: PRICES["alpha"]}).seconds
    assert last == pytest.approx(usual + PRICES["alpha"])


def test_on_the_event_clock_segments_hide_latencies_of_a_halving_that_lock_step_pays():
    halving = allreduce.rabenseifner(64)
    cut = pipelined(halving, 2)
    price = {"message": 16e6, "alpha": 0.5e-6, "bandwidth": 900e9}
    assert event_clock(cut, **price).seconds < 0.95 * event_clock(halving, **price).seconds
    assert execute(cut).cost.n_beta == execute(halving).cost.n_beta


@pytest.mark.parametrize(
    ("schedule", "slower"),
    [
        (allreduce.rabenseifner(6), True),
        (allreduce.rabenseifner(12), True),
        (allreduce.shortest_way_ring(3), True),
        (allreduce.bidirectional_ring(12), False),
    ],
    ids=["folded 6", "folded 12", "shortest way 3", "bidirectional 12"],
)
def test_folded_halvings_and_two_way_rings_on_a_star_do_not_take_the_same_time_on_both_clocks(schedule, slower):
    price = {"message": 16e6, "alpha": 0.5e-6, "bandwidth": 900e9}
    both = event_clock(schedule, **price).seconds / execute(schedule).cost.seconds(**price)
    assert both > 1.01 if slower else both < 0.99


@given(st.integers(2, 8), st.lists(st.floats(0, 1), min_size=8, max_size=8))
@settings(deadline=None, max_examples=20)
def test_a_chain_waits_for_each_late_rank_and_each_slow_link_on_its_way(ranks, numbers):
    """One block through a chain: a recursion of one line, without the clock."""
    late, slow = dict(enumerate(numbers[:ranks])), {(k, k + 1): 1 + numbers[k] for k in range(ranks - 1)}
    line = event_clock(broadcast.chain(ranks), **PRICES, late=late, slow=slow)
    arrival = numbers[0]
    for k in range(ranks - 1):
        arrival = max(arrival, late[k]) + PRICES["alpha"] + slow[k, k + 1] * PRICES["message"] / PRICES["bandwidth"]
        assert line.finished(k + 1, 0.0) == pytest.approx(max(arrival, late[k + 1]) if k + 2 < ranks else arrival)


def test_one_slow_link_halves_a_ring_and_costs_halving_and_doubling_less():
    late = {}
    for name, schedule in {"ring": allreduce.ring(8), "halving": allreduce.rabenseifner(8)}.items():
        usual, slow = (
            event_clock(schedule, message=1, alpha=0, bandwidth=1, slow=s).seconds for s in ({}, {(0, 1): 2, (1, 0): 2})
        )
        late[name] = slow / usual
    assert late["ring"] == pytest.approx(2)
    assert 1 < late["halving"] < 1.8


def test_a_time_beyond_floating_point_is_refused():
    with pytest.raises(ValueError, match="a time of inf s is no number"):
        event_clock(allreduce.ring(3), message=1e300, alpha=1.0, bandwidth=1e-300)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"late": {1: -1}}, "late by -1: must be finite, and at least 0"),
        ({"late": {7: 1}}, "late rank or end of a slow link 7"),
        ({"slow": {(0, 1): 0.5}}, "slow by a factor of 0.5: must be finite, and at least 1"),
        ({"slow": {(0, 3): 2}}, "late rank or end of a slow link 3"),
    ],
)
def test_a_delay_or_a_slow_link_that_cannot_be_is_refused_in_one_line(wrong, says):
    with pytest.raises(ValueError, match=says):
        event_clock(allreduce.ring(3), **PRICES, **wrong)


def test_what_is_ready_at_the_same_moment_is_served_in_schedule_order_at_prices_that_floats_round():
    schedule, price = find("all-reduce", "reduce-broadcast").build(8, segments=5), (16 * 10**6, "1e-6", 33 * 10**9)
    message, alpha, bandwidth = map(Fraction, price)
    by_hand = reference.event_times(schedule, star(8), message, [alpha], [bandwidth])
    line = event_clock(schedule, message=16e6, alpha=1e-6, bandwidth=33e9)
    assert line.seconds == pytest.approx(float(max(done for *_, done in by_hand.values())), rel=1e-12)
