"""Second counts behind the answers on broadcast and reduce: by hand, or with the second interpreter."""

from collections import Counter
from fractions import Fraction

import pytest
import reference

from colllib import claims
from colllib.algorithms import broadcast, reduce
from colllib.claims import Verdict

ENTRIES = {entry.claim.id: entry for entry in claims.for_chapter("04-broadcast-and-reduce")}


def verdicts(*ids):
    return {ENTRIES[name].verdict for name in ids}


def test_the_chapter_has_every_answer_on_broadcast_and_reduce_but_those_that_need_switches():
    inside_the_network = {"E-01-026", "E-01-031", "E-01-047", "E-01-051"}
    scope = {f"E-01-{k:03}" for k in range(7, 53)} | {f"E-00-{k:03}" for k in range(22, 26)}
    assert set(ENTRIES) == scope - inside_the_network


@pytest.mark.parametrize("module", [broadcast, reduce])
@pytest.mark.parametrize("ranks", [3, 4, 7, 16, 33])
def test_second_count_the_roots_port_carries_every_segment_once_per_child(module, ranks):
    """Counted at the root alone: that port is what no number of segments relieves."""
    children = sum(1 << k < ranks for k in range(10))
    for segments in (1, 3, 20):
        sent, received = reference.traffic(module.binomial_tree(ranks, segments=segments))
        assert (sent if module is broadcast else received)[0] == children
        steps, load = reference.star_cost(module.binomial_tree(ranks, segments=segments))
        assert (steps, load) == (children + segments - 1, children)
    assert verdicts("E-01-022", "E-01-046", "E-00-023", "E-00-025") == {Verdict.REFUTED}


@pytest.mark.parametrize("module", [broadcast, reduce])
def test_second_count_with_a_link_per_pair_the_tree_is_an_assembly_line(module):
    """Link by link: in no step does a link carry more than one segment, so a step moves M/P."""
    for ranks in (4, 7, 16):
        for segments in (1, 3, 20):
            steps = list(reference.messages(module.binomial_tree(ranks, segments=segments)))
            assert len(steps) == (ranks - 1).bit_length() + segments - 1
            assert all(max(Counter((src, dst) for src, dst, _, _ in step).values()) == 1 for step in steps)
    assert verdicts("E-01-029", "E-01-049", "E-01-040") == {Verdict.REPRODUCED}


def test_second_count_no_number_of_segments_gives_a_chain_both_columns():
    """n_alpha = N-1 allows one segment alone, and then every one of N-1 steps moves the whole vector."""
    for module in (broadcast, reduce):
        for ranks in (3, 8):
            pairs = [reference.star_cost(module.chain(ranks, segments=p)) for p in range(1, 40)]
            assert [pair for pair in pairs if pair[0] <= ranks - 1] == [(ranks - 1, ranks - 1)]
            assert all(load > 1 for _, load in pairs)
            latencies = [steps for steps, _ in pairs]
            assert latencies == sorted(latencies)  # pipelining raises them, and never to 1
            assert latencies[-1] > latencies[0] > 1
    assert verdicts("E-00-022", "E-00-024") == {Verdict.REFUTED}


def test_second_count_as_many_segments_as_ranks():
    for ranks in (4, 7, 12):
        assert reference.star_cost(broadcast.chain(ranks, segments=ranks))[1] == Fraction(2 * (ranks - 1), ranks)
    assert verdicts("E-01-032") == {Verdict.REFUTED}


def test_second_count_partners_at_once_in_a_pipelined_tree_of_512():
    steps = reference.messages(broadcast.binomial_tree(512, segments=12))
    busiest = max(max(Counter(src for src, _, _, _ in step).values()) for step in steps)
    assert busiest == 9
    assert verdicts("E-01-023") == {Verdict.REFUTED}


def test_second_count_reduce_has_the_crossover_that_broadcast_has():
    """In units of alpha: the tree moves L vectors, the chain at its best P (sqrt(N-2) + sqrt(m))^2."""
    ranks, depth = 64, 6
    for module in (broadcast, reduce):
        for load in (0.1, 1000.0):
            tree = reference.star_cost(module.binomial_tree(ranks))
            chain = min(
                float(steps) + float(share) * load
                for steps, share in (reference.star_cost(module.chain(ranks, segments=p)) for p in (1, 8, 60, 250))
            )
            assert tree == (depth, depth)
            assert (tree[0] + float(tree[1]) * load < chain) == (load < 1)
    assert verdicts("E-01-052") == {Verdict.REFUTED}
