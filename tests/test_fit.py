"""Fitting alpha and BW."""

from math import inf, isclose

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colllib.cost import Cost, Tier, TieredCost
from colllib.fit import fit

SIZES = [1e3, 1e5, 1e6, 1e8, 1e9]


@given(st.floats(1e-7, 1e-4), st.floats(1e8, 1e12), st.integers(1, 1000), st.fractions(1, 20))
def test_exact_times_give_back_what_made_them(alpha, bandwidth, n_alpha, n_beta):
    cost = Cost(n_alpha, n_beta)
    times = [cost.seconds(message=m, alpha=alpha, bandwidth=bandwidth) for m in SIZES]
    fitted = fit(SIZES, times, cost)
    assert fitted.worst < 1e-6
    for m, t in zip(SIZES, times, strict=True):
        assert isclose(fitted.seconds(m), t, rel_tol=1e-6)


def test_noise_is_covered_by_the_standard_errors():
    """Of many noisy series about two thirds must lie within one standard error, 95 % within two."""
    rng = np.random.default_rng(7)
    cost, sizes = Cost(14, 1.75), np.geomspace(1e4, 1e10, 15)
    inside = []
    for _ in range(400):
        times = np.array([cost.seconds(message=m, alpha=2e-6, bandwidth=4e11) for m in sizes])
        fitted = fit(sizes, times * (1 + 0.05 * rng.standard_normal(len(sizes))), cost)
        inside.append(
            (abs(fitted.alpha - 2e-6) / fitted.alpha_error, abs(fitted.bandwidth - 4e11) / fitted.bandwidth_error)
        )
    share = (np.array(inside) < 2).mean(axis=0)
    assert (share > 0.88).all()
    assert (share < 0.99).all()


def test_standard_errors_do_not_depend_on_the_unit_of_the_sizes():
    rng = np.random.default_rng(7)
    cost, sizes = Cost(1, 1), np.geomspace(1e7, 1e10, 11)
    times = np.array([cost.seconds(message=m, alpha=5e-5, bandwidth=3e11) for m in sizes])
    times *= 1 + 0.05 * rng.standard_normal(len(sizes))
    in_bytes, in_gigabytes = fit(sizes, times, cost), fit(sizes / 1e9, times, cost)
    assert isclose(in_bytes.alpha_error, in_gigabytes.alpha_error, rel_tol=1e-6)
    assert isclose(in_bytes.bandwidth_error, 1e9 * in_gigabytes.bandwidth_error, rel_tol=1e-6)


def test_times_that_do_not_grow_have_no_bandwidth():
    fitted = fit([1e3, 1e6, 1e9], [5e-6, 5e-6, 5e-6], Cost(1, 1))
    assert fitted.bandwidth > 1e15 or fitted.bandwidth == inf


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (([1], [1], Cost(1, 1)), "at least 2 sizes"),
        (([1, 2], [1, 2], TieredCost((Tier("box"),), [])), "both counts"),
        (([1, 2], [1], Cost(1, 1)), "2 sizes and 1 times"),
        (([1, 2], [1, 0], Cost(1, 1)), "not above 0"),
        (([1, -2], [1, 1], Cost(1, 1)), "below 0"),
        (([1, 2], [1, 1], Cost(0, 1)), "must be above 0"),
    ],
)
def test_bad_input_is_refused_in_one_line(arguments, complaint):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refusal:
        fit(*arguments)
    assert complaint in str(refusal.value)
