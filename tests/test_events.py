"""The event-driven clock, against arithmetic done by hand and against the lock-step clock."""

from itertools import pairwise
from math import isclose

import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from colllib.algorithms import allreduce, broadcast, of
from colllib.events import event_clock
from colllib.execution import execute
from colllib.primitives import broadcast as broadcast_blocks
from colllib.primitives import reduce
from colllib.schedule import Schedule, Step, pipelined
from colllib.topology import from_links, ring, star

UNIT = {"message": 1.0, "alpha": 1.0, "bandwidth": 1.0}
PRICES = {"message": 1e6, "alpha": 1e-6, "bandwidth": 1e9}


@given(st.integers(2, 9), st.integers(1, 12))
def test_a_pipelined_chain_pays_alpha_once_per_hop_and_bytes_once_per_segment(n, segments):
    line = event_clock(pipelined(broadcast.chain(n), segments), **UNIT)
    # alpha only delays: the last segment leaves after the others and needs n - 1 hops in full
    assert isclose(line.seconds, (segments - 1) / segments + (n - 1) * (1 + 1 / segments))


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
