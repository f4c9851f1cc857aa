"""Answers on algorithm bandwidth and bus bandwidth."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from colllib.algorithms import of
from colllib.bounds import bus_factor
from colllib.claims.finding import Finding, answer
from colllib.claims.model import SIZES
from colllib.execution import execute

CHAPTER = "10-bus-bandwidth"


@answer(CHAPTER, "E-01-194")
def _algorithm_bandwidth() -> Finding:
    return Finding.rounds({"100": 1e9 / 10e-3 / 1e9})


def _factor(primitive: str, claimed: dict[int, Fraction], because: str = "") -> Finding:
    return Finding.compare(claimed, {n: bus_factor(primitive, n) for n in SIZES}, because, "nccltests")


_AWAY = {n: Fraction(n - 1, n) for n in SIZES}
_FACTORS = {
    "E-01-195": ("all-reduce", {n: 2 * away for n, away in _AWAY.items()}),
    "E-01-196": ("all-gather", _AWAY),
    "E-01-197": ("reduce-scatter", _AWAY),
    "E-01-198": ("broadcast", _AWAY),
    "E-01-199": ("all-to-all", _AWAY),
    "E-01-200": ("reduce", dict.fromkeys(SIZES, Fraction(1))),
}
_BROADCAST = "nccl-tests multiplies the algorithm bandwidth of a broadcast with 1: every rank receives all of M."
for _id, (_name, _claimed) in _FACTORS.items():
    answer(CHAPTER, _id)(partial(_factor, _name, _claimed, _BROADCAST))


@answer(CHAPTER, "E-01-201")
def _the_factor_is_the_algorithms_n_beta() -> Finding:
    executed = {a.name: Fraction(execute(a.build(64)).cost.n_beta) for a in of("all-reduce")}
    because = (
        "The factor belongs to the primitive: it is the least any algorithm can move over one "
        "full-duplex port per rank. "
        "With a worse algorithm the bus bandwidth falls, which is what it is for."
    )
    return Finding.compare(dict.fromkeys(executed, bus_factor("all-reduce", 64)), executed, because, "nccltests")


@answer(CHAPTER, "E-01-202")
def _bus_bandwidth_of_100_ranks() -> Finding:
    return Finding.rounds({"891": float(450 * bus_factor("all-reduce", 100))})
