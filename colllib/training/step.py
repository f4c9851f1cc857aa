"""A whole training step on a machine: every stage's compute and its collectives, priced and put in order.

Ranks of a machine are numbered as Megatron numbers them: TP varies fastest, then CP, DP and PP; the
ranks of EP are neighbors in CP and DP. All replicas do the same at the same time, and so do the ranks of a
TP group, so that one rank of each stage is simulated. Its streams are the compute stream, on which
also the collectives of TP, CP and EP wait (their results are needed at once), and the network, where
buckets of gradients queue; with `shared` they queue with the pipeline's messages for one card.

Compute is 2 operations per parameter and token forward and twice that backward, at a sustained
rate. Left out: attention's products of queries and keys, the vocabulary and its matrices, the
optimizer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite

from colllib.ladder import topology
from colllib.limits import check_size
from colllib.parallelism import Model, Plan, Precision, check_fits
from colllib.primitives import check_counts
from colllib.training.data_parallel import buckets, place_passes
from colllib.training.pipelines import MOST_PASSES, Spans, Work, compute, order, send_on
from colllib.training.prices import in_box, price, send
from colllib.training.timeline import Op, Step, run


@dataclass(frozen=True)
class Training:
    """What a step does.

    Args:
        model: its layers, all alike, are cut into stages; one with experts has them in every layer.
        plan: dp x cp x tp x pp ranks; with zero 2 or 3 a layer's parameters are asked for one pass ahead.
        machine: of boxes with speeds, such as "dgx-h100:16".
        tokens: of a microbatch.
        microbatches: of a replica's step.
        rate: operations per second that a rank sustains.
        schedule: of the pipeline.
        chunks: of interleaved stages.
        bucket: bytes of gradients that leave together.
        shared: whether gradients and activations share the card of a rank.
        precision: bytes per number.

    Raises:
        ValueError: for a plan that is not the machine's size, or a number that cannot be.
    """

    model: Model
    plan: Plan
    machine: str
    tokens: int = 8192
    microbatches: int = 1
    rate: float = 400e12
    schedule: str = "1f1b"
    chunks: int = 1
    bucket: float = 25e6
    shared: bool = False
    precision: Precision = field(default_factory=Precision)

    def __post_init__(self) -> None:
        plan, where = self.plan, topology(self.machine)
        in_box(self.machine)
        if plan.gpus != where.ranks:
            product = f"dp {plan.dp} x tp {plan.tp} x pp {plan.pp} x cp {plan.cp}"
            raise ValueError(f"plan of {plan.gpus} ranks ({product}) on {self.machine}: it has {where.ranks}")
        check_counts(tokens=self.tokens, microbatches=self.microbatches, chunks=self.chunks)
        if self.tokens % plan.cp:
            raise ValueError(f"cp = {plan.cp}: must divide the {self.tokens} tokens of a microbatch")
        passes = self.model.layers * self.microbatches
        check_size(f"{self.model.layers} layers with {self.microbatches} microbatches", passes, MOST_PASSES, "passes")
        for name, number in (("rate", self.rate), ("bucket", self.bucket)):
            if not (number > 0 and isfinite(number)):
                raise ValueError(f"{name} {number!r}: must be a finite number above 0")
        if self.model.layers < plan.pp * self.chunks:
            raise ValueError(
                f"{self.model.layers} layers in {plan.pp} stages of {self.chunks} chunks: one each at least"
            )
        check_fits(self.model, plan)

    def layers(self, at: int) -> int:
        """Layers of the `at`-th part of the model; where they do not divide evenly, those at the ends have one less."""
        parts = self.plan.pp * self.chunks
        every, more = divmod(self.model.layers, parts)
        fewer = parts - more
        return every + (fewer // 2 <= at < parts - (fewer - fewer // 2)) if more else every

    # -- what a layer takes on one rank -------------------------------------------------------

    @property
    def own(self) -> int:
        """Tokens of a microbatch that one rank has."""
        return self.tokens // self.plan.cp

    @property
    def parameters(self) -> dict[str, float]:
        """Parameters of a layer that one rank holds, by the axis whose ranks hold the same."""
        model, plan = self.model, self.plan
        shared = model.beside_experts(bool(model.experts)) / plan.tp
        experts = model.experts * model.expert / plan.ep / plan.tp
        return {"dp": shared + experts} if plan.ep == 1 else {"dp": shared, "experts": experts}

    @property
    def forward(self) -> float:
        """Seconds of a layer's forward with one microbatch, without communication."""
        model = self.model
        met = model.beside_experts(bool(model.experts)) + model.top_k * model.expert
        return 2 * met * self.own / self.plan.tp / self.rate

    def seconds(self, primitive: str, axis: str, message: float) -> float:
        """A collective along an axis of the plan; nothing for a single rank.

        The ranks of "dp" are those of cp too; "experts" are those that hold the same experts.
        """
        plan = self.plan
        ranks, apart = {
            "tp": (plan.tp, 1),
            "ep": (plan.ep, plan.tp),
            "experts": (plan.replicas // plan.ep, plan.tp * plan.ep),
            "cp": (plan.cp, plan.tp),
            "dp": (plan.replicas, plan.tp),
        }[axis]
        return 0.0 if ranks == 1 else price(primitive, self.machine, ranks, apart, message).seconds

    def send(self, src: int, dst: int) -> float:
        """Seconds of a microbatch's activations from one stage to another, with the gather that makes them whole."""
        plan = self.plan
        seconds = send(self.machine, plan.tp * plan.replicas, src, dst, self.activations / plan.tp)
        if not plan.sequence_parallel:  # each rank of a TP group sends its part, and the next stage's group gathers
            seconds += self.seconds("all-gather", "tp", self.activations)
        return seconds

    def of_layers(self, primitive: str, width: int, layers: int = 1) -> float:
        """Seconds of a collective on all parameters of some layers, or their gradients, of so many bytes each."""
        return sum(self.seconds(primitive, axis, n * width * layers) for axis, n in self.parameters.items())

    @property
    def activations(self) -> float:
        """Bytes of a microbatch's activations between two layers."""
        return float(self.own * self.model.hidden * self.precision.activation)

    def inside(self, kind: str) -> list[tuple[str, float]]:
        """Collectives of TP, CP and EP within a layer's pass, which compute waits for: name and seconds."""
        plan, found = self.plan, []
        if kind == "W":
            return []
        if plan.tp > 1 and plan.sequence_parallel:
            gather = ("all-gather", self.seconds("all-gather", "tp", self.activations))
            scatter = ("reduce-scatter", self.seconds("reduce-scatter", "tp", self.activations))
            # backward gathers the inputs once more, for the gradients of the weights
            found += 2 * [gather, *([gather] if kind == "B" else []), scatter]
        elif plan.tp > 1:
            found += [("all-reduce", self.seconds("all-reduce", "tp", self.activations))] * 2
        if plan.cp > 1:  # the keys and values of all tokens, and backward their gradients
            heads = 1 if self.model.latent else min(plan.tp, self.model.kv_heads)
            message = self.tokens * self.model.kv_width / heads * self.precision.activation
            for primitive in ("all-gather", "reduce-scatter")[: 1 + (kind == "B")]:
                found.append((f"{primitive} of keys and values", self.seconds(primitive, "cp", message)))
        if plan.ep > 1:
            size = self.precision.dispatch if kind == "F" else self.precision.activation
            numbers = self.own * self.model.hidden * self.model.top_k
            found += [
                ("dispatch", self.seconds("all-to-all", "ep", numbers * size)),
                ("combine", self.seconds("all-to-all", "ep", numbers * self.precision.activation)),
            ]
        return found


def simulate(training: Training) -> Step:
    """The timeline of one step.

    >>> from colllib.parallelism import MODELS, Plan
    >>> plan = Plan(dp=16, tp=8, zero=0)
    >>> step = simulate(Training(MODELS["Llama 3.1 8B"], plan, "dgx-h100:16"))
    >>> round(step.busy("compute 0") / step.seconds, 2)
    0.75
    """
    plan = training.plan
    ops: list[Op] = []
    spans: Spans = {}
    for stage in range(plan.pp):
        _stage(training, stage, ops, spans)
    send_on(ops, spans, plan.pp, training.chunks, training.send, training.shared)
    return run(ops)


def _stage(training: Training, stage: int, ops: list[Op], spans: Spans) -> None:
    """A stage's work in order, layer by layer, its parameters where they are sharded, and its gradients."""
    plan, size = training.plan, training.precision
    works = order(training.schedule, plan.pp, stage, training.microbatches, training.chunks)
    split = any(work.kind == "W" for work in works)
    final = "W" if split else "B"
    passes = [work for work in works for _ in range(training.layers(work.chunk * plan.pp + stage))]
    card = (f"card {stage}",) if training.shared else ()
    gathers: dict[int, Op] = {}
    scatters: dict[int, Op] = {}
    if plan.zero > 1 and plan.replicas > 1:
        gather, scatter = (
            Op(kind, f"network {stage}", training.of_layers(kind, width), (), card, kind)
            for kind, width in (("all-gather", size.parameter), ("reduce-scatter", size.gradient))
        )
        for place, work in enumerate(passes):
            if (work.kind in "FB" and plan.zero == 3) or (work.kind, work.microbatch) == ("F", 0):
                gathers[place] = gather
            if work.kind == final:
                scatters[place] = scatter
    layers = [_layer(training, work, compute(stage), split) for work in passes]
    ready: list[int] = []  # the operation after which each layer's gradient is there
    for work, (first, end) in zip(passes, place_passes(ops, layers, gathers, scatters), strict=True):
        spans[work, stage] = spans.get((work, stage), (first, end))[0], end
        if (work.kind, work.microbatch) == (final, training.microbatches - 1):
            ready.append(end)
    if plan.zero < 2 and plan.replicas > 1:
        _gradients(training, stage, ready, card, ops)


def _layer(training: Training, work: Work, stream: str, split: bool) -> list[Op]:
    seconds = (2 if work.kind == "B" and not split else 1) * training.forward
    name = f"{work.kind}{work.microbatch}"
    inside = training.inside(work.kind)
    own = Op(name, stream, seconds / max(1, len(inside)), kind=work.kind)
    ops = [op for what, long in inside for op in (own, Op(f"{what} of {name}", stream, long, kind=what))]
    return ops or [own]


def _gradients(training: Training, stage: int, ready: list[int], uses: tuple[str, ...], ops: list[Op]) -> None:
    """Buckets of gradients of the whole stage; with ZeRO-1 scattered, and the parameters gathered at the end."""
    plan, size = training.plan, training.precision
    stream = f"network {stage}"
    primitive = "reduce-scatter" if plan.zero else "all-reduce"
    for closed in buckets([sum(training.parameters.values()) * size.gradient] * len(ready), training.bucket):
        seconds = training.of_layers(primitive, size.gradient, len(closed))
        ops.append(Op(f"{primitive} of {len(closed)}", stream, seconds, (ready[closed[-1]],), uses, primitive))
    if plan.zero:
        seconds = training.of_layers("all-gather", size.parameter, len(ready))
        ops.append(Op("all-gather", stream, seconds, (), uses, "all-gather"))
