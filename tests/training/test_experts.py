"""Routing, capacity, placement and the uneven all-to-all, against counts of their own."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colllib import execute
from colllib.cli import main
from colllib.evaluation import final_values
from colllib.measured.predict import predict
from colllib.metrics import crossings
from colllib.schedule import reversed_in_time
from colllib.topology import boxes, star
from colllib.topology.expression import find as find_topology
from colllib.topology.machines import find
from colllib.training import experts
from colllib.training.experts import COPIES, DROPPED


@st.composite
def choices(draw):
    """Boxes, and the rank of each choice of a few tokens; some are dropped."""
    shape = draw(st.sampled_from([(1, 3), (2, 1), (2, 2), (2, 3), (3, 2)]))
    ranks, tokens, top_k = shape[0] * shape[1], draw(st.integers(1, 4)), draw(st.integers(1, 4))
    flat = draw(
        st.lists(st.integers(DROPPED, ranks - 1), min_size=ranks * tokens * top_k, max_size=ranks * tokens * top_k)
    )
    return shape, np.array(flat).reshape(ranks, tokens, top_k)


@settings(deadline=None, max_examples=60)
@given(choices(), st.sampled_from(COPIES))
def test_a_dispatch_and_its_combine_prove_themselves_and_move_what_a_plain_loop_counts(given_choices, copies):
    shape, targets = given_choices
    topology = boxes(shape)
    schedule = experts.dispatch(topology, targets, copies)
    run, back = execute(schedule, topology), execute(reversed_in_time(schedule), topology)
    unit = Fraction(1, targets[0].size)
    leaving = Counter()
    for rank, tokens in enumerate(targets.tolist()):
        for token in tokens:
            others = [to for to in token if to not in (DROPPED, rank)]
            outside = [to for to in others if to // shape[1] != rank // shape[1]]
            seen = {"per expert": outside, "per rank": set(outside), "per box": {to // shape[1] for to in outside}}
            leaving[rank] += len(seen[copies])
    up = (topology.link_src < topology.ranks) & np.array([tier.name == "card" for tier in topology.tiers])[
        topology.tier
    ]
    sent = {rank: Fraction(0) for rank in range(topology.ranks)}
    for link in np.flatnonzero(up):
        sent[int(topology.link_src[link])] += run.link_total[link]
    assert sent == {rank: leaving[rank] * unit for rank in range(topology.ranks)}
    assert crossings(run)["card"].total == crossings(back)["card"].total


def test_tokens_arrive_where_their_experts_live_and_sums_come_home():
    topology, random = boxes((2, 4)), np.random.default_rng(1)
    targets = random.integers(0, 8, size=(8, 5, 3))
    out = experts.dispatch(topology, targets, "per box")
    back = reversed_in_time(out)
    outputs = random.integers(1, 1000, size=(8, len(out.blocks)))  # rank r's output for block b, where it holds it
    home = final_values(back, outputs.tolist())
    for block, (source, target) in enumerate(zip(out.blocks.source.tolist(), out.blocks.target.tolist(), strict=True)):
        assert home[source][block] == sum(int(outputs[rank, block]) for rank in out.blocks.holders(target))


def test_what_ranks_send_to_whom_is_what_the_choices_say():
    routing = experts.route(experts.zipf_scores(4, 50, 8, 1.0), top_k=2)
    targets = experts.destinations(routing, experts.by_load([1] * 8, 4))
    counts = [[sum(int(to == j) for to in targets[i].ravel()) for j in range(4)] for i in range(4)]
    run = execute(experts.dispatch(star(4), targets, "per expert"))
    assert list(run.sent) == [Fraction(sum(row) - row[i], 100) for i, row in enumerate(counts)]
    into = [sum(column) - column[j] for j, column in enumerate(zip(*counts, strict=True))]
    assert list(run.received) == [Fraction(count, 100) for count in into]


@given(st.integers(0, 99), st.integers(1, 4), st.fractions(Fraction(1, 10), 3))
@settings(deadline=None, max_examples=40)
def test_no_expert_gets_more_than_its_capacity_and_nothing_is_dropped_without_need(seed, top_k, factor):
    routing = experts.route(experts.zipf_scores(3, 7, 6, 1.2, seed=seed), top_k)
    limit = -(-factor * routing.chosen.size // 6)
    served = experts.with_capacity(routing, factor)
    assert served.load.tolist() == [min(int(n), limit) for n in routing.load]
    assert ((served.chosen == routing.chosen) | (served.chosen == DROPPED)).all()


def test_a_capacity_factor_is_the_decimal_number_that_it_is_written_as():
    """1.1 times ten choices an expert are eleven, though the nearest binary number is above 1.1."""
    routing = experts.Routing(np.zeros((1, 100, 1), dtype=np.intp), 10)
    assert experts.with_capacity(routing, 1.1).load[0] == 11


def test_first_choices_are_served_before_second_ones():
    scores = np.array([[[2.0, 1.0], [1.0, 2.0]]])  # token 0 prefers expert 0, token 1 expert 1; both are full then
    assert experts.with_capacity(experts.route(scores, 2), Fraction(1, 2)).chosen.tolist() == [
        [[0, DROPPED], [1, DROPPED]]
    ]


@pytest.mark.filterwarnings("error")
def test_a_limit_on_boxes_takes_scores_of_any_size():
    assert experts.route(np.array([[[-1e3, -2e3, 1e3, 0.0]]]), 2, boxes=2, most_boxes=1).chosen.tolist() == [[[2, 3]]]


def test_a_limit_on_boxes_is_kept_and_changes_nothing_where_it_allows_all():
    scores = experts.zipf_scores(4, 30, 32, seed=3)
    free, limited, all_of_them = (experts.route(scores, 8, boxes=4, most_boxes=m).chosen for m in (None, 2, 4))
    assert max(len(set(row)) for row in (limited // 8).reshape(-1, 8).tolist()) == 2
    assert np.array_equal(np.sort(free, axis=-1), np.sort(all_of_them, axis=-1))


def test_uniform_choices_visit_as_many_boxes_as_the_closed_form_says():
    from colllib.parallelism import copies

    targets = experts.destinations(experts.route(experts.zipf_scores(16, 400, 64), 8), experts.contiguous(64, 16))
    assert abs(experts.boxes_visited(targets, 4) - copies(64, 8, 4)) < 0.02


@given(st.lists(st.integers(0, 50), min_size=8, max_size=8), st.integers(0, 2))
def test_the_greedy_placement_holds_equally_many_experts_on_every_rank(load, times):
    hosts = experts.by_load(load, 4, copies=4 * times)
    held = Counter(rank for ranks in hosts for rank in ranks)
    assert all(ranks for ranks in hosts)
    assert max(held.values()) <= 2 + times
    if not times:
        assert set(held.values()) == {2}


def test_copies_of_busy_experts_lower_the_busiest_rank_and_a_placement_by_load_helps_at_all():
    routing = experts.route(experts.zipf_scores(8, 200, 32, 1.0), 2)
    busiest = {
        name: np.bincount(experts.destinations(routing, hosts).ravel()).max()
        for name, hosts in {
            "contiguous": experts.contiguous(32, 8),
            "by load": experts.by_load(routing.load, 8),
            "copied": experts.by_load(routing.load, 8, copies=8),
        }.items()
    }
    assert busiest["contiguous"] > busiest["by load"] > busiest["copied"]


def test_the_auxiliary_loss_evens_out_a_gate_and_costs_it_choices():
    tokens = experts.topical_tokens(4, 100)
    gate = np.random.default_rng(0).normal(size=(16, 16)) / 4
    gates = [experts.balanced_gate(gate, tokens, 2, weight) for weight in (0, 4)]
    before, after = (experts.route(tokens @ g, 2) for g in gates)
    assert np.allclose(gates[0], gate)
    assert after.imbalance < before.imbalance
    assert experts.auxiliary_loss(tokens @ gates[1], 2) < experts.auxiliary_loss(tokens @ gate, 2)


def test_the_more_the_auxiliary_loss_weighs_the_smaller_it_gets():
    tokens = experts.topical_tokens(8, 64, seed=2)
    gate = np.random.default_rng(2).normal(size=(16, 64)) / 2
    gates = (experts.balanced_gate(gate, tokens, 4, weight, steps=60) for weight in (0, 1, 2, 4, 8, 16))
    losses = [experts.auxiliary_loss(tokens @ balanced, 4) for balanced in gates]
    assert losses == sorted(losses, reverse=True)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: experts.route(np.zeros((1, 1, 4)), 5), r"top_k = 5: a token can choose 1 to 4 of 4 experts"),
        (lambda: experts.route(np.zeros((1, 1, 4)), 0), "top_k = 0"),
        (lambda: experts.route(np.zeros((1, 1, 4)), 3, boxes=2, most_boxes=1), "most_boxes = 1: must be 2 to 2"),
        (lambda: experts.route(np.zeros((1, 1, 4)), 3, boxes=3), "boxes = 3: must divide the 4 experts"),
        (
            lambda: experts.dispatch(star(4), np.zeros((4, 0, 2), dtype=np.intp)),
            "0 tokens with 2 choices: there is nothing to send",
        ),
        (
            lambda: experts.with_capacity(experts.route(np.zeros((1, 1, 4)), 1), 0),
            "capacity factor 0: must be finite and above 0",
        ),
        (lambda: experts.route(np.full((1, 1, 4), np.nan), 1), "a score is not a number"),
        (lambda: experts.zipf_scores(2, 3, 0), "experts 0: must be at least 1"),
        (lambda: experts.boxes_visited(np.zeros((2, 1, 1), int), 0), "in_box 0"),
        (lambda: experts.contiguous(6, 4), "6 experts on 4 ranks"),
        (lambda: experts.by_load([1, 1], 2, copies=4), "copies = 4"),
        (lambda: experts.by_load([1, 2, 3, 4], 2, copies=-2), "copies = -2: 4 experts on 2 ranks have room for 0 to 4"),
        (lambda: experts.dispatch(star(2), np.zeros((2, 1, 1), int), "per box"), "has no boxes"),
        (
            lambda: experts.dispatch(boxes((2, 2), ranks=3), np.zeros((3, 1, 1), int), "per box"),
            "boxes:2x2,ranks=3 has no boxes of equally many ranks: copies per box need some",
        ),
        (lambda: experts.dispatch(star(2), np.zeros((2, 1, 1), int), "twice"), "copies 'twice'"),
        (lambda: experts.dispatch(star(2), np.full((2, 1, 1), 9)), "a token goes to rank 9"),
        (lambda: experts.dispatch(star(3), np.zeros((2, 1, 1), int)), "tokens of 2 ranks on star:3"),
    ],
)
def test_bad_input_is_refused_in_one_line(call, says):
    with pytest.raises(ValueError, match=says) as error:
        call()
    assert "\n" not in str(error.value)


# -- command line ----------------------------------------------------------------------------------


def command(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main(["experts", *words])
    return left.value.code, capsys.readouterr()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--capacity 0", "capacity factor 0: must be finite and above 0, or no token is served"),
        ("--capacity 1/2", "capacity '1/2': must be a decimal number, as in 1.25"),
        ("--top-k 65", "top_k = 65: a token can choose 1 to 64 of 64 experts"),
        ("--experts 63", "63 experts on 32 ranks: each must hold equally many"),
        ("--experts 0", "experts 0: must be at least 1"),
        ("--tokens 0", "tokens 0: must be at least 1"),
        ("--gate moon", "unknown gate 'moon': known are uniform, zipf"),
        ("--on star:513 --experts 513", "513 ranks are too many, at most 512 will do"),
        ("--most-boxes 9", "most_boxes = 9: must be 1 to 4: a box has 16 experts, k is 8"),
        (
            "--most-boxes 2 --redundant 32",
            "boxes must be of one size, and hold experts in order",
        ),
        ("--most-boxes 2 --on boxes:2x8,ranks=12", "boxes must be of one size"),
        ("--tokens 99999", "99999 tokens a rank are too many, at most 65536 will do"),  # 2^27 / (32 x 64)
        (
            "--on boxes:8x8 --experts 32",
            "take 64 or a multiple, as with 32 redundant ones, or as many ranks as divide 32, as 32 do",
        ),
        (
            "--on nvl72:1 --experts 256",
            "as with 32 redundant ones, or as many ranks as divide 256, as 64 do (gpus=64 keeps",
        ),
        ("--on nvl72:1 --experts 256 --redundant 33", "289 experts on 72 ranks: each must hold equally many"),
    ],
)
def test_the_command_refuses_what_cannot_be_in_one_line(words, message, capsys):
    status, output = command(capsys, *words.split())
    assert status == 2
    assert message in output.err
    assert len(output.err.splitlines()) == 1


@pytest.mark.parametrize("on", ["dgx-h100:2,ranks=12", "boxes:2x4,ranks=6"])
def test_boxes_of_unequal_size_take_no_copies_per_box(on, capsys):
    status, output = command(capsys, "--on", on, "--experts", "24", "--top-k", "2", "--json")
    assert status == 0
    assert json.loads(output.out)["busiest_M"].keys() == {"per expert", "per rank"}


def test_the_command_counts_what_a_count_of_tokens_gives(capsys):
    words = "--on star:4 --experts 8 --top-k 2 --tokens 16 --capacity 1 --gate zipf --json"
    status, output = command(capsys, *words.split())
    result = json.loads(output.out)
    best = np.argsort(-experts.zipf_scores(4, 16, 8, 1.0), axis=-1, kind="stable")[..., :2]
    load = Counter()
    into, out = [0] * 4, [0] * 4
    dropped = 0
    for choice in range(2):  # first choices first, in the order of ranks and tokens
        for rank in range(4):
            for expert in best[rank, :, choice].tolist():
                load[expert] += 1
                if load[expert] > 16:  # 4 * 16 * 2 choices of 8 experts
                    dropped += 1
                elif expert // 2 != rank:
                    into[expert // 2] += 1
                    out[rank] += 1
    assert status == 0
    assert result["dropped"] == dropped / 128
    assert result["busiest_M"]["per expert"]["port"] == max(*into, *out) / 32
    assert list(result["busiest_M"]) == ["per expert", "per rank"]
    assert result["vectors_of_M"] == 16 * 2
    _, output = command(capsys, "--on", "boxes:2x2")
    assert output.out.endswith(
        ": 64 x 8 = 512, 7.34 MB in BF16 and 3.67 MB in FP8 at a width of 7,168, without scales.\n"
    )  # 512 x 14336 B
    assert [line.split("  ")[0] for line in output.out.splitlines()[-5:-2]] == ["per expert", "per rank", "per box"]


def counted(capsys, *words):
    status, output = command(capsys, *words, "--json")
    assert status == 0
    return json.loads(output.out)


def test_the_command_prices_the_schedule_and_names_what_nccl_is_predicted_to_take(capsys):
    """A load of x M takes x M / BW on its link and a latency; M of NCCL's all-to-all is a rank's choices."""
    result = counted(capsys, "--on", "dgx-h100:8", "--experts", "256", "--tokens", "512")
    for name, width in (("BF16", 2), ("FP8", 1)):
        message = 512 * 8 * 7168 * width
        for copies in ("per expert", "per rank"):
            load = result["busiest_M"][copies]
            assert result["time_s"][copies][name] == pytest.approx(2.7e-6 + load["card"] * message / 50e9)
        assert result["nccl_all_to_all_s"][name] == predict(find("dgx-h100:8"), "all-to-all", message).seconds
    assert result["gate"] == "uniform"
    assert 1 < result["imbalance"] < 1.3
    _, output = command(capsys, "--on", "boxes:2x2")
    assert "BF16  " not in output.out
    assert "NCCL" not in output.out


def test_the_command_places_redundant_experts_and_those_of_a_part_of_a_rack(capsys):
    """Of 288 slots of a rack of 72 ranks each holds four; 64 of the ranks hold four of 256."""
    words = "--experts", "256", "--gate", "zipf", "--tokens", "32"
    spread = counted(capsys, "--on", "nvl72:1", *words, "--redundant", "32")
    fewer = counted(capsys, "--on", "nvl72:1,gpus=64", *words)
    assert spread["busiest_M"]["per rank"]["box"] < fewer["busiest_M"]["per rank"]["box"]
    assert list(fewer["busiest_M"]) == ["per expert", "per rank"]


@pytest.mark.parametrize("redundant", [0, 32])
def test_copies_spread_the_load_of_the_busiest_expert_and_the_busiest_rank_is_named(redundant, capsys):
    """Counted token by token, which take turns between copies and do not know which of them chose the expert."""
    words = ["--on", "dgx-h200:4", "--experts", "64", "--gate", "zipf", "--tokens", "16", "--redundant", str(redundant)]
    result = counted(capsys, *words)
    routing = experts.zipf_routing(32, 16, 64, 8, 1.0)
    hosts = experts.by_load(routing.load, 32, redundant) if redundant else [(expert // 2,) for expert in range(64)]
    of_copies, of_ranks = Counter(), Counter()
    for rank in range(32):
        for token in range(16):
            for expert in routing.chosen[rank, token].tolist():
                host = hosts[expert][(rank + token) % len(hosts[expert])]
                of_copies[expert, host] += 1
                of_ranks[host] += 1
    assert result["imbalance_of_copies"] == pytest.approx(max(of_copies.values()) / (32 * 16 * 8 / 64))
    assert result["imbalance_of_ranks"] == pytest.approx(max(of_ranks.values()) / (16 * 8))
    assert (result["imbalance_of_copies"] < result["imbalance"]) is bool(redundant)
    _, output = command(capsys, *words)
    assert f"busiest rank: {result['imbalance_of_ranks']:.2f} times the mean of a rank" in output.out
    assert (f"its busiest copy {result['imbalance_of_copies']:.2f} times" in output.out) is bool(redundant)
    turns = "how long all compute; tokens take turns between copies, not knowing which of them chose the expert\n"
    assert (turns in output.out) is bool(redundant)
    asked = {"experts": 64, "redundant": redundant, "top_k": 8, "tokens": 16, "capacity": None, "ranks": 32}
    assert {name: result[name] for name in asked} == asked
    assert result["message_bytes"] == {"BF16": 16 * 8 * 7168 * 2, "FP8": 16 * 8 * 7168}


def test_the_command_takes_the_published_plan_of_320_ranks_and_experts_that_divide_any_number(capsys):
    result = counted(capsys, "--on", "dgx-h100:40", "--experts", "320", "--tokens", "4", "--width", "5120")
    assert (result["ranks"], result["experts"], result["width"]) == (320, 320, 5120)
    assert result["message_bytes"] == {"BF16": 4 * 8 * 5120 * 2, "FP8": 4 * 8 * 5120}
    usual = [counted(capsys, "--on", on, "--tokens", "4")["experts"] for on in ("dgx-h100:4", "nvl72:1", "star:3")]
    assert usual == [64, 72, 66]
    assert counted(capsys, "--on", "nvl72:1", "--tokens", "4", "--redundant", "8")["experts"] == 64


def test_a_token_that_may_go_to_few_boxes_crosses_to_as_many_at_most(capsys):
    words = "--on", "dgx-h100:8", "--experts", "256", "--tokens", "32"
    free, limited = (counted(capsys, *words, *more)["busiest_M"] for more in ((), ("--most-boxes", "2")))
    scores = experts.zipf_scores(64, 32, 256)
    targets = experts.destinations(experts.route(scores, 8, boxes=8, most_boxes=2), experts.contiguous(256, 64))
    fabric = find_topology("dgx-h100:8")
    run = execute(experts.dispatch(fabric, targets, "per box"), fabric)
    assert limited["per box"]["card"] == float(crossings(run)["card"].most)
    assert limited["per box"]["card"] < free["per box"]["card"] / 2


def test_many_tokens_are_drawn_as_few_are_and_come_near_the_mean():
    few, many = (experts.zipf_routing(8, tokens, 256, 8) for tokens in (64, 4096))
    assert many.chosen.shape == (8, 4096, 8)
    assert all(len(set(token)) == 8 for token in many.chosen[3].tolist())
    assert few.imbalance > many.imbalance > 1
    drawn = experts.route(experts.zipf_scores(4, 32, 64, 1.0, seed=3), 4).chosen
    assert (experts.zipf_routing(4, 32, 64, 4, 1.0, seed=3).chosen == drawn).all()
