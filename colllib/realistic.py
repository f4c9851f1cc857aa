"""The ladder at N = 512 with contention coefficients: executed costs, priced by Lu's profile of eta."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from colllib import ladder
from colllib.algorithms import find, relay
from colllib.contention import PROFILES, Eta, effective
from colllib.cost import Cost, best_segments
from colllib.execution import execute
from colllib.topology import Lattice, Topology
from colllib.topology import find as find_topology

FEW = 4  # stages of the longest pipeline


@dataclass(frozen=True)
class Line:
    """One line of the realistic ladder.

    Attributes:
        primitive: what is done.
        name: the algorithm, as in the table of algorithms.
        fabric: the topology's name, with 512 ranks.
        profile: which coefficients the fabric has.
        label: what tables call it.
    """

    primitive: str
    name: str
    fabric: str
    profile: str
    label: str

    @property
    def segmented(self) -> bool:
        """Whether it is cut into segments."""
        return self.name != "relay" and find(self.primitive, self.name).segmented

    def cost(self, segments: int = 1) -> Cost:
        """Its lock-step cost in P segments: closed forms that tests hold against execution, else executed once."""
        return _cost(self, segments)

    def segments(self, eta: Eta, *, message: float, alpha: float, bandwidth: float) -> int:
        """The best whole number of segments where the coefficients hold."""
        if not self.segmented:
            return 1
        latency, rate = alpha * float(eta.alpha), bandwidth * float(eta.beta)

        def seconds(segments: int) -> float:
            return self.cost(segments).seconds(message=message, alpha=latency, bandwidth=rate)

        # with few segments a pipeline of k stages is a schedule of its own kind: the search runs over more
        more = FEW + best_segments(lambda p: self.cost(p + FEW), message=message, alpha=latency, bandwidth=rate)
        return int(min((*range(1, FEW + 1), more), key=seconds))

    def seconds(self, eta: Eta, *, message: float, alpha: float, bandwidth: float) -> float:
        """Its time with the coefficients, at the best number of segments."""
        price = {"message": message, "alpha": alpha, "bandwidth": bandwidth}
        return effective(self.cost(self.segments(eta, **price)), eta).seconds(**price)

    @property
    def eta(self) -> Eta:
        """The coefficients of its fabric in Lu's profile."""
        return PROFILES[self.profile]

    def executed(self, segments: int = 1) -> Cost:
        """Its cost, executed and proved, once for each number of segments."""
        return _executed(self, segments)


def break_even(slower: Line, faster: Line, eta: Eta, *, message: float, alpha: float, bandwidth: float) -> float | None:
    """The eta_beta of the faster line's fabric at which it takes as long as the slower line.

    Args:
        slower: priced with `eta`.
        faster: priced with its own eta_alpha, and eta_beta falling from 1.
        eta: the coefficients of the slower line's fabric.
        message: M in bytes.
        alpha: latency in seconds.
        bandwidth: BW in bytes per second.

    Returns:
        The coefficient to four digits, or None if the line is not faster even at 1.

    >>> price = {"message": 16e6, "alpha": 0.5e-6, "bandwidth": 900e9}
    >>> round(break_even(line("all-gather", "recursive-doubling"), line("all-gather", "in-network"),
    ...                  PROFILES["crossbar"], **price), 2)
    0.68
    """
    price = {"message": message, "alpha": alpha, "bandwidth": bandwidth}
    target = slower.seconds(eta, **price)

    def wins(beta: Fraction) -> bool:
        return faster.seconds(Eta(faster.eta.alpha, beta), **price) < target

    low, high = Fraction(0), Fraction(1)
    if not wins(high):
        return None
    while high - low > Fraction(1, 20_000):
        middle = (low + high) / 2
        low, high = (low, middle) if wins(middle) else (middle, high)
    return float(high)


@cache
def topology_of(fabric: str) -> Topology:
    """The topology that a line runs on."""
    return find_topology(fabric)


@cache
def _executed(line: Line, segments: int) -> Cost:
    topology = topology_of(line.fabric)
    if line.name == "relay":
        return execute(relay.relay(Lattice((8, 8, 8)), tie="split", rotated=True), topology).cost
    algorithm = find(line.primitive, line.name)
    options = {"segments": segments} if line.segmented else {}
    return execute(algorithm.build(ladder.argument(algorithm, topology), **options), topology).cost


@cache
def _cost(line: Line, segments: int) -> Cost:
    if line.name == "relay":
        # ties split and slices rotated: every link is busy in every step
        lattice = Lattice((8, 8, 8))
        return Cost(sum(size // 2 for size in lattice.dims), relay.relay_load(lattice))
    algorithm = find(line.primitive, line.name)
    options = {"segments": segments} if line.segmented else {}
    return algorithm.cost(ladder.argument(algorithm, topology_of(line.fabric)), **options)


_INC, _STAR, _TORUS = "inc-star:512", "star:512", "torus:8x8x8"

LINES: tuple[Line, ...] = (
    Line("all-reduce", "in-network", _INC, "nvls", "star that adds, one shot"),
    Line("all-reduce", "in-network-two-shot", _INC, "nvls two-shot", "star that adds, two shots"),
    Line("all-reduce", "double-binary-tree", _STAR, "crossbar", "star, double binary tree"),
    Line("all-reduce", "rabenseifner", _STAR, "crossbar", "star, Rabenseifner"),
    Line("all-reduce", "dim-ring", _TORUS, "torus", "torus, dim-ring"),
    Line("all-reduce", "breadth-first", _TORUS, "torus", "torus, breadth-first"),
    Line("all-gather", "in-network", _INC, "crossbar", "star that replicates"),
    Line("all-gather", "recursive-doubling", _STAR, "crossbar", "star, recursive doubling"),
    Line("all-gather", "dim-ring", _TORUS, "torus", "torus, dim-ring"),
    Line("all-gather", "breadth-first", _TORUS, "torus", "torus, breadth-first"),
    Line("all-to-all", "pairwise", _STAR, "crossbar", "star, pairwise"),
    Line("all-to-all", "bruck", _STAR, "crossbar", "star, Bruck"),
    Line("all-to-all", "relay", _TORUS, "torus", "torus, relay"),
)


def lines_of(primitive: str) -> tuple[Line, ...]:
    """The lines of one primitive.

    >>> [line.label for line in lines_of("all-to-all")]
    ['star, pairwise', 'star, Bruck', 'torus, relay']
    """
    return tuple(line for line in LINES if line.primitive == primitive)


def line(primitive: str, name: str, fabric: str = "") -> Line:
    """The line of an algorithm, on the fabric whose name begins so.

    Raises:
        ValueError: if there is none.

    >>> line("all-reduce", "dim-ring").cost()
    Cost(n_alpha=42, n_beta=511/256)
    """
    for found in LINES:
        if (found.primitive, found.name) == (primitive, name) and found.fabric.startswith(fabric):
            return found
    raise ValueError(f"no line for {primitive} {name} {fabric}")
