"""The one price: entries cost what they execute to, under both port conventions, and never less than a floor."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colllib.algorithms import CATALOGUE, every, find, relay
from colllib.algorithms.alltoall import bruck, bruck_cost, pairwise
from colllib.bounds import floor
from colllib.cost import Tier
from colllib.efficiency import IDEAL, PROFILES, effective
from colllib.exact import Fractions
from colllib.execution import execute
from colllib.ladder import (
    ANCHOR_ALPHA,
    ANCHOR_BANDWIDTH,
    ANCHOR_MESSAGE,
    PRIMITIVES,
    Entry,
    entries,
    entry,
    fastest,
    ladder,
    offered,
    run,
    skipped,
    topology,
)
from colllib.limits import TooLarge
from colllib.symmetry import by_symmetry
from colllib.topology import Lattice, equal_injection, from_links, full_mesh, injection, ring, star, torus
from colllib.topology.routes import with_routes

SMALL = (
    "star:6",
    "star:8",
    "torus:4x4",
    "torus:4x2x4",
    "torus:3x5",
    "ring:6",
    "mesh:4x3",
    "mesh:2x4x2",
    "full-mesh:6",
    "inc-star:6",
)
PRICE = {"message": 3e6, "alpha": 1e-6, "bandwidth": 100e9}


@pytest.mark.parametrize("on", SMALL)
@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_what_is_trusted_costs_what_it_executes_to_under_both_port_conventions(primitive, on):
    for trusting in (False, True):
        for candidate in entries(primitive, on, trusting):
            for equal in (False, True):
                for segments in (None, 1, 3) if candidate.algorithm.segmented else (None,):
                    rung = candidate.priced(**PRICE, equal_injection=equal, segments=segments)
                    topology = equal_injection(candidate.topology) if equal else candidate.topology
                    executed = execute(rung.entry.schedule(rung.segments), topology).cost
                    assert rung.seconds == pytest.approx(executed.seconds(**PRICE), rel=1e-12), rung.entry
                    assert equal or executed == rung.cost
                    assert rung.how == candidate.how


@given(
    ranks=st.integers(2, 40),
    message=st.floats(1, 1e10),
    alpha=st.floats(0, 1e-3),
    eta=st.sampled_from([IDEAL, PROFILES["crossbar"], PROFILES["torus"]]),
)
def test_bruck_is_as_fast_as_in_any_base_that_is_not_pairwise_exchange(ranks, message, alpha, eta):
    price = {"message": message, "alpha": alpha, "bandwidth": 1e9}
    bruck = entry("all-to-all", "bruck", f"star:{ranks}", True).priced(**price, eta=eta)
    times = [effective(bruck_cost(ranks, radix), eta).seconds(**price) for radix in range(2, max(ranks - 1, 3))]
    assert bruck.seconds == pytest.approx(min(times), rel=1e-12)


@pytest.mark.parametrize("ranks", [3, 4, 9, 16])
def test_base_n_and_the_one_below_are_pairwise_exchange(ranks):
    exchanged = sent(pairwise(ranks))
    assert sent(bruck(ranks, ranks)) == sent(bruck(ranks, ranks - 1)) == exchanged
    assert all(sent(bruck(ranks, radix)) != exchanged for radix in range(2, ranks - 1))


def sent(schedule):
    """Who sends which block to whom, whatever the order of the steps."""
    steps = (schedule.step(t) for t in range(schedule.num_steps))
    return {message for step in steps for message in zip(step.src, step.dst, step.block, strict=True)}


def test_a_base_that_is_given_is_kept():
    given_two = find("all-to-all", "bruck").configured({"radix": 2})
    assert Entry(given_two, star(64)).priced(**PRICE).algorithm.chosen == {"radix": 2}
    assert Entry(find("all-to-all", "bruck"), star(64)).priced(**PRICE).algorithm.chosen == {"radix": 8}


def test_an_entry_says_how_its_cost_is_known():
    assert entry("all-reduce", "ring", "star:6").how == "executed"
    assert entry("all-reduce", "ring", "star:6", True).how == "closed form"
    assert entry("all-reduce", "ring", "ring:6", True).how == "executed"  # the star's closed form is not its cost there
    assert entry("broadcast", "chain", "star:6").how == "closed form"  # of which many segments are tried
    assert entry("broadcast", "chain", "torus:3x3").how == "executed"


def test_an_option_has_its_type_whether_annotations_are_text_or_not():
    """This module does not postpone them, as most of the library's do."""

    def build(ranks: int, root: int = 0, lead: int | None = None, fair: bool = False, loads: tuple[int, ...] = ()):
        raise NotImplementedError((ranks, root, lead, fair, loads))

    options = replace(find("broadcast", "chain"), build=build).options
    assert options == {"root": "int", "lead": "int", "fair": "bool"}


