"""The language in which the list says what is claimed."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colllib.claims.value import Limit, Statement, evaluated, parsed, same

numbers = st.fractions(min_value=-1000, max_value=1000, max_denominator=1000)


@given(numbers, numbers)
def test_arithmetic_is_exact(a, b):
    case = {"a": a, "b": b}
    assert evaluated("a + 2 * b - 0.1", case) == a + 2 * b - Fraction(1, 10)
    assert evaluated("max(a, b) - min(a, b)", case) == abs(a - b)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=5))
def test_sums_and_the_largest_are_over_the_axes(d):
    assert evaluated("total(d // 2)", {"d": d}) == sum(size // 2 for size in d)
    assert evaluated("most(d) / 8", {"d": d}) == Fraction(max(d), 8)


@given(st.integers(1, 10**6))
def test_the_logarithm_is_rounded_up(n):
    assert evaluated("lg(N)", {"N": n}) == next(k for k in range(64) if 2**k >= n)
    assert evaluated("lg(N - 1/2)", {"N": n}) == evaluated("lg(N)", {"N": n})


def test_a_power_may_be_a_root():
    assert (evaluated("4 ** (1/2)", {}), evaluated("2 ** N", {"N": 80})) == (2, 2**80)


@given(st.integers(-(10**6), 10**6))
def test_rounding_takes_half_of_the_last_printed_digit_both_ways(hundredths):
    printed = Fraction(hundredths, 100)
    one = (
        Statement("t", "~", f"{float(printed):.2f}") if printed >= 0 else Statement("t", "~", f"-{float(-printed):.2f}")
    )
    assert one.holds({"t": printed + Fraction(5, 1000)})
    assert not one.holds({"t": printed + Fraction(51, 10000)})


def test_a_cell_is_read_into_places_statements_and_conditions():
    first, second = parsed("n = 2 * k; m -> 1 where k = 1 and N > 4 | part 04, the row: n = 1")
    assert [str(one) for one in first.statements] == ["n = 2 * k", "m -> 1"]
    assert [str(one) for one in first.where] == ["k = 1", "N > 4"]
    assert (first.place, second.place) == ("", "part 04, the row")


@pytest.mark.parametrize("text", ["n = m = 2", "n = 2; m"])
def test_a_statement_must_compare_once(text):
    with pytest.raises(ValueError, match="must compare two sides once"):
        parsed(text)


def test_what_is_no_part_of_an_expression_is_refused():
    with pytest.raises(ValueError, match="nothing is known of 'x' here, only of N"):
        evaluated("x + 1", {"N": 4})
    for text in ("open(N)", "(N in d)", "(1<N<5)"):
        with pytest.raises(ValueError, match="is no part of a value"):
            evaluated(text, {"N": 4, "d": (4,)})


@pytest.mark.parametrize(("text", "held"), [("(N>2)", True), ("(N<=3)", False), ("(N%2==0)", True), ("(N!=4)", False)])
def test_a_comparison_without_spaces_is_yes_or_no_inside_a_statement(text, held):
    assert Statement("multi", "=", text).holds({"multi": held, "N": 4})
    assert not Statement("multi", "=", text).holds({"multi": not held, "N": 4})
    assert parsed(f"multi = {text}")[0].statements == (Statement("multi", "=", text),)


@given(numbers, numbers)
def test_a_limit_is_found_from_three_numbers_of_pieces(a, b):
    limit = Limit.of(lambda p: a + b / p)
    assert limit.value == a


def test_what_has_no_such_form_has_no_limit():
    with pytest.raises(ValueError, match=r"are not a \+ b / P"):
        Limit.of(lambda p: p)


def test_words_compare_one_by_one():
    assert same("a / b", "a/b")
    assert same("a/b", "? / b")
    assert not same("a b", "a")
