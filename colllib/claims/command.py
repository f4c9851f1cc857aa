"""The command `colllib claims`."""

from __future__ import annotations

from collections import Counter

import click
from tabulate import tabulate

from colllib import claims
from colllib.cli_io import Answer, answered, table


@click.command("claims")
@click.argument("name", required=False)
@click.option("--source", help="000 Lu, 001 and 003 Tsugrii, 002 Zhao, 004 Reddi (default: all)")
@click.option("--verdict", help="or how it begins: reproduced, refuted, fact, open, ... (default: all)")
@click.option("--chapter", help="such as all-reduce (default: all)")
@answered
def claims_command(name: str | None, source: str | None, verdict: str | None, chapter: str | None) -> Answer:
    """What published texts claim, and what execution says.

    All, some, or one by its id, such as E-02-083.
    """
    if name is not None:
        if source or verdict or chapter:
            raise ValueError(f"claim {name!r}: leave --source, --verdict and --chapter out, which choose among all")
        yield from _about_claim(claims.entry(name))
        return
    verdicts = [v.value for v in claims.Verdict]
    for what, value, known in (("source", source, list(claims.SOURCES)), ("chapter", chapter, list(claims.CHAPTERS))):
        if value is not None and value not in known:
            raise ValueError(f"unknown {what} {value!r}: known are {', '.join(known)}")
    if verdict is not None and not any(known.startswith(verdict) for known in verdicts):
        raise ValueError(f"unknown verdict {verdict!r}: known are {', '.join(map(repr, verdicts))}")
    entries = [e for e in claims.ledger() if source in (None, e.source) and chapter in (None, e.chapter)]
    rows = [e.row() for e in entries if verdict is None or e.verdict.startswith(verdict)]
    yield rows
    columns = ("id", "verdict", "statement", "claimed", "executed")
    headers = ("claim", "verdict", "what is said", "claimed", "executed")
    yield table(headers, [[row[key] for key in columns] for row in rows], widths=(None, None, 48, 28, 48))
    yield "\n" + ", ".join(f"{count} {name}" for name, count in Counter(row["verdict"] for row in rows).items())


def _about_claim(claim: claims.Claim) -> Answer:
    """One claim and the comparisons behind its verdict."""
    row = claim.row()
    compared = claims.evidence(claim.id, claim.value)
    yield row | {"evidence": [one._asdict() for one in compared]}
    lines = (
        (row["id"], ", ".join(filter(None, (claims.SOURCES[claim.source], claim.where)))),
        ("said", row["statement"]),
        ("for", row["inputs"]),
        ("printed", row["claimed"]),
        ("compared as", row["value"]),
        ("verdict", row["verdict"]),
        ("executed", row["executed"]),
        ("because" if row["cause"] else "note", row["because"]),
        ("cause", row["cause"]),
        ("runs", row["runs"]),
        ("how", claim.finding.basis),
        ("chapter", claim.chapter),
    )
    yield tabulate([line for line in lines if line[1] not in ("", "-")], tablefmt="plain", maxcolwidths=[None, 100])
    if compared:
        headers = ("case", "quantity", "executed", "claimed", "holds")
        yield "\n" + table(headers, compared, widths=(40, 30, 40, 40, None))
