"""Tensor states: a graph of einsums whose tensors are replicated, sharded or partial, and the collectives in between.

On every axis of a device mesh a tensor is replicated (R), sharded along one of its letters, or partial (P):
its value is the sum over the axis. An operation runs without communication if its inputs and its output are in
states that fit; what changes a state is a collective. `cheapest` chooses the states by an integer program,
`run` executes the choice on numpy shards, collective by collective.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from colllib.algorithms import allgather, allreduce, alltoall, reducescatter
from colllib.bounds import lower_bound
from colllib.values import run_on

Floats = NDArray[np.float64]
State = tuple[str, ...]  # on each axis of the mesh "R", "P" or the letter along which the tensor is cut

REPLICATED, PARTIAL = "R", "P"


# -- graphs --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Node:
    """A tensor, and the operation that makes it.

    Args:
        name: what it is called.
        letters: its dimensions, small letters.
        inputs: the tensors that it is made of; none for an input of the graph.
        kind: "input"; "einsum"; "add" of equal shapes; "map", any function value by value; "row", a function that
            needs all of the dimension `along` at once (softmax, normalization); "rename", which gives dimensions other
            letters, or the same: then its users share what a change of state costs.
        along: for "row".
        keep: an input that stays on its ranks between steps, as parameters do, and takes memory.
        function: for "map" and "row": its number in FUNCTIONS.
    """

    name: str
    letters: str
    inputs: tuple[str, ...] = ()
    kind: str = "input"
    along: str = ""
    keep: bool = False
    function: str = ""


def softmax(x: Floats) -> Floats:
    """Shares along the last axis, shape as that of x."""
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def _normed(x: Floats) -> Floats:
    return np.asarray(x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-6))


def _positive(x: Floats) -> Floats:
    return np.maximum(x, 0)


def _slope(x: Floats) -> Floats:
    return (x > 0).astype(float)


#: What "map" and "row" nodes compute; the latter along their last axis, to which `along` is moved.
FUNCTIONS = {"softmax": softmax, "norm": _normed, "relu": _positive, "slope of relu": _slope}


@dataclass(frozen=True)
class Graph:
    """Tensors in the order in which they are made, and how long their dimensions are.

    Raises:
        ValueError: for a letter without a size, an input that is not made before, or shapes that do not fit.
    """

    nodes: tuple[Node, ...]
    sizes: Mapping[str, int]

    def __post_init__(self) -> None:
        made: dict[str, Node] = {}
        for node in self.nodes:
            for letter in node.letters + node.along:
                if letter not in self.sizes:
                    raise ValueError(f"{node.name} has the dimension {letter!r}, which has no size")
            for name in node.inputs:
                if name not in made:
                    raise ValueError(f"{node.name} needs {name}, which is not made before it")
                given, wanted = ([self.sizes[letter] for letter in n.letters] for n in (made[name], node))
                same = given == wanted if node.kind == "rename" else made[name].letters == node.letters
                if node.kind != "einsum" and not same:
                    raise ValueError(
                        f"{node.name} [{node.letters}] of {name} [{made[name].letters}]: shapes must agree"
                    )
            made[node.name] = node

    @cached_property
    def by_name(self) -> dict[str, Node]:
        """The nodes by name."""
        return {node.name: node for node in self.nodes}

    def numbers(self, letters: str) -> int:
        """How many numbers a tensor with these dimensions has."""
        return prod(self.sizes[letter] for letter in letters)

    def terms(self, node: Node) -> int:
        """Products that an einsum adds up."""
        return self.numbers("".join(sorted({letter for name in node.inputs for letter in self.by_name[name].letters})))


# -- what fits without communication -------------------------------------------------------------


@dataclass(frozen=True)
class Way:
    """How an operation runs: the states that it wants of its inputs, and that of its output."""

    inputs: tuple[State, ...]
    output: State


def ways(graph: Graph, node: Node, mesh: Sequence[int]) -> list[Way]:
    """All ways in which a node can run on a mesh without communication.

    A letter is cut on at most one axis of the mesh, and only if the axis's size divides it.

    >>> nodes = (Node("x", "ab"), Node("w", "bc"), Node("y", "ac", ("x", "w"), "einsum"))
    >>> graph = Graph(nodes, {"a": 4, "b": 4, "c": 4})
    >>> for way in ways(graph, graph.nodes[2], (2,)):
    ...     print(way.inputs, way.output)
    (('R',), ('R',)) ('R',)
    (('a',), ('R',)) ('a',)
    (('b',), ('b',)) ('P',)
    (('R',), ('c',)) ('c',)
    (('P',), ('R',)) ('P',)
    (('R',), ('P',)) ('P',)
    """
    each = [_ways_on_axis(graph, node, size) for size in mesh]
    found = []
    for chosen in product(*each):
        cut = [letter for letter, _ in chosen if letter]
        if len(set(cut)) == len(cut):
            columns = [states for _, states in chosen]
            *inputs, output = zip(*columns, strict=True)
            found.append(Way(tuple(inputs), output))
    return found


def _ways_on_axis(graph: Graph, node: Node, size: int) -> list[tuple[str, tuple[str, ...]]]:
    """The letter that is cut ("" for none), and the states of the inputs and of the output."""
    shapes = [graph.by_name[name].letters for name in node.inputs]
    letters = dict.fromkeys("".join([*shapes, node.letters]))
    found = [("", (REPLICATED,) * (len(shapes) + 1))]
    if node.kind == "rename":
        pairs = [pair for pair in zip(shapes[0], node.letters, strict=True) if graph.sizes[pair[0]] % size == 0]
        return [*found, ("", (PARTIAL, PARTIAL)), *((pair[1], pair) for pair in pairs)]
    for letter in letters:
        if letter != node.along and graph.sizes[letter] % size == 0:
            states = tuple(letter if letter in shape else REPLICATED for shape in shapes)
            found.append((letter, (*states, letter if letter in node.letters else PARTIAL)))
    if node.kind == "einsum":  # linear in each of its inputs
        for place in range(len(shapes)):
            states = tuple(PARTIAL if other == place else REPLICATED for other in range(len(shapes)))
            found.append(("", (*states, PARTIAL)))
    elif node.kind == "add":
        found.append(("", (PARTIAL,) * (len(shapes) + 1)))
    return found


def check_state(graph: Graph, name: str, state: State, mesh: Sequence[int]) -> None:
    """Refuse a state that a tensor cannot be in.

    Raises:
        ValueError: naming the tensor, the axis and what is wrong.
    """
    node = graph.by_name[name]
    if len(state) != len(mesh):
        raise ValueError(f"state {state} of {name}: the mesh has {len(mesh)} axes")
    for axis, (here, size) in enumerate(zip(state, mesh, strict=True)):
        if here in (REPLICATED, PARTIAL):
            continue
        if here not in node.letters:
            raise ValueError(f"{name} [{node.letters}] cannot be cut along {here!r}, which it does not have")
        if graph.sizes[here] % size:
            raise ValueError(
                f"{name} cannot be cut along {here!r} on axis {axis}: {size} ranks do not divide {graph.sizes[here]}"
            )
        if state.count(here) > 1:
            raise ValueError(f"{name} is cut along {here!r} on two axes: one is supported")


# -- changes of state ----------------------------------------------------------------------------


def collective(before: str, after: str) -> str:
    """What changes a tensor's state on one axis: a primitive, "slice", which is free, or "" for nothing.

    >>> [collective(*pair) for pair in (("P", "R"), ("P", "a"), ("a", "R"), ("a", "b"), ("R", "a"), ("R", "R"))]
    ['all-reduce', 'reduce-scatter', 'all-gather', 'all-to-all', 'slice', '']
    """
    if before == after:
        return ""
    if before == REPLICATED:
        return "slice"  # one rank keeps the value and the others take zeros, where it is to be partial
    if before == PARTIAL:
        return "all-reduce" if after == REPLICATED else "reduce-scatter"
    return {REPLICATED: "all-gather", PARTIAL: "slice"}.get(after, "all-to-all")


def changes(
    graph: Graph, letters: str, before: State, after: State, mesh: Sequence[int]
) -> Iterator[tuple[int, str, int]]:
    """The collectives between two states, those that make the tensor smaller first.

    Yields:
        axis, primitive, and M in numbers: of the tensor that the ranks of this axis share.
    """
    now = list(before)
    for axis in _turns(before, after):
        name = collective(now[axis], after[axis])
        cut = prod(size for other, size in enumerate(mesh) if other != axis and now[other] not in (REPLICATED, PARTIAL))
        message = graph.numbers(letters) // cut
        # in an all-to-all M is what one rank has
        yield axis, name, message // mesh[axis] if name == "all-to-all" else message
        now[axis] = after[axis]


def _turns(before: State, after: State) -> list[int]:
    """The axes on which something changes; a letter is free again before another axis takes it."""
    order = {"slice": 0, "reduce-scatter": 1, "all-to-all": 2, "all-reduce": 3, "all-gather": 4}
    axes = [axis for axis in range(len(before)) if before[axis] != after[axis]]
    axes.sort(key=lambda axis: order[collective(before[axis], after[axis])])
    now, found = list(before), list[int]()
    while axes:
        free = [axis for axis in axes if after[axis] in (REPLICATED, PARTIAL) or after[axis] not in now]
        axis = (free or axes)[0]
        if not free:  # two axes swap their letters: one gives way first, which a change by way of R does
            raise ValueError(f"from {before} to {after}: axes that swap letters are not supported")
        found.append(axis)
        axes.remove(axis)
        now[axis] = after[axis]
    return found


@dataclass(frozen=True)
class Machine:
    """What a plan is priced on.

    Args:
        mesh: ranks on each axis.
        bandwidth: of a port on each axis, bytes per second.
        flops: of a device, per second, for einsums.
        touch: bytes per second that a device reads and writes in its memory, for everything else.
        width: bytes of a number.
        memory: numbers that a device can keep of what stays (default: no limit).

    Raises:
        ValueError: for an axis below 1, or a bandwidth for another number of axes.
    """

    mesh: tuple[int, ...]
    bandwidth: tuple[float, ...]
    flops: float = 400e12
    touch: float = 3.35e12
    width: int = 2
    memory: float = float("inf")

    def __post_init__(self) -> None:
        if min(self.mesh, default=0) < 1 or len(self.bandwidth) != len(self.mesh):
            raise ValueError(
                f"mesh {self.mesh} with bandwidths {self.bandwidth}: each axis needs ranks and a bandwidth"
            )

    def change(self, graph: Graph, letters: str, before: State, after: State) -> float:
        """Seconds of a change of state: the lower bounds of its collectives, without latency."""
        return sum(
            float(lower_bound(name, self.mesh[axis]).n_beta) * numbers * self.width / self.bandwidth[axis]
            for axis, name, numbers in changes(graph, letters, before, after, self.mesh)
            if name != "slice" and self.mesh[axis] > 1
        )

    def compute(self, graph: Graph, node: Node, way: Way) -> float:
        """Seconds of an operation: what is not cut is done again by every rank."""
        cut = [
            any(state[axis] not in (REPLICATED, PARTIAL) for state in (*way.inputs, way.output))
            for axis in range(len(self.mesh))
        ]
        ranks = prod(size for size, here in zip(self.mesh, cut, strict=True) if here)
        if node.kind in ("input", "rename"):
            return 0.0
        if node.kind == "einsum":
            return 2 * graph.terms(node) / ranks / self.flops
        return (len(node.inputs) + 1) * graph.numbers(node.letters) * self.width / ranks / self.touch

    def kept(self, graph: Graph, node: Node, state: State) -> float:
        """Numbers that a rank keeps of a tensor between steps."""
        cut = prod(size for size, here in zip(self.mesh, state, strict=True) if here not in (REPLICATED, PARTIAL))
        return graph.numbers(node.letters) / cut if node.keep else 0.0


# -- plans ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """How every node runs.

    Attributes:
        graph, machine: of what, on what.
        ways: by the name of the node.
        final: the states that some tensors must have in the end.
    """

    graph: Graph
    machine: Machine
    ways: Mapping[str, Way]
    final: Mapping[str, State]

    @property
    def states(self) -> dict[str, State]:
        """The state in which each tensor is made."""
        return {name: way.output for name, way in self.ways.items()}

    @property
    def edges(self) -> Iterator[tuple[str, str, State, State]]:
        """Tensor, user ("" for the end), the state it is in and the state that is wanted."""
        yield from _edges(self.graph, self.ways, self.final)

    @property
    def communication(self) -> list[tuple[str, str, int, str, int]]:
        """Tensor, user, axis, primitive and M in numbers, of each collective that is needed."""
        return [
            (name, user, axis, primitive, numbers)
            for name, user, before, after in self.edges
            for axis, primitive, numbers in changes(
                self.graph, self.graph.by_name[name].letters, before, after, self.machine.mesh
            )
            if primitive != "slice" and self.machine.mesh[axis] > 1
        ]

    @property
    def seconds(self) -> float:
        """Computation and communication, one after the other."""
        compute = sum(self.machine.compute(self.graph, node, self.ways[node.name]) for node in self.graph.nodes)
        return compute + self.exposed

    @property
    def exposed(self) -> float:
        """Seconds of communication."""
        return sum(
            self.machine.change(self.graph, self.graph.by_name[name].letters, before, after)
            for name, _, before, after in self.edges
        )

    @property
    def kept(self) -> float:
        """Numbers that a rank keeps between steps."""
        return sum(self.machine.kept(self.graph, node, self.ways[node.name].output) for node in self.graph.nodes)


def _edges(
    graph: Graph, chosen: Mapping[str, Way], final: Mapping[str, State]
) -> Iterator[tuple[str, str, State, State]]:
    for node in graph.nodes:
        for name, wanted in zip(node.inputs, chosen[node.name].inputs, strict=True):
            yield name, node.name, chosen[name].output, wanted
    for name, wanted in final.items():
        yield name, "", chosen[name].output, wanted


def _offers(
    graph: Graph, machine: Machine, given: Mapping[str, State], final: Mapping[str, State]
) -> dict[str, list[Way]]:
    """The ways of every node; an input may be in any state but partial unless one is given."""
    for name, state in (*given.items(), *final.items()):
        check_state(graph, name, state, machine.mesh)
    found = {}
    for node in graph.nodes:
        offered = ways(graph, node, machine.mesh)
        if node.name in given:
            offered = [way for way in offered if way.output == given[node.name]]
        if node.kind == "input":
            offered = [Way((), way.output) for way in offered]
        found[node.name] = list(dict.fromkeys(offered))
    return found


def cheapest(
    graph: Graph,
    machine: Machine,
    *,
    given: Mapping[str, State] | None = None,
    final: Mapping[str, State] | None = None,
    same: Mapping[str, str] | None = None,
) -> Plan:
    """The plan with the least seconds, by an integer program: a way for each node, a pair of states for each edge.

    Args:
        graph: what to run.
        machine: where.
        given: states that some tensors must have when they are made.
        final: states that some tensors must have in the end.
        same: tensors that must be made in the state of another, as new parameters in that of the old.

    Raises:
        ValueError: for a state that a tensor cannot be in, or if no plan fits the memory.

    Source: the formulation is Alpa's (Zheng et al., 2022, section 4.2).
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    given, final, same = given or {}, final or {}, same or {}
    offered = _offers(graph, machine, given, final)
    costs, kept, first = list[float](), list[float](), dict[str, int]()
    for node in graph.nodes:
        first[node.name] = len(costs)
        costs += [machine.compute(graph, node, way) for way in offered[node.name]]
        kept += [machine.kept(graph, node, way.output) for way in offered[node.name]]
    whole = len(costs)
    rows, columns, values, right = list[int](), list[int](), list[float](), list[float]()

    def equation(terms: Sequence[tuple[int, float]], total: float) -> None:
        for column, value in terms:
            rows.append(len(right))
            columns.append(column)
            values.append(value)
        right.append(total)

    for node in graph.nodes:
        equation([(first[node.name] + k, 1.0) for k in range(len(offered[node.name]))], 1.0)
    for name, befores, afters in _choices(graph, offered, first, final):
        start, letters = len(costs), graph.by_name[name].letters
        for before, after in product(befores, afters):
            costs.append(_priced(machine, graph, letters, before, after))
        for i, takers in enumerate(befores.values()):
            pairs = [(start + i * len(afters) + j, 1.0) for j in range(len(afters))]
            equation([*pairs, *((column, -1.0) for column in takers)], 0.0)
        for j, takers in enumerate(afters.values()):
            pairs = [(start + i * len(afters) + j, 1.0) for i in range(len(befores))]
            equation([*pairs, *((column, -1.0) for column in takers)], 0.0 if takers else 1.0)
    for new, old in same.items():
        ends = [_outputs(offered[name], first[name]) for name in (new, old)]
        for state in dict.fromkeys([*ends[0], *ends[1]]):
            terms = [
                (column, sign) for end, sign in zip(ends, (1.0, -1.0), strict=True) for column in end.get(state, [])
            ]
            equation(terms, 0.0)
    table = coo_array((values, (rows, columns)), shape=(len(right), len(costs))).tocsr()
    limits = [LinearConstraint(table, right, right)]
    if np.isfinite(machine.memory):
        limits.append(LinearConstraint(np.array([*kept, *[0.0] * (len(costs) - whole)])[None], -np.inf, machine.memory))
    price = np.array(costs)
    impossible = ~np.isfinite(price)
    scale = price[~impossible].max(initial=0) or 1.0
    found = milp(
        np.where(impossible, 0.0, price / scale),
        integrality=(np.arange(len(costs)) < whole).astype(int),
        bounds=Bounds(0, np.where(impossible, 0.0, 1.0)),
        constraints=limits,
        options={"mip_rel_gap": 0},
    )
    if found.x is None:
        raise ValueError(f"no plan keeps at most {machine.memory:g} numbers on a rank of the mesh {machine.mesh}")
    chosen = {
        node.name: offered[node.name][int(np.argmax(found.x[first[node.name] :][: len(offered[node.name])]))]
        for node in graph.nodes
    }
    return Plan(graph, machine, chosen, final)


