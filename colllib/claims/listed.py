"""What the sources say, as `claims.csv` has it."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources


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
        chapter: where a reader meets the topic; empty while the claim is open.
        answer: what decides it: "executed", "fact" for what was read in a document, the verdict where nothing is
            compared, or nothing while the claim is open.
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


@cache
def claims() -> tuple[Claim, ...]:
    """All claims, in the order of the sources.

    >>> claims()[0].id, claims()[0].source
    ('E-00-001', '000')
    """
    text = (resources.files(__package__) / "claims.csv").read_text(encoding="utf-8")
    return tuple(Claim(**row) for row in csv.DictReader(text.splitlines()))


@cache
def listed(name: str) -> Claim:
    """One claim.

    Raises:
        ValueError: for an unknown id.

    >>> listed("E-01-013").where
    'part 01, 3.1'
    """
    for claim in claims():
        if claim.id == name:
            return claim
    raise ValueError(f"unknown claim {name!r}: ids are such as E-02-083, R-05, T-14 or M-41")