def test_a_relay_round_a_ring_of_three_sends_as_the_direct_algorithm_and_no_rank_on_a_star_has_a_link_to_each():
    relayed, direct = (find("all-to-all", name).build(3) for name in ("ring-relay", "direct"))
    assert relayed.num_steps == direct.num_steps == 1
    messages = [sorted(zip(*(column.tolist() for column in each.step(0)), strict=True)) for each in (relayed, direct)]
    assert messages[0] == messages[1]
    assert floor("all-to-all", star(3)).n_alpha == 2
    assert "at once over links that they share" in skipped(find("all-to-all", "direct"), star(8, ports=7))


@pytest.mark.parametrize("on", SMALL)
@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_no_execution_is_below_a_floor(primitive, on):
    least = floor(primitive, topology(on))
    for candidate in entries(primitive, on):
        for segments in (1, 2, 7, 40) if candidate.algorithm.segmented else (1,):
            cost = candidate.execution(segments).cost
            assert cost.n_alpha >= least.n_alpha
            assert cost.n_beta >= least.n_beta


def test_the_best_number_of_segments_is_the_best_of_all():
    for on in ("star:8", "torus:4x4", "mesh:4x3", "full-mesh:6", "inc-star:8"):
        for candidate in (*entries("broadcast", on), *entries("all-reduce", on)):
            if candidate.algorithm.segmented:
                times = [candidate.priced(**PRICE, segments=p).seconds for p in range(1, 200)]
                assert candidate.priced(**PRICE).seconds == pytest.approx(min(times), rel=1e-12)


@pytest.mark.parametrize("dims", [(4, 4), (6, 6), (8, 4), (4, 4, 4), (8, 4, 4), (8, 8, 8), (8, 4, 4, 4), (32, 16)])
def test_on_even_axes_of_four_and_more_the_relay_meets_the_bisection_bound(dims):
    least = floor("all-to-all", topology("torus:" + "x".join(map(str, dims))))
    assert by_symmetry(relay.rotated_relay(Lattice(dims)), torus(dims)).cost == least
    assert least.n_beta == Fraction(max(dims), 8)


def test_injection_is_what_the_best_connected_rank_owns():
    for on, links in (("star:9", 1), ("torus:3x3x3", 6), ("torus:4x2", 3), ("mesh:3x3", 4), ("full-mesh:5", 4)):
        assert injection(topology(on)) == links
        assert equal_injection(topology(on)).bandwidth[0] == Fraction(1, links)


@pytest.mark.parametrize("on", ["star:8", "torus:2x4", "mesh:4x2"])
def test_the_fastest_of_a_topology_is_the_fastest_that_it_compares(on):
    times = [candidate.priced(**PRICE).seconds for candidate in entries("all-gather", on)]
    assert fastest("all-gather", on, **PRICE).seconds == min(times)


def test_elsewhere_than_on_a_star_a_flat_ring_is_not_at_home():
    for on, at_home in (("star:8", True), ("torus:2x4", False), ("mesh:4x2", False)):
        assert ("ring" in {candidate.algorithm.name for candidate in entries("all-gather", on)}) == at_home


@pytest.mark.parametrize("on", [*SMALL, "boxes:3x2", "leaf-spine:2x2x2", "fat-tree:4", "twisted-torus:3"])
@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_a_ladder_offers_all_that_applies_and_says_why_the_rest_does_not(primitive, on):
    fabric = topology(on)
    for algorithm in every(primitive):
        why = skipped(algorithm, fabric)
        if algorithm in offered(primitive, fabric):
            assert why is None
            execute(algorithm.build(algorithm.argument(fabric)), fabric)
        else:
            assert why
            if algorithm.refusal(fabric) is not None:
                with pytest.raises(ValueError, match=r"^[^\n]+$") as refusal:
                    algorithm.argument(fabric)
                assert str(refusal.value) == f"{primitive} {algorithm.name} {why}"


@pytest.mark.parametrize("n", [2, 3, 8])
@pytest.mark.parametrize("on", ["full-mesh:{}", "boxes:1x{},inside=full-mesh"])
@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_on_a_full_mesh_the_ladder_finds_the_direct_algorithm(primitive, on, n):
    """Its N - 1 partners have a link each, with cards beside them or not; by hand one step, or two, of M/N a link."""
    fabric = topology(on.format(n))
    price = {"message": 1e6, "alpha": (0.0,) * fabric.levels, "bandwidth": (1e9,) * fabric.levels}
    rungs = {rung.algorithm.name: rung for rung in ladder_without_segments(primitive, fabric, price)}
    steps = 2 if primitive in ("broadcast", "reduce", "all-reduce") else 1
    assert rungs["direct"].seconds == pytest.approx(steps * 1e-3 / n)
    assert all(rung.seconds >= rungs["direct"].seconds * (1 - 1e-12) for rung in rungs.values())
    # on one port a step to one partner is a step, and one to several looks better than it can be
    assert ("direct" in {a.name for a in offered(primitive, star(n))}) == (n == 2)


def ladder_without_segments(primitive, fabric, price):
    chosen = [a for a in offered(primitive, fabric) if not a.segmented]
    return [Entry(algorithm, fabric).priced(**price) for algorithm in chosen]


def test_bus_bandwidth_is_the_columns_of_nccl_tests():
    ring = entry("all-reduce", "ring", "star:8").priced(message=1e9, alpha=0.0, bandwidth=450e9)
    assert ring.algbw == pytest.approx(450e9 / 1.75)
    assert ring.busbw == pytest.approx(450e9)


