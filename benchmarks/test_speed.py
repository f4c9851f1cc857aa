"""How long the library takes. Run with `make bench`; nothing here asserts a time.

Each benchmark names the target that the project sets itself for one core. A machine is judged by
the ratio to the first benchmark, which is a fixed amount of numpy work.
"""

import resource
from fractions import Fraction

import numpy as np
import pytest

from colllib import contention, execute, star
from colllib.algorithms import allreduce, alltoall, relay
from colllib.events import event_clock
from colllib.topology import Lattice, torus


def test_yardstick_of_plain_numpy(benchmark):
    """A thousand weighted bincounts over 512 messages: what the ledger cannot do without."""
    places, weight = np.arange(512), np.ones(512)
    benchmark(lambda: [np.bincount(places, weight, 512) for _ in range(1000)])


@pytest.mark.parametrize(("ranks", "target"), [(512, "0.1 s, 150 MB"), (4096, "4 s, 1 GB")])
def test_ring_all_reduce_executed_proved_and_counted(benchmark, ranks, target):
    benchmark.extra_info["target"] = target
    rounds = 3 if ranks > 1000 else 20
    run = benchmark.pedantic(lambda: execute(allreduce.ring(ranks), star(ranks)), rounds=rounds, warmup_rounds=1)
    benchmark.extra_info["peak_memory_MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    assert run.cost == allreduce.ring_cost(ranks)


def test_rabenseifner_on_512_ranks(benchmark):
    run = benchmark(lambda: execute(allreduce.rabenseifner(512)))
    assert run.cost == allreduce.rabenseifner_cost(512)


def test_pairwise_all_to_all_of_512_ranks(benchmark):
    """261,632 messages of as many blocks."""
    benchmark.extra_info["target"] = "0.5 s, 1 GB"
    run = benchmark(lambda: execute(alltoall.pairwise(512)))
    benchmark.extra_info["peak_memory_MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    assert run.cost == alltoall.pairwise_cost(512)


def test_event_clock_of_a_pipelined_double_tree(benchmark):
    schedule = allreduce.double_binary_tree(512, segments=12)
    line = benchmark(lambda: event_clock(schedule, message=16e6, alpha=0.5e-6, bandwidth=900e9))
    assert line.seconds < execute(schedule).cost.seconds(message=16e6, alpha=0.5e-6, bandwidth=900e9)


def test_64_groups_of_8_at_once_on_a_torus(benchmark):
    """The ring all-reduce of every group, executed together: 7,168 messages, the loads of 3,072 links."""
    benchmark.extra_info["target"] = "1 s"
    groups = [(allreduce.ring(8), row) for row in contention.scattered(512, 8, seed=0)]
    jobs = benchmark(lambda: contention.together(groups, torus((8, 8, 8))))
    assert jobs.joint.schedule.num_messages == 512 * 14


def test_a_thousand_placements_of_64_groups(benchmark):
    benchmark.extra_info["target"] = "60 s"
    draws = benchmark.pedantic(
        lambda: contention.study(allreduce.ring(8), torus((8, 8, 8)), draws=1000), rounds=1, warmup_rounds=0
    )
    assert len(draws) == 1000


def test_link_loads_of_an_all_to_all_on_8x8x8(benchmark):
    """261,632 blocks, each followed over its route: 1,572,864 crossings."""
    benchmark.extra_info["target"] = "0.3 s"
    topology = torus((8, 8, 8), tie="balanced")
    loads = benchmark(lambda: relay.link_loads(topology))
    assert (sum(loads) * topology.ranks, max(loads)) == (1_572_864, 1)


def test_all_to_all_on_8x8x8_scheduled_proved_and_counted(benchmark):
    benchmark.extra_info["target"] = "2 s, 2 GB"
    lattice = Lattice((8, 8, 8))
    run = benchmark.pedantic(lambda: execute(relay.relay(lattice), torus((8, 8, 8))), rounds=3, warmup_rounds=1)
    benchmark.extra_info["peak_memory_MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    assert (run.cost.n_alpha, max(run.link_total)) == (12, 1)


SLICED = {(8, 8, 8): 1, (16, 8, 4): Fraction(389, 192), (32, 4, 4): 4, (32, 16): 4}


@pytest.mark.parametrize("dims", SLICED, ids=str)
def test_all_to_all_of_512_ranks_in_slices(benchmark, dims):
    """On 8x8x8 1,119,744 parts of blocks: every block in three slices, those with ties in halves."""
    lattice = Lattice(dims)
    schedule = relay.relay(lattice, tie="split", rotated=True)
    run = benchmark.pedantic(lambda: execute(schedule, torus(dims)), rounds=1)
    assert run.cost.n_alpha == sum(size // 2 for size in dims)
    assert run.cost.n_beta == SLICED[dims]
    assert (run.cost.n_beta == relay.relay_load(lattice)) == (dims != (16, 8, 4))


def test_link_loads_of_an_all_to_all_on_16x16x16(benchmark):
    """16,773,120 blocks, by symmetry."""
    benchmark.extra_info["target"] = "2 s"
    loads = benchmark(lambda: relay.torus_link_loads(Lattice((16, 16, 16))))
    assert {sum(pair) for pair in loads} == {4}
