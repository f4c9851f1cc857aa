"""Exact rational arrays."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colllib.exact import Fractions

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
    assert not Fractions.of([1, 2]).same_as(Fractions.of([1, 3]))


@pytest.mark.parametrize("denominator", [0, -2, 2**53])
def test_a_denominator_beyond_exact_arithmetic_is_refused(denominator):
    with pytest.raises(ValueError, match="denominator"):
        Fractions(np.array([1]), denominator)


def test_values_without_a_workable_common_denominator_are_refused():
    with pytest.raises(ValueError, match="too large"):
        Fractions.of([Fraction(1, p) for p in (99991, 99989, 99971, 99961)])
