"""Paths of messages' own: which links they load, on both clocks, and what becomes of them in other schedules."""

from fractions import Fraction

import numpy as np
import pytest

from colllib.events import event_clock
from colllib.execution import execute
from colllib.primitives import broadcast
from colllib.schedule import (
    Orbit,
    Schedule,
    Step,
    in_sequence,
    pipelined,
    placed,
    reversed_in_time,
    scaled,
    side_by_side,
)
from colllib.topology import Lattice, NoRouteError, from_links, torus
from colllib.topology.paths import Paths, routed

RING = torus((4,))


def _sent(path):
    """Half of a message from 0 to 2 as the router says, the other half along a path."""
    blocks = broadcast(3, shares=2)
    when = [Step.of(0, [1, 1], [0, 1]), Step.of(1, [2, 2], [0, 1])]
    return Schedule(blocks, 2, when.__getitem__, paths=path)


DIAMOND = from_links("diamond", 3, [(0, 1), (1, 2), (0, 3), (3, 1)], switches=1, alpha=[1, 1, 3, 3])
OWN = Paths.of([(1, (0, 3, 1))])


def test_a_message_with_a_path_loads_its_links_and_pays_their_latency():
    plain, own = (execute(_sent(path), DIAMOND) for path in (None, OWN))
    assert [str(load) for load in plain.link_total] == ["1", "1", "0", "0"]
    assert [str(load) for load in own.link_total] == ["1/2", "1", "1/2", "1/2"]
    assert [str(load) for load in own.link_load(0)] == ["1/2", "0", "1/2", "1/2"]
    assert (plain.cost.n_alpha, plain.cost.n_beta) == (2, 2)
    assert (own.cost.n_alpha, own.cost.n_beta) == (7, Fraction(3, 2))


def test_on_the_event_clock_two_ways_to_one_rank_are_taken_at_the_same_time():
    price = {"message": 2.0, "alpha": [0.0], "bandwidth": [1.0]}
    assert event_clock(_sent(None), DIAMOND, **price).seconds == 4
    assert event_clock(_sent(OWN), DIAMOND, **price).seconds == 3


def test_blocks_that_may_take_paths_of_their_own_are_messages_of_their_own_in_the_schedules_order():
    small, large = Fraction(1, 4), Fraction(3, 4)
    both = Schedule(broadcast(2, [small, large]), 1, lambda t: Step.of(0, [1, 1], [0, 1]), paths=Paths.of([]))
    line = event_clock(both, from_links("pair", 2, [(0, 1)]), message=4.0, alpha=0.0, bandwidth=1.0)
    assert (line.size.tolist(), line.start.tolist(), line.arrival.tolist()) == ([small, large], [0, 1], [1, 4])


def test_blocks_with_paths_to_several_ranks_are_as_many_messages():
    both = Schedule(broadcast(3, 2), 1, lambda t: Step.of(0, [2, 2, 1, 1], [0, 1, 0, 1]), paths=OWN)
    line = event_clock(both, DIAMOND, message=4.0, alpha=0.0, bandwidth=1.0)
    assert sorted(zip(line.src.tolist(), line.dst.tolist(), line.size.tolist(), strict=True)) == [
        *[(0, 1, 0.5)] * 2,
        *[(0, 2, 0.5)] * 2,
    ]


def test_paths_follow_their_messages_through_every_operation():
    once = np.array(execute(_sent(OWN), DIAMOND).link_total)
    assert (np.array(execute(pipelined(_sent(OWN), 3), DIAMOND).link_total) == once).all()
    assert (np.array(execute(scaled(_sent(OWN), 2), DIAMOND).link_total) == 2 * once).all()
    beside = side_by_side(_sent(None), _sent(OWN))
    assert [str(load) for load in execute(beside, DIAMOND).link_total] == ["3/2", "2", "1/2", "1/2"]
    both = from_links(
        "both", 3, [(0, 1), (1, 2), (0, 3), (3, 1), (1, 0), (2, 1), (3, 0), (1, 3)], switches=1, alpha=[1] * 8
    )
    back = execute(reversed_in_time(_sent(OWN)), both)
    assert [str(load) for load in back.link_total] == ["0"] * 4 + ["1/2", "1", "1/2", "1/2"]
    again = execute(in_sequence(reversed_in_time(_sent(OWN)), _sent(OWN)), both)
    assert [str(load) for load in again.link_total] == ["1/2", "1", "1/2", "1/2"] * 2


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: routed(RING, Paths.of([(0, (0, 2))])), "(0, 2) is no path of torus:4: no link from node 0 to 2"),
        (
            lambda: routed(RING, Paths.joined([Paths.of([(7, links)]) for links in ((0, 1, 2), (0, 3, 2))])),
            "two paths for block 7 from node 0 to node 2",
        ),
        (lambda: placed(_sent(OWN), [2, 1, 0]), "a schedule that uses switches belongs to its topology"),
        (lambda: Orbit(_sent(OWN), Lattice((3,))), "a schedule that uses switches belongs to its topology"),
    ],
)
def test_what_cannot_be_is_refused(build, says):
    with pytest.raises((NoRouteError, ValueError)) as refusal:
        build()
    assert says in str(refusal.value)
