"""Second counts behind the answers on topologies: by hand, with plain sets, or with the second interpreter."""

from fractions import Fraction
from itertools import combinations, product

import reference

from colllib import claims
from colllib.algorithms import allreduce, lattice
from colllib.claims import Verdict
from colllib.claims.primer import NVLINK5_BOTH_WAYS, NVLINK5_LINKS, V5P_LARGEST_SLICE, V5P_POD
from colllib.topology import Lattice, leaf_spine
from colllib.topology.cuts import bisection

ENTRIES = {entry.claim.id: entry for entry in claims.for_chapter("13-topology-primer")}


def verdicts(*ids):
    return {ENTRIES[name].verdict for name in ids}


def test_the_chapter_answers_its_part_of_the_source():
    scope = {f"E-02-{k:03}" for k in (*range(1, 17), *range(18, 25), 84, *range(139, 153))}
    assert set(ENTRIES) == scope | {"E-00-043", "E-00-044"}


def neighbors(dims):
    """The pairs of a torus, from coordinates alone."""
    for place in product(*map(range, dims)):
        for axis, size in enumerate(dims):
            there = (*place[:axis], (place[axis] + 1) % size, *place[axis + 1 :])
            if there != place:
                yield frozenset((place, there))


def test_second_count_the_bisection_of_a_torus_with_an_odd_longest_axis():
    """Every half, edge by edge; the halves as sets of coordinates."""
    for dims, executed in (((3, 2), 3), ((3, 3), 8), ((4, 3), 6), ((5, 2), 5)):
        edges = set(neighbors(dims))
        places = list(product(*map(range, dims)))
        halves = combinations(places, len(places) // 2)
        narrowest = min(sum(len(edge & set(half)) == 1 for edge in edges) for half in halves)
        assert narrowest == executed
        assert (Fraction(2 * len(places), max(dims)) == narrowest) == (dims == (4, 3))
    assert verdicts("E-00-043") == {Verdict.REFUTED}


def test_second_count_no_half_sends_more_than_its_ranks_have_ports():
    """The half that is made of whole leaves: what leaves it crosses their uplinks, and their ranks' ports."""
    for leaves, down, up in product((2, 4, 8), (2, 4, 8), (1, 2, 4)):
        ranks, over = leaves * down, Fraction(down, up)
        if over >= 1:
            leaving = min(leaves // 2 * down, leaves // 2 * up)
            assert leaving == Fraction(ranks, 2) / over
            assert leaving < over * ranks
            if ranks == 8:
                assert bisection(leaf_spine(leaves, down, up)).bandwidth == leaving
    assert verdicts("E-00-044", "E-02-084") == {Verdict.REFUTED}


def test_second_count_the_rings_coefficient():
    for n in (3, 4, 8):
        assert reference.star_cost(allreduce.ring(n))[1] == 2 * Fraction(n - 1, n)
    assert verdicts("E-02-151") == {Verdict.REFUTED}


def test_second_count_four_tori_of_diameter_three_take_four_numbers_of_steps():
    steps = {}
    for dims in ((6,), (4, 2), (3, 3, 3), (2, 2, 2)):
        assert sum(d // 2 for d in dims) == 3
        steps[dims] = reference.star_cost(lattice.dim_ring(Lattice(dims)))[0]
    assert steps == {(6,): 10, (4, 2): 8, (3, 3, 3): 12, (2, 2, 2): 6}
    assert verdicts("E-02-152") == {Verdict.REFUTED}


def test_second_count_what_the_data_sheets_say():
    """900 GB/s one way is 18 links of 50; 4,096 chips are not a v5p pod, which has slices larger than that."""
    assert NVLINK5_LINKS * 50 * 2 == NVLINK5_BOTH_WAYS == 2 * 900
    x, y, z = V5P_LARGEST_SLICE
    assert 16**3 == 4096 < x * y * z == 6144 < V5P_POD
    assert verdicts("E-02-020", "E-02-014") == {Verdict.REFUTED}
