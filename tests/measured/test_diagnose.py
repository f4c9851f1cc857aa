"""Verdicts: healthy, slow for a reason, no measurement, or undecided, and never a traceback."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from click.testing import CliRunner
from measured import logs
from measured.dialects import DIALECTS

from colllib import cli
from colllib.measured.causes import CAUSES, advice
from colllib.measured.diagnose import diagnose
from colllib.measured.expected import expected
from colllib.measured.infer import Hints, machine_of
from colllib.measured.log import Row, Run
from colllib.measured.predict import predict
from colllib.measured.read import read
from colllib.measured.sweeps import sweeps
from colllib.measured.write import write
from colllib.topology.machines import UNKNOWN, find

H100 = Hints(gpu="h100", boxes=2, gpus_per_box=8, cards=(8, 50e9))


@pytest.mark.parametrize(
    ("busbw", "shape", "hints", "state", "causes"),
    [
        (440e9, {}, H100, "healthy", {None, "nvls", "nic-limited"}),
        (475e9, {"boxes": 1}, Hints(), "healthy", {"nvls"}),
        (360e9, {"boxes": 1}, Hints(), "below-expectation", {"nvls"}),
        (190e9, {}, replace(H100, cards=(4, 50e9)), "healthy", {None, "nic-limited"}),
        (46e9, {}, H100, "below-expectation", {"single-nic"}),
        (10e9, {}, H100, "below-expectation", {"misconfiguration"}),
        (180e9, {}, H100, "below-expectation", {"no-gdr"}),
        (
            20e9,
            {"boxes": 1, "gpu": "NVIDIA A100-SXM4-80GB"},
            Hints(),
            "below-expectation",
            {"pcie-limited", "p2p-disabled"},
        ),
        (5e9, {"boxes": 1, "per_box": 2, "gpu": "NVIDIA L40S"}, Hints(), "below-expectation", {"p2p-disabled"}),
        (14e9, {"collective": "sendrecv", "boxes": 16}, Hints(cards=(8, 50e9)), "below-expectation", {"congestion"}),
        (900e9, {"boxes": 1, "gpu": "NVIDIA A100-SXM4-80GB"}, Hints(), "undecided", {None}),
    ],
)
def test_a_run_is_judged_by_what_its_wires_carry(busbw, shape, hints, state, causes):
    (run,) = read(logs.text(busbw, **shape))
    diagnosis = diagnose(run, hints)
    assert diagnosis.state == state, diagnosis.verdict
    assert {diagnosis.cause, *diagnosis.alternatives} & causes
    assert diagnosis.confidence < 0.8  # numbers alone are never sure
    if "the cards bind, as they should" in diagnosis.evidence:
        assert diagnosis.binding == "network card"


def test_a_run_faster_than_a_ring_over_its_cards_is_not_said_to_wait_for_them():
    shapes = ((440e9, 2), (370e9, 4))
    faster, ring = (diagnose(read(logs.text(rate, boxes=n))[0], replace(H100, boxes=n)) for rate, n in shapes)
    assert (faster.binding, ring.binding) == ("NVLS", "network card")
    assert "the cards bind, as they should" in ring.evidence
    assert "the cards bind, as they should" not in faster.evidence


def test_behind_narrow_links_up_the_spine_binds_and_not_the_cards():
    diagnosis = diagnose(read(logs.text(180e9, boxes=16))[0], Hints(machine=find("dgx-h100:16,oversubscription=2")))
    assert (diagnosis.state, diagnosis.binding) == ("healthy", "spine")
    assert "normal for the spine (" in diagnosis.verdict
    most = 8 * 50 / 2 * (2 * 127 / 128) / (2 * 15 / 16)  # 2 x 15/16 M leave a box
    assert f"to {most:.0f} GB/s)" in diagnosis.verdict
    narrow = "expected: 8 cards of 50 GB/s a box, and 1/2 of that on its way up"
    assert {narrow, "the spine binds, as it should"} <= set(diagnosis.evidence)


@pytest.mark.parametrize(
    ("narrow", "rate", "binding"), [(2, 50, "network card"), (8, 50, "network card"), (16, 25, "spine")]
)
def test_a_send_to_the_next_box_has_all_its_links_up_for_itself(narrow, rate, binding):
    machine = find(f"dgx-h100:16,oversubscription={narrow}")
    bound, alone = expected(machine, "sendrecv"), predict(machine, "sendrecv", 1e9)
    assert (round(bound.high / 1e9), bound.binding, alone.binding) == (rate, binding, binding)
    assert alone.bound == bound.high
    assert expected(machine, "all-to-all").binding == predict(machine, "all-to-all", 1e9).binding == "spine"


@pytest.mark.parametrize(("busbw", "is_one_card"), [(48e9, True), (24e9, False)])
def test_a_card_alone_is_not_slowed_by_a_spine_that_is_wide_enough_for_it(busbw, is_one_card):
    narrow = Hints(machine=find("dgx-h100:16,oversubscription=2"))  # whose links up carry what four cards do
    diagnosis = diagnose(read(logs.text(busbw, boxes=16))[0], narrow)
    assert (diagnosis.cause == "single-nic") == is_one_card
    assert ("busbw is that of one card of 8" in diagnosis.evidence) == is_one_card
    assert any("of the spine's rate, on a smooth curve" in words for words in diagnosis.evidence)


def test_what_the_log_says_in_words_outweighs_what_the_numbers_suggest():
    log = "NCCL_P2P_DISABLE=1\n" + logs.text(5e9, boxes=1, gpu="NVIDIA A100-SXM4-80GB")
    diagnosis = diagnose(read(log)[0])
    assert diagnosis.cause == "p2p-disabled"
    assert diagnosis.confidence >= 0.8


def test_separate_jobs_in_one_file_are_no_measurement():
    table = [line for line in logs.text(400e9).split("\n") if line[:1] == " "]
    doubled = "\n".join(line for line in table for _ in range(2))
    assert diagnose(read(doubled)[0]).state == "not-a-measurement"


def test_separate_jobs_whose_output_comes_in_blocks_are_no_measurement():
    first, second = (logs.text(busbw).split("\n") for busbw in (400e9, 200e9))
    blocks = [*first[:35], *second[:35], *first[35:], *second[35:]]
    assert diagnose(read("\n".join(blocks))[-1]).state == "not-a-measurement"


def test_a_slow_box_is_mended_by_its_links_and_a_slow_network_by_its_plugin():
    box = diagnose(logs.run(240e9, boxes=1))
    unknown = diagnose(replace(logs.run(70e9, boxes=1, gpu="Unheard-of"), facts={"NCCL_ALGO": "Ring"}))
    network = diagnose(logs.run(10e9), H100)
    assert box.cause == network.cause == "misconfiguration"
    assert box.next_test.startswith("nvidia-smi nvlink -s, then ")
    assert "fabricmanager" in box.remedy
    assert "NCCL_NVLS_ENABLE" in box.remedy
    for text in (box.verdict, box.next_test, box.remedy, unknown.verdict, unknown.remedy):
        assert not re.search(r"network|plugin|NCCL_IB|SOCKET", text)
    assert "plugin of the network" in network.remedy


@pytest.mark.parametrize(
    ("busbw", "boxes", "collective", "nvidia", "amd"),
    [
        (40e9, 1, "all-reduce", "nvidia-smi topo", "rocm-smi"),
        (110e9, 1, "all-reduce", "nvidia-smi nvlink|nvidia-fabric", "TransferBench|numa_balancing=0"),
        (19e9, 2, "all-to-all", "nvidia_peermem", "ib_peer_mem"),
    ],
)
def test_a_test_and_a_remedy_are_those_of_the_gpus_vendor_and_both_where_nobody_knows_it(
    busbw, boxes, collective, nvidia, amd
):
    runs = {gpu: logs.run(busbw, boxes=boxes, gpu=gpu, collective=collective) for gpu in ("NVIDIA H100", "MI300X", "?")}
    texts = {gpu: f"{one.next_test}; {one.remedy}" for gpu, one in ((gpu, diagnose(run)) for gpu, run in runs.items())}
    assert [bool(re.search(nvidia, texts[gpu])) for gpu in ("NVIDIA H100", "MI300X")] == [True, False]
    assert [bool(re.search(amd, texts[gpu])) for gpu in ("NVIDIA H100", "MI300X")] == [False, True]
    assert "AMD:" not in texts["NVIDIA H100"] + texts["MI300X"]
    by_hints = diagnose(runs["?"], Hints(machine=find(f"mi300x:{boxes}")))
    assert f"{by_hints.next_test}; {by_hints.remedy}" == texts["MI300X"]


def test_boxes_that_are_told_without_a_gpu_leave_the_vendor_that_the_log_names():
    machine = replace(UNKNOWN, link=448e9)
    for gpu, vendor in (("AMD Instinct MI300X", "amd"), ("NVIDIA H100", "nvidia")):
        assert diagnose(logs.run(110e9, boxes=1, gpu=gpu), Hints(machine=machine)).vendor == vendor


def test_every_advice_can_be_read_for_either_vendor():
    for cause, boxes, column in product(CAUSES, (1, 2), (1, 3)):
        assert all(part.count("(AMD: ") <= 1 for part in advice(cause, boxes)[column].split(";"))
        assert not any("AMD:" in advice(cause, boxes, vendor)[column] for vendor in ("nvidia", "amd"))


def test_where_nobody_knows_the_vendor_a_remedy_names_both_unless_rccl_ran():
    run = logs.run(2e9, boxes=1, per_box=4, gpu="")
    assert "(AMD: " in diagnose(run).next_test
    assert diagnose(replace(run, facts={"rccl": "RCCL"})).next_test.startswith("rocm")


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("NET/IB : Using " + " ".join(f"[{k}]mlx5_{k}:1/IB" for k in range(8)), "no-gdr"),
        ("a:1:1 [0] NCCL INFO Using network IB", "no-gdr"),
        ("a:1:1 [0] NCCL INFO NET/OFI Selected Provider is efa (found 32 nics)", "no-gdr"),
        ("a:1:1 [0] NCCL INFO NET/OFI Selected Provider is efa", "no-gdr"),
        ("a:1:1 [0] NCCL INFO Using network AWS Libfabric", "no-gdr"),
        ("a:1:1 [0] NCCL INFO NET/OFI Selected Provider is verbs (found 8 nics)", "no-gdr"),
        ("a:1:1 [0] NCCL INFO NET/OFI Selected Provider is verbs", "misconfiguration"),
        ("a:1:1 [0] NCCL INFO Using network Socket", "misconfiguration"),
        ("", "misconfiguration"),
    ],
)
def test_a_network_that_the_log_names_is_in_use_so_a_low_rate_has_another_cause(line, cause):
    (run,) = read(f"{line}\n{logs.text(19.7e9, gpu='NVIDIA H200')}")
    assert (diagnose(run).state, diagnose(run).cause) == ("below-expectation", cause)


@pytest.mark.parametrize("commas", [False, True])
@pytest.mark.parametrize(("times", "state"), [(1.0, "below-expectation"), (2.0, "undecided"), (0.5, "undecided")])
def test_a_busbw_that_size_and_time_contradict_is_said_and_not_judged(times, state, commas):
    run = logs.run(150e9, collective="all-gather")
    rows = [f"{row.message:.0f} {row.seconds * 1e6:.2f} {times * row.busbw / 1e9:.2f}" for row in run.rows[::2]]
    lines = [line.replace(" ", "," if commas else " ") for line in ("size time busbw", *rows)]
    header = "# Collective test starting: all_gather_perf\n# last rank 15, 2 hosts in all\n"
    (read_run,) = read(header + "\n".join(lines))
    diagnosis = diagnose(read_run, Hints(gpu="H100"))
    assert (diagnosis.state, "size over time" in diagnosis.verdict) == (state, times != 1)
    if times != 1:
        assert f"{15 / 16 * times:.3g} times size over time, as no all-gather of 16 ranks" in diagnosis.evidence[0]
        diagnosis = diagnose(read_run, Hints(gpu="H100", collective="all-gather"))
        assert diagnosis.state == "below-expectation"
        assert (
            f"busbw is {15 / 16 * times:.3g} times size over time in the log, and 0.938 times for all-gather"
            in diagnosis.evidence
        )
    failed = replace(read_run, rows=(replace(read_run.rows[0], wrong="7"), *read_run.rows[1:]))
    assert diagnose(failed, Hints(gpu="H100")).state == "not-a-measurement"


def test_equal_rates_are_no_all_reduce_of_more_than_two_ranks():
    (run,) = read("# size time algbw busbw\n 4294967296 95000 45.21 45.21\n 8589934592 189000 45.45 45.45\n")
    diagnosis = diagnose(run, Hints(machine=find("dgx-h100:2")))
    assert (diagnosis.state, diagnosis.next_test) == ("undecided", "tell --primitive")
    assert "busbw is 1 times size over time, as no all-reduce of 16 ranks prints it" in diagnosis.verdict
    sends = diagnose(run, Hints(machine=find("dgx-h100:2"), collective="sendrecv"))
    assert "45.4 GB/s busbw: normal" in sends.verdict
    assert "assumed: an all-reduce" in diagnose(run, Hints(gpu="H100", boxes=2, gpus_per_box=1)).evidence


def test_where_the_log_lists_all_cards_a_single_one_is_not_blamed_but_each_is_tested():
    lines = "NET/IB : Using " + " ".join(f"[{k}]mlx5_{k}:1/IB" for k in range(8)) + "\nvia NET/IB/0/GDRDMA\n"
    (run,) = read(lines + logs.text(48e9))
    for hints in (Hints(), H100):
        diagnosis = diagnose(run, hints)
        assert diagnosis.state == "below-expectation"
        assert "single-nic" not in (diagnosis.cause, *diagnosis.alternatives)
        assert "one slow card or link holds up the rest" in diagnosis.verdict
        assert "ib_write_bw for each card" in diagnosis.next_test
        assert "count the cards" not in diagnosis.next_test
    assert diagnose(replace(run, facts={}), H100).cause == "single-nic"


@pytest.mark.parametrize("collective", ["all-to-all", "sendrecv"])
@pytest.mark.parametrize("boxes", [1, 2])
def test_sends_are_tested_by_settings_that_act_on_sends(collective, boxes):
    busbw = 400e9 if boxes == 1 else 45e9 if collective == "sendrecv" else 76e9
    run = logs.run(busbw, boxes=boxes, collective=collective)
    test = diagnose(run, replace(H100, boxes=boxes)).next_test
    assert not re.search(r"NCCL_(ALGO|PROTO)", test)
    assert ("NCCL_NCHANNELS_PER_NET_PEER=4" in test) == (boxes == 2)


def test_what_nccl_did_not_run_is_not_tested_by_it():
    mpi = "# colllib mpi-bench: ring by Python, Open MPI v4.1.4, nranks 4, float32, 10 runs a size\n"
    neuron = "nccom-test -r 2 allr\nsize(B) count(elems) type time:avg(us) algbw(GB/s) busbw(GB/s)\n"
    runs = (
        read(mpi + logs.text(0.02e9, boxes=1, per_box=4, gpu=""))[0],
        read(neuron + "1000000000 250000000 fp32 200000 5.0 5.0\n")[0],
    )
    tests = [diagnose(run).next_test for run in runs]
    assert tests[0].startswith("osu_latency and osu_bw from one host to another")
    assert "NCCL" not in diagnose(runs[0], Hints(machine=find("dgx-h100:1,gpus=4"))).remedy
    assert tests[1].startswith("nccom-test -r 2 ")
    assert " allr" in tests[1]


def test_processes_that_are_all_rank_0_are_no_measurement_though_no_row_came():
    """What nccl-tests built without MPI prints of one process on each GPU."""
    line = "#  Rank  0 Group  0 Pid {} on node01 device  0 [0x1b] NVIDIA H100 80GB HBM3\n"
    diagnosis = diagnose(read("".join(map(line.format, range(12))))[0], H100)
    assert (diagnosis.state, diagnosis.cause) == ("not-a-measurement", "misconfiguration")
    assert diagnosis.verdict.startswith("This is no measurement: 12 processes are rank 0")
    for one_job in (line.format(1), line.format(1) + line.replace("Rank  0", "Rank  1").format(1)):
        assert diagnose(read(one_job)[0]).cause == "other"  # it hung, or crashed


def test_jobs_of_one_rank_are_no_measurement():
    rows = "\n".join(f"  {2**k}  {2**k // 4}  float  sum  -1  100.0  {2**k / 1e5:.2f}  0.00  0" for k in range(20, 30))
    diagnosis = diagnose(read(rows)[0])
    assert (diagnosis.state, diagnosis.cause) == ("not-a-measurement", "misconfiguration")


def test_a_run_that_scatters_over_several_boxes_is_not_healthy_however_fast_it_ends():
    run = logs.run(420e9)
    rough = tuple(replace(row, seconds=row.seconds * (4 if row.line % 2 else 1)) for row in run.rows)
    assert diagnose(replace(run, rows=rough), H100).state == "below-expectation"
    assert diagnose(run, H100).state == "healthy"


def test_a_slow_run_within_the_range_of_healthy_ones_is_not_called_below_it():
    run = replace(logs.run(5.5e9, boxes=8, per_box=4, gpu="GeForce RTX 2080 Ti"), facts={"network": "Socket"})
    diagnosis = diagnose(run)
    assert (diagnosis.state, diagnosis.bound.low < 5.5e9) == ("below-expectation", True)
    assert "5.5 GB/s busbw is not as it should be, though within the 4.72 to 15.8 GB/s" in diagnosis.verdict


def test_what_scatters_over_two_boxes_has_no_fabric_to_blame_and_over_eight_it_has():
    diagnoses = {}
    for boxes in (2, 3, 8):
        run = logs.run(300e9, boxes=boxes)
        rough = tuple(replace(row, seconds=row.seconds * (4 if row.line % 2 else 1)) for row in run.rows)
        diagnoses[boxes] = diagnose(replace(run, rows=rough), replace(H100, boxes=boxes))
    assert [each.cause for each in diagnoses.values()] == ["no-gdr", "no-gdr", "congestion"]
    assert diagnoses[2].confidence > diagnoses[3].confidence


def test_cards_of_slingshot_are_known_where_a_log_counts_them():
    words = "NET/OFI Selected provider is cxi, fabric is cxi (found 4 nics)\n"  # Perlmutter
    for busbw, state in ((69e9, "healthy"), (24e9, "below-expectation")):
        (run,) = read(words + logs.text(busbw, boxes=8, per_box=4, gpu=""))
        assert diagnose(run).state == state


@pytest.mark.parametrize(
    ("nics", "per_box", "cards"),
    [(4, 4, 4), (8, 4, 4), (4, 8, 4), (4, 2, 4)],
    ids=["cards", "domains", "tiles", "few"],
)
def test_domains_of_slingshot_beyond_the_ranks_of_a_box_are_no_cards(nics, per_box, cards):
    words = f"NET/OFI Selected Provider is cxi (found {nics} nics)\n"
    (run,) = read(words + logs.text(74e9, per_box=per_box, gpu="NVIDIA A100-SXM4-40GB"))
    assert machine_of(run, Hints())[0].cards == cards


def test_a_collapse_at_one_large_size_is_no_form_of_a_healthy_fabric():
    run = logs.run(105e9)
    slowed = tuple(replace(row, seconds=12 * row.seconds) if row.message == 2**27 else row for row in run.rows)
    diagnosis = diagnose(replace(run, rows=slowed), H100)
    assert (diagnosis.state, diagnosis.cause) == ("below-expectation", "no-gdr")


@pytest.mark.parametrize("later", [1.0, 0.7])
def test_a_collapse_is_slow_on_unknown_boxes_too_whatever_follows(later):
    """A larger message that takes less time is no reason to wait with the verdict where large ones scatter."""
    run = replace(logs.run(30e9, boxes=3, gpu=""), boxes=None, gpus_per_box=None)
    slower = {2**k: 10.0 for k in range(27, 34)} | {2**29: 10 * later, 2**31: 10 * later**2}
    rows = tuple(replace(row, seconds=slower.get(int(row.message), 1) * row.seconds) for row in run.rows)
    diagnosis = diagnose(replace(run, rows=rows))
    assert (diagnosis.state, diagnosis.form.erratic) == ("below-expectation", True)


def test_hosts_of_one_nvlink_domain_are_one_box():
    run = logs.run(836e9, boxes=18, per_box=4, gpu="NVIDIA GB200")  # coreweave/nccl-tests, pull request 43
    diagnosis = diagnose(run)
    assert diagnosis.verdict.startswith("72 GB200")
    assert (diagnosis.state, diagnosis.binding) == ("healthy", "NVLink")
    apart = logs.run(180e9, boxes=18, per_box=4, gpu="NVIDIA GB200")  # what the cards of a host carry
    assert diagnose(apart).state == "healthy"
    assert "the richest such boxes carry 400 GB/s" in diagnose(apart).evidence[0]
    assert "cards, not NVLink, join the hosts" in diagnose(apart).evidence  # as published such runs are meant
    unless = "if only cards join these hosts; in one NVLink domain 576 GB/s and more would be expected"
    assert unless in diagnose(apart).verdict
    assert diagnose(apart).confidence <= 0.5
    assert diagnose(apart).next_test.startswith("nvidia-smi -q | grep -A5 Fabric, then ")
    switched_off = diagnose(replace(apart, facts={"NCCL_MNNVL_ENABLE": "0"}))
    assert "NVLink domain" not in switched_off.verdict + diagnose(run).verdict
    assert diagnose(apart, Hints(boxes=18, gpus_per_box=4)).state == "healthy"
    assert diagnose(apart, Hints(machine=find("nvl72"))).state == "below-expectation"  # who tells it expects NVLink
    assert diagnose(logs.run(33e9, boxes=18, per_box=4, gpu="NVIDIA GB200")).state == "below-expectation"
    assert diagnose(replace(apart, facts={"via NET": "IB"})).state == "healthy"  # the log says what joins them
    four_cards = Hints(cards=(4, 50e9))  # who tells cards expects the run to be of them, unless it is faster
    assert [diagnose(each, four_cards).binding for each in (apart, run)] == ["network card", "NVLink"]
    assert diagnose(apart, four_cards).state == "healthy"


@pytest.mark.parametrize("hints", [Hints(), Hints(boxes=2, gpus_per_box=4)])
def test_hosts_of_a_part_of_an_nvlink_domain_have_the_richest_cards_of_their_gpus(hints):
    diagnosis = diagnose(logs.run(188e9, boxes=2, per_box=4, gpu="NVIDIA GB200"), hints)
    assert diagnosis.evidence[0] == "expected: 4 cards of 50 GB/s a box; the richest such boxes carry 400 GB/s"


def test_a_gpu_of_several_hosts_of_one_nvlink_domain_has_all_the_cards_that_are_told():
    run = logs.run(95e9, per_box=1, gpu="NVIDIA GB300", floor=0)  # of two cards of 50 GB/s
    states = [diagnose(run, Hints(cards=(cards, 50e9))).state for cards in (1, 2)]
    assert states == ["undecided", "healthy"]  # faster than one


@pytest.mark.parametrize(
    ("words", "busbw", "state"),
    [
        ("", 57e9, "below-expectation"),  # less than half of eight of 200 Gb/s
        ('mpirun -x FI_PROVIDER="efa"', 57e9, "healthy"),  # four of 100 Gb/s
        ("NCCL_IB_HCA=mlx5_0:1,mlx5_1:1", 57e9, "healthy"),
        ("NCCL_IB_HCA=^mlx5_0", 57e9, "below-expectation"),
        ("NET/OFI Selected Provider is tcp;ofi_rxm", 57e9, "below-expectation"),
        ("-x NCCL_FASTRAK_NUM_FLOWS=2", 57e9, "below-expectation"),  # eight of 200 Gb/s
        ("n1:1:1 [0] NCCL INFO Using network GPUDirectTCPX_v7", 85e9, "healthy"),  # four
    ],
)
def test_what_a_log_says_of_its_cards_is_what_it_is_judged_by(words, busbw, state):
    assert diagnose(read(words + "\n" + logs.text(busbw, gpu="NVIDIA A100-SXM4-40GB"))[0]).state == state


def test_numbers_alone_are_never_sure_however_many_agree():
    run = logs.run(46e9, boxes=40)
    hints = replace(H100, boxes=40)
    named = replace(run, facts={"NCCL_IB_HCA": "mlx5_0", "named cards": "1"})
    assert diagnose(named, hints).cause == "single-nic"
    assert diagnose(named, hints).confidence < 0.8


def test_small_messages_alone_decide_nothing():
    small = [2**k for k in range(10, 20)]
    assert diagnose(logs.run(400e9, sizes=small), H100).state == "undecided"
    over_untold_cards = logs.run(15e9, gpu="Tesla V100-SXM2-32GB", floor=1e-6, sizes=small)  # enough for one card
    assert diagnose(over_untold_cards).state == "undecided"
    assert diagnose(over_untold_cards, Hints(cards=(1, 12.5e9))).state == "healthy"


def test_boxes_of_fewer_gpus_than_usual_have_the_cards_of_their_part():
    for gpus in (1, 2, 4, 8):
        machine, _ = machine_of(logs.run(40e9, per_box=gpus), Hints())
        assert (machine.gpus, machine.cards) == (gpus, gpus)  # an H100's box has eight of both


def test_each_module_of_a_grace_hopper_brings_its_card():
    run = logs.run(18e9, boxes=4, per_box=4, gpu="GH200 120GB")  # four of 200 Gb/s are 100 GB/s, of which 68 arrive
    diagnosis = diagnose(run)
    assert (diagnosis.state, diagnosis.bound.low) == ("below-expectation", pytest.approx(68e9))
    assert "assumed: 4 x 200 Gb/s cards a box" in diagnosis.evidence
    assert diagnose(logs.run(90e9, boxes=4, per_box=4, gpu="GH200 120GB")).state == "healthy"
    alone = diagnose(logs.run(23e9, boxes=4, per_box=1, gpu="GH200 120GB"))
    assert "assumed: 1 x 200 Gb/s card a box" in alone.evidence
    assert "expected: 1 card of 25 GB/s a box; the richest such boxes carry 100 GB/s" in alone.evidence
    listed = "NET/IB : Using [0]mlx5_0:1/IB\n" + logs.text(18e9, boxes=4, per_box=4, gpu="GH200 120GB")
    assert "the library uses 1 of 4 cards" in diagnose(read(listed)[0]).evidence


@pytest.mark.parametrize(("boxes", "asked"), [(None, "--gpu and --boxes"), (4, "--gpu")])
def test_what_an_unknown_machine_is_asked_for_is_what_its_log_lacks(boxes, asked):
    run = replace(logs.run(189e9, boxes=4, gpu=""), ranks=None, boxes=boxes, gpus_per_box=None)
    assert f"; say {asked} to be sure." in diagnose(run).verdict


def test_an_unknown_gpu_that_is_named_is_slow_only_for_a_narrow_slot():
    """0.85 x 0.3 of 7.9 GB/s, which 4 lanes of PCIe 4.0 carry, are 2.0; of 16 lanes they are 8."""
    for busbw, state in ((4e9, "undecided"), (1.8e9, "below-expectation")):
        diagnosis = diagnose(logs.run(busbw, boxes=1, per_box=2, gpu="NVIDIA RTX A500"))
        assert diagnosis.state == state
        assert not any("PCIe slot's 63" in text for text in diagnosis.evidence)
    assert diagnose(logs.run(4e9, boxes=1, per_box=2, gpu="")).state == "below-expectation"


def test_the_next_test_is_started_over_as_many_ranks():
    assert "mpirun -np 16 " in diagnose(logs.run(46e9), H100).next_test


@pytest.mark.parametrize("collective", ["all-gather", "all-reduce"])
def test_a_nameless_table_whose_busbw_is_below_its_algbw_is_not_taken_for_an_all_reduce(collective):
    run = replace(logs.run(45e9, collective=collective), collective=None)
    diagnosis = diagnose(run, H100)
    assert ("assumed: an all-reduce" in diagnosis.evidence) == (collective == "all-reduce")
    if collective == "all-gather":
        assert (diagnosis.state, diagnosis.cause, diagnosis.next_test) == ("undecided", None, "tell --primitive")
        named = diagnose(run, replace(H100, collective=collective))
        assert named.form.measured == pytest.approx(45e9, rel=0.01)


def test_a_nameless_table_that_either_collective_leaves_undecided_asks_which_one_it_is():
    run = replace(logs.run(30e9, collective="all-gather", sizes=[2**20, 2**22], floor=0), collective=None)
    diagnosis = diagnose(run, H100)
    assert (diagnosis.state, diagnosis.next_test) == ("undecided", "tell --primitive")


def test_a_table_without_times_asks_for_one_with_times():
    assert diagnose(Run("columns", (Row(1, 2.0**30, None, 1e6, None),), "all-reduce", 8)).next_test == (
        "a table with times"
    )


def test_settings_reach_every_box_by_mpirun_and_one_box_needs_none():
    """Open MPI hands on to other hosts what -x names alone; nccl-tests without MPI takes the GPUs of one."""
    two = diagnose(logs.run(370e9), H100).next_test
    assert two.startswith("mpirun -np 16 -x NCCL_ALGO=Ring ./build/all_reduce_perf -b 1G -e 8G -f 2 -w 20 -g 1")
    assert two.endswith(", then one box alone")
    one = diagnose(logs.run(230e9, boxes=1), Hints(machine=find("dgx-a100:1"))).next_test
    assert one == "NCCL_ALGO=Ring ./build/all_reduce_perf -b 1G -e 8G -f 2 -w 20 -g 8"
    rack = diagnose(logs.run(800e9, boxes=1, per_box=72), Hints(machine=find("nvl72:1"))).next_test
    assert rack.startswith("mpirun -np 72 ")


def test_of_several_runs_in_a_log_those_of_as_many_boxes_are_judged(tmp_path):
    place = tmp_path / "log.txt"
    place.write_text(logs.text(475e9, boxes=1) + "\n" + logs.text(46e9, boxes=2))
    for boxes, ranks, state in (("1", "8 H100", "healthy"), ("2", "2 x 8 H100", "below-expectation")):
        words = ["diagnose", str(place), "--boxes", boxes, "--cards", "8x400Gb/s", "--json"]
        result = json.loads(CliRunner().invoke(cli.cli, words).output)
        assert (result["state"], result["runs"]) == (state, 2)
        assert result["verdict"].startswith(f"{ranks} at")


def test_boxes_of_a_machine_that_is_told_choose_the_run_as_their_number_does(tmp_path):
    place = tmp_path / "log.txt"
    place.write_text("| payload | 1 node | 4 nodes |\n| ---: | ---: | ---: |\n| 16GiB | 846GBps | 382GBps |\n")
    for boxes, verdict in ((1, "8 B200 at 846 GB/s"), (4, "4 x 8 B200 at 382 GB/s")):
        words = ["diagnose", str(place), "--on", f"b200:{boxes}", "--json"]
        result = json.loads(CliRunner().invoke(cli.cli, words).output)
        assert (result["state"], result["verdict"].split(" busbw")[0]) == ("healthy", verdict)


@pytest.mark.parametrize("turned", [1, -1])
def test_each_run_of_a_log_is_judged_by_the_gpu_that_it_prints_itself(turned, tmp_path):
    place = tmp_path / "log.txt"
    hopper, ampere = logs.text(475e9, boxes=1), logs.text(178e9, gpu="NVIDIA A100-SXM4-40GB")
    place.write_text("\n".join([hopper, ampere][::turned]))
    result = json.loads(CliRunner().invoke(cli.cli, ["diagnose", str(place), "--json"]).output)
    place.write_text(ampere)
    alone = json.loads(CliRunner().invoke(cli.cli, ["diagnose", str(place), "--json"]).output)
    assert [table["state"] for table in result["tables"]] == ["healthy", "healthy"]
    assert (result["verdict"], result["confidence"]) == (alone["verdict"], alone["confidence"])
    nameless = "\n".join(line for line in hopper.split("\n") if "Rank" not in line)
    place.write_text("\n".join([nameless, ampere][::turned]))
    result = json.loads(CliRunner().invoke(cli.cli, ["diagnose", str(place), "--json"]).output)
    assert result["verdict"].startswith("I cannot tell: 8 A100 at 475 GB/s busbw is faster than its wires")


def test_of_several_tables_the_verdict_says_which_it_is_of_and_what_the_others_show(tmp_path):
    place = tmp_path / "log.txt"
    place.write_text(gathered := logs.text(360e9, collective="all-gather"))
    lines = [*gathered.split("\n"), *(reduced := logs.text(180e9)).split("\n")]
    first = next(k for k, line in enumerate(lines, 1) if k > gathered.count("\n") + 1 and line[:1] == " ")
    place.write_text(gathered + "\n" + reduced)
    words = ["diagnose", str(place), "--cards", "8x400Gb/s"]
    table = f"all-reduce of 16 ranks from line {first}, one of 2; the other: all-gather of 16 ranks healthy"
    assert f"\n  table       {table}\n" in CliRunner().invoke(cli.cli, words).output
    place.write_text(reduced + "\n" + gathered)
    result = json.loads(CliRunner().invoke(cli.cli, [*words, "--json"]).output)
    assert [(table["primitive"], table["state"]) for table in result["tables"]] == [
        ("all-reduce", "below-expectation"),
        ("all-gather", "healthy"),
    ]
    assert (result["cause"], result["alternatives"]) == ("other", [])  # the cards are in order
    assert "nvlink" not in result["next_test"]
    place.write_text(logs.text(180e9) + "\n" + logs.text(360e9))  # as with other settings
    assert "\n  cause       no-gdr" in CliRunner().invoke(cli.cli, words).output
    place.write_text(logs.text(180e9))
    alone = CliRunner().invoke(cli.cli, words).output
    assert "\n  table " not in alone
    assert "\n  cause       no-gdr" in alone


def test_a_sweep_of_small_messages_does_not_hide_what_a_larger_one_shows(tmp_path):
    place = tmp_path / "log.txt"
    place.write_text(logs.text(475e9, boxes=1) + "\n" + logs.text(475e9, boxes=1, sizes=[2**k for k in range(10, 21)]))
    result = json.loads(CliRunner().invoke(cli.cli, ["diagnose", str(place), "--json"]).output)
    assert [table["state"] for table in result["tables"]] == ["healthy", "undecided"]
    assert result["state"] == "healthy"


def test_a_log_may_come_through_a_pipe():
    command = [sys.executable, "-m", "colllib", "diagnose", "-"]
    piped = subprocess.run(command, input=logs.text(475e9, boxes=1), capture_output=True, text=True, check=True)
    assert piped.stdout.startswith("8 H100 at 475 GB/s")


def test_a_gpu_that_the_log_names_more_exactly_is_the_one_of_the_log(tmp_path):
    place = tmp_path / "log.txt"
    place.write_text(logs.text(12e9, boxes=1).replace("NVIDIA H100 80GB HBM3", "Tesla V100-PCIE-16GB"))
    for gpu, name in (
        ("v100", "V100-PCIE-16GB"),
        ("v100-pcie", "V100-PCIE-16GB"),
        ("a100", "A100"),
        ("rtx-pro-6000", "RTX-PRO-6000"),
    ):
        words = CliRunner().invoke(cli.cli, ["diagnose", str(place), "--gpu", gpu]).output
        assert f"8 {name} at 12 GB/s" in words


def test_of_neuron_cores_no_slot_of_a_gpu_is_said():
    text = "nccom-test -r 2 allr\nsize(B) count(elems) type time:avg(us) algbw(GB/s) busbw(GB/s)\n"
    (run,) = read(text + "1000000000 250000000 fp32 200000 5.0 5.0\n")
    for hints in (Hints(), Hints(boxes=2, gpus_per_box=1, cards=(8, 12.5e9))):
        verdict = diagnose(run, hints)
        assert (verdict.state, verdict.bound) == ("undecided", None)


def test_a_machine_that_cannot_hold_the_ranks_is_refused_and_a_larger_one_noted():
    run = logs.run(400e9)
    with pytest.raises(ValueError, match="16 ranks"):
        diagnose(run, replace(H100, boxes=1))
    assert "the log shows 16 ranks of the 32 that are told" in diagnose(run, replace(H100, boxes=4)).evidence


@pytest.mark.parametrize(
    ("expression", "ranks", "part"),
    [("dgx-h100:4", 16, (8, 2, 8)), ("dgx-h100:2", 4, (4, 1, 4)), ("dgx-h100:2,cards=4", 2, (2, 1, 1)),
     ("dgx-h100:2,cards=2", 2, (2, 1, 1)), ("dgx-h100:2", 12, (8, 2, 8))],
)  # fmt: skip
def test_fewer_ranks_than_are_told_have_the_cards_next_to_them(expression, ranks, part):
    run = replace(logs.run(400e9), ranks=ranks, boxes=None, gpus_per_box=None)
    machine, _ = machine_of(run, Hints(machine=find(expression)))
    assert (machine.gpus, machine.boxes, machine.cards) == part


def test_a_log_that_says_sockets_is_slow_on_any_machine():
    log = "node01:1:1 [0] NCCL INFO Using network Socket\n" + logs.text(2e9, per_box=1, gpu="Unheard-of")
    diagnosis = diagnose(read(log)[0])
    assert (diagnosis.state, diagnosis.cause) == ("below-expectation", "misconfiguration")


@pytest.mark.parametrize(
    "setting",
    ["NCCL_NET_GDR_LEVEL=LOC", "NCCL_NET_GDR_LEVEL=0", "NCCL_NET_GDR_DISABLE=1", "FI_EFA_USE_DEVICE_RDMA=0"],
)
def test_each_setting_that_switches_gpudirect_off_is_enough(setting):
    for line, off in ((setting, True), (setting.partition("=")[0] + "=2", False)):
        (run,) = read(f"export {line}\n" + logs.text(180e9))
        assert ("the settings switch GPUDirect RDMA off" in diagnose(run, H100).evidence) == off


def test_halves_that_differ_are_named_and_the_half_out_of_place_counts():
    """8 GiB on 16 ranks: 15/8 of it in 358 ms are 45 GB/s, a tenth of that time in place."""
    out_of_place = logs.run(45e9)
    in_place = (replace(row, in_place=True, seconds=row.seconds / 10) for row in out_of_place.rows)
    diagnosis = diagnose(replace(out_of_place, rows=(*out_of_place.rows, *in_place)), H100)
    assert diagnosis.form.measured == pytest.approx(45e9, rel=0.01)
    assert any("in place 450 GB/s" in text for text in diagnosis.evidence)
    assert diagnosis.as_json()["in_place_busbw_GBps"] == pytest.approx(450, rel=0.01)
    alone = diagnose(out_of_place, H100)
    assert not any("in place" in text for text in alone.evidence)
    assert alone.as_json()["in_place_busbw_GBps"] == pytest.approx(45, rel=0.01)


@pytest.mark.parametrize(("floor", "late"), [(40e-6, False), (1e-3, True)])
def test_a_run_that_is_fast_at_its_end_and_late_at_its_start_is_not_called_normal_alone(floor, late):
    """Two boxes of H100 take some 34 us by the model."""
    diagnosis = diagnose(logs.run(450e9, floor=floor, sizes=[2**k for k in range(10, 35)]), H100)
    assert diagnosis.state == "healthy"
    assert ("Small messages are not" in diagnosis.verdict) == late
    assert any("the smallest message takes" in text for text in diagnosis.evidence) == late
    box = diagnose(logs.run(460e9, boxes=1, floor=floor, sizes=[2**k for k in range(10, 35)]))
    assert box.state == "healthy"
    assert (box.confidence <= 0.5, "-b 8 -e 16G" in box.next_test) == (late, late)


def test_what_is_told_against_the_log_is_said():
    run = logs.run(300e9, boxes=2, gpu="NVIDIA H100 80GB HBM3")
    against = diagnose(run, Hints(machine=find("dgx-a100:2")))
    assert against.evidence[0] == "the log names NVIDIA H100 80GB HBM3, and A100 is told"
    assert against.verdict.startswith("Mind that the log names NVIDIA H100 80GB HBM3, and A100 is told: 2 x 8 A100")
    assert not any("is told" in text for text in diagnose(run, Hints(machine=find("dgx-h100:2"))).evidence)
    gathered = diagnose(run, Hints(machine=find("dgx-h100:2"), collective="all-gather"))
    assert any("busbw is 1.88 times size over time in the log, and 0.938 times" in text for text in gathered.evidence)


def test_wrong_values_are_no_measurement():
    run = logs.run(400e9)
    diagnosis = diagnose(replace(run, rows=(replace(run.rows[0], wrong="7"), *run.rows[1:])), H100)
    assert diagnosis.state == "not-a-measurement"
    assert f"wrong values in 1 of {len(run.rows)} rows: 7 at 1 KiB" in diagnosis.evidence
    counted = logs.text(400e9).replace("Out of bounds values : 0 OK", "Out of bounds values : 24 FAILED")
    assert "24 in all values are wrong" in diagnose(read(counted)[0], H100).evidence  # nobody says of which size


def test_one_gpu_with_one_card_shares_nothing_and_has_no_card_unused():
    one = Hints(gpu="h100", boxes=2, gpus_per_box=1, cards=(1, 50e9))
    sent = [diagnose(logs.run(12e9, per_box=per_box, collective="sendrecv"), replace(one, gpus_per_box=per_box))
            for per_box in (1, 2)]  # fmt: skip
    assert [any("share" in text for text in diagnosis.evidence) for diagnosis in sent] == [False, True]
    reduced = diagnose(logs.run(16e9, per_box=1), one)
    assert reduced.state == "below-expectation"
    assert "some of the cards may not be in use" not in reduced.evidence
    healthy = diagnose(logs.run(48e9, per_box=1), one)
    assert healthy.state == "healthy"
    assert "single-nic" not in healthy.alternatives
    assert not healthy.next_test.endswith(", then one box alone")


@pytest.mark.parametrize(("dialect", "settings"), [("osu", "UCX_TLS"), ("nccl-tests", "NCCL_")])
def test_what_mpi_ran_is_tested_and_mended_by_mpi(dialect, settings):
    (run,) = read(logs.text(15e9, dialect))
    diagnosis = diagnose(run, H100)
    assert diagnosis.state == "below-expectation"
    assert ("osu_bw D D" in diagnosis.next_test) == (dialect == "osu")
    assert settings in diagnosis.remedy
    assert ("NCCL_" in diagnosis.remedy) == (dialect != "osu")
    through_osu = logs.text(15e9, dialect).replace("OSU MPI", "OSU NCCL")
    assert "all_reduce_perf" in diagnose(read(through_osu)[0], H100).next_test


def test_the_command_prints_the_keys_that_it_promises(tmp_path):
    place = tmp_path / "log.txt"
    place.write_text(logs.text(46e9))
    run = CliRunner().invoke(cli.cli, ["diagnose", str(place), "--cards", "8x400Gb/s", "--json"])
    result = json.loads(run.output)
    assert result["state"] == "below-expectation"
    assert result["cause"] == "single-nic"
    assert len(result["alternatives"]) <= 2
    assert result["measured_busbw_GBps"] == pytest.approx(46, rel=0.01)
    low, high = result["expected_busbw_GBps"]
    assert 46 < low < high
    assert result["fit_segments"][0]["first_bytes"] == 1024
    assert {"confidence", "binding", "next_test", "verdict", "evidence"} <= set(result)
    assert "NCCL_IB_HCA" in result["remedy"]
    words = CliRunner().invoke(cli.cli, ["diagnose", str(place), "--cards", "8x400Gb/s"]).output
    assert words.startswith("2 x 8 H100 at 46")
    assert f"\n  cause       single-nic, confidence {result['confidence']:.2f}; or " in words
    assert f"\n  remedy      {result['remedy']}" in words
    assert diagnose(logs.run(400e9), H100).remedy == ""  # nothing to mend


@pytest.mark.parametrize(("busbw", "state"), [(46e9, "below-expectation"), (440e9, "healthy"), (350e9, "undecided")])
def test_the_confidence_is_printed_beside_what_it_is_of(tmp_path, busbw, state):
    place = tmp_path / "log.txt"
    place.write_text(logs.text(busbw))
    output = CliRunner().invoke(cli.cli, ["diagnose", str(place), "--cards", "8x400Gb/s"]).output
    [line] = [line for line in output.splitlines() if ", confidence 0." in line]
    assert f"\n  state       {state}" in output
    assert line.startswith("  cause " if state == "below-expectation" else f"  state       {state},")


@pytest.mark.parametrize(
    ("collective", "program"),
    [("all-reduce", "all_reduce_perf"), ("all-gather", "all_gather_perf"), ("all-to-all", "alltoall_perf")],
)
def test_the_next_test_is_of_the_collective_that_was_slow(collective, program):
    assert f"./build/{program} -b" in diagnose(logs.run(3e9, collective=collective), H100).next_test


def test_a_slow_run_for_which_several_causes_speak_is_no_surer_than_the_first_of_them():
    """0.35, and half of the first cause's share of the weights, which is below a half."""
    diagnosis = diagnose(logs.run(10e9), H100)
    assert len(diagnosis.alternatives) == 2
    assert diagnosis.confidence < 0.35 + 0.5 / 2


