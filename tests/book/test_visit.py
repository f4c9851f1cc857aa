"""The fixture that every browser test trusts: it must see what it is there to see."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ('<img alt="" src="http://example.invalid/a.png">', "asks for http://example.invalid/a.png"),
        ('<script src="https://example.invalid/a.js"></script>', "asks for https://example.invalid/a.js"),
        ('<script>over = fetch("//example.invalid/").catch(() => 0)</script>', "example.invalid"),
        (
            '<script>over = new Promise((done) => { new WebSocket("ws://example.invalid/").onclose = () => done(); })'
            "</script>",
            "example.invalid",
        ),
        ("<script>throw new Error('out')</script>", "script error: out"),
        ("<script>console.error('loud')</script>", "console error: loud"),
        ('<link rel="stylesheet" href="absent.css">', "absent.css"),
    ],
)
def test_a_bad_page_fails(browser, tmp_path, opened, body, says):
    (tmp_path / "page.html").write_text(f"<!doctype html><title>Page</title>{body}", encoding="utf-8")
    with pytest.raises(AssertionError, match=says), opened(browser, tmp_path, "page.html") as tab:
        tab.evaluate("window.over")  # what is asked for after the page has loaded


def test_a_good_page_passes(browser, tmp_path, opened):
    (tmp_path / "page.html").write_text("<!doctype html><title>Page</title><p>Good", encoding="utf-8")
    with opened(browser, tmp_path, "page.html", theme="dark", width=390) as tab:
        assert tab.evaluate("innerWidth") == 390
        assert tab.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
