"""What a machine allows a collective: the parts of it that a figure by hand tells."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import pytest

from colllib.measured.expected import CARD_SHARE, FEWEST, LINK_SHARE, PAIR_SHARE, expected, slow_below
from colllib.measured.predict import predict
from colllib.topology.cluster import topology_of
from colllib.topology.machines import GPUS, PRESETS, find


@pytest.mark.parametrize(
    ("gpus", "collective", "links"),
    [(4, "sendrecv", 1), (4, "all-to-all", 1), (4, "all-gather", 3), (3, "all-gather", 2), (2, "all-reduce", 1)],
)
def test_on_a_board_of_four_without_a_switch_a_third_of_the_links_leads_to_each_other_gpu(gpus, collective, links):
    board = find(f"dgx-a100:1,gpus={gpus}")
    share = PAIR_SHARE if collective in ("sendrecv", "all-to-all") else LINK_SHARE
    assert expected(board, collective).low == pytest.approx(share * board.link * links / 3)


@pytest.mark.parametrize(("box", "cut", "pair"), [("dgx-v100:1", 6 * 25e9, 2 * 25e9), ("p100:1", 4 * 20e9, 20e9)])
def test_in_a_dgx_1_an_all_to_all_has_the_wires_between_its_halves_and_a_pair_its_own_links(box, cut, pair):
    """Of M each GPU sends an eighth to each of four beyond the cut: 2 M cross it, of which busbw counts 7/8."""
    machine = find(box)
    assert expected(machine, "all-to-all").high == predict(machine, "all-to-all", 2**30).bound == cut * 7 / 8 / 2
    assert expected(machine, "sendrecv").high == predict(machine, "sendrecv", 2**30).bound == pair
    one_link = machine.link / (6 if "v100" in box else 4)
    assert expected(machine, "sendrecv").low == pytest.approx(PAIR_SHARE * one_link)  # of most pairs, or none
    assert expected(machine, "all-gather").high == machine.link


@pytest.mark.parametrize(("gpu", "most"), [("h100", 63), ("gb10", 25)])
def test_cards_that_nobody_told_carry_no_more_than_the_slot_of_the_one_gpu_and_than_are_sold_with_it(gpu, most):
    untold = replace(find(f"{gpu}:2"), gpus=1, cards=1, cards_known=False)
    assert expected(untold, "all-reduce").high == most * 1e9


def test_in_an_all_to_all_each_gpu_sends_to_those_of_other_boxes_over_its_share_of_the_cards():
    """4 boxes of 8: 24 of a rank's 31 messages leave its box, over one card of 50 GB/s for each GPU."""
    assert expected(find("dgx-h100:4,cards=8"), "all-to-all").least == pytest.approx(PAIR_SHARE * 50e9 * 31 / 24)


def test_published_runs_of_such_machines_make_a_range_narrower_where_they_are_many():
    many, few, known = (expected(m, "all-reduce") for m in (find("dgx-h100:64"), find("mi300x:8"), find("dgx-a100:2")))
    assert len(many.runs) >= FEWEST > len(few.runs)
    assert few.least == few.low == pytest.approx(CARD_SHARE * 400e9)
    assert few.low < many.least == many.runs[0] < many.low < many.runs[1]
    smaller = expected(find("dgx-h100:64"), "all-reduce", reached=0.5)
    assert smaller.least == smaller.low == few.low  # a message that reaches less of the plateau
    assert known.runs
    assert not expected(replace(find("dgx-a100:2"), cards_known=False), "all-reduce").runs  # of which cards?


@pytest.mark.parametrize(
    ("on", "cards_known", "shares"),
    [
        ("dgx-h100:2", True, (1, 0.9, 0.5, 0.5)),
        ("dgx-h100:2", False, (1, 0.5, 0.5, 0.5)),  # what climbs may yet fill slower cards
        ("nvl72:2", True, (0.5, 0.5, 0.5, 0.5)),
        ("dgx-h100:1", True, (1, 1, 1, 1)),
    ],
)
def test_a_run_over_boxes_that_climbs_is_slow_below_its_share_of_the_plateau_but_not_below_half(
    on, cards_known, shares
):
    machine = replace(find(on), cards_known=cards_known)
    bound = expected(machine, "all-gather")
    for settled, share in zip((1, 0.9, 0.4, 0), shares, strict=True):
        assert slow_below(machine, bound, settled) == pytest.approx(0.85 * share * bound.least)


