"""The lasso: a loop, a tap and keys choose ranks, and the page counts what Python counts."""

from __future__ import annotations

import random

import numpy as np
import pytest
from show_browser import opened, write_page

from colllib.forest import bound, fabric, ratio
from colllib.forest.flow import max_flow, with_source
from colllib.show import Lasso
from colllib.show.lasso import FABRICS
from colllib.topology.expression import find

MIDDLES = """() => [...document.querySelectorAll("g.n")].filter((disk) => disk.getClientRects().length).map((disk) => {
  const box = disk.querySelector("circle").getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
})"""
GO = """(hash) => new Promise((done) => {
  addEventListener("hashchange", done, { once: true });
  location.hash = hash;
})"""
ROW = "(k) => document.querySelector('.cl-lasso tbody').rows[k].cells[1].textContent"


def least_leaving(on, ranks):
    """The bandwidth out of a set of ranks with those switches in it that make it least, by a maximum flow."""
    inside = np.isin(np.arange(on.ranks), ranks)
    unlimited = int(on.capacity.sum()) + 1
    network = np.pad(with_source(on.capacity, np.where(inside, unlimited, 0)), ((0, 1), (0, 1)))
    network[: on.ranks, -1] = np.where(inside, 0, unlimited)
    return max_flow(network, on.nodes, on.nodes + 1, unlimited)[0] * on.unit


def in_set(tab):
    """The ranks that are shown as chosen."""
    shown = tab.locator("g.n").filter(visible=True).all()
    return [rank for rank, disk in enumerate(shown) if disk.get_attribute("aria-checked") == "true"]


@pytest.mark.browser
@pytest.mark.usefixtures("with_chromium")
@pytest.mark.parametrize("width", [1280, 390])
def test_a_loop_a_tap_and_keys_choose_ranks(tmp_path, width):
    with opened(write_page(tmp_path, Lasso()), viewport={"width": width, "height": 800}) as (tab, troubles):
        assert in_set(tab) == list(range(8))
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        place = tab.evaluate(MIDDLES)
        (left, top), (right, bottom) = place[1], place[6]
        tab.mouse.move(left - 17, top - 17)
        tab.mouse.down()
        for x, y in ((right + 17, top - 17), (right + 17, bottom + 17), (left - 17, bottom + 17)):
            tab.mouse.move(x, y, steps=3)
        tab.mouse.up()
        assert in_set(tab) == [1, 2, 5, 6]
        tab.mouse.click(*place[9])
        tab.mouse.click(*place[5])
        assert in_set(tab) == [1, 2, 6, 9]
        tab.locator("g.n[tabindex='0']:visible").press("ArrowUp")  # from rank 5, tapped last
        for key in ("ArrowLeft", " "):
            tab.keyboard.press(key)
        assert in_set(tab) == [0, 1, 2, 6, 9]
        assert tab.evaluate("location.hash").endswith("?on=dgx-a100:2&set=0.1.2.6.9")
        tab.locator("[data-act=clear]").click()
        assert "nothing has to leave" in tab.locator(".cl-summary").text_content()
        tab.locator("[data-act=copy]").click()
        tab.wait_for_function("document.querySelector('[role=status]').textContent")
    assert troubles == []


@pytest.mark.browser
@pytest.mark.usefixtures("with_chromium")
def test_the_page_counts_what_python_counts_for_any_set_and_names_the_worst(tmp_path):
    draw = random.Random(14)
    with opened(write_page(tmp_path, Lasso())) as (tab, troubles):
        for name in FABRICS:
            on = fabric(find(name))
            for _ in range(3):
                chosen = sorted(draw.sample(range(on.ranks), draw.randrange(1, on.ranks)))
                tab.evaluate(GO, f"#bottleneck?on={name}&set={'.'.join(map(str, chosen))}")
                assert in_set(tab) == chosen
                assert tab.evaluate(ROW, 2) == str(len(chosen) / least_leaving(on, chosen))
            tab.locator("[data-act=worst]").click()
            assert tab.evaluate(ROW, 2) == str(bound(on).inverse_throughput)
            assert "no set is worse" in tab.locator(".cl-summary").text_content()
    assert troubles == []


def test_switches_are_put_on_the_side_where_least_leaves():
    network = fabric(find("dgx-a100:2"))
    sets = [tuple(range(8)), (*range(8), 16), (*range(8), 16, 18)]
    assert len(range(8)) / least_leaving(network, range(8)) >= max(ratio(network, nodes) for nodes in sets)
