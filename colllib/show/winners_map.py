"""The map of winners: who is fastest over ranks and message size, and what a library takes there."""

from bisect import bisect
from functools import cache
from itertools import groupby, pairwise
from operator import itemgetter

from colllib.algorithms import of
from colllib.ladder import PRIMITIVES
from colllib.library_choices import LIBRARIES, Choice, choice, own_costs
from colllib.show.control import Control
from colllib.show.cost_explorer import on_star, prices, ranks
from colllib.show.explorer import Explorer
from colllib.show.race import Form, Race, Row
from colllib.show.views import Map, Turns

#: The rows of the map; the control offers more, between them.
RANKS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 72, 128, 256, 512, 1024, 4096, 16384, 65536)
NOBODY = "nobody"
EDGE = 40  # the power of two above whose bytes no library's table changes


def winners_map(library: str = NOBODY) -> Explorer:
    """Who is fastest at each N and M, and what MPICH, Open MPI and NCCL, or nobody, take there; one is shown first.

    The map depends on M / (alpha BW) only; a library's choice on M itself.

    >>> winners_map()
    Explorer: Who wins where (Primitive, Compare with, Ranks N, Message M, Latency α, Bandwidth BW)
    """
    race = Race(_rows)
    return Explorer(
        "Who wins where",
        [
            Control("primitive", "Primitive", PRIMITIVES, "all-reduce", kind="select"),
            Control("library", "Compare with", _libraries, library, kind="select"),
            ranks(64),
            *prices(4e6),  # at 1 MB the rule would cross letters
        ],
        [
            Map(race, "Who is fastest at each N and M", over=RANKS),
            Turns(race, "Where the fastest changes", "Where the fastest changes at this N"),
        ],
        summary="At N = {n} and M = {m}, {fastest} with {time}{next}.{taken}",
        note="Star, one full-duplex port per rank, lock-step clock, best whole number of segments, Bruck's all-to-all "
        "in its best radix. Where several tie, the map names one that serves every N as it is; at powers of two "
        "Rabenseifner's all-reduce ties Bruck's. Columns are a third of a decade apart. NCCL chooses as it does for "
        "boxes of one GPU and one card of 50 GB/s, whatever BW is. Open MPI's broadcast and reduce are left out.",
        name="winners",
    )


def _libraries(primitive: str) -> list[str]:
    """Nobody, and those whose choices for the primitive this book has."""
    return [NOBODY, *(library for library in LIBRARIES if choice(library, primitive, RANKS[0], 1))]


def _rows(primitive: str, library: str, n: int) -> list[Row]:
    """The algorithms, those that serve every N as it is first, and what the library takes, if one is asked."""
    every = {a.label for a in of(primitive) if all(map(a.fits, RANKS)) and a.name != "rabenseifner"}  # it folds
    rows = sorted((row for row in on_star(primitive, n) if not row.bound), key=lambda row: row.name not in every)
    if library == NOBODY:
        return rows
    forms = {row.name: next(iter(row.variants.values())) for row in rows}  # of several radices the first: 2, as theirs
    labels = _labels(primitive)
    forms |= {labels.get(name, name): Form((cost,)) for name, cost in own_costs(library, primitive, n).items()}
    return [*rows, Row(library, forms, takes=taken(library, primitive, n), bound=True)]


def _labels(primitive: str) -> dict[str, str]:
    return {a.name: a.label for a in of(primitive)}


@cache
def taken(library: str, primitive: str, ranks: int) -> tuple[tuple[float, str], ...]:
    """What a library takes, as the sizes in bytes below which it takes it, found by bisection between powers of two."""
    labels = _labels(primitive)

    def at(size: int) -> Choice:
        chosen = choice(library, primitive, ranks, size)
        assert chosen, f"this book has no choices of {library} for {primitive}"
        return chosen

    def name(one: Choice) -> str:  # halving that this book does not price folds
        return labels.get(one.algorithm or "", one.named.replace("_halving", " halving, folded").replace("_", " "))

    ranges = []
    current = at(1)
    for low, high in pairwise(size for k in range(EDGE + 1) for size in (2**k, 2 * 2**k - 1)):
        while at(high) != current:
            low += bisect(range(low, high), False, key=lambda size: at(size) != current)  # the first of another choice
            ranges.append((low, current))
            current = at(low)
    named = [(limit, name(one)) for limit, one in [*ranges, (1e99, current)]]
    return tuple(list(alike)[-1] for _, alike in groupby(named, itemgetter(1)))
