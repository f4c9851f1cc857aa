"""On paper: code in full, and nothing folded away."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.browser

CLIPPED = """() => [...document.querySelectorAll(".bd-article :is(pre, .highlight, .cell_input, .cell_output, table)")]
  .filter((e) => e.clientWidth && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== "visible")
  .map((e) => e.className || e.tagName)"""
WIDE = """() => [...document.querySelectorAll(".bd-article pre")]
  .filter((e) => e.clientWidth && e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent.slice(0, 60))"""
FOLDED = "document.querySelectorAll('details:not([open])').length"


@pytest.mark.parametrize("page", ["notebooks/primitives.html", "notebooks/all-reduce.html", "book/claims.html"])
def test_printing_shows_whole_code_and_opens_what_is_folded(visit, page):
    with visit(page, width=720) as tab:  # about the text width of A4
        before = tab.evaluate(FOLDED)
        tab.emulate_media(media="print")
        tab.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert tab.evaluate(FOLDED) == 0
        assert tab.evaluate(CLIPPED) == []
        assert tab.evaluate(WIDE) == []
        tab.evaluate("dispatchEvent(new Event('afterprint'))")
        assert tab.evaluate(FOLDED) == before


def test_a_browser_that_prints_opens_what_is_folded_and_closes_it_again(visit):
    with visit("notebooks/primitives.html") as tab:
        before = tab.evaluate(FOLDED)
        tab.evaluate(f"addEventListener('beforeprint', () => {{ window.whilePrinting = {FOLDED}; }})")
        tab.pdf()
        assert tab.evaluate("window.whilePrinting") == 0
        assert tab.evaluate(FOLDED) == before > 0
