"""Measurements as they were posted: rows, the run that they belong to, and what the log says of its machine."""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import isfinite
from statistics import median

import numpy as np
from numpy.typing import NDArray

from colllib.bounds import bus_factor
from colllib.topology.machines import by_gpu

#: Program, operation and root that it prints, its names in nccom-test and OMB.
PROGRAMS = {
    "all-reduce": ("all_reduce_perf", "sum", -1, "allr", "Allreduce"),
    "all-gather": ("all_gather_perf", "none", -1, "allg", "Allgather"),
    "reduce-scatter": ("reduce_scatter_perf", "sum", -1, "redsct", ""),
    "all-to-all": ("alltoall_perf", "none", -1, "alltoall", "All-to-All Personalized Exchange"),
    "sendrecv": ("sendrecv_perf", "sum", -1, "", ""),
    "broadcast": ("broadcast_perf", "none", 0, "", "Broadcast"),
    "reduce": ("reduce_perf", "sum", 0, "", ""),
}
#: Names of collectives in nccl-tests, nccom-test and the benchmarks of MPI -> the book's.
COLLECTIVES = {
    name: book
    for book, (program, _, _, nccom, osu) in PROGRAMS.items()
    for word in (program.removesuffix("_perf"), nccom, osu.lower().replace("-", ""))
    for name in filter(None, (word, word.replace("_", "")))
} | {"bcast": "broadcast", "all_to_all": "all-to-all", "pingpong": "sendrecv", "pingping": "sendrecv"}

LEAST_RATE = 0.05e9  # bytes per second: two printed decimals of less are no time


def factor(collective: str, ranks: int) -> float:
    """busbw over algbw; 1 where each rank sends all of its message to one other.

    >>> factor("all-reduce", 8), factor("sendrecv", 8)
    (1.75, 1.0)
    """
    return 1.0 if collective == "sendrecv" else float(bus_factor(collective, ranks))


@dataclass(frozen=True)
class Row:
    """One time of a table.

    Args:
        line: its number in the file, from 1.
        message: the size in bytes.
        seconds: the time; null where only bandwidths are printed.
        algbw: bytes per second as printed, or null.
        busbw: bytes per second as printed, or null.
        in_place: which half of the table; null where the table does not say.
        wrong: the column "#wrong", "error" or "Validation" as printed, or empty.
    """

    line: int
    message: float
    seconds: float | None
    algbw: float | None
    busbw: float | None
    in_place: bool | None = None
    wrong: str = ""

    @property
    def failed(self) -> bool:
        """Whether it counts wrong values, or an asterisk marks its error; where old programs check nothing, they
        print 1e+00.

        >>> marks = ("0", "2e-07", "1e+00", "7.0", "6.7e+07", "3e-02*", "N/A", "Pass", "Fail")
        >>> [mark for mark in marks if Row(1, 8.0, 1e-5, None, None, wrong=mark).failed]
        ['7.0', '6.7e+07', '3e-02*', 'Fail']
        """
        return re.fullmatch(r"[1-9]\d*(\.0*| in all)?|(?!1e\+00$)[1-9][\d.]*e\+\d+|.*\*|Fail", self.wrong) is not None


@dataclass(frozen=True)
class Unread:
    """A line that looks like a row and is none, and why."""

    line: int
    why: str


#: Dialects of MPI's benchmarks: means over many calls, in just the columns that the header names.
OF_MPI = ("osu", "imb")


