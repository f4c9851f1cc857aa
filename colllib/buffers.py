"""How a rank's buffer holds blocks, and what a rank sends from it and receives into it, step by step.

A rank's input is the blocks that it holds or contributes to, its output the blocks that it must hold
afterwards, one after another, by source rank, then by target rank, then by number. That is how MPI's
own buffers are laid out.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from colllib.exact import IntArray
from colllib.primitives import Blocks
from colllib.schedule import Schedule

Array = NDArray[Any]


def fitting(blocks: Blocks, at_least: int = 1) -> int:
    """The smallest message, in elements and of as many at least, that no share cuts through an element.

    >>> from colllib.primitives import all_gather
    >>> fitting(all_gather(6)), fitting(all_gather(6), at_least=1000)
    (6, 1002)
    """
    share = blocks.share
    unit = share.denominator // gcd(share.denominator, *share.numerators.tolist())
    return unit * max(1, -(-at_least // unit))


def counts(blocks: Blocks, elements: int) -> IntArray:
    """How many elements each block has in a message of `elements`.

    Raises:
        ValueError: if a share cuts through an element, naming the lengths that fit.

    >>> from fractions import Fraction
    >>> from colllib.primitives import broadcast
    >>> counts(broadcast(4, shares=[Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]), 12)
    array([6, 4, 2])
    """
    unit = fitting(blocks)
    if elements < 1 or elements % unit:
        above = unit * max(1, -(-elements // unit))
        fitting_lengths = f"{above - unit} or {above}" if above > unit else f"{above}"
        raise ValueError(f"{elements} elements: the blocks need a multiple of {unit}, such as {fitting_lengths}")
    share = blocks.share
    # each product is divisible; Python's integers do not overflow on the way
    return np.array([n * elements // share.denominator for n in share.numerators.tolist()], dtype=np.intp)


def inputs(blocks: Blocks, rank: int) -> IntArray:
    """The blocks that a rank holds or contributes to, in the order of its input buffer.

    >>> from colllib.primitives import all_to_all
    >>> inputs(all_to_all(3), rank=1)
    array([3, 4, 5])
    """
    return _in_order(blocks, blocks.source, rank)


def outputs(blocks: Blocks, rank: int) -> IntArray:
    """The blocks that a rank must hold afterwards, in the order of its output buffer.

    >>> from colllib.primitives import all_to_all
    >>> outputs(all_to_all(3), rank=1)
    array([1, 4, 7])
    """
    return _in_order(blocks, blocks.target, rank)


def _in_order(blocks: Blocks, side: IntArray, rank: int) -> IntArray:
    with_rank = [who for who in np.unique(side) if rank in blocks.holders(int(who))]
    # groups of ranks count as equal: only single ranks sort
    order = np.lexsort((np.minimum(blocks.target, blocks.ranks), np.minimum(blocks.source, blocks.ranks)))
    return order[np.isin(side[order], with_rank)]


class Turn(NamedTuple):
    """A rank's part of one step."""

    sends: dict[int, list[Array]]  # blocks, by the rank that they go to
    expects: dict[int, int]  # a number of elements, by the rank that they come from
    arrived: dict[int, Array]  # what came, likewise: for who takes the turn to fill


def turns(schedule: Schedule, rank: int, contents: dict[int, Array], count: IntArray) -> Iterator[Turn]:
    """One rank's part of each step: everything leaves before anything that arrives is applied, as the next one begins.

    Args:
        contents: what the rank holds, by block; it changes.
        count: how many elements each block has.
    """
    for step in schedule.steps:
        to_me, from_me = step.dst == rank, step.src == rank
        coming = {int(src): np.flatnonzero(to_me & (step.src == src)) for src in np.unique(step.src[to_me])}
        leaving = {int(dst): np.flatnonzero(from_me & (step.dst == dst)) for dst in np.unique(step.dst[from_me])}
        sends = {dst: [contents[block] for block in step.block[which].tolist()] for dst, which in leaving.items()}
        turn = Turn(sends, {src: int(count[step.block[which]].sum()) for src, which in coming.items()}, {})
        yield turn
        parts: dict[int, Array] = {}  # by the message's place in the step: the order of addition is the schedule's
        for src, which in coming.items():
            parts.update(zip(which.tolist(), split(turn.arrived[src], count[step.block[which]]), strict=True))
        for i in sorted(parts):
            block = int(step.block[i])
            contents[block] = contents[block] + parts[i] if step.add[i] and block in contents else parts[i]


def split(buffer: Array, lengths: IntArray) -> list[Array]:
    """The blocks that stand end to end in a buffer."""
    return np.split(buffer, np.cumsum(lengths))[:-1]
