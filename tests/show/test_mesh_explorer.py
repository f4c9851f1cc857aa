"""The mesh explorer's loads against counts by hand and by a second router."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction

import pytest
import reference

from colllib.show.mesh_explorer import COLLECTIVES, SHAPES, loads, mesh_explorer, run

EXPLORER = mesh_explorer()


@pytest.mark.parametrize("wraps", [False, True])
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_loads_are_what_the_messages_carry(collective, wraps):
    """Every message of these schedules goes to a neighbor: its link carries its block, and no other does."""
    for dims in ((8,), (3, 3), (6, 4)):
        done = run(collective, dims, wraps)
        share = list(done.schedule.blocks.share)
        links = Counter()
        for step in reference.messages(done.schedule):
            for src, dst, block, _ in step:
                links[src, dst] += share[block]
        by_hand = {
            (a, b): max(links[a, b], links[b, a])
            for a, b in zip(done.topology.link_src.tolist(), done.topology.link_dst.tolist(), strict=True)
            if a < b
        }
        assert loads(done) == by_hand
        assert set(links) <= set(zip(done.topology.link_src.tolist(), done.topology.link_dst.tolist(), strict=True))


@pytest.mark.parametrize("d", [8, 12])
def test_an_all_to_all_loads_the_middle_of_a_line_and_every_wire_of_a_ring(d):
    on_line = loads(run("all-to-all, relayed", (d,), False))
    assert on_line == {(a, a + 1): Fraction((a + 1) * (d - 1 - a), d) for a in range(d - 1)}
    assert set(loads(run("all-to-all, relayed", (d,), True)).values()) == {Fraction(d, 8)}


@pytest.mark.parametrize("d", [4, 8])
def test_a_reduce_scatter_loads_the_ends_of_a_line_and_an_all_reduce_all_of_it_alike(d):
    """Up the wire i of a line cross d - 1 - i sums for the owners above, down it i + 1; the gather does the rest."""
    halfway = loads(run("reduce-scatter, axis by axis", (8,), False))
    assert halfway == {(a, a + 1): Fraction(max(7 - a, a + 1), 8) for a in range(7)}
    along = loads(run("all-reduce, dim-ring", (d, d), False))
    assert {along[a, a + 1] for a in range(d - 1)} == {1}
    assert {along[a, a + d] for a in range(d * (d - 1))} == {Fraction(1, d)}
    closed = loads(run("all-reduce, dim-ring", (d, d), True))
    assert {closed[a, a + 1] for a in range(d - 1)} == {Fraction(d - 1, d)}


def test_only_the_copies_that_use_all_links_notice_the_missing_wires():
    for dims in ((4, 4), (8, 8)):
        for name, ratio in (("all-reduce, dim-ring", 1), ("all-reduce, rotated copies", 2)):
            assert run(name, dims, False).cost.n_beta == ratio * run(name, dims, True).cost.n_beta


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_table_pictures_and_summary_agree(collective):
    for dims in SHAPES:
        state = {"collective": collective, "dims": dims}
        opened, closed = run(collective, dims, False), run(collective, dims, True)
        pictures, table, summary = (EXPLORER.render(part, state) for part in (0, 1, 3))
        for done in (opened, closed):
            most = max(loads(done).values())
            assert re.search(rf"wires carry (its most, )?{most}\N{{NO-BREAK SPACE}}M", pictures)
            assert f"<td>{done.cost.n_beta}</td>" in re.sub(r"<td[^>]*>", "<td>", table)
        alphas = opened.cost.n_alpha, closed.cost.n_alpha
        assert f"latencies: {alphas[0]} {f'against {alphas[1]}' if len({*alphas}) > 1 else 'on both'}." in summary
        same = max(opened.link_total) == max(closed.link_total)
        assert ("the busiest link carries" in summary and "1.00" not in summary) == same


def test_it_starts_where_mesh_and_torus_differ_most_visibly():
    assert EXPLORER.start == {"collective": "all-to-all, relayed", "dims": (8, 8)}
    assert len(EXPLORER.payload) < 4_000_000
