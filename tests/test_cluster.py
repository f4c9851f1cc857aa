"""Machines from cluster files, nvidia-smi and NCCL's topology file."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import pytest
from click.testing import CliRunner
from measured import logs

from colllib import cli
from colllib.forest import forest
from colllib.graphs.throughput import throughput
from colllib.measured.expected import expected
from colllib.measured.predict import predict
from colllib.topology import machines, presets
from colllib.topology.cluster import machine_on, preset_of, read_cluster, read_nccl_xml, read_smi, topology_of
from colllib.topology.expression import find
from colllib.topology.machines import find as find_machine

FILE = 'boxes = 2\ngpus = 4\ngpu = "a100"\ncards = 2\ncard = "200Gbit/s"\n'


def matrix(gpus, cell, near):
    """nvidia-smi's matrix of as many GPUs, each with a card of its own."""
    names = [*(f"GPU{k}" for k in range(gpus)), *(f"NIC{k}" for k in range(gpus))]
    lines = ["\t" + "\t".join(names) + "\tCPU Affinity\tNUMA Affinity"]
    for k, name in enumerate(names):
        cells = []
        for j in range(2 * gpus):
            same, both = k % gpus == j % gpus, k < gpus and j < gpus
            cells.append(" X " if k == j else cell if both else near if same else "SYS")
        lines.append(name + "\t" + "\t".join(cells) + "\t0-47\t0")
    return "\n".join([*lines, "", "Legend:", "  X    = Self", "NIC Legend:", "  NIC0: mlx5_0"])


@pytest.mark.parametrize(
    ("gpus", "cell", "gpu", "name"),
    [(8, "NV18", "", "H100"), (8, "NV12", "", "A100"), (4, "NV4", "", "A100"), (2, "SYS", "l4", "L4")],
)
def test_the_matrix_of_nvidia_smi_gives_gpus_links_and_cards(gpus, cell, gpu, name):
    box = read_smi(matrix(gpus, cell, "PIX"), gpu)
    assert (box.gpus, box.cards, box.name, box.far) == (gpus, gpus, name, 0)


def test_a_matrix_that_does_not_tell_its_gpu_asks_for_it():
    with pytest.raises(ValueError, match="0 NVLinks"):
        read_smi(matrix(2, "SYS", "PIX"))


DGX_1 = """\tGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tGPU6\tGPU7\tmlx5_0\tmlx5_2\tCPU Affinity
GPU0\t X \tNV1\tNV1\tNV2\tNV2\tSYS\tSYS\tSYS\tPIX\tSYS\t0-19,40-59
GPU1\tNV1\t X \tNV2\tNV1\tSYS\tNV2\tSYS\tSYS\tPIX\tSYS\t0-19,40-59
GPU2\tNV1\tNV2\t X \tNV2\tSYS\tSYS\tNV1\tSYS\tPHB\tSYS\t0-19,40-59
GPU3\tNV2\tNV1\tNV2\t X \tSYS\tSYS\tSYS\tNV1\tPHB\tSYS\t0-19,40-59
GPU4\tNV2\tSYS\tSYS\tSYS\t X \tNV1\tNV1\tNV2\tSYS\tPIX\t20-39,60-79
GPU5\tSYS\tNV2\tSYS\tSYS\tNV1\t X \tNV2\tNV1\tSYS\tPIX\t20-39,60-79
GPU6\tSYS\tSYS\tNV1\tSYS\tNV1\tNV2\t X \tNV2\tSYS\tPHB\t20-39,60-79
GPU7\tSYS\tSYS\tSYS\tNV1\tNV2\tNV1\tNV2\t X \tSYS\tPHB\t20-39,60-79
mlx5_0\tPIX\tPIX\tPHB\tPHB\tSYS\tSYS\tSYS\tSYS\t X \tSYS
mlx5_2\tSYS\tSYS\tSYS\tSYS\tPIX\tPIX\tPHB\tPHB\tSYS\t X
"""  # Source: tests/test_topologies.py of Microsoft's msccl-tools
ONCE = {frozenset(pair) for pair in ((0, 1), (0, 2), (1, 3), (2, 6), (3, 7), (4, 5), (4, 6), (5, 7))}
TWICE = {frozenset(pair) for pair in ((0, 3), (2, 3), (1, 2), (0, 4), (1, 5), (4, 7), (6, 7), (5, 6))}


