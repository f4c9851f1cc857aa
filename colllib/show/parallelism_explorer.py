"""The parallelism explorer: a model and a plan, and what each axis makes the network do in a training step."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from colllib import ladder, units
from colllib.parallelism import MODELS, Call, Plan, Priced, bubble, memory, merged, price, training
from colllib.show.control import Control, Part, State
from colllib.show.explorer import Explorer
from colllib.show.figure import Chart, bars
from colllib.show.table import Table

SEQUENCE = 8192
NAMES = ("Llama 3.1 70B", "Llama 3.1 405B", "DeepSeek-V3")
STEPS = {2**22: "4 Mi tokens", 2**24: "16 Mi tokens"}
NETWORKS = {
    "one": "900 GB/s, 0.5 us: as inside",
    "card": "50 GB/s, 5 us: a card per GPU",
}
SPEEDS = {
    "one": {"alpha": ladder.ANCHOR_ALPHA, "bandwidth": ladder.ANCHOR_BANDWIDTH},
    "card": {"alpha": 5e-6, "bandwidth": 50e9},
}
EVERY = ("model", "tokens", "dp", "tp", "pp", "ep", "zero", "network")


def parallelism_explorer() -> Explorer:
    """Model, batch and plan against the bytes and the time of each collective in one training step.

    TP runs inside the box (900 GB/s, 0.5 us), the other axes on the network that is chosen. One
    microbatch is one sequence of 8,192 tokens.

    >>> parallelism_explorer()
    Explorer: One training step (Model, Tokens a step, DP, TP, PP, EP, ZeRO, Network of DP, PP and EP)
    """
    priced = cache(price)

    @cache
    def step(*values: object) -> list[Priced]:
        state: State = dict(zip(EVERY, values, strict=True))
        return [priced(call, **SPEEDS["one" if call.axis == "TP" else state["network"]]) for call in _calls(state)]

    def here(state: State) -> list[Priced]:
        return step(*(state[name] for name in EVERY))

    return Explorer(
        "One training step",
        [
            Control("model", "Model", {name: name for name in NAMES}, "Llama 3.1 405B", kind="select"),
            Control("tokens", "Tokens a step", STEPS, 2**24),
            Control("dp", "DP", (8, 64, 128, 512), 128),
            Control("tp", "TP", (1, 4, 8), 8),
            Control("pp", "PP", (1, 4, 16), 16),
            Control("ep", "EP", _experts, 1, depends_on=("model", "dp")),
            Control("zero", "ZeRO", {1: "1: optimizer sharded", 3: "3: FSDP"}, 1),
            Control("network", "Network of DP, PP and EP", NETWORKS, "one", kind="select"),
        ],
        [
            Part(EVERY, lambda s: _axes(here(s)), "Time of each axis"),
            Part(EVERY, lambda s: _table(here(s)), "Collectives of one step"),
            Part((), lambda s: _NOTE),
        ],
        summary=Part(EVERY, lambda s: _told(here(s), s)),
    )


_NOTE = (
    "<p>Star, one full-duplex port per GPU, lock-step clock; the fastest algorithm for each call. TP stays in the box, "
    "at 900 GB/s and 0.5 us. A microbatch is a sequence of 8,192 tokens; BF16 on the wire, gradients reduced in FP32. "
    "Counted is a GPU of the last stage. Times add up as if nothing overlapped.</p>"
)


def _experts(state: State) -> tuple[int, ...]:
    experts = MODELS[state["model"]].experts
    return tuple(n for n in (1, 8, 64) if n == 1 or (experts and state["dp"] % n == 0))


def _plan(state: State) -> Plan:
    return Plan(**{name: state[name] for name in ("dp", "tp", "pp", "ep", "zero")})


def _microbatches(state: State) -> int:
    return int(state["tokens"] // (state["dp"] * SEQUENCE))


def _calls(state: State) -> tuple[Call, ...]:
    model = MODELS[state["model"]]
    return merged(training(model, _plan(state), tokens=state["tokens"], microbatches=_microbatches(state)))


def _sums(priced: list[Priced], value: Callable[[Priced], float]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for one in priced:
        sums[one.call.axis] = sums.get(one.call.axis, 0.0) + value(one)
    return sums


def _axes(priced: list[Priced]) -> Chart | str:
    times = _sums(priced, lambda one: one.total)
    if not times:
        return "<p>One GPU: nothing is sent.</p>"
    top = max(times, key=lambda axis: times[axis])
    title = f"{top} takes {100 * times[top] / sum(times.values()):.0f} % of {units.seconds(sum(times.values()))}"
    return bars(times, value_format=units.seconds, highlight=[top], title=title)


def _table(priced: list[Priced]) -> Table:
    rows = [
        (
            one.call.axis,
            one.call.primitive,
            one.call.ranks,
            f"{one.call.count:,} × {units.size(one.call.message)}",
            units.size(one.call.sent),
            units.seconds(one.total),
            one.rung.algorithm.label,
        )
        for one in priced
    ]
    headers = ["axis", "collective", "ranks", "calls × M", "sent", "time", "fastest"]
    return Table(headers, rows, align=("left", "left", "right", "right", "right", "right", "left"))


def _told(priced: list[Priced], state: State) -> str:
    plan = _plan(state)
    model = MODELS[state["model"]]
    idle = bubble(plan.pp, _microbatches(state))
    times = _sums(priced, lambda one: one.total)
    bytes_sent = _sums(priced, lambda one: one.call.sent)
    told = f"{model.name} on {plan.gpus:,} GPUs, {_microbatches(state)} microbatches. "
    if times:
        slow, wide = (max(sums, key=lambda axis: sums[axis]) for sums in (times, bytes_sent))
        told += f"{slow} takes most time, {units.seconds(times[slow])}"
        told += (
            f", and sends most, {units.size(bytes_sent[wide])} a GPU. "
            if slow == wide
            else (f"; {wide} sends most, {units.size(bytes_sent[wide])} a GPU. ")
        )
    told += f"Parameters, gradients and optimizer take {units.size(memory(model, plan))} a GPU"
    return told + (f"; a plain pipeline idles {100 * idle:.0f} % of the step." if plan.pp > 1 else ".")
