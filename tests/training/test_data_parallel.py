"""Buckets and sharding, against arithmetic by hand and a recursion written down once more."""

from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colllib.training.data_parallel import Layer, bucketed, buckets, sharded

LAYERS = st.lists(st.builds(Layer, st.floats(0.1, 3), st.floats(0.1, 3), st.integers(1, 50)), min_size=1, max_size=12)


@given(st.lists(st.integers(1, 50), max_size=20), st.integers(1, 100))
def test_every_gradient_is_in_one_bucket_and_only_the_last_may_be_less_than_full(sizes, capacity):
    filled = buckets(sizes, capacity)
    assert [i for bucket in filled for i in bucket] == list(range(len(sizes)))
    for bucket in filled[:-1]:
        assert sum(sizes[i] for i in bucket) >= capacity
        assert sum(sizes[i] for i in bucket[:-1]) < capacity


@given(LAYERS, st.integers(1, 200), st.floats(0, 2), st.floats(0.001, 0.1))
def test_a_bucket_leaves_when_it_has_closed_and_the_one_before_has_left(layers, capacity, alpha, per_byte):
    step = bucketed(layers, capacity, lambda size: alpha + size * per_byte)
    now, held, end = sum(layer.forward for layer in layers), 0.0, 0.0
    for k in reversed(range(len(layers))):
        now += layers[k].backward
        held += layers[k].size
        if held >= capacity or k == 0:
            end = max(end, now) + alpha + held * per_byte
            held = 0.0
    assert isclose(step.seconds, max(now, end))


@given(LAYERS, st.floats(0, 2), st.floats(0.001, 0.1))
def test_one_bucket_for_all_is_no_overlap_at_all(layers, alpha, per_byte):
    step = bucketed(layers, float("inf"), lambda size: alpha + size * per_byte)
    computing = sum(layer.forward + layer.backward for layer in layers)
    assert isclose(step.seconds, computing + alpha + per_byte * sum(layer.size for layer in layers))


def test_a_thousand_gradients_of_1_mb_by_hand():
    """R-07's exercise: on eight ranks, ring, 10 us and 100 GB/s; nothing is there to hide behind."""
    ring = lambda size: 14 * 10e-6 + 14 / 8 * size / 100e9  # noqa: E731
    layers = [Layer(0.0, 0.0, 1e6)] * 1000
    assert isclose(bucketed(layers, 1e6, ring).seconds, 157.5e-3)
    assert isclose(bucketed(layers, 25e6, ring).seconds, 23.1e-3)


def test_the_overlap_of_a_7b_transformer_by_hand():
    """M-54's budget: 32 layers of 15 ms backward, 26.4 ms each on the wire: only the first backward is not hidden."""
    layers = [Layer(0.0, 15e-3, 1.0)] * 32
    step = bucketed(layers, 1.0, lambda size: 26.4e-3)
    assert isclose(step.seconds, 15e-3 + 32 * 26.4e-3)  # 859.8 ms
    assert isclose(bucketed(layers, 32.0, lambda size: 32 * 26.4e-3).seconds, 1324.8e-3)


def test_the_best_bucket_is_neither_the_smallest_nor_the_largest():
    layers = [Layer(1.0, 1.0, 10)] * 16
    sizes = [10, 20, 40, 80, 160]
    times = {size: bucketed(layers, size, lambda b: 1.2 + b / 50).seconds for size in sizes}
    best = min(times, key=times.get)
    assert sizes[0] < best < sizes[-1]


@given(LAYERS, st.integers(0, 4), st.booleans())
def test_full_sharding_gathers_every_layer_twice_and_keeping_them_once(layers, prefetch, reshard):
    step = sharded(layers, lambda size: 1.0, lambda size: 1.0, prefetch=prefetch, reshard=reshard)
    kinds = [op.kind for op in step.ops]
    assert kinds.count("all-gather") == (2 if reshard else 1) * len(layers)
    assert kinds.count("reduce-scatter") == len(layers)
    assert kinds.count("forward") == kinds.count("backward") == len(layers)


