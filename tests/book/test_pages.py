"""Every page of the built book, as a reader meets it: light and dark, wide and on a phone, with no network."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from colllib.claims import FAILS, HOLDS

pytestmark = pytest.mark.browser

MOVES = 12  # of each explorer, drawn anew for every page and the same in every run

# Some positions of some controls; what was shown after each, how many were answered, and how high it all is.
MOVE = """async ([root, draws]) => {
  root.scrollIntoView();
  while (!root.matches(".cl-running")) await new Promise((done) => { setTimeout(done, 20); });
  const shown = () => [...root.querySelectorAll("[data-part]")].map((part) => part.innerHTML).join();
  const texts = new Set([shown()]);
  let answered = 0, asked = 0;
  root.addEventListener("colllib:change", () => { answered += 1; });
  const controls = [...root.querySelectorAll("[data-control]")];
  for (const [which, where] of draws) {
    const control = controls[Math.floor(which * controls.length)];
    if (control.tagName === "FIELDSET") {
      const off = [...control.querySelectorAll("input:not(:checked)")];
      if (!off.length) continue; // what another control leaves a single choice is not shown
      off[Math.floor(where * off.length)].click();
      asked += 1;
    } else {
      const last = control.options ? control.options.length - 1 : Number(control.max);
      control.value = Math.round(where * last);
      control.dispatchEvent(new Event("input", { bubbles: true }));
      asked += 1;
    }
    texts.add(shown());
  }
  const height = root.querySelector(".cl-summary").getBoundingClientRect().bottom - root.getBoundingClientRect().top;
  return { asked, answered, shown: texts.size, height };
}"""

# What sticks out of the page, or of the column of text, which the theme lets scroll sideways as a whole.
TOO_WIDE = """() => {
  const columns = [document.documentElement]
    .concat(...document.querySelectorAll(".bd-content, .bd-article-container, .bd-article"));
  const wide = columns.filter((e) => e.scrollWidth > e.clientWidth + 1);
  if (!wide.length) return [];
  const edge = document.documentElement.clientWidth + 1;
  const scrolls = (e) => { for (let p = e.parentElement; p && !columns.includes(p); p = p.parentElement)
    if (getComputedStyle(p).overflowX !== "visible") return true; };
  const name = (e) => e.tagName.toLowerCase() + (e.id && "#" + e.id) + [...e.classList].map((c) => "." + c).join("");
  const culprits = [...document.querySelectorAll(".bd-content *")]
    .filter((e) => e.getBoundingClientRect().right > edge && !scrolls(e));
  return culprits.slice(0, 5).map(name).concat(wide.map((e) => `${name(e)} is ${e.scrollWidth} px wide`));
}"""

# Backgrounds lighter than half behind or inside what colllib shows.
LIGHT_BEHIND = """() => {
  const light = (e) => {
    const [r, g, b, a = 1] = (getComputedStyle(e).backgroundColor.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
    return a > 0.5 && 0.2126 * r + 0.7152 * g + 0.0722 * b > 140;
  };
  const found = [];
  for (const shown of document.querySelectorAll(".colllib"))
    for (let e = shown; e; e = e.parentElement) if (light(e)) found.push(e.className || e.tagName);
  return found;
}"""

# What a phone shows too small or too faint, or leaves out of sight while one looks at the figure: the control in use or
# the answer.
CUT_CODE = """() => [...document.querySelectorAll(".bd-article .cell_input pre")]
  .filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth).map((e) => e.textContent)"""
ON_A_PHONE = """async () => {
  await new Promise((done) => { setTimeout(done, 100); }); // what depends on the width is drawn anew
  const wrong = new Set();
  for (const text of document.querySelectorAll(".colllib svg text")) {
    if (!text.checkVisibility({ visibilityProperty: true }) || !text.textContent.trim()) continue;
    const { a, b } = text.getScreenCTM(), size = parseFloat(getComputedStyle(text).fontSize) * Math.hypot(a, b);
    if (size < 10.9) wrong.add(`${text.textContent} is ${size.toFixed(1)} px high`);
    let ink = 1; // of the theme's colors, all of which can be read
    for (let e = text; e.tagName !== "svg"; e = e.parentElement) ink *= getComputedStyle(e).opacity;
    if (ink < 0.9) wrong.add(`${text.textContent} is faded`);
  }
  for (const root of document.querySelectorAll(".cl-explorer")) {
    const control = [...root.querySelectorAll("[data-control]")].find((each) => each.checkVisibility());
    (control.querySelector("input:checked") || control).focus({ preventScroll: true });
    scrollTo({ top: scrollY + root.getBoundingClientRect().top + 200, behavior: "instant" });
    const held = root.querySelector(".cl-held"), answer = root.querySelector(".cl-summary");
    const [at, below] = [held, answer].map((each) => each.getBoundingClientRect());
    if (at.top < 50 || at.bottom > innerHeight) wrong.add(`${root.id}: the control in use goes out of sight`);
    if (below.bottom > innerHeight + 1) wrong.add(`${root.id}: the answer is out of sight`);
  }
  return [...wrong];
}"""

# What a screen reader does not get: a formula as MathML, with no place of its own to tab to, and in the name of a
# picture the conclusion that stands above it.
NOT_READ = """() => {
  const name = (e) => (e.getAttribute("aria-label") || "").replace(/n_(alpha|α)/g, "nα").replace(/n_(beta|β)/g, "nβ");
  const formulas = [...document.querySelectorAll("mjx-container")]
    .filter((e) => e.tabIndex >= 0 || !e.querySelector("math"));
  const pictures = [...document.querySelectorAll(".colllib[role=img]")]
    .filter((e) => !name(e) || !name(e).includes(e.querySelector(":scope > .cl-heading")?.textContent ?? ""));
  return [
    ...formulas.map((e) => `not MathML alone: ${e.outerHTML.slice(0, 200)}`),
    ...pictures.map((e) => `its name lacks its heading: ${e.outerHTML.slice(0, 200)}`),
  ];
}"""

# axe-core reads no MathML: to it a head that is a formula is empty. Of one that is, the letters are written out.
SPELL = """() => document.querySelectorAll("th math")
  .forEach((math) => math.closest("th").append(math.textContent))"""

MOST = 40  # items of a list, or rows of a table, that are audited: the first of each kind, and some more

# Of the long lists on a page all but those are taken away, the same in every run.
THIN = """(most) => [...document.querySelectorAll(".bd-article :is(ul, ol, tbody)")].forEach((list) => {
  const kinds = new Set(), all = [...list.children];
  all.forEach((item, k) => {
    const kind = `${item.className} ${item.dataset.verdict}`;
    const drawn = (k * 2654435761) % 2 ** 32 / 2 ** 32 < most / all.length;
    if (!drawn && kinds.has(kind)) item.remove();
    kinds.add(kind);
  });
})"""

# Contrast takes two thirds of an audit, and what is alike has the same: colors, type, what it stands on, how it is
# placed. The first three of each kind are marked.
MARK = """() => {
  document.querySelectorAll("[data-audited]").forEach((e) => e.removeAttribute("data-audited"));
  const grounds = new Map([[null, ""]]), kinds = new Map();
  const ground = (e) => {
    if (!grounds.has(e)) {
      const s = getComputedStyle(e);
      const placed = ["static", "relative"].includes(s.position) ? "" : s.position + e.className;
      const own = [s.backgroundColor, s.backgroundImage, s.opacity, s.filter, placed].join();
      grounds.set(e, ground(e.parentElement) + (own === "rgba(0, 0, 0, 0),none,1,none," ? "" : `|${own}`));
    }
    return grounds.get(e);
  };
  for (const e of document.querySelectorAll("body *")) {
    const says = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!says || !e.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    const s = getComputedStyle(e), kind = [ground(e), s.color, s.fontSize, s.fontWeight, s.textShadow].join();
    kinds.set(kind, (kinds.get(kind) || 0) + 1);
    if (kinds.get(kind) <= 3) e.dataset.audited = "";
  }
}"""
CONTRAST = "color-contrast"

# One page of each kind is audited in dark, too: prose, chapters with curves, wires, a map, tables, the ledger, lists.
KINDS = (
    "book/welcome.html",
    "notebooks/all-reduce.html",
    "notebooks/torus.html",
    "notebooks/what-libraries-choose.html",
    "book/cheatsheet.html",
    "book/claims.html",
    "book/glossary.html",
    "book/references.html",
)


def audit(tab: Any) -> list[str]:
    """What axe-core finds; what the theme and the bibliography did wrong, the book's extension repairs."""
    tab.evaluate(THIN, MOST)
    tab.evaluate(SPELL)
    return [*_violations(tab, rules={CONTRAST: {"enabled": False}}), *too_faint(tab)]


