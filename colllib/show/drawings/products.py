"""A drawing of how two ranks multiply matrices with nothing to send: what each has of both, and of the product."""

from colllib.show.pen import FINAL, Drawing, Pen, Tile, drawing
from colllib.training.tensor_states.graph import Graph, Node
from colllib.training.tensor_states.states import PARTIAL, REPLICATED, ways

APART = 16.0  # between the matrices of a product
ALL = 7  # the color of what every rank has


def products(graph: Graph, node: Node, *, title: str = "") -> Drawing:
    """Every way in which two ranks can run a product of two matrices without communication.

    Args:
        graph: has the node and its inputs.
        node: the product.
        title: the conclusion.

    Raises:
        ValueError: for anything but a product of two matrices.

    >>> x, w, y = Node("x", "td"), Node("w", "df"), Node("y", "tf", ("x", "w"), "einsum")
    >>> products(Graph((x, w, y), {"t": 2, "d": 2, "f": 2}), y)
    Ways to compute y on 2 ranks: x R, w R: y R; x t, w R: y t; x d, w d: y P; x R, w f: y f; x P, w R: y P; \
x R, w P: y P.
    """
    tensors = [*(graph.by_name[name] for name in node.inputs), node]
    if node.kind != "einsum" or [len(tensor.letters) for tensor in tensors] != [2, 2, 2]:
        raise ValueError(f"{node.name} is no product of two matrices")
    possible = [[*(state for (state,) in way.inputs), way.output[0]] for way in ways(graph, node, (2,))]
    names = [
        "{}: {}".format(", ".join(words[:2]), words[2])
        for words in ([f"{t.name} {s}" for t, s in zip(tensors, way, strict=True)] for way in possible)
    ]

    def draw(pen: Pen) -> None:
        side, columns = (44.0, 3) if pen.wide else (34.0, 2)
        wide, high = 3 * side + 2 * APART, side + 58
        for k, way in enumerate(possible):
            dx, dy = k % columns * (wide + 44 - 12 * (not pen.wide)), k // columns * high
            pen.text(dx + wide / 2, dy - 14, names[k], "b")
            for place, (tensor, state) in enumerate(zip(tensors, way, strict=True)):
                x = dx + place * (side + APART)
                _matrix(pen, x, dy, side, tensor.letters.find(state), state)
                pen.text(x + side / 2, dy + side + 12, tensor.name, "q")
            for place, sign in enumerate("·="):
                pen.text(dx + (place + 1) * (side + APART) - APART / 2, dy + side / 2, sign)

    legend = [("patch h7", "all of it on every rank"), ("one", "a rank's part"), ("two", "partial: terms of a sum")]
    alt = f"Ways to compute {node.name} on 2 ranks: {'; '.join(names)}."
    return drawing(draw, title=title, alt=alt, legend=legend)


def _matrix(pen: Pen, x: float, y: float, side: float, axis: int, state: str) -> None:
    """A matrix in a state: whole, cut along its rows (axis 0) or columns (axis 1), or a sum of terms."""
    if state == REPLICATED:
        pen.stripes(x, y, Tile(side, side), "0, 1", [ALL], FINAL)
    elif state == PARTIAL:
        pen.stripes(x, y, Tile(side, side), "0+1", [0, 1], FINAL)
    else:
        part = side / 2
        look = Tile(part, side) if axis else Tile(side, part)
        for rank in (0, 1):
            pen.stripes(x + axis * rank * part, y + (1 - axis) * rank * part, look, rank, [rank], FINAL)
