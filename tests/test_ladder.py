"""Ladders: executed rungs at the best number of segments."""

import json
from contextlib import suppress
from functools import cache
from itertools import product
from math import inf

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from colllib import ladder as ladders
from colllib.algorithms import alltoall, channels, find, hierarchical, of
from colllib.algorithms.nested import Collision
from colllib.cli import cli
from colllib.cost import Cost
from colllib.execution import execute, expected_seconds
from colllib.ladder import (
    ANCHOR_ALPHA,
    ANCHOR_BANDWIDTH,
    ANCHOR_MESSAGE,
    CLOSED_FORM,
    EXECUTED,
    Entry,
    best,
    entry,
    ladder,
    run,
    standing,
    winners,
)
from colllib.segmentation import continued
from colllib.symmetry import by_symmetry, expected_proof
from colllib.topology import NoRouteError, boxes, fat_tree, leaf_spine, mesh, ring, star, switch_tree, torus
from colllib.topology.expression import find as find_on

ANCHOR = {"message": ANCHOR_MESSAGE, "alpha": ANCHOR_ALPHA, "bandwidth": ANCHOR_BANDWIDTH}


def test_a_ladder_holds_every_algorithm_fastest_first():
    rungs = ladder("all-reduce", star(12), **ANCHOR)
    assert {rung.algorithm for rung in rungs} == set(of("all-reduce"))
    assert [rung.seconds for rung in rungs] == sorted(rung.seconds for rung in rungs)


@pytest.mark.parametrize("primitive", ["all-reduce", "all-gather", "reduce-scatter"])
def test_a_ring_without_latency_has_the_bus_bandwidth_of_the_wire(primitive):
    assert run(find(primitive, "ring"), star(6), message=1e6, alpha=0, bandwidth=3e9).busbw == pytest.approx(3e9)


@pytest.mark.parametrize("message", [1e3, 1e6, 16e6, 1e9])
def test_no_other_number_of_segments_is_faster_when_executed(message):
    tree = find("all-reduce", "double-binary-tree")
    price = {**ANCHOR, "message": message}
    chosen = run(tree, star(16), **price)
    assert chosen.segments == best(tree, 16, **price)
    around = [1, *range(2, 40), chosen.segments + 1]
    assert all(run(tree, star(16), segments=p, **price).seconds >= chosen.seconds for p in around)


def test_one_rank_has_a_ladder_of_all_to_alls_that_send_nothing():
    rungs = ladder("all-to-all", star(1), **ANCHOR)
    assert {rung.seconds for rung in rungs} == {0}
    assert "bruck" in {rung.algorithm.name for rung in rungs}


@pytest.mark.parametrize("message", [1e3, 20e3, 1e6, 1e8])
def test_no_other_base_of_an_all_to_all_is_faster_when_executed(message):
    price = {**ANCHOR, "message": message}
    fastest = ladder("all-to-all", star(24), **price)[0]
    times = [execute(alltoall.bruck(24, radix)).cost.seconds(**price) for radix in range(2, 25)]
    assert fastest.seconds == min(times)
    chosen = fastest.algorithm.chosen.get("radix")
    assert fastest.label == (f"Bruck, radix {chosen}" if chosen else "pairwise")


PIECES = (1, 4, 13)
SHARED, ADDING, RACKS = boxes((2, 4), cards=1), boxes((2, 3), inc="both"), boxes((2, 2, 2))


def hierarchical_row(primitive, on, price):
    [row] = [row for row in ladder(primitive, on, **price) if row.algorithm.name == "hierarchical"]
    return row


def test_a_tier_that_joins_one_box_alone_has_no_name_in_a_table():
    row = hierarchical_row(
        "all-reduce", boxes((1, 8), inc="box"), {"message": 64e3, "alpha": [6e-7, 3e-6], "bandwidth": [450e9, 50e9]}
    )
    assert row.label == "hierarchical, in-network"
    assert "," in row.algorithm.chosen["tiers"]  # it still says both, for who builds it again


@cache
def costs_of_all_algorithms_on_the_tiers(primitive, on):
    plain, axes, costs = find(primitive, "hierarchical"), range(len(on.lattice.dims)), []
    for order in hierarchical.ORDERS:
        for names in product(*(hierarchical.choices(on, axis, primitive, order) for axis in axes)):
            algorithm = plain.configured({"tiers": ",".join(names), "order": order})
            with suppress(Collision):
                costs += [execute(algorithm.build(on, segments=pieces), on).cost for pieces in PIECES]
    return costs


