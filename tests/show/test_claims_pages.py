"""The errata and the tables of claims."""

from __future__ import annotations

import re

import pytest
from show_browser import opened, write_page

from colllib import claims
from colllib.show.claims import Claimed, Ledger, errata


def test_the_errata_have_every_entry_that_does_not_hold_once_with_an_anchor_a_reason_and_a_chapter():
    text = errata()
    failing = [entry for entry in claims.ledger() if entry.verdict in claims.FAILS]
    anchors = re.findall(r'<a id="([^"]+)" href="claims.html#\1">', text)
    assert sorted(anchors) == sorted(entry.id.lower() for entry in failing)
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        f"## {cause.title}" for cause in sorted(claims.causes().values(), key=lambda cause: -len(cause.ids))
    ]
    explained = sum(bool(cause.see) for cause in claims.causes().values())
    assert text.count("[](../notebooks/") == len(failing) + explained
    assert all(f'href="errata.html#{anchor}"' in Ledger(failing)._repr_html_() for anchor in anchors[:3])


@pytest.mark.browser
@pytest.mark.usefixtures("with_chromium")
def test_the_ledger_is_filtered_in_the_browser_and_complete_without_script(tmp_path):
    entries = [*claims.for_chapter("mesh"), *claims.for_chapter("lower-bounds")]
    page = write_page(tmp_path, Ledger(entries))
    with opened(page, viewport={"width": 360, "height": 800}) as (tab, troubles):
        assert tab.locator("li:visible").count() == len(entries)
        tab.locator("select[name=verdict]").select_option("refuted")
        refuted = [e for e in entries if e.verdict is claims.Verdict.REFUTED]
        assert tab.locator("li:visible").count() == len(refuted)
        assert tab.locator("output").text_content() == f"{len(refuted)} of {len(entries)} claims"
        tab.locator("select[name=verdict]").select_option("any that does not hold")
        assert tab.locator("li:visible").count() == sum(e.verdict in claims.FAILS for e in entries)
        tab.locator("select[name=verdict]").select_option("refuted")
        tab.locator("select[name=chapter]").select_option("lower-bounds")
        tab.locator("input[name=text]").fill("m-41")
        assert tab.locator("li:visible").get_attribute("id") == "m-41"
        assert tab.evaluate("document.documentElement.scrollWidth") <= 360
        tab.goto(f"{tab.url}?chapter=mesh&verdict=refuted")
        of_mesh = [e for e in refuted if e.chapter == "mesh"]
        assert tab.locator("li:visible").count() == len(of_mesh)
        assert tab.locator("select[name=chapter]").input_value() == "mesh"
        card = tab.locator("li:visible").first.bounding_box()
        assert tab.locator("li:visible strong").first.bounding_box()["y"] < card["y"] + 40  # the verdict comes first
    assert troubles == []
    with opened(page, java_script_enabled=False) as (tab, _):
        assert tab.locator("li:visible").count() == len(entries)
        assert tab.locator("form:visible").count() == 0


def test_a_chapters_last_line_counts_its_claims_and_links_the_ledger_filtered_to_it():
    entries = claims.for_chapter("mesh")
    failing = sum(entry.verdict in claims.FAILS for entry in entries)
    text = Claimed("mesh")._repr_markdown_()
    assert text.startswith(f"[{len(entries)} statements of published texts](../book/claims.html?chapter=mesh) were")
    assert text.endswith(f"; {failing} do not hold.")
    with pytest.raises(ValueError, match="no claims for chapter 'sea'"):
        Claimed("sea")


def test_a_chapter_with_one_claim_says_so_in_the_singular():
    assert len(claims.for_chapter("pipelines")) == 1
    assert repr(Claimed("pipelines")) == (
        "1 statement of published texts was checked for this chapter; it does not hold."
    )
