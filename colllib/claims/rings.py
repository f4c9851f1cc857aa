"""Answers on the chapter "Ring and Tree Algorithms": two-way rings, rings of rings, ranks that are no power of two."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from colllib.algorithms import allreduce, alltoall, reducescatter
from colllib.algorithms.nested import nested
from colllib.claims.finding import Finding, answer
from colllib.cost import Cost
from colllib.execution import Execution, execute
from colllib.schedule import Schedule, reversed_in_time
from colllib.topology import Lattice, boxes, ring

CHAPTER = "07-all-reduce"
NODES = GPUS = 8
# exercise 3: 600 GB/s and 1 us in a node, 100 GB/s and 5 us between nodes
PRICE: dict[str, Any] = {"message": 1e9, "alpha": (1e-6, 5e-6), "bandwidth": (600e9, 100e9)}


def _ring_of_rings() -> Schedule:
    """Reduce-scatter in the node, then across nodes, and the way back."""
    return hierarchical_ring(NODES, GPUS)


def hierarchical_ring(count: int, ranks: int) -> Schedule:
    """Rings on the boxes, then between them, then back."""
    inside, between = reducescatter.ring(ranks), allreduce.ring(count)
    return nested(Lattice((ranks, count)), [(0, inside), (1, between), (0, reversed_in_time(inside))])


def _phases(run: Execution) -> list[float]:
    """Milliseconds of the reduce-scatter in the node, of all that crosses the network, and of the all-gather."""
    steps, inside = range(run.schedule.num_steps), GPUS - 1
    phases = (steps[:inside], steps[inside:-inside], steps[-inside:])
    return [1e3 * run.cost_of(phase).seconds(**PRICE) for phase in phases]


@answer(CHAPTER, "R-05")
def _flat_against_nested_ring() -> Finding:
    flat, nested = (execute(schedule, boxes((NODES, GPUS))) for schedule in (allreduce.ring(64), _ring_of_rings()))
    slow = flat.cost.seconds(**PRICE) * 1e3
    first, second, third = _phases(nested)
    if round(first, 9) != round(third, 9):
        raise ValueError("the two phases inside a node must take equally long")
    fast = first + second + third
    return Finding.rounds({"20.3": slow, "1.47": first, "2.26": second, "5.2": fast, "3.9": slow / fast})


@answer(CHAPTER, "R-06")
def _bytes_over_the_network() -> Finding:
    executed = {}
    for name, schedule in (("flat ring", allreduce.ring(64)), ("ring of rings", _ring_of_rings())):
        run = execute(schedule, boxes((NODES, GPUS)))
        uplinks = np.flatnonzero(run.topology.link_dst == run.topology.nodes - 1)
        of_node = [run.link_total[int(link)] for link in uplinks]
        executed[name] = f"{float(max(of_node)):.2f} GB out of each node"
    claimed = {"flat ring": "1.00 GB out of each node", "ring of rings": "0.12 GB out of each node"}
    because = (
        "What leaves a node is almost the same in both, 2 (N-1)/N of M against 2 (n-1)/n for n nodes; the nested ring "
        "wins because it spreads it over the eight network cards of the node: 0.22 GB each instead of 1.97 GB on one."
    )
    return Finding.compare(claimed, executed, because)


@answer(CHAPTER, "R-09")
def _two_way_rings() -> Finding:
    executed = {n: execute(allreduce.bidirectional_ring(n), ring(n)).cost for n in (4, 5, 8, 9)}
    claimed = {n: Cost(n - 1, Fraction(n - 1, n)) for n in executed}
    because = (
        "Halves that go opposite ways must each still visit all ranks: 2 (N-1) steps, as in one ring, of half the "
        "bytes. Half the steps need another schedule, in which each partial sum goes the shorter way round, and then "
        "2 floor(N/2) of them: N - 1 for odd N only."
    )
    return Finding.compare(claimed, executed, because)


@answer(CHAPTER, "R-11")
def _ring_against_folded_halving() -> Finding:
    price = {"alpha": 10e-6, "bandwidth": 100e9}
    ring6, halving = execute(allreduce.ring(6)).cost, execute(allreduce.rabenseifner(6)).cost
    ratios = [ring6.seconds(message=m, **price) / halving.seconds(message=m, **price) for m in (1e3, 1e6, 25e6, 1e9)]
    executed = f"{ratios[0]:.2f} times its time at 1 kB, {ratios[-1]:.2f} times at 1 GB"
    because = (
        "At P = 6 the folded halving has fewer steps and twice the bytes of the ring: the ring is much slower for small"
        " messages and twice as fast for large ones, and near 10 % only where the two lines cross."
    )
    return Finding.compare("about 1.1 times its time", executed, because)


@answer(CHAPTER, "R-12")
def _ghosts() -> Finding:
    sent = execute(allreduce.rabenseifner(8)).sent
    return Finding.compare(Fraction(1, 4), sum(sent[6:]) / sum(sent))


def _formula(count: int, ranks: int, oversubscription: int) -> float:
    """The three phases of the nested ring in units of alpha, M / BW being 1,000 of them."""
    inside = Cost(ranks - 1, Fraction(ranks - 1, ranks) / 6)
    between = Cost(5 * 2 * (count - 1), oversubscription * Fraction(2 * (count - 1), count) / ranks)
    return (inside + between + inside).seconds(message=1e3, alpha=1, bandwidth=1)


@answer(CHAPTER, "E-00-045", "E-00-046")
def _three_phases() -> Finding:
    executed, claimed = {}, {}
    for count, ranks, narrow in ((2, 4, 1), (4, 2, 1), (3, 5, 1), (4, 4, 2), (4, 4, 4)):
        run = execute(hierarchical_ring(count, ranks), boxes((count, ranks), oversubscription=narrow))
        seconds = run.cost.seconds(message=1e3, alpha=(1, 5), bandwidth=(6, 1))
        executed[f"{count} boxes of {ranks}, s = {narrow}"] = round(seconds, 6)
        claimed[f"{count} boxes of {ranks}, s = {narrow}"] = round(_formula(count, ranks, narrow), 6)
    return Finding.compare(claimed, executed)


@answer(CHAPTER, "E-00-047")
def _all_to_all_between_boxes() -> Finding:
    executed, claimed = {}, {}
    for count, ranks in ((2, 4), (4, 4), (8, 8)):
        where = boxes((count, ranks))
        run = execute(alltoall.pairwise(count * ranks), where)
        card = np.flatnonzero((where.link_src == 0) & (where.link_dst == count * ranks + count))
        executed[f"{count} boxes of {ranks}"] = run.link_total[int(card[0])]
        claimed[f"{count} boxes of {ranks}"] = 1 - Fraction(1, count * ranks)
    because = (
        "What stays in the box does not cross the network: a rank's card carries (L-1)/L of M for L boxes, and "
        "(N-1)/N only if every box holds one rank."
    )
    return Finding.compare(claimed, executed, because)
