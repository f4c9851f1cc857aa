"""What stored chapters show, against counts that do not use the code which drew it."""

from __future__ import annotations

import dis
import re
from fractions import Fraction
from math import factorial
from pathlib import Path

import nbformat
import pytest

from colllib.measured.tuning import VERSION

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def outputs(path):
    """The HTML of every output."""
    cells = nbformat.read(path, as_version=4).cells
    return [
        out.data["text/html"] for cell in cells for out in cell.get("outputs", ()) if "text/html" in out.get("data", {})
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_solves_an_exercise_is_folded(path):
    cells = nbformat.read(path, as_version=4).cells
    exercises = next((k for k, cell in enumerate(cells) if re.search("^## Exercises", cell.source, re.M)), len(cells))
    for cell in cells[exercises:]:
        asks = any(begin in cell.source for begin in ("Claimed(", "player(", "def by_hand("))
        assert asks or cell.cell_type != "code" or "hide-cell" in cell.metadata.get("tags", ()), cell.source


def highest_pile_at_most(height, balls, bins):
    """The probability that balls thrown at bins pile up no higher: by the coefficient of x^balls."""
    counts = [Fraction(1)] + [Fraction(0)] * balls
    for _ in range(bins):
        counts = [
            sum((counts[k - j] / factorial(j) for j in range(min(height, k) + 1)), Fraction(0))
            for k in range(balls + 1)
        ]
    return float(counts[balls] * factorial(balls) / Fraction(bins) ** balls)


def test_the_probability_of_a_pile_is_that_of_all_throws():
    throws = [(a, b, c) for a in range(3) for b in range(3) for c in range(3)]
    low = sum(max(map(throw.count, throw)) <= 2 for throw in throws)
    assert highest_pile_at_most(2, balls=3, bins=3) == pytest.approx(low / len(throws))


def test_the_medians_of_one_hashed_flow_are_those_of_balls_in_bins():
    """Each of eight leaves throws eight flows at its uplinks; a step waits for the highest pile of all."""
    html = "".join(outputs(FOLDER / "rails-and-spines.ipynb"))
    shown = re.search(r"one per pair takes ([\d, ]+) times as long at s = ([\d, ]+);", html)
    for median, oversubscribed in zip(*(map(int, numbers.split(", ")) for numbers in shown.groups()), strict=True):
        spines = 8 // oversubscribed
        assert median == next(height for height in range(1, 9) if highest_pile_at_most(height, 8, spines) ** 8 >= 0.5)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_label_is_the_name_that_a_program_has_for_a_coefficient(path):
    assert not [html[:80] for html in outputs(path) if re.search(r"eta_(alpha|beta)\b", html)]


@pytest.mark.parametrize("chapter", ["what-libraries-choose", "predicted-and-measured"])
def test_a_chapter_on_the_model_of_nccl_says_its_version(chapter):
    cells = nbformat.read(FOLDER / f"{chapter}.ipynb", as_version=4).cells
    versions = {
        version for cell in cells if cell.cell_type == "markdown" for version in re.findall(r"2\.30\.\d+", cell.source)
    }
    assert {f"NCCL {version}" for version in versions} == {VERSION}


def module_names(cell, *operations):
    """The names that a cell's own lines, not those of its functions, store or load."""
    code = dis.get_instructions(compile(cell.source, "cell", "exec"))
    return {line.argval for line in code if line.opname in operations}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_removed_check_changes_nothing_that_a_later_cell_shows(path):
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    bound = set()
    for k, cell in enumerate(cells):
        stored = module_names(cell, "STORE_NAME")
        if "remove-cell" in cell.metadata.get("tags", []):
            again = bound & stored
            for later in cells[k + 1 :]:
                again -= module_names(later, "STORE_NAME")
                assert not again & module_names(later, "LOAD_NAME"), f"rebound: {cell.source}"
        bound |= stored
