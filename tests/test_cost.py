"""Costs, crossovers, best segments, bounds and bus factors."""

from fractions import Fraction
from itertools import combinations
from math import inf, isclose, nan

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from colllib.algorithms import allgather, allreduce, alltoall, broadcast, pointtopoint, reduce, reducescatter
from colllib.bounds import bus_factor, lower_bound, port_bound
from colllib.cost import Cost, Kind, Tier, TieredCost, best_segments, crossover, first_lowest, half_bandwidth_message
from colllib.execution import execute
from colllib.primitives import PRIMITIVES
from colllib.schedule import pipelined
from colllib.topology import boxes
from colllib.topology.base import injection

costs = st.builds(Cost, st.integers(0, 40), st.fractions(min_value=0, max_value=20, max_denominator=30))
ANCHOR = {"message": 16e6, "alpha": 0.5e-6, "bandwidth": 900e9}


def test_counts_are_exact_and_whole_where_they_can_be():
    cost = Cost(Fraction(6, 2), 1)
    assert cost.n_alpha == 3
    assert isinstance(cost.n_alpha, int)
    assert isinstance(cost.n_beta, Fraction)


def test_a_tier_is_one_cable_of_one_bw_at_the_innermost_level_unless_it_is_said():
    assert Tier() == Tier("link", Fraction(1), level=0, cables=1)


def test_tiers_are_values_equal_ones_are_one_key_and_none_changes():
    assert len({Tier("card", Fraction(1, 2)), Tier("card", Fraction(2, 4)), Tier("card")}) == 2
    with pytest.raises(AttributeError, match="bandwidth"):
        Tier().bandwidth = Fraction(2)


@given(costs, costs)
def test_at_the_crossover_two_costs_are_equal_and_beyond_it_the_order_turns(first, second):
    size = crossover(first, second)
    if size is None:
        a, b = (first.n_alpha, first.n_beta), (second.n_alpha, second.n_beta)
        assert all(x <= y for x, y in zip(a, b, strict=True)) or all(x >= y for x, y in zip(a, b, strict=True))
        return

    def gap(m):
        return first.n_alpha + first.n_beta * m - second.n_alpha - second.n_beta * m

    assert gap(size) == 0
    assert gap(size / 2) * gap(size * 2) < 0
    assert crossover(second, first) == size


def test_half_of_the_time_is_latency_at_the_half_bandwidth_message():
    cost = allreduce.ring_cost(8)
    message = float(half_bandwidth_message(cost)) * 1e-6 * 1e9
    total = cost.seconds(message=message, alpha=1e-6, bandwidth=1e9)
    assert isclose(total, 2 * float(cost.n_alpha) * 1e-6)


@given(st.integers(2, 40), st.floats(1e2, 1e10))
def test_the_best_number_of_segments_beats_all_others(ranks, message):
    def cost(p):
        return Cost(ranks + p - 2, Fraction(ranks + p - 2, p))

    price = {"message": message, "alpha": 1e-6, "bandwidth": 100e9}
    best = best_segments(cost, **price, limit=4096)
    fastest = min(cost(p).seconds(**price) for p in range(1, 4097))
    assert isclose(cost(best).seconds(**price), fastest, rel_tol=1e-14)


@given(st.integers(1, 40), st.integers(1, 40), st.floats(1e3, 1e8))
def test_the_best_number_of_segments_over_two_levels_beats_all_others(inner, outer, message):
    tiers = (Tier("box"), Tier("card", level=1))

    def cost(p):
        part = Fraction(1, p)
        return TieredCost(
            tiers, [Kind(inner + p, (1, 0), (part, Fraction(0))), Kind(outer, (0, 1), (Fraction(0), part))]
        )

    price = {"message": message, "alpha": (1e-6, 5e-6), "bandwidth": (450e9, 50e9)}
    best = best_segments(cost, **price, limit=300)
    assert isclose(cost(best).seconds(**price), min(cost(p).seconds(**price) for p in range(1, 301)), rel_tol=1e-14)


@given(st.integers(1, 5000))
def test_where_every_further_segment_pays_the_limit_is_best(limit):
    assert best_segments(lambda p: Cost(1, Fraction(1, p)), **ANCHOR, limit=limit) == limit


def test_up_to_a_million_segments_are_looked_at_unless_it_is_said():
    assert best_segments(lambda p: Cost(1, Fraction(1, p)), **ANCHOR) == 2**20


