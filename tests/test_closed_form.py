"""Closed forms: each is what executes wherever its condition says so, and no condition says more than is needed."""

from __future__ import annotations

from fractions import Fraction

import pytest

from colllib.algorithms import CATALOGUE, allgather, allreduce, any_will_do, broadcast, innetwork, on_a_full_mesh
from colllib.closed_form import (
    ANY,
    CROSSED_LONG_RINGS,
    EQUAL_EVEN_LONG_RINGS,
    EQUAL_LINES,
    EQUAL_LONG_RINGS,
    EVEN_LONG_RINGS,
    POWER_OF_TWO,
    SEGMENTED_POWER_OF_TWO,
    closed_form,
    no_closed_form,
)
from colllib.cost import Cost
from colllib.execution import execute
from colllib.topology import Latency, Lattice, star
from colllib.topology.expression import find

STARS = [f"star:{n}" for n in (2, 3, 4, 6, 7, 8, 16)]
FULL_MESHES = [f"full-mesh:{n}" for n in (2, 3, 5, 8)]
LATTICES = [f"torus:{axes}" for axes in ("3", "4", "4x4", "5x3", "4x3x2", "4x4x4", "6x6", "2x2", "3x1x3", "6x6x4")]
LATTICES += [f"mesh:{axes}" for axes in ("4", "3x3", "4x3", "2x2x2", "3x3x3", "2x5", "3x1x3")]
SWITCHES = [f"inc-star:{n}" for n in (2, 3, 5, 8)]
SEGMENTS = (1, 2, 3, 4, 9)
WITH_FORMS = [algorithm for algorithm in CATALOGUE if algorithm.cost.forms]


def places(algorithm):
    """The kind of topology that an algorithm's closed forms are for, whether one of them holds there or not."""
    linked = algorithm.name == "breadth-first"
    if algorithm.takes == "topology" and not linked:
        able = {"combines": True, "replicates": True, "scatters": True}
        late = Latency(endpoint=Fraction(3, 5), hop=Fraction(1, 10), switch=Fraction(1, 5))
        return [*map(find, SWITCHES), star(5, latency=late, **able), star(5, ports=2, **able)]
    kind = (
        LATTICES
        if algorithm.takes == "lattice" or linked
        else FULL_MESHES
        if algorithm.belongs is on_a_full_mesh
        else STARS
    )
    return [topology for topology in map(find, kind) if algorithm.refusal(topology) is None]


def executions(algorithm):
    """Where, from what, in how many segments, and the executed cost."""
    for topology in places(algorithm):
        argument = algorithm.argument(topology)
        for segments in SEGMENTS if algorithm.segmented else (1,):
            options = {"segments": segments} if algorithm.segmented else {}
            yield topology, argument, segments, execute(algorithm.build(argument, **options), topology).cost


@pytest.mark.parametrize("algorithm", WITH_FORMS, ids=lambda algorithm: f"{algorithm.primitive}-{algorithm.name}")
def test_every_closed_form_is_what_executes_and_no_restriction_is_without_need(algorithm):
    met, needed = set(), set()
    for topology, argument, segments, executed in executions(algorithm):
        for form in algorithm.cost.forms:
            if form.holds(argument, segments):
                assert form.cost(argument, segments) == executed, (topology.name, segments)
                met.add(form)
            elif form.cost(argument, segments) != executed:
                needed.add(form)
        chosen = algorithm.form(topology, segments)
        if chosen is not None:
            assert chosen.holds(argument, segments)
            assert chosen.cost(argument, segments) == executed
    assert met == set(algorithm.cost.forms)
    restricted = {form for form in algorithm.cost.forms if form.holds is not ANY}
    if algorithm.counts is any_will_do:  # else it refuses to run on what the condition excludes
        assert needed == restricted


@pytest.mark.parametrize("algorithm", WITH_FORMS, ids=lambda algorithm: f"{algorithm.primitive}-{algorithm.name}")
def test_one_rank_costs_nothing_and_none_is_refused(algorithm):
    alone = next(
        topology for topology in map(find, ("inc-star:1", "torus:1")) if algorithm.topologies(topology) is None
    )
    one, none = {"ranks": (1, 0), "lattice": (Lattice((1,)), None), "topology": (alone, None)}[algorithm.takes]
    assert algorithm.cost(one) == Cost(0, 0)
    assert algorithm.cost.covers(one)
    if none is not None:
        with pytest.raises(ValueError, match="N = 0"):
            algorithm.cost(none)


def test_each_part_of_a_condition_is_needed():
    def differs(cost, build, holds, ranks, segments):
        (form,) = cost.forms
        assert form.holds is holds
        return form.cost(ranks, segments) != execute(build(ranks, segments=segments)).cost

    trees = allreduce.double_binary_tree_cost, allreduce.double_binary_tree, SEGMENTED_POWER_OF_TWO
    assert [differs(*trees, *at) for at in ((6, 3), (2, 3), (8, 1), (8, 2))] == [True, True, True, False]
    rings = CROSSED_LONG_RINGS, EQUAL_LONG_RINGS, EQUAL_EVEN_LONG_RINGS, EVEN_LONG_RINGS, EQUAL_LINES
    table = {
        Lattice((4, 4)): (True, True, True, True, False),
        Lattice((3, 3)): (True, True, False, False, False),
        Lattice((6, 4)): (True, False, False, True, False),
        Lattice((4, 1)): (False, True, True, True, False),
        Lattice((2, 2)): (False, False, False, False, True),
        Lattice((3, 3), wraps=False): (False, False, False, False, True),
    }
    assert {axes: tuple(holds(axes) for holds in rings) for axes in table} == table


def test_where_no_form_holds_the_function_counts_or_the_cost_is_refused():
    cost = allreduce.rabenseifner_cost
    assert cost.form(8) is not None
    assert cost.form(6) is None
    assert cost.covers(6)
    # an option is for the function, also where the form holds without it
    assert cost(8, fused=True) == cost.configured(fused=True)(8) == Cost(5, Fraction(7, 4))
    assert cost.configured(order="far") is cost  # which leaves the cost as it is
    assert not allgather.recursive_doubling_cost.covers(6)
    with pytest.raises(ValueError, match=r"^6: the closed form is for N = 2\^m: execute it$"):
        allgather.recursive_doubling_cost(6)
    with pytest.raises(ValueError, match="no closed form: execute it"):
        no_closed_form(4)
    with pytest.raises(ValueError, match="closed form is that of one switch"):
        innetwork.whole_vector_cost(find("switch-tree:12x4"))


def test_segments_may_be_given_by_name_or_in_order_and_by_nothing_else():
    cost = broadcast.chain_cost
    assert cost(5, 4) == cost(5, segments=4)
    with pytest.raises(TypeError):
        allgather.ring_cost(5, 4)
    with pytest.raises(TypeError):
        cost(5, pieces=4)
    with pytest.raises(ValueError, match="segments 0: must be at least 1"):
        cost(5, segments=0)


def test_the_first_form_that_holds_is_the_cost_and_the_function_keeps_its_name():
    @closed_form("1", "1", POWER_OF_TWO)
    @closed_form("2", "2")
    def toy_cost(ranks: int) -> Cost:
        """A toy."""

    assert [toy_cost(n).n_alpha for n in (4, 6)] == [1, 2]
    assert (toy_cost.__name__, toy_cost.__doc__) == ("toy_cost", "A toy.")
