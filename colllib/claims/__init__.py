"""The ledger of claims: what the sources say, and what execution says to it.

The statements are data (`claims.csv`); the answers are small functions that execute something. A
verdict is computed when the ledger is built, by comparing what is claimed with what was executed.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module, resources
from pkgutil import iter_modules

from colllib.claims.finding import ANSWERS, Finding, Verdict

__all__ = ["CHAPTERS", "SOURCES", "Claim", "Entry", "Finding", "Verdict", "claims", "for_chapter", "ledger"]

#: Number of a source -> its author and title.
SOURCES = {
    "000": "Yue Lu, Collectives Explainer Series",
    "001": "Taras Tsugrii, The Algebra of Distributed Training, chapter Ring and Tree Algorithms",
    "002": "Liangyu Zhao, Accelerating Collective Communication for Distributed Machine Learning",
    "003": "Taras Tsugrii, The Algebra of Distributed Training, chapter Topology-Aware Collectives",
    "004": "Vijay Janapa Reddi, Machine Learning Systems, chapter Collective Communication",
}

for _module in iter_modules(__path__):  # every module of this package registers answers
    import_module(f"{__name__}.{_module.name}")

#: The chapters that have claims, in reading order, and last the appendix.
CHAPTERS = tuple(sorted({chapter for chapter, _ in ANSWERS.values()}))


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
        claimed: the value.
    """

    id: str
    source: str
    where: str
    kind: str
    statement: str
    inputs: str
    claimed: str


@dataclass(frozen=True)
class Entry:
    """A claim with its answer.

    Attributes:
        claim: what the source says.
        finding: what execution says.
        chapter: where a reader meets the topic; empty while the claim is open.
    """

    claim: Claim
    finding: Finding
    chapter: str

    @property
    def verdict(self) -> Verdict:
        """The computed verdict."""
        return self.finding.verdict


@cache
def claims() -> tuple[Claim, ...]:
    """All claims, in the order of the sources.

    >>> len(claims()), claims()[0].source
    (711, '000')
    """
    text = (resources.files(__package__) / "claims.csv").read_text(encoding="utf-8")
    return tuple(Claim(**row) for row in csv.DictReader(text.splitlines()))


@cache
def ledger() -> tuple[Entry, ...]:
    """Every claim with its verdict, computed now.

    >>> {entry.verdict.value for entry in ledger()} <= {verdict.value for verdict in Verdict}
    True
    """
    return tuple(_entry(claim) for claim in claims())


@cache
def _entry(claim: Claim) -> Entry:
    chapter, answer = ANSWERS.get(claim.id, ("", Finding.open))
    return Entry(claim, _answered(answer), chapter)


@cache
def _answered(answer: Callable[[], Finding]) -> Finding:
    return answer()  # one function may answer several claims


def for_chapter(name: str) -> tuple[Entry, ...]:
    """The answered claims that belong to a chapter.

    Raises:
        ValueError: for an unknown chapter.

    >>> for_chapter("01-alpha-beta")[0].claim.id
    'E-00-001'
    """
    if name not in CHAPTERS:
        raise ValueError(f"no claims for chapter {name!r}: known are {', '.join(CHAPTERS)}")
    return tuple(_entry(claim) for claim in claims() if ANSWERS.get(claim.id, ("", None))[0] == name)
