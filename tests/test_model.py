"""The six decisions of book/model.md, a test each, and its quote; alpha = 1 s, one message takes 8 s over a link."""

import re
from inspect import getsource
from pathlib import Path

import numpy as np
import pytest

from colllib import units
from colllib.events import event_clock
from colllib.execution import Ledger, execute
from colllib.primitives import broadcast, point_to_point
from colllib.schedule import Schedule, Step
from colllib.topology import ring, star

PRICE = {"message": 8.0, "alpha": 1.0, "bandwidth": 1.0}


def timeline(blocks, steps, topology):
    return event_clock(Schedule.from_steps(blocks, steps), topology, **PRICE)


def test_decision_1_alpha_delays_and_does_not_occupy():
    line = timeline(broadcast(3), [Step.of([0, 0], [1, 2], 0)], star(3))
    assert line.arrival.tolist() == [9, 17]  # 18 if the second had to wait for the first one's alpha


def test_decision_2_messages_queue_and_do_not_share():
    line = timeline(broadcast(4), [Step.of([0, 0, 0], [1, 2, 3], 0)], star(4))
    assert line.arrival.tolist() == [9, 17, 25]  # 25 each if they shared


def test_decision_3_a_route_is_cut_through_and_a_rank_passes_on_what_it_has_in_full():
    through = timeline(point_to_point(6, target=2), [Step.of(0, 2, 0)], ring(6))
    relayed = timeline(point_to_point(6, target=2), [Step.of(0, 1, 0), Step.of(1, 2, 0)], ring(6))
    assert (through.seconds, relayed.seconds) == (2 + 8, 2 * (1 + 8))
    cost = execute(Schedule.from_steps(point_to_point(6, target=2), [Step.of(0, 2, 0)]), ring(6)).cost
    assert cost.seconds(**PRICE) == through.seconds


def test_decision_4_messages_that_are_ready_together_go_in_schedule_order():
    orders = [timeline(broadcast(3), [Step.of(0, a, 0), Step.of(0, b, 0)], star(3)) for a, b in ((1, 2), (2, 1))]
    assert [line.dst[np.argsort(line.start)].tolist() for line in orders] == [[1, 2], [2, 1]]


def test_decision_5_a_tie_goes_up():
    _, link = ring(6).router(np.array([1]), np.array([4]))
    assert [ring(6).link_name(int(i)) for i in link] == ["1 -> 2", "2 -> 3", "3 -> 4"]


def test_decision_6_units_are_decimal():
    assert units.parse("message size", "1GB") == 1e9
    assert units.parse("bandwidth", "1GB/s") == 1e9
    assert units.parse("message size", "1MiB") == pytest.approx(2**20)
    assert units.size(1e9) == "1 GB"


def test_the_line_that_counts_a_byte_is_quoted_as_it_stands():
    page = Path(__file__).parents[1] / "book" / "model.md"
    [quoted] = re.findall(r"There `([^`]+)` adds each message's size", page.read_text(encoding="utf-8"))
    assert getsource(Ledger.record).count(quoted) == 1
