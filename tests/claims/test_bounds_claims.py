"""Second counts behind what is refuted on primitives and lower bounds."""

from __future__ import annotations

from fractions import Fraction

import reference

from colllib import claims
from colllib.algorithms import allreduce
from colllib.claims import Verdict

ENTRIES = {entry.claim.id: entry for entry in claims.ledger()}


def test_second_count_what_64_ranks_lose_on_a_gigabyte():
    """The tree sends M down and up 6 levels, recursive doubling M six times, the ring 2 * 63 pieces of M / 64."""
    ring = Fraction(2 * 63, 64)
    assert reference.star_cost(allreduce.binomial_tree(64)) == (12, 12)
    assert reference.star_cost(allreduce.recursive_doubling(64)) == (6, 6)
    milliseconds = {steps: float(steps - ring) / 50 * 1e3 for steps in (6, 12)}
    assert 80 < milliseconds[6] < 81
    assert 200 < milliseconds[12] < 201
    assert ENTRIES["M-41"].verdict is Verdict.REFUTED


def test_both_chapters_have_their_claims():
    primitives = {entry.claim.id for entry in claims.for_chapter("02-primitives")}
    assert primitives == {*(f"E-00-{k:03}" for k in range(9, 17)), "E-01-003", "E-01-004"}
    bounds = {entry.claim.id for entry in claims.for_chapter("03-lower-bounds")}
    assert bounds == {*(f"E-00-{k:03}" for k in range(18, 22)), "E-01-063", "M-41"}
