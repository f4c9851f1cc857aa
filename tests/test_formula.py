"""Formulas: computed as fractions are, printed so that a reader of the TeX computes the same, and nothing else run."""

import operator
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colllib.formula import Formula, together

AXES = (3, 4, 8)
NAMES = {"N": 96, "P": 5, "k": 3, "m": Fraction(7, 3), "a2": Fraction(5, 2)}
SIGNS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv}


def rounded_log(value):
    return Fraction(next(exponent for exponent in range(99) if 2**exponent >= value))


def joined(parts):
    """A text and its value out of two of them and a sign; without a value where it would divide by zero."""
    (one, first), sign, (other, second) = parts
    known = first is not None and second is not None and not (sign in "//" and second == 0)
    return f"({one}) {sign} ({other})", Fraction(SIGNS[sign](first, second)) if known else None


ON_AXES = {
    "total(d)": sum(AXES),
    "total(d - 1)": sum(d - 1 for d in AXES),
    "total(d // 2)": sum(d // 2 for d in AXES),
    "total(d * P)": sum(d * 5 for d in AXES),
    "most(d)": max(AXES),
    "most(d - P)": max(d - 5 for d in AXES),
    "lg(N)": rounded_log(96),
    "lg(N + 40)": rounded_log(136),
    "lg(2 * N)": rounded_log(192),
}
LEAVES = st.one_of(
    st.integers(0, 12).map(lambda number: (str(number), Fraction(number))),
    st.sampled_from([(name, Fraction(value)) for name, value in NAMES.items()]),
    st.sampled_from([(text, Fraction(value)) for text, value in ON_AXES.items()]),
)
TEXTS = st.recursive(
    LEAVES, lambda inner: st.tuples(inner, st.sampled_from(list(SIGNS)), inner).map(joined), max_leaves=7
)


class Reader:
    """Computes what TeX says, as a mathematician reads it: a sum over axes reaches to the next plus or minus."""

    TOKEN = re.compile(r"\\sum_i|\\max_i|\\log_2|d_\{\\max\}|d_i|n_\\alpha'|[A-Za-z]|\d+|\\[a-z]+|\\,|\S")

    def __init__(self, tex):
        self.tokens, self.at, self.size = self.TOKEN.findall(tex), 0, None

    def value(self):
        value = self.sum()
        assert self.at == len(self.tokens), self.tokens[self.at :]
        return value

    def next(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, *expected):
        token = self.next()
        assert not expected or token in expected, (token, expected)
        self.at += 1
        return token

    def sum(self):
        value = self.product()
        while self.next() in ("+", "-"):
            value = SIGNS[self.take()](value, self.product())
        return value

    def product(self):
        value = self.factor()
        while self.next() not in ("", "+", "-", ")", "}", "/", r"\rfloor", r"\rceil"):
            if self.next() in (r"\,", r"\cdot"):
                self.take()
            value *= self.factor()
        return value

    def factor(self):
        token = self.take()
        if token.isdigit():
            return Fraction(token)
        if token == "(":
            return self.until(self.sum(), ")")
        if token == r"\frac":
            self.take("{")
            above = self.until(self.sum(), "}")
            self.take("{")
            return above / self.until(self.sum(), "}")
        if token == r"\lfloor":
            above = self.sum()
            self.take("/")
            return Fraction(self.until(above // self.product(), r"\rfloor"))
        if token == r"\lceil":
            self.take(r"\log_2")
            return self.until(rounded_log(self.product()), r"\rceil")
        if token in (r"\sum_i", r"\max_i"):
            return {r"\sum_i": sum, r"\max_i": max}[token](self.over_axes())
        return Fraction({"d_i": self.size, r"d_{\max}": max(AXES), r"n_\alpha'": NAMES["a2"], **NAMES}[token])

    def over_axes(self):
        start, terms = self.at, []
        for self.size in AXES:
            self.at = start
            terms.append(self.product())
        self.size = None
        return terms

    def until(self, value, closing):
        self.take(closing)
        return value


@given(TEXTS)
def test_a_formula_is_computed_exactly_and_printed_as_what_it_computes(expression):
    text, value = expression
    formula = Formula(text)
    if value is None:
        with pytest.raises(ZeroDivisionError):
            formula(AXES, **NAMES)
        return
    assert formula(AXES, **NAMES) == value
    assert Reader(formula.tex).value() == value


def test_signs_bind_as_they_do_in_python():
    assert Formula("lg(N / 2)")(N=8) == 2
    assert Formula("lg(N / 2)")(N=5) == 2
    assert Formula("2 + 3 * N - 4 // 3 - 1")(N=5) == 2 + 15 - 1 - 1
    assert Formula("N - (P - 1) / (2 * P)")(N=5, P=3) == 5 - Fraction(2, 6)
    assert Formula("N / 2 / P")(N=3, P=5) == Fraction(3, 10)


@pytest.mark.parametrize(
    ("text", "tex"),
    [
        ("2 * (lg(N) + P - 1) / P", r"\frac{2(\lceil\log_2 N\rceil+P-1)}{P}"),
        ("2 * total(d - 1)", r"2\,\sum_i (d_i-1)"),
        ("(N // 2) * ((N + 1) // 2)", r"\lfloor N/2\rfloor \lfloor (N+1)/2\rfloor"),
        ("most(d) / 8", r"\frac{d_{\max}}{8}"),
        ("P - (N - 1)", "P-(N-1)"),
        ("(a2 - a) / (b - b2)", r"\frac{n_\alpha'-n_\alpha}{n_\beta-n_\beta'}"),
    ],
)
def test_a_formula_is_printed_as_a_mathematician_writes_it(text, tex):
    assert Formula(text).tex == tex


def test_several_formulas_make_one_function_and_equal_texts_are_equal():
    both = together(("N", "axes"), Formula("N / 2"), Formula("total(d)"))
    assert both(3, (4, 5)) == (Fraction(3, 2), 9)
    assert Formula("N + 1") == Formula("N + 1") != Formula("N + 2")


OUTSIDE = """N ** 2 | -N | N % 2 | N if P else 1 | N < 2 | True | 1.5 | 'a' | [N] | lambda: 1 | (N := 2) | NN | _ | ß
    | lg | lg(N, 2) | lg(x=N) | min(d) | total(*d) | total(total(d)) | d | d + total(d) | N.real | N[0] | N()
    | __import__('os') | ().__class__ | open(N) | exec(N) | f'{N}' | N; P | N = 2 | import os | ( | N P | """


@pytest.mark.parametrize("text", [text.strip() for text in OUTSIDE.split("|")])
def test_what_is_not_in_the_grammar_is_refused_in_one_line(text):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refusal:
        Formula(text)
    assert "formula" in str(refusal.value)


def test_a_name_without_a_value_is_an_error():
    with pytest.raises(TypeError, match="'P'"):
        Formula("N / P")(N=2)
