"""The bus bandwidth explorer: its rows against executions."""

from __future__ import annotations

import re

import pytest

from colllib import execute, ladder, star
from colllib.algorithms import find
from colllib.algorithms.innetwork import two_shot_all_reduce
from colllib.show.busbw_explorer import ROWS, SWITCH, busbw_explorer


@pytest.fixture(scope="module")
def explorer():
    return busbw_explorer()


def columns(html):
    return [re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)[1:]]


@pytest.mark.parametrize(
    ("primitive", "name"), [("all-reduce", "ring"), ("all-gather", "bruck"), ("broadcast", "chain")]
)
@pytest.mark.parametrize("n", [4, 8])
def test_a_row_is_an_execution(explorer, primitive, name, n):
    state = {"primitive": primitive, "algorithm": name, "n": n, "alpha": 2e-6, "bw": 50e9}
    for message, row in list(zip(ROWS, columns(explorer.render(1, state)), strict=True))[:5]:
        run = ladder.run(find(primitive, name), star(n), message=message, alpha=2e-6, bandwidth=50e9)
        assert row[0] == f"{message:,.0f}"
        assert row[2] == f"{run.seconds * 1e6:,.2f}"
        assert row[3] == f"{message / run.seconds / 1e9:.2f}"


def test_the_switch_is_an_execution_too(explorer):
    state = explorer.start
    assert state["algorithm"] == SWITCH
    where = star(8, combines=True, replicates=True)
    message, row = ROWS[3], columns(explorer.render(1, state))[3]
    price = {"message": message, "alpha": state["alpha"], "bandwidth": state["bw"]}
    executed = min(execute(two_shot_all_reduce(where, segments=p), where).cost.seconds(**price) for p in range(1, 12))
    assert row[2] == f"{executed * 1e6:,.2f}"


def test_it_starts_where_busbw_exceeds_the_wire(explorer):
    reached = int(re.search(r"busbw reaches (\d+) % of the wire", explorer.render(0, explorer.start))[1])
    assert 150 <= reached <= 100 * 14 / 9  # the ideal gain of two shots at N = 8
    ring = {**explorer.start, "algorithm": "ring"}
    assert "busbw reaches 100 % of the wire" in explorer.render(0, ring)


def test_it_stays_within_a_page(explorer):
    assert len(explorer.grid.json()) < 5_000_000
