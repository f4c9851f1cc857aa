"""Second counts of statements on graphs that hold, which share no code with the first: no graph is built here.

A frontier comes from the bases of a table by formula and from its expansions by their theorems. What a breadth-first
all-gather costs on generalized Kautz and de Bruijn graphs is counted from distances: in each step the set of links
into a rank with most ranks that no other link can bring, over its size.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from colllib import claims
from colllib.claims import HOLDS
from colllib.claims.finding import answers, cases_of, causes, sentence
from colllib.claims.graph_tables import bracketed, stored

DISTANCE_REGULAR = {
    6: 2,
    9: 2,
    10: 3,
    14: 3,
    15: 3,
    16: 4,
    21: 3,
    26: 3,
    32: 4,
    35: 3,
    45: 4,
    70: 7,
    80: 4,
    189: 6,
    728: 6,
}
IN_FULL_STEPS = {(8, 2): 3, (16, 2): 5, (9, 3): 3, (16, 4): 3}  # diamond and modified de Bruijn graphs: no link idles


def breadth_first(followers):
    """Steps and T_B in M/B on a graph given as an array of followers, shape (N, d)."""
    ranks, ports = followers.shape
    src, dst = np.repeat(np.arange(ranks), ports), followers.ravel()
    hops = shortest_path(csr_array((np.ones(len(src)), (src, dst)), shape=(ranks, ranks)), unweighted=True).astype(int)
    worst = np.zeros(hops.max() + 1, dtype=object)
    for rank in range(ranks):
        into, far = src[dst == rank], hops[:, rank]
        last_links = ((hops[:, into] == far[:, None] - 1) << np.arange(len(into))).sum(axis=1)
        for some in range(1, 1 << len(into)):
            alone = np.bincount(far[(last_links | some) == some], minlength=len(worst))
            alone[0] = 0
            worst = np.maximum(worst, [Fraction(int(count), some.bit_count()) for count in alone])
    return len(worst) - 1, sum(worst) * ports / ranks


@cache
def kautz(ranks, ports):
    return breadth_first((-ports * np.arange(ranks)[:, None] - np.arange(1, ports + 1)) % ranks)


@cache
def de_bruijn(ranks, ports):
    return breadth_first((ports * np.arange(ranks)[:, None] + np.arange(ports)) % ranks)


@cache
def even(ranks, ports):
    """Fewest steps of a base or a product whose breadth-first all-gather meets the bound; None without one."""
    divisors = [n for n in range(2, ranks // 2 + 1) if ranks % n == 0]
    pairs = [(even(n, d), even(ranks // n, ports - d)) for d in range(1, ports) for n in divisors]
    steps = [sum(pair) for pair in pairs if None not in pair]
    steps += [1] * (ranks == ports + 1) + [2] * (ranks in (2 * ports, ports + 2) and ports > 1)
    steps += [ranks - 1] * (ports == 1) + [ranks // 2] * (ports == 2 and ranks > 2)
    if ports == 4:
        steps += [DISTANCE_REGULAR[ranks]] if ranks in DISTANCE_REGULAR else []
        steps += [next(m for m in range(ranks) if (2 * m + 1) ** 2 >= 2 * ranks - 1)] * (ranks > 6)
    return min(steps, default=None)


@cache
def frontier(ranks, ports, loops=True):
    """(steps, T_B) of which none is as good as another in both."""
    best = Fraction(ranks - 1, ranks)
    candidates = [(ranks - 1, best)] + [(ranks // 2, best)] * (ports % 2 == 0 and ranks > 2)  # rings of parallel links
    candidates += [(even(ranks, ports), best)] * (even(ranks, ports) is not None)
    candidates += [(steps, best) for sizes, steps in IN_FULL_STEPS.items() if sizes == (ranks, ports)]
    if ranks > ports > 1 and (loops or ranks % (ports + 1) == 0):
        candidates.append(kautz(ranks, ports))
    if loops and ports > 1 and ranks in (ports**k for k in range(2, 12)):
        candidates.append(de_bruijn(ranks, ports))
    if ranks % ports == 0 and ranks > ports > 1:
        candidates += [(t + 1, load + Fraction(ports, ranks)) for t, load in frontier(ranks // ports, ports, loops)]
    for n in (n for n in range(2, ports + 1) if ports % n == 0):
        if ranks % n == 0 and ranks > n:
            more = Fraction(n - 1, ranks)
            candidates += [(t + 1, load + more) for t, load in frontier(ranks // n, ports // n, loops=False)]
        root = round(ranks ** (1 / n))
        if root**n == ranks and root > 1:
            candidates += [(t * n, load * root / (root - 1) * best) for t, load in frontier(root, ports // n, loops)]
    return sorted({one for one in candidates if not any(beats(other, one) for other in candidates)})


def beats(one, other):
    return one != other and one[0] <= other[0] and one[1] <= other[1]


@pytest.mark.parametrize(("name", "ranks"), [("D-A-142", 32), ("D-A-143", 64), ("D-A-145", 256)])
def test_bases_and_theorems_alone_lead_to_the_rows_of_a_frontier(name, ranks):
    rows = " ".join(f"{steps} {float(load):.3f}" for steps, load in frontier(ranks, 4))
    assert claims.entry(name).value == f"rows = [{rows}]"
    assert claims.entry(name).verdict is claims.Verdict.REPRODUCED


def executed(name, quantity):
    (case,) = answers()[name]()
    return case[quantity]


def test_the_best_topologies_are_four_times_as_fast_as_rings_along_the_axes_of_a_torus():
    """An all-reduce on 31 x 31 ranks: 2 (30 + 30) steps one way along the axes."""
    alpha, whole = 10, 2**20 * 8 / 100e9 * 1e6
    best = min(2 * (alpha * steps + whole * float(load)) for steps, load in frontier(961, 4))
    times = 2 * (alpha * 60 + whole * 960 / 961) / best
    assert executed("D-3-102", "times") == pytest.approx(times)
    assert 3.5 <= times < 4.5


def most_between_all(ranks, *jumps):
    """f of a circulant graph of two jumps: ways to each rank by hops along either, and what the hops of each are worth.

    Between two worths at which some rank's best way changes, the sum over all ranks is linear.
    """
    reach = range(-50, 51)
    paths = [set() for _ in range(ranks)]
    for x in reach:
        for y in reach:
            paths[(x * jumps[0] + y * jumps[1]) % ranks].add((abs(x), abs(y)))
    paths = [[a for a in own if not any(b != a and b[0] <= a[0] and b[1] <= a[1] for b in own)] for own in paths]
    changes = {Fraction(0), Fraction(1)}
    for own in paths:
        for (x1, y1), (x2, y2) in combinations(own, 2):
            changes.add(Fraction(y2 - y1, (y2 - y1) + (x1 - x2)))
    most = max(map(len, paths))
    x, y = np.array([(own * most)[:most] for own in paths]).transpose(2, 0, 1)  # some ways more than once
    parts = [(w.numerator, w.denominator) for w in changes]
    return 2 / max(Fraction(int((n * x + (d - n) * y).min(axis=1).sum()), d) for n, d in parts)


def test_a_circulant_is_barely_matched_by_a_torus_in_all_to_all():
    torus = Fraction(2, 31 * 2 * sum(range(16)))  # 31 lines along each axis, up to 15 hops either way
    times = most_between_all(961, 21, 22) / torus
    assert executed("D-3-105", "circulant").f / executed("D-3-105", "torus").f == times
    assert 1 <= times < Fraction(11, 10)


@pytest.mark.parametrize("ranks", range(5, 400, 13))
def test_the_fastest_stored_all_reduce_of_1_mb_and_100_mb_costs_what_bases_and_theorems_lead_to(ranks):
    rows = [(int(row["steps"]), Fraction(row["load"])) for row in stored("frontiers.csv") if row["ranks"] == str(ranks)]
    for whole in (1, 100):
        price = {one: 10 * one[0] + 2**20 * 8 / 1e5 * whole * float(one[1]) for one in (*rows, *frontier(ranks, 4))}
        assert min(rows, key=price.get) == min(frontier(ranks, 4), key=price.get)


def test_the_text_on_hops_of_all_pairs_has_the_numbers_that_its_bracket_leaves():
    """Blocks of 1 MiB in all from each rank, over 4 links of 25 Gbit/s each; a bound by hops at 1,024 ranks."""
    flow, lengths = bracketed("line-graph(line-graph(line-graph(circulant:16x3x4)))")
    times = [f"{2**20 * 8 / 25e9 * 1e6 / (1024 * float(f)):.0f}" for f in (lengths, flow)]
    hops = 4 * 1 + 16 * 2 + 64 * 3 + 256 * 4 + (1023 - 340) * 5
    over = [int((Fraction(4, hops) / f - 1) * 100) for f in (flow, lengths)]
    text = causes()["hops-of-all-pairs"].text
    assert f"{float(flow):.3e}".replace("e-04", "e-4") in text
    assert f"{float(lengths):.3e}".replace("e-04", "e-4") in text
    assert f"{' to '.join(times)} us" in text
    assert set(over) == {9}
    assert "9% above the bound" in text


def test_the_note_on_kautz_graphs_near_1000_ranks_has_the_numbers_that_lengths_leave():
    """The lengths are of the links x -> -4 x - a of 960 ranks; a bound by hops at as many."""
    [row] = [row for row in stored("throughputs.csv") if row["graph"] == "kautz:4x960"]
    links = sorted({(x, (-4 * x - a) % 960) for x in range(960) for a in (1, 2, 3, 4)})
    alike = {}  # a shift by 192 keeps the links, and so does counting backwards
    for x, y in links:
        images = [((x + k * 192) % 960, (y + k * 192) % 960) for k in range(5)]
        images += [(959 - a, 959 - b) for a, b in images]
        assert set(images) <= set(links)
        alike[x, y] = min(images)
    number = {first: k for k, first in enumerate(sorted(set(alike.values())))}
    assert len(number) == len(row["lengths"].split())
    length = np.array([int(row["lengths"].split()[number[alike[link]]]) for link in links])
    src, dst = np.array(links).T
    apart = shortest_path(csr_array((length, (src, dst)), shape=(960, 960)).astype(float))
    f = length.sum() / apart.sum()
    assert float(bracketed("kautz:4x960")[1]) == pytest.approx(f, rel=1e-12)
    bound = 4 / (4 * 1 + 16 * 2 + 64 * 3 + 256 * 4 + (959 - 340) * 5)
    note = sentence("D-3-108").note
    assert f"at least {int(1000 * (bound / f - 1)) / 10}% above the bound" in note
    assert f"at least {int(1000 * (1 - f / bound)) / 10}% below it" in note


def test_notes_on_measurements_have_what_the_fitted_model_gives():
    """13.33 us a step and 21.60, and 101.8 us a MB; each time may be off by 6.21%. Circulant, two-way, one-way ring."""

    def saved(steps, than, load=0.0, error=0.0):
        short, long = (13.33 * count + 21.60 + 101.8 * load for count in (steps, than))
        return round(100 * (1 - short * (1 + error) / (long * (1 - error))))

    of_1_mb = 2 * 11 / 12
    numbers = {"D-3-091": saved(4, 22), "D-3-094": saved(12, 22), "D-3-098": saved(4, 22, of_1_mb)}
    numbers |= {"D-3-099": saved(12, 22, of_1_mb), "D-A-003": saved(4, 6)}
    for name, number in numbers.items():
        assert f"it is {number}%" in sentence(name).note
    for name, compared in (("D-3-099", (12, 22, of_1_mb)), ("D-A-003", (4, 6))):
        least, most = (saved(*compared, error=error) for error in (0.0621, -0.0621))
        assert f"leaves {least} to {most}%" in sentence(name).note


def test_the_note_on_ranks_in_strides_has_what_is_left():
    """Boxes and places change their parts: the first and last phase cross the network, and the middle one does not."""
    good = 14 * 3e-3 + 2 * 7 / 8 / 0.45 + 2 * 7 / 8 / 8 / 0.05
    left = good / (14 * 3e-3 + 2 * 7 / 8 / 0.05 + 2 * 7 / 8 / 8 / 0.45)
    assert f"{left:.0%} are left" in sentence("M-45").note


# -- by hand ----------------------------------------------------------------------------------------------


def held(name):
    """The cases of a claim that holds."""
    assert claims.entry(name).verdict in HOLDS
    return cases_of(name)[0]


def test_trees_gain_over_a_ring_for_each_card_from_two_boxes_on():
    """The ring brings (N-1)/N of M in over eight cards of 50 GB/s, trees what a GPU or a box lacks."""
    gains = []
    for case in held("D-4-062"):
        n = case["n"]
        into_gpu, into_box = Fraction(8 * n - 1, 8 * n) / (450 + 50), Fraction(n - 1, n) / (8 * 50)
        gains.append(Fraction(8 * n - 1, 8 * n) / (8 * 50) / max(into_gpu, into_box) - 1)
        assert case["gain"] == (gains[-1] if n > 1 else 0)
    assert f"gain {gains[1]}, {gains[2]}, {gains[3]} and {gains[4]}" in claims.entry("D-4-062").finding.because


def test_the_margins_that_narrow_are_those_of_a_winner_over_the_second_of_three():
    """At the anchor, in latencies and microseconds: a switch, a star and a torus; of an all-to-all the last two."""
    latency, load = 0.5, 16e6 / 900e3
    share = 511 / 512 * load
    lines = {
        "all-reduce": [(1, load, 0.52), (18, 2 * share, 0.8), (42, 2 * share, 0.6)],
        "all-gather": [(1, share, 0.8), (9, share, 0.8), (21, share, 0.6)],
        "all-to-all": [(511, share, 0.8), (12, load, 0.6)],
    }
    cases = {case["at"].split()[0]: case for case in held("E-03-075") if case["runner_up"]}
    for what, of_fabrics in lines.items():
        ideal = sorted(count * latency + bytes for count, bytes, _ in of_fabrics)
        lossy = sorted(count * latency * (1.2 if eta == 0.6 else 1) + bytes / eta for count, bytes, eta in of_fabrics)
        assert cases[what]["margin_before"] == pytest.approx(ideal[1] / ideal[0])
        assert cases[what]["margin_after"] == pytest.approx(lossy[1] / lossy[0])


def test_a_leaf_sends_up_what_its_hosts_do_not_share():
    """Eight hosts load a port each with M; of eight groups eight M go up over what is left of the uplinks, of one M."""
    for case in held("A-01"):
        uplinks = Fraction(8, case["s"])
        assert (case["n_beta"].value, case["of_all"].value) == (max(1, 8 / uplinks), max(1, 1 / uplinks))


def test_a_ring_leaves_a_node_with_every_hop_or_twice():
    """Each hop carries 2 (N-1)/N of M; a hierarchical ring of L nodes sends 2 (L-1)/L of M out of each."""
    for name, nodes, ranks in (("A-17", 8, 8), ("A-18", 2, 2)):
        case = next(case for case in held(name) if case["L"] == nodes)
        hop = Fraction(2 * (nodes * ranks - 1), nodes * ranks)
        nested = nodes * Fraction(2 * (nodes - 1), nodes)
        assert (case["ring_total"], case["together"]) == (nodes * ranks * hop, nodes * hop)
        assert (case["drop"], case["drop_together"]) == (nodes * ranks * hop / nested, nodes * hop / nested)


def test_large_messages_are_within_15_percent_of_bytes_and_a_latency():
    """3.08 us and 50 GB/s; the printed milliseconds of 64 MB, 1 GB and 10 GB."""
    (case,) = held("M-28")
    for name, printed, message in (("off_MB64", 1.6, 64e6), ("off_GB1", 23, 1e9), ("off_GB10", 215, 1e10)):
        assert case[name] == pytest.approx(100 * (printed / (3.08e-3 + message / 50e6) - 1))


def test_a_port_that_takes_in_and_gives_out_at_once_is_half_as_slow_as_one_that_does_not():
    """N - 1 vectors of M into the root and N - 1 out of it, beside a ring's 2 (N-1)/N."""
    (case,) = held("M-29")
    ring = Fraction(2 * 1023, 1024)
    assert (case["times_in_many"], case["times"]) == (1023 / ring, 2 * 1023 / ring)


def test_the_nodes_of_a_machine_are_no_product_of_six_sides():
    assert claims.entry("D-3-132").verdict is claims.Verdict.NOT_CHECKABLE
    note = claims.entry("D-3-132").finding.because
    assert "396 is 2 x 2 x 3 x 3 x 11 " in note
    assert (2 * 2 * 3 * 3 * 11, len((2, 2, 3, 3, 11))) == (396, 5)
