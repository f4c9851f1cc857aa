"""States of tensors: in which ones an operation runs without communication, and the collectives between them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import inf, prod

from colllib.bounds import lower_bound
from colllib.training.tensor_states.graph import Graph, Node

#: A placement on each axis of the mesh: "R", "P" or the letter along which the tensor is cut; on one of stages the
#: stage's number.
State = tuple[str, ...]

REPLICATED, PARTIAL = "R", "P"
KEPT, AGAIN = "kept", "again"


@dataclass(frozen=True)
class Way:
    """How an operation runs: in which states of its inputs and of its output."""

    inputs: tuple[State, ...]
    output: State
    later: str = ""  # the backward pass finds its tensor KEPT, or computes it AGAIN; "" if all is kept, or not needed


def stage(state: State) -> int:
    """The pipeline's stage that has a tensor: 0 without a pipeline."""
    return next((int(placement) for placement in state if placement.isdigit()), 0)


def ways(graph: Graph, node: Node, mesh: Sequence[int], stages: int | None = None) -> list[Way]:
    """All ways in which a node can run on a mesh without communication.

    A letter is cut on at most one axis of the mesh, and only if the axis's size divides it. On the axis of the
    stages an operation runs in one of them, which has its inputs and its output.

    >>> nodes = (Node("x", "ab"), Node("w", "bc"), Node("y", "ac", ("x", "w"), "einsum"))
    >>> graph = Graph(nodes, {"a": 4, "b": 4, "c": 4})
    >>> [(*way.inputs[0], *way.inputs[1], *way.output) for way in ways(graph, graph.nodes[2], (2,))]
    [('R', 'R', 'R'), ('a', 'R', 'a'), ('b', 'b', 'P'), ('R', 'c', 'c'), ('P', 'R', 'P'), ('R', 'P', 'P')]
    """
    tensors = len(node.inputs) + 1
    axes = [
        [(str(k),) * tensors for k in range(size)] if axis == stages else _on_axis(graph, node, size)
        for axis, size in enumerate(mesh)
    ]
    choices = (tuple(zip(*placements, strict=True)) for placements in product(*axes))  # states of all its tensors
    return [Way(states[:-1], states[-1]) for states in choices if not any(map(_cut_twice, states))]


def _on_axis(graph: Graph, node: Node, size: int) -> list[State]:
    """What a node's inputs and its output can be, together, on one axis of the mesh."""
    shapes = [graph.by_name[name].letters for name in node.inputs]
    placements = [(REPLICATED,) * (len(shapes) + 1)]
    if node.kind == "rename":
        pairs = (pair for pair in zip(shapes[0], node.letters, strict=True) if graph.sizes[pair[0]] % size == 0)
        return [*placements, (PARTIAL, PARTIAL), *pairs]
    for letter in dict.fromkeys("".join([*shapes, node.letters])):
        if letter != node.along and graph.sizes[letter] % size == 0:
            inputs = (letter if letter in shape else REPLICATED for shape in shapes)
            placements.append((*inputs, letter if letter in node.letters else PARTIAL))
    if node.kind == "add":
        placements.append((PARTIAL,) * (len(shapes) + 1))
    elif node.kind == "einsum":  # linear in each of its inputs
        for place in range(len(shapes)):
            inputs = (PARTIAL if other == place else REPLICATED for other in range(len(shapes)))
            placements.append((*inputs, PARTIAL))
    return placements


def _cut_twice(state: State) -> bool:
    letters = [placement for placement in state if placement.islower()]
    return len(set(letters)) < len(letters)


def _offered(sizes: Mapping[str, int], size: int, staged: bool) -> list[str]:
    """What a tensor of such dimensions can be on an axis of so many ranks."""
    if staged:
        return [str(k) for k in range(size)]
    return [REPLICATED, PARTIAL, *(letter for letter, length in sizes.items() if length % size == 0)]


def check_state(graph: Graph, name: str, state: State, mesh: Sequence[int], stages: int | None = None) -> None:
    """Refuse a state that a tensor cannot be in.

    Raises:
        ValueError: naming the tensor, the axis and what it can be there.
    """
    if name not in graph.by_name:
        raise ValueError(f"no tensor {name!r}: there are {', '.join(graph.by_name)}")
    if len(state) != len(mesh):
        raise ValueError(f"state {state} of {name}: the mesh has {len(mesh)} axes")
    sizes = {letter: graph.sizes[letter] for letter in graph.by_name[name].letters}
    for axis, (placement, size) in enumerate(zip(state, mesh, strict=True)):
        offered = _offered(sizes, size, axis == stages)
        if placement not in offered:
            tensor = f"{name} ({', '.join(f'{letter} = {length}' for letter, length in sizes.items())})"
            on_axis = f"{placement!r} on axis {axis} of {size} ranks"
            raise ValueError(f"{tensor} cannot be {on_axis}: it can be {', '.join(offered)}")
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


#: An axis, a primitive, M in numbers of the tensor that the ranks of this axis share, and the state then reached.
Change = tuple[int, str, int, State]


@cache
def changes(
    sizes: tuple[tuple[str, int], ...], before: State, mesh: tuple[int, ...], bandwidth: tuple[float, ...]
) -> dict[State, tuple[float, tuple[Change, ...]]]:
    """The cheapest collectives from a state of a tensor to every other, over other states where that costs less.

    A sum over two axes goes as in a hierarchical all-reduce: each rank of one axis takes a part of it over the other.

    Args:
        sizes: the tensor's letters, and how long each dimension is.
        mesh, bandwidth: ranks on each axis, and bytes per second of a port.

    Returns:
        by state the seconds for a number of one byte, each collective at its lower bound, and the fewest changes
        that take them.

    >>> _, path = changes((("a", 4), ("b", 4)), ("P", "P"), (2, 2), (1.0, 9.0))[("R", "R")]
    >>> [f"{primitive} on axis {axis}" for axis, primitive, *_ in path]
    ['reduce-scatter on axis 1', 'all-reduce on axis 0', 'all-gather on axis 1']
    """
    cheapest: dict[State, tuple[float, tuple[Change, ...]]] = {before: (0.0, ())}
    latest = [before]
    while latest:  # what one change more has reached, or reached at a lower cost
        reached = dict(cheapest)
        for now in latest:
            seconds, path = cheapest[now]
            for change in _one_change(sizes, now, mesh):
                axis, name, numbers, after = change
                sent = 0.0 if name == "slice" else float(lower_bound(name, mesh[axis]).n_beta) * numbers
                total = seconds + sent / bandwidth[axis]
                if total < reached.get(after, (inf, ()))[0] * (1 - 1e-9):  # rounding is no reason for another change
                    reached[after] = total, (*path, change)
        latest = [state for state in reached if reached[state] is not cheapest.get(state)]
        cheapest = reached
    return cheapest


def _one_change(sizes: tuple[tuple[str, int], ...], now: State, mesh: tuple[int, ...]) -> Iterator[Change]:
    """The changes on one axis; a letter is free before another axis takes it."""
    for axis, placement in enumerate(now):
        others = now[:axis] + now[axis + 1 :]
        cuts = prod(ranks for other, ranks in enumerate(mesh) if other != axis and now[other].islower())
        numbers = prod(size for _, size in sizes) // cuts
        for goal in _offered(dict(sizes), mesh[axis], placement.isdigit()):
            name = collective(placement, goal)
            if name and not (goal.islower() and goal in others):
                # in an all-to-all M is what one rank has
                share = numbers // mesh[axis] if name == "all-to-all" else numbers
                yield axis, name, share, (*now[:axis], goal, *now[axis + 1 :])
