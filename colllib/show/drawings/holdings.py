"""Drawings of what ranks hold before and after."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import product
from typing import Literal

from colllib.algorithms import allgather, allreduce, alltoall, broadcast, pointtopoint, reduce, reducescatter
from colllib.execution import execute
from colllib.primitives import PRIMITIVES, Blocks
from colllib.schedule import Schedule, pipelined
from colllib.show.film import Film
from colllib.show.geometry import bow
from colllib.show.pen import CHIP, FINAL, NARROW, SPENT, Drawing, Pen, Tile, drawing
from colllib.show.theme import escape, listed


def an_instance(primitive: str, ranks: int, root: int = 0) -> Schedule:
    """A schedule that makes the primitive true, of vectors in as many blocks as there are ranks.

    >>> an_instance("reduce", 4, root=2)
    Schedule(4 ranks, 4 blocks, 5 steps)
    """
    builders = {
        "broadcast": lambda: broadcast.binomial_tree(ranks, segments=ranks, root=root),
        "reduce": lambda: reduce.binomial_tree(ranks, segments=ranks, root=root),
        "all-reduce": lambda: allreduce.ring(ranks),
        "reduce-scatter": lambda: reducescatter.bruck(ranks),
        "all-gather": lambda: allgather.bruck(ranks),
        "all-to-all": lambda: alltoall.pairwise(ranks),
        "point-to-point": lambda: pipelined(pointtopoint.direct(ranks, source=root, target=(root + 1) % ranks), ranks),
    }
    return builders[primitive]()


def primitives(ranks: int = 4, *, title: str = "") -> Drawing:
    """The seven primitives, before and after, as thumbnails: a row for each rank, in the colors of the contributors.

    >>> primitives().alt.split(". ")[0]
    'broadcast: Before: rank 0 holds blocks 0, 1, 2, 3'
    """
    thumbs, described = [], []
    for name in PRIMITIVES:
        film = Film(name, execute(an_instance(name, ranks)))
        described.append(f"{name}: {describe(film.blocks)}")
        caption = f"<figcaption>{escape(name)}</figcaption>"
        thumbs.append(f"<figure>{caption}{_thumbnail(film)}</figure>")
    return Drawing(f'<div class="cl-thumbs">{"".join(thumbs)}</div>', " ".join(described), title)


def _thumbnail(film: Film) -> str:
    """Before and after; of what is there after, only what must be."""
    pen, pitch = Pen(NARROW), 16.0
    wide = pitch * film.schedule.ranks - 1
    for side, t in enumerate((0, film.steps)):
        for rank in range(film.schedule.ranks):
            for k, (label, contributors, marks) in enumerate(_shares(film, t, rank)):
                asked = contributors if marks & FINAL else []
                number = label if len(asked) == 1 else ""
                pen.stripes((wide + 22) * side + pitch * k, pitch * rank, Tile(15, 15), number, asked, marks)
    pen.arrow(bow((wide + 3, wide / 2), (wide + 19, wide / 2)))
    return pen.svg().replace("cl-narrow", "cl-thumb")


def _shares(film: Film, t: int, rank: int) -> list[tuple[int, list[int], int]]:
    """What a rank holds before the first step or after the last, in its order: number, contributors and marks.

    The blocks of an all-to-all have the number of the rank that they are for; they are in the order of those for
    whom they are, and after it of those from whom they came.
    """
    columns = [(block, block) for block in range(len(film.blocks))]
    if film.kind == "destinations":
        at = {ends: block for block, ends in enumerate(film.ends)}
        others = range(film.schedule.ranks)
        columns = [(at[other, rank], rank) if t else (at[rank, other], other) for other in others]
    return [
        (label, sorted(film.states[t].get((rank, block), ())), FINAL if (rank, block) in film.useful[t] else SPENT)
        for block, label in columns
    ]


def before_after(schedule: Schedule, *, colors: Literal["block", "contributor"] = "block", title: str = "") -> Drawing:
    """What each of a few ranks holds before, and what it holds when the schedule has run, block by block.

    The first comes from the blocks' sources, the second from the execution, which also proves it.
    What the primitive asks for is filled; what merely happens to be left is faint.

    Args:
        schedule: what is executed.
        colors: whether a color is a block's, with slots for its contributions, or a contributor's, with stripes for a
            sum. In an all-to-all both are those whose block it is.
        title: the conclusion.

    Raises:
        ScheduleError: if the schedule does not do what its blocks ask for.

    >>> from colllib.algorithms import broadcast
    >>> before_after(broadcast.chain(3))
    Before: rank 0 holds block 0. After: ranks 0, 1, 2 must hold block 0.
    """
    film = Film("", execute(schedule))
    striped = colors == "contributor" or film.kind == "destinations"
    slots = max(cell.slots for cell in film.cells)
    look = CHIP if film.kind == "contributions" else Tile(21, 26, slots) if slots > 1 else Tile(17, 18)
    columns = len(film.cells)
    if striped:
        look, columns = Tile(20, 20), len(_shares(film, 0, 0))

    def draw(pen: Pen) -> None:
        wide, high = columns * (look.width + 2), film.schedule.ranks * (look.height + 6)
        beside = 2 * wide + 120 <= pen.width
        for side, t in enumerate((0, film.steps)):
            dx, dy = (side * (wide + 70), 0.0) if beside else (0.0, side * (high + 34))
            pen.text(dx + wide / 2, dy - 14, ("before", "after")[side], "b")
            for rank in range(film.schedule.ranks):
                y = dy + rank * (look.height + 6)
                if side == 0 or not beside:
                    pen.text(dx - 14, y + look.height / 2, rank)
                if striped:
                    for k, (label, contributors, marks) in enumerate(_shares(film, t, rank)):
                        pen.stripes(dx + k * (look.width + 2), y, look, label, contributors, marks if t else FINAL)
                    continue
                for k, cell in enumerate(film.cells):
                    its_look = Tile(look.width, look.height, cell.slots)
                    marks = film.marks(t, rank, k) & (FINAL + SPENT) if t else 0
                    pen.cell(dx + k * (look.width + 2), y, its_look, k, film.value(t, rank, k), marks)
        if beside:
            pen.arrow(bow((wide + 12, high / 2 - 3), (wide + 54, high / 2 - 3)))
        else:
            pen.arrow(bow((wide / 2, high - 2), (wide / 2, high + 10)))

    spent = {rank for rank, _ in film.states[-1].keys() - film.useful[-1] if rank < schedule.ranks}
    left_over = bool(spent) and film.kind != "destinations"
    kind = "block" if look.slots > 1 else "whole"
    legend = [(f"{kind} final", "what must be there"), *([(f"{kind} spent", "left over")] * left_over)]
    if striped:
        summed = film.kind != "destinations" and film.need(0) > 1
        legend = [("one", "from one rank")] + [("sum", "a sum")] * summed + [("rest", "left over")] * left_over
    return drawing(draw, title=title, alt=describe(schedule.blocks), legend=legend)


def describe(blocks: Blocks) -> str:
    """Who holds which blocks before, and who must hold which after, in words.

    >>> from colllib.primitives import reduce_scatter
    >>> describe(reduce_scatter(2))
    'Before: ranks 0, 1 hold their contributions to blocks 0, 1. After: rank 0 must hold the sum of block 0; rank 1 \
must hold the sum of block 1.'
    """
    ends = list(zip(blocks.source.tolist(), blocks.target.tolist(), strict=True))
    if len(ends) > 1 and sorted(ends) == list(product(range(blocks.ranks), repeat=2)):
        return "Before: each rank holds a block for each rank. After: each rank must hold a block from each rank."
    summed = any(len(blocks.holders(who)) > 1 for who in blocks.source.tolist())
    described = []
    for word, verbs, what, side in (
        ("Before", ("holds", "hold"), "their contributions to ", blocks.source),
        ("After", ("must hold", "must hold"), "the sum of ", blocks.target),
    ):
        holders = [blocks.holders(who).tolist() for who in side.tolist()]
        groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for rank in range(blocks.ranks):
            groups[tuple(block for block, ranks in enumerate(holders) if rank in ranks)].append(rank)
        parts = (
            f"{_several('rank', ranks)} {verbs[len(ranks) > 1]} {what * summed}{_several('block', owned)}"
            for owned, ranks in groups.items()
            if owned
        )
        described.append(f"{word}: {'; '.join(parts)}.")
    return " ".join(described)


def _several(noun: str, numbers: Sequence[int]) -> str:
    return f"{noun}{'s' * (len(numbers) > 1)} {listed(numbers)}"
