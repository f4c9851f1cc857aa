"""Exhaustive search on few ranks: the fewest bytes in a given number of steps, and whether these suffice at all.

Every rank sends at most one message, and receives at most one, in a step. A message may carry any part of what its
sender holds. A rank keeps one value for each byte of a reduction: what arrives is added to it or replaces it.

Who sends to whom in one step is a permutation of the ranks in which at most one rank stands idle (any other pattern
lacks a message that would do no harm). For a sequence of such patterns, each byte of the message takes one of finitely
many routes: a path, a tree, or sums that reach every rank. Which part of the message takes which route is a linear
program. Its optimum is a schedule, with blocks of unequal size; its dual, rounded to exact fractions and checked,
proves that no cut of the message does better on that sequence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import chain, permutations, product, takewhile
from math import lcm
from typing import NamedTuple

import numpy as np

from colllib.bounds import lower_bound
from colllib.exact import Fractions
from colllib.primitives import Blocks, all_gather, all_reduce, all_to_all, broadcast, check_counts, check_ranks
from colllib.schedule import Schedule, Step, reversed_in_time

Pattern = tuple[int, ...]
Route = tuple["Hop", ...]
Parts = list[list[tuple[Fraction, Route]]]  # of each group of bytes: the share of M that takes each route
FINEST = 10_000  # the largest denominator that a part of the message, or of a proof, may have

_BLOCKS: dict[str, Callable[[int], Blocks]]
_BLOCKS = {"broadcast": broadcast, "all-reduce": all_reduce, "all-gather": all_gather, "all-to-all": all_to_all}
#: Primitive -> the one whose schedules, run backwards, are its schedules.
BACKWARDS = {"reduce": "broadcast", "reduce-scatter": "all-gather"}
SEARCHED = ("broadcast", "reduce", "all-reduce", "reduce-scatter", "all-gather", "all-to-all")


@dataclass(frozen=True, order=True)
class Hop:
    """What a byte of the message does in a step: from which rank it is sent, and whether it is added or copied."""

    step: int
    src: int
    add: bool = False


class Best(NamedTuple):
    """The fewest bytes in a given number of steps."""

    n_beta: Fraction  # the least sum over the steps of the largest message, in units of M
    schedule: Schedule  # that attains it


def patterns(ranks: int) -> tuple[Pattern, ...]:
    """Who sends to whom in a step: rank r to pattern[r], or to nobody if that is r itself.

    >>> len(patterns(3)), len(patterns(4)), len(patterns(5))
    (5, 17, 89)
    """
    check_ranks(ranks)
    return tuple(p for p in permutations(range(ranks)) if sum(p[r] == r for r in range(ranks)) <= 1)


# -- the fewest bytes in T steps ----------------------------------------------------------------


def least_bytes(primitive: str, ranks: int, steps: int) -> Best | None:
    """The least n_beta of any schedule of T steps on one port, however the message is cut; None if T do not suffice.

    The time grows steeply from 4 ranks on.

    Raises:
        ValueError: for a primitive or N that is not searched, or no steps.

    >>> best = least_bytes("broadcast", 4, 3)
    >>> best.n_beta, least_bytes("broadcast", 4, 1)
    (Fraction(3, 2), None)
    """
    check_ranks(ranks)
    check_counts(steps=steps)
    if primitive not in SEARCHED:
        raise ValueError(f"no search for {primitive!r}: searched are {', '.join(SEARCHED)}")
    most = 4 if primitive == "all-reduce" else 5
    if not 2 <= ranks <= most:
        raise ValueError(f"N = {ranks}: the search for {primitive} is for 2 to {most} ranks")
    if primitive in BACKWARDS:
        forward = least_bytes(BACKWARDS[primitive], ranks, steps)
        return None if forward is None else Best(forward.n_beta, reversed_in_time(forward.schedule))
    floor, blocks = lower_bound(primitive, ranks).n_beta, _BLOCKS[primitive](ranks)
    best: tuple[Fraction, Parts, Sequence[Pattern]] | None = None
    for sequence, routes in _possible(blocks, steps, rooted=primitive == "broadcast"):
        n_beta, parts = _program(blocks, steps, routes, best[0] if best else None)
        if parts is not None and (best is None or n_beta < best[0]):
            best = (n_beta, parts, sequence)
        if best and best[0] == floor:
            break
    return None if best is None else Best(best[0], _schedule(blocks, best[2], best[1]))


def _possible(blocks: Blocks, steps: int, rooted: bool) -> Iterator[tuple[Sequence[Pattern], list[list[Route]]]]:
    """The sequences of patterns on which each block has routes, and these."""
    for sequence in _sequences(blocks.ranks, steps, rooted):
        ends = zip(blocks.source.tolist(), blocks.target.tolist(), strict=True)
        routes = list(takewhile(len, (_routes(sequence, *pair) for pair in ends)))
        if len(routes) == len(blocks):
            yield sequence, routes


def _useful(ranks: int, rooted: bool) -> tuple[Pattern, ...]:
    """The patterns of a step; where rank 0 is a root that needs nothing, without the messages to it."""
    if not rooted:
        return patterns(ranks)
    cut = {tuple(src if dst == 0 else dst for src, dst in enumerate(p)) for p in patterns(ranks)}
    edges = {p: {(src, dst) for src, dst in enumerate(p) if src != dst} for p in cut}
    return tuple(sorted(p for p in cut if not any(edges[p] < edges[other] for other in cut)))


@cache
def _sequences(ranks: int, steps: int, rooted: bool) -> tuple[tuple[Pattern, ...], ...]:
    """Every sequence of patterns, one for each class of those that differ by the names of ranks: the smallest."""
    useful = _useful(ranks, rooted)
    number = {pattern: k for k, pattern in enumerate(useful)}
    renamings = [(names, np.argsort(names)) for names in permutations(range(ranks)) if not rooted or names[0] == 0]
    renamed = [[number[tuple(names[p[src]] for src in back)] for p in useful] for names, back in renamings]
    smallest: list[tuple[int, ...]] = [()]
    for _ in range(steps):  # a prefix of a smallest sequence is smallest itself
        longer = [(*sequence, k) for sequence in smallest for k in range(len(useful))]
        smallest = [one for one in longer if not any(tuple(row[k] for k in one) < one for row in renamed)]
    return tuple(tuple(useful[k] for k in sequence) for sequence in smallest)


def _routes(sequence: Sequence[Pattern], source: int, target: int) -> list[Route]:
    """How one byte can get from where it is to where it must be, but for routes that use all that another does.

    Everybody is number N.
    """
    everybody = len(sequence[0])
    if target != everybody:
        candidates = _paths(sequence, source, target)
    elif source != everybody:
        candidates = _trees(sequence, source)
    else:
        candidates = _sums(sequence)
    minimal: list[tuple[frozenset[tuple[int, int]], Route]] = []
    for route in sorted(candidates, key=len):
        used = frozenset((hop.step, hop.src) for hop in route)
        if not any(other <= used for other, _ in minimal):
            minimal.append((used, route))
    return [route for _, route in minimal]


def _trees(sequence: Sequence[Pattern], root: int) -> Iterable[Route]:
    """From the root to everybody: every other rank receives it once."""
    others = [r for r in range(len(sequence[0])) if r != root]
    arrivals = [
        [(t, src) for t, pattern in enumerate(sequence) for src, dst in enumerate(pattern) if src != dst == r]
        for r in others
    ]
    for choice in product(*arrivals):
        since = {root: -1, **{r: t for r, (t, _) in zip(others, choice, strict=True)}}
        if all(since[src] < t for t, src in choice):
            yield tuple(sorted(Hop(t, src) for t, src in choice))


def _paths(sequence: Sequence[Pattern], source: int, target: int) -> Iterable[Route]:
    """From one rank to one other."""
    paths: list[tuple[int, Route]] = [(source, ())]
    for t, pattern in enumerate(sequence):
        paths += [(pattern[at], (*path, Hop(t, at))) for at, path in paths if pattern[at] != at]
    return (path for at, path in paths if at == target)


def _sums(sequence: Sequence[Pattern]) -> Iterable[Route]:
    """From a contribution of every rank to their sum on every rank."""
    ranks, last = len(sequence[0]), len(sequence) - 1
    full = (1 << ranks) - 1
    for state, route in _partial(ranks, tuple(sequence[:-1])):
        short = [(src, dst) for src, dst in enumerate(sequence[last]) if state[dst] != full]
        if all(state[src] == full or state[src] ^ state[dst] == full for src, dst in short):
            yield (*route, *sorted(Hop(last, src, add=state[src] != full) for src, _ in short))


@cache
def _partial(ranks: int, sequence: tuple[Pattern, ...]) -> tuple[tuple[tuple[int, ...], Route], ...]:
    """What the ranks can hold of one byte after some steps, as sets of contributors, with the hops that lead there."""
    if not sequence:
        return ((tuple(1 << r for r in range(ranks)), ()),)
    t = len(sequence) - 1
    reached: dict[tuple[tuple[int, ...], frozenset[tuple[int, int]]], tuple[tuple[int, ...], Route]] = {}
    for state, route in _partial(ranks, sequence[:-1]):
        options: list[list[tuple[int, Hop | None]]] = [[(value, None)] for value in state]
        for src, dst in enumerate(sequence[-1]):
            if src != dst and state[src] != state[dst]:
                options[dst].append((state[src], Hop(t, src, add=False)))
                if not state[src] & state[dst]:
                    options[dst].append((state[src] | state[dst], Hop(t, src, add=True)))
        for choice in product(*options):
            new = tuple(value for value, _ in choice)
            if np.bitwise_or.reduce(new) == (1 << ranks) - 1:  # a lost contribution never returns
                hops = (*route, *sorted(hop for _, hop in choice if hop))
                reached[new, frozenset((hop.step, hop.src) for hop in hops)] = (new, hops)
    return tuple(reached.values())


def _program(
    blocks: Blocks, steps: int, routes: list[list[Route]], beat: Fraction | None
) -> tuple[Fraction, Parts | None]:
    """The least n_beta on one sequence of patterns; without parts if it is proved to be no less than `beat`."""
    from scipy.optimize import linprog

    ranks, share = blocks.ranks, blocks.share[0]
    flat = list(chain.from_iterable(routes))
    group = np.repeat(np.arange(len(routes)), list(map(len, routes)))
    load = np.zeros((steps * ranks, len(flat)))
    for k, route in enumerate(flat):
        load[[hop.step * ranks + hop.src for hop in route], k] = 1
    result = linprog(
        np.r_[np.zeros(len(flat)), np.ones(steps)],
        A_ub=np.hstack((load, -np.repeat(np.eye(steps), ranks, axis=0))),
        b_ub=np.zeros(len(load)),
        A_eq=np.hstack((np.arange(len(routes))[:, np.newaxis] == group, np.zeros((len(routes), steps)))),
        b_eq=np.full(len(routes), float(share)),
        method="highs",
    )
    prices = [Fraction(max(0.0, -y)).limit_denominator(FINEST) for y in result.ineqlin.marginals]
    bound = share * _dual(ranks, routes, prices)
    if beat is not None and bound >= beat:
        return bound, None
    sizes = [Fraction(float(size)).limit_denominator(FINEST) for size in np.asarray(result.x)[: len(flat)]]
    parts = [[(sizes[k], flat[k]) for k in np.flatnonzero(group == one) if sizes[k]] for one in range(len(routes))]
    if any(sum(size for size, _ in part) != share for part in parts):
        raise ArithmeticError(f"parts that do not add up to {share}: the program's optimum is too fine")
    sent: Counter[tuple[int, int]] = Counter()
    for size, route in chain.from_iterable(parts):
        for hop in route:
            sent[hop.step, hop.src] += size  # type: ignore[assignment]
    n_beta = sum((Fraction(max(sent[t, rank] for rank in range(ranks))) for t in range(steps)), Fraction(0))
    if bound != n_beta:
        raise ArithmeticError(f"the bounds {bound} and {n_beta} on one sequence of patterns should be equal")
    return n_beta, parts


def _dual(ranks: int, routes: list[list[Route]], prices: list[Fraction]) -> Fraction:
    """A bound that holds exactly: prices on the ports that sum to at most 1 in every step, cheapest route each."""
    for t in range(0, len(prices), ranks):
        total = max(sum(prices[t : t + ranks]), Fraction(1))
        prices[t : t + ranks] = [y / total for y in prices[t : t + ranks]]
    scale = lcm(*(y.denominator for y in prices))
    scaled = [int(y * scale) for y in prices]
    cheapest = (min(sum(scaled[hop.step * ranks + hop.src] for hop in route) for route in group) for group in routes)
    return Fraction(sum(cheapest), scale)


def _schedule(whole: Blocks, sequence: Sequence[Pattern], parts: Parts) -> Schedule:
    part_of = np.repeat(np.arange(len(whole)), list(map(len, parts)))
    share, routes = zip(*chain.from_iterable(parts), strict=True)
    blocks = Blocks(whole.ranks, Fractions.of(share), whole.source[part_of], whole.target[part_of], whole.groups)
    steps = []
    for t, pattern in enumerate(sequence):
        messages = [
            (hop.src, pattern[hop.src], block, hop.add)
            for block, route in enumerate(routes)
            for hop in route
            if hop.step == t
        ]
        src, dst, block, add = zip(*messages, strict=True) if messages else ([], [], [], [])
        steps.append(Step.of(src, dst, block, add))
    return Schedule.from_steps(blocks, steps)