def xml_of_a_dgx_1(tclass):
    """Its GPUs in NCCL's file, with links to each other or, of the class of a bridge, to switches."""
    gpus = ""
    for k in range(8):
        count = {j: (frozenset((j, k)) in ONCE) + 2 * (frozenset((j, k)) in TWICE) for j in range(8)}
        links = "".join(f'<nvlink target="{j}:0" count="{n}" tclass="{tclass}"/>' for j, n in count.items() if n)
        links = links if tclass == "0x030200" else f'<nvlink target="ff" count="6" tclass="{tclass}"/>'
        gpus += f'<pci busid="{k}:0"><gpu dev="{k}" sm="70">{links}</gpu></pci>'
    return f'<system version="1"><cpu>{gpus}<nic><net name="mlx5_0" dev="0" speed="100000"/></nic></cpu></system>'


@pytest.mark.parametrize("on", ["dgx-v100:1", "topo.txt", "topo.xml", "p100:1"])
def test_a_dgx_1_is_the_graph_of_its_links_for_schedules(on, tmp_path, monkeypatch):
    """By six links to 7/8 of M that each GPU lacks, and by 6 links for the 16 pairs across its halves; a P100 has 4."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "topo.txt").write_text(DGX_1)
    (tmp_path / "topo.xml").write_text(xml_of_a_dgx_1("0x030200"))
    topology, old = find(on), on == "p100:1"
    cables = [topology.tiers[tier].cables for tier in topology.tier]
    wires = dict(zip(zip(topology.link_src.tolist(), topology.link_dst.tolist(), strict=True), cables, strict=True))
    assert wires == {tuple(way): 1 for pair in ONCE for way in permutations(pair)} | {
        tuple(way): 1 if old else 2 for pair in TWICE for way in permutations(pair)
    }
    assert (topology.ranks, topology.switches, topology.speeds[1]) == (8, 0, (20e9 if old else 25e9,))
    assert throughput(topology) == Fraction(4 if old else 6, 16)
    gathered = forest(topology)
    assert gathered.reached()
    assert gathered.bound.inverse_throughput == Fraction(7, 80 if old else 150)
    sent = {(src, dst) for step in gathered.schedule().steps for src, dst in zip(step.src, step.dst, strict=True)}
    assert sent <= wires.keys()


@pytest.mark.parametrize(
    "box",
    [
        find_machine("dgx-v100:2"),
        find_machine("v100:1,gpus=4"),
        read_smi(matrix(8, "NV6", "PIX")),
        read_nccl_xml(xml_of_a_dgx_1("0x068000")),
        read_smi(DGX_1, "v100 pcie"),
    ],
)
def test_several_dgx_1_and_boxes_with_a_switch_or_without_links_are_boxes_with_a_port_for_each_gpu(box):
    assert topology_of(box).name.startswith("boxes:")
    assert bool(box.note) == (box.boxes == 2 or box.gpus == 4)
    assert find_machine("dgx-v100:1").reach() == 150e9


def test_links_that_do_not_join_all_gpus_are_no_graph_and_are_predicted():
    apart = "\n".join(
        [
            "GPU0 GPU1 GPU2 GPU3",
            *(
                f"GPU{a} " + " ".join("X" if a == b else "NV6" if a ^ b == 1 else "SYS" for b in range(4))
                for a in range(4)
            ),
        ]
    )
    box = read_smi(apart)
    assert (box.name, box.bonds) == ("V100", ())
    assert predict(box, "all-to-all", 2**20).seconds > 0


def test_cards_behind_the_processor_are_far():
    assert read_smi(matrix(4, "NV4", "NODE")).far == 4


def test_bridges_of_pairs_do_not_tell_the_gpu():
    pairs = (
        "    GPU0 GPU1 GPU2 GPU3\nGPU0 X NV12 SYS SYS\nGPU1 NV12 X SYS SYS\nGPU2 SYS SYS X NV12\nGPU3 SYS SYS NV12 X"
    )
    with pytest.raises(ValueError, match="12 NVLinks"):
        read_smi(pairs)
    assert not read_smi(pairs, "H100 PCIe").linked


def test_a_gpu_that_the_machine_has_not_is_refused(tmp_path):
    log = tmp_path / "log.txt"
    log.write_text(logs.text(300e9))
    for on, gpu, refused in (("dgx-h100:2", "a100", "has H100"), ("gh200:4", "GH200", "None")):
        result = CliRunner().invoke(cli.cli, ["diagnose", str(log), "--on", on, "--gpu", gpu])
        assert refused in str(result.exception)


@pytest.mark.parametrize("gpu", ["z900", "-h", "T" * 10_000])
def test_a_gpu_that_nobody_knows_is_refused_with_those_that_are_known(gpu, tmp_path, capsys):
    log = tmp_path / "log.txt"
    log.write_text(logs.text(300e9))
    with pytest.raises(SystemExit) as left:
        cli.main(["diagnose", str(log), "--gpu", gpu])
    error = capsys.readouterr().err
    assert left.value.code == 2
    assert len(error.splitlines()) == 1
    assert all(name in error for name in ("--gpu", "H100", "MI300X", "T4", "a cluster file (.toml)"))


@pytest.mark.parametrize("options", ["card=25GB/s,card=50GB/s", "cards=4,boxes=3,cards=4"])
def test_an_option_of_a_machine_is_given_once(options):
    last, name = options.rpartition(",")[2], options.partition("=")[0]
    with pytest.raises(ValueError, match=f"^machine option '{last}': {name} is given twice$"):
        machines.find(f"dgx-h100:2,{options}")


@pytest.mark.parametrize("expression", ["dgx-h100:2,", "dgx-h100:2,,cards=4", "dgx-h100:2,cards=4,"])
def test_an_option_of_a_machine_that_is_empty_is_refused(expression):
    with pytest.raises(ValueError, match=r"^machine option '': take boxes=2, "):
        machines.find(expression)


@pytest.mark.parametrize("gpu", machines.GPUS)
def test_a_gpu_that_is_named_as_known_is_known(gpu):
    assert machines.by_gpu(gpu).name.upper() == gpu.upper()


def test_the_matrix_counts_cards_near_a_gpu_and_leaves_a_management_port():
    text = "  GPU0 GPU1 NIC0 NIC1\nGPU0 X NV18 PIX SYS\nGPU1 NV18 X NODE SYS\nNIC0 PIX NODE X SYS\nNIC1 SYS SYS SYS X"
    assert (read_smi(text).cards, read_smi(text).far) == (1, 0)


def test_where_the_file_leaves_the_gpu_open_the_log_names_it(tmp_path):
    place, log = tmp_path / "topo.txt", tmp_path / "log.txt"
    log.write_text(logs.text(800e9, boxes=1, gpu="NVIDIA B200"))
    for cell in ("NV8", "NV18"):  # of no machine of the table, and of H100 as well as of B200
        place.write_text(matrix(8, cell, "PIX"))
        result = CliRunner().invoke(cli.cli, ["diagnose", str(log), "--on", str(place)])
        assert result.output.startswith("8 B200 at 799 GB/s busbw: normal for NVLink")


@pytest.mark.parametrize("change", [("NV18", "NV", 1), ("GPU3\t", "", 1), ("\tSYS", "", 3)])
def test_a_matrix_that_is_not_whole_is_refused(change):
    with pytest.raises(ValueError, match=r"nvidia-smi|matrix"):
        read_smi(matrix(8, "NV18", "PIX").replace(*change))


def system(gpus, cards, speed=400000, sm=90):
    inside = "".join(f'<pci busid="{k}"><gpu dev="{k}" sm="{sm}"><nvlink count="18"/></gpu></pci>' for k in range(gpus))
    nets = "".join(f'<nic><net name="mlx5_{k}" dev="{k}" speed="{speed}" gdr="1"/></nic>' for k in range(cards))
    port = '<nic><net name="eth0" dev="99" speed="1000" gdr="0"/></nic>'
    return f'<system version="1"><cpu numaid="0">{inside}{nets}{port}</cpu></system>'


@pytest.mark.parametrize(
    ("gpu_slot", "card_slot", "pcie", "card", "binding"),
    [
        ("32.0 GT/s PCIe x16", "32.0 GT/s PCIe x16", 63e9, 50e9, "network card"),
        ("32.0 GT/s PCIe x8", "32.0 GT/s PCIe x8", 31.5e9, 50e9, "PCIe"),
        ("16 GT/s x16", "16 GT/s x16", 31.5e9, 50e9, "PCIe"),
        ("32.0 GT/s PCIe x16", "32.0 GT/s PCIe x8", 63e9, 31.5e9, "network card"),
        ("5 GT/s x16", " x0", 8e9, 50e9, "PCIe"),  # 8 bits of 10
        (" x0", "Unknown x16", 63e9, 50e9, "network card"),  # of a virtual machine
    ],
)
def test_slots_that_nccl_s_file_calls_narrow_bind(gpu_slot, card_slot, pcie, card, binding):
    def slot(text):
        speed, _, lanes = text.rpartition(" x")
        return f'<pci link_speed="{speed}" link_width="{lanes}"'

    text = system(8, 8).replace('<pci busid="', f'{slot(gpu_slot)} busid="')
    machine = read_nccl_xml(text.replace("<nic>", f"{slot(card_slot)}><nic>").replace("</nic>", "</nic></pci>"))
    assert (machine.pcie, machine.card) == (pcie, card)
    assert expected(replace(machine, boxes=16), "all-gather").binding == binding


def test_a_gpu_whose_links_are_down_is_named():
    refused = "GPU 2 has {} NVLinks, the others 18: .* nvidia-smi nvlink -s"
    slower = "\n".join(
        line.replace("NV18", "NV17") if line.startswith("GPU2") else line
        for line in matrix(8, "NV18", "PIX").splitlines()
    )
    with pytest.raises(ValueError, match=refused.format(17)):
        read_smi(slower)
    with pytest.raises(ValueError, match=refused.format(0)):
        read_smi(slower.replace("NV17", "SYS"), "h100")
    gone = system(8, 8).replace('<gpu dev="2" sm="90"><nvlink count="18"/>', '<gpu dev="2" sm="90">')
    with pytest.raises(ValueError, match=refused.format(0)):
        read_nccl_xml(gone, "h100")


def test_a_card_whose_rate_stands_behind_the_matrix_bounds_what_is_predicted(tmp_path):
    """16 GPUs in 2 boxes with one card of 12.5 GB/s: 15/16 of the message over each, twice the cards' rate."""
    place = tmp_path / "topo.txt"
    place.write_text(matrix(8, "NV18", "SYS"))
    machine = machine_on(f"{place},boxes=2,cards=1,card=100Gb/s")
    assert expected(machine, "all-reduce").high == pytest.approx(15 / 16 * 2 * 12.5e9)
    assert expected(machine, "all-to-all").high == pytest.approx(12.5e9 / 8 * 15 / 8)


