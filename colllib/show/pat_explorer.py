"""The PAT explorer: what a cap on the message does to steps, time and the memory that a rank lends to others."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from colllib.algorithms import allgather
from colllib.cost import Cost
from colllib.execution import execute
from colllib.measures import staging
from colllib.schedule import Schedule
from colllib.show.control import Control, Part, State
from colllib.show.cost_explorer import prices
from colllib.show.explorer import Explorer
from colllib.show.figure import Chart
from colllib.show.lines import lines
from colllib.show.race import Form, Race, Row, only
from colllib.show.views import Rows, Told, Ways

RANKS = (*range(2, 65), 72, 128, 256, 512)


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


@cache
def pat(ranks: int, cap: int, order: str = "depth") -> Run:
    """PAT with a cap, executed."""
    return _run(allgather.pat(ranks, cap=cap, order=order))


@cache
def others(ranks: int) -> dict[str, Run]:
    """What it is compared with, executed."""
    return {"ring": _run(allgather.ring(ranks)), "Bruck": _run(allgather.bruck(ranks))}


def every(state: State) -> list[Row]:
    """A row for each cap, the ring and Bruck, with the shards that each parks."""
    runs = {f"PAT, A = {cap}": pat(state["n"], cap) for cap in caps(state["n"])} | others(state["n"])
    return [Row(name, only(run.cost), more={"parked": f"{run.most} × M/{state['n']}"}) for name, run in runs.items()]


def chosen(state: State) -> list[Row]:
    """PAT at the chosen cap, at the best one, and the ring."""
    n = state["n"]
    ways = {f"A = {cap}": Form((pat(n, cap).cost,)) for cap in caps(n)}
    return [Row("chosen", only(pat(n, state["cap"]).cost)), Row("PAT", ways), Row("ring", only(others(n)["ring"].cost))]


def pat_explorer() -> Explorer:
    """N, PAT's cap A, M, alpha and BW against steps, time and parked shards, beside the ring and Bruck.

    Every schedule is executed on a star with one full-duplex port per rank; times are lock-step.

    >>> pat_explorer()
    Explorer: PAT: steps against memory (Ranks N, Shards in a message A, Message M, Latency α, Bandwidth BW)
    """
    race = Race(chosen, ("n", "cap"))
    columns = (("", "name"), ("steps", "n_alpha"), ("time", "time"), ("of fastest", "of fastest"), ("parked", "parked"))
    return Explorer(
        "PAT: steps against memory",
        [
            Control("n", "Ranks N", RANKS, 512, kind="number"),
            Control("cap", "Shards in a message A", lambda s: caps(s["n"]), 16, depends_on=("n",)),
            *prices(latency=2e-6, rate=50e9),
        ],
        [
            Ways(race, "Time against A", x_label="at most A shards in a message", at="cap"),
            Part(("n", "cap"), _parked, "Parked shards over the steps", fold="What a rank parks, step by step"),
            Rows(Race(every, ("n",)), "PAT for every cap, ring and Bruck", "Every cap in numbers", columns),
            Part((), lambda _: _NOTE, fold="What is priced here"),
        ],
        summary=Told(
            race,
            text="PAT on {n} ranks with at most {cap} shards a message takes {time:chosen} against {time:ring} by "
            "ring; fastest is {way:PAT} with {time:PAT}.",
        ),
        name="pat",
    )


def _parked(state: State) -> Chart:
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


_NOTE = (
    "<p>Every schedule executed on a star, one full-duplex port per rank, lock-step clock. M is the gathered result, a "
    "shard is M/N. Parked shards are those that a rank has received and must send again later; in a reduce-scatter, "
    "partial sums that belong to others.</p>"
)
