"""Actual values and arrays through schedules, against the second interpreter and numpy."""

from __future__ import annotations

import operator
from fractions import Fraction

import numpy as np
import pytest
import reference

from colllib.algorithms import ALGORITHMS, CATALOGUE, allgather, allreduce, alltoall, broadcast, reduce
from colllib.buffers import fitting
from colllib.evaluation import final_values, run_on
from colllib.topology.expression import find

SERVED = [pytest.param(a, n, id=f"{n}-{a.primitive} {a.name}") for a in ALGORITHMS for n in (2, 3, 5, 8) if a.fits(n)]


@pytest.mark.parametrize(("algorithm", "n"), SERVED)
def test_numbers_end_where_the_second_interpreter_puts_them(algorithm, n):
    schedule = algorithm.build(n)
    start = np.random.default_rng(n).integers(1, 1000, (n, len(schedule.blocks))).tolist()
    expected = reference.values(schedule, start)
    values = final_values(schedule, start)
    for rank in range(n):
        for block in range(len(schedule.blocks)):
            assert values[rank][block] == expected.get((rank, block))


def test_sums_are_those_of_numpy():
    data = np.random.default_rng(0).integers(-99, 99, (6, 6))
    values = final_values(allreduce.ring(6), data.tolist())
    assert np.array_equal(values, np.tile(data.sum(axis=0), (6, 1)))


def test_the_order_of_an_operator_that_does_not_commute():
    letters = [[letter] for letter in "abcd"]
    assert final_values(reduce.chain(4), letters)[0] == ["abcd"]
    ring = final_values(allreduce.ring(4), [[letter] * 4 for letter in "abcd"], combine=lambda old, new: new + old)
    assert len({"".join(sorted(text)) for text in ring[0]}) == 1  # the same letters, in four orders
    assert len(set(ring[0])) == 4


def test_an_all_to_all_is_a_transpose():
    n = 5
    grid = np.arange(n * n).reshape(n, n)
    start = [[int(grid[divmod(b, n)]) for b in range(n * n)] for _ in range(n)]
    values = final_values(alltoall.bruck(n), start)
    after = np.array([[values[r][s * n + r] for s in range(n)] for r in range(n)])
    assert np.array_equal(after, grid.T)


@pytest.mark.parametrize("start", [[[1]], [[1, 2], [3, 4], [5, 6]]])
def test_a_value_is_needed_for_each_rank_and_block(start):
    with pytest.raises(ValueError, match="one value is needed for each of 3 ranks and 1 blocks"):
        final_values(reduce.chain(3), start, operator.add)


@pytest.mark.parametrize(("algorithm", "n"), SERVED)
def test_every_algorithm_leaves_the_numbers_that_the_reference_leaves(algorithm, n):
    schedule = algorithm.build(n, segments=3) if algorithm.segmented else algorithm.build(n)
    blocks = schedule.blocks
    unit = blocks.share.denominator
    length = [int(share * unit) for share in blocks.share]
    random = np.random.default_rng(n)
    vectors = [[random.integers(0, 1000, size) for size in length] for _ in range(n)]

    def blocks_by_rank(side):
        return [[b for b in range(len(blocks)) if r in blocks.holders(int(side[b]))] for r in range(n)]

    nothing = np.zeros(0, dtype=int)
    buffers = [np.concatenate([nothing, *(vectors[r][b] for b in blocks_by_rank(blocks.source)[r])]) for r in range(n)]
    left = reference.values(schedule, vectors)
    for rank, result in enumerate(run_on(schedule, buffers)):
        expected = np.concatenate([nothing, *(left[rank, b] for b in blocks_by_rank(blocks.target)[rank])])
        assert result.tolist() == expected.tolist()