def test_nccl_s_file_gives_a_machine_without_its_management_port(tmp_path):
    place = tmp_path / "topo.xml"
    place.write_text(system(8, 4))
    machine = machine_on(str(place))
    assert (machine.name, machine.gpus, machine.cards, machine.card) == ("H100", 8, 4, 50e9)
    assert find(str(place)).speeds[1] == (450e9, 50e9)


def inside(sm, links, gpus=4, cards=1, host="0x1"):
    """A host of NCCL's file, each of whose GPUs has the same elements in it."""
    host_gpus = "".join(f'<pci busid="{k}"><gpu dev="{k}" sm="{sm}">{links}</gpu></pci>' for k in range(gpus))
    nets = "".join(f'<nic><net name="mlx5_{k}" dev="{k}" speed="400000"/></nic>' for k in range(cards))
    return f'<cpu host_hash="{host}">{host_gpus}{nets}</cpu>'


PEER, SWITCH = '<nvlink target="3" count="12" tclass="0x030200"/>', '<nvlink target="ff" count="18" tclass="0x068000"/>'


@pytest.mark.parametrize(
    ("hosts", "name", "gpus", "cards"),
    [
        (inside(80, PEER), "A100 PCIe", 4, 1),  # bridges of pairs, as Azure's NC A100 v4 has them
        (inside(90, "", gpus=8), "H100 PCIe", 8, 1),
        (inside(80, 3 * PEER), "A100", 4, 1),  # a board of four
        (inside(70, 4 * PEER, gpus=8), "V100", 8, 1),  # a cube: no links to three of the others
        (inside(103, SWITCH, gpus=8), "B300", 8, 1),
        (inside(90, "<c2c/>", gpus=1, cards=4), "GH200", 1, 4),
        ("".join(inside(100, SWITCH + "<c2c/>", cards=4, host=f"0x{k}") for k in range(18)), "GB200 NVL72", 72, 72),
    ],
)
def test_nccl_s_file_tells_bridges_from_switches_and_hosts_of_a_rack_from_one(hosts, name, gpus, cards):
    box = read_nccl_xml(f'<system version="1">{hosts}</system>')
    assert (box.name, box.gpus, box.cards) == (name, gpus, cards)


