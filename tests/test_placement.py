"""Where ranks stand: the same end state in any order, and what crosses the boxes counted from the order alone."""

import json
from fractions import Fraction

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from colllib.algorithms import find, of
from colllib.cli import cli
from colllib.execution import execute
from colllib.placement import at_places, in_groups, local_search, order_of
from colllib.primitives import PRIMITIVES
from colllib.schedule import placed
from colllib.topology import boxes, from_links, star, torus

FREE = {"message": 1e9, "alpha": (0.0, 0.0), "bandwidth": (450e9, 50e9)}
SIX = ["broadcast", "reduce", "all-reduce", "all-gather", "reduce-scatter", "all-to-all"]


def crossings(order, inner):
    """How often a ring in this order of places changes its box."""
    box = np.asarray(order) // inner
    return int((box != np.roll(box, 1)).sum())


@given(st.integers(1, 4), st.integers(1, 4), st.sampled_from(["contiguous", "strided", "random"]), st.data())
@settings(max_examples=80, deadline=None)
def test_in_any_place_the_primitive_becomes_true_and_a_rank_sends_as_much(count, inner, kind, data):
    net = boxes((count, inner))
    chosen = data.draw(st.sampled_from([a for p in SIX for a in of(p) if a.fits(net.ranks)]))
    order = order_of(net, kind, seed=data.draw(st.integers(0, 5)))
    assert sorted(order.tolist()) == list(range(net.ranks))
    plain, relocated = (execute(a.build(net.ranks), net) for a in (chosen, at_places(chosen, order)))
    assert PRIMITIVES[chosen.primitive].accepts(relocated.schedule.blocks)
    assert [relocated.sent[place] for place in order] == list(plain.sent)


@given(st.integers(2, 4), st.integers(2, 4), st.sampled_from(["contiguous", "strided", "random"]))
@settings(max_examples=30, deadline=None)
def test_what_a_ring_puts_on_all_cards_follows_from_how_often_it_changes_its_box(count, inner, kind):
    net = boxes((count, inner))
    order = order_of(net, kind, seed=1)
    run = execute(at_places(find("all-gather", "ring"), order).build(net.ranks), net)
    up = [k for k in range(net.num_links) if net.link_src[k] < net.ranks and net.tiers[net.tier[k]].name == "card"]
    share = Fraction(net.ranks - 1, net.ranks)
    assert sum(run.link_total[k] for k in up) == crossings(order, inner) * share


@pytest.mark.parametrize(
    ("primitive", "name", "topology", "stays"),
    [("all-reduce", "dim-ring", torus((4, 4)), False), ("all-reduce", "ring", star(8), True)],
)
def test_at_other_places_a_closed_form_stays_only_where_no_rank_is_nearer_than_others(primitive, name, topology, stays):
    chosen = find(primitive, name)
    relocated = at_places(chosen, order_of(topology, "random"))
    cost = execute(relocated.build(relocated.argument(topology)), topology).cost
    assert (cost == chosen.cost(chosen.argument(topology))) == stays
    assert relocated.costs_its_closed_form(topology) == stays


def test_a_strided_ring_crosses_the_cards_in_every_hop():
    assert crossings(order_of(boxes((4, 8)), "contiguous"), 8) == 4
    assert crossings(order_of(boxes((4, 8)), "strided"), 8) == 32
    with pytest.raises(ValueError, match=r"must be one of contiguous, strided, random$"):
        order_of(boxes((4, 8)), "search")


def test_the_search_finds_an_order_that_changes_each_box_once():
    net = boxes((3, 3), cards=1)
    ring, strided = find("all-reduce", "ring").build(9), order_of(net, "strided")
    order = local_search(placed(ring, strided.tolist()), net, seed=3, tries=300, **FREE)[strided]
    assert crossings(order, 3) == 3
    searched, far = (execute(placed(ring, list(at)), net).cost.seconds(**FREE) for at in (order, strided))
    assert searched == execute(ring, net).cost.seconds(**FREE) < far


@pytest.mark.parametrize("seed", range(3))
def test_no_order_that_is_local_search_is_slower_than_rank_order(seed):
    net = boxes((3, 4))
    phases = find("all-reduce", "hierarchical").build(net)
    order = local_search(phases, net, seed=seed, tries=10, **FREE)
    searched, near, far = (
        execute(placed(phases, at.tolist()), net).cost.seconds(**FREE)
        for at in (order, order_of(net, "contiguous"), order_of(net, "random", seed))
    )
    assert searched <= near < far


