"""`scripts/unused.py` finds what neither the library nor the book uses, and counts no test as use."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import nbformat

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "unused.py"
LIBRARY = """
def by_the_library(): ...
def by_a_notebook(): return by_the_library()
def by_a_page(): ...
def by_a_test(): ...
@cli.command("toys")
def by_a_register(): ...
"""


def test_what_only_a_test_calls_is_dead(tmp_path):
    spec = importlib.util.spec_from_file_location("unused", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for folder in ("colllib", "scripts", "benchmarks", "book/_ext", "notebooks", "tests"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "colllib" / "toys.py").write_text(LIBRARY)
    cells = [nbformat.v4.new_code_cell(text) for text in ("%time by_a_notebook", "by_a_notebook()")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "notebooks" / "01-toys.ipynb")
    (tmp_path / "book" / "toys.md").write_text("Text.\n\n```{execute}\nby_a_page()\n```\n")
    (tmp_path / "tests" / "test_toys.py").write_text("by_a_test()\n")
    assert script.unused(tmp_path) == ["colllib/toys.py:5: unused function 'by_a_test'"]
