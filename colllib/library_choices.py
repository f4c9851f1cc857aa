"""What libraries choose: their decision tables as cited data, and a look-up.

Each table in `library_choices.csv` was read from the source file that `SOURCES` names. They are the defaults for one
flat communicator, a commutative built-in operation and elements of four bytes; hierarchical variants (Open MPI 5.0
prefers its own, `han`, over several nodes, except for all-to-all and reduce-scatter), tuning files and environment
variables override them. The reduce-scatter is that of equal shares, `MPI_Reduce_scatter_block`. MPICH's `csel.c` lets 8
ranks pass its file's `comm_size<8` in the all-to-all, and so does the table. `library_names.csv` has this book's names
for the same schedules, or for such with the same closed form on a star (but for `own_costs`), where it has any.

NCCL has no table: what its model says is in `colllib.measured.tuning`.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from fractions import Fraction
from importlib import resources
from math import inf

from colllib.algorithms.allreduce import rabenseifner_cost
from colllib.algorithms.broadcast import scatter_bruck_cost
from colllib.cost import Cost
from colllib.measured.tuning import VERSION, estimates, pick
from colllib.primitives import is_power_of_two
from colllib.topology.machines import Machine, find

ELEMENT = 4  # bytes; MPICH compares counts of elements with numbers of ranks


@dataclass(frozen=True)
class Source:
    """Where a table comes from: a path in the library's repository, and which version of the file was read."""

    file: str
    version: str


SOURCES = {
    "MPICH": Source("maint/tuning/coll/mpir/generic.json", "commit 7e03fe85"),
    "Open MPI": Source(
        "ompi/mca/coll/tuned/coll_tuned_decision_fixed.c",
        "releases 4.1.0 to 5.0.10, whose tables are the same",
    ),
    "NCCL": Source("src/graph/tuning.cc, search.cc", VERSION.removeprefix("NCCL ")),
}


@dataclass(frozen=True)
class Choice:
    """What a library takes: its own name for it, and this book's for that schedule or one that costs the same."""

    named: str
    algorithm: str | None


SENDS = "send and receive"


@dataclass(frozen=True)
class Rule:
    """A line of a library's table; the first that fits decides."""

    compared: str  # "M" or "M/N", which the limit is in bytes of
    ranks_below: float  # for how many ranks, infinite for any
    power_of_two: bool  # whether only for such numbers of ranks
    limit: float  # up to how many bytes, infinite for any
    inclusive: bool  # whether the limit itself belongs to it
    fewer_elements_than_ranks: bool  # only if M has fewer elements than the largest power of two up to N
    takes: str  # the library's name for the algorithm

    def fits(self, ranks: int, message: float) -> bool:
        """Whether it decides, if none before it does."""
        size = message / ranks if self.compared == "M/N" else message
        return (
            ranks < self.ranks_below
            and (is_power_of_two(ranks) or not self.power_of_two)
            and (size <= self.limit if self.inclusive else size < self.limit)
            and (message / ELEMENT < 1 << (int(ranks).bit_length() - 1) or not self.fewer_elements_than_ranks)
        )


def _rows(name: str) -> list[list[str]]:
    """Of a table beside this module, without its header."""
    _, *rows = csv.reader((resources.files(__package__) / name).read_text(encoding="utf-8").splitlines())
    return rows


def _tables() -> dict[str, dict[str, list[Rule]]]:
    tables: dict[str, dict[str, list[Rule]]] = {}
    for library, primitive, compared, ranks, power, limit, inclusive, few, takes in _rows("library_choices.csv"):
        rule = Rule(compared, float(ranks or inf), bool(power), float(limit or inf), bool(inclusive), bool(few), takes)
        tables.setdefault(library, {}).setdefault(primitive, []).append(rule)
    return tables


#: The tables of MPICH and Open MPI, by primitive.
TABLES = _tables()

LIBRARIES = tuple(SOURCES)

