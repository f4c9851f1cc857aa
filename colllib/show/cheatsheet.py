"""The cheatsheet: closed forms of all algorithms on all fabrics, each one text that is both printed and evaluated.

A formula is written once, as Python. `Formula.tex` prints it and `Formula.value` computes it, so
what the page shows is what the tests hold against the executed costs.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod

from colllib import ladder, units
from colllib.cost import Cost
from colllib.ladder import Entry, Rung
from colllib.show.ladder_explorer import fabric_name
from colllib.topology import Lattice

Place = int | Lattice
Name = Mapping[str, Fraction]


@dataclass(frozen=True)
class Formula:
    """An expression in N, P, k (axes), lg(N), over the axes total(d - 1), total(d // 2), most(d); or in any names.

    >>> Formula("2 * (N - 1) / N").value(8), Formula("2 * (N - 1) / N").tex
    (Fraction(7, 4), '\\\\frac{2(N-1)}{N}')
    >>> Formula("total(d // 2) + P - 1").value(Lattice((8, 8, 8)), segments=5)
    Fraction(16, 1)
    """

    text: str

    @cached_property
    def _tree(self) -> ast.expr:
        return ast.parse(self.text, mode="eval").body

    @property
    def tex(self) -> str:
        """As TeX, without dollars."""
        return _tex(self._tree)

    def value(self, place: Place, segments: int = 1) -> Fraction:
        """Its value for a number of ranks or axes, and a number of segments."""
        dims = place.dims if isinstance(place, Lattice) else (place,)
        names = {"N": Fraction(prod(dims)), "P": Fraction(segments), "k": Fraction(len(dims))}
        return _value(self._tree, names, dims)

    def of(self, **names: int | Fraction) -> Fraction:
        """Its value for other names.

        >>> Formula("(L - 1) * m").of(L=9, m=Fraction(1, 2))
        Fraction(4, 1)
        """
        return _value(self._tree, {name: Fraction(value) for name, value in names.items()}, ())


def _value(node: ast.expr, names: Name, dims: Sequence[int]) -> Fraction:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return Fraction(node.value)
    if isinstance(node, ast.Name):
        return names[node.id]
    if isinstance(node, ast.BinOp):
        left, right = (_value(side, names, dims) for side in (node.left, node.right))
        return _OPERATIONS[type(node.op)](left, right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        (inner,) = node.args
        if node.func.id == "lg":
            return Fraction((int(_value(inner, names, dims)) - 1).bit_length())
        over = [_value(inner, {**names, "d": Fraction(size)}, dims) for size in dims]
        return {"total": sum(over, Fraction(0)), "most": max(over)}[node.func.id]
    raise ValueError(f"{ast.unparse(node)!r} is not part of a formula")


_OPERATIONS: Mapping[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: Fraction(a // b),
}


_LETTERS = {"d": "d_i", "a": r"n_\alpha", "b": r"n_\beta", "a2": r"n_\alpha'", "b2": r"n_\beta'"}


def _tex(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.Name):
        return _LETTERS.get(node.id, node.id)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        (inner,) = node.args
        if node.func.id == "lg":
            return rf"\lceil\log_2 {_tex(inner)}\rceil"
        if node.func.id == "most":
            return r"d_{\max}"
        return rf"\sum_i {_factor(inner)}"
    if not isinstance(node, ast.BinOp):
        raise ValueError(f"{ast.unparse(node)!r} is not part of a formula")
    left, right = node.left, node.right
    if isinstance(node.op, ast.Div):
        return rf"\frac{{{_tex(left)}}}{{{_tex(right)}}}"
    if isinstance(node.op, ast.FloorDiv):
        return rf"\lfloor {_tex(left)}/{_tex(right)}\rfloor"
    if isinstance(node.op, ast.Mult):
        return rf"{_factor(left)}\,{_factor(right)}" if isinstance(right, ast.Call) else _factor(left) + _factor(right)
    return _tex(left) + ("+" if isinstance(node.op, ast.Add) else "-") + _tex(right)


def _factor(node: ast.expr) -> str:
    """A part of a product: sums get parentheses."""
    plain = not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub))
    return _tex(node) if plain else f"({_tex(node)})"


# -- the formulas --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """The closed form of an algorithm on a kind of fabric.

    Attributes:
        n_alpha: the latencies.
        n_beta: the load.
        holds: for which N or axes and P, a key of `HOLDS`.
    """

    n_alpha: Formula
    n_beta: Formula
    holds: str = "any"

    def cost(self, place: Place, segments: int = 1) -> Cost:
        """The two values.

        >>> SHEET["star"]["all-gather"]["ring"].cost(8)
        Cost(n_alpha=7, n_beta=7/8)
        """
        return Cost(self.n_alpha.value(place, segments), self.n_beta.value(place, segments))


def _power_of_two(place: Place, _: int) -> bool:
    return isinstance(place, int) and place & (place - 1) == 0


def _axes(place: Place, test: Callable[[int], bool], equal: bool = False) -> bool:
    return isinstance(place, Lattice) and all(map(test, place.dims)) and (len(set(place.dims)) == 1 or not equal)


#: When a closed form holds: what the page says, and the test.
HOLDS: Mapping[str, Callable[[Place, int], bool]] = {
    "any": lambda _, __: True,
    "$N = 2^m$": _power_of_two,
    "$N = 2^m$, $N > 2$, $P > 1$": lambda n, p: _power_of_two(n, p) and p > 1 and n != 2,
    "$P > 2$": lambda _, p: p > 2,
    "$d_i > 2$": lambda axes, _: _axes(axes, lambda d: d > 2),
    "equal axes": lambda axes, _: _axes(axes, lambda d: d > 1, equal=True),
    "equal even axes, $d > 2$": lambda axes, _: _axes(axes, lambda d: d > 2 and d % 2 == 0, equal=True),
}


def _line(n_alpha: str, n_beta: str, holds: str = "any") -> Line:
    return Line(Formula(n_alpha), Formula(n_beta), holds)


_PIPELINED = "(lg(N) + P - 1) / P"
_AWAY, _TWICE = "(N - 1) / N", "2 * (N - 1) / N"
_POWER = "$N = 2^m$"
_ROOTED = {
    "chain": _line("N + P - 2", "(N + P - 2) / P"),
    "binomial tree": _line("lg(N) + P - 1", "lg(N)"),
    "two tree": _line("2 * (lg(N) + P - 1)", _PIPELINED, _POWER),
    "scatter allgather": _line("lg(N) + N - 1", _TWICE),
    "circulant": _line("lg(N) + P - 1", _PIPELINED),
}
_HALF = {"ring": _line("N - 1", _AWAY), "Bruck": _line("lg(N)", _AWAY), "PAT": _line("lg(N)", _AWAY)}
_ON_STAR = {
    "broadcast": _ROOTED,
    "reduce": _ROOTED,
    "all-gather": _HALF | {"recursive doubling": _line("lg(N)", _AWAY, _POWER)},
    "reduce-scatter": _HALF | {"recursive halving": _line("lg(N)", _AWAY, _POWER)},
    "all-reduce": {
        "ring": _line("2 * (N - 1)", _TWICE),
        "bidirectional ring": _line("2 * (N - 1)", _TWICE),
        "shortest way ring": _line("2 * (N // 2)", _TWICE),
        "recursive doubling": _line("lg(N)", "lg(N)", _POWER),
        "Rabenseifner": _line("2 * lg(N)", _TWICE, _POWER),
        "binomial tree": _line("2 * lg(N)", "2 * lg(N)"),
        "double binary tree": _line(
            "2 * (2 * lg(N) + 2 * P - 3)", "(2 * lg(N) + 2 * P - 3) / P", "$N = 2^m$, $N > 2$, $P > 1$"
        ),
        "reduce + broadcast": _line("2 * (lg(N) + P - 1)", "2 * (lg(N) + P - 1) / P"),
    },
    "all-to-all": {
        "pairwise": _line("N - 1", _AWAY),
        "Bruck": _line("lg(N)", "lg(N) / 2", _POWER),
        "ring relay": _line("N // 2", "(N // 2) * ((N + 1) // 2) / N"),
    },
}
_AROUND, _ALONG = "total(d // 2)", "total(d - 1)"


def _pipeline(stages: str) -> Line:
    return _line(f"P - 1 + {stages}", f"(P - 1 + {stages}) / P")


_TORUS_HALF = {"dim ring": _line(_ALONG, _AWAY), "breadth first": _line(_AROUND, "(N - 1) / (2 * k * N)", "$d_i > 2$")}
_MESH_HALF = {"dim ring": _line(_ALONG, _AWAY), "rotated dim ring": _line(_ALONG, "(N - 1) / (k * N)", "equal axes")}
_ON_TORUS = {
    "broadcast": {"dim chain": _pipeline(_AROUND)},
    "reduce": {"dim chain": _pipeline(_AROUND)},
    "all-gather": _TORUS_HALF,
    "reduce-scatter": _TORUS_HALF,
    "all-reduce": {
        "dim ring": _line(f"2 * {_ALONG}", _TWICE),
        "breadth first": _line(f"2 * {_AROUND}", "(N - 1) / (k * N)", "$d_i > 2$"),
    },
    "all-to-all": {"rotated relay": _line(_AROUND, "most(d) / 8", "equal even axes, $d > 2$")},
}
_ON_MESH = {
    "broadcast": {"dim chain": _pipeline(_ALONG)},
    "reduce": {"dim chain": _pipeline(_ALONG)},
    "all-gather": _MESH_HALF,
    "reduce-scatter": _MESH_HALF,
    "all-reduce": {
        "dim ring": _line(f"2 * {_ALONG}", _TWICE),
        "rotated dim ring": _line(f"2 * {_ALONG}", "2 * (N - 1) / (k * N)", "equal axes"),
    },
    "all-to-all": {},
}
_DIRECT = {steps: {"direct": _line(str(steps), f"{steps} / N")} for steps in (1, 2)}
_ON_FULL_MESH = {
    "broadcast": _DIRECT[2],
    "reduce": _DIRECT[2],
    "all-gather": _DIRECT[1],
    "reduce-scatter": _DIRECT[1],
    "all-reduce": _DIRECT[2],
    "all-to-all": _DIRECT[1],
}

_WHOLE = {"in network": _line("(P + 1) / 2", "(P + 1) / P")}
_IN_SWITCH = {
    "broadcast": _WHOLE,
    "reduce": _WHOLE,
    "all-gather": {"in network": _line("(P + 1) / 2", "(P * (N - 1) + 1) / (P * N)")},
    "reduce-scatter": {"in network": _line("(P + 1) / 2", "(P * N + 1) / (P * N)")},
    "all-reduce": _WHOLE | {"in network two shot": _line("(P + 3) / 2", "((P + 3) * N + P - 4) / (P * N)", "$P > 2$")},
    "all-to-all": {"in network": _line("(P + 1) / 2", "(P + 1) * (N - 1) / (P * N)")},
}

#: Kind of fabric -> primitive -> algorithm -> closed form. What is missing has none, and is executed.
SHEET: Mapping[str, Mapping[str, Mapping[str, Line]]] = {
    "star": _ON_STAR,
    "inc-star": _IN_SWITCH,
    "torus": _ON_TORUS,
    "mesh": _ON_MESH,
    "full-mesh": _ON_FULL_MESH,
}

#: The fewest latencies and the fewest bytes, each by itself, with one port per rank and on a torus with d_i > 2.
BOUNDS: Mapping[str, Mapping[str, Line]] = {
    "star": {
        "broadcast": _line("lg(N)", "1"),
        "reduce": _line("lg(N)", "1"),
        "all-gather": _line("lg(N)", _AWAY),
        "reduce-scatter": _line("lg(N)", _AWAY),
        "all-reduce": _line("lg(N)", _TWICE),
        "all-to-all": _line("lg(N)", _AWAY),
    },
    "torus": {
        "broadcast": _line(_AROUND, "1 / (2 * k)"),
        "reduce": _line(_AROUND, "1 / (2 * k)"),
        "all-gather": _line(_AROUND, "(N - 1) / (2 * k * N)"),
        "reduce-scatter": _line(_AROUND, "(N - 1) / (2 * k * N)"),
        "all-reduce": _line(_AROUND, "(N - 1) / (k * N)"),
        "all-to-all": _line(_AROUND, "most(d) / 8", "equal even axes, $d > 2$"),
    },
}

#: The size at which two costs are equal, in units of alpha BW.
CROSSOVER = Formula("(a2 - a) / (b - b2)")
#: The square of the best real number of segments of a pipeline of L steps, for m = M / (alpha BW).
BEST_SEGMENTS_SQUARED = Formula("(L - 1) * m")
#: What algorithm bandwidth is multiplied by to give bus bandwidth.
BUS_FACTORS: Mapping[str, Formula] = {
    "broadcast": Formula("1"),
    "reduce": Formula("1"),
    "all-gather": Formula("(N - 1) / N"),
    "reduce-scatter": Formula("(N - 1) / N"),
    "all-to-all": Formula("(N - 1) / N"),
    "all-reduce": Formula("2 * (N - 1) / N"),
}

_ANCHORS = {
    "star": "star:512",
    "inc-star": "inc-star:512",
    "torus": "torus:8x8x8",
    "mesh": "mesh:8x8x8",
    "full-mesh": "full-mesh:512",
}


def formula(kind: str, way: Entry) -> Line | None:
    """The closed form of a way, None where it has none.

    >>> formula("star", ladder.entries("all-to-all", "star:8")[0]).n_beta.text
    '(N - 1) / N'
    """
    return SHEET[kind][way.algorithm.primitive].get(way.algorithm.label)


# -- the page ------------------------------------------------------------------------------------


def closed_forms(kind: str) -> str:
    """The algorithms on a kind of fabric as a Markdown table, with executed times at the anchor.

    Args:
        kind: a key of `SHEET`.

    >>> print(closed_forms("full-mesh").splitlines()[-1])
    | all-to-all | direct | $1$ | $\\frac{1}{N}$ | any | 535\u00a0ns |
    """
    spec = _ANCHORS[kind]
    lines = [
        rf"| primitive | algorithm | latencies $n_\alpha$ | bytes $n_\beta$ | for | {fabric_name(spec)} |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    backwards = [("broadcast", "reduce"), ("all-gather", "reduce-scatter"), ("all-reduce",), ("all-to-all",)]
    # a switch adds on the way up and replicates on the way down: the one is not the other backwards
    for primitives in [(name,) for name in ladder.PRIMITIVES] if kind == "inc-star" else backwards:
        label = ", ".join(primitives)
        for way in _in_order(primitives[0], spec):
            lines.append(_row(label, kind, way))
            label = ""
    return "\n".join(lines)


def _at_anchor(way: Entry) -> Rung:
    return way.priced(message=ladder.ANCHOR_MESSAGE, alpha=ladder.ANCHOR_ALPHA, bandwidth=ladder.ANCHOR_BANDWIDTH)


def _in_order(primitive: str, spec: str) -> list[Entry]:
    found = ladder.entries(primitive, spec, trusting=True)
    if spec.startswith("inc-"):  # what only passes through the switch stands on the star's table
        found = tuple(way for way in found if way.algorithm.takes == "topology")
    return sorted(found, key=lambda way: (_at_anchor(way).seconds, way.algorithm.label))


_OTHER_WAY = {"recursive doubling": "recursive doubling, halving"}


def _row(label: str, kind: str, way: Entry) -> str:
    rung, line = _at_anchor(way), formula(kind, way)
    time = units.seconds(rung.seconds, 3).replace(" ", "\u00a0")
    if rung.segments > 1:
        time += f" $P={rung.segments}$"
    name = (
        _OTHER_WAY.get(way.algorithm.label, way.algorithm.label)
        if way.algorithm.primitive == "all-gather"
        else way.algorithm.label
    )
    if line is None:
        cost = rung.cost
        shown = (f"({cost.n_alpha})", f"({float(cost.n_beta):.4g})", "no closed form")
    else:
        shown = (f"${line.n_alpha.tex}$", f"${line.n_beta.tex}$", line.holds)
    return f"| {label} | {name} | {' | '.join(shown)} | {time} |".replace("|  |", "| |")


def bounds_table() -> str:
    r"""The lower bounds as a Markdown table.

    >>> print(bounds_table().splitlines()[2])
    | broadcast | $\lceil\log_2 N\rceil$ | $1$ | $\sum_i \lfloor d_i/2\rfloor$ | $\frac{1}{2k}$ |
    """
    lines = [
        r"| primitive | one port: $n_\alpha$ | one port: $n_\beta$ | torus: $n_\alpha$ | torus: $n_\beta$ |",
        "| --- | --- | --- | --- | --- |",
    ]
    for primitive in ladder.PRIMITIVES:
        cells = [f"${part.tex}$" for kind in BOUNDS.values() for part in _parts(kind[primitive])]
        lines.append(f"| {primitive} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _parts(line: Line) -> tuple[Formula, Formula]:
    return line.n_alpha, line.n_beta


def handy() -> str:
    r"""Three formulas that one looks up, as a Markdown list.

    >>> print(handy().splitlines()[-1])  # doctest: +ELLIPSIS
    - Bus bandwidth is $M/t$ times $1$ for broadcast and reduce, ...
    """
    names: dict[str, list[str]] = {}
    for primitive, factor in BUS_FACTORS.items():
        names.setdefault(factor.tex, []).append(primitive)
    factors = [f"${factor}$ for {_joined(primitives)}" for factor, primitives in names.items()]
    return "\n".join(
        [
            rf"- Two schedules without segments cost the same at $M^* = {CROSSOVER.tex}\,\alpha\,\mathrm{{BW}}$ "
            "([the first rungs](../notebooks/09-ladder-512)).",
            rf"- A pipeline of $L$ steps is fastest with about $P^* = \sqrt{{{BEST_SEGMENTS_SQUARED.tex}}}$ segments, "
            r"where $m = M/(\alpha\,\mathrm{BW})$ ([pipelining](../notebooks/05-pipelining)).",
            f"- Bus bandwidth is $M/t$ times {_joined(factors)} ([bus bandwidth](../notebooks/10-bus-bandwidth)).",
        ]
    )


def _joined(parts: Sequence[str]) -> str:
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]
