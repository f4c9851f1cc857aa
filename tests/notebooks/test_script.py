"""`scripts/notebooks.py` writes the same bytes each time, and refuses what would not be the same tomorrow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from colllib.show.page import packed
from colllib.show.theme import color, style
from colllib.show.theme import script as explorers

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "notebooks.py"
WIDGET = "application/vnd.jupyter.widget-view+json"


def write(path, *sources):
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def output(data, **metadata):
    return nbformat.v4.new_output("execute_result", data=data, metadata=metadata, execution_count=3)


def of(*outputs):
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("show()", outputs=list(outputs))])


def test_two_runs_give_the_same_bytes(script, tmp_path):
    path = write(
        tmp_path / "a.ipynb", "import ipywidgets\nprint(1, flush=True)\nprint(2)", "", "from os import getcwd\n'x'"
    )
    assert script.renew(path) == "rewritten"
    first = path.read_bytes()
    assert script.renew(path) == "unchanged"
    assert path.read_bytes() == first
    cells = nbformat.read(path, as_version=4).cells
    assert [cell.execution_count for cell in cells] == [1, 2], "the empty cell is gone"
    assert [o.text for o in cells[0].outputs] == ["1\n2\n"]


def test_an_explorer_keeps_its_static_form_and_loses_its_view(script, tmp_path):
    source = """from colllib.show import Control, Explorer, Part
Explorer("Squares", [Control("n", "n", range(3))], [Part(lambda n: str(n**2))], lambda n: f"{n} squared")"""
    path = write(tmp_path / "a.ipynb", source)
    script.renew(path)
    (cell,) = nbformat.read(path, as_version=4).cells
    assert set(cell.outputs[0].data) == {"text/plain", "text/html"}


def test_what_differs_from_run_to_run_goes(script):
    notebook = of(
        output({"text/plain": "2", "text/html": "<b>2</b>", WIDGET: {"model_id": "0ab"}}, **{WIDGET: {"x": 1}})
    )
    notebook.cells[0].metadata.update(execution={"iopub.status.busy": "now"}, tags=["hide-input"], collapsed=False)
    notebook.metadata.update(language_info={"name": "python", "version": "3.11.7"}, widgets={"state": {}})
    result = script.normalize(notebook)
    assert result.metadata.language_info == {"name": "python"}
    assert "widgets" not in result.metadata
    assert result.cells[0].metadata == {"jupyter": {"source_hidden": True}, "tags": ["hide-input"]}
    assert result.cells[0].outputs[0].metadata == {}
    assert result.cells[0].outputs[0].execution_count == 1


@pytest.mark.parametrize(
    ("tags", "folded"),
    [
        (["hide-cell"], {"outputs_hidden": True, "source_hidden": True}),
        (["remove-cell"], {"source_hidden": True}),
        (["nbval-skip"], None),
    ],
)
def test_what_the_book_folds_jupyterlab_folds_too(script, tags, folded):
    notebook = of()
    notebook.cells[0].metadata.update(tags=tags, jupyter={"source_hidden": True})
    assert script.normalize(notebook).cells[0].metadata.get("jupyter") == folded


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (output({WIDGET: {"model_id": "x"}, "text/plain": "VBox()"}), "static form"),
        (output({"text/plain": "<Thing at 0x7f12ab34cd56>"}), "address"),
        (output({"image/png": "aa==", "text/plain": "<Figure>"}), "pixels"),
        (output({"text/plain": f"'{sys.prefix}/lib'"}), "path of this machine"),
        (nbformat.v4.new_output("stream", name="stderr", text="a warning"), "stderr"),
        (nbformat.v4.new_output("error", ename="KeyError", evalue="'x'", traceback=[]), "KeyError"),
    ],
)
def test_what_could_not_be_the_same_tomorrow_is_refused(script, bad, says):
    with pytest.raises(script.Refused, match=says):
        script.normalize(of(bad))


def test_a_failing_notebook_is_left_alone_and_named(tmp_path):
    path = write(tmp_path / "fails.ipynb", "1 + 1", "1 / 0")
    before = path.read_bytes()
    run = subprocess.run([sys.executable, str(SCRIPT), str(path)], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "fails.ipynb: refused: a cell raises ZeroDivisionError" in run.stderr
    assert path.read_bytes() == before


def test_restyling_what_is_stored_changes_nothing(script, tmp_path):
    for name in ("alpha-beta", "boxes-and-cards"):
        path = tmp_path / f"{name}.ipynb"
        path.write_bytes((SCRIPT.parents[1] / "notebooks" / path.name).read_bytes())
        assert script.renew(path, run=False) == "unchanged"


def test_restyling_brings_changed_sheets_scripts_and_colors(script):
    old = style("theme").replace("cl-s1", "cl-s9") + '<i style="color:var(--cl-s2,#123456)">2</i>'
    old += '<script data-colllib="explorer-0123456789.js">let x = 1;</script>' + packed('{"a": "var(--cl-s1,#0f6cbd)"}')
    notebook = of(output({"text/plain": "2", "text/html": old}), nbformat.v4.new_output("stream", text="2"))
    script.restyle(notebook)
    shown = f'{style("theme")}<i style="color:{color(1)}">2</i>{explorers()}' + packed(f'{{"a": "{color(0)}"}}')
    assert notebook.cells[0].outputs[0].data["text/html"] == shown
