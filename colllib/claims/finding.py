"""Findings: what is claimed beside what was executed, and the verdict that follows from the two."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum
from fractions import Fraction
from functools import partial

from colllib.cost import Cost
from colllib.execution import execute
from colllib.schedule import Schedule


class Verdict(StrEnum):
    """What execution says to a claim."""

    REPRODUCED = "reproduced"
    ROUNDED = "reproduced to its rounding"
    REFUTED = "refuted"
    INCONSISTENT = "inconsistent"
    NOT_CHECKABLE = "not checkable"
    OPEN = "open"


@dataclass(frozen=True)
class Finding:
    """An answer to a claim.

    Attributes:
        verdict: computed by the constructors below, never chosen.
        executed: what execution gives, as short text; empty where nothing was executed.
        because: one sentence on a refutation, an inconsistency or what cannot be checked; on what is reproduced, the
            convention under which it holds, where it needs one.
        reference: a key of the bibliography, where a primary source settles the matter.
    """

    verdict: Verdict
    executed: str = ""
    because: str = ""
    reference: str = ""

    @classmethod
    def open(cls) -> Finding:
        """No answer yet."""
        return cls(Verdict.OPEN)

    @classmethod
    def not_checkable(cls, because: str) -> Finding:
        """No execution can decide it, and why."""
        return cls(Verdict.NOT_CHECKABLE, because=because)

    def holding(self, where: str, executed: str = "") -> Finding:
        """The same finding with the convention under which it is reproduced, where it is, and a better text.

        >>> Finding.compare(1, 1).holding("With a link per pair.").because
        'With a link per pair.'
        >>> Finding.compare(1, 2, "It is two.").holding("With a link per pair.").because
        'It is two.'
        """
        if self.verdict not in (Verdict.REPRODUCED, Verdict.ROUNDED):
            return self
        return replace(self, because=where, executed=executed or self.executed)

    @classmethod
    def compare(cls, claimed: object, executed: object, because: str = "", reference: str = "") -> Finding:
        """Equal is reproduced, all else refuted. Mappings are compared key by key.

        >>> Finding.compare(Cost(6, Fraction(3, 2)), Cost(6, Fraction(3, 2))).verdict.value
        'reproduced'
        >>> Finding.compare({4: 1, 8: 2}, {4: 1, 8: 3}, "It grows.").executed
        '8: 3 (claimed 2)'
        """
        if claimed == executed:
            return cls(Verdict.REPRODUCED, _last(executed))
        if isinstance(claimed, Mapping) and isinstance(executed, Mapping):
            wrong = [key for key in executed if executed[key] != claimed.get(key)]
            key = wrong[-1]
            text = f"{key}: {_text(executed[key])} (claimed {_text(claimed.get(key))})"
            return cls(Verdict.REFUTED, text, because, reference)
        return cls(Verdict.REFUTED, _text(executed), because, reference)

    @classmethod
    def rounds(cls, printed: Mapping[str, float], because: str = "", reference: str = "") -> Finding:
        """Printed decimals against values: all must round to what is printed, at its digits.

        Args:
            printed: the text that is printed -> the executed value in the same unit.
            because: the sentence if they don't.
            reference: as above.

        >>> Finding.rounds({"44.5": 44.486}).verdict.value, Finding.rounds({"44.56": 44.486}).verdict.value
        ('reproduced to its rounding', 'refuted')
        """
        values = ", ".join(f"{value:.6g}" for value in printed.values())
        for text, value in printed.items():
            if f"{value:.{_digits(text)}f}" != text:
                return cls(Verdict.REFUTED, f"{value:.6g} (printed {text})", because, reference)
        exact = all(Fraction(text) == value for text, value in printed.items())
        return cls(Verdict.REPRODUCED if exact else Verdict.ROUNDED, values)

    @classmethod
    def adds_up(cls, parts: Mapping[str, float], total: str, because: str = "", reference: str = "") -> Finding:
        """Printed parts against values, and a printed total that is rounded from their sum as it is printed.

        >>> Finding.adds_up({"21": 21.0, "35.5": 35.486}, "57").verdict.value
        'reproduced to its rounding'
        >>> Finding.adds_up({"21": 21.0, "35.5": 35.486}, "58", "It is less.").executed
        '56.486 (printed 58)'
        """
        found, value = cls.rounds(parts, because, reference), sum(parts.values())
        shown = sum((Decimal(text) for text in parts), Decimal(0))
        if found.verdict is Verdict.REFUTED or f"{value:.{_digits(total)}f}" == total:
            return found if found.verdict is Verdict.REFUTED else cls.rounds({**parts, total: value})
        if shown.quantize(Decimal(total), ROUND_HALF_UP) != Decimal(total):
            return cls(Verdict.REFUTED, f"{value:.6g} (printed {total})", because, reference)
        rounded = (
            f"The parts round as printed, and {total} is rounded from their sum of {shown}: unrounded, {value:.2f}."
        )
        return cls(Verdict.ROUNDED, f"{value:.6g}", rounded)

    @classmethod
    def statements(cls, said: Mapping[str, object], executed: object, because: str, reference: str = "") -> Finding:
        """Several statements of one source about the same thing: inconsistent unless all are equal.

        >>> Finding.statements({"section 1": 1, "section 2": 2}, 2, "Two values.").verdict.value
        'inconsistent'
        """
        values = list(said.values())
        if all(value == values[0] for value in values):
            return cls.compare(values[0], executed, because, reference)
        told = "; ".join(f"{place} says {_text(value)}" for place, value in said.items())
        return cls(Verdict.INCONSISTENT, f"{_text(executed)} ({told})", because, reference)


def _digits(printed: str) -> int:
    """How many decimals are printed."""
    return max(0, -int(Decimal(printed).as_tuple().exponent))


def _text(value: object) -> str:
    if isinstance(value, Cost):
        return f"n_alpha = {value.n_alpha}, n_beta = {value.n_beta}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_text(item)}" for key, item in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return ", ".join(_text(item) for item in (sorted(value) if isinstance(value, set | frozenset) else value))
    return str(value)


def _last(value: object) -> str:
    if isinstance(value, Mapping) and len(value) > 3:
        key = list(value)[-1]
        return f"{_text(value[key])} at {key}, and at {len(value) - 1} others"
    return _text(value)


#: Id of a claim -> the chapter where a reader meets it, and the function that answers it.
ANSWERS: dict[str, tuple[str, Callable[[], Finding]]] = {}


def answer(chapter: str, *ids: str) -> Callable[[Callable[[], Finding]], Callable[[], Finding]]:
    """Register a function as the answer to one or several claims of a chapter.

    Raises:
        ValueError: if a claim has an answer already.
    """

    def register(function: Callable[[], Finding]) -> Callable[[], Finding]:
        for name in ids:
            if name in ANSWERS:
                raise ValueError(f"claim {name} is answered twice")
            ANSWERS[name] = (chapter, function)
        return function

    return register


def not_checkable(chapter: str, reasons: Mapping[str, str]) -> None:
    """Register claims that no execution can decide, with the reason for each."""
    for name, because in reasons.items():
        answer(chapter, name)(partial(Finding.not_checkable, because))


def counted(
    builds: Mapping[str, Callable[[int], Schedule]],
    claimed: Callable[[int], Cost],
    sizes: tuple[int, ...],
    because: str = "",
) -> Finding:
    """The claimed cost against the executed one on a star, for every schedule and N."""
    executed = {f"{name}, N = {n}": execute(build(n)).cost for name, build in builds.items() for n in sizes}
    said = {f"{name}, N = {n}": claimed(n) for name in builds for n in sizes}
    return Finding.compare(said, executed, because)
