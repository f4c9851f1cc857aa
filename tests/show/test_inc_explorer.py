"""The in-network explorer's times are those of executed schedules."""

from __future__ import annotations

import pytest

from colllib.algorithms import innetwork, serving
from colllib.events import event_clock
from colllib.execution import execute
from colllib.ladder import run
from colllib.show import inc_explorer
from colllib.show.inc_explorer import BANDWIDTH, PRIMITIVES, SIZES, able_star, race, stream_limit

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
def test_the_race_is_run(primitive, n, endpoint, switch):
    where = able_star(n, endpoint, switch)
    for message in SIZES[::3]:
        price = {"message": message, "alpha": endpoint + switch, "bandwidth": BANDWIDTH}
        rungs = [run(a, where, **price) for a in serving(primitive, where)]
        found = race(primitive, n, message, endpoint, switch)
        software = min(r.seconds for r in rungs if r.algorithm.takes == "ranks")
        through = min(r.seconds for r in rungs if r.algorithm.takes == "topology")
        assert found.seconds == pytest.approx(software, rel=1e-9)
        assert found.lockstep == pytest.approx(through, rel=1e-9)
        assert found.streamed <= found.lockstep


@pytest.mark.parametrize("primitive", PRIMITIVES)
@pytest.mark.parametrize("n", [2, 5, 8])
def test_many_segments_tend_to_the_stream_and_never_beat_it(primitive, n):
    where = able_star(n, 300e-9, 200e-9)
    for message in (1e4, 16e6):
        price = {"message": message, "alpha": 0.5e-6, "bandwidth": BANDWIDTH}
        limit = stream_limit(primitive, n).seconds(**price)
        clock = [event_clock(BUILDS[primitive](where, segments=p), where, **price).seconds for p in (4, 256)]
        assert limit <= clock[1] * (1 + 1e-12) < clock[0] * (1 + 1e-9)
        assert clock[1] == pytest.approx(limit, rel=0.005)


def test_the_start_shows_the_anchor():
    explorer = inc_explorer()
    price = {"message": 16e6, "alpha": 0.5e-6, "bandwidth": BANDWIDTH}
    assert explorer.start == {"primitive": "all-reduce", "n": 512, "endpoint": 300e-9, "switch": 200e-9}
    where = able_star(512, 300e-9, 200e-9)
    software = min(
        (run(a, where, **price) for a in serving("all-reduce", where) if a.takes == "ranks"), key=lambda r: r.seconds
    )
    assert software.execution.cost == execute(software.execution.schedule).cost
    gain = software.seconds / stream_limit("all-reduce", 512).seconds(**price)
    row = explorer.render(1, explorer.start).split("16 MB")[1].split("</tr>")[0]
    assert f"{gain:.2f}" in row
    assert software.label in row
    assert len(explorer.grid.json()) < 3_000_000