def too_faint(tab: Any) -> list[str]:
    """Which of the texts of each kind axe-core finds too faint."""
    tab.evaluate(MARK)
    return _violations(tab, {"include": [["[data-audited]"]]}, runOnly=[CONTRAST])


def _violations(tab: Any, context: dict[str, Any] | None = None, **options: Any) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    options = {"resultTypes": ["violations"], "preload": False, **options}
    return [
        f"{violation['id']}: {violation['help']}: {node['target'][-1]}: {node['html'][:200]}"
        for violation in Axe().run(tab, context=context, options=options).response["violations"]
        for node in violation["nodes"]
    ]


FAINT = {
    ".bd-article p a { color: #9bf !important; }": "<a .*href",
    "h2 { opacity: 0.4; }": "<h2",
    ".cl-title { background: #777; }": "cl-title",
    ".cl-controls .cl-name { color: #aaa; }": "cl-name",
    ".bd-article p:last-of-type { color: #bbb; }": "<p ",
}


def test_a_faint_text_of_any_kind_is_found(visit):
    page = "notebooks/bus-bandwidth.html"
    with visit(page) as tab:
        explorers_answer(tab, page)
        tab.add_style_tag(content=" ".join(FAINT))
        texts = "\n".join(too_faint(tab))
        assert [kind for kind in FAINT.values() if not re.search(kind, texts)] == []


