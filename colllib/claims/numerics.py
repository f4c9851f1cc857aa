"""Answers on the numbers themselves: compressed gradients, faults, and the states of tensors."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colllib.algorithms import allreduce
from colllib.claims.cases import once
from colllib.claims.runs import built, run
from colllib.claims.value import Cases, Table, Words
from colllib.events import event_clock
from colllib.training import compression as squeezed
from colllib.training import faults, tensor_states, timeline
from colllib.training.data_parallel import Layer, bucketed
from colllib.training.tensor_states.states import KEPT
from colllib.training.timeline import COMPUTE, Op

RING = "all-reduce ring"

# -- compression ---------------------------------------------------------------------------------------


def _blocks_of_128() -> Cases:
    """Heavy tails: Student's t with three degrees of freedom, ten draws of 2^16 values; errors over all of them."""
    gains, most = [], []
    for seed in range(10):
        vector = np.random.default_rng(seed).standard_t(3, size=2**16)
        whole, parts = (squeezed.int8(block)(vector, 0) for block in (None, 128))
        squares = [((packet.values - vector) ** 2).mean() for packet in (whole, parts)]
        gains.append(float(np.sqrt(squares[0] / squares[1])))
        most.append(float(np.abs(vector.reshape(-1, 128)).max(axis=1).max() / np.abs(vector).max()))
    ratio = squeezed.full(vector).bytes / parts.bytes
    yield {"at": "2^16 values", "ratio": ratio, "least": min(gains), "greatest": max(gains), "bound": max(most)}


def _index_and_value() -> Cases:
    vector = np.random.default_rng(0).normal(size=100_000)
    dense = squeezed.full(vector).bytes
    tenth, percent = (Fraction(dense, squeezed.top_k(share)(vector, 0).bytes) for share in (0.001, 0.01))
    left = Fraction(2, 2 + squeezed.FULL)  # values of two bytes, of which dense vectors have two bytes as well
    yield {"at": "10^5 values", "share": Fraction(1, 100), "tenth": tenth, "percent": percent, "left": left}


def _nearest(vector: NDArray[np.float64], seed: int) -> squeezed.Packet:
    return squeezed.Packet(np.floor(vector + 0.5), len(vector))


def _feedback_by_hand() -> Cases:
    plain, kept = (squeezed.Average(1, _nearest, "gather", feedback) for feedback in (False, True))
    rows: list[tuple[float, ...]] = []
    for step, gradient in enumerate((0.4, 0.3, 0.2, 0.4, 0.3)):
        naive, sent = (float(average([np.array([gradient])], step)[0]) for average in (plain, kept))
        rows.append((naive, sent, sum(row[1] for row in rows) + sent, *(left[0] for left in kept.left.values())))
    named = zip(("naive", "sent", "cumulative", "error"), zip(*rows, strict=True), strict=True)
    yield {"at": "five steps", **{name: Words(" ".join(f"{number:g}" for number in row)) for name, row in named}}


def _compressed(milliseconds: float) -> float:
    """Two ms of compression, then an eighth of the bytes."""
    return timeline.run([Op("compress", COMPUTE, 2.0), Op("send", "network", milliseconds / 8, (0,))]).seconds


def _training(steps: int, milliseconds: float) -> float:
    """Seconds of all steps, of 300 ms of compute and what is sent after it."""
    ops = [Op("compute", COMPUTE, 300.0), Op("send", "network", milliseconds, (0,))]
    return steps * timeline.run(ops).seconds / 1e3


# -- faults --------------------------------------------------------------------------------------------


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


def _who_notices() -> Cases:
    """The highest bit of the exponent, in every phase: by a link, a hash, a sum or the norm of a gradient."""
    data = list(np.random.default_rng(0).uniform(0.5, 1.0, (4, 16)).astype(np.float32))
    damaged = np.linalg.norm(faults.flipped(data[1], 30).astype(np.float64))
    odd = bool(damaged > 10 * max(np.linalg.norm(vector) for vector in data))
    for phase in faults.PHASES:
        found = faults.flip(data, phase, bit=30)
        yield {"at": phase, "caught": found.link or found.hash or found.total or (phase == "gradient" and odd)}


