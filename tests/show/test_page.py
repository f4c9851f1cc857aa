"""The static form in a real Chromium, from a file, with every request refused."""

from __future__ import annotations

import re

import pytest
from show_browser import move_times, opened, write_page
from show_toy import steps, toy

from colllib.show import Control, Explorer, Part, bars, lines, message_explorer

pytestmark = pytest.mark.usefixtures("with_chromium")


@pytest.fixture
def page(tmp_path):
    return write_page(tmp_path, toy())


def test_every_control_moves_by_keyboard(page):
    with opened(page) as (tab, troubles):
        tab.wait_for_selector(".cl-running")
        assert not tab.locator(".cl-note").is_visible()
        ranks, step = (tab.get_by_role("slider", name=name, exact=True) for name in ("Ranks N", "Step"))
        tab.keyboard.press("Tab")
        assert tab.evaluate("document.activeElement.dataset.act") == "copy"
        tab.keyboard.press("Tab")
        assert tab.evaluate("document.activeElement.type") == "radio"
        tab.keyboard.press("Tab")
        tab.keyboard.press("ArrowRight")
        assert ranks.get_attribute("aria-valuetext") == "16"
        assert tab.locator("[data-part='3']").inner_text() == "Half of 16 is 8 & that is all."
        tab.keyboard.press("Home")
        assert tab.locator(".cl-summary").inner_text() == "ring on 2 ranks, step 0 < 3"
        tab.keyboard.press("End")
        tab.keyboard.press("Tab")
        tab.keyboard.press("End")
        last = steps("ring", 32)
        assert step.get_attribute("aria-valuetext") == f"{last} of {last}"
        assert f"After step {last}" in tab.locator("[data-part='2']").inner_text()
        tab.get_by_role("radio", name="Ring").focus()
        tab.keyboard.press("ArrowDown")
        last = steps("tree", 32)
        assert step.get_attribute("max") == str(last)
        assert step.input_value() == str(last)
        assert tab.locator(".cl-summary").inner_text() == f"tree on 32 ranks, step {last} < {last + 1}"
        assert tab.locator(".cl-summary").get_attribute("aria-live") == "polite"
        assert troubles == []


SAID = Part(lambda: "said")

# What a screen reader says by itself from now on.
LISTEN = """() => {
  const answer = document.querySelector("[aria-live]");
  window.heard = [];
  new MutationObserver(() => heard.push(answer.textContent)).observe(answer, { childList: true, subtree: true });
}"""


def test_buttons_step_and_play_without_autoplay(page):
    with opened(page, reduced_motion="reduce") as (tab, troubles):
        tab.wait_for_selector(".cl-running")
        value = tab.locator(".cl-value").nth(1)
        tab.wait_for_timeout(1200)
        assert value.inner_text() == "0 of 14"
        previous, play, following = (tab.get_by_role("button", name=name) for name in ("Previous", "Play", "Next"))
        assert previous.get_attribute("aria-disabled") == "true"
        following.focus()
        tab.keyboard.press("Enter")
        tab.keyboard.press("Space")
        assert value.inner_text() == "2 of 14"
        previous.click()
        assert value.inner_text() == "1 of 14"
        tab.get_by_role("slider", name="Step").press("End")
        assert following.get_attribute("aria-disabled") == "true"
        play.click()
        assert value.inner_text() == "0 of 14"
        assert tab.locator(".cl-summary").get_attribute("aria-live") == "off"
        tab.wait_for_function("document.querySelectorAll('.cl-value')[1].textContent === '2 of 14'")
        tab.evaluate(LISTEN)
        tab.get_by_role("button", name="Pause").click()
        assert tab.locator(".cl-summary").get_attribute("aria-live") == "polite"
        tab.wait_for_function("heard.length")
        assert tab.evaluate("heard") == ["ring on 8 ranks, step 2 < 15"]
        assert troubles == []


def test_a_value_that_is_typed_is_answered_once(tmp_path):
    with opened(write_page(tmp_path, message_explorer())) as (tab, troubles):
        tab.wait_for_selector(".cl-running")
        tab.evaluate(LISTEN)
        field = tab.get_by_role("textbox", name="Message M, typed")
        field.fill("64 MB")
        assert len(tab.evaluate("heard")) == 1
        field.press("Tab")  # the value is taken once more, and has not changed
        assert len(tab.evaluate("heard")) == 1
        assert troubles == []


