"""Gradients that are compressed on their way: what a collective can still do with them.

A compressor makes of a vector a `Packet`: what the receiver reads, and the bytes that it takes. A ring adds
numbers at every hop, so it wants packets whose sum is a packet. Where that fails, packets are quantized anew
at every hop (`requantized`), added by an owner in full precision (`two_phase`), or gathered by everybody
(`gathered`, `merged`). All of them run through schedules, and every byte is counted where it is sent. What that
does to training is for `colllib.training.problems` to say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

from colllib.algorithms import allgather, allreduce, alltoall, reducescatter
from colllib.limits import MOST_NODES, check_size
from colllib.primitives import check_counts
from colllib.schedule import Schedule
from colllib.values import Message, final_values

Floats = NDArray[np.float64]

FULL = 4  # bytes of an FP32 number, and of an index or a scale


@dataclass(frozen=True, eq=False)
class Packet:
    """What a compressor puts on the wire.

    Attributes:
        values: as the receiver reads them.
        bytes: what they take on the wire.
    """

    values: Floats
    bytes: int


Compressor = Callable[[Floats, int], Packet]  # of a vector, with a seed that all ranks share


def full(vector: Floats, seed: int = 0) -> Packet:
    """No compression: FP32.

    >>> full(np.zeros(10)).bytes
    40
    """
    return Packet(vector, FULL * len(vector))


def int8(block: int | None = None) -> Compressor:
    """Whole numbers from -127 to 127 times a scale, the largest value / 127: one scale for all, or one per block.

    Args:
        block: values that share a scale (default: all).

    Raises:
        ValueError: for a block below 1.

    >>> int8()(np.array([127.0, 1.4, 0.3]), 0).values, int8(2)(np.zeros(5), 0).bytes
    (array([127.,   1.,   0.]), 17)
    """
    if block is not None:
        check_counts(block=block)

    def compress(vector: Floats, seed: int) -> Packet:
        size = min(block or len(vector), len(vector)) or 1
        count = -(-len(vector) // size)
        rows = np.zeros((count, size))
        rows.ravel()[: len(vector)] = vector
        scale = np.abs(rows).max(axis=1, keepdims=True) / 127
        rows = np.round(np.divide(rows, scale, out=np.zeros_like(rows), where=scale > 0)) * scale
        return Packet(rows.ravel()[: len(vector)], len(vector) + FULL * count)

    return compress


def top_k(share: float) -> Compressor:
    """The largest values by magnitude, each with its index; the others are zero.

    Args:
        share: of the values that are kept, above 0 and at most 1; at least one is.

    >>> top_k(0.5)(np.array([1.0, -5.0, 3.0, 0.0]), 0).values
    array([ 0., -5.,  3.,  0.])
    """
    _check_share(share)

    def compress(vector: Floats, seed: int) -> Packet:
        kept = np.argsort(-np.abs(vector), kind="stable")[: _count(share, vector)]
        return Packet(_only(vector, kept), 2 * FULL * len(kept))

    return compress


def random_k(share: float, *, unbiased: bool = True) -> Compressor:
    """Values at places that all ranks draw from the same seed, so that no index travels.

    Args:
        share: of the values that are kept, above 0 and at most 1.
        unbiased: divide by the part that is kept, so that the mean over all draws is the vector.

    >>> random_k(0.5)(np.ones(4), 1).values.tolist()
    [2.0, 2.0, 0.0, 0.0]
    """
    _check_share(share)

    def compress(vector: Floats, seed: int) -> Packet:
        kept = np.random.default_rng(seed).permutation(len(vector))[: _count(share, vector)]
        return Packet(_only(vector, kept) * (len(vector) / max(1, len(kept)) if unbiased else 1), FULL * len(kept))

    return compress


def sign(vector: Floats, seed: int = 0) -> Packet:
    """One bit for each value, and one scale: the mean magnitude.

    >>> sign(np.array([3.0, -1.0])).values, sign(np.zeros(64)).bytes
    (array([ 2., -2.]), 12)
    """
    mean = np.abs(vector).sum() / max(1, len(vector))  # a vector of fewer values than ranks has parts without any
    return Packet(np.where(vector < 0, -mean, mean), -(-len(vector) // 8) + FULL)


def _check_share(share: float) -> None:
    if not 0 < share <= 1:
        raise ValueError(f"share = {share}: must be above 0 and at most 1, the part of the values that is kept")


def _count(share: float, vector: Floats) -> int:
    return max(1, round(share * len(vector)))


def _only(vector: Floats, kept: NDArray[np.intp]) -> Floats:
    values = np.zeros_like(vector)
    values[kept] = vector[kept]
    return values


# -- collectives ---------------------------------------------------------------------------------


@cache
def _built(build: Callable[[int], Schedule], ranks: int) -> Schedule:
    """A schedule whose steps exist, since training runs it hundreds of times."""
    schedule = build(ranks)
    return Schedule.from_steps(schedule.blocks, [schedule.step(t) for t in range(schedule.num_steps)])


@dataclass(eq=False)
class Traffic:
    """Counts what ranks send: a wire for `final_values` that lets packets pass as they are.

    Attributes:
        bytes: that each rank has sent, shape (ranks,).
        steps: the largest packet of each step, of all collectives so far.
    """

    ranks: int
    bytes: NDArray[np.intp] = field(init=False)
    steps: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_counts(ranks=self.ranks)
        check_size("a count of bytes for each rank", self.ranks, MOST_NODES, "ranks")
        self.bytes = np.zeros(self.ranks, dtype=np.intp)

    def __call__(self, sent: Packet, message: Message) -> Packet:
        """A packet passes."""
        self.bytes[message.src] += sent.bytes
        self.steps[message.step] = max(self.steps.get(message.step, 0), sent.bytes)
        return sent

    def check(self, vectors: Sequence[Floats]) -> None:
        """Refuse vectors that are not one for each rank, of one length."""
        if len(vectors) != self.ranks or len({len(vector) for vector in vectors}) > 1:
            lengths = ", ".join(str(len(vector)) for vector in vectors)
            raise ValueError(
                f"vectors of lengths {lengths or 'none'}: must be one for each of {self.ranks} ranks, alike"
            )

    @property
    def most(self) -> int:
        """Bytes of the busiest rank."""
        return int(self.bytes.max())


def summed(vectors: Sequence[Floats], traffic: Traffic) -> list[Floats]:
    """The mean on every rank, by a ring in FP32; arguments as for `requantized`."""
    return requantized(vectors, full, traffic)


def requantized(vectors: Sequence[Floats], compress: Compressor, traffic: Traffic, seed: int = 0) -> list[Floats]:
    """The mean on every rank, by a ring that compresses every partial sum anew before it travels.

    Args:
        vectors: one per rank, of one length.
        compress: what a rank uses before it sends a partial sum, and its own sum in the end.
        traffic: counts what is sent.
        seed: that all ranks share.

    Returns:
        what each rank ends with.
    """
    traffic.check(vectors)
    ranks = len(vectors)

    def hop(partial: Floats, message: Message) -> Floats:
        return traffic(compress(partial, seed), message).values

    sums = final_values(
        _built(reducescatter.ring, ranks), [np.array_split(vector, ranks) for vector in vectors], wire=hop
    )
    owned = [sums[rank][rank] / ranks for rank in range(ranks)]
    return [np.concatenate(row) for row in _gathered([compress(part, seed) for part in owned], traffic)]


def two_phase(
    parts: Sequence[Sequence[Packet]],
    compress: Compressor,
    traffic: Traffic,
    seed: int = 0,
    residual: list[Floats] | None = None,
) -> list[Floats]:
    """The mean on every rank: an all-to-all of packets, owners add in full precision, an all-gather of packets.

    Args:
        parts: parts[i][j], what rank i has for the owner j (`in_parts`).
        compress: what owners use on the way back.
        traffic: counts what is sent.
        seed: that all ranks share.
        residual: of each owner, what its packets have left out; added before it compresses, and brought up to date.

    Returns:
        what each rank ends with.

    Source: Tang et al. (2021), section 4 (1-bit Adam), for the two residuals.

    >>> two_phase([in_parts(np.array(v), 2, full) for v in ([1.0, 3.0], [3.0, 5.0])], full, Traffic(2))
    [array([2., 4.]), array([2., 4.])]
    """
    traffic.check([_values(row) for row in parts])
    ranks = len(parts)
    start = [[parts[block // ranks][block % ranks] for block in range(ranks**2)]] * ranks
    there = final_values(_built(alltoall.pairwise, ranks), start, wire=traffic)
    owned = [sum(there[own][src * ranks + own].values for src in range(ranks)) / ranks for own in range(ranks)]
    if residual is not None:
        owned = [mean + left for mean, left in zip(owned, residual, strict=True)]
    packets = [compress(mean, seed) for mean in owned]
    if residual is not None:
        residual[:] = [mean - packet.values for mean, packet in zip(owned, packets, strict=True)]
    return [np.concatenate(row) for row in _gathered(packets, traffic)]


def _values(packets: Sequence[Packet]) -> Floats:
    """Of a vector's parts, end to end."""
    return np.concatenate([packet.values for packet in packets])


