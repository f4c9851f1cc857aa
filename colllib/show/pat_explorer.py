"""The PAT explorer: what a cap on the message does to steps, time and the memory that a rank lends to others."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from colllib import units
from colllib.algorithms import allgather
from colllib.cost import Cost
from colllib.execution import execute
from colllib.ladder import ANCHOR_ALPHA, ANCHOR_BANDWIDTH
from colllib.measures import staging
from colllib.schedule import Schedule
from colllib.show.control import Control, Part, State
from colllib.show.explorer import Explorer
from colllib.show.figure import Chart
from colllib.show.lines import Mark, lines
from colllib.show.table import Table

RANKS = (6, 8, 16, 64, 72, 512)
MESSAGES = (64e3, 1e6, 16e6, 256e6, 4e9)
FABRICS = {
    (ANCHOR_ALPHA, ANCHOR_BANDWIDTH): "0.5 us, 900 GB/s",
    (2e-6, 50e9): "2 us, 50 GB/s",
    (10e-6, 50e9): "10 us, 50 GB/s",
}


@dataclass(frozen=True)
class Run:
    """One schedule, executed on a star: its cost, and the shards parked on the fullest rank after each step."""

    cost: Cost
    parked: tuple[int, ...]

    @property
    def most(self) -> int:
        """The most shards parked on any rank at any time."""
        return max(self.parked, default=0)


def _run(schedule: Schedule) -> Run:
    shards = (Fraction(share) * schedule.ranks for share in staging(schedule))
    return Run(execute(schedule).cost, tuple(map(int, shards)))


def caps(ranks: int) -> list[int]:
    """The caps that make a difference: powers of two up to half of the next power of two.

    >>> caps(6)
    [1, 2, 4]
    """
    return [1 << k for k in range(max(1, (ranks - 1).bit_length()))]


def pat_explorer() -> Explorer:
    """N and PAT's cap A against steps, time and parked shards, beside the ring and Bruck.

    Every schedule is executed on a star with one full-duplex port per rank; times are lock-step.

    >>> pat_explorer()
    Explorer: PAT: steps against memory (Ranks N, Most shards in a message A, Gathered result M, Latency and bandwidth)
    """

    @cache
    def pat(ranks: int, cap: int, order: str = "depth") -> Run:
        return _run(allgather.pat(ranks, cap=cap, order=order))

    @cache
    def others(ranks: int) -> dict[str, Run]:
        return {"ring": _run(allgather.ring(ranks)), "Bruck": _run(allgather.bruck(ranks))}

    def seconds(run: Run, state: State) -> float:
        alpha, bandwidth = state["fabric"]
        return run.cost.seconds(message=state["m"], alpha=alpha, bandwidth=bandwidth)

    def table(state: State) -> Table:
        n, chosen = state["n"], state["cap"]
        rows = {f"PAT, A = {cap}": pat(n, cap) for cap in caps(n)} | others(n)
        shown = sorted(rows.items(), key=lambda row: (seconds(row[1], state), row[0]))
        cells = [
            (
                f"▸ {name}" if name == f"PAT, A = {chosen}" else name,
                run.cost.n_alpha,
                units.seconds(seconds(run, state), 4),
                run.most,
                units.size(run.most * state["m"] / n),
            )
            for name, run in shown
        ]
        headers = ["fastest first", "steps", "time", "parked shards", "parked bytes"]
        return Table(headers, cells, align=("left", "right", "right", "right", "right"))

    def over_time(state: State) -> Chart:
        n, cap = state["n"], state["cap"]
        series = {}
        for label, order in (("depth first, as NCCL does", "depth"), ("round by round", "rounds")):
            parked = pat(n, cap, order).parked
            series[label] = (list(range(len(parked) + 1)), [0, *parked])
        most = [pat(n, cap, order).most for order in ("depth", "rounds")]
        return lines(
            series,
            x_label="steps done",
            y_label="shards parked on the fullest rank",
            title=f"N = {n}, A = {cap}: at most {most[0]} parked shards depth first, {most[1]} round by round",
        )

    def trade(state: State) -> Chart:
        n = state["n"]
        runs = [pat(n, cap) for cap in caps(n)]
        points = sorted((run.most, seconds(run, state)) for run in runs)
        here = pat(n, state["cap"])
        return lines(
            {"PAT, one point per A": ([x for x, _ in points], [y for _, y in points])},
            x_label="most shards parked",
            y_label="time",
            y_format=units.seconds,
            marks=[Mark(here.most, f"A = {state['cap']}", seconds(here, state))],
            title="Memory buys time",
        )

    def told(state: State) -> str:
        run, ring = pat(state["n"], state["cap"]), others(state["n"])["ring"]
        held = units.size(run.most * state["m"] / state["n"])
        return (
            f"PAT on {state['n']} ranks with at most {_shards(state['cap'])} a message: {run.cost.n_alpha} steps, "
            f"{units.seconds(seconds(run, state))} against {units.seconds(seconds(ring, state))} by ring; "
            f"a rank parks at most {_shards(run.most)}, {held}."
        )

    every = ("n", "cap", "m", "fabric")
    return Explorer(
        "PAT: steps against memory",
        [
            Control("n", "Ranks N", RANKS, 512),
            Control("cap", "Most shards in a message A", lambda s: caps(s["n"]), 16),
            Control("m", "Gathered result M", MESSAGES, 16e6, format=units.size),
            Control("fabric", "Latency and bandwidth", FABRICS, (2e-6, 50e9), "select"),
        ],
        [
            Part(every, table, "PAT for every cap, ring and Bruck"),
            Part(("n", "cap"), over_time),
            Part(every, trade),
            Part((), lambda s: _NOTE),
        ],
        summary=Part(every, told),
    )


def _shards(count: int) -> str:
    return f"{count} shard{'s' * (count != 1)}"


_NOTE = (
    "<p>Every schedule executed on a star, one full-duplex port per rank, lock-step clock. Parked shards are those "
    "that a rank has received and must send again later; in a reduce-scatter, partial sums that belong to others.</p>"
)