#: By primitive and a library's name this book's name.
_NAMES = {(primitive, named): algorithm for primitive, named, algorithm in _rows("library_names.csv")}


def choice(library: str, primitive: str, ranks: int, message: float) -> Choice | None:
    """What a library takes by default for M bytes, or None where no table was read; NCCL on `single_gpus`.

    Raises:
        ValueError: for an unknown library or N < 2.

    >>> choice("Open MPI", "all-reduce", 512, 16e6).named, choice("MPICH", "all-gather", 6, 1e3).named
    ('rabenseifner', 'brucks')
    >>> choice("NCCL", "all-reduce", 512, 16e6)
    Choice(named='tree, LL128', algorithm='double-binary-tree')
    """
    if library not in SOURCES:
        raise ValueError(f"unknown library {library!r}: known are {', '.join(SOURCES)}")
    if ranks < 2:
        raise ValueError(f"N = {ranks}: a choice needs at least 2 ranks")
    if library == "NCCL":
        named = _nccl(primitive, ranks, message)
    else:
        rules = TABLES[library].get(primitive, ())
        named = next((rule.takes for rule in rules if rule.fits(ranks, message)), "")
    if not named:
        return None
    if library == "Open MPI":
        named = _handed_over(primitive, named, ranks, message)
    ours = _NAMES.get((primitive, named.partition(",")[0]))
    folds = ours == "recursive-halving" and not is_power_of_two(ranks)  # where the book's schedule is for powers of two
    return Choice(named, None if folds else ours)


def own_costs(library: str, primitive: str, ranks: int) -> dict[str, Cost]:
    """What on a star no schedule of this book costs, by this book's name, or the library's where there is none.

    Off powers of two Open MPI folds for Rabenseifner in two steps, by halves, and MPICH a reduce to rank 0 in one.

    >>> own_costs("MPICH", "reduce", 12), own_costs("Open MPI", "all-gather", 12)
    ({'scatter-bruck': Cost(n_alpha=7, n_beta=11/4)}, {'neighbor': Cost(n_alpha=6, n_beta=11/12)})
    """
    power = 1 << (int(ranks).bit_length() - 1)
    match library, primitive:
        case "Open MPI", "all-gather" if ranks % 2 == 0:
            return {"neighbor": Cost(ranks // 2, Fraction(ranks - 1, ranks))}
        case "Open MPI", "all-reduce" if power < ranks:
            return {"rabenseifner": rabenseifner_cost(ranks) + Cost(1, 0)}
        case "MPICH", "reduce" if power < ranks:
            return {"scatter-bruck": scatter_bruck_cost(power) + Cost(1, 1)}
    return {}


def _handed_over(primitive: str, takes: str, ranks: int, message: float) -> str:
    """What an algorithm of Open MPI leaves its work to where it cannot do it (coll/base, allgather and allreduce)."""
    elements, power = message / ELEMENT, 1 << (int(ranks).bit_length() - 1)
    match primitive, takes:
        case "all-reduce", "ring" | "segmented_ring" if elements < ranks:
            return "recursive_doubling"
        case "all-reduce", "rabenseifner" if elements < power:
            return "basic_linear"
        case "all-gather", "recursive_doubling" if power < ranks:
            return "bruck"
        case "all-gather", "neighbor" if ranks % 2:
            return "ring"
    return takes


def single_gpus(ranks: int) -> Machine:
    """The machine that NCCL chooses for here: boxes of one Hopper GPU, each with one card of 400 Gb/s.

    >>> single_gpus(512).boxes, single_gpus(512).card / 1e9
    (512, 50.0)
    """
    return find(f"dgx-h100:{ranks},gpus=1,cards=1")


def _nccl(primitive: str, ranks: int, message: float) -> str:
    if primitive in ("all-to-all", "point-to-point"):
        return SENDS
    chosen = pick(estimates(single_gpus(ranks), primitive), message)
    return f"{chosen.algorithm}, {chosen.protocol}"