def _choices(
    graph: Graph, offered: Mapping[str, list[Way]], first: Mapping[str, int], final: Mapping[str, State]
) -> Iterator[tuple[str, dict[State, list[int]], dict[State, list[int]]]]:
    """Each edge: the tensor, its states and those wanted, with the columns of the ways that have them."""
    for node in graph.nodes:
        for place, name in enumerate(node.inputs):
            wanted: dict[State, list[int]] = {}
            for k, way in enumerate(offered[node.name]):
                wanted.setdefault(way.inputs[place], []).append(first[node.name] + k)
            yield name, _outputs(offered[name], first[name]), wanted
    for name, state in final.items():
        yield name, _outputs(offered[name], first[name]), {state: []}


def _outputs(offered: Sequence[Way], first: int) -> dict[State, list[int]]:
    found: dict[State, list[int]] = {}
    for k, way in enumerate(offered):
        found.setdefault(way.output, []).append(first + k)
    return found


def _priced(machine: Machine, graph: Graph, letters: str, before: State, after: State) -> float:
    try:
        return machine.change(graph, letters, before, after)
    except ValueError:  # axes that swap letters
        return float("inf")


def by_trying_all(
    graph: Graph,
    machine: Machine,
    *,
    given: Mapping[str, State] | None = None,
    final: Mapping[str, State] | None = None,
    same: Mapping[str, str] | None = None,
) -> Plan:
    """The plan with the least seconds, by looking at all of them; arguments as for `cheapest`."""
    given, final, same = given or {}, final or {}, same or {}
    offered = _offers(graph, machine, given, final)
    names = list(offered)
    best: tuple[float, Plan] | None = None
    for chosen in product(*offered.values()):
        plan = Plan(graph, machine, dict(zip(names, chosen, strict=True)), final)
        if any(plan.states[new] != plan.states[old] for new, old in same.items()):
            continue
        try:
            seconds = plan.seconds
        except ValueError:
            continue
        if plan.kept <= machine.memory and (best is None or seconds < best[0]):
            best = seconds, plan
    if best is None:
        raise ValueError(f"no plan keeps at most {machine.memory:g} numbers on a rank of the mesh {machine.mesh}")
    return best[1]