@pytest.mark.parametrize(("vendor", "processor"), [("AuthenticAMD", "amd"), ("GenuineIntel", "intel"), ("", "intel")])
def test_nccl_s_file_tells_the_processor(vendor, processor):
    assert read_nccl_xml(system(8, 4).replace("<cpu", f'<cpu vendor="{vendor}"')).processor == processor


def test_what_nvidia_smi_printed_is_a_topology(tmp_path):
    place = tmp_path / "topo.txt"
    place.write_text(matrix(8, "NV12", "PIX"))
    assert (find(str(place)).ranks, find(str(place)).speeds[1][0]) == (8, 300e9)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("<algo/>", "not with <system>"),
        ('<!DOCTYPE system SYSTEM "file:///etc/passwd"><system/>', "document type"),
        ("<system>&secret;</system>", "no XML"),
        ("<system/>", "without <gpu>"),
        (system(1, 1, speed="fast"), "no whole number"),
        (system(1, 1, speed="9" * 15), "speed = 999999999999999 must be 1 to 1,000,000,000"),
    ],
)
def test_xml_from_elsewhere_is_refused_in_one_line(text, why):
    with pytest.raises(ValueError, match=why):
        read_nccl_xml(text)


def test_a_cluster_file_is_a_topology_and_a_machine(tmp_path):
    place = tmp_path / "cluster.toml"
    place.write_text(FILE)
    topology = find(str(place))
    same = find("boxes:2x4,cards=2")
    assert (topology.ranks, topology.switches, topology.name) == (same.ranks, same.switches, same.name)
    assert topology.speeds[1] == (300e9, 25e9)
    result = CliRunner().invoke(cli.cli, ["predict", "all-gather", "--on", str(place), "--message", "1GB", "--json"])
    assert json.loads(result.output)["ranks"] == 8


