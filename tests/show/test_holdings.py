"""The grids before and after, cell by cell against the second interpreter."""

from __future__ import annotations

import re

import pytest
import reference

from colllib.algorithms import ALGORITHMS, allgather, alltoall, reduce
from colllib.execution import ScheduleError
from colllib.schedule import Schedule
from colllib.show import before_after

ROW = re.compile(r'<tr><th scope="row">(\d+)</th>(.*?)</tr>')
CELL = re.compile(r'<td( class="d")?>([^<]*)</td>')


def grids(chart):
    return [
        {int(rank): CELL.findall(cells) for rank, cells in ROW.findall(table)}
        for table in re.findall(r"<table.*?</table>", chart.body)
    ]


def shown(text, n):
    text = text.strip("()")
    return None if text == "·" else set(range(n)) if text == "Σ" else set(map(int, text.split("+")))


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: f"{a.primitive} {a.name}")
@pytest.mark.parametrize("n", [2, 4])
def test_every_cell_is_what_the_second_interpreter_finds(algorithm, n):
    if algorithm.primitive == "all-to-all":
        pytest.skip("its grids show the slots of the buffers")
    schedule = algorithm.build(n)
    first, *_, last = [*reference.states(schedule), *reference.states(schedule)]
    before, after = grids(before_after(schedule))
    for grid, state in ((before, first), (after, last)):
        for rank, cells in grid.items():
            for block, (done, text) in enumerate(cells):
                held = state.get((rank, block))
                assert shown(text, n) == (set(held) if held else None)
                if grid is after and held:
                    wanted = rank in schedule.blocks.holders(int(schedule.blocks.target[block]))
                    assert bool(done) == wanted
                    assert (text[0] == "(") == (not wanted)


def test_an_all_to_all_shows_the_slots_transposed():
    before, after = grids(before_after(alltoall.pairwise(3)))
    assert [text for _, text in before[1]] == ["1→0", "1→1", "1→2"]
    assert [text for _, text in after[1]] == ["0→1", "1→1", "2→1"]


def test_the_words_are_computed():
    assert repr(before_after(reduce.chain(3, root=1))) == (
        "Before: ranks 0, 1, 2 hold their contributions to block 0. After: rank 1 must hold the sum of block 0."
    )
    chart = before_after(allgather.ring(2), title="A title")
    assert "rank 0 holds block 0; rank 1 holds block 1" in chart.fragment()
    assert "A title" in chart.fragment()


def test_a_schedule_that_does_not_do_it_is_refused():
    whole = allgather.ring(3)
    with pytest.raises(ScheduleError, match="never receives"):
        before_after(Schedule(whole.blocks, 1, whole.step))
