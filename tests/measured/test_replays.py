"""What is stored of SimGrid's replays is what it says where it is installed, and agrees with the clocks."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from colllib import simgrid
from colllib.measured.replays import CASES, STORED, measured, stored

#: Where ranks that run ahead meet others on hashed uplinks: a lock-step step has no such neighbors.
APART = ("leaf-spine:4x4x2, all-to-all pairwise", "leaf-spine:4x4x2, all-to-all hierarchical")
#: A rank that waits for what it receives alone, and never has two messages on one link.
RINGS = [case for case in CASES if case.algorithm == "ring"]


def test_stored_are_the_replays_of_all_cases():
    assert list(stored()["cases"]) == [case.name for case in CASES]
    assert len({case.name for case in CASES}) == len(CASES) >= 12


@pytest.mark.parametrize("case", [case for case in CASES if case.name not in APART], ids=lambda case: case.name)
def test_a_replay_takes_the_lock_step_time_and_the_envelopes_to_the_nanosecond(case):
    lock, _ = case.clocks()
    assert stored()["cases"][case.name]["waiting"] == pytest.approx(lock + case.envelopes(), abs=1e-9)


@pytest.mark.parametrize("case", RINGS, ids=lambda case: case.name)
def test_with_eager_sends_a_flat_ring_takes_the_event_clocks_time(case):
    lock, event = case.clocks()
    assert event < lock
    # every message waits for its own envelope and, over a narrow uplink, for those of its neighbors
    assert 0 < stored()["cases"][case.name]["eager"] - event < 4e-4 * event


@pytest.mark.parametrize("name", APART)
def test_where_steps_of_different_ranks_meet_a_fair_share_and_a_common_step_differ(name):
    (case,) = [one for one in CASES if one.name == name]
    lock, event = case.clocks()
    replayed = stored()["cases"][name]["waiting"]
    assert abs(replayed / lock - 1) > 0.01
    assert replayed > event


def test_each_of_what_is_switched_off_would_change_the_time():
    usual = stored()["cases"][CASES[1].name]["waiting"]
    assert all(seconds > 1.03 * usual for seconds in stored()["switched_on"].values())


def test_a_replay_now_gives_what_is_stored():
    if shutil.which("smpirun") is None:
        message = "no smpirun here: install SimGrid (Debian's libsimgrid-dev)"
        if os.environ.get("CI") == "true":
            pytest.fail(f"{message} (in CI it must be heard)")
        pytest.skip(message)
    if simgrid.version() == stored()["simgrid"]:
        assert measured() == json.loads(STORED.read_text())
    else:  # another version may round in another way
        for now, then in zip(measured()["cases"], stored()["cases"].values(), strict=True):
            near = pytest.approx([then["waiting"], then["eager"]], rel=1e-3)
            assert [now["waiting"], now["eager"]] == near, f"{then} is not as stored in {STORED.name}"