def whole_messages(primitive, n, rows):
    """Send buffers of a message of so many rows, and the receive buffers that numpy makes of them."""
    message = np.random.default_rng(n).integers(0, 10**6, (n, rows))
    shards = message[:, : rows // n]
    pairs = message.reshape(n, n, -1)
    nothing = [[]] * (n - 1)
    return {
        "broadcast": ([message[0], *nothing], [message[0]] * n),
        "reduce": (message, [message.sum(axis=0), *nothing]),
        "all-reduce": (message, [message.sum(axis=0)] * n),
        "reduce-scatter": (message, np.array_split(message.sum(axis=0), n)),
        "all-gather": (shards, [np.concatenate(shards)] * n),
        "all-to-all": (message, pairs.swapaxes(0, 1).reshape(n, -1)),
        "point-to-point": ([message[0], *nothing], [*nothing, message[0]]),
    }[primitive]


@pytest.mark.parametrize("on", ["torus:4x2", "mesh:2x3", "ring:5", "boxes:2x4"])
def test_every_algorithm_of_a_topology_leaves_what_numpy_says(on):
    topology = find(on)
    for algorithm in [each for each in CATALOGUE if each.refusal(topology) is None]:
        schedule = algorithm.build(algorithm.argument(topology))
        if not schedule.switches:
            rows = fitting(schedule.blocks) * topology.ranks
            before, after = whole_messages(algorithm.primitive, topology.ranks, rows)
            results = run_on(schedule, before)
            assert [row.tolist() for row in results] == [list(row) for row in after], (algorithm.primitive, algorithm)


def test_the_primitives_are_what_numpy_says():
    data = np.arange(24).reshape(4, 6) ** 2
    for total in run_on(allreduce.recursive_doubling(4), data):
        assert total.tolist() == data.sum(axis=0).tolist()
    blocks = np.arange(16).reshape(4, 4)
    assert np.array_equal(run_on(alltoall.pairwise(4), blocks), blocks.T)
    shards = [np.full((2, 3), rank) for rank in range(5)]  # rows are cut, whatever is in them
    for gathered in run_on(allgather.bruck(5), shards):
        assert np.array_equal(gathered, np.concatenate(shards))
    assert np.array_equal(run_on(broadcast.chain(3), [[7, 8], [], []]), [[7, 8]] * 3)


def test_what_is_empty_changes_neither_type_nor_shape():
    large = 2**60 + 1  # no float is that
    for gathered in run_on(broadcast.chain(3, root=1), [[], [large], []]):
        assert gathered.tolist() == [large]
    shares = [Fraction(1, 2), Fraction(0), Fraction(1, 2)]
    for gathered in run_on(allgather.ring(3, shares=shares), [[[large, 1]], [], [[large, 2]]]):
        assert gathered.tolist() == [[large, 1], [large, 2]]


def test_the_send_buffers_are_left_as_they_were():
    data = np.ones((3, 6))
    run_on(allreduce.ring(3), data)
    assert (data == 1).all()


@pytest.mark.parametrize(
    ("schedule", "buffers", "message"),
    [
        (allreduce.ring(3), [[1, 2, 3]], "1 buffers for 3 ranks"),
        (allreduce.ring(3), [[1, 2], [3, 4], [5, 6]], "cannot be cut"),
        (allreduce.ring(2), [[1, 2], [3, 4, 5, 6]], "imply messages of 2, 4 rows"),
        (broadcast.chain(2), [[1], [2]], "rank 1 holds no block"),
        (broadcast.chain(2), [[1], None], "the buffer of rank 1 is None, one value: must be an array"),
    ],
)
def test_buffers_that_do_not_fit_are_refused(schedule, buffers, message):
    with pytest.raises(ValueError, match=message):
        run_on(schedule, buffers)


def test_a_wire_sees_every_message_once_and_decides_what_arrives():
    seen = []

    def halved(sent, message):
        seen.append(message)
        return sent / 2

    schedule = broadcast.chain(3)
    values = final_values(schedule, [[8.0], [0.0], [0.0]], wire=halved)
    assert [row[0] for row in values] == [8, 4, 2]
    assert [(m.step, m.src, m.dst, m.block) for m in seen] == [(0, 0, 1, 0), (1, 1, 2, 0)]
