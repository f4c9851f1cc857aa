"""The explorer in a real kernel: what a notebook stores, and what moving a widget does."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient
from show_toy import toy

CELLS = [
    f"import sys\nsys.path[:0] = [{str(Path(__file__).parent)!r}, {str(Path(__file__).parents[2])!r}]\n"
    "from show_toy import toy\nexplorer = toy()\nexplorer",
    "explorer.live.controls['n'].index = 0\nexplorer.live.controls['step'].index = 2\n"
    "print(explorer.live.state)\nprint('After step 2' in explorer.live.parts[2].value)",
    "explorer.live.box.children[4].value = 1\nprint(explorer.live.state['step'])",
]


def test_a_kernel_shows_all_forms_and_moves():
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    NotebookClient(book, timeout=120, kernel_name="python3").execute()
    data = book.cells[0].outputs[0].data
    assert {"application/vnd.jupyter.widget-view+json", "text/html", "text/plain"} == set(data)
    assert data["text/html"] == toy()._repr_html_()
    assert book.cells[1].outputs[0].text == "{'algorithm': 'ring', 'n': 2, 'step': 2}\nTrue\n"
    assert book.cells[2].outputs[0].text == "1\n"
