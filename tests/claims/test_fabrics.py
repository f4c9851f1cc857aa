"""Second counts behind the answers on the table of all fabrics: by hand, or with the other interpreter."""

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import product

import pytest
import reference

from colllib import claims
from colllib.algorithms import allreduce, broadcast, direct, lattice, reduce
from colllib.claims import Verdict
from colllib.contention import hot_destination
from colllib.topology import Lattice
from colllib.topology.lattice import lines_along

ENTRIES = {entry.claim.id: entry for entry in claims.for_chapter("17-ladder-every-primitive")}


def verdicts(*ids):
    return {ENTRIES[name].verdict for name in ids}


def test_the_chapter_answers_the_whole_table_and_its_limitations():
    assert set(ENTRIES) == {f"E-02-{k}" for k in range(103, 131)}
    assert not verdicts(*ENTRIES) & {Verdict.OPEN, Verdict.NOT_CHECKABLE}


def test_second_count_the_roots_port_of_a_pipelined_binomial_tree():
    for module, side in ((broadcast, 0), (reduce, 1)):
        for ranks in (5, 16, 64):
            for segments in (1, 9):
                ports = reference.traffic(module.binomial_tree(ranks, segments=segments))
                assert ports[side][0] == (ranks - 1).bit_length()
    assert verdicts("E-02-103", "E-02-104") == {Verdict.REFUTED}


def test_second_count_a_double_tree_sends_and_receives_every_byte_twice():
    for ranks in (8, 16, 64):
        sent, received = reference.traffic(allreduce.double_binary_tree(ranks, segments=20))
        assert max(sent.values()) == max(received.values()) == 2
    assert verdicts("E-02-105") == {Verdict.REFUTED}


@pytest.mark.parametrize(("side", "load"), [(4, Fraction(1, 2)), (8, 1), (16, 2)])
def test_second_count_all_to_all_on_cubes_by_hops_over_links(side, load):
    """Every link of a torus is like every other: all hops of all blocks, divided by the links."""
    away = sum(min(at, side - at) for at in range(side))
    hops_of_one_rank = 3 * away * side * side
    assert Fraction(hops_of_one_rank, side**3) / 6 == load
    assert verdicts("E-02-126") == {Verdict.REFUTED}


def test_second_count_hops_of_halving_on_a_ring():
    """Counted from the messages: the farthest partner of each step, the shorter way round."""
    for size in (4, 8, 16):
        schedule = lattice.dim_rabenseifner(Lattice((size,)))
        far = [
            max(min((src - dst) % size, (dst - src) % size) for src, dst, _, _ in step)
            for step in reference.messages(schedule)
        ]
        assert sum(far) == 2 * (size - 1)
        assert sum(len(step) > 0 for step in reference.messages(schedule)) == 2 * (size.bit_length() - 1)
    assert verdicts("E-02-128") == {Verdict.REFUTED}


def route(src, dst, dims):
    """The links of a message on a torus, axis after axis the shorter way, ties up."""
    at = [src % dims[0], src // dims[0] % dims[1], src // dims[0] // dims[1]]
    to = [dst % dims[0], dst // dims[0] % dims[1], dst // dims[0] // dims[1]]
    links = []
    for axis, size in enumerate(dims):
        ahead = (to[axis] - at[axis]) % size
        way = 1 if 2 * ahead <= size else -1
        while at[axis] != to[axis]:
            links.append((tuple(at), axis, way))
            at[axis] = (at[axis] + way) % size
    return links


def test_second_count_groups_on_parallel_lines_share_no_link_and_scattered_ones_do():
    dims = (8, 8, 8)
    axes = Lattice(dims)
    users = defaultdict(set)
    for axis in range(3):
        for number, group in enumerate(lines_along(axes, axis).tolist()):
            assert len({rank // axes.strides[axis] % 8 for rank in group}) == 8
            for src, dst in zip(group, [*group[1:], group[0]], strict=True):
                for link in route(src, dst, dims):
                    users[link].add((axis, number))
    assert {len(who) for who in users.values()} == {1}
    interleaved = Counter(
        link for start in (0, 1) for k in range(4) for link in route((start + 2 * k) % 8, (start + 2 * k + 2) % 8, dims)
    )
    assert max(interleaved.values()) == 2
    assert verdicts("E-02-129") == {Verdict.REFUTED}


def test_second_count_a_hot_destination_on_a_star_and_on_a_torus():
    """Link by link in a dictionary, on 4x4x4: the hot rank's one port against its six links."""
    dims, ranks, factor = (4, 4, 4), 64, 10
    total = ranks - 1 + factor
    loads = {}
    for hot in (1, factor):
        links, port = Counter(), Counter()
        for src, dst in product(range(ranks), repeat=2):
            weight = Fraction(hot if dst == 0 else 1, ranks - 1 + hot)
            if src != dst:
                port[dst] += weight
                for link in route(src, dst, dims):
                    links[link] += weight
        loads[hot] = (max(port.values()), max(links.values()))
    assert loads[factor][0] / loads[1][0] == Fraction(factor * ranks, total)
    assert 1 < loads[factor][1] / loads[1][1] < loads[factor][0] / loads[1][0]
    star = reference.star_cost(direct.all_to_all(16, hot_destination(16, factor)))[1]
    assert star == 15 * Fraction(factor, 15 + factor)
    assert verdicts("E-02-130") == {Verdict.REFUTED}
