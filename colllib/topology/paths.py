"""Paths of messages' own, where the topology's router would take another one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from colllib.exact import IntArray
from colllib.topology.base import NoRouteError, Topology, ragged

MessageRouter = Callable[[IntArray, IntArray, IntArray], tuple[IntArray, IntArray]]


@dataclass(frozen=True, eq=False)
class Paths:
    """Which messages of a schedule take a path of their own, known by their blocks and ends.

    Args:
        block: the block of each of these messages, shape (m,).
        number: the place of its path in the table, shape (m,).
        nodes: the nodes of each path, its ends included.

    >>> Paths.of([(0, (0, 3, 2))]).backwards.nodes
    ((2, 3, 0),)
    """

    block: IntArray
    number: IntArray
    nodes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, paths: Sequence[tuple[int, tuple[int, ...]]]) -> Paths:
        """From the block and the path of each message."""
        nodes = tuple(dict.fromkeys(path for _, path in paths))
        place = {path: number for number, path in enumerate(nodes)}
        block = np.array([block for block, _ in paths], dtype=np.intp)
        return cls(block, np.array([place[path] for _, path in paths], dtype=np.intp), nodes)

    @property
    def backwards(self) -> Paths:
        """For the same messages in the opposite direction."""
        return replace(self, nodes=tuple(path[::-1] for path in self.nodes))

    def shifted(self, blocks: int) -> Paths:
        """For blocks of numbers higher by so many."""
        return replace(self, block=self.block + blocks)

    def segmented(self, segments: int) -> Paths:
        """For blocks that are cut into so many each."""
        block = (self.block[:, None] * segments + np.arange(segments)).ravel()
        return replace(self, block=block, number=np.repeat(self.number, segments))

    @staticmethod
    def joined(parts: Sequence[Paths | None]) -> Paths | None:
        """All of several, None if there is none."""
        present = [part for part in parts if part is not None]
        if not present:
            return None
        first = np.cumsum([0, *(len(part.nodes) for part in present)])
        return Paths(
            np.concatenate([part.block for part in present]),
            np.concatenate([part.number + offset for part, offset in zip(present, first, strict=False)]),
            tuple(path for part in present for path in part.nodes),
        )


def routed(topology: Topology, paths: Paths | None) -> MessageRouter:
    """A router that is asked for sources, targets and blocks: messages with a path of their own take that one.

    Args:
        topology: whose router takes all others.
        paths: of a schedule; of several links between two nodes a path takes the first.

    Raises:
        NoRouteError: for a path along a link that is not there, or two paths for one message.

    >>> from colllib.topology import torus
    >>> route = routed(torus((4,)), Paths.of([(1, (0, 3, 2))]))
    >>> message, link = route(np.array([0, 0]), np.array([2, 2]), np.array([0, 1]))
    >>> [[torus((4,)).link_name(crossed) for crossed in link[message == number]] for number in (0, 1)]
    [['0 -> 1', '1 -> 2'], ['0 -> 3', '3 -> 2']]
    """
    if paths is None or not paths.nodes:
        return lambda src, dst, block: topology.router(src, dst)
    ends = zip(topology.link_src.tolist(), topology.link_dst.tolist(), strict=True)
    link_of = {pair: link for link, pair in reversed(list(enumerate(ends)))}
    for path in paths.nodes:
        for pair in pairwise(path):
            if pair not in link_of:
                raise NoRouteError(f"{path} is no path of {topology.name}: no link from node {pair[0]} to {pair[1]}")
    first, last = (np.array([path[end] for path in paths.nodes])[paths.number] for end in (0, -1))
    links = np.array([link_of[pair] for path in paths.nodes for pair in pairwise(path)], dtype=np.intp)
    start = np.cumsum([0, *(len(path) - 1 for path in paths.nodes)])
    size = topology.nodes
    keys = (paths.block * size + first) * size + last
    order = np.argsort(keys, kind="stable")
    keys, number = keys[order], paths.number[order]
    twice = np.flatnonzero((keys[1:] == keys[:-1]) & (number[1:] != number[:-1]))
    if len(twice):
        block, ends_of = divmod(int(keys[twice[0]]), size * size)
        source, target = divmod(ends_of, size)
        raise NoRouteError(f"two paths for block {block} from node {source} to node {target}")

    def route(src: IntArray, dst: IntArray, block: IntArray) -> tuple[IntArray, IntArray]:
        key = (block * size + src) * size + dst
        place = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
        has_path = keys[place] == key
        with_path, others = np.flatnonzero(has_path), np.flatnonzero(~has_path)
        path = number[place[with_path]]
        row, hop = ragged(start[path + 1] - start[path])
        message, link = topology.router(src[others], dst[others])
        messages = np.concatenate((others[message], with_path[row]))
        return messages, np.concatenate((link, links[start[path][row] + hop]))

    return route