# -- execution -----------------------------------------------------------------------------------


def run(plan: Plan, values: Mapping[str, Floats]) -> dict[str, Floats]:
    """Execute a plan on shards, every change of state as a collective, and return the tensors asked for as wholes.

    Args:
        plan: what to do.
        values: the graph's inputs, whole.

    Returns:
        each tensor of `plan.final`, put together from the ranks' shards; equal on all ranks where it is replicated.
    """
    graph, mesh = plan.graph, plan.machine.mesh
    shards: dict[str, list[Floats]] = {}
    for node in graph.nodes:
        way = plan.ways[node.name]
        if node.kind == "input":
            shards[node.name] = _cut(values[node.name], node.letters, way.output, mesh)
            continue
        inputs = []
        for name, wanted in zip(node.inputs, way.inputs, strict=True):
            inputs.append(_changed(shards[name], graph, name, plan.ways[name].output, wanted, mesh))
        shards[node.name] = [_local(graph, node, list(parts)) for parts in zip(*inputs, strict=True)]
    return {
        name: _whole(
            _changed(shards[name], graph, name, plan.ways[name].output, state, mesh),
            graph.by_name[name].letters,
            state,
            mesh,
        )
        for name, state in plan.final.items()
    }


def unsharded(graph: Graph, values: Mapping[str, Floats]) -> dict[str, Floats]:
    """All tensors, on one device."""
    found = dict(values)
    for node in graph.nodes:
        if node.kind != "input":
            found[node.name] = _local(graph, node, [found[name] for name in node.inputs])
    return found


