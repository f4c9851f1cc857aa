"""Gradients that are compressed on their way: what a collective can still do with them.

A compressor makes of a vector a `Packet`: what the receiver reads, and the bytes that it takes. An `Average` sends
packets through schedules, in one of several ways, and counts every byte where it is sent. What that does to training
is for `colllib.training.problems` to say.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from colllib.algorithms import allgather, allreduce, alltoall, reducescatter
from colllib.evaluation import Message, final_values
from colllib.limits import MOST_NODES, check_size
from colllib.primitives import check_counts
from colllib.schedule import Schedule

Floats = NDArray[np.float64]

FULL = 4  # bytes of an FP32 number, and of an index or a scale


class Packet(NamedTuple):
    """What a compressor puts on the wire: the values as the receiver reads them, and the bytes that they take."""

    values: Floats
    bytes: int


Compressor = Callable[[Floats, int], Packet]  # of a vector, with a seed that all ranks share


def fp32(values: Floats) -> Floats:
    """The nearest FP32 numbers: processors that add in different orders agree on them, so that their runs do.

    >>> float(fp32(np.array([1 + 2.0**-30]))[0])
    1.0
    """
    return values.astype(np.float32).astype(np.float64)


def full(vector: Floats, seed: int = 0) -> Packet:
    """No compression: FP32.

    >>> full(np.zeros(10)).bytes
    40
    """
    return Packet(fp32(vector), FULL * len(vector))


def int8(block: int | None = None) -> Compressor:
    """Whole numbers from -127 to 127 times the largest value / 127, of all values or of each block of so many.

    Raises:
        ValueError: for a block below 1.

    >>> int8()(np.array([127.0, 1.4, 0.3]), 0).values, int8(2)(np.zeros(5), 0).bytes
    (array([127.,   1.,   0.]), 17)
    """
    if block is not None:
        check_counts(block=block)

    def compress(vector: Floats, seed: int) -> Packet:
        size = min(block or len(vector), len(vector)) or 1
        rows = np.pad(vector, (0, -len(vector) % size)).reshape(-1, size)
        scale = np.abs(rows).max(axis=1, keepdims=True) / 127
        rows = np.round(np.divide(rows, scale, out=np.zeros_like(rows), where=scale > 0)) * scale
        return Packet(rows.ravel()[: len(vector)], len(vector) + FULL * len(rows))

    return compress


def top_k(share: float) -> Compressor:
    """A share of the values, at least one, the largest by magnitude, each with its index; the others are zero.

    Raises:
        ValueError: for a share that is not above 0 and at most 1.

    >>> top_k(0.5)(np.array([1.0, -5.0, 3.0, 0.0]), 0).values
    array([ 0., -5.,  3.,  0.])
    """
    return _sparse(share, lambda vector, seed: np.argsort(-np.abs(vector), kind="stable"), 2 * FULL)


def random_k(share: float, *, unbiased: bool = True) -> Compressor:
    """A share of the values, at places that all ranks draw from the same seed, so that no index travels.

    They are divided by the share that is kept if they are to be `unbiased`: the mean over all draws is the vector.

    >>> random_k(0.5)(np.ones(4), 1).values.tolist()
    [2.0, 2.0, 0.0, 0.0]
    """
    return _sparse(share, lambda vector, seed: np.random.default_rng(seed).permutation(len(vector)), FULL, unbiased)


def _sparse(
    share: float, order: Callable[[Floats, int], NDArray[np.intp]], value_bytes: int, unbiased: bool = False
) -> Compressor:
    """The first values of an order of their places; each takes so many bytes."""
    if not 0 < share <= 1:
        raise ValueError(f"share = {share}: must be above 0 and at most 1, the part of the values that is kept")

    def compress(vector: Floats, seed: int) -> Packet:
        places = order(vector, seed)[: max(1, round(share * len(vector)))]
        values = np.zeros_like(vector)
        values[places] = vector[places] * (len(vector) / len(places) if unbiased and len(places) else 1)
        return Packet(values, value_bytes * len(places))

    return compress


def sign(vector: Floats, seed: int = 0) -> Packet:
    """One bit for each value, and one scale: the mean magnitude.

    >>> sign(np.array([3.0, -1.0])).values, sign(np.zeros(64)).bytes
    (array([ 2., -2.]), 12)
    """
    mean = np.abs(vector).sum() / max(1, len(vector))  # a vector of fewer values than ranks has parts without any
    return Packet(np.where(vector < 0, -mean, mean), -(-len(vector) // 8) + FULL)


def sign_rms(vector: Floats, seed: int = 0) -> Packet:
    """One bit for each value, and one scale that keeps the vector's length: the root of the mean square.

    >>> sign_rms(np.array([7.0, -1.0])).values
    array([ 5., -5.])
    """
    root = np.sqrt((vector**2).sum() / max(1, len(vector)))
    return Packet(np.where(vector < 0, -root, root), sign(vector).bytes)


# -- averages ------------------------------------------------------------------------------------

WAYS = ("every hop", "two phases", "gather", "merge")


@cache
def _built(build: Callable[[int], Schedule], ranks: int) -> Schedule:
    """A schedule whose steps exist, since training runs it hundreds of times."""
    schedule = build(ranks)
    return Schedule.from_steps(schedule.blocks, list(schedule.steps))


@dataclass(eq=False)
class Average:
    """The mean of the workers' vectors, step after step, compressed on its way.

    Args:
        way: "every hop" is a ring, which compresses each partial sum anew before it travels; "two phases" are an
            all-to-all of packets to owners of parts, who add in full precision, and an all-gather of their packets;
            "gather" takes everybody's packet round a ring; "merge" is recursive doubling with sparse packets, whose
            places grow as they meet.

    Raises:
        ValueError: for another way or fewer than one worker; when called, for vectors that do not fit.

    Source: Tang et al. (2021), section 4 (1-bit Adam), for the feedback of workers and owners.

    >>> average = Average(4, top_k(0.1), "merge")
    >>> mean = average([np.roll(np.arange(20.0), 5 * rank) for rank in range(4)], 0)
    >>> average.largest, average.bytes  # two places, then four
    ({0: 16, 1: 32}, array([48, 48, 48, 48]))
    """

    workers: int
    compress: Compressor = full
    way: str = "two phases"
    feedback: bool = False  # whether all who make a packet add what their packets for this place have left out so far

    def __post_init__(self) -> None:
        check_counts(workers=self.workers)
        check_size("a count of bytes for each worker", self.workers, MOST_NODES, "workers")
        if self.way not in WAYS:
            raise ValueError(f"way {self.way!r}: must be one of {', '.join(WAYS)}")
        self.bytes = np.zeros(self.workers, dtype=np.intp)  # that each worker has sent so far
        self.largest = dict[int, int]()  # packet so far in each step of the collective
        self.left = dict[tuple[Any, ...], Floats]()  # by packets for each place, which ends with the number of the part

    def __call__(self, vectors: Sequence[Floats], step: int) -> Floats:
        """The mean as the first worker ends with it; `step` seeds what is random."""
        return self.on_each(vectors, step)[0]

    def on_each(self, vectors: Sequence[Floats], step: int) -> list[Floats]:
        """The mean as each worker ends with it."""
        _check_vectors(vectors, self.workers)
        if self.way in ("gather", "merge"):
            packets = [self._packet(vector, step, "whole", rank, 0) for rank, vector in enumerate(vectors)]
            if self.way == "merge":
                return self._merged(packets)
            return [np.mean(row, axis=0) for row in self._gathered(packets)]
        parts = [np.array_split(vector, self.workers) for vector in vectors]
        sums = self._hops(parts, step) if self.way == "every hop" else self._exchanged(parts, step)
        packets = [self._packet(part / self.workers, step, "mean", rank) for rank, part in enumerate(sums)]
        return [np.concatenate(row) for row in self._gathered(packets)]

    def _packet(self, values: Floats, step: int, *place: Any) -> Packet:
        """The compressed values, with what those for the same place have left out before."""
        if not self.feedback:
            return self.compress(values, step)
        values = values + self.left.get(place, 0)
        packet = self.compress(values, step)
        self.left[place] = values - packet.values
        return packet

    def _sent(self, packet: Packet, message: Message) -> Packet:
        """A wire that only counts."""
        self.bytes[message.src] += packet.bytes
        self.largest[message.step] = max(self.largest.get(message.step, 0), packet.bytes)
        return packet

    def _hops(self, parts: Sequence[Sequence[Floats]], step: int) -> list[Floats]:
        """The sum of each worker's own part, whose partial sums are compressed before each hop."""

        def hop(partial: Floats, message: Message) -> Floats:
            return self._sent(self._packet(partial, step, "hop", message.src, message.block), message).values

        sums = final_values(_built(reducescatter.ring, self.workers), parts, wire=hop)
        return [row[rank] for rank, row in enumerate(sums)]

    def _exchanged(self, parts: Sequence[Sequence[Floats]], step: int) -> list[Floats]:
        """The sum of each worker's own part, of packets that came straight from the others."""
        ranks = range(self.workers)
        packets = [self._packet(parts[src][dst], step, "part", src, dst) for src in ranks for dst in ranks]
        received = final_values(_built(alltoall.pairwise, self.workers), [packets] * self.workers, wire=self._sent)
        return [sum(received[dst][src * self.workers + dst].values for src in ranks) for dst in ranks]

    def _gathered(self, packets: list[Packet]) -> list[list[Floats]]:
        """What each worker reads of everybody's packet."""
        received = final_values(_built(allgather.ring, self.workers), [packets] * self.workers, wire=self._sent)
        return [[packet.values for packet in row] for row in received]

    def _merged(self, packets: Sequence[Packet]) -> list[Floats]:
        def add(mine: Packet, other: Packet) -> Packet:
            places = int(np.count_nonzero((mine.values != 0) | (other.values != 0)))
            size = FULL * min(2 * places, len(mine.values))  # never more than a dense vector
            return Packet(mine.values + other.values, size)

        schedule = _built(allreduce.recursive_doubling, self.workers)
        merged = final_values(schedule, [[packet] for packet in packets], add, self._sent)
        return [total.values / self.workers for (total,) in merged]


