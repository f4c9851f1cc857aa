"""Expansions: an all-gather on a graph becomes one on its line graph, its degree expansion or its Cartesian product.

A reverse-symmetric graph also runs it backwards, as a reduce-scatter, or both ways at once.

Ranks of the expanded graphs are numbered as `colllib.graphs.operations` numbers them. All shards of a schedule are of
one size and in equally many equal pieces; piece p of rank r is block r P + p.

Source: Zhao et al. (2025), "Efficient Direct-Connect Topologies for Collective Communications", and
Zhao's dissertation, sections 3.5, A.1.6, A.2 and A.4, whose theorems give the costs.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np

from colllib.algorithms.breadth_first import shards
from colllib.algorithms.nested import nested
from colllib.exact import IntArray
from colllib.graphs.isomorphism import reversal
from colllib.graphs.links import arcs
from colllib.limits import MOST_BLOCKS, check_size
from colllib.primitives import PRIMITIVES
from colllib.schedule import Schedule, Step, placed, reversed_in_time, scaled, side_by_side, split
from colllib.topology.base import Lattice, Topology, ragged


def line_graph(schedule: Schedule, graph: Topology) -> Schedule:
    """The all-gather on the line graph, whose rank k is link k of the graph: one step more.

    First every link's shard goes to the links that follow it. From then on, when the graph's rank w
    receives a shard of rank v over a link, that link passes the shards of all links into v on to all links out of w.

    Args:
        schedule: an all-gather over the links of the graph.
        graph: a topology of ranks and equal links; the links of a trunk take turns.

    Raises:
        ValueError: for a schedule that is no all-gather of equal shards, or for other ranks.

    >>> from colllib.algorithms import breadth_first
    >>> from colllib.execution import execute
    >>> from colllib.topology.expression import find
    >>> base = find("complete-bipartite:2x2")
    >>> execute(line_graph(breadth_first.all_gather(base), base), find(f"line-graph({base.name})")).cost
    Cost(n_alpha=3, n_beta=1/2)
    """
    base, fewer = _in_order(schedule, graph)
    src, dst = arcs(graph)
    trunks = lcm(*(tier.cables for tier in graph.tiers))  # into so many pieces, so that each of its links has one
    base, pieces = split(base, trunks), fewer * trunks
    leaving, entering = _Lists(src, graph.ranks), _Lists(dst, graph.ranks)
    blocks = shards(len(src), pieces)

    def step(t: int) -> Step:
        if t == 0:
            link, after = leaving.places_of(dst)
            other = link != after
            link, after = (np.repeat(part[other], pieces) for part in (link, after))
            return Step.of(link, after, link * pieces + np.arange(len(link)) % pieces)
        before = base.step(t - 1)
        taken = _taking_turns(before.src * graph.ranks + before.dst, src * graph.ranks + dst)
        message, owner = entering.places_of(before.block // pieces)
        again, after = leaving.places_of(before.dst[message])
        message, owner = message[again], owner[again]
        other = owner != after
        message, owner, after = message[other], owner[other], after[other]
        return Step.of(taken[message], after, owner * pieces + before.block[message] % pieces)

    return Schedule(blocks, base.num_steps + 1, step)


def degree_expansion(schedule: Schedule, graph: Topology, times: int) -> Schedule:
    """The all-gather on G * n, whose rank v + N i is copy i of rank v: one step more.

    The shard of a copy travels within its copy of the graph, and from there in the same step to all
    others. In the last step the copies of its own rank receive it in equal parts over all their links.

    Args:
        schedule: an all-gather over the links of the graph.
        graph: d links out of and into every rank, none of them a self-loop.
        times: n copies.

    Raises:
        ValueError: for a schedule that is no all-gather of equal shards, or for other ranks.

    >>> from colllib.algorithms import breadth_first
    >>> from colllib.execution import execute
    >>> from colllib.topology.expression import find
    >>> execute(degree_expansion(breadth_first.all_gather(find("uniring:1x4")), find("uniring:1x4"), 2),
    ...     find("degree(uniring:1x4,2)")).cost
    Cost(n_alpha=4, n_beta=7/16)
    """
    base, fewer = _in_order(schedule, graph)
    ranks, (src, dst) = graph.ranks, arcs(graph)
    into = _Lists(dst, ranks)
    parts = times * max(1, int(into.count.max(initial=0)))
    pieces = lcm(fewer, parts)
    base = split(base, pieces // fewer)
    copies = ranks * np.arange(times)

    def step(t: int) -> Step:
        if t < base.num_steps:
            before = base.step(t)
            from_copy, to_copy = copies[:, None, None], copies[:, None]
            block = np.broadcast_to(before.block + from_copy * pieces, (times, times, len(before.block)))
            sender, receiver = np.broadcast_arrays(before.src + from_copy, before.dst + to_copy)
            return Step.of(sender.ravel(), receiver.ravel(), block.ravel())
        rank, link = into.places_of(np.arange(ranks))
        place = np.arange(len(rank)) - (np.cumsum(into.count) - into.count)[rank]
        # part a d + k of a shard comes from copy a over link k
        part = (place + into.count[rank] * np.arange(times)[:, None]).ravel()
        sender, receiver = (src[link] + copies[:, None]).ravel(), np.tile(rank, times)
        owner_copy, other_copy = (grid.ravel() for grid in np.meshgrid(copies, copies))
        different = owner_copy != other_copy
        owner_copy, other_copy = owner_copy[different, None, None], other_copy[different, None, None]
        some = np.arange(pieces // parts)
        block = (receiver[:, None] + owner_copy) * pieces + part[:, None] * len(some) + some
        src_of, dst_of = np.broadcast_arrays(sender[:, None], receiver[:, None] + other_copy, block)[:2]
        return Step.of(src_of.ravel(), dst_of.ravel(), block.ravel())

    return Schedule(shards(ranks * times, pieces), base.num_steps + (times > 1), step)


def cartesian_product(*schedules: Schedule) -> Schedule:
    """The all-gather on a product of graphs, the first factor fastest in rank order: one factor after another.

    As many copies as factors run at once, each with its part of every shard and beginning with
    another factor. On equal factors, a Cartesian power, no two of them ever share a link.

    Args:
        schedules: an all-gather for each factor.

    Raises:
        ValueError: for no schedule, or one that is no all-gather of equal shards.

    >>> from colllib.algorithms import breadth_first
    >>> from colllib.execution import execute
    >>> from colllib.topology.expression import find
    >>> one = breadth_first.all_gather(find("uniring:1x4"))
    >>> execute(cartesian_product(one, one), find("power(uniring:1x4,2)")).cost
    Cost(n_alpha=6, n_beta=15/32)
    """
    if not schedules:
        raise ValueError("no schedule given: a product needs at least one factor")
    factors = [_in_order(schedule)[0] for schedule in schedules]
    lattice, count = Lattice(tuple(factor.ranks for factor in factors)), len(factors)
    orders = ([(start + k) % count for k in range(count)] for start in range(count))
    copies = (nested(lattice, [(axis, factors[axis]) for axis in order]) for order in orders)
    return _in_order(side_by_side(*(scaled(copy, Fraction(1, count)) for copy in copies)))[0]


def reduce_scatter(schedule: Schedule, graph: Topology) -> Schedule:
    """The all-gather backwards, its ranks renamed so that it runs over the graph's own links.

    Args:
        schedule: an all-gather over the links of the graph.
        graph: isomorphic to its transpose.

    Raises:
        ValueError: for a graph that is not: there an all-gather on the transpose has to be made, and reversed.

    >>> from colllib.algorithms import breadth_first
    >>> from colllib.execution import execute
    >>> from colllib.topology.expression import find
    >>> base, larger = find("kautz:2x6"), find("line-graph(kautz:2x6)")
    >>> gather = line_graph(breadth_first.all_gather(base), base)
    >>> execute(reduce_scatter(gather, larger), larger).cost == execute(gather, larger).cost
    True
    """
    ordered, _ = _in_order(schedule, graph)
    return reversed_in_time(_in_order(placed(ordered, _reversal(graph).tolist()))[0])


def bidirectional(schedule: Schedule, graph: Topology) -> Schedule:
    """The all-gather on the graph and its transpose together: half of a shard takes the old paths, half their images.

    Errors as for `reduce_scatter`.

    >>> from colllib.algorithms import breadth_first
    >>> from colllib.execution import execute
    >>> from colllib.topology.expression import find
    >>> one_way = find("debruijn:2x3")
    >>> gather = breadth_first.all_gather(one_way)
    >>> execute(gather, one_way).cost  # on two links a rank
    Cost(n_alpha=3, n_beta=7/8)
    >>> execute(bidirectional(gather, one_way), find("bidirectional(debruijn:2x3)")).cost  # on four
    Cost(n_alpha=3, n_beta=7/16)
    """
    ordered, pieces = _in_order(schedule, graph)
    halves, permutation = split(ordered, 2), _reversal(graph)
    image, _ = _in_order(placed(halves, np.argsort(permutation).tolist()))

    def step(t: int) -> Step:
        parts = (part.step(t) for part in (halves, image))
        return Step.joined([part.taken(part.block % 2 == half) for half, part in enumerate(parts)])

    return Schedule(shards(graph.ranks, 2 * pieces), schedule.num_steps, step)


def _reversal(graph: Topology) -> IntArray:
    permutation = reversal(graph)
    if permutation is None:
        raise ValueError(
            f"{graph.name} is not isomorphic to its transpose: reverse an all-gather on transpose({graph.name})"
        )
    return permutation


class _Lists:
    """For each of some keys the places that have it, in ascending order."""

    def __init__(self, key: IntArray, size: int) -> None:
        """By keys 0..size-1, shape (n,)."""
        self.count, self.place = np.bincount(key, minlength=size), np.argsort(key, kind="stable")
        self.first = np.cumsum(self.count) - self.count

    def places_of(self, keys: IntArray) -> tuple[IntArray, IntArray]:
        """For every key in turn all its places: which one of the keys, and the place."""
        which, nth = ragged(self.count[keys])
        return which, self.place[self.first[keys][which] + nth]


def _taking_turns(keys: IntArray, links: IntArray) -> IntArray:
    """A link for every message, by the keys of both; links of equal keys take turns."""
    order = np.argsort(keys, kind="stable")
    key = keys[order]
    turn = np.arange(len(key)) - np.searchsorted(key, key)
    by_key = np.argsort(links, kind="stable")
    first, end = (np.searchsorted(links, key, side=side, sorter=by_key) for side in ("left", "right"))
    link = np.empty(len(key), dtype=np.intp)
    link[order] = by_key[first + turn % (end - first)]
    return link


def _in_order(schedule: Schedule, graph: Topology | None = None) -> tuple[Schedule, int]:
    """The schedule with its blocks by owner, and how many each owner has."""
    blocks, ranks = schedule.blocks, schedule.ranks
    if graph is not None and graph.ranks != ranks:
        raise ValueError(f"a schedule for {ranks} ranks does not fit {graph.name}, which has {graph.ranks}")
    pieces, over = divmod(len(blocks), ranks)
    share = blocks.share.numerators
    equal = not over and PRIMITIVES["all-gather"].accepts(blocks) and (share == share[0]).all()
    if not equal or (np.bincount(blocks.source, minlength=ranks) != pieces).any():
        raise ValueError(f"{schedule!r}: an all-gather of equal shards in equal pieces is needed")
    check_size(repr(schedule), len(blocks), MOST_BLOCKS, "blocks")
    order = np.argsort(blocks.source, kind="stable")
    if (order == np.arange(len(order))).all():
        return schedule, pieces
    number = np.argsort(order)

    def step(t: int) -> Step:
        before = schedule.step(t)
        return before._replace(block=number[before.block])

    return Schedule(shards(ranks, pieces), schedule.num_steps, step), pieces
