"""What is exported to MSCCL is proved by running the file itself, and files from elsewhere are refused in one line."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from colllib import algorithms, cli
from colllib.algorithms import allgather
from colllib.forest import forest
from colllib.ladder import offered
from colllib.msccl import COLLECTIVES, export, run
from colllib.plain_xml import parsed
from colllib.topology import find, star
from colllib.topology.paths import Paths

RING = export(algorithms.find("all-reduce", "ring").build(4), "all-reduce", "ring")


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(sorted(COLLECTIVES)), st.integers(2, 9))
def test_every_algorithm_that_can_be_exported_ends_right_in_the_interpreter(data, primitive, ranks):
    topology = star(ranks)
    chosen = data.draw(st.sampled_from(list(offered(primitive, topology))))
    segments = {"segments": data.draw(st.integers(1, 3))} if chosen.segmented else {}
    schedule = chosen.build(chosen.argument(topology), **segments)
    try:
        text = export(schedule, primitive, chosen.name)
    except ValueError as error:
        assert re.search(r"at most|several sizes|switches", str(error))  # noqa: PT017
        return
    assert run(text, seed=ranks) == (COLLECTIVES[primitive][0], ranks)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('type="rrc"', 'type="r"', "wrong chunk"),
        ('type="s"', 'type="launch"', "not the next one of type"),
        ('depid="-1"', 'depid="77"', "which is not there"),
        ('cnt="1"', 'cnt="9"', "beyond"),
        ('ngpus="4"', 'ngpus="5"', "not all of 5"),
        ('ngpus="4"', 'ngpus="four"', "no whole number"),
        ('coll="allreduce"', 'coll="sort"', "known are"),
        ("<algo", "<!DOCTYPE algo [<!ENTITY x 'y'>]><algo", "document type"),
        ("</algo>", "", "no XML"),
        ("<algo", "<system", "no XML"),
    ],
)
def test_a_file_that_is_wrong_is_refused_and_named(old, new, why):
    with pytest.raises(ValueError, match=why) as caught:
        run(RING.replace(old, new, 1))
    assert len(str(caught.value).splitlines()) == 1


def test_a_wait_in_a_circle_is_a_deadlock():
    step = '<step s="0" type="nop" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="0" depid="{}" deps="0" hasdep="1"/>'
    blocks = "".join(f'<tb id="{k}" send="-1" recv="-1" chan="0">{step.format(1 - k)}</tb>' for k in range(2))
    with pytest.raises(ValueError, match="deadlock"):
        run(f'<algo coll="allreduce" ngpus="1" nchunksperloop="1"><gpu id="0">{blocks}</gpu></algo>')


def test_a_primitive_that_the_format_has_no_place_for_is_refused():
    schedule = algorithms.find("broadcast", "chain").build(4)
    with pytest.raises(ValueError, match="no MSCCL file for broadcast"):
        export(schedule, "broadcast", "chain")


def test_nesting_without_end_is_refused():
    with pytest.raises(ValueError, match="nested over"):
        parsed("<a>" * 1000 + "</a>" * 1000, "a")


def test_the_command_prints_what_it_has_proved():
    made = CliRunner().invoke(cli.cli, ["export", "all-gather", "ring", "--on", "ring:6"])
    assert run(made.output) == ("allgather", 6)


@pytest.mark.parametrize("primitive", ["all-gather", "reduce-scatter"])
def test_a_forest_with_paths_through_switches_is_exported_as_messages_between_gpus(primitive):
    schedule = forest(find("fat-tree:4"), primitive=primitive).schedule()
    assert schedule.paths is not None
    assert run(export(schedule, primitive, "forest"))[1] == 16


def test_a_path_over_another_gpu_is_refused():
    schedule = replace(allgather.ring(4), paths=Paths.of([(0, (0, 3, 2, 1))]))
    with pytest.raises(ValueError, match="a message from GPU 0 to 1 over GPU 3"):
        export(schedule, "all-gather", "ring")