def test_latencies_of_a_long_ring_are_held_against_the_largest_message_by_hand():
    """2 x (896 x 3.4 + 127 x 14) us = 9.65 ms of steps, and 2 x 64 MiB at 20 GB/s are 6.71 ms."""
    run = logs.run(20e9, boxes=128, floor=0, sizes=[2**26])
    diagnosis = diagnose(run, replace(H100, boxes=128))
    assert diagnosis.cause == "latency-bound"
    assert any("over 1024 ranks are 1.4 times the time of the largest message" in text for text in diagnosis.evidence)


@pytest.mark.parametrize(("busbw", "floor", "latency"), [(17e9, 0.0, False), (35e9, 29e-3, True)])
def test_a_time_proportional_to_the_size_is_not_latency_however_long_the_ring(busbw, floor, latency):
    """2 x (1800 x 3.4 + 599 x 14) us = 29 ms of steps, a quarter of what 1 GiB takes at 17 GB/s without any of them."""
    made = logs.run(
        busbw, boxes=600, per_box=4, gpu="NVIDIA A100-SXM4-40GB", floor=floor, sizes=[2**k for k in range(20, 31)]
    )
    (run,) = read(write(made))
    diagnosis = diagnose(run, Hints(cards=(2, 25e9)))
    assert (diagnosis.cause == "latency-bound", diagnosis.binding == "latency") == (latency, latency)
    assert any("latencies over 2400 ranks" in text for text in diagnosis.evidence) == latency
    assert diagnosis.state == ("undecided" if latency else "below-expectation")


