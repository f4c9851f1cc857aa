"""Pictures of wirings: every wire is drawn, a wire that wraps round as two stubs, the cut in bold."""

from __future__ import annotations

import re

import pytest

from colllib.show.wiring import layout, wiring
from colllib.topology import Latency, Lattice, from_links, full_mesh, line, mesh, ring, star, torus, twisted_torus

PATH = re.compile(r"<path d=\"M(-?[0-9.]+) (-?[0-9.]+)([lL])[^\"]*\"([^>]*)/>")

DRAWN = [ring(5), line(4), star(6), full_mesh(5), torus((4, 3)), mesh((3, 3)), torus((2, 2, 2)), torus((3, 3, 2))]


def pairs(topology):
    """The wires of a topology without switches or with them, as sets of two nodes."""
    return {frozenset(ends) for ends in zip(topology.link_src.tolist(), topology.link_dst.tolist(), strict=True)}


@pytest.mark.parametrize("topology", DRAWN, ids=lambda t: t.name)
def test_every_wire_is_drawn_once_or_as_two_stubs(topology):
    paths = PATH.findall(wiring(topology, alt="").body)
    whole = [kind for *_, kind, _ in paths if kind == "L"]
    stubs = [kind for *_, kind, _ in paths if kind == "l"]
    assert len(whole) + len(stubs) / 2 == len(pairs(topology))


@pytest.mark.parametrize("dims", [(4, 3), (5, 4), (3, 3, 3), (2, 4)])
def test_the_wires_that_wrap_are_those_between_the_ends_of_a_line(dims):
    where, axes = torus(dims), Lattice(dims)
    ends = {
        tuple(sorted(pair))
        for pair in pairs(where)
        for a, b in [map(axes.coordinates, pair)]
        if any(abs(x - y) == d - 1 > 1 for x, y, d in zip(a, b, dims, strict=True))
    }
    assert set(layout(where).stubs) == ends
    assert layout(mesh(dims)).stubs == {}


def test_the_cut_is_what_joins_the_halves():
    half = (0, 1, 4, 5, 8, 9)
    body = wiring(torus((4, 3)), half=half, alt="").body
    bold = [kind for *_, kind, look in PATH.findall(body) if 'stroke-width="3.5"' in look]
    crossing = [pair for pair in pairs(torus((4, 3))) if len(pair & set(half)) == 1]
    assert bold.count("L") + bold.count("l") / 2 == len(crossing) == 6
    assert body.count("<rect") == len(half)
    assert body.count("<circle") == 12 - len(half)


def test_a_twist_says_where_each_wire_comes_back():
    """The wires that leave the topmost row of an 8 x 4 twist come back four places further on, and conversely."""
    body = wiring(twisted_torus(4), columns=8, alt="").body
    muted = re.findall(r'font-size="10"[^>]*>(\d+)</text>', body)
    assert sorted(map(int, muted)) == [*range(8), *range(24, 32)]
    below = {
        int(t): float(x)
        for x, t in re.findall(r'<text x="(-?[0-9.]+)" y="-?[0-9.]+"[^>]*font-size="10"[^>]*>(\d+)', body)
    }
    place = layout(twisted_torus(4), 8).place
    for x in range(8):
        assert below[24 + x] == pytest.approx(place[(x + 4) % 8][0], abs=0.1)
        assert below[(x + 4) % 8] == pytest.approx(place[24 + x][0], abs=0.1)


def test_thickness_follows_the_load_and_only_the_most_loaded_is_colored():
    body = wiring(line(4), width={(0, 1): 0.5, (1, 2): 1.0, (2, 3): 0.25}, alt="").body
    widths = [float(width) for width in re.findall(r'stroke-width="([0-9.]+)" stroke-opacity', body)]
    assert widths == [4.0, 7.0, 2.5]
    assert body.count("stroke:currentColor") == 2


def test_a_switch_is_drawn_and_a_title_and_an_alt_text_are_kept():
    chart = wiring(
        from_links("two leaves", 4, [(0, 4), (1, 4), (2, 5), (3, 5), (4, 5)], switches=2, latency=Latency()),
        title="T",
        alt="A",
    )
    assert chart.body.count(">S</text>") == 2
    assert (chart.title, chart.alt) == ("T", "A")
