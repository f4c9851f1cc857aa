"""The overlap explorer: buckets of gradients behind a backward pass, as a timeline."""

from __future__ import annotations

from functools import cache

from colllib import units
from colllib.parallelism import MODELS
from colllib.show.control import Control, Part, State
from colllib.show.explorer import Explorer
from colllib.show.figure import Chart
from colllib.show.gantt import gantt
from colllib.show.lines import Mark, lines
from colllib.training.data_parallel import NETWORK, Layer, bucketed
from colllib.training.prices import price
from colllib.training.timeline import COMPUTE, Step

MODEL = MODELS["Llama 3.1 8B"]
SIZES = tuple(n * 1e6 for n in (1, 5, 10, 25, 50, 100, 200, 400, 800, 1600, 3200))
BOXES = (1, 2, 4, 16, 32)
MILLISECONDS = (2, 4, 8, 16)
WIDTHS = {2: "BF16", 4: "FP32"}
ALL = ("bucket", "boxes", "ms", "width")


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
    parts = [count / sum(counts) for count in counts]
    layer = [
        Layer(seconds / 2 * part, seconds * part, float(width * count))
        for part, count in zip(parts, counts, strict=True)
    ]
    return layer * m.layers


@cache
def overlapped(bucket: float, boxes: int, milliseconds: float, width: int) -> Step:
    """A step of that model on some DGX H100, each GPU a replica."""
    machine, ranks = f"dgx-h100:{boxes}", 8 * boxes
    return bucketed(
        tensors(milliseconds * 1e-3, width),
        bucket,
        lambda size: price("all-reduce", machine, ranks, 1, size).seconds,
    )


def overlap_explorer() -> Explorer:
    """Bucket, machine, compute and precision against the step's timeline and the best bucket.

    >>> overlap_explorer()
    Explorer: What stays exposed (Bucket, Boxes of 8, Backward of a layer in ms, Gradients)
    """
    return Explorer(
        "What stays exposed",
        [
            Control("bucket", "Bucket", SIZES, 25e6, kind="number", format=units.size),
            Control("boxes", "Boxes of 8", BOXES, 16),
            Control("ms", "Backward of a layer in ms", MILLISECONDS, 2),
            Control("width", "Gradients", WIDTHS, 2),
        ],
        [
            Part(ALL, _timeline, "The step"),
            Part(ALL, _curve, "Step against bucket"),
            Part((), lambda _: _NOTE, fold="What is simulated here"),
        ],
        summary=Part(ALL, _summary),
        name="overlap",
    )


_NOTE = (
    "<p>224 matrices of Llama 3.1 8B, a replica on every GPU of DGX H100 boxes. A bucket closes when it holds at least "
    "its size, or at the last gradient, and queues for the network. Each all-reduce takes the time of the fastest of "
    "rings, hierarchy and trees that were executed on these boxes, lock-step clock.</p>"
)


def _key(state: State) -> tuple[float, int, float, int]:
    return state["bucket"], state["boxes"], state["ms"], state["width"]


def _timeline(state: State) -> Chart:
    step = overlapped(*_key(state))
    open_ = step.idle(COMPUTE)
    title = f"{units.seconds(step.seconds)} a step, of which {units.seconds(open_)} is exposed communication"
    return gantt(step, {"compute": COMPUTE, "network": NETWORK}, title=title)


def _best(state: State) -> tuple[float, float]:
    times = {size: overlapped(size, *_key(state)[1:]).seconds for size in SIZES}
    best = min(times, key=lambda size: (round(times[size], 12), size))
    return best, times[best]


def _curve(state: State) -> Chart:
    times = [1e3 * overlapped(size, *_key(state)[1:]).seconds for size in SIZES]
    best, least = _best(state)
    here = overlapped(*_key(state)).seconds
    return lines(
        {"step": (SIZES, times)},
        x_label="bucket",
        y_label="step, ms",
        log_x=10,
        x_format=units.size,
        marks=[Mark(state["bucket"], "here", 1e3 * here)],
        title=f"Best: buckets of {units.size(best)}, {units.seconds(least)} a step",
    )


def _summary(state: State) -> str:
    step = overlapped(*_key(state))
    best, least = _best(state)
    waiting = step.idle(COMPUTE)
    calls = int(step.on(NETWORK).size)
    last = step.seconds - float(step.end[step.on(COMPUTE)].max())
    assert abs(last - waiting) <= 1e-9
    why = (
        "the network is the bottleneck" if step.busy(NETWORK) > 2 * step.busy(COMPUTE) / 3 else "only the tail is open"
    )
    return (
        f"{calls} all-reduces; {units.seconds(waiting)} of {units.seconds(step.busy(NETWORK))} exposed: {why}. "
        f"Best of these buckets: {units.size(best)}, {step.seconds / least:.2f} times as fast."
    )
