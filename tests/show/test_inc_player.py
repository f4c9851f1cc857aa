"""The in-network player shows what the second interpreter computes, on switches and ranks alike."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
import reference
from show_browser import opened, write_page

from colllib.cost import Cost
from colllib.show import inc_player
from colllib.show.inc_player import COLLECTIVES, PARTS, around, done, fabrics, holds, parts, through

SIDES = [
    pytest.param(through(name, n, where, segments), id=f"{name}-{n}-{where}-{segments}")
    for name in COLLECTIVES
    for n in (2, 5, 8)
    for where in fabrics(n)
    for segments in (1, 4)
] + [pytest.param(around(name, n, 4), id=f"{name}-{n}-software") for name in COLLECTIVES for n in (3, 8)]


class First:
    """The first t steps of a schedule, as far as the second interpreter needs it."""

    def __init__(self, schedule, t):
        self.blocks, self.step, self.num_steps, self.ranks = schedule.blocks, schedule.step, t, schedule.ranks


def told(text):
    """How many blocks a cell speaks of."""
    if text == "·":
        return 0
    if " of " in text:
        return int(text.split()[0])
    return sum(int(part.split(" × ")[1]) if " × " in part else 1 for part in text.split(", "))


@pytest.mark.parametrize("side", SIDES)
def test_every_state_is_what_a_second_interpreter_finds(side):
    schedule = side.run.schedule
    assert reference.holds(schedule)
    for t, state in enumerate(reference.states(schedule)):
        for node in range(schedule.nodes):
            mine = [block for (where, block), value in state.items() if where == node and value]
            assert told(holds(side, node, t)) == len(mine)
    ready, wanted = done(side, side.steps)
    assert ready == wanted > done(side, 0)[0]


@pytest.mark.parametrize("side", SIDES[::3])
def test_bytes_up_and_down_are_what_a_second_interpreter_counts(side):
    for t in range(side.steps + 1):
        out, into = side.moved(t)
        sent, received = reference.traffic(First(side.run.schedule, t))
        for node in range(side.run.schedule.nodes):
            assert (out[node], into[node]) == (sent.get(node, 0), received.get(node, 0))


@pytest.mark.parametrize("side", SIDES)
def test_latency_is_what_its_parts_add_up_to(side):
    for t in range(side.steps + 1):
        starts, switches = parts(side, t)
        if side.run.schedule.switches:
            assert side.paid(t).n_alpha == starts * PARTS.endpoint + switches * PARTS.switch
        else:
            assert side.paid(t).n_alpha == t
    assert side.paid(side.steps) == side.run.cost


@pytest.mark.parametrize(("where", "switches"), [("one", 1), ("tree", 3)])
def test_one_piece_is_one_start_and_the_switches_on_the_way(where, switches):
    side = through("one-shot", 8, where, 1)
    assert side.paid(side.steps) == Cost(Fraction(3, 5) + switches * Fraction(2, 5), side.steps)


def test_the_summary_says_what_the_tables_show():
    state = {"collective": "scatter-kept", "n": 8, "fabric": "one", "p": 1, "step": 1}
    player = inc_player()
    assert "n_alpha 3/5, n_beta 7/8. Bruck" in player.render(3, state)
    cells = re.findall(r'<td class="s">([^<]+)</td><td class="s">([^<]+)</td>', player.render(0, state))
    assert cells == [("7/8", "0")] * 8


def test_it_plays_in_a_page_without_a_kernel(tmp_path):
    player = inc_player()
    assert len(player.grid.json()) < 5_000_000
    with opened(write_page(tmp_path, player)) as (tab, troubles):
        tab.get_by_role("button", name="Next").click()
        assert "2 of 2 steps done, 8 of 8 places" in tab.locator("[aria-live]").first.inner_text()
        tab.get_by_label("Fabric").select_option(label="Two levels of switches")
        assert "4 steps" in tab.locator("[aria-live]").first.inner_text()
    assert troubles == []
