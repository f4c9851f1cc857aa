"""The ladder at N = 512 with contention coefficients: ways of `fabrics`, each with its part of Lu's profile of eta."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from colllib import fabrics
from colllib.contention import PROFILES, Eta
from colllib.fabrics import Rung, Way


@dataclass(frozen=True)
class Line:
    """One line of the realistic ladder: a way, and what its fabric is said to lose.

    Attributes:
        primitive, name, fabric: which way of `fabrics` it is.
        profile: which coefficients the fabric has.
        label: what tables call it.
    """

    primitive: str
    name: str
    fabric: str
    profile: str
    label: str

    @property
    def way(self) -> Way:
        """The algorithm on its fabric, with its exact cost."""
        return fabrics.way(self.primitive, self.fabric, self.name)

    @property
    def eta(self) -> Eta:
        """The coefficients of its fabric in Lu's profile."""
        return PROFILES[self.profile]

    def ideal(self, **price: float) -> Rung:
        """Priced without coefficients: message, alpha and bandwidth as for `Way.priced`."""
        return self.way.priced(**price)  # type: ignore[arg-type]

    def real(self, **price: float) -> Rung:
        """Priced with the coefficients of its fabric.

        >>> price = {"message": 16e6, "alpha": 0.5e-6, "bandwidth": 900e9}
        >>> tree = line("all-reduce", "double binary tree")
        >>> tree.ideal(**price).segments, tree.real(**price).segments
        (12, 13)
        """
        return self.way.priced(**price, eta=self.eta)  # type: ignore[arg-type]


def break_even(slower: Line, faster: Line, **price: float) -> float | None:
    """The eta_beta of the faster line's fabric at which it takes as long as the slower line.

    Args:
        slower: with its own coefficients.
        faster: with its own eta_alpha, and eta_beta falling from 1.
        price: message, alpha and bandwidth as for `Way.priced`.

    Returns:
        The coefficient to four digits, or None if the line is not faster even at 1.

    >>> price = {"message": 16e6, "alpha": 0.5e-6, "bandwidth": 900e9}
    >>> round(break_even(line("all-gather", "recursive doubling"), line("all-gather", "in network"), **price), 2)
    0.68
    """
    target = slower.real(**price).seconds

    def wins(beta: Fraction) -> bool:
        return faster.way.priced(**price, eta=Eta(faster.eta.alpha, beta)).seconds < target  # type: ignore[arg-type]

    low, high = Fraction(0), Fraction(1)
    if not wins(high):
        return None
    while high - low > Fraction(1, 20_000):
        middle = (low + high) / 2
        low, high = (low, middle) if wins(middle) else (middle, high)
    return float(high)


_INC, _STAR, _TORUS = "inc-star:512", "star:512", "torus:8x8x8"

LINES: tuple[Line, ...] = (
    Line("all-reduce", "in network", _INC, "nvls", "star that adds, one shot"),
    Line("all-reduce", "in network two shot", _INC, "nvls two-shot", "star that adds, two shots"),
    Line("all-reduce", "double binary tree", _STAR, "crossbar", "star, double binary tree"),
    Line("all-reduce", "Rabenseifner", _STAR, "crossbar", "star, Rabenseifner"),
    Line("all-reduce", "dim ring", _TORUS, "torus", "torus, dim-ring"),
    Line("all-reduce", "breadth first", _TORUS, "torus", "torus, breadth-first"),
    Line("all-gather", "in network", _INC, "crossbar", "star that replicates"),
    Line("all-gather", "recursive doubling", _STAR, "crossbar", "star, recursive doubling"),
    Line("all-gather", "dim ring", _TORUS, "torus", "torus, dim-ring"),
    Line("all-gather", "breadth first", _TORUS, "torus", "torus, breadth-first"),
    Line("all-to-all", "pairwise", _STAR, "crossbar", "star, pairwise"),
    Line("all-to-all", "Bruck", _STAR, "crossbar", "star, Bruck"),
    Line("all-to-all", "rotated relay", _TORUS, "torus", "torus, relay"),
)


def lines_of(primitive: str) -> tuple[Line, ...]:
    """The lines of one primitive.

    >>> [line.label for line in lines_of("all-to-all")]
    ['star, pairwise', 'star, Bruck', 'torus, relay']
    """
    return tuple(line for line in LINES if line.primitive == primitive)


def line(primitive: str, name: str) -> Line:
    """The line of an algorithm.

    Raises:
        ValueError: if there is none.

    >>> line("all-reduce", "dim ring").way.cost(1)
    Cost(n_alpha=42, n_beta=511/256)
    """
    for found in LINES:
        if (found.primitive, found.name) == (primitive, name):
            return found
    raise ValueError(f"no line for {primitive} by {name}")
