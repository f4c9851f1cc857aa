"""The token explorer: a model, TP and who reduces against the parts of the time that one generated token takes."""

from dataclasses import replace
from fractions import Fraction

from colllib import units
from colllib.algorithms import direct
from colllib.bounds import lower_bound
from colllib.cost import Cost
from colllib.execution import execute
from colllib.measured.sweeps import between, kernels, sweeps
from colllib.parallelism import BF16, MODELS, Plan, decoding, kept, of_vocabulary, read_for_token
from colllib.show.control import Control, Part, Quantity
from colllib.show.cost_explorer import alpha, bandwidth
from colllib.show.explorer import Explorer
from colllib.show.parallelism_explorer import INSIDE
from colllib.show.race import Form, Race, Row, only
from colllib.show.views import Bars, Rows

MEMORY, CAPACITY = 3.35e12, 80e9  # of an H100: bytes per second and bytes
WIRES = "wires"
CALLS = {"SGLang": "SGLang's kernel", "vLLM": "vLLM's kernel", "NCCL": "NCCL in nccl-tests", WIRES: "α and bytes alone"}
WIDTHS = {0.5: "FP4", 1: "FP8", 2: "BF16"}


def token_explorer() -> Explorer:
    """Model, TP, sequences, context and who reduces, memory and links, against the parts of a token's time.

    >>> token_explorer().start["tp"]
    8
    """
    race = Race(_rows, message="context")
    alone = [replace(alpha(INSIDE["alpha"]), only_with="tp"), replace(bandwidth(INSIDE["bandwidth"]), only_with="tp")]
    return Explorer(
        "What a token waits for",
        [
            Control("model", "Model", tuple(MODELS), "Llama 3.1 405B", "select"),
            Control("width", "Weights", tuple(WIDTHS), 1, format=WIDTHS.__getitem__),
            Control("tp", "TP", (1, 2, 4, 8), 8),
            Control("sequences", "Sequences in flight", tuple(2**k for k in range(8)), 1, "number"),
            Control("context", "Tokens of each", tuple(2**k for k in range(10, 18)), 4096, "number", "{:,}".format),
            Control("call", "All-reduces by", _calls, kind="select"),
            Quantity("memory", "Memory bandwidth", "bandwidth", 1e11, 1e14, MEMORY),
            *alone,
        ],
        [
            Bars(race, "The parts of a token's time"),
            Part(_memory, "What a GPU keeps"),
            Part(_unmeasured, "What is not measured"),
            Rows(race, "The parts in numbers", "The parts in numbers", "part = name | what | time"),
        ],
        summary="A token takes at least {sum}. The largest part, {top share}: {top}.",
        note="Every token reads the weights that it meets (of experts, those that a uniform gate chooses for all "
        "sequences) and the keys and values of its own sequence, in BF16. From "
        f"{400e12 / (2 * MEMORY):.0f} sequences in FP8, multiplying (400 TFLOP/s) outlasts reading dense weights. "
        "All-reduces: 2 a layer, 1 of embeddings. On the wires they are one-shot or direct, whichever is faster, "
        "event clock; the kernels' times are those that others measured on H100s for as many GPUs, with "
        "straight lines between sizes on logarithmic scales, and what they take beyond the wires of a "
        "DGX H100 stays when the links change. Nothing overlaps; kernels' own launches, attention and sampling are "
        "left out, and memory never gives all that its data sheet says.",
        name="token",
    )


def seconds_of(call: str, tp: int, message: float) -> float | None:
    """What an engine's kernel, or NCCL, took on H100s for an all-reduce; none where nobody measured it.

    >>> seconds_of("SGLang", 8, 2**15), seconds_of("SGLang", 8, 2**22)
    (7.8e-06, None)
    """
    if call == "NCCL":
        points = next(sweep.points for sweep in sweeps() if sweep.name == "azure-nd-h100v5") if tp == 8 else []
    else:
        alike = [one for one in kernels() if (one.name, one.machine.name, one.machine.gpus) == (call, "H100", tp)]
        points = [point for one in alike for point in one.points]
    return between(points, message)


def _calls(tp: int) -> dict[str, str]:
    """Who reduces; of one GPU alone it decides nothing."""
    return dict(list(CALLS.items())[: None if tp > 1 else 1])


def _rows(model: str, tp: int, sequences: int, call: str) -> list[Row]:
    m = MODELS[model]
    weights, cached = read_for_token(m, sequences) / tp, m.layers * kept(m, tp) * BF16 * sequences
    from_memory = ("memory",)
    rows = [
        Row("weights", only(Cost(0, 1)), message=weights, bandwidth=("memory/width",), more={"what": "read once"}),
        Row("keys and values", only(Cost(0, Fraction(cached))), bandwidth=from_memory, more={"what": "read once"}),
    ]
    if tp == 1:
        return rows
    [reduced] = decoding(m, Plan(tp=tp), sequences=sequences)
    _, logits = of_vocabulary(m, tp, sequences)
    count, size = reduced.count + 1, reduced.message
    more = {"what": f"{count} × {units.size(size)}"}
    wires = {
        name: execute(build(tp)).cost for name, build in (("one-shot", direct.one_shot), ("direct", direct.all_reduce))
    }
    rows.append(
        Row(
            "all-reduces: wires",
            {name: Form((cost,)) for name, cost in wires.items()},
            message=size,
            times=count,
            more=more,
        )
    )
    if taken := seconds_of(call, tp, size):
        beyond = max(0.0, taken - min(cost.seconds(message=size, **INSIDE) for cost in wires.values()))
        rest = only(Cost(Fraction(f"{beyond:.4g}"), 0))
        rows.append(Row("all-reduces: kernel and launch", rest, message=size, times=count, alpha=("bw/bw",), more=more))
    gather = only(lower_bound("all-gather", tp))
    return [*rows, Row("logits", gather, message=logits.message, more={"what": f"1 × {units.size(logits.message)}"})]


def _memory(model: str, width: float, tp: int, sequences: int, context: int) -> str:
    m = MODELS[model]
    weights, cached = m.parameters * width / tp, m.layers * kept(m, tp) * BF16 * sequences * context
    holds = f"{units.size(weights)} of weights and {units.size(cached)} of keys and values"
    copied = f", the same on all {tp}: a latent has no heads to share out" if m.latent and tp > 1 else ""
    much = f" That does not fit in the {units.size(CAPACITY)} of an H100." if weights + cached > CAPACITY else ""
    return f"<p>A GPU keeps {holds}{copied}.{much}</p>"


def _unmeasured(model: str, tp: int, sequences: int, call: str) -> str:
    message = sequences * MODELS[model].hidden * BF16
    if tp == 1 or call == WIRES or seconds_of(call, tp, message):
        return ""
    what = f"{CALLS[call]} on {tp} GPUs for messages of {units.size(message)}"
    return f"<p>This book has no measurement of {what}: α and bytes stand alone.</p>"
