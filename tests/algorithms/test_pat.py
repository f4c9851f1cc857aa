"""PAT in NCCL's order: rounds until the subtrees have roots, then all subtrees at once, depth first."""

import networkx as nx
import pytest
import reference

from colllib.algorithms import allgather, reducescatter
from colllib.execution import execute


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


def test_four_subtrees_of_32_ranks_are_walked_together():
    walked = journey(allgather.pat(32, cap=4))
    assert walked[:2] == [[16], [8, 24]]
    assert walked[2:] == [[root + node for root in (0, 8, 16, 24)] for node in preorder(8)[1:]]


@pytest.mark.parametrize("ranks", [*range(1, 34), 64, 72, 100])
def test_any_number_of_ranks_and_cap(ranks):
    for cap in (None, 1, 2, 3, 4, 16, 1000):
        for order in ("depth", "rounds"):
            schedule = allgather.pat(ranks, cap=cap, order=order)
            run = execute(schedule)
            assert run.cost.n_beta == allgather.ring_cost(ranks).n_beta
            assert run.cost == allgather.pat_cost(ranks, cap, order)
            sent = [len(step) // ranks for step in reference.messages(schedule)]
            assert all(count <= (cap or ranks) for count in sent)
    assert execute(reducescatter.pat(ranks, cap=2)).cost == allgather.pat_cost(ranks, 2)


def test_both_orders_take_equally_many_steps_for_powers_of_two():
    for ranks in (2, 8, 64):
        for cap in (1, 2, 8):
            steps = {allgather.pat(ranks, cap=cap, order=order).num_steps for order in ("depth", "rounds")}
            assert len(steps) == 1


def test_an_unknown_order_is_refused():
    with pytest.raises(ValueError, match="must be 'depth' or 'rounds'"):
        allgather.pat(8, order="breadth")
