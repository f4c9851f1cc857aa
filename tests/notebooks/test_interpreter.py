"""The executor that a reader writes in the chapter on primitives is the one that the tests compare with."""

from __future__ import annotations

import ast
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[2]
PRINTED = ("messages", "initial", "states", "holds", "star_cost")


def functions(source):
    """The functions that Python source defines: name -> source without comments and layout."""
    return {node.name: ast.unparse(node) for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}


def test_the_chapter_on_primitives_prints_the_reference_of_the_tests():
    reference = functions((ROOT / "tests" / "reference.py").read_text(encoding="utf-8"))
    notebook = nbformat.read(ROOT / "notebooks" / "primitives.ipynb", as_version=4)
    shown = [cell.source for cell in notebook.cells if cell.cell_type == "code" and not cell.metadata.get("tags")]
    printed = functions("\n".join(shown))
    assert {name: printed.get(name) for name in PRINTED} == {name: reference[name] for name in PRINTED}