@pytest.mark.parametrize(("floor", "state"), [(0.0, "below-expectation"), (60e-6, "undecided")])
def test_a_box_whose_largest_message_still_waits_for_a_latency_may_be_fast_enough(floor, state):
    """1.75 x 32 MiB take 367 us at 160 GB/s, and 309 us and the 60 us of latency at 190 GB/s."""
    made = logs.run(
        190e9 if floor else 160e9,
        boxes=1,
        gpu="NVIDIA A100-SXM4-80GB",
        floor=floor,
        sizes=[2**k for k in range(20, 26)],
    )
    (run,) = read(write(made))
    assert diagnose(run).form.measured == pytest.approx(160e9, rel=0.01)
    assert diagnose(run).state == state


def test_a_message_that_is_too_small_for_its_ranks_is_not_called_slow_by_hand():
    """Steps of 2 x (1420 x 3.4 + 19 x 14) us = 10.2 ms of 24.9; the other 14.7 ms are 586 of at least 576 GB/s."""
    run = logs.run(346e9, boxes=20, per_box=72, floor=0, sizes=[2**32])
    diagnosis = diagnose(run, Hints(gpu="GB200", boxes=20, gpus_per_box=72, cards=(72, 50e9)))
    assert (diagnosis.state, diagnosis.cause) == ("undecided", "latency-bound")
    assert "too little for its ranks" in diagnosis.verdict
    slow = diagnose(logs.run(150e9, boxes=20, per_box=72, floor=0, sizes=[2**32]), Hints(gpu="GB200", boxes=20))
    assert slow.state == "below-expectation"


