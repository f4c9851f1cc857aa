"""From a model and a parallel plan to the collectives that one training step, or one decoded token, issues.

A `Model` is a published configuration; its parameters are counted from it. A `Plan` says how the work
is cut. `training` and `decoding` turn both into `Call`s: which primitive, over how many ranks, how
many bytes M in the book's convention, how often. `price` runs the closed forms that tests hold
against execution and picks the fastest algorithm.

What is counted is what the ranks of the last pipeline stage issue, for balanced routing to the
experts, without recomputation of activations. The last stage has the output matrix, and a layer
less than the fullest stage where the layers cannot be divided evenly. Each rank of a TP group passes
all activations to the next stage, as in Megatron Core (`schedules.py` at commit d98e8a6), and under sequence
parallelism its part of them; DeepSpeed passes parts and gathers them. Every matrix is cut TP ways
(norms and routers, which are copies, are too small to matter); each rank of a TP group dispatches the
same tokens, to its part of the experts. Left out: the sum of a tied matrix's gradients over both ends of a
pipeline, and, because small, the vocabulary's own tensor-parallel collectives, the router's statistics,
the gradient norm, the loss.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files
from itertools import chain
from math import comb

from colllib.bounds import lower_bound
from colllib.cost import Terms
from colllib.ladder import Rung, on_stars
from colllib.primitives import check_counts


@dataclass(frozen=True)
class Latent:
    """Widths of multi-head latent attention (DeepSeek-V2 and -V3)."""

    query_rank: int  # of the compressed queries
    kv_rank: int  # of the compressed keys and values
    plain: int  # of a head's query and key without position
    rotary: int  # of the part with position, which all heads share
    value: int  # of a head's value


@dataclass(frozen=True)
class Model:
    """A decoder-only transformer with SwiGLU and RMSNorm, by its published configuration.

    Args:
        name: as published.
        reference: a key of the bibliography.
        layers: how many.
        hidden: width of the residual stream.
        heads: query heads.
        kv_heads: key and value heads.
        head_width: width of a head.
        ffn: inner width of a dense layer's MLP; 0 where every layer has experts.
        vocabulary: tokens.
        experts: routed experts of a layer, 0 for a dense model.
        top_k: routed experts that a token visits.
        expert_ffn: inner width of an expert.
        shared_experts: experts that every token visits.
        dense_layers: layers without experts at the bottom of a model with experts.
        router_bias: whether the router has one number per expert beside its matrix.
        latent: the sizes of latent attention, None for grouped-query attention.
        tied: whether one matrix of the vocabulary is input and output.
        window: tokens that attention reaches back in windowed layers.
        windowed: how many such layers.

    Raises:
        ValueError: for layers, a hidden or head width, heads or a vocabulary below 1, more dense layers than layers, or
            a top_k that is not between 1 and the number of experts.

    >>> f"{MODELS['Llama 3.1 405B'].parameters:,}"
    '405,853,388,800'
    """

    name: str
    reference: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_width: int
    ffn: int
    vocabulary: int
    experts: int = 0
    top_k: int = 0
    expert_ffn: int = 0
    shared_experts: int = 0
    dense_layers: int = 0
    router_bias: bool = False
    latent: Latent | None = None
    tied: bool = False
    window: int = 0
    windowed: int = 0

    def __post_init__(self) -> None:
        sizes = ("layers", "hidden", "heads", "kv_heads", "head_width", "vocabulary")
        check_counts(**{name: getattr(self, name) for name in sizes})
        if not 0 <= self.dense_layers <= self.layers:
            raise ValueError(f"{self.name}: {self.dense_layers} dense layers of {self.layers}")
        if self.experts and not 1 <= self.top_k <= self.experts:
            raise ValueError(f"{self.name}: a token visits {self.top_k} of {self.experts} experts")

    def part(self, at: int, parts: int) -> range:
        """Layers of a part, from 0; where so many do not divide them evenly, those about the middle have one more.

        >>> [MODELS["Llama 3.1 8B"].part(at, 5) for at in (0, 1, 4)]
        [range(0, 6), range(6, 13), range(26, 32)]
        """
        each_part, more = divmod(self.layers, parts)
        later = at - (parts - more) // 2  # than the first part with one more
        begin = at * each_part + min(max(0, later), more)
        return range(begin, begin + each_part + (0 <= later < more))

    def has_experts(self, layer: int) -> bool:
        """Whether a layer, from 0, has experts: those at the bottom may be dense."""
        return bool(self.experts) and layer >= self.dense_layers

    @property
    def projections(self) -> tuple[int, ...]:
        """Parameters of each weight of one layer's attention, in the order of use."""
        if self.latent is None:
            wide, narrow = (self.hidden * self.head_width * heads for heads in (self.heads, self.kv_heads))
            return wide, narrow, narrow, wide
        a = self.latent
        queries = self.hidden * a.query_rank, a.query_rank, a.query_rank * self.heads * (a.plain + a.rotary)
        keys = self.hidden * (a.kv_rank + a.rotary), a.kv_rank, a.kv_rank * self.heads * (a.plain + a.value)
        return *queries, *keys, self.heads * a.value * self.hidden

    @property
    def expert(self) -> int:
        """Parameters of one expert."""
        return 3 * self.hidden * self.expert_ffn

    def weights(self, with_experts: bool) -> list[int]:
        """Parameters of each weight of one layer but for its routed experts, in the order of use.

        >>> MODELS["Llama 3.1 8B"].weights(False)
        [4096, 16777216, 4194304, 4194304, 16777216, 4096, 58720256, 58720256, 58720256]
        """
        last = [self.hidden * self.ffn] * 3
        if with_experts:
            router = self.hidden * self.experts + (self.experts if self.router_bias else 0)
            last = [router, *[self.expert // 3] * 3 * self.shared_experts]
        return [self.hidden, *self.projections, self.hidden, *last]

    def beside_experts(self, with_experts: bool) -> int:
        """Parameters of one layer but for its routed experts."""
        return sum(self.weights(with_experts))

    @property
    def kv_width(self) -> int:
        """Numbers that attention keeps of a token in one layer: keys and values, or what they come from."""
        if self.latent is None:
            return 2 * self.kv_heads * self.head_width
        return self.latent.kv_rank + self.latent.rotary

    def attention(self, sequence: int) -> float:
        """Operations of a layer's causal attention, forward, for a token of such a sequence: the mean over both.

        A token meets those before it, in the mean half of the sequence, and in `windowed` layers the last `window`.

        >>> MODELS["Llama 3.1 405B"].attention(8192) / 8192  # 128 heads: a product with a key and one with a value
        32768.0
        """
        a, near = self.latent, min(self.window or sequence, sequence)
        widths = self.heads * (a.plain + a.rotary + a.value if a else 2 * self.head_width)
        spared = self.windowed / self.layers * (sequence - near) ** 2 / sequence
        return widths * (sequence - spared)

    @property
    def parameters(self) -> int:
        """All parameters."""
        return self._count(self.experts)

    @property
    def active(self) -> int:
        """Parameters that one token meets."""
        return self._count(self.top_k)

    def _count(self, experts: int) -> int:
        return sum(self.of_layer(layer, experts) for layer in range(self.layers)) + self.ends(1)[0]

    def of_layer(self, layer: int, experts: int) -> int:
        """Parameters of a layer, from 0, with so many routed experts if it has any."""
        routed = self.has_experts(layer)
        return self.beside_experts(routed) + routed * experts * self.expert

    def ends(self, stages: int) -> list[int]:
        """Parameters of the first and the last of so many stages beside their layers: the vocabulary's and the norm's.

        >>> MODELS["Llama 3.1 8B"].ends(1), replace(MODELS["Llama 3.1 8B"], tied=True).ends(1)
        ([1050677248], [525340672])
        """
        matrix = self.vocabulary * self.hidden
        return [matrix, matrix + self.hidden] if stages > 1 else [(1 if self.tied else 2) * matrix + self.hidden]


_TABLE = tomllib.loads((files("colllib") / "models.toml").read_text(encoding="utf-8"))
_LATENT = {name: Latent(**sizes.pop("latent")) for name, sizes in _TABLE.items() if "latent" in sizes}
MODELS = {name: Model(name, latent=_LATENT.get(name), **sizes) for name, sizes in _TABLE.items()}

BF16, FP32 = 2, 4  # bytes of a number on the wire; gradients are reduced in FP32
Group = tuple[float, int, int]  # M in bytes or parameters, ranks, and how far apart these are


@dataclass(frozen=True)
class Plan:
    """How many ways each axis cuts the work. GPUs = DP x TP x PP x CP; EP's ranks are among DP's and CP's.

    Args:
        dp: data parallel: replicas, each with its part of the batch.
        tp: tensor parallel: ranks that share each matrix.
        pp: pipeline parallel: stages of consecutive layers.
        cp: context parallel: ranks that share each sequence.
        ep: expert parallel: ranks that share each layer's experts.
        zero: what data parallelism shards: 0 nothing, 1 optimizer state, 2 and gradients, 3 and
            parameters (FSDP). With 2 parameters come before each forward, in a pipeline once a step.
        replicate: copies of what ZeRO shards, above 1 in hybrid sharding (HSDP, MiCS): ranks next to each other
            share one, and the copies' gradients are summed in the end, in FSDP2 by `set_requires_all_reduce`.
        sequence_parallel: whether TP keeps the activations between its matrices cut along the
            sequence: reduce-scatter and all-gather instead of all-reduce.

    Raises:
        ValueError: for a number below 1, a ZeRO stage that does not exist, an EP or copies that do not
            divide DP x CP, or copies of nothing that is sharded.

    >>> Plan(dp=128, tp=8, pp=16).gpus
    16384
    """

    dp: int = 1
    tp: int = 1
    pp: int = 1
    cp: int = 1
    ep: int = 1
    zero: int = 1
    replicate: int = 1
    sequence_parallel: bool = False

    def __post_init__(self) -> None:
        check_counts(dp=self.dp, tp=self.tp, pp=self.pp, cp=self.cp, ep=self.ep, replicate=self.replicate)
        if self.zero not in (0, 1, 2, 3):
            raise ValueError(f"zero = {self.zero}: the stages of ZeRO are 0 (none), 1, 2 and 3")
        if self.replicas % self.ep:
            raise ValueError(f"ep = {self.ep} does not divide dp x cp = {self.replicas}, whose ranks it takes")
        if self.replicas % self.replicate or self.shards % self.ep:
            multiple = f", each on a multiple of ep = {self.ep} ranks" if self.ep > 1 else ""
            raise ValueError(
                f"replicate = {self.replicate}: must divide dp x cp = {self.replicas} into copies{multiple}"
            )
        if self.replicate > 1 and (not self.zero or self.shards == 1):
            shared = f"zero = {self.zero} and a copy on {self.shards} of the ranks"
            raise ValueError(f"replicate = {self.replicate}: copies of what ZeRO shards; {shared} shard nothing")

    @property
    def gpus(self) -> int:
        """Ranks in all."""
        return self.dp * self.tp * self.pp * self.cp

    @property
    def replicas(self) -> int:
        """Ranks that hold the same parameters, but for experts: DP x CP."""
        return self.dp * self.cp

    @property
    def shards(self) -> int:
        """Ranks among which ZeRO shards a copy, but for experts."""
        return self.replicas // self.replicate


@dataclass(frozen=True)
class Call:
    """A collective that each rank of its group issues."""

    axis: str  # DP, TP, SP, CP, EP or PP
    primitive: str
    ranks: int
    message: float  # M in bytes, by the book's convention for the primitive
    count: int  # how often in one step
    why: str  # what it moves
    senders: int = 1  # ranks that take turns in sending: 2 for a pipeline's pair that sends both ways

    @cached_property
    def sent(self) -> float:
        """Bytes that the busiest rank sends in a step with an algorithm that attains the lower bound."""
        return self.count * self.message * float(lower_bound(self.primitive, self.ranks).n_beta) / self.senders


def merged(calls: Iterable[Call]) -> tuple[Call, ...]:
    """The calls, with those that differ only in what they move as one.

    >>> [one] = merged(training(MODELS["Llama 3.1 8B"], Plan(tp=8), tokens=8192))
    >>> one.count, one.why
    (128, 'outputs of attention and MLP; input gradients of attention and MLP')
    """
    alike: dict[tuple[str, str, int, float], Call] = {}
    for call in calls:
        key = (call.axis, call.primitive, call.ranks, call.message)
        if key in alike:
            call = replace(call, count=alike[key].count + call.count, why=f"{alike[key].why}; {call.why}")
        alike[key] = call
    return tuple(alike.values())


def training(model: Model, plan: Plan, *, tokens: int, microbatches: int = 1, gradient: int = FP32) -> tuple[Call, ...]:
    """The collectives of one training step, as a rank of the last pipeline stage issues them.

    Args:
        tokens: in one step, over all ranks.
        microbatches: passes per step and replica (gradient accumulation, or what fills the pipeline).
        gradient: bytes of a number in the gradients that are reduced; all else is BF16.

    Raises:
        ValueError: if the tokens cannot be divided among replicas and microbatches, or the plan does not fit the model.

    >>> plan = Plan(dp=128, tp=8, pp=16)
    >>> for call in training(MODELS["Llama 3.1 405B"], plan, tokens=2**24, microbatches=16):
    ...     print(call.axis, call.primitive, call.ranks, round(call.message / 1e6), "MB,", call.count, "times")
    DP reduce-scatter 128 12208 MB, 1 times
    DP all-gather 128 6104 MB, 1 times
    TP all-reduce 8 268 MB, 224 times
    TP all-reduce 8 268 MB, 224 times
    PP point-to-point 2 268 MB, 32 times
    """
    check_fits(model, plan)
    check_counts(tokens=tokens, microbatches=microbatches)
    share, rest = divmod(tokens, plan.replicas * microbatches)
    if rest:
        parts = f"{plan.replicas} replicas x {microbatches} microbatches"
        raise ValueError(f"{tokens} tokens cannot be divided evenly among {parts}")
    calls = _gradients(model, plan, gradient, microbatches)
    calls += _passes(model, plan, share, microbatches, model.part(plan.pp - 1, plan.pp), (False, True))
    calls += _pipeline(model, plan, share, microbatches, backward=True)
    return tuple(call for call in calls if call.ranks > 1 and call.message and call.count)


def decoding(model: Model, plan: Plan, *, sequences: int) -> tuple[Call, ...]:
    """The collectives between two tokens of a sequence: all layers, all stages, one token per sequence.

    Args:
        plan: its DP issues nothing, its CP must be 1.
        sequences: in flight on each replica (each rank of EP has as many).

    >>> [call] = decoding(MODELS["Llama 3.1 70B"], Plan(tp=8), sequences=1)
    >>> call.primitive, call.message, call.count
    ('all-reduce', 16384, 160)
    """
    check_fits(model, plan)
    check_counts(sequences=sequences)
    if plan.cp > 1:
        raise ValueError(f"cp = {plan.cp}: decoding needs cp = 1")
    calls = _passes(model, plan, sequences, 1, range(model.layers), (False,))
    calls += _pipeline(model, plan, sequences, plan.pp - 1, backward=False)
    return tuple(call for call in calls if call.ranks > 1 and call.count)


def memory(model: Model, plan: Plan) -> float:
    """Bytes per GPU for BF16 parameters, FP32 gradients and FP32 Adam state, on the last stage.

    18 bytes per parameter, of which ZeRO shards 12, 16 or all. Activations are not in it.

    >>> round(memory(MODELS["Llama 3.1 8B"], Plan(dp=8, zero=3)) / 1e9, 2)
    18.07
    """
    return state(plan, _held_last(model, plan))


def state(plan: Plan, held: Iterable[Group]) -> float:
    """Bytes that parameters take with their gradients and Adam state: `memory` of those that `held_alike` gives."""
    sharded = (0, 12, 16, 18)[plan.zero]
    return sum(parameters * (18 - sharded + sharded / ranks) for parameters, ranks, _ in held)


def bubble(stages: int, microbatches: int) -> float:
    """The share of a step in which a stage of a plain pipeline waits: (p - 1)/(m + p - 1) of p stages, m microbatches.

    >>> bubble(4, 12)
    0.2
    """
    check_counts(stages=stages, microbatches=microbatches)
    return (stages - 1) / (microbatches + stages - 1)


def copies(experts: int, top_k: int, ranks: int) -> float:
    """Ranks that a token must reach on average when its k experts are a random choice, spread over the ranks.

    Never more than k, and what an all-to-all that sends one copy per rank, and not one per expert, moves.

    >>> round(copies(256, 8, 8), 2), copies(8, 2, 8)
    (5.29, 2.0)
    """
    check_counts(experts=experts, top_k=top_k, ranks=ranks)
    if top_k > experts or experts % ranks:
        raise ValueError(f"{top_k} of {experts} experts on {ranks} ranks: as many on each, and no more than there are")
    elsewhere = experts - experts // ranks
    return ranks * (1 - comb(elsewhere, top_k) / comb(experts, top_k))


def check_fits(model: Model, plan: Plan) -> None:
    """Refuse a plan that cuts a model into parts that it does not have, naming the axis and what it must divide."""
    if plan.pp > model.layers:
        raise ValueError(f"pp = {plan.pp}: {model.name} has {model.layers} layers")
    if plan.ep > 1 and not model.experts:
        raise ValueError(f"ep = {plan.ep}: {model.name} has no experts")
    if model.experts % plan.ep:
        fit = next((f", as {n} does" for n in range(plan.ep, 1, -1) if model.experts % n == plan.replicas % n == 0), "")
        raise ValueError(f"ep = {plan.ep}: must divide the {model.experts} experts of {model.name}{fit}")
    if model.heads % plan.tp:
        raise ValueError(f"tp = {plan.tp}: must divide the {model.heads} heads of {model.name}")
    if plan.sequence_parallel and model.experts:
        raise ValueError("sequence parallelism inside a layer with experts is not modeled here: leave it out")


def held_alike(model: Model, plan: Plan, layers: Iterable[int], ends: int = 0) -> list[Group]:
    """Parameters that a rank holds, how many ranks hold them (or share them, under ZeRO), and how far apart these are.

    Of some layers, numbered from 0, and of `ends` more; where EP parts the experts, theirs are a group of their own.

    >>> of_layer, of_experts = held_alike(MODELS["Mixtral 8x7B"], Plan(dp=8, tp=2, ep=4), [0])
    >>> of_layer[1:], of_experts[1:]
    ((8, 2), (2, 8))
    """
    routed = [model.has_experts(layer) for layer in layers]
    beside, experts = ends + sum(map(model.beside_experts, routed)), sum(routed) * model.experts * model.expert
    if plan.ep == 1 or not experts:
        return [((beside + experts) / plan.tp, plan.shards, plan.tp)]
    together = plan.tp * plan.ep
    return [(beside / plan.tp, plan.shards, plan.tp), (experts / together, plan.shards // plan.ep, together)]


def _held_last(model: Model, plan: Plan) -> list[Group]:
    """What a rank of the last pipeline stage holds, which has the output matrix; of a single stage both matrices."""
    return held_alike(model, plan, model.part(plan.pp - 1, plan.pp), model.ends(plan.pp)[-1])


def _gradients(model: Model, plan: Plan, width: int, microbatches: int) -> list[Call]:
    calls, stage = list[Call](), model.part(plan.pp - 1, plan.pp)
    both = ("", len(stage)), (" of the experts", sum(map(model.has_experts, stage)))
    for (whose, layers), (parameters, ranks, _) in zip(both, _held_last(model, plan), strict=False):
        gradient, parameter = parameters * width, parameters * BF16
        if plan.zero == 0:
            calls.append(Call("DP", "all-reduce", ranks, gradient, 1, "gradients" + whose))
            continue
        # sharded parameters come and go layer by layer, sharded gradients leave after each microbatch, copies' at last
        parts = max(1, layers) if plan.zero > 1 else 1
        scatters = microbatches if plan.zero > 1 else 1
        gathers = {2: microbatches if plan.pp == 1 else 1, 3: 2 * microbatches}.get(plan.zero, 1)
        when = ", before use" if plan.zero > 1 else ", after the optimizer"
        calls += [
            Call("DP", "reduce-scatter", ranks, gradient / parts, parts * scatters, "gradients" + whose),
            Call("DP", "all-reduce", plan.replicate, gradient / ranks / parts, parts, "copies' gradients" + whose),
            Call("DP", "all-gather", ranks, parameter / parts, parts * gathers, "parameters" + whose + when),
        ]
    return calls


def in_layer(model: Model, plan: Plan, tokens: int, *, backward: bool) -> list[Call]:
    """What a rank of TP and CP issues in one pass through a layer, in order, for the tokens that it has.

    CP's are those of TransformerEngine's `all_gather`, to which Megatron gives a latent's keys and values for all heads
    (`multi_latent_attention.py`, d98e8a6); the ring of ring-flash-attention passes on gradients in FP32.

    >>> [call.axis for call in in_layer(MODELS["Llama 3.1 8B"], Plan(tp=8), 1024, backward=False)]
    ['TP', 'TP', 'CP']
    """
    message = tokens * model.hidden * BF16
    direction = "backward" if backward else "forward"
    if plan.sequence_parallel:
        gather = Call("SP", "all-gather", plan.tp, message, 1, f"into attention and MLP, {direction}")
        again = replace(gather, why="inputs once more, for the weights' gradients")
        scatter = Call("SP", "reduce-scatter", plan.tp, message, 1, f"out of attention and MLP, {direction}")
        half = [gather, again, scatter] if backward else [gather, scatter]
    else:
        what = "input gradients" if backward else "outputs"
        half = [Call("TP", "all-reduce", plan.tp, message, 1, f"{what} of attention and MLP")]
    a = model.latent
    attended = model.heads * (a.plain + a.rotary + a.value) / plan.tp if a else kept(model, plan.tp)
    context = tokens * plan.cp * attended * BF16
    calls = [*half, *half]  # attention and MLP
    calls.append(Call("CP", "all-gather", plan.cp, context, 1, "keys and values, forward and again backward"))
    if backward:
        calls.append(Call("CP", "reduce-scatter", plan.cp, context, 1, "gradients of keys and values"))
    return calls


def kept(model: Model, tp: int) -> float:
    """Numbers that each of `tp` ranks caches of a token in one layer: TP shares the heads, and copies a latent.

    >>> kept(MODELS["Llama 3.1 405B"], 8), kept(MODELS["DeepSeek-V3"], 8)
    (256.0, 576.0)
    """
    return model.kv_width / (1 if model.latent else min(tp, model.kv_heads))


def read_for_token(model: Model, sequences: int) -> float:
    """Parameters that are read for one token of each sequence: of the experts those that a uniform gate chooses.

    >>> [f"{read_for_token(MODELS['DeepSeek-V3'], n) / 1e9:.0f}" for n in (1, 128)]
    ['37', '659']
    """
    with_experts = sum(map(model.has_experts, range(model.layers)))
    untouched = model.experts * (1 - model.top_k / model.experts) ** sequences if with_experts else 0.0
    looked_up = 0 if model.tied else model.vocabulary * model.hidden  # the input's matrix, of which rows are read
    return model.parameters - untouched * with_experts * model.expert - looked_up


def of_vocabulary(model: Model, tp: int, sequences: int) -> list[Call]:
    """What TP issues for the two matrices of the vocabulary, cut along it, for one token of each sequence.

    >>> [(call.primitive, call.message) for call in of_vocabulary(MODELS["Llama 3.1 405B"], 8, 1)]
    [('all-reduce', 32768), ('all-gather', 256512)]
    """
    embedded, logits = (sequences * width * BF16 for width in (model.hidden, model.vocabulary))
    return [
        Call("TP", "all-reduce", tp, embedded, 1, "embeddings"),
        Call("TP", "all-gather", tp, logits, 1, "logits"),
    ]


def of_experts(model: Model, plan: Plan, tokens: int, *, backward: bool) -> list[Call]:
    """What a rank of EP issues in one pass through a layer with experts, in order; arguments as for `in_layer`.

    >>> calls = of_experts(MODELS["DeepSeek-V3"], Plan(dp=8, ep=8), 4096, backward=False)
    >>> [(call.why, call.message) for call in calls]
    [('dispatch', 469762048), ('combine', 469762048)]
    """
    contents = ["gradients of combine and dispatch"] * 2 if backward else ["dispatch", "combine"]
    message = tokens * model.top_k * model.hidden * BF16
    return [Call("EP", "all-to-all", plan.ep, message, 1, content) for content in contents]


def _passes(model: Model, plan: Plan, tokens: int, count: int, layers: range, ways: tuple[bool, ...]) -> list[Call]:
    """What so many passes through some layers issue, equal calls as one; `ways` says of each whether it is backward."""
    calls = []
    for of_pass, times in ((in_layer, len(layers)), (of_experts, sum(map(model.has_experts, layers)))):
        issued = chain(*(of_pass(model, plan, tokens, backward=backward) for backward in ways))
        calls += [replace(call, count=alike * times * count) for call, alike in Counter(issued).items()]
    return calls


def _pipeline(model: Model, plan: Plan, tokens: int, count: int, *, backward: bool) -> list[Call]:
    pair, message = min(2, plan.pp), tokens * model.hidden * BF16 / (plan.tp if plan.sequence_parallel else 1)
    passed = Call("PP", "point-to-point", pair, message, count, "activations to the next stage")
    if backward:
        passed = replace(passed, count=2 * count, why="activations forward, their gradients back", senders=2)
    return [passed]


@dataclass(frozen=True)
class Priced:
    """A call, the fastest algorithm for it, and the sum of the two lower bounds for one call, in seconds."""

    call: Call
    rung: Rung
    bound: float

    @property
    def seconds(self) -> float:
        """One call."""
        return self.rung.seconds

    @property
    def total(self) -> float:
        """Seconds of all the calls in a step, one after another."""
        return self.call.count * self.rung.seconds


def price(call: Call, *, alpha: float, bandwidth: float) -> Priced:
    """The fastest algorithm for a call, on a star with one full-duplex port per rank, lock-step clock.

    >>> [call] = decoding(MODELS["Llama 3.1 70B"], Plan(tp=8), sequences=1)
    >>> priced = price(call, alpha=0.5e-6, bandwidth=900e9)
    >>> priced.rung.algorithm.name, f"{priced.seconds * 1e6:.2f} µs"
    ('recursive-doubling', '1.55 µs')
    """
    terms: Terms = {"message": call.message, "alpha": alpha, "bandwidth": bandwidth}
    bound = lower_bound(call.primitive, call.ranks).seconds(**terms)
    fastest = min(on_stars(call.primitive, call.ranks, **terms), key=lambda rung: rung.seconds)
    return Priced(call, fastest, bound)