def _local(graph: Graph, node: Node, parts: list[Floats]) -> Floats:
    if node.kind == "einsum":
        shapes = ",".join(graph.by_name[name].letters for name in node.inputs)
        return np.asarray(np.einsum(f"{shapes}->{node.letters}", *parts))
    if node.kind == "rename":
        return parts[0]
    if node.kind == "add":
        return np.asarray(sum(parts))
    axis = node.letters.index(node.along) if node.along else -1
    return np.asarray(np.moveaxis(FUNCTIONS[node.function](np.moveaxis(parts[0], axis, -1)), -1, axis))


def _lines(mesh: Sequence[int], axis: int) -> list[list[int]]:
    """The groups of ranks along an axis."""
    ranks = np.moveaxis(np.arange(prod(mesh)).reshape(mesh), axis, -1)
    return [[int(rank) for rank in row] for row in ranks.reshape(-1, mesh[axis])]


def _cut(value: Floats, letters: str, state: State, mesh: Sequence[int]) -> list[Floats]:
    found = []
    for place in np.ndindex(*mesh):
        part = value
        for here, size, own in zip(state, mesh, place, strict=True):
            if here != REPLICATED:
                part = np.split(part, size, axis=letters.index(here))[own]
        found.append(part)
    return found


def _whole(parts: list[Floats], letters: str, state: State, mesh: Sequence[int]) -> Floats:
    for axis in reversed(range(len(mesh))):
        groups = [parts[i : i + mesh[axis]] for i in range(0, len(parts), mesh[axis])]
        if state[axis] == REPLICATED:
            assert all(np.array_equal(group[0], other) for group in groups for other in group)
            parts = [group[0] for group in groups]
        elif state[axis] == PARTIAL:
            parts = [np.sum(group, axis=0) for group in groups]
        else:
            parts = [np.concatenate(group, axis=letters.index(state[axis])) for group in groups]
    return parts[0]