def in_parts(vector: Floats, ranks: int, compress: Compressor, seed: int = 0) -> list[Packet]:
    """The vector cut into a part for each owner, each part compressed."""
    return [compress(part, seed) for part in np.array_split(vector, ranks)]


def _gathered(packets: Sequence[Packet], traffic: Traffic) -> list[list[Floats]]:
    """What each rank reads of everybody's packet, sent round a ring."""
    ranks = len(packets)
    held = final_values(_built(allgather.ring, ranks), [list(packets)] * ranks, wire=traffic)
    return [[packet.values for packet in row] for row in held]


def gathered(packets: Sequence[Packet], traffic: Traffic) -> list[Floats]:
    """The mean on every rank, by an all-gather of everybody's packet round a ring."""
    traffic.check([packet.values for packet in packets])
    return [np.sum(row, axis=0) / len(row) for row in _gathered(packets, traffic)]


def merged(packets: Sequence[Packet], traffic: Traffic) -> list[Floats]:
    """The mean on every rank, by recursive doubling with sparse vectors whose non-zero places grow as they meet.

    Args:
        packets: one per rank, of one length.
        traffic: counts what is sent; its `steps` show the growth.

    >>> traffic = Traffic(4)
    >>> packets = [top_k(0.1)(np.roll(np.arange(20.0), 5 * r), 0) for r in range(4)]
    >>> _ = merged(packets, traffic)
    >>> traffic.steps  # two places, then four
    {0: 16, 1: 32}
    """
    traffic.check([packet.values for packet in packets])
    ranks = len(packets)

    def add(mine: Packet, other: Packet) -> Packet:
        values = mine.values + other.values
        places = np.count_nonzero((mine.values != 0) | (other.values != 0))
        return Packet(values, min(2 * FULL * int(places), FULL * len(values)))  # never more than a dense vector

    held = final_values(_built(allreduce.recursive_doubling, ranks), [[packet] for packet in packets], add, traffic)
    return [row[0].values / ranks for row in held]


