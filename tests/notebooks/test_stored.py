"""What is stored in the notebooks: nbval compares only that, so nothing may be missing from it.

A cell without `execution_count` counts for nbval as not run and is not compared: a notebook stripped of its outputs
would pass while checking nothing.
"""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
WIDGET = "application/vnd.jupyter.widget-view+json"
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def read(path):
    return nbformat.read(path, as_version=4)


def problems(notebook):
    """Everything that would let a cell slip through unchecked, or show nothing in the book."""
    messages = []
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if not code:
        messages.append("no code cell at all")
    for place, cell in enumerate(code, start=1):
        if cell.execution_count != place:
            messages.append(f"code cell {place} has execution count {cell.execution_count}; run: make notebooks")
        for output in cell.outputs:
            data = output.get("data", {})
            if output.output_type == "error":
                messages.append(f"code cell {place} raises {output.ename}")
            if output.get("name") == "stderr":
                messages.append(f"code cell {place} writes to stderr")
            if (WIDGET in data or data.get("text/plain", "").startswith("Explorer:")) and "text/html" not in data:
                messages.append(f"code cell {place} has a widget without a static form (text/html)")
            if "image/png" in data and not data.keys() & {"text/html", "image/svg+xml"}:
                messages.append(f"code cell {place} shows pixels, which nbval does not compare")
    return messages


def test_there_are_notebooks():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_is_executed_and_every_widget_has_its_static_form(path):
    assert not problems(read(path))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_stored_as_the_script_writes_it(path, script):
    """Normalizing what is stored changes nothing, so the next `make notebooks` shows only what changed in substance."""
    assert script.stored(script.normalize(read(path))) == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_in_the_contents(path):
    named = f"file: notebooks/{path.stem}\n" in (ROOT / "_toc.yml").read_text(encoding="utf-8")
    assert named, f"add notebooks/{path.stem} to _toc.yml, where its page belongs"


def cell(**fields):
    return nbformat.v4.new_code_cell("1 + 1", **{"execution_count": 1, **fields})


def shown(data):
    return [nbformat.v4.new_output("execute_result", data=data, execution_count=1)]


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (cell(execution_count=None), "execution count None"),
        (cell(execution_count=7), "execution count 7"),
        (cell(outputs=[nbformat.v4.new_output("error", ename="KeyError", evalue="", traceback=[])]), "raises KeyError"),
        (cell(outputs=[nbformat.v4.new_output("stream", name="stderr", text="!")]), "stderr"),
        (cell(outputs=shown({WIDGET: {"model_id": "x"}, "text/plain": "VBox()"})), "static form"),
        (cell(outputs=shown({"text/plain": "Explorer: Costs (N)"})), "static form"),
        (cell(outputs=shown({"image/png": "aa==", "text/plain": "<Figure>"})), "pixels"),
    ],
)
def test_each_kind_of_hole_is_found(bad, says):
    (problem,) = problems(nbformat.v4.new_notebook(cells=[bad]))
    assert says in problem
