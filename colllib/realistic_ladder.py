"""The ladder of 512 ranks with losses: entries of `ladder`, each with its topology's coefficients in `PROFILES`."""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from colllib.efficiency import PROFILES, Eta
from colllib.ladder import Entry, Rung, entry


@dataclass(frozen=True)
class Line:
    """One line of the realistic ladder: an entry, and what its topology is said to lose."""

    primitive: str
    name: str
    on: str
    eta: Eta  # the coefficients of its topology
    label: str  # what tables call it

    @property
    def entry(self) -> Entry:
        """The algorithm on its topology, with its exact cost."""
        return entry(self.primitive, self.name, self.on)

    def ideal(self, **price: Any) -> Rung:
        """Priced without coefficients, as by `Entry.priced`."""
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
    """The eta_beta of the faster line's topology, to four digits, at which it takes as long as the slower line.

    None if it is not faster even at 1.

    >>> price = {"message": 16e6, "alpha": 0.5e-6, "bandwidth": 900e9}
    >>> round(break_even(line("all-gather", "recursive-doubling"), line("all-gather", "in-network"), **price), 2)
    0.68
    """
    target = slower.real(**price).seconds

    def wins(beta: Fraction) -> bool:
        return faster.entry.priced(**price, eta=Eta(faster.eta.alpha, beta)).seconds < target

    parts = 20_000
    loses = bisect(range(1, parts + 1), False, key=lambda part: wins(Fraction(part, parts)))
    return None if loses == parts else (loses + 1) / parts


_INC, _STAR, _TORUS = "inc-star:512", "star:512", "torus:8x8x8"
_CROSSBAR, _WIRES = PROFILES["crossbar"], PROFILES["torus"]

LINES: tuple[Line, ...] = (
    Line("all-reduce", "in-network", _INC, PROFILES["nvls one-shot"], "star that adds, one shot"),
    Line("all-reduce", "in-network-two-shot", _INC, PROFILES["nvls two-shot"], "star that adds, two shots"),
    Line("all-reduce", "double-binary-tree", _STAR, _CROSSBAR, "star, double binary tree"),
    Line("all-reduce", "rabenseifner", _STAR, _CROSSBAR, "star, Rabenseifner"),
    Line("all-reduce", "dim-ring", _TORUS, _WIRES, "torus, dim-ring"),
    Line("all-reduce", "breadth-first", _TORUS, _WIRES, "torus, breadth-first"),
    Line("all-gather", "in-network", _INC, _CROSSBAR, "star that copies"),
    Line("all-gather", "recursive-doubling", _STAR, _CROSSBAR, "star, recursive doubling"),
    Line("all-gather", "dim-ring", _TORUS, _WIRES, "torus, dim-ring"),
    Line("all-gather", "breadth-first", _TORUS, _WIRES, "torus, breadth-first"),
    Line("all-to-all", "pairwise", _STAR, _CROSSBAR, "star, pairwise"),
    Line("all-to-all", "bruck", _STAR, _CROSSBAR, "star, Bruck"),
    Line("all-to-all", "rotated-relay", _TORUS, _WIRES, "torus, relay in slices"),
)


def lines_of(primitive: str) -> tuple[Line, ...]:
    """The lines of one primitive.

    >>> [line.label for line in lines_of("all-to-all")]
    ['star, pairwise', 'star, Bruck', 'torus, relay in slices']
    """
    return tuple(line for line in LINES if line.primitive == primitive)


def line(primitive: str, name: str) -> Line:
    """The line of an algorithm; refused if there is none.

    >>> line("all-reduce", "dim-ring").entry.cost()
    Cost(n_alpha=42, n_beta=511/256)
    """
    for candidate in lines_of(primitive):
        if candidate.name == name:
            return candidate
    raise ValueError(f"no line for {primitive} by {name}")
