"""Closed forms: formulas that stand beside an algorithm, and are its cost wherever their condition holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial, update_wrapper
from inspect import signature
from typing import Any

from colllib.cost import Cost
from colllib.formula import Formula, Number, together
from colllib.primitives import check_counts, check_ranks, is_power_of_two, is_whole
from colllib.topology import Lattice, Topology
from colllib.topology.star import one_switch
from colllib.topology.twisted import Wrapped

Argument = int | Lattice | Wrapped | Topology


@dataclass(frozen=True)
class Condition:
    """When a closed form holds."""

    text: str  # what a page says, in Markdown; "any" also where the kind of topology is the whole condition
    test: Callable[[Any], bool]  # whether it holds for what an algorithm is built from
    segments: int = 1  # the fewest with which it holds

    def __call__(self, argument: Argument, segments: int = 1) -> bool:
        """Whether it holds there.

        >>> POWER_OF_TWO(8), POWER_OF_TWO(6), LONG_RINGS(Lattice((3, 1, 5))), LONG_RINGS(Lattice((3, 2)))
        (True, False, True, False)
        """
        return segments >= self.segments and self.test(argument)


def _long_rings(lattice: Lattice) -> bool:
    """An axis of size 1 is none, and both ways round one of size 2 are the same link."""
    return lattice.wraps and 2 not in lattice.dims


def _sizes(lattice: Lattice) -> list[int]:
    return [size for size in lattice.dims if size > 1]


def _equal(lattice: Lattice) -> bool:
    return len(set(_sizes(lattice))) == 1


def _even_long_rings(lattice: Lattice) -> bool:
    return _long_rings(lattice) and all(size % 2 == 0 for size in _sizes(lattice))


def _long_powers(lattice: Lattice, count: int) -> bool:
    equal = _long_rings(lattice) and _equal(lattice) and len(_sizes(lattice)) == count
    return equal and all(is_power_of_two(size) for size in lattice.dims)


def _one_switch(topology: Topology) -> bool:
    """Ports of BW, and half of alpha on the way up and on the way down."""
    return one_switch(topology) == (Fraction(1, 2), Fraction(1, 2)) and topology.bandwidth[0] == 1


ANY = Condition("any", lambda _: True)
POWER_OF_TWO = Condition("$N = 2^m$", is_power_of_two)
SEGMENTED_POWER_OF_TWO = Condition("$N = 2^m > 2,$ $P > 1$", lambda n: n > 2 and is_power_of_two(n), segments=2)
RINGS = Condition("any", lambda lattice: lattice.wraps)
LONG_TORI = Condition("$d_i > 2$", lambda topology: topology.lattice is not None and _long_rings(topology.lattice))
LINES = Condition("any", lambda lattice: not lattice.wraps)
LONG_RINGS = Condition("$d_i > 2$", _long_rings)
CROSSED_LONG_RINGS = Condition("$d_i > 2,$ $k > 1$", lambda axes: _long_rings(axes) and len(_sizes(axes)) > 1)
EQUAL_LONG_RINGS = Condition("equal axes, $d > 2$", lambda axes: _long_rings(axes) and _equal(axes))
EVEN_LONG_RINGS = Condition("even axes, $d_i > 2$", _even_long_rings)
EQUAL_EVEN_LONG_RINGS = Condition("equal even axes, $d > 2$", lambda axes: _even_long_rings(axes) and _equal(axes))
LONG_POWER_RING, LONG_POWER_SQUARE, LONG_POWER_CUBE = (
    Condition(f"{axes}, $d = 2^m > 2$", partial(_long_powers, count=count))
    for count, axes in enumerate(("one axis", "two equal axes", "three equal axes"), 1)
)
# a ring of two is a line
EQUAL_LINES = Condition("equal axes", lambda axes: _equal(axes) and (not axes.wraps or 2 in axes.dims))
ONE_SWITCH = Condition("any", _one_switch)
ONE_SWITCH_SEGMENTED = Condition("$P > 2$", _one_switch, segments=3)


@dataclass(frozen=True)
class ClosedForm:
    """The two parts of a cost as formulas in N ranks, P segments and the k axes longer than 1."""

    n_alpha: Formula
    n_beta: Formula
    holds: Condition = ANY

    @classmethod
    def of(cls, n_alpha: str, n_beta: str, holds: Condition = ANY) -> ClosedForm:
        """A closed form from the texts of its formulas."""
        return cls(Formula(n_alpha), Formula(n_beta), holds)

    def cost(self, argument: Argument, segments: int = 1) -> Cost:
        """The two values, wherever they hold or not.

        >>> ClosedForm.of("P - 1 + total(d // 2)", "1 / k").cost(Lattice((4, 4)), segments=3)
        Cost(n_alpha=6, n_beta=1/2)
        """
        lattice = argument if isinstance(argument, Lattice) else getattr(argument, "lattice", None)
        axes = [] if lattice is None else _sizes(lattice)
        ranks = argument.ranks if hasattr(argument, "ranks") else argument
        return Cost(*self._parts(int(ranks), segments, len(axes), axes))

    @cached_property
    def _parts(self) -> Callable[..., tuple[Number, ...]]:
        return together(("N", "P", "k", "axes"), self.n_alpha, self.n_beta)


class CostFunction:
    """The cost of an algorithm: by the first of its closed forms that holds, elsewhere by a function that counts it.

    It is called with what the algorithm is built from, with segments if it takes them, and with the function's other
    options, of which a closed form has none. One rank has nothing to send, and no cost.

    Args:
        options: the names of what it takes behind the argument, in order.
        counts: the function; None where no more is known than the forms.
    """

    def __init__(
        self, forms: tuple[ClosedForm, ...], options: Iterable[str], counts: Callable[..., Cost] | None = None
    ) -> None:
        self.forms, self.options, self.counts = forms, dict.fromkeys(options), counts
        if counts is not None:
            update_wrapper(self, counts)

    def __call__(self, argument: Any, *more: Any, **options: Any) -> Cost:
        argument = int(argument) if is_whole(argument) else argument  # of numpy's, whose sums could overflow
        ranks = getattr(argument, "ranks", argument)
        if ranks <= 1:
            check_ranks(ranks)
            return Cost(0, 0)
        options |= zip(self.options, more, strict=False)
        if len(more) > len(self.options) or not options.keys() <= self.options.keys():
            raise TypeError(f"a cost takes {', '.join(('an argument', *self.options))}, and not {more} and {options}")
        segments = options.get("segments", 1)
        check_counts(segments=segments)
        plain = len(options) == ("segments" in options)
        form = self.form(argument, segments) if plain else None
        if form is not None:
            return form.cost(argument, segments)
        if self.counts is None:
            known = " or ".join(form.holds.text for form in self.forms).replace("$", "")
            raise ValueError(
                f"{argument}: {f'the closed form is for {known}' if known else 'no closed form'}: execute it"
            )
        return self.counts(argument, **options)

    def form(self, argument: Argument, segments: int = 1) -> ClosedForm | None:
        """The closed form that holds, None if none does."""
        return next((form for form in self.forms if form.holds(argument, segments)), None)

    def covers(self, argument: Argument) -> bool:
        """Whether the cost can be had without executing the schedule."""
        known = self.counts is not None or getattr(argument, "ranks", argument) == 1
        return known or self.form(argument) is not None

    def configured(self, **options: Any) -> CostFunction:
        """The same with some of the function's options chosen: those that it does not have leave the cost as it is."""
        known = {name: value for name, value in options.items() if name in self.options}
        return CostFunction((), self.options, partial(self, **known)) if known else self

    def __or__(self, other: CostFunction) -> CostFunction:
        """The formulas of both, the first where several hold."""
        return CostFunction(self.forms + other.forms, self.options)


