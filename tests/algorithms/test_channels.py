"""Channels over boxes: proved for any boxes, and every card's share counted from the messages."""

from collections import Counter
from fractions import Fraction

import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from colllib.algorithms import channels, find
from colllib.execution import execute
from colllib.metrics import crossings
from colllib.primitives import PRIMITIVES
from colllib.schedule import Orbit
from colllib.symmetry import by_symmetry
from colllib.topology import NoRouteError, boxes

RINGS = ["all-reduce", "all-gather", "reduce-scatter", "broadcast", "reduce"]


@st.composite
def uneven(draw):
    """Up to five boxes of up to five ranks with any cards, of which the last may be smaller."""
    count, inner = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    cards = draw(st.sampled_from([k for k in range(1, inner + 1) if inner % k == 0]))
    inside = draw(st.sampled_from(["switch", "full-mesh"]))
    return boxes((count, inner), cards=cards, inside=inside, ranks=count * inner - draw(st.integers(0, inner - 1)))


@st.composite
def on_boxes(draw):
    """An algorithm in channels with its options, on boxes."""
    net = draw(uneven())
    chosen = draw(st.sampled_from([*(find(name, "channels") for name in RINGS), find("all-reduce", "tree")]))
    options = {"channels": draw(st.sampled_from([k for k in range(net.in_box + 1) if not k or net.in_box % k == 0]))}
    if "turn" in chosen.options:
        options["turn"] = draw(st.sampled_from(channels.TURNS))
    if "root" in chosen.options:
        options["root"] = draw(st.integers(0, net.ranks - 1))
    segments = {"segments": draw(st.integers(1, 4))} if chosen.segmented else {}
    return net, chosen.primitive, chosen.build(net, **options, **segments)


@given(on_boxes())
@settings(max_examples=150, deadline=None)
def test_every_schedule_in_channels_makes_its_primitive_true(drawn):
    net, primitive, schedule = drawn
    assert PRIMITIVES[primitive].accepts(schedule.blocks)
    run = execute(schedule, net)
    assert reference.holds(schedule)
    sent, _ = reference.traffic(schedule)
    assert list(run.sent) == [sent[rank] for rank in range(net.ranks)]


@given(st.integers(2, 4), st.integers(1, 5), st.sampled_from(channels.TURNS))
@settings(max_examples=40, deadline=None)
def test_each_card_takes_an_equal_part_out_and_in(count, inner, turn):
    """Every ring leaves each box once and enters it once: with a ring for each card, all cards carry the same."""
    out, into = Counter(), Counter()
    for src, dst, *_ in reference.messages_of(channels.all_gather(boxes((count, inner)), turn=turn)):
        if src // inner != dst // inner:
            out[src] += 1
            into[dst] += 1
    everyone = set(range(count * inner))
    assert set(out) == set(into) == everyone
    assert set(out.values()) == set(into.values()) == {count * inner - 1}


