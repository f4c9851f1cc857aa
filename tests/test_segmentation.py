"""What a search asks before it executes: held to executions of the very schedules that it prices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from colllib import limits, segmentation
from colllib.algorithms import CATALOGUE, allreduce, find, hierarchical
from colllib.algorithms.nested import Collision, flows
from colllib.execution import execute
from colllib.ladder import Entry, ladder, run
from colllib.schedule import pipelined
from colllib.segmentation import Pricing, Traffic, overlapped
from colllib.topology import boxes, expression, fat_tree, leaf_spine, star
from colllib.topology.mi250 import mi250

PRIMITIVES = ["broadcast", "reduce", "all-gather", "reduce-scatter", "all-reduce", "all-to-all"]


def price_on(topology):
    levels = topology.levels
    return {"message": 1e6, "alpha": [1e-6, 4e-6, 9e-6][:levels], "bandwidth": [450e9, 50e9, 20e9][:levels]}


@pytest.mark.parametrize("pieces", [1, 2, 3, 7, 20])
@pytest.mark.parametrize(
    ("whole", "on"),
    [
        (hierarchical.all_reduce(boxes((3, 4)), tiers="recursive-doubling,binomial-tree"), boxes((3, 4), cards=2)),
        (hierarchical.broadcast(boxes((2, 2, 3)), root=5), boxes((2, 2, 3), oversubscription=2)),
        (hierarchical.all_to_all(boxes((3, 2)), order="outer-first"), boxes((3, 2), rails=2)),
        (allreduce.ring(1), star(1)),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_how_segments_overlap_is_what_executing_them_takes(whole, on, pieces):
    price = price_on(on)
    cut = execute(pipelined(whole, pieces), on)
    assert sum(overlapped(whole, on, **price)(pieces)) == pytest.approx(cut.cost.seconds(**price), rel=1e-12)


@pytest.mark.parametrize(
    "algorithm", [each for each in CATALOGUE if each.overlaps], ids=lambda each: f"{each.primitive} {each.name}"
)
@pytest.mark.parametrize("ranks", [6, 8])
@pytest.mark.parametrize("pieces", [2, 5])
def test_what_is_said_to_overlap_does(algorithm, ranks, pieces):
    on = boxes((2, ranks // 2), inc="both")
    argument, price = algorithm.argument(on), price_on(on)
    cut = execute(algorithm.build(argument, segments=pieces), on)
    assert sum(overlapped(algorithm.build(argument), on, **price)(pieces)) == pytest.approx(cut.cost.seconds(**price))


@settings(max_examples=300, deadline=None)
@given(data=st.data(), seldom=st.sampled_from([1, 3, segmentation.SELDOM]))
def test_links_that_are_seldom_busy_count_as_those_that_often_are(data, seldom):
    """Step by step and link by link, in two parts that follow one another."""
    links = data.draw(st.integers(1, 4))
    lasting = st.sampled_from([0, 0, 0, 1, 2.5, 7])
    step = st.tuples(st.integers(0, 3), st.lists(lasting, min_size=links, max_size=links))
    parts = data.draw(st.lists(st.lists(step, min_size=1, max_size=12), min_size=1, max_size=3))
    pieces = data.draw(st.integers(1, 30))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segmentation, "SELDOM", seldom)
        time = sum(Traffic.joined([traffic_of(part) for part in parts]).in_segments()(pieces))
    steps = [step for part in parts for step in part]
    expected = 0
    for t in range(len(steps) + pieces - 1):
        window = steps[max(0, t - pieces + 1) : t + 1]
        expected += (
            max(wait for wait, _ in window) + max(map(sum, zip(*(busy for _, busy in window), strict=True))) / pieces
        )
    assert time == pytest.approx(expected, rel=1e-12)


def traffic_of(steps):
    busy = np.array([busy for _, busy in steps])
    of, step = np.nonzero(busy.T)
    return Traffic(np.array([float(wait) for wait, _ in steps]), np.arange(busy.shape[1]), of, step, busy[step, of])


FABRICS = [
    boxes((3, 4)),
    boxes((4, 4), cards=1, oversubscription=3),
    boxes((2, 2, 4), oversubscription=(1, 2)),
    boxes((3, 6), rails=3),
    boxes((2, 4), inc="both"),
    boxes((2, 3, 2), inc="network"),
    boxes((4, 4), inside="full-mesh"),
    boxes((4, 2), cards=1, oversubscription=1, seed=5),
    leaf_spine(3, 2, 2),
    fat_tree(4, routing="hash", seed=2),
    mi250(2),
]


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_phases_priced_one_by_one_are_the_schedule_executed(data):
    """Each phase routed beside the usual algorithms on the other tiers, as a ladder does it."""
    on = data.draw(st.sampled_from([fabric for fabric in FABRICS if fabric.lattice is not None]))
    primitive, order = data.draw(st.sampled_from(PRIMITIVES)), data.draw(st.sampled_from(hierarchical.ORDERS))
    axes, root = range(len(on.lattice.dims)), 0 if primitive in ("broadcast", "reduce") else None
    names = [data.draw(st.sampled_from(hierarchical.choices(on, axis, primitive, order))) for axis in axes]
    usual = {"broadcast": "chain", "reduce": "chain", "all-to-all": "pairwise"}.get(primitive, "ring")
    algorithm = find(primitive, "hierarchical").configured({"tiers": ",".join(names), "order": order})
    try:
        whole = algorithm.build(on)
    except Collision:
        assume(False)
    price, parts = price_on(on), {}
    for axis in axes:
        tiers = ",".join(name if tier == axis else usual for tier, name in enumerate(names))
        phases = hierarchical.phases(primitive, on, tiers, order, root)
        places = [place for place, phase in enumerate(phases) if phase.axis == axis]
        shifted = on.link_class is not None and data.draw(st.booleans())
        parts |= {place: Pricing(on, **price).traffic(flows(on.lattice, phases, place, shifted)) for place in places}
    priced = Traffic.joined([parts[place] for place in sorted(parts)]).in_segments()
    for pieces in (1, 4):
        executed = execute(pipelined(whole, pieces), on).cost.seconds(**price)
        assert sum(priced(pieces)) == pytest.approx(executed, rel=1e-12)


def test_every_way_that_a_ladder_prices_on_three_tiers_is_its_schedule_executed():
    """Of an all-to-all in two phases, too."""
    on = boxes((2, 3, 2), oversubscription=(1, 2))
    ways = list(segmentation.in_every_way(find("all-to-all", "hierarchical"), on, **price_on(on)))
    assert sum(way.chosen["tiers"].count(",") == 1 for way, _ in ways) == 18
    for way, traffic in ways:
        executed = execute(way.build(on), on).cost.seconds(**price_on(on))
        assert sum(traffic.in_segments()(1)) == pytest.approx(executed, rel=1e-12)


def test_a_fault_in_an_algorithm_of_a_tier_is_no_reason_to_leave_it_out(monkeypatch):
    def faulty(*_):
        return np.zeros(2) + np.zeros(3)

    monkeypatch.setattr(segmentation, "flows", faulty)
    on = boxes((2, 2))
    with pytest.raises(ValueError, match="could not be broadcast"):
        list(segmentation.in_every_way(find("all-gather", "hierarchical"), on, **price_on(on)))


@pytest.mark.parametrize("name", ["nvls-tree", "collnet", "nvls", "tree", "double-binary-tree", "reduce-broadcast"])
@pytest.mark.parametrize("message", [1e5, 3e6, 4e7])
def test_on_several_tiers_the_best_number_of_segments_is_any_whole_one(name, message):
    on, algorithm = boxes((4, 4), inc="both"), find("all-reduce", name)
    price = {**price_on(on), "message": message}
    chosen = run(algorithm, on, **price)
    tried = range(1, 3 * chosen.segments + 8)
    times = {pieces: run(algorithm, on, **price, segments=pieces).seconds for pieces in tried}
    least = min(times.values())
    assert chosen.seconds <= least * (1 + 1e-12)


@settings(max_examples=300, deadline=None)
@given(data=st.data(), steps=st.integers(1, 30), rounds=st.integers(1, 4), first=st.tuples(*[st.floats(0, 50)] * 2))
def test_the_lowest_of_all_is_found_wherever_further_segments_add_what_they_may(data, steps, rounds, first):
    added = st.tuples(st.sampled_from([0, 0.5, 3]), st.sampled_from([0, 0.25, 9]))
    early = data.draw(st.lists(added, min_size=steps - 1, max_size=steps - 1))
    later = data.draw(st.lists(added, min_size=rounds, max_size=rounds)) * 90
    waits, sends = (
        np.cumsum([start, *more]) for start, more in zip(first, zip(*early, *later, strict=True), strict=True)
    )
    times = [(wait, sent / pieces) for pieces, (wait, sent) in enumerate(zip(waits, sends, strict=True), start=1)]
    most = data.draw(st.integers(1, len(times)))
    least = min(map(sum, times[:most]))
    lowest = segmentation.lowest(lambda pieces: times[pieces - 1], steps, most, rounds=rounds)
    assert lowest[0] == pytest.approx(least, rel=1e-12)
    assert sum(times[lowest[1] - 1]) == lowest[0]
    below = data.draw(st.sampled_from([0.9, 1, 1.5])) * least
    seconds, _ = segmentation.lowest(lambda pieces: times[pieces - 1], steps, most, rounds=rounds, below=below)
    assert seconds == (pytest.approx(least, rel=1e-12) if below >= least else np.inf)


@pytest.mark.parametrize(
    ("on", "primitive", "name", "price"),
    [
        (
            boxes((2, 1, 4), inside="full-mesh"),
            "reduce",
            "circulant",
            {"message": 513e6, "alpha": (7.9e-6, 8.1e-6, 462e-6), "bandwidth": (0.39e9, 605e9, 6.9e9)},
        ),
        (
            boxes((4, 3), rails=3),
            "all-reduce",
            "reduce-broadcast",
            {"message": 30.9e6, "alpha": (95e-6, 9.6e-6, 6e-6), "bandwidth": (972e9, 0.183e9, 26.8e9)},
        ),
    ],
)
def test_the_best_number_of_segments_is_found_where_the_time_has_a_valley_in_each_round_of_them(
    on, primitive, name, price
):
    algorithm = find(primitive, name)
    chosen = run(algorithm, on, **price)
    seconds = [run(algorithm, on, **price, segments=pieces).seconds for pieces in range(1, 2 * chosen.segments + 20)]
    assert any(before < at > after for before, at, after in zip(seconds, seconds[1:], seconds[2:], strict=False))
    assert chosen.seconds == pytest.approx(min(seconds), rel=1e-12)


def test_the_best_number_of_segments_of_a_tree_is_found_between_two_that_are_looked_at_first():
    on, tree = boxes((24, 8)), find("all-reduce", "tree")
    price = {"message": 4e6, "alpha": (0.6e-6, 2.7e-6), "bandwidth": (450e9, 50e9)}
    seconds = {pieces: run(tree, on, **price, segments=pieces).seconds for pieces in range(1, 9)}
    assert run(tree, on, **price).segments == min(seconds, key=seconds.__getitem__) == 3


@pytest.mark.parametrize(
    ("primitive", "name", "of_each_channel"), [("broadcast", "channels", 1), ("all-reduce", "tree", 4)]
)
def test_no_row_is_lost_to_a_number_of_segments_that_is_too_large_to_build(
    monkeypatch, primitive, name, of_each_channel
):
    on, algorithm = boxes((2, 4)), find(primitive, name)
    price = {**price_on(on), "message": 1e9}
    free = run(algorithm, on, **price).segments
    monkeypatch.setattr("colllib.algorithms.channels.MOST_AT_ONCE", 4 * of_each_channel * on.ranks * (free - 1))
    rung = run(algorithm, on, **price)
    assert 1 < rung.segments < free


def test_where_the_fastest_algorithms_on_the_tiers_are_too_large_the_next_ones_stand(monkeypatch):
    on = boxes((8, 4))
    price = {**price_on(on), "message": 1e8}

    def hierarchical_row():
        [row] = [row for row in ladder("all-reduce", on, **price) if row.algorithm.name == "hierarchical"]
        return row

    first, built = hierarchical_row(), Entry.schedule
    steps = first.entry.schedule().num_steps

    def refusing(entry, segments=1):
        if built(entry).num_steps == steps:
            raise limits.TooLarge("too many messages")
        return built(entry, segments)

    monkeypatch.setattr(Entry, "schedule", refusing)
    other = hierarchical_row()
    assert other.options != first.options
    assert other.seconds > first.seconds


@pytest.mark.parametrize(
    ("on", "primitive"),
    [
        ("boxes:2x4", "broadcast"),
        ("fat-tree:4", "all-gather"),
        ("mi250x:2", "broadcast"),
        ("mi250x:2", "all-reduce"),
    ],
)
def test_messages_on_paths_of_their_own_are_priced_on_these(on, primitive):
    topology = expression.find(on)
    terms = price_on(topology)
    entry = Entry(find(primitive, "forest"), topology)
    in_one = entry.schedule()
    assert in_one.paths is not None
    parts = overlapped(in_one, topology, **terms)
    for pieces in (1, 2, 5):
        schedule = entry.schedule(pieces)
        executed = pytest.approx(execute(schedule, topology).cost.seconds(**terms), rel=1e-9)
        assert sum(parts(pieces)) == executed
        assert sum(Pricing(topology, **terms).lock_step(schedule)) == executed
