"""What can be played: the algorithms of a primitive on a star, on tori, over boxes, and through switches."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

from colllib import ladder
from colllib.algorithms import Algorithm, every
from colllib.schedule import Schedule
from colllib.show.control import Control
from colllib.show.player import Entry, Player, player
from colllib.topology import Topology, boxes, star, torus
from colllib.topology.expression import find


@cache
def variants(primitive: str) -> dict[str, Entry]:
    """All that can be played of a primitive, by name.

    >>> list(variants("all-gather"))[:4]
    ['ring', 'recursive-doubling', 'bruck', 'pat']
    """
    entries: dict[str, Entry] = {}
    for algorithm in every(primitive):
        if not algorithm.compared:
            continue
        segments = [("P = 4", "4 segments", {"segments": 4})] * algorithm.segmented
        more = _MORE.get(algorithm.name) or _MORE.get(f"{primitive} {algorithm.name}", ())
        for variant, words, options in (("", "", {}), *segments, *more):
            name = ", ".join(filter(None, (algorithm.name, variant)))
            text = ", ".join(filter(None, (algorithm.label, words)))
            entries[name] = _entry(algorithm, text, options)
    return entries


#: What is played of an algorithm besides its usual form: how it is named, what its text says of it, and its options.
_MORE: dict[str, tuple[tuple[str, str, dict[str, Any]], ...]] = {
    "rabenseifner": (("far", "far first", {"order": "far"}), ("fused", "middle step fused", {"fused": True})),
    "pat": (
        ("A = 2", "at most two blocks a message", {"cap": 2}),
        ("A = 1", "at most one block a message", {"cap": 1}),
    ),
    "all-to-all bruck": (("radix 3", "radix 3", {"radix": 3}),),
    "ring-relay": (("singly", "one block at a time", {"bundled": False}),),
    "relay": (("axis after axis", "axis after axis", {"phased": True}),),
}


def _entry(algorithm: Algorithm, text: str, options: dict[str, Any]) -> Entry:
    return Entry(
        text[0].upper() + text[1:],
        lambda topology: algorithm.build(algorithm.argument(topology), **options),
        lambda topology: ladder.skipped(algorithm, topology) is None,
    )


#: What a player shows at first; the rest is behind "all".
FEW = {
    "all-reduce": ("ring", "binomial-tree", "recursive-doubling", "rabenseifner"),
    "broadcast": ("chain", "chain, P = 4", "binomial-tree"),
    "reduce": ("chain", "chain, P = 4", "binomial-tree"),
    "all-gather": ("ring", "recursive-doubling", "bruck"),
    "reduce-scatter": ("ring", "recursive-halving", "bruck"),
    "all-to-all": ("pairwise", "bruck"),
    "point-to-point": ("direct",),
}


def trace_player(
    primitive: str = "all-reduce",
    *,
    ranks: Sequence[int] = (2, 3, 4, 5, 6, 8),
    start: tuple[str, int] | None = None,
    offer: Mapping[str, tuple[str, Callable[[int], Schedule]]] | None = None,
    topology: Callable[[int], Topology] = star,
    proved: bool = True,
) -> Player:
    """The algorithms for a primitive, step by step: who holds what, what moves, what it has cost.

    Args:
        primitive: its name.
        ranks: the numbers of ranks on offer, at most 8.
        start: algorithm and N shown first (default: the first on offer, at N = 4 or the nearest to it).
        offer: other schedules than the library's: name -> (text, builder from N).
        topology: the topology for N (default: a star).
        proved: whether every end state must be right, which it is not where a fault is to be found.

    Raises:
        ValueError: for an unknown primitive, or a start that is not on offer.

    >>> trace_player(ranks=[2, 4])
    Explorer: All-reduce, step by step (Algorithms, Algorithm, Ranks N, Steps done)
    """
    offered, few = variants(primitive), FEW[primitive]
    if offer is not None:
        offered = {name: _scheduled(text, build) for name, (text, build) in offer.items()}
        few = tuple(offer)
    places = {n: topology(n) for n in ranks}
    several = [fabric for n, fabric in places.items() if n > 2]
    # what runs between two ranks alone, as all that takes a wire per pair, shows nothing of its own
    offered = {name: entry for name, entry in offered.items() if any(map(entry.fits, several))} or offered
    for name in few if start is None else ():
        fit = [n for n, fabric in places.items() if offered[name].fits(fabric)]
        if fit:
            start = name, min(fit, key=lambda n: (abs(n - 4), n))
            break
    title = f"{primitive.capitalize()}, step by step"
    return player(title, offered, Control("n", "Ranks N", ranks), topology, few, start, proved)


def _scheduled(text: str, build: Callable[[int], Schedule]) -> Entry:
    return Entry(text, lambda topology: build(topology.ranks), lambda topology: True)


def _several(names: Iterable[str]) -> dict[str, Entry]:
    """Entries of several primitives, each with its primitive's name before its own."""
    entries = {}
    for name in names:
        primitive, _, algorithm = name.partition(" ")
        entry = variants(primitive)[algorithm]
        entries[name] = replace(entry, text=f"{primitive.capitalize()}: {entry.text[0].lower()}{entry.text[1:]}")
    return entries


