"""Second counts behind the verdicts on bus bandwidth."""

from __future__ import annotations

from fractions import Fraction

import reference

from colllib import claims
from colllib.algorithms import allreduce, broadcast, of
from colllib.claims import Verdict

ENTRIES = {entry.claim.id: entry for entry in claims.for_chapter("10-bus-bandwidth")}


def test_a_broadcast_of_any_kind_fills_the_roots_port_and_every_receivers():
    """So a factor of (N-1)/N would report less than the wire for a perfect broadcast."""
    for n in (3, 8):
        for algorithm in of("broadcast"):
            sent, received = reference.traffic(algorithm.build(n))
            assert sent[0] >= 1
            assert min(received[rank] for rank in range(1, n)) >= 1
    n, p = 4, 60
    _, n_beta = reference.star_cost(broadcast.chain(n, segments=p))
    assert n_beta == Fraction(n + p - 2, p) < Fraction(n, n - 1)  # less would do for a factor of (N-1)/N
    assert ENTRIES["E-01-198"].verdict is Verdict.REFUTED


def test_the_factor_is_no_algorithms_own_count():
    factor = Fraction(7, 4)
    counted = {name: reference.star_cost(getattr(allreduce, name)(8))[1] for name in ("ring", "recursive_doubling")}
    assert counted == {"ring": factor, "recursive_doubling": 3}
    assert ENTRIES["E-01-201"].verdict is Verdict.REFUTED


def test_the_rest_is_reproduced():
    rest = {name for name in ENTRIES if name not in ("E-01-198", "E-01-201")}
    assert rest == {f"E-01-{k}" for k in (194, 195, 196, 197, 199, 200, 202)}
    assert {ENTRIES[name].verdict for name in rest} == {Verdict.REPRODUCED}