@pytest.mark.parametrize("name", sorted(set(machines.PRESETS) & set(presets.PRESETS)))
def test_presets_of_topologies_and_of_predictions_are_the_same_boxes(name):
    machine, preset = machines.find(f"{name}:2"), presets.PRESETS[name]
    boxes, size = preset.expression(2).split(",")[0].removeprefix("boxes:").split("x")
    assert (machine.boxes, machine.gpus) == (int(boxes), int(size))


@pytest.mark.parametrize(
    ("name", "port", "card"),
    [
        ("dgx-a100", 300e9, 25e9),
        ("nvl72", 900e9, 50e9),
        ("mi300x", 64e9, 50e9),  # one of a GPU's seven links, which lead to one peer each
        ("mi250x", 50e9, 25e9),  # one of a die's three
        ("superpod", 900e9, 100e9),  # its topology's own: as a machine it is nvl72
    ],
)
def test_a_topology_has_the_rates_of_its_gpus_row_or_its_own(name, port, card):
    assert presets.PRESETS[name].bandwidth == (port, card)


def test_latencies_and_rails_of_a_file_are_those_of_its_schedules(tmp_path):
    file = tmp_path / "cluster.toml"
    file.write_text('boxes = 4\ngpus = 8\ngpu = "h100"\nrails = 8\nalpha = "1us, 5us"\n')
    topology = find(str(file))
    assert topology.name == "boxes:4x8,rails=8,inc=box"
    assert topology.speeds == ((1e-6, 5e-6, 5e-6), (450e9, 50e9, 50e9))
    with pytest.raises(ValueError, match="rails = 8: up to 32 boxes have one leaf for a rail"):
        machine_on(str(file))
    file.write_text(file.read_text().replace("rails = 8\n", ""))
    stated, usual = (
        predict(machine, "all-reduce", 1024) for machine in (machine_on(str(file)), machines.find("dgx-h100:4"))
    )
    assert stated == usual
    shown = CliRunner().invoke(cli.cli, ["predict", "all-reduce", "--on", str(file)]).output
    assert "latencies are for schedules (run, ladder, --best): these predictions take NCCL's" in shown


