"""Answers on training: messages, buckets, sharding, pipelines, experts, compression, faults, states of tensors."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colllib.algorithms import allreduce
from colllib.claims.allreduce import RING
from colllib.claims.cases import once, per
from colllib.claims.runs import built, run
from colllib.claims.value import Cases, Table
from colllib.cost import Cost
from colllib.events import Processor, event_clock
from colllib.execution import trace
from colllib.ladder import topology
from colllib.schedule import Schedule
from colllib.training import compression as squeezed
from colllib.training import experts, faults, tensor_states, timeline
from colllib.training.data_parallel import NETWORK, Layer, bucketed, sharded
from colllib.training.pipelines import compute, pipeline
from colllib.training.tensor_states.states import KEPT
from colllib.training.timeline import COMPUTE, Op

SEND = "point-to-point direct"


def _priced(cost: Cost, alpha: float, bandwidth: float) -> Callable[[float], float]:
    return lambda message: cost.seconds(message=message, alpha=alpha, bandwidth=bandwidth)


def _four_times_four() -> Cases:
    """The ring of the example: in each step the sums, by their receivers, and what is left in the end."""
    done = run(RING, "star:4")
    start = ((1, 5, 3, 7), (2, 6, 4, 8), (3, 7, 5, 9), (4, 8, 6, 10))
    states = list(trace(done.schedule))

    def total(t: int, rank: int, block: int) -> str:
        return str(sum(start[source][block] for source in states[t][rank, block].elements()))

    came = [sorted(zip(step.dst.tolist(), step.block.tolist(), strict=True)) for step in done.schedule.steps][:3]
    yield {
        "at": "N = 4",
        "sent": 4 * max(done.sent),
        "received": 4 * max(done.received),
        "result": " / ".join(" ".join(total(-1, rank, block) for block in range(4)) for rank in range(4)),
        **{f"step{t}": " ".join(total(t, *held) for held in sums) for t, sums in enumerate(came, 1)},
    }


# -- steps ---------------------------------------------------------------------------------------------


def _thousand_gradients() -> Cases:
    ring = _priced(run(RING, "star:8").cost, 10e-6, 100e9)
    one, many = (1e3 * bucketed([Layer(0, 0, 1e6)] * 1000, size, ring).seconds for size in (1e6, 25e6))
    calls = {"call": 1e6 * ring(1e6), "bucket": 1e6 * ring(25e6), "wire": 1e6 * (ring(1e6) - ring(0))}
    yield {"at": "N = 8", "one": one, "many": many, **calls}


def _after_an_exchange() -> float:
    """Microseconds of 500 of compute, and of two messages with 50 of overhead that it waits for."""
    processor = Processor(50e-6)
    line = event_clock(allreduce.recursive_doubling(2), message=0, alpha=100e-6, bandwidth=1e9, processor=processor)
    return 1e6 * line.finished(0, 500e-6)


def _layers(calls: int, ms: float, backward: float = 15.0, layers: int = 32) -> timeline.Step:
    """Backwards, and their gradients in so many calls, each layer's of so many ms."""
    return bucketed([Layer(0.0, backward, 1)] * layers, layers / calls, lambda size: ms * size)


def _budget_of_32_layers() -> Cases:
    apart, behind = _layers(1, 26.4), _layers(32, 26.4)
    yield {
        "at": "the example, and where an all-reduce takes as long as its backward",
        "apart": apart.seconds,
        "behind": behind.seconds,
        "saved": 100 * (1 - behind.seconds / apart.seconds),
        "hidden": 100 * (1 - behind.idle(COMPUTE) / apart.idle(COMPUTE)),
        **{f"hidden_of_{n}": 100 * (1 - _layers(n, 1.0, 1.0, n).idle(COMPUTE) / n) for n in (2, 3, 32)},
    }


def _full_sharding(layers: int) -> int:
    return len(sharded([Layer(0.0, 0.0, 1)] * layers, float, float).on(NETWORK))


