"""The in-network explorer: how many times faster than software a switch is, over the message size."""

from __future__ import annotations

from functools import cache

from colllib import units
from colllib.ladder import ANCHOR_BANDWIDTH
from colllib.show.control import Control, Part, State
from colllib.show.explorer import Explorer
from colllib.show.figure import Chart
from colllib.show.lines import Mark, lines
from colllib.show.table import Table
from colllib.switch_race import Race, race

PRIMITIVES = ("all-reduce", "reduce-scatter", "all-gather", "broadcast", "reduce", "all-to-all")
RANKS = (2, 8, 72, 512)
ENDPOINTS = (300e-9, 1e-6, 3e-6)
SWITCHES = (200e-9, 500e-9)
SIZES = (1e4, 1e5, 1e6, 4e6, 16e6, 1e8, 1e9)
_ALL = ("primitive", "n", "endpoint", "switch")


def inc_explorer() -> Explorer:
    """Collective, N, and what endpoint and switch take: the gain of the switch over the message size.

    >>> inc_explorer()
    Explorer: What the switch gains (Collective, Ranks N, Endpoint, Switch)
    """

    @cache
    def races(primitive: str, n: int, endpoint: float, switch: float) -> list[Race]:
        return [race(primitive, n, m, endpoint, switch) for m in SIZES]

    def of(state: State) -> list[Race]:
        return races(*(state[name] for name in _ALL))

    def curve(state: State) -> Chart:
        found = of(state)
        gains = [r.seconds / r.lockstep for r in found]
        streams = [r.seconds / r.streamed for r in found]
        return lines(
            {"the switch streams": (SIZES, streams), "lock-step, best P": (SIZES, gains)},
            x_label="message M",
            y_label="times faster than software",
            log_x=10,
            x_format=units.size,
            y_format="{:.3g}×".format,
            y_from_zero=True,
            marks=[Mark(16e6, "16 MB")],
            title=f"{state['primitive']}, N = {state['n']}: {max(streams):.2g}× to {min(streams):.2g}×",
        )

    def table(state: State) -> Table:
        rows = [
            (
                units.size(m),
                r.software,
                units.seconds(r.seconds),
                r.through.removeprefix("in network").lstrip(", ") or "one piece",
                units.seconds(r.lockstep),
                units.seconds(r.streamed),
                f"{r.seconds / r.streamed:.2f}",
            )
            for m, r in zip(SIZES, of(state), strict=True)
        ]
        headers = ["M", "fastest software", "time", "the switch", "time", "streamed", "gain"]
        return Table(headers, rows, "Lock-step clock at the best whole number of segments; streamed on the event clock")

    def told(state: State) -> str:
        found = of(state)
        first, last = found[0], found[-1]
        alpha = units.seconds(state["endpoint"] + state["switch"])
        return (
            f"{state['primitive']}, N = {state['n']}, alpha {alpha}: a switch that streams is "
            f"{first.seconds / first.streamed:.2f} times as fast as {first.software} at {units.size(SIZES[0])}, and "
            f"{last.seconds / last.streamed:.2f} times as fast as {last.software} at {units.size(SIZES[-1])}."
        )

    return Explorer(
        "What the switch gains",
        [
            Control("primitive", "Collective", PRIMITIVES, "all-reduce", "select"),
            Control("n", "Ranks N", RANKS, 512),
            Control("endpoint", "Endpoint", ENDPOINTS, 300e-9, format=units.seconds),
            Control("switch", "Switch", SWITCHES, 200e-9, format=units.seconds),
        ],
        [
            Part(_ALL, curve, "Gain over M"),
            Part(_ALL, table, "The race"),
            Part((), lambda _: _NOTE),
        ],
        summary=Part(_ALL, told),
        play="n",
    )


_NOTE = (
    f"<p>One switch, one full-duplex port of {units.rate(ANCHOR_BANDWIDTH)} per rank. Endpoint and switch together are "
    "one alpha, for software and switch alike. In a reduce-scatter every rank pushes its whole vector.</p>"
)