@pytest.mark.parametrize(
    ("primitive", "on", "message"),
    [
        (primitive, on, message)
        for primitive in ("broadcast", "reduce", "all-gather", "reduce-scatter", "all-reduce", "all-to-all")
        for on, message in ((SHARED, 1e3), (SHARED, 1e7), (ADDING, 1e6), (RACKS, 1e6))
        if on is not RACKS or primitive not in ("reduce", "reduce-scatter")  # as broadcast and all-gather backwards
    ],
    ids=str,
)
def test_no_other_algorithms_on_the_tiers_are_faster_in_any_number_of_segments(primitive, on, message):
    price = {
        "message": message,
        "alpha": [1e-6, 4e-6, 9e-6][: on.levels],
        "bandwidth": [450e9, 50e9, 20e9][: on.levels],
    }
    row = hierarchical_row(primitive, on, price)
    times = [cost.seconds(**price) for cost in costs_of_all_algorithms_on_the_tiers(primitive, on)]
    assert len(times) > len(hierarchical.ORDERS) * len(PIECES)
    assert row.seconds <= min(times) * (1 + 1e-12)
    assert row.label.startswith("hierarchical")
    assert all(str(value) in row.label for name, value in row.algorithm.chosen.items() if name == "order")


RAILS = {"rails": 4, "oversubscription": 4}


@pytest.mark.parametrize(
    ("on", "turns"),
    [
        (boxes((4, 4), **RAILS), True),  # no ring leaves its rail
        (boxes((3, 4), **RAILS), True),  # one hop of each does
        (boxes((3, 4), ranks=11, **RAILS), True),
        (boxes((2, 4), rails=4, apart=True), True),  # alike there is no route
        (boxes((3, 4)), False),  # both take the same
    ],
    ids=str,
)
@pytest.mark.parametrize("primitive", ["broadcast", "reduce", "all-gather", "reduce-scatter", "all-reduce"])
def test_channels_run_in_the_turn_that_is_faster_when_executed_and_the_row_says_which(primitive, on, turns):
    price = {"message": 1e7, "alpha": (1e-6, 4e-6, 4e-6)[: on.levels], "bandwidth": (450e9, 50e9, 50e9)[: on.levels]}
    [row] = [row for row in ladder(primitive, on, **price) if row.algorithm.name == "channels"]
    times, plain = [], find(primitive, "channels")
    for turn, pieces in product(channels.TURNS, (1, 5, 20) if plain.segmented else (1,)):
        with suppress(NoRouteError):
            times.append(run(plain.configured({"turn": turn}), on, segments=pieces, **price).seconds)
    assert row.seconds <= min(times) * (1 + 1e-12)
    assert row.label.split(", P")[0] == ("ring channels, alternate" if turns else "ring channels")
    assert row.not_run is None


def test_on_rails_an_all_reduce_in_channels_waits_for_a_card_and_not_for_the_spine():
    """By hand, 4 x 8, two to one: 62 steps, in each M/256 over every card; alike M/64 over an uplink as fast as two."""
    price = {"message": 1e9, "alpha": (0.6e-6, 2.7e-6, 2.7e-6), "bandwidth": (450e9, 50e9, 50e9)}
    on = boxes((4, 8), rails=8, oversubscription=2)
    [row] = [row for row in ladder("all-reduce", on, **price) if row.algorithm.name == "channels"]
    assert row.seconds == pytest.approx(62 * (2.7e-6 + 1e9 / 256 / 50e9), rel=1e-12)
    alike = run(find("all-reduce", "channels"), on, **price)
    assert alike.seconds == pytest.approx(62 * (2.7e-6 + 1e9 / 64 / 100e9), rel=1e-12)


