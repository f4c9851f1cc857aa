"""Libraries' choices: the tables as their sources state them, at both sides of each limit."""

from __future__ import annotations

import numpy as np
import pytest

from colllib import execute
from colllib.algorithms import allreduce, broadcast, reducescatter
from colllib.cost import Cost
from colllib.library_choices import LIBRARIES, TABLES, choice, own_costs
from colllib.primitives import all_gather, reduce
from colllib.schedule import Schedule, Step, in_sequence, placed, reversed_in_time

PRIMITIVES = ("all-reduce", "all-gather", "reduce-scatter", "broadcast", "reduce", "all-to-all")


def named(library, primitive, ranks, message, **more):
    return choice(library, primitive, ranks, message, **more).named


@pytest.mark.parametrize("ranks", [512, 777, 1024, 2047])
def test_open_mpi_has_no_ring_for_a_commutative_all_reduce_at_512_to_2047_ranks(ranks):
    taken = {named("Open MPI", "all-reduce", ranks, 2**k) for k in range(40)}
    assert taken == {"nonoverlapping", "recursive_doubling", "rabenseifner"}


@pytest.mark.parametrize(
    ("ranks", "message", "expected"),
    [
        (8, 8191, "recursive_doubling"),
        (8, 8192, "rabenseifner"),
        (3, 65536, "segmented_ring"),
        (64, 262143, "recursive_doubling"),
        (64, 262144, "rabenseifner"),
        (512, 2047, "nonoverlapping"),
        (512, 2048, "recursive_doubling"),
        (512, 16384, "rabenseifner"),
        (4096, 2048, "recursive_doubling"),  # the table says segmented ring; 512 elements are too few for it
        (4096, 32768, "rabenseifner"),
    ],
)
def test_open_mpi_all_reduce(ranks, message, expected):
    assert named("Open MPI", "all-reduce", ranks, message) == expected


def test_open_mpi_compares_the_share_of_one_rank_for_all_gather_and_all_to_all():
    assert named("Open MPI", "all-gather", 64, 64 * 511) == "recursive_doubling"
    assert named("Open MPI", "all-gather", 64, 64 * 512) == "neighbor"
    assert named("Open MPI", "all-gather", 64, 64 * 65536) == "ring"
    assert named("Open MPI", "all-to-all", 512, 512 * 511) == "modified_bruck"
    assert named("Open MPI", "all-to-all", 512, 512 * 512) == "linear_sync"
    assert named("Open MPI", "all-to-all", 512, 512 * 262144) == "pairwise"
    assert choice("Open MPI", "broadcast", 16, 1e6) is None  # not read: its trees are not in this book


@pytest.mark.parametrize(
    ("ranks", "share", "expected"),
    [
        (3, 131071, "butterfly"),
        (3, 131072, "basic_linear"),
        (7, 1048575, "recursive_halving"),
        (15, 524288, "basic_linear"),
        (15, 4194304, "butterfly"),
        (16, 16384, "recursive_halving"),  # 256 KiB in all, from which MPI_Reduce_scatter takes a ring
        (16, 2097152, "recursive_halving"),
        (16, 4194304, "butterfly"),
        (512, 65535, "butterfly"),
        (512, 65536, "basic_linear"),
        (512, 262144, "butterfly"),
    ],
)
def test_open_mpi_scatters_equal_shares_by_the_table_of_reduce_scatter_block(ranks, share, expected):
    assert named("Open MPI", "reduce-scatter", ranks, ranks * share) == expected


def test_open_mpi_has_no_ring_for_equal_shares():
    taken = {named("Open MPI", "reduce-scatter", ranks, 2**k) for ranks in range(2, 130) for k in range(40)}
    assert taken == {"basic_linear", "recursive_doubling", "recursive_halving", "butterfly"}


def test_a_reduce_then_a_broadcast_by_other_tables_of_open_mpi_has_no_price():
    """Its broadcast is linear at 128 ranks and 16 KiB, and k-nomial or a binary tree elsewhere."""
    assert choice("Open MPI", "all-reduce", 128, 16384).algorithm is None


