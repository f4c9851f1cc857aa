"""The topology explorer shows what is measured, and the cut that it names is the one that it draws."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import product

import pytest
from show_svg import count_wires, pictures

from colllib.show.topology_explorer import KINDS, topology_explorer
from colllib.topology import torus
from colllib.topology.cuts import bisection

EXPLORER = topology_explorer()
STATES = [{"kind": kind, "size": size} for kind, (sizes, _) in KINDS.items() for size in sizes]
CELLS = re.compile(r'<tr><th scope="row">([^<]*)</th><td[^>]*>([^<]*)</td>')


def shown(state):
    return dict(CELLS.findall(EXPLORER.render(1, state)))


def test_alt_texts_have_both_sides_of_a_twisted_torus():
    assert "twisted torus 8 × 4: 32 ranks" in EXPLORER.render(0, {"kind": "twisted torus", "size": 4})


def by_hand(kind, size):
    """Ranks, wires and diameter from the definition."""
    if kind in ("star", "full mesh", "ring", "line"):
        n = size
        wires = {"star": n, "full mesh": n * (n - 1) // 2, "ring": n, "line": n - 1}[kind]
        return n, wires, {"star": 2, "full mesh": 1, "ring": n // 2, "line": n - 1}[kind]
    if kind == "twisted torus":
        return 2 * size * size, None, None
    places = list(product(*map(range, size)))
    cables = {
        frozenset((place, (*place[:axis], (place[axis] + 1) % d, *place[axis + 1 :])))
        for place in places
        for axis, d in enumerate(size)
        if "torus" in kind or place[axis] + 1 < d
    }
    return len(places), len(cables), sum(d // 2 if "torus" in kind else d - 1 for d in size)


@pytest.mark.parametrize("state", STATES, ids=lambda s: f"{s['kind']} {s['size']}")
def test_ranks_wires_and_diameter_are_those_of_the_definition(state):
    ranks, wires, hops = by_hand(state["kind"], state["size"])
    rows = shown(state)
    assert int(rows["ranks N"]) == ranks
    if wires is not None:
        assert (int(rows["wires, full duplex"]), int(rows["diameter D, links"])) == (wires, hops)


@pytest.mark.parametrize("state", STATES, ids=lambda s: f"{s['kind']} {s['size']}")
def test_the_cut_that_is_drawn_has_the_bandwidth_that_is_told(state):
    picture = EXPLORER.render(0, state)
    match = re.search(r"lets ([0-9]+) BW through", picture)
    assert match is not None
    assert shown(state)["bisection, BW one way"] == match[1]
    if state["kind"] != "star":  # through a switch every rank of the half has its link in the cut
        for svg in pictures(picture):
            assert count_wires(svg, "cut") == int(match[1])


def test_every_bisection_on_offer_is_proved():
    assert all("proof that it is exact" in shown(state) for state in STATES)


def test_the_floors_are_told_and_the_larger_counts_at_equal_injection():
    facts = shown({"kind": "twisted torus", "size": 4})
    assert facts["all-to-all floor by the cut"] == "1/2"
    assert facts["all-to-all floor by hops"] == "21/32"
    assert facts["the larger, at BW per rank"] == "21/8"


def test_it_starts_where_the_usual_formula_fails():
    start = EXPLORER.start
    assert start == {"kind": "2-D torus", "size": (5, 4)}
    assert bisection(torus((5, 4))).bandwidth != Fraction(2 * 20, 5)
    assert len(EXPLORER.payload) < 1_000_000
