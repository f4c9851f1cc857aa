"""All-to-all throughput: a linear program without symmetry, the tables of the literature, and bounds."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from random_graphs import expressions
from scipy.optimize import linprog

from colllib.graphs import throughput as throughputs
from colllib.graphs.isomorphism import orbits
from colllib.graphs.links import arcs, from_arcs
from colllib.graphs.throughput import CLOSE, distance_bound, narrowed, throughput
from colllib.limits import TooLarge
from colllib.topology.expression import find


def flow(topology):
    """The linear program as it is printed: a commodity for every source, no symmetry, dense."""
    src, dst = arcs(topology)
    n, links = topology.ranks, len(src)
    rows, right = [], []
    for link in range(links):
        row = np.zeros((n, links))
        row[:, link] = 1
        rows.append([*row.ravel(), 0])
        right.append(1)
    for source in range(n):
        for rank in set(range(n)) - {source}:
            row = np.zeros((n, links))
            row[source] = (src == rank).astype(int) - (dst == rank).astype(int)
            rows.append([*row.ravel(), 1])
            right.append(0)
    return -linprog([*np.zeros(n * links), -1], A_ub=np.array(rows), b_ub=right).fun


SMALL = expressions.filter(lambda expression: find(expression).ranks <= 12)


@settings(max_examples=40)
@given(SMALL)
def test_symmetry_changes_nothing(expression):
    topology = find(expression)
    assert float(throughput(topology)) == pytest.approx(flow(topology), rel=1e-9)
    assert throughput(topology) <= distance_bound(topology)


def test_equal_trees_do_not_crowd_out_those_that_prices_come_back_to():
    """Two links into rank 2 have to bring two flows, so that f is at most 1; every other flow finds room as well."""
    widths = {(0, 1): 2, (0, 2): 1, (1, 0): 1, (1, 2): 1, (2, 0): 3}
    links = [link for link, width in widths.items() for _ in range(width)]
    assert throughput(from_arcs("trunks", 3, *np.array(links).T)) == 1


@settings(max_examples=20)
@given(SMALL)
def test_a_wide_bracket_holds_the_throughput(expression):
    topology = find(expression)
    low, high, _ = narrowed(topology, 0.05)
    assert low * (1 - 1e-9) <= throughput(topology) <= high <= distance_bound(topology)


# to the digits that Zhao et al. print, whose program is solved without symmetry
PRINTED = {
    "line-graph(complete-bipartite:4x4)": "5.71e-02",
    "distance-regular:32": "5.26e-02",
    "kautz:4x64": "2.17e-02",
    "line-graph(line-graph(complete-bipartite:4x4))": "9.89e-03",
    "line-graph(distance-regular:32)": "9.26e-03",
    "product(biring:2x8,power(uniring:1x4,2))": "5.21e-03",
    "product(power(uniring:1x4,3),uniring:1x8)": "5.58e-04",
    "power(product(uniring:1x4,uniring:1x8),2)": "2.79e-04",
}


@pytest.mark.parametrize("expression", PRINTED)
def test_throughputs_are_those_of_the_literature(expression):
    assert f"{float(throughput(find(expression))):.2e}" == PRINTED[expression]


def test_a_product_with_itself_divides_by_the_ranks():
    assert throughput(find("power(diamond,2)")) == throughput(find("diamond")) / 8 == Fraction(3, 160)


@pytest.mark.parametrize("n", [3, 4, 5, 8, 9])
def test_a_ring_is_limited_by_its_distances(n):
    away = sum(min(k, n - k) for k in range(n))
    assert throughput(find(f"ring:{n}")) == Fraction(2, away)


@pytest.mark.parametrize("expression", ["hypercube:6", "distance-regular:45", "full-mesh:30", "distance-regular:728"])
def test_where_all_links_are_alike_the_distances_decide(expression):
    topology = find(expression)
    assert throughput(topology) == distance_bound(topology)
    assert orbits(topology)[0].max() == 0


def test_a_program_too_large_is_refused():
    with pytest.raises(ValueError, match=r"22200 variables are too many"):
        throughput(find("kautz:4x149"))
    with pytest.raises(ValueError, match="at least two ranks"):
        throughput(find("ring:1"))


@pytest.mark.parametrize("gap", [CLOSE / 2, 2 * CLOSE, 0.5])
def test_a_bound_is_the_throughput_only_where_a_flow_reaches_it(gap, monkeypatch):
    monkeypatch.setattr(throughputs, "narrowed", lambda *_, **__: (0.15 * (1 - gap), Fraction(3, 20), None))
    if gap < CLOSE:
        assert throughput(find("diamond")) == Fraction(3, 20)
    else:
        with pytest.raises(TooLarge, match=r"diamond: the fraction .* is too long"):
            throughput(find("diamond"))
