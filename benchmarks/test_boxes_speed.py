"""How long schedules over boxes take, in CPU seconds on one core. Nothing here asserts a time."""

import resource
from time import process_time
from typing import Any

import pytest

from colllib import execute
from colllib.algorithms import find, hierarchical
from colllib.ladder import ladder
from colllib.topology import boxes, fat_tree

PRIMITIVES = ["broadcast", "reduce", "all-gather", "reduce-scatter", "all-reduce", "all-to-all"]
PRICE: dict[str, Any] = {"message": 1e9, "alpha": (0.5e-6, 5e-6), "bandwidth": (450e9, 50e9)}


def timed(benchmark, target, work, rounds=3):
    """The work, in CPU seconds."""
    benchmark.extra_info["target"] = target
    benchmark._timer = process_time
    result = benchmark.pedantic(work, rounds=rounds, warmup_rounds=1 if rounds > 1 else 0)
    benchmark.extra_info["peak_memory_MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return result


@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_every_primitive_on_64_boxes_of_8(benchmark, primitive):
    net = boxes((64, 8))
    build = find(primitive, "hierarchical").build
    assert timed(benchmark, "0.15 s, 75 MB", lambda: execute(build(net), net)).schedule.ranks == 512


@pytest.mark.parametrize(
    ("primitive", "tiers", "target"),
    [
        ("all-reduce", "ring,ring", "4 s, 650 MB"),
        ("all-reduce", "ring,recursive-doubling", "0.2 s"),
        ("all-gather", "ring", "2 s"),
        ("reduce-scatter", "ring", "2 s"),
        ("all-to-all", "pairwise", "8 s, 700 MB"),
    ],
)
def test_512_boxes_of_8(benchmark, primitive, tiers, target):
    net = boxes((512, 8))
    build = find(primitive, "hierarchical").build
    assert timed(benchmark, target, lambda: execute(build(net, tiers=tiers), net), 1).schedule.ranks == 4096


def test_a_three_level_all_reduce_over_a_fat_tree_of_27648_hosts(benchmark):
    net = fat_tree(48)
    schedule = hierarchical.all_reduce(net, tiers="ring,ring,recursive-doubling")
    assert timed(benchmark, "5 s", lambda: execute(schedule, net), 1).schedule.ranks == 27648


def test_channels_on_64_boxes_of_8(benchmark):
    net = boxes((64, 8))
    build = find("all-reduce", "channels").build
    assert timed(benchmark, "5 s", lambda: execute(build(net), net)).schedule.num_steps == 1022


def test_a_ladder_on_64_boxes_of_8(benchmark):
    net = boxes((64, 8), inc="both")
    rungs = timed(benchmark, "4 s", lambda: ladder("all-reduce", net, **PRICE), 1)
    assert {"ring", "channels", "hierarchical", "nvls"} <= {rung.algorithm.name for rung in rungs}


def test_a_ladder_on_three_tiers_of_512_ranks(benchmark):
    price: dict[str, Any] = {"message": 1e8, "alpha": (0.5e-6, 2e-6, 8e-6), "bandwidth": (450e9, 50e9, 25e9)}
    rungs = timed(benchmark, "8 s", lambda: ladder("all-reduce", boxes((8, 8, 8)), **price), 1)
    assert rungs[0].algorithm.name == "hierarchical"


def test_a_price_at_other_speeds(benchmark):
    net = boxes((64, 8))
    cost = execute(find("all-reduce", "hierarchical").build(net), net).cost
    benchmark.extra_info["target"] = "1 ms"
    assert benchmark(lambda: cost.seconds(**PRICE)) > 0