TORI = ((2, 2, 2), (6,), (3, 3), (4, 3), (4, 4))
ON_TORI = (
    "all-reduce dim-ring",
    "broadcast dim-chain",
    "all-reduce dim-shortest-way",
    "all-reduce rotated-dim-ring",
    "all-reduce breadth-first",
    "all-gather breadth-first",
    "broadcast all-links, P = 4",
    "reduce dim-chain",
)


def torus_player() -> Player:
    """Collectives on small tori, step by step: links that work and links that idle.

    Everything is executed on a torus with one full-duplex link per neighbor, lock-step clock.

    >>> torus_player()
    Explorer: On a torus, step by step (Algorithms, Algorithm, Torus, Steps done)
    """
    texts = {dims: " × ".join(map(str, dims)) if len(dims) > 1 else f"a ring of {dims[0]}" for dims in TORI}
    control = Control("dims", "Torus", texts, kind="select")
    return player("On a torus, step by step", _several(ON_TORI), control, torus, ON_TORI[:2])


IN_BOXES = ("hierarchical", "ring", "recursive-doubling", "rabenseifner", "binomial-tree", "pairwise")


def boxes_player(
    primitive: str = "all-reduce", sizes: Sequence[tuple[int, ...]] = ((2, 2), (2, 4), (4, 2), (2, 2, 2))
) -> Player:
    """A collective over boxes of ranks: what stays in a box, and what crosses the network.

    Args:
        primitive: its name.
        sizes: the boxes to choose from, outermost first as for `colllib.topology.boxes`.

    >>> boxes_player("all-gather")
    Explorer: All-gather over boxes, step by step (Algorithms, Algorithm, Boxes, Steps done)
    """
    title = f"{primitive.capitalize()} over boxes, step by step"
    few = [name for name in IN_BOXES if name in variants(primitive)][:2]
    return player(title, variants(primitive), _boxes(sizes), boxes, few)


def _boxes(sizes: Iterable[tuple[int, ...]]) -> Control:
    texts = {size: f"{size[0]} groups of " * (len(size) > 2) + " × ".join(map(str, size[-2:])) for size in sizes}
    return Control("boxes", "Boxes", texts, kind="select")


ADDING_IN_BOXES = ("nvls", "nvls-tree", "collnet", "hierarchical")


def boxes_switch_player() -> Player:
    """An all-reduce over boxes whose switches add and copy: in the boxes, between them, on both tiers, on none.

    >>> boxes_switch_player()
    Explorer: Switches on two tiers, step by step (Algorithm, Boxes, Steps done)
    """
    control, adding = _boxes(((2, 2), (2, 4), (3, 2))), partial(boxes, inc="both")
    offered = {name: variants("all-reduce")[name] for name in ADDING_IN_BOXES}
    return player("Switches on two tiers, step by step", offered, control, adding, ADDING_IN_BOXES)


THROUGH_SWITCHES = (
    "all-reduce in-network",
    "all-reduce binomial-tree",
    "all-reduce in-network-two-shot",
    "all-reduce in-network, P = 4",
    "reduce-scatter in-network",
    "all-gather in-network",
    "broadcast in-network",
    "reduce in-network",
    "all-to-all in-network",
)


def switch_player() -> Player:
    """Collectives in which switches add and copy, and a tree in software beside them.

    >>> switch_player()
    Explorer: Through the switch, step by step (Algorithms, Algorithm, Network, Steps done)
    """
    texts = {f"inc-star:{n}": f"one switch, {n} ranks" for n in (4, 2, 3, 6, 8)}
    texts |= {f"inc-switch-tree:{n}x{radix}": f"two levels, {n} ranks" for n, radix in ((4, 3), (6, 3), (8, 4))}
    network = Control("network", "Network", texts, kind="select")
    return player("Through the switch, step by step", _several(THROUGH_SWITCHES), network, find, THROUGH_SWITCHES[:2])