# -- averages with a memory ----------------------------------------------------------------------

WAYS = ("every hop", "two phases", "gather")


@dataclass(eq=False)
class Average:
    """The mean of the workers' vectors, step after step, compressed, with or without error feedback.

    With feedback every worker adds to its vector what its packets have left out so far, and so does every
    owner in two phases.

    Args:
        workers: how many.
        compress: the compressor.
        way: "every hop", "two phases" or "gather".
        feedback: whether residuals are kept; at every hop they can't be, since no one knows what is lost later.

    Raises:
        ValueError: for another way, or feedback at every hop.
    """

    workers: int
    compress: Compressor = full
    way: str = "two phases"
    feedback: bool = False
    traffic: Traffic = field(init=False)
    errors: list[Floats] = field(default_factory=list, init=False)
    owners: list[Floats] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        if self.way not in WAYS:
            raise ValueError(f"way {self.way!r}: must be one of {', '.join(WAYS)}")
        if self.feedback and self.way == "every hop":
            raise ValueError("feedback with 'every hop': a worker cannot know what later hops leave out of its vector")
        self.traffic = Traffic(self.workers)

    def __call__(self, vectors: Sequence[Floats], step: int) -> Floats:
        """The mean as every rank ends with it."""
        self.traffic.check(vectors)
        if self.way == "every hop":
            return requantized(vectors, self.compress, self.traffic, step)[0]
        if self.feedback:
            self.errors = self.errors or [np.zeros_like(vector) for vector in vectors]
            self.owners = self.owners or [np.zeros_like(part) for part in np.array_split(vectors[0], self.workers)]
            vectors = [vector + error for vector, error in zip(vectors, self.errors, strict=True)]
        pieces = 1 if self.way == "gather" else self.workers
        parts = [in_parts(vector, pieces, self.compress, step) for vector in vectors]
        if self.feedback:
            self.errors = [vector - _values(row) for vector, row in zip(vectors, parts, strict=True)]
        if self.way == "gather":
            return gathered([packet for [packet] in parts], self.traffic)[0]
        return two_phase(parts, self.compress, self.traffic, step, self.owners if self.feedback else None)[0]


