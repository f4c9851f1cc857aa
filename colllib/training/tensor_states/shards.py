"""Plans executed on numpy shards: every change of state runs through a schedule of this library."""

from collections.abc import Mapping
from math import inf, prod

import numpy as np

from colllib.algorithms import allgather, allreduce, alltoall, reducescatter
from colllib.evaluation import run_on
from colllib.training.tensor_states.graph import FUNCTIONS, Floats, Graph, Node
from colllib.training.tensor_states.plans import Plan
from colllib.training.tensor_states.states import KEPT, PARTIAL, REPLICATED, State, stage

Shards = dict[int, Floats]  # by rank; in a pipeline of one stage's ranks


def run(plan: Plan, values: Mapping[str, Floats]) -> dict[str, Floats]:
    """Execute a plan on shards of the graph's inputs, every change of state as a collective.

    Returns:
        each tensor of `plan.final` whole, gathered from the ranks' shards; every rank has found the same.

    Raises:
        ValueError: for an input that is not given, or of another shape.
    """
    graph, machine = plan.graph, plan.machine
    results: dict[str, Floats] = {}
    shards: dict[str, Shards] = {}
    for place, node in enumerate(graph.nodes):
        if node.backward and not graph.nodes[place - 1].backward:
            _begin_backward(plan, shards)
        state, final = plan.states[node.name], plan.final.get(node.name)
        if node.kind == "input":
            _check_value(graph, node, values)
            replicas = {
                rank: values[node.name]
                for rank, place in enumerate(np.ndindex(machine.mesh))
                if machine.stages is None or place[machine.stages] == stage(state)
            }
            shards[node.name] = _in_state(replicas, plan, node.name, _replicated(state), state)
        else:
            shards[node.name] = _computed(plan, node, shards)
        if final is not None:
            parts = _in_state(shards[node.name], plan, node.name, state, final)
            results[node.name], *others = _in_state(parts, plan, node.name, final, _replicated(final)).values()
            assert all(np.array_equal(results[node.name], other) for other in others)
    return results


def _replicated(state: State) -> State:
    """That of the whole tensor on each rank of the stage."""
    return tuple(placement if placement.isdigit() else REPLICATED for placement in state)


def _check_value(graph: Graph, node: Node, values: Mapping[str, Floats]) -> None:
    shape = tuple(graph.sizes[letter] for letter in node.letters)
    actual = np.shape(values[node.name]) if node.name in values else "not given"
    if actual != shape:
        raise ValueError(f"{node.name} is {actual}: must be an array of shape {shape}")


def _begin_backward(plan: Plan, shards: dict[str, Shards]) -> None:
    """What the backward pass begins with, if not all was kept: the rest is dropped, and some of it computed again."""
    if plan.machine.activations < inf:
        for node in plan.graph.nodes:
            if not node.keep and plan.ways[node.name].later != KEPT:
                shards.pop(node.name, None)
        for name in plan.again:
            shards[name] = _computed(plan, plan.graph.by_name[name], shards)


def _computed(plan: Plan, node: Node, shards: Mapping[str, Shards]) -> Shards:
    """A tensor's shards from those of its inputs."""
    pairs = zip(node.inputs, plan.ways[node.name].inputs, strict=True)
    inputs = [_in_state(shards[name], plan, name, plan.states[name], state) for name, state in pairs]
    return {rank: _local(plan.graph, node, [parts[rank] for parts in inputs]) for rank in inputs[0]}


def unsharded(graph: Graph, values: Mapping[str, Floats]) -> dict[str, Floats]:
    """All tensors, on one device."""
    tensors = dict(values)
    for node in graph.nodes:
        if node.kind == "input":
            _check_value(graph, node, values)
        else:
            tensors[node.name] = _local(graph, node, [tensors[name] for name in node.inputs])
    return tensors


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


def _in_state(shards: Shards, plan: Plan, name: str, now: State, after: State) -> Shards:
    """A tensor's shards in another state, by collectives along the lines of ranks on their axes."""
    letters, mesh = plan.graph.by_name[name].letters, plan.machine.mesh
    shards = dict(shards)
    ranks = np.arange(prod(mesh)).reshape(mesh)
    for axis, primitive, _, reached in plan.machine.change(plan.graph, letters, now, after)[1]:
        for line in np.moveaxis(ranks, axis, -1).reshape(-1, mesh[axis]).tolist():
            if primitive == "point-to-point":
                shards[line[int(reached[axis])]] = shards.pop(line[int(now[axis])])
            elif line[0] in shards:  # and so all of them
                parts = [shards[rank] for rank in line]
                shards.update(zip(line, _collective(primitive, parts, letters, now[axis], reached[axis]), strict=True))
        now = reached
    return shards


def _collective(primitive: str, parts: list[Floats], letters: str, before: str, after: str) -> list[Floats]:
    """One collective along one line of ranks, which changes their placement of the tensor."""
    ranks, axis = len(parts), letters.find(after if after.islower() else before)  # -1 for a state that is no dimension
    if primitive == "all-reduce":
        return [rows[0] for rows in run_on(allreduce.binomial_tree(ranks), [part[np.newaxis] for part in parts])]
    if primitive in ("reduce-scatter", "all-gather"):
        schedule = (allgather if primitive == "all-gather" else reducescatter).ring(ranks)
        return [np.moveaxis(rows, 0, axis) for rows in run_on(schedule, [np.moveaxis(part, axis, 0) for part in parts])]
    if primitive == "all-to-all":
        received = run_on(alltoall.pairwise(ranks), [np.stack(np.split(part, ranks, axis)) for part in parts])
        return [np.concatenate(list(row), axis=letters.index(before)) for row in received]
    if after != PARTIAL:
        return [np.split(part, ranks, axis)[rank] for rank, part in enumerate(parts)]
    nothing = np.zeros_like(parts[0])  # terms of a sum: the tensor itself and zeros, or each shard with zeros around it
    if before == REPLICATED:
        return [parts[0]] + [nothing] * (ranks - 1)
    padded = [[part if other == rank else nothing for other in range(ranks)] for rank, part in enumerate(parts)]
    return [np.concatenate(shards, axis=axis) for shards in padded]