def _idle(stages: int, microbatches: int) -> float:
    step = pipeline("1f1b", stages, microbatches)
    return step.idle(compute(0)) / step.seconds


def _microbatches_for_a_fifth() -> Cases:
    needed = {p: next(m for m in range(p, 99) if _idle(p, m) < 0.2) for p in (8, 9, 16)}
    yield from ({"at": f"p = {p}", "needed": needed[p], "of": needed} for p in needed)


def _buckets_of_a_class() -> Cases:
    """The class sends a bucket before the tensor that would overflow it, and at no other time."""
    sizes, reduced = [25e6] * 40, 0
    waiting: list[float] = []
    for size in sizes:
        if sum(waiting) + size > 25 * 2**20:
            reduced, waiting = reduced + len(waiting), []
        waiting.append(size)
    yield {"at": "40 tensors of 25 MB", "given": len(sizes), "reduced": reduced}


def _self_checks() -> Cases:
    open_time = _layers(32, 25.0).idle(COMPUTE)
    load, latency = (_priced(run(SEND, "star:2").cost, alpha, 50e3)(size) for size, alpha in ((1e9, 0.0), (0.0, 2.0)))
    yield {
        "at": "32 layers",
        "exposed": open_time / 32,
        "load_us": load,
        "latency_us": latency,
        "copied_GB": 140 + 140,
        "L": 32,
        "collectives": _full_sharding(32),
    }


