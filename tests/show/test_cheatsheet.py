"""The cheatsheet: it prints the library's own formulas, of everything that a ladder offers, and nothing else."""

from __future__ import annotations

import re

import pytest

from colllib import ladder, units
from colllib.algorithms.hierarchical import TWO_TIERS
from colllib.bounds import ON_TORUS, ONE_PORT
from colllib.cost import BEST_SEGMENTS_SQUARED, CROSSOVER
from colllib.ladder import ANCHOR_ALPHA, ANCHOR_BANDWIDTH, ANCHOR_MESSAGE
from colllib.show.cheatsheet import ANCHORS, bounds_table, closed_forms, handy, in_letters, two_tiers
from colllib.two_tiers import cluster, price


def in_a_cell(formula, holds=""):
    """As a table has it: its fractions as large as its letters, and short enough for the page."""
    return in_letters(f"${formula.tex}$".replace(r"d_{\max}", "d" if "equal" in holds else r"d_{\max}"))


@pytest.mark.parametrize("kind", ANCHORS)
def test_the_page_has_every_algorithm_with_its_formulas_or_says_that_it_has_none(kind):
    rows = [row.strip("| ").split(" | ") for row in closed_forms(kind).splitlines()[2:]]
    shown = {(re.sub(r"\[(.*)\].*", r"\1", cells[-5]).split(",")[0], *cells[-4:-1]) for cells in rows}
    for primitive in ("broadcast", "all-gather", "all-reduce", "all-to-all"):
        for entry in ladder.entries(primitive, ANCHORS[kind], trusting=True):
            if kind == "inc-star" and entry.algorithm.takes == "ranks":
                continue
            segments = 9 if entry.algorithm.segmented else 1
            form, name = entry.algorithm.form(entry.topology, segments), entry.algorithm.label
            if form is None:
                assert any(row[0] == name and row[-1] == "–" for row in shown)
            else:
                holds = form.holds.text
                assert (name, in_a_cell(form.n_alpha), in_a_cell(form.n_beta, holds), in_letters(holds)) in shown


@pytest.mark.parametrize("kind", ["star", "inc-star", "full-mesh"])
def test_a_time_is_what_the_formulas_of_its_row_give(kind):
    rows = [row.strip("| ").split(" | ") for row in closed_forms(kind).splitlines()[2:]]
    times = {(cells[-5], cells[-4], cells[-3]): cells[-1] for cells in rows}
    for primitive in ("broadcast", "all-gather", "all-reduce", "all-to-all"):
        for entry in ladder.entries(primitive, ANCHORS[kind], trusting=True):
            form = entry.algorithm.form(entry.topology, 9 if entry.algorithm.segmented else 1)
            label = (entry.algorithm.label, form and in_a_cell(form.n_alpha), form and in_a_cell(form.n_beta))
            if form is None or label not in times:
                continue
            time, _, cut = times[label].partition(" $P=")
            sizes = {"N": 512, "P": int(cut.strip("$") or 1)}
            seconds = float(form.n_alpha(**sizes)) * ANCHOR_ALPHA
            seconds += float(form.n_beta(**sizes)) * (ANCHOR_MESSAGE / ANCHOR_BANDWIDTH)
            assert time == units.seconds(seconds, 3).replace(" ", "\u00a0"), label


def test_the_bounds_are_the_librarys():
    rows = bounds_table().splitlines()[2:]
    assert len(rows) == len(ladder.PRIMITIVES)
    for primitive, row in zip(ladder.PRIMITIVES, rows, strict=True):
        one, torus = ONE_PORT[primitive], ON_TORUS[primitive]
        parts = [one.n_alpha, one.n_beta, torus.n_alpha, torus.n_beta]
        assert row.strip("| ").split(" | ") == [primitive, *map(in_a_cell, parts)]


def test_the_handy_formulas_are_the_librarys():
    for formula in (CROSSOVER, BEST_SEGMENTS_SQUARED, *(ONE_PORT[primitive].n_beta for primitive in ladder.PRIMITIVES)):
        assert formula.tex in handy()


@pytest.mark.parametrize("kind", ANCHORS)
def test_every_row_of_a_table_has_all_its_cells(kind):
    assert len({len(re.findall(r"\|", row)) for row in closed_forms(kind).splitlines()}) == 1


def test_the_times_of_two_tiers_are_what_their_formulas_say():
    name = "64 boxes of 8 on rails"
    topology, alpha, bandwidth = cluster(name), price(name)["alpha"], price(name)["bandwidth"]
    for form, row in zip(TWO_TIERS, two_tiers().splitlines()[2:], strict=True):
        inner, outer, port, card = (
            float(part(B=topology.ranks // 8, G=8)) for part in (form.inner, form.outer, form.port, form.card)
        )
        seconds = inner * alpha[0] + outer * alpha[1] + ANCHOR_MESSAGE * (port / bandwidth[0] + card / bandwidth[1])
        assert row.split(" | ")[-1].strip("| ") == units.seconds(seconds, 3).replace(" ", "\u00a0")
