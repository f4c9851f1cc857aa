"""Findings: what the list of claims says beside what execution gives, the verdict that follows, and its conditions."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import cache, cached_property
from importlib import import_module, resources
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, NamedTuple

from colllib.claims.runs import Used, collected
from colllib.claims.value import (
    ORDERS,
    ROUNDED,
    Case,
    Limit,
    Passage,
    Rows,
    Statement,
    Table,
    evaluated,
    parsed,
    same,
    stored,
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
class Finding:
    """An answer to a claim, and the conditions under which it holds.

    Attributes:
        verdict: computed by `judged` where a comparison decides.
        executed: what execution gives, or what was read, as short text.
        because: a sentence on what fails or cannot be decided; on what holds, what goes with it where anything does.
        reference: a key of the bibliography, where a primary source settles the matter.
        cause: why it does not hold, a key of `causes`; empty for what holds.
        runs: what was run and where, in words.
        how: "executed", "by symmetry", "closed form" (which tests hold to executions), "counted" on links alone,
            "computed" from numbers that the source gives, or "read".
        fabric: the topologies.
        ports: what a rank owns there.
        clock: "lock-step", "event clock", or "none".
        sense: "value" or "limit".
    """

    verdict: Verdict
    executed: str = ""
    because: str = ""
    reference: str = ""
    cause: str = ""
    runs: str = ""
    how: str = "none"
    fabric: str = "none"
    ports: str = "none"
    clock: str = "none"
    sense: str = "none"

    @property
    def basis(self) -> str:
        """The conditions in a line."""
        on = [f"on {self.fabric}", self.ports] if self.fabric != "none" else []
        return ", ".join([self.how, *on, *(part for part in (self.clock, self.sense) if part != "none")])


# -- the answers -----------------------------------------------------------------------------------

FACT = "fact"
ANSWERS = ("executed", "computed", FACT, str(Verdict.DEFINITION), str(Verdict.NOT_CHECKABLE))


@cache
def answers() -> dict[str, Rows]:
    """Id of a claim -> what gives the quantities of its value: all that the tables of this package's modules have.

    Raises:
        ValueError: if a claim has two answers.
    """
    by_claim: dict[str, Rows] = {}
    for module in iter_modules([str(Path(__file__).parent)]):
        table: Table = getattr(import_module(f"colllib.claims.{module.name}"), "TABLE", {})
        for ids, cases in table.items():
            for name in ids.split():
                if name in by_claim:
                    raise ValueError(
                        f"claim {name} is answered twice, the second time in {module.name} (rows: runs.csv)"
                    )
                by_claim[name] = cases
    return by_claim


def cases_of(name: str) -> tuple[list[Case], Used]:
    """All cases that were tried for a claim, and what working them out used."""
    if name in answers():
        return _gathered(answers()[name])
    read = sentence(name).found
    return [read] if read else [], {}


@cache
def _gathered(cases: Rows) -> tuple[list[Case], Used]:
    with collected() as used:
        return list(cases()), used


# -- sentences -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cause:
    """A root that several claims share which do not hold; `because.toml` says what its fields are."""

    key: str
    title: str
    text: str
    ids: tuple[str, ...]
    reference: str = ""
    see: str = ""


@dataclass(frozen=True)
class Sentence:
    """What is said of one claim: `because` if it does not hold, `note` if it does; `because.toml` has the rest."""

    because: str = ""
    note: str = ""
    reference: str = ""
    found: Case = field(default_factory=dict)


@cache
def _because() -> dict[str, Any]:
    return tomllib.loads((resources.files(__package__) / "because.toml").read_text(encoding="utf-8"))


@cache
def causes() -> dict[str, Cause]:
    """Every shared root by its key."""
    rows = _because()["causes"].items()
    return {key: Cause(**row | {"key": key, "ids": tuple(row["ids"].split())}) for key, row in rows}


@cache
def sentence(name: str) -> Sentence:
    """What goes with a claim."""
    return Sentence(**_because()["claims"].get(name, {}))


@dataclass(frozen=True)
class Claim:
    """What a source says, a row of `claims.csv`, with its answer, which is worked out when it is asked for.

    Attributes:
        source: the source's number, a key of `SOURCES`.
        where: the place in the source.
        kind: definition, formula, number, count, trace or table-cell-group.
        statement: what is said, in our words.
        inputs: for which N, sizes or ports.
        claimed: the value as the source prints it.
        value: the same as statements about named quantities (`colllib.claims.value`).
        chapter: where a reader meets the topic; empty while the claim is open.
        answer: what decides it: "executed", "computed" from what the source prints, "fact" for what was read in a
            document, the verdict where nothing is compared, or nothing while the claim is open.
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

    def __post_init__(self) -> None:
        if self.answer and self.answer not in ANSWERS:
            raise ValueError(f"claim {self.id}: answer {self.answer!r}: must be {', '.join(ANSWERS)}, or empty")

    @cached_property
    def finding(self) -> Finding:
        """What execution says."""
        return finding(self.id, self.value)

    @property
    def verdict(self) -> Verdict:
        """The computed verdict."""
        return self.finding.verdict

    def row(self) -> dict[str, str]:
        """All that is known of it, flat: the claim, its answer and the conditions of the answer.

        >>> row = entry("E-01-013").row()
        >>> row["verdict"], row["fabric"], row["ports"], row["clock"], row["sense"]
        ('reproduced', 'star:2 to star:64', 'one full-duplex port per rank', 'lock-step', 'value')
        """
        return {**asdict(self), **asdict(self.finding), "verdict": str(self.verdict)}


