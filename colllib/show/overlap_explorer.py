"""The overlap explorer: buckets of gradients behind a backward pass, as a timeline."""

from functools import cache

from colllib import units
from colllib.parallelism import MODELS
from colllib.show.control import Control, Part
from colllib.show.explorer import Explorer
from colllib.show.figure import Chart
from colllib.show.lines import Mark, lines
from colllib.show.timelines import gantt
from colllib.training.data_parallel import NETWORK, Layer, bucketed
from colllib.training.prices import takes
from colllib.training.timeline import COMPUTE, Step

MODEL = MODELS["Llama 3.1 8B"]
RATE = 400e12  # operations a second that a GPU sustains
_MEGABYTES = (1, 25, 40, 80, 128, 256, 400, 640, 1000, 1600, 3200)
#: Sizes of buckets: round ones, powers of two, and what frameworks start with.
OFFERED = tuple(n * 1e6 for n in _MEGABYTES)
TOKENS = (1024, 2048, 4096, 8192)
COLLECTIVES = {True: "as NCCL (predicted)", False: "fastest without switches that add"}


def tensors(tokens: int, width: int) -> list[Layer]:
    """The matrices of Llama 3.1 8B: the embedding, those of the layers, and the head, with the time that each takes.

    Args:
        tokens: of a GPU's step, 2 operations for each parameter forward and 4 backward; the embedding computes nothing.
        width: bytes of a gradient.

    >>> len(tensors(1024, 4)), sum(part.size for part in tensors(1024, 4)) / 4 / 1e9
    (226, 8.029995008)
    """
    m = MODEL
    keys, vocabulary = m.hidden * m.head_width * m.kv_heads, m.hidden * m.vocabulary
    counts = [m.hidden**2, keys, keys, m.hidden**2, *[m.hidden * m.ffn] * 3] * m.layers
    passes = [Layer(2 * n * tokens / RATE, 4 * n * tokens / RATE, float(width * n)) for n in [*counts, vocabulary]]
    return [Layer(0.0, 0.0, float(width * vocabulary)), *passes]


@cache
def overlapped(bucket: float, boxes: int, tokens: int, width: int, nccl: bool = True) -> Step:
    """A step of that model on some DGX H100, each GPU a replica; collectives as NCCL is predicted, or the fastest."""
    machine = f"dgx-h100:{boxes}"
    ranks = 8 * boxes
    layers = tensors(tokens, width)
    return bucketed(layers, bucket, lambda size: takes("all-reduce", machine, ranks, 1, size, nccl=nccl))


def overlap_explorer() -> Explorer:
    """Bucket, machine, compute and precision against the step's timeline and the best bucket.

    >>> overlap_explorer()
    Explorer: What stays exposed (Bucket, Boxes of 8, Tokens a GPU, Gradients, Collectives)
    """
    return Explorer(
        "What stays exposed",
        [
            Control("bucket", "Bucket", OFFERED, 25e6, kind="number", format=units.size),
            Control("boxes", "Boxes of 8", (1, 4, 16, 64), 16, kind="number"),
            Control("tokens", "Tokens a GPU", TOKENS, 1024, kind="number", format="{:,}".format),
            Control("width", "Gradients", {2: "BF16", 4: "FP32"}, 2),
            Control("nccl", "Collectives", COLLECTIVES, True),
        ],
        [Part(_timeline, "The step"), Part(_curve, "Exposed against bucket")],
        summary=_summary,
        note="The 226 matrices of Llama 3.1 8B at 400 TFLOP/s, a replica on every GPU of DGX H100 boxes. A bucket "
        "closes when it holds at least its size, or at the last gradient, and queues for the network. Each all-reduce "
        "takes what <code>colllib predict</code> expects of NCCL, or the time of the fastest schedule on these boxes "
        "without switches that add, lock-step clock.",
        note_title="What is simulated here",
        name="overlap",
    )


def _timeline(bucket: float, boxes: int, tokens: int, width: int, nccl: bool) -> Chart:
    step = overlapped(bucket, boxes, tokens, width, nccl)
    exposed = step.idle(COMPUTE)
    title = f"{units.seconds(step.seconds)} a step, of which {units.seconds(exposed)} is exposed communication"
    return gantt(step, {"compute": COMPUTE, "network": NETWORK}, title=title)


def _exposed(boxes: int, tokens: int, width: int, nccl: bool) -> dict[float, float]:
    """Size of a bucket -> seconds exposed, the best first."""
    times = {size: overlapped(size, boxes, tokens, width, nccl).idle(COMPUTE) for size in OFFERED}
    return dict(sorted(times.items(), key=lambda item: (round(item[1], 12), item[0])))


def _curve(bucket: float, boxes: int, tokens: int, width: int, nccl: bool) -> Chart:
    times = _exposed(boxes, tokens, width, nccl)
    best, least = next(iter(times.items()))
    return lines(
        {"exposed": (OFFERED, [1e3 * times[size] for size in OFFERED])},
        x_label="bucket",
        y_label="exposed, ms",
        log_x=10,
        x_format=units.size,
        marks=[Mark(bucket, "here", 1e3 * times[bucket])],
        title=f"Best: buckets of {units.size(best)}, {units.seconds(least)} exposed",
    )


def _summary(bucket: float, boxes: int, tokens: int, width: int, nccl: bool) -> str:
    step = overlapped(bucket, boxes, tokens, width, nccl)
    best, least = next(iter(_exposed(boxes, tokens, width, nccl).items()))
    exposed, sending, sums = step.idle(COMPUTE), step.busy(NETWORK), step.on(NETWORK)
    assert abs(step.seconds - float(step.end[step.on(COMPUTE)].max()) - exposed) <= 1e-9
    last = float(step.end[sums[-1]] - step.start[sums[-1]])
    share = f"{units.seconds(exposed)} of {units.seconds(sending)} exposed, {units.percent(exposed / step.seconds)} of"
    faster = step.seconds / (step.seconds - exposed + least)
    other = f"Best of these buckets: {units.size(best)}, {faster:.2f} times as fast."
    return (
        f"{units.several(sums.size, 'all-reduce')}; {share} the step; the last one, with the embedding, is "
        f"{units.seconds(last)} of it. {other if faster >= 1.01 else 'No bucket here makes the step 1% faster.'}"
    )
