"""Exhaustive search on few ranks: the fewest bytes in a given number of steps, and whether these suffice at all.

Every rank owns one full-duplex port and sends at most one message, and receives at most one, in a
step. A message may carry any part of what its sender holds. A rank keeps one value for each byte
of a reduction, as in `execute`: what arrives is added to it or replaces it.

Who sends to whom in one step is a permutation of the ranks in which at most one rank stands idle
(any other pattern lacks a message that would do no harm). For a sequence of such patterns, each
byte of the message takes one of finitely many ways; which part of the message takes which way is
a linear program. Its optimum is a schedule, with blocks of unequal size; its dual, rounded to
exact fractions and checked, proves that no cut of the message does better on that sequence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import chain, permutations, product, takewhile
from math import lcm

import numpy as np

from colllib.bounds import lower_bound
from colllib.exact import Fractions
from colllib.primitives import Blocks, check_counts, check_ranks
from colllib.schedule import Schedule, Step, reversed_in_time

Pattern = tuple[int, ...]
Ways = list[tuple["Move", ...]]
Parts = list[list[tuple[Fraction, tuple["Move", ...]]]]  # of each group: the share of M that takes each way
FINEST = 10_000  # the largest denominator that a part of the message, or of a proof, may have

#: Primitive -> the one whose schedules, run backwards, are its schedules.
BACKWARDS = {"reduce": "broadcast", "reduce-scatter": "all-gather"}
SEARCHED = ("broadcast", "reduce", "all-reduce", "reduce-scatter", "all-gather", "all-to-all")


@dataclass(frozen=True, order=True)
class Move:
    """A byte of the message that travels: in which step, from which rank, added or copied."""

    step: int
    src: int
    add: bool = False


@dataclass(frozen=True, eq=False)
class Best:
    """The fewest bytes in a given number of steps."""

    steps: int
    n_beta: Fraction  # the least sum over the steps of the largest message, in units of M
    schedule: Schedule  # that attains it
    sequences: int  # of patterns that were settled, of those that differ by more than the names of ranks


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
        if forward is None:
            return None
        return Best(steps, forward.n_beta, reversed_in_time(forward.schedule), forward.sequences)
    floor = lower_bound(primitive, ranks).n_beta
    best: tuple[Fraction, Parts, Sequence[Pattern]] | None = None
    settled = 0
    for sequence, ways in _possible(primitive, ranks, steps):
        settled += 1
        n_beta, parts = _program(ranks, steps, _share(primitive, ranks), ways, best[0] if best else None)
        if parts is not None and (best is None or n_beta < best[0]):
            best = (n_beta, parts, sequence)
        if best and best[0] == floor:
            break
    if best is None:
        return None
    return Best(steps, best[0], _schedule(primitive, ranks, best[2], best[1]), settled)


def _ends(primitive: str, ranks: int) -> list[tuple[int, int]]:
    """Source and target of each part of the message, a rank or everybody, who is number N."""
    if primitive == "all-to-all":
        return list(permutations(range(ranks), 2))
    return {
        "broadcast": [(0, ranks)],
        "all-reduce": [(ranks, ranks)],
        "all-gather": [(rank, ranks) for rank in range(ranks)],
    }[primitive]


def _share(primitive: str, ranks: int) -> Fraction:
    """What each of these parts has of the message."""
    return Fraction(1, ranks if primitive in ("all-gather", "all-to-all") else 1)


def _possible(primitive: str, ranks: int, steps: int) -> Iterator[tuple[Sequence[Pattern], list[Ways]]]:
    """The sequences of patterns on which each part of the message has ways, and these."""
    forward = BACKWARDS.get(primitive, primitive)
    ends = _ends(forward, ranks)
    for sequence in _sequences(ranks, steps, rooted=forward == "broadcast"):
        ways = list(takewhile(len, (_ways(sequence, *pair) for pair in ends)))
        if len(ways) == len(ends):
            yield sequence, ways


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
    known = _useful(ranks, rooted)
    place = {pattern: k for k, pattern in enumerate(known)}
    renamings = [(names, np.argsort(names)) for names in permutations(range(ranks)) if not rooted or names[0] == 0]
    renamed = [[place[tuple(names[p[src]] for src in back)] for p in known] for names, back in renamings]
    smallest: list[tuple[int, ...]] = [()]
    for _ in range(steps):  # a prefix of a smallest sequence is smallest itself
        longer = [(*sequence, k) for sequence in smallest for k in range(len(known))]
        smallest = [one for one in longer if not any(tuple(row[k] for k in one) < one for row in renamed)]
    return tuple(tuple(known[k] for k in sequence) for sequence in smallest)


def _ways(sequence: Sequence[Pattern], source: int, target: int) -> Ways:
    """How one byte can go from where it is to where it must be, but for ways that use all that another does."""
    everybody = len(sequence[0])
    if target != everybody:
        found = _paths(sequence, source, target)
    else:
        found = _sums(sequence) if source == everybody else _trees(sequence, source)
    kept: list[tuple[frozenset[tuple[int, int]], tuple[Move, ...]]] = []
    for way in sorted(found, key=len):
        used = frozenset((move.step, move.src) for move in way)
        if not any(other <= used for other, _ in kept):
            kept.append((used, way))
    return [way for _, way in kept]


def _trees(sequence: Sequence[Pattern], root: int) -> Iterable[tuple[Move, ...]]:
    """From the root to everybody: every other rank receives it once."""
    others = [r for r in range(len(sequence[0])) if r != root]
    chances = [
        [(t, src) for t, pattern in enumerate(sequence) for src, dst in enumerate(pattern) if src != dst == r]
        for r in others
    ]
    for choice in product(*chances):
        since = {root: -1, **{r: t for r, (t, _) in zip(others, choice, strict=True)}}
        if all(since[src] < t for t, src in choice):
            yield tuple(sorted(Move(t, src) for t, src in choice))


def _paths(sequence: Sequence[Pattern], source: int, target: int) -> Iterable[tuple[Move, ...]]:
    """From one rank to one other."""
    paths: list[tuple[int, tuple[Move, ...]]] = [(source, ())]
    for t, pattern in enumerate(sequence):
        paths += [(pattern[at], (*way, Move(t, at))) for at, way in paths if pattern[at] != at]
    return (way for at, way in paths if at == target)


def _sums(sequence: Sequence[Pattern]) -> Iterable[tuple[Move, ...]]:
    """From a contribution of every rank to their sum on every rank."""
    ranks, last = len(sequence[0]), len(sequence) - 1
    full = (1 << ranks) - 1
    for state, way in _partial(ranks, tuple(sequence[:-1])):
        short = [(src, dst) for src, dst in enumerate(sequence[last]) if state[dst] != full]
        if all(state[src] == full or state[src] ^ state[dst] == full for src, dst in short):
            yield (*way, *sorted(Move(last, src, add=state[src] != full) for src, _ in short))


@cache
def _partial(ranks: int, sequence: tuple[Pattern, ...]) -> tuple[tuple[tuple[int, ...], tuple[Move, ...]], ...]:
    """What the ranks can hold of one byte after some steps, with the moves that led there."""
    if not sequence:
        return ((tuple(1 << r for r in range(ranks)), ()),)
    t, found = len(sequence) - 1, {}
    for state, way in _partial(ranks, sequence[:-1]):
        options: list[list[tuple[int, Move | None]]] = [[(value, None)] for value in state]
        for src, dst in enumerate(sequence[-1]):
            if src != dst and state[src] != state[dst]:
                options[dst].append((state[src], Move(t, src, add=False)))
                if not state[src] & state[dst]:
                    options[dst].append((state[src] | state[dst], Move(t, src, add=True)))
        for choice in product(*options):
            new = tuple(value for value, _ in choice)
            if np.bitwise_or.reduce(new) == (1 << ranks) - 1:  # a lost contribution never returns
                moves = (*way, *sorted(move for _, move in choice if move))
                found[new, frozenset((m.step, m.src) for m in moves)] = (new, moves)
    return tuple(found.values())


def _program(
    ranks: int, steps: int, share: Fraction, ways: list[Ways], beat: Fraction | None
) -> tuple[Fraction, Parts | None]:
    """The least n_beta on one sequence of patterns; without parts if it is proved to be no less than `beat`."""
    from scipy.optimize import linprog

    flat = [way for group in ways for way in group]
    group = np.repeat(np.arange(len(ways)), [len(group) for group in ways])
    load = np.zeros((steps * ranks, len(flat)))
    for k, way in enumerate(flat):
        load[[move.step * ranks + move.src for move in way], k] = 1
    result = linprog(
        np.r_[np.zeros(len(flat)), np.ones(steps)],
        A_ub=np.hstack((load, -np.repeat(np.eye(steps), ranks, axis=0))),
        b_ub=np.zeros(len(load)),
        A_eq=np.hstack((np.arange(len(ways))[:, np.newaxis] == group, np.zeros((len(ways), steps)))),
        b_eq=np.full(len(ways), float(share)),
        method="highs",
    )
    prices = [Fraction(max(0.0, -y)).limit_denominator(FINEST) for y in result.ineqlin.marginals]
    bound = share * _dual(ranks, ways, prices)
    if beat is not None and bound >= beat:
        return bound, None
    sizes = [Fraction(float(size)).limit_denominator(FINEST) for size in np.asarray(result.x)[: len(flat)]]
    parts = [[(sizes[k], flat[k]) for k in np.flatnonzero(group == one) if sizes[k]] for one in range(len(ways))]
    if any(sum(size for size, _ in part) != share for part in parts):
        raise ArithmeticError(f"parts that do not add up to {share}: the program's optimum is too fine")
    sent: Counter[tuple[int, int]] = Counter()
    for size, way in chain.from_iterable(parts):
        for move in way:
            sent[move.step, move.src] += size  # type: ignore[assignment]
    n_beta = sum((Fraction(max(sent[t, rank] for rank in range(ranks))) for t in range(steps)), Fraction(0))
    if bound != n_beta:
        raise ArithmeticError(f"the bounds {bound} and {n_beta} on one sequence of patterns should be equal")
    return n_beta, parts


def _dual(ranks: int, ways: list[Ways], prices: list[Fraction]) -> Fraction:
    """A bound that holds exactly: prices on the ports that sum to at most 1 in every step, cheapest way each."""
    for t in range(0, len(prices), ranks):
        total = max(sum(prices[t : t + ranks]), Fraction(1))
        prices[t : t + ranks] = [y / total for y in prices[t : t + ranks]]
    scale = lcm(*(y.denominator for y in prices))
    whole = [int(y * scale) for y in prices]
    cheapest = (min(sum(whole[m.step * ranks + m.src] for m in way) for way in group) for group in ways)
    return Fraction(sum(cheapest), scale)


def _schedule(primitive: str, ranks: int, sequence: Sequence[Pattern], parts: Parts) -> Schedule:
    ends = _ends(primitive, ranks)
    rows = [(size, *pair, way) for pair, group in zip(ends, parts, strict=True) for size, way in group]
    if primitive == "all-to-all":  # what a rank keeps
        rows += [(Fraction(1, ranks), rank, rank, ()) for rank in range(ranks)]
    share, source, target, ways = zip(*rows, strict=True)
    blocks = Blocks(ranks, Fractions.of(share), np.array(source), np.array(target), (np.arange(ranks),))
    steps = []
    for t, pattern in enumerate(sequence):
        now = [(m.src, pattern[m.src], block, m.add) for block, way in enumerate(ways) for m in way if m.step == t]
        src, dst, block, add = zip(*now, strict=True) if now else ([], [], [], [])
        steps.append(Step.of(src, dst, block, add))
    return Schedule.from_steps(blocks, steps)