@cache
def _listed() -> dict[str, Claim]:
    return {row["id"]: Claim(**row) for row in stored("claims.csv")}


def ledger() -> tuple[Claim, ...]:
    """Every claim, in the order of the sources; its verdict is computed as it is asked for."""
    return tuple(_listed().values())


def entry(name: str) -> Claim:
    """One claim; the verdict on no other is worked out.

    Raises:
        ValueError: for an unknown id.
    """
    if name.upper() not in _listed():
        raise ValueError(
            f"unknown claim {name!r}: ids are such as E-02-083, R-05, T-14 or M-41; the book's ledger finds words"
        )
    return _listed()[name.upper()]


# -- the verdict -----------------------------------------------------------------------------------


def finding(name: str, value: str) -> Finding:
    """The answer to a claim, from the cell of its value and from what its answer gives.

    >>> finding("E-01-062", "n_alpha = 2 * (N - 1) where N = 4").verdict.value
    'reproduced'
    >>> finding("E-01-062", "n_alpha = 2 * N where N = 4").executed
    'n_alpha is 6, not 8, at N = 4'
    """
    answer = entry(name).answer
    remark = sentence(name)
    if not answer:
        return Finding(Verdict.OPEN)
    if answer in (Verdict.DEFINITION, Verdict.NOT_CHECKABLE):
        return Finding(Verdict(answer), "", remark.note, remark.reference, how="read")
    try:
        cases, used = cases_of(name)
        with collected() as later:  # quantities may be worked out when a statement asks for them
            later.update(used)
            verdict, executed, case = judged(value, cases)
    except (ArithmeticError, AttributeError, KeyError, SyntaxError, TypeError, ValueError) as error:  # of a new row
        raise ValueError(f"claim {name}: {type(error).__name__}: {error}") from error
    if answer == FACT:
        verdict = {Verdict.REPRODUCED: Verdict.BORNE_OUT, Verdict.REFUTED: Verdict.NOT_BORNE_OUT}.get(verdict, verdict)
    conditions = {"how": "read"} if answer == FACT else _conditions(later, value, bool(cases))
    conditions["runs"] = _ran(name, later)
    if verdict not in FAILS:
        return Finding(verdict, executed, remark.note.format_map(case), remark.reference, **conditions)
    cause = next((one for one in causes().values() if name in one.ids), Cause("", "", "", ()))
    text = remark.because.format_map(case) or cause.text
    return Finding(verdict, executed, text, remark.reference or cause.reference, cause.key, **conditions)


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
    cases, _ = cases_of(name)
    rows = []
    for passage in parsed(value) if cases else ():  # the words of a definition may look like a comparison
        for case in passage.about(cases):
            for one in passage.statements:
                executed, claimed = (_text(side) for side in one.sides(case))
                symbol = "" if one.operator in ("=", "->") else f"{one.operator} "
                place = ", ".join(filter(None, (str(case.get("at", "")), passage.place)))
                rows.append(Evidence(place, one.left, executed, symbol + claimed, _text(one.holds(case))))
    return rows


