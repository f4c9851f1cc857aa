"""Races: forms against closed forms, prices against every number of segments, words against the times."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colllib import star
from colllib.algorithms import CATALOGUE, find
from colllib.cost import Cost, best_segments
from colllib.ladder import Entry
from colllib.show import cost_explorer
from colllib.show.cost_explorer import RANKS, on_star
from colllib.show.race import Form, Race, Row, fastest, only, turns
from colllib.show.views import Summary
from colllib.topology import expression

SEGMENTED = [a for a in CATALOGUE if a.segmented and a.costs_its_closed_form(star(8))]
SPEEDS = {
    "message": st.floats(1, 1e10),
    "alpha": st.floats(1e-7, 1e-3),
    "bandwidth": st.floats(1e9, 1e13),
}


@settings(deadline=None)
@given(st.sampled_from(SEGMENTED), st.sampled_from(RANKS), st.integers(1, 3000))
def test_a_form_gives_the_cost_in_every_number_of_segments(algorithm, n, segments):
    form = Form.fitted(lambda p: algorithm.cost(n, segments=p))
    assert form.cost(segments) == algorithm.cost(n, segments=segments)


@settings(deadline=None)
@given(st.sampled_from(SEGMENTED), st.sampled_from([2, 3, 6, 72, 512]), st.fixed_dictionaries(SPEEDS))
def test_the_price_is_that_of_the_best_number_of_segments(algorithm, n, price):
    form = Form.fitted(lambda p: algorithm.cost(n, segments=p))
    seconds, segments = form.price(price["message"], [price["alpha"]], [price["bandwidth"]])
    assert seconds == pytest.approx(algorithm.cost(n, segments=segments).seconds(**price), rel=1e-12)
    most = max(1, price["message"] // 1)  # each has a byte
    assert segments <= most
    around = {max(1, segments + k) for k in (-2, -1, 1, 2)} | {1, 2, 3, 2 * segments, 10 * segments}
    around = {p for p in around if p <= most}
    assert all(seconds <= algorithm.cost(n, segments=p).seconds(**price) * (1 + 1e-12) for p in around)


@given(st.sampled_from(RANKS), st.fixed_dictionaries(SPEEDS))
def test_a_page_and_the_library_say_the_same_time_to_the_last_bit_so_that_both_round_it_alike(n, price):
    cost = find("broadcast", "binomial-tree").cost(n)
    seconds, _ = Form((cost,)).price(price["message"], [price["alpha"]], [price["bandwidth"]])
    assert seconds == cost.seconds(**price)


@settings(deadline=None)
@given(st.lists(st.floats(1e-7, 1e-4), min_size=2, max_size=2), st.lists(st.floats(1e9, 1e12), min_size=2, max_size=2))
def test_a_cost_over_several_tiers_is_priced_at_any_speeds(alphas, bandwidths):
    cost = Entry(find("all-reduce", "ring"), expression.find("boxes:4x8")).execution().cost
    seconds, segments = Form((cost,)).price(16e6, alphas, bandwidths)
    assert seconds == pytest.approx(cost.seconds(message=16e6, alpha=alphas, bandwidth=bandwidths), rel=1e-12)
    assert segments == 1


def test_a_cost_of_another_form_is_refused():
    with pytest.raises(ValueError, match="no a0"):
        Form.fitted(lambda p: Cost(p * p, Fraction(1)))


@pytest.mark.parametrize("n", [3, 8, 72, 512, 65536])
@pytest.mark.parametrize("primitive", ["all-reduce", "broadcast"])
def test_where_the_fastest_changes_it_changes_there_and_nowhere_else(n, primitive):
    race = cost_explorer(primitive).parts[0].race
    state = {"n": n, "alpha": 0.5e-6, "bw": 900e9}

    def first(message):
        return {one.row.name for one in fastest(race.standings({**state, "m": message}))}

    changes = [
        (size, {one.row.name for one in tied})
        for size, tied in turns(race, state, [10 ** (2 + 9 * k / 64) for k in range(65)])
    ]
    for (_, before), (size, after) in pairwise(changes):
        assert before <= first(size * 0.9998)
        assert after <= first(size * 1.0001)
        assert not before & first(size * 1.0001)
    for message in (10 ** (2 + k / 40) for k in range(361)):
        [*_, leaders] = [names for size, names in changes if size <= message * 1.0002]
        assert leaders <= first(message)


def test_all_that_tie_are_named_where_the_fastest_changes_and_what_prints_alike_is_as_good():
    explorer = cost_explorer()
    [page] = [part for part in explorer.parts if part.label == "Where the fastest changes"]
    assert "</b> Rabenseifner and Bruck." in page.draw(explorer.start, explorer.texts(explorer.start))
    state = {"n": 3, "m": 100.0, "alpha": 1e-6, "bw": 50e9}
    summary = explorer.render(len(explorer.parts), state)
    assert "the fastest is shortest way ring with 2 µs" in summary
    assert "; double binary tree is as good" in summary
    assert "; next is reduce + broadcast with " in explorer.render(len(explorer.parts), explorer.start)


def test_equal_times_tie_and_bounds_do_not_run():
    rows = [Row("a", only(Cost(1, 2))), Row("b", only(Cost(1, 2))), Row("bound", only(Cost(1, 1)), bound=True)]
    race = Race(lambda: rows)
    first = fastest(race.standings({"m": 1e6, "alpha": 1e-6, "bw": 1e9}))
    assert [one.row.name for one in first] == ["a", "b"]


def test_who_leads_leads_until_another_is_faster_and_not_as_soon_as_another_ties():
    """The later row has one latency less, which against enough bytes is less than what a tie may differ by."""
    rows = [Row("late", only(Cost(2, 1))), Row("early", only(Cost(1, 1)))]
    race, state = Race(lambda: rows), {"alpha": 1e-6, "bw": 1e9}
    assert len(fastest(race.standings({**state, "m": 1e16}))) == 2
    changes = turns(race, state, [1e2, 1e8, 1e16])
    assert [(size, [one.row.name for one in tied]) for size, tied in changes] == [(1e2, ["early"])]


def test_as_many_segments_are_tried_as_the_library_tries():
    chain = find("broadcast", "chain")
    prices = {"message": 100e9, "alpha": 1e-8, "bandwidth": 1e9}
    _, segments = Form.fitted(lambda p: chain.cost(65536, segments=p)).price(100e9, [1e-8], [1e9])
    assert segments == best_segments(lambda p: chain.cost(65536, segments=p), **prices) == 2**20


def test_a_row_that_somebody_chose_takes_that_way():
    forms = {"slow": Form((Cost(9, 9),)), "quick": Form((Cost(1, 1),))}
    race = Race(lambda: [Row("chosen", forms, takes=((100.0, "slow"), (1e9, "quick"), (1e99, "unheard of")))])
    taken = [race.standings({"m": m, "alpha": 1.0, "bw": 1.0})[0] for m in (99, 100, 1e10)]
    assert [one.variant for one in taken] == ["slow", "quick", "unheard of"]
    assert [one.seconds for one in taken] == [9 + 9 * 99, 101, float("inf")]


def test_the_counts_of_a_row_are_those_of_the_catalogue_at_every_number_of_ranks():
    for n in (2, 7, 64, 576, 4608, 65536):
        names = {row.name for row in on_star("all-reduce", n)}
        assert {
            a.label for a in CATALOGUE if a.primitive == "all-reduce" and a.label in names and not a.fits(n)
        } == set()
        assert {"ring", "double binary tree", "Rabenseifner"} <= names


@pytest.mark.parametrize("slot", ["{time:rign}", "{tiem:ring}", "{times:ring|rign}"])
def test_a_summary_that_names_no_row_and_no_word_is_refused(slot):
    race = Race(lambda: [Row("ring", only(Cost(6, Fraction(3, 2))))])
    quantities = {"m": 1e6, "alpha": 1e-6, "bw": 1e9}
    with pytest.raises(ValueError, match=r"'(rign|tiem)' is no control, no word for one, and none of ring"):
        Summary(race, text=f"It takes {slot}").draw(quantities, {"m": "1 MB"})
    assert Summary(race, text="{m} take {time:ring}").draw(quantities, {"m": "1 MB"}) == "1 MB take 1.51 ms"
