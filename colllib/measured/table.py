"""A run of a benchmark while its lines come in."""

import re
from dataclasses import dataclass, field
from math import isfinite

from colllib.measured.log import COLLECTIVES, PROGRAMS, Row, Unread


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
    other: bool = False  # a program whose rates mean something else
    labeled: dict[tuple[str, ...], "Table"] = field(default_factory=dict, repr=False)  # in Markdown, by other cells
    named: str = ""  # the program of a command behind the rows: of the next table, if one follows
    command: str = ""  # the last line that is no row, with those that it continues
    ended: bool = False  # by its line of averages: what follows is said of the next
    after: dict[str, str] = field(default_factory=dict)
    reduces: bool | None = None
    root: str = ""
    directions: int = 1  # that a rate counts together
    per_rank: list[float] = field(default_factory=list)  # size over count and type: the ranks, where it counts by rank
    ranks: int | None = None
    hosts: int | None = None

    def refuse(self, why: str) -> None:
        """Name the line that is read as one that could not be."""
        self.unread.append(Unread(self.number, why))

    def name(self, program: str) -> None:
        """Take the collective that a program runs; of others no row is read."""
        self.collective = COLLECTIVES.get(program, self.collective)
        if program in COLLECTIVES:
            self.other = False
        elif program in ("gather", "scatter", "hypercube", "permute") or program.startswith("osu"):  # the same columns
            self.other = True
            self.refuse(f"{program}: known are {', '.join(PROGRAMS)}")

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
