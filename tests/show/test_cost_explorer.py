"""The cost explorer: its tables against executions, its crossovers against the times on both sides."""

from __future__ import annotations

import re

import pytest
from show_browser import opened, write_page

from colllib import ladder, units
from colllib.algorithms import find
from colllib.show import cost_explorer
from colllib.show.cost_explorer import CURVE, _field, _here, crossovers
from colllib.topology import star


@pytest.mark.parametrize("state", [(512, 16e6, 0.5e-6, 900e9), (6, 1e3, 5e-6, 50e9), (72, 1e9, 1e-6, 400e9)])
def test_the_table_shows_the_executed_ladder(state):
    n, m, alpha, bw = state
    html = cost_explorer().render(0, {"n": n, "m": m, "alpha": alpha, "bw": bw})
    rows = [re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)[1:]]
    rungs = ladder.ladder("all-reduce", star(n), message=m, alpha=alpha, bandwidth=bw)
    assert [row[0] for row in rows] == [*(rung.algorithm.label for rung in rungs), "lower bounds"]
    for row, rung in zip(rows, rungs, strict=False):
        assert row[1] == units.seconds(rung.seconds, 4)
        assert row[3:5] == [str(rung.cost.n_alpha), str(rung.cost.n_beta)]


@pytest.mark.parametrize("n", [3, 8, 72, 512])
@pytest.mark.parametrize("unit", [5e3, 450e3])
@pytest.mark.parametrize("primitive", ["all-reduce", "broadcast"])
def test_at_each_crossover_the_fastest_algorithm_changes(n, unit, primitive):
    field = _field(primitive)

    def winners(message):
        return field(n, message / unit)

    found = crossovers(winners, unit)
    for size, before, after in found:
        assert winners(size * (1 - 1e-5))[0].algorithm == before.algorithm
        assert winners(size * (1 + 1e-5))[0].algorithm == after.algorithm
    order = [winners(CURVE[0])[0].algorithm, *(after.algorithm for _, _, after in found)]
    assert order[-1] == winners(CURVE[-1])[0].algorithm


def test_the_pointer_stands_below_its_size_on_the_axis_in_every_state():
    explorer = cost_explorer()
    for state in explorer.states([0, 2, 3]):
        ticks = re.findall(r'<path d="M([\d.]+) 208.0v4"[^>]*/><text[^>]*>([^<]*)</text>', explorer.render(1, state))
        assert [text for _, text in ticks] == ["1 kB", "100 kB", "10 MB", "1 GB", "100 GB"]
        for place, text in ticks:
            assert f'd="M{place} 1l' in _here(units.parse("message size", text))


def test_two_explorers_give_the_same_bytes_and_stay_small():
    first, second = cost_explorer()._repr_html_(), cost_explorer()._repr_html_()
    assert first == second
    assert len(first) < 400_000


@pytest.mark.parametrize("primitive", ["all-reduce", "broadcast"])
@pytest.mark.parametrize("n", [6, 72, 512])
def test_no_change_of_the_fastest_hides_between_two_points_of_the_curves(primitive, n):
    field = _field(primitive)
    for unit in (5e3, 450e3):
        told = [field(n, CURVE[0] / unit)[0].algorithm]
        told += [after.algorithm for _, _, after in crossovers(lambda m, u=unit: field(n, m / u), unit)]
        dense = [field(n, 10 ** (3 + k / 40) / unit)[0].algorithm for k in range(321)]
        assert told == [a for a, before in zip(dense, [None, *dense], strict=False) if a != before]


@pytest.mark.parametrize("message", [0.1, 35.5, 2000.0])
def test_the_segments_shown_are_the_best_of_all(message):
    tree = find("all-reduce", "double-binary-tree")
    line = next(line for line in _field("all-reduce")(72, message) if line.algorithm is tree)
    times = {p: tree.cost(72, segments=p).seconds(message=message, alpha=1, bandwidth=1) for p in range(1, 400)}
    assert line.seconds == min(times.values())


def test_equally_fast_algorithms_are_told_as_such():
    explorer = cost_explorer("all-gather")
    told = explorer.all_parts[-1].html(explorer.start)
    assert "Bruck, PAT and recursive doubling are equally fastest" in told
    alone = cost_explorer().all_parts[-1].html({"n": 2, "m": 16e6, "alpha": 0.5e-6, "bw": 900e9})
    assert "recursive doubling is fastest with 18.3 us" in alone  # the next one takes 18.8 us


def test_in_a_page_without_kernel_and_network_every_quantity_can_be_moved(tmp_path, with_chromium):
    with opened(write_page(tmp_path, cost_explorer())) as (tab, troubles):
        tab.wait_for_selector(".cl-running")
        for name, key, text in (
            ("Ranks N", "Home", "2"),
            ("Message M", "End", "100 GB"),
            ("Latency alpha", "Home", "100 ns"),
            ("Bandwidth BW", "End", "1.8 TB/s"),
        ):
            slider = tab.get_by_role("slider", name=name)
            slider.press(key)
            assert slider.get_attribute("aria-valuetext") == text
        told = tab.locator("[aria-live]").inner_text()
        assert told.startswith("At N = 2 and M = 100 GB, ")
        assert troubles == []
