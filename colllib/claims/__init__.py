"""The ledger of claims: what the sources say, and what execution says to it.

The statements are data: `claims.csv` has what a source says and, in the column `value`, the same for a program
(`colllib.claims.value`). The answers are small functions that execute something and name the quantities that came
out. A verdict is computed from the two when it is asked for; `because.toml` has the sentences that go with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

from colllib.claims.finding import FAILS, HOLDS, Basis, Cause, Finding, Verdict, causes, evidence, finding
from colllib.claims.value import Claim, claims, listed

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

#: The chapters that have claims.
CHAPTERS = tuple(sorted({claim.chapter for claim in claims()} - {""}))


@dataclass(frozen=True)
class Entry:
    """A claim with its answer, which is worked out when it is asked for.

    Attributes:
        claim: what the source says.
    """

    claim: Claim

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
        texts = {key: str(answered[key]) for key in ("verdict", "executed", "because", "reference", "cause", "runs")}
        return {**vars(self.claim), **texts, **vars(self.finding.basis)}


@cache
def entry(name: str) -> Entry:
    """One claim with its verdict; no other is worked out.

    Raises:
        ValueError: for an unknown id.

    >>> entry("E-01-013").verdict.value
    'reproduced'
    """
    return Entry(listed(name))


def ledger() -> tuple[Entry, ...]:
    """Every claim with its verdict, computed as it is asked for."""
    return tuple(entry(claim.id) for claim in claims())


def for_chapter(name: str) -> tuple[Entry, ...]:
    """The answered claims that belong to a chapter.

    Raises:
        ValueError: for an unknown chapter.

    >>> for_chapter("alpha-beta")[0].claim.id
    'E-00-001'
    """
    if name not in CHAPTERS:
        raise ValueError(f"no claims for chapter {name!r}: known are {', '.join(CHAPTERS)}")
    return tuple(one for one in ledger() if one.claim.chapter == name)
