"""Explorers of forests: switches that vanish link by link, trees that grow."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np

from colllib.exact import IntArray
from colllib.forest import Tree, bound, fabric, forest
from colllib.forest.fabric import two_boxes
from colllib.forest.splitting import split_off, without_switches
from colllib.show.control import Control, Part
from colllib.show.explorer import Explorer
from colllib.show.geometry import Box, between
from colllib.show.pen import Drawing, Pen, drawing
from colllib.show.theme import listed
from colllib.units import several

UPPER, LOWER = {0, 1, 2, 3, 8}, {4, 5, 6, 7, 9}  # the nodes of the two boxes


@cache
def splits(how: str) -> tuple[tuple[int, int, int, int], ...]:
    """The links that become links past a switch, in order: "verified" ones, or "rings", one for each switch."""
    if how not in ("verified", "rings"):
        raise ValueError(f"splits {how!r}: must be verified or rings")
    network = fabric(two_boxes())
    if how == "verified":
        return tuple(without_switches(network.capacity, network.weight, network.ranks, "two boxes").splits)
    rings = []
    for switch in range(network.ranks, network.nodes):
        members = np.flatnonzero(network.capacity[switch]).tolist()
        for u, t in zip(members, members[1:] + members[:1], strict=True):
            rings.append((u, switch, t, int(network.capacity[u, switch])))
    return tuple(rings)


@cache
def after(how: str, count: int) -> IntArray:
    """The capacities after so many splits."""
    capacity = fabric(two_boxes()).capacity
    for u, switch, t, width in splits(how)[:count]:
        capacity = split_off(capacity, u, switch, t, width)
    return capacity


def splitting_explorer() -> Explorer:
    """Switches vanish split by split, verified or as rings, with the bound of what is left.

    >>> splitting_explorer()
    Explorer: Take the switches out (Pairs of links, Splits done)
    """
    return Explorer(
        "Take the switches out",
        [
            Control("how", "Pairs of links", {"verified": "verified", "rings": "a ring for each switch"}),
            Control("k", "Splits done", lambda how: range(len(splits(how)) + 1), 12),
        ],
        [Part(_split, "What is left of the fabric")],
        summary=_split_summary,
        play="k",
        name="splits",
    )


def _inverse(how: str, k: int) -> Fraction:
    return bound(replace(fabric(two_boxes()), capacity=after(how, k))).inverse_throughput


def _split(how: str, k: int) -> Drawing:
    capacity = after(how, k)
    links = {(a, b): int(capacity[a, b]) for a, b in np.argwhere(capacity).tolist()}
    done = splits(how)[:k]
    fresh = [(u, t) for u, _, t, _ in done[-1:]]
    out = int(capacity[np.ix_(sorted(UPPER), sorted({*LOWER, 10}))].sum())
    return _joined(
        links,
        fresh,
        title=f"{several(out, 'unit')} out of the upper box, and 1/x* = {_inverse(how, k)}",
        alt=f"Splits done: {k}. Links: {len(links)}. Units that lead out of the upper box: {out}.",
    )


def _split_summary(how: str, k: int) -> str:
    done = splits(how)[:k]
    inverse = _inverse(how, k)
    last = ""
    if done:
        u, switch, t, width = done[-1]
        last = f"{several(width, 'unit')} of {u} → s{switch - 8} → {t} became a direct link. "
    lost = "Nothing is lost so far."
    if inverse != 1:
        lost = f"The best schedule on what is left takes {inverse} times as long."
    return f"{k} of {len(splits(how))} splits. {last}{lost}"


def growing_explorer() -> Explorer:
    """The trees of the two boxes grow link by link, on the wires that they stand for.

    >>> growing_explorer()
    Explorer: Watch a tree grow (Root, Links of the tree)
    """
    return Explorer(
        "Watch a tree grow",
        [Control("root", "Root", range(8), kind="select"), Control("k", "Links of the tree", range(8), 7)],
        [Part(_tree, "The tree on its wires")],
        summary=_tree_summary,
        play="k",
        name="growing",
    )


@cache
def trees() -> tuple[Tree, ...]:
    """The eight trees of the two boxes."""
    return forest(two_boxes(), way="general").trees


def _tree(root: int, k: int) -> Drawing:
    tree = trees()[root]
    wires = {link for path in tree.paths[:k] for link in pairwise(path)}
    fresh = set(pairwise(tree.paths[k - 1])) if k else set()
    reached = {tree.root, *(end for _, end in tree.edges[:k])}
    crossing = sum(10 in path for path in tree.paths[:k])
    times = ("never", "once")[crossing] if crossing < 2 else f"{crossing} times"
    return _joined(
        dict.fromkeys(wires, 0),
        fresh,
        inside=reached,
        title=f"Rank {tree.root}'s shard is at {len(reached)} of 8 ranks; between the boxes it went {times}",
        alt=f"The tree of rank {tree.root} has reached the ranks {listed(sorted(reached))} over {len(wires)} wires.",
    )


def _tree_summary(root: int, k: int) -> str:
    tree = trees()[root]
    if not k:
        return f"The tree of rank {tree.root} is its root alone."
    start, end = tree.edges[k - 1]
    path = " → ".join(str(node) if node < 8 else f"s{node - 8}" for node in tree.paths[k - 1])
    return f"Link {k} of 7 joins rank {end} from rank {start}, by {path}, {tree.depths[k - 1]} deep."


def _joined(
    links: Mapping[tuple[int, int], int],
    fresh: Collection[tuple[int, int]],
    title: str,
    alt: str,
    inside: Collection[int] = (),
) -> Drawing:
    """The two boxes with some links, those that lead from box to box and new ones colored; where a link has a capacity
    above 0 it is so thick, and one line for both ways."""
    boxes = {10: Box(276.0, 165.0, 26, 26, round=True)}  # the switch between the two, on the right
    # of the upper box and, upside down, of the lower one: no link leads past another node closely
    places = ((0.0, 0.0), (130.0, 0.0), (20.0, 124.0), (150.0, 110.0), (75.0, 66.0))
    for upper, lower, (x, y) in zip((0, 1, 2, 3, 8), (6, 7, 4, 5, 9), places, strict=True):
        boxes[upper] = Box(x, y, 26, 26, round=True)
        boxes[lower] = Box(x, 330.0 - y, 26, 26, round=True)
    joined = {node for ends in links for node in ends}

    def draw(pen: Pen) -> None:
        for name, y in (("upper box", 62.0), ("lower box", 268.0)):
            pen.group(Box(75, y - 8, 196, 178), name)
        for (a, b), width in sorted(links.items(), key=lambda item: item[0] in fresh):
            crosses = not {a, b} <= UPPER and not {a, b} <= LOWER
            index = 0 if (a, b) in fresh else 1 if crosses else -1
            thick = 1 + width / 3 if width else 0.0
            if (b, a) not in links or {(a, b), (b, a)} & set(fresh):
                pen.arrow(between(boxes[a], boxes[b], 7 if (b, a) in links else 0), "add", index=index, width=thick)
            elif a < b:
                ink = "var(--cl-s2)" if crosses else "var(--cl-edge)"
                more = f' style="stroke:{ink};stroke-width:{thick:.1f}"'
                pen.line([(boxes[a].x, boxes[a].y), (boxes[b].x, boxes[b].y)], more=more)
        for node, box in boxes.items():
            if node < 8:
                reached = node in inside
                pen.disk(box, node, "i" if reached else "", 0 if reached else -1)
            elif node in joined:
                pen.switch(box.x, box.y, f"s{node - 8}")

    legend = [("arrow add h0", "the last one"), ("arrow add h1", "leaves a box")]
    if any(links.values()):
        legend += [("line", "both ways, as thick as it has units")]
    if inside:
        legend += [("disk i h0", "has the shard"), ("disk", "not yet")]
    return drawing(draw, title=title, alt=alt, legend=legend)