def test_the_cards_of_a_grace_are_not_behind_a_slot_of_the_gpu():
    """Four of 200 Gb/s are 100 GB/s, more than the 63 of a slot: 96 are what NVIDIA/nccl/issues/1579 measured."""
    run = logs.run(96e9, boxes=2, per_box=1, floor=0, sizes=[2**31])
    diagnosis = diagnose(run, Hints(gpu="GH200", boxes=2, gpus_per_box=1, cards=(4, 25e9)))
    assert (diagnosis.state, diagnosis.binding, diagnosis.bound.high) == ("healthy", "network card", 100e9)
    assert diagnose(run, Hints(gpu="H100", boxes=2, gpus_per_box=1, cards=(4, 25e9))).state == "undecided"


def test_what_two_sizes_leave_open_is_a_question_mark(tmp_path):
    place = tmp_path / "log.txt"
    place.write_text(logs.text(300e9, sizes=[2**20, 2**30]))
    printed = CliRunner().invoke(cli.cli, ["diagnose", str(place), "--cards", "8x400Gb/s"]).output
    assert " to ?" in printed
    assert "inf" not in printed


def mutants(count):
    draws = np.random.default_rng(12)
    bases = [
        logs.text(busbw, dialect, prefix, boxes=boxes)
        for busbw, boxes in ((440e9, 2), (40e9, 2), (470e9, 1), (8e9, 1))
        for dialect in DIALECTS
        for prefix in ("", "[1,0]<stdout>:")
    ]
    for k in range(count):
        base = bases[k % len(bases)]
        yield base, logs.mutated(base, draws)