def _changed(
    parts: list[Floats], graph: Graph, name: str, before: State, after: State, mesh: Sequence[int]
) -> list[Floats]:
    letters, found, now = graph.by_name[name].letters, list(parts), list(before)
    for axis, primitive, _ in changes(graph, letters, before, after, mesh):
        for line in _lines(mesh, axis):
            moved = _moved(primitive, [found[rank] for rank in line], letters, now[axis], after[axis])
            for rank, part in zip(line, moved, strict=True):
                found[rank] = part
        now[axis] = after[axis]
    return found


def _moved(primitive: str, parts: list[Floats], letters: str, before: str, after: str) -> list[Floats]:
    """One collective along one line of ranks; the dimension that is cut comes first in a buffer."""
    ranks = len(parts)
    if primitive == "slice" and after == PARTIAL:
        return _as_terms(parts, letters, before)
    if primitive == "slice":
        return [np.split(part, ranks, axis=letters.index(after))[own] for own, part in enumerate(parts)]
    if primitive == "all-reduce":
        flat = [np.pad(part.ravel(), (0, -part.size % ranks)) for part in parts]
        return [
            row[: part.size].reshape(part.shape)
            for row, part in zip(run_on(allreduce.ring(ranks), flat), parts, strict=True)
        ]
    if primitive == "reduce-scatter":
        axis = letters.index(after)
        rows = run_on(reducescatter.ring(ranks), [np.moveaxis(part, axis, 0) for part in parts])
        return [np.moveaxis(row, 0, axis) for row in rows]
    if primitive == "all-gather":
        axis = letters.index(before)
        rows = run_on(allgather.ring(ranks), [np.moveaxis(part, axis, 0) for part in parts])
        return [np.moveaxis(row, 0, axis) for row in rows]
    cut, joined = letters.index(after), letters.index(before)
    pieces = [np.stack(np.split(part, ranks, axis=cut)) for part in parts]
    return [np.concatenate(list(row), axis=joined) for row in run_on(alltoall.pairwise(ranks), pieces)]


