"""Printed states, held against traces cell by cell: of four ranks and four chunks, or of ranks with letters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from colllib.claims.finding import Finding, Verdict
from colllib.execution import trace
from colllib.schedule import Schedule

_ALL = "0123"


def _cells(text: str) -> list[str | None]:
    """A printed row: ranks whose contributions a slot holds, S for the full sum, - for none, ? for not printed."""
    special = {"?": None, "S": _ALL, "-": ""}
    return [special[cell] if cell in special else "".join(sorted(cell)) for cell in text.split()]


def _state_after(schedule: Schedule, t: int, chunk_of_block: Sequence[int]) -> list[list[str]]:
    """What each rank holds in each chunk after t steps, chunks that lie in one block sharing its value."""
    state = list(trace(schedule))[t]
    rows = []
    for rank in range(4):
        row = [""] * 4
        for block in range(len(schedule.blocks)):
            width = 4 // len(schedule.blocks)
            for k in range(width):
                held = sorted(state.get((rank, block), Counter()).elements())
                row[chunk_of_block[block * width + k]] = "".join(map(str, held))
        rows.append(row)
    return rows


def printed(
    build: Callable[[], Schedule], t: int, rows: Sequence[str], chunk_of_block: Sequence[int] = range(4)
) -> Finding:
    """The state that a source prints after t steps against the traced one; what it does not print is not compared.

    Args:
        build: makes the schedule, of four ranks.
        t: number of steps done.
        rows: the printed row of each rank, a cell for each of four chunks.
        chunk_of_block: the source's number for each of our blocks.
    """
    executed, claimed = {}, {}
    for rank, (row, held) in enumerate(zip(rows, _state_after(build(), t, chunk_of_block), strict=True)):
        for chunk, cell in enumerate(_cells(row)):
            if cell is not None:
                claimed[f"R{rank} chunk {chunk}"] = cell
                executed[f"R{rank} chunk {chunk}"] = held[chunk]
    return agreeing(claimed, executed)


def held_after(schedule: Schedule, t: int, letters: str) -> dict[tuple[str, int], str]:
    """What each rank holds of each block after t steps, ranks by their letters.

    Args:
        schedule: any schedule.
        t: number of steps done.
        letters: the source's letter for each rank.

    Returns:
        (letter of the rank, block) -> the letters of the ranks whose contributions it holds, sorted.

    >>> from colllib.algorithms import broadcast
    >>> held_after(broadcast.chain(3), 1, "abc")
    {('a', 0): 'a', ('b', 0): 'a'}
    """
    state = list(trace(schedule))[t]
    return {
        (letters[rank], block): "".join(sorted(letters[source] for source in value.elements()))
        for (rank, block), value in sorted(state.items())
    }


def agreeing(claimed: Mapping[str, object], executed: Mapping[str, object]) -> Finding:
    """A comparison cell by cell, told as the number of cells where all agree."""
    finding = Finding.compare(claimed, executed, "The printed state is not the executed one.")
    if finding.verdict is Verdict.REPRODUCED:
        return replace(finding, executed=f"all {len(claimed)} printed cells agree")
    return finding
