"""Drawings of the trees along which blocks are sent."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from colllib.algorithms.trees import depths
from colllib.execution import execute
from colllib.schedule import Schedule
from colllib.show import layouts
from colllib.show.film import Film
from colllib.show.geometry import Box, between
from colllib.show.pen import Drawing, Pen, drawing
from colllib.show.theme import listed

DISK = (27.0, 27.0)


def tree(schedule: Schedule, *, title: str = "") -> Drawing:
    """The tree along which a schedule sends its blocks, with the steps in which each edge is used; a chain as a row.

    Raises:
        ValueError: if it does not send them all along one tree.

    >>> from colllib.algorithms import broadcast
    >>> tree(broadcast.binomial_tree(4))
    A tree of 4 ranks in 3 levels, rank 0 on top. Edges by step: 0→1 in 1; 0→2 in 2; 1→3 in 2.
    """
    film = _film(schedule, 1)
    parent = film.trees[0][0]
    used = _steps_of(film)

    def draw(pen: Pen) -> None:
        if max(map(parent.count, parent)) == 1:  # a chain
            places = layouts.snake(depths(parent).argsort().tolist(), DISK, pen.width - 8, 48)
        else:
            spread = 30.0 * any(up and down for down, up in used.values())  # a label names two steps
            places = layouts.tree(parent, DISK, _gap(pen, parent, spread), 42)
        boxes = [Box(x, y, *DISK, round=True) for x, y in places]
        for (a, b), (down, up) in used.items():
            if up and down:
                track = between(boxes[a], boxes[b])
                pen.line(track.points)
                share = 0.38 if sum(child < b for _, child in used if parent[child] == a) % 2 else 0.62
                pen.tag(*track.at(share), f"↑{_span(up)} ↓{_span(down)}")
            else:
                ends = (boxes[a], boxes[b]) if down else (boxes[b], boxes[a])
                pen.arrow(between(*ends), "add", _span(down or up), 0.45)
        for rank, box in enumerate(boxes):
            pen.disk(box, rank, "i" if parent[rank] < 0 else "")

    edges = "; ".join(f"{a}→{b} in {_span(sorted(down + up))}" for (a, b), (down, up) in sorted(used.items()))
    size = f"{len(parent)} ranks in {depths(parent).max() + 1} levels"
    alt = f"A tree of {size}, rank {parent.index(-1)} on top. Edges by step: {edges}."
    return drawing(
        draw, title=title, alt=alt, legend=[("disk i", "the root"), ("1", "the step in which an edge is used")]
    )


def two_trees(schedule: Schedule, *, title: str = "") -> Drawing:
    """Two trees on the same ranks, each for half of the blocks: who is an inner node where.

    Where the edges below a node take turns, those that lead down in even steps are dashed; up, it is the odd steps.

    Raises:
        ValueError: if the schedule sends its blocks along another number of trees.

    >>> from colllib.algorithms import allreduce
    >>> two_trees(allreduce.double_binary_tree(4))
    Two trees of 4 ranks. Inner nodes of the first: 0, 2; of the second: 1, 3. No rank is an inner node of both.
    """
    film = _film(schedule, 2)
    parents = [parent for parent, _ in film.trees]
    inner = [sorted({above for above in parent if above >= 0}) for parent in parents]
    used = [_steps_of(film, part) for part in (0, 1)]
    turns = [
        {edge: {t % 2 for t in down} | {(t + 1) % 2 for t in up} for edge, (down, up) in edges.items()}
        for edges in used
    ]
    colored = all(_take_turns(edges) for edges in turns)

    def draw(pen: Pen) -> None:
        shapes = [layouts.tree(parent, DISK, min(30.0, _gap(pen, parent)), 34) for parent in parents]
        wide = [max(x for x, _ in places) + DISK[0] for places in shapes]
        beside = sum(wide) + 50 <= pen.width - 8
        for part, places in enumerate(shapes):
            dx, dy = (part * (wide[0] + 50), 0) if beside else (0, part * (max(y for _, y in shapes[0]) + 80))
            boxes = [Box(x + dx, y + dy, *DISK, round=True) for x, y in places]
            pen.text(dx + wide[part] / 2 - DISK[0] / 2, dy - 26, f"{('first', 'second')[part]} tree", "b")
            for (a, b), turn in turns[part].items():
                pen.line(between(boxes[a], boxes[b]).points, "l copy" if colored and turn == {0} else "l add")
            for rank, box in enumerate(boxes):
                pen.disk(box, rank, "i" if rank in inner[part] else "", part)

    both = sorted(set(inner[0]) & set(inner[1]))
    alt = (
        f"Two trees of {len(parents[0])} ranks. Inner nodes of the first: {listed(inner[0])}; of the second: "
        f"{listed(inner[1])}. " + (f"Of both: {listed(both)}." if both else "No rank is an inner node of both.")
    )
    legend = [("patch h0", "inner in the first"), ("patch h1", "inner in the second"), ("disk", "leaf")]
    if colored and any(up for edges in used for _, up in edges.values()):
        legend += [("line", "up in even steps, down in odd"), ("line copy", "up in odd steps, down in even")]
    elif colored:
        legend += [("line", "used in odd steps"), ("line copy", "used in even steps")]
    return drawing(draw, title=title, alt=alt, legend=legend)


def _film(schedule: Schedule, trees: int) -> Film:
    film = Film("", execute(schedule))
    if len(film.trees) != trees:
        count, needed = len(film.trees) or "no", ("one", "two")[trees - 1]
        raise ValueError(f"{schedule!r} moves its blocks along {count} trees: a drawing of {needed} needs {needed}")
    return film


def _take_turns(turns: Mapping[tuple[int, int], set[int]]) -> bool:
    """Whether each edge keeps to every second step, and those from one parent to its children to different ones."""
    below = Counter((parent, *turn) for (parent, _), turn in turns.items())
    return all(len(turn) == 1 for turn in turns.values()) and max(below.values()) == 1


def _steps_of(film: Film, part: int = 0) -> dict[tuple[int, int], tuple[list[int], list[int]]]:
    """For each edge from parent to child the steps in which it is used down, and those in which it is used up."""
    parent = film.trees[part][0]
    used: dict[tuple[int, int], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for t, messages in enumerate(film.messages):
        for src, dst, tree, *_ in messages:
            if tree == part and parent[dst] == src:
                used[src, dst][0].append(t)
            elif tree == part:
                used[dst, src][1].append(t)
    return used


def _span(steps: Sequence[int]) -> str:
    """Steps in few words.

    >>> _span([3]), _span([1, 6]), _span([2, 3, 4]), _span([1, 3, 5])
    ('3', '1, 6', '2–4', '1, 3 … 5')
    """
    if len(steps) < 3:
        return ", ".join(map(str, steps))
    gap = steps[1] - steps[0]
    return f"{steps[0]}–{steps[-1]}" if gap == 1 else f"{steps[0]}, {steps[1]} … {steps[-1]}"


def _gap(pen: Pen, parent: Sequence[int], more: float = 0.0) -> float:
    leaves = sum(node not in parent for node in range(len(parent)))
    most = (60.0 if pen.wide else 36.0) + more
    return max(4.0, min(most, (pen.width - 10 - leaves * DISK[0]) / max(1, leaves - 1)))
