"""The explorer of jobs that share wires shows what execution gives."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
import reference
from shown import rows

from colllib import units
from colllib.algorithms import allreduce
from colllib.contention import together
from colllib.show.contention_explorer import _HUES, FABRICS, WORKS, contention_explorer, places_of, scene, spine_links
from colllib.topology.expression import find

JOBS = contention_explorer()
TORUS, _, NARROW = FABRICS
RING, PAIRWISE = WORKS


# -- jobs that share wires ------------------------------------------------------------------------


@pytest.mark.parametrize("fabric", list(FABRICS))
@pytest.mark.parametrize(("layout", "draw"), [("rows", 0), ("columns", 0), ("drawn", 3)])
@pytest.mark.parametrize(("work", "size"), [(RING, 2), (RING, 16), (PAIRWISE, 8), (PAIRWISE, 4)])
def test_a_scene_is_jobs_executed_together(fabric, layout, draw, work, size):
    drawn = scene(fabric, work, size, 4, layout, draw)
    assert len({int(rank) for row in drawn.places for rank in row}) == 4 * size
    schedule, topology = WORKS[work](size), find(FABRICS[fabric])
    again = together([(schedule, row.tolist()) for row in places_of(size, layout, 4, draw)], topology)
    assert [c.n_beta for c in drawn.runs.in_step] == [c.n_beta for c in again.in_step]
    # what a link carries: every crossing counted one by one
    carried = [Fraction(0)] * topology.num_links
    for job in again.jobs:
        for t in range(job.num_steps):
            step = job.step(t)
            for src, dst, block in zip(step.src.tolist(), step.dst.tolist(), step.block.tolist(), strict=True):
                for link in topology.router(np.array([src]), np.array([dst]))[1].tolist():
                    carried[link] += job.blocks.share[block]
    one = carried_by_an_aligned_rank(schedule)
    assert drawn.loads == pytest.approx([float(load / one) for load in carried])
    assert drawn.levels.tolist() == [min(4, int(-(-load // one))) for load in carried]


def carried_by_an_aligned_rank(schedule):
    return max(reference.traffic(schedule)[0].values())


@pytest.mark.parametrize("fabric", [fabric for fabric in FABRICS if fabric != TORUS])
@pytest.mark.parametrize("work", list(WORKS))
def test_squares_of_a_leaf_add_up_to_what_its_ranks_send_out_and_take_in(fabric, work):
    drawn = scene(fabric, work, 8, 8, "drawn", 1)
    one = carried_by_an_aligned_rank(WORKS[work](8))
    out, into = np.zeros(8), np.zeros(8)
    for job in drawn.runs.jobs:
        for t in range(job.num_steps):
            step = job.step(t)
            for src, dst, block in zip(step.src.tolist(), step.dst.tolist(), step.block.tolist(), strict=True):
                if src // 8 != dst // 8:  # ranks 8 to 15 are below leaf 1, and so on
                    out[src // 8] += job.blocks.share[block] / one
                    into[dst // 8] += job.blocks.share[block] / one
    up, down = (drawn.loads[links] for links in spine_links(drawn.runs.topology))
    assert up.sum(axis=1) == pytest.approx(out)
    assert down.sum(axis=1) == pytest.approx(into)
    assert up.sum(axis=0) == pytest.approx(down.sum(axis=0))  # what goes up to a spine comes down from it
    picture = JOBS.render(0, JOBS.start | {"fabric": fabric, "work": work, "draw": 1})
    fills = re.findall(r'h10v16h-10z" style="fill:([^"]+)"', picture)
    assert fills == [_HUES[level] for links in spine_links(drawn.runs.topology) for level in drawn.levels[links].flat]
    named = re.findall(r'middle"[^>]*>(\d)</text>', picture)
    most = float(re.search(r"with a load of ([\d.]+\d|\d)", picture)[1])
    assert max(up.max(), down.max()) == pytest.approx(most, rel=5e-3)
    whole = np.allclose(drawn.loads, drawn.loads.round())
    assert whole == (work == RING)
    assert [int(load) for load in named] == [
        round(load) for panel in (up, down) for load in panel.flat if whole and load > 1
    ]


PRICE = {"m": 16e6, "alpha": 0.5e-6, "bw": 900e9}


def factors(drawn):
    """For each job: its time in company in seconds, the factor of its layout and the factor of sharing."""

    def seconds(cost):
        return cost.seconds(message=PRICE["m"], alpha=PRICE["alpha"], bandwidth=PRICE["bw"])

    pairs = zip(map(seconds, drawn.runs.in_step), (seconds(run.cost) for run in drawn.runs.alone), strict=True)
    return [(company, alone / seconds(drawn.aligned.cost), company / alone) for company, alone in pairs]


def test_aligned_rings_do_not_meet_and_scattered_ones_do():
    rows = factors(scene(TORUS, RING, 8, 8, "rows", 0))
    assert all(layout == sharing == 1 for _, layout, sharing in rows)
    drawn = factors(scene(TORUS, RING, 8, 8, "drawn", 1))
    assert max(layout * sharing for _, layout, sharing in drawn) > 2
    assert min(sharing for _, _, sharing in drawn) >= 1


def test_the_jobs_table_and_summary_say_what_the_factors_are():
    state = {"fabric": NARROW, "work": RING, "size": 8, "groups": 4, "layout": "drawn", "draw": 2, **PRICE}
    shown = {row[0]: row[1:] for row in rows(JOBS.render(1, state))}
    expected = factors(scene(NARROW, RING, 8, 4, "drawn", 2))
    for job, (time, layout, sharing) in enumerate(expected, 1):
        assert shown[f"job {job}"][:2] == [units.seconds(time, 4), f"{layout * sharing:.2f}"]
        assert shown[f"job {job} alone"][1] == f"{layout:.2f}"
    time, layout, sharing = max(expected)
    assert f"{units.seconds(time)}, {layout * sharing:.2f} times an aligned job alone" in JOBS.render(3, state)
    assert f"{layout:.2f} by its layout, {sharing:.2f} by sharing" in JOBS.render(3, state)


@pytest.mark.parametrize("fabric", list(FABRICS))
def test_the_jobs_explorer_names_fabrics_as_prose_does_and_not_as_the_command_line(fabric):
    state = JOBS.start | {"fabric": fabric, "layout": "rows", "draw": 0}
    text = " ".join(JOBS.render(part, state) for part in range(4))
    assert fabric in text
    assert find(FABRICS[fabric]).name not in text


def test_the_jobs_explorer_stays_small_and_starts_among_collisions():
    assert JOBS.start["layout"] == "drawn"
    assert len(JOBS._repr_html_()) < 350_000  # packed, as it is shipped


def test_the_legend_bounds_loads_and_no_row_of_the_jobs_table_has_a_color():
    state = {**JOBS.start, "fabric": NARROW, "work": PAIRWISE, "size": 32, "groups": 2, "draw": 3}
    picture = JOBS.render(0, state)
    assert "load of 2.35" in picture
    assert all(f"load {bound}" in picture for bound in ("up to 1", "up to 2", "up to 3"))
    assert "cl-swatch" not in JOBS.render(1, state)


def test_one_ring_alone_costs_its_closed_form():
    (only,) = scene(TORUS, RING, 8, 1, "rows", 0).runs.alone
    assert only.cost == allreduce.ring_cost(8)