@pytest.mark.parametrize(("more", "noted"), [(RAILS, "alternate too long to run: "), ({}, "None")], ids=str)
def test_a_turn_that_would_be_faster_and_takes_long_to_run_is_in_the_row(monkeypatch, more, noted):
    on = boxes((4, 4), **more)
    price = {"message": 1e7, "alpha": (1e-6, 4e-6, 4e-6)[: on.levels], "bandwidth": (450e9, 50e9, 50e9)[: on.levels]}
    monkeypatch.setattr(ladders, "LONGEST", 0.0)
    [row] = [row for row in ladder("all-gather", on, **price) if row.algorithm.name == "channels"]
    assert row.label == "ring channels"
    assert str(row.not_run).startswith(noted)
    if row.not_run:
        alternate = run(row.not_run.entry.algorithm, on, **price)
        assert row.not_run.seconds == pytest.approx(alternate.seconds, rel=1e-12)
        monkeypatch.setattr(ladders, "WORTH", 1.01 * (1 - alternate.seconds / row.seconds))  # more than it saves
        [row] = [row for row in ladder("all-gather", on, **price) if row.algorithm.name == "channels"]
        assert row.not_run is None


@pytest.mark.parametrize("wires", [torus((4, 4)), mesh((4, 3)), ring(9), switch_tree(12, 4, uplinks=1)], ids=str)
@pytest.mark.parametrize("name", ["chain", "two-tree"])
def test_on_wires_of_other_kinds_segments_are_counted_there_and_not_on_a_star(wires, name):
    algorithm = find("broadcast", name)
    chosen = run(algorithm, wires, **ANCHOR)
    on_star = run(algorithm, wires, segments=best(algorithm, wires.ranks, **ANCHOR), **ANCHOR)
    assert chosen.seconds <= on_star.seconds


def test_a_pipelined_tree_on_a_torus_gains_from_fewer_segments_than_on_a_star():
    tree = find("all-reduce", "double-binary-tree")
    assert run(tree, torus((8, 8)), **ANCHOR).segments < best(tree, 64, **ANCHOR)


@pytest.mark.parametrize(
    "primitive", ["broadcast", "reduce", "all-gather", "reduce-scatter", "all-reduce", "all-to-all"]
)
def test_through_two_tiers_of_switches_segments_are_counted_there(primitive):
    tree = find_on("inc-switch-tree:12x5")  # the closed form is that of one switch
    for row in (row for row in ladder(primitive, tree, **ANCHOR) if row.algorithm.name.startswith("in-network")):
        pieces = range(1, row.segments + 20)
        assert row.seconds <= min(run(row.algorithm, tree, segments=p, **ANCHOR).seconds for p in pieces)
        assert row.segments > 1


SEGMENTED = [
    ("torus:4x4", "broadcast circulant"),
    ("mesh:4x3", "all-reduce reduce-broadcast"),
    ("ring:9", "reduce two-tree"),
    ("switch-tree:12x4,uplinks=1", "broadcast chain"),
    ("inc-switch-tree:12x5", "all-to-all in-network"),
    ("star:12,ports=2", "all-reduce double-binary-tree"),
    ("hypercube:3", "broadcast binomial-tree"),
    ("boxes:3x2", "reduce circulant"),
    ("boxes:3x4,cards=2", "all-reduce reduce-broadcast"),
    ("boxes:4x2", "all-reduce tree"),
    ("boxes:2x3x2,cards=1", "broadcast two-tree"),
    ("boxes:4x2,inc=both", "all-reduce nvls-tree"),
]


@settings(max_examples=40, deadline=None)
@given(
    row=st.sampled_from(SEGMENTED),
    message=st.floats(1e3, 4e5),
    alpha=st.tuples(*[st.floats(1e-6, 1e-5)] * 3),
    bandwidth=st.tuples(*[st.floats(1e10, 1e11)] * 3),
)
def test_of_all_numbers_of_segments_the_best_is_found(row, message, alpha, bandwidth):
    candidate = entry(*row[1].split(), row[0])
    levels = candidate.topology.levels
    price = {"message": message, "alpha": alpha[:levels], "bandwidth": bandwidth[:levels]}
    priced, chosen, times = candidate.priced(**price), run(candidate.algorithm, candidate.topology, **price), []
    while True:
        cost = candidate.execution(len(times) + 1).cost
        times.append(cost.seconds(**price))
        if cost.seconds(**price | {"message": 0}) > min(times):
            break  # further segments only add latencies
    assert priced.seconds == chosen.seconds == pytest.approx(min(times), rel=1e-12)
    assert chosen.not_run is None


