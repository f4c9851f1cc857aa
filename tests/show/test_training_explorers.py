"""The explorers of training steps: what they say against the timelines, counted here once more."""

from __future__ import annotations

import re

import pytest

from colllib import units
from colllib.measured.predict import predict
from colllib.parallelism import MODELS, Plan
from colllib.show import gantt, overlap_explorer, stages_explorer
from colllib.show.overlap_explorer import OFFERED, overlapped, tensors
from colllib.show.stages_explorer import NAMES
from colllib.topology.machines import find
from colllib.training.pipelines import pipeline
from colllib.training.step import Training, simulate
from colllib.training.timeline import COMPUTE, Op, run

OVERLAP, STAGES = overlap_explorer(), stages_explorer()


def summary(explorer, **changed):
    return explorer.render(len(explorer.parts), {**explorer.start, **changed})


def test_the_matrices_are_those_of_the_model_from_the_embedding_to_the_head():
    """Of a layer: queries and outputs of 4096 x 4096, keys and values of 4096 x 1024, three of 4096 x 14336."""
    parts = tensors(1000, 2)
    assert [part.size for part in (parts[0], parts[-1])] == [2 * 4096 * 128256] * 2
    assert sorted(part.size for part in parts[1:8]) == sorted(
        2 * 4096 * n for n in (4096, 4096, 1024, 1024, 14336, 14336, 14336)
    )
    multiplied = sum(part.size for part in parts[1:]) / 2  # the embedding is looked up
    assert sum(part.backward for part in parts) == pytest.approx(4 * multiplied * 1000 / 400e12)
    assert sum(part.forward for part in parts) == pytest.approx(2 * multiplied * 1000 / 400e12)


def test_the_gradient_that_nothing_hides_is_the_embedding():
    step = overlapped(1e6, 16, 8192, 2)
    last = predict(find("dgx-h100:16"), "all-reduce", 2 * 4096 * 128256).seconds
    assert last <= step.idle(COMPUTE) < 1.1 * last


@pytest.mark.parametrize(
    "changed", [{}, {"boxes": 4, "tokens": 4096}, {"bucket": 1.6e9}, {"bucket": 128e6, "nccl": False}]
)
def test_the_overlap_explorer_names_the_best_of_its_buckets_and_how_much_it_gains(changed):
    state = {**OVERLAP.start, **changed}
    rest = [state[name] for name in ("boxes", "tokens", "width", "nccl")]
    times = [overlapped(size, *rest).seconds for size in OFFERED]
    chosen = times[OFFERED.index(state["bucket"])]
    text = summary(OVERLAP, **changed)
    best = OFFERED[min(range(len(OFFERED)), key=lambda k: (round(times[k], 12), OFFERED[k]))]
    faster = f"Best of these buckets: {units.size(best)}, {chosen / min(times):.2f} times as fast."
    assert text.endswith(faster if chosen >= 1.01 * min(times) else "No bucket here makes the step 1% faster.")


def test_it_starts_with_nccl_where_the_default_bucket_is_far_from_the_best():
    text = summary(OVERLAP)
    assert (OVERLAP.start["bucket"], OVERLAP.start["nccl"]) == (25e6, True)
    best, faster = re.search(r"buckets: (\d+) GB, ([\d.]+) times as fast", text).groups()
    assert int(best) == 1
    assert float(faster) >= 1.2


def test_the_fastest_schedules_leave_less_exposed_than_nccl():
    exposed = [re.search(r"; ([\d.]+) ms of", summary(OVERLAP, nccl=nccl))[1] for nccl in (True, False)]
    assert float(exposed[0]) > 2 * float(exposed[1])


@pytest.mark.parametrize("name", NAMES)
def test_the_stages_explorer_shows_the_published_bubbles(name):
    kind, chunks = name
    text = summary(STAGES, name=name, p=4, rounds=2)
    waits = {"zb-h1": 3.0}.get(kind, 9.0 / chunks)
    assert f"idle {100 * waits / (8 * 3 + waits):.1f}%" in text


def test_a_timeline_has_a_box_for_every_operation_until_they_are_too_many_to_tell_apart():
    def boxes(chart):
        return sum(path.count("M") for path in re.findall(r'd="([^"]*)" style="[^"]*" stroke-width="18"', chart.body))

    assert boxes(gantt(pipeline("gpipe", 1, 30), {"stage": "compute 0"})) == 60
    assert boxes(gantt(run([Op("f", "a", 1.0, kind="forward") for _ in range(100)]), {"a": "a"})) == 1


def test_a_step_with_experts_has_its_all_to_all_in_the_timeline():
    training = Training(MODELS["Mixtral 8x7B"], Plan(dp=16, ep=8), "dgx-h100:2", microbatches=2)
    assert "all-to-all" in gantt(simulate(training), {"rank": "compute 0"}).body


def test_a_timeline_says_how_busy_each_row_is():
    chart = gantt(run([Op("f", "a", 1.0, kind="F"), Op("g", "b", 3.0, (0,), kind="send")]), {"x": "a", "y": "b"})
    assert chart.alt == "Timeline of 4 s. x: busy 25%; y: busy 75%."


def test_two_timelines_of_one_scale_draw_a_second_equally_long():
    def width(chart):
        return float(re.search(r'd="M([\d.]+) [\d.]+H([\d.]+)" style', chart.body)[2])

    short, long = (run([Op("f", "a", seconds, kind="F")]) for seconds in (1.0, 2.0))
    ends = [width(gantt(step, {"a": "a"}, until=2.0)) for step in (short, long)]
    assert ends[1] == width(gantt(long, {"a": "a"}))
    assert ends[0] < ends[1]


def test_the_stages_explorer_says_how_long_a_step_is():
    """Eight microbatches on four stages: 8 x 3 F of work and 3 x 3 F of bubble."""
    assert "1F1B: 33 F a step" in STAGES.render(0, STAGES.start)
