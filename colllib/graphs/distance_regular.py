"""The distance-regular graphs of degree 4, built from subsets and from the geometry of small fields.

Brouwer and Koolen (1999), "The Distance-Regular Graphs of Valency Four", list all their intersection arrays; beside
those here there are the complete graph on 5 ranks and the complete bipartite one on 4 + 4. No two here have equally
many ranks, so their size names them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from colllib.graphs.families import circulant, hamming, hypercube
from colllib.graphs.links import from_arcs
from colllib.topology.base import Topology
from colllib.topology.graph import full_mesh

Matrix = NDArray[np.bool_]  # which rank is joined to which, shape (N, N)


def _joined(graph: Topology) -> Matrix:
    joined = np.zeros((graph.ranks, graph.ranks), dtype=bool)
    joined[graph.link_src, graph.link_dst] = True
    return joined


def _edges(joined: Matrix) -> Matrix:
    """The edges of a graph, joined where they share an end."""
    ends = np.argwhere(np.triu(joined))
    shared = np.equal.outer(ends, ends).any(axis=(1, 3))
    return np.logical_and(shared, ~np.eye(len(ends), dtype=bool))


def _odd(k: int) -> Matrix:
    """O_k: the subsets of k - 1 out of 2 k - 1 elements, joined where they are disjoint."""
    sets = np.array([sum(1 << element for element in chosen) for chosen in combinations(range(2 * k - 1), k - 1)])
    disjoint: Matrix = np.bitwise_and.outer(sets, sets) == 0
    return disjoint


def _affine_plane() -> Matrix:
    """Points (x, y) and lines y = m x + b over the field of 4: the plane AG(2, 4) without its vertical lines."""
    x, y, m, b = np.ix_(*[np.arange(4)] * 4)
    times = np.where((m == 0) | (x == 0), 0, 1 + (m + x - 2) % 3)  # 1, w and w^2 are 1, 2 and 3; sums are bitwise
    return _incidence((y == times ^ b).reshape(16, 16))


def _incidence(on: Matrix) -> Matrix:
    """Points and lines, joined where a point is on a line, shape (points, lines) before; or a graph doubled."""
    points, lines = (np.zeros((count, count), dtype=bool) for count in on.shape)
    return np.block([[points, on], [on.T, lines]])


def _polygon(gonality: int, q: int) -> Matrix:
    """Which point is on which line of the classical generalized polygon over the field of a prime q.

    The triangle is the projective plane PG(2, q), the quadrangle W(3, q) the points and totally isotropic lines of a
    symplectic form, the hexagon the split Cayley hexagon H(q) in the quadric x0 x4 + x1 x5 + x2 x6 = x3^2
    (Tits 1959; coordinates as in Van Maldeghem (1998), "Generalized Polygons").
    """
    size = {3: 3, 4: 4, 6: 7}[gonality]
    every = np.array(np.unravel_index(np.arange(1, q**size), (q,) * size)).T
    points = every[every[np.arange(len(every)), (every != 0).argmax(axis=1)] == 1]  # first nonzero coordinate 1
    if gonality == 6:
        points = points[((points[:, :3] * points[:, 4:]).sum(axis=1) - points[:, 3] ** 2) % q == 0]
    x, y = points.T[:, :, None], points.T[:, None, :]
    collinear = np.ones((len(points), len(points)), dtype=bool)
    if gonality == 4:
        collinear = (x[0] * y[1] - x[1] * y[0] + x[2] * y[3] - x[3] * y[2]) % q == 0
    elif gonality == 6:
        collinear = sum(x[i] * y[i + 4] + x[i + 4] * y[i] for i in range(3)) % q == 2 * x[3] * y[3] % q
        for (i, j), k in zip(((1, 2), (5, 4), (2, 0), (6, 5), (0, 1), (4, 6)), (4, 2, 5, 0, 6, 1), strict=True):
            collinear &= (x[i] * y[j] - x[j] * y[i] - x[3] * y[k] + x[k] * y[3]) % q == 0
    a, b = np.nonzero(np.triu(collinear, 1))
    span = (points[a, None] + np.arange(q)[:, None] * points[b, None]) % q  # with b itself, the points of each line
    lead = np.take_along_axis(span, (span != 0).argmax(axis=2)[..., None], axis=2)
    span = span * lead ** (q - 2 if q > 2 else 1) % q
    place = q ** np.arange(size)
    number = np.zeros(q**size, dtype=np.intp)
    number[points @ place] = np.arange(len(points))
    lines = np.unique(np.sort(np.column_stack((number[span @ place], b)), axis=1), axis=0)
    on = np.zeros((len(points), len(lines)), dtype=bool)
    on[lines, np.arange(len(lines))[:, None]] = True
    return on


class Named(NamedTuple):
    """A distance-regular graph: what expressions and readers call it, and which rank is joined to which."""

    word: str
    name: str
    joined: Callable[[], Matrix]


#: By their numbers of ranks.
VALENCY_FOUR = {
    6: Named("octahedron", "octahedron J(4, 2)", lambda: _joined(circulant((6, 1, 2)))),
    9: Named("paley", "Paley graph of 9, H(2, 3)", lambda: _joined(hamming(2, 3))),
    10: Named("k55-minus-matching", "K5,5 without a perfect matching", lambda: _incidence(_joined(full_mesh(5)))),
    14: Named("heawood-distance-3", "distance-3 graph of the Heawood graph", lambda: _incidence(~_polygon(3, 2))),
    15: Named("petersen-line", "line graph of the Petersen graph", lambda: _edges(_odd(3))),
    16: Named("4-cube", "4-cube, H(4, 2)", lambda: _joined(hypercube(4))),
    21: Named("heawood-line", "line graph of the Heawood graph", lambda: _edges(_incidence(_polygon(3, 2)))),
    26: Named("pg-2-3", "incidence graph of PG(2, 3)", lambda: _incidence(_polygon(3, 3))),
    32: Named("ag-2-4", "incidence graph of AG(2, 4) without a parallel class", _affine_plane),
    35: Named("odd-4", "odd graph O4", lambda: _odd(4)),
    45: Named("tutte-8-cage-line", "line graph of Tutte's 8-cage", lambda: _edges(_incidence(_polygon(4, 2)))),
    70: Named("doubled-odd-4", "doubled odd graph D(O4)", lambda: _incidence(_odd(4))),
    80: Named("gq-3-3", "incidence graph of GQ(3, 3)", lambda: _incidence(_polygon(4, 3))),
    189: Named("tutte-12-cage-line", "line graph of Tutte's 12-cage", lambda: _edges(_incidence(_polygon(6, 2)))),
    728: Named("gh-3-3", "incidence graph of GH(3, 3)", lambda: _incidence(_polygon(6, 3))),
}


def distance_regular(ranks: int) -> Topology:
    """The distance-regular graph of degree 4 with N ranks.

    Raises:
        ValueError: if there is none here.

    >>> distance_regular(35)
    Topology(distance-regular:35, 35 ranks, 0 switches, 140 links)
    """
    if ranks not in VALENCY_FOUR:
        listed = ", ".join(f"{size} ({named.word})" for size, named in VALENCY_FOUR.items())
        raise ValueError(f"distance-regular:{ranks}: there is one of degree 4 with N = {listed}")
    src, dst = np.nonzero(VALENCY_FOUR[ranks].joined())
    return from_arcs(f"distance-regular:{ranks}", ranks, src, dst)
