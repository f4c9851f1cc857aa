"""Quantities: what can be typed, in Python as in the page, and what a live explorer makes of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from show_browser import opened, write_page

from colllib.show import cost_explorer, message_explorer
from colllib.show.control import Quantity
from colllib.show.cost_explorer import alpha, bandwidth, message

SHARE = Quantity("eta", "BW kept", "number", 0.01, 1, 0.8)
NARROW = Quantity("narrow", "Oversubscription", "number", 1, 16, 1)  # whose hundredths do not meet its lowest
ALL = (message(), alpha(), bandwidth(), SHARE, NARROW)
TYPED = {
    "message size": ["64 MB", "64MB", "1GiB", "8Kibit", "3 kbit", ".5 MB", "1e3kB", " 2 GB ", "64", "64 mB", "MB", "0B",
                     "1e99 B", "-1 B", "1  MB", "1,000 B", "1,00 B", "2 mb", "16 MB/s"],
    "time": ["2 us", "2µs", "2μs", "500ns", "1e-6 s", "0.5ms", "1 h", "0 s", "1e-99 s", "us", "2 Us"],
    "bandwidth": ["450 GB/s", "400Gbit/s", "400 Gb/s", "25Gbps", "1 TiB/s", "450 GB", "0 B/s", "GB/s", "1e3 MB/s"],
    "number": ["0.8", ".8", "1", "1.5", "0", "x", "0.005", " 0.5 ", "1e-1", "1.", "1e", "0,5"],
}  # fmt: skip


def test_the_page_reads_what_python_reads_and_refuses_what_it_refuses(tmp_path, with_chromium):
    requests, expected = [], []
    for quantity in ALL:
        for text in TYPED[quantity.kind]:
            requests.append([quantity.kind, text, quantity.low, quantity.high])
            try:
                expected.append(quantity.read(text))
            except ValueError:
                expected.append(None)
    read = (
        """(all) => all.map((given) => { try { return colllibShow.read(...given); } catch (error) { return null; } })"""
    )
    with opened(write_page(tmp_path, message_explorer())) as (tab, troubles):
        tab.wait_for_selector(".cl-running")
        for asked, mine, pages in zip(requests, expected, tab.evaluate(read, requests), strict=True):
            assert pages == mine, asked
        assert troubles == []
    assert None in expected


@given(st.sampled_from(ALL), st.data())
def test_a_value_that_is_shown_can_be_typed_again(quantity, data):
    value = data.draw(st.sampled_from(quantity.marks))
    assert quantity.read(quantity.text(value)) == pytest.approx(value, rel=1e-3)
    assert quantity.at(value) == quantity.marks.index(value)


@pytest.mark.parametrize("quantity", ALL)
def test_the_marks_go_from_end_to_end(quantity):
    marks = quantity.marks
    assert (marks[0], marks[-1]) == (quantity.low, quantity.high)
    assert sorted(set(marks)) == marks


def test_a_live_explorer_takes_any_value_and_says_what_it_cannot_read():
    explorer = cost_explorer()
    live = explorer.live
    live.controls["m"].value = "123456789 B"
    assert live.state["m"] == 123456789.0
    assert live.parts[-1].value.count("M = 123.5 MB") == 1
    assert live.parts[1].value == explorer.render(1, {**explorer.start, "m": 123456789.0})
    live.controls["m"].value = "a lot"
    assert live.state["m"] == 123456789.0
    messages = [child.children[2].value for child in live.box.children if len(getattr(child, "children", ())) == 3]
    assert any("write a number with its unit" in text for text in messages)


def test_bad_quantities_are_refused():
    with pytest.raises(ValueError, match="must hold"):
        Quantity("m", "M", "message size", 10, 100, 1)
    with pytest.raises(ValueError, match="say one of"):
        Quantity("m", "M", "length", 1, 100, 10)
