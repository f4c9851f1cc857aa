"""States after every step, as words that a printed state can be compared with cell by cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from colllib.claims.cases import deferred
from colllib.claims.runs import built, run
from colllib.claims.value import Cases, Words
from colllib.execution import trace
from colllib.schedule import Schedule, Step


@deferred
def states(
    build: Callable[..., Schedule], *arguments: int, chunks: Sequence[int] = range(4), on: str = "star"
) -> Cases:
    """What each of four ranks holds in each of four chunks after every step: a row a rank, "-" for nothing.

    Args:
        build: makes the schedule from the arguments; chunks that lie in one block share its value.
        chunks: the source's number for each of our chunks.
        on: the topology; a star by default.

    >>> from colllib.algorithms import broadcast
    >>> " ".join(list(states(broadcast.binomial_tree, 4)())[1]["state"])
    '0 0 0 0 / 0 0 0 0 / - - - - / - - - -'
    """
    schedule = built(build, *arguments, on=on).schedule
    width = 4 // len(schedule.blocks)
    found = list[Words]()
    for held_now in trace(schedule):
        lines = []
        for rank in range(4):
            row = [""] * 4
            for block in range(len(schedule.blocks)):
                held = "".join(map(str, sorted(held_now.get((rank, block), Counter()).elements())))
                for k in range(width):
                    row[chunks[block * width + k]] = held or "-"
            lines.append(" ".join(row))
        found.append(Words(" / ".join(lines)))
    after = {f"after{t}": state for t, state in enumerate(found)}
    for t, state in enumerate(found):
        yield {"at": f"step {t}", "step": t, "state": state, **after}


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


def moved(schedule: Schedule, t: int, letters: str) -> Words:
    """Who sends to whom in step t, counted from 1, as pairs of letters."""
    step = schedule.step(t - 1)
    ends = {letters[src] + letters[dst] for src, dst in zip(step.src.tolist(), step.dst.tolist(), strict=True)}
    return Words(" ".join(sorted(ends)))


def distances(what: str, first: int = 0) -> Words:
    """How far apart the partners of a butterfly of four ranks are in every step from `first` on."""
    steps = list(run(what, "star:4").schedule.steps)[first:]
    return Words(" ".join(str(int((step.src ^ step.dst)[0])) for step in steps))


def edges(*steps: Step) -> Words:
    """The pairs of ranks that meet in some steps."""
    ends = {(min(a, b), max(a, b)) for step in steps for a, b in zip(step.src.tolist(), step.dst.tolist(), strict=True)}
    return Words(" ".join(f"{a}-{b}" for a, b in sorted(ends)))
