"""The list of claims, and the language of its column `value`: statements about named quantities.

    value     = said [ " | " place ": " said ]...        what the same source says elsewhere about the same thing
    said      = statement [ "; " statement ]... [ " where " statement [ " and " statement ]... ]
    statement = left operator right
    operator  = "="                     equal, exactly
              | "~"                     equal at the digits that the right side prints: 0.52, 3e3, 21 + 35.5
              | "about"                 equal within 5 %, where a source says so of a number
              | "->"                    the limit of ever more pieces, or of ever more ranks
              | "<" "<=" ">" ">=" "!="
    right     = expression, or [words], compared one by one; "?" stands for what a source does not print

An expression has numbers, names, parts of what a name stands for (tree.n_beta), + - * / // % ** and the functions of
`FUNCTIONS`; over the axes d of a lattice, total(d - 1) is a sum and most(d) the largest. A comparison without spaces
is yes or no: (d>2). `where` keeps the cases that a statement is about. A value without an operator is no comparison:
the words of a definition.
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
from math import ceil, isclose, sqrt
from typing import Any

Case = Mapping[str, Any]
Cases = Iterable[Case]
Rows = Callable[[], Cases]
#: Ids of claims, between spaces -> what gives the quantities of their values, in all cases that were tried.
Table = Mapping[str, Rows]
ROUNDED = ("~", "about")
OPERATORS = ("=", *ROUNDED, "->", "<=", ">=", "<", ">", "!=")


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

    def exact(self, case: Case) -> bool:
        """Whether it holds without rounding."""
        return self.operator not in ROUNDED or same(*self.sides(case))


_NUMBER = r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]?\d+)?"
ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@dataclass(frozen=True)
class Said:
    """What is said in one place.

    Attributes:
        place: where; empty for the claim's own place.
        statements: all of them are meant.
        where: the cases that they are about.
    """

    place: str
    statements: tuple[Statement, ...]
    where: tuple[Statement, ...] = ()

    def about(self, cases: Sequence[Case]) -> list[Case]:
        """The cases that it is about.

        Raises:
            ValueError: if it is about none.
        """
        found = [case for case in cases if all(one.holds(case) for one in self.where)]
        if cases and not found:
            raise ValueError(f"no case where {' and '.join(map(str, self.where))}")
        return found


@cache
def parsed(value: str) -> tuple[Said, ...]:
    """A cell of the column, one entry for each place; empty for a value without comparison.

    Raises:
        ValueError: for a statement that cannot be read.

    >>> parsed("n_alpha = 2 | part 04: n_alpha = 1")[1]
    Said(place='part 04', statements=(Statement(left='n_alpha', operator='=', right='1'),), where=())
    >>> parsed("one link, one way")
    ()
    """
    if not any(f" {symbol} " in value for symbol in OPERATORS):
        return ()
    found = []
    for number, text in enumerate(value.split(" | ")):
        place, _, said = text.partition(": ") if number else ("", "", text)
        said, _, where = said.partition(" where ")
        statements = tuple(_statement(part) for part in said.split("; "))
        about = tuple(_statement(part) for part in where.split(" and ")) if where else ()
        found.append(Said(place, statements, about))
    return tuple(found)


def _statement(text: str) -> Statement:
    outside = re.sub(r"\[.*?\]", lambda words: " " * len(words[0]), text)
    symbols = re.findall(r" (=|~|about|->|<=|>=|<|>|!=) ", outside)
    if len(symbols) != 1:
        raise ValueError(f"{text!r} must compare two sides once, by one of {' '.join(OPERATORS)} between spaces")
    place = outside.index(f" {symbols[0]} ")
    return Statement(text[:place].strip(), symbols[0], text[place + len(symbols[0]) + 2 :].strip())


def same(left: Any, right: Any) -> bool:
    """Equal: numbers exactly, or to nine digits where one is a float; words one by one."""
    if isinstance(left, Words) or isinstance(right, Words):
        return Words(left) == Words(right)
    if isinstance(left, float) or isinstance(right, float):
        return isclose(left, right, rel_tol=1e-9)
    return bool(left == right)


class Words(tuple[str, ...]):
    """Words that are compared one by one; "?" equals any.

    >>> Words("a b c") == Words("a ? c"), Words("a b") == Words("a b c")
    (True, False)
    """

    def __new__(cls, text: str | tuple[str, ...]) -> Words:
        """From a text, or from words."""
        return super().__new__(cls, text.replace("/", " / ").split() if isinstance(text, str) else text)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, tuple)
            and len(self) == len(other)
            and all(a == b or "?" in (a, b) for a, b in zip(self, other, strict=True))
        )

    __hash__ = tuple.__hash__


def evaluated(text: str, case: Case) -> Any:
    """An expression in a case.

    Raises:
        ValueError: for what is no part of an expression, or a name that the case lacks.

    >>> evaluated("2 * total(d - 1) + lg(N)", {"N": 64, "d": (8, 8)})
    Fraction(34, 1)
    """
    if text.startswith("["):
        return Words(text[1:-1])
    return _value(_tree(text), case)


@cache
def _tree(text: str) -> ast.expr:
    # decimals stay exact: 0.1 is Fraction("0.1")
    return ast.parse(re.sub(_NUMBER, lambda number: f"'{number[0]}'", text), mode="eval").body


def _value(node: ast.expr, case: Case) -> Any:
    if isinstance(node, ast.Constant):
        return Fraction(str(node.value))
    if isinstance(node, ast.Name):
        if node.id in ("yes", "no"):
            return node.id == "yes"
        if node.id not in case:
            raise ValueError(f"nothing is known of {node.id!r} here, only of {', '.join(case)}")
        return _plain(case[node.id])
    if isinstance(node, ast.Attribute):
        return _plain(_value(node.value, case)[node.attr])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, case)
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        return _ARITHMETIC[type(node.op)](_value(node.left, case), _value(node.right, case))
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARED:
        return _COMPARED[type(node.ops[0])](_value(node.left, case), _value(node.comparators[0], case))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("total", "most"):
        over = [_value(node.args[0], ChainMap({"d": size}, case)) for size in case["d"]]  # type: ignore[arg-type]
        return sum(over, Fraction(0)) if node.func.id == "total" else max(over)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
        return FUNCTIONS[node.func.id](*(_value(part, case) for part in node.args))
    raise ValueError(f"{ast.unparse(node)!r} is no part of a value")


def _plain(found: Any) -> Any:
    if isinstance(found, str):
        return Words(found)
    return Fraction(found) if isinstance(found, int) and not isinstance(found, bool) else found


_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: lambda a, b: Fraction(a // b),
    ast.Mod: operator.mod,
    ast.Pow: lambda a, b: a ** int(b),
}

_COMPARED: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Gt: operator.gt,
    ast.LtE: operator.le,
}

#: lg(x) is the base-2 logarithm rounded up to a whole number.
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "lg": lambda x: Fraction((int(x) - 1).bit_length()),
    "sqrt": sqrt,
    "ceil": lambda x: Fraction(ceil(x)),
    "min": min,
    "max": max,
}


# -- the list --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Claim:
    """What a source says.

    Attributes:
        id: its name in the ledger.
        source: the source's number, a key of `SOURCES`.
        where: the place in the source.
        kind: definition, formula, number, count, trace or table-cell-group.
        statement: what is said, in our words.
        inputs: for which N, sizes or ports.
        claimed: the value as the source prints it.
        value: the same as statements about named quantities (`colllib.claims.value`).
        chapter: where a reader meets the topic; empty while the claim is open.
        answer: what decides it: "executed", "fact" for what was read in a document, the verdict where nothing is
            compared, or nothing while the claim is open.
    """

    id: str
    source: str
    where: str
    kind: str
    statement: str
    inputs: str
    claimed: str
    value: str
    chapter: str
    answer: str


@cache
def claims() -> tuple[Claim, ...]:
    """All claims, in the order of the sources.

    >>> claims()[0].id, claims()[0].source
    ('E-00-001', '000')
    """
    text = (resources.files(__package__) / "claims.csv").read_text(encoding="utf-8")
    return tuple(Claim(**row) for row in csv.DictReader(text.splitlines()))


@cache
def listed(name: str) -> Claim:
    """One claim.

    Raises:
        ValueError: for an unknown id.

    >>> listed("E-01-013").where
    'part 01, 3.1'
    """
    for claim in claims():
        if claim.id == name:
            return claim
    raise ValueError(f"unknown claim {name!r}: ids are such as E-02-083, R-05, T-14 or M-41")
