"""The seven primitives: who holds which blocks before, and who must hold them after.

A block moves as a unit. `source` says who holds (or, for a reduction, who contributes to) a
block before; `target` says who must hold it afterwards, with each contribution in it exactly
once. Both are a rank or a group of ranks, and those two facts per block express all seven
primitives, on any root, any group and any sizes:

==============  ==============  ===============  ===============================
primitive       source          target           a block is
==============  ==============  ===============  ===============================
broadcast       the root        every rank       a slice of the vector
reduce          every rank      the root         a slice of the vector
all-reduce      every rank      every rank       a slice of the vector
reduce-scatter  every rank      its owner        the owner's slice
all-gather      its owner       every rank       the owner's shard
all-to-all      one rank        one rank         a (source, destination) pair
point-to-point  one rank        another rank     a slice of the vector
==============  ==============  ===============  ===============================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from colllib.exact import Fractions, IntArray, counted
from colllib.limits import MOST_BLOCKS, MOST_MESSAGES, MOST_NODES, check_size

Shares = int | Sequence[Fraction]


@dataclass(frozen=True, eq=False)
class Blocks:
    """The units that move, with their exact share of M, their sources and their targets.

    Args:
        ranks: number of ranks N, at least 1.
        share: share of the message M, shape (B,).
        source: who holds or contributes to the block before, shape (B,). A value r < N is
            rank r; a value N + g is `groups[g]`.
        target: who must hold the block after, encoded in the same way, shape (B,).
        groups: arrays of ranks.

    Raises:
        ValueError: if a source or target names no rank and no group, a group is empty or names
            a rank that is not there, or a share is negative.

    >>> blocks = broadcast(4, root=2)
    >>> blocks.holders(blocks.source[0]), blocks.holders(blocks.target[0])
    (array([2]), array([0, 1, 2, 3]))
    """

    ranks: int
    share: Fractions
    source: IntArray
    target: IntArray
    groups: tuple[IntArray, ...]

    def __post_init__(self) -> None:
        check_ranks(self.ranks)
        limit = self.ranks + len(self.groups)
        for group in self.groups:
            if not len(group) or group.min() < 0 or group.max() >= self.ranks or np.bincount(group).max() > 1:
                raise ValueError(
                    f"a group of the ranks {group.tolist()[:8]}: must name some of 0..{self.ranks - 1}, each once"
                )
        if len(self.share) and self.share.numerators.min() < 0:
            raise ValueError(f"a share of {min(self.share)}: shares of a message must not be negative")
        for name, values in (("source", self.source), ("target", self.target)):
            if len(values) != len(self.share):
                raise ValueError(f"{len(values)} {name}s for {len(self.share)} blocks: one each is needed")
            if len(values) and values.dtype != np.intp:
                raise ValueError(f"{name}s of type {values.dtype}: must be int64")
            if len(values) and not (values.min() >= 0 and values.max() < limit):
                raise ValueError(f"a {name} outside 0..{limit - 1} names no rank and no group")

    def __len__(self) -> int:
        return len(self.share)

    def holders(self, who: int) -> IntArray:
        """The ranks that a source or target value stands for."""
        return np.array([who]) if who < self.ranks else self.groups[who - self.ranks]


@dataclass(frozen=True)
class Primitive:
    """A primitive as a specification.

    Args:
        name: the field's name, in kebab-case.
        source: "root", "owner" or "all": who holds a block before.
        target: "root", "owner" or "all": who must hold it after.
        statement: the specification in one sentence.
    """

    name: str
    source: str
    target: str
    statement: str

    def accepts(self, blocks: Blocks) -> bool:
        """Whether a schedule's blocks ask for just this primitive on all ranks, with one message M.

        Every owner has a block, every pair of an all-to-all too, be it of no size.

        >>> PRIMITIVES["all-reduce"].accepts(all_reduce(4)), PRIMITIVES["reduce"].accepts(all_reduce(4))
        (True, False)
        >>> PRIMITIVES["all-gather"].accepts(broadcast(4)), PRIMITIVES["all-gather"].accepts(all_gather(4))
        (False, True)
        """
        sides = ((self.source, blocks.source), (self.target, blocks.target))
        if not len(blocks) or not all(_side_is(kind, who, blocks) for kind, who in sides):
            return False
        if self.name == "all-to-all":
            return _is_all_to_all(blocks)
        if self.name == "point-to-point" and blocks.ranks > 1:
            sender, receiver = (int(blocks.holders(side[0])[0]) for side in (blocks.source, blocks.target))
            if sender == receiver:
                return False
        return blocks.share.total() == 1


def _side_is(kind: str, who: IntArray, blocks: Blocks) -> bool:
    """Whether the sources, or the targets, of all blocks are as a primitive has them."""
    holders = [blocks.holders(value) for value in np.unique(who)]
    if kind == "all":
        return all(len(ranks) == blocks.ranks for ranks in holders)
    single = all(len(ranks) == 1 for ranks in holders)
    different = len({int(ranks[0]) for ranks in holders})
    return single and different == (1 if kind == "root" else blocks.ranks)


def _is_all_to_all(blocks: Blocks) -> bool:
    """Whether there is a block for every pair of ranks, and every rank sends M together."""
    rank = np.array([*range(blocks.ranks), *(group[0] for group in blocks.groups)])  # a group may be of one rank
    source, target = rank[blocks.source], rank[blocks.target]
    pair = np.zeros(blocks.ranks**2, dtype=np.bool_)
    pair[source * blocks.ranks + target] = True
    sent = counted(source, blocks.share.numerators, blocks.ranks)
    return bool(pair.all()) and bool((sent == blocks.share.denominator).all())


PRIMITIVES = {
    primitive.name: primitive
    for primitive in (
        Primitive("broadcast", "root", "all", "the root holds a vector; then every rank holds it"),
        Primitive("reduce", "all", "root", "every rank holds a vector; then the root holds the sum of all"),
        Primitive("all-reduce", "all", "all", "every rank holds a vector; then every rank holds the sum of all"),
        Primitive(
            "reduce-scatter", "all", "owner", "every rank holds a vector; then rank i holds slice i of the sum of all"
        ),
        Primitive("all-gather", "owner", "all", "rank i holds shard i; then every rank holds all the shards"),
        Primitive(
            "all-to-all", "owner", "owner", "rank i holds a block for every j; then rank j holds a block from every i"
        ),
        Primitive("point-to-point", "root", "root", "one rank holds a vector; then one other holds it"),
    )
}


def is_whole(value: object) -> bool:
    """Whether a value is a whole number, and no truth value."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def lg(n: int) -> int:
    """The base-2 logarithm of a whole number of at least 1, rounded up.

    >>> [lg(n) for n in (1, 2, 5, 8)]
    [0, 1, 3, 3]
    """
    return (int(n) - 1).bit_length()  # numpy's whole numbers have no length


