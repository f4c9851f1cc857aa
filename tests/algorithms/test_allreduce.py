"""All-reduce: every closed form against the executed ledger, over a range of N."""

from fractions import Fraction

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from colllib.algorithms import allreduce, of, trees
from colllib.bounds import lower_bound
from colllib.cost import Cost
from colllib.execution import execute
from colllib.primitives import PRIMITIVES
from colllib.schedule import pipelined
from colllib.topology import full_mesh, ring, star

SIZES = [*range(2, 34), 64, 72, 512]
SEGMENTS = [1, 2, 3, 8, 13]


def test_fusing_the_middle_of_the_halving_saves_a_step_and_no_byte():
    for ranks in (1, 2, 4, 6, 8, 12, 64):
        for order in ("near", "far"):
            run = execute(allreduce.rabenseifner(ranks, order=order, fused=True))
            assert run.cost == allreduce.rabenseifner_cost(ranks, fused=True)
            assert run.sent == execute(allreduce.rabenseifner(ranks, order=order)).sent
    assert reference.star_cost(allreduce.rabenseifner(8, fused=True)) == (5, Fraction(7, 4))


@pytest.mark.parametrize("algorithm", of("all-reduce"), ids=lambda a: a.name)
@pytest.mark.parametrize("ranks", SIZES)
def test_execution_proves_the_end_state_and_agrees_with_the_closed_form(algorithm, ranks):
    for segments in SEGMENTS if algorithm.segmented else [None]:
        options = {} if segments is None else {"segments": segments}
        schedule = algorithm.build(ranks, **options)
        run = execute(schedule)
        assert PRIMITIVES["all-reduce"].accepts(schedule.blocks)
        assert run.cost == algorithm.cost(ranks, **options)


@pytest.mark.parametrize("name", ["reduce_broadcast", "double_binary_tree", "rabenseifner"])
def test_without_a_word_a_schedule_and_its_closed_form_mean_the_same(name):
    build, cost = getattr(allreduce, name), getattr(allreduce, f"{name}_cost")
    for ranks in (5, 8):
        assert execute(build(ranks)).cost == cost(ranks)


def test_in_a_ring_every_rank_sends_its_own_chunk_first_unless_another_is_named():
    for first, schedule in ((0, allreduce.ring(5)), (0, allreduce.ring(5, first=0)), (2, allreduce.ring(5, first=2))):
        step = schedule.step(0)
        assert ((step.src + first) % 5).tolist() == step.block.tolist()
        assert sorted(step.src.tolist()) == [*range(5)]


@pytest.mark.parametrize("root", [0, 1, 4])
def test_a_reduce_and_broadcast_meet_at_the_root_which_is_rank_0_unless_another_is_named(root):
    schedule = allreduce.reduce_broadcast(5, **({"root": root} if root else {}))
    *_, into = (step for step in schedule.steps if step.add.any())
    out = next(step for step in schedule.steps if not step.add.all())
    assert set(into.dst[into.add].tolist()) == set(out.src[~out.add].tolist()) == {root}


@pytest.mark.parametrize("ranks", SIZES)
def test_both_orders_of_rabenseifner_cost_the_same(ranks):
    near, far = (execute(allreduce.rabenseifner(ranks, order=order)) for order in ("near", "far"))
    assert near.cost == far.cost == allreduce.rabenseifner_cost(ranks)