@pytest.mark.parametrize(("message", "known"), [(16e6, False), (16e9, True)])
def test_where_the_best_number_takes_too_long_to_run_the_row_says_what_is_known_of_it(monkeypatch, message, known):
    """Two rounds of as many segments as there are steps say what all take; where these are too many, nobody knows."""
    tree, on, price = find("broadcast", "two-tree"), torus((4, 4)), ANCHOR | {"message": message}
    free, steps = run(tree, on, **price), Entry(tree, on).schedule().num_steps
    assert (free.segments > steps + 4) == known
    monkeypatch.setattr(ladders, "LONGEST", expected_seconds("", Entry(tree, on).schedule(free.segments - 2), on))
    limited = run(tree, on, **price)
    assert free.not_run is None
    assert limited.segments < limited.not_run.segments <= free.segments
    if known:
        assert limited.not_run.seconds == pytest.approx(free.seconds, rel=1e-12)
        assert str(limited.not_run).startswith(f"P = {free.segments} too long to run: ")
    else:
        assert limited.not_run.seconds is None
        assert str(limited.not_run) == f"P > {limited.not_run.segments - 1} not tried"


def test_further_segments_that_can_be_no_faster_are_not_said_to_be_missing(monkeypatch):
    """Five segments at most may run; the sixth adds a latency, and at 3 MB takes longer than the two that are best."""
    tree, on, price = find("broadcast", "two-tree"), torus((4, 4)), ANCHOR | {"message": 3e6}
    times = [run(tree, on, segments=pieces, **price).seconds for pieces in range(1, 7)]
    monkeypatch.setattr(ladders, "MOST_SEGMENTS", 6)
    monkeypatch.setattr(ladders, "LONGEST", expected_seconds("", Entry(tree, on).schedule(5), on))
    limited = run(tree, on, **price)
    assert (limited.seconds, limited.segments) == (min(times), 2)
    assert times[5] > times[1]
    assert limited.not_run is None


def test_as_many_segments_are_run_as_there_is_time_for(monkeypatch):
    chain, on, price = find("broadcast", "chain"), torus((4, 4)), ANCHOR | {"message": 1e9}
    most = run(chain, on, **price).segments // 2  # so that each of them is faster than the one before
    monkeypatch.setattr(ladders, "LONGEST", expected_seconds("", Entry(chain, on).schedule(most), on))
    assert run(chain, on, **price).segments == most


@pytest.mark.parametrize(("pieces", "label"), [(1, "chain"), (2, "chain, P = 2"), (3, "chain, P = 3")])
def test_a_row_says_into_how_many_segments_the_vector_is_cut(pieces, label):
    assert run(find("broadcast", "chain"), star(4), segments=pieces, **ANCHOR).label == label


def test_without_a_topology_a_ladder_is_of_512_ranks_on_a_star():
    assert invoked("ladder", "point-to-point").startswith("point-to-point on star:512 ")


@pytest.mark.parametrize("name", ["two-tree", "chain"])
def test_one_segment_is_run_however_long_it_takes(monkeypatch, name):
    monkeypatch.setattr(ladders, "LONGEST", 0.0)
    many, one = (run(find("broadcast", name), torus((4, 4)), **ANCHOR | {"message": size}) for size in (16e6, 1.0))
    assert (many.segments, one.segments) == (1, 1)
    assert many.not_run.segments > 1
    assert one.not_run is None or one.not_run.segments > 1


@settings(max_examples=60, deadline=None)
@given(
    row=st.sampled_from(SEGMENTED),
    further=st.integers(0, 60),
    alpha=st.tuples(*[st.floats(1e-6, 1e-5)] * 3),
    bandwidth=st.tuples(*[st.floats(1e10, 1e11)] * 3),
)
def test_two_rounds_say_what_every_number_of_segments_takes(row, further, alpha, bandwidth):
    candidate = entry(*row[1].split(), row[0])
    levels, steps = candidate.topology.levels, candidate.schedule().num_steps
    price = {"message": 1e8, "alpha": alpha[:levels], "bandwidth": bandwidth[:levels]}

    def parts(pieces):
        assert pieces < steps + 2 * candidate.rounds
        cost = candidate.execution(pieces).cost
        wait = cost.seconds(**price | {"message": 0})
        return wait, cost.seconds(**price) - wait

    pieces = steps + 2 * candidate.rounds + further
    executed = candidate.execution(pieces).cost.seconds(**price)
    assert sum(continued(parts, steps, candidate.rounds)(pieces)) == pytest.approx(executed, rel=1e-9)


