"""What a page prices and draws, against Python by the letter: 500 random settings, and 25 by the controls."""

from __future__ import annotations

import random
import re
from importlib import import_module
from math import log10
from pathlib import Path

import pytest
from firefox import firefox, needed_firefox
from show_browser import MOVES, opened, write_page
from webkit import needed_webkit, webkit

from colllib import show
from colllib.show import (
    Control,
    Explorer,
    Part,
    alltoall_explorer,
    boxes_explorer,
    busbw_explorer,
    contention_explorer,
    cost_explorer,
    finder_explorer,
    inc_explorer,
    ladder_explorer,
    link_heat_explorer,
    message_explorer,
    parallelism_explorer,
    pat_explorer,
    pipeline_explorer,
    realistic_ladder_explorer,
    token_explorer,
    trace_player,
    winners_map,
)
from colllib.show.control import Quantity
from colllib.show.views import View

pytestmark = pytest.mark.usefixtures("with_chromium")

EACH = 32  # settings of each of the sixteen
FABRICS = ("star:512", "ring:512", "torus:8x8x8")
SHOWN = """(wanted) => wanted.map(([name, part, at, width]) => {
  const { data } = document.getElementById(name);
  return colllibShow.shown(data, data.parts[part], at, width).html;
})"""
RUNNING = """async (count) => {
  const running = () => document.querySelectorAll(".cl-running").length;
  while (running() < count) await new Promise((done) => { setTimeout(done, 50); });
}"""


