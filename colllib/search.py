"""Exhaustive search on few ranks: the fewest steps, and the fewest bytes in a given number of steps.

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

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import permutations, product
from math import lcm

import numpy as np

from colllib.bounds import lower_bound
from colllib.exact import Fractions, IntArray
from colllib.primitives import Blocks, check_counts, check_ranks
from colllib.schedule import Schedule, Step, reversed_in_time

Pattern = tuple[int, ...]
Ways = list[tuple["Move", ...]]
Parts = list[list[tuple[Fraction, tuple["Move", ...]]]]  # of each group: the share of M that takes each way
MOST_RANKS = 5
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
    """The fewest bytes in a given number of steps.

    Attributes:
        steps: the number of steps T.
        n_beta: the least sum over the steps of the largest message, in units of M.
        schedule: a schedule that attains it.
        sequences: how many sequences of patterns were settled, of those that differ by more than
            the names of ranks.
    """

    steps: int
    n_beta: Fraction
    schedule: Schedule
    sequences: int


def patterns(ranks: int) -> tuple[Pattern, ...]:
    """Who sends to whom in a step: rank r to pattern[r], or to nobody if that is r itself.

    >>> len(patterns(3)), len(patterns(4)), len(patterns(5))
    (5, 17, 89)
    """
    check_ranks(ranks)
    return tuple(p for p in permutations(range(ranks)) if sum(p[r] == r for r in range(ranks)) <= 1)


def _check(primitive: str, ranks: int) -> None:
    check_ranks(ranks)
    if primitive not in SEARCHED:
        raise ValueError(f"no search for {primitive!r}: searched are {', '.join(SEARCHED)}")
    if ranks > MOST_RANKS:
        raise ValueError(f"N = {ranks}: the search is for at most {MOST_RANKS} ranks")


# -- the fewest steps ---------------------------------------------------------------------------


def least_steps(primitive: str, ranks: int) -> int:
    """The fewest steps on one port, by breadth-first search over what the ranks hold.

    Messages may be as large as one likes, so a copy carries all that its sender knows. States that
    differ by the names of the ranks count once.

    Args:
        primitive: its name.
        ranks: number of ranks N, at most 5; 4 for an all-reduce.

    Raises:
        ValueError: for another primitive, or more ranks.

    >>> least_steps("broadcast", 5), least_steps("all-reduce", 3), least_steps("all-reduce", 4)
    (3, 3, 2)
    """
    _check(primitive, ranks)
    if primitive == "all-reduce" and ranks > 4:
        raise ValueError(f"N = {ranks}: for an all-reduce the search is for at most 4 ranks")
    rooted = primitive in ("broadcast", "reduce")
    full = (1 << ranks) - 1
    # what a rank holds: the vector or not; the contributions in its sum; whose shards
    start = tuple(int(r == 0) for r in range(ranks)) if rooted else tuple(1 << r for r in range(ranks))
    goal = (1,) * ranks if rooted else (full,) * ranks
    after = _reductions if primitive == "all-reduce" else _copies
    rename = _canonical_root if rooted else _canonical
    frontier, seen, steps = {start}, {start}, 0
    while goal not in frontier:
        frontier = {rename(state) for old in frontier for state in after(old)} - seen
        seen |= frontier
        steps += 1
    return steps


def _copies(state: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for pattern in patterns(len(state)):
        new = list(state)
        for src, dst in enumerate(pattern):
            new[dst] |= state[src]
        yield tuple(new)


def _reductions(state: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for pattern in patterns(len(state)):
        options = [{state[dst]} for dst in range(len(state))]
        for src, dst in enumerate(pattern):
            options[dst] |= {state[src]} | ({state[src] | state[dst]} if not state[src] & state[dst] else set())
        for new in product(*options):
            if np.bitwise_or.reduce(new) == (1 << len(state)) - 1:  # a lost contribution never returns
                yield new


def _canonical_root(state: tuple[int, ...]) -> tuple[int, ...]:
    return state[:1] + tuple(sorted(state[1:]))


@cache
def _canonical(state: tuple[int, ...]) -> tuple[int, ...]:
    """The smallest state that differs from this one only by the names of the ranks."""
    alike = []
    for names in permutations(range(len(state))):
        renamed = [0] * len(state)
        for rank, value in enumerate(state):
            renamed[names[rank]] = sum(1 << names[k] for k in range(len(state)) if value >> k & 1)
        alike.append(tuple(renamed))
    return min(alike)


# -- the fewest bytes in T steps ----------------------------------------------------------------


def least_bytes(primitive: str, ranks: int, steps: int) -> Best | None:
    """The least n_beta of any schedule of T steps on one port, however the message is cut.

    Args:
        primitive: its name.
        ranks: number of ranks N, at least 2; the time grows steeply from 4 on.
        steps: number of steps T, at least 1.

    Returns:
        the optimum with a schedule that attains it, or None if T steps do not suffice.

    Raises:
        ValueError: for a primitive or N that is not searched, or no steps.

    >>> best = least_bytes("broadcast", 4, 3)
    >>> best.n_beta, least_bytes("broadcast", 4, 1)
    (Fraction(3, 2), None)
    """
    _check(primitive, ranks)
    check_counts(steps=steps)
    if ranks < 2:
        raise ValueError("N = 1: one rank sends nothing, take at least 2")
    if primitive in BACKWARDS:
        forward = least_bytes(BACKWARDS[primitive], ranks, steps)
        if forward is None:
            return None
        return Best(steps, forward.n_beta, reversed_in_time(forward.schedule), forward.sequences)
    groups = _groups(primitive, ranks)
    floor = lower_bound(primitive, ranks).n_beta
    best: tuple[Fraction, Parts, tuple[Pattern, ...]] | None = None
    count = 0
    for sequence in _sequences(ranks, steps, rooted=primitive == "broadcast"):
        ways = [find(sequence) for _, find in groups]
        if not all(ways):
            continue
        count += 1
        n_beta, parts = _program(ranks, steps, [share for share, _ in groups], ways, best[0] if best else None)
        if parts is not None and (best is None or n_beta < best[0]):
            best = (n_beta, parts, sequence)
        if best and best[0] == floor:
            break
    if best is None:
        return None
    return Best(steps, best[0], _schedule(primitive, ranks, best[2], best[1]), count)


def _groups(primitive: str, ranks: int) -> list[tuple[Fraction, Callable[[Sequence[Pattern]], Ways]]]:
    """The parts of the message that have one source and target each: share of M, and the ways they can take."""
    if primitive == "broadcast":
        return [(Fraction(1), partial(_trees, root=0))]
    if primitive == "all-gather":
        return [(Fraction(1, ranks), partial(_trees, root=i)) for i in range(ranks)]
    if primitive == "all-to-all":
        pairs = [(i, j) for i in range(ranks) for j in range(ranks) if i != j]
        return [(Fraction(1, ranks), partial(_paths, source=i, target=j)) for i, j in pairs]
    return [(Fraction(1), _sums)]


def _useful(ranks: int, rooted: bool) -> tuple[Pattern, ...]:
    """The patterns of a step; where rank 0 is a root that needs nothing, without the messages to it."""
    if not rooted:
        return patterns(ranks)
    cut = {tuple(src if dst == 0 else dst for src, dst in enumerate(p)) for p in patterns(ranks)}
    edges = {p: {(src, dst) for src, dst in enumerate(p) if src != dst} for p in cut}
    return tuple(sorted(p for p in cut if not any(edges[p] < edges[other] for other in cut)))


@cache
def _sequences(ranks: int, steps: int, rooted: bool) -> tuple[tuple[Pattern, ...], ...]:
    """Every sequence of patterns, one for each class of those that differ by the names of ranks."""
    known = _useful(ranks, rooted)
    place = {pattern: k for k, pattern in enumerate(known)}
    renamings = [g for g in permutations(range(ranks)) if not rooted or g[0] == 0]
    table = []
    for g in renamings:
        row = []
        for pattern in known:
            renamed = [0] * ranks
            for src, dst in enumerate(pattern):
                renamed[g[src]] = g[dst]
            row.append(place[tuple(renamed)])
        table.append(row)
    smallest = np.zeros((1, 0), dtype=np.intp)
    for _ in range(steps):  # a prefix of a smallest sequence is smallest itself
        longer = np.repeat(smallest, len(known), axis=0)
        longer = np.column_stack((longer, np.tile(np.arange(len(known)), len(smallest))))
        keep = np.ones(len(longer), dtype=bool)
        for row in np.array(table):
            keep &= ~_smaller(row[longer], longer)
        smallest = longer[keep]
    return tuple(tuple(known[k] for k in row) for row in smallest)


def _smaller(left: IntArray, right: IntArray) -> np.ndarray:
    """Row by row, whether the left one comes first in lexicographic order."""
    differ = left != right
    first = differ.argmax(axis=1)
    row = np.arange(len(left))
    return np.asarray(differ.any(axis=1) & (left[row, first] < right[row, first]))


def _minimal(ways: Iterable[tuple[Move, ...]]) -> Ways:
    """The ways that use no more than another does, shortest first."""
    kept: list[tuple[frozenset[tuple[int, int]], tuple[Move, ...]]] = []
    for way in sorted(ways, key=len):
        used = frozenset((move.step, move.src) for move in way)
        if not any(other <= used for other, _ in kept):
            kept.append((used, way))
    return [way for _, way in kept]


def _trees(sequence: Sequence[Pattern], root: int) -> Ways:
    """How one byte can go from the root to everybody: every other rank receives it once."""
    ranks = len(sequence[0]) if sequence else 1
    others = [r for r in range(ranks) if r != root]
    back = [{dst: src for src, dst in enumerate(p) if src != dst} for p in sequence]
    chances = [[(t, senders[r]) for t, senders in enumerate(back) if r in senders] for r in others]
    trees = []
    for choice in product(*chances):
        since = {root: -1, **{r: t for r, (t, _) in zip(others, choice, strict=True)}}
        if all(since[src] < t for t, src in choice):
            trees.append(tuple(sorted(Move(t, src) for t, src in choice)))
    return _minimal(trees)


def _paths(sequence: Sequence[Pattern], source: int, target: int) -> Ways:
    """How one byte can go from one rank to one other."""
    paths: list[tuple[int, tuple[Move, ...]]] = [(source, ())]
    for t, pattern in enumerate(sequence):
        paths += [(pattern[at], (*way, Move(t, at))) for at, way in paths if pattern[at] != at]
    return _minimal(way for at, way in paths if at == target)


def _sums(sequence: Sequence[Pattern]) -> Ways:
    """How the contributions to one byte can become their sum on every rank."""
    if not sequence:
        return []
    ranks, last = len(sequence[0]), len(sequence) - 1
    full = (1 << ranks) - 1
    found = []
    back = [sequence[last].index(dst) for dst in range(ranks)]
    for state, way in _partial(ranks, tuple(sequence[:-1])):
        ending = []
        for dst, src in enumerate(back):
            if state[dst] == full:
                continue
            if state[src] == full:
                ending.append(Move(last, src, add=False))
            elif state[src] ^ state[dst] == full:
                ending.append(Move(last, src, add=True))
            else:
                break
        else:
            found.append((*way, *sorted(ending)))
    return _minimal(found)


@cache
def _partial(ranks: int, sequence: tuple[Pattern, ...]) -> tuple[tuple[tuple[int, ...], tuple[Move, ...]], ...]:
    """What the ranks can hold of one byte after some steps, with the moves that led there."""
    if not sequence:
        return ((tuple(1 << r for r in range(ranks)), ()),)
    pattern, t = sequence[-1], len(sequence) - 1
    found = {}
    for state, way in _partial(ranks, sequence[:-1]):
        options: list[list[tuple[int, Move | None]]] = [[(value, None)] for value in state]
        for src, dst in enumerate(pattern):
            if src != dst and state[src] != state[dst]:
                options[dst].append((state[src], Move(t, src, add=False)))
                if not state[src] & state[dst]:
                    options[dst].append((state[src] | state[dst], Move(t, src, add=True)))
        for choice in product(*options):
            new = tuple(value for value, _ in choice)
            if np.bitwise_or.reduce(new) == (1 << ranks) - 1:
                moves = (*way, *sorted(move for _, move in choice if move))
                found[new, frozenset((m.step, m.src) for m in moves)] = (new, moves)
    return tuple(found.values())


def _program(
    ranks: int, steps: int, shares: list[Fraction], ways: list[Ways], beat: Fraction | None
) -> tuple[Fraction, Parts | None]:
    """The least n_beta on one sequence of patterns; without parts if it is proved to be no less than `beat`."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    flat = [(g, way) for g, group in enumerate(ways) for way in group]
    used = [(move.step * ranks + move.src, k) for k, (_, way) in enumerate(flat) for move in way]
    edges = ranks * steps
    load = csr_array((np.ones(len(used)), tuple(np.array(used).T)), shape=(edges, len(flat))).toarray()
    largest = np.repeat(np.eye(steps), ranks, axis=0)
    membership = np.zeros((len(ways), len(flat) + steps))
    membership[[g for g, _ in flat], range(len(flat))] = 1
    result = linprog(
        np.r_[np.zeros(len(flat)), np.ones(steps)],
        A_ub=np.hstack((load, -largest)),
        b_ub=np.zeros(edges),
        A_eq=membership,
        b_eq=[float(share) for share in shares],
        method="highs",
    )
    prices = [Fraction(max(0.0, -y)).limit_denominator(FINEST) for y in result.ineqlin.marginals]
    bound = _dual(ranks, steps, shares, ways, prices)
    if beat is not None and bound >= beat:
        return bound, None
    parts = _parts(shares, ways, np.asarray(result.x))
    n_beta = sum(_largest(ranks, steps, parts), Fraction(0))
    if bound != n_beta:
        raise ArithmeticError(f"the bounds {bound} and {n_beta} on one sequence of patterns should be equal")
    return n_beta, parts


