"""Contention: coefficients against arithmetic, jobs in company against each alone, fast loads against `execute`."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from colllib import Schedule, execute, star
from colllib.algorithms import allgather, allreduce, alltoall, direct, lattice
from colllib.algorithms.innetwork import port_load
from colllib.contention import (
    Band,
    aligned,
    cost_of_copies,
    hot_destination,
    rounds,
    scattered,
    skew_factor,
    study,
    together,
)
from colllib.cost import Cost
from colllib.efficiency import NVLINK4, NVLS_BY_RANKS, PROFILES, Eta, effective, implied_eta_beta
from colllib.events import event_clock
from colllib.schedule import placed, scaled, side_by_side
from colllib.topology import Lattice, boxes, from_links, leaf_spine, mesh, ring, torus

PRICE = {"message": 16e6, "alpha": 0.5e-6, "bandwidth": 900e9}


# -- the coefficients ----------------------------------------------------------------------------


def test_the_coefficients_scale_the_two_terms_and_one_leaves_them():
    eta = Eta(Fraction(5, 4), Fraction(1, 3))
    seconds = effective(Cost(7, 2), eta).seconds(message=9e6, alpha=4e-6, bandwidth=3e9)
    assert seconds == pytest.approx(7 * 4e-6 * 1.25 + 2 * 9e6 / (3e9 / 3))
    assert effective(Cost(7, 2), PROFILES["ideal"]) == Cost(7, 2)


def test_over_several_tiers_the_coefficients_are_every_tiers():
    cost = execute(allreduce.ring(4), boxes((2, 2))).cost
    eta, price = Eta(Fraction(5, 4), Fraction(1, 3)), {"message": 9e6, "alpha": [1e-6, 5e-6], "bandwidth": [9e9, 3e9]}
    slower = {"message": 9e6, "alpha": [1.25e-6, 6.25e-6], "bandwidth": [3e9, 1e9]}
    assert effective(cost, eta).seconds(**price) == pytest.approx(cost.seconds(**slower))


@pytest.mark.parametrize(("alpha", "beta"), [(Fraction(1, 2), Fraction(1)), (1, 0), (1, Fraction(3, 2))])
def test_coefficients_out_of_range_are_refused(alpha, beta):
    with pytest.raises(ValueError, match="at most 1"):
        Eta(Fraction(alpha), Fraction(beta))


@pytest.mark.parametrize("ranks", [2, 5, 8, 72])
def test_calibrating_on_an_executed_schedule_returns_the_eta_that_slowed_it(ranks):
    eta, link, message = 0.7, 450e9, 8 * 2**30
    for schedule in (allreduce.ring(ranks), allreduce.recursive_doubling(ranks)):
        cost = execute(schedule).cost
        seconds = cost.seconds(message=message, alpha=0, bandwidth=eta * link)
        printed = message / seconds * 2 * (ranks - 1) / ranks  # as nccl-tests prints it
        assert implied_eta_beta(printed, link, cost.n_beta, ranks) == pytest.approx(eta)


def test_a_right_n_beta_makes_eta_a_constant():
    """The spread of eta over 5 to 8 ranks: 2 % with two shots, more with one or with the bus bandwidth halved."""

    def spread(shots):
        values = [implied_eta_beta(b, NVLINK4, port_load(n, shots=shots), n) for n, (b, _) in NVLS_BY_RANKS.items()]
        return max(values) / min(values) - 1

    halved = [b / NVLINK4 / 2 for b, _ in NVLS_BY_RANKS.values()]
    assert spread(2) < 0.025 < spread(1) < max(halved) / min(halved) - 1


# -- together ------------------------------------------------------------------------------------


def walked(topology, src, dst):
    message, link = topology.router(np.array([src]), np.array([dst]))
    assert not message.any()
    return link.tolist()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("topology", [torus((4, 4)), mesh((4, 4)), leaf_spine(4, 4, 2, seed=5)])
def test_a_job_in_company_is_counted_message_by_message(topology, seed):
    jobs = [(allreduce.ring(5), scattered(16, 5, seed, 3)[k]) for k in range(3)]
    shared = together(jobs, topology)
    speed = list(topology.bandwidth)
    alpha_of, beta_of = ([Fraction(0)] * 3 for _ in range(2))
    for t in range(8):
        load = Counter()
        for schedule, places in jobs:
            step = schedule.step(t)
            for a, b, k in zip(step.src, step.dst, step.block, strict=True):
                for link in walked(topology, places[a], places[b]):
                    load[link] += schedule.blocks.share[k] / speed[link]
        for j, (schedule, places) in enumerate(jobs):
            step = schedule.step(t)
            routes = [walked(topology, places[a], places[b]) for a, b in zip(step.src, step.dst, strict=True)]
            alpha_of[j] += max(sum(topology.alpha[link] for link in route) for route in routes)
            beta_of[j] += max(load[link] for route in routes for link in route)
    assert list(shared.in_step) == [Cost(a, b) for a, b in zip(alpha_of, beta_of, strict=True)]
    assert shared.joint.cost.n_beta == execute(side_by_side(*shared.jobs), topology).cost.n_beta >= max(beta_of)
    total = np.sum([run.ledger.link for run in shared.alone], axis=0)
    assert (total == shared.joint.ledger.link).all()


def test_jobs_of_different_lengths_and_primitives_run_together():
    jobs = [(allreduce.ring(4), (0, 1, 2, 3)), (allgather.ring(3), (5, 6, 7))]
    shared = together(jobs, ring(8))
    assert list(shared.in_step) == [run.cost for run in shared.alone]
    assert shared.slowdowns(**PRICE) == (1.0, 1.0)
    assert shared.slowdowns(**PRICE, clock="event") == pytest.approx((1, 1))


def test_what_a_machine_integer_does_not_hold_is_counted_exactly():
    links, large = [(0, 1), (1, 2), (2, 3), (3, 0)], Fraction(2**70 + 1, 3)
    slow = from_links("slow", 4, links, alpha=[large] * 4)
    jobs = [(scaled(allgather.ring(2), large), (0, 2)), (allgather.ring(2), (1, 3))]
    both = [Cost(2 * large, large / 2 + Fraction(1, 2)), Cost(2 * large, large / 2 + Fraction(1, 2))]
    assert list(together(jobs, slow).in_step) == both  # each link carries half of either message


def test_two_interleaved_rings_double_each_other():
    shared = together([(allreduce.ring(4), (0, 2, 4, 6)), (allreduce.ring(4), (1, 3, 5, 7))], ring(8))
    assert [str(cost.n_beta) for cost in shared.in_step] == ["3", "3"]
    assert [str(run.cost.n_beta) for run in shared.alone] == ["3/2", "3/2"]
    assert {int(count) for count in shared.users} == {0, 2}  # the rings go round one way only
    assert shared.slowdowns(message=1e15, alpha=1e-9, bandwidth=1e9) == pytest.approx((2, 2))
    for slowdown in shared.slowdowns(message=1e15, alpha=1e-9, bandwidth=1e9, clock="event"):
        assert 1.5 < slowdown <= 2


def test_on_the_event_clock_a_job_is_done_when_its_last_message_is_there():
    jobs = [(allreduce.ring(4), (0, 1, 2, 3)), (allreduce.recursive_doubling(4), (4, 5, 6, 7))]
    shared = together(jobs, star(8))
    alone = [event_clock(placed(s, list(p), 8), star(8), **PRICE).seconds for s, p in jobs]
    assert shared.completion(**PRICE) == pytest.approx(alone)


def test_two_jobs_between_the_same_two_ranks_in_the_same_step_are_refused_on_the_event_clock():
    twice = together([(allreduce.ring(3), (0, 1, 2)), (allreduce.ring(3), (0, 1, 2))], star(3))
    assert [cost.n_beta for cost in twice.in_step] == [Fraction(8, 3)] * 2
    with pytest.raises(ValueError, match="step 0: two jobs send from 0 to 1"):
        twice.completion(**PRICE)
    with pytest.raises(ValueError, match="clock 'wall'"):
        twice.slowdowns(**PRICE, clock="wall")


# -- many copies, and many draws -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("schedule", "topology"),
    [
        (allreduce.ring(5), torus((4, 4))),
        (allreduce.rabenseifner(4), mesh((4, 3))),
        (alltoall.bruck(5), leaf_spine(4, 4, 3, uplink=Fraction(2, 3), seed=1)),
        (allreduce.double_binary_tree(6, segments=3), torus((3, 3, 3))),
        (allreduce.ring(3), star(9)),
        (lattice.dim_ring(Lattice((2, 3))), torus((3, 4))),
    ],
)
def test_link_loads_alone_give_the_executed_cost(schedule, topology):
    for seed in range(4):
        for groups in (1, topology.ranks // schedule.ranks):
            places = scattered(topology.ranks, schedule.ranks, seed, groups)
            joint = side_by_side(*(placed(schedule, row.tolist(), topology.ranks) for row in places))
            assert cost_of_copies(schedule, places, topology) == execute(joint, topology).cost


def test_places_of_copies_may_be_lists():
    places = aligned(8, 4)
    costs = [cost_of_copies(allreduce.ring(4), rows, ring(8)) for rows in (places, places.tolist())]
    assert costs[0] == costs[1]


def test_equal_steps_are_told_once():
    assert [count for _, count in rounds(allreduce.ring(6))] == [10]
    assert sum(count for _, count in rounds(allreduce.rabenseifner(8))) == 6
    assert rounds(Schedule.from_steps(allreduce.ring(1).blocks, [])) == []


def test_draws_are_seeded_and_partition_the_ranks():
    first, again, other = scattered(24, 4, 3), scattered(24, 4, 3), scattered(24, 4, 4)
    assert (first == again).all()
    assert (first != other).any()
    assert sorted(first.ravel()) == list(range(24))
    ordered = scattered(24, 4, 3, ordered=True)
    assert (np.diff(ordered, axis=1) > 0).all()
    assert all(set(a) == set(b) for a, b in zip(first, ordered, strict=True))
    costs = study(allreduce.ring(4), torus((4, 4)), draws=3)
    assert costs[1] == cost_of_copies(allreduce.ring(4), scattered(16, 4, 1), torus((4, 4)))
    assert aligned(4, 1).tolist() == [[0], [1], [2], [3]]
    for build in (lambda: scattered(8, 4, 0, 3), lambda: aligned(8, 3), lambda: aligned(8, 0)):
        with pytest.raises(ValueError, match="8 ranks"):
            build()


def test_a_band_is_three_percentiles():
    assert Band.of([1.0] * 10) == Band(1, 1, 1)
    assert str(Band.of(range(101))) == "50.00 (5.00 to 95.00)"


# -- skew ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ranks", "factor"), [(4, 1), (8, 10), (9, 3), (64, 10)])
def test_the_hot_port_of_a_star_decides(ranks, factor):
    shares = hot_destination(ranks, factor)
    assert all(sum(row) == 1 for row in shares)
    assert skew_factor(star(ranks), shares) == Fraction(factor * ranks, ranks - 1 + factor)
    by_rounds = execute(alltoall.pairwise(ranks, shares)).cost.n_beta  # in every round someone sends to the hot one
    assert by_rounds == execute(direct.all_to_all(ranks, shares)).cost.n_beta


# -- leaf and spine ------------------------------------------------------------------------------


def test_a_message_takes_one_spine_and_keeps_it():
    fabric = leaf_spine(3, 4, 5, seed=2)
    pairs = [(a, b) for a in range(12) for b in range(12) if a != b]
    for a, b in pairs:
        ends = [(int(fabric.link_src[k]), int(fabric.link_dst[k])) for k in walked(fabric, a, b)]
        assert ends[0][0] == a
        assert ends[-1][1] == b
        assert all(x[1] == y[0] for x, y in itertools.pairwise(ends))
        assert len(ends) == (2 if a // 4 == b // 4 else 4)
        assert ends[0][1] == 12 + a // 4
        assert ends[-1][0] == 12 + b // 4
        assert sum(fabric.alpha[k] for k in walked(fabric, a, b)) == len(ends) // 2
    used = Counter(walked(fabric, a, b)[1] for a, b in pairs if a // 4 != b // 4)
    assert len(used) == 15  # every uplink


@pytest.mark.parametrize(("uplink", "slower"), [(4, 1), (2, 2), (1, 4), (Fraction(1, 2), 8)])
def test_one_fat_spine_is_the_fluid_limit(uplink, slower):
    """All ranks send to the next leaf: the load of an uplink is the ranks below it over its bandwidth."""
    rank = np.arange(16)
    fabric = leaf_spine(4, 4, 1, uplink=uplink)
    message, link = fabric.router(rank, (rank + 4) % 16)
    load = np.bincount(link, minlength=fabric.num_links)
    assert max(Fraction(int(c)) / s for c, s in zip(load, fabric.bandwidth, strict=True)) == slower
    assert message.max() == 15


def test_hashing_piles_flows_up_and_spreading_by_destination_does_not():
    rank = np.arange(64)
    shifted = [(rank + 8 * k) % 64 for k in range(1, 8)]

    def worst(fabric):
        return max(np.bincount(fabric.router(rank, dst)[1]).max() for dst in shifted)

    assert worst(leaf_spine(8, 8, 8, routing="fixed")) == 1
    assert all(worst(leaf_spine(8, 8, 8, seed=seed)) >= 3 for seed in range(20))


def test_bad_fabrics_are_refused():
    with pytest.raises(ValueError, match="spines 0: must be at least 1"):
        leaf_spine(2, 2, 0)
    with pytest.raises(ValueError, match="uplink = 0"):
        leaf_spine(2, 2, 1, uplink=0)
    with pytest.raises(ValueError, match="must be one of hash, fixed, spread"):
        leaf_spine(2, 2, 1, routing="adaptive")
    with pytest.raises(ValueError, match="seed = -1"):
        leaf_spine(2, 2, 1, seed=-1)
    with pytest.raises(ValueError, match="only forward"):
        leaf_spine(2, 2, 1).router(np.array([0]), np.array([5]))


def test_the_fabric_agrees_with_the_same_links_routed_by_fewest_hops():
    fabric = leaf_spine(3, 2, 1, uplink=2)
    pairs = list(zip(fabric.link_src.tolist(), fabric.link_dst.tolist(), strict=True))
    same = from_links("same", 6, pairs, switches=4, alpha=list(fabric.alpha), bandwidth=list(fabric.bandwidth))
    for schedule in (allreduce.ring(6), alltoall.pairwise(6), direct.all_to_all(6)):
        assert execute(schedule, fabric).cost == execute(schedule, same).cost


def test_what_takes_no_time_is_not_slowed_down_and_what_cannot_be_is_refused():
    alone = together([(allreduce.ring(1), (0,)), (allreduce.ring(2), (1, 2))], ring(3))
    for clock in ("lockstep", "event"):
        with pytest.raises(ValueError, match="job 0 takes 0 s alone"):
            alone.slowdowns(message=1, alpha=1, bandwidth=1, clock=clock)
    with pytest.raises(ValueError, match="a single rank"):
        skew_factor(star(1), hot_destination(1, 3))
    with pytest.raises(ValueError, match="several levels of BW"):
        skew_factor(boxes((2, 2)), hot_destination(4, 3))
    with pytest.raises(ValueError, match="size -2: must be at least 1"):
        scattered(8, -2, 1, 2)
    with pytest.raises(ValueError, match="factor -1: must be at least 1"):
        hot_destination(3, -1)
