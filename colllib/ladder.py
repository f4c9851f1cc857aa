"""Ladders: every algorithm for one primitive, executed on one topology and priced for one message."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial

from colllib.algorithms import Algorithm, serving
from colllib.cost import Cost, best_segments
from colllib.execution import Execution, execute
from colllib.topology import Lattice, Topology

# the anchor where the numbers of all chapters meet
ANCHOR_RANKS = 512
ANCHOR_MESSAGE = 16e6
ANCHOR_ALPHA = 0.5e-6
ANCHOR_BANDWIDTH = 900e9


@dataclass(frozen=True, eq=False)
class Rung:
    """One algorithm on a ladder.

    Attributes:
        algorithm: which.
        segments: how many, 1 where the algorithm takes none.
        execution: the run that the numbers come from.
        seconds: its lock-step time.
    """

    algorithm: Algorithm
    segments: int
    execution: Execution
    seconds: float

    @property
    def cost(self) -> Cost:
        """The executed cost."""
        return self.execution.cost

    @property
    def label(self) -> str:
        """The algorithm, with its segments where it is pipelined."""
        return self.algorithm.label + (f", P = {self.segments}" if self.segments > 1 else "")


def run(
    algorithm: Algorithm,
    topology: Topology,
    *,
    message: float,
    alpha: float,
    bandwidth: float,
    segments: int | None = None,
) -> Rung:
    """Execute one algorithm and price it.

    Args:
        algorithm: which.
        topology: where.
        message: M in bytes.
        alpha: latency in seconds.
        bandwidth: BW in bytes per second.
        segments: how many; None takes the best whole number where the algorithm is segmented, by the closed form
            where it holds and else by a search over executions.

    Raises:
        ValueError: if segments are given to an algorithm that takes none, or a lattice is needed and missing.

    >>> from colllib import star
    >>> from colllib.algorithms import find
    >>> rung = run(find("all-reduce", "ring"), star(4), message=4e6, alpha=1e-6, bandwidth=1e9)
    >>> rung.cost, round(rung.seconds * 1e6)
    (Cost(n_alpha=6, n_beta=3/2), 6006)
    """
    price = {"message": message, "alpha": alpha, "bandwidth": bandwidth}
    where = argument(algorithm, topology)
    if not algorithm.segmented:
        if segments not in (None, 1):
            raise ValueError(f"{algorithm.primitive} {algorithm.name} takes no segments: leave them out")
        execution = execute(algorithm.build(where), topology)
        return Rung(algorithm, 1, execution, execution.cost.seconds(**price))

    def executed(pieces: int) -> Execution:
        return execute(algorithm.build(where, segments=pieces), topology)

    if segments is None:
        segments = best(algorithm, where, **price) if algorithm.has_closed_form else 1
        execution = executed(segments)
        if not algorithm.has_closed_form or execution.cost != algorithm.cost(where, segments=segments):
            # no closed form for these links: the time along P may have several valleys, so keep the better of two
            found = best_segments(
                cache(lambda pieces: executed(pieces).cost), message=message, alpha=alpha, bandwidth=bandwidth
            )
            execution, segments = min(
                ((execution, segments), (executed(found), found)), key=lambda pair: pair[0].cost.seconds(**price)
            )
    else:
        execution = executed(segments)
    return Rung(algorithm, segments, execution, execution.cost.seconds(**price))


def argument(algorithm: Algorithm, topology: Topology) -> int | Lattice | Topology:
    """What an algorithm is built from there: the number of ranks, the axes, or the topology itself.

    Raises:
        ValueError: if it needs axes and the topology has none.
    """
    if algorithm.takes == "ranks":
        return topology.ranks
    if algorithm.takes == "topology":
        return topology
    if topology.lattice is None:
        name = f"{algorithm.primitive} {algorithm.name}"
        raise ValueError(f"{name} is made for a ring, line, torus or mesh: {topology.name} has no axes")
    return topology.lattice


def best(
    algorithm: Algorithm, ranks: int | Lattice | Topology, *, message: float, alpha: float, bandwidth: float
) -> int:
    """The best whole number of segments by the closed form, which tests hold against execution.

    Raises:
        ValueError: for an algorithm without a closed form.

    >>> from colllib.algorithms import find
    >>> best(find("all-reduce", "double-binary-tree"), 512, message=16e6, alpha=0.5e-6, bandwidth=900e9)
    12
    """
    if not algorithm.has_closed_form:
        raise ValueError(f"{algorithm.primitive} {algorithm.name} has no closed form: give the number of segments")
    return best_segments(partial(algorithm.cost, ranks), message=message, alpha=alpha, bandwidth=bandwidth)


def ladder(
    primitive: str,
    topology: Topology,
    *,
    message: float,
    alpha: float,
    bandwidth: float,
) -> list[Rung]:
    """Every algorithm that can serve N ranks, fastest first, each executed; segmented ones at their best P.

    Args:
        primitive: its name.
        topology: where.
        message: M in bytes.
        alpha: latency in seconds.
        bandwidth: BW in bytes per second.

    >>> from colllib import star
    >>> [rung.label for rung in ladder("all-reduce", star(8), message=1e9, alpha=1e-6, bandwidth=1e9)][:2]
    ['Rabenseifner', 'shortest way ring']
    """
    rungs = [
        run(algorithm, topology, message=message, alpha=alpha, bandwidth=bandwidth)
        for algorithm in serving(primitive, topology)
    ]
    return sorted(rungs, key=lambda rung: (rung.seconds, rung.algorithm.name))
