"""The map of winners: its cells against executed ladders, a library's choice against its table, its page."""

from __future__ import annotations

import re
from itertools import pairwise, product

import pytest
from show_browser import opened, write_page

from colllib import ladder, star
from colllib.algorithms import find, of
from colllib.ladder import PRIMITIVES
from colllib.library_choices import LIBRARIES, choice
from colllib.show import cost_explorer
from colllib.show.looks import known
from colllib.show.race import fastest
from colllib.show.views import MESSAGES
from colllib.show.winners_map import EDGE, RANKS, taken, winners_map


@pytest.fixture(scope="module")
def explorer():
    return winners_map()


def standings(explorer, **changed):
    return explorer.parts[0].race.standings({**explorer.start, **changed})


@pytest.mark.parametrize("primitive", PRIMITIVES)
@pytest.mark.parametrize(("ranks", "column"), [(3, 0), (4, 13), (6, 24), (8, 16), (12, 12), (64, 18), (72, 15)])
def test_a_cell_names_a_fastest_rung_of_the_executed_ladder(explorer, primitive, ranks, column):
    price = {"message": MESSAGES[column], "alpha": 0.5e-6, "bandwidth": 900e9}
    rungs = ladder.ladder(primitive, star(ranks), **price)
    first = fastest(standings(explorer, primitive=primitive, n=ranks, m=MESSAGES[column]))
    assert all(one.seconds == pytest.approx(rungs[0].seconds, rel=1e-9) for one in first)


@pytest.mark.parametrize("primitive", ["broadcast", "reduce"])
def test_nothing_on_the_map_beats_the_round_optimal_pipeline(explorer, primitive):
    pipeline = find(primitive, "circulant").label
    for n in RANKS:
        for m in MESSAGES:
            first = fastest(standings(explorer, primitive=primitive, n=n, m=m))
            assert pipeline in {one.row.name for one in first}


def test_of_two_that_tie_the_map_names_the_one_that_needs_no_power_of_two(explorer):
    for n in (64, 72):
        assert fastest(standings(explorer, n=n, m=1e9))[0].row.name == "Bruck"


def test_the_rule_crosses_no_letters_at_first(explorer):
    svg = explorer.parts[0].draw(explorer.start, explorer.texts(explorer.start))
    rule = float(re.search(r"zM([\d.]+) 0V", svg)[1])
    letters = re.findall(r'<text x="([\d.]+)" y="[\d.]+" text-anchor="middle"[^>]*>[A-Z]\w<', svg)
    assert min(abs(float(at) - rule) for at in letters) > 12


def test_the_map_draws_every_row_from_edge_to_edge(explorer):
    svg = explorer.render(0, explorer.start)
    boxes = re.findall(r'<path d="M([\d.]+) ([\d.]+)H([\d.]+)V[\d.]+H[\d.]+z" data-row', svg)
    drawn = {}
    for left, top, right in boxes:
        drawn.setdefault(float(top), []).append((float(left), float(right)))
    assert sorted(drawn) == [17 * k for k in range(len(RANKS))]
    for row in drawn.values():
        assert row[0][0] == 42
        assert row[-1][1] == pytest.approx(634, abs=0.1)
        assert all(before[1] == after[0] for before, after in pairwise(row))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("n", [2, 3, 12, 512])
def test_what_a_library_takes_is_known_at_every_size_also_where_a_choice_comes_back(library, n):
    """Some come back: NCCL's all-reduce of 12 ranks takes the ring from 2.6 to 4.2 MB, then the trees again."""
    for primitive in (one for one in PRIMITIVES if choice(library, one, n, 1)):
        labels, ranges = {a.name: a.label for a in of(primitive)}, taken(library, primitive, n)
        limits = [limit for limit, _ in ranges[:-1]]
        for size in {int(2 ** (k / 6)) for k in range(6 * EDGE)}.union(limits, (limit - 1 for limit in limits)):
            chosen = choice(library, primitive, n, size)
            plain = chosen.named.replace("_halving", " halving, folded").replace("_", " ")
            name = labels.get(chosen.algorithm, plain)
            assert next(label for limit, label in ranges if size < limit) == name, (primitive, size)


@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_it_compares_with_a_library_where_its_choices_are_in_the_book_and_names_them_in_words(explorer, primitive):
    offered = explorer.choices(1, {**explorer.start, "primitive": primitive})
    for library in LIBRARIES:
        available = {choice(library, primitive, n, 2.0**k) is not None for n in RANKS for k in range(0, EDGE, 4)}
        assert available == {library in offered}
    states = [{"library": one, "n": n, "m": m} for one in offered for n in (6, 64, 96, 65536) for m in (1e3, 1e6, 1e9)]
    for state in states:
        summary = explorer.render(len(explorer.parts), {**explorer.start, "primitive": primitive, **state})
        assert "_" not in summary


def test_the_comparison_prices_what_the_library_takes_with_an_execution(explorer):
    n, column = 12, 24  # a folding Rabenseifner at 10 GB
    rungs = ladder.ladder("all-reduce", star(n), message=MESSAGES[column], alpha=0.5e-6, bandwidth=900e9)
    chosen = next(rung for rung in rungs if rung.algorithm.name == "rabenseifner")
    assert chosen.seconds > 1.5 * rungs[0].seconds
    for library, latencies in (("MPICH", 0), ("Open MPI", 1)):  # beyond the book's: Open MPI folds in two steps
        shown = standings(explorer, library=library, n=n, m=MESSAGES[column])[-1]
        assert shown.variant == chosen.algorithm.label
        assert shown.seconds == pytest.approx(chosen.seconds + latencies * 0.5e-6, rel=1e-9)