@pytest.mark.parametrize("ranks", [3, 6, 7, 12, 40])
def test_open_mpi_folds_in_two_steps_which_costs_one_latency(ranks):
    """Neighbors exchange halves and add them; the odd one then sends its sum to the even one."""
    in_one = allreduce.rabenseifner(ranks)
    first, *rest = in_one.steps
    later = first.block >= len(in_one.blocks) // 2
    src, dst = (np.where(later, a, b) for a, b in ((first.dst, first.src), (first.src, first.dst)))
    halves = Step.of(src, dst, first.block, add=True)
    sums = Step.of(first.src[later], first.dst[later], first.block[later])
    in_two = Schedule.from_steps(in_one.blocks, [halves, sums, *rest])
    assert execute(in_two).cost == execute(in_one).cost + Cost(1, 0)
    assert own_costs("Open MPI", "all-reduce", ranks) == {"rabenseifner": execute(in_two).cost}


@pytest.mark.parametrize("ranks", [3, 6, 7, 12, 40])
def test_mpich_folds_a_reduce_in_one_step_then_halves_and_gathers(ranks):
    """`MPIR_Reduce_intra_reduce_scatter_gather`, to rank 0: an odd rank's vector goes to the even one below."""
    power = 1 << (ranks.bit_length() - 1)
    even = 2 * np.arange(ranks - power)
    halved = in_sequence(reducescatter.recursive_halving(power), reversed_in_time(broadcast.scatter(power)))
    middle = placed(halved, [*even, *range(2 * len(even), ranks)], ranks)
    fold = Step.of(np.repeat(even + 1, power), np.repeat(even, power), np.tile(np.arange(power), len(even)), add=True)
    run = execute(Schedule.from_steps(reduce(ranks, power), [fold, *middle.steps]))
    assert own_costs("MPICH", "reduce", ranks) == {"scatter-bruck": run.cost}


@pytest.mark.parametrize("ranks", [4, 64])
def test_a_reduce_of_mpich_costs_what_bruck_and_gather_does_at_powers_of_two(ranks):
    halved = in_sequence(reducescatter.recursive_halving(ranks), reversed_in_time(broadcast.scatter(ranks)))
    assert execute(halved).cost == broadcast.scatter_bruck_cost(ranks)


