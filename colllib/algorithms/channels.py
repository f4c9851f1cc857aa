"""What NCCL does on boxes: channels, which are rings and trees over all ranks, each with a card of its own in a box.

A channel for each place in the box: it enters every box at its place, or card, visits the other
ranks along a chain, and leaves. Together they use all cards at once, with an equal part of the
message on each. Where links join every two of an even number of ranks, together they take each link once; and in
one such box alone there are rings that together take each link twice, which can be closed.

Source: NCCL's `src/graph/connect.cc` (`connectRings`, `connectTrees`, and the rings of odd boxes exchanged with their
neighbors so as not to cross rails) and `src/graph/trees.cc` (Jeaugey, 2019). ROCm/rccl at 008c53db,
`src/graph/rome_models.cc`, has tables for full meshes of 8: 81 of 8 chains, 79 of 14 rings, with as much on each link.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import cast

import numpy as np

from colllib.algorithms import allgather, broadcast, reducescatter, trees
from colllib.exact import Fractions, IntArray
from colllib.limits import MOST_AT_ONCE, check_size
from colllib.primitives import Blocks, check_rank, is_whole
from colllib.schedule import (
    Orbit,
    Schedule,
    Step,
    backwards,
    in_sequence,
    kept,
    placed,
    reversed_in_time,
    scaled,
    side_by_side,
)
from colllib.topology import Lattice, Topology

TURNS = ("rotated", "alternate")


def _zigzag(size: int) -> list[int]:
    """0, 1, -1, 2, -2 ...: begun at each of an even number of places, it takes each way between two of them once."""
    return [(place + 1) // 2 * (1 if place % 2 else -1) for place in range(size)]


def _check_turn(turn: str) -> None:
    if turn not in TURNS:
        raise ValueError(f"turn {turn!r}: must be one of {', '.join(TURNS)}")


def ring_order(topology: Topology, channel: int, turn: str = "rotated") -> list[int]:
    """The ranks in the order of a channel's ring.

    Args:
        channel: the place in the box at which it enters, and goes on to the next, or in zigzag where links join all.
        turn: "rotated" leaves a box at the place before its own, and crosses to the next box's own; "alternate" runs
            backwards through every second box, so that a ring of an even number of boxes never changes its rail.

    >>> from colllib.topology import boxes
    >>> ring_order(boxes((2, 4)), 1), ring_order(boxes((2, 4)), 1, turn="alternate")
    ([1, 2, 3, 0, 5, 6, 7, 4], [1, 2, 3, 0, 4, 7, 6, 5])
    """
    _check_turn(turn)
    order: list[int] = []
    zigzag = topology.meshed
    for number, first in enumerate(range(0, topology.ranks, topology.in_box)):
        size = min(topology.in_box, topology.ranks - first)
        ahead = _zigzag(size) if zigzag else range(size)
        inside = [first + (channel + places) % size for places in ahead]
        order += inside[::-1] if turn == "alternate" and number % 2 else inside
    return order


def _places(topology: Topology, channels: int, messages: int) -> range:
    """At which places in the box the channels enter, evenly spaced, each with so many messages at once."""
    count = channels or topology.in_box
    if not is_whole(count) or count < 1 or topology.in_box % count:
        raise ValueError(f"channels = {channels!r}: must divide the {topology.in_box} ranks of a box")
    check_size(f"{count} channels on {topology.name}", count * messages, MOST_AT_ONCE, "messages")
    return range(0, topology.in_box, topology.in_box // count)


def _orders(topology: Topology, channels: int, turn: str, messages: int) -> list[list[int]]:
    """The ranks in the order of each channel's ring."""
    size = topology.ranks
    if channels or size > topology.in_box or not topology.meshed:
        return [ring_order(topology, place, turn) for place in _places(topology, channels, messages)]
    _check_turn(turn)
    check_size(f"rings on {topology.name}", 2 * size * messages, MOST_AT_ONCE, "messages")
    ways = [[*((start + ahead) % (size - 1) for ahead in _zigzag(size - 1)), size - 1] for start in range(size - 1)]
    return [*ways, *(way[::-1] for way in ways)]


def _rotated_copies(seed: Schedule, count: int) -> Schedule:
    """A schedule of one block and its copies on the next ranks, side by side, each with an equal part of the message.

    `side_by_side` of `placed` would do, and would keep two arrays of all ranks for every copy.
    """
    ranks = seed.ranks

    def rotated(values: IntArray) -> IntArray:  # a group is that of all ranks, however it is rotated
        return np.where(values < ranks, (values + np.arange(count)) % ranks, values)

    old = seed.blocks
    share = Fractions.equal(count, old.share[0])
    blocks = Blocks(ranks, share, rotated(old.source), rotated(old.target), old.groups)

    def step(t: int) -> Step:
        seed_step = seed.step(t)
        shift = (np.arange(count) - seed_step.src[:, None]) % count  # by place in the box: in all steps the same routes
        src, dst = ((end[:, None] + shift).ravel() % ranks for end in (seed_step.src, seed_step.dst))
        return Step(src, dst, shift.ravel(), np.repeat(seed_step.add, count))

    return Schedule(blocks, seed.num_steps, step)


