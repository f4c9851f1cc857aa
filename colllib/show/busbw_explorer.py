"""The bus bandwidth explorer: what nccl-tests would print for each algorithm, against the wire."""

from functools import partial

from colllib.algorithms.innetwork import two_shot_cost
from colllib.bounds import bus_factor
from colllib.cost import Cost
from colllib.ladder import PRIMITIVES
from colllib.show.control import Control, Quantity
from colllib.show.cost_explorer import on_star, prices, ranks
from colllib.show.explorer import Explorer
from colllib.show.race import Form, Race, Row, only
from colllib.show.views import Curves, Rows
from colllib.topology import star

SWITCH = "adding switch, two shots"


def rows(primitive: str, n: int) -> list[Row]:
    """Every algorithm on a star, for an all-reduce also through a switch that adds, and the wire."""
    factor = bus_factor(primitive, n)
    found = [Row(row.name, row.ways, factor=factor) for row in on_star(primitive, n) if not row.bound]
    if primitive == "all-reduce":
        found.append(Row(SWITCH, {"": Form.fitted(partial(two_shot_cost, star(n)))}, factor=factor))
    return [*found, Row("the wire", only(Cost(0, 1)), bandwidth=("bw",), bound=True)]


def busbw_explorer() -> Explorer:
    """A primitive, N, M, alpha, BW and what the wire yields of it: the bus bandwidth of every algorithm.

    >>> busbw_explorer()
    Explorer: Bus bandwidth (Primitive, Ranks N, Message M, Latency α, Bandwidth BW, Efficiency)
    """
    race = Race(rows, bandwidth=("bw*eff",))
    heads = "algorithm = title | time | algbw | busbw | P"
    return Explorer(
        "Bus bandwidth",
        [
            Control("primitive", "Primitive", PRIMITIVES, "all-reduce", kind="select"),
            ranks(8),
            *prices(1e9, 2e-6, 450e9),
            Quantity("eff", "Efficiency", "number", 0.01, 1.0, 1.0),
        ],
        [
            Curves(race, "Bus bandwidth against message size", what="rate", y_label="busbw"),
            Rows(race, "What nccl-tests would print", "What nccl-tests would print", heads),
        ],
        summary="At N = {n} and M = {m}, {fastest}: busbw {rate}, {share} of the wire. Assumed: a wire of {bw}, "
        "efficiency {eff}, and calls that are nothing but their messages.",
        note="Star, one full-duplex port per rank, lock-step clock, best whole number of segments, Bruck's all-to-all "
        "in its best base. The dotted line is one port, one way. The efficiency "
        "multiplies BW for every algorithm alike. Time of a call only: no launch, "
        "no protocol.",
        name="busbw",
    )