def test_a_thousand_mutated_logs_are_read_and_a_hundred_diagnosed_without_a_confident_wrong_answer():
    read_in_full = diagnosed = 0
    states = {}
    for k, (base, text) in enumerate(mutants(1000)):
        try:
            runs = read(text)
        except ValueError as error:
            assert len(str(error).splitlines()) == 1  # noqa: PT017
            continue
        read_in_full += 1
        if k % 10:
            continue
        diagnosed += 1
        if base not in states:
            states[base] = diagnose(read(base)[0]).state
        for run in runs:
            diagnosis = diagnose(run)
            assert diagnosis.cause is None or diagnosis.cause in CAUSES
            assert diagnosis.state == states[base] or diagnosis.confidence < 0.8
            json.dumps(diagnosis.as_json(), allow_nan=False)
    assert read_in_full > 800
    assert diagnosed > 80


def test_no_healthy_sweep_falls_by_more_than_6_percent_between_large_sizes():
    """What the chapter says of the shape that a run without GPUDirect RDMA has."""
    falls = {True: [], False: []}
    for sweep in sweeps():
        rows = [row for row in sweep.run.rows if row.busbw and row.message >= 2**24]
        steps = [later.busbw / row.busbw for row, later in pairwise(rows) if later.message > row.message]
        falls[sweep.state == "healthy"] += steps
    assert len(falls[True]) > 50
    assert 0.94 < min(falls[True]) < 0.95  # four boxes of A100, at 128 MiB
    assert min(falls[False]) < 0.1


def test_published_sweeps_are_judged_as_those_who_know_them_judged():
    judged = [sweep for sweep in sweeps() if sweep.state != "undecided" and sweep.machine is not None]
    verdicts = [(sweep, diagnose(sweep.run, Hints(machine=sweep.machine))) for sweep in judged]
    right = sum(verdict.state == sweep.state for sweep, verdict in verdicts)
    wrong = sum(verdict.state not in (sweep.state, "undecided") for sweep, verdict in verdicts)
    faulty = [(sweep, verdict) for sweep, verdict in verdicts if sweep.state == "below-expectation"]
    named = sum(sweep.cause in (verdict.cause, *verdict.alternatives) for sweep, verdict in faulty)
    assert len(judged) >= 20
    assert right >= 0.95 * len(judged)
    assert not wrong
    assert named >= 0.85 * len(faulty)


@pytest.mark.parametrize(
    "words",
    [
        ["diagnose", "nowhere.txt"],
        ["diagnose", "{log}", "--on", "dgx-h100:1"],
        ["diagnose", "{log}", "--cards", "many"],
        ["diagnose", "{log}", "--boxes", "-1"],
        ["diagnose", "{log}", "--primitive", "sort"],
        ["predict", "sort", "--on", "dgx-h100:2"],
        ["predict", "all-reduce", "--on", "dgx-h100:1,gpus=1"],
        ["predict", "all-reduce", "--on", "dgx-h100:2", "--message", "0B"],
        ["export", "broadcast", "chain", "--on", "ring:4"],
    ],
)
def test_bad_input_ends_with_status_2_and_one_line(words, tmp_path, capsys):
    place = tmp_path / "log.txt"
    place.write_text(logs.text(400e9))
    with pytest.raises(SystemExit) as ended:
        cli.main([word.format(log=place) for word in words])
    out, err = capsys.readouterr()
    assert (ended.value.code, out) == (2, "")
    assert err.startswith("colllib: ")
    assert len(err.splitlines()) == 1


def test_what_the_log_says_counts_against_a_run_that_looks_healthy():
    copied = "n1:1:1 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0\n"
    (run,) = read(copied + logs.text(9.4e9, per_box=1, gpu="NVIDIA H100 PCIe"))
    for hints in ({}, {"cards": (1, 12.5e9)}):
        diagnosis = diagnose(run, Hints(**hints))
        assert (diagnosis.state, diagnosis.cause) == ("below-expectation", "no-gdr")
    near = diagnose(read(copied + logs.text(11e9, per_box=1, gpu="NVIDIA H100 PCIe"))[0], Hints(cards=(1, 12.5e9)))
    assert (near.state, near.cause) == ("healthy", None)
    assert "no-gdr" in near.alternatives
    assert near.confidence <= 0.5


def test_no_fault_is_the_cause_of_a_healthy_run():
    # of a ring over all cards, or of NVLSTree over part of them
    diagnosis = diagnose(logs.run(400e9, gpu="NVIDIA B200"))
    assert (diagnosis.state, diagnosis.cause) == ("healthy", None)
    assert "misconfiguration" in diagnosis.alternatives


@pytest.mark.parametrize(
    ("name", "slower"), [("", "healthy"), ("AMD Radeon Graphics", "undecided"), ("NVIDIA Graphics Device", "undecided")]
)
def test_a_box_of_unknown_gpus_is_healthy_where_it_is_faster_than_pcie_and_a_nameless_one_as_fast(name, slower):
    for busbw, state in ((50e9, slower), (320e9, "healthy")):
        diagnosis = diagnose(logs.run(busbw, boxes=1, gpu=name))
        assert (diagnosis.state, diagnosis.bound) == (state, None)


def test_a_box_that_ran_rccl_tests_has_gpus_of_amd_and_no_switch_that_adds():
    run = logs.run(320e9, boxes=1, gpu="AMD Radeon Graphics")
    amd = diagnose(replace(run, facts={"rccl": "rccl-tests"}))
    assert "healthy for MI300X, but too little for a box of MI350X (343 to 536); say --gpu" in amd.verdict
    assert (amd.alternatives, diagnose(run).alternatives) == ((), ("nvls",))


@pytest.mark.parametrize(("name", "known"), [("gfx90a", "MI250X"), ("gfx942", "MI300X"), ("gfx950", "MI350X")])
def test_a_gpu_of_amd_by_the_name_of_its_instructions_is_the_one_that_has_them(name, known):
    one, other = (diagnose(logs.run(320e9, boxes=1, gpu=gpu)) for gpu in (name, f"AMD Instinct {known}"))
    assert (one.state, one.bound) == (other.state, other.bound)


def test_a_box_of_unknown_gpus_is_healthy_for_some_and_slow_for_others_and_the_verdict_says_for_whom():
    """0.64 of 150 or 900 GB/s of links is 96 or 576, and nine of ten published runs of others reach 199 and 444."""
    eight = {busbw: diagnose(logs.run(busbw, boxes=1, gpu="")) for busbw in (80e9, 105e9, 235e9, 320e9)}
    assert eight[80e9].state == "undecided"  # more than PCIe, and too little for all of them
    for busbw, fits, others in ((105e9, "V100", "A100 (199 to 300), H100 (444 to 504)"), (235e9, "A100", "H100 (444")):
        assert f": healthy for {fits}, but too little for a box of {others}" in eight[busbw].verdict
    assert "too little for a box of H100 (444 to 504), B200 (576 to 1008); say --gpu" in eight[320e9].verdict
    untold = replace(logs.run(80e9, boxes=1, gpu=""), boxes=None, gpus_per_box=None)
    assert diagnose(untold).state == "healthy"  # as two boxes of four GPUs
    slots = diagnose(logs.run(50e9, boxes=1, gpu=""))
    assert (slots.state, "too little for a box of V100 (96 to 150), A100" in slots.verdict) == ("healthy", True)
    assert "healthy for" not in diagnose(logs.run(450e9, gpu="")).verdict  # over two boxes


@pytest.mark.parametrize(
    ("busbw", "ranks", "state"),
    [
        (12e9, 2, "undecided"),  # one GPU's card of 100 Gb/s, or a slower one of 200
        (15e9, 2, "below-expectation"),  # neither
        (22e9, 2, "healthy"),  # one GPU's card of 200 Gb/s
        (24.9e9, 2, "undecided"),  # more than such a card carries beside its headers
        (30e9, 2, "undecided"),
        (45e9, 2, "healthy"),  # one of 400 Gb/s
        (2.6e9, 2, "below-expectation"),
        (3e9, 2, "undecided"),  # one GPU's card of 25 Gb/s, or a faster one over sockets
        (3e9, 4, "below-expectation"),
        (21e9, 6, "healthy"),  # 0.3 of a slot of PCIe 5.0
        (12e9, 6, "undecided"),
        (5e9, 8, "below-expectation"),
        (104e9, 16, "below-expectation"),  # no ring over 100 GB/s of cards, no tree, and no half of 200
        (120e9, 16, "undecided"),  # a tree adds as much over two boxes
        (120e9, 64, "below-expectation"),
        (90e9, 64, "undecided"),
        (160e9, 64, "undecided"),
        (240e9, 64, "undecided"),
    ],
)
def test_a_table_alone_is_judged_where_no_usual_machine_leaves_a_doubt(busbw, ranks, state):
    diagnosis = diagnose(replace(logs.run(busbw, boxes=1, per_box=ranks, gpu=""), boxes=None, gpus_per_box=None))
    assert (diagnosis.state, diagnosis.bound) == (state, None)
    assert diagnosis.confidence <= 0.5
    assert (diagnosis.cause is None) == (state == "healthy")


@pytest.mark.parametrize(
    ("busbw", "state"),
    [(5.84e9, "below-expectation"), (15e9, "below-expectation"), (24e9, "healthy"), (45e9, "healthy")],
)
def test_sends_are_judged_by_the_one_card_of_a_gpu_however_many_ranks_there_are(busbw, state):
    run = logs.run(busbw, collective="sendrecv", gpu="")  # whose busbw is the same for 2 ranks and for 16
    assert diagnose(replace(run, ranks=None, boxes=None, gpus_per_box=None)).state == state


@pytest.mark.parametrize(
    ("busbw", "boxes", "gpu", "state"),
    [
        (350e9, 1, "", "healthy"),
        (350e9, 2, "NVIDIA H100 80GB HBM3", "healthy"),  # which no all-to-all reaches
        (80e9, 2, "NVIDIA H100 80GB HBM3", "undecided"),  # fast for an all-to-all, slow for the others
        (20e9, 2, "NVIDIA H100 80GB HBM3", "below-expectation"),
    ],
)
def test_a_collective_that_nobody_names_is_judged_where_all_that_it_may_be_agree(busbw, boxes, gpu, state):
    run = replace(logs.run(busbw, boxes=boxes, collective="all-gather", gpu=gpu), collective=None)
    diagnosis = diagnose(run)
    assert diagnosis.state == state
    assert ("assumed: an all-gather" in diagnosis.evidence) == (state != "undecided")


@pytest.mark.parametrize(
    ("rate", "last", "state"),
    [
        (23e3, 2**22, "healthy"),
        (15e3, 2**22, "below-expectation"),
        (5e3, 2**22, "below-expectation"),
        (23e3, 2**16, "undecided"),
    ],
)
def test_the_messages_of_a_bandwidth_test_of_osu_are_many_at_once_so_4_mib_are_large(rate, last, state):
    sizes = [2**k for k in range(10, last.bit_length())]
    rows = "".join(f"{size} {rate * size / (size + 2**12):.2f}\n" for size in sizes)
    table = "# OSU MPI-CUDA Bandwidth Test v7.5\n# Size      Bandwidth (MB/s)\n" + rows
    assert diagnose(read(table)[0]).state == state
    host = diagnose(read(table.replace("-CUDA", ""))[0])  # of hosts' memory nothing is known but what is fast enough
    assert host.state == ("healthy" if state == "healthy" else "undecided")
    assert not {"no-gdr", "p2p-disabled"} & {host.cause, *host.alternatives}
    both = table.replace("# Size", "# Send Buffer on HOST (H) and Receive Buffer on HOST (H)\n# Size")
    assert diagnose(read(both)[0]).state == host.state


