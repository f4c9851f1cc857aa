"""A switch that takes part against software: both are run, the stream is what many segments tend to."""

from __future__ import annotations

import pytest

from colllib.algorithms import innetwork
from colllib.events import event_clock
from colllib.ladder import ANCHOR_BANDWIDTH, PRIMITIVES, offered, run
from colllib.switch_gain import able_star, stream_limit, streamed, switch_gain

BUILDS = {
    "all-reduce": innetwork.one_shot_all_reduce,
    "reduce-scatter": innetwork.scatter_reduced,
    "all-gather": innetwork.gather_multicast,
    "broadcast": innetwork.multicast,
    "reduce": innetwork.reduce_to_root,
    "all-to-all": innetwork.scatter_bundles,
}


@pytest.mark.parametrize("primitive", PRIMITIVES)
@pytest.mark.parametrize(("n", "endpoint", "switch"), [(8, 300e-9, 200e-9), (2, 1e-6, 100e-9), (7, 100e-9, 500e-9)])
def test_software_and_switch_are_run(primitive, n, endpoint, switch):
    topology = able_star(n, endpoint, switch)
    for message in (1e4, 4e6, 1e9):
        price = {"message": message, "alpha": endpoint + switch, "bandwidth": ANCHOR_BANDWIDTH}
        rungs = [run(a, topology, **price) for a in offered(primitive, topology)]
        gain = switch_gain(primitive, n, message, endpoint, switch)
        software = min(r.seconds for r in rungs if r.algorithm.takes == "ranks")
        through = min(r.seconds for r in rungs if r.algorithm.takes == "topology")
        assert gain.seconds == pytest.approx(software, rel=1e-9)
        assert gain.lockstep == pytest.approx(through, rel=1e-9)
        assert gain.streamed <= gain.lockstep


@pytest.mark.parametrize("primitive", PRIMITIVES)
@pytest.mark.parametrize("n", [2, 5, 8])
def test_many_segments_tend_to_the_stream_and_never_beat_it(primitive, n):
    topology = able_star(n, 300e-9, 200e-9)
    for message in (1e4, 16e6):
        price = {"message": message, "alpha": 0.5e-6, "bandwidth": ANCHOR_BANDWIDTH}
        limit = stream_limit(primitive, n).seconds(**price)
        clock = [event_clock(BUILDS[primitive](topology, segments=p), topology, **price).seconds for p in (4, 256)]
        assert limit <= clock[1] * (1 + 1e-12) < clock[0] * (1 + 1e-9)
        assert clock[1] == pytest.approx(limit, rel=0.005)
        if n == 8:
            assert limit <= streamed(primitive, message, 300e-9, 200e-9) * (1 + 1e-12) < clock[1] * (1 + 1e-9)


def test_parts_of_alpha_below_a_nanosecond_count():
    """They were rounded to nanoseconds."""
    small, large = (switch_gain("all-reduce", 8, 0.0, 14 * unit, 4 * unit).lockstep / unit for unit in (1e-10, 1e-7))
    assert small == pytest.approx(large)
    with pytest.raises(ValueError, match="point-to-point: through the switch and without it"):
        switch_gain("point-to-point", 8, 1e6, 1e-7, 1e-7)
    with pytest.raises(ValueError, match="take 0 s"):
        able_star(8, 0.0, 0.0)