@dataclass(eq=False)
class LowRank:
    """PowerSGD: the gradient as a matrix of low rank, both of whose factors a ring can add; with error feedback.

    It counts `bytes` and keeps what is `left` of each worker's vector, as an `Average` does.

    Raises:
        ValueError: for fewer than one worker or rank; when called, for vectors too short for the rank.

    Source: Vogels, Karimireddy & Jaggi (2019), algorithm 1.
    """

    workers: int
    rank: int = 1

    def __post_init__(self) -> None:
        check_counts(rank=self.rank)
        self.ring = Average(self.workers, full, "every hop")
        self.bytes, self.left = self.ring.bytes, [np.zeros(1)] * self.workers
        self.right = np.zeros((0, 0))

    def __call__(self, vectors: Sequence[Floats], step: int) -> Floats:
        """The mean as every worker ends with it: of the vectors as matrices that are as square as can be."""
        _check_vectors(vectors, self.workers)
        size = len(vectors[0])
        rows = int(np.ceil(np.sqrt(size)))
        columns = -(-size // rows)
        if self.rank > columns:
            raise ValueError(f"rank {self.rank}: {size} numbers make a matrix of {rows} x {columns}, which has less")
        compensated = [vector + left for vector, left in zip(vectors, self.left, strict=True)]
        matrices = [np.pad(vector, (0, rows * columns - size)).reshape(rows, columns) for vector in compensated]
        if not self.right.size:
            self.right = np.random.default_rng(0).normal(size=(columns, self.rank))
        left_factor = fp32(np.linalg.qr(self._mean([m @ self.right for m in matrices]))[0])
        right_factor = self._mean([m.T @ left_factor for m in matrices])
        if right_factor.any():  # from nothing the next step could not begin
            self.right = right_factor
        self.left = [fp32(m - left_factor @ (left_factor.T @ m)).ravel()[:size] for m in matrices]
        return fp32(left_factor @ right_factor.T).ravel()[:size]

    def _mean(self, matrices: Sequence[Floats]) -> Floats:
        return self.ring([m.ravel() for m in matrices], 0).reshape(matrices[0].shape)


@dataclass(eq=False)
class Adam:
    """The direction of Adam; after a warm-up the variance is frozen, and the momentum travels as signs with feedback.

    Nothing corrects the bias of the first steps, neither in Tang et al. nor in DeepSpeed; the scales of signs are
    theirs, too, here of each part.

    Source: Kingma & Ba (2015); Tang et al. (2021), algorithm 1; DeepSpeed, `runtime/fp16/onebit/adam.py` at commit
    edaa722.

    Raises:
        ValueError: for fewer than one worker or step of warm-up.
    """

    workers: int
    warm_up: int = sys.maxsize  # steps in full precision, after which it is 1-bit Adam (default: all, plain Adam)

    def __post_init__(self) -> None:
        check_counts(warm_up=self.warm_up)
        self.exact, self.signs = Average(self.workers), Average(self.workers, sign_rms, feedback=True)
        self.bytes = self.signs.bytes = self.exact.bytes
        self.momentum = self.variance = np.zeros(1)

    def __call__(self, vectors: Sequence[Floats], step: int) -> Floats:
        """The direction as every worker ends with it; steps count from 0."""
        if step < self.warm_up:
            mean = self.exact(vectors, step)
            self.momentum = 0.9 * self.momentum + 0.1 * mean
            self.variance = 0.99 * self.variance + 0.01 * mean**2
        else:
            self.momentum = self.signs([0.9 * self.momentum + 0.1 * vector for vector in vectors], step)
        return np.asarray(self.momentum / (np.sqrt(self.variance) + 1e-8))


def _check_vectors(vectors: Sequence[Floats], workers: int) -> None:
    """Refuse vectors that are not one for each worker, of one length."""
    if len(vectors) != workers or len({len(vector) for vector in vectors}) > 1:
        lengths = ", ".join(str(len(vector)) for vector in vectors) or "none"
        raise ValueError(f"vectors of lengths {lengths}: must be one for each of {workers} workers, alike")