@pytest.mark.parametrize("turn", channels.TURNS)
@pytest.mark.parametrize(("count", "inner"), [(1, 2), (1, 3), (1, 4), (1, 7), (1, 8), (2, 2), (2, 4), (3, 8), (2, 16)])
def test_channels_of_a_full_mesh_use_all_its_links_alike(count, inner, turn):
    """As RCCL's tables do: 14 closed rings of 8 in one box, 8 open chains in each of several."""
    messages = reference.messages_of(channels.all_gather(boxes((count, inner), inside="full-mesh"), turn=turn))
    rings = len({block // (count * inner) for _, _, block, _ in messages})
    assert rings == (2 * (inner - 1) if count == 1 else inner)
    inside = Counter((src, dst) for src, dst, *_ in messages if src // inner == dst // inner)
    assert len(inside) == count * inner * (inner - 1)
    assert set(inside.values()) == {(2 if count == 1 else 1) * (count * inner - 1)}


@pytest.mark.parametrize("sizes", [(1, 8), (2, 8)])
def test_a_turn_that_is_none_is_refused_in_one_box_too(sizes):
    with pytest.raises(ValueError, match="turn 'left': must be one of rotated, alternate"):
        channels.all_reduce(boxes(sizes, inside="full-mesh"), turn="left")


@pytest.mark.parametrize("count", [2, 4, 6])
def test_alternate_rings_of_an_even_number_of_boxes_never_leave_their_rail(count):
    for rails in (1, 2, 4):
        net = boxes((count, 4), rails=rails, apart=True)
        execute(channels.all_reduce(net, turn="alternate"), net)
    with pytest.raises(NoRouteError, match=r"no route from rank \d+ to rank \d+: their cards are on two rails"):
        execute(channels.all_reduce(net), net)


def test_alternate_rings_of_an_odd_number_of_boxes_close_over_the_spine():
    net = boxes((3, 8), rails=8)
    assert crossings(execute(channels.all_reduce(net, turn="alternate"), net))["uplink"].most > 0


def test_eight_channels_do_in_an_eighth_of_the_time_what_one_does_over_the_cards():
    """By hand, 8 x 8: 126 steps of M/64 over each box's cards, an eighth of it on each of eight channels."""
    net = boxes((8, 8))
    for count, part in ((1, Fraction(126, 64)), (8, Fraction(126, 512))):
        run = execute(channels.all_reduce(net, channels=count), net)
        assert sum(kind.steps * kind.loads[1] for kind in run.kinds()) == part


def test_a_box_of_eight_with_links_for_all_is_as_fast_by_rings_as_its_links_allow():
    """By hand: seven eighths of the vector out of each rank and in, twice, over seven links."""
    run = execute(channels.all_reduce(boxes((1, 8), inside="full-mesh")), boxes((1, 8), inside="full-mesh"))
    assert sum(kind.steps * kind.loads[0] for kind in run.kinds()) == Fraction(2 * 7, 8 * 7)


def test_a_tree_crosses_between_boxes_at_its_channels_place_only():
    net = boxes((5, 4))
    crossing = {
        (src % 4, dst % 4)
        for src, dst, _, _ in reference.messages_of(channels.tree(net, segments=3))
        if src // 4 != dst // 4
    }
    assert crossing == {(place, place) for place in range(4)}


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"channels": 3}, "channels = 3: must divide the 8 ranks of a box"),
        ({"channels": -1}, "channels = -1: must divide"),
        ({"turn": "sideways"}, "turn 'sideways': must be one of rotated, alternate"),
    ],
)
def test_channels_that_cannot_be_are_refused(options, complaint):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refusal:
        channels.all_reduce(boxes((2, 8)), **options)
    assert complaint in str(refusal.value)


def test_channels_run_in_uneven_boxes_where_hierarchical_schedules_refuse():
    net = boxes((2, 4), ranks=7)
    assert execute(channels.all_reduce(net), net).cost.seconds(message=1, alpha=(0, 0), bandwidth=(1, 1)) > 0
    assert find("all-reduce", "hierarchical").refusal(net) == (
        "needs boxes of one size, and the last one of boxes:2x4,ranks=7 is smaller"
    )


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 5), st.integers(2, 6), st.sampled_from(RINGS[:3]), st.sampled_from(["switch", "full-mesh"]))
def test_channels_at_every_place_are_one_ring_moved_and_run_by_symmetry_as_in_full(count, size, name, inside):
    net = boxes((count, size), inside=inside)
    orbit = find(name, "channels").build(net)
    assert isinstance(orbit, Orbit)
    symmetric, full = by_symmetry(orbit, net), execute(orbit, net)
    assert symmetric.cost == full.cost
    assert symmetric.link_total == full.link_total
    assert (symmetric.sent, symmetric.received) == (full.sent, full.received)
    for place in range(size):  # each channel follows the ring that enters every box at its place
        order = channels.ring_order(net, place)
        nexts = dict(zip(order, [*order[1:], order[0]], strict=True))
        for t in range(orbit.num_steps):
            step = orbit.step(t)
            mine = step.block // net.ranks == place
            assert dict(zip(step.src[mine].tolist(), step.dst[mine].tolist(), strict=True)).items() <= nexts.items()


def test_channels_on_512_boxes_are_counted_by_symmetry():
    net = boxes((512, 8))
    cost = by_symmetry(channels.all_reduce(net), net).cost
    (kind,) = cost.kinds
    assert kind.steps == 2 * (net.ranks - 1)
    assert kind.loads[1] == Fraction(1, 8 * net.ranks)
