"""Verdicts follow from the cell of the claim and from what was executed: change either, and they change."""

from __future__ import annotations

import re
from collections import ChainMap, defaultdict
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

from colllib import claims
from colllib.claims import FAILS, HOLDS, Verdict, allreduce, evidence, reading
from colllib.claims.finding import FACT, _gathered, answers, cases_of, finding, judged, sentence
from colllib.claims.value import Limit, Statement, evaluated, parsed

ENTRIES = {entry.id: entry for entry in claims.ledger()}
EXECUTED, COMPUTED = "executed", "computed"
COMPARED = [name for name, entry in ENTRIES.items() if entry.answer in (EXECUTED, COMPUTED, FACT)]
FAILING = {name for cause in claims.causes().values() for name in cause.ids}  # told without executing anything


@pytest.mark.parametrize(
    ("value", "case", "verdict"),
    [
        ("n = 3", {"n": 3}, Verdict.REPRODUCED),
        ("n = 4", {"n": 3}, Verdict.REFUTED),
        ("t ~ 1.5", {"t": 1.5}, Verdict.REPRODUCED),
        ("t ~ 1.5", {"t": 1.46}, Verdict.ROUNDED),
        ("t ~ 1.5", {"t": 1.44}, Verdict.REFUTED),
        ("t ~ 2.5; t < 2.5", {"t": 2.5}, Verdict.REFUTED),
        ("t about 70", {"t": 71}, Verdict.ROUNDED),
        ("t about 70", {"t": 80}, Verdict.REFUTED),
        ("n -> 1", {"n": Limit(Fraction(1))}, Verdict.REPRODUCED),
        ("n -> 1", {"n": Limit(Fraction(2))}, Verdict.REFUTED),
        ("n = 1 | there: n = 2", {"n": 1}, Verdict.INCONSISTENT),
        ("n = 1 | there: n = 1", {"n": 1}, Verdict.REPRODUCED),
        ("n = 1 | there: n = 1", {"n": 2}, Verdict.REFUTED),
        ("edges = [a ? c]", {"edges": "a b c"}, Verdict.REPRODUCED),
        ("edges = [a b]", {"edges": "a b c"}, Verdict.REFUTED),
        ("n = 3 where k = 1", {"n": 3, "k": 1}, Verdict.REPRODUCED),
    ],
)
def test_a_verdict_follows_from_what_is_claimed_and_what_is_executed(value, case, verdict):
    assert judged(value, [case])[0] is verdict


def test_one_case_in_which_it_fails_refutes():
    assert judged("n = 2 * k", [{"n": 2, "k": 1}, {"n": 5, "k": 2}])[:2] == (Verdict.REFUTED, "n is 5, not 4")


@pytest.mark.parametrize("elsewhere", ["k = 3", "n = 1 where k = 2"])
def test_what_another_passage_says_of_its_own_cases_or_quantities_must_hold_too(elsewhere):
    verdict, *_ = judged(f"n = 1 where k = 1 | there: {elsewhere}", [{"n": 1, "k": 1}, {"n": 5, "k": 2}])
    assert verdict is Verdict.REFUTED


def test_what_compares_nothing_or_is_about_nothing_is_refused():
    with pytest.raises(ValueError, match="compares nothing"):
        judged("some words", [{}])
    with pytest.raises(ValueError, match="no case where k = 7"):
        judged("n = 1 where k = 7", [{"n": 1, "k": 1}])


def test_a_claim_cannot_be_answered_twice(monkeypatch):
    monkeypatch.setattr(allreduce, "TABLE", {"E-01-062 E-01-063": list, "E-01-063": list})
    with pytest.raises(ValueError, match="E-01-063 is answered twice"):
        answers.__wrapped__()


def test_a_row_that_is_misspelled_is_named():
    entry = ENTRIES["E-01-063"]
    with pytest.raises(ValueError, match=r"^claim E-01-063: answer 'exectued': must be executed, computed, fact"):
        replace(entry, answer="exectued")
    with pytest.raises(ValueError, match=r"^claim E-01-063: "):
        finding(entry.id, "n_gamma = 2")
    for value in ("n_alpha = 2 * (N where N = 4", "n_alpha = 2 / (N-4) where N = 4", "n_alpha about 0 where N = 4"):
        with pytest.raises(ValueError, match=r"^claim E-01-062: "):
            finding("E-01-062", value)


