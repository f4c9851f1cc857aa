"""Answers on lower bounds."""

from __future__ import annotations

from fractions import Fraction

from colllib.algorithms import alltoall, find, of
from colllib.bounds import lower_bound
from colllib.claims.finding import Finding, answer
from colllib.claims.model import SIZES
from colllib.execution import execute

CHAPTER = "03-lower-bounds"


def _bound(primitive: str, claimed: dict[int, Fraction], because: str = "") -> Finding:
    executed = {n: min(Fraction(execute(a.build(n)).cost.n_beta) for a in of(primitive) if a.fits(n)) for n in SIZES}
    assert all(executed[n] >= lower_bound(primitive, n).n_beta for n in SIZES)
    return Finding.compare(claimed, executed, because)


@answer(CHAPTER, "E-00-018")
def _bound_of_broadcast() -> Finding:
    executed = {n: min(min(execute(a.build(n)).received[1:]) for a in of("broadcast")) for n in SIZES}
    because = (
        "No schedule goes below (N-1)/N, but the bound is higher: a rank that lacks the vector must receive all of it, "
        "so n_beta is at least 1. (N-1)/N is the bound for what is scattered or gathered."
    )
    return Finding.compare({n: Fraction(n - 1, n) for n in SIZES}, executed, because, "chan2007")


@answer(CHAPTER, "E-00-019")
def _bound_of_all_gather() -> Finding:
    return _bound("all-gather", {n: Fraction(n - 1, n) for n in SIZES})


@answer(CHAPTER, "E-00-020")
def _bound_of_all_reduce() -> Finding:
    return _bound("all-reduce", {n: Fraction(2 * (n - 1), n) for n in SIZES})


@answer(CHAPTER, "E-00-021")
def _bound_of_all_to_all() -> Finding:
    executed = {n: Fraction(execute(alltoall.pairwise(n)).cost.n_beta) for n in SIZES}
    return Finding.compare({n: Fraction(n - 1, n) for n in SIZES}, executed)


@answer(CHAPTER, "M-41")
def _what_a_logarithmic_algorithm_loses() -> Finding:
    # 1 GB over 64 ranks, on the InfiniBand port of 50 GB/s on which the text lets its 64 GPUs train
    optimal = execute(find("all-reduce", "ring").build(64)).cost.n_beta
    lost = {
        name: float(execute(find("all-reduce", name).build(64)).cost.n_beta - optimal) * 1e9 / 50e9 * 1e3
        for name in ("recursive-doubling", "binomial-tree")
    }
    told = {name: "several ms" if ms < 10 else f"{ms:.0f} ms" for name, ms in lost.items()}
    because = (
        "On the 50 GB/s port that the text gives its 64 GPUs the loss is tens to hundreds of milliseconds; several "
        "milliseconds would need links near 1 TB/s."
    )
    return Finding.compare(dict.fromkeys(told, "several ms"), told, because)
