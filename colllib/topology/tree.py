"""Groups below switches, groups of groups below further switches, with routes found by arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import ceil
from numbers import Rational

import numpy as np

from colllib.cost import Tier
from colllib.exact import IntArray

# The links that messages take over edges of a tree: the height below them, whether down, which messages, which edges.
Numbering = Callable[[int, bool, IntArray, IntArray], IntArray]


@dataclass(frozen=True)
class Tree:
    """A tree whose nodes of one height are filled one after the other: up to the root, or down, there is one way.

    Args:
        leaves: nodes of height 0, which are 0..leaves-1; the others follow by height.
        sizes: the children of a full node of height 1, of height 2, and so on up to the root.
        first: number of the first switch.

    >>> Tree(5, (2, 3), first=6).ends()
    (array([0, 1, 2, 3, 4, 6, 7, 8]), array([6, 6, 7, 7, 8, 9, 9, 9]))
    """

    leaves: int
    sizes: tuple[int, ...]
    first: int

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """How many nodes there are of each height."""
        return tuple(accumulate(self.sizes, lambda below, size: -(-below // size), initial=self.leaves))

    @property
    def switches(self) -> int:
        """How many nodes are above height 0."""
        return sum(self.counts[1:])

    @cached_property
    def start(self) -> IntArray:
        """The number of the first node of each height."""
        return np.append(0, self.first + np.cumsum((0, *self.counts[1:-1])))

    def ends(self) -> tuple[IntArray, IntArray]:
        """Child and parent of every edge, those from height 0 first."""
        within = [np.arange(count) for count in self.counts[:-1]]
        child = [start + node for start, node in zip(self.start, within, strict=False)]
        parent = [start + node // size for start, node, size in zip(self.start[1:], within, self.sizes, strict=True)]
        return np.concatenate(child), np.concatenate(parent)

    def route(self, src: IntArray, dst: IntArray, numbering: Numbering) -> tuple[IntArray, IntArray]:
        """The messages and links of n routes between nodes of the tree: on the way up lowest edges first, then down."""
        rises: list[tuple[IntArray, IntArray]] = []
        falls: list[tuple[IntArray, IntArray]] = []
        src_height, dst_height = (np.searchsorted(self.start[1:], node, side="right") for node in (src, dst))
        # where the ancestors of both ends stand among the nodes of their height
        source, target = src - self.start[src_height], dst - self.start[dst_height]
        for height, size in enumerate(self.sizes):
            src_reached, dst_reached = src_height <= height, dst_height <= height
            apart = ~(src_reached & dst_reached) | (source != target)
            up, down = np.flatnonzero(src_reached & apart), np.flatnonzero(dst_reached & apart)
            rises.append((up, numbering(height, False, up, source[up])))
            falls.append((down, numbering(height, True, down, target[down])))
            source = np.where(src_reached, source // size, source)
            target = np.where(dst_reached, target // size, target)
        message, link = zip(*rises, *falls[::-1], strict=True)
        return np.concatenate(message), np.concatenate(link)


def uplink(number: int, width: Fraction, level: int = 0) -> Tier:
    """The links upwards from switches of a height, counted from 0, so many BW wide and of as many cables."""
    return Tier(f"uplink {number + 1}" if number else "uplink", width, level=level, cables=ceil(width))


Oversubscription = Fraction | int | Sequence[Fraction | int]


def oversubscription_ratios(oversubscription: Oversubscription, tiers: int) -> list[Fraction]:
    """How many times too narrow the way up is at each of some tiers, innermost first; one value stands for all.

    Raises:
        ValueError: for another number of values, one below 1, or one above 1 where there are no uplinks.
    """
    ratios = list(oversubscription) if isinstance(oversubscription, Sequence) else [oversubscription]
    if len(ratios) not in (1, tiers):
        raise ValueError(
            f"{len(ratios)} oversubscriptions for {tiers} tiers of uplinks: give one for each, innermost first, as 2 "
            "for 2 to 1"
        )
    for ratio in ratios:
        if not isinstance(ratio, Rational):
            raise ValueError(f"oversubscription {ratio!r}: must be a whole number or a Fraction")
        if ratio < 1:
            raise ValueError(f"oversubscription {ratio}: must be at least 1")
        if ratio > 1 and not tiers:
            raise ValueError(f"oversubscription {ratio}: no leaf has links up that could be too few: leave it out")
    return [Fraction(ratio) for ratio in ratios] * (tiers if len(ratios) == 1 else 1)


def ratios_option(ratios: Sequence[Fraction]) -> dict[str, str]:
    """The option of an expression: none where nothing is too narrow, one value where all are equal.

    >>> [ratios_option(oversubscription_ratios(ratios, 2)) for ratios in (3, (1, 2), 1)]
    [{'oversubscription': '3'}, {'oversubscription': '1:2'}, {}]
    """
    if max(ratios, default=1) == 1:
        return {}
    return {"oversubscription": ":".join(map(str, ratios[:1] if len(set(ratios)) == 1 else ratios))}
