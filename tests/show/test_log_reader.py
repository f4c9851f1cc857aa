"""The text area that reads a log in the page, compared with the reader in Python."""

from __future__ import annotations

import pytest
from show_browser import opened, write_page

from colllib.measured.read import read
from colllib.measured.sweeps import sweeps
from colllib.measured.write import write
from colllib.show.log_reader import LogReader

ALONE = """134217728 33554432 float sum -1 631.9 212.41 0.00 0 0.51 263017.30 0.00 0
268435456 67108864 float sum -1 1007.4 266.46 0.00 0 0.31 857621.27 0.00 0"""
SWEEPS = [s for s in sweeps() if s.run.ranks and s.run.ranks <= 32 and all(row.seconds for row in s.run.rows)]
FORMS = (("nccl-tests", ""), ("nccl-tests-old", ""), ("nccl-tests", "[1,0]<stdout>:"))
PASTE = "(area, text) => { area.value = text; area.dispatchEvent(new Event('input', { bubbles: true })); }"


@pytest.mark.browser
@pytest.mark.usefixtures("with_chromium")
def test_the_page_reads_what_python_reads_from_every_published_sweep_and_refuses_what_is_no_measurement(tmp_path):
    page = write_page(tmp_path, LogReader())
    with opened(page, viewport={"width": 360, "height": 800}) as (tab, troubles):
        area, said = tab.locator("textarea"), tab.locator("output")
        assert "in the healthy range of dgx-h100:2" in said.text_content()
        assert tab.evaluate("document.documentElement.scrollWidth") <= 360
        for k, sweep in enumerate(SWEEPS):
            text = write(sweep.run, *FORMS[k % len(FORMS)])
            (run,) = read(text)
            area.evaluate(PASTE, text)
            last = max(run.rows, key=lambda row: row.message).busbw / 1e9
            assert said.text_content().startswith(f"{len(run.rows)} sizes read. At "), sweep.name
            assert float(said.text_content().split(": ")[1].split(" GB/s")[0]) == float(f"{last:.3g}"), sweep.name
            assert tab.locator("circle").count() == len(run.rows)
        area.fill(f"0 0 float sum -1 0.12 0.00 0.00 0 0.12 0.00 0.00 0\n{text}")  # nothing sent, but a row
        assert said.text_content().startswith(f"{len(run.rows)} sizes read. At ")
        tab.locator("select[name=collective]").select_option("all-to-all")
        assert said.text_content().endswith("--primitive all-to-all")
        area.fill(ALONE)
        assert "Every bus bandwidth is 0" in said.text_content()
        area.fill("\n".join([ALONE.splitlines()[0]] * 4))
        assert "no measurement" in said.text_content()
        area.fill("nothing of the kind")
        assert said.text_content() == "No row of an nccl-tests table in this text."
    assert troubles == []
