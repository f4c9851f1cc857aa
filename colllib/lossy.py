"""The ladder of 512 ranks with losses: entries of `ladder`, each with its topology's part of Lu's profile of eta."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from colllib.ladder import Entry, Rung, entry
from colllib.losses import PROFILES, Eta


@dataclass(frozen=True)
class Line:
    """One line of the lossy ladder: an entry, and what its topology is said to lose.

    Attributes:
        primitive, name, on: which entry it is.
        profile: which coefficients its topology has.
        label: what tables call it.
    """

    primitive: str
    name: str
    on: str
    profile: str
    label: str

    @property
    def entry(self) -> Entry:
        """The algorithm on its topology, with its exact cost."""
        return entry(self.primitive, self.name, self.on)

    @property
    def eta(self) -> Eta:
        """The coefficients of its topology in Lu's profile."""
        return PROFILES[self.profile]

    def ideal(self, **price: Any) -> Rung:
        """Priced without coefficients: message, alpha and bandwidth as for `Entry.priced`."""
        return self.entry.priced(**price)

    def real(self, **price: Any) -> Rung:
        """Priced with the coefficients of its topology.

        >>> price = {"message": 16e6, "alpha": 0.5e-6, "bandwidth": 900e9}
        >>> tree = line("all-reduce", "double-binary-tree")
        >>> tree.ideal(**price).segments, tree.real(**price).segments
        (12, 13)
        """
        return self.entry.priced(**price, eta=self.eta)


def break_even(slower: Line, faster: Line, **price: Any) -> float | None:
    """The eta_beta of the faster line's topology at which it takes as long as the slower line.

    Args:
        slower: with its own coefficients.
        faster: with its own eta_alpha, and eta_beta falling from 1.
        price: message, alpha and bandwidth as for `Entry.priced`.

    Returns:
        The coefficient to four digits, or None if the line is not faster even at 1.

    >>> price = {"message": 16e6, "alpha": 0.5e-6, "bandwidth": 900e9}
    >>> round(break_even(line("all-gather", "recursive-doubling"), line("all-gather", "in-network"), **price), 2)
    0.68
    """
    target = slower.real(**price).seconds

    def wins(beta: Fraction) -> bool:
        return faster.entry.priced(**price, eta=Eta(faster.eta.alpha, beta)).seconds < target

    low, high = Fraction(0), Fraction(1)
    if not wins(high):
        return None
    while high - low > Fraction(1, 20_000):
        middle = (low + high) / 2
        low, high = (low, middle) if wins(middle) else (middle, high)
    return float(high)


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
    Line("all-to-all", "rotated-relay", _TORUS, "torus", "torus, relay"),
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

    >>> line("all-reduce", "dim-ring").entry.cost()
    Cost(n_alpha=42, n_beta=511/256)
    """
    for found in LINES:
        if (found.primitive, found.name) == (primitive, name):
            return found
    raise ValueError(f"no line for {primitive} by {name}")
