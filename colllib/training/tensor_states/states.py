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
    """How an operation runs.

    Args:
        inputs: the states that it wants of its inputs.
        output: the state of its output.
        later: what the backward pass finds of a tensor of the forward pass: it is KEPT, computed AGAIN, or ""
            where all is kept or nothing is needed.
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
        [("", (str(k),) * (len(node.inputs) + 1)) for k in range(size)]
        if axis == stages
        else _ways_on_axis(graph, node, size)
        for axis, size in enumerate(mesh)
    ]
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


def check_state(graph: Graph, name: str, state: State, mesh: Sequence[int], stages: int | None = None) -> None:
    """Refuse a state that a tensor cannot be in.

    Raises:
        ValueError: naming the tensor, the axis and what is wrong.
    """
    if name not in graph.by_name:
        raise ValueError(f"no tensor {name!r}: there are {', '.join(graph.by_name)}")
    node = graph.by_name[name]
    if len(state) != len(mesh):
        raise ValueError(f"state {state} of {name}: the mesh has {len(mesh)} axes")
    for axis, (here, size) in enumerate(zip(state, mesh, strict=True)):
        if axis == stages:
            if here not in map(str, range(size)):
                raise ValueError(f"state {state} of {name}: axis {axis} has the stages 0 to {size - 1}, not {here!r}")
            continue
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
    """What changes a tensor's state on one axis: a primitive, "send" to another stage, "slice", which is free, or "".

    >>> [collective(*pair) for pair in (("P", "R"), ("P", "a"), ("a", "R"), ("a", "b"), ("R", "a"), ("R", "R"))]
    ['all-reduce', 'reduce-scatter', 'all-gather', 'all-to-all', 'slice', '']
    """
    if before == after:
        return ""
    if before.isdigit():
        return "send"
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

    Raises:
        ValueError: if two axes swap their letters.
    """
    order = ("slice", "reduce-scatter", "all-to-all", "send", "all-reduce", "all-gather")
    changed = (axis for axis in range(len(before)) if before[axis] != after[axis])
    axes = sorted(changed, key=lambda axis: order.index(collective(before[axis], after[axis])))
    now = list(before)
    while axes:
        # a letter is free again before another axis takes it
        axis = next((axis for axis in axes if not after[axis].islower() or after[axis] not in now), None)
        if axis is None:  # two axes swap their letters: one gives way first, which a change by way of R does
            raise ValueError(f"from {before} to {after}: axes that swap letters are not supported")
        axes.remove(axis)
        name = collective(now[axis], after[axis])
        cut = prod(size for other, size in enumerate(mesh) if other != axis and now[other].islower())
        message = graph.numbers(letters) // cut
        # in an all-to-all M is what one rank has
        yield axis, name, message // mesh[axis] if name == "all-to-all" else message
        now[axis] = after[axis]
