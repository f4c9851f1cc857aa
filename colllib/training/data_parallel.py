"""Data parallelism as a timeline: gradients in buckets, or everything sharded layer by layer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from colllib.primitives import is_whole
from colllib.training.timeline import COMPUTE, Op, Step, run

NETWORK = "network"
Time = Callable[[float], float]  # from bytes to seconds


@dataclass(frozen=True)
class Layer:
    """A layer of a model on one rank.

    Args:
        forward: seconds.
        backward: seconds.
        size: bytes of its gradient, or of its parameters.
    """

    forward: float
    backward: float
    size: float

    def __post_init__(self) -> None:
        if not 0 <= self.size < float("inf"):
            raise ValueError(f"layer of {self.size} bytes: must be a number of at least 0")


def buckets(sizes: Iterable[float], capacity: float) -> list[list[int]]:
    """Gradients in the order in which they come, put into buckets: one closes when it is full, or at the last gradient.

    This is the rule of PyTorch's DDP (Li and others, 2020): a bucket is full once it holds at least its size.

    Args:
        sizes: of the gradients, in bytes.
        capacity: of a bucket, in bytes, above 0.

    Raises:
        ValueError: for a capacity that is not above 0, or a negative size.

    >>> buckets([4, 4, 4, 4, 4], 8)
    [[0, 1], [2, 3], [4]]
    """
    if not capacity > 0:
        raise ValueError(f"bucket {capacity!r}: must hold a number of bytes above 0")
    found: list[list[int]] = []
    held = capacity
    for i, size in enumerate(sizes):
        if not size >= 0:
            raise ValueError(f"gradient of {size} bytes: must be at least 0")
        if held >= capacity:
            found.append([])
            held = 0.0
        found[-1].append(i)
        held += size
    return found


def bucketed(layers: Sequence[Layer], bucket: float, all_reduce: Time) -> Step:
    """Forward and backward of all layers, with an all-reduce for each bucket as soon as it closes.

    Args:
        layers: the first one first; gradients come the last one first.
        bucket: its size in bytes; infinite for one bucket, which is no overlap at all.
        all_reduce: seconds for a number of bytes.

    >>> step = bucketed([Layer(1.0, 2.0, 10)] * 4, 10, lambda size: size / 5)
    >>> step.seconds, step.idle(COMPUTE)
    (14.0, 2.0)
    """
    ops = [Op(f"forward {k}", COMPUTE, layer.forward, kind="forward") for k, layer in enumerate(layers)]
    backwards = list(reversed(range(len(layers))))
    for closed in buckets((layers[k].size for k in backwards), bucket):
        here = [backwards[i] for i in closed]
        ops += [Op(f"backward {k}", COMPUTE, layers[k].backward, kind="backward") for k in here]
        size = sum(layers[k].size for k in here)
        name = f"all-reduce {here[0]}" + (f" to {here[-1]}" if len(here) > 1 else "")
        ops.append(Op(name, NETWORK, all_reduce(size), (len(ops) - 1,), kind="all-reduce"))
    return run(ops)


def sharded(
    layers: Sequence[Layer],
    gather: Time,
    scatter: Time,
    *,
    prefetch: int = 1,
    reshard: bool = True,
    gradient: float = 1.0,
) -> Step:
    """Fully sharded data parallelism: parameters come before a layer is used, gradients leave after.

    Parameters are asked for `prefetch` layers ahead: when a layer is done, those of the layer after the
    next `prefetch` follow. Gathers and reduce-scatters share one stream, the gather first.

    Args:
        layers: the first one first; their size is that of the parameters.
        gather: seconds of an all-gather of a number of bytes.
        scatter: seconds of a reduce-scatter of a number of bytes.
        prefetch: how many layers ahead parameters are asked for.
        reshard: whether a layer's parameters are freed after its forward and gathered again (FULL_SHARD, ZeRO-3),
            or kept until its backward is done (SHARD_GRAD_OP, ZeRO-2), which needs room for all of them.
        gradient: bytes of a gradient for each byte of parameters, 2 where they are reduced in FP32.

    Raises:
        ValueError: for a negative prefetch.

    >>> step = sharded([Layer(1.0, 2.0, 10)] * 4, lambda size: 1.0, lambda size: 1.0)
    >>> sum(op.kind == "all-gather" for op in step.ops), step.seconds
    (8, 14.0)
    """
    if not gradient >= 0:
        raise ValueError(f"gradient {gradient}: must be at least 0 bytes for each of the parameters")
    uses = [(way, k) for way, order in (("forward", 1), ("backward", -1)) for k in range(len(layers))[::order]]
    passes = [[Op(f"{way} {k}", COMPUTE, getattr(layers[k], way), kind=way)] for way, k in uses]
    gathers, scatters = {}, {}
    for place, (way, k) in enumerate(uses):
        if reshard or way == "forward":
            gathers[place] = Op(f"all-gather {k}", NETWORK, gather(layers[k].size), kind="all-gather")
        if way == "backward":
            size = gradient * layers[k].size
            scatters[place] = Op(f"reduce-scatter {k}", NETWORK, scatter(size), kind="reduce-scatter")
    ops: list[Op] = []
    place_passes(ops, passes, gathers, scatters, prefetch)
    return run(ops)


def place_passes(
    ops: list[Op],
    passes: Sequence[Sequence[Op]],
    gathers: Mapping[int, Op],
    scatters: Mapping[int, Op],
    prefetch: int = 1,
) -> list[tuple[int, int]]:
    """Append passes, one after the other, with what is gathered before and scattered after some of them.

    Args:
        ops: the list of a step's operations so far.
        passes: each the operations of one stream, at least one.
        gathers: by the place of the pass that needs it; it is asked for when the pass `prefetch` + 1 before is done.
        scatters: by the place of the pass after which it follows.
        prefetch: how many passes ahead.

    Returns:
        the indices of the first and the last operation of each pass.

    Raises:
        ValueError: for a negative prefetch.
    """
    if not is_whole(prefetch) or prefetch < 0:
        raise ValueError(f"prefetch {prefetch}: must be a whole number of layers, at least 0")
    prefetch = min(prefetch, len(passes))
    asked: dict[int, int] = {}
    spans: list[tuple[int, int]] = []
    for place in range(-1 - prefetch, len(passes)):
        done: tuple[int, ...] = ()
        if place >= 0:
            first, *rest = passes[place]
            spans.append((len(ops), len(ops) + len(rest)))
            ops += [replace(first, after=(asked[place],) if place in asked else ()), *rest]
            done = spans[-1][1:]
        ahead = place + 1 + prefetch
        if ahead in gathers:
            asked[ahead] = len(ops)
            ops.append(replace(gathers[ahead], after=done))
        if place in scatters:
            ops.append(replace(scatters[place], after=done))
    return spans
