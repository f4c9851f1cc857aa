"""The realistic ladder: its costs against execution, its best number of segments against all of them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from colllib.efficiency import PROFILES
from colllib.execution import execute
from colllib.realistic_ladder import LINES, Line, break_even, line, lines_of

PRICE = {"message": 16e6, "alpha": 0.5e-6, "bandwidth": 900e9}


@pytest.mark.parametrize("which", LINES, ids=lambda one: one.label)
def test_a_line_costs_what_executes_on_512_ranks(which):
    for segments in (1, 3) if which.entry.algorithm.segmented else (1,):
        done = execute(which.entry.schedule(segments), which.entry.topology)
        assert done.cost == which.entry.cost(segments)


@pytest.mark.parametrize("message", [1e5, 16e6, 1e9])
@pytest.mark.parametrize("which", [one for one in LINES if one.entry.algorithm.segmented], ids=lambda one: one.label)
def test_no_other_number_of_segments_is_better(which, message):
    price = {**PRICE, "message": message}
    for rung, eta in ((which.ideal(**price), PROFILES["ideal"]), (which.real(**price), which.eta)):
        slow = {"message": message, "alpha": 0.5e-6 * float(eta.alpha), "bandwidth": 900e9 * float(eta.beta)}
        times = {p: which.entry.cost(p).seconds(**slow) for p in range(1, 300)}
        assert times[rung.segments] == min(times.values())
        assert rung.seconds == pytest.approx(times[rung.segments])


def test_lines_are_found_by_name_or_refused():
    assert [one.name for one in lines_of("all-gather")] == [
        "in-network",
        "recursive-doubling",
        "dim-ring",
        "breadth-first",
    ]
    with pytest.raises(ValueError, match="no line for broadcast by chain"):
        line("broadcast", "chain")


@pytest.mark.parametrize(
    ("slower", "faster"),
    [
        (("all-reduce", "rabenseifner"), ("all-reduce", "in-network")),
        (("all-reduce", "dim-ring"), ("all-reduce", "rabenseifner")),
        (("all-to-all", "pairwise"), ("all-to-all", "rotated-relay")),
    ],
)
def test_at_the_break_even_two_lines_take_equally_long(slower, faster):
    slow, fast = line(*slower), line(*faster)
    beta = break_even(slow, fast, **PRICE)
    target = slow.real(**PRICE).seconds
    # every count of segments, priced by hand: none beats the slower line below the coefficient, one does above it
    for shift, wins in ((0.999, False), (1.001, True)):
        latency, rate = 0.5e-6 * float(fast.eta.alpha), 900e9 * beta * shift
        pieces = range(1, 100) if fast.entry.algorithm.segmented else (1,)
        best = min(float(c.n_alpha) * latency + float(c.n_beta) * 16e6 / rate for c in map(fast.entry.cost, pieces))
        assert (best < target) == wins


def test_a_line_that_is_slower_at_its_best_never_breaks_even():
    dim_ring, halving = line("all-reduce", "dim-ring"), line("all-reduce", "rabenseifner")
    perfect = Line("all-reduce", "rabenseifner", "star:512", PROFILES["ideal"], "star without losses")
    assert break_even(perfect, dim_ring, **PRICE) is None
    assert break_even(dim_ring, halving, **PRICE) is not None


def test_a_profile_gives_back_the_bus_bandwidth_of_8_gpus_that_it_comes_from():
    """Of M bytes nccl-tests prints 7/4 M over the time, which is n_beta M over what is left of 450 GB/s."""
    for name, n_beta, measured in (
        ("crossbar", Fraction(7, 4), 360),
        ("nvls one-shot", Fraction(1), Fraction("473.1")),
        ("nvls two-shot", Fraction(9, 8), Fraction("473.1")),
    ):
        assert Fraction(7, 4) / (n_beta / PROFILES[name].beta) * 450 == measured
        assert PROFILES[name].alpha == 1
    assert (PROFILES["nvls"].alpha, PROFILES["nvls"].beta) == (1, Fraction("1.3") * PROFILES["crossbar"].beta / 2)
    assert (PROFILES["torus"].alpha, round(float(PROFILES["torus"].beta), 1)) == (Fraction("1.2"), round(1 / 1.63, 1))
