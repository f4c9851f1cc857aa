"""Formulas: one text, printed as TeX and computed exactly, so that what a page shows is what the library uses."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

Number = int | Fraction


@dataclass(frozen=True)
class Formula:
    """An exact expression in whole numbers and names.

    The grammar is a small part of Python's: ``+ - * / //`` and parentheses, whole numbers, names of one letter and
    perhaps a digit, ``lg(x)`` for the logarithm to base 2 rounded up, and over all axes, of which each has the size d,
    ``total(x)`` for the sum of x and ``most(x)`` for the largest.

    Raises:
        ValueError: for a text outside the grammar. None of it is ever run: what computes is written from its parts.

    >>> Formula("2 * (N - 1) / N")(N=8), Formula("2 * (N - 1) / N").tex
    (Fraction(7, 4), '\\\\frac{2(N-1)}{N}')
    >>> Formula("P - 1 + total(d // 2)")(axes=(8, 8, 4), P=5)
    14
    """

    text: str
    tex: str = field(init=False, repr=False, compare=False)  # without dollars
    _code: str = field(init=False, repr=False, compare=False)
    _value: Callable[..., tuple[Number]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            tree = ast.parse(self.text, mode="eval").body
        except SyntaxError as error:
            raise ValueError(f"{self.text!r} is not a formula: {error.msg}") from error
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - {"d", *_CALLS}
        for name, value in (("_code", _python(tree)), ("tex", _tex(tree))):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_value", together(("axes", *sorted(names), "**_"), self))

    def __call__(self, axes: Sequence[int] = (), **names: Number) -> Number:
        """The value for the sizes of the axes and for each name; names that do not occur are ignored."""
        return self._value(axes, **names)[0]


def together(parameters: Sequence[str], *formulas: Formula) -> Callable[..., tuple[Number, ...]]:
    """One function for the values of several formulas, as fast as if it had been written by hand.

    >>> together(["N", "P"], Formula("N + P"), Formula("N / P"))(6, 4)
    (10, Fraction(3, 2))
    """
    values = "".join(f"{formula._code}, " for formula in formulas)
    function: Callable[..., tuple[Number, ...]] = eval(
        f"lambda {', '.join(parameters)}: ({values})", {"Fraction": Fraction}
    )
    return function


_CALLS = ("lg", "total", "most")
_SIGNS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//"}
_NAME = re.compile(r"[A-Za-z]\d?")


def _python(node: ast.expr, on_axis: bool = False) -> str:
    """An expression as Python code that stays with whole numbers until something is divided."""
    match node:
        case ast.Constant(value=int(value)) if type(value) is int:
            return str(value)
        case ast.Name(id=name) if _NAME.fullmatch(name) and (on_axis or name != "d"):
            return name
        case ast.BinOp(left, ast.Div(), right):
            return f"Fraction({_python(left, on_axis)}, {_python(right, on_axis)})"
        case ast.BinOp(left, op, right) if type(op) in _SIGNS:
            return f"({_python(left, on_axis)} {_SIGNS[type(op)]} {_python(right, on_axis)})"
        case ast.Call(ast.Name("lg"), [inner], []):
            return f"(-(-{_python(inner, on_axis)} // 1) - 1).bit_length()"
        case ast.Call(ast.Name("total"), [inner], []) if not on_axis:
            return f"sum([{_python(inner, True)} for d in axes])"
        case ast.Call(ast.Name("most"), [inner], []) if not on_axis:
            return f"max([{_python(inner, True)} for d in axes])"
    raise ValueError(f"{ast.unparse(node)!r} is not part of a formula")


#: Names that are printed otherwise than they are written.
_LETTERS = {"d": "d_i", "a": r"n_\alpha", "b": r"n_\beta", "a2": r"n_\alpha'", "b2": r"n_\beta'"}


def _tex(node: ast.expr) -> str:
    """An expression that `_python` has accepted, as TeX."""
    match node:
        case ast.Constant(value):
            return str(value)
        case ast.Name(id=name):
            return _LETTERS.get(name, "_".join(name))
        case ast.BinOp(left, ast.Add(), right):
            return f"{_tex(left)}+{_tex(right)}"
        case ast.BinOp(left, ast.Sub(), right):
            return f"{_tex(left)}-{_factor(right)}"
        case ast.BinOp(left, ast.Mult(), right):
            return _product(_factor(left, last=False), _factor(right))
        case ast.BinOp(left, ast.Div(), right):
            return rf"\frac{{{_tex(left)}}}{{{_tex(right)}}}"
        case ast.BinOp(left, ast.FloorDiv(), right):
            below = _factor(right, last=False)
            below = f"({below})" if isinstance(right, ast.BinOp) and isinstance(right.op, ast.Mult) else below
            return rf"\lfloor {_factor(left, last=False)}/{below}\rfloor"
        case ast.Call(ast.Name("lg"), [inner]):
            return rf"\lceil\log_2 {_factor(inner)}\rceil"
        case ast.Call(ast.Name("total"), [inner]):
            return rf"\sum_i {_factor(inner)}"
        case ast.Call(_, [ast.Name("d")]):
            return r"d_{\max}"
        case ast.Call(_, [inner]):
            return rf"\max_i {_factor(inner)}"
    raise AssertionError(ast.unparse(node))


def _factor(node: ast.expr, last: bool = True) -> str:
    """A part of a product, in parentheses if it is a sum, or a sum over axes with another part to its right."""
    adds = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub)
    return f"({_tex(node)})" if adds or (not last and _open(node)) else _tex(node)


def _open(node: ast.expr) -> bool:
    """Whether what is written to its right would be read as part of it."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _open(node.right)
    return isinstance(node, ast.Call) and _tex(node).startswith((r"\sum", r"\max"))


def _product(left: str, right: str) -> str:
    if right[0].isdigit():
        return rf"{left}\cdot {right}"
    if right.startswith((r"\lceil", r"\sum", r"\max")):
        return rf"{left}\,{right}"
    return f"{left} {right}" if left[-1].isalpha() and "\\" in left else left + right
