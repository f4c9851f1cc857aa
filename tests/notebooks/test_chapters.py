"""The chapters, as a reader meets them: sizes and units written one way, few tables, short cells."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

from colllib import claims

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
CHAPTERS = sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
ON_WIRES = ("topology-primer", "torus", "all-to-all-on-wires", "mesh", "ladder-every-primitive")
UNSEEN = {"hide-input", "hide-cell", "remove-cell", "remove-input"}

each_chapter = pytest.mark.parametrize("chapter", CHAPTERS)


def cells(chapter):
    return nbformat.read(NOTEBOOKS / f"{chapter}.ipynb", as_version=4).cells


def tags(cell):
    return set(cell.metadata.get("tags", ()))


def shown(chapter):
    """What stands on the page in plain text: prose, and what cells print, tabulate or say of their figures."""
    for cell in cells(chapter):
        if cell.cell_type == "markdown":
            yield re.sub(r"`[^`]*`|\]\([^)]*\)", "", cell.source)
            continue
        for output in cell.outputs:
            yield output.get("text", "") or output.data.get("text/plain", "")


@pytest.mark.parametrize("chapter", ON_WIRES)
def test_sizes_and_microseconds_are_written_one_way(chapter):
    text = "\n".join(shown(chapter))
    named = re.sub(r"^(torus|mesh|fat-tree|leaf-spine|boxes|line|star):\S+", "", text, flags=re.M)  # a drawing's name
    assert not re.findall(r"\d ?x ?\d", named)
    assert not re.findall(r"\d us\b", text)
    assert not re.findall(r"n_(?:alpha|beta)\b(?!=)", re.sub(r"\$\$[^$]*\$\$|\$[^$]*\$", "", text))


@each_chapter
def test_visible_cells_fit_a_page_and_tables_are_few(chapter):
    tables = 0
    for cell in cells(chapter):
        if cell.cell_type == "code":
            lines = cell.source.splitlines()
            if not tags(cell) & UNSEEN:
                assert len(lines) <= 12, f"cell {cell.id} has {len(lines)} lines: shorten it, or tag it hide-input"
                assert max(map(len, lines)) <= 84, f"cell {cell.id} has a line over 84 columns, where a page ends"
            html = "".join(output.get("data", {}).get("text/html", "") for output in cell.outputs)
            tables += "hide-cell" not in tags(cell) and "<table" in html and "cl-explorer" not in html
    assert tables <= 5, f"{tables} tables are shown: make figures of some, or tag their cells hide-cell"


@pytest.mark.parametrize("chapter", claims.CHAPTERS)
def test_a_chapter_with_claims_ends_with_them(chapter):
    assert cells(chapter)[-1].source.endswith(f'Claimed("{chapter}")'), f'end {chapter} with Claimed("{chapter}")'


@each_chapter
def test_a_chapter_names_no_author_of_an_error(chapter):
    assert "Lu's" not in "\n".join(shown(chapter))
