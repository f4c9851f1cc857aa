"""NCCL's model: its formulas by hand, and what NCCL logs and measures."""

from __future__ import annotations

import pytest

from colllib.busbw import MEASURED, ideal_gain
from colllib.measured.log import factor
from colllib.measured.tuning import GENERATIONS, NETWORK_STEP, estimates, pick, times
from colllib.topology.machines import find

SINGLE = "dgx-h100:{},gpus=1,cards=1"  # two channels of 24 GB/s over a card of 50


def model(expression, collective="all-reduce"):
    return {(e.algorithm, e.protocol): e for e in estimates(find(expression), collective)}


@pytest.mark.parametrize("gpus", range(3, 9))
def test_nvls_is_taken_above_four_gpus_where_a_measurement_finds_it(gpus):
    """Channels booked one by one, as NCCL's search does, at the fastest speed at which all of them fit."""
    link = 18 * 20.6  # all links of a Hopper GPU one way, in GB/s
    for speed in GENERATIONS[2]["speeds_inside"]:
        left = [[link] * gpus for _ in ("up", "down")]
        for head in range(gpus):
            for way in left:
                for gpu in range(gpus):
                    way[gpu] -= speed * (2 if gpu == head else 1)
        if min(map(min, left)) >= 0:
            break
    estimated, bus = model(f"dgx-h100:1,gpus={gpus}"), factor("all-reduce", gpus)
    nvls, ring = (estimated[name, "Simple"].algbw * bus for name in ("NVLS", "ring"))
    assert nvls == pytest.approx(0.85 * 2 * (gpus - 1) * speed * 1e9)
    assert ring == pytest.approx(12 * 30e9)  # the 12 channels of 30 GB/s that NCCL logs there (its issue 1197)
    if gpus in MEASURED["H200"].busbw:
        chosen, ringed = MEASURED["H200"].busbw[gpus]
        assert (nvls > ring) == (chosen > ringed)
    else:
        assert nvls < ring
    # with the speed that just fits instead of one from the list, the estimate is 0.85 of the ideal gain
    assert nvls <= 0.85 * float(ideal_gain(gpus)) * link * 1e9


@pytest.mark.parametrize("boxes", [1, 2])
def test_two_gpus_of_a_box_do_without_nvls(boxes):
    """As `ncclNvlsInit` in NCCL's `src/transport/nvls.cc` leaves off with up to two."""
    two, three = (model(f"dgx-h100:{boxes},gpus={gpus},cards={gpus}") for gpus in (2, 3))
    assert {name for name, _ in two} == {"ring", "tree"}
    assert set(three) - set(two) == {("NVLS" if boxes == 1 else "NVLSTree", "Simple")}


def test_where_the_network_adds_more_boxes_cost_no_more_latency():
    few, many = (model(f"dgx-h100:{boxes},collnet=true") for boxes in (4, 256))
    for name in ("NVLS", "CollNetDirect", "CollNetChain"):
        assert many[name, "Simple"].latency == few[name, "Simple"].latency
    two, one = (model(f"dgx-h100:{boxes},collnet=true") for boxes in (2, 1))
    assert {algorithm for algorithm, _ in two} == {algorithm for algorithm, _ in few}
    assert {algorithm for algorithm, _ in few} - {algorithm for algorithm, _ in one} == {
        "CollNetDirect",
        "CollNetChain",
        "NVLSTree",
    }
    without = model("dgx-h100:256")
    assert without["NVLSTree", "Simple"].latency > many["NVLS", "Simple"].latency
    assert not {"NVLS", "CollNetDirect", "CollNetChain"} & {algorithm for algorithm, _ in without}


def test_over_two_boxes_whose_network_adds_large_messages_still_take_a_tree():
    """NVLS has a channel's share of the cards, NVLSTree twice that, up to 57.7 GB/s (tuning.cc:320)."""
    machine = find("dgx-h100:2,collnet=true")
    assert pick(estimates(machine, "all-reduce"), 2**33).algorithm == "NVLSTree"
    assert pick(estimates(find("dgx-h100:4,collnet=true"), "all-reduce"), 2**33).algorithm == "NVLS"