@pytest.mark.parametrize("on", [leaf_spine(2, 2, 2), fat_tree(4)], ids=str)
def test_one_alpha_and_one_bandwidth_need_no_list_where_there_is_one_level(on):
    listed = {"message": 16e6, "alpha": [ANCHOR["alpha"]], "bandwidth": [ANCHOR["bandwidth"]]}
    plain = [row.label for row in ladder("all-reduce", on, **ANCHOR)]
    assert plain == [row.label for row in ladder("all-reduce", on, **listed)]


def test_segments_for_an_algorithm_that_takes_none_are_refused():
    with pytest.raises(ValueError, match="takes no segments"):
        run(find("all-reduce", "ring"), star(4), segments=2, **ANCHOR)


@pytest.mark.parametrize("on", [SHARED, boxes((4, 2))], ids=str)
@pytest.mark.parametrize("primitive", ["all-gather", "all-reduce", "all-to-all"])
def test_a_search_among_ways_that_one_rank_is_run_for_finds_what_one_among_executions_does(monkeypatch, primitive, on):
    price = {"message": 1e7, "alpha": (1e-6, 4e-6, 9e-6)[: on.levels], "bandwidth": (450e9, 50e9, 20e9)[: on.levels]}
    executed = hierarchical_row(primitive, on, price)
    monkeypatch.setattr(ladders, "IN_FULL", 0)
    row = hierarchical_row(primitive, on, price)
    assert (executed.how, row.how) == ("executed", "by symmetry")
    assert (row.label, row.seconds) == (executed.label, executed.seconds)


def test_where_one_rank_is_run_for_all_no_more_segments_are_chosen_than_there_is_time_for(monkeypatch):
    on, price = boxes((4, 2)), {"message": 1e9, "alpha": (1e-6, 4e-6), "bandwidth": (450e9, 50e9)}
    monkeypatch.setattr(ladders, "IN_FULL", 0)
    free = hierarchical_row("all-gather", on, price)
    monkeypatch.setattr(ladders, "LONGEST", expected_proof(free.entry.schedule()) * free.segments / 2)
    row = hierarchical_row("all-gather", on, price)
    assert 1 < row.segments <= free.segments / 2
    assert row.seconds > free.seconds
    assert free.not_run is None
    assert (row.not_run.entry.algorithm.chosen, row.not_run.segments) == (free.algorithm.chosen, free.segments)
    assert row.not_run.seconds == pytest.approx(free.seconds, rel=1e-12)
    assert f"P = {free.segments} too long to run: " in str(row.not_run)


@pytest.mark.parametrize("primitive", ladders.PRIMITIVES)
@pytest.mark.parametrize("on", ["star:1", "ring:1", "torus:1x1", "full-mesh:1", "mesh:1x1", "switch-tree:1x4"])
def test_on_one_rank_every_row_takes_no_time(primitive, on):
    rungs = ladder(primitive, find_on(on), **ANCHOR)
    assert rungs
    assert {(rung.seconds, rung.segments) for rung in rungs} == {(0, 1)}
    assert {rung.busbw for rung in rungs} <= {0, inf}


