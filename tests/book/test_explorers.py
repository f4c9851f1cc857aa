"""Every explorer of the built book: it runs from the file, answers every move, and reads well without its script."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.browser

# Each position of each control, one after the other; how long each move took, and what was shown after it.
MOVE_ALL = """(root) => {
  const times = [];
  const texts = new Set();
  root.addEventListener("colllib:change", (e) => times.push(e.detail.milliseconds));
  for (const control of root.querySelectorAll("[data-control]")) {
    const last = control.options ? control.options.length - 1 : Number(control.max);
    for (let k = last; k >= 0; k -= 1) {
      control.value = k;
      control.dispatchEvent(new Event("input", { bubbles: true }));
      texts.add([...root.querySelectorAll("[data-part]")].map((part) => part.innerHTML).join());
    }
  }
  return { times, shown: texts.size };
}"""


def test_explorers_run_and_every_move_is_answered(visit, explorer_page):
    """Every control moves something; how fast is measured in benchmarks/."""
    with visit(explorer_page) as tab:
        explorers = tab.locator(".cl-explorer")
        running = tab.locator(".cl-explorer.cl-running")
        running.nth(explorers.count() - 1).wait_for()
        for k in range(explorers.count()):
            result = running.nth(k).evaluate(MOVE_ALL)
            assert result["shown"] > 1, "nothing changes"
            assert len(result["times"]) >= result["shown"] - 1, "a move went unanswered"


def test_without_script_the_first_state_stands(visit, explorer_page):
    """Controls are there and disabled, every part has content, and a note says what the script would do."""
    with visit(explorer_page, java_script_enabled=False) as tab:
        assert tab.locator(".cl-explorer").count()
        for explorer in tab.locator(".cl-explorer").all():
            assert all(control.is_disabled() for control in explorer.locator("[data-control]").all())
            assert explorer.locator(".cl-note").is_visible()
            assert all(part.strip() for part in explorer.locator("[data-part]").all_inner_texts())
