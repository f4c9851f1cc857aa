"""All-reduce by trees: what the linear program says it can reach, and the trees that reach it.

To reduce along trees and then to broadcast along the same ones takes two all-gathers' time. A linear
program may do better: it gives each link's bandwidth to the way in or the way out, and lets ranks be
roots of unequal parts (Zhao et al. 2026, "Allreduce Linear Program"). Where all ranks have the same
bandwidth that was thought to gain nothing; it gains with three ranks behind two switches, and with five
that are joined directly (`five_ranks`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from scipy.sparse import block_array, block_diag, csr_array, eye_array, hstack, vstack

from colllib.exact import IntArray, integers
from colllib.forest.bound import Bound, bound, feasible
from colllib.forest.fabric import Fabric, fabric
from colllib.forest.packing import pack
from colllib.forest.splitting import matched
from colllib.forest.trees import Forest, forest
from colllib.limits import check_size
from colllib.schedule import Schedule, in_sequence
from colllib.topology import Topology, from_links
from colllib.topology.expression import find

MOST_VARIABLES = 2**17
MOST_PARTS = 2**10  # the largest denominator of a share that is looked for
TOO_FINE = "the shares that the linear program finds have no small common denominator"


@dataclass(frozen=True, eq=False)
class Division:
    """The optimum of the linear program."""

    rate: Fraction  # of the whole all-reduce, in messages per unit of bandwidth; it takes M / rate
    roots: tuple[Fraction, ...]  # what part of the rate each rank is the root of, shape (N,)
    pairs: IntArray  # the ranks that a link joins, or a route through switches, shape (P, 2)
    outward: tuple[Fraction, ...]  # the bandwidth of each pair for trees out of the roots, shape (P,)
    inward: tuple[Fraction, ...]  # and for those to them, shape (P,)


def divided(fabric: Fabric) -> Division:
    """The linear program on a fabric, by HiGHS; what switches pass on, they pass from one rank to one other.

    Raises:
        TooLarge: for more variables than are taken.
        ValueError: where the solver finds no optimum, with speeds too far apart for its floats.

    >>> str(divided(fabric(find("boxes:2x2"))).rate)  # as two all-gathers of 3/8 each
    '4/3'
    """
    from scipy.optimize import LinearConstraint, milp

    name, ranks, nodes = fabric.topology.name, fabric.ranks, fabric.nodes
    links = np.argwhere(fabric.capacity)
    others = ~np.eye(ranks, dtype=np.bool_)
    elsewhere = ~np.eye(ranks, nodes, dtype=np.bool_).ravel()
    pairs = np.argwhere(others) if nodes > ranks else links
    # what a rank gives to others leaves it and then switches: a column for each rank and each such link
    source, link = np.nonzero((links[:, 0] == np.arange(ranks)[:, None]) | (links[:, 0] >= ranks))
    count, passed = len(pairs), len(link)
    variables = ranks + 2 * count * (1 + ranks) + passed
    check_size(f"the linear program of {name}", variables, MOST_VARIABLES, "variables")
    # columns: roots; what pairs give outwards and inwards; flows to every rank and from every rank; what links pass
    leaves = _leaves(pairs, ranks)
    conserved: Any = block_diag([leaves[rows] for rows in others] + [-leaves[rows] for rows in others])
    started = vstack([csr_array(np.eye(ranks))[rows] for rows in others] * 2)
    allotted: Any = block_diag([vstack([eye_array(count)] * ranks)] * 2)
    delivered: Any = hstack([_ones(pairs[:, 0] * nodes + pairs[:, 1], ranks * nodes)[elsewhere]] * 2)
    arrived = -_leaves(source[:, None] * nodes + links[link], ranks * nodes)[elsewhere]
    flows, through = eye_array(2 * ranks * count), _ones(link, len(links))
    equal = [[-started, None, conserved, None], [None, -delivered, None, arrived]]
    rows: Any = block_array([*equal, [None, -allotted, flows, None], [None, None, None, through]])
    most = np.r_[np.zeros(rows.shape[0] - len(links)), fabric.capacity[*links.T].astype(float)]
    least = np.where(np.arange(len(most)) < started.shape[0] + delivered.shape[0], 0, -np.inf)
    solution: Any = milp(
        np.r_[-np.ones(ranks), np.zeros(variables - ranks)], constraints=LinearConstraint(rows, least, most)
    )
    if solution.x is None:
        raise ValueError(f"{name}: {TOO_FINE}")
    values = (-solution.fun, *solution.x[: ranks + 2 * count].tolist())
    rate, *parts = (fabric.unit * Fraction(value).limit_denominator(MOST_PARTS) for value in values)
    ends = ranks + count
    return Division(rate, tuple(parts[:ranks]), pairs, tuple(parts[ranks:ends]), tuple(parts[ends:]))


def _ones(row: IntArray, height: int) -> Any:
    """One 1 in each column, in its row."""
    return csr_array((np.ones(len(row)), (row, np.arange(len(row)))), shape=(height, len(row)))


def _leaves(links: IntArray, nodes: int) -> Any:
    """1 where a link starts, -1 where it ends, shape (nodes, links)."""
    return _ones(links[:, 0], nodes) - _ones(links[:, 1], nodes)


def all_reduce(topology: Topology) -> Schedule:
    """Trees in and trees out, as fast as the linear program says; where it gains nothing, those of two all-gathers.

    Raises:
        ValueError: for switches, or where the program's floats stand for no fractions of small denominators.
    """
    if topology.switches:
        raise ValueError(
            f"{topology.name} has switches: the linear program's trees need ranks alone; forest(..., "
            'primitive="all-reduce") packs the trees of two all-gathers here'
        )
    network = fabric(topology)
    division = divided(network)
    symmetric = (network.capacity == network.capacity.T).all()
    if symmetric and division.rate == Fraction(network.total) / (2 * bound(network).inverse_throughput):
        return forest(topology, primitive="all-reduce").schedule()
    denominator = lcm(*(part.denominator for part in (*division.roots, *division.outward, *division.inward)))
    supply = integers(int(part * denominator) for part in division.roots)
    units = integers(int(part * denominator) for part in (*division.outward, *division.inward))
    outward, inward = (np.zeros((topology.ranks,) * 2, dtype=units.dtype) for _ in range(2))
    outward[*division.pairs.T], inward[*division.pairs[:, ::-1].T] = np.array_split(units, 2)
    busy = replace(network, weight=supply)
    if denominator > MOST_PARTS or not (feasible(busy, outward, 1) and feasible(busy, inward, 1)):
        raise ValueError(f"{topology.name}: {TOO_FINE}")
    sides = ([(tree.size, tree) for tree in pack(capacity, supply)] for capacity in (outward, inward))
    pairs = [[replace(tree, size=size, paths=tree.edges) for tree in two] for size, *two in matched(*sides)]
    out, into = zip(*pairs, strict=True)
    limit = Bound(Fraction(int(supply.sum())) / sum(division.roots), (), 1, Fraction(1))
    return in_sequence(
        Forest("reduce-scatter", fabric(topology, weights=supply.tolist(), inward=True), limit, into).schedule(),
        Forest("all-gather", busy, limit, out).schedule(),
    )


def five_ranks() -> Topology:
    """A triangle and a pair joined by two thin links, 4 units out of every rank: in and out at once gains a fifth.

    >>> str(divided(fabric(five_ranks())).rate), str(bound(fabric(five_ranks())).inverse_throughput)
    ('2', '3/2')
    """
    wide = {(0, 1): 1, (0, 2): 2, (1, 2): 2, (3, 4): 3, (0, 3): 1, (1, 4): 1}
    links = [link for a, b in wide for link in ((a, b), (b, a))]
    return from_links("five ranks", 5, links, bandwidth=[wide[min(link), max(link)] for link in links])


def half_boxes() -> Topology:
    """Half a box of MI250 next to another half, the switch between them used to join die r to die r of the other.

    What runs here runs on `mi250-8x2` as well, where the switch joins all of them.

    >>> str(divided(fabric(half_boxes())).rate), str(bound(fabric(half_boxes())).inverse_throughput)
    ('128', '1/13')
    """
    two_boxes = fabric(find("mi250-8x2"))
    ranks = two_boxes.ranks
    wide = two_boxes.capacity[:ranks, :ranks].copy()
    wide[np.arange(ranks), (np.arange(ranks) + ranks // 2) % ranks] = two_boxes.capacity[:ranks, ranks]
    links = [(a, b) for a, b in np.argwhere(wide).tolist()]
    return from_links(
        "two halves of MI250", ranks, links, bandwidth=[int(wide[link]) * two_boxes.unit for link in links]
    )
