"""Second counts on contention: links walked by hand, rows of arithmetic, the second interpreter."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from random import Random

import pytest
import reference

from colllib import claims
from colllib.algorithms import allreduce, alltoall, find, lattice
from colllib.claims import Verdict
from colllib.contention import all_at_once, hot_destination
from colllib.topology import Lattice, star

CONTENTION = {entry.claim.id: entry for entry in claims.for_chapter("20-contention")}
LADDER = {entry.claim.id: entry for entry in claims.for_chapter("21-realistic-ladder")}
ENTRIES = CONTENTION | LADDER
REFUTED, INCONSISTENT = {Verdict.REFUTED}, {Verdict.INCONSISTENT}
REPRODUCED = {Verdict.REPRODUCED, Verdict.ROUNDED}
BYTES = 16e6 / 900e9 * 1e6  # M/BW at the anchor in microseconds
ALPHA = 0.5


def verdicts(*ids):
    return {ENTRIES[name].verdict for name in ids}


def test_every_claim_on_contention_is_answered():
    scope = [f"E-05-{k:03}" for k in range(1, 43)] + [f"E-00-{k:03}" for k in range(54, 58)]
    assert sorted(scope) == sorted(ENTRIES)


# -- calibration: an all-reduce measured at N = 8 -------------------------------------------------


def test_second_count_a_bus_bandwidth_is_undone_with_the_n_it_was_measured_at():
    message = 8e9
    for busbw, n_beta, low, high in (
        (360e9, 14 / 8, 0.7999, 0.8001),
        (470e9, 1, 0.596, 0.598),
        (470e9, 9 / 8, 0.671, 0.672),
    ):
        seconds = message * (2 * 7 / 8) / busbw  # nccl-tests: busbw = M/t * 2(N-1)/N
        eta = n_beta * message / (seconds * 450e9)
        assert low < eta < high
    assert pytest.approx(0.522, abs=1e-3) == 470 / 450 / 2  # the factor 2 of N without end
    assert [round(b / 450 / 1.75, 2) for b in (470, 360)] == [0.6, 0.46]
    assert verdicts("E-05-012", "E-00-055", "E-05-015") == REFUTED
    assert verdicts("E-05-001", "E-05-011", "E-00-054", "E-05-013", "E-05-014", "E-00-056") <= REPRODUCED


# -- on wires, walked by hand ---------------------------------------------------------------------


def hops(a, b, size):
    """From a to b round a ring the shorter way, upwards on a tie, as directed links."""
    way = 1 if 2 * ((b - a) % size) <= size else -1
    while a != b:
        yield a, (a + way) % size
        a = (a + way) % size


def walk(a, b, dims=(8, 8, 8)):
    """The directed links from one place of a torus to another, one axis after the other."""
    at = list(a)
    for axis, size in enumerate(dims):
        for _, stop in hops(at[axis], b[axis], size):
            start = tuple(at)
            at[axis] = stop
            yield start, tuple(at)


def ring_over(places, dims=(8, 8, 8)):
    """Users of each link, and the longest route, of one step of a ring over some places in order."""
    routes = [list(walk(a, b, dims)) for a, b in zip(places, [*places[1:], places[0]], strict=True)]
    return Counter(link for route in routes for link in route), max(map(len, routes))


def test_second_count_sharing_a_link_lowers_eta_beta():
    load = ring_over([(x,) for x in (0, 2, 4, 6)], (8,))[0] + ring_over([(x,) for x in (1, 3, 5, 7)], (8,))[0]
    assert max(load.values()) == 2
    assert 0.80 / max(load.values()) == 0.40
    assert verdicts("E-05-002") == INCONSISTENT


def test_second_count_groups_along_x_meet_on_no_link():
    load = Counter()
    for y in range(8):
        for z in range(8):
            own, longest = ring_over([(x, y, z) for x in range(8)])
            assert longest == 1
            load += own
    assert (len(load), max(load.values())) == (512, 1)
    corner = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 1, 1), (1, 1, 1), (1, 0, 1), (0, 0, 1)]
    own, longest = ring_over(corner)
    assert (max(own.values()), longest) == (1, 1)
    assert verdicts("E-05-005", "E-05-007") == REFUTED
    assert verdicts("E-05-006") <= REPRODUCED


def test_second_count_sixteen_ranks_are_no_ring_of_eight():
    ring = allreduce.ring(8)
    state = list(reference.states(ring))[-1]
    assert max(len(held) for held in state.values()) == 8 < 16
    block = lattice.dim_ring(Lattice((8, 2)))
    assert reference.holds(block)
    assert block.num_steps == 2 * (7 + 1)
    assert reference.traffic(block)[0][0] == Fraction(15, 8)
    assert verdicts("E-05-003") == REFUTED


def test_second_count_a_scattered_group_pays_its_longest_route_in_every_step():
    """Draws of another generator than the claim's."""
    dice, places = Random(11), [(x, y, z) for z in range(8) for y in range(8) for x in range(8)]
    found = []
    for _ in range(100):
        group = sorted(dice.sample(places, 16), key=lambda p: p[::-1])
        found.append(30 * ring_over(group)[1] / 16)
    assert sorted(found)[5] > 8  # in latencies
    times = sorted((latencies * 16 * ALPHA + 15 / 8 * BYTES) / (16 * ALPHA + 15 / 8 * BYTES) for latencies in found)
    assert 2 < times[50] < 4  # at 16 MB, where a group alone seldom loads a link twice
    assert round(30 / 16) == 2  # in steps
    assert verdicts("E-05-004") <= REPRODUCED


