"""The search page: sections with excerpts, spellings that mean the same, no server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytestmark = pytest.mark.browser


@contextmanager
def asked(visit: Any, query: str) -> Iterator[Any]:
    """The search page, after it was asked."""
    with visit("search.html", query=f"?q={query.replace(' ', '%20')}") as tab:
        tab.wait_for_selector("#search-results .search-summary:not(:empty)")
        yield tab


def found(visit: Any, query: str) -> list[tuple[str, str, str]]:
    """The results in order: where each leads, what it is called, and its excerpt."""
    with asked(visit, query) as tab:
        rows = tab.locator("#search-results li").all()
        return [
            (row.locator("a").get_attribute("href"), row.locator("a").inner_text(), row.locator("p").inner_text())
            for row in rows
        ]


@pytest.mark.parametrize("spelling", ["allreduce", "all reduce", "AllReduce", "all-reduce"])
def test_all_spellings_of_a_primitive_find_its_chapter_first(visit, spelling):
    assert found(visit, spelling)[0][0].startswith("notebooks/all-reduce.html#")


@pytest.mark.parametrize(
    ("query", "page"),
    [("double binary tree", "notebooks/all-reduce"), ("NVLS", "notebooks/in-network"), ("PXN", "book/glossary")],
)
def test_a_term_is_found_in_the_section_on_it_with_an_excerpt(visit, site, query, page):
    results = found(visit, query)
    where, _, excerpt = next(result for result in results[:3] if result[0].startswith(page))
    path, _, anchor = where.partition("#")
    assert f'id="{anchor}"' in (site / path).read_text(encoding="utf-8")
    assert excerpt


def test_an_excerpt_shows_the_words_and_marks_them(visit):
    with asked(visit, "half-bandwidth size") as tab:
        first = tab.locator("#search-results li").first
        assert "half-bandwidth" in first.inner_text().lower()
        assert first.locator("mark").count() > 0


def test_a_claim_is_found_by_its_id(visit):
    """The first answer is the card in the ledger, not the top of a page."""
    assert found(visit, "E-02-083")[0][0] == "book/claims.html#e-02-083"


def test_what_is_nowhere_is_said(visit):
    with asked(visit, "xyzzy") as tab:
        assert "Nothing is found" in tab.locator("#search-results").inner_text()
        assert tab.locator("#search-results li").count() == 0