@pytest.mark.parametrize("seed", range(4))
def test_of_two_ranks_the_root_gets_the_wider_way_out(seed):
    net = from_links("lopsided", 2, [(0, 1), (1, 0)], bandwidth=[1, 2])
    price = {"message": 1e9, "alpha": 0, "bandwidth": 1e9}
    assert local_search(find("broadcast", "chain").build(2), net, seed=seed, tries=20, **price)[0] == 1


@given(st.integers(1, 4), st.integers(1, 4), st.booleans(), st.sampled_from(SIX))
@settings(max_examples=40, deadline=None)
def test_groups_are_of_neighbors_or_across_and_each_has_a_message(count, size, across, primitive):
    chosen = next(a for a in of(primitive) if a.fits(size))
    schedule = in_groups(chosen, size, across).build(count * size)
    execute(schedule)
    assert schedule.blocks.share.total() == count * chosen.build(size).blocks.share.total()
    for t in range(schedule.num_steps):
        step = schedule.step(t)
        same = (step.src - step.dst) % count == 0 if across else step.src // size == step.dst // size
        assert same.all()


SPEEDS = ["--bandwidth", "450GB/s,50GB/s", "--json"]


def answer(*words):
    result = CliRunner().invoke(cli, ["run", *words, "--on", "boxes:4x4", "--alpha", "0us,0us", *SPEEDS])
    assert result.exit_code == 0, result.exception
    return json.loads(result.output)


@pytest.mark.parametrize(
    ("algorithm", "on", "group"),
    [("all-reduce ring", "star:4", "inside:1"), ("point-to-point direct", "hypercube:2", "across:1")],
)
def test_where_nothing_is_sent_no_better_order_is_sought(algorithm, on, group):
    words = ["run", *algorithm.split(), "--on", on, "--groups", group, "--placement", "search", "--json"]
    result = CliRunner().invoke(cli, words)
    assert (result.exit_code, json.loads(result.output)["time_s"]) == (0, 0)


def test_the_command_line_places_and_groups(monkeypatch):
    monkeypatch.setattr("colllib.placement.SEARCHED", 0.1)
    tensor, data = (
        answer("all-reduce", "ring", "--groups", f"{direction}:4", "--message", "1GB")
        for direction in ("inside", "across")
    )
    assert tensor["correct"]
    assert data["correct"]
    # by hand: 2 * 3/4 M at the speed of its links, without and with cards
    assert (tensor["time_s"], data["time_s"]) == (pytest.approx(1.5e9 / 450e9), pytest.approx(1.5e9 / 50e9))
    assert (tensor["busbw_GBps"], data["busbw_GBps"]) == (pytest.approx(450), pytest.approx(50))
    near, far = (answer("all-gather", "ring", "--placement", kind) for kind in ("contiguous", "strided"))
    assert near["time_s"] == pytest.approx(far["time_s"])  # a card for each rank: a hop is a hop
    assert answer("all-gather", "ring", "--placement", "search,1")["correct"]
    # a hierarchical schedule that takes ranks to be contiguous, on strided ones: its boxes' traffic is all on the cards
    near, far = (answer("all-reduce", "hierarchical", "--placement", kind) for kind in ("contiguous", "strided"))
    assert [far["time_s"] > near["time_s"], far["correct"]] == [True, True]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["ring", "--placement", "far"], "placement 'far': must be one of contiguous, strided, random, search"),
        (["ring", "--placement", "strided,1"], "strided takes no seed"),
        (["ring", "--placement", "random,x"], "placement: the seed"),
        (["nvls", "--placement", "strided"], "a schedule that uses switches belongs to its topology"),
        (["hierarchical", "--groups", "inside:4"], "groups can be given to algorithms that go by rank numbers"),
        (["ring", "--groups", "inside:5"], "groups of 5: must divide 16 ranks"),
        (["ring", "--groups", "inside:0"], "groups of 0: must divide 16 ranks"),
        (["ring", "--groups", "4"], "must be such as inside:8 or across:8"),
    ],
)
def test_places_and_groups_that_cannot_be_are_refused(words, complaint):
    line = [
        "run",
        "all-reduce",
        *words,
        "--on",
        "boxes:4x4,inc=both",
        "--alpha",
        "1us,1us",
        "--bandwidth",
        "1GB/s,1GB/s",
    ]
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refusal:
        CliRunner().invoke(cli, line, catch_exceptions=False)
    assert complaint in str(refusal.value)
