"""Timelines of operations, against arithmetic by hand and against their own definition."""

from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colllib.training.timeline import Op, run


@st.composite
def operations(draw):
    """Operations on a few streams, each after some that are listed before it."""
    found = []
    for k in range(draw(st.integers(0, 12))):
        after = draw(st.sets(st.integers(0, k - 1), max_size=3)) if k else set()
        uses = draw(st.sets(st.sampled_from(["card", "disk"]), max_size=2))
        stream = draw(st.sampled_from(["a", "b", "c"]))
        found.append(Op(str(k), stream, draw(st.integers(0, 5)), tuple(after), tuple(uses)))
    return found


@given(operations())
def test_every_operation_waits_for_its_stream_its_dependencies_and_what_it_uses(ops):
    step = run(ops)
    assert (step.end - step.start == [op.seconds for op in ops]).all()
    for i, op in enumerate(ops):
        assert all(step.end[j] <= step.start[i] for j in op.after)
        earlier = [j for j in range(i) if ops[j].stream == op.stream]
        assert all(step.end[j] <= step.start[i] for j in earlier)
        for j in range(i):
            if set(op.uses) & set(ops[j].uses):
                assert step.end[j] <= step.start[i] or step.end[i] <= step.start[j]


@given(operations())
def test_nothing_starts_later_than_something_it_waits_for_lets_it(ops):
    step = run(ops)
    for i, op in enumerate(ops):
        shared = [j for j in range(len(ops)) if j != i and set(op.uses) & set(ops[j].uses)]
        before = [*op.after, *(j for j in range(i) if ops[j].stream == op.stream), *shared]
        assert step.start[i] in {0.0, *(step.end[j] for j in before)}


@given(operations())
def test_busy_and_idle_make_the_whole_step(ops):
    step = run(ops)
    for stream in ("a", "b", "c"):
        assert isclose(step.busy(stream) + step.idle(stream), step.seconds)
        assert isclose(step.busy(stream), sum(op.seconds for op in ops if op.stream == stream))


def test_what_is_shared_serves_first_come_first_served():
    ops = [Op("slow", "a", 3), Op("late", "a", 2, uses=("card",)), Op("early", "b", 4, uses=("card",))]
    assert run(ops).start.tolist() == [0, 4, 0]


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


@pytest.mark.parametrize(
    ("ops", "said"),
    [
        ([Op("f", "a", -1.0)], r"f takes -1.0 s: must be a finite time of at least 0"),
        ([Op("f", "a", float("nan"))], "f takes nan s"),
        ([Op("f", "a", 1.0, (7,))], "f comes after operation 7, and there are 1"),
    ],
)
def test_what_cannot_be_is_refused(ops, said):
    with pytest.raises(ValueError, match=said):
        run(ops)
