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
from colllib.training.prices import price
from colllib.training.timeline import COMPUTE, Step

MODEL = MODELS["Llama 3.1 8B"]
_MEGABYTES = (1, 2, 5, 10, 16, 25, 32, 40, 50, 64, 80, 100, 128, 200, 256, 320, 400, 500, 512, 640, 800)
#: Sizes of buckets: round ones, powers of two, and what frameworks start with.
OFFERED = tuple(n * 1e6 for n in (*_MEGABYTES, 1000, 1600, 2000, 3200))
BOXES = (1, 2, 4, 8, 16, 32)
MILLISECONDS = (2, 4, 8, 16)
WIDTHS = {2: "BF16", 4: "FP32"}


def tensors(seconds: float, width: int) -> list[Layer]:
    """The matrices of Llama 3.1 8B's layers, each with its part of a layer's time.

    Args:
        seconds: of a layer's backward; the forward takes half of it.
        width: bytes of a gradient.

    >>> len(tensors(1e-3, 4)), sum(part.size for part in tensors(1e-3, 4)) / 4 / 1e9
    (224, 6.979321856)
    """
    m = MODEL
    keys = m.hidden * m.head_width * m.kv_heads
    counts = [m.hidden**2, keys, keys, m.hidden**2, *[m.hidden * m.ffn] * 3]
    parts = {count: count / sum(counts) for count in counts}
    return [Layer(seconds / 2 * parts[n], seconds * parts[n], float(width * n)) for n in counts] * m.layers


@cache
def overlapped(bucket: float, boxes: int, ms: float, width: int) -> Step:
    """A step of that model on some DGX H100, each GPU a replica."""
    machine = f"dgx-h100:{boxes}"
    ranks = 8 * boxes
    layers = tensors(ms * 1e-3, width)
    return bucketed(layers, bucket, lambda size: price("all-reduce", machine, ranks, 1, size).seconds)


def overlap_explorer() -> Explorer:
    """Bucket, machine, compute and precision against the step's timeline and the best bucket.

    >>> overlap_explorer()
    Explorer: What stays exposed (Bucket, Boxes of 8, Backward of a layer in ms, Gradients)
    """
    return Explorer(
        "What stays exposed",
        [
            Control("bucket", "Bucket", OFFERED, 25e6, kind="number", format=units.size),
            Control("boxes", "Boxes of 8", BOXES, 16),
            Control("ms", "Backward of a layer in ms", MILLISECONDS, 2),
            Control("width", "Gradients", WIDTHS, 2),
        ],
        [Part(_timeline, "The step"), Part(_curve, "Step against bucket")],
        summary=_summary,
        note="224 matrices of Llama 3.1 8B, a replica on every GPU of DGX H100 boxes. A bucket closes when it holds "
        "at least its size, or at the last gradient, and queues for the network. Each all-reduce takes the time of "
        "the fastest schedule on these boxes without switches that add, lock-step clock.",
        note_title="What is simulated here",
        name="overlap",
    )


def _timeline(bucket: float, boxes: int, ms: float, width: int) -> Chart:
    step = overlapped(bucket, boxes, ms, width)
    exposed = step.idle(COMPUTE)
    title = f"{units.seconds(step.seconds)} a step, of which {units.seconds(exposed)} is exposed communication"
    return gantt(step, {"compute": COMPUTE, "network": NETWORK}, title=title)


def _times(boxes: int, ms: float, width: int) -> dict[float, float]:
    """Size of a bucket -> seconds of the step, the best first."""
    times = {size: overlapped(size, boxes, ms, width).seconds for size in OFFERED}
    return dict(sorted(times.items(), key=lambda item: (round(item[1], 12), item[0])))


def _curve(bucket: float, boxes: int, ms: float, width: int) -> Chart:
    times = _times(boxes, ms, width)
    best, least = next(iter(times.items()))
    return lines(
        {"step": (OFFERED, [1e3 * times[size] for size in OFFERED])},
        x_label="bucket",
        y_label="step, ms",
        log_x=10,
        x_format=units.size,
        marks=[Mark(bucket, "here", 1e3 * times[bucket])],
        title=f"Best: buckets of {units.size(best)}, {units.seconds(least)} a step",
    )


def _summary(bucket: float, boxes: int, ms: float, width: int) -> str:
    step = overlapped(bucket, boxes, ms, width)
    best, least = next(iter(_times(boxes, ms, width).items()))
    exposed, sending = step.idle(COMPUTE), step.busy(NETWORK)
    assert abs(step.seconds - float(step.end[step.on(COMPUTE)].max()) - exposed) <= 1e-9
    why = "the network is the bottleneck" if sending > 2 * step.busy(COMPUTE) / 3 else "only those sent last"
    faster = step.seconds / least
    other = f"Best of these buckets: {units.size(best)}, {faster:.2f} times as fast."
    return (
        f"{step.on(NETWORK).size} all-reduces; {units.seconds(exposed)} of {units.seconds(sending)} exposed: {why}. "
        f"{other if faster >= 1.01 else 'No bucket here makes the step 1% faster.'}"
    )