def is_power_of_two(n: int) -> bool:
    """Whether a whole number of at least 1 is one.

    >>> [n for n in range(1, 10) if is_power_of_two(n)]
    [1, 2, 4, 8]
    """
    return n & (n - 1) == 0


def whole_numbers(name: str, values: object) -> IntArray:
    """An array of whole numbers, shape (n,) or ().

    Raises:
        ValueError: naming a value that is not whole.

    >>> whole_numbers("rank", [1, 2])
    array([1, 2])
    """
    array = np.asarray(values)
    if array.size and (array.dtype.kind not in "iu" or (array.dtype.kind == "u" and int(array.max()) >= 2**63)):
        flat = array.ravel().tolist()  # in which one float makes floats of all
        wrong = [v for v in flat if not is_whole(v) and not (isinstance(v, float) and v.is_integer())]
        if not wrong and abs(largest := max(flat, key=abs)) >= 2**63:
            raise ValueError(f"{name} {int(largest)}: must be below 2^63")
        raise ValueError(f"{name} {(wrong or flat)[0]!r}: must be a whole number")
    return array.astype(np.intp, copy=False)


def check_counts(**counts: int) -> None:
    """Refuse what is no whole number of at least 1, by name.

    >>> check_counts(stages=4, microbatches=0)
    Traceback (most recent call last):
    ValueError: microbatches 0: must be at least 1
    """
    for name, value in counts.items():
        if not is_whole(value):
            raise ValueError(f"{name} {value!r}: must be a whole number")
        if value < 1:
            raise ValueError(f"{name} {value}: must be at least 1")


def check_ranks(ranks: int, most: int | None = MOST_NODES) -> None:
    """Refuse a number of ranks that is no whole number of at least 1, or more than a topology may have."""
    if not is_whole(ranks) or ranks < 1:
        raise ValueError(f"N = {ranks!r}: the number of ranks must be a whole number of at least 1")
    if most is not None:  # formulas have no limit
        check_size("N", ranks, most, "ranks")


def check_rank(name: str, rank: int, ranks: int) -> None:
    """Refuse a rank outside 0..N-1."""
    if not is_whole(rank) or not 0 <= rank < ranks:
        raise ValueError(f"{name} {rank!r}: must be one of the ranks 0..{ranks - 1}")


def check_direction(direction: int) -> None:
    """Refuse a way round a ring that is neither up nor down."""
    if direction not in (1, -1):
        raise ValueError(f"direction {direction!r}: must be 1 or -1")


def broadcast(ranks: int, shares: Shares = 1, root: int = 0) -> Blocks:
    """Broadcast: the root's vector, cut into slices, must reach every rank.

    Args:
        ranks: number of ranks N.
        shares: a number of equal slices, or each slice's exact share of M.
        root: the rank that holds the vector, 0..N-1.

    Raises:
        ValueError: for N < 1, a root outside 0..N-1, or shares that do not sum to 1.

    >>> len(broadcast(5, shares=3, root=4))
    3
    """
    check_ranks(ranks)
    check_rank("root", root, ranks)
    return _uniform(ranks, _slices(shares), root, ranks)


