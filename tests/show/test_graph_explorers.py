"""The explorers of graphs show what a schedule moves: counted here by message, and by trying all sets of links."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from show_browser import opened, write_page
from show_svg import pictures

from colllib.algorithms import breadth_first
from colllib.show import breadth_first_explorer, expansion_explorer, graph_player
from colllib.show.breadth_first_explorer import GRAPHS as RECEPTIONS
from colllib.show.breadth_first_explorer import Reception, plan_of
from colllib.show.breadth_first_explorer import reception as drawn
from colllib.show.drawings import Spread, graph, graphs, shard
from colllib.show.expansion_explorer import FITS, Expanded
from colllib.show.graph_player import GRAPHS, gathered, link_loads
from colllib.topology.cuts import distances
from colllib.topology.expression import find


def receptions(name):
    plan = plan_of(name)
    ranks, steps = range(plan.topology.ranks), range(1, len(plan.layers) + 1)
    return [Reception(plan, u, t) for u in ranks for t in steps if plan.transport(u, t) is not None]


def ratio(reception, chosen):
    """Shards that can come by some links alone, over the capacity of these links."""
    mask = sum(1 << k for k in chosen)
    alone = sum(reception.usable(owner) & ~mask == 0 for owner in reception.owners)
    return Fraction(alone, sum(reception.transport.capacity[k] for k in chosen))


@pytest.mark.parametrize("name", GRAPHS)
def test_a_shard_reaches_each_rank_of_a_graph_after_as_many_steps_as_hops(name):
    run = gathered(name)
    spread = Spread(run.schedule, 1)
    assert list(spread.complete) == distances(run.topology)[1].tolist()


@pytest.mark.parametrize("name", GRAPHS)
def test_the_busiest_links_of_the_player_add_up_to_the_executed_cost(name):
    run = gathered(name)
    most = [max(link_loads(run, t).values()) for t in range(1, run.schedule.num_steps + 1)]
    assert sum(most) / run.topology.ranks == run.cost.n_beta


def test_the_links_of_all_shards_together_are_the_links_of_a_step():
    run = gathered("kautz:4x16")
    for t in range(1, run.schedule.num_steps + 1):
        total = {}
        for owner in range(16):
            for link, share in Spread(run.schedule, owner).carried[t - 1].items():
                total[link] = total.get(link, 0) + share
        assert total == link_loads(run, t)


@pytest.mark.parametrize("name", RECEPTIONS)
def test_no_set_of_links_has_a_larger_ratio_than_the_tight_one(name):
    for reception in receptions(name):
        links = range(len(reception.neighbors))
        sets = [chosen for size in links for chosen in combinations(links, size + 1)]
        tight = [k for k in links if reception.is_tight(k)]
        assert max(ratio(reception, chosen) for chosen in sets) == ratio(reception, tight) == reception.least


@pytest.mark.parametrize("name", RECEPTIONS)
def test_every_shard_arrives_whole_by_usable_links_none_of_which_carries_more_than_u(name):
    for reception in receptions(name):
        assert all(reception.usable(owner) >> link & 1 for owner, link in reception.flow)
        for owner in reception.owners:
            assert sum(share for (whose, _), share in reception.flow.items() if whose == owner) == 1
        for link, width in enumerate(reception.transport.capacity[: len(reception.neighbors)]):
            load = sum(share for (_, by), share in reception.flow.items() if by == link)
            assert load <= reception.least * width
            assert load == reception.least * width or not reception.is_tight(link)


@pytest.mark.parametrize(("name", "receiver"), [("circulant:16x3x4", 0), ("kautz:4x11", 1), ("fast and slow", 0)])
def test_the_part_of_a_shard_stands_on_one_arrow_alone(name, receiver):
    """Where two arrows cross or are near each other, nobody could say whose the number is."""
    number = r"([\d.]+)"
    for picture in pictures(drawn(Reception(plan_of(name), receiver, 2)).body):
        left = picture[: picture.index("<circle")]  # what is drawn before the neighbors: the arrows of the shards
        arrows = re.findall(rf'<g class="a [^"]*"><path d="M{number} {number}L{number} {number}"', left)
        tags = re.findall(rf'<rect x="{number}" y="{number}" width="{number}" height="{number}"', left)
        places = np.array([np.linspace((float(x), float(y)), (float(u), float(v)), 200) for x, y, u, v in arrows])
        for x, y, width, height in np.array(tags, dtype=float):
            inside = np.abs(places - (x + width / 2, y + height / 2)) < (width / 2 - 3, height / 2 - 2)
            assert inside.all(axis=2).any(axis=1).sum() == 1


@pytest.mark.parametrize(("kind", "base"), [(kind, base) for kind in FITS for base in FITS[kind]])
def test_an_expansion_costs_what_its_theorem_says(kind, base):
    expanded = Expanded(kind, base)
    assert expanded.cost == expanded.theorem
    assert len(set(expanded.names)) == expanded.run.topology.ranks


def test_the_names_of_a_line_graph_say_which_links_follow_each_other():
    expanded = Expanded("line-graph", "full-mesh:4")
    for a, b in zip(expanded.run.topology.link_src.tolist(), expanded.run.topology.link_dst.tolist(), strict=True):
        assert expanded.names[a][1] == expanded.names[b][0]


@pytest.mark.parametrize("explorer", [graph_player(), breadth_first_explorer(), expansion_explorer()], ids=repr)
def test_every_state_fits_a_page(explorer):
    assert len(explorer._html) < 400_000
    assert len(explorer.grid["fragments"]) > 100


@pytest.mark.parametrize("explorer", [graph_player(), expansion_explorer()], ids=repr)
def test_one_rank_has_a_shard_and_several_have_it(explorer):
    phrases = re.findall(r"(\d+) of \d+ ranks (ha\w+) the shard", " ".join(explorer.grid["fragments"]))
    assert {verb for count, verb in phrases if count == "1"} == {"has"}
    assert {verb for count, verb in phrases if count != "1"} == {"have"}


@settings(max_examples=20)
@given(st.integers(2, 4), st.integers(5, 14))
def test_any_graph_and_shard_can_be_drawn(degree, ranks):
    topology = find(f"kautz:{degree}x{max(ranks, degree + 1)}")
    spread = Spread(breadth_first.all_gather(topology), ranks % topology.ranks)
    for step in range(spread.schedule.num_steps + 1):
        assert f"{len(spread.holders(step))} of {topology.ranks} ranks" in shard(spread, step).alt
    assert graph(topology).body.count("<text") == 2 * topology.ranks
    assert graphs({"one": topology, "two": topology}).alt.count(f"N = {topology.ranks}") == 2


def test_an_edge_is_picked_by_pointer_and_the_next_one_by_key(tmp_path):
    with opened(write_page(tmp_path, expansion_explorer())) as (tab, troubles):
        tab.wait_for_selector(".cl-running")
        tab.locator('path.pick[data-pick="rank=5"]:visible').dispatch_event("click")
        assert tab.locator("select").nth(1).evaluate("node => node.selectedOptions[0].text") == "link cb"
        assert "the shard of cb" in tab.locator("[aria-live]").inner_text()
        says = "(all) => all.map((mark) => mark.getAttribute('aria-label'))"
        ranks = tab.locator("circle.pick:visible").evaluate_all(says)
        shown = re.search(r"after (\d) of \d steps (\d) of 8", tab.locator("[aria-live]").inner_text())
        assert sum(" " in rank.removeprefix("link ") for rank in ranks) == int(shown[2])
        assert "link cb, its owner" in ranks
        focused = "document.activeElement.getAttribute('aria-label').split(',')[0] + document.activeElement.tagName"
        assert tab.evaluate(focused) == "link cbpath"
        tab.keyboard.press("ArrowRight")
        assert tab.evaluate(focused) == "link dapath"
        assert tab.locator('[data-pick][tabindex="0"]:visible').count() == 2  # the link, and what it becomes
        assert not troubles


def test_every_link_and_every_rank_that_it_becomes_can_be_picked():
    for kind, bases in FITS.items():
        for base in bases:
            expanded = Expanded(kind, base)
            html = expansion_explorer().parts[0].render(kind=kind, base=base, rank=0, step=0)
            for rank in range(expanded.run.topology.ranks):
                assert html.count(f'data-pick="rank={rank}"') == (4 if kind == "line-graph" else 2)  # in both widths


def test_who_has_a_part_of_the_shard_is_counted_beside_who_has_all_of_it():
    """On 3 x 3 complete axes the halves of a shard begin along either axis: two neighbors each, none with all of it."""
    summary = expansion_explorer().summary
    assert summary("power", "full-mesh:3", 0, 1).endswith("1 of 9 ranks has the shard of aa, 4 a part of it (white).")
    assert summary("power", "full-mesh:3", 0, 2).endswith("9 of 9 ranks have the shard of aa.")
