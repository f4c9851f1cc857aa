"""Every explorer of the built book reads well without its script; that it answers, `test_pages.py` looks at."""

from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.browser


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


def test_data_stand_beside_the_pages(site):
    """An explorer's states are a file that pages name, and no page is heavier than 0.7 MB."""
    named = set()
    for page in sorted(site.rglob("*.html")):
        if page.relative_to(site).parts[0] == "_static":
            continue
        text = page.read_text(encoding="utf-8")
        assert len(text.encode()) < 700_000, page
        assert "<style data-colllib" not in text
        named.update(re.findall(r'data-digest="(\w+)" data-src', text))
    assert named
    assert all((site / "_static" / "colllib" / f"{digest}.js").exists() for digest in named)


def test_tabbing_reaches_the_head_of_an_explorer_far_below_and_does_not_jump_over_its_controls(visit):
    with visit("notebooks/all-reduce.html") as tab:
        tab.locator("#all-reduce-step-by-step [data-act=loop]").focus()
        for _ in range(60):
            tab.keyboard.press("Tab")
            tab.wait_for_timeout(30)  # nobody tabs faster, and an explorer starts when it comes near
            if tab.evaluate("document.activeElement.closest('#cost') !== null"):
                break
        assert tab.evaluate("document.activeElement.matches('#cost .cl-head *')")
