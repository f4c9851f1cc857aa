"""A thousand random command lines: each is answered, or refused in one line, in little time and memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("resource", reason="processor time and memory are limited on Unix only")

SCRIPT = Path(__file__).with_name("cli_lines.py")
SEEDS, LINES = range(4), 250
LONGEST = 600  # characters of an error


def complaint(words, status, out, err):
    """What is wrong with how a line ended, if anything."""
    if status == 0 and not err and out:
        try:
            if "--json" in words and "-h" not in words:
                json.loads(out, parse_constant=lambda constant: pytest.fail(f"{constant} is no JSON"))
        except ValueError as error:
            return f"no JSON: {error}"
        return None
    if status == 2 and not out and err.startswith("colllib: ") and len(err.splitlines()) == 1 and len(err) < LONGEST:
        return "filled the memory first" if "more memory than there is" in err else None
    return "neither an answer nor one line"


@pytest.mark.parametrize("seed", SEEDS)
def test_every_line_is_answered_or_refused_in_one_line(seed):
    run = subprocess.run(
        [sys.executable, SCRIPT, str(seed), str(LINES)], capture_output=True, text=True, check=False, encoding="utf-8"
    )
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    done = [line for line in answers if len(line) > 1]
    assert len(done) == LINES, f"status {run.returncode} in the line {answers[-1]}: {run.stderr[-500:]}"
    wrong = [(why, *line) for line in done if (why := complaint(*line))]
    assert not wrong, "\n".join(
        f"{why}: {' '.join(words)!r}: {status}, {err[-500:]!r}" for why, words, status, _, err in wrong
    )
    answered = sum(status == 0 for _, status, _, _ in done)
    assert LINES / 4 < answered < LINES * 3 / 4  # or else the lines would be all right, or all wrong
