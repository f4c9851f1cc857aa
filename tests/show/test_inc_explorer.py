"""The in-network explorer's times are those of executed schedules."""

from __future__ import annotations

from colllib.execution import execute
from colllib.ladder import ANCHOR_BANDWIDTH, offered, run
from colllib.show import inc_explorer
from colllib.switch_race import able_star, stream_limit


def test_the_start_shows_the_anchor():
    explorer = inc_explorer()
    price = {"message": 16e6, "alpha": 0.5e-6, "bandwidth": ANCHOR_BANDWIDTH}
    assert explorer.start == {"primitive": "all-reduce", "n": 512, "endpoint": 300e-9, "switch": 200e-9}
    where = able_star(512, 300e-9, 200e-9)
    software = min(
        (run(a, where, **price) for a in offered("all-reduce", where) if a.takes == "ranks"), key=lambda r: r.seconds
    )
    assert software.execution.cost == execute(software.execution.schedule).cost
    gain = software.seconds / stream_limit("all-reduce", 512).seconds(**price)
    row = explorer.render(1, explorer.start).split("16 MB")[1].split("</tr>")[0]
    assert f"{gain:.2f}" in row
    assert software.label in row
    assert len(explorer.grid.json()) < 3_000_000
