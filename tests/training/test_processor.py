"""LogP and LogGP on the event clock, against their definitions and against rules of thumb."""

from fractions import Fraction
from itertools import pairwise
from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colllib.algorithms import allreduce, broadcast, innetwork, pointtopoint
from colllib.events import Processor, event_clock
from colllib.primitives import all_gather
from colllib.primitives import broadcast as broadcast_blocks
from colllib.schedule import Schedule, Step
from colllib.topology import from_links, switch_tree

US = 1e-6
TIMES = st.floats(0, 10)


def fan(messages):
    """Rank 0 sends a block of its own to each of some others."""
    to = list(range(1, messages + 1))
    steps = [Step.of(0, k, 0) for k in to]
    return Schedule.from_steps(broadcast_blocks(messages + 1), steps)


@given(overhead=TIMES, latency=TIMES, size=st.integers(1, 1000), gap=TIMES)
def test_a_message_takes_two_overheads_the_latency_and_a_gap_for_every_byte_but_the_first(overhead, latency, size, gap):
    line = event_clock(
        pointtopoint.direct(2), message=size, alpha=latency, bandwidth=2.0, processor=Processor(overhead, gap)
    )
    assert isclose(line.seconds, overhead + latency + (size - 1) / 2 + overhead, abs_tol=1e-9)


@given(overhead=TIMES, gap=TIMES, size=st.integers(1, 50), messages=st.integers(1, 6))
def test_the_next_message_leaves_a_gap_after_the_last_byte_and_never_while_the_sender_is_busy(
    overhead, gap, size, messages
):
    line = event_clock(fan(messages), message=size, alpha=3.0, bandwidth=1.0, processor=Processor(overhead, gap))
    left = sorted(line.start)
    assert isclose(left[0], overhead)
    for first, then in pairwise(left):
        assert isclose(then - first, max(overhead, size - 1 + gap), abs_tol=1e-9)


@given(overhead=TIMES, gap=TIMES, size=st.integers(1, 50), messages=st.integers(2, 6))
def test_the_next_message_comes_in_a_gap_after_the_last_byte_and_never_while_the_receiver_is_busy(
    overhead, gap, size, messages
):
    ranks = messages + 1
    into = Schedule.from_steps(all_gather(ranks), [Step.of(k, 0, k) for k in range(1, ranks)])
    line = event_clock(into, message=ranks * size, alpha=3.0, bandwidth=1.0, processor=Processor(overhead, gap))
    for first, then in pairwise(sorted(line.arrival)):
        assert isclose(then - first, max(overhead, size - 1 + gap), abs_tol=1e-9)


@given(gap=TIMES, size=st.integers(2, 50), first=st.integers(1, 4))
def test_the_gap_follows_the_last_byte_on_the_senders_own_link(gap, size, first):
    """Rank 0's link has `first` BW, all others one: two messages to one rank, or one link of its own to each rank."""
    ends = [(0, 3), (3, 1), (3, 2), (1, 3), (2, 3), (3, 0)]
    hub = from_links("hub", 3, ends, switches=1, alpha=[Fraction(1, 2)] * 6, bandwidth=[first, 1, 1, 1, 1, 1])
    straight = from_links(
        "straight", 3, [(0, 1), (0, 2), (1, 0), (2, 0)], alpha=[1] * 4, bandwidth=[first, first, 1, 1]
    )
    for topology in (hub, straight):
        line = event_clock(fan(2), topology, message=size, alpha=3.0, bandwidth=1.0, processor=Processor(0.0, gap))
        assert isclose(line.start[1] - line.start[0], (size - 1) / first + gap, abs_tol=1e-9)


@given(st.integers(2, 9), st.floats(0, 3))
def test_without_overhead_and_gap_a_message_saves_one_byte_of_time(n, latency):
    price = {"message": 1e6, "alpha": latency, "bandwidth": 1e6}
    plain = event_clock(broadcast.chain(n), **price).seconds
    assert isclose(event_clock(broadcast.chain(n), **price, processor=Processor(0.0)).seconds, plain - (n - 1) * 1e-6)


@given(n=st.integers(2, 8), overhead=st.floats(0.1, 5), work=st.floats(0, 300))
def test_of_a_ring_no_overhead_hides(n, overhead, work):
    """Every rank sends and receives 2(N - 1) times: what it computes meanwhile ends at least that much later."""
    line = event_clock(allreduce.ring(n), message=n, alpha=1.0, bandwidth=1.0, processor=Processor(overhead))
    busy = 2 * (n - 1) * 2 * overhead
    for rank in range(n):
        assert line.finished(rank, work) >= max(work, line.seconds) - 1e-9
        if work >= line.seconds:
            assert isclose(line.finished(rank, work), work + busy)


@pytest.mark.parametrize(
    ("latency", "overhead", "work", "total"),
    [(100, 50, 500, 600), (50, 30, 100, 160), (100, 50, 50, 200), (50, 0, 100, 100)],
)
def test_one_exchange_takes_two_overheads_and_the_longer_of_latency_and_work(latency, overhead, work, total):
    """M-25, whose 600 us are right. Enough compute hides the latency, and no compute hides an overhead."""
    line = event_clock(
        allreduce.recursive_doubling(2),
        message=0.0,
        alpha=latency * US,
        bandwidth=1.0,
        processor=Processor(overhead * US),
    )
    assert isclose(line.finished(0, work * US), total * US)
    assert isclose(total, 2 * overhead + max(latency, work))


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="overhead -1: must be a finite number of seconds, at least 0"):
        Processor(-1)
    with pytest.raises(ValueError, match="gap nan"):
        Processor(0.0, float("nan"))
    topology = switch_tree(4, 4, combines=True, replicates=True, scatters=True)
    with pytest.raises(ValueError, match="switches take part, and have no processor"):
        event_clock(
            innetwork.one_shot_all_reduce(topology),
            topology,
            message=1.0,
            alpha=1.0,
            bandwidth=1.0,
            processor=Processor(1.0),
        )
