"""Trees whose switches take part: what a switch holds already is not sent to it again.

Where several edges of a tree lead through one switch that can replicate, only the first sender sends;
the switch does the rest. Backwards in time the switch adds. The bound stays as it is, because every
rank still receives all it lacks; what shrinks is the traffic, and what ranks send (Zhao et al. 2026).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from colllib.forest.splitting import Path
from colllib.forest.tree import Tree
from colllib.primitives import Blocks
from colllib.schedule import Schedule, Step
from colllib.topology import Topology
from colllib.topology.paths import Paths


def replicated(trees: Sequence[Tree], blocks: Blocks, topology: Topology) -> Schedule:
    """The schedule of trees, outwards, in which every switch that replicates takes part.

    Args:
        trees: with the paths of their edges; tree b carries block b.
        blocks: one for each tree.
        topology: says which switches replicate.

    >>> from colllib.execution import execute
    >>> from colllib.forest import forest
    >>> from colllib.topology import find
    >>> where = find("boxes:2x4,inc=both")
    >>> [str(sum(execute(forest(where, multicast=on).schedule(), where).sent)) for on in (False, True)]
    ['7', '5/2']
    """
    holds = np.concatenate(
        (np.ones(topology.ranks, dtype=np.bool_), topology.able("replicates", np.arange(topology.switches)))
    )
    found = [(when, block, path) for block, tree in enumerate(trees) for when, path in _hops(tree, holds)]
    when = np.array([when for when, _, _ in found], dtype=np.intp)
    src, dst = (np.array([path[end] for _, _, path in found], dtype=np.intp) for end in (0, -1))
    messages = Step.of(src, dst, np.array([block for _, block, _ in found], dtype=np.intp), False)
    steps = int(when.max(initial=-1)) + 1
    order = np.argsort(when, kind="stable")
    sent = Schedule.from_messages(blocks, steps, when[order], messages.taken(order))
    paths = Paths.of({(block, path[0], path[-1]): path for _, block, path in found})
    return Schedule(blocks, steps, sent.step, topology.switches, paths=paths)


def _hops(tree: Tree, holds: NDArray[np.bool_]) -> Iterator[tuple[int, Path]]:
    """When each message of a tree is sent and along which nodes; it ends at the first one that can keep it."""
    since = {tree.root: 0}
    for place in np.argsort(tree.depths, kind="stable").tolist():
        path = tree.paths[place]
        start = max(node for node in range(len(path)) if path[node] in since)
        for end in range(start + 1, len(path)):
            if holds[path[end]]:
                yield since[path[start]], path[start : end + 1]
                since[path[end]] = since[path[start]] + 1
                start = end
