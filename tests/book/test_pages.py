"""Every page of the built book, as a reader meets it: light and dark, wide and on a phone, with no network."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.browser

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


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_page_stands_alone_and_fits(visit, page_path, theme):
    """No request leaves the files, nothing is reported to the console, and a phone never scrolls sideways."""
    with visit(page_path, theme=theme) as tab:
        assert tab.evaluate("document.documentElement.dataset.theme") == theme
        assert tab.locator("mjx-merror, [data-mjx-error]").count() == 0, "a formula that MathJax cannot read"
        assert tab.evaluate(TOO_WIDE) == []
        if theme == "dark":
            assert tab.evaluate(LIGHT_BEHIND) == []
        tab.set_viewport_size({"width": 390, "height": 844})
        assert tab.evaluate(TOO_WIDE) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_page_is_accessible(visit, page_path, theme):
    """axe-core finds nothing; what the theme and the bibliography did wrong, the book's extension repairs."""
    from axe_playwright_python.sync_playwright import Axe

    with visit(page_path, theme=theme) as tab:
        results = Axe().run(tab, options={"resultTypes": ["violations"], "preload": False}).response["violations"]
    found = [
        f"{violation['id']}: {violation['help']}: {node['target'][-1]}: {node['html'][:200]}"
        for violation in results
        for node in violation["nodes"]
    ]
    assert not found, "\n".join(found)


def test_first_load_on_a_phone(visit):
    """A phone that opens the book at once, not a window made narrow later."""
    with visit("index.html", width=390, height=844, is_mobile=True, has_touch=True) as tab:
        assert tab.evaluate(TOO_WIDE) == []


def test_search_answers_from_the_files(visit):
    """The search page finds words with no server."""
    with visit("search.html") as tab:
        tab.goto(tab.url + "?q=alpha")
        tab.wait_for_selector("#search-results .search li")
        assert tab.locator("#search-results .search li").count() > 0


def test_the_theme_button_switches(visit):
    """The reader's choice wins over the system's."""
    with visit("book/welcome.html", theme="light") as tab:
        for _ in range(3):
            tab.locator("button.theme-switch-button:visible").first.click()
            if tab.evaluate("document.documentElement.dataset.theme") == "dark":
                break
        assert tab.evaluate("document.documentElement.dataset.theme") == "dark"
