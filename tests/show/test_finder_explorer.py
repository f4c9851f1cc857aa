"""The finder's explorer: its frontier, provenance and prices are those of the finder's rows."""

import re

import pytest

from colllib.graphs.finder import pareto
from colllib.show.finder_explorer import DEGREES, finder_explorer, frontier, named, provenance


@pytest.mark.parametrize("degree", DEGREES)
def test_the_frontier_has_a_letter_for_every_row(degree):
    rows = pareto(64, degree)
    assert [name[0] for name in named(64, degree)] == list("ABCDEFGHIJ"[: len(rows)])
    drawn = str(frontier(64, degree).fragment())
    assert all(f">{name[0]}<" in drawn for name in named(64, degree))


def test_a_dot_of_the_frontier_has_the_color_of_its_curve():
    pages = finder_explorer()
    curves = {one.row.name: one.look for one in pages.parts[1].race.standings(pages.start) if not one.row.bound}
    drawn = re.findall(r'r="4.5"[^>]*style="stroke:([^"]+)"', frontier(1024, 4).body)
    assert drawn == [look.color for look in curves.values()]


def test_provenance_goes_down_to_the_bases_with_the_cost_of_each():
    html = provenance(pareto(512, 4)[0])
    assert html.count("<li>") == 3
    assert "dihedral graph: N = 32, 3 steps, 31/32 M/B" in html


def test_the_cheapest_graph_changes_with_the_message():
    pages = finder_explorer()
    state = {"n": 1024, "d": 4, "alpha": 10e-6, "bw": 12.5e9}
    race = pages.parts[1].race
    first, last = (race.standings(state | {"m": size})[:-1] for size in (1e3, 1e10))
    assert min(first, key=lambda one: one.seconds).row.name == next(iter(named(1024, 4)))
    assert min(last, key=lambda one: one.seconds).row.name == list(named(1024, 4))[-1]