def _dual(ranks: int, steps: int, shares: list[Fraction], ways: list[Ways], prices: list[Fraction]) -> Fraction:
    """A bound that holds exactly: prices on the ports that sum to at most 1 in every step, cheapest way each."""
    for t in range(steps):
        total = sum(prices[t * ranks : (t + 1) * ranks])
        if total > 1:
            prices[t * ranks : (t + 1) * ranks] = [y / total for y in prices[t * ranks : (t + 1) * ranks]]
    scale = lcm(*(y.denominator for y in prices))
    whole = [int(y * scale) for y in prices]
    cheapest = (min(sum(whole[m.step * ranks + m.src] for m in way) for way in group) for group in ways)
    return sum((share * least for share, least in zip(shares, cheapest, strict=True)), Fraction(0)) / scale


def _parts(shares: list[Fraction], ways: list[Ways], x: np.ndarray) -> Parts:
    parts, at = Parts(), 0
    for share, group in zip(shares, ways, strict=True):
        sizes = [Fraction(float(value)).limit_denominator(FINEST) for value in x[at : at + len(group)]]
        if sum(sizes) != share:
            raise ArithmeticError(f"parts of {sum(sizes)} where {share} is needed: the program's optimum is too fine")
        parts.append([(size, way) for size, way in zip(sizes, group, strict=True) if size])
        at += len(group)
    return parts


def _largest(ranks: int, steps: int, parts: Parts) -> list[Fraction]:
    load = [[Fraction(0)] * ranks for _ in range(steps)]
    for group in parts:
        for size, way in group:
            for move in way:
                load[move.step][move.src] += size
    return [max(row) for row in load]


def _schedule(primitive: str, ranks: int, sequence: Sequence[Pattern], parts: Parts) -> Schedule:
    everybody = ranks  # the number of the only group
    ends = {
        "broadcast": [(0, everybody)],
        "all-reduce": [(everybody, everybody)],
        "all-gather": [(i, everybody) for i in range(ranks)],
        "all-to-all": [(i, j) for i in range(ranks) for j in range(ranks) if i != j],
    }[primitive]
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
