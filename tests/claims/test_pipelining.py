"""Second counts behind the answers on pipelining: by hand, by brute force, and by the second interpreter."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import reference

from colllib import claims
from colllib.algorithms import broadcast, reduce
from colllib.claims import Verdict
from colllib.claims.pipelining import torus

ENTRIES = {entry.claim.id: entry for entry in claims.ledger()}


def verdicts(*ids):
    return {ENTRIES[name].verdict for name in ids}


def test_every_claim_of_the_appendix_on_pipelining_is_answered():
    scope = [f"E-01-{k}" for k in range(175, 194)]
    assert [name for name in scope if ENTRIES[name].verdict is Verdict.OPEN] == []


def test_second_count_the_pipeline_is_full_from_slot_l_on():
    """Segment k is in step s in slot k + s: for L = 3 and many segments, all three are busy from the third slot."""
    stages = 3
    for segments in (2, 3, 4, 8):
        busy = Counter(k + s for k in range(segments) for s in range(stages))
        full = max(busy.values())
        fill = min(slot for slot, count in busy.items() if count == full)
        assert fill == min(stages, segments) - 1
    assert fill == 2 != segments - 1
    assert verdicts("E-01-175") == {Verdict.REFUTED}


def test_second_count_the_time_at_the_best_p_is_a_square():
    """(L + P - 1)(a + m / P) is least at (sqrt((L-1) a) + sqrt(m))^2, here 4 + 1600 + 2 * 80."""
    stages, alpha, load = 9, Fraction(1, 2), 1600
    times = {p: (stages + p - 1) * (alpha + Fraction(load, p)) for p in range(1, 500)}
    best = min(times, key=times.__getitem__)
    assert (best, times[best]) == (160, 1764)
    n_alpha, n_beta = reference.star_cost(broadcast.chain(stages + 1, segments=best))
    assert n_alpha * alpha + n_beta * load == 1764
    assert times[best] + alpha == Fraction("1764.5")  # what is printed
    assert verdicts("E-01-183") == {Verdict.REFUTED}


def test_second_count_an_interior_rank_of_a_binomial_tree_has_many_children():
    """Rank 1 is sent to by 0, and sends to 3, 5, 9, 17, ...: 1 with one higher bit set."""
    for n, schedule in ((8, broadcast.binomial_tree(8, segments=6)), (64, broadcast.binomial_tree(64, segments=12))):
        children = [1 + 2**k for k in range(1, (n - 1).bit_length())]
        together = [{dst for src, dst, *_ in step if src == 1} for step in reference.messages(schedule)]
        assert set(children) in together
        sent, received = reference.traffic(schedule)
        assert sent[1] == len(children)
        assert sent[0] == len(children) + 1
        assert len(children) + received[1] > 2
        back = reduce.binomial_tree(n, segments=12)
        assert reference.traffic(back)[1][1] == len(children)
    assert verdicts("E-01-187", "E-01-188") == {Verdict.REFUTED}


def test_the_torus_has_the_neighbors_that_its_coordinates_give():
    for sides in ((5,), (4, 4), (3, 3, 3), (4, 3)):
        links = set(zip(*(values.tolist() for values in (torus(*sides).link_src, torus(*sides).link_dst)), strict=True))
        degree = Counter(src for src, _ in links)
        assert set(degree.values()) == {2 * len(sides)}
        assert {(b, a) for a, b in links} == links
    assert verdicts("E-01-184") == {Verdict.REPRODUCED}
