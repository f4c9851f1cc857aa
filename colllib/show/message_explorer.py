"""One message: how its time divides into latency and bytes."""

from __future__ import annotations

from colllib import units
from colllib.algorithms import pointtopoint
from colllib.cost import half_bandwidth_message
from colllib.execution import execute
from colllib.show.control import Control, Part, State
from colllib.show.explorer import Explorer
from colllib.show.figure import Chart, bars
from colllib.show.lines import Mark, lines

MESSAGES = tuple(base * 10.0**k for k in range(2, 10) for base in (1, 2, 5))
ALPHAS = (0.2e-6, 0.5e-6, 1e-6, 2e-6, 5e-6, 10e-6)
BANDWIDTHS = (25e9, 50e9, 100e9, 400e9, 900e9)


def message_explorer() -> Explorer:
    """M, alpha and BW of one message: what is latency, what is bytes, and which share of BW arrives.

    >>> message_explorer()
    Explorer: One message (Message M, Latency alpha, Bandwidth BW)
    """
    cost = execute(pointtopoint.direct(2)).cost
    half = float(half_bandwidth_message(cost))

    def price(state: State) -> dict[str, float]:
        return {"message": state["m"], "alpha": state["alpha"], "bandwidth": state["bw"]}

    def split(state: State) -> Chart:
        total = cost.seconds(**price(state))
        latency = float(cost.n_alpha) * state["alpha"]
        values = {"latency": latency, "bytes on the wire": total - latency}
        return bars(values, value_format=units.seconds, title=f"Together {units.seconds(total)}")

    def curve(state: State) -> Chart:
        shares = [100 * m / cost.seconds(**{**price(state), "message": m}) / state["bw"] for m in MESSAGES]
        where = half * state["alpha"] * state["bw"]
        return lines(
            {"share of BW": (list(MESSAGES), shares)},
            x_label="message M",
            y_label="effective bandwidth, % of BW",
            log_x=10,
            x_format=units.size,
            marks=[Mark(where, f"half at {units.size(where)}", 50)],
            title=f"Half of {units.rate(state['bw'])} is reached at {units.size(where)}",
        )

    def told(state: State) -> str:
        total = cost.seconds(**price(state))
        effective = state["m"] / total
        return (
            f"{units.size(state['m'])} take {units.seconds(total)}: {units.rate(effective)}, "
            f"{100 * effective / state['bw']:.0f} % of the link."
        )

    every = ("m", "alpha", "bw")
    return Explorer(
        "One message",
        [
            Control("m", "Message M", MESSAGES, 100e3, format=units.size),
            Control("alpha", "Latency alpha", ALPHAS, 0.5e-6, format=units.seconds),
            Control("bw", "Bandwidth BW", BANDWIDTHS, 900e9, format=units.rate),
        ],
        [Part(every, split), Part(("alpha", "bw"), lambda s: curve({**s, "m": 1e6}))],
        summary=Part(every, told),
    )
