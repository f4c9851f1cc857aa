"""Trees whose switches take part: what a switch holds already is not sent to it again.

Where several edges of a tree lead through one switch that can replicate, only the first sender sends;
the switch does the rest. Backwards in time the switch adds. The bound stays as it is, because every
rank still receives all it lacks; what shrinks is the traffic, and what ranks send (Zhao et al. 2026).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from colllib.forest.tree import Path, Tree


def messages(tree: Tree, able: NDArray[np.bool_]) -> Iterator[tuple[int, Path]]:
    """When each message of a tree is sent, outwards, and along which nodes.

    A message ends at the first node that can keep it: a rank, or a switch that takes part.

    Args:
        tree: with the paths of its edges, or without where the router decides.
        able: which switches take part, shape (switches,).

    >>> tree = Tree(0, 1, ((0, 1), (0, 2)), ((0, 3, 1), (0, 3, 2)))
    >>> [list(messages(tree, np.array([able]))) for able in (False, True)]
    [[(0, (0, 3, 1)), (0, (0, 3, 2))], [(0, (0, 3)), (1, (3, 1)), (1, (3, 2))]]
    """
    since, paths = {tree.root: 0}, tree.paths or tree.edges
    keeps = np.r_[np.ones(len(tree.members), dtype=np.bool_), able]
    for place in np.argsort(tree.depths, kind="stable").tolist():
        path = paths[place]
        start = max(node for node in range(len(path)) if path[node] in since)
        for end in range(start + 1, len(path)):
            if keeps[path[end]]:
                yield since[path[start]], path[start : end + 1]
                since[path[end]] = since[path[start]] + 1
                start = end
