"""The stepped link map shows what execution and a second interpreter count, step by step."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction

import pytest
import reference

from colllib.show.link_heat import BLOCKS, WAYS, heat_of, link_steps_explorer, progress

LETTERS = "abcdefghijklmnop"


@pytest.mark.parametrize("way", WAYS)
def test_every_step_against_a_second_count(way):
    done = progress(way)
    schedule, topology = done.run.schedule, done.run.topology
    assert reference.holds(schedule)
    share, target, source = list(schedule.blocks.share), schedule.blocks.target, schedule.blocks.source
    at = {(int(a), int(b)): k for k, (a, b) in enumerate(zip(topology.link_src, topology.link_dst, strict=True))}
    total = Fraction(0)
    steps = list(reference.messages(schedule))
    assert len(steps) == len(done.heats) == len(done.arrived) == done.run.cost.n_alpha
    for step, shown, arrived in zip(steps, done.heats, done.arrived, strict=True):
        load = Counter()
        for src, dst, block, _ in step:
            load[at[src, dst]] += share[block]
            if dst == target[block]:
                total += 16 * share[block]
            if shown.names:
                assert shown.names[at[src, dst]] == LETTERS[source[block]] + LETTERS[target[block]]
        assert [load[k] for k in range(64)] == list(shown.loads)
        assert arrived == total
    assert total == 240 == BLOCKS
    assert sum(max(shown.loads) for shown in done.heats) == done.run.cost.n_beta


def test_steps_add_up_to_the_whole():
    run = progress("bundles: slices").run
    every = heat_of(run, range(run.schedule.num_steps))
    assert every.loads == run.link_total


def test_the_chapter_names_the_steps_right():
    """A perfect order keeps all 64 links busy for 8 steps; X first in bundles loads axes unevenly, slices alike."""
    turn = progress("one block on a link: alternating axes")
    assert [sum(load > 0 for load in shown.loads) for shown in turn.heats] == [64] * 8
    first = progress("bundles: X first")
    topology = first.run.topology
    along_x = topology.link_src // 4 == topology.link_dst // 4
    carried = [
        [max(load for load, x in zip(shown.loads, along_x, strict=True) if x == axis) * 16 for shown in first.heats]
        for axis in (True, False)
    ]
    assert carried == [[6, 2, 0, 0], [Fraction(3, 2), Fraction(7, 2), Fraction(5, 2), Fraction(1, 2)]]
    mean = [(x + y) / 2 for x, y in zip(*carried, strict=True)]
    slices = [{load * 16 for load in shown.loads} for shown in progress("bundles: slices").heats]
    assert slices == [{load} for load in mean]


def test_what_the_explorer_says_and_draws():
    explorer = link_steps_explorer()
    assert len(explorer.payload.encode()) < 2_000_000
    texts = [explorer.render(k, {"way": "bundles: X first", "step": 2}) for k in range(3)]
    assert "160 of 240 blocks have arrived" in texts[1]
    assert "160 of 240" in texts[2]
    assert "<sub>β</sub> = 19/32 of 25/32" in texts[1]  # 6 + 3.5 of 6 + 3.5 + 2.5 + 0.5, in 16ths
    one = explorer.render(0, {"way": "one block on a link: alternating axes", "step": 1})
    names = re.findall(r">([a-p]{2})</text>", one)
    assert len(names) == 64
    assert all(a != b for a, b in names)
