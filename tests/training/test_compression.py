"""Compressors and the collectives that carry what they make, against plain numpy and counts by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from colllib.training import problems
from colllib.training.compression import WAYS, Adam, Average, LowRank, full, int8, random_k, sign, sign_rms, top_k

COMPRESSORS = {
    "INT8": int8(),
    "INT8 in blocks": int8(4),
    "top-k": top_k(0.25),
    "random-k": random_k(0.25),
    "sign": sign,
    "sign, root of the mean square": sign_rms,
}


def vectors(ranks, size, seed=0):
    return list(np.random.default_rng(seed).normal(size=(ranks, size)))


@given(st.integers(1, 7), st.integers(1, 30), st.integers(0, 99), st.sampled_from(WAYS))
@example(7, 8, 89, "two phases")
@settings(deadline=None, max_examples=80)
def test_without_compression_every_way_gives_every_rank_the_mean(ranks, size, seed, way):
    given_vectors = vectors(ranks, size, seed)
    results = Average(ranks, full, way).on_each(given_vectors, 0)
    assert len(results) == ranks
    rounding = np.finfo(np.float32).eps * np.abs(given_vectors).max()  # of what is sent; a mean may be near zero
    assert np.allclose(results, np.mean(given_vectors, axis=0), rtol=0, atol=rounding)


@pytest.mark.parametrize("way", ["every hop", "two phases", "gather"])
@pytest.mark.parametrize("name", COMPRESSORS)
def test_all_ranks_end_with_the_same_bits(name, way):
    results = Average(4, COMPRESSORS[name], way).on_each(vectors(4, 40), 0)
    assert all(np.array_equal(results[0], other) for other in results)


def test_two_phases_are_what_they_say_in_plain_numpy():
    given_vectors, compress = vectors(4, 40), int8(5)
    sums = np.mean([np.concatenate([compress(p, 0).values for p in np.split(v, 4)]) for v in given_vectors], axis=0)
    expected = np.concatenate([compress(part, 0).values for part in np.split(sums, 4)])
    assert np.allclose(Average(4, compress)(given_vectors, 0), expected)


@pytest.mark.parametrize(
    ("compress", "way", "most"),
    [
        (full, "every hop", 6 * 16 * 4),
        (int8(), "two phases", 6 * (16 + 4)),
        (int8(), "every hop", 6 * (16 + 4)),
        (top_k(0.125), "gather", 3 * 8 * 8),
    ],
)
def test_bytes_are_those_of_the_packets_that_a_rank_sends(compress, way, most):
    average = Average(4, compress, way)
    average(vectors(4, 64), 0)
    assert average.bytes.tolist() == [most] * 4


def test_rounding_at_every_hop_loses_more_than_rounding_twice():
    more = []
    for seed in range(10):
        given_vectors = vectors(16, 256, seed)
        means = (Average(16, int8(), way)(given_vectors, 0) for way in ("every hop", "two phases"))
        hops, twice = (np.linalg.norm(mean - np.mean(given_vectors, axis=0)) for mean in means)
        more.append(hops / twice)
    assert min(more) > 1


def test_sparse_vectors_with_places_of_their_own_grow_until_a_dense_one_is_smaller():
    tenth, quarter = Average(8, top_k(0.1), "merge"), Average(8, top_k(0.25), "merge")
    tenth([np.roll(np.arange(40.0), 4 * rank) for rank in range(8)], 0)
    quarter([np.roll(np.arange(40.0), 10 * rank) for rank in range(8)], 0)
    assert list(tenth.largest.values()) == [4 * 8, 8 * 8, 16 * 8]
    assert max(quarter.largest.values()) == 40 * 4


def test_random_places_that_all_share_can_be_added_and_top_places_cannot():
    given_vectors = vectors(4, 40)
    for compress, same in ((random_k(0.25), True), (top_k(0.25), False)):
        places = {tuple(np.flatnonzero(compress(v, 7).values)) for v in given_vectors}
        assert (len(places) == 1) is same


def test_random_k_is_right_on_average():
    vector = vectors(1, 12)[0]
    mean = np.mean([random_k(0.25)(vector, seed).values for seed in range(4000)], axis=0)
    assert np.allclose(mean, vector, atol=0.15)


@given(st.lists(st.floats(-100, 100, allow_subnormal=False), min_size=1, max_size=50), st.integers(1, 60))
def test_int8_is_off_by_half_a_level_at_most_and_stays_put_when_done_again(values, block):
    vector, compress = np.array(values), int8(block)
    once = compress(vector, 0).values
    level = np.concatenate(
        [np.full_like(p, np.abs(p).max() / 127) for p in np.split(vector, range(block, len(vector), block))]
    )
    assert (np.abs(once - vector) <= level * (0.5 + 1e-9)).all()
    assert np.allclose(compress(once, 0).values, once)


@pytest.mark.parametrize("way", ["every hop", "two phases", "gather"])
@pytest.mark.parametrize("name", COMPRESSORS)
def test_with_feedback_what_has_arrived_and_what_is_left_make_up_what_was_given(name, way):
    """What is left of a worker's vector, or of a partial sum, is a fourth of that in the mean."""
    average, total, arrived = Average(4, COMPRESSORS[name], way, feedback=True), np.zeros(40), np.zeros(40)
    for step in range(20):
        gradients = vectors(4, 40, step)
        total += np.mean(gradients, axis=0)
        arrived += average(gradients, step)
    left = np.zeros(40)
    for (kind, *_, part), values in average.left.items():
        np.split(left, 1 if kind == "whole" else 4)[part] += values / (1 if kind == "mean" else 4)
    assert np.allclose(arrived + left, total)


