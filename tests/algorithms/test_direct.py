"""Straight to the destination: proved for every N, on a full mesh and behind one port."""

import pytest
import reference

from colllib.algorithms import direct
from colllib.bounds import lower_bound
from colllib.cost import Cost
from colllib.execution import execute
from colllib.limits import TooLarge
from colllib.primitives import PRIMITIVES
from colllib.topology import equal_injection, full_mesh

BUILDS = {
    "all-to-all": (direct.all_to_all, direct.one_step_cost),
    "all-gather": (direct.all_gather, direct.one_step_cost),
    "reduce-scatter": (direct.reduce_scatter, direct.one_step_cost),
    "all-reduce": (direct.all_reduce, direct.two_step_cost),
    "broadcast": (direct.broadcast, direct.two_step_cost),
    "reduce": (direct.reduce, direct.two_step_cost),
}


@pytest.mark.parametrize("primitive", BUILDS)
@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8, 12, 72])
def test_direct_schedules_meet_their_closed_form(primitive, ranks):
    build, cost = BUILDS[primitive]
    schedule = build(ranks)
    assert PRIMITIVES[primitive].accepts(schedule.blocks)
    assert execute(schedule, full_mesh(ranks)).cost == cost(ranks)
    if ranks <= 12:
        assert reference.holds(schedule)
        for step in reference.messages(schedule):
            pairs = [(src, dst) for src, dst, _, _ in step]
            assert len(pairs) == len(set(pairs))  # every message has a link of its own


@pytest.mark.parametrize("primitive", ["all-to-all", "all-gather", "reduce-scatter", "all-reduce"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8, 12, 72])
def test_at_equal_injection_and_behind_one_port_they_meet_the_bound_in_bytes(primitive, ranks):
    build, cost = BUILDS[primitive]
    bound = lower_bound(primitive, ranks).n_beta
    assert execute(build(ranks), equal_injection(full_mesh(ranks))).cost.n_beta == bound
    assert reference.star_cost(build(ranks)) == (cost(ranks).n_alpha, bound)


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8, 12])
def test_one_shot_sends_a_vector_to_each_other_rank_in_one_step(ranks):
    """Counted by hand: N - 1 vectors leave a port in the step, and a link of its own carries one."""
    schedule, steps = direct.one_shot(ranks), int(ranks > 1)
    assert reference.holds(schedule)
    assert reference.star_cost(schedule) == (steps, ranks - 1)
    assert execute(schedule, full_mesh(ranks)).cost == direct.one_shot_cost(ranks)
    assert direct.one_shot_cost(ranks) == Cost(steps, steps)


def test_one_shot_over_too_many_ranks_is_refused():
    with pytest.raises(TooLarge, match="one shot over 5000 ranks"):
        direct.one_shot(5000)


@pytest.mark.parametrize("ranks", [2, 3, 6, 9])
def test_any_rank_can_be_the_root(ranks):
    for build in (direct.broadcast, direct.reduce):
        schedule = build(ranks, root=ranks - 1)
        assert reference.holds(schedule)
        assert execute(schedule, full_mesh(ranks)).cost == direct.two_step_cost(ranks)