@pytest.mark.parametrize(("expression", "takes"), [("dgx-h100:2", True), ("nvl72:2", False), ("gh200-nvl32:2", False)])
def test_collnet_is_for_boxes_of_at_most_eight(expression, takes):
    """As enqueue.cc:2001 has it."""
    algorithms = {algorithm for algorithm, _ in model(f"{expression},collnet=true")}
    assert ({"CollNetDirect", "CollNetChain"} <= algorithms) == takes
    assert {"NVLS", "NVLSTree"} <= algorithms


@pytest.mark.parametrize("expression", ["mi300x:4", "mi250x:4", "dgx-h100:4"])
def test_collnet_direct_is_off_in_boxes_without_a_switch(expression):
    """As tuning.cc has it for nvsCount == 0."""
    algorithms = {algorithm for algorithm, _ in model(f"{expression},collnet=true")}
    assert ("CollNetDirect" in algorithms) == expression.startswith("dgx")
    assert "CollNetChain" in algorithms


@pytest.mark.parametrize(
    ("expression", "channel"),  # GB/s: 60 and 90 are the first of the lists
    [("dgx-h100:1,gpus=3", 60), ("dgx-h100:1,gpus=5", 60), ("dgx-h100:1,gpus=6", 60), ("b200:1", 90), ("nvl72:1", 40)],
)
def test_no_channel_of_nvls_counts_above_what_the_search_gives_a_network_that_is_not_there(expression, channel):
    """search.cc:1274 raises it to twice the speed in the box: eight Hopper GPUs log 40 and 60 (NCCL issue 1197)."""
    nvls, machine = model(expression)["NVLS", "Simple"], find(expression)
    heads = min(machine.gpus, 32)
    assert nvls.ceiling * factor("all-reduce", machine.gpus) == pytest.approx(heads * channel * 1e9)
    size = 2.0**33
    assert nvls.seconds(size) == pytest.approx(nvls.latency + size / min(nvls.algbw, nvls.ceiling))


def test_a_hopper_box_takes_nvls_from_six_gpus_on():
    """2.27.7, which was measured, took it from five on: it has 5/6 of what the search gives channels in the box."""
    picked = [pick(estimates(find(f"dgx-h100:1,gpus={n}"), "all-reduce"), 2**33).algorithm for n in range(3, 9)]
    assert picked == ["ring", "ring", "ring", "NVLS", "NVLS", "NVLS"]


def test_the_pick_is_the_fastest_of_the_model():
    machine = find("dgx-a100:4")
    candidates = estimates(machine, "all-reduce")
    for size in (2.0**k for k in range(10, 34)):
        chosen = pick(candidates, size)
        for other in candidates:
            assert chosen.seconds(size) <= other.seconds(size)


def test_single_gpus_by_hand():
    """8 boxes, 1 MB: a call, the steps, the plateau, the bytes over the algorithm bandwidth, in microseconds."""
    reduction = times(find(SINGLE.format(8)), "all-reduce", 1e6)
    assert reduction["ring", "LL"] == pytest.approx((6.6 + 14 * 5.0 + 1e6 / (1000 * 20.4 * 8 / 14)) * 1e-6)
    assert reduction["ring", "Simple"] == pytest.approx(((8.4 + 14 * 14.0) * 1.4 + 1e6 / (1000 * 48 * 8 / 14)) * 1e-6)
    # 1 MB lies between 2^13 and 2^14 times 64 bytes: entry 13 of the corrections
    tree = 0.92 * 48 * 120 / 128 * 0.85 * 0.6 / 2
    assert reduction["tree", "LL128"] == pytest.approx((14.0 + 6 * 8.5 + 1e6 / (1000 * tree)) * 1e-6)
    gather = times(find(SINGLE.format(8)), "all-gather", 1e6)
    assert gather["PAT", "Simple"] == pytest.approx((8 + 3 * 4.0 + 8 * 2.8 + 1e6 / 36000) * 1e-6)


@pytest.mark.parametrize("n", [8, 512])
def test_with_one_gpu_a_box_the_ring_is_charged_the_trees_step_and_not_its_own(n):
    """tuning.cc:387: 5.0 us, where the ring between boxes of several GPUs has 2.7."""
    assert NETWORK_STEP["ring"][0] == 2.7
    assert times(find(SINGLE.format(n)), "all-gather", 0.0)["ring", "LL"] == pytest.approx((6.6 + (n - 1) * 5) * 1e-6)


