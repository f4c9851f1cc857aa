"""Print the built book: a PDF for every page, numbered in the order of the table of contents. `make pdf` runs it."""

from __future__ import annotations

from pathlib import Path

import yaml
from chromium import FLAGS, find_chromium
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
SITE, OUT = ROOT / "_build" / "html", ROOT / "_build" / "pdf"


def main() -> None:
    """Print every page of the table of contents."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    pages = [toc["root"], *(chapter["file"] for part in toc["parts"] for chapter in part["chapters"])]
    OUT.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        for number, page in enumerate(pages):
            tab = browser.new_page()
            tab.goto((SITE / f"{page}.html").as_uri())
            tab.evaluate("() => window.MathJax?.startup?.promise")
            tab.pdf(path=OUT / f"{number:02}-{Path(page).name}.pdf", format="A4", outline=True, tagged=True)
            tab.close()


if __name__ == "__main__":
    main()
