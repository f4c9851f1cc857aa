"""Open a page in a real Chromium with the network refused; benchmarks call `move_times` too."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from chromium import FLAGS, find_chromium


def write_page(folder: Path, *shown: Any, theme: str | None = None) -> Path:
    """A bare HTML page with the static form of each object, as a host without our CSS gives it."""
    name = f' data-theme="{theme}"' if theme else ""
    bodies = "\n".join(item._repr_html_() for item in shown)
    page = folder / "page.html"
    page.write_text(
        f'<!doctype html><html lang="en"{name}><head><meta charset="utf-8"><title>Page</title>'
        f'<meta name="viewport" content="width=device-width"></head><body>{bodies}</body></html>',
        encoding="utf-8",
    )
    return page


@cache
def _browser() -> Any:
    """One Chromium for the whole run: to start it takes as long as most tests with it."""
    from playwright.sync_api import sync_playwright

    playwright = sync_playwright().start()
    atexit.register(playwright.stop)
    return playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)


@contextmanager
def opened(page: Path, **options: Any) -> Iterator[tuple[Any, list[str]]]:
    """The page in Chromium, and the list of what went wrong: refused requests, script errors."""
    troubles: list[str] = []

    def decide(route: Any) -> None:
        if route.request.url.startswith(("file:", "data:", "blob:")):
            route.continue_()
        else:
            troubles.append(f"request: {route.request.url}")
            route.abort()

    context = _browser().new_context(**options)
    try:
        context.route("**/*", decide)
        tab = context.new_page()
        tab.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        tab.on(
            "console",
            lambda m: troubles.append(f"console: {m.text}") if m.type == "error" else None,
        )
        tab.goto(page.resolve().as_uri())
        yield tab, troubles
    finally:
        context.close()


def swipe(tab: Any, x: float, y: float, across: float, down: float) -> None:
    """A finger that is put on the page, moves and is lifted."""
    touch = tab.context.new_cdp_session(tab)
    for share in range(-1, 13):
        kind = {-1: "touchStart", 12: "touchEnd"}.get(share, "touchMove")
        place = {"x": x + across * max(share, 0) / 11, "y": y + down * max(share, 0) / 11}
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [place] if share < 12 else []})
        tab.wait_for_timeout(16)
    tab.wait_for_timeout(300)  # what was thrown comes to rest


# Every position of every control of a page, and the milliseconds of script time that each took.
MOVES = """() => {
  const times = [];
  document.addEventListener("colllib:change", (e) => times.push(e.detail.milliseconds));
  for (const node of document.querySelectorAll("[data-control]")) {
    if (node.tagName === "FIELDSET") {
      node.querySelectorAll("input").forEach((radio) => radio.click());
      continue;
    }
    const end = node.options ? node.options.length - 1 : Number(node.max);
    for (let k = 0; k <= end; k += 1) {
      node.value = k;
      node.dispatchEvent(new Event("input", { bubbles: true }));
    }
  }
  return times;
}"""


def move_times(page: Path) -> list[float]:
    """Milliseconds of script time for each move, over all positions of all controls of a page."""
    with opened(page) as (tab, _):
        tab.wait_for_selector(".cl-running")
        return list(tab.evaluate(MOVES))


if __name__ == "__main__":
    import sys

    for path in map(Path, sys.argv[1:]):
        times = sorted(move_times(path))
        print(f"{path}: {len(times)} moves, median {times[len(times) // 2]:.2f} ms, longest {times[-1]:.2f} ms")