def test_on_boxes_the_ladder_prices_every_tier():
    rungs = ladder("all-reduce", topology("boxes:4x4"), message=1e9, alpha=(1e-6, 5e-6), bandwidth=(450e9, 50e9))
    by_name = {rung.algorithm.name: rung for rung in rungs}
    # by hand: the nested ring, whose slices hide what is inside, then the flat one, whose every step waits for a card
    inside, between = 2 * 3 * (1e-6 + 1e9 / 4 / 450e9), 2 * 3 * (5e-6 + 1e9 / 16 / 50e9)
    nested = entry("all-reduce", "hierarchical", "boxes:4x4")
    price = {"message": 1e9, "alpha": (1e-6, 5e-6), "bandwidth": (450e9, 50e9)}
    assert nested.priced(segments=1, **price).seconds == pytest.approx(inside + between)
    sliced = by_name["hierarchical"]
    assert sliced.segments > 1
    assert between < sliced.seconds < nested.priced(segments=sliced.segments // 2, **price).seconds
    assert by_name["ring"].seconds == pytest.approx(30 * (5e-6 + 1e9 / 16 / 50e9))
    assert [rung.seconds for rung in rungs] == sorted(rung.seconds for rung in rungs)


def test_what_has_no_entry_is_refused():
    with pytest.raises(ValueError, match="no algorithm for primitive 'gossip'"):
        entries("gossip", "star:4")
    with pytest.raises(ValueError, match="all-reduce dim-ring is made for a ring"):
        entry("all-reduce", "dim-ring", "star:4")
    with pytest.raises(ValueError, match="takes no segments"):
        entry("all-reduce", "ring", "star:4").cost(2)


def test_floors_on_a_mesh_are_those_of_its_corner_and_of_its_middle():
    assert floor("all-gather", topology("mesh:3x3")).n_beta == Fraction(8, 9) / 2
    # across the middle of 4x4 run 4 links each way, for 8 x 8 blocks of M/16
    assert floor("all-to-all", topology("mesh:4x4")).n_beta == Fraction(8 * 8, 16) / 4
    with pytest.raises(ValueError, match="floors are known for one switch"):
        floor("all-gather", topology("boxes:2x2"))


def test_segments_that_cannot_be_executed_are_refused():
    tree = find("all-reduce", "double-binary-tree")
    from colllib.ladder import run

    with pytest.raises(ValueError, match=r"all-reduce double-binary-tree on star:8: 1000000000 segments are too many"):
        run(tree, star(8), segments=10**9, message=ANCHOR_MESSAGE, alpha=ANCHOR_ALPHA, bandwidth=ANCHOR_BANDWIDTH)


def test_what_has_millions_of_messages_is_run_by_symmetry_and_costs_its_closed_form():
    for primitive, name, on in (("all-reduce", "ring", "star:20000"), ("all-to-all", "pairwise", "star:4096")):
        candidate = entry(primitive, name, on)
        rung = run(candidate.algorithm, candidate.topology, message=1e9, alpha=1e-6, bandwidth=1e9)
        assert rung.how == "by symmetry"
        assert rung.cost == candidate.algorithm.cost(candidate.topology.ranks)


def test_a_run_by_symmetry_that_would_take_hours_is_refused():
    with pytest.raises(TooLarge, match="by symmetry: this would take about"):
        run(find("all-to-all", "pairwise"), topology("torus:64x64x64"), message=1e9, alpha=1e-6, bandwidth=1e9)


def _wired(ranks, links, switches=0, **values):
    return from_links("wired", ranks, links, switches=switches, **values)


HUB = [(rank, 4) for rank in range(4)] + [(4, rank) for rank in range(4)]
LONG_WAY = with_routes(full_mesh(3), lambda a, b: [a, 3 - a - b, b] if a != b else [a])


@pytest.mark.parametrize(
    "topology",
    [
        _wired(4, HUB, 1, alpha=[2] * 8),
        _wired(4, HUB, 1, alpha=[Fraction(1, 2)] * 7 + [3]),
        _wired(4, HUB, 1, alpha=[Fraction(1, 2)] * 8, bandwidth=[1] * 7 + [Fraction(1, 10)]),
        _wired(3, list(full_mesh(3).to_networkx().edges), alpha=[3] * 6),
        LONG_WAY,
        replace(torus((4, 4)), tiers=(Tier("link", Fraction(1, 2)),)),
        replace(ring(4), alpha=Fractions.equal(8, 2)),
        equal_injection(torus((4, 4))),
        with_routes(ring(4), lambda a, b: [(a + k) % 4 for k in range((b - a) % 4 + 1)]),
    ],
)
def test_a_closed_form_is_claimed_only_where_it_is_the_cost(topology):
    for algorithm in CATALOGUE:
        if algorithm.refusal(topology) is None and algorithm.costs_its_closed_form(topology):
            argument = algorithm.argument(topology)
            assert execute(algorithm.build(argument), topology).cost == algorithm.cost(argument), algorithm
