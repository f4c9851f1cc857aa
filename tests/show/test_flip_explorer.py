"""The flip explorer says what its runs say."""

from __future__ import annotations

import re

import numpy as np
from shown import rows

from colllib.show import flip_explorer
from colllib.show.flip_explorer import BITS, RANKS, flip_case
from colllib.training.faults import PHASES


def test_the_summary_counts_the_wrong_ranks_in_every_phase():
    explorer = flip_explorer()
    for phase in PHASES:
        summary = explorer.render(len(explorer.parts), {**explorer.start, "phase": phase})
        assert summary.startswith(
            f"Ranks that end with a wrong result: {len(flip_case(phase, 1, 26).wrong)} of {RANKS};"
        )


def test_numbers_differ_where_a_result_is_wrong_and_a_bit_that_rounding_swallows_is_said_to_be():
    explorer = flip_explorer()
    swallowed = 0
    for phase in PHASES:
        for rank in range(RANKS):
            for bit in BITS:
                state = {"phase": phase, "rank": rank, "bit": bit}
                flip = flip_case(**state)
                for _, worst, exact, result in rows(explorer.render(2, state)):
                    assert (worst != exact) == (result == "wrong")
                summary = explorer.render(len(explorer.parts), state)
                assert ("rounding swallows the bit" in summary) == (not flip.wrong)
                swallowed += not flip.wrong
    assert 0 < swallowed < RANKS * len(PHASES)


def test_no_check_sees_a_flip_in_a_gradient_whichever_rank_and_bit_it_is():
    flips = [flip_case("gradient", rank, bit) for rank in range(RANKS) for bit in (31, 20)]
    assert not any(flip.link or flip.hash or flip.total for flip in flips)
    assert all(len(flip.wrong) == RANKS for flip in flips)


def test_the_sum_check_sees_a_result_that_is_no_number_at_any_rank():
    flips = [flip_case("result", rank, 30) for rank in range(RANKS)]
    assert any(np.isnan(flip.results[rank]).any() for rank, flip in enumerate(flips) if rank)
    assert all(flip.total for flip in flips)


def test_the_legend_has_a_swatch_like_the_blocks_that_are_right_and_one_like_those_that_are_wrong():
    explorer = flip_explorer()
    drawn = re.findall(r'<g class="c ([^"]+)"><rect [^>]*width="(\d+)"', explorer.render(0, explorer.start))
    legend, blocks = ({frozenset(kind.split()) for kind, width in drawn if width == size} for size in ("12", "20"))
    assert len(legend) == 2
    assert legend == blocks
