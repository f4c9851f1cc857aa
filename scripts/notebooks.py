"""Execute notebooks and write them back normalized: the same bytes each time, on every machine.

    python scripts/notebooks.py notebooks/*.ipynb
    python scripts/notebooks.py --restyle notebooks/*.ipynb # run nothing: today's style sheets, scripts and colors

What stays is what a reader sees and nbval compares; what goes is what differs from run to run (timings, versions, the
random names of widgets). A widget's view goes too: its static form, `text/html`, stands beside it, and is what the
book shows, and JupyterLab before the notebook is run. A notebook is refused, and nothing written, where a cell fails or
its output could not be the same tomorrow or elsewhere: text on stderr, an object's address, a path of this machine, a
widget without a static form, a picture that only exists as pixels.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import re
import sys
import zlib
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from colllib.show.page import packed
from colllib.show.theme import code, color, script, shipped, style

WIDGET = "application/vnd.jupyter.widget-view+json"
CELL_METADATA = {"tags", "mystnb", "slideshow", "editable", "deletable"}
#: Tags of the book behind which a reader unfolds code or never sees it: JupyterLab folds it, too.
FOLDED = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
#: What outputs carry of `colllib.show.theme`.
CARRIED = re.compile(r'<(style|script) data-colllib="([a-z]+)-\w+\.(?:css|js)">.*?</\1>', re.DOTALL)
PACKED = re.compile(r'<script type="application/x-colllib-grid" data-digest="\w+">([\w+/=]+)</script>')
COLOR = re.compile(r"var\(--cl-s([1-8]),#[0-9a-f]{6}\)")
ADDRESS = re.compile(r"\bat 0x[0-9a-f]{6,}")


class Refused(Exception):
    """The notebook cannot be stored as it is; the message says why, in one line."""


def execute(notebook: Any, folder: Path, timeout: int = 300) -> None:
    """Run every cell, in order, in a new kernel whose working folder is the notebook's."""
    client = NotebookClient(
        notebook, timeout=timeout, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    try:
        client.execute()
    except CellExecutionError as error:
        plain = re.sub(r"\x1b\[[0-9;]*m", "", error.traceback).strip()
        last = plain.splitlines()[-1]  # names an error of a picture, too, which has no name of its own
        raise Refused(f"a cell raises {last}\n{plain}") from error
    except (CellTimeoutError, DeadKernelError) as error:
        raise Refused(f"{type(error).__name__}: {str(error).splitlines()[0]}") from error


def restyle(notebook: Any) -> None:
    """Put today's style sheets, scripts and colors into the stored outputs."""
    for output in (output for cell in notebook.cells for output in cell.get("outputs", ())):
        if text := output.get("data", {}).get("text/html"):
            text = PACKED.sub(lambda match: repacked(match[0], match[1]), colored(text))
            output["data"]["text/html"] = CARRIED.sub(lambda match: renewed(*match.groups()), text)


def renewed(tag: str, name: str) -> str:
    if tag == "style":
        return style(name)
    return script() if name == "explorer" else shipped(tag, name, code(name))


def colored(text: str) -> str:
    return COLOR.sub(lambda match: color(int(match[1]) - 1), text)


def repacked(element: str, states: str) -> str:
    """An explorer's states in today's colors; the same bytes where nothing changes."""
    payload = zlib.decompress(base64.b64decode(states)).decode()
    return element if colored(payload) == payload else packed(colored(payload))


def normalized_output(output: Any, cell: str) -> Any:
    """One output without what differs from run to run; raises `Refused` where that cannot be."""
    kind = output["output_type"]
    if kind == "error":
        raise Refused(f"{cell} raises {output.get('ename')}: {output.get('evalue')}")
    if kind == "stream":
        if output["name"] == "stderr":
            raise Refused(f"{cell} writes to stderr: {output['text'].strip()[:200]!r}")
        texts = {"stdout": output["text"]}
        normalized = nbformat.v4.new_output("stream", name="stdout", text=output["text"])
    else:
        data = {mime: value for mime, value in output["data"].items() if mime != WIDGET}
        if WIDGET in output["data"] and "text/html" not in data:
            raise Refused(f"{cell} shows a widget without a static form (text/html)")
        if "image/png" in data and not data.keys() & {"text/html", "image/svg+xml"}:
            raise Refused(
                f"{cell} shows pixels only; return a figure of colllib.show, which is text and can be compared"
            )
        metadata = {mime: value for mime, value in output.get("metadata", {}).items() if mime in data and value}
        texts = {mime: str(value) for mime, value in data.items()}
        normalized = nbformat.v4.new_output(kind, data=data, metadata=metadata)
    for mime, text in texts.items():
        if match := ADDRESS.search(text):
            raise Refused(f"{cell} shows an object's address ({mime}: {match[0]!r}); give it a __repr__")
        for path in {str(Path.cwd()), str(Path.home()), sys.prefix} - {"/", "/root"}:
            if path in text:
                raise Refused(f"{cell} shows a path of this machine ({mime}: {path!r})")
    return normalized


def joined(outputs: list[Any]) -> list[Any]:
    """Neighboring pieces of stdout as one: how the kernel cuts them is chance."""
    pieces: list[Any] = []
    for output in outputs:
        if pieces and output["output_type"] == pieces[-1]["output_type"] == "stream":
            pieces[-1]["text"] += output["text"]
        else:
            pieces.append(output)
    return pieces


def normalize(notebook: Any) -> Any:
    """The notebook as it is stored; raises `Refused`."""
    cells: list[Any] = []
    ids: set[str] = set()
    count = 0
    for place, cell in enumerate(notebook.cells, start=1):
        source = cell.source.rstrip()
        if not source:
            continue
        metadata = {key: value for key, value in cell.metadata.items() if key in CELL_METADATA and value}
        if cell.cell_type == "code" and (folded := FOLDED.intersection(metadata.get("tags", []))):
            also = {"outputs_hidden": True} if "hide-cell" in folded else {}
            metadata["jupyter"] = also | {"source_hidden": True}
        metadata = dict(sorted(metadata.items()))
        name = cell.get("id") or ""
        if not name or name in ids:
            name = hashlib.sha256(f"{place} {source}".encode()).hexdigest()[:8]
        ids.add(name)
        if cell.cell_type != "code":
            make = nbformat.v4.new_markdown_cell if cell.cell_type == "markdown" else nbformat.v4.new_raw_cell
            cells.append(make(source, id=name, metadata=metadata))
            continue
        count += 1
        label = f"code cell {count} ({source.splitlines()[0][:50]!r})"
        outputs = joined([normalized_output(output, label) for output in cell.outputs])
        for output in outputs:
            if output["output_type"] == "execute_result":
                output["execution_count"] = count
        cells.append(
            nbformat.v4.new_code_cell(source, id=name, metadata=metadata, outputs=outputs, execution_count=count)
        )
    metadata = {
        **{key: value for key, value in sorted(notebook.metadata.items()) if key == "mystnb"},
        "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    result = nbformat.v4.new_notebook(cells=cells, metadata=metadata)
    result["nbformat_minor"] = 5
    nbformat.validate(result)
    return result


def stored(notebook: Any) -> str:
    return str(nbformat.writes(notebook)).rstrip("\n") + "\n"


def renew(path: Path, run: bool = True) -> str:
    """Execute, or restyle, and rewrite one notebook; what happened, in one word, or raises `Refused`."""
    before = path.read_text(encoding="utf-8")
    notebook = nbformat.reads(before, as_version=4)
    if run:
        execute(notebook, path.parent)
    else:
        restyle(notebook)
    after = stored(normalize(notebook))
    if after == before:
        return "unchanged"
    path.write_text(after, encoding="utf-8")
    return "rewritten"


def report(path: Path, run: bool) -> tuple[bool, str]:
    try:
        return True, f"{path}: {renew(path, run)}"
    except Refused as refused:
        return False, f"{path}: refused: {refused}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Execute notebooks and write them back normalized.")
    parser.add_argument("notebooks", nargs="+", type=Path)
    parser.add_argument("--workers", type=int, default=2, help="how many notebooks to run at a time")
    parser.add_argument("--restyle", action="store_true", help="run nothing, renew style sheets, scripts and colors")
    options = parser.parse_args()
    with ProcessPoolExecutor(options.workers) as pool:
        results = list(pool.map(partial(report, run=not options.restyle), options.notebooks))
    for fine, line in results:
        print(line, file=sys.stdout if fine else sys.stderr)
    return 0 if all(fine for fine, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main())
