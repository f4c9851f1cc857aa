"""The tensor-states explorer: the cheapest plan of a layer's training step, as its tokens, ranks and memory change."""

from functools import cache

from colllib import units
from colllib.show.control import Control, Part
from colllib.show.explorer import Explorer
from colllib.show.figure import Chart, bars
from colllib.show.table import Table
from colllib.training import tensor_states
from colllib.training.tensor_states import Machine, Plan

WIDTH, INNER = 4096, 16384
TOKENS = tuple(2**k for k in range(10, 18))
ROOM = {0: "all parameters", 1: "its own share"}
BANDWIDTHS = {25e9: "25 GB/s", 50e9: "50 GB/s", 450e9: "450 GB/s", 900e9: "900 GB/s"}


@cache
def cheapest_plan(tokens: int, ranks: int, room: int, bandwidth: float) -> Plan:
    """The cheapest plan; a rank has room for all parameters, or for its own share."""
    both = 2 * WIDTH * INNER
    machine = Machine((ranks,), (bandwidth,), memory=both / ranks if room else both)
    return tensor_states.cheapest(tensor_states.mlp_step(tokens, WIDTH, INNER), machine)


def called(plan: Plan) -> str:
    """What the field calls a plan of the step of an MLP, from its states on one axis.

    >>> called(cheapest_plan(1024, 8, 0, 450e9))
    'tensor parallelism (Megatron)'
    """
    (x,), (a,), (b,), (h,), (y,) = (plan.states[name] for name in ("x", "A", "B", "h", "sum"))
    gathers = {name for name, _, _, primitive, _ in plan.communication if primitive == "all-gather"}
    if (a, b) == ("R", "R"):
        return "data parallelism"
    if {"A", "B"} <= gathers and (h, y) == ("t", "t"):  # both products by tokens
        return "data parallelism with sharded parameters (FSDP)"
    if (a, b) == ("f", "f") and not gathers & {"A", "B"}:
        return "tensor parallelism (Megatron)" + (" with sequence parallelism" if x == "t" else "")
    return "a mixture of tensor and data parallelism"


def states_explorer() -> Explorer:
    """Tokens, ranks, room and bandwidth against the plan that the integer program finds.

    >>> states_explorer()
    Explorer: Which parallelism? (Tokens in the group, Ranks, A rank has room for, Bandwidth)
    """
    return Explorer(
        "Which parallelism?",
        [
            Control("tokens", "Tokens in the group", TOKENS, 8192, format="{:,}".format),
            Control("ranks", "Ranks", (2, 8, 32), 8),
            Control("room", "A rank has room for", ROOM, 0),
            Control("bandwidth", "Bandwidth", BANDWIDTHS, 450e9),
        ],
        [Part(_bars, "Time of a step"), Part(_table, "What is sent")],
        summary=_summary,
        name="states",
    )


def _summary(tokens: int, ranks: int, room: int, bandwidth: float) -> str:
    plan = cheapest_plan(tokens, ranks, room, bandwidth)
    share = units.percent(plan.exposed / plan.seconds)
    return f"{share} of the step is communication, in {units.several(len(plan.communication), 'collective')}."


def _bars(tokens: int, ranks: int, room: int, bandwidth: float) -> Chart:
    plan = cheapest_plan(tokens, ranks, room, bandwidth)
    return bars(
        {"computation": plan.seconds - plan.exposed, "communication": plan.exposed},
        value_format=units.seconds,
        highlight=["communication"],
        title=f"The cheapest plan: {called(plan)}",
    )


def _table(tokens: int, ranks: int, room: int, bandwidth: float) -> Table:
    plan = cheapest_plan(tokens, ranks, room, bandwidth)
    rows = [
        (f"{name} → {user}", primitive, units.size(numbers * plan.machine.width))
        for name, user, _, primitive, numbers in plan.communication
    ]
    return Table(["from → to", "collective", "M"], rows, "Collectives of one layer's step")
