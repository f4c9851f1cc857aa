"""Findings: what the list of claims says beside what execution gives, the verdict that follows, and its conditions."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import cache
from importlib import import_module, resources
from operator import attrgetter
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, NamedTuple

from colllib.claims.runs import Used, collected
from colllib.claims.value import (
    ORDERS,
    ROUNDED,
    Case,
    Limit,
    Rows,
    Said,
    Statement,
    Table,
    Words,
    evaluated,
    listed,
    parsed,
    same,
)
from colllib.topology import Topology


class Verdict(StrEnum):
    """What the ledger says to a claim: what execution decides, and what reading does."""

    REPRODUCED = "reproduced"
    ROUNDED = "reproduced to its rounding"
    REFUTED = "refuted"
    INCONSISTENT = "inconsistent"
    DEFINITION = "definition"
    BORNE_OUT = "fact, borne out"
    NOT_BORNE_OUT = "fact, refuted"
    NOT_CHECKABLE = "not checkable"
    OPEN = "open"


#: What the errata list, and what holds.
FAILS = (Verdict.REFUTED, Verdict.INCONSISTENT, Verdict.NOT_BORNE_OUT)
HOLDS = (Verdict.REPRODUCED, Verdict.ROUNDED, Verdict.BORNE_OUT)


@dataclass(frozen=True)
class Basis:
    """Under which conditions a verdict holds.

    Attributes:
        how: "executed", "by symmetry", "closed form" (which tests hold to executions), "counted" on links alone,
            "computed" from numbers that the source gives, or "read".
        fabric: the topologies.
        ports: what a rank owns there.
        clock: "lock-step", "event clock", or "none".
        sense: "value" or "limit".
    """

    how: str = "none"
    fabric: str = "none"
    ports: str = "none"
    clock: str = "none"
    sense: str = "none"

    def __str__(self) -> str:
        on = [f"on {self.fabric}", self.ports] if self.fabric != "none" else []
        return ", ".join([self.how, *on, *(part for part in (self.clock, self.sense) if part != "none")])


@dataclass(frozen=True)
class Finding:
    """An answer to a claim.

    Attributes:
        verdict: computed by `judged` where a comparison decides.
        executed: what execution gives, or what was read, as short text.
        because: a sentence on what fails or cannot be decided; on what holds, what goes with it where anything does.
        basis: the conditions.
        reference: a key of the bibliography, where a primary source settles the matter.
        cause: why it does not hold, a key of `causes`; empty for what holds.
        runs: what was run and where, in words.
    """

    verdict: Verdict
    executed: str = ""
    because: str = ""
    basis: Basis = Basis()
    reference: str = ""
    cause: str = ""
    runs: str = ""


# -- the answers -----------------------------------------------------------------------------------

FACT = "fact"


@cache
def answers() -> dict[str, Rows]:
    """Id of a claim -> what gives the quantities of its value: all that the tables of this package's modules have.

    Raises:
        ValueError: if a claim has two answers.
    """
    found: dict[str, Rows] = {}
    where: dict[str, str] = {}
    for module in iter_modules([str(Path(__file__).parent)]):
        rows: Table = getattr(import_module(f"colllib.claims.{module.name}"), "TABLE", {})
        for name, cases in ((name, cases) for ids, cases in rows.items() for name in ids.split()):
            if name in found:
                raise ValueError(f"claim {name} is answered twice, in {where[name]} and {module.name} (rows: runs.csv)")
            found[name], where[name] = cases, module.name
    return found


@cache
def cases_of(name: str) -> tuple[list[Case], Used]:
    """All cases that were tried for a claim, and what working them out used."""
    if name in answers():
        return _gathered(answers()[name])
    texts = sentence(name).found.items()
    found = {quantity: Words(said) if isinstance(said, str) else said for quantity, said in texts}
    return [found] if found else [], Used()


@cache
def _gathered(cases: Rows) -> tuple[list[Case], Used]:
    with collected() as used:
        return list(cases()), used


# -- sentences -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cause:
    """A root that several claims share which do not hold.

    Attributes:
        key: its name.
        title: what it is about.
        text: a paragraph on it.
        ids: of the claims.
        reference: a key of the bibliography, where a primary source settles the matter.
        see: the notebook, or the section of one, that explains it.
    """

    key: str
    title: str
    text: str
    ids: tuple[str, ...]
    reference: str = ""
    see: str = ""


@dataclass(frozen=True)
class Sentence:
    """What is said of one claim, with the names of quantities in braces.

    Attributes:
        because: if it does not hold.
        note: if it does.
        reference: a key of the bibliography.
        found: what a document says of the quantities of its value.
    """

    because: str = ""
    note: str = ""
    reference: str = ""
    found: Case = field(default_factory=dict)


@cache
def _because() -> dict[str, Any]:
    return tomllib.loads((resources.files(__package__) / "because.toml").read_text(encoding="utf-8"))


@cache
def causes() -> dict[str, Cause]:
    """Every shared root by its key.

    >>> causes()["switch-trip"].title
    'One trip through a switch, counted once and twice'
    """
    rows = _because()["causes"].items()
    return {
        key: Cause(key, ids=tuple(row["ids"].split()), **{k: row[k] for k in row if k != "ids"}) for key, row in rows
    }


@cache
def sentence(name: str) -> Sentence:
    """What goes with a claim."""
    return Sentence(**_because()["claims"].get(name, {}))


# -- the verdict -----------------------------------------------------------------------------------


def finding(name: str, value: str) -> Finding:
    """The answer to a claim, from the cell of its value and from what its answer gives.

    >>> finding("E-01-062", "n_alpha = 2 * (N - 1) where N = 4").verdict.value
    'reproduced'
    >>> finding("E-01-062", "n_alpha = 2 * N where N = 4").executed
    'n_alpha is 6, not 8, at N = 4'
    """
    answer, told = listed(name).answer, sentence(name)
    if not answer:
        return Finding(Verdict.OPEN)
    if answer in (Verdict.DEFINITION, Verdict.NOT_CHECKABLE):
        return Finding(Verdict(answer), "", told.note, Basis("read"), told.reference)
    cases, used = cases_of(name)
    with collected() as later:  # quantities may be worked out when a statement asks for them
        later.update(used)
        verdict, executed, case = judged(value, cases)
    if answer == FACT:
        verdict = {Verdict.REPRODUCED: Verdict.BORNE_OUT, Verdict.REFUTED: Verdict.NOT_BORNE_OUT}.get(verdict, verdict)
    basis = Basis("read") if answer == FACT else _basis(later, value, bool(cases))
    ran = _ran(name, later)
    if verdict not in FAILS:
        return Finding(verdict, executed, told.note.format_map(case), basis, told.reference, runs=ran)
    cause = next((one for one in causes().values() if name in one.ids), Cause("", "", "", ()))
    text, reference = told.because.format_map(case) or cause.text, told.reference or cause.reference
    return Finding(verdict, executed, text, basis, reference, cause.key, ran)


class Evidence(NamedTuple):
    """One comparison: of which case and quantity, what was executed and claimed, and whether they agree."""

    case: str
    quantity: str
    executed: str
    claimed: str
    holds: str


def evidence(name: str, value: str) -> list[Evidence]:
    """Every comparison behind the verdict on a claim; of several places, the claim's own and then the others.

    >>> evidence("E-01-062", "n_alpha = 6 where N = 4")
    [Evidence(case='N = 4', quantity='n_alpha', executed='6', claimed='6', holds='yes')]
    """
    cases, found = cases_of(name)[0], []
    for said in parsed(value) if cases else ():  # the words of a definition may look like a comparison
        for case in said.about(cases):
            for one in said.statements:
                executed, claimed = (_text(side) for side in one.sides(case))
                symbol = "" if one.operator in ("=", "->") else f"{one.operator} "
                place = ", ".join(filter(None, (str(case.get("at", "")), said.place)))
                found.append(Evidence(place, one.left, executed, symbol + claimed, _text(one.holds(case))))
    return found


def judged(value: str, cases: Sequence[Case]) -> tuple[Verdict, str, Case]:
    """The verdict on a value, what to show, and the case that is shown.

    Two places that say different things are inconsistent, whatever was executed; else all statements must hold in
    all cases that they are about.

    >>> judged("t ~ 44.56", [{"t": 44.486}])[:2]
    (<Verdict.REFUTED: 'refuted'>, 'time is 44.486, not 44.56')
    >>> judged("trip = 2 | part 04: trip = 1", [{"trip": 1}])[:2]
    (<Verdict.INCONSISTENT: 'inconsistent'>, 'trip is 1 (here trip is 2; part 04: trip is 1)')
    """
    places = parsed(value)
    if not places:
        raise ValueError(f"the value {value!r} compares nothing, and its claim is to be decided by a comparison")
    first = places[0]
    about = first.about(cases)
    if len(places) > 1 and _differ(places, about):
        described = "; ".join(
            f"{said.place}: {_told(said)}" if said.place else f"here {_told(said)}" for said in places
        )
        shown = _shown([one for said in places for one in said.statements], about[-1]) if about else ""
        return Verdict.INCONSISTENT, f"{shown} ({described})" if shown else described, about[-1] if about else {}
    if not about:  # two places that agree, and nothing to compare them with
        return Verdict.NOT_CHECKABLE, "", {}
    wrong = [(case, one) for case in about for one in first.statements if not one.holds(case)]
    if wrong:
        case, failed = wrong[-1]
        return Verdict.REFUTED, f"{_beside(failed, case)}{_at(case, ',')}", case
    exact = all(one.exact(case) for case in about for one in first.statements)
    others = f", and in {len(about) - 1} other case{'s' * (len(about) > 2)}" if len(about) > 1 else ""
    shown = f"{_shown(first.statements, about[-1], beside=True)}{_at(about[-1])}{others}"
    return Verdict.REPRODUCED if exact else Verdict.ROUNDED, shown, about[-1]


def _differ(places: Sequence[Said], cases: Sequence[Case]) -> bool:
    """Whether two places give one quantity two values, or one order two directions."""
    for case in cases or [{}]:
        claimed: dict[str, tuple[str, Any]] = {}
        for one in (one for said in places for one in said.statements):
            symbol = "=" if one.operator in (*ROUNDED, "->") else one.operator
            first, right = claimed.setdefault(one.left, (symbol, evaluated(one.right, case)))
            if first != symbol or not same(right, evaluated(one.right, case)):
                return True
    return False


def _shown(statements: Iterable[Statement], case: Case, beside: bool = False) -> str:
    """The left sides, with what they are; beside what they are less or more than."""
    found: dict[str, str] = {}
    for one in statements:
        found.setdefault(one.left, _quantity(one, case))
        found[one.left] += f", {_claimed(one, case)}" if beside and one.operator in ORDERS else ""
    return ", ".join(found.values())


#: How an operator is read.
_READ = {"<": "below", "<=": "at most", ">": "above", ">=": "at least", "!=": "other than", "about": "about"}


def _beside(failed: Statement, case: Case) -> str:
    """A quantity that fails, with its claimed value."""
    quantity = _quantity(failed, case)
    return quantity if failed.right in ("yes", "no") else f"{quantity}, not {_claimed(failed, case)}"


def _claimed(one: Statement, case: Case) -> str:
    """The right side, and the quantity that it is."""
    rounded = one.operator in ROUNDED
    number = rounded and not re.search(r"(?<![\w.])[A-Za-z_]", one.right)
    claimed = one.right if number else _text(one.sides(case)[1])
    named = f" ({_spoken(one.right)})" if claimed != one.right and (rounded or _is_name(one.right)) else ""
    order = f"{_READ[one.operator]} " if one.operator in _READ else ""
    return f"{order}{claimed}{named}"


def _told(said: Said) -> str:
    """What is said in one place, in words."""
    parts = []
    for one in said.statements:
        order = f"{_READ[one.operator]} " if one.operator in _READ else ""
        words = one.right in ("yes", "no") or one.right.startswith("[")
        parts.append(f"{_named(one.left, words, one.operator == '->')} {order}{_spoken(one.right).strip('[]')}")
    return ", ".join(parts)


def _quantity(one: Statement, case: Case) -> str:
    """The left side, with what it is; digits where digits are compared."""
    value, limit = evaluated(one.left, case), isinstance(evaluated(one.left, case), Limit)
    found = value.value if limit else value
    found = float(found) if one.operator in ROUNDED and isinstance(found, Fraction) and found.denominator > 1 else found
    return f"{_named(one.left, isinstance(value, bool | Words), limit)} {_text(found)}"


def _named(name: str, words: bool, limit: bool) -> str:
    """A quantity, and the verb before its value; `limit` is what n_beta tends to, wherever a case has it."""
    if words:
        return f"{_spoken(name)}:"
    return f"{_spoken(name.replace('limit', 'n_beta'))} tends to" if limit else f"{_spoken(name)} is"


def _spoken(name: str) -> str:
    """The name of a quantity in words; symbols such as n_beta, and expressions, are kept.

    >>> _spoken("halving.n_beta"), _spoken("over_ring"), _spoken("ring.t / tree.t")
    ('n_beta of halving', 'over ring', 'ring.t / tree.t')
    """
    owner, _, own = name.rpartition(".")
    if not _is_name(name):
        return name
    own = "time" if own == "t" else own if re.match("[A-Za-z]_", own) else own.replace("_", " ")
    return f"{own} of {owner.replace('_', ' ')}" if owner else own


def _is_name(text: str) -> bool:
    return bool(re.fullmatch(r"[A-Za-z][\w.]*", text))


def _at(case: Case, comma: str = "") -> str:
    return f"{comma} at {case['at']}" if "at" in case else ""


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Words):
        return " ".join(value)
    if isinstance(value, float) or (isinstance(value, Fraction) and value.denominator > 10_000):
        return f"{float(value):.6g}"
    return str(value)


def _basis(used: Used, value: str, any_case: bool) -> Basis:
    limit = any(one.operator == "->" for said in parsed(value) for one in said.statements)
    ways = [way for way in ("executed", "by symmetry", "closed form", "counted") if way in used.ways]
    how = " and ".join(way for way in ways if way != "counted" or ways == ["counted"])
    ports = "; ".join(dict.fromkeys(topology.port_model for topology in used.topologies.values()))
    names = (_families(used.topologies.values()), ports, " and ".join(used.clocks))
    fabric, ports, clock = (name or "none" for name in names)
    return Basis(how or ("computed" if any_case else "read"), fabric, ports, clock, "limit" if limit else "value")


def _ran(name: str, used: Used) -> str:
    """What a claim's row of `runs.csv` says, or else what its answer has executed."""
    ran = (f"{what} on {_families(topologies.values())}" for what, topologies in used.runs.items())
    return getattr(answers().get(name), "words", "") or "; ".join(ran)


def _families(topologies: Iterable[Topology]) -> str:
    """Topologies by kind, from the fewest ranks to the most, and those of as many by name.

    >>> from colllib.topology import star, torus
    >>> _families([star(8), star(64), star(4), torus((4, 4)), torus((16,))])
    'star:4 to star:64, torus:16 to torus:4x4'
    """
    kinds: dict[str, list[Topology]] = {}
    for topology in topologies:
        kinds.setdefault(topology.name.split(":")[0], []).append(topology)
    rows = ([one.name for one in sorted(kind, key=attrgetter("ranks", "name"))] for kind in kinds.values())
    return ", ".join(names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}" for names in rows)