@given(LAYERS, st.integers(0, 4), st.booleans())
def test_a_layer_is_used_only_after_its_parameters_have_come(layers, prefetch, reshard):
    step = sharded(layers, lambda size: size / 9, lambda size: size / 9, prefetch=prefetch, reshard=reshard)
    for k in range(len(layers)):
        gathered = [step.end[i] for i, op in enumerate(step.ops) if op.name == f"all-gather {k}"]
        used = [
            next(step.start[i] for i, op in enumerate(step.ops) if op.name == f"{way} {k}")
            for way in ("forward", "backward")
        ]
        assert all(came <= begun for came, begun in zip(gathered, used, strict=False))


@given(LAYERS, st.floats(0, 2), st.floats(0, 2), st.floats(0, 2))
def test_boxes_that_each_hold_the_whole_model_sum_their_shards_beside_the_gathers(layers, gather, scatter, outside):
    """By a recursion over the layers, forward and back: the box's links and the cards are two queues."""
    step = sharded(layers, lambda size: gather, lambda size: scatter, prefetch=0, outside=lambda size: outside)
    now = sum(layer.forward + gather for layer in layers)
    box = gathered = now + gather
    cards = 0.0
    for k in reversed(range(len(layers))):
        now = max(now, gathered) + layers[k].backward
        box = max(box, now) + scatter
        cards = max(cards, box) + outside
        box = gathered = box + gather  # the next layer's
    assert isclose(step.seconds, max(now, cards))


def test_without_prefetch_a_layers_gradients_block_the_next_gather_and_with_it_they_do_not():
    """As in section 3.3.2 of Zhao and others (2023), by hand: three layers, 1 s forward, 2 s backward, 1 s a message.

    Without prefetch 3 x 2 s forward, and backward 3 x 3 s, 2 x 1 s for the scatters before, 1 s for the last one.
    """
    layers = [Layer(1.0, 2.0, 1.0)] * 3
    assert sharded(layers, lambda size: 1.0, lambda size: 1.0, prefetch=0).seconds == 6 + 9 + 2 + 1
    assert sharded(layers, lambda size: 1.0, lambda size: 1.0, prefetch=1).seconds == 1 + 9 + 1


@given(
    st.integers(1, 20),
    st.sampled_from([0.5, 1.0, 2.0]),
    st.floats(0.05, 1),
    st.sampled_from([0.5, 1, 2]),
    st.integers(2, 4),
)
def test_one_layer_ahead_is_enough_where_the_network_keeps_up_forward_and_backward(
    count, forward, part, ratio, prefetch
):
    layers = [Layer(forward, 2 * forward, 1)] * count
    gather = min(part, 1 / (1 + ratio)) * forward
    one, more = (
        sharded(layers, lambda _: gather, lambda _: ratio * gather, prefetch=ahead).seconds for ahead in (1, prefetch)
    )
    assert isclose(one, more)


def test_a_second_layer_ahead_gains_where_the_backwards_gather_and_scatter_do_not_fit():
    """Each gather is shorter than the forward that it hides behind, by hand 0.9 s of 1 s."""
    layers = [Layer(1, 2, 1)] * 5
    one, two = (sharded(layers, lambda _: 0.9, lambda _: 1.8, prefetch=ahead).seconds for ahead in (1, 2))
    assert two < 0.95 * one


@given(LAYERS)
def test_without_prefetch_nothing_of_a_forward_overlaps(layers):
    step = sharded(layers, lambda size: 1.0, lambda size: 0.0, prefetch=0)
    forward = [step.end[i] for i, op in enumerate(step.ops) if op.kind == "forward"]
    assert isclose(max(forward), sum(layer.forward + 1.0 for layer in layers))


@given(LAYERS, st.integers(0, 3))
def test_free_communication_leaves_compute_alone(layers, prefetch):
    step = sharded(layers, lambda size: 0.0, lambda size: 0.0, prefetch=prefetch)
    assert isclose(step.seconds, sum(layer.forward + layer.backward for layer in layers))


def test_what_cannot_be_is_refused():
    layers = [Layer(1.0, 1.0, 1.0)]
    with pytest.raises(ValueError, match="bucket 0: must hold a number of bytes above 0"):
        buckets([1], 0)
    with pytest.raises(ValueError, match="gradient of -1 bytes"):
        bucketed([Layer(1.0, 1.0, -1)], 1.0, float)
    with pytest.raises(ValueError, match="prefetch -1: must be a whole number of layers"):
        sharded(layers, float, float, prefetch=-1)
    with pytest.raises(ValueError, match=r"backward 0 takes -1.0 s"):
        bucketed([Layer(1.0, -1.0, 1.0)], 1.0, float)
