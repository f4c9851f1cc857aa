"""Every reference that the library or a page gives is in the bibliography."""

from __future__ import annotations

import json
import re
from pathlib import Path

from colllib.algorithms import CATALOGUE
from colllib.topology.presets import PRESETS

ROOT = Path(__file__).parents[1]
KEYS = re.findall(r"^@\w+\{([^,]+),", (ROOT / "book" / "references.bib").read_text(encoding="utf-8"), re.M)


def test_no_key_stands_twice():
    assert len(KEYS) == len(set(KEYS))


def test_every_algorithm_has_its_reference():
    assert {algorithm.reference for algorithm in CATALOGUE} - {None} <= set(KEYS)


def cited() -> set[str]:
    """Keys that a page or a chapter cites."""
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "book").glob("*.md")]
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        pages += ["".join(cell["source"]) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]
    return {
        key.strip()
        for page in pages
        for keys in re.findall(r"\{cite(?::\w+)?\}`([^`]+)`", page)
        for key in keys.split(",")
    }


def test_every_citation_has_its_entry():
    assert cited()
    assert cited() <= set(KEYS)


def test_every_entry_is_used():
    verdicts = (ROOT / "colllib" / "claims" / "because.toml").read_text(encoding="utf-8")
    presets = {source for preset in PRESETS.values() for source in preset.source}
    assert set(KEYS) <= cited() | presets | set(re.findall(r'^reference = "(.+)"$', verdicts, re.M))