#: Links of 50 GB/s between the dies of an MI250X's box, and rings over all: RCCL's model 71.
WIRES = {(0, 1): 4, (2, 3): 4, (4, 5): 4, (6, 7): 4, (0, 6): 2, (2, 4): 2}
WIRES |= dict.fromkeys(((0, 2), (1, 3), (1, 5), (3, 7), (4, 6), (5, 7)), 1)
RINGS = {4: ((0, 1, 3, 2), (2, 3, 1, 0))}
RINGS[8] = ((0, 1, 3, 2, 4, 5, 7, 6), (6, 7, 5, 4, 2, 3, 1, 0), (0, 1, 5, 4, 2, 3, 7, 6), (6, 7, 3, 2, 4, 5, 1, 0))


WIDTH = WIRES | {(b, a): links for (a, b), links in WIRES.items()}


@pytest.mark.parametrize("gpus", [4, 8])
def test_rings_over_the_dies_of_an_mi250x_fill_their_wires(gpus):
    box = find(f"mi250x:1,gpus={gpus}")
    crossed = Counter(pair for ring in RINGS[gpus] for pair in zip(ring, (*ring[1:], ring[0]), strict=True))
    assert max(Fraction(times, WIDTH[pair]) for pair, times in crossed.items()) == 1
    assert box.reach() == 50e9 * len(RINGS[gpus]) == expected(box, "all-reduce").high


@pytest.mark.parametrize("gpus", [2, 3, 4, 5, 6, 7, 8])
def test_an_all_to_all_of_an_mi250x_has_what_the_narrowest_cut_leaves(gpus):
    """It sends k (n - k) nths of M over a cut, and its busbw counts n - 1 nths."""
    box = find(f"mi250x:1,gpus={gpus}")
    sides = [set(side) for k in range(1, gpus) for side in combinations(range(gpus), k)]
    cuts = ((sum(n for (a, b), n in WIDTH.items() if a in side and b not in side and b < gpus), side) for side in sides)
    least = min(Fraction(links * (gpus - 1), len(side) * (gpus - len(side))) for links, side in cuts)
    assert box.reach("all-to-all") == pytest.approx(50e9 * least)


def test_a_pair_of_dies_may_have_four_links_or_one_and_is_healthy_with_either():
    pair = find("mi250x:1,gpus=2")
    assert pair.reach() == pair.reach("sendrecv") == 50e9 * WIRES[0, 1]
    assert expected(pair, "all-reduce").low < 38e9 < 190e9 < expected(pair, "all-reduce").high
    assert find("mi250x:1").reach("sendrecv") == 50e9
    assert topology_of(find("mi250x:1,gpus=4")).speeds[1][0] == 50e9


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("collective", ["all-reduce", "all-gather", "all-to-all", "sendrecv", "broadcast"])
def test_no_range_ends_below_where_it_begins(collective, count):
    """As that of two MI300X did, whose one link carries less than a healthy pair was said to reach at the least."""
    machines = []
    for name in {*PRESETS, *GPUS}:
        for gpus in (1, 2, 4, 8):
            with suppress(ValueError):  # of what is not sold so
                machines.append(find(f"{name}:{count},gpus={gpus}"))
    assert len(machines) > 100
    for machine in (one for one in machines if one.ranks > 1):
        for wired in (machine, replace(machine, card=100e9, cards_known=True)):
            bound = expected(wired, collective)
            assert bound.low <= bound.high, wired


def test_a_gpu_that_has_several_cards_sends_over_all_of_them():
    """An instance of AWS has the 400 Gb/s of a GPU in four cards: it is a DGX H100 but for their number."""
    split, whole = find("p5:2"), find("dgx-h100:2")
    assert (split.cards, whole.cards) == (32, 8)
    assert expected(split, "sendrecv").high == expected(whole, "sendrecv").high == 50e9
    assert predict(split, "sendrecv", 2**30).seconds == predict(whole, "sendrecv", 2**30).seconds
    assert [find(f"{name}:2,gpus=4").cards for name in ("p5", "dgx-h100", "dgx-v100")] == [16, 4, 4]
