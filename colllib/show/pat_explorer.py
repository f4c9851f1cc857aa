"""The PAT explorer: what a cap on the message does to steps, time and the memory that a rank lends to others."""

from collections.abc import Callable
from functools import cache
from typing import Any

from colllib.algorithms import allgather, reducescatter
from colllib.cost import Cost
from colllib.execution import execute
from colllib.metrics import staging
from colllib.primitives import lg
from colllib.schedule import Schedule
from colllib.show.control import Control, Part
from colllib.show.cost_explorer import prices
from colllib.show.explorer import Explorer
from colllib.show.figure import Chart
from colllib.show.lines import lines
from colllib.show.race import Form, Race, Row, only
from colllib.show.views import Rows, Variants
from colllib.units import several

RANKS = (*range(3, 65), 72, 80, 96, 128, 160, 200, 256, 512)


def caps(n: int) -> list[int]:
    """The caps that make a difference: powers of two up to half of the next power of two.

    >>> caps(6)
    [1, 2, 4]
    """
    return [1 << k for k in range(max(1, lg(n)))]


@cache
def _run(build: Callable[..., Schedule], ranks: int, **options: Any) -> tuple[Cost, list[int]]:
    """The cost on a star, and the shards parked on the fullest rank before the first step and after each."""
    schedule = build(ranks, **options)
    return execute(schedule).cost, [0, *(int(share * ranks) for share in staging(schedule))]


def _pat(ranks: int, cap: int) -> tuple[Cost, list[int]]:
    return _run(allgather.pat, ranks, cap=cap)


def every(n: int) -> list[Row]:
    """A row for each cap, the ring and Bruck, with the shards that each parks."""
    runs = {f"PAT, A = {cap}": _pat(n, cap) for cap in caps(n)}
    runs |= {"ring": _run(allgather.ring, n), "Bruck": _run(allgather.bruck, n)}
    return [Row(name, only(cost), more={"parked": f"{max(parked)} × M/{n}"}) for name, (cost, parked) in runs.items()]


def chosen(n: int, cap: int) -> list[Row]:
    """PAT at the chosen cap, at the best one, and the ring."""
    forms = {f"A = {most}": Form((_pat(n, most)[0],)) for most in caps(n)}
    return [Row("chosen", only(_pat(n, cap)[0])), Row("PAT", forms), Row("ring", only(_run(allgather.ring, n)[0]))]


def pat_explorer() -> Explorer:
    """N, PAT's cap A, M, alpha and BW against steps, time and parked shards, beside the ring and Bruck.

    >>> pat_explorer()
    Explorer: PAT: steps against memory (Ranks N, Shards in a message A, Message M, Latency α, Bandwidth BW)
    """
    race = Race(chosen)
    heads = " = name | steps = n_alpha | time | of fastest | parked"
    return Explorer(
        "PAT: steps against memory",
        [
            Control("n", "Ranks N", RANKS, 512, kind="number"),
            Control("cap", "Shards in a message A", caps, 16),
            *prices(a=2.7e-6, bw=50e9),
        ],
        [
            Variants(race, "Time against A", x_label="at most A shards in a message", at="cap"),
            Part(_parked, "Parked shards over the steps"),
            Rows(Race(every), "PAT for every cap, ring and Bruck", "Every cap in numbers", heads, swatches=False),
        ],
        summary="{m} gathered on {n} ranks at {alpha} and {bw}: PAT with A = {cap} takes {time:chosen} against "
        "{time:ring} by ring; {best:chosen|PAT}.",
        note="Every schedule executed on a star, one full-duplex port per rank, lock-step clock. M is the gathered "
        "result, a shard is M/N. Parked shards are those that a rank has received and must send again later; in a "
        "reduce-scatter, partial sums that belong to others. NCCL parks with A what this does with 8A.",
        name="pat",
    )


def _parked(n: int, cap: int) -> Chart:
    parked = {"all-gather": _pat(n, cap)[1], "reduce-scatter": _run(reducescatter.pat, n, cap=cap)[1]}
    gather, scatter = map(max, parked.values())
    return lines(
        {label: (range(len(shards)), shards) for label, shards in parked.items()},
        x_label="steps done",
        y_label="shards parked on the fullest rank",
        title=f"N = {n}, A = {cap}: at most {several(gather, 'parked shard')}, {scatter} in a reduce-scatter",
    )
