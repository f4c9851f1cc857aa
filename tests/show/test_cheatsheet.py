"""The cheatsheet: what it prints is evaluated and held against executions; nothing on it is typed twice."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import combinations
from math import isqrt

import pytest

from colllib import ladder
from colllib.algorithms import allgather, allreduce, alltoall, broadcast, reduce, reducescatter
from colllib.bounds import bus_factor, floor
from colllib.execution import execute
from colllib.show.cheatsheet import (
    BEST_SEGMENTS_SQUARED,
    BOUNDS,
    BUS_FACTORS,
    CROSSOVER,
    HOLDS,
    SHEET,
    Formula,
    bounds_table,
    closed_forms,
    formula,
    handy,
)
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
@pytest.mark.parametrize("primitive", ladder.PRIMITIVES)
def test_every_closed_form_is_what_executes(kind, primitive):
    met = set()
    for spec in PLACES[kind]:
        for way in ladder.entries(primitive, spec):
            line = formula(kind, way)
            for segments in (1, 2, 3, 4, 9) if way.algorithm.segmented else (1,):
                if line is not None and HOLDS[line.holds](place(spec), segments):
                    executed = execute(way.schedule(segments), find(spec)).cost
                    assert line.cost(place(spec), segments) == executed, (spec, way.algorithm.label, segments)
                    met.add(way.algorithm.label)
    assert met == set(SHEET[kind][primitive])


def test_what_a_condition_excludes_really_differs():
    """Each restriction is needed: somewhere outside of it an execution says otherwise."""
    differs, restricted = set(), set()
    for kind, specs in PLACES.items():
        for primitive in ladder.PRIMITIVES:
            for spec in specs:
                for way in ladder.entries(primitive, spec):
                    line = formula(kind, way)
                    if line is None or line.holds == "any":
                        continue
                    restricted.add((kind, line.holds))
                    for segments in (1, 2) if way.algorithm.segmented else (1,):
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
        for way in ladder.entries(primitive, spec):
            if kind == "inc-star" and way.algorithm.takes == "ranks":
                continue
            rows = [row for row in page.splitlines() if row.split(" | ")[1].split(",")[0] == way.algorithm.label]
            line = formula(kind, way)
            shown = "no closed form" if line is None else f"${line.n_alpha.tex}$ | ${line.n_beta.tex}$"
            assert any(shown in row for row in rows), (way.algorithm.label, shown)


def test_the_bounds_are_the_librarys():
    for kind, specs in (
        ("star", ("star:3", "star:8", "star:13")),
        ("torus", ("torus:4x4", "torus:3x5", "torus:6x6x6")),
    ):
        for primitive, line in BOUNDS[kind].items():
            for spec in specs:
                if HOLDS[line.holds](place(spec), 1):
                    assert line.cost(place(spec)) == floor(primitive, find(spec))
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


def test_the_handy_crossover_is_where_two_executed_times_are_equal():
    builds = allreduce.ring, allreduce.binomial_tree, allreduce.rabenseifner, allreduce.recursive_doubling
    costs = [execute(build(16)).cost for build in builds]
    crossed = 0
    for one, two in combinations(costs, 2):
        if one.n_beta == two.n_beta:
            continue
        m = CROSSOVER.of(a=one.n_alpha, a2=two.n_alpha, b=one.n_beta, b2=two.n_beta)
        assert one.n_alpha + one.n_beta * m == two.n_alpha + two.n_beta * m
        crossed += m > 0
    assert crossed == 3
    assert CROSSOVER.tex in handy()


@pytest.mark.parametrize(("ranks", "m"), [(4, 3), (5, 100), (9, 7), (12, 1000)])
def test_the_handy_number_of_segments_is_beside_the_fastest_executed_one(ranks, m):
    squared = BEST_SEGMENTS_SQUARED.of(L=ranks - 1, m=m)
    least = isqrt(squared.numerator // squared.denominator)
    costs = {p: execute(broadcast.chain(ranks, segments=p)).cost for p in range(1, 3 * least + 4)}
    assert min(costs, key=lambda p: costs[p].n_alpha + costs[p].n_beta * m) in (least, least + 1)
    assert BEST_SEGMENTS_SQUARED.tex in handy()


def test_the_handy_factors_are_the_least_that_one_port_carries():
    """Held against executions that attain the bound, in the limit of many segments where it needs them."""
    attain = {
        "broadcast": lambda n: broadcast.chain(n, segments=400),
        "reduce": lambda n: reduce.chain(n, segments=400),
        "all-gather": allgather.ring,
        "reduce-scatter": reducescatter.ring,
        "all-to-all": alltoall.pairwise,
        "all-reduce": allreduce.ring,
    }
    assert set(BUS_FACTORS) == set(ladder.PRIMITIVES)
    for primitive, factor in BUS_FACTORS.items():
        assert f"${factor.tex}$" in handy()
        for n in (2, 3, 8, 13):
            assert factor.value(n) == bus_factor(primitive, n) == max(execute(attain[primitive](n)).link_total)