def routed(extra: int) -> Schedule:
    """512 tokens on each of 8 ranks, 8 for each of 64 experts, and some more for the first one."""
    expert = np.repeat(np.arange(64), [8 + extra, *[8] * 63])
    destinations = np.broadcast_to((expert // 8)[None, :, None], (8, len(expert), 1))
    return experts.dispatch(topology("star:8"), destinations, "per expert")


def _tokens_to_64_experts() -> Cases:
    """In KB and µs, with 3 µs and 50 GB/s; an expert with three times the tokens is one of eight on its rank."""
    even, popular = built(routed, 0), built(routed, 16)
    token = Fraction(2048 * 2, 1000)
    one = 3 + float(64 * token) / 50
    sent = even.sent[0] * 512 * token
    yield {
        "at": "8 ranks",
        "token": token,
        "transfer": sent / 7,
        "sent_MB": sent / 1000,
        "single": one,
        "serial": 7 * one,
        "parallel": _priced(even.cost, 3, 50)(float(512 * token)),
        "hot": popular.received[0] / popular.received[1],
    }


# -- compression and faults ---------------------------------------------------------------------------------------


def _blocks_of_128() -> Cases:
    """Heavy tails, which the statement does not name: Student's t of five degrees of freedom, in the note of three.

    Ten draws of 2^16 values; gained is root mean square error, and `largest` is what is left of the largest error.
    """
    gains: dict[int, list[float]] = {5: [], 3: []}
    left = []
    for freedom, seed in product(gains, range(10)):
        vector = np.random.default_rng(seed).standard_t(freedom, size=2**16)
        one_scale, in_blocks = (squeezed.int8(block)(vector, 0) for block in (None, 128))
        errors = [np.abs(packet.values - vector) for packet in (one_scale, in_blocks)]
        gains[freedom].append(float(np.sqrt((errors[0] ** 2).mean() / (errors[1] ** 2).mean())))
        left.append(float(errors[1].max() / errors[0].max()))
    yield {
        "at": "2^16 values",
        "ratio": squeezed.full(vector).bytes / in_blocks.bytes,
        "least": min(gains[5]),
        "greatest": max(gains[5]),
        "largest": max(left),
        "shrinks": 100 * (1 - min(left)),
        "heavier_least": min(gains[3]),
        "heavier_greatest": max(gains[3]),
    }


def _index_and_value() -> Cases:
    vector = np.random.default_rng(0).normal(size=100_000)
    dense = squeezed.full(vector).bytes
    tenth, percent = (Fraction(dense, squeezed.top_k(share)(vector, 0).bytes) for share in (0.001, 0.01))
    left = Fraction(2, 2 + squeezed.FULL)  # values of two bytes, of which dense vectors have two bytes as well
    yield {"at": "10^5 values", "share": Fraction(1, 100), "tenth": tenth, "percent": percent, "left": left}


def _nearest(vector: NDArray[np.float64], seed: int) -> squeezed.Packet:
    return squeezed.Packet(np.floor(vector + 0.5), len(vector))


def _feedback_by_hand() -> Cases:
    plain, with_feedback = (squeezed.Average(1, _nearest, "gather", feedback) for feedback in (False, True))
    rows: list[tuple[float, ...]] = []
    cumulative = 0.0
    for step, gradient in enumerate((0.4, 0.3, 0.2, 0.4, 0.3)):
        naive, sent = (float(average([np.array([gradient])], step)[0]) for average in (plain, with_feedback))
        cumulative += sent
        (error,) = with_feedback.left.values()
        rows.append((naive, sent, cumulative, error[0]))
    named = zip(("naive", "sent", "cumulative", "error"), zip(*rows, strict=True), strict=True)
    yield {"at": "five steps", **{name: " ".join(f"{number:g}" for number in row) for name, row in named}}


def _replicas() -> Cases:
    """How far replicas are apart after one all-reduce, relative to the sum, and the unit of what was on the wire."""
    data = list(np.random.default_rng(3).random((8, 64)).astype(np.float32))
    for precision, build in product(("FP32", "BF16 on the wire"), (allreduce.recursive_doubling, allreduce.ring)):
        totals = np.array(faults.reduced(built(build, 8).schedule, data, precision))
        apart = float((np.ptp(totals, axis=0) / np.abs(totals).max(axis=0)).max())
        unit = 2.0 ** -(23 if precision == "FP32" else 7)
        yield {"at": f"{build.__name__}, {precision}", "apart": apart, "unit": unit}


def _slow_rank() -> Cases:
    """One rank of eight that sends and receives a fifth slower, without latency; every rank waits for it."""
    price: dict[str, Any] = {"message": 8.0, "alpha": 0.0, "bandwidth": 1.0}
    usual = run(RING, "star:8").cost.seconds(**price)
    line = event_clock(allreduce.ring(8), **price, slow={(2, 3): 1.2, (3, 4): 1.2})
    ends = [100 * (line.finished(rank, 0.0) / usual - 1) for rank in range(8)]
    yield {"at": "N = 8", "slower": max(ends), "least": min(ends)}


# -- tensor states -------------------------------------------------------------------------------------

Node, Graph, Machine = tensor_states.Node, tensor_states.Graph, tensor_states.Machine


def _product(**states: tuple[str, ...]) -> dict[str, Any]:
    """y = x w and its two gradients on four ranks, each with a given state in the end."""
    nodes = (
        Node("x", "td"),
        Node("w", "df", keep=True),
        Node("dy", "tf"),
        Node("y", "tf", ("x", "w"), "einsum"),
        Node("dx", "td", ("dy", "w"), "einsum"),
        Node("dw", "df", ("x", "dy"), "einsum"),
    )
    graph = Graph(nodes, {"t": 4096, "d": 64, "f": 8})
    inputs = [node for node in nodes if node.kind == "input"]
    initial = {node.name: states.pop(node.name) for node in inputs if node.name in states}
    plan = tensor_states.cheapest(graph, Machine((4,), (450e9,)), given=initial, final=states)
    calls = " / ".join(f"{name} {user or 'end'} {what}" for name, user, _, what, _ in plan.communication)
    return {"at": "4 ranks", "calls": calls, "y": plan.states["y"][0], "equal": _as_unsharded(plan)}


def _as_unsharded(plan: tensor_states.Plan) -> bool:
    """Whether a plan, run on shards, gives what one device gives."""
    graph = plan.graph
    random = np.random.default_rng(0)
    inputs = [node for node in graph.nodes if node.kind == "input"]
    values = {node.name: random.normal(size=[graph.sizes[letter] for letter in node.letters]) for node in inputs}
    expected, computed = tensor_states.unsharded(graph, values), tensor_states.run(plan, values)
    return all(np.allclose(computed[name], expected[name]) for name in plan.final)


def _partial_product() -> Cases:
    """x cut along columns and w along rows; the product is asked for whole, and cut."""
    whole, cut = (_product(x=("d",), w=("d",), y=(state,)) for state in ("R", "t"))
    equal = whole["equal"] and cut["equal"]
    yield {"at": "4 ranks", "made": whole["y"], "whole": whole["calls"], "cut": cut["calls"], "equal": equal}


def _computed_again() -> Cases:
    """A block's step on four ranks, with ever less room for activations; and what leads back to what is persistent."""
    graph = tensor_states.training_step(tensor_states.transformer_block(4, 4, 8, 4, 8))
    for room in (9, 3, 1):
        machine = Machine((4,), (450e9,), activations=room * graph.numbers("bsd") / 4)
        plan = tensor_states.cheapest(graph, machine, final={"dx": ("R",), "new A": ("R",)})
        transient = {n.name for n in graph.nodes if not (n.backward or n.keep or plan.ways[n.name].later == KEPT)}
        met: set[str] = set()
        users = [node for node in graph.nodes if node.backward]
        while users:
            needed = transient.intersection(users.pop().inputs) - met
            met |= needed
            users += [graph.by_name[name] for name in needed]
        again, back = (" / ".join(sorted(some)) for some in (plan.again, met))
        yield {"at": f"room for {room} shards", "again": again, "back": back, "equal": _as_unsharded(plan)}


#: The source's listing: a name, and which call makes it of what; its placeholders first.
PLACEHOLDERS = ("weight", "bias", "input", "tangent")
LISTING = (
    "flat view input, flat_ alias flat, product mm flat_ weight, rows view product, sum add rows bias, "
    "result alias sum, tangent_ alias tangent, column sum tangent_, bias_ view column, of_bias alias bias_, "
    "flat_tangent view tangent_, turned permute flat_, second mm turned flat_tangent, of_weight alias second"
)
CALLS = {name: (call, inputs) for name, call, *inputs in map(str.split, LISTING.split(", "))}
RETURNED = ("result", "of_weight", "of_bias", "none")
VIEWS = ("view", "alias", "permute")
#: As the listing annotates its nodes, placeholders first.
USERS = (1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1)


def _arrays() -> dict[str, NDArray[np.float64]]:
    """What the calls of the listing give, of small random placeholders, by name."""
    c, d, a, b = 2, 3, 4, 5
    random = np.random.default_rng(1)
    shapes = ((a, b), (b,), (c, d, a), (c, d, b))
    arrays = {name: random.normal(size=shape) for name, shape in zip(PLACEHOLDERS, shapes, strict=True)}
    views = {"flat": (c * d, a), "rows": (c, d, b), "bias_": (b,), "flat_tangent": (c * d, b)}
    functions: dict[str, Callable[..., Any]] = {
        "alias": lambda x: x,
        "mm": np.matmul,
        "add": np.add,
        "permute": np.transpose,
        "sum": lambda x: x.sum(axis=(0, 1), keepdims=True),
    }
    for name, (call, inputs) in CALLS.items():
        operands = [arrays[operand] for operand in inputs]
        arrays[name] = operands[0].reshape(views[name]) if call == "view" else functions[call](*operands)
    return arrays


def _listing() -> Cases:
    arrays = _arrays()
    kinds = [call for call, _ in CALLS.values()]
    taken = [operand for _, inputs in CALLS.values() for operand in inputs] + list(RETURNED)
    views = [(name, inputs[0]) for name, (call, inputs) in CALLS.items() if call in VIEWS]
    x, w, t = (arrays[name] for name in ("input", "weight", "tangent"))
    change = {name: np.random.default_rng(2).normal(size=arrays[name].shape) for name in ("weight", "bias")}
    slope = sum((arrays[f"of_{name}"] * step).sum() for name, step in change.items())  # of the tangent times the result
    yield {
        "at": "the listing",
        "flattened": 64 * 4096,
        "returned": len(RETURNED) - RETURNED.count("none"),
        "counts": " ".join(map(str, (len(PLACEHOLDERS), *map(kinds.count, (*VIEWS, "mm", "add", "sum"))))),
        "annotated": tuple(map(taken.count, (*PLACEHOLDERS, *CALLS))) == USERS,
        "remaining": len(PLACEHOLDERS) + len(CALLS) - len(views) + 1,
        "gradients": np.allclose((t * (x @ change["weight"] + change["bias"])).sum(), slope),
        "forward": np.allclose(np.einsum("cda,ab->cdb", x, w), arrays["rows"]),
        "backward": np.allclose(np.einsum("acd,cdb->ab", np.moveaxis(x, 2, 0), t), arrays["of_weight"]),
        "dims": arrays["column"].ndim,
        "ones": arrays["column"].shape.count(1),
        "altered": not all(np.shares_memory(arrays[name], arrays[operand]) for name, operand in views),
    }


def _limit_of_the_cost_model() -> Cases:
    """Layers with their gradients behind them, on one network; then with the next layer's weights on another axis."""
    kinds = list(enumerate([("gather", "axis 0", 3.0), ("layer", COMPUTE, 1.0), ("reduce", "axis 1", 3.0)]))
    ops = [Op(f"{what} {k}", at, t, (3 * k + i - 1,) * (i > 0)) for k in range(8) for i, (what, at, t) in kinds]
    steps = {"one axis": bucketed([Layer(1.0, 2.0, 1)] * 8, 1, lambda size: 3.0), "two axes": timeline.run(ops)}
    for at, done in steps.items():
        sent = sum(map(done.busy, {op.stream for op in done.ops} - {COMPUTE}))
        yield {"at": at, "seconds": done.seconds, "limit": max(done.busy(COMPUTE), sent)}


def _program_against_all_plans() -> Cases:
    nodes = (
        Node("x", "td"),
        Node("w", "df"),
        Node("h", "tf", ("x", "w"), "einsum"),
        Node("r", "tf", ("h",), "relu"),
    )
    graph = Graph(nodes, {"t": 64, "d": 16, "f": 32})
    program, every = (
        tensor_states.cheapest(graph, Machine((4,), (450e9,)), final={"r": ("R",)}, trying_all=trying_all)
        for trying_all in (False, True)
    )
    yield {"at": "4 ranks", "program": program.seconds, "every": every.seconds}


TABLE: Table = {
    "M-33": _four_times_four,
    "R-07": _thousand_gradients,
    "A-25": _buckets_of_a_class,
    "M-25": once("N = 2", both=_after_an_exchange),
    "M-54": _budget_of_32_layers,
    "M-56": _microbatches_for_a_fifth,
    "M-61": _self_checks,
    "M-32": per((32, 100), name="L", collectives=_full_sharding),
    "M-30 A-19 A-20": _tokens_to_64_experts,
    "M-47": _blocks_of_128,
    "M-48": _index_and_value,
    "M-50": _feedback_by_hand,
    "M-53": _replicas,
    "M-57": _slow_rank,
    "D-5-001": _partial_product,
    "D-5-003": lambda: [_product(x=("t",), w=("d",), dy=("t",), y=("t",), dx=("t",), dw=("d",))],
    "D-5-004": _computed_again,
    "D-5-005 D-5-006 D-5-007 D-5-008 D-5-009 D-5-010 D-5-011 D-5-012 D-5-013": _listing,
    "D-5-014": _limit_of_the_cost_model,
    "D-5-015": _program_against_all_plans,
}
