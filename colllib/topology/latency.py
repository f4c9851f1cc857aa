"""What alpha is made of: the one rule for the trip through a switch."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Latency:
    """What alpha, from rank to rank through one switch, is made of, in units of alpha.

    Args:
        endpoint: software and network interface of the sender.
        hop: one link; there are two of them.
        switch: one traversal of a switch.

    Raises:
        ValueError: if a part is negative or endpoint + 2 hop + switch is not 1.

    >>> Latency(endpoint=Fraction(4, 5), switch=Fraction(1, 5)).up
    Fraction(4, 5)
    """

    endpoint: Fraction = Fraction(1, 2)
    hop: Fraction = Fraction(0)
    switch: Fraction = Fraction(1, 2)

    def __post_init__(self) -> None:
        total = self.endpoint + 2 * self.hop + self.switch
        if min(self.endpoint, self.hop, self.switch) < 0 or total != 1:
            raise ValueError(
                f"endpoint + 2 hop + switch = {total}: the parts of alpha must sum to 1, and none be negative"
            )

    @property
    def up(self) -> Fraction:
        """From a rank to its switch: the endpoint and a link."""
        return Fraction(self.endpoint + self.hop)

    @property
    def down(self) -> Fraction:
        """Out of a switch: its traversal and a link."""
        return Fraction(self.switch + self.hop)

    @property
    def options(self) -> dict[str, Fraction]:
        """The parts that are not as usual, as options of an expression."""
        return {name: part for name, part in vars(self).items() if part != getattr(HALVES, name)}


HALVES = Latency()
