"""What a fabric loses: two coefficients that are meant to stand for contention, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from colllib.algorithms.innetwork import port_load
from colllib.bounds import bus_factor
from colllib.busbw import MEASURED
from colllib.cost import Cost, Kind, Price, Terms, TieredCost


@dataclass(frozen=True)
class Eta:
    """What a fabric is said to lose: alpha times eta_alpha, BW times eta_beta.

    Raises:
        ValueError: for coefficients outside their ranges.
    """

    alpha: Fraction  # eta_alpha, at least 1
    beta: Fraction  # eta_beta, above 0 and at most 1
    source: str = ""  # where the two numbers come from

    def __post_init__(self) -> None:
        if self.alpha < 1 or not 0 < self.beta <= 1:
            raise ValueError(
                f"eta = ({self.alpha}, {self.beta}): alpha's must be at least 1, BW's above 0 and at most 1"
            )


IDEAL = Eta(Fraction(1), Fraction(1), "the model without contention")

#: Bus bandwidths by ranks where NCCL chose NVLS, in bytes per second: as it chose, and with NVLS switched off.
NVLS_BY_RANKS: Mapping[int, tuple[float, float]] = {n: pair for n, pair in MEASURED["H200"].busbw.items() if n > 4}
NVLINK4 = MEASURED["H200"].link

_NVLS_8 = Fraction(round(NVLS_BY_RANKS[8][0]), round(NVLINK4)) / bus_factor("all-reduce", 8)

#: The fabrics of Lu's profile, and two readings of what eight H200s measured with NVLS.
PROFILES: Mapping[str, Eta] = {
    "ideal": IDEAL,
    "crossbar": Eta(Fraction(1), Fraction(4, 5), "Lu, part 05 section 4.1: bus bandwidth 360 of 450 GB/s, 8 H100"),
    "nvls": Eta(Fraction(1), Fraction(13, 25), "Lu, part 05 section 4.1: 1.3 times 0.80 over 2"),
    "nvls one-shot": Eta(Fraction(1), _NVLS_8 * port_load(8, shots=1), "NVLS_BY_RANKS: 473.1 of 450 GB/s over 7/4"),
    "nvls two-shot": Eta(Fraction(1), _NVLS_8 * port_load(8, shots=2), "NVLS_BY_RANKS, times 9/8"),
    "torus": Eta(Fraction(6, 5), Fraction(3, 5), "Lu, part 05 section 4.1: the reciprocal of 1.63, TPU v4"),
}


def effective(cost: Cost, eta: Eta) -> Cost:
    """The cost with the coefficients in it: n_alpha eta_alpha and n_beta / eta_beta, on every tier.

    Source: Lu (2026), part 05, section 4.

    >>> effective(Cost(18, 2), PROFILES["crossbar"])
    Cost(n_alpha=18, n_beta=5/2)
    """
    if eta == IDEAL:
        return cost
    if isinstance(cost, TieredCost):
        kinds = (
            Kind(steps, tuple(part * eta.alpha for part in hops), tuple(load / eta.beta for load in loads))
            for steps, hops, loads in cost.kinds
        )
        return TieredCost(cost.tiers, kinds)
    return Cost(cost.n_alpha * eta.alpha, cost.n_beta / eta.beta)


def slowed(price: Terms, eta: Eta, injected: Fraction | int = 1) -> Terms:
    """The price at which a cost takes what it takes with the coefficients in it, through links of BW over `injected`.

    >>> slowed({"message": 1, "alpha": 5, "bandwidth": (20, 40)}, PROFILES["torus"], injected=6)
    {'message': 1, 'alpha': 6.0, 'bandwidth': (2.0, 4.0)}
    """
    if eta == IDEAL and injected == 1:
        return price

    def times(value: Price, factor: Fraction) -> Price:
        return tuple(one * float(factor) for one in value) if isinstance(value, Sequence) else value * float(factor)

    alpha, bandwidth = times(price["alpha"], eta.alpha), times(price["bandwidth"], eta.beta / injected)
    return {"message": price["message"], "alpha": alpha, "bandwidth": bandwidth}


def implied_eta_beta(bus_bandwidth: float, link: float, n_beta: Fraction | int, ranks: int) -> float:
    """The eta_beta that makes n_beta M / (eta_beta BW) last as long as an all-reduce that was measured.

    A bus bandwidth is M over the time, times 2(N-1)/N with the N of the measurement, and the link's BW is one way, both
    in bytes per second.

    >>> round(implied_eta_beta(360e9, 450e9, Fraction(7, 4), 8), 3), round(implied_eta_beta(470e9, 450e9, 1, 8), 3)
    (0.8, 0.597)
    """
    return float(n_beta) / float(bus_factor("all-reduce", ranks)) * bus_bandwidth / link
