"""Data parallelism as a timeline: gradients in buckets, or everything sharded layer by layer."""

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from colllib.primitives import is_whole
from colllib.training.timeline import COMPUTE, Op, Step, run

NETWORK, OUTSIDE = "network", "network between boxes"
Time = Callable[[float], float]  # from bytes to seconds
Gathers = Mapping[int, Op]  # by the place of the pass that needs it
Leaving = Mapping[int, Sequence[Op]]  # by the place of the pass after which they follow, one after the other


class Layer(NamedTuple):
    """A layer of a model on one rank: seconds forward and backward, and bytes of its parameters or gradient."""

    forward: float
    backward: float
    size: float


def buckets(sizes: Iterable[float], capacity: float) -> list[list[int]]:
    """Gradients of so many bytes, in their order, in buckets that close at their capacity or at the last gradient.

    This is the rule of PyTorch's DDP (Li and others, 2020): a bucket is full once it holds at least its bytes.

    Raises:
        ValueError: for a capacity that is not above 0, or a negative size.

    >>> buckets([4, 4, 4, 4, 4], 8)
    [[0, 1], [2, 3], [4]]
    """
    if not capacity > 0:
        raise ValueError(f"bucket {capacity!r}: must hold a number of bytes above 0")
    closed: list[list[int]] = []
    filled = capacity
    for i, size in enumerate(sizes):
        if not size >= 0:
            raise ValueError(f"gradient of {size} bytes: must be at least 0")
        if filled >= capacity:
            closed.append([])
            filled = 0.0
        closed[-1].append(i)
        filled += size
    return closed


def bucketed(layers: Sequence[Layer], bucket: float, all_reduce: Time) -> Step:
    """Forward and backward of all layers, with an all-reduce for each bucket as soon as it closes.

    Args:
        layers: the first one first; gradients come the last one first.
        bucket: its size in bytes; infinite for one bucket, which is no overlap at all.

    >>> step = bucketed([Layer(1.0, 2.0, 10)] * 4, 10, lambda size: size / 5)
    >>> step.seconds, step.idle(COMPUTE)
    (14.0, 2.0)
    """
    sizes = [layer.size for layer in reversed(layers)]
    sums = {}
    for closed in buckets(sizes, bucket):
        seconds = all_reduce(sum(sizes[i] for i in closed))
        sums[len(layers) + closed[-1]] = [Op("all-reduce", NETWORK, seconds, kind="all-reduce")]
    return _placed(layers, {}, sums)


def sharded(
    layers: Sequence[Layer],
    gather: Time,
    scatter: Time,
    *,
    prefetch: int = 1,
    reshard: bool = True,
    outside: Time | None = None,
) -> Step:
    """Fully sharded data parallelism: parameters come before a layer is used, gradients leave after.

    Gathers and reduce-scatters share one stream, as they share a communicator in PyTorch; the gradients of the layer
    that is done go before the parameters that are asked for then.

    Args:
        layers: the first one first; their size is that of the parameters.
        prefetch: when a layer is done, the parameters of the layer after the next so many are asked for.
        reshard: whether a layer's parameters are freed after its forward and gathered again (FULL_SHARD, ZeRO-3),
            or kept until its backward is done (SHARD_GRAD_OP, ZeRO-2), which needs room for all of them.
        outside: where the shards of one box are a whole model (HYBRID_SHARD), seconds of an all-reduce between the
            boxes, of what the ranks of a box have of a layer's gradients; it has a stream of its own, and the ranks
            gather and scatter through other links (default: the shards of all ranks are one model).

    Source: Zhao et al. (2023), section 3.3.2, for the stream and its order.

    Raises:
        ValueError: for a negative prefetch.

    >>> step = sharded([Layer(1.0, 2.0, 10)] * 4, lambda size: 1.0, lambda size: 1.0)
    >>> sum(op.kind == "all-gather" for op in step.ops), step.seconds
    (8, 14.0)
    """
    gathers, leaving = {}, {}
    for k, layer in enumerate(layers):
        back = 2 * len(layers) - 1 - k  # the place of its backward
        for place in (k, back) if reshard else (k,):
            gathers[place] = Op(f"all-gather {k}", NETWORK, gather(layer.size), kind="all-gather")
        leaving[back] = [Op(f"reduce-scatter {k}", NETWORK, scatter(layer.size), kind="reduce-scatter")]
        if outside is not None:
            leaving[back].append(Op(f"all-reduce {k}", OUTSIDE, outside(layer.size), kind="all-reduce"))
    return _placed(layers, gathers, leaving, prefetch)


def _placed(layers: Sequence[Layer], gathers: Gathers, leaving: Leaving, prefetch: int = 1) -> Step:
    """The step of a forward and a backward pass of each layer."""
    forward = [[Op(f"forward {k}", COMPUTE, layer.forward, kind="forward")] for k, layer in enumerate(layers)]
    backward = [[Op(f"backward {k}", COMPUTE, layer.backward, kind="backward")] for k, layer in enumerate(layers)]
    ops: list[Op] = []
    place_passes(ops, [*forward, *reversed(backward)], gathers, leaving, prefetch)
    return run(ops)


def place_passes(
    ops: list[Op],
    passes: Sequence[Sequence[Op]],
    gathers: Gathers,
    leaving: Leaving,
    prefetch: int = 1,
    anew: Container[int] = (),
) -> list[tuple[int, int]]:
    """Append passes to a step's operations, one after the other, with what is gathered before and leaves after some.

    Args:
        passes: each the operations of one stream, at least one.
        prefetch: what a pass needs is asked for when the one so many + 1 before it is done.
        anew: places of passes that begin when all before has left, and before which nothing later is asked for.

    Returns:
        the indices of the first and the last operation of each pass.

    Raises:
        ValueError: for a negative prefetch.
    """
    if not is_whole(prefetch) or prefetch < 0:
        raise ValueError(f"prefetch {prefetch}: must be a whole number of layers, at least 0")
    requests: dict[int, list[int]] = defaultdict(list)  # by the place of a pass, what is asked for when it is done
    begun = 0
    for place in range(len(passes)):
        begun = place if place in anew else begun
        if place in gathers:
            requests[max(begun, place - prefetch) - 1].append(place)
    gathered: dict[int, tuple[int, ...]] = {}  # by the place of a pass, the gather that it waits for
    spans: list[tuple[int, int]] = []
    done: tuple[int, ...] = ()
    left: tuple[int, ...] = ()
    for place in range(-1, len(passes)):
        if place >= 0:
            first, *rest = passes[place]
            spans.append((len(ops), len(ops) + len(rest)))
            after = gathered.get(place, ()) + (left if place in anew else ())
            ops += [replace(first, after=after) if after else first, *rest]
            done = left = (len(ops) - 1,)
        for op in leaving.get(place, ()):
            ops.append(replace(op, after=left))
            left = (len(ops) - 1,)
        for ahead in requests[place]:
            gathered[ahead] = (len(ops),)
            ops.append(replace(gathers[ahead], after=done))
    return spans