@pytest.mark.parametrize("ranks", SIZES[:-1])
def test_the_two_bidirectional_rings_are_different_things(ranks):
    """Half the vector each way saves bytes on a physical ring and no step; the shorter way saves both."""
    halves, shorter = allreduce.bidirectional_ring(ranks), allreduce.shortest_way_ring(ranks)
    assert execute(halves).cost == allreduce.ring_cost(ranks)
    assert execute(shorter).cost == allreduce.shortest_way_ring_cost(ranks)
    one_way = execute(allreduce.ring(ranks), ring(ranks)).cost
    # two ranks have one link each way: there is no other way round
    bytes_each = one_way.n_beta / 2 if ranks > 2 else one_way.n_beta
    assert execute(halves, ring(ranks)).cost == Cost(2 * (ranks - 1), bytes_each)
    assert execute(shorter, ring(ranks)).cost == Cost(2 * (ranks // 2), bytes_each)


@pytest.mark.parametrize("algorithm", of("all-reduce"), ids=lambda a: a.name)
@pytest.mark.parametrize("ranks", [2, 3, 4, 7, 8, 12])
def test_real_numbers_come_out_as_numpy_sums_them(algorithm, ranks):
    schedule = algorithm.build(ranks)
    blocks = len(schedule.blocks)
    vectors = np.random.default_rng(ranks).integers(0, 1000, (ranks, blocks))
    final = reference.values(schedule, vectors.tolist())
    assert all(final[r, b] == vectors[:, b].sum() for r in range(ranks) for b in range(blocks))


@pytest.mark.parametrize("algorithm", of("all-reduce"), ids=lambda a: a.name)
@pytest.mark.parametrize("ranks", [2, 3, 5, 8, 33, 64])
def test_nothing_beats_the_lower_bound(algorithm, ranks):
    cost, bound = execute(algorithm.build(ranks)).cost, lower_bound("all-reduce", ranks)
    assert cost.n_alpha >= bound.n_alpha
    assert cost.n_beta >= bound.n_beta


@pytest.mark.parametrize("ranks", range(2, 20))
def test_beyond_three_ranks_no_all_reduce_meets_both_bounds(ranks):
    """On three the shortest way ring does: each rank sends to both others at once."""
    both = {a.name for a in of("all-reduce") if execute(a.build(ranks)).cost == lower_bound("all-reduce", ranks)}
    assert both == {2: {"recursive-doubling"}, 3: {"shortest-way-ring"}}.get(ranks, set())


@pytest.mark.parametrize("ranks", SIZES)
def test_ring_and_rabenseifner_on_a_power_of_two_attain_the_bandwidth_bound(ranks):
    assert execute(allreduce.ring(ranks)).cost.n_beta == lower_bound("all-reduce", ranks).n_beta
    if ranks & (ranks - 1) == 0:
        assert execute(allreduce.rabenseifner(ranks)).cost.n_beta == lower_bound("all-reduce", ranks).n_beta


def test_a_rank_of_a_ring_has_two_neighbors_and_of_a_double_tree_at_most_four():
    for ranks in (8, 12, 64, 100):
        for build, most in ((allreduce.ring, 2), (allreduce.double_binary_tree, 4)):
            schedule, met = build(ranks), {rank: set() for rank in range(ranks)}
            for t in range(schedule.num_steps):
                for src, dst in zip(schedule.step(t).src.tolist(), schedule.step(t).dst.tolist(), strict=True):
                    met[src].add(dst)
                    met[dst].add(src)
            assert max(map(len, met.values())) == most


@given(st.integers(1, 400))
def test_no_rank_is_interior_in_both_complementary_trees(ranks):
    for tree in (pair := trees.complementary(ranks)):
        assert int(trees.depths(tree).max()) <= ranks.bit_length()
        assert np.bincount(tree[tree != trees.ROOT], minlength=1).max() <= 2
    interior = [set(tree[tree != trees.ROOT].tolist()) for tree in pair]
    assert ranks == 1 or not (interior[0] & interior[1])


@given(st.integers(3, 120), st.integers(2, 12))
def test_a_pipelined_double_tree_sends_and_receives_once_per_rank_and_step(ranks, segments):
    assert reference.busiest_ports(allreduce.double_binary_tree(ranks, segments=segments)) == (1, 1)


@pytest.mark.parametrize(
    ("ranks", "first", "second"),
    [
        (
            12,
            "0: 8, 8: 4 10, 4: 2 6, 2: 1 3, 6: 5 7, 10: 9 11",
            "11: 3, 3: 1 7, 1: 0 2, 7: 5 9, 5: 4 6, 9: 8 10",
        ),
        (
            13,
            "0: 8, 8: 4 12, 4: 2 6, 2: 1 3, 6: 5 7, 12: 10, 10: 9 11",
            "1: 9, 9: 5 0, 5: 3 7, 3: 2 4, 7: 6 8, 0: 11, 11: 10 12",
        ),
    ],
)
def test_nccls_trees_are_those_drawn_in_its_source(ranks, first, second):
    """The pictures above `ncclGetDtree` in src/graph/trees.cc."""
    for tree, drawn in zip(trees.nccl(ranks), (first, second), strict=True):
        below = {int(parent): children.split() for parent, children in (part.split(": ") for part in drawn.split(", "))}
        assert {int(child): parent for parent, children in below.items() for child in children} == {
            child: parent for child, parent in enumerate(tree.tolist()) if parent != trees.ROOT
        }


@given(st.integers(2, 400))
def test_nccls_trees_are_full_search_trees_cut_off_below_a_root_of_one_child(ranks):
    """Of 2^k - 1 places in order those that exist; the second is the first mirrored, or shifted by a rank."""
    parent, depth = {0: trees.ROOT}, ranks.bit_length()

    def hang(start, stop, above):
        middle = (start + stop) // 2
        if middle < ranks:
            parent[middle] = above
        for half in ((start, middle), (middle, stop)) if stop - start > 2 else ():
            hang(*half, middle if middle < ranks else above)

    hang(0, 2**depth, 0)
    first, second = (tree.tolist() for tree in trees.nccl(ranks))
    assert first == [parent[rank] for rank in range(ranks)]
    image = [(rank + 1) % ranks if ranks % 2 else ranks - 1 - rank for rank in range(ranks)]
    assert {image[rank]: image[above] for rank, above in enumerate(first) if rank} == {
        rank: above for rank, above in enumerate(second) if above != trees.ROOT
    }
    assert set(first) & set(second) - {trees.ROOT} == ({0} if ranks % 2 else set())


@pytest.mark.parametrize(("ranks", "steps"), [(3, 4), (5, 6), (9, 8), (8, 6), (512, 18)])
def test_an_odd_number_takes_nccls_trees_a_step_more_each_way_than_the_textbooks(ranks, steps):
    run = execute(allreduce.double_binary_tree(ranks, parents=trees.nccl(ranks)))
    assert run.cost.n_alpha == steps == allreduce.double_binary_tree_cost(ranks).n_alpha + 2 * (ranks % 2)
    assert max(run.sent) <= 2


def test_the_double_trees_bandwidth_term_depends_on_the_port_model():
    """The three values that one text gives, 1, 2 and log2 N, each belong to a port model and a P."""
    ranks, depth = 64, 6
    one_piece = allreduce.double_binary_tree(ranks)
    assert execute(one_piece, star(ranks)).cost.n_beta == 2 * depth - 1
    assert execute(one_piece, full_mesh(ranks)).cost.n_beta == depth

    fine = allreduce.double_binary_tree(ranks, segments=1000)
    one_port = execute(fine, star(ranks)).cost.n_beta
    two_ports = execute(fine, star(ranks, ports=2)).cost.n_beta
    assert 2 < one_port < Fraction(201, 100)
    assert two_ports == one_port / 2
    # with a link per pair of ranks every level can move at once, but the way up one tree shares links with
    # the way down the other: half of M and half of M
    run = execute(pipelined(one_piece, 1000), full_mesh(ranks))
    assert max(run.link_total) == 1
    assert 1 <= run.cost.n_beta < Fraction(101, 100)


def test_the_textbooks_own_pair_of_trees_is_taken_as_given():
    run = execute(allreduce.double_binary_tree(4, parents=([-1, 0, 0, 1], [3, 2, 3, -1])))
    assert run.cost == Cost(4, 3)
    assert execute(run.schedule, full_mesh(4)).cost == Cost(4, 2)


def test_trees_with_a_rank_interior_in_both_need_more_than_two_colors():
    with pytest.raises(ValueError, match="rank 0 has 4 children"):
        allreduce.double_binary_tree(3, parents=([-1, 0, 0], [-1, 0, 0]), segments=2)


@pytest.mark.parametrize(
    ("build", "complaint"),
    [
        (lambda: allreduce.ring(0), "N = 0"),
        (lambda: allreduce.rabenseifner(4, order="nearest"), "order 'nearest'"),
        (lambda: allreduce.double_binary_tree(4, segments=0), "segments 0: must be at least 1"),
        (lambda: allreduce.double_binary_tree(3, parents=([-1, -1, 0], [-1, 0, 0])), "one root"),
        (lambda: allreduce.double_binary_tree(3, parents=([-1, 2, 1], [-1, 0, 0])), "never reaches the root"),
        (lambda: allreduce.binomial_tree(4, root=4), "root 4"),
    ],
)
def test_bad_input_is_refused_in_one_line(build, complaint):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refusal:
        build()
    assert complaint in str(refusal.value)


@given(st.integers(1, 20), st.integers(0, 19))
def test_the_tree_may_have_any_root(ranks, root):
    schedule = allreduce.binomial_tree(ranks, root=root % ranks)
    assert execute(schedule).cost == allreduce.binomial_tree_cost(ranks)


@given(st.lists(st.fractions(min_value=0, max_value=1, max_denominator=9), min_size=1, max_size=8))
def test_a_ring_of_uneven_chunks_is_proved_and_pays_for_its_largest_one_in_every_step(parts):
    total = sum(parts)
    shares = [part / total for part in parts] if total else [Fraction(1, len(parts))] * len(parts)
    schedule = allreduce.ring(len(shares), shares=shares)
    assert execute(schedule).cost.n_beta == schedule.num_steps * max(shares)


def test_a_schedule_for_other_shares_than_its_blocks_is_refused():
    with pytest.raises(ValueError, match="3 owners for 2 blocks"):
        allreduce.ring(3, shares=2)


def test_reduce_and_broadcast_in_one_piece_is_what_its_closed_form_says_without_a_number_of_segments():
    assert allreduce.reduce_broadcast_cost(6) == execute(allreduce.reduce_broadcast(6)).cost
