"""The PAT explorer: what it shows against the second interpreter and the closed forms."""

import re

import pytest
import reference

from colllib import units
from colllib.algorithms import allgather
from colllib.show import pat_explorer
from colllib.show.pat_explorer import FABRICS, caps

EXPLORER = pat_explorer()


def rows(state):
    html = EXPLORER.render(0, state)
    return [re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)[1:]]


@pytest.mark.parametrize(("n", "cap", "m"), [(6, 2, 1e6), (8, 1, 64e3), (16, 4, 16e6), (64, 32, 4e9)])
@pytest.mark.parametrize("fabric", list(FABRICS))
def test_the_table_shows_executed_steps_and_times(n, cap, m, fabric):
    shown = {row[0].removeprefix("▸ "): row[1:] for row in rows({"n": n, "cap": cap, "m": m, "fabric": fabric})}
    built = {f"PAT, A = {a}": allgather.pat(n, cap=a) for a in caps(n)}
    built |= {"ring": allgather.ring(n), "Bruck": allgather.bruck(n)}
    assert shown.keys() == built.keys()
    for name, schedule in built.items():
        n_alpha, n_beta = reference.star_cost(schedule)
        seconds = n_alpha * fabric[0] + float(n_beta) * m / fabric[1]
        assert shown[name][:2] == [str(n_alpha), units.seconds(seconds, 4)]


@pytest.mark.parametrize("n", [8, 16, 64, 512])
def test_parked_shards_follow_the_closed_form_for_powers_of_two(n):
    shown = {row[0].removeprefix("▸ "): row for row in rows({"n": n, "cap": 1, "m": 16e6, "fabric": (2e-6, 50e9)})}
    for k, cap in enumerate(caps(n)):
        assert shown[f"PAT, A = {cap}"][3] == str(cap * (n.bit_length() - 1 - k) - 1)


def test_every_state_renders_and_the_page_stays_small():
    grid = EXPLORER.grid
    states = sum(len(caps(n)) for n in (6, 8, 16, 64, 72, 512)) * 5 * 3
    assert sum(1 for _ in EXPLORER.states([0, 1, 2, 3])) == states < 2000
    assert len(grid.json()) < 4_000_000
    assert "35 steps" in EXPLORER.render(len(EXPLORER.all_parts) - 1, EXPLORER.start)
