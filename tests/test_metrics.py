"""Metrics of a schedule, against second counts by the reference interpreter, sets and hands."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import networkx as nx
import pytest
import reference

from colllib.algorithms import allgather, allreduce, broadcast, innetwork, of, reducescatter
from colllib.bounds import port_bound
from colllib.cost import Tier
from colllib.execution import execute
from colllib.metrics import busiest_link, busy_ports, crossings, one_way_cost, phases, port_messages, staging
from colllib.schedule import pipelined, scaled
from colllib.topology import boxes, from_links, full_mesh, ring, star
from colllib.topology.expression import find


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
    "topology",
    [
        ring(8),
        full_mesh(8),
        star(8, ports=3),
        from_links("cube", 8, [(r, r ^ d) for r in range(8) for d in (1, 2, 4)], bandwidth=[1, 2, 3] * 8),
    ],
    ids=repr,
)
def test_nor_below_the_busiest_link_of_other_topologies(build, topology):
    schedule = build(8)
    floor = busiest_link(execute(schedule, topology))
    few, many = (execute(pipelined(schedule, p), topology).cost.n_beta for p in (3, 300))
    assert floor <= many <= few
    assert many - floor < Fraction(1, 10)


@pytest.mark.parametrize("schedule", [pipelined(allreduce.double_binary_tree(8), 5), broadcast.two_tree(9, segments=4)])
def test_messages_on_the_busiest_port_are_those_a_second_interpreter_meets(schedule):
    counts = []
    for step in reference.messages(schedule):
        ends = [("out", src, dst) for src, dst, _, _ in step] + [("in", dst, src) for src, dst, _, _ in step]
        ports: dict[tuple[str, int], set[int]] = {}
        for side, port, other in ends:
            ports.setdefault((side, port), set()).add(other)
        counts.append(max(map(len, ports.values())))
    assert port_messages(schedule) == counts


@pytest.mark.parametrize("p", [32, 128])
def test_two_colors_take_a_step_for_each_message_that_collides_without_them(p):
    colored = allreduce.double_binary_tree(64, segments=p)
    crowded = pipelined(allreduce.double_binary_tree(64), p)
    assert set(port_messages(colored)) == {1}
    assert colored.num_steps == sum(port_messages(crowded)) > crowded.num_steps
    assert reference.star_cost(colored)[1] == reference.star_cost(crowded)[1]


def replayed(schedule):
    """After each step, the largest share any rank has received and sends in a later step, by sets."""
    steps = list(reference.messages(schedule))
    shares = list(schedule.blocks.share)
    peaks = []
    for t in range(len(steps)):
        arrived = {(dst, block) for step in steps[: t + 1] for _, dst, block, _ in step}
        leaving = {(src, block) for step in steps[t + 1 :] for src, _, block, _ in step}
        load = {}
        for rank, block in arrived & leaving:
            load[rank] = load.get(rank, Fraction(0)) + shares[block]
        peaks.append(max(load.values(), default=Fraction(0)))
    return tuple(peaks)


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 6, 8, 12, 16])
def test_staging_is_what_a_replay_finds(ranks):
    built = [allgather.ring(ranks), allgather.bruck(ranks), reducescatter.ring(ranks), reducescatter.bruck(ranks)]
    built += [build(ranks, cap=cap) for build in (allgather.pat, reducescatter.pat) for cap in (1, 2, None)]
    built += [allgather.pat(ranks, cap=2, order="rounds"), broadcast.chain(ranks, segments=3), allreduce.ring(ranks)]
    for schedule in built:
        assert staging(schedule) == replayed(schedule)


def test_uneven_shards_count_with_their_size():
    shares = [Fraction(1, 2), Fraction(1, 4), Fraction(1, 8), Fraction(1, 8)]
    schedule = allgather.ring(4, shares=shares)
    assert staging(schedule) == replayed(schedule)
    assert max(staging(schedule)) == Fraction(1, 2)


@pytest.mark.parametrize("factor", [Fraction(2**70 + 1, 2**69), 8 * (2**62 - 57)])
def test_staging_is_exact_beyond_machine_integers(factor):
    schedule = scaled(allgather.bruck(8), factor)
    assert staging(schedule) == tuple(share * factor for share in staging(allgather.bruck(8)))


def test_a_reduce_scatter_parks_what_its_all_gather_parks_in_reverse_order():
    for ranks, cap in ((8, 1), (12, 2), (16, 4)):
        gather = staging(allgather.pat(ranks, cap=cap))
        scatter = staging(reducescatter.pat(ranks, cap=cap, order="far"))
        assert scatter[:-1] == gather[-2::-1]


@pytest.mark.parametrize("ranks", [4, 8, 32, 128])
def test_closed_forms_of_what_is_parked(ranks):
    log = ranks.bit_length() - 1
    assert max(staging(allgather.ring(ranks))) == Fraction(1, ranks)
    schedules = (allgather.bruck(ranks), allgather.pat(ranks), allgather.recursive_doubling(ranks))
    for schedule in schedules:
        assert max(staging(schedule)) == Fraction(ranks // 2 - 1, ranks)
    for k in range(log):
        parked = max(staging(allgather.pat(ranks, cap=1 << k))) * ranks
        assert parked == (1 << k) * (log - k) - 1
        # near first, every other rank on the way down to a leaf waits; where the way is odd, so do the subtrees' roots
        levels, roots = divmod(log - k, 2)
        fewer = max(staging(reducescatter.pat(ranks, cap=1 << k))) * ranks
        assert fewer == (1 << k) * levels + roots * ((1 << k) - 1)
        assert max(staging(allgather.pat(ranks, cap=1 << k, order="rounds"))) * ranks == ranks // 2 - 1


@pytest.mark.parametrize(("count", "size"), [(2, 2), (2, 8), (3, 4)])
def test_a_flat_ring_over_boxes_leaves_each_of_them_by_one_card_and_enters_by_another(count, size):
    """Each rank passes 2(N-1)/N of M on; one in a box passes it to the next box, up a cable and down another."""
    ranks = count * size
    load = crossings(execute(allreduce.ring(ranks), boxes((count, size))))
    share = Fraction(2 * (ranks - 1), ranks)
    inside = 2 * (size - 1) * count
    assert load["box"] == (share, inside * share, inside)
    assert load["card"] == load["uplink"] == (share, 2 * count * share, 2 * count)


def test_links_of_one_speed_that_differ_otherwise_are_tiers_of_their_own():
    """A ring over two boxes of 16 dies: 31/32 of M over every link on the way from a die to the next, by any tier."""
    dies = find("mi250:2")
    hops = [nx.shortest_path_length(dies.to_networkx(), die, (die + 1) % 32) for die in range(32)]
    by_tier = crossings(execute(allgather.ring(32), dies))
    assert set(by_tier) == {"4 BW", "2 BW", "1 BW at level 0", "1 BW at level 1"}
    assert sum(load.total for load in by_tier.values()) == sum(hops) * Fraction(31, 32)
    three = from_links("three", 3, [(0, 1), (1, 2), (2, 0)], bandwidth=[4, 4, 4], cables=[4, 1, 1])
    passed = [(load.total, load.used) for load in crossings(execute(allgather.ring(3), three)).values()]
    assert passed == [(Fraction(4, 3), 2), (Fraction(2, 3), 1)]
    with pytest.raises(ValueError, match="three has tiers link, link: each needs a name of its own"):
        replace(three, tiers=(Tier("link"), Tier("link")))


def one_way_by_hand(schedule):
    total = Fraction(0)
    shares = list(schedule.blocks.share)
    for step in reference.messages(schedule):
        load = [Fraction(0)] * schedule.ranks
        for src, dst, block, _ in step:
            load[src] += shares[block]
            load[dst] += shares[block]
        total += max(load)
    return total


def test_a_port_that_goes_one_way_at_a_time():
    for name in ("broadcast", "all-reduce", "all-to-all"):
        for algorithm in of(name):
            schedule = algorithm.build(8)
            assert one_way_cost(schedule).n_beta == one_way_by_hand(schedule)
            assert one_way_cost(schedule).n_beta >= port_bound(name, 8, full_duplex=False).n_beta


def test_a_switch_that_adds_is_neither_a_port_nor_a_rank_that_stages():
    on = find("inc-star:4")
    assert one_way_cost(innetwork.one_shot_all_reduce(on)).n_beta == 2
    assert not any(staging(innetwork.gather_multicast(on)))
