"""Timelines of operations, against arithmetic by hand and against their own definition."""

from itertools import pairwise
from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colllib.training.timeline import Op, run


@st.composite
def operations(draw):
    """Operations on a few streams, each after some that are listed before it."""
    ops = []
    for k in range(draw(st.integers(0, 12))):
        after = draw(st.sets(st.integers(0, k - 1), max_size=3)) if k else set()
        uses = draw(st.sets(st.sampled_from(["card", "disk"]), max_size=2))
        stream = draw(st.sampled_from(["a", "b", "c"]))
        ops.append(Op(str(k), stream, draw(st.integers(0, 5)), tuple(after), tuple(uses)))
    return ops


@given(operations())
def test_every_operation_starts_as_soon_as_its_stream_and_its_dependencies_let_it(ops):
    step = run(ops)
    for i, op in enumerate(ops):
        before = [*op.after, *(j for j in range(i) if ops[j].stream == op.stream)]
        assert step.start[i] == max((step.end[j] for j in before), default=0.0)


@given(operations())
def test_whatever_is_used_by_several_at_a_time_slows_them_all_as_many_times(ops):
    """Between two moments at which something starts or ends, each does its part of the work."""
    step = run(ops)
    moments = sorted({*step.start, *step.end})
    work = [0.0] * len(ops)
    for now, then in pairwise(moments):
        running = [i for i in range(len(ops)) if step.start[i] <= now and then <= step.end[i]]
        for i in running:
            crowd = [sum(thing in ops[j].uses for j in running) for thing in ops[i].uses]
            work[i] += (then - now) / max(crowd, default=1)
    assert all(isclose(done, op.seconds, abs_tol=1e-9) for done, op in zip(work, ops, strict=True))


@given(operations())
def test_busy_and_idle_make_the_whole_step(ops):
    step = run(ops)
    for stream in ("a", "b", "c"):
        assert isclose(step.busy(stream) + step.idle(stream), step.seconds)
        alone = sum(op.seconds for op in ops if op.stream == stream)
        assert step.busy(stream) > alone or isclose(step.busy(stream), alone)


@given(operations())
def test_what_a_stream_waits_for_runs_on_others_and_makes_all_that_it_is_idle(ops):
    step = run(ops)
    for stream in ("a", "b", "c"):
        awaited = step.awaited(stream)
        assert isclose(sum(seconds for _, seconds in awaited), step.idle(stream), abs_tol=1e-9)
        assert all(op.stream != stream and seconds >= 0 for op, seconds in awaited)


def test_what_a_stream_waits_for_by_hand():
    """From 1 to 3 s for x, from 3 to 4 s for y; at its end from 5 to 7 s for z."""
    ops = [Op("f", "a", 1), Op("x", "b", 3), Op("y", "b", 1), Op("g", "a", 1, (2,)), Op("z", "c", 7)]
    assert [(op.name, seconds) for op, seconds in run(ops).awaited("a")] == [("y", 1), ("x", 2), ("z", 2)]


def test_what_is_shared_is_shared_equally_by_hand():
    """From 3 s on two use the card: the 1 s that is left of one takes 2 s, and then the other has 1 s left."""
    ops = [Op("slow", "a", 3), Op("late", "a", 2, uses=("card",)), Op("early", "b", 4, uses=("card",))]
    step = run(ops)
    assert (step.start.tolist(), step.end.tolist()) == ([0, 3, 0], [3, 6, 5])


def test_an_operation_that_waits_for_itself_never_runs():
    with pytest.raises(ValueError, match="1 operations wait for each other: alone"):
        run([Op("alone", "a", 1.0, (0,))])
    with pytest.raises(ValueError, match="1 operations wait for each other: alone"):
        run([Op("done", "a", 1.0), Op("done too", "a", 1.0), Op("alone", "b", 1.0, (2,))])


def test_two_streams_that_call_in_another_order_wait_forever():
    """Rank 0 calls x then y, rank 1 y then x, and each collective needs both ranks."""
    ops = [Op("x on 0", "0", 1, (3,)), Op("y on 0", "0", 1), Op("y on 1", "1", 1, (1,)), Op("x on 1", "1", 1)]
    with pytest.raises(ValueError, match="4 operations wait for each other: x on 0, y on 0, y on 1, x on 1"):
        run(ops)


def test_what_an_operation_names_twice_it_uses_once():
    one, twice = (run([Op("f", "a", 2.0, uses=("card",) * n), Op("g", "b", 1.0, uses=("card",))]) for n in (1, 2))
    assert one.end.tolist() == twice.end.tolist() == [3, 2]


@pytest.mark.parametrize(
    ("ops", "message"),
    [
        ([Op("f", "a", -1.0)], r"f takes -1.0 s: must be a finite time of at least 0"),
        ([Op("f", "a", float("nan"))], "f takes nan s"),
        ([Op("f", "a", 1.0, (7,))], "f comes after operation 7, and there are 1"),
    ],
)
def test_what_cannot_be_is_refused(ops, message):
    with pytest.raises(ValueError, match=message):
        run(ops)