def test_low_rank_is_exact_for_a_matrix_of_low_rank_and_sends_two_thin_factors():
    random = np.random.default_rng(0)
    matrix = random.normal(size=(8, 2)) @ random.normal(size=(2, 8))
    average = LowRank(4, rank=2)
    mean = average([matrix.ravel() * scale for scale in (1, 2, 3, 4)], 0)
    assert np.allclose(mean, 2.5 * matrix.ravel())
    assert average.bytes.tolist() == [2 * 6 * (16 // 4) * 4] * 4  # two all-reduces of 16 numbers among four


def test_one_bit_adam_is_adam_until_its_warm_up_ends_and_sends_less_after():
    problem = problems.logistic(4)
    plain = problems.descend(problem, Adam(4), 30, 0.02)
    one_bit = problems.descend(problem, Adam(4, 10), 30, 0.02)
    assert np.array_equal(plain.loss[:11], one_bit.loss[:11])
    assert one_bit.bytes[-1] - one_bit.bytes[10] < (plain.bytes[-1] - plain.bytes[10]) / 8


def test_after_its_warm_up_adam_takes_the_momentum_that_signs_with_feedback_bring():
    """Tang et al. (2021), algorithm 1, written out: an owner of each half, and both errors carried on."""
    adam, drawn = Adam(2, warm_up=1), np.random.default_rng(2).normal(size=(8, 2, 6))

    def compressed(half):
        return np.linalg.norm(half) / np.sqrt(len(half)) * np.where(half < 0, -1, 1)

    mean = drawn[0].mean(axis=0)
    assert np.allclose(adam(list(drawn[0]), 0), 0.1 * mean / (0.1 * np.abs(mean) + 1e-8))
    momentum, errors, owners = 0.1 * mean, np.zeros((2, 6)), np.zeros(6)
    for step in range(1, 8):
        given_momenta = 0.9 * momentum + 0.1 * drawn[step] + errors
        sent = np.array([[compressed(half) for half in np.split(one, 2)] for one in given_momenta]).reshape(2, 6)
        errors, owned = given_momenta - sent, sent.mean(axis=0) + owners
        momentum = np.concatenate([compressed(half) for half in np.split(owned, 2)])
        owners = owned - momentum
        assert np.allclose(adam(list(drawn[step]), step), momentum / (0.1 * np.abs(mean) + 1e-8))


@pytest.mark.parametrize("name", ["top-k", "random-k"])
def test_of_a_few_values_one_is_kept(name):
    assert np.count_nonzero(COMPRESSORS[name](np.array([1.0, -2.0]), 0).values) == 1  # 0.5 of them, rounded


@pytest.mark.parametrize("way", ["every hop", "two phases", "gather"])
@pytest.mark.parametrize("name", COMPRESSORS)
def test_fewer_numbers_than_workers_leave_some_of_them_without_a_part(name, way):
    """Four equal vectors of three equal numbers: what is kept of a part of one number is the number."""
    mean = Average(4, COMPRESSORS[name], way)([np.full(3, 2.0)] * 4, 0)
    kept = np.full(3, 2.0) if way != "gather" or "INT8" in name or "sign" in name else mean
    assert np.allclose(mean, kept)
    assert np.isfinite(mean).all()


def test_what_powersgd_has_sent_and_what_it_keeps_add_up_to_what_it_was_given():
    low, random = LowRank(3, 2), np.random.default_rng(4)
    drawn = random.normal(size=(6, 3, 30))
    arrived = sum(low(list(each), step) for step, each in enumerate(drawn))
    assert np.allclose(arrived + np.mean(low.left, axis=0), drawn.mean(axis=1).sum(axis=0))
    assert np.abs(low.left).max() > 0.1


def test_powersgd_goes_on_after_a_step_without_gradients():
    """The only value is not in the first row, where a factor that begins anew from zeros would look for ever."""
    low, gradient = LowRank(2), np.zeros(9)
    gradient[7] = 1.0
    assert not low([np.zeros(9)] * 2, 0).any()
    assert np.allclose(low([gradient] * 2, 1), gradient)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: int8(0), "block 0: must be at least 1"),
        (lambda: int8(2.5), "block 2.5: must be a whole number"),
        (lambda: top_k(0), "share = 0: must be above 0 and at most 1"),
        (lambda: random_k(1.5), "share = 1.5"),
        (lambda: Average(2, way="ring"), "way 'ring': must be one of every hop, two phases, gather, merge"),
        (lambda: LowRank(2, 0), "rank 0: must be at least 1"),
        (
            lambda: LowRank(2)([np.zeros(3), np.zeros(4)], 0),
            "vectors of lengths 3, 4: must be one for each of 2 workers",
        ),
        (lambda: Average(0), "workers 0: must be at least 1"),
        (lambda: Average(4)(vectors(3, 8), 0), "vectors of lengths 8, 8, 8: must be one for each of 4 workers, alike"),
        (lambda: Adam(3, warm_up=0), "warm_up 0: must be at least 1"),
    ],
)
def test_bad_input_is_refused_in_one_line(call, says):
    with pytest.raises(ValueError, match=says):
        call()
