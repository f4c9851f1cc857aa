"""Traces and platforms for SimGrid; where it is installed, what it makes of them. In CI it has to be."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections import Counter, deque

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from colllib import algorithms, cli, simgrid
from colllib.algorithms import allreduce, broadcast, hierarchical
from colllib.events import event_clock
from colllib.exact import Fractions
from colllib.execution import execute
from colllib.ladder import Entry, offered
from colllib.primitives import Blocks
from colllib.schedule import Schedule, Step
from colllib.topology import boxes, star
from colllib.topology.expression import find as find_topology

PRICE = {"message": 64e6, "alpha": (1e-6, 4e-6), "bandwidth": (400e9, 50e9)}


@pytest.fixture(scope="module")
def installed():
    """SimGrid."""
    if shutil.which("smpirun") is None:
        message = "no smpirun here: install SimGrid (Debian's libsimgrid-dev)"
        if os.environ.get("CI") == "true":
            pytest.fail(f"{message} (in CI it must be heard)")
        pytest.skip(message)


def played(text):
    """What ends at each rank when a trace is played without a clock: bytes by sender, or an assertion fails.

    A rank posts, and waits until its receives have been sent and its sends received.
    """
    calls: dict[int, deque] = {}
    for line in text.splitlines():
        rank, *call = line.split()
        calls.setdefault(int(rank), deque()).append(call)
    assert all(work[0] == ["init"] and work[-1] == ["finalize"] for work in calls.values())
    posted = {"isend": {}, "irecv": {}}
    got, open_calls, moving = {rank: Counter() for rank in calls}, {rank: [] for rank in calls}, True
    matched = {"isend": Counter(), "irecv": Counter()}
    while moving:
        moving = False
        for rank, work in calls.items():
            while work:
                if work[0][0] in posted:
                    kind, other, tag, size = work[0]
                    wire = (rank, int(other)) if kind == "isend" else (int(other), rank)
                    sizes = posted[kind].setdefault(wire, [])
                    open_calls[rank].append((kind, wire, len(sizes)))
                    sizes.append((int(tag), int(size)))
                elif work[0] == ["waitall"]:
                    for wire, sent in posted["isend"].items():
                        both = min(len(sent), len(posted["irecv"].get(wire, ())))
                        matched["isend"][wire] = matched["irecv"][wire] = both
                    if any(number >= matched[kind][wire] for kind, wire, number in open_calls[rank]):
                        break
                    open_calls[rank].clear()
                work.popleft()
                moving = True
    assert not any(calls.values()), "a rank waits for ever"
    assert posted["isend"] == posted["irecv"]
    for (source, target), sizes in posted["isend"].items():
        got[target][source] += sum(size for _, size in sizes)
    return got


def counted(schedule, message):
    """Bytes by receiver and sender, from the schedule's messages alone."""
    received = {rank: Counter() for rank in range(schedule.ranks)}
    for t in range(schedule.num_steps):
        step = schedule.step(t)
        for source, target, block in zip(step.src.tolist(), step.dst.tolist(), step.block.tolist(), strict=True):
            received[target][source] += schedule.blocks.share[block] * message
    return received


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(["all-reduce", "all-gather", "broadcast", "all-to-all"]), st.integers(2, 8))
def test_a_trace_comes_to_an_end_and_moves_the_bytes_of_its_schedule(data, primitive, ranks):
    topology = star(ranks)
    plain = [one for one in offered(primitive, topology) if one.takes == "ranks"]
    chosen = data.draw(st.sampled_from(plain))
    schedule = chosen.build(ranks, **({"segments": data.draw(st.integers(1, 3))} if chosen.segmented else {}))
    message = 5040 * 5040  # so that every block is whole bytes
    assert played(simgrid.trace(schedule, message)) == counted(schedule, message)


