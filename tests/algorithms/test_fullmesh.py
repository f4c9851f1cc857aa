"""Straight to the destination: proved for every N, on a full mesh and behind one port."""

import pytest
import reference

from colllib.algorithms import fullmesh
from colllib.bounds import lower_bound
from colllib.execution import execute
from colllib.primitives import PRIMITIVES
from colllib.topology import equal_injection, full_mesh

BUILDS = {
    "all-to-all": fullmesh.all_to_all,
    "reduce-scatter": fullmesh.reduce_scatter,
    "all-gather": fullmesh.all_gather,
    "all-reduce": fullmesh.all_reduce,
}


@pytest.mark.parametrize("primitive", BUILDS)
@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8, 12, 72])
def test_straight_schedules_meet_their_closed_form_and_at_equal_injection_the_bound(primitive, ranks):
    schedule = BUILDS[primitive](ranks)
    assert PRIMITIVES[primitive].accepts(schedule.blocks)
    if ranks <= 12:
        assert reference.holds(schedule)
    closed = (fullmesh.all_reduce_cost if primitive == "all-reduce" else fullmesh.half_cost)(ranks)
    assert execute(schedule, full_mesh(ranks)).cost == closed
    bound = lower_bound(primitive, ranks).n_beta
    assert execute(schedule, equal_injection(full_mesh(ranks))).cost.n_beta == bound
    assert reference.star_cost(schedule) == (closed.n_alpha, bound)
