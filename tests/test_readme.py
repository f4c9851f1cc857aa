"""README.md shows what the code gives, and names what exists."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from colllib.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_picture_is_what_its_script_draws_and_its_alt_text_says_so():
    script = runpy.run_path(str(ROOT / "scripts" / "readme_picture.py"))
    svg, alt = script["picture"]()
    assert script["PICTURE"].read_text(encoding="utf-8") == svg, "run: python scripts/readme_picture.py"
    assert f"![{alt}](" in README


def test_the_table_is_what_the_command_prints(capsys):
    command, table = re.search(r"```console\n\$ \.venv/bin/colllib (.*?)\n(.*?)```", README, re.S).groups()
    with pytest.raises(SystemExit) as end:
        main(command.split())
    assert end.value.code == 0
    assert capsys.readouterr().out == table, f"paste into README.md what this prints: .venv/bin/colllib {command}"


def test_every_target_and_place_it_names_exists():
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    assert set(re.findall(r"`?make ([a-z-]+)`", README)) <= targets
    for place in re.findall(r"^\| `([^`]+)/?` \|", README, re.M):
        assert (ROOT / place).exists(), place
    for place in set(re.findall(r"`((?:colllib|book|tests|notebooks)/[^`]+)`", README)) - {"notebooks/name.ipynb"}:
        assert (ROOT / place).exists(), place


def test_every_module_chapter_and_name_it_points_to_exists():
    rows = re.findall(r"^\| (`colllib/.*?) \| .*? \| (.*?) \|$", README, re.M)
    assert len(rows) > 15
    for modules, chapters in rows:
        for module in re.findall(r"`([^`]+)`", modules):
            assert (ROOT / module).exists(), module
        for chapter in re.findall(r"`([^`]+)`", chapters):
            assert (ROOT / "notebooks" / f"{chapter}.ipynb").exists(), chapter
    flat = {f"colllib/{path.name}" for path in (ROOT / "colllib").glob("*.py")} - {"colllib/__init__.py"}
    assert flat <= set(re.findall(r"`(colllib/\w+\.py)`", README))
    execution = (ROOT / "colllib" / "execution.py").read_text(encoding="utf-8")
    ledger = execution.partition("class Ledger")[2]
    assert all(name in ledger for name in ("def record(", "load = counted(", "def cost("))
    assert "_ALIASES = {" in (ROOT / "colllib" / "measured" / "read.py").read_text(encoding="utf-8")