@pytest.mark.parametrize(("micros", "state"), [(404.02, "below-expectation"), (35.83, "undecided")])
@pytest.mark.parametrize("hints", [Hints(), Hints(gpu="h100", boxes=2, gpus_per_box=1)], ids=["alone", "told"])
def test_a_pair_that_waits_longer_than_over_any_network_is_slow_though_its_messages_are_small(micros, state, hints):
    rows = "".join(f"{2**k}  {micros + 2**k / 2e4:.2f}\n" for k in range(13))
    (run,) = read("# OSU MPI Latency Test v7.5\n# Size  Avg Latency(us)\n" + rows)
    assert diagnose(run, hints).state == state


def test_two_v100_with_links_that_reach_no_more_than_pcie_are_not_called_healthy():
    for busbw, state in ((13.3e9, "undecided"), (22e9, "healthy")):
        run = logs.run(busbw, boxes=1, per_box=2, gpu="Tesla V100-SXM2-32GB", collective="sendrecv")
        assert diagnose(run).state == state


def test_two_ranks_that_fill_a_card_of_25_gb_per_second_are_asked_for_their_cards():
    run = replace(logs.run(3e9, per_box=1, gpu=""), boxes=None, gpus_per_box=None)
    diagnosis = diagnose(run)
    assert diagnosis.verdict.startswith("I cannot tell: 3 GB/s is what one card of 25 Gb/s gives")
    assert diagnosis.cause == "single-nic"
    assert not any("%" in text for text in diagnosis.evidence)  # of cards that nobody told
    sockets = replace(run, facts={"network": "Socket"})
    assert (diagnose(sockets).state, diagnose(sockets).cause) == ("below-expectation", "misconfiguration")
    assert diagnose(run, Hints(boxes=2, gpus_per_box=1, cards=(1, 3.125e9))).state == "healthy"


@pytest.mark.parametrize(("busbw", "state"), [(12.37e9, "undecided"), (9e9, "below-expectation")])
def test_copies_through_host_memory_do_not_explain_a_card_that_is_filled(busbw, state):
    # notes on two g7e.8xlarge over EFA, each one GPU and 100 Gb/s, whose log says GDR 0
    run = replace(logs.run(busbw, per_box=1, gpu=""), facts={"no rdma": "GDR 0"})
    diagnosis = diagnose(run)
    assert (diagnosis.state, diagnosis.cause) == (state, "no-gdr")
    assert ("one card of 100 Gb/s" in diagnosis.verdict) == (state == "undecided")


def test_one_gpu_of_a_rack_may_have_a_card_of_half_the_rate():
    bound = diagnose(logs.run(50e9, per_box=1, gpu="NVIDIA GB300"), Hints(gpus_per_box=1, boxes=2)).bound
    assert bound is not None
    assert bound.gap[0] < 56e9 < bound.gap[1]  # one of 400 Gb/s does not give it, one of 800 gives more
    assert bound.low < 45e9


def test_without_ranks_the_printed_busbw_counts():
    run = replace(logs.run(100e9, boxes=4, gpu=""), ranks=None, boxes=None, gpus_per_box=None)
    assert diagnose(run).form.measured == run.rows[-1].busbw


def test_a_verdict_of_health_ends_with_what_makes_the_run_so_fast():
    assert diagnose(logs.run(475e9, boxes=1)).verdict.endswith("; the switch adds (NVLS).")


def test_a_gpu_is_called_by_its_own_name():
    assert diagnose(logs.run(14e9, boxes=1, gpu="NVIDIA GeForce RTX 4090")).verdict.startswith("8 RTX 4090 at")


@pytest.mark.parametrize(
    ("gpu", "busbw", "state"),
    [
        ("NVIDIA A100-SXM4-80GB", 86e9, "healthy"),  # four cards of 200 Gb/s, as often as eight
        ("NVIDIA A100-SXM4-80GB", 60e9, "undecided"),
        ("NVIDIA A100-SXM4-80GB", 40e9, "below-expectation"),
        ("NVIDIA H100 80GB HBM3", 155e9, "below-expectation"),  # boxes of eight have 8 x 400 Gb/s
        ("NVIDIA H100 80GB HBM3", 187e9, "undecided"),  # or, in a cloud, 8 x 200 Gb/s, which such a speed fills
        ("NVIDIA H100 80GB HBM3", 240e9, "undecided"),
        ("Tesla V100-SXM2-32GB", 12e9, "healthy"),  # one card of 100 Gb/s, as often as four
        ("Tesla V100-SXM2-32GB", 6e9, "below-expectation"),  # not even that
        ("Tesla V100-SXM2-32GB", 24e9, "healthy"),  # two, filled
        ("Tesla V100-SXM2-32GB", 27e9, "undecided"),  # more than one card carries, less than four give
        ("Tesla V100-SXM2-32GB", 40e9, "healthy"),
    ],
)
def test_untold_cards_are_those_that_such_boxes_have(gpu, busbw, state):
    assert diagnose(logs.run(busbw, boxes=4, gpu=gpu)).state == state


def test_slower_cards_that_a_run_fills_are_asked_for_as_faults_leave_as_much():
    run = logs.run(185e9, boxes=4)
    for untold in (run, logs.run(185e9, collective="all-gather")):
        diagnosis = diagnose(untold)
        assert (diagnosis.state, diagnosis.cause) == ("undecided", "nic-limited")
        assert "what cards of 8 x 200 Gb/s (46% of 8 x 400 Gb/s) a box carry; say --cards" in diagnosis.verdict
    assert diagnose(run, Hints(cards=(8, 25e9))).state == "healthy"
    assert diagnose(run, replace(H100, boxes=4)).state == "below-expectation"
    copied = replace(run, facts={"via NET": "IB"})
    assert (diagnose(copied).state, diagnose(copied).cause) == ("below-expectation", "no-gdr")
    rack = diagnose(logs.run(95e9, boxes=18, per_box=4, gpu="NVIDIA GB200")).verdict
    assert "what cards of 4 x 200 Gb/s (47% of 4 x 400 Gb/s) a box carry;" in rack


def test_cards_of_boxes_that_have_some_or_others_are_a_condition():
    diagnosis = diagnose(logs.run(95e9, boxes=16, per_box=4))  # four H100
    assert "if the cards of a box are 4 x 200 Gb/s (47% of 4 x 400 Gb/s)" in diagnosis.verdict
    assert (diagnosis.state, diagnosis.confidence) == ("healthy", 0.5)
    assert "GDRDMA on every channel" in diagnosis.next_test


