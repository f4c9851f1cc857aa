"""Second counts for two-way rings, rings of rings, and ranks that are no power of two."""

from fractions import Fraction

import numpy as np
import pytest
import reference

from colllib import claims
from colllib.algorithms import allreduce
from colllib.claims import Verdict, rings

ENTRIES = {entry.claim.id: entry for entry in claims.for_chapter(rings.CHAPTER)}


def refuted(name):
    return ENTRIES[name].verdict is Verdict.REFUTED


def leaving(schedule):
    """What leaves the busiest node of eight ranks, and the most that one rank sends out of its node."""
    out, card = np.zeros(8), np.zeros(64)
    for step in reference.messages(schedule):
        for src, dst, block, _ in step:
            if src // 8 != dst // 8:
                out[src // 8] += float(schedule.blocks.share[block])
                card[src] += float(schedule.blocks.share[block])
    return out.max(), card.max()


def test_second_count_of_what_leaves_a_node():
    flat, nested = leaving(allreduce.ring(64)), leaving(rings._ring_of_rings())
    assert flat == pytest.approx((126 / 64, 126 / 64))
    assert nested == pytest.approx((2 * 7 / 8, 2 * 7 / 8 / 8))
    assert refuted("R-06")


def test_second_count_halves_that_go_opposite_ways_still_visit_everybody():
    """The partial sum of block 0 starts somewhere and must have met all N ranks: N - 1 hops, whichever way."""
    for ranks in (5, 8):
        adds = [step for step in reference.messages(allreduce.bidirectional_ring(ranks)) if any(m[3] for m in step)]
        assert len(adds) == ranks - 1
        assert reference.star_cost(allreduce.shortest_way_ring(ranks))[0] == 2 * (ranks // 2)
    assert refuted("R-09")


def test_second_count_ring_and_folded_halving_at_six_ranks():
    steps, share = reference.star_cost(allreduce.ring(6))
    folded_steps, folded_share = reference.star_cost(allreduce.rabenseifner(6))
    assert (steps, folded_steps) == (10, 6)
    assert Fraction(folded_share, share) == Fraction(21, 10)
    assert refuted("R-11")


def test_second_count_only_what_leaves_the_box_crosses_its_cards():
    for boxes, ranks in ((2, 4), (4, 4)):
        total = boxes * ranks
        away = sum(dst // ranks != 0 for dst in range(total))
        assert Fraction(away, total) == Fraction(boxes - 1, boxes)
    assert refuted("E-00-047")
