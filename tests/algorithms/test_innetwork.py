"""Collectives through switches: proved, counted byte by byte, refused where a switch cannot do what it must."""

from collections import Counter
from fractions import Fraction

import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from colllib.algorithms import CATALOGUE, innetwork
from colllib.execution import ScheduleError, execute
from colllib.ladder import best, offered, run
from colllib.primitives import PRIMITIVES
from colllib.topology import Latency, mesh, star, switch_tree
from colllib.topology.expression import find

ALL = {"combines": True, "replicates": True, "scatters": True}
THROUGH = [algorithm for algorithm in CATALOGUE if algorithm.name.startswith("in-network")]
NAMES = [f"{algorithm.primitive}-{algorithm.name}" for algorithm in THROUGH]
# what must rank r send and receive, as shares of M, on one switch
TRAFFIC = {
    "broadcast-in-network": (lambda n, r: int(r == 0), lambda n, r: int(r != 0)),
    "reduce-in-network": (lambda n, r: 1, lambda n, r: int(r == 0)),
    "all-reduce-in-network": (lambda n, r: 1, lambda n, r: 1),
    "all-reduce-in-network-two-shot": (lambda n, r: 1 + Fraction(1, n), lambda n, r: 1),
    "reduce-scatter-in-network": (lambda n, r: 1, lambda n, r: Fraction(1, n)),
    "all-gather-in-network": (lambda n, r: Fraction(1, n), lambda n, r: 1 - Fraction(1, n)),
    "all-to-all-in-network": (lambda n, r: 1 - Fraction(1, n), lambda n, r: 1 - Fraction(1, n)),
}


@pytest.mark.parametrize("algorithm", THROUGH, ids=NAMES)
@pytest.mark.parametrize("ranks", [1, 2, 3, 6, 8, 13])
@pytest.mark.parametrize("segments", [1, 2, 3, 7])
def test_one_switch_does_it_at_the_closed_forms_cost(algorithm, ranks, segments):
    for latency in (Latency(), Latency(endpoint=Fraction(3, 5), hop=Fraction(1, 10), switch=Fraction(1, 5))):
        for topology in (star(ranks, latency=latency, **ALL), switch_tree(ranks, 16, latency=latency, **ALL)):
            schedule = algorithm.build(topology, segments=segments)
            assert PRIMITIVES[algorithm.primitive].accepts(schedule.blocks)
            assert execute(schedule, topology).cost == algorithm.cost(topology, segments=segments)


@pytest.mark.parametrize(("algorithm", "name"), list(zip(THROUGH, NAMES, strict=True)), ids=NAMES)
@pytest.mark.parametrize("ranks", [2, 5, 8])
def test_every_host_sends_and_receives_just_what_the_mechanism_says(algorithm, name, ranks):
    sent, received = reference.traffic(algorithm.build(star(ranks, **ALL), segments=2))
    out, into = TRAFFIC[name]
    assert [sent[r] for r in range(ranks)] == [out(ranks, r) for r in range(ranks)]
    assert [received[r] for r in range(ranks)] == [into(ranks, r) for r in range(ranks)]


@given(st.integers(1, 40), st.integers(3, 8), st.integers(1, 3), st.integers(1, 3), st.data())
@settings(max_examples=40)
def test_trees_of_switches_serve_any_number_of_ranks(ranks, radix, uplinks, segments, data):
    topology = switch_tree(ranks, max(radix, 3 * uplinks), uplinks=uplinks, **ALL)
    algorithm = data.draw(st.sampled_from(THROUGH))
    schedule = algorithm.build(topology, segments=segments)
    done = execute(schedule, topology)
    assert PRIMITIVES[algorithm.primitive].accepts(schedule.blocks)
    assert reference.holds(schedule)
    tiers = innetwork.SwitchTree(topology).height
    rounds = 2 if algorithm.name == "in-network-two-shot" else 1
    assert schedule.num_steps == (2 * tiers * rounds + segments - 1 if ranks > 1 else 0)
    assert done.topology.ranks == ranks


@given(st.integers(2, 40), st.integers(3, 9), st.integers(1, 3), st.data())
@settings(max_examples=60)
def test_what_is_only_passed_on_turns_around_in_the_lowest_switch_above_both(ranks, radix, segments, data):
    """Every link of any tree, by hand: from s ranks below it to the other N - s, and the other way."""
    topology = switch_tree(ranks, radix, **ALL)
    root = data.draw(st.integers(0, ranks - 1))
    parent = {a: b for a, b in zip(topology.link_src.tolist(), topology.link_dst.tolist(), strict=True) if a < b}
    below = {node: {node} if node < ranks else set() for node in range(topology.nodes)}
    for node in range(topology.nodes - 1):  # a parent has a higher number than its children
        below[parent[node]] |= below[node]
    one = Fraction(1, ranks)
    rise_and_fall = {
        innetwork.scatter_bundles: lambda s: (len(s) * (ranks - len(s)) * one,) * 2,
        innetwork.gather_multicast: lambda s: (len(s) * one, (ranks - len(s)) * one),
        innetwork.multicast: lambda s: (int(root in s), int(root not in s)),
    }
    for build, expected in rise_and_fall.items():
        options = {"root": root} if build is innetwork.multicast else {}
        schedule = build(topology, segments=segments, **options)
        assert reference.holds(schedule)
        crossed = Counter()
        for step in reference.messages(schedule):
            for src, dst, block, _ in step:
                crossed[src, dst] += schedule.blocks.share[block]
        for node, above in parent.items():
            assert (crossed[node, above], crossed[above, node]) == expected(below[node])


