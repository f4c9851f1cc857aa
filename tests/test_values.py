"""Actual values through schedules, against the second interpreter."""

from __future__ import annotations

import operator

import numpy as np
import pytest
import reference

from colllib.algorithms import ALGORITHMS, allreduce, alltoall, reduce
from colllib.values import final_values


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: f"{a.primitive} {a.name}")
@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_numbers_end_where_the_second_interpreter_puts_them(algorithm, n):
    if not algorithm.fits(n):
        pytest.skip("needs a power of two")
    schedule = algorithm.build(n)
    start = np.random.default_rng(n).integers(1, 1000, (n, len(schedule.blocks))).tolist()
    wanted = reference.values(schedule, start)
    found = final_values(schedule, start)
    for rank in range(n):
        for block in range(len(schedule.blocks)):
            assert found[rank][block] == wanted.get((rank, block))


def test_sums_are_those_of_numpy():
    data = np.random.default_rng(0).integers(-99, 99, (6, 6))
    found = final_values(allreduce.ring(6), data.tolist())
    assert np.array_equal(found, np.tile(data.sum(axis=0), (6, 1)))


def test_the_order_of_an_operator_that_does_not_commute():
    letters = [[letter] for letter in "abcd"]
    assert final_values(reduce.chain(4), letters)[0] == ["abcd"]
    ring = final_values(allreduce.ring(4), [[letter] * 4 for letter in "abcd"], combine=lambda held, new: new + held)
    assert len({"".join(sorted(text)) for text in ring[0]}) == 1  # the same letters, in four orders
    assert len(set(ring[0])) == 4


def test_an_all_to_all_is_a_transpose():
    n = 5
    grid = np.arange(n * n).reshape(n, n)
    start = [[int(grid[divmod(b, n)]) for b in range(n * n)] for _ in range(n)]
    found = final_values(alltoall.bruck(n), start)
    after = np.array([[found[r][s * n + r] for s in range(n)] for r in range(n)])
    assert np.array_equal(after, grid.T)


@pytest.mark.parametrize("start", [[[1]], [[1, 2], [3, 4], [5, 6]]])
def test_a_value_is_needed_for_each_rank_and_block(start):
    with pytest.raises(ValueError, match="one value is needed for each of 3 ranks and 1 blocks"):
        final_values(reduce.chain(3), start, operator.add)
