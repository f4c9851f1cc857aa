"""Switches that replicate and add: the bound stays, the traffic shrinks by just what was sent to a switch twice."""

from dataclasses import replace
from fractions import Fraction

import pytest
from forest_fabrics import balanced
from hypothesis import given, settings

from colllib.execution import execute
from colllib.forest import busiest, forest, traffic
from colllib.primitives import PRIMITIVES
from colllib.topology.expression import find


@settings(max_examples=30, deadline=None)
@given(topology=balanced())
def test_no_link_carries_more_and_the_busiest_one_just_as_much(topology):
    able = replace(topology, combines=True, replicates=True)
    plain, sharing = (forest(able, multicast=on) for on in (False, True))
    before, after = (execute(packing.schedule(), able) for packing in (plain, sharing))
    assert all(now <= then for then, now in zip(before.link_total, after.link_total, strict=True))
    assert busiest(after) == busiest(before)
    assert sharing.reached()


@pytest.mark.parametrize("primitive", ["all-gather", "reduce-scatter", "all-reduce", "broadcast", "reduce"])
@pytest.mark.parametrize("name", ["dgx-h100:2,inc=box", "boxes:3x2,inc=both", "inc-star:6"])
def test_every_primitive_is_proved_with_switches_in_it(name, primitive):
    packing = forest(find(name), primitive=primitive, multicast=True)
    assert packing.reached()
    assert packing.schedule(segments=3).makes(PRIMITIVES[primitive])
    execute(packing.schedule(segments=3), find(name))


def test_below_one_switch_that_replicates_every_rank_sends_its_own_shard_alone():
    for ranks in (3, 8):
        packing = forest(find(f"inc-star:{ranks}"), multicast=True)
        assert set(execute(packing.schedule(), find(f"inc-star:{ranks}")).sent) == {Fraction(1, ranks)}


def test_what_backwards_is_added_is_what_forwards_is_replicated():
    topology = find("dgx-h100:2,inc=box")
    gathered, scattered = (
        forest(topology, primitive=name, multicast=True) for name in ("all-gather", "reduce-scatter")
    )
    assert traffic(gathered) == traffic(scattered)


def test_where_no_switch_replicates_nothing_changes():
    topology = find("dgx-a100:2")
    assert traffic(forest(topology, multicast=True)) == traffic(forest(topology))


@pytest.mark.parametrize("primitive", ["all-gather", "reduce-scatter", "all-reduce"])
@pytest.mark.parametrize("abilities", [(True, False), (False, True)])
def test_switches_that_can_only_add_or_only_replicate_do_just_that(primitive, abilities):
    combines, replicates = abilities
    topology = replace(find("inc-star:4"), combines=combines, replicates=replicates)
    packing = forest(topology, primitive=primitive, multicast=True)
    assert packing.reached()
    parts = {"all-gather": [replicates], "reduce-scatter": [combines], "all-reduce": [combines, replicates]}[primitive]
    assert traffic(packing).at_ranks == sum(
        4 if able else 6 for able in parts
    )  # four shards up or three from each, 3 M down
