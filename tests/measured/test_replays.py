"""What is stored of SimGrid's replays is what it says where it is installed, and agrees with the clocks."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from colllib import simgrid
from colllib.algorithms import direct
from colllib.events import event_clock
from colllib.exact import Fractions
from colllib.execution import execute
from colllib.measured.replays import CASES, OTHERS, STORED, measured
from colllib.primitives import Blocks
from colllib.schedule import Schedule, Step

#: Where ranks that run ahead meet others on hashed uplinks: a lock-step step has no such neighbors.
APART = [case for case in CASES if case.on == "leaf-spine:4x4x2" and case.primitive == "all-to-all"]
#: A rank that waits for what it receives alone, and never has two messages on one link.
RINGS = [case for case in CASES if case.algorithm == "ring"]


def named(case):
    return f"{case.on}, {case.primitive} {case.algorithm} {case.tiers}"


def test_no_case_is_stored_twice():
    assert len(set(map(named, CASES))) == len(CASES) >= 12
    assert len(APART) == 2


@pytest.mark.parametrize("case", [case for case in CASES if case not in APART], ids=named)
def test_a_replay_takes_the_lock_step_time_and_the_envelopes_to_the_nanosecond(case):
    lock, _ = case.clocks()
    assert case.waiting == pytest.approx(lock + case.envelopes(), abs=1e-9)


@pytest.mark.parametrize("case", RINGS, ids=named)
def test_with_eager_sends_a_flat_ring_takes_the_event_clocks_time(case):
    lock, event = case.clocks()
    assert event < lock
    # every message waits for its own envelope and, over a narrow uplink, for those of its neighbors
    assert 0 < case.eager - event < 4e-4 * event


def in_order(schedule):
    """A schedule whose messages also carry a sum of no bytes: a send waits for all that its rank received before."""
    blocks, everyone = schedule.blocks, schedule.ranks + len(schedule.blocks.groups)
    more = Blocks(
        schedule.ranks,
        Fractions.of([*blocks.share, 0]),
        np.append(blocks.source, everyone),
        np.append(blocks.target, everyone),
        (*blocks.groups, np.arange(schedule.ranks)),
    )
    steps = [Step.joined([step, Step.of(step.src, step.dst, len(blocks), add=True)]) for step in schedule.steps]
    return Schedule.from_steps(more, steps)


def test_what_waits_and_shares_each_add_alone_is_what_the_page_says():
    """Of its figure: waits by the event clock; shares by lock-step, with all messages of the pairwise one at once."""
    waits, eager, wide, narrow = {}, {}, "boxes:8x8", "boxes:8x8,oversubscription=4"
    for case in CASES:
        if not case.tiers and case.on in (wide, narrow):
            name, (_, event) = (case.on, case.primitive, case.algorithm), case.clocks()
            waits[name] = event_clock(in_order(case.schedule), case.topology, **case.price).seconds / event
            eager[name] = case.eager / event
            if case.algorithm == "pairwise":
                at_once = execute(direct.all_to_all(64), case.topology).cost.seconds(**case.price) / event
    for alone in ((wide, "all-reduce", "channels"), (wide, "all-to-all", "hierarchical")):
        assert waits[alone] == pytest.approx(eager[alone], abs=1e-4)
        assert eager[alone] > 1.01
    shared = narrow, "all-reduce", "hierarchical"
    assert waits[shared] < 1 < 1.01 < eager[shared]
    slower = waits[wide, "all-to-all", "pairwise"]
    page = Path(__file__).parents[2] / "notebooks" / "from-schedule-to-machine.ipynb"
    text = f"with the waits alone it takes {slower:.1f} times as long, with sharing alone {at_once:.1f} times."
    assert text in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("case", APART, ids=named)
def test_where_steps_of_different_ranks_meet_sharing_and_a_common_step_differ(case):
    lock, event = case.clocks()
    assert abs(case.waiting / lock - 1) > 0.01
    assert case.waiting > event


def test_each_of_what_is_switched_off_would_change_the_time():
    assert OTHERS
    more = {name: other["seconds"] / CASES[1].waiting - 1 for name, other in OTHERS.items()}
    assert min(more.values()) > 0.03
    assert f"{more['acknowledgements against the stream']:.1%}" == "4.6%"
    assert 0.9 < more["latencies and bandwidths fitted to TCP"] < 1.1


def test_a_replay_now_gives_what_is_stored():
    if shutil.which("smpirun") is None:
        message = "no smpirun here: install SimGrid (Debian's libsimgrid-dev)"
        if os.environ.get("CI") == "true":
            pytest.fail(f"{message} (in CI it must be heard)")
        pytest.skip(message)
    stored = json.loads(STORED.read_text())
    if simgrid.version() == stored["simgrid"]:
        assert measured() == stored
    else:  # another version may round in another way
        for now, then in zip(measured()["cases"], stored["cases"], strict=True):
            near = pytest.approx([then["waiting"], then["eager"]], rel=1e-3)
            assert [now["waiting"], now["eager"]] == near, f"{then} is not as stored in {STORED.name}"
