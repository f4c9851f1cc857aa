"""What pipelining does, counted by the second interpreter."""

from __future__ import annotations

from fractions import Fraction

import pytest
import reference

from colllib.algorithms import allreduce, broadcast, reduce
from colllib.events import event_clock
from colllib.execution import execute
from colllib.pipeline import best_segments_unrounded, busiest_link, busy_ports, phases, pipeline_cost, port_messages
from colllib.primitives import broadcast as broadcast_blocks
from colllib.schedule import Schedule, Step, pipelined
from colllib.topology import from_links, full_mesh, ring, star


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


@pytest.mark.parametrize("stages", [1, 2, 3, 8])
@pytest.mark.parametrize("p", [1, 2, 3, 8, 11])
def test_the_phases_of_a_chain(stages, p):
    """Step t of segment k is slot t + k: count the pairs in each slot."""
    busy = [sum(0 <= slot - k < stages for k in range(p)) for slot in range(stages + p - 1)]
    assert busy_ports(broadcast.chain(stages + 1, segments=p)) == busy
    ends = min(stages, p) - 1
    assert phases(busy) == (ends, abs(stages - p) + 1, ends)


def test_phases_of_nothing():
    assert phases([]) == (0, 0, 0)


@pytest.mark.parametrize(
    "schedule",
    [
        broadcast.chain(6),
        broadcast.binomial_tree(8),
        allreduce.recursive_doubling(8),
        allreduce.rabenseifner(8),
        allreduce.double_binary_tree(8),
        allreduce.ring(5),
    ],
)
def test_no_pipelining_gets_below_the_busiest_port_and_many_segments_get_there(schedule):
    sent, received = reference.traffic(schedule)
    floor = max(*sent.values(), *received.values())
    assert busiest_link(execute(schedule)) == floor
    previous = None
    for p in (1, 2, 4, 8, 200):
        n_beta = reference.star_cost(pipelined(schedule, p))[1]
        assert n_beta >= floor
        assert previous is None or n_beta <= previous
        previous = n_beta
    assert previous - floor < Fraction(1, 10)


@pytest.mark.parametrize("build", [allreduce.recursive_doubling, allreduce.double_binary_tree, broadcast.binomial_tree])
@pytest.mark.parametrize(
    "where",
    [
        ring(8),
        full_mesh(8),
        star(8, ports=3),
        from_links("cube", 8, [(r, r ^ d) for r in range(8) for d in (1, 2, 4)], bandwidth=[1, 2, 3] * 8),
    ],
    ids=repr,
)
def test_nor_below_the_busiest_link_of_other_topologies(build, where):
    schedule = build(8)
    floor = busiest_link(execute(schedule, where))
    few, many = (execute(pipelined(schedule, p), where).cost.n_beta for p in (3, 300))
    assert floor <= many <= few
    assert many - floor < Fraction(1, 10)


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


@pytest.mark.parametrize("schedule", [pipelined(allreduce.double_binary_tree(8), 5), broadcast.two_tree(9, segments=4)])
def test_messages_on_the_busiest_port_are_those_a_second_interpreter_meets(schedule):
    found = []
    for step in reference.messages(schedule):
        ends = [("out", src, dst) for src, dst, _, _ in step] + [("in", dst, src) for src, dst, _, _ in step]
        ports: dict[tuple[str, int], set[int]] = {}
        for side, port, other in ends:
            ports.setdefault((side, port), set()).add(other)
        found.append(max(map(len, ports.values())))
    assert port_messages(schedule) == found


@pytest.mark.parametrize("p", [32, 128])
def test_two_colors_take_a_step_for_each_message_that_collides_without_them(p):
    colored = allreduce.double_binary_tree(64, segments=p)
    crowded = pipelined(allreduce.double_binary_tree(64), p)
    assert set(port_messages(colored)) == {1}
    assert colored.num_steps == sum(port_messages(crowded)) > crowded.num_steps
    assert reference.star_cost(colored)[1] == reference.star_cost(crowded)[1]