def test_a_ring_waits_on_a_plateau_in_an_all_reduce_between_boxes_alone():
    """tuning.cc:647: 1.4 times the latency from 64 bytes on for each rank and channel, of which there are 16 here."""
    start = 64 * 16 * 16
    for expression, collective, times_as_long in (
        ("dgx-h100:2", "all-reduce", 1.4),
        ("dgx-v100:2,cards=8", "all-reduce", 1.9),
        ("dgx-h100:2", "all-gather", 1.0),
        ("dgx-h100:1,gpus=16", "all-reduce", 1.0),
    ):
        ring = model(expression, collective)["ring", "Simple"]
        assert ring.waiting(start - 1) == ring.latency
        assert ring.waiting(start) == pytest.approx(times_as_long * ring.latency)


def test_a_tree_is_corrected_up_to_512_mib_and_an_nvls_tree_of_blackwells_up_to_1_gib():
    """tuning.cc:640 takes 23 factors for the one, tuning.cc:643 takes 24 for the other, on x86 only."""

    def step(estimate, size):
        """How much less time NCCL counts for the bytes than for one byte less."""
        return (estimate.seconds(size) - estimate.latency) / (estimate.seconds(size - 1) - estimate.latency)

    tree = model(SINGLE.format(64))["tree", "Simple"]
    assert step(tree, 2**29) == pytest.approx(0.9)
    nvls = model("b200:4")["NVLSTree", "Simple"]
    assert step(nvls, 2**29) == pytest.approx(1)
    assert step(nvls, 2**30) == pytest.approx(0.9)
    for expression in ("nvl72:4", "dgx-h100:4"):
        plain = model(expression)["NVLSTree", "Simple"]
        assert plain.wire(2**20) == 2**20 / plain.algbw


def test_between_two_sizes_of_the_correction_what_the_bytes_take_lies_on_a_line_and_at_them_as_nccl_counts():
    tree = model("gh200:16")["tree", "LL128"]
    for power, factors in ((21, (0.6, 0.8)), (22, (0.8, 0.9)), (23, (0.9, 0.9))):
        below, above = factors
        assert tree.wire(2**power) == pytest.approx(tree.seconds(2**power) - tree.latency)
        assert tree.wire(2 ** (power + 0.5)) == pytest.approx(2 ** (power + 0.5) / (tree.algbw * (below + above) / 2))


@pytest.mark.parametrize(
    ("expression", "microseconds"),
    [
        ("dgx-h100:1", (6.6 + 0.6, 14 + 1.9, 8.4 + 3.4)),
        (SINGLE.format(8), (6.6 + 2.7, 14 + 4.0, 8.4 + 14.0)),
        ("dgx-h100:2", (6.6 + 16 * 2.7, 14 + 16 * 4.0, 8.4 + 16 * 14.0)),
        ("dgx-v100:1,link=15.75GB/s", (6.6 + 1.0, 8.4 + 5.7)),  # PCIe: without LL128
    ],
)
def test_a_chain_is_counted_as_one_step_where_its_channels_are_alike_and_one_a_rank_elsewhere(expression, microseconds):
    """tuning.cc:394."""
    for collective in ("broadcast", "reduce"):
        seconds = times(find(expression), collective, 0.0)
        assert tuple(seconds.values()) == pytest.approx([each * 1e-6 for each in microseconds])


@pytest.mark.parametrize("collective", ["broadcast", "reduce"])
@pytest.mark.parametrize(
    "machine", ["nvl72:1", "dgx-h100:1,gpus=2", "dgx-h100:16", "dgx-h100:16,cards=1", SINGLE.format(64)]
)
def test_a_chain_waits_for_as_many_steps_over_the_same_wires_as_the_ring_of_an_all_gather(machine, collective):
    """As NCCL's maintainers say in its issue 971: broadcasts and reduces know rings alone."""
    chains, rings = model(machine, collective), model(machine, "all-gather")
    for protocol in ("LL", "LL128", "Simple"):
        chain = chains["ring", protocol]
        assert chain.latency * (1 + chain.further) == pytest.approx(rings["ring", protocol].latency)


