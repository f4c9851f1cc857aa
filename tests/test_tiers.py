"""Costs over links of several speeds: exact at any of them, and priced again without executing again."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from random_schedules import WILD, schedules, wirings

from colllib.algorithms import allgather, allreduce, reducescatter
from colllib.algorithms.nested import nested
from colllib.cost import Cost, Kind, Tier, TieredCost
from colllib.execution import execute
from colllib.primitives import broadcast
from colllib.schedule import Schedule, Step
from colllib.topology import Lattice, boxes, from_links, ring

LATENCIES = st.one_of(
    st.integers(0, 3).map(Fraction), st.fractions(0, 3, max_denominator=10), st.just(Fraction(2**53 + 1))
)


def test_bandwidths_in_tenths_are_counted_exactly():
    tenths = [621, 7, 366, 721, 963, 676, 126, 657, 715, 687, 140, 586, 389, 116, 983, 669]
    wires = [(i, (i + 1) % 16) for i in range(16)]
    net = from_links("wires", 16, wires, bandwidth=[Fraction(b, 10) for b in tenths])
    assert execute(allreduce.ring(16), net).cost.n_beta == Fraction(75, 28)


def test_measured_bandwidths_in_bytes_per_second_are_counted_exactly():
    measured = [450000000001, 50000000000, 12500000003, 25000000000]
    net = from_links("measured", 4, [(i, (i + 1) % 4) for i in range(4)], bandwidth=measured)
    assert execute(allreduce.ring(4), net).cost.n_beta == 6 * Fraction(1, 4) / 12500000003


def test_latencies_and_shares_beyond_floating_point_are_counted_exactly():
    far = from_links("far", 3, [(0, 1), (1, 2)], alpha=[2**53 + 1] * 2)
    assert execute(Schedule.from_steps(broadcast(3), [Step.of(0, [1, 2], 0)]), far).cost.n_alpha == 2**54 + 2
    p = 2**51 - 129
    shares = [Fraction(p - 2, p), Fraction(2, p)]
    many = Schedule.from_steps(broadcast(8, shares), [Step.of(0, range(1, 8), b) for b in (0, 1)])
    run = execute(many)
    assert run.cost.n_beta == 7
    assert run.sent[0] == 7


@given(data=st.data(), ranks=st.integers(1, 6))
@settings(max_examples=120, deadline=None)
def test_any_schedule_on_any_wiring_costs_what_dictionaries_count(data, ranks):
    schedule = data.draw(schedules(ranks))
    net = data.draw(wirings(ranks, WILD, LATENCIES))
    cost = execute(schedule, net).cost
    price = (Fraction(7, 3), [Fraction(2, 9)], [Fraction(3, 5)])
    assert cost.time(*price) == reference.tiered_time(schedule, net, *price)


@given(data=st.data(), ranks=st.integers(2, 6), levels=st.integers(2, 3))
@settings(max_examples=120, deadline=None)
def test_a_cost_by_tier_prices_every_speed_as_executing_again_would(data, ranks, levels):
    schedule = data.draw(schedules(ranks))
    net = data.draw(wirings(ranks, WILD, LATENCIES, most_levels=levels))
    run = execute(schedule, net)
    quantity = st.fractions(Fraction(1, 30), 50, max_denominator=30)
    for _ in range(2):
        alpha, speed = (data.draw(st.lists(quantity, min_size=net.levels, max_size=net.levels)) for _ in range(2))
        expected = reference.tiered_time(schedule, net, Fraction(5, 2), alpha, speed)
        assert run.cost.time(Fraction(5, 2), alpha, speed) == expected
        # the tiers may be made faster one by one, and the kinds of step stay what they are
        faster = tuple(replace(tier, bandwidth=tier.bandwidth * speed[tier.level]) for tier in net.tiers)
        again = execute(schedule, replace(net, tiers=faster)).cost
        assert again.time(Fraction(5, 2), alpha, [Fraction(1)] * net.levels) == expected


def test_a_network_of_one_level_keeps_two_numbers_and_has_its_kinds_on_demand():
    run = execute(allreduce.ring(4), ring(4))
    assert run.cost == Cost(6, Fraction(3, 2))
    assert run.kinds() == [Kind(6, (1,), (Fraction(1, 4),))]
    assert run.kinds([0, 5]) == [Kind(2, (1,), (Fraction(1, 4),))]
    assert run.cost_of(range(3)) + run.cost_of(range(3, 6)) == run.cost


def test_steps_in_which_nothing_happens_are_of_no_kind_and_steps_without_bytes_or_latency_are():
    idle, first, second = Step.of([], [], []), Step.of(0, 1, 0), Step.of(0, 1, 1)
    shares = broadcast(2, [Fraction(0), Fraction(1)])
    steps = Schedule.from_steps(shares, [idle, first, idle, second, second, idle])
    assert execute(steps).kinds() == [Kind(1, (1,), (Fraction(0),)), Kind(2, (1,), (Fraction(1),))]
    near = from_links("near", 2, [(0, 1)], alpha=[0])
    assert execute(steps, near).kinds() == [Kind(2, (0,), (Fraction(1),))]
    assert execute(steps).kinds([0, 2, 5]) == execute(steps).kinds([]) == []


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 1)), max_size=8), st.sampled_from([ring(6), boxes((3, 2))]))
def test_steps_that_cost_the_same_are_counted_together_wherever_they_stand(sends, topology):
    blocks = broadcast(6, [Fraction(1, 4), Fraction(3, 4)])
    steps = [Step.of(0, rank, block) for rank, block in sends] + [Step.of(0, range(1, 6), block) for block in (0, 1)]
    run = execute(Schedule.from_steps(blocks, steps), topology)
    one_by_one = Counter(kind for t in range(len(steps)) for kind in run.kinds([t]))
    assert Counter({kind._replace(steps=1): kind.steps for kind in run.kinds()}) == one_by_one
    assert len(run.kinds()) == len(one_by_one)


def ring_of_rings(count, ranks):
    inside = reducescatter.ring(ranks)
    return nested(Lattice((ranks, count)), [(0, inside), (1, allreduce.ring(count)), (0, allgather.ring(ranks))])


@pytest.mark.parametrize(("count", "ranks"), [(2, 2), (3, 4), (4, 2), (8, 8)])
def test_the_ring_of_rings_has_two_kinds_of_step(count, ranks):
    cost = execute(ring_of_rings(count, ranks), boxes((count, ranks))).cost
    assert (cost.n_alpha, cost.n_beta, cost.levels) == (None, None, 2)
    inside = Kind(2 * (ranks - 1), (1, 0, 0), (Fraction(1, ranks), Fraction(0), Fraction(0)))
    share = Fraction(1, ranks * count)
    between = Kind(2 * (count - 1), (0, 1, 0), (Fraction(0), share, ranks * share))
    assert set(cost.kinds) == {inside, between}
    # by hand: both phases in the box, then the cards
    t = cost.seconds(message=1e9, alpha=(1e-6, 5e-6), bandwidth=(450e9, 50e9))
    by_hand = 2 * (ranks - 1) * (1e-6 + 1e9 / ranks / 450e9) + 2 * (count - 1) * (5e-6 + 1e9 / ranks / count / 50e9)
    assert t == pytest.approx(by_hand)


def test_costs_over_the_same_tiers_add_up():
    run = execute(ring_of_rings(3, 2), boxes((3, 2)))
    parts = [run.cost_of([t]) for t in range(run.schedule.num_steps)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    assert set(total.kinds) == set(run.cost.kinds)
    with pytest.raises(ValueError, match="different tiers"):
        parts[0] + Cost(1, 1)
    with pytest.raises(ValueError, match="different tiers"):
        parts[0] + TieredCost((Tier("other"),), [])


@pytest.mark.parametrize(
    ("price", "complaint"),
    [
        ({"alpha": 1.0, "bandwidth": (1.0, 1.0)}, "values for alpha: 1, where 2 are needed, innermost first"),
        ({"alpha": (1.0, 1.0), "bandwidth": (1.0,) * 3}, "values for bandwidth: 3, where 2 are needed"),
        ({"alpha": (1.0, -1.0), "bandwidth": (1.0, 1.0)}, "alpha -1.0"),
        ({"alpha": (1.0, 1.0), "bandwidth": (1.0, 0.0)}, "bandwidth 0.0"),
    ],
)
def test_prices_that_do_not_fit_the_tiers_are_refused(price, complaint):
    cost = execute(ring_of_rings(2, 2), boxes((2, 2))).cost
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refusal:
        cost.seconds(message=1.0, **price)
    assert complaint in str(refusal.value)


@pytest.mark.parametrize(
    ("build", "complaint"),
    [
        (lambda: Tier("card", Fraction(0)), "bandwidth 0 of tier 'card'"),
        (lambda: Tier("card", level=-1), "level -1"),
        (lambda: Tier("card", cables=0), "cables 0"),
        (lambda: from_links("x", 2, [(0, 1)], alpha=[-1]), "a latency of a link is negative"),
        (lambda: from_links("x", 2, [(0, 2), (2, 1)], switches=1), "say what a trip through one costs"),
        (lambda: from_links("x", 2, [(0, 1)], level=[0, 1]), "2 levels for 1 links"),
    ],
)
def test_tiers_that_cannot_be_are_refused(build, complaint):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refusal:
        build()
    assert complaint in str(refusal.value)
