"""Drawings of wires: every wire is drawn, one that goes round as two stubs, the cut in bold."""

from __future__ import annotations

import re

import pytest
from show_svg import count_wires, disks, pictures, wires

from colllib.show.drawings import wiring
from colllib.show.drawings.wires import wiring_layout
from colllib.topology import Lattice, full_mesh, line, mesh, ring, star, torus, twisted_torus

DRAWN = [ring(5), line(4), full_mesh(5), torus((4, 3)), mesh((3, 3)), torus((2, 2, 2)), torus((3, 3, 2))]


def pairs(topology):
    """The wires of a topology without switches or with them, as sets of two nodes."""
    return {frozenset(ends) for ends in zip(topology.link_src.tolist(), topology.link_dst.tolist(), strict=True)}


@pytest.mark.parametrize("topology", DRAWN, ids=lambda t: t.name)
def test_every_wire_is_drawn_once_or_as_two_stubs(topology):
    drawn = wiring(topology)
    for svg in pictures(drawn.body):
        assert set(disks(svg)) == set(range(topology.ranks))
        assert count_wires(svg) == len(pairs(topology))
    assert f"{len(pairs(topology))} wires" in drawn.alt


@pytest.mark.parametrize("topology", [ring(6), line(5), mesh((4, 3)), full_mesh(4)], ids=lambda t: t.name)
def test_a_wire_that_does_not_go_round_ends_at_its_two_ranks(topology):
    for svg in pictures(wiring(topology).body):
        rank_at = {place: rank for rank, place in disks(svg).items()}
        assert {frozenset((rank_at[a], rank_at[b])) for *_, a, b in wires(svg)} == pairs(topology)


@pytest.mark.parametrize("dims", [(4, 3), (5, 4), (3, 3, 3), (2, 4)])
def test_the_wires_that_go_round_are_those_between_the_ends_of_a_line(dims):
    axes = Lattice(dims)

    def apart(pair):
        return [abs(x - y) for x, y in zip(*map(axes.coordinates, pair), strict=True)]

    ends = {
        tuple(sorted(pair))
        for pair in pairs(torus(dims))
        if any(far == d - 1 > 1 for far, d in zip(apart(pair), dims, strict=True))
    }
    between_slices = {tuple(sorted(pair)) for pair in pairs(torus(dims)) if len(dims) == 3 and apart(pair)[2]}
    assert set(wiring_layout(torus(dims), 0, 640)[1]) == ends | between_slices
    assert f"{len(ends)} of which go round" in wiring(torus(dims)).alt
    assert "go round" not in wiring(mesh(dims)).alt


def test_the_cut_is_what_joins_the_halves():
    half = (0, 1, 4, 5, 8, 9)
    crossing = [pair for pair in pairs(torus((4, 3))) if len(pair & set(half)) == 1]
    for svg in pictures(wiring(torus((4, 3)), half=half).body):
        assert count_wires(svg, "cut") == len(crossing) == 6
        assert svg.count('<g class="n i ') == len(half)


def test_a_twist_says_where_each_wire_comes_back():
    """The wires that leave the topmost row of an 8 x 4 twist come back four places further on, and conversely."""
    for svg in pictures(wiring(twisted_torus(4), columns=8).body):
        named = re.findall(r'<text x="(-?[\d.]+)" y="-?[\d.]+" class="q small">(\d+)<', svg)
        assert sorted(int(name) for _, name in named) == [*range(8), *range(24, 32)]
        came, place = {int(name): float(x) for x, name in named}, disks(svg)
        for x in range(8):
            assert came[24 + x] == pytest.approx(place[(x + 4) % 8][0], abs=0.1)
            assert came[(x + 4) % 8] == pytest.approx(place[24 + x][0], abs=0.1)


def test_thickness_follows_the_load_and_only_the_most_loaded_is_colored():
    for svg in pictures(wiring(line(4), width={(0, 1): 0.5, (1, 2): 1.0, (2, 3): 0.25}).body):
        assert [more.split('"')[1] for _, more, *_ in wires(svg)] == ["4", "7", "2.5"]
        assert [kind for kind, *_ in wires(svg)] == [" load", " busiest", " load"]


def test_a_switch_stands_in_the_middle_of_its_ranks():
    for svg in pictures(wiring(star(4)).body):
        assert svg.count(">switch</text>") == 1
        x, y = zip(*disks(svg).values(), strict=True)
        assert {(round(sum(x) / 4), round(sum(y) / 4))} == {(0, 0)}
