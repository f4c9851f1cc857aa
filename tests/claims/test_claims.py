"""The ledger of claims: its list, and the command that shows it."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from colllib import claims
from colllib.claims import Verdict
from colllib.cli import main

ENTRIES = {entry.id: entry for entry in claims.ledger()}
BEGINNINGS = ("reproduced", "refuted", "inconsistent", "definition", "fact", "not checkable", "open")


def test_the_list_is_complete_and_every_id_is_unique():
    ids = [claim.id for claim in claims.ledger()]
    assert not [name for name, times in Counter(ids).items() if times > 1]
    added = [claim for claim in claims.ledger() if claim.id.startswith("A-")]
    unmarked = [claim.id for claim in added if claim.inputs.split(";")[0] != "taken up by this book"]
    assert not unmarked, 'inputs begin with "taken up by this book"'
    listed = [claim for claim in claims.ledger() if claim not in added]
    assert Counter(claim.source for claim in listed) == {"000": 653, "001": 12, "002": 453, "003": 8, "004": 38}
    assert all(re.fullmatch(r"[ADEMRT]-\w+(-\w+)?", name) for name in ids)


def test_every_claim_is_answered():
    assert not [name for name, entry in ENTRIES.items() if entry.verdict is Verdict.OPEN]


def test_a_claim_is_open_while_its_value_is_not_written_down():
    for entry in ENTRIES.values():
        assert (entry.value == "") == (entry.verdict is Verdict.OPEN) == (entry.chapter == "")


def test_the_chapters_share_the_answered_claims_out():
    by_chapter = [entry for name in claims.CHAPTERS for entry in claims.for_chapter(name)]
    assert sorted(e.id for e in by_chapter) == sorted(e.id for e in ENTRIES.values() if e.chapter)


def test_unknown_chapters_and_ids_are_refused():
    with pytest.raises(ValueError, match="known are all-gather-and-reduce-scatter"):
        claims.for_chapter("99")
    assert claims.entry("e-02-083") == claims.entry("E-02-083")
    with pytest.raises(ValueError, match="unknown claim 'E-9'"):
        claims.entry("E-9")


# -- command line -----------------------------------------------------------------------------


@pytest.fixture
def colllib(capsys):
    """What a line of the command prints, without a process of its own, which would execute anew what it tells."""

    def run(*arguments, status=0):
        with pytest.raises(SystemExit) as end:
            main(["claims", *arguments])
        printed = capsys.readouterr()
        assert end.value.code == status, printed.err
        return printed

    return run


def test_the_command_line_filters_by_source_verdict_and_chapter(colllib):
    entries = json.loads(colllib("--source", "001", "--verdict", "refuted", "--json").out)
    assert [row["id"] for row in entries] == ["R-06", "R-09", "R-11", "A-09", "A-12", "A-25"]
    assert all(row["because"] and row["cause"] for row in entries)
    entries = json.loads(colllib("--chapter", "ladder-512", "--json").out)
    assert {row["chapter"] for row in entries} == {"ladder-512"}
    assert all(row["verdict"].startswith(BEGINNINGS) for row in entries)
    assert all({"how", "fabric", "ports", "clock", "sense", "value"} <= set(row) for row in entries)


def test_the_beginning_of_a_verdict_filters_too(colllib):
    entries = json.loads(colllib("--chapter", "torus", "--verdict", "reproduced", "--json").out)
    assert {row["verdict"] for row in entries} == {"reproduced", "reproduced to its rounding"}


def test_every_verdict_begins_with_a_known_word():
    assert all(entry.verdict.startswith(BEGINNINGS) for entry in ENTRIES.values())


def test_one_claim_is_shown_with_its_evidence(colllib):
    shown = colllib("E-02-083").out
    for text in ("reproduced", "d_max/8", "lock-step", "limit", "torus:6x4", "3/4"):
        assert text in shown
    row = json.loads(colllib("E-02-083", "--json").out)
    assert {one["holds"] for one in row["evidence"]} == {"yes"}
    assert "definition" in colllib("E-00-004").out


def test_a_claim_says_what_was_run_for_it(colllib):
    assert ENTRIES["E-01-001"].row()["runs"] == "point-to-point direct on star:{N}; N = 2, 3, 5, 8"
    assert ENTRIES["R-05"].row()["runs"] == "all-reduce ring on boxes:8x8; hierarchical ring on boxes:8x8"
    assert "point-to-point direct on star:{N}" in colllib("E-01-001").out
    for entry in ENTRIES.values():
        assert entry.finding.runs or "executed" not in entry.finding.how, entry.id


def test_a_topology_that_is_counted_is_called_by_its_name_alone():
    assert ENTRIES["E-02-143"].finding.executed == "D is 4 at leaf-spine:4x2x2"


@pytest.mark.parametrize("arguments", [("--source", "9"), ("--verdict", "maybe"), ("--chapter", "x"), ("E-99",)])
def test_an_unknown_filter_or_id_is_refused_in_one_line(colllib, arguments):
    complaint = colllib(*arguments, status=2).err
    assert len(complaint.splitlines()) == 1
    assert "known are" in complaint or "ids are such as" in complaint
