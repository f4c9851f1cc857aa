"""The command line, as a shell sees it."""

import io
import json
import os
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from fractions import Fraction
from pathlib import Path
from time import sleep

import click
import pytest

from colllib import cli_io, units
from colllib.algorithms import allreduce
from colllib.busbw import ideal_gain
from colllib.cli import cli, main
from colllib.execution import execute
from colllib.ladder import topology
from colllib.measured.sweeps import figures
from colllib.metrics import joules
from colllib.topology import machines
from colllib.topology.presets import PRESETS

TWO_LEVELS = ["--alpha", "1us,2us", "--bandwidth", "9GB/s,9GB/s"]
COMMAND = [sys.executable, "-m", "colllib"]
CONTEXT = click.Context(cli)
COMMANDS = {name: cli.get_command(CONTEXT, name) for name in cli.list_commands(CONTEXT)}


def started(*arguments, **variables):
    """The command as a process of its own, for what only a shell sees."""
    environment = {**os.environ, **variables}
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=60, env=environment
    )


def printed(*arguments):
    """What is printed, without a process of its own: starting one takes longer than most answers."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as end:
        main(list(arguments))
    assert (end.value.code, err.getvalue()) == (0, "")
    return out.getvalue()


def answer(*arguments):
    """What is printed as JSON."""
    return json.loads(printed(*arguments, "--json"))


@pytest.mark.parametrize(
    ("primitive", "name", "on"),
    [
        ("all-gather", "ring channels", "dgx-h100:2"),
        ("broadcast", "two trees", "star:8"),
        ("all-reduce", "k-nomial", "star:8"),
        ("all-reduce", "reduce + broadcast", "star:8"),
    ],
)
def test_an_algorithm_goes_by_the_name_that_ladders_print(primitive, name, on):
    assert f"\n{name}" in printed("ladder", primitive, "--on", on, "--message", "16MB")
    assert answer("run", primitive, name, "--on", on)["correct"]


def test_a_flag_may_stand_twice():
    assert json.loads(printed("list", "--json", "--json"))


def test_options_that_may_stand_several_times_do():
    changes = ("--what-if", "cards=4", "--what-if", "card=800Gb/s,link=900GB/s")
    assert len(answer("predict", "all-reduce", "--on", "dgx-h100:2", "--message", "1GB", *changes)["what_if"]) == 2


def test_where_nobody_told_the_rate_of_a_card_a_prediction_says_which_it_took(tmp_path):
    on = tmp_path / "topo.txt"
    on.write_text("\tGPU0\tGPU1\nGPU0\tX\tNV12\nGPU1\tNV12\tX\n")
    words = ["predict", "all-reduce", "--message", "1GB", "--on"]
    assert "The rate of a card is not known: predicted with " in printed(*words, f"{on},boxes=2,gpu=a100")
    assert "The rate of a card is not known" not in printed(*words, f"{on},boxes=2,gpu=a100,card=200Gb/s")


def test_a_cost_of_several_kinds_has_no_single_count():
    result = answer("run", "all-reduce", "hierarchical", "--on", "dgx-h100:2", "--message", "1GB")
    assert (result["n_alpha"], result["n_beta"]) == (None, None)
    assert sum(kind["steps"] for kind in result["kinds"]) == result["steps"]


@pytest.mark.parametrize(("alpha", "hops"), [("1us,2us", "0 | 1/8 1 | 1/8"), ("3us,2us", "1 | 1/8 0 | 1/8")])
def test_the_hops_of_a_step_are_those_of_the_route_that_is_longest_at_these_latencies(alpha, hops):
    prices = ("--alpha", alpha, "--bandwidth", "9GB/s,9GB/s")
    shown = " ".join(printed("run", "all-reduce", "ring", "--on", "boxes:2x4", *prices).split())
    assert f" 14 {hops} 0 | 1/8 " in shown
    assert "hops: latencies of a step's longest route, at the tier they are of; " in shown


@pytest.mark.parametrize("command", ["run", "trace", "ladder", "forest", "describe", "export", "mpi-run"])
def test_help_says_the_defaults_of_a_command_and_of_the_topologies_that_it_takes(command):
    shown = " ".join(printed(command, "--help").split())
    assert "oversubscription=1" in shown
    options = [option for option in COMMANDS[command].params if option.param_type_name == "option"]
    silent = {
        option.name
        for option in options
        if option.default is None and not option.required and "default" not in (option.help or "")
    }
    assert silent <= {"on", "tiers", "order"}  # without them it is another question, or the algorithm's own choice
    assert all(f"[default: {o.default}]" in shown for o in options if isinstance(o.default, str))


def test_every_command_about_a_schedule_takes_its_root_and_its_tiers():
    result = answer("trace", "broadcast", "chain", "--on", "star:3", "--root", "2")
    assert [sorted(held) for held in result["states"][0]["ranks"]] == [[], [], ["0"]]
    on_boxes = ("all-reduce", "hierarchical", "--on", "boxes:2x4", "--tiers", "ring,recursive-doubling")
    assert len(answer("trace", *on_boxes)["states"]) == 1 + 3 + 1 + 3


def test_a_command_starts_without_the_modules_of_the_others():
    loaded = "import sys, colllib.cli; print(*(name for name in sys.modules if name.startswith(('colllib', 'scipy'))))"
    modules = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout.split()
    assert "colllib.ladder" in modules
    assert not [name for name in modules if name.startswith("scipy") or name.endswith((".command", ".commands"))]


def test_the_list_of_commands_says_a_whole_sentence_about_each():
    listed = started("--help").stdout.partition("Commands:")[2].partition("\n\n")[0].split("\n  ")[1:]
    assert len(listed) == len(COMMANDS)
    assert all(line.strip().endswith(".") and not line.strip().endswith("...") for line in listed)


@pytest.mark.parametrize("command", ["predict", "ladder"])
def test_help_shows_a_cluster_file_that_can_be_written_from_it(command, tmp_path):
    shown = printed(command, "--help")
    lines = ["boxes = 24", "gpus = 8", 'gpu = "h100"', "cards = 4", 'card = "400Gb/s"', "oversubscription = 2"]
    assert all(line in shown for line in lines)
    file = tmp_path / "cluster.toml"
    file.write_text("\n".join(lines))
    assert answer("describe", str(file))["topology"] == "boxes:24x8,cards=4,oversubscription=2,inc=box"


def test_help_of_a_prediction_names_machines_and_the_options_that_it_takes():
    shown = " ".join(printed("predict", "--help").split())
    assert "star:N" not in shown
    assert all(f" {name}:N" in shown for name in machines.PRESETS)
    options = shown.partition("behind commas: ")[2].partition(". Or a file")[0].replace(" or ", ", ").split(", ")
    assert len(options) == 10
    for option in options:
        machines.find(f"dgx-h100{'' if 'boxes' in option else ':3'},{option}")


def test_every_option_has_a_meaning_and_every_meaning_an_option():
    result = answer("list")
    of_topologies = {option for options in result["topology_options"].values() for option in options}
    assert set(result["meanings"]["topologies"]) == of_topologies | {"without", "card"}
    assert set(result["meanings"]["algorithms"]) == {
        option for options in result["options"].values() for option in options
    }


def test_machines_that_can_be_predicted_are_marked():
    marked = {name for name, machine in answer("list")["machines"].items() if machine["predicted"]}
    assert marked == PRESETS.keys() & machines.PRESETS.keys()
    for name in PRESETS.keys() - marked:
        with pytest.raises(ValueError, match="unknown machine"):
            machines.find(f"{name}:2")


def test_a_price_says_its_message_in_the_units_that_it_was_given_in():
    assert "M = 256 MiB, alpha = 500 ns, BW = 900 GB/s" in printed(
        "run", "all-reduce", "ring", "--on", "star:4", "--message", "256MiB"
    )
    assert "M = 1.5 GB" in printed("ladder", "all-reduce", "--ranks", "4", "--message", "1.5GB")
    assert answer("run", "all-reduce", "ring", "--on", "star:4", "--message", "1KiB")["message_bytes"] == 1024
    assert answer("ladder", "all-reduce", "--ranks", "4", "--message", "1KiB")["message_bytes"] == 1024


@pytest.mark.parametrize(
    ("on", "tree"),
    [
        (
            "dgx-h100:3,cards=4",
            [
                "├─ box: switch with 8 box",
                "└─ card: card of 2 ranks",
                "   └─ card: switch with 4 card, 4 uplink",
                "      └─ uplink: switch with 12 uplink",
            ],
        ),
        ("fat-tree:4", ["└─ port: switch with 2 port, 2 uplink", "   └─ uplink: 2 × switch with 2 uplink, 2 uplink 2"]),
        ("full-mesh:12", ["└─ link: ranks 1, 2, 3, 4, 5, 6, 7, 8, ...", ""]),
        ("star:1", ["└─ port: switch with 1 port", ""]),
    ],
)
def test_what_is_described_is_drawn_as_one_rank_sees_it(on, tree):
    assert "\n".join(["\n\nrank 0", *tree]) in printed("describe", on)


def test_one_of_something_is_singular():
    assert "1 step, 2 messages" in printed("run", "all-gather", "ring", "--on", "star:2")
    assert "star:1, 1 rank\n" in printed("forest", "star:1")
    assert "(one full-duplex port per rank): 1 rank\n" in printed("describe", "star:1")


def test_the_options_of_a_predictions_best_schedule_run_it_again():
    best = answer("predict", "all-reduce", "--on", "dgx-h100:3", "--message", "1MiB", "--best")["best"]
    options = [word for option in best["options"] for word in ("--with", option)]
    again = answer(
        "run",
        "all-reduce",
        best["algorithm"],
        "--on",
        "dgx-h100:3",
        "--message",
        "1MiB",
        "--segments",
        str(best["segments"]),
        *options,
    )
    assert again["time_s"] == best["time_s"]


def test_a_ladder_says_which_rows_take_switches_that_add_and_how_to_leave_them_out():
    full, without = (printed("ladder", "all-reduce", "--on", f"dgx-h100:2{more}") for more in ("", ",inc=none"))
    nvls = [one for one in figures() if (one.boxes, one.collective, one.cause) == (1, "all-reduce", "nvls")]
    most = max(one.busbw / one.machine.link / ideal_gain(one.gpus) for one in nvls)
    assert f"take switches that add, and lose nothing here: NVLS in a box was measured at up to {most:.0%} of" in full
    assert "inc=none leaves them out\n" in full
    for text, rows in ((full, 2), (without, 0)):
        table = text.split("\n\n")[1]
        assert sum("in-network" in row or "NVLS" in row for row in table.splitlines()) == rows
    assert "nvls-tree, nvls: on tier 0 needs switches that add and replicate there" in without


def test_a_ladder_of_boxes_says_which_row_is_the_ring_of_nccl():
    text = printed("ladder", "all-gather", "--on", "boxes:2x2", "--alpha", "1us,2us", "--bandwidth", "4GB/s,1GB/s")
    assert any(line.startswith("ring channels  ") for line in text.splitlines())
    assert "ring channels are NCCL's ring, as many as a box has ranks; ring is one alone\n" in text
    assert "which together use all links of a box;" in printed("ladder", "all-gather", "--on", "gh200:1")
    assert "ring channels" not in printed("ladder", "all-gather", "--ranks", "4")


@pytest.mark.parametrize(
    ("on", "way"), [("dgx-h100:4", 4), ("dgx-h100:4,cards=2", 4), ("dgx-h100:4,rails=8", 2), ("dgx-h100:1", 0)]
)
def test_a_ladder_of_boxes_has_a_column_of_energy_and_says_how_many_optical_links_a_message_crosses(on, way):
    """Least and most of a row are those of its ledger; in one box nothing is optical."""
    words = "ladder", "all-reduce", "--on", on, "--message", "1GB"
    [ring] = [rung for rung in answer(*words)["rungs"] if rung["algorithm"] == "ring"]
    assert tuple(ring["energy_J"]) == joules(execute(allreduce.ring(topology(on).ranks), topology(on)), 1e9)
    shown = printed(*words)
    assert {"dgx-h100:1": "290 mJ to 1.2 J"}.get(on, "5.8 to 10 J") in shown
    assert "1.3 to 5.5 pJ a bit in a box as of NVLink-C2C and of a 112 Gb/s SerDes, 18.75 to 22.5 pJ on an" in shown
    assert (f"of which a message to the same place in another box crosses {way}" in shown) == (way > 0)


def test_energy_is_told_only_of_links_whose_own_is_known():
    assert answer("run", "all-reduce", "ring", "--on", "dgx-h100:4", "--message", "1GB")["energy_J"][0] > 5
    assert "  energy      5.8 to 10 J in the links, in a box as of NVLink-C2C and of a 112 Gb/s SerDes\n" in printed(
        "run", "all-reduce", "ring", "--on", "dgx-h100:4", "--message", "1GB"
    )
    assert answer("run", "all-reduce", "ring", "--on", "star:8")["energy_J"] is None
    assert "energy" not in printed("ladder", "all-reduce", "--on", "mi250:1")


@pytest.mark.parametrize(
    ("on", "machine", "size"),
    [
        ("dgx-h100:4", "dgx-h100:4", "1MiB"),
        ("h100:3", "h100:3", "1049B"),
        ("dgx-h100:4,inc=both", "dgx-h100:4,collnet=true", "1MiB"),
    ],
)
def test_a_ladder_of_a_machine_ends_with_what_nccl_is_predicted_to_take(on, machine, size):
    words, command = ("ladder", "all-reduce", "--on", on, "--message", size), f"--on {machine} --message {size}"
    nccl = answer(*words)["nccl"]
    assert nccl["command"] == f"colllib predict all-reduce {command}"
    (row,) = answer(*nccl["command"].split()[1:])["rows"]
    assert all(nccl[key] == row[key] for key in ("picked", "time_s", "busbw_GBps"))
    *_, last = printed(*words).splitlines()
    assert last.startswith("NCCL should take ")
    assert last.endswith(f", by {row['picked']} (NCCL 2.30.7): {nccl['command']}")


@pytest.mark.parametrize("words", [("--on", "boxes:2x2", "--alpha", "1us,2us", "--bandwidth", "4GB/s,1GB/s"),
                                   ("--on", "dgx-h100:2", "--bandwidth", "4GB/s,1GB/s"), ("--ranks", "4"),
                                   ("--on", "gaudi3:1"), ("--on", "dgx-h100:2,inc=none"),
                                   ("--on", "mi250:1"), ("--on", "mi250-8x2")])  # fmt: skip
def test_a_ladder_of_no_known_machine_or_of_other_speeds_predicts_nothing(words):
    assert answer("ladder", "all-gather", *words)["nccl"] is None


def test_a_fault_in_the_prediction_of_nccl_is_no_machine_that_it_does_not_know(monkeypatch):
    def faulty(*_):
        raise ValueError("operands could not be broadcast together")

    monkeypatch.setattr("colllib.cli.predict", faulty)
    with redirect_stderr(io.StringIO()) as errors, pytest.raises(SystemExit):
        main(["ladder", "all-reduce", "--on", "dgx-h100:2"])
    assert "could not be broadcast" in errors.getvalue()


def test_a_ladder_without_a_card_says_what_trees_take_where_another_box_lacks_it():
    """Of eight boxes 0 and 7 are the roots."""
    at = ("--message", "64MiB")
    ladder = answer("ladder", "all-reduce", "--on", "dgx-h100:8,without=card 3", *at)
    nvls_tree = ("run", "all-reduce", "nvls-tree", "--segments", "best")
    times = [answer(*nvls_tree, "--on", f"dgx-h100:8,without=card {card}", *at)["time_s"] for card in range(3, 64, 8)]
    assert times[0] == next(rung["time_s"] for rung in ladder["rungs"] if rung["algorithm"] == "nvls-tree")
    (label, span), *_ = ladder["by_box_s"].items()
    assert label.startswith("NVLS + tree, P = ")
    assert span == pytest.approx((min(times), max(times)), rel=0.02)
    text = printed("ladder", "all-reduce", "--on", "dgx-h100:8,without=card 3", *at)
    assert "by which box lacks the card: a tree's root, such as box 0, sends half\n" in text
    five = printed("ladder", "all-reduce", "--on", "dgx-h100:5,without=card 3", *at)
    assert "a tree's root, such as box 1, sends half\n" in five
    assert "without=card 3" not in printed("predict", "--help") + printed("list")  # of a tree's root, the cheapest
    others = ("dgx-h100:8", "dgx-a100:2,cards=4,without=card 5", "dgx-h100:1,without=card 3")
    for on in (*others, "dgx-h100:65,gpus=2,without=card 3"):
        assert "by which box" not in printed("ladder", "all-reduce", "--on", on, *at)


def test_what_a_tree_takes_without_any_card_lies_in_the_range_of_all_boxes():
    """Of ten boxes box 2, which is neither next to the root nor in the middle, makes it the slowest."""
    ladders = [
        answer("ladder", "all-reduce", "--on", f"dgx-h100:10,without=card {card}", "--message", "1MiB")
        for card in (3, 19, 43)
    ]
    for ladder in ladders:
        of_tree = next(rung for rung in ladder["rungs"] if rung["algorithm"] == "tree")
        name = "tree" if of_tree["segments"] == 1 else f"tree, P = {of_tree['segments']}"
        least, most = ladders[0]["by_box_s"][name]
        assert least * (1 - 1e-9) <= of_tree["time_s"] <= most * (1 + 1e-9)


def test_a_ladder_in_text_describes_no_rung_for_json(monkeypatch):
    monkeypatch.setattr("colllib.cli._described", lambda rung, price: pytest.fail(f"{rung} is described"))
    assert "ring" in printed("ladder", "all-gather", "--ranks", "4")


def test_list_names_what_can_be_run():
    result = answer("list")
    assert {"ring", "binomial-tree", "double-binary-tree", "recursive-doubling", "rabenseifner", "dim-ring"} <= set(
        result["algorithms"]["all-reduce"]
    )
    assert len(result["primitives"]) == 7
    assert "star:N" in result["topologies"]


@pytest.mark.parametrize("on", ["star:8,ports=7", "inc-star:4,ports=2", "uniring:2x4", "switch-tree:8x6,uplinks=2",
                                "fat-tree:4,oversubscription=3,routing=spread", "leaf-spine:2x2x2,uplink=1/2",
                                "torus:2x4", "ring:4", "star:4,hop=1/4,switch=0", "full-mesh:4"])  # fmt: skip
def test_the_time_is_that_of_the_printed_cost_at_the_printed_speeds(on):
    words = ("run", "all-reduce", "ring", "--on", on, "--message", "16MB")
    text, (n_alpha, n_beta) = printed(*words), (Fraction(answer(*words)[key]) for key in ("n_alpha", "n_beta"))
    assert f"n_alpha = {n_alpha}, n_beta = {n_beta}\n" in text
    alpha, bandwidth = re.search(r"priced at   M = 16 MB, alpha = (.*), BW = (.*)\n", text).groups()
    seconds = float(n_alpha) * units.parse("time", alpha) + float(n_beta) * 16e6 / units.parse("bandwidth", bandwidth)
    assert seconds == pytest.approx(answer(*words)["time_s"])


def test_run_reports_the_executed_counts_and_the_closed_form():
    result = answer("run", "all-reduce", "ring", "--on", "star:512", "--message", "16MB")
    assert (result["correct"], result["n_alpha"], result["n_beta"]) == (True, 1022, "511/256")
    assert result["closed_form"] == {"n_alpha": 1022, "n_beta": "511/256", "agrees": True}
    assert (result["sent_max"], result["received_max"], result["link_load_max"]) == ("511/256",) * 3
    assert (result["messages"], result["clock"], result["ranks"]) == (523264, "lockstep", 512)
    cost = execute(allreduce.ring(512)).cost
    assert result["time_s"] == cost.seconds(message=16e6, alpha=0.5e-6, bandwidth=900e9)


def test_run_and_trace_take_the_options_of_an_algorithm():
    assert answer("run", "all-gather", "pat", "--on", "star:8", "--with", "cap=1")["n_alpha"] == 7
    result = answer("trace", "broadcast", "chain", "--on", "star:3", "--with", "root=2")
    assert [sorted(held) for held in result["states"][0]["ranks"]] == [[], [], ["0"]]
    result = answer(
        "run", "all-to-all", "ring-relay", "--on", "ring:8", "--with", "tie=split", "--with", "bundled=false"
    )
    assert (result["n_alpha"], result["options"]) == (10, ["tie=split", "bundled=false"])


def test_a_closed_form_of_another_port_model_is_not_claimed():
    result = answer("run", "all-reduce", "recursive-doubling", "--on", "ring:8")
    assert "closed_form" not in result
    assert (result["n_alpha"], result["n_beta"]) == (7, "7")


def test_a_torus_runs_what_is_made_for_its_axes():
    result = answer("run", "all-reduce", "dim-ring", "--on", "torus:8x8x8")
    assert (result["n_alpha"], result["n_beta"], result["closed_form"]["agrees"]) == (42, "511/256", True)
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
    result = answer("trace", "reduce-scatter", "ring", "--on", "ring:4")
    assert len(result["states"]) == 4
    final = result["states"][-1]["ranks"]
    assert [final[rank][str(rank)] for rank in range(4)] == [[0, 1, 2, 3]] * 4
    assert len(result["states"][1]["messages"]) == 4


def test_a_forest_reports_its_bound_and_bottleneck_and_that_it_reaches_them():
    result = answer("forest", "dgx-a100:2")
    known = {"inverse_throughput": "3/65", "trees_per_root": 13, "unit": "3/5", "executed": True, "heights": {"2": 208}}
    assert result.items() >= known.items()
    assert result["algbw_GBps"] == pytest.approx(16 * 325 / 15)
    apart = {*range(16), "s0", "s1", "s2", "s3", "s4"} - set(result["bottleneck"]["vertices"])
    assert len(apart) == 1
    assert apart < set(range(16))
    assert result["bottleneck"]["ratio"] == "3/65"
    halved = answer("forest", "dgx-a100:2", "--primitive", "all-reduce")
    assert halved["algbw_GBps"] == result["algbw_GBps"] / 2
    fixed = answer("forest", "mi250-8x2", "--trees", "1", "--primitive", "reduce-scatter")
    assert (fixed["trees_per_root"], fixed["executed"], fixed["way"]) == (1, True, "boxes")
    rooted = answer("forest", "torus:4x4", "--primitive", "broadcast", "--root", "5")
    assert rooted["way"] == "general"
    assert (rooted["inverse_throughput"], rooted["algbw_GBps"]) == ("1/4", 3600)  # four links of 900 GB/s
    assert answer("forest", "star:4", "--bandwidth", "100GB/s")["inverse_throughput"] == "3/100"


def test_a_forest_is_packed_for_the_bandwidths_that_it_is_priced_at():
    """Into a box of four come 4/5 of M over two cards of 50 GB/s each."""
    on, speeds = ["--on", "boxes:5x4,cards=2"], ["--alpha", "0.6us,2.7us", "--bandwidth", "450GB/s,50GB/s"]
    run = ["run", "all-gather", "forest", *on, "--message", "10TB", *speeds, "--segments", "best"]
    assert 80 < answer(*run)["time_s"] < 80.5
    with_speeds, without = (started("export", "all-gather", "forest", *on, *more).stdout for more in (speeds, []))
    assert with_speeds.startswith("<algo")
    assert with_speeds != without


@pytest.mark.parametrize("fabric", ["nvl72:2", "superpod:2", "boxes:2x4,oversubscription=2", "leaf-spine:2x4x2"])
def test_a_forest_grows_on_every_kind_of_fabric(fabric):
    assert answer("forest", fabric)["executed"]


def test_a_forest_grows_on_the_cluster_of_a_file(tmp_path):
    (tmp_path / "mine.toml").write_text('boxes = 2\ngpus = 8\ngpu = "h100"\n')
    cluster, preset = (answer("forest", name) for name in (str(tmp_path / "mine.toml"), "dgx-h100:2"))
    assert cluster["inverse_throughput"] == preset["inverse_throughput"] == "3/100"


def test_multicast_saves_traffic_where_the_machines_switches_replicate():
    plain, able = (answer("forest", "dgx-h100:2", *flag) for flag in ((), ("--multicast",)))
    assert able["inverse_throughput"] == plain["inverse_throughput"]
    assert able["executed"]
    assert able["multicast"]["saved_on_links"] == "23/2"
    assert answer("forest", "dgx-a100:2", "--multicast")["multicast"]["saved_on_links"] == "0"
    assert answer("forest", "dgx-a100:2,inc=box", "--multicast")["multicast"]["saved_at_ranks"] != "0"


@pytest.mark.parametrize(
    ("words", "how"),
    [
        ("forest dgx-a100:2", "executed"),
        ("forest torus:12x12x12", "by symmetry"),
        ("experts --on dgx-h100:2", "executed"),
        ("find-topology --nodes 32 --degree 4", "closed form"),
        ("step --on dgx-h100:2 --plan dp=16 --model Llama\xa03.1\xa08B", ["predicted"]),
        ("step --on dgx-h100:2 --plan dp=16 --model Llama\xa03.1\xa08B --collectives fastest", ["counted"]),
        ("step --on dgx-h100:2 --plan tp=8,pp=2,dp=1 --collectives fastest", ["closed form"]),
        (
            "step --on dgx-h100:2 --plan all --batch 131072 --model Llama\xa03.1\xa08B --collectives fastest",
            ["closed form", "counted"],
        ),
    ],
)
def test_every_answer_with_a_time_or_a_count_says_how_it_is_known(words, how):
    assert answer(*(word.replace("\xa0", " ") for word in words.split(" ")))["how"] == how


def test_on_one_tier_and_on_several_it_is_said_how_the_end_state_was_proved():
    for on in ("star:8", "boxes:2x4"):
        speeds = ["--alpha", "1us,2us", "--bandwidth", "4GB/s,1GB/s"] if on.startswith("boxes") else []
        assert "end state   proved (executed), 14 steps" in printed("run", "all-reduce", "ring", "--on", on, *speeds)
    assert "proved (by symmetry)" in printed("run", "all-reduce", "ring", "--on", "star:4096")


def test_a_forest_runs_like_any_other_algorithm():
    result = answer("run", "all-gather", "forest", "--on", "mi250-8x2", "--segments", "2")
    assert (result["correct"], result["how"]) == (True, "executed")
    assert answer("run", "all-reduce", "forest", "--on", "torus:4x4")["link_load_max"] == "15/32"


def test_breadth_first_says_what_a_node_pays_and_which_bounds_it_meets():
    result = answer("run", "all-gather", "breadth-first", "--on", "line-graph(complete-bipartite:4x4)")
    assert (result["correct"], result["n_alpha"], result["n_beta"]) == (True, 3, "1/4")
    assert (result["n_beta_node"], result["pieces"]) == ("1", 1)  # 7/8 on K(4,4), and 1/8 more
    assert result["optimal"] == {"latency": True, "bandwidth": False}
    both = answer("run", "all-reduce", "breadth-first", "--on", "torus:5x4")
    assert (both["n_beta_node"], both["optimal"]["bandwidth"], both["pieces"]) == ("19/10", True, 4)
    fewer = answer("run", "all-gather", "breadth-first", "--on", "torus:5x4", "--with", "pieces=2")
    assert (fewer["pieces"], fewer["optimal"]["bandwidth"]) == (2, False)
    uneven = answer("run", "all-gather", "breadth-first", "--on", "mesh:3x2")
    assert (uneven["n_beta_node"], uneven["optimal"]) == (None, None)
    assert "n_beta_node" not in answer("run", "all-gather", "ring", "--on", "ring:4")


@pytest.mark.parametrize(
    ("primitive", "on", "name", "least"),
    [("all-gather", "mi250:2", "forest", 9), ("all-to-all", "circulant:16x3x4", "flow", 5)],
)
def test_a_ladder_starts_the_searches_that_end_soon(primitive, on, name, least):
    first, second, *_ = answer("ladder", primitive, "--on", on, "--message", "1GB")["rungs"]
    assert first["algorithm"] == name
    assert first["time_s"] * (least if name == "forest" else 1) < second["time_s"]
    alone = answer("run", primitive, name, "--on", on, "--message", "1GB", *["--segments=best"] * (name == "forest"))
    assert alone["time_s"] == first["time_s"]


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (
            "all-gather --on mi250:3 --message 1GB --alpha 1us,3us --bandwidth 50GB/s,16.5GB/s",
            "all-gather forest --on mi250:3 --message 1GB --alpha 1us,3us --bandwidth 50GB/s,16.5GB/s --segments best",
        ),
        ("all-to-all --on ring:16", "all-to-all flow --on ring:16 --message 16MB"),
        ("all-gather --on ring:5", "all-gather synthesis --on ring:5 --message 16MB"),
    ],
)
def test_what_a_ladder_does_not_search_for_is_said_above_its_rows_and_the_first_is_not_called_fastest(words, command):
    text = printed("ladder", *words.split())
    above, _, below = text.partition("\nalgorithm ")
    assert above.endswith(f" may be faster; it is found by a search: colllib run {command}\n")
    assert "of first" in below
    assert "of fastest" not in text
    assert "of fastest" in printed("ladder", "all-reduce", "--on", "ring:5")


def test_through_switches_what_sends_to_several_at_once_is_ranked_where_its_place_does_not_depend_on_what_that_costs():
    small, large = (answer("ladder", "all-reduce", "--on", "dgx-h100:1", "--message", m) for m in ("16KiB", "1GB"))
    direct, one_shot = (answer("run", "all-reduce", name, *ON_A_DGX)["time_s"] for name in ("direct", "one-shot"))
    assert small["left_out"]["direct"] == at_once(direct, apart=14 * 0.6e-6)  # 7 messages in each of two steps
    assert small["left_out"]["one-shot"] == at_once(one_shot, apart=7 * 0.6e-6)
    assert {"direct", "one-shot", "forest"} <= small["left_out"].keys() - {rung["algorithm"] for rung in small["rungs"]}
    assert {"direct", "one-shot", "forest"} <= {rung["algorithm"] for rung in large["rungs"]} - large["left_out"].keys()


def test_what_takes_long_is_named_on_standard_error_also_without_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(cli_io, "PATIENCE", 0.01)
    with cli_io.progress(["quick", "slow", "next"], str) as names:
        for name in names:
            if name == "slow":
                sleep(1)
    assert "2 of 3, slow: still at work after 0.01 s" in capsys.readouterr().err.splitlines()


ON_A_DGX = ("--on", "dgx-h100:1", "--message", "16KiB")


def at_once(together, apart):
    times = units.seconds(together, 4), units.seconds(apart, 4)
    return "takes {} if the messages of a rank in a step pass its link at once, {} if an alpha apart".format(*times)


def test_a_ladder_on_switches_says_which_rows_send_to_several_at_once():
    assert "\nforest: through switches" in printed("ladder", "all-gather", "--on", "dgx-h100:2", "--message", "3MB")
    for on, message in (("dgx-h100:2", "1GB"), ("mi300x:1", "3MB")):  # it would take no longer; no switch is crossed
        assert "through switches" not in printed("ladder", "all-gather", "--on", on, "--message", message)
    assert "through switches" not in printed("ladder", "all-gather", "--on", "torus:3x3")


@pytest.mark.parametrize(("message", "first"), [("8B", "recursive-doubling"), ("1GB", "forest")])
def test_a_forest_that_sends_to_many_boxes_at_once_is_not_first_for_a_few_bytes(message, first):
    words = ("--on", "boxes:30x4,oversubscription=2", "--alpha", "1us,1.3us", "--bandwidth", "150GB/s,25GB/s")
    result = answer("ladder", "all-reduce", *words, "--message", message)
    assert result["rungs"][0]["algorithm"] == first
    assert ("forest" in result["left_out"]) == (first != "forest")


def test_what_a_search_refuses_stands_among_what_is_left_out():
    left_out = answer("ladder", "all-to-all", "--on", "torus:4x4")["left_out"]
    assert "more than 5000 pieces" in left_out["flow"]


def test_a_ladder_on_a_graph_waits_for_breadth_first_and_names_what_it_does_not_wait_for():
    result = answer("ladder", "all-gather", "--on", "kautz:2x12", "--message", "1GB")
    assert {"forest", "breadth-first"} == {rung["algorithm"] for rung in result["rungs"][:2]}
    assert result["left_out"]["synthesis"] == "is found by a search that a ladder does not start"
    assert {"breadth-first", "breadth-first-rooted"} <= {
        rung["algorithm"] for rung in answer("ladder", "all-reduce", "--on", "kautz:2x12")["rungs"]
    }


def test_what_programs_find_runs_like_any_other_algorithm():
    result = answer("run", "all-gather", "synthesis", "--on", "diamond", "--with", "pieces=2")
    assert (result["correct"], result["n_beta"], result["n_beta_node"], result["pieces"]) == (True, "7/16", "7/8", 2)
    short, long = (answer("run", "all-to-all", "flow", "--on", "kautz:2x6", "--with", f"steps={n}") for n in (2, 3))
    assert (short["correct"], short["n_alpha"], short["n_beta"]) == (True, 2, "5/6")
    assert (long["n_alpha"], long["n_beta"]) == (3, long["link_load_max"])


@pytest.mark.parametrize(
    ("primitive", "factor"), [("all-reduce", "7/4 times "), ("all-gather", "7/8 times "), ("broadcast", "")]
)
def test_a_ladder_says_how_its_bus_bandwidth_becomes_algbw(primitive, factor):
    assert f"\nbusbw is {factor}algbw, which is M over the time\n" in printed("ladder", primitive, "--ranks", "8")


def test_ladder_sorts_the_algorithms():
    rungs = answer("ladder", "all-reduce", "--ranks", "64", "--message", "1kB")["rungs"]
    assert rungs[0]["algorithm"] == "recursive-doubling"
    assert [rung["time_s"] for rung in rungs] == sorted(rung["time_s"] for rung in rungs)


@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["forest", "mi250-8x2"],
        ["forest", "star:1"],
        ["run", "all-reduce", "rabenseifner", "--on", "star:8"],
        ["run", "broadcast", "chain", "--on", "ring:5", "--clock", "event"],
        ["trace", "all-reduce", "double-binary-tree", "--on", "star:3", "--segments", "2"],
        ["ladder", "all-reduce", "--on", "full-mesh:6"],
        ["--help"],
    ],
)
def test_every_command_also_speaks_to_people(arguments):
    assert printed(*arguments).strip()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["run", "all-reduction", "ring"], "known are"),
        (["run", "all-reduce", "butterfly"], "known are ring"),
        (["run", "all-reduce", "ring", "--on", "moon:4"], "known are star:N"),
        (["run", "all-reduce", "ring", "--on", "star:0"], "N = 0"),
        (["run", "all-reduce", "ring", "--on", "star:x"], "whole number"),
        (["run", "all-reduce", "ring", "--message", "-1MB"], "message size '-1MB' is negative: must be at least 0"),
        (["run", "all-reduce", "ring", "--alpha=-0.5us"], "time '-0.5us' is negative: must be at least 0"),
        (["run", "all-reduce", "ring", "--bandwidth=-1GB/s"], "bandwidth '-1GB/s' is negative: must be above 0"),
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
        (["run", "broadcast", "chain", "--with", f"root={'9' * 5000}"], "5005 characters are too many, at most 200"),
        (["run", "all-reduce", "ring", "--on", "inc-star:1000000000"], "N: 1000000000 ranks are too many"),
        (["run", "broadcast", "chain", "--with", "root=x"], "whole number"),
        (["run", "broadcast", "chain", "--with", "cap=1"], "it takes root"),
        (["run", "all-to-all", "ring-relay", "--with", "bundled=7"], "true or false"),
        (["run", "all-reduce", "dim-ring", "--on", "star:8"], "has no axes"),
        (["run", "all-reduce", "swing", "--on", "torus:3x4"], "needs a power of two, not 3 ranks"),
        (["run", "all-reduce", "ring", "--on", "torus:3xx"], "as in torus:8x8x8"),
        (["run"], "PRIMITIVE"),
        (["run", "all-reduce", "ring", "--ranks", "8"], "'--ranks': colllib run --help says what is taken"),
        (["predict", "all-reduce", "--on", "boxes:24x8"], "a GPU such as h20:2 or l40s:1, or a cluster file (.toml)"),
        (["forest", "mi250:0"], "mi250:0: must be at least 1"),
        (["forest", "star:4", "--trees", "0"], "trees 0: must be at least 1"),
        (["forest", "star:4", "--primitive", "reduce", "--root", "4"], "root 4: must be one of the ranks 0..3"),
        (
            ["forest", "boxes:2x4", "--bandwidth", "1GB/s"],
            "takes 2 values, innermost first (box, card) for --bandwidth, not 1",
        ),
        (["forest", "fat-tree:12"], "and at most 60 s are spent on one run"),
        (["dance"], "dance"),
        (["run", "all-reduce", "ring", "--on", "star:--4"], "the size '--4': must be a whole number"),
        (["run", "all-reduce", "ring", "--on", "star:99999999999999999999999"], "of at most 18 digits, as in star:N"),
        (["run", "all-reduce", "ring", "--on", ""], "unknown topology ''"),
        (["ladder", "all-reduce", "--on", ""], "unknown topology ''"),
        (["ladder", "all-reduce", "--ranks", "1_0"], "ranks '1_0': must be a whole number"),
        (["ladder", "all-reduce", "--ranks", "4,ports=2"], "ranks '4,ports=2': must be a whole number"),
        (["run", "all-to-all", "pairwise", "--on", "ring:100000"], "and at most 60 s are spent on one run"),
        (["run", "broadcast", "chain", "--with", "root=--1"], "option root '--1': must be a whole number"),
        (["run", "all-gather", "ring", "--on", "star:8", "--with", "direction=8"], "direction 8: must be 1 or -1"),
        (["run", "all-gather", "ring", "--with", "direction=" + "9" * 21], "option direction '99999"),
        (["run", "all-reduce", "dim-ring", "--on", "torus:4x4", "--with", "direction=0"], "direction 0"),
        (["run", "all-reduce", "ring", "--segments", "9" * 5000], "segments '99999"),
        (
            ["run", "broadcast", "chain", "--on", "star:4", "--segments", "2147483647"],
            "2147483647 segments are too many",
        ),
        (["trace", "broadcast", "chain", "--on", "star:4", "--segments", "2147483647"], "slices are too many"),
        (["trace", "all-reduce", "ring", "--on", "star:64"], "520192 cells are too many"),
        (["run", "broadcast", "two-tree", "--segments", "best", "--alpha", "0s"], "alpha = 0"),
        (["run", "point-to-point", "direct", "--on", "star:8", "--with", "source=7", "--with", "target=7"], "rank 7"),
        (["run", "all-reduce", "ring", "--clock", "x" * 5000], "must be lockstep or event"),
        (["x" * 5000], "No such command"),
        (
            ["run", "all-reduce", "ring", "--on", "boxes:2x4"],
            "(box, card) for --alpha, and has none of its own: say --alpha 0.6us,2.7us --bandwidth 450GB/s,50GB/s",
        ),
        (["run", "all-reduce", "ring", "--on", "boxes:2x4", "--alpha", "1us,2us,3us"], "for --alpha, not 3"),
        (
            ["run", "all-reduce", "ring", "--on", "boxes:2x4", "--alpha", "1us,-2us"],
            "time '-2us' is negative: must be at least 0",
        ),
        (["run", "all-reduce", "ring", "--on", "boxes:2x4", "--alpha", "1us,"], "time '': not readable"),
        (
            ["run", "all-reduce", "ring", "--on", "boxes:2x4", "--alpha", "1us,2us", "--bandwidth", "9GB/s,0GB/s"],
            "bandwidth '0GB/s': must be above 0, such as 900GB/s or 400Gb/s",
        ),
        (
            ["run", "all-reduce", "hierarchical", "--on", "boxes:2x4", "--tiers", "ring,ring,ring", *TWO_LEVELS],
            "boxes:2x4 has 2, give one algorithm for each",
        ),
        (["run", "all-reduce", "hierarchical", "--on", "torus:4x4"], "is made for boxes, and torus:4x4 has none"),
        (["run", "all-reduce", "ring", "--on", "leaf-spine:2x2x2,uplink=1:2"], "option uplink of leaf-spine '1:2'"),
    ],
)
def test_bad_input_ends_with_status_2_and_one_line(arguments, complaint, capsys):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    out, err = capsys.readouterr()
    assert (end.value.code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert complaint in err
    assert len(err) < 520


NEEDED = [(name, parameter) for name, command in COMMANDS.items() for parameter in command.params]
NEEDED = [(name, parameter.name) for name, parameter in NEEDED if parameter.required]


GIVEN = {"primitive": "all-reduce", "algorithm": "ring"}


@pytest.mark.parametrize(("command", "missing"), NEEDED)
def test_a_command_without_what_it_needs_asks_for_it(command, missing, capsys):
    words = [command]
    for parameter in COMMANDS[command].params:
        if parameter.name == missing and parameter.param_type_name == "argument":
            break  # those behind it would stand in its place
        if parameter.required and parameter.name != missing:
            is_option = parameter.param_type_name == "option"
            words += [parameter.opts[0], "1"] if is_option else [GIVEN.get(parameter.name, "x")]
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith("colllib: Missing ")


def test_a_shell_sees_the_status_and_the_line_too():
    result = started("run", "all-reduce", "ring", "--on", "star:0")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "colllib: N = 0: the number of ranks must be a whole number of at least 1\n"


def test_without_arguments_the_help_is_printed_as_it_is():
    result = started()
    assert (result.returncode, result.stdout) == (0, started("--help").stdout)


def test_latencies_between_ranks_and_switches_may_be_fractions():
    result = answer("run", "broadcast", "in-network", "--on", "inc-star:4", "--segments", "2")
    assert (result["n_alpha"], result["closed_form"]["n_alpha"]) == ("3/2", "3/2")
    assert answer("run", "broadcast", "in-network", "--on", "inc-star:4")["n_alpha"] == 1


def test_a_ladder_leaves_out_what_is_too_large_and_says_why():
    result = answer("ladder", "all-to-all", "--ranks", "100000")
    assert [(rung["algorithm"], rung["how"]) for rung in result["rungs"]] == [
        ("bruck", "by symmetry"),
        ("pairwise", "by symmetry"),
    ]
    assert "messages of one rank are too many" in result["left_out"]["ring-relay"]
    # without latency no number of segments is best, and what takes none is still compared
    result = answer("ladder", "broadcast", "--ranks", "8", "--alpha", "0s")
    assert [rung["algorithm"] for rung in result["rungs"]] == ["scatter-allgather", "scatter-bruck", "direct"]
    assert "alpha = 0" in result["left_out"]["two-tree"]
    # over several tiers the same
    result = answer("ladder", "broadcast", "--on", "dgx-h100:2", "--alpha", "0s,0s")
    assert {rung["segments"] for rung in result["rungs"]} == {1}
    assert {"hierarchical", "channels", "two-tree"} <= {
        name for name, why in result["left_out"].items() if "alpha = 0" in why
    }


def test_a_closed_form_is_compared_only_where_it_belongs():
    for on in ("switch-tree:8x4", "star:8,ports=2", "boxes:2x4,oversubscription=2"):
        levels = ["--alpha", "1us,1us", "--bandwidth", "1GB/s,1GB/s"] if on.startswith("boxes") else []
        assert "closed_form" not in answer("run", "all-reduce", "ring", "--on", on, *levels)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full is Linux's")
@pytest.mark.parametrize("arguments", ["list", "list --json", "run all-reduce ring --on star:4", "--help"])
def test_output_that_cannot_be_written_ends_with_status_1_and_one_line(arguments):
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [*COMMAND, *arguments.split()], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (result.returncode, result.stderr) == (1, "colllib: standard output: No space left on device\n")


def test_a_closed_standard_output_is_no_success():
    line = f"{sys.executable} -m colllib list >&-"
    result = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == "colllib: standard output is closed, and there is nowhere to write to\n"


@pytest.mark.skipif(sys.platform == "win32", reason="a shell's pipe")
def test_a_reader_that_leaves_early_is_no_error():
    line = f"set -o pipefail; {sys.executable} -m colllib list | head -1"
    result = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert result.stdout == printed("list").splitlines(keepends=True)[0]
    assert result.stderr == ""


def test_a_command_that_ends_by_itself_keeps_its_status(monkeypatch):
    monkeypatch.setattr(cli, "invoke", lambda context: sys.exit(3))
    with pytest.raises(SystemExit) as end:
        main(["list"])
    assert end.value.code == 3


def keys(result):
    """Every key of a result, at any depth."""
    if isinstance(result, dict):
        return set(result).union(*map(keys, result.values()))
    return set().union(*map(keys, result)) if isinstance(result, list) else set()


def test_the_keys_that_help_names_are_those_that_commands_print():
    """Whatever is neither a word of the sentences, nor in brackets."""
    small = ("--model", "Llama 3.1 8B", "--on", "dgx-h100:1")
    lines = {
        "run": [("all-reduce", "ring", "--on", "dgx-h100:2")],
        "ladder": [("all-gather", "--on", "dgx-h100:2")],
        "predict": [("all-reduce", "--on", "dgx-h100:2", "--message", "1GiB", "--sensitivity", "--what-if", "cards=4")],
        "step": [(*small, "--plan", "tp=8"), (*small, "--plan", "all", "--batch", "65536")],
        "experts": [("--on", "dgx-h100:1")],
        "describe": [("dgx-h100:2",)],
        "forest": [("mi250:1",)],
    }
    text = " ".join(started("--help").stdout.split()).partition("shares of M: ")[2]
    spans = re.split(rf"\b({'|'.join(lines)}): ", text)[1:]
    assert set(spans[::2]) == set(lines)
    prose = {"rows", "and", "with", "of", "each", "in", "BW"}
    for command, span in zip(spans[::2], spans[1::2], strict=True):
        known = set().union(*(keys(answer(command, *words)) for words in lines[command]))
        named = set(re.findall(r"\w+", re.sub(r"\(.*?\)|--plan all", "", span)))
        assert named - prose <= known, command


def test_one_rank_that_sends_nothing_has_no_bandwidth():
    for on in (("star:1",), ("boxes:1x1", "--alpha", "1us,1us", "--bandwidth", "50GB/s,50GB/s")):
        *_, last = printed("run", "all-gather", "ring", "--on", *on).splitlines()
        assert last == "  time        0 s (lock-step clock)"


def test_who_reads_the_output_may_leave_at_once():
    line = f"{sys.executable} -m colllib list --json | true; exit ${{PIPESTATUS[0]}}"
    result = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("run all-reduce ring --on star:4 --with first=2 --with first=3", "option 'first': is given twice"),
        (
            "predict all-reduce --on b200:2 --on mi300x:2",
            "--on is given twice: give it once, and call again to compare",
        ),
        ("ladder all-reduce --message 1MB --ranks=4 --message=2MB", "--message is given twice"),
        ("step --on dgx-h100:8 --plan fsdp=64", "or for FSDP dp=64,zero=3"),
        ("ladder all-reduce --on edges:0-1", "own wires: colllib.topology.from_links"),
        (
            "ladder all-reduce --on boxes:2x8,cards=7",
            "8 ranks, as 8 do; a lost one: without=card 3",
        ),
        ("run broadcast chain --on star:4 --root 2 --with root=3", "option 'root': is given twice"),
        ("export all-reduce ring --on star:4 --message 1GiB", "leave --message and --alpha out"),
        ("export all-reduce ring --on star:4 --alpha 3us", "leave --message and --alpha out"),
        ("claims E-02-083 --verdict refuted", "claim 'E-02-083': leave --source, --verdict and --chapter out"),
    ],
)
def test_what_would_be_ignored_is_refused(line, message, capsys):
    with pytest.raises(SystemExit) as end:
        main(line.split())
    assert end.value.code == 2
    assert message in capsys.readouterr().err


def test_every_name_of_a_machine_stands_in_the_list_and_in_the_help_of_what_takes_it():
    """dgx-v100, instances of AWS, and any GPU have no preset of their own."""
    shown, known = printed("list"), answer("list")["predicted"]
    assert {"dgx-v100", "p4d", "p5", "p5en"} <= {*known["boxes"], *known["instances"]}
    for name in (*known["boxes"], *known["instances"]):
        assert f"{name}:2" in shown
        assert answer("predict", "all-reduce", "--on", f"{name}:2", "--message", "1GiB")["ranks"] == 16
        assert answer("describe", f"{name}:2")["ranks"] == 16
        for command in ("predict", "step", "experts", "ladder"):
            assert f"{name}:N" in printed(command, "--help")
    for gpu in known["gpus"]:
        assert gpu in shown
        assert machines.by_gpu(gpu).name == gpu
    for words in ("star:N", "torus:", "fat-tree:"):
        assert words not in printed("step", "--help")


@pytest.mark.parametrize(
    ("on", "size", "noted"),
    [
        (("--on", "dgx-h100:1"), "32KiB", True),
        (("--on", "dgx-h100:1"), "1GiB", False),
        (("--on", "dgx-h100:1", "--alpha", "600ns,3us"), "32KiB", False),
        (("--on", "star:8"), "32KiB", False),
    ],
)
def test_a_time_of_few_microseconds_is_said_to_lack_the_start_of_a_kernel(on, size, noted):
    note = "alpha is that of a message: starting a kernel takes several microseconds more"
    for command in (("run", "all-reduce", "one-shot"), ("ladder", "all-reduce")):
        assert (note in printed(*command, *on, "--message", size)) is noted


def test_what_an_old_encoding_lacks_is_no_fault_of_the_input():
    for command in (["list"], ["list", "--json"]):
        result = started(*command, PYTHONIOENCODING="latin-1")
        assert (result.returncode, result.stderr) == (0, "")
    code = "from colllib import cli; cli.units.rate = lambda _: '\u03bb'; cli.main(['list'])"
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert (result.returncode, result.stderr) == (0, "")
    assert "BW = \\u03bb" in result.stdout


def test_too_little_memory_is_said_in_one_line():
    resource = pytest.importorskip("resource")

    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (10**9, 10**9))

    line = [*COMMAND, "run", "all-to-all", "direct", "--on", "full-mesh:4000"]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    result = subprocess.run(line, preexec_fn=limited, capture_output=True, text=True, check=False, env=environment)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == ("colllib: this takes more memory than there is: take fewer ranks, blocks or segments\n")