def test_second_count_one_port_takes_all_that_goes_to_the_hot_rank():
    for n in (8, 64):
        port = reference.star_cost(all_at_once(n, hot_destination(n, 10)))[1]
        assert port == (n - 1) * Fraction(10, n + 9)
        assert port / Fraction(n - 1, n) == Fraction(10 * n, n + 9)
    # a torus divides it among the hot rank's links: count what enters over the busiest of four
    enters = Counter()
    for x in range(8):
        for y in range(8):
            if (x, y) != (0, 0):
                enters[list(walk((x, y), (0, 0), (8, 8)))[-1]] += 1
    assert len(enters) == 4
    assert max(enters.values()) * Fraction(10, 73) < Fraction(63 * 10, 73)
    assert verdicts("E-05-009") == REFUTED
    assert verdicts("E-05-008", "E-05-010") <= REPRODUCED


def test_second_count_uplinks_at_a_fraction_of_their_rate():
    """Eight ranks below a leaf, each with one M for elsewhere: the time at the port and at the uplinks."""
    product, smaller = [], []
    for s in (1, 2, 4):
        port, uplinks = 1 / 0.8, 8 / (8 / s * 0.8)
        product.append(round(1 / max(port, uplinks), 2))
        smaller.append(round(1 / max(port, 8 / (8 / s)), 2))
    assert product == [0.80, 0.40, 0.20]
    assert smaller == [0.80, 0.50, 0.25]
    assert verdicts("E-05-018") == INCONSISTENT
    assert verdicts("E-05-019", "E-00-057") == REFUTED
    # two boundaries: 8 ranks of a pod over 2 uplinks, of which each stands for a rank's worth
    hosts, leaves, uplinks = 4, 2, 2
    assert (Fraction(uplinks, hosts), Fraction(uplinks, hosts * leaves)) == (Fraction(1, 2), Fraction(1, 4))
    assert verdicts("E-05-020") == INCONSISTENT
    assert verdicts("E-05-016", "E-05-017") <= REPRODUCED


# -- the realistic ladder, by arithmetic ----------------------------------------------------------


def added(eta, pieces=range(1, 200)):
    """Whole vectors through a switch in P pieces: P + 1 steps of half an alpha and M/P each; the best P."""
    return min((p + 1) * (ALPHA / 2 + BYTES / eta / p) for p in pieces)


def tree(eta):
    """The double tree: 2 (17 + 2(P-1)) steps of alpha and half of M/P each; the best P."""
    return min(2 * (17 + 2 * (p - 1)) * (ALPHA + BYTES / eta / (2 * p)) for p in range(2, 200))


def halving(eta):
    return 18 * ALPHA + 511 / 256 * BYTES / eta


def dim_ring(eta_alpha, eta):
    return 42 * ALPHA * eta_alpha + 511 / 256 * BYTES / eta


