"""The errata and the tables of claims."""

from __future__ import annotations

import re

from colllib import claims
from colllib.show.claims import claims_table, errata


def test_the_errata_have_every_entry_that_does_not_hold_once_with_an_anchor_a_reason_and_a_chapter():
    text = errata()
    failing = [entry for entry in claims.ledger() if entry.verdict in claims.FAILS]
    anchors = re.findall(r'<span id="([^"]+)"></span>', text)
    assert sorted(anchors) == sorted(entry.claim.id.lower() for entry in failing)
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        f"## {cause.title}" for cause in sorted(claims.causes().values(), key=lambda cause: -len(cause.ids))
    ]
    assert text.count("](../notebooks/") == len(failing)


def test_a_chapters_table_has_all_of_its_claims_and_what_fails_first():
    entries = claims.for_chapter("16-mesh")
    headings = str(claims_table(entries)).splitlines()
    assert sum(int(heading.rsplit(": ", 1)[1]) for heading in headings) == len(entries)
    assert headings[0].startswith("refuted")