def reduce(ranks: int, shares: Shares = 1, root: int = 0) -> Blocks:
    """Reduce: the sum over all ranks, slice by slice, must reach the root.

    Shares and errors as for `broadcast`.

    >>> blocks = reduce(3, root=1)
    >>> blocks.holders(blocks.target[0])
    array([1])
    """
    check_ranks(ranks)
    check_rank("root", root, ranks)
    return _uniform(ranks, _slices(shares), ranks, root)


def all_reduce(ranks: int, shares: Shares = 1) -> Blocks:
    """All-reduce: the sum over all ranks, slice by slice, must reach every rank.

    >>> blocks = all_reduce(3, shares=[Fraction(1, 4), Fraction(3, 4)])
    >>> blocks.share[1]
    Fraction(3, 4)
    """
    check_ranks(ranks)
    return _uniform(ranks, _slices(shares), ranks, ranks)


def reduce_scatter(ranks: int, shares: Shares | None = None, owner: Sequence[int] | IntArray | None = None) -> Blocks:
    """Reduce-scatter: the sum of each slice must reach the slice's owner.

    Args:
        shares: the slices' shares of M (default: N equal ones).
        owner: each slice's owner (default: rank i owns slice i), shape (B,).

    >>> reduce_scatter(3, owner=[1, 2, 0]).target
    array([1, 2, 0])
    """
    check_ranks(ranks)
    share, owners = _owned(ranks, shares, owner)
    return Blocks(ranks, share, np.full(len(share), ranks), owners, (np.arange(ranks),))


def all_gather(ranks: int, shares: Shares | None = None, owner: Sequence[int] | IntArray | None = None) -> Blocks:
    """All-gather: each owner's shard must reach every rank. Arguments as for `reduce_scatter`.

    >>> all_gather(3).source
    array([0, 1, 2])
    """
    check_ranks(ranks)
    share, owners = _owned(ranks, shares, owner)
    return Blocks(ranks, share, owners, np.full(len(share), ranks), (np.arange(ranks),))


def all_to_all(ranks: int, shares: Sequence[Sequence[Fraction]] | None = None) -> Blocks:
    """All-to-all: block (i, j) is held by rank i and must reach rank j.

    Args:
        shares: shares[i][j], the share of M that rank i has for rank j (default: 1/N each);
            block (i, j) has index i * N + j. Rows may add up to more or less than 1.

    >>> blocks = all_to_all(3)
    >>> int(blocks.source[5]), int(blocks.target[5]), blocks.share[5]
    (1, 2, Fraction(1, 3))
    """
    check_ranks(ranks)
    check_size(f"an all-to-all of {ranks} ranks", ranks * ranks, MOST_BLOCKS, "blocks")
    if shares is None:
        share = Fractions.equal(ranks * ranks, ranks)
    else:
        if len(shares) != ranks or any(len(row) != ranks for row in shares):
            raise ValueError(f"the shares of an all-to-all must form a {ranks} x {ranks} table")
        share = Fractions.of(value for row in shares for value in row)
    source, target = np.divmod(np.arange(ranks * ranks), ranks)
    return Blocks(ranks, share, source, target, ())


def point_to_point(ranks: int, shares: Shares = 1, source: int = 0, target: int = 1) -> Blocks:
    """Point-to-point: rank `source`'s vector must reach rank `target`.

    >>> point_to_point(4, source=3, target=0).target
    array([0])
    """
    check_ranks(ranks)
    check_rank("source", source, ranks)
    check_rank("target", target, ranks)
    if source == target and ranks > 1:
        raise ValueError(f"source and target are both rank {source}: a message needs two ranks")
    return _uniform(ranks, _slices(shares), source, target)


def _uniform(ranks: int, share: Fractions, source: int, target: int) -> Blocks:
    count = len(share)
    _check_messages(ranks, count)
    return Blocks(ranks, share, np.full(count, source), np.full(count, target), (np.arange(ranks),))


def _check_messages(ranks: int, blocks: int) -> None:
    """Refuse blocks that take too many messages, however they are sent: each to, or from, every other rank."""
    check_size(f"{blocks} blocks for {ranks} ranks", blocks * (ranks - 1), MOST_MESSAGES, "messages")


def _slices(shares: Shares) -> Fractions:
    if isinstance(shares, int | np.integer):
        if shares < 1:
            raise ValueError(f"{shares} slices: a message must be cut into at least 1")
        check_size("a message", int(shares), MOST_BLOCKS, "slices")
        return Fractions.equal(int(shares))
    share = Fractions.of(shares)
    if share.total() != 1:
        raise ValueError(f"the shares sum to {share.total()}: they must sum to 1, the whole message")
    return share


def _owned(ranks: int, shares: Shares | None, owner: Sequence[int] | IntArray | None) -> tuple[Fractions, IntArray]:
    share = _slices(ranks if shares is None else shares)
    _check_messages(ranks, len(share))
    owners = np.arange(ranks) if owner is None else whole_numbers("owner", owner)
    if len(owners) != len(share):
        raise ValueError(f"{len(owners)} owners for {len(share)} blocks: one each is needed")
    for rank in np.unique(owners):
        check_rank("owner", int(rank), ranks)
    return share, owners