def test_what_the_list_says_of_answers_is_what_the_tables_and_documents_have():
    for name, entry in ENTRIES.items():
        has_cases = name in answers() or bool(cases_of(name)[0])
        if entry.answer in (EXECUTED, COMPUTED):
            assert name in answers(), name
            assert (answers()[name] is reading.printed) == (entry.answer == COMPUTED), name
        elif entry.answer != FACT:
            assert not has_cases, name
        assert bool(entry.chapter) == bool(entry.answer), name


# -- the cell decides ---------------------------------------------------------------------------------------


TURNED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "!=": "="}


def changed(one, case):
    """What says a little else: 7 % more or less, another word, the other order.

    About is 5 % each way, so that it takes 12 %; a printed number takes two of its last digits at least.
    """
    if one.right in ("yes", "no"):
        return [f"{one.left} = {'no' if one.right == 'yes' else 'yes'}"]
    if one.right.startswith("["):
        words = one.right[1:-1].split()
        others = [[*words[:k], "other", *words[k + 1 :]] for k, word in enumerate(words) if word not in ("?", "/")]
        return [f"{one.left} = [{' '.join(other)}]" for other in others]
    if isinstance(evaluated(one.right, case), str):
        return [f"{one.left} != {one.right}"]
    if one.operator in TURNED:
        return [f"{one.left} {TURNED[one.operator]} {one.right}"]
    if one.operator == "~" and re.fullmatch(r"[\d.]+(e[+-]?\d+)?", one.right):
        printed, unit = Decimal(one.right), Decimal((0, (1,), Decimal(one.right).as_tuple().exponent))
        away = max(2 * unit, (printed * Decimal("0.07")).quantize(unit))
        return [f"{one.left} ~ {number:e}" for number in (printed + away, printed - away) if number > 0]
    share = "0.12" if one.operator == "about" else "0.07"
    return [f"{one.left} {one.operator} ({one.right}) * (1 {sign} {share}) {sign} ({one.right} == 0)" for sign in "+-"]


@pytest.mark.parametrize("name", [name for name in COMPARED if name not in FAILING])
def test_a_claim_that_holds_fails_when_any_statement_of_its_cell_is_changed(name):
    assert ENTRIES[name].verdict in HOLDS
    passage = parsed(ENTRIES[name].value)[0]
    conditions = " where " + " and ".join(map(str, passage.where)) if passage.where else ""
    for k, one in enumerate(passage.statements):
        for other in changed(one, passage.about(cases_of(name)[0])[-1]):
            statements = [*map(str, passage.statements[:k]), other, *map(str, passage.statements[k + 1 :])]
            assert judged("; ".join(statements) + conditions, cases_of(name)[0])[0] is Verdict.REFUTED, other


# -- execution decides --------------------------------------------------------------------------------------


def set_in(case, path, value):
    """The case with one of its quantities, or a part of one, replaced."""
    root, _, part = path.partition(".")
    return ChainMap({root: ChainMap({part: value}, case[root]) if part else value}, case)


def agreeing(case, one):
    """The case as it would be if execution gave what the statement says."""
    left, right = one.left, evaluated(one.right, case)
    right = right.value if isinstance(right, Limit) else right
    if quotient := re.fullmatch(r"(\S+) / (\S+)", left):
        left, right = quotient[1], right * evaluated(quotient[2], case)
    if difference := re.fullmatch(r"(\S+) - (\S+)", left):
        left, right = difference[1], right + evaluated(difference[2], case)
    if one.operator in ("<", ">"):
        right += Fraction(1 if one.operator == ">" else -1, 1000)
    return set_in(case, left, Limit(Fraction(right)) if one.operator == "->" else right)


@pytest.mark.parametrize("name", [n for n in COMPARED if n in FAILING and (n in answers() or sentence(n).found)])
def test_an_entry_that_fails_would_hold_if_execution_gave_what_it_says(name):
    assert ENTRIES[name].verdict in FAILS
    value = ENTRIES[name].value.split(" | ")[0]
    (passage,) = parsed(value)
    cases = []
    for case in passage.about(cases_of(name)[0]):
        for one in passage.statements:
            case = agreeing(case, one) if not one.holds(case) else case
        cases.append(case)
    assert judged(value, cases)[0] in (Verdict.REPRODUCED, Verdict.ROUNDED)


