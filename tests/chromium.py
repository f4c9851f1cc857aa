"""Where Chromium is, how it is started, and what a test does without one; tests and benchmarks share it."""

from __future__ import annotations

import os
import shutil

# A container has no sandbox of its own to offer and no GPU; the rest keeps Chromium itself from calling home.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def find_chromium() -> str | None:
    """A Chromium: the one named in the environment, else the system's."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


def needed_chromium() -> str:
    """Where Chromium is; skips the test without one, fails it without one in CI."""
    return needed(find_chromium(), "no Chromium here: install Debian's chromium, or name one in $CHROMIUM")


def needed(path: str | None, message: str) -> str:
    """A browser's path; without one, the test is skipped with the message, and in CI fails."""
    import pytest

    if path is None:
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail(f"{message} (in CI the browser tests must run)")
        pytest.skip(message)
    return path