@pytest.mark.parametrize("boxes", [1, 2])
def test_gpus_that_pcie_joins_do_without_ll128(boxes):
    """tuning.cc:531: the path between GPUs of a box must not be longer than NVLink by way of another GPU."""
    for collective in ("all-reduce", "all-gather", "broadcast"):
        assert {p for _, p in model(f"dgx-v100:{boxes},link=15.75GB/s", collective)} == {"LL", "Simple"}
        assert {p for _, p in model(f"dgx-v100:{boxes}", collective)} == {"LL", "LL128", "Simple"}
    alone = model("dgx-v100:2,gpus=1,cards=1,link=15.75GB/s")
    assert ("ring", "LL128") in alone


def test_ll_and_the_steps_of_a_ring_depend_on_the_processors():
    """Two boxes, an all-gather: 62 steps of a ring in boxes, and one between them (tuning.cc:228, 269 and 407)."""
    names = ("dgx-h100:2,processor=amd", "dgx-h100:2", "gh200:2")
    amd, intel, arm = (model(f"{name},gpus=32,cards=32", "all-gather") for name in names)
    for p, (protocol, amds, others) in enumerate((("LL", 2.0, 1.0), ("LL128", 2.0, 1.9), ("Simple", 6.0, 3.4))):
        call, between = (6.6, 14.0, 8.4)[p], (2.7, 4.0, 14.0)[p]
        assert amd["ring", protocol].latency == pytest.approx((call + 62 * amds + between) * 1e-6)
        for other in (intel, arm):
            assert other["ring", protocol].latency == pytest.approx((call + 62 * others + between) * 1e-6)
    assert intel["ring", "LL"].algbw / amd["ring", "LL"].algbw == pytest.approx(39.0 / 22.5)


@pytest.mark.parametrize(
    ("preset", "processor"),
    [("dgx-a100", "amd"), ("dgx-h100", "intel"), ("b200", "intel"), ("mi300x", "amd"), ("gh200", "arm")],
)
def test_presets_have_the_processors_of_their_vendors_boxes(preset, processor):
    """NVIDIA's user guides: DGX A100 has EPYC 7742, DGX H100 and B200 have Xeon; AMD's boxes have EPYC."""
    assert find(f"{preset}:2").processor == processor


@pytest.mark.parametrize(
    ("expression", "channels", "speed"),
    [("dgx-a100:1", 12, 20.0), ("dgx-h100:1", 12, 30.0), ("dgx-h100:2,gpus=2,cards=2", 4, 24.0)],
)
def test_channels_are_those_that_nccl_logs(expression, channels, speed):
    """NCCL's logs: issues 1197 (H100) and 1189 (H20, two GPUs and cards); for A100, 12 in the search and 24 in use."""
    machine = find(expression)
    for protocol, most in (("LL128", GENERATIONS[machine.generation]["ring_ll128"]), ("Simple", speed)):
        estimate = model(expression, "all-gather")["ring", protocol]
        wires = channels * min(most, speed * (0.92 if protocol == "LL128" else 1))
        assert estimate.algbw * factor("all-gather", machine.ranks) == pytest.approx(wires * 1e9)


@pytest.mark.parametrize(
    ("expression", "channels", "speed"),
    [
        ("dgx-h100:2", 8, 48),  # 7 links of 8 GPUs: 336 of 370.8 GB/s
        ("dgx-h100:4,cards=4", 8, 24),
        ("h800:2", 8, 22),  # 7 x 22 = 154 of 164.8, and 7 x 24 = 168
        ("h800:2,gpus=4,cards=4", 8, 24),  # 3 links of 4 GPUs: 144 of 164.8 (NCCL issue 1411)
        ("b300:4", 16, 48),
        ("a800:2", 8, 20),
        ("p5:2", 32, 12),
        ("gh200-nvl32:2", 8, 45),
        ("dgx-h100:2,card=80Gb/s", 32, 2.4),  # 4 of 2.4 are more than 3 of 3, and than 1 of 6
        (SINGLE.format(2) + ",card=80Gb/s", 4, 2.4),
    ],
)
def test_channels_between_boxes_are_those_of_nccls_own_search(expression, channels, speed):
    """As `ncclTopoCompute` of search.cc prints them, run on such a topology, with 1 or 2 GPUs a PCIe switch."""
    machine = find(expression)
    ring = model(expression)["ring", "Simple"]
    assert ring.algbw * factor("all-reduce", machine.ranks) == pytest.approx(channels * speed * 1e9)
    assert ring.plateau[0] == 64 * min(64, 2 * channels) * machine.ranks


