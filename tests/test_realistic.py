"""The realistic ladder: its closed forms against execution, its best number of segments against all of them."""

from __future__ import annotations

import pytest

from colllib.contention import PROFILES
from colllib.realistic import LINES, break_even, line, lines_of

PRICE = {"message": 16e6, "alpha": 0.5e-6, "bandwidth": 900e9}


@pytest.mark.parametrize("which", [one for one in LINES if one.name != "relay"], ids=lambda one: one.label)
def test_a_line_costs_what_executes(which):
    for segments in (1, 3) if which.segmented else (1,):
        assert which.executed(segments) == which.cost(segments)


def test_the_relay_keeps_every_link_busy():
    relay = line("all-to-all", "relay")
    assert relay.executed() == relay.cost()


@pytest.mark.parametrize("message", [1e5, 16e6, 1e9])
@pytest.mark.parametrize("which", [one for one in LINES if one.segmented], ids=lambda one: one.label)
def test_no_other_number_of_segments_is_better(which, message):
    price = {**PRICE, "message": message}
    for eta in (PROFILES["ideal"], which.eta):
        slow = {"message": message, "alpha": 0.5e-6 * float(eta.alpha), "bandwidth": 900e9 * float(eta.beta)}
        times = {p: which.cost(p).seconds(**slow) for p in range(1, 300)}
        best = which.segments(eta, **price)
        assert times[best] == min(times.values())
        assert which.seconds(eta, **price) == pytest.approx(times[best])


def test_lines_are_found_by_name_or_refused():
    assert [one.name for one in lines_of("all-gather")] == [
        "in-network",
        "recursive-doubling",
        "dim-ring",
        "breadth-first",
    ]
    with pytest.raises(ValueError, match="no line for broadcast chain"):
        line("broadcast", "chain")


@pytest.mark.parametrize(
    ("slower", "faster"),
    [
        (("all-reduce", "rabenseifner"), ("all-reduce", "in-network")),
        (("all-reduce", "dim-ring"), ("all-reduce", "rabenseifner")),
        (("all-to-all", "pairwise"), ("all-to-all", "relay")),
    ],
)
def test_at_the_break_even_two_lines_take_equally_long(slower, faster):
    slow, fast = line(*slower), line(*faster)
    beta = break_even(slow, fast, slow.eta, **PRICE)
    target = slow.seconds(slow.eta, **PRICE)
    # every count of segments, priced by hand: none beats the slower line below the coefficient, one does above it
    for shift, wins in ((0.999, False), (1.001, True)):
        latency, rate = 0.5e-6 * float(fast.eta.alpha), 900e9 * beta * shift
        pieces = range(1, 100) if fast.segmented else (1,)
        best = min(float(c.n_alpha) * latency + float(c.n_beta) * 16e6 / rate for c in map(fast.cost, pieces))
        assert (best < target) == wins


def test_a_line_that_is_slower_at_its_best_never_breaks_even():
    dim_ring, halving = line("all-reduce", "dim-ring"), line("all-reduce", "rabenseifner")
    assert break_even(halving, dim_ring, PROFILES["ideal"], **PRICE) is None
