"""The experts explorer shows what the choices say, and copies change it as the chapter says."""

from __future__ import annotations

import re
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from colllib.show import experts_explorer
from colllib.show.experts_explorer import EXPERTS, RANKS, TOKENS, TOP_K, destinations, dispatched
from colllib.training import experts


def test_the_first_state_prices_the_executed_dispatch_and_names_the_fastest():
    explorer = experts_explorer()
    summary = explorer.render(len(explorer.parts), explorer.start)
    assert "per box" in summary


def test_what_crosses_once_per_rank_is_never_more_than_once_per_expert():
    for gate in ("uniform", "zipf", "topics"):
        per_expert, per_rank = (dispatched(gate, 0, "contiguous", copies) for copies in ("per expert", "per rank"))
        assert sum(per_rank.sent) < sum(per_expert.sent)


def test_the_draw_that_is_shown_is_a_middling_one_of_40(monkeypatch):
    module = sys.modules["colllib.show.experts_explorer"]

    def measures(seed):
        """Of the popular expert and of the topics: the busiest expert, the busiest rank, and what is dropped."""
        monkeypatch.setattr(module, "SEED", seed)
        for gate in ("zipf", "topics"):
            chosen = module.routing.__wrapped__(gate, 0)
            yield chosen.imbalance
            for placed in (experts.contiguous(EXPERTS, RANKS), experts.by_load(chosen.load, RANKS)):
                yield np.bincount(experts.destinations(chosen, placed).ravel()).max()
            yield from (float(experts.with_capacity(chosen, Fraction(factor)).dropped) for factor in (1, 2))

    shown, *others = (list(measures(seed)) for seed in (module.SEED, *range(1, 41)))
    low, high = np.quantile(others, (0.1, 0.9), axis=0)
    assert ((low < shown) & (shown < high)).all()


def test_each_rank_has_a_bar_as_long_as_the_choices_that_it_serves():
    explorer = experts_explorer()
    html = explorer.render(0, explorer.start | {"gate": "zipf", "where": "by load"})
    work = np.bincount(destinations("zipf", 0, "by load").ravel(), minlength=RANKS)
    broad, _ = html.split('<div class="cl-slim">')
    heights = [float(high) for high in re.findall(r'<rect [^>]*height="([\d.]+)"', broad)]
    assert heights == pytest.approx(list(work * max(heights) / work.max()), abs=0.1)
    assert f"{work.max() * RANKS / work.sum():.2f} by a rank" in html


def test_without_a_limit_every_choice_is_served():
    targets = destinations("zipf", 0, "16 replicas")
    assert targets.shape == (RANKS, TOKENS, TOP_K)
    assert targets.min() >= 0
    assert np.bincount(targets.ravel()).max() < 1.2 * targets.size / RANKS


def test_a_copy_per_box_leaves_of_a_popular_experts_cost_what_the_chapter_says():
    def more(copies, inside):
        seconds = (
            dispatched(gate, 0, "contiguous", copies).cost.seconds(
                message=4e6, alpha=(0.6e-6, 2.7e-6), bandwidth=(inside, 50e9)
            )
            for gate in ("zipf", "uniform")
        )
        popular, uniform = seconds
        return 1e6 * (popular - uniform)

    alone, left, by_cards = more("per expert", 450e9), more("per box", 450e9), more("per box", 1e18)
    of_these = f"of which {left - by_cards:.0f} are spent in the box"
    sentence = f"adds {alone:.0f} µs; once per box it adds {left:.0f}, {of_these}"
    assert sentence in (Path(__file__).parents[2] / "notebooks/experts.ipynb").read_text(encoding="utf-8")