def test_a_platform_has_every_link_with_its_speed_and_each_route_with_its_latency():
    topology = boxes((2, 4), oversubscription=2)
    schedule = hierarchical.all_reduce(topology)
    root = ET.fromstring(simgrid.platform(schedule, topology, alpha=(1e-6, 4e-6), bandwidth=(400e9, 50e9)))
    links = {link.get("id"): link for link in root.iter("link")}
    speeds = Counter(float(link.get("bandwidth").removesuffix("Bps")) for name, link in links.items() if name.isdigit())
    # both ways: 8 ports in the boxes, 8 cards, 2 uplinks of four cards' width, halved
    assert speeds == {400e9: 16, 50e9: 16, 100e9: 4}
    delays = {
        (int(route.get("src")), int(route.get("dst"))): sum(
            float(links[part.get("id")].get("latency").removesuffix("s")) for part in route
        )
        for route in root.iter("route")
    }
    assert delays[0, 1] == pytest.approx(1e-6)
    assert delays[0, 4] == delays[4, 0] == pytest.approx(4e-6)
    shared = {link.get("sharing_policy") for name, link in links.items() if name.isdigit()}
    assert shared == {None}


def test_one_rank_sends_nothing_on_a_platform_without_routes():
    alone = algorithms.find("all-reduce", "ring").build(1)
    assert "<route" not in simgrid.platform(alone, star(1), alpha=1e-6, bandwidth=1e9)
    assert simgrid.trace(alone, 1e6) == "0 init\n0 finalize"


@pytest.mark.parametrize(
    ("schedule", "message", "why"),
    [
        (algorithms.find("all-reduce", "in-network").build(star(4, combines=True, replicates=True)), 1e6, "switches"),
        (broadcast.chain(2), 2.0**31, "2147483648 bytes"),
    ],
)
def test_what_simgrid_cannot_replay_is_refused_in_one_line(schedule, message, why):
    with pytest.raises(ValueError, match=why) as caught:
        simgrid.trace(schedule, message)
    assert len(str(caught.value).splitlines()) == 1


def test_without_simgrid_a_replay_says_what_to_install(monkeypatch):
    monkeypatch.setenv("PATH", "")
    for asked in (
        simgrid.version,
        lambda: simgrid.replay(broadcast.chain(2), star(2), message=1, alpha=0, bandwidth=1),
    ):
        with pytest.raises(ValueError, match="libsimgrid-dev"):
            asked()


def ran(*arguments):
    """The command line."""
    return CliRunner().invoke(cli.cli, ["export", *arguments])