def judged(value: str, cases: Sequence[Case]) -> tuple[Verdict, str, Case]:
    """The verdict on a value, what to show, and the case that is shown.

    Passages that give a quantity two values, or compare it in two ways, are inconsistent, whatever was executed; else
    all statements must hold in all cases that they are about.

    >>> judged("t ~ 44.56", [{"t": 44.486}])[:2]
    (<Verdict.REFUTED: 'refuted'>, 'time is 44.486, not 44.56')
    >>> judged("trip = 2 | part 04: trip = 1", [{"trip": 1}])[:2]
    (<Verdict.INCONSISTENT: 'inconsistent'>, 'trip is 1 (here trip is 2; part 04: trip is 1)')
    """
    passages = parsed(value)
    if not passages:
        raise ValueError(f"the value {value!r} compares nothing, and its claim is to be decided by a comparison")
    first = passages[0]
    about = first.about(cases)
    if len(passages) > 1 and _differ(passages, about):
        described = "; ".join((f"{one.place}: " if one.place else "here ") + _in_words(one) for one in passages)
        if not about:
            return Verdict.INCONSISTENT, described, {}
        shown = _shown([one for passage in passages for one in passage.statements], about[-1])
        return Verdict.INCONSISTENT, f"{shown} ({described})", about[-1]
    if not about:  # two passages that agree, and nothing to compare them with
        return Verdict.NOT_CHECKABLE, "", {}
    wrong = [(c, one) for part in passages for c in part.about(cases) for one in part.statements if not one.holds(c)]
    if wrong:
        case, failed = wrong[-1]
        beside = "" if failed.right in ("yes", "no") else f", not {_claimed(failed, case)}"
        at = f", at {case['at']}" if "at" in case else ""
        return Verdict.REFUTED, f"{_quantity(failed, case)}{beside}{at}", case
    case = about[-1]
    exact = all(one.operator not in ROUNDED or same(*one.sides(case)) for case in about for one in first.statements)
    at = f" at {case['at']}" if "at" in case else ""
    others = f", and in {len(about) - 1} other case{'s' * (len(about) > 2)}" if len(about) > 1 else ""
    shown = f"{_shown(first.statements, case, beside=True)}{at}{others}"
    return Verdict.REPRODUCED if exact else Verdict.ROUNDED, shown, case


def _differ(passages: Sequence[Passage], cases: Sequence[Case]) -> bool:
    """Whether two passages give one quantity two values, or one order two directions."""
    for case in cases or [{}]:
        claimed: dict[str, tuple[str, Any]] = {}
        for one in (one for passage in passages for one in passage.statements):
            symbol = "=" if one.operator in (*ROUNDED, "->") else one.operator
            first, right = claimed.setdefault(one.left, (symbol, evaluated(one.right, case)))
            if first != symbol or not same(right, evaluated(one.right, case)):
                return True
    return False


def _shown(statements: Iterable[Statement], case: Case, beside: bool = False) -> str:
    """The left sides, with what they are; beside what they are less or more than."""
    texts: dict[str, str] = {}
    for one in statements:
        texts.setdefault(one.left, _quantity(one, case))
        texts[one.left] += f", {_claimed(one, case)}" if beside and one.operator in ORDERS else ""
    return ", ".join(texts.values())


