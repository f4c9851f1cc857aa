"""Find code of the library that neither the library itself nor the book uses. `make lint` runs it.

    python scripts/unused.py

Cells of notebooks and of pages count as use; tests do not, since what only a test calls is dead.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from vulture import Vulture

ROOT = Path(__file__).resolve().parents[1]

#: What others call: commands through click.
DECORATORS = ["@cli.command", "@click.command"]

#: And by name: what click calls, what Jupyter shows an object by, a widget's text, the payload of an explorer, what an
#: XML parser tells of a document type.
NAMES = [
    "_repr_markdown_",
    "convert",
    "ctx",
    "param",
    "list_commands",
    "get_command",
    "include",
    "exclude",
    "description",
    "fragments",
    "doctype",
]


def cells(root: Path) -> Iterator[tuple[Path, str]]:
    """The Python of every notebook and page."""
    for path in sorted(root.glob("notebooks/*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        sources = ("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")
        yield path, re.sub(r"^\s*[%!].*$", "", "\n".join(sources), flags=re.MULTILINE)
    for path in sorted(root.glob("book/*.md")):
        yield path, "\n".join(re.findall(r"```\{execute\}\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL))


def unused(root: Path) -> list[str]:
    """A line for everything in the library that is used nowhere."""
    vulture = Vulture(ignore_names=NAMES, ignore_decorators=DECORATORS)
    vulture.scavenge([root / "colllib", root / "scripts", root / "benchmarks", root / "book" / "_ext"])
    for path, source in cells(root):
        vulture.scan(source, filename=path)
    library = (item for item in vulture.get_unused_code() if item.filename.is_relative_to(root / "colllib"))
    return [f"{item.filename.relative_to(root)}:{item.first_lineno}: {item.message}" for item in library]


if __name__ == "__main__":
    lines = unused(ROOT)
    print("\n".join(lines) or "nothing in colllib is unused")
    sys.exit(bool(lines))
