"""Answers on the cheatsheet's rows for the primitives other than all-reduce and all-to-all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from colllib.algorithms import allgather, broadcast, reduce, reducescatter
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


_TWO_COLUMNS = (
    "n_alpha = {} belongs to the unsegmented schedule and n_beta = 1 to the limit of endlessly many segments, "
    "where n_alpha grows without end: no schedule has both."
)


@answer(CHAPTER, "E-00-022")
def _chain_broadcast() -> Finding:
    return counted({"chain": broadcast.chain}, lambda n: Cost(n - 1, 1), SIZES, _TWO_COLUMNS.format("N-1"))


@answer(CHAPTER, "E-00-024")
def _chain_reduce() -> Finding:
    return counted({"chain": reduce.chain}, lambda n: Cost(n - 1, 1), SIZES, _TWO_COLUMNS.format("N-1"))


_ROOT = (
    "On one port the root sends every segment to each of its log2 N children, so n_beta "
    "stays log2 N however finely the "
    "vector is cut; a link per child would be needed for 1."
)


@answer(CHAPTER, "E-00-023")
def _binomial_broadcast() -> Finding:
    return counted({"binomial tree": broadcast.binomial_tree}, lambda n: Cost(_log(n), 1), SIZES, _ROOT)


@answer(CHAPTER, "E-00-025")
def _binomial_reduce() -> Finding:
    return counted({"binomial tree": reduce.binomial_tree}, lambda n: Cost(_log(n), 1), SIZES, _ROOT)


@answer(CHAPTER, "E-00-030")
def _ring_halves() -> Finding:
    builds = {"all-gather": allgather.ring, "reduce-scatter": reducescatter.ring}
    return counted(builds, lambda n: Cost(n - 1, Fraction(n - 1, n)), SIZES)


@answer(CHAPTER, "E-00-031")
def _pat() -> Finding:
    builds = {"all-gather": allgather.pat, "reduce-scatter": reducescatter.pat}
    return counted(builds, lambda n: Cost(_log(n), Fraction(n - 1, n)), SIZES)


@answer(CHAPTER, "E-00-032")
def _recursive_halves() -> Finding:
    builds = {"all-gather": allgather.recursive_doubling, "reduce-scatter": reducescatter.recursive_halving}
    return counted(builds, lambda n: Cost(_log(n), Fraction(n - 1, n)), POWERS)