def test_the_command_says_in_the_row_what_was_too_long_to_run(monkeypatch):
    words = ["ladder", "all-gather", "--on", "dgx-h100:4", "--message", "1GB"]
    [free] = [row for row in json.loads(invoked(*words, "--json"))["rungs"] if row["algorithm"] == "hierarchical"]
    algorithm = find("all-gather", "hierarchical").configured(dict(option.split("=") for option in free["options"]))
    on = find_on("dgx-h100:4")
    takes = expected_seconds("", Entry(algorithm, on).schedule(free["segments"] // 2), on)
    monkeypatch.setattr(ladders, "LONGEST", takes)
    [row] = [row for row in json.loads(invoked(*words, "--json"))["rungs"] if row["algorithm"] == "hierarchical"]
    assert free["not_run"] is None
    assert row["not_run"]["time_s"] == pytest.approx(free["time_s"], rel=1e-12)
    assert (row["not_run"]["options"], row["not_run"]["segments"]) == (free["options"], free["segments"])
    assert row["time_s"] > free["time_s"]
    assert f"P = {free['segments']} too long to run: " in invoked(*words)


def invoked(*words):
    return CliRunner().invoke(cli, words).output


@pytest.mark.parametrize("primitive", ["all-to-all", "all-gather"])
def test_with_more_pairs_of_ranks_than_blocks_fit_no_other_algorithms_on_the_tiers_are_faster(primitive):
    on, plain = boxes((2048, 8)), find(primitive, "hierarchical")
    price = {"message": 16e6, "alpha": (0.6e-6, 2.7e-6), "bandwidth": (450e9, 50e9)}
    row = hierarchical_row(primitive, on, price)
    assert row.how == "by symmetry"
    known = [a.name for a in of(primitive) if a.name in ("pairwise", "bruck", "recursive-doubling")]
    configured = [plain.configured({"tiers": ",".join(names)}) for names in product(known, repeat=2)]
    runs = (
        by_symmetry(algorithm.build(on, segments=pieces), on)
        for algorithm in configured
        for pieces in (1, row.segments)
    )
    assert row.seconds == pytest.approx(min(run.cost.seconds(**price) for run in runs), rel=1e-12)


def test_no_switch_adds_where_each_has_one_rank():
    price = {"message": 1e6, "alpha": (0.6e-6, 2.7e-6), "bandwidth": (450e9, 50e9)}
    single, alone = (
        ladders.field_of("all-reduce", find_on(on), **price)[1] for on in ("boxes:5x1", "boxes:1x4,inc=both")
    )
    assert single["nvls-tree"] == alone["collnet"] == "needs several ranks for a switch to add"


def test_collnet_has_a_place_only_where_the_messages_of_a_rank_may_as_well_leave_one_by_one():
    """By hand: short ones take two steps in the box, or 14, and one through the network; of large ones the bytes count.

    Software needs six in the box, so it is between.
    """
    price = {"alpha": (0.6e-6, 2.7e-6), "bandwidth": (450e9, 50e9)}
    net = find_on("dgx-h100:8,inc=network")
    rungs, left_out = ladders.field_of("all-reduce", net, message=1.0, **price)
    assert left_out["collnet"] == (
        "takes 3.9 µs if the messages of a rank in a step pass its link at once, 11.1 µs if an alpha apart"
    )
    rungs, left_out = ladders.field_of("all-reduce", net, message=1e9, **price)
    assert rungs[0].algorithm.name == "collnet"
    assert "collnet" not in left_out


def test_of_two_that_would_change_places_if_messages_left_an_alpha_apart_only_one_has_a_place():
    """By hand on 8 ranks at 5 alpha BW: direct takes 10.75 or 14 alpha, in radix 3 it is 12.75, Rabenseifner 14.75."""
    price = {"message": 5.0, "alpha": 1.0, "bandwidth": 1.0}
    among = [find("all-reduce", name) for name in ("direct", "knomial", "rabenseifner")]
    rungs, left_out = ladders.field_of("all-reduce", star(8), among, searching=True, **price)
    assert [(rung.label, rung.seconds) for rung in rungs] == [("k-nomial, radix 3", 12.75), ("Rabenseifner", 14.75)]
    assert left_out["direct"].startswith("takes 10.75 s if")


def test_an_entry_is_in_one_piece_and_executed_unless_told_otherwise():
    chain = entry("broadcast", "chain", "star:4")
    assert chain.execution().cost == Cost(3, 3)
    ring = entry("all-reduce", "ring", "star:4")
    assert (ring.how, entry("all-reduce", "ring", "star:4", trusting=True).how) == (EXECUTED, CLOSED_FORM)


def test_what_is_a_little_slower_is_no_winner():
    pairwise, bruck = (standing("all-to-all", name, 4, 5.0).seconds for name in ("pairwise", "bruck"))
    assert (pairwise, bruck) == (3 + 5 * 3 / 4, 2 + 5 * 1)  # in so many steps, and parts of M
    assert [algorithm.name for algorithm in winners("all-to-all", 4, 5.0)] == ["pairwise"]


@pytest.mark.parametrize("primitive", ["all-reduce", "all-to-all", "broadcast"])
def test_on_one_rank_where_nothing_takes_time_all_win(primitive):
    assert winners(primitive, 1, 5.0) == tuple(algorithm for algorithm in of(primitive) if algorithm.fits(1))
