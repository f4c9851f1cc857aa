"""How large is too large: what is refused in one line before it fills the memory or runs for hours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from colllib import units

MOST_TEXT = 2**20  # bytes of a file that somebody wrote
MOST_NODES = 2**21
MOST_LINKS = 2**24
MOST_ROUTES = 2**24  # in a table of one for each pair of nodes
MOST_BLOCKS = 2**24
MOST_MESSAGES = 2**27
MOST_AT_ONCE = 2**23  # messages that are made together
MOST_CROSSINGS = 2**27  # of links, in one step
MOST_SECONDS = 60
SOON = 2  # seconds: a search for which a ladder waits
IN_FULL = 2**22  # messages: what has more is run by symmetry where it is the same seen from every rank

# what executing takes, in seconds on one core, as measured for rings, trees and relays on stars, tori and boxes
STEP, LINK, MESSAGE, CROSSING = 150e-6, 4e-9, 50e-9, 80e-9
SEED_MESSAGE, SEED_ADD = 1.2e-6, 2e-6  # by symmetry, a message of the seed, and what it takes longer if it adds
FLOW = 5e-7  # a maximum flow, for every node
TREE = 2.5e-6  # a tree that is packed and lowered, for every two ranks
PIECE = 2e-6  # a piece that a flow takes over a link
EVENT = 20e-6  # on the event clock, a message

_PATIENCE = ContextVar[float]("seconds", default=MOST_SECONDS)


class TooLarge(ValueError):
    """What would take too much memory, or too long."""


class NotSoon(TooLarge):
    """What would take longer than one wants to wait here, and may be run."""


def check_size(what: str, count: int, most: int, unit: str) -> None:
    """Refuse more than there may be of something.

    >>> check_size("ring:10000000", 20000000, MOST_LINKS, "links")
    Traceback (most recent call last):
    colllib.limits.TooLarge: ring:10000000: 20000000 links are too many, at most 16777216 will do
    """
    if count > most:
        number = str(count) if count < 10**15 else f"about 10^{len(str(count)) - 1}"
        raise TooLarge(f"{units.shortened(what, 120)}: {number} {unit} are too many, at most {most} will do")


@contextmanager
def waiting(seconds: float) -> Iterator[None]:
    """Let what would take longer than this, and less than a minute, be refused as `NotSoon`.

    >>> with waiting(1):
    ...     check_seconds("a forest on mi250:3", 7)
    Traceback (most recent call last):
    colllib.limits.NotSoon: a forest on mi250:3: this would take about 7 s
    """
    before = _PATIENCE.set(seconds)
    try:
        yield
    finally:
        _PATIENCE.reset(before)


def check_seconds(what: str, seconds: float, fewer: str = "ranks or segments") -> None:
    """Refuse what would take more than about a minute, and say of what to take fewer."""
    if seconds > MOST_SECONDS:
        raise TooLarge(
            f"{what}: this would take about {units.seconds(seconds, 2)}, and at most {MOST_SECONDS} s are spent on one "
            f"run: take fewer {fewer}"
        )
    if seconds > _PATIENCE.get():
        raise NotSoon(f"{what}: this would take about {units.seconds(seconds, 2)}")


def small_text(path: Path) -> str:
    """What a file says.

    Raises:
        ValueError: if it is not there, no file, too large or no UTF-8; `OSError` if it cannot be read.
    """
    if not path.is_file():
        raise ValueError("it is a directory" if path.is_dir() else "it is not there")
    if (size := path.stat().st_size) > MOST_TEXT:
        raise ValueError(f"it has {size:,} bytes, and at most 1 MiB is read")
    return path.read_text(encoding="utf-8")
