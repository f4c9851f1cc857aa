"""What a pipeline costs, counted by the second interpreter."""

from __future__ import annotations

import pytest
import reference

from colllib.algorithms import allreduce, broadcast, reduce
from colllib.cost import best_segments_unrounded, pipeline_cost
from colllib.events import event_clock
from colllib.execution import execute
from colllib.primitives import broadcast as broadcast_blocks
from colllib.schedule import Schedule, Step, pipelined
from colllib.topology import full_mesh


@pytest.mark.parametrize("build", [broadcast.chain, reduce.chain])
@pytest.mark.parametrize("n", [2, 3, 5, 8, 12])
@pytest.mark.parametrize("p", [1, 2, 7, 20])
def test_the_master_formula_is_what_a_chain_costs(build, n, p):
    cost = pipeline_cost(n - 1, p)
    assert (cost.n_alpha, cost.n_beta) == reference.star_cost(build(n, segments=p))


@pytest.mark.parametrize("p", [1, 2, 5, 16])
def test_the_master_formula_holds_with_a_link_per_pair_where_each_step_moves_everything(p):
    for schedule, stages in ((broadcast.binomial_tree(8), 3), (allreduce.recursive_doubling(16), 4)):
        assert execute(pipelined(schedule, p), full_mesh(schedule.ranks)).cost == pipeline_cost(stages, p)


@pytest.mark.parametrize("stages", [2, 3, 9, 511])
@pytest.mark.parametrize("ratio", [0.01, 1.0, 35.6, 4000.0])
def test_the_best_whole_number_is_a_neighbor_of_the_best_real_one(stages, ratio):
    real = best_segments_unrounded(stages, message=ratio, alpha=1, bandwidth=1)
    times = {p: pipeline_cost(stages, p).seconds(message=ratio, alpha=1, bandwidth=1) for p in range(1, int(real) + 50)}
    assert abs(min(times, key=times.__getitem__) - max(real, 1)) < 1


def test_bad_numbers_are_refused():
    with pytest.raises(ValueError, match="at least 1"):
        pipeline_cost(0, 3)
    with pytest.raises(ValueError, match="alpha = 0"):
        best_segments_unrounded(3, message=1, alpha=0, bandwidth=1)


def test_a_step_without_messages_takes_no_time_on_the_event_clock():
    steps = [Step.of(0, 1, 0), Step.of([], [], []), Step.of(1, 2, 0)]
    line = event_clock(Schedule.from_steps(broadcast_blocks(3), steps), message=4, alpha=1, bandwidth=1)
    assert line.step.tolist() == [0, 2]
    assert line.arrival.tolist() == [5, 10]