def test_oversubscription_takes_from_the_cards():
    assert read_cluster(FILE + "oversubscription = 2").network == read_cluster(FILE).network / 2


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("boxes = 2", "boxes = 0", "must be 1"),
        ("boxes = 2", "boxes = true", "whole number"),
        ("gpus = 4\n", "", "are needed"),
        ('"a100"', '"z9"', "not known"),
        ('"a100"', "7", "not known"),
        ("200Gbit/s", "200", "not readable"),
        ("cards = 2", 'without = "card 3"', "key 'without': known are gpu"),
        ("cards = 2", "kards = 2", "key 'kards': known are gpu, boxes, gpus, cards, card, link"),
        (FILE.partition("4\n")[2], 'link = "300GB/s"\n', "without gpu the cards are needed, too"),
        ("boxes = 2", "boxes = [", "cluster file"),
        ("cards = 2", "oversubscription = 0.5", "must be 1 to 1000"),
        ("cards = 2", 'oversubscription = "2:1"', "must be 1 to 1000, as 2 for 2 to 1"),
        ("cards = 2", 'oversubscription = "1/2"', "must be 1 to 1000"),
        ("cards = 2", 'alpha = "1us"', "a time in a box and one between boxes"),
        ("cards = 2", "rails = 0", "rails 0: must be 1"),
    ],
)
def test_a_cluster_file_that_is_wrong_is_refused_in_one_line(old, new, why):
    with pytest.raises(ValueError, match=why) as caught:
        read_cluster(FILE.replace(old, new))
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("cards", [1, 2, 16])
def test_the_slot_of_a_gpu_that_nobody_names_never_binds(cards):
    text = f'boxes = 2\ngpus = 2\nlink = "450GB/s"\ncards = {cards}\ncard = "400Gb/s"'
    machine = read_cluster(text)
    assert not machine.slots_bind
    assert machine.network == cards * 50e9