def test_the_double_trees_steps_are_as_the_arithmetic_has_them():
    schedule = find("all-reduce", "double-binary-tree").build(64, segments=5)
    n_alpha, n_beta = reference.star_cost(schedule)
    assert (n_alpha, n_beta) == (2 * (11 + 8), Fraction(2 * (11 + 8), 10))


def test_second_count_the_rows_of_the_all_reduce():
    assert (round(added(1), 1), round(added(0.52), 1)) == (22.2, 40.3)
    assert round(tree(1)) == 97
    assert round(tree(0.8)) == 111
    assert (round(halving(1), 1), round(halving(0.8), 1)) == (44.5, 53.4)
    assert (round(dim_ring(1, 1)), round(dim_ring(1.2, 0.6))) == (56, 84)
    assert verdicts("E-05-021", "E-05-023") == REFUTED
    assert (round(42 * ALPHA), round(511 / 256 * BYTES, 1)) == (21, 35.5)  # which add up to 56.5, printed 57
    assert verdicts("E-05-025") <= REPRODUCED


def test_second_count_the_increases():
    limit = (2 * ALPHA + BYTES / 0.52) / (2 * ALPHA + BYTES)
    assert round(100 * (limit - 1)) == 87
    assert round(100 * (added(0.52) / added(1) - 1)) == 81
    assert round(100 * (tree(0.8) / tree(1) - 1)) == 15
    assert round(100 * (halving(0.8) / halving(1) - 1)) == 20
    assert round(100 * (dim_ring(1.2, 0.6) / dim_ring(1, 1) - 1)) == 49
    assert round(100 * (1 / 0.6 - 1)) == 67
    assert verdicts("E-05-022", "E-05-024", "E-05-026", "E-05-027") == REFUTED


def test_second_count_the_margins():
    assert 4.3 < tree(1) / added(1) < 4.4
    assert round(tree(0.8) / added(0.52), 1) == 2.8
    assert round(dim_ring(1, 1) / added(1), 1) == 2.5
    assert round(dim_ring(1.2, 0.6) / added(0.52), 1) == 2.1
    assert 84 / 53 > 57 / 45  # the source's own totals widen
    assert dim_ring(1.2, 0.6) / halving(0.8) > dim_ring(1, 1) / halving(1)
    assert verdicts("E-05-028", "E-05-029", "E-05-030", "E-05-031", "E-05-042") == REFUTED


def test_second_count_all_gather():
    inc, star_, cube = ((1, 1), (9, 511 / 512), (21, 511 / 512))
    times = [n * ALPHA + b * BYTES for n, b in (inc, star_, cube)]
    assert [round(t, 1) for t in times] == [18.3, 22.2, 28.2]
    slower = [inc[0] * ALPHA + BYTES / 0.8, 9 * ALPHA + star_[1] * BYTES / 0.8]
    assert round(slower[1] / slower[0], 2) == 1.17
    assert [round(100 * n * ALPHA / t) for (n, _), t in zip((inc, star_, cube), times, strict=True)] == [3, 20, 37]
    assert verdicts("E-05-032", "E-05-038", "E-05-039") == REFUTED
    assert verdicts("E-05-033", "E-05-034") <= REPRODUCED


def test_second_count_a_reduce_scatter_in_the_network_adds_in_the_switch():
    where = star(8, combines=True, replicates=True, scatters=True)
    for primitive, adds in (("all-gather", False), ("reduce-scatter", True)):
        schedule = find(primitive, "in-network").build(where)
        into = [add for step in reference.messages(schedule) for _, dst, _, add in step if dst == 8]
        assert any(into) == adds
    assert verdicts("E-05-037") == REFUTED


def test_second_count_what_an_all_to_all_loads_as_it_grows():
    """The busiest axis by counting all distances: half of the hops go each way."""
    for size, load in ((4, 0.5), (6, 0.75), (8, 1), (16, 2)):
        blocks_times_hops = sum(min(d, size - d) for d in range(size)) / size  # of M, per rank and axis
        assert blocks_times_hops / 2 == load
    for n in (8, 27, 64):
        assert reference.star_cost(alltoall.pairwise(n))[1] == Fraction(n - 1, n) < 1
    assert verdicts("E-05-041") == REFUTED
    assert verdicts("E-05-035", "E-05-036", "E-05-040") <= REPRODUCED
