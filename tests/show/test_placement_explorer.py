"""The placement explorer's loads against neighbors counted by hand."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import combinations

import pytest

from colllib.show.placement_explorer import BUILDS, RANKS, order, placement_explorer, run, sent

WAYS = [(0, *others) for others in combinations(range(1, RANKS), 3)]


@pytest.fixture(scope="module")
def explorer():
    return placement_explorer()


def state(inside, work="ring"):
    return {"work": work, "second": inside[1], "third": inside[2], "fourth": inside[3]}


def test_every_way_to_divide_the_ranks_is_on_offer_once(explorer):
    found = set()
    second, third, fourth = explorer.controls[1:]
    for a in second.choices({}):
        for b in third.choices({"second": a}):
            found |= {(0, a, b, c) for c in fourth.choices({"third": b})}
    assert found == set(WAYS)
    assert len(found) == 35


@pytest.mark.parametrize("inside", WAYS[::5])
def test_a_rank_of_a_ring_sends_over_its_card_if_its_neighbor_is_in_the_other_box(inside):
    places = order(state(inside))
    assert sorted(places) == list(range(RANKS))
    assert {rank for rank in range(RANKS) if places[rank] < 4} == set(inside)
    loads = sent(run("ring", tuple(places)))
    for rank in range(RANKS):
        leaves = (rank in inside) != ((rank + 1) % RANKS in inside)
        assert loads[places[rank]] == (Fraction(7, 4) if leaves else 0)


@pytest.mark.parametrize("work", BUILDS)
def test_what_is_read_out_is_what_is_drawn(explorer, work):
    chosen = state((0, 1, 2, 3), work)
    said = explorer.render(len(explorer.parts), chosen)
    picture = explorer.render(0, chosen)
    most = re.search(r"the busiest card sends (\S+) M", said)[1]
    assert f"Busiest card: {most} M" in picture
    assert "box A holds the ranks 0, 1, 2, 3" in said


def test_an_all_to_all_sends_the_same_wherever_its_ranks_stand():
    for inside in WAYS[::7]:
        assert set(sent(run("pairwise", tuple(order(state(inside)))))) == {Fraction(1, 2)}


def test_a_hierarchy_needs_its_boxes_and_recursive_doubling_does_not():
    """In its own boxes a card carries 2 (B - 1) / (B G) of M; doubling crosses in one step of three, in any of them."""
    own, turned = ((0, 1, 2, 3), (0, 2, 4, 6))
    most = {
        (w, who): max(sent(run(w, tuple(order(state(who))))))
        for w in ("hierarchical", "doubling")
        for who in (own, turned)
    }
    assert most["hierarchical", own] == Fraction(2, 8) < most["hierarchical", turned]
    assert most["doubling", own] == most["doubling", turned] == 1
