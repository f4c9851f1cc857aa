"""The explorers of jobs that share wires and of popular experts show what execution gives."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
import reference

from colllib import units
from colllib.algorithms import allreduce, direct
from colllib.contention import capped, hot_destination, together, zipf
from colllib.execution import execute
from colllib.show.contention_explorer import FABRICS, WORKS, contention_explorer, factors, places_of, scene
from colllib.show.skew_explorer import FABRICS as SKEW_FABRICS
from colllib.show.skew_explorer import STRENGTHS, load, popularity, skew_explorer

JOBS, SKEW = contention_explorer(), skew_explorer()


def cells(html):
    return [re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)[1:]]


# -- jobs that share wires ------------------------------------------------------------------------


@pytest.mark.parametrize("fabric", list(FABRICS))
@pytest.mark.parametrize(("layout", "draw"), [("rows", 0), ("columns", 0), ("drawn", 3)])
@pytest.mark.parametrize("work", list(WORKS))
def test_a_scene_is_jobs_executed_together(fabric, layout, draw, work):
    here = scene(fabric, work, 4, layout, draw)
    assert len({int(rank) for row in here.places for rank in row}) == 32
    schedule, topology = WORKS[work][1](8), FABRICS[fabric][1]()
    again = together([(schedule, row.tolist()) for row in places_of(layout, 4, draw)], topology)
    assert [c.n_beta for c in here.found.in_step] == [c.n_beta for c in again.in_step]
    # what a link carries: every crossing counted one by one
    carried = [Fraction(0)] * topology.num_links
    for job in again.jobs:
        for t in range(job.num_steps):
            step = job.step(t)
            for src, dst, block in zip(step.src.tolist(), step.dst.tolist(), step.block.tolist(), strict=True):
                for link in topology.router(np.array([src]), np.array([dst]))[1].tolist():
                    carried[link] += job.blocks.share[block]
    one = carried_by_an_aligned_rank(schedule)
    assert here.loads.tolist() == [int(-(-load // one)) for load in carried]


def carried_by_an_aligned_rank(schedule):
    return max(reference.traffic(schedule)[0].values())


def test_aligned_rings_do_not_meet_and_scattered_ones_do():
    price = {"m": 16e6}
    rows = factors(scene("torus", "ring", 8, "rows", 0), price)
    assert all(layout == sharing == 1 for _, layout, sharing in rows)
    drawn = factors(scene("torus", "ring", 8, "drawn", 1), price)
    assert max(layout * sharing for _, layout, sharing in drawn) > 2
    assert min(sharing for _, _, sharing in drawn) >= 1


def test_the_jobs_table_and_summary_say_what_the_factors_are():
    state = {"fabric": "spine4", "work": "ring", "groups": 4, "layout": "drawn", "draw": 2, "m": 16e6}
    shown = cells(JOBS.render(1, state))
    expected = factors(scene("spine4", "ring", 4, "drawn", 2), state)
    assert [row[1] for row in shown] == [units.seconds(time) for time, _, _ in expected]
    assert [row[4] for row in shown] == [f"{a * b:.2f}" for _, a, b in expected]
    assert f"{max(a * b for _, a, b in expected):.2f} times" in JOBS.render(3, state)


@pytest.mark.parametrize("fabric", list(FABRICS))
def test_the_jobs_explorer_names_fabrics_as_prose_does_and_not_as_the_command_line(fabric):
    state = JOBS.start | {"fabric": fabric, "layout": "rows", "draw": 0}
    told = " ".join(JOBS.render(part, state) for part in range(4))
    assert FABRICS[fabric][0] in told
    assert FABRICS[fabric][1]().name not in told


def test_the_jobs_explorer_stays_small_and_starts_among_collisions():
    assert JOBS.start["layout"] == "drawn"
    assert len(JOBS.grid.json()) < 5_000_000
    assert all(time > 0 for time, _, _ in factors(scene("torus", "ring", 8, "drawn", JOBS.start["draw"]), JOBS.start))


def test_one_ring_alone_costs_its_closed_form():
    (only,) = scene("torus", "ring", 1, "rows", 0).found.alone
    assert only.cost == allreduce.ring_cost(8)


# -- popular experts ------------------------------------------------------------------------------


@pytest.mark.parametrize("fabric", list(SKEW_FABRICS))
@pytest.mark.parametrize("capacity", [0, 2])
def test_link_loads_of_skewed_traffic_are_the_executed_ones(fabric, capacity):
    where = SKEW_FABRICS[fabric]()
    shares = zipf(64, 1.0, seed=2)
    assert load(fabric, "zipf", 1.0, 0, 2).skewed == pytest.approx(
        float(execute(direct.all_to_all(64, shares), where).cost.n_beta)
    )
    assert load(fabric, "zipf", 1.0, 0, 2).uniform == float(execute(direct.all_to_all(64), where).cost.n_beta)
    if capacity:  # what is dropped stays at home: the shares need not add up to M for the links
        limit = [[min(share, Fraction(capacity, 64)) for share in row] for row in shares]
        found = load(fabric, "zipf", 1.0, capacity, 2).skewed
        assert capped(shares, capacity) == limit
        own = [float(share) for share in limit[0]]
        assert found <= float(execute(direct.all_to_all(64, shares), where).cost.n_beta)
        assert popularity("zipf", 1.0, capacity, 2).tolist() == pytest.approx(own)


@pytest.mark.parametrize("factor", STRENGTHS["hot"])
def test_a_star_pays_the_hottest_port_in_full(factor):
    assert load("star", "hot", factor, 0, 3).factor == pytest.approx(64 * factor / (63 + factor))
    peak = max(hot_destination(64, int(factor))[0])
    assert load("star", "hot", factor, 0, 3).skewed == pytest.approx(float(63 * peak))


@pytest.mark.parametrize("capacity", [4, 2, 1.5, 1.25, 1])
def test_capacity_bounds_the_slowdown_of_a_star_by_itself(capacity):
    assert load("star", "zipf", 1.5, capacity, 1).factor == pytest.approx(capacity)


def test_the_skew_table_shows_the_loads():
    shown = {row[0]: row[1:] for row in cells(SKEW.render(1, SKEW.start))}
    for fabric in SKEW_FABRICS:
        assert shown[fabric][2] == f"{load(fabric, 'zipf', 1.0, 0, 1).factor:.2f}"
    assert len(SKEW.grid.json()) < 3_000_000
