"""The in-network explorer's times are those of executed schedules."""

from __future__ import annotations

from fractions import Fraction

import pytest
from shown import rows

from colllib import units
from colllib.algorithms import alltoall
from colllib.events import event_clock
from colllib.execution import execute
from colllib.ladder import offered, run
from colllib.show import inc_explorer
from colllib.switch_gain import able_star, stream_limit

PRICE = {"message": 16e6, "alpha": 0.5e-6, "bandwidth": 900e9}


def test_the_start_shows_the_anchor():
    explorer = inc_explorer()
    assert explorer.start == {
        "primitive": "all-reduce", "n": 512, "m": 16e6, "alpha": 0.5e-6, "bw": 900e9, "part": Fraction(2, 5),
    }  # fmt: skip
    topology = able_star(512, 300e-9, 200e-9)
    software = min(
        (run(a, topology, **PRICE) for a in offered("all-reduce", topology) if a.takes == "ranks"),
        key=lambda r: r.seconds,
    )
    assert software.execution.cost == execute(software.execution.schedule).cost
    first, _, streaming = rows(explorer.render(1, explorer.start))
    assert first[1].startswith(software.label)
    assert first[2] == units.seconds(software.seconds, 4)
    limit = stream_limit("all-reduce", 512).seconds(**PRICE)
    assert streaming[2] == units.seconds(limit, 4)
    summary = explorer.render(len(explorer.parts), explorer.start)
    assert "the fastest software in lock-step is" in summary
    assert f"streaming {software.seconds / limit:.2f} times" in summary


@pytest.mark.parametrize(("n", "price"), [(512, PRICE), (8, {"message": 1e6, "alpha": 5e-6, "bandwidth": 50e9})])
def test_on_the_event_clock_a_pairwise_all_to_all_is_as_fast_as_the_streaming_switch(n, price):
    streaming = stream_limit("all-to-all", n).seconds(**price)
    assert event_clock(alltoall.pairwise(n), **price).seconds == pytest.approx(streaming, rel=1e-9)
    assert "pairwise all-to-all is then as fast as the streaming switch" in inc_explorer().note
