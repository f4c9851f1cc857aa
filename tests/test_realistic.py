"""The realistic ladder: its closed forms against execution, its best number of segments against all of them."""

from __future__ import annotations

import pytest

from colllib.contention import PROFILES
from colllib.realistic import LINES, line, lines_of

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
