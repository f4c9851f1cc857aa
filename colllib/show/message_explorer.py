"""One message: how its time divides into latency and bytes."""

from colllib.algorithms import pointtopoint
from colllib.cost import Cost
from colllib.execution import execute
from colllib.show.cost_explorer import prices
from colllib.show.explorer import Explorer
from colllib.show.race import Race, Row, only
from colllib.show.views import Curves


def message_explorer() -> Explorer:
    """M, alpha and BW of one message: what is latency, what is bytes, and which share of BW arrives.

    >>> message_explorer()
    Explorer: One message (Message M, Latency α, Bandwidth BW)
    """
    cost = execute(pointtopoint.direct(2)).cost
    whole = Row("together", only(cost))
    wire = Row("the wire", only(Cost(0, cost.n_beta)), bound=True)
    parts = Race(lambda: [whole, Row("latency", only(Cost(cost.n_alpha, 0))), Row("bytes", dict(wire.ways))])
    return Explorer(
        "One message",
        prices(100e3),
        [
            Curves(parts, what="time", y_label="time", strip=False),
            Curves(
                Race(lambda: [whole, wire]),
                "Bandwidth that arrives",
                "The bandwidth that arrives",
                what="rate",
                y_label="M over the time",
                strip=False,
            ),
        ],
        summary="{m} take {time:together}: {time:latency} of latency and {time:bytes} of bytes. {rate:together} "
        "arrive, {share:together} of the link. Latency and bytes are equal, and half of BW arrives, at "
        "{even:latency|bytes}.",
        name="message",
    )
