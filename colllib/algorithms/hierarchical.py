"""Collectives over boxes, tier by tier: what `nested` makes of an algorithm for each tier.

Every function takes a topology whose ranks stand in boxes (in racks, in pods), the names of the
algorithms of the tiers, innermost first, and the order of the tiers.
"""

from __future__ import annotations

from colllib import primitives
from colllib.algorithms.nested import nested
from colllib.schedule import Schedule
from colllib.topology import Lattice, Topology

ORDERS = ("inner-first", "outer-first")

#: The reduce-scatter that goes with an all-gather, where their names differ.
_SCATTERS = {"recursive-doubling": "recursive-halving"}


def all_reduce(topology: Topology, tiers: str = "ring", order: str = "inner-first") -> Schedule:
    """Reduce-scatter on all tiers but the last, all-reduce there, then all-gather back.

    Args:
        topology: with its ranks in boxes.
        tiers: the algorithm of each tier, innermost first, with commas between, or one for all: an
            all-gather's name for all but the last in the order, an all-reduce's for that.
        order: "inner-first", which leaves the outer tiers a small part of the vector, or "outer-first".

    Raises:
        ValueError: for a wrong number of names, an unknown one, or one that does not serve a tier's size.

    >>> from colllib.topology import boxes
    >>> all_reduce(boxes((4, 2)), tiers="ring,recursive-doubling")
    Schedule(8 ranks, 2 blocks, 4 steps)
    """
    lattice, names, axes = _read(topology, tiers, order)
    *first, last = axes
    down = [(axis, _on(lattice, axis, "reduce-scatter", names[axis])) for axis in first]
    back = [(axis, _on(lattice, axis, "all-gather", names[axis])) for axis in reversed(first)]
    return nested(lattice, [*down, (last, _on(lattice, last, "all-reduce", names[last])), *back])


def reduce_scatter(topology: Topology, tiers: str = "ring", order: str = "inner-first") -> Schedule:
    """Reduce-scatter on one tier after another; arguments as for `all_reduce`, with an all-gather's names.

    >>> from colllib.topology import boxes
    >>> reduce_scatter(boxes((4, 2))).num_steps
    4
    """
    return _one_after_another("reduce-scatter", topology, tiers, order)


def all_gather(topology: Topology, tiers: str = "ring", order: str = "outer-first") -> Schedule:
    """All-gather on one tier after another: outer first, while what crosses the network is small.

    >>> from colllib.topology import boxes
    >>> all_gather(boxes((4, 2))).num_steps
    4
    """
    return _one_after_another("all-gather", topology, tiers, order)


def broadcast(topology: Topology, tiers: str = "binomial-tree", order: str = "outer-first", root: int = 0) -> Schedule:
    """Broadcast on one tier after another, with the root's copy at its place on each; names are a broadcast's.

    >>> from colllib.topology import boxes
    >>> broadcast(boxes((4, 2)), root=5).num_steps
    3
    """
    return _one_after_another("broadcast", topology, tiers, order, root)


def reduce(topology: Topology, tiers: str = "binomial-tree", order: str = "inner-first", root: int = 0) -> Schedule:
    """Reduce on one tier after another; names are a reduce's.

    >>> from colllib.topology import boxes
    >>> reduce(boxes((4, 2))).num_steps
    3
    """
    return _one_after_another("reduce", topology, tiers, order, root)


def all_to_all(topology: Topology, tiers: str = "pairwise", order: str = "inner-first") -> Schedule:
    """All-to-all on one tier after another; inner first gathers in a box what goes the same way.

    >>> from colllib.topology import boxes
    >>> all_to_all(boxes((4, 2))).num_steps
    4
    """
    return _one_after_another("all-to-all", topology, tiers, order)


def _one_after_another(primitive: str, topology: Topology, tiers: str, order: str, root: int | None = None) -> Schedule:
    lattice, names, axes = _read(topology, tiers, order)
    places: tuple[int | None, ...] = (None,) * len(axes)
    if root is not None:
        primitives.check_rank("root", root, lattice.ranks)
        places = lattice.coordinates(root)
    return nested(lattice, [(axis, _on(lattice, axis, primitive, names[axis], places[axis])) for axis in axes])


def _read(topology: Topology, tiers: str, order: str) -> tuple[Lattice, list[str], list[int]]:
    lattice = topology.lattice
    if lattice is None:
        raise ValueError(f"{topology.name} has no boxes: a hierarchical schedule needs some")
    count = len(lattice.dims)
    names = [name.strip() for name in tiers.split(",")]
    if len(names) not in (1, count):
        raise ValueError(f"tiers {tiers!r}: {topology.name} has {count}, give one algorithm for each, innermost first")
    if order not in ORDERS:
        raise ValueError(f"order {order!r}: must be one of {', '.join(ORDERS)}")
    axes = list(range(count))
    return lattice, names * count if len(names) == 1 else names, axes if order == "inner-first" else axes[::-1]


def _on(lattice: Lattice, axis: int, primitive: str, name: str, root: int | None = None) -> Schedule:
    """One tier's schedule."""
    from colllib.algorithms import find

    size = lattice.dims[axis]
    algorithm = find(primitive, _SCATTERS.get(name, name) if primitive == "reduce-scatter" else name)
    if algorithm.takes != "ranks":
        raise ValueError(f"{primitive} {name} on tier {axis}: must be an algorithm for any network")
    if (refusal := algorithm.counts(size)) is not None:
        raise ValueError(f"{primitive} {name} on tier {axis} {refusal}")
    return algorithm.build(size) if root is None else algorithm.build(size, root=root)
