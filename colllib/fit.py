"""Fitting alpha and BW to measured times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from colllib.cost import Cost


@dataclass(frozen=True)
class Fit:
    """Two numbers that describe a series of measurements, with their standard errors."""

    cost: Cost  # the counts that were assumed
    alpha: float  # latency in seconds
    bandwidth: float  # bytes per second; infinite if the times do not grow with the size
    alpha_error: float
    bandwidth_error: float
    worst: float  # the largest relative deviation of a measurement from the fit

    def seconds(self, message: float) -> float:
        """The fitted time for M bytes."""
        return float(self.cost.n_alpha) * self.alpha + float(self.cost.n_beta) * message / self.bandwidth


def fit(messages: Sequence[float], seconds: Sequence[float], cost: Cost) -> Fit:
    """The alpha and BW that make n_alpha alpha + n_beta M/BW deviate least, in relative terms.

    Absolute deviations would let the largest message decide alone. Messages are in bytes, the cost is that of the
    algorithm that ran.

    Raises:
        ValueError: if there are fewer than two sizes, a time is not positive, or the counts are 0.

    >>> cost, messages = Cost(6, 2), [1e3, 1e6, 1e9]
    >>> seconds = [cost.seconds(message=m, alpha=2e-6, bandwidth=5e10) for m in messages]
    >>> fitted = fit(messages, seconds, cost)
    >>> round(fitted.alpha * 1e6, 6), round(fitted.bandwidth / 1e9, 6)
    (2.0, 50.0)
    """
    from scipy.optimize import nnls

    size, time = np.asarray(messages, dtype=float), np.asarray(seconds, dtype=float)
    if len(size) != len(time) or len(np.unique(size)) < 2:
        raise ValueError(f"{len(size)} sizes and {len(time)} times: a fit needs one each, of at least 2 sizes")
    if not (np.isfinite(time).all() and (time > 0).all() and np.isfinite(size).all() and (size >= 0).all()):
        raise ValueError("a measurement with a size below 0, or a time that is not above 0: leave it out")
    if not ((cost.n_alpha or 0) > 0 and (cost.n_beta or 0) > 0):  # over several tiers both are None
        raise ValueError(f"{cost!r}: both counts must be above 0, or one of the two numbers cannot be found")
    table = np.stack((float(cost.n_alpha) / time, float(cost.n_beta) * size / time), axis=1)
    scale = np.linalg.norm(table, axis=0)
    table /= scale  # columns of one size: else the inverse below takes one of them for zero
    solution, _ = nnls(table, np.ones(len(time)))
    deviation = table @ solution - 1
    errors = np.full(2, inf)
    if free := len(time) - 2:
        errors = np.sqrt((deviation**2).sum() / free * np.diag(np.linalg.pinv(table.T @ table))) / scale
    solution /= scale
    alpha, slowness = solution.tolist()
    bandwidth = 1 / slowness if slowness > 0 else inf
    bandwidth_error = float(errors[1] * bandwidth**2) if slowness > 0 else inf
    return Fit(cost, alpha, bandwidth, float(errors[0]), bandwidth_error, float(np.abs(deviation).max()))
