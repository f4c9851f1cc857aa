"""Machines that exist, and what topologies are built from, counted by hand."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from colllib.cli import cli
from colllib.topology import machines
from colllib.topology.describe import switches, wires
from colllib.topology.expression import find
from colllib.topology.presets import PRESETS
from colllib.training.prices import tiers

KEYS = re.findall(
    r"^@\w+\{([^,]+),", (Path(__file__).parents[1] / "book" / "references.bib").read_text(encoding="utf-8"), re.M
)


@pytest.mark.parametrize("name", PRESETS)
def test_every_figure_of_a_machine_has_a_source_and_a_speed_for_each_level(name):
    machine = find(f"{name}:2")
    assert PRESETS[name].source
    assert all(source in KEYS or source.startswith("https://") for source in PRESETS[name].source)
    alphas, speeds = machine.speeds
    assert len(alphas) == len(speeds) == machine.levels
    assert speeds[0] >= speeds[1] > 0


@pytest.mark.parametrize("name", sorted(machines.PRESETS))
def test_a_machine_has_as_many_ranks_and_cards_for_schedules_as_for_predictions(name):
    """machines.csv and presets.toml each say how large a box is."""
    predicted, built = machines.find(f"{name}:3"), find(f"{name}:3")
    assert (built.ranks, built.in_box) == (predicted.ranks, predicted.gpus)
    assert tiers(f"{name}:3").bandwidth[1] == predicted.card * predicted.cards / predicted.gpus  # of a rank


@pytest.mark.parametrize("cards", ["card=100Gb/s", "cards=4,card=25GB/s"])
def test_a_machine_with_other_cards_has_their_rate_for_schedules_as_for_predictions(cards):
    machine = machines.find(f"dgx-h100:2,{cards}")
    assert find(f"dgx-h100:2,{cards}").speeds[1] == (machine.link, machine.card)
    assert machine.card < find("dgx-h100:2").speeds[1][1]


@pytest.mark.parametrize("cards", ["", "cards=2,", "cards=4,"])
@pytest.mark.parametrize("card", ["100Gb/s", "400Gb/s", "800Gb/s", "3200Gb/s"])
@pytest.mark.parametrize("name", ["dgx-h100:2", "dgx-h100:2,gpus=6,cards=6", "dgx-a100:4", "mi300x:2", "nvl72:2"])
def test_cards_faster_than_the_slots_of_the_gpus_behind_them_send_what_these_carry(name, card, cards):
    """Behind links up that are too narrow, these bind first: half of eight 800 Gb/s is less than eight Gen5 slots."""
    for narrow in ("", ",oversubscription=2", ",oversubscription=1.25"):
        on = f"{name},{cards if 'cards' not in name else ''}card={card}{narrow}"
        machine = machines.find(on)
        assert tiers(on).bandwidth[1] * machine.gpus == pytest.approx(machine.network, rel=1e-3)
    two = find("dgx-h100:4,card=800Gb/s,oversubscription=2")
    assert (two.name, two.speeds[1][1]) == ("boxes:4x8,oversubscription=63/50,inc=box", 63e9)


def test_a_rate_of_cards_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match="bandwidth 'fast': not readable"):
        find("dgx-h100:2,card=fast")
    with pytest.raises(ValueError, match=r"^dgx-h100:2: card is given 2 times$"):
        find("dgx-h100:2,card=25GB/s,card=50GB/s")
    with pytest.raises(ValueError, match="boxes takes no option 'card'"):
        find("boxes:2x8,card=100Gb/s")


@pytest.mark.parametrize(
    ("pods", "leaves", "spines"),
    # 18 cards of a pod a rail, 72 of 144 ports down and 72 up, four rails; of 32, 64 and 144 leaves NVIDIA's own table:
    # docs.nvidia.com/dgx-superpod/reference-architecture/scalable-infrastructure-b300-xdr
    [(32, 32, 16), (16, 16, 8), (8, 8, 4), (40, 40, 4 * 6), (128, 128, 4 * 18), (256, 256, 4 * 36), (576, 576, 4 * 72)],
)
def test_a_superpod_has_the_leaves_spines_and_cables_that_its_ports_ask_for(pods, leaves, spines):
    machine = find(f"superpod:{pods}")
    assert machine.ranks == 72 * pods
    in_pods, of_leaves, of_spines = switches(machine, radix=144)
    assert (in_pods.number, in_pods.ports, in_pods.chassis) == (pods, {"box": 72}, 0)
    assert (of_leaves.number, of_leaves.ports) == (leaves, {"card": 72, "uplink": 72})
    assert (of_leaves.chassis, of_spines.chassis) == (leaves, spines)
    assert [tier.cables for tier in wires(machine)] == [72 * pods] * 3


@pytest.mark.parametrize(
    ("on", "name"),
    [
        ("h20:8,rails=8", "boxes:8x8,rails=8"),
        ("p5:8,rails=8,apart=true", "boxes:8x8,rails=8,apart=true"),
        ("dgx-h100:8,gpus=4,rails=4,card=800Gb/s", "boxes:8x4,rails=4"),
        ("h100:8,seed=1,inc=none", "boxes:8x8,seed=1"),
        ("h100:8,ranks=61,oversubscription=3/2", "boxes:8x8,oversubscription=3/2,ranks=61"),
    ],
)
def test_a_machine_that_has_no_preset_takes_the_options_of_boxes(on, name):
    """As help says of machines; the speeds are those of the machine."""
    machine = find(on)
    assert machine.name in (name, name.replace(",ranks", ",inc=box,ranks"), f"{name},inc=box")
    assert machine.speeds[1][1] == (63e9 if "800Gb/s" in on else 50e9)


def test_an_option_of_boxes_is_given_a_machine_once():
    with pytest.raises(ValueError, match="an option is given twice"):
        find("h100:8,seed=1,seed=2")


def test_on_one_rail_boxes_share_a_leaf_and_nothing_stands_above_the_spines():
    """By hand: 128 boxes of 8, four on a leaf of 64 ports, 32 ways up from each to 16 spines of 64 ports."""
    machine = find("boxes:32x4x8,rails=1")
    assert [(alike.number, alike.chassis) for alike in switches(machine, radix=64)] == [(128, 0), (32, 32), (1, 16)]
    assert [tier.tier for tier in wires(machine)] == ["box", "card", "uplink"]
    assert find("boxes:32x4x8,rails=1,apart=true").name == machine.name


def test_a_fat_tree_is_described_as_its_source_counts_it():
    """Five quarters of k^2 switches of k ports, k^3/4 cables between any two levels."""
    machine = find("fat-tree:8")
    assert sum(alike.number for alike in switches(machine)) == 80
    assert {sum(alike.ports.values()) for alike in switches(machine)} == {8}
    assert [(tier.tier, tier.cables) for tier in wires(machine)] == [("port", 128), ("uplink", 128), ("uplink 2", 128)]


def test_oversubscription_takes_cables_and_bisection_away():
    half = find("boxes:8x8,oversubscription=2")
    assert [(tier.cables, tier.bisection) for tier in wires(half)] == [(64, 32), (64, 32), (32, 16)]
    thin = find("fat-tree:8,oversubscription=2:4")  # 128 hosts
    assert [(tier.cables, tier.bandwidth, tier.bisection) for tier in wires(thin)] == [
        (128, 1, 64),
        (64, 1, 32),
        (32, 1, 16),
    ]


def test_options_of_a_machine_are_those_of_its_topology_and_override_its_own():
    assert find("dgx-h100:2,cards=4,inc=none").name == "boxes:2x8,cards=4"
    assert find("mi250x:2,cards=8").name == "boxes:2x8"
    assert find("superpod:8,apart=false").name == "boxes:2x4x72,rails=4,inc=box"
    assert len(find("superpod:8,apart=false").speeds[0]) == 4


def test_a_machines_switches_do_what_they_can_unless_told_otherwise():
    """Those of NVLink add and replicate; none takes bundles apart, which an option of boxes may grant."""
    for name in PRESETS:
        topology = find(f"{name}:2")
        able = machines.PRESETS[name].nvls if name in machines.PRESETS else name == "superpod"
        assert (topology.combines, topology.replicates, topology.scatters) == (able, able, False)
        assert not find(f"{name}:2,inc=none").combines
    assert find("dgx-a100:2,inc=box").scatters
    direct = find("dgx-h100:2,inside=full-mesh")
    assert direct.name == "boxes:2x8,inside=full-mesh"
    assert not direct.combines


@pytest.mark.parametrize(
    ("expression", "complaint"),
    [
        ("superpod:6", "take at most 4 pods, or a multiple of them up to 576"),
        ("trn2:2,inside=switch", "its bandwidth is that of inside=torus:4x4: take boxes:2x…, with --bandwidth"),
        ("dgx-h100:2,inside=torus:4x2", "its bandwidth is that of inside=switch"),
        ("superpod:580", "up to 576"),
        ("dgx-h100:0", "must be at least 1"),
        ("dgx-h100", "must be a whole number"),
        ("dgx-h100:2x8", "must be a whole number"),
        ("dgx-h100:2,lanes=4", "option 'lanes' is not taken: take cards, oversubscription, "),
        ("dgx-h100:2,link=100GB/s", "option 'link' is taken by predict and diagnose alone: take cards, "),
        ("dgx-h100:2,boxes=4", "option 'boxes' is taken by predict and diagnose alone: take cards, "),
        ("dgx-h900:2", "unknown topology 'dgx-h900:2'"),
    ],
)
def test_machines_that_cannot_be_are_refused(expression, complaint):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refusal:
        find(expression)
    assert complaint in str(refusal.value)


@pytest.mark.parametrize(("boxes", "ranks", "cards"), [(4, 8, 4), (3, 8, 1), (2, 6, 3), (5, 4, 4)])
def test_cards_that_ranks_share_are_cards_and_no_switches_to_buy(boxes, ranks, cards):
    """A cable for each card, a switch in each box, a leaf for each box and one that joins the leaves."""
    fabric = find(f"boxes:{boxes}x{ranks},cards={cards}" if cards < ranks else f"boxes:{boxes}x{ranks}")
    assert {tier.tier: tier.cables for tier in wires(fabric)}["card"] == boxes * cards
    assert sum(alike.number for alike in switches(fabric)) == 2 * boxes + 1
    assert {alike.ports.get("card", 0) for alike in switches(fabric)} == {0, cards}


def test_the_command_line_describes_a_machine_and_prices_with_its_speeds():
    result = CliRunner().invoke(cli, ["describe", "superpod:32", "--radix", "144", "--json"])
    description = json.loads(result.output)
    assert (description["ranks"], description["boxes"]) == (2304, 32)
    assert [(alike["number"], alike["chassis"]) for alike in description["switches"]] == [(32, 0), (32, 32), (4, 16)]
    assert "of 144 ports" in CliRunner().invoke(cli, ["describe", "superpod:32", "--radix", "144"]).output
    run = CliRunner().invoke(cli, ["run", "all-reduce", "hierarchical", "--on", "dgx-h100:2", "--json"])
    assert [tier["bandwidth"] for tier in json.loads(run.output)["tiers"]] == [450e9, 50e9, 400e9]


@pytest.mark.parametrize(
    "command",
    [
        "ladder broadcast --on mi250x:1",
        "run broadcast chain --on mi250x:1",
        "trace broadcast chain --on mi250x:1",
        "describe mi250x:1",
        "predict all-reduce --on mi250x:1 --message 1MB",
        "forest mi250x:1 --primitive broadcast",
        "step --on mi250x:1 --plan tp=8 --model Llama/3.1/8B",
        "experts --on mi250x:1",
        "ladder broadcast --on dgx-v100:2",
        "step --on dgx-v100:1 --plan tp=8 --model Llama/3.1/8B",
        "experts --on p100:1",
    ],
)
def test_every_command_on_a_machine_says_last_what_the_model_of_it_leaves_out(command):
    words, named = (
        [word.replace("/", " ") for word in command.split()],
        re.search("(dgx-v100|p100|mi250x):", command)[1],
    )
    note = PRESETS[named].note if named in PRESETS else machines.find(f"{named}:1").note
    assert note
    result = CliRunner().invoke(cli, words)
    assert result.output.endswith(f"\nOf this machine, {note}.\n"), result.output
    assert json.loads(CliRunner().invoke(cli, [*words, "--json"]).output)["note"] == note
    plain = CliRunner().invoke(cli, [word.replace(named, "dgx-a100") for word in words])
    assert plain.exit_code == 0
    assert "Of this machine" not in plain.output


def test_machines_take_the_latencies_that_their_makers_state_and_else_those_of_nccl():
    """AWS: 1 to 2 us a hop in a box, 15 outside; Google's ICI: 1 us a hop."""
    stated = {"trn2": (1.5e-6, 15e-6), "tpu-v5p": (1e-6, 2.7e-6)}
    for name in PRESETS:
        assert find(f"{name}:2").speeds[0][:2] == pytest.approx(stated.get(name, (0.6e-6, 2.7e-6)))


def test_the_note_on_slices_of_another_size_names_the_speed_and_latency_of_the_links_of_this_one():
    named = re.search("torus:[^ ]* with (--alpha [^ ]* --bandwidth [^ ,]*)", PRESETS["tpu-v5p"].note)
    of_slice, of_torus = (
        json.loads(CliRunner().invoke(cli, ["run", "all-reduce", "dim-ring", "--on", on, *more, "--json"]).output)
        for on, more in (("tpu-v5p:1", []), ("torus:4x4x4", named[1].split()))
    )
    assert of_slice["time_s"] == of_torus["time_s"]


@pytest.mark.parametrize(("name", "gibibytes"), [("tpu-v5p", 95), ("trn2", 96), ("mi300x", 192), ("mi250x", 64)])
def test_memory_that_its_source_states_in_gibibytes_is_counted_in_bytes(name, gibibytes):
    assert PRESETS[name].memory == pytest.approx(gibibytes * 2**30, rel=1e-3)
