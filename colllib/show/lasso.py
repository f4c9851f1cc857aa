"""A lasso around vertices: the reader draws any set of ranks, and the page counts what leaves it."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from colllib.forest import Fabric, bound, fabric
from colllib.show.geometry import Box, bow
from colllib.show.page import head
from colllib.show.pen import Pen, both_widths
from colllib.show.theme import code, escape, style
from colllib.topology.expression import find

FABRICS = {
    **{f"dgx-a100:{n}": f"{n} boxes of A100" for n in (2, 3, 4)},
    **{f"dgx-h100:{n}": f"{n} boxes of H100" for n in (2, 4, 5)},
    "mi250-8x2": "2 halves of MI250 boxes",
    "torus:4x4": "torus of 4 × 4",
}
ACROSS, SIZE = 4, 8  # ranks of a row, and of a box


class Lasso:
    """Fabrics whose ranks a pointer encloses or taps, or keys choose.

    >>> Lasso()
    A lasso around the ranks of 8 fabrics: what leaves a set, next to the worst.
    """

    def __repr__(self) -> str:
        return f"A lasso around the ranks of {len(FABRICS)} fabrics: what leaves a set, next to the worst."

    def _repr_html_(self) -> str:
        networks = {name: fabric(find(name)) for name in FABRICS}
        options = "".join(f'<option value="{name}">{escape(words)}</option>' for name, words in FABRICS.items())
        pictures = "".join(
            f'<div class="cl-scene" data-on="{name}" role="group" aria-label="The ranks of {escape(FABRICS[name])}"'
            f"{' hidden' if place else ''}>{both_widths(_drawn(network))}</div>"
            for place, (name, network) in enumerate(networks.items())
        )
        data = escape(json.dumps({name: _counts(network) for name, network in networks.items()}, separators=(",", ":")))
        return (
            f'{style("theme", "explorer", "pen", "lasso")}<section class="colllib cl-lasso" id="bottleneck" '
            f'aria-label="Draw your own bottleneck" data-fabrics="{data}">{head("Draw your own bottleneck")}'
            f'<div class="cl-buttons"><select aria-label="Fabric" autocomplete="off">{options}</select>'
            '<button type="button" data-act="worst">Worst set</button>'
            '<button type="button" data-act="clear">Clear</button></div>'
            '<p class="cl-hint">Drag a loop around ranks, tap one to put it in or out, or use arrow keys and the space '
            "bar.</p>"
            '<p class="cl-summary" aria-live="polite">The set is drawn with a script, which does not run here.</p>'
            f'<div class="cl-ground">{pictures}<svg aria-hidden="true"><path/></svg></div>'
            '<p class="cl-hint">In boxes each rank has its card below and, if there is a switch, its port above. '
            "Orange is the narrowest that its shards have to pass.</p>"
            '<table class="colllib-table" aria-label="This set beside the worst"></table>'
            f"<script>{code('lasso')}</script></section>"
        )


def _counts(network: Fabric) -> dict[str, Any]:
    """All links with their capacities, exactly, and the worst set."""
    grid = network.topology.switches == 0
    return {
        "ranks": network.ranks,
        "nodes": network.nodes,
        "unit": [network.unit.numerator, network.unit.denominator],
        "rate": "GB/s" if network.topology.speeds else "BW",
        "links": [[a, b, int(network.capacity[a, b])] for a, b in np.argwhere(network.capacity).tolist()],
        "worst": [node for node in bound(network).cut if node < network.ranks],
        "places": [
            f"row {rank // ACROSS}, column {rank % ACROSS}" if grid else f"box {rank // SIZE}"
            for rank in range(network.ranks)
        ],
    }


def _drawn(network: Fabric) -> Callable[[Pen], None]:
    """Boxes of eight ranks, or a grid, with the links from rank to rank; at a rank its port to the switch of the box
    above, its card below."""
    grid = network.topology.switches == 0
    size = network.ranks if grid else SIZE
    between = np.argwhere(np.triu(network.capacity[: network.ranks, : network.ranks])).tolist()
    ports = [np.flatnonzero(row[network.ranks :]) + network.ranks for row in network.capacity[: network.ranks]]
    step = 50 if between else 33
    down = max(step, 54) if any(map(len, ports)) else step
    wide, high = 3 * step + 47, (size // ACROSS - 1) * down + 71

    def draw(pen: Pen) -> None:
        across = pen.width // (wide + 10)
        place = {}
        for box in range(network.ranks // size):
            left, top = (wide + 10) * (box % across), (high + 10) * (box // across)
            if not grid:
                pen.group(Box(left + wide / 2, top + high / 2, wide, high), f"box {box}")
            for k in range(size):
                place[size * box + k] = (left + 23.5 + step * (k % ACROSS), top + 41 + down * (k // ACROSS))
        for a, b in between:
            (x, y), (u, v) = place[a], place[b]
            far = max(abs(x - u), abs(y - v)) > 1.5 * down
            pen.put(f'<path class="l" data-link="{a}-{b}" d="{bow((x, y), (u, v), 22 if far else 0).d}"/>')
        for rank, (x, y) in place.items():
            for switch, way in zip(ports[rank][::-1], (1, -1), strict=False):
                end = f"M{x - 4:g} {y + way * 21:g}h8" if way < 0 else f"M{x - 3:g} {y + 18:g}h6v6h-6z"
                pen.put(f'<path class="l" data-link="{rank}-{switch}" d="M{x:g} {y:g}V{y + way * 20:g}{end}"/>')
            pen.disk(Box(x, y, 26, 26, round=True), rank)

    return draw