def test_places_that_agree_are_not_inconsistent():
    for name, entry in ENTRIES.items():
        if entry.verdict is Verdict.INCONSISTENT:
            first, *_ = entry.value.split(" | ")
            assert (
                judged(f"{first} | there: {first.split(' where ')[0]}", cases_of(name)[0])[0]
                is not Verdict.INCONSISTENT
            )


# -- equal statements ---------------------------------------------------------------------------------------


def test_equal_statements_under_equal_conditions_get_equal_verdicts_or_say_how_they_differ():
    alike = defaultdict(list)
    for entry in ENTRIES.values():
        if entry.id in COMPARED and "step" not in entry.value:
            passage, used = parsed(entry.value)[0], cases_of(entry.id)[1]
            alike[passage.statements, entry.finding.ports, frozenset(use.what for use in used if use.what)].append(
                entry
            )
    pairs = 0
    for entries in alike.values():
        words = {"fails" if entry.verdict in FAILS else "holds" for entry in entries}
        pairs += len(entries) > 1
        if len(words) > 1:
            reasons = " ".join(entry.finding.because for entry in entries)
            named = [entry.id for entry in entries if entry.id in reasons]
            assert named, [entry.id for entry in entries]
    assert pairs > 40


def test_all_entries_on_one_trip_through_a_switch_have_one_verdict():
    assert {ENTRIES[name].verdict for name in claims.causes()["switch-trip"].ids} == {Verdict.INCONSISTENT}
    both = {name for name, e in ENTRIES.items() if "trip = 2" in e.value.split(" | ")[0]}
    assert both <= set(claims.causes()["switch-trip"].ids)


# -- conditions and causes ----------------------------------------------------------------------------------


def test_a_verdict_shows_its_conditions():
    for name in COMPARED:
        answer = ENTRIES[name].finding
        assert answer.sense in ("value", "limit") or answer.how == "read"
        if "executed" in answer.how or "closed form" in answer.how:
            assert "none" not in (answer.fabric, answer.ports, answer.clock), name
            assert answer.fabric in answer.basis
        assert (answer.how == "read") == (ENTRIES[name].answer == FACT), name


def test_what_a_verdict_rests_on_does_not_depend_on_what_was_asked_before():
    first = {entry: entry.finding for entry in ENTRIES.values()}
    _gathered.cache_clear()
    for claim in reversed(first):
        assert finding(claim.id, claim.value) == first[claim], claim.id


def test_every_entry_that_does_not_hold_has_one_cause_and_no_other_entry_has():
    assert sum(len(cause.ids) for cause in claims.causes().values()) == len(FAILING)
    failing = {name for name, entry in ENTRIES.items() if entry.verdict in FAILS}
    assert not failing - {*FAILING}, "without a cause in because.toml"
    assert not {*FAILING} - failing, "with a cause, and holds"
    for cause in claims.causes().values():
        assert cause.title[0].isupper()
        assert cause.text.endswith(".")


def test_reasons_are_sentences():
    for entry in ENTRIES.values():
        assert re.fullmatch(r"([A-Z0-9(].*[.])?", entry.finding.because, re.DOTALL), entry.id
        assert entry.finding.because or entry.verdict not in FAILS
        assert entry.finding.executed or entry.verdict not in (*FAILS, *HOLDS)


def test_the_evidence_is_every_comparison_that_decides():
    rows = evidence("E-02-083", ENTRIES["E-02-083"].value)
    assert {row.holds for row in rows} == {"yes"}
    assert len(rows) == len(parsed(ENTRIES["E-02-083"].value)[0].about(cases_of("E-02-083")[0]))
    assert {row.holds for row in evidence("E-00-039", ENTRIES["E-00-039"].value)} == {"yes", "no"}
    definitions = [entry for entry in ENTRIES.values() if entry.verdict is Verdict.DEFINITION]
    assert definitions
    assert all(evidence(claim.id, claim.value) == [] for claim in definitions)


def test_a_statement_says_when_a_limit_is_compared_as_a_value():
    with pytest.raises(ValueError, match="'->' is for limits"):
        Statement("n", "=", "1").holds({"n": Limit(Fraction(1))})