def _as_terms(parts: list[Floats], letters: str, before: str) -> list[Floats]:
    """Terms of a sum: of a replicated tensor itself and zeros, of shards each with zeros around it."""
    ranks = len(parts)
    if before == REPLICATED:
        return [part if own == 0 else np.zeros_like(part) for own, part in enumerate(parts)]
    axis = letters.index(before)
    return [
        np.concatenate([part if other == own else np.zeros_like(part) for other in range(ranks)], axis=axis)
        for own, part in enumerate(parts)
    ]


# -- examples ------------------------------------------------------------------------------------


def mlp_step(tokens: int, width: int, inner: int) -> Graph:
    """A training step of y = relu(x A) B with the gradient dy given: forward, backward and new parameters.

    Letters: t tokens, d width, f inner width. `MLP_SAME` says which tensors are new versions of others.

    >>> graph = mlp_step(tokens=8, width=4, inner=16)
    >>> " ".join(node.name for node in graph.nodes)
    'x A B dy h f y out slope df dB dh dA dx dx out new A new B'
    """
    return Graph(
        (
            Node("x", "td"),
            Node("A", "df", keep=True),
            Node("B", "fd", keep=True),
            Node("dy", "td"),
            Node("h", "tf", ("x", "A"), "einsum"),
            Node("f", "tf", ("h",), "map", function="relu"),
            Node("y", "td", ("f", "B"), "einsum"),
            Node("out", "td", ("y",), "rename"),
            Node("slope", "tf", ("h",), "map", function="slope of relu"),
            Node("df", "tf", ("dy", "B"), "einsum"),
            Node("dB", "fd", ("f", "dy"), "einsum"),
            Node("dh", "tf", ("df", "slope"), "einsum"),
            Node("dA", "df", ("x", "dh"), "einsum"),
            Node("dx", "td", ("dh", "A"), "einsum"),
            Node("dx out", "td", ("dx",), "rename"),
            Node("new A", "df", ("A", "dA"), "add"),
            Node("new B", "fd", ("B", "dB"), "add"),
        ),
        {"t": tokens, "d": width, "f": inner},
    )


