"""Drawings of what ranks hold before and after."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import product

from colllib.algorithms import allgather, allreduce, alltoall, broadcast, pointtopoint, reduce, reducescatter
from colllib.execution import execute
from colllib.primitives import PRIMITIVES, Blocks
from colllib.schedule import Schedule
from colllib.show.film import Film
from colllib.show.geometry import bow
from colllib.show.pen import CHIP, FINAL, NARROW, SPENT, Drawing, Look, Pen, drawing
from colllib.show.theme import escape, listed


def an_instance(primitive: str, ranks: int, root: int = 0) -> Schedule:
    """A schedule that makes the primitive true; a vector is one block, scattered things are N.

    >>> an_instance("reduce", 4, root=2)
    Schedule(4 ranks, 1 blocks, 2 steps)
    """
    builders = {
        "broadcast": lambda: broadcast.binomial_tree(ranks, root=root),
        "reduce": lambda: reduce.binomial_tree(ranks, root=root),
        "all-reduce": lambda: allreduce.binomial_tree(ranks),
        "reduce-scatter": lambda: reducescatter.bruck(ranks),
        "all-gather": lambda: allgather.bruck(ranks),
        "all-to-all": lambda: alltoall.pairwise(ranks),
        "point-to-point": lambda: pointtopoint.direct(ranks, source=root, target=(root + 1) % ranks),
    }
    return builders[primitive]()


def primitives(ranks: int = 4, *, title: str = "") -> Drawing:
    """The seven primitives, before and after, as thumbnails: a row for each rank, blocks in their owners' colors.

    >>> primitives().alt.split(". ")[0]
    'broadcast: Before: rank 0 holds block 0'
    """
    thumbs, described = [], []
    for name in PRIMITIVES:
        film = Film(name, execute(an_instance(name, ranks)))
        described.append(f"{name}: {describe(film.blocks)}")
        thumbs.append(f"<figure><figcaption>{escape(name)}</figcaption>{_thumbnail(film)}</figure>")
    return Drawing(f'<div class="cl-thumbs">{"".join(thumbs)}</div>', " ".join(described), title)


def _thumbnail(film: Film) -> str:
    """Before and after; a sum is a stack of contributions, in the colors of their ranks where there is one block."""
    pen = Pen(NARROW)
    stacked = film.kind == "contributions"
    wide, high = (31.0, 12.0 / len(film.cells)) if stacked else (32.0 / len(film.cells) - 1, 12.0)
    for side, t in enumerate((0, film.steps)):
        for rank in range(film.schedule.ranks):
            x, y = 50.0 * side, 14.0 * rank
            if stacked:
                pen.cell(x, y, Look(wide, 12, labeled=False), 0, 0)
            for k, cell in enumerate(film.cells):
                value = film.value(t, rank, k) if t == 0 or film.marks(t, rank, k) & FINAL else 0
                corner = (x, y + high * (len(film.cells) - 1 - k)) if stacked else (x + (wide + 1) * k, y)
                if value or not stacked:
                    look = Look(wide, high, cell.slots, labeled=False)
                    pen.cell(*corner, look, k, value, FINAL * (value > 0 and cell.slots == 1))
    middle = 7.0 * film.schedule.ranks - 1
    pen.arrow(bow((35, middle), (47, middle)))
    return pen.svg().replace("cl-narrow", "cl-thumb")


def before_after(schedule: Schedule, *, title: str = "") -> Drawing:
    """What each of a few ranks holds before, and what it holds when the schedule has run, cell by cell.

    The first comes from the blocks' sources, the second from the execution, which also proves it.
    What the primitive asks for is filled; what merely happens to be left is faint.

    Raises:
        ScheduleError: if the schedule does not do what its blocks ask for.

    >>> from colllib.algorithms import broadcast
    >>> before_after(broadcast.chain(3))
    Before: rank 0 holds block 0. After: ranks 0, 1, 2 must hold block 0.
    """
    film = Film("", execute(schedule))
    slots = max(cell.slots for cell in film.cells)
    look = CHIP if film.kind == "contributions" else Look(21, 26, slots) if slots > 1 else Look(17, 18)

    def draw(pen: Pen) -> None:
        wide, high = len(film.cells) * (look.width + 2), film.schedule.ranks * (look.height + 6)
        beside = 2 * wide + 120 <= pen.width
        for side, t in enumerate((0, film.steps)):
            dx, dy = (side * (wide + 70), 0.0) if beside else (0.0, side * (high + 34))
            pen.text(dx + wide / 2, dy - 14, ("before", "after")[side], "b")
            for rank in range(film.schedule.ranks):
                y = dy + rank * (look.height + 6)
                if side == 0 or not beside:
                    pen.text(dx - 14, y + look.height / 2, rank)
                for k, cell in enumerate(film.cells):
                    its_look = Look(look.width, look.height, cell.slots)
                    marks = film.marks(t, rank, k) & (FINAL + SPENT) if t else 0
                    pen.cell(dx + k * (look.width + 2), y, its_look, k, film.value(t, rank, k), marks)
        if beside:
            pen.arrow(bow((wide + 12, high / 2 - 3), (wide + 54, high / 2 - 3)))
        else:
            pen.arrow(bow((wide / 2, high - 2), (wide / 2, high + 10)))

    places = product(range(schedule.ranks), range(len(film.cells)))
    legend = [("block final", "what must be there")]
    if any(film.marks(film.steps, rank, k) & SPENT for rank, k in places):
        legend.append(("block spent", "left over"))
    return drawing(draw, title=title, alt=describe(schedule.blocks), legend=legend)


def describe(blocks: Blocks) -> str:
    """Who holds which blocks before, and who must hold which after, in words.

    >>> from colllib.primitives import reduce_scatter
    >>> describe(reduce_scatter(2))
    'Before: ranks 0, 1 hold their contributions to blocks 0, 1. After: rank 0 must hold the sum of block 0; rank 1 \
must hold the sum of block 1.'
    """
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
