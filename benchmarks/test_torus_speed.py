"""How long collectives on tori take to execute, prove and count. Run with `make bench`; nothing here asserts a time."""

import resource
from fractions import Fraction

import pytest

from colllib import execute
from colllib.algorithms import find, lattice
from colllib.show import torus_player
from colllib.topology import Lattice, torus


def _peak_memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def test_dim_ring_on_16x16x16_executed_proved_and_counted(benchmark):
    """An all-reduce of 4,096 ranks and as many chunks, 90 steps, every message on the link that it crosses."""
    benchmark.extra_info["target"] = "8 s, 3 GB"
    axes = Lattice((16, 16, 16))
    run = benchmark.pedantic(lambda: execute(lattice.dim_ring(axes), torus(axes.dims)), rounds=3, warmup_rounds=1)
    benchmark.extra_info["peak_memory_MB"] = _peak_memory_mb()
    assert run.cost == lattice.dim_ring_cost(axes)
    assert set(run.link_total) == {Fraction(15, 16**axis) for axis in (1, 2, 3)}


@pytest.mark.parametrize("name", ["rotated-dim-ring", "breadth-first"])
def test_all_links_of_8x8x8_at_once(benchmark, name):
    """Six copies of a dim-ring all-reduce in the same steps, and the breadth-first one."""
    algorithm, topology = find("all-reduce", name), torus((8, 8, 8))
    run = benchmark.pedantic(lambda: execute(algorithm.build(algorithm.argument(topology)), topology), rounds=3)
    benchmark.extra_info["peak_memory_MB"] = _peak_memory_mb()
    assert run.cost.n_beta == Fraction(2 * 511, 512 * 6)


def test_all_states_of_the_torus_player(benchmark):
    """Every schedule on every shape executed, every step drawn: what a build of the book pays."""
    benchmark.extra_info["target"] = "3 s"
    benchmark.pedantic(lambda: torus_player().payload, rounds=1)
