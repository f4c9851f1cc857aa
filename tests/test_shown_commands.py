"""Every command that README.md, CONTRIBUTING.md, a page or a chapter shows runs as it stands."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from colllib.cli import main
from colllib.measured.sweeps import sweeps
from colllib.measured.write import write

ROOT = Path(__file__).parents[1]
SHOWN = re.compile(r"`colllib ([a-z][^`\n]*)`|^\$ (?:\.venv/bin/)?colllib (.*?)(?: +# .*)?$", re.M)


def prose(path: Path) -> str:
    """A page, or the Markdown of a notebook, with commands over several lines in one."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        text = "\n".join("".join(c["source"]) for c in json.loads(text)["cells"] if c["cell_type"] == "markdown")
    return re.sub(r" *\\\n *", " ", text)


def shown() -> dict[str, str]:
    """Every command with arguments, and one place that shows it."""
    pages = [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *sorted(ROOT.glob("book/*.md")),
        *sorted(ROOT.glob("notebooks/*.ipynb")),
    ]
    commands = {(a or b): path.name for path in pages for a, b in SHOWN.findall(prose(path)) if " " in (a or b)}
    whole_ledger = re.compile("claims --verdict")  # which tests/claims prints
    return {name: place for name, place in commands.items() if "PRIMITIVE" not in name and not whole_ledger.match(name)}


@pytest.mark.parametrize(("command", "place"), shown().items())
def test_a_command_that_is_shown_runs(command, place, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("LOG").write_text(write(next(sweep.run for sweep in sweeps() if sweep.name == "eks-p5-2n")), encoding="utf-8")
    with pytest.raises(SystemExit) as end:
        main(shlex.split(command.partition(" > ")[0]))
    assert end.value.code == 0, f"{place}: {capsys.readouterr().err}"


def test_commands_are_found_in_readme_pages_and_chapters():
    assert {"README.md", "welcome.md", "rails-and-spines.ipynb"} <= set(shown().values())
