"""Space-time diagrams and the pipeline explorer: every bar against a timetable worked out by hand."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
import reference

from colllib import units
from colllib.algorithms import allreduce, broadcast
from colllib.cost import best_segments
from colllib.execution import execute
from colllib.show import pipeline_explorer, space_time
from colllib.show.figure import BROAD, SLIM
from colllib.show.pipeline_explorer import SEGMENTS, pipelines
from colllib.show.timelines import LEFT, RIGHT, THICK, bars_of, gantt
from colllib.training.pipelines import order, pipeline

PRICE = {"message": 12.0, "alpha": 1.0, "bandwidth": 1.0}


def places(drawn):
    """The bars of a drawing as (x from, x to, y), largest stroke only."""
    paths = re.findall(rf'<path d="([^"]*)" style="stroke:[^"]*" stroke-width="{THICK:g}"', drawn)
    number = r"([\d.]+)"
    bars = [bar for path in paths for bar in re.findall(rf"M{number} {number}H{number}", path)]
    return sorted((float(a), float(b), float(y)) for a, y, b in bars)


@pytest.mark.parametrize(("n", "p"), [(4, 3), (6, 4), (3, 6)])
def test_lock_step_bars_of_a_chain_stand_where_the_conveyor_puts_them(n, p):
    """Segment k leaves rank r in step r + k, each step lasts alpha + M / P BW, sending takes M / P BW of it."""
    bars = bars_of(broadcast.chain(n, segments=p), clock="lock-step", **PRICE)
    step = 1 + 12 / p
    expected = {(r, k): (r + k) * step for r in range(n - 1) for k in range(p)}
    assert {(bar.row, bar.blocks[0]): pytest.approx(bar.start) for bar in bars} == expected
    assert all(bar.left == pytest.approx(bar.start + 12 / p) for bar in bars)
    assert all(bar.arrival == pytest.approx(bar.start + step) for bar in bars)


@pytest.mark.parametrize(("n", "p"), [(4, 3), (6, 4), (3, 6)])
def test_event_bars_of_a_chain_follow_without_gaps(n, p):
    """Segment k leaves rank r once it is there, r (alpha + M / P BW), and once the k before it have left."""
    bars = bars_of(broadcast.chain(n, segments=p), **PRICE)
    for bar in bars:
        assert bar.start == pytest.approx(bar.row * (1 + 12 / p) + bar.blocks[0] * 12 / p)
        assert bar.arrival == pytest.approx(bar.left + 1)


@pytest.mark.parametrize("clock", ["lock-step", "event"])
@pytest.mark.parametrize(
    "schedule",
    [
        broadcast.binomial_tree(8, segments=4),
        broadcast.two_tree(7, segments=3),
        allreduce.double_binary_tree(6, segments=2),
        allreduce.ring(5),
    ],
)
def test_no_port_sends_two_messages_at_once_and_nothing_is_sent_before_it_came(schedule, clock):
    bars = bars_of(schedule, clock=clock, **PRICE)
    counted = [(s, b) for step in reference.messages(schedule) for s, _, b, _ in step]
    assert sorted((bar.row, b) for bar in bars for b in bar.blocks) == sorted(counted)
    for rank in range(schedule.ranks):
        mine = sorted((bar.start, bar.left) for bar in bars if bar.row == rank)
        assert all(after[0] >= before[1] - 1e-9 for before, after in pairwise(mine))
    end = max(bar.arrival for bar in bars)
    if clock == "lock-step":
        n_alpha, n_beta = reference.star_cost(schedule)
        assert end == pytest.approx(float(n_alpha + n_beta * 12))


@pytest.mark.parametrize("width", [BROAD, SLIM])
def test_the_drawing_places_each_bar_in_proportion_to_its_time(width):
    chart = space_time(broadcast.chain(4, segments=3), clock="lock-step", segments=3, **PRICE)
    drawn = places(chart.broad() if width == BROAD else chart.body)
    assert len(drawn) == 9
    left = min(a for a, _, _ in drawn)
    assert left == LEFT
    step = (width - RIGHT - LEFT) / 5
    expected = sorted(LEFT + (r + k) * step for r in range(3) for k in range(3))
    assert sorted(a for a, _, _ in drawn) == pytest.approx(expected, abs=0.051)  # tenths
    assert len({y for _, _, y in drawn}) == 3


@pytest.mark.parametrize(
    ("name", "stages", "chunks"), [("gpipe", 4, 1), ("1f1b", 3, 1), ("zb-h1", 2, 1), ("interleaved", 2, 2)]
)
def test_a_pipelines_bars_carry_the_numbers_of_their_microbatches(name, stages, chunks):
    """Read from left to right, a row has them in the order in which the stage works."""
    step = pipeline(name, stages, 4, chunks=chunks)
    chart = gantt(step, {f"stage {k}": f"compute {k}" for k in range(stages)})
    rows = {}
    for xs, ys, digits in re.findall(r'<text x="([\d. ]+)" y="([\d. ]+)">(\d+)</text>', chart.body):
        if len(xs.split()) == len(digits):
            for x, y, digit in zip(map(float, xs.split()), map(float, ys.split()), digits, strict=True):
                rows.setdefault(y, []).append((x, int(digit)))
    worked = [[work.microbatch for work in order(name, stages, k, 4, chunks)] for k in range(stages)]
    assert [[number for _, number in sorted(rows[y])] for y in sorted(rows)] == worked
    assert ("second chunk" in chart.body) == (chunks > 1)


def test_numbers_that_do_not_fit_are_left_out():
    chart = gantt(pipeline("1f1b", 2, 40), {"stage 0": "compute 0"})
    assert "microbatch" not in chart.body


def test_alt_text_counts_messages_and_busy_ranks():
    chart = space_time(broadcast.chain(4, segments=3), clock="lock-step", segments=3, **PRICE)
    assert "9 messages from 3 of 4 ranks, the last to end after 25 s." in chart.alt
    assert "Ranks that send, step by step: 1, 2, 3, 2, 1." in chart.alt
    assert 'role="img"' in chart.fragment()


def test_bad_requests_are_refused():
    with pytest.raises(ValueError, match="at most 16"):
        space_time(broadcast.chain(17), **PRICE)
    with pytest.raises(ValueError, match="lock-step"):
        space_time(broadcast.chain(3), clock="wall", **PRICE)
    with pytest.raises(ValueError, match="segments = 3: does not divide the schedule's 4 blocks"):
        space_time(broadcast.chain(4, segments=4), segments=3, **PRICE)


# -- the explorer -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def explorer():
    return pipeline_explorer()


def test_every_segmented_broadcast_is_on_offer():
    names = {a.name for a in pipelines().values() if a.primitive == "broadcast"}
    assert {"chain", "binomial-tree", "two-tree"} <= names


@pytest.mark.parametrize("name", pipelines())
@pytest.mark.parametrize("n", [4, 8])
def test_the_counts_are_those_of_a_second_interpreter(explorer, name, n):
    for p in (1, 4):
        html = explorer.render(2, {"schedule": name, "n": n, "p": p})
        cells = re.findall(r"<t[dh][^>]*>([^<]*)</t[dh]>", html.split("<tbody>")[1])
        schedule = pipelines()[name].build(n, segments=p)
        n_alpha, n_beta = reference.star_cost(schedule)
        senders = [len({src for src, *_ in step}) for step in reference.messages(schedule)]
        top = max(senders)
        full = [t for t, count in enumerate(senders) if count == top]
        fill, drain = full[0], len(senders) - 1 - full[-1]
        assert cells == [str(v) for v in (n_alpha, n_beta, fill, len(senders) - fill - drain, drain, top)]


@pytest.mark.parametrize("name", pipelines())
def test_the_closed_form_of_the_curve_is_the_executed_cost(name):
    algorithm = pipelines()[name]
    for n in (2, 3, 4, 6, 8, 33):
        for p in {*SEGMENTS, *range(1, 17), 64}:
            assert algorithm.cost(n, segments=p) == execute(algorithm.build(n, segments=p)).cost


@pytest.mark.parametrize("message", [1.0, 4e6, 45e6, 4e9])
def test_the_best_number_of_segments_of_the_chain_is_marked_and_told(explorer, message):
    state = {**explorer.start, "schedule": "Broadcast, chain", "n": 8, "p": 4, "m": message, "bw": 800e9}

    def seconds(p):
        return (7 + p - 1) * (0.5e-6 + message / p / 800e9)

    best = min(range(1, 400), key=seconds)
    summary = explorer.render(len(explorer.parts), state)
    assert f"; the best is P = {best} with {units.seconds(seconds(best))}." in summary
    assert f"take {units.seconds(seconds(4))} with P = 4 on the lock-step clock" in summary
    assert f"Best: P = {best} with {units.seconds(seconds(best))}." in explorer.render(0, state)
    assert best == best_segments(
        lambda p: pipelines()["Broadcast, chain"].cost(8, segments=p), message=message, alpha=0.5e-6, bandwidth=800e9
    )


def test_of_the_best_number_of_segments_the_summary_says_that_none_is_faster(explorer):
    state = {**explorer.start, "schedule": "Broadcast, chain", "n": 2, "p": 1}
    assert explorer.render(len(explorer.parts), state).endswith("with P = 1 on the lock-step clock; none is faster.")


def test_what_is_best_at_the_start_can_be_chosen(explorer):
    best = re.search(r"the best is P = (\d+)", explorer.render(len(explorer.parts), explorer.start))[1]
    assert int(best) in explorer.choices(2, explorer.start)


def test_beyond_eight_ranks_the_explorer_prices_and_says_that_it_draws_no_diagram(explorer):
    state = {**explorer.start, "schedule": "Broadcast, chain", "n": 4096, "p": 64}
    n_alpha = 4095 + 64 - 1
    seconds = n_alpha * (state["alpha"] + state["m"] / 64 / state["bw"])
    assert f"take {units.seconds(seconds)} with P = 64" in explorer.render(len(explorer.parts), state)
    assert "<svg" not in explorer.render(1, state)
    assert f">{n_alpha}<" in explorer.render(2, state)


def test_the_explorer_stays_within_the_budget_of_a_page(explorer):
    assert len(explorer.payload) < 4_000_000
    assert len(explorer._repr_html_()) < 800_000