def test_page_stands_alone_fits_and_is_accessible_and_its_explorers_answer(visit, page_path):
    """No request leaves the files, the console is silent, nothing sticks out, wide, dark or on a phone."""
    with visit(page_path) as tab:
        assert tab.evaluate("document.documentElement.dataset.theme") == "light"
        assert tab.locator("mjx-merror, [data-mjx-error]").count() == 0, "a formula that MathJax cannot read"
        for width in (320, 390, 1280):
            tab.set_viewport_size({"width": width, "height": 900})
            assert tab.evaluate(TOO_WIDE) == []
        assert tab.evaluate(CUT_CODE) == [], "code that is shown has to be scrolled"
        explorers_answer(tab, page_path)  # before the audit, which passes over controls that have not started
        problems = [*tab.evaluate(NOT_READ), *audit(tab)]
        assert not problems, "\n".join(problems)
        tab.add_style_tag(content="* { transition: none !important; }")  # colors are dark at once
        tab.evaluate("document.documentElement.dataset.theme = 'dark'")
        assert tab.evaluate(LIGHT_BEHIND) == []
        if page_path in KINDS:
            problems = too_faint(tab)  # all else is as in light
            assert not problems, "\n".join(problems)
        tab.set_viewport_size({"width": 390, "height": 844})
        assert tab.evaluate(ON_A_PHONE) == []


STARTS = """() => [...document.querySelectorAll(".bd-article div.math")].map((box) => [
  box.scrollWidth > box.clientWidth,
  box.querySelector("mjx-container").getBoundingClientRect().left >= box.getBoundingClientRect().left,
])"""


def test_a_formula_wider_than_a_phone_shows_its_beginning(visit):
    with visit("book/cheatsheet.html", width=390) as tab:
        formulas = tab.evaluate(STARTS)
    assert any(wide for wide, _ in formulas)
    assert all(begins for _, begins in formulas)


