"""The built book in a real Chromium, with the network refused; fixtures for everything that drives a page.

    def test_the_slider_moves(visit):
        with visit("notebooks/all-reduce.html", theme="dark", width=390) as tab:
            ...

`visit` opens a page of the built book and, when the block ends, fails if anything was requested that is not a file, or
if the page reported an error. Where there is no Chromium these tests are skipped and say so; in CI (``CI=true``) they
fail instead. They read ``_build/html``: run ``make book`` first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from chromium import FLAGS, needed_chromium

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"

EXPLORER = 'class="colllib cl-explorer"'

ELSEWHERE = re.compile(r"^(?!(file|data|blob|about):)")

# Formulas typeset, and colors that fade in from one theme to the other at their end.
SETTLED = """async () => {
  await window.MathJax?.startup?.promise;
  await Promise.allSettled(document.getAnimations().filter((a) => a instanceof CSSTransition).map((a) => a.finished));
}"""

Visit = Callable[..., AbstractContextManager[Any]]


def pages(site: Path = SITE) -> list[str]:
    """Every page of the built book, as paths below `site`, but for `index.html`, which only leads to the first."""
    paths = (path.relative_to(site) for path in site.rglob("*.html"))
    return sorted(str(path) for path in paths if path.parts[0] != "_static" and str(path) != "index.html")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`page_path` is each page of the book in turn, `explorer_page` each page with an explorer on it."""
    if "page_path" in metafunc.fixturenames:
        metafunc.parametrize("page_path", pages() or ["book/welcome.html"])
    if "explorer_page" in metafunc.fixturenames:
        with_explorers = [page for page in pages() if EXPLORER in (SITE / page).read_text(encoding="utf-8")]
        metafunc.parametrize("explorer_page", with_explorers or ["book/welcome.html"])


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built book."""
    if not (SITE / "index.html").exists():
        pytest.fail("there is no built book in _build/html; run: make book")
    return SITE


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """Where Chromium is; skips without one, fails without one in CI."""
    return needed_chromium()


@pytest.fixture(scope="session")
def browser(chromium_path: str) -> Iterator[Any]:
    """One Chromium for the whole run, with a fresh profile."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=chromium_path, args=FLAGS)
        yield chromium
        chromium.close()


@contextmanager
def opened_tab(
    browser: Any,
    site: Path,
    page: str,
    theme: str = "light",
    width: int = 1280,
    height: int = 900,
    query: str = "",
    **options: Any,
) -> Iterator[Any]:
    """A tab with the page in it, settled; see the module's docstring."""
    context = browser.new_context(color_scheme=theme, viewport={"width": width, "height": height}, **options)
    troubles: list[str] = []
    scripts = options.get("java_script_enabled", True)

    def missed(request: Any) -> None:  # who leaves a page aborts what it still loads, which is no fault
        troubles.append(f"does not find {request.url}")

    def refuse(route: Any) -> None:
        troubles.append(f"asks for {route.request.url}")
        route.abort()

    context.route(ELSEWHERE, refuse)
    tab = context.new_page()
    tab.on("pageerror", lambda error: troubles.append(f"script error: {error}"))
    tab.on("console", lambda message: message.type == "error" and troubles.append(f"console error: {message.text}"))
    if scripts:  # without, a page's own scripts count as failed requests
        tab.on("requestfailed", lambda request: "ABORTED" in request.failure or missed(request))
    try:
        tab.goto((site / page).as_uri() + query)
        if page == "index.html":
            tab.wait_for_url("**/book/welcome.html")
        if scripts:
            tab.evaluate(SETTLED)
        yield tab
    finally:
        context.close()
    assert not troubles, f"{page} ({theme}, {width} px): " + "; ".join(dict.fromkeys(troubles))


@pytest.fixture
def visit(browser: Any, site: Path) -> Visit:
    """Open a page of the book: ``with visit(path, theme="light", width=1280) as tab``."""
    return partial(opened_tab, browser, site)


@pytest.fixture(scope="session")
def opened() -> Callable[..., AbstractContextManager[Any]]:
    """Open a page of any folder: ``with opened(browser, folder, page) as tab``."""
    return opened_tab