@dataclass(eq=False)
class LowRank:
    """PowerSGD: the gradient as a matrix of low rank, both of whose factors a ring can add; with error feedback.

    Args:
        workers: how many.
        rank: of the approximation.
        seed: of the first factor.

    Source: Vogels, Karimireddy & Jaggi (2019), algorithm 1.
    """

    workers: int
    rank: int = 1
    seed: int = 0
    traffic: Traffic = field(init=False)
    errors: list[Floats] = field(default_factory=list, init=False)
    right: Floats | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        check_counts(rank=self.rank)
        self.traffic = Traffic(self.workers)

    def __call__(self, vectors: Sequence[Floats], step: int) -> Floats:
        """The mean as every rank ends with it: of the vectors as matrices that are as square as can be."""
        self.traffic.check(vectors)
        size = len(vectors[0])
        rows = int(np.ceil(np.sqrt(size)))
        columns = -(-size // rows)
        if self.rank > columns:
            raise ValueError(f"rank {self.rank}: {size} numbers make a matrix of {rows} x {columns}, which has less")
        self.errors = self.errors or [np.zeros(size) for _ in vectors]
        held = [vector + error for vector, error in zip(vectors, self.errors, strict=True)]
        matrices = [np.pad(vector, (0, rows * columns - size)).reshape(rows, columns) for vector in held]
        if self.right is None:
            self.right = np.random.default_rng(self.seed).normal(size=(columns, self.rank))
        left = np.linalg.qr(self._mean([m @ self.right for m in matrices]))[0]
        right = self._mean([m.T @ left for m in matrices])
        if right.any():  # from nothing the next step could not begin
            self.right = right
        self.errors = [vector - (left @ (left.T @ m)).ravel()[:size] for vector, m in zip(held, matrices, strict=True)]
        return np.asarray((left @ right.T).ravel()[:size])

    def _mean(self, matrices: Sequence[Floats]) -> Floats:
        return summed([m.ravel() for m in matrices], self.traffic)[0].reshape(matrices[0].shape)


@dataclass(eq=False)
class Adam:
    """The direction of Adam; after a warm-up the variance is frozen, and the momentum travels as signs with feedback.

    Args:
        workers: how many.
        warm_up: steps in full precision, after which it is 1-bit Adam (default: all of them, which is plain Adam).

    Source: Kingma & Ba (2015); Tang et al. (2021).
    """

    workers: int
    warm_up: int | None = None
    traffic: Traffic = field(init=False)
    momentum: Floats = field(default_factory=lambda: np.zeros(1), init=False)
    variance: Floats = field(default_factory=lambda: np.zeros(1), init=False)

    def __post_init__(self) -> None:
        if self.warm_up is not None:
            check_counts(warm_up=self.warm_up)
        self.exact, self.signs = Average(self.workers), Average(self.workers, sign, feedback=True)
        self.traffic = self.signs.traffic = self.exact.traffic

    def __call__(self, vectors: Sequence[Floats], step: int) -> Floats:
        """The direction as every rank ends with it; steps count from 0."""
        exact = step + 1 if self.warm_up is None else min(step + 1, self.warm_up)
        if step < exact:
            mean = self.exact(vectors, step)
            self.momentum = 0.9 * self.momentum + 0.1 * mean
            self.variance = 0.99 * self.variance + 0.01 * mean**2
        else:
            self.momentum = self.signs([0.9 * self.momentum + 0.1 * vector for vector in vectors], step)
        variance = self.variance / (1 - 0.99**exact)
        return np.asarray(self.momentum / (1 - 0.9 ** (step + 1)) / (np.sqrt(variance) + 1e-8))
