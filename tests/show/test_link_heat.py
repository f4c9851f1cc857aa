"""The link-heat map shows what execution gives."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction

import pytest
import reference

from colllib import units
from colllib.bounds import floor
from colllib.show.geometry import num
from colllib.show.link_heat import (
    SHAPES,
    carried,
    describe,
    heat,
    heat_map,
    link_heat_explorer,
    link_label,
    rules,
)
from colllib.topology.routes import blocks_on

CASES = [
    (shape, rule)
    for shape in ("torus 4 × 4", "torus 5 × 3", "torus 4 × 2", "mesh 3 × 3", "torus 8 × 1")
    for rule in rules(shape)
]


@pytest.mark.parametrize(("shape", "rule"), CASES)
def test_the_loads_are_the_ledgers_and_a_second_count(shape, rule):
    shown = heat(shape, rule)
    assert shown.loads == shown.run.link_total
    assert reference.holds(shown.run.schedule)
    topology, share = shown.run.topology, list(shown.run.schedule.blocks.share)
    graph = {(int(a), int(b)): k for k, (a, b) in enumerate(zip(topology.link_src, topology.link_dst, strict=True))}
    second = Counter()
    for step in reference.messages(shown.run.schedule):
        for src, dst, block, _ in step:
            second[graph[src, dst]] += share[block]
    assert [second[k] for k in range(topology.num_links)] == list(shown.loads)
    assert max(shown.loads) >= floor("all-to-all", topology).n_beta
    assert shown.run.cost.n_beta >= max(shown.loads)


def test_the_hottest_link_and_its_chunks_are_named():
    shown = heat("torus 4 × 4", "X first, ties up")
    link = shown.hottest
    topology = shown.run.topology
    assert (link_label(topology, link), shown.loads[link]) == ("a→b", Fraction(3, 4))
    by_route = blocks_on(topology, 0, 1)
    letters = "abcdefghijklmnop"
    assert carried(shown, link) == ", ".join(f"{letters[a]}→{letters[b]}" for a, b in by_route)
    assert len(by_route) == 12


@pytest.mark.parametrize(
    ("shape", "rule", "sentence"),
    [
        ("torus 4 × 4", "X first, ties up", "the hottest links are a→b and 31 more, each with 12 of M/N"),
        ("mesh 8 × 1", "X first", "the hottest links are d→e and 1 more, each with 16 of M/N"),
    ],
)
def test_links_that_are_equally_hot_are_counted(shape, rule, sentence):
    explorer = link_heat_explorer()
    state = {**explorer.start, "shape": shape, "rule": rule}
    assert sentence in explorer.render(len(explorer.parts), state)


def test_one_senders_blocks_add_up_to_all():
    one = heat("torus 4 × 4", "X first, ties up", 0)
    every = heat("torus 4 × 4", "X first, ties up")
    assert sum(one.loads) * 16 == sum(every.loads)


def test_picture_and_alt_text_say_the_same():
    shown = heat("mesh 6 × 6", rules("mesh 6 × 6")[0])
    chart = heat_map(shown)
    numbers = re.findall(r"<text x=\"[^\"]+\" y=\"[^\"]+\"(?: font-weight=\"700\")?>([\d.]+)</text>", chart.body)
    assert numbers == [num(load / shown.unit, 2) for load in shown.loads]
    assert describe(shown) == chart.alt
    fair = heat("torus 4 × 4", "X first, ties balanced")
    assert fair.level(max(fair.loads)) < 5  # which is what links carry where ties go up
    even = heat_map(fair)
    assert even.body.count("<text") == 16  # the ranks: what links carry is in the legend
    assert "8 on 64" in even.alt
    assert chart.alt.endswith("Ranks stand in rows of 6, the first row below: a b c d e f.")


def test_the_explorer_stays_within_its_budget_and_starts_where_ties_hurt():
    explorer = link_heat_explorer()
    assert len(explorer.payload.encode()) < 5_000_000
    start = explorer.start
    shown = heat(start["shape"], start["rule"])
    assert max(shown.loads) > floor("all-to-all", shown.run.topology).n_beta
    summary = explorer.render(3, start)
    assert "a→b and 31 more, each with 12 of M/N" in summary
    prices = {"message": start["m"], "alpha": start["alpha"], "bandwidth": start["bw"]}
    seconds = shown.run.cost.seconds(**prices)
    least = floor("all-to-all", shown.run.topology).seconds(**prices)  # four latencies across 4 x 4, too
    assert f"take {units.seconds(seconds)} in lock-step, {seconds / least:.2f} times the least" in summary


def test_the_alt_text_has_no_option_of_a_topology():
    alt = describe(heat("torus 4 × 4", "alternating axes, one block at a time"))
    assert alt.startswith("torus 4 × 4: map")


def test_every_shape_offers_rules():
    assert all(map(rules, SHAPES))