@dataclass(frozen=True)
class Run:
    """One table.

    Args:
        dialect: nccl-tests, markdown (or commas), columns, nccom-test, imb (Intel's), or osu, also UCC's and our own.
        rows: as printed, in order; none where nothing was measured, as the facts or streams then say.
        collective: the book's name, or null where neither the text nor the columns say it.
        ranks: number of ranks, or null.
        boxes: number of hosts, or null.
        gpus_per_box: or null.
        gpu: the device's name as printed, or empty.
        streams: how many processes printed rows, or are rank 0.
        facts: what the text around the table says, such as network -> Socket and NCCL_ALGO -> Ring.
        unread: lines that could not be read.
    """

    dialect: str
    rows: tuple[Row, ...]
    collective: str | None = None
    ranks: int | None = None
    boxes: int | None = None
    gpus_per_box: int | None = None
    gpu: str = ""
    streams: int = 1
    facts: Mapping[str, str] = field(default_factory=dict)
    unread: tuple[Unread, ...] = ()

    @property
    def vendor(self) -> str:
        """Of its GPUs, nvidia or amd; empty where nobody knows."""
        kind = by_gpu(self.gpu)
        return "amd" if "rccl" in self.facts else kind.vendor if kind else ""

    @property
    def mixed(self) -> str:
        """Why the rows are not one job's, or nothing.

        >>> small, large = (Row(line, message, 1e-5, None, None) for line, message in ((1, 1024.0), (2, 2048.0)))
        >>> Run("nccl-tests", (small,) * 4).mixed, Run("nccl-tests", (small, small, large, large)).mixed
        ('', 'the same size stands in row after row: several jobs wrote into one file')
        """
        if self.streams > 1:
            return f"{self.streams} processes {'print tables' if self.rows else 'are rank 0'}: separate jobs, not one"
        sizes = [row.message for row in self.rows if not row.in_place and row.message > 0]
        if sizes == sorted(sizes, reverse=True):  # a report may begin with the largest
            sizes.reverse()
        pairs = list(pairwise(sizes))
        repeated = sum(a == b for a, b in pairs)  # of one size alone they are repetitions of one job
        if repeated >= 2 and repeated >= len(sizes) / 5 and len(set(sizes)) > 1:
            return "the same size stands in row after row: several jobs wrote into one file"
        blocks = bool(sizes) and sizes.count(sizes[0]) == 1 and len(sizes) - len(set(sizes)) > 2
        if blocks or sum(b < a and b != sizes[0] for a, b in pairs) >= 2:
            return "sizes go up and down: several jobs wrote into one file"
        return ""

    @property
    def factors(self) -> list[float]:
        """busbw over algbw, as printed or from the time, of rows whose two decimals of GB/s say enough."""
        timed = self.dialect not in OF_MPI  # whose sizes may be those of a rank's part
        rates = [(row.busbw, row.algbw or (timed and row.seconds and row.message / row.seconds)) for row in self.rows]
        return [busbw / algbw for busbw, algbw in rates if busbw and algbw and algbw > 1e9]

    def series(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Message sizes in bytes, ascending, and times in seconds: the median of a size's rows out of place, if any.

        >>> run = Run("columns", (Row(2, 8e6, 1e-3, None, None), Row(1, 4e6, None, 8e9, None, in_place=True)))
        >>> run.series()
        (array([4000000., 8000000.]), array([0.0005, 0.001 ]))
        """
        times = self.times() | self.times(in_place=False)
        return np.array(list(times)), np.array([median(repeats) for repeats in times.values()])

    def times(self, in_place: bool | None = None) -> dict[float, list[float]]:
        """All times in seconds of each message size in bytes, both ascending; perhaps of one half of the table."""
        times: defaultdict[float, list[float]] = defaultdict(list)
        for row in self.rows:
            if in_place is not None and bool(row.in_place) != in_place:
                continue
            if row.message > 0 and (seconds := self.seconds(row)) is not None:
                times[row.message].append(seconds)
        return {size: sorted(repeats) for size, repeats in sorted(times.items())}

    def seconds(self, row: Row) -> float | None:
        """The time of a row, from its bandwidth where no time is printed; null where that says nothing."""
        if row.seconds is not None:
            return row.seconds
        if row.algbw and row.algbw >= LEAST_RATE:
            return row.message / row.algbw
        if row.busbw and row.busbw >= LEAST_RATE and self.collective and self.ranks and self.ranks > 1:
            return row.message / row.busbw * factor(self.collective, self.ranks)
        return None


@dataclass
class Table:
    """A run while its lines come in."""

    number: int = 0  # of the line that is read
    stream: str = ""  # the process that printed it
    facts: dict[str, str] = field(default_factory=dict)
    dialect: str = "nccl-tests"
    columns: tuple[str, ...] = ()
    commas: bool = False  # between them
    rows: list[Row] = field(default_factory=list)
    marks: list[tuple[str, str]] = field(default_factory=list)  # of each row who printed it, and its type or column
    devices: list[tuple[int, str, int, str]] = field(default_factory=list)  # rank, host, its number there, its name
    unread: list[Unread] = field(default_factory=list)
    collective: str | None = None
    other: Unread | None = None  # where a program is named whose rates mean something else
    labeled: dict[tuple[str, ...], "Table"] = field(default_factory=dict, repr=False)  # in Markdown, by other cells
    named: str = ""  # the program of a command behind the rows: of the next table, if one follows
    command: str = ""  # the last line that is no row, with those that it continues
    ended: bool = False  # by its line of averages: what follows is said of the next
    after: dict[str, str] = field(default_factory=dict)
    reduces: bool | None = None
    root: str = ""
    of_launch: bool = False  # whether its times are the processor's, which does not wait for the GPUs
    directions: int = 1  # that a rate counts together
    per_rank: list[float] = field(default_factory=list)  # size over count and type: the ranks, where it counts by rank
    ranks: int | None = None
    hosts: int | None = None

    @property
    def parts(self) -> int:
        """In how many parts, one of each rank, its messages are counted."""
        return round(median(self.per_rank)) if self.per_rank else 1

    @property
    def rooted(self) -> bool:
        """Whether a rank is named from which or to which all is sent."""
        return self.root not in ("", "-1")

    def refuse(self, why: str) -> None:
        """Name the line that is read as one that could not be."""
        self.unread.append(Unread(self.number, why))

    def name(self, program: str) -> None:
        """Take the collective that a program runs; a table of another one does not count."""
        self.collective = COLLECTIVES.get(program, self.collective)
        if program in COLLECTIVES:
            self.other = None
        elif program in ("gather", "scatter", "hypercube", "alltoallv", "permute") or program.startswith("a table"):
            known = f"known are {', '.join(PROGRAMS)}; if it is one of them, say --primitive"
            self.other = Unread(self.number, f"{program}: {known}")

    def take(self, other: "Table") -> bool:
        """Take the one next size of the same job on the same GPUs: some start the program once for each size."""
        same = ("dialect", "columns", "devices", "facts", "collective", "reduces", "root")
        before, sizes = ([row.message for row in table.rows] for table in (self, other))
        ascending = sorted(before + sizes)
        new = len(set(sizes)) == 1 and sizes[0] not in before and before + sizes in (ascending, ascending[::-1])
        if not (new and self.devices and all(getattr(self, name) == getattr(other, name) for name in same)):
            return False
        for name in ("rows", "marks", "unread", "per_rank"):
            getattr(self, name).extend(getattr(other, name))
        return True

    def add(self, row: Row, kind: str = "") -> None:
        """One time, and its type, as a program may run one after the other, or in Markdown its column."""
        self.rows.append(row)
        self.marks.append((self.stream, kind))


def finite(text: str) -> float | None:
    """A finite number, perhaps with commas between thousands; None for any other text."""
    if "," in text and not re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?", text):
        return None  # a decimal comma is not guessed at
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return value if isfinite(value) else None