@pytest.mark.parametrize(
    ("expression", "picks"),  # the power of two of the first size of each
    [
        ("dgx-h100:2", "tree/LL 10, tree/LL128 18, NVLSTree/Simple 21"),
        ("dgx-h100:4", "tree/LL 10, tree/LL128 18, NVLSTree/Simple 23, ring/Simple 30"),
        ("dgx-h100:8", "tree/LL 10, tree/LL128 18, NVLSTree/Simple 24, ring/Simple 32"),
        ("b200:2", "tree/LL 10, tree/LL128 18, NVLSTree/Simple 21"),
        ("h800:2", "tree/LL 10, ring/LL 18, tree/LL128 19, NVLSTree/Simple 21"),
        ("dgx-a100:4", "tree/LL 10, tree/LL128 18, ring/LL128 25, ring/Simple 28"),
    ],
)
def test_what_is_picked_is_what_nccl_picks(expression, picks):
    """As its `ncclTopoGetAlgoTime` has it, after that search: one GPU a PCIe switch, of the A100 two."""
    options = estimates(find(expression), "all-reduce")
    taken = {}
    for power in range(10, 35):
        best = pick(options, 2.0**power)
        taken.setdefault(f"{best.algorithm}/{best.protocol}", power)
    assert taken == {name: int(power) for name, power in (one.split() for one in picks.split(", "))}


def test_nvlstree_on_two_boxes_of_b200_is_counted_by_channels_of_48_and_carries_what_cards_do():
    """NCCL's estimate is 497 GB/s of busbw, and 690 are measured: of 48 GB/s a channel, and of twice the cards."""
    (tree,) = (e for e in estimates(find("b200:2"), "all-reduce") if e.algorithm == "NVLSTree")
    assert tree.ceiling == pytest.approx(8 * 2 * 48 * 0.74 * 7 / 8 * 16 / 30 * 1e9)
    assert tree.algbw == pytest.approx(2 * 8 * 48 * 16 / 30 * 1e9)
    size = 2.0**21  # where a tree's rate is corrected
    assert tree.seconds(size) == pytest.approx(tree.latency + size / (tree.correction[15] * tree.ceiling))


@pytest.mark.parametrize(
    ("expression", "rate"),
    [
        ("dgx-h100:2,cards=4", 8 * 41.4),  # 8 channels of 24, in the box 45, of which 0.92 is the most of a channel
        ("dgx-v100:2", 4 * 18.5),  # 4 channels of 12, in the box 24; 18.5 is the most of a channel
        (SINGLE.format(2), 2 * 41.4 * 0.85),  # 2 channels of 24, raised to 48
        (SINGLE.format(2) + ",link=63GB/s", 2 * 41.4 * 0.85),  # likewise: a GPU alone in its box needs no link
        (SINGLE.format(2) + ",card=10GB/s", 4 * 6 * 0.92 * 0.85),  # 4 channels of 2.4, raised to 6
        ("dgx-h100:3,cards=4", 192 * 0.92),
    ],
)
def test_over_two_boxes_a_tree_has_the_speed_of_its_channels_in_the_box(expression, rate):
    """tuning.cc:306, and search.cc:1279, which raises it up to twice that between boxes."""
    assert model(expression)["tree", "Simple"].algbw == pytest.approx(rate / 2 * 1e9)


