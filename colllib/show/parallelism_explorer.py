"""The parallelism explorer: a model and a plan, and what each axis makes the network do in a training step."""

from dataclasses import replace
from functools import cache

from colllib import ladder, units
from colllib.algorithms import of
from colllib.parallelism import MODELS, Call, Model, Plan, bubble, memory, merged, training
from colllib.show.control import Control, Part
from colllib.show.cost_explorer import forms, two_tiers
from colllib.show.explorer import Explorer
from colllib.show.race import Form, Race, Row
from colllib.show.views import Bars, Rows
from colllib.topology.presets import PRESETS

SEQUENCE = 8192
#: Where it starts, and what the chapter prices: NVLink in the box one way, and a 400 Gb/s card for each GPU.
INSIDE, OUTSIDE = (
    {"alpha": latency, "bandwidth": speed} for latency, speed in zip(*PRESETS["dgx-h100"].speeds(2), strict=True)
)


def parallelism_explorer() -> Explorer:
    """Model, batch and plan, and two networks, against the bytes and the time of each collective in one training step.

    >>> parallelism_explorer().start["tp"]
    8
    """
    race = Race(_rows)
    heads = "call = name | calls × M = calls | time | fastest = variant"
    names = ("alpha", "bw", "alpha2", "bw2")
    labels = ("α in the box", "BW in the box", "α outside", "BW outside")
    quantities = zip(two_tiers(), names, labels, strict=True)
    networks = [replace(quantity, name=name, label=label) for quantity, name, label in quantities]
    return Explorer(
        "One training step",
        [
            Control("model", "Model", ("Llama 3.1 70B", "Llama 3.1 405B", "DeepSeek-V3"), "Llama 3.1 405B", "select"),
            Control("tokens", "Tokens", {2**22: "4 Mi", 2**24: "16 Mi"}, 2**24),
            Control("zero", "ZeRO", {1: "ZeRO-1", 3: "ZeRO-3"}, 1),
            Control("dp", "DP", (8, 16, 32, 64, 128, 256, 512), 128),
            Control("tp", "TP", (1, 2, 4, 8), 8),
            Control("pp", "PP", (1, 2, 4, 8, 16), 16),
            Control("ep", "EP", _experts, 1),
            *networks,
        ],
        [
            Bars(race, "Time of each axis"),
            Part(_plan_summary, "The plan"),
            Rows(race, "Collectives of one step", "Every collective of the step", heads),
        ],
        summary="{top} takes {top share} of {sum} of communication a step.",
        note="Star, one full-duplex port per GPU, lock-step clock; the fastest algorithm for each call. TP stays in "
        "the box, the other axes leave it. A microbatch is a sequence of 8,192 tokens; BF16 on the wire, gradients "
        "reduced in FP32. Counted is a GPU of the last stage. Times add up as if nothing overlapped.",
        name="step",
    )


def _experts(model: str, dp: int) -> tuple[int, ...]:
    experts = MODELS[model].experts
    return tuple(n for n in (1, 8, 16, 32, 64) if n == 1 or (experts and dp % n == 0))


def _rows(model: str, tokens: int, dp: int, tp: int, pp: int, ep: int, zero: int) -> list[Row]:
    return [
        Row(
            f"{call.axis} {call.primitive}, {call.ranks} ranks, {units.size(call.message)}",
            _forms(call.primitive, call.ranks),
            message=call.message,
            times=call.count,
            group=call.axis,
            alpha=() if call.axis == "TP" else ("alpha2",),
            bandwidth=() if call.axis == "TP" else ("bw2",),
        )
        for call in _calls(MODELS[model], tokens, Plan(dp=dp, tp=tp, pp=pp, ep=ep, zero=zero))
    ]


def _calls(model: Model, tokens: int, plan: Plan) -> tuple[Call, ...]:
    return merged(training(model, plan, tokens=tokens, microbatches=tokens // (plan.dp * SEQUENCE)))


@cache
def _forms(primitive: str, ranks: int) -> dict[str, Form]:
    return forms(ladder.on_star(primitive, a.name, ranks) for a in of(primitive) if a.fits(ranks))


def _plan_summary(model: str, tokens: int, dp: int, tp: int, pp: int, ep: int, zero: int) -> str:
    """What no network decides: GPUs, microbatches, memory, the pipeline's idle time, and who sends most."""
    plan = Plan(dp=dp, tp=tp, pp=pp, ep=ep, zero=zero)
    rounds = tokens // (dp * SEQUENCE)
    sent: dict[str, float] = {}
    for call in _calls(MODELS[model], tokens, plan):
        sent[call.axis] = sent.get(call.axis, 0.0) + call.sent
    top = max(sent, key=lambda axis: sent[axis])  # at 8 or more, DP always sends
    idles = f"; a plain pipeline idles {100 * bubble(pp, rounds):.0f}% of the step" if pp > 1 else ""
    return (
        f"<p>{plan.gpus:,} GPUs, {rounds} microbatch{'es' * (rounds > 1)}. {top} sends most, {units.size(sent[top])} a "
        f"GPU. Parameters, gradients and optimizer take {units.size(memory(MODELS[model], plan))} a GPU{idles}.</p>"
    )
