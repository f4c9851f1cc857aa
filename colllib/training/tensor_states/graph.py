"""Graphs of einsums, and the training step that a graph's backward pass makes of it."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from math import prod

import numpy as np
from numpy.typing import NDArray

from colllib.primitives import check_counts

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Node:
    """A tensor, and the operation that makes it.

    Args:
        name: what it is called.
        letters: its dimensions, small letters.
        inputs: the tensors that it is made of; none for an input of the graph.
        kind: "input"; "einsum"; "add" of equal shapes; a name in FUNCTIONS; "rename", which gives dimensions other
            letters, or the same: then its users share what a change of state costs.
        along: the dimension that a function needs all of at once (softmax, normalization); it maps value by value
            without one.
        keep: an input that stays on its ranks between steps, as parameters do, and takes memory.
        backward: whether it is made in the backward pass.

    Raises:
        ValueError: for an unknown kind, dimensions that are not told apart, or a function that needs all of a dimension
            without one.
    """

    name: str
    letters: str
    inputs: tuple[str, ...] = ()
    kind: str = "input"
    along: str = ""
    keep: bool = False
    backward: bool = False

    def __post_init__(self) -> None:
        if self.kind not in (known := ("input", "einsum", "add", "rename", *FUNCTIONS)):
            hint = "a product of entries is an einsum of equal letters"
            raise ValueError(f"{self.name} is a {self.kind!r}: must be one of {', '.join(known)}; {hint}")
        along = tuple(self.letters) if self.kind.removesuffix(" back") in ("softmax", "norm") else ("",)
        if self.along not in along:
            offered = ", ".join(map(repr, along))
            raise ValueError(f"{self.name} [{self.letters}] along {self.along!r}: must be one of {offered}")
        if len(set(self.letters)) < len(self.letters):
            raise ValueError(f"{self.name} [{self.letters}]: each dimension needs a letter of its own")

    @property
    def transient_input(self) -> bool:
        """Whether it is an input that does not stay."""
        return self.kind == "input" and not self.keep


def softmax(x: Floats) -> Floats:
    """Shares along the last axis, shape as that of x."""
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def _root(x: Floats) -> Floats:
    return np.asarray(np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-6))


#: What functions compute, those with an `along` along their last axis, to which it is moved.
#: "F back" makes of F's output ("norm": of its input) and its gradient the gradient of its input.
FUNCTIONS: dict[str, Callable[..., Floats]] = {
    "softmax": softmax,
    "softmax back": lambda y, dy: y * (dy - (y * dy).sum(axis=-1, keepdims=True)),
    "norm": lambda x: x / _root(x),
    "norm back": lambda x, dy: dy / _root(x) - x * (x * dy).mean(axis=-1, keepdims=True) / _root(x) ** 3,
    "relu": lambda x: np.maximum(x, 0),
    "relu back": lambda y, dy: dy * (y > 0),
}


@dataclass(frozen=True)
class Graph:
    """Tensors in the order in which they are made, and how long their dimensions are.

    Args:
        nodes: the tensors.
        sizes: of the letters.
        same: tensors that must be made in the state of another, as new parameters in that of the old.

    Raises:
        ValueError: for a letter without a size, an input that is not made before, or shapes that do not fit.
    """

    nodes: tuple[Node, ...]
    sizes: Mapping[str, int]
    same: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_counts(**{f"size of {letter}": size for letter, size in self.sizes.items()})
        for letter in self.sizes:
            if not (len(letter) == 1 and letter.isascii() and letter.islower()):
                raise ValueError(f"dimension {letter!r}: must be a small letter")
        earlier: dict[str, Node] = {}
        for node in self.nodes:
            if node.name in earlier:
                raise ValueError(f"{node.name} is made twice")
            for name in node.inputs:
                if name not in earlier:
                    raise ValueError(f"{node.name} needs {name}, which is not made before it")
            self._check_shape(node, [earlier[name] for name in node.inputs])
            earlier[node.name] = node
        for name in chain.from_iterable(self.same.items()):
            if name not in earlier:
                raise ValueError(f"no tensor {name!r} to keep in the state of another")

    def _check_shape(self, node: Node, inputs: list[Node]) -> None:
        for letter in node.letters:
            if letter not in self.sizes:
                raise ValueError(f"{node.name} has the dimension {letter!r}, which has no size")
            if node.kind == "einsum" and not any(letter in other.letters for other in inputs):
                raise ValueError(f"{node.name} [{node.letters}]: no input has the dimension {letter!r}")
        if node.kind == "einsum":
            return
        for other in inputs:
            shape, other_shape = ([self.sizes[letter] for letter in n.letters] for n in (node, other))
            if shape != other_shape or (node.kind != "rename" and node.letters != other.letters):
                raise ValueError(f"{node.name} [{node.letters}] of {other.name} [{other.letters}]: shapes must agree")

    @cached_property
    def by_name(self) -> dict[str, Node]:
        """The nodes by name."""
        return {node.name: node for node in self.nodes}

    def numbers(self, letters: Iterable[str]) -> int:
        """How many numbers a tensor with these dimensions has."""
        return prod(self.sizes[letter] for letter in letters)


# -- the backward pass ---------------------------------------------------------------------------


def training_step(graph: Graph) -> Graph:
    """A graph with its backward pass behind it, from the gradient of its last tensor to the new parameters.

    The gradient of y is called dy, and where several add up, each is called after the user that it comes by. A new
    parameter is the old one plus its gradient, so that the first gradient holds the sign and the step size. What
    lasts keeps its state: a new parameter has that of the old, and, for the next layer's sake, the graph's output and
    the gradients at both ends have that of the first input.

    >>> graph = mlp_step(tokens=8, width=4, inner=16)
    >>> " ".join(node.name for node in graph.nodes if node.backward)
    'dy dsum df dB dh dx by h dA dx new A new B'
    >>> graph.same
    {'new A': 'A', 'new B': 'B', 'y': 'x', 'dy': 'x', 'dx': 'x'}
    """
    first = next((node for node in graph.nodes if node.transient_input), None)
    if first is None:
        raise ValueError("a training step needs an input that is no parameter")
    last = graph.nodes[-1]
    backward = [Node(f"d{last.name}", last.letters, backward=True)]
    parts = defaultdict(list, {last.name: [backward[0].name]})
    for node in reversed(graph.nodes):
        if node.name not in parts:
            continue
        gradient, *others = parts[node.name]
        if not node.keep and (others or node.transient_input):  # whole, as a node of its own
            gradient = f"d{node.name}"
            kind = "add" if others else "rename"
            backward.append(Node(gradient, node.letters, tuple(parts[node.name]), kind, backward=True))
        for place, name in enumerate(node.inputs):
            if node.kind == "add":  # each input's gradient is the sum's
                parts[name].append(gradient)
                continue
            uses = sum(other.inputs.count(name) for other in graph.nodes)
            part = f"d{name}"
            if uses > 1 or graph.by_name[name].transient_input:
                part += f" by {node.name}" + (f" {place + 1}" if node.inputs.count(name) > 1 else "")
            backward.append(_back(graph, node, place, gradient, part))
            parts[name].append(part)
    same = {f"new {node.name}": node.name for node in graph.nodes if node.keep and node.name in parts}
    for new, old in same.items():
        backward.append(Node(new, graph.by_name[old].letters, (old, *parts[old]), "add", backward=True))
    same |= dict.fromkeys((last.name, f"d{last.name}", *[f"d{first.name}"] * (first.name in parts)), first.name)
    return Graph((*graph.nodes, *backward), graph.sizes, same)


def _back(graph: Graph, node: Node, place: int, gradient: str, name: str) -> Node:
    """The gradient of one input from that of the output."""
    source, kind = node.inputs[place], node.kind
    if kind == "einsum":
        inputs = (gradient, *node.inputs[:place], *node.inputs[place + 1 :])
    elif kind == "rename":
        inputs = (gradient,)
    else:
        inputs = (source if kind == "norm" else node.name, gradient)
        kind = f"{kind} back"
    return Node(name, graph.by_name[source].letters, inputs, kind, node.along, backward=True)


# -- examples ------------------------------------------------------------------------------------


def mlp_step(tokens: int, width: int, inner: int) -> Graph:
    """A training step of y = relu(x A) B: forward, backward and new parameters.

    Letters: t tokens, d width, f inner width.
    """
    nodes = (
        Node("x", "td"),
        Node("A", "df", keep=True),
        Node("B", "fd", keep=True),
        Node("h", "tf", ("x", "A"), "einsum"),
        Node("f", "tf", ("h",), "relu"),
        Node("sum", "td", ("f", "B"), "einsum"),
        Node("y", "td", ("sum",), "rename"),
    )
    return training_step(Graph(nodes, {"t": tokens, "d": width, "f": inner}))


def transformer_block(batch: int, tokens: int, width: int, heads: int, inner: int) -> Graph:
    """Attention and MLP with normalizations and residuals, forward; the output is in the state of the input.

    Letters: b sequences, s and t tokens, d width, h heads, e width of a head, f inner width.
    """
    check_counts(heads=heads)
    if width % heads:
        raise ValueError(f"{heads} heads of a width of {width}: they must divide it")
    names = (
        Node("x", "bsd"),
        Node("norm 1", "bsd", ("x",), "norm", "d"),
        *(Node(f"W{name}", "dhe", keep=True) for name in "qkv"),
        Node("into", "bsd", ("norm 1",), "rename"),
        Node("q", "bshe", ("into", "Wq"), "einsum"),
        Node("others", "btd", ("into",), "rename"),
        Node("k", "bthe", ("others", "Wk"), "einsum"),
        Node("v", "bthe", ("others", "Wv"), "einsum"),
        Node("scores", "bhst", ("q", "k"), "einsum"),
        Node("softmax", "bhst", ("scores",), "softmax", "t"),
        Node("heads", "bshe", ("softmax", "v"), "einsum"),
        Node("Wo", "hed", keep=True),
        Node("attention", "bsd", ("heads", "Wo"), "einsum"),
        Node("sum", "bsd", ("x", "attention"), "add"),
        Node("y", "bsd", ("sum",), "rename"),
        Node("norm 2", "bsd", ("y",), "norm", "d"),
        Node("A", "df", keep=True),
        Node("inner", "bsf", ("norm 2", "A"), "einsum"),
        Node("relu", "bsf", ("inner",), "relu"),
        Node("B", "fd", keep=True),
        Node("mlp", "bsd", ("relu", "B"), "einsum"),
        Node("z", "bsd", ("y", "mlp"), "add"),
    )
    sizes = {"b": batch, "s": tokens, "t": tokens, "d": width, "h": heads, "e": width // heads, "f": inner}
    return Graph(names, sizes, {"z": "x"})
