"""The pipeline explorer: what each port does when, on both clocks, and the total over the number of segments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from colllib import ladder, units
from colllib.algorithms import Algorithm, find, of
from colllib.execution import Execution, execute
from colllib.measures import Phases, busy_ports, phases
from colllib.schedule import Schedule
from colllib.show.control import Control, Part, State
from colllib.show.explorer import Explorer
from colllib.show.figure import Chart
from colllib.show.lines import Mark, lines, number
from colllib.show.space_time import Bar, Look, bars_of, bars_of_steps, drawn, step_edges
from colllib.show.table import Table

MESSAGE = 4e6
RANKS = (2, 4, 6, 8, 16)
SEGMENTS = (1, 2, 3, 4, 6, 8)
FEW = (1, 2, 4, 8)  # for the largest N, whose diagrams are large
ALPHAS = (0.5e-6, 2e-6)
BANDWIDTHS = (50e9, 200e9, 800e9)
CURVE = (1, 2, 4, 8, 16)
_ALL = ("schedule", "n", "p", "alpha", "bw")


@dataclass(frozen=True)
class Run:
    """One algorithm, N and P, executed."""

    schedule: Schedule
    execution: Execution
    phases: Phases
    ports: int
    """The most ranks that send in one step."""


def pipelines() -> dict[str, Algorithm]:
    """The segmented algorithms on offer: all broadcasts, the chain reduce, the double tree.

    >>> list(pipelines())[0], list(pipelines())[-1]
    ('Broadcast, chain', 'All-reduce, double binary tree')
    """
    chosen = [algorithm for algorithm in of("broadcast") if algorithm.segmented]
    chosen += [find("reduce", "chain"), find("all-reduce", "double-binary-tree")]
    return {f"{a.primitive[0].upper()}{a.primitive[1:]}, {a.label}": a for a in chosen}


def pipeline_explorer(message: float = MESSAGE) -> Explorer:
    """Schedule, N, P, alpha and BW: the space-time diagram on both clocks, and the total with the best P marked.

    Everything is executed on a star with one full-duplex port per rank. Only M / (alpha BW)
    decides the picture, so that its axes count in units of alpha.

    Args:
        message: M in bytes.

    >>> pipeline_explorer()
    Explorer: A pipeline of 4 MB (Schedule, Ranks N, Segments P, Latency alpha, Bandwidth BW)
    """
    offered = pipelines()

    @cache
    def run(name: str, n: int, p: int) -> Run:
        built = offered[name].build(n, segments=p)
        schedule = Schedule.from_steps(built.blocks, [built.step(t) for t in range(built.num_steps)])
        busy = busy_ports(schedule)
        return Run(schedule, execute(schedule), phases(busy), max(busy))

    @cache
    def flight(name: str, n: int, p: int, r: float) -> list[Bar]:
        return bars_of(run(name, n, p).schedule, message=r, alpha=1, bandwidth=1)

    def event(name: str, n: int, p: int, r: float) -> float:
        return max(bar.arrival for bar in flight(name, n, p, r))

    @cache
    def best(name: str, n: int, ratio: float) -> int:
        return ladder.best(offered[name], n, message=ratio, alpha=1, bandwidth=1)

    def ratio(state: State) -> float:
        return float(f"{message / (state['alpha'] * state['bw']):.9g}")

    def lockstep(name: str, n: int, p: int, r: float) -> float:
        return run(name, n, p).execution.cost.seconds(message=r, alpha=1, bandwidth=1)

    @cache
    def picture(name: str, n: int, p: int, r: float) -> str:
        found = run(name, n, p)
        schedule = found.schedule
        end = max(lockstep(name, n, p, r), event(name, n, p, r))
        look = Look(p, end, number, "time in units of alpha")
        edges = step_edges(found.execution, message=r, alpha=1, bandwidth=1)
        stepped = bars_of_steps(schedule, found.execution.topology, edges, r)
        charts = (
            drawn(stepped, schedule, n, look, edges, "Lock-step clock"),
            drawn(flight(name, n, p, r), schedule, n, look, title="Event clock"),
        )
        both = "".join(f'<div style="flex:1 1 24em">{chart.fragment()}</div>' for chart in charts)
        return f'<div class="cl-beside">{both}</div>'

    @cache
    def curve(name: str, n: int, r: float) -> Chart:
        algorithm = offered[name]
        ps = [p for p in range(1, 65) if p <= 16 or p % 4 == 0]
        closed = [algorithm.cost(n, segments=p).seconds(message=r, alpha=1, bandwidth=1) for p in ps]
        top = best(name, n, r)
        fastest = algorithm.cost(n, segments=top).seconds(message=r, alpha=1, bandwidth=1)
        return lines(
            {
                "lock-step, closed form": (ps, closed),
                "lock-step, executed": (CURVE, [lockstep(name, n, p, r) for p in CURVE]),
                "event clock, executed": (CURVE, [event(name, n, p, r) for p in CURVE]),
            },
            x_label="segments P",
            y_label="time, alpha",
            log_x=2,
            marks=[Mark(top, f"best P = {top}", fastest)] if top <= ps[-1] else [],
            title=f"{name}, N = {n}, M/BW = {number(r)} alpha",
        )

    def counts(name: str, n: int, p: int) -> Table:
        found = run(name, n, p)
        fill, steady, drain = found.phases
        cost = found.execution.cost
        rows = [(cost.n_alpha, str(cost.n_beta), fill, steady, drain, found.ports)]
        headers = ["n_alpha", "n_beta", "fill", "full", "drain", "ports busy"]
        return Table(headers, rows, f"Counted from the lock-step execution: {found.schedule.num_steps} steps")

    def told(s: State) -> str:
        name, n, p, r = s["schedule"], s["n"], s["p"], ratio(s)
        top = best(name, n, r)
        at_best = offered[name].cost(n, segments=top).seconds(message=r, alpha=1, bandwidth=1)
        now, other = (units.seconds(t * s["alpha"], 3) for t in (lockstep(name, n, p, r), event(name, n, p, r)))
        return (
            f"{name}, N = {n}, P = {p}: {now} on the lock-step clock, {other} on the event clock. "
            f"On the lock-step clock the best is P = {top} with {units.seconds(at_best * s['alpha'], 3)}."
        )

    return Explorer(
        f"A pipeline of {units.size(message)}",
        [
            Control("schedule", "Schedule", list(offered), next(iter(offered)), "select"),
            Control("n", "Ranks N", RANKS, 8),
            Control("p", "Segments P", lambda s: FEW if s["n"] == RANKS[-1] else SEGMENTS, 4, depends_on=("n",)),
            Control("alpha", "Latency alpha", ALPHAS, ALPHAS[0], format=units.seconds),
            Control("bw", "Bandwidth BW", BANDWIDTHS, BANDWIDTHS[2], format=units.rate),
        ],
        [
            Part(_ALL, lambda s: picture(s["schedule"], s["n"], s["p"], ratio(s)), "What each port sends when"),
            Part(("schedule", "n", "p"), lambda s: counts(s["schedule"], s["n"], s["p"]), "Counts"),
            Part(("schedule", "n", "alpha", "bw"), lambda s: curve(s["schedule"], s["n"], ratio(s)), "Time over P"),
            Part((), lambda s: _NOTE),
        ],
        summary=Part(_ALL, told),
        play="p",
    )


_NOTE = (
    "<p>Star, one full-duplex port per rank. Each row is a rank's sending port; the number is the segment, a thin line "
    "is the time until it has arrived (on the lock-step clock: until the step ends). Hollow bars belong to the second "
    "tree. The pipeline is full from the first to the last of the steps in which the most ports send. Only "
    "M / (alpha BW) shapes the picture: a message four times as large does what a quarter of alpha does.</p>"
)
