"""Every explorer of the built book: it starts from the file, answers moves, and reads well without its script."""

from __future__ import annotations

import random
import re

import pytest

pytestmark = pytest.mark.browser

MOVES = 12  # of each explorer, drawn anew for every page and the same in every run

FROM_CONTROLS_TO_ANSWER = """(root) => root.querySelector(".cl-summary").getBoundingClientRect().bottom
  - root.getBoundingClientRect().top"""

# Some positions of some controls; what was shown after each, and how many were answered.
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
  return { asked, answered, shown: texts.size };
}"""


def test_explorers_start_and_answer(visit, explorer_page):
    """Moves are answered, something changes, and all of it stands in one view of 1280 x 900."""
    draw = random.Random(explorer_page)
    with visit(explorer_page) as tab:
        for root in tab.query_selector_all(".cl-explorer"):
            result = tab.evaluate(MOVE, [root, [[draw.random(), draw.random()] for _ in range(MOVES)]])
            assert MOVES / 2 < result["asked"] == result["answered"]
            assert result["shown"] > 1, "nothing changes"
            height = root.evaluate(FROM_CONTROLS_TO_ANSWER)
            assert height <= 900, "controls, figure and answer are more than a view"


def test_without_script_the_first_state_stands(site, explorer_page):
    """In the page itself controls are disabled, every part has content, and a note says what the script would do."""
    text = (site / explorer_page).read_text(encoding="utf-8")
    explorers = re.findall(r'<section class="colllib cl-explorer".*?</section>', text, re.DOTALL)
    assert explorers
    for html in explorers:
        assert '<fieldset class="cl-controls" disabled' in html
        assert 'class="cl-note">Shown is one state.' in html
        parts = re.findall(r'data-part="\d+"[^>]*>(.)', html, re.DOTALL)
        assert parts
        assert all(part.strip() for part in parts)


def test_without_script_a_browser_shows_it(visit):
    with visit("notebooks/all-reduce.html", java_script_enabled=False) as tab:
        for explorer in tab.locator(".cl-explorer").all():
            fields = explorer.locator(".cl-controls").locator("input, select, button").all()
            assert fields
            assert all(field.is_disabled() for field in fields)
            assert explorer.locator(".cl-note").is_visible()
            assert all(part.strip() for part in explorer.locator("[data-part]:visible").all_inner_texts())


def test_data_are_shared_between_pages(site):
    """An explorer's states are a file that pages name, and no page is heavier than 0.7 MB."""
    named = {}
    for page in sorted(site.rglob("*.html")):
        if page.relative_to(site).parts[0] == "_static":
            continue
        text = page.read_text(encoding="utf-8")
        assert len(text.encode()) < 700_000, page
        assert "<style data-colllib" not in text
        for digest in re.findall(r'data-digest="(\w+)" data-src', text):
            named.setdefault(digest, []).append(page)
    assert named
    assert all((site / "_static" / "colllib" / f"{digest}.js").exists() for digest in named)
    assert max(len(pages) for pages in named.values()) > 1