def test_what_is_pressed_after_a_typing_mistake_stays_below_the_pointer_and_a_copied_link_is_heard_of(tmp_path):
    with opened(write_page(tmp_path, message_explorer())) as (tab, troubles):
        tab.wait_for_selector(".cl-running")
        tab.get_by_label("Message M, typed").fill("a lot")
        fold = tab.locator("summary").first
        fold.hover()
        at = fold.bounding_box()
        tab.mouse.down()
        assert fold.bounding_box() == at
        tab.mouse.up()
        assert tab.locator("details[open]").count() == 1
        assert tab.locator(".cl-error:visible").inner_text().startswith("a lot: ")
        tab.locator("[data-act=copy]").click()
        tab.wait_for_function("document.querySelector('[role=status]').textContent")
        assert tab.get_by_role("status").inner_text() == tab.locator("[data-act=copy]").inner_text()
        assert troubles == []


def test_two_explorers_in_a_page_do_not_disturb_each_other(tmp_path):
    numbers = Control("n", "Number", range(5))
    double = Explorer("Doubles", [numbers], [Part(lambda n: f"<p>{2 * n}</p>")], summary=SAID)
    with opened(write_page(tmp_path, toy(), toy(), double)) as (tab, troubles):
        tab.wait_for_function("document.querySelectorAll('.cl-running').length === 3")
        tab.get_by_role("slider", name="Number").press("End")
        assert tab.get_by_label("Doubles, part 1").inner_text() == "8"
        tab.get_by_role("slider", name="Ranks N").nth(1).press("End")
        shown = tab.locator("[data-part='3']").all_inner_texts()
        assert [text.split()[2] for text in shown] == ["8", "32"]
        fresh = "Object.keys(window).filter((k) => k.startsWith('colllib'))"
        assert tab.evaluate(fresh) == ["colllibShow"]
        assert troubles == []


def test_what_is_pressed_stays_below_the_pointer_and_what_has_the_focus_among_its_neighbors(page):
    with opened(page, viewport={"width": 1280, "height": 900}) as (tab, troubles):
        tab.wait_for_selector(".cl-running")
        tab.add_style_tag(content=":root { --cl-top: 56px; } body { padding: 1000px 0; }")  # a head that covers so much
        tree, step = tab.get_by_role("radio", name="Tree"), tab.get_by_role("slider", name="Step")
        tab.evaluate("(up) => { scrollBy(0, up); }", tree.bounding_box()["y"] - 40)
        at = tree.bounding_box()
        tab.mouse.move(at["x"] + 5, at["y"] + 5)
        tab.mouse.down()
        assert tree.bounding_box() == at
        tab.mouse.up()
        assert tree.is_checked()
        tab.evaluate("() => { scrollBy(0, -300); }")
        below = step.bounding_box()["y"] - tree.bounding_box()["y"]
        for each in (tree, step, tree):
            each.focus()
            assert step.bounding_box()["y"] - tree.bounding_box()["y"] == below
        assert troubles == []


@pytest.mark.parametrize("asked", ["n=5", "n=%E0%A4%A", "ranks=8, step=3-of-9"])
def test_a_link_to_what_is_not_on_offer_says_so_until_something_moves(page, asked):
    with opened(page) as (tab, troubles):
        tab.wait_for_selector(".cl-running")
        address = f"steps-of-an-all-reduce?algorithm=tree-binomial&{asked.replace(', ', '&')}"
        tab.evaluate("(address) => { location.hash = address; }", address)
        tab.wait_for_selector(".cl-note:visible")
        assert f"The link asks for {asked}, which is not on offer here." in tab.locator(".cl-note").inner_text()
        assert tab.locator(".cl-summary").inner_text() == "tree on 8 ranks, step 0 < 7"
        tab.get_by_role("slider", name="Ranks N").press("ArrowRight")
        assert not tab.locator(".cl-note").is_visible()
        assert troubles == []


def test_without_script_the_first_state_stands(page):
    with opened(page, java_script_enabled=False) as (tab, _):
        assert tab.locator(".cl-note").is_visible()
        assert tab.locator("[data-control='1']").is_disabled()
        assert "After step 0" in tab.locator("[data-part='2']").inner_text()


