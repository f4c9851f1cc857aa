"""The bus bandwidth explorer: what nccl-tests would print for each algorithm, against the wire."""

from __future__ import annotations

from functools import cache, partial

from colllib import units
from colllib.algorithms import find, of
from colllib.algorithms.innetwork import two_shot_cost
from colllib.busbw import bus_bandwidth, count
from colllib.cost import best_segments
from colllib.ladder import standing
from colllib.show.control import Control, Part, State
from colllib.show.explorer import Explorer
from colllib.show.figure import Chart
from colllib.show.lines import lines
from colllib.show.table import Table
from colllib.topology import star

PRIMITIVES = ("all-reduce", "all-gather", "reduce-scatter", "broadcast", "reduce", "all-to-all")
RANKS = (4, 8, 16, 64, 512)
ALPHAS = (0.5e-6, 2e-6, 10e-6)
BANDWIDTHS = (50e9, 450e9, 900e9)
CURVE = tuple(2.0 ** (10 + k) for k in range(25))  # 1 KiB to 16 GiB
ROWS = CURVE[::4]
SWITCH = "the switch adds, two shots"


def busbw_explorer() -> Explorer:
    """A primitive, an algorithm, N, alpha and BW: algorithm and bus bandwidth against the size.

    The times come from the closed forms on a star with one full-duplex port per rank, on the
    lock-step clock, at the best whole number of segments; tests hold them against executions.

    >>> busbw_explorer()
    Explorer: Bus bandwidth (Primitive, Algorithm, Ranks N, Latency alpha, Bandwidth BW)
    """
    every = ("primitive", "algorithm", "n", "alpha", "bw")
    return Explorer(
        "Bus bandwidth",
        [
            Control("primitive", "Primitive", PRIMITIVES, "all-reduce", kind="select"),
            Control("algorithm", "Algorithm", _algorithms, SWITCH, kind="select", depends_on=("primitive",)),
            Control("n", "Ranks N", RANKS, 8),
            Control("alpha", "Latency alpha", ALPHAS, 2e-6, format=units.seconds),
            Control("bw", "Bandwidth BW", BANDWIDTHS, 450e9, format=units.rate),
        ],
        [Part(every, _curves), Part(every, _rows, "What nccl-tests would print"), Part((), lambda s: _NOTE)],
        summary=Part(every, _told),
    )


_NOTE = (
    '<p class="cl-hint">Star, one full-duplex port per rank, lock-step clock, best whole number of segments. The '
    "dashed curve at the top is one port, one way. Time of a call only: no launch, no protocol.</p>"
)


def _algorithms(state: State) -> dict[str, str]:
    """Those that serve every N on offer, by name; for an all-reduce the switch too."""
    offered = {a.name: a.label for a in of(state["primitive"]) if all(map(a.fits, RANKS))}
    return {SWITCH: SWITCH, **offered} if state["primitive"] == "all-reduce" else offered


@cache
def seconds(primitive: str, name: str, ranks: int, message: float, alpha: float, bandwidth: float) -> float:
    """The time that is drawn: an algorithm's, or that of the switch, at its best whole number of segments.

    >>> round(seconds("all-reduce", "ring", 8, 2.0**30, 2e-6, 450e9) * 1e3, 2)
    4.2
    """
    if name != SWITCH:
        return standing(primitive, name, ranks, message / (alpha * bandwidth)).seconds * alpha
    cost = partial(two_shot_cost, star(ranks))
    best = best_segments(cost, message=message, alpha=alpha, bandwidth=bandwidth)
    return cost(best).seconds(message=message, alpha=alpha, bandwidth=bandwidth)


def _point(state: State, message: float) -> tuple[float, float, float]:
    """Time, algorithm bandwidth and bus bandwidth at one size."""
    time = seconds(state["primitive"], state["algorithm"], state["n"], message, state["alpha"], state["bw"])
    return time, message / time, bus_bandwidth(state["primitive"], state["n"], message, time)


def _curves(state: State) -> Chart:
    points = [_point(state, message) for message in CURVE]
    peak = max(busbw for *_, busbw in points)
    return lines(
        {
            "busbw": (CURVE, [busbw for *_, busbw in points]),
            "algbw": (CURVE, [algbw for _, algbw, _ in points]),
            "the wire": (CURVE, [state["bw"]] * len(CURVE)),
        },
        x_label="size M",
        y_label="bandwidth",
        log_x=2,
        x_format=units.binary_size,
        y_format=units.rate,
        title=f"busbw reaches {100 * peak / state['bw']:.0f} % of the wire",
    )


def _rows(state: State) -> Table:
    rows = []
    for message in ROWS:
        time, algbw, busbw = _point(state, message)
        rows.append(
            (
                f"{message:,.0f}",
                f"{count(state['primitive'], state['n'], message):,}",
                f"{time * 1e6:,.2f}",
                f"{algbw / 1e9:.2f}",
                f"{busbw / 1e9:.2f}",
                f"{100 * busbw / state['bw']:.0f} %",
            )
        )
    headers = ["size (B)", "count", "time (us)", "algbw (GB/s)", "busbw (GB/s)", "of the wire"]
    return Table(headers, rows, align=("right",) * 6)


def _told(state: State) -> str:
    shares = [(_point(state, message)[2] / state["bw"], message) for message in CURVE]
    half = next((message for share, message in shares if share >= 0.5), None)
    name = SWITCH if state["algorithm"] == SWITCH else find(state["primitive"], state["algorithm"]).label
    told = f"{name[0].upper() + name[1:]}, N = {state['n']}: busbw reaches {100 * shares[-1][0]:.0f} % of the wire "
    told += f"at {units.binary_size(CURVE[-1])}"
    return told + (f", and half of it from {units.binary_size(half)} on." if half else ", and never half of it.")
