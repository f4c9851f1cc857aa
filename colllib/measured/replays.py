"""What SimGrid makes of schedules over boxes and trees of switches, beside the two clocks of this library.

The times are stored in `replays.json`, so that the book is built without SimGrid; where it is
installed the tests replay all of them. `python -m colllib.measured.replays` stores them anew.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from colllib import simgrid
from colllib.algorithms import find as find_algorithm
from colllib.events import event_clock
from colllib.execution import execute
from colllib.ladder import Entry
from colllib.schedule import Schedule
from colllib.topology import Topology
from colllib.topology.expression import find as find_topology
from colllib.topology.presets import PRESETS

STORED = Path(__file__).with_suffix(".json")


@dataclass(frozen=True)
class Case:
    """A schedule on a network, at 64 MB and the speeds of a DGX H100."""

    on: str  # the topology, as on the command line; one of a single level has the speed of the cards
    primitive: str
    algorithm: str
    tiers: str  # of a hierarchical schedule, or empty
    waiting: float  # seconds in SimGrid as `simgrid.SETTINGS` say: a send ends when its message has arrived
    eager: float  # likewise where a send ends at once

    @cached_property
    def topology(self) -> Topology:
        """Where it runs."""
        return find_topology(self.on)

    @cached_property
    def schedule(self) -> Schedule:
        """What runs."""
        options = {"tiers": self.tiers} if self.tiers else {}
        return Entry(find_algorithm(self.primitive, self.algorithm).configured(options), self.topology).schedule()

    @property
    def price(self) -> dict[str, Any]:
        """M, and alpha and BW of every level."""
        levels = self.topology.levels
        alpha, bandwidth = PRESETS["dgx-h100"].speeds(max(levels, 2))
        return {"message": 64e6, "alpha": alpha[-levels:], "bandwidth": bandwidth[-levels:]}

    def clocks(self) -> tuple[float, float]:
        """Seconds on the lock-step clock and on the event clock."""
        cost = execute(self.schedule, self.topology).cost
        return cost.seconds(**self.price), event_clock(self.schedule, self.topology, **self.price).seconds

    def envelopes(self) -> float:
        """Seconds that SimGrid's envelopes take where every step has all messages at once on links of their own.

        >>> round(CASES[0].envelopes() * 1e9, 2)  # 126 steps over a card of 50 GB/s
        40.32
        """
        topology, total = self.topology, 0.0
        level = np.array([tier.level for tier in topology.tiers])[topology.tier]
        bandwidth = topology.bandwidth.as_floats() * np.array(self.price["bandwidth"])[level]
        for step in map(self.schedule.step, range(self.schedule.num_steps)):
            pairs = np.unique(step.src * topology.ranks + step.dst)
            _, link = topology.router(*np.divmod(pairs, topology.ranks))
            total += float((np.bincount(link, minlength=topology.num_links) / bandwidth).max())
        return simgrid.ENVELOPE * total

    def replayed(self, settings: Mapping[str, str] = simgrid.SETTINGS) -> float:
        """Seconds in SimGrid, which must be installed."""
        return simgrid.replay(self.schedule, self.topology, settings=settings, **self.price)


_STORED: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
#: The schedules that are replayed: another one is a row of the file, and storing its times.
CASES = tuple(Case(**row) for row in _STORED["cases"])
#: Some of what `simgrid.SETTINGS` switches off: SimGrid's own defaults, of the model LV08 where factors are concerned,
#: and the seconds that the second case takes with them.
OTHERS: dict[str, dict[str, Any]] = _STORED["others"]


def measured() -> dict[str, Any]:
    """What the file should hold, by SimGrid as it is installed here."""
    now = (replace(case, waiting=case.replayed(), eager=case.replayed(simgrid.EAGER)) for case in CASES)
    others = {name: other | {"seconds": CASES[1].replayed(other["settings"])} for name, other in OTHERS.items()}
    return {"simgrid": simgrid.version(), "cases": [asdict(case) for case in now], "others": others}


if __name__ == "__main__":
    STORED.write_text(json.dumps(measured(), indent=2) + "\n", encoding="utf-8")
