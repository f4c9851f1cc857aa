"""Answers on the map from parallelism axes to collectives."""

from __future__ import annotations

from fractions import Fraction

from colllib.algorithms import allgather, allreduce, alltoall, pointtopoint
from colllib.claims.finding import Finding, answer, counted
from colllib.claims.model import POWERS, SIZES
from colllib.cost import Cost
from colllib.execution import execute
from colllib.topology import ring

CHAPTER = "12-from-primitives-to-parallelism"


@answer(CHAPTER, "E-01-120", "E-01-123")
def _ring_all_reduce() -> Finding:
    return counted({"ring": allreduce.ring}, lambda n: Cost(2 * (n - 1), Fraction(2 * (n - 1), n)), SIZES)


@answer(CHAPTER, "E-01-121", "E-01-124")
def _double_tree() -> Finding:
    because = (
        "In one piece both children of an inner node send half a vector into its one port in the same step, so a level "
        "costs M and not M/2: n_beta is 2 log2 N - 1; a port for each child would halve that, and pieces bring it "
        "towards 2."
    )
    builds = {"double binary tree": allreduce.double_binary_tree}
    return counted(builds, lambda n: Cost(2 * (n - 1).bit_length(), (n - 1).bit_length()), POWERS, because)


@answer(CHAPTER, "E-01-126")
def _ring_all_gather() -> Finding:
    return counted({"ring": allgather.ring}, lambda n: Cost(n - 1, Fraction(n - 1, n)), SIZES)


@answer(CHAPTER, "E-01-127")
def _ring_relay() -> Finding:
    # on the ring of neighbors that the row is for, ties upwards as the source breaks them
    executed, claimed = {}, {}
    for n in (2, 3, 4, 5, 6, 7, 8, 12, 16):
        for bundled in (True, False):
            key = f"N = {n}, {'bundles' if bundled else 'one block on a link and step'}"
            executed[key] = execute(alltoall.ring_relay(n, bundled=bundled), ring(n)).cost
            claimed[key] = Cost(n - 1, Fraction(n - 1, n))
    because = (
        "A block that travels d hops loads d links, so each link carries about N/8 of M, in N/2 steps with bundles or "
        "in 1 + 2 + ... steps of one block; the form holds where they happen to agree (N = 2, 4 and 7), not beyond."
    )
    return Finding.compare(claimed, executed, because)


@answer(CHAPTER, "E-01-128")
def _pairwise() -> Finding:
    return counted({"pairwise": alltoall.pairwise}, lambda n: Cost(n - 1, Fraction(n - 1, n)), SIZES)


@answer(CHAPTER, "E-01-129")
def _hop() -> Finding:
    return counted({"direct": pointtopoint.direct}, lambda n: Cost(1, 1), tuple(n for n in SIZES if n > 1))