@pytest.mark.parametrize(
    ("expression", "algorithm", "microseconds", "rate"),
    [
        # 12 channels of 30 GB/s; a tree sends each byte up and down
        ("dgx-h100:1", ("tree", "LL"), 6.8 + 14 * 0.6, 360 * 0.92 / 3.8 / 2),
        ("dgx-h100:1", ("tree", "LL128"), 14.0 + 14 * 1.25, 360 * 0.92 * 7 / 9 / 2),
        ("dgx-h100:1", ("tree", "Simple"), 8.4 + 14 * 4.0, 360 * 0.92 / 2),
        ("dgx-h100:1", ("NVLS", "Simple"), 25.0, 8 * (2 * 40 * 0.85 * 7 / 8) * 8 / 14),
        # 8 cards of 48 GB/s, each for one GPU, which costs a tree 0.85
        ("dgx-h100:4", ("tree", "LL128"), 14.0 + 14 * 1.25 + 4 * 8.5, 8 * 29.0 * 0.85 / 2),
        ("dgx-h100:4", ("tree", "Simple"), 8.4 + 14 * 4.0 + 4 * 14.0, 8 * 36.0 * 0.85 / 2),
        ("dgx-h100:4,cards=4", ("tree", "Simple"), 8.4 + 14 * 4.0 + 4 * 14.0, 192 * 0.92 / 2),
        ("dgx-a100:4", ("tree", "Simple"), 8.4 + 14 * 4.0 + 4 * 14.0, 8 * 17.8 / 2),
        ("dgx-h100:4", ("NVLSTree", "Simple"), 25.0 + 4 * 20.9, 8 * 45.5 * 32 / 62),
        ("dgx-h100:16", ("NVLSTree", "Simple"), 25.0 + 2 * 4 * 20.9, 8 * 45.5 * 128 / 254),
        # a head for each card: at 4 of them 57.7 is the most of a channel, at 2 twice 60 GB/s, 0.85 and a half of it
        ("dgx-h100:2,cards=4", ("NVLSTree", "Simple"), 25.0 + 2 * 20.9, 4 * 57.7 * 16 / 30),
        ("dgx-h100:2,cards=2", ("NVLSTree", "Simple"), 25.0 + 2 * 20.9, 2 * (2 * 60 * 0.85 / 2) * 16 / 30),
        ("dgx-h100:4,collnet=true", ("NVLS", "Simple"), 25.0 + 18.0, 8 * 48 * 32 / 62),
        ("dgx-h100:2,collnet=true", ("NVLSTree", "Simple"), 25.0 + 2 * 20.9, 8 * 57.7 * 16 / 30),
        ("dgx-h100:4,collnet=true", ("CollNetDirect", "Simple"), 2 * (3.7 + 7 * 0.4) + 31.0, 360 * 0.85 / 2),
        ("dgx-h100:4,collnet=true", ("CollNetChain", "Simple"), 2 * 7 * 2.8 + 30.0, 8 * 48 / 2),
        # 8 cards of 24 GB/s; what CollNetDirect leaves of the wires is 0.85 from Hopper on, all before
        ("dgx-a100:4,collnet=true", ("CollNetDirect", "Simple"), 2 * (3.7 + 7 * 0.4) + 31.0, 8 * 24 / 2),
    ],
)
def test_an_all_reduce_by_hand(expression, algorithm, microseconds, rate):
    """tuning.cc:306 to 430, and the rates of tuning.toml; microseconds, and GB/s of the vector."""
    estimate = model(expression)[algorithm]
    assert estimate.latency == pytest.approx(microseconds * 1e-6)
    assert estimate.algbw == pytest.approx(rate * 1e9)


@pytest.mark.parametrize(("collective", "rate"), [("sendrecv", 48), ("all-to-all", 48 * 31 / 24 * 32 / 31)])
def test_sends_between_boxes_by_hand(collective, rate):
    """4 boxes of 8 with a card each, of which a channel gets 48 GB/s; 24 of 31 messages of an all-to-all take it."""
    (estimate,) = estimates(find("dgx-h100:4"), collective)
    assert estimate.algbw == pytest.approx(rate * 1e9)
    assert estimate.latency == pytest.approx((8.4 + 14.0) * 1e-6)


def test_gpus_that_share_a_card_share_its_rate_in_an_all_to_all():
    """4 boxes of 8 GPUs with 4 cards: each GPU has half of the 48 GB/s that a card gives."""
    (estimate,) = estimates(find("dgx-h100:4,cards=4"), "all-to-all")
    assert estimate.algbw == pytest.approx(48 / 2 * 31 / 24 * 32 / 31 * 1e9)


def test_nvls_needs_two_heads_which_between_boxes_are_gpus_with_a_card():
    """search.cc:756 and tuning.cc:308; so two boxes with half the cards take a tree for large messages."""
    assert ("NVLSTree", "Simple") not in model("dgx-h100:2,cards=1")
    assert ("NVLS", "Simple") in model("dgx-h100:1,cards=1")
    assert pick(estimates(find("dgx-h100:2,cards=4"), "all-reduce"), 2**33).algorithm == "tree"
    assert pick(estimates(find("dgx-h100:2"), "all-reduce"), 2**33).algorithm == "NVLSTree"