@pytest.fixture(scope="module")
def explorers():
    """Few boxes and fabrics, each of which is executed: how a page draws does not depend on their number."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("colllib.show.boxes_explorer"), "BOXES", (2, 4))
        patch.setattr(import_module("colllib.show.ladder_explorer"), "SPECS", FABRICS)
        return all_explorers()


MAKERS = (
    message_explorer,
    cost_explorer,
    alltoall_explorer,
    busbw_explorer,
    inc_explorer,
    ladder_explorer,
    realistic_ladder_explorer,
    parallelism_explorer,
    pat_explorer,
    pipeline_explorer,
    token_explorer,
    winners_map,
    boxes_explorer,
    contention_explorer,
    finder_explorer,
    link_heat_explorer,
)


def all_explorers():
    return [make() for make in MAKERS]


def test_every_module_of_an_explorer_whose_prices_a_page_computes_is_here():
    sources = Path(show.__file__).parent.glob("*.py")
    racing = {f"{show.__name__}.{source.stem}" for source in sources if "Race(" in source.read_text(encoding="utf-8")}
    assert racing == {make.__module__ for make in MAKERS}


def setting(explorer, draw):
    """A random value for every control, and what the page calls it: the place of a choice, the value of a quantity."""
    state, at = {}, []
    for place, control in enumerate(explorer.controls):
        if isinstance(control, Quantity):
            low, high = (log10(end) for end in (control.low, control.high))
            value = float(f"{10 ** draw.uniform(low, high):.{draw.randint(1, 4)}g}")
            state[control.name] = min(max(value, control.low), control.high)
            at.append(state[control.name])
        else:
            offered = list(explorer.choices(place, state))
            at.append(draw.randrange(len(offered)))
            state[control.name] = offered[at[-1]]
    return state, at


@pytest.fixture(scope="module")
def drawn(explorers):
    """What is asked of the page, 500 times: an explorer, a view, a setting, a width; and what Python draws."""
    draw = random.Random(10)
    drawings = []
    for explorer in explorers:
        views = [k for k, part in enumerate(explorer.all_parts) if isinstance(part, View)]
        for k in range(EACH):
            state, at = setting(explorer, draw)
            part, width = views[k % len(views)], draw.choice((300, 640))
            asked = explorer.address, part, at, width
            drawings.append((asked, explorer.all_parts[part].draw(state, explorer.texts(state), width)))
    assert len(drawings) >= 500
    return drawings


def test_five_hundred_random_settings_are_drawn_by_the_page_as_python_draws_them(tmp_path, explorers, drawn):
    with opened(write_page(tmp_path, *explorers)) as (tab, troubles):
        tab.wait_for_function(f"document.querySelectorAll('.cl-running').length === {len(explorers)}")
        pages = tab.evaluate(SHOWN, [asked for asked, _ in drawn])
        assert troubles == []
    for (asked, mine), page in zip(drawn, pages, strict=True):
        assert page == mine, asked
        assert not re.search("<th[^>]*></th>", page), "a column's name is not heard"


def test_the_states_behind_the_page_stay_small(explorers):
    """Of those whose states take longest to count."""
    size = {explorer.address: len(explorer.payload) for explorer in explorers}
    assert size["switch"] < 600_000
    assert size["pat"] < 3_000_000


@pytest.mark.parametrize(("browser", "needed"), [(firefox, needed_firefox), (webkit, needed_webkit)])
def test_other_browsers_draw_them_too_and_answer_every_move_of_a_player(tmp_path, explorers, drawn, browser, needed):
    page = write_page(tmp_path, *explorers, trace_player(ranks=[4, 8]))
    with browser(needed()) as tab:
        tab.goto(page.as_uri())
        tab.evaluate(RUNNING, len(explorers) + 1)
        pages = tab.evaluate(SHOWN, [asked for asked, _ in drawn])
        tab.evaluate(
            "() => { document.querySelectorAll('.cl-explorer:not([data-player])').forEach((e) => e.remove()); }"
        )
        moves = tab.evaluate(MOVES)
        assert tab.evaluate("() => document.querySelectorAll('.cl-scene .f').length") > 0
    for (asked, mine), page in zip(drawn, pages, strict=True):
        assert page == mine, asked
    assert len(moves) > 20


def test_settings_made_with_the_controls_give_what_python_gives_and_stay_in_the_address(tmp_path, explorers):
    """Typed, slid, clicked or chosen; then the address is opened anew, and the same stands there."""
    draw = random.Random(5)
    explorer = explorers[3]
    last = len(explorer.parts)
    with opened(write_page(tmp_path, explorer)) as (tab, troubles):
        tab.wait_for_selector(".cl-running")
        tab.get_by_text("What nccl-tests would print").click()
        for _ in range(25):
            state, at = setting(explorer, draw)
            for place, control in enumerate(explorer.controls):
                node = tab.locator(f"[data-control='{place}']")
                if isinstance(control, Quantity) or control.kind == "number":
                    typed = control.text(state[control.name], 12) if isinstance(control, Quantity) else str(state["n"])
                    field = node.locator("xpath=../input[@type='text']")
                    field.fill(typed)
                    field.press("Tab")
                    if isinstance(control, Quantity):
                        state[control.name] = control.read(typed)
                elif control.kind == "select":
                    node.select_option(index=at[place])
                elif len(explorer.choices(place, state)) > 1:  # a single one is not shown
                    node.locator("input").nth(at[place]).check()
            for part in (1, last):
                expected = explorer.render(part, state)
                assert tab.locator(f"[data-part='{part}']").inner_text().split() == plain(tab, expected)
        summary = tab.locator(".cl-summary").inner_text()
        tab.get_by_role("button", name="Copy link").click()  # which writes the address at once
        address = tab.evaluate("location.href")
        assert "#busbw?primitive=" in address
        tab.goto("about:blank")
        tab.goto(address)
        tab.wait_for_function("(text) => document.querySelector('.cl-summary').innerText === text", arg=summary)
        assert troubles == []


def plain(tab, html):
    """The words of a fragment as the browser reads them."""
    return tab.evaluate(
        """(html) => {
          const node = Object.assign(document.createElement("div"), { className: "colllib", innerHTML: html });
          document.body.append(node);
          const words = node.innerText.split(/\\s+/).filter(Boolean);
          node.remove();
          return words;
        }""",
        html,
    )


# Whether the words that describe a field are on top of all else, and the field of the next control is below them.
DESCRIBED = """(label) => {
  const field = document.querySelector(`[aria-label="${label}"]`);
  const words = document.getElementById(field.getAttribute("aria-describedby")), box = words.getBoundingClientRect();
  return [[0.1, 0.9].every((k) => document.elementFromPoint(box.x + k * box.width, box.y + k * box.height) === words),
    words.closest(".cl-control").getBoundingClientRect().bottom >= box.bottom];
}"""


def test_what_cannot_be_read_is_said_beside_the_field_and_changes_nothing(tmp_path, explorers):
    with opened(write_page(tmp_path, explorers[1])) as (tab, troubles):
        tab.wait_for_selector(".cl-running")
        summary = tab.locator(".cl-summary").inner_text()
        for label, typed, says in (
            ("Message M, typed", "64 parsecs", "write a number with its unit, such as 16MB"),
            ("Message M, typed", "2 mb", "“mb” is no unit of it; write a number with its unit"),
            ("Message M, typed", "a lot", "a lot: write a number with its unit"),
            ("Message M, typed", "1,5 MB", "1,5 MB: write a number with a decimal point and its unit, such as 16MB"),
            ("Latency α, typed", "0us", "must be above 0"),
            ("Ranks N, typed", "600", "the nearest are 576 and 640; shown is 512"),
            ("Ranks N, typed", "1", "the nearest is 2; shown is 512"),
            ("Ranks N, typed", "1e6", "the nearest is 65536"),
            ("Ranks N, typed", "", "nothing: must be a number from 2 to 65536"),
            ("Ranks N, typed", "-5", "must be a number from 2 to 65536"),
            ("Ranks N, typed", "64 us", "must be a number from 2 to 65536"),
        ):
            field = tab.get_by_label(label)
            before = field.input_value()
            field.fill(typed)
            field.press("Tab")
            assert says in tab.locator(".cl-error:visible").inner_text()
            assert field.get_attribute("aria-invalid") == "true"
            assert tab.evaluate(DESCRIBED, label) == [True, True]
            assert tab.locator(".cl-summary").inner_text() == summary
            field.fill(before)
            field.press("Tab")
            assert tab.locator(".cl-error:visible").count() == 0
        for typed, shown in (("64 MB", "64 MB"), ("1GiB", "1.074 GB"), ("2,000 B", "2 kB")):
            tab.get_by_label("Message M, typed").fill(typed)
            assert f"M = {shown}" in tab.locator(".cl-summary").inner_text()
        assert troubles == []


def test_a_field_whose_values_have_units_reads_them_as_the_slider_shows_them_and_in_other_words(tmp_path):
    sizes = {1e6: "1 MB", 25e6: "25 MB", 32e6: "32 MB", 800e6: "800 MB", 3.2e9: "3.2 GB"}
    control = Control("b", "Bucket", sizes, kind="number")
    shown = Part(lambda b: f"<p>{b:g}</p>")
    with opened(write_page(tmp_path, Explorer("Toy", [control], [shown], lambda b: f"{b:g}"))) as (tab, troubles):
        tab.wait_for_selector(".cl-running")
        field, summary = tab.get_by_label("Bucket, typed"), tab.locator(".cl-summary")
        for typed in ("800 MB", "0.8GB", "800,000 kB"):
            field.fill("25 MB")
            assert summary.inner_text() == "2.5e+07"
            field.fill(typed)
            field.press("Tab")
            assert summary.inner_text() == "8e+08"
            assert tab.locator(".cl-error:visible").count() == 0
        for typed, says in (
            ("30MB", "the nearest are 25 MB and 32 MB"),
            ("24 MiB", "the nearest are 25 MB and 32 MB"),
            ("32", "must be a number with its unit, from 1 MB to 3.2 GB; shown is 800 MB"),
            ("30 us", "must be a number with its unit, from 1 MB to 3.2 GB; shown is 800 MB"),
        ):
            field.fill(typed)
            field.press("Tab")
            assert says in tab.locator(".cl-error:visible").inner_text()
            assert summary.inner_text() == "8e+08"
        assert troubles == []


def test_a_field_takes_zero_without_a_unit_and_every_other_value_in_a_unit_of_its_kind(tmp_path):
    control = Control("o", "Overhead", {0.0: "0", 0.5: "0.5 µs", 1.0: "1 µs", 25.0: "25 µs"}, kind="number")
    shown = Part(lambda o: f"<p>{o:g}</p>")
    with opened(write_page(tmp_path, Explorer("Toy", [control], [shown], lambda o: f"{o:g}"))) as (tab, troubles):
        tab.wait_for_selector(".cl-running")
        field, summary = tab.get_by_label("Overhead, typed"), tab.locator(".cl-summary")
        for typed, read in (("500 ns", "0.5"), ("0", "0"), ("2.5e1us", "25"), ("0 us", "0"), (".5 μs", "0.5")):
            field.fill(typed)
            assert summary.inner_text() == read
        for typed in ("25", "25 B", "25 us/s", "µs", "-1 us", ""):
            field.fill(typed)
            field.press("Tab")
            says = "must be a number with its unit, from 0 to 25 µs; shown is 0.5 µs"
            assert says in tab.locator(".cl-error:visible").inner_text()
        field.fill("2")
        assert tab.locator(".cl-error:visible").count() == 0
        assert troubles == []


def test_the_rule_can_be_dragged_and_a_row_lights_its_curve(tmp_path, explorers):
    with opened(write_page(tmp_path, explorers[1])) as (tab, troubles):
        tab.wait_for_selector(".cl-running")
        handle = tab.locator(".cl-handle")
        handle.press("Home")
        assert "M = 100 B" in tab.locator(".cl-summary").inner_text()
        handle.press("End")
        assert "M = 100 GB" in tab.locator(".cl-summary").inner_text()
        box = handle.bounding_box()
        tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + 40)
        tab.mouse.down()
        tab.mouse.move(box["x"] - 100, box["y"] + 60, steps=3)
        tab.mouse.up()
        dragged = handle.get_attribute("aria-valuetext")
        assert dragged != "100 GB"
        assert f"M = {dragged}" in tab.locator(".cl-summary").inner_text()
        tab.get_by_text("All in numbers").click()
        tab.locator("tr[data-row='ring']").focus()
        lit = tab.locator("svg .cl-lit").evaluate_all("(nodes) => nodes.map((n) => n.dataset.row)")
        assert set(lit) == {"ring"}
        assert troubles == []
