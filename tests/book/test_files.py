"""The built files themselves, without a browser: links resolve, and nothing is loaded from elsewhere."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]

# What a browser fetches by itself, as against a link that a reader may follow.
FETCHED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "object": "data"}


class Page(HTMLParser):
    """The ids in a page, all that a link may lead to, its links, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.targets: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        self.ids += [values["id"]] if "id" in values else []
        self.targets |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "link" and values.get("rel") in ("next", "prev", "index", "search", "canonical"):
            return
        if (attribute := FETCHED.get(tag)) and values.get(attribute):
            self.loads.append(values[attribute])


@cache
def read(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def test_links_resolve(site, page_path):
    """Every link within the book leads to a page and to a place on it."""
    file = site / page_path
    wrong = []
    for link in read(file).links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
        place = unquote(parts.fragment)
        if not target.exists() or (place and target.suffix == ".html" and place not in read(target).targets):
            wrong.append(link)
    assert not wrong


def test_no_id_occurs_twice_on_a_page(site, page_path):
    """A link to it would lead to the first only."""
    ids = read(site / page_path).ids
    assert [name for name, times in Counter(ids).items() if times > 1] == []


def test_nothing_is_loaded_from_elsewhere(site, page_path):
    """Scripts, styles and pictures are files of the book."""
    file = site / page_path
    for load in read(file).loads:
        parts = urlsplit(load)
        assert parts.scheme in ("", "data"), f"{page_path} loads {load}"
        assert not parts.netloc, f"{page_path} loads {load}"
        assert parts.scheme == "data" or (file.parent / unquote(parts.path)).exists(), f"{page_path}: no {load}"


def test_every_table_is_drawn(site, page_path):
    """Markdown that a cell prints may hold a table, which plain CommonMark would leave as a paragraph of bars."""
    assert not re.search(r"<p>\s*\|", (site / page_path).read_text(encoding="utf-8"))


def test_every_row_of_a_table_has_a_head(site, page_path):
    """A screen reader says it with each cell."""
    text = re.sub("<script.*?</script>", "", (site / page_path).read_text(encoding="utf-8"), flags=re.DOTALL)
    rows = [row for body in re.findall(r"<tbody>(.*?)</tbody>", text, re.DOTALL) for row in body.split("</tr>")[:-1]]
    assert [row for row in rows if '<th scope="row"' not in row] == []


def test_no_one_elses_addresses(site, page_path):
    """Neither jupyter-book's own repository nor sphinx-thebe's example is named anywhere."""
    text = (site / page_path).read_text(encoding="utf-8")
    assert not re.search(r"executablebooks/jupyter-book|binder-examples|unpkg\.com|jsdelivr|cdnjs", text)


def test_every_page_of_the_contents_is_built(site):
    """`_toc.yml` and the built pages are the same list."""
    yaml = pytest.importorskip("yaml")
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    names = [contents["root"]]
    names += [chapter["file"] for part in contents["parts"] for chapter in part["chapters"]]
    assert all((site / f"{name}.html").exists() for name in names)