@pytest.mark.parametrize("per_box", [1, 4])
def test_one_small_card_that_gpus_without_usual_cards_fill_is_asked_for(per_box):
    run = logs.run(3.1e9, boxes=8 // per_box + 1, per_box=per_box, gpu="Tesla T4")
    diagnosis = diagnose(run)
    assert (diagnosis.state, diagnosis.cause) == ("undecided", "single-nic")
    assert "what cards of 1 x 25 Gb/s (25% of 1 x 100 Gb/s) a box carry; say --cards" in diagnosis.verdict
    assert diagnose(run, Hints(cards=(1, 3.125e9))).state == "healthy"
    assert diagnose(replace(run, gpu="NVIDIA H100 80GB HBM3")).state == "below-expectation"
    assert diagnose(logs.run(3.1e9, per_box=1, gpu="NVIDIA GB10")).state == "below-expectation"  # its card is built in


@pytest.mark.parametrize("boxes", [None, 2])
def test_what_a_sweep_shows_stands_beside_what_holds_only_if_it_is_slow(boxes):
    run = logs.run(2.8e9, boxes=2, per_box=1, gpu="", sizes=[2**k for k in range(10, 31)])
    rows = (replace(row, seconds=2.5 * row.seconds) if row.message == 2**20 else row for row in run.rows)
    stepping = replace(run, rows=tuple(rows), boxes=boxes, gpus_per_box=None)
    diagnosis = diagnose(stepping)
    assert "a message larger than 1 MiB takes less time than it" in diagnosis.evidence
    assert "protocol-switch" in diagnosis.alternatives


def test_one_card_carries_all_of_a_broadcast_into_a_box_and_half_of_an_all_reduce():
    reached = {"gpu": "Tesla V100-SXM2-32GB", "boxes": 2}
    assert diagnose(logs.run(19e9, **reached)).state == "healthy"
    assert diagnose(logs.run(19e9, collective="broadcast", **reached)).state == "undecided"


@pytest.mark.parametrize(
    ("gpu", "busbw", "state"),
    [
        ("NVIDIA RTX PRO 6000 Blackwell", 18.9e9, "undecided"),  # all that a slot of PCIe 4.0 gives
        ("NVIDIA RTX PRO 6000 Blackwell", 9e9, "below-expectation"),
        ("NVIDIA H100 PCIe", 116e9, "undecided"),  # of three bridges there may be one
        ("NVIDIA H100 PCIe", 240e9, "healthy"),
        ("Tesla K80", 3.5e9, "undecided"),  # both GPUs of a board behind one slot
        ("Tesla K80", 1.5e9, "below-expectation"),
        ("Tesla T4", 3e9, "below-expectation"),
    ],
)
def test_two_gpus_may_be_joined_by_half_of_what_is_sold_for_them(gpu, busbw, state):
    assert diagnose(logs.run(busbw, boxes=1, per_box=2, gpu=gpu)).state == state


@pytest.mark.parametrize(
    ("links", "busbw", "state", "cause"),
    [
        ((), 28e9, "healthy", "pcie-limited"),
        ((240.0, 240.0), 217e9, "healthy", None),
        ((240.0, 240.0), 28e9, "below-expectation", "pcie-limited"),
        ((240.0, 20.0), 28e9, "below-expectation", "other"),
    ],
)
def test_nvlinks_that_a_log_shows_are_those_that_two_gpus_are_judged_by(links, busbw, state, cause):
    shown = "".join(f"n1:1:{k} [0] NCCL INFO     + NVL[{rate}] - GPU/{k}\n" for k, rate in enumerate(links))
    (run,) = read(shown + logs.text(busbw, boxes=1, per_box=2, gpu="NVIDIA A100 80GB PCIe"))
    diagnosis = diagnose(run)
    assert (diagnosis.state, diagnosis.cause) == (state, cause)
    assert ("some NVLinks are down" in diagnosis.verdict) == ("nvlink -s" in diagnosis.next_test) == (cause == "other")


@pytest.mark.parametrize(
    ("busbw", "shape", "state"),
    [
        (320e9, {}, "healthy"),
        (250e9, {}, "healthy"),  # over two boxes half the cards would make a tree of it
        (230e9, {}, "undecided"),
        (250e9, {"boxes": 4}, "undecided"),  # not over more: such a ring fills no usual total, and is slow for the next
        (51e9, {"boxes": 4, "collective": "all-to-all"}, "healthy"),
        (24e9, {"boxes": 4, "collective": "all-to-all"}, "undecided"),
        (47e9, {"per_box": 1}, "healthy"),  # one GPU has a card of 400 Gb/s at the most
        (25e9, {"per_box": 1}, "undecided"),
    ],
)
def test_without_a_gpu_a_run_that_is_fast_enough_for_the_fastest_usual_boxes_is_healthy(busbw, shape, state):
    assert diagnose(logs.run(busbw, gpu="", **shape)).state == state


@pytest.mark.parametrize(
    ("busbw", "shape", "state"),
    [
        (7e9, {}, "below-expectation"),  # not even one card of 100 Gb/s
        (11e9, {}, "undecided"),
        (0.5e9, {"boxes": 8, "collective": "all-to-all"}, "below-expectation"),
        (12e9, {"boxes": 1}, "undecided"),  # it may be a box without links of its own
        (7e9, {"boxes": 1}, "below-expectation"),  # which gets more in slots of PCIe 4.0
        (13e9, {"boxes": 1, "per_box": 16}, "undecided"),  # more than 100 Gb/s are no mark inside of a box
    ],
)
def test_without_a_gpu_a_run_that_is_too_slow_for_the_poorest_usual_boxes_is_slow(busbw, shape, state):
    assert diagnose(logs.run(busbw, gpu="", **shape)).state == state


@pytest.mark.parametrize(("busbw", "state"), [(195e9, "healthy"), (72e9, "healthy"), (5.84e9, "below-expectation")])
def test_what_a_pair_exchanges_beyond_any_slot_goes_over_links_of_its_own(busbw, state):
    log = logs.text(busbw, boxes=1, per_box=2, gpu="", collective="sendrecv")
    (run,) = read("\n".join(line for line in log.split("\n") if "Rank" not in line))
    assert (run.ranks, diagnose(run).state) == (None, state)


def test_without_a_gpu_or_hosts_the_ranks_are_those_of_boxes_of_eight():
    for busbw, state in ((320e9, "healthy"), (220e9, "undecided"), (7e9, "below-expectation")):
        assert diagnose(replace(logs.run(busbw, gpu=""), boxes=None)).state == state


def test_a_box_whose_largest_message_gets_half_of_what_a_smaller_one_got_is_slow():
    # eunomia-bpf/nccl-eBPF: four B300 whose proxy threads share four cores, all-reduces from 32 MiB on, time in us
    swept = ((2**25, 401.05), (2**26, 649.15), (2**27, 20092.47))
    rows = tuple(Row(k, float(size), 1e-6 * time, None, None) for k, (size, time) in enumerate(swept))
    assert diagnose(Run("columns", rows, "all-reduce", 4)).state == "below-expectation"


@pytest.mark.parametrize(("ranks", "boxes", "cards"), [(2, 1, False), (2, None, True), (4, None, True)])
def test_few_ranks_may_be_on_two_hosts_where_nobody_says_how_many(ranks, boxes, cards):
    run = replace(logs.run(5e9, boxes=1, per_box=ranks, gpu=""), boxes=boxes, gpus_per_box=None)
    diagnosis = diagnose(run)
    assert diagnosis.cause in ("pcie-limited", "p2p-disabled")
    assert any(name in ("misconfiguration", "no-gdr") for name in diagnosis.alternatives) == cards


@pytest.mark.parametrize(
    ("busbw", "ranks", "collective", "named"),
    [
        (40e9, 32, "all-reduce", {"misconfiguration", "no-gdr"}),
        (72e9, 128, "all-reduce", {"misconfiguration", "no-gdr", "congestion"}),
        (24e9, 32, "all-reduce", {"single-nic"}),  # the rate of one card of 200 Gb/s
        (9e9, 2, "all-gather", {"p2p-disabled", "misconfiguration", "no-gdr"}),  # in one box or in two
        (10e9, 8, "all-reduce", {"p2p-disabled", "pcie-limited", "misconfiguration"}),
        (30e9, None, "sendrecv", {"no-gdr", "nic-limited"}),
    ],
)
def test_what_cannot_be_told_still_names_what_to_look_at_first(busbw, ranks, collective, named):
    run = logs.run(busbw, boxes=1, per_box=ranks or 16, gpu="", collective=collective)
    diagnosis = diagnose(replace(run, ranks=ranks, boxes=None, gpus_per_box=None))
    assert diagnosis.state == "undecided"
    assert named <= {diagnosis.cause, *diagnosis.alternatives}
    assert diagnosis.confidence <= 0.3
    assert "If it should be faster, most likely" in diagnosis.verdict


def test_where_small_messages_alone_were_measured_a_step_back_is_the_choice_of_protocol():
    # NVIDIA/nccl/issues/2441: 1.0 MB take 336 us, 1.1 MB 154
    run = logs.run(11e9, per_box=2, gpu="NVIDIA H100 NVL", sizes=[10**5 * k for k in range(5, 16)])
    slowed = tuple(replace(row, seconds=3 * row.seconds) if row.message <= 1e6 else row for row in run.rows)
    diagnosis = diagnose(replace(run, rows=slowed))
    assert (diagnosis.state, diagnosis.cause) == ("undecided", "protocol-switch")


def test_small_messages_of_an_unknown_machine_are_no_reason_to_expect_more():
    diagnosis = diagnose(logs.run(1e9, boxes=1, per_box=4, gpu="", sizes=[2**k for k in range(10, 21)]))
    assert diagnosis.state == "undecided"
    assert "should be faster" not in diagnosis.verdict


def test_hosts_of_one_nvlink_rack_that_are_slow_even_for_cards_are_judged_by_their_cards():
    # kubernetes-sigs/dranet: a GPU and a card of another NUMA node on either of two hosts, 46 GB/s from the same node
    diagnosis = diagnose(logs.run(25e9, per_box=1, gpu="GB200"))
    assert (diagnosis.state, diagnosis.binding) == ("below-expectation", "network card")
    assert "no-gdr" in (diagnosis.cause, *diagnosis.alternatives)


def test_repetitions_of_one_size_are_one_job_and_their_scatter_counts():
    # nccl-tests -i 0 prints every iteration; 64 boxes whose fabric is congested
    steady, rough = (
        [replace(row, line=k, seconds=row.seconds * (1 + scatter * (k % 5))) for k in range(17)]
        for row in [replace(logs.run(360e9, boxes=64).rows[-1], algbw=None, busbw=None, in_place=False)]
        for scatter in (0.01, 0.3)
    )
    judged = [
        diagnose(replace(logs.run(360e9, boxes=64), rows=tuple(rows)), replace(H100, boxes=64))
        for rows in (steady, rough)
    ]
    assert [diagnosis.state for diagnosis in judged] == ["healthy", "below-expectation"]
    assert judged[1].cause == "congestion"


@pytest.mark.parametrize(
    ("least", "named"), [(1, {"congestion", "other"}), (3, {"no-gdr", "congestion", "misconfiguration"})]
)
def test_what_is_fast_at_other_times_is_no_fault_of_the_setup(least, named):
    """Eight runs of one size: no setting and no missing GPUDirect slows most of them where some reach what the cards
    give."""
    row = replace(logs.run(390e9, boxes=4).rows[-1], algbw=None, busbw=None, in_place=False)
    rows = tuple(replace(row, line=k, seconds=row.seconds * slower) for k, slower in enumerate([least, 12, 9, 6] * 2))
    diagnosis = diagnose(replace(logs.run(390e9, boxes=4), rows=rows), replace(H100, boxes=4))
    assert diagnosis.state == "below-expectation"
    assert {diagnosis.cause, *diagnosis.alternatives} == named


def test_latencies_that_do_not_explain_a_slow_run_are_not_its_first_cause():
    """128 MiB over 64 ranks wait for a sixth of the time at 99 GB/s: without them it were 118 of at least 272."""
    hints = Hints(gpu="MI355X", gpus_per_box=8, boxes=8, cards=(8, 50e9))
    diagnosis = diagnose(logs.run(99e9, boxes=8, gpu="", floor=0, sizes=[2**27]), hints)
    assert diagnosis.state == "below-expectation"
    assert "latency-bound" not in (diagnosis.cause, *diagnosis.alternatives)


def test_a_sweep_that_is_too_short_for_its_ranks_does_not_show_which_cards_it_fills():
    short, long = (logs.run(99e9, boxes=8, gpu="", floor=0, sizes=[2**top]) for top in (27, 33))
    unnamed = [replace(run, boxes=None, gpus_per_box=None) for run in (short, long)]
    assert [diagnose(run).state for run in unnamed] == ["undecided", "healthy"]


@pytest.mark.parametrize(
    ("busbw", "state"), [(45e9, "healthy"), (80e9, "undecided"), (95e9, "healthy"), (20e9, "below-expectation")]
)
def test_boxes_of_other_boards_than_usual_may_have_one_card(busbw, state):
    """Four H100 a node: two cards of 200 Gb/s on Kestrel, four in NVIDIA/nccl-tests/issues/252."""
    assert diagnose(logs.run(busbw, boxes=16, per_box=4)).state == state


def test_what_the_log_says_of_the_cause_is_the_reason_that_is_given():
    words = "h:1:1 [0] NCCL INFO Using network Socket\nh:1:1 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct\n"
    table = "\n".join(line for line in logs.text(4e9, boxes=1, per_box=2).split("\n") if "Rank" not in line)
    diagnosis = diagnose(
        read(words + "h:1:1 [0] NCCL INFO comm 0x1 rank 0 nRanks 2 nNodes 1 localRanks 2\n" + table)[0]
    )
    assert (diagnosis.cause, diagnosis.alternatives) == ("p2p-disabled", ())
    assert "the log itself says why: channels go via shared memory" in diagnosis.verdict


def test_gpus_without_links_are_not_slow_because_they_use_their_slots():
    for boxes_of, gpu, first in ((4, "GeForce RTX 4090", "p2p-disabled"), (8, "H100", "pcie-limited")):
        assert diagnose(logs.run(5e9, boxes=1, per_box=boxes_of, gpu=gpu)).cause == first


def test_one_gpu_has_its_card_for_itself_and_is_judged_by_it():
    hints = Hints(cards=(1, 12.5e9))
    for busbw, state in ((11e9, "healthy"), (9e9, "undecided"), (6e9, "below-expectation")):
        assert diagnose(logs.run(busbw, per_box=1, gpu="NVIDIA A100-PCIE-40GB"), hints).state == state


def test_hosts_that_each_have_a_rank_0_run_separate_jobs():
    one = logs.text(470e9, boxes=1, gpu="NVIDIA H20")  # NVIDIA/nccl-tests, issue 306
    other = [line.replace("node01", "node02") for line in one.split("\n") if "Rank" in line]
    lines = one.split("\n")
    table = [line for line in lines if "Rank" not in line]
    late = [*lines[:30], *other, *lines[30:]]
    early = [*(line for line in lines if "Rank" in line), *other, *table]
    for made in (late, early):
        (run,) = read("\n".join(made))
        assert diagnose(run).state == "not-a-measurement"
    after = [*lines, "# Avg bus bandwidth    : 150", *other, *table]
    assert [diagnose(run).state for run in read("\n".join(after))] == ["healthy", "healthy"]


def test_what_is_told_does_not_overrule_the_ranks_of_the_log():
    run = logs.run(480e9, boxes=1, gpu="")
    with pytest.raises(ValueError, match="8 ranks, the machine that is told holds 1"):
        diagnose(run, Hints(boxes=1, gpus_per_box=1))
    with pytest.raises(ValueError, match="8 ranks do not fill 3 boxes"):
        diagnose(run, Hints(boxes=3))
    assert diagnose(run, Hints(boxes=8, gpus_per_box=1)).state == "undecided"  # no NVLink joins boxes of one GPU


@pytest.mark.parametrize(
    "cards",
    [1, (1,), (0, 50e9), (1.5, 50e9), (True, 50e9), (1, "50GB/s"), (1, 0.0), (1, -1), (1, float("nan")), "1x50"],
)
def test_cards_that_are_no_number_and_rate_are_refused_where_they_are_told(cards):
    with pytest.raises(
        ValueError, match=r"cards .*: must be a number and the bytes per second of one, as in \(8, 50e9\)"
    ):
        Hints(cards=cards)


def test_cards_are_told_of_several_boxes_where_the_ranks_are_more_than_one_of_eight_holds():
    """2 x 50 GB/s a box: 20 are a fifth of it, 90 are nine tenths; 10 may be of one box on PCIe."""
    for ranks, busbw, state in ((24, 20e9, "below-expectation"), (16, 90e9, "healthy"), (8, 10e9, "undecided")):
        run = replace(logs.run(busbw, boxes=1, per_box=ranks, gpu=""), boxes=None, gpus_per_box=None)
        assert diagnose(run, Hints(cards=(2, 50e9))).state == state


def test_part_of_a_mesh_at_the_rate_of_one_link_has_one_ring():
    for ranks, cause in ((5, "misconfiguration"), (8, "pcie-limited")):  # all eight have rings over every link
        assert diagnose(logs.run(38e9, boxes=1, per_box=ranks, gpu="AMD Instinct MI355X")).cause == cause


def test_where_a_box_has_one_gpu_a_run_of_unknown_ranks_is_one_of_two_boxes():
    run = logs.run(0.57e9, collective="reduce-scatter", per_box=1, gpu="NVIDIA GB10")
    run = replace(run, ranks=None, boxes=None, gpus_per_box=None)
    machine, assumed = machine_of(run, Hints())
    assert (machine.boxes, machine.gpus, assumed[0]) == (2, 1, "assumed: two boxes of 1 GPU")
    assert diagnose(run).state == "below-expectation"
    for collective in (None, "reduce-scatter"):
        with pytest.raises(ValueError, match="1 rank sends nothing"):
            diagnose(run, Hints(boxes=1, collective=collective))


def test_a_gb10_at_the_rate_of_four_lanes_uses_one_of_two_devices():
    for busbw, cause in ((13.5e9, "single-nic"), (3e9, "misconfiguration")):
        assert diagnose(logs.run(busbw, per_box=1, gpu="NVIDIA GB10"), Hints(cards=(1, 25e9))).cause == cause


def test_hosts_that_are_told_are_fast_enough_if_they_are_so_for_a_card_a_gpu():
    for busbw, state in ((159e9, "healthy"), (100e9, "undecided")):
        assert diagnose(logs.run(busbw, per_box=4, gpu=""), Hints(boxes=2, gpus_per_box=4)).state == state


@pytest.mark.parametrize("collective", ["all-gather", "all-to-all"])
def test_the_sizes_of_osu_are_of_the_part_of_a_rank(collective):
    """OMB calls MPI_Allgather and MPI_Alltoall with as many bytes for each rank as it prints."""
    text = logs.text(300e9, "osu", collective=collective, boxes=1, sizes=[2**k for k in range(13, 31)])
    diagnosis = diagnose(read(text)[0], Hints(gpus_per_box=8, boxes=1, gpu="h100"))
    assert diagnosis.state == "healthy"
    assert diagnosis.form.largest == 2**30
    assert diagnosis.form.measured == pytest.approx(300e9, rel=0.01)


def test_the_printed_factor_says_that_more_boxes_ran_than_the_one_that_is_told():
    # NVIDIA/deepops, an earlier slurm-perf-cluster.md: DGX-2 with eight cards, of which NVIDIA expects 82 GB/s
    rows = """ 4294967296 1073741824 float sum 123111 34.89 69.73 N/A
 8589934592 2147483648 float sum 210583 40.79 81.53 N/A"""
    hints = Hints(gpu="V100", gpus_per_box=16, cards=(8, 12.5e9))
    diagnosis = diagnose(read(rows)[0], hints)
    assert (diagnosis.state, diagnosis.binding) == ("healthy", "network card")
    assert diagnosis.form.measured == 81.53e9
    assert diagnose(read(rows)[0], replace(hints, gpus_per_box=None)).boxes > 1
    of_sixteen = rows.replace("69.73", "65.42").replace("81.53", "76.48")  # 15 / 8 of the algbw
    assert diagnose(read(of_sixteen)[0], hints).binding == "NVLink"


def test_what_still_grows_at_the_last_doubling_is_slow_only_far_below_the_range():
    # coreweave/nccl-tests, README: what 20 racks of GB200 should give; and the same shape at a third in boxes of 8
    rates = {2**31: 286.52, 2**32: 346.38, 2**33: 381.48, 2**34: 405.74}
    share = 2 * 1439 / 1440
    rows = tuple(Row(k, float(n), n * share / rate / 1e9, None, None) for k, (n, rate) in enumerate(rates.items()))
    racks = Run("columns", rows, "all-reduce", 1440, None, None, "NVIDIA GB200")
    third = tuple(replace(row, seconds=3 * row.seconds) for row in rows)
    boxes = replace(racks, rows=third, boxes=180, gpus_per_box=8, gpu="H100")
    states = {}
    for growing, slower in ((racks, 10), (boxes, 4)):
        *first, last = growing.rows
        ended = replace(growing, rows=(*first, replace(last, seconds=2 * first[-1].seconds)))
        much = replace(growing, rows=tuple(replace(row, seconds=slower * row.seconds) for row in growing.rows))
        states[growing.gpu] = [diagnose(run).state for run in (growing, ended, much)]
    assert states["H100"] == ["undecided", "below-expectation", "below-expectation"]
    assert states["NVIDIA GB200"] == ["undecided", "undecided", "below-expectation"]  # nobody says what is healthy
    assert "no plateau yet" in diagnose(boxes).verdict
    assert "no run over several such racks that is known to be healthy" in diagnose(racks).verdict


@pytest.mark.parametrize("machine", ["dgx-h100:16", "dgx-a100:16", "b200:64", "h800:16"])
@pytest.mark.parametrize("collective", ["all-gather", "reduce-scatter", "broadcast"])
def test_a_third_of_what_is_predicted_is_slow_though_the_last_doubling_still_brings_a_little(machine, collective):
    """As much again as the last doubling brought is still to come, where time is a constant and a slope."""
    run, hints = logs.modeled(machine, 0, collective=collective, noise=0), Hints(machine=find(machine))
    third = replace(run, rows=tuple(replace(row, seconds=3 * row.seconds) for row in run.rows))
    assert (diagnose(run, hints).state, diagnose(third, hints).state) == ("healthy", "below-expectation")
    early = replace(third, rows=tuple(row for row in third.rows if row.message <= 2**26))
    assert diagnose(early, hints).form.settled == 0


def test_cards_are_not_said_to_bind_where_the_links_do():
    # NVIDIA/nccl/issues/1244: two boxes of H20 with 16 cards, of which a ring over NVLink fills a third
    run = logs.run(313e9, boxes=2, per_box=8, floor=0, sizes=[2**30, 2**33])
    diagnosis = diagnose(run, Hints(gpu="h20", boxes=2, gpus_per_box=8, cards=(16, 50e9)))
    assert (diagnosis.state, diagnosis.binding) == ("healthy", "NVLink")
    assert not any("cards bind" in text for text in diagnosis.evidence)


def test_one_size_of_64_mib_between_boxes_is_slow_only_far_below_the_range():
    hints = Hints(gpu="H200", boxes=3, gpus_per_box=4, cards=(4, 50e9), collective="broadcast")
    for busbw, size, state in (
        (70.88e9, 2**26, "undecided"),  # a reference run, GPUDirect on
        (70.88e9, 2**27, "below-expectation"),
        (28.28e9, 2**26, "below-expectation"),  # the same with GPUDirect off
    ):
        run = Run("columns", (Row(1, float(size), size / busbw, None, None),), "broadcast", 12)
        assert diagnose(run, hints).state == state


@pytest.mark.parametrize(
    ("rates", "state"), [((91, 76, 69, 66), "below-expectation"), ((104, 105, 106, 106), "healthy")]
)
def test_a_busbw_that_falls_by_a_quarter_is_no_healthy_one_though_it_ends_in_the_range(rates, state):
    # eight B300 boxes, NCCL 2.29.7 to 2.31.2 with four channels for a peer, then with two
    hints = Hints(gpu="B300", boxes=8, gpus_per_box=8, cards=(8, 100e9), collective="all-to-all")
    sizes = [2.0**k for k in range(30, 34)]
    rows = (
        Row(k, n, n * 63 / 64 / rate / 1e9, None, None) for k, (n, rate) in enumerate(zip(sizes, rates, strict=True))
    )
    diagnosis = diagnose(Run("columns", tuple(rows), "all-to-all", 64), hints)
    assert diagnosis.state == state
    assert diagnosis.form.measured < diagnosis.bound.high
    assert diagnosis.form.measured > diagnosis.bound.least


def test_links_that_carried_more_than_pcie_at_another_size_are_there_and_in_use():
    # eunomia-bpf/nccl-eBPF: four B300 whose processes share four cores
    rates = {2**23: 53.45, 2**24: 1.25, 2**25: 125.5, 2**26: 155.07, 2**27: 10.02}
    rows = tuple(Row(k, float(n), n * 1.5 / rate / 1e9, None, None) for k, (n, rate) in enumerate(rates.items()))
    diagnosis = diagnose(Run("columns", rows, "all-reduce", 4, 1, 4, "NVIDIA B300"))
    assert (diagnosis.state, diagnosis.cause, diagnosis.alternatives) == (
        "below-expectation",
        "misconfiguration",
        ("other",),
    )


@pytest.mark.parametrize("slowed", [1.0, 3.0])
def test_without_a_gpu_a_larger_message_that_takes_less_time_leaves_no_run_healthy(slowed):
    run = logs.run(38e9, boxes=1, per_box=8, gpu="")
    rows = tuple(replace(row, seconds=row.seconds * (slowed if row.message <= 2**21 else 1)) for row in run.rows)
    assert (diagnose(replace(run, rows=rows)).state == "healthy") == (slowed == 1)


@pytest.mark.parametrize(("best", "state"), [(199.8, "healthy"), (200.42, "undecided")])
def test_cards_that_some_size_exceeds_are_not_those_that_the_run_fills(best, state):
    # a runbook on MI355X, at 1 GiB and 16 GiB: its author takes half of eight cards of 400 Gb/s to be in use
    run = logs.run(199.69e9, gpu="", floor=0, sizes=[2**30, 2**34])
    rows = tuple(replace(row, seconds=row.seconds * 199.69 / best) if row.line == 0 else row for row in run.rows)
    assert diagnose(replace(run, rows=rows, boxes=None, gpus_per_box=None)).state == state


def osu(rows, kind="Allreduce Latency", above="", program="MPI-CUDA"):
    head = "Bandwidth (MB/s)" if "Bandwidth" in kind else "Avg Latency(us)"
    return read(f"{above}\n# OSU {program} {kind} Test v7.4\n# Size  {head}\n{rows}\n")[0]


def test_sums_that_osu_finds_wrong_are_no_measurement():
    diagnosis = diagnose(osu("67108864 2000.0 Pass\n1073741824 31000.0 Fail"), H100)
    assert (diagnosis.state, diagnosis.next_test) == ("not-a-measurement", "the same run twice")
    assert "wrong values in 1 of 2 rows: Fail at 1 GiB" in diagnosis.evidence


@pytest.mark.parametrize("on", ["gh200:4", "gh200:1,gpus=16,cards=16", "dgx-h100:2"])
def test_nodes_that_the_launcher_names_are_not_folded_into_larger_boxes(on):
    run = osu("67108864 3000.0\n1073741824 48000.0", above="srun -N 4 --ntasks-per-node=4 ./osu_allreduce -d cuda")
    diagnosis = diagnose(run, Hints(machine=find(on)))
    assert (diagnosis.boxes, diagnosis.binding, diagnosis.cause == "pcie-limited") == (4, "network card", False)
    assert diagnosis.verdict.startswith("Mind that the log names 4 x 4 ranks") == (on != "gh200:4")
    by_hand = diagnose(run, Hints(gpu="h100", boxes=2, gpus_per_box=8))
    assert by_hand.verdict.startswith("Mind that the log names 4 x 4 ranks, and boxes of 8 are told: ")


@pytest.mark.parametrize("program", ["MPI", "MPI-CUDA"])
def test_a_pair_of_osus_is_on_two_boxes_if_two_are_told(program):
    run = osu("1048576 24700.10\n4194304 24800.33", "Bandwidth", program=program)
    diagnosis = diagnose(run, Hints(machine=find("dgx-a100:2,gpus=4,cards=4")))
    assert (diagnosis.state, diagnosis.binding, diagnosis.bound.high) == ("healthy", "network card", 25e9)
    alone = diagnose(run).verdict
    assert "a card of 200 Gb/s" in alone if program == "MPI" else "is what one card of 200 Gb/s gives" in alone
    assert "H100" not in alone


@pytest.mark.parametrize(
    "hints", [Hints(), Hints(boxes=16, gpus_per_box=128, cards=(1, 25e9)), Hints(machine=find("b200:1"))]
)
def test_a_collective_of_hosts_is_not_judged_as_one_of_gpus(hints):
    diagnosis = diagnose(replace(osu("8 12.0\n65536 60.0\n1048576 700.0", program="MPI"), ranks=8), hints)
    assert (diagnosis.state, diagnosis.cause, diagnosis.bound) == ("undecided", None, None)
    assert "only GPUs are judged" in diagnosis.verdict
    assert diagnosis.form.fitted
    assert " D D" not in diagnosis.next_test


def test_what_is_missing_of_the_machine_is_named_and_nothing_else():
    two, one = logs.run(20e9, boxes=2, gpu=""), logs.run(12e9, boxes=1, gpu="")
    assert "say --gpu, --cards." in diagnose(replace(two, gpus_per_box=None)).verdict
    assert "say --gpu." in diagnose(one, Hints(cards=(1, 25e9))).verdict
    assert not any("% of the cards'" in text for text in diagnose(two).evidence)


@pytest.mark.parametrize(("ranks", "shape"), [(2, (2, 1)), (16, (2, 8)), (8, (1, 8))])
def test_a_pair_of_mpi_is_on_two_hosts_and_a_ring_of_sends_fills_boxes(ranks, shape):
    table = f"# IMB-MPI1-GPU Sendrecv\n# Benchmarking Sendrecv\n# #processes = {ranks}\n"
    table += "#bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]  Mbytes/sec\n"
    (run,) = read(table + "1073741824 10 23860.0 23860.0 23860.0 90000.0\n")
    machine, _ = machine_of(run, Hints(machine=find("dgx-h100:2")))
    assert (machine.boxes, machine.gpus) == shape
