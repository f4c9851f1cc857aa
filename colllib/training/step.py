"""A whole training step on a machine: every stage's compute and its collectives, priced and put in order.

Ranks of a machine are numbered as Megatron numbers them: TP varies fastest, then CP, DP and PP; the
ranks of EP are neighbors in CP and DP. All replicas do the same at the same time, and so do the ranks of a
TP group, so that one rank of each stage is simulated. It has a stream for what it computes, on which the
collectives of TP, CP and EP wait as well (their results are needed at once, but for those of TP's backward, beside
which Megatron computes weights' gradients; the assumed rate has them wait), and one for each communicator, as in
PyTorch: gathers and scatters of the shards queue on one, the sums of several copies on another, and
the pipeline's messages between two stages on a third. Whatever leaves the box uses the card of its rank, all
else the rank's port in the box; what uses the same one at the same time shares it equally. Where gradients or
parameters are sharded and there is no pipeline, a microbatch begins when the gradients of the one before have
left, and asks for its first parameters then.

Compute is 2 operations per parameter and token and those of causal attention forward, and twice that backward, at the
rate of matrix products alone. A bucket closes as if attention were spread over a layer's weights. Left out: the
vocabulary and its matrices, the optimizer.

Source for the streams: PyTorch's FSDP2, `torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py` at commit
002a76f, lines 64 to 79 (a CUDA stream each for gathers, scatters and the copies' sums), and its pull request
186335 (gathers and scatters share one communicator, which runs one after the other, unless asked otherwise).
FSDP1 has the same groups (`_reduce_grad` in `_runtime_utils.py`). For where a microbatch begins: FSDP2's
`_fsdp_state.py` at commit 01c9f4f, `_root_pre_forward` and `_root_post_backward_final_callback`.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import accumulate, chain
from math import isfinite

from colllib import units
from colllib.ladder import topology
from colllib.limits import check_size
from colllib.parallelism import BF16, FP32, Group, Model, Plan, check_fits, held_alike, in_layer, of_experts, state
from colllib.primitives import check_counts
from colllib.training.data_parallel import Gathers, buckets, place_passes
from colllib.training.pipelines import MOST_PASSES, Spans, Work, compute, held, order, send_on
from colllib.training.prices import by_nccl, in_boxes, sent_along, standing, tiers
from colllib.training.timeline import COMPUTE, Op, Step, run

BUCKET = 25e6  # bytes
PASSES = tuple("FBW")  # kinds of operations that compute
Closing = Mapping[int, Mapping[float, list[Op]]]  # by the place of a pass, and the share of it that is done


@dataclass(frozen=True)
class Training:
    """What a step does.

    Args:
        model: its layers are cut into stages.
        plan: dp x cp x tp x pp ranks; with zero 2 or 3 a layer's parameters are asked for one pass ahead.
        machine: of boxes with speeds, such as "dgx-h100:16".
        tokens, microbatches: of a microbatch, and so many microbatches of a replica's step.
        rate: operations per second that a rank reaches in matrix products, waits aside.
        schedule, chunks: as for `colllib.training.pipelines.order`.
        bucket: bytes of gradients, of whole weights, that leave together up to ZeRO-1 (default: `BUCKET`); with more of
            ZeRO each layer's leave alone.
        nccl: whether the collectives are those of NCCL, as it is predicted (`colllib.measured.predict`), instead of the
            fastest schedules known.
        sequence: tokens that attend to each other (default: a microbatch is one sequence).
        hows: how the times that were asked for are known: predicted, by a closed form, executed, or counted.

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
    bucket: float | None = None
    nccl: bool = False
    sequence: int | None = None
    hows: set[str] = field(default_factory=set, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        plan, ranks = self.plan, topology(self.machine).ranks
        tiers(self.machine)
        if self.nccl and ",without=" in self.machine:
            raise ValueError(
                f"{self.machine}: NCCL is predicted for a job that is restarted (colllib predict); in a step messages "
                "take detours: take the fastest collectives"
            )
        if plan.gpus != ranks:
            product = f"dp {plan.dp} x tp {plan.tp} x pp {plan.pp} x cp {plan.cp}"
            raise ValueError(f"plan of {plan.gpus} ranks ({product}) on {self.machine}: it has {ranks}")
        check_counts(tokens=self.tokens, microbatches=self.microbatches, chunks=self.chunks, sequence=self.attends)
        if self.schedule == "interleaved" and self.chunks == 1:
            raise ValueError("interleaved in 1 chunk: is 1f1b with more forwards first; take 2 chunks or more")
        if self.tokens % plan.cp:
            raise ValueError(f"cp = {plan.cp}: must divide the {self.tokens} tokens of a microbatch")
        if self.tokens % self.attends:
            raise ValueError(f"sequence {self.attends}: must divide the {self.tokens} tokens of a microbatch")
        if self.attends % plan.cp:
            raise ValueError(f"cp = {plan.cp}: must divide the {self.attends} tokens of a sequence")
        share = self.tokens // plan.cp
        if plan.sequence_parallel and share % plan.tp:
            raise ValueError(f"sp over tp = {plan.tp} ranks: must divide the {share} tokens that they share")
        passes = self.model.layers * self.microbatches
        check_size(f"{self.model.layers} layers with {self.microbatches} microbatches", passes, MOST_PASSES, "passes")
        if self.bucket is not None and plan.zero > 1:
            named = units.size(self.bucket)
            raise ValueError(f"bucket {named}: with zero = {plan.zero} the gradients of each layer leave alone")
        for name, number in (("rate", self.rate), ("bucket", BUCKET if self.bucket is None else self.bucket)):
            if not (number > 0 and isfinite(number)):
                raise ValueError(f"{name} {number!r}: must be a finite number above 0")
        if self.model.layers < plan.pp * self.chunks:
            stages = f"{plan.pp} stages of {self.chunks} chunks"
            raise ValueError(f"{self.model.layers} layers in {stages}: one each at least")
        check_fits(self.model, plan)

    def layers(self, at: int) -> range:
        """Those of the `at`-th part of the model, from 0."""
        return self.model.part(at, self.plan.pp * self.chunks)

    # -- what a layer takes on one rank -------------------------------------------------------

    @property
    def state(self) -> float:
        """Bytes of parameters, gradients and Adam state on a rank of the fullest stage, with its vocabulary."""
        model, stages = self.model, self.plan.pp
        beside = model.ends(stages)
        ends = Counter({0: beside[0], stages - 1: beside[-1]})
        parts = ([self.layers(at) for at in range(stage, stages * self.chunks, stages)] for stage in range(stages))
        held = (held_alike(model, self.plan, chain(*layers), ends[stage]) for stage, layers in enumerate(parts))
        return max(state(self.plan, groups) for groups in held)

    def activations(self, *, sequence_parallel: bool) -> float | None:
        """Bytes that the first stage keeps for its backward, with nothing computed again; unknown of experts.

        Of each token in a layer, 2 for each number: what two norms and the matrices after them read, 8 of each unit of
        width, which TP ranks share only with the sequence; and, which they share anyway (up to as many as there are
        key-value heads), queries, keys, values and what attention gives, gate, up and their product. Without stages
        also 4 of each unit that the output matrix reads, and of each logit. Left out: scores of attention, which fused
        kernels do not keep, and masks of dropout.

        Source: Korthikanti and others (2022), sections 4.1 to 4.3. Their 34 of a unit, 10 and 24, has GELU in an MLP
        four times as wide, a key-value head for each query head, and two masks; SwiGLU makes it 34 in Llama 3.1 8B,
        33.5 in 70B and 44.3 in Qwen2.5 7B.
        """
        model, plan, stages = self.model, self.plan, self.plan.pp
        if model.experts:
            return None
        cut = plan.tp if sequence_parallel else 1
        layers = sum(len(self.layers(at)) for at in range(0, stages * self.chunks, stages))
        microbatches = held(self.schedule, stages, 0, self.microbatches, self.chunks)
        shared = 4 * (model.heads + model.kv_heads) * model.head_width + 6 * model.ffn
        kept = (8 * model.hidden / cut + shared / plan.tp) * layers
        if stages == 1:
            kept += 4 * (model.hidden / cut + model.vocabulary / plan.tp)
        return kept * self.tokens / plan.cp * microbatches

    @property
    def gathered(self) -> float:
        """Bytes of parameters that a rank has beside its shards, of the layer at work and of the one asked for."""
        if self.plan.zero < 3 or self.plan.shards == 1:
            return 0
        layers = (held_alike(self.model, self.plan, [layer]) for layer in range(self.model.layers))
        return BF16 * sum(sorted(sum(parameters for parameters, *_ in groups) for groups in layers)[-2:])

    @property
    def attends(self) -> int:
        """Tokens of a sequence."""
        return self.tokens if self.sequence is None else self.sequence

    @property
    def attention(self) -> float:
        """Seconds of a layer's products of queries, keys and values, forward with one microbatch."""
        return self.model.attention(self.attends) * self.tokens / self.plan.cp / self.plan.tp / self.rate

    def forward(self, layer: int) -> float:
        """Seconds of a layer's forward with one microbatch, without communication."""
        met = self.model.of_layer(layer, self.model.top_k)  # parameters, by a token
        return 2 * met * self.tokens / self.plan.cp / self.plan.tp / self.rate + self.attention

    def weights(self, layer: int) -> list[tuple[float, Group]]:
        """Weights of a layer that a rank has, the last one first, and how much of a pass is done after each.

        Of the routed experts each of three is that of all that a rank has, as where one kernel multiplies them.
        """
        model, plan, routed = self.model, self.plan, self.model.has_experts(layer)
        alike = held_alike(model, plan, [layer])
        sizes = [(n, (n / plan.tp, *alike[0][1:])) for n in model.weights(routed)]
        if routed:
            held = model.experts * model.expert / 3 / plan.tp / plan.ep
            sizes += [(model.top_k * model.expert // 3, (held, *alike[-1][1:]))] * 3
        done = list(accumulate(active for active, _ in sizes[::-1]))
        return [(part / done[-1], group) for part, (_, group) in zip(done, sizes[::-1], strict=True)]

    def collective(self, stage: int, stream: str, primitive: str, groups: Sequence[Group], name: str = "") -> Op:
        """A collective of each of some groups of a stage's ranks."""
        seconds = sum(
            self._takes(primitive, message, *standing(self.machine, ranks, apart), apart)
            for message, ranks, apart in groups
        )
        leaves = any(ranks * apart > tiers(self.machine).in_box for _, ranks, apart in groups)
        return Op(name or primitive, f"{stream} {stage}", seconds, (), _wires(leaves, stage, stage), primitive)

    def _takes(self, primitive: str, message: float, boxes: int, inside: int, apart: int = 1) -> float:
        """Seconds of a collective of so many ranks, so far apart, in each of some boxes."""
        if self.nccl:
            self.hows.add("predicted")
            return by_nccl(primitive, self.machine, boxes, inside, message)
        rung = in_boxes(primitive, self.machine, boxes, inside, message, apart)
        self.hows.add(rung.how)
        return rung.seconds

    def send(self, src: int, dst: int) -> tuple[float, tuple[str, str]]:
        """Seconds of a microbatch's activations from one stage to another."""
        plan, box = self.plan, tiers(self.machine).in_box
        ranks = plan.tp * plan.replicas  # of a stage
        first, last = min(src, dst) * ranks, (max(src, dst) + 1) * ranks - 1
        leaves = first // box != last // box  # those that do not leave the box wait
        activations = self.tokens // plan.cp * self.model.hidden * BF16 / (plan.tp if plan.sequence_parallel else 1)
        if not leaves and tiers(self.machine).inside.startswith("torus"):
            self.hows.add("counted")
            seconds = sent_along(self.machine, (dst - src) * ranks, activations)
        else:
            seconds = self._takes("point-to-point", activations, *((2, 1) if leaves else (1, 2)))
        return seconds, _wires(leaves, src, dst)


def _wires(leaves: bool, src: int, dst: int) -> tuple[str, str]:
    """What is used to send from one stage and to receive at another, if ranks leave their box or none does."""
    kind = "card" if leaves else "port"
    return f"{kind} out of {src}", f"{kind} into {dst}"


def simulate(training: Training) -> Step:
    """The timeline of one step.

    >>> from colllib.parallelism import MODELS, Plan
    >>> plan = Plan(dp=16, tp=8, zero=0)
    >>> step = simulate(Training(MODELS["Llama 3.1 8B"], plan, "dgx-h100:16"))
    >>> round(step.busy("compute 0") / step.seconds, 2)
    0.82
    """
    ops: list[Op] = []
    spans: Spans = {}
    for stage in range(training.plan.pp):
        _stage(training, stage, ops, spans)
    send_on(ops, spans, training.plan.pp, training.send)
    return run(ops)


SPENT = ("computing", "TP", "CP", "EP", "all-gather", "gradients", "bubble")


def spent(step: Step, stage: int) -> dict[str, float]:
    """Where the time of a stage goes, in seconds that add up to the step: it computes, or something is exposed.

    Exposed are collectives inside its layers, by their axis; gathers of parameters, and sums of gradients; and the
    bubble, in which it waits for other stages or for their messages.

    >>> from colllib.parallelism import MODELS, Plan
    >>> step = simulate(Training(MODELS["Llama 3.1 8B"], Plan(dp=16, tp=8, zero=3), "dgx-h100:16"))
    >>> {name: f"{seconds / step.seconds:.0%}" for name, seconds in spent(step, 0).items() if seconds}
    {'computing': '77%', 'TP': '21%', 'all-gather': '1%', 'gradients': '1%'}
    """
    took, stream = dict.fromkeys(SPENT, 0.0), compute(stage)
    for i in step.on(stream):
        name = step.ops[i].name.partition(" ")[0].replace("SP", "TP")
        took["computing" if name in PASSES else name] += float(step.end[i] - step.start[i])
    for op, seconds in step.awaited(stream):
        sharded = op.stream.startswith(("network", "copies"))
        took[("all-gather" if op.kind == "all-gather" else "gradients") if sharded else "bubble"] += seconds
    return took


def _stage(training: Training, stage: int, ops: list[Op], spans: Spans) -> None:
    """A stage's work in order, layer by layer, its parameters where they are sharded, and its gradients."""
    works = order(training.schedule, training.plan.pp, stage, training.microbatches, training.chunks)
    split = any(work.kind == "W" for work in works)
    ways = {"F": 1, "B": -1, "W": -1}  # through a part's layers
    passes = [(work, layer) for work in works for layer in training.layers(work.part)[:: ways[work.kind]]]
    gathers, leaving = _network(training, stage, passes, "W" if split else "B")
    anew = set[int]()
    if training.plan.pp == 1 and training.plan.zero > 1:  # where a microbatch begins
        kinds = [work.kind for work, _ in passes]
        anew = {place for place in range(1, len(kinds)) if kinds[place] == "F" != kinds[place - 1]}
    of_layer = cache(partial(_layer, training, stage, split))  # microbatches are alike
    pieces: list[tuple[Work, list[Op]]] = []
    left: dict[int, list[Op]] = {}
    for place, (work, layer) in enumerate(passes):  # in pieces where buckets close within
        closing = leaving.get(place, {})
        cut = _cut(of_layer(work.kind, layer), closing)
        left.update(enumerate(closing.values(), len(pieces)))
        pieces += [(work, piece) for piece in cut]
    placed = place_passes(ops, [piece for _, piece in pieces], gathers, left, anew=anew)
    for (work, _), (first, last) in zip(pieces, placed, strict=True):
        spans[work] = spans.get(work, (first,))[0], last


def _cut(ops: list[Op], shares: Iterable[float]) -> list[list[Op]]:
    """A pass in pieces, cut where some shares of its compute are done, in rising order; at 1 it ends anyway."""
    whole = sum(op.seconds for op in ops if op.kind in PASSES)
    cuts = [share * whole for share in shares if share < 1]
    pieces, now = [list[Op]()], 0.0
    for op in ops if cuts else ():
        begin, now = now, now + op.seconds * (op.kind in PASSES)
        for cut in [cut for cut in cuts if begin <= cut < now]:
            pieces[-1].append(replace(op, seconds=cut - begin))
            pieces.append([])
            begin = cut
        pieces[-1].append(replace(op, seconds=now - begin) if op.kind in PASSES else op)
    return pieces if cuts else [ops]


def _layer(training: Training, stage: int, split: bool, kind: str, layer: int) -> list[Op]:
    """A layer's pass, in parts before the collectives of TP, CP and EP, which compute waits for."""
    plan, tokens, backward = training.plan, training.tokens // training.plan.cp, kind == "B"
    parts = [in_layer, of_experts][: 1 + training.model.has_experts(layer)] if kind != "W" else []
    issued = chain.from_iterable(part(training.model, plan, tokens, backward=backward) for part in parts)
    calls = [call for call in issued if call.ranks > 1]
    seconds = (2 if backward and not split else 1) * training.forward(layer)
    if split and kind != "F":  # attention has no weights
        seconds += training.attention if backward else -training.attention
    computing = Op(kind, compute(stage), seconds / max(1, len(calls)), kind=kind)
    ops = []
    for call in calls:
        of_call = call.message, call.ranks, 1 if call.axis in ("TP", "SP") else plan.tp
        name = f"{call.axis} {call.primitive} of {computing.name}"
        ops += [computing, training.collective(stage, COMPUTE, call.primitive, [of_call], name)]
    return ops or [computing]


def _network(training: Training, stage: int, passes: list[tuple[Work, int]], final: str) -> tuple[Gathers, Closing]:
    """By places of passes, parameters gathered before and gradients that leave after, or after a share of the pass.

    These leave in buckets when they are final, with ZeRO-1 scattered, and the parameters gathered at the end; with
    more of ZeRO after each microbatch (PyTorch's pipeline stages keep whole gradients until the last one instead, as
    ZeRO-1 does: `torch/distributed/pipelining/stage.py`, `backward_maybe_with_nosync`). The sums of several
    copies follow when they are final (the two hops of MiCS, Zhang and others, 2022).
    """
    model, plan, last = training.model, training.plan, training.microbatches - 1
    if plan.replicas == 1:
        return {}, {}

    def op(primitive: str, width: int, groups: Iterable[Group]) -> Op:
        messages = [(n * width, ranks, apart) for n, ranks, apart in groups]
        return training.collective(stage, "network", primitive, messages)

    ends = [place for place, (work, _) in enumerate(passes) if work.kind == final]
    finals = [place for place in ends if passes[place][0].microbatch == last]
    leaves = [(place, 1.0, held_alike(model, plan, [passes[place][1]])) for place in ends]
    together = [[leave] for leave in leaves]
    if plan.zero < 2:
        leaves = [(place, done, [group]) for place in finals for done, group in training.weights(passes[place][1])]
        gradients = [group[0] * FP32 for *_, [group] in leaves]
        together = [[leaves[k] for k in closed] for closed in buckets(gradients, training.bucket or BUCKET)]
    leaving: defaultdict[int, dict[float, list[Op]]] = defaultdict(dict)
    for bucket in together:
        end, done, _ = bucket[-1]
        sums: defaultdict[tuple[int, int], float] = defaultdict(float)
        for n, ranks, apart in chain.from_iterable(groups for *_, groups in bucket):
            sums[ranks, apart] += n
        groups = [(n, *group) for group, n in sums.items()]
        leaving[end][done] = [op("reduce-scatter" if plan.zero else "all-reduce", FP32, groups)]
        if plan.replicate > 1 and passes[end][0].microbatch == last:
            part = sum(n / ranks for n, ranks, _ in groups) * FP32
            copies = [(part, plan.replicate, plan.tp * plan.shards)]
            leaving[end][done].append(training.collective(stage, "copies", "all-reduce", copies))
    if plan.zero == 1:
        layers = [passes[place][1] for place in finals]
        leaving[finals[-1]][1.0].append(op("all-gather", BF16, held_alike(model, plan, layers)))
    used = {2: "F", 3: "FB"}.get(plan.zero, "")  # before which passes
    gathers = {
        place: op("all-gather", BF16, held_alike(model, plan, [layer]))
        for place, (work, layer) in enumerate(passes)
        if work.kind in used and (plan.zero == 3 or plan.pp == 1 or not work.microbatch)
    }
    return gathers, leaving
