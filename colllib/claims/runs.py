"""What the answers execute: every run once, shared by all claims, and kept by what builds it, so that a test can
repeat it. While an answer is worked out, what it runs is collected: the conditions of its verdict follow from that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from types import MethodType
from typing import Any, NamedTuple

from colllib import ladder
from colllib.algorithms import CATALOGUE, find
from colllib.claims.value import Limit
from colllib.cost import Cost, Price
from colllib.events import event_clock
from colllib.execution import Execution, execute
from colllib.ladder import ANCHOR_ALPHA, ANCHOR_BANDWIDTH, ANCHOR_MESSAGE, CLOSED_FORM, Rung, entry
from colllib.metrics import busiest_link
from colllib.primitives import PRIMITIVES
from colllib.provenance import ScheduleError
from colllib.schedule import Orbit, Schedule, pipelined
from colllib.symmetry import by_symmetry
from colllib.topology import Topology

MANY = 2**20  # messages: what has more is run by symmetry where it is the same seen from every rank
SIZES = (2, 3, 4, 5, 6, 7, 8, 12, 16, 33, 64)
ANCHOR: dict[str, Any] = {"message": ANCHOR_MESSAGE, "alpha": ANCHOR_ALPHA, "bandwidth": ANCHOR_BANDWIDTH}


@dataclass(frozen=True)
class Run:
    """A schedule on a topology, by what builds them.

    Attributes:
        arguments, options: of `build`, hashable.
        on: the topology, or its expression; "star" for a star of as many ranks.
        pieces: how many the schedule is cut into and pipelined in, beside what its own options say.
    """

    build: Callable[..., Schedule]
    arguments: tuple[Any, ...]
    options: tuple[tuple[str, Any], ...]
    on: str | Topology
    pieces: int = 1

    def schedule(self) -> Schedule:
        """The schedule, built now."""
        with collected(counts=False):  # a run that is known already is not built again, and is to count alike
            return pipelined(self.build(*self.arguments, **dict(self.options)), self.pieces)

    def topology(self, ranks: int) -> Topology:
        """Where it runs."""
        if isinstance(self.on, Topology):
            return self.on
        return ladder.topology(f"star:{ranks}" if self.on == "star" else self.on)


class Use(NamedTuple):
    """What an answer has used: where, by which clock, how a quantity came about, and what ran; links have the first."""

    topology: Topology
    clock: str
    how: str
    what: str


#: In the order of first use.
Used = dict[Use, None]
#: Every run and whether it was proved, and every run on the event clock with its price, in the order of first use.
RECORD: dict[Run, bool] = {}
TIMED: dict[tuple[Run, float, Price, Price], None] = {}
#: What is being collected, the innermost last; outside of all, nobody asks.
_collecting: list[Used] = [{}]


@contextmanager
def collected(counts: bool = True) -> Iterator[Used]:
    """What is used in the meantime, which counts as used by what surrounds it, or does not."""
    used: Used = {}
    _collecting.append(used)
    try:
        yield used
    finally:
        _collecting.pop()
        if counts:
            note_again(used)


def note_again(used: Used) -> None:
    """Count what was used before as used now."""
    _collecting[-1].update(used)


_NAMES: dict[Callable[..., Schedule], str] = {one.build: f"{one.primitive} {one.name}" for one in reversed(CATALOGUE)}


def _name(build: Callable[..., Schedule]) -> str:
    """What a schedule is called in the catalogue, or else by what builds it."""
    build = getattr(build, "func", build)  # of a partial function
    owner = f"{type(build.__self__).__name__.lower()} " if isinstance(build, MethodType) else ""
    return _NAMES.get(build) or owner + build.__name__.strip("_").replace("_", " ")


def _note(topology: Topology, clock: str, how: str, build: Callable[..., Schedule] | None = None) -> None:
    _collecting[-1][Use(topology, clock, how, _name(build) if build else "")] = None


def place(expression: str | Topology) -> Topology:
    """A topology whose links are counted."""
    topology = ladder.topology(expression) if isinstance(expression, str) else expression
    _note(topology, "", "counted")
    return topology


def built(
    build: Callable[..., Schedule], *arguments: Any, on: str | Topology = "star", pieces: int = 1, **options: Any
) -> Execution:
    """A schedule from what builds it, executed and proved, once for all claims.

    >>> from colllib.algorithms import broadcast
    >>> built(broadcast.chain, 4, segments=3).cost
    Cost(n_alpha=5, n_beta=5/3)
    """
    run = Run(build, arguments, tuple(sorted(options.items())), on, pieces)
    RECORD[run] = False
    execution = _executed(run)
    RECORD[run] = True
    _note(execution.topology, "lock-step", execution.how, build)
    return execution


def run(what: str, on: str | Topology, pieces: int = 1, **options: Any) -> Execution:
    """An algorithm of the catalogue, executed and proved; it cuts the message into pieces itself where it knows how.

    >>> run("all-reduce ring", "star:4").cost
    Cost(n_alpha=6, n_beta=3/2)
    """
    chosen = find(*what.split(" ", 1))
    argument = chosen.argument(ladder.topology(on) if isinstance(on, str) else on)
    options["segments" if chosen.segmented else "pieces"] = pieces
    return built(chosen.build, argument, on=on, **options)


@cache
def _executed(run: Run) -> Execution:
    schedule = run.schedule()
    orbit = isinstance(schedule, Orbit) and schedule.num_messages > MANY
    return (by_symmetry if orbit else execute)(schedule, run.topology(schedule.ranks))


def proves(build: Callable[..., Schedule], *arguments: Any, on: str | Topology = "star") -> bool:
    """Whether the executor proves a schedule on a topology; it refuses one that does not do what it is meant to.

    >>> from colllib.algorithms import pointtopoint
    >>> proves(pointtopoint.direct, 2, on="star:2")
    True
    """
    try:
        built(build, *arguments, on=on)
        return True
    except ScheduleError:
        _note(place(on), "lock-step", "executed", build)
        return False


def makes(primitive: str, run: Execution) -> bool:
    """Whether a run makes a primitive."""
    return run.schedule.makes(PRIMITIVES[primitive])


def timed(
    build: Callable[..., Schedule],
    *arguments: Any,
    on: str | Topology = "star",
    price: tuple[float, Price, Price],
    **options: Any,
) -> float:
    """Seconds on the event clock, for a price of message, alpha and bandwidth, of several levels as tuples."""
    chosen = Run(build, arguments, tuple(sorted(options.items())), on)
    TIMED[chosen, *price] = None
    seconds, topology = _clocked(chosen, *price)
    _note(topology, "event clock", "executed", build)
    return seconds


@cache
def _clocked(run: Run, message: float, alpha: Price, bandwidth: Price) -> tuple[float, Topology]:
    schedule = run.schedule()
    topology = run.topology(schedule.ranks)
    return event_clock(schedule, topology, message=message, alpha=alpha, bandwidth=bandwidth).seconds, topology


def by_formula(cost: Cost, on: str, clock: str) -> Cost:
    """A cost that runs at small N have confirmed, and that is evaluated where a run would take long."""
    _note(ladder.topology(on), clock, CLOSED_FORM)
    return cost


def best(what: str, on: str, **price: Any) -> Rung:
    """An algorithm at its best whole number of pieces, which its closed form names and a run confirms."""
    rung = entry(*what.split(" ", 1), on, trusting=True).priced(**(ANCHOR | price))
    if run(what, on, rung.segments).cost != rung.cost:
        raise ValueError(f"{what} on {on} in {rung.segments} pieces does not cost its closed form")
    return rung


def at_one_speed(cost: Cost) -> Fraction:
    """n_beta, or what it is where ports and cards have one BW."""
    return Fraction(cost.time(1, [Fraction(0)] * cost.levels, [Fraction(1)] * cost.levels))


def load_limit(what: str, on: str | Topology) -> Limit:
    """What n_beta comes to in ever more pieces, from three numbers of them, held to the busiest link of the run.

    >>> load_limit("broadcast chain", "star:4")
    Limit(value=Fraction(1, 1))
    """
    limit = Limit.of(lambda pieces: at_one_speed(run(what, on, pieces).cost))
    if limit.value != busiest_link(run(what, on, 32)):
        raise ValueError(f"{what} on {on}: the limit {limit.value} is not what its busiest link carries")
    return limit
