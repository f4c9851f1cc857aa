"""The pipeline explorer: the time over the number of segments, and what each port does when, on both clocks."""

from functools import cache

from colllib.algorithms import Algorithm, find, of
from colllib.cost import Terms
from colllib.execution import Execution, execute
from colllib.metrics import busy_ports, phases
from colllib.schedule import Schedule
from colllib.show.control import Control, Part
from colllib.show.cost_explorer import prices
from colllib.show.explorer import Explorer
from colllib.show.figure import Chart
from colllib.show.lines import number
from colllib.show.race import Form, Race, Row, only
from colllib.show.table import Table
from colllib.show.timelines import space_time, step_edges
from colllib.show.views import Variants

RANKS = (*range(2, 65), 72, *(2**k for k in range(7, 17)))
DRAWN = 8  # ranks that a diagram has at most
SEGMENTS = (1, 2, 3, 4, 7, 8)  # in diagrams; 7 is the best at the start
UNDRAWN = tuple(4**k for k in range(7))  # segments where there is none
RATIO = 8  # M / (alpha BW) of the diagrams
IN_ALPHAS: Terms = {"message": RATIO, "alpha": 1, "bandwidth": 1}
CLOCKS = ("lock-step clock", "event clock")


@cache
def pipelines() -> dict[str, Algorithm]:
    """The segmented algorithms on offer, by what the reader sees: all broadcasts, the chain reduce, the double tree."""
    chosen = [algorithm for algorithm in of("broadcast") if algorithm.segmented]
    chosen += [find("reduce", "chain"), find("all-reduce", "double-binary-tree")]
    return {f"{a.primitive.capitalize()}, {a.label}": a for a in chosen}


@cache
def run(name: str, n: int, p: int) -> Execution:
    """One of `pipelines`, executed."""
    built = pipelines()[name].build(n, segments=p)
    return execute(Schedule.from_steps(built.blocks, list(built.steps)))


@cache
def form(name: str, n: int) -> Form:
    """What one of `pipelines` costs on N ranks in any number of segments."""
    return Form.fitted(lambda p: pipelines()[name].cost(n, segments=p))


def chosen(schedule: str, n: int, p: int) -> list[Row]:
    """The schedule in the best number of segments, and in the chosen one."""
    any_segments = form(schedule, n)
    return [Row(pipelines()[schedule].label, {"": any_segments}), Row("chosen", only(any_segments.cost(p)))]


def pipeline_explorer() -> Explorer:
    """Schedule, N, P, M, alpha and BW: the time over P with the best P marked, and the diagram on both clocks.

    >>> pipeline_explorer()
    Explorer: A pipeline (Schedule, Ranks N, Segments P, Message M, Latency α, Bandwidth BW, Diagram)
    """
    return Explorer(
        "A pipeline",
        [
            Control("schedule", "Schedule", list(pipelines()), kind="select"),
            Control("n", "Ranks N", RANKS, DRAWN, kind="number"),
            Control("p", "Segments P", lambda n: SEGMENTS if n <= DRAWN else UNDRAWN, 4),
            *prices(4e6),
            Control("clock", "Diagram", lambda n: CLOCKS if n <= DRAWN else CLOCKS[:1]),
        ],
        [
            Variants(Race(chosen), "Time over P", x_label="segments P", at="p"),
            Part(_picture, "What each port sends when"),
            Part(_counts, "Counts", fold="Counts"),
        ],
        summary="{schedule}, N = {n}: {m} take {time:chosen} with P = {p} on the lock-step clock; {best:chosen}.",
        note="Star, one full-duplex port per rank. In the diagram each row is a rank's sending port; the number is the "
        "segment, a thin line is the time until it has arrived (on the lock-step clock: until the step ends). Hollow "
        "bars belong to the second tree, and P is of each half. The pipeline is full from the first to the last of the "
        "steps in which the most ports send. Times are those of the lock-step clock at your M, alpha and BW; their "
        "counts are those of the closed forms, and tests hold each of them against an execution.",
        note_title="What is drawn and priced here",
        play="p",
        name="pipeline",
    )


def _picture(schedule: str, n: int, p: int, clock: str) -> Chart | str:
    """The diagram at M/BW = 8 alpha, whose axis counts in units of alpha."""
    if n > DRAWN:
        return f"<p>Up to {DRAWN} ranks the diagram is drawn, and its phases are counted.</p>"
    execution = run(schedule, n, p)
    return space_time(
        execution.schedule,
        clock="event" if clock == CLOCKS[1] else "lock-step",
        segments=p,
        until=step_edges(execution, **IN_ALPHAS)[-1],
        time_format=number,
        x_label=f"time in α, always drawn for M/BW = {RATIO} α",
        **IN_ALPHAS,
    )


def _counts(schedule: str, n: int, p: int) -> Table:
    if n > DRAWN:
        cost = form(schedule, n).cost(p)
        return Table(["n_alpha", "n_beta"], [(cost.n_alpha, str(cost.n_beta))], "From the closed form")
    execution = run(schedule, n, p)
    busy, cost = busy_ports(execution.schedule), execution.cost
    parts = phases(busy)
    rows = [(cost.n_alpha, str(cost.n_beta), parts.fill, parts.steady, parts.drain, max(busy))]
    headers = ["n_alpha", "n_beta", "fill", "full", "drain", "ports busy"]
    return Table(headers, rows, f"Counted from the lock-step execution: {execution.schedule.num_steps} steps")