# -- tensor states -------------------------------------------------------------------------------------

Node, Graph, Machine = tensor_states.Node, tensor_states.Graph, tensor_states.Machine


@cache
def _product(**states: tuple[str, ...]) -> tuple[tensor_states.Plan, bool]:
    """y = x w and its two gradients on four ranks, each with a given state in the end; and whether it runs right."""
    nodes = (
        Node("x", "td"), Node("w", "df", keep=True), Node("dy", "tf"),
        Node("y", "tf", ("x", "w"), "einsum"),
        Node("dx", "td", ("dy", "w"), "einsum"), Node("dw", "df", ("x", "dy"), "einsum"),
    )  # fmt: skip
    graph = Graph(nodes, {"t": 4096, "d": 64, "f": 8})
    inputs = [node for node in nodes if node.kind == "input"]
    given = {node.name: states.pop(node.name) for node in inputs if node.name in states}
    plan = tensor_states.cheapest(graph, Machine((4,), (450e9,)), given=given, final=states)
    return plan, _as_unsharded(plan)


def _as_unsharded(plan: tensor_states.Plan) -> bool:
    """Whether a plan, run on shards, gives what one device gives."""
    graph, random = plan.graph, np.random.default_rng(0)
    inputs = [node for node in graph.nodes if node.kind == "input"]
    values = {node.name: random.normal(size=[graph.sizes[letter] for letter in node.letters]) for node in inputs}
    whole, found = tensor_states.unsharded(graph, values), tensor_states.run(plan, values)
    return all(np.allclose(found[name], whole[name]) for name in plan.final)


def _calls(plan: tensor_states.Plan) -> Words:
    return Words(" / ".join(f"{name} {user or 'end'} {what}" for name, user, _, what, _ in plan.communication))


def _partial_product() -> Cases:
    """x cut along columns and w along rows; the product is asked for whole, and cut."""
    (whole, right), (cut, also) = (_product(x=("d",), w=("d",), y=(end,)) for end in ("R", "t"))
    made = Words(whole.states["y"][0])
    yield {"at": "4 ranks", "made": made, "whole": _calls(whole), "cut": _calls(cut), "equal": right and also}


def _fully_sharded_product() -> Cases:
    plan, right = _product(x=("t",), w=("d",), dy=("t",), y=("t",), dx=("t",), dw=("d",))
    yield {"at": "4 ranks", "calls": _calls(plan), "equal": right}


def _computed_again() -> Cases:
    """A block's step on four ranks, with ever less room for activations; and what leads back to what is persistent."""
    graph = tensor_states.training_step(tensor_states.transformer_block(4, 4, 8, 4, 8))
    for room in (9, 3, 1):
        machine = Machine((4,), (450e9,), activations=room * graph.numbers("bsd") / 4)
        plan = tensor_states.cheapest(graph, machine, final={"dx": ("R",), "new A": ("R",)})
        transient = {n.name for n in graph.nodes if not (n.backward or n.keep or plan.ways[n.name].later == KEPT)}
        met, users = set[str](), [node for node in graph.nodes if node.backward]
        while users:
            needed = transient.intersection(users.pop().inputs) - met
            met |= needed
            users += [graph.by_name[name] for name in needed]
        again, back = (Words(" / ".join(sorted(some))) for some in (plan.again, met))
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
MOVES = ("view", "alias", "permute")
#: As the listing annotates its nodes, placeholders first.
USERS = (1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1)


