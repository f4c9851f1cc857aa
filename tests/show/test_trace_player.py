"""The trace player shows what the second interpreter computes, cell by cell."""

from __future__ import annotations

import re

import pytest
import reference
from show_browser import opened, write_page

from colllib.algorithms import ALGORITHMS
from colllib.execution import execute
from colllib.show import trace_player
from colllib.show.trace_player import variants

CELL = re.compile(r"<td(?: class=\"([dm ]*)\")?>([^<]*)</td>")


def shown(player, name, n, step):
    """Each row's cells as (set of contributions or None, marks)."""
    html = player.render(0, {"algorithm": name, "n": n, "step": step})
    for row in re.findall(r'<tr><th scope="row">\d+</th>(.*?)<td class="s">([^<]*)</td></tr>', html):
        yield [(ranks(text, n), set(marks.split())) for marks, text in CELL.findall(row[0])], row[1]


def ranks(text, n):
    if text in ("·", "Σ"):
        return None if text == "·" else set(range(n))
    found = set()
    for part in text.split("+"):
        first, _, last = part.partition("–")
        found |= set(range(int(first), int(last or first) + 1))
    return found


@pytest.mark.parametrize("name", variants("all-reduce"))
@pytest.mark.parametrize("n", [2, 3, 6, 8])
def test_every_cell_of_every_step_is_what_a_second_interpreter_finds(name, n):
    player = trace_player()
    schedule = variants("all-reduce")[name][1](n)
    steps = list(reference.messages(schedule))
    sent = [0] * n
    for t, state in enumerate(reference.states(schedule)):
        arrived = {(dst, block) for _, dst, block, _ in steps[t - 1]} if t else set()
        for src, _, block, _ in steps[t - 1] if t else ():
            sent[src] += schedule.blocks.share[block]
        for rank, (cells, total) in enumerate(shown(player, name, n, t)):
            assert total == str(sent[rank])
            for block, (held, marks) in enumerate(cells):
                assert held == set(state[rank, block])
                assert ("m" in marks) == ((rank, block) in arrived)
                assert ("d" in marks) == (len(held) == n)


def test_running_costs_end_at_the_executed_total():
    player = trace_player()
    schedule = variants("all-reduce")["rabenseifner"][1](8)
    cost = execute(schedule).cost
    told = player.render(2, {"algorithm": "rabenseifner", "n": 8, "step": schedule.num_steps})
    assert f"n_alpha = {cost.n_alpha} of {cost.n_alpha}, n_beta = {cost.n_beta} of {cost.n_beta}" in told


@pytest.mark.parametrize("primitive", sorted({a.primitive for a in ALGORITHMS} - {"all-reduce"}))
def test_every_primitive_can_be_played_to_its_end(primitive):
    player = trace_player(primitive, ranks=[2, 4, 5])
    for name in variants(primitive):
        last = max(player.choices(2, {"algorithm": name, "n": 4}))
        text = player.all_parts[-1].html({"algorithm": name, "n": 4, "step": last})
        done, wanted = re.search(r"(\d+) of (\d+) places", text).groups()
        assert done == wanted


def test_two_players_give_the_same_bytes_and_stay_small():
    first, second = trace_player()._repr_html_(), trace_player()._repr_html_()
    assert first == second
    assert len(first) < 250_000


def test_a_start_that_is_not_on_offer_is_refused():
    with pytest.raises(ValueError, match="algorithm"):
        trace_player(start=("butterfly", 4, 0))


def test_in_a_page_without_kernel_and_network_the_algorithm_and_the_step_can_be_changed(tmp_path, with_chromium):
    with opened(write_page(tmp_path, trace_player())) as (tab, _):
        tab.wait_for_selector(".cl-running")
        tab.get_by_role("combobox", name="Algorithm").select_option(label="Recursive doubling")
        tab.get_by_role("slider", name="Ranks N").press("End")
        steps = tab.get_by_role("slider", name="Steps done")
        steps.press("End")
        assert steps.get_attribute("aria-valuetext") == "3 of 3"
        assert tab.locator(".cl-trace td.d").count() == 8
        steps.press("ArrowLeft")
        assert tab.locator(".cl-trace td.d").count() == 0