@pytest.mark.parametrize("ranks", [2, 4, 6, 10, 16, 32])
def test_open_mpi_exchanges_with_either_neighbor_in_turn(ranks):
    """`ompi_coll_base_allgather_intra_neighborexchange`: one block first, then the two that came last but for that."""
    even = np.arange(0, ranks, 2)
    steps = [Step.of([*even, *(even + 1)], [*(even + 1), *even], [*even, *(even + 1)])]
    pair = {int(rank): int(rank) // 2 * 2 for rank in range(ranks)}  # the first block of the two that it sends next
    for i in range(1, ranks // 2):
        way = {rank: (-1 if i % 2 else 1) * (1 if rank % 2 == 0 else -1) for rank in range(ranks)}
        src = [rank for rank in range(ranks) for _ in range(2)]
        dst = [(rank + way[rank]) % ranks for rank in src]
        steps.append(Step.of(src, dst, [(pair[rank] + k) % ranks for rank in range(ranks) for k in range(2)]))
        pair = {(rank + way[rank]) % ranks: first for rank, first in pair.items()}
    run = execute(Schedule.from_steps(all_gather(ranks), steps))
    assert run.partners() == (1, 1)
    assert own_costs("Open MPI", "all-gather", ranks) == {"neighbor": run.cost}


def test_an_odd_number_has_no_neighbor_exchange():
    assert own_costs("Open MPI", "all-gather", 7) == {}


@pytest.mark.parametrize("ranks", [2, 4, 64])
def test_nothing_is_folded_at_a_power_of_two(ranks):
    assert own_costs("Open MPI", "all-reduce", ranks) == own_costs("MPICH", "reduce", ranks) == {}


def test_mpich_folds_an_all_reduce_in_one_step_as_the_book_does():
    assert own_costs("MPICH", "all-reduce", 6) == {}


@pytest.mark.parametrize(
    ("library", "primitive", "ranks", "message", "algorithm"),
    [
        ("MPICH", "broadcast", 8, 12289, "scatter-bruck"),
        ("MPICH", "reduce", 8, 2049, "scatter-bruck"),
        ("MPICH", "all-to-all", 8, 8 * 256, "pairwise"),  # posted some at a time: what pairwise sends
        ("Open MPI", "all-to-all", 512, 512 * 512, "pairwise"),  # linear_sync
    ],
)
def test_what_sends_as_a_schedule_of_the_book_does_is_priced_as_that(library, primitive, ranks, message, algorithm):
    assert choice(library, primitive, ranks, message).algorithm == algorithm


@pytest.mark.parametrize(
    ("primitive", "ranks", "message", "expected"),
    [
        ("all-reduce", 8, 8, "recursive_doubling"),
        ("all-reduce", 8, 28, "recursive_doubling"),  # 7 elements for 8 ranks
        ("all-reduce", 8, 32, "reduce_scatter_allgather"),
        ("all-reduce", 7, 16, "reduce_scatter_allgather"),  # 4 elements, and 4 is the power of two below 7
        ("all-gather", 8, 524287, "recursive_doubling"),
        ("all-gather", 8, 524288, "ring"),
        ("all-gather", 6, 81919, "brucks"),
        ("all-gather", 6, 81920, "ring"),
        ("reduce-scatter", 6, 524287, "recursive_halving"),
        ("reduce-scatter", 6, 524288, "pairwise"),
        ("broadcast", 7, 1e9, "binomial"),
        ("broadcast", 8, 12288, "binomial"),
        ("broadcast", 8, 12289, "scatter_recursive_doubling_allgather"),
        ("broadcast", 8, 524289, "scatter_ring_allgather"),
        ("broadcast", 12, 12289, "scatter_ring_allgather"),
        ("reduce", 8, 2048, "binomial"),
        ("reduce", 8, 2049, "reduce_scatter_gather"),
        ("reduce", 1024, 2052, "binomial"),  # 513 elements for 1,024 ranks
        ("all-to-all", 9, 9 * 256, "brucks"),
        ("all-to-all", 9, 9 * 257, "scattered"),
        ("all-to-all", 8, 8 * 256, "scattered"),  # the file says comm_size<8, and csel.c compares with <=
        ("all-to-all", 7, 7 * 256, "scattered"),
        ("all-to-all", 7, 7 * 32768, "scattered"),
        ("all-to-all", 7, 7 * 32769, "pairwise"),
        ("all-to-all", 8, 8 * 32768, "scattered"),
        ("all-to-all", 8, 8 * 32769, "pairwise"),
    ],
)
def test_mpich(primitive, ranks, message, expected):
    assert named("MPICH", primitive, ranks, message) == expected


@pytest.mark.parametrize(
    ("primitive", "ranks", "message", "expected"),
    [
        ("all-gather", 8, 100, ("recursive_doubling", "recursive-doubling")),
        ("all-gather", 6, 100, ("bruck", "bruck")),
        ("all-gather", 1000, 2**30, ("neighbor", None)),
        ("all-gather", 999, 2**30, ("ring", "ring")),
        ("all-reduce", 16384, 65536, ("rabenseifner", "rabenseifner")),
        (
            "all-reduce",
            16384,
            65532,
            ("basic_linear", None),
        ),  # 16,383 elements, and every one of 16,384 ranks needs one
    ],
)
def test_an_algorithm_of_open_mpi_hands_over_what_it_cannot_do(primitive, ranks, message, expected):
    chosen = choice("Open MPI", primitive, ranks, message)
    assert (chosen.named, chosen.algorithm) == expected


def test_the_book_has_no_schedule_where_a_library_folds_a_reduce_scatter():
    assert choice("MPICH", "reduce-scatter", 6, 100).algorithm is None
    assert choice("Open MPI", "reduce-scatter", 72, 1e6).algorithm is None


def test_a_butterfly_of_open_mpi_is_priced_as_recursive_halving_at_powers_of_two():
    chosen = choice("Open MPI", "reduce-scatter", 64, 1e6)
    assert (chosen.named, chosen.algorithm) == ("butterfly", "recursive-halving")


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_every_library_answers_at_every_size_without_a_gap(library, primitive):
    tables = TABLES | {"NCCL": dict.fromkeys(PRIMITIVES)}
    for ranks in (3, 6, 8, 64, 100, 512, 5000):
        for message in (1, 100, 1e5, 1e12):
            assert (choice(library, primitive, ranks, message) is None) == (primitive not in tables[library])


def test_unknown_libraries_and_single_ranks_are_refused():
    with pytest.raises(ValueError, match="known are MPICH"):
        choice("LAM", "all-reduce", 8, 1e3)
    with pytest.raises(ValueError, match="at least 2 ranks"):
        choice("MPICH", "all-reduce", 1, 1e3)