def test_a_file_that_is_not_there_is_refused():
    for name in ("nowhere.toml", "nowhere.xml", "nowhere.txt"):
        with pytest.raises(ValueError, match="not there"):
            machine_on(name)


def test_what_differs_stands_behind_a_file_as_behind_a_preset(tmp_path):
    (tmp_path / "a100.toml").write_text('boxes = 3\ngpus = 8\ngpu = "h100"\n')  # a name that is no machine's
    (tmp_path / "topo.txt").write_text("     GPU0 GPU1 NIC0\nGPU0  X   PHB PIX\nGPU1 PHB  X   SYS\nNIC0 PIX  SYS   X\n")
    two = machine_on(f"{tmp_path}/a100.toml,boxes=2")
    assert (two.name, two.ranks) == ("H100", 16)
    assert find(f"{tmp_path}/a100.toml,boxes=2,cards=4").ranks == 16
    assert "without card 3" in find(f"{tmp_path}/a100.toml,without=card 3").port_model
    four = machine_on(f"{tmp_path}/topo.txt,gpu=rtx4090,boxes=2,card=200Gb/s")
    assert (four.name, four.ranks, four.network) == ("RTX 4090", 4, 25e9)
    for options in ("gpu=h100", "boxes=2,gpu=h100,card=400Gb/s", "gpu=h100,without=card 0"):
        assert preset_of(f"{tmp_path}/topo.txt,{options}") is presets.PRESETS["dgx-h100"]
    assert preset_of(f"{tmp_path}/topo.txt") is None
    for options, why in (
        ("", "say it behind a comma, as in gpu=rtx4090"),
        (",gpu=foo", "GPU 'foo': known are"),
        (",gpu=rtx4090,boxes=2", "such boxes have no usual cards"),
        (",gpu=rtx4090,color=red", "machine option 'color=red'"),
        (
            ",gpu=rtx4090,rails=8",
            "rails = 8: up to 32 boxes have one leaf for a rail",
        ),
    ):
        with pytest.raises(ValueError, match=why):
            machine_on(f"{tmp_path}/topo.txt{options}")


@pytest.mark.parametrize("name", ["a100.typo", "a100-node.xm", "a/h100:2"])
def test_a_file_s_name_is_no_machine(name):
    with pytest.raises(ValueError, match=f"unknown machine '{name}'"):
        machines.find(name)


def test_a_gpu_that_a_file_does_not_name_has_as_many_links_as_the_one_with_most():
    gpus = "".join(f'<pci><gpu dev="{k}"><nvlink count="{count}"/></gpu></pci>' for k, count in enumerate((6, 18, 4)))
    with pytest.raises(ValueError, match=r"does not tell the GPU .* the others 18\)"):
        read_nccl_xml(f'<system version="1"><cpu>{gpus}</cpu></system>')


def test_a_topology_file_without_cards_has_those_of_its_part_of_a_box():
    gpus = "".join(f'<pci><gpu dev="{k}" sm="90"><nvlink count="18"/></gpu></pci>' for k in range(2))
    box = read_nccl_xml(f'<system version="1"><cpu>{gpus}</cpu></system>')
    assert (box.gpus, box.cards) == (2, 2)  # of 8 and 8
    assert topology_of(box).ranks == 2


@pytest.mark.parametrize(("on", "cards"), [("gh200:1,gpus=8", 8), ("gb10:2,gpus=2", 2), ("dgx-h100:2,gpus=16", 8)])
def test_a_module_brings_its_own_cards(on, cards):
    assert machines.find(on).cards == cards


def test_a_part_of_a_dgx_1_which_lacks_links_is_no_graph():
    rows = ("X NV1 NV2 SYS", "NV1 X SYS NV2", "NV2 SYS X NV1", "SYS NV2 NV1 X")
    box = read_smi("\n".join(["GPU0 GPU1 GPU2 GPU3", *(f"GPU{k} {row}" for k, row in enumerate(rows))]), "v100")
    assert (box.bonds, box.reach()) == ((), 150e9)
