"""Plans executed on numpy shards: every change of state runs through a schedule of this library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from colllib.algorithms import allgather, allreduce, alltoall, reducescatter
from colllib.training.tensor_states.graph import FUNCTIONS, Floats, Graph, Node
from colllib.training.tensor_states.plans import Plan
from colllib.training.tensor_states.states import KEPT, PARTIAL, REPLICATED, State
from colllib.values import run_on

Shards = dict[int, Floats]  # by rank; in a pipeline of one stage's ranks


def run(plan: Plan, values: Mapping[str, Floats]) -> dict[str, Floats]:
    """Execute a plan on shards of the graph's inputs, every change of state as a collective.

    Returns:
        each tensor of `plan.final` whole, gathered from the ranks' shards; every rank has found the same.

    Raises:
        ValueError: for an input that is not given, or of another shape.
    """
    graph, found, shards = plan.graph, dict[str, Floats](), dict[str, Shards]()
    for place, node in enumerate(graph.nodes):
        if node.backward and not graph.nodes[place - 1].backward:
            _turn(plan, shards)
        if node.kind == "input":
            _check_value(graph, node, values)
            shards[node.name] = _cut(values[node.name], node.letters, plan.states[node.name], plan.machine.mesh)
        else:
            shards[node.name] = _made(plan, node, shards)
        if node.name in plan.final:
            state = plan.final[node.name]
            everywhere = tuple(here if here.isdigit() else REPLICATED for here in state)
            parts = _changed(shards[node.name], plan, node.name, plan.states[node.name], state)
            found[node.name], *others = _changed(parts, plan, node.name, state, everywhere).values()
            assert all(np.array_equal(found[node.name], other) for other in others)
    return found


def _check_value(graph: Graph, node: Node, values: Mapping[str, Floats]) -> None:
    wanted = tuple(graph.sizes[letter] for letter in node.letters)
    given = np.shape(values[node.name]) if node.name in values else "not given"
    if given != wanted:
        raise ValueError(f"{node.name} is {given}: must be an array of shape {wanted}")


def _turn(plan: Plan, shards: dict[str, Shards]) -> None:
    """What the backward pass begins with, if not all was kept: the rest is dropped, and some of it made again."""
    if plan.machine.activations < float("inf"):
        for node in plan.graph.nodes:
            if not node.keep and plan.ways[node.name].later != KEPT:
                shards.pop(node.name, None)
        for name in plan.again:
            shards[name] = _made(plan, plan.graph.by_name[name], shards)


def _made(plan: Plan, node: Node, shards: Mapping[str, Shards]) -> Shards:
    """A tensor's shards from those of its inputs."""
    wanted = zip(node.inputs, plan.ways[node.name].inputs, strict=True)
    inputs = [_changed(shards[name], plan, name, plan.states[name], state) for name, state in wanted]
    return {rank: _local(plan.graph, node, [parts[rank] for parts in inputs]) for rank in inputs[0]}


def unsharded(graph: Graph, values: Mapping[str, Floats]) -> dict[str, Floats]:
    """All tensors, on one device."""
    found = dict(values)
    for node in graph.nodes:
        if node.kind == "input":
            _check_value(graph, node, values)
        else:
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
    last = [np.moveaxis(part, axis, -1) for part in parts]
    return np.asarray(np.moveaxis(FUNCTIONS[node.kind](*last), -1, axis))


def _lines(mesh: Sequence[int], axis: int) -> list[list[int]]:
    """The groups of ranks along an axis."""
    lines: list[list[int]] = np.moveaxis(np.arange(prod(mesh)).reshape(mesh), axis, -1).reshape(-1, mesh[axis]).tolist()
    return lines


def _cut(value: Floats, letters: str, state: State, mesh: Sequence[int]) -> Shards:
    found = {}
    for rank, place in enumerate(np.ndindex(*mesh)):
        part = value
        for here, size, own in zip(state, mesh, place, strict=True):
            if here.islower():
                part = np.split(part, size, axis=letters.index(here))[own]
        if all(not here.isdigit() or int(here) == own for here, own in zip(state, place, strict=True)):
            found[rank] = part
    return found


def _changed(shards: Shards, plan: Plan, name: str, now: State, after: State) -> Shards:
    letters, mesh, found = plan.graph.by_name[name].letters, plan.machine.mesh, dict(shards)
    for axis, primitive, _, reached in plan.machine.change(plan.graph, letters, now, after)[1]:
        for line in (line for line in _lines(mesh, axis) if found.keys() & set(line)):
            if primitive == "point-to-point":
                found[line[int(after[axis])]] = found.pop(line[int(now[axis])])
                continue
            moved = _moved(primitive, [found[rank] for rank in line], letters, now[axis], reached[axis])
            found.update(zip(line, moved, strict=True))
        now = reached
    return found


def _moved(primitive: str, parts: list[Floats], letters: str, before: str, after: str) -> list[Floats]:
    """One collective along one line of ranks."""
    ranks, axis = len(parts), letters.find(after if after.islower() else before)  # -1 for a state that is no dimension
    if primitive == "all-reduce":
        return [rows[0] for rows in run_on(allreduce.binomial_tree(ranks), [part[np.newaxis] for part in parts])]
    if primitive in ("reduce-scatter", "all-gather"):
        schedule = (allgather if primitive == "all-gather" else reducescatter).ring(ranks)
        return [np.moveaxis(rows, 0, axis) for rows in run_on(schedule, [np.moveaxis(part, axis, 0) for part in parts])]
    if primitive == "all-to-all":
        pieces = [np.stack(np.split(part, ranks, axis=axis)) for part in parts]
        return [
            np.concatenate(list(row), axis=letters.index(before)) for row in run_on(alltoall.pairwise(ranks), pieces)
        ]
    if after != PARTIAL:
        return [np.split(part, ranks, axis=axis)[own] for own, part in enumerate(parts)]
    nothing = np.zeros_like(parts[0])  # terms of a sum: the tensor itself and zeros, or each shard with zeros around it
    if before == REPLICATED:
        return [parts[0]] + [nothing] * (ranks - 1)
    around = [[part if other == own else nothing for other in range(ranks)] for own, part in enumerate(parts)]
    return [np.concatenate(shards, axis=axis) for shards in around]