def closed_form(n_alpha: str, n_beta: str, holds: Condition = ANY) -> Callable[[Callable[..., Cost]], CostFunction]:
    """Make a function the cost of an algorithm, given by formulas where they hold; several can stand above each other.

    Elsewhere the body of the function counts it; `n_alpha` and `n_beta` are texts of a `Formula`.

    >>> @closed_form("lg(N)", "lg(N)", POWER_OF_TWO)
    ... def folded_cost(ranks: int) -> Cost:
    ...     return folded_cost(1 << (ranks.bit_length() - 1)) + Cost(2, 2)
    >>> folded_cost(8), folded_cost(9), folded_cost.form(9) is None
    (Cost(n_alpha=3, n_beta=3), Cost(n_alpha=5, n_beta=5), True)
    """
    form = ClosedForm.of(n_alpha, n_beta, holds)

    def decorate(function: Callable[..., Cost]) -> CostFunction:
        if isinstance(function, CostFunction):
            return CostFunction((form, *function.forms), function.options, function.counts)
        return CostFunction((form,), list(signature(function).parameters)[1:], function)

    return decorate


def formulas(n_alpha: str, n_beta: str, holds: Condition = ANY) -> CostFunction:
    """The cost of an algorithm of which no more is known than formulas, with segments if they have P.

    Arguments as for `closed_form`; what holds under different conditions is joined by |.

    >>> formulas("N + P - 2", "(N + P - 2) / P")(4, segments=4)
    Cost(n_alpha=6, n_beta=3/2)
    """
    return CostFunction((ClosedForm.of(n_alpha, n_beta, holds),), ("segments",) if "P" in n_alpha else ())


#: The cost of an algorithm that must be executed.
no_closed_form = CostFunction((), ("segments",))
