"""The language of the column `value` of `claims.csv`: statements about named quantities.

    value     = passage [ " | " place ": " passage ]...  what the same source says elsewhere about the same thing
    passage   = statement [ "; " statement ]... [ " where " statement [ " and " statement ]... ]
    statement = left operator right
    operator  = "="                     equal, exactly
              | "~"                     equal at the digits that the right side prints: 0.52, 3e3, 21 + 35.5
              | "about"                 equal within 5 %, where a source says so of a number
              | "->"                    the limit of ever more pieces, or of ever more ranks
              | "<" "<=" ">" ">=" "!="
    right     = expression, or [words], compared one by one; "?" stands for what a source does not print

An expression has numbers, names, parts of what a name stands for (tree.n_beta), + - * / // % ** and the functions of
`FUNCTIONS`; over the axes d of a lattice, total(d - 1) is a sum and most(d) the largest. A comparison without spaces is
yes or no: (d>2), and so is one or another. `where` keeps the cases that a statement is about. A value without an
operator is no comparison: the words of a definition.
"""

from __future__ import annotations

import ast
import csv
import operator
import re
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from importlib import resources
from math import ceil, isclose, log2, sqrt
from typing import Any

from colllib.cost import crossover

Case = Mapping[str, Any]
Cases = Iterable[Case]
Rows = Callable[[], Cases]
#: Ids of claims, between spaces -> what gives the quantities of their values, in all cases that were tried.
Table = Mapping[str, Rows]
ROUNDED = ("~", "about")
OPERATORS = ("=", *ROUNDED, "->", "<=", ">=", "<", ">", "!=")


@cache
def stored(name: str) -> list[dict[str, str]]:
    """The rows of a table of this package, such as claims.csv."""
    text = (resources.files(__package__) / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(keepends=True)))


@dataclass(frozen=True)
class Limit:
    """What a quantity comes to in ever more pieces.

    >>> Limit.of(lambda pieces: 2 + Fraction(15, pieces))
    Limit(value=Fraction(2, 1))
    """

    value: Fraction

    @classmethod
    def of(cls, at: Callable[[int], Fraction | int], first: int = 8) -> Limit:
        """The limit of a + b / P, the form of every pipeline that is longer than its stages, held to at a third P.

        Args:
            at: the quantity in P pieces, executed.
            first: the least P; 2 P and 4 P are tried as well.

        Raises:
            ValueError: if the three are not a + b / P.
        """
        one, two, four = (Fraction(at(first * times)) for times in (1, 2, 4))
        if 2 * four - two != 2 * two - one:
            raise ValueError(f"{one}, {two}, {four} in {first}, {2 * first}, {4 * first} pieces are not a + b / P")
        return cls(2 * two - one)


@dataclass(frozen=True)
class Statement:
    """One comparison, such as n_beta = 2 * (N - 1) / N.

    >>> Statement("t", "~", "44.56").holds({"t": 44.561}), Statement("t", "~", "44.5").holds({"t": 44.561})
    (True, False)
    """

    left: str
    operator: str
    right: str

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"

    def sides(self, case: Case) -> tuple[Any, Any]:
        """Both sides in a case.

        Raises:
            ValueError: if a limit is compared as a value, or a value as a limit.
        """
        left = evaluated(self.left, case)
        if self.operator not in ORDERS and isinstance(left, Limit) != (self.operator == "->"):
            raise ValueError(f"{self}: '->' is for limits, and for nothing else, and {self.left} is {left!r}")
        right = evaluated(self.right, case)
        left, right = (side.value if isinstance(side, Limit) else side for side in (left, right))
        return left, right

    def holds(self, case: Case) -> bool:
        """Whether it is true in a case."""
        left, right = self.sides(case)
        if self.operator == "~":
            unit = min(Decimal(number).as_tuple().exponent for number in re.findall(_NUMBER, self.right))
            return abs(Fraction(left) - Fraction(right)) <= Fraction(10) ** int(unit) / 2
        if self.operator == "about":
            return abs(Fraction(left) / Fraction(right) - 1) <= Fraction(1, 20)
        if self.operator in ("=", "->", "!="):
            return same(left, right) != (self.operator == "!=")
        return bool(ORDERS[self.operator](left, right))


_NUMBER = r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]?\d+)?"
ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@dataclass(frozen=True)
class Passage:
    """What is said in one place, which is empty for the claim's own: all statements are meant, of the cases `where`."""

    place: str
    statements: tuple[Statement, ...]
    where: tuple[Statement, ...] = ()

    def about(self, cases: Sequence[Case]) -> list[Case]:
        """The cases that it is about.

        Raises:
            ValueError: if it is about none.
        """
        relevant = [case for case in cases if all(one.holds(case) for one in self.where)]
        if cases and not relevant:
            raise ValueError(f"no case where {' and '.join(map(str, self.where))}")
        return relevant


