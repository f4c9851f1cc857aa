"""Each identity makes its primitive true for every N and root, and costs what the algorithm it amounts to costs."""

from __future__ import annotations

from fractions import Fraction

import pytest
import reference

from colllib.algorithms import allgather, alltoall, reducescatter
from colllib.algorithms.identities import IDENTITIES, of
from colllib.bounds import lower_bound
from colllib.execution import execute
from colllib.primitives import PRIMITIVES

NAMED = {identity.text: identity for identity in IDENTITIES}


@pytest.mark.parametrize("identity", IDENTITIES, ids=lambda i: f"{i.primitive}: {i.text}")
@pytest.mark.parametrize("n", [2, 3, 4, 5, 7, 8])
def test_it_makes_the_primitive_true(identity, n):
    for root in (0, n - 1):
        schedule = identity.build(n, root)
        run = execute(schedule)
        assert PRIMITIVES[identity.primitive].accepts(schedule.blocks)
        assert reference.holds(schedule)
        assert reference.star_cost(schedule) == (run.cost.n_alpha, run.cost.n_beta)
        assert run.cost.n_beta >= lower_bound(identity.primitive, n).n_beta


def steps(schedule):
    return [
        sorted((src, dst, int(schedule.blocks.source[block])) for src, dst, block, _ in step)
        for step in reference.messages(schedule)
    ]


@pytest.mark.parametrize("n", [2, 3, 4, 6, 8])
def test_many_chains_are_a_ring_and_many_trees_are_bruck(n):
    """Not only the same cost: the chains side by side send the very messages of the ring."""
    chains = NAMED["N broadcasts side by side, each of M/N, down a chain"].build(n, 0)
    assert steps(chains) == steps(allgather.ring(n))
    trees = NAMED["N broadcasts side by side, each of M/N, down a binomial tree"].build(n, 0)
    assert reference.star_cost(trees) == reference.star_cost(allgather.bruck(n))
    up = NAMED["N reduces side by side, each of M/N, up a chain"].build(n, 0)
    assert reference.star_cost(up) == reference.star_cost(reducescatter.ring(n))
    scatters = NAMED["N scatters side by side, each of M, down a binomial tree"].build(n, 0)
    assert reference.star_cost(scatters) == reference.star_cost(alltoall.bruck(n))


def test_every_primitive_but_point_to_point_is_made_of_others():
    assert {identity.primitive for identity in IDENTITIES} == set(PRIMITIVES) - {"point-to-point"}
    assert of("point-to-point") == ()


def test_scatter_and_all_gather_move_nearly_twice_the_vector():
    for n in (2, 4, 8):
        cost = execute(NAMED["scatter, then all-gather"].build(n, 0)).cost
        assert cost.n_beta == 2 * Fraction(n - 1, n)
