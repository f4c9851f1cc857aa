"""The in-network explorer's times are those of executed schedules."""

from __future__ import annotations

from fractions import Fraction

from shown import rows

from colllib import units
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
    assert f"streaming {software.seconds / limit:.2f} times" in summary
