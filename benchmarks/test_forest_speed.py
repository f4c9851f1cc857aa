"""How long packing trees takes, with and without executing them. Run with `make bench`.

Targets, in seconds of one core: dgx-a100:2 0.2, mi250:2 3, torus:8x8 the general way 5 and by moves 0.1,
torus:8x8x8 1, dgx-a100:128 1 with its proof.
"""

import pytest

from colllib.forest import forest
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
