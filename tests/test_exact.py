"""Exact rational arrays."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colllib.cost import Cost
from colllib.exact import (
    LARGEST_FLOAT,
    LARGEST_INT,
    Fractions,
    accumulated,
    counted,
    integers,
    multiplied,
    summed,
    taken,
)

exact = st.fractions(min_value=0, max_value=4, max_denominator=60)


@given(st.lists(exact, max_size=8))
def test_values_go_in_and_come_out_unchanged(values):
    array = Fractions.of(values)
    assert list(array) == values
    assert array.total() == sum(values)
    assert array.largest() == max(values, default=0)
    assert array.same_as(Fractions.of(values))


@given(st.lists(exact, max_size=6), st.fractions(min_value=0, max_value=3, max_denominator=40))
def test_scaling_is_exact(values, factor):
    assert list(Fractions.of(values).scaled(factor)) == [value * factor for value in values]


@pytest.mark.parametrize("factor", [Fraction(1, 2), Fraction(3, 4), Fraction(5, 12), Fraction(7, 6)])
def test_what_values_and_a_factor_share_is_taken_out_once(factor):
    scaled = Fractions.of([12, 24, Fraction(36)]).scaled(factor)
    assert list(scaled) == [12 * factor, 24 * factor, 36 * factor]
    assert scaled.denominator == 1


@given(st.lists(st.lists(exact, max_size=4), max_size=4))
def test_joining_keeps_order_and_values(parts):
    joined = Fractions.joined([Fractions.of(part) for part in parts])
    assert list(joined) == [value for part in parts for value in part]


@given(st.integers(1, 50), exact)
def test_equal_parts_sum_to_the_total(count, total):
    parts = Fractions.equal(count, total)
    assert len(parts) == count
    assert parts.total() == total
    assert len(set(parts)) == 1


def test_repeating_and_taking_follow_positions():
    array = Fractions.of([Fraction(1, 2), Fraction(1, 3)])
    assert list(array.repeated(2)) == [Fraction(1, 2)] * 2 + [Fraction(1, 3)] * 2
    assert list(array.taken(np.array([1, 0]))) == [Fraction(1, 3), Fraction(1, 2)]


def test_different_arrays_are_not_the_same():
    assert not Fractions.of([1, 2]).same_as(Fractions.of([1]))
    assert not Fractions.of([1, 1]).same_as(Fractions.of([1]))
    assert not Fractions.of([1, 2]).same_as(Fractions.of([1, 3]))


@pytest.mark.parametrize("denominator", [0, -2])
def test_a_denominator_below_one_is_refused(denominator):
    with pytest.raises(ValueError, match="denominator"):
        Fractions(np.array([1]), denominator)


def test_a_common_denominator_may_be_of_any_size():
    values = [Fraction(1, p) for p in (99991, 99989, 99971, 99961)]
    assert list(Fractions.of(values)) == values


wild = st.one_of(
    st.fractions(min_value=0, max_value=2**70, max_denominator=2**40),
    st.integers(2**53, 2**80),
    st.sampled_from([2**31 - 1, 2**31 - 19, 450000000001, 12500000003, Fraction(0.1)]),
)


@given(st.lists(wild, max_size=6), wild)
def test_no_size_makes_a_value_wrong(values, factor):
    array = Fractions.of(values)
    assert list(array) == values
    assert array.total() == sum(values)
    assert list(array.scaled(factor)) == [value * factor for value in values]
    assert list(Fractions.joined([array, array.scaled(2)])) == [*values, *(2 * value for value in values)]
    assert array.as_floats().tolist() == [float(value) for value in values]


def test_a_numerator_beyond_floating_point_is_rounded_once():
    for large in (13153296294404409, -13153296294404409):
        assert Fractions.of([Fraction(large, 107)]).as_floats()[0] == large / 107


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**80)), max_size=12))
def test_sums_by_place_are_exact(pairs):
    places = np.array([place for place, _ in pairs], dtype=np.intp)
    totals = counted(places, integers(weight for _, weight in pairs), 4)
    assert [int(total) for total in totals] == [sum(w for p, w in pairs if p == place) for place in range(4)]
    twice = accumulated(totals.copy(), totals)
    assert [int(total) for total in twice] == [2 * int(total) for total in totals]


def test_sums_at_the_limit_of_machine_integers_can_be_added_once_more():
    half = accumulated(np.array([2**62 - 1]), np.array([1]))
    assert accumulated(half, accumulated(np.array([2**62 - 1]), np.array([1]))).tolist() == [2**63]


def test_equal_weights_that_sum_up_to_that_limit_can_be_added_once_more():
    half = counted(np.zeros(2, dtype=np.intp), np.broadcast_to(np.array([2**61]), 2), 1)
    assert accumulated(half.copy(), half).tolist() == [2**63]


def test_each_value_times_one_of_its_own_is_exact():
    assert multiplied(np.array([2**40, 3]), np.array([2**40, 5])).tolist() == [2**80, 15]


#: Where floating-point numbers, and machine integers, cease to be exact; and what is nothing, or one alone.
LIMITS = [0, 1, 2]
LIMITS += [limit // part + by for limit in (LARGEST_FLOAT, LARGEST_INT) for part in (1, 2, 3) for by in (-1, 0, 1)]
AT_LIMITS = st.sampled_from(LIMITS)
FEW = st.lists(AT_LIMITS, max_size=4)


def of_its_type(array):
    """The numbers, where machine integers are only those that can be added once more."""
    assert array.dtype == object or np.abs(array).max(initial=0) < LARGEST_INT
    return array.tolist()


@pytest.mark.parametrize("first", LIMITS)
def test_two_numbers_at_any_limit_add_up_and_multiply_exactly(first):
    for second in LIMITS:
        two, one, other = integers([first, second]), integers([first]), integers([second])
        assert of_its_type(counted(np.zeros(2, dtype=np.intp), two, 1)) == [first + second]
        assert of_its_type(summed(two, np.array([0]))) == [first + second]
        assert of_its_type(accumulated(one.copy(), other)) == [first + second]
        assert multiplied(one, second).tolist() == of_its_type(multiplied(one, other)) == [first * second]
        assert multiplied(integers([0, -first]), second).tolist() == [0, -first * second]


@given(st.lists(st.integers(0, 2**20), min_size=1, max_size=4), st.integers(1, 2**20))
def test_machine_integers_stay_machine_integers_where_they_suffice(values, times):
    array, places = integers(values), np.zeros(len(values), dtype=np.intp)
    for totals in (
        array,
        counted(places, array, 2),
        counted(places, taken(Fractions.equal(1).numerators, places), 2),
        multiplied(array, times),
        multiplied(array, array),
        summed(array, np.array([0])),
        accumulated(array.copy(), array),
        Fractions.of(values).scaled(Fraction(times, 7)).numerators,
        Fractions.joined([Fractions.of(values), Fractions.of([Fraction(1, times)])]).numerators,
    ):
        assert totals.dtype == np.intp


def test_equal_weights_are_machine_integers_up_to_the_limit_of_these():
    for weight in (2**53, 2**60):
        totals = counted(np.zeros(3, dtype=np.intp), np.broadcast_to(np.array([weight]), 3), 1)
        assert (totals.tolist(), totals.dtype) == ([3 * weight], np.intp)


def test_values_in_one_cell_of_memory_stay_in_it():
    for values in (Fractions.equal(5, 2).numerators, np.array([7])):
        assert taken(values, np.array([0, 0, 0])).strides == (0,)


@given(FEW, AT_LIMITS, st.data())
def test_whole_numbers_are_exact_on_both_sides_of_every_limit(values, times, data):
    array = integers(values)
    assert array.tolist() == values
    assert multiplied(array, times).tolist() == [value * times for value in values]
    others = data.draw(st.lists(AT_LIMITS, min_size=len(values), max_size=len(values)))
    assert multiplied(array, integers(others)).tolist() == [a * b for a, b in zip(values, others, strict=True)]
    assert accumulated(array.copy(), integers(others)).tolist() == [a + b for a, b in zip(values, others, strict=True)]
    indices = data.draw(st.lists(st.integers(0, 2), min_size=len(values), max_size=len(values)))
    places = np.array(indices, dtype=np.intp)
    by_place = [sum(value for value, place in zip(values, indices, strict=True) if place == k) for k in range(3)]
    assert counted(places, array, 3).tolist() == by_place
    if values:
        first = sorted({0, *data.draw(st.lists(st.integers(0, len(values) - 1), max_size=2))})
        stretches = zip(first, [*first[1:], len(values)], strict=True)
        assert summed(array, np.array(first)).tolist() == [sum(values[a:b]) for a, b in stretches]


@given(FEW.filter(len), st.lists(st.integers(0, 3), max_size=4))
def test_values_by_places_are_those_that_stand_there(values, index):
    places = np.array([place % len(values) for place in index], dtype=np.intp)
    assert taken(integers(values), places).tolist() == [values[place] for place in places]
    one_cell = np.broadcast_to(integers(values[:1]), len(values))
    assert taken(one_cell, places).tolist() == [values[0]] * len(places)
    if values[0] * len(places) < LARGEST_INT:
        assert counted(places, taken(one_cell, places), 4).tolist() == [
            values[0] * places.tolist().count(place) for place in range(4)
        ]


def test_arrays_of_any_denominators_are_compared_and_joined_by_value():
    parts = [[Fraction(1, d), Fraction(d + 1, d)] for d in (1, 2, 3, 4, 6)]
    joined = Fractions.joined([Fractions.of(part) for part in parts])
    assert list(joined) == [value for part in parts for value in part]
    for d in (1, 2, 3, 4, 6):
        wide = Fractions(np.array([d, 2 * d]), 2 * d)
        assert wide.same_as(Fractions.of([Fraction(1, 2), 1]))
        assert Fractions.of([Fraction(1, 2), 1]).same_as(wide)
        assert not wide.same_as(Fractions.of([1, Fraction(1, 2)]))
    assert (len(Fractions.joined([])), Fractions.joined([]).denominator) == (0, 1)


def test_parts_are_of_one_message_unless_it_is_said():
    assert [list(Fractions.equal(count)) for count in (0, 1, 2)] == [[], [1], [Fraction(1, 2)] * 2]
    assert Fractions.of([]).denominator == 1


@given(FEW, st.fractions(min_value=0, max_value=3, max_denominator=40))
def test_what_is_scaled_has_the_least_denominator_that_the_factor_leaves(values, factor):
    denominator = Fractions.of(values).scaled(factor).denominator
    assert denominator <= (factor.denominator if values else 1)
    assert all((value * factor * denominator).denominator == 1 for value in values)


def test_a_denominator_and_a_cost_from_an_array_do_not_wrap_round():
    tiny = Fractions(np.array([1]), np.int64(2**62)).scaled(Fraction(1, 4))
    assert tiny.denominator == 2**64
    assert (Cost(1, np.int64(2**62)) + Cost(1, np.int64(2**62))).n_beta == 2**63
    assert multiplied(np.array([2**40]), -(2**40))[0] == -(2**80)
