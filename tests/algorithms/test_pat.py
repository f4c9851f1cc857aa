"""PAT in NCCL's orders: rounds until the subtrees have roots, then all subtrees at once, depth first."""

import networkx as nx
import numpy as np
import pytest
import reference
from hypothesis import assume, given
from hypothesis import strategies as st

from colllib.algorithms import allgather, reducescatter
from colllib.execution import execute
from colllib.metrics import staging
from colllib.schedule import Schedule


def preorder(size):
    """Nodes of a binomial tree in depth-first order, the farthest child first; a node's parent lacks its lowest bit."""
    tree = nx.DiGraph()
    tree.add_node(0)
    tree.add_edges_from((node & (node - 1), node) for node in range(1, size))
    return list(nx.dfs_preorder_nodes(tree, 0, sort_neighbors=lambda nodes: sorted(nodes, reverse=True)))


def journey(schedule):
    """For block 0, the ranks that it reaches, step by step."""
    return [sorted(dst for _, dst, block, _ in step if block == 0) for step in reference.messages(schedule)]


@pytest.mark.parametrize("ranks", [2, 4, 8, 16, 32])
def test_one_block_a_message_walks_each_tree_in_preorder(ranks):
    walked = journey(allgather.pat(ranks, cap=1))
    assert walked == [[node] for node in preorder(ranks)[1:]]


@pytest.mark.parametrize("ranks", [2, 7, 16, 33])
def test_a_reduce_scatter_of_one_block_a_message_sends_the_farthest_block_first(ranks):
    """As NCCL's PatRSAlgorithm, which counts down."""
    steps = reference.messages(reducescatter.pat(ranks, cap=1))
    assert [src for step in steps for src, _, block, _ in step if block == 0] == [*range(ranks - 1, 0, -1)]


@pytest.mark.parametrize("build", [allgather.pat, reducescatter.pat])
@pytest.mark.parametrize("ranks", [16, 64, 128])
def test_subtrees_that_are_walked_in_messages_of_an_eighth_park_as_much(ranks, build):
    """NCCL, with a stepDepth of 8, walks 8A subtrees in messages of A."""
    for cap in (1, 2, 4):
        whole = build(ranks, cap=8 * cap)
        steps = []
        for step in map(whole.step, range(whole.num_steps)):
            from_home = (step.src - step.block) % ranks
            part = np.unique(from_home, return_inverse=True)[1] // cap
            steps += [step.taken(part == k) for k in range(part.max() + 1)]
        cut = Schedule.from_steps(whole.blocks, steps)
        assert execute(cut).cost == allgather.pat_cost(ranks, cap)
        assert max(staging(cut)) == max(staging(whole))


def test_four_subtrees_of_32_ranks_are_walked_together():
    walked = journey(allgather.pat(32, cap=4))
    assert walked[:2] == [[16], [8, 24]]
    assert walked[2:] == [[root + node for root in (0, 8, 16, 24)] for node in preorder(8)[1:]]


@pytest.mark.parametrize("ranks", [*range(1, 34), 64, 72, 100])
def test_any_number_of_ranks_and_cap(ranks):
    for cap in (None, 1, 2, 3, 4, 16, 1000):
        for order in ("far", "near", "rounds"):
            schedule = allgather.pat(ranks, cap=cap, order=order)
            run = execute(schedule)
            assert run.cost.n_beta == allgather.ring_cost(ranks).n_beta
            assert run.cost == allgather.pat_cost(ranks, cap, order)
            sent = [len(step) // ranks for step in reference.messages(schedule)]
            assert all(count <= (cap or ranks) for count in sent)
    assert execute(reducescatter.pat(ranks, cap=2)).cost == allgather.pat_cost(ranks, 2)


def test_all_orders_take_equally_many_steps_for_powers_of_two():
    for ranks in (2, 8, 64):
        for cap in (1, 2, 8):
            steps = {allgather.pat(ranks, cap=cap, order=order).num_steps for order in ("far", "near", "rounds")}
            assert len(steps) == 1


def test_an_unknown_order_and_a_cap_below_one_have_neither_schedule_nor_cost():
    for ask in (allgather.pat, allgather.pat_cost):
        with pytest.raises(ValueError, match="must be 'far', 'near' or 'rounds'"):
            ask(8, order="breadth")
        with pytest.raises(ValueError, match="cap 0: must be at least 1"):
            ask(8, cap=0)


@given(ranks=st.integers(3, 70), exponent=st.integers(1, 5))
def test_other_numbers_take_the_steps_of_the_next_power_of_two_and_park_no_more(ranks, exponent):
    """By the formulas for powers of two: lg A + N/A - 1 steps, and A lg(N/A) - 1 shards that wait."""
    cap, power = 2**exponent, 2 ** (ranks - 1).bit_length()
    assume(cap <= power // 2)
    schedule = allgather.pat(ranks, cap=cap)
    assert execute(schedule).cost.n_alpha == exponent + power // cap - 1
    assert max(staging(schedule)) * ranks <= max(0, cap * (power // cap).bit_length() - cap - 1)
