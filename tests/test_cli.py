"""The command line, as a shell sees it."""

import json
import subprocess
import sys

import pytest

from colllib.algorithms import allreduce
from colllib.execution import execute


def colllib(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "colllib.cli", *arguments], capture_output=True, text=True, check=False, timeout=60
    )


def answer(*arguments):
    result = colllib(*arguments, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_list_names_what_can_be_run():
    found = answer("list")
    assert {"ring", "binomial-tree", "double-binary-tree", "recursive-doubling", "rabenseifner", "dim-ring"} <= set(
        found["algorithms"]["all-reduce"]
    )
    assert len(found["primitives"]) == 7
    assert "star:N" in found["topologies"]


def test_run_reports_the_executed_counts_and_the_closed_form():
    found = answer("run", "all-reduce", "ring", "--on", "star:512", "--message", "16MB")
    assert (found["correct"], found["n_alpha"], found["n_beta"]) == (True, 1022, "511/256")
    assert found["closed_form"] == {"n_alpha": 1022, "n_beta": "511/256", "agrees": True}
    assert (found["sent_max"], found["received_max"], found["link_load_max"]) == ("511/256",) * 3
    assert (found["messages"], found["clock"], found["ranks"]) == (523264, "lockstep", 512)
    cost = execute(allreduce.ring(512)).cost
    assert found["time_s"] == cost.seconds(message=16e6, alpha=0.5e-6, bandwidth=900e9)


def test_run_and_trace_take_the_options_of_an_algorithm():
    assert answer("run", "all-gather", "pat", "--on", "star:8", "--with", "cap=1")["n_alpha"] == 7
    found = answer("trace", "broadcast", "chain", "--on", "star:3", "--with", "root=2")
    assert [sorted(held) for held in found["states"][0]["ranks"]] == [[], [], ["0"]]
    found = answer(
        "run", "all-to-all", "ring-relay", "--on", "ring:8", "--with", "tie=split", "--with", "bundled=false"
    )
    assert (found["n_alpha"], found["options"]) == (10, ["tie=split", "bundled=false"])


def test_a_closed_form_of_another_port_model_is_not_claimed():
    found = answer("run", "all-reduce", "recursive-doubling", "--on", "ring:8")
    assert "closed_form" not in found
    assert (found["n_alpha"], found["n_beta"]) == (7, "7")


def test_a_torus_runs_what_is_made_for_its_axes():
    found = answer("run", "all-reduce", "dim-ring", "--on", "torus:8x8x8")
    assert (found["n_alpha"], found["n_beta"], found["closed_form"]["agrees"]) == (42, "511/256", True)
    rungs = answer("ladder", "all-gather", "--on", "mesh:4x2")["rungs"]
    assert {"ring", "dim-ring"} <= {rung["algorithm"] for rung in rungs}
    assert answer("trace", "broadcast", "dim-chain", "--on", "torus:2x2")["states"][-1]["step"] == 2


def test_run_takes_the_best_number_of_segments_and_either_clock():
    steps, events = (
        answer("run", "all-reduce", "double-binary-tree", "--segments", "best", "--clock", clock)
        for clock in ("lockstep", "event")
    )
    assert steps["segments"] == events["segments"] > 1
    assert events["time_s"] < steps["time_s"]


def test_trace_shows_the_state_of_every_rank_after_every_step():
    found = answer("trace", "reduce-scatter", "ring", "--on", "ring:4")
    assert len(found["states"]) == 4
    final = found["states"][-1]["ranks"]
    assert [final[rank][str(rank)] for rank in range(4)] == [[0, 1, 2, 3]] * 4
    assert len(found["states"][1]["messages"]) == 4


def test_ladder_sorts_the_algorithms():
    rungs = answer("ladder", "all-reduce", "--ranks", "64", "--message", "1kB")["rungs"]
    assert rungs[0]["algorithm"] == "recursive-doubling"
    assert [rung["time_s"] for rung in rungs] == sorted(rung["time_s"] for rung in rungs)


@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["run", "all-reduce", "rabenseifner", "--on", "star:8"],
        ["run", "broadcast", "chain", "--on", "ring:5", "--clock", "event"],
        ["trace", "all-reduce", "double-binary-tree", "--on", "star:3", "--segments", "2"],
        ["ladder", "all-reduce", "--on", "full-mesh:6"],
        ["--help"],
    ],
)
def test_every_command_also_speaks_to_people(arguments):
    result = colllib(*arguments)
    assert result.returncode == 0
    assert result.stdout.strip()
    assert not result.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["run", "all-reduction", "ring"], "known are"),
        (["run", "all-reduce", "butterfly"], "known are ring"),
        (["run", "all-reduce", "ring", "--on", "moon:4"], "known are star:N"),
        (["run", "all-reduce", "ring", "--on", "star:0"], "N = 0"),
        (["run", "all-reduce", "ring", "--on", "star:x"], "whole number"),
        (["run", "all-reduce", "ring", "--message", "-1MB"], "-1MB"),
        (["run", "all-reduce", "ring", "--alpha", "5"], "such as 0.5us"),
        (["run", "all-reduce", "ring", "--bandwidth", "0GB/s"], "bandwidth"),
        (["run", "all-reduce", "ring", "--segments", "0"], "segments '0'"),
        (["run", "all-reduce", "ring", "--segments", "4"], "takes no segments"),
        (["run", "all-reduce", "ring", "--clock", "sundial"], "lockstep or event"),
        (["ladder", "all-reduce", "--ranks", "0"], "N = 0"),
        (["ladder", "all-reduce", "--ranks", "many"], "many"),
        (["ladder", "all-reduce", "--ranks", "4", "--on", "star:4"], "not both"),
        (["trace", "all-reduce", "ring", "--on", "star:500"], "at most 64"),
        (["trace", "all-reduce", "ring", "--segments", "3"], "takes no segments"),
        (["run", "broadcast", "chain", "--on", "star:4", "--with", "root=4"], "0..3"),
        (["run", "broadcast", "chain", "--with", "root"], "NAME=VALUE"),
        (["run", "broadcast", "chain", "--with", "root=x"], "whole number"),
        (["run", "broadcast", "chain", "--with", "cap=1"], "it takes root"),
        (["run", "all-to-all", "ring-relay", "--with", "bundled=7"], "true or false"),
        (["run", "all-reduce", "dim-ring", "--on", "star:8"], "has no axes"),
        (["run", "all-reduce", "swing", "--on", "torus:3x4"], "needs a power of two, not 3 ranks"),
        (["run", "all-reduce", "ring", "--on", "torus:3xx"], "as in torus:8x8x8"),
        (["run"], "PRIMITIVE"),
        (["dance"], "dance"),
    ],
)
def test_bad_input_ends_with_status_2_and_one_line(arguments, complaint):
    result = colllib(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert complaint in result.stderr
    assert "Traceback" not in result.stderr