@cache
def parsed(value: str) -> tuple[Passage, ...]:
    """A cell of the column, one entry for each place; empty for a value without comparison.

    Raises:
        ValueError: for a statement that cannot be read.

    >>> parsed("n_alpha = 2 | part 04: n_alpha = 1")[1]
    Passage(place='part 04', statements=(Statement(left='n_alpha', operator='=', right='1'),), where=())
    >>> parsed("one link, one way")
    ()
    """
    if not any(f" {symbol} " in value for symbol in OPERATORS):
        return ()
    passages = []
    for number, text in enumerate(value.split(" | ")):
        place, _, compared = text.partition(": ") if number else ("", "", text)
        compared, _, conditions = compared.partition(" where ")
        statements = tuple(_statement(part) for part in compared.split("; "))
        where = tuple(_statement(part) for part in conditions.split(" and ")) if conditions else ()
        passages.append(Passage(place, statements, where))
    return tuple(passages)


def _statement(text: str) -> Statement:
    symbols = list(re.finditer(rf" ({'|'.join(OPERATORS)}) (?![^[]*\])", text))  # outside of [words]
    if len(symbols) != 1:
        raise ValueError(f"{text!r} must compare two sides once, by one of {' '.join(OPERATORS)} between spaces")
    [symbol] = symbols
    return Statement(text[: symbol.start()].strip(), symbol[1], text[symbol.end() :].strip())


def same(left: Any, right: Any) -> bool:
    """Equal: numbers exactly, or to nine digits where one is a float; words one by one, of which "?" equals any.

    >>> same("a b/c", "a ? / c"), same("a b", "a b c")
    (True, False)
    """
    if isinstance(left, str) != isinstance(right, str):
        raise ValueError(f"{left!r} and {right!r}: words are compared with words")
    if isinstance(left, str):
        words, others = _spaced(left).split(), _spaced(right).split()
        return len(words) == len(others) and all(a == b or "?" in (a, b) for a, b in zip(words, others, strict=True))
    if isinstance(left, float) or isinstance(right, float):
        return isclose(left, right, rel_tol=1e-9)
    return bool(left == right)


def _spaced(words: str) -> str:
    return " ".join(words.replace("/", " / ").split())


def evaluated(text: str, case: Case) -> Any:
    """An expression in a case.

    Raises:
        ValueError (or SyntaxError): for what is no part of an expression, or a name that the case lacks.

    >>> evaluated("2 * total(d - 1) + lg(N)", {"N": 64, "d": (8, 8)})
    Fraction(34, 1)
    """
    if text.startswith("["):
        return _spaced(text[1:-1])
    return _value(_tree(text), case)


@cache
def _tree(text: str) -> ast.expr:
    # decimals stay exact: 0.1 is Fraction("0.1")
    return ast.parse(re.sub(_NUMBER, lambda number: f"'{number[0]}'", text), mode="eval").body


def _value(node: ast.expr, known: Case) -> Any:
    match node:
        case ast.Constant(number):
            return Fraction(str(number))
        case ast.Name("yes" | "no" as word):
            return word == "yes"
        case ast.Name(name) if name in known:
            return _plain(known[name])
        case ast.Name(name):
            raise ValueError(f"nothing is known of {name!r} here, only of {', '.join(known)}")
        case ast.Attribute(owner, name):
            return _plain(_value(owner, known)[name])
        case ast.UnaryOp(ast.USub(), number):
            return -_value(number, known)
        case ast.BinOp(left, symbol, right) | ast.Compare(left, [symbol], [right]) if type(symbol) in _SYMBOLS:
            return _SYMBOLS[type(symbol)](_value(left, known), _value(right, known))
        case ast.Call(ast.Name(name), [over]) if name in _OVER_AXES:
            sizes = (ChainMap({"d": size}, known) for size in known["d"])  # type: ignore[arg-type]
            return _OVER_AXES[name](_value(over, one) for one in sizes)
        case ast.Call(ast.Name(name), parts) if name in FUNCTIONS:
            return FUNCTIONS[name](*(_value(part, known) for part in parts))
        case ast.BoolOp(ast.Or(), parts):
            return any(_value(part, known) for part in parts)
    raise ValueError(f"{ast.unparse(node)!r} is no part of a value")


def _plain(quantity: Any) -> Any:
    if isinstance(quantity, str):
        return _spaced(quantity)
    return Fraction(quantity) if type(quantity) is int else quantity


_SYMBOLS: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: lambda a, b: Fraction(a // b),
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.LtE: operator.le,
}
_OVER_AXES: Mapping[str, Callable[..., Any]] = {"total": sum, "most": max}
#: lg(x) is the base-2 logarithm rounded up to a whole number, limit(x) a limit, value(x) what one comes to, and
#: crossover(a, b) the message at which two runs take equally long, in alpha BW.
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "lg": lambda x: Fraction((ceil(x) - 1).bit_length()),
    "sqrt": sqrt,
    "ceil": lambda x: Fraction(ceil(x)),
    "min": min,
    "max": max,
    "log2": log2,
    "float": float,
    "round": lambda x, digits=0: round(x, int(digits)),
    "limit": Limit,
    "value": lambda limit: limit.value,
    "crossover": lambda one, other: crossover(one.cost, other.cost),
}