def test_the_command_prints_a_trace():
    text = ran("all-gather", "ring", "--on", "ring:6", "--format", "simgrid", "--message", "6MB").output
    assert text == simgrid.trace(algorithms.find("all-gather", "ring").build(6), 6e6) + "\n"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--format", "goal"), "must be msccl or simgrid"),
        (("--to", "here"), "leave --to out"),
        (("--format", "simgrid", "--segments", "2"), "takes no segments"),
        (("--format", "simgrid", "--to", "x", "--alpha", "1us,2us"), "takes one value for --alpha"),
        (("--format", "simgrid", "--alpha", "1us,2us"), "takes one value for --alpha"),
        (("--format", "msccl", "--alpha", "1us,2us", "--bandwidth", "1GB/s"), "takes one value for --alpha"),
    ],
)
def test_a_wrong_option_is_refused_and_nothing_is_written(arguments, why, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = ran("all-reduce", "ring", "--on", "star:4", *arguments)
    assert re.search(why, str(done.exception))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("place", ["a file", "a file/in it"])
def test_a_folder_that_cannot_be_made_is_refused_in_one_line(place, tmp_path, capsys):
    (tmp_path / "a file").write_text("")
    with pytest.raises(SystemExit) as left:
        cli.main(
            ["export", "all-reduce", "ring", "--on", "star:4", "--format", "simgrid", "--to", str(tmp_path / place)]
        )
    error = capsys.readouterr().err
    assert left.value.code == 2
    assert re.fullmatch(r"colllib: --to '[^\n]+': (File exists|Not a directory)\n", error)


@pytest.mark.usefixtures("installed")
def test_the_files_that_the_command_writes_replay_with_the_command_that_it_prints(tmp_path):
    speeds = ("--alpha", "1us,4us", "--bandwidth", "400GB/s,50GB/s", "--message", "64MB")
    schedule = ("all-reduce", "hierarchical", "--on", "boxes:2x4")
    result = ran(*schedule, *speeds, "--format", "simgrid", "--to", str(tmp_path / "files"))
    done = subprocess.run(["bash", "-c", result.output], capture_output=True, text=True, check=True)
    (seconds,) = re.findall(r"^([\d.]+):Simulation time", done.stdout + done.stderr, re.MULTILINE)
    assert shlex.split(result.output)[:2] == ["cd", str(tmp_path / "files")]
    topology = find_topology("boxes:2x4")
    clock = execute(hierarchical.all_reduce(topology), topology).cost.seconds(**PRICE)
    assert float(seconds) == pytest.approx(clock, rel=1e-4)


@pytest.mark.usefixtures("installed")
def test_a_pipeline_by_hand_is_what_simgrid_says_too():
    # halves of 1 ms and a latency of 1 ms: three steps of 2 ms, or the second half right behind the first one
    chain = broadcast.chain(3, segments=2)
    price = {"message": 2e6, "alpha": 1e-3, "bandwidth": 1e9}
    assert execute(chain).cost.seconds(**price) == pytest.approx(6e-3)
    assert event_clock(chain, **price).seconds == pytest.approx(5e-3)
    assert simgrid.replay(chain, star(3), **price) == pytest.approx(6e-3 + 3 * simgrid.ENVELOPE / 1e9, abs=1e-11)
    # sent at once, the halves share the link and arrive together after 3 ms, twice
    eager = simgrid.replay(chain, star(3), settings=simgrid.EAGER, **price)
    assert eager == pytest.approx(6e-3 + 4 * simgrid.ENVELOPE / 1e9, abs=1e-11)


@pytest.mark.usefixtures("installed")
def test_a_link_is_divided_in_inverse_proportion_to_latencies():
    # over three links and over one, on the one between 1 and 2: a quarter and three quarters; then 2 sends back
    blocks = Blocks(4, Fractions.of([1, 1, 4]), np.array([0, 1, 2]), np.array([3, 2, 1]), ())
    steps = [Step.of([0, 1], [3, 2], [0, 1]), Step.of(2, 1, 2)]
    path, price = find_topology("line:4"), {"message": 1e6, "alpha": 1e-9, "bandwidth": 1e9}
    seconds = simgrid.replay(Schedule.from_steps(blocks, steps), path, settings=simgrid.EAGER, **price)
    assert seconds == pytest.approx(4e-3 / 3 + 4e-3, rel=1e-5)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("algorithm", ["pairwise", "hierarchical"])
def test_an_all_to_all_over_spines_departs_from_lock_step_only_where_flows_are_hashed(algorithm):
    for routing, hashed in (("spread", False), ("hash", True)):
        leaves = find_topology(f"leaf-spine:4x4x2,routing={routing}")
        schedule = Entry(algorithms.find("all-to-all", algorithm), leaves).schedule()
        price = {"message": 64e6, "alpha": 4e-6, "bandwidth": 50e9}
        lock = execute(schedule, leaves).cost.seconds(**price)
        assert (abs(simgrid.replay(schedule, leaves, **price) / lock - 1) > 0.01) == hashed


@pytest.mark.usefixtures("installed")
def test_a_flat_ring_over_boxes_is_the_event_clocks_where_sends_do_not_wait():
    topology = boxes((4, 4))
    ring = allreduce.ring(16)
    lock, event = execute(ring, topology).cost.seconds(**PRICE), event_clock(ring, topology, **PRICE).seconds
    assert event < 0.96 * lock
    assert simgrid.replay(ring, topology, **PRICE) == pytest.approx(lock, rel=1e-4)
    assert simgrid.replay(ring, topology, settings=simgrid.EAGER, **PRICE) == pytest.approx(event, rel=1e-4)