def _numbers(c: int = 2, d: int = 3, a: int = 4, b: int = 5) -> dict[str, NDArray[np.float64]]:
    """The listing, run on small arrays."""
    random = np.random.default_rng(1)
    shapes = ((a, b), (b,), (c, d, a), (c, d, b))
    found = {name: random.normal(size=shape) for name, shape in zip(PLACEHOLDERS, shapes, strict=True)}
    views = {"flat": (c * d, a), "rows": (c, d, b), "bias_": (b,), "flat_tangent": (c * d, b)}
    does: dict[str, Callable[..., Any]] = {
        "alias": lambda x: x, "mm": np.matmul, "add": np.add, "permute": np.transpose,
        "sum": lambda x: x.sum(axis=(0, 1), keepdims=True),
    }  # fmt: skip
    for name, (call, inputs) in CALLS.items():
        parts = [found[one] for one in inputs]
        found[name] = parts[0].reshape(views[name]) if call == "view" else does[call](*parts)
    return found


def _listing() -> Cases:
    found, kinds = _numbers(), [call for call, _ in CALLS.values()]
    taken = [one for _, inputs in CALLS.values() for one in inputs] + list(RETURNED)
    moved = [(name, inputs[0]) for name, (call, inputs) in CALLS.items() if call in MOVES]
    x, w, t = (found[name] for name in ("input", "weight", "tangent"))
    change = {name: np.random.default_rng(2).normal(size=found[name].shape) for name in ("weight", "bias")}
    slope = sum((found[f"of_{name}"] * step).sum() for name, step in change.items())  # of the tangent times the result
    yield {
        "at": "the listing", "flattened": 64 * 4096, "returned": len(RETURNED) - RETURNED.count("none"),
        "counts": Words(" ".join(map(str, (len(PLACEHOLDERS), *map(kinds.count, (*MOVES, "mm", "add", "sum")))))),
        "annotated": tuple(map(taken.count, (*PLACEHOLDERS, *CALLS))) == USERS,
        "remaining": len(PLACEHOLDERS) + len(CALLS) - len(moved) + 1,
        "gradients": np.allclose((t * (x @ change["weight"] + change["bias"])).sum(), slope),
        "forward": np.allclose(np.einsum("cda,ab->cdb", x, w), found["rows"]),
        "backward": np.allclose(np.einsum("acd,cdb->ab", np.moveaxis(x, 2, 0), t), found["of_weight"]),
        "dims": found["column"].ndim, "ones": found["column"].shape.count(1),
        "altered": not all(np.shares_memory(found[name], found[of]) for name, of in moved),
    }  # fmt: skip


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
        Node("x", "td"), Node("w", "df"), Node("h", "tf", ("x", "w"), "einsum"),
        Node("r", "tf", ("h",), "relu"),
    )  # fmt: skip
    graph = Graph(nodes, {"t": 64, "d": 16, "f": 32})
    machine, ends = Machine((4,), (450e9,)), {"r": ("R",)}
    program, every = (tensor_states.cheapest(graph, machine, final=ends, trying_all=t) for t in (False, True))
    yield {"at": "4 ranks", "program": program.seconds, "every": every.seconds}


TABLE: Table = {
    "M-47": _blocks_of_128,
    "M-48": _index_and_value,
    "M-50": _feedback_by_hand,
    "M-51": once("eight times fewer bytes", new=lambda: _compressed(40), fast=lambda: _compressed(1)),
    "M-52": once(
        "100,000 steps",
        slow=lambda: _training(100_000, 200),
        small=lambda: _training(110_000, 200 / 4),
        fast=lambda: _training(100_000, 30),
        smaller=lambda: _training(110_000, 30 / 4),
    ),
    "M-53": _replicas,
    "M-57": _slow_rank,
    "M-58": _who_notices,
    "D-5-001": _partial_product,
    "D-5-003": _fully_sharded_product,
    "D-5-004": _computed_again,
    "D-5-005 D-5-006 D-5-007 D-5-008 D-5-009 D-5-010 D-5-011 D-5-012 D-5-013": _listing,
    "D-5-014": _limit_of_the_cost_model,
    "D-5-015": _program_against_all_plans,
}