@pytest.mark.parametrize(
    ("library", "primitive", "n", "size", "variant", "latencies", "bytes_moved"),
    [
        ("Open MPI", "all-gather", 64, 1e6, "neighbor", 32, 63 / 64),
        ("MPICH", "reduce", 12, 1e6, "Bruck and gather", 7, 11 / 4),  # folds to 8 ranks, halves and gathers there
        ("MPICH", "reduce", 8, 1e6, "Bruck and gather", 6, 7 / 4),
    ],
)
def test_what_a_library_alone_has_is_priced_by_hand(
    explorer, library, primitive, n, size, variant, latencies, bytes_moved
):
    shown = standings(explorer, library=library, primitive=primitive, n=n, m=size)[-1]
    assert (shown.variant, known(shown.variant) is None) == (variant, False)
    assert shown.seconds == pytest.approx(latencies * 0.5e-6 + bytes_moved * size / 900e9, rel=1e-9)


def test_the_alt_text_and_the_summary_are_computed(explorer):
    alt = re.search('aria-label="([^"]*)"', explorer.render(0, explorer.start))[1]
    shares = [int(share) for share in re.findall(r"(\d+)%", alt)]
    assert sum(shares) == pytest.approx(100, abs=2)
    texts = {
        size: explorer.render(len(explorer.parts), {**explorer.start, "library": "Open MPI", "m": size})
        for size in MESSAGES
    }
    slower = {size: re.search(r"Open MPI takes .*, ([\d.]+) times as long\.$", text) for size, text in texts.items()}
    assert any(slower.values())
    assert all(float(match[1]) > 1 for match in slower.values() if match)
    assert all(re.search("Open MPI takes .*, as fast\\.$", text) for size, text in texts.items() if not slower[size])


@pytest.mark.parametrize(
    ("library", "primitive"), [pair for pair in product(LIBRARIES, PRIMITIVES) if choice(*pair, 64, 1)]
)
def test_every_code_on_the_map_is_in_its_legend_and_none_twice(explorer, library, primitive):
    state = {**explorer.start, "library": library, "primitive": primitive}
    drawn = explorer.parts[0].draw(state, explorer.texts(state))
    codes = set(re.findall(r'text-anchor="middle"[^>]*>(\w\w|\?)<', drawn))
    legend = re.findall(r"<b[^>]*>([^<]+)</b> ([^<]+)<", drawn)
    named = dict(legend)
    assert codes == set(named)
    assert len(named) == len(legend)
    for code, label in legend:
        look = known(label)
        assert (look.code if look else "?", look is None) == (code, label == "not priced")


def frame(explorer, **changed):
    """What frames the chosen number of ranks, and where the message is."""
    state = {**explorer.start, **changed}
    return re.search(r'<path d="([^"]*)" fill="none"', explorer.parts[0].draw(state, explorer.texts(state)))[1]


def test_the_ranks_on_offer_are_those_of_the_cost_explorer_and_stand_between_the_rows_of_the_map(explorer):
    assert set(explorer.choices(2, explorer.start)) == set(cost_explorer().choices(0, {})) > set(RANKS)
    assert frame(explorer, n=72).startswith("M42 170H634V187H42z")  # the eleventh row of 17
    assert frame(explorer, n=576).startswith("M42 238H634M")  # a line below the fourteenth


@pytest.mark.usefixtures("with_chromium")
def test_a_press_on_the_map_takes_the_ranks_of_its_row(tmp_path, explorer):
    with opened(write_page(tmp_path, explorer)) as (tab, troubles):
        tab.wait_for_selector(".cl-running")
        box = tab.locator("[data-part='0'] svg").bounding_box()
        tab.mouse.click(box["x"] + 300, box["y"] + 17 * (len(RANKS) - 0.5))
        assert tab.get_by_label("Ranks N, typed").input_value() == "65536"
        tab.mouse.click(box["x"] + 300, box["y"] + 8)
        assert tab.get_by_label("Ranks N, typed").input_value() == "2"
        for n, row in (("2", 0.5), ("64", 9.5), ("576", 14)):  # in the middle of its row, or between two
            tab.get_by_label("Ranks N, typed").fill(n)
            top, knob = (tab.locator(one).bounding_box() for one in ("[data-part='0'] svg", ".cl-handle"))
            assert knob["y"] + knob["height"] / 2 - top["y"] == pytest.approx(17 * row, abs=0.1)
        tab.mouse.move(box["x"] + 200, box["y"] + 40)
        assert tab.locator(".cl-tip").is_visible()
        tab.keyboard.press("Escape")
        assert not tab.locator(".cl-tip").is_visible()
        assert troubles == []


def test_it_is_small_and_the_same_every_time(explorer):
    assert len(explorer._repr_html_()) < 200_000  # the counts of a hundred N, packed
    assert winners_map().payload == explorer.payload


@pytest.mark.parametrize("primitive", PRIMITIVES)
@pytest.mark.parametrize("width", [360, 640])
def test_no_letters_of_the_map_run_into_each_other_or_out_of_it(explorer, primitive, width):
    state = {**explorer.start, "primitive": primitive, "library": "MPICH"}
    svg = explorer.parts[0].draw(state, explorer.texts(state), width)
    placed = {}
    for at, down, anchor, letters in re.findall(
        r'<text x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)"[^>]*>([^<]+)<', svg
    ):
        wide = 6.8 * len(letters)
        left = float(at) - {"start": 0, "middle": wide / 2, "end": wide}[anchor]
        placed.setdefault(float(down), []).append((left, left + wide))
    assert len(placed) > len(RANKS)
    for row in map(sorted, placed.values()):
        assert row[0][0] >= 0
        assert row[-1][1] <= width + 1
        assert all(before[1] <= after[0] + 1 for before, after in pairwise(row))