#: New parameters lie where the old ones did, and gradients of activations where these do, for the next layer's sake.
MLP_SAME = {"new A": "A", "new B": "B", "dx out": "x", "out": "x", "dy": "x"}


def transformer_block(batch: int, tokens: int, width: int, heads: int, inner: int) -> Graph:
    """Attention and MLP with normalizations and residuals, forward.

    Letters: b sequences, s and t tokens, d width, h heads, e width of a head, f inner width.
    """
    names = (
        Node("x", "bsd"),
        Node("norm 1", "bsd", ("x",), "row", "d", function="norm"),
        *(Node(f"W{name}", "dhe", keep=True) for name in "qkv"),
        Node("into", "bsd", ("norm 1",), "rename"),
        Node("q", "bshe", ("into", "Wq"), "einsum"),
        Node("others", "btd", ("into",), "rename"),
        Node("k", "bthe", ("others", "Wk"), "einsum"),
        Node("v", "bthe", ("others", "Wv"), "einsum"),
        Node("scores", "bhst", ("q", "k"), "einsum"),
        Node("softmax", "bhst", ("scores",), "row", "t", function="softmax"),
        Node("heads", "bshe", ("softmax", "v"), "einsum"),
        Node("Wo", "hed", keep=True),
        Node("attention", "bsd", ("heads", "Wo"), "einsum"),
        Node("y", "bsd", ("x", "attention"), "add"),
        Node("norm 2", "bsd", ("y",), "row", "d", function="norm"),
        Node("A", "df", keep=True),
        Node("h", "bsf", ("norm 2", "A"), "einsum"),
        Node("f", "bsf", ("h",), "map", function="relu"),
        Node("B", "fd", keep=True),
        Node("mlp", "bsd", ("f", "B"), "einsum"),
        Node("z", "bsd", ("y", "mlp"), "add"),
    )
    sizes = {"b": batch, "s": tokens, "t": tokens, "d": width, "h": heads, "e": width // heads, "f": inner}
    return Graph(names, sizes)