@given(st.integers(0, 200), st.integers(0, 200), st.floats(1, 9), st.floats(1, 9), st.integers(1, 9))
@example(25, 99, 1.0, 9.0, 8)  # steeply up soon after twice the last size that was tried
def test_the_lowest_of_a_time_that_falls_and_rises_is_found_wherever_it_is(before, after, falls, rises, low):
    lowest, limit = low + before, low + before + after

    def time(segments):
        return 1 + max(falls * (lowest - segments), rises * (segments - lowest))

    assert first_lowest(time, low, limit) == lowest


def test_the_best_segments_of_an_executed_chain_are_those_of_its_closed_form():
    def executed(p):
        return execute(pipelined(broadcast.chain(8), p)).cost

    assert best_segments(executed, **ANCHOR, limit=64) == min(range(1, 65), key=lambda p: executed(p).seconds(**ANCHOR))


@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_one_rank_costs_nothing_at_all(primitive):
    assert lower_bound(primitive, 1) == Cost(0, 0)


@pytest.mark.parametrize("ranks", [2, 3, 8, 512])
def test_bus_factors_are_the_bandwidth_bounds_of_one_port_per_rank(ranks):
    # nccl-tests divides by what every algorithm must move, so that the wire's speed remains
    for primitive in PRIMITIVES:
        assert bus_factor(primitive, ranks) == port_bound(primitive, ranks).n_beta


def test_the_bus_factors_are_the_least_that_one_port_carries():
    """Executions attain them, in the limit of many segments where they need those."""
    attain = {
        "broadcast": lambda n: broadcast.chain(n, segments=400),
        "reduce": lambda n: reduce.chain(n, segments=400),
        "all-gather": allgather.ring,
        "reduce-scatter": reducescatter.ring,
        "all-to-all": alltoall.pairwise,
        "all-reduce": allreduce.ring,
        "point-to-point": pointtopoint.direct,
    }
    for primitive in PRIMITIVES:
        for n in (2, 3, 8, 13):
            assert bus_factor(primitive, n) == max(execute(attain[primitive](n)).link_total)


def test_at_the_crossover_two_executed_times_are_equal():
    builds = allreduce.ring, allreduce.binomial_tree, allreduce.rabenseifner, allreduce.recursive_doubling
    costs = [execute(build(16)).cost for build in builds]
    crossed = 0
    for one, two in combinations(costs, 2):
        size = crossover(one, two)
        if size is not None:
            assert one.n_alpha + one.n_beta * size == two.n_alpha + two.n_beta * size
            crossed += 1
    assert crossed == 3


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: Cost(1, 1).seconds(message=-1, alpha=1, bandwidth=1), "message size -1"),
        (lambda: Cost(1, 1).seconds(message=1, alpha=nan, bandwidth=1), "alpha nan"),
        (lambda: Cost(1, 1).seconds(message=1, alpha=1, bandwidth=0), "bandwidth 0"),
        (lambda: Cost(1, 1).seconds(message=inf, alpha=1, bandwidth=1), "message size inf"),
        (lambda: Cost(1, 1).seconds(message=1, alpha="1us", bandwidth=1), "alpha '1us' is text: must be a number"),
        (lambda: half_bandwidth_message(Cost(3, 0)), "no half-bandwidth"),
        (lambda: lower_bound("gossip", 3), "unknown primitive 'gossip'"),
        (lambda: lower_bound("reduce", 0), "N = 0"),
        (lambda: bus_factor("gossip", 3), "unknown primitive 'gossip'"),
    ],
)
def test_bad_input_is_refused_in_one_line(call, complaint):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refusal:
        call()
    assert complaint in str(refusal.value)


@pytest.mark.parametrize("same", [0.0, 1.0])
def test_of_equal_times_the_first_is_lowest(same):
    assert first_lowest(lambda p: same, 3, 100) == 3
    assert first_lowest(lambda p: same + max(7 - p, 0), 3, 100) == 7


@pytest.mark.parametrize("lowest", [5, 6, 9, 10, 11, 40, 99, 100])
def test_the_lowest_time_is_sought_from_the_given_number_on(lowest):
    assert first_lowest(lambda p: abs(p - lowest) + 1.0, 5, 100) == lowest
    assert first_lowest(float, 5, 100) == 5


def test_costs_over_several_levels_do_not_meet_at_one_size():
    """Their n_beta are both None, and so they never met."""
    ring, doubling = (execute(build(8), boxes((2, 4))).cost for build in (allreduce.ring, allreduce.recursive_doubling))
    for ask in (lambda: crossover(ring, doubling), lambda: half_bandwidth_message(ring)):
        with pytest.raises(ValueError, match="over several levels"):
            ask()
    with pytest.raises(ValueError, match="over different tiers: they cannot be added"):
        Cost(1, 1) + ring
    with pytest.raises(ValueError, match="several levels of BW: what a rank injects is not one number there"):
        injection(boxes((2, 4)))
