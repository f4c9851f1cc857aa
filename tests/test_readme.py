"""README.md shows what the code gives, and names what exists."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from statistics import median

import pytest

from colllib.cli import main
from colllib.measured.predict import predict
from colllib.measured.sweeps import figures

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_the_picture_is_what_its_script_draws_and_its_alt_text_says_so():
    script = runpy.run_path(str(ROOT / "scripts" / "readme_picture.py"))
    svg, alt = script["picture"]()
    assert script["PICTURE"].read_text(encoding="utf-8") == svg, "run: python scripts/readme_picture.py"
    assert f"![{alt}](" in README


def printed(capsys, command):
    """What the command prints."""
    with pytest.raises(SystemExit) as end:
        main(command.split())
    assert end.value.code == 0
    return capsys.readouterr().out


def test_the_table_is_how_the_output_of_the_command_begins(capsys):
    command, table = re.search(r"```console\n\$ \.venv/bin/colllib (.*?)\n(.*?)…\n```", README, re.S).groups()
    assert printed(capsys, command).startswith(table), f"paste into README.md what this prints: colllib {command}"


def test_the_results_are_what_the_commands_print(capsys):
    ladder = "ladder all-reduce --message 1GB --json --on dgx-h100:8"
    fastest = [
        min(rung["time_s"] for rung in json.loads(printed(capsys, ladder + more))["rungs"] if rung["time_s"])
        for more in ("", ",oversubscription=4", ",rails=8,oversubscription=4")
    ]
    assert f"take {fastest[1] / fastest[0]:.1f} times as long" in README
    assert fastest[2] == fastest[0]
    healthy = [figure for figure in figures() if figure.state == "healthy" and figure.machine]
    foreseen = [predict(figure.machine, figure.collective, 2**33, {figure.group}).busbw for figure in healthy]
    off = [abs(rate / figure.busbw - 1) for rate, figure in zip(foreseen, healthy, strict=True)]
    assert f"Of {len(off)} published bus bandwidths of healthy machines half are within {median(off):.0%}" in README
    assert "and four of five within 25%" in README
    assert 0.78 < sum(error <= 0.25 for error in off) / len(off) < 0.82
    verdicts = printed(capsys, "claims").splitlines()[-1]
    total = sum(map(int, re.findall(r"\d+", verdicts)))
    [refuted] = re.findall(r", (\d+) refuted", verdicts)
    assert f"Of {total:,} that the book takes up, {refuted} are refuted" in README


def test_the_chapters_are_as_many_and_as_long_as_it_says():
    chapters = sorted((ROOT / "notebooks").glob("*.ipynb"))
    minutes = [int(re.search(r"About (\d+) minutes", path.read_text(encoding="utf-8"))[1]) for path in chapters]
    span = f"{min(minutes)} to {max(minutes)} minutes"
    assert f"{len(chapters)} chapters of {span}" in README
    assert f"one question in {span}" in (ROOT / "book" / "how-to-read.md").read_text(encoding="utf-8")


def test_every_target_and_place_it_names_exists():
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    both = README + CONTRIBUTING
    assert set(re.findall(r"`?make ([a-z-]+)`", both)) <= targets
    for place in re.findall(r"^\| `([^`]+)/?` \|", both, re.M):
        assert (ROOT / place).exists(), place
    for place in set(re.findall(r"`((?:colllib|book|tests|notebooks)/[^`]+)`", both)) - {"notebooks/name.ipynb"}:
        assert (ROOT / place).exists(), place


def test_every_module_chapter_and_name_it_points_to_exists():
    rows = re.findall(r"^\| (`colllib/.*?) \| .*? \| (.*?) \|$", CONTRIBUTING, re.M)
    assert len(rows) > 15
    for modules, chapters in rows:
        for module in re.findall(r"`([^`]+)`", modules):
            assert (ROOT / module).exists(), module
        for chapter in re.findall(r"`([^`]+)`", chapters):
            assert (ROOT / "notebooks" / f"{chapter}.ipynb").exists(), chapter
    flat = {f"colllib/{path.name}" for path in (ROOT / "colllib").glob("*.py")} - {"colllib/__init__.py"}
    assert flat <= set(re.findall(r"`(colllib/\w+\.py)`", CONTRIBUTING))
    assert "[table of modules](CONTRIBUTING.md#where-things-are)" in README
    assert "\n## Where things are\n" in CONTRIBUTING
    assert "_ALIASES = {" in (ROOT / "colllib" / "measured" / "read.py").read_text(encoding="utf-8")


def test_the_names_on_the_way_to_the_line_that_counts_a_byte_exist():
    page = (ROOT / "book" / "model.md").read_text(encoding="utf-8").partition("### The line that counts a byte")[2]
    for place in re.findall(r"`((?:colllib|tests)/[^`]+)`", page):
        assert (ROOT / place).exists(), place
    execution = (ROOT / "colllib" / "execution.py").read_text(encoding="utf-8")
    ledger = execution.partition("class Ledger")[2]
    assert all(name in ledger for name in ("def record(", "load = counted(", "def cost("))
