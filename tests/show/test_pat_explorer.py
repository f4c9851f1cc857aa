"""The PAT explorer: what it shows against the second interpreter and the closed forms."""

from __future__ import annotations

import pytest
import reference
from shown import rows

from colllib import units
from colllib.algorithms import allgather
from colllib.show import pat_explorer
from colllib.show.pat_explorer import caps

EXPLORER = pat_explorer()


def table(n, m=16e6, alpha=2e-6, bw=50e9):
    return {row[0]: row[1:] for row in rows(EXPLORER.render(2, {"n": n, "cap": 1, "m": m, "alpha": alpha, "bw": bw}))}


@pytest.mark.parametrize(("n", "m"), [(6, 1e6), (8, 64e3), (16, 16e6), (64, 4e9)])
@pytest.mark.parametrize(("alpha", "bw"), [(2e-6, 50e9), (0.5e-6, 900e9)])
def test_the_table_shows_executed_steps_and_times(n, m, alpha, bw):
    built = {f"PAT, A = {a}": allgather.pat(n, cap=a) for a in caps(n)}
    built |= {"ring": allgather.ring(n), "Bruck": allgather.bruck(n)}
    shown = table(n, m, alpha, bw)
    assert shown.keys() == built.keys()
    for name, schedule in built.items():
        n_alpha, n_beta = reference.star_cost(schedule)
        assert shown[name][:2] == [str(n_alpha), units.seconds(n_alpha * alpha + float(n_beta) * m / bw, 4)]


@pytest.mark.parametrize("n", [8, 16, 64, 512])
def test_parked_shards_follow_the_closed_form_for_powers_of_two(n):
    shown = table(n)
    for k, cap in enumerate(caps(n)):
        assert shown[f"PAT, A = {cap}"][3] == f"{cap * (n.bit_length() - 1 - k) - 1} × M/{n}"


def test_the_words_price_the_chosen_cap():
    n_alpha, n_beta = reference.star_cost(allgather.pat(64, cap=4))
    state = {**EXPLORER.start, "n": 64, "cap": 4}
    seconds = n_alpha * state["alpha"] + float(n_beta) * state["m"] / state["bw"]
    words = f"16 MB gathered on 64 ranks at 2.7 µs and 50 GB/s: PAT with A = 4 takes {units.seconds(seconds)} against"
    assert words in EXPLORER.render(len(EXPLORER.parts), state)


def test_where_nothing_is_parked_the_axis_has_no_negative_shards():
    chart = EXPLORER.render(1, {**EXPLORER.start, "n": 3, "cap": 1})
    assert "at most 0 parked shards" in chart
    assert ">-" not in chart
    assert "at most 1 parked shard, 1 in a reduce-scatter" in EXPLORER.render(1, {**EXPLORER.start, "n": 6, "cap": 1})


def test_there_is_always_a_cap_to_choose():
    for n in EXPLORER.choices(0, {}):
        assert len(EXPLORER.choices(1, {"n": n})) > 1