REACHED = """() => [...document.querySelectorAll(".bd-article :is(.pst-scrollable-table-container, div.math, pre)")]
    .map((box) => [box.scrollWidth > box.clientWidth, box.tabIndex === 0])"""


@pytest.mark.parametrize("page", ["book/cheatsheet.html", "notebooks/topology-primer.html"])
def test_the_keyboard_reaches_what_scrolls_and_nothing_else(visit, page):
    with visit(page) as tab:
        tab.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
        for width in (390, 2400):
            tab.set_viewport_size({"width": width, "height": 900})
            tab.wait_for_timeout(500)
            assert {scrolls == reached for scrolls, reached in tab.evaluate(REACHED)} == {True}
            assert width > 390 or any(scrolls for scrolls, _ in tab.evaluate(REACHED))


def explorers_answer(tab: Any, page_path: str) -> None:
    """Moves are answered, something changes, and all of it stands in one view of 1280 x 900."""
    draw = random.Random(page_path)
    for root in tab.query_selector_all(".cl-explorer"):
        result = tab.evaluate(MOVE, [root, [[draw.random(), draw.random()] for _ in range(MOVES)]])
        assert MOVES / 2 < result["asked"] == result["answered"]
        assert result["shown"] > 1, "nothing changes"
        assert result["height"] <= 900, "controls, figure and answer are more than a view"


def test_a_page_that_is_opened_in_dark_is_accessible(visit):
    with visit("notebooks/all-reduce.html", theme="dark") as tab:
        assert tab.evaluate("document.documentElement.dataset.theme") == "dark"
        tab.evaluate(THIN, MOST)
        problems = too_faint(tab)
        assert not problems, "\n".join(problems)


def test_first_load_on_a_phone(visit):
    """A phone that opens the book at once, not a window made narrow later."""
    with visit("index.html", width=390, height=844, is_mobile=True, has_touch=True) as tab:
        assert tab.evaluate(TOO_WIDE) == []


def test_a_chapters_last_line_leads_to_its_claims(visit):
    """The link filters the ledger to the chapter, and the number in it is that of the cards."""
    with visit("notebooks/in-network.html") as tab:
        link = tab.locator('a[href*="claims.html?chapter=in-network"]')
        count = int(link.text_content().split()[0])
        link.click()
        tab.wait_for_selector(".cl-ledger form:visible")
        shown = tab.locator(".cl-ledger li:visible").evaluate_all("all => all.map((li) => li.dataset.verdict)")
        assert sum(verdict in {*FAILS, *HOLDS} for verdict in shown) == count
        assert set(tab.locator(".cl-ledger li:visible").evaluate_all("all => all.map((li) => li.dataset.chapter)")) == {
            "in-network"
        }


def test_the_theme_button_switches(visit):
    """The reader's choice wins over the system's."""
    with visit("book/welcome.html", theme="light") as tab:
        for _ in range(3):
            tab.locator("button.theme-switch-button:visible").first.click()
            if tab.evaluate("document.documentElement.dataset.theme") == "dark":
                break
        assert tab.evaluate("document.documentElement.dataset.theme") == "dark"


@pytest.mark.parametrize(
    "address",
    [
        "alpha-beta.html#what-the-model-cannot-say",
        "bus-bandwidth.html#pitfalls",
        "experts.html#pitfalls",
        "from-flow-to-trees.html#switches-that-copy-relieve-gpus-not-the-busiest-link",
    ],
)
def test_a_link_to_a_section_lands_on_its_heading(visit, address):
    """Below the bar at the top, although formulas above have changed their height meanwhile."""
    page, _, anchor = address.partition("#")
    with visit(f"notebooks/{page}", query=f"#{anchor}") as tab:
        top = "document.getElementById(id).getBoundingClientRect().top"
        tab.wait_for_function(f"(id) => 40 < {top} && {top} < 120", arg=anchor, timeout=20_000)
