"""States of tensors: in which ones an operation runs without communication, and the collectives between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from colllib.training.tensor_states.graph import Graph, Node

#: On each axis of the mesh "R", "P" or the letter along which the tensor is cut; on one of stages the stage's number.
State = tuple[str, ...]

REPLICATED, PARTIAL = "R", "P"
KEPT, AGAIN = "kept", "again"


@dataclass(frozen=True)
class Way:
    """How an operation runs: in which states of its inputs and of its output.

    Later the backward pass finds its tensor KEPT, or computes it AGAIN; "" where all is kept or nothing is needed.
    """

    inputs: tuple[State, ...]
    output: State
    later: str = ""


def stage(state: State) -> int:
    """The pipeline's stage that has a tensor: 0 without a pipeline."""
    return next((int(here) for here in state if here.isdigit()), 0)


def ways(graph: Graph, node: Node, mesh: Sequence[int], stages: int | None = None) -> list[Way]:
    """All ways in which a node can run on a mesh without communication.

    A letter is cut on at most one axis of the mesh, and only if the axis's size divides it. On the axis of the
    stages an operation runs in one of them, which has its inputs and its output.

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
    each = [
        [(str(k),) * (len(node.inputs) + 1) for k in range(size)] if axis == stages else _on_axis(graph, node, size)
        for axis, size in enumerate(mesh)
    ]
    found = []
    for columns in product(*each):
        *inputs, output = zip(*columns, strict=True)
        if not any(_cut_twice(state) for state in (*inputs, output)):
            found.append(Way(tuple(inputs), output))
    return found


def _on_axis(graph: Graph, node: Node, size: int) -> list[State]:
    """The states of a node's inputs and of its output, together, on one axis of the mesh."""
    shapes = [graph.by_name[name].letters for name in node.inputs]
    found = [(REPLICATED,) * (len(shapes) + 1)]
    if node.kind == "rename":
        pairs = (pair for pair in zip(shapes[0], node.letters, strict=True) if graph.sizes[pair[0]] % size == 0)
        return [*found, (PARTIAL, PARTIAL), *pairs]
    for letter in dict.fromkeys("".join([*shapes, node.letters])):
        if letter != node.along and graph.sizes[letter] % size == 0:
            inputs = (letter if letter in shape else REPLICATED for shape in shapes)
            found.append((*inputs, letter if letter in node.letters else PARTIAL))
    if node.kind == "einsum":  # linear in each of its inputs
        for place in range(len(shapes)):
            inputs = (PARTIAL if other == place else REPLICATED for other in range(len(shapes)))
            found.append((*inputs, PARTIAL))
    elif node.kind == "add":
        found.append((PARTIAL,) * (len(shapes) + 1))
    return found


def _cut_twice(state: State) -> bool:
    letters = [here for here in state if here.islower()]
    return len(set(letters)) < len(letters)


def check_state(graph: Graph, name: str, state: State, mesh: Sequence[int], stages: int | None = None) -> None:
    """Refuse a state that a tensor cannot be in.

    Raises:
        ValueError: naming the tensor, the axis and what it can be there.
    """
    if name not in graph.by_name:
        raise ValueError(f"no tensor {name!r}: there are {', '.join(graph.by_name)}")
    if len(state) != len(mesh):
        raise ValueError(f"state {state} of {name}: the mesh has {len(mesh)} axes")
    letters = graph.by_name[name].letters
    for axis, (here, size) in enumerate(zip(state, mesh, strict=True)):
        cut = [letter for letter in letters if graph.sizes[letter] % size == 0]
        offered = [str(k) for k in range(size)] if axis == stages else [REPLICATED, PARTIAL, *cut]
        if here not in offered:
            shape = ", ".join(f"{letter} = {graph.sizes[letter]}" for letter in letters)
            raise ValueError(
                f"{name} ({shape}) cannot be {here!r} on axis {axis} of {size} ranks: it can be {', '.join(offered)}"
            )
    if _cut_twice(state):
        raise ValueError(f"state {state} of {name}: a letter is cut on one axis at most")


def collective(before: str, after: str) -> str:
    """What changes a tensor's state on one axis: a primitive, "slice", which is free, or "".

    >>> [collective(*pair) for pair in (("P", "R"), ("P", "a"), ("a", "R"), ("a", "b"), ("R", "a"), ("R", "R"))]
    ['all-reduce', 'reduce-scatter', 'all-gather', 'all-to-all', 'slice', '']
    """
    if before == after:
        return ""
    if before.isdigit():
        return "point-to-point"
    if before == REPLICATED:
        return "slice"  # one rank keeps the value and the others take zeros, where it is to be partial
    if before == PARTIAL:
        return "all-reduce" if after == REPLICATED else "reduce-scatter"
    return {REPLICATED: "all-gather", PARTIAL: "slice"}.get(after, "all-to-all")


def changes(
    graph: Graph, letters: str, before: State, after: State, mesh: Sequence[int]
) -> Iterator[tuple[int, str, int, State]]:
    """The collectives between two states, those that make the tensor smaller first.

    Yields:
        axis, primitive, M in numbers of the tensor that the ranks of this axis share, and the state then reached.
    """
    order = ("slice", "reduce-scatter", "all-to-all", "point-to-point", "all-reduce", "all-gather")
    now, axes = before, [axis for axis in range(len(mesh)) if before[axis] != after[axis]]
    axes.sort(key=lambda axis: order.index(collective(before[axis], after[axis])))
    while axes:
        # a letter is free again before another axis takes it; of two that swap theirs one gives way first
        free = [axis for axis in axes if not after[axis].islower() or after[axis] not in now]
        axis, goal = (free[0], after[free[0]]) if free else (axes[0], REPLICATED)
        name = collective(now[axis], goal)
        numbers = graph.numbers(letters) // prod(
            size for own, size in enumerate(mesh) if own != axis and now[own].islower()
        )
        now = (*now[:axis], goal, *now[axis + 1 :])
        # in an all-to-all M is what one rank has
        yield axis, name, numbers // mesh[axis] if name == "all-to-all" else numbers, now
        if goal == after[axis]:
            axes.remove(axis)
