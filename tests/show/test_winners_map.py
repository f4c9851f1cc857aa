"""The map of winners: its cells against executed ladders, its crossings against both sides, its page."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from show_browser import opened, write_page

from colllib import ladder, star, units
from colllib.algorithms import of
from colllib.show.winners_map import (
    ALPHAS,
    BANDWIDTHS,
    MESSAGES,
    PRIMITIVES,
    RANKS,
    cells,
    codes,
    compared,
    crossings,
    winners_map,
)


@pytest.fixture(scope="module")
def explorer():
    made = winners_map()
    assert len(made.grid.fragments) > 100
    return made


@pytest.mark.parametrize("primitive", PRIMITIVES)
@pytest.mark.parametrize(("ranks", "column"), [(3, 0), (4, 13), (6, 24), (8, 16), (12, 12), (64, 18), (72, 15)])
def test_a_cell_names_a_fastest_rung_of_the_executed_ladder(primitive, ranks, column):
    alpha, bandwidth = 0.5e-6, 900e9
    price = {"message": MESSAGES[column], "alpha": alpha, "bandwidth": bandwidth}
    rungs = ladder.ladder(primitive, star(ranks), **price)
    winner = cells(primitive, alpha * bandwidth)[RANKS.index(ranks)][column]
    seconds = next(rung.seconds for rung in rungs if rung.algorithm == winner)
    assert seconds == pytest.approx(rungs[0].seconds, rel=1e-9)


@pytest.mark.parametrize("primitive", ["all-reduce", "all-to-all"])
@pytest.mark.parametrize("unit", [25e3, 450e3, 9e6])
def test_on_both_sides_of_a_crossing_the_named_algorithms_win(primitive, unit):
    from colllib.ladder import regret

    seen = 0
    for n in RANKS:
        for size, before, after in crossings(primitive, n, unit):
            assert regret(primitive, before.name, n, size * 0.9999 / unit) == pytest.approx(1, abs=1e-4)
            assert regret(primitive, after.name, n, size * 1.0001 / unit) == pytest.approx(1, abs=1e-4)
            seen += 1
    assert seen >= len(RANKS) / 2


@pytest.mark.parametrize("primitive", ["broadcast", "reduce"])
def test_nothing_on_the_map_beats_the_round_optimal_pipeline(primitive):
    assert {a.name for row in cells(primitive, 450e3) for a in row} == {"circulant"}
    assert crossings(primitive, 512, 450e3) == ()


def test_a_third_winner_between_two_cells_is_found():
    between = [(b, a) for n in RANKS for _, b, a in crossings("all-reduce", n, 25e3)]
    assert len(between) > sum(b is not a for row in cells("all-reduce", 25e3) for b, a in pairwise(row))


def test_the_codes_are_short_and_tell_the_algorithms_apart():
    for primitive in PRIMITIVES:
        found = codes(primitive)
        assert set(found) == set(of(primitive))
        assert len(set(found.values())) == len(found)
        assert all(1 <= len(code) <= 2 for code in found.values())


def test_the_svg_draws_every_row_from_edge_to_edge(explorer):
    svg = explorer.render(0, explorer.start).split("</div>")[1]  # without the legend
    boxes = re.findall(r'<path d="M([\d.]+) ([\d.]+)h([\d.]+)v15h', svg)
    rows = {}
    for left, top, width in boxes:
        rows.setdefault(top, []).append((float(left), float(width)))
    assert len(rows) == len(RANKS)
    for boxes in rows.values():
        assert sum(width for _, width in boxes) == pytest.approx(13.6 * len(MESSAGES), abs=1)
    letters = codes("all-reduce")
    winning = {a for row in cells("all-reduce", 450e3) for a in row}
    assert {code for code in re.findall(r">(\w\w?)</text>", svg) if not code.isdigit()} >= {letters[a] for a in winning}


def test_the_table_has_every_crossing(explorer):
    html = explorer.render(2, explorer.start)
    assert html.count("<tr>") == 1 + len(RANKS)
    for n in RANKS:
        for size, _, after in crossings("all-reduce", n, 450e3):
            assert f"{codes('all-reduce')[after]} from {units.size(size, 4)}" in html


def test_the_comparison_prices_what_the_library_takes_with_an_execution():
    n, column = 12, 24  # a folding Rabenseifner at 10 GB
    taken, times = compared("all-reduce", 450e3, 900e9, "Open MPI")[RANKS.index(n)][column]
    assert (taken.named, taken.algorithm) == ("rabenseifner", "rabenseifner")
    rungs = ladder.ladder("all-reduce", star(n), message=MESSAGES[column], alpha=0.5e-6, bandwidth=900e9)
    chosen = next(rung for rung in rungs if rung.algorithm.name == taken.algorithm)
    assert times == pytest.approx(chosen.seconds / rungs[0].seconds)
    assert times > 1.5


def test_the_alt_text_and_the_summary_are_computed(explorer):
    assert "recursive doubling at 4096" in explorer.render(0, explorer.start)
    told = explorer.all_parts[-1].html({**explorer.start, "library": "Open MPI"})
    assert "Open MPI is within 10 % of the fastest in" in told
    assert (
        explorer.all_parts[-1]
        .html({**explorer.start, "primitive": "broadcast", "library": "Open MPI"})
        .endswith("no choice of its for broadcast that this book can price.")
    )


def test_it_is_small_and_the_same_every_time(explorer):
    assert len(explorer.grid.json()) < 4_000_000
    assert winners_map().grid.json() == explorer.grid.json()
    states = len(PRIMITIVES) * len(ALPHAS) * len(BANDWIDTHS) * 4
    assert states <= 2_000


def test_in_a_page_the_library_can_be_chosen_by_keyboard(tmp_path, explorer, with_chromium):
    with opened(write_page(tmp_path, explorer)) as (tab, troubles):
        tab.wait_for_selector(".cl-running")
        box = tab.get_by_label("Compare with")
        box.focus()
        box.press("ArrowDown")
        assert tab.get_by_text("What MPICH takes, and how much slower that is here").is_visible()
        tab.get_by_role("slider", name="Latency alpha").press("End")
        assert tab.locator("[aria-live]").inner_text().startswith("alpha BW = 9 MB.")
        assert troubles == []