@given(st.integers(1, 500), st.integers(3, 16), st.integers(1, 2))
def test_no_switch_has_more_links_than_ports(ranks, radix, uplinks):
    radix = max(radix, 3 * uplinks)
    topology = switch_tree(ranks, radix, uplinks=uplinks)
    ports = {n: Fraction(0) for n in range(ranks, topology.nodes)}
    for src, speed in zip(topology.link_src.tolist(), topology.bandwidth, strict=True):
        if src >= ranks:
            ports[src] += speed
    assert max(ports.values()) <= radix
    assert topology.switches == 1 or topology.switches > (ranks - 1) // radix


@pytest.mark.parametrize(("ranks", "radix"), [(64, 9), (12, 4), (20, 5)])
def test_an_uplink_carries_at_most_m_and_in_two_shots_the_shards_of_its_ranks_too(ranks, radix):
    tree = switch_tree(ranks, radix, **ALL)
    ups = [i for i in range(tree.num_links) if ranks <= min(tree.link_src[i], tree.link_dst[i])]
    loads = {
        one.name + one.primitive: max(execute(one.build(tree), tree).link_total[i] for i in ups) for one in THROUGH
    }
    most = loads.pop("in-network-two-shotall-reduce")
    assert most == 1 + Fraction(radix - 1, ranks)
    assert loads.pop("in-networkall-to-all") > 1
    assert max(loads.values()) == 1


def test_a_two_tier_tree_of_radix_64_has_no_room_for_4096_ranks():
    """A leaf needs a port for its uplink: 64 leaves of 63."""
    assert innetwork.SwitchTree(switch_tree(64 * 63, 64)).height == 2
    assert innetwork.SwitchTree(switch_tree(64 * 63 + 1, 64)).height == 3


@pytest.mark.parametrize(
    ("build", "lacking", "complaint"),
    [
        (
            innetwork.one_shot_all_reduce,
            "combines",
            r"switch 0 of inc-star:4,combines=false must add block 0; .* do not combine",
        ),
        (innetwork.one_shot_all_reduce, "replicates", "send to several nodes block 0; its switches do not replicate"),
        (innetwork.gather_multicast, "replicates", "do not replicate"),
        (innetwork.scatter_bundles, "scatters", r"take out of a bundle block \d+; its switches do not scatter"),
    ],
)
def test_a_switch_that_cannot_is_named(build, lacking, complaint):
    topology = star(4, **{**ALL, lacking: False})
    with pytest.raises(ScheduleError, match=complaint) as refusal:
        execute(build(topology), topology)
    assert refusal.value.rank == 4


def test_a_plain_switch_still_passes_blocks_on_one_by_one():
    """Bundles of one need no descriptor: a reduce to the root needs no replication, a two-shot no scattering."""
    topology = star(4, combines=True)
    assert execute(innetwork.reduce_to_root(topology), topology).cost.n_beta == 2
    assert execute(innetwork.scatter_reduced(topology), topology).cost.n_beta == Fraction(5, 4)


def test_the_ladder_takes_what_the_switches_can_do():
    price = {"message": 16e6, "alpha": 0.5e-6, "bandwidth": 900e9}
    assert "in-network" not in [a.name for a in offered("all-reduce", star(8))]
    assert {"in-network", "in-network-two-shot"} <= {a.name for a in offered("all-reduce", find("inc-star:8"))}
    chosen = next(a for a in offered("all-reduce", find("inc-star:8")) if a.name == "in-network")
    segments = best(chosen, find("inc-star:8"), **price)
    times = [
        run(chosen, find("inc-star:8"), segments=p, **price).seconds for p in (segments - 1, segments, segments + 1)
    ]
    assert min(times) == times[1]


@pytest.mark.parametrize(
    ("build", "complaint"),
    [
        (lambda: Latency(endpoint=Fraction(1)), "must sum to 1"),
        (lambda: switch_tree(8, 2), "radix 2"),
        (lambda: switch_tree(0, 8), "N = 0"),
        (lambda: innetwork.SwitchTree(mesh((3, 3))), "a tree of switches"),
        (lambda: find("inc-switch-tree:64"), "switch-tree:64x16"),
        (lambda: innetwork.whole_vector_cost(switch_tree(8, 4)), "execute it"),
    ],
)
def test_bad_input_is_refused_in_one_line(build, complaint):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refusal:
        build()
    assert complaint in str(refusal.value)


@pytest.mark.parametrize("message", [1e3, 1e6, 16e6, 1e9])
def test_the_best_number_of_segments_is_found_though_too_few_fill_no_pipeline(message):
    """At P = 2 and 3 the two-shot moves no byte less than in one piece, so a search must not stop there."""
    topology = find("inc-star:512")
    price = {"message": message, "alpha": 0.5e-6, "bandwidth": 900e9}
    for name in ("in-network", "in-network-two-shot"):
        chosen = next(a for a in offered("all-reduce", topology) if a.name == name)
        times = {p: chosen.cost(topology, segments=p).seconds(**price) for p in range(1, 400)}
        assert best(chosen, topology, **price) == min(times, key=times.__getitem__)
