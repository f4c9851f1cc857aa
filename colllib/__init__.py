"""Collective communication, executed: schedules run message by message, every byte counted.

A primitive says what must become true. An algorithm builds a schedule that is meant to make it
true. A topology says over which links. `execute` runs the schedule, proves or refutes the end
state and keeps the ledger, and the ledger gives the cost.

>>> from colllib import execute, star
>>> from colllib.algorithms import allreduce
>>> execute(allreduce.ring(512), star(512)).cost
Cost(n_alpha=1022, n_beta=511/256)

What is the same seen from every rank needs one block's journey only, and may be far larger.

>>> by_symmetry(allreduce.ring(100_000), star(100_000)).cost
Cost(n_alpha=199998, n_beta=99999/50000)
"""

from colllib.cost import Cost, best_segments, crossover
from colllib.events import event_clock
from colllib.execution import Execution, ScheduleError, execute, trace
from colllib.schedule import (
    Orbit,
    Schedule,
    Step,
    in_sequence,
    pipelined,
    placed,
    reversed_in_time,
    scaled,
    side_by_side,
)
from colllib.symmetry import by_symmetry
from colllib.topology import Topology, star

__all__ = [
    "Cost",
    "Execution",
    "Orbit",
    "Schedule",
    "ScheduleError",
    "Step",
    "Topology",
    "best_segments",
    "by_symmetry",
    "crossover",
    "event_clock",
    "execute",
    "in_sequence",
    "pipelined",
    "placed",
    "reversed_in_time",
    "scaled",
    "side_by_side",
    "star",
    "trace",
]
