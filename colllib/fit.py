"""Fitting alpha and BW to measured times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from colllib.cost import Cost


@dataclass(frozen=True)
class Fit:
    """Two numbers that describe a series of measurements.

    Attributes:
        cost: the counts that were assumed.
        alpha: latency in seconds.
        bandwidth: bytes per second; infinite if the times do not grow with the size.
        alpha_error: standard error of alpha, in seconds.
        bandwidth_error: standard error of the bandwidth, in bytes per second.
        worst: the largest relative deviation of a measurement from the fit.
    """

    cost: Cost
    alpha: float
    bandwidth: float
    alpha_error: float
    bandwidth_error: float
    worst: float

    def seconds(self, message: float) -> float:
        """The fitted time for M bytes."""
        return float(self.cost.n_alpha) * self.alpha + float(self.cost.n_beta) * message / self.bandwidth


def fit(messages: Sequence[float], seconds: Sequence[float], cost: Cost) -> Fit:
    """The alpha and BW that make n_alpha alpha + n_beta M/BW deviate least, in relative terms.

    Relative deviations weigh a microsecond-sized point as much as a millisecond-sized one; absolute
    ones would let the largest message decide alone.

    Args:
        messages: M of each measurement in bytes, at least two different ones.
        seconds: its time.
        cost: n_alpha and n_beta of the algorithm that ran, both above 0.

    Raises:
        ValueError: if there are fewer than two sizes, a time is not positive, or the counts are 0.

    >>> found = fit([1e3, 1e6, 1e9], [Cost(6, 2).seconds(message=m, alpha=2e-6, bandwidth=5e10)
    ...                               for m in (1e3, 1e6, 1e9)], Cost(6, 2))
    >>> round(found.alpha * 1e6, 6), round(found.bandwidth / 1e9, 6)
    (2.0, 50.0)
    """
    from scipy.optimize import nnls

    size, time = np.asarray(messages, dtype=float), np.asarray(seconds, dtype=float)
    if len(size) != len(time) or len(np.unique(size)) < 2:
        raise ValueError(f"{len(size)} sizes and {len(time)} times: a fit needs one each, of at least 2 sizes")
    if not (np.isfinite(time).all() and (time > 0).all() and np.isfinite(size).all() and (size >= 0).all()):
        raise ValueError("a measurement with a size below 0, or a time that is not above 0: leave it out")
    if not (cost.n_alpha > 0 and cost.n_beta > 0):
        raise ValueError(f"{cost!r}: both counts must be above 0, or one of the two numbers cannot be found")
    table = np.stack((float(cost.n_alpha) / time, float(cost.n_beta) * size / time), axis=1)
    scale = np.linalg.norm(table, axis=0)
    found, _ = nnls(table / scale, np.ones(len(time)))
    alpha, slowness = found / scale
    errors = _standard_errors(table, np.array([alpha, slowness]))
    worst = float(np.abs(table @ np.array([alpha, slowness]) - 1).max())
    bandwidth = 1 / slowness if slowness > 0 else float("inf")
    bandwidth_error = float(errors[1] * bandwidth**2) if isfinite(bandwidth) else float("inf")
    return Fit(cost, float(alpha), float(bandwidth), float(errors[0]), bandwidth_error, worst)


def _standard_errors(table: NDArray[np.float64], found: NDArray[np.float64]) -> NDArray[np.float64]:
    free = len(table) - 2
    if free == 0:
        return np.full(2, np.inf)
    variance = ((table @ found - 1) ** 2).sum() / free
    return np.asarray(np.sqrt(variance * np.diag(np.linalg.pinv(table.T @ table))), dtype=np.float64)
