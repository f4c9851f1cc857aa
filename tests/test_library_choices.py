"""Libraries' choices: the tables as their sources state them, at both sides of each limit."""

from __future__ import annotations

import numpy as np
import pytest

from colllib import execute
from colllib.algorithms import allreduce
from colllib.cost import Cost
from colllib.library_choices import LIBRARIES, TABLES, choice, extra_latencies
from colllib.schedule import Schedule, Step

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
    assert execute(in_two).cost == execute(in_one).cost + Cost(extra_latencies("Open MPI", "rabenseifner", ranks), 0)


@pytest.mark.parametrize("ranks", [2, 4, 64])
def test_nothing_is_folded_at_a_power_of_two(ranks):
    assert extra_latencies("Open MPI", "rabenseifner", ranks) == 0


def test_mpich_folds_in_one_step_as_the_book_does():
    assert extra_latencies("MPICH", "rabenseifner", 6) == 0
    assert extra_latencies("Open MPI", "recursive-doubling", 6) == 0


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