def _in_channels(schedule: Schedule, orders: list[list[int]]) -> Schedule:
    """`side_by_side` of the schedule `placed` in each order, whose steps share arrays where the schedule's do."""
    parallel = side_by_side(*(placed(schedule, order) for order in orders))
    rank_at, first = np.array(orders), len(schedule.blocks) * np.arange(len(orders))[:, None]
    ends = kept(lambda src, dst: (rank_at[:, src].ravel(), rank_at[:, dst].ravel()))

    def step(t: int) -> Step:
        inner = schedule.step(t)
        return Step(*ends(inner.src, inner.dst), (inner.block + first).ravel(), np.tile(inner.add, len(orders)))

    return replace(parallel, step=step)


def _around(*rings: Callable[[int], Schedule]) -> Callable[..., Schedule]:
    """The builder of one ring's schedule after another, in every channel.

    >>> from colllib.topology import boxes
    >>> all_reduce(boxes((2, 4))), all_gather(boxes((2, 4)), channels=2)
    (Schedule(8 ranks, 32 blocks, 14 steps), Schedule(8 ranks, 16 blocks, 7 steps))
    """

    def build(topology: Topology, channels: int = 0, turn: str = "rotated") -> Schedule:
        """Rings in channels.

        Args:
            topology: with its ranks in boxes, of which the last may be smaller.
            channels: how many; 0 for one at each place in the box, or as many as one box with links for all has.
            turn: as for `ring_order`.
        """
        size, ranks = topology.in_box, topology.ranks
        several = ranks > size or not topology.meshed
        if several and topology.lattice is not None and turn == "rotated" and channels in (0, size):

            def number(place: IntArray, move: IntArray) -> IntArray:  # channel by channel
                block: IntArray = move % size * ranks + move // size * size + place
                return block

            # one ring and its images: from box to box, and in all boxes from place to place
            first = ring_order(topology, 0)
            seeds = (placed(_rotated_copies(cast(Orbit, ring(ranks)).seed, size), first) for ring in rings)
            orbits: list[Schedule] = [Orbit(seed, Lattice((size, ranks // size)), number=number) for seed in seeds]
            return reduce(in_sequence, orbits)
        schedule = reduce(in_sequence, (ring(ranks) for ring in rings))
        orders = _orders(topology, channels, turn, ranks)
        return _in_channels(scaled(schedule, Fraction(1, len(orders))), orders)

    return build


all_reduce = _around(reducescatter.ring, allgather.ring)
all_gather = _around(allgather.ring)
reduce_scatter = _around(reducescatter.ring)


def broadcast_along(
    topology: Topology, *, segments: int = 1, root: int = 0, channels: int = 0, turn: str = "rotated"
) -> Schedule:
    """In every channel a chain from the root on along its ring, segment after segment.

    >>> from colllib.topology import boxes
    >>> broadcast_along(boxes((2, 4)), segments=3, root=5)
    Schedule(8 ranks, 12 blocks, 9 steps)
    """
    check_rank("root", root, topology.ranks)
    orders = _orders(topology, channels, turn, segments * topology.ranks)
    chain = scaled(broadcast.chain(topology.ranks, segments=segments), Fraction(1, len(orders)))
    turned = [order[order.index(root) :] + order[: order.index(root)] for order in orders]
    return _in_channels(chain, turned)


reduce_along = backwards(broadcast_along)  # sums travel to the root


def tree(topology: Topology, *, segments: int = 1, channels: int = 0) -> Schedule:
    """NCCL's two binary trees over the boxes in every channel, and below each of their nodes a chain in its box.

    The chain starts at the channel's place, where its card is. Sums go up both trees, each with half
    of the channel's part, and the results back down.

    Args:
        topology: with its ranks in boxes, of which the last may be smaller.
        segments: segments P into which each half is cut and pipelined.
        channels: how many; 0 for one at each place in the box.

    Source: Jeaugey (2019).

    >>> from colllib.topology import boxes
    >>> tree(boxes((4, 2)))
    Schedule(8 ranks, 4 blocks, 6 steps)
    """
    places = _places(topology, channels, 4 * segments * topology.ranks)
    heads = -(-topology.ranks // topology.in_box)
    over_boxes = trees.nccl(heads)
    both = zip(over_boxes, trees.two_colors(*over_boxes), strict=True)
    pair, colors = zip(*(_with_chains(topology, number, *tree) for number, tree in enumerate(both)), strict=True)
    down = trees.down_both(pair, segments, colors if segments > 1 else None)
    schedule = _in_channels(scaled(down, Fraction(1, len(places))), [ring_order(topology, place) for place in places])
    return in_sequence(reversed_in_time(schedule), schedule)


def _with_chains(topology: Topology, number: int, over_boxes: IntArray, color: IntArray) -> tuple[IntArray, IntArray]:
    """Parents and colors of a tree on all ranks: on a chain the colors take turns, other ones in the other tree."""
    parents, colors = np.full((2, topology.ranks), trees.ROOT)
    first = np.arange(0, topology.ranks, topology.in_box)
    inner = over_boxes != trees.ROOT
    parents[first[inner]], colors[first[inner]] = first[over_boxes[inner]], color[inner]
    place = np.arange(topology.ranks) % topology.in_box
    below = np.flatnonzero(place > 0)
    parents[below], colors[below] = below - 1, (place[below] + number) % 2
    return parents, colors
