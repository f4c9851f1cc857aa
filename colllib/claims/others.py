"""Answers on the cheatsheet's rows for all-gather, reduce-scatter and all-to-all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from colllib.algorithms import alltoall
from colllib.claims.finding import Finding, answer
from colllib.claims.model import POWERS, SIZES
from colllib.cost import Cost
from colllib.execution import execute
from colllib.schedule import Schedule

CHAPTER = "appendix"


def counted(
    builds: Mapping[str, Callable[[int], Schedule]],
    claimed: Callable[[int], Cost],
    sizes: tuple[int, ...],
    because: str = "",
) -> Finding:
    """The claimed cost against the executed one on a star, for every schedule and N."""
    executed = {f"{name}, N = {n}": execute(build(n)).cost for name, build in builds.items() for n in sizes}
    said = {f"{name}, N = {n}": claimed(n) for name in builds for n in sizes}
    return Finding.compare(said, executed, because)


def _log(n: int) -> int:
    return (n - 1).bit_length()


@answer(CHAPTER, "E-00-033")
def _pairwise() -> Finding:
    return counted({"pairwise": alltoall.pairwise}, lambda n: Cost(n - 1, Fraction(n - 1, n)), SIZES)


@answer(CHAPTER, "E-00-034")
def _ring_relay() -> Finding:
    executed = {n: alltoall.ring_relay(n, bundled=False).num_steps for n in SIZES}
    because = (
        "With one block on a link and step, distances 1 to N/2 need 1 + 2 + ... + N/2 steps: N-1 only up to N = 4 "
        "(with bundles, N/2 steps)."
    )
    return Finding.compare({n: n - 1 for n in SIZES}, executed, because)


@answer(CHAPTER, "E-00-035")
def _bruck() -> Finding:
    sizes = tuple(n for n in POWERS if n <= 64)
    return counted({"Bruck": alltoall.bruck}, lambda n: Cost(_log(n), Fraction(_log(n), 2)), sizes)
