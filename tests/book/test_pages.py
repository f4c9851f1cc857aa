"""Every page of the built book, as a reader meets it: light and dark, wide and on a phone, with no network."""

from __future__ import annotations

from typing import Any

import pytest

from colllib.claims import FAILS, HOLDS

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


def audit(tab: Any, **options: Any) -> list[str]:
    """What axe-core finds; what the theme and the bibliography did wrong, the book's extension repairs."""
    from axe_playwright_python.sync_playwright import Axe

    tab.evaluate(THIN, MOST)
    options = {"resultTypes": ["violations"], "preload": False, **options}
    return [
        f"{violation['id']}: {violation['help']}: {node['target'][-1]}: {node['html'][:200]}"
        for violation in Axe().run(tab, options=options).response["violations"]
        for node in violation["nodes"]
    ]


def test_page_stands_alone_fits_and_is_accessible(visit, page_path):
    """No request leaves the files, the console is silent, nothing sticks out, wide, dark or on a phone."""
    with visit(page_path) as tab:
        assert tab.evaluate("document.documentElement.dataset.theme") == "light"
        assert tab.locator("mjx-merror, [data-mjx-error]").count() == 0, "a formula that MathJax cannot read"
        for width in (390, 1280):
            tab.set_viewport_size({"width": width, "height": 900})
            assert tab.evaluate(TOO_WIDE) == []
        found = audit(tab)
        assert not found, "\n".join(found)
        tab.evaluate("document.documentElement.dataset.theme = 'dark'")
        assert tab.evaluate(LIGHT_BEHIND) == []


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_page_is_accessible_in_dark(visit, kind):
    with visit(kind, theme="dark") as tab:
        assert tab.evaluate("document.documentElement.dataset.theme") == "dark"
        found = audit(tab, runOnly=["color-contrast"])  # all else is as in light
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


def test_search_finds_a_claim_by_its_id(visit):
    """The first answer is the card in the ledger, not the top of a page."""
    with visit("search.html") as tab:
        tab.goto(tab.url + "?q=E-02-083")
        tab.wait_for_selector("#search-results .search li")
        assert "claims.html#e-02-083" in tab.locator("#search-results .search li a").first.get_attribute("href")


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
