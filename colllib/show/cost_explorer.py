"""The cost explorer: every algorithm for a primitive over message size, latency, bandwidth and ranks."""

from dataclasses import replace
from functools import partial

from colllib import ladder
from colllib.algorithms import of
from colllib.bounds import lower_bound
from colllib.cost import Cost
from colllib.show.control import Control, Quantity
from colllib.show.explorer import Explorer
from colllib.show.race import Form, Race, Row, only
from colllib.show.views import Curves, Rows, Turns
from colllib.topology.presets import PRESETS

#: A race that the quantities of `two_tiers` price.
two_tier_race = partial(Race, alpha=("alpha", "alpha_out"), bandwidth=("bw", "bw_out"))
#: All small numbers, powers of two, and the sizes of machines that are sold.
RANKS = (*range(2, 65), 72, 128, 256, 512, 576, 1024, 2048, 2304, 4096, 4608, *(2**k for k in range(13, 17)))


def message(start: float = ladder.ANCHOR_MESSAGE) -> Quantity:
    """M, from 100 B to 100 GB on its slider."""
    return Quantity("m", "Message M", "message size", 1e2, 1e11, start)


def alpha(start: float = ladder.ANCHOR_ALPHA) -> Quantity:
    """The latency, from 10 ns to 1 ms on its slider."""
    return Quantity("alpha", "Latency α", "time", 1e-8, 1e-3, start)


def bandwidth(start: float = ladder.ANCHOR_BANDWIDTH) -> Quantity:
    """BW, from 1 GB/s to 10 TB/s on its slider."""
    return Quantity("bw", "Bandwidth BW", "bandwidth", 1e9, 1e13, start)


def prices(
    m: float = ladder.ANCHOR_MESSAGE, a: float = ladder.ANCHOR_ALPHA, bw: float = ladder.ANCHOR_BANDWIDTH
) -> list[Quantity]:
    """M, latency and BW, from where they start."""
    return [message(m), alpha(a), bandwidth(bw)]


def two_tiers() -> list[Quantity]:
    """Latency and bandwidth in the box and between boxes, at first those of a DGX H100."""
    latency, speed = PRESETS["dgx-h100"].speeds(2)
    return [
        replace(alpha(latency[0]), label="Latency in the box"),
        replace(bandwidth(speed[0]), label="BW in the box"),
        replace(alpha(latency[1]), name="alpha_out", label="Latency between boxes"),
        replace(bandwidth(speed[1]), name="bw_out", label="BW of a card"),
    ]


def ranks(start: int = ladder.ANCHOR_RANKS) -> Control:
    """N, from `RANKS`."""
    return Control("n", "Ranks N", RANKS, start, kind="number")


def on_star(primitive: str, n: int) -> list[Row]:
    """All algorithms for any network that serve N ranks, on a star, and the two lower bounds.

    >>> [row.name for row in on_star("all-gather", 6)]
    ['ring', 'Bruck', 'PAT', 'lower bounds']
    """
    entries = [(a.label, ladder.on_star(primitive, a.name, n)) for a in of(primitive) if a.fits(n)]
    bound = lower_bound(primitive, n)
    floor = Row("lower bounds", only(Cost(bound.n_alpha, bound.n_beta)), bound=True)
    return [*(Row(label, Form.ways(entry)) for label, entry in entries), floor]


def cost_explorer(primitive: str = "all-reduce") -> Explorer:
    """N, M, alpha and BW against all algorithms of a primitive: curves, table, winner, crossovers.

    Args:
        primitive: its name.

    >>> cost_explorer()
    Explorer: Cost of an all-reduce (Ranks N, Message M, Latency α, Bandwidth BW)
    """

    race = Race(lambda n: on_star(primitive, n))
    return Explorer(
        f"Cost of {'an' if primitive[0] in 'ao' else 'a'} {primitive}",
        [ranks(), *prices()],
        [
            Curves(race),
            Rows(race, "Algorithms", "All in numbers", COLUMNS),
            Turns(race, "Where the fastest changes", "Where the fastest changes"),
        ],
        summary="At N = {n} and M = {m}, {fastest} with {time}, {over} times the sum of the two lower bounds{next}.",
        note="Star, one full-duplex port per rank, lock-step clock. The counts are those of the closed forms, and "
        "tests hold each of them against an execution, message by message. P is the best whole number of segments for "
        "that M. Each of the two lower bounds holds by itself; their sum is a floor that no schedule need reach.",
        name="cost",
    )


COLUMNS = "algorithm = title | time | of fastest | n_alpha | n_beta | P"
