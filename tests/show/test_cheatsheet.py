"""The cheatsheet: what it prints is evaluated and held against executions; nothing on it is typed twice."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from colllib import fabrics
from colllib.execution import execute
from colllib.show.cheatsheet import BOUNDS, HOLDS, SHEET, Formula, bounds_table, closed_forms, formula
from colllib.topology import Lattice, find

PLACES = {
    "star": ("star:2", "star:3", "star:4", "star:6", "star:7", "star:8", "star:16", "star:32"),
    "inc-star": ("inc-star:2", "inc-star:3", "inc-star:5", "inc-star:8"),
    "torus": ("torus:3", "torus:4", "torus:4x4", "torus:5x3", "torus:4x3x2", "torus:4x4x4", "torus:6x6", "torus:2x2"),
    "mesh": ("mesh:4", "mesh:3x3", "mesh:4x3", "mesh:2x2x2", "mesh:3x3x3", "mesh:2x5"),
    "full-mesh": ("full-mesh:2", "full-mesh:3", "full-mesh:5", "full-mesh:8", "full-mesh:16"),
}


def place(spec):
    where = find(spec)
    return where.lattice or where.ranks


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("primitive", fabrics.PRIMITIVES)
def test_every_closed_form_is_what_executes(kind, primitive):
    met = set()
    for spec in PLACES[kind]:
        for way in fabrics.ways(primitive, spec):
            line = formula(kind, way)
            for segments in (1, 2, 3, 4, 9) if way.segmented else (1,):
                if line is not None and HOLDS[line.holds](place(spec), segments):
                    executed = execute(way.build(segments), find(spec)).cost
                    assert line.cost(place(spec), segments) == executed, (spec, way.name, segments)
                    met.add(way.name)
    assert met == set(SHEET[kind][primitive])


def test_what_a_condition_excludes_really_differs():
    """Each restriction is needed: somewhere outside of it an execution says otherwise."""
    differs, restricted = set(), set()
    for kind, specs in PLACES.items():
        for primitive in fabrics.PRIMITIVES:
            for spec in specs:
                for way in fabrics.ways(primitive, spec):
                    line = formula(kind, way)
                    if line is None or line.holds == "any":
                        continue
                    restricted.add((kind, line.holds))
                    for segments in (1, 2) if way.segmented else (1,):
                        outside = not HOLDS[line.holds](place(spec), segments)
                        if outside and line.cost(place(spec), segments) != way.cost(segments):
                            differs.add((kind, line.holds))
    assert restricted == differs


@pytest.mark.parametrize("kind", PLACES)
def test_the_page_has_every_algorithm_and_says_which_have_no_formula(kind):
    page = closed_forms(kind)
    spec = {
        "star": "star:512",
        "inc-star": "inc-star:512",
        "torus": "torus:8x8x8",
        "mesh": "mesh:8x8x8",
        "full-mesh": "full-mesh:512",
    }[kind]
    for primitive in ("broadcast", "all-gather", "all-reduce", "all-to-all"):
        for way in fabrics.ways(primitive, spec):
            assert way.name in page
            line = formula(kind, way)
            if line is not None:
                assert f"${line.n_alpha.tex}$ | ${line.n_beta.tex}$" in page
    bare = {row.split(" | ")[1] for row in page.splitlines() if "no closed form" in row}
    doubling = "recursive doubling"  # whose routes on wires overlap
    assert bare == {"torus": {"all links", doubling}, "mesh": {"rotated relay", doubling}}.get(kind, set())


def test_the_bounds_are_the_librarys():
    for kind, specs in (
        ("star", ("star:3", "star:8", "star:13")),
        ("torus", ("torus:4x4", "torus:3x5", "torus:6x6x6")),
    ):
        for primitive, line in BOUNDS[kind].items():
            for spec in specs:
                if HOLDS[line.holds](place(spec), 1):
                    assert line.cost(place(spec)) == fabrics.floor(primitive, spec)
            assert line.n_beta.tex in bounds_table()


def test_a_formula_is_one_text_for_print_and_value():
    wanted = Formula("2 * (lg(N) + P - 1) / P")
    assert wanted.tex == r"\frac{2(\lceil\log_2 N\rceil+P-1)}{P}"
    assert wanted.value(9, segments=3) == Fraction(2 * (4 + 3 - 1), 3)
    assert Formula("2 * total(d - 1)").tex == r"2\,\sum_i (d_i-1)"
    assert Formula("2 * total(d - 1)").value(Lattice((4, 3))) == 10
    assert Formula("2 * (N // 2)").tex == r"2\lfloor N/2\rfloor"
    assert Formula("most(d) / 8").tex == r"\frac{d_{\max}}{8}"
    for bad in ("N ** 2", "-N", "N if P else 1"):
        with pytest.raises((ValueError, KeyError)):
            Formula(bad).value(4)


def test_the_tables_are_whole():
    for kind in PLACES:
        rows = closed_forms(kind).splitlines()
        assert len({len(re.findall(r"\|", row)) for row in rows}) == 1
