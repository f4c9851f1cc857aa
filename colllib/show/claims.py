"""Claims as tables: for the end of a chapter, for the appendix and for the errata."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from colllib.claims import FAILS, HOLDS, SOURCES, Claim, Entry, Finding, Verdict
from colllib.show.table import Table
from colllib.show.theme import escape, style


class Folded:
    """Tables under headings that open and close; the page shows how many rows each holds.

    Attributes:
        sections: heading, whether it stands open at first, table.
    """

    def __init__(self, sections: list[tuple[str, bool, Table]]) -> None:
        self.sections = sections

    def _repr_html_(self) -> str:
        parts = [
            f"<details{' open' if opened else ''}><summary>{escape(heading)}</summary>"
            f'<div class="cl-scroll" tabindex="0" role="group" aria-label="{escape(heading)}">{table.fragment()}</div>'
            "</details>"
            for heading, opened, table in self.sections
        ]
        return f'{style("theme")}<div class="colllib">{"".join(parts)}</div>'

    def __repr__(self) -> str:
        return "\n".join(heading for heading, _, _ in self.sections)


def claims_table(entries: Iterable[Entry]) -> Folded:
    """The claims of a chapter: what fails stands open, what holds is folded.

    >>> from colllib.claims import for_chapter
    >>> claims_table(for_chapter("09-ladder-512"))
    refuted or inconsistent: ...
    reproduced: ...
    """
    rows = list(entries)
    failing = [e for e in rows if e.verdict in FAILS]
    holding = [e for e in rows if e.verdict in HOLDS]
    rest = [e for e in rows if e not in failing and e not in holding]
    sections = []
    for heading, opened, part in (
        ("refuted or inconsistent", True, failing),
        ("reproduced", False, holding),
        ("definitions, not checkable or open", False, rest),
    ):
        if part:
            sections.append((f"{heading}: {len(part)}", opened, _table(part)))
    return Folded(sections)


def appendix() -> Folded:
    """Every claim of every source, by source and part, folded.

    >>> print(str(appendix()).splitlines()[0])
    Yue Lu, Collectives Explainer Series, part 00: 57 claims, ... answered
    """
    from colllib.claims import ledger

    sections = []
    for (source, part), group in groupby(ledger(), key=lambda e: (e.claim.source, e.claim.where.partition(",")[0])):
        entries = list(group)
        answered = sum(e.verdict is not Verdict.OPEN for e in entries)
        place = f", {part}" if part.startswith("part") else ""
        sections.append(
            (f"{SOURCES[source]}{place}: {len(entries)} claims, {answered} answered", False, _table(entries))
        )
    return Folded(sections)


def errata() -> str:
    """The refuted and inconsistent claims, in the order of the sources, as Markdown for their owners.

    Claims of one part with the same answer stand together, where the first of them stands.
    """
    from colllib.claims import ledger

    lines = []
    failing = [e for e in ledger() if e.verdict in FAILS]
    for source, group in groupby(failing, key=lambda e: e.claim.source):
        lines += [f"## {SOURCES[source]}", ""]
        for part, entries in groupby(group, key=lambda e: e.claim.where.partition(",")[0]):
            if part:
                lines += [f"### {part.capitalize()}", ""]
            together: dict[Finding, list[Claim]] = {}
            for entry in entries:
                together.setdefault(entry.finding, []).append(entry.claim)
            for finding, alike in together.items():
                lines += _erratum(finding, alike)
    return "\n".join(lines)


def _erratum(finding: Finding, alike: list[Claim]) -> list[str]:
    """A term for what is said, in one place or several, and its definition."""
    said = []
    for claim in alike:
        where = claim.where or "no section given"
        inputs = f" ({claim.inputs})" if claim.inputs not in ("", "-") else ""
        said.append(f"**{claim.id}, {_plain(where)}.** {_plain(claim.statement)}{_plain(inputs)}")
    claimed = "; ".join(dict.fromkeys(_claimed(claim) for claim in alike))
    cited = f" {{cite:p}}`{finding.reference}`" if finding.reference else ""
    return [
        "; ".join(said),
        f": *{finding.verdict.value}.* Claimed: {_plain(claimed)}. "
        f"Executed: {_plain(finding.executed)}. {_plain(finding.because)}{cited}",
        "",
    ]


def _claimed(claim: Claim) -> str:
    return claim.claimed if claim.claimed not in ("", "-") else "as stated"


def _plain(text: str) -> str:
    """Text with the characters that Markdown would take for markup kept as they are."""
    for mark in ("\\", "*", "_", "`", "<", "[", "$", "{", "|"):
        text = text.replace(mark, "\\" + mark)
    return text


def _table(entries: list[Entry]) -> Table:
    rows = [
        (
            e.claim.id,
            " ".join(
                filter(None, (e.claim.statement, f"[{e.claim.inputs}]" if e.claim.inputs not in ("", "-") else ""))
            ),
            _claimed(e.claim),
            e.verdict.value,
            e.finding.executed,
            e.finding.because,
        )
        for e in entries
    ]
    headers = ["claim", "what is said", "claimed", "verdict", "executed", "why"]
    return Table(headers, rows, align=("left",) * 6)
