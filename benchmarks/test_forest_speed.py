"""How long packing trees takes, with and without executing them. Run with `make bench`.

Targets, in seconds of one core: dgx-a100:2 0.2, mi250:2 3, torus:8x8 the general way 5 and by moves 0.1,
torus:8x8x8 1, dgx-a100:128 1 with its proof. What the general way says beforehand that it takes, in the extra
information, is wrong by less than three times, after one factor for the machine that is the same for all fabrics.
"""

from time import process_time

import pytest

from colllib.forest import forest, splitting, trees
from colllib.topology.expression import find


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("dgx-a100:2", "moves"),
        ("dgx-a100:2", "general"),
        ("dgx-a100:16", "moves"),
        ("mi250:2", "general"),
        ("torus:8x8", "moves"),
        ("torus:8x8", "general"),
        ("torus:8x8x8", "moves"),
        ("dgx-a100:128", "moves"),
    ],
)
def test_a_forest_is_packed_and_executed(benchmark, name, way):
    """Packed, executed and held to the bound."""
    topology = find(name)
    assert benchmark.pedantic(lambda: forest(topology, way=way).reached(), rounds=3, warmup_rounds=1)


@pytest.mark.parametrize("name", ["dgx-h100:4", "mi250:2", "torus:8x8", "fat-tree:4", "nvl72:1"])
def test_the_general_way_says_beforehand_how_long_it_takes(benchmark, monkeypatch, name):
    """In several parts, of which the longest is the least that is expected, and all together are the most."""
    topology, expected = find(name), []
    for module in (trees, splitting):
        monkeypatch.setattr(module, "check_seconds", lambda _, seconds, __: expected.append(seconds))
    start = process_time()
    benchmark.pedantic(lambda: forest(topology, way="general"))
    took = process_time() - start
    benchmark.extra_info |= {"least_over_taken": max(expected) / took, "most_over_taken": sum(expected) / took}