def test_what_never_offers_more_than_three_values_is_radio_buttons_that_follow(tmp_path):
    drawn = {"order": ["as they are"], "draw": ["first", "second", "third"]}
    controls = [
        Control("way", "Way", list(drawn), start="draw", kind="select"),
        Control("which", "Which", lambda way: drawn[way], start="third", kind="select"),
        Control("only", "Only", lambda way: [f"after {way}"]),
    ]
    page = write_page(
        tmp_path, Explorer("Draws", controls, [Part(lambda which, only: f"<p>{which}, {only}</p>")], summary=SAID)
    )
    with opened(page) as (tab, troubles):
        tab.wait_for_selector(".cl-running")
        assert tab.locator("select, [data-control='2']").count() == 0
        tab.get_by_role("radio", name="order").check()
        assert tab.locator("[data-part='0']").inner_text() == "as they are, after order"
        assert not tab.get_by_role("radio", name="as they are").is_visible()
        tab.get_by_role("radio", name="draw").check()
        tab.get_by_role("radio", name="second").focus()
        tab.keyboard.press("ArrowDown")
        assert tab.locator("[data-part='0']").inner_text() == "third, after draw"
        assert troubles == []


def test_a_damaged_payload_says_so(tmp_path):
    page = write_page(tmp_path, toy())
    spoilt = re.sub(r'(data-digest="\w+">)[\w+/]{4}', r"\1AAAA", page.read_text())
    assert spoilt != page.read_text()
    page.write_text(spoilt)
    with opened(page) as (tab, _):
        tab.wait_for_function("document.querySelector('.cl-note').textContent.includes('could not start')")
        assert tab.locator("[data-control='1']").is_disabled()


def test_on_a_phone_only_the_wide_part_scrolls_and_takes_focus(page):
    with opened(page, viewport={"width": 390, "height": 800}) as (tab, _):
        tab.wait_for_selector(".cl-running")
        tab.get_by_role("slider", name="Ranks N").press("End")
        tab.wait_for_function("document.querySelector(\"[data-part='2']\").tabIndex === 0")
        assert tab.evaluate("document.documentElement.scrollWidth") == 390
        assert tab.locator("[data-part='3']").get_attribute("tabindex") is None
        table = tab.locator("[data-part='2']")
        table.evaluate("(node) => { node.scrollLeft = 200; }")
        tab.locator("[data-control='2']").press("ArrowRight")
        assert table.evaluate("(node) => node.scrollLeft") == 200


CONTRAST = """() => {
  const channels = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (c) => c.slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
  const ground = channels(getComputedStyle(document.querySelector(".cl-explorer")).backgroundColor);
  return [...document.querySelectorAll(".cl-explorer :is(p, span, th, td, caption, text, button)")]
    .filter((node) => node.textContent.trim() && node.getClientRects().length)
    .map((node) => {
      const look = getComputedStyle(node);
      const ink = channels(node.tagName === "text" ? look.fill : look.color);
      const behind = node.tagName === "BUTTON" ? channels(look.backgroundColor) : ground;
      const [low, high] = [light(ink), light(behind)].sort((a, b) => a - b);
      return (high + 0.05) / (low + 0.05);
    });
}"""


@pytest.mark.parametrize(
    ("theme", "scheme", "dark"),
    [
        ("light", "dark", False),
        ("dark", "light", True),
        (None, "dark", True),
        (None, "light", False),
    ],
)
def test_text_reads_in_both_themes_whoever_sets_them(tmp_path, theme, scheme, dark):
    with opened(write_page(tmp_path, toy(), theme=theme), color_scheme=scheme) as (tab, _):
        tab.wait_for_selector(".cl-running")
        ground = tab.locator(".cl-explorer").evaluate("(node) => getComputedStyle(node).backgroundColor")
        assert ground == ("rgb(21, 24, 28)" if dark else "rgb(255, 255, 255)")
        ratios = tab.evaluate(CONTRAST)
        assert len(ratios) > 40
        assert min(ratios) >= 4.5


def test_figures_follow_the_theme_and_the_width(tmp_path):
    chart = lines({"a": ([1, 2], [1, 2])}, x_label="x", y_label="y", title="A line")
    page = write_page(tmp_path, chart, bars({"a": 1, "b": 2}), theme="dark")
    for width, drawn in ((390, ".cl-slim"), (784, ".cl-broad")):
        with opened(page, viewport={"width": width, "height": 800}) as (tab, troubles):
            (svg,) = (one for one in tab.locator("svg.cl-plot").all() if one.is_visible())
            assert svg.evaluate("(n, kind) => n.parentElement.matches(kind)", drawn)
            assert 300 < svg.bounding_box()["width"] <= width
            assert svg.locator("text").first.evaluate("(n) => getComputedStyle(n).fill") == "rgb(230, 232, 235)"
            assert tab.get_by_role("img", name="A line.").count() == 1
            assert troubles == []


def test_moves_are_measured(page):
    times = move_times(page)
    assert len(times) == 1 + 5 + steps("tree", 32) + 1  # of two radio buttons one is chosen already
    print(f"{len(times)} moves, longest {max(times):.2f} ms of script time")
