"""What libraries choose: their decision tables as cited data, and a look-up.

Each table was read from the source file that `SOURCES` names. They are the defaults for one flat
communicator, a commutative built-in operation and elements of four bytes; hierarchical variants
(Open MPI 5.0 prefers its own, `han`, over several nodes), tuning files and environment variables
override them. `algorithm` is this book's name for the same
schedule, or for one with the same closed form on a star; None where the book has neither.

NCCL has no table: what its model says is in `colllib.measured.tuning`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from colllib.measured.machines import Machine, find
from colllib.measured.tuning import VERSION, estimates, pick

ELEMENT = 4  # bytes; MPICH compares counts of elements with numbers of ranks


@dataclass(frozen=True)
class Source:
    """Where a table comes from.

    Attributes:
        library: its name.
        file: path in the library's repository.
        version: which version of the file was read.
    """

    library: str
    file: str
    version: str


SOURCES = {
    "MPICH": Source("MPICH", "maint/tuning/coll/mpir/generic.json", "commit 7e03fe85"),
    "Open MPI": Source(
        "Open MPI",
        "ompi/mca/coll/tuned/coll_tuned_decision_fixed.c",
        "releases 4.1.0 to 5.0.9, whose tables are the same",
    ),
    "NCCL": Source("NCCL", "src/graph/tuning.cc, search.cc", VERSION.removeprefix("NCCL ")),
}


@dataclass(frozen=True)
class Choice:
    """What a library takes.

    Attributes:
        library: whose choice.
        named: the library's own name for it.
        algorithm: this book's name for that schedule or one that costs the same, or None.
    """

    library: str
    named: str
    algorithm: str | None


SENDS = "send and receive"
# (primitive, the library's name) -> this book's name
_NAMES = {
    ("all-reduce", "recursive_doubling"): "recursive-doubling",
    ("all-reduce", "reduce_scatter_allgather"): "rabenseifner",
    ("all-reduce", "rabenseifner"): "rabenseifner",
    ("all-reduce", "ring"): "ring",
    ("all-reduce", "segmented_ring"): "ring",
    ("all-reduce", "nonoverlapping"): "binomial-tree",
    ("all-reduce", "tree"): "double-binary-tree",
    ("all-gather", "recursive_doubling"): "recursive-doubling",
    ("all-gather", "brucks"): "bruck",
    ("all-gather", "bruck"): "bruck",
    ("all-gather", "ring"): "ring",
    ("all-gather", "two_proc"): "ring",
    ("all-gather", "PAT"): "pat",
    ("reduce-scatter", "recursive_halving"): "recursive-halving",
    ("reduce-scatter", "pairwise"): "ring",
    ("reduce-scatter", "ring"): "ring",
    ("reduce-scatter", "PAT"): "pat",
    ("broadcast", "binomial"): "binomial-tree",
    ("broadcast", "scatter_ring_allgather"): "scatter-allgather",
    ("broadcast", "ring"): "chain",
    ("reduce", "binomial"): "binomial-tree",
    ("reduce", "ring"): "chain",
    ("all-to-all", "brucks"): "bruck",
    ("all-to-all", "modified_bruck"): "bruck",
    ("all-to-all", "pairwise"): "pairwise",
    ("all-to-all", "two_proc"): "pairwise",
    ("all-to-all", SENDS): "pairwise",
    ("point-to-point", SENDS): "direct",
}

# Rows are (ranks below, ((bytes below, algorithm), ...)); bytes are what the third entry says.
Rows = tuple[tuple[float, tuple[tuple[float, str], ...]], ...]


def _rows(names: dict[int, str], text: str) -> Rows:
    """Read `ranks below: bytes below = algorithm, ...`; the last of a row has no limit."""
    rows = []
    for line in text.split(";"):
        head, body = line.split(":")
        pairs = [entry.split("=") for entry in body.split(",")]
        steps = tuple((inf if limit.strip() == "-" else float(limit), names[int(a)]) for limit, a in pairs)
        rows.append((inf if head.strip() == "-" else float(head), steps))
    return tuple(rows)


_ALL_REDUCE = {2: "nonoverlapping", 3: "recursive_doubling", 4: "ring", 5: "segmented_ring", 6: "rabenseifner"}
_ALL_GATHER = {2: "bruck", 3: "recursive_doubling", 4: "ring", 5: "neighbor", 6: "two_proc"}
_REDUCE_SCATTER = {1: "non-overlapping", 2: "recursive_halving", 3: "ring", 4: "butterfly"}
_ALL_TO_ALL = {1: "linear", 2: "pairwise", 3: "modified_bruck", 4: "linear_sync", 5: "two_proc"}

#: Primitive -> (what its byte limits are compared with, rows).
OPEN_MPI: dict[str, tuple[str, Rows]] = {
    "all-reduce": (
        "M",
        _rows(
            _ALL_REDUCE,
            "4: 8=4, 4096=3, 8192=4, 16384=3, 65536=4, 262144=5, -=6; 8: 16=4, 8192=3, -=6; 16: 8192=3, -=6;"
            "32: 64=5, 4096=3, -=6; 64: 128=5, -=6; 128: 262144=3, -=6; 256: 131072=2, 262144=3, -=6;"
            "512: 4096=2, -=6; 2048: 2048=2, 16384=3, -=6; 4096: 2048=2, 4096=5, 16384=3, -=6;"
            "-: 2048=2, 16384=5, 32768=3, -=6",
        ),
    ),
    "all-gather": (
        "M/N",
        _rows(
            _ALL_GATHER,
            "3: -=6; 32: -=3; 64: 1024=3, 65536=5, -=4; 128: 512=3, 65536=5, -=4;"
            "256: 512=3, 131072=5, 524288=4, 1048576=5, -=4;"
            "512: 32=3, 128=2, 1024=3, 131072=5, 524288=4, 1048576=5, -=4; 1024: 64=3, 256=2, 2048=3, -=5;"
            "2048: 4=3, 8=2, 16=3, 32=2, 256=3, 512=2, 4096=3, -=5; 4096: 32=2, 128=3, 512=2, 4096=3, -=5;"
            "-: 2=3, 8=2, 16=3, 512=2, 4096=3, -=5",
        ),
    ),
    "reduce-scatter": (
        "M",
        _rows(
            _REDUCE_SCATTER,
            "4: 65536=3, 131072=4, -=3; 8: 8=1, 262144=2, -=3; 32: 262144=2, -=3; 64: 64=1, 2048=2, 524288=4, -=3;"
            "128: 256=1, 512=2, 2048=4, 4096=2, -=4; 256: 256=1, 512=2, -=4; 512: 256=1, 1024=2, -=4;"
            "1024: 512=1, 2048=2, 8192=4, 16384=2, -=4; 2048: 512=1, 4096=2, 16384=4, 32768=2, -=4;"
            "4096: 512=1, 4096=2, -=4; -: 1024=1, 8192=2, -=4",
        ),
    ),
    "all-to-all": (
        "M/N",
        _rows(
            _ALL_TO_ALL,
            "3: 2=2, 4=5, 16=2, 64=5, 256=2, 4096=5, 32768=2, 262144=4, 1048576=5, -=2;"
            "8: 8192=4, 16384=1, 65536=4, 524288=1, 1048576=2, -=1; 16: 262144=4, -=1;"
            "32: 4=4, 512=3, 8192=4, 32768=1, 262144=4, 524288=1, -=4; 64: 512=3, 524288=1, -=4;"
            "128: 1024=3, 2048=1, 4096=4, 262144=1, -=2; 256: 1024=3, 2048=4, 262144=1, -=2;"
            "512: 1024=3, 8192=4, 32768=1, -=2; 1024: 512=3, 8192=4, 16384=1, 131072=4, 262144=1, -=2;"
            "2048: 512=3, 1024=4, 2048=1, 16384=4, 262144=1, -=4; 4096: 1024=3, 4096=4, 8192=1, 131072=4, -=1;"
            "-: 2048=3, 8192=4, 16384=1, 32768=4, 65536=1, -=4",
        ),
    ),
}


@dataclass(frozen=True)
class Rule:
    """The first rule that fits decides.

    Attributes:
        ranks: "any", "power of two", or "fewer than 8".
        limit: it holds up to this many bytes.
        inclusive: whether the limit itself belongs to it.
        named: the algorithm.
        fewer_elements_than_ranks: it holds only if M has fewer elements than the largest power of two up to N.
    """

    ranks: str
    limit: float
    inclusive: bool
    named: str
    fewer_elements_than_ranks: bool = False


#: Primitive -> (what its byte limits are compared with, rules).
MPICH: dict[str, tuple[str, tuple[Rule, ...]]] = {
    "all-reduce": (
        "M",
        (
            Rule("any", 8, True, "recursive_doubling"),
            Rule("any", inf, True, "recursive_doubling", fewer_elements_than_ranks=True),
            Rule("any", inf, True, "reduce_scatter_allgather"),
        ),
    ),
    "all-gather": (
        "M",
        (
            Rule("power of two", 524288, False, "recursive_doubling"),
            Rule("power of two", inf, True, "ring"),
            Rule("any", 81920, False, "brucks"),
            Rule("any", inf, True, "ring"),
        ),
    ),
    "reduce-scatter": (
        "M",
        (Rule("any", 524288, False, "recursive_halving"), Rule("any", inf, True, "pairwise")),
    ),
    "broadcast": (
        "M",
        (
            Rule("fewer than 8", inf, True, "binomial"),
            Rule("any", 12288, True, "binomial"),
            Rule("power of two", 524288, True, "scatter_recursive_doubling_allgather"),
            Rule("any", inf, True, "scatter_ring_allgather"),
        ),
    ),
    "reduce": (
        "M",
        (
            Rule("any", 2048, True, "binomial"),
            Rule("any", inf, True, "binomial", fewer_elements_than_ranks=True),
            Rule("any", inf, True, "reduce_scatter_gather"),
        ),
    ),
    "all-to-all": (
        "M/N",
        (
            Rule("fewer than 8", 32768, True, "scattered"),
            Rule("fewer than 8", inf, True, "pairwise"),
            Rule("any", 256, True, "brucks"),
            Rule("any", 32768, True, "scattered"),
            Rule("any", inf, True, "pairwise"),
        ),
    ),
}

LIBRARIES = tuple(SOURCES)


def choice(library: str, primitive: str, ranks: int, message: float) -> Choice | None:
    """What a library takes by default, or None where no table was read.

    Args:
        library: "MPICH", "Open MPI" or "NCCL".
        primitive: its name.
        ranks: number of ranks N, at least 2. For NCCL each is a box of its own (see `single_gpus`).
        message: M in bytes.

    Raises:
        ValueError: for an unknown library or N < 2.

    >>> choice("Open MPI", "all-reduce", 512, 16e6).named, choice("MPICH", "all-gather", 6, 1e3).named
    ('rabenseifner', 'brucks')
    >>> choice("NCCL", "all-reduce", 512, 16e6)
    Choice(library='NCCL', named='tree, LL128', algorithm='double-binary-tree')
    """
    if library not in SOURCES:
        raise ValueError(f"unknown library {library!r}: known are {', '.join(SOURCES)}")
    if ranks < 2:
        raise ValueError(f"N = {ranks}: a choice needs at least 2 ranks")
    named = {"MPICH": _mpich, "Open MPI": _open_mpi, "NCCL": _nccl}[library](primitive, ranks, message)
    return None if named is None else Choice(library, named, _book(primitive, named.partition(",")[0], ranks))


def _book(primitive: str, named: str, ranks: int) -> str | None:
    ours = _NAMES.get((primitive, named))
    if ours in ("recursive-doubling", "recursive-halving") and primitive != "all-reduce" and ranks & (ranks - 1):
        return None  # the libraries fold here; the book's schedule is for powers of two
    return ours


def _compared(what: str, ranks: int, message: float) -> float:
    return message / ranks if what == "M/N" else message


def _open_mpi(primitive: str, ranks: int, message: float) -> str | None:
    if primitive not in OPEN_MPI:
        return None
    what, rows = OPEN_MPI[primitive]
    size = _compared(what, ranks, message)
    steps = next(steps for below, steps in rows if ranks < below)
    named = next(name for below, name in steps if size < below)
    if primitive == "all-reduce" and named.endswith("ring") and message / ELEMENT < ranks:
        return "recursive_doubling"  # its rings hand over where there are fewer elements than ranks
    return named


def _mpich(primitive: str, ranks: int, message: float) -> str | None:
    if primitive not in MPICH:
        return None
    what, rules = MPICH[primitive]
    size = _compared(what, ranks, message)
    who = {"any": True, "power of two": ranks & (ranks - 1) == 0, "fewer than 8": ranks < 8}
    few = message / ELEMENT < 1 << (ranks.bit_length() - 1)
    for rule in rules:
        small = size <= rule.limit if rule.inclusive else size < rule.limit
        if who[rule.ranks] and small and (few or not rule.fewer_elements_than_ranks):
            return rule.named
    raise AssertionError(f"the rules for {primitive} end without a default")


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