_NAME = re.compile(r"[A-Za-z][\w.]*")
#: How an operator is read.
_READ = {"<": "below ", "<=": "at most ", ">": "above ", ">=": "at least ", "!=": "other than ", "about": "about "}


def _claimed(one: Statement, case: Case) -> str:
    """The right side, and the quantity that it is."""
    rounded = one.operator in ROUNDED
    number = rounded and not re.search(r"(?<![\w.])[A-Za-z_]", one.right)
    claimed = one.right if number else _text(one.sides(case)[1])
    named = f" ({_spoken(one.right)})" if claimed != one.right and (rounded or _NAME.fullmatch(one.right)) else ""
    return f"{_READ.get(one.operator, '')}{claimed}{named}"


def _in_words(passage: Passage) -> str:
    """What is said in one place."""
    parts = []
    for one in passage.statements:
        words = one.right in ("yes", "no") or one.right.startswith("[")
        left = _named(one.left, words, one.operator == "->")
        right = _spoken(one.right).strip("[]")
        parts.append(f"{left} {_READ.get(one.operator, '')}{right}")
    return ", ".join(parts)


def _quantity(one: Statement, case: Case) -> str:
    """The left side, with what it is; digits where digits are compared."""
    value = evaluated(one.left, case)
    name = _named(one.left, isinstance(value, bool | str), isinstance(value, Limit))
    value = value.value if isinstance(value, Limit) else value
    if one.operator in ROUNDED and isinstance(value, Fraction) and value.denominator > 1:
        value = float(value)
    return f"{name} {_text(value)}"


def _named(name: str, words: bool, limit: bool) -> str:
    """A quantity, and the verb before its value; `limit` is what n_beta tends to, wherever a case has it."""
    if words:
        return f"{_spoken(name)}:"
    return f"{_spoken(name.replace('limit', 'n_beta'))} tends to" if limit else f"{_spoken(name)} is"


def _spoken(name: str) -> str:
    """The name of a quantity in words, such as n_beta of halving; expressions are kept."""
    if not _NAME.fullmatch(name):
        return name
    owner, _, quantity = name.rpartition(".")
    if quantity == "t":
        quantity = "time"
    elif not re.match("[A-Za-z]_", quantity):
        quantity = quantity.replace("_", " ")
    return f"{quantity} of {owner.replace('_', ' ')}" if owner else quantity


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) or (isinstance(value, Fraction) and value.denominator > 10_000):
        return f"{float(value):.6g}"
    return str(value)


def _conditions(used: Used, value: str, any_case: bool) -> dict[str, str]:
    limit = any(one.operator == "->" for passage in parsed(value) for one in passage.statements)
    methods = {use.how for use in used}
    how = " and ".join(method for method in ("executed", "by symmetry", "closed form") if method in methods)
    return {
        "how": how or ("counted" if used else "computed" if any_case else "read"),
        "fabric": _families(use.topology for use in used) or "none",
        "ports": "; ".join(dict.fromkeys(use.topology.port_model for use in used)) or "none",
        "clock": " and ".join(dict.fromkeys(use.clock for use in used if use.clock)) or "none",
        "sense": "limit" if limit else "value",
    }


def _ran(name: str, used: Used) -> str:
    """What a claim's row of `runs.csv` says, or else what its answer has executed."""
    whats = dict.fromkeys(use.what for use in used if use.what)
    ran = (f"{what} on {_families(use.topology for use in used if use.what == what)}" for what in whats)
    return getattr(answers().get(name), "words", "") or "; ".join(ran)


def _families(topologies: Iterable[Topology]) -> str:
    """Topologies by kind, from the fewest ranks to the most, and those of as many by name."""
    kinds: dict[str, set[tuple[int, str]]] = {}
    for topology in topologies:
        kinds.setdefault(topology.name.split(":")[0], set()).add((topology.ranks, topology.name))
    ends = ((min(kind)[1], max(kind)[1]) for kind in kinds.values())
    return ", ".join(first if first == last else f"{first} to {last}" for first, last in ends)
