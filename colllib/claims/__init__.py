"""The ledger of claims: what the sources say, and what execution says to it.

The statements are data: `claims.csv` has what a source says and, in the column `value`, the same for a program
(`colllib.claims.value`). The answers are rows of `runs.csv` (`colllib.claims.rows`), or small functions where more is
executed than what has a name; both name the quantities that came out. A verdict is computed from the two when it is
asked for; `because.toml` has the sentences that go with it.
"""

from __future__ import annotations

from colllib.claims.finding import FAILS, HOLDS, Cause, Claim, Finding, Verdict, causes, entry, evidence, ledger

#: Number of a source -> its author and title.
SOURCES = {
    "000": "Yue Lu, Collectives Explainer Series",
    "001": "Taras Tsugrii, The Algebra of Distributed Training, chapter Ring and Tree Algorithms",
    "002": "Liangyu Zhao, Accelerating Collective Communication for Distributed Machine Learning",
    "003": "Taras Tsugrii, The Algebra of Distributed Training, chapter Topology-Aware Collectives",
    "004": "Vijay Janapa Reddi, Machine Learning Systems, chapter Collective Communication",
}

#: The chapters that have claims.
CHAPTERS = tuple(sorted({claim.chapter for claim in ledger()} - {""}))


def for_chapter(name: str) -> tuple[Claim, ...]:
    """The answered claims that belong to a chapter.

    Raises:
        ValueError: for an unknown chapter.

    >>> for_chapter("alpha-beta")[0].id
    'E-00-001'
    """
    if name not in CHAPTERS:
        raise ValueError(f"no claims for chapter {name!r}: known are {', '.join(CHAPTERS)}")
    return tuple(one for one in ledger() if one.chapter == name)
