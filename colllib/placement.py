"""Where ranks stand: contiguous, strided or at random over the boxes, in groups, or in an order that was sought."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

import numpy as np

from colllib.algorithms import Algorithm
from colllib.algorithms.nested import nested
from colllib.closed_form import no_closed_form
from colllib.cost import Terms
from colllib.exact import IntArray
from colllib.execution import execute, expected_seconds
from colllib.schedule import Schedule, placed
from colllib.topology import Lattice, Topology
from colllib.units import shortened, whole

PLACEMENTS = ("contiguous", "strided", "random", "search")
SEARCHED = 5.0  # seconds, as expected
MOST_TRIED = 2000


def order_of(topology: Topology, kind: str, seed: int = 0) -> IntArray:
    """At which of the topology's places each rank stands.

    Args:
        kind: "contiguous" (box r div G), "strided" (box r mod B), or "random", of which there is one for each seed.

    Raises:
        ValueError: for another kind, or a stride over boxes that are not equal.

    >>> from colllib.topology import boxes
    >>> order_of(boxes((2, 4)), "strided")
    array([0, 4, 1, 5, 2, 6, 3, 7])
    """
    ranks = np.arange(topology.ranks)
    if kind == "contiguous":
        return ranks
    if kind == "random":
        return np.random.default_rng(seed).permutation(topology.ranks)
    if kind != "strided":
        raise ValueError(f"placement {shortened(kind)!r}: must be one of {', '.join(PLACEMENTS[:3])}")
    if not topology.in_box or topology.ranks % topology.in_box:
        raise ValueError(f"placement strided: is made for equal boxes, and {topology.name} has none")
    return ranks.reshape(-1, topology.in_box).T.ravel()


def local_search(
    schedule: Schedule, topology: Topology, *, seed: int = 0, tries: int = MOST_TRIED, **price: Unpack[Terms]
) -> IntArray:
    """A good order of the ranks, by exchanging two ranks or turning some in a row around, again and again.

    It begins with the faster one of rank order and a random order. What makes the schedule faster stays, or, at the
    same time, what lightens the links of the outermost level. It ends after as many tries as take a few seconds,
    `tries` at most, and need not be the best, but is no slower than rank order.

    >>> from colllib.algorithms import allgather
    >>> from colllib.topology import boxes
    >>> price = {"message": 1e9, "alpha": (0, 0), "bandwidth": (450e9, 50e9)}
    >>> order = local_search(allgather.ring(6), boxes((2, 3)), tries=100, **price)
    >>> box = order // 3
    >>> int((box != np.roll(box, 1)).sum())  # how often the ring changes its box
    2
    """
    outermost = np.array([tier.level == topology.levels - 1 for tier in topology.tiers])[topology.tier]

    def objective(order: IntArray) -> tuple[float, int]:
        run = execute(placed(schedule, order.tolist()), topology)
        return run.cost.seconds(**price), int(run.ledger.link[outermost].sum())

    random = np.random.default_rng(seed)
    best = min(order_of(topology, "contiguous"), random.permutation(topology.ranks), key=objective)
    least = objective(best)
    seconds_of_a_try = expected_seconds(f"{schedule!r}", schedule, topology)
    for _ in range(min(tries, int(SEARCHED / seconds_of_a_try)) if schedule.num_steps and topology.ranks > 1 else 0):
        low, high = np.sort(random.choice(topology.ranks, 2, replace=False))
        neighbor = best.copy()
        if random.integers(2):
            neighbor[[low, high]] = neighbor[[high, low]]
        else:
            neighbor[low : high + 1] = neighbor[low : high + 1][::-1]
        value = objective(neighbor)
        if value <= least:
            best, least = neighbor, value
    return best


def at_places(algorithm: Algorithm, order: IntArray) -> Algorithm:
    """The algorithm with its ranks at these places, while it takes them to stand in the order of their numbers.

    >>> from colllib.algorithms import find
    >>> at_places(find("all-gather", "ring"), np.array([0, 2, 1])).build(3).step(0).dst
    array([2, 1, 0])
    """
    build, places = algorithm.build, order.tolist()
    cost = algorithm.cost if algorithm.takes == "ranks" else no_closed_form  # which on axes is that of neighbors
    return replace(algorithm, build=lambda argument, **cut: placed(build(argument, **cut), places), cost=cost)


def in_groups(algorithm: Algorithm, size: int, across: bool) -> Algorithm:
    """The algorithm at once in groups of so many ranks, each with a message of its own.

    A group has neighbors, as tensor-parallel ones do, or across every so manieth rank, as data-parallel ones.

    Raises:
        ValueError: if it is made for a whole topology.

    >>> from colllib.algorithms import find
    >>> in_groups(find("all-gather", "ring"), 2, across=True).build(4).step(0).dst
    array([2, 3, 0, 1])
    """
    if algorithm.takes != "ranks":
        raise ValueError(
            f"{algorithm.primitive} {algorithm.name} is made for a whole topology: groups can be given to algorithms "
            "that go by rank numbers, such as ring"
        )
    build = algorithm.build

    def side_by_side(ranks: int, **cut: int) -> Schedule:
        if size < 1 or ranks % size:
            raise ValueError(f"groups of {size}: must divide {ranks} ranks")
        if (refusal := algorithm.counts(size)) is not None:
            raise ValueError(f"{algorithm.primitive} {algorithm.name} in groups of {size} {refusal}")
        lattice = Lattice((ranks // size, size) if across else (size, ranks // size))
        return nested(lattice, [(int(across), build(size, **cut))])

    return replace(algorithm, build=side_by_side, cost=no_closed_form, counts=lambda _: None)


def read_groups(text: str) -> tuple[int, bool]:
    """The size of a group, and whether groups go across, of "inside:8" or "across:8".

    >>> read_groups("inside:8"), read_groups("across:4")
    ((8, False), (4, True))
    """
    direction, _, size = text.partition(":")
    if direction not in ("inside", "across"):
        raise ValueError(f"groups {shortened(text)!r}: must be such as inside:8 or across:8")
    return whole("groups", size, "inside:8"), direction == "across"


def read_placement(text: str) -> tuple[str, int]:
    """Kind and seed of a placement such as "strided" or "random,7".

    >>> read_placement("random,7"), read_placement("strided")
    (('random', 7), ('strided', 0))
    """
    kind, _, seed = text.partition(",")
    if kind not in PLACEMENTS:
        raise ValueError(f"placement {shortened(kind)!r}: must be one of {', '.join(PLACEMENTS)}")
    if seed and kind not in ("random", "search"):
        raise ValueError(f"placement {shortened(text)!r}: {kind} takes no seed")
    return kind, whole("placement: the seed", seed, "random,1") if seed else 0
