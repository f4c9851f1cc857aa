"""The placement explorer's loads against neighbors counted by hand."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import combinations

import pytest
from show_browser import opened, write_page

from colllib.show.placement_explorer import BUILDS, RANKS, placement_explorer, run, sent, standing

WAYS = list(combinations(range(RANKS), 4))


@pytest.fixture(scope="module")
def explorer():
    return placement_explorer()


RING, HIERARCHICAL, DOUBLING, _, PAIRWISE = BUILDS


def dragged(tab, rank, onto):
    """Pointer down on one rank, up on another."""
    for name, press in ((rank, tab.mouse.down), (onto, tab.mouse.up)):
        at = tab.locator(f'[data-rank="{name}"] circle').bounding_box()
        tab.mouse.move(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2, steps=3)
        press()


def test_no_placement_changes_what_the_cards_of_an_all_to_all_send():
    assert {tuple(sent(run(PAIRWISE, inside))) for inside in WAYS} == {(Fraction(1, 2),) * RANKS}


@pytest.mark.browser
def test_a_rank_changes_boxes_by_dragging_by_two_taps_and_by_keys(tmp_path, explorer):
    """From 0, 2, 4, 6 to the contiguous placement in two moves; only neighbors 3, 4 and 7, 0 are then apart."""
    page = write_page(tmp_path, explorer)
    with opened(page, viewport={"width": 390, "height": 800}, has_touch=True) as (tab, troubles):
        tab.wait_for_selector(".cl-running")
        summary = tab.locator(".cl-summary")

        def inside():
            return re.search(r"the ranks ([\d, ]+):", summary.inner_text())[1]

        width = tab.locator('[data-rank="4"] circle').bounding_box()["width"]
        assert width >= 24, "a finger needs 24 px"
        dragged(tab, 4, onto=1)
        assert inside() == "0, 1, 2, 6"
        assert tab.evaluate("document.activeElement.dataset.rank") == "4"
        dragged(tab, 1, onto=2)  # in its own box: nothing moves
        assert inside() == "0, 1, 2, 6"
        tab.locator('[data-rank="6"]').tap()
        assert tab.locator('[data-rank="6"]').get_attribute("aria-pressed") == "true"
        tab.locator('[data-rank="3"]').tap()
        assert inside() == "0, 1, 2, 3"
        assert "over 2 of 8 cards; the busiest card sends 7/4 M" in summary.inner_text()
        assert tab.locator('[aria-pressed="true"]').count() == 0
        tab.locator('[data-rank="0"]').focus()
        tab.keyboard.press("Enter")
        tab.keyboard.press("Escape")
        tab.keyboard.press("Enter")
        tab.locator('[data-rank="7"]').focus()
        tab.keyboard.press(" ")
        assert inside() == "1, 2, 3, 7"
        assert troubles == []


def test_without_its_script_the_page_counts_the_ways_and_does_not_list_them():
    assert f"Box A holds ({len(WAYS)} choices, such as 0, 1, 2, 3)." in placement_explorer()._repr_html_()


@pytest.mark.parametrize("inside", WAYS[::5])
def test_a_rank_of_a_ring_sends_over_its_card_if_its_neighbor_is_in_the_other_box(inside):
    ranks = standing(inside)
    assert sorted(ranks) == list(range(RANKS))
    assert set(ranks[:4]) == set(inside)
    for rank, load in zip(ranks, sent(run(RING, inside)), strict=True):
        leaves = (rank in inside) != ((rank + 1) % RANKS in inside)
        assert load == (Fraction(7, 4) if leaves else 0)


@pytest.mark.parametrize("work", BUILDS)
def test_what_is_read_out_is_what_is_drawn(explorer, work):
    chosen = {"work": work, "inside": (0, 1, 2, 3)}
    summary = explorer.render(len(explorer.parts), chosen)
    picture = explorer.render(0, chosen)
    most = re.search(r"the busiest card sends (\S+) M", summary)[1]
    assert f"Busiest card: {most} M" in picture
    assert "box A holds the ranks 0, 1, 2, 3" in summary


def test_a_hierarchy_needs_its_boxes_and_recursive_doubling_does_not():
    """In its own boxes a card carries 2 (B - 1) / (B G) of M; doubling crosses in one step of three, in any of them."""
    aligned, turned = ((0, 1, 2, 3), (0, 2, 4, 6))
    most = {(work, who): max(sent(run(work, who))) for work in (HIERARCHICAL, DOUBLING) for who in (aligned, turned)}
    assert most[HIERARCHICAL, aligned] == Fraction(2, 8) < most[HIERARCHICAL, turned]
    assert most[DOUBLING, aligned] == most[DOUBLING, turned] == 1
