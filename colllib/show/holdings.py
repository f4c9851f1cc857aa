"""Who holds what before and after: a primitive as two grids, drawn from its blocks and from an execution."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product

from colllib.execution import execute, trace
from colllib.primitives import Blocks
from colllib.schedule import Schedule
from colllib.show.figure import Chart
from colllib.show.theme import escape

Value = Counter[int]
State = Mapping[tuple[int, int], Value]


def before_after(schedule: Schedule, *, title: str = "") -> Chart:
    """Two grids, ranks by blocks: what each rank holds before, and what it holds when the schedule has run.

    The first comes from the blocks' sources, the second from the execution, which also proves it.
    A cell says whose contributions it holds (Σ: everybody's). What the primitive asks for stands
    on green; what merely happens to be there stands in brackets. For an all-to-all the columns are
    the slots of the buffers: by destination before, by source after.

    Args:
        schedule: any schedule on ranks.
        title: a heading.

    Raises:
        ScheduleError: if the schedule does not do what its blocks ask for.

    >>> from colllib.algorithms import broadcast
    >>> before_after(broadcast.chain(3))
    Before: rank 0 holds block 0. After: ranks 0, 1, 2 must hold block 0.
    """
    execute(schedule)
    *_, after = trace(schedule)
    blocks = schedule.blocks
    before = {
        (rank, block): Counter([rank])
        for block, who in enumerate(blocks.source.tolist())
        for rank in blocks.holders(who).tolist()
    }
    if _is_transpose(blocks):
        grids = _slots(blocks, "before: slot for rank", False) + _slots(blocks, "after: slot from rank", True)
    else:
        names = [str(block) for block in range(len(blocks))]
        grids = _grid(blocks, names, before, "before: block", final=False)
        grids += _grid(blocks, names, after, "after: block", final=True)
    return Chart(f'<div class="cl-beside">{grids}</div>', describe(blocks), title)


def describe(blocks: Blocks) -> str:
    """The same in words: who holds which blocks before, and who must hold which after.

    >>> from colllib.primitives import reduce_scatter
    >>> describe(reduce_scatter(2))
    'Before: ranks 0, 1 hold their contributions to blocks 0, 1. After: rank 0 must hold the sum of block 0; rank 1 \
must hold the sum of block 1.'
    """
    summed = any(len(blocks.holders(who)) > 1 for who in blocks.source.tolist())
    told = []
    for word, side in (("Before", blocks.source), ("After", blocks.target)):
        verb = ("holds", "hold") if word == "Before" else ("must hold", "must hold")
        held: dict[int, list[int]] = {rank: [] for rank in range(blocks.ranks)}
        for block, who in enumerate(side.tolist()):
            for rank in blocks.holders(who).tolist():
                held[rank].append(block)
        groups: dict[tuple[int, ...], list[int]] = {}
        for rank, owned in held.items():
            if owned:
                groups.setdefault(tuple(owned), []).append(rank)
        what = "" if not summed else "their contributions to " if word == "Before" else "the sum of "
        parts = (
            f"{_several('rank', ranks)} {verb[len(ranks) > 1]} {what}{_several('block', owned)}"
            for owned, ranks in groups.items()
        )
        told.append(f"{word}: {'; '.join(parts)}.")
    return " ".join(told)


def _several(noun: str, numbers: Sequence[int]) -> str:
    return f"{noun}{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"


def _is_transpose(blocks: Blocks) -> bool:
    pairs = list(zip(blocks.source.tolist(), blocks.target.tolist(), strict=True))
    return pairs == list(product(range(blocks.ranks), repeat=2))


def _grid(blocks: Blocks, names: Sequence[str], state: State, caption: str, *, final: bool) -> str:
    rows = []
    for rank in range(blocks.ranks):
        cells = []
        for block in range(len(blocks)):
            wanted = rank in blocks.holders(int(blocks.target[block]))
            cells.append(_cell(blocks, block, state.get((rank, block)), wanted if final else None))
        rows.append((rank, cells))
    return _table(caption, names, rows)


def _cell(blocks: Blocks, block: int, value: Value | None, wanted: bool | None) -> str:
    if value is None:
        return "<td>·</td>"
    whole = len(blocks.holders(int(blocks.source[block])))
    text = "Σ" if 1 < whole == len(value) else "+".join(map(str, sorted(value)))
    if wanted is None:
        return f"<td>{text}</td>"
    return f'<td class="d">{text}</td>' if wanted else f"<td>({text})</td>"


def _slots(blocks: Blocks, caption: str, after: bool) -> str:
    """An all-to-all: row r, slot k is the block r→k before and k→r after."""
    ranks = range(blocks.ranks)
    kind = ' class="d"' if after else ""
    rows = [(r, [f"<td{kind}>{f'{k}→{r}' if after else f'{r}→{k}'}</td>" for k in ranks]) for r in ranks]
    return _table(caption, [str(k) for k in ranks], rows)


def _table(caption: str, names: Sequence[str], rows: Sequence[tuple[int, Sequence[str]]]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    body = "".join(f'<tr><th scope="row">{rank}</th>{"".join(cells)}</tr>' for rank, cells in rows)
    return (
        f'<table class="colllib-table cl-trace"><caption>{escape(caption)}</caption>'
        f'<thead><tr><th scope="col">rank</th>{head}</tr></thead><tbody>{body}</tbody></table>'
    )
