"""How long runs by symmetry take, at sizes that no full run reaches. Run with `make bench`; no time is asserted."""

import resource
from time import process_time

import pytest

from colllib.algorithms import allreduce, lattice, relay
from colllib.algorithms.nested import nested
from colllib.schedule import reversed_in_time
from colllib.symmetry import by_symmetry
from colllib.topology import Lattice, boxes, mesh, ring, star, torus


def _measured(benchmark, target, run):
    before = process_time()
    execution = benchmark.pedantic(run, rounds=1)
    used = {"CPU_s": process_time() - before, "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3}
    benchmark.extra_info.update(target=target, **used)
    print(
        f"\n{execution!r}: {used['CPU_s']:.2f} CPU seconds, {used['MB']:.0f} MB at most so far; the target is {target}"
    )
    return execution


def test_ring_all_reduce_of_a_million_ranks(benchmark):
    """2,097,150 steps on a physical ring, built, proved and counted."""
    ranks = 2**20
    run = _measured(benchmark, "10 s, 1 GB", lambda: by_symmetry(allreduce.ring(ranks), ring(ranks)))
    assert run.cost == allreduce.ring_cost(ranks)


def test_dim_ring_on_64x64x64(benchmark):
    """262,144 ranks and as many chunks, 378 steps."""
    axes = Lattice((64, 64, 64))
    run = _measured(benchmark, "2 s, 1 GB", lambda: by_symmetry(lattice.dim_ring(axes), torus(axes.dims)))
    assert run.cost == lattice.dim_ring_cost(axes)


@pytest.mark.parametrize("dims", [(16, 16, 16), (32, 32, 32)], ids=str)
def test_rotated_relay_on_a_torus(benchmark, dims):
    """Every block in three slices, those with ties in halves; a block a link at a time."""
    axes = Lattice(dims)
    run = _measured(benchmark, "2 s, 1 GB", lambda: by_symmetry(relay.rotated_relay(axes), torus(dims)))
    assert run.cost.n_beta == relay.relay_load(axes)


@pytest.mark.parametrize("dims", [(8, 8, 8), (32, 16)], ids=str)
def test_rotated_relay_on_a_mesh(benchmark, dims):
    """Moved by mirrors: the blocks of one rank in eight, or in four."""
    axes = Lattice(dims, wraps=False)
    run = _measured(benchmark, "2 s, 1 GB", lambda: by_symmetry(relay.rotated_relay(axes), mesh(dims)))
    assert run.cost.n_alpha == sum(size - 1 for size in dims)


@pytest.mark.parametrize("build", [allreduce.recursive_doubling, allreduce.rabenseifner])
def test_doubling_over_a_million_ranks(benchmark, build):
    run = _measured(benchmark, "5 s, 1 GB", lambda: by_symmetry(build(2**20), star(2**20)))
    assert run.cost.n_alpha == {allreduce.recursive_doubling: 20, allreduce.rabenseifner: 40}[build]


def test_hierarchical_all_reduce_of_32_768_boxes_of_8(benchmark):
    """Reduce-scatter in every box, recursive doubling between them, all-gather in every box."""
    inside = reversed_in_time(lattice.dim_ring_all_gather(Lattice((8,))))
    phases = [(0, inside), (1, allreduce.recursive_doubling(32_768)), (0, reversed_in_time(inside))]
    topology = boxes((32_768, 8))
    run = _measured(benchmark, "5 s, 1 GB", lambda: by_symmetry(nested(Lattice((8, 32_768)), phases), topology))
    assert [kind.steps for kind in run.kinds()] == [15, 14]
