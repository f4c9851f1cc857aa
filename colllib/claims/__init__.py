"""The ledger of claims: what the sources say, and what execution says to it.

The statements are data: `claims.csv` has what a source says and, in the column `value`, the same for a program
(`colllib.claims.value`). The answers are small functions that execute something and name the quantities that came
out. A verdict is computed from the two when it is asked for; `because.toml` has the sentences that go with it.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module, resources
from pkgutil import iter_modules

from colllib.claims.finding import ANSWERS, FAILS, HOLDS, Basis, Cause, Finding, Verdict, causes, evidence, finding

__all__ = [
    "CHAPTERS",
    "FAILS",
    "HOLDS",
    "SOURCES",
    "Basis",
    "Cause",
    "Claim",
    "Entry",
    "Finding",
    "Verdict",
    "causes",
    "claims",
    "entry",
    "evidence",
    "for_chapter",
    "ledger",
]

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
CHAPTERS = tuple(sorted({given.chapter for given in ANSWERS.values()}))


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
    """

    id: str
    source: str
    where: str
    kind: str
    statement: str
    inputs: str
    claimed: str
    value: str


@dataclass(frozen=True)
class Entry:
    """A claim with its answer, which is worked out when it is asked for.

    Attributes:
        claim: what the source says.
    """

    claim: Claim

    @property
    def chapter(self) -> str:
        """Where a reader meets the topic; empty while the claim is open."""
        return ANSWERS[self.claim.id].chapter if self.claim.id in ANSWERS else ""

    @cached_property
    def finding(self) -> Finding:
        """What execution says."""
        return finding(self.claim.id, self.claim.value)

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
        answered = vars(self.finding)
        texts = {key: str(answered[key]) for key in ("verdict", "executed", "because", "reference", "cause")}
        return {**vars(self.claim), "chapter": self.chapter, **texts, **vars(self.finding.basis)}


@cache
def claims() -> tuple[Claim, ...]:
    """All claims, in the order of the sources.

    >>> len(claims()), claims()[0].source
    (1172, '000')
    """
    text = (resources.files(__package__) / "claims.csv").read_text(encoding="utf-8")
    return tuple(Claim(**row) for row in csv.DictReader(text.splitlines()))


@cache
def _entries() -> dict[str, Entry]:
    return {claim.id: Entry(claim) for claim in claims()}


def ledger() -> tuple[Entry, ...]:
    """Every claim with its verdict, computed as it is asked for."""
    return tuple(_entries().values())


def entry(name: str) -> Entry:
    """One claim with its verdict; no other is worked out.

    Raises:
        ValueError: for an unknown id.

    >>> entry("E-01-013").verdict.value
    'reproduced'
    """
    if name not in _entries():
        raise ValueError(f"unknown claim {name!r}: ids are such as E-02-083, R-05, T-14 or M-41")
    return _entries()[name]


def for_chapter(name: str) -> tuple[Entry, ...]:
    """The answered claims that belong to a chapter.

    Raises:
        ValueError: for an unknown chapter.

    >>> for_chapter("alpha-beta")[0].claim.id
    'E-00-001'
    """
    if name not in CHAPTERS:
        raise ValueError(f"no claims for chapter {name!r}: known are {', '.join(CHAPTERS)}")
    return tuple(one for one in ledger() if one.chapter == name)
